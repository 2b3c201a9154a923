#include "cli/plot_path.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/draw.h"

enum {
    LEFT = 100,
    RIGHT = HW_PAGE_WIDTH - 170, /* labels of curves are to the right of it */
    TOP = 112,                   /* the numbers of columns are above it */
    BETWEEN = 30,
    BOTTOM = 64,
    NAMED = 10,   /* curves with a colour and a label */
    DRAWN = 300,  /* curves at most */
    LABEL = 17,   /* between two labels */
    LONGEST = 20, /* characters of a label */
    TICKS = 6,    /* marks of the horizontal axis between which lie fewer than two powers of ten */
    COUNTS_APART = 60
};

/* A column's coefficients along the path. */
typedef struct hw_curve {
    size_t column;
    double size;   /* the largest curves are drawn and named */
    double *value; /* by member; with several outputs, the norm over them */
} hw_curve;

typedef struct hw_path_plot {
    hawser_path path;
    char title[120], subtitle[240];
    hw_curve *curves;         /* the largest first */
    size_t curve_count, used; /* drawn; columns that are ever in the model */
    double *values;           /* of all curves */
    char label[NAMED][64];
} hw_path_plot;

/* ------------------------------------------------------------------------------------------------------ curves ---- */

static double value_at(const hawser_path *path, size_t place)
{
    double squares = 0.0;
    if (path->outputs == 1)
        return path->value[place];
    for (size_t k = 0; k < path->outputs; k++) {
        double value = path->value[k * (size_t)path->offsets[path->count] + place];
        squares += value * value;
    }
    return sqrt(squares);
}

