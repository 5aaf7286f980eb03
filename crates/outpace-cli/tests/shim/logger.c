/* Logs a line of 60 bytes about 10,000 times a second, for so many seconds. Keeps, in nanoseconds and without what was waited for a
   processor (proc(5), schedstat): the longest call; the longest in which the thread gave its processor up, as one does that waits for
   anything (getrusage(2)); and, after each call, the longest time from one look at the clock to the next in a loop that takes as long
   as the call and does nothing else: what the machine itself takes. Arguments: seconds, file. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
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
    double end = now() + 1e9 * atof(words[count - 2]), longest = 0, slept = 0, nothing = 0;
    long calls = 0;
    char text[60];
    memset(text, 'x', sizeof text);
    text[59] = '\n';
    while (now() < end) {
        long switched = switches();
        double waited = delay(file), began = now();
        if (write(1, text, sizeof text) != sizeof text) {
            abort();
        }
        double took = now() - began, call = took - (delay(file) - waited);
        longest = greater(longest, call);
        if (switches() != switched) {
            slept = greater(slept, call);
        }
        waited = delay(file);
        double first = now(), before = first, step = 0;
        while (before - first < took && before - first < 1e6) {
            double next = now();
            step = greater(step, next - before);
            before = next;
        }
        nothing = greater(nothing, step - (delay(file) - waited));
        calls++;
        struct timespec pause = {0, 50000};
        nanosleep(&pause, NULL);
    }
    FILE *result = fopen(words[count - 1], "w");
    fprintf(result, "%f %f %f %ld\n", longest, slept, nothing, calls);
    return fclose(result);
}
