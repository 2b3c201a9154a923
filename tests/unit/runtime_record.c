/*
 * Random programs that are thrown away and go on from a checkpoint. Checkpoints are taken at drawn clocks, and the run has
 * the bits of an undisturbed one. Another run begins from the bytes of one of them, with other threads, nodes or topology,
 * and has these bits, too. Under ssp and tap, where bits differ from run to run, no change of a unit is lost or made twice.
 * The histories of runs that take checkpoints and of those that go on from them break no rule.
 *
 * HAWSER_TEST_SEED=N tries one seed alone, and HAWSER_TEST_LONG=1 twenty times as many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "directory.h"
#include "hawser/record.h"
#include "history_memory.h"
#include "memory_checkpointer.h"
#include "programs_seeds.h"

/* ---------------------------------------------------------------------------------------------- fields of records ---- */

enum { CALLS_MOST = 200, WORKS_MOST = 700 };

/* Calls of hawser_record_bytes and hawser_record_array that read a checkpoint, by their return addresses. */
static struct {
    pthread_mutex_t lock;
    bool seen; /* calls are noted */
    size_t work;
    const void *calls[CALLS_MOST];
    bool in[CALLS_MOST][WORKS_MOST]; /* by work: whether it makes the call */
    size_t count;
    const void *left_out; /* the call that reads nothing; NULL: each reads */
    uint64_t bytes;       /* that the blocks of an undisturbed run have sent */
} fields = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void see(const hawser_record *record, const void *at)
{
    size_t k = 0;
    if (!hawser_record_reads(record) || !fields.seen)
        return;
    pthread_mutex_lock(&fields.lock);
    while (k < fields.count && fields.calls[k] != at)
        k++;
    if (k == CALLS_MOST)
        abort();
    fields.count += k == fields.count;
    fields.calls[k] = at;
    fields.in[k][fields.work] = true;
    pthread_mutex_unlock(&fields.lock);
}

void __real_hawser_record_bytes(hawser_record *record, void *value, size_t size);
void __real_hawser_record_array(hawser_record *record, void **array, size_t size, size_t count, size_t capacity);
void __wrap_hawser_record_bytes(hawser_record *record, void *value, size_t size);
void __wrap_hawser_record_array(hawser_record *record, void **array, size_t size, size_t count, size_t capacity);

/* A field that is left out keeps what its owner made it. */
void __wrap_hawser_record_bytes(hawser_record *record, void *value, size_t size)
{
    const void *at = __builtin_return_address(0);
    see(record, at);
    void *before = hawser_record_reads(record) && at == fields.left_out ? malloc(size + 1) : NULL;
    if (before != NULL && size > 0)
        memcpy(before, value, size);
    __real_hawser_record_bytes(record, value, size);
    if (before != NULL && size > 0)
        memcpy(value, before, size);
    free(before);
}

void __wrap_hawser_record_array(hawser_record *record, void **array, size_t size, size_t count, size_t capacity)
{
    const void *at = __builtin_return_address(0);
    void *none = NULL;
    bool out = hawser_record_reads(record) && at == fields.left_out;
    see(record, at);
    __real_hawser_record_array(record, out ? &none : array, size, count, capacity);
    free(none);
}

/* ------------------------------------------------------------------------------------------------- random programs ---- */

/* How a program is run. */
typedef struct manner {
    memory_checkpointer *checkpoints; /* NULL: none are taken */
    const char *threads;
    uint64_t schedule; /* of fibers; 0: threads */
    const char *filter, *quota;
    const char *name;
    double (*made)[STATES][SIZE]; /* what units change is added up; NULL: it is not */
    bool recorded;                /* in a history, which is checked */
} manner;

/* Checks the history of a run, which has been read. */
static void judge(drawn *d, const manner *how, hw_history *history)
{
    hw_verdict verdict = {0};
    hawser_error error = {0};
    hawser_status status = hw_history_whole(history, &error);
    HAWSER_THEN(status, hw_history_check(history, &verdict, &error));
    if (status == HAWSER_OK && verdict.broken)
        hw_verdict_print(&verdict, history, stderr);
    if (status != HAWSER_OK || verdict.broken)
        fail_drawn(d, how->name, "%s", status != HAWSER_OK ? error.text : verdict.text);
    hw_history_free(history);
}

/* Checks what the nodes of a run have recorded in `path`, `path`.1 and so on. */
static void judge_nodes(drawn *d, const manner *how, const char *path, uint32_t nodes)
{
    hw_history history = {0};
    char other[80];
    hawser_error error = {0};
    for (uint32_t node = 0; node < nodes; node++) {
        (void)snprintf(other, sizeof other, node == 0 ? "%s" : "%s.%u", path, node);
        if (add_history(&history, other, &error) != HAWSER_OK)
            fail_drawn(d, how->name, "%s", error.text);
    }
    judge(d, how, &history);
}

