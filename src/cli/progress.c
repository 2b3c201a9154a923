/* progress.c - one line about where a training stands. */
#include <math.h>
#include <string.h>

#include "cli/monitor.h"

enum { BAR = 24 };

/* How far a training is, by the condition that is nearest to its end; NaN when nothing tells. Gaps fall geometrically. */
static double fraction_done(const hw_progress *progress, const hw_sample *sample)
{
    double best = NAN;
    if (progress->clocks > 0)
        best = sample->clock / progress->clocks;
    if (progress->limit > 0)
        best = fmax(best, sample->seconds / progress->limit);
    if (sample->gap > 0 && progress->target_gap > 0 && progress->first_gap > progress->target_gap)
        best = fmax(best, log(progress->first_gap / sample->gap) / log(progress->first_gap / progress->target_gap));
    return best < 0 ? 0 : best > 1 ? 1 : best;
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

static void format_line(const hw_progress *progress, const hw_sample *sample, bool last, char *text, size_t size)
{
    char objective[40] = "", gap[40] = "", left[40] = "", elapsed[24], rest[24];
    double done = fraction_done(progress, sample), rate = sample->clock / (sample->seconds > 0 ? sample->seconds : 1e-9);
    if (isfinite(sample->objective))
        snprintf(objective, sizeof objective, "  objective %.6g", sample->objective);
    if (isfinite(sample->gap))
        snprintf(gap, sizeof gap, "  gap %.2e", sample->gap);
    format_seconds(sample->seconds, elapsed, sizeof elapsed);
    if (!last && done > 0.02) {
        format_seconds(sample->seconds * (1 - done) / done, rest, sizeof rest);
        snprintf(left, sizeof left, "  %s left", rest);
    }
    snprintf(text, size, "clock %.0f%s%s  %.3g clocks/s  %s%s", sample->clock, objective, gap, rate, elapsed, left);
}

static void draw_bar(const hw_progress *progress, const hw_sample *sample, const char *line, bool last)
{
    char bar[BAR + 1];
    double done = last ? 1 : fraction_done(progress, sample);
    int filled = isfinite(done) ? (int)(done * BAR) : (int)(sample->clock) % BAR;
    for (int i = 0; i < BAR; i++)
        bar[i] = isfinite(done) ? (i < filled ? '=' : i == filled ? '>' : ' ') : (i == filled ? '=' : ' ');
    bar[BAR] = '\0';
    fprintf(progress->err, "\r[%s] %s\033[K%s", bar, line, last ? "\n" : "");
}

void hw_progress_show(hw_progress *progress, const hw_sample *sample, bool last)
{
    char line[240];
    if (!progress->bar && !progress->lines)
        return;
    if (isnan(progress->first_gap) && isfinite(sample->gap)) {
        progress->first_gap = sample->gap;
        progress->target_gap = progress->tolerance * sample->objective;
    }
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
