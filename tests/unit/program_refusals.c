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
#include "hawser/cocoa.h"
#include "hawser/kept_points.h"
#include "hawser/stored.h"
#include "memory_checkpointer.h"
#include "refused.h"
#include "refused_entries.h"
#include "refused_work.h"
#include "sanitized.h"

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
    HAWSER_STATE(f.program, "v", HAWSER_REPLICATED, .rows = 3);
    refused(f, "'v'", "two states");
    f = make();
    HAWSER_UNIT(f.root, "u", nothing);
    HAWSER_UNIT(f.root, "u", nothing);
    refused(f, "'u'", "two units");
    f = make();
    hawser_metric_declare(f.program, "gap", HAWSER_MAX);
    refused(f, "'gap'", "twice");
}

static void wrong_states_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    HAWSER_STATE(f.program, "w", HAWSER_REPLICATED, .rows = 0);
    refused(f, "'w'", "impossible size");
    f = make();
    HAWSER_STATE(f.program, "w", HAWSER_REPLICATED, .rows = 1, .damping = -1);
    refused(f, "'w'", "damping");
    f = make();
    HAWSER_STATE(f.program, "l", HAWSER_LOCAL, .along = f.data, .tie = f.p);
    refused(f, "'l'", "no replicated state");
    f = make();
    HAWSER_STATE(f.program, "l", HAWSER_LOCAL, .along = f.whole);
    refused(f, "'l'", "not split");
    f = make();
    HAWSER_STATE(f.program, "q", HAWSER_PARTITIONED, .rows = 7, .along = f.data);
    refused(f, "'q'", "'data'");
    f = make();
    HAWSER_STATE(f.program, "w", HAWSER_REPLICATED, .rows = 1, .form = (hawser_form)9);
    refused(f, "'w'", "form 9");
    f = make();
    HAWSER_STATE(f.program, "d", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_WHOLE, .costs = (const double[4]){0});
    refused(f, "'d'", "no split data");
    f = make();
    static const uint64_t offsets[4] = {0};
    static const hawser_matrix rows = {.rows = 3, .cols = 4, .layout = HAWSER_CSR, .offsets = offsets};
    HAWSER_STATE(f.program, "r", HAWSER_DATA, .matrix = &rows, .split = HAWSER_BY_COLUMN);
    refused(f, "'r'", "by column");
    f = make();
    static const double twelve[12] = {0};
    static const hawser_matrix dense = {
        .rows = 3, .cols = 4, .stored = 12, .layout = HAWSER_DENSE_ROWS, .values = twelve, .stride = 4};
    HAWSER_STATE(f.program, "d", HAWSER_DATA, .matrix = &dense, .split = HAWSER_BY_COLUMN);
    refused(f, "'d' is split by column", "stored by rows (HAWSER_DENSE_ROWS)");
}

static void wrong_units_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    HAWSER_UNIT(f.root, "twins", nothing, .reads = {f.whole}, .updates = {f.v});
    refused(f, "'twins'", "'v'");
    f = make();
    hawser_state *tied = HAWSER_STATE(f.program, "tied", HAWSER_LOCAL, .along = f.data, .tie = f.v);
    HAWSER_UNIT(f.root, "alone", nothing, .reads = {f.data}, .updates = {tied});
    refused(f, "'alone'", "tied");
    f = make();
    HAWSER_UNIT(f.root, "single", nothing, .one = true, .updates = {f.alpha});
    refused(f, "'single'", "'alpha'");
    f = make();
    HAWSER_UNIT(f.root, "alone", nothing, .one = true, .updates = {f.whole});
    refused(f, "'alone'", "'whole'");
    f = make();
    HAWSER_UNIT(hawser_loop(f.root, "l", (hawser_until){.clocks = 2}, hawser_bsp()), "again", nothing, .updates = {f.data});
    refused(f, "'again'", "inside a loop");
}

