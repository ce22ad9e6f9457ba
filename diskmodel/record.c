#define _GNU_SOURCE

#include "record.h"

#include "clock.h"
#include "whole.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BUFFER (1 << 20)

struct record {
    pthread_mutex_t lock;
    FILE *events;
    int data;
    int64_t requests;
    int64_t data_end;
    bool failed;
};

static FILE *open_events(const char *path)
{
    FILE *file = fopen(path, "wxe");
    if (file != NULL)
        setvbuf(file, NULL, _IOFBF, BUFFER);
    return file;
}

struct record *record_create(const char *folder)
{
    char *path;
    struct record *record = calloc(1, sizeof *record);
    if (record == NULL)
        return NULL;
    record->data = -1;
    if (asprintf(&path, "%s/events", folder) >= 0) {
        record->events = open_events(path);
        free(path);
    }
    if (record->events != NULL && asprintf(&path, "%s/data", folder) >= 0) {
        record->data = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        free(path);
    }
    if (record->data < 0) {
        int why = errno;
        if (record->events != NULL)
            fclose(record->events);
        free(record);
        errno = why;
        return NULL;
    }
    pthread_mutex_init(&record->lock, NULL);
    return record;
}

/* The time is taken inside the lock, so that the file is in the order of its times. */
static void append(struct record *record, struct recorded *recorded)
{
    recorded->time = clock_now();
    if (fwrite(recorded, sizeof *recorded, 1, record->events) != 1)
        record->failed = true;
}

int64_t record_request(struct record *record, enum event event, int64_t offset, int64_t length, const void *bytes)
{
    pthread_mutex_lock(&record->lock);
    struct recorded recorded = {.number = record->requests++, .offset = offset, .length = length, .event = event};
    if (event == EVENT_WRITE) {
        recorded.data = record->data_end;
        record->data_end += length;
    }
    append(record, &recorded);
    bool failed = record->failed;
    pthread_mutex_unlock(&record->lock);
    if (!failed && event == EVENT_WRITE && !write_whole(record->data, bytes, (size_t)length, recorded.data)) {
        pthread_mutex_lock(&record->lock);
        record->failed = failed = true;
        pthread_mutex_unlock(&record->lock);
    }
    return failed ? -1 : recorded.number;
}

void record_answer(struct record *record, int64_t number, bool failed)
{
    pthread_mutex_lock(&record->lock);
    append(record, &(struct recorded){.number = number, .event = EVENT_ANSWER, .failed = failed});
    pthread_mutex_unlock(&record->lock);
}

bool record_sync(struct record *record)
{
    pthread_mutex_lock(&record->lock);
    if (fflush(record->events) != 0)
        record->failed = true;
    bool whole = !record->failed;
    pthread_mutex_unlock(&record->lock);
    return whole;
}

int64_t record_count(struct record *record)
{
    pthread_mutex_lock(&record->lock);
    int64_t count = record->requests;
    pthread_mutex_unlock(&record->lock);
    return count;
}
