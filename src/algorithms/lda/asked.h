/* asked.h - the words of the validation documents, whose counts are asked for while a model trains. */
#ifndef HW_ALGORITHMS_LDA_ASKED_H
#define HW_ALGORITHMS_LDA_ASKED_H

#include "algorithms/model/early.h"

/* Marks the words that the validation documents have, on every node, in *asked, which the caller frees; NULL: there are no
 * documents. Collective. */
hawser_status hw_asked_words(hawser_job *job, const hw_early *early, size_t words, uint8_t **asked,
                             hawser_error *error) HAWSER_MUST_USE;

#endif
