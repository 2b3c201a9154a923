/* States and units that are given field by field: each field has its effect, or is refused by name; hawser_read and
 * hawser_write give numbers of the state's type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hawser/stored.h"
#include "job.h"

static double numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const hawser_matrix matrix = {.rows = 3, .cols = 4, .stored = 12, .values = numbers, .stride = 3};

static hawser_status nothing(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

static hawser_status run_with(hawser_program *program, const char *workers, hawser_run **run, hawser_error *error)
{
    test_job test = OPEN_JOB("workers", workers, "timeout", "20");
    hawser_status status = hawser_run_program(test.job, program, run, error);
    close_job(test);
    return status;
}

/* The program fails, and the text has each of the words. */
static void assert_refused(hawser_program *program, const char *const *words)
{
    hawser_error error = {0};
    hawser_run *run = NULL;
    assert_int_equal(run_with(program, "2", &run, &error), HAWSER_BAD_PROGRAM);
    for (; *words != NULL; words++)
        if (strstr(error.text, *words) == NULL)
            fail_msg("'%s' is not in '%s'", *words, error.text);
    hawser_program_free(program);
}
#define REFUSED(program, ...) assert_refused(program, (const char *const[]){__VA_ARGS__, NULL})

static void add(const hawser_merging *merging)
{
    for (size_t e = 0; e < merging->count; e++)
        merging->state[e] += merging->sum[e];
}

enum { D = 1, R = 2, P = 4, L = 8, S = 16 };

/* Sets field `which` alone, and stores its name and the kinds that have it; false: there are no more. */
static bool set_field(hawser_state_spec *spec, int which, const char **name, unsigned *kinds)
{
    static const hawser_dataset *const some = (const hawser_dataset *)numbers;
    static hawser_state *const other = (hawser_state *)numbers; /* never looked at: the field is refused */
#define CASE(number, field, value, has)                                                                                     \
    case number:                                                                                                            \
        spec->field = value;                                                                                                \
        *name = "." #field;                                                                                                 \
        *kinds = has;                                                                                                       \
        return true;
    switch (which) {
        CASE(0, type, HAWSER_F32, R | P | L | S)
        CASE(1, rows, 3, R | P | L | S)
        CASE(2, cols, 3, R | P | L | S)
        CASE(3, by_column, true, R | P | S)
        CASE(4, each, true, P | L)
        CASE(5, along, other, P | L | S)
        CASE(6, initial, numbers, R | P | L | S)
        CASE(7, initial_blocks, 2, L)
        CASE(8, matrix, &matrix, D)
        CASE(9, split, HAWSER_WHOLE, D)
        CASE(10, costs, numbers, D)
        CASE(11, damping, 0.5, R)
        CASE(12, gain, 2, R)
        CASE(13, merge, add, R)
        CASE(14, merge_user, numbers, R)
        CASE(15, derive, nothing, R)
        CASE(16, form, HAWSER_AS_BF16, R)
        CASE(17, filter, "absolute", R)
        CASE(18, quota, 100, R)
        CASE(19, max_held, 2, R)
        CASE(20, tie, other, L)
        CASE(21, function, "add", S)
        CASE(22, parameters, numbers, S)
        CASE(23, expect, 3, D | R | P)
        CASE(24, data, some, D)
        CASE(25, keep, true, R | P | L | S)
    }
#undef CASE
    return false;
}

static void a_kind_refuses_the_fields_of_others(void **state)
{
    (void)state;
    static const char *const kinds[] = {"data", "replicated", "partitioned", "local", "stored"};
    size_t refused = 0;
    for (int kind = 0; kind < 5; kind++)
        for (int which = 0;; which++) {
            hawser_state_spec spec = {.name = "x", .kind = (hawser_state_kind)(HAWSER_DATA + kind)};
            const char *name;
            unsigned has;
            if (!set_field(&spec, which, &name, &has))
                break;
            if (has & 1u << kind)
                continue;
            hawser_program *program = hawser_program_new("fields", NULL);
            assert_null(hawser_state_add(program, &spec));
            char words[60];
            snprintf(words, sizeof words, "state 'x' is %s and has no %s,", kinds[kind], name);
            REFUSED(program, words);
            refused++;
        }
    assert_int_equal(refused, 82);
}

