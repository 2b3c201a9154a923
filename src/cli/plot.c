#include "cli/plot.h"

#include <math.h>

#include "cli/draw.h"

enum { WIDTH = HW_PAGE_WIDTH, HEIGHT = HW_PAGE_HEIGHT, LEFT = 100, RIGHT = 40, TOP = 86, BETWEEN = 34, BOTTOM = 64 };

/* The metric of a frame, over time from 0 to x_high. */
typedef struct hw_panel {
    hw_plot_frame frame;
    double x_high;
    const hawser_metric_row *row;
    size_t metric; /* its index in the list of watched metrics */
    double red, green, blue;
} hw_panel;

/* --------------------------------------------------------------------------------------------------- drawing ---- */

static double value_of(const hw_panel *panel, const hw_sample *sample)
{
    double value = sample->value[panel->metric];
    return panel->frame.log ? (value > 0 ? log10(value) : NAN) : value;
}

static double x_at(const hw_panel *panel, double seconds)
{
    return LEFT + seconds / panel->x_high * (WIDTH - LEFT - RIGHT);
}

static void draw_x_axis(cairo_t *cr, const hw_panel *panel, bool labels)
{
    double bottom = panel->frame.top + panel->frame.height, step = hw_nice_step(panel->x_high, 10);
    int decimals = (int)fmax(0, -floor(log10(step) + 1e-9));
    cairo_set_font_size(cr, 14);
    for (double v = 0; v <= panel->x_high * (1 + 1e-9); v += step) {
        char text[40];
        hw_draw_grid_line(cr, x_at(panel, v), panel->frame.top, x_at(panel, v), bottom);
        snprintf(text, sizeof text, "%.*f", decimals, v);
        if (labels)
            hw_draw_text(cr, x_at(panel, v), bottom + 22, 0.5, text);
    }
    cairo_set_font_size(cr, 15);
    if (labels)
        hw_draw_text(cr, LEFT + (WIDTH - LEFT - RIGHT) / 2.0, bottom + 48, 0.5, "time of training (s)");
}

static void draw_curve(cairo_t *cr, const hw_panel *panel, const hw_sample *samples, size_t count)
{
    cairo_set_source_rgb(cr, panel->red, panel->green, panel->blue);
    cairo_set_line_width(cr, 2.2);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    cairo_new_path(cr);
    for (size_t i = 0; i < count; i++)
        if (isfinite(value_of(panel, &samples[i])))
            cairo_line_to(cr, x_at(panel, samples[i].seconds), hw_y_at(&panel->frame, value_of(panel, &samples[i])));
    cairo_stroke(cr);
    for (size_t i = 0; i < count; i++)
        if (isfinite(value_of(panel, &samples[i])) && (count <= 60 || i + 1 == count)) {
            cairo_arc(cr, x_at(panel, samples[i].seconds), hw_y_at(&panel->frame, value_of(panel, &samples[i])), 3.2, 0,
                      2 * M_PI);
            cairo_fill(cr);
        }
}

/* Chooses a log axis for a metric that falls to a small part of itself, which would be flat on a linear one. */
static void choose_scale(hw_panel *panel, const hw_sample *samples, size_t count)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(samples[i].value[panel->metric])) {
            low = fmin(low, samples[i].value[panel->metric]);
            high = fmax(high, samples[i].value[panel->metric]);
        }
    panel->frame.log = panel->row->log_axis || (low > 0 && isfinite(low) && high > 20 * low);
    snprintf(panel->frame.label, sizeof panel->frame.label, panel->frame.log ? "%s (log scale)" : "%s", panel->row->axis);
}

/* Chooses the ranges of a panel's axes. Returns false if no sample has a value for it. */
static bool fit(hw_panel *panel, const hw_sample *samples, size_t count)
{
    choose_scale(panel, samples, count);
    panel->frame.low = INFINITY;
    panel->frame.high = -INFINITY;
    panel->x_high = 0;
    for (size_t i = 0; i < count; i++) {
        double value = value_of(panel, &samples[i]);
        panel->x_high = fmax(panel->x_high, samples[i].seconds);
        if (isfinite(value)) {
            panel->frame.low = fmin(panel->frame.low, value);
            panel->frame.high = fmax(panel->frame.high, value);
        }
    }
    if (!(panel->frame.high >= panel->frame.low))
        return false;
    if (!(panel->x_high > 0))
        panel->x_high = 1e-3;
    panel->x_high *= 1.02;
    if (panel->frame.log) {
        panel->frame.low = floor(panel->frame.low);
        panel->frame.high = fmax(ceil(panel->frame.high), panel->frame.low + 1);
    } else {
        hw_plot_frame_widen(&panel->frame);
    }
    return true;
}

static void draw_panel(cairo_t *cr, const hw_panel *panel, const hw_sample *samples, size_t count, bool labels)
{
    draw_x_axis(cr, panel, labels);
    hw_draw_y_axis(cr, &panel->frame);
    hw_draw_box(cr, &panel->frame);
    draw_curve(cr, panel, samples, count);
}

/* Chooses the panels of the metrics that have an axis and a value. Returns their number. */
static size_t choose_panels(const hw_watched *watched, const hw_sample *samples, size_t count, hw_panel *panels)
{
    static const double colours[][3] = {
        {0.05, 0.36, 0.66}, {0.80, 0.33, 0.05}, {0.13, 0.50, 0.24}, {0.50, 0.22, 0.60}, {0.60, 0.45, 0.05}};
    size_t plotted = 0, shown = 0;
    for (size_t k = 0; k < watched->count; k++) {
        if (watched->row[k]->axis == NULL)
            continue;
        const double *colour = colours[plotted++ % (sizeof colours / sizeof *colours)];
        panels[shown] = (hw_panel){.frame = {.left = LEFT, .right = WIDTH - RIGHT},
                                   .row = watched->row[k],
                                   .metric = k,
                                   .red = colour[0],
                                   .green = colour[1],
                                   .blue = colour[2]};
        shown += fit(&panels[shown], samples, count);
    }
    return shown;
}

/* What a page shows. */
typedef struct run_plot {
    const char *title, *subtitle;
    const hw_watched *watched;
    const hw_sample *samples;
    size_t count;
} run_plot;

static void draw(cairo_t *cr, const void *what)
{
    const run_plot *plot = what;
    hw_panel panels[HAWSER_TRACED];
    hw_draw_title(cr, LEFT, plot->title, plot->subtitle);
    size_t shown = choose_panels(plot->watched, plot->samples, plot->count, panels);
    double top = TOP;
    for (size_t p = 0; p < shown; p++) {
        panels[p].frame.top = top;
        panels[p].frame.height = (HEIGHT - TOP - BOTTOM - BETWEEN * (double)(shown - 1)) / (double)shown;
        draw_panel(cr, &panels[p], plot->samples, plot->count, p + 1 == shown);
        top += panels[p].frame.height + BETWEEN;
    }
    if (shown == 0)
        hw_draw_text(cr, WIDTH / 2.0, HEIGHT / 2.0, 0.5, "no clock ended with a certificate");
}

hawser_status hw_plot_write(const char *path, const char *title, const char *subtitle, const hw_watched *watched,
                            const hw_sample *samples, size_t count, hawser_error *error)
{
    run_plot plot = {title, subtitle, watched, samples, count};
    return hw_draw_write(path, draw, &plot, error);
}
