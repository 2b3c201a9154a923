#include "runtime/job/kept_results.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/origin.h"
#include "cluster/gathering.h"
#include "program/plan.h"

enum {
    PIECE = 1 << 20,                  /* bytes of values in one message */
    WINDOW = HW_RESULT_WINDOW / PIECE /* pieces that a reader has requested at a time */
};

/* envelope.part of HW_MESSAGE_KEPT */
typedef enum kept_message { READ = 1, NUMBERS, RELEASE, RELEASED } kept_message;

/* Payload of READ: numbers [first, first + count) of a state, which one block has. */
typedef struct read_head {
    uint64_t run, fetch; /* fetch: the reader's number for its call, */
    uint64_t offset;     /* and where the numbers belong in its memory, in bytes: the reply repeats both */
    uint64_t state, first, count;
} read_head;

/* Head of NUMBERS; the values follow. */
typedef struct numbers_head {
    uint64_t fetch, offset;
    uint64_t bytes; /* 0: the node has no such result */
} numbers_head;

/* Payload of RELEASE, to the parent: the nodes of this branch read no more of a run; and of RELEASED, to the children: no
 * node does. */
typedef struct release_head {
    uint64_t run; /* 0: all runs, and later ones */
} release_head;

/* A call that reads numbers of other nodes. */
typedef struct fetch {
    struct fetch *next;
    hw_kept_results *results;
    uint64_t number;
    char *out;
    size_t bytes;           /* that `out` has, */
    size_t pending, enough; /* that were requested and have not arrived; it waits until so few are pending */
    bool refused;
} fetch;

struct hw_kept_results {
    hw_cluster *cluster;       /* NULL: one node */
    pid_t process;             /* that has made it */
    hawser_messages *messages; /* of the job */
    double timeout;
    uint32_t nodes, self, first_child, end_child;
    pthread_mutex_t mutex; /* guards what follows, and the results. The cluster's mutex may be held when it is taken */
    uint32_t references;   /* the job, and results that are not freed */
    bool closed;           /* the job is closed */
    bool told;             /* an error has named a lost node */
    hw_kept_run *first;
    fetch *fetches;
    uint64_t numbered;
    bool ends;              /* this node reads no more of any run */
    hw_ended_branches left; /* the nodes that read no more of any */
};

/* --------------------------------------------------------------------------------------------------------- memory ---- */

static void free_share(hw_kept_share *share)
{
    if (share->message != NULL)
        hw_message_free(share->message);
    else
        free(share->values);
    share->message = NULL;
    share->values = NULL;
}

static void free_values(hw_kept_values *values)
{
    for (uint32_t k = 0; values->shares != NULL && k < values->share_count; k++) {
        if (!values->joined)
            free_share(&values->shares[k]);
        values->shares[k].values = NULL;
    }
}

static void free_result(hw_kept_run *result)
{
    for (uint32_t i = 0; result->states != NULL && i < result->count; i++) {
        free_values(&result->states[i]);
        free(result->states[i].shares);
        free(result->states[i].whole);
    }
    free(result->states);
    free(result);
}

/* Returns whether this is a forked child, in which no thread receives numbers of other nodes, and the mutex may be held for
 * ever. */
static bool is_forked(const hw_kept_results *results)
{
    return results->cluster != NULL && results->process != getpid();
}

/* Drops a reference; the mutex is held, and is not afterwards. */
static void unlock_and_drop(hw_kept_results *results, uint32_t references)
{
    results->references -= references;
    bool last = results->references == 0;
    pthread_mutex_unlock(&results->mutex);
    if (!last)
        return;
    pthread_mutex_destroy(&results->mutex);
    free(results);
}

static void unlink_result(hw_kept_run *result)
{
    for (hw_kept_run **at = &result->owner->first; *at != NULL; at = &(*at)->next)
        if (*at == result) {
            *at = result->next;
            return;
        }
}

/* Returns whether no program reads the result any more. Once the job is closed, only the own program can. */
static bool is_unused(const hw_kept_run *result)
{
    const hw_kept_results *results = result->owner;
    return result->freed && (result->ends.all || results->left.all || results->closed);
}

