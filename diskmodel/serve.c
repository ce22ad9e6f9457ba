#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)
#define _GNU_SOURCE

#include "serve.h"

#include "cache.h"
#include "gate.h"
#include "record.h"
#include "timing.h"
#include "whole.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALIGNMENT 4096
#define LARGEST (1 << 20)
#define IN_FLIGHT 256
#define THREADS 32 /* that read and write; what is held back takes none */

enum { INODE_DISK = 2, INODE_CONTROL = 3 };

struct server {
    struct gate *gate;
    struct record *record; /* NULL: nothing is kept */
    struct cache *cache;   /* NULL: nothing is ever lost */
    int64_t size;
    int direct;   /* past the page cache, where the file's own file system can do that */
    int buffered; /* for what is not aligned as that wants it */
};

/* A request of the kernel from its arrival to its answer, with room for its data. */
struct transfer {
    struct held held; /* first: the gate knows nothing else of it */
    struct record *record;
    int64_t number; /* in the recording */
    struct cache *cache;
    struct change *change; /* NULL: it changes nothing */
    int64_t covered;       /* of a flush */
    fuse_req_t request;
    size_t size;
    int failure;
    char *data;
    struct transfer *next;
};

static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct transfer *spare;

static void answer(struct held *held)
{
    struct transfer *transfer = (struct transfer *)held;
    /* What failed may have changed something: it is safe when what came after it is. */
    bool kept = true;
    if (transfer->change != NULL)
        kept = cache_answer(transfer->cache, transfer->change);
    else if (transfer->cache != NULL)
        kept = cache_flushed(transfer->cache, transfer->covered);
    if (!kept && transfer->failure == 0)
        transfer->failure = EIO;
    if (transfer->record != NULL)
        record_answer(transfer->record, transfer->number, transfer->failure != 0);
    if (transfer->failure != 0 || held->request.operation == OPERATION_FLUSH || held->request.operation == OPERATION_TRIM)
        fuse_reply_err(transfer->request, transfer->failure);
    else if (held->request.operation == OPERATION_READ)
        fuse_reply_buf(transfer->request, transfer->data, transfer->size);
    else
        fuse_reply_write(transfer->request, transfer->size);
    pthread_mutex_lock(&spare_lock);
    transfer->next = spare;
    spare = transfer;
    pthread_mutex_unlock(&spare_lock);
}

/* The transfer that was used last, whose memory is still near, or a new one; NULL, with the request answered, if there is no memory. */
static struct transfer *take_transfer(fuse_req_t request, size_t size)
{
    pthread_mutex_lock(&spare_lock);
    struct transfer *transfer = spare;
    if (transfer != NULL)
        spare = transfer->next;
    pthread_mutex_unlock(&spare_lock);
    if (transfer == NULL) {
        transfer = calloc(1, sizeof *transfer);
        if (transfer == NULL || posix_memalign((void **)&transfer->data, ALIGNMENT, LARGEST) != 0) {
            free(transfer);
            fuse_reply_err(request, ENOMEM);
            return NULL;
        }
    }
    transfer->held.answer = answer;
    transfer->record = NULL;
    transfer->cache = NULL;
    transfer->change = NULL;
    transfer->request = request;
    transfer->size = size;
    transfer->failure = 0;
    return transfer;
}

/* Answers a request that never reached the gate. */
static void refuse(struct transfer *transfer, int failure)
{
    fuse_reply_err(transfer->request, failure);
    pthread_mutex_lock(&spare_lock);
    transfer->next = spare;
    spare = transfer;
    pthread_mutex_unlock(&spare_lock);
}

/*
 * Lets the cache know what stands there before it is changed, and before the change is kept: what the cache refuses never reaches
 * the disk. False, with the request answered, where the power is gone, or no memory is left.
 */
static bool change(const struct server *server, struct transfer *transfer, int64_t offset, int64_t length)
{
    if (server->cache == NULL)
        return true;
    transfer->change = cache_change(server->cache, offset, length);
    if (transfer->change == NULL) {
        refuse(transfer, errno);
        return false;
    }
    transfer->cache = server->cache;
    return true;
}

/* Keeps a request before it is carried out. False, with the request answered, where it cannot be kept. */
static bool keep(const struct server *server, struct transfer *transfer, enum event event, int64_t offset, int64_t length,
                 const void *bytes)
{
    if (server->record == NULL)
        return true;
    transfer->number = record_request(server->record, event, offset, length, bytes);
    if (transfer->number < 0) {
        /* What is not kept has not happened: whoever asks must not go on as if it had. */
        if (transfer->change != NULL)
            cache_unchanged(transfer->cache, transfer->change);
        refuse(transfer, ENOSPC);
        return false;
    }
    transfer->record = server->record;
    return true;
}

