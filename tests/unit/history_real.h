/* history_real.h - histories of real runs: programs over states, over stored states, and over tables of the store, on
 * threads and nodes. For test files that begin with cmocka's includes; the test stands in a directory of its own. */
#ifndef HW_TESTS_HISTORY_REAL_H
#define HW_TESTS_HISTORY_REAL_H

#include "hawser/kept_points.h"
#include "hawser/moving.h"
#include "hawser/store.h"
#include "hawser/stored.h"
#include "hawser/vector.h"
#include "history_runs.h"
#include "memory_checkpointer.h"
#include "nodes.h"

/* A run: its options, as pairs that end with NULL, the number of nodes, and what each of them does. */
typedef struct real_run {
    const char *name;
    uint32_t nodes;
    void (*body)(test_node *node);
    hawser_sync sync;
    const char *pairs[16];
    uint64_t stop; /* the run is recorded from its n-th checkpoint on; 0: from its begin */
} real_run;

/* --------------------------------------------------------------------------------------------------------- programs ---- */

static void run_mixed(test_node *node)
{
    node->status = run_recorded(node->job, 3, &node->error);
}

/* Also changes a gain in every clock. */
static bool every_other(hawser_progress *progress, void *user)
{
    (void)user;
    hawser_progress_gain(progress, "v", hawser_progress_clock(progress) % 2 == 0 ? 2 : 1);
    return hawser_progress_clock(progress) % 2 == 0;
}

/* Reduces twice in a clock, and changes v by what all agree on. */
static hawser_status agree(hawser_context *context)
{
    double value = hawser_block(context) + 1.0, first = hawser_block(context) == 0 ? 2.0 : 0.0;
    HAWSER_TRY(hawser_allreduce(context, &value, 1, HAWSER_SUM));
    HAWSER_TRY(hawser_allreduce(context, &first, 1, HAWSER_MAX));
    HAWSER_WRITE(context, double, v);
    v[0] += value + first;
    return HAWSER_OK;
}

static hawser_status count_clock(hawser_context *context)
{
    HAWSER_WRITE(context, double, v);
    v[hawser_block(context) % 4] += 1;
    return HAWSER_OK;
}

static hawser_status add_one(hawser_context *context)
{
    HAWSER_WRITE(context, double, u);
    HAWSER_READ(context, double, v);
    u[hawser_block(context)] += 1 + v[0];
    return HAWSER_OK;
}

/* A loop with a branch, reductions, two stages, and a unit whose sync is stricter than the loop's. */
static void run_branches(test_node *node)
{
    const real_run *run = node->user;
    hawser_program *program = hawser_program_new("branches", NULL);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 4);
    hawser_state *u = HAWSER_STATE(program, "u", HAWSER_REPLICATED, .rows = 8);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 4}, run->sync);
    bool late = run->sync.tightness == HAWSER_SSP;
    HAWSER_UNIT(loop, "agree", late ? count_clock : agree, .updates = {v}, .reduces = late ? 0 : 2);
    hawser_operator *branch = hawser_branch(loop, "branch", every_other, NULL);
    const hawser_sync strict = hawser_bsp();
    HAWSER_UNIT(branch, "add", add_one, .reads = {v}, .updates = {u}, .sync = late ? &strict : NULL);
    hawser_run *result = NULL;
    node->status = hawser_run_program(node->job, program, &result, &node->error);
    hawser_run_free(result);
    hawser_program_free(program);
}

/* Keeps a point, goes back to it two iterations later, and goes on. */
static bool comes_back(hawser_progress *progress, void *user)
{
    (void)user;
    const uint64_t clock = hawser_progress_clock(progress);
    if (clock == 0)
        hawser_progress_keep(progress, 0);
    if (clock == 2)
        hawser_progress_return(progress, 0);
    return clock == 3;
}

/* Rounds between which a test goes back to a kept point. */
static void run_points(test_node *node)
{
    const real_run *run = node->user;
    hawser_program *program = hawser_program_new("points", NULL);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 4, .keep = true);
    hawser_kept_points(program, 1);
    hawser_operator *again = hawser_loop(hawser_root(program), "again", (hawser_until){.test = comes_back}, hawser_bsp());
    hawser_operator *rounds = hawser_loop(again, "rounds", (hawser_until){.clocks = 2}, run->sync);
    HAWSER_UNIT(rounds, "count", count_clock, .updates = {v});
    hawser_run *result = NULL;
    node->status = hawser_run_program(node->job, program, &result, &node->error);
    hawser_run_free(result);
    hawser_program_free(program);
}

