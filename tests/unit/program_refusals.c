/* Programs that break the model are rejected by name, before the run or at the first access. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/residence.h"
#include "data/share/blocks.h"
#include "job.h"
#include "refusals_list.h"

static double numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const hawser_matrix matrix = {.rows = 3, .cols = 4, .stored = 12, .values = numbers, .stride = 3};

static hawser_status nothing(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

/* A program with one state of each kind, to which a test adds its mistake. */
typedef struct fixture {
    hawser_program *program;
    hawser_operator *root;
    hawser_state *data, *whole, *v, *p, *alpha;
} fixture;

static fixture make(void)
{
    fixture f = {.program = hawser_program_new("broken", NULL)};
    f.root = hawser_root(f.program);
    f.data = hawser_data_state(f.program, "data", &matrix, HAWSER_BY_COLUMN);
    f.whole = hawser_data_state(f.program, "whole", &matrix, HAWSER_WHOLE);
    f.v = hawser_replicated_state(f.program, "v", 3, 1, NULL, (hawser_rule){0});
    f.p = hawser_partitioned_state(f.program, "p", 8, f.data, NULL);
    f.alpha = hawser_local_state(f.program, "alpha", f.data, 1, NULL);
    hawser_metric_declare(f.program, "gap", HAWSER_SUM);
    return f;
}

static refusals_list list;

/* Runs the program on two blocks, where it must fail. Returns its status with the text. */
static hawser_status fail_with(fixture f, hawser_error *error)
{
    test_job test = OPEN_JOB("workers", "2", "timeout", "20");
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(test.job, f.program, &run, error);
    assert_null(run);
    hawser_program_free(f.program);
    close_job(test);
    return status;
}

static void expect(fixture f, hawser_status wanted, const char *first, const char *second)
{
    hawser_error error = {0};
    hawser_status status = fail_with(f, &error);
    if (status != wanted || strstr(error.text, first) == NULL || strstr(error.text, second) == NULL)
        fail_msg("got %s: %s", hawser_status_name(status), error.text);
}

/* Checks that a program is refused by a row of docs/refusals.md, in a text that has these words. */
static void refused(fixture f, const char *first, const char *second)
{
    hawser_error error = {0};
    hawser_status status = fail_with(f, &error);
    if (status != HAWSER_BAD_PROGRAM || strstr(error.text, first) == NULL || strstr(error.text, second) == NULL)
        fail_msg("got %s: %s", hawser_status_name(status), error.text);
    if (list.count > 0 && !meet_refusal(&list, error.text))
        fail_msg("no row of docs/refusals.md is: %s", error.text);
}

#define BAD HAWSER_BAD_PROGRAM

static void an_empty_program_is_rejected(void **state)
{
    (void)state;
    refused(make(), "broken", "no operators");
    test_job test = OPEN_JOB("workers", "1");
    hawser_run *run = NULL;
    assert_int_equal(hawser_run_program(test.job, NULL, &run, NULL), HAWSER_BAD_ARGUMENT);
    close_job(test);
}

static void wrong_names_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    hawser_replicated_state(f.program, "v", 3, 1, NULL, (hawser_rule){0});
    refused(f, "'v'", "two states");
    f = make();
    hawser_unit(f.root, "u", nothing, NULL, NULL);
    hawser_unit(f.root, "u", nothing, NULL, NULL);
    refused(f, "'u'", "two units");
    f = make();
    hawser_metric_declare(f.program, "gap", HAWSER_MAX);
    refused(f, "'gap'", "twice");
}

static void wrong_states_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    hawser_replicated_state(f.program, "w", 0, 1, NULL, (hawser_rule){0});
    refused(f, "'w'", "impossible size");
    f = make();
    hawser_replicated_state(f.program, "w", 1, 1, NULL, (hawser_rule){.damping = -1});
    refused(f, "'w'", "damping");
    f = make();
    hawser_tie(f.alpha, f.p);
    refused(f, "'alpha'", "no replicated state");
    f = make();
    hawser_tie(f.v, f.v);
    refused(f, "'v'", "only a local state");
    f = make();
    hawser_local_state(f.program, "l", f.whole, 1, NULL);
    refused(f, "'l'", "not split");
    f = make();
    hawser_partitioned_state(f.program, "q", 7, f.data, NULL);
    refused(f, "'q'", "split of 'data'");
    f = make();
    hawser_derive(f.p, nothing);
    refused(f, "'p'", "derived");
    f = make();
    hawser_encoding(f.p, HAWSER_AS_BF16);
    refused(f, "'p'", "only deltas of a replicated state");
    f = make();
    hawser_encoding(f.v, (hawser_form)9);
    refused(f, "'v'", "form 9");
    f = make();
    hawser_data_costs(f.whole, (const double[4]){0});
    refused(f, "'whole'", "no split data");
    f = make();
    hawser_data_costs(f.v, (const double[4]){0});
    refused(f, "'v'", "no split data");
    f = make();
    static const uint64_t offsets[4] = {0};
    static const hawser_matrix rows = {.rows = 3, .cols = 4, .layout = HAWSER_CSR, .offsets = offsets};
    hawser_data_state(f.program, "r", &rows, HAWSER_BY_COLUMN);
    refused(f, "'r'", "by column");
    f = make();
    static const double twelve[12] = {0};
    static const hawser_matrix dense = {
        .rows = 3, .cols = 4, .stored = 12, .layout = HAWSER_DENSE_ROWS, .values = twelve, .stride = 4};
    hawser_data_state(f.program, "d", &dense, HAWSER_BY_COLUMN);
    refused(f, "'d' is split by column", "stored by rows (HAWSER_DENSE_ROWS)");
}