/* Frees the results that no program reads any more, and returns their number. The mutex is held. */
static uint32_t free_unused(hw_kept_results *results)
{
    uint32_t freed = 0;
    for (hw_kept_run **at = &results->first; *at != NULL;) {
        hw_kept_run *result = *at;
        if (!is_unused(result)) {
            at = &result->next;
            continue;
        }
        *at = result->next;
        free_result(result);
        freed++;
    }
    return freed;
}

/* ---------------------------------------------------------------------------------------------- on the net's thread ---- */

static hawser_status make(kept_message part, const void *head, size_t length, size_t more, hw_message **message,
                          hawser_error *error)
{
    HAWSER_TRY(hw_message_new(length + more, message, error));
    memcpy((*message)->payload, head, length);
    (*message)->envelope.kind = HW_MESSAGE_KEPT;
    (*message)->envelope.part = part;
    return HAWSER_OK;
}

/* Returns where the requested numbers are; NULL: this node has no such result. */
static const char *find(const hw_kept_results *results, const read_head *wanted, size_t *size)
{
    const hw_kept_run *result = results->first;
    while (result != NULL && result->run != wanted->run)
        result = result->next;
    for (uint32_t i = 0; result != NULL && i < result->count; i++) {
        const hw_kept_values *values = &result->states[i];
        if (values->state != wanted->state || wanted->count > PIECE / values->size)
            continue;
        *size = values->size;
        for (uint32_t b = 0; b < values->share_count; b++) {
            const hw_kept_share *share = &values->shares[b];
            if (share->values != NULL && wanted->first >= share->begin && wanted->first < share->end &&
                wanted->count <= share->end - wanted->first)
                return (const char *)share->values + (wanted->first - share->begin) * values->size;
        }
    }
    return NULL;
}

static void reply(hw_kept_results *results, uint32_t node, const read_head *wanted)
{
    hawser_error error = {0};
    hw_message *message = NULL;
    size_t size = 0;
    pthread_mutex_lock(&results->mutex);
    const char *from = find(results, wanted, &size);
    const numbers_head head = {
        .fetch = wanted->fetch, .offset = wanted->offset, .bytes = from != NULL ? wanted->count * size : 0};
    hawser_status status = make(NUMBERS, &head, sizeof head, head.bytes, &message, &error);
    if (status == HAWSER_OK && head.bytes > 0)
        memcpy((char *)message->payload + sizeof head, from, head.bytes);
    pthread_mutex_unlock(&results->mutex);
    if (status == HAWSER_OK)
        (void)!hw_cluster_send(results->cluster, node, message, &error); /* the reader may be lost, which is reported */
    else
        hw_cluster_give_up(results->cluster, error.text);
}

static void take_numbers(hw_kept_results *results, const hw_message *message)
{
    numbers_head head;
    memcpy(&head, message->payload, sizeof head);
    pthread_mutex_lock(&results->mutex);
    fetch *call = results->fetches;
    while (call != NULL && call->number != head.fetch)
        call = call->next;
    if (call != NULL) {
        bool fits = head.bytes > 0 && head.bytes == message->envelope.length - sizeof head && head.bytes <= call->pending &&
                    head.offset <= call->bytes && head.bytes <= call->bytes - head.offset;
        if (fits) {
            memcpy(call->out + head.offset, (const char *)message->payload + sizeof head, head.bytes);
            call->pending -= head.bytes;
        }
        call->refused |= !fits;
    }
    pthread_mutex_unlock(&results->mutex);
    hw_cluster_wake(results->cluster);
}

/* Returns whether the own branch has ended just now. Node 0's is all. The mutex is held. */
static bool ends_now(const hw_kept_results *results, bool own, hw_ended_branches *ends)
{
    const uint32_t children = results->end_child - results->first_child;
    if (!own || ends->sent || ends->below != (1 << children) - 1)
        return false;
    ends->sent = true;
    ends->all |= results->self == 0;
    return true;
}

