/*
 * mf.c - matrix factorisation by stochastic gradient descent, as in PET's figure 9. Ratings are split by users. A user's
 * factors stay with its ratings; the items' factors are replicated and exchanged. Ratings are generated: rank 10, noise 0.3.
 *
 *     hawser run -n 8 -- experiment_mf CLOCKS PARTS PAUSE --workers 8 --sync ssp:2 --filter relative --quota 16K
 */
#include <math.h>
#include <stdlib.h>

#include "managed.h"

enum { USERS = 4000, ITEMS = 1000, EACH = 50, RATINGS = USERS * EACH, TRUE_RANK = 10, RANK = 16 };
#define RATE    0.005
#define PENALTY 0.02
#define NOISE   0.3

typedef struct model {
    managed managed;
    uint64_t offsets[USERS + 1];
    uint32_t item[RATINGS];
    double rating[RATINGS], users[USERS * RANK], items[ITEMS * RANK];
    hawser_matrix matrix;
} model;

/* Draws a nearly normal number from twelve uniform ones. */
static double normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += managed_uniform(state);
    return sum;
}

static int ascending(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Chooses EACH different items, ascending. */
static void choose(uint32_t *item, uint64_t *state)
{
    static bool taken[ITEMS];
    for (int k = 0; k < EACH;) {
        uint32_t j = (uint32_t)(managed_random(state) % ITEMS);
        if (taken[j])
            continue;
        taken[j] = true;
        item[k++] = j;
    }
    for (int k = 0; k < EACH; k++)
        taken[item[k]] = false;
    qsort(item, EACH, sizeof *item, ascending);
}

static hawser_status make(void *argument, hawser_error *error)
{
    static double user[TRUE_RANK], item[ITEMS][TRUE_RANK];
    model *self = argument;
    uint64_t state = 7;
    (void)error;
    for (int j = 0; j < ITEMS; j++)
        for (int k = 0; k < TRUE_RANK; k++)
            item[j][k] = normal(&state) / sqrt(TRUE_RANK);
    for (int i = 0; i < USERS; i++) {
        self->offsets[i + 1] = self->offsets[i] + EACH;
        choose(&self->item[i * EACH], &state);
        for (int k = 0; k < TRUE_RANK; k++)
            user[k] = normal(&state);
        for (int n = i * EACH; n < (i + 1) * EACH; n++) {
            self->rating[n] = NOISE * normal(&state);
            for (int k = 0; k < TRUE_RANK; k++)
                self->rating[n] += user[k] * item[self->item[n]][k];
        }
    }
    for (int k = 0; k < USERS * RANK; k++)
        self->users[k] = 0.3 * normal(&state);
    for (int k = 0; k < ITEMS * RANK; k++)
        self->items[k] = 0.3 * normal(&state);
    self->matrix = (hawser_matrix){.rows = USERS,
                                   .cols = ITEMS,
                                   .stored = RATINGS,
                                   .layout = HAWSER_CSR,
                                   .offsets = self->offsets,
                                   .indices = self->item,
                                   .values = self->rating};
    return HAWSER_OK;
}

/* Takes a step for one rating; returns its squared error before the step. */
static double step(double rating, double *user, double *item)
{
    double error = rating;
    for (int k = 0; k < RANK; k++)
        error -= user[k] * item[k];
    for (int k = 0; k < RANK; k++) {
        double before = user[k];
        user[k] += RATE * (error * item[k] - PENALTY * before);
        item[k] += RATE * (error * before - PENALTY * item[k]);
    }
    return error * error;
}

static hawser_status sweep(hawser_context *context)
{
    const model *self = hawser_user(context);
    const hawser_matrix *mine;
    HAWSER_TRY(hawser_read(context, "ratings", &mine));
    HAWSER_WRITE(context, double, users);
    HAWSER_WRITE(context, double, items);
    double squares = 0;
    for (uint32_t part = 0; part < self->managed.parts; part++) {
        size_t begin = mine->rows * part / self->managed.parts, end = mine->rows * (part + 1) / self->managed.parts;
        for (size_t i = begin; i < end; i++)
            for (uint64_t n = mine->offsets[i]; n < mine->offsets[i + 1]; n++)
                squares +=
                    step(((const double *)mine->values)[n], users + i * RANK, items + (size_t)mine->indices[n] * RANK);
        HAWSER_TRY(managed_pace(&self->managed, context, part));
    }
    return hawser_report(context, "objective", squares / RATINGS); /* mean squared error, before each rating's step */
}

static hawser_status build(hawser_program *program, hawser_job *job, const managed *how, void *argument)
{
    model *self = argument;
    hawser_state *ratings = HAWSER_STATE(program, "ratings", HAWSER_DATA, .matrix = &self->matrix, .split = HAWSER_BY_ROW);
    hawser_state *users =
        HAWSER_STATE(program, "users", HAWSER_LOCAL, .along = ratings, .cols = RANK, .initial = self->users);
    hawser_state *items =
        HAWSER_STATE(program, "items", HAWSER_REPLICATED, .rows = (size_t)ITEMS * RANK, .initial = self->items);
    hawser_operator *loop =
        hawser_loop(hawser_root(program), "sweeps", (hawser_until){.clocks = how->clocks}, hawser_job_sync(job));
    HAWSER_UNIT(loop, "sweep", sweep, .reads = {ratings}, .updates = {users, items});
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    static model self;
    return managed_main(argc, argv, "mf", &self.managed, make, build, &self);
}
