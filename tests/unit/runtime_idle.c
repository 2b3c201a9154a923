/* An option that can do nothing in a program is refused by name on the command line, and never refused when it comes from
 * elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hawser/advanced.h"
#include "runtime/job/job.h"

static double numbers[24];
static const hawser_matrix matrix = {.rows = 2, .cols = 12, .stored = 24, .values = numbers, .stride = 2};

static hawser_status unit(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

/* What a program has, and what it reads of the job before its loop. */
enum {
    SENDS = 1,
    READS_SYNC = 2,
    READS_MERGE = 4,
    READS_EVERY = 8,
    NO_LOOP = 16,
    ADAPTS = 32,
    MEASURES = 64,
    REDUCES = 128,
    INNER = 256
};

static bool never(hawser_progress *progress, void *user)
{
    (void)progress, (void)user;
    return false;
}

/* Declares what may change of the loop: all that may, but only a metric says whether changes help. */
static void declare(hawser_program *program, hawser_operator *loop, hawser_state *w, int has)
{
    if (has & MEASURES)
        hawser_metric_declare(program, "loss", HAWSER_SUM);
    if (has & ADAPTS)
        HAWSER_ADAPT(program, .loop = loop, .work_least = 0.5, .staleness_most = 3, .state = w,
                     .metric = has & MEASURES ? "loss" : NULL);
}

static hawser_program *make(const hawser_job *job, const hawser_options *options, int has)
{
    hawser_program *program = hawser_program_new("idle", NULL);
    hawser_state *data = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = 4);
    hawser_state *own = HAWSER_STATE(program, "own", HAWSER_LOCAL, .along = data);
    hawser_sync sync = has & READS_SYNC ? hawser_job_sync(job) : hawser_bsp();
    if (has & READS_MERGE)
        assert_true(hawser_job_damping(job) > 0);
    if (has & READS_EVERY)
        assert_true(hawser_options_number(options, "exchange-every") > 0);
    hawser_operator *root = hawser_root(program);
    if (has & INNER)
        root = hawser_sequence(hawser_loop(root, "outer", (hawser_until){.clocks = 2, .test = never}, hawser_bsp()));
    hawser_operator *loop = has & NO_LOOP ? root : hawser_loop(root, "loop", (hawser_until){.clocks = 3}, sync);
    HAWSER_UNIT(loop, "unit", unit, .reads = {data}, .updates = {has & SENDS ? w : own}, .reduces = has & REDUCES ? 1 : 0);
    declare(program, loop, w, has);
    return program;
}

/* Opens a job with options from `source`, makes a program, and stores in `said` the error of its plan; "" if there is a
 * plan. */
