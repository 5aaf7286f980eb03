/* 64 KiB blocks, wherever they go: the remedy. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long lines = count > 1 ? atol(arguments[1]) : 20000;
    static char buffer[1 << 16]; /* without one, glibc ignores the size */
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    for (long n = 0; n < lines; n++)
        printf("line %ld\n", n);
}
