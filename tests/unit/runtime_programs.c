/*
 * Random programs against an oracle. A seed draws states, one to five units that read and update them, nested sequences and loops, blocks and a
 * policy. Under BSP a unit sees everything that the units before it have changed, on all blocks, so the oracle runs one unit after the other on
 * plain arrays; all numbers are integers, which add without rounding. Under SSP and TAP the history is judged and sums are kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "history_memory.h"
#include "nodes.h"
#include "sanitized.h"

enum { BLOCKS = 4, COLS = 11, STATES = 4, UNITS = 5, SIZE = 16 };
static const double numbers[COLS];
static const hawser_matrix matrix = {.rows = 1, .cols = COLS, .stored = COLS, .values = numbers, .stride = 1};

typedef enum kind { REPLICATED, PARTITIONED, ALONG, LOCAL } kind;

typedef struct drawn_unit {
    bool one, yields, nested, reads[STATES], updates[STATES];
} drawn_unit;

/* A drawn program. */
typedef struct drawn {
    uint64_t seed;
    uint32_t blocks, states, units, clocks, rounds; /* rounds of the outer loop; 0: there is none */
    kind kinds[STATES];
    size_t sizes[STATES];
    drawn_unit unit[UNITS]; /* the last is outside of the inner loop */
    hawser_sync sync;
    bool early;   /* a unit has not seen what the policy promises */
    bool reached; /* one has seen no more than that, of a state with several updates in a clock */
} drawn;

static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint32_t below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(next(state) % bound);
}

static void draw_unit(uint64_t *random, const drawn *d, drawn_unit *unit)
{
    unit->one = below(random, 4) == 0;
    unit->yields = below(random, 4) == 0;
    unit->nested = below(random, 3) == 0;
    for (uint32_t s = 0; s < d->states; s++) {
        uint32_t use = below(random, 4);
        bool barred = unit->one && d->kinds[s] == LOCAL; /* one block has a part of it only */
        unit->reads[s] = (use & 1) != 0 && !barred;
        unit->updates[s] = (use & 2) != 0 && !barred;
    }
}

static drawn draw(uint64_t seed, hawser_tightness tightness)
{
    uint64_t random = seed;
    drawn d = {.seed = seed, .blocks = 1 + below(&random, BLOCKS), .states = 1 + below(&random, STATES)};
    d.units = 2 + below(&random, UNITS - 1);
    d.clocks = 1 + below(&random, 4);
    d.rounds = below(&random, 3);
    for (uint32_t s = 0; s < d.states; s++) {
        d.kinds[s] = (kind)below(&random, LOCAL + 1);
        d.sizes[s] = d.kinds[s] == REPLICATED ? 1 + below(&random, 5) : d.kinds[s] == PARTITIONED ? 7 : COLS;
    }
    for (uint32_t u = 0; u < d.units; u++)
        draw_unit(&random, &d, &d.unit[u]);
    d.sync = tightness == HAWSER_SSP ? hawser_ssp(1 + below(&random, 2)) : (hawser_sync){tightness, 0};
    return d;
}

/* ------------------------------------------------------------------------------------------------ what a unit does ---- */

static int64_t mix_in(int64_t hash, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash * 31 + (int64_t)values[i] * (int64_t)(i + 1) % 10007 + 10007) % 10007;
    return hash;
}

static double change_of(int64_t hash, size_t entry)
{
    return entry == 0 ? 1 : (hash + (int64_t)entry) % 3 == 0 ? 0 : (double)(hash * (int64_t)(entry + 1) % 17 - 8);
}

static double value_after(double before, int64_t hash, size_t entry)
{
    return (double)(((int64_t)before * 3 + hash + (int64_t)entry) % 1000);
}

/* Returns how many updates of a state a block makes in the units before `end`, or in all. */
static uint32_t updates_of(const drawn *d, uint32_t s, uint32_t block, uint32_t end)
{
    uint32_t count = 0;
    for (uint32_t u = 0; u < end && u + 1 < d->units; u++)
        count += d->unit[u].updates[s] && (!d->unit[u].one || block == 0);
    return count;
}

