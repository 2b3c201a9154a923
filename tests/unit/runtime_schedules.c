/* Every schedule of small jobs, through driver, blocks, credit, replicas and store as they are: each run's history is
 * judged, each view is held against the policy, and what is to be the same bits is compared. Then one guard after the other
 * is undone, and the walk has to notice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "hawser/stored.h"
#include "history_memory.h"
#include "sanitized.h"
#include "schedules_jobs.h"

static meddling meddled;

/* ------------------------------------------------------------------------------------------------------------ units ---- */

static uint64_t digest_of(uint64_t digest, const void *bytes, size_t size)
{
    return mixed(digest, hw_hash(bytes, size, 0));
}

/* Of every policy: how many clocks back a read may see, and how far ahead. */
static double lag_most(hawser_sync sync)
{
    return sync.tightness == HAWSER_BSP ? 0 : sync.tightness == HAWSER_TAP ? (double)INFINITY : sync.staleness;
}

static double ahead_most(const job_case *c)
{
    switch (c->sync.tightness) {
    case HAWSER_BSP: return 0;
    case HAWSER_CENTRIC: return c->sync.staleness;
    case HAWSER_SSP: return c->sync.staleness + 1.0; /* its last clock is in, and this block is s behind it */
    case HAWSER_DELAY: return c->sync.staleness;
    case HAWSER_TAP: break;
    }
    return (double)INFINITY;
}

/* What a unit has read of a block: so many clocks, with a part of one. */
static void saw_part(trial *t, uint32_t reader, uint32_t writer, double clock, double version)
{
    double lag = clock - version;
    t->seen[reader] = mixed(t->seen[reader], (uint64_t)writer << 32 | (uint64_t)version);
    if (reader == writer) {
        if (lag != 0)
            t->wrong = "a block has not seen its own clocks";
        return;
    }
    t->oldest = fmax(t->oldest, lag);
    t->ahead = fmax(t->ahead, -lag);
    if (lag > lag_most(t->c->sync))
        t->wrong = "something read is older than the policy allows";
    if (-lag > ahead_most(t->c))
        t->wrong = "something read is newer than the policy allows";
}

static void saw(trial *t, uint32_t reader, uint32_t writer, uint64_t clock, double version)
{
    saw_part(t, reader, writer, (double)clock, version);
}

static hawser_status misbehave(hawser_context *context)
{
    trial *t = hawser_user(context);
    if (t->c->fails && hawser_block(context) == 1 && hawser_clock(context) == 1)
        return hawser_unit_fail(context, HAWSER_DIVERGED, "it was to fail");
    if (t->c->interrupts && hawser_block(context) == 0 && hawser_clock(context) == 1)
        hawser_interrupt(t->job);
    return HAWSER_OK;
}

/* Number b counts the clocks of block b; the last is changed by all, by amounts whose sum depends on their order. */
static hawser_status count_clocks(hawser_context *context)
{
    trial *t = hawser_user(context);
    uint32_t own = hawser_block(context), blocks = hawser_blocks(context);
    HAWSER_WRITE(context, double, w);
    for (uint32_t b = 0; b < blocks; b++)
        saw(t, own, b, hawser_clock(context), w[b]);
    HAWSER_TRY(misbehave(context));
    w[blocks] += 0.1 * (own + 1) + (double)hawser_clock(context) / 3;
    if (t->c->yields)
        HAWSER_TRY(hawser_yield(context));
    w[own] += 1;
    return HAWSER_OK;
}

/* The same with two reductions in a clock: of what all have seen, and of amounts whose sum depends on their order. */
static hawser_status reduce_counts(hawser_context *context)
{
    trial *t = hawser_user(context);
    uint32_t own = hawser_block(context), blocks = hawser_blocks(context);
    HAWSER_WRITE(context, double, w);
    double counts[BLOCKS_MOST] = {0}, amount = 0.1 * (own + 1) + w[blocks] / 3;
    for (uint32_t b = 0; b < blocks; b++)
        saw(t, own, b, hawser_clock(context), w[b]);
    counts[own] = w[own] + 1;
    HAWSER_TRY(hawser_allreduce(context, counts, blocks, HAWSER_SUM));
    for (uint32_t b = 0; b < blocks; b++)
        if (counts[b] != (double)hawser_clock(context) + 1)
            t->wrong = "a reduction has other shares than those of its clock";
    HAWSER_TRY(misbehave(context));
    HAWSER_TRY(hawser_allreduce(context, &amount, 1, HAWSER_SUM));
    t->seen[own] = digest_of(t->seen[own], &amount, sizeof amount);
    w[blocks] += own == 0 ? amount : 0;
    w[own] += 1;
    return HAWSER_OK;
}

/* The first of two stages: counts in "w" and reads what the second has counted in the clocks before. */
static hawser_status count_first(hawser_context *context)
{
    HAWSER_READ(context, double, p);
    for (uint32_t b = 0; b < hawser_blocks(context); b++)
        saw(hawser_user(context), hawser_block(context), b, hawser_clock(context), p[b]);
    return count_clocks(context);
}

/* The second stage: reads "w" as of this clock. */
static hawser_status count_second(hawser_context *context)
{
    trial *t = hawser_user(context);
    uint32_t own = hawser_block(context), blocks = hawser_blocks(context);
    HAWSER_READ(context, double, w);
    HAWSER_READ(context, double, p);
    for (uint32_t b = 0; b < blocks; b++) {
        saw(t, own, b, hawser_clock(context) + 1, w[b]);
        saw(t, own, b, hawser_clock(context), p[b]);
        if (t->c->strict && (w[b] < (double)hawser_clock(context) + 1 || p[b] < (double)hawser_clock(context)))
            t->wrong = "something read is older than the sync of its unit allows";
    }
    t->seen[own] = digest_of(t->seen[own], &w[blocks], sizeof w[blocks]);
    double *share;
    HAWSER_TRY(hawser_write(context, "p", &share));
    share[0] += 1;
    return HAWSER_OK;
}

