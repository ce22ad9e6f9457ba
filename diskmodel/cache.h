/*
 * What a disk has answered and may still lose: a power cut takes it back. For any number of threads.
 *
 * The file always holds what was written last; kept here is what stood there before, until a flush that came after the answer has
 * been answered. Requests in flight never overlap: file systems see to that.
 */

#ifndef DISKMODEL_CACHE_H
#define DISKMODEL_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct cache;
struct change; /* a write or zeroing that a power cut would take back */

#define CACHE_ANY INT64_C(-1)

/*
 * In front of an open file, of so many bytes: of more the oldest are safe; 0: what was answered is safe; CACHE_ANY: no limit. NULL if
 * there is no memory.
 */
struct cache *cache_create(int file, int64_t size);

/*
 * To be called before a place of the file is changed, and cache_changed when it has been. NULL, with errno set, if it cannot be: EIO
 * once the power was cut.
 */
struct change *cache_change(struct cache *cache, int64_t offset, int64_t length);
void cache_changed(struct cache *cache);

/* Instead of cache_changed, where the place is not changed after all. */
void cache_unchanged(struct cache *cache, struct change *change);

/* To be called before the change is answered. False once the power was cut: then it has been taken back. */
bool cache_answer(struct cache *cache, struct change *change);

/* When a flush comes: what it covers, for cache_flushed, which is called before it is answered and false once the power was cut. */
int64_t cache_flush(struct cache *cache);
bool cache_flushed(struct cache *cache, int64_t covered);

/* Takes back all that is not safe, and has every later change refused. False, with errno set, if the file could not be written. */
bool cache_cut(struct cache *cache);

/* Whether the power was cut. */
bool cache_is_cut(struct cache *cache);

#endif
