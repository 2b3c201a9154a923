#include "algorithms/lda/units.h"

#include <math.h>

#include "algorithms/lda/block.h"
#include "algorithms/lda/likelihood.h"
#include "algorithms/lda/optimise.h"
#include "hawser/moving.h"

/* ---- sampling ---- */

static hw_word_line line_of(const hw_lda *lda, const hawser_moving_part *part, size_t word)
{
    return (hw_word_line){.numbers = (int32_t *)part->values + (lda->offsets[word] - part->first),
                          .size = lda->offsets[word + 1] - lda->offsets[word]};
}

static hw_word_tokens tokens_of(const hw_lda_block *b, int32_t *z, size_t word)
{
    uint64_t first = b->start[word];
    return (hw_word_tokens){
        .document = b->document + first, .topic = z + first, .count = (size_t)(b->start[word + 1] - first)};
}

static void draw_first(const hw_lda *lda, uint32_t block, size_t word, hw_word_tokens *tokens)
{
    hw_draws draws = hw_draws_of_word(lda->seed, HW_DRAW_FIRST, 0, block, word);
    for (size_t t = 0; t < tokens->count; t++)
        tokens->topic[t] = (int32_t)hw_lda_init_draw(&lda->init, word, lda->topics, &draws);
}

hawser_status hw_lda_first(hawser_context *context)
{
    hw_lda_block *b;
    hawser_moving_part part;
    HAWSER_TRY(hw_lda_block_open(context, &b));
    HAWSER_READ(context, double, prior);
    HAWSER_WRITE(context, int32_t, z);
    HAWSER_WRITE(context, int64_t, n_k);
    HAWSER_WRITE(context, int64_t, turn);
    const hw_lda *lda = b->lda;
    hw_sampler_begin(&b->sampler, prior, prior[lda->topics], n_k);
    for (;;) {
        HAWSER_TRY(hawser_next_part(context, "n_wk", &part));
        if (part.number == UINT32_MAX)
            break;
        for (size_t w = part.first_line; w < part.first_line + part.lines; w++) {
            hw_word_line line = line_of(lda, &part, w);
            hw_word_tokens tokens = tokens_of(b, z, w);
            draw_first(lda, hawser_block(context), w, &tokens);
            hw_sampler_add(&b->sampler, &line, &tokens);
        }
    }
    for (size_t k = 0; k < lda->topics; k++)
        n_k[k] = b->sampler.total[k];
    turn[0]++;
    return HAWSER_OK;
}

hawser_status hw_lda_sample(hawser_context *context)
{
    hw_lda_block *b;
    hawser_moving_part part;
    HAWSER_TRY(hw_lda_block_open(context, &b));
    HAWSER_READ(context, double, prior);
    HAWSER_WRITE(context, int32_t, z);
    HAWSER_WRITE(context, int64_t, n_k);
    HAWSER_WRITE(context, int64_t, turn);
    const hw_lda *lda = b->lda;
    uint64_t pass = (uint64_t)turn[0] / lda->blocks; /* 1 is the first one: pass 0 gives first topics */
    hw_lda_block_know(b, z, turn[0]);
    b->known = HW_LDA_UNKNOWN; /* until the end, if the unit is left before it */
    hw_sampler_begin(&b->sampler, prior, prior[lda->topics], n_k);
    for (;;) {
        HAWSER_TRY(hawser_next_part(context, "n_wk", &part));
        if (part.number == UINT32_MAX)
            break;
        for (size_t w = part.first_line; w < part.first_line + part.lines; w++) {
            hw_word_line line = line_of(lda, &part, w);
            hw_word_tokens tokens = tokens_of(b, z, w);
            if (tokens.count > 0)
                hw_sampler_word(&b->sampler, &b->lists, &line, &tokens,
                                hw_draws_of_word(lda->seed, HW_DRAW_PASS, pass, hawser_block(context), w));
        }
    }
    for (size_t k = 0; k < lda->topics; k++)
        n_k[k] = b->sampler.total[k];
    b->known = ++turn[0];
    return HAWSER_OK;
}

/* ---- what is due after a rotation ---- */

/* Returns the passes that are done; those that were begun count as parts. */
static double passes_of(const hw_lda *lda, int64_t turn)
{
    return (double)turn / lda->blocks - 1.0;
}

