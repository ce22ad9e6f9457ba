/* The volatile cache against a plain one: random requests, and a power cut that leaves exactly what was safe. */

#define _GNU_SOURCE

#include "cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512
#define SECTORS 64
#define ROUNDS 4000
#define REQUESTS 250 /* of a round: a million in all */
#define THREADS 8

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "test_cache: %s\n", what);
        exit(1);
    }
}

/* A write as the plain cache knows it. */
struct plain {
    struct change *change;
    int first, count, value;
    int answered; /* its place among answers and flushes; 0: not yet */
    bool safe;
};

static void put(int file, int first, int count, int value)
{
    char bytes[SECTOR * SECTORS];
    memset(bytes, value, sizeof bytes);
    check(pwrite(file, bytes, (size_t)count * SECTOR, (off_t)first * SECTOR) == (ssize_t)count * SECTOR, "the file is written");
}

static bool overlaps_one_in_flight(const struct plain *writes, int count, const struct plain *wanted)
{
    for (int i = 0; i < count; i++)
        if (writes[i].answered == 0 && writes[i].first < wanted->first + wanted->count &&
            wanted->first < writes[i].first + writes[i].count)
            return true;
    return false;
}

/* Of a cache of some size the writes answered first are safe as soon as it holds more. */
static void evict(struct plain *writes, int count, int64_t size)
{
    int64_t held = 0;
    if (size < 0)
        return;
    for (int i = 0; i < count; i++)
        held += writes[i].answered != 0 && !writes[i].safe ? writes[i].count * SECTOR : 0;
    for (int i = 0; i < count && held > size; i++)
        if (writes[i].answered != 0 && !writes[i].safe) {
            writes[i].safe = true;
            held -= writes[i].count * SECTOR;
        }
}

static void one_round(int file, unsigned seed, int64_t size)
{
    static struct plain writes[REQUESTS];
    char found[SECTOR * SECTORS];
    int expected[SECTORS] = {0}, count = 0, events = 0;
    struct cache *cache = cache_create(file, size);

    srandom(seed);
    put(file, 0, SECTORS, 0);
    for (int i = 0; i < REQUESTS; i++) {
        long kind = random() % 10;
        if (kind < 5) {
            struct plain wanted = {.first = (int)(random() % (SECTORS - 4)), .count = 1 + (int)(random() % 4), .value = 1 + i};
            if (overlaps_one_in_flight(writes, count, &wanted))
                continue;
            wanted.change = cache_change(cache, wanted.first * SECTOR, wanted.count * SECTOR);
            check(wanted.change != NULL, "a change is taken");
            put(file, wanted.first, wanted.count, wanted.value);
            cache_changed(cache);
            writes[count++] = wanted;
        } else if (kind < 9) {
            int start = count > 0 ? (int)(random() % count) : 0;
            for (int k = 0; k < count; k++) {
                struct plain *each = &writes[(start + k) % count];
                if (each->answered != 0)
                    continue;
                check(cache_answer(cache, each->change), "an answer before the cut is kept");
                each->answered = ++events;
                evict(writes, count, size);
                break;
            }
        } else {
            int64_t covered = cache_flush(cache);
            int when = ++events;
            check(cache_flushed(cache, covered), "a flush before the cut is kept");
            for (int k = 0; k < count; k++)
                writes[k].safe |= writes[k].answered != 0 && writes[k].answered < when;
        }
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; writes[i].safe && k < writes[i].count; k++)
            expected[writes[i].first + k] = writes[i].value;
    check(cache_cut(cache), "the power is cut");
    check(cache_is_cut(cache), "and stays so");
    check(cache_change(cache, 0, SECTOR) == NULL && errno == EIO, "a later change is refused");
    check(pread(file, found, sizeof found, 0) == sizeof found, "the file is read");
    for (int i = 0; i < SECTORS; i++)
        for (int k = 0; k < SECTOR; k++)
            check((unsigned char)found[i * SECTOR + k] == (unsigned char)expected[i], "what was safe is there, and nothing else");
    free(cache);
}

/* What is not changed after all is nothing that a cut takes back, or waits for. */
static void given_back(int file)
{
    unsigned char byte;
    put(file, 0, 1, 1);
    struct cache *cache = cache_create(file, CACHE_ANY);
    struct change *first = cache_change(cache, 0, SECTOR);
    check(first != NULL, "a change is taken");
    cache_unchanged(cache, first);
    put(file, 0, 1, 2);
    check(cache_cut(cache), "the power is cut");
    check(pread(file, &byte, 1, 0) == 1 && byte == 2, "nothing is taken back");
    free(cache);
}

struct writer {
    pthread_t thread;
    struct cache *cache;
    int file, number;
};

/* Writes and flushes its own sector until the power is gone; the last byte that was flushed is left in `number`. */
static void *write_and_flush(void *argument)
{
    struct writer *writer = argument;
    int place = writer->number, last = 0;
    for (int i = 1;; i++) {
        struct change *change = cache_change(writer->cache, (int64_t)place * SECTOR, SECTOR);
        if (change == NULL)
            break;
        put(writer->file, place, 1, (i - 1) % 250 + 1);
        cache_changed(writer->cache);
        if (!cache_answer(writer->cache, change) || !cache_flushed(writer->cache, cache_flush(writer->cache)))
            break;
        last = (i - 1) % 250 + 1;
    }
    writer->number = last;
    return NULL;
}

static void many_threads(int file)
{
    struct writer writers[THREADS];
    unsigned char byte;

    put(file, 0, SECTORS, 0);
    struct cache *cache = cache_create(file, CACHE_ANY);
    for (int i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){.cache = cache, .file = file, .number = i};
        check(pthread_create(&writers[i].thread, NULL, write_and_flush, &writers[i]) == 0, "a thread starts");
    }
    usleep(3000);
    check(cache_cut(cache), "the power is cut");
    for (int i = 0; i < THREADS; i++) {
        pthread_join(writers[i].thread, NULL);
        check(pread(file, &byte, 1, (off_t)i * SECTOR) == 1, "the file is read");
        /* What was flushed last, or one more: its flush was answered just before the cut. */
        check(byte == writers[i].number || byte == writers[i].number % 250 + 1, "what a thread had flushed is there");
    }
    free(cache);
}

int main(void)
{
    char path[] = "/tmp/test_cache.XXXXXX";
    int file = mkstemp(path);

    check(file >= 0, "a file");
    unlink(path);
    given_back(file);
    for (unsigned seed = 0; seed < ROUNDS; seed++)
        one_round(file, seed, seed % 3 == 0 ? CACHE_ANY : seed % 3 == 1 ? 6 * SECTOR : 0);
    for (int i = 0; i < 50; i++)
        many_threads(file);
    close(file);
    return 0;
}
