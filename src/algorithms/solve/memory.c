#include "algorithms/solve/memory.h"

#include <stdlib.h>

bool hw_linear_prepared_visit(hawser_record *record, hawser_context *context, bool prepared, uint32_t *fold,
                              hawser_status (*prepare)(hawser_context *context, uint32_t fold, hawser_error *error))
{
    hawser_error error = {0};
    HW_LINEAR_REMEMBER(record, prepared);
    HW_LINEAR_REMEMBER(record, *fold);
    if (!prepared || !hawser_record_reads(record) || prepare(context, *fold, &error) == HAWSER_OK)
        return prepared;
    hawser_record_fail(record, error.status, error.text);
    return false;
}

/* Visits a list of columns, which has place for all of them. */
static void visit_list(hawser_record *record, uint32_t *list, size_t *count, size_t columns)
{
    HW_LINEAR_REMEMBER(record, *count);
    if (*count > columns) {
        *count = 0;
        hawser_record_fail(record, HAWSER_BAD_INPUT, "a record has a scan of other data");
        return;
    }
    hawser_record_bytes(record, list, *count * sizeof *list);
    for (size_t k = 0; k < *count; k++)
        if (list[k] >= columns) {
            *count = 0;
            hawser_record_fail(record, HAWSER_BAD_INPUT, "a record has a scan of other data");
            return;
        }
}

void hw_linear_scan_visit(hawser_record *record, hw_linear_scan *scan, const hawser_matrix *X)
{
    hawser_record_bytes(record, scan->gradient,
                        2 * X->cols * sizeof *scan->gradient); /* with reference_gradient behind it */
    hawser_record_bytes(record, scan->screened, 2 * X->cols * sizeof *scan->screened); /* with `exact` */
    if (hawser_record_reads(record))
        hw_linear_scan_copy(scan, X->rows);
    hawser_record_bytes(record, scan->reference_dual, X->rows * sizeof *scan->reference_dual);
    hawser_record_bytes(record, scan->dual, X->rows * sizeof *scan->dual);
    HW_LINEAR_REMEMBER(record, scan->screened_at);
    HW_LINEAR_REMEMBER(record, scan->referenced);
    HW_LINEAR_REMEMBER(record, scan->wasted);
    HW_LINEAR_REMEMBER(record, scan->far);
    HW_LINEAR_REMEMBER(record, scan->live_far);
    HW_LINEAR_REMEMBER(record, scan->live_lambda);
    visit_list(record, scan->live, &scan->live_count, X->cols);
    visit_list(record, scan->computed, &scan->computed_count, X->cols);
    scan->screened_count = 0;
    for (size_t j = 0; j < X->cols; j++)
        scan->screened_count += scan->screened[j];
}

/* Allocates the matrix with the old capacity, on which it depends when columns are dropped. */
static bool make_gram(hawser_record *record, hw_linear_gram *gram, size_t columns)
{
    if (gram->count > columns || gram->count > gram->capacity || gram->capacity > 2 * columns + 32) {
        hawser_record_fail(record, HAWSER_BAD_INPUT, "a record has a Gram matrix of other data");
        return false;
    }
    gram->values = malloc((gram->capacity * gram->capacity + 1) * sizeof *gram->values);
    gram->keep = malloc(gram->capacity + 1);
    if (gram->values != NULL && gram->keep != NULL)
        return true;
    hawser_record_fail(record, HAWSER_NO_MEMORY, "no memory to read a Gram matrix back");
    return false;
}

static bool give_slots(hawser_record *record, hw_linear_gram *gram, size_t columns)
{
    for (size_t s = 0; s < gram->count; s++) {
        if (gram->columns[s] >= columns) {
            hawser_record_fail(record, HAWSER_BAD_INPUT, "a record has a Gram matrix of other data");
            return false;
        }
        gram->slot[gram->columns[s]] = (uint32_t)s;
    }
    return true;
}

void hw_linear_gram_visit(hawser_record *record, hw_linear_gram *gram, size_t columns)
{
    bool reads = hawser_record_reads(record);
    HW_LINEAR_REMEMBER(record, gram->count);
    HW_LINEAR_REMEMBER(record, gram->capacity);
    HW_LINEAR_REMEMBER(record, gram->whole);
    bool sound = !reads || make_gram(record, gram, columns);
    hawser_record_bytes(record, gram->columns, gram->count * sizeof *gram->columns);
    sound = sound && (!reads || give_slots(record, gram, columns));
    if (!sound)
        gram->count = 0;
    for (size_t s = 0; s < gram->count; s++)
        hawser_record_bytes(record, gram->values + s * gram->capacity, gram->count * sizeof *gram->values);
}

void hw_linear_members_visit(hawser_record *record, hw_linear_members *members)
{
    hawser_error error = {0};
    size_t count = members->count;
    HW_LINEAR_REMEMBER(record, count);
    if (hawser_record_reads(record) && hw_linear_members_reserve(members, count, &error) != HAWSER_OK) {
        hawser_record_fail(record, error.status, error.text);
        return;
    }
    members->count = count;
    hawser_record_bytes(record, members->columns, count * sizeof *members->columns);
    hawser_record_bytes(record, members->terms, count * sizeof *members->terms);
}

void hw_linear_accelerator_visit(hawser_record *record, hw_linear_accelerator *accelerator)
{
    HW_LINEAR_REMEMBER(record, accelerator->rows);
    HW_LINEAR_REMEMBER(record, accelerator->capacity);
    hawser_record_array(record, (void **)&accelerator->residuals, sizeof *accelerator->residuals,
                        (HW_LINEAR_HISTORY + 1) * (accelerator->rows + 1), 0);
    hawser_record_array(record, (void **)&accelerator->alphas, sizeof *accelerator->alphas,
                        (HW_LINEAR_HISTORY + 2) * accelerator->capacity, 0);
}

void hw_linear_shared_visit(hawser_record *record, void *object)
{
    hw_linear_shared *shared = object;
    size_t columns = shared->columns;
    bool used = shared->mean != NULL;
    hawser_error error = {0};
    HW_LINEAR_REMEMBER(record, shared->step);
    HW_LINEAR_REMEMBER(record, shared->taken);
    HW_LINEAR_REMEMBER(record, shared->use_gram);
    HW_LINEAR_REMEMBER(record, shared->fresh);
    if (hawser_record_reads(record)) {
        free(shared->image);
        shared->image = NULL;
    }
    HW_LINEAR_REMEMBER(record, shared->rows);
    hawser_record_array(record, (void **)&shared->image, sizeof *shared->image, shared->rows, 0);
    HW_LINEAR_REMEMBER(record, used);
    HW_LINEAR_REMEMBER(record, columns);
    if (!used)
        return;
    if (hawser_record_reads(record) && hw_linear_shared_renew(shared, columns, &error) != HAWSER_OK) {
        hawser_record_fail(record, error.status, error.text);
        return;
    }
    hawser_record_bytes(record, shared->mean, 2 * columns * sizeof *shared->mean); /* with `norm` behind it */
    HW_LINEAR_REMEMBER(record, shared->gram.most);
    HW_LINEAR_REMEMBER(record, shared->gram.epochs);
    HW_LINEAR_REMEMBER(record, shared->gram.rounds);
    hw_linear_gram_visit(record, &shared->gram, columns);
    hw_linear_gram_show(&shared->gram);
}