static void plan(const char *const *pairs, hawser_source source, int has, char *said, size_t size)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_error error = {0};
    assert_int_equal(hawser_options_new(tables, &options, &error), HAWSER_OK);
    for (; *pairs != NULL; pairs += 2) {
        char where[80];
        (void)snprintf(where, sizeof where, "--%s", pairs[0]);
        if (hawser_options_set(options, pairs[0], pairs[1], source, where, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
    }
    assert_int_equal(hawser_open_options(options, &job, &error), HAWSER_OK);
    hawser_program *program = make(job, options, has);
    FILE *nowhere = fopen("/dev/null", "we");
    assert_non_null(nowhere);
    hawser_status status = hawser_plan_print(job, program, HAWSER_PLAN_PHYSICAL, nowhere, &error);
    assert_true(status == HAWSER_OK || status == HAWSER_BAD_OPTION);
    (void)snprintf(said, size, "%.599s", status == HAWSER_OK ? "" : error.text);
    fclose(nowhere);
    hawser_program_free(program);
    hawser_close(job);
    hawser_options_free(options);
}

typedef struct trial {
    const char *const *pairs;
    int has;
    const char *says; /* "": nothing is refused */
} trial;

#define PAIRS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const trial trials[] = {
    {PAIRS("workers", "2", "filter", "absolute", "quota", "64"), SENDS, ""},
    {PAIRS("workers", "2", "filter", "absolute", "quota", "64"), 0, "--filter does nothing here: no unit"},
    {PAIRS("workers", "2", "quota", "64"), SENDS, "--quota does nothing here: it needs a --filter"},
    {PAIRS("workers", "2", "filter", "fifo"), SENDS, "--filter does nothing here: without a --quota"},
    {PAIRS("workers", "2", "max-held-clocks", "2"), SENDS, "--max-held-clocks does nothing here: it needs"},
    {PAIRS("workers", "2", "filter", "fifo", "quota", "64", "max-held-clocks", "2"), SENDS, ""},
    {PAIRS("workers", "1", "filter", "fifo", "quota", "64"), SENDS, "--filter does nothing here: one worker"},
    {PAIRS("workers", "1", "encoding", "bf16"), SENDS, "--encoding does nothing here: one worker"},
    {PAIRS("workers", "2", "encoding", "bf16"), 0, "--encoding does nothing here: no unit"},
    {PAIRS("workers", "2", "sync", "ssp:2"), SENDS, "--sync does nothing here: the program has not read it"},
    {PAIRS("workers", "2", "sync", "ssp:2"), SENDS | READS_SYNC, ""},
    {PAIRS("workers", "1", "sync", "ssp:2"), SENDS | READS_SYNC, ""},
    {PAIRS("workers", "2", "sync", "bsp"), SENDS, ""},
    {PAIRS("workers", "2", "sync", "tap"), SENDS | NO_LOOP, ""},
    {PAIRS("workers", "2", "merge", "average"), SENDS, "--merge does nothing here: the program has not read it"},
    {PAIRS("workers", "2", "merge", "average"), SENDS | READS_MERGE, ""},
    {PAIRS("workers", "2", "exchange-every", "0.5"), SENDS, "--exchange-every does nothing here: the program does not"},
    {PAIRS("workers", "2", "exchange-every", "0.5"), SENDS | READS_EVERY, ""},
    {PAIRS("workers", "2", "filter", "w=absolute", "quota", "64"), SENDS, ""},
    {PAIRS("workers", "2", "filter", "absolute", "quota", "w=64,0"), SENDS, ""},
    {PAIRS("workers", "2", "encoding", "w=bf16"), SENDS, ""},
    {PAIRS("workers", "2", "filter", "absolute,w=fifo", "quota", "64"), SENDS,
     "--filter does nothing here: its value for all"},
    {PAIRS("workers", "2", "filter", "none,w=fifo", "quota", "64", "max-held-clocks", "w=3"), SENDS, ""},
    {PAIRS("workers", "2", "filter", "fifo,w=none", "quota", "64"), SENDS, "does nothing here"},
    {PAIRS("workers", "2", "filter", "q=fifo", "quota", "64"), SENDS,
     "--filter does nothing here: the program has no state 'q'; states whose updates are sent: w"},
    {PAIRS("workers", "2", "encoding", "own=bf16"), SENDS,
     "--encoding does nothing here: no updates are sent of the state 'own', which is not replicated; states whose updates "
     "are sent: w"},
    {PAIRS("workers", "2", "filter", "w=fifo", "quota", "w=0"), SENDS,
     "--filter does nothing here: state 'w' has no --quota"},
    {PAIRS("workers", "2", "sync", "auto"), SENDS | READS_SYNC, "--sync does nothing here: no loop says what may change"},
    {PAIRS("workers", "2", "sync", "auto"), SENDS | ADAPTS | MEASURES, "--sync does nothing here: the program has not read"},
    {PAIRS("workers", "2", "sync", "auto:2"), SENDS | READS_SYNC | ADAPTS | MEASURES | INNER, ""},
    {PAIRS("workers", "2", "sync", "auto:2"), SENDS | READS_SYNC | ADAPTS | MEASURES, ""},
    {PAIRS("workers", "2", "sync", "tap", "exchange-every", "auto"), SENDS | READS_SYNC | READS_EVERY | ADAPTS | MEASURES,
     "--exchange-every does nothing here: its loop has a sync under which workers are never in step"},
    {PAIRS("workers", "2", "sync", "ssp:1", "exchange-every", "auto"), SENDS | READS_SYNC | READS_EVERY | ADAPTS | MEASURES,
     ""},
    {PAIRS("workers", "1", "sync", "auto"), SENDS | READS_SYNC | ADAPTS | MEASURES, "--sync does nothing here: one worker"},
    {PAIRS("workers", "2", "sync", "auto"), SENDS | READS_SYNC | ADAPTS,
     "--sync does nothing here: the HAWSER_ADAPT of its loop has no .metric"},
    {PAIRS("workers", "2", "sync", "auto"), SENDS | READS_SYNC | ADAPTS | MEASURES | REDUCES,
     "--sync does nothing here: a unit of its loop adds up numbers over the workers, which only bsp does"},
    {PAIRS("workers", "2", "exchange-every", "auto:0.5"), SENDS | READS_EVERY | ADAPTS | MEASURES | REDUCES, ""},
    {PAIRS("workers", "2", "exchange-every", "auto"), SENDS | ADAPTS | MEASURES,
     "--exchange-every does nothing here: the program does not read it"},
    {PAIRS("workers", "1", "exchange-every", "auto"), SENDS | READS_EVERY | ADAPTS | MEASURES,
     "--exchange-every does nothing here: one worker"},
    {PAIRS("workers", "2", "encoding", "auto"), SENDS | ADAPTS, "--encoding does nothing here: the job has one node"},
    {PAIRS("workers", "2", "filter", "fifo", "quota", "auto"), SENDS | ADAPTS,
     "--quota does nothing here: the job has one node"},
    {PAIRS("workers", "2", "quota", "w=auto"), SENDS | ADAPTS, "--quota does nothing here: it needs a --filter"},
    {PAIRS("workers", "2", "node-name", "ash", "key-file", "absent", "listen", "1"), SENDS, ""},
    {PAIRS("workers", "2", "topology", "tree", "rate", "1M", "backlog", "1k", "transport", "tcp"), SENDS, ""},
};