/* Finds a run (0: all) that the nodes of this branch have just ended, which was not reported yet. False: there is none. */
static bool next_end(hw_kept_results *results, uint64_t *run)
{
    pthread_mutex_lock(&results->mutex);
    *run = 0;
    bool found = ends_now(results, results->ends, &results->left);
    for (hw_kept_run *result = results->first; !found && result != NULL; result = result->next) {
        *run = result->run;
        found = ends_now(results, result->freed || results->ends, &result->ends);
    }
    pthread_mutex_unlock(&results->mutex);
    return found;
}

static void send_release(const hw_kept_results *results, uint32_t node, kept_message part, uint64_t run)
{
    const release_head head = {run};
    hawser_error error = {0};
    hw_message *message = NULL;
    if (make(part, &head, sizeof head, 0, &message, &error) == HAWSER_OK)
        hw_cluster_tell(results->cluster, node, message);
    else
        hw_cluster_give_up(results->cluster, error.text);
}

static void send_to_children(const hw_kept_results *results, uint64_t run)
{
    for (uint32_t child = results->first_child; child < results->end_child; child++)
        send_release(results, child, RELEASED, run);
}

/* Reports the branches that have ended here, and frees what no node reads any more. */
static void report_ends(hw_kept_results *results)
{
    uint64_t run;
    while (next_end(results, &run)) {
        if (results->self == 0)
            send_to_children(results, run);
        else
            send_release(results, hw_gathering_parent(results->self), RELEASE, run);
    }
    pthread_mutex_lock(&results->mutex);
    results->references -= free_unused(results); /* the caller has one more */
    pthread_mutex_unlock(&results->mutex);
}

/* Notes that a branch (NULL: all nodes) reads no more of a run. */
static void note_end(hw_kept_results *results, const uint32_t *child, uint64_t run)
{
    pthread_mutex_lock(&results->mutex);
    hw_ended_branches *ends = run == 0 ? &results->left : NULL;
    for (hw_kept_run *result = results->first; ends == NULL && result != NULL; result = result->next)
        ends = result->run == run ? &result->ends : NULL;
    if (ends != NULL && child != NULL)
        ends->below |= (uint8_t)(1 << (*child - results->first_child));
    else if (ends != NULL)
        ends->all = true;
    pthread_mutex_unlock(&results->mutex);
}

static void take_release(hw_kept_results *results, uint32_t node, kept_message part, uint64_t run)
{
    const bool from_child = node >= results->first_child && node < results->end_child;
    const bool from_parent = results->self != 0 && node == hw_gathering_parent(results->self);
    if (part == RELEASE ? !from_child : !from_parent)
        return;
    note_end(results, from_child ? &node : NULL, run);
    if (from_parent)
        send_to_children(results, run);
    report_ends(results);
    hw_cluster_wake(results->cluster);
}

/* A node has closed the job. Without results of its own it has sent nothing. */
static void left(void *argument, uint32_t node)
{
    hw_kept_results *results = argument;
    if (node >= results->first_child && node < results->end_child)
        take_release(results, node, RELEASE, 0);
}

/* Messages of a node that is not this build's are dropped: the sender proved the job's key, so this is a fault of ours. */
static void arrived(void *argument, uint32_t node, hw_message *message)
{
    hw_kept_results *results = argument;
    size_t length = message->envelope.length;
    read_head wanted;
    release_head released;
    if (message->envelope.part == READ && length == sizeof wanted) {
        memcpy(&wanted, message->payload, sizeof wanted);
        reply(results, node, &wanted);
    } else if (message->envelope.part == NUMBERS && length >= sizeof(numbers_head)) {
        take_numbers(results, message);
    } else if ((message->envelope.part == RELEASE || message->envelope.part == RELEASED) && length == sizeof released) {
        memcpy(&released, message->payload, sizeof released);
        take_release(results, node, (kept_message)message->envelope.part, released.run);
    }
    hw_message_free(message);
}

/* -------------------------------------------------------------------------------------------------- making, freeing ---- */

static const hw_channel results_channel = {.name = "results", .kinds = {HW_MESSAGE_KEPT}, .arrived = arrived, .left = left};