static void changed(const struct transfer *transfer)
{
    if (transfer->change != NULL)
        cache_changed(transfer->cache);
}

/* Whether the power is gone; then the request is answered. */
static bool is_dead(const struct server *server, fuse_req_t request)
{
    if (server->cache == NULL || !cache_is_cut(server->cache))
        return false;
    fuse_reply_err(request, EIO);
    return true;
}

static void pass(struct gate *gate, struct transfer *transfer)
{
    if (gate_leave(gate, &transfer->held))
        answer(&transfer->held);
}

static struct server *server_of(fuse_req_t request)
{
    return fuse_req_userdata(request);
}

static bool attributes_of(const struct server *server, fuse_ino_t inode, struct stat *attributes)
{
    *attributes = (struct stat){.st_ino = inode, .st_uid = geteuid(), .st_gid = getegid(), .st_nlink = 1};
    switch (inode) {
    case FUSE_ROOT_ID:
        attributes->st_mode = S_IFDIR | 0700;
        attributes->st_nlink = 2;
        return true;
    case INODE_DISK:
        attributes->st_mode = S_IFREG | 0600;
        attributes->st_size = server->size;
        return true;
    case INODE_CONTROL:
        attributes->st_mode = S_IFREG | 0600;
        return true;
    default:
        return false;
    }
}

static void on_init(void *userdata, struct fuse_conn_info *connection)
{
    (void)userdata;
    connection->max_write = LARGEST;
    connection->max_background = IN_FLIGHT;
    connection->congestion_threshold = IN_FLIGHT;
    /* Requests are read whole into memory: with splice, a pipe would come between. */
    connection->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
}

static void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param entry = {.attr_timeout = 3600, .entry_timeout = 3600};
    if (parent == FUSE_ROOT_ID && strcmp(name, "disk") == 0)
        entry.ino = INODE_DISK;
    else if (parent == FUSE_ROOT_ID && strcmp(name, "control") == 0)
        entry.ino = INODE_CONTROL;
    if (entry.ino == 0 || !attributes_of(server_of(request), entry.ino, &entry.attr))
        fuse_reply_err(request, ENOENT);
    else
        fuse_reply_entry(request, &entry);
}

static void on_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    struct stat attributes;
    (void)file;
    if (attributes_of(server_of(request), inode, &attributes))
        fuse_reply_attr(request, &attributes, 3600);
    else
        fuse_reply_err(request, ENOENT);
}

/* A disk has the size it has; shells truncate what they write to. */
static void on_setattr(fuse_req_t request, fuse_ino_t inode, struct stat *wanted, int which, struct fuse_file_info *file)
{
    (void)wanted;
    if (inode == INODE_DISK && (which & FUSE_SET_ATTR_SIZE))
        fuse_reply_err(request, EPERM);
    else
        on_getattr(request, inode, file);
}

static void on_readdir(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, struct fuse_file_info *file)
{
    static const struct {
        const char *name;
        fuse_ino_t inode;
    } entries[] = {{".", FUSE_ROOT_ID}, {"..", FUSE_ROOT_ID}, {"disk", INODE_DISK}, {"control", INODE_CONTROL}};
    char text[512];
    size_t used = 0;

    (void)file;
    if (inode != FUSE_ROOT_ID) {
        fuse_reply_err(request, ENOTDIR);
        return;
    }
    size = size < sizeof text ? size : sizeof text;
    for (size_t i = (size_t)offset; i < sizeof entries / sizeof *entries; i++) {
        struct stat attributes;
        attributes_of(server_of(request), entries[i].inode, &attributes);
        size_t needed = fuse_add_direntry(request, text + used, size - used, entries[i].name, &attributes, (off_t)i + 1);
        if (needed > size - used)
            break;
        used += needed;
    }
    fuse_reply_buf(request, text, used);
}

static void on_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    if (inode == FUSE_ROOT_ID) {
        fuse_reply_err(request, EISDIR);
        return;
    }
    /* The disk is read past the page cache by whoever opens it so; FUSE's own flag for that would make it one request at a time. */
    file->direct_io = inode == INODE_CONTROL;
    file->keep_cache = inode == INODE_DISK;
    fuse_reply_open(request, file);
}

/* In one piece: a second read would meet other numbers. */
static void read_control(fuse_req_t request, size_t size, off_t offset)
{
    char text[512];
    size_t length = offset == 0 ? (size_t)gate_say(server_of(request)->gate, text, sizeof text) : 0;
    fuse_reply_buf(request, text, length < size ? length : size);
}

