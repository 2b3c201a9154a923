/* reduce_probe.c - units that reduce for ever: reduce_probe NUMBERS FILE [options]. Each node appends "node pid" to FILE
 * once it reduces. It ends by a request to stop, with the number of reductions that every block has made, or with what went
 * wrong. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hawser/hawser.h"

typedef struct probing {
    size_t count;
    const char *path;
    uint32_t node;
} probing;

static hawser_job *job;

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    hawser_interrupt(job);
}

static hawser_status write_pid(const probing *how)
{
    FILE *file = fopen(how->path, "a");
    if (file == NULL)
        return HAWSER_IO;
    fprintf(file, "%u %ld\n", how->node, (long)getpid());
    return fclose(file) == 0 ? HAWSER_OK : HAWSER_IO;
}

static hawser_status reduce(hawser_context *context)
{
    const probing *how = hawser_user(context);
    double *values = malloc((how->count + 1) * sizeof *values), made = 0;
    hawser_status status = values != NULL ? HAWSER_OK : HAWSER_NO_MEMORY;
    while (status == HAWSER_OK && !hawser_stopping(context)) {
        for (size_t i = 0; i < how->count; i++)
            values[i] = 1;
        status = hawser_allreduce(context, values, how->count, HAWSER_SUM);
        for (size_t i = 0; i < how->count && status == HAWSER_OK; i++)
            if (values[i] != hawser_blocks(context))
                status = hawser_unit_fail(context, HAWSER_INTERNAL, "%g of %u shares", values[i], hawser_blocks(context));
        if (made == 10 && status == HAWSER_OK && hawser_block(context) % 2 == 0)
            status = write_pid(how);
        made++;
    }
    free(values);
    HAWSER_TRY(status);
    HAWSER_TRY(hawser_report(context, "most", made));
    return hawser_report(context, "least", made);
}

int main(int argc, char **argv)
{
    hawser_run *run = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    (void)signal(SIGTERM, ask_to_stop);
    probing how = {argc > 1 ? strtoul(argv[1], NULL, 10) : 1, argc > 2 ? argv[2] : "pids", hawser_job_node(job)};
    hawser_program *program = hawser_program_new("reducing", &how);
    hawser_metric_declare(program, "most", HAWSER_MAX);
    hawser_metric_declare(program, "least", HAWSER_MIN);
    hawser_operator *loop = hawser_loop(hawser_root(program), "rounds", (hawser_until){.clocks = 100}, hawser_bsp());
    HAWSER_UNIT(loop, "reduce", reduce, .reduces = how.count);
    if (status == HAWSER_OK)
        status = hawser_run_program(job, program, &run, &error);
    if (run != NULL)
        printf("%s after %s reductions\n", hawser_status_name(status),
               hawser_result_metric(run, "most") == hawser_result_metric(run, "least") ? "equal" : "unequal");
    if (status != HAWSER_OK && status != HAWSER_STOP)
        fprintf(stderr, "probe: %s\n", error.text);
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_close(job);
    return status == HAWSER_OK || status == HAWSER_STOP ? 0 : 8;
}
