/* Four threads count the divisors of numbers, and a fifth prints what they found, in order, and flushes each line; with LARGE it does not. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { threads = 4, ring = 1024 };
static long lines;
static int found[ring];
static long done[ring], printed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *work(void *which) {
    for (long n = (long)which; n < lines; n += threads) {
        int divisors = 0;
        long of = n % 5000 + 1;
        for (long d = 1; d <= of; d++) divisors += of % d == 0;
        pthread_mutex_lock(&lock);
        while (n - printed >= ring) pthread_cond_wait(&changed, &lock);
        found[n % ring] = divisors;
        done[n % ring] = n + 1;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *print(void *nothing) {
    for (long n = 0; n < lines; n++) {
        pthread_mutex_lock(&lock);
        while (done[n % ring] != n + 1) pthread_cond_wait(&changed, &lock);
        int divisors = found[n % ring];
        printed = n + 1;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        printf("%ld has %d divisors\n", n % 5000 + 1, divisors);
#ifndef LARGE
        fflush(stdout);
#endif
    }
    return nothing;
}

int main(int count, char **arguments) {
    lines = count > 1 ? atol(arguments[count - 1]) : 20000;
#ifdef LARGE
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#endif
    pthread_t started[threads + 1];
    for (long i = 0; i < threads; i++) pthread_create(&started[i], NULL, work, (void *)i);
    pthread_create(&started[threads], NULL, print, NULL);
    for (int i = 0; i <= threads; i++) pthread_join(started[i], NULL);
}
