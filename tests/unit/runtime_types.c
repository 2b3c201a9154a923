/*
 * States of f32, i64 and i32: the bits of an oracle in plain C for threads, nodes and topologies; exact sums under late
 * policies, filters and rounding; refusals by name. runtime_overflow.c has sums that do not fit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hawser/stored.h"
#include "history_memory.h"
#include "nodes.h"
#include "sanitized.h"

enum { SIZE = 1300, BLOCKS = 5, CLOCKS = 5 };

/* One draw: the program, and whether its numbers are such that no order of additions changes their sums. */
typedef struct drawn {
    uint64_t seed;
    uint32_t blocks;
    size_t size, step; /* every step-th entry changes */
    bool exact, begins, by_inc, yields;
    hawser_rule rule; /* of the f32 state */
    hawser_form form;
    hawser_sync sync;
} drawn;

typedef struct values {
    float f[SIZE];
    int64_t l[SIZE], o[SIZE];
    int32_t i[SIZE];
} values;

static uint64_t mixed(uint64_t seed, uint64_t block, uint64_t clock, uint64_t entry)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15 + block * 0xd1342543de82ef95 + clock * 0xbf58476d1ce4e5b9 + entry;
    x = (x ^ (x >> 31)) * 0x94d049bb133111eb;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9;
    return x ^ (x >> 32);
}

static drawn draw(uint64_t seed, bool exact)
{
    static const size_t sizes[] = {1, 6, 513, SIZE}, steps[] = {1, 1, 3, 97};
    drawn d = {.seed = seed, .exact = exact};
    d.blocks = 1 + (uint32_t)(mixed(seed, 0, 0, 1) % BLOCKS);
    d.size = sizes[mixed(seed, 0, 0, 2) % 4];
    d.step = steps[mixed(seed, 0, 0, 3) % 4];
    d.begins = mixed(seed, 0, 0, 4) % 2 == 0;
    d.by_inc = mixed(seed, 0, 0, 5) % 2 == 0;
    d.yields = exact && mixed(seed, 0, 0, 6) % 3 == 0;
    if (!exact && seed % 3 == 0)
        d.rule = (hawser_rule){.damping = 0.3, .gain = 1.7};
    return d;
}

/* Integers fill their type: sums of all changes just do not overflow. */
static int64_t long_change(const drawn *d, uint64_t block, uint64_t clock, uint64_t entry)
{
    return (int64_t)(mixed(d->seed, block, clock, entry) >> 5) - ((int64_t)1 << 58);
}

static int32_t int_change(const drawn *d, uint64_t block, uint64_t clock, uint64_t entry)
{
    return (int32_t)(mixed(d->seed, block, clock, entry) >> 37) - (1 << 26);
}

static float float_change(const drawn *d, uint64_t block, uint64_t clock, uint64_t entry)
{
    float whole = (float)((int)(mixed(d->seed, block, clock, entry) % 2001) - 1000);
    return d->exact ? whole : whole / 7 * (1 + 1e4F * (float)(entry % 3));
}

static hawser_status change(hawser_context *context, const drawn *d, uint64_t entry)
{
    uint64_t block = hawser_block(context), clock = hawser_clock(context);
    float of_f = float_change(d, block, clock, entry);
    int64_t of_l = long_change(d, block, clock, entry);
    int32_t of_i = int_change(d, block, clock, entry);
    if (d->by_inc) {
        HAWSER_TRY(hawser_inc(context, "f", &entry, &of_f, 1));
        HAWSER_TRY(hawser_inc(context, "l", &entry, &of_l, 1));
        return hawser_inc(context, "i", &entry, &of_i, 1);
    }
    HAWSER_WRITE(context, float, f);
    HAWSER_WRITE(context, int64_t, l);
    HAWSER_WRITE(context, int32_t, i);
    f[entry] += of_f;
    l[entry] += of_l;
    i[entry] += of_i;
    return HAWSER_OK;
}

static hawser_status work(hawser_context *context)
{
    const drawn *d = hawser_user(context);
    for (size_t e = hawser_clock(context) % d->step; e < d->size; e += d->step) {
        HAWSER_TRY(change(context, d, e));
        if (d->yields && e == d->size / 2)
            HAWSER_TRY(hawser_yield(context));
    }
    return HAWSER_OK;
}

/* One block writes this state, so its values are sent. */
static hawser_status keep(hawser_context *context)
{
    const drawn *d = hawser_user(context);
    HAWSER_READ(context, int64_t, l);
    HAWSER_WRITE(context, int64_t, o);
    for (size_t e = 0; e < d->size; e++)
        o[e] = l[e] ^ (int64_t)hawser_clock(context);
    return HAWSER_OK;
}

static void begin(const drawn *d, values *v)
{
    memset(v, 0, sizeof *v);
    for (size_t e = 0; d->begins && e < d->size; e++) {
        v->f[e] = d->exact ? (float)e : 0.1F * (float)e;
        v->l[e] = ((int64_t)1 << 53) + (int64_t)e;
        v->i[e] = -(int32_t)e;
    }
}

