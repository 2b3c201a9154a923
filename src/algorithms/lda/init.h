/* init.h - first topics from another model (--init MODEL). */
#ifndef HW_ALGORITHMS_LDA_INIT_H
#define HW_ALGORITHMS_LDA_INIT_H

#include "algorithms/lda/draw.h"
#include "algorithms/lda/topics.h"

/* The words of a model that a training starts from. */
typedef struct hw_lda_init {
    hw_topics topics; /* 0 of them: there is no model */
    int64_t *word;    /* of each word of the data: the model's, or -1 */
} hw_lda_init;

/* Finds the words of the data in the model: by name if both have names, else by number. The caller frees init->word, also
 * after a failure. */
hawser_status hw_lda_init_of(const hawser_model *model, const hawser_dataset *data, hw_lda_init *init,
                             hawser_error *error) HAWSER_MUST_USE;

/* Draws a topic for a token: as often as the word has each topic in the model, and evenly for a word that the model does not
 * know. */
size_t hw_lda_init_draw(const hw_lda_init *init, size_t word, size_t topics, hw_draws *draws);

#endif
