/* Rows near the workers over nodes and threads: SSP's guarantees with real waiting, function "assign", wrong calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hawser/store.h"
#include "nodes.h"

enum { WORKERS = 2, CLOCKS = 25, KEYS = 60, WIDTH = 3 };

typedef struct worker {
    hawser_store *store;
    uint32_t table, number, all;
    uint64_t staleness;
    hawser_status status;
    hawser_error error;
} worker;

static const char *const plain[] = {"workers", "1", NULL};

/* Everybody adds 1 to each row in each clock: how large a row is says how many clocks are in. */
static hawser_status one_clock(worker *w, uint64_t t, const uint64_t *keys, const float *one, float *out)
{
    double least = t > w->staleness ? (double)(t - w->staleness) : 0, most = (double)(t + w->staleness + 1);
    for (int twice = 0; twice < 2; twice++) {
        HAWSER_TRY(hawser_table_get(w->store, w->table, w->number, keys, KEYS, out, &w->error));
        double own = (double)t + twice;
        for (uint64_t i = 0; i < KEYS * WIDTH; i++)
            if (out[i] < own + (w->all - 1) * least || out[i] > own + (w->all - 1) * most)
                return hawser_fail(&w->error, HAWSER_INTERNAL, "clock %llu reads %g", (unsigned long long)t, (double)out[i]);
        if (!twice)
            HAWSER_TRY(hawser_table_inc(w->store, w->table, w->number, keys, KEYS, one, &w->error));
    }
    return hawser_table_clock(w->store, w->table, w->number, &w->error);
}

static void *run_clocks(void *argument)
{
    worker *w = argument;
    uint64_t keys[KEYS];
    float one[KEYS * WIDTH], out[KEYS * WIDTH];
    for (uint64_t i = 0; i < KEYS; i++)
        keys[i] = 3 * i;
    for (uint64_t i = 0; i < KEYS * WIDTH; i++)
        one[i] = 1;
    for (uint64_t t = 0; t < CLOCKS && w->status == HAWSER_OK; t++)
        w->status = one_clock(w, t, keys, one, out);
    return NULL;
}

typedef struct shape {
    uint64_t staleness;
    size_t bytes;
    bool sparse;
} shape;

static void clock_body(test_node *node)
{
    const shape *how = node->user;
    hawser_store *store = NULL;
    const hawser_store_options options = {.workers = WORKERS, .cache_bytes = how->bytes};
    if ((node->status = hawser_store_open(node->job, &options, &store, &node->error)) != HAWSER_OK)
        return;
    uint32_t table = 0;
    const hawser_table rows = {.name = "rows",
                               .type = HAWSER_F32,
                               .width = WIDTH,
                               .sparse = how->sparse,
                               .last = 3 * KEYS,
                               .staleness = how->staleness};
    node->status = hawser_store_table(store, &rows, &table, &node->error);
    worker workers[WORKERS];
    pthread_t threads[WORKERS];
    uint32_t started = 0;
    for (; started < WORKERS && node->status == HAWSER_OK; started++) {
        workers[started] = (worker){
            .store = store, .table = table, .number = started, .all = node->nodes * WORKERS, .staleness = how->staleness};
        pthread_create(&threads[started], NULL, run_clocks, &workers[started]);
    }
    for (uint32_t k = 0; k < started; k++) {
        pthread_join(threads[k], NULL);
        if (workers[k].status != HAWSER_OK && node->status == HAWSER_OK)
            node->status = hawser_fail(&node->error, workers[k].status, "%.400s", workers[k].error.text);
    }
    if (node->status == HAWSER_OK)
        node->status = hawser_store_wait_all(store, &node->error);
    hawser_store_figures figures;
    hawser_store_figures_of(store, &figures);
    if (node->status == HAWSER_OK && figures.rows_cached == 0)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "nothing was read near");
    if (node->status == HAWSER_OK && figures.cache_bytes > how->bytes)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "rows take %llu bytes of %zu",
                                   (unsigned long long)figures.cache_bytes, how->bytes);
    hawser_store_close(store);
}