static void wrong_operators_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    hawser_loop(f.root, "empty", (hawser_until){.clocks = 1}, hawser_bsp());
    refused(f, "'empty'", "empty body");
    f = make();
    HAWSER_UNIT(hawser_loop(f.root, "endless", (hawser_until){0}, hawser_bsp()), "u", nothing);
    refused(f, "'endless'", "no condition");
    f = make();
    HAWSER_UNIT(hawser_loop(f.root, "blind", (hawser_until){.metric = "objective"}, hawser_bsp()), "u", nothing);
    refused(f, "'blind'", "'objective'");
    f = make();
    HAWSER_UNIT(hawser_loop(f.root, "mute", (hawser_until){.change = 0.1}, hawser_bsp()), "u", nothing);
    refused(f, "'mute'", "names none");
    f = make();
    HAWSER_UNIT(hawser_loop(f.root, "untested", (hawser_until){.clocks = 1, .remembers = 8}, hawser_bsp()), "u", nothing);
    refused(f, "'untested'", "has memory for a test, but no test");
    f = make();
    hawser_operator *both = hawser_parallel(f.root);
    HAWSER_UNIT(both, "a", nothing, .reads = {f.data}, .updates = {f.v});
    HAWSER_UNIT(both, "b", nothing, .reads = {f.data}, .updates = {f.v});
    refused(f, "parallel", "'v'");
    f = make();
    hawser_operator *outer = hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, hawser_delay(1));
    HAWSER_UNIT(hawser_parallel(outer), "u", nothing);
    refused(f, "'outer'", "can only be bsp, ssp or tap");
    f = make();
    hawser_state *kept = HAWSER_STATE(f.program, "kept", HAWSER_STORED, .rows = 8);
    hawser_operator *late = hawser_loop(f.root, "late", (hawser_until){.clocks = 1}, hawser_bsp());
    HAWSER_UNIT(late, "first", nothing, .updates = {kept});
    HAWSER_UNIT(late, "second", nothing, .reads = {kept});
    refused(f, "unit 'second' uses stored state 'kept'", "'first'");
    f = make();
    hawser_operator *many = hawser_loop(f.root, "many", (hawser_until){.clocks = 1}, hawser_bsp());
    char names[65][16];
    for (int i = 0; i < 65; i++) {
        (void)snprintf(names[i], sizeof names[i], "u%d", i);
        HAWSER_UNIT(many, names[i], nothing, .updates = {f.v});
    }
    refused(f, "loop 'many' has more than 64 stages. Unit 'u64' begins", "divide the loop's body");
    f = make();
    HAWSER_UNIT(f.root, "alone", nothing, .updates = {f.v}, .sync = &(hawser_sync){.tightness = HAWSER_BSP});
    refused(f, "unit 'alone' has a sync of its own", "in no loop");
    f = make();
    hawser_operator *tight = hawser_loop(f.root, "tight", (hawser_until){.clocks = 1}, hawser_ssp(1));
    HAWSER_UNIT(tight, "eager", nothing, .updates = {f.v}, .sync = &(hawser_sync){HAWSER_SSP, 2});
    refused(f, "unit 'eager' is under ssp:2, which waits less than ssp:1", "'tight'");
    f = make();
    hawser_operator *lone = hawser_loop(f.root, "lone", (hawser_until){.clocks = 1}, hawser_ssp(1));
    HAWSER_UNIT(lone, "moves", nothing, .updates = {f.v});
    HAWSER_UNIT(lone, "idle", nothing, .updates = {f.alpha}, .sync = &(hawser_sync){.tightness = HAWSER_BSP});
    refused(f, "unit 'idle' has a sync of its own", "waits for nothing");
    f = make();
    hawser_operator *storing = hawser_loop(f.root, "storing", (hawser_until){.clocks = 1}, hawser_ssp(1));
    hawser_state *chunks = HAWSER_STATE(f.program, "chunks", HAWSER_STORED, .rows = 8);
    HAWSER_UNIT(storing, "asks", nothing, .reads = {chunks}, .updates = {f.v},
                .sync = &(hawser_sync){.tightness = HAWSER_BSP});
    refused(f, "unit 'asks' has a sync of its own", "stored states");
    f = make();
    HAWSER_UNIT(hawser_loop(f.root, "l", (hawser_until){.clocks = 1}, hawser_ssp(1)), "slow", nothing, .updates = {f.v},
                .sync = &(hawser_sync){HAWSER_DELAY, 2});
    refused(f, "unit 'slow' cannot have sync 3", "bsp or ssp");
    f = make();
    hawser_sequence(hawser_loop(f.root, "hollow", (hawser_until){.clocks = 1}, hawser_bsp()));
    refused(f, "'hollow'", "empty");
    f = make();
    HAWSER_UNIT(hawser_branch(f.root, "fork", NULL, NULL), "u", nothing);
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
    HAWSER_UNIT(loop, "u", nothing, .updates = {f.v});
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
    HAWSER_UNIT(hawser_loop(loop, "deep", (hawser_until){.clocks = 3}, hawser_ssp(2)), "d", nothing);
    refused(f, "loop 'deep' is under ssp:2", "inside of loop 'inner' under bsp");
    f = make();
    loop = inner_of(f, hawser_ssp(2), (hawser_until){.clocks = 3}, hawser_bsp());
    HAWSER_UNIT(loop, "eager", nothing, .updates = {f.v}, .sync = &(hawser_sync){HAWSER_SSP, 1});
    refused(f, "unit 'eager' is under ssp:1, which waits less than bsp", "'inner'");
    f = make();
    loop = inner_of(f, hawser_ssp(2), (hawser_until){.clocks = 3}, hawser_bsp());
    hawser_state *chunks = HAWSER_STATE(f.program, "chunks", HAWSER_STORED, .rows = 8);
    HAWSER_UNIT(loop, "asks", nothing, .reads = {chunks});
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
    HAWSER_UNIT(loop, "own", nothing, .updates = {f.alpha});
    refused(f, "loop 'outer' runs units more than 4096 times", "'own'");
    f = make();
    hawser_operator *outer = hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, hawser_tap());
    HAWSER_UNIT(hawser_branch(outer, "fork", always, NULL), "u", nothing);
    refused(f, "branch 'fork' is in loop 'outer' under tap", "give 'outer' ssp or bsp");
    f = make();
    outer = hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, hawser_ssp(1001));
    HAWSER_UNIT(hawser_branch(outer, "fork", always, NULL), "u", nothing);
    refused(f, "branch 'fork' is in loop 'outer' under ssp:1001", "the most is ssp:1000");
    f = make();
    loop = inner_of(f, hawser_ssp(2), (hawser_until){.clocks = 3}, hawser_bsp());
    HAWSER_UNIT(hawser_branch(loop, "fork", always, NULL), "w", nothing);
    refused(f, "branch 'fork' is in loop 'inner', a part of each clock of loop 'outer'", "around 'inner'");
    f = make();
    outer = hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, hawser_ssp(1));
    chunks = HAWSER_STATE(f.program, "chunks", HAWSER_STORED, .rows = 8);
    HAWSER_UNIT(hawser_branch(outer, "fork", always, NULL), "u", nothing, .reads = {chunks});
    refused(f, "branch 'fork' of loop 'outer' has units that use stored states", "outside of the branch");
    f = make();
    outer = hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, hawser_ssp(1));
    char names[65][16];
    for (int i = 0; i < 65; i++) {
        (void)snprintf(names[i], sizeof names[i], "u%d", i);
        HAWSER_UNIT(hawser_branch(outer, "fork", always, NULL), names[i], nothing);
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
    HAWSER_UNIT(HAWSER_UNIT(f.root, "u", nothing), "below", nothing);
    refused(f, "'below'", "unit 'u'");
    f = make();
    hawser_loop(f.root, "", (hawser_until){.clocks = 1}, hawser_bsp());
    refused(f, "operator", "empty name");
    f = make();
    HAWSER_UNIT(f.root, "u", NULL);
    refused(f, "'u'", "no function");
    f = make();
    HAWSER_UNIT(f.root, "u", nothing, .reads = {other.v});
    refused(f, "'v'", "another program");
    hawser_program_free(other.program);
    f = make();
    HAWSER_UNIT(f.root, "u", nothing, .updates = {f.v, f.v});
    refused(f, "'v'", "twice in its updates");
    f = make();
    HAWSER_UNIT(hawser_loop(f.root, "back", (hawser_until){.seconds = -1}, hawser_bsp()), "u", nothing);
    refused(f, "'back'", "negative");
    f = make();
    HAWSER_UNIT(loop_of(f, (hawser_sync){.tightness = (hawser_tightness)99}), "u", nothing);
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
    HAWSER_UNIT(both, "a", nothing, .reads = {f.data}, .updates = {f.v});
    HAWSER_UNIT(both, "b", nothing, .reads = {f.v});
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
    HAWSER_UNIT(f.root, "single", nothing, .one = true, .reduces = 1);
    refused(f, "'single'", "leave .one out");
    f = make();
    HAWSER_UNIT(loop_of(f, hawser_ssp(1)), "u", nothing, .reduces = 1);
    refused(f, "'u'", "under ssp:1");
    f = make();
    HAWSER_STATE(f.program, "w", HAWSER_REPLICATED, .rows = 1, .derive = nothing);
    HAWSER_UNIT(f.root, "u", nothing, .reduces = 1);
    refused(f, "'u'", "rebuilds state 'w'");
    f = make();
    hawser_reduces_expect(HAWSER_UNIT(f.root, "u", nothing), 1, 1);
    refused(f, "'u'", "declares no reductions");
}