/* Runs a program on this node. Returns false if it is refused. */
static bool run_here(drawn *d, const manner *how, drawn_values *got)
{
    char workers[12];
    hawser_error error = {0};
    (void)snprintf(workers, sizeof workers, "%u", d->blocks);
    const char *pairs[20] = {"workers", workers, "check", "yes", "timeout", fields.left_out == NULL ? "60" : "1"};
    size_t count = 6;
    char path[40];
    if (how->recorded)
        (void)history_file(path, sizeof path);
    const char *const more[][2] = {{"threads", how->threads},
                                   {"filter", how->filter},
                                   {"quota", how->quota},
                                   {"record-history", how->recorded ? path : NULL}};
    for (size_t i = 0; i < 4; i++)
        if (more[i][1] != NULL) {
            pairs[count++] = more[i][0];
            pairs[count++] = more[i][1];
        }
    test_job test = open_job(pairs);
    if (how->schedule > 0)
        hw_job_use_fibers(test.job, how->schedule);
    test.job->checkpointer = how->checkpoints != NULL ? &how->checkpoints->own : NULL;
    if (how->made != NULL)
        memset(how->made, 0, BLOCKS * sizeof *how->made);
    hawser_status status = run_drawn(test.job, d, how->made, got, &error);
    close_job(test);
    if (status != HAWSER_OK && refusals_of(d, 1) == 0 && fields.left_out == NULL)
        fail_drawn(d, how->name, "%s", error.text);
    if (status == HAWSER_OK && how->recorded)
        judge_nodes(d, how, path, 1);
    return status == HAWSER_OK;
}

static bool has_loop(const drawn *d)
{
    for (uint32_t i = 0; i < d->operators; i++)
        if (d->op[i].kind == LOOP)
            return true;
    return false;
}

/* Returns whether a filter of the job would have something to hold. */
static bool sends_deltas(const drawn *d)
{
    bool sends = false;
    for (uint32_t s = 0; s < d->states; s++)
        for (uint32_t u = 0; u < d->units; u++)
            sends |= d->state[s].kind == REPLICATED && d->unit[u].updates[s];
    return sends && d->blocks > 1;
}

/* A drawn program, with a filter for what it sends, or without. */
static drawn draw_one(uint64_t seed, manner *how)
{
    static const char *const filters[] = {"random", "round-robin", "absolute", "fifo"};
    static const char *const quotas[] = {"12", "24", "40"};
    bool held = seed % 4 == 0;
    drawn d = draw(seed, (choices){.flat = seed % 3 == 0, .rounds = held, .files = seed % 16 == 1});
    if (d.source >= SVMLIGHT)
        write_file(&d);
    *how = (manner){.schedule = seed, .name = "undisturbed"};
    d.filtered = held && sends_deltas(&d);
    if (d.filtered) {
        how->filter = filters[seed / 4 % 4];
        how->quota = quotas[seed / 16 % 3];
    }
    return d;
}

/* Where runs went on. */
typedef struct counts {
    uint64_t ran, refused, went_on, within, held, ended;
} counts;

static void throw_away(uint64_t seed, counts *count)
{
    static drawn_values wanted, got;
    static memory_checkpointer kept;
    manner how;
    drawn d = draw_one(seed, &how);
    if (!has_loop(&d) || !run_here(&d, &how, &wanted))
        return;
    if (!d.filtered && seed % 4 != 0) {
        drawn_values known = oracle(&d);
        compare(&d, &known, &wanted, how.name);
    }
    memory_open(&kept, 1 + seed % 2, 1 + seed / 2 % 8, seed);
    kept.ends = seed % 5 == 3;
    how.checkpoints = &kept;
    how.recorded = true;
    how.name = "with checkpoints";
    if (seed % 5 == 0) {
        how.schedule = 0;
        how.threads = "2";
    }
    bool ran = run_here(&d, &how, &got);
    const memory_checkpoint *from = &kept.kept[1];
    count->ran += ran;
    count->refused += !ran;
    if (ran)
        compare(&d, &wanted, &got, how.name);
    if (from->position.bytes != NULL) {
        count->went_on++;
        count->within += from->clock > 0 && !kept.ends;
        count->held += d.filtered && from->clock > 0;
        count->ended += kept.ends;
        memory_again(&kept, 1 + seed % 3, seed % 2 * 3);
        how.name = "from a checkpoint";
        how.schedule = seed % 7 == 0 ? 0 : seed + 1;
        how.threads = seed % 7 == 0 ? "4" : NULL;
        (void)run_here(&d, &how, &got);
        compare(&d, &wanted, &got, how.name);
    }
    memory_close(&kept);
}

static void a_run_goes_on_from_its_bytes_with_other_threads(void **state)
{
    (void)state;
    counts count = {0};
    uint64_t last = last_schedule(4000);
    for (uint64_t seed = first_seed(); seed <= last; seed++)
        throw_away(seed, &count);
    printf("%llu ran, %llu were refused, %llu went on, %llu within a loop, %llu with held entries, %llu from the end\n",
           (unsigned long long)count.ran, (unsigned long long)count.refused, (unsigned long long)count.went_on,
           (unsigned long long)count.within, (unsigned long long)count.held, (unsigned long long)count.ended);
    assert_true(seed_asked() > 0 ||
                (count.ran > last / 8 && count.went_on > count.ran * 3 / 4 && count.within > count.ran / 8 &&
                 count.held > last / 800 && count.ended > count.ran / 8));
}

