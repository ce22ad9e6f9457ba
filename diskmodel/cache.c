#define _GNU_SOURCE

#include "cache.h"

#include "whole.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct change {
    struct change *earlier, *later;
    int64_t offset, length;
    int64_t answered; /* its place among answers and flushes; 0: not yet */
    char before[];
};

struct cache {
    int file;
    int64_t size;
    pthread_rwlock_t changing; /* held shared while the file is changed, alone while the power is cut */
    pthread_mutex_t lock;      /* of all below */
    struct change *oldest, *newest;
    int64_t events; /* answers and flushes so far */
    int64_t held;   /* bytes that were answered and are not safe */
    atomic_bool cut;
};

struct cache *cache_create(int file, int64_t size)
{
    struct cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL)
        return NULL;
    cache->file = file;
    cache->size = size;
    /* The cut comes between two changes, however many there are. */
    pthread_rwlockattr_t first;
    pthread_rwlockattr_init(&first);
    pthread_rwlockattr_setkind_np(&first, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&cache->changing, &first);
    pthread_rwlockattr_destroy(&first);
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

static struct change *kept(struct cache *cache, int64_t offset, int64_t length)
{
    struct change *change = malloc(sizeof *change + (size_t)length);
    if (change == NULL)
        return NULL;
    *change = (struct change){.offset = offset, .length = length};
    ssize_t got = read_whole(cache->file, change->before, (size_t)length, offset);
    if (got != length) {
        int why = got < 0 ? errno : EIO;
        free(change);
        errno = why;
        return NULL;
    }
    return change;
}

struct change *cache_change(struct cache *cache, int64_t offset, int64_t length)
{
    pthread_rwlock_rdlock(&cache->changing);
    struct change *change = NULL;
    if (cache->cut)
        errno = EIO;
    else
        change = kept(cache, offset, length);
    if (change == NULL) {
        int why = errno;
        pthread_rwlock_unlock(&cache->changing);
        errno = why;
        return NULL;
    }
    pthread_mutex_lock(&cache->lock);
    change->earlier = cache->newest;
    *(cache->newest != NULL ? &cache->newest->later : &cache->oldest) = change;
    cache->newest = change;
    pthread_mutex_unlock(&cache->lock);
    return change;
}

void cache_changed(struct cache *cache)
{
    pthread_rwlock_unlock(&cache->changing);
}

/* It is safe, was taken back, or has not come. */
static void forget(struct cache *cache, struct change *change)
{
    *(change->earlier != NULL ? &change->earlier->later : &cache->oldest) = change->later;
    *(change->later != NULL ? &change->later->earlier : &cache->newest) = change->earlier;
    if (change->answered != 0)
        cache->held -= change->length;
    free(change);
}

void cache_unchanged(struct cache *cache, struct change *change)
{
    pthread_mutex_lock(&cache->lock);
    forget(cache, change);
    pthread_mutex_unlock(&cache->lock);
    pthread_rwlock_unlock(&cache->changing);
}

bool cache_answer(struct cache *cache, struct change *change)
{
    pthread_mutex_lock(&cache->lock);
    /* What the cut took back is gone from the list, whoever still waits for its answer. */
    bool kept = !cache->cut;
    if (kept) {
        change->answered = ++cache->events;
        cache->held += change->length;
        for (struct change *each = cache->oldest, *later; cache->size >= 0 && cache->held > cache->size && each != NULL;
             each = later) {
            later = each->later;
            if (each->answered != 0)
                forget(cache, each);
        }
    }
    pthread_mutex_unlock(&cache->lock);
    return kept;
}

int64_t cache_flush(struct cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    int64_t covered = ++cache->events;
    pthread_mutex_unlock(&cache->lock);
    return covered;
}

bool cache_flushed(struct cache *cache, int64_t covered)
{
    pthread_mutex_lock(&cache->lock);
    bool kept = !cache->cut;
    for (struct change *each = cache->oldest, *later; each != NULL; each = later) {
        later = each->later;
        if (each->answered != 0 && each->answered < covered)
            forget(cache, each);
    }
    pthread_mutex_unlock(&cache->lock);
    return kept;
}

bool cache_cut(struct cache *cache)
{
    bool whole = true;
    int why = 0;

    pthread_rwlock_wrlock(&cache->changing);
    pthread_mutex_lock(&cache->lock);
    cache->cut = true;
    /* The other way round: of one place the oldest content comes back last. */
    while (cache->newest != NULL) {
        struct change *change = cache->newest;
        if (!write_whole(cache->file, change->before, (size_t)change->length, change->offset)) {
            whole = false;
            why = errno;
        }
        forget(cache, change);
    }
    pthread_mutex_unlock(&cache->lock);
    pthread_rwlock_unlock(&cache->changing);
    errno = why;
    return whole;
}

bool cache_is_cut(struct cache *cache)
{
    return cache->cut;
}
