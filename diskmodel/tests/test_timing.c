/* The models in virtual time: what each figure of a disk means, and that no request is ever forgotten. */

#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MICRO INT64_C(1000)
#define MILLI INT64_C(1000000)
#define SECOND INT64_C(1000000000)
#define MIB INT64_C(1048576)
#define GIB (1024 * MIB)
#define PAGE INT64_C(16384)

static int failures;

#define CHECK(condition, ...)                                      \
    do {                                                           \
        if (!(condition)) {                                        \
            failures++;                                            \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            printf(__VA_ARGS__);                                   \
            printf("\n");                                          \
        }                                                          \
    } while (0)

static uint64_t seed = 88172645463325252u;

static int64_t random_below(int64_t most)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)most);
}

static struct timing *disk_of(int64_t size, const char *text)
{
    struct parameters parameters;
    char copy[1024], why[256] = "", *words[64];
    int count = 0;

    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        words[count++] = word;
    if (!parameters_read(&parameters, count, words, why, sizeof why)) {
        printf("%s: %s\n", text, why);
        exit(1);
    }
    parameters.size = size;
    struct timing *timing = timing_create(&parameters);
    if (timing == NULL)
        exit(1);
    return timing;
}

/* Where the requests of a load go. */
struct load {
    enum operation operation;
    int64_t length, range;
    int streams; /* 0: anywhere; otherwise so many that each go on where they were */
    int64_t think; /* ns between an answer and the next request */
    int64_t next[8];
    int turn;
};

static struct request ask(struct load *load, int64_t at)
{
    struct request request = {.operation = load->operation, .length = load->length, .arrived = at};
    if (load->streams == 0) {
        request.offset = random_below(load->range / load->length) * load->length;
    } else {
        int stream = load->turn++ % load->streams;
        request.offset = load->range / load->streams * stream + load->next[stream];
        load->next[stream] += load->length;
    }
    return request;
}

struct result {
    double mean_us, per_second, mb_per_second, slowest_us;
};

/* `count` requests, `depth` of them in flight at a time. */
static struct result run(struct timing *timing, struct load load, int depth, int count)
{
    struct request *flight = calloc((size_t)depth, sizeof *flight);
    int64_t now = SECOND, sum = 0, slowest = 0;
    int asked = 0, answered = 0;

    timing->reset(timing, now);
    for (; asked < depth && asked < count; asked++) {
        flight[asked] = ask(&load, now);
        timing->submit(timing, &flight[asked]);
    }
    while (answered < count) {
        int64_t next = timing->advance(timing, now);
        struct request *first = NULL;
        for (int i = 0; i < depth && i < asked; i++)
            if (flight[i].decided && flight[i].length > 0 && (first == NULL || flight[i].due < first->due))
                first = &flight[i];
        if (first == NULL || next < first->due) {
            CHECK(next != TIMING_NEVER, "a request was forgotten");
            if (next == TIMING_NEVER)
                break;
            now = next > now ? next : now;
            continue;
        }
        CHECK(first->due >= first->arrived, "answered before it was asked");
        now = first->due > now ? first->due : now;
        int64_t took = first->due - first->arrived;
        sum += took;
        slowest = took > slowest ? took : slowest;
        answered++;
        *first = (struct request){.length = 0};
        if (asked < count) {
            now += load.think;
            *first = ask(&load, now);
            asked++;
            timing->submit(timing, first);
        }
    }
    free(flight);
    double seconds = (double)(now - SECOND) / 1e9;
    return (struct result){(double)sum / answered / 1e3, answered / seconds, (double)answered * (double)load.length / seconds / 1e6,
                           (double)slowest / 1e3};
}

static bool near(double got, double asked, double share)
{
    return got >= asked * (1 - share) && got <= asked * (1 + share);
}