static void wrong_units_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    hawser_unit(f.root, "twins", nothing, HAWSER_READS(f.whole), HAWSER_UPDATES(f.v));
    refused(f, "'twins'", "'v'");
    f = make();
    hawser_tie(f.alpha, f.v);
    hawser_unit(f.root, "alone", nothing, HAWSER_READS(f.data), HAWSER_UPDATES(f.alpha));
    refused(f, "'alone'", "tied");
    f = make();
    hawser_unit_one(f.root, "single", nothing, NULL, HAWSER_UPDATES(f.alpha));
    refused(f, "'single'", "'alpha'");
    f = make();
    hawser_unit(f.root, "reader", nothing, HAWSER_READS(f.data), NULL);
    hawser_unit(f.root, "late", nothing, NULL, HAWSER_UPDATES(f.data));
    refused(f, "'late'", "'reader'");
    f = make();
    hawser_unit(hawser_loop(f.root, "l", (hawser_until){.clocks = 2}, hawser_bsp()), "again", nothing, NULL,
                HAWSER_UPDATES(f.data));
    refused(f, "'again'", "inside a loop");
}

static void wrong_operators_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    hawser_loop(f.root, "empty", (hawser_until){.clocks = 1}, hawser_bsp());
    refused(f, "'empty'", "empty body");
    f = make();
    hawser_unit(hawser_loop(f.root, "endless", (hawser_until){0}, hawser_bsp()), "u", nothing, NULL, NULL);
    refused(f, "'endless'", "no condition");
    f = make();
    hawser_unit(hawser_loop(f.root, "blind", (hawser_until){.metric = "objective"}, hawser_bsp()), "u", nothing, NULL, NULL);
    refused(f, "'blind'", "'objective'");
    f = make();
    hawser_unit(hawser_loop(f.root, "mute", (hawser_until){.change = 0.1}, hawser_bsp()), "u", nothing, NULL, NULL);
    refused(f, "'mute'", "names none");
    f = make();
    hawser_unit(hawser_loop(f.root, "untested", (hawser_until){.clocks = 1, .remembers = 8}, hawser_bsp()), "u", nothing,
                NULL, NULL);
    refused(f, "'untested'", "has memory for a test, but no test");
    f = make();
    hawser_operator *both = hawser_parallel(f.root);
    hawser_unit(both, "a", nothing, HAWSER_READS(f.data), HAWSER_UPDATES(f.v));
    hawser_unit(both, "b", nothing, HAWSER_READS(f.data), HAWSER_UPDATES(f.v));
    refused(f, "parallel", "'v'");
    f = make();
    hawser_operator *outer = hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, hawser_delay(1));
    hawser_unit(hawser_parallel(outer), "u", nothing, NULL, NULL);
    refused(f, "'outer'", "can only be bsp, ssp or tap");
    f = make();
    hawser_state *kept = hawser_stored_state(f.program, "kept", 8, NULL, NULL, NULL, NULL);
    hawser_operator *late = hawser_loop(f.root, "late", (hawser_until){.clocks = 1}, hawser_bsp());
    hawser_unit(late, "first", nothing, NULL, HAWSER_UPDATES(kept));
    hawser_unit(late, "second", nothing, HAWSER_READS(kept), NULL);
    refused(f, "unit 'second' uses stored state 'kept'", "'first'");
    f = make();
    hawser_operator *many = hawser_loop(f.root, "many", (hawser_until){.clocks = 1}, hawser_bsp());
    char names[65][16];
    for (int i = 0; i < 65; i++) {
        (void)snprintf(names[i], sizeof names[i], "u%d", i);
        hawser_unit(many, names[i], nothing, NULL, HAWSER_UPDATES(f.v));
    }
    refused(f, "loop 'many' has more than 64 stages. Unit 'u64' begins", "divide the loop's body");
    f = make();
    hawser_unit_sync(hawser_unit(f.root, "alone", nothing, NULL, HAWSER_UPDATES(f.v)), hawser_bsp());
    refused(f, "unit 'alone' has a sync of its own", "in no loop");
    f = make();
    hawser_operator *tight = hawser_loop(f.root, "tight", (hawser_until){.clocks = 1}, hawser_ssp(1));
    hawser_unit_sync(hawser_unit(tight, "eager", nothing, NULL, HAWSER_UPDATES(f.v)), hawser_ssp(2));
    refused(f, "unit 'eager' is under ssp:2, which waits less than ssp:1", "'tight'");
    f = make();
    hawser_operator *lone = hawser_loop(f.root, "lone", (hawser_until){.clocks = 1}, hawser_ssp(1));
    hawser_unit(lone, "moves", nothing, NULL, HAWSER_UPDATES(f.v));
    hawser_unit_sync(hawser_unit(lone, "idle", nothing, NULL, HAWSER_UPDATES(f.alpha)), hawser_bsp());
    refused(f, "unit 'idle' has a sync of its own", "waits for nothing");
    f = make();
    hawser_unit_sync(hawser_loop(f.root, "whole", (hawser_until){.clocks = 1}, hawser_bsp()), hawser_bsp());
    refused(f, "'whole' is not a unit", "hawser_loop");
    f = make();
    hawser_operator *storing = hawser_loop(f.root, "storing", (hawser_until){.clocks = 1}, hawser_ssp(1));
    hawser_state *chunks = hawser_stored_state(f.program, "chunks", 8, NULL, NULL, NULL, NULL);
    hawser_unit_sync(hawser_unit(storing, "asks", nothing, HAWSER_READS(chunks), HAWSER_UPDATES(f.v)), hawser_bsp());
    refused(f, "unit 'asks' has a sync of its own", "stored states");
    f = make();
    hawser_unit_sync(hawser_unit(hawser_loop(f.root, "l", (hawser_until){.clocks = 1}, hawser_ssp(1)), "slow", nothing, NULL,
                                 HAWSER_UPDATES(f.v)),
                     hawser_delay(2));
    refused(f, "unit 'slow' cannot have sync 3", "bsp or ssp");
    f = make();
    hawser_sequence(hawser_loop(f.root, "hollow", (hawser_until){.clocks = 1}, hawser_bsp()));
    refused(f, "'hollow'", "empty");
    f = make();
    hawser_unit(hawser_branch(f.root, "fork", NULL, NULL), "u", nothing, NULL, NULL);
    refused(f, "'fork'", "no test");
}