static void reads_are_fresh_enough(void **state)
{
    (void)state;
    for (uint64_t staleness = 0; staleness < 3; staleness++)
        for (uint32_t count = 1; count <= 3; count++) {
            shape how = {staleness, staleness == 1 ? 1500 : 1 << 20, count == 2};
            test_node nodes[NODES_MOST];
            run_nodes(nodes, count, plain, clock_body, &how);
            check_all(nodes, count, "clocks");
        }
}

/* ----------------------------------------------------------------------------------------- another function; errors ---- */

static hawser_status expect(hawser_status got, hawser_status wanted, const char *words, hawser_error *error)
{
    if (got == wanted && (words == NULL || strstr(error->text, words) != NULL))
        return HAWSER_OK;
    char text[200];
    snprintf(text, sizeof text, "%.190s", got == HAWSER_OK ? "no error" : error->text);
    return hawser_fail(error, HAWSER_INTERNAL, "expected '%s', got: %s", words != NULL ? words : "", text);
}

/* What a table would not heed is refused. */
static hawser_status unheeded(hawser_store *store, hawser_error *error)
{
    static const struct {
        hawser_table table;
        const char *words;
    } wrong[] = {
        {{.name = "u", .last = 3, .delay = 2}, "a delay (2) is for data-centric tables"},
        {{.name = "u", .last = 3, .rounding = HAWSER_AS_BF16, .level = 0.5}, "a level (0.5) is for a filter"},
        {{.name = "u", .last = 3, .parameters = {0.1}}, "'add' takes 0 parameters, and parameters[0] is 0.1"},
        {{.name = "u", .last = 3, .function = "adagrad", .parameters = {0.1, 1e-6, 3}},
         "takes 2 parameters, and parameters[2] is 3"},
        {{.name = "u", .last = 3, .type = (hawser_type)9}, "there is no value type 9"},
    };
    uint32_t table;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        HAWSER_TRY(
            expect(hawser_store_table(store, &wrong[i].table, &table, error), HAWSER_BAD_ARGUMENT, wrong[i].words, error));
    return HAWSER_OK;
}

/* What a filter and rounding hold back is there after a flush; until then a part of it. */
static hawser_status held_back(hawser_store *store, hawser_error *error)
{
    hawser_table rows = {.name = "held", .last = 3, .rounding = HAWSER_AS_BF16, .filter = "significant", .level = 1};
    const double values[] = {0.5, 3 + 0x1p-9, 0.25, 1.5}, right[] = {0, 3, 0, 1.5};
    double out[4];
    uint32_t table;
    uint64_t task;
    HAWSER_TRY(hawser_store_table(store, &rows, &table, error));
    HAWSER_TRY(hawser_push(store, &(hawser_request){.table = table, .last = 3, .values = values}, &task, error));
    const hawser_request pull = {.table = table, .last = 3, .out = out};
    for (int flushed = 0; flushed < 2; flushed++) {
        HAWSER_TRY(hawser_pull(store, &pull, &task, error));
        HAWSER_TRY(hawser_store_wait(store, task, error));
        if (memcmp(out, flushed ? values : right, sizeof out) != 0)
            return hawser_fail(error, HAWSER_INTERNAL, "flushed %d: %.17g %.17g", flushed, out[0], out[1]);
        HAWSER_TRY(hawser_store_flush(store, table, &task, error));
    }
    hawser_store_figures figures;
    hawser_store_figures_of(store, &figures);
    if (figures.rows_held != 2)
        return hawser_fail(error, HAWSER_INTERNAL, "%llu rows were held", (unsigned long long)figures.rows_held);
    rows = (hawser_table){.name = "what", .last = 3, .filter = "some"};
    HAWSER_TRY(unheeded(store, error));
    return expect(hawser_store_table(store, &rows, &table, error), HAWSER_BAD_ARGUMENT, "there is no filter 'some'", error);
}

