/* When a disk would have answered: models of disks in time alone. They read no clock, start no thread and move no data. */

#ifndef DISKMODEL_TIMING_H
#define DISKMODEL_TIMING_H

#include "parameters.h"

#include <stdbool.h>
#include <stdint.h>

#define TIMING_NEVER INT64_MAX

enum operation { OPERATION_READ, OPERATION_WRITE, OPERATION_FLUSH, OPERATION_TRIM };

/* One request to the disk. It stays the caller's, and must stay until it is decided. */
struct request {
    enum operation operation;
    int64_t offset, length; /* bytes */
    int64_t arrived;        /* ns of any clock that only goes forward */
    int64_t due;            /* when the disk answers it; known once it is decided */
    bool decided;
    void (*on_decided)(struct request *request); /* called when it is decided; set after its submission, or never */

    /* the model's own */
    int parts_left;
    int64_t flushed_at;
    struct request *next;
};

/* A model of one disk. */
struct timing {
    /* Takes a request that arrived at request->arrived, which no earlier call may be later than. */
    void (*submit)(struct timing *timing, struct request *request);
    /* Decides all that can be decided by `now`. Returns when there is more to decide, TIMING_NEVER if nothing waits. */
    int64_t (*advance)(struct timing *timing, int64_t now);
    /* Forgets all it knows: what is not decided is due now. */
    void (*reset)(struct timing *timing, int64_t now);
    void (*destroy)(struct timing *timing);
};

/* NULL if there is no memory for it. */
struct timing *timing_create(const struct parameters *parameters);

struct timing *flash_create(const struct parameters *parameters);
struct timing *spinning_create(const struct parameters *parameters);

/* Sets when a request is due, and tells whoever waits for it. */
void timing_decide(struct request *request, int64_t due);

/* The later of two times. */
static inline int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How long `count` of something take at `rate` a second, in ns; 0 for no rate. */
int64_t timing_at_rate(int64_t count, int64_t rate);

/* The time of a seek over so many of all tracks, in ns. */
int64_t timing_seek(const struct parameters *parameters, int64_t tracks, int64_t all);

#endif
