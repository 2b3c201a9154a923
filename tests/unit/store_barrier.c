/* A barrier over nodes, and ranges that are given by a first key and a count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "servers.h"

enum { KEYS = 500, ROUNDS = 12 };

typedef struct shape {
    uint32_t servers;
    const char *address;
} shape;

/* The first example of store.h: every node pushes without a wait, and after the barrier sees the pushes and clocks of
 * all. */
static hawser_status rounds(hawser_store *store, uint32_t nodes, hawser_error *error)
{
    double ones[KEYS], out[KEYS];
    uint64_t task, oldest;
    uint32_t w;
    for (size_t i = 0; i < KEYS; i++)
        ones[i] = 1;
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "w", .count = KEYS}, &w, error));
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        HAWSER_TRY(hawser_push(store, &(hawser_request){.table = w, .count = KEYS, .values = ones}, &task, error));
        HAWSER_TRY(hawser_store_clock(store, w, 0, round - 1, 0, KEYS - 1, error));
        HAWSER_TRY(hawser_store_barrier(store, error));
        HAWSER_TRY(
            hawser_pull(store, &(hawser_request){.table = w, .count = KEYS, .out = out, .oldest = &oldest}, &task, error));
        HAWSER_TRY(hawser_store_wait(store, task, error));
        for (size_t i = 0; i < KEYS; i++)
            if (out[i] < (double)(round * nodes) || oldest < round)
                return hawser_fail(error, HAWSER_INTERNAL, "round %d: key %zu is %g, of clock %d", (int)round, i, out[i],
                                   (int)oldest);
        HAWSER_TRY(hawser_store_barrier(store, error)); /* nobody pushes before all have pulled */
    }
    return HAWSER_OK;
}

/* A push that fails on one node fails the barrier of all, once. */
static hawser_status failure(hawser_store *store, uint32_t node, uint32_t nodes, hawser_error *error)
{
    double most = 1.5e308;
    uint64_t task;
    uint32_t w;
    hawser_error why = {0};
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "f", .count = 3}, &w, error));
    for (int i = 0; i < 2 && node + 1 == nodes; i++)
        HAWSER_TRY(hawser_push(store, &(hawser_request){.table = w, .first = 2, .count = 1, .values = &most}, &task, error));
    hawser_status status = hawser_store_barrier(store, &why);
    if (status != HAWSER_NOT_FINITE || strstr(why.text, "table 'f': key 2 overflows") == NULL)
        return hawser_fail(error, HAWSER_INTERNAL, "%d: %.300s", (int)status, why.text);
    return hawser_store_barrier(store, error);
}

static hawser_status ranges(hawser_store *store, hawser_error *error)
{
    static const struct {
        hawser_table table;
        hawser_status status;
        uint64_t first, last;
    } tables[] = {
        {{.name = "a", .count = 5}, HAWSER_OK, 0, 4},
        {{.name = "b", .first = 3, .count = 5}, HAWSER_OK, 3, 7},
        {{.name = "c", .first = 3, .count = 5, .last = 7}, HAWSER_OK, 3, 7},
        {{.name = "d", .first = 3, .last = 7}, HAWSER_OK, 3, 7},
        {{.name = "e"}, HAWSER_OK, 0, 0},
        {{.name = "x", .first = 3, .count = 5, .last = 8}, HAWSER_BAD_ARGUMENT, 0, 0},
        {{.name = "x", .first = UINT64_MAX - 3, .count = 5}, HAWSER_BAD_ARGUMENT, 0, 0},
        {{.name = "g", .first = UINT64_MAX - 3, .count = 4}, HAWSER_OK, UINT64_MAX - 3, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        uint32_t number;
        hawser_table found;
        hawser_error why = {0};
        double out[8] = {0}, two[2] = {1, 2};
        uint64_t task, first = tables[i].first, last = tables[i].last;
        if (hawser_store_table(store, &tables[i].table, &number, &why) != tables[i].status)
            return hawser_fail(error, HAWSER_INTERNAL, "table %zu: %.300s", i, why.text);
        if (tables[i].status != HAWSER_OK)
            continue;
        HAWSER_TRY(hawser_store_find(store, tables[i].table.name, &found, &number, error));
        if (found.first != first || found.last != last || found.count != last - first + 1)
            return hawser_fail(error, HAWSER_INTERNAL, "table %zu has other keys", i);
        HAWSER_TRY(hawser_store_table(store, &found, &number, error)); /* what was found can be made */
        if (first == last)
            continue;
        const hawser_request wrong = {.table = number, .first = first, .count = 2, .last = first + 2, .values = two};
        if (hawser_push(store, &wrong, &task, &why) != HAWSER_BAD_ARGUMENT || strstr(why.text, "leave `last` out") == NULL)
            return hawser_fail(error, HAWSER_INTERNAL, "two ends");
        HAWSER_TRY(hawser_push(store, &(hawser_request){.table = number, .first = first + 1, .count = 2, .values = two},
                               &task, error));
        HAWSER_TRY(
            hawser_pull(store, &(hawser_request){.table = number, .first = first, .last = last, .out = out}, &task, error));
        HAWSER_TRY(hawser_store_wait_all(store, error));
        if (out[0] != 0 || out[1] != 1 || out[2] != 2 || out[3] != 0)
            return hawser_fail(error, HAWSER_INTERNAL, "table %zu: %g %g %g %g", i, out[0], out[1], out[2], out[3]);
    }
    return HAWSER_OK;
}

static void use(test_node *node)
{
    const shape *how = node->user;
    hawser_store *store = NULL;
    const hawser_store_options options = {.servers = how->servers,
                                          .at = how->address,
                                          .key = how->address != NULL ? server_key : NULL,
                                          .key_length = how->address != NULL ? sizeof server_key : 0};
    node->status = hawser_store_open(node->job, &options, &store, &node->error);
    if (node->status == HAWSER_OK)
        node->status = rounds(store, node->nodes, &node->error);
    if (node->status == HAWSER_OK)
        node->status = failure(store, node->node, node->nodes, &node->error);
    if (node->status == HAWSER_OK && node->nodes == 1)
        node->status = ranges(store, &node->error);
    hawser_store_close(store);
}

static void all_see_what_was_pushed_before_a_barrier(void **state)
{
    (void)state;
    const char *const pairs[] = {"timeout", "60", NULL};
    for (uint32_t count = 1; count <= 3; count++)
        for (uint32_t serving = 0; serving < 2; serving++) { /* all nodes, or node 0 alone */
            test_node nodes[NODES_MOST];
            shape how = {.servers = serving};
            run_nodes(nodes, count, pairs, use, &how);
            check_all(nodes, count, "a barrier");
        }
}

static void a_barrier_holds_on_stand_alone_servers(void **state)
{
    (void)state;
    const char *const pairs[] = {"timeout", "60", NULL};
    for (uint32_t count = 1; count <= 2; count++) {
        servers set = {.count = 2};
        test_node nodes[2];
        open_servers(&set);
        shape how = {.address = set.address};
        run_nodes(nodes, count, pairs, use, &how);
        check_all(nodes, count, "a barrier");
        end_servers(&set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_see_what_was_pushed_before_a_barrier),
        cmocka_unit_test(a_barrier_holds_on_stand_alone_servers),
    };
    return cmocka_run_group_tests(tests, prepare_servers, remove_directory);
}
