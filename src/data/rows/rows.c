#include "data/rows/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/memory.h"
#include "data/exposure.h"
#include "data/formats.h"
#include "data/layout/assemble.h"
#include "data/load.h"

/* ---- an input that is loaded as a whole ---- */

static hawser_status next_whole(hawser_rows *rows, hw_rows_slot *slot, hawser_piece *piece, bool *more, hawser_error *error)
{
    (void)slot, (void)error;
    pthread_mutex_lock(&rows->lock);
    *more = rows->own != NULL && !rows->stopped;
    piece->data = *more ? rows->own : NULL;
    rows->own = NULL;
    pthread_mutex_unlock(&rows->lock);
    return HAWSER_OK;
}

static void close_whole(hawser_rows *rows)
{
    hawser_dataset_free(rows->own);
}

static hawser_status load_whole(hawser_rows *rows, const char *const *paths, size_t count, const char *why,
                                hawser_error *error)
{
    static const hw_rows_kind kind = {.next = next_whole, .close = close_whole};
    hawser_dataset *dataset;
    if (rows->load.id != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--id %.100s: the rows of %s have no text to print, because it is loaded as a whole: %s",
                           rows->load.id, rows->reading.input.files[0].name, why);
    rows->loaded = why;
    hawser_status status = hw_load_opened(&rows->reading, paths, count, &rows->load, &dataset, error);
    memset(&rows->reading, 0, sizeof rows->reading);
    HAWSER_TRY(status);
    rows->figures = *hawser_dataset_figures(dataset);
    rows->own = dataset;
    rows->kind = &kind;
    return HAWSER_OK;
}

/* ---- opening ---- */

/* The formats that can be read in pieces; a cache is found by its first bytes. */
static const struct {
    hawser_format format;
    hawser_status (*open)(hawser_rows *rows, const char **why, hawser_error *error);
} in_pieces[] = {{HAWSER_SVMLIGHT, hw_rows_svmlight},
                 {HAWSER_CSV, hw_rows_csv},
                 {HAWSER_DOCUMENTS, hw_rows_documents},
                 {HAWSER_NPY, hw_rows_npy}};

bool hw_rows_wants(const char *spec)
{
    return spec != NULL && strcmp(spec, "none") != 0;
}

const char *hw_rows_sides(const hawser_load *load, unsigned char *roles, size_t width)
{
    bool measured = !load->target_optional, found[HW_OFFSET + 1] = {false};
    for (size_t j = 0; j < width; j++) {
        if (roles[j] == HW_WEIGHTS && !measured)
            roles[j] = HW_IGNORED;
        if (roles[j] <= HW_OFFSET)
            found[roles[j]] = true;
    }
    if (hw_rows_wants(hw_load_offset(load)) && !found[HW_OFFSET])
        return "its offset is in a file of its own";
    if (measured && hw_rows_wants(load->weights) && !found[HW_WEIGHTS])
        return "its weights are in a file of its own";
    return measured && hw_rows_wants(load->target) && !found[HW_TARGET] ? "its target is in a file of its own" : NULL;
}

/* A row of svmlight without entries looks like CSV of one column. For a model with an index base and more columns it can
 * only be the former. */
static hawser_format bare_rows(const hawser_rows *rows, hawser_format found)
{
    const hw_input_file *file = &rows->reading.input.files[0];
    if (rows->load.format != HAWSER_GUESS || found != HAWSER_CSV || rows->load.index_base == 0 || rows->load.columns < 2 ||
        file->map != NULL)
        return found;
    for (size_t i = 0; i < file->head_used; i++)
        if (strchr(",;\"", file->head[i]) != NULL || ((file->head[i] == ' ' || file->head[i] == '\t') &&
                                                      i + 1 < file->head_used && strchr("\r\n", file->head[i + 1]) == NULL))
            return found;
    return HAWSER_SVMLIGHT;
}

