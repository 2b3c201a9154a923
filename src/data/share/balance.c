#include "data/share/balance.h"

#include "hawser/data.h"

/* What the lines before a cut cost together. */
static uint64_t cost(const uint64_t *offsets, size_t cut)
{
    return offsets[cut] - offsets[0] + (uint64_t)HW_LINE_COST * cut;
}

/* First cut in [low, high] before which the lines cost at least `wanted`. */
static size_t first_at_least(const uint64_t *offsets, size_t low, size_t high, uint64_t wanted)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cost(offsets, middle) < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* part / parts of `whole`, without overflow. */
static uint64_t share(uint64_t whole, size_t part, size_t parts)
{
    return whole / parts * part + whole % parts * part / parts;
}

void hawser_balance(const hawser_matrix *matrix, size_t parts, size_t *bounds)
{
    size_t lines = matrix->layout == HAWSER_CSR ? matrix->rows : matrix->cols;
    bool even = matrix->layout == HAWSER_DENSE || matrix->stored == 0;
    bounds[0] = 0;
    for (size_t p = 1; p < parts; p++) {
        size_t cut = (size_t)share(lines, p, parts);
        if (!even) {
            const uint64_t *offsets = matrix->offsets;
            uint64_t wanted = share(cost(offsets, lines), p, parts);
            cut = first_at_least(offsets, 0, lines, wanted);
            if (cut > 0 && wanted - cost(offsets, cut - 1) < cost(offsets, cut) - wanted)
                cut--; /* the line that holds the ideal cut goes to the side where it does less harm */
        }
        size_t least = bounds[p - 1] + 1, most = lines - (lines < parts - p ? lines : parts - p);
        if (cut > most)
            cut = most;
        if (cut < least)
            cut = least;
        bounds[p] = cut < lines ? cut : lines;
    }
    bounds[parts] = lines;
}