static void test_flash(void)
{
    struct timing *cloud = disk_of(16 * GIB, "kind=flash read=640000 write=590000 flush=310000 read_iops=3000 read_rate=131072000 "
                                             "shared=1 unit=262144 depth=64");
    struct load reads = {.operation = OPERATION_READ, .length = PAGE, .range = 8 * GIB};
    struct load writes = {.operation = OPERATION_WRITE, .length = PAGE, .range = 8 * GIB};
    struct result result = run(cloud, reads, 1, 2000);
    CHECK(near(result.mean_us, 640, 0.0001), "%.1f us", result.mean_us);
    result = run(cloud, writes, 1, 2000);
    CHECK(near(result.mean_us, 590, 0.0001), "%.1f us", result.mean_us);
    result = run(cloud, reads, 32, 20000);
    CHECK(near(result.per_second, 3000, 0.003), "%.1f/s", result.per_second);
    struct load large = {.operation = OPERATION_READ, .length = MIB, .range = 8 * GIB, .streams = 1};
    result = run(cloud, large, 4, 2000);
    CHECK(near(result.mb_per_second, 131.072, 0.005), "%.1f MB/s", result.mb_per_second);
    /* Small requests in a row count as one operation: the rate is the limit, not 3,000 operations of 16 KiB. */
    struct load row = {.operation = OPERATION_READ, .length = PAGE, .range = 8 * GIB, .streams = 2};
    result = run(cloud, row, 32, 20000);
    CHECK(near(result.mb_per_second, 131.072, 0.01), "%.1f MB/s", result.mb_per_second);
    struct request flush = {.operation = OPERATION_FLUSH, .arrived = 100 * SECOND};
    cloud->submit(cloud, &flush);
    CHECK(flush.decided && flush.due - flush.arrived == 310 * MICRO, "%lld ns", (long long)(flush.due - flush.arrived));
    cloud->destroy(cloud);

    struct timing *sata = disk_of(16 * GIB, "kind=flash read=110000 read_on=36000 write=52000 flush=0 read_iops=72000 "
                                            "write_iops=20000 read_rate=500000000 write_rate=490000000 depth=8");
    result = run(sata, (struct load){.operation = OPERATION_READ, .length = 4096, .range = GIB}, 64, 50000);
    CHECK(near(result.per_second, 72000, 0.01) || near(result.per_second, 8 / 110e-6, 0.01), "%.0f/s", result.per_second);
    result = run(sata, (struct load){.operation = OPERATION_WRITE, .length = 4096, .range = GIB}, 64, 50000);
    CHECK(near(result.per_second, 20000, 0.01), "%.0f/s", result.per_second);
    result = run(sata, (struct load){.operation = OPERATION_READ, .length = PAGE, .range = GIB, .streams = 2}, 1, 5000);
    CHECK(near(result.mean_us, 36, 0.01), "%.1f us", result.mean_us);
    sata->destroy(sata);
}

#define HDD                                                                                               \
    "kind=spinning revolution=8333333 seek_track=1000000 seek_average=8200000 seek_full=16000000 rate=160000000 " \
    "queue=32 read_ahead=1048576 "

static void test_one_spindle(void)
{
    struct timing *disk = disk_of(64 * GIB, HDD "command=100000 cache=67108864");
    struct load reads = {.operation = OPERATION_READ, .length = PAGE, .range = 64 * GIB};
    double transfer = (double)PAGE / 160e6 * 1e6;
    struct result alone = run(disk, reads, 1, 20000);
    CHECK(near(alone.mean_us, 8200 + 8333.333 / 2 + transfer + 100, 0.01), "%.1f us", alone.mean_us);
    struct result queued = run(disk, reads, 32, 20000);
    CHECK(queued.per_second > 1.8 * alone.per_second, "%.1f/s, and %.1f/s one at a time", queued.per_second, alone.per_second);
    CHECK(queued.slowest_us < 2.5e6, "%.0f us", queued.slowest_us);
    struct load near_by = {.operation = OPERATION_READ, .length = PAGE, .range = GIB};
    struct result close = run(disk, near_by, 1, 20000);
    CHECK(close.mean_us < 0.65 * alone.mean_us, "%.1f us within 1 GiB", close.mean_us);

    struct load row = {.operation = OPERATION_READ, .length = 65536, .range = 64 * GIB, .streams = 1, .think = 50 * MICRO};
    struct result one = run(disk, row, 1, 20000);
    CHECK(near(one.mb_per_second, 160, 0.02), "%.1f MB/s", one.mb_per_second);
    struct load megabytes = {.operation = OPERATION_READ, .length = MIB, .range = 64 * GIB, .streams = 1};
    CHECK(near(run(disk, megabytes, 4, 5000).mb_per_second, 160, 0.02), "in a row");
    row.streams = 2;
    struct result two = run(disk, row, 1, 5000);
    CHECK(two.mb_per_second < 0.5 * one.mb_per_second && two.mb_per_second > 3, "%.1f MB/s in two streams", two.mb_per_second);
    disk->destroy(disk);
}