static hawser_status open_format(hawser_rows *rows, const char *const *paths, size_t count, hawser_error *error)
{
    hawser_format format;
    const char *why = "this format cannot be read in pieces";
    HAWSER_TRY(hw_load_format(&rows->reading, &format, error));
    format = bare_rows(rows, format);
    rows->figures.format = format;
    rows->figures.index_base = -1;
    for (size_t i = 0; i < sizeof in_pieces / sizeof *in_pieces; i++)
        if (in_pieces[i].format == format) {
            why = NULL;
            if (rows->load.names != NULL)
                why = "the names of its columns are in a file (--names)";
            else
                HAWSER_TRY(in_pieces[i].open(rows, &why, error));
        }
    if (why != NULL)
        return load_whole(rows, paths, count, why, error);
    if (rows->load.id != NULL && format != HAWSER_CSV)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--id %.100s: %s is %s input, whose rows have no text to print",
                           rows->load.id, rows->reading.input.files[0].name, hw_format_name(format));
    return HAWSER_OK;
}

static hawser_status open_input(hawser_rows *rows, const char *const *paths, size_t count, hawser_error *error)
{
    hw_input *input = &rows->reading.input;
    HAWSER_TRY(hw_input_open(input, paths, count, &rows->reading.budget, error));
    if (!hw_load_is_cache(&rows->reading, &rows->load)) {
        hw_input_share(input, 1, rows->piece_bytes);
        input->eager = true;
        input->stop = rows->stop[0];
        return open_format(rows, paths, count, error);
    }
    if (input->count > 1)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: a cache is one file, and %zu were given", paths[0], input->count);
    rows->figures.format = HAWSER_CACHE;
    if (rows->load.id != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--id %.100s: %s is a cache, whose rows have no text to print",
                           rows->load.id, input->files[0].name);
    return hw_rows_cache(rows, error);
}

static hawser_status make(const hawser_load *load, size_t piece_bytes, hawser_rows **rows, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(rows, 1, "a reader of rows", error));
    hawser_rows *r = *rows;
    r->load = *load;
    r->load.rows_layout = 1;
    r->stop[0] = r->stop[1] = -1;
    uint64_t bytes = (uint64_t)load->columns * 4;
    bytes = bytes < HW_ROWS_PIECE ? HW_ROWS_PIECE : bytes > HW_ROWS_PIECE_MOST ? HW_ROWS_PIECE_MOST : bytes;
    r->piece_bytes = piece_bytes != 0 ? piece_bytes : (size_t)bytes;
    hw_load_begin(&r->reading, &r->load, load->memory_limit, false);
    pthread_mutex_init(&r->cutting, NULL); /* which cannot fail on Linux */
    pthread_mutex_init(&r->lock, NULL);
    if (pipe(r->stop) != 0)
        return hawser_fail(error, HAWSER_IO, "cannot make a pipe: %s", strerror(errno));
    for (int k = 0; k < 2; k++)
        (void)fcntl(r->stop[k], F_SETFD, FD_CLOEXEC);
    return HAWSER_OK;
}

hawser_status hw_rows_open(const char *const *paths, size_t count, const hawser_load *load, size_t piece_bytes,
                           hawser_rows **rows, hawser_error *error)
{
    *rows = NULL;
    HAWSER_TRY(hw_load_check(paths, count, load, error));
    if (load->columns == 0 || load->parts > 1)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "hawser_load: rows are read for a model, whose `columns` must be set, and without `parts`");
    hawser_rows *made = NULL;
    hawser_status status = make(load, piece_bytes, &made, error);
    HAWSER_THEN(status, hw_load_cancelled(&made->reading.input, open_input(made, paths, count, error), error));
    if (status != HAWSER_OK) {
        hawser_rows_close(made);
        return status;
    }
    *rows = made;
    return HAWSER_OK;
}

hawser_status hawser_rows_open(const char *const *paths, size_t count, const hawser_load *load, hawser_rows **rows,
                               hawser_error *error)
{
    HW_GIVEN(paths);
    HW_GIVEN(load);
    HW_GIVEN(rows);
    return hw_rows_open(paths, count, load, 0, rows, error);
}

