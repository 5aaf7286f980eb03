/* A program that starts another one with the environment that a constructor of its library has copied. Built with LIBRARY: that
   library; with SHOWS: a program that writes its environment. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#if defined(LIBRARY)

char **copied;

/* glibc passes the environment, and knows it itself only after the first constructor; musl does not pass it. */
__attribute__((constructor)) static void copy(int words, char **first, char **passed) {
    char **all = environ ? environ : passed;
    int count = 0;
    while (all[count])
        count++;
    copied = calloc(count + 1, sizeof *copied);
    for (int i = 0; i < count; i++)
        copied[i] = strdup(all[i]);
}

#elif defined(SHOWS)

int main(void) {
    for (char **at = environ; *at; at++)
        puts(*at);
}

#else

extern char **copied;

int main(int count, char **words) {
    char *how = words[1], *program = words[2];
    int ours = 0;
    for (char **at = copied; *at; at++)
        ours += !strncmp(*at, "OUTPACE_RING=", 13);
    fprintf(stderr, "%d\n", ours);
    puts("before");
    fflush(stdout);
    pid_t child = -1;
    if (!strcmp(how, "execve"))
        execve(program, words + 2, copied);
    else if (!strcmp(how, "fexecve"))
        fexecve(open(program, O_RDONLY), words + 2, copied);
    else if (!strcmp(how, "spawn"))
        posix_spawn(&child, program, 0, 0, words + 2, copied);
    else if (!strcmp(how, "spawnp"))
        posix_spawnp(&child, program, 0, 0, words + 2, copied);
    else if (!strcmp(how, "vfork") && !(child = vfork())) {
        execve(program, words + 2, copied);
        _exit(1);
    }
    waitpid(child, 0, 0);
    puts("after");
}

#endif