hawser_status hw_kept_results_open(hw_cluster *cluster, double timeout, hawser_messages *messages, hw_kept_results **out,
                                   hawser_error *error)
{
    hw_kept_results *results = NULL;
    *out = NULL;
    HAWSER_TRY(HW_NEW(&results, 1, "results", error));
    *results = (hw_kept_results){.cluster = cluster,
                                 .process = getpid(),
                                 .timeout = timeout,
                                 .messages = messages,
                                 .nodes = cluster != NULL ? hw_cluster_nodes(cluster) : 1,
                                 .self = cluster != NULL ? hw_cluster_self(cluster) : 0,
                                 .references = 1};
    pthread_mutex_init(&results->mutex, NULL);
    hw_gathering_children(results->self, results->nodes, &results->first_child, &results->end_child);
    hawser_status status = HAWSER_OK;
    if (cluster != NULL)
        status = hw_cluster_open_channel(cluster, &results_channel, results, error);
    if (status == HAWSER_OK) {
        *out = results;
        return HAWSER_OK;
    }
    if (cluster != NULL)
        hw_cluster_close_channel(cluster, &results_channel);
    pthread_mutex_lock(&results->mutex);
    unlock_and_drop(results, 1);
    return status;
}

static hawser_status new_shares(hw_kept_values *values, uint32_t count, hawser_error *error)
{
    values->share_count = count;
    return HW_NEW(&values->shares, count, "results", error);
}

hawser_status hw_kept_run_new(hw_kept_results *results, uint64_t run, uint32_t blocks, uint32_t count, hw_kept_run **out,
                              hawser_error *error)
{
    hw_kept_run *result = NULL;
    *out = NULL;
    HAWSER_TRY(HW_NEW(&result, 1, "results", error));
    *result = (hw_kept_run){.owner = results, .run = run, .blocks = blocks, .count = count};
    hawser_status status = HW_NEW(&result->states, count, "results", error);
    for (uint32_t i = 0; status == HAWSER_OK && i < count; i++)
        status = new_shares(&result->states[i], blocks, error);
    if (status != HAWSER_OK) {
        free_result(result);
        return status;
    }
    pthread_mutex_lock(&result->owner->mutex);
    result->owner->references++;
    pthread_mutex_unlock(&result->owner->mutex);
    *out = result;
    return HAWSER_OK;
}

void hw_kept_run_publish(hw_kept_run *result)
{
    pthread_mutex_lock(&result->owner->mutex);
    result->next = result->owner->first;
    result->owner->first = result;
    pthread_mutex_unlock(&result->owner->mutex);
}

void hw_kept_run_drop(hw_kept_run *result)
{
    if (result == NULL)
        return;
    hw_kept_results *results = result->owner;
    pthread_mutex_lock(&results->mutex);
    unlink_result(result);
    free_result(result);
    unlock_and_drop(results, 1);
}

void hw_kept_run_release(hw_kept_run *result)
{
    if (result == NULL || is_forked(result->owner))
        return;
    hw_kept_results *results = result->owner;
    pthread_mutex_lock(&results->mutex);
    bool open = !results->closed;
    result->freed = true;
    for (uint32_t i = 0; i < result->count && open; i++)
        if (!result->states[i].joined) { /* the program's own copy */
            free(result->states[i].whole);
            result->states[i].whole = NULL;
        }
    results->references++; /* until this call ends */
    if (!open)
        results->references -= free_unused(results);
    pthread_mutex_unlock(&results->mutex);
    if (open)
        report_ends(results);
    pthread_mutex_lock(&results->mutex);
    unlock_and_drop(results, 1);
}

/* -------------------------------------------------------------------------------------------------------- reading ---- */

static bool few_pending(void *argument)
{
    fetch *call = argument;
    pthread_mutex_lock(&call->results->mutex);
    bool few = call->refused || call->pending <= call->enough;
    pthread_mutex_unlock(&call->results->mutex);
    return few;
}