/* Runs twice in each clock, in an inner loop, and counts half a clock each time. */
static hawser_status count_halves(hawser_context *context)
{
    trial *t = hawser_user(context);
    uint32_t own = hawser_block(context), blocks = hawser_blocks(context);
    HAWSER_WRITE(context, double, w);
    if (w[own] - floor(w[own]) != (double)hawser_clock(context) / 2)
        t->wrong = "an iteration of the inner loop is not next";
    for (uint32_t b = 0; b < blocks; b++) {
        saw_part(t, own, b, w[own], w[b]);
        t->wrong = t->c->strict && w[b] < w[own] ? "something read is older than the inner loop allows" : t->wrong;
    }
    HAWSER_TRY(misbehave(context));
    w[blocks] += 0.1 * (own + 1) + w[own] / 3;
    w[own] += 0.5;
    return HAWSER_OK;
}

/* Runs where the branch is true, in even clocks, and reads the whole of the clock's inner loop. */
static hawser_status count_even(hawser_context *context)
{
    trial *t = hawser_user(context);
    uint32_t own = hawser_block(context);
    HAWSER_READ(context, double, w);
    if (hawser_clock(context) % 2 != 0)
        t->wrong = "a unit runs where the branch is false";
    for (uint32_t b = 0; b < hawser_blocks(context); b++)
        saw(t, own, b, hawser_clock(context) + 1, w[b]);
    HAWSER_WRITE(context, double, p);
    p[0] += 1;
    return HAWSER_OK;
}

static bool is_even(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_clock(progress) % 2 == 0;
}

static hawser_status write_own(hawser_context *context)
{
    trial *t = hawser_user(context);
    HAWSER_READ(context, double, p);
    for (uint32_t b = 0; b < hawser_blocks(context); b++)
        saw(t, hawser_block(context), b, hawser_clock(context), p[b]);
    HAWSER_TRY(misbehave(context));
    double *share;
    HAWSER_TRY(hawser_write(context, "p", &share));
    share[0] += 1;
    return HAWSER_OK;
}

/* Two numbers a chunk: how often it was written, and a mixture of all that was read. */
static hawser_status mix(hawser_context *context)
{
    trial *t = hawser_user(context);
    uint32_t own = hawser_block(context);
    double parts[BLOCKS_MOST] = {0};
    for (hawser_chunk chunk;;) {
        HAWSER_TRY(hawser_next_chunk(context, "theta", &chunk));
        if (chunk.block == UINT32_MAX)
            break;
        saw(t, own, chunk.block, hawser_clock(context), ((const double *)chunk.values)[0]);
        parts[chunk.block] = (chunk.block + 1) * 0.1 * ((const double *)chunk.values)[1];
    }
    HAWSER_TRY(misbehave(context));
    HAWSER_WRITE(context, double, theta);
    theta[0] += 1;
    theta[1] = 1;
    for (uint32_t b = 0; b < BLOCKS_MOST; b++)
        theta[1] += parts[b];
    return HAWSER_OK;
}

/* Everybody counts in a number of its own and in one of all. */
static hawser_status count_up(hawser_context *context)
{
    trial *t = hawser_user(context);
    uint32_t own = hawser_block(context), blocks = hawser_blocks(context);
    const uint64_t keys[2] = {own, blocks};
    const double ones[2] = {1, 1}, *values;
    HAWSER_TRY(hawser_prefetch(context, "totals", NULL, 0, blocks + 1));
    HAWSER_TRY(misbehave(context));
    HAWSER_TRY(hawser_prefetch_wait(context, "totals", &values));
    double sum = 0;
    for (uint32_t b = 0; b < blocks; b++) {
        saw(t, own, b, hawser_clock(context), values[b]);
        sum += values[b];
    }
    if (values[blocks] != sum)
        t->wrong = "half an increment was read";
    return hawser_inc(context, "totals", keys, ones, 2);
}

static bool stop_behind(hawser_progress *progress, void *user)
{
    const trial *t = user;
    return hawser_progress_clock(progress) == t->c->stop_at;
}

/* Adds an inner loop and, except under tap, a branch behind it. */
static hawser_program *nest(hawser_program *program, trial *t, hawser_operator *loop, hawser_state *w, hawser_state *p)
{
    hawser_sync sync = t->c->strict ? hawser_bsp() : t->c->sync;
    hawser_operator *inner = hawser_loop(loop, "inner", (hawser_until){.clocks = 2}, sync);
    HAWSER_UNIT(inner, "unit", count_halves, .updates = {w});
    if (t->c->sync.tightness != HAWSER_TAP)
        HAWSER_UNIT(hawser_branch(loop, "fork", is_even, t), "later", count_even, .reads = {w}, .updates = {p});
    return program;
}

static hawser_program *program_of(trial *t)
{
    static const struct {
        const char *state;
        hawser_unit_function *unit;
    } of[] = {{"w", count_clocks},  {"p", write_own},     {"theta", mix},
              {"totals", count_up}, {"w", reduce_counts}, {"w", count_first}};
    const job_case *c = t->c;
    hawser_program *program = hawser_program_new("small", t);
    hawser_state *state = NULL;
    switch (c->form) {
    case REDUCED:
    case STAGED:
    case NESTED:
    case REPLICATED: state = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = c->blocks + 1); break;
    case PARTITIONED: state = HAWSER_STATE(program, "p", HAWSER_PARTITIONED, .rows = c->blocks); break;
    case CHUNKS: state = HAWSER_STATE(program, "theta", HAWSER_STORED, .rows = 2 * (size_t)c->blocks); break;
    case SUMS: state = HAWSER_STATE(program, "totals", HAWSER_STORED, .rows = c->blocks + 1, .function = "add"); break;
    }
    hawser_until until = {.clocks = c->clocks};
    if (c->clocks == 0)
        until = (hawser_until){.test = stop_behind, .user = t};
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", until, c->sync);
    hawser_state *later = c->form >= STAGED ? HAWSER_STATE(program, "p", HAWSER_PARTITIONED, .rows = c->blocks) : NULL;
    if (c->form == NESTED)
        return nest(program, t, loop, state, later);
    const hawser_sync strict = hawser_bsp();
    HAWSER_UNIT(loop, "unit", of[c->form].unit, .reads = {later}, .updates = {state},
                .reduces = c->form == REDUCED ? BLOCKS_MOST : 0);
    if (c->form == STAGED)
        HAWSER_UNIT(hawser_sequence(loop), "later", count_second, .reads = {state, later}, .updates = {later},
                    .sync = c->strict ? &strict : NULL);
    return program;
}

