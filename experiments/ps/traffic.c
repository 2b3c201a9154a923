/*
 * traffic.c - measures the bytes of sparse logistic regression by mini-batches over the store API:
 *
 *     experiment_traffic FILE EPOCHS BATCH caching|plain L1 exact|bf16|f16|int8|kkt
 *
 * The servers store the weights and take a proximal step (L1) for each push. Batches are the same in every epoch, so that
 * lists of keys repeat; `plain` gives the store no memory to recognise them. Pushes are sent exactly, rounded, or through
 * the store's KKT filter. The program prints one line of JSON. It runs alone or under `hawser run`, where every node takes
 * its share of the batches.
 */
#include <hawser/store.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../curve.h"

typedef struct batch {
    uint64_t *keys;
    float *weights, *gradient;
    uint32_t *place; /* of each entry, among the keys */
    size_t count, begin, end;
} batch;

typedef struct task {
    hawser_dataset *data;
    uint64_t *offsets; /* by rows */
    uint32_t *columns;
    double *values;
    batch *batches;
    size_t batch_count;
} task;

static hawser_status by_rows(task *t, hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(t->data);
    t->offsets = calloc(X->rows + 2, sizeof *t->offsets);
    t->columns = calloc(X->stored + 1, sizeof *t->columns);
    t->values = calloc(X->stored + 1, sizeof *t->values);
    if (t->offsets == NULL || t->columns == NULL || t->values == NULL || X->layout != HAWSER_CSC || X->type != HAWSER_F64)
        return hawser_fail(error, HAWSER_BAD_INPUT, "want sparse data that fit the memory");
    for (uint64_t k = 0; k < X->stored; k++)
        t->offsets[X->indices[k] + 2]++;
    for (size_t i = 0; i < X->rows; i++)
        t->offsets[i + 2] += t->offsets[i + 1];
    for (size_t j = 0; j < X->cols; j++)
        for (uint64_t k = X->offsets[j]; k < X->offsets[j + 1]; k++) {
            uint64_t to = t->offsets[X->indices[k] + 1]++;
            t->columns[to] = (uint32_t)j;
            t->values[to] = ((const double *)X->values)[k];
        }
    return HAWSER_OK;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static hawser_status make_batch(task *t, batch *b, hawser_error *error)
{
    size_t first = t->offsets[b->begin], entries = t->offsets[b->end] - first;
    b->keys = calloc(entries + 1, sizeof *b->keys);
    b->weights = calloc(entries + 1, sizeof *b->weights);
    b->gradient = calloc(entries + 1, sizeof *b->gradient);
    b->place = calloc(entries + 1, sizeof *b->place);
    if (b->keys == NULL || b->weights == NULL || b->gradient == NULL || b->place == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a batch");
    for (size_t k = 0; k < entries; k++)
        b->keys[k] = t->columns[first + k];
    qsort(b->keys, entries, sizeof *b->keys, by_value);
    for (size_t k = 0; k < entries; k++)
        if (b->count == 0 || b->keys[b->count - 1] != b->keys[k])
            b->keys[b->count++] = b->keys[k];
    for (size_t k = 0; k < entries; k++) {
        uint64_t key = t->columns[first + k];
        b->place[k] = (uint32_t)((uint64_t *)bsearch(&key, b->keys, b->count, sizeof key, by_value) - b->keys);
    }
    return HAWSER_OK;
}

/* Returns the mean loss on the batch and computes its gradient. */
static double differentiate(const task *t, batch *b)
{
    const double *y = hawser_dataset_target(t->data);
    size_t first = t->offsets[b->begin];
    double loss = 0, rows = (double)(b->end - b->begin);
    memset(b->gradient, 0, b->count * sizeof *b->gradient);
    for (size_t i = b->begin; i < b->end; i++) {
        double margin = 0, sign = y[i] > 0 ? 1 : -1;
        for (uint64_t k = t->offsets[i]; k < t->offsets[i + 1]; k++)
            margin += (double)b->weights[b->place[k - first]] * t->values[k];
        margin *= sign;
        loss += (margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin) / rows;
        for (uint64_t k = t->offsets[i]; k < t->offsets[i + 1]; k++)
            b->gradient[b->place[k - first]] -= (float)(sign * t->values[k] / (1 + exp(margin)) / rows);
    }
    return loss;
}

/* The forms of pushes, besides that through the filter. */
static const char *const forms[] = {
    [HAWSER_EXACT] = "exact", [HAWSER_AS_BF16] = "bf16", [HAWSER_AS_F16] = "f16", [HAWSER_AS_INT8] = "int8"};
enum { FORMS = sizeof forms / sizeof *forms };

static hawser_status choose_form(const char *word, hawser_table *table, hawser_error *error)
{
    for (int form = 0; form < FORMS; form++)
        if (strcmp(word, forms[form]) == 0) {
            table->rounding = (hawser_form)form;
            return HAWSER_OK;
        }
    table->filter = "kkt";
    return strcmp(word, "kkt") == 0
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_ARGUMENT, "'%s' is not one of exact|bf16|f16|int8|kkt", word);
}

static hawser_status train(hawser_store *store, task *t, double epochs, double l1, const char *form, hawser_job *job,
                           double *loss, hawser_error *error)
{
    uint32_t w;
    uint64_t number;
    hawser_table table = {.name = "w",
                          .type = HAWSER_F32,
                          .last = hawser_dataset_matrix(t->data)->cols - 1,
                          .function = "proximal",
                          .parameters = {2.0, l1, 0, -INFINITY, INFINITY}};
    HAWSER_TRY(choose_form(form, &table, error));
    HAWSER_TRY(hawser_store_table(store, &table, &w, error));
    for (size_t step = 0; step < (size_t)epochs * t->batch_count; step++) {
        batch *b = &t->batches[step % t->batch_count];
        if (step % t->batch_count % hawser_job_nodes(job) != hawser_job_node(job))
            continue;
        if (step % t->batch_count == hawser_job_node(job))
            *loss = 0;
        hawser_request request = {.table = w, .keys = b->keys, .count = b->count, .out = b->weights};
        HAWSER_TRY(hawser_pull(store, &request, &number, error));
        HAWSER_TRY(hawser_store_wait(store, number, error));
        *loss += differentiate(t, b) * hawser_job_nodes(job) / (double)t->batch_count;
        request = (hawser_request){.table = w, .keys = b->keys, .count = b->count, .values = b->gradient};
        HAWSER_TRY(hawser_push(store, &request, &number, error));
        HAWSER_TRY(hawser_store_wait(store, number, error));
    }
    return hawser_store_wait_all(store, error);
}

static hawser_status prepare(task *t, char **argv, double batch_rows, hawser_error *error)
{
    HAWSER_TRY(hawser_dataset_load((const char *const *)&argv[1], 1, &(hawser_load){0}, &t->data, error));
    HAWSER_TRY(by_rows(t, error));
    size_t rows = hawser_dataset_matrix(t->data)->rows;
    t->batch_count = (rows + (size_t)batch_rows - 1) / (size_t)batch_rows;
    t->batches = calloc(t->batch_count, sizeof *t->batches);
    if (t->batches == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu batches", t->batch_count);
    for (size_t k = 0; k < t->batch_count; k++) {
        batch *b = &t->batches[k];
        b->begin = k * (size_t)batch_rows;
        b->end = b->begin + (size_t)batch_rows < rows ? b->begin + (size_t)batch_rows : rows;
        HAWSER_TRY(make_batch(t, b, error));
    }
    return HAWSER_OK;
}

static void release(task *t)
{
    for (size_t k = 0; t->batches != NULL && k < t->batch_count; k++) {
        free(t->batches[k].keys);
        free(t->batches[k].weights);
        free(t->batches[k].gradient);
        free(t->batches[k].place);
    }
    free(t->batches);
    free(t->offsets);
    free(t->columns);
    free(t->values);
    hawser_dataset_free(t->data);
}

static hawser_status run(hawser_job *job, char **argv, hawser_error *error)
{
    task t = {0};
    hawser_store *store = NULL;
    double epochs, rows, l1, loss = 0;
    const hawser_store_options options = {.list_bytes = strcmp(argv[4], "caching") == 0 ? 0 : 1};
    HAWSER_TRY(curve_number(argv[2], 1e6, &epochs, error));
    HAWSER_TRY(curve_number(argv[3], 1e6, &rows, error));
    HAWSER_TRY(curve_number(argv[5], 1e6, &l1, error));
    hawser_status status = prepare(&t, argv, rows, error);
    if (status == HAWSER_OK)
        status = hawser_store_open(job, &options, &store, error);
    if (status == HAWSER_OK)
        status = train(store, &t, epochs, l1, argv[6], job, &loss, error);
    hawser_store_figures f = {0};
    if (status == HAWSER_OK)
        hawser_store_figures_of(store, &f);
    hawser_store_close(store);
    if (status == HAWSER_OK && hawser_job_leads(job))
        printf("{\"loss\": %.9g, \"messages\": %llu, \"plain\": %llu, \"sent\": %llu, \"received\": %llu, \"known\": %llu, "
               "\"held\": %llu}\n",
               loss, (unsigned long long)f.messages, (unsigned long long)f.bytes_plain, (unsigned long long)f.bytes_sent,
               (unsigned long long)f.bytes_received, (unsigned long long)f.lists_known, (unsigned long long)f.rows_held);
    release(&t);
    return status;
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_STOP)
        return 0;
    if (status == HAWSER_OK && (argc != 7 || (strcmp(argv[4], "caching") != 0 && strcmp(argv[4], "plain") != 0)))
        status = hawser_fail(&error, HAWSER_BAD_ARGUMENT, "want FILE EPOCHS BATCH caching|plain L1 exact|bf16|f16|int8|kkt");
    if (status == HAWSER_OK)
        status = run(job, argv, &error);
    if (status != HAWSER_OK)
        fprintf(stderr, "traffic: %s\n", error.text);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 1;
}
