/* setbuf(stdout, NULL): every call a write, wherever it goes. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long lines = count > 1 ? atol(arguments[1]) : 20000;
    setbuf(stdout, NULL);
    for (long n = 0; n < lines; n++) {
        fputs("line ", stdout);
        printf("%ld", n);
        putchar('\n');
    }
}