/* Compares the updates that a unit of the loop sees, which entry 0 counts, with what it has to see: all of its own, and of another block those of
 * the units before it in clock t - s and of all clocks before. Fibers run one at a time, so all may write into the program. */
static void check_seen(hawser_context *context, drawn *d, uint32_t number, uint32_t s, double seen)
{
    uint64_t clock = hawser_clock(context), slack = d->sync.staleness;
    uint64_t late = clock > slack ? clock - slack : 0, least = 0, every = 0;
    for (uint32_t b = 0; b < d->blocks; b++) {
        uint64_t from = b == hawser_block(context) ? clock : late, each = updates_of(d, s, b, d->units);
        bool begun = clock >= slack || b == hawser_block(context);
        least += from * each + (begun ? updates_of(d, s, b, number) : 0);
        every = b != hawser_block(context) && each > every ? each : every;
    }
    d->early |= seen < (double)least;
    d->reached |= seen == (double)least && every > 1 && clock > slack;
}

static hawser_status run_unit(hawser_context *context, uint32_t number)
{
    drawn *d = hawser_user(context);
    const drawn_unit *unit = &d->unit[number];
    int64_t hash = number + 7 * (int64_t)hawser_block(context) + 77 * (int64_t)hawser_clock(context);
    double *own[STATES] = {0};
    char name[2] = "a";
    for (uint32_t s = 0; s < d->states; s++, name[0]++) {
        if (!unit->reads[s] && !unit->updates[s])
            continue;
        bool whole = d->kinds[s] == REPLICATED || (d->kinds[s] != LOCAL && unit->reads[s]);
        if (unit->updates[s])
            own[s] = d->kinds[s] == REPLICATED ? hawser_cache(context, name) : hawser_local(context, name);
        const double *values = d->kinds[s] == REPLICATED && own[s] != NULL ? own[s]
                               : whole                                     ? hawser_view(context, name)
                                                                           : hawser_local(context, name);
        if (d->sync.tightness == HAWSER_SSP && d->rounds == 0 && d->kinds[s] == REPLICATED && number + 1 < d->units)
            check_seen(context, d, number, s, values[0]);
        hash = mix_in(hash, values, whole ? d->sizes[s] : hawser_part(context, name, NULL));
    }
    name[0] = 'a';
    for (uint32_t s = 0; s < d->states; s++, name[0]++) {
        size_t count = d->kinds[s] == REPLICATED ? d->sizes[s] : own[s] != NULL ? hawser_part(context, name, NULL) : 0;
        for (size_t i = 0; own[s] != NULL && i < count; i++)
            own[s][i] = d->kinds[s] == REPLICATED ? own[s][i] + change_of(hash, i) : value_after(own[s][i], hash, i);
        if (unit->yields && own[s] != NULL && d->kinds[s] != LOCAL)
            HAWSER_TRY(hawser_yield(context));
    }
    return HAWSER_OK;
}

#define UNIT(number)                                                                                                        \
    static hawser_status unit_##number(hawser_context *context)                                                             \
    {                                                                                                                       \
        return run_unit(context, number);                                                                                   \
    }
UNIT(0)
UNIT(1)
UNIT(2) UNIT(3) UNIT(4) static hawser_unit_function *const functions[UNITS] = {unit_0, unit_1, unit_2, unit_3, unit_4};

static void add_unit(const drawn *d, uint32_t number, hawser_operator *parent, hawser_state *const *states)
{
    const drawn_unit *unit = &d->unit[number];
    hawser_state *reads[STATES + 1] = {0}, *updates[STATES + 1] = {0};
    size_t read = 0, updated = 0;
    char name[3] = {'u', (char)('0' + number), 0};
    for (uint32_t s = 0; s < d->states; s++) {
        if (unit->reads[s])
            reads[read++] = states[s];
        if (unit->updates[s])
            updates[updated++] = states[s];
    }
    (unit->one ? hawser_unit_one : hawser_unit)(unit->nested ? hawser_sequence(parent) : parent, name, functions[number],
                                                reads, updates);
}

