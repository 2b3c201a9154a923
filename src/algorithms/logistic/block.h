/* block.h - the state that one block of logistic regression keeps between units: Newton's, and that of each solver over a
 * parameter server. */
#ifndef HW_ALGORITHMS_LOGISTIC_BLOCK_H
#define HW_ALGORITHMS_LOGISTIC_BLOCK_H

#include "algorithms/newton/block.h"

typedef struct hw_logistic_block {
    hw_newton_block newton;              /* first: units of newton/program.h take the scratch for it */
    struct hw_logistic_delayed *delayed; /* --solver dbpg by column; else NULL */
    struct hw_logistic_by_row *by_row;   /* --solver dbpg by row; else NULL */
    struct hw_logistic_steps *steps;     /* --solver gd, sgd or minibatch; else NULL */
} hw_logistic_block;

#endif
