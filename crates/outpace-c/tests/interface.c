/* What a C program does with include/outpace.h. With an argument it is a program whose output check.sh compares;
 * without one it tests itself. C99 and later; also compiled as C++. */
#undef NDEBUG
#include "outpace.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* A stream into a file that has no name any more. */
static int file(void) {
    char path[] = "/tmp/outpace-c-XXXXXX";
    int fd = mkstemp(path);
    assert(fd >= 0 && unlink(path) == 0);
    return fd;
}

static void expect(int fd, const char *text, size_t length) {
    char *found = (char *)malloc(length + 1);
    assert(pread(fd, found, length + 1, 0) == (ssize_t)length);
    assert(memcmp(found, text, length) == 0);
    free(found);
}

static const outpace_stream *open_copy(int fd, int kind, size_t capacity) {
    outpace_buffering buffering = {0, 0, 0, 0, NULL, 0};
    const outpace_stream *stream = NULL;
    buffering.kind = kind;
    buffering.capacity = capacity;
    assert(outpace_open(dup(fd), &buffering, &stream) == 0 && stream);
    return stream;
}

static void everything_appears_as_it_was_appended(void) {
    const char *expected = "text|0|-9223372036854775808|18446744073709551615|100000000|99999999|-1|0|ff|ffffffffffffffff|0.1|1e300|"
                           "-7 + 0x2a\n";
    int kind;
    for (kind = OUTPACE_UNBUFFERED; kind <= OUTPACE_BACKGROUND; kind++) {
        int fd = file();
        const outpace_stream *stream = open_copy(fd, kind, kind == OUTPACE_BLOCK ? 16 : 0);
        outpace_guard guard;
        outpace_out out = outpace_lock(stream, &guard);
        outpace_str(&out, "text|");
        outpace_int(&out, 0), outpace_char(&out, '|');
        outpace_int(&out, INT64_MIN), outpace_char(&out, '|');
        outpace_uint(&out, UINT64_MAX), outpace_char(&out, '|');
        outpace_end(&out);
        outpace_uint(&out, 100000000), outpace_char(&out, '|');
        outpace_uint(&out, 99999999), outpace_char(&out, '|');
        outpace_int(&out, -1), outpace_char(&out, '|');
        outpace_hex(&out, 0), outpace_char(&out, '|');
        outpace_hex(&out, 255), outpace_char(&out, '|');
        outpace_hex(&out, UINT64_MAX), outpace_bytes(&out, "|", 1);
        outpace_double(&out, 0.1), outpace_char(&out, '|');
        outpace_double(&out, 1e300), outpace_char(&out, '|');
        assert(outpace_format(&out, "%d + %#x\n", -7, 42) == 0);
        outpace_unlock(&out);
        assert(outpace_close(stream) == 0);
        expect(fd, expected, strlen(expected));
        close(fd);
    }
}

/* Every number of digits, and the numbers around each of their limits. */
static void numbers_are_those_of_printf(void) {
    int fd = file(), digits, around;
    const outpace_stream *stream = open_copy(fd, OUTPACE_BLOCK, 0);
    char *expected = (char *)malloc(1 << 16), *end = expected;
    uint64_t power = 1;
    outpace_guard guard;
    outpace_out out = outpace_lock(stream, &guard);
    for (digits = 0; digits < 20; digits++, power *= 10) {
        for (around = -2; around <= 2; around++) {
            uint64_t n = power + (uint64_t)(int64_t)around;
            outpace_uint(&out, n), outpace_char(&out, ' ');
            outpace_int(&out, (int64_t)n), outpace_char(&out, '\n');
            outpace_end(&out);
            end += sprintf(end, "%llu %lld\n", (unsigned long long)n, (long long)n);
        }
    }
    outpace_unlock(&out);
    assert(outpace_close(stream) == 0);
    expect(fd, expected, (size_t)(end - expected));
    free(expected);
    close(fd);
}

