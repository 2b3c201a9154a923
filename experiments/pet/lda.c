/*
 * lda.c - latent Dirichlet allocation by collapsed Gibbs sampling, as in PET's figure 10. Documents are split over the
 * blocks, which keep the topics of their words. The counts of each topic of each word are replicated and exchanged.
 * Documents are generated from the model.
 *
 *     hawser run -n 8 -- experiment_lda CLOCKS PARTS PAUSE --workers 8 --sync ssp:2 --filter absolute --quota 16K
 */
#include <math.h>
#include <string.h>

#include "managed.h"

enum { DOCUMENTS = 2000, WORDS = 1500, LENGTH = 100, TOKENS = DOCUMENTS * LENGTH, TOPICS = 20 };
#define ALPHA 0.1
#define BETA  0.05

typedef struct model {
    managed managed;
    uint64_t offsets[DOCUMENTS + 1];
    uint32_t word[TOKENS];
    double documents[DOCUMENTS], counts[WORDS * TOPICS];
    uint8_t topic[TOKENS]; /* only the block of the token's document writes it */
    hawser_matrix
        matrix; /* of `documents`; its values are not used: a block's share of the rows is its share of the documents */
} model;

/* Draws a word for a topic: words around a point of its own are likelier. */
static uint32_t draw_word(uint64_t *state, unsigned topic)
{
    double away = managed_uniform(state) * managed_uniform(state) * managed_uniform(state);
    return (uint32_t)(topic * (WORDS / TOPICS) + away * WORDS) % WORDS;
}

static hawser_status make(void *argument, hawser_error *error)
{
    model *self = argument;
    uint64_t state = 11;
    (void)error;
    for (int d = 0; d < DOCUMENTS; d++) {
        unsigned own[3];
        self->offsets[d + 1] = self->offsets[d] + LENGTH;
        for (int k = 0; k < 3; k++)
            own[k] = (unsigned)(managed_random(&state) % TOPICS);
        for (int n = d * LENGTH; n < (d + 1) * LENGTH; n++) {
            self->word[n] = draw_word(&state, own[managed_random(&state) % 3]);
            self->topic[n] = (uint8_t)(managed_random(&state) % TOPICS);
            self->counts[self->word[n] * TOPICS + self->topic[n]] += 1;
        }
    }
    self->matrix = (hawser_matrix){.rows = DOCUMENTS,
                                   .cols = 1,
                                   .stored = DOCUMENTS,
                                   .layout = HAWSER_DENSE,
                                   .values = self->documents,
                                   .stride = DOCUMENTS};
    return HAWSER_OK;
}

/* Takes a negative count as zero: counts of other blocks arrive late, so that a count may be negative for a while. */
static double at_least_zero(double count)
{
    return count > 0 ? count : 0;
}

static void sum_topics(const double *counts, double *all)
{
    memset(all, 0, TOPICS * sizeof *all);
    for (size_t w = 0; w < WORDS; w++)
        for (int k = 0; k < TOPICS; k++)
            all[k] += at_least_zero(counts[w * TOPICS + k]);
}

/* Draws new topics for one document's words; returns the log-likelihood of the words, each before its new topic is drawn. */
static double document(model *self, hawser_context *context, uint64_t begin, uint64_t end, double *counts, double *all)
{
    double of[TOPICS] = {0}, likelihood = 0;
    for (uint64_t n = begin; n < end; n++)
        of[self->topic[n]] += 1;
    for (uint64_t n = begin; n < end; n++) {
        double *row = counts + (size_t)self->word[n] * TOPICS, upto[TOPICS], sum = 0, chance = 0;
        int old = self->topic[n], now = 0;
        for (int k = 0; k < TOPICS; k++)
            chance += (of[k] + ALPHA) / ((double)(end - begin) + TOPICS * ALPHA) * (at_least_zero(row[k]) + BETA) /
                      (all[k] + WORDS * BETA);
        likelihood += log(chance);
        row[old] -= 1;
        all[old] -= 1;
        of[old] -= 1;
        for (int k = 0; k < TOPICS; k++)
            upto[k] = sum += (of[k] + ALPHA) * (at_least_zero(row[k]) + BETA) / (at_least_zero(all[k]) + WORDS * BETA);
        for (double at = hawser_random_uniform(context) * sum; now < TOPICS - 1 && upto[now] < at;)
            now++;
        self->topic[n] = (uint8_t)now;
        row[now] += 1;
        all[now] += 1;
        of[now] += 1;
    }
    return likelihood;
}

static hawser_status sweep(hawser_context *context)
{
    model *self = hawser_user(context);
    const hawser_matrix *mine;
    HAWSER_TRY(hawser_read(context, "documents", &mine));
    HAWSER_WRITE(context, double, counts);
    double all[TOPICS], likelihood = 0;
    for (uint32_t part = 0; part < self->managed.parts; part++) {
        size_t begin = mine->rows * part / self->managed.parts, end = mine->rows * (part + 1) / self->managed.parts;
        sum_topics(counts, all);
        for (size_t d = mine->first + begin; d < mine->first + end; d++)
            likelihood += document(self, context, self->offsets[d], self->offsets[d + 1], counts, all);
        HAWSER_TRY(managed_pace(&self->managed, context, part));
    }
    return hawser_report(context, "objective", -likelihood / TOKENS); /* per token, before its draw */
}

static hawser_status build(hawser_program *program, hawser_job *job, const managed *how, void *argument)
{
    model *self = argument;
    hawser_state *documents =
        HAWSER_STATE(program, "documents", HAWSER_DATA, .matrix = &self->matrix, .split = HAWSER_BY_ROW);
    hawser_state *counts =
        HAWSER_STATE(program, "counts", HAWSER_REPLICATED, .rows = (size_t)WORDS * TOPICS, .initial = self->counts);
    hawser_operator *loop =
        hawser_loop(hawser_root(program), "sweeps", (hawser_until){.clocks = how->clocks}, hawser_job_sync(job));
    HAWSER_UNIT(loop, "sweep", sweep, .reads = {documents}, .updates = {counts});
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    static model self;
    return managed_main(argc, argv, "lda", &self.managed, make, build, &self);
}
