/* outpace for C: output that does not slow the program down.
 *
 *     outpace_guard guard;
 *     outpace_out out = outpace_lock(outpace_stdout(), &guard);
 *     for (int i = 0; i < 1000000; i++) {
 *         outpace_str(&out, "line ");
 *         outpace_int(&out, i);
 *         outpace_char(&out, '\n');
 *         outpace_end(&out);                          // a message: no system call, and seen within 4 ms
 *     }
 *     outpace_unlock(&out);
 *     outpace_printf(outpace_stdout(), "%d lines\n", 1000000);
 *
 * Link with liboutpace_c (pkg-config outpace). C99 or later, C++11 or later; outpace.hpp has an std::ostream.
 *
 * A stream is a queue of bytes with a drain; its buffering says when the drain runs, and on whose thread. Standard output
 * is OUTPACE_PROMPT: as fast as a block, as timely as a line (within 4 ms, in a file within 100 ms). No output is lost at exit
 * or at return from main. C's stdio and outpace do not wait for each other: where both write to one descriptor, call outpace_flush
 * before printf, and fflush before outpace.
 *
 * Functions that return int return 0, or an error number of errno.h (EINVAL for NULL, which no other function takes), except
 * outpace_fd.
 * Writing to a standard output that was closed when the program began is an error (EBADF); after outpace_init it is the null
 * device; writes to a standard error that was closed are lost. SIGPIPE, as for write(2), is the program's to ignore.
 * No function is a cancellation point: pthread_cancel(3) waits until a thread calls pthread_testcancel(3) or the like.
 * Any thread may use any stream; a guard belongs to the thread that locked it. OUTPACE_STDOUT and OUTPACE_STDERR in the
 * environment choose a buffering, too.
 */
#ifndef OUTPACE_H
#define OUTPACE_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && defined(__cplusplus)
/* This is C. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#if defined(__GNUC__)
#define OUTPACE_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#define OUTPACE_LIKELY(x) __builtin_expect(!!(x), 1)
#else
#error "outpace.h needs gcc, clang, or a compiler with their atomic builtins"
#endif

/* A stream: standard output or error, or any descriptor. */
typedef struct outpace_stream outpace_stream;

enum {
    OUTPACE_UNBUFFERED, /* the caller drains each message */
    OUTPACE_LINE,       /* the caller drains at the last newline of a message */
    OUTPACE_BLOCK,      /* the caller drains when the buffer is full */
    OUTPACE_PROMPT,     /* a helper thread drains max_delay_ns after the oldest byte */
    OUTPACE_BACKGROUND  /* a helper thread does all the writing */
};

/* The treatment of a message while the queue of an OUTPACE_BACKGROUND is full. */
enum { OUTPACE_WAIT, OUTPACE_DROP_NEWEST, OUTPACE_DROP_OLDEST, OUTPACE_SPILL };

/* When bytes go to the kernel. 0 stands for the default: struct outpace_buffering b = {OUTPACE_PROMPT}; */
typedef struct outpace_buffering {
    int kind;
    int overflow;                /* of OUTPACE_BACKGROUND */
    size_t capacity;             /* bytes, at most 1 GiB; 0: as large as is best for the destination */
    uint64_t max_delay_ns;       /* of OUTPACE_PROMPT; 0: 4 ms */
    const char *spill_directory; /* of OUTPACE_SPILL */
    uint64_t spill_limit;        /* bytes in the file at most */
} outpace_buffering;

typedef struct outpace_stats {
    uint64_t messages_accepted, bytes_accepted; /* by callers */
    uint64_t bytes_written;                     /* accepted by the kernel */
    uint64_t bytes_queued;
    uint64_t messages_dropped, bytes_dropped, bytes_spilled;
    uint64_t write_calls;     /* system calls that wrote */
    uint64_t longest_wait_ns; /* of a caller, for room in a queue */
} outpace_stats;

/* The process's streams. They need no setup. */
const outpace_stream *outpace_stdout(void);
const outpace_stream *outpace_stderr(void);

/* Drains before SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU and SIGXFSZ end the process, and keeps
 * descriptors 0 to 2 open. Call it first in main, if at all. */
void outpace_init(void);

/* Drains before SIGABRT (abort, assert, an uncaught exception of C++), SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP and SIGSYS end the
 * process: without it, what was printed last is lost. Not part of outpace_init, since a program that has corrupted its memory may
 * then print corrupted output. An error number if the system refuses a handler. */
int outpace_fatal_faults(void);

/* Any descriptor as a stream. It belongs to the stream from then on, unless there is an error. `buffering` may be NULL:
 * the default of standard output for such a file. EBADF, EINVAL. */
int outpace_open(int fd, const outpace_buffering *buffering, const outpace_stream **stream);

/* Drains a stream and closes its descriptor. A standard stream is only flushed. */
int outpace_close(const outpace_stream *stream);

/* Returns once the kernel has accepted every byte written before the call, or the error that made the stream fail. */
int outpace_flush(const outpace_stream *stream);

