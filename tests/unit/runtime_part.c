/* A block can ask which part of a partitioned or local state is its own, and the parts make up the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hawser/advanced.h"
#include "result.h"

enum { COUNT = 10, ROWS = 7, WIDTH = 2, LONG = 40000, STRIDE = 5003, CLOCKS = 3 };

static hawser_status number(hawser_context *context)
{
    size_t first = SIZE_MAX, count = hawser_part(context, "even", &first);
    double *part;
    HAWSER_TRY(hawser_write(context, "even", &part));
    for (size_t i = 0; i < count; i++)
        part[i] = (double)(first + i);
    size_t at = SIZE_MAX, all = hawser_part(context, "shared", &at), lines = hawser_part_lines(context, "shared", NULL);
    if (all != 12 || at != 0 || lines != 4)
        return hawser_unit_fail(context, HAWSER_INTERNAL, "a block has less than all of a replicated state");
    count = hawser_part(context, "wide", &first);
    HAWSER_READ(context, hawser_matrix, rows);
    if (count != WIDTH * rows->rows || first != WIDTH * rows->first)
        return hawser_unit_fail(context, HAWSER_INTERNAL, "the part of a local state does not follow its rows");
    HAWSER_TRY(hawser_write(context, "wide", &part));
    for (size_t i = 0; i < count; i++)
        part[i] = (double)(first + i);
    return HAWSER_OK;
}

static hawser_status undeclared(hawser_context *context)
{
    size_t first;
    hawser_part(context, "even", &first);
    return HAWSER_OK;
}

static hawser_program *parts(hawser_unit_function *function, bool declared, const hawser_matrix *matrix)
{
    hawser_program *program = hawser_program_new("parts", NULL);
    hawser_state *rows = HAWSER_STATE(program, "rows", HAWSER_DATA, .matrix = matrix, .split = HAWSER_BY_ROW);
    hawser_state *even = HAWSER_STATE(program, "even", HAWSER_PARTITIONED, .rows = COUNT);
    hawser_state *wide = HAWSER_STATE(program, "wide", HAWSER_LOCAL, .along = rows, .cols = WIDTH);
    hawser_state *shared = HAWSER_STATE(program, "shared", HAWSER_REPLICATED, .rows = 4, .cols = 3);
    HAWSER_UNIT(hawser_root(program), "number", function, .reads = {rows, shared},
                .updates = {wide, declared ? even : NULL});
    return program;
}

static hawser_job *job_of(const char *workers)
{
    hawser_job *job = NULL;
    hawser_error error = {0};
    char name[] = "test", flag[] = "--workers", value[8];
    snprintf(value, sizeof value, "%s", workers);
    char *argv[] = {name, flag, value, NULL};
    int argc = 3;
    if (hawser_open(&argc, argv, &job, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return job;
}

static void assert_counts_up(const hawser_run *run, const char *state, size_t wanted)
{
    size_t count = 0;
    const double *values = RESULT(double, run, state, &count);
    assert_int_equal(count, wanted);
    for (size_t i = 0; i < count; i++)
        assert_true(values[i] == (double)i);
}

static void parts_make_up_the_whole(void **unused)
{
    (void)unused;
    const double zeros[ROWS] = {0};
    hawser_matrix matrix = {.rows = ROWS, .cols = 1, .stored = ROWS, .values = zeros, .stride = ROWS};
    static const char *const workers[] = {"1", "2", "3", "7"};
    for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
        hawser_error error = {0};
        hawser_job *job = job_of(workers[w]);
        hawser_program *program = parts(number, true, &matrix);
        hawser_run *run = NULL;
        if (hawser_run_program(job, program, &run, &error) != HAWSER_OK)
            fail_msg("%s workers: %s", workers[w], error.text);
        assert_counts_up(run, "even", COUNT);
        assert_counts_up(run, "wide", ROWS * WIDTH);
        hawser_run_free(run);
        hawser_program_free(program);
        hawser_close(job);
    }
}

/* Stores the product of each row of the block with (1, 10, 100), and the row's number. */
static hawser_status read_rows(hawser_context *context)
{
    const hawser_matrix *A;
    HAWSER_TRY(hawser_read(context, "rows", &A));
    double *part;
    HAWSER_TRY(hawser_write(context, "wide", &part));
    double products[ROWS];
    hawser_multiply(A, (const double[]){1, 10, 100}, 0, products);
    for (size_t i = 0; i < A->rows; i++) {
        part[WIDTH * i] = products[i];
        part[WIDTH * i + 1] = (double)(A->first + i);
    }
    return HAWSER_OK;
}