static void fields_that_exclude_each_other_are_refused(void **state)
{
    (void)state;
    hawser_program *program = hawser_program_new("p", NULL);
#define REFUSES(kind_, field, other, ...)                                                                                   \
    program = hawser_program_new("p", NULL);                                                                                \
    HAWSER_STATE(program, .name = "x", .kind = kind_, .rows = 3, __VA_ARGS__);                                              \
    REFUSED(program, "'x'", field, other)
    hawser_program_free(program);
    double begin[6] = {0};
    REFUSES(HAWSER_REPLICATED, ".merge", ".damping", .merge = add, .damping = 0.5);
    REFUSES(HAWSER_REPLICATED, ".merge_user", "without .merge", .merge_user = begin);
    REFUSES(HAWSER_REPLICATED, ".quota", "without .filter", .quota = 4);
    REFUSES(HAWSER_REPLICATED, ".max_held", "without .filter", .max_held = 4);
    REFUSES(HAWSER_STORED, ".parameters", "without .function", .parameters = begin);
    REFUSES(HAWSER_LOCAL, ".initial_blocks", "without .each", .initial_blocks = 2, .initial = begin);
    REFUSES(HAWSER_LOCAL, ".initial_blocks", "without .initial", .initial_blocks = 2, .each = true);
    REFUSES(HAWSER_PARTITIONED, ".each", ".initial", .each = true, .initial = begin);
    REFUSES(HAWSER_PARTITIONED, "impossible size", "'x'", .each = true, .cols = SIZE_MAX / 40);
    REFUSES(HAWSER_LOCAL, "impossible size", "'x'", .each = true, .cols = SIZE_MAX / 40);
    program = hawser_program_new("p", NULL);
    HAWSER_STATE(program, "x", HAWSER_PARTITIONED, .each = true, .by_column = true, .cols = 3);
    REFUSED(program, "'x' has an impossible size, 0 x 3");
    REFUSES((hawser_state_kind)0, "no kind", ".kind", .cols = 1);
    REFUSES((hawser_state_kind)9, "does not exist", ".kind", .cols = 1);
#undef REFUSES
    program = hawser_program_new("p", NULL);
    hawser_state *data = HAWSER_STATE(program, .name = "data", .kind = HAWSER_DATA, .matrix = &matrix);
    HAWSER_STATE(program, .name = "x", .kind = HAWSER_LOCAL, .rows = 3, .along = data);
    REFUSED(program, "'x'", "3 rows", "4 lines");
    program = hawser_program_new("p", NULL);
    data = HAWSER_STATE(program, .name = "data", .kind = HAWSER_DATA, .matrix = &matrix);
    HAWSER_STATE(program, .name = "x", .kind = HAWSER_LOCAL, .each = true, .rows = 4, .along = data);
    REFUSED(program, "'x'", ".each and .along");
    program = hawser_program_new("p", NULL);
    assert_null(hawser_state_add(program, NULL));
    REFUSED(program, "'spec' is NULL");
    program = hawser_program_new("p", NULL);
    assert_null(hawser_unit_add(hawser_root(program), NULL));
    REFUSED(program, "'spec' is NULL");
    assert_null(hawser_state_add(NULL, NULL));
    assert_null(hawser_unit_add(NULL, NULL));
}

/* Adds 1, 2, 3 ... to the numbers of every kind and type; a block does so for its own lines. */
static hawser_status step(hawser_context *context)
{
    const hawser_matrix *data;
    double *v, *own, *each, *stored;
    float *f;
    int64_t *many;
    int32_t *few;
    const double *seen;
    HAWSER_TRY(hawser_read(context, "data", &data));
    HAWSER_TRY(hawser_write(context, "v", &v));
    HAWSER_TRY(hawser_write(context, "f", &f));
    HAWSER_TRY(hawser_write(context, "many", &many));
    HAWSER_TRY(hawser_write(context, "few", &few));
    HAWSER_TRY(hawser_write(context, "own", &own));
    HAWSER_TRY(hawser_write(context, "each", &each));
    HAWSER_TRY(hawser_write(context, "stored", &stored));
    HAWSER_TRY(hawser_read(context, "v", &seen));
    v[hawser_block(context)] += 1;
    if (seen[hawser_block(context)] != v[hawser_block(context)])
        return hawser_unit_fail(context, HAWSER_INTERNAL, "a unit does not see what it has written");
    for (size_t j = 0; j < data->cols; j++) {
        many[j] += (int64_t)data->first + (int64_t)j;
        own[2 * j] = (double)(data->first + j), own[2 * j + 1] = -own[2 * j];
    }
    f[0] += 0.5f, few[0] += 3;
    size_t first, count = hawser_part(context, "each", &first);
    if (count != 6 || first != 6 * (size_t)hawser_block(context))
        return hawser_unit_fail(context, HAWSER_INTERNAL, "%zu numbers from %zu", count, first);
    for (size_t e = 0; e < count; e++)
        each[e] = (double)(first + e);
    for (size_t e = 0, n = hawser_part(context, "stored", &first); e < n; e++)
        stored[e] += (double)(first + e);
    return HAWSER_OK;
}

