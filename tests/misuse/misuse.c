/*
 * Every public function with something wrong in its call: pointers that are NULL, enumerations out of range. The calls are
 * written by misuse.py from the headers; each must give a failed status, the documented empty value, or a mistake that the
 * program or the run reports, and none may crash.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hawser/algorithm.h"
#include "hawser/app.h"
#include "hawser/batches.h"
#include "hawser/cocoa.h"
#include "hawser/job_data.h"
#include "hawser/kept_points.h"
#include "hawser/moving.h"
#include "hawser/record.h"
#include "hawser/store.h"
#include "hawser/stored.h"
#include "hawser/vector.h"
#include "program/program.h"

enum { ROWS = 6, COLUMNS = 5, TEXT = 400 };

/* The required effect of a call. NOTHING: the empty value, and no error is recorded. ANY: it must not crash. */
typedef enum expectation { SOUND, REFUSED, NOTHING, ANY } expectation;
/* Where a call is made. */
typedef enum place { ANYWHERE, BUILDING, IN_UNIT, IN_OBSERVER } place;

typedef struct fixture {
    /* Made once: */
    hawser_options *options, *data_options;
    hawser_job *job, *other_job;
    hawser_store *store;
    hawser_vector *vector;
    hawser_run *run;
    hawser_dataset *dataset, *row_dataset, *cut_dataset;
    hawser_model *model;
    hawser_schema *schema;
    FILE *out;
    uint64_t task;
    uint32_t near_table, held_table;
    hawser_matrix matrix, sparse, part;
    double doubles[ROWS * COLUMNS], doubles_out[ROWS * COLUMNS];
    float singles[1];
    int64_t longs[1];
    int32_t ints[1];
    uint64_t offsets[COLUMNS + 1];
    uint32_t indices[COLUMNS], columns[2];
    char path[TEXT], options_path[TEXT], model_path[TEXT], store_path[TEXT], data_path[TEXT];
    /* Made for each case: */
    hawser_program *program;
    hawser_operator *parent, *free_loop;
    hawser_state *state, *data, *other, *local, *stored, *moving, *states[2];
    hawser_context *context;
    hawser_progress *progress;
    hawser_error error;
    hawser_load load, load_out, row_load;
    hawser_rows *rows, *made_rows;
    hawser_piece piece;
    hawser_beside beside;
    hawser_load_figures figures_out;
    bool more;
    hawser_generate generate;
    hawser_store_options store_options;
    hawser_vector_options vector_options;
    hawser_scatter scatter;
    hawser_gather_function gather_function;
    hawser_vector_facts vector_facts;
    hawser_serving serving;
    hawser_table table, table_out;
    hawser_request request;
    hawser_store_figures store_figures;
    hawser_chunk chunk;
    hawser_moving_part moving_part;
    hawser_until until;
    hawser_sync sync;
    hawser_type type_out;
    const hawser_option *tables[3];
    const char *paths[1], *text_at, *text, *name, *metric;
    char *argv[2], *environment[1], word[8], fresh[20], text_out[40];
    int argc;
    uint64_t keys[1], tasks[1], numbers_out[1];
    size_t dims[2], sizes_out[COLUMNS + 1];
    uint32_t number;
    const double *doubles_at;
    const float *singles_at;
    const int64_t *longs_at;
    double *truth;
    uint32_t *found;
    /* What calls made: */
    hawser_job *made_job;
    hawser_run *made_run;
    hawser_store *made_store;
    hawser_vector *made_vector;
    hawser_dataset *made_dataset;
    hawser_model *made_model;
    hawser_schema *made_schema;
    char *made_text;
    hawser_schema_column column_out;
    hawser_options *made_options;
    hawser_messages *messages, *made_messages;
    hawser_message message;
    hawser_opening opening;
    hawser_cancellation *cancellation, *made_cancellation;
    hawser_ended ended;
    hawser_cluster *cluster, *made_cluster;
    /* Functions: */
    hawser_unit_function *unit;
    hawser_observer *observer;
    hawser_row_numbers *row_numbers;
    hawser_local_solver *solver;
    bool (*test)(hawser_progress *progress, void *user);
    void (*release)(void *scratch);
    hawser_record_function *visit;
    hawser_scratch_visit *scratch_visit;
    void *bytes_out, *model_bytes;
    size_t model_size;
    hawser_batches batches;
    hawser_batch batch, batch_out;
    hawser_matrix matrix_out;
    /* The case: */
    const struct misuse_case *now;
    unsigned number_of_case;
    bool called, must_fail, failed;
} fixture;

