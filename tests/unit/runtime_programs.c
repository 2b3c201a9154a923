/*
 * Random programs against an oracle. A seed draws data, states of all kinds, nested operators with one to ten units, and
 * policies (programs_draw.h). A program is refused if, and only if, it breaks a rule of a list (programs_refused.h). Every
 * other one ends with the oracle's bits under BSP (programs_oracle.h), for any threads, nodes and topology. With filters and
 * rounding its bits are the same for all of them, and no change is lost. Under SSP and TAP the history passes the checker,
 * units have seen what the policy promises, and no change is lost.
 *
 * HAWSER_TEST_SEED=N tries one seed alone, and HAWSER_TEST_LONG=1 twenty times as many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "directory.h"
#include "history_memory.h"
#include "programs_seeds.h"

/* ------------------------------------------------------------------------------------------------------------- runs ---- */

/* Checks that a program was refused if it had to be, for one of these reasons. Returns true if it ran. */
static bool has_run(const drawn *d, refusal_set reasons, hawser_status status, const hawser_error *error, const char *how)
{
    if (status == HAWSER_OK && reasons == 0)
        return true;
    if (status == HAWSER_OK)
        fail_drawn(d, how, "it has run, but %s", refusal_texts[__builtin_ctzll(reasons)]);
    for (uint32_t r = 0; r < REFUSALS; r++)
        if ((reasons >> r & 1) != 0 && strstr(error->text, refusal_texts[r]) != NULL)
            return false;
    fail_drawn(d, how, "%s", error->text);
    return false;
}

/* How a program is run on this node. */
typedef struct manner {
    const char *threads;
    uint64_t schedule; /* of fibers; 0: threads */
    const char *filter, *quota, *history;
    double (*made)[STATES][SIZE];
} manner;

static uint64_t view_changes; /* that units have got on one node */

/* In two of three draws, waiting calls return that the view has changed, once in two to five times. */
static void change_view(hawser_job *job, uint64_t seed)
{
    if (seed % 3 != 0)
        hw_job_change_view(job, 2 + seed / 3 % 4, seed);
}

/* Runs a program on one node. Returns false if it was refused. */
static bool run_here(drawn *d, const manner *how, drawn_values *got)
{
    char workers[12];
    hawser_error error = {0};
    (void)snprintf(workers, sizeof workers, "%u", d->blocks);
    const char *pairs[20] = {"workers", workers, "check", "yes", "timeout", "60"};
    size_t count = 6;
    const char *const more[][2] = {
        {"threads", how->threads}, {"filter", how->filter}, {"quota", how->quota}, {"record-history", how->history}};
    for (size_t i = 0; i < 4; i++)
        if (more[i][1] != NULL) {
            pairs[count++] = more[i][0];
            pairs[count++] = more[i][1];
        }
    test_job test = open_job(pairs);
    if (how->schedule > 0)
        hw_job_use_fibers(test.job, how->schedule);
    test.job->chunks.buffers = how->schedule % 3; /* 0: as usual */
    if (how->schedule % 2 == 1)
        hw_job_drop_scratch(test.job, 2, d->seed, NULL);
    test.job->drops.states = true;
    if (runs_long() || d->seed % 4 == 1)
        test.job->rehearse = 1 + d->seed % 3;
    change_view(test.job, d->seed);
    if (how->made != NULL)
        memset(how->made, 0, BLOCKS * sizeof *how->made);
    hawser_status status = run_drawn(test.job, d, how->made, got, &error);
    view_changes += test.job->changes.count;
    close_job(test);
    return has_run(d, refusals_of(d, 1), status, &error, how->schedule > 0 ? "on one thread" : "on threads");
}

typedef struct everywhere {
    drawn d;
    double (*made)[STATES][SIZE];
    drawn_values got[NODES_MOST];
} everywhere;

static void run_on_node(test_node *node)
{
    everywhere *all = node->user;
    drawn d = all->d; /* the program's pointer is each node's own */
    change_view(node->job, d.seed);
    node->status = run_drawn(node->job, &d, all->made, &all->got[node->node], &node->error);
}

