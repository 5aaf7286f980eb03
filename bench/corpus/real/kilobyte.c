/* A word counter's table through a stdio buffer of 1 KiB, as for a small machine; with LARGE of 64 KiB. */
#include <stdio.h>
#include <stdlib.h>

static unsigned counts[4096];

int main(int count, char **arguments) {
    long lines = 12 * (count > 1 ? atol(arguments[count - 1]) : 20000);
#ifdef LARGE
    static char buffer[1 << 16];
#else
    static char buffer[1 << 10];
#endif
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    unsigned state = 99;
    for (long n = 0; n < lines; n++) {
        state = state * 1664525u + 1013904223u;
        unsigned word = state >> 20;
        counts[word]++;
        printf("%c%c%c %u\n", 'a' + word % 16, 'a' + word / 16 % 16, 'a' + word / 256, counts[word]);
    }
}