static hawser_status run_drawn(hawser_job *job, const drawn *d, values *out, hawser_error *error)
{
    values first;
    size_t n = d->size, count;
    hawser_run *run = NULL;
    begin(d, &first);
    hawser_program *program = hawser_program_new("types", (void *)d);
    hawser_state *f =
        HAWSER_STATE(program, "f", HAWSER_REPLICATED, .type = HAWSER_F32, .rows = n, .initial = d->begins ? first.f : NULL,
                     .damping = d->rule.damping, .gain = d->rule.gain, .form = d->form);
    hawser_state *l = HAWSER_STATE(program, "l", HAWSER_REPLICATED, .type = HAWSER_I64, .rows = 1, .cols = n,
                                   .by_column = true, .initial = d->begins ? first.l : NULL);
    hawser_state *i =
        HAWSER_STATE(program, "i", HAWSER_REPLICATED, .type = HAWSER_I32, .rows = n, .initial = d->begins ? first.i : NULL);
    hawser_state *o = HAWSER_STATE(program, "o", HAWSER_REPLICATED, .type = HAWSER_I64, .rows = n);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = CLOCKS}, d->sync);
    HAWSER_UNIT(loop, "work", work, .updates = {f, l, i});
    HAWSER_UNIT(d->exact ? hawser_root(program) : loop, "keep", keep, .one = true, .reads = {l}, .updates = {o});
    hawser_status status = hawser_run_program(job, program, &run, error);
    memset(out, 0, sizeof *out);
    if (status == HAWSER_OK) {
        memcpy(out->f, RESULT(float, run, "f", &count), n * sizeof *out->f);
        assert_int_equal(count, n);
        memcpy(out->l, RESULT(int64_t, run, "l", NULL), n * sizeof *out->l);
        memcpy(out->i, RESULT(int32_t, run, "i", NULL), n * sizeof *out->i);
        memcpy(out->o, RESULT(int64_t, run, "o", NULL), n * sizeof *out->o);
        assert_null(RESULT(double, run, "f", NULL));
        assert_null(RESULT(int32_t, run, "l", NULL));
    }
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- oracle ---- */

static float tree(const float *parts, uint32_t count)
{
    uint32_t left = 1;
    if (count == 1)
        return parts[0];
    while (2 * left < count)
        left *= 2;
    return tree(parts, left) + tree(parts + left, count - left);
}

static float float_after(const drawn *d, float base, uint64_t clock, size_t e)
{
    float parts[BLOCKS], damping = d->rule.damping == 0 ? 1 : (float)d->rule.damping;
    float gain = d->rule.gain == 0 ? 1 : (float)d->rule.gain;
    if (d->blocks == 1)
        damping = 1; /* there is no sum to weigh */
    if (d->blocks == 1 && gain == 1)
        return base + float_change(d, 0, clock, e); /* the value itself is kept */
    for (uint32_t b = 0; b < d->blocks; b++) {
        float c = float_change(d, b, clock, e), cache = d->by_inc ? base + gain * c : base + c;
        parts[b] = (cache - base) / gain;
    }
    return base + damping * tree(parts, d->blocks);
}

static void oracle(const drawn *d, values *v)
{
    begin(d, v);
    for (uint64_t t = 0; t < CLOCKS; t++) {
        for (size_t e = t % d->step; e < d->size; e += d->step) {
            v->f[e] = float_after(d, v->f[e], t, e);
            for (uint32_t b = 0; b < d->blocks; b++) {
                v->l[e] += long_change(d, b, t, e);
                v->i[e] += int_change(d, b, t, e);
            }
        }
        for (size_t e = 0; e < d->size; e++)
            v->o[e] = v->l[e] ^ (int64_t)(d->exact ? 0 : t);
    }
}

static void compare(const drawn *d, const values *wanted, const values *got, const char *how)
{
    for (size_t e = 0; e < d->size; e++)
        if (memcmp(&wanted->f[e], &got->f[e], sizeof(float)) != 0 || wanted->l[e] != got->l[e] ||
            wanted->i[e] != got->i[e] || wanted->o[e] != got->o[e])
            fail_msg("seed %llu, %s, %u blocks, entry %zu of %zu: %a, %lld, %lld, %d in place of %a, %lld, %lld, %d",
                     (unsigned long long)d->seed, how, d->blocks, e, d->size, (double)got->f[e], (long long)got->l[e],
                     (long long)got->o[e], got->i[e], (double)wanted->f[e], (long long)wanted->l[e], (long long)wanted->o[e],
                     wanted->i[e]);
}

/* ------------------------------------------------------------------------------------------------------------ tests ---- */

