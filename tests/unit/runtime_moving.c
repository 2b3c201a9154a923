/*
 * runtime_moving.c - moving states: drawn programs with parts that move by rotation or by an owner of their own, in loops of
 * each kind, under each sync, on any number of blocks and nodes. A loop over one array, written apart, says what each number
 * becomes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "base/type.h"
#include "hawser/advanced.h"
#include "hawser/kept_points.h"
#include "hawser/moving.h"
#include "history_memory.h"
#include "nodes.h"
#include "sanitized.h"

enum { LINES_MOST = 40, WIDTH_MOST = 6, PARTS_MOST = 24, MODULUS = 1009 };

typedef enum form { SHIPPED, AROUND, STEPPED, INNER, STAGED, FORMS } form;

typedef struct trial {
    uint64_t seed;
    form form;
    uint32_t blocks, parts;
    hawser_type type;
    hawser_sync sync;
    size_t lines, offsets[LINES_MOST + 1], cut[PARTS_MOST + 1];
    uint64_t outer, clocks;
    uint64_t keep,
        back; /* after which clock of the outer loop the state is kept, and after which it comes back; none: UINT64_MAX */
    bool own_owner, from_zero, idle; /* idle: units of some clocks do not ask for parts */
    int32_t initial[LINES_MOST * WIDTH_MOST];
} trial;

/* ---- the oracle ---- */

static uint32_t owner_of(uint32_t part, uint64_t clock, uint32_t blocks, void *user)
{
    const trial *t = user;
    uint64_t shift = (clock * clock * 3 + clock * (t->seed % 7) + t->seed) % blocks;
    return (uint32_t)((part / (t->parts / blocks) + shift) % blocks);
}

static uint32_t block_of(const trial *t, uint32_t part, uint64_t clock)
{
    return t->own_owner ? owner_of(part, clock, t->blocks, (void *)(uintptr_t)t)
                        : (uint32_t)((part + t->blocks - clock % t->blocks) % t->blocks);
}

static bool is_idle(const trial *t, uint64_t clock, uint32_t block)
{
    return t->idle && (clock + block) % 3 == 0;
}

static int64_t changed(int64_t value, uint64_t clock, uint32_t part, size_t number, uint32_t block, int salt)
{
    return (value * 3 + (int64_t)(clock * 7 + part * 13 + number + block * 101) + salt) % MODULUS;
}

static void pass(const trial *t, int64_t *all, uint64_t clock, int salt)
{
    for (uint32_t p = 0; p < t->parts; p++) {
        uint32_t block = block_of(t, p, clock);
        for (size_t i = t->offsets[t->cut[p]]; i < t->offsets[t->cut[p + 1]] && !is_idle(t, clock, block); i++)
            all[i] = changed(all[i], clock, p, i, block, salt);
    }
}

static void keep_or_return(const trial *t, uint64_t clock, int64_t *all, int64_t *kept)
{
    const size_t bytes = t->offsets[t->lines] * sizeof *all;
    if (clock == t->keep)
        memcpy(kept, all, bytes);
    if (clock == t->back)
        memcpy(all, kept, bytes);
}

static void expect(const trial *t, int64_t *all)
{
    int64_t kept[LINES_MOST * WIDTH_MOST + 1] = {0};
    for (size_t i = 0; i < t->offsets[t->lines]; i++)
        all[i] = t->from_zero ? 0 : t->initial[i];
    if (t->form == AROUND)
        pass(t, all, 0, 1);
    for (uint64_t o = 0; o < (t->form == STEPPED ? t->outer : 1); o++) {
        if (t->form == STEPPED)
            pass(t, all, o, 2);
        for (uint64_t c = 0; c < t->clocks; c++) {
            pass(t, all, c, 3);
            for (uint64_t k = 0; t->form == INNER && k < t->outer; k++)
                pass(t, all, k, 4);
            if (t->form == STAGED)
                pass(t, all, c, 5);
            if (t->form != STEPPED)
                keep_or_return(t, c, all, kept);
        }
        if (t->form == STEPPED)
            keep_or_return(t, o, all, kept);
    }
    if (t->form == AROUND)
        pass(t, all, 0, 6);
}