static void blocks_read_their_rows_in_every_layout(void **unused)
{
    (void)unused;
    enum { COLS = 3, STRIDE_OF_ROWS = 4 };
    double values[2][ROWS * STRIDE_OF_ROWS] = {{0}};
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLS; j++)
            values[0][j * ROWS + i] = values[1][i * STRIDE_OF_ROWS + j] = (double)(i * COLS + j + 1);
    for (int k = 0; k < 6; k++) {
        const hawser_matrix matrix = {.rows = ROWS,
                                      .cols = COLS,
                                      .stored = ROWS * COLS,
                                      .layout = k % 2 ? HAWSER_DENSE_ROWS : HAWSER_DENSE,
                                      .values = values[k % 2],
                                      .stride = k % 2 ? STRIDE_OF_ROWS : ROWS};
        hawser_error error = {0};
        hawser_job *job = job_of(k < 2 ? "1" : k < 4 ? "3" : "7");
        hawser_program *program = parts(read_rows, true, &matrix);
        hawser_run *run = NULL;
        if (hawser_run_program(job, program, &run, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        size_t count;
        const double *wide = RESULT(double, run, "wide", &count);
        assert_int_equal(count, ROWS * WIDTH);
        for (size_t i = 0; i < ROWS; i++) {
            assert_true(wide[WIDTH * i] == 111.0 * (double)(i * COLS) + 321.0);
            assert_true(wide[WIDTH * i + 1] == (double)i);
        }
        hawser_run_free(run);
        hawser_program_free(program);
        hawser_close(job);
    }
}

static void a_part_of_an_undeclared_state_is_refused(void **unused)
{
    (void)unused;
    const double zeros[ROWS] = {0};
    hawser_matrix matrix = {.rows = ROWS, .cols = 1, .stored = ROWS, .values = zeros, .stride = ROWS};
    hawser_error error = {0};
    hawser_job *job = job_of("2");
    hawser_program *program = parts(undeclared, false, &matrix);
    hawser_run *run = NULL;
    assert_int_equal(hawser_run_program(job, program, &run, &error), HAWSER_BAD_PROGRAM);
    assert_null(run);
    hawser_program_free(program);
    hawser_close(job);
}

/* Every STRIDE-th number counts clocks, and only these are touched; every block sees the writes of all blocks in the last
 * clock. */
static hawser_status count_clocks(hawser_context *context)
{
    size_t first = 0, count = hawser_part(context, "long", &first);
    double *part;
    HAWSER_TRY(hawser_write(context, "long", &part));
    double clock = (double)hawser_clock(context);
    const double *whole;
    HAWSER_TRY(hawser_read(context, "long", &whole));
    for (size_t i = 0; i < LONG; i++)
        if (whole[i] != (i % STRIDE == 0 ? clock : 0.0))
            return hawser_unit_fail(context, HAWSER_INTERNAL, "number %zu is %g in clock %g", i, whole[i], clock);
    for (size_t i = 0; i < count; i++)
        if ((first + i) % STRIDE == 0) {
            part[i] = clock + 1.0;
            HAWSER_TRY(hawser_touch(context, "long", first + i, 1));
        }
    return HAWSER_OK;
}

static hawser_status touch_others(hawser_context *context)
{
    size_t first = 0, count = hawser_part(context, "long", &first);
    return hawser_touch(context, "long", first > 0 ? first - 1 : count - 1, 2); /* one of a neighbour's */
}

static hawser_status run_long(hawser_unit_function *function, hawser_run **run, hawser_error *error)
{
    hawser_job *job = job_of("3");
    hawser_program *program = hawser_program_new("long", NULL);
    hawser_state *numbers = HAWSER_STATE(program, "long", HAWSER_PARTITIONED, .rows = LONG);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = CLOCKS}, hawser_bsp());
    HAWSER_UNIT(loop, "unit", function, .updates = {numbers});
    hawser_status status = hawser_run_program(job, program, run, error);
    hawser_program_free(program);
    hawser_close(job);
    return status;
}

