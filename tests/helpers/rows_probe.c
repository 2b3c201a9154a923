/* rows_probe.c - loads FILE by row and adds up the columns: rows_probe FILE [f32] [plan] [OPTION=VALUE...] [options of the
 * job]. Each node prints one line of JSON: the rows and bytes that it has read and holds, and the largest anonymous memory
 * that was seen while it worked. Node 0 adds a line per sum. With `out=PREFIX` each node writes to a file PREFIX.NODE
 * instead, since a launcher may mix lines of nodes. With `write=PATH` nothing is added up, but the nodes write numbers for
 * each row to one file; with `killed=NODE` this node then kills itself when it is asked for its second piece of them. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hawser/hawser.h"
#include "hawser/job_data.h"

/* Bytes of anonymous memory: what is resident, without pages of files. */
static uint64_t anonymous(int statm)
{
    char text[128] = "";
    unsigned long size = 0, resident = 0, shared = 0;
    if (pread(statm, text, sizeof text - 1, 0) <= 0 || sscanf(text, "%lu %lu %lu", &size, &resident, &shared) != 3)
        return 0;
    return (uint64_t)(resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

typedef struct watch {
    pthread_t thread;
    int statm;
    atomic_bool stopped;
    atomic_uint_fast64_t peak;
} watch;

static void look(watch *w)
{
    uint64_t now = anonymous(w->statm);
    if (now > atomic_load(&w->peak))
        atomic_store(&w->peak, now);
}

static void *look_often(void *of)
{
    watch *w = of;
    const struct timespec pause = {.tv_nsec = 500000};
    while (!atomic_load(&w->stopped)) {
        look(w);
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Adds up the columns of a block's rows, each times its target and weight. */
static hawser_status add(hawser_context *context)
{
    const hawser_dataset *data = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, X);
    HAWSER_WRITE(context, double, sums);
    hawser_beside beside;
    hawser_error error;
    if (hawser_dataset_beside(data, X->first, X->rows, &beside, &error) != HAWSER_OK)
        return hawser_unit_fail(context, HAWSER_BAD_INPUT, "%s", error.text);
    for (size_t i = 0; i < X->rows; i++) {
        double times = (beside.target != NULL ? beside.target[i] : 1) * (beside.weights != NULL ? beside.weights[i] : 1) +
                       (beside.offset != NULL ? beside.offset[i] : 0);
        bool dense = X->layout == HAWSER_DENSE_ROWS;
        uint64_t begin = dense ? i * X->stride : X->offsets[i], end = dense ? begin + X->cols : X->offsets[i + 1];
        for (uint64_t e = begin; e < end; e++)
            sums[dense ? e - begin : X->indices[e]] +=
                times * (X->type == HAWSER_F32 ? (double)((const float *)X->values)[e] : ((const double *)X->values)[e]);
    }
    return HAWSER_OK;
}

static void print(hawser_job *job, const hawser_dataset *data, const watch *w, hawser_run *run, FILE *out)
{
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    uint32_t blocks = 0, node = hawser_job_node(job), nodes = hawser_job_nodes(job);
    const size_t *cut = hawser_dataset_cut(data, &blocks);
    hawser_beside beside;
    hawser_error error;
    uint64_t held = 0;
    size_t count = 0;
    for (uint32_t b = 0; b < blocks; b++)
        if (hawser_dataset_beside(data, cut[b], cut[b + 1] - cut[b], &beside, &error) == HAWSER_OK)
            held += beside.count;
    const double *sums;
    if (!hawser_job_leads(job) || hawser_result(run, "sums", &sums, &count, &error) != HAWSER_OK)
        count = 0;
    uint64_t read = figures->rows_read != NULL && node < figures->readers ? figures->rows_read[node] : 0;
    if (nodes == 1)
        for (uint32_t k = read = 0; figures->rows_read != NULL && k < figures->readers; k++)
            read += figures->rows_read[k];
    fprintf(out,
            "{\"node\": %u, \"held\": %" PRIu64 ", \"read\": %" PRIu64 ", \"moved\": %" PRIu64 ", \"bytes_read\": %" PRIu64
            ", \"bytes_here\": %" PRIu64 ", \"peak\": %" PRIu64 "}\n",
            node, held, read, figures->rows_moved, figures->bytes_read, figures->bytes_here,
            (uint64_t)atomic_load(&w->peak));
    for (size_t j = 0; j < count; j++)
        fprintf(out, "sum %zu %.17g\n", j, sums[j]);
}

static hawser_status report(hawser_job *job, const hawser_dataset *data, const watch *w, hawser_run *run, const char *prefix,
                            hawser_error *error)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s.%u", prefix != NULL ? prefix : "", hawser_job_node(job));
    FILE *out = prefix != NULL ? fopen(path, "we") : stdout;
    if (out == NULL)
        return hawser_fail(error, HAWSER_IO, "%s: cannot be written", path);
    print(job, data, w, run, out);
    int failed = prefix != NULL ? fclose(out) : fflush(out);
    return failed == 0 ? HAWSER_OK : hawser_fail(error, HAWSER_IO, "%s: cannot be written", path);
}

/* The file that `write` names, and the node that kills itself. */
typedef struct writing {
    const char *path;
    uint32_t killed;
    bool here;
    int pieces;
} writing;

static hawser_status read_words(int argc, char **argv, hawser_load *load, bool *plan, const char **out, writing *w,
                                hawser_error *error)
{
    for (int i = 2; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (value != NULL)
            *value++ = '\0';
        if (strcmp(argv[i], "plan") == 0)
            *plan = true;
        else if (strcmp(argv[i], "f32") == 0)
            load->type = HAWSER_F32;
        else if (value != NULL && strcmp(argv[i], "out") == 0)
            *out = value;
        else if (value != NULL && strcmp(argv[i], "write") == 0)
            w->path = value;
        else if (value != NULL && strcmp(argv[i], "killed") == 0)
            w->killed = (uint32_t)strtoul(value, NULL, 10);
        else if (value != NULL && strcmp(argv[i], "target") == 0)
            load->target = value;
        else if (value != NULL && strcmp(argv[i], "weights") == 0)
            load->weights = value;
        else if (value != NULL && strcmp(argv[i], "offset") == 0)
            load->offset = value;
        else if (value != NULL && strcmp(argv[i], "exposure") == 0)
            load->exposure = value;
        else if (value != NULL && strcmp(argv[i], "columns") == 0)
            load->split = HAWSER_BY_COLUMN;
        else
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "rows_probe: unknown word '%s'", argv[i]);
    }
    return HAWSER_OK;
}

/* `plan`: prints the plan on standard error. */
static hawser_status add_up(hawser_job *job, const hawser_dataset *data, bool plan, hawser_run **run, hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    hawser_program *program = hawser_program_new("rows_probe", (void *)(uintptr_t)data);
    hawser_state *rows = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = X, .split = HAWSER_BY_ROW);
    hawser_state *sums = HAWSER_STATE(program, "sums", HAWSER_REPLICATED, .rows = X->cols);
    HAWSER_UNIT(hawser_root(program), "add", add, .reads = {rows}, .updates = {sums});
    hawser_status status = plan ? hawser_plan_print(job, program, HAWSER_PLAN_PHYSICAL, stderr, error) : HAWSER_OK;
    if (status == HAWSER_OK)
        status = hawser_run_program(job, program, run, error);
    hawser_program_free(program);
    return status;
}

