/*
 * runtime_entries.c - entries states: drawn programs with a number for each stored entry of sparse rows, or as many as its
 * value says, under each sync, on any number of blocks and nodes. A loop over one array, written apart, says what each
 * number becomes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/type.h"
#include "hawser/advanced.h"
#include "hawser/job_data.h"
#include "hawser/kept_points.h"
#include "nodes.h"
#include "sanitized.h"

enum { ROWS_MOST = 30, COLS = 7, ENTRIES_MOST = ROWS_MOST * COLS, VALUE_MOST = 4, NUMBERS_MOST = ENTRIES_MOST * VALUE_MOST };
enum { MODULUS = 1009 };

/* How the nodes come to have the rows: all have them, or they deal them out, or each keeps its own. */
typedef enum place { EVERYWHERE, DEALT, OWN } place;

typedef struct trial {
    uint64_t seed;
    uint32_t blocks;
    hawser_type type;
    hawser_sync sync;
    bool by_value, from_zero, staged, steps;
    uint64_t clocks, keep,
        back; /* keep: after which clock the state is kept, and after which it comes back; none: UINT64_MAX */
    size_t rows, entries, numbers;
    uint64_t offsets[ROWS_MOST + 1];
    uint32_t indices[ENTRIES_MOST];
    double doubles[ENTRIES_MOST];
    float floats[ENTRIES_MOST];
    hawser_type data_type;
    int32_t initial[NUMBERS_MOST];
} trial;

static size_t count_of(const trial *t, uint64_t entry)
{
    return t->by_value ? (size_t)t->doubles[entry] : 1;
}

/* ---- the oracle ---- */

static int64_t changed(int64_t value, uint64_t clock, size_t row, uint32_t column, size_t k, int salt)
{
    return (value * 3 + (int64_t)(clock * 7 + row * 13 + column * 29 + k * 5) + salt) % MODULUS;
}

static void pass(const trial *t, int64_t *all, uint64_t clock, int salt)
{
    for (size_t row = 0, at = 0; row < t->rows; row++)
        for (uint64_t e = t->offsets[row]; e < t->offsets[row + 1]; e++)
            for (size_t k = 0; k < count_of(t, e); k++, at++)
                all[at] = changed(all[at], clock, row, t->indices[e], k, salt);
}

static void expect(const trial *t, int64_t *all, int64_t *sum)
{
    int64_t kept[NUMBERS_MOST + 1] = {0};
    *sum = 0;
    for (size_t i = 0; i < t->numbers; i++)
        all[i] = t->from_zero ? 0 : t->initial[i];
    if (t->steps)
        pass(t, all, 0, 1);
    for (uint64_t c = 0; c < t->clocks; c++) {
        pass(t, all, c, 2);
        for (size_t i = 0; i < t->numbers; i++)
            *sum += all[i];
        if (t->staged)
            pass(t, all, c, 3);
        if (c == t->keep)
            memcpy(kept, all, sizeof kept);
        if (c == t->back)
            memcpy(all, kept, sizeof kept);
    }
}

/* ---- the program ---- */

