/*
 * parallel.c - matrix factorisation by stochastic gradient descent, one rating after another, on several processes.
 *
 *   hawser run -n 4 -- parallel TRAIN TEST [epochs] [rank]
 *
 * A line of TRAIN and TEST is "user item rating", numbers from 0. A rating is predicted as mean + p_user q_item. It
 * minimises the sum of (rating - prediction)^2 + PENALTY (||p_user||^2 + ||q_item||^2). serial.c is the same program in
 * one process; README.md counts the lines that differ.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hawser/vector.h>

enum { BATCH = 100 }; /* ratings between two exchanges */
static hawser_job *job;
static hawser_vector *w;
static hawser_error failure;

#define RATE    0.02
#define PENALTY 0.02

typedef struct rating {
    uint32_t user, item;
    double value;
} rating;

typedef struct ratings {
    rating *at;
    size_t count, capacity, users, items;
} ratings;

/* Row r has the factors of user r, or of item r - users. */
typedef struct model {
    double *rows, mean;
    size_t users, items;
    uint32_t rank;
} model;

static void check(bool good, const char *name, const char *wrong)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", name, wrong);
    exit(1);
}

static ratings read_ratings(const char *name)
{
    ratings data = {0};
    rating one;
    int found;
    FILE *file = fopen(name, "r");
    check(file != NULL, name, "cannot be opened");
    while ((found = fscanf(file, "%u %u %lf", &one.user, &one.item, &one.value)) == 3) {
        if (data.count == data.capacity) {
            data.capacity = data.capacity == 0 ? 1024 : 2 * data.capacity;
            data.at = realloc(data.at, data.capacity * sizeof *data.at);
            check(data.at != NULL, name, "out of memory");
        }
        check(one.user < 1U << 24 && one.item < 1U << 24, name, "a user or item is no number below 2^24");
        check(isfinite(one.value), name, "a rating is not finite");
        data.at[data.count++] = one;
        data.users = one.user >= data.users ? (size_t)one.user + 1 : data.users;
        data.items = one.item >= data.items ? (size_t)one.item + 1 : data.items;
    }
    check(found == EOF, name, "a line is not: user item rating");
    check(data.count > 0, name, "has no ratings");
    fclose(file);
    return data;
}

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(*seed >> 11) * 0x1p-53;
}

static void shuffle(ratings *data, uint64_t *seed)
{
    for (size_t i = data->count; i > 1; i--) {
        size_t other = (size_t)(uniform(seed) * (double)i);
        rating kept = data->at[i - 1];
        data->at[i - 1] = data->at[other];
        data->at[other] = kept;
    }
}

static model new_model(const ratings *data, uint32_t rank, uint64_t *seed)
{
    model m = {.users = data->users, .items = data->items, .rank = rank};
    m.rows = malloc((m.users + m.items) * rank * sizeof *m.rows);
    check(m.rows != NULL, "factors", "out of memory");
    for (size_t i = 0; i < data->count; i++)
        m.mean += data->at[i].value / (double)data->count;
    for (size_t i = 0; i < (m.users + m.items) * rank; i++)
        m.rows[i] = (uniform(seed) - 0.5) / sqrt((double)rank);
    return m;
}

static double predict(const model *m, const rating *one)
{
    const double *p = m->rows + one->user * m->rank, *q = m->rows + (m->users + one->item) * m->rank;
    double dot = m->mean;
    for (size_t k = 0; k < m->rank; k++)
        dot += p[k] * q[k];
    return dot;
}

static void step(model *m, const rating *one)
{
    double *p = m->rows + one->user * m->rank, *q = m->rows + (m->users + one->item) * m->rank;
    double error = one->value - predict(m, one);
    for (size_t k = 0; k < m->rank; k++) {
        double before = p[k];
        p[k] += RATE * (error * q[k] - PENALTY * p[k]);
        q[k] += RATE * (error * before - PENALTY * q[k]);
    }
}

/* Of users and items that the model has. */
static double root_mean_square(const model *m, const ratings *data)
{
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < data->count; i++) {
        const rating *one = &data->at[i];
        if (one->user >= m->users || one->item >= m->items)
            continue;
        double error = one->value - predict(m, one);
        sum += error * error;
        known++;
    }
    return sqrt(sum / (double)known);
}

/* Sends the rows of the last ratings, and takes those of others in their place. */
static void exchange(model *m, bool *touched, uint64_t t)
{
    hawser_scatter own = {.iteration = t};
    uint64_t *keys = malloc((m->users + m->items) * sizeof *keys);
    double *values = malloc((m->users + m->items) * m->rank * sizeof *values);
    check(keys != NULL && values != NULL, "factors", "out of memory");
    for (size_t row = 0; row < m->users + m->items; row++)
        if (touched[row]) {
            memcpy(values + own.key_count * m->rank, m->rows + row * m->rank, m->rank * sizeof *values);
            keys[own.key_count++] = row;
            touched[row] = false;
        }
    own.values = values;
    own.keys = keys;
    check(hawser_vector_scatter(w, &own, &failure) == HAWSER_OK, "factors", failure.text);
    check(hawser_vector_gather(w, t, HAWSER_GATHER_REPLACE, NULL, m->rows, &failure) == HAWSER_OK, "factors", failure.text);
    free(keys);
    free(values);
}

static void train(model *m, ratings *data, double epochs, uint64_t *seed)
{
    bool *touched = calloc(m->users + m->items, sizeof *touched);
    check(touched != NULL, "factors", "out of memory");
    uint64_t t = 0;
    for (int epoch = 0; epoch < epochs; epoch++) {
        shuffle(data, seed);
        for (size_t i = 0; i < data->count; i++) {
            if (data->at[i].user % hawser_job_nodes(job) != hawser_job_node(job))
                continue;
            step(m, &data->at[i]);
            touched[data->at[i].user] = touched[m->users + data->at[i].item] = true;
            if (++t % BATCH == 0)
                exchange(m, touched, t / BATCH);
        }
    }
    free(touched);
    check(hawser_vector_finish(w, m->rows, &failure) == HAWSER_OK, "factors", failure.text);
}

/* Returns a number of the command line, or `other` if it was not given. */
static double above_zero(int argc, char **argv, int place, double other)
{
    char *end = NULL;
    double found = place < argc ? strtod(argv[place], &end) : other;
    check(found > 0 && found < 1e9 && (end == NULL || *end == '\0'), argv[place], "must be a number above 0");
    return found;
}

int main(int argc, char **argv)
{
    check(hawser_open(&argc, argv, &job, &failure) == HAWSER_OK, "factors", failure.text);
    check(argc > 2, argv[0], "give TRAIN and TEST, and maybe the numbers of epochs and of factors");
    ratings data = read_ratings(argv[1]), test = read_ratings(argv[2]);
    double epochs = above_zero(argc, argv, 3, 20), rank = ceil(above_zero(argc, argv, 4, 8));
    uint64_t seed = 1;
    model m = new_model(&data, (uint32_t)rank, &seed);
    const size_t count = (m.users + m.items) * m.rank;
    const hawser_vector_options how = {.name = "w", .count = count, .sparse = true, .width = m.rank, .sync = "bsp"};
    check(hawser_vector_open(job, &how, &w, &failure) == HAWSER_OK, "factors", failure.text);
    train(&m, &data, epochs, &seed);
    hawser_vector_close(w);
    if (hawser_job_leads(job))
        printf("root mean square error %.4f, of the test %.4f\n", root_mean_square(&m, &data), root_mean_square(&m, &test));
    hawser_close(job);
    free(data.at);
    free(test.at);
    free(m.rows);
    return 0;
}
