/* algorithms_borrow.c - trainings on borrowed arrays: in every layout they give the bits of data in the layout that the
 * algorithm reads, and take the memory that the header says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/layout.h"
#include "base/machine.h"
#include "data/layout/flip.h"
#include "factor_data.h"
#include "hawser/algorithm.h"
#include "job.h"
#include "sanitized.h"

static void count_release(void *user)
{
    ++*(int *)user;
}

/* Returns a digest of the model and the facts of a training on `data`. */
static uint64_t train(const char *name, const char *const *pairs, const hawser_dataset *data, bool directly)
{
    const hawser_algorithm *algorithm = hawser_algorithm_find(name);
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), algorithm->rows, NULL};
    static const char *const tensors[] = {"coefficients.index", "coefficients.value", "coefficients",
                                          "intercepts",         "intercept",          "centres"};
    hawser_error error = {0};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_training training = {0};
    uint64_t digest = 0, found = 0;
    assert_int_equal(hawser_options_new(tables, &options, &error), HAWSER_OK);
    for (; *pairs != NULL; pairs += 2)
        assert_int_equal(hawser_options_set(options, pairs[0], pairs[1], HAWSER_FROM_PROGRAM, "test", &error), HAWSER_OK);
    assert_int_equal(hawser_options_set(options, "workers", "2", HAWSER_FROM_PROGRAM, "test", &error), HAWSER_OK);
    assert_int_equal(hawser_open_options(options, &job, &error), HAWSER_OK);
    hawser_training_input input = {.options = options, .data = data};
    hawser_status status = directly ? algorithm->train(algorithm, job, &input, &training, &error)
                                    : hawser_train(algorithm, job, &input, &training, &error);
    if (status != HAWSER_OK)
        fail_msg("%s: %s", name, error.text);
    for (size_t k = 0; k < sizeof tensors / sizeof *tensors; k++) {
        size_t dims[2] = {0};
        const uint64_t *values = hawser_model_get(training.model, tensors[k], NULL, dims);
        size_t count = values != NULL ? dims[0] * (dims[1] > 0 ? dims[1] : 1) : 0;
        found += count;
        digest = hw_hash(values, count * sizeof *values, digest);
    }
    assert_true(found > 0);
    for (const hawser_fact *fact = training.facts; fact->name != NULL; fact++)
        digest = hw_hash(&fact->value, sizeof fact->value, digest);
    hawser_model_free(training.model);
    hawser_run_free(training.run);
    hawser_close(job);
    hawser_options_free(options);
    return digest;
}

/* The other layout of a dataset's matrix. */
static hw_flipped flipped_of(const hawser_dataset *data)
{
    hw_flipped out;
    hawser_error error;
    const hawser_matrix *A = hawser_dataset_matrix(data);
    if (hw_is_dense(A))
        assert_int_equal(hw_flip_dense(A, &out, &error), HAWSER_OK);
    else
        assert_int_equal(hw_flip(A, 0, hw_line_width(A), &out, &error), HAWSER_OK);
    return out;
}

