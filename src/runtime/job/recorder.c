#include "runtime/job/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/memory.h"
#include "history/file.h"

struct hw_recorder {
    pthread_mutex_t mutex; /* guards the next fields */
    char *path;
    int fd;
    bool made;            /* there was no file */
    unsigned char *early; /* what is written before the job has begun */
    size_t early_size, early_capacity;
    hw_histories *earlier;
    uint64_t batches, records;
    uint32_t runs;
    atomic_bool troubled, kept;
    hawser_error trouble;
    hawser_status ended;
    uint32_t *lost; /* memory for the end record: the lost nodes, and its records */
    hw_event_record *end;
};

/* ---------------------------------------------------------------------------------------------------------- writing ---- */

/* Records the first failure. The mutex is held. */
static void fail(hw_recorder *recorder, const char *why)
{
    if (recorder->trouble.status == HAWSER_OK)
        (void)hawser_fail(&recorder->trouble, HAWSER_IO, "cannot write the history to %s: %s", recorder->path, why);
    atomic_store_explicit(&recorder->troubled, true, memory_order_release);
}

static void keep_early(hw_recorder *recorder, const struct iovec *part)
{
    size_t size = recorder->early_size + part->iov_len;
    if (HW_GROW(&recorder->early, &recorder->early_capacity, size, "a history", NULL) != HAWSER_OK) {
        fail(recorder, "there is not enough memory");
        return;
    }
    memcpy(recorder->early + recorder->early_size, part->iov_base, part->iov_len);
    recorder->early_size = size;
}

static void write_all(hw_recorder *recorder, struct iovec *parts, int count)
{
    for (int i = 0; i < count && !atomic_load(&recorder->kept) && recorder->trouble.status == HAWSER_OK; i++)
        if (parts[i].iov_len > 0)
            keep_early(recorder, &parts[i]);
    if (!atomic_load(&recorder->kept))
        return;
    while (count > 0 && recorder->trouble.status == HAWSER_OK) {
        ssize_t done = writev(recorder->fd, parts, count);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            fail(recorder, done < 0 ? strerror(errno) : "nothing was taken");
            return;
        }
        for (; count > 0 && (size_t)done >= parts->iov_len; count--)
            done -= (ssize_t)(parts++)->iov_len;
        if (count > 0) {
            parts->iov_base = (unsigned char *)parts->iov_base + done;
            parts->iov_len -= (size_t)done;
        }
    }
}

static void write_batch(hw_recorder *recorder, hw_batch_head *head, hw_event_record *records)
{
    struct iovec parts[] = {{head, sizeof *head}, {records, (size_t)head->count * sizeof *records}};
    write_all(recorder, parts, 2);
}

static void take(hw_log *log)
{
    hw_recorder *recorder = log->owner;
    hw_batch_head head;
    if (log->count == 0)
        return;
    hw_batch_head_make(log, &head);
    pthread_mutex_lock(&recorder->mutex);
    write_batch(recorder, &head, log->records);
    recorder->batches++;
    recorder->records += log->count;
    pthread_mutex_unlock(&recorder->mutex);
    log->batches++;
    log->count = 0;
}

/* ---------------------------------------------------------------------------------------------------------- streams ---- */

hawser_status hw_recorder_log(hw_recorder *recorder, hw_stream_name name, hw_log **log, hawser_error *error)
{
    enum { RECORDS = 512 };
    hw_log *made = NULL;
    *log = NULL;
    if (recorder == NULL)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&made, 1, "a history", error));
    hawser_status status = HW_NEW(&made->records, RECORDS, "a history", error);
    if (status != HAWSER_OK) {
        free(made);
        return status;
    }
    made->name = name;
    made->capacity = RECORDS;
    made->full = take;
    made->owner = recorder;
    *log = made;
    return HAWSER_OK;
}

void hw_recorder_drop(hw_log *log)
{
    if (log == NULL)
        return;
    take(log);
    free(log->records);
    free(log);
}

uint32_t hw_recorder_run(hw_recorder *recorder)
{
    return recorder != NULL ? recorder->runs++ : 0;
}

hawser_status hw_recorder_trouble(hw_recorder *recorder, hawser_error *error)
{
    if (recorder == NULL || !atomic_load_explicit(&recorder->troubled, memory_order_acquire))
        return HAWSER_OK;
    return hawser_fail(error, recorder->trouble.status, "%s", recorder->trouble.text);
}

