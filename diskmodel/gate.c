#define _GNU_SOURCE

#include "gate.h"

#include "clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLEEPS 101
#define SLEEP INT64_C(300000) /* ns: as long as a request waits while the overhead is measured, for longer sleeps are deeper */

struct gate {
    pthread_t clock;
    pthread_mutex_t lock;
    pthread_cond_t sooner; /* something comes sooner than what the clock sleeps for */
    struct timing *timing;
    bool stopped;
    bool limited;
    int64_t overhead;
    int64_t waking;     /* what of the overhead is a thread's waking after its time */
    int64_t next;       /* when the model has more to decide */
    int64_t sleeps_for; /* what the clock sleeps for */
    struct held *first; /* to be answered, of those that are decided and ready */
    int64_t requests[OPERATION_TRIM + 1];
    int64_t latency, late; /* ns that the modelled disk took for all requests, and that the client has them later */
};

/*
 * What waits for its time is a pairing heap (Fredman and others, 1986), made of the requests themselves: it takes no memory of which
 * there could be none left.
 */
static struct held *joined(struct held *one, struct held *other)
{
    if (one == NULL || other == NULL)
        return one != NULL ? one : other;
    struct held *first = other->leaves < one->leaves ? other : one, *second = first == one ? other : one;
    second->sibling = first->child;
    first->child = second;
    return first;
}

static void heap_push(struct gate *gate, struct held *held)
{
    held->child = held->sibling = NULL;
    gate->first = joined(gate->first, held);
}

static struct held *heap_pop(struct gate *gate)
{
    struct held *popped = gate->first, *pairs = NULL;
    for (struct held *one = popped->child, *other, *rest; one != NULL; one = rest) {
        other = one->sibling;
        rest = other != NULL ? other->sibling : NULL;
        struct held *pair = joined(one, other);
        pair->sibling = pairs;
        pairs = pair;
    }
    gate->first = NULL;
    for (struct held *rest; pairs != NULL; pairs = rest) {
        rest = pairs->sibling;
        gate->first = joined(gate->first, pairs);
    }
    return popped;
}

/*
 * By how much an answer that leaves now is later for the client than the disk's would be.
 *
 * The overhead was measured from end to end: the way in, the waking of the gate's thread from a sleep of that kind, and the way
 * out. It is taken off when that thread is told to wake, so the answer of a disk that was quick enough leaves at
 * due - overhead + waking, and the client has it at due. That moment is what counts. Against `due`, an answer could lose the way
 * in and the way out again without being late; against due - overhead, each answer of an idle machine would be late by one
 * waking that the overhead has in it. No answer can leave before its request has come: what of an overhead is more than the
 * latency is no lateness, and fio finds it.
 */
static int64_t lateness(const struct gate *gate, const struct request *request, int64_t now)
{
    int64_t in_time = request->due - gate->overhead + gate->waking;
    if (in_time < request->arrived)
        in_time = request->arrived;
    return now > in_time ? now - in_time : 0;
}

static int compare(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

/* How long after its time a thread that slept is awake, as a rule: the median, which a disturbance does not move. */
static int64_t measure_waking(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t nobody;
    int64_t after[SLEEPS];

    clock_condition(&nobody);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SLEEPS; i++) {
        int64_t until = clock_now() + SLEEP;
        while (clock_now() < until)
            clock_wait(&nobody, &lock, until);
        after[i] = clock_now() - until;
    }
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&nobody);
    qsort(after, SLEEPS, sizeof *after, compare);
    return after[SLEEPS / 2];
}

/* Has a decided and ready request answered in its time. */
static void schedule(struct gate *gate, struct held *held)
{
    held->leaves = held->request.due - gate->overhead;
    heap_push(gate, held);
    if (held->leaves < gate->sleeps_for)
        pthread_cond_signal(&gate->sooner);
}

static void on_decided(struct request *request)
{
    /* The request is the first member of what is held. */
    struct held *held = (struct held *)request;
    held->gate->latency += request->due - request->arrived;
    if (held->ready)
        schedule(held->gate, held);
}

/* Answers what is due, and decides what time alone decides: which request a head takes next once it is free. */
static void *run_clock(void *argument)
{
    struct gate *gate = argument;
    pthread_mutex_lock(&gate->lock);
    while (!gate->stopped) {
        int64_t now = clock_now();
        if (gate->next <= now)
            gate->next = gate->timing->advance(gate->timing, now);
        if (gate->first != NULL && gate->first->leaves <= now) {
            struct held *held = heap_pop(gate);
            gate->late += lateness(gate, &held->request, now);
            pthread_mutex_unlock(&gate->lock);
            held->answer(held);
            pthread_mutex_lock(&gate->lock);
            continue;
        }
        gate->sleeps_for = gate->next;
        if (gate->first != NULL && gate->first->leaves < gate->sleeps_for)
            gate->sleeps_for = gate->first->leaves;
        clock_wait(&gate->sooner, &gate->lock, gate->sleeps_for);
        /* Awake, it looks for itself. */
        gate->sleeps_for = 0;
    }
    pthread_mutex_unlock(&gate->lock);
    return NULL;
}

