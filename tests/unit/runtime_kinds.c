/* runtime_kinds.c - the rows of a kind of state have the functions that belong together, and both tables agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "program/kind.h"
#include "runtime/block/part.h"

static void assert_plan_row(const hw_kind *kind)
{
    assert_non_null(kind->name);
    assert_non_null(kind->fields);
    assert_non_null(kind->add);
    assert_non_null(kind->count);
    assert_non_null(kind->print);
    assert_true(!kind->summed || kind->exchanged);
    assert_true(kind->numbers == (kind->memory != NULL)); /* data are counted once per matrix */
    assert_true(kind->numbers || (!kind->exchanged && !kind->stays && !kind->owned));
    assert_true(!kind->served || kind->check != NULL);
}

static void assert_part_row(const hw_kind *kind, const hw_part_kind *part)
{
    assert_non_null(part->open);
    assert_non_null(part->read);
    assert_non_null(part->write);
    assert_true((part->begin_epoch != NULL) == (kind->exchanged || kind->moves));
    const bool live[] = {part->ready != NULL,   part->merge != NULL,     part->cut != NULL,
                         part->settled != NULL, part->end_epoch != NULL, part->accept != NULL};
    for (size_t i = 0; i < sizeof live / sizeof *live; i++)
        assert_true(live[i] == (part->begin_epoch != NULL));
    assert_true((part->take_share != NULL) == (kind->stays && !kind->moves)); /* hw_moving_take */
    assert_true(part->alike == (kind->numbers && !kind->stays));
    assert_true((part->take_merged != NULL) == part->alike && (part->merged != NULL) == part->alike);
    assert_true((part->kept_count != NULL) == kind->numbers);
    assert_true((part->keep != NULL) == kind->numbers && (part->put_back != NULL) == kind->numbers);
    assert_true((part->visit != NULL) == kind->numbers && (part->drop != NULL) == kind->numbers);
    assert_true((part->set_gain != NULL) == kind->summed);
}

static void rows_of_a_kind_are_whole(void **state)
{
    (void)state;
    const hw_kind *kind;
    int number = HAWSER_DATA;
    for (; (kind = hw_kind_find((hawser_state_kind)number)) != NULL; number++) {
        assert_plan_row(kind);
        assert_part_row(kind, hw_part_kind_of((hw_state_kind)(number - HAWSER_DATA)));
    }
    assert_int_equal(number - 1, HAWSER_ENTRIES);
    assert_null(hw_kind_find((hawser_state_kind)0));
    assert_null(hw_kind_find((hawser_state_kind)-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_a_kind_are_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