typedef struct misuse_case {
    place where;
    const char *words;
    void (*call)(fixture *f);
} misuse_case;

static const char *current = "the beginning";

static void complain(fixture *f, const char *what)
{
    printf("%s: %s (%s)\n", current, what, f->error.text);
    f->failed = true;
}

static void check_status(fixture *f, expectation expected, hawser_status got)
{
    if (expected == SOUND && got != HAWSER_OK)
        complain(f, "the sound call failed");
    if (expected == REFUSED && (got >= HAWSER_OK || got < HAWSER_INTERNAL))
        complain(f, "no failure was returned");
    if (expected == REFUSED && f->error.status != HAWSER_OK && (f->error.status != got || f->error.text[0] == '\0'))
        complain(f, "the error does not say it");
}

/* A refused value is the empty one; the program or the run must have recorded the error, if there is one. */
static void check_empty(fixture *f, expectation expected, bool empty)
{
    if ((expected == REFUSED && f->now->where != BUILDING && !empty) || (expected == NOTHING && !empty))
        complain(f, "the value is not the empty one");
    f->must_fail = expected == REFUSED && f->now->where != ANYWHERE;
}

static void check_pointer(fixture *f, expectation expected, const void *got)
{
    check_empty(f, expected, got == NULL);
}

static void check_number(fixture *f, expectation expected, double got)
{
    check_empty(f, expected, got == 0 || !isfinite(got));
}

static void check_nothing(fixture *f, expectation expected)
{
    check_empty(f, expected, true);
}

/* An algorithm that trains nothing. */
static hawser_status no_training(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                                 hawser_training *training, hawser_error *error)
{
    (void)algorithm, (void)job, (void)input, (void)training, (void)error;
    return HAWSER_OK;
}
static hawser_status no_plan(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                             hawser_plan_format format, FILE *out, hawser_error *error)
{
    (void)algorithm, (void)job, (void)input, (void)format, (void)out, (void)error;
    return HAWSER_OK;
}
static const hawser_algorithm probe_algorithm = {
    .name = "probe", .split = HAWSER_BY_COLUMN, .train = no_training, .plan = no_plan};

#include "misuse_cases.h"

/* ---------------------------------------------------------------------------------------------------- the fixture ---- */

static void must(fixture *f, hawser_status status)
{
    if (status == HAWSER_OK)
        return;
    complain(f, "the fixture failed");
    exit(1);
}

static hawser_status probe(hawser_context *context)
{
    fixture *f = hawser_user(context);
    f->context = context;
    if (!f->called && f->now != NULL && f->now->where == IN_UNIT) {
        f->called = true;
        f->now->call(f);
    }
    return HAWSER_OK;
}

static void observe(const hawser_progress *progress, void *user)
{
    fixture *f = user;
    f->progress = (hawser_progress *)(uintptr_t)progress;
    if (!f->called && f->now != NULL && f->now->where == IN_OBSERVER) {
        f->called = true;
        f->now->call(f);
    }
}

static bool never(hawser_progress *progress, void *user)
{
    (void)progress, (void)user;
    return false;
}

static void release(void *scratch)
{
    (void)scratch;
}

static void visit(hawser_record *record, void *object)
{
    (void)record;
    (void)object;
}

static hawser_status make_numbers(size_t first, size_t count, double *values, void *user)
{
    (void)first, (void)user;
    for (size_t i = 0; i < count; i++)
        values[i] = 1;
    return HAWSER_OK;
}

static void visit_scratch(hawser_record *record, hawser_context *context)
{
    (void)record;
    (void)context;
}