/* The same, but ETIMEDOUT after that time; the rest stays queued. */
int outpace_flush_within(const outpace_stream *stream, uint64_t milliseconds);

/* Flushes if a read of `fd` would wait (not OUTPACE_BACKGROUND, which drains anyway). Call it before scanf, so that the
 * question is seen whatever the buffering. */
int outpace_flush_before_read(const outpace_stream *stream, int fd);

/* The number of a stream's descriptor; -1 for NULL. */
int outpace_fd(const outpace_stream *stream);

/* One message. */
int outpace_write(const outpace_stream *stream, const void *bytes, size_t length);

/* Takes effect at the next message. EINVAL. */
int outpace_set_buffering(const outpace_stream *stream, const outpace_buffering *buffering);

/* Reads "unbuffered", "line", "block[:64KiB]", "prompt[:4ms]" or "background[:16MiB]". EINVAL. */
int outpace_buffering_from(const char *text, outpace_buffering *buffering);

void outpace_get_stats(const outpace_stream *stream, outpace_stats *stats);

/* Forgets the error that made the stream fail. */
void outpace_clear_error(const outpace_stream *stream);

/* Finds out anew what the descriptor is connected to. Call it after a dup2 onto it, or a freopen of stdout, and outpace_flush
 * before that: bytes that wait go to the new place. Call outpace_flush also before a close of the descriptor, or fclose(stdout). */
void outpace_redetect(const outpace_stream *stream);

/* ThreadSanitizer does not see how the library, which it has not compiled, keeps threads out of a locked stream. */
#if defined(__SANITIZE_THREAD__)
#define OUTPACE_THREAD_SANITIZER_
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OUTPACE_THREAD_SANITIZER_
#endif
#endif
#ifdef OUTPACE_THREAD_SANITIZER_
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#endif

/* The rest of this file makes appending fast. The members of these structures are not for programs. */

typedef struct outpace_cursor_ {
    char *published, *limit;
    uint64_t messages;
} outpace_cursor_;

/* A lock. It must not be copied or moved. */
typedef struct outpace_guard {
    char *at, *end, *start;
    outpace_cursor_ *cursor;
    outpace_cursor_ idle;
    char *own;
    size_t own_room;
    uint64_t guard[8];
#ifdef OUTPACE_THREAD_SANITIZER_
    const outpace_stream *stream;
#endif
} outpace_guard;

/* Appends to a locked stream. A variable of its own, so that compilers keep it in registers. */
typedef struct outpace_out {
    char *at, *end, *start;
    outpace_guard *guard;
} outpace_out;

void outpace_guard_enter(const outpace_stream *stream, outpace_guard *guard);
void outpace_guard_leave(outpace_guard *guard);
void outpace_guard_room(outpace_guard *guard, size_t bytes);
void outpace_guard_ask(outpace_guard *guard);
size_t outpace_double_digits(double number, char *to);

static inline void outpace_save_(const outpace_out *out) {
    out->guard->at = out->at;
    out->guard->start = out->start;
}

static inline void outpace_load_(outpace_out *out) {
    out->at = out->guard->at;
    out->end = out->guard->end;
    out->start = out->guard->start;
}

/* Keeps other threads' messages out until outpace_unlock. A thread may lock a stream again; drains go on. */
static inline outpace_out outpace_lock(const outpace_stream *stream, outpace_guard *guard) {
    outpace_out out;
    outpace_guard_enter(stream, guard);
#ifdef OUTPACE_THREAD_SANITIZER_
    __tsan_acquire((void *)(uintptr_t)stream);
    guard->stream = stream;
#endif
    out.guard = guard;
    outpace_load_(&out);
    return out;
}

/* Ends the message: the bytes appended since the last one become part of the stream, all at once. If the program exits
 * between the first byte of a message and its end, the message is lost. Errors are returned by the next outpace_flush. */
static inline void outpace_end(outpace_out *out) {
    outpace_cursor_ *cursor = out->guard->cursor;
    if (out->at == out->start) return;
    __atomic_store_n(&cursor->messages, cursor->messages + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&cursor->published, out->at, __ATOMIC_RELEASE);
#ifdef __linux__
    /* The thread that drains fences for both (membarrier(2)). */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
    if (OUTPACE_LIKELY(__atomic_load_n(&cursor->limit, __ATOMIC_RELAXED) != NULL)) {
        out->start = out->at;
        return;
    }
    outpace_save_(out);
    outpace_guard_ask(out->guard);
    outpace_load_(out);
}

/* Ends the message, and lets other threads in. */
static inline void outpace_unlock(outpace_out *out) {
    outpace_end(out);
#ifdef OUTPACE_THREAD_SANITIZER_
    __tsan_release((void *)(uintptr_t)out->guard->stream);
#endif
    outpace_guard_leave(out->guard);
}

/* Makes room for `bytes` bytes at out->at, and returns that. */
static inline char *outpace_room(outpace_out *out, size_t bytes) {
    if (!OUTPACE_LIKELY((size_t)(out->end - out->at) >= bytes)) {
        outpace_save_(out);
        outpace_guard_room(out->guard, bytes);
        outpace_load_(out);
    }
    return out->at;
}