/* Runs a program on several nodes. Returns false if it was refused, by all of them. */
static bool run_there(everywhere *all, uint32_t count, const char *topology, const manner *how)
{
    test_node nodes[NODES_MOST];
    char workers[12];
    bool ran = true;
    (void)snprintf(workers, sizeof workers, "%u", all->d.blocks);
    const char *pairs[] = {"workers", workers, "topology", topology, "check", "yes", "timeout",
                           "60",      NULL,    NULL,       NULL,     NULL,    NULL};
    if (how->history != NULL) {
        pairs[8] = "record-history";
        pairs[9] = how->history;
    }
    if (how->filter != NULL) {
        pairs[8] = "filter";
        pairs[9] = how->filter;
        pairs[10] = "quota";
        pairs[11] = how->quota;
    }
    all->made = how->made;
    if (how->made != NULL)
        memset(how->made, 0, BLOCKS * sizeof *how->made);
    run_nodes(nodes, count, pairs, run_on_node, all);
    for (uint32_t n = 0; n < count; n++)
        ran = has_run(&all->d, refusals_of(&all->d, count), nodes[n].status, &nodes[n].error, topology) && ran;
    return ran;
}

static void write_input(const drawn *d)
{
    if (d->source >= SVMLIGHT)
        write_file(d);
}

/* ----------------------------------------------------------------------------------------------------- lock-step ---- */

static void threads_agree_with_the_oracle(void **state)
{
    (void)state;
    uint64_t ran = 0, seed = first_seed(), last = last_seed(5000);
    static drawn_values got;
    for (; seed <= last; seed++) {
        drawn d = draw(seed, (choices){.files = seed % 8 == 0});
        write_input(&d);
        if (!run_here(&d, &(manner){.schedule = seed}, &got))
            continue;
        drawn_values wanted = oracle(&d);
        compare(&d, &wanted, &got, "on one thread");
        ran++;
        if (seed % 5 != 0 && seed_asked() == 0)
            continue;
        (void)run_here(&d, &(manner){.threads = seed % 2 == 0 ? "2" : "4"}, &got);
        compare(&d, &wanted, &got, "on threads");
    }
    assert_true(seed_asked() > 0 || (ran > last / 2 && view_changes > last / 2));
}

static void nodes_agree_with_the_oracle(void **state)
{
    (void)state;
    static everywhere all;
    for (uint64_t seed = first_seed(); seed <= last_seed(200); seed++) {
        all.d = draw(seed, (choices){.files = seed % 2 == 0});
        write_input(&all.d);
        uint32_t count = all.d.blocks < 3 ? all.d.blocks : 2 + (uint32_t)(seed % 2);
        if (count == 1 || !run_there(&all, count, topologies[seed % TOPOLOGIES], &(manner){0}))
            continue;
        drawn_values wanted = oracle(&all.d);
        for (uint32_t n = 0; n < count; n++)
            compare(&all.d, &wanted, &all.got[n], topologies[seed % TOPOLOGIES]);
    }
}

/* Every refusal of the list is met by some program. */
static void all_refusals_are_drawn(void **state)
{
    (void)state;
    refusal_set met = 0;
    for (uint64_t seed = 1; seed <= 10000; seed++) {
        const choices late = {.sync = seed % 6 == 0 ? hawser_tap() : hawser_ssp(1),
                              .plain = true,
                              .stored = true,
                              .flat = seed % 8 == 0,
                              .nested = true};
        drawn d = draw(seed, seed % 2 == 0 ? late : (choices){.files = seed % 4 == 1, .rounds = seed % 4 == 3});
        met |= refusals_of(&d, 1 + (uint32_t)(seed % 3));
    }
    assert_int_equal(met, (UINT64_C(1) << REFUSALS) - 1);
}

/* ------------------------------------------------------------------------------------------------ held and rounded ---- */

/* Returns whether there is something that a filter could hold. */
static bool sends_deltas(const drawn *d)
{
    bool sends = false;
    for (uint32_t s = 0; s < d->states; s++)
        for (uint32_t u = 0; u < d->units; u++)
            sends |= d->state[s].kind == REPLICATED && d->unit[u].updates[s];
    return sends && d->blocks > 1;
}

/* Says the filters of a program in another way, with the same meaning: each state has as its own what the job had for all,
 * and the job has none. */