/* Measures the validation documents. *kept becomes whether no model before had a lower perplexity. */
static hawser_status validate(hawser_context *context, hw_lda_block *b, const hawser_moving_part parts[HW_LDA_PARTS],
                              const double *prior, bool counts)
{
    const hw_lda *lda = b->lda;
    double perplexity = NAN;
    if (lda->asked == NULL)
        return HAWSER_OK;
    if (b->early.evaluations == 0)
        b->early = hw_early_begin();
    HAWSER_TRY(hw_lda_perplexity(context, lda, parts, prior, &perplexity));
    if (hawser_block(context) == 0 && !isnan(perplexity))
        HAWSER_TRY(hawser_report(context, "perplexity", perplexity));
    if (!counts)
        return HAWSER_OK;
    HAWSER_TRY(hw_early_measure(context, &b->early, perplexity));
    bool lower = hw_early_compare(&lda->early, &b->early);
    if (lda->early.patience > 0)
        HAWSER_TRY(hawser_report(context, "kept", lower || b->early.evaluations == 1));
    return hawser_report(context, "evaluations", (double)b->early.evaluations);
}

/* counts: the perplexity is one of those that end the training. */
static hawser_status measure(hawser_context *context, bool counts)
{
    hw_lda_block *b;
    double likelihood = 0.0;
    hawser_moving_part parts[HW_LDA_PARTS];
    HAWSER_TRY(hw_lda_block_open(context, &b));
    HAWSER_READ(context, double, prior);
    HAWSER_READ(context, int32_t, z);
    HAWSER_READ(context, int64_t, n_k);
    HAWSER_READ(context, int64_t, turn);
    hw_lda_block_know(b, z, turn[0]);
    HAWSER_TRY(hw_lda_parts(context, parts));
    HAWSER_TRY(hw_lda_likelihood(context, b, parts, prior, n_k, &likelihood));
    HAWSER_TRY(validate(context, b, parts, prior, counts));
    HAWSER_TRY(hawser_report(context, "log_likelihood", likelihood / b->lda->tokens));
    HAWSER_TRY(hawser_report(context, "beta", prior[b->lda->topics]));
    return hawser_report(context, "iterations", passes_of(b->lda, turn[0]));
}

hawser_status hw_lda_measure(hawser_context *context)
{
    const hw_lda *lda = hawser_user(context);
    const hw_lda_block *b = hawser_scratch(context);
    HAWSER_READ(context, int64_t, turn);
    double passes = passes_of(lda, turn[0]);
    bool last = passes >= (double)lda->passes, due = last || fmod(passes, (double)lda->measure_every) == 0.0;
    if (due)
        HAWSER_TRY(measure(context, true));
    else if (lda->early.patience > 0)
        HAWSER_TRY(hawser_report(context, "kept", 0.0));
    bool early = due && lda->asked != NULL && hw_early_ends(&lda->early, &b->early);
    return hawser_report(context, "ended", last ? HW_LDA_PASSES : early ? HW_LDA_EARLY : HW_LDA_GOES_ON);
}

hawser_status hw_lda_measure_last(hawser_context *context)
{
    const hw_lda *lda = hawser_user(context);
    HAWSER_READ(context, int64_t, turn);
    bool measured = hawser_metric(context, "iterations") == passes_of(lda, turn[0]);
    return turn[0] < lda->blocks || measured ? HAWSER_OK : measure(context, false);
}

hawser_status hw_lda_optimise(hawser_context *context)
{
    hw_lda_block *b;
    const hw_lda *lda = hawser_user(context);
    HAWSER_READ(context, int64_t, turn);
    double passes = passes_of(lda, turn[0]);
    if (lda->optimize_every == 0 || passes < (double)lda->burn_in || passes == 0.0 ||
        fmod(passes, (double)lda->optimize_every) != 0.0)
        return HAWSER_OK;
    HAWSER_TRY(hw_lda_block_open(context, &b));
    HAWSER_READ(context, int32_t, z);
    HAWSER_READ(context, int64_t, n_k);
    hw_lda_block_know(b, z, turn[0]);
    return hw_lda_fit_prior(context, b, n_k);
}
