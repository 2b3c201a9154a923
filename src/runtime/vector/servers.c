/*
 * servers.c - a vector whose dataflow is `servers`: a table of the job's store. A scatter pushes deltas, and a gather pulls
 * the sum of all deltas, of which it takes what is new.
 *
 * The numbers are in rows of a dense table. Behind them are a few counts of the replicas: how many have ended, how many
 * ended without a scatter, and the sums of the pieces of their first iterations. Under bsp the table is summed by clock, so
 * that a pull has the iterations of the gather and no later one. Clocks are iterations; a finish ends all later ones.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "runtime/store/hub.h"
#include "runtime/vector/vector.h"
#include "vector/mix.h"

enum { WIDTH_MOST = 1024, PIECES = 4, PIECE_BITS = 16, TASKS = 2 };
enum { COUNT_ENDED, COUNT_SILENT, COUNT_FIRST, COUNTS = COUNT_FIRST + PIECES };
#define LAST_CLOCK (HW_VECTOR_ITERATIONS + 1)

/* Memory that tasks of the store may still read and write when the vector is closed. */
typedef struct server_memory {
    atomic_uint owners; /* the vector, and each task that has not ended */
    atomic_uint ended;  /* tasks */
    hw_cluster *cluster;
    uint64_t *keys;
    char *push, *pull; /* `numbers` of them, with the counts */
} server_memory;

struct hw_vector_servers {
    uint64_t store;                 /* serial of the store; 0: not joined */
    uint32_t table, servers, width; /* servers: 0 for all nodes */
    uint64_t rows, keys;            /* keys: with the counts */
    size_t numbers;
    server_memory *memory;
    char *seen;             /* the sum that the last gather pulled, and what this replica has scattered since */
    uint64_t pushes[TASKS]; /* 0: none */
    uint64_t pull;
    unsigned begun; /* tasks, of which memory->ended have ended */
    bool checked;   /* first iterations were compared */
    bool joined;    /* counted in hw_vectors.store_users */
};

static void release(server_memory *memory)
{
    if (memory == NULL || atomic_fetch_sub(&memory->owners, 1) != 1)
        return;
    free(memory->keys);
    free(memory->push);
    free(memory->pull);
    free(memory);
}

static void task_ended(void *user, uint64_t task, hawser_status status)
{
    server_memory *memory = user;
    (void)task, (void)status;
    atomic_fetch_add(&memory->ended, 1);
    if (memory->cluster != NULL)
        hw_cluster_wake(memory->cluster);
    release(memory);
}

/* ---------------------------------------------------------------------------------------------------------- opening ---- */

static uint64_t rows_for(uint64_t numbers, uint32_t width)
{
    return (numbers + width - 1) / width;
}

static hawser_status new_memory(const hawser_vector *vector, struct hw_vector_servers *s, hawser_error *error)
{
    size_t bytes = vector->bytes / vector->count;
    HAWSER_TRY(HW_NEW(&s->memory, 1, "the table of a vector", error));
    atomic_init(&s->memory->owners, 1);
    atomic_init(&s->memory->ended, 0);
    s->memory->cluster = vector->job->cluster;
    HAWSER_TRY(hw_new_array((void **)&s->memory->push, s->numbers, bytes, "the table of a vector", error));
    HAWSER_TRY(hw_new_array((void **)&s->memory->pull, s->numbers, bytes, "the table of a vector", error));
    if (vector->sparse)
        HAWSER_TRY(HW_NEW(&s->memory->keys, s->rows, "the table of a vector", error));
    return hw_new_array((void **)&s->seen, s->numbers, bytes, "the table of a vector", error);
}

hawser_status hw_vector_servers_new(hawser_vector *vector, uint32_t servers, hawser_error *error)
{
    struct hw_vector_servers *s = NULL;
    HAWSER_TRY(HW_NEW(&s, 1, "the table of a vector", error));
    vector->servers = s;
    s->servers = servers;
    s->width = (uint32_t)(vector->count < WIDTH_MOST ? vector->count : WIDTH_MOST);
    s->width = s->width < COUNTS ? COUNTS : s->width;
    if (vector->sparse)
        s->width = vector->shape.width;
    s->rows = vector->sparse ? vector->shape.rows : rows_for(vector->count, s->width);
    s->keys = s->rows + rows_for(COUNTS, s->width);
    s->numbers = (size_t)s->keys * s->width;
    return new_memory(vector, s, error);
}

