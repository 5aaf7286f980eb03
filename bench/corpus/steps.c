/* Work of its own for each line, and a flush after it, or with LARGE a large buffer: the remedy. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long lines = count > 1 ? atol(arguments[1]) : 20000;
#ifdef LARGE
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#endif
    for (long n = 1; n <= lines; n++) {
        long steps = 0;
        for (long value = n; value != 1; steps++)
            value = value % 2 ? 3 * value + 1 : value / 2;
        printf("%ld takes %ld steps\n", n, steps);
#ifndef LARGE
        fflush(stdout);
#endif
    }
}
