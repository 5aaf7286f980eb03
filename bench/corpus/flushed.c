/* A flush a line: lines, wherever they go. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long lines = count > 1 ? atol(arguments[1]) : 20000;
    for (long n = 0; n < lines; n++) {
        printf("line %ld\n", n);
        fflush(stdout);
    }
}