static hawser_dataset *borrow(const hawser_arrays *arrays)
{
    hawser_dataset *made;
    hawser_error error;
    if (hawser_dataset_borrow(arrays, &made, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_ptr_equal(hawser_dataset_matrix(made)->values, arrays->matrix.values);
    return made;
}

/* Copies offsets to 32 bits, if the matrix has any. */
static uint32_t *narrow_offsets(const hawser_matrix *A)
{
    uint32_t *narrow = hw_is_dense(A) ? NULL : calloc(hw_lines(A) + 1, sizeof *narrow);
    for (size_t j = 0; narrow != NULL && j <= hw_lines(A); j++)
        narrow[j] = (uint32_t)A->offsets[j];
    return narrow;
}

static void layouts_have_equal_bits(const char *name, const char *const *pairs, double density)
{
    int released = 0;
    hawser_dataset *data = factor_data(60, 25, density, factor_target_of(name)), *other, *made[3];
    hw_flipped turned = flipped_of(data);
    uint32_t *narrow[2] = {narrow_offsets(hawser_dataset_matrix(data)), narrow_offsets(&turned.matrix)};
    hawser_arrays arrays = {.matrix = *hawser_dataset_matrix(data),
                            .target = hawser_dataset_target(data),
                            .release = count_release,
                            .user = &released};
    hawser_error error;
    assert_int_equal(hawser_dataset_turn(data, &other, &error), HAWSER_OK);
    made[0] = borrow(&arrays);
    arrays.matrix = turned.matrix;
    made[1] = borrow(&arrays);
    arrays.offsets32 = narrow[1];
    arrays.matrix.offsets = NULL;
    made[2] = borrow(&arrays);
    bool by_row = hawser_algorithm_find(name)->split == HAWSER_BY_ROW;
    uint64_t reference = train(name, pairs, by_row ? other : data, true);
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(train(name, pairs, made[k], false), reference);
        hawser_dataset_free(made[k]);
    }
    assert_int_equal(released, 3);
    hw_flip_free(&turned);
    free(narrow[0]);
    free(narrow[1]);
    hawser_dataset_free(other);
    hawser_dataset_free(data);
}

static void every_layout_has_the_bits_of_the_one_that_is_read(void **state)
{
    (void)state;
    static const char *const lambda[] = {"lambda", "0.01", NULL}, *const centres[] = {"clusters", "3", NULL},
                             *const plain[] = {NULL};
    static const char *const names[] = {"lasso", "logistic", "poisson", "softmax", "svm", "kmeans", "linear"};
    static const char *const *const pairs[] = {lambda, lambda, lambda, lambda, plain, centres, plain};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (int sparse = 0; sparse < 2; sparse++)
            layouts_have_equal_bits(names[k], pairs[k], sparse ? 0.6 : 1.0);
}

static const double numbers[] = {1, 2, 9, 3, 4, 9, 5, 6, 9};

/* Two columns of three rows, whose lines are three numbers apart. */
static hawser_arrays small(void)
{
    return (hawser_arrays){
        .matrix = {.rows = 3, .cols = 2, .layout = HAWSER_DENSE_ROWS, .type = HAWSER_F64, .values = numbers, .stride = 3}};
}

static void what_belongs_to_rows_and_columns_is_there(void **state)
{
    (void)state;
    char name[] = "weight";
    const char *names[] = {"size", name};
    const double y[] = {1, 0, 1}, w[] = {1, 2, 0}, b[] = {.5, .25, 0}, g[] = {1, 1, 2};
    hawser_arrays arrays = small();
    arrays.target = y;
    arrays.weights = w;
    arrays.offset = b;
    arrays.groups = g;
    arrays.names = names;
    arrays.target_name = "price";
    hawser_dataset *data = borrow(&arrays), *turned;
    hawser_error error;
    name[0] = '?'; /* names are copied */
    assert_int_equal(hawser_dataset_turn(data, &turned, &error), HAWSER_OK);
    for (int k = 0; k < 2; k++) {
        const hawser_dataset *one = k ? turned : data;
        assert_ptr_equal(hawser_dataset_target(one), y);
        assert_ptr_equal(hawser_dataset_weights(one), w);
        assert_ptr_equal(hawser_dataset_offset(one), b);
        assert_ptr_equal(hawser_dataset_groups(one), g);
        assert_string_equal(hawser_dataset_column(one, 0), "size");
        assert_string_equal(hawser_dataset_column(one, 1), "weight");
        assert_string_equal(hawser_dataset_target_name(one), "price");
        const hawser_matrix *A = hawser_dataset_matrix(one);
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < 2; j++)
                assert_true(hw_value_at(A->values, A->type, hw_dense_place(A, i, j)) == numbers[3 * i + j]);
        assert_int_equal(A->layout, k ? HAWSER_DENSE : HAWSER_DENSE_ROWS);
    }
    hawser_dataset_free(turned);
    hawser_dataset_free(data);
}

