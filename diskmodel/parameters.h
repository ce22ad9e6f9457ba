/* What a disk is said to be: the parameters of a disk model, as they are given on the command line. */

#ifndef DISKMODEL_PARAMETERS_H
#define DISKMODEL_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kind {
    KIND_UNLIMITED, /* as fast as the file itself */
    KIND_FLASH,     /* latency, operations a second, bytes a second */
    KIND_SPINNING,  /* heads that seek over platters that turn, alone or as mirrored and striped spindles */
};

/* Times in nanoseconds, sizes in bytes, rates in their unit a second; 0 where a limit is not given. */
struct parameters {
    enum kind kind;
    int64_t size; /* of the disk; set from the file */

    /* flash */
    int64_t read;       /* latency of a random read of 16 KiB */
    int64_t read_on;    /* of one that goes on where an earlier one ended, which the device has read ahead */
    int64_t write;      /* of a write of 16 KiB */
    int64_t flush;      /* of a flush */
    int64_t read_iops;  /* operations a second */
    int64_t write_iops;
    int64_t read_rate;  /* bytes a second */
    int64_t write_rate;
    int64_t shared;     /* 1: reads and writes draw on the same limits, those of reads */
    int64_t unit;       /* bytes in a row that count as one operation; 0: each request counts as one */
    int64_t depth;      /* requests served at a time */

    /* spinning */
    int64_t revolution;
    int64_t seek_track;   /* to the next track */
    int64_t seek_average; /* between two random tracks */
    int64_t seek_full;    /* over all tracks */
    int64_t rate;         /* bytes a second under a head */
    int64_t command;      /* what a command takes besides, all of it where the data are in a cache */
    int64_t queue;        /* commands among which a spindle chooses the nearest */
    int64_t read_ahead;   /* bytes that a head reads on into the spindle's memory while nothing else is asked */
    int64_t cache;        /* bytes of write cache; 0: writes wait for the platter */
    int64_t battery;      /* 1: a flush need not wait for what is in the write cache */
    int64_t spindles;
    int64_t mirrors;      /* spindles with the same content */
    int64_t stripe;       /* bytes in a row on one spindle */
};

/*
 * Reads KEY=VALUE words. False, with the reason in `why`, for one that means nothing or that its kind lacks, and for figures that
 * no disk has.
 */
bool parameters_read(struct parameters *parameters, int count, char *const words[], char *why, size_t why_size);

/* Writes what may stand on the command line to standard error. */
void parameters_explain(void);

#endif