static void test_write_cache(void)
{
    struct timing *disk = disk_of(64 * GIB, HDD "command=100000 cache=67108864");
    struct load writes = {.operation = OPERATION_WRITE, .length = PAGE, .range = 64 * GIB};
    struct result few = run(disk, writes, 1, 2000);
    CHECK(near(few.mean_us, 100, 0.001), "%.1f us into the cache", few.mean_us);
    struct result many = run(disk, writes, 32, 60000);
    CHECK(many.per_second < 1000 && many.per_second > 100, "%.1f/s when it is full", many.per_second);
    struct load row = {.operation = OPERATION_WRITE, .length = MIB, .range = 64 * GIB, .streams = 1};
    CHECK(near(run(disk, row, 4, 5000).mb_per_second, 160, 0.03), "in a row");

    disk->reset(disk, SECOND);
    struct request write = {.operation = OPERATION_WRITE, .offset = 10 * GIB, .length = PAGE, .arrived = SECOND};
    struct request flush = {.operation = OPERATION_FLUSH, .arrived = SECOND + 200 * MICRO};
    struct request again = {.operation = OPERATION_READ, .offset = 10 * GIB, .length = PAGE, .arrived = SECOND + 150 * MICRO};
    disk->submit(disk, &write);
    disk->submit(disk, &again);
    CHECK(again.decided && again.due - again.arrived == 100 * MICRO, "what is in the cache is read from it");
    disk->submit(disk, &flush);
    while (!flush.decided)
        disk->advance(disk, disk->advance(disk, flush.arrived));
    CHECK(flush.due - flush.arrived > 500 * MICRO && flush.due - flush.arrived < 30 * MILLI, "%.1f us for a flush",
          (double)(flush.due - flush.arrived) / 1e3);
    disk->destroy(disk);

    struct timing *battery = disk_of(64 * GIB, HDD "command=100000 cache=67108864 battery=1");
    battery->submit(battery, &(struct request){.operation = OPERATION_WRITE, .offset = 0, .length = PAGE, .arrived = 1});
    struct request quick = {.operation = OPERATION_FLUSH, .arrived = 2};
    battery->submit(battery, &quick);
    CHECK(quick.decided && quick.due - quick.arrived == 100 * MICRO, "a battery makes a flush cheap");
    battery->destroy(battery);

    struct timing *none = disk_of(64 * GIB, HDD);
    struct result platter = run(none, writes, 1, 5000);
    CHECK(near(platter.mean_us, 8200 + 8333.333 / 2 + (double)PAGE / 160e6 * 1e6, 0.02), "%.1f us without a cache",
          platter.mean_us);
    none->destroy(none);
}

static void test_many_spindles(void)
{
    struct timing *one = disk_of(64 * GIB, HDD);
    struct timing *mirror = disk_of(64 * GIB, HDD "spindles=2 mirrors=2");
    struct timing *ten = disk_of(64 * GIB, HDD "spindles=8 mirrors=2 stripe=65536");
    struct load reads = {.operation = OPERATION_READ, .length = PAGE, .range = 64 * GIB};
    double single = run(one, reads, 32, 10000).per_second;
    double both = run(mirror, reads, 32, 10000).per_second;
    double eight = run(ten, reads, 64, 40000).per_second;
    CHECK(both > 1.5 * single, "%.0f/s of a mirror, %.0f/s alone", both, single);
    CHECK(eight > 5 * single && eight < 12 * single, "%.0f/s of eight, %.0f/s alone", eight, single);
    struct load row = {.operation = OPERATION_READ, .length = MIB, .range = 64 * GIB, .streams = 1};
    double megabytes = run(ten, row, 8, 5000).mb_per_second;
    CHECK(megabytes > 500, "%.0f MB/s over four mirrors", megabytes);
    one->destroy(one);
    mirror->destroy(mirror);
    ten->destroy(ten);
}

