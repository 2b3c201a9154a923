/*
 * Rows that are held by block: those that the nodes have already stay where they are; functions that are given the whole are
 * refused; numbers of rows are written in their order by node 0.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "hawser/batches.h"
#include "hawser/job_data.h"
#include "hawser/row_kernels.h"
#include "rows_input.h"
#include "runtime/input/source.h"
#include "sanitized.h"

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
    hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .data = data, .split = HAWSER_BY_ROW);
    HAWSER_UNIT(hawser_root(program), "nothing", nothing, .reads = {X});
    hawser_status status = hawser_plan_print(node->job, program, HAWSER_PLAN_PHYSICAL, out, &node->error);
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

/* ------------------------------------------------------------------------------------------------ touches ---- */

enum { TOUCH_ROWS = 40, TOUCH_MOST = TOUCH_ROWS * 64 };

/* What a function reads, and where its result is. */
typedef struct touching {
    const hawser_matrix *A;
    double x[TOUCH_MOST], out[TOUCH_MOST];
    float narrow_x[TOUCH_MOST], narrow_out[TOUCH_MOST];
} touching;

typedef struct touch {
    const char *name;
    void (*call)(touching *t);
    bool columns; /* of columns, which CSR does not have */
} touch;

static const uint32_t columns[] = {0, 1, 2};

#define CALL(name, call)                                                                                                    \
    static void name(touching *t)                                                                                           \
    {                                                                                                                       \
        call;                                                                                                               \
    }
CALL(column_dot, t->out[0] = hawser_column_dot(t->A, 1, t->x))
CALL(column_axpy, hawser_column_axpy(t->A, 1, 2, t->out))
CALL(column_moments, hawser_column_moments(t->A, 1, NULL, 1, 0, &t->out[0], &t->out[1]))
CALL(scan, hawser_scan(t->A, t->x, t->out))
CALL(scan_some, hawser_scan_some(t->A, columns, 3, t->x, t->out))
CALL(combine, hawser_combine(t->A, columns, t->x, 3, t->out))
CALL(multiply, hawser_multiply(t->A, t->x, 1, t->out))
CALL(row_dot, t->out[0] = hawser_row_dot(t->A, 3, t->x))
CALL(row_axpy, hawser_row_axpy(t->A, 3, 2, t->out))
CALL(row_distance, t->out[0] = hawser_row_distance(t->A, 3, t->x))
CALL(row_squares, hawser_row_squares(t->A, t->out))
CALL(multiply_block, hawser_multiply_block(t->A, t->x, 2, 2, t->out, 2))
CALL(accumulate_block, hawser_accumulate_block(t->A, t->x, 2, 2, t->out, 2))
CALL(distances, hawser_distances(t->A, NULL, t->x, 2, t->x, 2, t->out, 2))
CALL(row_dot_f32, t->out[0] = (double)hawser_row_dot_f32(t->A, 3, t->narrow_x))
CALL(row_axpy_f32, hawser_row_axpy_f32(t->A, 3, 2, t->narrow_out))
CALL(row_distance_f32, t->out[0] = (double)hawser_row_distance_f32(t->A, 3, t->narrow_x))
CALL(row_squares_f32, hawser_row_squares_f32(t->A, t->narrow_out))
CALL(multiply_block_f32, hawser_multiply_block_f32(t->A, t->narrow_x, 2, 2, t->narrow_out, 2))
CALL(accumulate_block_f32, hawser_accumulate_block_f32(t->A, t->narrow_x, 2, 2, t->narrow_out, 2))
CALL(distances_f32, hawser_distances_f32(t->A, NULL, t->narrow_x, 2, t->narrow_x, 2, t->narrow_out, 2))

/* A view of the whole's rows is as absent as the whole. */
static void rows_of_the_whole(touching *t)
{
    const hawser_matrix part = hawser_matrix_rows(t->A, 2, 9);
    t->out[0] = hawser_row_dot(&part, 1, t->x);
}

/* Functions that return a status or a size: NaN stands for a refusal. */
static void gram(touching *t)
{
    double sums[9];
    t->out[0] = hawser_gram(t->A, columns, 0, 3, NULL, sums, 3, NULL) == HAWSER_OK ? 0 : (double)NAN;
    t->out[1] = hawser_row_dot(t->A, 0, t->x); /* a Gram matrix of rows is refused before it touches anything */
}

