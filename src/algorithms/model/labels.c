#include "algorithms/model/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/model/numbers.h"
#include "algorithms/model/unit.h"

/* What the unit reads. */
typedef struct label_search {
    const hawser_dataset *data;
    size_t most;
} label_search;

size_t hw_labels_place(const double *labels, size_t count, double label)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (labels[middle] < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && labels[low] == label ? low : count;
}

/* Sorts numbers and keeps one of each. */
static size_t sort_out(double *numbers, size_t count)
{
    size_t kept = 0;
    qsort(numbers, count, sizeof *numbers, hw_smaller_first);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || numbers[i] != numbers[kept - 1])
            numbers[kept++] = numbers[i];
    return kept;
}

/* Collects the block's different targets, in memory for 2 (most + 2) numbers. */
static size_t collect(const hawser_beside *beside, size_t most, double *numbers)
{
    size_t count = 0;
    for (size_t i = 0; i < beside->count; i++) {
        if (beside->weights != NULL && !(beside->weights[i] > 0.0))
            continue;
        if (count > 0 && numbers[count - 1] == beside->target[i])
            continue;
        numbers[count++] = beside->target[i] + 0.0;
        if (count == 2 * (most + 2))
            count = sort_out(numbers, count);
        if (count == 2 * (most + 2))
            count = most + 2; /* more than any answer needs */
    }
    return sort_out(numbers, count);
}

size_t hw_labels_count(const hawser_dataset *data, size_t most)
{
    hawser_beside beside;
    hawser_error error;
    double *numbers = calloc(2 * (most + 2), sizeof *numbers);
    size_t rows = hawser_dataset_matrix(data)->rows, count = 0;
    if (numbers != NULL && hawser_dataset_beside(data, 0, rows, &beside, &error) == HAWSER_OK && beside.target != NULL)
        count = collect(&beside, most, numbers);
    free(numbers);
    return count < most ? count : most;
}

/* Agrees on the labels one by one, and writes their number and them into the state "labels". */
static hawser_status agree(hawser_context *context, const double *own, size_t count, double *all)
{
    const label_search *s = hawser_user(context);
    size_t found = 0, at = 0, first = 0;
    while (found <= s->most) {
        double next = at < count ? own[at] : INFINITY;
        HAWSER_TRY(hawser_allreduce(context, &next, 1, HAWSER_MIN));
        if (isinf(next))
            break;
        all[++found] = next;
        at += at < count && own[at] == next;
    }
    all[0] = (double)found;
    size_t share = hawser_part(context, "labels", &first);
    HAWSER_WRITE(context, double, labels);
    if (share > 0)
        memcpy(labels, all + first, share * sizeof *all);
    return HAWSER_OK;
}

static hawser_status find(hawser_context *context)
{
    const label_search *s = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, X);
    hawser_beside beside;
    HW_UNIT_TRY(context, hawser_dataset_beside(s->data, X->first, X->rows, &beside, &error));
    double *own = calloc(3 * (s->most + 2), sizeof *own), *all = own + 2 * (s->most + 2);
    if (own == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %zu labels", s->most);
    hawser_status status = agree(context, own, collect(&beside, s->most, own), all);
    free(own);
    return status;
}

static hawser_status take(const hawser_run *run, size_t most, double **labels, size_t *count, hawser_error *error)
{
    const double *found;
    HAWSER_TRY(hawser_result(run, "labels", &found, NULL, error));
    *count = (size_t)found[0];
    *labels = calloc(most + 2, sizeof **labels);
    if (*labels == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu labels", most);
    memcpy(*labels, found + 1, *count * sizeof **labels);
    return HAWSER_OK;
}

hawser_status hw_labels_check(const double *labels, size_t count, hawser_error *error)
{
    for (size_t k = 0; k < count; k++)
        if (fabs(labels[k]) >= 0x1p53)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "the label %.17g is not below 2^53, and other whole numbers are rounded to it as well; CSV, "
                               "svmlight and .npy "
                               "files keep labels of 64 bits apart; else number the classes from 0",
                               labels[k]);
    return HAWSER_OK;
}

/* Refuses a target without classes to tell apart. A target of words has the numbers of words as labels. */
static hawser_status check_two(const hawser_dataset *data, const double *labels, size_t count, hawser_error *error)
{
    if (count == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "all example weights are 0: no row counts");
    if (count > 1)
        return HAWSER_OK;
    HAWSER_TRY(hw_labels_check(labels, count, error)); /* labels that were rounded to one are no single label */
    char label[80];
    size_t words = 0;
    const char *const *word = hawser_schema_target(hawser_dataset_schema(data), &words);
    if (word != NULL && labels[0] < (double)words)
        (void)snprintf(label, sizeof label, "'%.60s'", word[(size_t)labels[0]]);
    else
        (void)snprintf(label, sizeof label, "%g", labels[0]);
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "all examples with a weight above 0 have the label %s: a classifier needs two (--target says where "
                       "labels are)",
                       label);
}

hawser_status hw_labels_find(hawser_job *job, const hawser_dataset *data, size_t most, double **labels, size_t *count,
                             hawser_error *error)
{
    label_search s = {data, most};
    hawser_run *run = NULL;
    hawser_program *program = hawser_program_new("labels", &s);
    hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = hawser_dataset_matrix(data), .split = HAWSER_BY_ROW);
    hawser_state *out = HAWSER_STATE(program, "labels", HAWSER_PARTITIONED, .rows = most + 2);
    HAWSER_UNIT(hawser_root(program), "find", find, .reads = {X}, .updates = {out}, .reduces = 1);
    hawser_observe(job, NULL, NULL);
    hawser_status status = hawser_run_program(job, program, &run, error);
    hawser_program_free(program);
    if (status == HAWSER_STOP)
        status = hawser_fail(error, HAWSER_STOP, "the training ended before its classes were known; no model is kept");
    HAWSER_THEN(status, take(run, most, labels, count, error));
    hawser_run_free(run);
    HAWSER_THEN(status, hw_labels_check(*labels, *count, error));
    return status == HAWSER_OK ? check_two(data, *labels, *count, error) : status;
}