static hawser_program *program_of(drawn *d)
{
    hawser_program *program = hawser_program_new("drawn", d);
    hawser_state *data = hawser_data_state(program, "data", &matrix, HAWSER_BY_COLUMN), *states[STATES];
    char name[2] = "a";
    for (uint32_t s = 0; s < d->states; s++, name[0]++)
        states[s] = d->kinds[s] == REPLICATED
                        ? hawser_replicated_state(program, name, d->sizes[s], 1, NULL, (hawser_rule){0})
                    : d->kinds[s] == LOCAL
                        ? hawser_local_state(program, name, data, 1, NULL)
                        : hawser_partitioned_state(program, name, d->sizes[s], d->kinds[s] == ALONG ? data : NULL, NULL);
    hawser_operator *around = hawser_root(program);
    if (d->rounds > 0)
        around = hawser_loop(around, "rounds", (hawser_until){.clocks = d->rounds}, hawser_bsp());
    hawser_operator *loop = hawser_loop(around, "clocks", (hawser_until){.clocks = d->clocks}, d->sync);
    for (uint32_t u = 0; u + 1 < d->units; u++)
        add_unit(d, u, loop, states);
    add_unit(d, d->units - 1, around, states);
    return program;
}

/* ---------------------------------------------------------------------------------------------------------- the oracle ---- */

typedef struct values {
    double of[STATES][SIZE];
} values;

/* Finds the range of a block's part. */
static void part_of(const drawn *d, uint32_t s, uint32_t block, size_t *begin, size_t *end)
{
    size_t bounds[BLOCKS + 1];
    if (d->kinds[s] == PARTITIONED) {
        size_t rest = d->sizes[s] % d->blocks; /* the first so many shares have one more */
        *begin = d->sizes[s] / d->blocks * block + (block < rest ? block : rest);
        *end = *begin + d->sizes[s] / d->blocks + (block < rest);
        return;
    }
    hawser_balance(&matrix, d->blocks, bounds);
    *begin = bounds[block];
    *end = bounds[block + 1];
}

static void oracle_unit(const drawn *d, uint32_t number, uint64_t clock, values *now)
{
    const drawn_unit *unit = &d->unit[number];
    const values before = *now;
    for (uint32_t b = 0; b < (unit->one ? 1 : d->blocks); b++) {
        int64_t hash = number + 7 * (int64_t)b + 77 * (int64_t)clock;
        for (uint32_t s = 0; s < d->states; s++) {
            size_t begin = 0, end = d->sizes[s];
            if (!unit->reads[s] && !unit->updates[s])
                continue;
            if (d->kinds[s] == LOCAL || (d->kinds[s] != REPLICATED && !unit->reads[s]))
                part_of(d, s, b, &begin, &end);
            hash = mix_in(hash, before.of[s] + begin, end - begin);
        }
        for (uint32_t s = 0; s < d->states; s++) {
            size_t begin = 0, end = d->sizes[s];
            if (d->kinds[s] != REPLICATED)
                part_of(d, s, b, &begin, &end);
            for (size_t i = begin; unit->updates[s] && i < end; i++)
                now->of[s][i] = d->kinds[s] == REPLICATED ? now->of[s][i] + change_of(hash, i)
                                                          : value_after(before.of[s][i], hash, i - begin);
        }
    }
}

static values oracle(const drawn *d)
{
    values now = {0};
    for (uint32_t round = 0; round < (d->rounds > 0 ? d->rounds : 1); round++) {
        for (uint32_t clock = 0; clock < d->clocks; clock++)
            for (uint32_t u = 0; u + 1 < d->units; u++)
                oracle_unit(d, u, clock, &now);
        oracle_unit(d, d->units - 1, round, &now);
    }
    return now;
}

/* --------------------------------------------------------------------------------------------------------------- runs ---- */