static void wrong_sizes_and_types_are_rejected(void **state)
{
    (void)state;
    static const double first[3] = {0};
    fixture f = make();
    HAWSER_STATE(f.program, "", HAWSER_REPLICATED, .rows = 1);
    refused(f, "replicated", "no name");
    f = make();
    HAWSER_STATE(f.program, "w", HAWSER_REPLICATED, .type = (hawser_type)9, .rows = 1);
    refused(f, "'w'", "no type 9");
    f = make();
    HAWSER_STATE(f.program, "w", HAWSER_REPLICATED, .type = HAWSER_I64, .rows = 1, .gain = 2);
    refused(f, "'w' is of i64", "no gain");
    f = make();
    HAWSER_STATE(f.program, "q", HAWSER_PARTITIONED, .rows = 0);
    refused(f, "'q'", "impossible size, 0");
    f = make();
    HAWSER_STATE(f.program, "q", HAWSER_PARTITIONED, .rows = 4, .along = f.v);
    refused(f, "'q' is along 'v'", "no data state");
    f = make();
    HAWSER_STATE(f.program, "q", HAWSER_PARTITIONED, .rows = 4, .cols = 7, .by_column = true, .along = f.data);
    refused(f, "'q' has 7 columns", "'data'");
    f = make();
    HAWSER_STATE(f.program, "l", HAWSER_LOCAL, .rows = 1);
    refused(f, "'l'", "is along no data state");
    f = make();
    HAWSER_STATE(f.program, "l", HAWSER_LOCAL, .along = f.data, .cols = SIZE_MAX / 2);
    refused(f, "'l'", "impossible width, ");
    f = make();
    HAWSER_STATE(f.program, "l", HAWSER_LOCAL, .each = true, .rows = 0);
    refused(f, "'l'", "impossible size, 0");
    f = make();
    HAWSER_STATE(f.program, "l", HAWSER_LOCAL, .each = true, .rows = SIZE_MAX / 16);
    HAWSER_UNIT(f.root, "u", nothing);
    refused(f, "'l'", "in each of 2 blocks");
    f = make();
    HAWSER_STATE(f.program, "l", HAWSER_LOCAL, .each = true, .rows = 1, .initial = first, .initial_blocks = 3);
    HAWSER_UNIT(f.root, "u", nothing);
    refused(f, "'l' begins with numbers for 3 blocks", "the job has 2");
    f = make();
    hawser_state *merged = HAWSER_STATE(f.program, "w", HAWSER_REPLICATED, .rows = 1, .merge = keep_smaller);
    HAWSER_STATE(f.program, "l", HAWSER_LOCAL, .along = f.data, .tie = merged);
    refused(f, "'l' is tied to 'w'", "merge function");
    f = make();
    hawser_state *narrow = HAWSER_STATE(f.program, "w", HAWSER_REPLICATED, .type = HAWSER_F32, .rows = 1);
    HAWSER_STATE(f.program, "l", HAWSER_LOCAL, .along = f.data, .tie = narrow);
    refused(f, "'l' of f64", "'w' of f32");
    f = make();
    HAWSER_STATE(f.program, "d", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_WHOLE, .expect = 3);
    refused(f, "'d'", "expected to use 3 entries");
    f = make();
    hawser_result_expect(HAWSER_STATE(f.program, "Y", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN));
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
    HAWSER_STATE(f.program, "d", HAWSER_DATA, .matrix = NULL, .split = HAWSER_WHOLE);
    refused(f, "'d'", "no matrix");
    f = make();
    HAWSER_STATE(f.program, "d", HAWSER_DATA, .matrix = &odd, .split = HAWSER_WHOLE);
    refused(f, "'d'", "its matrix ");
    f = make();
    HAWSER_STATE(f.program, "d", HAWSER_DATA, .matrix = &matrix, .split = (hawser_split)9);
    refused(f, "'d'", "no split 9");
    f = make();
    HAWSER_STATE(f.program, "d", HAWSER_DATA, .matrix = &columns, .split = HAWSER_BY_ROW);
    refused(f, "'d'", "by columns (CSC)");
    f = make();
    HAWSER_UNIT(f.root, "a", nothing, .updates = {f.data});
    HAWSER_UNIT(f.root, "b", nothing, .updates = {f.data});
    refused(f, "units 'a' and 'b'", "'data'");
    f = make();
    HAWSER_UNIT(f.root, "single", nothing, .one = true, .updates = {f.data});
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
        HAWSER_UNIT(f.root, "u", nothing);
        if (loads[i].matrix == &few)
            HAWSER_STATE(f.program, "rows", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_ROW);
        HAWSER_STATE(f.program, "d", HAWSER_DATA, .matrix = loads[i].matrix, .split = loads[i].split);
        refused(f, loads[i].words, "'d'");
    }
    f = make();
    HAWSER_UNIT(f.root, "u", nothing);
    HAWSER_STATE(f.program, "d", HAWSER_DATA, .matrix = &by_row, .split = HAWSER_BY_ROW, .costs = costs);
    refused(f, "'d'", "leave the costs out");
}