static int larger_first(const void *a, const void *b)
{
    const hw_curve *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* Lists the columns that are ever in the model, ordered by the coefficient at the member that counts: the one with the least
 * error, else the last one. Columns that are zero there follow by their largest coefficient. */
static hawser_status list_curves(hw_path_plot *plot, hawser_error *error)
{
    const hawser_path *path = &plot->path;
    size_t counts = path->least < path->count ? path->least : path->count - 1;
    double *most = NULL, *there = NULL, largest = 0.0;
    hawser_status status = HW_NEW(&most, path->columns, "a plot", error);
    HAWSER_THEN(status, HW_NEW(&there, path->columns, "a plot", error));
    for (size_t k = 0; status == HAWSER_OK && k < path->count; k++)
        for (size_t at = (size_t)path->offsets[k]; at < (size_t)path->offsets[k + 1]; at++) {
            double size = fabs(value_at(path, at));
            most[path->index[at]] = fmax(most[path->index[at]], size);
            largest = fmax(largest, size);
            if (k == counts)
                there[path->index[at]] = size;
        }
    for (size_t j = 0; status == HAWSER_OK && j < path->columns; j++)
        plot->used += most[j] > 0.0;
    HAWSER_THEN(status, HW_NEW(&plot->curves, plot->used, "a plot", error));
    for (size_t j = 0, at = 0; status == HAWSER_OK && j < path->columns; j++)
        if (most[j] > 0.0)
            plot->curves[at++] =
                (hw_curve){.column = j, .size = there[j] > 0.0 ? 1.0 + there[j] / largest : most[j] / (2.0 * largest)};
    free(most);
    free(there);
    if (status == HAWSER_OK && plot->used > 1)
        qsort(plot->curves, plot->used, sizeof *plot->curves, larger_first);
    return status;
}

static int by_column(const void *a, const void *b)
{
    const hw_curve *const *x = a, *const *y = b;
    return (*x)->column < (*y)->column ? -1 : (*x)->column > (*y)->column;
}

static hawser_status fill_curves(hw_path_plot *plot, hawser_error *error)
{
    const hawser_path *path = &plot->path;
    hw_curve **sorted = NULL;
    plot->curve_count = plot->used < DRAWN ? plot->used : DRAWN;
    HAWSER_TRY(HW_NEW(&plot->values, plot->curve_count * path->count, "a plot", error));
    HAWSER_TRY(HW_NEW(&sorted, plot->curve_count, "a plot", error));
    for (size_t c = 0; c < plot->curve_count; c++) {
        plot->curves[c].value = plot->values + c * path->count;
        sorted[c] = &plot->curves[c];
    }
    if (plot->curve_count > 1)
        qsort(sorted, plot->curve_count, sizeof *sorted, by_column);
    for (size_t k = 0; k < path->count; k++) {
        size_t at = (size_t)path->offsets[k], end = (size_t)path->offsets[k + 1];
        for (size_t c = 0; c < plot->curve_count; c++) {
            while (at < end && (size_t)path->index[at] < sorted[c]->column)
                at++;
            if (at < end && (size_t)path->index[at] == sorted[c]->column)
                sorted[c]->value[k] = value_at(path, at);
        }
    }
    free(sorted);
    return HAWSER_OK;
}

/* Writes the names of the largest columns, or their numbers as the training's data count them. */
static hawser_status name_curves(hw_path_plot *plot, const hawser_model *model, hawser_error *error)
{
    hawser_schema *schema = NULL;
    HAWSER_TRY(hawser_model_schema(model, &schema, error));
    for (size_t c = 0; c < NAMED && c < plot->curve_count; c++) {
        char label[248], name[256];
        size_t cut = LONGEST - 2;
        (void)hawser_model_label(model, schema, plot->curves[c].column, label, sizeof label);
        bool number = label[strspn(label, "0123456789")] == '\0';
        (void)snprintf(name, sizeof name, "%s%s", number ? "column " : "", label);
        while (cut > 0 && ((unsigned char)name[cut] & 0xc0) == 0x80)
            cut--; /* not inside a character */
        if (strlen(name) > LONGEST)
            memcpy(name + cut, "...", 4);
        snprintf(plot->label[c], sizeof plot->label[c], "%.63s", name);
    }
    hawser_schema_free(schema);
    return HAWSER_OK;
}

/* ----------------------------------------------------------------------------------------------------- drawing ---- */

static void set_colour(cairo_t *cr, size_t curve)
{
    static const double colours[NAMED][3] = {{0.05, 0.36, 0.66}, {0.80, 0.33, 0.05}, {0.13, 0.50, 0.24}, {0.50, 0.22, 0.60},
                                             {0.72, 0.11, 0.20}, {0.35, 0.27, 0.20}, {0.00, 0.50, 0.55}, {0.60, 0.45, 0.05},
                                             {0.80, 0.25, 0.55}, {0.35, 0.38, 0.75}};
    if (curve < NAMED)
        cairo_set_source_rgb(cr, colours[curve][0], colours[curve][1], colours[curve][2]);
    else
        cairo_set_source_rgb(cr, 0.78, 0.80, 0.83);
    cairo_set_line_width(cr, curve < NAMED ? 1.8 : 1.0);
}

/* Returns the place of a value of the parameter: the first member is at the left. */
static double x_at(const hawser_path *path, double parameter)
{
    double first = log(path->parameter[0]), range = first - log(path->parameter[path->count - 1]);
    double inset = 0.02 * (RIGHT - LEFT), width = RIGHT - LEFT - 2 * inset;
    return range != 0.0 ? LEFT + inset + width * (first - log(parameter)) / range : (LEFT + RIGHT) / 2.0;
}

static void draw_mark(cairo_t *cr, const hw_path_plot *plot, const hw_plot_frame *frame, double parameter, bool labelled)
{
    char text[40];
    double x = x_at(&plot->path, parameter), bottom = frame->top + frame->height;
    if (x < LEFT || x > RIGHT)
        return;
    hw_draw_grid_line(cr, x, frame->top, x, bottom);
    snprintf(text, sizeof text, "%.4g", parameter);
    cairo_set_font_size(cr, 14);
    if (labelled)
        hw_draw_text(cr, x, bottom + 22, 0.5, text);
}

/* Draws marks at powers of ten, or between them too if there are few. */
static void draw_x_axis(cairo_t *cr, const hw_path_plot *plot, const hw_plot_frame *frame, bool labelled)
{
    static const double parts[] = {1, 2, 5};
    const hawser_path *path = &plot->path;
    double first = log10(path->parameter[0]), last = log10(path->parameter[path->count - 1]);
    double high = fmax(first, last), low = fmin(first, last);
    char text[120];
    int marks = 0;
    bool fine = high - low < 2.2, every = high - low < 14;
    for (int power = (int)floor(low) - 1; power <= (int)ceil(high) + 1; power++)
        for (size_t k = 0; k < (fine ? 3 : 1); k++) {
            double mark = parts[k] * pow(10, power), place = log10(mark);
            if (place < low - 1e-9 || place > high + 1e-9 || (!every && power % 5 != 0))
                continue;
            draw_mark(cr, plot, frame, mark, labelled);
            marks++;
        }
    if (marks < 2) {
        draw_mark(cr, plot, frame, path->parameter[0], labelled);
        if (path->count > 1 && high - low > 0.05)
            draw_mark(cr, plot, frame, path->parameter[path->count - 1], labelled);
    }
    snprintf(text, sizeof text, "%s (log scale)", path->name);
    cairo_set_font_size(cr, 15);
    if (labelled)
        hw_draw_text(cr, (LEFT + RIGHT) / 2.0, frame->top + frame->height + 48, 0.5, text);
}

/* Draws the numbers of columns in the model above the first frame. */
static void draw_counts(cairo_t *cr, const hw_path_plot *plot, const hw_plot_frame *frame)
{
    const hawser_path *path = &plot->path;
    double last = -INFINITY;
    cairo_set_source_rgb(cr, 0.38, 0.41, 0.46);
    cairo_set_font_size(cr, 12);
    hw_draw_text(cr, LEFT - 10, frame->top - 8, 1, "columns");
    for (size_t k = 0; k < path->count; k++) {
        char text[32];
        double x = x_at(path, path->parameter[k]);
        if (x - last < COUNTS_APART)
            continue;
        snprintf(text, sizeof text, "%" PRId64, path->offsets[k + 1] - path->offsets[k]);
        hw_draw_text(cr, x, frame->top - 8, 0.5, text);
        last = x;
    }
}

/* Draws a dashed line at a member, with its name inside the frame's upper edge. */
static void draw_choice(cairo_t *cr, const hw_path_plot *plot, const hw_plot_frame *frame, size_t member, const char *name,
                        double align)
{
    if (member >= plot->path.count)
        return;
    double x = x_at(&plot->path, plot->path.parameter[member]);
    cairo_save(cr);
    cairo_set_source_rgb(cr, 0.25, 0.28, 0.33);
    cairo_set_line_width(cr, 1.2);
    cairo_set_dash(cr, (const double[]){5, 4}, 2, 0);
    hw_draw_line(cr, x, frame->top, x, frame->top + frame->height);
    cairo_restore(cr);
    cairo_set_source_rgb(cr, 0.25, 0.28, 0.33);
    cairo_set_font_size(cr, 13);
    if (name != NULL)
        hw_draw_text(cr, x + (align > 0.5 ? -5 : 5), frame->top + 16, align, name);
}

/* The member of one standard error is to the left, so two names never meet. */
static void draw_choices(cairo_t *cr, const hw_path_plot *plot, const hw_plot_frame *frame, bool named)
{
    const hawser_path *path = &plot->path;
    bool one = path->least == path->one_se;
    if (!one)
        draw_choice(cr, plot, frame, path->one_se, named ? "1se" : NULL, 1);
    draw_choice(cr, plot, frame, path->least, named ? (one ? "min, 1se" : "min") : NULL, 0);
}

static void draw_errors(cairo_t *cr, const hw_path_plot *plot, hw_plot_frame *frame)
{
    const hawser_path *path = &plot->path;
    frame->low = INFINITY;
    frame->high = -INFINITY;
    for (size_t k = 0; k < path->count; k++) {
        double bar = path->standard_error != NULL ? path->standard_error[k] : 0.0;
        frame->low = fmin(frame->low, path->error[k] - bar);
        frame->high = fmax(frame->high, path->error[k] + bar);
    }
    hw_plot_frame_widen(frame);
    frame->high += 0.06 * (frame->high - frame->low); /* for the names of choices */
    draw_x_axis(cr, plot, frame, false);
    snprintf(frame->label, sizeof frame->label, "%s", path->error_name);
    hw_draw_y_axis(cr, frame);
    draw_choices(cr, plot, frame, true);
    for (size_t k = 0; k < path->count; k++) {
        double x = x_at(path, path->parameter[k]), y = hw_y_at(frame, path->error[k]);
        double bar = path->standard_error != NULL ? path->standard_error[k] : 0.0;
        double above = hw_y_at(frame, path->error[k] + bar), below = hw_y_at(frame, path->error[k] - bar);
        cairo_set_source_rgb(cr, 0.62, 0.65, 0.70);
        cairo_set_line_width(cr, 1);
        if (bar > 0.0) {
            hw_draw_line(cr, x, above, x, below);
            hw_draw_line(cr, x - 2.5, above, x + 2.5, above);
            hw_draw_line(cr, x - 2.5, below, x + 2.5, below);
        }
        cairo_set_source_rgb(cr, 0.72, 0.11, 0.20);
        cairo_new_path(cr);
        cairo_arc(cr, x, y, 2.6, 0, 2 * M_PI);
        cairo_fill(cr);
    }
    hw_draw_box(cr, frame);
}

/* Moves labels apart that would overlap, in the order of their curves' ends; y has the places, from top to bottom. */
static void spread(double *y, size_t count, double top, double bottom)
{
    for (size_t k = 1; k < count; k++)
        y[k] = fmax(y[k], y[k - 1] + LABEL);
    if (count > 0 && y[count - 1] > bottom) {
        y[count - 1] = bottom;
        for (size_t k = count - 1; k-- > 0;)
            y[k] = fmin(y[k], y[k + 1] - LABEL);
    }
    (void)top;
}

static void draw_labels(cairo_t *cr, const hw_path_plot *plot, const hw_plot_frame *frame)
{
    size_t count = plot->curve_count < NAMED ? plot->curve_count : NAMED, order[NAMED];
    double ends[NAMED] = {0}, y[NAMED];
    for (size_t c = 0; c < count; c++) {
        size_t at = c;
        double end = hw_y_at(frame, plot->curves[c].value[plot->path.count - 1]);
        for (; at > 0 && ends[at - 1] > end; at--) {
            ends[at] = ends[at - 1];
            order[at] = order[at - 1];
        }
        ends[at] = end;
        order[at] = c;
    }
    memcpy(y, ends, sizeof y);
    spread(y, count, frame->top + 6, frame->top + frame->height - 4);
    double edge = x_at(&plot->path, plot->path.parameter[plot->path.count - 1]);
    for (size_t k = 0; k < count; k++) {
        set_colour(cr, order[k]);
        cairo_set_line_width(cr, 0.8);
        cairo_move_to(cr, edge, ends[k]);
        cairo_line_to(cr, RIGHT + 2, ends[k]);
        cairo_line_to(cr, RIGHT + 14, y[k]);
        cairo_stroke(cr);
        cairo_set_font_size(cr, 12.5);
        hw_draw_text(cr, RIGHT + 18, y[k] + 4, 0, plot->label[order[k]]);
    }
}

static void draw_coefficients(cairo_t *cr, const hw_path_plot *plot, hw_plot_frame *frame)
{
    const hawser_path *path = &plot->path;
    frame->low = frame->high = 0.0;
    for (size_t k = 0; k < plot->curve_count * path->count; k++) {
        frame->low = fmin(frame->low, plot->values[k]);
        frame->high = fmax(frame->high, plot->values[k]);
    }
    hw_plot_frame_widen(frame);
    draw_x_axis(cr, plot, frame, true);
    snprintf(frame->label, sizeof frame->label, path->outputs > 1 ? "norm of coefficients" : "coefficients");
    hw_draw_y_axis(cr, frame);
    cairo_set_source_rgb(cr, 0.55, 0.58, 0.63);
    hw_draw_line(cr, LEFT, hw_y_at(frame, 0.0), RIGHT, hw_y_at(frame, 0.0));
    for (size_t c = plot->curve_count; c-- > 0;) {
        set_colour(cr, c);
        cairo_new_path(cr);
        for (size_t k = 0; k < path->count; k++)
            cairo_line_to(cr, x_at(path, path->parameter[k]), hw_y_at(frame, plot->curves[c].value[k]));
        cairo_stroke(cr);
        if (path->count == 1) {
            cairo_arc(cr, x_at(path, path->parameter[0]), hw_y_at(frame, plot->curves[c].value[0]), 2.6, 0, 2 * M_PI);
            cairo_fill(cr);
        }
    }
    draw_choices(cr, plot, frame, false);
    draw_labels(cr, plot, frame);
    hw_draw_box(cr, frame);
}

static void draw(cairo_t *cr, const void *what)
{
    const hw_path_plot *plot = what;
    bool errors = plot->path.error != NULL;
    double height = HW_PAGE_HEIGHT - TOP - BOTTOM;
    hw_plot_frame frame = {.left = LEFT, .right = RIGHT, .top = TOP, .height = errors ? (height - BETWEEN) / 2 : height};
    hw_draw_title(cr, LEFT, plot->title, plot->subtitle);
    draw_counts(cr, plot, &frame);
    if (errors) {
        draw_errors(cr, plot, &frame);
        frame.top += frame.height + BETWEEN;
    }
    draw_coefficients(cr, plot, &frame);
}

/* -------------------------------------------------------------------------------------------------------- page ---- */

static size_t add_choice(const hw_path_plot *plot, size_t member, const char *name, char *text, size_t size)
{
    const hawser_path *path = &plot->path;
    if (member >= path->count)
        return 0;
    int length = snprintf(text, size, "; %s %.4g: error %.4g, %" PRId64 " columns", name, path->parameter[member],
                          path->error[member], path->offsets[member + 1] - path->offsets[member]);
    return length > 0 && (size_t)length < size ? (size_t)length : 0;
}

static void write_titles(hw_path_plot *plot, const hawser_model *model)
{
    const hawser_path *path = &plot->path;
    const char *rows = hawser_model_text(model, "rows"), *algorithm = hawser_model_text(model, "algorithm");
    snprintf(plot->title, sizeof plot->title, "%s, path of %zu values of %s", algorithm, path->count, path->name);
    int length =
        snprintf(plot->subtitle, sizeof plot->subtitle, "%s rows, %zu columns", rows != NULL ? rows : "?", path->columns);
    size_t at = length > 0 ? (size_t)length : 0;
    at += add_choice(plot, path->one_se, "1se", plot->subtitle + at, sizeof plot->subtitle - at);
    at += add_choice(plot, path->least, "min", plot->subtitle + at, sizeof plot->subtitle - at);
    if (plot->used > DRAWN && path->error == NULL)
        snprintf(plot->subtitle + at, sizeof plot->subtitle - at, "; the %d largest of %zu curves", DRAWN, plot->used);
}

static const hawser_algorithm *algorithm_of(const hawser_model *model)
{
    const hawser_algorithm *algorithm = hawser_algorithm_find(hawser_model_text(model, "algorithm"));
    return algorithm != NULL && algorithm->path != NULL ? algorithm : NULL;
}

hawser_status hw_plot_has_path(const hawser_model *model, bool *has, hawser_error *error)
{
    const hawser_algorithm *algorithm = algorithm_of(model);
    hawser_path path;
    hawser_error own = {0};
    *has = algorithm != NULL && algorithm->path(algorithm, model, &path, &own) == HAWSER_OK;
    return own.status == HAWSER_OK || own.status == HAWSER_BAD_OPTION ? HAWSER_OK
                                                                      : hawser_fail(error, own.status, "%.600s", own.text);
}

hawser_status hw_plot_path_write(const char *path, const hawser_model *model, hawser_error *error)
{
    const hawser_algorithm *algorithm = algorithm_of(model);
    hw_path_plot plot = {.curves = NULL};
    if (algorithm == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "models of this algorithm have no path to draw");
    HAWSER_TRY(algorithm->path(algorithm, model, &plot.path, error));
    hawser_status status = list_curves(&plot, error);
    HAWSER_THEN(status, fill_curves(&plot, error));
    HAWSER_THEN(status, name_curves(&plot, model, error));
    if (status == HAWSER_OK) {
        write_titles(&plot, model);
        status = hw_draw_write(path, draw, &plot, error);
    }
    free(plot.curves);
    free(plot.values);
    return status;
}