/* Long messages, messages that outgrow the buffer, locks within locks, printf of any length. */
static void what_does_not_fit_takes_the_long_way(void) {
    enum { COUNT = 3000 };
    int fd = file(), i;
    const outpace_stream *stream = open_copy(fd, OUTPACE_BLOCK, 4096);
    char *expected = (char *)malloc(COUNT * 2000), *end = expected, *text = (char *)malloc(2000);
    outpace_guard guard, inner;
    outpace_out out = outpace_lock(stream, &guard), within;
    for (i = 0; i < COUNT; i++) {
        int length = i * 7 % 1500;
        memset(text, 'a' + i % 26, (size_t)length);
        text[length] = 0;
        outpace_int(&out, i);
        outpace_char(&out, ':');
        outpace_str(&out, text);
        if (i % 3 == 0) assert(outpace_format(&out, "<%s>", text) == 0);
        outpace_char(&out, '\n');
        outpace_end(&out);
        end += sprintf(end, "%d:%s", i, text);
        if (i % 3 == 0) end += sprintf(end, "<%s>", text);
        *end++ = '\n';
        if (i % 5 == 0) {
            within = outpace_lock(stream, &inner);
            outpace_str(&within, "within ");
            outpace_int(&within, i);
            outpace_end(&within);
            outpace_end(&within);
            outpace_str(&within, "!\n");
            outpace_unlock(&within);
            end += sprintf(end, "within %d!\n", i);
        }
        if (i % 7 == 0) {
            outpace_str(&out, "after ");
            assert(outpace_printf(stream, "between ") == 0);
            outpace_str(&out, "it\n");
            outpace_end(&out);
            end += sprintf(end, "between after it\n");
        }
    }
    outpace_unlock(&out);
    assert(outpace_close(stream) == 0);
    expect(fd, expected, (size_t)(end - expected));
    free(expected), free(text);
    close(fd);
}

static void *print_lines(void *stream) {
    int i;
    for (i = 0; i < 20000; i++) {
        outpace_guard guard;
        outpace_out out = outpace_lock((const outpace_stream *)stream, &guard);
        outpace_str(&out, "thread ");
        outpace_uint(&out, (uint64_t)i);
        outpace_str(&out, " of several\n");
        outpace_unlock(&out);
    }
    return NULL;
}