static hawser_state *stored(fixture f, hawser_type type, const double *initial, const char *function)
{
    static const double wrong[16] = {-1, -1};
    return HAWSER_STATE(f.program, "kept", HAWSER_STORED, .type = type, .rows = 8, .initial = initial, .function = function,
                        .parameters = function != NULL ? wrong : NULL);
}

/* Takes a checkpoint of a loop, from which a program with another metric cannot go on. */
static void wrong_positions_are_rejected(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    test_job test = OPEN_JOB("workers", "2", "timeout", "20");
    hawser_error error = {0};
    hawser_run *run = NULL;
    fixture f = make();
    memory_open(&kept, 1, 4, 0);
    test.job->checkpointer = checkpointer = &kept.own;
    HAWSER_UNIT(hawser_loop(f.root, "loop", (hawser_until){.clocks = 9, .metric = "gap"}, hawser_bsp()), "u", nothing);
    assert_int_equal(hawser_run_program(test.job, f.program, &run, &error), HAWSER_OK);
    assert_int_equal(kept.complete, 4);
    memory_again(&kept, 1, 0);
    hawser_run_free(run);
    hawser_program_free(f.program);
    close_job(test);
    f = make();
    hawser_metric_declare(f.program, "more", HAWSER_MAX);
    HAWSER_UNIT(hawser_loop(f.root, "loop", (hawser_until){.clocks = 9, .metric = "gap"}, hawser_bsp()), "u", nothing);
    refused(f, "'broken'", "of another program");
    checkpointer = NULL;
    memory_close(&kept);
}

