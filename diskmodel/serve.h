/* The disk as a file: a file system with the file `disk`, whose requests are answered when the model says so, and `control`. */

#ifndef DISKMODEL_SERVE_H
#define DISKMODEL_SERVE_H

#include "parameters.h"

/* What is to be known, and lost, of what the disk was asked. */
struct promises {
    const char *recording; /* the folder that keeps all changes, and the order of flushes; NULL: nothing is kept */
    bool loses;            /* whether the line `cut` takes back what is not safe */
    int64_t cache;         /* then: bytes of its volatile cache, or CACHE_ANY */
};

/* Serves `file` at `mountpoint` until it is unmounted. Returns an exit status. */
int serve(const char *program, const char *file, const char *mountpoint, struct parameters *parameters,
          const struct promises *promises);

#endif
