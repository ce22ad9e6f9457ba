/* Keeps what a disk was asked for, in order: what a power cut at any moment could have left follows from it. For any number of threads. */

#ifndef DISKMODEL_RECORD_H
#define DISKMODEL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record;

enum event { EVENT_WRITE, EVENT_ZERO, EVENT_TRIM, EVENT_FLUSH, EVENT_ANSWER };

/* As in the file `events`, one after another, in the order in which they came; native byte order. */
struct recorded {
    int64_t time;   /* ns, CLOCK_MONOTONIC */
    int64_t number; /* of the request; an answer has that of its request */
    int64_t offset, length;
    int64_t data;   /* of a write: where its bytes are in the file `data` */
    int32_t event;
    int32_t failed; /* of an answer: 1 if the request failed, and changed nothing for certain */
};

/* Writes into `folder`, which exists. NULL, with errno set, if it cannot. */
struct record *record_create(const char *folder);

/* Keeps a request before it is carried out, and the bytes of a write; its number, or -1 if they could not be kept. */
int64_t record_request(struct record *record, enum event event, int64_t offset, int64_t length, const void *bytes);

/* Keeps an answer before it is given. */
void record_answer(struct record *record, int64_t number, bool failed);

/* Has all that was kept so far in the files. False if something is missing: then the recording is worth nothing. */
bool record_sync(struct record *record);

/* Requests kept so far. */
int64_t record_count(struct record *record);

#endif
