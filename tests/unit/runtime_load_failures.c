/* Loads on several nodes, also of rows in memory, with the n-th allocation of one node's thread failing. That node keeps its
 * job open until all have returned: no node waits for it in a step that it has left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "directory.h"
#include "failing.h"
#include "hawser/job_data.h"
#include "nodes.h"
#include "sanitized.h"

enum { NODES = 3, HANGS_SECONDS = 60 };

typedef enum input_call { LOAD, DATA, OWN_ROWS } input_call;

typedef struct load_case {
    const char *path;
    hawser_load load;
    input_call call; /* DATA, OWN_ROWS: the file is in the memory of each node */
} load_case;

typedef struct failing_load {
    load_case what;
    long nth;
    bool happened;
    atomic_uint here, ended; /* nodes whose job is open, and whose load has returned */
} failing_load;

static void wait_for_all(atomic_uint *count)
{
    atomic_fetch_add(count, 1);
    while (atomic_load(count) < NODES)
        sched_yield();
}

static hawser_status make(test_node *node, const load_case *what, const hawser_dataset *own, hawser_dataset **dataset)
{
    switch (what->call) {
    case LOAD: return hawser_job_load(node->job, &what->path, 1, &what->load, dataset, &node->error);
    case DATA: return hawser_job_data(node->job, own, what->load.split, dataset, &node->error);
    case OWN_ROWS: return hawser_job_own_rows(node->job, own, 0, 0, dataset, &node->error);
    }
    return HAWSER_INTERNAL;
}

static void load(test_node *node)
{
    failing_load *how = node->user;
    const load_case *what = &how->what;
    hawser_dataset *own = NULL, *dataset = NULL;
    bool fails_here = node->node == 1;
    if (what->call != LOAD && hawser_dataset_load(&what->path, 1, &what->load, &own, &node->error) != HAWSER_OK)
        abort();
    wait_for_all(&how->here);
    thread_countdown = fails_here ? how->nth : 0;
    node->status = make(node, what, own, &dataset);
    if (fails_here)
        how->happened = thread_countdown <= 0;
    thread_countdown = 0;
    hawser_dataset_free(dataset);
    hawser_dataset_free(own);
    wait_for_all(&how->ended);
}

/* Returns whether the load has as many allocations. */
static bool fail_at(const load_case *what, long nth)
{
    static const char *const pairs[] = {"workers", "5", "threads", "1", "timeout", "300", NULL};
    test_node nodes[NODES_MOST];
    failing_load how = {.what = *what, .nth = nth};
    alarm(HANGS_SECONDS); /* what hangs ends by it */
    run_nodes(nodes, NODES, pairs, load, &how);
    alarm(0);
    for (uint32_t i = 0; how.happened && i < NODES; i++) {
        bool fits = nodes[i].status == HAWSER_NO_MEMORY || /* the last step may have ended on the others */
                    (i != 1 && (nodes[i].status == HAWSER_PEER_LOST || nodes[i].status == HAWSER_OK));
        if (!fits || (nodes[i].status != HAWSER_OK && nodes[i].error.text[0] == '\0'))
            fail_msg("%s, %s, call %d: allocation %ld fails: node %u: %s, '%s'", what->path,
                     what->load.split == HAWSER_BY_ROW ? "by row" : "by column", (int)what->call, nth, i,
                     hawser_status_name(nodes[i].status), nodes[i].error.text);
    }
    return how.happened;
}

static void no_node_waits_for_one_without_memory(void **state)
{
    (void)state;
    FILE *file = fopen("a.svm", "w");
    assert_non_null(file);
    for (int i = 0; i < 40; i++)
        fprintf(file, "%d %d:1.5 %d:2 900000:%d\n", i, i % 7 + 1, i % 5 + 9, i);
    fclose(file);
    file = fopen("a.csv", "w");
    assert_non_null(file);
    fprintf(file, "y,a,b,w\n");
    for (int i = 0; i < 40; i++)
        fprintf(file, "%d,%s,%d,%d\n", i, i % 3 == 0 ? "x" : "z", i % 5, i % 2 + 1);
    fclose(file);
    file = fopen("a.mtx", "w");
    assert_non_null(file);
    fprintf(file, "%%%%MatrixMarket matrix coordinate real general\n9 7 21\n");
    for (int i = 0; i < 21; i++)
        fprintf(file, "%d %d %d\n", i % 9 + 1, i % 7 + 1, i + 1);
    fclose(file);
    const char *path = "a.svm";
    hawser_dataset *columns = NULL;
    assert_int_equal(hawser_dataset_load(&path, 1, &(hawser_load){.threads = 1}, &columns, NULL), HAWSER_OK);
    assert_int_equal(hawser_dataset_save(columns, "a.hwc", NULL), HAWSER_OK);
    hawser_dataset_free(columns);
    const load_case cases[] = {{"a.svm", {.threads = 1}, LOAD},
                               {"a.svm", {.threads = 1, .split = HAWSER_BY_ROW}, LOAD},
                               {"a.csv", {.threads = 1, .weights = "w", .missing = "mean"}, LOAD},
                               {"a.csv", {.threads = 1, .split = HAWSER_BY_ROW, .missing = "mean"}, LOAD},
                               {"a.hwc", {.split = HAWSER_BY_ROW}, LOAD},
                               {"a.mtx", {.threads = 1, .split = HAWSER_BY_ROW}, LOAD},
                               {"a.mtx", {.threads = 1}, LOAD},
                               {"a.svm", {.threads = 1, .rows_layout = 1}, DATA},
                               {"a.svm", {.threads = 1, .rows_layout = 1, .split = HAWSER_BY_ROW}, DATA},
                               {"a.svm", {.threads = 1, .rows_layout = 1, .split = HAWSER_BY_ROW}, OWN_ROWS}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        long n = 1;
        while (fail_at(&cases[c], n))
            n += runs_long() ? 1 : 1 + n / (SANITIZED ? 4 : 12);
        assert_true(n > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_node_waits_for_one_without_memory, make_directory, remove_directory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