/* ---- the program ---- */

static void change(const hawser_moving_part *part, size_t i, int64_t by)
{
    switch (part->type) {
    case HAWSER_F64: ((double *)part->values)[i] = (double)by; break;
    case HAWSER_F32: ((float *)part->values)[i] = (float)by; break;
    case HAWSER_I64: ((int64_t *)part->values)[i] = by; break;
    case HAWSER_I32: ((int32_t *)part->values)[i] = (int32_t)by; break;
    }
}

static int64_t value_at(const void *values, hawser_type type, size_t i)
{
    switch (type) {
    case HAWSER_F64: return (int64_t)((const double *)values)[i];
    case HAWSER_F32: return (int64_t)((const float *)values)[i];
    case HAWSER_I64: return ((const int64_t *)values)[i];
    default: return ((const int32_t *)values)[i];
    }
}

static hawser_status visit_parts(hawser_context *context, int salt)
{
    const trial *t = hawser_user(context);
    uint32_t own = hawser_block(context), before = 0, count = 0;
    uint64_t clock = hawser_clock(context);
    hawser_moving_part part;
    if (is_idle(t, clock, own))
        return HAWSER_OK;
    for (;; count++) {
        HAWSER_TRY(hawser_next_part(context, "n", &part));
        if (part.number == UINT32_MAX)
            break;
        if (part.number >= t->parts || (count > 0 && part.number <= before) || block_of(t, part.number, clock) != own ||
            part.first_line != t->cut[part.number] || part.lines != t->cut[part.number + 1] - t->cut[part.number] ||
            part.first != t->offsets[part.first_line] ||
            part.count != t->offsets[part.first_line + part.lines] - part.first || part.type != t->type)
            return hawser_unit_fail(context, HAWSER_BAD_PROGRAM, "part %u is wrong", part.number);
        before = part.number;
        for (size_t i = 0; i < part.count; i++)
            change(&part, i, changed(value_at(part.values, part.type, i), clock, part.number, part.first + i, own, salt));
    }
    return count == t->parts / t->blocks
               ? HAWSER_OK
               : hawser_unit_fail(context, HAWSER_BAD_PROGRAM, "%u parts in clock %llu", count, (unsigned long long)clock);
}

#define UNIT(name, salt)                                                                                                    \
    static hawser_status name(hawser_context *context)                                                                      \
    {                                                                                                                       \
        return visit_parts(context, salt);                                                                                  \
    }
UNIT(first, 1)
UNIT(around, 2)
UNIT(step, 3)
UNIT(inner, 4)
UNIT(second, 5)
UNIT(last, 6)

static hawser_status count_clocks(hawser_context *context)
{
    HAWSER_WRITE(context, int64_t, clocks);
    clocks[0]++;
    return HAWSER_OK;
}

/* Makes what comes next a stage of its own. */
static hawser_status look(hawser_context *context)
{
    HAWSER_READ(context, int64_t, clocks);
    return clocks[0] >= 0 ? HAWSER_OK : HAWSER_BAD_PROGRAM;
}

static bool keeps_and_returns(hawser_progress *progress, void *user)
{
    const trial *t = user;
    if (hawser_progress_clock(progress) == t->keep)
        hawser_progress_keep(progress, 0);
    if (hawser_progress_clock(progress) == t->back)
        hawser_progress_return(progress, 0);
    return false;
}