static void threads_have_the_oracles_bits(void **state)
{
    (void)state;
    static const char *const threads[] = {"1", "2", "4"};
    for (uint64_t seed = 1; seed <= tried_of(120); seed++) {
        drawn d = draw(seed, false);
        values wanted, got;
        hawser_error error = {0};
        char workers[12];
        (void)snprintf(workers, sizeof workers, "%u", d.blocks);
        test_job test = OPEN_JOB("workers", workers, "threads", threads[seed % 3], "check", "yes", "timeout", "60");
        if (run_drawn(test.job, &d, &got, &error) != HAWSER_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
        close_job(test);
        oracle(&d, &wanted);
        compare(&d, &wanted, &got, threads[seed % 3]);
    }
}

typedef struct everywhere {
    drawn d;
    values got[3];
} everywhere;

static void run_on_node(test_node *node)
{
    everywhere *all = node->user;
    drawn d = all->d;
    node->status = run_drawn(node->job, &d, &all->got[node->node], &node->error);
}

static void nodes_have_the_oracles_bits(void **state)
{
    (void)state;
    static const char *const topologies[] = {"all", "tree", "halton", "servers:1", "servers:2"};
    for (uint64_t seed = 1; seed <= tried_of(30); seed++) {
        static everywhere all;
        values wanted;
        test_node nodes[NODES_MOST];
        char workers[12];
        all.d = draw(seed + 500, seed % 3 == 1);
        all.d.blocks = all.d.blocks < 2 ? 2 : all.d.blocks;
        uint32_t count = all.d.blocks < 3 ? 2 : 2 + (uint32_t)(seed % 2);
        if (all.d.exact)
            all.d.sync = seed % 2 == 0 ? hawser_ssp(2) : hawser_tap();
        (void)snprintf(workers, sizeof workers, "%u", all.d.blocks);
        const char *topology = topologies[seed % 5];
        const char *const pairs[] = {"workers", workers, "topology", topology, "check", "yes", "timeout", "60", NULL};
        run_nodes(nodes, count, pairs, run_on_node, &all);
        check_all(nodes, count, topology);
        oracle(&all.d, &wanted);
        for (uint32_t n = 0; n < count; n++)
            compare(&all.d, &wanted, &all.got[n], topology);
    }
}

/* Under late policies, yields, filters and rounding no sum is lost, and the history of a run passes. */
static void late_sums_are_exact(void **state)
{
    (void)state;
    static const char *const filters[] = {"none", "random", "round-robin", "absolute", "fifo"};
    char path[40];
    int file = history_file(path, sizeof path);
    for (uint64_t seed = 1; seed <= schedules_of(100); seed++) {
        drawn d = draw(seed, true);
        values wanted, got;
        hawser_error error = {0};
        char workers[12];
        d.sync = seed % 3 == 0 ? hawser_bsp() : seed % 3 == 1 ? hawser_ssp(2) : hawser_tap();
        d.form = (hawser_form)(seed % 4);
        (void)snprintf(workers, sizeof workers, "%u", d.blocks);
        test_job test = OPEN_JOB("workers", workers, "filter", filters[seed % 5], "quota", seed % 5 == 0 ? "0" : "100",
                                 "check", "yes", "timeout", "60", "record-history", path);
        hw_job_use_fibers(test.job, seed);
        if (run_drawn(test.job, &d, &got, &error) != HAWSER_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
        close_job(test);
        oracle(&d, &wanted);
        compare(&d, &wanted, &got, filters[seed % 5]);
        hw_history history = {0};
        hw_verdict verdict = {0};
        check_history_file(file, &history, &verdict);
        if (verdict.broken) {
            hw_verdict_print(&verdict, &history, stderr);
            fail_msg("seed %llu: the history breaks a rule", (unsigned long long)seed);
        }
        hw_history_free(&history);
    }
}

/* ------------------------------------------------------------------------------------- partitioned and local states ---- */

enum { ROWS = 41, WIDE = 3, OWNED_CLOCKS = 4 };

/* The owned numbers: partitioned ones of each type, and local ones of each type along rows. */
typedef struct owned {
    double x[ROWS];
    float pf[ROWS], lf[ROWS * WIDE];
    int64_t pl[ROWS], ll[ROWS];
    int32_t pi[ROWS], li[ROWS * WIDE];
} owned;

typedef struct owned_run {
    hawser_matrix X;
    hawser_sync sync;
    owned begins, got[3];
} owned_run;

/* What a row's numbers become, from those of another row; integers use all their bits, f32 would lose them in f64. */
static void step_row(const owned *before, owned *after, size_t row, size_t other)
{
    after->pf[row] = before->pf[row] / 3 + before->pf[other];
    after->pl[row] = (int64_t)((uint64_t)before->pl[row] * 3 + (uint64_t)before->pl[other]);
    after->pi[row] = (int32_t)((uint32_t)before->pi[row] * 5 + (uint32_t)before->pi[other]);
    after->ll[row] = before->ll[row] ^ before->pl[other];
    for (size_t k = row * WIDE; k < (row + 1) * WIDE; k++) {
        after->lf[k] = before->lf[k] / 7 + before->pf[other];
        after->li[k] = before->li[k] ^ before->pi[other] ^ (int32_t)k;
    }
}

/* Under late policies only a row's own numbers are as recent as its block's clock. */
static size_t other_row(const owned_run *r, size_t row)
{
    return r->sync.tightness == HAWSER_BSP ? (row * 7 + 3) % ROWS : row;
}

static hawser_status step_owned(hawser_context *context)
{
    const owned_run *r = hawser_user(context);
    HAWSER_READ(context, float, pf);
    HAWSER_READ(context, int64_t, pl);
    HAWSER_READ(context, int32_t, pi);
    float *own_pf;
    HAWSER_TRY(hawser_write(context, "pf", &own_pf));
    HAWSER_WRITE(context, float, lf);
    int64_t *own_pl;
    HAWSER_TRY(hawser_write(context, "pl", &own_pl));
    HAWSER_WRITE(context, int64_t, ll);
    int32_t *own_pi;
    HAWSER_TRY(hawser_write(context, "pi", &own_pi));
    HAWSER_WRITE(context, int32_t, li);
    size_t first, count = hawser_part(context, "pl", &first), of_local, wide = hawser_part(context, "li", &of_local);
    if (wide != count * WIDE || of_local != first * WIDE)
        return hawser_unit_fail(context, HAWSER_BAD_PROGRAM, "parts do not follow the rows");
    static _Thread_local owned before, after;
    memcpy(before.pf, pf, sizeof before.pf);
    memcpy(before.pl, pl, sizeof before.pl);
    memcpy(before.pi, pi, sizeof before.pi);
    memcpy(before.lf + of_local, lf, wide * sizeof *lf);
    memcpy(before.ll + first, ll, count * sizeof *ll);
    memcpy(before.li + of_local, li, wide * sizeof *li);
    for (size_t row = first; row < first + count; row++)
        step_row(&before, &after, row, other_row(r, row));
    memcpy(own_pf, after.pf + first, count * sizeof *own_pf);
    memcpy(own_pl, after.pl + first, count * sizeof *own_pl);
    memcpy(own_pi, after.pi + first, count * sizeof *own_pi);
    memcpy(lf, after.lf + of_local, wide * sizeof *lf);
    memcpy(ll, after.ll + first, count * sizeof *ll);
    memcpy(li, after.li + of_local, wide * sizeof *li);
    return HAWSER_OK;
}

static void begin_owned(owned_run *r, hawser_sync sync)
{
    memset(r, 0, sizeof *r);
    r->sync = sync;
    for (size_t e = 0; e < ROWS * WIDE; e++) {
        r->begins.lf[e] = 0.3F * (float)e;
        r->begins.li[e] = (int32_t)mixed(1, 2, 3, e);
    }
    for (size_t e = 0; e < ROWS; e++) {
        r->begins.pf[e] = 1.1F * (float)e;
        r->begins.pl[e] = (int64_t)mixed(4, 5, 6, e);
        r->begins.pi[e] = (int32_t)mixed(7, 8, 9, e);
        r->begins.ll[e] = (int64_t)mixed(1, 0, 1, e);
    }
    r->X = (hawser_matrix){.rows = ROWS,
                           .cols = 1,
                           .stored = ROWS,
                           .layout = HAWSER_DENSE_ROWS,
                           .type = HAWSER_F64,
                           .values = r->begins.x,
                           .stride = 1};
}

static void run_owned(test_node *node)
{
    owned_run *r = node->user;
    owned *got = &r->got[node->node];
    hawser_run *run = NULL;
    hawser_program *p = hawser_program_new("owned", r);
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = &r->X, .split = HAWSER_BY_ROW);
    hawser_state *pf =
        HAWSER_STATE(p, "pf", HAWSER_PARTITIONED, .type = HAWSER_F32, .rows = ROWS, .along = X, .initial = r->begins.pf);
    hawser_state *pl =
        HAWSER_STATE(p, "pl", HAWSER_PARTITIONED, .type = HAWSER_I64, .rows = ROWS, .along = X, .initial = r->begins.pl);
    hawser_state *pi =
        HAWSER_STATE(p, "pi", HAWSER_PARTITIONED, .type = HAWSER_I32, .rows = ROWS, .along = X, .initial = r->begins.pi);
    hawser_state *lf =
        HAWSER_STATE(p, "lf", HAWSER_LOCAL, .type = HAWSER_F32, .along = X, .cols = WIDE, .initial = r->begins.lf);
    hawser_state *ll = HAWSER_STATE(p, "ll", HAWSER_LOCAL, .type = HAWSER_I64, .along = X, .initial = r->begins.ll);
    hawser_state *li =
        HAWSER_STATE(p, "li", HAWSER_LOCAL, .type = HAWSER_I32, .along = X, .cols = WIDE, .initial = r->begins.li);
    hawser_operator *loop = hawser_loop(hawser_root(p), "loop", (hawser_until){.clocks = OWNED_CLOCKS}, r->sync);
    HAWSER_UNIT(loop, "step", step_owned, .reads = {X}, .updates = {pf, pl, pi, lf, ll, li});
    node->status = hawser_run_program(node->job, p, &run, &node->error);
    if (node->status == HAWSER_OK) {
        memcpy(got->pf, RESULT(float, run, "pf", NULL), sizeof got->pf);
        memcpy(got->pl, RESULT(int64_t, run, "pl", NULL), sizeof got->pl);
        memcpy(got->pi, RESULT(int32_t, run, "pi", NULL), sizeof got->pi);
        memcpy(got->lf, RESULT(float, run, "lf", NULL), sizeof got->lf);
        memcpy(got->ll, RESULT(int64_t, run, "ll", NULL), sizeof got->ll);
        memcpy(got->li, RESULT(int32_t, run, "li", NULL), sizeof got->li);
        assert_null(RESULT(double, run, "pl", NULL));
    }
    hawser_run_free(run);
    hawser_program_free(p);
}

static void owned_states_keep_all_digits(void **state)
{
    (void)state;
    static const char *const threads[] = {"1", "2", "4"};
    for (size_t k = 0; k < 9; k++) {
        static owned_run r;
        static owned wanted, next;
        test_node nodes[NODES_MOST];
        uint32_t count = 1 + (uint32_t)(k % 3);
        begin_owned(&r, k / 3 == 0 ? hawser_bsp() : k / 3 == 1 ? hawser_ssp(1) : hawser_tap());
        if (count == 1) {
            test_job test = OPEN_JOB("workers", "4", "threads", threads[k / 3], "check", "yes", "timeout", "60");
            nodes[0] = (test_node){.job = test.job, .user = &r};
            run_owned(&nodes[0]);
            close_job(test);
        } else {
            const char *const pairs[] = {"workers", "4", "check", "yes", "timeout", "60", NULL};
            run_nodes(nodes, count, pairs, run_owned, &r);
        }
        check_all(nodes, count, "owned");
        wanted = r.begins;
        for (size_t t = 0; t < OWNED_CLOCKS; t++, wanted = next)
            for (size_t row = 0; row < ROWS; row++)
                step_row(&wanted, &next, row, other_row(&r, row));
        for (uint32_t n = 0; n < count; n++)
            assert_memory_equal(wanted.pf, r.got[n].pf, sizeof wanted - sizeof wanted.x);
    }
}

/* -------------------------------------------------------------------------- matrices by lines, and states of blocks ---- */

enum { TALL = 13, BROAD = 9, RANK = 3, LINES = 3, TURNS = 4, MATRIX_BLOCKS = 4, OF_BLOCK = 5 };

/* Factors W (by row) and H (by column) of a matrix X, small lines that no data divide, and what each block has alone. */
typedef struct factors {
    double w[TALL * RANK], b[MATRIX_BLOCKS * OF_BLOCK];
    float h[RANK * BROAD];
    int64_t l[MATRIX_BLOCKS * OF_BLOCK];
    int32_t n[LINES * 2];
} factors;

typedef struct factor_run {
    hawser_sync sync;
    uint64_t first, clocks; /* of this run: a run that is resumed begins later */
    uint32_t parts;         /* blocks that `begins` has numbers for */
    double x[TALL * BROAD], rows[TALL * BROAD], cols[TALL * BROAD];
    uint64_t row_at[TALL + 1], col_at[BROAD + 1];
    uint32_t col_of[TALL * BROAD], row_of[TALL * BROAD];
    hawser_matrix X, Y; /* X by rows and by columns */
    factors begins, got[3];
} factor_run;

static bool is_strict(const factor_run *r)
{
    return r->sync.tightness == HAWSER_BSP;
}

/* Under late policies a line sees no lines of other blocks. */
static void step_w(const factor_run *r, const float *h, size_t i, double *w)
{
    for (size_t k = 0; k < RANK; k++) {
        double sum = 0;
        for (size_t j = 0; is_strict(r) && j < BROAD; j++)
            sum += r->x[j * TALL + i] * (double)h[j * RANK + k];
        w[k] = w[k] / 3 + sum / 7 + (double)i;
    }
}

static void step_h(const factor_run *r, const double *w, size_t j, float *h)
{
    for (size_t k = 0; k < RANK; k++) {
        double sum = 0;
        for (size_t i = 0; is_strict(r) && i < TALL; i++)
            sum += r->x[j * TALL + i] * w[i * RANK + k];
        h[k] = (float)((double)h[k] / 5 + sum / 9 + (double)(j + k) / 3);
    }
}

static void step_block(const factor_run *r, uint64_t clock, uint32_t block, const float *h, double *b, int64_t *l)
{
    for (size_t e = 0; e < OF_BLOCK; e++) {
        b[e] = b[e] / 3 + (double)block + (is_strict(r) ? (double)h[e] : 0);
        l[e] = l[e] * 31 + (int64_t)(block + clock * 7 + e);
    }
}

static hawser_status unit_w(hawser_context *context)
{
    const factor_run *r = hawser_user(context);
    HAWSER_READ(context, float, h);
    size_t first, lines = hawser_part_lines(context, "w", &first), first_n, of_n = hawser_part_lines(context, "n", &first_n);
    HAWSER_READ(context, hawser_matrix, X);
    HAWSER_WRITE(context, double, w);
    if (lines != X->rows || (lines != 0 && first != X->first))
        return hawser_unit_fail(context, HAWSER_BAD_PROGRAM, "lines do not follow the rows");
    for (size_t i = 0; i < lines; i++) {
        double *line;
        HAWSER_TRY(hawser_line(context, "w", i, &line));
        if (line != w + i * RANK)
            return hawser_unit_fail(context, HAWSER_BAD_PROGRAM, "a line is not where its numbers are");
        step_w(r, h, first + i, line);
    }
    for (size_t i = 0; i < of_n; i++) {
        int32_t *n;
        HAWSER_TRY(hawser_line(context, "n", i, &n));
        n[0] += (int32_t)(first_n + i);
        n[1] ^= n[0];
    }
    HAWSER_WRITE(context, double, b);
    HAWSER_WRITE(context, int64_t, l);
    step_block(r, r->first + hawser_clock(context), hawser_block(context), h, b, l);
    return HAWSER_OK;
}

static hawser_status unit_h(hawser_context *context)
{
    const factor_run *r = hawser_user(context);
    HAWSER_READ(context, double, w);
    size_t first, lines = hawser_part_lines(context, "h", &first);
    for (size_t j = 0; j < lines; j++) {
        float *line;
        HAWSER_TRY(hawser_line(context, "h", j, &line));
        step_h(r, w, first + j, line);
    }
    return HAWSER_OK;
}

static void compute_factors(const factor_run *r, factors *v)
{
    for (uint64_t t = r->first; t < r->first + r->clocks; t++) {
        for (uint32_t block = 0; block < MATRIX_BLOCKS; block++)
            step_block(r, t, block, v->h, v->b + (size_t)block * OF_BLOCK, v->l + (size_t)block * OF_BLOCK);
        for (size_t i = 0; i < TALL; i++)
            step_w(r, v->h, i, v->w + i * RANK);
        for (size_t j = 0; j < BROAD; j++)
            step_h(r, v->w, j, v->h + j * RANK);
        for (size_t i = 0; i < LINES; i++) {
            v->n[2 * i] += (int32_t)i;
            v->n[2 * i + 1] ^= v->n[2 * i];
        }
    }
}

static void run_factors(test_node *node)
{
    factor_run *r = node->user;
    factors *got = &r->got[node->node], *from = &r->begins;
    hawser_run *run = NULL;
    size_t count;
    hawser_program *p = hawser_program_new("factors", r);
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = &r->X, .split = HAWSER_BY_ROW);
    hawser_state *Y = HAWSER_STATE(p, "Y", HAWSER_DATA, .matrix = &r->Y, .split = HAWSER_BY_COLUMN);
    hawser_state *w = HAWSER_STATE(p, "w", HAWSER_PARTITIONED, .rows = TALL, .cols = RANK, .along = X, .initial = from->w);
    hawser_state *h = HAWSER_STATE(p, "h", HAWSER_PARTITIONED, .type = HAWSER_F32, .rows = RANK, .cols = BROAD,
                                   .by_column = true, .along = Y, .initial = from->h);
    hawser_state *n =
        HAWSER_STATE(p, "n", HAWSER_PARTITIONED, .type = HAWSER_I32, .rows = LINES, .cols = 2, .initial = from->n);
    hawser_state *b =
        HAWSER_STATE(p, "b", HAWSER_LOCAL, .each = true, .rows = OF_BLOCK, .initial = from->b, .initial_blocks = r->parts);
    hawser_state *l = HAWSER_STATE(p, "l", HAWSER_LOCAL, .type = HAWSER_I64, .each = true, .rows = OF_BLOCK,
                                   .initial = from->l, .initial_blocks = r->parts);
    hawser_operator *loop = hawser_loop(hawser_root(p), "loop", (hawser_until){.clocks = r->clocks}, r->sync);
    HAWSER_UNIT(loop, "w", unit_w, .reads = {X, h}, .updates = {w, n, b, l});
    HAWSER_UNIT(loop, "h", unit_h, .reads = {Y, w}, .updates = {h});
    node->status = hawser_run_program(node->job, p, &run, &node->error);
    if (node->status == HAWSER_OK) {
        memcpy(got->w, RESULT(double, run, "w", &count), sizeof got->w);
        assert_int_equal(count, TALL * RANK);
        memcpy(got->h, RESULT(float, run, "h", NULL), sizeof got->h);
        memcpy(got->n, RESULT(int32_t, run, "n", NULL), sizeof got->n);
        memcpy(got->b, RESULT(double, run, "b", &count), sizeof got->b);
        assert_int_equal(count, MATRIX_BLOCKS * OF_BLOCK);
        memcpy(got->l, RESULT(int64_t, run, "l", NULL), sizeof got->l);
        assert_true((hawser_run_figures(run)->repeatable == NULL) == is_strict(r));
    }
    hawser_run_free(run);
    hawser_program_free(p);
}