static void change(void *values, hawser_type type, size_t i, int64_t to)
{
    switch (type) {
    case HAWSER_F64: ((double *)values)[i] = (double)to; break;
    case HAWSER_F32: ((float *)values)[i] = (float)to; break;
    case HAWSER_I64: ((int64_t *)values)[i] = to; break;
    case HAWSER_I32: ((int32_t *)values)[i] = (int32_t)to; break;
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

/* Checks what a block has against the trial's own arrays. */
static hawser_status check_part(hawser_context *context, const trial *t, const hawser_matrix *X)
{
    size_t first_row, first, rows = hawser_part_lines(context, "z", &first_row), count = hawser_part(context, "z", &first);
    size_t before = 0, own = 0;
    for (uint64_t e = 0; e < t->offsets[first_row]; e++)
        before += count_of(t, e);
    for (uint64_t e = t->offsets[first_row]; e < t->offsets[first_row + rows]; e++)
        own += count_of(t, e);
    if (rows != X->rows || first_row != X->first || first != before || count != own)
        return hawser_unit_fail(context, HAWSER_BAD_PROGRAM, "%zu rows from %zu, %zu numbers from %zu, not %zu from %zu",
                                rows, first_row, count, first, own, before);
    return HAWSER_OK;
}

static hawser_status visit(hawser_context *context, int salt)
{
    const trial *t = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, X);
    void *z, *line;
    HAWSER_TRY(check_part(context, t, X));
    HAWSER_TRY(hawser_write_as(context, "z", t->type, &z));
    for (size_t row = 0, at = 0; row < X->rows; row++) {
        HAWSER_TRY(hawser_line_as(context, "z", row, t->type, true, &line));
        if ((char *)line != (char *)z + at * hw_type_size(t->type))
            return hawser_unit_fail(context, HAWSER_BAD_PROGRAM, "row %zu begins elsewhere", row);
        for (uint64_t e = X->offsets[row]; e < X->offsets[row + 1]; e++) {
            size_t numbers = t->by_value ? (size_t)hw_value_at(X->values, X->type, e) : 1;
            for (size_t k = 0; k < numbers; k++, at++)
                change(z, t->type, at,
                       changed(value_at(z, t->type, at), hawser_clock(context), X->first + row, X->indices[e], k, salt));
        }
    }
    return HAWSER_OK;
}

static hawser_status first(hawser_context *context)
{
    return visit(context, 1);
}

static hawser_status step(hawser_context *context)
{
    return visit(context, 2);
}

static hawser_status second(hawser_context *context)
{
    HAWSER_READ(context, int64_t, sum);
    return *sum >= 0 ? visit(context, 3) : HAWSER_BAD_PROGRAM;
}

static hawser_status add_up(hawser_context *context)
{
    const trial *t = hawser_user(context);
    const void *z;
    HAWSER_WRITE(context, int64_t, sum);
    HAWSER_TRY(hawser_read_as(context, "z", t->type, (void *)&z));
    for (size_t i = 0, count = hawser_part(context, "z", NULL); i < count; i++)
        *sum += value_at(z, t->type, i);
    return hawser_yield(context);
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

static hawser_program *build(trial *t, const hawser_matrix *matrix, const hawser_dataset *data, const void *initial)
{
    hawser_program *p = hawser_program_new("entries", t);
    hawser_state *X =
        HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = data == NULL ? matrix : NULL, .data = data, .split = HAWSER_BY_ROW);
    hawser_state *z = HAWSER_STATE(p, "z", HAWSER_ENTRIES, .type = t->type, .along = X, .by_value = t->by_value,
                                   .rows = t->seed % 2 == 0 ? t->numbers : 0, .initial = t->from_zero ? NULL : initial,
                                   .keep = t->keep != UINT64_MAX);
    hawser_state *sum = HAWSER_STATE(p, "sum", HAWSER_REPLICATED, .type = HAWSER_I64, .rows = 1);
    if (t->steps)
        HAWSER_UNIT(hawser_root(p), "first", first, .reads = {X}, .updates = {z});
    hawser_operator *loop = HAWSER_LOOP(hawser_root(p), "loop", t->sync, .clocks = t->clocks,
                                        .test = t->keep != UINT64_MAX ? keeps_and_returns : NULL, .user = t);
    HAWSER_UNIT(loop, "step", step, .reads = {X}, .updates = {z});
    HAWSER_UNIT(loop, "add up", add_up, .reads = {z}, .updates = {sum});
    if (t->staged)
        HAWSER_UNIT(loop, "second", second, .reads = {X, sum}, .updates = {z});
    return p;
}

static void draw_entries(trial *t, hw_random *random)
{
    t->rows = hw_random_below(random, ROWS_MOST + 1);
    for (size_t row = 0; row < t->rows; row++) {
        const uint64_t some = hw_random_below(random, 3); /* 0: an empty row */
        for (uint32_t column = 0; column < COLS; column++)
            if (hw_random_below(random, 3) < some) {
                t->indices[t->entries] = column;
                t->doubles[t->entries] = (double)hw_random_below(random, VALUE_MOST + 1);
                t->floats[t->entries] = (float)t->doubles[t->entries];
                t->numbers += count_of(t, t->entries++);
            }
        t->offsets[row + 1] = t->entries;
    }
}

static trial draw(uint64_t seed, uint32_t blocks)
{
    static const hawser_type types[] = {HAWSER_F64, HAWSER_F32, HAWSER_I64, HAWSER_I32};
    const hawser_sync syncs[] = {hawser_bsp(), hawser_ssp(1), hawser_ssp(3), hawser_tap()};
    hw_random random = hw_random_at(seed, 3, 3, 3);
    trial t = {.seed = seed, .blocks = blocks, .keep = UINT64_MAX, .back = UINT64_MAX};
    t.by_value = hw_random_below(&random, 3) > 0;
    t.type = types[hw_random_below(&random, 4)];
    t.data_type = types[hw_random_below(&random, 2)];
    t.sync = syncs[hw_random_below(&random, 4)];
    t.clocks = 1 + hw_random_below(&random, 8);
    t.from_zero = hw_random_below(&random, 3) == 0;
    t.staged = hw_random_below(&random, 3) == 0;
    t.steps = hw_random_below(&random, 2) == 0;
    if (hw_random_below(&random, 3) == 0) {
        t.sync = hawser_bsp();
        t.keep = hw_random_below(&random, t.clocks);
        t.back = t.keep + 1 + hw_random_below(&random, 4);
    }
    draw_entries(&t, &random);
    for (size_t i = 0; i < t.numbers; i++)
        t.initial[i] = (int32_t)hw_random_below(&random, MODULUS);
    return t;
}

static hawser_matrix matrix_of(const trial *t, size_t begin, size_t end)
{
    const hawser_matrix all = {.rows = t->rows,
                               .cols = COLS,
                               .stored = t->entries,
                               .layout = HAWSER_CSR,
                               .type = t->data_type,
                               .offsets = t->offsets,
                               .indices = t->indices,
                               .values = t->data_type == HAWSER_F32 ? (const void *)t->floats : t->doubles};
    return hawser_matrix_rows(&all, begin, end);
}

static void check_result(const trial *t, const hawser_run *run)
{
    int64_t all[NUMBERS_MOST + 1] = {0}, sum;
    size_t count = 0;
    double part[3] = {0};
    hawser_error error = {0};
    size_t first_read = t->numbers > 3 ? t->seed % (t->numbers - 3) : 0, some = t->numbers < 3 ? t->numbers : 3;
    expect(t, all, &sum);
    assert_int_equal(hawser_result_size(run, "z"), t->numbers);
    if (hawser_result_range_as(run, "z", first_read, some, t->type, part, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < some; i++)
        assert_int_equal(value_at(part, t->type, i), all[first_read + i]);
    const void *values = result_of(run, "z", t->type, &count);
    assert_true(values != NULL || t->numbers == 0);
    assert_int_equal(count, t->numbers);
    for (size_t i = 0; i < count; i++)
        if (value_at(values, t->type, i) != all[i])
            fail_msg("seed %llu, %u blocks: number %zu is %lld, not %lld", (unsigned long long)t->seed, t->blocks, i,
                     (long long)value_at(values, t->type, i), (long long)all[i]);
    if (t->sync.tightness == HAWSER_BSP)
        assert_int_equal(RESULT(int64_t, run, "sum", NULL)[0], sum);
}

static hawser_status run_trial(hawser_job *job, trial *t, const hawser_dataset *data, hawser_error *error)
{
    double initial[NUMBERS_MOST + 1];
    for (size_t i = 0; i < t->numbers; i++)
        change(initial, t->type, i, t->initial[i]);
    const hawser_matrix matrix = matrix_of(t, 0, t->rows);
    hawser_program *p = build(t, &matrix, data, initial);
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, p, &run, error);
    if (status == HAWSER_OK)
        check_result(t, run);
    hawser_run_free(run);
    hawser_program_free(p);
    return status;
}

static void run_seed(hawser_job *job, uint64_t seed)
{
    trial t = draw(seed, hawser_job_workers(job));
    hawser_error error = {0};
    if (run_trial(job, &t, NULL, &error) != HAWSER_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
}

static void numbers_are_those_of_one_array(void **state)
{
    (void)state;
    static const char *const workers[] = {"1", "2", "3", "5", "8"};
    for (uint64_t seed = 0; seed < tried_of(200); seed++) {
        test_job job = OPEN_JOB("workers", workers[seed % 5], "timeout", "20");
        run_seed(job.job, seed);
        close_job(job);
    }
}

/* Blocks as fibers, in drawn orders, with stages that are done over. */
static void schedules_do_not_matter(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < schedules_of(100); seed++) {
        test_job job = OPEN_JOB("workers", seed % 2 == 0 ? "3" : "4", "timeout", "20");
        hw_job_use_fibers(job.job, seed + 1);
        hw_job_change_view(job.job, 2 + seed % 3, seed);
        run_seed(job.job, seed + 1000);
        close_job(job);
    }
}

static void rehearsals_make_no_difference(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < tried_of(40); seed++) {
        test_job job = OPEN_JOB("workers", seed % 2 == 0 ? "3" : "2", "timeout", "20", "rehearse", "1");
        run_seed(job.job, seed + 2000);
        close_job(job);
    }
}

