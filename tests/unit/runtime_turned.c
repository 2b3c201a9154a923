/*
 * Caches whose layout is not the one that a load wants, over several nodes: each node reads a share of the lines, every
 * entry and what belongs to rows and columns is what one process has, and a changed byte that a node uses is noticed, in its
 * own copy of the file too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/layout.h"
#include "data/cache/part.h"
#include "data/load.h"
#include "data/residence.h"
#include "data/share/blocks.h"
#include "directory.h"
#include "nodes.h"
#include "sanitized.h"

/* A matrix with everything that a cache may have. Entries are known by their place alone. */
typedef struct truth {
    hawser_dataset data;
    double *beside[3], *means;
    char (*names)[32];
    const char **columns;
    void *values;
    uint64_t *offsets, bytes;
    uint32_t *indices;
} truth;

/* Returns an entry; of sparse data most are 0, and some rows and columns have none and others many. */
static double entry_at(bool dense, size_t i, size_t j)
{
    const uint64_t drawn = (i * 2654435761U + j * 40503U) % 1009;
    if (!dense && (i % 7 == 3 || j % 11 == 5 || drawn % (j < 4 ? 2 : 9) != 0))
        return 0;
    return (double)drawn - 504.25;
}

static void fill(truth *t)
{
    hawser_matrix *A = &t->data.matrix;
    const bool dense = hw_is_dense(A), by_row = hw_is_by_row(A);
    uint64_t at = 0;
    for (size_t line = 0; line < hw_lines(A); line++) {
        for (size_t k = 0; k < hw_line_width(A); k++) {
            const double value = entry_at(dense, by_row ? line : k, by_row ? k : line);
            if (!dense && value == 0)
                continue;
            if (A->type == HAWSER_F32)
                ((float *)t->values)[at] = (float)value;
            else
                ((double *)t->values)[at] = value;
            if (!dense)
                t->indices[at] = (uint32_t)k;
            at++;
        }
        if (!dense)
            t->offsets[line + 1] = at;
    }
    A->stored = at;
}