static hawser_status run_drawn(hawser_job *job, drawn *d, values *out, hawser_error *error)
{
    hawser_program *program = program_of(d);
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    char name[2] = "a";
    memset(out, 0, sizeof *out);
    for (uint32_t s = 0; status == HAWSER_OK && s < d->states; s++, name[0]++)
        memcpy(out->of[s], hawser_result(run, name, NULL), d->sizes[s] * sizeof(double));
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static void compare(const drawn *d, const values *wanted, const values *got, const char *how)
{
    for (uint32_t s = 0; s < d->states; s++)
        for (size_t i = 0; i < d->sizes[s]; i++)
            if (wanted->of[s][i] != got->of[s][i])
                fail_msg("seed %llu, %s: state %c, entry %zu is %g and not %g", (unsigned long long)d->seed, how,
                         (char)('a' + s), i, got->of[s][i], wanted->of[s][i]);
}

static void run_here(drawn *d, const values *wanted, const char *threads, uint64_t schedule)
{
    char workers[12];
    values got;
    hawser_error error = {0};
    (void)snprintf(workers, sizeof workers, "%u", d->blocks);
    test_job test = OPEN_JOB("workers", workers, "threads", threads, "check", "yes", "timeout", "60");
    if (schedule > 0)
        hw_job_use_fibers(test.job, schedule);
    if (run_drawn(test.job, d, &got, &error) != HAWSER_OK)
        fail_msg("seed %llu: %s", (unsigned long long)d->seed, error.text);
    close_job(test);
    compare(d, wanted, &got, threads);
}

static uint64_t draws_of(uint64_t count)
{
    const char *longer = getenv("HAWSER_TEST_LONG");
    return longer != NULL && *longer != '\0' ? 20 * count : tried_of(count);
}

static void threads_agree_with_the_oracle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= draws_of(1500); seed++) {
        drawn d = draw(seed, HAWSER_BSP);
        values wanted = oracle(&d);
        run_here(&d, &wanted, "1", seed);
        if (seed % 5 == 0)
            run_here(&d, &wanted, seed % 2 == 0 ? "2" : "4", 0);
    }
}

typedef struct everywhere {
    drawn d;
    values got[NODES_MOST];
} everywhere;

static void run_on_node(test_node *node)
{
    everywhere *all = node->user;
    drawn d = all->d; /* the program's pointer is each node's own */
    node->status = run_drawn(node->job, &d, &all->got[node->node], &node->error);
}

static void nodes_agree_with_the_oracle(void **state)
{
    (void)state;
    static const char *const topologies[] = {"all", "tree", "halton", "servers:1", "servers:2"};
    for (uint64_t seed = 1; seed <= draws_of(60); seed++) {
        everywhere all = {.d = draw(seed, HAWSER_BSP)};
        test_node nodes[NODES_MOST];
        char workers[12];
        uint32_t count = all.d.blocks < 3 ? all.d.blocks : 2 + (uint32_t)(seed % 2);
        (void)snprintf(workers, sizeof workers, "%u", all.d.blocks);
        if (count == 1)
            continue;
        values wanted = oracle(&all.d);
        const char *const pairs[] = {"workers", workers, "topology", topologies[seed % 5], "check", "yes",
                                     "timeout", "60",    NULL};
        run_nodes(nodes, count, pairs, run_on_node, &all);
        check_all(nodes, count, topologies[seed % 5]);
        for (uint32_t n = 0; n < count; n++)
            compare(&all.d, &wanted, &all.got[n], topologies[seed % 5]);
    }
}

/* ------------------------------------------------------------------------------------------------- k-means in two units ---- */

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
    const hawser_matrix *part = hawser_data_view(context, "points");
    const double *centres = hawser_view(context, "centres");
    double *sums = hawser_cache(context, "sums");
    for (size_t j = 0; j < part->cols; j++) {
        const double *point = (const double *)part->values + j * part->stride;
        add_point(sums, point, nearest(point, centres));
    }
    return HAWSER_OK;
}

static hawser_status move(hawser_context *context)
{
    move_centres(hawser_cache(context, "centres"), hawser_cache(context, "sums"));
    return HAWSER_OK;
}

