/* exact.h - options that a training by rows refuses if it adds up exact sums over the workers, under bsp. */
#ifndef HW_ALGORITHMS_MODEL_EXACT_H
#define HW_ALGORITHMS_MODEL_EXACT_H

#include "hawser/hawser.h"
#include "hawser/options.h"

/* Fails if an option was given that such a training does not follow: another sync than bsp or an option of the exchange with
 * several blocks. `name` is the algorithm's in messages: "k-means". */
hawser_status hw_exact_options(const hawser_options *options, hawser_sync sync, uint32_t blocks, const char *name,
                               hawser_error *error) HAWSER_MUST_USE;

#endif
