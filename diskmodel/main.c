/* diskmodel: serves a file as a disk of another kind would answer. */

#include "cache.h"
#include "parameters.h"
#include "serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char RECORDING[] = "recording=", CACHE[] = "volatile=", ANY[] = "any";

static int usage(const char *why)
{
    if (why != NULL)
        fprintf(stderr, "diskmodel: %s\n", why);
    fprintf(stderr, "usage: diskmodel FILE MOUNTPOINT [recording=FOLDER] [volatile=BYTES|any] [KEY=VALUE...]\n"
                    "serves FILE as MOUNTPOINT/disk until it is unmounted; MOUNTPOINT/control takes a line and says how it stands;\n"
                    "with a recording, FOLDER keeps all that changes FILE, and the order of its flushes;\n"
                    "with a volatile cache, the line `cut` takes back all that is not safe\n");
    parameters_explain();
    return 2;
}

/* The size of a volatile cache as it is given; false if that is none. */
static bool read_cache(const char *text, int64_t *size)
{
    char *end;
    if (strcmp(text, ANY) == 0) {
        *size = CACHE_ANY;
        return true;
    }
    errno = 0;
    *size = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *size >= 0;
}

int main(int count, char *words[])
{
    struct parameters parameters;
    char why[256];

    if (count < 3)
        return usage(NULL);
    struct promises promises = {0};
    int first = 3;
    if (count > first && strncmp(words[first], RECORDING, sizeof RECORDING - 1) == 0)
        promises.recording = words[first++] + sizeof RECORDING - 1;
    if (count > first && strncmp(words[first], CACHE, sizeof CACHE - 1) == 0) {
        promises.loses = true;
        if (!read_cache(words[first++] + sizeof CACHE - 1, &promises.cache))
            return usage("volatile= is a number of bytes, or any");
    }
    if (!parameters_read(&parameters, count - first, words + first, why, sizeof why))
        return usage(why);
    return serve(words[0], words[1], words[2], &parameters, &promises);
}
