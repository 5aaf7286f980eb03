/* Ways to write whole lines to a pipe to a reader that touches every byte: see 2026-11-22-pipe-designs.md.
   gcc -O3 -march=native 2026-11-23-whole-lines.c -o whole-lines && ./whole-lines 21 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LINES = 4000000, BATCH = 32768, SMALL = 4096 };
enum { SMALL_WRITES, BATCH_WRITES, OWN_PIPE, NEW_PIPE, WAYS };
static const char *const NAMES[] = {"whole lines, 4 KiB a write", "whole lines, 32 KiB a write", "4 KiB a write into an own pipe, then splice",
                                    "the same, the pipe made anew each time"};
static char *text;
static size_t length;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* The whole lines among so many bytes. */
static size_t cut(const char *from, size_t left, size_t limit) {
    if (left <= limit) return left;
    while (from[limit - 1] != '\n') limit--;
    return limit;
}

static void write_pieces(int fd, const char *from, size_t size, size_t limit) {
    while (size > 0) {
        size_t piece = cut(from, size, limit);
        if (write(fd, from, piece) != (ssize_t)piece) _exit(2);
        from += piece;
        size -= piece;
    }
}

static void output(int way) {
    int own[2];
    if (way == OWN_PIPE && pipe2(own, O_CLOEXEC)) _exit(3);
    for (size_t at = 0; at < length;) {
        size_t batch = cut(text + at, length - at, BATCH);
        if (way <= BATCH_WRITES) {
            write_pieces(1, text + at, batch, way == SMALL_WRITES ? SMALL : BATCH);
        } else {
            if (way == NEW_PIPE && pipe2(own, O_CLOEXEC)) _exit(3);
            write_pieces(own[1], text + at, batch, SMALL);
            for (size_t left = batch; left > 0;) {
                ssize_t moved = splice(own[0], 0, 1, 0, left, 0);
                if (moved <= 0) _exit(4);
                left -= moved;
            }
            if (way == NEW_PIPE) close(own[0]), close(own[1]);
        }
        at += batch;
    }
}

static double run(int way) {
    static char buffer[65536];
    int ends[2], status;
    if (pipe(ends)) exit(1);
    double begun = now();
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        output(way);
        _exit(0);
    }
    close(ends[1]);
    size_t lines = 0, arrived = 0;
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0; arrived += got)
        for (ssize_t i = 0; i < got; i++) lines += buffer[i] == '\n';
    close(ends[0]);
    waitpid(child, &status, 0);
    if (arrived != length || lines != LINES || status) exit(1);
    return (now() - begun) / LINES;
}

static int less(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }

int main(int count, char **arguments) {
    int rounds = count > 1 ? atoi(arguments[1]) : 21;
    double *times = malloc(sizeof *times * WAYS * rounds);
    text = malloc(LINES * 8);
    for (long i = 0; i < LINES; i++) length += sprintf(text + length, "%ld\n", i % 1000000);
    for (int round = 0; round < rounds; round++)
        for (int way = 0; way < WAYS; way++) times[way * rounds + round] = run(way);
    for (int way = 0; way < WAYS; way++) {
        double *own = times + way * rounds;
        qsort(own, rounds, sizeof *own, less);
        printf("%-44s %.2f ns a line (quartiles %.2f to %.2f)\n", NAMES[way], own[rounds / 2], own[rounds / 4], own[3 * rounds / 4]);
    }
}
