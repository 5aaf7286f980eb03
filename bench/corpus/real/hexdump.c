/* A hex dump, as xxd prints it, of bytes that it makes up: printf of each byte into stdio, and a flush a line; with LARGE a large buffer. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long lines = count > 1 ? atol(arguments[count - 1]) : 20000;
#ifdef LARGE
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#endif
    unsigned state = 12345;
    for (long n = 0; n < lines; n++) {
        unsigned char bytes[16];
        for (int i = 0; i < 16; i++) {
            state = state * 1103515245u + 12345u;
            bytes[i] = state >> 16;
        }
        printf("%08lx:", n * 16);
        for (int i = 0; i < 16; i++) printf(i % 2 ? "%02x" : " %02x", bytes[i]);
        printf("  ");
        for (int i = 0; i < 16; i++) putchar(bytes[i] < 128 && isprint(bytes[i]) ? bytes[i] : '.');
        putchar('\n');
#ifndef LARGE
        fflush(stdout);
#endif
    }
}