static drawn with_own_filters(const drawn *d, manner *how)
{
    drawn own = *d;
    for (uint32_t s = 0; s < d->states; s++) {
        drawn_state *state = &own.state[s];
        if (state->kind > DERIVED || state->filter != NULL || !uses(d, -1, s, false, true))
            continue;
        state->filter = how->filter != NULL ? how->filter : "none";
        state->quota = how->filter != NULL ? strtoull(how->quota, NULL, 10) : 0;
    }
    own.relative = own.filtered = false;
    *how = (manner){.schedule = how->schedule, .made = how->made};
    return own;
}

static void what_is_held_or_rounded_is_not_lost(void **state)
{
    (void)state;
    static const char *const filters[] = {NULL, "random", "round-robin", "absolute", "relative", "fifo"};
    static const char *const quotas[] = {"12", "24", "40"};
    static double made[BLOCKS][STATES][SIZE];
    static drawn_values wanted, got;
    static everywhere all;
    for (uint64_t seed = first_seed(); seed <= last_seed(1000); seed++) {
        const hawser_sync syncs[] = {hawser_bsp(), hawser_bsp(), hawser_ssp(1 + seed % 2), hawser_tap()};
        hawser_sync sync = syncs[seed / 7 % 4];
        bool again = seed % 5 < 2 && sync.tightness == HAWSER_BSP; /* with filters said in another way */
        drawn d = draw(seed, (choices){.rounds = true, .sync = sync, .flat = again, .plain = sync.tightness != HAWSER_BSP});
        manner how = {.schedule = seed, .filter = filters[seed % 6], .quota = quotas[seed % 3], .made = made};
        if (!sends_deltas(&d))
            how.filter = NULL;
        if (how.filter == NULL)
            how.quota = NULL;
        d.filtered = how.filter != NULL;
        d.relative = how.filter != NULL && strcmp(how.filter, "relative") == 0;
        if (d.relative && seed % 4 != 0 && (refusals_of(&d, 1) >> WHOLE_RELATIVE & 1) != 0) {
            how.filter = "absolute";
            d.relative = false;
        }
        if (!run_here(&d, &how, &wanted))
            continue;
        check_sums(&d, made, &wanted, "on one thread");
        if (again) {
            manner other = how;
            drawn own = with_own_filters(&d, &other);
            (void)run_here(&own, &other, &got);
            compare(&own, &wanted, &got, "with filters of states in place of the job's");
        }
        how = (manner){.threads = "3", .filter = how.filter, .quota = how.quota, .made = made};
        if (seed % 4 == 0) {
            (void)run_here(&d, &how, &got);
            check_sums(&d, made, &got, "on threads");
            if (sync.tightness == HAWSER_BSP)
                compare(&d, &wanted, &got, "on threads");
        }
        if (seed % 12 != 0 || d.blocks == 1)
            continue;
        all.d = d;
        (void)run_there(&all, d.blocks < 3 ? 2 : 3, topologies[seed / 12 % TOPOLOGIES], &how);
        check_sums(&d, made, &all.got[1], "on nodes");
        if (sync.tightness == HAWSER_BSP)
            compare(&d, &wanted, &all.got[1], "on nodes");
    }
}

/* ------------------------------------------------------------------------------------------- policies that are late ---- */

static void judge_history(const drawn *d, int file)
{
    hw_history history = {0};
    hw_verdict verdict = {0};
    check_history_file(file, &history, &verdict);
    if (verdict.broken) {
        hw_verdict_print(&verdict, &history, stderr);
        fail_drawn(d, "on fibers", "the history breaks a rule");
    }
    hw_history_free(&history);
}

static bool has_inner_loop(const drawn *d)
{
    for (uint32_t i = 0; i < d->operators; i++)
        if (d->op[i].kind == LOOP && shipped_around(d, (int)i) >= 0)
            return true;
    return false;
}

static bool has_branch(const drawn *d)
{
    for (uint32_t i = 0; i < d->operators; i++)
        if (d->op[i].kind == BRANCH)
            return true;
    return false;
}

