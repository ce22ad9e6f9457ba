/* The disk as a file: a file system with the file `disk`, whose requests are answered when the model says so, and `control`. */

#ifndef DISKMODEL_SERVE_H
#define DISKMODEL_SERVE_H

#include "parameters.h"

/*
 * Serves `file` at `mountpoint` until it is unmounted. What changes it, and the order of its flushes, is kept in the folder
 * `recording` if that is not NULL. Returns an exit status.
 */
int serve(const char *program, const char *file, const char *mountpoint, struct parameters *parameters, const char *recording);

#endif
