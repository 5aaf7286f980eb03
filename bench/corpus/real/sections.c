/* Four children, one after the other, that share standard output: each prints its section, a flush a line; with LARGE only at its end. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
    long lines = count > 1 ? atol(arguments[count - 1]) : 20000;
#ifdef LARGE
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#endif
    for (int section = 0; section < 4; section++) {
        pid_t child = fork();
        if (child < 0) return 1;
        if (child == 0) {
            unsigned long hash = 5381;
            for (long n = 0; n < lines / 4; n++) {
                for (int i = 0; i < 400; i++) hash = hash * 33 + (n ^ i);
                printf("section %d, line %ld, hash %016lx\n", section, n, hash);
#ifndef LARGE
                fflush(stdout);
#endif
            }
            exit(0);
        }
        int status;
        waitpid(child, &status, 0);
    }
}