/* Stores the numbers of X other than zero in both orders. */
static void compress(factor_run *r)
{
    size_t stored = 0;
    for (size_t i = 0; i < TALL; r->row_at[++i] = stored)
        for (size_t j = 0; j < BROAD; j++)
            if (r->x[j * TALL + i] != 0) {
                r->rows[stored] = r->x[j * TALL + i];
                r->col_of[stored++] = (uint32_t)j;
            }
    stored = 0;
    for (size_t j = 0; j < BROAD; r->col_at[++j] = stored)
        for (size_t i = 0; i < TALL; i++)
            if (r->x[j * TALL + i] != 0) {
                r->cols[stored] = r->x[j * TALL + i];
                r->row_of[stored++] = (uint32_t)i;
            }
    r->X = r->Y = (hawser_matrix){.rows = TALL, .cols = BROAD, .stored = stored, .type = HAWSER_F64};
    r->X.layout = HAWSER_CSR;
    r->X.values = r->rows;
    r->X.offsets = r->row_at;
    r->X.indices = r->col_of;
    r->Y.layout = HAWSER_CSC;
    r->Y.values = r->cols;
    r->Y.offsets = r->col_at;
    r->Y.indices = r->row_of;
}

static void begin_factors(factor_run *r, hawser_sync sync, bool sparse)
{
    memset(r, 0, sizeof *r);
    r->sync = sync;
    r->clocks = TURNS;
    for (size_t e = 0; e < (size_t)TALL * BROAD; e++)
        r->x[e] = sparse && mixed(3, 1, 4, e) % 3 != 0 ? 0 : (double)(mixed(2, 7, 1, e) % 1000) / 7;
    for (size_t e = 0; e < (size_t)TALL * RANK; e++)
        r->begins.w[e] = (double)e / 3;
    for (size_t e = 0; e < (size_t)RANK * BROAD; e++)
        r->begins.h[e] = (float)e / 7;
    for (size_t e = 0; e < (size_t)LINES * 2; e++)
        r->begins.n[e] = (int32_t)mixed(5, 5, 5, e) / 8;
    for (size_t e = 0; e < OF_BLOCK; e++) {
        r->begins.b[e] = (double)e / 11;
        r->begins.l[e] = (int64_t)mixed(6, 6, 6, e) / 4096 / 4096;
    }
    if (sparse) {
        compress(r);
        return;
    }
    r->X = r->Y = (hawser_matrix){.rows = TALL,
                                  .cols = BROAD,
                                  .stored = (uint64_t)TALL * BROAD,
                                  .layout = HAWSER_DENSE,
                                  .type = HAWSER_F64,
                                  .values = r->x,
                                  .stride = TALL};
}