double hw_vector_servers_memory(const hawser_vector *vector)
{
    uint32_t servers = vector->servers->servers > 0 ? vector->servers->servers : vector->nodes;
    double size = (double)vector->bytes + 2.0 * WIDTH_MOST * sizeof(double);
    double copies = vector->rules.sync == HW_VECTOR_BSP ? vector->nodes + 2.0 : 1; /* sums of a clock, by worker */
    double keys = vector->sparse ? (double)vector->shape.rows * sizeof(uint64_t) : 0;
    return 3 * size + keys + (vector->self < servers ? size / servers * copies : 0);
}

static hawser_status check_store(const hawser_vector *vector, const hawser_store *store, hawser_error *error)
{
    const struct hw_vector_servers *s = vector->servers;
    if (store->remote != NULL)
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "vector '%s': dataflow = servers is a table of a store on nodes of the job, and the job's store is "
            "at stand-alone servers",
            vector->name);
    if (store->options.queue)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': the job's store has a queue of ended tasks, in which those of a vector would be; "
                           "open it without `queue`",
                           vector->name);
    if (s->servers != 0 && s->servers != store->servers)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': dataflow = servers:%u, and the job's store has %u servers; leave the number out",
                           vector->name, s->servers, store->servers);
    return HAWSER_OK;
}

/* Uses the job's store, or opens one for the vectors of the job. */
static hawser_status find_store(hawser_vector *vector, hawser_error *error)
{
    hawser_job *job = vector->job;
    hw_vectors *all = vector->all;
    if (job->store == NULL) {
        hawser_store *store = NULL;
        HAWSER_TRY(hw_hub_open(job, &(hawser_store_options){.servers = vector->servers->servers}, NULL, &store, error));
        store->of_vectors = true;
        all->store_users = 0;
    }
    vector->servers->store = job->store->serial;
    vector->servers->joined = job->store->of_vectors;
    all->store_users += vector->servers->joined;
    return hw_cluster_agree(job->cluster, check_store(vector, job->store, error), error);
}

static hawser_status make_table(hawser_vector *vector, hawser_error *error)
{
    struct hw_vector_servers *s = vector->servers;
    hawser_error ignored = {0};
    uint32_t number;
    hawser_store *store = vector->job->store;
    if (hawser_store_find(store, vector->name, NULL, &number, &ignored) == HAWSER_OK)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': the store has a table of this name already; take another name", vector->name);
    const hawser_table table = {.name = vector->name,
                                .type = vector->type,
                                .width = s->width,
                                .count = s->keys,
                                .summed = vector->rules.sync == HW_VECTOR_BSP};
    return hawser_store_table(store, &table, &s->table, error);
}

/* Closes the store of the vectors with the last of them. Collective, unless the store is abandoned. */
static void leave_store(hawser_vector *vector, bool abandons)
{
    struct hw_vector_servers *s = vector->servers;
    hawser_store *store = vector->job->store;
    bool there = s->joined && store != NULL && store->serial == s->store;
    s->joined = false;
    if (!there || --vector->all->store_users > 0)
        return;
    if (abandons)
        hw_hub_abandon(store);
    else
        hawser_store_close(store);
}

hawser_status hw_vector_servers_join(hawser_vector *vector, hawser_error *error)
{
    hawser_status status = find_store(vector, error);
    HAWSER_THEN(status, make_table(vector, error));
    if (status != HAWSER_OK)
        leave_store(vector, false);
    return status;
}

void hw_vector_servers_close(hawser_vector *vector)
{
    struct hw_vector_servers *s = vector->servers;
    if (s == NULL)
        return;
    if (vector->all != NULL)
        leave_store(vector, true);
    release(s->memory);
    free(s->seen);
    free(s);
    vector->servers = NULL;
}

/* ------------------------------------------------------------------------------------------------------------ tasks ---- */

static hawser_status find_open_store(const hawser_vector *vector, hawser_store **store, hawser_error *error)
{
    *store = vector->job->store;
    if (*store == NULL || (*store)->serial != vector->servers->store)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': the store that has its table was closed; finish vectors "
                           "over servers before that",
                           vector->name);
    return HAWSER_OK;
}

typedef struct task_wait {
    hawser_vector *vector;
    uint32_t node; /* that has closed the vector */
    bool over, closed, cancelled;
} task_wait;

