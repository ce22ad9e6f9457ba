/*
 * Disks that turn. Each spindle has a head that seeks over tracks and waits for its sector, chooses the nearest of the commands
 * it holds (native command queueing), and reads on into memory while nothing is asked of it. Spindles may be mirrored and
 * striped. Writes may be answered from a cache, which is emptied in one direction over the platter whenever a head is free.
 *
 * The disk is full: its tracks hold exactly the bytes of the file, so that seeks are as long as on a disk that is all database.
 */

#include "timing.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK INT64_C(4096)
#define WORD 64
#define LONGEST_RUN INT64_C(256)            /* blocks written out of the cache at a time: 1 MiB */
#define IDLE INT64_C(20000000)              /* ns without a command after which the cache is written out unasked */
#define PATIENCE INT64_C(1000000000)        /* ns after which a command is served though others are nearer */
#define MOST_MIRRORS 4
#define SEGMENTS 16                         /* stretches of the platter that a spindle's memory holds */

/* What of a request lies on one spindle in one piece. */
struct part {
    struct request *request;
    int64_t offset, length; /* on the spindle */
};

struct segment {
    int64_t from, to; /* bytes on the spindle */
};

struct head {
    int64_t position; /* bytes on the spindle: where it ended */
    int64_t free;     /* when it ended there */
    bool reading;     /* and whether it reads on from there */
    int64_t from;     /* where it began to read what lies before its position without a gap */
    struct segment memory[SEGMENTS];
    int oldest;
};

/* Spindles with the same content. */
struct set {
    struct head heads[MOST_MIRRORS];
    struct part *queue; /* oldest first */
    size_t queued, room;
    uint64_t *dirty; /* a bit for each block that is in the write cache and not yet on the platter */
    int64_t dirty_blocks;
    int64_t dirty_from; /* when its cache ceased to be empty */
    int64_t asked; /* when the last command for it came, if it has not written out since */
    bool read_last;
};

struct spinning {
    struct timing timing;
    struct parameters parameters;
    int64_t set_size, track, tracks, blocks;
    int64_t dirty_blocks, cache_blocks, written_out;
    int64_t written_until;            /* when the last run of all that was written out is on the platter */
    struct request *flushes;          /* that wait until as many blocks are written out as were dirty when they came */
    struct request *writes, **last;   /* that wait for room in the cache, oldest first */
    int set_count;
    struct set sets[];
};

static int64_t transfer(const struct spinning *disk, int64_t length)
{
    return timing_at_rate(length, disk->parameters.rate);
}

/* When a head that starts at `begins` stands over `offset`: the seek, then the rest of the turn. */
static int64_t arrives(const struct spinning *disk, const struct head *head, int64_t begins, int64_t offset)
{
    int64_t revolution = disk->parameters.revolution;
    int64_t distance = llabs(offset / disk->track - head->position / disk->track);
    int64_t there = begins + timing_seek(&disk->parameters, distance, disk->tracks);
    int64_t sector = offset % disk->track * revolution / disk->track;
    return there + ((sector - there) % revolution + revolution) % revolution;
}

/* How far a head that has nothing else to do has read on by `now`. */
static int64_t read_on(const struct spinning *disk, const struct head *head, int64_t now)
{
    if (!head->reading || now <= head->free)
        return head->position;
    int64_t passed = (int64_t)((double)(now - head->free) * (double)disk->parameters.rate / 1e9);
    return head->position + (passed < disk->parameters.read_ahead ? passed : disk->parameters.read_ahead);
}

static bool in_memory(const struct spinning *disk, const struct head *head, int64_t now, int64_t offset, int64_t length)
{
    if (head->reading && offset >= head->from && offset + length <= read_on(disk, head, now))
        return true;
    for (int i = 0; i < SEGMENTS; i++)
        if (offset >= head->memory[i].from && offset + length <= head->memory[i].to)
            return true;
    return false;
}

/* Whether a head gets to `offset` by going on as it is: what it passes over on the way, it reads. */
static bool on_its_way(const struct spinning *disk, const struct head *head, int64_t begins, int64_t offset, bool reads)
{
    if (!reads)
        return offset == head->position && begins == head->free;
    int64_t reached = read_on(disk, head, begins);
    bool goes_on = begins == head->free || reached < head->position + disk->parameters.read_ahead;
    return head->reading && goes_on && offset >= head->from && offset - reached <= disk->parameters.read_ahead;
}