/* Targets of 3 rows in every form: two, in place; the same by row, which is copied; and singles. */
static void several_targets_are_there_in_every_order(void **state)
{
    (void)state;
    static const double by_target[] = {1, 2, 3, 99, 4, 5, 6}, by_row[] = {1, 4, 99, 2, 5, 99, 3, 6};
    static const float singles[] = {1, 2, 3, 4, 5, 6};
    static const char *const names[] = {"size", "weight"}, *const of_targets[] = {"price", "age"};
    const struct {
        hawser_layout layout;
        hawser_type type;
        const void *values;
        size_t stride;
    } forms[] = {{HAWSER_DENSE, HAWSER_F64, by_target, 4},
                 {HAWSER_DENSE_ROWS, HAWSER_F64, by_row, 3},
                 {HAWSER_DENSE, HAWSER_F32, singles, 3}};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        for (int named = 0; named < 2; named++) {
            hawser_arrays arrays = small();
            arrays.outputs = (hawser_matrix){.rows = 3,
                                             .cols = 2,
                                             .layout = forms[k].layout,
                                             .type = forms[k].type,
                                             .values = forms[k].values,
                                             .stride = forms[k].stride};
            arrays.names = named ? names : NULL;
            arrays.output_names = of_targets;
            hawser_dataset *data = borrow(&arrays), *turned;
            hawser_error error;
            assert_int_equal(hawser_dataset_turn(data, &turned, &error), HAWSER_OK);
            for (int t = 0; t < 2; t++) {
                const hawser_dataset *one = t ? turned : data;
                assert_int_equal(hawser_dataset_outputs(one), 2);
                assert_ptr_equal(hawser_dataset_output(one, 0), hawser_dataset_target(one));
                assert_memory_equal(hawser_dataset_output(one, 0), by_target, 3 * sizeof(double));
                assert_memory_equal(hawser_dataset_output(one, 1), by_target + 4, 3 * sizeof(double));
                assert_string_equal(hawser_dataset_output_name(one, 0), "price");
                assert_string_equal(hawser_dataset_output_name(one, 1), "age");
                assert_int_equal(hawser_dataset_column(one, 1) != NULL, named);
                assert_int_equal(hawser_dataset_output(one, 1) == by_target + 4, k == 0); /* without a copy */
            }
            hawser_dataset_free(turned);
            hawser_dataset_free(data);
        }
}

/* In every order of the rows and of the targets the model has the same bits; one column is one target. */
static void trainings_on_several_targets_have_equal_bits(void **state)
{
    (void)state;
    enum { ROWS = 60, COLUMNS = 12, TARGETS = 3 };
    static const char *const pairs[] = {"lambda", "0.01", NULL};
    hawser_dataset *data = factor_data(ROWS, COLUMNS, 1.0, FACTOR_NUMBERS), *other;
    double by_target[TARGETS * ROWS], by_row[ROWS * TARGETS];
    uint64_t seed = 9, reference[TARGETS + 1] = {0};
    hawser_error error;
    assert_int_equal(hawser_dataset_turn(data, &other, &error), HAWSER_OK);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < TARGETS; k++)
            by_row[i * TARGETS + k] = by_target[k * ROWS + i] =
                (k == 0 ? hawser_dataset_target(data)[i] : 0.0) + (double)k * factor_draw(&seed);
    reference[1] = train("multitask", pairs, data, true);
    for (size_t k = 0; k < 8; k++) {
        size_t targets = k < 4 ? TARGETS : 1;
        bool rows = k & 1;
        hawser_arrays arrays = {.matrix = *hawser_dataset_matrix(k & 2 ? other : data)};
        arrays.outputs = (hawser_matrix){.rows = ROWS,
                                         .cols = targets,
                                         .layout = rows ? HAWSER_DENSE_ROWS : HAWSER_DENSE,
                                         .values = rows ? by_row : by_target,
                                         .stride = rows ? TARGETS : ROWS};
        hawser_dataset *made = borrow(&arrays);
        uint64_t digest = train("multitask", pairs, made, false);
        reference[targets] = reference[targets] == 0 ? digest : reference[targets];
        assert_int_equal(digest, reference[targets]);
        hawser_dataset_free(made);
    }
    assert_true(reference[1] != reference[TARGETS]);
    hawser_dataset_free(other);
    hawser_dataset_free(data);
}

