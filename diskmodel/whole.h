/* Reading and writing a place of a file to its end, whatever interrupts it. */

#ifndef DISKMODEL_WHOLE_H
#define DISKMODEL_WHOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Bytes read, fewer than asked for where the file ends; -1 with errno set. */
ssize_t read_whole(int file, char *into, size_t size, off_t offset);

/* False with errno set. */
bool write_whole(int file, const char *from, size_t size, off_t offset);

#endif