/* Any requests at any time: each is answered, none before it came, and a reset lets nothing wait. */
static void test_nothing_is_forgotten(const char *text)
{
    enum { COUNT = 4000 };
    struct timing *disk = disk_of(GIB, text);
    struct request *requests = calloc(COUNT, sizeof *requests);
    int64_t now = SECOND;

    for (int i = 0; i < COUNT; i++) {
        struct request *request = &requests[i];
        request->operation = (enum operation)random_below(3);
        if (request->operation != OPERATION_FLUSH) {
            request->length = (1 + random_below(64)) * 512;
            request->offset = random_below((GIB - request->length) / 512) * 512;
        }
        now += random_below(4) == 0 ? random_below(20 * MILLI) : random_below(20 * MICRO);
        request->arrived = now;
        disk->submit(disk, request);
        if (random_below(8) == 0)
            disk->advance(disk, now);
    }
    int64_t next;
    while ((next = disk->advance(disk, now)) != TIMING_NEVER) {
        CHECK(next > now, "time stands still");
        now = next;
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(requests[i].decided && requests[i].due >= requests[i].arrived, "request %d of %s", i, text);

    for (int i = 0; i < 200; i++) {
        requests[i] = (struct request){.operation = i % 20 == 19 ? OPERATION_FLUSH : (enum operation)(i % 2),
                                       .offset = random_below(1000) * 65536,
                                       .length = PAGE,
                                       .arrived = now};
        disk->submit(disk, &requests[i]);
    }
    disk->reset(disk, now);
    for (int i = 0; i < 200; i++)
        CHECK(requests[i].decided, "request %d waits after a reset of %s", i, text);
    CHECK(disk->advance(disk, now + SECOND) == TIMING_NEVER, "%s", text);
    free(requests);
    disk->destroy(disk);
}

static void test_what_no_disk_can_be(void)
{
    static const char *const nonsense[] = {
        "kind=cheese",
        "kind=flash",
        "kind=flash read=1 write=1 flush=1 depth=0",
        "kind=flash read=x write=1 flush=1 depth=1",
        "kind=flash read=1 write=1 flush=1 depth=1 revolution=8333333",
        "kind=spinning revolution=8333333 seek_track=1 seek_average=9 seek_full=8 rate=160000000 queue=1",
        HDD "spindles=3 mirrors=2 stripe=65536",
        HDD "spindles=4 mirrors=2",
        "depth",
    };
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        struct parameters parameters;
        char copy[1024], why[256] = "", *words[64];
        int count = 0;
        snprintf(copy, sizeof copy, "%s", nonsense[i]);
        for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
            words[count++] = word;
        bool taken = parameters_read(&parameters, count, words, why, sizeof why);
        CHECK(!taken && why[0] != '\0', "'%s' was taken", nonsense[i]);
    }
}

int main(void)
{
    test_flash();
    test_one_spindle();
    test_write_cache();
    test_many_spindles();
    test_nothing_is_forgotten("kind=unlimited");
    test_nothing_is_forgotten("kind=flash read=110000 write=52000 flush=1000 read_iops=7000 unit=65536 depth=4");
    test_nothing_is_forgotten(HDD);
    test_nothing_is_forgotten(HDD "cache=1048576 command=100000");
    test_nothing_is_forgotten(HDD "cache=1048576 battery=1 spindles=8 mirrors=2 stripe=65536");
    test_nothing_is_forgotten(HDD "spindles=6 mirrors=3 stripe=4096");
    test_what_no_disk_can_be();
    if (failures == 0)
        printf("the disk models: all checks passed\n");
    return failures == 0 ? 0 : 1;
}