static hawser_status rest(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

static hawser_status solve_nothing(hawser_context *context, hawser_subproblem *subproblem)
{
    (void)context, (void)subproblem;
    return HAWSER_OK;
}

static void make_program(fixture *f)
{
    hawser_program *p = f->program = hawser_program_new("misuse", f);
    f->data = HAWSER_STATE(p, "data", HAWSER_DATA, .matrix = &f->matrix);
    f->other = HAWSER_STATE(p, "other", HAWSER_DATA, .matrix = &f->matrix);
    f->state = HAWSER_STATE(p, "state", HAWSER_REPLICATED, .rows = COLUMNS);
    f->local = HAWSER_STATE(p, "local", HAWSER_LOCAL, .along = f->data);
    static const size_t lines[] = {0, 1, 2};
    f->moving = HAWSER_STATE(p, "moving", HAWSER_MOVING, .lines = 2, .offsets = lines, .parts = 2, .cut = lines);
    f->stored = HAWSER_STATE(p, "stored", HAWSER_STORED, .rows = COLUMNS, .along = f->data, .function = "add");
    f->states[0] = f->state;
    hawser_state *f32 = HAWSER_STATE(p, "f32", HAWSER_REPLICATED, .type = HAWSER_F32, .rows = COLUMNS);
    hawser_state *i64 = HAWSER_STATE(p, "i64", HAWSER_REPLICATED, .type = HAWSER_I64, .rows = COLUMNS);
    hawser_state *i32 = HAWSER_STATE(p, "i32", HAWSER_REPLICATED, .type = HAWSER_I32, .rows = COLUMNS);
    hawser_metric_declare(p, "metric", HAWSER_SUM);
    HAWSER_UNIT(hawser_root(p), "probe", probe, .reads = {f->data},
                .updates = {f->state, f->local, f->stored, f->other, f->moving, f32, i64, i32}, .reduces = 1);
    hawser_operator *loop = hawser_loop(hawser_root(p), "loop", (hawser_until){.clocks = 2}, hawser_bsp());
    HAWSER_UNIT(loop, "rest", rest, .updates = {f->state});
    HAWSER_ADAPT(p, .loop = loop, .work_most = 2, .shares = true);
    f->free_loop = hawser_loop(hawser_root(p), "free", (hawser_until){.clocks = 1}, hawser_bsp());
    hawser_state *filtered =
        HAWSER_STATE(p, "filtered", HAWSER_REPLICATED, .rows = COLUMNS, .filter = "absolute", .quota = 64);
    HAWSER_UNIT(f->free_loop, "free_rest", rest, .updates = {f->state, filtered});
    f->parent = hawser_root(p);
}

static void open_jobs(fixture *f)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hawser_data_rows(), NULL};
    must(f, hawser_options_new(tables, &f->options, &f->error));
    must(f, hawser_options_new(tables, &f->data_options, &f->error));
    must(f, hawser_options_set(f->options, "workers", "1", HAWSER_FROM_PROGRAM, "misuse", &f->error));
    must(f, hawser_open_options(f->options, &f->job, &f->error));
    must(f, hawser_open_options(f->options, &f->other_job, &f->error));
}

static void make_data(fixture *f)
{
    const hawser_generate what = {.kind = "dense", .rows = ROWS, .cols = COLUMNS, .nonzeros = 2, .seed = 7};
    for (int i = 0; i < ROWS * COLUMNS; i++)
        f->doubles[i] = 1 + i;
    for (uint64_t j = 0; j <= COLUMNS; j++)
        f->offsets[j] = j;
    f->matrix =
        (hawser_matrix){.rows = ROWS, .cols = COLUMNS, .values = f->doubles, .stride = ROWS, .stored = ROWS * COLUMNS};
    f->sparse = (hawser_matrix){.rows = ROWS,
                                .cols = COLUMNS,
                                .stored = COLUMNS,
                                .layout = HAWSER_CSC,
                                .offsets = f->offsets,
                                .indices = f->indices,
                                .values = f->doubles};
    f->part = f->matrix;
    must(f, hawser_dataset_generate(&what, &f->dataset, NULL, &f->error));
    must(f, hawser_dataset_write(f->dataset, 0, ROWS, HAWSER_SVMLIGHT, f->data_path, &f->error));
    const char *path = f->data_path;
    const hawser_load by_row = {.split = HAWSER_BY_ROW};
    must(f, hawser_dataset_load(&path, 1, &by_row, &f->row_dataset, &f->error));
    must(f, hawser_job_load(f->job, &path, 1, &by_row, &f->cut_dataset, &f->error));
    must(f, hawser_schema_read("{\"columns\": [{\"name\": \"a\"}], \"target\": [\"no\", \"yes\"]}", &f->schema, &f->error));
    must(f, hawser_cancellation_new(&f->cancellation, &f->error));
    must(f, hawser_model_new(&f->model, &f->error));
    must(f, hawser_model_tensor(f->model, "tensor", HAWSER_F64, (const size_t[2]){2, 0}, f->doubles, &f->error));
    must(f, hawser_model_fact(f->model, "fact", "true", &f->error));
    must(f, hawser_model_save(f->model, f->model_path, &f->error));
    must(f, hawser_model_to_bytes(f->model, &f->model_bytes, &f->model_size, &f->error));
    FILE *file = fopen(f->options_path, "w");
    if (file == NULL || fputs("seed = 3\n", file) < 0 || fclose(file) != 0)
        must(f, hawser_fail(&f->error, HAWSER_IO, "%s", f->options_path));
}