void hw_recorder_failed(hw_recorder *recorder, hawser_status status)
{
    if (recorder == NULL)
        return;
    pthread_mutex_lock(&recorder->mutex);
    if (recorder->ended == HAWSER_OK)
        recorder->ended = status;
    pthread_mutex_unlock(&recorder->mutex);
}

/* --------------------------------------------------------------------------------------------------- beginning, end ---- */

/* A file by its identity: paths of one file may differ, and a file may have been moved away. */
struct hw_history_file {
    dev_t device;
    ino_t inode;
};

/* Refuses a file that a job before has written and that is still there. An empty one has the number of a file that was
 * removed. */
static hawser_status check_earlier(const hw_histories *earlier, const char *path, hawser_error *error)
{
    struct stat now;
    if (earlier == NULL || stat(path, &now) != 0 || now.st_size == 0)
        return HAWSER_OK;
    for (size_t i = 0; i < earlier->count; i++)
        if (earlier->files[i].device == now.st_dev && earlier->files[i].inode == now.st_ino)
            return hawser_fail(error, HAWSER_BAD_OPTION,
                               "--record-history would overwrite %s, the history of a job before on this cluster; give each "
                               "job a file of its own, or move that one away before",
                               path);
    return HAWSER_OK;
}

static hawser_status remember(hw_histories *histories, int fd, hawser_error *error)
{
    struct stat now;
    if (histories == NULL || fstat(fd, &now) != 0 || !S_ISREG(now.st_mode))
        return HAWSER_OK;
    HAWSER_TRY(HW_GROW(&histories->files, &histories->capacity, histories->count + 1, "a history", error));
    histories->files[histories->count++] = (struct hw_history_file){now.st_dev, now.st_ino};
    return HAWSER_OK;
}

void hw_histories_free(hw_histories *histories)
{
    free(histories->files);
    *histories = (hw_histories){0};
}

static hawser_status make_recorder(const char *wanted, uint32_t node, uint32_t nodes, hw_recorder **out, hawser_error *error)
{
    hw_recorder *recorder = NULL;
    HAWSER_TRY(HW_NEW(&recorder, 1, "a history", error));
    pthread_mutex_init(&recorder->mutex, NULL);
    recorder->fd = -1;
    atomic_init(&recorder->troubled, false);
    atomic_init(&recorder->kept, false);
    *out = recorder;
    HAWSER_TRY(HW_NEW(&recorder->lost, nodes, "a history", error));
    HAWSER_TRY(HW_NEW(&recorder->end, nodes, "a history", error));
    return hw_history_path(wanted, node, &recorder->path, error);
}

