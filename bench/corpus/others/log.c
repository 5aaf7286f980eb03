/* Lines of mixed length without a buffer, as logs are written; with LARGE in a large one: the remedy. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long lines = (count > 1 ? atol(arguments[1]) : 20000) / 2;
#ifdef LARGE
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#else
    setvbuf(stdout, NULL, _IONBF, 0);
#endif
    for (long n = 0; n < lines; n++) printf("%ld [info] %*d handled in %g ms\n", n, (int)(n % 120), 7, n * 0.25);
}