static void option_that_can_do_nothing_is_refused_on_the_command_line(void **state)
{
    (void)state;
    char said[600];
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        plan(trials[i].pairs, HAWSER_FROM_COMMAND_LINE, trials[i].has, said, sizeof said);
        if (trials[i].says[0] == '\0' ? said[0] != '\0' : strstr(said, trials[i].says) == NULL)
            fail_msg("trial %zu: '%s' instead of '%s'", i, said, trials[i].says);
    }
}

static void option_from_elsewhere_is_not_refused(void **state)
{
    (void)state;
    char said[600];
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        for (int source = HAWSER_FROM_PROGRAM; source < HAWSER_FROM_COMMAND_LINE; source++) {
            plan(trials[i].pairs, (hawser_source)source, trials[i].has, said, sizeof said);
            if (said[0] != '\0')
                fail_msg("trial %zu, source %d: %s", i, source, said);
        }
}

/* A program with a loop that sends a state of this name. */
static hawser_status run_sending(hawser_job *job, const char *name, hawser_error *error)
{
    hawser_run *run = NULL;
    hawser_program *program = hawser_program_new("sends", NULL);
    hawser_state *w = HAWSER_STATE(program, name, HAWSER_REPLICATED, .rows = 4);
    HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 2}, hawser_bsp()), "unit", unit,
                .updates = {w});
    hawser_status status = hawser_run_program(job, program, &run, error);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

/* Closes the job. Stores what that prints; if a run has failed, its error. */
static void close_and_read(hawser_job *job, hawser_options *options, hawser_status status, const hawser_error *error,
                           const char *file, char said[600])
{
    int old = dup(STDERR_FILENO);
    assert_true(old >= 0 && freopen(file, "w", stderr) != NULL);
    hawser_close(job);
    (void)fflush(stderr);
    assert_true(dup2(old, STDERR_FILENO) >= 0 && close(old) == 0);
    hawser_options_free(options);
    FILE *printed = fopen(file, "re");
    assert_non_null(printed);
    said[fread(said, 1, 599, printed)] = '\0';
    fclose(printed);
    if (status != HAWSER_OK)
        (void)snprintf(said, 600, "%.599s", error->text);
}

/* Runs the programs "first" and "second" in a job of `programs`; stores the error of the first failure, else what
 * hawser_close prints. */
static void run_two(const char *const *pairs, uint32_t programs, const char *file, char said[600])
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_error error = {0};
    assert_int_equal(hawser_options_new(tables, &options, &error), HAWSER_OK);
    for (; *pairs != NULL; pairs += 2)
        if (hawser_options_set(options, pairs[0], pairs[1], HAWSER_FROM_COMMAND_LINE, pairs[0], &error) != HAWSER_OK)
            fail_msg("%s", error.text);
    assert_int_equal(hawser_open_options(options, &job, &error), HAWSER_OK);
    if (programs > 0)
        hawser_job_programs(job, programs);
    hawser_status status = run_sending(job, "first", &error);
    if (status == HAWSER_OK)
        status = run_sending(job, "second", &error);
    close_and_read(job, options, status, &error, file, said);
}