/* Opens the file, and leaves what it has. */
static hawser_status begin_file(hw_recorder *recorder, hw_history_head *head, hawser_error *error)
{
    recorder->fd = open(recorder->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    recorder->made = recorder->fd >= 0;
    if (!recorder->made)
        recorder->fd = open(recorder->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (recorder->fd < 0)
        return hawser_fail(error, HAWSER_IO, "cannot write the history to %s: %s", recorder->path, strerror(errno));
    write_all(recorder, &(struct iovec){head, sizeof *head}, 1);
    return hw_recorder_trouble(recorder, error);
}

/* Returns whether the path still names the open file, which is a regular one. */
static bool is_named(const hw_recorder *recorder)
{
    struct stat there, own;
    return stat(recorder->path, &there) == 0 && fstat(recorder->fd, &own) == 0 && S_ISREG(own.st_mode) &&
           there.st_dev == own.st_dev && there.st_ino == own.st_ino;
}

static int open_new(const char *path, mode_t mode)
{
    char *target = realpath(path, NULL);
    int fd = -1;
    if (target == NULL || unlink(target) == 0)
        fd = open(target != NULL ? target : path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    free(target);
    return fd;
}

/* Begins the file anew. Another job may still write to the old one, so the name gets a new file where that is allowed. */
static hawser_status renew_file(hw_recorder *recorder, hawser_error *error)
{
    struct stat facts;
    bool regular = fstat(recorder->fd, &facts) == 0 && S_ISREG(facts.st_mode);
    bool apart = regular && (!is_named(recorder) || (facts.st_size > 0 && facts.st_nlink == 1));
    int fd = apart ? open_new(recorder->path, facts.st_mode & 0777) : -1;
    if (fd >= 0) {
        (void)close(recorder->fd);
        recorder->fd = fd;
    } else if ((apart && !is_named(recorder)) || (regular && ftruncate(recorder->fd, 0) != 0)) {
        return hawser_fail(error, HAWSER_IO, "%s", strerror(errno));
    }
    return remember(recorder->earlier, recorder->fd, error);
}

void hw_recorder_keep(hw_recorder *recorder)
{
    hawser_error why = {0};
    if (recorder == NULL || atomic_load_explicit(&recorder->kept, memory_order_acquire))
        return;
    pthread_mutex_lock(&recorder->mutex);
    if (!atomic_load(&recorder->kept)) {
        if (renew_file(recorder, &why) != HAWSER_OK)
            fail(recorder, why.text);
        atomic_store_explicit(&recorder->kept, true, memory_order_release);
        write_all(recorder, &(struct iovec){recorder->early, recorder->early_size}, 1);
    }
    pthread_mutex_unlock(&recorder->mutex);
}

/* Agrees on node 0's number for the job, and checks that all nodes record or none does. */
static hawser_status agree_token(hw_cluster *cluster, bool records, uint64_t *token, hawser_error *error)
{
    hw_bytes *in = NULL;
    *token = 0;
    if (records && getrandom(token, sizeof *token, 0) != (ssize_t)sizeof *token)
        return hawser_fail(error, HAWSER_IO, "the system gives no random numbers: %s", strerror(errno));
    if (cluster == NULL)
        return HAWSER_OK;
    uint32_t nodes = hw_cluster_nodes(cluster);
    HAWSER_TRY(HW_NEW(&in, nodes, "the nodes' answers", error));
    hawser_status status = hw_cluster_allgather(cluster, (hw_bytes){token, records ? sizeof *token : 0}, in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < nodes; i++)
        if (in[i].length != (records ? sizeof *token : 0))
            status = hawser_fail(error, HAWSER_BAD_OPTION,
                                 "node %u and node %u differ in whether they record a history; give --record-history to all",
                                 hw_cluster_self(cluster), i);
    if (status == HAWSER_OK && records)
        memcpy(token, in[0].data, sizeof *token);
    hw_bytes_free(in, nodes);
    return status;
}

hawser_status hw_recorder_open(const char *path, hw_cluster *cluster, hw_histories *earlier, hw_recorder **recorder,
                               hawser_error *error)
{
    bool records = path != NULL && *path != '\0';
    uint32_t self = cluster != NULL ? hw_cluster_self(cluster) : 0, nodes = cluster != NULL ? hw_cluster_nodes(cluster) : 1;
    hw_history_head head;
    uint64_t token;
    *recorder = NULL;
    HAWSER_TRY(agree_token(cluster, records, &token, error));
    if (!records)
        return HAWSER_OK;
    hawser_status status = make_recorder(path, self, nodes, recorder, error);
    HAWSER_THEN(status, check_earlier(earlier, (*recorder)->path, error));
    if (status == HAWSER_OK) {
        (*recorder)->earlier = earlier;
        hw_history_head_make(self, nodes, token, &head);
        status = begin_file(*recorder, &head, error);
    }
    return hw_cluster_agree(cluster, status, error);
}

uint32_t hw_recorder_lost(hw_cluster *cluster)
{
    uint32_t node = cluster != NULL ? hw_cluster_lost_node(cluster) : HW_NET_ANY;
    return node != HW_NET_ANY ? node : HW_HISTORY_NONE;
}

static void write_end(hw_recorder *recorder, hw_cluster *cluster)
{
    hw_batch_head head;
    hawser_status ended = recorder->ended;
    size_t lost = cluster != NULL ? hw_cluster_lost_nodes(cluster, recorder->lost) : 0;
    if (ended == HAWSER_OK && hw_recorder_lost(cluster) != HW_HISTORY_NONE) /* outside of a run, too: in a load */
        ended = HAWSER_PEER_LOST;
    hw_close_make(recorder->batches, recorder->records, ended, recorder->lost, lost, &head, recorder->end);
    write_batch(recorder, &head, recorder->end);
}

void hw_recorder_close(hw_recorder *recorder, hw_cluster *cluster)
{
    if (recorder == NULL)
        return;
    if (recorder->fd >= 0) {
        write_end(recorder, cluster);
        if (recorder->records > 0 && recorder->ended == HAWSER_OK && hw_recorder_lost(cluster) == HW_HISTORY_NONE)
            hw_recorder_keep(recorder);
        if (!atomic_load(&recorder->kept) && recorder->made && is_named(recorder))
            (void)unlink(recorder->path);
        (void)!fsync(recorder->fd);
        (void)close(recorder->fd);
    }
    free(recorder->early);
    pthread_mutex_destroy(&recorder->mutex);
    free(recorder->path);
    free(recorder->lost);
    free(recorder->end);
    free(recorder);
}