static void batches(touching *t)
{
    static const size_t first[] = {0, 1, 2};
    const hawser_batch batch = {.rows = first, .count = 3};
    hawser_matrix rows;
    t->out[0] =
        hawser_batch_pack(t->A, &batch, t->x, sizeof t->x, &rows, NULL) == HAWSER_OK || hawser_batch_bytes(t->A, 3) != 0
            ? 0
            : (double)NAN;
}

static const touch touches[] = {
    {"hawser_column_dot", column_dot, true},
    {"hawser_column_axpy", column_axpy, true},
    {"hawser_column_moments", column_moments, true},
    {"hawser_scan", scan, true},
    {"hawser_scan_some", scan_some, true},
    {"hawser_combine", combine, true},
    {"hawser_multiply", multiply, false},
    {"hawser_row_dot", row_dot, false},
    {"hawser_row_axpy", row_axpy, false},
    {"hawser_row_distance", row_distance, false},
    {"hawser_row_squares", row_squares, false},
    {"hawser_multiply_block", multiply_block, false},
    {"hawser_accumulate_block", accumulate_block, false},
    {"hawser_distances", distances, false},
    {"hawser_row_dot_f32", row_dot_f32, false},
    {"hawser_row_axpy_f32", row_axpy_f32, false},
    {"hawser_row_distance_f32", row_distance_f32, false},
    {"hawser_row_squares_f32", row_squares_f32, false},
    {"hawser_multiply_block_f32", multiply_block_f32, false},
    {"hawser_accumulate_block_f32", accumulate_block_f32, false},
    {"hawser_distances_f32", distances_f32, false},
    {"hawser_matrix_rows", rows_of_the_whole, false},
    {"hawser_gram", gram, false},
    {"hawser_batch_pack", batches, false},
};

/* Programs whose unit calls one of them with the whole matrix, or nodes that do so outside of the program. */
typedef struct touch_case {
    const char *path;
    hawser_type type;
    bool outside;
} touch_case;

typedef struct touch_user {
    const touch *what;
    const hawser_matrix *A;
} touch_user;

/* Returns whether the function has left a number in place of NaN. */
static bool leaves_numbers(const touch *what, const hawser_matrix *A)
{
    touching *t = calloc(1, sizeof *t);
    bool none = false;
    assert_non_null(t);
    t->A = A;
    t->x[0] = t->x[1] = t->x[2] = 1;
    what->call(t);
    for (size_t i = 0; i < TOUCH_MOST; i++)
        none |= isnan(t->out[i]) || isnan(t->narrow_out[i]);
    free(t);
    return !none;
}

static hawser_status touch_whole(hawser_context *context)
{
    const touch_user *user = hawser_user(context);
    return leaves_numbers(user->what, user->A) ? hawser_unit_fail(context, HAWSER_INTERNAL, "it left a number") : HAWSER_OK;
}

static void touch_and_expect(test_node *node, const touch *what, bool outside, const hawser_matrix *A)
{
    hawser_run *run = NULL;
    touch_user user = {what, A};
    hawser_program *program = hawser_program_new("touching", &user);
    hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = A, .split = HAWSER_BY_ROW);
    HAWSER_UNIT(hawser_root(program), outside ? "nothing" : "touch", outside ? nothing : touch_whole, .reads = {X});
    if (outside && leaves_numbers(what, A))
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%s left a number", what->name);
    expect(node, hawser_run_program(node->job, program, &run, &node->error), HAWSER_BAD_PROGRAM,
           outside ? "the whole of data state 'X' was used outside of a unit" : "unit 'touch'");
    if (!outside)
        expect(node, HAWSER_BAD_PROGRAM, HAWSER_BAD_PROGRAM, "the whole of data state 'X' was used");
    hawser_run_free(run);
    hawser_program_free(program);
}

