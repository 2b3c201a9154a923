/* progress.c - one line about where a training stands. */
#include <math.h>
#include <string.h>

#include "cli/monitor.h"

enum { BAR = 24, LONGEST = 400 /* characters of the metrics */ };

static const double APART = 1.1; /* by how much more of the time than the last one a forecast is made of */
static const double ALIKE = 0.3; /* by how much of what is left forecasts may differ that are believed */

/* Seconds until the metric that ends the run is at its target, by the last forecasts; NaN if they do not agree. Metrics do not fall
 * evenly: only forecasts that have stayed alike while a third of the time went by are worth a line. */
static double until_target(const hw_progress_line *progress, double now)
{
    const hw_forecast *forecast = &progress->forecast;
    double least = INFINITY, most = 0.0;
    if (forecast->count < HW_FORECASTS)
        return NAN;
    for (size_t k = 0; k < HW_FORECASTS; k++) {
        least = fmin(least, forecast->end[k]);
        most = fmax(most, forecast->end[k]);
    }
    double left = most - now;
    return isfinite(most) && left > 0.0 && most - least <= ALIKE * left ? left : NAN;
}

/* Takes a value: where the line through it and the one half as long ago meets the target, on a logarithmic scale. */
static void take_value(hw_progress_line *progress, double seconds, double value, double target)
{
    hw_forecast *forecast = &progress->forecast;
    if (!(target > 0) || !(value > 0) || value == forecast->value || seconds <= forecast->at)
        return;
    if (forecast->marks > 0 && seconds >= 2 * forecast->mark[1].seconds) {
        forecast->mark[0] = forecast->mark[1];
        forecast->mark[1] = (hw_mark){seconds, log(value)};
    } else if (forecast->marks == 0) {
        forecast->mark[0] = forecast->mark[1] = (hw_mark){seconds, log(value)};
    }
    forecast->marks++;
    forecast->value = value;
    forecast->at = seconds;
    if (!(seconds > forecast->mark[0].seconds) || seconds < APART * forecast->made)
        return;
    double slope = (log(value) - forecast->mark[0].log_value) / (seconds - forecast->mark[0].seconds);
    double left = slope < 0 ? (log(target) - log(value)) / slope : INFINITY;
    forecast->end[forecast->count++ % HW_FORECASTS] = seconds + left;
    forecast->made = seconds;
}

/* Seconds that --time-limit and --max-clocks leave at most; NaN without them. */
static double until_limit(const hw_progress_line *progress, const hw_sample *sample)
{
    double left = NAN;
    if (progress->limit > 0)
        left = fmax(0.0, progress->limit - sample->seconds);
    if (progress->clocks > 0 && sample->clock > 0)
        left = fmin(left, fmax(0.0, (progress->clocks - sample->clock) * sample->seconds / sample->clock)); /* NaN loses */
    return left;
}

/* What is left, and whether that is a bound only; NaN when nothing tells. */
static double time_left(const hw_progress_line *progress, const hw_sample *sample, bool *bound)
{
    double limit = until_limit(progress, sample), target = until_target(progress, sample->seconds);
    *bound = !(target < limit) && !isnan(limit);
    return *bound ? limit : target;
}

/* How far a training is; NaN when nothing tells. */
static double fraction_done(const hw_progress_line *progress, const hw_sample *sample)
{
    bool bound = false;
    double left = time_left(progress, sample, &bound), whole = sample->seconds + left;
    return whole > 0 ? sample->seconds / whole : NAN;
}

static void format_seconds(double seconds, char *text, size_t size)
{
    if (!(seconds < 1e8))
        snprintf(text, size, "?");
    else if (seconds < 100)
        snprintf(text, size, "%.1fs", seconds);
    else if (seconds < 6000)
        snprintf(text, size, "%.0fm%02.0fs", floor(seconds / 60), fmod(seconds, 60));
    else
        snprintf(text, size, "%.0fh%02.0fm", floor(seconds / 3600), floor(fmod(seconds, 3600) / 60));
}

/* "  NAME 0.1234  NAME 1.00e-03"; metrics without a value are left out. */
static void format_metrics(const hw_watched *watched, const hw_sample *sample, char *text, size_t size)
{
    size_t used = 0;
    for (size_t k = 0; k < watched->count && used + 2 < size; k++)
        if (watched->row[k]->progress && isfinite(sample->value[k])) {
            used += (size_t)snprintf(text + used, size - used, "  ");
            used += (size_t)hw_metric_text(watched->row[k], sample->value[k], text + used, size - used);
        }
}

static void format_line(const hw_progress_line *progress, const hw_sample *sample, bool last, char *text, size_t size)
{
    char metrics[LONGEST] = "", left[40] = "", elapsed[24], rest[24];
    bool bound = false;
    double remaining = time_left(progress, sample, &bound),
           rate = sample->clock / (sample->seconds > 0 ? sample->seconds : 1e-9);
    format_metrics(progress->watched, sample, metrics, sizeof metrics);
    format_seconds(sample->seconds, elapsed, sizeof elapsed);
    if (!last && isfinite(remaining)) {
        format_seconds(remaining, rest, sizeof rest);
        snprintf(left, sizeof left, bound ? "  at most %s left" : "  about %s left", rest);
    }
    snprintf(text, size, "clock %.0f%s  %.3g clocks/s  %s%s", sample->clock, metrics, rate, elapsed, left);
}

static void draw_bar(const hw_progress_line *progress, const hw_sample *sample, const char *line, bool last)
{
    char bar[BAR + 1];
    double done = last ? 1 : fraction_done(progress, sample);
    int filled = isfinite(done) ? (int)(done * BAR) : (int)(sample->clock) % BAR;
    for (int i = 0; i < BAR; i++)
        bar[i] = isfinite(done) ? (i < filled ? '=' : i == filled ? '>' : ' ') : (i == filled ? '=' : ' ');
    bar[BAR] = '\0';
    fprintf(progress->err, "\r[%s] %s\033[K%s", bar, line, last ? "\n" : "");
}

void hw_progress_show(hw_progress_line *progress, const hw_sample *sample, bool last)
{
    char line[LONGEST + 160];
    if (!progress->bar && !progress->lines)
        return;
    size_t ends = progress->watched->ends;
    if (ends < progress->watched->count)
        take_value(progress, sample->seconds, sample->value[ends], sample->target);
    progress->last = *sample;
    double every = progress->bar ? 0.1 : 2;
    if (!last && sample->seconds - progress->drawn < every)
        return;
    progress->drawn = sample->seconds;
    format_line(progress, sample, last, line, sizeof line);
    if (progress->bar)
        draw_bar(progress, sample, line, last);
    else
        fprintf(progress->err, "hawser: %s\n", line);
    fflush(progress->err);
}