static void wrong_kept_points_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    hawser_state_keep(f.data);
    refused(f, "'data'", "which no kept point has");
    f = make();
    hawser_kept_points(f.program, 0);
    refused(f, "0 points", "expected 1 to");
    f = make();
    HAWSER_STATE(f.program, "l", HAWSER_LOCAL, .along = f.data, .tie = f.v, .keep = true);
    HAWSER_UNIT(f.root, "u", nothing);
    refused(f, "'l' is tied to 'v'", "only one of both is kept");
}

/* tests/unit/program_spec.c goes through all fields. */
static void wrong_fields_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    HAWSER_STATE(f.program, "x", (hawser_state_kind)0, .rows = 1);
    refused(f, "'x' has no kind", "set .kind");
    f = make();
    HAWSER_STATE(f.program, "x", HAWSER_REPLICATED, .rows = 0);
    refused(f, __FILE__ ":", "x");
    f = make();
    HAWSER_STATE(f.program, "x", HAWSER_LOCAL, .each = true, .rows = 1, .filter = "absolute");
    refused(f, "'x' is local", "has no .filter");
    f = make();
    HAWSER_STATE(f.program, "x", HAWSER_REPLICATED, .rows = 1, .quota = 3);
    refused(f, "'x' has .quota without .filter", "it is the filter's");
    f = make();
    HAWSER_STATE(f.program, "x", HAWSER_PARTITIONED, .each = true, .rows = 1, .initial = numbers);
    refused(f, "'x' has .each and .initial", "in a unit");
    f = make();
    HAWSER_STATE(f.program, "x", HAWSER_PARTITIONED, .each = true, .rows = SIZE_MAX / 17);
    refused(f, "'x' has an impossible size", "for each of 2 blocks");
    f = make();
    HAWSER_STATE(f.program, "x", HAWSER_LOCAL, .along = f.data, .rows = 3);
    refused(f, "'x' has 3 rows", "'data' is split into 4 lines");
    f = make();
    assert_null(hawser_state_add(f.program, NULL));
    refused(f, "hawser_state_add", "'spec' is NULL");
    f = make();
    assert_null(hawser_unit_add(f.root, NULL));
    refused(f, "hawser_unit_add", "'spec' is NULL");
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
    (void)HAWSER_STATE(f.program, "kept", HAWSER_STORED, .rows = 2, .summed = true);
    refused(f, "'kept' has one writer per chunk", "nothing to sum");
    f = make();
    (void)HAWSER_STATE(f.program, "kept", HAWSER_STORED, .rows = 2, .function = "add", .initial = first, .summed = true);
    refused(f, "'kept' is summed by clock", "begins at zero");
    f = make();
    stored(f, HAWSER_F64, NULL, "adagrad");
    refused(f, "'kept'", "function 'adagrad' (rate -1, epsilon -1): rate must be");
    f = make();
    HAWSER_UNIT(f.root, "single", nothing, .one = true, .updates = {stored(f, HAWSER_F64, NULL, NULL)});
    refused(f, "'single'", "all shares of stored state 'kept'");
    f = make();
    HAWSER_UNIT(loop_of(f, hawser_delay(2)), "u", nothing);
    refused(f, "'loop' is under delay:2", "it has none");
    f = make();
    HAWSER_UNIT(loop_of(f, hawser_centric(1)), "u", nothing, .updates = {f.v, stored(f, HAWSER_F64, NULL, NULL)});
    refused(f, "'loop' is under dc:1", "updates replicated state 'v'");
    f = make();
    HAWSER_UNIT(loop_of(f, hawser_centric(1)), "u", nothing, .updates = {stored(f, HAWSER_F64, NULL, "add")});
    refused(f, "'loop' is data-centric", "'kept'");
    f = make();
    hawser_state *kept = stored(f, HAWSER_F64, NULL, NULL);
    HAWSER_UNIT(loop_of(f, hawser_centric(1)), "a", nothing, .updates = {kept});
    HAWSER_UNIT(hawser_loop(f.root, "late", (hawser_until){.clocks = 1}, hawser_bsp()), "b", nothing, .updates = {kept});
    refused(f, "loops 'loop' and 'late'", "'kept'");
}