/* ------------------------------------------------------------------------------------------------------------- runs ---- */

/* What the store notes down is left out: its tasks are numbered in the order in which they came. Credit counts apart from
 * what is seen: between two clocks it is noted down when a block looked, which may be before or behind an update that is for
 * later. */
static void digest_history(trial *t, const hw_history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        const hw_stream *stream = &history->streams[i];
        uint64_t credit = 0;
        for (size_t k = 0; k < stream->count && stream->name.kind == HW_STREAM_BLOCK; k++) {
            const hw_event_record *r = &stream->records[k];
            uint64_t *digest = r->kind == HW_EVENT_CREDIT ? &credit : &t->outcome;
            *digest = digest_of(*digest, r, sizeof *r);
        }
        t->outcome = mixed(t->outcome, credit);
    }
}

static void judge_history(trial *t, int file)
{
    hw_history history = {0};
    check_history_file(file, &history, &t->verdict);
    digest_history(t, &history);
    hw_history_free(&history);
}

static void keep_result(trial *t, const hawser_run *run)
{
    static const char *const names[] = {"w", "p", "theta", "totals", "w", "w", "w"};
    const double *values = RESULT(double, run, names[t->c->form], &t->count);
    assert_true(t->count <= sizeof t->result / sizeof *t->result);
    memcpy(t->result, values, t->count * sizeof *values);
    for (uint32_t b = 0; b < t->c->blocks; b++)
        t->clocks[b] = hawser_run_figures(run)->worker[b].clocks;
}

static void run_one(walk *w, trial *t)
{
    char path[40], workers[8];
    int file = history_file(path, sizeof path);
    (void)snprintf(workers, sizeof workers, "%u", t->c->blocks);
    test_job test = OPEN_JOB("workers", workers, "check", "yes", "timeout", "5", "record-history", path);
    hawser_program *program = program_of(t);
    hawser_run *run = NULL;
    t->job = test.job;
    test.job->chunks.buffers = t->c->buffers;
    if (t->c->changes > 0)
        hw_job_change_view_at(test.job, t->c->changed, t->c->changes);
    begin_run(w, test.job);
    t->status = hawser_run_program(test.job, program, &run, &t->error);
    if (run != NULL)
        keep_result(t, run);
    t->changes = test.job->changes.count;
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    judge_history(t, file);
    t->outcome = digest_of(t->outcome, t->seen, sizeof t->seen);
    t->outcome = digest_of(t->outcome, t->result, sizeof t->result);
    t->outcome = digest_of(t->outcome, t->error.text, strlen(t->error.text));
}

/* ------------------------------------------------------------------------------------------------------------ walks ---- */

/* What is to hold of each run; NULL: all does. */
static const char *fault_of(const trial *t, const trial *first)
{
    const job_case *c = t->c;
    hawser_status expected = c->fails ? HAWSER_DIVERGED : c->interrupts ? HAWSER_STOP : HAWSER_OK;
    if (t->verdict.broken)
        return hw_rule_name(t->verdict.rule);
    if (t->wrong != NULL)
        return t->wrong;
    if (t->status != expected)
        return hawser_status_name(t->status);
    if (c->fails)
        return strstr(t->error.text, "unit 'unit', block 1: it was to fail") != NULL ? NULL : "the wrong failure is told";
    bool bits = c->sync.tightness == HAWSER_BSP || (c->sync.tightness == HAWSER_CENTRIC && c->sync.staleness == 0);
    for (uint32_t b = 0; b < c->blocks; b++) {
        if (c->sync.tightness != HAWSER_TAP && t->clocks[b] != t->clocks[0])
            return "blocks ended at different clocks";
        if ((!c->interrupts && c->sync.tightness != HAWSER_TAP && t->clocks[b] != first->clocks[b]) ||
            (c->ends > 0 && t->clocks[b] != c->ends))
            return "the loop ended at another clock";
        if (t->result[c->form == CHUNKS ? 2 * b : b] != (double)t->clocks[b])
            return "a clock was lost, or counted twice";
    }
    if (bits && !c->interrupts && memcmp(t->result, first->result, t->count * sizeof *t->result) != 0)
        return "other bits";
    return NULL;
}

/* What a walk has come across. */
typedef struct found {
    double oldest, ahead;
    const char *fault; /* the first; it ends the walk */
} found;

static walk *new_walk(const job_case *c)
{
    walk *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->delays = c->delays == 1 && runs_long() ? 2 : c->delays;
    w->fair = c->clocks == 0 && c->sync.tightness == HAWSER_TAP; /* nothing else ends its clocks */
    w->chunk = c->form == CHUNKS ? 2 : 0;
    return w;
}

static void free_walk(walk *w)
{
    free(w->classes);
    free(w);
    walking = NULL;
}

enum { OUTCOMES_MOST = 1 << 17 };
static uint64_t *outcomes; /* of all runs, where they are wanted */
static size_t outcome_count;

static void take_outcome(const trial *t)
{
    if (outcomes != NULL && !walking->repeats) {
        assert_true(outcome_count < OUTCOMES_MOST);
        outcomes[outcome_count++] = t->outcome;
    }
}

static found walk_all(walk *w, const job_case *c)
{
    static trial t, first;
    found f = {0};
    do {
        t = (trial){.c = c};
        run_one(w, &t);
        if (w->runs + w->repeated == 0)
            first = t;
        take_outcome(&t);
        f.oldest = fmax(f.oldest, t.oldest);
        f.ahead = fmax(f.ahead, t.ahead);
        f.fault = fault_of(&t, &first);
        if (f.fault != NULL && meddled == NOTHING)
            hw_verdict_print(&t.verdict, &(hw_history){0}, stderr);
    } while (f.fault == NULL && another_run(w));
    return f;
}