static hawser_status change_parts(hawser_context *context)
{
    hawser_moving_part part;
    for (;;) {
        HAWSER_TRY(hawser_next_part(context, "n", &part));
        if (part.number == UINT32_MAX)
            return HAWSER_OK;
        int32_t *values = part.values;
        for (size_t i = 0; i < part.count; i++)
            values[i] += (int32_t)hawser_block(context) + 1;
    }
}

/* A moving state in two loops, beside a replicated one. */
static void run_moving(test_node *node)
{
    static const size_t offsets[] = {0, 1, 3, 4, 7, 9, 12, 13}, cut[] = {0, 1, 2, 3, 4, 5, 7};
    const real_run *run = node->user;
    hawser_program *program = hawser_program_new("moving", NULL);
    hawser_state *n = HAWSER_STATE(program, "n", HAWSER_MOVING, .type = HAWSER_I32, .lines = 7, .offsets = offsets,
                                   .parts = 6, .cut = cut);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 4);
    for (int i = 0; i < 2; i++) {
        hawser_operator *loop =
            hawser_loop(hawser_root(program), i == 0 ? "first" : "second", (hawser_until){.clocks = 4}, run->sync);
        HAWSER_UNIT(loop, i == 0 ? "change" : "again", change_parts, .updates = {n});
        HAWSER_UNIT(loop, i == 0 ? "count" : "count again", count_clock, .updates = {v});
    }
    hawser_run *result = NULL;
    node->status = hawser_run_program(node->job, program, &result, &node->error);
    hawser_run_free(result);
    hawser_program_free(program);
}

static hawser_status fail_late(hawser_context *context)
{
    HAWSER_WRITE(context, double, v);
    v[hawser_block(context) % 4] += 1;
    if (hawser_clock(context) == 3 && hawser_block(context) == 0)
        return hawser_unit_fail(context, HAWSER_BAD_PROGRAM, "this unit fails in clock 3");
    return HAWSER_OK;
}

/* A program that fails: its streams end anywhere. */
static void run_failing(test_node *node)
{
    const real_run *run = node->user;
    hawser_program *program = hawser_program_new("failing", NULL);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 4);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 5}, run->sync);
    HAWSER_UNIT(loop, "fail", fail_late, .updates = {v});
    hawser_run *result = NULL;
    hawser_error error = {0};
    if (hawser_run_program(node->job, program, &result, &error) == HAWSER_OK)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "a program that fails has ended well");
    hawser_run_free(result);
    hawser_program_free(program);
}

/* Moves the own chunk towards the sum of all. */
static hawser_status mix_chunks(hawser_context *context)
{
    double sum = 0;
    for (hawser_chunk chunk;;) {
        HAWSER_TRY(hawser_next_chunk(context, "theta", &chunk));
        if (chunk.block == UINT32_MAX)
            break;
        const double *values = chunk.values;
        for (size_t i = 0; i < chunk.count; i++)
            sum += values[i];
    }
    size_t first, count = hawser_part(context, "theta", &first);
    HAWSER_WRITE(context, double, theta);
    for (size_t i = 0; i < count; i++)
        theta[i] = 0.25 * theta[i] + 0.01 * sum + 1;
    return HAWSER_OK;
}

static hawser_status count_totals(hawser_context *context)
{
    const uint64_t keys[] = {hawser_block(context), 7, 9, 10};
    const double ones[] = {1, 2, 3, 4}, *values;
    HAWSER_TRY(hawser_prefetch(context, "totals", keys, 0, 4));
    HAWSER_TRY(hawser_prefetch_wait(context, "totals", &values));
    return hawser_inc(context, "totals", keys, ones, 4);
}

