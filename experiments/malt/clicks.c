/*
 * clicks.c - a network of three layers that predicts clicks, over vectors, as MALT's figure 6: each layer is a vector, and
 * replicas take the mean of their weights.
 *
 *     hawser run -n 4 -- experiment_clicks FLOW SYNC values EXAMPLES BATCH STEPS RATE
 *
 * An example has six fields of twenty values; two of the fields matter together. Each replica draws its own examples, of
 * EXAMPLES in all it has those of its number, and learns from them again and again. The measure is the area under the ROC
 * curve over 4,000 others.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "replica.h"

enum { FIELDS = 6, CHOICES = 20, FEATURES = FIELDS * CHOICES, ONE = 16, TWO = 8, TESTS = 4000 };
enum { FIRST = (FEATURES + 1) * ONE, SECOND = (ONE + 1) * TWO, THIRD = TWO + 1 }; /* weights; the last rows are biases */

typedef struct example {
    uint32_t value[FIELDS];
    bool click;
} example;

typedef struct task {
    size_t mine;
    uint64_t batch;
    double rate;
    example *own, tests[TESTS];
} task;

typedef struct truth {
    double effect[FEATURES], together[CHOICES][CHOICES];
} truth;

static example draw(const truth *of, uint64_t *seed)
{
    example one = {.click = false};
    double odds = -1;
    for (uint32_t f = 0; f < FIELDS; f++) {
        double place = replica_uniform(seed);
        one.value[f] = (uint32_t)(CHOICES * place * place);
        odds += of->effect[f * CHOICES + one.value[f]];
    }
    odds += of->together[one.value[0]][one.value[1]];
    one.click = replica_uniform(seed) < 1 / (1 + exp(-odds));
    return one;
}

static hawser_status draw_all(task *all, const replica *self, size_t examples, hawser_error *error)
{
    uint64_t seed = 7;
    truth of;
    all->own = malloc(examples * sizeof *all->own);
    if (all->own == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu examples", examples);
    for (size_t i = 0; i < FEATURES; i++)
        of.effect[i] = 2 * replica_uniform(&seed) - 1;
    for (size_t i = 0; i < CHOICES * CHOICES; i++)
        of.together[i / CHOICES][i % CHOICES] = 5 * replica_uniform(&seed) - 2.5;
    for (size_t i = 0; i < TESTS; i++)
        all->tests[i] = draw(&of, &seed);
    for (size_t i = 0; i < examples; i++) {
        example one = draw(&of, &seed);
        if (i % self->nodes == self->node)
            all->own[all->mine++] = one;
    }
    return all->mine > 0 ? HAWSER_OK : hawser_fail(error, HAWSER_BAD_OPTION, "a replica has no examples");
}

/* Returns the logarithm of the odds of a click. */
static double forward(const double *first, const example *of, double *one, double *two)
{
    const double *second = first + FIRST, *third = second + SECOND;
    for (size_t j = 0; j < ONE; j++) {
        one[j] = first[FEATURES * ONE + j];
        for (size_t f = 0; f < FIELDS; f++)
            one[j] += first[(f * CHOICES + of->value[f]) * ONE + j];
        one[j] = tanh(one[j]);
    }
    double score = third[TWO];
    for (size_t j = 0; j < TWO; j++) {
        two[j] = second[ONE * TWO + j];
        for (size_t k = 0; k < ONE; k++)
            two[j] += one[k] * second[k * TWO + j];
        two[j] = tanh(two[j]);
        score += two[j] * third[j];
    }
    return score;
}

static void learn(double *first, const example *of, double rate)
{
    double one[ONE], two[TWO], by_one[ONE] = {0}, *second = first + FIRST, *third = second + SECOND;
    double step = rate * (1 / (1 + exp(-forward(first, of, one, two))) - of->click);
    for (size_t j = 0; j < TWO; j++) {
        double by_two = step * third[j] * (1 - two[j] * two[j]);
        third[j] -= step * two[j];
        second[ONE * TWO + j] -= by_two;
        for (size_t k = 0; k < ONE; k++) {
            by_one[k] += by_two * second[k * TWO + j] * (1 - one[k] * one[k]);
            second[k * TWO + j] -= by_two * one[k];
        }
    }
    third[TWO] -= step;
    for (size_t k = 0; k < ONE; k++) {
        first[FEATURES * ONE + k] -= by_one[k];
        for (size_t f = 0; f < FIELDS; f++)
            first[(f * CHOICES + of->value[f]) * ONE + k] -= by_one[k];
    }
}

static double area(const void *user, const double *model)
{
    const task *all = user;
    static double score[TESTS];
    double one[ONE], two[TWO], pairs = 0, right = 0;
    for (size_t i = 0; i < TESTS; i++)
        score[i] = forward(model, &all->tests[i], one, two);
    for (size_t i = 0; i < TESTS; i++)
        for (size_t k = 0; all->tests[i].click && k < TESTS; k++)
            if (!all->tests[k].click) {
                pairs++;
                right += score[i] > score[k] ? 1 : score[i] < score[k] ? 0 : 0.5;
            }
    return right / pairs;
}

static hawser_status train(replica *self, task *all, char **argv, hawser_error *error)
{
    static double weights[FIRST + SECOND + THIRD];
    uint64_t seed = 3;
    for (size_t i = 0; i < FIRST + SECOND + THIRD; i++)
        weights[i] = (replica_uniform(&seed) - 0.5) * (i < FIRST ? 1 : 0.6);
    self->vectors = 3;
    self->counts[0] = FIRST;
    self->counts[1] = SECOND;
    self->counts[2] = THIRD;
    self->model = weights;
    HAWSER_TRY(replica_begin(self, argv, error));
    for (uint64_t t = 0; t < self->steps; t++) {
        for (uint64_t i = 0; i < all->batch; i++)
            learn(weights, &all->own[(t * all->batch + i) % all->mine], all->rate);
        HAWSER_TRY(replica_exchange(self, t, error));
    }
    return replica_end(self, area, all, error);
}

int main(int argc, char **argv)
{
    replica self;
    static task all;
    double numbers[4];
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = replica_open(&self, &argc, argv, &error);
    if (status == HAWSER_OK)
        status = replica_numbers(argc, argv, 3, numbers, 4, "FLOW SYNC values EXAMPLES BATCH STEPS RATE", &error);
    if (status == HAWSER_OK) {
        all.batch = (uint64_t)numbers[1];
        self.steps = (uint64_t)numbers[2];
        all.rate = numbers[3];
        status = draw_all(&all, &self, (size_t)numbers[0], &error);
    }
    if (status == HAWSER_OK)
        status = train(&self, &all, argv, &error);
    free(all.own);
    return replica_close(&self, status, &error);
}