static void name_case(const job_case *c, char *name, size_t size)
{
    static const char *const forms[] = {"replicated", "partitioned", "chunks", "sums", "reduced", "two stages", "nested"};
    static const char *const syncs[] = {"bsp", "ssp:%u", "tap", "delay:%u", "dc:%u"};
    char sync[20];
    (void)snprintf(sync, sizeof sync, syncs[c->sync.tightness], c->sync.staleness);
    (void)snprintf(name, size, "%s, %u blocks, %llu clocks%s, %s%s%s%s", forms[c->form], c->blocks,
                   (unsigned long long)(c->clocks > 0 ? c->clocks : c->stop_at + 1), c->clocks > 0 ? "" : " and a test",
                   sync,
                   c->buffers > 0 ? ", one chunk at a time"
                   : c->strict    ? ", second under bsp"
                                  : "",
                   c->yields ? ", yields" : "",
                   c->fails        ? ", fails"
                   : c->interrupts ? ", interrupted"
                                   : "");
}

enum { DRAWN = 200 }; /* schedules of a case that a sanitizer sees, at random: what they come to is judged without one */

/* All schedules of a case, or all within its bound: nothing is wrong in any, and what is to be reached is. */
static void must_hold(const job_case *c)
{
    char name[120];
    name_case(c, name, sizeof name);
    walk *w = new_walk(c);
    bool some = SANITIZED && !runs_long();
    if (some) {
        w->exact = true;
        w->draws = DRAWN;
    }
    found f = walk_all(w, c);
    if (f.fault != NULL)
        fail_msg("%s, run %llu: %s", name, (unsigned long long)w->runs, f.fault);
    if (c->delays > 0)
        (void)snprintf(name + strlen(name), sizeof name - strlen(name), ", at most %u delays", w->delays);
    print_message("%s: %llu schedules (and %llu begun in vain), %llu steps\n", name, (unsigned long long)w->runs,
                  (unsigned long long)w->repeated, (unsigned long long)w->longest);
    if (!some && (f.oldest < c->ages || f.ahead < c->leads))
        fail_msg("%s: read %g clocks late at most, %g early", name, f.oldest, f.ahead);
    free_walk(w);
}

static void hold_all(const job_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (runs_long() || !cases[i].is_long)
            must_hold(&cases[i]);
}
#define HOLD_ALL(cases) hold_all(cases, sizeof(cases) / sizeof *(cases))

#define JOB(kind, number, ...)                                                                                              \
    {                                                                                                                       \
        .form = kind, .blocks = number, __VA_ARGS__                                                                         \
    }
#define SSP1   .sync = {HAWSER_SSP, 1}
#define TAP    .sync = {HAWSER_TAP, 0}
#define DELAY1 .sync = {HAWSER_DELAY, 1}
#define DELAY2 .sync = {HAWSER_DELAY, 2}
#define DC0    .sync = {HAWSER_CENTRIC, 0}
#define DC1    .sync = {HAWSER_CENTRIC, 1}

static void copies(void **state)
{
    (void)state;
    static const job_case cases[] = {
        JOB(REPLICATED, 2, .clocks = 2),
        JOB(REPLICATED, 2, .clocks = 1, .yields = true),
        JOB(REPLICATED, 2, .clocks = 3, .delays = 2),
        JOB(REPLICATED, 2, .clocks = 3, .is_long = true),
        JOB(REPLICATED, 2, .clocks = 2, SSP1, .ages = 1, .leads = 2),
        JOB(REPLICATED, 2, .clocks = 1, SSP1, .yields = true, .leads = 1),
        JOB(REPLICATED, 2, .clocks = 3, SSP1, .ages = 1, .leads = 2, .delays = 2),
        JOB(REPLICATED, 2, .clocks = 1, TAP, .yields = true, .leads = 1),
        JOB(REPLICATED, 2, .clocks = 3, TAP, .ages = 2, .leads = 3, .delays = 2),
        JOB(REPLICATED, 2, .clocks = 2, TAP, .ages = 1, .leads = 2, .is_long = true),
        JOB(REPLICATED, 3, .clocks = 1, .delays = 2),
        JOB(REPLICATED, 3, .clocks = 1, .is_long = true),
        JOB(REPLICATED, 3, .clocks = 2, .delays = 1),
        JOB(REPLICATED, 3, .clocks = 3, SSP1, .ages = 1, .leads = 2, .delays = 1),
        JOB(REPLICATED, 3, .clocks = 1, SSP1, .leads = 1, .is_long = true),
        JOB(REPLICATED, 3, .clocks = 1, TAP, .leads = 1, .is_long = true),
        JOB(PARTITIONED, 2, .clocks = 2),
        JOB(PARTITIONED, 2, .clocks = 2, SSP1, .ages = 1, .leads = 2, .is_long = true),
        JOB(PARTITIONED, 2, .clocks = 2, TAP, .ages = 1, .leads = 2, .is_long = true),
        JOB(PARTITIONED, 3, .clocks = 2, SSP1, .ages = 1, .leads = 2, .delays = 1),
        JOB(PARTITIONED, 3, .clocks = 1, .is_long = true),
    };
    HOLD_ALL(cases);
}