static uint32_t all_to_0(uint32_t part, uint64_t clock, uint32_t blocks, void *user)
{
    (void)user;
    return clock == 2 ? 0 : part % blocks;
}

static uint32_t to_nobody(uint32_t part, uint64_t clock, uint32_t blocks, void *user)
{
    (void)part, (void)clock, (void)user;
    return blocks;
}

static void wrong_moving_states_are_rejected(void **state)
{
    (void)state;
    static const size_t offsets[] = {0, 2, 5, 6}, cut[] = {0, 1, 3}, falls[] = {0, 2, 1, 6}, less[] = {0, 1, 2},
                        most[] = {0, 2, 5, SIZE_MAX / 8};
    const struct {
        hawser_state_spec spec;
        enum { PLAIN, WRITES_ONE, READS_ONE, CENTRIC } use;
        const char *text;
    } wrong[] = {
        {{.lines = 3, .parts = 2, .cut = cut}, PLAIN, "has no .offsets"},
        {{.lines = 3, .offsets = offsets, .cut = cut}, PLAIN, "has no .parts"},
        {{.lines = SIZE_MAX, .offsets = offsets, .parts = 2, .cut = cut}, PLAIN, "impossible size"},
        {{.lines = 3, .offsets = most, .parts = 2, .cut = cut}, PLAIN, "impossible size"},
        {{.lines = 3, .offsets = falls, .parts = 2, .cut = cut}, PLAIN, "offsets[2] is 1"},
        {{.lines = 3, .offsets = offsets, .parts = 2, .cut = less}, PLAIN, "cut[2] is 2"},
        {{.lines = 3, .offsets = offsets, .parts = 1, .cut = (const size_t[]){0, 3}}, PLAIN, "has 1 parts, which 2 blocks"},
        {{.lines = 3, .offsets = offsets, .parts = 2, .cut = cut}, WRITES_ONE, "cannot update moving state 'n'"},
        {{.lines = 3, .offsets = offsets, .parts = 2, .cut = cut}, READS_ONE, "cannot read moving state 'n'"},
        {{.lines = 3, .offsets = offsets, .parts = 2, .cut = cut}, CENTRIC, "use bsp, ssp or tap"},
        {{.lines = 3, .offsets = offsets, .parts = 2, .cut = cut, .owner = to_nobody},
         PLAIN,
         "the owner of part 0 is block 2"},
        {{.lines = 3, .offsets = offsets, .parts = 2, .cut = cut, .owner = all_to_0},
         PLAIN,
         "in clock 2 block 0 has 2 parts"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        fixture f = make();
        hawser_state_spec spec = wrong[k].spec;
        spec.name = "n";
        spec.kind = HAWSER_MOVING;
        hawser_state *n = hawser_state_add(f.program, &spec);
        hawser_operator *loop =
            HAWSER_LOOP(f.root, "loop", wrong[k].use == CENTRIC ? hawser_centric(0) : hawser_bsp(), .clocks = 5);
        if (wrong[k].use == CENTRIC)
            HAWSER_UNIT(loop, "store", nothing, .updates = {stored(f, HAWSER_F64, NULL, NULL)});
        if (wrong[k].use == READS_ONE)
            HAWSER_UNIT(loop, "u", nothing, .one = true, .reads = {n});
        else
            HAWSER_UNIT(loop, "u", nothing, .one = wrong[k].use == WRITES_ONE, .updates = {n});
        refused(f, "'n'", wrong[k].text);
    }
}

static void wrong_sending_is_rejected(void **state)
{
    (void)state;
    fixture f = make();
    HAWSER_STATE(f.program, "n", HAWSER_REPLICATED, .type = HAWSER_I64, .rows = 3, .form = HAWSER_AS_BF16);
    refused(f, "'n' is of i64", "cannot be rounded");
    f = make();
    HAWSER_STATE(f.program, "w", HAWSER_REPLICATED, .rows = 3, .filter = "best", .quota = 64);
    refused(f, "'w'", "no filter 'best'");
    f = make();
    HAWSER_STATE(f.program, "w", HAWSER_REPLICATED, .rows = 3, .filter = "absolute");
    refused(f, "'w'", "does nothing");
    f = make();
    HAWSER_UNIT(f.root, "u", nothing);
    HAWSER_STATE(f.program, "w", HAWSER_REPLICATED, .rows = 3, .filter = "absolute", .quota = 64);
    refused(f, "'w'", "no unit updates it");
    f = make();
    hawser_state *n =
        HAWSER_STATE(f.program, "n", HAWSER_REPLICATED, .type = HAWSER_I64, .rows = 3, .filter = "relative", .quota = 64);
    HAWSER_UNIT(f.root, "u", nothing, .updates = {n});
    refused(f, "'n' is of i64", "relative filter");
    f = make();
    hawser_state *m = HAWSER_STATE(f.program, "m", HAWSER_REPLICATED, .rows = 1, .merge = keep_smaller);
    HAWSER_UNIT(f.root, "u", nothing, .one = true, .updates = {m});
    refused(f, "'m' has a merge function", "units on one block update it, such as 'u'");
    f = make();
    hawser_state *d = HAWSER_STATE(f.program, "d", HAWSER_REPLICATED, .rows = 1, .damping = 0.5, .form = HAWSER_AS_F16);
    hawser_operator *both = HAWSER_LOOP(f.root, "both", hawser_bsp(), .clocks = 1);
    HAWSER_UNIT(both, "one", nothing, .one = true, .updates = {d});
    HAWSER_UNIT(both, "all", nothing, .reads = {f.data}, .updates = {d});
    refused(f, "in loop 'both' both a unit on one block", "'d', which has a damping and an encoding");
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
    hawser_state *wide = HAWSER_STATE(f.program, "wide", HAWSER_REPLICATED, .rows = 5);
    hawser_cocoa(loop_of(f, hawser_bsp()), "c", solve_nothing, f.alpha, wide, NULL);
    refused(f, "'wide' has 5 numbers", "has 3");
    f = make();
    hawser_state *derived = HAWSER_STATE(f.program, "w", HAWSER_REPLICATED, .rows = 3, .derive = nothing);
    hawser_cocoa(loop_of(f, hawser_bsp()), "c", solve_nothing, f.alpha, derived, NULL);
    refused(f, "'w'", "derived");
    f = make();
    hawser_state *tied = HAWSER_STATE(f.program, "a", HAWSER_LOCAL, .along = f.data, .tie = f.v);
    hawser_state *other = HAWSER_STATE(f.program, "w", HAWSER_REPLICATED, .rows = 3);
    hawser_cocoa(loop_of(f, hawser_bsp()), "c", solve_nothing, tied, other, NULL);
    refused(f, "'a' is tied to 'v'", "not to 'w'");
    f = make();
    hawser_state *many[66] = {NULL};
    char name[16];
    for (int i = 0; i < 65; i++) {
        (void)snprintf(name, sizeof name, "s%d", i);
        many[i] = HAWSER_STATE(f.program, name, HAWSER_REPLICATED, .rows = 1);
    }
    hawser_cocoa(loop_of(f, hawser_bsp()), "c", solve_nothing, f.alpha, f.v, many);
    refused(f, "'c'", "at most 63 further states");
}

static void units_with_too_much_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    HAWSER_UNIT(f.root, "u", nothing, .reads = {f.v}, .reduces = SIZE_MAX);
    refused(f, "'u'", "declares reductions of");
    f = make();
    hawser_unit_spec spec = {.name = "u", .run = nothing};
    for (size_t i = 0; i < HAWSER_UNIT_STATES; i++)
        spec.updates[i] = f.v;
    assert_null(hawser_unit_add(f.root, &spec));
    refused(f, "'u'", "a list of more than 31 states");
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

/* A run fails by a refused call whatever the unit returns. */
static hawser_status write_to_v(hawser_context *context)
{
    double *v;
    assert_int_equal(hawser_write(context, "v", &v), BAD);
    assert_null(v);
    return HAWSER_OK;
}

static hawser_status unknown(hawser_context *context)
{
    const double *nonsense;
    assert_int_equal(hawser_read(context, "nonsense", &nonsense), BAD);
    assert_null(nonsense);
    return HAWSER_OK;
}

static hawser_status wrong_type(hawser_context *context)
{
    const float *v;
    assert_int_equal(hawser_read(context, "v", &v), BAD);
    assert_null(v);
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
    HAWSER_WRITE(context, double, v);
    v[1] = hawser_block(context) == 1 ? (double)NAN : 0;
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
    } cases[] = {{write_to_v, false, false, BAD, "not declared by this unit; add it to .reads or .updates"},
                 {unknown, true, false, BAD, "no state 'nonsense'; its states are data, whole, v, p, alpha"},
                 {wrong_type, true, false, BAD, "a pointer to a float, but the numbers of state 'v' are of f64"},
                 {write_to_v, true, false, BAD, "read, not updated; add it to .updates"},
                 {touches_too_much, false, true, BAD, "which has 3"},
                 {reports_nan, false, false, HAWSER_NOT_FINITE, "'gap'"},
                 {reports_unknown, false, false, BAD, "no metric 'loss'; call hawser_metric_declare"},
                 {writes_nan, false, true, HAWSER_NOT_FINITE, "v"},
                 {stops_unasked, false, false, BAD, "stop"},
                 {says_why, false, false, HAWSER_DIVERGED, "step 7 is too long"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int looped = 0; looped < 2; looped++) {
            fixture f = make();
            hawser_operator *parent =
                looped ? hawser_loop(f.root, "loop", (hawser_until){.clocks = 5}, hawser_ssp(1)) : f.root;
            HAWSER_UNIT(parent, "culprit", cases[i].function, .reads = {cases[i].reads ? f.v : NULL},
                        .updates = {cases[i].updates ? f.v : NULL});
            expect(f, cases[i].status, cases[i].words, cases[i].function == writes_nan ? "block 1" : "'culprit'");
        }
}

#ifndef NDEBUG
static hawser_status writes_through_a_view(hawser_context *context)
{
    HAWSER_READ(context, double, v);
    ((double *)(uintptr_t)v)[0] = 1;
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
        HAWSER_UNIT(f.root, "writer", writes_through_a_view, .reads = {f.v});
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

USES_NULL static hawser_status uses_what_is_not_declared(hawser_context *context)
{
    const hawser_matrix *part;
    (void)!hawser_read(context, "data", &part);
    return ((const volatile hawser_matrix *)part)->rows > 0 ? HAWSER_OK : HAWSER_STOP;
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
        HAWSER_UNIT(f.root, "reader", uses_what_is_not_declared, .reads = {f.v});
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
    if (!SANITIZED && /* it has the signal's stack */
        strstr(text,
               ": a use of NULL, after unit 'reader', block 0: hawser_read: state 'data' is not declared by this unit") ==
            NULL)
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
        cmocka_unit_test(wrong_declarations_of_work_are_rejected),
        cmocka_unit_test(wrong_inner_loops_are_rejected),
        cmocka_unit_test(wrong_operands_are_rejected),
        cmocka_unit_test(wrong_reductions_are_rejected),
        cmocka_unit_test(wrong_sizes_and_types_are_rejected),
        cmocka_unit_test(wrong_data_are_rejected),
        cmocka_unit_test(wrong_positions_are_rejected),
        cmocka_unit_test(wrong_kept_points_are_rejected),
        cmocka_unit_test(wrong_fields_are_rejected),
        cmocka_unit_test(wrong_stored_states_are_rejected),
        cmocka_unit_test(wrong_moving_states_are_rejected),
        cmocka_unit_test(wrong_entries_states_are_rejected),
        cmocka_unit_test(wrong_sending_is_rejected),
        cmocka_unit_test(wrong_subproblems_are_rejected),
        cmocka_unit_test(units_with_too_much_are_rejected),
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