/* When the bytes are through if a head starts at `begins`, and whether it gets there by going on as it is. */
static int64_t through(const struct spinning *disk, const struct head *head, int64_t begins, int64_t offset, int64_t length,
                       bool reads, bool *goes_on)
{
    *goes_on = true;
    if (reads && in_memory(disk, head, begins, offset, length))
        return begins;
    int64_t elsewhere = arrives(disk, head, begins, offset) + transfer(disk, length);
    *goes_on = on_its_way(disk, head, begins, offset, reads);
    if (!*goes_on)
        return elsewhere;
    int64_t passed = later_of(begins, head->free + transfer(disk, offset + length - head->position));
    *goes_on = passed <= elsewhere;
    return *goes_on ? passed : elsewhere;
}

/* Moves a head over the bytes; when it is done. */
static int64_t move(const struct spinning *disk, struct head *head, int64_t begins, int64_t offset, int64_t length, bool reads)
{
    bool goes_on;
    int64_t done = through(disk, head, begins, offset, length, reads, &goes_on);
    if (reads && in_memory(disk, head, begins, offset, length))
        return done;
    if (!goes_on) {
        if (head->reading) {
            head->memory[head->oldest] = (struct segment){head->from, read_on(disk, head, begins)};
            head->oldest = (head->oldest + 1) % SEGMENTS;
        }
        head->from = offset;
    }
    if (!reads)
        for (int i = 0; i < SEGMENTS; i++)
            if (head->memory[i].from < offset + length && offset < head->memory[i].to)
                head->memory[i] = (struct segment){0, 0};
    head->position = offset + length;
    head->free = done;
    head->reading = reads;
    if (head->position - head->from > disk->parameters.read_ahead)
        head->from = head->position - disk->parameters.read_ahead;
    return done;
}

static bool is_dirty(const struct set *set, int64_t block)
{
    return set->dirty[block / WORD] >> (block % WORD) & 1;
}

static bool all_dirty(const struct set *set, int64_t offset, int64_t length)
{
    if (set->dirty == NULL || set->dirty_blocks == 0)
        return false;
    for (int64_t block = offset / BLOCK; block <= (offset + length - 1) / BLOCK; block++)
        if (!is_dirty(set, block))
            return false;
    return true;
}

static void make_dirty(struct spinning *disk, struct set *set, int64_t offset, int64_t length, int64_t now)
{
    if (set->dirty_blocks == 0)
        set->dirty_from = now;
    for (int64_t block = offset / BLOCK; block <= (offset + length - 1) / BLOCK; block++)
        if (!is_dirty(set, block)) {
            set->dirty[block / WORD] |= UINT64_C(1) << (block % WORD);
            set->dirty_blocks++;
            disk->dirty_blocks++;
        }
}

/* The next dirty block from `from` on, around the end; there must be one. */
static int64_t next_dirty(const struct spinning *disk, const struct set *set, int64_t from)
{
    int64_t words = (disk->blocks + WORD - 1) / WORD;
    int64_t word = from / WORD;
    uint64_t bits = set->dirty[word] >> (from % WORD) << (from % WORD);
    while (bits == 0) {
        word = (word + 1) % words;
        bits = set->dirty[word];
    }
    return word * WORD + __builtin_ctzll(bits);
}

static void part_done(struct spinning *disk, struct request *request, int64_t done)
{
    request->due = later_of(request->due, done + disk->parameters.command);
    if (--request->parts_left == 0)
        timing_decide(request, request->due);
}

/* Where the byte at `offset` of the disk lies, and how many bytes from there lie in a row. */
static struct set *locate(struct spinning *disk, int64_t offset, int64_t *local, int64_t *in_a_row)
{
    int64_t stripe = disk->parameters.stripe;
    if (disk->set_count == 1) {
        *local = offset;
        *in_a_row = INT64_MAX;
        return &disk->sets[0];
    }
    int64_t number = offset / stripe;
    *local = number / disk->set_count * stripe + offset % stripe;
    *in_a_row = stripe - offset % stripe;
    return &disk->sets[number % disk->set_count];
}