static void on_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, struct fuse_file_info *file)
{
    struct server *server = server_of(request);

    (void)file;
    if (inode == INODE_CONTROL) {
        read_control(request, size, offset);
        return;
    }
    size_t there = offset < server->size ? (size_t)(server->size - offset) : 0;
    size = size < there ? size : there;
    if (is_dead(server, request))
        return;
    if (size > LARGEST || size == 0) {
        size > 0 ? fuse_reply_err(request, EINVAL) : fuse_reply_buf(request, NULL, 0);
        return;
    }
    struct transfer *transfer = take_transfer(request, size);
    if (transfer == NULL)
        return;
    gate_enter(server->gate, &transfer->held, OPERATION_READ, offset, (int64_t)size);
    ssize_t got = read_whole(server->direct, transfer->data, size, offset);
    if (got < 0 && errno == EINVAL)
        got = read_whole(server->buffered, transfer->data, size, offset);
    transfer->failure = got < 0 ? errno : 0;
    transfer->size = got < 0 ? 0 : (size_t)got;
    pass(server->gate, transfer);
}

static bool obey(struct server *server, const char *line)
{
    if (strcmp(line, "keep") == 0)
        return server->record != NULL && record_sync(server->record);
    if (strcmp(line, "cut") == 0)
        return server->cache != NULL && cache_cut(server->cache);
    return gate_obey(server->gate, line);
}

static void write_control(fuse_req_t request, const char *from, size_t size)
{
    char line[64] = "";
    if (size >= sizeof line) {
        fuse_reply_err(request, EINVAL);
        return;
    }
    memcpy(line, from, size);
    line[strcspn(line, "\n")] = '\0';
    if (obey(server_of(request), line))
        fuse_reply_write(request, size);
    else
        fuse_reply_err(request, EINVAL);
}

static void on_write(fuse_req_t request, fuse_ino_t inode, const char *from, size_t size, off_t offset,
                     struct fuse_file_info *file)
{
    struct server *server = server_of(request);

    (void)file;
    if (inode == INODE_CONTROL) {
        write_control(request, from, size);
        return;
    }
    if (size > LARGEST || offset + (off_t)size > server->size) {
        fuse_reply_err(request, size > LARGEST ? EINVAL : ENOSPC);
        return;
    }
    struct transfer *transfer = take_transfer(request, size);
    if (transfer == NULL)
        return;
    if (!change(server, transfer, offset, (int64_t)size) ||
        !keep(server, transfer, EVENT_WRITE, offset, (int64_t)size, from))
        return;
    gate_enter(server->gate, &transfer->held, OPERATION_WRITE, offset, (int64_t)size);
    memcpy(transfer->data, from, size);
    bool written = write_whole(server->direct, transfer->data, size, offset);
    if (!written && errno == EINVAL)
        written = write_whole(server->buffered, transfer->data, size, offset);
    transfer->failure = written ? 0 : errno;
    changed(transfer);
    pass(server->gate, transfer);
}

static void on_fsync(fuse_req_t request, fuse_ino_t inode, int only_data, struct fuse_file_info *file)
{
    struct server *server = server_of(request);

    (void)only_data;
    (void)file;
    if (inode != INODE_DISK) {
        fuse_reply_err(request, 0);
        return;
    }
    if (is_dead(server, request))
        return;
    struct transfer *transfer = take_transfer(request, 0);
    if (transfer == NULL)
        return;
    if (!keep(server, transfer, EVENT_FLUSH, 0, 0, NULL))
        return;
    if (server->cache != NULL) {
        transfer->cache = server->cache;
        transfer->covered = cache_flush(server->cache);
    }
    gate_enter(server->gate, &transfer->held, OPERATION_FLUSH, 0, 0);
    /* The file lives as long as its mount: a power cut of this machine is nothing to protect it from, and the time is the model's. */
    pass(server->gate, transfer);
}

/* Discards and zeroes: what the file system above gives back becomes a hole. */
static void on_fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t length, struct fuse_file_info *file)
{
    struct server *server = server_of(request);
    (void)file;
    if (inode != INODE_DISK || !(mode & FALLOC_FL_KEEP_SIZE)) {
        fuse_reply_err(request, EOPNOTSUPP);
        return;
    }
    bool zeroes = (mode & FALLOC_FL_ZERO_RANGE) != 0;
    /* What is zeroed is to be had back; where that is not possible whoever asks writes zeroes, or does without. */
    if (server->cache != NULL && (!zeroes || length > LARGEST)) {
        fuse_reply_err(request, EOPNOTSUPP);
        return;
    }
    if (is_dead(server, request))
        return;
    struct transfer *transfer = take_transfer(request, 0);
    if (transfer == NULL)
        return;
    /* What was punched out reads as zeroes, as what was zeroed does; only the one is a wish that a disk may leave undone. */
    if (!change(server, transfer, offset, length) ||
        !keep(server, transfer, zeroes ? EVENT_ZERO : EVENT_TRIM, offset, length, NULL))
        return;
    gate_enter(server->gate, &transfer->held, OPERATION_TRIM, offset, length);
    transfer->failure = fallocate(server->buffered, mode, offset, length) == 0 ? 0 : errno;
    changed(transfer);
    pass(server->gate, transfer);
}