/* Draws a program whose loops are late: blocks are at different clocks when a checkpoint is taken. */
static drawn draw_late(uint64_t seed, manner *how)
{
    static const char *const filters[] = {"random", "round-robin", "absolute", "fifo"};
    const hawser_sync syncs[] = {hawser_ssp(1 + seed / 3 % 2), hawser_tap(), hawser_ssp(3)};
    bool held = seed % 3 == 0;
    drawn d = draw(seed, (choices){.sync = syncs[seed % 3],
                                   .plain = true,
                                   .whole = seed % 4 < 2,
                                   .flat = seed % 2 == 0,
                                   .nested = seed % 8 >= 4,
                                   .rounds = held,
                                   .stored = !held && seed % 2 == 1});
    for (uint32_t i = 0; i < d.operators; i++) /* long enough for a checkpoint before the last clock */
        d.op[i].clocks += d.op[i].kind == LOOP && shipped_around(&d, (int)i) < 0 ? 8 : 0;
    *how = (manner){.schedule = seed, .name = "late"};
    d.filtered = held && sends_deltas(&d);
    if (d.filtered) {
        how->filter = filters[seed / 3 % 4];
        how->quota = "24";
    }
    return d;
}

/* Throws a late run away, and goes on from its bytes. No change is lost or made twice: what units have changed is added up
 * in scratch, which is a part of the record. */
static void throw_late_away(uint64_t seed, counts *count)
{
    static drawn_values got;
    static memory_checkpointer kept;
    static double made[BLOCKS][STATES][SIZE];
    manner how;
    drawn d = draw_late(seed, &how);
    if (!has_loop(&d))
        return;
    memory_open(&kept, 1 + seed % 2, 1 + seed / 2 % 8, seed);
    kept.ends = seed % 5 == 3;
    how.checkpoints = &kept;
    how.recorded = true;
    how.made = made;
    if (seed % 5 == 0) {
        how.schedule = 0;
        how.threads = "3";
    }
    bool ran = run_here(&d, &how, &got);
    count->ran += ran;
    count->refused += !ran;
    if (ran)
        check_sums(&d, made, &got, how.name);
    const memory_checkpoint *from = &kept.kept[1];
    if (ran && from->position.bytes != NULL) {
        count->went_on++;
        count->within += from->clock > 0 && !kept.ends;
        count->held += d.filtered && from->clock > 0;
        count->ended += kept.ends;
        memory_again(&kept, 1 + seed % 3, seed % 2 * 3);
        how.name = "late, from a checkpoint";
        how.schedule = seed % 7 == 0 ? 0 : seed + 1;
        how.threads = seed % 7 == 0 ? "4" : NULL;
        (void)run_here(&d, &how, &got);
        check_sums(&d, made, &got, how.name);
    }
    memory_close(&kept);
}

static void late_runs_lose_and_double_nothing(void **state)
{
    (void)state;
    counts count = {0};
    uint64_t last = last_schedule(2000);
    for (uint64_t seed = first_seed(); seed <= last; seed++)
        throw_late_away(seed, &count);
    printf("%llu ran, %llu were refused, %llu went on, %llu within a loop, %llu with held entries, %llu from the end\n",
           (unsigned long long)count.ran, (unsigned long long)count.refused, (unsigned long long)count.went_on,
           (unsigned long long)count.within, (unsigned long long)count.held, (unsigned long long)count.ended);
    assert_true(seed_asked() > 0 ||
                (count.ran > last / 8 && count.went_on > count.ran * 3 / 4 && count.within > count.ran / 8 &&
                 count.held > last / 400 && count.ended > count.ran / 8));
}

/* What nodes run together. They are threads of this process, so they share the checkpoints. */
typedef struct everywhere {
    drawn d;
    memory_checkpointer *checkpoints;
    double (*made)[STATES][SIZE];
    drawn_values got[NODES_MOST];
} everywhere;

static void run_on_node(test_node *node)
{
    everywhere *all = node->user;
    drawn d = all->d; /* the program's pointer is each node's own */
    node->job->checkpointer = &all->checkpoints->own;
    node->status = run_drawn(node->job, &d, all->made, &all->got[node->node], &node->error);
}

/* Runs a program on several nodes. Returns false if it was refused, by all of them. */
static bool run_there(everywhere *all, uint32_t count, const char *topology, const manner *how)
{
    test_node nodes[NODES_MOST];
    char workers[12];
    (void)snprintf(workers, sizeof workers, "%u", all->d.blocks);
    const char *pairs[] = {"workers",        workers, "topology", topology, "check", "yes", "timeout", "60",
                           "record-history", "h",     NULL,       NULL,     NULL,    NULL,  NULL};
    if (how->filter != NULL) {
        pairs[10] = "filter";
        pairs[11] = how->filter;
        pairs[12] = "quota";
        pairs[13] = how->quota;
    }
    all->checkpoints = how->checkpoints;
    all->made = how->made;
    if (how->made != NULL)
        memset(how->made, 0, BLOCKS * sizeof *how->made);
    run_nodes(nodes, count, pairs, run_on_node, all);
    if (nodes[0].status != HAWSER_OK && refusals_of(&all->d, count) == 0)
        fail_drawn(&all->d, how->name, "%s", nodes[0].error.text);
    if (nodes[0].status == HAWSER_OK)
        judge_nodes(&all->d, how, "h", count);
    return nodes[0].status == HAWSER_OK;
}

