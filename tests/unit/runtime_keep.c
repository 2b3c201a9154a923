/* runtime_keep.c - each kind of state copies what a block has committed, and a later return makes the copies the values of
 * the run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "hawser/stored.h"
#include "nodes.h"
#include "runtime/block/part.h"

enum { COLUMNS = 11, ROWS = 5, LINES = 9, STORED = 23, BLOCKS = 4, STATES = 8, CLOCKS = 5 };

/* A program that makes some clocks, keeps the point before clock `keep`, goes back to it and, unless it has stored states,
 * makes more clocks. */
typedef struct trial {
    uint64_t clocks, keep, more; /* keep: UINT64_MAX: never */
    bool store;
    const char *filter; /* of v; NULL: none */
    hawser_form form;
    uint64_t drops; /* blocks drop and read back what they remember after one in so many clocks; 0: never */
} trial;

typedef struct values {
    trial how;
    void *kept[BLOCKS][STATES];
    double v[ROWS], x[COLUMNS], tied[COLUMNS], s[STORED], added[STORED];
    int32_t p[LINES];
} values;

/* Copies what this block has committed of each state. */
static hawser_status keep_all(hawser_context *context, values *all)
{
    hw_worker *worker = context->worker;
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        const hw_part_kind *kind = part->kind;
        void **copy = &all->kept[worker->block][i];
        if (kind->kept_count == NULL || *copy != NULL) /* the second loop has such a clock, too */
            continue;
        *copy = calloc(kind->kept_count(part) + 1, hw_state_size(part->state));
        if (*copy == NULL)
            return HAWSER_NO_MEMORY;
        HAWSER_TRY(kind->keep(worker, part, *copy));
    }
    return HAWSER_OK;
}

static double drawn(uint64_t clock, size_t entry)
{
    return sin((double)(clock * 17 + entry + 1)) / 8;
}

static hawser_status step(hawser_context *context)
{
    values *all = hawser_user(context);
    uint64_t clock = hawser_clock(context);
    size_t first, count = hawser_part(context, "x", &first);
    double *v, *x, *tied, *s;
    int32_t *p;
    if (clock == all->how.keep)
        HAWSER_TRY(keep_all(context, all));
    HAWSER_TRY(hawser_write(context, "v", &v));
    HAWSER_TRY(hawser_write(context, "x", &x));
    HAWSER_TRY(hawser_write(context, "tied", &tied));
    for (size_t i = 0; i < count; i++) {
        x[i] = 0.5 * x[i] + v[(first + i) % ROWS] + drawn(clock, first + i);
        tied[i] += x[i];
        v[(first + i) % ROWS] += x[i] / 3;
    }
    HAWSER_TRY(hawser_write(context, "p", &p));
    count = hawser_part(context, "p", &first);
    for (size_t i = 0; i < count; i++)
        p[i] += (int32_t)((clock + 1) * (first + i));
    if (!all->how.store)
        return HAWSER_OK;
    HAWSER_TRY(hawser_write(context, "s", &s));
    count = hawser_part(context, "s", &first);
    for (size_t i = 0; i < count; i++)
        s[i] += drawn(clock, first + i);
    const uint64_t key = (clock * 7 + hawser_block(context)) % STORED;
    const double update = 1.0 + (double)clock;
    if (clock == all->how.keep)
        return HAWSER_OK; /* another block may not have kept its share yet */
    return hawser_inc(context, "added", &key, &update, 1);
}

static hawser_status go_back(hawser_context *context)
{
    values *all = hawser_user(context);
    hw_worker *worker = context->worker;
    if (all->how.keep == UINT64_MAX)
        return HAWSER_OK;
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (part->kind->kept_count != NULL)
            HAWSER_TRY(part->kind->put_back(worker, part, all->kept[worker->block][i]));
    }
    return HAWSER_OK;
}

