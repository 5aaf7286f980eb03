/* A checker that prints its results and, for every fourth, a warning on standard error; with LARGE the results go through a buffer. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long lines = count > 1 ? atol(arguments[count - 1]) : 20000;
#ifdef LARGE
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#endif
    unsigned long crc = 0;
    for (long n = 0; n < lines; n++) {
        for (int bit = 0; bit < 800; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1 ^ (unsigned long)n;
        printf("block %ld: %08lx\n", n, crc & 0xffffffff);
#ifndef LARGE
        fflush(stdout);
#endif
        if (n % 40 == 0) fprintf(stderr, "block %ld is suspicious\n", n);
    }
}