void hawser_rows_close(hawser_rows *rows)
{
    if (rows == NULL)
        return;
    if (rows->kind != NULL && rows->kind->close != NULL)
        rows->kind->close(rows);
    for (hw_rows_slot *slot = rows->slots, *next; slot != NULL; slot = next) {
        next = slot->next;
        hw_chunk_release(&rows->reading.input, &slot->chunk);
        free(slot->bytes);
        free(slot);
    }
    hw_csv_free(&rows->csv);
    hw_text_end(&rows->text);
    hw_reading_free(&rows->reading);
    for (int k = 0; k < 2; k++)
        if (rows->stop[k] >= 0)
            (void)close(rows->stop[k]);
    pthread_mutex_destroy(&rows->cutting);
    pthread_mutex_destroy(&rows->lock);
    free(rows->unseen);
    free(rows);
}

/* ---- pieces ---- */

void hw_rows_reading(const hawser_rows *rows, hw_reading *reading)
{
    *reading = (hw_reading){
        .load = &rows->load,
        .input = {.files = rows->reading.input.files, .count = rows->reading.input.count, .readers = 1, .sequence = 1},
        .threads = 1};
    hw_budget_init(&reading->budget, rows->reading.budget.limit);
    reading->budget.cancellation = rows->reading.budget.cancellation;
}

hawser_status hw_rows_dataset(const hawser_rows *rows, hawser_dataset **dataset, hawser_error *error)
{
    HAWSER_TRY(hw_dataset_new(dataset, error));
    (*dataset)->figures.format = rows->figures.format;
    return HAWSER_OK;
}

static hawser_status take_slot(hawser_rows *rows, hw_rows_slot **slot, hawser_error *error)
{
    pthread_mutex_lock(&rows->lock);
    *slot = rows->slots;
    if (*slot != NULL)
        rows->slots = (*slot)->next;
    pthread_mutex_unlock(&rows->lock);
    return *slot != NULL ? HAWSER_OK : HW_NEW(slot, 1, "a piece of the input", error);
}

hawser_status hawser_rows_next(hawser_rows *rows, hawser_piece *piece, bool *more, hawser_error *error)
{
    HW_GIVEN(rows);
    HW_GIVEN(piece);
    HW_GIVEN(more);
    hw_rows_slot *slot;
    *piece = (hawser_piece){0};
    *more = false;
    HAWSER_TRY(take_slot(rows, &slot, error));
    hawser_status status = rows->kind->next(rows, slot, piece, more, error);
    status = hw_load_cancelled(&rows->reading.input, status, error);
    pthread_mutex_lock(&rows->lock);
    slot->next = rows->slots;
    rows->slots = slot;
    pthread_mutex_unlock(&rows->lock);
    return status;
}

void hawser_rows_stop(hawser_rows *rows)
{
    if (rows == NULL)
        return;
    pthread_mutex_lock(&rows->lock);
    bool first = !rows->stopped;
    rows->stopped = true;
    pthread_mutex_unlock(&rows->lock);
    if (!first || rows->reading.input.files == NULL)
        return;
    (void)!write(rows->stop[1], "", 1);
    hw_input_stop(&rows->reading.input);
}

const char *hawser_rows_loaded(const hawser_rows *rows)
{
    return rows != NULL ? rows->loaded : NULL;
}

const char *hawser_rows_id(const hawser_rows *rows)
{
    return rows != NULL && rows->csv.id != 0 && rows->csv.rules.names != NULL ? rows->csv.rules.names[rows->csv.id - 1]
                                                                              : NULL;
}

void hawser_rows_figures(hawser_rows *rows, hawser_load_figures *figures)
{
    if (rows == NULL || figures == NULL)
        return;
    pthread_mutex_lock(&rows->lock);
    *figures = rows->figures;
    pthread_mutex_unlock(&rows->lock);
    figures->rows_read = NULL;
}