static hawser_program *build(trial *t, const void *initial)
{
    hawser_program *p = hawser_program_new("moving", t);
    hawser_state *n = HAWSER_STATE(p, "n", HAWSER_MOVING, .type = t->type, .lines = t->lines, .offsets = t->offsets,
                                   .parts = t->parts, .cut = t->cut, .owner = t->own_owner ? owner_of : NULL,
                                   .owner_user = t, .initial = t->from_zero ? NULL : initial, .keep = t->keep != UINT64_MAX);
    hawser_state *clocks = HAWSER_STATE(p, "clocks", HAWSER_REPLICATED, .type = HAWSER_I64, .rows = 1);
    hawser_operator *at = hawser_root(p);
    bool (*test)(hawser_progress * progress, void *user) = t->keep != UINT64_MAX ? keeps_and_returns : NULL;
    if (t->form == AROUND)
        HAWSER_UNIT(at, "first", first, .updates = {n});
    if (t->form == STEPPED) {
        at = HAWSER_LOOP(at, "outer", hawser_bsp(), .clocks = t->outer, .test = test, .user = t);
        HAWSER_UNIT(at, "around", around, .updates = {n});
    }
    hawser_operator *loop =
        HAWSER_LOOP(at, "loop", t->sync, .clocks = t->clocks, .test = t->form != STEPPED ? test : NULL, .user = t);
    HAWSER_UNIT(loop, "step", step, .updates = {n});
    if (t->form == INNER)
        HAWSER_UNIT(HAWSER_LOOP(loop, "inner", hawser_bsp(), .clocks = t->outer), "inner", inner, .updates = {n});
    HAWSER_UNIT(loop, "count", count_clocks, .updates = {clocks});
    if (t->form == STAGED) {
        HAWSER_UNIT(loop, "look", look, .reads = {clocks});
        HAWSER_UNIT(loop, "second", second, .reads = {clocks}, .updates = {n});
    }
    if (t->form == AROUND)
        HAWSER_UNIT(hawser_root(p), "last", last, .updates = {n});
    return p;
}

static trial draw(uint64_t seed, uint32_t blocks)
{
    hw_random random = hw_random_at(seed, 7, 7, 7);
    trial t = {.seed = seed, .blocks = blocks, .form = (form)hw_random_below(&random, FORMS)};
    static const hawser_type types[] = {HAWSER_F64, HAWSER_F32, HAWSER_I64, HAWSER_I32};
    t.type = types[hw_random_below(&random, 4)];
    t.parts = blocks * (1 + (uint32_t)hw_random_below(&random, 3));
    t.lines = hw_random_below(&random, LINES_MOST + 1);
    for (size_t i = 0; i < t.lines; i++)
        t.offsets[i + 1] = t.offsets[i] + hw_random_below(&random, WIDTH_MOST);
    for (uint32_t p = 1; p < t.parts; p++)
        t.cut[p] = t.cut[p - 1] + hw_random_below(&random, (t.lines - t.cut[p - 1]) / 2 + 1);
    t.cut[t.parts] = t.lines;
    t.outer = 1 + hw_random_below(&random, 4);
    t.clocks = 1 + hw_random_below(&random, 9);
    const hawser_sync syncs[] = {hawser_bsp(), hawser_ssp(1), hawser_ssp(3), hawser_tap()};
    t.sync = syncs[hw_random_below(&random, 4)];
    if (t.form == INNER && t.sync.tightness == HAWSER_BSP)
        t.sync = hawser_ssp(2); /* the driver steps such a loop under bsp, which STEPPED tries */
    t.own_owner = hw_random_below(&random, 2) == 0;
    t.from_zero = hw_random_below(&random, 3) == 0;
    t.idle = hw_random_below(&random, 4) == 0;
    t.keep = t.back = UINT64_MAX;
    if (t.form != INNER && hw_random_below(&random, 3) == 0) {
        t.sync = hawser_bsp();
        t.keep = hw_random_below(&random, t.form == STEPPED ? t.outer : t.clocks);
        t.back = t.keep + 1 + hw_random_below(&random, 3);
    }
    for (size_t i = 0; i < t.offsets[t.lines]; i++)
        t.initial[i] = (int32_t)hw_random_below(&random, MODULUS);
    return t;
}

static void convert(const trial *t, void *to)
{
    for (size_t i = 0; i < t->offsets[t->lines]; i++)
        change(&(hawser_moving_part){.values = to, .type = t->type}, i, t->initial[i]);
}