/* Runs on one node with some threads, or on several nodes; returns the state of the run in `out`, which all nodes agree
 * on. */
static void run_on(factor_run *r, uint32_t count, const char *threads, factors *out)
{
    test_node nodes[NODES_MOST];
    if (count == 1) {
        test_job test = OPEN_JOB("workers", "4", "threads", threads, "check", "yes", "timeout", "60");
        nodes[0] = (test_node){.job = test.job, .user = r};
        run_factors(&nodes[0]);
        close_job(test);
    } else {
        const char *const pairs[] = {"workers", "4", "check", "yes", "timeout", "60", NULL};
        run_nodes(nodes, count, pairs, run_factors, r);
    }
    check_all(nodes, count, "factors");
    for (uint32_t n = 1; n < count; n++)
        assert_memory_equal(&r->got[n], &r->got[0], sizeof *out);
    *out = r->got[0];
}

/* The oracle has the numbers of each block apart, so it begins with those of all. */
static void oracle_factors(const factor_run *r, factors *wanted)
{
    *wanted = r->begins;
    for (size_t e = OF_BLOCK; r->parts == 0 && e < (size_t)MATRIX_BLOCKS * OF_BLOCK; e++) {
        wanted->b[e] = wanted->b[e - OF_BLOCK];
        wanted->l[e] = wanted->l[e - OF_BLOCK];
    }
    compute_factors(r, wanted);
}

