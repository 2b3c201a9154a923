#include "cli/draw.h"

#include <cairo-svg.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "cli/plot_check.h"

enum { SCALE = 2, MOST_TICKS = 20, LABEL_BEYOND = 16 };

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

hawser_status hw_plot_check(const char *option, const char *path, hawser_error *error)
{
    if (path == NULL || ends_with(path, ".svg") || ends_with(path, ".png"))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION, "--%s: '%s' should end with .svg or .png", option, path);
}

static hawser_status render(hw_sink *to, bool svg, hw_draw_function *draw, const void *what)
{
    cairo_surface_t *surface =
        svg ? cairo_svg_surface_create_for_stream(write_bytes, to, HW_PAGE_WIDTH, HW_PAGE_HEIGHT)
            : cairo_image_surface_create(CAIRO_FORMAT_RGB24, HW_PAGE_WIDTH * SCALE, HW_PAGE_HEIGHT * SCALE);
    cairo_t *cr = cairo_create(surface);
    if (!svg)
        cairo_scale(cr, SCALE, SCALE);
    cairo_set_source_rgb(cr, 1, 1, 1);
    cairo_paint(cr);
    draw(cr, what);
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

hawser_status hw_draw_write(const char *path, hw_draw_function *draw, const void *what, hawser_error *error)
{
    hw_sink to = {.error = error};
    HAWSER_TRY(hw_file_begin(&to.file, path, error));
    hawser_status status = render(&to, ends_with(path, ".svg"), draw, what);
    HAWSER_THEN(status, hw_file_commit(&to.file, error));
    hw_file_abort(&to.file);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- parts ---- */

double hw_y_at(const hw_plot_frame *frame, double value)
{
    return frame->top + frame->height * (1 - (value - frame->low) / (frame->high - frame->low));
}

void hw_plot_frame_widen(hw_plot_frame *frame)
{
    double size = fmax(fabs(frame->low), fabs(frame->high)), range = frame->high - frame->low;
    double margin = range > 0 ? range * 0.06 : fmax(size * 0.05, 1e-12);
    margin = fmax(margin, fmax(size * 1e-7, 1e-300)); /* values that differ by a few bits are one line on any axis */
    frame->low -= margin;
    frame->high += margin;
}

void hw_draw_title(cairo_t *cr, double x, const char *title, const char *subtitle)
{
    cairo_set_source_rgb(cr, 0.10, 0.12, 0.16);
    cairo_select_font_face(cr, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_BOLD);
    cairo_set_font_size(cr, 21);
    hw_draw_text(cr, x, 38, 0, title);
    cairo_select_font_face(cr, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_source_rgb(cr, 0.38, 0.41, 0.46);
    cairo_set_font_size(cr, 14);
    hw_draw_text(cr, x, 64, 0, subtitle);
}

void hw_draw_box(cairo_t *cr, const hw_plot_frame *frame)
{
    cairo_set_source_rgb(cr, 0.55, 0.58, 0.63);
    cairo_set_line_width(cr, 1.2);
    cairo_rectangle(cr, frame->left, frame->top, frame->right - frame->left, frame->height);
    cairo_stroke(cr);
}

double hw_nice_step(double range, int most)
{
    double step = pow(10, floor(log10(range / most)));
    if (range / step > 5 * most)
        return step * 10;
    return range / step > 2 * most ? step * 5 : range / step > most ? step * 2 : step;
}

void hw_draw_text(cairo_t *cr, double x, double y, double align, const char *text)
{
    cairo_text_extents_t extents;
    cairo_text_extents(cr, text, &extents);
    cairo_move_to(cr, x - align * extents.x_advance, y);
    cairo_show_text(cr, text);
}

void hw_draw_line(cairo_t *cr, double x0, double y0, double x1, double y1)
{
    cairo_move_to(cr, x0, y0);
    cairo_line_to(cr, x1, y1);
    cairo_stroke(cr);
}

void hw_draw_grid_line(cairo_t *cr, double x0, double y0, double x1, double y1)
{
    cairo_set_source_rgb(cr, 0.90, 0.91, 0.93);
    cairo_set_line_width(cr, 1);
    hw_draw_line(cr, x0, y0, x1, y1);
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
    hw_draw_text(cr, x - extents.x_advance - 1, y, 1, "10");
}

void hw_draw_y_axis(cairo_t *cr, const hw_plot_frame *frame)
{
    double step = frame->log ? fmax(1, ceil((frame->high - frame->low) / 7)) : hw_nice_step(frame->high - frame->low, 6);
    double first = ceil(frame->low / step - 1e-9), last = floor(frame->high / step + 1e-9);
    int decimals = (int)fmax(0, -floor(log10(step) + 1e-9));
    int digits = 1 + (int)fmax(2, floor(log10(fmax(fabs(first), fabs(last)))));
    for (int i = 0; i <= MOST_TICKS && first + i <= last; i++) {
        char text[40];
        double v = (first + i) * step, y = hw_y_at(frame, v);
        hw_draw_grid_line(cr, frame->left, y, frame->right, y);
        cairo_set_font_size(cr, 14);
        snprintf(text, sizeof text, decimals <= 6 ? "%.*f" : "%.*g", decimals <= 6 ? decimals : digits, v);
        if (frame->log)
            power_label(cr, frame->left - 10, y + 5, (int)lround(v));
        else
            hw_draw_text(cr, frame->left - 10, y + 5, 1, text);
    }
    cairo_save(cr);
    cairo_text_extents_t extents;
    cairo_set_font_size(cr, 15);
    cairo_text_extents(cr, frame->label, &extents);
    if (extents.x_advance > frame->height + LABEL_BEYOND) /* of many frames: neither label reaches the next */
        cairo_set_font_size(cr, 15 * (frame->height + LABEL_BEYOND) / extents.x_advance);
    cairo_translate(cr, frame->left - 74, frame->top + frame->height / 2);
    cairo_rotate(cr, -M_PI / 2);
    hw_draw_text(cr, 0, 0, 0.5, frame->label);
    cairo_restore(cr);
}
