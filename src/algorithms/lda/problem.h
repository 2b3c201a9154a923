/* problem.h - a training of topics: what the options ask for, the data, and how words are cut into parts. Read-only while
 * units run. */
#ifndef HW_ALGORITHMS_LDA_PROBLEM_H
#define HW_ALGORITHMS_LDA_PROBLEM_H

#include "algorithms/lda/init.h"
#include "algorithms/model/early.h"

typedef struct hw_lda {
    const hawser_matrix *X; /* documents by rows, counts of words */
    const hawser_dataset *data;
    size_t topics, words;
    uint32_t blocks, parts;
    double *prior; /* alpha of each topic, then beta: where the training begins */
    uint64_t passes, burn_in, optimize_every, measure_every;
    uint64_t rotation; /* passes of a rotation: after each, the model may be measured and alpha and beta fitted */
    uint64_t seed;
    hw_lda_init init; /* first topics */
    hw_early early;   /* validation documents */
    uint8_t *asked;   /* by word: whether these have it; NULL: there are none */
    uint64_t held;    /* bytes of data in memory besides X (hawser_training_input.held) */

    double tokens;
    int64_t *frequency; /* of each word, over all documents */
    size_t *offsets;    /* words + 1: the numbers of each word's line in the moving state (sampler.h) */
    size_t *cut;        /* parts + 1: the words of each part */
} hw_lda;

/* The functions of hw_learner. */
hawser_status hw_lda_read(void *own, hawser_job *job, const hawser_training_input *input, hawser_error *error);
void hw_lda_release(void *own);

#endif