static bool enqueue(struct set *set, struct part part)
{
    if (set->queued == set->room) {
        size_t room = set->room > 0 ? set->room * 2 : 64;
        struct part *queue = realloc(set->queue, room * sizeof *queue);
        if (queue == NULL)
            return false;
        set->queue = queue;
        set->room = room;
    }
    set->queue[set->queued++] = part;
    return true;
}

/* Does `what` for each part of a request; how many there are. */
static int each_part(struct spinning *disk, struct request *request,
                     void (*what)(struct spinning *, struct set *, struct request *, int64_t, int64_t))
{
    int parts = 0;
    int64_t offset = request->offset, end = request->offset + request->length;
    while (offset < end) {
        int64_t local, in_a_row;
        struct set *set = locate(disk, offset, &local, &in_a_row);
        int64_t length = end - offset < in_a_row ? end - offset : in_a_row;
        if (what != NULL)
            what(disk, set, request, local, length);
        offset += length;
        parts++;
    }
    return parts;
}

static void read_part(struct spinning *disk, struct set *set, struct request *request, int64_t offset, int64_t length)
{
    set->asked = request->arrived;
    if (all_dirty(set, offset, length) || !enqueue(set, (struct part){request, offset, length}))
        part_done(disk, request, request->arrived);
}

static void write_part(struct spinning *disk, struct set *set, struct request *request, int64_t offset, int64_t length)
{
    if (!enqueue(set, (struct part){request, offset, length}))
        part_done(disk, request, request->arrived);
    (void)disk;
}

static void cache_part(struct spinning *disk, struct set *set, struct request *request, int64_t offset, int64_t length)
{
    set->asked = request->due;
    make_dirty(disk, set, offset, length, request->due);
}

static int64_t blocks_of(const struct request *request)
{
    return (request->offset + request->length - 1) / BLOCK - request->offset / BLOCK + 1;
}

/* Answers writes that wait for the cache as far as there is room at `now`. */
static void admit_writes(struct spinning *disk, int64_t now)
{
    while (disk->writes != NULL) {
        struct request *request = disk->writes;
        if (disk->dirty_blocks > 0 && disk->dirty_blocks + blocks_of(request) > disk->cache_blocks)
            return;
        disk->writes = request->next;
        if (disk->writes == NULL)
            disk->last = &disk->writes;
        request->due = later_of(request->arrived, now);
        each_part(disk, request, cache_part);
        timing_decide(request, request->due + disk->parameters.command);
    }
}

/* Answers the flushes whose blocks are written out at `now`. */
static void end_flushes(struct spinning *disk, int64_t now)
{
    struct request **place = &disk->flushes;
    while (*place != NULL) {
        struct request *request = *place;
        if (request->flushed_at <= disk->written_out) {
            *place = request->next;
            timing_decide(request, now + disk->parameters.command);
        } else {
            place = &request->next;
        }
    }
}

/* Writes the next run of dirty blocks of a set to all its spindles, from `begins` on. */
static void write_out(struct spinning *disk, struct set *set, int64_t begins)
{
    int64_t first = next_dirty(disk, set, set->heads[0].position / BLOCK % disk->blocks);
    int64_t count = 0;
    while (count < LONGEST_RUN && first + count < disk->blocks && is_dirty(set, first + count)) {
        set->dirty[(first + count) / WORD] &= ~(UINT64_C(1) << ((first + count) % WORD));
        count++;
    }
    int64_t done = begins;
    for (int i = 0; i < disk->parameters.mirrors; i++) {
        struct head *head = &set->heads[i];
        done = later_of(done, move(disk, head, begins, first * BLOCK, count * BLOCK, false));
    }
    set->dirty_blocks -= count;
    disk->dirty_blocks -= count;
    disk->written_out += count;
    set->dirty_from = begins;
    set->asked = 0;
    disk->written_until = later_of(disk->written_until, done);
    end_flushes(disk, disk->written_until);
    admit_writes(disk, done);
}