static void late_policies_keep_their_promises(void **state)
{
    (void)state;
    static double made[BLOCKS][STATES][SIZE];
    static drawn_values got;
    char path[40];
    int file = history_file(path, sizeof path);
    uint64_t reached = 0, nested = 0, branches = 0;
    for (uint64_t seed = first_seed(); seed <= last_seed(1500); seed++) {
        const hawser_sync syncs[] = {hawser_tap(), hawser_ssp(1 + seed / 6 % 2), hawser_bsp()};
        drawn d = draw(seed, (choices){.sync = syncs[seed % 3],
                                       .plain = true,
                                       .whole = seed % 4 < 2,
                                       .flat = seed % 2 == 0,
                                       .nested = seed % 8 >= 4,
                                       .stored = seed % 2 == 1});
        if (!run_here(&d, &(manner){.schedule = seed, .history = path, .made = made}, &got))
            continue;
        check_sums(&d, made, &got, "on fibers");
        judge_history(&d, file);
        if (d.early)
            fail_drawn(&d, "on fibers", "a unit has not seen what the policy promises");
        reached += d.reached;
        nested += has_inner_loop(&d);
        branches += d.counts && has_branch(&d);
    }
    assert_true(SANITIZED || seed_asked() > 0 || (reached > 0 && nested > 50 && branches > 30));
}

/* Checks the histories of nodes, and returns how many updates were merged in sums. */
static uint64_t judge_nodes(const drawn *d, uint32_t count, const char *topology)
{
    hw_history history = {0};
    hw_verdict verdict = {0};
    hawser_error error = {0};
    uint64_t summed = 0;
    char path[20];
    for (uint32_t n = 0; n < count; n++) {
        (void)snprintf(path, sizeof path, n == 0 ? "h" : "h.%u", n);
        if (add_history(&history, path, &error) != HAWSER_OK)
            fail_drawn(d, topology, "%s", error.text);
    }
    if (hw_history_whole(&history, &error) != HAWSER_OK || hw_history_check(&history, &verdict, &error) != HAWSER_OK)
        fail_drawn(d, topology, "%s", error.text);
    if (verdict.broken) {
        hw_verdict_print(&verdict, &history, stderr);
        fail_drawn(d, topology, "the history breaks a rule");
    }
    for (size_t i = 0; i < history.count; i++)
        for (size_t k = 0; k < history.streams[i].count; k++)
            summed += history.streams[i].records[k].kind == HW_EVENT_SEEN && history.streams[i].records[k].more > 0;
    hw_history_free(&history);
    return summed;
}

/* Nodes whose relays add up updates that wait for the same link. */
static void relays_keep_the_promises_of_late_policies(void **state)
{
    (void)state;
    static const char *const graphs[] = {"tree", "servers:1", "servers:2"};
    static double made[BLOCKS][STATES][SIZE];
    static everywhere all;
    uint64_t summed = 0;
    for (uint64_t seed = first_seed(); seed <= last_seed(80); seed++) {
        const hawser_sync syncs[] = {hawser_tap(), hawser_ssp(1), hawser_ssp(2)};
        const char *graph = graphs[seed % 3];
        drawn d = draw(
            seed, (choices){.sync = syncs[seed / 3 % 3], .plain = true, .whole = seed % 4 < 2, .rounds = seed % 5 == 0});
        uint32_t count = d.blocks < 4 ? d.blocks : 4;
        if (count < 2)
            continue;
        all.d = d;
        if (!run_there(&all, count, graph, &(manner){.history = "h", .made = made}))
            continue;
        for (uint32_t n = 0; n < count; n++)
            check_sums(&d, made, &all.got[n], graph);
        summed += judge_nodes(&d, count, graph);
    }
    assert_true(SANITIZED || seed_asked() > 0 || summed > 100);
}

/* --------------------------------------------------------------------------------------------- k-means in two units ---- */

enum { POINTS = 300, CENTRES = 5, DIMENSIONS = 2, SUMS = CENTRES * (DIMENSIONS + 1) };
static double points[POINTS * DIMENSIONS]; /* a point per column */

static size_t nearest(const double *point, const double *centres)
{
    size_t best = 0;
    double least = INFINITY;
    for (size_t k = 0; k < CENTRES; k++) {
        double x = point[0] - centres[k * DIMENSIONS], y = point[1] - centres[k * DIMENSIONS + 1];
        if (x * x + y * y < least) {
            least = x * x + y * y;
            best = k;
        }
    }
    return best;
}

static void add_point(double *sums, const double *point, size_t k)
{
    sums[k * 3] += 1;
    sums[k * 3 + 1] += point[0];
    sums[k * 3 + 2] += point[1];
}

