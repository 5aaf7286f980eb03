/* Every clock stands still, as under libfaketime with a fixed time. */
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    time->tv_sec = 1577836800;
    time->tv_nsec = 0;
    return 0;
}