/* Two loops over a stored state in chunks, and one over a stored state that all blocks add to. */
static void run_stored(test_node *node)
{
    const real_run *run = node->user;
    static const double initial[12] = {1, 2, 3, 4, 5, 6};
    hawser_program *program = hawser_program_new("stored", NULL);
    hawser_state *theta = HAWSER_STATE(program, "theta", HAWSER_STORED, .rows = 23);
    hawser_state *totals = HAWSER_STATE(program, "totals", HAWSER_STORED, .rows = 12, .initial = initial, .function = "add");
    hawser_operator *twice = hawser_loop(hawser_root(program), "twice", (hawser_until){.clocks = 2}, hawser_bsp());
    hawser_operator *loop = hawser_loop(twice, "mix", (hawser_until){.clocks = 3}, run->sync);
    HAWSER_UNIT(loop, "mix", mix_chunks, .updates = {theta});
    hawser_sync sync = run->sync.tightness == HAWSER_BSP || run->sync.tightness == HAWSER_SSP ? run->sync : hawser_tap();
    hawser_operator *counting = hawser_loop(twice, "count", (hawser_until){.clocks = 3}, sync);
    HAWSER_UNIT(counting, "count", count_totals, .updates = {totals});
    hawser_run *result = NULL;
    node->status = hawser_run_program(node->job, program, &result, &node->error);
    hawser_run_free(result);
    hawser_program_free(program);
}

/* -------------------------------------------------------------------------------------------------------- the store ---- */

enum { TABLE_KEYS = 60, LIST_KEYS = 7, STORE_CLOCKS = 4 };
#define EVERYWHERE .first = 0, .last = TABLE_KEYS - 1

typedef struct tables {
    test_node *node;
    hawser_store *store;
    uint32_t plain, sparse, summed, centric, assigned, held, late, overflowing;
    uint64_t list[LIST_KEYS], far[LIST_KEYS];
    double values[TABLE_KEYS], out[TABLE_KEYS], again[TABLE_KEYS];
} tables;

static void try_all(tables *t, hawser_status status)
{
    if (t->node->status == HAWSER_OK)
        t->node->status = status;
}

static uint64_t started(tables *t,
                        hawser_status (*start)(hawser_store *, const hawser_request *, uint64_t *, hawser_error *),
                        hawser_request request)
{
    uint64_t task = 0;
    if (t->node->status == HAWSER_OK)
        try_all(t, start(t->store, &request, &task, &t->node->error));
    return task;
}

static void done(tables *t, hawser_status (*start)(hawser_store *, const hawser_request *, uint64_t *, hawser_error *),
                 hawser_request request)
{
    uint64_t task = started(t, start, request);
    if (t->node->status == HAWSER_OK)
        try_all(t, hawser_store_wait(t->store, task, &t->node->error));
}

/* A request that the servers must refuse. */
static void refused(tables *t, hawser_status (*start)(hawser_store *, const hawser_request *, uint64_t *, hawser_error *),
                    hawser_request request)
{
    hawser_error error = {0};
    uint64_t task = started(t, start, request);
    if (t->node->status == HAWSER_OK && hawser_store_wait(t->store, task, &error) == HAWSER_OK)
        try_all(t, hawser_fail(&t->node->error, HAWSER_INTERNAL, "a request that cannot be done has succeeded"));
}

static void open_table(tables *t, hawser_table table, uint32_t *number)
{
    if (t->node->status == HAWSER_OK)
        try_all(t, hawser_store_table(t->store, &table, number, &t->node->error));
}

static void open_tables(tables *t)
{
    const uint64_t last = TABLE_KEYS - 1;
    open_table(t, (hawser_table){.name = "plain", .last = last}, &t->plain);
    open_table(t, (hawser_table){.name = "sparse", .sparse = true}, &t->sparse);
    open_table(t, (hawser_table){.name = "summed", .last = last, .summed = true}, &t->summed);
    open_table(t, (hawser_table){.name = "centric", .last = last, .data_centric = true, .function = "assign"}, &t->centric);
    open_table(t, (hawser_table){.name = "assigned", .last = last, .function = "assign"}, &t->assigned);
    open_table(t, (hawser_table){.name = "held", .last = last, .filter = "significant", .level = 2}, &t->held);
    open_table(t, (hawser_table){.name = "late", .last = last, .data_centric = true, .delay = 1}, &t->late);
    open_table(t, (hawser_table){.name = "overflowing", .last = 9}, &t->overflowing);
    for (uint64_t i = 0; i < LIST_KEYS; i++) {
        t->list[i] = i * i + t->node->node;
        t->far[i] = i * UINT64_C(0x123456789abc) + i * i * t->node->node;
    }
    for (size_t i = 0; i < TABLE_KEYS; i++)
        t->values[i] = 1 + (double)(i % 3);
}