static bool always(hawser_progress *progress, void *user)
{
    (void)progress, (void)user;
    return true;
}

/* A loop inside of a loop under ssp or tap, whose body has one unit. */
static hawser_operator *inner_of(fixture f, hawser_sync sync, hawser_until until, hawser_sync inner)
{
    hawser_operator *outer = hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, sync);
    hawser_operator *loop = hawser_loop(hawser_sequence(outer), "inner", until, inner);
    hawser_unit(loop, "u", nothing, NULL, HAWSER_UPDATES(f.v));
    return loop;
}

static void wrong_inner_loops_are_rejected(void **state)
{
    (void)state;
    const hawser_until ends[] = {{.clocks = 9, .seconds = 1}, {.clocks = 9, .metric = "gap"}, {.clocks = 9, .test = always}};
    for (int i = 0; i < 3; i++) {
        fixture f = make();
        inner_of(f, hawser_tap(), ends[i], hawser_tap());
        refused(f, "loop 'inner' is a part of each clock of loop 'outer' under tap", "a number of clocks alone");
    }
    const hawser_sync syncs[] = {hawser_ssp(1), hawser_tap(), hawser_centric(0)};
    for (int i = 0; i < 3; i++) {
        fixture f = make();
        inner_of(f, hawser_ssp(2), (hawser_until){.clocks = 3}, syncs[i]);
        refused(f, "loop 'inner' is under", "inside of loop 'outer' under ssp:2");
    }
    fixture f = make();
    hawser_operator *loop = inner_of(f, hawser_ssp(2), (hawser_until){.clocks = 3}, hawser_bsp());
    hawser_unit(hawser_loop(loop, "deep", (hawser_until){.clocks = 3}, hawser_ssp(2)), "d", nothing, NULL, NULL);
    refused(f, "loop 'deep' is under ssp:2", "inside of loop 'inner' under bsp");
    f = make();
    loop = inner_of(f, hawser_ssp(2), (hawser_until){.clocks = 3}, hawser_bsp());
    hawser_unit_sync(hawser_unit(loop, "eager", nothing, NULL, HAWSER_UPDATES(f.v)), hawser_ssp(1));
    refused(f, "unit 'eager' is under ssp:1, which waits less than bsp", "'inner'");
    f = make();
    loop = inner_of(f, hawser_ssp(2), (hawser_until){.clocks = 3}, hawser_bsp());
    hawser_state *chunks = hawser_stored_state(f.program, "chunks", 8, NULL, NULL, NULL, NULL);
    hawser_unit(loop, "asks", nothing, HAWSER_READS(chunks), NULL);
    refused(f, "unit 'asks' uses stored states in loop 'inner'", "'outer'");
    f = make();
    hawser_loop(hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, hawser_tap()), "void", (hawser_until){.clocks = 1},
                hawser_tap());
    refused(f, "'outer'", "empty body");
    f = make();
    loop = inner_of(f, hawser_ssp(2), (hawser_until){.clocks = 3}, hawser_bsp());
    hawser_sequence(hawser_loop(loop, "void", (hawser_until){.clocks = UINT64_MAX}, hawser_bsp()));
    refused(f, "'void'", "empty body");
    f = make();
    inner_of(f, hawser_ssp(2), (hawser_until){.clocks = 65}, hawser_bsp());
    refused(f, "loop 'outer' has more than 64 stages. Unit 'u' begins", "divide the loop's body");
    f = make();
    loop = hawser_loop(hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, hawser_tap()), "inner",
                       (hawser_until){.clocks = UINT64_MAX}, hawser_tap());
    hawser_unit(loop, "own", nothing, NULL, HAWSER_UPDATES(f.alpha));
    refused(f, "loop 'outer' runs units more than 4096 times", "'own'");
    f = make();
    hawser_operator *outer = hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, hawser_tap());
    hawser_unit(hawser_branch(outer, "fork", always, NULL), "u", nothing, NULL, NULL);
    refused(f, "branch 'fork' is in loop 'outer' under tap", "give 'outer' ssp or bsp");
    f = make();
    outer = hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, hawser_ssp(1001));
    hawser_unit(hawser_branch(outer, "fork", always, NULL), "u", nothing, NULL, NULL);
    refused(f, "branch 'fork' is in loop 'outer' under ssp:1001", "the most is ssp:1000");
    f = make();
    loop = inner_of(f, hawser_ssp(2), (hawser_until){.clocks = 3}, hawser_bsp());
    hawser_unit(hawser_branch(loop, "fork", always, NULL), "w", nothing, NULL, NULL);
    refused(f, "branch 'fork' is in loop 'inner', a part of each clock of loop 'outer'", "around 'inner'");
    f = make();
    outer = hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, hawser_ssp(1));
    chunks = hawser_stored_state(f.program, "chunks", 8, NULL, NULL, NULL, NULL);
    hawser_unit(hawser_branch(outer, "fork", always, NULL), "u", nothing, HAWSER_READS(chunks), NULL);
    refused(f, "branch 'fork' of loop 'outer' has units that use stored states", "outside of the branch");
    f = make();
    outer = hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, hawser_ssp(1));
    char names[65][16];
    for (int i = 0; i < 65; i++) {
        (void)snprintf(names[i], sizeof names[i], "u%d", i);
        hawser_unit(hawser_branch(outer, "fork", always, NULL), names[i], nothing, NULL, NULL);
    }
    refused(f, "loop 'outer' under ssp has more than 64 branches", "divide");
}

