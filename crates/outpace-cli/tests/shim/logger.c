/* Logs a line of 60 bytes about 10,000 times a second, for so many seconds, and keeps the longest call, in nanoseconds and without
   the time in which it waited for a processor (proc(5), schedstat): as the clock has it, and without what a hypervisor takes. The
   latter is the call's processor time, from which Linux leaves that out; if the thread gave its processor up (getrusage(2)), as one
   does that waits for anything, it is the clock's. Arguments: seconds, file. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static double delay(int file) {
    char text[100] = "";
    unsigned long long ran, waited = 0;
    if (pread(file, text, sizeof text - 1, 0) > 0) {
        sscanf(text, "%llu %llu", &ran, &waited);
    }
    return waited;
}

static long switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static double greater(double a, double b) {
    return a > b ? a : b;
}

int main(int count, char **words) {
    int file = open("/proc/thread-self/schedstat", O_RDONLY);
    double end = now(CLOCK_MONOTONIC) + 1e9 * atof(words[count - 2]), longest = 0, own = 0;
    long calls = 0, waits = 0;
    char text[60];
    memset(text, 'x', sizeof text);
    text[59] = '\n';
    while (now(CLOCK_MONOTONIC) < end) {
        long switched = switches();
        double waited = delay(file), ran = now(CLOCK_THREAD_CPUTIME_ID), began = now(CLOCK_MONOTONIC);
        if (write(1, text, sizeof text) != sizeof text) {
            abort();
        }
        double took = now(CLOCK_MONOTONIC) - began;
        ran = now(CLOCK_THREAD_CPUTIME_ID) - ran;
        took -= delay(file) - waited;
        int gave_up = switches() != switched;
        longest = greater(longest, took);
        own = greater(own, gave_up ? took : ran);
        waits += gave_up;
        calls++;
        struct timespec pause = {0, 50000};
        nanosleep(&pause, NULL);
    }
    FILE *result = fopen(words[count - 1], "w");
    fprintf(result, "%f %f %ld %ld\n", longest, own, calls, waits);
    return fclose(result);
}
