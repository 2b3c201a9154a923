#include "cli/plot.h"

#include <cairo-svg.h>
#include <cairo.h>
#include <math.h>
#include <string.h>

#include "base/file.h"

enum { WIDTH = 960, HEIGHT = 720, LEFT = 100, RIGHT = 40, TOP = 86, BETWEEN = 34, BOTTOM = 64, SCALE = 2, MOST_TICKS = 20 };

/* One panel: a rectangle of the page and the ranges that its axes show. */
typedef struct hw_panel {
    double top, height;
    double x_high, low, high; /* x starts at 0; with a log axis low and high are exponents of ten */
    const hawser_metric_row *row;
    size_t metric; /* its index in the list of watched metrics */
    bool log;
    char label[80];
    double red, green, blue;
} hw_panel;

typedef struct hw_sink {
    hw_file file;
    hawser_error *error;
    hawser_status status;
} hw_sink;

static cairo_status_t write_bytes(void *closure, const unsigned char *data, unsigned int length)
{
    hw_sink *to = closure;
    if (to->status == HAWSER_OK)
        to->status = hw_file_write(&to->file, data, length, to->error);
    return to->status == HAWSER_OK ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static bool ends_with(const char *path, const char *extension)
{
    size_t length = strlen(path), n = strlen(extension);
    return length > n && strcmp(path + length - n, extension) == 0;
}

hawser_status hw_plot_check(const char *path, hawser_error *error)
{
    if (path == NULL || ends_with(path, ".svg") || ends_with(path, ".png"))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION, "--plot: '%s' should end with .svg or .png", path);
}

/* --------------------------------------------------------------------------------------------------- drawing ---- */

static double value_of(const hw_panel *panel, const hw_sample *sample)
{
    double value = sample->value[panel->metric];
    return panel->log ? (value > 0 ? log10(value) : NAN) : value;
}

static double x_at(const hw_panel *panel, double seconds)
{
    return LEFT + seconds / panel->x_high * (WIDTH - LEFT - RIGHT);
}

static double y_at(const hw_panel *panel, double value)
{
    return panel->top + panel->height * (1 - (value - panel->low) / (panel->high - panel->low));
}

/* Returns 1, 2 or 5 times a power of ten such that the range has at most `most` steps. */
static double nice_step(double range, int most)
{
    double step = pow(10, floor(log10(range / most)));
    if (range / step > 5 * most)
        return step * 10;
    return range / step > 2 * most ? step * 5 : range / step > most ? step * 2 : step;
}

static void text_at(cairo_t *cr, double x, double y, double align, const char *text)
{
    cairo_text_extents_t extents;
    cairo_text_extents(cr, text, &extents);
    cairo_move_to(cr, x - align * extents.x_advance, y);
    cairo_show_text(cr, text);
}

static void line(cairo_t *cr, double x0, double y0, double x1, double y1)
{
    cairo_move_to(cr, x0, y0);
    cairo_line_to(cr, x1, y1);
    cairo_stroke(cr);
}

static void grid_line(cairo_t *cr, double x0, double y0, double x1, double y1)
{
    cairo_set_source_rgb(cr, 0.90, 0.91, 0.93);
    cairo_set_line_width(cr, 1);
    line(cr, x0, y0, x1, y1);
    cairo_set_source_rgb(cr, 0.30, 0.33, 0.38);
}

/* Draws 10 with the exponent above it in smaller digits. */
static void power_label(cairo_t *cr, double x, double y, int exponent)
{
    char text[16];
    cairo_text_extents_t extents;
    snprintf(text, sizeof text, "%d", exponent);
    cairo_set_font_size(cr, 10);
    cairo_text_extents(cr, text, &extents);
    cairo_move_to(cr, x - extents.x_advance, y - 5);
    cairo_show_text(cr, text);
    cairo_set_font_size(cr, 14);
    text_at(cr, x - extents.x_advance - 1, y, 1, "10");
}

