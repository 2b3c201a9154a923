/* managed.c - a program whose exchanges are spread over its clocks. */
#include "managed.h"

#include <math.h>
#include <time.h>

uint64_t managed_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double managed_uniform(uint64_t *state)
{
    return (double)(managed_random(state) >> 11) * 0x1p-53;
}

hawser_status managed_pace(const managed *self, hawser_context *context, uint32_t part)
{
    double share = self->pause / self->parts;
    struct timespec rest = {(time_t)share, (long)((share - floor(share)) * 1e9)};
    nanosleep(&rest, NULL);
    return part + 1 < self->parts ? hawser_yield(context) : HAWSER_OK;
}

static hawser_status take_words(managed *self, int argc, char **argv, hawser_error *error)
{
    double clocks = 0, parts = 0;
    if (argc != 4)
        return hawser_fail(error, HAWSER_BAD_OPTION, "usage: CLOCKS PARTS PAUSE and options of the job");
    HAWSER_TRY(curve_number(argv[1], 1e6, &clocks, error));
    HAWSER_TRY(curve_number(argv[2], 1000, &parts, error));
    HAWSER_TRY(curve_number(argv[3], 60, &self->pause, error));
    self->clocks = (uint64_t)ceil(clocks);
    self->parts = (uint32_t)ceil(parts);
    return HAWSER_OK;
}

int managed_main(int argc, char **argv, const char *name, managed *self,
                 hawser_status (*make)(void *model, hawser_error *error), managed_build *build, void *model)
{
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    hawser_program *program = NULL;
    curve all = {.points = NULL};
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_STOP) /* --help */
        return 0;
    if (status == HAWSER_OK)
        status = take_words(self, argc, argv, &error);
    if (status == HAWSER_OK)
        status = make(model, &error);
    if (status == HAWSER_OK)
        status = curve_open(&all, job, self->clocks, &error);
    if (status == HAWSER_OK) {
        program = hawser_program_new(name, model);
        hawser_metric_declare(program, "objective", HAWSER_SUM);
        status = build(program, job, self, model);
    }
    if (status == HAWSER_OK)
        status = hawser_run_program(job, program, &run, &error);
    if (status == HAWSER_OK && hawser_job_leads(job))
        curve_print(&all, run, NAN);
    if (status != HAWSER_OK)
        fprintf(stderr, "%s: %s\n", name, error.text);
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_close(job);
    curve_close(&all);
    return status == HAWSER_OK ? 0 : 1;
}
