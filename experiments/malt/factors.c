/*
 * factors.c - matrix factorisation by stochastic gradient descent over vectors, as MALT's figure 12: replicas send the rows
 * of users and items that they have changed, and take those of others in place of their own.
 *
 *     hawser run -n 4 -- experiment_factors FLOW SYNC rows USERS ITEMS RATINGS BATCH STEPS
 *
 * Ratings are drawn from products of four factors and noise of 0.3, the same on each replica; replica i of N has those of
 * users i, i + N and so on. The measure is the root mean square error over other ratings of these users, a tenth as many.
 */
#include <math.h>
#include <stdlib.h>

#include "replica.h"

enum { RANK = 8, TRUTH = 4 };
static const double RATE = 0.02, PENALTY = 0.02;

typedef struct rating {
    uint32_t user, item;
    double value;
} rating;

typedef struct task {
    size_t users, items, mine, test;
    uint64_t batch;
    rating *own, *tests;
} task;

static double *random_numbers(size_t count, double size, uint64_t *seed)
{
    double *numbers = malloc(count * sizeof *numbers);
    for (size_t i = 0; numbers != NULL && i < count; i++)
        numbers[i] = size * (2 * replica_uniform(seed) - 1);
    return numbers;
}

static hawser_status draw(task *all, const replica *self, size_t ratings, hawser_error *error)
{
    uint64_t seed = 1;
    size_t tests = ratings / 10 + 1;
    double *truth = random_numbers((all->users + all->items) * TRUTH, 1.3, &seed);
    all->own = malloc(ratings * sizeof *all->own);
    all->tests = malloc(tests * sizeof *all->tests);
    if (truth == NULL || all->own == NULL || all->tests == NULL) {
        free(truth);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu ratings", ratings);
    }
    for (size_t i = 0; i < ratings + tests; i++) {
        rating one = {(uint32_t)(replica_uniform(&seed) * (double)all->users),
                      (uint32_t)(replica_uniform(&seed) * (double)all->items), 0.6 * (replica_uniform(&seed) - 0.5)};
        for (size_t k = 0; k < TRUTH; k++)
            one.value += truth[one.user * TRUTH + k] * truth[(all->users + one.item) * TRUTH + k];
        if (one.user % self->nodes != self->node)
            continue;
        if (i >= ratings)
            all->tests[all->test++] = one;
        else
            all->own[all->mine++] = one;
    }
    free(truth);
    return all->mine > 0 && all->test > 0 ? HAWSER_OK : hawser_fail(error, HAWSER_BAD_OPTION, "a replica has no ratings");
}

static double error_of(const task *all, const double *model, const rating *one)
{
    const double *p = model + one->user * RANK, *q = model + (all->users + one->item) * RANK;
    double dot = 0;
    for (size_t k = 0; k < RANK; k++)
        dot += p[k] * q[k];
    return one->value - dot;
}

static void learn(const task *all, double *model, const rating *one)
{
    double *p = model + one->user * RANK, *q = model + (all->users + one->item) * RANK, error = error_of(all, model, one);
    for (size_t k = 0; k < RANK; k++) {
        double before = p[k];
        p[k] += RATE * (error * q[k] - PENALTY * p[k]);
        q[k] += RATE * (error * before - PENALTY * q[k]);
    }
}

static double root_mean_square(const void *user, const double *model)
{
    const task *all = user;
    double sum = 0;
    for (size_t i = 0; i < all->test; i++) {
        double error = error_of(all, model, &all->tests[i]);
        sum += error * error;
    }
    return sqrt(sum / (double)all->test);
}

static hawser_status train(replica *self, task *all, char **argv, hawser_error *error)
{
    uint64_t seed = 2;
    self->width = RANK;
    self->counts[0] = (all->users + all->items) * RANK;
    self->model = random_numbers(self->counts[0], 0.3, &seed);
    if (self->model == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu rows", all->users + all->items);
    HAWSER_TRY(replica_begin(self, argv, error));
    for (uint64_t t = 0; t < self->steps; t++) {
        for (uint64_t i = 0; i < all->batch; i++)
            learn(all, self->model, &all->own[(t * all->batch + i) % all->mine]);
        HAWSER_TRY(replica_exchange(self, t, error));
    }
    return replica_end(self, root_mean_square, all, error);
}

int main(int argc, char **argv)
{
    replica self;
    task all = {.users = 0};
    double numbers[5];
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = replica_open(&self, &argc, argv, &error);
    if (status == HAWSER_OK)
        status = replica_numbers(argc, argv, 3, numbers, 5, "FLOW SYNC rows USERS ITEMS RATINGS BATCH STEPS", &error);
    if (status == HAWSER_OK && self.content != REPLICA_ROWS)
        status = hawser_fail(&error, HAWSER_BAD_OPTION, "factors are exchanged as rows");
    if (status == HAWSER_OK) {
        all.users = (size_t)numbers[0];
        all.items = (size_t)numbers[1];
        all.batch = (uint64_t)numbers[3];
        self.steps = (uint64_t)numbers[4];
        status = draw(&all, &self, (size_t)numbers[2], &error);
    }
    if (status == HAWSER_OK)
        status = train(&self, &all, argv, &error);
    free(self.model);
    free(all.own);
    free(all.tests);
    return replica_close(&self, status, &error);
}
