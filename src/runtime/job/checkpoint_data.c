/*
 * checkpoint_data.c - digests of the data of a run, which the run that goes on must have as well.
 *
 * A digest is the sum over all numbers of a mixture of the number and its place in the whole, so it depends neither on the
 * number of nodes nor on whether columns or rows are side by side. It has the shape, too, and whether the numbers are
 * dense, which changes the bits of a training. Each node adds up what it was given when the data were dealt out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/layout.h"
#include "base/memory.h"
#include "base/option_value.h"
#include "base/type.h"
#include "data/residence.h"
#include "data/share/blocks.h"
#include "program/program.h"
#include "runtime/job/job.h"

/* --------------------------------------------------------------------------------------------------- what is here ---- */

/* Places of what is beside a matrix: a number per row of each kind, and one for the shape. */
static uint64_t place_beside(unsigned kind)
{
    return UINT64_MAX - ((uint64_t)(kind + 1) << 33);
}

static uint64_t number_at(const hawser_matrix *matrix, uint64_t at)
{
    double number =
        matrix->type == HAWSER_F32 ? (double)((const float *)matrix->values)[at] : ((const double *)matrix->values)[at];
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* Digests line `line` of a matrix whose first row is row `first` of a whole with `cols` columns. */
static uint64_t digest_of_line(const hawser_matrix *matrix, size_t line, uint64_t first, uint64_t cols)
{
    uint64_t sum = 0, width = hw_line_width(matrix), step = hw_is_by_row(matrix) ? 1 : cols;
    uint64_t place = hw_is_by_row(matrix) ? (first + line) * cols : first * cols + line;
    if (hw_is_dense(matrix)) {
        for (uint64_t k = 0; k < width; k++)
            sum += hw_digest_one(place + k * step, number_at(matrix, (uint64_t)line * matrix->stride + k));
        return sum;
    }
    for (uint64_t at = matrix->offsets[line]; at < matrix->offsets[line + 1]; at++)
        sum += hw_digest_one(place + matrix->indices[at] * step, number_at(matrix, at));
    return sum;
}

static uint64_t digest_of_lines(const hawser_matrix *matrix, uint64_t first)
{
    uint64_t sum = 0;
    for (size_t line = 0; line < hw_lines(matrix); line++)
        sum += digest_of_line(matrix, line, first, matrix->cols);
    return sum;
}

static uint64_t digest_of_shape(const hawser_matrix *matrix)
{
    const uint64_t shape[] = {matrix->rows, matrix->cols, matrix->stored, hw_is_dense(matrix), (uint64_t)matrix->type};
    return hw_digest_one(UINT64_MAX, hw_hash(shape, sizeof shape, 1));
}

static uint64_t digest_of_row_blocks(const struct hw_row_blocks *rows)
{
    uint64_t sum = 0;
    for (uint32_t b = 0; b < rows->view.blocks; b++)
        if (hw_row_block_here(rows, b))
            sum += digest_of_lines(&rows->block[b].matrix, rows->bounds[b]);
    return sum;
}

/* Digests the targets, weights and so on that are held by block. */
static uint64_t digest_beside_blocks(const struct hw_row_blocks *rows)
{
    uint64_t sum = 0;
    for (uint32_t b = 0; b < rows->view.blocks; b++)
        for (unsigned kind = 0; kind < HW_BESIDE_MOST && hw_row_block_here(rows, b); kind++)
            if (rows->block[b].beside[kind] != NULL)
                sum += hw_digest_64(rows->block[b].beside[kind], rows->block[b].matrix.rows,
                                    place_beside(kind) + rows->bounds[b]);
    return sum;
}

/* Digests what this node was given of a matrix. What every node has whole is counted by node 0. */
static uint64_t digest_of_matrix(const hawser_matrix *matrix, bool leads)
{
    const struct hawser_residence *residence = matrix->residence;
    uint64_t sum = leads ? digest_of_shape(matrix) : 0;
    if (residence != NULL && residence->rows != NULL)
        return sum + digest_of_row_blocks(residence->rows);
    if (residence == NULL)
        return leads ? sum + digest_of_lines(matrix, 0) : sum;
    for (size_t j = 0; j < matrix->cols; j++)
        if (hw_owner(&residence->owners, j) == residence->self)
            sum += digest_of_line(matrix, j, 0, matrix->cols);
    return sum;
}

static uint64_t digest_of_dataset(const hawser_dataset *dataset, bool leads)
{
    const hawser_matrix *matrix = hawser_dataset_matrix(dataset);
    uint64_t sum = digest_of_matrix(matrix, leads);
    if (matrix->residence != NULL && matrix->residence->rows != NULL)
        sum += digest_beside_blocks(matrix->residence->rows);
    for (unsigned kind = 0; kind < HW_BESIDE_MOST && leads; kind++)
        if (hw_dataset_beside_of(dataset, kind) != NULL)
            sum += hw_digest_64(hw_dataset_beside_of(dataset, kind), matrix->rows, place_beside(kind));
    return sum;
}

void hw_checkpoints_loaded(hawser_job *job, const hawser_dataset *dataset)
{
    hw_loaded_data *loaded = &job->loaded;
    if (dataset == NULL || !hw_job_identifies(job))
        return;
    loaded->failed |= HW_GROW(&loaded->digests, &loaded->capacity, loaded->count + 1, "digests of data", NULL) != HAWSER_OK;
    if (!loaded->failed)
        loaded->digests[loaded->count++] = digest_of_dataset(dataset, hawser_job_leads(job));
}

/* ------------------------------------------------------------------------------------------------------- the whole ---- */

/* Adds the digests of a program's data, also those that were in memory, to those of what was loaded. */
static hawser_status add_states(const hawser_job *job, const hawser_program *program, uint64_t **sums, size_t *count,
                                hawser_error *error)
{
    size_t most = job->loaded.count + program->state_count;
    *count = job->loaded.count;
    if (job->loaded.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for digests of data");
    HAWSER_TRY(HW_NEW(sums, most, "digests of data", error));
    if (*count > 0)
        memcpy(*sums, job->loaded.digests, *count * sizeof **sums);
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        if (state->kind == HW_DATA && state->matrix != NULL)
            (*sums)[(*count)++] = digest_of_matrix(state->matrix, hawser_job_leads(job));
    return HAWSER_OK;
}

/* Adds up the digests of all nodes. */
static hawser_status add_up(const hawser_job *job, const hw_bytes *in, uint64_t *sums, size_t count, hawser_error *error)
{
    for (uint32_t i = 0; i < hawser_job_nodes(job); i++) {
        if (in[i].length != count * sizeof *sums)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "node %u has loaded other data than this node: %zu digests there, %zu here, which "
                               "--checkpoint, --learn and files of decisions compare; load the same on all nodes",
                               i, in[i].length / sizeof *sums, count);
        for (size_t k = 0; k < count && i != hawser_job_node(job); k++) {
            uint64_t other;
            memcpy(&other, (const char *)in[i].data + k * sizeof other, sizeof other);
            sums[k] += other;
        }
    }
    return HAWSER_OK;
}

static hawser_status sum_of_nodes(const hawser_job *job, uint64_t *sums, size_t count, hawser_error *error)
{
    hw_bytes *in = NULL;
    if (job->cluster == NULL)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&in, hawser_job_nodes(job), "digests of data", error));
    hawser_status status = hw_cluster_allgather(job->cluster, (hw_bytes){(void *)sums, count * sizeof *sums}, in, error);
    if (status == HAWSER_OK)
        status = add_up(job, in, sums, count, error);
    hw_bytes_free(in, hawser_job_nodes(job));
    return status;
}

