/*
 * expect.h - the memory that a linear model's units are expected to take, for the plan's estimate. The memory of rows and
 * columns is known. The size of working sets depends on the data: HW_LINEAR_EXPECTED members are counted, a usual number for
 * sparse models.
 */
#ifndef HW_ALGORITHMS_GLM_EXPECT_H
#define HW_ALGORITHMS_GLM_EXPECT_H

#include "algorithms/glm/linear.h"

enum { HW_LINEAR_EXPECTED = 350 };

typedef struct hw_linear_needs {
    double rows, columns;           /* doubles for each row, and for each own column, in each block */
    double node_rows;               /* doubles for each row once in a process, in addition to those of all linear models */
    double all;                     /* bytes for each column of the whole, in each block */
    double entries;                 /* bytes for each own entry, in each block */
    bool gram;                      /* blocks have a Gram matrix of a working set */
    bool shared_gram;               /* the blocks of a process share one, of all columns that may be members */
    double kept_rows, kept_columns; /* of `rows` and `columns`, those that a record has */
    bool kept_gram;                 /* a record has the Gram matrices */
    double summed;                  /* the most doubles of its products that a block adds up at once */
} hw_linear_needs;

/* Returns the expected number of members of the working sets of all blocks. */
size_t hw_linear_expected(const hw_linear *linear);
/* Returns the expected doubles of the gathered working sets with `fields` fields per member; each block's share takes at
 * least a page. */
size_t hw_linear_expected_sets(const hw_linear *linear, size_t fields);
void hw_linear_expect(hawser_program *program, const hw_linear *linear, const hw_linear_needs *needs);

#endif