/* All numbers of a partitioned state are read by a block that does not update it. */
static hawser_status look(hawser_context *context)
{
    const double *each;
    const int64_t *many;
    double sum = 0;
    HAWSER_TRY(hawser_read(context, "each", &each));
    HAWSER_TRY(hawser_read(context, "many", &many));
    for (size_t e = 0; e < 6 * (size_t)hawser_blocks(context); e++)
        sum += each[e];
    return hawser_report(context, "sum", sum);
}

static void each_kind_and_type_is_read_and_written(void **state)
{
    (void)state;
    static const int64_t from[4] = {100, 200, 300, 400};
    for (uint32_t blocks = 1; blocks <= 3; blocks++) {
        hawser_program *program = hawser_program_new("all", NULL);
        hawser_state *data = HAWSER_STATE(program, .name = "data", .kind = HAWSER_DATA, .matrix = &matrix);
        hawser_state *v = HAWSER_STATE(program, .name = "v", .kind = HAWSER_REPLICATED, .rows = 4);
        hawser_state *f = HAWSER_STATE(program, .name = "f", .kind = HAWSER_REPLICATED, .type = HAWSER_F32, .rows = 2);
        hawser_state *few =
            HAWSER_STATE(program, .name = "few", .kind = HAWSER_LOCAL, .each = true, .type = HAWSER_I32, .rows = 1);
        hawser_state *many =
            HAWSER_STATE(program, .name = "many", .kind = HAWSER_LOCAL, .type = HAWSER_I64, .along = data, .initial = from);
        hawser_state *own =
            HAWSER_STATE(program, .name = "own", .kind = HAWSER_PARTITIONED, .rows = 4, .cols = 2, .along = data);
        hawser_state *each =
            HAWSER_STATE(program, .name = "each", .kind = HAWSER_PARTITIONED, .each = true, .rows = 3, .cols = 2);
        hawser_state *stored = HAWSER_STATE(program, .name = "stored", .kind = HAWSER_STORED, .rows = 5);
        hawser_metric_declare(program, "sum", HAWSER_LAST);
        HAWSER_UNIT(hawser_root(program), .name = "step", .run = step, .reads = {data},
                    .updates = {v, f, few, many, own, each, stored});
        HAWSER_UNIT(hawser_root(program), .name = "look", .run = look, .one = true, .reads = {each, many});
        hawser_error error = {0};
        hawser_run *run = NULL;
        char text[20];
        snprintf(text, sizeof text, "%u", blocks);
        test_job test = OPEN_JOB("workers", text, "timeout", "20");
        if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        size_t count;
        const double *is = RESULT(double, run, "v", &count);
        for (uint32_t b = 0; b < 4; b++)
            assert_float_equal(is[b], b < blocks ? 1 : 0, 0);
        assert_float_equal(RESULT(float, run, "f", NULL)[0], 0.5 * blocks, 0);
        is = RESULT(double, run, "own", &count);
        for (size_t j = 0; j < 4; j++) {
            assert_int_equal(RESULT(int64_t, run, "many", NULL)[j], from[j] + (int64_t)j);
            assert_float_equal(is[2 * j], j, 0);
            assert_float_equal(is[2 * j + 1], -(double)j, 0);
        }
        is = RESULT(double, run, "each", &count);
        assert_int_equal(count, 6 * blocks);
        for (size_t e = 0; e < count; e++)
            assert_float_equal(is[e], e, 0);
        assert_float_equal(hawser_result_metric(run, "sum"), 3.0 * blocks * (6 * blocks - 1), 0);
        assert_int_equal(RESULT(int32_t, run, "few", &count)[blocks - 1], 3);
        assert_int_equal(count, blocks);
        for (size_t e = 0; e < 5; e++)
            assert_float_equal(RESULT(double, run, "stored", NULL)[e], e, 0);
        hawser_run_free(run);
        close_job(test);
        hawser_program_free(program);
    }
}

/* A unit that makes the call that `user` says, which must fail. */
static hawser_status wrong(hawser_context *context)
{
    double *w = NULL;
    const float *f = NULL;
    const double *d = NULL;
    const hawser_matrix *m = NULL;
    switch (*(const int *)hawser_user(context)) {
    case 0: return hawser_read(context, "v", &f);
    case 1: return hawser_read(context, "v", &m);
    case 2: return hawser_read(context, "data", &d);
    case 3: return hawser_write(context, "read", &w);
    case 4: return hawser_read(context, "absent", &d);
    case 5: return hawser_read(context, "undeclared", &d);
    case 6: return hawser_write(context, "added", &w);
    case 7: return hawser_read(context, "added", &d);
    case 8: return hawser_read_as(context, "v", HAWSER_F64, NULL);
    case 9: return hawser_write_as(context, "v", (hawser_type)17, &w);
    default: return hawser_write(context, NULL, &w);
    }
}

