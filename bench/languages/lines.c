// stdio: on a terminal a line, elsewhere a block; stderr without a buffer. MODE chooses another.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char buffer[1 << 16];

int main(int count, char **arguments) {
    FILE *out = getenv("STREAM") ? stderr : stdout;
    const char *mode = getenv("MODE") ? getenv("MODE") : "";
    if (!strcmp(mode, "none")) setvbuf(out, NULL, _IONBF, 0);
    if (!strcmp(mode, "line")) setvbuf(out, NULL, _IOLBF, BUFSIZ);
    if (!strcmp(mode, "block") || !strcmp(mode, "fixed")) setvbuf(out, buffer, _IOFBF, sizeof buffer);
    long lines = count > 1 ? atol(arguments[1]) : 0;
    for (long i = 0; i < lines; i++) {
        fputs("line ", out);
        fprintf(out, "%ld\n", i);
    }
    return fclose(out) != 0;
}
