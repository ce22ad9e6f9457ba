#define _GNU_SOURCE

#include "whole.h"

#include <errno.h>
#include <unistd.h>

ssize_t read_whole(int file, char *into, size_t size, off_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(file, into + done, size - done, offset + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

bool write_whole(int file, const char *from, size_t size, off_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t put = pwrite(file, from + done, size - done, offset + (off_t)done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        done += (size_t)put;
    }
    return true;
}