static void matrices_and_states_of_blocks_have_the_oracles_bits(void **state)
{
    (void)state;
    static const char *const threads[] = {"1", "2", "4"};
    for (size_t k = 0; k < 9; k++) {
        static factor_run r;
        static factors wanted, got;
        uint32_t count = 1 + (uint32_t)(k % 3);
        hawser_sync syncs[] = {hawser_bsp(), hawser_ssp(1), hawser_tap()};
        begin_factors(&r, syncs[(k + k / 3) % 3], k % 2 != 0);
        oracle_factors(&r, &wanted);
        run_on(&r, count, threads[k / 3], &got);
        assert_memory_equal(&got, &wanted, sizeof got);
        r.clocks = 1 + k % 3; /* the same clocks, in two runs */
        run_on(&r, count, threads[k / 3], &got);
        r.first = r.clocks;
        r.clocks = TURNS - r.first;
        r.begins = got;
        r.parts = MATRIX_BLOCKS;
        run_on(&r, 1 + count % 3, threads[k / 3], &got);
        assert_memory_equal(&got, &wanted, sizeof got);
    }
}

static hawser_status beyond(hawser_context *context)
{
    float *line;
    hawser_status status = hawser_line(context, "h", hawser_part_lines(context, "h", NULL), &line);
    return status != HAWSER_OK && line == NULL ? HAWSER_OK : HAWSER_INTERNAL;
}

