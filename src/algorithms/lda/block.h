/* block.h - what a block has in its scratch: its tokens by word, and the topics of its documents. */
#ifndef HW_ALGORITHMS_LDA_BLOCK_H
#define HW_ALGORITHMS_LDA_BLOCK_H

#include "algorithms/lda/problem.h"
#include "algorithms/lda/sampler.h"
#include "hawser/record.h"

typedef struct hw_lda_block {
    const hw_lda *lda; /* NULL: nothing is made yet */
    size_t rows;
    uint32_t *length;   /* tokens of each document */
    uint64_t *start;    /* words + 1: the tokens of each word. State z has the topics of tokens in this order */
    uint32_t *document; /* of each token, ascending for each word */
    hw_sampler sampler;
    hw_document_topics lists;
    int64_t known;        /* `lists` are those of z after so many clocks (state "turn"); HW_LDA_UNKNOWN: of no clock */
    hw_early_count early; /* remembered by hw_lda_block_visit; all else is made anew */
} hw_lda_block;

enum { HW_LDA_UNKNOWN = -1 };

/* Makes the block if it has not been made, or has been dropped since. The unit reads X. */
hawser_status hw_lda_block_open(hawser_context *context, hw_lda_block **block) HAWSER_MUST_USE;
/* Makes lists of the topics z after `clocks` clocks, unless they are these already. */
void hw_lda_block_know(hw_lda_block *block, const int32_t *z, int64_t clocks);
void hw_lda_block_release(void *block);
void hw_lda_block_visit(hawser_record *record, hawser_context *context);
/* Estimates the bytes of a block. */
uint64_t hw_lda_block_bytes(const hw_lda *lda);

#endif
