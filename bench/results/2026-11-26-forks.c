/* What a fork costs: the time of fork(2), and until its child, which ends at once, has been waited for; the least and the tenth
 * percentile of ROUNDS, in microseconds, on stderr.
 *
 *     cc -O2 -o forks 2026-11-26-forks.c; outpace run --shim always -- ./forks ROUNDS [PAGES]
 *
 * Before, it changes PAGES pages of the C library's code, to the same bytes. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void change(int pages) {
    char line[400];
    for (FILE *maps = fopen("/proc/self/maps", "r"); fgets(line, sizeof line, maps);) {
        unsigned long start, end;
        if (!strstr(line, "r-xp") || !strstr(line, "libc.so") || sscanf(line, "%lx-%lx", &start, &end) != 2)
            continue;
        mprotect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC);
        volatile char sum = 0;
        for (unsigned long page = start; page < end; page += 4096)
            sum += *(volatile char *)page;
        for (int i = 0; i < pages; i++) {
            volatile char *place = (char *)start + (end - start) / 4096 / pages * 4096 * i;
            *place = *place;
        }
        mprotect((void *)start, end - start, PROT_READ | PROT_EXEC);
    }
}

int main(int count, char **words) {
    int rounds = atoi(words[1]);
    double *calls = malloc(rounds * sizeof *calls), *wholes = malloc(rounds * sizeof *wholes);
    if (count > 2)
        change(atoi(words[2]));
    for (int i = -100; i < rounds; i++) {
        double began = now();
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        double forked = now();
        waitpid(child, NULL, 0);
        if (i >= 0) {
            calls[i] = forked - began;
            wholes[i] = now() - began;
        }
    }
    qsort(calls, rounds, sizeof *calls, compare);
    qsort(wholes, rounds, sizeof *wholes, compare);
    fprintf(stderr, "fork %.1f (%.1f), whole %.1f (%.1f)\n", calls[0], calls[rounds / 10], wholes[0], wholes[rounds / 10]);
}
