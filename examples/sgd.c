/*
 * sgd.c - trains logistic regression by mini-batches over the store. The servers store the weights and take AdaGrad steps.
 * Every node pulls the weights that its next batch needs and pushes its gradient, one batch behind (delay 1).
 *
 * Build it as hello.c. `./sgd` runs alone, `hawser run -n 4 -- ./sgd` on four processes.
 */
#include <hawser/store.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FEATURES = 5000, BATCH = 50, BATCHES = 400, WORDS = 20 };

typedef struct batch {
    uint64_t keys[BATCH * WORDS];
    size_t count;
    float weights[BATCH * WORDS], gradient[BATCH * WORDS];
    int row[BATCH][WORDS]; /* indices of each row's keys in `keys` */
    double label[BATCH];
    uint64_t pulled, pushed; /* tasks */
} batch;

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Makes rows of a few features each; a row with mostly even features has the label 1, else -1. */
static void make(batch *b, unsigned *seed)
{
    uint64_t words[BATCH * WORDS];
    for (int i = 0; i < BATCH * WORDS; i++)
        words[i] = b->keys[i] = (uint64_t)(FEATURES * pow((*seed = *seed * 1664525U + 1013904223U) / 4294967296.0, 3));
    qsort(b->keys, BATCH * WORDS, sizeof *b->keys, compare);
    b->count = 0;
    for (int i = 0; i < BATCH * WORDS; i++)
        if (b->count == 0 || b->keys[b->count - 1] != b->keys[i])
            b->keys[b->count++] = b->keys[i];
    for (int i = 0; i < BATCH; i++) {
        int even = 0;
        for (int k = 0; k < WORDS; k++) {
            uint64_t *at = bsearch(&words[i * WORDS + k], b->keys, b->count, sizeof *b->keys, compare);
            b->row[i][k] = (int)(at - b->keys);
            even += *at % 2 == 0;
        }
        b->label[i] = even * 2 > WORDS ? 1 : -1;
    }
}

/* Computes the mean gradient of the log-loss; returns the number of rows that the weights classify correctly. */
static int differentiate(batch *b)
{
    int right = 0;
    for (size_t j = 0; j < b->count; j++)
        b->gradient[j] = 0;
    for (int i = 0; i < BATCH; i++) {
        double margin = 0;
        for (int k = 0; k < WORDS; k++)
            margin += (double)b->weights[b->row[i][k]];
        margin *= b->label[i];
        right += margin > 0;
        for (int k = 0; k < WORDS; k++)
            b->gradient[b->row[i][k]] -= (float)(b->label[i] / (1 + exp(margin)) / BATCH);
    }
    return right;
}

static hawser_status train(hawser_store *store, unsigned seed, double *accuracy, hawser_error *error)
{
    static batch batches[2];
    uint32_t w = 0;
    int right = 0;
    const hawser_table table = {
        .name = "w", .type = HAWSER_F32, .last = FEATURES - 1, .function = "adagrad", .parameters = {0.5, 1e-6}};
    HAWSER_TRY(hawser_store_table(store, &table, &w, error));
    for (int t = 0; t <= BATCHES; t++) {
        batch *next = &batches[t % 2], *b = &batches[(t + 1) % 2];
        if (t < BATCHES) { /* the pull runs while the batch before is processed */
            if (next->pushed > 0)
                HAWSER_TRY(hawser_store_wait(store, next->pushed, error)); /* its memory is reused */
            make(next, &seed);
            HAWSER_TRY(hawser_pull(
                store, &(hawser_request){.table = w, .keys = next->keys, .count = next->count, .out = next->weights},
                &next->pulled, error));
        }
        if (t == 0)
            continue;
        HAWSER_TRY(hawser_store_wait(store, b->pulled, error));
        int known = differentiate(b);
        right += t > BATCHES / 2 ? known : 0;
        HAWSER_TRY(hawser_push(store,
                               &(hawser_request){.table = w, .keys = b->keys, .count = b->count, .values = b->gradient},
                               &b->pushed, error));
    }
    *accuracy = (double)right / (BATCHES / 2 * BATCH);
    return hawser_store_wait_all(store, error);
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_store *store = NULL;
    hawser_error error = {HAWSER_OK, ""};
    double accuracy = 0;
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_STOP) /* --help */
        return 0;
    if (status == HAWSER_OK)
        status = hawser_store_open(job, NULL, &store, &error);
    if (status == HAWSER_OK)
        status = train(store, 1 + hawser_job_node(job), &accuracy, &error);
    if (status == HAWSER_OK && hawser_job_leads(job))
        printf("%.0f %% right in the second half, before each batch was learned from\n", 100 * accuracy);
    if (status != HAWSER_OK)
        fprintf(stderr, "sgd: %s\n", error.text);
    hawser_store_close(store);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 1;
}