static void make_store(fixture *f)
{
    const hawser_table table = {.name = "table", .last = 9}, near = {.name = "near", .last = 9},
                       held = {.name = "held", .last = 9, .filter = "significant", .level = 1};
    must(f, hawser_store_open(f->job, NULL, &f->store, &f->error));
    must(f, hawser_store_table(f->store, &table, &f->number, &f->error));
    must(f, hawser_store_table(f->store, &near, &f->near_table, &f->error));
    must(f, hawser_store_table(f->store, &held, &f->held_table, &f->error));
    const hawser_request request = {.keys = f->keys, .count = 1, .values = f->doubles};
    must(f, hawser_push(f->store, &request, &f->task, &f->error));
    must(f, hawser_store_save(f->store, f->store_path, &f->error));
}

static void make_run(fixture *f)
{
    make_program(f);
    must(f, hawser_run_program(f->other_job, f->program, &f->run, &f->error));
    hawser_program_free(f->program);
}

static void open_fixture(fixture *f, const char *directory)
{
    snprintf(f->path, TEXT, "%s/path", directory);
    snprintf(f->options_path, TEXT, "%s/options", directory);
    snprintf(f->model_path, TEXT, "%s/model", directory);
    snprintf(f->store_path, TEXT, "%s/store", directory);
    snprintf(f->data_path, TEXT, "%s/data.svm", directory);
    f->out = fopen("/dev/null", "w");
    must(f, hawser_messages_new(&f->messages, &f->error));
    open_jobs(f);
    must(f, hawser_cluster_open(f->options, NULL, &f->cluster, &f->error));
    make_data(f);
    make_run(f);
    make_store(f);
}

static void close_fixture(fixture *f)
{
    hawser_store_close(f->store);
    hawser_run_free(f->run);
    hawser_dataset_free(f->dataset);
    hawser_dataset_free(f->row_dataset);
    hawser_dataset_free(f->cut_dataset);
    hawser_cancellation_free(f->cancellation);
    hawser_model_free(f->model);
    free(f->model_bytes);
    hawser_schema_free(f->schema);
    hawser_close(f->other_job);
    hawser_close(f->job);
    hawser_cluster_close(f->cluster);
    hawser_options_free(f->data_options);
    hawser_options_free(f->options);
    hawser_messages_free(f->messages);
    if (f->out != NULL)
        fclose(f->out);
}

static hawser_status take_nothing(void *user, void *array, const hawser_arrival *arrival)
{
    (void)user, (void)array, (void)arrival;
    return HAWSER_OK;
}

/* What is new in each case. */
static void prepare(fixture *f)
{
    f->error = (hawser_error){0};
    f->called = f->must_fail = false;
    f->opening = (hawser_opening){.messages = f->messages};
    f->generate = (hawser_generate){.kind = "dense", .rows = ROWS, .cols = COLUMNS, .nonzeros = 2, .seed = 1};
    f->load = f->load_out = (hawser_load){0};
    f->row_load = (hawser_load){.columns = COLUMNS, .index_base = 2};
    f->store_options = (hawser_store_options){0};
    f->serving = (hawser_serving){0};
    f->table = (hawser_table){.name = "table", .last = 9};
    f->gather_function = (hawser_gather_function){take_nothing, NULL};
    f->scatter = (hawser_scatter){.values = f->doubles};
    f->vector_options = (hawser_vector_options){.name = "vector", .count = 2};
    must(f, hawser_vector_open(f->job, &f->vector_options, &f->vector, &f->error));
    must(f, hawser_vector_scatter(f->vector, &f->scatter, &f->error));
    f->scatter.iteration = 1;
    f->vector_options.name = "other vector";
    f->request = (hawser_request){.keys = f->keys, .count = 1, .values = f->doubles, .out = f->doubles_out};
    f->until = (hawser_until){.clocks = 2};
    f->sync = hawser_bsp();
    f->batches = (hawser_batches){.rows = COLUMNS, .size = 2};
    f->batch = (hawser_batch){.rows = f->dims, .count = 1};
    f->tables[0] = hawser_job_rows();
    f->paths[0] = f->data_path;
    must(f, hawser_rows_open(f->paths, 1, &f->row_load, &f->rows, &f->error));
    snprintf(f->fresh, sizeof f->fresh, "fresh-%u", f->number_of_case++);
    f->text = "text";
    f->name = "state";
    f->metric = "metric";
    snprintf(f->word, sizeof f->word, "misuse");
    f->argv[0] = f->word;
    f->argc = 1;
    f->tasks[0] = f->task;
    f->dims[0] = 2;
    f->unit = rest;
    f->observer = observe;
    f->test = never;
    f->release = release;
    f->visit = visit;
    f->scratch_visit = visit_scratch;
    f->row_numbers = make_numbers;
    f->solver = solve_nothing;
    make_program(f);
}

