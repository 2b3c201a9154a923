/*
 * serial.c - a linear support vector machine by stochastic gradient descent, after Bottou (2010), in one process.
 *
 *   serial TRAIN TEST [lambda] [epochs]
 *
 * It minimises lambda / 2 ||w||^2 + mean max(0, 1 - y (w x + b)). TRAIN and TEST are svmlight files with labels 1 and -1.
 * parallel.c is the same program on several processes; README.md counts the lines that differ.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Row i has the label y[i] and the entries begin[i] to begin[i + 1]. */
typedef struct rows {
    size_t count, capacity, entries, entry_capacity, columns;
    float *y, *value;
    size_t *begin;
    uint32_t *column;
} rows;

/* w is scale times the first numbers of `v`, and the last one is the bias. */
typedef struct model {
    double *v;
    double scale;
    size_t columns;
} model;

static void check(bool good, const char *name, const char *wrong)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", name, wrong);
    exit(1);
}

static void *grow(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity == 0 ? 1024 : 2 * *capacity;
    array = realloc(array, *capacity * size);
    check(array != NULL, "svm", "out of memory");
    return array;
}

/* Takes the entries "column:value" of a line; columns count from 1. */
static void read_entries(rows *data, char *text, const char *name)
{
    for (char *entry, *colon, *end; (entry = strsep(&text, " \t\r\n")) != NULL;) {
        if (*entry == '\0')
            continue;
        unsigned long column = strtoul(entry, &colon, 10);
        check(column > 0 && column <= UINT32_MAX && *colon == ':', name, "an entry is no column:value with a column from 1");
        size_t capacity = data->entry_capacity;
        data->column = grow(data->column, data->entries, &capacity, sizeof *data->column);
        data->value = grow(data->value, data->entries, &data->entry_capacity, sizeof *data->value);
        data->column[data->entries] = (uint32_t)column - 1;
        data->value[data->entries] = strtof(colon + 1, &end);
        check(end > colon + 1 && *end == '\0' && isfinite(data->value[data->entries++]), name, "a value is no number");
        data->columns = column > data->columns ? column : data->columns;
    }
}

static rows read_rows(const char *name)
{
    rows data = {0};
    char *line = NULL, *rest;
    size_t length = 0;
    FILE *file = fopen(name, "r");
    check(file != NULL, name, "cannot be opened");
    while (getline(&line, &length, file) > 0) {
        float label = strtof(line, &rest);
        check(rest > line && (label == 1 || label == -1), name, "a label is not 1 or -1");
        size_t capacity = data.capacity;
        data.y = grow(data.y, data.count + 1, &capacity, sizeof *data.y);
        data.begin = grow(data.begin, data.count + 1, &data.capacity, sizeof *data.begin);
        data.begin[data.count] = data.entries;
        data.y[data.count++] = label;
        read_entries(&data, rest, name);
        data.begin[data.count] = data.entries;
    }
    check(data.count > 0, name, "has no rows");
    free(line);
    fclose(file);
    return data;
}

static double margin(const model *m, const rows *data, size_t i)
{
    double dot = 0;
    for (size_t k = data->begin[i]; k < data->begin[i + 1]; k++)
        if (data->column[k] < m->columns)
            dot += m->v[data->column[k]] * (double)data->value[k];
    return (double)data->y[i] * (m->scale * dot + m->v[m->columns]);
}

static void fold(model *m)
{
    for (size_t j = 0; j < m->columns; j++)
        m->v[j] *= m->scale;
    m->scale = 1;
}

static void step(model *m, const rows *data, size_t i, double lambda, double eta)
{
    double loss = 1 - margin(m, data, i), move = eta * (double)data->y[i];
    m->scale *= 1 - eta * lambda;
    if (m->scale < 1e-9)
        fold(m);
    if (loss <= 0)
        return;
    for (size_t k = data->begin[i]; k < data->begin[i + 1]; k++)
        m->v[data->column[k]] += move * (double)data->value[k] / m->scale;
    m->v[m->columns] += move * 0.01; /* the bias has no penalty, and a smaller rate */
}