static void draw_y_axis(cairo_t *cr, const hw_panel *panel)
{
    double step = panel->log ? fmax(1, ceil((panel->high - panel->low) / 7)) : nice_step(panel->high - panel->low, 6);
    double first = ceil(panel->low / step - 1e-9), last = floor(panel->high / step + 1e-9);
    int decimals = (int)fmax(0, -floor(log10(step) + 1e-9));
    int digits = 1 + (int)fmax(2, floor(log10(fmax(fabs(first), fabs(last)))));
    for (int i = 0; i <= MOST_TICKS && first + i <= last; i++) {
        char text[40];
        double v = (first + i) * step, y = y_at(panel, v);
        grid_line(cr, LEFT, y, WIDTH - RIGHT, y);
        cairo_set_font_size(cr, 14);
        snprintf(text, sizeof text, decimals <= 6 ? "%.*f" : "%.*g", decimals <= 6 ? decimals : digits, v);
        if (panel->log)
            power_label(cr, LEFT - 10, y + 5, (int)lround(v));
        else
            text_at(cr, LEFT - 10, y + 5, 1, text);
    }
    cairo_save(cr);
    cairo_set_font_size(cr, 15);
    cairo_translate(cr, 26, panel->top + panel->height / 2);
    cairo_rotate(cr, -M_PI / 2);
    text_at(cr, 0, 0, 0.5, panel->label);
    cairo_restore(cr);
}

static void draw_x_axis(cairo_t *cr, const hw_panel *panel, bool labels)
{
    double bottom = panel->top + panel->height, step = nice_step(panel->x_high, 10);
    int decimals = (int)fmax(0, -floor(log10(step) + 1e-9));
    cairo_set_font_size(cr, 14);
    for (double v = 0; v <= panel->x_high * (1 + 1e-9); v += step) {
        char text[40];
        grid_line(cr, x_at(panel, v), panel->top, x_at(panel, v), bottom);
        snprintf(text, sizeof text, "%.*f", decimals, v);
        if (labels)
            text_at(cr, x_at(panel, v), bottom + 22, 0.5, text);
    }
    cairo_set_font_size(cr, 15);
    if (labels)
        text_at(cr, LEFT + (WIDTH - LEFT - RIGHT) / 2.0, bottom + 48, 0.5, "time of training (s)");
}

static void draw_curve(cairo_t *cr, const hw_panel *panel, const hw_sample *samples, size_t count)
{
    cairo_set_source_rgb(cr, panel->red, panel->green, panel->blue);
    cairo_set_line_width(cr, 2.2);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    cairo_new_path(cr);
    for (size_t i = 0; i < count; i++)
        if (isfinite(value_of(panel, &samples[i])))
            cairo_line_to(cr, x_at(panel, samples[i].seconds), y_at(panel, value_of(panel, &samples[i])));
    cairo_stroke(cr);
    for (size_t i = 0; i < count; i++)
        if (isfinite(value_of(panel, &samples[i])) && (count <= 60 || i + 1 == count)) {
            cairo_arc(cr, x_at(panel, samples[i].seconds), y_at(panel, value_of(panel, &samples[i])), 3.2, 0, 2 * M_PI);
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
    panel->log = panel->row->log_axis || (low > 0 && isfinite(low) && high > 20 * low);
    snprintf(panel->label, sizeof panel->label, panel->log ? "%s (log scale)" : "%s", panel->row->axis);
}

/* Chooses the ranges of a panel's axes. Returns false if no sample has a value for it. */
static bool fit(hw_panel *panel, const hw_sample *samples, size_t count)
{
    choose_scale(panel, samples, count);
    panel->low = INFINITY;
    panel->high = -INFINITY;
    panel->x_high = 0;
    for (size_t i = 0; i < count; i++) {
        double value = value_of(panel, &samples[i]);
        panel->x_high = fmax(panel->x_high, samples[i].seconds);
        if (isfinite(value)) {
            panel->low = fmin(panel->low, value);
            panel->high = fmax(panel->high, value);
        }
    }
    if (!(panel->high >= panel->low))
        return false;
    if (!(panel->x_high > 0))
        panel->x_high = 1e-3;
    panel->x_high *= 1.02;
    if (panel->log) {
        panel->low = floor(panel->low);
        panel->high = fmax(ceil(panel->high), panel->low + 1);
    } else {
        double size = fmax(fabs(panel->low), fabs(panel->high)), range = panel->high - panel->low;
        double margin = range > 0 ? range * 0.06 : fmax(size * 0.05, 1e-12);
        margin = fmax(margin, fmax(size * 1e-7, 1e-300)); /* values that differ by a few bits are one line on any axis */
        panel->low -= margin;
        panel->high += margin;
    }
    return true;
}

static void draw_panel(cairo_t *cr, const hw_panel *panel, const hw_sample *samples, size_t count, bool labels)
{
    draw_x_axis(cr, panel, labels);
    draw_y_axis(cr, panel);
    cairo_set_source_rgb(cr, 0.55, 0.58, 0.63);
    cairo_set_line_width(cr, 1.2);
    cairo_rectangle(cr, LEFT, panel->top, WIDTH - LEFT - RIGHT, panel->height);
    cairo_stroke(cr);
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
        panels[shown] =
            (hw_panel){.row = watched->row[k], .metric = k, .red = colour[0], .green = colour[1], .blue = colour[2]};
        shown += fit(&panels[shown], samples, count);
    }
    return shown;
}