static void lines_and_blocks_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t rows, cols;
        int split;
        uint32_t parts;
        float first;
        const char *words;
    } rows[] = {
        {RANK, BROAD, HAWSER_BY_COLUMN, 0, 0, "hawser_line: line "},
        {RANK, BROAD - 1, HAWSER_BY_COLUMN, 0, 0, "'h' has 8 columns, which do not follow the split of 'Y' (by column, 9)"},
        {BROAD + 1, BROAD, HAWSER_BY_ROW, 0, 0, "'h' has 10 rows"},
        {0, BROAD, HAWSER_BY_COLUMN, 0, 0, "impossible size, 0 x 9"},
        {RANK, BROAD, HAWSER_BY_COLUMN, 3, 0, "'b' begins with numbers for 3 blocks, but the job has 2"},
        {RANK, BROAD, HAWSER_BY_COLUMN, 2, NAN, "'b' begins with nan at number 5"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        static factor_run r;
        float begins[3 * OF_BLOCK] = {[OF_BLOCK] = rows[k].first};
        hawser_run *run = NULL;
        hawser_error error = {0};
        begin_factors(&r, hawser_bsp(), false);
        test_job test = OPEN_JOB("workers", "2", "timeout", "60");
        hawser_program *p = hawser_program_new("refused", NULL);
        hawser_state *Y = HAWSER_STATE(p, "Y", HAWSER_DATA, .matrix = &r.Y, .split = HAWSER_BY_COLUMN);
        hawser_state *h = HAWSER_STATE(p, "h", HAWSER_PARTITIONED, .type = HAWSER_F32, .rows = rows[k].rows,
                                       .cols = rows[k].cols, .by_column = rows[k].split == HAWSER_BY_COLUMN, .along = Y);
        hawser_state *b = HAWSER_STATE(p, "b", HAWSER_LOCAL, .type = HAWSER_F32, .each = true, .rows = OF_BLOCK,
                                       .initial = begins, .initial_blocks = rows[k].parts);
        HAWSER_UNIT(hawser_root(p), "beyond", beyond, .reads = {Y}, .updates = {h, b});
        if (hawser_run_program(test.job, p, &run, &error) == HAWSER_OK || strstr(error.text, rows[k].words) == NULL)
            fail_msg("row %zu: '%s' does not say '%s'", k, error.text, rows[k].words);
        hawser_run_free(run);
        hawser_program_free(p);
        close_job(test);
    }
}

/* --------------------------------------------------------------------------------------------------------- refusals ---- */

static void merge_all(const hawser_merging *m)
{
    for (size_t i = 0; i < m->count; i++)
        m->state[i] = 0.75 * m->state[i] + m->sum[i] / 3;
}

static hawser_status add_thirds(hawser_context *context)
{
    HAWSER_WRITE(context, float, x);
    for (size_t i = 0; i < 600; i++)
        x[i] += (float)(hawser_block(context) + i) / 3;
    return HAWSER_OK;
}