static void name_of_a_state_may_be_one_of_a_later_program(void **state)
{
    const struct {
        const char *const *pairs;
        uint32_t programs;
        const char *says;
    } cases[] = {
        {PAIRS("workers", "2", "filter", "second=fifo", "quota", "second=64"), 2, ""},
        {PAIRS("workers", "2", "filter", "first=fifo", "quota", "64"), 2, ""},
        {PAIRS("workers", "2", "filter", "first=fifo", "quota", "first=64", "encoding", "second=bf16"), 2, ""},
        {PAIRS("workers", "2", "encoding", "first=bf16,second=f16"), 2, ""},
        {PAIRS("workers", "2", "encoding", "third=bf16"), 2,
         "--encoding does nothing here: the program has no state 'third'; states whose updates are sent: second"},
        {PAIRS("workers", "2", "encoding", "first=bf16,third=bf16"), 2, "the program has no state 'third'"},
        {PAIRS("workers", "2", "filter", "second=fifo"), 2, "--filter does nothing here: state 'second' has no --quota"},
        {PAIRS("workers", "2", "encoding", "second=bf16"), 0, "the program has no state 'second'"},
        {PAIRS("workers", "2", "encoding", "first=bf16"), 0, ""},
        {PAIRS("workers", "2", "encoding", "second=bf16,third=bf16"), 3,
         "hawser: --encoding did nothing: no program of this job has sent updates of a state 'third'\n"},
        {PAIRS("workers", "2", "init", "third=x"), 2, "--init does nothing here: the program has no state 'third'"},
        {PAIRS("workers", "2", "init", "third=x"), 3,
         "hawser: --init did nothing: no program of this job had a state 'third'\n"},
    };
    (void)state;
    char said[600], file[] = "/tmp/hawser-test-XXXXXX";
    int own = mkstemp(file);
    assert_true(own >= 0 && close(own) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_two(cases[i].pairs, cases[i].programs, file, said);
        if (cases[i].says[0] == '\0' ? said[0] != '\0' : strstr(said, cases[i].says) == NULL)
            fail_msg("%s %s: expected '%s', not '%s'", cases[i].pairs[2], cases[i].pairs[3], cases[i].says, said);
    }
    assert_int_equal(unlink(file), 0);
}

/* Runs a program of make() without a loop, and then one with a loop if `loop`. Stores the error of a run, else what
 * hawser_close prints. */
static void run_without_loop(const char *const *pairs, hawser_source source, int has, bool loop, const char *file,
                             char said[600])
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    hawser_error error = {0};
    assert_int_equal(hawser_options_new(tables, &options, &error), HAWSER_OK);
    for (; *pairs != NULL; pairs += 2)
        if (hawser_options_set(options, pairs[0], pairs[1], source, pairs[0], &error) != HAWSER_OK)
            fail_msg("%s", error.text);
    assert_int_equal(hawser_open_options(options, &job, &error), HAWSER_OK);
    hawser_program *program = make(job, options, has | NO_LOOP);
    hawser_status status = hawser_run_program(job, program, &run, &error);
    hawser_run_free(run);
    hawser_program_free(program);
    if (status == HAWSER_OK && loop)
        status = run_sending(job, "w", &error);
    close_and_read(job, options, status, &error, file, said);
}

static void option_is_reported_when_no_program_had_a_loop(void **state)
{
#define LEFT(option) "hawser: --" option " did nothing: no program of this job had a loop, or another use for it\n"
    const struct {
        const char *const *pairs;
        int has;
        const char *says;
    } cases[] = {
        {PAIRS("workers", "2", "sync", "ssp:2"), SENDS, LEFT("sync")},
        {PAIRS("workers", "2", "sync", "ssp:2"), SENDS | READS_SYNC, ""},
        {PAIRS("workers", "2", "sync", "bsp"), SENDS, ""},
        {PAIRS("workers", "2", "exchange-every", "2"), SENDS, LEFT("exchange-every")},
        {PAIRS("workers", "2", "exchange-every", "2"), SENDS | READS_EVERY, ""},
        {PAIRS("workers", "2", "filter", "absolute"), SENDS, LEFT("filter")},
        {PAIRS("workers", "2", "quota", "64"), SENDS, LEFT("quota")},
        {PAIRS("workers", "2", "filter", "absolute", "quota", "64"), SENDS, ""},
        {PAIRS("workers", "2", "filter", "absolute", "quota", "64"), 0, LEFT("filter") LEFT("quota")},
        {PAIRS("workers", "2", "filter", "other=absolute", "quota", "64"), 0, LEFT("filter") LEFT("quota")},
        {PAIRS("workers", "2", "checkpoint", "no/such"), SENDS,
         "hawser: --checkpoint did nothing: checkpoints are taken of programs with a loop, and this job had none\n"},
    };
    (void)state;
    char said[600], file[] = "/tmp/hawser-test-XXXXXX";
    int own = mkstemp(file);
    assert_true(own >= 0 && close(own) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_without_loop(cases[i].pairs, HAWSER_FROM_COMMAND_LINE, cases[i].has, false, file, said);
        assert_string_equal(said, cases[i].says);
        run_without_loop(cases[i].pairs, HAWSER_FROM_ENVIRONMENT, cases[i].has, false, file, said);
        if (strstr(said, "had a loop") != NULL || strstr(said, "--checkpoint") != NULL)
            fail_msg("case %zu from the environment: %s", i, said);
    }
    run_without_loop(PAIRS("workers", "2", "filter", "absolute", "quota", "64"), HAWSER_FROM_COMMAND_LINE, 0, true, file,
                     said);
    assert_string_equal(said, "");
    assert_int_equal(unlink(file), 0);
}

