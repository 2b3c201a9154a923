/*
 * serial.c - a network of three layers that predicts clicks, by stochastic gradient descent, in one process.
 *
 *   serial TRAIN TEST [epochs] [rate]
 *
 * A line of TRAIN and TEST is "label feature feature ...": 1 for a click, else 0, and the numbers of the features that the
 * example has, from 0. It prints the mean log loss, and the area under the ROC curve: the share of pairs of a click and
 * another example in which the click has the higher score. parallel.c is the same program on several processes; README.md
 * counts the lines that differ.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, WIDEST = 16 };
static const size_t widths[LAYERS] = {16, 8, 1};

/* Example i has the features at[begin[i]] to at[begin[i + 1] - 1]. */
typedef struct examples {
    size_t count, entries, features;
    bool *click;
    size_t *begin, *at;
} examples;

/* Layer l has a line of widths[l] weights for each input, and a last one of biases. */
typedef struct network {
    double *weights[LAYERS];
    size_t inputs[LAYERS];
} network;

/* Outputs of each layer, and the derivatives of the loss by their inputs. */
typedef struct pass {
    double out[LAYERS][WIDEST], slope[LAYERS][WIDEST];
} pass;

static void check(bool good, const char *name, const char *wrong)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", name, wrong);
    exit(1);
}

/* Returns memory of twice the size when the next power of 2 is reached. */
static void *grow(void *array, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return array;
    array = realloc(array, (count == 0 ? 1 : 2 * count) * size);
    check(array != NULL, "clicks", "out of memory");
    return array;
}

static void read_example(examples *data, char *line, const char *name)
{
    char *word = strsep(&line, " \t\r\n"), *end;
    check(strcmp(word, "0") == 0 || strcmp(word, "1") == 0, name, "a label is not 0 or 1");
    data->click = grow(data->click, data->count, sizeof *data->click);
    data->click[data->count] = word[0] == '1';
    while ((word = strsep(&line, " \t\r\n")) != NULL) {
        if (*word == '\0')
            continue;
        size_t feature = strtoull(word, &end, 10);
        check(word[0] >= '0' && word[0] <= '9' && *end == '\0' && feature < 1U << 24, name,
              "a feature is no number below 2^24");
        data->at = grow(data->at, data->entries, sizeof *data->at);
        data->at[data->entries++] = feature;
        data->features = feature >= data->features ? feature + 1 : data->features;
    }
    data->count++;
    data->begin = grow(data->begin, data->count, sizeof *data->begin);
    data->begin[data->count] = data->entries;
}

static examples read_examples(const char *name)
{
    examples data = {.begin = calloc(2, sizeof *data.begin)};
    char *line = NULL;
    size_t length = 0;
    FILE *file = fopen(name, "r");
    check(file != NULL && data.begin != NULL, name, "cannot be opened");
    while (getline(&line, &length, file) > 0)
        read_example(&data, line, name);
    check(data.count > 0, name, "has no examples");
    free(line);
    fclose(file);
    return data;
}

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(*seed >> 11) * 0x1p-53;
}

static network new_network(size_t features, uint64_t *seed)
{
    network net;
    for (int l = 0; l < LAYERS; l++) {
        net.inputs[l] = l == 0 ? features : widths[l - 1];
        size_t count = (net.inputs[l] + 1) * widths[l];
        net.weights[l] = malloc(count * sizeof *net.weights[l]);
        check(net.weights[l] != NULL, "clicks", "out of memory");
        for (size_t i = 0; i < count; i++)
            net.weights[l][i] = (uniform(seed) - 0.5) * (l == 0 ? 1 : 2 / sqrt((double)net.inputs[l]));
    }
    return net;
}

