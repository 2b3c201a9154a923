/* Sums over blocks through a state of which differences are exchanged: they are those of fresh numbers, whatever stood there before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithms/solve/reduction.h"

enum { MOST = 40, MOST_BLOCKS = 7, CLOCKS = 60 };

typedef struct world {
    hw_linear_reduction blocks[MOST_BLOCKS];
    uint32_t count;
    double *state;
} world;

static void make(world *w, uint32_t blocks)
{
    w->count = blocks;
    w->state = calloc(hw_linear_reduction_size(MOST), sizeof *w->state);
    for (uint32_t b = 0; b < blocks; b++)
        assert_int_equal(hw_linear_reduction_new(&w->blocks[b], MOST, NULL), HAWSER_OK);
}

static void drop(world *w)
{
    for (uint32_t b = 0; b < w->count; b++)
        hw_linear_reduction_free(&w->blocks[b]);
    free(w->state);
}

/* Numbers of wildly different sizes, of which the sums of a few are exact. */
static double number(uint64_t clock, uint32_t block, size_t i)
{
    uint64_t x = (clock * 1000003 + i * 97) * 0x9e3779b97f4a7c15u;
    return ldexp((double)(1 + (x >> 40) % 1000 + block), (int)((x >> 20) % 120) - 60);
}

/* As the exchange has it: every block changes its own copy, and the differences are added to what all had. */
static void clock_of(world *w, uint64_t clock, size_t all, bool whole, uint32_t asking)
{
    size_t length = hw_linear_reduction_size(MOST);
    double *now = malloc(length * sizeof *now), *own = malloc(length * sizeof *own), values[MOST];
    memcpy(now, w->state, length * sizeof *now);
    for (uint32_t b = 0; b < w->count; b++) {
        hw_linear_share share = {values, whole ? 0 : all * b / w->count, whole ? all : 0, all};
        share.count = whole ? all : all * (b + 1) / w->count - share.first;
        for (size_t i = 0; i < share.count; i++)
            values[i] = number(clock, b, share.first + i);
        memcpy(own, now, length * sizeof *own);
        size_t changed = hw_linear_reduction_put(&w->blocks[b], share, b == asking, b, w->count, own);
        assert_true(changed <= length);
        for (size_t i = 0; i < length; i++) {
            assert_true(i < changed || own[i] == now[i]);
            w->state[i] += own[i] - now[i];
        }
    }
    free(now);
    free(own);
}

/* Shares of all numbers, and of some each; as many as come, more and fewer in turn; cut short, and ended. */
static void sums_of_fresh_numbers(void **unused)
{
    (void)unused;
    for (uint32_t blocks = 1; blocks <= MOST_BLOCKS; blocks++) {
        world w;
        make(&w, blocks);
        for (uint64_t clock = 0; clock < CLOCKS; clock++) {
            size_t all = clock * 29 % (MOST + 1);
            bool whole = clock % 3 != 0;
            clock_of(&w, clock, all, whole, clock % 5 == 0 ? (uint32_t)clock % blocks : UINT32_MAX);
            for (uint32_t b = 0; b < blocks && clock % 7 != 0; b++) { /* else nobody hears of it */
                assert_int_equal(hw_linear_reduction_hear(&w.blocks[b], w.state), clock % 5 == 0);
                assert_int_equal(w.blocks[b].held, all);
                for (size_t i = 0; i < all; i++) {
                    double sum = 0.0;
                    for (uint32_t c = 0; c < blocks; c++)
                        sum += whole || (i >= all * c / blocks && i < all * (c + 1) / blocks) ? number(clock, c, i) : 0.0;
                    assert_true(w.blocks[b].sums[i] == sum);
                }
            }
        }
        clock_of(&w, CLOCKS, 0, true, UINT32_MAX); /* the end */
        for (size_t i = 0; i < hw_linear_reduction_size(MOST); i++)
            assert_true(w.state[i] == 0.0);
        drop(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_of_fresh_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