static void check_result(const trial *t, const hawser_run *run)
{
    int64_t all[LINES_MOST * WIDTH_MOST + 1] = {0};
    size_t count = 0, size = t->offsets[t->lines];
    expect(t, all);
    double part[3] = {0};
    hawser_error error = {0};
    size_t first = size > 3 ? t->seed % (size - 3) : 0, some = size < 3 ? size : 3;
    if (hawser_result_range_as(run, "n", first, some, t->type, part, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < some; i++)
        assert_int_equal(value_at(part, t->type, i), all[first + i]);
    const void *values = result_of(run, "n", t->type, &count);
    assert_true(values != NULL || size == 0);
    assert_int_equal(count, size);
    for (size_t i = 0; i < size; i++)
        if (value_at(values, t->type, i) != all[i])
            fail_msg("seed %llu, form %d, sync %d, %u blocks, %u parts: number %zu is %lld, not %lld",
                     (unsigned long long)t->seed, t->form, t->sync.tightness, t->blocks, t->parts, i,
                     (long long)value_at(values, t->type, i), (long long)all[i]);
}

static hawser_status run_trial(hawser_job *job, uint64_t seed, hawser_error *error)
{
    trial t = draw(seed, hawser_job_workers(job));
    double initial[LINES_MOST * WIDTH_MOST + 1];
    convert(&t, initial);
    hawser_program *p = build(&t, initial);
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, p, &run, error);
    if (status == HAWSER_OK)
        check_result(&t, run);
    hawser_run_free(run);
    hawser_program_free(p);
    return status;
}

