/* gram.h - the Gram matrix of a growing set of columns, centred and weighted, kept across rounds and lambdas. */
#ifndef HW_ALGORITHMS_SOLVE_GRAM_H
#define HW_ALGORITHMS_SOLVE_GRAM_H

#include "algorithms/solve/columns.h"
#include "algorithms/solve/stop.h"

#define HW_LINEAR_NO_SLOT UINT32_MAX

enum {
    HW_LINEAR_LARGEST_GRAM = 8192, /* columns: 512 MiB, or 800 MiB with the quarter that is allocated in advance */
    HW_LINEAR_GRAM_BATCH =
        1 << 17, /* products that are added up at a time, about: each batch lists the entries of all columns anew */
    HW_LINEAR_GRAM_MOST_SUMMED =
        HW_LINEAR_GRAM_BATCH + 16 * HW_LINEAR_LARGEST_GRAM /* and at most, since a batch has whole slots */
};

typedef struct hw_linear_gram {
    uint32_t *slot;    /* by column; HW_LINEAR_NO_SLOT: it has none */
    uint32_t *columns; /* by slot */
    size_t count, capacity;
    size_t most;        /* the most slots; 0: no limit */
    double epochs;      /* expected epochs of a descent on it */
    bool whole;         /* it has all columns, each in the slot of its number, and keeps them */
    bool rounds;        /* descents are short rounds, with passes over coordinates rather than products */
    bool *keep;         /* scratch, by slot */
    double *values;     /* count x count within capacity x capacity; column-major, symmetric */
    hawser_matrix view; /* of values, for the vector kernels */
} hw_linear_gram;

hawser_status hw_linear_gram_new(hw_linear_gram *gram, size_t columns, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_gram_free(hw_linear_gram *gram);
void hw_linear_gram_clear(hw_linear_gram *gram);
/* Makes `view` that of the present slots. */
void hw_linear_gram_show(hw_linear_gram *gram);
/* Assigns a slot to every listed column, from *fresh on to new ones. Drops columns that are not listed if memory or the
 * limit requires it. */
hawser_status hw_linear_gram_admit(hw_linear_gram *gram, const uint32_t *list, size_t count, size_t *fresh,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Computes the entries of slots [begin, end) with all slots before them, and the mirrored entries. If the run is asked to
 * end, it returns early with entries missing. */
hawser_status hw_linear_gram_fill(hw_linear_gram *gram, const hw_linear_columns *columns, size_t begin, size_t end,
                                  hw_linear_stop stop, hawser_error *error) HAWSER_MUST_USE;

/* Makes the matrix that of all columns, unless it is already. If the run is asked to end, it returns early, and `whole`
 * stays false. */
hawser_status hw_linear_gram_all(hw_linear_gram *gram, const hw_linear_columns *columns, hw_linear_stop stop,
                                 hawser_error *error) HAWSER_MUST_USE;

/* Returns the end of the batch of slots that begins with `begin`, if the products of slots from `first` on are computed in
 * batches. A batch has about HW_LINEAR_GRAM_BATCH products, so that a part of it takes little memory. */
size_t hw_linear_gram_batch(const hw_linear_gram *gram, size_t first, size_t begin);
/* Computes the contribution of rows [first, last) to the products of slots [begin, end), as a list: for each slot the
 * products with all slots up to itself. The contributions of all rows add up to the products if one of them is centred.
 * `list` needs memory for (end - begin) * end numbers. */
hawser_status hw_linear_gram_part(const hw_linear_gram *gram, const hw_linear_columns *columns, size_t begin, size_t end,
                                  size_t first, size_t last, bool centre, double *list, hawser_error *error) HAWSER_MUST_USE;
/* Writes such a list of products that the matrix has, with zeros for slots outside [first, last). */
void hw_linear_gram_list(const hw_linear_gram *gram, size_t begin, size_t end, size_t first, size_t last, double *list);
/* Stores the products of slots [begin, end) from such a list in the matrix. */
void hw_linear_gram_take(hw_linear_gram *gram, size_t begin, size_t end, const double *list);

/* Returns true if a descent over the listed columns is cheaper on their Gram matrix, of at most `most` columns, than on the
 * residual. The cost includes the missing entries. Returns false if a mean is so large that centring would lose the digits
 * of products. */
bool hw_linear_gram_pays(const hw_linear_gram *gram, const hw_linear_columns *columns, const uint32_t *list, size_t count,
                         size_t most);

/* Returns the same for `count` columns with `entries` entries, no entry of whose matrix has been computed, and `epochs`
 * products. */
bool hw_linear_gram_would_pay(const hw_linear_columns *columns, double entries, size_t count, double epochs);

/* Returns the cost of one product of conjugate gradients over the listed columns, in touched numbers. */
double hw_linear_product_cost(const hw_linear_columns *columns, const uint32_t *list, size_t count, bool use_gram);

#endif
