/* result_probe.c - nodes that part after a run with a state of the kind `stored` or `local`: result_probe FILE KIND HOW
 * [options]. Each node appends "node pid" to FILE after the run. With HOW `close`, node 2 stays, and the others close the
 * job with the run. With `read`, node 0 also reads the whole state, again and again. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hawser/hawser.h"

enum { COUNT = 1000 };

static hawser_status count_up(hawser_context *context)
{
    HAWSER_WRITE(context, double, x);
    for (size_t i = hawser_part(context, "x", NULL); i > 0; i--)
        x[i - 1]++;
    return HAWSER_OK;
}

static hawser_status write_pid(uint32_t node, const char *path)
{
    FILE *file = fopen(path, "a");
    if (file == NULL)
        return HAWSER_IO;
    fprintf(file, "%u %ld\n", node, (long)getpid());
    return fclose(file) == 0 ? HAWSER_OK : HAWSER_IO;
}

/* Reads until a node is lost. */
static hawser_status read_on(const hawser_run *run, hawser_error *error)
{
    double values[COUNT];
    hawser_status status = HAWSER_OK;
    while (status == HAWSER_OK) {
        status = hawser_result_range(run, "x", 0, COUNT, values, error);
        usleep(1000);
        for (int i = 0; i < COUNT && status == HAWSER_OK; i++)
            if (values[i] != 1.0)
                status = hawser_fail(error, HAWSER_INTERNAL, "number %d is %g", i, values[i]);
    }
    return status;
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    hawser_program *program = hawser_program_new("results", NULL);
    static const double row[COUNT] = {1};
    const hawser_matrix matrix = {.rows = 1, .cols = COUNT, .stored = COUNT, .values = (void *)(uintptr_t)row, .stride = 1};
    bool local = argc > 2 && strcmp(argv[2], "local") == 0, reads = argc > 3 && strcmp(argv[3], "read") == 0;
    hawser_state *data = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *x = local ? HAWSER_STATE(program, "x", HAWSER_LOCAL, .along = data)
                            : HAWSER_STATE(program, "x", HAWSER_STORED, .rows = COUNT);
    (void)HAWSER_UNIT(hawser_root(program), "count", count_up, .updates = {x});
    if (status == HAWSER_OK)
        status = hawser_run_program(job, program, &run, &error);
    if (status == HAWSER_OK)
        status = write_pid(hawser_job_node(job), argc > 1 ? argv[1] : "pids");
    if (status == HAWSER_OK && hawser_job_node(job) == 2)
        pause();
    if (status == HAWSER_OK && hawser_job_node(job) == 0 && reads)
        status = read_on(run, &error);
    if (status != HAWSER_OK)
        fprintf(stderr, "probe: %s\n", error.text);
    hawser_close(job);
    hawser_run_free(run);
    hawser_program_free(program);
    return status == HAWSER_OK ? 0 : 8;
}