/* Nodes and threads write what the other reads. Returns whether a run went on. */
static bool change_nodes(uint64_t seed)
{
    static drawn_values wanted, got;
    static everywhere all;
    static memory_checkpointer kept;
    manner how;
    all.d = draw_one(seed, &how);
    uint32_t count = all.d.blocks < 3 ? all.d.blocks : 2 + (uint32_t)(seed % 2);
    if (count == 1 || !has_loop(&all.d) || refusals_of(&all.d, count) != 0 || !run_here(&all.d, &how, &wanted))
        return false;
    memory_open(&kept, 1, 2 + seed / 2 % 8, seed);
    kept.ends = seed % 5 == 3;
    how.checkpoints = &kept;
    how.name = topologies[seed % TOPOLOGIES];
    bool ran = seed % 2 == 0 ? run_here(&all.d, &how, &got) : run_there(&all, count, how.name, &how);
    bool went_on = ran && kept.kept[1].position.bytes != NULL;
    if (went_on) {
        memory_again(&kept, 2, 3);
        (void)run_there(&all, seed % 4 == 1 ? 2 : count, topologies[(seed + 1) % TOPOLOGIES], &how);
        compare(&all.d, &wanted, &all.got[0], how.name);
        compare(&all.d, &wanted, &all.got[1], how.name);
    }
    memory_close(&kept);
    return went_on;
}

static void a_run_goes_on_from_its_bytes_on_other_nodes(void **state)
{
    (void)state;
    uint64_t went_on = 0, last = last_seed(300);
    for (uint64_t seed = first_seed(); seed <= last; seed++)
        went_on += change_nodes(seed);
    printf("%llu went on\n", (unsigned long long)went_on);
    assert_true(seed_asked() > 0 || went_on > last / 40);
}

/* The same of late runs, whose updates are all there. */
static bool change_nodes_late(uint64_t seed)
{
    static drawn_values got;
    static everywhere all;
    static memory_checkpointer kept;
    static double made[BLOCKS][STATES][SIZE];
    manner how;
    all.d = draw_late(seed, &how);
    uint32_t count = all.d.blocks < 3 ? all.d.blocks : 2 + (uint32_t)(seed % 2);
    if (count == 1 || !has_loop(&all.d) || refusals_of(&all.d, count) != 0)
        return false;
    memory_open(&kept, 1, 2 + seed / 2 % 8, seed);
    kept.ends = seed % 5 == 3;
    how.checkpoints = &kept;
    how.recorded = true;
    how.made = made;
    how.name = topologies[seed % TOPOLOGIES];
    bool here = seed % 4 == 0, ran = here ? run_here(&all.d, &how, &got) : run_there(&all, count, how.name, &how);
    check_sums(&all.d, made, here ? &got : &all.got[1], how.name);
    bool went_on = ran && kept.kept[1].position.bytes != NULL;
    if (went_on) {
        memory_again(&kept, 2, 3);
        (void)run_there(&all, seed % 4 == 1 ? 2 : count, topologies[(seed + 1) % TOPOLOGIES], &how);
        for (uint32_t n = 0; n < 2; n++)
            check_sums(&all.d, made, &all.got[n], how.name);
    }
    memory_close(&kept);
    return went_on;
}

static void late_runs_go_on_on_other_nodes(void **state)
{
    (void)state;
    uint64_t went_on = 0, last = last_seed(300);
    for (uint64_t seed = first_seed(); seed <= last; seed++)
        went_on += change_nodes_late(seed);
    printf("%llu went on\n", (unsigned long long)went_on);
    assert_true(seed_asked() > 0 || went_on > last / 10);
}

/* ----------------------------------------------------------------------------------------- data that units change ---- */

enum { LONG = 7, WIDE = 5, CHANGES = 4 };
typedef struct changing {
    hawser_layout layout;
    bool replaces; /* the unit gives each block other data; else it writes into them */
} changing;

static size_t lines_of(const hawser_matrix *A)
{
    return A->layout == HAWSER_DENSE_ROWS ? A->rows : A->cols;
}

/* Writes into the block's lines, or replaces them by others, as the loop before has left the sums. */
static hawser_status transform(hawser_context *context)
{
    static float wide[4][2 * LONG];
    const changing *how = hawser_user(context);
    const hawser_matrix *A;
    double *values;
    HAWSER_TRY(hawser_read(context, "data", &A));
    HAWSER_READ(context, double, sums);
    if (how->replaces) {
        float *own = wide[hawser_block(context)];
        size_t lines = lines_of(A);
        for (size_t k = 0; k < 2 * lines; k++)
            own[k] = (float)(sums[0] + 100.0 * (double)A->first + (double)k);
        hawser_matrix part = {.rows = 2, .cols = lines, .stored = 2 * lines, .type = HAWSER_F32, .values = own, .stride = 2};
        if (A->layout == HAWSER_DENSE_ROWS) {
            part.layout = HAWSER_DENSE_ROWS;
            part.rows = lines;
            part.cols = 2;
        }
        return hawser_data_replace(context, "data", &part);
    }
    size_t count = A->offsets != NULL ? A->offsets[A->cols] - A->offsets[0] : lines_of(A) * A->stride;
    HAWSER_TRY(hawser_write(context, "data", &values));
    for (size_t k = 0; k < count; k += 3)
        values[k] = 0.5 * values[k] + sums[0];
    return HAWSER_OK;
}

/* Adds up the numbers of the block. */
static hawser_status add_up(hawser_context *context)
{
    const hawser_matrix *A;
    HAWSER_TRY(hawser_read(context, "data", &A));
    HAWSER_WRITE(context, double, sums);
    for (size_t j = 0; j < lines_of(A); j++)
        sums[1 + (A->first + j) % 3] += line_of(A, j, A->layout == HAWSER_DENSE_ROWS) * (double)(1 + hawser_clock(context));
    sums[0] += 1;
    return HAWSER_OK;
}

