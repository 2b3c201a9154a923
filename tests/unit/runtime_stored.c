/* States that the store keeps, as units see them: under bsp and dc:0 the bits of Algorithm 1 (Goel et al. 2015) run on one
 * thread, under every policy chunks no older than it says, without a barrier where there is to be none; prefetches and
 * increments; what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hawser/stored.h"
#include "nodes.h"
#include "sanitized.h"

/* FEW: numbers of buffers for chunks that tests go through, 0: as many as usual. */
enum { FEW = 3, COUNT = 23, CLOCKS = 12, BLOCKS_MOST = 5, EVENTS_MOST = BLOCKS_MOST * CLOCKS * (BLOCKS_MOST + 1) };

typedef struct event {
    uint32_t block, chunk; /* chunk: BLOCKS_MOST: the block has computed its own */
    uint64_t clock;
    double version;
} event;

typedef struct trial {
    hawser_sync sync;
    atomic_uint events;
    event log[EVENTS_MOST];
    double result[COUNT], totals[COUNT];
} trial;

/* A contraction: number 0 of each chunk counts its versions, the others move towards a mixture of all. */
static double weight(size_t i, size_t j)
{
    return sin((double)(i * 31 + j * 17)) / (2.0 * COUNT);
}

static double partial(size_t i, size_t first, size_t count, const double *values)
{
    double sum = 0;
    for (size_t j = 1; j < count; j++)
        sum += weight(i, first + j) * values[j];
    return sum;
}

static void note(trial *t, uint32_t block, uint32_t chunk, uint64_t clock, double version)
{
    unsigned at = atomic_fetch_add(&t->events, 1);
    t->log[at] = (event){block, chunk, clock, version};
}

static hawser_status mix(hawser_context *context)
{
    trial *t = hawser_user(context);
    double mine[BLOCKS_MOST][COUNT];
    size_t first, count = hawser_part(context, "theta", &first);
    uint32_t block = hawser_block(context), blocks = hawser_blocks(context), given = 0;
    for (hawser_chunk chunk;;) {
        HAWSER_TRY(hawser_next_chunk(context, "theta", &chunk));
        if (chunk.block == UINT32_MAX)
            break;
        note(t, block, chunk.block, hawser_clock(context), ((const double *)chunk.values)[0]);
        for (size_t i = 0; i < count; i++)
            mine[chunk.block][i] = partial(first + i, chunk.first, chunk.count, chunk.values);
        given++;
    }
    if (given != blocks)
        return hawser_unit_fail(context, HAWSER_INTERNAL, "%u chunks of %u", given, blocks);
    HAWSER_WRITE(context, double, theta);
    for (size_t i = 1; i < count; i++) {
        double sum = 1;
        for (uint32_t b = 0; b < blocks; b++)
            sum += mine[b][i];
        theta[i] = sum;
    }
    theta[0]++;
    note(t, block, BLOCKS_MOST, hawser_clock(context), theta[0]);
    return HAWSER_OK;
}

/* Everybody adds one to the numbers whose key its block divides, and reads what it has asked for a clock ago. */
static hawser_status count_up(hawser_context *context)
{
    uint64_t keys[COUNT], step = hawser_block(context) + 1;
    double ones[COUNT];
    size_t n = 0;
    const double *values;
    for (uint64_t k = 0; k < COUNT; k += step) {
        keys[n] = k;
        ones[n++] = 1;
    }
    if (hawser_clock(context) == 0)
        HAWSER_TRY(hawser_prefetch(context, "totals", keys, 0, n));
    HAWSER_TRY(hawser_prefetch_wait(context, "totals", &values));
    for (size_t i = 0; i < n; i++)
        if (values[i] < (double)hawser_clock(context)) /* at least what this block has added before */
            return hawser_unit_fail(context, HAWSER_INTERNAL, "number %zu is %g", (size_t)keys[i], values[i]);
    HAWSER_TRY(hawser_inc(context, "totals", keys, ones, n));
    return hawser_prefetch(context, "totals", keys, 0, n);
}

static hawser_program *chunks(trial *t)
{
    hawser_program *program = hawser_program_new("chunks", t);
    hawser_state *theta = HAWSER_STATE(program, "theta", HAWSER_STORED, .rows = COUNT);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = CLOCKS}, t->sync);
    HAWSER_UNIT(loop, "mix", mix, .updates = {theta});
    return program;
}

/* Algorithm 1: all chunks are read, then all are written. */
static void alone(uint32_t blocks, double theta[COUNT])
{
    size_t first[BLOCKS_MOST + 1];
    double next[COUNT];
    for (uint32_t b = 0; b <= blocks; b++)
        first[b] = COUNT / blocks * b + (b < COUNT % blocks ? b : COUNT % blocks);
    memset(theta, 0, COUNT * sizeof *theta);
    for (int t = 0; t < CLOCKS; t++) {
        for (uint32_t b = 0; b < blocks; b++)
            for (size_t i = first[b]; i < first[b + 1]; i++) {
                double sum = 1;
                for (uint32_t c = 0; c < blocks; c++)
                    sum += partial(i, first[c], first[c + 1] - first[c], theta + first[c]);
                next[i] = i == first[b] ? theta[i] + 1 : sum;
            }
        memcpy(theta, next, sizeof next);
    }
}

