/* What a pipe costs, by design: each writes the ladder's messages, `Hello, {i}` and a tab, into a pipe whose reader touches every byte.
 *
 *     cargo build --release -p outpace-c
 *     gcc -O3 -march=native -Iinclude bench/results/2026-11-22-pipe-designs.c target/release/liboutpace_c.a -lpthread -ldl -lm -o designs
 *     ./designs MESSAGES RUNS
 */
#define _GNU_SOURCE
#include "outpace.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned long long messages = 50000000;

static void write_all(const char *bytes, size_t length) {
    while (length) {
        ssize_t written = write(1, bytes, length);
        if (written < 0) abort();
        bytes += written;
        length -= (size_t)written;
    }
}

/* The rung turbo-c: digits incremented in place, 8 KiB a write. */
static void turbo_c(void) {
    char buffer[8192], message[32] = "Hello, 0\t";
    char *const first = message + 7, *last = first;
    size_t length = 9, used = 0;
    for (unsigned long long i = 0; i < messages; i++) {
        if (used + length > sizeof buffer) {
            write_all(buffer, used);
            used = 0;
        }
        memcpy(buffer + used, message, length);
        used += length;
        char *digit = last;
        for (; *digit == '9' && digit > first; digit--) *digit = '0';
        if (*digit == '9') {
            *first = '1';
            *++last = '0';
            last[1] = '\t';
            length++;
        } else {
            ++*digit;
        }
    }
    write_all(buffer, used);
}

/* The rung outpace-h, by default or with a capacity. */
static void library(size_t capacity) {
    outpace_guard guard;
    outpace_buffering prompt = {OUTPACE_PROMPT, 0, capacity, 0, NULL, 0};
    if (capacity && outpace_set_buffering(outpace_stdout(), &prompt)) abort();
    outpace_out out = outpace_lock(outpace_stdout(), &guard);
    for (unsigned long long i = 0; i < messages; i++) {
        outpace_str(&out, "Hello, ");
        outpace_uint(&out, i);
        outpace_char(&out, '\t');
        outpace_end(&out);
    }
    outpace_unlock(&out);
    if (outpace_flush(outpace_stdout())) abort();
}

static char *put(char *to, unsigned long long i) {
    memcpy(to, "Hello, ", 8);
    to = outpace_put_uint_(to + 7, i);
    *to = '\t';
    return to + 1;
}

/* The library's digits and a write for each chunk, without the library: what is left is formatting and the kernel. */
static void chunks(size_t chunk, int whole_pages) {
    char *const start = aligned_alloc(4096, chunk + 4096), *at = start;
    for (unsigned long long i = 0; i < messages; i++) {
        at = put(at, i);
        size_t filled = (size_t)(at - start);
        if (filled < chunk) continue;
        size_t written = whole_pages ? chunk : filled;
        write_all(start, written);
        memmove(start, start + written, filled - written);
        at = start + (filled - written);
    }
    write_all(start, (size_t)(at - start));
}

/* One thread formats, another writes: a second processor. */
static char *halves[2];
static size_t filled[2];
static int state[2]; /* 0: to be filled, 1: to be written, 2: the end */

static void *write_halves(void *unused) {
    (void)unused;
    for (int half = 0;; half ^= 1) {
        int now;
        while (!(now = __atomic_load_n(&state[half], __ATOMIC_ACQUIRE))) sched_yield();
        if (now == 2) return NULL;
        write_all(halves[half], filled[half]);
        __atomic_store_n(&state[half], 0, __ATOMIC_RELEASE);
    }
}

static int hand_over(int half, size_t length) {
    filled[half] = length;
    __atomic_store_n(&state[half], 1, __ATOMIC_RELEASE);
    half ^= 1;
    while (__atomic_load_n(&state[half], __ATOMIC_ACQUIRE)) sched_yield();
    return half;
}

