/* Holds requests back until the model's disk would have answered them. For any number of threads. */

#ifndef DISKMODEL_GATE_H
#define DISKMODEL_GATE_H

#include "timing.h"

#include <stddef.h>

struct gate;

/* A request on its way through the gate. */
struct held {
    struct request request;
    void (*answer)(struct held *held); /* called when the disk would have answered, unless gate_leave says that it has */

    /* the gate's own */
    struct gate *gate;
    int64_t leaves; /* when the answer is to leave; known once it is decided and ready */
    bool limited, ready;
    struct held *child, *sibling;
};

/* NULL if there is no memory or no thread for it. */
struct gate *gate_create(struct timing *timing);

/* Ends its thread; what it still holds is never answered. */
void gate_stop(struct gate *gate);

/* To be called when a request arrives. */
void gate_enter(struct gate *gate, struct held *held, enum operation operation, int64_t offset, int64_t length);

/*
 * To be called when the file itself has been read or written. True if the disk would have answered by now: then the caller answers.
 * Otherwise the gate will, from a thread of its own, and the request is not the caller's any more.
 */
bool gate_leave(struct gate *gate, struct held *held);

/*
 * Obeys one line, in words: `limits on`, `limits off`; `overhead NS`, what this program itself takes and is taken off each
 * latency (told while the machine is idle: the gate then measures how much of that is its own waking). False for any other.
 */
bool gate_obey(struct gate *gate, const char *line);

/* Says as JSON what it does and has done. */
int gate_say(struct gate *gate, char *text, size_t size);

#endif