static void algorithms_of_one_target_refuse_several(void **state)
{
    (void)state;
    static const double values[] = {1, 0, 1, 0, 1, 1};
    hawser_arrays arrays = small();
    arrays.outputs = (hawser_matrix){.rows = 3, .cols = 2, .layout = HAWSER_DENSE, .values = values, .stride = 3};
    hawser_dataset *data = borrow(&arrays);
    const hawser_algorithm *algorithm;
    for (size_t k = 0; (algorithm = hawser_algorithm_at(k)) != NULL; k++) {
        const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), algorithm->rows, NULL};
        char *text = NULL, expected[100];
        hawser_error error = {0};
        hawser_options *options = NULL;
        hawser_job *job = NULL;
        hawser_training training = {0};
        if (hawser_algorithm_head(algorithm, "prediction")->width != NULL || algorithm->no_target)
            continue;
        assert_int_equal(hawser_options_new(tables, &options, &error), HAWSER_OK);
        assert_int_equal(hawser_open_options(options, &job, &error), HAWSER_OK);
        hawser_training_input input = {.options = options, .data = data};
        snprintf(expected, sizeof expected, "the data have 2 targets, and %s predicts one", algorithm->name);
        assert_int_equal(hawser_train(algorithm, job, &input, &training, &error), HAWSER_BAD_INPUT);
        assert_non_null(strstr(error.text, expected));
        assert_int_equal(hawser_train_plan(algorithm, job, &input, HAWSER_PLAN_PHYSICAL, &text, &error), HAWSER_BAD_INPUT);
        assert_non_null(strstr(error.text, expected));
        hawser_close(job);
        hawser_options_free(options);
    }
    hawser_dataset_free(data);
}

static void offsets_may_begin_anywhere(void **state)
{
    (void)state;
    static const uint64_t wide[] = {2, 3, 5};
    static const uint32_t narrow[] = {2, 3, 5}, indices[] = {7, 7, 1, 0, 2};
    hawser_arrays arrays = {.matrix = {.rows = 3,
                                       .cols = 2,
                                       .layout = HAWSER_CSC,
                                       .type = HAWSER_F64,
                                       .offsets = wide,
                                       .indices = indices,
                                       .values = numbers}};
    for (int k = 0; k < 2; k++) {
        hawser_dataset *data;
        hawser_error error;
        assert_int_equal(hawser_dataset_borrow(&arrays, &data, &error), HAWSER_OK);
        const hawser_matrix *A = hawser_dataset_matrix(data);
        assert_true(A->offsets[0] == 0 && A->offsets[1] == 1 && A->offsets[2] == 3 && A->stored == 3);
        assert_true(A->indices == indices + 2 && A->values == numbers + 2);
        hawser_dataset_free(data);
        arrays.matrix.offsets = NULL;
        arrays.offsets32 = narrow;
    }
}

static void refuse(const hawser_arrays *arrays, hawser_status status, const char *text)
{
    hawser_dataset *data;
    hawser_error error = {0};
    int released = 0;
    hawser_arrays own = *arrays;
    own.release = count_release;
    own.user = &released;
    assert_int_equal(hawser_dataset_borrow(&own, &data, &error), status);
    assert_null(data);
    assert_int_equal(released, 0);
    if (strstr(error.text, text) == NULL)
        fail_msg("'%s' does not say '%s'", error.text, text);
}

static void wrong_targets_are_refused(void)
{
    static const double bad[] = {1, 2, 3, 4, 5, NAN}, good[3 * 65] = {0};
    static const char *const names[] = {"a", NULL}, *const lines[] = {"a", "b\nc"};
    const hawser_matrix outputs = {.rows = 3, .cols = 2, .layout = HAWSER_DENSE, .values = good, .stride = 3};
    hawser_arrays arrays = small();
    arrays.outputs = outputs;
    arrays.outputs.values = bad;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "target 1: row 2 is nan; numbers must be finite");
    arrays.outputs.layout = HAWSER_DENSE_ROWS;
    arrays.outputs.stride = 2;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "target 1: row 2 is nan");
    arrays.outputs = outputs;
    arrays.target = good;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "there are outputs and a target");
    arrays.target = NULL;
    arrays.target_name = "y";
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "there are outputs and a target_name");
    arrays.target_name = NULL;
    arrays.output_names = names;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "target 1 has no name");
    arrays.output_names = lines;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "the name of target 1 has a line end");
    arrays.output_names = NULL;
    arrays.outputs.rows = 2;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "the outputs have 2 rows, and the matrix has 3");
    arrays.outputs = outputs;
    arrays.outputs.cols = 65;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "65 targets: data have 1 to 64");
    arrays.outputs.cols = 0;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "0 targets");
    arrays.outputs = outputs;
    arrays.outputs.stride = 2;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "the matrix of outputs has a stride that is below its rows");
    arrays.outputs.layout = HAWSER_CSC;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "the outputs must be dense");
    arrays.outputs = (hawser_matrix){0};
    arrays.output_names = names;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "output_names name no outputs");
}