static void two_threads(size_t chunk) {
    pthread_t thread;
    int half = 0;
    for (int i = 0; i < 2; i++) halves[i] = malloc(chunk + 64);
    pthread_create(&thread, NULL, write_halves, NULL);
    char *at = halves[0];
    for (unsigned long long i = 0; i < messages; i++) {
        at = put(at, i);
        if ((size_t)(at - halves[half]) < chunk) continue;
        half = hand_over(half, (size_t)(at - halves[half]));
        at = halves[half];
    }
    half = hand_over(half, (size_t)(at - halves[half]));
    __atomic_store_n(&state[half], 2, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

/* Pages lent to the pipe. Unsound: nothing tells when the reader, or whom it passes them on to, has read a page, which is filled
 * again once so much has been written that this pipe cannot hold it any more. For the bound only. */
static void lent_pages(size_t chunk, size_t pipe) {
    size_t size = chunk * (4 * (pipe / chunk) + 4);
    char *const base = aligned_alloc(4096, size + 4096), *start = base, *at = base, rest[64];
    memset(base, 0, size + 4096);
    for (unsigned long long i = 0; i < messages; i++) {
        at = put(at, i);
        if ((size_t)(at - start) < chunk) continue;
        size_t more = (size_t)(at - start) - chunk;
        memcpy(rest, start + chunk, more);
        struct iovec part = {start, chunk};
        while (part.iov_len) {
            ssize_t lent = vmsplice(1, &part, 1, 0);
            if (lent < 0) abort();
            part.iov_base = (char *)part.iov_base + lent;
            part.iov_len -= (size_t)lent;
        }
        start += chunk;
        if (start + chunk > base + size) start = base;
        memcpy(start, rest, more);
        at = start + more;
    }
    write_all(start, (size_t)(at - start));
}

enum { TURBO, LIBRARY, CHUNKS, PAGES, THREADS, LENT };
static const struct {
    const char *name;
    int kind;
    size_t chunk;
    int pipe; /* its capacity, if not the usual one */
} designs[] = {
    {"turbo-c", TURBO, 0, 0},
    {"outpace.h", LIBRARY, 0, 0},
    {"outpace.h, 16 KiB", LIBRARY, 16 << 10, 0},
    {"outpace.h, 48 KiB", LIBRARY, 48 << 10, 0},
    {"outpace.h, 60 KiB", LIBRARY, 60 << 10, 0},
    {"outpace.h, 64 KiB", LIBRARY, 64 << 10, 0},
    {"writes of 8 KiB", CHUNKS, 8 << 10, 0},
    {"writes of 16 KiB", CHUNKS, 16 << 10, 0},
    {"writes of 24 KiB", CHUNKS, 24 << 10, 0},
    {"writes of 32 KiB", CHUNKS, 32 << 10, 0},
    {"writes of 48 KiB", CHUNKS, 48 << 10, 0},
    {"writes of 64 KiB", CHUNKS, 64 << 10, 0},
    {"whole pages, 16 KiB", PAGES, 16 << 10, 0},
    {"whole pages, 32 KiB", PAGES, 32 << 10, 0},
    {"whole pages, 60 KiB", PAGES, 60 << 10, 0},
    {"two threads, 16 KiB", THREADS, 16 << 10, 0},
    {"two threads, 32 KiB", THREADS, 32 << 10, 0},
    {"pipe of 256 KiB, 32 KiB", CHUNKS, 32 << 10, 1 << 18},
    {"pipe of 1 MiB, 64 KiB", CHUNKS, 64 << 10, 1 << 20},
    {"pipe of 1 MiB, 256 KiB", CHUNKS, 256 << 10, 1 << 20},
    {"turbo-c, pipe of 1 MiB", TURBO, 0, 1 << 20},
    {"lent pages, 32 KiB (unsound)", LENT, 32 << 10, 0},
    {"lent pages, pipe of 1 MiB, 128 KiB (unsound)", LENT, 128 << 10, 1 << 20},
};
enum { COUNT = sizeof designs / sizeof *designs, MOST_RUNS = 64 };

static void run(int design, int out) {
    size_t chunk = designs[design].chunk;
    dup2(out, 1);
    close(out);
    switch (designs[design].kind) {
    case TURBO: turbo_c(); break;
    case LIBRARY: library(chunk); break;
    case CHUNKS: chunks(chunk, 0); break;
    case PAGES: chunks(chunk, 1); break;
    case THREADS: two_threads(chunk); break;
    case LENT: lent_pages(chunk, designs[design].pipe ? (size_t)designs[design].pipe : 1 << 16); break;
    }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    static double took[COUNT][MOST_RUNS];
    static unsigned long long bytes[COUNT];
    static unsigned char buffer[1 << 16];
    int runs = argc > 2 ? atoi(argv[2]) : 7, only = argc > 3 ? atoi(argv[3]) : -1;
    if (argc > 1) messages = strtoull(argv[1], NULL, 0);
    for (int n = 0; n < runs && n < MOST_RUNS; n++) {
        for (int i = 0; i < COUNT; i++) {
            int ends[2];
            if (only >= 0 && i != only) continue;
            if (pipe(ends) || (designs[i].pipe && fcntl(ends[1], F_SETPIPE_SZ, designs[i].pipe) < 0)) abort();
            double began = seconds();
            pid_t child = fork();
            if (child == 0) {
                close(ends[0]);
                run(i, ends[1]);
                _exit(0);
            }
            close(ends[1]);
            unsigned sum = 0;
            bytes[i] = 0;
            for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0; bytes[i] += (unsigned long long)got)
                for (ssize_t at = 0; at < got; at++) sum += buffer[at];
            __asm__ volatile("" ::"r"(sum));
            close(ends[0]);
            waitpid(child, NULL, 0);
            took[i][n] = (seconds() - began) / (double)messages * 1e9;
        }
    }
    for (int i = 0; i < COUNT; i++) {
        if (only >= 0 && i != only) continue;
        if (bytes[i] != bytes[only < 0 ? 0 : only]) printf("other bytes: ");
        qsort(took[i], (size_t)runs, sizeof(double), by_size);
        if (i == 0) qsort(took[0], (size_t)runs, sizeof(double), by_size);
        printf("%-46s %5.2f ns (%.2f to %.2f)  %.2fx\n", designs[i].name, took[i][runs / 2], took[i][0], took[i][runs - 1],
               took[i][runs / 2] / took[only < 0 ? 0 : only][runs / 2]);
    }
    return 0;
}