/* One clock of a worker: pushes and pulls of every sort. */
static void use_tables(tables *t, uint64_t clock)
{
    uint64_t least = clock > 1 ? clock - 1 : 0;
    uint32_t worker = t->node->node;
    double *values = t->values, *out = t->out;
    values[clock] += 0.5;
    done(t, hawser_push, (hawser_request){.table = t->plain, EVERYWHERE, .values = values, .iteration = clock});
    done(t, hawser_pull, (hawser_request){.table = t->plain, EVERYWHERE, .out = out, .least = least, .iteration = clock});
    done(t, hawser_push_pull,
         (hawser_request){.table = t->plain, .keys = t->list, .count = LIST_KEYS, .values = values, .out = out});
    done(t, hawser_push, (hawser_request){.table = t->sparse, .keys = t->far, .count = LIST_KEYS, .values = values});
    done(t, hawser_pull,
         (hawser_request){.table = t->sparse, .keys = t->far, .count = LIST_KEYS, .out = out, .least = least});
    done(t, hawser_push, (hawser_request){.table = t->summed, EVERYWHERE, .values = values, .iteration = clock});
    done(t, hawser_pull, (hawser_request){.table = t->summed, .first = 3, .last = 40, .out = out, .least = least});
    done(t, hawser_push,
         (hawser_request){.table = t->assigned, .first = worker * 10, .last = worker * 10 + 9, .values = values});
    done(t, hawser_pull, (hawser_request){.table = t->assigned, .first = worker * 10, .last = worker * 10 + 9, .out = out});
    done(t, hawser_push, (hawser_request){.table = t->held, EVERYWHERE, .values = values});
    const uint64_t own = TABLE_KEYS / t->node->nodes, first = worker * own, last = first + own - 1;
    for (int k = 0; k < 2; k++) {
        uint32_t table = k == 0 ? t->centric : t->late;
        done(t, hawser_pull, (hawser_request){.table = table, EVERYWHERE, .out = out, .iteration = clock});
        done(t, hawser_pull,
             (hawser_request){.table = table, .first = 2, .last = 9, .out = t->again, .iteration = clock, .reread = true});
        uint64_t task =
            started(t, hawser_push,
                    (hawser_request){.table = table, .first = first, .last = last, .values = values, .iteration = clock});
        try_all(t, t->node->status != HAWSER_OK
                       ? t->node->status
                       : hawser_store_clock(t->store, table, 0, clock, 0, TABLE_KEYS - 1, &t->node->error));
        if (t->node->status == HAWSER_OK)
            try_all(t, hawser_store_wait(t->store, task, &t->node->error));
    }
    if (clock == STORE_CLOCKS - 1) { /* an iteration that is over, and numbers that overflow */
        refused(t, hawser_pull,
                (hawser_request){.table = t->late, EVERYWHERE, .out = out, .iteration = clock - 2, .reread = true});
        const double largest[] = {1.7e308, 1};
        const uint64_t key = 2 * (uint64_t)worker;
        done(t, hawser_push, (hawser_request){.table = t->overflowing, .first = key, .last = key + 1, .values = largest});
        refused(t, hawser_push, (hawser_request){.table = t->overflowing, .first = key, .last = key + 1, .values = largest});
    }
    for (int k = 0; k < 3 && t->node->status == HAWSER_OK; k++)
        try_all(t, hawser_store_clock(t->store,
                                      k == 0   ? t->plain
                                      : k == 1 ? t->sparse
                                               : t->summed,
                                      0, clock, 0, k == 1 ? UINT64_MAX : TABLE_KEYS - 1, &t->node->error));
}

static void run_tables(test_node *node)
{
    tables t = {.node = node};
    uint64_t task = 0;
    node->status = hawser_store_open(node->job, &(hawser_store_options){.workers = 1}, &t.store, &node->error);
    if (node->status == HAWSER_OK)
        open_tables(&t);
    for (uint64_t clock = 0; clock < STORE_CLOCKS && node->status == HAWSER_OK; clock++)
        use_tables(&t, clock);
    if (node->status == HAWSER_OK)
        try_all(&t, hawser_store_flush(t.store, t.held, &task, &node->error));
    if (node->status == HAWSER_OK)
        try_all(&t, hawser_store_wait(t.store, task, &node->error));
    hawser_store_close(t.store);
}

/* ---------------------------------------------------------------------------------------------------------- vectors ---- */

enum { VECTOR_COUNT = 6, VECTOR_STEPS = 9 };

