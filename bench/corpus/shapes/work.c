/* Much work of its own for each line, a flush after it, or with LARGE a large buffer instead: calls are not what limits it. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long lines = (count > 1 ? atol(arguments[1]) : 20000) / 10;
#ifdef LARGE
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#endif
    unsigned long long state = 88172645463325252ull;
    for (long n = 0; n < lines; n++) {
        for (int round = 0; round < 48000; round++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        printf("%ld: %016llx\n", n, state);
#ifndef LARGE
        fflush(stdout);
#endif
    }
}
