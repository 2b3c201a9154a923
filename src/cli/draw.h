/* draw.h - pages of plots, as SVG or PNG: their file, title, frames and axes. */
#ifndef HW_CLI_DRAW_H
#define HW_CLI_DRAW_H

#include <cairo.h>

#include "cli/cli.h"

enum { HW_PAGE_WIDTH = 960, HW_PAGE_HEIGHT = 720 };

/* A rectangle of the page and the range of its vertical axis. */
typedef struct hw_plot_frame {
    double left, right, top, height;
    double low, high; /* with a log axis, exponents of ten */
    bool log;
    char label[80];
} hw_plot_frame;

/* Draws `what` on a white page. */
typedef void hw_draw_function(cairo_t *cr, const void *what);

/* Draws a page and writes the file atomically. */
hawser_status hw_draw_write(const char *path, hw_draw_function *draw, const void *what, hawser_error *error) HAWSER_MUST_USE;

void hw_draw_title(cairo_t *cr, double x, const char *title, const char *subtitle);
/* Draws text at x, which is the text's left end (align 0), middle (0.5) or right end (1). */
void hw_draw_text(cairo_t *cr, double x, double y, double align, const char *text);
void hw_draw_line(cairo_t *cr, double x0, double y0, double x1, double y1);
void hw_draw_grid_line(cairo_t *cr, double x0, double y0, double x1, double y1);
void hw_draw_box(cairo_t *cr, const hw_plot_frame *frame);
/* Draws grid lines, their numbers and the label to the left of the frame. */
void hw_draw_y_axis(cairo_t *cr, const hw_plot_frame *frame);
/* Widens a range of values without a log axis so that no value is at its edge. */
void hw_plot_frame_widen(hw_plot_frame *frame);
double hw_y_at(const hw_plot_frame *frame, double value);
/* Returns 1, 2 or 5 times a power of ten such that the range has at most `most` steps. */
double hw_nice_step(double range, int most);

#endif