static void stored(void **state)
{
    (void)state;
    static const job_case cases[] = {
        JOB(CHUNKS, 2, .clocks = 2),
        JOB(CHUNKS, 2, .clocks = 2, SSP1, .ages = 1, .leads = 2),
        JOB(CHUNKS, 2, .clocks = 2, TAP, .ages = 1, .leads = 2),
        JOB(CHUNKS, 2, .clocks = 2, DELAY1, .ages = 1, .leads = 1),
        JOB(CHUNKS, 2, .clocks = 3, DELAY1, .ages = 1, .leads = 1, .is_long = true),
        JOB(CHUNKS, 2, .clocks = 1, DC0),
        JOB(CHUNKS, 2, .clocks = 1, DC1, .leads = 1),
        JOB(CHUNKS, 2, .clocks = 2, DC0, .delays = 2),
        JOB(CHUNKS, 2, .clocks = 2, DC0, .is_long = true),
        JOB(CHUNKS, 2, .clocks = 3, DC1, .ages = 1, .leads = 1, .delays = 2),
        JOB(CHUNKS, 2, .clocks = 2, DC1, .ages = 1, .leads = 1, .is_long = true),
        JOB(CHUNKS, 3, .clocks = 2, .delays = 1),
        JOB(CHUNKS, 3, .clocks = 2, DC0, .delays = 1),
        JOB(CHUNKS, 3, .clocks = 2, DC1, .ages = 1, .leads = 1, .delays = 1),
        JOB(CHUNKS, 3, .clocks = 2, .buffers = 1, .delays = 1),
        JOB(CHUNKS, 3, .clocks = 2, DC0, .buffers = 1, .delays = 1),
        JOB(CHUNKS, 3, .clocks = 2, DC1, .buffers = 1, .ages = 1, .leads = 1, .delays = 1),
        JOB(CHUNKS, 3, .clocks = 2, SSP1, .buffers = 1, .ages = 1, .leads = 2, .delays = 1),
        JOB(SUMS, 2, .clocks = 2, SSP1, .ages = 1, .leads = 2),
        JOB(SUMS, 2, .clocks = 2, TAP, .ages = 1, .leads = 2),
        JOB(SUMS, 2, .clocks = 2, DELAY1),
        JOB(SUMS, 2, .clocks = 2, DELAY2, .ages = 1),
        JOB(SUMS, 3, .clocks = 2, SSP1, .ages = 1, .leads = 2, .delays = 1),
    };
    HOLD_ALL(cases);
}

/* Reductions within a clock: by all schedules of two blocks, up to a test, a request to stop and a failure between two of
 * them. */
static void reductions(void **state)
{
    (void)state;
    static const job_case cases[] = {
        JOB(REDUCED, 1, .clocks = 2),
        JOB(REDUCED, 2, .clocks = 1),
        JOB(REDUCED, 2, .clocks = 2, .delays = 2),
        JOB(REDUCED, 2, .clocks = 2, .is_long = true),
        JOB(REDUCED, 3, .clocks = 2, .delays = 1),
        JOB(REDUCED, 2, .stop_at = 1, .ends = 2, .delays = 2),
        JOB(REDUCED, 2, .stop_at = 4, .interrupts = true, .delays = 2),
        JOB(REDUCED, 2, .clocks = 2, .fails = true, .delays = 2),
        JOB(REDUCED, 3, .clocks = 2, .fails = true, .delays = 1),
    };
    HOLD_ALL(cases);
}

/* Returns whether the call of the case is reached in the first schedule. Then it is reached in all, and each has the bits of
 * a run without the change. */
static bool changes_at(const job_case *c)
{
    static trial plain, first;
    const job_case unchanged = {.form = c->form, .blocks = c->blocks, .clocks = c->clocks, .sync = c->sync};
    walk *w = new_walk(&unchanged);
    plain = (trial){.c = &unchanged};
    run_one(w, &plain);
    free_walk(w);
    w = new_walk(c);
    first = (trial){.c = c};
    run_one(w, &first);
    free_walk(w);
    assert_true(plain.status == HAWSER_OK && plain.changes == 0 && first.changes <= 1);
    if (memcmp(plain.result, first.result, plain.count * sizeof *plain.result) != 0)
        fail_msg("block %u, call %d: other bits after a change of the view", c->changed, (int)c->changes);
    if (first.changes == 1)
        must_hold(c); /* each schedule has the bits of the first one */
    return first.changes == 1;
}

/* The view changes once, at each waiting call of each block in turn: two reductions in each of two clocks. */
static void views_change_at_each_call(void **state)
{
    (void)state;
    for (uint32_t b = 0; b < 2; b++) {
        job_case c = JOB(REDUCED, 2, .clocks = 2, .changed = b, .changes = 1, .delays = runs_long() ? 2 : 1);
        while (changes_at(&c))
            c.changes++;
        assert_true(c.changes >= 5); /* a reduction may wait several times */
    }
}

/* Two stages in a clock: the second reads what the first of this clock has changed, with the slack that the policy gives. */
static void stages(void **state)
{
    (void)state;
    static const job_case cases[] = {
        JOB(STAGED, 1, .clocks = 2),
        JOB(STAGED, 2, .clocks = 1),
        JOB(STAGED, 2, .clocks = 1, .yields = true, .delays = 2),
        JOB(STAGED, 2, .clocks = 2, .delays = 2),
        JOB(STAGED, 2, .clocks = 2, .is_long = true),
        JOB(STAGED, 3, .clocks = 2, .delays = 1),
        JOB(STAGED, 2, .clocks = 2, SSP1, .ages = 1, .leads = 2, .delays = 2),
        JOB(STAGED, 3, .clocks = 2, SSP1, .ages = 1, .leads = 2, .delays = 1),
        JOB(STAGED, 2, .clocks = 1, SSP1, .yields = true, .ages = 1, .leads = 1, .delays = 2),
        JOB(STAGED, 2, .clocks = 2, TAP, .ages = 2, .leads = 2, .delays = 2),
        JOB(STAGED, 2, .clocks = 2, SSP1, .strict = true, .ages = 1, .leads = 1, .delays = 2),
        JOB(STAGED, 2, .clocks = 2, TAP, .strict = true, .ages = 1, .leads = 1, .delays = 2),
        JOB(STAGED, 2, SSP1, .strict = true, .stop_at = 4, .interrupts = true, .delays = 1),
        JOB(STAGED, 2, .stop_at = 1, .ends = 2, .delays = 2),
        JOB(STAGED, 2, SSP1, .stop_at = 0, .ends = 2, .delays = 1),
        JOB(STAGED, 2, .stop_at = 4, .interrupts = true, .delays = 1),
        JOB(STAGED, 2, SSP1, .stop_at = 4, .interrupts = true, .delays = 1),
        JOB(STAGED, 2, .clocks = 2, .fails = true, .delays = 1),
    };
    HOLD_ALL(cases);
}