static void touched_numbers_of_a_part_are_sent(void **unused)
{
    (void)unused;
    hawser_error error = {0};
    hawser_run *run = NULL;
    if (run_long(count_clocks, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    const double *values = RESULT(double, run, "long", NULL);
    for (size_t i = 0; i < LONG; i++)
        assert_true(values[i] == (i % STRIDE == 0 ? CLOCKS : 0));
    hawser_run_free(run);
    assert_int_equal(run_long(touch_others, &run, &error), HAWSER_BAD_PROGRAM);
    assert_non_null(strstr(error.text, "of which this block has"));
}

static hawser_status take_line_beyond(hawser_context *context)
{
    double *line;
    hawser_status status = hawser_line(context, "long", hawser_part_lines(context, "long", NULL), &line);
    return status != HAWSER_OK && line == NULL ? HAWSER_OK : HAWSER_INTERNAL; /* the run fails nevertheless */
}

/* Writes one number behind the part of each block but the last, or in front of each but the first, at once or behind a
 * yield. */
static hawser_status write_beside(hawser_context *context)
{
    uint64_t clock = hawser_clock(context);
    size_t first, count = hawser_part(context, "long", &first);
    double *part;
    HAWSER_TRY(hawser_write(context, "long", &part));
    if (clock == 1)
        HAWSER_TRY(hawser_yield(context));
    if (hawser_block(context) == 1)
        part[clock == 0 ? (ptrdiff_t)count : -1] = 7;
    return HAWSER_OK;
}

static hawser_status write_behind_a_yield(hawser_context *context)
{
    return hawser_clock(context) == 0 ? HAWSER_OK : write_beside(context);
}

static void a_number_beside_the_part_fails_the_run(void **unused)
{
    (void)unused;
    hawser_unit_function *const units[] = {write_beside, write_behind_a_yield};
    static const char *const texts[] = {
        "of partitioned state 'long' was written, but it is of another block; this block has 1333", "number 1333"};
    for (int k = 0; k < 2; k++) {
        hawser_error error = {0};
        hawser_run *run = NULL;
        assert_int_equal(run_long(units[k], &run, &error), HAWSER_BAD_PROGRAM);
        assert_non_null(strstr(error.text, "block 1: number "));
        assert_non_null(strstr(error.text, texts[k]));
    }
}

static void a_line_beyond_the_part_fails_the_run(void **unused)
{
    (void)unused;
    hawser_error error = {0};
    hawser_run *run = NULL;
    assert_int_equal(run_long(take_line_beyond, &run, &error), HAWSER_BAD_PROGRAM);
    assert_non_null(strstr(error.text, "hawser_line: line 1333")); /* 13333 or 13334 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_number_beside_the_part_fails_the_run),
                                       cmocka_unit_test(a_line_beyond_the_part_fails_the_run),
                                       cmocka_unit_test(parts_make_up_the_whole),
                                       cmocka_unit_test(blocks_read_their_rows_in_every_layout),
                                       cmocka_unit_test(touched_numbers_of_a_part_are_sent),
                                       cmocka_unit_test(a_part_of_an_undeclared_state_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