static void keep_smaller(const hawser_merging *merging)
{
    (void)merging;
}

static hawser_status solve_nothing(hawser_context *context, hawser_subproblem *subproblem)
{
    (void)context, (void)subproblem;
    return HAWSER_OK;
}

static hawser_operator *loop_of(fixture f, hawser_sync sync)
{
    return hawser_loop(f.root, "loop", (hawser_until){.clocks = 2}, sync);
}

static void wrong_operands_are_rejected(void **state)
{
    (void)state;
    fixture f = make(), other = make();
    hawser_unit(hawser_unit(f.root, "u", nothing, NULL, NULL), "below", nothing, NULL, NULL);
    refused(f, "'below'", "unit 'u'");
    f = make();
    hawser_loop(f.root, "", (hawser_until){.clocks = 1}, hawser_bsp());
    refused(f, "operator", "empty name");
    f = make();
    hawser_unit(f.root, "u", NULL, NULL, NULL);
    refused(f, "'u'", "no function");
    f = make();
    hawser_unit(f.root, "u", nothing, HAWSER_READS(other.v), NULL);
    refused(f, "'v'", "another program");
    hawser_program_free(other.program);
    f = make();
    hawser_unit(f.root, "u", nothing, NULL, HAWSER_UPDATES(f.v, f.v));
    refused(f, "'v'", "twice in its updates");
    f = make();
    hawser_unit(hawser_loop(f.root, "back", (hawser_until){.seconds = -1}, hawser_bsp()), "u", nothing, NULL, NULL);
    refused(f, "'back'", "negative");
    f = make();
    hawser_unit(loop_of(f, (hawser_sync){.tightness = (hawser_tightness)99}), "u", nothing, NULL, NULL);
    refused(f, "'loop'", "no sync 99");
    f = make();
    hawser_branch(f.root, "fork", always, NULL);
    refused(f, "'fork'", "one or two children");
    f = make();
    hawser_branch_remembers(f.root, 8);
    refused(f, "''", "is not a branch");
    f = make();
    hawser_branch_remembers(hawser_branch(f.root, "fork", always, NULL), SIZE_MAX);
    refused(f, "'fork'", "impossible size");
    f = make();
    hawser_parallel(f.root);
    refused(f, "parallel", "no children");
    f = make();
    hawser_operator *both = hawser_parallel(f.root);
    hawser_unit(both, "a", nothing, HAWSER_READS(f.data), HAWSER_UPDATES(f.v));
    hawser_unit(both, "b", nothing, HAWSER_READS(f.v), NULL);
    refused(f, "'v'", "while another updates it");
    f = make();
    hawser_metric_declare(f.program, "loss", (hawser_combine_by)9);
    refused(f, "'loss'", "hawser_combine_by 9");
    f = make();
    char name[16];
    for (int i = 0; i < 64; i++) {
        (void)snprintf(name, sizeof name, "m%d", i);
        hawser_metric_declare(f.program, name, HAWSER_SUM);
    }
    refused(f, "'m63'", "more than the 64");
    f = make();
    hawser_metric_numbers_fits(f.program, "fold");
    refused(f, "'fold'", "is not declared");
    f = make();
    for (int i = 0; i < HAWSER_FIT_METRICS + 1; i++) {
        (void)snprintf(name, sizeof name, "m%d", i);
        hawser_metric_declare(f.program, name, HAWSER_SUM);
        hawser_metric_numbers_fits(f.program, name);
    }
    refused(f, "'m4'", "more than the 4");
    f = make();
    hawser_metric_declare(f.program, "fold", HAWSER_LAST);
    hawser_metric_numbers_fits(f.program, "fold");
    hawser_metric_numbers_fits(f.program, "fold");
    refused(f, "'fold'", "numbers the fits already");
}

static void wrong_reductions_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    hawser_reduces(hawser_unit_one(f.root, "single", nothing, NULL, NULL), 1);
    refused(f, "'single'", "make it a hawser_unit");
    f = make();
    hawser_reduces(hawser_unit(loop_of(f, hawser_ssp(1)), "u", nothing, NULL, NULL), 1);
    refused(f, "'u'", "under ssp:1");
    f = make();
    hawser_derive(f.v, nothing);
    hawser_reduces(hawser_unit(f.root, "u", nothing, NULL, NULL), 1);
    refused(f, "'u'", "rebuilds state 'v'");
    f = make();
    hawser_reduces(loop_of(f, hawser_bsp()), 1);
    refused(f, "'loop'", "is not a unit");
    f = make();
    hawser_reduces(hawser_unit(f.root, "u", nothing, NULL, NULL), 0);
    refused(f, "'u'", "reductions of 0 numbers");
    f = make();
    hawser_reduces_expect(hawser_unit(f.root, "u", nothing, NULL, NULL), 1, 1);
    refused(f, "'u'", "declares no reductions");
}

