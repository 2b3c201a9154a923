/* Which node runs which block: the first view against its definition, and questions to views of any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/view.h"

static void first_view_deals_blocks_evenly_and_in_order(void **state)
{
    (void)state;
    for (uint32_t blocks = 1; blocks <= 40; blocks++)
        for (uint32_t nodes = 1; nodes <= blocks; nodes++) {
            hw_view view;
            assert_int_equal(hw_view_first(blocks, nodes, &view, NULL), HAWSER_OK);
            assert_int_equal(view.number, HW_VIEW_FIRST);
            assert_true(hw_view_in_order(&view));
            for (uint32_t node = 0; node < nodes; node++) {
                uint32_t count = hw_view_count(&view, node);
                assert_true(count == blocks / nodes || count == (blocks + nodes - 1) / nodes);
            }
            hw_view_free(&view);
        }
}

static void blocks_of_a_node_are_listed_wherever_they_lie(void **state)
{
    (void)state;
    hw_random random = hw_random_at(1, 0, 0, 0);
    for (int round = 0; round < 1000; round++) {
        uint32_t node[12], blocks = 1 + (uint32_t)hw_random_below(&random, 12),
                           nodes = 1 + (uint32_t)hw_random_below(&random, 4);
        bool order = true;
        for (uint32_t b = 0; b < blocks; b++) {
            node[b] = (uint32_t)hw_random_below(&random, nodes);
            order &= b == 0 ? node[b] == 0 : node[b] == node[b - 1] || node[b] == node[b - 1] + 1;
        }
        order &= node[blocks - 1] == nodes - 1;
        const hw_view view = {1, blocks, nodes, node};
        assert_int_equal(hw_view_in_order(&view), order);
        for (uint32_t n = 0; n < nodes; n++) {
            uint32_t count = 0, b = hw_view_next(&view, n, 0);
            for (uint32_t expected = 0; expected < blocks; expected++)
                if (node[expected] == n) {
                    assert_int_equal(b, expected);
                    b = hw_view_next(&view, n, b + 1);
                    count++;
                }
            assert_int_equal(b, blocks);
            assert_int_equal(hw_view_count(&view, n), count);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(first_view_deals_blocks_evenly_and_in_order),
                                       cmocka_unit_test(blocks_of_a_node_are_listed_wherever_they_lie)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
