/* write_rows.c - writes numbers that belong to rows held by block into one file, in the order of the rows. The nodes compute
 * them piece by piece, and node 0 writes them, so no node has more than a piece. */
#include <math.h>
#include <stdlib.h>

#include "base/argument.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/residence.h"
#include "data/share/blocks.h"
#include "hawser/job_data.h"
#include "runtime/input/loading.h"

enum { PIECE = 1 << 17 }; /* numbers */

typedef struct row_file {
    hw_loading l;                       /* what the nodes agree by */
    const struct hw_row_blocks *blocks; /* NULL: one node has all rows */
    const char *path;
    size_t width; /* numbers per row */
    hawser_row_numbers *numbers;
    void *user;
    double *values; /* of a piece */
    hw_file file;   /* on node 0 */
} row_file;

static hawser_status fill_piece(const row_file *w, size_t first, size_t count, hawser_error *error)
{
    for (size_t i = 0; i < count * w->width; i++)
        w->values[i] = (double)NAN; /* a number that is left out is noticed */
    hawser_status status = w->numbers(first, count, w->values, w->user);
    if (status != HAWSER_OK)
        return hawser_fail(error, status, "%s: the numbers of rows %zu to %zu could not be made", w->path, first,
                           first + count);
    for (size_t i = 0; i < count * w->width; i++)
        if (!isfinite(w->values[i]))
            return hawser_fail(error, HAWSER_NOT_FINITE, "%s: number %zu of row %zu is not finite", w->path, i % w->width,
                               first + i / w->width);
    return HAWSER_OK;
}

static hawser_status write_piece(row_file *w, const double *values, size_t count, hawser_error *error)
{
    for (size_t i = 0; i < count * w->width; i++) {
        char text[32];
        size_t length = hawser_print_number(text, sizeof text - 1, values[i]);
        text[length] = (i + 1) % w->width == 0 ? '\n' : ',';
        HAWSER_TRY(hw_file_write(&w->file, text, length + 1, error));
    }
    return HAWSER_OK;
}

/* Sends a piece from its node to node 0. *in is from malloc, with an item per node. */
static hawser_status send_piece(row_file *w, bool here, size_t count, hw_bytes **in, hawser_error *error)
{
    hw_bytes *out = NULL;
    hawser_status status = HW_NEW(&out, w->l.nodes, "a piece of rows", error);
    HAWSER_THEN(status, HW_NEW(in, w->l.nodes, "a piece of rows", error));
    status = hw_loading_agree(&w->l, status, error);
    if (status == HAWSER_OK) {
        out[0] = (hw_bytes){here ? w->values : NULL, here ? count * w->width * sizeof *w->values : 0};
        status = hw_loading_alltoall(&w->l, out, *in, error);
    }
    free(out);
    return status;
}

/* Makes rows of a block on its node and writes them on node 0. *written is the outcome on this node, which the nodes compare
 * before the next piece. */
static hawser_status do_piece(row_file *w, uint32_t node, size_t first, size_t count, hawser_status *written,
                              hawser_error *error)
{
    bool here = node == w->l.self;
    hw_bytes *in = NULL;
    hawser_status status = *written;
    if (status == HAWSER_OK && here)
        status = fill_piece(w, first, count, error);
    HAWSER_TRY(hw_loading_agree(&w->l, status, error));
    status = send_piece(w, here, count, &in, error);
    if (status == HAWSER_OK && w->l.self == 0) {
        bool whole = in[node].length == count * w->width * sizeof(double);
        *written = whole ? write_piece(w, in[node].data, count, error)
                         : hawser_fail(error, HAWSER_INTERNAL, "node %u sent a piece of another size", node);
    }
    if (in != NULL)
        hw_bytes_free(in, w->l.nodes);
    return status;
}

static hawser_status do_blocks(row_file *w, const size_t *cut, uint32_t blocks, hawser_status *written, hawser_error *error)
{
    size_t most = PIECE / w->width;
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t node = w->blocks != NULL ? hw_view_node(&w->blocks->view, b) : 0;
        for (size_t first = cut[b], count; first < cut[b + 1]; first += count) {
            count = cut[b + 1] - first < most ? cut[b + 1] - first : most;
            HAWSER_TRY(do_piece(w, node, first, count, written, error));
        }
    }
    return HAWSER_OK;
}

static hawser_status write_all(row_file *w, const size_t *cut, uint32_t blocks, hawser_error *error)
{
    hawser_status status = HW_NEW(&w->values, PIECE, "a piece of rows", error), written = HAWSER_OK;
    if (status == HAWSER_OK && w->l.self == 0)
        status = hw_file_begin(&w->file, w->path, error);
    status = hw_loading_agree(&w->l, status, error);
    HAWSER_THEN(status, do_blocks(w, cut, blocks, &written, error));
    HAWSER_THEN(status, hw_loading_agree(&w->l, written, error));
    if (status == HAWSER_OK && w->l.self == 0)
        status = hw_file_commit(&w->file, error);
    else
        hw_file_abort(&w->file);
    free(w->values);
    return status;
}

hawser_status hawser_job_write_rows(hawser_job *job, const hawser_dataset *dataset, const char *path, size_t width,
                                    hawser_row_numbers *numbers, void *user, hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(dataset);
    HW_GIVEN(path);
    HW_GIVEN(numbers);
    uint32_t blocks;
    const size_t *cut = hawser_dataset_cut(dataset, &blocks);
    if (cut == NULL)
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "hawser_job_write_rows: the dataset was not loaded by row; load it by hawser_job_load with split = "
            "HAWSER_BY_ROW");
    if (width == 0 || width > PIECE)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "hawser_job_write_rows: %zu numbers per row; from 1 to %d are written", width, PIECE);
    row_file w = {
        .l = hw_loading_of(job, NULL), .path = path, .width = width, .numbers = numbers, .user = user, .file = {.fd = -1}};
    w.blocks = dataset->residence != NULL ? dataset->residence->rows : NULL;
    hw_job_cancellable(job, NULL);
    hawser_status status = write_all(&w, cut, blocks, error);
    return hw_job_uncancellable(job, hw_loading_agree(&w.l, status, error));
}