static void wrong_sizes_and_types_are_rejected(void **state)
{
    (void)state;
    static const double first[3] = {0};
    fixture f = make();
    hawser_replicated_state(f.program, "", 1, 1, NULL, (hawser_rule){0});
    refused(f, "replicated", "no name");
    f = make();
    hawser_replicated_state_of(f.program, "w", (hawser_type)9, 1, 1, NULL, (hawser_rule){0});
    refused(f, "'w'", "no type 9");
    f = make();
    hawser_replicated_state_of(f.program, "w", HAWSER_I64, 1, 1, NULL, (hawser_rule){.gain = 2});
    refused(f, "'w' is of i64", "no gain");
    f = make();
    hawser_partitioned_state(f.program, "q", 0, NULL, NULL);
    refused(f, "'q'", "impossible size, 0");
    f = make();
    hawser_partitioned_state(f.program, "q", 4, f.v, NULL);
    refused(f, "'q' is along 'v'", "no data state");
    f = make();
    hawser_partitioned_matrix(f.program, "q", HAWSER_F64, 4, 4, HAWSER_WHOLE, NULL, NULL);
    refused(f, "'q'", "use HAWSER_BY_ROW or HAWSER_BY_COLUMN");
    f = make();
    hawser_partitioned_matrix(f.program, "q", HAWSER_F64, 4, 7, HAWSER_BY_COLUMN, f.data, NULL);
    refused(f, "'q' has 7 columns", "'data'");
    f = make();
    hawser_local_state(f.program, "l", NULL, 1, NULL);
    refused(f, "'l'", "hawser_block_state");
    f = make();
    hawser_local_state(f.program, "l", f.data, 0, NULL);
    refused(f, "'l'", "impossible width, 0");
    f = make();
    hawser_block_state(f.program, "l", HAWSER_F64, 0, NULL, 0);
    refused(f, "'l'", "impossible size, 0");
    f = make();
    hawser_block_state(f.program, "l", HAWSER_F64, SIZE_MAX / 16, NULL, 0);
    hawser_unit(f.root, "u", nothing, NULL, NULL);
    refused(f, "'l'", "in each of 2 blocks");
    f = make();
    hawser_block_state(f.program, "l", HAWSER_F64, 1, first, 3);
    hawser_unit(f.root, "u", nothing, NULL, NULL);
    refused(f, "'l' begins with numbers for 3 blocks", "the job has 2");
    f = make();
    hawser_tie(f.alpha, hawser_replicated_state(f.program, "w", 1, 1, NULL, (hawser_rule){.merge = keep_smaller}));
    refused(f, "'alpha' is tied to 'w'", "merge function");
    f = make();
    hawser_tie(f.alpha, hawser_replicated_state_of(f.program, "w", HAWSER_F32, 1, 1, NULL, (hawser_rule){0}));
    refused(f, "'alpha' of f64", "'w' of f32");
    f = make();
    hawser_state_expect(f.alpha, 3);
    refused(f, "'alpha'", "expected to use 3 entries");
    f = make();
    hawser_result_expect(hawser_data_state(f.program, "Y", &matrix, HAWSER_BY_COLUMN));
    refused(f, "'Y'", "which has none");
}

/* A matrix that hawser_job_load would have made of a file, by column or in these blocks of rows. */
static hawser_matrix loaded(struct hawser_residence *residence, struct hw_row_blocks *rows)
{
    hawser_matrix made = matrix;
    residence->rows = rows;
    made.residence = residence;
    return made;
}