enum { WIDTH = 200 }; /* numbers per row, so that a block has several pieces */

static hawser_status make_numbers(size_t first, size_t count, double *values, void *user)
{
    writing *w = user;
    if (++w->pieces == 2 && w->here)
        (void)raise(SIGKILL);
    for (size_t i = 0; i < count * WIDTH; i++)
        values[i] = (double)(first + i / WIDTH);
    return HAWSER_OK;
}

static hawser_status write_numbers(hawser_job *job, const hawser_dataset *data, writing *w, hawser_error *error)
{
    w->here = hawser_job_node(job) == w->killed;
    return hawser_job_write_rows(job, data, w->path, WIDTH, make_numbers, w, error);
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    hawser_dataset *data = NULL;
    hawser_error error = {HAWSER_OK, "usage: rows_probe FILE [f32] [plan] [OPTION=VALUE...] [options of the job]"};
    hawser_load load = {.split = HAWSER_BY_ROW};
    bool plan = false;
    const char *out = NULL;
    writing writes = {.killed = UINT32_MAX};
    watch w = {.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_OK)
        status = argc < 2 ? HAWSER_BAD_ARGUMENT : read_words(argc, argv, &load, &plan, &out, &writes, &error);
    bool watched = status == HAWSER_OK && pthread_create(&w.thread, NULL, look_often, &w) == 0;
    if (status == HAWSER_OK)
        status = hawser_job_load(job, (const char *const *)&argv[1], 1, &load, &data, &error);
    if (status == HAWSER_OK)
        status = writes.path != NULL ? write_numbers(job, data, &writes, &error) : add_up(job, data, plan, &run, &error);
    look(&w);
    atomic_store(&w.stopped, true);
    if (watched)
        (void)pthread_join(w.thread, NULL);
    if (status == HAWSER_OK && writes.path == NULL)
        status = report(job, data, &w, run, out, &error);
    if (status != HAWSER_OK)
        (void)fprintf(stderr, "rows_probe: %s\n", error.text);
    hawser_run_free(run);
    hawser_dataset_free(data);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 3;
}
