#include "data/share/balance.h"

#include "base/layout.h"
#include "base/wide.h"
#include "hawser/data.h"
#include "linalg/presence.h"

/* Returns the cost of the whole's lines before a cut, which is in the piece or at one of its ends. */
static uint64_t cost(const hw_line_range *piece, size_t cut)
{
    return piece->before + piece->offsets[cut - piece->first] - piece->offsets[0] + (uint64_t)HW_LINE_COST * cut;
}

/* Returns the first cut in the piece before which the lines cost at least `wanted`. */
static size_t first_at_least(const hw_line_range *piece, uint64_t wanted)
{
    size_t low = piece->first, high = piece->first + piece->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cost(piece, middle) < wanted)
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

void hw_balance_even(size_t count, size_t parts, size_t *bounds)
{
    for (size_t p = 0; p <= parts; p++)
        bounds[p] = count / parts * p + (p < count % parts ? p : count % parts);
}

void hw_balance_find(const hw_line_range *piece, size_t lines, uint64_t stored, size_t parts, size_t *cuts)
{
    size_t last = piece->first + piece->count;
    for (size_t p = 1; p < parts; p++) {
        uint64_t wanted = hw_share_of(stored + (uint64_t)HW_LINE_COST * lines, p, parts);
        cuts[p] = SIZE_MAX;
        if (wanted > cost(piece, last) || (wanted <= cost(piece, piece->first) && piece->first > 0))
            continue;
        size_t cut = first_at_least(piece, wanted);
        if (cut > piece->first && wanted - cost(piece, cut - 1) < cost(piece, cut) - wanted)
            cut--; /* the line that holds the ideal cut goes to the side where it does less harm */
        cuts[p] = cut;
    }
}

void hw_balance_fit(size_t lines, size_t parts, size_t *bounds)
{
    bounds[0] = 0;
    for (size_t p = 1; p < parts; p++)
        bounds[p] = fit(bounds[p], bounds[p - 1], parts - p, lines);
    bounds[parts] = lines;
}

/* Returns the entries of a column of a CSC matrix. */
static uint64_t entries_of(const hawser_matrix *A, size_t j)
{
    return A->offsets[j + 1] - A->offsets[j];
}

static size_t count_occurring(const hawser_matrix *A)
{
    size_t count = 0;
    for (size_t j = 0; j < A->cols; j++)
        count += entries_of(A, j) != 0;
    return count;
}

/* Finds the cuts of the columns with entries, side by side, as hw_balance_find does: bounds[p] is a number among these. */
static void find_occurring(const hawser_matrix *A, size_t occurring, size_t parts, size_t *bounds)
{
    const uint64_t all = A->offsets[A->cols] - A->offsets[0] + (uint64_t)HW_LINE_COST * occurring;
    uint64_t before = 0, cost = 0; /* of the columns below cut - 1 and below cut */
    size_t cut = 0, next = 0;
    for (size_t p = 1; p < parts; p++) {
        const uint64_t wanted = hw_share_of(all, p, parts);
        for (; cost < wanted; next++) {
            if (entries_of(A, next) == 0)
                continue;
            before = cost;
            cost += entries_of(A, next) + HW_LINE_COST;
            cut++;
        }
        bounds[p] = cut > 0 && wanted - before < cost - wanted ? cut - 1 : cut;
    }
}

/* Replaces numbers among the columns with entries by those among all columns. */
static void spread_bounds(const hawser_matrix *A, size_t parts, size_t *bounds)
{
    size_t number = 0, p = 1;
    for (size_t j = 0; j < A->cols && p < parts; j++) {
        if (entries_of(A, j) == 0)
            continue;
        for (; p < parts && bounds[p] == number; p++)
            bounds[p] = j;
        number++;
    }
    for (; p < parts; p++)
        bounds[p] = A->cols;
    bounds[parts] = A->cols;
}

void hawser_balance(const hawser_matrix *matrix, size_t parts, size_t *bounds)
{
    if (matrix == NULL || bounds == NULL)
        return;
    size_t lines = hw_lines(matrix);
    const bool plain = hw_is_dense(matrix) || matrix->stored == 0 || hw_touch_rows(matrix),
               columns = !plain && matrix->layout == HAWSER_CSC && hw_leaves_out(lines, matrix->stored);
    const size_t occurring = columns ? count_occurring(matrix) : lines;
    if (occurring < lines && hw_leaves_out(lines - occurring, matrix->stored)) {
        find_occurring(matrix, occurring, parts, bounds);
        hw_balance_fit(occurring, parts, bounds);
        spread_bounds(matrix, parts, bounds);
        return;
    }
    if (plain)
        for (size_t p = 1; p < parts; p++)
            bounds[p] = (size_t)hw_share_of(lines, p, parts);
    else
        hw_balance_find(&(hw_line_range){matrix->offsets, 0, lines, 0}, lines, matrix->offsets[lines] - matrix->offsets[0],
                        parts, bounds);
    hw_balance_fit(lines, parts, bounds);
}