static hawser_status other_calls(hawser_store *store, hawser_error *error)
{
    uint32_t assigned, centric, clocked;
    const uint64_t keys[] = {1, 5}, wrong[] = {5, 1}, far[] = {1, 100};
    double values[] = {3, 4}, out[2], bad[] = {1, 0.0};
    bad[1] = bad[0] / bad[1];
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "a", .last = 9, .function = "assign"}, &assigned, error));
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "c", .last = 9, .data_centric = true}, &centric, error));
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "k", .last = 9}, &clocked, error));
    HAWSER_TRY(hawser_table_get(store, assigned, 0, keys, 2, out, error));
    HAWSER_TRY(hawser_table_inc(store, assigned, 0, keys, 2, values, error));
    HAWSER_TRY(hawser_table_clock(store, assigned, 0, error));
    HAWSER_TRY(hawser_table_get(store, assigned, 0, keys, 2, out, error));
    if (out[0] != 3 || out[1] != 4)
        return hawser_fail(error, HAWSER_INTERNAL, "assigned rows read %g %g", out[0], out[1]);
    HAWSER_TRY(expect(hawser_table_get(store, centric, 0, keys, 2, out, error), HAWSER_BAD_ARGUMENT, "data-centric", error));
    HAWSER_TRY(
        expect(hawser_table_get(store, 77, 0, keys, 2, out, error), HAWSER_BAD_ARGUMENT, "no table number 77", error));
    HAWSER_TRY(expect(hawser_table_get(store, assigned, 4, keys, 2, out, error), HAWSER_BAD_ARGUMENT, "no worker 4", error));
    HAWSER_TRY(expect(hawser_table_get(store, assigned, 0, wrong, 2, out, error), HAWSER_BAD_ARGUMENT, "ascending", error));
    HAWSER_TRY(expect(hawser_table_inc(store, assigned, 0, far, 2, values, error), HAWSER_BAD_ARGUMENT,
                      "keys 1 to 100 are not within 0 to 9", error));
    HAWSER_TRY(expect(hawser_table_inc(store, assigned, 0, keys, 2, bad, error), HAWSER_NOT_FINITE, "key 5", error));
    HAWSER_TRY(hawser_store_clock(store, clocked, 0, 0, 0, 9, error));
    HAWSER_TRY(
        expect(hawser_table_clock(store, clocked, 0, error), HAWSER_BAD_ARGUMENT, "advanced by hawser_store_clock", error));
    return expect(hawser_store_clock(store, assigned, 0, 1, 0, 9, error), HAWSER_BAD_ARGUMENT,
                  "advanced by hawser_table_clock", error);
}

static void call_body(test_node *node)
{
    hawser_store *store = NULL;
    node->status = hawser_store_open(node->job, NULL, &store, &node->error);
    if (node->status == HAWSER_OK)
        node->status = other_calls(store, &node->error);
    if (node->status == HAWSER_OK)
        node->status = held_back(store, &node->error);
    hawser_store_close(store);
}

static void calls_are_checked(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 1, plain, call_body, NULL);
    check_all(nodes, 1, "calls");
}

/* ------------------------------------------------------------------------- a function of the user's, on summed rows ---- */

/* Polyak's heavy ball: memory is the velocity. */
static void apply_momentum(const hawser_applying *a)
{
    double *values = a->values;
    const double *gradients = a->updates;
    for (size_t i = 0; i < a->rows * a->width; i++) {
        a->memory[i] = a->parameters[1] * a->memory[i] - a->parameters[0] * gradients[i];
        values[i] += a->memory[i];
    }
}

static const char *check_momentum(const double *p)
{
    return p[1] < 1 ? NULL : "the momentum must be below 1";
}

static const hawser_function momentum = {
    .name = "momentum", .memory = 1, .parameters = 2, .check = check_momentum, .apply = apply_momentum};

/* Worker w's gradient on a key in a clock: neither order nor grouping of the sums is without effect on the bits. */
static double gradient_of(uint32_t number, uint64_t clock, uint64_t key, double value)
{
    return (value - (double)key) / 3 + 1e-3 * (number + 1) * (double)(clock + 1) / 7;
}

