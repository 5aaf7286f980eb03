/* C's stderr is unbuffered; glibc still makes one write of one printf. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long lines = count > 1 ? atol(arguments[1]) : 20000;
    for (long n = 0; n < lines; n++) {
        fprintf(stderr, "line %ld", n);
        fputc('\n', stderr);
    }
}
