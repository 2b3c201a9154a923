/* filter.c - selects the entries of an update that are sent if they do not all fit the quota. */
#include <math.h>

#include "exchange/replica.h"

/* An accumulating filter scores every waiting entry above 0. Entries that are too old are selected first, then those with
 * the largest scores until the quota is spent. They are found without sorting. */

typedef double (*hw_score)(const hw_replica *replica, size_t i, uint64_t clock, hw_random *random);

static double score_random(const hw_replica *replica, size_t i, uint64_t clock, hw_random *random)
{
    (void)replica, (void)i, (void)clock;
    return 1 + hw_random_uniform(random);
}

static double score_round_robin(const hw_replica *replica, size_t i, uint64_t clock, hw_random *random)
{
    size_t n = replica->spec.count;
    (void)clock, (void)random;
    return (double)(i >= replica->cursor ? 2 * n - i : n - i);
}

static double score_absolute(const hw_replica *replica, size_t i, uint64_t clock, hw_random *random)
{
    (void)clock, (void)random;
    return fabs(replica->numbers->load(replica->held, i));
}

static double score_relative(const hw_replica *replica, size_t i, uint64_t clock, hw_random *random)
{
    (void)clock, (void)random;
    return fmax(fabs(replica->numbers->load(replica->held, i) / replica->numbers->load(replica->base, i)), 0x1p-1074);
}

static double score_fifo(const hw_replica *replica, size_t i, uint64_t clock, hw_random *random)
{
    (void)random;
    return 1 + (double)(uint32_t)((uint32_t)clock - replica->since[i]);
}

#define HW_FILTER_ROW(id, word, help, class, score) [HW_FILTER_##id] = {word, class, score},
static const struct {
    const char *word, *class;
    hw_score score;
} rows[] = {HW_FILTERS(HW_FILTER_ROW)};

hw_filter_kind hw_filter_find(const char *word)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (hw_word_is(rows[i].word, word))
            return (hw_filter_kind)i;
    return HW_FILTER_NONE;
}

const char *hw_filter_class(hw_filter_kind kind)
{
    return rows[kind].class;
}

static bool too_old(const hw_replica *replica, size_t i, uint64_t clock)
{
    return (uint32_t)((uint32_t)clock - replica->since[i]) / replica->each >= replica->spec.filter.max_held;
}

/* Scores the waiting entries; other entries get 0. Entries that are too old are selected at once instead. Returns their
 * number. */
static size_t score_entries(hw_replica *replica, uint64_t clock, uint32_t part)
{
    hw_score score_of = rows[replica->spec.filter.kind].score;
    double *score = replica->score;
    size_t n = replica->spec.count, forced = 0;
    hw_random random = hw_random_at(replica->spec.seed ^ (replica->epoch << 32),
                                    ((uint64_t)part << 32) | replica->spec.state, replica->spec.block, clock);
    for (size_t i = 0; i < n; i++) {
        score[i] = 0;
        if (!hw_waits(replica, i))
            continue;
        if (too_old(replica, i, clock)) {
            hw_set_bit(replica->selected, i);
            forced++;
            continue;
        }
        score[i] = score_of(replica, i, clock, &random);
    }
    return forced;
}

/* Returns the bits of the rank-th largest score, digit by digit from the top: the bits of numbers >= 0 are ordered as the
 * numbers are, and counts of each digit's values give the next digit. *above is the number of scores that are strictly
 * larger. */
static uint64_t nth_largest(const double *score, size_t n, size_t rank, size_t *above)
{
    enum { DIGIT = 8, VALUES = 1 << DIGIT };
    uint64_t prefix = 0, fixed = 0;
    size_t left = rank;
    for (int shift = 64 - DIGIT; shift >= 0; shift -= DIGIT) {
        size_t counts[VALUES] = {0};
        for (size_t i = 0; i < n; i++) {
            uint64_t key = hw_double_bits(score[i]);
            if ((key & fixed) == prefix)
                counts[(key >> shift) & (VALUES - 1)]++;
        }
        uint64_t digit = VALUES - 1;
        while (counts[digit] < left)
            left -= counts[digit--];
        prefix |= digit << shift;
        fixed |= (uint64_t)(VALUES - 1) << shift;
    }
    *above = rank - left;
    return prefix;
}

/* Selects the entries with the `best` largest scores; of equal scores those with the lower index. */
static void select_best(hw_replica *replica, size_t best)
{
    const double *score = replica->score;
    size_t n = replica->spec.count, above, furthest = 0;
    double lowest = INFINITY;
    if (best == 0)
        return;
    uint64_t threshold = nth_largest(score, n, best, &above);
    size_t equals = best - above;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = hw_double_bits(score[i]);
        if (key < threshold || (key == threshold && equals == 0))
            continue;
        equals -= key == threshold;
        hw_set_bit(replica->selected, i);
        if (score[i] < lowest) {
            lowest = score[i];
            furthest = i;
        }
    }
    replica->cursor = furthest + 1;
}

void hw_filter_select(hw_replica *replica, uint64_t clock, uint32_t part, hw_changes all)
{
    uint64_t quota = replica->spec.filter.quota;
    size_t n = replica->spec.count;
    uint64_t left = quota > replica->spent ? quota - replica->spent : 0;
    uint64_t fit = left / hw_sparse_entry(replica->spec.type, n);
    bool whole =
        hw_choose_packing(replica->spec.type, n, all.count, all.count > 0 ? all.last - all.first + 1 : 0).bytes <= left;
    size_t chosen = all.count;
    if (whole) {
        for (size_t i = all.first; all.count > 0 && i <= all.last; i++)
            if (hw_waits(replica, i))
                hw_set_bit(replica->selected, i);
    } else {
        size_t forced = score_entries(replica, clock, part), free_entries = all.count - forced;
        size_t best = fit > forced ? (size_t)(fit - forced) : 0;
        best = best < free_entries ? best : free_entries;
        select_best(replica, best);
        chosen = forced + best;
    }
    if (!whole && chosen > fit)
        replica->figures.flushed_over_quota += chosen - fit;
    replica->figures.entries_held += all.count - chosen;
}
