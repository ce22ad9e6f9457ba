/* The time that the gate goes by. Apart from the gate, so that its tests can put a time of their own in its place. */

#ifndef DISKMODEL_CLOCK_H
#define DISKMODEL_CLOCK_H

#include <pthread.h>
#include <stdint.h>

/* Nanoseconds; only ever goes forward. */
int64_t clock_now(void);

/* Makes a condition for clock_wait. */
void clock_condition(pthread_cond_t *condition);

/* Waits for the condition, but not beyond `until`; without an end if that is TIMING_NEVER. May return earlier for no reason. */
void clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t until);

#endif