static void *descend(void *argument)
{
    worker *w = argument;
    uint64_t keys[KEYS];
    double rows[KEYS], gradients[KEYS];
    uint32_t number = w->all + w->number; /* of all nodes' */
    for (uint64_t i = 0; i < KEYS; i++)
        keys[i] = i;
    for (uint64_t t = 0; t <= CLOCKS && w->status == HAWSER_OK; t++) {
        w->status = hawser_table_get(w->store, w->table, w->number, keys, KEYS, rows, &w->error);
        for (uint64_t i = 0; i < KEYS; i++)
            gradients[i] = gradient_of(number, t, i, rows[i]);
        if (t == CLOCKS)
            break;
        if (w->status == HAWSER_OK)
            w->status = hawser_table_inc(w->store, w->table, w->number, keys, KEYS, gradients, &w->error);
        if (w->status == HAWSER_OK)
            w->status = hawser_table_clock(w->store, w->table, w->number, &w->error);
    }
    double right[KEYS] = {0}, memory[KEYS] = {0};
    for (uint64_t t = 0; t < CLOCKS; t++)
        for (uint64_t i = 0; i < KEYS; i++) {
            double sum = 0;
            for (uint32_t k = 0; k < w->staleness; k++) /* here: of all workers how many */
                sum += gradient_of(k, t, i, right[i]);
            memory[i] = 0.5 * memory[i] - 0.1 * sum;
            right[i] += memory[i];
        }
    if (w->status == HAWSER_OK && memcmp(right, rows, sizeof rows) != 0)
        w->status = hawser_fail(&w->error, HAWSER_INTERNAL, "other bits than one thread's: %.17g %.17g", rows[5], right[5]);
    return NULL;
}

static void descend_body(test_node *node)
{
    hawser_store *store = NULL;
    const hawser_store_options options = {.workers = WORKERS, .functions = &momentum, .function_count = 1};
    if ((node->status = hawser_store_open(node->job, &options, &store, &node->error)) != HAWSER_OK)
        return;
    uint32_t table = 0;
    const hawser_table rows = {
        .name = "w", .last = KEYS - 1, .summed = true, .function = "momentum", .parameters = {0.1, 0.5}};
    node->status = hawser_store_table(store, &rows, &table, &node->error);
    worker workers[WORKERS];
    pthread_t threads[WORKERS];
    uint32_t started = 0;
    for (; started < WORKERS && node->status == HAWSER_OK; started++) {
        workers[started] = (worker){.store = store,
                                    .table = table,
                                    .number = started,
                                    .all = node->node * WORKERS,
                                    .staleness = node->nodes * WORKERS};
        pthread_create(&threads[started], NULL, descend, &workers[started]);
    }
    for (uint32_t k = 0; k < started; k++) {
        pthread_join(threads[k], NULL);
        if (workers[k].status != HAWSER_OK && node->status == HAWSER_OK)
            node->status = hawser_fail(&node->error, workers[k].status, "%.400s", workers[k].error.text);
    }
    hawser_store_close(store);
}

static void own_functions_see_sums(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 3; count++) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, count, plain, descend_body, NULL);
        check_all(nodes, count, "descent");
    }
}

/* Node 1 does not have it; then wrong parameters, and names that are taken. */
static void lacking_body(test_node *node)
{
    hawser_store *store = NULL;
    uint32_t table;
    const hawser_function taken = {.name = "max", .apply = apply_momentum};
    hawser_store_options options = {.functions = &taken, .function_count = 1};
    node->status = expect(hawser_store_open(node->job, &options, &store, &node->error), HAWSER_BAD_ARGUMENT,
                          "there is a function 'max' already", &node->error);
    options = (hawser_store_options){.functions = &momentum, .function_count = node->node == 0};
    if (node->status == HAWSER_OK)
        node->status = hawser_store_open(node->job, &options, &store, &node->error);
    hawser_table rows = {.name = "w", .last = 9, .function = "momentum", .parameters = {0.1, 0.5}};
    if (node->status == HAWSER_OK)
        node->status = expect(hawser_store_table(store, &rows, &table, &node->error), HAWSER_BAD_ARGUMENT,
                              "there is no function 'momentum'; there are add", &node->error);
    rows.type = HAWSER_F32; /* it takes doubles */
    if (node->status == HAWSER_OK)
        node->status = expect(hawser_store_table(store, &rows, &table, &node->error), HAWSER_BAD_ARGUMENT,
                              node->node == 0 ? "table 'w': 'momentum' is not for values of type f32" : NULL, &node->error);
    rows.type = HAWSER_F64;
    rows.parameters[1] = 2;
    if (node->status == HAWSER_OK && node->node == 0)
        node->status = expect(hawser_store_table(store, &rows, &table, &node->error), HAWSER_BAD_ARGUMENT,
                              "the momentum must be below 1", &node->error);
    else if (node->status == HAWSER_OK)
        node->status =
            expect(hawser_store_table(store, &rows, &table, &node->error), HAWSER_BAD_ARGUMENT, NULL, &node->error);
    hawser_store_close(store);
}