static void draw(cairo_t *cr, const char *title, const char *subtitle, const hw_watched *watched, const hw_sample *samples,
                 size_t count)
{
    hw_panel panels[HAWSER_TRACED];
    cairo_set_source_rgb(cr, 1, 1, 1);
    cairo_paint(cr);
    cairo_set_source_rgb(cr, 0.10, 0.12, 0.16);
    cairo_select_font_face(cr, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_BOLD);
    cairo_set_font_size(cr, 21);
    text_at(cr, LEFT, 38, 0, title);
    cairo_select_font_face(cr, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_source_rgb(cr, 0.38, 0.41, 0.46);
    cairo_set_font_size(cr, 14);
    text_at(cr, LEFT, 64, 0, subtitle);
    size_t shown = choose_panels(watched, samples, count, panels);
    double top = TOP;
    for (size_t p = 0; p < shown; p++) {
        panels[p].top = top;
        panels[p].height = (HEIGHT - TOP - BOTTOM - BETWEEN * (double)(shown - 1)) / (double)shown;
        draw_panel(cr, &panels[p], samples, count, p + 1 == shown);
        top += panels[p].height + BETWEEN;
    }
    if (shown == 0)
        text_at(cr, WIDTH / 2.0, HEIGHT / 2.0, 0.5, "no clock ended with a certificate");
}

static hawser_status render(hw_sink *to, bool svg, const char *title, const char *subtitle, const hw_watched *watched,
                            const hw_sample *samples, size_t count)
{
    cairo_surface_t *surface = svg ? cairo_svg_surface_create_for_stream(write_bytes, to, WIDTH, HEIGHT)
                                   : cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH * SCALE, HEIGHT * SCALE);
    cairo_t *cr = cairo_create(surface);
    if (!svg)
        cairo_scale(cr, SCALE, SCALE);
    draw(cr, title, subtitle, watched, samples, count);
    cairo_status_t drawn = cairo_status(cr);
    cairo_destroy(cr);
    if (drawn == CAIRO_STATUS_SUCCESS && !svg)
        drawn = cairo_surface_write_to_png_stream(surface, write_bytes, to);
    cairo_surface_finish(surface);
    if (drawn == CAIRO_STATUS_SUCCESS)
        drawn = cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    if (drawn != CAIRO_STATUS_SUCCESS && to->status == HAWSER_OK)
        to->status = hawser_fail(to->error, drawn == CAIRO_STATUS_NO_MEMORY ? HAWSER_NO_MEMORY : HAWSER_INTERNAL,
                                 "cannot draw the plot: %s", cairo_status_to_string(drawn));
    return to->status;
}

hawser_status hw_plot_write(const char *path, const char *title, const char *subtitle, const hw_watched *watched,
                            const hw_sample *samples, size_t count, hawser_error *error)
{
    hw_sink to = {.error = error};
    HAWSER_TRY(hw_file_begin(&to.file, path, error));
    hawser_status status = render(&to, ends_with(path, ".svg"), title, subtitle, watched, samples, count);
    if (status == HAWSER_OK)
        status = hw_file_commit(&to.file, error);
    hw_file_abort(&to.file);
    return status;
}
