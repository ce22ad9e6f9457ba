/* The recorder: many threads at once, a million requests, and every one of them is in the files, in order and with its bytes. */

#define _GNU_SOURCE

#include "record.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 8
#define EACH 125000
#define SECTOR 512

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "test_record: %s\n", what);
        exit(1);
    }
}

static struct record *record;

/* A sector whose bytes tell whose it is. */
static void fill(char *bytes, int64_t offset)
{
    for (size_t i = 0; i < SECTOR / sizeof offset; i++)
        memcpy(bytes + i * sizeof offset, &offset, sizeof offset);
}

static void *ask(void *argument)
{
    int64_t thread = *(int *)argument;
    char bytes[SECTOR];
    for (int64_t i = 0; i < EACH; i++) {
        int64_t offset = (thread * EACH + i) * SECTOR;
        enum event event = i % 10 == 9 ? EVENT_FLUSH : i % 97 == 0 ? EVENT_TRIM : EVENT_WRITE;
        fill(bytes, offset);
        int64_t number = record_request(record, event, offset, event == EVENT_FLUSH ? 0 : SECTOR, bytes);
        check(number >= 0, "a request is kept");
        record_answer(record, number, i % 1000 == 0);
    }
    return NULL;
}

static void check_files(const char *folder)
{
    char path[256], bytes[SECTOR], wanted[SECTOR];
    struct recorded recorded;
    int64_t total = (int64_t)THREADS * EACH, requests = 0, answers = 0, last = 0;
    bool *asked = calloc((size_t)total, sizeof *asked), *answered = calloc((size_t)total, sizeof *answered);

    snprintf(path, sizeof path, "%s/events", folder);
    FILE *events = fopen(path, "r");
    snprintf(path, sizeof path, "%s/data", folder);
    FILE *data = fopen(path, "r");
    check(events != NULL && data != NULL && asked != NULL && answered != NULL, "the files are there");
    while (fread(&recorded, sizeof recorded, 1, events) == 1) {
        check(recorded.time >= last, "times only go forward");
        last = recorded.time;
        check(recorded.number >= 0 && recorded.number < total, "a number is one that was given");
        if (recorded.event == EVENT_ANSWER) {
            check(asked[recorded.number] && !answered[recorded.number], "an answer comes once, after its request");
            answered[recorded.number] = true;
            answers++;
            continue;
        }
        check(recorded.number == requests++, "requests are numbered as they came");
        asked[recorded.number] = true;
        if (recorded.event == EVENT_WRITE) {
            fill(wanted, recorded.offset);
            check(fseek(data, recorded.data, SEEK_SET) == 0 && fread(bytes, SECTOR, 1, data) == 1, "its bytes are there");
            check(memcmp(bytes, wanted, SECTOR) == 0, "and are its own");
        }
    }
    check(requests == total && answers == total, "nothing is missing");
    fclose(events);
    fclose(data);
    free(asked);
    free(answered);
}

int main(void)
{
    char folder[] = "/tmp/test_record.XXXXXX", path[256];
    pthread_t threads[THREADS];
    int numbers[THREADS];

    check(mkdtemp(folder) != NULL, "a folder for the files");
    record = record_create(folder);
    check(record != NULL, "a recording begins");
    check(record_create(folder) == NULL, "none begins where another is");
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        check(pthread_create(&threads[i], NULL, ask, &numbers[i]) == 0, "a thread starts");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    check(record_sync(record), "all is in the files");
    check(record_count(record) == (int64_t)THREADS * EACH, "all was counted");
    check_files(folder);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, i == 0 ? "events" : "data");
        unlink(path);
    }
    rmdir(folder);
    free(record);
    return 0;
}