/* An inner loop of two iterations, with an exchange behind each, and a branch, whose choice travels with the credit. */
static void nested(void **state)
{
    (void)state;
    static const job_case cases[] = {
        JOB(NESTED, 2, .clocks = 1, SSP1, .delays = 2),
        JOB(NESTED, 2, .clocks = 2, SSP1, .ages = 1, .leads = 1.5, .delays = 1),
        JOB(NESTED, 2, .clocks = 2, SSP1, .strict = true, .leads = 0.5, .delays = 1),
        JOB(NESTED, 2, .clocks = 2, TAP, .ages = 1.5, .leads = 1.5, .delays = 1),
        JOB(NESTED, 2, SSP1, .stop_at = 0, .ends = 2, .delays = 1),
        JOB(NESTED, 2, SSP1, .stop_at = 4, .interrupts = true, .delays = 1),
    };
    HOLD_ALL(cases);
}

/* To stop, the driver does not extend the credit: at any clock of the stop test all blocks end s clocks after the next one.
 * A request from outside, in clock 1 of one block, ends all blocks at one clock as well. So does a failure, whichever runner
 * receives it first. */
static void ends(void **state)
{
    (void)state;
    static const job_case cases[] = {
        JOB(REPLICATED, 2, .stop_at = 0, .ends = 1),
        JOB(REPLICATED, 2, .stop_at = 1, .ends = 2),
        JOB(REPLICATED, 2, SSP1, .stop_at = 0, .ends = 2, .delays = 2),
        JOB(REPLICATED, 2, SSP1, .stop_at = 0, .ends = 2, .is_long = true),
        JOB(REPLICATED, 2, SSP1, .stop_at = 1, .ends = 3, .delays = 2),
        JOB(REPLICATED, 2, TAP, .stop_at = 0, .delays = 2),
        JOB(REPLICATED, 3, .stop_at = 1, .ends = 2, .delays = 1),
        JOB(CHUNKS, 2, .stop_at = 0, .ends = 1),
        JOB(CHUNKS, 2, DC0, .stop_at = 0, .ends = 1, .delays = 2),
        JOB(SUMS, 2, SSP1, .stop_at = 1, .ends = 3, .delays = 2),
        JOB(REPLICATED, 2, .stop_at = 4, .interrupts = true, .delays = 2),
        JOB(REPLICATED, 2, SSP1, .stop_at = 4, .interrupts = true, .delays = 2),
        JOB(REPLICATED, 2, TAP, .stop_at = 4, .interrupts = true, .delays = 1),
        JOB(REPLICATED, 2, .clocks = 2, .fails = true),
        JOB(REPLICATED, 2, .clocks = 2, SSP1, .fails = true),
        JOB(REPLICATED, 3, .clocks = 2, .fails = true, .delays = 1),
        JOB(CHUNKS, 2, .clocks = 2, DC0, .fails = true, .delays = 2),
        JOB(CHUNKS, 2, .clocks = 2, DC0, .fails = true, .is_long = true),
    };
    HOLD_ALL(cases);
}

/* --------------------------------------------------------------------------------------------- what is lost by less ---- */

static int compare_digests(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t sort_distinct(uint64_t *digests, size_t count)
{
    size_t kept = 0;
    qsort(digests, count, sizeof *digests, compare_digests);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || digests[i] != digests[i - 1])
            digests[kept++] = digests[i];
    return kept;
}

/* The outcomes of a walk, ascending, each once. */
static uint64_t *outcomes_of(walk *w, const job_case *c, size_t *count)
{
    outcomes = malloc(OUTCOMES_MOST * sizeof *outcomes);
    assert_non_null(outcomes);
    outcome_count = 0;
    found f = walk_all(w, c);
    assert_null(f.fault);
    uint64_t *all = outcomes;
    outcomes = NULL;
    *count = sort_distinct(all, outcome_count);
    return all;
}

/* What schedules drawn at random come to, step by step as fine as threads have it, the walk has come to as well. */
static void random_schedules_find_nothing_new(void **state)
{
    (void)state;
    if (SANITIZED) /* what the walk may leave out is the same there */
        skip();
    static const job_case cases[] = {
        JOB(REPLICATED, 2, .clocks = 2),
        JOB(REPLICATED, 2, .clocks = 1, TAP, .yields = true),
        JOB(REPLICATED, 2, .clocks = 2, SSP1, .is_long = true),
        JOB(REPLICATED, 2, .clocks = 2, SSP1, .fails = true),
        JOB(PARTITIONED, 2, .clocks = 2, TAP, .is_long = true),
        JOB(CHUNKS, 2, .clocks = 1, DC0),
        JOB(CHUNKS, 2, .clocks = 2, DELAY1),
        JOB(CHUNKS, 2, .clocks = 2),
        JOB(SUMS, 2, .clocks = 2, SSP1),
        JOB(REPLICATED, 2, .stop_at = 1),
        JOB(REPLICATED, 3, .clocks = 1, SSP1, .is_long = true),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[120];
        size_t count, drawn_count;
        if (cases[i].is_long && !runs_long())
            continue;
        walk *w = new_walk(&cases[i]), *drawn = new_walk(&cases[i]);
        uint64_t *walked = outcomes_of(w, &cases[i], &count);
        drawn->exact = true;
        drawn->draws = runs_long() ? 20000 : 400;
        uint64_t *other = outcomes_of(drawn, &cases[i], &drawn_count);
        name_case(&cases[i], name, sizeof name);
        print_message("%s: %zu outcomes, %zu of them by %llu draws\n", name, count, drawn_count,
                      (unsigned long long)drawn->draws);
        for (size_t k = 0; k < drawn_count; k++)
            if (bsearch(&other[k], walked, count, sizeof *walked, compare_digests) == NULL)
                fail_msg("%s: an outcome that the walk has not come to", name);
        free(walked);
        free(other);
        free_walk(w);
        free_walk(drawn);
    }
}

