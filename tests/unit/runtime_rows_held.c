/*
 * Rows that are held by block: those that the nodes have already stay where they are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rows_input.h"
#include "runtime/job/source.h"

enum { OWN_ROWS = 83 };
/* The rows of node k of `nodes` begin here; node 1 of 3 has none. */
static size_t own_begin(uint32_t k, uint32_t nodes)
{
    static const size_t begins[3][4] = {{0, OWN_ROWS}, {0, 50, OWN_ROWS}, {0, 20, 20, OWN_ROWS}};
    return begins[nodes - 1][k];
}

/* Rows that each node has: of arrays, or of a file of its own. */
typedef struct own_input {
    input what;
    hawser_dataset *rows; /* of all nodes, by row */
    bool files, declared;
} own_input;

/* Makes the dataset of this node alone. */
static hawser_status make_own(test_node *node, const own_input *own, hawser_dataset **mine)
{
    size_t begin = own_begin(node->node, node->nodes), end = own_begin(node->node + 1, node->nodes);
    *mine = NULL;
    if (begin == end)
        return HAWSER_OK;
    if (!own->files) {
        const hawser_matrix part = hawser_matrix_rows(hawser_dataset_matrix(own->rows), begin, end);
        return hawser_dataset_from(&part, hawser_dataset_target(own->rows) + begin, mine, &node->error);
    }
    char name[40];
    const char *path = name;
    hawser_load load = own->what.load;
    snprintf(name, sizeof name, "own-%u-%u.csv", node->nodes, node->node);
    HAWSER_TRY(hawser_dataset_write(own->rows, begin, end, HAWSER_CSV, path, &node->error));
    load.split = HAWSER_BY_ROW;
    load.target = "0";
    return hawser_dataset_load(&path, 1, &load, mine, &node->error);
}

/* The plan says that there is no second source, and a block cannot be read again. */
static hawser_status check_plan_of_own(test_node *node, const hawser_dataset *data)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    hawser_program *program = hawser_program_new("own", NULL);
    hawser_state *X = hawser_data_state(program, "X", hawser_dataset_matrix(data), HAWSER_BY_ROW);
    hawser_unit(hawser_root(program), "nothing", nothing, HAWSER_READS(X), NULL);
    hawser_status status = hawser_plan_print(node->job, program, true, false, out, &node->error);
    fclose(out);
    if (status == HAWSER_OK && strstr(text, "no second source") == NULL)
        status = hawser_fail(&node->error, HAWSER_BAD_INPUT, "the plan does not say that there is no second source");
    hawser_program_free(program);
    free(text);
    hw_block_again again;
    expect(node, hw_read_block_again(node->job, data, 0, &again, &node->error), HAWSER_BAD_ARGUMENT,
           "was not loaded by row");
    hw_block_again_free(&again);
    return status;
}

static void own_rows(test_node *node)
{
    own_input *own = node->user;
    hawser_dataset *mine = NULL, *data = NULL;
    input what = own->what; /* each node has its own cut to compare with */
    node->status = make_own(node, own, &mine);
    if (node->status == HAWSER_OK)
        node->status = hawser_job_own_rows(node->job, mine, own_begin(node->node, node->nodes), own->declared ? OWN_ROWS : 0,
                                           &data, &node->error);
    what.cut = (size_t *)(uintptr_t)hawser_dataset_cut(data, NULL);
    if (node->status == HAWSER_OK && hawser_dataset_matrix(data)->rows != OWN_ROWS)
        node->status = hawser_fail(&node->error, HAWSER_BAD_INPUT, "there are %zu rows", hawser_dataset_matrix(data)->rows);
    if (node->status == HAWSER_OK)
        node->status = run_sums(node, &what, data);
    if (node->status == HAWSER_OK)
        node->status = check_plan_of_own(node, data);
    uint32_t blocks;
    const size_t *cut = hawser_dataset_cut(data, &blocks);
    bool cuts = false; /* a block begins where the node's rows do */
    for (uint32_t b = 0; cut != NULL && b < blocks; b++)
        cuts |= cut[b] == own_begin(node->node, node->nodes);
    if (node->status == HAWSER_OK && !cuts)
        node->status = hawser_fail(&node->error, HAWSER_BAD_INPUT, "no block begins at the node's first row");
    hawser_dataset_free(data);
    hawser_dataset_free(mine);
}

