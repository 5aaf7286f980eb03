/* Numerical integration with a progress meter on standard error, redrawn at every step; with LARGE standard error is buffered. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long steps = count > 1 ? atol(arguments[count - 1]) : 20000;
#ifdef LARGE
    static char buffer[1 << 16];
    setvbuf(stderr, buffer, _IOFBF, sizeof buffer);
#endif
    double sum = 0;
    for (long n = 0; n < steps; n++) {
        for (int i = 0; i < 150; i++) sum += sqrt(sum + i) * 1e-6;
        fprintf(stderr, "\r%6.2f%% [%-50.*s] %ld/%ld", 100.0 * (n + 1) / steps, (int)(50 * (n + 1) / steps),
                "##################################################", n + 1, steps);
    }
    fputs("\n", stderr);
    return sum < 0;
}