/* A job goes on after a run that was refused. */
static void touch_all(test_node *node)
{
    const touch_case *how = node->user;
    hawser_dataset *data = NULL;
    const hawser_load load = {.split = HAWSER_BY_ROW, .type = how->type};
    node->status = hawser_job_load(node->job, &how->path, 1, &load, &data, &node->error);
    for (size_t k = 0; k < sizeof touches / sizeof *touches && node->status == HAWSER_OK; k++)
        if (!touches[k].columns || hawser_dataset_matrix(data)->layout != HAWSER_CSR)
            touch_and_expect(node, &touches[k], how->outside, hawser_dataset_matrix(data));
    hawser_dataset_free(data);
}

static void functions_that_read_the_whole_are_refused_by_state_and_unit(void **state)
{
    (void)state;
    static const char *const paths[] = {"a.svm", "a.csv"};
    write_svmlight("a.svm", 0, TOUCH_ROWS, 1);
    write_csv("a.csv", TOUCH_ROWS, false, false);
    for (int k = 0; k < 8; k++) {
        touch_case how = {paths[k % 2], k / 2 % 2 == 0 ? HAWSER_F64 : HAWSER_F32, k / 4 != 0};
        test_node nodes[NODES_MOST];
        run_nodes(nodes, 2, (const char *const[]){"workers", "2", "timeout", "60", NULL}, touch_all, &how);
        check_all(nodes, 2, how.path);
    }
}

/* An array of the whole that a unit reads by a pointer: 0 values, 1 numbers of columns, 2 offsets. */
typedef struct pointing {
    const hawser_matrix *A;
    int array;
} pointing;

static hawser_status read_by_pointer(hawser_context *context)
{
    const pointing *what = hawser_user(context);
    const hawser_matrix *A = what->A;
    const void *const arrays[] = {A->values, A->indices, A->offsets};
    return *(const volatile unsigned char *)arrays[what->array] == 0 ? HAWSER_OK : HAWSER_INTERNAL;
}

static void point_and_expect(test_node *node)
{
    const char *path = node->user;
    const hawser_load load = {.split = HAWSER_BY_ROW};
    hawser_dataset *data = NULL;
    node->status = hawser_job_load(node->job, &path, 1, &load, &data, &node->error);
    for (int k = 0; k < 3 && node->status == HAWSER_OK; k++) {
        pointing what = {hawser_dataset_matrix(data), k};
        if (k != 0 && what.A->layout != HAWSER_CSR)
            break;
        hawser_run *run = NULL;
        hawser_program *program = hawser_program_new("pointing", &what);
        hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = what.A, .split = HAWSER_BY_ROW);
        HAWSER_UNIT(hawser_root(program), "point", read_by_pointer, .reads = {X});
        expect(node, hawser_run_program(node->job, program, &run, &node->error), HAWSER_BAD_PROGRAM, "unit 'point'");
        expect(node, HAWSER_BAD_PROGRAM, HAWSER_BAD_PROGRAM, "the whole of data state 'X' was read by a pointer");
        hawser_run_free(run);
        hawser_program_free(program);
    }
    hawser_dataset_free(data);
}

static void pointer_into_the_whole_ends_the_unit_under_check(void **state)
{
    (void)state;
    static const char *const paths[] = {"a.svm", "a.csv"}, *const workers[] = {"2", "3"};
    if (SANITIZED) {
        print_message("sanitizers handle faults themselves\n");
        skip();
    }
    write_svmlight("a.svm", 0, TOUCH_ROWS, 1);
    write_csv("a.csv", TOUCH_ROWS, false, false);
    for (int k = 0; k < 4; k++) {
        test_node nodes[NODES_MOST];
        const char *const options[] = {"workers", workers[k / 2], "timeout", "60", "check", "yes", NULL};
        run_nodes(nodes, 2, options, point_and_expect, (void *)(uintptr_t)paths[k % 2]);
        check_all(nodes, 2, paths[k % 2]);
    }
}

/* ------------------------------------------------------------------------------------------------ writing ---- */

/* Numbers that are written for each row. */
typedef struct writing {
    test_node *node;
    const hawser_dataset *data;
    size_t width;
    size_t odd;  /* a row whose last number is not finite; SIZE_MAX: none */
    size_t lost; /* a row at which its node fails; SIZE_MAX: none */
} writing;

static double number_of(size_t row, size_t k)
{
    return sin((double)row) / 3 + (double)k;
}

