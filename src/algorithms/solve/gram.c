#include "algorithms/solve/gram.h"

#include <stdlib.h>
#include <string.h>

enum {
    EXPECTED_EPOCHS = 60, /* of a descent, to choose its space */
    LEAST_BATCH = 8       /* slots that the kernels process at once */
};

hawser_status hw_linear_gram_new(hw_linear_gram *gram, size_t columns, hawser_error *error)
{
    memset(gram, 0, sizeof *gram);
    gram->epochs = EXPECTED_EPOCHS;
    gram->slot = malloc((columns + 1) * sizeof *gram->slot);
    gram->columns = malloc((columns + 1) * sizeof *gram->columns);
    if (gram->slot == NULL || gram->columns == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the working set of %zu columns", columns);
    for (size_t j = 0; j < columns; j++)
        gram->slot[j] = HW_LINEAR_NO_SLOT;
    return HAWSER_OK;
}

void hw_linear_gram_free(hw_linear_gram *gram)
{
    free(gram->slot);
    free(gram->columns);
    free(gram->values);
    free(gram->keep);
    memset(gram, 0, sizeof *gram);
}

void hw_linear_gram_clear(hw_linear_gram *gram)
{
    for (size_t s = 0; s < gram->count; s++)
        gram->slot[gram->columns[s]] = HW_LINEAR_NO_SLOT;
    gram->count = 0;
    gram->whole = false;
}

/* Keeps only the listed columns that have a slot, and closes the gaps between their entries. */
static void compact(hw_linear_gram *gram, const uint32_t *list, size_t count)
{
    size_t kept = 0, ld = gram->capacity;
    if (gram->count == 0)
        return;
    memset(gram->keep, 0, gram->count * sizeof *gram->keep);
    for (size_t k = 0; k < count; k++)
        if (gram->slot[list[k]] != HW_LINEAR_NO_SLOT)
            gram->keep[gram->slot[list[k]]] = true;
    for (size_t s = 0; s < gram->count; s++) {
        if (!gram->keep[s]) {
            gram->slot[gram->columns[s]] = HW_LINEAR_NO_SLOT;
            continue;
        }
        double *column = gram->values + kept * ld;
        memmove(column, gram->values + s * ld, gram->count * sizeof *column);
        for (size_t from = 0, to = 0; from < gram->count; from++)
            if (gram->keep[from])
                column[to++] = column[from];
        gram->columns[kept++] = gram->columns[s];
    }
    for (size_t s = 0; s < kept; s++)
        gram->slot[gram->columns[s]] = (uint32_t)s;
    gram->count = kept;
}

static hawser_status grow(hw_linear_gram *gram, size_t needed, hawser_error *error)
{
    size_t capacity = (needed + needed / 4 + 31) / 8 * 8;
    double *values = malloc(capacity * capacity * sizeof *values);
    bool *keep = realloc(gram->keep, capacity * sizeof *keep);
    gram->keep = keep != NULL ? keep : gram->keep;
    if (values == NULL || keep == NULL) {
        free(values);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a Gram matrix of %zu columns; try --solver cd", capacity);
    }
    for (size_t c = 0; c < gram->count; c++)
        memcpy(values + c * capacity, gram->values + c * gram->capacity, gram->count * sizeof *values);
    free(gram->values);
    gram->values = values;
    gram->capacity = capacity;
    return HAWSER_OK;
}

void hw_linear_gram_show(hw_linear_gram *gram)
{
    gram->view = (hawser_matrix){.rows = gram->count,
                                 .cols = gram->count,
                                 .stored = (uint64_t)gram->count * gram->count,
                                 .layout = HAWSER_DENSE,
                                 .type = HAWSER_F64,
                                 .values = gram->values,
                                 .stride = gram->capacity};
}

hawser_status hw_linear_gram_admit(hw_linear_gram *gram, const uint32_t *list, size_t count, size_t *fresh,
                                   hawser_error *error)
{
    size_t missing = 0;
    for (size_t k = 0; k < count; k++)
        missing += gram->slot[list[k]] == HW_LINEAR_NO_SLOT;
    size_t needed = gram->count + missing;
    if (!gram->whole && (needed > gram->capacity || needed > 3 * count || (gram->most > 0 && needed > gram->most)))
        compact(gram, list, count);
    if (gram->count + missing > gram->capacity)
        HAWSER_TRY(grow(gram, gram->count + missing, error));
    *fresh = gram->count;
    for (size_t k = 0; k < count; k++)
        if (gram->slot[list[k]] == HW_LINEAR_NO_SLOT) {
            gram->slot[list[k]] = (uint32_t)gram->count;
            gram->columns[gram->count++] = list[k];
        }
    hw_linear_gram_show(gram);
    return HAWSER_OK;
}

static double centred(const hw_linear_gram *gram, const hw_linear_columns *columns, size_t a, size_t b, double sum)
{
    return sum * (1.0 / columns->total) - columns->mean[gram->columns[a]] * columns->mean[gram->columns[b]];
}

hawser_status hw_linear_gram_fill(hw_linear_gram *gram, const hw_linear_columns *columns, size_t begin, size_t end,
                                  hw_linear_stop stop, hawser_error *error)
{
    size_t ld = gram->capacity;
    double *G = gram->values;
    for (size_t at = begin, next; at < end && !hw_linear_stopping(stop); at = next) {
        next = end - at > HW_LINEAR_POLL ? at + HW_LINEAR_POLL : end;
        HAWSER_TRY(hawser_gram(&columns->X, gram->columns, at, next, columns->weights, G, ld, error));
        for (size_t a = at; a < next; a++)
            for (size_t b = 0; b <= a; b++)
                G[a * ld + b] = G[b * ld + a] =
                    centred(gram, columns, a, b, G[a * ld + b]) + 0.0; /* never -0.0, as in a sum */
    }
    return HAWSER_OK;
}

hawser_status hw_linear_gram_all(hw_linear_gram *gram, const hw_linear_columns *columns, hw_linear_stop stop,
                                 hawser_error *error)
{
    size_t all = columns->X.cols;
    if (gram->whole) {
        hw_linear_gram_show(gram); /* it may have been read back */
        return HAWSER_OK;
    }
    hw_linear_gram_clear(gram);
    if (all > gram->capacity)
        HAWSER_TRY(grow(gram, all, error));
    for (size_t j = 0; j < all; j++)
        gram->slot[j] = gram->columns[j] = (uint32_t)j;
    gram->count = all;
    HAWSER_TRY(hw_linear_gram_fill(gram, columns, 0, all, stop, error));
    gram->whole = true;
    if (hw_linear_stopping(stop)) /* entries may be missing */
        hw_linear_gram_clear(gram);
    hw_linear_gram_show(gram);
    return HAWSER_OK;
}

size_t hw_linear_gram_batch(const hw_linear_gram *gram, size_t first, size_t begin)
{
    size_t poll = first + ((begin - first) / HW_LINEAR_POLL + 1) * HW_LINEAR_POLL;
    size_t last = poll < gram->count ? poll : gram->count, end = begin, products = 0;
    while (end < last && (end < begin + LEAST_BATCH || products + end + 1 <= HW_LINEAR_GRAM_BATCH))
        products += ++end;
    end -= end < last ? (end - begin) % LEAST_BATCH : 0;
    return last - end < LEAST_BATCH ? last : end;
}

hawser_status hw_linear_gram_part(const hw_linear_gram *gram, const hw_linear_columns *columns, size_t begin, size_t end,
                                  size_t first, size_t last, bool centre, double *list, hawser_error *error)
{
    double inverse = 1.0 / columns->total;
    const double *row = list;
    HAWSER_TRY(hawser_gram_rows(&columns->X, first, last, gram->columns, begin, end, columns->weights, list, end, error));
    for (size_t a = begin; a < end; a++, row += end)
        for (size_t b = 0; b <= a; b++)
            *list++ = centre ? centred(gram, columns, a, b, row[b]) : row[b] * inverse;
    return HAWSER_OK;
}

void hw_linear_gram_list(const hw_linear_gram *gram, size_t begin, size_t end, size_t first, size_t last, double *list)
{
    for (size_t a = begin; a < end; list += ++a)
        if (a >= first && a < last)
            memcpy(list, gram->values + a * gram->capacity, (a + 1) * sizeof *list);
        else
            memset(list, 0, (a + 1) * sizeof *list);
}

void hw_linear_gram_take(hw_linear_gram *gram, size_t begin, size_t end, const double *list)
{
    size_t ld = gram->capacity;
    for (size_t a = begin; a < end; list += ++a)
        for (size_t b = 0; b <= a; b++)
            gram->values[a * ld + b] = gram->values[b * ld + a] = list[b];
}

static double entries(const hw_linear_columns *columns, uint32_t j)
{
    if (columns->X.layout == HAWSER_DENSE)
        return (double)columns->X.rows;
    return (double)(columns->X.offsets[j + 1] - columns->X.offsets[j]);
}

/* Returns the cost of a product with a Gram matrix of m columns. Costs are estimates in touched numbers, about nanoseconds.
 * Dense arithmetic reads memory in order, three times as slowly as from a processor's own cache. Packed rows gather and
 * scatter in a vector as long as the list (packed.h); passes do so in one as long as the rows, twice for each column. The
 * factors below follow from this. */
static double gram_cost(double m)
{
    return m * m * (m * m > (1 << 18) ? 0.3 : 0.1);
}

static double product_cost(const hw_linear_columns *columns, double all)
{
    double packed = columns->X.rows > (1 << 17) ? 1.4 : 1.0;
    return all * (columns->X.layout == HAWSER_DENSE ? 0.8 : packed);
}

/* Returns the cost of a pass, which reads every column and changes the residual by it. */
static double pass_cost(const hw_linear_columns *columns, double all)
{
    double gather = columns->X.rows > (1 << 17) ? 2.0 : 0.8;
    return 2.0 * all * (columns->X.layout == HAWSER_DENSE ? 0.4 : gather);
}

/* Compares costs over `m` columns with `all` entries. The Gram matrix costs the building of its part with `fresh` entries,
 * and then products; the residual costs products or passes. */
static bool pays(const hw_linear_columns *columns, double all, double fresh, double m, double epochs, bool rounds)
{
    bool dense = columns->X.layout == HAWSER_DENSE;
    double build = dense ? fresh * m * 0.1 : 2.0 * fresh * (1.0 + all / (double)columns->X.rows);
    double residual = rounds ? pass_cost(columns, all) : product_cost(columns, all);
    return build + epochs * (gram_cost(m) + 4.0 * m) < epochs * residual;
}

bool hw_linear_gram_would_pay(const hw_linear_columns *columns, double entries, size_t count, double epochs)
{
    return count <= HW_LINEAR_LARGEST_GRAM && pays(columns, entries, entries, (double)count, epochs, false);
}

bool hw_linear_gram_pays(const hw_linear_gram *gram, const hw_linear_columns *columns, const uint32_t *list, size_t count,
                         size_t most)
{
    if (count > most || columns->far) /* their products have no digits of what they differ by */
        return false;
    double all = 0.0, fresh = 0.0, m = (double)count;
    for (size_t k = 0; k < count; k++) {
        double e = entries(columns, list[k]);
        all += e;
        if (hw_linear_rough(columns, list[k]))
            return false;
        fresh += gram->slot[list[k]] == HW_LINEAR_NO_SLOT ? e : 0.0;
    }
    return pays(columns, all, fresh, m, gram->epochs, gram->rounds);
}

double hw_linear_product_cost(const hw_linear_columns *columns, const uint32_t *list, size_t count, bool use_gram)
{
    double all = 0.0;
    for (size_t k = 0; k < count; k++)
        all += entries(columns, list[k]);
    return use_gram ? gram_cost((double)count) : product_cost(columns, all);
}
