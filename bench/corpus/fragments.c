/* Three prints a line, each with a flush, or with LARGE a large buffer: the remedy. */
#include <stdio.h>
#include <stdlib.h>

static void print(const char *format, long value) {
    printf(format, value);
#ifndef LARGE
    fflush(stdout);
#endif
}

int main(int count, char **arguments) {
    long lines = (count > 1 ? atol(arguments[1]) : 20000) / 3;
#ifdef LARGE
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#endif
    for (long n = 1; n <= lines; n++) {
        print("%ld", n);
        print(" and %ld", 3 * n);
        print(", %ld\n", 7 * n);
    }
}