static hawser_status make_numbers(size_t first, size_t count, double *values, void *user)
{
    const writing *w = user;
    hawser_beside beside;
    HAWSER_TRY(hawser_dataset_beside(w->data, first, count, &beside, &w->node->error)); /* rows of a block of this node */
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < w->width; k++)
            values[i * w->width + k] = first + i == w->odd && k + 1 == w->width ? INFINITY : number_of(first + i, k);
    return w->lost >= first && w->lost - first < count ? HAWSER_BAD_INPUT : HAWSER_OK;
}

/* Compares the file with the numbers; it is written by node 0. */
static hawser_status check_file(test_node *node, size_t rows, size_t width)
{
    const char *path = "out.csv";
    hawser_dataset *data = NULL;
    const hawser_load load = {.target = "none", .rows_layout = 1, .header = -1, .format = HAWSER_CSV};
    HAWSER_TRY(hawser_dataset_load(&path, 1, &load, &data, &node->error));
    const hawser_matrix *A = hawser_dataset_matrix(data);
    bool right = A->rows == rows && A->cols == width;
    for (size_t i = 0; right && i < rows; i++)
        for (size_t k = 0; k < width; k++)
            right = right && hw_value_at(A->values, A->type, hw_dense_place(A, i, k)) == number_of(i, k);
    hawser_dataset_free(data);
    return right ? HAWSER_OK : hawser_fail(&node->error, HAWSER_BAD_INPUT, "the file has other numbers");
}

static void write_and_check(test_node *node)
{
    const size_t wide = node->nodes == 1 ? 3 : 50000, widths[] = {1, wide}; /* of a wide one, a piece has two rows */
    const char *path = "a.svm";
    hawser_dataset *data = NULL;
    const hawser_load load = {.split = HAWSER_BY_ROW};
    node->status = hawser_job_load(node->job, &path, 1, &load, &data, &node->error);
    for (int k = 0; k < 2 && node->status == HAWSER_OK; k++) {
        writing w = {node, data, widths[k], SIZE_MAX, SIZE_MAX};
        node->status = hawser_job_write_rows(node->job, data, "out.csv", w.width, make_numbers, &w, &node->error);
        if (node->status == HAWSER_OK && node->node == 0)
            node->status = check_file(node, hawser_dataset_matrix(data)->rows, w.width);
        node->status = hw_cluster_agree(node->job->cluster, node->status, &node->error); /* before it is replaced */
    }
    /* The file that is there stays as it is if a later one fails. */
    writing odd = {node, data, wide, 5, SIZE_MAX}, lost = {node, data, wide, SIZE_MAX, 5};
    expect(node, hawser_job_write_rows(node->job, data, "out.csv", odd.width, make_numbers, &odd, &node->error),
           HAWSER_NOT_FINITE, "of row 5 is not finite");
    expect(node, hawser_job_write_rows(node->job, data, "out.csv", lost.width, make_numbers, &lost, &node->error),
           HAWSER_BAD_INPUT, "could not be made");
    expect(node, hawser_job_write_rows(node->job, data, "none/out.csv", 1, make_numbers, &lost, &node->error), HAWSER_IO,
           "none");
    if (node->status == HAWSER_OK && node->node == 0)
        node->status = check_file(node, hawser_dataset_matrix(data)->rows, wide);
    hawser_dataset_free(data);
}

static void numbers_of_rows_are_written_in_order_or_not_at_all(void **state)
{
    (void)state;
    write_svmlight("a.svm", 0, 12, 1);
    for (uint32_t count = 1; count <= 3; count += 2) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, count, (const char *const[]){"workers", "4", "timeout", "60", NULL}, write_and_check, NULL);
        check_all(nodes, count, "writing");
        assert_int_equal(system("test \"$(ls -A | sort | tr '\\n' ' ')\" = 'a.svm out.csv '"), 0); /* no temporary file */
        assert_int_equal(remove("out.csv"), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_of_a_node_stay_where_they_are, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(rows_of_nodes_that_do_not_fit_are_refused_by_name, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(functions_that_read_the_whole_are_refused_by_state_and_unit, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(pointer_into_the_whole_ends_the_unit_under_check, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(numbers_of_rows_are_written_in_order_or_not_at_all, make_directory,
                                        remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