static hawser_program *make(values *all, const hawser_matrix *matrix)
{
    hawser_program *program = hawser_program_new("kept", all);
    hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = matrix);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = ROWS, .damping = 0.5, .form = all->how.form,
                                   .filter = all->how.filter, .quota = all->how.filter != NULL ? 24 : 0,
                                   .max_held = all->how.filter != NULL ? 3 : 0);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_LOCAL, .along = X);
    hawser_state *tied = HAWSER_STATE(program, "tied", HAWSER_LOCAL, .along = X, .tie = v);
    hawser_state *p = HAWSER_STATE(program, "p", HAWSER_PARTITIONED, .type = HAWSER_I32, .rows = LINES);
    hawser_unit_spec used = {"step", step, .reads = {X}, .updates = {v, x, tied, p}};
    if (all->how.store) {
        used.updates[4] = HAWSER_STATE(program, "s", HAWSER_STORED, .rows = STORED);
        used.updates[5] = HAWSER_STATE(program, "added", HAWSER_STORED, .rows = STORED, .function = "add");
    }
    hawser_until until = {.clocks = all->how.clocks}, more = {.clocks = all->how.more};
    hawser_unit_add(hawser_loop(hawser_root(program), "clocks", until, hawser_bsp()), &used);
    HAWSER_UNIT(hawser_root(program), "go back", go_back, .reads = {NULL}, .updates = {NULL});
    used.name = "step again";
    if (more.clocks > 0)
        hawser_unit_add(hawser_loop(hawser_root(program), "more", more, hawser_bsp()), &used);
    return program;
}

static hawser_status run(hawser_job *job, values *all, hawser_error *error)
{
    static const double ones[ROWS * COLUMNS];
    const hawser_matrix matrix = {.rows = ROWS, .cols = COLUMNS, .stored = ROWS * COLUMNS, .values = ones, .stride = ROWS};
    hawser_run *done = NULL;
    hawser_program *program = make(all, &matrix);
    hawser_status status = hawser_run_program(job, program, &done, error);
    const struct {
        const char *name;
        void *out;
        size_t size;
    } results[] = {{"v", all->v, sizeof all->v}, {"x", all->x, sizeof all->x}, {"tied", all->tied, sizeof all->tied},
                   {"p", all->p, sizeof all->p}, {"s", all->s, sizeof all->s}, {"added", all->added, sizeof all->added}};
    for (size_t i = 0; i < (all->how.store ? 6U : 4U) && status == HAWSER_OK; i++) {
        const void *found = i == 3 ? (const void *)RESULT(int32_t, done, "p", NULL)
                                   : (const void *)RESULT(double, done, results[i].name, NULL);
        if (found == NULL)
            fail_msg("no result '%s'", results[i].name);
        memcpy(results[i].out, found, results[i].size);
    }
    hawser_run_free(done);
    hawser_program_free(program);
    return status;
}

static void free_kept(values *all)
{
    for (size_t b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < STATES; i++)
            free(all->kept[b][i]);
    memset(all->kept, 0, sizeof all->kept);
}