static void wrong_reads_and_writes_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const words[][2] = {{"a pointer to a float", "state 'v' are of f64"},
                                           {"a pointer to a hawser_matrix", "state 'v'"},
                                           {"a pointer to a double", "'data' are a matrix"},
                                           {"state 'read' is declared to be read, not updated", "hawser_write"},
                                           {"no state 'absent'", "hawser_read"},
                                           {"'undeclared' is not declared by this unit", "hawser_read"},
                                           {"state 'added' is changed by every block", "hawser_inc"},
                                           {"state 'added' is stored", "hawser_next_chunk"},
                                           {"'numbers' is NULL", "hawser_read"},
                                           {"a type that does not exist", "hawser_write"},
                                           {"no state ''", "hawser_write"}};
    for (int call = 0; call < 11; call++) {
        hawser_program *program = hawser_program_new("wrong", &call);
        hawser_state *data = HAWSER_STATE(program, .name = "data", .kind = HAWSER_DATA, .matrix = &matrix);
        hawser_state *v = HAWSER_STATE(program, .name = "v", .kind = HAWSER_REPLICATED, .rows = 4);
        hawser_state *read = HAWSER_STATE(program, .name = "read", .kind = HAWSER_REPLICATED, .rows = 4);
        HAWSER_STATE(program, .name = "undeclared", .kind = HAWSER_REPLICATED, .rows = 4);
        hawser_state *added = HAWSER_STATE(program, .name = "added", .kind = HAWSER_STORED, .rows = 4, .function = "add");
        HAWSER_UNIT(hawser_root(program), .name = "u", .run = wrong, .reads = {data, read}, .updates = {v, added});
        REFUSED(program, words[call][0], words[call][1], "unit 'u'");
    }
}

static hawser_status touch_both(hawser_context *context)
{
    double *rows, *columns;
    HAWSER_TRY(hawser_write(context, "rows", &rows));
    HAWSER_TRY(hawser_write(context, "columns", &columns));
    rows[0] += 100, columns[0] += 100;
    return HAWSER_OK;
}

/* A square matrix from a file has its numbers in the order of the state. */
static void replicated_numbers_are_stored_by_row_or_by_column(void **state)
{
    (void)state;
    char path[] = "/tmp/hawser_spec_XXXXXX.npy", option[200];
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    char header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    const char *dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }";
    memcpy(header + 10, dictionary, strlen(dictionary));
    header[127] = '\n';
    static const double square[4] = {1, 2, 3, 4};
    assert_int_equal(write(file, header, sizeof header), sizeof header);
    assert_int_equal(write(file, square, sizeof square), sizeof square);
    close(file);
    snprintf(option, sizeof option, "rows=%s,columns=%s", path, path);
    hawser_program *program = hawser_program_new("square", NULL);
    hawser_state *rows = HAWSER_STATE(program, .name = "rows", .kind = HAWSER_REPLICATED, .rows = 2, .cols = 2);
    hawser_state *columns =
        HAWSER_STATE(program, .name = "columns", .kind = HAWSER_REPLICATED, .rows = 2, .cols = 2, .by_column = true);
    hawser_operator *loop = hawser_loop(hawser_root(program), "l", (hawser_until){.clocks = 1}, hawser_bsp());
    HAWSER_UNIT(loop, .name = "u", .run = touch_both, .one = true, .updates = {rows, columns});
    test_job test = OPEN_JOB("workers", "2", "init", option);
    hawser_error error = {0};
    hawser_run *run = NULL;
    if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    static const double by_row[4] = {101, 2, 3, 4}, by_column[4] = {101, 3, 2, 4};
    assert_memory_equal(RESULT(double, run, "rows", NULL), by_row, sizeof by_row);
    assert_memory_equal(RESULT(double, run, "columns", NULL), by_column, sizeof by_column);
    hawser_run_free(run);
    close_job(test);
    hawser_program_free(program);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_refuses_the_fields_of_others),
        cmocka_unit_test(fields_that_exclude_each_other_are_refused),
        cmocka_unit_test(each_kind_and_type_is_read_and_written),
        cmocka_unit_test(wrong_reads_and_writes_are_refused_by_name),
        cmocka_unit_test(replicated_numbers_are_stored_by_row_or_by_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