static void wrong_data_are_rejected(void **state)
{
    (void)state;
    static const uint64_t offsets[5] = {0};
    static const double costs[3] = {1, 1, 1};
    static const hawser_matrix odd = {.rows = 3, .cols = 4, .layout = (hawser_layout)99};
    static const hawser_matrix columns = {.rows = 3, .cols = 4, .layout = HAWSER_CSC, .offsets = offsets};
    static struct hawser_residence residences[3];
    size_t bounds[3] = {0, 3, 3}, late[4] = {0, 0, 0, 3};
    hw_row_block blocks[3] = {{.matrix = matrix}, {.matrix = matrix}, {.matrix = matrix}};
    struct hw_row_blocks rows = {.view = {.blocks = 2, .nodes = 1}, .bounds = bounds, .block = blocks};
    struct hw_row_blocks other_rows = {.view = {.blocks = 3, .nodes = 1}, .bounds = late, .block = blocks};
    const hawser_matrix by_column = loaded(&residences[0], NULL), by_row = loaded(&residences[1], &rows),
                        elsewhere = loaded(&residences[2], &other_rows);
    hawser_matrix few = by_row;
    few.stored = 1;
    fixture f = make();
    hawser_data_state(f.program, "d", NULL, HAWSER_WHOLE);
    refused(f, "'d'", "no matrix");
    f = make();
    hawser_data_state(f.program, "d", &odd, HAWSER_WHOLE);
    refused(f, "'d'", "its matrix ");
    f = make();
    hawser_data_state(f.program, "d", &matrix, (hawser_split)9);
    refused(f, "'d'", "no split 9");
    f = make();
    hawser_data_state(f.program, "d", &columns, HAWSER_BY_ROW);
    refused(f, "'d'", "by columns (CSC)");
    f = make();
    hawser_unit(f.root, "a", nothing, NULL, HAWSER_UPDATES(f.data));
    hawser_unit(f.root, "b", nothing, NULL, HAWSER_UPDATES(f.data));
    refused(f, "units 'a' and 'b'", "'data'");
    f = make();
    hawser_unit_one(f.root, "single", nothing, NULL, HAWSER_UPDATES(f.data));
    refused(f, "'single'", "every part of data state 'data'");
    const struct {
        const hawser_matrix *matrix;
        hawser_split split;
        const char *words;
    } loads[] = {{&by_column, HAWSER_BY_ROW, "the columns of its own blocks"},
                 {&by_row, HAWSER_BY_COLUMN, "'d' is split by column, but"},
                 {&by_row, HAWSER_WHOLE, "'d' is whole"},
                 {&elsewhere, HAWSER_BY_ROW, "was loaded for 3 workers on 1 nodes, but the job has 2 on 1"},
                 {&few, HAWSER_BY_ROW, "'d' is cut at row 3, but data state 'rows'"}};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        f = make();
        hawser_unit(f.root, "u", nothing, NULL, NULL);
        if (loads[i].matrix == &few)
            hawser_data_state(f.program, "rows", &matrix, HAWSER_BY_ROW);
        hawser_data_state(f.program, "d", loads[i].matrix, loads[i].split);
        refused(f, loads[i].words, "'d'");
    }
    f = make();
    hawser_unit(f.root, "u", nothing, NULL, NULL);
    hawser_data_costs(hawser_data_state(f.program, "d", &by_row, HAWSER_BY_ROW), costs);
    refused(f, "'d'", "leave the costs out");
}

static hawser_state *stored(fixture f, hawser_type type, const double *initial, const char *function)
{
    static const double wrong[16] = {-1, -1};
    return hawser_stored_state_of(f.program, "kept", type, 8, NULL, initial, function, wrong);
}

/* Runs a loop of nine clocks until it pauses after four, and lets another program go on from there. */
static fixture go_on(fixture f, uint64_t clocks)
{
    test_job test = OPEN_JOB("workers", "2", "timeout", "20");
    hawser_error error = {0};
    hawser_run *run = NULL;
    fixture before = make();
    hawser_unit(hawser_loop(before.root, "loop", (hawser_until){.clocks = 9}, hawser_bsp()), "u", nothing, NULL, NULL);
    hawser_program_pause(before.program, 4);
    assert_int_equal(hawser_run_program(test.job, before.program, &run, &error), HAWSER_STOP);
    hawser_unit(hawser_loop(f.root, "loop", (hawser_until){.clocks = clocks}, hawser_bsp()), "u", nothing, NULL, NULL);
    size_t size = 0;
    const void *position = hawser_run_position(run, &size);
    hawser_program_resume(f.program, position, size);
    hawser_run_free(run);
    hawser_program_free(before.program);
    close_job(test);
    return f;
}

static void wrong_positions_are_rejected(void **state)
{
    (void)state;
    refused(go_on(make(), 4), "'loop'", "after 4 clocks, but ends after 4");
    fixture f = make();
    hawser_metric_declare(f.program, "more", HAWSER_MAX);
    refused(go_on(f, 9), "'broken'", "of another program");
    f = make();
    hawser_unit(f.root, "t", nothing, HAWSER_READS(f.v), HAWSER_UPDATES(f.data));
    hawser_program_pause(f.program, 1);
    refused(f, "'v'", "let it use data alone");
    f = make();
    hawser_unit(hawser_sequence(f.root), "t", nothing, NULL, HAWSER_UPDATES(f.data));
    hawser_program_pause(f.program, 1);
    refused(f, "'t'", "put it directly below the root");
    f = make();
    hawser_program_resume(f.program, "nothing", 8);
    hawser_unit(f.root, "u", nothing, NULL, NULL);
    expect(f, HAWSER_BAD_INPUT, "a position are damaged", "broken");
}

static void wrong_stored_states_are_rejected(void **state)
{
    (void)state;
    static const double first[8] = {1};
    fixture f = make();
    stored(f, HAWSER_I32, NULL, NULL);
    refused(f, "'kept' is of i32", "make it of i64");
    f = make();
    stored(f, HAWSER_I64, NULL, "add");
    refused(f, "'kept' is of i64", "'add'");
    f = make();
    stored(f, HAWSER_F64, NULL, "nonsense");
    refused(f, "'kept'", "'nonsense'");
    f = make();
    stored(f, HAWSER_F64, first, "max");
    refused(f, "'kept' begins at zero", "'max'");
    f = make();
    stored(f, HAWSER_F64, NULL, "adagrad");
    refused(f, "'kept'", "function 'adagrad' (rate -1, epsilon -1): rate must be");
    f = make();
    hawser_unit_one(f.root, "single", nothing, NULL, HAWSER_UPDATES(stored(f, HAWSER_F64, NULL, NULL)));
    refused(f, "'single'", "all shares of stored state 'kept'");
    f = make();
    hawser_unit(loop_of(f, hawser_delay(2)), "u", nothing, NULL, NULL);
    refused(f, "'loop' is under delay:2", "it has none");
    f = make();
    hawser_unit(loop_of(f, hawser_centric(1)), "u", nothing, NULL, HAWSER_UPDATES(f.v, stored(f, HAWSER_F64, NULL, NULL)));
    refused(f, "'loop' is under dc:1", "updates replicated state 'v'");
    f = make();
    hawser_unit(loop_of(f, hawser_centric(1)), "u", nothing, NULL, HAWSER_UPDATES(stored(f, HAWSER_F64, NULL, "add")));
    refused(f, "'loop' is data-centric", "'kept'");
    f = make();
    hawser_state *kept = stored(f, HAWSER_F64, NULL, NULL);
    hawser_unit(loop_of(f, hawser_centric(1)), "a", nothing, NULL, HAWSER_UPDATES(kept));
    hawser_unit(hawser_loop(f.root, "late", (hawser_until){.clocks = 1}, hawser_bsp()), "b", nothing, NULL,
                HAWSER_UPDATES(kept));
    refused(f, "loops 'loop' and 'late'", "'kept'");
}