/* Waits until at most `enough` bytes of the call are pending, all of which `node` sends. */
static hawser_status await_pieces(fetch *call, uint32_t node, size_t enough, hawser_error *error)
{
    hw_kept_results *results = call->results;
    call->enough = enough;
    hawser_status status = hw_cluster_await(results->cluster, few_pending, call, node, results->timeout, false, error);
    pthread_mutex_lock(&results->mutex);
    bool refused = call->refused;
    results->told |= status == HAWSER_PEER_LOST;
    pthread_mutex_unlock(&results->mutex);
    if (status == HAWSER_OK && refused)
        status = hawser_fail(error, HAWSER_INTERNAL, "node %u (%s) has no such result of a state", node,
                             hw_cluster_member(results->cluster, node)->name);
    return status;
}

/* Reads numbers [first, first + count), which are in one share of another node. `base`: the number that belongs at the begin
 * of the call's memory. */
static hawser_status fetch_share(const hw_kept_run *result, uint32_t at, const hw_kept_share *share, size_t base,
                                 size_t first, size_t count, fetch *call, hawser_error *error)
{
    const hw_kept_values *values = &result->states[at];
    hw_kept_results *results = call->results;
    size_t most = PIECE / values->size;
    for (size_t done = 0, now; done < count; done += now) {
        hw_message *message = NULL;
        now = count - done < most ? count - done : most;
        const read_head head = {.run = result->run,
                                .fetch = call->number,
                                .offset = (first + done - base) * values->size,
                                .state = values->state,
                                .first = first + done,
                                .count = now};
        HAWSER_TRY(await_pieces(call, share->node, (size_t)(WINDOW - 1) * PIECE, error));
        HAWSER_TRY(make(READ, &head, sizeof head, 0, &message, error));
        pthread_mutex_lock(&results->mutex);
        call->pending += now * values->size;
        pthread_mutex_unlock(&results->mutex);
        HAWSER_TRY(hw_cluster_send(results->cluster, share->node, message, error));
    }
    return await_pieces(call, share->node, 0, error);
}

/* Copies the part of a range that is on this node. Returns false if the rest is on other nodes. The mutex is held. */
static bool copy_here(const hw_kept_run *result, uint32_t at, size_t first, size_t count, char *out)
{
    const hw_kept_values *values = &result->states[at];
    size_t size = values->size, copied = 0;
    if (values->whole != NULL) {
        memcpy(out, (const char *)values->whole + first * size, count * size);
        return true;
    }
    for (uint32_t b = 0; b < values->share_count; b++) {
        const hw_kept_share *share = &values->shares[b];
        size_t from = share->begin > first ? share->begin : first,
               to = share->end < first + count ? share->end : first + count;
        if (from >= to || share->values == NULL)
            continue;
        memcpy(out + (from - first) * size, (const char *)share->values + (from - share->begin) * size, (to - from) * size);
        copied += to - from;
    }
    return copied == count;
}

static hawser_status fetch_rest(hw_kept_run *result, uint32_t at, size_t first, size_t count, fetch *call,
                                hawser_error *error)
{
    const hw_kept_values *values = &result->states[at];
    uint32_t self = result->owner->self, begin = 0;
    /* Nodes begin with the shares behind their own, so that they do not all request those of one node first. */
    while (begin < values->share_count && values->shares[begin].node <= self)
        begin++;
    for (uint32_t i = 0; i < values->share_count; i++) {
        const hw_kept_share *share = &values->shares[(begin + i) % values->share_count];
        size_t from = share->begin > first ? share->begin : first,
               to = share->end < first + count ? share->end : first + count;
        if (from < to && share->node != self)
            HAWSER_TRY(fetch_share(result, at, share, first, from, to - from, call, error));
    }
    return HAWSER_OK;
}

static void forget(fetch *call)
{
    fetch **at = &call->results->fetches;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
}

static hawser_status fail_lost(const hw_kept_values *values, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                       "moving state '%s' has no result: the run failed, or was abandoned (--grace), while its parts were "
                       "under way",
                       values->name);
}