/* ---- nodes ---- */

typedef struct node_trial {
    uint64_t seed;
    place where;
} node_trial;

/* Makes the dataset of a node, whose rows follow those of the nodes before it. */
static hawser_status make_data(test_node *node, const trial *t, place where, hawser_dataset **own, hawser_dataset **data)
{
    const size_t begin = t->rows * node->node / node->nodes, end = t->rows * (node->node + 1) / node->nodes;
    const hawser_matrix rows = matrix_of(t, begin, end);
    uint64_t offsets[ROWS_MOST + 1];
    hawser_matrix part = rows;
    for (size_t i = 0; i <= part.rows; i++)
        offsets[i] = rows.offsets[i] - rows.offsets[0];
    part.offsets = offsets;
    part.indices += rows.offsets[0];
    part.values = (const char *)part.values + rows.offsets[0] * hw_type_size(part.type);
    part.first = 0;
    if (begin < end)
        HAWSER_TRY(hawser_dataset_from(&part, NULL, own, &node->error));
    return where == DEALT ? hawser_job_data(node->job, *own, HAWSER_BY_ROW, data, &node->error)
                          : hawser_job_own_rows(node->job, *own, 0, 0, data, &node->error);
}

static void run_node(test_node *node)
{
    const node_trial *what = node->user;
    trial t = draw(what->seed, hawser_job_workers(node->job));
    hawser_dataset *own = NULL, *data = NULL;
    const place where = t.rows < 2 * (size_t)node->nodes ? EVERYWHERE : what->where; /* few rows: a node may have none */
    node->status = where == EVERYWHERE ? HAWSER_OK : make_data(node, &t, where, &own, &data);
    if (node->status == HAWSER_OK)
        node->status = run_trial(node->job, &t, data, &node->error);
    hawser_dataset_free(data);
    hawser_dataset_free(own);
}

