/* algorithms_by_column.c - bounds and penalty factors as arrays: the bits of files with the same numbers, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "directory.h"
#include "factor_data.h"
#include "hawser/algorithm.h"
#include "nodes.h"

enum { ROWS = 90, COLUMNS = 24, MOST_NODES = 3 };

/* Arrays for all, and what came of a training on each node. */
typedef struct work {
    const char *name;
    const char *pairs[16];
    const double *lower, *upper, *factors;
    const double *other; /* the lower bounds of node 1; NULL: those of all */
    bool lacks;          /* node 1 has no lower bounds */
    uint64_t of[NODES_MOST];
} work;

static double lower[COLUMNS], upper[COLUMNS], factors[COLUMNS];

static void write_array(const char *path, const double *values)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t j = 0; j < COLUMNS; j++)
        fprintf(file, "%.17g\n", values[j]);
    assert_int_equal(fclose(file), 0);
}

static void make_arrays(void)
{
    uint64_t seed = 3;
    for (size_t j = 0; j < COLUMNS; j++) {
        lower[j] = j % 3 == 0 ? (double)-INFINITY : -0.05 * (factor_draw(&seed) + 1.0);
        upper[j] = j % 4 == 0 ? (double)INFINITY : 0.1 * (factor_draw(&seed) + 1.0);
        factors[j] = factor_draw(&seed) + 1.1;
    }
    write_array("lower", lower);
    write_array("upper", upper);
    write_array("factors", factors);
}

static uint64_t digest_of(const hawser_model *model)
{
    static const char *const names[] = {"coefficients", "coefficients.index", "coefficients.value", "intercept"};
    uint64_t digest = 1;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        hawser_type type;
        size_t dims[2];
        const void *values = hawser_model_get(model, names[k], &type, dims);
        if (values != NULL)
            digest =
                hw_hash(values, dims[0] * (dims[1] > 0 ? dims[1] : 1) * (type == HAWSER_F64 || type == HAWSER_I64 ? 8 : 4),
                        digest + k);
    }
    return digest;
}

static void train_on_node(test_node *node)
{
    work *w = node->user;
    uint32_t self = hawser_job_node(node->job);
    hawser_dataset *data = factor_data(ROWS, COLUMNS, 1.0, factor_target_of(w->name));
    hawser_training training = {0};
    const hawser_training_input input = {.options = node->options,
                                         .data = data,
                                         .lower = self == 1 && w->lacks           ? NULL
                                                  : self == 1 && w->other != NULL ? w->other
                                                                                  : w->lower,
                                         .upper = w->upper,
                                         .penalty_factors = w->factors};
    node->status = hawser_train(hawser_algorithm_find(w->name), node->job, &input, &training, &node->error);
    if (node->status == HAWSER_OK)
        w->of[self] = digest_of(training.model);
    hawser_model_free(training.model);
    hawser_run_free(training.run);
    hawser_dataset_free(data);
}

static void run(test_node *nodes, uint32_t count, work *w)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), hawser_algorithm_find(w->name)->rows, NULL};
    run_nodes_with(tables, nodes, count, false, w->pairs, train_on_node, w);
}

#define SHORT "workers", "3", "timeout", "60", "lambda-ratio", "0.05", "tol", "1e-9"

static void arrays_have_the_bits_of_files(void **state)
{
    (void)state;
    static const char *const names[] = {"lasso", "logistic", "poisson", "multitask"};
    make_arrays();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        work plain = {.name = names[k], .pairs = {SHORT, NULL}};
        bool bounds = strcmp(names[k], "multitask") != 0; /* which has no such options */
        work files = {.name = names[k], .pairs = {SHORT, "penalty-factors", "factors", NULL}};
        work arrays = {.name = names[k], .pairs = {SHORT, NULL}, .factors = factors};
        if (bounds) {
            files = (work){.name = names[k],
                           .pairs = {SHORT, "lower", "lower", "upper", "upper", "penalty-factors", "factors", NULL}};
            arrays.lower = lower;
            arrays.upper = upper;
        }
        test_node nodes[NODES_MOST];
        run(nodes, 1, &plain);
        check_all(nodes, 1, names[k]);
        run(nodes, 1, &files);
        check_all(nodes, 1, names[k]);
        assert_true(files.of[0] != plain.of[0]); /* they have an effect */
        for (uint32_t count = 1; count <= MOST_NODES; count++) {
            run(nodes, count, &arrays);
            check_all(nodes, count, names[k]);
            for (uint32_t i = 0; i < count; i++)
                assert_true(arrays.of[i] == files.of[0]);
        }
    }
}

static void expect(work *w, uint32_t count, hawser_status status, const char *text)
{
    test_node nodes[NODES_MOST];
    run(nodes, count, w);
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i].status != status || strstr(nodes[i].error.text, text) == NULL)
            fail_msg("node %u of %u: status %d, %s; expected '%s'", i, count, (int)nodes[i].status, nodes[i].error.text,
                     text);
}

static void wrong_arrays_are_refused(void **state)
{
    (void)state;
    double bad[COLUMNS];
    make_arrays();
    memcpy(bad, lower, sizeof bad);
    bad[7] = 0.5;
    expect(&(work){.name = "lasso", .pairs = {SHORT, NULL}, .lower = bad}, 2, HAWSER_BAD_ARGUMENT, "lower[7] is 0.5");
    bad[7] = NAN;
    expect(&(work){.name = "lasso", .pairs = {SHORT, NULL}, .lower = bad}, 1, HAWSER_BAD_ARGUMENT, "lower[7] is");
    expect(&(work){.name = "lasso", .pairs = {SHORT, NULL}, .factors = bad}, 1, HAWSER_BAD_ARGUMENT,
           "penalty_factors[0] is -inf");
    expect(&(work){.name = "lasso", .pairs = {SHORT, "upper", "1", NULL}, .upper = upper}, 2, HAWSER_BAD_OPTION,
           "both an array and the option are given for upper");
    expect(&(work){.name = "svm", .pairs = {"workers", "2", "timeout", "60", NULL}, .upper = upper}, 2, HAWSER_BAD_ARGUMENT,
           "svm has no such option");
    memcpy(bad, lower, sizeof bad);
    bad[1] /= 2;
    expect(&(work){.name = "lasso", .pairs = {SHORT, NULL}, .lower = lower, .other = bad}, 3, HAWSER_BAD_ARGUMENT,
           "node 1 has other numbers in the array for lower");
    expect(&(work){.name = "lasso", .pairs = {SHORT, NULL}, .lower = lower, .lacks = true}, 3, HAWSER_BAD_ARGUMENT,
           "only one of node 0 and node 1 has an array for lower");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(arrays_have_the_bits_of_files),
                                       cmocka_unit_test(wrong_arrays_are_refused)};
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