hawser_status hw_kept_run_read(hw_kept_run *result, uint32_t at, size_t first, size_t count, void *out, hawser_error *error)
{
    hw_kept_results *results = result->owner;
    if (count == 0)
        return HAWSER_OK;
    if (is_forked(results))
        return hw_not_origin(results->process, "hawser_result_range", "run", error);
    if (result->states[at].lost)
        return fail_lost(&result->states[at], error);
    fetch call = {.results = results, .out = out, .bytes = count * result->states[at].size};
    pthread_mutex_lock(&results->mutex);
    bool closed = results->closed, here = copy_here(result, at, first, count, out);
    if (!here && !closed) {
        call.number = ++results->numbered;
        call.next = results->fetches;
        results->fetches = &call;
    }
    pthread_mutex_unlock(&results->mutex);
    if (here)
        return HAWSER_OK;
    if (closed)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "the job is closed, and numbers of state '%s' were on other nodes; read them before",
                           result->states[at].name);
    hawser_status status = fetch_rest(result, at, first, count, &call, error);
    pthread_mutex_lock(&results->mutex);
    forget(&call);
    pthread_mutex_unlock(&results->mutex);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- the whole ---- */

/* Returns the bytes of the state's numbers on this node. */
static uint64_t bytes_here(const hw_kept_run *result, const hw_kept_values *values)
{
    uint64_t bytes = 0;
    for (uint32_t b = 0; b < values->share_count; b++)
        if (values->shares[b].node == result->owner->self)
            bytes += (values->shares[b].end - values->shares[b].begin) * values->size;
    return bytes;
}

/* Returns the share that has all numbers; NULL: there is none. */
static hw_kept_share *only_share(const hw_kept_values *values)
{
    for (uint32_t b = 0; b < values->share_count; b++)
        if (values->shares[b].end - values->shares[b].begin == values->count && values->shares[b].values != NULL)
            return &values->shares[b];
    return NULL;
}

/* Makes the whole of shares that are all on this node, each of which is freed once it was copied. The mutex is held. */
static hawser_status join(hw_kept_values *values, hawser_error *error)
{
    hw_kept_share *only = only_share(values);
    char *whole = NULL;
    if (only != NULL && only->message == NULL) {
        for (uint32_t b = 0; b < values->share_count; b++) { /* the others have no numbers */
            hw_kept_share *share = &values->shares[b];
            if (share != only)
                free_share(share);
        }
        values->whole = only->values;
        values->joined = true;
        return HAWSER_OK;
    }
    HAWSER_TRY(hw_new_array((void **)&whole, values->count, values->size, "a result", error));
    for (uint32_t b = 0; b < values->share_count; b++) {
        hw_kept_share *share = &values->shares[b];
        if (share->values == NULL)
            continue;
        memcpy(whole + share->begin * values->size, share->values, (share->end - share->begin) * values->size);
        free_share(share);
        share->values = whole + share->begin * values->size;
    }
    values->whole = whole;
    values->joined = true;
    return HAWSER_OK;
}

static hawser_status check_memory(const hw_kept_run *result, const hw_kept_values *values, hawser_error *error)
{
    uint64_t here = result->data, whole = (uint64_t)values->count * values->size;
    for (uint32_t i = 0; i < result->count; i++) {
        const hw_kept_values *other = &result->states[i];
        bool copied = other->whole != NULL && !other->joined;
        here += bytes_here(result, other) + (copied ? (uint64_t)other->count * other->size : 0);
    }
    if (here + whole <= result->limit)
        return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_NO_MEMORY,
        "the whole result of state '%s' takes %.1f MiB on this node, besides %.1f MiB of data and "
        "results, and its limit is %.1f MiB; read it in parts by hawser_result_range, or raise --memory-limit",
        values->name, (double)whole / 0x1p20, (double)here / 0x1p20, (double)result->limit / 0x1p20);
}

