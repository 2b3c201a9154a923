/* linalg_batches.c - mini-batches: every row once an epoch, the same order whatever the size of batches, and an iterator
 * that is plain memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "hawser/batches.h"

enum { MOST_ROWS = 3000 };

/* Takes one epoch and returns its rows in order, in static memory; stores their number in *count. Checks every batch on the
 * way. */
static const size_t *epoch_of(hawser_batches *b, size_t *count)
{
    static size_t all[MOST_ROWS + 1], rows[MOST_ROWS + 1];
    uint64_t epoch = b->epoch, batches = hawser_batches_count(b);
    hawser_batch batch = {0};
    *count = 0;
    for (uint64_t number = 0; number < batches; number++) {
        assert_int_equal(hawser_batches_next(b, rows, &batch, NULL), HAWSER_OK);
        assert_ptr_equal(batch.rows, rows);
        assert_true(batch.epoch == epoch && batch.number == number && batch.last == (number + 1 == batches));
        assert_true(batch.count == b->size || (batch.last && !b->whole && batch.count == b->rows % b->size) ||
                    (b->rows == 0 && batch.count == 0));
        memcpy(all + *count, rows, batch.count * sizeof *rows);
        *count += batch.count;
    }
    assert_true(b->epoch == epoch + 1 && b->next == 0);
    return all;
}

/* Every row is in the epoch once, except for the rows that `whole` leaves out. */
static void check_epoch(hawser_batches *b)
{
    static unsigned char seen[MOST_ROWS + 1];
    size_t count = 0;
    const size_t *rows = epoch_of(b, &count);
    assert_int_equal(count, b->whole ? b->rows - b->rows % b->size : b->rows);
    memset(seen, 0, sizeof seen);
    for (size_t k = 0; k < count; k++) {
        assert_true(rows[k] < b->rows);
        assert_int_equal(seen[rows[k]]++, 0);
        assert_true(!b->in_order || rows[k] == k);
    }
}

static void epoch_has_every_row_once(void **state)
{
    (void)state;
    hw_random random = hw_random_at(1, 0, 0, 0);
    for (int trial = 0; trial < 400; trial++) {
        uint64_t most = trial % 8 == 0 ? MOST_ROWS : 40;
        hawser_batches b = {.rows = hw_random_below(&random, most + 1),
                            .size = 1 + hw_random_below(&random, trial % 3 == 0 ? most : 8),
                            .seed = hw_random_next(&random),
                            .stream = hw_random_below(&random, 5),
                            .in_order = trial % 5 == 0,
                            .whole = trial % 4 == 1};
        if (b.whole && b.rows > 0 && b.rows < b.size)
            b.size = b.rows;
        for (int epoch = 0; epoch < 3; epoch++)
            check_epoch(&b);
    }
}

static void order_does_not_depend_on_the_size_of_batches(void **state)
{
    (void)state;
    static size_t order[MOST_ROWS];
    for (uint64_t size = 1; size < 1200; size = size * 3 / 2 + 1) {
        hawser_batches b = {.rows = 1000, .size = size, .seed = 4, .stream = 2, .epoch = 6};
        size_t count = 0;
        const size_t *rows = epoch_of(&b, &count);
        if (size == 1)
            memcpy(order, rows, sizeof order);
        assert_int_equal(count, 1000);
        assert_memory_equal(rows, order, count * sizeof *rows);
        b = (hawser_batches){
            .rows = 1000, .size = size < 1000 ? size : 1000, .seed = 4, .stream = 2, .epoch = 6, .whole = true};
        rows = epoch_of(&b, &count);
        assert_memory_equal(rows, order, count * sizeof *rows);
    }
}

static void order_changes_with_seed_stream_and_epoch(void **state)
{
    (void)state;
    static size_t orders[4][200];
    for (size_t i = 0; i < 4; i++) {
        hawser_batches b = {.rows = 200, .size = 64, .seed = i == 1, .stream = i == 2, .epoch = i == 3};
        size_t count = 0;
        memcpy(orders[i], epoch_of(&b, &count), sizeof orders[i]);
        for (size_t j = 0; j < i; j++) {
            size_t equal = 0;
            for (size_t k = 0; k < 200; k++)
                equal += orders[i][k] == orders[j][k];
            assert_true(equal < 10); /* 1 is expected; the key is fixed */
        }
    }
}

/* An iterator that is copied, recorded and restored, or moved to a batch by its number goes on with the same rows. */
static void copy_goes_on_with_the_same_rows(void **state)
{
    (void)state;
    hawser_batches b = {.rows = 103, .size = 10, .seed = 9, .stream = 1};
    for (uint64_t number = 0; number < 40; number++) {
        hawser_batches copy = {0}, restored = {0}, moved = {.rows = 103, .size = 10, .seed = 9, .stream = 1, .epoch = 77};
        memcpy(&copy, &b, sizeof b);
        void *bytes = NULL;
        size_t size = 0;
        assert_int_equal(hawser_record_save(hawser_batches_record, &b, &bytes, &size, NULL), HAWSER_OK);
        assert_int_equal(hawser_record_restore(hawser_batches_record, &restored, bytes, size, NULL), HAWSER_OK);
        free(bytes);
        assert_int_equal(hawser_batches_seek(&moved, number, NULL), HAWSER_OK);
        hawser_batches *others[] = {&copy, &restored, &moved};
        hawser_batch batch = {0}, other = {0};
        size_t rows[10], same[10];
        assert_int_equal(hawser_batches_next(&b, rows, &batch, NULL), HAWSER_OK);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(hawser_batches_next(others[i], same, &other, NULL), HAWSER_OK);
            assert_true(other.count == batch.count && other.epoch == batch.epoch && other.number == batch.number &&
                        other.last == batch.last);
            assert_memory_equal(rows, same, batch.count * sizeof *rows);
        }
    }
    assert_true(b.epoch == 3 && b.next == 7);
}