static bool run_changing(const changing *how, memory_checkpointer *checkpoints, const char *threads, double *out)
{
    double numbers[LONG * WIDE];
    uint64_t offsets[LONG + 1];
    uint32_t indices[LONG * WIDE];
    const bool by_row = how->layout == HAWSER_DENSE_ROWS;
    hawser_error error = {0};
    for (uint32_t k = 0; k < LONG * WIDE; k++) {
        numbers[k] = 1.0 + k;
        indices[k] = k % WIDE;
    }
    for (size_t j = 0; j <= LONG; j++)
        offsets[j] = j * WIDE;
    hawser_matrix A = {.rows = WIDE, .cols = LONG, .stored = LONG * WIDE, .layout = how->layout, .values = numbers};
    A.stride = how->layout == HAWSER_CSC ? 0 : WIDE;
    A.offsets = how->layout == HAWSER_CSC ? offsets : NULL;
    A.indices = how->layout == HAWSER_CSC ? indices : NULL;
    if (by_row) {
        A.rows = LONG;
        A.cols = WIDE;
    }
    changing own = *how;
    test_job test = OPEN_JOB("workers", "3", "threads", threads, "check", "yes", "timeout", "20");
    test.job->checkpointer = checkpoints != NULL ? &checkpoints->own : NULL;
    hawser_program *program = hawser_program_new("changing", &own);
    hawser_state *data =
        HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = &A, .split = by_row ? HAWSER_BY_ROW : HAWSER_BY_COLUMN);
    hawser_state *sums = HAWSER_STATE(program, "sums", HAWSER_REPLICATED, .rows = 4);
    const hawser_until until = {.clocks = CHANGES, .metric = "none"};
    HAWSER_UNIT(hawser_loop(hawser_root(program), "before", until, hawser_bsp()), "first", add_up, .reads = {data},
                .updates = {sums});
    HAWSER_UNIT(hawser_root(program), "transform", transform, .reads = {sums}, .updates = {data});
    HAWSER_UNIT(hawser_loop(hawser_root(program), "after", until, hawser_bsp()), "second", add_up, .reads = {data},
                .updates = {sums});
    hawser_metric_declare(program, "none", HAWSER_SUM);
    hawser_run *run = NULL;
    bool ran = hawser_run_program(test.job, program, &run, &error) == HAWSER_OK;
    if (!ran && fields.left_out == NULL)
        fail_msg("%s", error.text);
    if (ran)
        memcpy(out, RESULT(double, run, "sums", NULL), 4 * sizeof *out);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    return ran;
}

static const changing ways[] = {{HAWSER_DENSE, false}, {HAWSER_DENSE, true},       {HAWSER_CSC, false},
                                {HAWSER_CSC, true},    {HAWSER_DENSE_ROWS, false}, {HAWSER_DENSE_ROWS, true}};
enum { CHANGING_WORKS = sizeof ways / sizeof *ways };

static void changed_data_go_on(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    for (size_t w = 0; w < CHANGING_WORKS; w++)
        for (uint64_t stop = 1; stop <= 2 * CHANGES; stop++) {
            double wanted[4], got[4];
            (void)run_changing(&ways[w], NULL, "1", wanted);
            memory_open(&kept, 1, stop, w);
            (void)run_changing(&ways[w], &kept, "3", got);
            assert_memory_equal(got, wanted, sizeof wanted);
            assert_int_equal(kept.complete, stop);
            memory_again(&kept, 1, 0);
            (void)run_changing(&ways[w], &kept, "2", got);
            assert_memory_equal(got, wanted, sizeof wanted);
            memory_close(&kept);
        }
}

/* ---------------------------------------------------------------------------------------- gains that tests change ---- */

enum { GAIN_CLOCKS = 8 };

static hawser_status step_with_gain(hawser_context *context)
{
    HAWSER_WRITE(context, double, w);
    HAWSER_WRITE(context, double, few);
    for (size_t i = 0; i < 4; i++)
        w[i] = few[i] = 0.7 * w[i] - 0.2 * few[i] + 1.0 / (double)(1 + i + hawser_block(context));
    return HAWSER_OK;
}

/* Another gain before almost each clock. */
static bool change_gain(hawser_progress *progress, void *user)
{
    (void)user;
    uint64_t clock = hawser_progress_clock(progress);
    hawser_progress_gain(progress, "w", 1 + (double)(clock % 3));
    hawser_progress_gain(progress, "few", 2 - (double)(clock % 2) / 2);
    return clock >= GAIN_CLOCKS;
}

static void run_gains(memory_checkpointer *checkpoints, const char *threads, double *out)
{
    hawser_error error = {0};
    test_job test = OPEN_JOB("workers", "3", "threads", threads, "timeout", "20");
    test.job->checkpointer = checkpoints != NULL ? &checkpoints->own : NULL;
    hawser_program *program = hawser_program_new("gains", NULL);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = 4);
    hawser_state *few = HAWSER_STATE(program, "few", HAWSER_REPLICATED, .rows = 4, .filter = "absolute", .quota = 8);
    const hawser_until until = {.test = change_gain};
    HAWSER_UNIT(hawser_loop(hawser_root(program), "steps", until, hawser_bsp()), "step", step_with_gain,
                .updates = {w, few});
    hawser_run *run = NULL;
    if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    memcpy(out, RESULT(double, run, "w", NULL), 4 * sizeof *out);
    memcpy(out + 4, RESULT(double, run, "few", NULL), 4 * sizeof *out);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
}

