/* A program that lets its descriptors lead elsewhere in every way there is, right behind a burst of writes. The next write must go where
   the descriptor leads now. With -DLIBRARY it is a library that does so by system calls of its own (-DRAW), or by the C
   library's. Arguments: what, a file, a library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef LIBRARY
int moves(int from, int to) {
#ifdef RAW
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_dup2), "D"(from), "S"(to) : "rcx", "r11", "memory");
    return result;
#else
    return dup2(from, to);
#endif
}
#else

enum { ROUNDS = 300 };

static int terminal, file;
static const char *path;
int __close(int);
int __dup2(int, int);

static void line(int fd, const char *text, int n) {
    char buffer[64];
    int length = snprintf(buffer, sizeof buffer, "%s %d\n", text, n);
    if (write(fd, buffer, length) != length) {
        abort();
    }
}

static void burst(const char *text, int n) {
    for (int i = 0; i < n; i++) {
        line(1, text, i);
    }
}

/* So many writes, and pauses in which there is time to look at this program. */
static void begins(void) {
    for (int i = 0; i < 20; i++) {
        burst("begins", 100);
        usleep(3000);
    }
}

static void *of_library(const char *library, int flags, const char *name) {
    void *handle = dlopen(library, RTLD_NOW | flags);
    void *function = handle ? dlsym(handle, name) : NULL;
    if (!function) {
        fprintf(stderr, "%s\n", dlerror());
        abort();
    }
    return function;
}

static void opens(void) {
    if (open(path, O_WRONLY | O_APPEND) != 1) {
        abort();
    }
}

static int (*mover)(int, int);
static long (*caller)(long, ...);
static FILE *stream;

static void close_1(void) { close(1); opens(); }
static void alias(void) { __close(1); opens(); }
static void queue(void) { mq_close(1); opens(); }
static void range(void) { close_range(1, 1, 0); opens(); }
static void stream_closed(void) { fclose(stream); opens(); }
static void stream_reopened(void) {
    if (!freopen(path, "a", stream) || fileno(stream) != 1) {
        abort();
    }
}
static void dup2_1(void) { dup2(file, 1); }
static void dup2_alias(void) { __dup2(file, 1); }
static void dup3_1(void) { dup3(file, 1, O_CLOEXEC); }
static void by_number(void) { syscall(SYS_dup2, file, 1); }
static void by_numbers_pointer(void) { caller(SYS_dup3, file, 1, 0); }
static void by_pointer(void) { mover(file, 1); }

static const struct { const char *name; void (*change)(void); } ways[] = {
    {"close", close_1}, {"__close", alias}, {"mq_close", queue}, {"close_range", range}, {"fclose", stream_closed}, {"freopen", stream_reopened},
    {"dup2", dup2_1}, {"__dup2", dup2_alias}, {"dup3", dup3_1}, {"syscall", by_number}, {"syscall's address", by_numbers_pointer},
    {"address", by_pointer}, {"deep", by_pointer}, {"raw", by_pointer}, {"raw, known", by_pointer},
};

static void changes(void (*change)(void)) {
    for (int round = 0; round < ROUNDS; round++) {
        burst("terminal", 3);
        if (change == stream_closed || change == stream_reopened) {
            stream = fdopen(1, "a");
        }
        change();
        line(1, "file", round);
        if (change == stream_reopened) {
            fclose(stream);
        }
        dup2(terminal, 1);
    }
}

/* A thread writes all the time, while descriptor 1 goes to and fro. What it writes in a phase is written within it. */
static volatile int phase, seen, is_over;
static volatile long writes;

static void *writes_on(void *unused) {
    while (!is_over) {
        int now = phase;
        seen = now;
        __sync_synchronize();
        char text[32];
        int length = snprintf(text, sizeof text, now == 0 ? "x\n" : now % 2 ? "terminal %d\n" : "file %d\n", now);
        if (write(1, text, length) < 0 && now != 0) {
            abort();
        }
        writes++;
        if (now != 0) {
            sched_yield();
        }
    }
    return unused;
}

static void waits_for(int now, long more) {
    phase = now;
    __sync_synchronize();
    while (seen != now) {
        sched_yield();
    }
    for (long from = writes; writes < from + more;) {
        sched_yield();
    }
}

static void race(int rounds, int closes) {
    pthread_t thread;
    pthread_create(&thread, NULL, writes_on, NULL);
    for (int round = 0; round < rounds; round++) {
        waits_for(2 * round + 1, 2);
        waits_for(0, 0);
        closes ? close_1() : dup2_1();
        waits_for(2 * round + 2, 2);
        waits_for(0, 0);
        dup2(terminal, 1);
    }
    is_over = 1;
    pthread_join(thread, NULL);
}

/* A child that shares this process's memory, and has descriptors of its own. */
static void shares_memory(void) {
    int other = open(path, O_WRONLY | O_APPEND);
    for (int round = 0; round < ROUNDS; round++) {
        burst("terminal", 3);
        if (vfork() == 0) {
            dup2(terminal, other);
            line(other, "child", round);
            _exit(0);
        }
        line(other, "file", round);
        wait(NULL);
    }
}

static void *has_its_own(void *range) {
    if (range ? close_range(1000, 1000, CLOSE_RANGE_UNSHARE) : unshare(CLONE_FILES)) {
        abort();
    }
    dup2(file, 1);
    for (int round = 0; round < ROUNDS; round++) {
        line(1, "file", round);
    }
    return NULL;
}

static void unshares(int range) {
    pthread_t thread;
    burst("terminal", ROUNDS);
    pthread_create(&thread, NULL, has_its_own, range ? "" : NULL);
    burst("terminal", ROUNDS);
    pthread_join(thread, NULL);
    burst("terminal", ROUNDS);
}

static void becomes_a_daemon(void) {
    burst("terminal", 3);
    if (daemon(1, 0) != 0) {
        abort();
    }
    burst("nowhere", ROUNDS);
    dup2(file, 1);
    burst("file", ROUNDS);
}

int main(int count, char **words) {
    const char *what = words[1];
    path = words[2];
    terminal = dup(1);
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    mover = dup2;
    if (!strcmp(what, "address")) mover = of_library("libc.so.6", 0, "dup2");
    caller = of_library("libc.so.6", 0, "syscall");
    if (!strcmp(what, "deep")) mover = of_library(words[3], RTLD_DEEPBIND, "moves");
    begins();
    if (!strncmp(what, "raw", 3)) mover = of_library(words[3], 0, "moves");
    if (!strcmp(what, "raw, known")) begins();
    for (int way = 0; way < sizeof ways / sizeof *ways; way++) {
        if (!strcmp(what, ways[way].name)) {
            changes(ways[way].change);
            return 0;
        }
    }
    if (!strcmp(what, "race")) race(atoi(words[3]), 0);
    else if (!strcmp(what, "closing race")) race(atoi(words[3]), 1);
    else if (!strcmp(what, "vfork")) shares_memory();
    else if (!strcmp(what, "unshare")) unshares(0);
    else if (!strcmp(what, "unsharing range")) unshares(1);
    else if (!strcmp(what, "daemon")) becomes_a_daemon();
    else return 2;
    return 0;
}
#endif