static void both_flags_are_recorded(void **state)
{
    (void)state;
    for (int flags = 0; flags < 4; flags++) {
        hawser_batches b = {.rows = 9, .size = 2, .in_order = flags & 1, .whole = flags & 2}, read = {.whole = true};
        void *bytes = NULL;
        size_t size = 0;
        assert_int_equal(hawser_record_save(hawser_batches_record, &b, &bytes, &size, NULL), HAWSER_OK);
        assert_int_equal(hawser_record_restore(hawser_batches_record, &read, bytes, size, NULL), HAWSER_OK);
        free(bytes);
        assert_true(read.in_order == b.in_order && read.whole == b.whole);
    }
}

static void large_view_needs_no_memory(void **state)
{
    (void)state;
    const uint64_t most = UINT64_C(1) << 62;
    hawser_batches b = {.rows = most, .size = 4};
    hawser_batch batch = {0};
    size_t rows[4];
    assert_int_equal(hawser_batches_seek(&b, most / 4 - 1, NULL), HAWSER_OK);
    assert_int_equal(hawser_batches_next(&b, rows, &batch, NULL), HAWSER_OK);
    assert_true(batch.last && batch.count == 4 && b.epoch == 1);
    for (size_t k = 0; k < 4; k++)
        assert_true(rows[k] < most);
    b = (hawser_batches){.rows = 3, .size = UINT64_MAX, .in_order = true};
    assert_int_equal(hawser_batches_next(&b, rows, &batch, NULL), HAWSER_OK);
    assert_true(batch.last && batch.count == 3 && rows[2] == 2);
}

/* Each mistake is refused with a message, and the iterator stays as it was. */
static void wrong_iterator_is_refused(void **state)
{
    (void)state;
    const struct {
        hawser_batches b;
        const char *says;
    } cases[] = {
        {{.rows = 5}, "0 rows"},
        {{.rows = (UINT64_C(1) << 62) + 1, .size = 1}, "at most 2^62"},
        {{.rows = 5, .size = 6, .whole = true}, "5 rows have no whole batch of 6"},
        {{.rows = 5, .size = 2, .next = 3}, "batch 3 is asked for, and an epoch has 3"},
        {{.rows = 5, .size = 2, .next = 2, .whole = true}, "batch 2 is asked for, and an epoch has 2"},
        {{.size = 2, .next = 1}, "batch 1 is asked for, and an epoch has 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hawser_batches b = cases[i].b, restored = {0};
        hawser_batch batch = {0};
        hawser_error error = {HAWSER_OK, ""};
        size_t rows[8], size = 0;
        assert_int_equal(hawser_batches_next(&b, rows, &batch, &error), HAWSER_BAD_ARGUMENT);
        assert_non_null(strstr(error.text, cases[i].says));
        assert_true(b.epoch == 0 && b.next == cases[i].b.next && hawser_batches_count(&b) == 0);
        void *bytes = NULL;
        assert_int_equal(hawser_record_save(hawser_batches_record, &b, &bytes, &size, NULL), HAWSER_OK);
        assert_int_equal(hawser_record_restore(hawser_batches_record, &restored, bytes, size, &error), HAWSER_BAD_INPUT);
        free(bytes);
    }
    hawser_batches b = {.rows = 5};
    assert_int_equal(hawser_batches_seek(&b, 1, NULL), HAWSER_BAD_ARGUMENT);
}

static void values_are_gathered_by_row(void **state)
{
    (void)state;
    const double values[] = {10, 11, 12, 13, 14};
    const size_t rows[] = {4, 0, 2};
    const hawser_batch batch = {.rows = rows, .count = 3};
    double out[4] = {-1, -1, -1, -1};
    hawser_batch_gather(&batch, values, out);
    assert_true(out[0] == 14 && out[1] == 10 && out[2] == 12 && out[3] == -1);
    hawser_batch_gather(&batch, NULL, out);
    assert_true(out[0] == 1 && out[1] == 1 && out[2] == 1 && out[3] == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epoch_has_every_row_once),
        cmocka_unit_test(order_does_not_depend_on_the_size_of_batches),
        cmocka_unit_test(order_changes_with_seed_stream_and_epoch),
        cmocka_unit_test(copy_goes_on_with_the_same_rows),
        cmocka_unit_test(both_flags_are_recorded),
        cmocka_unit_test(large_view_needs_no_memory),
        cmocka_unit_test(wrong_iterator_is_refused),
        cmocka_unit_test(values_are_gathered_by_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