static void wrong_sending_is_rejected(void **state)
{
    (void)state;
    fixture f = make();
    hawser_encoding(hawser_replicated_state_of(f.program, "n", HAWSER_I64, 3, 1, NULL, (hawser_rule){0}), HAWSER_AS_BF16);
    refused(f, "'n' is of i64", "cannot be rounded");
    f = make();
    hawser_state_filter(f.p, "absolute", 64, 0);
    refused(f, "'p' is partitioned", "hawser_state_filter");
    f = make();
    hawser_state_filter(f.v, "best", 64, 0);
    refused(f, "'v'", "no filter 'best'");
    f = make();
    hawser_state_filter(f.v, "absolute", 0, 0);
    refused(f, "'v'", "does nothing");
    f = make();
    hawser_unit(f.root, "u", nothing, NULL, NULL);
    hawser_state_filter(f.v, "absolute", 64, 0);
    refused(f, "'v'", "no unit updates it");
    f = make();
    hawser_state *n = hawser_replicated_state_of(f.program, "n", HAWSER_I64, 3, 1, NULL, (hawser_rule){0});
    hawser_state_filter(n, "relative", 64, 0);
    hawser_unit(f.root, "u", nothing, NULL, HAWSER_UPDATES(n));
    refused(f, "'n' is of i64", "relative filter");
}

static void wrong_subproblems_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    hawser_cocoa(loop_of(f, hawser_bsp()), "c", solve_nothing, NULL, f.v, NULL);
    refused(f, "'c'", "state alpha of hawser_cocoa is NULL");
    f = make();
    hawser_cocoa(loop_of(f, hawser_bsp()), "c", NULL, f.alpha, f.v, NULL);
    refused(f, "'c'", "solver of hawser_cocoa is NULL");
    f = make();
    hawser_cocoa(loop_of(f, hawser_bsp()), "c", solve_nothing, f.p, f.v, NULL);
    refused(f, "coordinates 'p'", "local state");
    f = make();
    hawser_cocoa(loop_of(f, hawser_bsp()), "c", solve_nothing, f.alpha, f.p, NULL);
    refused(f, "'p' of hawser_cocoa", "no replicated state");
    f = make();
    hawser_state *wide = hawser_replicated_state(f.program, "wide", 5, 1, NULL, (hawser_rule){0});
    hawser_cocoa(loop_of(f, hawser_bsp()), "c", solve_nothing, f.alpha, wide, NULL);
    refused(f, "'wide' has 5 numbers", "has 3");
    f = make();
    hawser_derive(f.v, nothing);
    hawser_cocoa(loop_of(f, hawser_bsp()), "c", solve_nothing, f.alpha, f.v, NULL);
    refused(f, "'v'", "derived by hawser_derive");
    f = make();
    hawser_tie(f.alpha, hawser_replicated_state(f.program, "w", 3, 1, NULL, (hawser_rule){0}));
    hawser_cocoa(loop_of(f, hawser_bsp()), "c", solve_nothing, f.alpha, f.v, NULL);
    refused(f, "'alpha' is tied to 'w'", "not to 'v'");
    f = make();
    hawser_state *many[66] = {NULL};
    char name[16];
    for (int i = 0; i < 65; i++) {
        (void)snprintf(name, sizeof name, "s%d", i);
        many[i] = hawser_replicated_state(f.program, name, 1, 1, NULL, (hawser_rule){0});
    }
    hawser_cocoa(loop_of(f, hawser_bsp()), "c", solve_nothing, f.alpha, f.v, many);
    refused(f, "'c'", "at most 63 further states");
}

/* The tests above have met each row of the list. */
static void every_refusal_of_the_list_is_met(void **state)
{
    (void)state;
    if (list.count == 0)
        skip();
    for (size_t i = 0; i < list.count; i++)
        if (!list.met[i])
            print_error("docs/refusals.md: no program of this test is refused by: %s\n", list.row[i]);
    for (size_t i = 0; i < list.count; i++)
        assert_true(list.met[i]);
}

/* ------------------------------------------------------------------------------------------------- at first access ---- */

static hawser_status undeclared(hawser_context *context)
{
    assert_null(hawser_cache(context, "v"));
    return HAWSER_OK; /* the run fails nevertheless */
}

static hawser_status unknown(hawser_context *context)
{
    assert_null(hawser_view(context, "nonsense"));
    return HAWSER_OK;
}

static hawser_status wrong_kind(hawser_context *context)
{
    assert_null(hawser_local(context, "v"));
    return HAWSER_OK;
}

static hawser_status writes_a_read(hawser_context *context)
{
    assert_null(hawser_cache(context, "v"));
    return HAWSER_OK;
}

