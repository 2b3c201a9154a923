/* curve.c - records and prints the curve and the figures of a run, for the programs of the experiments. */
#include "curve.h"
#include "hawser/advanced.h"

#include <math.h>
#include <stdlib.h>

static void note(const hawser_progress *progress, void *user)
{
    curve *self = user;
    double objective = hawser_progress_metric(progress, "objective");
    if (self->count < self->capacity && !isnan(objective))
        self->points[self->count++] =
            (struct curve_point){hawser_progress_clock(progress), hawser_progress_seconds(progress), objective,
                                 hawser_progress_metric(progress, "bytes")};
}

hawser_status curve_open(curve *self, hawser_job *job, uint64_t clocks, hawser_error *error)
{
    *self = (curve){.points = calloc(clocks, sizeof *self->points), .capacity = clocks};
    if (self->points == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %llu clocks", (unsigned long long)clocks);
    hawser_observe(job, note, self);
    return HAWSER_OK;
}

void curve_close(curve *self)
{
    free(self->points);
}

void curve_print(const curve *self, const hawser_run *run, double objective)
{
    const hawser_figures *did = hawser_run_figures(run);
    double cpu = 0, wait = 0, last = 0;
    for (uint32_t i = 0; i < did->workers; i++) {
        cpu += did->worker[i].cpu_seconds;
        wait += did->worker[i].wait_seconds;
        last = fmax(last, did->worker[i].last_clock_seconds);
    }
    printf("{\"columns\":[\"clock\",\"seconds\",\"objective\",\"bytes\"],\"curve\":[");
    for (uint64_t i = 0; i < self->count; i++) {
        const struct curve_point *at = &self->points[i];
        printf("%s[%llu,%.6g,%.8g,%.0f]", i > 0 ? "," : "", (unsigned long long)at->clock, at->seconds, at->objective,
               at->bytes);
        objective = isnan(objective) && i + 1 == self->count ? at->objective : objective;
    }
    printf(
        "],\"objective\":%.10g,\"seconds\":%.6g,\"bytes\":%llu,\"cpu_seconds\":%.6g,\"wait_seconds\":%.6g,\"clocks\":%llu,"
        "\"most_lead\":%u,\"coalesced\":%llu,\"staleness\":[",
        objective, last, (unsigned long long)did->bytes_exchanged, cpu, wait, (unsigned long long)did->clocks,
        did->most_lead, (unsigned long long)did->coalesced);
    for (size_t s = 0; s < did->staleness_count; s++)
        printf("%s%llu", s > 0 ? "," : "", (unsigned long long)did->staleness[s]);
    printf("]}\n");
}

hawser_status curve_number(const char *word, double most, double *number, hawser_error *error)
{
    char *end;
    *number = strtod(word, &end);
    if (end == word || *end != '\0' || !(*number > 0 && *number <= most))
        return hawser_fail(error, HAWSER_BAD_OPTION, "'%s' is no number above zero and at most %g", word, most);
    return HAWSER_OK;
}