static void parts_are_where_they_belong(void **state)
{
    (void)state;
    static const char *const workers[] = {"1", "2", "3", "5", "8"};
    for (uint64_t seed = 0; seed < tried_of(200); seed++) {
        test_job job = OPEN_JOB("workers", workers[seed % 5], "timeout", "20");
        hawser_error error = {0};
        if (run_trial(job.job, seed, &error) != HAWSER_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
        close_job(job);
    }
}

/* Blocks as fibers, in drawn orders. */
static void schedules_do_not_matter(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < schedules_of(200); seed++) {
        test_job job = OPEN_JOB("workers", seed % 2 == 0 ? "3" : "4", "timeout", "20");
        hawser_error error = {0};
        hw_job_use_fibers(job.job, seed + 1);
        if (seed % 3 != 0) /* waiting calls say that the view has changed, and the stage is done over */
            hw_job_change_view(job.job, 2 + seed % 3, seed);
        if (run_trial(job.job, seed + 1000, &error) != HAWSER_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
        close_job(job);
    }
}

/* ---- histories ---- */

static hw_history recorded(uint64_t seed)
{
    char path[64];
    int file = history_file(path, sizeof path);
    assert_int_equal(ftruncate(file, 0), 0);
    test_job job = OPEN_JOB("workers", seed % 2 == 0 ? "3" : "4", "timeout", "20", "record-history", path);
    hawser_error error = {0};
    hw_job_use_fibers(job.job, seed + 1);
    if (run_trial(job.job, seed, &error) != HAWSER_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
    close_job(job);
    hw_history history = {0};
    hw_verdict verdict = {0};
    check_history_file(file, &history, &verdict);
    if (verdict.broken)
        fail_msg("seed %llu: %s", (unsigned long long)seed, verdict.text);
    assert_true(verdict.checked[HW_RULE_MOVING] > 0);
    return history;
}

typedef enum lie { ANOTHER_VERSION, WRONG_BLOCK, LOST, TWICE, LIES } lie;

/* Returns the number of uses in a record's epoch: to which block the last one leaves a part matters to none. */
static uint64_t last_use(const hw_history *history, const hw_event_record *of)
{
    uint64_t uses = 0;
    for (size_t s = 0; s < history->count; s++)
        for (size_t i = 0; i < history->streams[s].count; i++) {
            const hw_event_record *r = &history->streams[s].records[i];
            if (r->kind == HW_EVENT_PASSED && r->epoch == of->epoch && r->clock + 1 > uses)
                uses = r->clock + 1;
        }
    return uses;
}

/* Draws a record that can lie; NULL: none was found. */
static hw_event_record *draw_record(hw_history *history, hw_random *random)
{
    hw_stream *stream = &history->streams[hw_random_below(random, history->count)];
    for (int tries = 0; tries < 1000; tries++) {
        hw_event_record *r = &stream->records[hw_random_below(random, stream->count)];
        if (r->kind == HW_EVENT_PASSED && r->clock > 0)
            return r;
    }
    return NULL;
}

static void lie_about(hw_event_record *r, lie kind, uint32_t streams, hw_random *random)
{
    switch (kind) {
    case ANOTHER_VERSION: r->first ^= 1 + hw_random_below(random, UINT32_MAX); break;
    case WRONG_BLOCK: r->from = (r->from + 1) % streams; break;
    case LOST:
        *r = (hw_event_record){.kind = HW_EVENT_CREDIT, .actor = r->actor, .epoch = r->epoch, .count = UINT32_MAX};
        break;
    default: r->clock--; break;
    }
}

static void lies_of_histories_are_noticed(void **state)
{
    (void)state;
    uint32_t told = 0;
    for (uint64_t seed = 30000; seed < 30000 + schedules_of(40); seed++) {
        hw_random random = hw_random_at(seed, 1, 1, 1);
        hw_history history = recorded(seed);
        for (lie kind = 0; kind < LIES; kind++) {
            hw_verdict verdict = {0};
            hawser_error error = {0};
            hw_event_record *r = draw_record(&history, &random), truth;
            if (r == NULL || (kind == WRONG_BLOCK && r->clock + 1 == last_use(&history, r)))
                continue;
            told++;
            truth = *r;
            lie_about(r, kind, (uint32_t)history.count, &random);
            assert_int_equal(hw_history_check(&history, &verdict, &error), HAWSER_OK);
            if (!verdict.broken)
                fail_msg("seed %llu: lie %d is not noticed", (unsigned long long)seed, kind);
            *r = truth;
        }
        hw_history_free(&history);
    }
    assert_true(told > schedules_of(40));
}

/* ---- what is refused ---- */

static hawser_status reads_whole(hawser_context *context)
{
    const double *n;
    return hawser_read(context, "n", &n);
}

static hawser_status writes_whole(hawser_context *context)
{
    double *n;
    return hawser_write(context, "n", &n);
}

static hawser_status overflows(hawser_context *context)
{
    hawser_moving_part part;
    HAWSER_TRY(hawser_next_part(context, "n", &part));
    if (part.number == 1 && part.count > 1)
        ((double *)part.values)[1] = 1e308 * (double)(hawser_clock(context) + 1) * 10;
    return HAWSER_OK;
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const size_t offsets[] = {0, 2, 5, 6}, cut[] = {0, 1, 3};
    const struct {
        hawser_unit_function *run;
        const char *text;
    } wrong[] = {{reads_whole, "state 'n' is moving; take its parts by hawser_next_part"},
                 {writes_whole, "state 'n' is moving; take its parts by hawser_next_part"},
                 {overflows, "moving state 'n', part 1: number 3 became inf"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        test_job job = OPEN_JOB("workers", "2", "timeout", "20");
        hawser_program *p = hawser_program_new("wrong", NULL);
        hawser_state *n = HAWSER_STATE(p, "n", HAWSER_MOVING, .lines = 3, .offsets = offsets, .parts = 2, .cut = cut);
        HAWSER_UNIT(HAWSER_LOOP(hawser_root(p), "loop", hawser_bsp(), .clocks = 5), "u", wrong[k].run, .updates = {n});
        hawser_run *run = NULL;
        hawser_error error = {0};
        assert_true(hawser_run_program(job.job, p, &run, &error) < HAWSER_OK);
        if (strstr(error.text, wrong[k].text) == NULL)
            fail_msg("'%s' is not in '%s'", wrong[k].text, error.text);
        assert_null(run);
        hawser_program_free(p);
        close_job(job);
    }
}

enum { MANY = 5000 };

static hawser_status writes_what_it_reads(hawser_context *context)
{
    const size_t *from = hawser_user(context); /* and to: which numbers of each part it writes */
    hawser_moving_part part = {0};
    for (;;) {
        HAWSER_TRY(hawser_next_part(context, "n", &part));
        if (part.number == UINT32_MAX)
            return HAWSER_OK;
        for (size_t i = from[0]; i < from[1]; i++)
            ((double *)part.values)[i] += 1;
    }
}

/* One number is found where all are compared, or in a part that is small; a change of all is always found. */
static void a_write_to_a_read_part_is_found(void **state)
{
    (void)state;
    static const size_t cut[] = {0, MANY, 2 * (size_t)MANY}, some[] = {77, 78}, all[] = {0, MANY}, none[] = {5, 5};
    size_t *offsets = calloc(2 * (size_t)MANY + 1, sizeof *offsets);
    assert_non_null(offsets);
    for (size_t i = 0; i <= 2 * (size_t)MANY; i++)
        offsets[i] = i;
    const struct {
        const size_t *written;
        const char *rehearse;
        bool found;
    } runs[] = {{all, "0", true}, {some, "1", true}, {none, "0", false}, {none, "1", false}};
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        test_job job = OPEN_JOB("workers", "2", "timeout", "20", "rehearse", runs[k].rehearse);
        hawser_program *p = hawser_program_new("reads", (void *)(uintptr_t)runs[k].written);
        hawser_state *n =
            HAWSER_STATE(p, "n", HAWSER_MOVING, .lines = 2 * (size_t)MANY, .offsets = offsets, .parts = 2, .cut = cut);
        HAWSER_UNIT(HAWSER_LOOP(hawser_root(p), "loop", hawser_bsp(), .clocks = 2), "u", writes_what_it_reads, .reads = {n});
        hawser_run *run = NULL;
        hawser_error error = {0};
        hawser_status status = hawser_run_program(job.job, p, &run, &error);
        if ((status == HAWSER_BAD_PROGRAM) != runs[k].found)
            fail_msg("run %zu: %s", k, error.text);
        if (runs[k].found && strstr(error.text, "of moving state 'n' was written, but the unit only reads it") == NULL)
            fail_msg("%s", error.text);
        hawser_run_free(run);
        hawser_program_free(p);
        close_job(job);
    }
    free(offsets);
}

static void run_node(test_node *node)
{
    node->status = run_trial(node->job, *(const uint64_t *)node->user, &node->error);
}

/* Adds 1 to all numbers; from clock 3 on they overflow. */
static hawser_status grows(hawser_context *context)
{
    const trial *t = hawser_user(context);
    hawser_moving_part part;
    for (;;) {
        HAWSER_TRY(hawser_next_part(context, "n", &part));
        if (part.number == UINT32_MAX)
            return HAWSER_OK;
        for (size_t i = 0; i < part.count; i++)
            ((double *)part.values)[i] += t->idle || hawser_clock(context) < 3 ? 1 : 1e308 * 10;
    }
}

/* A run that fails or ends early has the kept parts as its result, wherever the parts were. */
static void run_to_a_point(test_node *node)
{
    static const size_t lines[] = {0, 1, 3, 4, 4}, cut[] = {0, 1, 2, 3, 4};
    trial t = {.keep = 1, .back = UINT64_MAX, .idle = *(const bool *)node->user};
    hawser_program *p = hawser_program_new("to a point", &t);
    hawser_state *n =
        HAWSER_STATE(p, "n", HAWSER_MOVING, .lines = 4, .offsets = lines, .parts = 4, .cut = cut, .keep = true);
    HAWSER_UNIT(HAWSER_LOOP(hawser_root(p), "loop", hawser_bsp(), .clocks = 9, .test = keeps_and_returns, .user = &t),
                "grows", grows, .updates = {n});
    hawser_run *run = NULL;
    double values[4] = {0};
    node->status = hawser_run_program(node->job, p, &run, &node->error);
    if (node->status == (t.idle ? HAWSER_STOP : HAWSER_NOT_FINITE) && hawser_run_kept(run))
        node->status = hawser_result_range(run, "n", 0, 4, values, &node->error);
    for (int i = 0; i < 4 && node->status == HAWSER_OK; i++)
        if (values[i] != 2)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "number %d is %g", i, values[i]);
    hawser_run_free(run);
    hawser_program_free(p);
}

static void a_kept_point_is_the_result(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 3; count++)
        for (int early = 0; early < 2; early++) {
            test_node nodes[NODES_MOST];
            bool ends_early = early == 1;
            const char *const pairs[] = {"workers", "4", "timeout", "20", "max-clocks", ends_early ? "5" : "0", NULL};
            run_nodes(nodes, count, pairs, run_to_a_point, &ends_early);
            check_all(nodes, count, ends_early ? "ends early" : "fails");
        }
}