/* A merge function works on doubles; its results are rounded to f32. */
static void a_merge_function_gets_doubles(void **state)
{
    (void)state;
    hawser_run *run = NULL;
    hawser_error error = {0};
    float wanted[600] = {0};
    test_job test = OPEN_JOB("workers", "3", "timeout", "60");
    hawser_program *program = hawser_program_new("own", NULL);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .type = HAWSER_F32, .rows = 600, .merge = merge_all);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 3}, hawser_bsp());
    HAWSER_UNIT(loop, "add", add_thirds, .updates = {x});
    if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    for (int t = 0; t < 3; t++)
        for (size_t i = 0; i < 600; i++) {
            float parts[3];
            for (uint32_t b = 0; b < 3; b++) {
                float cache = wanted[i] + (float)(b + i) / 3;
                parts[b] = cache - wanted[i];
            }
            wanted[i] = (float)(0.75 * (double)wanted[i] + (double)tree(parts, 3) / 3);
        }
    assert_memory_equal(RESULT(float, run, "x", NULL), wanted, sizeof wanted);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
}

static hawser_status nothing(hawser_context *context)
{
    return context != NULL ? HAWSER_OK : HAWSER_INTERNAL;
}

static hawser_status wrong_type(hawser_context *context)
{
    double *x;
    return hawser_write(context, "x", &x) == HAWSER_BAD_PROGRAM && x == NULL ? HAWSER_OK : HAWSER_INTERNAL;
}

static hawser_status wrong_inc(hawser_context *context)
{
    uint64_t key = 0;
    return hawser_inc(context, "x", &key, &(float){1}, 1);
}

static hawser_status overflows(hawser_context *context)
{
    HAWSER_WRITE(context, float, y);
    y[2] = 3e38F;
    return HAWSER_OK;
}

static void refusals_name_the_state(void **state)
{
    (void)state;
    static const struct {
        hawser_state_spec x;
        hawser_unit_function *unit;
        float begins;
        hawser_status status;
        const char *words;
    } rows[] = {
        {{.type = HAWSER_I64, .damping = 0.5}, NULL, 0, HAWSER_BAD_PROGRAM, "'x' is of i64"},
        {{.type = HAWSER_I32, .gain = 2}, NULL, 0, HAWSER_BAD_PROGRAM, "gain"},
        {{.type = HAWSER_I64, .merge = merge_all}, NULL, 0, HAWSER_BAD_PROGRAM, "merge function"},
        {{.type = HAWSER_I64, .form = HAWSER_AS_BF16}, NULL, 0, HAWSER_BAD_PROGRAM, "cannot be rounded"},
        {{.type = HAWSER_I64, .filter = "relative", .quota = 100}, NULL, 0, HAWSER_BAD_PROGRAM, "relative"},
        {{.type = (hawser_type)4}, NULL, 0, HAWSER_BAD_PROGRAM, "no type 4"},
        {{.type = (hawser_type)-1}, NULL, 0, HAWSER_BAD_PROGRAM, "no type -1"},
        {{.type = HAWSER_I64}, wrong_type, 0, HAWSER_BAD_PROGRAM, "the numbers of state 'x' are of i64"},
        {{.type = HAWSER_F32}, wrong_type, 0, HAWSER_BAD_PROGRAM, "the numbers of state 'x' are of f32"},
        {{.type = HAWSER_I32}, wrong_inc, 0, HAWSER_BAD_PROGRAM, "to a float, but the numbers of state 'x' are of i32"},
        {{.type = HAWSER_I64}, NULL, INFINITY, HAWSER_NOT_FINITE, "'y' begins with inf"},
        {{.type = HAWSER_I64}, overflows, -3e38F, HAWSER_NOT_FINITE, "'y'"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const float begins[3] = {0, 0, rows[k].begins};
        hawser_run *run = NULL;
        hawser_error error = {0};
        test_job test = OPEN_JOB("workers", "2", "timeout", "60");
        hawser_program *program = hawser_program_new("refused", NULL);
        hawser_state_spec spec = rows[k].x;
        spec.name = "x";
        spec.kind = HAWSER_REPLICATED;
        spec.rows = 3;
        hawser_state *x = hawser_state_add(program, &spec);
        hawser_state *y = HAWSER_STATE(program, "y", HAWSER_REPLICATED, .type = HAWSER_F32, .rows = 3, .initial = begins);
        HAWSER_UNIT(hawser_root(program), "unit", rows[k].unit != NULL ? rows[k].unit : nothing, .updates = {x, y});
        hawser_status status = hawser_run_program(test.job, program, &run, &error);
        if (status != rows[k].status || strstr(error.text, rows[k].words) == NULL)
            fail_msg("row %zu: status %d, '%s' does not say '%s'", k, (int)status, error.text, rows[k].words);
        hawser_run_free(run);
        hawser_program_free(program);
        close_job(test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_have_the_oracles_bits),
        cmocka_unit_test(nodes_have_the_oracles_bits),
        cmocka_unit_test(late_sums_are_exact),
        cmocka_unit_test(owned_states_keep_all_digits),
        cmocka_unit_test(a_merge_function_gets_doubles),
        cmocka_unit_test(refusals_name_the_state),
        cmocka_unit_test(matrices_and_states_of_blocks_have_the_oracles_bits),
        cmocka_unit_test(lines_and_blocks_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
