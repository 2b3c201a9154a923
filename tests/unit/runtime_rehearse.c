/*
 * runtime_rehearse.c - --rehearse: a program that remembers all that it needs in states, records and memory of tests has the
 * same bits with it, and one that hides a number elsewhere is caught by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "hawser/kept_points.h"
#include "nodes.h"

enum { COUNT = 9, CLOCKS = 12 };

/* Where a program hides a number: nowhere, or as said. */
typedef enum hiding {
    NOWHERE,
    IN_A_STATIC,        /* of a unit */
    BEHIND_USER,        /* of a unit */
    IN_SCRATCH,         /* which no record visits */
    IN_A_TEST,          /* behind its user pointer */
    IN_A_BRANCH,        /* likewise */
    IN_A_REDUCING_UNIT, /* behind the program's user pointer */
    HIDINGS
} hiding;

typedef struct hidden {
    hiding where;
    _Atomic uint64_t number, tests, branches;
} hidden;

static _Atomic uint64_t calls;

typedef struct scratch {
    double momentum, secret;
} scratch;

static void visit(hawser_record *record, hawser_context *context)
{
    scratch *own = hawser_scratch(context);
    hawser_record_bytes(record, &own->momentum, sizeof own->momentum);
}

static hawser_status step(hawser_context *context)
{
    hidden *h = hawser_user(context);
    scratch *own = hawser_scratch(context);
    HAWSER_WRITE(context, double, w);
    double secret = 0.0;
    HAWSER_WRITE(context, double, x);
    own->momentum = 0.5 * own->momentum + hawser_random_uniform(context);
    own->secret += 1.0;
    if (h->where == IN_A_STATIC)
        secret = (double)atomic_fetch_add(&calls, 1);
    if (h->where == BEHIND_USER)
        secret = (double)atomic_fetch_add(&h->number, 1);
    if (h->where == IN_SCRATCH)
        secret = own->secret;
    for (size_t e = 0; e < COUNT; e++)
        w[e] += own->momentum + 0.125 * w[(e + 1) % COUNT] + secret;
    *x += w[0];
    return hawser_report(context, "most", w[0]);
}

static hawser_status add_up(hawser_context *context)
{
    hidden *h = hawser_user(context);
    HAWSER_READ(context, double, x);
    double sum[2] = {*x, 1.0};
    HAWSER_TRY(hawser_allreduce(context, sum, 2, HAWSER_SUM));
    HAWSER_TRY(hawser_allreduce(context, sum + 1, 1, HAWSER_MAX));
    if (h->where == IN_A_REDUCING_UNIT)
        sum[0] += (double)atomic_fetch_add(&h->number, 1);
    HAWSER_WRITE(context, double, y);
    *y += sum[0] / sum[1];
    return HAWSER_OK;
}

/* Keeps the best point, by what it remembers in its own memory; if it hides, by a count of its calls. */
static bool test(hawser_progress *progress, void *user)
{
    hidden *h = user;
    uint64_t *seen = hawser_progress_memory(progress);
    if (++*seen % 5 == 2)
        hawser_progress_keep(progress, 0);
    if (*seen == 9)
        hawser_progress_return(progress, 0);
    hawser_progress_set(progress, "seen", (double)*seen);
    return h->where == IN_A_TEST && atomic_fetch_add(&h->tests, 1) % 2 == 1;
}

static bool choose(hawser_progress *progress, void *user)
{
    hidden *h = user;
    uint64_t *seen = hawser_progress_memory(progress);
    return h->where == IN_A_BRANCH ? atomic_fetch_add(&h->branches, 1) % 3 == 1 : ++*seen % 3 == 1;
}

typedef struct outcome {
    hawser_status status;
    hawser_error error;
    double w[COUNT], x[8], y[8];
    uint64_t seen;
} outcome;