static hawser_status touches_too_much(hawser_context *context)
{
    return hawser_touch(context, "v", 2, 2);
}

static hawser_status reports_nan(hawser_context *context)
{
    return hawser_report(context, "gap", (double)NAN);
}

static hawser_status reports_unknown(hawser_context *context)
{
    return hawser_report(context, "loss", 1);
}

static hawser_status writes_nan(hawser_context *context)
{
    hawser_cache(context, "v")[1] = hawser_block(context) == 1 ? (double)NAN : 0;
    return HAWSER_OK;
}

static hawser_status stops_unasked(hawser_context *context)
{
    (void)context;
    return HAWSER_STOP;
}

static hawser_status says_why(hawser_context *context)
{
    return hawser_block(context) == 1 ? hawser_unit_fail(context, HAWSER_DIVERGED, "step %d is too long", 7) : HAWSER_OK;
}

static void undeclared_access_fails(void **state)
{
    (void)state;
    const struct {
        hawser_unit_function *function;
        bool reads, updates;
        hawser_status status;
        const char *words;
    } cases[] = {{undeclared, false, false, BAD, "not declared"},
                 {unknown, true, false, BAD, "'nonsense'"},
                 {wrong_kind, true, false, BAD, "replicated"},
                 {writes_a_read, true, false, BAD, "read, not updated"},
                 {touches_too_much, false, true, BAD, "which has 3"},
                 {reports_nan, false, false, HAWSER_NOT_FINITE, "'gap'"},
                 {reports_unknown, false, false, BAD, "'loss'"},
                 {writes_nan, false, true, HAWSER_NOT_FINITE, "v"},
                 {stops_unasked, false, false, BAD, "stop"},
                 {says_why, false, false, HAWSER_DIVERGED, "step 7 is too long"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int looped = 0; looped < 2; looped++) {
            fixture f = make();
            hawser_operator *parent =
                looped ? hawser_loop(f.root, "loop", (hawser_until){.clocks = 5}, hawser_ssp(1)) : f.root;
            hawser_unit(parent, "culprit", cases[i].function, cases[i].reads ? HAWSER_READS(f.v) : NULL,
                        cases[i].updates ? HAWSER_UPDATES(f.v) : NULL);
            expect(f, cases[i].status, cases[i].words, cases[i].function == writes_nan ? "block 1" : "'culprit'");
        }
}

#ifndef NDEBUG
static hawser_status writes_through_a_view(hawser_context *context)
{
    ((double *)(uintptr_t)hawser_view(context, "v"))[0] = 1;
    return HAWSER_OK;
}

/* In debug builds states that a unit only reads are mapped read-only, so a write to them is caught at once. */
static void a_write_to_a_read_state_is_caught(void **state)
{
    (void)state;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(0);
        fixture f = make();
        hawser_unit(f.root, "writer", writes_through_a_view, HAWSER_READS(f.v), NULL);
        test_job test = OPEN_JOB("workers", "1");
        hawser_run *run = NULL;
        hawser_status ended = hawser_run_program(test.job, f.program, &run, NULL);
        _exit(ended == HAWSER_INTERNAL); /* not reached if the write is caught */
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}
#endif

static hawser_status uses_what_is_not_declared(hawser_context *context)
{
    const volatile double *values = hawser_view(context, "p");
    return values[0] > 0 ? HAWSER_OK : HAWSER_STOP;
}

/* The name is printed before the process ends by the use of NULL. */
static void undeclared_state_is_named_before_a_crash(void **state)
{
    (void)state;
    int ends[2];
    char text[4096] = "";
    fflush(stdout);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        fixture f = make();
        hawser_unit(f.root, "reader", uses_what_is_not_declared, HAWSER_READS(f.v), NULL);
        test_job test = OPEN_JOB("workers", "1");
        hawser_run *run = NULL;
        (void)!hawser_run_program(test.job, f.program, &run, NULL);
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got; used < sizeof text - 1 && (got = read(ends[0], text + used, sizeof text - 1 - used)) > 0;)
        used += (size_t)got;
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (strstr(text, "hawser: unit 'reader', block 0: hawser_view: state 'p' is not declared by this unit") == NULL)
        fail_msg("printed: %s", text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undeclared_state_is_named_before_a_crash),
        cmocka_unit_test(an_empty_program_is_rejected),
        cmocka_unit_test(wrong_names_are_rejected),
        cmocka_unit_test(wrong_states_are_rejected),
        cmocka_unit_test(wrong_units_are_rejected),
        cmocka_unit_test(wrong_operators_are_rejected),
        cmocka_unit_test(wrong_inner_loops_are_rejected),
        cmocka_unit_test(wrong_operands_are_rejected),
        cmocka_unit_test(wrong_reductions_are_rejected),
        cmocka_unit_test(wrong_sizes_and_types_are_rejected),
        cmocka_unit_test(wrong_data_are_rejected),
        cmocka_unit_test(wrong_positions_are_rejected),
        cmocka_unit_test(wrong_stored_states_are_rejected),
        cmocka_unit_test(wrong_sending_is_rejected),
        cmocka_unit_test(wrong_subproblems_are_rejected),
        cmocka_unit_test(every_refusal_of_the_list_is_met),
        cmocka_unit_test(undeclared_access_fails),
#ifndef NDEBUG
        cmocka_unit_test(a_write_to_a_read_state_is_caught),
#endif

    };
    if (!read_refusals(&list))
        print_message("no docs/refusals.md here: set HAWSER_SOURCE to the source tree\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
