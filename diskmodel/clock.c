#define _GNU_SOURCE

#include "clock.h"

#include "timing.h"

#include <time.h>

int64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void clock_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

void clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t until)
{
    if (until == TIMING_NEVER) {
        pthread_cond_wait(condition, lock);
        return;
    }
    struct timespec at = {until / 1000000000, until % 1000000000};
    pthread_cond_timedwait(condition, lock, &at);
}
