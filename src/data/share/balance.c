#include "data/share/balance.h"

#include "base/layout.h"
#include "base/wide.h"
#include "hawser/data.h"

/* Returns the cost of the lines before a cut. */
static uint64_t cost(const uint64_t *offsets, size_t cut)
{
    return offsets[cut] - offsets[0] + (uint64_t)HW_LINE_COST * cut;
}

/* Returns the first cut in [low, high] before which the lines cost at least `wanted`. */
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

/* Moves a cut so that every part has a line while there are enough of them. */
static size_t fit(size_t cut, size_t before, size_t left, size_t lines)
{
    size_t least = before + 1, most = lines - (lines < left ? lines : left);
    cut = cut > most ? most : cut;
    cut = cut < least ? least : cut;
    return cut < lines ? cut : lines;
}

static double line_cost(const hawser_matrix *matrix, const double *costs, size_t line)
{
    uint64_t entries = hw_is_dense(matrix) ? hw_line_width(matrix) : matrix->offsets[line + 1] - matrix->offsets[line];
    return (double)entries + HW_LINE_COST + costs[line];
}

void hw_balance_costs(const hawser_matrix *matrix, const double *costs, size_t parts, size_t *bounds)
{
    size_t lines = hw_lines(matrix), cut = 0;
    double total = 0.0, before = 0.0;
    for (size_t line = 0; line < lines; line++)
        total += line_cost(matrix, costs, line);
    bounds[0] = 0;
    for (size_t p = 1; p < parts; p++) {
        double wanted = total * (double)p / (double)parts;
        /* the line at the ideal cut is put on the side where it does less harm */
        for (double next; cut < lines && before + 0.5 * (next = line_cost(matrix, costs, cut)) < wanted; cut++)
            before += next;
        bounds[p] = fit(cut, bounds[p - 1], parts - p, lines);
    }
    bounds[parts] = lines;
}

void hawser_balance(const hawser_matrix *matrix, size_t parts, size_t *bounds)
{
    if (matrix == NULL || bounds == NULL)
        return;
    size_t lines = hw_lines(matrix);
    bool even = hw_is_dense(matrix) || matrix->stored == 0;
    bounds[0] = 0;
    for (size_t p = 1; p < parts; p++) {
        size_t cut = (size_t)hw_share_of(lines, p, parts);
        if (!even) {
            const uint64_t *offsets = matrix->offsets;
            uint64_t wanted = hw_share_of(cost(offsets, lines), p, parts);
            cut = first_at_least(offsets, 0, lines, wanted);
            if (cut > 0 && wanted - cost(offsets, cut - 1) < cost(offsets, cut) - wanted)
                cut--; /* the line that holds the ideal cut goes to the side where it does less harm */
        }
        bounds[p] = fit(cut, bounds[p - 1], parts - p, lines);
    }
    bounds[parts] = lines;
}