/* Called with the cluster's mutex held. */
static bool is_over(void *argument)
{
    task_wait *wait = argument;
    hawser_vector *vector = wait->vector;
    wait->over = atomic_load(&vector->servers->memory->ended) == vector->servers->begun;
    pthread_mutex_lock(&vector->mutex);
    wait->closed = false;
    for (uint32_t node = 0; node < vector->nodes && !wait->closed; node++) {
        wait->closed = vector->closed[node];
        wait->node = node;
    }
    pthread_mutex_unlock(&vector->mutex);
    wait->cancelled = hw_cancelled(atomic_load(&vector->job->waits));
    return wait->over || wait->closed || wait->cancelled;
}

/* Waits until all tasks of the vector have ended. */
static hawser_status await_tasks(hawser_vector *vector, hawser_error *error)
{
    task_wait wait = {.vector = vector};
    if (vector->job->cluster == NULL || vector->nodes == 1 || (is_over(&wait) && wait.over))
        return HAWSER_OK;
    hawser_status status =
        hw_cluster_await(vector->job->cluster, is_over, &wait, HW_NET_ANY, vector->job->timeout, false, error);
    if (status == HAWSER_TIMEOUT)
        return hawser_fail(
            error, HAWSER_TIMEOUT,
            "vector '%s', iteration %llu: node %u has waited %.3g s (--timeout) for the servers; under bsp and "
            "ssp they wait for the scatters of all replicas",
            vector->name, (unsigned long long)vector->iteration, vector->self, vector->job->timeout);
    if (status != HAWSER_OK || wait.over)
        return status;
    if (wait.closed)
        return hw_vector_check_closed(vector, wait.node, error);
    return hawser_fail(error, HAWSER_STOP, "vector '%s', iteration %llu: the wait for the servers was cancelled",
                       vector->name, (unsigned long long)vector->iteration);
}

/* Waits for a task, and forgets it when it has ended. */
static hawser_status end_task(hawser_vector *vector, uint64_t *task, hawser_error *error)
{
    hawser_store *store = NULL;
    hawser_error own = {0};
    if (*task == 0)
        return HAWSER_OK;
    HAWSER_TRY(find_open_store(vector, &store, error));
    HAWSER_TRY(await_tasks(vector, error));
    hawser_status status = hawser_store_wait(store, *task, &own);
    if (status == HAWSER_STOP || status == HAWSER_TIMEOUT) /* it goes on; both come from the wait alone */
        return hawser_fail(error, status, "vector '%s': %s", vector->name, own.text);
    *task = 0;
    if (status == HAWSER_OK)
        return HAWSER_OK;
    vector->broken = true;
    return hawser_fail(error, status, "vector '%s': %s", vector->name, own.text);
}

static hawser_status end_tasks(hawser_vector *vector, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    for (int i = 0; i < TASKS && status == HAWSER_OK; i++)
        status = end_task(vector, &vector->servers->pushes[i], error);
    return status;
}

/* Starts a push or a pull of this request. */
static hawser_status begin_task(hawser_vector *vector, hawser_request *request, uint64_t *task, hawser_error *error)
{
    struct hw_vector_servers *s = vector->servers;
    hawser_store *store = NULL;
    HAWSER_TRY(find_open_store(vector, &store, error));
    request->table = s->table;
    request->done = task_ended;
    request->user = s->memory;
    atomic_fetch_add(&s->memory->owners, 1);
    s->begun++;
    hawser_status status =
        request->out != NULL ? hawser_pull(store, request, task, error) : hawser_push(store, request, task, error);
    if (status == HAWSER_OK)
        return HAWSER_OK;
    s->begun--;
    release(s->memory);
    return status;
}

/* Ends a clock of all workers of this node. */
static hawser_status end_clock(hawser_vector *vector, uint64_t clock, hawser_error *error)
{
    hawser_store *store = NULL;
    HAWSER_TRY(find_open_store(vector, &store, error));
    for (uint32_t w = 0; w < store->options.workers && vector->rules.sync != HW_VECTOR_TAP; w++)
        HAWSER_TRY(hawser_store_clock(store, vector->servers->table, w, clock, 0, vector->servers->keys - 1, error));
    return HAWSER_OK;
}

/* ----------------------------------------------------------------------------------------------------------- counts ---- */

