#include "parameters.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)
#define TERABYTE (INT64_C(1) << 40)

struct known {
    const char *name;
    enum kind kind;
    size_t place;
    int64_t least, most;
    bool needed;
    const char *about;
};

#define FIELD(field) offsetof(struct parameters, field)

static const struct known KNOWN[] = {
    {"read", KIND_FLASH, FIELD(read), 0, 10 * SECOND, true, "ns, random read of 16 KiB"},
    {"read_on", KIND_FLASH, FIELD(read_on), 0, 10 * SECOND, false, "ns, read that goes on where another ended [read]"},
    {"write", KIND_FLASH, FIELD(write), 0, 10 * SECOND, true, "ns, write of 16 KiB"},
    {"flush", KIND_FLASH, FIELD(flush), 0, 10 * SECOND, true, "ns, flush"},
    {"read_iops", KIND_FLASH, FIELD(read_iops), 0, SECOND, false, "reads a second [no limit]"},
    {"write_iops", KIND_FLASH, FIELD(write_iops), 0, SECOND, false, "writes a second [no limit]"},
    {"read_rate", KIND_FLASH, FIELD(read_rate), 0, TERABYTE, false, "bytes/s read [no limit]"},
    {"write_rate", KIND_FLASH, FIELD(write_rate), 0, TERABYTE, false, "bytes/s written [no limit]"},
    {"shared", KIND_FLASH, FIELD(shared), 0, 1, false, "1: reads and writes together keep the limits of reads [0]"},
    {"unit", KIND_FLASH, FIELD(unit), 0, TERABYTE, false, "bytes in a row that count as one operation [any request]"},
    {"depth", KIND_FLASH, FIELD(depth), 1, 1024, true, "requests served at a time"},
    {"revolution", KIND_SPINNING, FIELD(revolution), 1000, 10 * SECOND, true, "ns, one turn"},
    {"seek_track", KIND_SPINNING, FIELD(seek_track), 0, 10 * SECOND, true, "ns, to the next track"},
    {"seek_average", KIND_SPINNING, FIELD(seek_average), 0, 10 * SECOND, true, "ns, between random tracks"},
    {"seek_full", KIND_SPINNING, FIELD(seek_full), 0, 10 * SECOND, true, "ns, over all tracks"},
    {"rate", KIND_SPINNING, FIELD(rate), 1000000, TERABYTE, true, "bytes/s under a head"},
    {"command", KIND_SPINNING, FIELD(command), 0, SECOND, false, "ns, what a command takes besides [0]"},
    {"queue", KIND_SPINNING, FIELD(queue), 1, 256, true, "commands among which the nearest is chosen"},
    {"read_ahead", KIND_SPINNING, FIELD(read_ahead), 0, TERABYTE, false, "bytes read on into memory [0]"},
    {"cache", KIND_SPINNING, FIELD(cache), 0, TERABYTE, false, "bytes of write cache [0]"},
    {"battery", KIND_SPINNING, FIELD(battery), 0, 1, false, "1: a flush does not wait for the write cache [0]"},
    {"spindles", KIND_SPINNING, FIELD(spindles), 1, 64, false, "disks [1]"},
    {"mirrors", KIND_SPINNING, FIELD(mirrors), 1, 4, false, "disks with the same content [1]"},
    {"stripe", KIND_SPINNING, FIELD(stripe), 4096, TERABYTE, false, "bytes in a row on one disk [all]"},
};
static const size_t KNOWN_COUNT = sizeof KNOWN / sizeof *KNOWN;

static const char *const KINDS[] = {"unlimited", "flash", "spinning"};

static int64_t *field(struct parameters *parameters, const struct known *known)
{
    return (int64_t *)((char *)parameters + known->place);
}

static bool read_kind(struct parameters *parameters, const char *value)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(value, KINDS[i]) == 0) {
            parameters->kind = (enum kind)i;
            return true;
        }
    return false;
}

static const struct known *find(const char *name, size_t length)
{
    for (size_t i = 0; i < KNOWN_COUNT; i++)
        if (strlen(KNOWN[i].name) == length && strncmp(KNOWN[i].name, name, length) == 0)
            return &KNOWN[i];
    return NULL;
}

/* Returns true if a disk can have these figures, else false, with the reason in `why`. */
static bool check(const struct parameters *parameters, char *why, size_t why_size)
{
    if (parameters->kind != KIND_SPINNING)
        return true;
    /* The curve of timing_seek must rise with the distance: see there. */
    int64_t full = parameters->seek_full - parameters->seek_track;
    int64_t average = parameters->seek_average - parameters->seek_track;
    if (full < 0 || average * 3 < full || average * 15 > full * 8) {
        snprintf(why, why_size, "seek times of %.1f, %.1f and %.1f ms (next, average, all tracks) belong to no disk",
                 (double)parameters->seek_track / 1e6, (double)parameters->seek_average / 1e6,
                 (double)parameters->seek_full / 1e6);
        return false;
    }
    if (parameters->spindles % parameters->mirrors != 0) {
        snprintf(why, why_size, "%d spindles are not a multiple of %d mirrors", (int)parameters->spindles,
                 (int)parameters->mirrors);
        return false;
    }
    if (parameters->spindles > parameters->mirrors && parameters->stripe == 0) {
        snprintf(why, why_size, "more than one spindle needs a stripe");
        return false;
    }
    return true;
}

bool parameters_read(struct parameters *parameters, int count, char *const words[], char *why, size_t why_size)
{
    bool given[sizeof KNOWN / sizeof *KNOWN] = {false};

    *parameters = (struct parameters){.kind = KIND_UNLIMITED, .read_on = -1, .depth = 1, .spindles = 1, .mirrors = 1};
    for (int i = 0; i < count; i++) {
        const char *equals = strchr(words[i], '=');
        if (equals == NULL) {
            snprintf(why, why_size, "'%s' is not KEY=VALUE", words[i]);
            return false;
        }
        if (strncmp(words[i], "kind=", 5) == 0) {
            if (!read_kind(parameters, equals + 1)) {
                snprintf(why, why_size, "there is no kind '%s'", equals + 1);
                return false;
            }
            continue;
        }
        const struct known *known = find(words[i], (size_t)(equals - words[i]));
        char *end;
        errno = 0;
        int64_t value = strtoll(equals + 1, &end, 10);
        if (known == NULL || errno != 0 || end == equals + 1 || *end != '\0' || value < known->least || value > known->most) {
            snprintf(why, why_size, known == NULL ? "there is no parameter in '%s'" : "'%s' is out of range", words[i]);
            return false;
        }
        *field(parameters, known) = value;
        given[known - KNOWN] = true;
    }
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        if (given[i] && KNOWN[i].kind != parameters->kind) {
            snprintf(why, why_size, "a disk of kind %s has no '%s'", KINDS[parameters->kind], KNOWN[i].name);
            return false;
        }
        if (!given[i] && KNOWN[i].needed && KNOWN[i].kind == parameters->kind) {
            snprintf(why, why_size, "a disk of kind %s needs '%s'", KINDS[parameters->kind], KNOWN[i].name);
            return false;
        }
    }
    if (parameters->read_on < 0)
        parameters->read_on = parameters->read;
    return check(parameters, why, why_size);
}

void parameters_explain(void)
{
    fprintf(stderr, "  kind=unlimited\n");
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        if (i == 0 || KNOWN[i].kind != KNOWN[i - 1].kind)
            fprintf(stderr, "  kind=%s\n", KINDS[KNOWN[i].kind]);
        fprintf(stderr, "    %-13s %s\n", KNOWN[i].name, KNOWN[i].about);
    }
}