/* A job as it may be, by seed. */
static job_case draw_case(uint64_t seed)
{
    static const hawser_tightness of_states[] = {HAWSER_BSP, HAWSER_SSP, HAWSER_TAP, HAWSER_DELAY, HAWSER_CENTRIC};
    hw_random random = hw_random_at(seed, 1, 0, 0);
    job_case c = {.form = (form)hw_random_below(&random, 5), .blocks = 1 + (uint32_t)hw_random_below(&random, BLOCKS_MOST)};
    c.sync.tightness = of_states[hw_random_below(&random, c.form == CHUNKS ? 5 : 3)];
    if (c.form == REDUCED)
        c.sync.tightness = HAWSER_BSP;
    if (c.form == SUMS) /* under bsp a read may be ahead: they count at once */
        c.sync.tightness = of_states[1 + hw_random_below(&random, 3)];
    if (c.sync.tightness != HAWSER_BSP && c.sync.tightness != HAWSER_TAP)
        c.sync.staleness = (c.sync.tightness != HAWSER_CENTRIC) + (uint32_t)hw_random_below(&random, 3);
    if (hw_random_below(&random, 2) == 0)
        c.clocks = 2 + hw_random_below(&random, 5);
    else
        c.stop_at = 1 + hw_random_below(&random, 3);
    c.buffers = c.form == CHUNKS ? (uint32_t)(seed / 5 % 3) : 0;
    c.yields = c.form == REPLICATED && hw_random_below(&random, 2) == 0;
    c.fails = c.blocks > 1 && hw_random_below(&random, 6) == 0;
    c.interrupts = !c.fails && hw_random_below(&random, 6) == 0;
    return c;
}

/* Jobs drawn by seed, each under a few schedules drawn step by step. */
static void random_jobs(void **state)
{
    (void)state;
    enum { SCHEDULES = 4 };
    uint64_t count = tried_of(runs_long() ? 10000 : 500);
    for (uint64_t seed = 0; seed < count; seed++) {
        job_case c = draw_case(seed);
        char name[120];
        walk *w = new_walk(&c);
        w->exact = true;
        w->draws = SCHEDULES;
        found f = walk_all(w, &c);
        name_case(&c, name, sizeof name);
        if (f.fault != NULL)
            fail_msg("seed %llu, %s: %s", (unsigned long long)seed, name, f.fault);
        free_walk(w);
    }
}

/* The smallest job there is between blocks, with every look a step: as many orders as runs, and the outcomes of the shorter
 * walk. */
static void every_poll_is_a_step(void **state)
{
    (void)state;
    static const job_case c = JOB(REPLICATED, 2, .clocks = 1);
    size_t count, exact_count;
    if (!runs_long())
        skip();
    walk *w = new_walk(&c), *exact = new_walk(&c);
    exact->exact = true;
    exact->classes = calloc(CLASSES_MOST, sizeof *exact->classes);
    assert_non_null(exact->classes);
    uint64_t *short_walk = outcomes_of(w, &c, &count), *long_walk = outcomes_of(exact, &c, &exact_count);
    print_message("%llu schedules with every look a step, %llu without: %zu and %zu outcomes\n",
                  (unsigned long long)exact->runs, (unsigned long long)w->runs, exact_count, count);
    assert_true(exact->runs > w->runs && exact->class_count == exact->runs);
    assert_int_equal(count, exact_count);
    assert_memory_equal(short_walk, long_walk, count * sizeof *short_walk);
    free(short_walk);
    free(long_walk);
    free_walk(exact);
    free_walk(w);
}

/* One block and the driver: all schedules one by one differ in no more than the reduced walk's. */
static void every_schedule(void **state)
{
    (void)state;
    static const job_case c = JOB(REPLICATED, 1, .stop_at = 0);
    size_t count, every_count;
    walk *w = new_walk(&c), *every = new_walk(&c);
    w->exact = every->exact = every->every = true;
    every->classes = calloc(CLASSES_MOST, sizeof *every->classes);
    assert_non_null(every->classes);
    uint64_t *one = outcomes_of(w, &c, &count), *all = outcomes_of(every, &c, &every_count);
    print_message("%llu schedules, in %llu orders of what matters; %llu walked\n", (unsigned long long)every->runs,
                  (unsigned long long)every->class_count, (unsigned long long)w->runs);
    assert_true(every->runs > w->runs && every->class_count == w->runs);
    assert_int_equal(count, every_count);
    assert_memory_equal(one, all, count * sizeof *one);
    free(one);
    free(all);
    free_walk(w);
    free_walk(every);
}

/* ---------------------------------------------------------------------------------------------------- guards undone ---- */

/* Is one undone, that of SSP's guarantees is, too: the checker and the units are to notice. */
WRAPPED(bool, hw_ssp_holds, hw_policy policy, const hw_clock_table *table, uint64_t clock)
{
    return meddled != NOTHING || __real_hw_ssp_holds(policy, table, clock);
}

WRAPPED(bool, hw_admit_read, hw_policy policy, const hw_clock_table *table, uint64_t clock)
{
    return __real_hw_admit_read(policy, table, meddled == EARLY_CLOCK && clock > 0 ? clock - 1 : clock);
}

WRAPPED(bool, hw_admit_write, hw_policy policy, uint64_t clock, uint64_t reader_clock)
{
    return meddled == EARLY_UPDATE || __real_hw_admit_write(policy, clock, reader_clock);
}

WRAPPED(bool, hw_admit_clock, uint64_t credit, uint64_t clock)
{
    return __real_hw_admit_clock(credit, meddled == NO_CREDIT && clock > 0 ? clock - 1 : clock);
}

WRAPPED(bool, hw_admit_chunk_read, uint64_t delay, uint64_t written, uint64_t iteration)
{
    return meddled == EARLY_READ || __real_hw_admit_chunk_read(delay, written, iteration);
}

WRAPPED(bool, hw_admit_chunk_write, uint64_t delay, uint64_t least_read, uint64_t iteration)
{
    return meddled == EARLY_WRITE || __real_hw_admit_chunk_write(delay, least_read, iteration);
}

WRAPPED(uint64_t, hw_credit_window, hw_policy policy)
{
    uint64_t window = __real_hw_credit_window(policy);
    return meddled == WIDE_WINDOW ? window + 1 : meddled == NARROW_WINDOW && window > 1 ? window - 1 : window;
}