static void run(hawser_job *job, hawser_program *program, trial *t, const char *state, double *out)
{
    hawser_run *result = NULL;
    hawser_error error = {0};
    size_t count;
    atomic_store(&t->events, 0);
    if (hawser_run_program(job, program, &result, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    const double *values = RESULT(double, result, state, &count);
    assert_int_equal(count, COUNT);
    memcpy(out, values, COUNT * sizeof *values);
    hawser_run_free(result);
    hawser_program_free(program);
}

static test_job job_of(uint32_t blocks)
{
    char workers[8];
    snprintf(workers, sizeof workers, "%u", blocks);
    return OPEN_JOB("workers", workers, "threads", "3", "timeout", "30");
}

/* A chunk was read in a clock before some block had computed its own of the clock before: no barrier stood between. */
static bool without_barrier(const trial *t)
{
    uint64_t done[BLOCKS_MOST] = {0};
    bool found = false;
    for (unsigned i = 0; i < atomic_load(&t->events); i++) {
        const event *e = &t->log[i];
        if (e->chunk == BLOCKS_MOST)
            done[e->block] = e->clock + 1;
        for (uint32_t b = 0; e->chunk != BLOCKS_MOST && e->chunk != e->block && b < BLOCKS_MOST; b++)
            found = found || (done[b] > 0 && done[b] < e->clock);
    }
    return found;
}

static void test_bits_of_one_thread(void **ignored)
{
    (void)ignored;
    static trial t;
    double expected[COUNT];
    for (uint32_t blocks = 1; blocks <= BLOCKS_MOST; blocks++) {
        unsigned free_runs = 0;
        alone(blocks, expected);
        for (uint64_t seed = 0; seed < (THREAD_SANITIZED ? 8 : tried_of(40)); seed++)
            for (int centric = 0; centric < 2; centric++) {
                test_job test = job_of(blocks);
                t = (trial){.sync = centric ? hawser_centric(0) : hawser_bsp()};
                test.job->chunks.buffers = seed % FEW;
                if (seed % 4 != 3)
                    hw_job_use_fibers(test.job, seed);
                run(test.job, chunks(&t), &t, "theta", t.result);
                assert_memory_equal(t.result, expected, sizeof expected);
                for (unsigned i = 0; i < t.events; i++) /* exactly the version of the clock */
                    assert_true(t.log[i].version == (double)t.log[i].clock + (t.log[i].chunk == BLOCKS_MOST));
                if (!centric)
                    assert_false(without_barrier(&t));
                free_runs += centric && without_barrier(&t);
                close_job(test);
            }
        assert_true(SANITIZED || blocks <= 2 || free_runs > 0);
    }
}

/* What has been read is as old as the policy allows, sometimes that old, never older. */
static void test_delays(void **ignored)
{
    (void)ignored;
    static trial t;
    static const hawser_sync syncs[] = {{HAWSER_SSP, 1},     {HAWSER_SSP, 3},     {HAWSER_DELAY, 1}, {HAWSER_DELAY, 3},
                                        {HAWSER_CENTRIC, 1}, {HAWSER_CENTRIC, 2}, {HAWSER_TAP, 0}};
    for (size_t k = 0; k < sizeof syncs / sizeof *syncs; k++) {
        double oldest = 0, ahead = 0;
        for (uint64_t seed = 0; seed < schedules_of(60); seed++) {
            test_job test = job_of(3);
            t = (trial){.sync = syncs[k]};
            test.job->chunks.buffers = seed % FEW;
            hw_job_use_fibers(test.job, seed);
            run(test.job, chunks(&t), &t, "theta", t.result);
            for (unsigned i = 0; i < t.events; i++) {
                if (t.log[i].chunk == BLOCKS_MOST || t.log[i].chunk == t.log[i].block)
                    continue;
                oldest = fmax(oldest, (double)t.log[i].clock - t.log[i].version);
                ahead = fmax(ahead, t.log[i].version - (double)t.log[i].clock);
            }
            close_job(test);
        }
        if (syncs[k].tightness != HAWSER_TAP)
            assert_true(oldest <= syncs[k].staleness);
        assert_true(SANITIZED || oldest >= 1);
        if (syncs[k].tightness == HAWSER_CENTRIC) /* a write has waited for the readers */
            assert_true(ahead <= syncs[k].staleness);
    }
}

static hawser_program *sums(trial *t, const double *initial)
{
    hawser_program *program = hawser_program_new("sums", t);
    hawser_state *totals =
        HAWSER_STATE(program, "totals", HAWSER_STORED, .rows = COUNT, .initial = initial, .function = "add");
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = CLOCKS}, t->sync);
    HAWSER_UNIT(loop, "count", count_up, .updates = {totals});
    return program;
}

static double total(size_t key, uint32_t blocks)
{
    double sum = 0;
    for (uint32_t b = 1; b <= blocks; b++)
        sum += key % b == 0 ? CLOCKS : 0;
    return sum;
}