/* Opens a job with the option exchange-every from `source`, reports it twice as idle, and stores what is printed. Returns
 * the status of the first. */
static hawser_status report(hawser_source source, const char *value, const char *file, char said[600], hawser_error *error)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    assert_int_equal(hawser_options_new(tables, &options, error), HAWSER_OK);
    assert_int_equal(hawser_options_set(options, "exchange-every", value, source,
                                        source == HAWSER_FROM_CALL ? "exchange_every=" : "here:3", error),
                     HAWSER_OK);
    assert_int_equal(hawser_open_options(options, &job, error), HAWSER_OK);
    int old = dup(STDERR_FILENO);
    assert_true(old >= 0 && freopen(file, "w", stderr) != NULL);
    hawser_status status = hawser_job_idle(job, "exchange-every", "nobody reads it", error);
    hawser_status again = hawser_job_idle(job, "exchange-every", "nobody reads it", error);
    hawser_status other = hawser_job_idle(job, "no-such-option", "nobody reads it", error);
    (void)fflush(stderr);
    assert_true(dup2(old, STDERR_FILENO) >= 0 && close(old) == 0);
    assert_true(status == again && other == HAWSER_OK);
    hawser_close(job);
    hawser_options_free(options);
    FILE *printed = fopen(file, "re");
    assert_non_null(printed);
    said[fread(said, 1, 599, printed)] = '\0';
    fclose(printed);
    return status;
}

static void program_reports_an_option_that_can_do_nothing(void **state)
{
    static const struct {
        hawser_source source;
        const char *value, *fails, *prints;
    } cases[] = {
        {HAWSER_FROM_COMMAND_LINE, "0.5", "--exchange-every does nothing here: nobody reads it", ""},
        {HAWSER_FROM_COMMAND_LINE, "1", "", ""},
        {HAWSER_FROM_CALL, "0.5", "exchange_every= does nothing here: nobody reads it", ""},
        {HAWSER_FROM_CALL, "1", "", ""},
        {HAWSER_FROM_ENVIRONMENT, "0.5", "", "hawser: here:3 does nothing here: nobody reads it\n"},
        {HAWSER_FROM_FILE, "0.5", "", "hawser: here:3: exchange-every does nothing here: nobody reads it\n"},
        {HAWSER_FROM_PROGRAM, "0.5", "", ""},
    };
    (void)state;
    char said[600], file[] = "/tmp/hawser-test-XXXXXX";
    int own = mkstemp(file);
    assert_true(own >= 0 && close(own) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hawser_error error = {0};
        hawser_status status = report(cases[i].source, cases[i].value, file, said, &error);
        assert_int_equal(status, cases[i].fails[0] != '\0' ? HAWSER_BAD_OPTION : HAWSER_OK);
        assert_string_equal(status == HAWSER_OK ? "" : error.text, cases[i].fails);
        assert_string_equal(said, cases[i].prints);
    }
    assert_int_equal(unlink(file), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name_of_a_state_may_be_one_of_a_later_program),
        cmocka_unit_test(option_is_reported_when_no_program_had_a_loop),
        cmocka_unit_test(option_that_can_do_nothing_is_refused_on_the_command_line),
        cmocka_unit_test(option_from_elsewhere_is_not_refused),
        cmocka_unit_test(program_reports_an_option_that_can_do_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