/* A checkpoint before a clock does not keep that clock's gain from it. */
static void gains_take_effect_at_the_same_clock(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    double wanted[8], got[8];
    run_gains(NULL, "1", wanted);
    for (uint64_t stop = 1; stop <= GAIN_CLOCKS; stop++) {
        memory_open(&kept, 1, stop, stop);
        run_gains(&kept, "3", got);
        assert_memory_equal(got, wanted, sizeof wanted);
        assert_int_equal(kept.complete, stop);
        memory_again(&kept, 1, 0);
        run_gains(&kept, "2", got);
        assert_memory_equal(got, wanted, sizeof wanted);
        memory_close(&kept);
    }
}

/* -------------------------------------------------------------------------------------------- blocks of another cut ---- */

/* Counts clocks in the numbers of the block's columns. */
static hawser_status count_clocks(hawser_context *context)
{
    size_t first = 0, count = hawser_part(context, "own", &first);
    HAWSER_WRITE(context, double, own);
    for (size_t j = 0; j < count; j++)
        own[j] += (double)(first + j + hawser_clock(context));
    return HAWSER_OK;
}

static hawser_status run_cut(const double *costs, memory_checkpointer *checkpoints, hawser_error *error)
{
    double numbers[LONG * WIDE] = {0};
    const hawser_matrix A = {.rows = WIDE, .cols = LONG, .stored = LONG * WIDE, .values = numbers, .stride = WIDE};
    test_job test = OPEN_JOB("workers", "3", "threads", "2", "timeout", "20");
    test.job->checkpointer = &checkpoints->own;
    hawser_program *program = hawser_program_new("cut", NULL);
    hawser_state *data = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = &A, .split = HAWSER_BY_COLUMN, .costs = costs);
    hawser_state *own = HAWSER_STATE(program, "own", HAWSER_LOCAL, .along = data);
    HAWSER_UNIT(hawser_loop(hawser_root(program), "rounds", (hawser_until){.clocks = 3}, hawser_bsp()), "count",
                count_clocks, .reads = {data}, .updates = {own});
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(test.job, program, &run, error);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    return status;
}

/* Records of blocks are of certain columns. Blocks with other columns would read numbers as flags. */
static void record_of_another_cut_is_refused_by_name(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    const double even[LONG] = {0}, heavy[LONG] = {900};
    for (uint64_t stop = 1; stop <= 3; stop++) {
        hawser_error error = {0};
        memory_open(&kept, 1, stop, 0);
        assert_int_equal(run_cut(even, &kept, &error), HAWSER_OK);
        memory_again(&kept, 1, 0);
        assert_int_equal(run_cut(heavy, &kept, &error), HAWSER_BAD_INPUT);
        assert_non_null(strstr(error.text, "the data were cut in another way"));
        memory_again(&kept, 1, 0);
        assert_int_equal(run_cut(even, &kept, &error), HAWSER_OK);
        memory_close(&kept);
    }
}

/* ------------------------------------------------------------------------------------ what servers and blocks have ---- */

enum { STORED_NUMBERS = 40 };

/* Pushes what depends on what it reads. Its function remembers the squares of all pushes. */
static hawser_status descend(hawser_context *context)
{
    uint64_t keys[STORED_NUMBERS];
    double changes[STORED_NUMBERS];
    const double *values;
    for (uint64_t i = 0; i < STORED_NUMBERS; i++)
        keys[i] = i;
    HAWSER_TRY(hawser_prefetch(context, "w", NULL, 0, STORED_NUMBERS));
    HAWSER_TRY(hawser_prefetch_wait(context, "w", &values));
    for (size_t i = 0; i < STORED_NUMBERS; i++)
        changes[i] = 0.3 * values[i] - (double)i + (double)(hawser_clock(context) % 3);
    return hawser_inc(context, "w", keys, changes, STORED_NUMBERS);
}

/* Takes the numbers for which the clock before has asked, and adds them up. */
static hawser_status read_ahead(hawser_context *context)
{
    uint64_t clock = hawser_clock(context);
    const double *values;
    HAWSER_WRITE(context, double, sums);
    if (clock > 0) {
        HAWSER_TRY(hawser_prefetch_wait(context, "w", &values));
        for (size_t i = 0; i < 3; i++)
            sums[i] += values[i];
    }
    return hawser_prefetch(context, "w", NULL, (clock + 1) % 7 * 5, 3 + clock % 2);
}

/* Runs a program with a stored state, and stores its numbers. */
static bool run_stored(bool ahead, memory_checkpointer *checkpoints, double *out)
{
    static const double rates[] = {0.5, 1e-6};
    double first[STORED_NUMBERS];
    hawser_error error = {0};
    for (size_t i = 0; i < STORED_NUMBERS; i++)
        first[i] = 1.0 + (double)(i * i);
    test_job test = OPEN_JOB("workers", ahead ? "3" : "1", "check", "yes", "timeout", "20");
    test.job->checkpointer = checkpoints != NULL ? &checkpoints->own : NULL;
    hawser_program *program = hawser_program_new("stored", NULL);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_STORED, .rows = STORED_NUMBERS, .initial = ahead ? first : NULL,
                                   .function = ahead ? "add" : "adagrad", .parameters = ahead ? NULL : rates);
    hawser_state *sums = HAWSER_STATE(program, "sums", HAWSER_REPLICATED, .rows = 3);
    hawser_operator *loop =
        hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 12}, ahead ? hawser_ssp(1) : hawser_bsp());
    HAWSER_UNIT(loop, "unit", ahead ? read_ahead : descend, .reads = {w}, .updates = {ahead ? sums : w});
    hawser_run *run = NULL;
    bool ran = hawser_run_program(test.job, program, &run, &error) == HAWSER_OK;
    if (!ran && fields.left_out == NULL)
        fail_msg("%s", error.text);
    if (ran)
        memcpy(out, RESULT(double, run, ahead ? "sums" : "w", NULL), (ahead ? 3 : STORED_NUMBERS) * sizeof *out);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    return ran;
}

