#include "timing.h"

#include <math.h>

/* Bytes times nanoseconds. */
__extension__ typedef __int128 wide;

struct timing *timing_create(const struct parameters *parameters)
{
    if (parameters->kind == KIND_SPINNING)
        return spinning_create(parameters);
    /* Unlimited is flash without latencies and limits. */
    return flash_create(parameters);
}

void timing_decide(struct request *request, int64_t due)
{
    request->due = due;
    request->decided = true;
    if (request->on_decided != NULL)
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