static char *counts_of(const hawser_vector *vector, char *numbers)
{
    const struct hw_vector_servers *s = vector->servers;
    return numbers + (size_t)s->rows * s->width * (vector->bytes / vector->count);
}

static void set_count(const hawser_vector *vector, char *counts, int at, double value)
{
    if (vector->type == HAWSER_F32)
        ((float *)(void *)counts)[at] = (float)value;
    else
        ((double *)(void *)counts)[at] = value;
}

static double count_at(const hawser_vector *vector, const char *counts, int at)
{
    return vector->type == HAWSER_F32 ? (double)((const float *)(const void *)counts)[at]
                                      : ((const double *)(const void *)counts)[at];
}

static double piece_of(uint64_t first, int piece)
{
    return (double)(first >> (PIECE_BITS * piece) & ((1u << PIECE_BITS) - 1));
}

static hawser_status push_counts(hawser_vector *vector, uint64_t clock, hawser_error *error)
{
    struct hw_vector_servers *s = vector->servers;
    hawser_request request = {.first = s->rows,
                              .count = (size_t)(s->keys - s->rows),
                              .values = counts_of(vector, s->memory->push),
                              .iteration = clock};
    return begin_task(vector, &request, &s->pushes[1], error);
}

/* Under bsp and ssp all replicas begin alike. The sums of 256 pieces of 16 bits are exact in f32. */
static hawser_status check_beginnings(hawser_vector *vector, hawser_error *error)
{
    struct hw_vector_servers *s = vector->servers;
    const char *counts = counts_of(vector, s->memory->pull);
    double begun = vector->nodes - count_at(vector, counts, COUNT_SILENT);
    for (int i = 0; i < PIECES; i++)
        if (count_at(vector, counts, COUNT_FIRST + i) != begun * piece_of(vector->rules.first, i))
            return hawser_fail(
                error, HAWSER_BAD_ARGUMENT,
                "vector '%s': node %u begins with iteration %llu, and another one does not; under bsp and ssp "
                "all replicas begin with the same one",
                vector->name, vector->self, (unsigned long long)vector->rules.first);
    s->checked = true;
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------------ calls ---- */

static hawser_status push_numbers(hawser_vector *vector, const hawser_scatter *scatter, hawser_error *error)
{
    struct hw_vector_servers *s = vector->servers;
    size_t keys = scatter->key_count, bytes = vector->sparse ? keys * vector->shape.row : vector->bytes;
    hawser_request request = {.values = s->memory->push, .count = (size_t)s->rows, .iteration = scatter->iteration};
    if (bytes == 0)
        return HAWSER_OK;
    memcpy(s->memory->push, scatter->values, bytes);
    if (vector->sparse) {
        memcpy(s->memory->keys, scatter->keys, keys * sizeof *scatter->keys);
        request.keys = s->memory->keys;
        request.count = keys;
        hw_sparse_add(&vector->shape, s->seen, &(hw_sparse_part){scatter->keys, scatter->values, keys});
    } else {
        hw_terms_add(vector->type, s->seen, scatter->values, vector->count);
    }
    vector->pushed++;
    vector->pushed_bytes += bytes + keys * sizeof *scatter->keys;
    return begin_task(vector, &request, &s->pushes[0], error);
}

hawser_status hw_vector_servers_ready(hawser_vector *vector, const hawser_scatter *scatter, hawser_error *error)
{
    hawser_store *store = NULL;
    if (scatter->to != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': a scatter to receivers by name, and the dataflow is servers: all gather from them",
                           vector->name);
    if (scatter->iteration > HW_VECTOR_ITERATIONS - 1)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': iteration %llu: over servers at most %llu",
                           vector->name, (unsigned long long)scatter->iteration,
                           (unsigned long long)(HW_VECTOR_ITERATIONS - 1));
    HAWSER_TRY(find_open_store(vector, &store, error));
    for (uint32_t node = 0; node < vector->nodes; node++)
        HAWSER_TRY(hw_vector_check_closed(vector, node, error));
    HAWSER_TRY(end_task(vector, &vector->servers->pull, error)); /* of a gather that was cancelled */
    return end_tasks(vector, error);
}