static void messages_of_threads_are_whole(void) {
    int fd = file(), i;
    const outpace_stream *stream = open_copy(fd, OUTPACE_PROMPT, 0);
    pthread_t threads[4];
    outpace_stats stats;
    char line[64];
    FILE *lines;
    long count = 0;
    for (i = 0; i < 4; i++) assert(pthread_create(&threads[i], NULL, print_lines, (void *)(uintptr_t)stream) == 0);
    for (i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    assert(outpace_flush(stream) == 0);
    outpace_get_stats(stream, &stats);
    assert(stats.messages_accepted == 80000 && stats.bytes_queued == 0);
    assert(stats.bytes_accepted == stats.bytes_written && stats.write_calls > 0);
    lseek(fd, 0, SEEK_SET);
    lines = fdopen(dup(fd), "r");
    while (fgets(line, sizeof line, lines)) {
        int n;
        char rest[32];
        assert(sscanf(line, "thread %d of %31s", &n, rest) == 2 && strcmp(rest, "several") == 0);
        count++;
    }
    assert(count == 80000);
    fclose(lines);
    assert(outpace_close(stream) == 0);
    close(fd);
}

static void errors_are_returned(void) {
    outpace_buffering buffering = {0, 0, 0, 0, NULL, 0};
    const outpace_stream *stream = NULL;
    int fd;
    assert(outpace_buffering_from("sometimes", &buffering) == EINVAL);
    assert(outpace_buffering_from("prompt:20ms", &buffering) == 0);
    assert(buffering.kind == OUTPACE_PROMPT && buffering.max_delay_ns == 20000000);
    assert(outpace_open(-1, &buffering, &stream) == EBADF && !stream);
    assert(outpace_open(999, &buffering, &stream) == EBADF && !stream);
    buffering.kind = 77;
    assert(outpace_open(1, &buffering, &stream) == EINVAL && !stream);
    buffering.kind = OUTPACE_BLOCK;
    buffering.capacity = (size_t)1 << 31;
    assert(outpace_set_buffering(outpace_stdout(), &buffering) == EINVAL);
    buffering.kind = OUTPACE_BACKGROUND;
    buffering.capacity = 1000;
    buffering.overflow = OUTPACE_SPILL;
    assert(outpace_set_buffering(outpace_stdout(), &buffering) == EINVAL);
    fd = open("/dev/full", O_WRONLY);
    if (fd >= 0) {
        stream = open_copy(fd, OUTPACE_BLOCK, 0);
        outpace_puts(stream, "no reader takes it");
        assert(outpace_flush(stream) == ENOSPC);
        assert(outpace_write(stream, "more", 4) == ENOSPC);
        outpace_clear_error(stream);
        assert(outpace_write(stream, "", 0) == 0);
        assert(outpace_close(stream) == 0);
        close(fd);
    }
}

/* NULL is the default where one is asked for, and else an error, if one can be returned. */
static void null_is_no_crash(void) {
    int fd = file();
    outpace_buffering buffering = {0, 0, 0, 0, NULL, 0};
    const outpace_stream *stream = NULL;
    assert(outpace_open(dup(fd), NULL, &stream) == 0 && stream);
    outpace_puts(stream, "a line");
    assert(outpace_fd(stream) > 2 && outpace_fd(outpace_stderr()) == 2 && outpace_fd(NULL) == -1);
    assert(outpace_close(stream) == 0);
    expect(fd, "a line\n", 7);
    close(fd);
    assert(outpace_open(1, NULL, NULL) == EINVAL);
    assert(outpace_close(NULL) == EINVAL && outpace_flush(NULL) == EINVAL && outpace_flush_within(NULL, 1) == EINVAL);
    assert(outpace_write(NULL, "x", 1) == EINVAL && outpace_write(outpace_stdout(), NULL, 1) == EINVAL);
    assert(outpace_write(outpace_stdout(), NULL, 0) == 0);
    assert(outpace_set_buffering(NULL, &buffering) == EINVAL && outpace_set_buffering(outpace_stdout(), NULL) == EINVAL);
    assert(outpace_buffering_from(NULL, &buffering) == EINVAL && outpace_buffering_from("line", NULL) == EINVAL);
}

/* NULL stands for what standard output would have there: blocks to the null device, else the first lines at once. */
static void the_default_is_that_of_standard_output(void) {
    int ends[2], i;
    assert(pipe(ends) == 0);
    int fds[3] = {file(), open("/dev/null", O_WRONLY), ends[1]};
    for (i = 0; i < 3; i++) {
        const outpace_stream *stream = NULL;
        outpace_stats stats;
        assert(outpace_open(fds[i], NULL, &stream) == 0 && stream);
        outpace_puts(stream, "a line");
        outpace_get_stats(stream, &stats);
        assert(stats.bytes_queued == (i == 1 ? 7u : 0u));
        assert(outpace_close(stream) == 0);
    }
    close(ends[0]);
}

/* Only if the program would have to wait. */
static void a_question_is_drained_before_a_read_that_waits(void) {
    int fd = file(), ends[2];
    const outpace_stream *stream = open_copy(fd, OUTPACE_BLOCK, 0);
    outpace_stats stats;
    assert(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    assert(outpace_printf(stream, "question?") == 0);
    assert(outpace_flush_before_read(stream, ends[0]) == 0);
    outpace_get_stats(stream, &stats);
    assert(stats.bytes_written == 0 && stats.bytes_queued == 9);
    assert(read(ends[0], &stats, 1) == 1);
    assert(outpace_flush_before_read(stream, ends[0]) == 0);
    expect(fd, "question?", 9);
    assert(outpace_close(stream) == 0);
    close(ends[0]), close(ends[1]), close(fd);
}

static void a_full_pipe_does_not_keep_a_background(void) {
    int ends[2], i;
    char byte;
    outpace_buffering buffering = {OUTPACE_BACKGROUND, OUTPACE_DROP_NEWEST, 4096, 0, NULL, 0};
    const outpace_stream *stream;
    outpace_stats stats;
    struct pollfd full;
    assert(pipe(ends) == 0 && outpace_open(ends[1], &buffering, &stream) == 0);
    /* Until the pipe is full. */
    do {
        for (i = 0; i < 100; i++) assert(outpace_printf(stream, "line %d\n", i) == 0);
        outpace_flush_within(stream, 1);
        full.fd = ends[1];
        full.events = POLLOUT;
    } while (poll(&full, 1, 0) != 0);
    for (i = 0; i < 10000; i++) assert(outpace_printf(stream, "line %d\n", i) == 0);
    outpace_get_stats(stream, &stats);
    assert(stats.messages_dropped > 0 && stats.bytes_queued > 0);
    assert(outpace_flush_within(stream, 1) == ETIMEDOUT);
    assert(read(ends[0], &byte, 1) == 1 && byte == 'l');
    close(ends[0]);
    outpace_close(stream);
}

/* AddressSanitizer takes the unwinding of a cancelled thread for a fault. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#endif

#ifndef SANITIZED
/* Prints until it is cancelled. */
static void *print_on(void *stream) {
    for (;;) {
        outpace_puts(*(const outpace_stream **)stream, "a line of a thread that will be cancelled");
        pthread_testcancel();
    }
    return NULL;
}

static void a_thread_that_prints_may_be_cancelled(void) {
    char bytes[4096];
    const outpace_stream *stream;
    pthread_t thread;
    void *result;
    int kinds[] = {OUTPACE_UNBUFFERED, OUTPACE_LINE, OUTPACE_BLOCK, OUTPACE_PROMPT};
    size_t i;
    for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int ends[2], taken = 0;
        assert(pipe(ends) == 0);
        stream = open_copy(ends[1], kinds[i], 0);
        close(ends[1]);
        assert(pthread_create(&thread, NULL, print_on, &stream) == 0);
        /* Until the pipe is full and the thread waits in a write. */
        while (taken < 1 << 17) taken += (int)read(ends[0], bytes, sizeof bytes);
        pthread_cancel(thread);
        assert(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
        while (pthread_tryjoin_np(thread, &result) != 0) {
            if (read(ends[0], bytes, sizeof bytes) < 0) assert(errno == EAGAIN);
        }
        assert(result == PTHREAD_CANCELED);
        close(ends[0]);
        outpace_close(stream);
    }
}
#endif

static void print_many(void) {
    int i;
    for (i = 0; i < 100000; i++) outpace_puts(outpace_stdout(), "a line");
}

static void *print_after(void *main_thread) {
    assert(pthread_join(*(pthread_t *)main_thread, NULL) == 0);
    outpace_init();
    print_many();
    return NULL;
}

/* The thread is the main thread of the child. */
static void *print_in_a_child(void *main_thread) {
    pid_t child;
    assert(pthread_join(*(pthread_t *)main_thread, NULL) == 0);
    child = fork();
    assert(child >= 0);
    if (child == 0) {
        outpace_init();
        print_many();
        pthread_exit(NULL);
    }
    assert(waitpid(child, NULL, 0) == child);
    return NULL;
}

/* Programs whose output is compared. */
static int program(const char *name) {
    int i;
    if (strcmp(name, "mixed") == 0) {
        /* Order among outpace, printf and write, as the header says how. */
        for (i = 0; i < 100; i++) {
            assert(outpace_printf(outpace_stdout(), "%d outpace\n", i) == 0);
            assert(outpace_flush(outpace_stdout()) == 0);
            printf("%d printf\n", i);
            fflush(stdout);
        }
        return 0;
    }
    /* The process ends with its last thread. */
    if (strcmp(name, "main first, init later") == 0 || strcmp(name, "main first in a child") == 0) {
        static pthread_t main_thread, other;
        void *(*run)(void *) = strcmp(name, "main first in a child") == 0 ? print_in_a_child : print_after;
        main_thread = pthread_self();
        assert(pthread_create(&other, NULL, run, &main_thread) == 0);
        pthread_exit(NULL);
    }
    if (strcmp(name, "main first") == 0) outpace_init();
    /* Lost nothing at exit, from wherever. */
    print_many();
    if (strcmp(name, "main first") == 0) pthread_exit(NULL);
    if (strcmp(name, "exit") == 0) exit(3);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1) return program(argv[1]);
    /* A pipe whose reader has gone is an error, as for write(2). */
    signal(SIGPIPE, SIG_IGN);
    everything_appears_as_it_was_appended();
    numbers_are_those_of_printf();
    what_does_not_fit_takes_the_long_way();
    messages_of_threads_are_whole();
    errors_are_returned();
    null_is_no_crash();
    the_default_is_that_of_standard_output();
    a_question_is_drained_before_a_read_that_waits();
    a_full_pipe_does_not_keep_a_background();
#ifndef SANITIZED
    a_thread_that_prints_may_be_cancelled();
#endif
    outpace_puts(outpace_stderr(), "interface.c: all is well");
    return 0;
}
