/* What a write of 60 bytes costs the thread that makes it, in bursts that a reader has time to pass on: nanoseconds of
   processor time, the median of all bursts, into a file. Arguments: threads, file. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BURSTS = 60, WRITES = 8000 };

static int threads;
static pthread_barrier_t together;
static double costs[16][BURSTS];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void *writer(void *own) {
    double *cost = own;
    char text[60];
    memset(text, 'x', sizeof text);
    text[59] = '\n';
    for (int burst = 0; burst < BURSTS; burst++) {
        pthread_barrier_wait(&together);
        double began = now();
        for (int i = 0; i < WRITES / threads; i++) {
            if (write(1, text, sizeof text) != sizeof text) {
                abort();
            }
        }
        cost[burst] = (now() - began) / (WRITES / threads);
        usleep(40000);
    }
    return NULL;
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int count, char **words) {
    threads = atoi(words[count - 2]);
    pthread_barrier_init(&together, NULL, threads);
    pthread_t all[16];
    for (int i = 0; i < threads; i++) {
        pthread_create(&all[i], NULL, writer, costs[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(all[i], NULL);
    }
    qsort(costs, threads * BURSTS, sizeof(double), compare);
    /* With fewer threads than rows, the rows are still next to each other. */
    FILE *file = fopen(words[count - 1], "w");
    fprintf(file, "%f\n", costs[0][threads * BURSTS / 2]);
    return fclose(file);
}