/* Reads all numbers. Another thread may do so as well; then one of both is kept. */
static hawser_status fetch_whole(hw_kept_run *result, uint32_t at, hawser_error *error)
{
    hw_kept_values *values = &result->states[at];
    void *whole = NULL;
    HAWSER_TRY(hw_new_array(&whole, values->count, values->size, "a result", error));
    hawser_status status = hw_kept_run_read(result, at, 0, values->count, whole, error);
    pthread_mutex_lock(&result->owner->mutex);
    if (status == HAWSER_OK && values->whole == NULL) {
        values->whole = whole;
        whole = NULL;
    }
    pthread_mutex_unlock(&result->owner->mutex);
    free(whole);
    return status;
}

hawser_status hw_kept_run_whole(hw_kept_run *result, uint32_t at, const void **whole, hawser_error *error)
{
    hw_kept_values *values = &result->states[at];
    hawser_status status = HAWSER_OK;
    *whole = NULL;
    if (is_forked(result->owner))
        return hw_not_origin(result->owner->process, "hawser_result", "run", error);
    if (values->lost)
        return fail_lost(values, error);
    pthread_mutex_lock(&result->owner->mutex);
    bool made = values->whole != NULL, here = result->owner->nodes == 1;
    if (!made)
        status = here ? join(values, error) : check_memory(result, values, error);
    pthread_mutex_unlock(&result->owner->mutex);
    if (status == HAWSER_OK && !made && !here)
        status = fetch_whole(result, at, error);
    *whole = status == HAWSER_OK ? values->whole : NULL;
    return status;
}

/* -------------------------------------------------------------------------------------------------------- the end ---- */

void hw_kept_results_told(hw_kept_results *results)
{
    if (results == NULL)
        return;
    pthread_mutex_lock(&results->mutex);
    results->told = true;
    pthread_mutex_unlock(&results->mutex);
}

/* What hawser_close waits for: node 0 for the branch of a child, another node for its parent's word about all nodes. */
typedef struct closing {
    hw_kept_results *results;
    uint32_t node;
} closing;

/* Returns whether the nodes that `node` reports on have no need of this one any more. */
static bool is_done(void *argument)
{
    const closing *it = argument;
    const hw_kept_results *results = it->results;
    bool done = true;
    pthread_mutex_lock(&it->results->mutex);
    for (const hw_kept_run *result = results->first; result != NULL; result = result->next)
        done = done && (result->ends.all || results->left.all ||
                        (results->self == 0 &&
                         ((results->left.below | result->ends.below) >> (it->node - results->first_child) & 1) != 0));
    pthread_mutex_unlock(&it->results->mutex);
    return done;
}

static hawser_status await_done(hw_kept_results *results, uint32_t node, hawser_error *error)
{
    closing it = {results, node};
    return hw_cluster_await(results->cluster, is_done, &it, node, (double)INFINITY, true, error);
}

static void await_readers(hw_kept_results *results)
{
    hawser_error error = {0};
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&results->mutex);
    bool waits = results->first != NULL && !results->told;
    results->ends = true;
    pthread_mutex_unlock(&results->mutex);
    report_ends(results);
    if (!waits)
        return;
    hw_cluster_say_end(results->cluster); /* so that other nodes do not wait for this one in a collective call */
    hw_cluster_set_phase(results->cluster, "waiting until all nodes have read their results");
    if (results->self != 0)
        status = await_done(results, hw_gathering_parent(results->self), &error);
    for (uint32_t n = results->first_child; results->self == 0 && n < results->end_child && status == HAWSER_OK; n++)
        status = await_done(results, n, &error);
    if (status != HAWSER_OK)
        hw_notify(results->messages, HAWSER_WARNING, results->self, "%s", error.text);
}

void hw_kept_results_close(hw_kept_results *results)
{
    if (results == NULL)
        return;
    if (results->cluster != NULL) {
        await_readers(results);
        hw_cluster_close_channel(results->cluster, &results_channel);
    }
    pthread_mutex_lock(&results->mutex);
    results->closed = true;
    uint32_t freed = free_unused(results);
    for (hw_kept_run *result = results->first; results->nodes > 1 && result != NULL; result = result->next)
        for (uint32_t i = 0; i < result->count; i++)
            free_values(&result->states[i]);
    unlock_and_drop(results, freed + 1);
}