static const struct fuse_lowlevel_ops OPERATIONS = {
    .init = on_init,
    .lookup = on_lookup,
    .getattr = on_getattr,
    .setattr = on_setattr,
    .readdir = on_readdir,
    .open = on_open,
    .read = on_read,
    .write = on_write,
    .fsync = on_fsync,
    .fallocate = on_fallocate,
};

static bool open_file(struct server *server, const char *file)
{
    struct stat attributes;
    server->buffered = open(file, O_RDWR | O_CLOEXEC);
    if (server->buffered < 0 || fstat(server->buffered, &attributes) != 0) {
        fprintf(stderr, "diskmodel: %s: %s\n", file, strerror(errno));
        return false;
    }
    if (!S_ISREG(attributes.st_mode) || attributes.st_size == 0) {
        fprintf(stderr, "diskmodel: %s is not a file with a size\n", file);
        return false;
    }
    server->size = attributes.st_size;
    server->direct = open(file, O_RDWR | O_CLOEXEC | O_DIRECT);
    if (server->direct < 0)
        server->direct = server->buffered;
    return true;
}

static int mount_and_serve(const char *program, struct server *server, const char *mountpoint)
{
    int status = 1;
    char *arguments[] = {(char *)program, "-o", "fsname=diskmodel,subtype=diskmodel", NULL};
    struct fuse_args options = FUSE_ARGS_INIT(3, arguments);
    struct fuse_session *session = fuse_session_new(&options, &OPERATIONS, sizeof OPERATIONS, server);

    if (session == NULL)
        return status;
    if (fuse_set_signal_handlers(session) == 0) {
        struct fuse_loop_config *config = fuse_loop_cfg_create();
        if (config == NULL) {
            fprintf(stderr, "diskmodel: out of memory\n");
        } else if (fuse_session_mount(session, mountpoint) == 0) {
            fuse_loop_cfg_set_clone_fd(config, 0);
            fuse_loop_cfg_set_max_threads(config, THREADS);
            fuse_loop_cfg_set_idle_threads(config, THREADS);
            status = fuse_session_loop_mt(session, config) == 0 ? 0 : 1;
            /* What it still holds the kernel answers with an error. */
            gate_stop(server->gate);
            if (server->record != NULL && !record_sync(server->record)) {
                fprintf(stderr, "diskmodel: the recording is not whole\n");
                status = 1;
            }
            fuse_session_unmount(session);
        }
        if (config != NULL)
            fuse_loop_cfg_destroy(config);
        fuse_remove_signal_handlers(session);
    }
    fuse_session_destroy(session);
    fuse_opt_free_args(&options);
    return status;
}

int serve(const char *program, const char *file, const char *mountpoint, struct parameters *parameters,
          const struct promises *promises)
{
    struct server server = {0};

    if (!open_file(&server, file))
        return 1;
    if (promises->recording != NULL && (server.record = record_create(promises->recording)) == NULL) {
        fprintf(stderr, "diskmodel: nothing can be recorded in %s: %s\n", promises->recording, strerror(errno));
        return 1;
    }
    if (promises->loses && (server.cache = cache_create(server.buffered, promises->cache)) == NULL) {
        fprintf(stderr, "diskmodel: out of memory\n");
        return 1;
    }
    parameters->size = server.size;
    /* Before the gate starts its clock, which inherits them. Sleeps end when they are to; the default lets them end 50 us later. */
    prctl(PR_SET_TIMERSLACK, 1UL);
    /* Memory that is needed to write memory out must not wait for memory: only root may ask for it. */
    (void)prctl(PR_SET_IO_FLUSHER, 1UL, 0UL, 0UL, 0UL);
    struct timing *timing = timing_create(parameters);
    server.gate = timing != NULL ? gate_create(timing) : NULL;
    if (server.gate == NULL) {
        fprintf(stderr, "diskmodel: out of memory\n");
        return 1;
    }
    return mount_and_serve(program, &server, mountpoint);
}