static void test_increments(void **ignored)
{
    (void)ignored;
    static trial t;
    static const hawser_sync syncs[] = {{HAWSER_SSP, 2}, {HAWSER_DELAY, 2}, {HAWSER_TAP, 0}};
    double initial[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        initial[i] = (double)i;
    for (size_t k = 0; k < sizeof syncs / sizeof *syncs; k++)
        for (uint64_t seed = 0; seed < 1 + schedules_of(9); seed++) {
            test_job test = job_of(4);
            t = (trial){.sync = syncs[k]};
            if (seed > 0)
                hw_job_use_fibers(test.job, seed);
            run(test.job, sums(&t, initial), &t, "totals", t.totals);
            for (size_t i = 0; i < COUNT; i++)
                assert_true(t.totals[i] == initial[i] + total(i, 4));
            close_job(test);
        }
}

/* -------------------------------------------------------------------------------------------- phases one by one ---- */

static hawser_status look(hawser_context *context)
{
    double sum = 0;
    for (hawser_chunk chunk;;) {
        HAWSER_TRY(hawser_next_chunk(context, "theta", &chunk));
        if (chunk.block == UINT32_MAX)
            return hawser_report(context, "sum", sum);
        const double *values = chunk.values;
        for (size_t i = 0; i < chunk.count; i++)
            sum += values[i];
    }
}

static hawser_status add_one(hawser_context *context)
{
    HAWSER_WRITE(context, double, theta);
    for (size_t i = hawser_part(context, "theta", NULL); i > 0; i--)
        theta[i - 1]++;
    return HAWSER_OK;
}

static hawser_status every_other(hawser_context *context)
{
    return hawser_clock(context) % 2 == 0 ? add_one(context) : HAWSER_OK; /* no block reads, so none waits */
}

enum { SETTLING = 24 };

/* Moves each number towards a mixture of all; reports the largest step. What units see of the metric counts, too. */
static hawser_status settle(hawser_context *context)
{
    HAWSER_WRITE(context, double, x);
    double sum = 0, step = 0, before = hawser_metric(context, "step");
    for (hawser_chunk chunk;;) {
        HAWSER_TRY(hawser_next_chunk(context, "x", &chunk));
        if (chunk.block == UINT32_MAX)
            break;
        const double *values = chunk.values;
        for (size_t i = 0; i < chunk.count; i++)
            sum += values[i];
    }
    for (size_t i = 0, n = hawser_part(context, "x", NULL); i < n; i++) {
        double next = 0.5 * cos(x[i]) + 0.01 * sum / SETTLING + (isfinite(before) ? 1e-6 * before : 0);
        step = fmax(step, fabs(next - x[i]));
        x[i] = next;
    }
    return hawser_report(context, "step", step);
}

static bool has_settled(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_metric(progress, "step") < 1e-7;
}

typedef struct settled {
    const char *sync;
    bool tested; /* by a function */
    double x[3][SETTLING];
    uint64_t clocks[3];
} settled;

static void run_settling(hawser_job *job, settled *t, uint32_t node)
{
    hawser_run *result = NULL;
    hawser_error error = {0};
    hawser_program *program = hawser_program_new("settling", NULL);
    hawser_metric_declare(program, "step", HAWSER_MAX);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_STORED, .rows = SETTLING);
    hawser_until until = {.clocks = 500, .metric = "step", .below = 1e-7};
    if (t->tested)
        until = (hawser_until){.clocks = 500, .test = has_settled};
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", until, hawser_job_sync(job));
    HAWSER_UNIT(loop, "settle", settle, .updates = {x});
    if (hawser_run_program(job, program, &result, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    t->clocks[node] = hawser_run_figures(result)->clocks;
    if (hawser_result_range(result, "x", 0, SETTLING, t->x[node], &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    hawser_run_free(result);
    hawser_program_free(program);
}

static void settle_on_node(test_node *node)
{
    run_settling(node->job, node->user, node->node);
}

/* A loop that ends by a metric or a test ends under dc:0 at the clock at which it ends under bsp, with the same bits. */
static void test_ends_as_bsp(void **ignored)
{
    (void)ignored;
    static settled t;
    for (int tested = 0; tested < 2; tested++) {
        double expected[SETTLING];
        uint64_t clocks = 0;
        for (uint64_t seed = 0; seed < (THREAD_SANITIZED ? 4 : 12); seed++) {
            t = (settled){.sync = seed == 0 ? "bsp" : "dc:0", .tested = tested == 1};
            test_job test = OPEN_JOB("workers", "3", "threads", "3", "timeout", "30", "sync", t.sync);
            if (seed % 4 != 3)
                hw_job_use_fibers(test.job, seed);
            run_settling(test.job, &t, 0);
            close_job(test);
            if (seed == 0) {
                memcpy(expected, t.x[0], sizeof expected);
                clocks = t.clocks[0];
                assert_true(clocks > 5 && clocks < 100);
            }
            assert_true(t.clocks[0] == clocks && memcmp(t.x[0], expected, sizeof expected) == 0);
        }
        test_node nodes[2];
        const char *const pairs[] = {"workers", "3", "sync", "dc:0", "timeout", "30", NULL};
        run_nodes(nodes, 2, pairs, settle_on_node, &t);
        for (int n = 0; n < 2; n++)
            assert_true(t.clocks[n] == clocks && memcmp(t.x[n], expected, sizeof expected) == 0);
    }
}

/* Units before, in and behind loops see what was written before them; iterations go on; shares may be empty. */
static void test_phases(void **ignored)
{
    (void)ignored;
    for (uint64_t seed = 0; seed < 1 + schedules_of(11); seed++)
        for (int policy = 0; policy < 4; policy++) {
            static const hawser_sync syncs[] = {{HAWSER_BSP, 0}, {HAWSER_CENTRIC, 0}, {HAWSER_CENTRIC, 2}, {HAWSER_TAP, 0}};
            test_job test = job_of(5);
            double initial[3] = {10, 20, 30};
            size_t count;
            hawser_run *result = NULL;
            hawser_error error = {0};
            hawser_program *program = hawser_program_new("phases", NULL);
            hawser_metric_declare(program, "sum", HAWSER_MIN);
            hawser_state *theta = HAWSER_STATE(program, "theta", HAWSER_STORED, .rows = 3, .initial = initial);
            hawser_operator *root = hawser_root(program);
            HAWSER_UNIT(root, "first", look, .reads = {theta});
            HAWSER_UNIT(root, "once", add_one, .updates = {theta});
            hawser_operator *loop = hawser_loop(root, "loop", (hawser_until){.clocks = 7}, syncs[policy]);
            HAWSER_UNIT(loop, "every other", every_other, .updates = {theta});
            hawser_operator *again = hawser_loop(root, "again", (hawser_until){.clocks = 5}, syncs[policy]);
            HAWSER_UNIT(again, "look in", look, .reads = {theta});
            HAWSER_UNIT(again, "more", add_one, .updates = {theta});
            HAWSER_UNIT(root, "last", look, .one = true, .reads = {theta});
            if (seed > 0)
                hw_job_use_fibers(test.job, seed);
            if (hawser_run_program(test.job, program, &result, &error) != HAWSER_OK)
                fail_msg("%s", error.text);
            const double *values = RESULT(double, result, "theta", &count);
            for (size_t i = 0; i < 3; i++)
                assert_true(values[i] == initial[i] + 1 + 4 + 5);
            assert_true(hawser_result_metric(result, "sum") == 60 + 3 * 10);
            hawser_run_free(result);
            hawser_program_free(program);
            close_job(test);
        }
}

/* Sets the own share to a mixture of all chunks. */
static hawser_status blend(hawser_context *context)
{
    double sum = 0;
    for (hawser_chunk chunk;;) {
        HAWSER_TRY(hawser_next_chunk(context, "theta", &chunk));
        if (chunk.block == UINT32_MAX)
            break;
        const double *values = chunk.values;
        for (size_t i = 0; i < chunk.count; i++)
            sum += (double)(chunk.first + i + 1) * values[i];
    }
    HAWSER_WRITE(context, double, theta);
    for (size_t i = hawser_part(context, "theta", NULL); i > 0; i--)
        theta[i - 1] = fmod(2 * theta[i - 1] + sum, 1009);
    return HAWSER_OK;
}

/* What phases and units before have read does not let a block write while others read in an update: all read the same
 * version. */
static void test_reads_before_an_update(void **ignored)
{
    (void)ignored;
    enum { SHARES = 5, ROUNDS = 4 };
    double initial[SHARES] = {1, 2, 3, 4, 5}, wanted[SHARES];
    memcpy(wanted, initial, sizeof wanted);
    for (int t = 0; t < ROUNDS; t++) {
        double sum = 0;
        for (int i = 0; i < SHARES; i++)
            sum += (i + 1) * wanted[i];
        for (int i = 0; i < SHARES; i++)
            wanted[i] = fmod(2 * wanted[i] + sum, 1009);
    }
    for (uint64_t seed = 0; seed < (THREAD_SANITIZED ? 8 : tried_of(100)); seed++) {
        test_job test = job_of(SHARES);
        hawser_run *result = NULL;
        hawser_error error = {0};
        hawser_program *program = hawser_program_new("reads", NULL);
        hawser_metric_declare(program, "sum", HAWSER_MIN);
        hawser_state *theta = HAWSER_STATE(program, "theta", HAWSER_STORED, .rows = SHARES, .initial = initial);
        hawser_sync sync = seed % 2 == 0 ? hawser_bsp() : hawser_centric(0);
        hawser_operator *loop = hawser_loop(hawser_root(program), "rounds", (hawser_until){.clocks = ROUNDS}, sync);
        if (seed % 2 == 0) { /* the driver steps the loop */
            hawser_operator *both = hawser_parallel(loop);
            HAWSER_UNIT(both, "one looks", look, .one = true, .reads = {theta});
        }
        HAWSER_UNIT(loop, "look", look, .reads = {theta});
        test.job->chunks.buffers = seed / 2 % FEW;
        HAWSER_UNIT(loop, "blend", blend, .reads = {theta}, .updates = {theta});
        if (seed % 4 != 0)
            hw_job_use_fibers(test.job, seed);
        if (hawser_run_program(test.job, program, &result, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        for (int i = 0; i < SHARES; i++)
            assert_true(RESULT(double, result, "theta", NULL)[i] == wanted[i]);
        hawser_run_free(result);
        hawser_program_free(program);
        close_job(test);
    }
}

/* ---------------------------------------------------------------------------------------------------------- memory ---- */

enum { LARGE_BLOCKS = 16, LARGE = (64 << 20) / (int)sizeof(double) };

/* Block 0 reads all chunks. The first number of each counts its versions. */
static hawser_status read_large(hawser_context *context)
{
    double sum = 0;
    for (hawser_chunk chunk = {0}; hawser_block(context) == 0 && chunk.block != UINT32_MAX;) {
        HAWSER_TRY(hawser_next_chunk(context, "theta", &chunk));
        if (chunk.block == UINT32_MAX)
            break;
        const double *values = chunk.values;
        if (values[0] != (double)hawser_clock(context) || values[chunk.count - 1] != 0)
            return hawser_unit_fail(context, HAWSER_INTERNAL, "chunk %u has version %g", chunk.block, values[0]);
        sum += (double)chunk.count;
    }
    HAWSER_WRITE(context, double, theta);
    theta[0]++;
    return hawser_report(context, "read", sum);
}

static void memory_of_chunks_is_that_of_a_few(void **ignored)
{
    (void)ignored;
    test_job test = job_of(LARGE_BLOCKS);
    hawser_run *result = NULL;
    hawser_error error = {0};
    hawser_program *program = hawser_program_new("large", NULL);
    hawser_metric_declare(program, "read", HAWSER_SUM);
    hawser_state *theta = HAWSER_STATE(program, "theta", HAWSER_STORED, .rows = LARGE);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 2}, hawser_centric(0));
    HAWSER_UNIT(loop, "read", read_large, .updates = {theta});
    if (hawser_run_program(test.job, program, &result, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_true(hawser_result_metric(result, "read") == LARGE);
    uint64_t chunk = LARGE / LARGE_BLOCKS * sizeof(double), most = atomic_load(&test.job->chunks.most);
    assert_true(most >= chunk && most <= 3 * chunk); /* one in use and two ahead */
    assert_int_equal(atomic_load(&test.job->chunks.bytes), 0);
    hawser_run_free(result);
    hawser_program_free(program);
    close_job(test);
}

/* --------------------------------------------------------------------------------------------------------- nodes ---- */

static void on_node(test_node *node)
{
    trial *t = (trial *)node->user + node->node;
    t->sync = hawser_job_sync(node->job);
    node->job->chunks.buffers = node->node; /* nodes may differ */
    run(node->job, chunks(t), t, "theta", t->result);
    if (t->sync.tightness == HAWSER_BSP) /* this job's loop is for states of one writer; sums have their own */
        t->sync = hawser_ssp(1);
    if (t->sync.tightness != HAWSER_CENTRIC)
        run(node->job, sums(t, NULL), t, "totals", t->totals);
}

static void test_nodes(void **ignored)
{
    (void)ignored;
    static trial trials[3];
    static const char *const syncs[] = {"bsp", "dc:0", "dc:2", "delay:2", "ssp:1"};
    static const double staleness[] = {0, 0, 2, 2, 1};
    for (uint32_t count = 2; count <= 3; count++)
        for (size_t k = 0; k < sizeof syncs / sizeof *syncs; k++) {
            test_node nodes[3];
            double expected[COUNT];
            const char *const pairs[] = {"workers", "5", "sync", syncs[k], "timeout", "30", NULL};
            memset(trials, 0, sizeof trials);
            alone(5, expected);
            run_nodes(nodes, count, pairs, on_node, trials);
            for (uint32_t n = 0; n < count; n++) {
                if (nodes[n].status != HAWSER_OK)
                    fail_msg("node %u: %s", n, nodes[n].error.text);
                if (k < 2)
                    assert_memory_equal(trials[n].result, expected, sizeof expected);
                for (unsigned i = 0; i < trials[n].events;
                     i++) /* what has gone to another node was there before its clock was over */
                    if (trials[n].log[i].chunk != BLOCKS_MOST && trials[n].log[i].chunk != trials[n].log[i].block)
                        assert_true((double)trials[n].log[i].clock - trials[n].log[i].version <= staleness[k]);
                for (size_t i = 0; i < COUNT && trials[n].sync.tightness != HAWSER_CENTRIC; i++)
                    assert_true(trials[n].totals[i] == total(i, 5));
            }
        }
}

/* ------------------------------------------------------------------------------------------------------ refusals ---- */

static hawser_status fall_apart(hawser_context *context)
{
    HAWSER_WRITE(context, double, theta);
    if (hawser_block(context) == 1 && hawser_clock(context) == 3)
        theta[2] = NAN;
    return HAWSER_OK;
}

static hawser_status disordered(hawser_context *context)
{
    const uint64_t keys[2] = {3, 3};
    const double ones[2] = {1, 1};
    return hawser_inc(context, "totals", keys, ones, 2);
}

static hawser_status too_far(hawser_context *context)
{
    return hawser_prefetch(context, "totals", NULL, COUNT - 1, 2);
}

static hawser_status too_many(hawser_context *context)
{
    for (int i = 0; i < 65; i++)
        HAWSER_TRY(hawser_prefetch(context, "totals", NULL, 0, 2));
    return HAWSER_OK;
}

static hawser_status out_of_nothing(hawser_context *context)
{
    const double *values;
    return hawser_prefetch_wait(context, "totals", &values);
}

static hawser_status write_share_of_another(hawser_context *context)
{
    const uint64_t key = 1;
    const double one = 1;
    return hawser_inc(context, "theta", &key, &one, 1);
}

static hawser_status no_share(hawser_context *context)
{
    double *totals;
    return hawser_write(context, "totals", &totals);
}

static void test_refused_while_running(void **ignored)
{
    (void)ignored;
    static const struct {
        hawser_unit_function *function;
        bool owned;
        const char *says;
    } cases[] = {{fall_apart, true, "stored state 'theta', block 1: number 10 became nan in clock 3"},
                 {disordered, false, "ascend"},
                 {too_far, false, "numbers 22 to 24 of state 'totals', which has 23"},
                 {too_many, false, "hawser_prefetch: 64 reads are in progress"},
                 {out_of_nothing, false, "hawser_prefetch_wait: no read was started by hawser_prefetch"},
                 {write_share_of_another, true, "each share of stored state 'theta' has one writer"},
                 {no_share, false, "state 'totals' is changed by every block; use hawser_inc"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (uint64_t fibers = 0; fibers < 2; fibers++) {
            test_job test = job_of(3);
            hawser_run *result = NULL;
            hawser_error error = {0};
            hawser_program *program = hawser_program_new("refused", NULL);
            hawser_state *state = cases[k].owned
                                      ? HAWSER_STATE(program, "theta", HAWSER_STORED, .rows = COUNT)
                                      : HAWSER_STATE(program, "totals", HAWSER_STORED, .rows = COUNT, .function = "add");
            hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 9},
                                                cases[k].owned ? hawser_centric(0) : hawser_ssp(2));
            HAWSER_UNIT(loop, "unit", cases[k].function, .updates = {state});
            if (fibers)
                hw_job_use_fibers(test.job, 7);
            assert_true(hawser_run_program(test.job, program, &result, &error) < HAWSER_OK);
            if (strstr(error.text, cases[k].says) == NULL)
                fail_msg("'%s' does not say '%s'", error.text, cases[k].says);
            assert_null(result);
            hawser_program_free(program);
            close_job(test);
        }
}

typedef hawser_state *builder(hawser_program *program);

static hawser_state *unknown_function(hawser_program *program)
{
    return HAWSER_STATE(program, "s", HAWSER_STORED, .rows = 4, .function = "divide");
}

static hawser_state *bad_rate(hawser_program *program)
{
    return HAWSER_STATE(program, "s", HAWSER_STORED, .rows = 4, .function = "adagrad",
                        .parameters = (const double[]){-1, 1});
}

static hawser_state *bad_start(hawser_program *program)
{
    return HAWSER_STATE(program, "s", HAWSER_STORED, .rows = 4, .initial = (const double[]){1, 2, 3, 4}, .function = "max");
}

static hawser_state *many_writers(hawser_program *program)
{
    return HAWSER_STATE(program, "s", HAWSER_STORED, .rows = 4, .function = "add");
}

static hawser_state *replicated(hawser_program *program)
{
    HAWSER_STATE(program, "t", HAWSER_STORED, .rows = 4, .function = "add");
    return HAWSER_STATE(program, "s", HAWSER_REPLICATED, .rows = 4);
}

static void test_refused_before(void **ignored)
{
    (void)ignored;
    static const struct {
        builder *build;
        const char *says;
    } cases[] = {{unknown_function, "the store has no function 'divide'"},
                 {bad_rate, "rate must be finite and above 0"},
                 {bad_start, "begins at zero"},
                 {many_writers, "loop 'loop' is data-centric, which needs one writer per chunk"},
                 {replicated, "loop 'loop' is under dc:1, which is for stored states, and it has none"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        test_job test = job_of(2);
        hawser_run *result = NULL;
        hawser_error error = {0};
        hawser_program *program = hawser_program_new("refused", NULL);
        hawser_state *state = cases[k].build(program);
        hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 2}, hawser_centric(1));
        HAWSER_UNIT(loop, "unit", disordered, .updates = {state});
        assert_int_equal(hawser_run_program(test.job, program, &result, &error), HAWSER_BAD_PROGRAM);
        if (strstr(error.text, cases[k].says) == NULL)
            fail_msg("'%s' does not say '%s'", error.text, cases[k].says);
        hawser_program_free(program);
        close_job(test);
    }
}

/* Block 1 has asked for all chunks, so block 0 can end the loop; then block 1 is late for the end of the run, and never
 * writes its chunk. */
static hawser_status read_late(hawser_context *context)
{
    enum { TWO_SECONDS = 2000000 };
    hawser_chunk chunk;
    HAWSER_TRY(hawser_next_chunk(context, "theta", &chunk));
    HAWSER_WRITE(context, double, theta);
    theta[0]++;
    if (hawser_block(context) == 1)
        usleep(TWO_SECONDS);
    while (chunk.block != UINT32_MAX)
        HAWSER_TRY(hawser_next_chunk(context, "theta", &chunk));
    return HAWSER_OK;
}

static void test_abandoned_run_is_read_without_waiting(void **state)
{
    (void)state;
    const char *const pairs[] = {"workers", "2", "time-limit", "0.2", "grace", "0.4", "timeout", "10", NULL};
    hawser_run *result = NULL;
    hawser_error error = {0};
    size_t count;
    test_job test = open_job(pairs);
    hawser_program *program = hawser_program_new("late", NULL);
    hawser_state *theta = HAWSER_STATE(program, "theta", HAWSER_STORED, .rows = COUNT);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 1}, hawser_centric(0));
    HAWSER_UNIT(loop, "late", read_late, .updates = {theta});
    hawser_status status = hawser_run_program(test.job, program, &result, &error);
    if (status != HAWSER_STOP)
        fail_msg("%s: %s", hawser_status_name(status), error.text);
    const double *values = RESULT(double, result, "theta", &count);
    assert_int_equal(count, COUNT);
    assert_true(values[0] == 1.0); /* what block 0 has written */
    hawser_run_free(result);
    hawser_program_free(program);
    close_job(test);
}

/* ------------------------------------------------------------------------------------------------------------ types ---- */

static uint64_t mixed(uint64_t seed, uint64_t block, uint64_t clock, uint64_t entry)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15 + block * 0xd1342543de82ef95 + clock * 0xbf58476d1ce4e5b9 + entry;
    x = (x ^ (x >> 31)) * 0x94d049bb133111eb;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9;
    return x ^ (x >> 32);
}

enum { KEPT = 23, KEPT_CLOCKS = 4 };

/* Chunks with one writer (f, l), the largest of all updates (m), and a sum (a) whose numbers are whole. */
typedef struct kept {
    int64_t l[KEPT], m[KEPT];
    float f[KEPT], a[KEPT];
} kept;

typedef struct kept_run {
    hawser_sync sync;
    kept begins, got[3];
} kept_run;

static int64_t largest_change(uint64_t block, uint64_t clock, uint64_t entry)
{
    return (int64_t)(mixed(9, block, clock, entry) >> 2);
}

static float whole_change(uint64_t block, uint64_t clock, uint64_t entry)
{
    return (float)(mixed(8, block, clock, entry) % 1000);
}

/* A data-centric loop has states with one writer per chunk alone. */
static bool adds_up(const kept_run *r)
{
    return r->sync.tightness == HAWSER_BSP;
}

static hawser_status step_kept(hawser_context *context)
{
    const kept_run *r = hawser_user(context);
    hawser_chunk chunk;
    HAWSER_WRITE(context, int64_t, l);
    int64_t seen = 0, largest[KEPT];
    HAWSER_WRITE(context, float, f);
    float most = 0, whole[KEPT];
    uint64_t keys[KEPT], block = hawser_block(context), clock = hawser_clock(context);
    do {
        HAWSER_TRY(hawser_next_chunk(context, "l", &chunk));
        for (size_t e = 0; chunk.block != UINT32_MAX && e < chunk.count; e++)
            seen ^= ((const int64_t *)chunk.values)[e] + (int64_t)(chunk.first + e);
    } while (chunk.block != UINT32_MAX);
    do {
        HAWSER_TRY(hawser_next_chunk(context, "f", &chunk));
        if (chunk.block != UINT32_MAX && chunk.type != HAWSER_F32)
            return hawser_unit_fail(context, HAWSER_INTERNAL, "a chunk of f32 has numbers of another type");
        const float *values = chunk.values;
        for (size_t e = 0; chunk.block != UINT32_MAX && e < chunk.count; e++)
            most = values[e] > most ? values[e] : most;
    } while (chunk.block != UINT32_MAX);
    for (size_t e = 0, count = hawser_part(context, "l", NULL); e < count; e++) {
        l[e] = (int64_t)((uint64_t)l[e] * 3 + (uint64_t)seen);
        f[e] = f[e] / 3 + most / 7;
    }
    for (size_t e = 0; e < KEPT; e++) {
        keys[e] = e;
        largest[e] = largest_change(block, clock, e);
        whole[e] = whole_change(block, clock, e);
    }
    if (!adds_up(r))
        return HAWSER_OK;
    HAWSER_TRY(hawser_inc(context, "m", keys, largest, KEPT));
    return hawser_inc(context, "a", keys + block, whole + block, KEPT - block);
}

/* Reads what the loop has left, by keys and as a range, and adds what it read to the state. */
static hawser_status read_kept(hawser_context *context)
{
    const uint64_t keys[3] = {1, 7, KEPT - 1};
    const float *f, *a;
    const int64_t *m;
    HAWSER_TRY(hawser_prefetch(context, "m", keys, 0, 3));
    HAWSER_TRY(hawser_prefetch_wait(context, "m", &m));
    HAWSER_TRY(hawser_prefetch(context, "f", NULL, 2, KEPT - 2));
    HAWSER_TRY(hawser_prefetch_wait(context, "f", &f));
    HAWSER_TRY(hawser_prefetch(context, "a", keys, 0, 3));
    HAWSER_TRY(hawser_prefetch_wait(context, "a", &a));
    HAWSER_WRITE(context, int64_t, seen);
    for (int k = 0; k < 3; k++)
        seen[k] += m[k] % 1000000007 + (int64_t)a[k];
    seen[3] += (int64_t)(f[KEPT - 3] * 1000);
    return HAWSER_OK;
}

static void run_kept(test_node *node)
{
    kept_run *r = node->user;
    kept *got = &r->got[node->node];
    hawser_run *run = NULL;
    hawser_program *p = hawser_program_new("kept", r);
    hawser_state *l = HAWSER_STATE(p, "l", HAWSER_STORED, .type = HAWSER_I64, .rows = KEPT, .initial = r->begins.l);
    hawser_state *f = HAWSER_STATE(p, "f", HAWSER_STORED, .type = HAWSER_F32, .rows = KEPT, .initial = r->begins.f);
    hawser_state *m = HAWSER_STATE(p, "m", HAWSER_STORED, .type = HAWSER_I64, .rows = KEPT, .function = "max");
    hawser_state *a =
        HAWSER_STATE(p, "a", HAWSER_STORED, .type = HAWSER_F32, .rows = KEPT, .initial = r->begins.a, .function = "add");
    hawser_state *seen = HAWSER_STATE(p, "seen", HAWSER_REPLICATED, .type = HAWSER_I64, .rows = 4);
    hawser_operator *loop = hawser_loop(hawser_root(p), "loop", (hawser_until){.clocks = KEPT_CLOCKS}, r->sync);
    (void)HAWSER_UNIT(loop, "step", step_kept, .updates = {l, f, adds_up(r) ? m : NULL, a});
    (void)HAWSER_UNIT(hawser_root(p), "read", read_kept, .one = true, .reads = {m, f, a}, .updates = {seen});
    node->status = hawser_run_program(node->job, p, &run, &node->error);
    if (node->status == HAWSER_OK) {
        memcpy(got->l, RESULT(int64_t, run, "l", NULL), sizeof got->l);
        memcpy(got->f, RESULT(float, run, "f", NULL), sizeof got->f);
        memcpy(got->m, RESULT(int64_t, run, "m", NULL), sizeof got->m);
        memcpy(got->a, RESULT(float, run, "a", NULL), sizeof got->a);
        const size_t keys[3] = {1, 7, KEPT - 1};
        const int64_t *read = RESULT(int64_t, run, "seen", NULL);
        for (int k = 0; k < 3; k++)
            assert_int_equal(read[k], got->m[keys[k]] % 1000000007 + (int64_t)got->a[keys[k]]);
        assert_int_equal(read[3], (int64_t)(got->f[KEPT - 1] * 1000));
    }
    hawser_run_free(run);
    hawser_program_free(p);
}

static void oracle_kept(const kept_run *r, uint32_t blocks, kept *v)
{
    *v = r->begins;
    for (uint64_t t = 0; t < KEPT_CLOCKS; t++) {
        int64_t seen = 0;
        float most = 0;
        for (size_t e = 0; e < KEPT; e++) {
            seen ^= v->l[e] + (int64_t)e;
            most = v->f[e] > most ? v->f[e] : most;
        }
        for (size_t e = 0; e < KEPT; e++) {
            v->l[e] = (int64_t)((uint64_t)v->l[e] * 3 + (uint64_t)seen);
            v->f[e] = v->f[e] / 3 + most / 7;
            for (uint32_t b = 0; adds_up(r) && b < blocks; b++) {
                int64_t change = largest_change(b, t, e);
                v->m[e] = change > v->m[e] ? change : v->m[e];
                v->a[e] += e >= b ? whole_change(b, t, e) : 0;
            }
        }
    }
}

static void stored_states_keep_their_type(void **state)
{
    (void)state;
    static const char *const threads[] = {"1", "4"};
    for (size_t k = 0; k < 6; k++) {
        static kept_run r;
        static kept wanted;
        test_node nodes[NODES_MOST];
        uint32_t count = 1 + (uint32_t)(k % 3);
        memset(&r, 0, sizeof r);
        r.sync = k % 2 == 0 ? hawser_bsp() : hawser_centric(0);
        for (size_t e = 0; e < KEPT; e++) {
            r.begins.l[e] = (int64_t)(mixed(3, 3, 3, e) >> 2);
            r.begins.f[e] = (float)e / 7;
            r.begins.a[e] = (float)e;
        }
        if (count == 1) {
            test_job test = OPEN_JOB("workers", "4", "threads", threads[k / 3], "timeout", "60");
            nodes[0] = (test_node){.job = test.job, .user = &r};
            run_kept(&nodes[0]);
            close_job(test);
        } else {
            const char *const pairs[] = {"workers", "4", "timeout", "60", NULL};
            run_nodes(nodes, count, pairs, run_kept, &r);
        }
        check_all(nodes, count, "kept");
        oracle_kept(&r, 4, &wanted);
        for (uint32_t n = 0; n < count; n++)
            assert_memory_equal(&r.got[n], &wanted, sizeof wanted);
    }
}

static hawser_status wrong_wait(hawser_context *context)
{
    const double *got;
    HAWSER_TRY(hawser_prefetch(context, "x", NULL, 0, 2));
    return hawser_prefetch_wait(context, "x", &got);
}

static hawser_status bad_share(hawser_context *context)
{
    HAWSER_WRITE(context, float, x);
    if (hawser_block(context) == 0)
        x[1] = INFINITY;
    return HAWSER_OK;
}

static void stored_types_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        hawser_type type;
        const char *function;
        hawser_unit_function *unit;
        const char *words;
    } rows[] = {
        {HAWSER_I32, NULL, add_one, "stored state 'x' is of i32"},
        {HAWSER_I64, "add", add_one, "'x' is of i64, which function 'add' cannot change without a risk of wrapping around"},
        {HAWSER_I64, "average", add_one, "'x' is of i64, which function 'average' cannot change"},
        {HAWSER_I64, NULL, wrong_wait, "a pointer to a double, but the numbers of state 'x' are of i64"},
        {HAWSER_F32, NULL, wrong_wait, "a pointer to a double, but the numbers of state 'x' are of f32"},
        {HAWSER_F32, NULL, bad_share, "stored state 'x', block 0: number 1 became inf"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        hawser_run *run = NULL;
        hawser_error error = {0};
        test_job test = OPEN_JOB("workers", "2", "threads", "1", "timeout", "60");
        hawser_program *p = hawser_program_new("refused", NULL);
        hawser_state *x = HAWSER_STATE(p, "x", HAWSER_STORED, .type = rows[k].type, .rows = 8, .function = rows[k].function);
        hawser_operator *loop = hawser_loop(hawser_root(p), "loop", (hawser_until){.clocks = 2}, hawser_bsp());
        (void)HAWSER_UNIT(loop, "unit", rows[k].unit, .updates = {x});
        if (hawser_run_program(test.job, p, &run, &error) == HAWSER_OK || strstr(error.text, rows[k].words) == NULL)
            fail_msg("row %zu: '%s' does not say '%s'", k, error.text, rows[k].words);
        hawser_run_free(run);
        hawser_program_free(p);
        close_job(test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_of_one_thread),
        cmocka_unit_test(test_delays),
        cmocka_unit_test(test_increments),
        cmocka_unit_test(test_ends_as_bsp),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_reads_before_an_update),
        cmocka_unit_test(memory_of_chunks_is_that_of_a_few),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_refused_while_running),
        cmocka_unit_test(test_refused_before),
        cmocka_unit_test(test_abandoned_run_is_read_without_waiting),
        cmocka_unit_test(stored_states_keep_their_type),
        cmocka_unit_test(stored_types_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
