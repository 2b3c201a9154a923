/*
 * topics.h - a topic model: how often each word has each topic, the parameters of the priors, and its place in a model file.
 *
 * The probability of word w in topic k is (n_wk + beta) / (n_k + V beta), where n_wk is the count and n_k its sum over the V
 * words. A document has topic k with probability (n_dk + alpha_k) / (N_d + sum of alpha), where n_dk of its N_d tokens have
 * this topic.
 */
#ifndef HW_ALGORITHMS_LDA_TOPICS_H
#define HW_ALGORITHMS_LDA_TOPICS_H

#include "hawser/algorithm.h"

/* The fewest and the most topics of a model. */
enum { HW_TOPICS_LEAST = 2, HW_TOPICS_MOST = 65535 };

/* A topic model. Arrays are borrowed. */
typedef struct hw_topics {
    size_t topics, words;   /* K and V */
    const double *alpha;    /* by topic, each above 0 */
    double beta;            /* above 0 */
    uint64_t tokens;        /* of the training's documents: the sum of all counts */
    const int64_t *offsets; /* words + 1: the counts of word w are those from offsets[w] to offsets[w + 1] */
    const int32_t *topic;   /* of each count, from 0, ascending for each word */
    const int32_t *count;   /* each above 0 */
} hw_topics;

/* Adds the tensors alpha, word_offsets, word_topics and word_counts and the facts beta and tokens to a model. The rest of
 * its facts (model/facts.h) is the caller's. */
hawser_status hw_topics_put(const hw_topics *topics, hawser_model *model, hawser_error *error) HAWSER_MUST_USE;
/* Reads a model, whose arrays stay its own. HAWSER_BAD_INPUT: a tensor or fact is missing, or has a value that no training
 * writes. */
hawser_status hw_topics_of(const hawser_model *model, hw_topics *topics, hawser_error *error) HAWSER_MUST_USE;

/* Stores the tokens of each topic (n_k) in `totals`, which has topics->topics zeroed numbers. */
void hw_topics_totals(const hw_topics *topics, double *totals);
/* Returns the sum of alpha. */
double hw_topics_alpha(const hw_topics *topics);

#endif
