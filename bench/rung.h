/* The protocol of a rung, for C and C++.
 *
 * A rung is a program that takes the number of messages, writes them to stdout, and measures its
 * own work: rung_begin() before the first message, rung_called() after the last one, rung_end()
 * after the final flush. The times go to the file that OUTPACE_RUNG_REPORT names, never into the
 * measured stream; without that variable the rung only writes its bytes.
 */
#ifndef OUTPACE_RUNG_H
#define OUTPACE_RUNG_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct rung_reading {
    long long monotonic_ns, cpu_ns, writes, written, delay_ns;
};

static struct rung_reading rung_before;
static long long rung_called_ns;

static long long rung_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* The number after `name` in a small file of /proc, or -1. It reads with system calls alone, so
 * that it neither touches C's own stdout nor counts as a write. */
static long long rung_counter(const char *path, const char *name) {
    char text[1024];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return -1;
    text[length] = 0;
    const char *found = strstr(text, name);
    return found ? atoll(found + strlen(name)) : -1;
}

static void rung_counters(struct rung_reading *reading) {
    reading->writes = rung_counter("/proc/self/io", "syscw: ");
    reading->written = rung_counter("/proc/self/io", "wchar: ");
    reading->delay_ns = rung_counter("/proc/self/schedstat", " ");
}

static inline unsigned long long rung_messages(int argc, char **argv) {
    return argc > 1 ? strtoull(argv[1], 0, 10) : 0;
}

static inline void rung_begin(void) {
    rung_counters(&rung_before);
    rung_before.cpu_ns = rung_clock(CLOCK_PROCESS_CPUTIME_ID);
    rung_before.monotonic_ns = rung_clock(CLOCK_MONOTONIC);
}

static inline void rung_called(void) {
    rung_called_ns = rung_clock(CLOCK_MONOTONIC);
}

/* Reports an output that failed, as the program outpace does; the status to end with. */
static inline int rung_failed(int error) {
    fprintf(stderr, "outpace: stdout: %s\n", error ? strerror(error) : "not everything was written");
    return 1;
}

static inline int rung_end(void) {
    struct rung_reading after;
    after.monotonic_ns = rung_clock(CLOCK_MONOTONIC);
    after.cpu_ns = rung_clock(CLOCK_PROCESS_CPUTIME_ID);
    if (ferror(stdout)) return rung_failed(errno);
    rung_counters(&after);
    const char *path = getenv("OUTPACE_RUNG_REPORT");
    if (!path) return 0;
    FILE *report = fopen(path, "w");
    if (!report) return 1;
    fprintf(report, "started_ns %lld\ncaller_ns %lld\nwall_ns %lld\ncpu_ns %lld\n",
            rung_before.monotonic_ns, rung_called_ns - rung_before.monotonic_ns,
            after.monotonic_ns - rung_before.monotonic_ns, after.cpu_ns - rung_before.cpu_ns);
    if (rung_before.writes >= 0 && after.writes >= 0)
        fprintf(report, "writes %lld\n", after.writes - rung_before.writes);
    if (rung_before.written >= 0 && after.written >= 0)
        fprintf(report, "written %lld\n", after.written - rung_before.written);
    if (rung_before.delay_ns >= 0 && after.delay_ns >= 0)
        fprintf(report, "delay_ns %lld\n", after.delay_ns - rung_before.delay_ns);
    return fclose(report) != 0;
}

/* Writes it all to stdout, or ends the program. */
static inline void rung_write_all(const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t written = write(1, bytes, length);
        if (written < 0) {
            if (errno == EINTR) continue;
            exit(rung_failed(errno));
        }
        bytes += written;
        length -= (size_t)written;
    }
}

#endif