/* Serves the nearest command of a set's queue that has come by `begins`, with the head that has it first. */
static void serve_nearest(struct spinning *disk, struct set *set, int64_t begins)
{
    size_t best = 0, among = set->queued < (size_t)disk->parameters.queue ? set->queued : (size_t)disk->parameters.queue;
    struct head *best_head = NULL;
    int64_t best_done = INT64_MAX;

    if (set->queue[0].request->arrived + PATIENCE < begins)
        among = 1;
    for (size_t i = 0; i < among; i++) {
        const struct part *part = &set->queue[i];
        if (part->request->arrived > begins)
            break;
        bool reads = part->request->operation == OPERATION_READ;
        for (int j = 0; j < disk->parameters.mirrors; j++) {
            struct head *head = &set->heads[j];
            if (head->free > begins)
                continue;
            bool goes_on;
            int64_t done = through(disk, head, begins, part->offset, part->length, reads, &goes_on);
            if (done < best_done) {
                best_done = done;
                best = i;
                best_head = head;
            }
        }
    }
    struct part part = set->queue[best];
    bool reads = part.request->operation == OPERATION_READ;
    memmove(&set->queue[best], &set->queue[best + 1], (set->queued - best - 1) * sizeof part);
    set->queued--;
    /* A write without a cache goes to every mirror. */
    for (int j = 0; j < disk->parameters.mirrors; j++) {
        struct head *head = &set->heads[j];
        if (reads && head != best_head)
            continue;
        int64_t from = later_of(begins, head->free);
        best_done = later_of(best_done, move(disk, head, from, part.offset, part.length, reads));
    }
    part_done(disk, part.request, best_done);
}

/* What a set does next: when, and whether it is to write out. TIMING_NEVER if it has nothing to do. */
static int64_t next_step(const struct spinning *disk, const struct set *set, bool *writes_out)
{
    int64_t first_free = INT64_MAX, all_free = 0;
    for (int i = 0; i < disk->parameters.mirrors; i++) {
        first_free = set->heads[i].free < first_free ? set->heads[i].free : first_free;
        all_free = later_of(all_free, set->heads[i].free);
    }
    int64_t serves = set->queued > 0 ? later_of(first_free, set->queue[0].request->arrived) : TIMING_NEVER;
    bool urgent = disk->flushes != NULL || disk->writes != NULL || disk->dirty_blocks * 4 > disk->cache_blocks * 3;
    /* The next command may be about to come: the head is not sent away for what can wait. */
    int64_t begins = later_of(all_free, set->dirty_from);
    int64_t out = set->dirty_blocks == 0 ? TIMING_NEVER : urgent || set->asked == 0 ? begins : later_of(begins, set->asked + IDLE);
    /* Whoever waits comes before what is only cached, unless somebody waits for the cache: then by turns. */
    *writes_out = out != TIMING_NEVER && (out < serves || (urgent && set->read_last));
    return *writes_out ? out : serves;
}

static int64_t spinning_advance(struct timing *timing, int64_t now)
{
    struct spinning *disk = (struct spinning *)timing;
    int64_t next = TIMING_NEVER;

    for (;;) {
        struct set *soonest = NULL;
        int64_t soonest_at = TIMING_NEVER;
        bool soonest_out = false;
        for (int i = 0; i < disk->set_count; i++) {
            bool out;
            int64_t at = next_step(disk, &disk->sets[i], &out);
            if (at < soonest_at) {
                soonest = &disk->sets[i];
                soonest_at = at;
                soonest_out = out;
            }
        }
        if (soonest == NULL || soonest_at > now) {
            next = soonest_at;
            break;
        }
        soonest->read_last = !soonest_out;
        if (soonest_out)
            write_out(disk, soonest, soonest_at);
        else
            serve_nearest(disk, soonest, soonest_at);
    }
    for (int i = 0; i < disk->set_count; i++)
        if (disk->sets[i].queued > 0)
            return next;
    return disk->flushes != NULL || disk->writes != NULL ? next : TIMING_NEVER;
}