struct gate *gate_create(struct timing *timing)
{
    struct gate *gate = calloc(1, sizeof *gate);
    if (gate == NULL)
        return NULL;
    gate->timing = timing;
    gate->next = TIMING_NEVER;
    pthread_mutex_init(&gate->lock, NULL);
    clock_condition(&gate->sooner);
    if (pthread_create(&gate->clock, NULL, run_clock, gate) != 0) {
        free(gate);
        return NULL;
    }
    return gate;
}

void gate_stop(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->stopped = true;
    pthread_cond_signal(&gate->sooner);
    pthread_mutex_unlock(&gate->lock);
    pthread_join(gate->clock, NULL);
}

/* Asks the model when it has more to decide; what is new may have changed that. */
static void look_ahead(struct gate *gate, int64_t now)
{
    gate->next = gate->timing->advance(gate->timing, now);
    if (gate->next < gate->sleeps_for)
        pthread_cond_signal(&gate->sooner);
}

void gate_enter(struct gate *gate, struct held *held, enum operation operation, int64_t offset, int64_t length)
{
    pthread_mutex_lock(&gate->lock);
    /* Inside the lock, so that requests reach the model in the order of their arrival. */
    int64_t now = clock_now();
    held->request = (struct request){
        .operation = operation, .offset = offset, .length = length, .arrived = now};
    held->limited = gate->limited;
    held->ready = false;
    held->gate = gate;
    gate->requests[operation]++;
    if (gate->limited) {
        gate->timing->submit(gate->timing, &held->request);
        if (held->request.decided) {
            gate->latency += held->request.due - now;
        } else {
            held->request.on_decided = on_decided;
            look_ahead(gate, now);
        }
    }
    pthread_mutex_unlock(&gate->lock);
}

bool gate_leave(struct gate *gate, struct held *held)
{
    if (!held->limited)
        return true;
    struct request *request = &held->request;
    pthread_mutex_lock(&gate->lock);
    int64_t now = clock_now();
    bool answers = false;
    if (!request->decided) {
        held->ready = true;
    } else {
        answers = request->due - gate->overhead <= now;
        if (answers)
            gate->late += lateness(gate, request, now);
        else
            schedule(gate, held);
    }
    pthread_mutex_unlock(&gate->lock);
    return answers;
}

bool gate_obey(struct gate *gate, const char *line)
{
    bool obeyed = true;
    int64_t overhead = -1, waking = 0;
    /* Before the lock: it takes some 35 ms. Without an overhead, nothing is in it. */
    if (sscanf(line, "overhead %" SCNd64, &overhead) == 1 && overhead > 0)
        waking = measure_waking();
    pthread_mutex_lock(&gate->lock);
    if (strcmp(line, "limits on") == 0) {
        gate->timing->reset(gate->timing, clock_now());
        gate->limited = true;
        memset(gate->requests, 0, sizeof gate->requests);
        gate->latency = gate->late = 0;
    } else if (strcmp(line, "limits off") == 0) {
        gate->timing->reset(gate->timing, clock_now());
        gate->limited = false;
    } else if (overhead >= 0) {
        gate->overhead = overhead;
        gate->waking = waking < overhead ? waking : overhead;
    } else {
        obeyed = false;
    }
    look_ahead(gate, clock_now());
    pthread_mutex_unlock(&gate->lock);
    return obeyed;
}

int gate_say(struct gate *gate, char *text, size_t size)
{
    pthread_mutex_lock(&gate->lock);
    int length = snprintf(text, size,
                          "{\"limits\":\"%s\",\"overhead_ns\":%" PRId64 ",\"reads\":%" PRId64 ",\"writes\":%" PRId64
                          ",\"flushes\":%" PRId64 ",\"latency_ns\":%" PRId64 ",\"late_ns\":%" PRId64 "}\n",
                          gate->limited ? "on" : "off", gate->overhead, gate->requests[OPERATION_READ], gate->requests[OPERATION_WRITE],
                          gate->requests[OPERATION_FLUSH], gate->latency, gate->late);
    pthread_mutex_unlock(&gate->lock);
    return length;
}