static void rows_of_a_node_stay_where_they_are(void **state)
{
    (void)state;
    static const char *const paths[] = {"a.svm", "a.csv"};
    static const char *const workers[] = {"3", "7"};
    write_svmlight("a.svm", 0, OWN_ROWS, 1);
    write_csv("a.csv", OWN_ROWS, false, false);
    for (int k = 0; k < 6; k++) { /* sparse, dense, and files; rows of one node begin where declared, or follow */
        own_input own = {.files = k / 2 == 2, .declared = k % 2 == 0};
        const char *path = paths[k / 2 != 0];
        hawser_dataset *whole = NULL;
        const hawser_load by_row = {.split = HAWSER_BY_ROW};
        assert_int_equal(hawser_dataset_load(&path, 1, &own.what.load, &whole, NULL), HAWSER_OK);
        assert_int_equal(hawser_dataset_load(&path, 1, &by_row, &own.rows, NULL), HAWSER_OK);
        own.what.whole = whole;
        own.what.table = table_of(hawser_dataset_matrix(whole));
        for (uint32_t count = 1; count <= 3; count++) {
            test_node nodes[NODES_MOST];
            run_nodes(nodes, count, (const char *const[]){"workers", workers[k % 2], "timeout", "60", NULL}, own_rows, &own);
            check_all(nodes, count, path);
        }
        free(own.what.table);
        hawser_dataset_free(own.rows);
        hawser_dataset_free(whole);
    }
}

/* What one node declares or has that does not fit the others. */
typedef struct own_misfit {
    const char *text;
    size_t first, rows, whole, cols; /* of node 1; node 0 has rows [0, 4) of 3 columns, of 10 */
    enum { ODD_PLACE, ODD_TARGET, ODD_TYPE, ODD_LAYOUT, ODD_WORDS } odd;
} own_misfit;

static void refuse_own(test_node *node)
{
    const own_misfit *how = node->user;
    static const double numbers[40];
    static const float singles[40];
    bool odd = node->node == 1;
    hawser_matrix rows = {.rows = odd ? how->rows : 4, .cols = odd ? how->cols : 3, .layout = HAWSER_DENSE_ROWS};
    rows.stride = rows.cols;
    rows.stored = rows.rows * rows.cols;
    rows.values = numbers;
    if (odd && how->odd == ODD_LAYOUT) {
        rows.layout = HAWSER_DENSE;
        rows.stride = rows.rows;
    }
    if (odd && how->odd == ODD_TYPE) {
        rows.type = HAWSER_F32;
        rows.values = singles;
    }
    hawser_dataset *mine = NULL, *data = NULL;
    node->status = hawser_dataset_from(&rows, odd && how->odd == ODD_TARGET ? numbers : NULL, &mine, &node->error);
    if (node->status == HAWSER_OK && how->odd == ODD_WORDS) {
        const char *path = odd ? "odd.csv" : "even.csv";
        hawser_dataset_free(mine);
        put_file(path, odd ? "y,a,c\n1,2,3\n4,5,6\n" : "y,a,b\n1,2,3\n4,5,6\n");
        const hawser_load load = {.split = HAWSER_BY_ROW};
        node->status = hawser_dataset_load(&path, 1, &load, &mine, &node->error);
    }
    if (node->status == HAWSER_OK)
        expect(node, hawser_job_own_rows(node->job, mine, odd ? how->first : 0, odd ? how->whole : 10, &data, &node->error),
               HAWSER_BAD_ARGUMENT, how->text);
    if (node->status == HAWSER_OK && data != NULL)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "there is a dataset");
    hawser_dataset_free(mine);
}

static void rows_of_nodes_that_do_not_fit_are_refused_by_name(void **state)
{
    (void)state;
    const own_misfit all[] = {
        {"the rows of node 1 begin at row 5, but those of the nodes before it end at row 4", 5, 5, 10, 3, ODD_PLACE},
        {"the rows of node 1 begin at row 3, but the nodes before it have the rows up to row 4", 3, 7, 10, 3, ODD_PLACE},
        {"the nodes have 9 rows, and the whole is declared to have 10", 4, 5, 10, 3, ODD_PLACE},
        {"node 1 declares 11 rows of the whole, and node 0 declares 10", 4, 7, 11, 3, ODD_PLACE},
        {"node 0 has rows of 3 columns, and node 1 of 2", 4, 6, 10, 2, ODD_PLACE},
        {"node 1 has a target, and node 0 has not", 4, 6, 10, 3, ODD_TARGET},
        {"nodes 0 and 1 have matrices of different layouts or types", 4, 6, 10, 3, ODD_TYPE},
        {"the matrix has its columns side by side", 4, 6, 10, 3, ODD_LAYOUT},
        {"nodes 0 and 1 have other names of columns or other words", 4, 6, 10, 3, ODD_WORDS},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        test_node nodes[NODES_MOST];
        own_misfit how = all[k];
        run_nodes(nodes, 2, (const char *const[]){"workers", "3", "timeout", "60", NULL}, refuse_own, &how);
        check_all(nodes, 2, how.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_of_a_node_stay_where_they_are, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(rows_of_nodes_that_do_not_fit_are_refused_by_name, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