static void spinning_submit(struct timing *timing, struct request *request)
{
    struct spinning *disk = (struct spinning *)timing;

    /* What the heads did in the meantime: the request meets them where they are now. */
    spinning_advance(timing, request->arrived);
    request->decided = false;
    request->due = request->arrived;
    request->next = NULL;
    switch (request->operation) {
    case OPERATION_FLUSH:
        if (disk->parameters.battery || disk->dirty_blocks == 0) {
            int64_t settled = request->arrived;
            if (!disk->parameters.battery)
                for (int i = 0; i < disk->set_count; i++)
                    for (int j = 0; j < disk->parameters.mirrors; j++)
                        settled = later_of(settled, disk->sets[i].heads[j].free);
            timing_decide(request, settled + disk->parameters.command);
            return;
        }
        for (int i = 0; i < disk->set_count; i++)
            disk->sets[i].dirty_from = later_of(disk->sets[i].dirty_from, request->arrived);
        request->flushed_at = disk->written_out + disk->dirty_blocks;
        request->next = disk->flushes;
        disk->flushes = request;
        break;
    case OPERATION_WRITE:
        if (disk->cache_blocks > 0) {
            *disk->last = request;
            disk->last = &request->next;
            admit_writes(disk, request->arrived);
            if (request->decided)
                return;
            for (int i = 0; i < disk->set_count; i++)
                disk->sets[i].dirty_from = later_of(disk->sets[i].dirty_from, request->arrived);
            break;
        }
        request->parts_left = each_part(disk, request, NULL);
        each_part(disk, request, write_part);
        break;
    case OPERATION_READ:
        request->parts_left = each_part(disk, request, NULL);
        each_part(disk, request, read_part);
        break;
    case OPERATION_TRIM:
        /* A command without data. */
        timing_decide(request, request->arrived + disk->parameters.command);
        return;
    }
    spinning_advance(timing, request->arrived);
}

static void spinning_reset(struct timing *timing, int64_t now)
{
    struct spinning *disk = (struct spinning *)timing;

    while (disk->flushes != NULL) {
        struct request *request = disk->flushes;
        disk->flushes = request->next;
        timing_decide(request, now);
    }
    while (disk->writes != NULL) {
        struct request *request = disk->writes;
        disk->writes = request->next;
        timing_decide(request, now);
    }
    disk->last = &disk->writes;
    for (int i = 0; i < disk->set_count; i++) {
        struct set *set = &disk->sets[i];
        for (size_t j = 0; j < set->queued; j++)
            if (--set->queue[j].request->parts_left == 0)
                timing_decide(set->queue[j].request, now);
        set->queued = 0;
        if (set->dirty != NULL)
            memset(set->dirty, 0, (size_t)((disk->blocks + WORD - 1) / WORD) * sizeof *set->dirty);
        set->dirty_blocks = 0;
        set->dirty_from = set->asked = 0;
        for (int j = 0; j < MOST_MIRRORS; j++)
            set->heads[j] = (struct head){.free = now};
    }
    disk->dirty_blocks = 0;
    disk->written_until = now;
}

static void spinning_destroy(struct timing *timing)
{
    struct spinning *disk = (struct spinning *)timing;
    for (int i = 0; i < disk->set_count; i++) {
        free(disk->sets[i].queue);
        free(disk->sets[i].dirty);
    }
    free(disk);
}

struct timing *spinning_create(const struct parameters *parameters)
{
    int set_count = (int)(parameters->spindles / parameters->mirrors);
    struct spinning *disk = calloc(1, sizeof *disk + sizeof *disk->sets * (size_t)set_count);
    if (disk == NULL)
        return NULL;
    disk->timing = (struct timing){spinning_submit, spinning_advance, spinning_reset, spinning_destroy};
    disk->parameters = *parameters;
    disk->set_count = set_count;
    int64_t stripe = set_count == 1 ? 1 : parameters->stripe;
    int64_t stripes = (parameters->size + stripe - 1) / stripe;
    disk->set_size = (stripes + set_count - 1) / set_count * stripe;
    disk->track = (int64_t)((double)parameters->revolution * (double)parameters->rate / 1e9);
    disk->track = disk->track > 0 ? disk->track : 1;
    disk->tracks = disk->set_size / disk->track + 1;
    disk->blocks = disk->set_size / BLOCK + 2;
    disk->cache_blocks = parameters->cache / BLOCK;
    disk->last = &disk->writes;
    for (int i = 0; i < set_count && disk->cache_blocks > 0; i++) {
        disk->sets[i].dirty = calloc((size_t)((disk->blocks + WORD - 1) / WORD), sizeof *disk->sets[i].dirty);
        if (disk->sets[i].dirty == NULL) {
            spinning_destroy(&disk->timing);
            return NULL;
        }
    }
    return &disk->timing;
}
