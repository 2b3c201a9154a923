/* --rate limits what the nodes of a store, its stand-alone servers and their clients send, in each direction and for each
 * kind of request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "servers.h"

enum { N = 20000, RATE = 2 << 20, KINDS = 6 };

/* Requests by node 1, or by a client of stand-alone servers. */
typedef struct traffic {
    const char *address; /* NULL: node 0 serves */
    double bytes[KINDS], seconds[KINDS];
    uint64_t counted;
} traffic;

static const char *const names[KINDS] = {"push of a range", "push of a list", "pull of a range",
                                         "pull of a list",  "increments",     "cached rows"};

static hawser_status request(hawser_store *store, uint32_t table, int kind, const uint64_t *keys, const double *values,
                             double *out, hawser_error *error)
{
    uint64_t task;
    const hawser_request whole = {.table = table,
                                  .keys = kind % 2 == 1 ? keys : NULL,
                                  .count = kind % 2 == 1 ? N : 2 * N,
                                  .values = kind < 2 ? values : NULL,
                                  .out = kind < 2 ? NULL : out};
    if (kind == 5)
        return hawser_table_get(store, table, 0, keys, N, out, error);
    if (kind == 4) {
        HAWSER_TRY(hawser_table_inc(store, table, 0, keys, N, values, error));
        HAWSER_TRY(hawser_table_clock(store, table, 0, error));
        return hawser_store_wait_all(store, error);
    }
    HAWSER_TRY(kind < 2 ? hawser_push(store, &whole, &task, error) : hawser_pull(store, &whole, &task, error));
    return hawser_store_wait(store, task, error);
}

static hawser_status measure(traffic *t, hawser_store *store, const uint32_t *tables, hawser_error *error)
{
    double *values = malloc(2 * N * sizeof *values), *out = malloc(2 * N * sizeof *out);
    uint64_t *keys = malloc(N * sizeof *keys);
    hawser_status status = HAWSER_OK;
    for (size_t i = 0; i < N; i++)
        keys[i] = 2 * i;
    for (size_t i = 0; i < 2 * N; i++)
        values[i] = 1 / (double)(i + 3); /* all 64 bits */
    for (int kind = 0; kind < KINDS && status == HAWSER_OK; kind++) {
        double start = hw_seconds();
        status = request(store, tables[kind > 3], kind, keys, values, out, error);
        t->seconds[kind] = hw_seconds() - start;
        t->bytes[kind] = (kind == 0 || kind == 2 ? 2.0 * N : N) * sizeof *values;
    }
    hawser_store_figures figures;
    hawser_store_figures_of(store, &figures);
    t->counted = figures.bytes_sent + figures.bytes_received;
    free(values);
    free(out);
    free(keys);
    return status;
}

static void use(test_node *node)
{
    traffic *t = node->user;
    hawser_store *store = NULL;
    uint32_t tables[2];
    const hawser_store_options options = {.servers = t->address != NULL ? 0 : 1,
                                          .at = t->address,
                                          .key = t->address != NULL ? server_key : NULL,
                                          .key_length = t->address != NULL ? sizeof server_key : 0};
    node->status = hawser_store_open(node->job, &options, &store, &node->error);
    for (int i = 0; i < 2 && node->status == HAWSER_OK; i++)
        node->status = hawser_store_table(store, &(hawser_table){.name = i == 0 ? "w" : "near", .count = 2 * N}, &tables[i],
                                          &node->error);
    if (node->status == HAWSER_OK && node->node == 0 && node->nodes > 1)
        node->status = hawser_table_clock(store, tables[1], 0, &node->error);
    if (node->status == HAWSER_OK && node->node + 1 == node->nodes)
        node->status = measure(t, store, tables, &node->error);
    hawser_store_close(store);
}

static void check(const traffic *t, double rate)
{
    double sum = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        sum += t->bytes[kind];
        if (t->bytes[kind] > rate * (t->seconds[kind] + 0.03))
            fail_msg("%s: %.0f bytes in %.3f s", names[kind], t->bytes[kind], t->seconds[kind]);
    }
    assert_true((double)t->counted > sum);
}

static void traffic_between_nodes_is_limited(void **state)
{
    (void)state;
    test_node nodes[2];
    traffic t = {0};
    const char *const pairs[] = {"rate", "2M", "timeout", "60", NULL};
    run_nodes(nodes, 2, pairs, use, &t);
    for (int i = 0; i < 2; i++)
        if (nodes[i].status != HAWSER_OK)
            fail_msg("%s", nodes[i].error.text);
    check(&t, RATE);
}

static void traffic_with_clients_is_limited(void **state)
{
    (void)state;
    servers set = {.count = 1, .rate = RATE};
    traffic t = {0};
    test_node nodes[1];
    const char *const pairs[] = {"rate", "2M", "timeout", "60", NULL};
    open_servers(&set);
    t.address = set.address;
    run_nodes(nodes, 1, pairs, use, &t);
    if (nodes[0].status != HAWSER_OK)
        fail_msg("%s", nodes[0].error.text);
    check(&t, RATE);
    end_servers(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traffic_between_nodes_is_limited),
        cmocka_unit_test(traffic_with_clients_is_limited),
    };
    return cmocka_run_group_tests(tests, prepare_servers, remove_directory);
}