/* Makes the data in a layout and writes the cache a.hwc. */
static truth make(size_t rows, size_t cols, hawser_layout layout, hawser_type type)
{
    truth t = {.data = {.figures = {.index_base = layout == HAWSER_CSR || layout == HAWSER_CSC ? 1 : -1}}};
    hawser_matrix *A = &t.data.matrix;
    *A = (hawser_matrix){.rows = rows, .cols = cols, .layout = layout, .type = type};
    A->stride = hw_is_dense(A) ? hw_line_width(A) : 0;
    t.values = calloc(rows * cols, sizeof(double));
    t.offsets = calloc(rows + cols + 2, sizeof *t.offsets);
    t.indices = calloc(rows * cols, sizeof *t.indices);
    t.names = calloc(cols, sizeof *t.names);
    t.columns = calloc(cols, sizeof *t.columns);
    t.means = calloc(cols, sizeof *t.means);
    fill(&t);
    A->values = t.values;
    A->offsets = hw_is_dense(A) ? NULL : t.offsets;
    A->indices = hw_is_dense(A) ? NULL : t.indices;
    for (int k = 0; k < 3; k++) {
        t.beside[k] = calloc(rows, sizeof(double));
        for (size_t i = 0; i < rows; i++)
            t.beside[k][i] = (double)(i * i % 97) + k;
    }
    for (size_t j = 0; j < cols; j++) {
        t.columns[j] = t.names[j];
        (void)snprintf(t.names[j], sizeof t.names[j], "column %zu", j);
        t.means[j] = (double)j / 3;
    }
    t.data.target = t.beside[0];
    t.data.weights = t.beside[1];
    t.data.offset = t.beside[2];
    t.data.means = t.means;
    t.data.columns = t.columns;
    t.data.target_name = "y";
    hawser_error error;
    if (hawser_dataset_save(&t.data, "a.hwc", &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    FILE *file = fopen("a.hwc", "re");
    assert_true(file != NULL && fseek(file, 0, SEEK_END) == 0);
    t.bytes = (uint64_t)ftell(file);
    (void)fclose(file);
    return t;
}

static void drop(truth *t)
{
    for (int k = 0; k < 3; k++)
        free(t->beside[k]);
    free(t->values);
    free(t->offsets);
    free(t->indices);
    free(t->names);
    free(t->columns);
    free(t->means);
}

/* ------------------------------------------------------------------------------------------------------ the parts ---- */

enum { PARTS_MOST = 5 };

/* Opens part k of `parts` from a file. */
static hawser_status open_part(const char *path, const truth *t, uint32_t k, uint32_t parts, hw_cache_part *part,
                               hawser_dataset **dataset)
{
    const hawser_load load = {
        .split = hw_is_by_row(&t->data.matrix) ? HAWSER_BY_COLUMN : HAWSER_BY_ROW, .part = k, .parts = parts};
    hawser_error error;
    return hw_load_part_of_cache(&path, 1, &load, part, dataset, &error);
}

/* Returns whether some part is refused or the checksums differ, when part `bad` (none: parts) comes from the changed copy.
 * *differs: it has other numbers. */
static bool is_noticed(const truth *t, uint32_t parts, uint32_t bad, bool *differs)
{
    hw_cache_progress progress = {0};
    bool noticed = false;
    size_t line = 0;
    for (uint32_t k = 0; k < parts && !noticed; k++) {
        hw_cache_part part[2];
        hawser_dataset *data[2] = {NULL, NULL};
        assert_int_equal(open_part("a.hwc", t, k, parts, &part[0], &data[0]), HAWSER_OK);
        assert_int_equal(part[0].first, line);
        line = part[0].end;
        noticed = k == bad && open_part("b.hwc", t, k, parts, &part[1], &data[1]) != HAWSER_OK;
        if (!noticed && k == bad) {
            const hawser_matrix *A = &data[0]->matrix, *B = &data[1]->matrix;
            *differs = A->stored != B->stored || A->rows != B->rows ||
                       memcmp(A->values, B->values, A->stored * hw_type_size(A->type)) != 0 ||
                       (!hw_is_dense(A) && (memcmp(A->indices, B->indices, A->stored * sizeof *A->indices) != 0 ||
                                            memcmp(A->offsets, B->offsets, (hw_lines(A) + 1) * sizeof *A->offsets) != 0)) ||
                       memcmp(data[0]->target, data[1]->target, A->rows * sizeof(double)) != 0 ||
                       memcmp(data[0]->means, data[1]->means, t->data.matrix.cols * sizeof(double)) != 0;
        }
        const int from = k == bad;
        noticed = noticed || hw_cache_part_check(&part[from], data[from], "b.hwc", NULL, &progress, NULL) != HAWSER_OK;
        hawser_dataset_free(data[0]);
        hawser_dataset_free(data[1]);
    }
    assert_true(noticed || line == hw_lines(&t->data.matrix));
    return noticed;
}

/* Writes b.hwc, a copy in which one bit of a byte differs. */
static void change_byte(uint64_t at)
{
    char byte = 0;
    assert_int_equal(system("cp a.hwc b.hwc"), 0);
    FILE *file = fopen("b.hwc", "r+e");
    assert_true(file != NULL && fseek(file, (long)at, SEEK_SET) == 0 && fread(&byte, 1, 1, file) == 1);
    byte = (char)(byte ^ 1);
    assert_true(fseek(file, (long)at, SEEK_SET) == 0 && fwrite(&byte, 1, 1, file) == 1);
    (void)fclose(file);
}

static void changed_bytes_are_noticed_by_who_uses_them(void **state)
{
    (void)state;
    for (hawser_layout layout = 0; layout < 4; layout++) {
        truth t = make(SANITIZED ? 1500 : 4000, 190, layout, HAWSER_F64);
        bool differs = false;
        uint32_t differed = 0;
        for (uint32_t parts = 1; parts <= PARTS_MOST; parts++)
            assert_false(is_noticed(&t, parts, parts, &differs));
        for (uint64_t k = 1; k < (SANITIZED ? 7 : 24); k++) {
            change_byte(sizeof(hw_cache_header) + (t.bytes - sizeof(hw_cache_header)) * k / 24 / 8 * 8);
            for (uint32_t parts = 1; parts <= PARTS_MOST; parts += 2)
                for (uint32_t bad = 0; bad < parts; bad++) {
                    differs = false;
                    const bool noticed = is_noticed(&t, parts, bad, &differs);
                    if (differs && !noticed)
                        fail_msg("layout %d: part %u of %u has not noticed byte %llu of 24", (int)layout, bad, parts,
                                 (unsigned long long)k);
                    differed += differs;
                }
        }
        assert_true(differed >= 6);
        drop(&t);
    }
}

/* ---------------------------------------------------------------------------------------------------------- nodes ---- */

typedef struct turned_load {
    const truth *t;
    size_t columns; /* hawser_load.columns */
    size_t seen[NODES_MOST];
} turned_load;

static hawser_status differ(test_node *node, const char *what, size_t at)
{
    return hawser_fail(&node->error, HAWSER_INTERNAL, "%s %zu differs", what, at);
}

/* Compares a line, of which `first` is the number in the whole. */
static bool same_line(const hawser_matrix *A, size_t line, size_t number, bool dense, hawser_type type)
{
    size_t at = 0;
    for (size_t k = 0; k < hw_line_width(A); k++) {
        const bool by_row = hw_is_by_row(A);
        double right = entry_at(dense, by_row ? number : k, by_row ? k : number), found = 0;
        right = type == HAWSER_F32 ? (double)(float)right : right;
        if (dense) {
            found = hw_value_at(A->values, A->type, (uint64_t)line * A->stride + k);
        } else if (right != 0) {
            const uint64_t e = A->offsets[line] + at++;
            if (e >= A->offsets[line + 1] || A->indices[e] != k)
                return false;
            found = hw_value_at(A->values, A->type, e);
        }
        if (found != right)
            return false;
    }
    return dense || A->offsets[line + 1] - A->offsets[line] == at;
}

static hawser_status check_columns(test_node *node, const turned_load *what, const hawser_dataset *data, size_t *seen)
{
    const hawser_matrix *A = &data->matrix;
    const truth *t = what->t;
    for (size_t j = 0; j < A->cols; j++)
        if (data->residence == NULL || hw_is_here(data->residence, (uint32_t)j)) {
            ++*seen;
            if (!same_line(A, j, j, hw_is_dense(A), t->data.matrix.type))
                return differ(node, "column", j);
        }
    const size_t bytes = A->rows * sizeof(double);
    if (memcmp(data->target, t->beside[0], bytes) != 0 || memcmp(data->weights, t->beside[1], bytes) != 0 ||
        memcmp(data->offset, t->beside[2], bytes) != 0)
        return differ(node, "what belongs to row", 0);
    return HAWSER_OK;
}

static hawser_status check_rows(test_node *node, const turned_load *what, const hawser_dataset *data, size_t *seen)
{
    const truth *t = what->t;
    const struct hw_row_blocks *blocks = data->residence != NULL ? data->residence->rows : NULL;
    for (uint32_t b = 0; b < (blocks != NULL ? blocks->view.blocks : 1); b++) {
        const hawser_matrix *A = blocks != NULL ? &blocks->block[b].matrix : &data->matrix;
        if (blocks != NULL && !hw_row_block_here(blocks, b))
            continue;
        for (size_t i = 0; i < A->rows; i++, ++*seen) {
            hawser_beside beside;
            if (hawser_dataset_beside(data, A->first + i, 1, &beside, &node->error) != HAWSER_OK)
                return node->error.status;
            if (!same_line(A, i, A->first + i, hw_is_dense(A), t->data.matrix.type))
                return differ(node, "row", A->first + i);
            if (*beside.target != t->beside[0][A->first + i] || *beside.weights != t->beside[1][A->first + i] ||
                *beside.offset != t->beside[2][A->first + i])
                return differ(node, "what belongs to row", A->first + i);
        }
    }
    return HAWSER_OK;
}

/* Names, means and figures are the same on every node, and a node reads a share of the file. */
static hawser_status check_rest(test_node *node, const turned_load *what, const hawser_dataset *data)
{
    const hawser_matrix *A = &what->t->data.matrix;
    const hawser_load_figures *figures = &data->figures;
    const size_t columns = what->columns != 0 ? what->columns : A->cols;
    const bool dense = hw_is_dense(A);
    uint64_t unseen = 0, beside = A->rows * 3 * sizeof(double) + A->cols * 60;
    for (size_t i = 0; i < A->rows; i++)
        for (size_t j = columns; j < A->cols; j++)
            unseen += dense || entry_at(false, i, j) != 0;
    for (size_t j = 0; j < columns; j++)
        if (strcmp(hawser_dataset_column(data, j), what->t->columns[j]) != 0 || data->means[j] != what->t->means[j])
            return differ(node, "name or mean of column", j);
    if (data->matrix.cols != columns || data->matrix.rows != A->rows || strcmp(data->target_name, "y") != 0 ||
        figures->index_base != what->t->data.figures.index_base || figures->format != HAWSER_CACHE)
        return differ(node, "shape, target's name or figures", columns);
    if (figures->unseen_entries != unseen || (unseen != 0 && figures->unseen_columns == 0))
        return differ(node, "number of unknown entries", (size_t)unseen);
    if (what->columns == 0 && figures->bytes_here > what->t->bytes * 1.3 / node->nodes + (double)beside + 4096)
        return differ(node, "number of bytes read", (size_t)figures->bytes_here);
    return node->nodes == 1 || figures->bytes_read >= what->t->bytes - HW_CACHE_SECTIONS * (size_t)HW_CACHE_ALIGNMENT
               ? HAWSER_OK
               : differ(node, "number of bytes read by all", (size_t)figures->bytes_read);
}

static void load_turned(test_node *node)
{
    turned_load *what = node->user;
    const bool by_row = !hw_is_by_row(&what->t->data.matrix);
    const hawser_load load = {.split = by_row ? HAWSER_BY_ROW : HAWSER_BY_COLUMN, .columns = what->columns};
    const char *path = "a.hwc";
    hawser_dataset *data = NULL;
    node->status = hawser_job_load(node->job, &path, 1, &load, &data, &node->error);
    if (node->status == HAWSER_OK)
        node->status = check_rest(node, what, data);
    if (node->status == HAWSER_OK)
        node->status = (by_row ? check_rows : check_columns)(node, what, data, &what->seen[node->node]);
    hawser_dataset_free(data);
}

static void on_nodes(const truth *t, size_t columns, uint32_t count, const char *workers)
{
    test_node nodes[NODES_MOST];
    turned_load what = {.t = t, .columns = columns};
    const hawser_matrix *A = &t->data.matrix;
    size_t seen = 0, lines = hw_is_by_row(A) ? (columns != 0 ? columns : A->cols) : A->rows;
    run_nodes(nodes, count, (const char *const[]){"workers", workers, "timeout", "60", NULL}, load_turned, &what);
    for (uint32_t i = 0; i < count; i++) {
        if (nodes[i].status != HAWSER_OK)
            fail_msg("layout %d, type %d: node %u of %u: %s", (int)A->layout, (int)A->type, i, count, nodes[i].error.text);
        seen += what.seen[i];
    }
    assert_int_equal(seen, lines);
}

/* A pattern that names one cache is read in parts, as its name is; a pattern that names several caches is not. */
static void a_pattern_of_one_cache_is_the_cache(void **state)
{
    (void)state;
    const struct {
        const char *path;
        bool found;
    } cases[] = {{"a.hwc", true}, {"a.hw?", true}, {"[a-z].hwc", true}, {"*.hwc", false}, {"x*.hwc", false}};
    truth t = make(20, 6, HAWSER_CSR, HAWSER_F64);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hw_cache_part part = {0};
        hawser_dataset *data = NULL;
        if (k == 3)
            assert_int_equal(rename("a.hwc", "1.hwc"), 0);
        if (k == 3)
            assert_int_equal(hawser_dataset_save(&t.data, "a.hwc", NULL), HAWSER_OK);
        assert_int_equal(open_part(cases[k].path, &t, 1, 3, &part, &data), HAWSER_OK);
        assert_int_equal(data != NULL, cases[k].found);
        hawser_dataset_free(data);
    }
    drop(&t);
}

static void every_entry_comes_to_its_node(void **state)
{
    (void)state;
    for (hawser_layout layout = 0; layout < 4; layout++)
        for (hawser_type type = HAWSER_F64; type <= HAWSER_F32; type++) {
            truth t = make(203, 31, layout, type);
            for (uint32_t count = 1; count <= 5; count += SANITIZED ? 2 : 1) {
                on_nodes(&t, 0, count, "5");
                on_nodes(&t, 22, count, "7");
            }
            drop(&t);
            t = make(3, 2, layout, type); /* fewer lines than nodes */
            on_nodes(&t, 0, 4, "4");
            drop(&t);
        }
}

static void large_caches_are_dealt_out_in_rounds(void **state)
{
    (void)state;
    for (hawser_layout layout = 0; layout < 4; layout++) {
        const bool sparse = layout == HAWSER_CSC || layout == HAWSER_CSR;
        truth t = make(sparse ? 9000 : 4000, sparse ? 600 : 210, layout, HAWSER_F64); /* 6 MB */
        on_nodes(&t, 0, 2, "4");
        on_nodes(&t, 0, 3, "3");
        drop(&t);
    }
}

/* ------------------------------------------------------------------------------------------------------- refusals ---- */

typedef struct refusal {
    const char *paths[2]; /* of node 0 and of the others */
    hawser_load load;
    hawser_status status;
    const char *text;
} refusal;

static void refused(test_node *node)
{
    const refusal *how = node->user;
    hawser_dataset *data = NULL;
    node->status = hawser_job_load(node->job, &how->paths[node->node > 0], 1, &how->load, &data, &node->error);
    if (node->status == HAWSER_OK || data != NULL)
        node->status = HAWSER_INTERNAL;
}

static void all_refuse(refusal how)
{
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 3, (const char *const[]){"workers", "3", "timeout", "60", NULL}, refused, &how);
    for (uint32_t i = 0; i < 3; i++)
        if (nodes[i].status != how.status || strstr(nodes[i].error.text, how.text) == NULL)
            fail_msg("node %u: %d %s instead of %s", i, nodes[i].status, nodes[i].error.text, how.text);
}