static outcome run(hawser_job *job, hidden *h)
{
    hawser_program *p = hawser_program_new("rehearsed", h);
    hawser_state *w = HAWSER_STATE(p, "w", HAWSER_REPLICATED, .rows = COUNT, .damping = 0.25);
    hawser_state *x = HAWSER_STATE(p, "x", HAWSER_LOCAL, .each = true, .rows = 1);
    hawser_state *y = HAWSER_STATE(p, "y", HAWSER_LOCAL, .each = true, .rows = 1);
    hawser_state_keep(w);
    hawser_state_keep(x);
    hawser_scratch_size(p, sizeof(scratch), NULL);
    hawser_scratch_record(p, visit);
    hawser_metric_declare(p, "most", HAWSER_MAX);
    hawser_metric_declare(p, "seen", HAWSER_MAX);
    hawser_until until = {.clocks = CLOCKS, .test = test, .user = h, .remembers = sizeof(uint64_t)};
    hawser_operator *outer = hawser_loop(hawser_root(p), "outer", (hawser_until){.clocks = 2}, hawser_bsp());
    hawser_operator *loop = hawser_loop(outer, "loop", until, hawser_bsp());
    HAWSER_UNIT(loop, "step", step, .updates = {w, x});
    hawser_operator *branch = hawser_branch(outer, "branch", choose, h);
    hawser_branch_remembers(branch, sizeof(uint64_t));
    HAWSER_UNIT(branch, "add up", add_up, .reads = {x}, .updates = {y}, .reduces = 2);
    outcome out = {0};
    hawser_run *made = NULL;
    out.status = hawser_run_program(job, p, &made, &out.error);
    size_t blocks = hawser_job_workers(job);
    if (out.status == HAWSER_OK) {
        memcpy(out.w, RESULT(double, made, "w", NULL), sizeof out.w);
        memcpy(out.x, RESULT(double, made, "x", NULL), blocks * sizeof *out.x);
        memcpy(out.y, RESULT(double, made, "y", NULL), blocks * sizeof *out.y);
        out.seen = (uint64_t)hawser_result_metric(made, "seen");
    }
    hawser_run_free(made);
    hawser_program_free(p);
    return out;
}

static outcome run_with(const char *workers, const char *every, hiding where)
{
    hidden h = {.where = where};
    test_job job = OPEN_JOB("workers", workers, "rehearse", every, "seed", "5");
    outcome out = run(job.job, &h);
    close_job(job);
    return out;
}

static bool same(const outcome *a, const outcome *b)
{
    return memcmp(a->w, b->w, sizeof a->w) == 0 && memcmp(a->x, b->x, sizeof a->x) == 0 &&
           memcmp(a->y, b->y, sizeof a->y) == 0 && a->seen == b->seen;
}

static const char *const workers[] = {"1", "2", "4"};

static void rehearsals_change_no_bit(void **state)
{
    (void)state;
    static const char *const every[] = {"1", "2", "7"};
    for (size_t k = 0; k < 3; k++) {
        outcome plain = run_with(workers[k], "0", NOWHERE);
        assert_int_equal(plain.status, HAWSER_OK);
        for (size_t e = 0; e < 3; e++) {
            outcome rehearsed = run_with(workers[k], every[e], NOWHERE);
            if (rehearsed.status != HAWSER_OK)
                fail_msg("%s", rehearsed.error.text);
            assert_true(same(&plain, &rehearsed));
        }
    }
}

static void hidden_memory_is_caught(void **state)
{
    (void)state;
    static const char *const texts[HIDINGS] = {"",
                                               "--rehearse: 'loop', block ",
                                               "--rehearse: 'loop', block ",
                                               "--rehearse: 'loop', block ",
                                               "the stop test of loop 'loop' was called twice from one record",
                                               "the test of branch 'branch' was called twice from one record",
                                               "--rehearse: 'add up', block "};
    for (size_t k = 0; k < 3; k++)
        for (int where = IN_A_STATIC; where < HIDINGS; where++) {
            outcome out = run_with(workers[k], "0", (hiding)where);
            if (out.status != HAWSER_OK) /* without rehearsals nothing notices */
                fail_msg("%s", out.error.text);
            out = run_with(workers[k], "1", (hiding)where);
            if (out.status != HAWSER_BAD_PROGRAM || strstr(out.error.text, texts[where]) == NULL)
                fail_msg("'%s' is not in '%s'", texts[where], out.error.text);
        }
}

static void run_node(test_node *node)
{
    outcome out = run(node->job, &(hidden){.where = NOWHERE});
    node->status = out.status;
    node->error = out.error;
    ((outcome *)node->user)[node->node] = out;
}

static void nodes_rehearse_alike(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    outcome plain = run_with("4", "0", NOWHERE), each[2];
    for (uint32_t count = 1; count <= 2; count++) {
        run_nodes(nodes, count, (const char *const[]){"workers", "4", "rehearse", "1", "seed", "5", NULL}, run_node, each);
        check_all(nodes, count, "rehearsed");
        for (uint32_t i = 0; i < count; i++)
            assert_true(same(&plain, &each[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rehearsals_change_no_bit),
        cmocka_unit_test(hidden_memory_is_caught),
        cmocka_unit_test(nodes_rehearse_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