static void nodes_make_no_difference(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < tried_of(60); seed++) {
        test_node nodes[NODES_MOST];
        const char *const pairs[] = {"workers", seed % 2 == 0 ? "6" : "4", "timeout", "20", NULL};
        node_trial what = {seed + 3000, (place)(seed % 3)};
        uint32_t count = 2 + (uint32_t)(seed / 3 % 2);
        run_nodes(nodes, count, pairs, run_node, &what);
        check_all(nodes, count, "entries");
    }
}

/* Runs rows of which the last one has a value that is no number of numbers: all nodes refuse it. */
static void run_wrong_value(test_node *node)
{
    static const double values[] = {1, 0, 2, 1.5};
    static const uint64_t offsets[] = {0, 1, 2};
    static const uint32_t indices[] = {4, 2};
    const hawser_matrix rows = {.rows = 2,
                                .cols = COLS,
                                .stored = 2,
                                .layout = HAWSER_CSR,
                                .offsets = offsets,
                                .indices = indices,
                                .values = values + 2 * node->node};
    hawser_dataset *own = NULL, *data = NULL;
    node->status = hawser_dataset_from(&rows, NULL, &own, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_job_data(node->job, own, HAWSER_BY_ROW, &data, &node->error);
    trial t = {.by_value = true, .clocks = 1, .keep = UINT64_MAX, .back = UINT64_MAX, .sync = {HAWSER_BSP, 0}};
    if (node->status == HAWSER_OK)
        node->status = run_trial(node->job, &t, data, &node->error);
    hawser_dataset_free(data);
    hawser_dataset_free(own);
}

static void nodes_agree_on_wrong_values(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    const char *const pairs[] = {"workers", "2", "timeout", "20", NULL};
    run_nodes(nodes, 2, pairs, run_wrong_value, NULL);
    for (int k = 0; k < 2; k++)
        if (nodes[k].status != HAWSER_BAD_PROGRAM || strstr(nodes[k].error.text, "row 3 of 'X' has the value 1.5") == NULL)
            fail_msg("node %d: %s", k, nodes[k].error.text);
}

/* ---- what is refused ---- */

static hawser_status beyond_its_rows(hawser_context *context)
{
    int32_t *line;
    return hawser_line(context, "z", hawser_part_lines(context, "z", NULL), &line);
}

static hawser_status not_finite(hawser_context *context)
{
    HAWSER_WRITE(context, float, z);
    if (hawser_part(context, "z", NULL) > 0 && hawser_block(context) == 1)
        z[0] = 1e38F * 10 * (float)(hawser_clock(context) + 1);
    return HAWSER_OK;
}

static void mistakes_of_units_are_named(void **state)
{
    (void)state;
    const struct {
        hawser_unit_function *run;
        hawser_type type;
        const char *text;
    } wrong[] = {{beyond_its_rows, HAWSER_I32, "of state 'z', of which this block has"},
                 {not_finite, HAWSER_F32, "entries state 'z': number 1 of the whole became inf"}};
    static const double values[] = {1, 0, 2, 1, 1};
    static const uint64_t offsets[] = {0, 2, 3, 5};
    static const uint32_t indices[] = {0, 1, 0, 1, 2};
    const hawser_matrix matrix = {
        .rows = 3, .cols = 3, .stored = 5, .layout = HAWSER_CSR, .offsets = offsets, .indices = indices, .values = values};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        test_job job = OPEN_JOB("workers", "2", "timeout", "20");
        hawser_program *p = hawser_program_new("wrong", NULL);
        hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_ROW);
        hawser_state *z = HAWSER_STATE(p, "z", HAWSER_ENTRIES, .type = wrong[k].type, .along = X, .by_value = true);
        HAWSER_UNIT(HAWSER_LOOP(hawser_root(p), "loop", hawser_bsp(), .clocks = 3), "u", wrong[k].run, .updates = {z});
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_one_array), cmocka_unit_test(schedules_do_not_matter),
        cmocka_unit_test(rehearsals_make_no_difference),  cmocka_unit_test(nodes_make_no_difference),
        cmocka_unit_test(nodes_agree_on_wrong_values),    cmocka_unit_test(mistakes_of_units_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