static void run_with_other_cut(test_node *node)
{
    static const size_t lines[] = {0, 1, 2, 3, 4}, cuts[][3] = {{0, 2, 4}, {0, 1, 4}};
    trial t = {.blocks = 2};
    hawser_program *p = hawser_program_new("other cut", &t);
    hawser_state *n = HAWSER_STATE(p, "n", HAWSER_MOVING, .lines = 4, .offsets = lines, .parts = 2, .cut = cuts[node->node]);
    HAWSER_UNIT(HAWSER_LOOP(hawser_root(p), "loop", hawser_bsp(), .clocks = 3), "reads", reads_whole, .reads = {n});
    hawser_run *run = NULL;
    node->status = hawser_run_program(node->job, p, &run, &node->error);
    assert_null(run);
    hawser_program_free(p);
}

/* Parts that nodes cut in other places are refused before anything is sent. */
static void nodes_have_the_same_parts(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    const char *const pairs[] = {"workers", "2", "timeout", "20", NULL};
    run_nodes(nodes, 2, pairs, run_with_other_cut, NULL);
    for (int k = 0; k < 2; k++)
        if (nodes[k].status != HAWSER_BAD_PROGRAM || strstr(nodes[k].error.text, "parts of the digest") == NULL)
            fail_msg("node %d: %s", k, nodes[k].error.text);
}