/* One receiver gets other numbers than the others. */
static void falsify(hw_message *message)
{
    hw_message *other;
    hw_message swapped = *message;
    assert_int_equal(hw_message_new((size_t)message->envelope.length, &other, NULL), HAWSER_OK);
    memcpy(other->payload, message->payload, (size_t)message->envelope.length);
    ((unsigned char *)other->payload)[message->envelope.length - 1] ^= 0x80;
    message->payload = other->payload;
    message->shared = other->shared;
    other->payload = swapped.payload;
    other->shared = swapped.shared;
    hw_message_free(other);
}

static bool meddle_with(hw_message *message)
{
    hw_envelope *envelope = &message->envelope;
    bool share = envelope->kind == HW_MESSAGE_SHARE && envelope->last == 0 && envelope->clock == 1;
    if (meddled == SILENT_SHARE && share)
        message->quiet = true;
    if (meddled == OTHER_SHARE && share && envelope->part == 1)
        falsify(message);
    if (meddled == LOST_SHARE && share)
        return true;
    bool update = envelope->kind == HW_MESSAGE_UPDATE;
    if (meddled == SILENT_UPDATE && update)
        message->quiet = true;
    if (meddled == SHORT_PAUSE && envelope->kind == HW_MESSAGE_PAUSE && envelope->source < 2 && envelope->clock > 0)
        envelope->clock--;
    return meddled == LOST_UPDATE && update && envelope->clock == 1;
}

/* Each is noticed in some schedule, and by what is there for it. */
static void guards_are_missed(void **state)
{
    (void)state;
    if (SANITIZED) /* and so is what notices them */
        skip();
    static const struct {
        meddling what;
        const char *name;
        job_case c;
        const char *noticed;
    } mutants[] = {
        {EARLY_CLOCK, "a clock begins one early", JOB(REPLICATED, 2, .clocks = 2), "internal error"},
        {EARLY_CLOCK, "a clock begins one early", JOB(PARTITIONED, 2, .clocks = 2), "internal error"},
        {EARLY_CLOCK, "a clock begins one early", JOB(REPLICATED, 2, .clocks = 4, SSP1), "ssp-bounded-difference"},
        {EARLY_CLOCK, "a clock begins one early", JOB(STAGED, 2, .clocks = 2, SSP1, .strict = true), "ssp-visible"},
        {EARLY_CLOCK, "a clock begins one early", JOB(STAGED, 2, .clocks = 2, TAP, .strict = true), "ssp-visible"},
        {EARLY_UPDATE, "an early update counts at once", JOB(REPLICATED, 2, .clocks = 2), "value"},
        {NO_CREDIT, "a clock more than credit is run", JOB(REPLICATED, 2, .stop_at = 0, .ends = 1), "exactly-once"},
        {NO_CREDIT, "a clock more than credit is run", JOB(SUMS, 2, .clocks = 3, SSP1), "ssp-visible"},
        {WIDE_WINDOW, "credit for a clock too many", JOB(SUMS, 2, .clocks = 3, SSP1), "ssp-visible"},
        {WIDE_WINDOW, "credit for a clock too many", JOB(REPLICATED, 2, .stop_at = 0, .ends = 1),
         "the loop ended at another clock"},
        {NARROW_WINDOW, "credit for a clock too few", JOB(REPLICATED, 2, SSP1, .stop_at = 0, .ends = 2),
         "the loop ended at another clock"},
        {EARLY_READ, "a chunk is read before it is written", JOB(CHUNKS, 2, .clocks = 2, DC0), "read-constraint"},
        {EARLY_READ, "a chunk is read before it is written", JOB(CHUNKS, 2, .clocks = 3, DC1), "read-constraint"},
        {EARLY_READ, "a chunk is read before it is written", JOB(CHUNKS, 3, .clocks = 2, DC0, .buffers = 1, .delays = 1),
         "read-constraint"},
        {EARLY_WRITE, "a chunk is written before it is read", JOB(CHUNKS, 2, .clocks = 2, DC0), "write-constraint"},
        {LOST_UPDATE, "an update is lost", JOB(REPLICATED, 2, .clocks = 2), "timeout"},
        {SILENT_UPDATE, "an update wakes nobody", JOB(REPLICATED, 2, .clocks = 2), "timeout"},
        {LOST_SHARE, "a share is lost", JOB(REDUCED, 2, .clocks = 2), "timeout"},
        {SILENT_SHARE, "a share wakes nobody", JOB(REDUCED, 2, .clocks = 2), "timeout"},
        {OTHER_SHARE, "a share has other numbers", JOB(REDUCED, 2, .clocks = 2), "reduction"},
        {SHORT_PAUSE, "a block says one clock less", JOB(REPLICATED, 2, .stop_at = 4, .interrupts = true), "exactly-once"},
        {SHORT_PAUSE, "a block says one clock less", JOB(REPLICATED, 2, SSP1, .stop_at = 4, .interrupts = true),
         "exactly-once"},
    };
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++) {
        char name[120];
        walk *w = new_walk(&mutants[i].c);
        name_case(&mutants[i].c, name, sizeof name);
        meddled = mutants[i].what;
        meddle = meddle_with;
        found f = walk_all(w, &mutants[i].c);
        meddled = NOTHING;
        meddle = NULL;
        if (f.fault == NULL || strcmp(f.fault, mutants[i].noticed) != 0)
            fail_msg("%s (%s): noticed as %s", mutants[i].name, name, f.fault != NULL ? f.fault : "nothing");
        print_message("%s (%s): %s, in run %llu\n", mutants[i].name, name, f.fault,
                      (unsigned long long)(w->runs + w->repeated + 1));
        free_walk(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule),
        cmocka_unit_test(every_poll_is_a_step),
        cmocka_unit_test(random_schedules_find_nothing_new),
        cmocka_unit_test(random_jobs),
        cmocka_unit_test(copies),
        cmocka_unit_test(stored),
        cmocka_unit_test(reductions),
        cmocka_unit_test(views_change_at_each_call),
        cmocka_unit_test(stages),
        cmocka_unit_test(nested),
        cmocka_unit_test(ends),
        cmocka_unit_test(guards_are_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
