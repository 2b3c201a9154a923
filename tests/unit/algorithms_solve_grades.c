/* The columns that enter working sets, for columns that are split in several ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithms/solve/grades.h"

enum { COLUMNS = 400, MOST_BLOCKS = 7 };

typedef struct columns {
    double mean[COLUMNS], norm[COLUMNS], l1[COLUMNS], l2[COLUMNS], lower[COLUMNS], upper[COLUMNS];
    double alpha[COLUMNS], gradient[COLUMNS];
    uint32_t numbers[COLUMNS];
} columns;

/* Makes columns with promises of 4^-0.5, 4^-1.5, ... relative to a scale of 1, many of them small, and some columns that
 * cannot enter. */
static void make(columns *c)
{
    memset(c, 0, sizeof *c);
    for (size_t j = 0; j < COLUMNS; j++) {
        c->numbers[j] = (uint32_t)j;
        double promise = ldexp(0.5, -2 * (int)((j * 37 % COLUMNS) / 50));
        c->norm[j] = j % 10 == 9 ? 0.0 : 2.0;
        c->l1[j] = j % 40 == 4 ? 0.0 : 1.0; /* without an L1 part a column is no candidate: it is always in the set */
        c->lower[j] = -INFINITY;
        c->upper[j] = INFINITY;
        c->alpha[j] = j % 40 == 7 ? 1.0 : 0.0;
        c->gradient[j] = (j % 2 ? -1.0 : 1.0) * (j % 5 == 3 ? 0.9 : 1.0 + sqrt(2.0 * promise));
    }
}

static hw_linear_columns part(columns *c, size_t begin, size_t end)
{
    return (hw_linear_columns){.X = {.rows = 1, .cols = end - begin, .first = begin},
                               .total = 1.0,
                               .mean = c->mean + begin,
                               .norm = c->norm + begin,
                               .l1 = c->l1 + begin,
                               .l2 = c->l2 + begin,
                               .lower = c->lower + begin,
                               .upper = c->upper + begin};
}

static bool candidate(const columns *c, size_t j)
{
    return c->norm[j] > 0.0 && c->l1[j] > 0.0 && c->alpha[j] == 0.0 && fabs(c->gradient[j]) > 1.0;
}

/* Each block counts its own candidates. As many enter as with one block, rounded up once per block, and no candidate enters
 * before one of a better grade. */
static void sets_grow_as_with_one_block(void **unused)
{
    (void)unused;
    columns c;
    make(&c);
    size_t candidates = 0;
    for (size_t j = 0; j < COLUMNS; j++)
        candidates += candidate(&c, j);
    for (size_t blocks = 1; blocks <= MOST_BLOCKS; blocks++) {
        double own[MOST_BLOCKS][HW_LINEAR_GRADES], all[HW_LINEAR_GRADES] = {0};
        double counted = 0.0;
        for (size_t b = 0; b < blocks; b++) {
            size_t begin = COLUMNS * b * b / (blocks * blocks), end = COLUMNS * (b + 1) * (b + 1) / (blocks * blocks);
            hw_linear_columns view = part(&c, begin, end);
            hw_linear_candidates all_here = {
                .list = c.numbers, .count = end - begin, .alpha = c.alpha + begin, .gradient = c.gradient + begin};
            hw_linear_grade(&view, &all_here, 1.0, 1.0, own[b]);
            for (size_t g = 0; g < HW_LINEAR_GRADES; g++) {
                all[g] += own[b][g];
                counted += own[b][g];
            }
        }
        assert_true(counted == (double)candidates);
        for (size_t g = 0; g < HW_LINEAR_GRADES; g++)
            assert_true((all[g] > 0.0) == (g < COLUMNS / 50));
        for (size_t most = 0; most <= COLUMNS; most += 13) {
            size_t expected = most < candidates ? most : candidates, entering = 0;
            double better = 0.0;
            size_t full = 0; /* grades that enter as a whole */
            while (full < HW_LINEAR_GRADES && better + all[full] <= (double)most)
                better += all[full++];
            for (size_t b = 0; b < blocks; b++) {
                size_t in = hw_linear_entering(own[b], all, (double)most);
                double first = 0.0;
                for (size_t g = 0; g < full; g++)
                    first += own[b][g];
                assert_true((double)in >= first);
                entering += in;
            }
            assert_true(entering >= expected && entering <= expected + (blocks > 1 ? blocks : 0));
        }
    }
}

/* A set that exceeds its share is cut to it as long as it can still grow by half; else another solver takes it. */
static void sets_that_can_grow_stay_within_their_share(void **state)
{
    (void)state;
    for (size_t share = 0; share < 40; share++)
        for (size_t support = 0; support < 50; support++)
            for (size_t entering = 0; entering < 60; entering++) {
                size_t in = hw_linear_within_share(entering, support, share);
                bool fits = support + entering <= share, grows = support + support / 2.0 <= (double)share;
                assert_true(in == (fits || !grows ? entering : share - support));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sets_grow_as_with_one_block),
                                       cmocka_unit_test(sets_that_can_grow_stay_within_their_share)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