static void what_cannot_be_is_refused_by_all(void **state)
{
    (void)state;
    for (hawser_layout layout = 0; layout < 4; layout++) {
        truth t = make(500, 300, layout, HAWSER_F64);
        const bool by_row = !hw_is_by_row(&t.data.matrix);
        hawser_load load = {.split = by_row ? HAWSER_BY_ROW : HAWSER_BY_COLUMN};
        change_byte(t.bytes / 2 / 8 * 8);
        all_refuse((refusal){{"b.hwc", "b.hwc"}, load, HAWSER_BAD_INPUT, "b.hwc: damaged cache file: "});
        all_refuse((refusal){{"b.hwc", "a.hwc"}, load, HAWSER_BAD_INPUT, "damaged cache file: "});
        load.weights = "w.txt";
        all_refuse((refusal){{"a.hwc", "a.hwc"}, load, HAWSER_BAD_OPTION, "cannot add weights"});
        load.weights = NULL;
        load.memory_limit = 20000;
        all_refuse((refusal){{"a.hwc", "a.hwc"},
                             load,
                             HAWSER_NO_MEMORY,
                             by_row ? "converting columns into rows needs" : "converting rows into columns needs"});
        load.memory_limit = 0;
        assert_int_equal(rename("a.hwc", "b.hwc"), 0);
        drop(&t);
        t = make(500, 300, layout, HAWSER_F64);
        ((double *)t.values)[7] += 0.5;
        hawser_error error;
        assert_int_equal(hawser_dataset_save(&t.data, "a.hwc", &error), HAWSER_OK);
        all_refuse((refusal){{"a.hwc", "b.hwc"}, load, HAWSER_BAD_INPUT, "a.hwc: nodes 0 and 1 have different files"});
        drop(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(changed_bytes_are_noticed_by_who_uses_them, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_pattern_of_one_cache_is_the_cache, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(every_entry_comes_to_its_node, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(large_caches_are_dealt_out_in_rounds, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(what_cannot_be_is_refused_by_all, make_directory, remove_directory),
    };
    return cmocka_run_group_tests_name("caches that are turned over nodes", tests, NULL, NULL);
}