static void run_means(test_node *node)
{
    double *out = (double *)node->user + (size_t)node->node * CENTRES * DIMENSIONS;
    const hawser_matrix data = {
        .rows = DIMENSIONS, .cols = POINTS, .stored = POINTS * DIMENSIONS, .values = points, .stride = DIMENSIONS};
    hawser_program *program = hawser_program_new("means", NULL);
    hawser_state *x = hawser_data_state(program, "points", &data, HAWSER_BY_COLUMN);
    hawser_state *centres = hawser_replicated_state(program, "centres", DIMENSIONS, CENTRES, points, (hawser_rule){0});
    hawser_state *sums = hawser_replicated_state(program, "sums", 3, CENTRES, NULL, (hawser_rule){0});
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 12}, hawser_bsp());
    hawser_unit(loop, "assign", assign, HAWSER_READS(x, centres), HAWSER_UPDATES(sums));
    hawser_unit_one(loop, "move", move, NULL, HAWSER_UPDATES(centres, sums));
    hawser_run *run = NULL;
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (node->status == HAWSER_OK)
        memcpy(out, hawser_result(run, "centres", NULL), CENTRES * DIMENSIONS * sizeof *out);
    hawser_run_free(run);
    hawser_program_free(program);
}

/* The method in its two natural units: all points count in each clock, with any number of blocks and nodes. The points are integers, so sums are
 * exact. */
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

/* ------------------------------------------------------------------------------------------------- policies that are late ---- */

static void judge_history(const drawn *d, int file)
{
    hw_history history = {0};
    hw_verdict verdict = {0};
    check_history_file(file, &history, &verdict);
    if (verdict.broken) {
        hw_verdict_print(&verdict, &history, stderr);
        fail_msg("seed %llu: the history breaks a rule", (unsigned long long)d->seed);
    }
    hw_history_free(&history);
}

/* Entry 0 of a replicated state counts the updates of all blocks, whatever each of them has seen. */
static void check_counts(const drawn *d, const values *got)
{
    for (uint32_t s = 0; s < d->states; s++) {
        uint64_t count = 0, rounds = d->rounds > 0 ? d->rounds : 1;
        for (uint32_t u = 0; u < d->units; u++)
            if (d->unit[u].updates[s])
                count += (d->unit[u].one ? 1 : d->blocks) * rounds * (u + 1 < d->units ? d->clocks : 1);
        if (d->kinds[s] == REPLICATED && got->of[s][0] != (double)count)
            fail_msg("seed %llu: state %c counts %g of %llu updates", (unsigned long long)d->seed, (char)('a' + s),
                     got->of[s][0], (unsigned long long)count);
    }
}

static void late_policies_keep_their_promises(void **state)
{
    (void)state;
    char path[40], workers[12];
    int file = history_file(path, sizeof path);
    uint64_t reached = 0;
    for (uint64_t seed = 1; seed <= draws_of(600); seed++) {
        drawn d = draw(seed, seed % 3 == 0 ? HAWSER_TAP : seed % 3 == 1 ? HAWSER_SSP : HAWSER_BSP);
        values got;
        hawser_error error = {0};
        (void)snprintf(workers, sizeof workers, "%u", d.blocks);
        test_job test = OPEN_JOB("workers", workers, "check", "yes", "timeout", "60", "record-history", path);
        hw_job_use_fibers(test.job, seed);
        if (run_drawn(test.job, &d, &got, &error) != HAWSER_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
        close_job(test);
        check_counts(&d, &got);
        judge_history(&d, file);
        if (d.early)
            fail_msg("seed %llu: a unit has not seen what ssp:%u promises", (unsigned long long)seed, d.sync.staleness);
        reached += d.reached;
    }
    assert_true(SANITIZED || reached > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_agree_with_the_oracle),
        cmocka_unit_test(nodes_agree_with_the_oracle),
        cmocka_unit_test(means_in_two_units),
        cmocka_unit_test(late_policies_keep_their_promises),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
