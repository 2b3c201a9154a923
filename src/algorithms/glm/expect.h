/*
 * expect.h - the memory that a linear model's units are expected to take, for the plan's estimate. What rows and columns take is known. How
 * large working sets become depends on the numbers: HW_LINEAR_EXPECTED members are counted, as sparse models have.
 */
#ifndef HW_ALGORITHMS_GLM_EXPECT_H
#define HW_ALGORITHMS_GLM_EXPECT_H

#include "algorithms/glm/linear.h"

enum { HW_LINEAR_EXPECTED = 350 };

typedef struct hw_linear_needs {
    double rows, columns; /* doubles for each row, and for each own column, in each block */
    double node_rows;     /* doubles for each row once in a process, besides what all linear models have */
    double all;           /* bytes for each column of the whole, in each block */
    double entries;       /* bytes for each own entry, in each block */
    bool gram;            /* blocks have a Gram matrix of a working set */
    bool shared_gram;     /* the blocks of a process have one in common, of all columns that may be members */
    double summed;        /* doubles of its products that a block adds up at once, at most */
} hw_linear_needs;

/* Members that a working set of all blocks is expected to have. */
size_t hw_linear_expected(const hw_linear *linear);
/* Doubles of a board with so many fields for a member; each block's share of it takes a page at least. */
size_t hw_linear_expected_board(const hw_linear *linear, size_t fields);
void hw_linear_expect(hawser_program *program, const hw_linear *linear, const hw_linear_needs *needs);

#endif
