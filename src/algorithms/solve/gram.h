/* gram.h - the Gram matrix of a growing set of columns, centred and weighted, kept across rounds and lambdas. */
#ifndef HW_ALGORITHMS_SOLVE_GRAM_H
#define HW_ALGORITHMS_SOLVE_GRAM_H

#include "algorithms/solve/columns.h"
#include "algorithms/solve/stop.h"

#define HW_LINEAR_NO_SLOT UINT32_MAX

enum {
    HW_LINEAR_LARGEST_GRAM = 8192,  /* columns: 512 MiB, 800 with the quarter of room for more that it is made with */
    HW_LINEAR_GRAM_BATCH = 1 << 14, /* products that are added up at a time, */
    HW_LINEAR_GRAM_MOST_SUMMED = HW_LINEAR_GRAM_BATCH + 16 * HW_LINEAR_LARGEST_GRAM /* and at most: a batch has some slots */
};

typedef struct hw_linear_gram {
    uint32_t *slot;    /* of each column, HW_LINEAR_NO_SLOT where it has none */
    uint32_t *columns; /* of each slot */
    size_t count, capacity;
    size_t most;        /* slots, where their number is limited; else 0 */
    double epochs;      /* that a descent on it is expected to take */
    bool rounds;        /* descents are rounds: short ones, passes over coordinates rather than products */
    bool *keep;         /* scratch, one a slot */
    double *values;     /* count x count within capacity x capacity; column-major, symmetric */
    hawser_matrix view; /* of values, so that the vector kernels work on it */
} hw_linear_gram;

hawser_status hw_linear_gram_new(hw_linear_gram *gram, size_t columns, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_gram_free(hw_linear_gram *gram);
void hw_linear_gram_clear(hw_linear_gram *gram);
/* Gives every listed column a slot, the new ones from *fresh on; drops what is not listed when that makes room. */
hawser_status hw_linear_gram_admit(hw_linear_gram *gram, const uint32_t *list, size_t count, size_t *fresh,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Computes the entries of slots [begin, end) with all slots before them, and the mirrored ones; ends early, with entries missing,
 * where the run is to end. */
hawser_status hw_linear_gram_fill(hw_linear_gram *gram, const hw_linear_columns *columns, size_t begin, size_t end,
                                  hw_linear_stop stop, hawser_error *error) HAWSER_MUST_USE;

/* Of slots from `first` on, whose products are computed in batches: where the batch ends that begins with slot `begin`. A batch has about
 * HW_LINEAR_GRAM_BATCH products, so that a part of it takes little memory. */
size_t hw_linear_gram_batch(const hw_linear_gram *gram, size_t first, size_t begin);
/* Computes what rows [first, last) contribute to the products of slots [begin, end) with all slots before them, as a list: of each slot the
 * products with slots up to itself. The parts of all rows add up to the products; one of them is centred. `list` needs memory for
 * (end - begin) * end numbers. */
hawser_status hw_linear_gram_part(const hw_linear_gram *gram, const hw_linear_columns *columns, size_t begin, size_t end,
                                  size_t first, size_t last, bool centre, double *list, hawser_error *error) HAWSER_MUST_USE;
/* Writes such a list of the products in the matrix, with zeros for slots outside of [first, last). */
void hw_linear_gram_list(const hw_linear_gram *gram, size_t begin, size_t end, size_t first, size_t last, double *list);
/* Takes the products of slots [begin, end) from such a list. */
void hw_linear_gram_take(hw_linear_gram *gram, size_t begin, size_t end, const double *list);

/* Is a descent over the listed columns cheaper on their Gram matrix, of at most so many columns, than on the residual? Counts
 * the building of what is missing. Never where a mean is so large that centring would lose the products' digits. */
bool hw_linear_gram_pays(const hw_linear_gram *gram, const hw_linear_columns *columns, const uint32_t *list, size_t count,
                         size_t most);

/* The same of so many columns and entries, nothing of whose matrix is there, and so many products. */
bool hw_linear_gram_would_pay(const hw_linear_columns *columns, double entries, size_t count, double epochs);

/* What one product of conjugate gradients over the listed columns costs, in the same touched numbers. */
double hw_linear_product_cost(const hw_linear_columns *columns, const uint32_t *list, size_t count, bool use_gram);

#endif