static values on_threads(trial how, const char *workers)
{
    values all = {.how = how};
    hawser_error error = {0};
    test_job test = OPEN_JOB("workers", workers, "seed", "3");
    hw_job_drop_scratch(test.job, how.drops, 11, NULL);
    test.job->drops.states = true;
    if (run(test.job, &all, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    close_job(test);
    free_kept(&all);
    return all;
}

static void assert_same(const values *a, const values *b)
{
    assert_memory_equal(a->v, b->v, sizeof *a - offsetof(values, v));
}

static const char *const workers[] = {"1", "2", "4"};

static void kept_point_is_the_result(void **state)
{
    (void)state;
    for (size_t w = 0; w < 3; w++)
        for (uint64_t keep = 1; keep < CLOCKS; keep++) /* for 0 see the next test */
            for (int store = 0; store < 2; store++) {
                values straight =
                    on_threads((trial){.clocks = keep, .keep = UINT64_MAX, .more = 0, .store = store}, workers[w]);
                values back = on_threads((trial){.clocks = CLOCKS, .keep = keep, .more = 0, .store = store}, workers[w]);
                assert_same(&straight, &back);
            }
}

static void program_goes_on_from_a_kept_point(void **state)
{
    (void)state;
    for (size_t w = 0; w < 3; w++) {
        values straight = on_threads((trial){.clocks = 2, .keep = UINT64_MAX, .more = 3}, workers[w]);
        values back = on_threads((trial){.clocks = 4, .keep = 2, .more = 3}, workers[w]);
        assert_same(&straight, &back);
        values first = on_threads((trial){.clocks = 3, .keep = 0, .more = 3}, workers[w]); /* zeros */
        values once = on_threads((trial){.clocks = 3, .keep = UINT64_MAX, .more = 0}, workers[w]);
        assert_same(&first, &once);
    }
}

/* What a filter held back at the kept point is forgotten, and nothing of a later clock is left in it. */
static void held_entries_do_not_outlive_a_return(void **state)
{
    (void)state;
    values back = on_threads((trial){.clocks = 4, .keep = 0, .more = 3, .filter = "absolute"}, "4"),
           once = on_threads((trial){.clocks = 3, .keep = UINT64_MAX, .more = 0, .filter = "absolute"}, "4");
    assert_same(&back, &once);
}

/* What arrives late depends on each field that a replica remembers, and x on what has arrived. */
static void records_have_what_replicas_remember(void **state)
{
    (void)state;
    static const char *const filters[] = {NULL, "random", "round-robin", "absolute", "relative", "fifo"};
    static const hawser_form forms[] = {HAWSER_EXACT, HAWSER_AS_BF16, HAWSER_AS_INT8};
    for (size_t f = 0; f < sizeof filters / sizeof *filters; f++)
        for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
            trial how = {.clocks = 12, .keep = UINT64_MAX, .more = 9, .filter = filters[f], .form = forms[k]};
            values kept = on_threads(how, "4");
            for (how.drops = 1; how.drops <= 3; how.drops++) {
                values dropped = on_threads(how, "4");
                assert_same(&kept, &dropped);
            }
        }
}

static void on_node(test_node *node)
{
    node->status = run(node->job, &((values *)node->user)[node->node], &node->error);
}

static void nodes_keep_what_threads_keep(void **state)
{
    (void)state;
    static const char *const pairs[] = {"workers", "4", "seed", "3", NULL};
    values back = on_threads((trial){.clocks = CLOCKS, .keep = 3, .more = 0, .store = true}, "4");
    for (uint32_t count = 2; count <= 3; count++) {
        test_node nodes[NODES_MOST];
        values all[3];
        memset(all, 0, sizeof all);
        for (uint32_t n = 0; n < count; n++)
            all[n].how = back.how;
        run_nodes(nodes, count, pairs, on_node, all);
        for (uint32_t n = 0; n < count; n++) {
            if (nodes[n].status != HAWSER_OK)
                fail_msg("%s", nodes[n].error.text);
            free_kept(&all[n]);
            assert_same(&all[n], &back);
        }
    }
}

static void stored_state_is_not_used_after_a_return(void **state)
{
    (void)state;
    values all = {.how = {.clocks = 3, .keep = 1, .more = 2, .store = true}};
    hawser_error error = {0};
    test_job test = OPEN_JOB("workers", "2");
    assert_int_equal(run(test.job, &all, &error), HAWSER_BAD_PROGRAM);
    assert_non_null(strstr(error.text, "'more' uses stored state 's' after a return to a kept point"));
    close_job(test);
    free_kept(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_point_is_the_result),
        cmocka_unit_test(program_goes_on_from_a_kept_point),
        cmocka_unit_test(held_entries_do_not_outlive_a_return),
        cmocka_unit_test(records_have_what_replicas_remember),
        cmocka_unit_test(nodes_keep_what_threads_keep),
        cmocka_unit_test(stored_state_is_not_used_after_a_return),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
