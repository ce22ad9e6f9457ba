/*
 * A disk without moving parts, local or across a network: each request takes its latency, so many at a time, and none begins
 * before the limits on operations and bytes allow it. Limits are kept evenly, without saved-up bursts.
 */

#include "timing.h"

#include <stdlib.h>

#define STREAMS 32
#define LATENCY_IS_FOR INT64_C(16384)

/* Requests that each went on where the one before ended. */
struct stream {
    int64_t end;
    int64_t counted; /* bytes of it since its last full unit */
    int64_t used;
};

struct flash {
    struct timing timing;
    struct parameters parameters;
    struct stream streams[2][STREAMS];
    int64_t operations_from[2]; /* when the next operation may begin */
    int64_t bytes_from[2];
    int64_t free_from[];
};

/* The stream that a request goes on with, or one that begins with it; `goes_on` tells which. */
static struct stream *find_stream(struct stream *streams, const struct request *request, bool *goes_on)
{
    struct stream *oldest = streams;
    for (struct stream *stream = streams; stream < streams + STREAMS; stream++) {
        if (stream->end == request->offset && stream->used != 0) {
            *goes_on = true;
            return stream;
        }
        if (stream->used < oldest->used)
            oldest = stream;
    }
    *goes_on = false;
    oldest->counted = 0;
    return oldest;
}

/* How many operations a request counts as; what goes on fills the unit that was begun first. */
static int64_t operations(const struct parameters *parameters, struct stream *stream, int64_t length)
{
    if (parameters->unit == 0)
        return 1;
    int64_t begun = stream->counted > 0 ? 1 : 0;
    int64_t total = stream->counted + length;
    stream->counted = total % parameters->unit;
    return (total + parameters->unit - 1) / parameters->unit - begun;
}

static int64_t *earliest_free(struct flash *flash)
{
    int64_t *earliest = flash->free_from;
    for (int64_t i = 1; i < flash->parameters.depth; i++)
        if (flash->free_from[i] < *earliest)
            earliest = &flash->free_from[i];
    return earliest;
}

static void flash_submit(struct timing *timing, struct request *request)
{
    struct flash *flash = (struct flash *)timing;
    const struct parameters *parameters = &flash->parameters;

    if (request->operation == OPERATION_FLUSH) {
        timing_decide(request, request->arrived + parameters->flush);
        return;
    }
    if (request->operation == OPERATION_TRIM) {
        /* A command without data. */
        timing_decide(request, request->arrived + parameters->write);
        return;
    }
    bool writes = request->operation == OPERATION_WRITE;
    bool goes_on;
    struct stream *stream = find_stream(flash->streams[writes], request, &goes_on);
    stream->end = request->offset + request->length;
    stream->used = request->arrived;

    int limits = writes && !parameters->shared;
    int64_t iops = limits ? parameters->write_iops : parameters->read_iops;
    int64_t rate = limits ? parameters->write_rate : parameters->read_rate;
    int64_t *place = earliest_free(flash);
    int64_t begins = later_of(request->arrived, *place);
    begins = later_of(begins, later_of(flash->operations_from[limits], flash->bytes_from[limits]));
    /* The limits go by when the requests came, so that a queue that never runs dry is served at exactly the rate. */
    int64_t counts = operations(parameters, stream, request->length);
    int64_t came = request->arrived;
    flash->operations_from[limits] = later_of(flash->operations_from[limits], came) + timing_at_rate(counts, iops);
    flash->bytes_from[limits] = later_of(flash->bytes_from[limits], came) + timing_at_rate(request->length, rate);

    int64_t latency = writes ? parameters->write : goes_on ? parameters->read_on : parameters->read;
    int64_t beyond = request->length > LATENCY_IS_FOR ? request->length - LATENCY_IS_FOR : 0;
    int64_t due = begins + latency + timing_at_rate(beyond, rate);
    *place = due;
    timing_decide(request, due);
}

static int64_t flash_advance(struct timing *timing, int64_t now)
{
    (void)timing;
    (void)now;
    return TIMING_NEVER;
}

static void flash_reset(struct timing *timing, int64_t now)
{
    struct flash *flash = (struct flash *)timing;
    for (int64_t i = 0; i < flash->parameters.depth; i++)
        flash->free_from[i] = now;
    for (int i = 0; i < 2; i++) {
        flash->operations_from[i] = flash->bytes_from[i] = now;
        for (int j = 0; j < STREAMS; j++)
            flash->streams[i][j] = (struct stream){0};
    }
}

static void flash_destroy(struct timing *timing)
{
    free(timing);
}

struct timing *flash_create(const struct parameters *parameters)
{
    struct flash *flash = calloc(1, sizeof *flash + sizeof *flash->free_from * (size_t)parameters->depth);
    if (flash == NULL)
        return NULL;
    flash->timing = (struct timing){flash_submit, flash_advance, flash_reset, flash_destroy};
    flash->parameters = *parameters;
    return &flash->timing;
}