/* The memory of a server's function, and reads that a block has begun in a clock before, belong to the record. */
static void what_servers_remember_and_blocks_have_asked_for_goes_on(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    uint64_t within = 0;
    for (int ahead = 0; ahead < 2; ahead++)
        for (uint64_t stop = 1; stop <= 6; stop++) {
            double wanted[STORED_NUMBERS] = {0}, got[STORED_NUMBERS] = {0};
            (void)run_stored(ahead, NULL, wanted);
            memory_open(&kept, 1 + stop % 2, stop, stop);
            (void)run_stored(ahead, &kept, got);
            assert_memory_equal(got, wanted, sizeof wanted);
            within += kept.kept[1].clock > 0;
            memory_again(&kept, 1, 0);
            (void)run_stored(ahead, &kept, got);
            assert_memory_equal(got, wanted, sizeof wanted);
            memory_close(&kept);
        }
    assert_true(within > 0);
}

/* --------------------------------------------------------------------------- rests of rounding, and retired states ---- */

enum { TIED_NUMBERS = 6 };

/* A stage that moves the block's numbers, and what they add up to. */
static hawser_status move_tied(hawser_context *context)
{
    size_t first = 0, count = hawser_part(context, "own", &first);
    HAWSER_WRITE(context, double, own);
    HAWSER_WRITE(context, double, sum);
    for (size_t j = 0; j < count; j++) {
        double step = (1.0 - 0.3 * own[j] - 0.1 * sum[0]) / (double)(3 + first + j);
        own[j] += step;
        sum[0] += step;
    }
    return HAWSER_OK;
}

/* Adds numbers that half precision does not have, to each second number. Rests of the others wait for their next change. */
static hawser_status add_thirds(hawser_context *context)
{
    HAWSER_WRITE(context, double, rounded);
    for (size_t j = hawser_clock(context) % 2; j < TIED_NUMBERS; j += 2)
        rounded[j] = 0.7 * rounded[j] + 1.0 / (double)(3 * (1 + j + hawser_block(context)) + hawser_clock(context));
    return HAWSER_OK;
}

/* Runs a program whose first loop has two stages that change a tied local state. The second loop uses neither that nor what
 * it is tied to, so most of it is freed there. What rounding leaves in that loop is sent later. */
static bool run_tied(memory_checkpointer *checkpoints, const char *threads, double *out)
{
    double numbers[TIED_NUMBERS] = {0}, first[TIED_NUMBERS];
    for (size_t j = 0; j < TIED_NUMBERS; j++)
        first[j] = 0.5 + (double)j;
    const hawser_matrix A = {.rows = 1, .cols = TIED_NUMBERS, .stored = TIED_NUMBERS, .values = numbers, .stride = 1};
    const hawser_until until = {.clocks = CHANGES, .metric = "none"};
    hawser_error error = {0};
    test_job test = OPEN_JOB("workers", "3", "threads", threads, "check", "yes", "timeout", "20");
    test.job->checkpointer = checkpoints != NULL ? &checkpoints->own : NULL;
    hawser_program *program = hawser_program_new("tied", NULL);
    hawser_state *data = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = &A, .split = HAWSER_BY_COLUMN);
    hawser_state *sum = HAWSER_STATE(program, "sum", HAWSER_REPLICATED, .rows = 1);
    hawser_state *own = HAWSER_STATE(program, "own", HAWSER_LOCAL, .along = data, .tie = sum, .initial = first);
    hawser_state *rounded = HAWSER_STATE(program, "rounded", HAWSER_REPLICATED, .rows = TIED_NUMBERS, .form = HAWSER_AS_F16);
    hawser_metric_declare(program, "none", HAWSER_SUM); /* a loop with a metric may be left at each clock */
    hawser_operator *before = hawser_loop(hawser_root(program), "before", until, hawser_bsp());
    HAWSER_UNIT(before, "one", move_tied, .updates = {sum, own});
    HAWSER_UNIT(before, "two", move_tied, .updates = {sum, own});
    HAWSER_UNIT(hawser_loop(hawser_root(program), "after", until, hawser_bsp()), "three", add_thirds, .updates = {rounded});
    hawser_run *run = NULL;
    bool ran = hawser_run_program(test.job, program, &run, &error) == HAWSER_OK;
    if (!ran && fields.left_out == NULL)
        fail_msg("%s", error.text);
    if (ran) {
        memcpy(out, RESULT(double, run, "own", NULL), TIED_NUMBERS * sizeof *out);
        memcpy(out + TIED_NUMBERS, RESULT(double, run, "rounded", NULL), TIED_NUMBERS * sizeof *out);
    }
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    return ran;
}

