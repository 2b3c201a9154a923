/* gather_probe.c - nodes that fetch much: one clock, then each block has a million numbers of its own, and each node fetches
 * those of all. Usage: gather_probe FILE: each block adds a line to FILE when its work is done. */
#include <stdio.h>

#include "hawser/hawser.h"

enum { COLUMNS = 3000000 };

static hawser_status fill(hawser_context *context)
{
    size_t count = hawser_part(context, "x", NULL);
    HAWSER_WRITE(context, double, x);
    for (size_t i = 0; i < count; i++)
        x[i] = hawser_random_uniform(context);
    FILE *file = fopen(hawser_user(context), "a");
    if (file == NULL)
        return hawser_unit_fail(context, HAWSER_IO, "cannot append to '%s'", (const char *)hawser_user(context));
    fprintf(file, "block %u\n", hawser_block(context));
    return fclose(file) == 0 ? HAWSER_OK : HAWSER_IO;
}

int main(int argc, char **argv)
{
    static double row[COLUMNS];
    const hawser_matrix matrix = {.rows = 1, .cols = COLUMNS, .stored = COLUMNS, .values = row, .stride = 1};
    hawser_job *job = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    hawser_program *program = hawser_program_new("gather", argc > 1 ? argv[1] : "/dev/null");
    hawser_state *data = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_LOCAL, .along = data);
    HAWSER_UNIT(hawser_root(program), "fill", fill, .reads = {data}, .updates = {x});
    hawser_run *run = NULL;
    const double *whole;
    if (status == HAWSER_OK)
        status = hawser_run_program(job, program, &run, &error);
    if (status == HAWSER_OK)
        status = hawser_result(run, "x", &whole, NULL, &error);
    if (status != HAWSER_OK)
        fprintf(stderr, "probe: %s\n", error.text);
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : status == HAWSER_PEER_LOST ? 8 : 3;
}
