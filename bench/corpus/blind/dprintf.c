/* dprintf for each line; with LARGE printf into a buffer of 64 KiB: the remedy. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long lines = count > 1 ? atol(arguments[count - 1]) : 20000;
#ifdef LARGE
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#endif
    for (long n = 0; n < lines; n++)
#ifdef LARGE
        printf("%ld: %5.1f %s\n", n, (double)n / 7, n % 3 ? "even" : "odd");
#else
        dprintf(1, "%ld: %5.1f %s\n", n, (double)n / 7, n % 3 ? "even" : "odd");
#endif
    return 0;
}