static void rests_of_rounding_and_retired_states_go_on(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    double wanted[2 * TIED_NUMBERS], got[2 * TIED_NUMBERS];
    (void)run_tied(NULL, "1", wanted);
    for (uint64_t stop = 1; stop <= 2 * CHANGES; stop++) {
        memory_open(&kept, 1, stop, stop);
        (void)run_tied(&kept, "3", got);
        assert_memory_equal(got, wanted, sizeof wanted);
        assert_int_equal(kept.complete, stop);
        memory_again(&kept, 1, 0);
        (void)run_tied(&kept, "2", got);
        assert_memory_equal(got, wanted, sizeof wanted);
        memory_close(&kept);
    }
}

/* ----------------------------------------------------------------------------------------- what a record must have ---- */

enum { DRAWN_WORKS = 600, STORED_WORKS = 2, WORKS = DRAWN_WORKS + CHANGING_WORKS + STORED_WORKS + 1 };

/* Runs a work, and returns a digest of what it leaves; 0: it fails, or there is nothing to run. */
static uint64_t run_work(size_t work, memory_checkpointer *checkpoints)
{
    static drawn_values values;
    double numbers[STORED_NUMBERS] = {0};
    fields.work = work;
    memset(&values, 0, sizeof values);
    if (work == WORKS - 1)
        return run_tied(checkpoints, "1", numbers) ? hw_hash(numbers, sizeof numbers, 1) : 0;
    if (work >= DRAWN_WORKS + CHANGING_WORKS)
        return run_stored(work % 2 == 0, checkpoints, numbers) ? hw_hash(numbers, sizeof numbers, 1) : 0;
    if (work >= DRAWN_WORKS)
        return run_changing(&ways[work - DRAWN_WORKS], checkpoints, "1", numbers) ? hw_hash(numbers, sizeof numbers, 1) : 0;
    manner how;
    drawn d = draw_one(work % 2 == 0 ? work + 1 : 4 * work, &how); /* more with filters */
    how.checkpoints = checkpoints;
    if (!has_loop(&d) || refusals_of(&d, 1) != 0 || !run_here(&d, &how, &values))
        return 0;
    bool whole = checkpoints == NULL || d.bytes >= fields.bytes; /* checkpoints add some */
    fields.bytes = checkpoints == NULL ? d.bytes : fields.bytes;
    return whole ? hw_hash(&values, sizeof values, d.clocks) : 0;
}

/* Returns whether some work that makes a call leaves something else, or fails, when the call reads nothing. */
static bool is_noticed(size_t call, memory_checkpointer *const *kept, const uint64_t *wanted, const uint64_t *bytes)
{
    int status = 0;
    (void)fflush(NULL);
    pid_t child = fork(); /* a count that is left out may end the process */
    assert_true(child >= 0);
    if (child > 0) {
        assert_int_equal(waitpid(child, &status, 0), child);
        return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    struct rlimit none = {0};
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)freopen("/dev/null", "w", stderr);
    fields.left_out = fields.calls[call];
    for (size_t work = WORKS; work-- > 0;) {
        if (!fields.in[call][work])
            continue;
        memory_again(kept[work], 1, 0);
        fields.bytes = bytes[work];
        if (run_work(work, kept[work]) != wanted[work])
            _exit(1);
    }
    _exit(0);
}

static void field_that_is_left_out_of_a_record_is_noticed(void **state)
{
    (void)state;
    extern const char __executable_start[];
    static memory_checkpointer *kept[WORKS];
    static uint64_t wanted[WORKS], bytes[WORKS];
    size_t unnoticed = 0;
    if (SANITIZED || seed_asked() > 0)
        skip();
    for (size_t work = 0; work < WORKS; work++) {
        kept[work] = calloc(1, sizeof *kept[work]);
        assert_non_null(kept[work]);
        wanted[work] = run_work(work, NULL);
        bytes[work] = fields.bytes;
        memory_open(kept[work], 1, work < DRAWN_WORKS ? 1 + work % 7 : 6, work);
        if (wanted[work] == 0 || run_work(work, kept[work]) != wanted[work] || kept[work]->kept[1].position.bytes == NULL)
            continue;
        memory_again(kept[work], 1, 0);
        fields.seen = true;
        assert_true(run_work(work, kept[work]) == wanted[work]);
        fields.seen = false;
    }
    for (size_t call = 0; call < fields.count; call++)
        if (!is_noticed(call, kept, wanted, bytes)) {
            unnoticed++;
            print_error("nothing changes without the call before 0x%zx (addr2line -e says which)\n",
                        (size_t)((const char *)fields.calls[call] - __executable_start));
        }
    for (size_t work = 0; work < WORKS; work++) {
        memory_close(kept[work]);
        free(kept[work]);
    }
    print_message("%zu of %zu fields are noticed\n", fields.count - unnoticed, fields.count);
    assert_int_equal(unnoticed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_goes_on_from_its_bytes_with_other_threads, make_directory, remove_directory),
        cmocka_unit_test(late_runs_lose_and_double_nothing),
        cmocka_unit_test_setup_teardown(a_run_goes_on_from_its_bytes_on_other_nodes, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(late_runs_go_on_on_other_nodes, make_directory, remove_directory),
        cmocka_unit_test(changed_data_go_on),
        cmocka_unit_test(gains_take_effect_at_the_same_clock),
        cmocka_unit_test(record_of_another_cut_is_refused_by_name),
        cmocka_unit_test(what_servers_remember_and_blocks_have_asked_for_goes_on),
        cmocka_unit_test(rests_of_rounding_and_retired_states_go_on),
        cmocka_unit_test_setup_teardown(field_that_is_left_out_of_a_record_is_noticed, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