static double objective(const model *m, const rows *data, double lambda, double *errors)
{
    double loss = 0, square = 0;
    *errors = 0;
    for (size_t i = 0; i < data->count; i++) {
        double z = margin(m, data, i);
        loss += z < 1 ? 1 - z : 0;
        *errors += z <= 0;
    }
    for (size_t j = 0; j < m->columns; j++)
        square += m->scale * m->scale * m->v[j] * m->v[j];
    *errors /= (double)data->count;
    return loss / (double)data->count + lambda / 2 * square;
}

/* Tries powers of 2 as rates, each for a pass over the first rows, and returns the one with the least objective. */
static double best_rate(model *m, const rows *data, double lambda)
{
    double best = 1, least = INFINITY, errors;
    rows sample = *data;
    sample.count = data->count < 1000 ? data->count : 1000;
    for (double rate = 0x1p-8; rate <= 0x1p4; rate *= 2) {
        memset(m->v, 0, (m->columns + 1) * sizeof *m->v);
        m->scale = 1;
        for (size_t i = 0; i < sample.count; i++)
            step(m, &sample, i, lambda, rate / (1 + lambda * rate * (double)i));
        double found = objective(m, &sample, lambda, &errors);
        best = found < least ? rate : best;
        least = fmin(found, least);
    }
    memset(m->v, 0, (m->columns + 1) * sizeof *m->v);
    m->scale = 1;
    return best;
}

/* Orders the rows at random, the same in each run. */
static void shuffle(size_t *order, size_t count, uint64_t *seed)
{
    for (size_t i = count; i > 1; i--) {
        *seed = *seed * 6364136223846793005U + 1442695040888963407U;
        size_t other = (size_t)((*seed >> 11) % i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

static void train(model *m, const rows *data, double lambda, size_t epochs)
{
    double rate = best_rate(m, data, lambda);
    size_t *order = malloc(data->count * sizeof *order), t = 0;
    uint64_t seed = 1;
    check(order != NULL, "svm", "out of memory");
    for (size_t i = 0; i < data->count; i++)
        order[i] = i;
    for (size_t epoch = 0; epoch < epochs; epoch++) {
        shuffle(order, data->count, &seed);
        for (size_t i = 0; i < data->count; i++, t++)
            step(m, data, order[i], lambda, rate / (1 + lambda * rate * (double)t));
    }
    fold(m);
    free(order);
}

static void report(const model *m, const rows *data, const rows *test, double lambda)
{
    double errors, found = objective(m, data, lambda, &errors);
    (void)objective(m, test, lambda, &errors);
    printf("objective %.6f, %.2f %% of the test rows are wrong\n", found, 100 * errors);
}

/* Returns a number of the command line, or `other` if it was not given. */
static double above_zero(int argc, char **argv, int place, double other)
{
    char *end = NULL;
    double found = place < argc ? strtod(argv[place], &end) : other;
    check(found > 0 && found < 1e9 && (end == NULL || *end == '\0'), argv[place], "must be a number above 0");
    return found;
}

static void free_rows(rows *data)
{
    free(data->y);
    free(data->value);
    free(data->begin);
    free(data->column);
}

int main(int argc, char **argv)
{
    check(argc > 2, argv[0], "give TRAIN and TEST, and maybe lambda and the number of epochs");
    rows data = read_rows(argv[1]), test = read_rows(argv[2]);
    double lambda = above_zero(argc, argv, 3, 1e-4), epochs = above_zero(argc, argv, 4, 5);
    model m = {.v = calloc(data.columns + 1, sizeof *m.v), .scale = 1, .columns = data.columns};
    check(m.v != NULL, argv[0], "out of memory");
    train(&m, &data, lambda, (size_t)epochs);
    report(&m, &data, &test, lambda);
    free_rows(&data);
    free_rows(&test);
    free(m.v);
    return 0;
}