/* Sets the centres to the means, and the sums to zero. A centre without points stays. */
static void move_centres(double *centres, double *sums)
{
    for (size_t k = 0; k < CENTRES; k++)
        for (size_t c = 0; sums[k * 3] > 0 && c < DIMENSIONS; c++)
            centres[k * DIMENSIONS + c] = sums[k * 3 + 1 + c] / sums[k * 3];
    memset(sums, 0, SUMS * sizeof *sums);
}

static hawser_status assign(hawser_context *context)
{
    const hawser_matrix *part;
    HAWSER_TRY(hawser_read(context, "points", &part));
    HAWSER_READ(context, double, centres);
    HAWSER_WRITE(context, double, sums);
    for (size_t j = 0; j < part->cols; j++) {
        const double *point = (const double *)part->values + j * part->stride;
        add_point(sums, point, nearest(point, centres));
    }
    return HAWSER_OK;
}

static hawser_status move(hawser_context *context)
{
    HAWSER_WRITE(context, double, centres);
    HAWSER_WRITE(context, double, sums);
    move_centres(centres, sums);
    return HAWSER_OK;
}

static void run_means(test_node *node)
{
    double *out = (double *)node->user + (size_t)node->node * CENTRES * DIMENSIONS;
    const hawser_matrix data = {
        .rows = DIMENSIONS, .cols = POINTS, .stored = POINTS * DIMENSIONS, .values = points, .stride = DIMENSIONS};
    hawser_program *program = hawser_program_new("means", NULL);
    hawser_state *x = HAWSER_STATE(program, "points", HAWSER_DATA, .matrix = &data, .split = HAWSER_BY_COLUMN);
    hawser_state *centres = HAWSER_STATE(program, "centres", HAWSER_REPLICATED, .rows = DIMENSIONS, .cols = CENTRES,
                                         .by_column = true, .initial = points);
    hawser_state *sums = HAWSER_STATE(program, "sums", HAWSER_REPLICATED, .rows = 3, .cols = CENTRES, .by_column = true);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 12}, hawser_bsp());
    HAWSER_UNIT(loop, "assign", assign, .reads = {x, centres}, .updates = {sums});
    HAWSER_UNIT(loop, "move", move, .one = true, .updates = {centres, sums});
    hawser_run *run = NULL;
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (node->status == HAWSER_OK)
        memcpy(out, RESULT(double, run, "centres", NULL), CENTRES * DIMENSIONS * sizeof *out);
    hawser_run_free(run);
    hawser_program_free(program);
}

/* The method in its two natural units: all points count in each clock, with any number of blocks and nodes. The points are
 * integers, so sums are exact. */
static void means_in_two_units(void **state)
{
    (void)state;
    double centres[CENTRES * DIMENSIONS], sums[SUMS] = {0}, got[3 * CENTRES * DIMENSIONS];
    uint64_t random = 5;
    for (size_t i = 0; i < POINTS * DIMENSIONS; i++)
        points[i] = below(&random, 1000);
    memcpy(centres, points, sizeof centres);
    for (int clock = 0; clock < 12; clock++) {
        for (size_t j = 0; j < POINTS; j++)
            add_point(sums, points + j * DIMENSIONS, nearest(points + j * DIMENSIONS, centres));
        move_centres(centres, sums);
    }
    static const char *const workers[] = {"1", "2", "3", "4"};
    for (uint32_t w = 0; w < 4; w++)
        for (uint32_t nodes = 1; nodes <= 3 && nodes <= w + 1; nodes++) {
            test_node all[NODES_MOST];
            const char *const pairs[] = {"workers", workers[w], "check", "yes", "timeout", "60", NULL};
            run_nodes(all, nodes, pairs, run_means, got);
            check_all(all, nodes, "k-means");
            for (uint32_t n = 0; n < nodes; n++)
                for (size_t i = 0; i < CENTRES * DIMENSIONS; i++)
                    assert_true(fabs(got[n * CENTRES * DIMENSIONS + i] - centres[i]) <= 1e-9);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_agree_with_the_oracle, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(nodes_agree_with_the_oracle, make_directory, remove_directory),
        cmocka_unit_test(all_refusals_are_drawn),
        cmocka_unit_test(what_is_held_or_rounded_is_not_lost),
        cmocka_unit_test(late_policies_keep_their_promises),
        cmocka_unit_test_setup_teardown(relays_keep_the_promises_of_late_policies, make_directory, remove_directory),
        cmocka_unit_test(means_in_two_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