static void lacking_functions_are_named(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 2, plain, lacking_body, NULL);
    check_all(nodes, 2, "functions");
}

/* A worker that increments without end within a clock keeps no more than cache_bytes of it: the rest is pushed early. */
static void many_body(test_node *node)
{
    enum { ROWS = 20000, AT_ONCE = 100, BYTES = 1 << 14 };
    hawser_store *store = NULL;
    static double one[AT_ONCE], all[ROWS];
    uint64_t keys[AT_ONCE], task;
    uint32_t table;
    size_t here = 0;
    node->status = hawser_store_open(node->job, &(hawser_store_options){.cache_bytes = BYTES}, &store, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_store_table(store, &(hawser_table){.name = "t", .last = ROWS - 1}, &table, &node->error);
    for (uint64_t first = 0; first < ROWS && node->status == HAWSER_OK; first += AT_ONCE) {
        for (uint64_t i = 0; i < AT_ONCE; i++) {
            keys[i] = first + i;
            one[i] = 1;
        }
        node->status = hawser_table_inc(store, table, 0, keys, AT_ONCE, one, &node->error);
    }
    for (int ended = 0; ended < 2 && node->status == HAWSER_OK; ended++) {
        here = 0;
        node->status =
            hawser_pull(store, &(hawser_request){.table = table, .last = ROWS - 1, .out = all}, &task, &node->error);
        if (node->status == HAWSER_OK)
            node->status = hawser_store_wait(store, task, &node->error);
        for (size_t i = 0; i < ROWS; i++)
            here += all[i] == 1;
        bool right = ended ? here == ROWS : here < ROWS && here >= ROWS - BYTES / sizeof(double) - AT_ONCE;
        if (node->status == HAWSER_OK && !right)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%zu of %d rows have been pushed", here, ROWS);
        if (node->status == HAWSER_OK && !ended)
            node->status = hawser_table_clock(store, table, 0, &node->error);
    }
    hawser_store_close(store);
}

static void increments_are_bounded(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 1, plain, many_body, NULL);
    check_all(nodes, 1, "increments");
}

/* A worker that never ends its clocks is waited for as long as was said. */
static void wait_body(test_node *node)
{
    hawser_store *store = NULL;
    const uint64_t key = 2;
    double out;
    uint32_t table;
    node->status = hawser_store_open(node->job, &(hawser_store_options){.workers = 2}, &store, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_store_table(store, &(hawser_table){.name = "t", .last = 9}, &table, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_table_clock(store, table, 0, &node->error);
    if (node->status == HAWSER_OK)
        node->status = expect(hawser_table_get(store, table, 0, &key, 1, &out, &node->error), HAWSER_TIMEOUT,
                              "has not answered for 0.3 s", &node->error);
    if (node->status == HAWSER_OK) /* a request that waits for no worker is served */
        node->status = hawser_table_get(store, table, 1, &key, 1, &out, &node->error);
    hawser_store_close(store);
}

static void no_request_waits_forever(void **state)
{
    (void)state;
    static const char *const soon[] = {"workers", "1", "timeout", "0.3", NULL};
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 1, soon, wait_body, NULL);
    check_all(nodes, 1, "waits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_are_fresh_enough),   cmocka_unit_test(calls_are_checked),
        cmocka_unit_test(own_functions_see_sums),   cmocka_unit_test(lacking_functions_are_named),
        cmocka_unit_test(no_request_waits_forever), cmocka_unit_test(increments_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