/* Append to the message. */
static inline void outpace_bytes(outpace_out *out, const void *bytes, size_t length) {
    char *to = outpace_room(out, length);
    if (length) memcpy(to, bytes, length);
    out->at = to + length;
}

static inline void outpace_str(outpace_out *out, const char *text) {
    outpace_bytes(out, text, strlen(text));
}

static inline void outpace_char(outpace_out *out, char c) {
    char *to = outpace_room(out, 1);
    *to = c;
    out->at = to + 1;
}

/* The four digits of each number below 10000, a byte each, the first in the lowest one. */
extern const uint32_t outpace_four_digits[10000];

static inline uint64_t outpace_digits_(uint32_t n) {
    return outpace_four_digits[n / 10000] | (uint64_t)outpace_four_digits[n % 10000] << 32;
}

static inline char *outpace_put8_(char *to, uint32_t n) {
    uint64_t word = outpace_digits_(n) | 0x3030303030303030;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    memcpy(to, &word, 8);
    return to + 8;
}

/* Fewer than 9 digits, without the zeros in front: trailing zeros of the word. */
static inline char *outpace_put_(char *to, uint32_t n) {
    uint64_t word = outpace_digits_(n);
    int zeros = __builtin_ctzll(word | UINT64_C(1) << 56) & ~7;
    word = (word | 0x3030303030303030) >> zeros;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    memcpy(to, &word, 8);
    return to + 8 - zeros / 8;
}

/* At most 20 digits, stored in whole words: needs room for 24 bytes. Returns their end. */
static inline char *outpace_put_uint_(char *to, uint64_t n) {
    const uint64_t e8 = 100000000;
    if (OUTPACE_LIKELY(n < e8)) return outpace_put_(to, (uint32_t)n);
    if (n < e8 * e8) return outpace_put8_(outpace_put_(to, (uint32_t)(n / e8)), (uint32_t)(n % e8));
    to = outpace_put_(to, (uint32_t)(n / (e8 * e8)));
    n %= e8 * e8;
    return outpace_put8_(outpace_put8_(to, (uint32_t)(n / e8)), (uint32_t)(n % e8));
}

static inline char *outpace_put_int_(char *to, int64_t n) {
    *to = '-';
    return n < 0 ? outpace_put_uint_(to + 1, -(uint64_t)n) : outpace_put_uint_(to, (uint64_t)n);
}

static inline void outpace_uint(outpace_out *out, uint64_t n) {
    char *to = outpace_room(out, 24);
    out->at = outpace_put_uint_(to, n);
}

static inline void outpace_int(outpace_out *out, int64_t n) {
    char *to = outpace_room(out, 25);
    out->at = outpace_put_int_(to, n);
}

/* Hexadecimal, lower case. */
static inline void outpace_hex(outpace_out *out, uint64_t n) {
    int digits = n ? (67 - __builtin_clzll(n)) / 4 : 1;
    char *to = outpace_room(out, 16);
    for (int i = digits; i-- > 0; n >>= 4) to[i] = "0123456789abcdef"[n & 15];
    out->at = to + digits;
}

/* The shortest digits that read back as the same number. */
static inline void outpace_double(outpace_out *out, double number) {
    char *to = outpace_room(out, 32);
    out->at = to + outpace_double_digits(number, to);
}

/* Appends the text that printf would print. EILSEQ if vsnprintf fails. */
OUTPACE_PRINTF(2, 0)
static inline int outpace_vformat(outpace_out *out, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    char *to = outpace_room(out, 128);
    size_t room = (size_t)(out->end - to);
    int length = vsnprintf(to, room, format, arguments);
    if (length >= 0 && (size_t)length >= room) {
        to = outpace_room(out, (size_t)length + 1);
        length = vsnprintf(to, (size_t)length + 1, format, again);
    }
    va_end(again);
    if (length < 0) return EILSEQ;
    out->at = to + length;
    return 0;
}

OUTPACE_PRINTF(2, 3) static inline int outpace_format(outpace_out *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int error = outpace_vformat(out, format, arguments);
    va_end(arguments);
    return error;
}

/* One message, as printf makes it. */
OUTPACE_PRINTF(2, 0)
static inline int outpace_vprintf(const outpace_stream *stream, const char *format, va_list arguments) {
    outpace_guard guard;
    outpace_out out = outpace_lock(stream, &guard);
    int error = outpace_vformat(&out, format, arguments);
    outpace_unlock(&out);
    return error;
}

OUTPACE_PRINTF(2, 3) static inline int outpace_printf(const outpace_stream *stream, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int error = outpace_vprintf(stream, format, arguments);
    va_end(arguments);
    return error;
}

/* One message: the text and a newline. */
static inline void outpace_puts(const outpace_stream *stream, const char *text) {
    outpace_guard guard;
    outpace_out out = outpace_lock(stream, &guard);
    outpace_str(&out, text);
    outpace_char(&out, '\n');
    outpace_unlock(&out);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif
#endif
