/* checkpoint_data.c - digests of the data that a run has loaded, which the run that goes on must have as well. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/layout.h"
#include "base/option_value.h"
#include "base/type.h"
#include "hawser/data.h"
#include "runtime/job/job.h"

static uint64_t digest_of_matrix(const hawser_matrix *matrix, uint64_t digest)
{
    const uint64_t shape[] = {matrix->rows, matrix->cols, matrix->stored, (uint64_t)matrix->layout, (uint64_t)matrix->type};
    size_t lines = hw_lines(matrix), size = hw_type_size(matrix->type);
    digest = hw_hash(shape, sizeof shape, digest);
    for (size_t j = 0; hw_is_dense(matrix) && j < lines; j++)
        digest = hw_hash((const char *)matrix->values + j * matrix->stride * size, hw_line_width(matrix) * size, digest);
    if (hw_is_dense(matrix) || lines == 0)
        return digest;
    uint64_t first = matrix->offsets[0], count = matrix->offsets[lines] - first;
    digest = hw_hash(matrix->offsets, (lines + 1) * sizeof *matrix->offsets, digest);
    if (count == 0)
        return digest;
    digest = hw_hash(matrix->indices + first, count * sizeof *matrix->indices, digest);
    return hw_hash((const char *)matrix->values + first * size, count * size, digest);
}

uint64_t hw_checkpoints_digest(const hawser_matrix *matrix)
{
    return digest_of_matrix(matrix, 0);
}

static uint64_t digest_of(const hawser_dataset *dataset)
{
    size_t rows = hawser_dataset_matrix(dataset)->rows;
    uint64_t digest = digest_of_matrix(hawser_dataset_matrix(dataset), 0);
    const double *const vectors[] = {hawser_dataset_target(dataset), hawser_dataset_weights(dataset),
                                     hawser_dataset_offset(dataset), hawser_dataset_groups(dataset)};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        if (vectors[i] != NULL)
            digest = hw_hash(vectors[i], rows * sizeof *vectors[i], digest + i + 1);
    for (size_t k = 1; k < hawser_dataset_outputs(dataset); k++)
        if (hawser_dataset_output(dataset, k) != NULL)
            digest = hw_hash(hawser_dataset_output(dataset, k), rows * sizeof(double), digest);
    return digest;
}

void hw_checkpoints_loaded(hawser_job *job, const hawser_dataset *dataset)
{
    char *text = NULL, line[40];
    if (dataset == NULL || job->cluster != NULL || hawser_options_text(job->options, "checkpoint") == NULL)
        return;
    (void)snprintf(line, sizeof line, "data = digest %016llx\n", (unsigned long long)digest_of(dataset));
    if (job->loaded != NULL && strstr(job->loaded, line) != NULL)
        return; /* it was read, and then given to a training */
    if (asprintf(&text, "%s%s", job->loaded != NULL ? job->loaded : "", line) < 0)
        return;
    free(job->loaded);
    job->loaded = text;
}
