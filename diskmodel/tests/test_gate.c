/* What the gate counts as late, in virtual time: its thread sleeps without waiting, and wakes as late as a test says. */

#define _GNU_SOURCE

#include "clock.h"
#include "gate.h"

#include <inttypes.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MICRO INT64_C(1000)
#define PAGE INT64_C(16384)

static int failures;
static _Atomic int64_t now = 1000000000;
static _Atomic int64_t waking; /* how long after its time a sleep ends */
static atomic_bool stands; /* time does */

int64_t clock_now(void)
{
    return now;
}

void clock_condition(pthread_cond_t *condition)
{
    pthread_cond_init(condition, NULL);
}

void clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t until)
{
    if (stands) {
        pthread_mutex_unlock(lock);
        usleep(100);
        pthread_mutex_lock(lock);
    } else if (until == TIMING_NEVER)
        pthread_cond_wait(condition, lock);
    else if (until + waking > now)
        now = until + waking;
}

struct asked {
    struct held held; /* first: the gate knows nothing else of it */
    sem_t answered;
};

static void answer(struct held *held)
{
    sem_post(&((struct asked *)held)->answered);
}

static int64_t said(struct gate *gate, const char *name)
{
    char text[512], key[64];
    gate_say(gate, text, sizeof text);
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *place = strstr(text, key);
    return place == NULL ? -1 : strtoll(place + strlen(key), NULL, 10);
}

/* One read of a page from a disk of so much latency, all in microseconds. */
struct read {
    const char *what;
    int64_t latency, overhead;
    int64_t calm;  /* the waking of an idle machine, in which the overhead is told */
    int64_t waking; /* and when the read is answered */
    int64_t takes; /* to read the file itself */
    int64_t left;  /* when the answer has to have left, counted from the arrival */
    int64_t late;
};

static void check_read(const struct read *read, struct gate **kept)
{
    struct parameters parameters = {.kind = KIND_FLASH, .size = PAGE, .depth = 1, .spindles = 1, .mirrors = 1,
                                    .read = read->latency * MICRO, .read_on = read->latency * MICRO};
    struct timing *timing = timing_create(&parameters);
    struct gate *gate = timing == NULL ? NULL : gate_create(timing);
    char line[64];

    if (gate == NULL)
        exit(1);
    *kept = gate;
    waking = read->calm * MICRO;
    snprintf(line, sizeof line, "overhead %" PRId64, read->overhead * MICRO);
    if (!gate_obey(gate, line) || !gate_obey(gate, "limits on"))
        exit(1);
    waking = read->waking * MICRO;

    struct asked asked = {.held.answer = answer};
    sem_init(&asked.answered, 0, 0);
    int64_t began = now;
    gate_enter(gate, &asked.held, OPERATION_READ, 0, PAGE);
    now += read->takes * MICRO;
    if (!gate_leave(gate, &asked.held))
        sem_wait(&asked.answered);
    int64_t left = (now - began) / MICRO, late = said(gate, "late_ns") / MICRO, latency = said(gate, "latency_ns") / MICRO;
    if (left != read->left || late != read->late || latency != read->latency) {
        failures++;
        printf("%s: left after %" PRId64 " us, %" PRId64 " late of %" PRId64 ", and not %" PRId64 ", %" PRId64 " of %" PRId64 "\n",
               read->what, left, late, latency, read->left, read->late, read->latency);
    }
    sem_destroy(&asked.answered);
    gate_stop(gate);
    timing->destroy(timing);
}

#define MANY 1000

static struct asked many[MANY];
static int order[MANY], answered;

static void note(struct held *held)
{
    order[answered++] = (int)((struct asked *)held - many);
    answer(held);
}

/* However many wait for their time, each is answered at it, in whatever order the file itself was read. */
static void check_order(struct gate **kept)
{
    struct parameters parameters = {.kind = KIND_FLASH, .size = MANY * PAGE, .depth = 1, .spindles = 1, .mirrors = 1,
                                    .read = 100 * MICRO, .read_on = 100 * MICRO};
    struct timing *timing = timing_create(&parameters);
    struct gate *gate = timing == NULL ? NULL : gate_create(timing);

    if (gate == NULL || !gate_obey(gate, "limits on"))
        exit(1);
    *kept = gate;
    waking = 0;
    stands = true;
    for (int i = 0; i < MANY; i++) {
        many[i].held.answer = note;
        sem_init(&many[i].answered, 0, 0);
        gate_enter(gate, &many[i].held, OPERATION_READ, i * PAGE, PAGE);
    }
    /* 7 and MANY have no divisor in common: each comes once. */
    for (int i = 0; i < MANY; i++)
        if (gate_leave(gate, &many[i * 7 % MANY].held))
            exit(1);
    stands = false;
    for (int i = 0; i < MANY; i++)
        sem_wait(&many[i].answered);
    for (int i = 0; i < MANY; i++)
        failures += order[i] != i;
    if (answered != MANY || failures != 0 || said(gate, "late_ns") != 0)
        printf("of %d requests %d were answered, %d not in their turn, %" PRId64 " ns late\n", MANY, answered, failures,
               said(gate, "late_ns"));
    failures += said(gate, "late_ns") != 0;
    gate_stop(gate);
    timing->destroy(timing);
}

int main(void)
{
    static const struct read reads[] = {
        {"ready in time, an idle machine", 640, 83, 28, 28, 100, 585, 0},
        {"ready in time, the overhead not yet measured", 640, 0, 28, 28, 100, 668, 28},
        {"ready in time, a busy machine", 640, 83, 28, 78, 100, 635, 50},
        {"ready in time, a busy machine, beyond its latency", 640, 83, 28, 1000, 100, 1557, 972},
        {"ready when the thread is awake", 640, 83, 28, 28, 585, 585, 0},
        {"ready before it, with nobody to wake", 640, 83, 28, 28, 560, 560, 0},
        {"ready within the overhead", 640, 83, 28, 28, 600, 600, 15},
        {"ready at the latency", 640, 83, 28, 28, 640, 640, 55},
        {"ready after the latency", 640, 83, 28, 28, 800, 800, 215},
        {"a waking that is more than the overhead", 640, 20, 28, 28, 100, 648, 8},
        {"a latency within the overhead", 70, 83, 28, 28, 40, 40, 25},
        {"a latency that no answer can have", 50, 83, 28, 28, 40, 40, 40},
        {"no latency", 0, 83, 28, 28, 10, 10, 10},
    };
    /* A gate lives as long as its program: nothing frees it. */
    static struct gate *gates[sizeof reads / sizeof *reads + 1];
    check_order(&gates[sizeof reads / sizeof *reads]);
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
        check_read(&reads[i], &gates[i]);
    if (failures == 0)
        printf("the gate: all checks passed\n");
    return failures == 0 ? 0 : 1;
}