static void nodes_make_no_difference(void **state)
{
    (void)state;
    static const char *const topologies[] = {"all", "tree", "servers:1"};
    for (uint64_t seed = 0; seed < tried_of(40); seed++) {
        test_node nodes[NODES_MOST];
        const char *const pairs[] = {
            "workers", seed % 3 == 0 ? "6" : seed % 3 == 1 ? "3" : "4", "topology", topologies[seed % 3], "timeout", "20",
            NULL};
        uint64_t drawn = seed + 5000;
        uint32_t count = 2 + (uint32_t)(seed % 2);
        run_nodes(nodes, count, pairs, run_node, &drawn);
        check_all(nodes, count, "moving");
    }
}

static void rehearsals_make_no_difference(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < tried_of(60); seed++) {
        test_job job = OPEN_JOB("workers", seed % 2 == 0 ? "3" : "2", "timeout", "20", "rehearse", "1");
        hawser_error error = {0};
        if (run_trial(job.job, seed + 9000, &error) != HAWSER_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
        close_job(job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_where_they_belong),    cmocka_unit_test(schedules_do_not_matter),
        cmocka_unit_test(nodes_make_no_difference),       cmocka_unit_test(nodes_have_the_same_parts),
        cmocka_unit_test(rehearsals_make_no_difference),  cmocka_unit_test(lies_of_histories_are_noticed),
        cmocka_unit_test(what_makes_no_sense_is_refused), cmocka_unit_test(a_write_to_a_read_part_is_found),
        cmocka_unit_test(a_kept_point_is_the_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
