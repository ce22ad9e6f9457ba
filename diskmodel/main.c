/* diskmodel: serves a file as a disk of another kind would answer. */

#include "parameters.h"
#include "serve.h"

#include <stdio.h>

static int usage(const char *why)
{
    if (why != NULL)
        fprintf(stderr, "diskmodel: %s\n", why);
    fprintf(stderr, "usage: diskmodel FILE MOUNTPOINT [KEY=VALUE...]\n"
                    "serves FILE as MOUNTPOINT/disk until it is unmounted; MOUNTPOINT/control takes a line and says how it stands\n");
    parameters_explain();
    return 2;
}

int main(int count, char *words[])
{
    struct parameters parameters;
    char why[256];

    if (count < 3)
        return usage(NULL);
    if (!parameters_read(&parameters, count - 3, words + 3, why, sizeof why) ||
        !parameters_check(&parameters, why, sizeof why))
        return usage(why);
    return serve(words[0], words[1], words[2], &parameters);
}
