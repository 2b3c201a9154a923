/* Programs over several nodes, in one process, that were stopped go on with another number of nodes: with data that were
 * dealt out, with rows that stay where they are, and with columns that a unit has fetched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "directory.h"
#include "hawser/job_data.h"
#include "nodes.h"

enum { ROWS = 12, COLS = 6, CLOCKS = 12, STOPS = 4 };
static const char *const options[] = {"workers", "4", "checkpoint", "ck", "checkpoint-every", "0", NULL};

typedef enum data_kind { DEALT_ROWS, DEALT_COLUMNS, OWN_ROWS } data_kind;

/* What a test wants of a run, and what came of it. */
typedef struct wanted {
    data_kind kind;
    bool stops;
    int changed; /* 1 + the place of a number that is another one; 0: none is */
    double sum;  /* of node 0 */
} wanted;

static double number_at(const wanted *given, size_t row, size_t column)
{
    size_t place = row * COLS + column;
    return (double)(place * place % 31) + (given->changed == (int)place + 1 ? 0.5 : 0.0);
}

/* Makes the rows that a node has: the first one few, so that cuts within nodes are not those of the whole. */
static hawser_dataset *rows_of(const test_node *node, double *numbers, size_t *first)
{
    const wanted *given = node->user;
    size_t begin = node->node == 0 ? 0 : 1 + (ROWS - 1) * (node->node - 1) / (node->nodes > 1 ? node->nodes - 1 : 1);
    size_t end = node->nodes == 1 ? ROWS : 1 + (ROWS - 1) * node->node / (node->nodes - 1);
    hawser_arrays arrays = {
        .matrix = {.rows = end - begin, .cols = COLS, .values = numbers, .layout = HAWSER_DENSE_ROWS, .stride = COLS}};
    hawser_dataset *own = NULL;
    hawser_error error = {0};
    for (size_t i = begin; i < end; i++)
        for (size_t j = 0; j < COLS; j++)
            numbers[(i - begin) * COLS + j] = number_at(given, i, j);
    if (hawser_dataset_borrow(&arrays, &own, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    *first = begin;
    return own;
}

/* Adds what the block has of the data, in an order of its own. */
static hawser_status add(hawser_context *context)
{
    const hawser_matrix *own;
    HAWSER_TRY(hawser_read(context, "data", &own));
    HAWSER_WRITE(context, double, sum);
    size_t lines = own->layout == HAWSER_DENSE ? own->cols : own->rows, width = own->rows + own->cols - lines;
    for (size_t i = 0; i < lines; i++)
        for (size_t j = 0; j < width; j++)
            sum[0] += ((const double *)own->values)[i * own->stride + j] / (double)(3 + hawser_clock(context));
    return HAWSER_OK;
}

/* Fetches a column of another block in the first clock, and adds it in all of them. */
static hawser_status add_fetched(hawser_context *context)
{
    const hawser_matrix *whole;
    const uint32_t column = (hawser_block(context) + 3) % COLS;
    if (hawser_clock(context) == 0)
        HAWSER_TRY(hawser_data_fetch(context, "whole", &column, 1));
    HAWSER_TRY(hawser_read(context, "whole", &whole));
    HAWSER_WRITE(context, double, sum);
    const double ones[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    sum[0] += hawser_column_dot(whole, column, ones);
    return HAWSER_OK;
}

/* Interrupts the job after a few clocks, as a signal would. */
static bool interrupt(hawser_progress *progress, void *user)
{
    test_node *node = user;
    if (((wanted *)node->user)->stops && hawser_progress_clock(progress) == STOPS)
        hawser_interrupt(node->job);
    return false;
}

static void train(test_node *node, const hawser_dataset *data)
{
    wanted *given = node->user;
    const hawser_matrix *matrix = hawser_dataset_matrix(data);
    hawser_split split = given->kind == DEALT_COLUMNS ? HAWSER_BY_COLUMN : HAWSER_BY_ROW;
    hawser_program *program = hawser_program_new("adds", NULL);
    hawser_run *run = NULL;
    hawser_state *X = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = matrix, .split = split);
    hawser_state *sum = HAWSER_STATE(program, "sum", HAWSER_REPLICATED, .rows = 1);
    hawser_operator *loop = hawser_loop(hawser_root(program), "rounds",
                                        (hawser_until){.clocks = CLOCKS, .test = interrupt, .user = node}, hawser_bsp());
    HAWSER_UNIT(loop, "add", add, .reads = {X}, .updates = {sum});
    if (given->kind == DEALT_COLUMNS) {
        hawser_state *whole = HAWSER_STATE(program, "whole", HAWSER_DATA, .matrix = matrix, .split = HAWSER_FETCHED);
        HAWSER_UNIT(loop, "add fetched", add_fetched, .reads = {X, whole}, .updates = {sum});
    }
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (run != NULL && node->node == 0)
        given->sum = *RESULT(double, run, "sum", NULL);
    hawser_run_free(run);
    hawser_program_free(program);
}

static void body(test_node *node)
{
    const wanted *given = node->user;
    double numbers[ROWS * COLS];
    size_t first = 0;
    hawser_dataset *own = rows_of(node, numbers, &first), *data = NULL;
    hawser_split split = given->kind == DEALT_COLUMNS ? HAWSER_BY_COLUMN : HAWSER_BY_ROW;
    node->status = given->kind == OWN_ROWS ? hawser_job_own_rows(node->job, own, first, ROWS, &data, &node->error)
                                           : hawser_job_data(node->job, own, split, &data, &node->error);
    if (node->status == HAWSER_OK)
        train(node, data);
    hawser_dataset_free(data);
    hawser_dataset_free(own);
}

static hawser_status run(data_kind kind, uint32_t count, bool stops, int changed, double *sum, hawser_error *error)
{
    test_node nodes[NODES_MOST];
    wanted given = {.kind = kind, .stops = stops, .changed = changed};
    run_nodes(nodes, count, options, body, &given);
    *sum = given.sum;
    *error = nodes[0].error;
    for (uint32_t i = 1; i < count; i++)
        assert_true((nodes[i].status == HAWSER_OK) == (nodes[0].status == HAWSER_OK));
    return nodes[0].status;
}

static void stop(data_kind kind, uint32_t count, double whole)
{
    hawser_error error = {0};
    double partly = 0;
    assert_int_equal(run(kind, count, true, 0, &partly, &error), HAWSER_STOP);
    assert_true(partly < whole);
    assert_int_equal(access("ck/token", F_OK), 0);
}

static void check_dealt(data_kind kind)
{
    hawser_error error = {0};
    double whole = 0, sum = 0;
    if (run(kind, 1, false, 0, &whole, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    for (uint32_t before = 1; before <= 3; before++)
        for (uint32_t after = 1; after <= 4; after++) {
            stop(kind, before, whole);
            assert_int_equal(run(kind, after, false, 1 + (int)(before * after), &sum, &error), HAWSER_BAD_OPTION);
            assert_non_null(strstr(error.text, "data of state 'data' = digest"));
            if (run(kind, after, false, 0, &sum, &error) != HAWSER_OK)
                fail_msg("%u nodes, then %u: %s", before, after, error.text);
            assert_memory_equal(&sum, &whole, sizeof sum);
            assert_int_not_equal(access("ck/token", F_OK), 0);
        }
}

static void dealt_rows_go_on_with_other_nodes(void **state)
{
    (void)state;
    check_dealt(DEALT_ROWS);
}

static void dealt_and_fetched_columns_go_on_with_other_nodes(void **state)
{
    (void)state;
    check_dealt(DEALT_COLUMNS);
}

static void rows_that_stay_go_on_with_the_same_nodes(void **state)
{
    (void)state;
    hawser_error error = {0};
    double whole = 0, sum = 0;
    assert_int_equal(run(OWN_ROWS, 3, false, 0, &whole, &error), HAWSER_OK);
    stop(OWN_ROWS, 3, whole);
    assert_int_equal(run(OWN_ROWS, 2, false, 0, &sum, &error), HAWSER_BAD_OPTION);
    assert_non_null(strstr(error.text, "rows of state 'data' that stay on their nodes"));
    assert_int_equal(run(OWN_ROWS, 3, false, 5, &sum, &error), HAWSER_BAD_OPTION);
    assert_int_equal(run(OWN_ROWS, 3, false, 0, &sum, &error), HAWSER_OK);
    assert_memory_equal(&sum, &whole, sizeof sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dealt_rows_go_on_with_other_nodes, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(dealt_and_fetched_columns_go_on_with_other_nodes, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(rows_that_stay_go_on_with_the_same_nodes, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