static void clean(fixture *f)
{
    hawser_observe(f->job, NULL, NULL);
    hawser_store_close(f->made_store);
    hawser_vector_close(f->made_vector);
    hawser_vector_close(f->vector);
    hawser_run_free(f->made_run);
    hawser_close(f->made_job);
    hawser_dataset_free(f->made_dataset);
    hawser_dataset_free(f->piece.data);
    hawser_rows_close(f->rows);
    hawser_rows_close(f->made_rows);
    hawser_model_free(f->made_model);
    hawser_schema_free(f->made_schema);
    free(f->made_text);
    free(f->bytes_out);
    hawser_options_free(f->made_options);
    hawser_messages_free(f->made_messages);
    hawser_cancellation_free(f->made_cancellation);
    hawser_cluster_close(f->made_cluster);
    free(f->truth);
    free(f->found);
    hawser_program_free(f->program);
    f->made_store = NULL;
    f->vector = f->made_vector = NULL;
    f->made_run = NULL;
    f->made_job = NULL;
    f->made_dataset = NULL;
    f->piece = (hawser_piece){0};
    f->rows = f->made_rows = NULL;
    f->made_model = NULL;
    f->made_schema = NULL;
    f->made_text = NULL;
    f->bytes_out = NULL;
    f->made_options = NULL;
    f->made_messages = NULL;
    f->made_cancellation = NULL;
    f->made_cluster = NULL;
    f->truth = NULL;
    f->found = NULL;
}

/* ----------------------------------------------------------------------------------------------------------- cases ---- */

/* The call is made within a run, which must fail if it was refused by anything that could say so. */
static void run_within(fixture *f)
{
    hawser_error error = {0};
    hawser_run *run = NULL;
    hawser_observe(f->other_job, observe, f);
    hawser_status status = hawser_run_program(f->other_job, f->program, &run, &error);
    hawser_run_free(run);
    hawser_observe(f->other_job, NULL, NULL);
    if (!f->called)
        complain(f, "the call was not made");
    if (f->must_fail && status >= HAWSER_OK)
        complain(f, "the run was not told");
}

static void run_case(fixture *f, const misuse_case *one)
{
    current = one->words;
    f->now = one;
    prepare(f);
    if (one->where == IN_UNIT || one->where == IN_OBSERVER)
        run_within(f);
    else
        one->call(f);
    if (one->where == BUILDING && f->must_fail && f->program->mistake.status == HAWSER_OK)
        complain(f, "the program does not remember the mistake");
    f->now = NULL;
    clean(f);
}

static void on_crash(int number)
{
    static const char words[] = ": the call crashed\n";
    (void)!write(STDOUT_FILENO, current, strlen(current));
    (void)!write(STDOUT_FILENO, words, sizeof words - 1);
    _exit(128 + number);
}

int main(void)
{
    char directory[] = "/tmp/hawser-test-XXXXXX", command[100];
    fixture f = {0};
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (mkdtemp(directory) == NULL)
        return 1;
    signal(SIGSEGV, on_crash);
    signal(SIGABRT, on_crash);
    signal(SIGFPE, on_crash);
    open_fixture(&f, directory);
    for (size_t i = 0; i < CASES; i++)
        run_case(&f, &cases[i]);
    current = "the end";
    close_fixture(&f);
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    printf("%d calls of %d functions\n", CASES, FUNCTIONS);
    return system(command) != 0 || f.failed;
}
