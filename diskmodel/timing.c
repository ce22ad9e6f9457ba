#include "timing.h"

#include <math.h>
#include <stdlib.h>

/* Bytes times nanoseconds. */
__extension__ typedef __int128 wide;

static void unlimited_submit(struct timing *timing, struct request *request)
{
    (void)timing;
    timing_decide(request, request->arrived, false);
}

static int64_t unlimited_advance(struct timing *timing, int64_t now)
{
    (void)timing;
    (void)now;
    return TIMING_NEVER;
}

static void unlimited_reset(struct timing *timing, int64_t now)
{
    (void)timing;
    (void)now;
}

static void unlimited_destroy(struct timing *timing)
{
    free(timing);
}

static struct timing *unlimited_create(void)
{
    struct timing *timing = malloc(sizeof *timing);
    if (timing != NULL)
        *timing = (struct timing){unlimited_submit, unlimited_advance, unlimited_reset, unlimited_destroy};
    return timing;
}

struct timing *timing_create(const struct parameters *parameters)
{
    switch (parameters->kind) {
    case KIND_FLASH:
        return flash_create(parameters);
    case KIND_SPINNING:
        return spinning_create(parameters);
    case KIND_UNLIMITED:
        break;
    }
    return unlimited_create();
}

void timing_decide(struct request *request, int64_t due, bool later)
{
    request->due = due;
    request->decided = true;
    if (later && request->on_decided != NULL)
        request->on_decided(request);
}

int64_t timing_at_rate(int64_t count, int64_t rate)
{
    if (rate == 0)
        return 0;
    return (int64_t)((wide)count * 1000000000 / rate);
}

/*
 * track + b·√x + c·x for x, the share of all tracks: the square root is the arm's acceleration over short ways, the rest its
 * top speed over long ones (Ruemmler and Wilkes, An introduction to disk drive modeling, 1994). b and c are what the average and
 * the full seek of a data sheet leave: over random pairs of tracks, x is distributed as 2(1-x), so that the mean of √x is
 * 8/15 and that of x 1/3.
 */
int64_t timing_seek(const struct parameters *parameters, int64_t tracks, int64_t all)
{
    if (tracks == 0 || all == 0)
        return 0;
    double full = (double)(parameters->seek_full - parameters->seek_track);
    double average = (double)(parameters->seek_average - parameters->seek_track);
    double b = (average - full / 3) * 5;
    double c = full - b;
    double x = (double)tracks / (double)all;
    return parameters->seek_track + (int64_t)(b * sqrt(x) + c * x);
}
