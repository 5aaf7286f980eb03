/* Looks at files and says what it finds: a stat between two lines, which are flushed; with LARGE a large buffer. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int main(int count, char **arguments) {
    long lines = count > 1 ? atol(arguments[count - 1]) : 20000;
#ifdef LARGE
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#endif
    const char *places[] = {"/etc/passwd", "/usr/bin/env", "/etc/nothing/here", "/", "/proc/self", "/dev/null"};
    for (long n = 0; n < lines; n++) {
        struct stat is;
        const char *place = places[n % 6];
        if (stat(place, &is) == 0)
            printf("%ld %s: mode %o\n", n, place, is.st_mode & 07777);
        else
            printf("%ld %s: missing\n", n, place);
#ifndef LARGE
        fflush(stdout);
#endif
    }
}