/* Computes the score of an example: the logarithm of the odds of a click. */
static double forward(const network *net, const examples *data, size_t i, pass *p)
{
    for (int l = 0; l < LAYERS; l++) {
        const double *weights = net->weights[l];
        memcpy(p->out[l], weights + net->inputs[l] * widths[l], widths[l] * sizeof *weights);
        size_t count = l == 0 ? data->begin[i + 1] - data->begin[i] : net->inputs[l];
        for (size_t k = 0; k < count; k++) {
            size_t input = l == 0 ? data->at[data->begin[i] + k] : k;
            double value = l == 0 ? 1 : p->out[l - 1][k];
            for (size_t j = 0; j < widths[l] && input < net->inputs[l]; j++)
                p->out[l][j] += value * weights[input * widths[l] + j];
        }
        for (size_t j = 0; l < LAYERS - 1 && j < widths[l]; j++)
            p->out[l][j] = tanh(p->out[l][j]);
    }
    return p->out[LAYERS - 1][0];
}

static void step(network *net, const examples *data, size_t i, double rate)
{
    pass p;
    p.slope[LAYERS - 1][0] = 1 / (1 + exp(-forward(net, data, i, &p))) - data->click[i];
    for (int l = LAYERS - 1; l > 0; l--)
        for (size_t k = 0; k < net->inputs[l]; k++) {
            double sum = 0;
            for (size_t j = 0; j < widths[l]; j++) {
                sum += net->weights[l][k * widths[l] + j] * p.slope[l][j];
                net->weights[l][k * widths[l] + j] -= rate * p.slope[l][j] * p.out[l - 1][k];
            }
            p.slope[l - 1][k] = sum * (1 - p.out[l - 1][k] * p.out[l - 1][k]);
        }
    for (size_t k = data->begin[i]; k < data->begin[i + 1]; k++)
        for (size_t j = 0; j < widths[0]; j++)
            net->weights[0][data->at[k] * widths[0] + j] -= rate * p.slope[0][j];
    for (int l = 0; l < LAYERS; l++)
        for (size_t j = 0; j < widths[l]; j++)
            net->weights[l][net->inputs[l] * widths[l] + j] -= rate * p.slope[l][j];
}

static void report(const network *net, const examples *data)
{
    pass p;
    double loss = 0, pairs = 0, right = 0, *score = malloc(data->count * sizeof *score);
    check(score != NULL, "clicks", "out of memory");
    for (size_t i = 0; i < data->count; i++) {
        score[i] = forward(net, data, i, &p);
        loss += log1p(exp(data->click[i] ? -score[i] : score[i])) / (double)data->count;
    }
    for (size_t i = 0; i < data->count; i++)
        for (size_t k = 0; data->click[i] && k < data->count; k++) {
            pairs += !data->click[k];
            right += data->click[k] ? 0 : score[i] > score[k] ? 1 : score[i] == score[k] ? 0.5 : 0;
        }
    printf("log loss %.4f, area %.4f\n", loss, right / pairs);
    free(score);
}

static void train(network *net, const examples *data, double epochs, double rate, uint64_t *seed)
{
    for (int epoch = 0; epoch < epochs; epoch++)
        for (size_t i = 0; i < data->count; i++)
            step(net, data, (size_t)(uniform(seed) * (double)data->count), rate);
}

/* Returns a number of the command line, or `other` if it was not given. */
static double above_zero(int argc, char **argv, int place, double other)
{
    char *end = NULL;
    double found = place < argc ? strtod(argv[place], &end) : other;
    check(found > 0 && found < 1e9 && (end == NULL || *end == '\0'), argv[place], "must be a number above 0");
    return found;
}

static void free_examples(examples *data)
{
    free(data->click);
    free(data->begin);
    free(data->at);
}

int main(int argc, char **argv)
{
    check(argc > 2, argv[0], "give TRAIN and TEST, and maybe the number of epochs and the rate");
    examples data = read_examples(argv[1]), test = read_examples(argv[2]);
    double epochs = above_zero(argc, argv, 3, 10), rate = above_zero(argc, argv, 4, 0.05);
    uint64_t seed = 1;
    network net = new_network(data.features, &seed);
    train(&net, &data, epochs, rate, &seed);
    report(&net, &test);
    free_examples(&data);
    free_examples(&test);
    for (int l = 0; l < LAYERS; l++)
        free(net.weights[l]);
    return 0;
}