static hawser_status scatter_step(test_node *node, hawser_vector *vector, bool sparse, bool names, uint64_t t)
{
    const double values[VECTOR_COUNT] = {1 + node->node, (double)t, 2, 3, 4, 1.0 / 3};
    const uint64_t keys[] = {t % 2, 2};
    const uint32_t to = (node->node + 1) % node->nodes;
    hawser_scatter scatter = {.iteration = t, .values = values};
    if (sparse) {
        scatter.keys = keys;
        scatter.key_count = 2;
    }
    if (names) {
        scatter.to = &to;
        scatter.to_count = 1;
    }
    return hawser_vector_scatter(vector, &scatter, &node->error);
}

static hawser_status use_vector(test_node *node, const hawser_vector_options *options, hawser_vector *vector)
{
    bool tap = options->sync == NULL, longer = !tap && node->node == 0;
    double array[VECTOR_COUNT] = {0};
    for (uint64_t t = 3; t < VECTOR_STEPS - (longer ? 0 : 2); t++) {
        HAWSER_TRY(scatter_step(node, vector, options->sparse, t == 5, t));
        if (tap && t == 6)
            HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
        if (!tap || t > 6)
            HAWSER_TRY(hawser_vector_gather(vector, t, HAWSER_GATHER_AVERAGE, NULL, array, &node->error));
    }
    return hawser_vector_finish(vector, array, &node->error);
}

/* Vectors under each sync, of values and of deltas, dense and sparse, one after the other. */
static void run_vectors(test_node *node)
{
    static const hawser_vector_options all[] = {
        {.name = "values", .count = VECTOR_COUNT, .sync = "bsp"},
        {.name = "deltas", .count = VECTOR_COUNT, .content = HAWSER_VECTOR_DELTAS},
        {.name = "rows",
         .count = VECTOR_COUNT,
         .sync = "ssp:1",
         .content = HAWSER_VECTOR_DELTAS,
         .sparse = true,
         .width = 2},
        {.name = "rounded",
         .count = VECTOR_COUNT,
         .sync = "bsp",
         .content = HAWSER_VECTOR_DELTAS,
         .rounding = HAWSER_AS_INT8},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all && node->status == HAWSER_OK; i++) {
        hawser_vector *vector = NULL;
        node->status = hawser_vector_open(node->job, &all[i], &vector, &node->error);
        if (node->status == HAWSER_OK)
            node->status = use_vector(node, &all[i], vector);
        hawser_vector_close(vector);
    }
}

/* ------------------------------------------------------------------------------------------------------------ files ---- */

/* The files of a job, by node. */
typedef struct recorded {
    const real_run *run;
    uint32_t nodes;
    unsigned char *bytes[NODES_MOST];
    size_t sizes[NODES_MOST];
} recorded;

/* The checkpoints of the run that is recorded. Nodes are threads of this process, so they share them. */
static memory_checkpointer real_checkpoints;

static void run_body(test_node *node)
{
    const real_run *run = node->user;
    if (run->stop > 0)
        node->job->checkpointer = &real_checkpoints.own;
    run->body(node);
}

static void run_real(const real_run *run)
{
    test_node nodes[NODES_MOST];
    const char *pairs[20] = {"record-history", "h", "timeout", "20"};
    size_t count = 4;
    for (size_t i = 0; run->pairs[i] != NULL; i++)
        pairs[count++] = run->pairs[i];
    pairs[count] = NULL;
    if (run->nodes == 1) {
        test_job job = open_job(pairs);
        nodes[0] = (test_node){.nodes = 1, .job = job.job, .user = (void *)(uintptr_t)run};
        run_body(&nodes[0]);
        close_job(job);
    } else {
        run_nodes(nodes, run->nodes, pairs, run_body, (void *)(uintptr_t)run);
    }
    check_all(nodes, run->nodes, run->name);
}

static inline recorded record_run(const real_run *run)
{
    recorded r = {.run = run, .nodes = run->nodes};
    char path[16];
    memory_open(&real_checkpoints, 1, run->stop, 0);
    run_real(run);
    if (run->stop > 0) {
        assert_int_equal(real_checkpoints.complete, run->stop);
        memory_again(&real_checkpoints, 1, 0);
        run_real(run);
    }
    memory_close(&real_checkpoints);
    for (uint32_t node = 0; node < run->nodes; node++) {
        (void)snprintf(path, sizeof path, node == 0 ? "h" : "h.%u", node);
        r.bytes[node] = read_file(path, &r.sizes[node]);
    }
    return r;
}

static inline void free_recorded(recorded *r)
{
    for (uint32_t node = 0; node < r->nodes; node++)
        free(r->bytes[node]);
}

#endif
