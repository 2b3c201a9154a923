/* hawser_data_batch: the rows, numbers and targets of the batches that batches.h says, in every layout, for every number of
 * blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "hawser/batches.h"
#include "job.h"

enum { ROWS = 23, COLS = 4, EPOCHS = 3, SEED = 9 };

typedef struct trial {
    const hawser_matrix *all;
    const double *target; /* NULL: the state is made from a matrix */
    hawser_split split;
    size_t size;
    bool in_order;
} trial;

static double values[ROWS * COLS], targets[ROWS];

/* Entry j of a row of CSR or dense rows. */
static double entry(const hawser_matrix *A, size_t i, size_t j)
{
    const double *numbers = A->values;
    if (A->layout == HAWSER_DENSE)
        return numbers[j * A->stride + i];
    if (A->layout == HAWSER_DENSE_ROWS)
        return numbers[i * A->stride + j];
    for (uint64_t e = A->offsets[i]; e < A->offsets[i + 1]; e++)
        if (A->indices[e] == j)
            return numbers[e];
    return 0;
}

/* Takes all batches of three epochs, and compares each with an iterator of batches.h and with the whole matrix. */
static hawser_status take_all(hawser_context *context)
{
    const trial *t = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, rows);
    hawser_batches from = {
        .rows = rows->rows, .size = t->size, .seed = SEED, .stream = hawser_block(context), .in_order = t->in_order};
    uint64_t count = t->size > 0 ? hawser_batches_count(&from) : 1;
    for (uint64_t number = 0; number < EPOCHS * count; number++) {
        size_t numbers[ROWS];
        hawser_batch expected;
        hawser_mini_batch batch;
        hawser_error error = {0};
        HAWSER_TRY(hawser_data_batch(context, "rows", t->size, number, t->in_order, &batch));
        HAWSER_TRY(hawser_batches_next(&from, numbers, &expected, &error));
        bool same = batch.rows.rows == expected.count && batch.rows.cols == COLS && batch.epoch == expected.epoch &&
                    batch.last == expected.last && batch.weights == NULL && batch.offset == NULL &&
                    (batch.target != NULL) == (t->target != NULL && rows->rows > 0);
        for (size_t k = 0; same && k < expected.count; k++) {
            size_t row = rows->first + expected.rows[k];
            same = batch.numbers[k] == expected.rows[k] && (t->target == NULL || batch.target[k] == t->target[row]);
            for (size_t j = 0; j < COLS; j++)
                same = same && entry(&batch.rows, k, j) == entry(t->all, row, j);
        }
        if (!same)
            return hawser_unit_fail(context, HAWSER_INTERNAL, "batch %d is another one", (int)number);
    }
    return HAWSER_OK;
}

static hawser_status run(const trial *t, const hawser_dataset *data, const char *workers, hawser_error *error)
{
    test_job test = OPEN_JOB("workers", workers, "seed", "9", "timeout", "30");
    hawser_program *program = hawser_program_new("batches", (void *)(uintptr_t)t);
    hawser_state *rows = data != NULL ? HAWSER_STATE(program, "rows", HAWSER_DATA, .data = data, .split = t->split)
                                      : HAWSER_STATE(program, "rows", HAWSER_DATA, .matrix = t->all, .split = t->split);
    HAWSER_UNIT(hawser_root(program), "take", take_all, .reads = {rows});
    hawser_run *made = NULL;
    hawser_status status = hawser_run_program(test.job, program, &made, error);
    hawser_run_free(made);
    hawser_program_free(program);
    close_job(test);
    return status;
}

static void fill(void)
{
    for (size_t e = 0; e < ROWS * COLS; e++)
        values[e] = e % 3 == 1 ? 0 : (double)e + 1;
    for (size_t i = 0; i < ROWS; i++)
        targets[i] = (double)i / 2;
}

static void batches_are_those_of_the_iterator(void **state)
{
    (void)state;
    fill();
    static uint64_t offsets[ROWS + 1];
    static uint32_t indices[ROWS * COLS];
    static double stored[ROWS * COLS];
    for (size_t e = 0; e < ROWS * COLS; e++) {
        if (values[e] != 0) {
            indices[offsets[e / COLS + 1]] = (uint32_t)(e % COLS);
            stored[offsets[e / COLS + 1]++] = values[e];
        }
        if (e % COLS == COLS - 1 && e / COLS + 2 <= ROWS)
            offsets[e / COLS + 2] = offsets[e / COLS + 1];
    }
    const hawser_matrix layouts[] = {
        {.rows = ROWS, .cols = COLS, .stored = ROWS * COLS, .layout = HAWSER_DENSE_ROWS, .values = values, .stride = COLS},
        {.rows = ROWS, .cols = COLS, .stored = ROWS * COLS, .layout = HAWSER_DENSE, .values = values, .stride = ROWS},
        {.rows = ROWS,
         .cols = COLS,
         .stored = offsets[ROWS],
         .layout = HAWSER_CSR,
         .offsets = offsets,
         .indices = indices,
         .values = stored}};
    const size_t sizes[] = {1, 4, ROWS, 2 * ROWS};
    for (int layout = 0; layout < 3; layout++)
        for (int k = 0; k < 16; k++) {
            const hawser_arrays arrays = {.matrix = layouts[layout], .target = targets};
            trial t = {&layouts[layout], k % 2 == 0 ? targets : NULL, k / 8 == 0 ? HAWSER_BY_ROW : HAWSER_WHOLE,
                       sizes[k % 4], k % 3 == 0};
            hawser_dataset *data = NULL;
            hawser_error error = {0};
            if (t.target != NULL)
                assert_int_equal(hawser_dataset_borrow(&arrays, &data, &error), HAWSER_OK);
            for (int w = 0; w < 3; w++)
                if (run(&t, data, (const char *const[]){"1", "3", "30"}[w], &error) != HAWSER_OK)
                    fail_msg("layout %d, %d: %s", layout, k, error.text);
            hawser_dataset_free(data);
        }
}

static void wrong_batches_are_refused(void **state)
{
    (void)state;
    fill();
    const hawser_matrix dense = {.rows = ROWS, .cols = COLS, .stored = ROWS * COLS, .values = values, .stride = ROWS};
    hawser_error error = {0};
    trial t = {&dense, NULL, HAWSER_BY_COLUMN, 5, false};
    assert_int_equal(run(&t, NULL, "2", &error), HAWSER_BAD_PROGRAM);
    assert_non_null(strstr(error.text, "state 'rows' is split by column; batches are rows, so split it by row"));
    t.split = HAWSER_BY_ROW;
    t.size = 0;
    assert_int_equal(run(&t, NULL, "2", &error), HAWSER_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "hawser_data_batch: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(batches_are_those_of_the_iterator),
                                       cmocka_unit_test(wrong_batches_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
