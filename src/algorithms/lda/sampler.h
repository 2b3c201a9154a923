/*
 * sampler.h - collapsed Gibbs sampling of topics, word by word.
 *
 * A token of word w in document d gets topic k with a probability proportional to (n_dk + alpha_k) q_k, where q_k = (n_wk +
 * beta) / (n_k + V beta), and no count has the token itself. The sum has two parts. That of n_dk q_k goes over the topics of
 * the document; that of alpha_k q_k is a tree of sums, from which a topic is drawn in O(log K). From one word to the next
 * only those weights of the tree change whose topics the words have.
 *
 * Everything but the numbers of the counts is made anew from them, and sums are added in the order of topics. So the topics
 * that are drawn depend on counts and draws alone.
 */
#ifndef HW_ALGORITHMS_LDA_SAMPLER_H
#define HW_ALGORITHMS_LDA_SAMPLER_H

#include "algorithms/lda/document_topics.h"
#include "algorithms/lda/draw.h"
#include "algorithms/lda/tree.h"

/* Of one block. */
typedef struct hw_sampler {
    size_t topics, words;
    double beta, of_words; /* beta, and V beta */
    double *alpha;
    int64_t *total;  /* n_k as the block sees it; with late updates it may be below 0 for a while, and counts as 0 then */
    double *inverse; /* 1 / (n_k + V beta) */
    double *q;
    hw_tree tree;    /* of alpha_k q_k */
    uint32_t *count; /* n_wk of the word that is sampled; else zeros */
    uint32_t *topic; /* the topics that it had or has, `used` of them */
    bool *is_used;
    size_t used;
    double *sums; /* of a document's topics, in groups */
} hw_sampler;

/* Makes a sampler for a block. The caller frees it, also after a failure. */
hawser_status hw_sampler_new(hw_sampler *s, size_t topics, size_t words, hawser_error *error) HAWSER_MUST_USE;
void hw_sampler_free(hw_sampler *s);
uint64_t hw_sampler_bytes(uint64_t topics);

/* Takes the parameters and n_k (topics numbers each): what all words share. */
void hw_sampler_begin(hw_sampler *s, const double *alpha, double beta, const int64_t *totals);

/* A word's counts, as the moving state has them: a number for each topic, or pairs of a topic and its count, which end with
 * the line or with a count of 0. */
typedef struct hw_word_line {
    int32_t *numbers;
    size_t size; /* of numbers: `topics`, or twice the word's tokens if these are fewer numbers */
} hw_word_line;

/* Returns how many numbers the line of a word with `tokens` tokens has. */
static inline size_t hw_word_line_size(uint64_t tokens, size_t topics)
{
    return tokens < (topics + 1) / 2 ? 2 * (size_t)tokens : topics;
}
/* Returns whether a line has pairs. */
static inline bool hw_word_line_pairs(const hw_word_line *line, size_t topics)
{
    return line->size < topics;
}

/* Tokens of a word: the document and the topic of each. */
typedef struct hw_word_tokens {
    const uint32_t *document;
    int32_t *topic;
    size_t count;
} hw_word_tokens;

/* Draws new topics for tokens of a word, one after the other, and changes all counts alike. */
void hw_sampler_word(hw_sampler *s, hw_document_topics *lists, const hw_word_line *line, const hw_word_tokens *tokens,
                     hw_draws draws);
/* Gives the tokens of a word, which have none yet, the topics of `tokens->topic`: adds them to the line and to s->total. The
 * documents' topics are the caller's. */
void hw_sampler_add(hw_sampler *s, const hw_word_line *line, const hw_word_tokens *tokens);

#endif