hawser_status hw_vector_servers_scatter(hawser_vector *vector, const hawser_scatter *scatter, hawser_error *error)
{
    char *counts = counts_of(vector, vector->servers->memory->push);
    HAWSER_TRY(push_numbers(vector, scatter, error));
    if (!vector->scattered && vector->rules.sync != HW_VECTOR_TAP) {
        for (int i = 0; i < COUNTS; i++)
            set_count(vector, counts, i, i < COUNT_FIRST ? 0 : piece_of(scatter->iteration, i - COUNT_FIRST));
        HAWSER_TRY(push_counts(vector, scatter->iteration, error));
    }
    return end_clock(vector, scatter->iteration, error);
}

/* Pulls the sum of all deltas, and of the clocks below `least` all of them. */
static hawser_status pull_sum(hawser_vector *vector, uint64_t least, hawser_error *error)
{
    struct hw_vector_servers *s = vector->servers;
    hawser_request request = {.count = (size_t)s->keys, .out = s->memory->pull, .least = least};
    HAWSER_TRY(end_tasks(vector, error));
    if (s->pull == 0)
        HAWSER_TRY(begin_task(vector, &request, &s->pull, error));
    return end_task(vector, &s->pull, error);
}

/* Returns the clocks that all replicas must have ended before a gather of an iteration. */
static uint64_t least_of(const hawser_vector *vector, uint64_t iteration)
{
    const hw_edge_rules *rules = &vector->rules;
    uint64_t slack = rules->sync == HW_VECTOR_SSP ? rules->slack : 0;
    if (rules->sync == HW_VECTOR_TAP || iteration < slack || iteration - slack < rules->first)
        return 0;
    return iteration - slack + 1;
}

hawser_status hw_vector_servers_gather(hawser_vector *vector, uint64_t iteration, hawser_gather_how how, void *array,
                                       hawser_error *error)
{
    struct hw_vector_servers *s = vector->servers;
    uint64_t least = least_of(vector, iteration);
    if (how != HAWSER_GATHER_SUM && (how != HAWSER_GATHER_AVERAGE || vector->rules.sync != HW_VECTOR_BSP))
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "vector '%s': the servers have the sum of all deltas alone: gather by HAWSER_GATHER_SUM, or under "
            "bsp by HAWSER_GATHER_AVERAGE",
            vector->name);
    HAWSER_TRY(pull_sum(vector, least, error));
    if (least > 0 && !s->checked)
        HAWSER_TRY(check_beginnings(vector, error));
    double ended = count_at(vector, counts_of(vector, s->memory->pull), COUNT_ENDED);
    uint64_t divisor = how == HAWSER_GATHER_AVERAGE ? vector->nodes - (uint64_t)ended : 1;
    hw_terms_take_new(vector->type, array, s->memory->pull, s->seen, divisor, vector->count);
    return HAWSER_OK;
}

hawser_status hw_vector_servers_settle(hawser_vector *vector, hawser_error *error)
{
    hawser_store *store = NULL;
    HAWSER_TRY(find_open_store(vector, &store, error));
    HAWSER_TRY(end_task(vector, &vector->servers->pull, error));
    return end_tasks(vector, error);
}

hawser_status hw_vector_servers_end(hawser_vector *vector, hawser_error *error)
{
    char *counts = counts_of(vector, vector->servers->memory->push);
    HAWSER_TRY(hw_vector_servers_settle(vector, error));
    if (vector->rules.sync != HW_VECTOR_TAP) {
        for (int i = 0; i < COUNTS; i++)
            set_count(vector, counts, i, i == COUNT_ENDED || (i == COUNT_SILENT && !vector->scattered));
        HAWSER_TRY(push_counts(vector, vector->scattered ? vector->iteration + 1 : 0, error));
        HAWSER_TRY(end_clock(vector, LAST_CLOCK, error));
    }
    return end_tasks(vector, error);
}

hawser_status hw_vector_servers_rest(hawser_vector *vector, void *array, hawser_error *error)
{
    struct hw_vector_servers *s = vector->servers;
    HAWSER_TRY(pull_sum(vector, vector->rules.sync == HW_VECTOR_TAP ? 0 : LAST_CLOCK + 1, error));
    hw_terms_take_new(vector->type, array, s->memory->pull, s->seen, 1, vector->count);
    return hw_vector_finite(vector, array, vector->count, "the array after the last deltas", error);
}

void hw_vector_servers_finished(hawser_vector *vector)
{
    leave_store(vector, false);
}
