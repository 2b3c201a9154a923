/* progress.c - prints one line about the state of a training. */
#include <math.h>

#include "cli/monitor.h"

enum { BAR = 24, LONGEST = 400 /* of the metrics' text */ };

static const double APART = 1.1; /* a forecast is made when the time is this many times that of the last one */
static const double ALIKE = 0.3; /* forecasts are used if they differ by at most this part of the time left */

/* Returns the seconds until a quantity is at its goal, by the last forecasts; NaN if they do not agree. Neither metrics nor
 * clocks advance evenly: only forecasts that have stayed alike while a third of the time went by are worth a line. */
static double until_goal(const hw_forecast *forecast, double now)
{
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

/* Takes a height, which falls to its goal, and forecasts where the line through it and the one half as long ago meets the
 * goal. */
static void take_height(hw_forecast *forecast, double seconds, double height, double goal)
{
    if (!isfinite(height) || (forecast->marks > 0 && height == forecast->height) || seconds <= forecast->at)
        return;
    if (forecast->marks > 0 && seconds >= 2 * forecast->mark[1].seconds) {
        forecast->mark[0] = forecast->mark[1];
        forecast->mark[1] = (hw_mark){seconds, height};
    } else if (forecast->marks == 0) {
        forecast->mark[0] = forecast->mark[1] = (hw_mark){seconds, height};
    }
    forecast->marks++;
    forecast->height = height;
    forecast->at = seconds;
    if (!(seconds > forecast->mark[0].seconds) || seconds < APART * forecast->made)
        return;
    double slope = (height - forecast->mark[0].height) / (seconds - forecast->mark[0].seconds);
    double left = slope < 0 ? (goal - height) / slope : INFINITY;
    forecast->end[forecast->count++ % HW_FORECASTS] = seconds + left;
    forecast->made = seconds;
}

/* Raises the whole line, and puts off the ends that were forecast by the time that the rise takes. */
static void raise_line(hw_forecast *forecast, double rise)
{
    double fallen = forecast->mark[0].height - forecast->height, took = forecast->at - forecast->mark[0].seconds;
    if (!(fallen > 0.0))
        forecast->count = 0;
    for (size_t k = 0; k < HW_FORECASTS && fallen > 0.0; k++)
        forecast->end[k] += rise / fallen * took;
    for (size_t k = 0; k < 2; k++)
        forecast->mark[k].height += rise;
    forecast->height += rise;
}

/* Takes the metric that ends the run. One that counts down falls along a line; if it rises, the whole line rises. Others
 * fall by factors. */
static void take_metric(hw_progress_line *progress, const hw_sample *sample)
{
    hw_forecast *forecast = &progress->forecast;
    if (sample->ends >= progress->watched->count)
        return;
    double value = sample->value[sample->ends], target = sample->target;
    if (forecast->marks > 0 && progress->forecasts != sample->ends)
        *forecast = (hw_forecast){0};
    progress->forecasts = sample->ends;
    if (!progress->watched->row[sample->ends]->counts) {
        if (target > 0 && value > 0)
            take_height(forecast, sample->seconds, log(value), log(target));
        return;
    }
    if (forecast->marks > 0 && value > forecast->height)
        raise_line(forecast, value - forecast->height);
    take_height(forecast, sample->seconds, value, target);
}

/* Returns the seconds until --max-clocks; NaN if clocks do not take even time, neither lately nor since the beginning. */
static double until_clocks(const hw_progress_line *progress, const hw_sample *sample)
{
    double left = until_goal(&progress->clocks_forecast, sample->seconds);
    double average = (progress->clocks - sample->clock) * sample->seconds / sample->clock;
    return fabs(average - left) <= 0.5 * ALIKE * left ? left : NAN;
}

/* Kinds of forecast: no, a forecast of the end, a forecast that is a lower or an upper bound, a bound. */
typedef enum known { NOTHING, ABOUT, AT_LEAST_ABOUT, AT_MOST_ABOUT, AT_MOST } known;

/* Returns the seconds that are left; NaN if they are unknown. --time-limit is a bound; the time of --max-clocks is a
 * forecast, because clocks differ in what they cost, and without it no other forecast is shown: the clocks may be over
 * first. */
static double time_left(const hw_progress_line *progress, const hw_sample *sample, known *what)
{
    double limit = progress->limit > 0 ? fmax(0.0, progress->limit - sample->seconds) : NAN;
    double target = until_goal(&progress->forecast, sample->seconds), clocks = NAN;
    if (progress->clocks > 0) {
        clocks = until_clocks(progress, sample);
        target = isnan(clocks) ? NAN : target;
    }
    double left = fmin(limit, fmin(clocks, target)); /* fmin ignores NaN */
    if (isnan(left))
        *what = NOTHING;
    else if (left == limit)
        *what = AT_MOST;
    else if (left == clocks)
        *what = AT_MOST_ABOUT;
    else
        *what = sample->may_rise ? AT_LEAST_ABOUT : ABOUT;
    return left;
}

/* Returns the part of a training that is done; NaN if it is unknown. */
static double fraction_done(const hw_progress_line *progress, const hw_sample *sample)
{
    known what;
    double left = time_left(progress, sample, &what), whole = sample->seconds + left;
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

/* Formats "  NAME 0.1234  NAME 1.00e-03". Metrics without a value are left out. */
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
    static const char *const words[] = {
        [ABOUT] = "about", [AT_LEAST_ABOUT] = "at least about", [AT_MOST_ABOUT] = "at most about", [AT_MOST] = "at most"};
    known what = NOTHING;
    double remaining = time_left(progress, sample, &what),
           rate = sample->clock / (sample->seconds > 0 ? sample->seconds : 1e-9);
    format_metrics(progress->watched, sample, metrics, sizeof metrics);
    format_seconds(sample->seconds, elapsed, sizeof elapsed);
    if (!last && isfinite(remaining)) {
        format_seconds(remaining, rest, sizeof rest);
        snprintf(left, sizeof left, "  %s %s left", words[what], rest);
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
    take_metric(progress, sample);
    if (progress->clocks > 0)
        take_height(&progress->clocks_forecast, sample->seconds, -sample->clock, -progress->clocks);
    progress->last = *sample;
    double every = progress->bar ? 0.1 : 2;
    if (!last && sample->seconds - progress->drawn < every)
        return;
    progress->drawn = sample->seconds;
    format_line(progress, sample, last, line, sizeof line);
    if (progress->bar)
        draw_bar(progress, sample, line, last);
    else
        hw_say(progress->err, "%s", line);
    fflush(progress->err);
}