static void wrong_arrays_are_refused(void **state)
{
    (void)state;
    static const double bad[] = {1, 2, NAN, 3, NAN, 9, 5, 6, 9}, minus[] = {1, -2, 1};
    static const char *const names[] = {"a", NULL}, *const lines[] = {"a\n", "b"};
    static const uint32_t offsets[] = {0, 2, 3, 3}, indices[] = {1, 0, 1};
    hawser_arrays arrays = small();
    arrays.matrix.values = bad;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "row 1, column 1 is nan");
    arrays = small();
    arrays.target = bad;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "target 2 is nan");
    arrays = small();
    arrays.weights = minus;
    refuse(&arrays, HAWSER_BAD_INPUT, "the weight of row 2 is negative");
    arrays = small();
    arrays.names = names;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "column 1 has no name");
    arrays.names = lines;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "the name of column 0 has a line end");
    arrays = small();
    arrays.offsets32 = offsets;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "a dense matrix has no offsets");
    arrays.matrix.layout = HAWSER_CSR;
    arrays.matrix.indices = indices;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "row 0: index 0 follows 1");
    arrays = small();
    arrays.matrix.rows = 0;
    refuse(&arrays, HAWSER_BAD_ARGUMENT, "needs rows and columns");
    wrong_targets_are_refused();
    hawser_error error;
    hawser_dataset *data;
    assert_int_equal(hawser_dataset_borrow(NULL, &data, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_dataset_turn(NULL, &data, &error), HAWSER_BAD_ARGUMENT);
}

/* Forgets the peak of resident memory so far. Returns false where the kernel does not allow it. */
static bool forget_peak(void)
{
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    bool done = file >= 0 && write(file, "5", 1) == 1;
    if (file >= 0)
        close(file);
    return done;
}

/* Data in the layout that is read add nothing to the peak, and others one copy. The rest of a training is far below the
 * data. */
static void peak_memory_is_as_the_header_says(void **state)
{
    (void)state;
    enum { ROWS = 40000, COLUMNS = 100 };
    static const char *const pairs[] = {"lambda", "1", "threads", "1", NULL}, *const centres[] = {"clusters", "2",
                                                                                                  "max-iterations", "1",
                                                                                                  NULL};
    if (SANITIZED || !forget_peak())
        skip();
    const double bytes = (double)ROWS * COLUMNS * sizeof(double);
    double *values = calloc((size_t)ROWS * COLUMNS, sizeof *values), *y = calloc(ROWS, sizeof *y);
    uint64_t seed = 3;
    for (size_t k = 0; k < (size_t)ROWS * COLUMNS; k++)
        values[k] = factor_draw(&seed);
    for (size_t i = 0; i < ROWS; i++)
        y[i] = factor_draw(&seed);
    for (int by_row = 0; by_row < 2; by_row++)
        for (int turned = 0; turned < 2; turned++) {
            bool rows = by_row != turned;
            hawser_arrays arrays = {.matrix = {.rows = ROWS,
                                               .cols = COLUMNS,
                                               .layout = rows ? HAWSER_DENSE_ROWS : HAWSER_DENSE,
                                               .type = HAWSER_F64,
                                               .values = values,
                                               .stride = rows ? COLUMNS : ROWS},
                                    .target = by_row ? NULL : y};
            assert_true(forget_peak());
            double before = (double)hw_machine_peak_rss();
            hawser_dataset *data = borrow(&arrays);
            train(by_row ? "kmeans" : "lasso", by_row ? centres : pairs, data, false);
            hawser_dataset_free(data);
            double more = ((double)hw_machine_peak_rss() - before) / bytes;
            print_message("%s, %s: %.2f of the data\n", by_row ? "kmeans" : "lasso", turned ? "turned" : "as it is", more);
            assert_true(more < (turned ? 1.4 : 0.4));
        }
    free(values);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_has_the_bits_of_the_one_that_is_read),
        cmocka_unit_test(what_belongs_to_rows_and_columns_is_there),
        cmocka_unit_test(several_targets_are_there_in_every_order),
        cmocka_unit_test(trainings_on_several_targets_have_equal_bits),
        cmocka_unit_test(algorithms_of_one_target_refuse_several),
        cmocka_unit_test(offsets_may_begin_anywhere),
        cmocka_unit_test(wrong_arrays_are_refused),
        cmocka_unit_test(peak_memory_is_as_the_header_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