/* Returns whether a digest occurs before: a dataset was read, and then given to a training. */
static bool is_known(const uint64_t *sums, size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (sums[i] == sums[k])
            return true;
    return false;
}

static hawser_status write_lines(const hawser_job *job, const hawser_program *program, const uint64_t *sums, char **text,
                                 hawser_error *error)
{
    size_t length = 0, k = 0;
    FILE *out = open_memstream(text, &length);
    if (out == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for digests of data");
    fputs(job->depends != NULL ? job->depends : "", out);
    for (; k < job->loaded.count; k++)
        if (!is_known(sums, k))
            fprintf(out, "data = digest %016" PRIx64 "\n", sums[k]);
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        if (state->kind != HW_DATA || state->matrix == NULL)
            continue;
        fprintf(out, "data of state '%s' = digest %016" PRIx64 "\n", state->name, sums[k++]);
        const struct hw_row_blocks *rows = hw_state_rows_held(state);
        if (rows != NULL && rows->owned) /* the same nodes must have them */
            fprintf(out, "rows of state '%s' that stay on their nodes = cut %016" PRIx64 "\n", state->name,
                    hw_hash(rows->bounds, ((size_t)rows->view.blocks + 1) * sizeof *rows->bounds, 0));
    }
    bool bad = ferror(out) != 0;
    if (fclose(out) == 0 && !bad)
        return HAWSER_OK;
    free(*text);
    *text = NULL;
    return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for digests of data");
}

hawser_status hw_checkpoints_data(const hawser_job *job, const hawser_program *program, char **text, hawser_error *error)
{
    uint64_t *sums = NULL;
    size_t count = 0;
    *text = NULL;
    if (job->checkpoints == NULL && !hw_job_identifies(job))
        return HAWSER_OK;
    hawser_status status = hw_cluster_agree(job->cluster, add_states(job, program, &sums, &count, error), error);
    if (status == HAWSER_OK)
        status = hw_cluster_agree(job->cluster, sum_of_nodes(job, sums, count, error), error);
    if (status == HAWSER_OK)
        status = write_lines(job, program, sums, text, error);
    free(sums);
    return status;
}
