/* diskmodel: serves a file as a disk of another kind would answer. */

#include "parameters.h"
#include "serve.h"

#include <stdio.h>
#include <string.h>

static const char RECORDING[] = "recording=";

static int usage(const char *why)
{
    if (why != NULL)
        fprintf(stderr, "diskmodel: %s\n", why);
    fprintf(stderr, "usage: diskmodel FILE MOUNTPOINT [recording=FOLDER] [KEY=VALUE...]\n"
                    "serves FILE as MOUNTPOINT/disk until it is unmounted; MOUNTPOINT/control takes a line and says how it stands;\n"
                    "with a recording, FOLDER keeps all that changes FILE, and the order of its flushes\n");
    parameters_explain();
    return 2;
}

int main(int count, char *words[])
{
    struct parameters parameters;
    char why[256];

    if (count < 3)
        return usage(NULL);
    const char *recording = NULL;
    int first = 3;
    if (count > first && strncmp(words[first], RECORDING, sizeof RECORDING - 1) == 0)
        recording = words[first++] + sizeof RECORDING - 1;
    if (!parameters_read(&parameters, count - first, words + first, why, sizeof why) ||
        !parameters_check(&parameters, why, sizeof why))
        return usage(why);
    return serve(words[0], words[1], words[2], &parameters, recording);
}
