/* Servers that run on their own and groups that come to them: one after the other and at once, their clocks, their mistakes;
 * files; the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "runtime/serving/client_listener.h"
#include "runtime/store/hub.h"
#include "servers.h"

enum { KEYS = 1000, CLOCKS = 20 };

/* ----------------------------------------------------------------------------------------------------------- groups ---- */

typedef struct group group;
struct group {
    servers *set;
    hawser_status (*act)(test_node *node, hawser_store *store, group *how, hawser_error *error);
    const char *key_file, *at;
    size_t key_length; /* the key is given as bytes if it is not 0 */
    uint32_t workers;
    hawser_table table;      /* where it is of use */
    double sums[NODES_MOST]; /* what each node saw */
    test_node nodes[NODES_MOST];
    uint32_t count;
    pthread_t thread;
};

static void client_body(test_node *node)
{
    group *how = node->user;
    hawser_store *store = NULL;
    const hawser_store_options options = {.at = how->at != NULL ? how->at : how->set->address,
                                          .key_file = how->key_file != NULL  ? how->key_file
                                                      : how->key_length == 0 ? "key"
                                                                             : NULL,
                                          .key = how->key_length > 0 ? server_key : NULL,
                                          .key_length = how->key_length,
                                          .workers = how->workers};
    node->status = hawser_store_open(node->job, &options, &store, &node->error);
    if (node->status == HAWSER_OK)
        node->status = how->act(node, store, how, &node->error);
    hawser_store_close(store);
}

static void run_group(group *how, uint32_t nodes)
{
    static const char *const hasty[] = {"workers", "1", "join-timeout", "1", NULL};
    how->count = nodes;
    run_nodes(how->nodes, nodes, how->at != NULL ? hasty : plain_pairs, client_body, how);
}

static void *group_main(void *argument)
{
    group *how = argument;
    run_group(how, how->count);
    return NULL;
}

static void all_well(const group *how)
{
    for (uint32_t i = 0; i < how->count; i++)
        if (how->nodes[i].status != HAWSER_OK)
            fail_msg("node %u: %s", i, how->nodes[i].error.text);
}

static void all_say(const group *how, const char *words)
{
    for (uint32_t i = 0; i < how->count; i++)
        if (how->nodes[i].status == HAWSER_OK || strstr(how->nodes[i].error.text, words) == NULL)
            fail_msg("node %u: no '%s' in: %s", i, words, how->nodes[i].error.text);
}

static uint64_t sparse_key(uint64_t i)
{
    return i * UINT64_C(0x123456789abcd);
}

/* Every node counts up every key of two tables, CLOCKS times, under SSP(1). */
static hawser_status train(test_node *node, hawser_store *store, group *how, hawser_error *error)
{
    uint32_t w, s;
    uint64_t task, keys[KEYS];
    double ones[KEYS], out[KEYS];
    (void)how;
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = sparse_key(i);
        ones[i] = 1;
    }
    HAWSER_TRY(
        hawser_store_table(store, &(hawser_table){.name = "other", .type = HAWSER_I64, .width = 2, .last = 9}, &w, error));
    HAWSER_TRY(
        hawser_store_table(store, &(hawser_table){.name = "w", .first = 3, .last = KEYS + 2, .staleness = 1}, &w, error));
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "s", .sparse = true}, &s, error));
    for (uint64_t t = 0; t < CLOCKS; t++) {
        hawser_request pull = {.table = w, .first = 3, .last = KEYS + 2, .out = out, .least = t > 1 ? t - 1 : 0};
        HAWSER_TRY(hawser_pull(store, &pull, &task, error));
        HAWSER_TRY(hawser_store_wait(store, task, error));
        for (uint64_t i = 0; i < KEYS; i++)
            if (out[i] < (double)t || out[i] < (double)(node->nodes * pull.least))
                return hawser_fail(error, HAWSER_INTERNAL, "clock %d reads %g", (int)t, out[i]);
        HAWSER_TRY(
            hawser_push(store, &(hawser_request){.table = w, .first = 3, .last = KEYS + 2, .values = ones}, &task, error));
        HAWSER_TRY(
            hawser_push(store, &(hawser_request){.table = s, .keys = keys, .count = KEYS, .values = ones}, &task, error));
        HAWSER_TRY(hawser_store_clock(store, w, 0, t, 3, KEYS + 2, error));
    }
    return hawser_store_wait_all(store, error);
}

/* Reads what is there, without a word on clocks, and finds the tables by name. */
static hawser_status look(test_node *node, hawser_store *store, group *how, hawser_error *error)
{
    uint32_t w, s;
    uint64_t task, keys[KEYS];
    double out[KEYS], sum = 0;
    hawser_table found;
    for (uint64_t i = 0; i < KEYS; i++)
        keys[i] = sparse_key(i);
    HAWSER_TRY(hawser_store_find(store, "s", &found, &s, error));
    if (!found.sparse || found.width != 1 || strcmp(found.function, "add") != 0)
        return hawser_fail(error, HAWSER_INTERNAL, "another table was found");
    HAWSER_TRY(hawser_store_find(store, "w", &found, &w, error));
    if (found.sparse || found.first != 3 || found.last != KEYS + 2)
        return hawser_fail(error, HAWSER_INTERNAL, "another table was found");
    HAWSER_TRY(hawser_pull(store, &(hawser_request){.table = w, .first = 3, .last = KEYS + 2, .out = out}, &task, error));
    HAWSER_TRY(hawser_store_wait(store, task, error));
    for (uint64_t i = 0; i < KEYS; i++)
        sum += out[i];
    HAWSER_TRY(hawser_pull(store, &(hawser_request){.table = s, .keys = keys, .count = KEYS, .out = out}, &task, error));
    HAWSER_TRY(hawser_store_wait(store, task, error));
    for (uint64_t i = 0; i < KEYS; i++)
        sum += out[i];
    how->sums[node - how->nodes] = sum;
    return HAWSER_OK;
}

/* Its own clock is all that it waits for. */
static hawser_status own_clocks(test_node *node, hawser_store *store, group *how, hawser_error *error)
{
    (void)node;
    (void)how;
    uint32_t w;
    uint64_t task, oldest = 0;
    double out[KEYS];
    HAWSER_TRY(hawser_store_find(store, "w", NULL, &w, error));
    for (uint64_t t = 0; t < 5; t++)
        HAWSER_TRY(hawser_store_clock(store, w, 0, t, 3, KEYS + 2, error));
    hawser_request pull = {.table = w, .first = 3, .last = KEYS + 2, .out = out, .least = 5, .oldest = &oldest};
    HAWSER_TRY(hawser_pull(store, &pull, &task, error));
    HAWSER_TRY(hawser_store_wait(store, task, error));
    return oldest == 5 ? HAWSER_OK : hawser_fail(error, HAWSER_INTERNAL, "clocks %d", (int)oldest);
}

static void groups_after_each_other(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 3; count++) {
        servers set = {.count = count};
        open_servers(&set);
        group trains = {.set = &set, .act = train}, looks = {.set = &set, .act = look},
              owns = {.set = &set, .act = own_clocks};
        run_group(&trains, 1);
        all_well(&trains);
        run_group(&trains, 3); /* its clocks begin anew */
        all_well(&trains);
        run_group(&looks, 2);
        all_well(&looks);
        for (size_t n = 0; n < 2; n++)
            assert_true(looks.sums[n] == 2.0 * KEYS * CLOCKS * (1 + 3));
        run_group(&owns, 1);
        all_well(&owns);
        end_servers(&set);
    }
}

static void groups_at_once(void **state)
{
    (void)state;
    servers set = {.count = 2};
    group many[4], looks = {.set = &set, .act = look}, owns = {.set = &set, .act = own_clocks};
    open_servers(&set);
    for (int i = 0; i < 4; i++) {
        many[i] = (group){.set = &set, .act = train, .count = 1 + (uint32_t)i % 2};
        assert_int_equal(pthread_create(&many[i].thread, NULL, group_main, &many[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(many[i].thread, NULL);
    for (int i = 0; i < 4; i++)
        all_well(&many[i]);
    run_group(&owns, 1);
    all_well(&owns);
    run_group(&looks, 1);
    all_well(&looks);
    assert_true(looks.sums[0] == 2.0 * KEYS * CLOCKS * 6);
    end_servers(&set);
}

/* --------------------------------------------------------------------------------------------------------- mistakes ---- */

static hawser_status make(test_node *node, hawser_store *store, group *how, hawser_error *error)
{
    uint32_t number;
    (void)node;
    return hawser_store_table(store, &how->table, &number, error);
}

static hawser_status find_none(test_node *node, hawser_store *store, group *how, hawser_error *error)
{
    uint32_t number;
    (void)node;
    (void)how;
    return hawser_store_find(store, "nothing", NULL, &number, error);
}

static hawser_status save_up(test_node *node, hawser_store *store, group *how, hawser_error *error)
{
    (void)node;
    (void)how;
    return hawser_store_save(store, "../up", error);
}

static hawser_status load_none(test_node *node, hawser_store *store, group *how, hawser_error *error)
{
    (void)node;
    (void)how;
    return hawser_store_load(store, "none", error);
}

static void refused(servers *set, group how, const char *words, uint32_t nodes)
{
    how.set = set;
    run_group(&how, nodes);
    all_say(&how, words);
}

/* One line each, on every node, and the servers go on. */
static void each_wrong_input_is_one_line(void **state)
{
    (void)state;
    servers set = {.count = 2};
    write_key("wrong", 'x', 0600);
    write_key("open", 0, 0644);
    open_servers(&set);
    group trains = {.set = &set, .act = train}, looks = {.set = &set, .act = look};
    run_group(&trains, 1);
    all_well(&trains);
    const hawser_table w = {.name = "w", .first = 3, .last = KEYS + 2};
    hawser_table other = w;
    other.width = 2;
    refused(&set, (group){.act = make, .table = other}, "table 'w' exists with another width", 2);
    other = w;
    other.type = HAWSER_F32;
    refused(&set, (group){.act = make, .table = other}, "table 'w' exists with another type", 1);
    other = w;
    other.last++;
    refused(&set, (group){.act = make, .table = other}, "table 'w' exists with another range of keys", 1);
    other = w;
    other.function = "max";
    refused(&set, (group){.act = make, .table = other}, "table 'w' exists with another function", 1);
    other = w;
    other.summed = true;
    refused(&set, (group){.act = make, .table = other}, "table 'w' exists with another order", 2);
    other = (hawser_table){.name = "huge", .last = UINT64_MAX - 1, .width = 1000};
    refused(&set, (group){.act = make, .table = other}, "more than an address space has", 1);
    refused(&set, (group){.act = find_none}, "the servers have no table 'nothing'; they have 'other', 'w', 's'", 2);
    refused(&set, (group){.act = make, .key_file = "wrong"}, "key", 2);
    refused(&set, (group){.act = make, .key_file = "open"}, "others than its owner may use this key file", 1);
    refused(&set, (group){.act = make, .key_file = "none"}, "none: cannot open the key file", 2);
    refused(&set, (group){.act = make, .at = "127.0.0.1:9"}, "cannot join 127.0.0.1:9", 2);
    refused(&set, (group){.act = save_up}, "'../up' is not a valid file name in the servers' directory", 2);
    refused(&set, (group){.act = load_none}, "cannot open ./none", 2);
    refused(&set, (group){.act = make, .key_file = "key", .key_length = sizeof server_key}, "leave one of them out", 2);
    refused(&set, (group){.act = make, .key_length = 15}, "a key of 15 bytes", 2);
    looks.key_length = sizeof server_key;
    run_group(&looks, 1);
    all_well(&looks);
    end_servers(&set);
}

/* A program of another release is rejected with a message that names both. */
static void another_release_is_refused(void **state)
{
    (void)state;
    servers set = {.count = 1};
    hawser_error error = {0};
    hw_net *net = NULL;
    uint32_t number;
    open_servers(&set);
    const hw_net_options options = {.job = HW_STORE_JOB,
                                    .key = server_key,
                                    .key_length = sizeof server_key,
                                    .node = HW_NET_ANY,
                                    .name = "old",
                                    .build = "0.0.1 store 1",
                                    .dial_only = true,
                                    .transport = HW_NET_TCP};
    assert_int_equal(hw_net_new(&options, &(hw_net_events){.argument = NULL}, &net, &error), HAWSER_OK);
    assert_string_equal(hw_net_address(net), "");
    assert_int_equal(hw_net_dial(net, set.address, HW_NET_ANY, 5, &number, &error), HAWSER_PEER_LOST);
    if (strstr(error.text, "builds differ") == NULL || strstr(error.text, "0.0.1 store 1") == NULL)
        fail_msg("%s", error.text);
    hw_net_free(net);
    end_servers(&set);
}

typedef struct early_client {
    const char *address;
    hawser_status status;
    hawser_error error;
} early_client;

static void *dial_early(void *argument)
{
    early_client *client = argument;
    char build[HW_STORE_BUILD];
    hw_net *net = NULL;
    uint32_t number;
    hw_store_build(build);
    const hw_net_options options = {.job = HW_STORE_JOB,
                                    .key = server_key,
                                    .key_length = sizeof server_key,
                                    .node = HW_NET_ANY,
                                    .name = "early",
                                    .build = build,
                                    .dial_only = true,
                                    .transport = HW_NET_TCP};
    client->status = hw_net_new(&options, &(hw_net_events){.argument = NULL}, &net, &client->error);
    if (client->status == HAWSER_OK)
        client->status = hw_net_dial(net, client->address, HW_NET_ANY, 20, &number, &client->error);
    hw_net_free(net);
    return NULL;
}

/* The server listens, and its tables open half a second after the client dials. */
static void open_late(test_node *node)
{
    enum { HALF_A_SECOND = 500000 };
    hawser_store *store = NULL;
    hw_client_listener *listener = NULL;
    pthread_t thread;
    early_client client = {.status = HAWSER_OK};
    const hw_client_listener_options options = {.key = server_key, .key_length = sizeof server_key, .failure_timeout = 5};
    node->status = hawser_store_open(node->job, &(hawser_store_options){.threads = 1}, &store, &node->error);
    assert_int_equal(node->status, HAWSER_OK);
    assert_int_equal(hw_client_listener_open(store, &options, &listener, &node->error), HAWSER_OK);
    char addresses[1][HW_NET_ADDRESS];
    snprintf(addresses[0], sizeof addresses[0], "%s", hw_client_listener_address(listener));
    client.address = addresses[0];
    assert_int_equal(pthread_create(&thread, NULL, dial_early, &client), 0);
    usleep(HALF_A_SECOND);
    assert_int_equal(hw_client_listener_begin(listener, (const char(*)[HW_NET_ADDRESS])addresses, &node->error), HAWSER_OK);
    pthread_join(thread, NULL);
    node->status = client.status;
    node->error = client.error;
    hw_client_listener_end(listener, "over");
    hw_client_listener_free(listener);
    hawser_store_close(store);
}

static void client_waits_until_the_tables_are_open(void **state)
{
    (void)state;
    test_node node;
    run_nodes(&node, 1, plain_pairs, open_late, NULL);
    check_all(&node, 1, "the client");
}

/* ------------------------------------------------------------------------------------------------------ files, ends ---- */

static hawser_status save(test_node *node, hawser_store *store, group *how, hawser_error *error)
{
    HAWSER_TRY(train(node, store, how, error));
    return hawser_store_save(store, "file", error);
}

static hawser_status load(test_node *node, hawser_store *store, group *how, hawser_error *error)
{
    HAWSER_TRY(hawser_store_load(store, "file", error));
    return look(node, store, how, error);
}

static void files_at_any_number(void **state)
{
    (void)state;
    servers two = {.count = 2, .save = "last"}, three = {.count = 3, .load = "last"}, one = {.count = 1};
    group saves = {.set = &two, .act = save}, looks = {.set = &three, .act = look}, loads = {.set = &one, .act = load};
    open_servers(&two);
    run_group(&saves, 2);
    all_well(&saves);
    end_servers(&two);
    open_servers(&three);
    run_group(&looks, 1);
    all_well(&looks);
    assert_true(looks.sums[0] == 2.0 * KEYS * CLOCKS * 2);
    end_servers(&three);
    open_servers(&one);
    run_group(&loads, 2);
    all_well(&loads);
    assert_true(loads.sums[0] == 2.0 * KEYS * CLOCKS * 2);
    end_servers(&one);
}

/* The end of a server is reported to waiting clients. */
static hawser_status wait_for_ever(test_node *node, hawser_store *store, group *how, hawser_error *error)
{
    uint32_t w;
    uint64_t task;
    double out[KEYS];
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "w", .last = KEYS - 1}, &w, error));
    HAWSER_TRY(hawser_pull(store, &(hawser_request){.table = w, .last = KEYS - 1, .out = out, .least = 7}, &task, error));
    if (node->node == 0)
        hawser_interrupt(how->set->first);
    return hawser_store_wait(store, task, error);
}

static void the_end_is_announced(void **state)
{
    (void)state;
    servers set = {.count = 2};
    group waits = {.set = &set, .act = wait_for_ever};
    open_servers(&set);
    run_group(&waits, 2);
    all_say(&waits, "the servers were asked to end");
    await_servers(&set);
}

/* Node 1 ends a clock of a worker that there is not; node 0 waits for clocks. */
static hawser_status clock_wrongly(test_node *node, hawser_store *store, group *how, hawser_error *error)
{
    uint32_t w;
    uint64_t task = 0;
    double out[KEYS];
    const hw_order wrong = {.operation = HW_CLOCK, .worker = 77, .clock = 5, .last = KEYS - 1};
    (void)how;
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "refuses", .last = KEYS - 1}, &w, error));
    if (node->node == 1) {
        HAWSER_TRY(hw_ask_begin(store, &wrong, &task, error));
        hw_ask_go(store);
        while (hawser_store_wait_all(store, error) == HAWSER_OK) /* until the reply to the unawaited request has arrived */
            sched_yield();
        HAWSER_TRY(hawser_store_wait_all(store, error)); /* returned once */
    }
    hawser_status status =
        hawser_pull(store, &(hawser_request){.table = w, .last = KEYS - 1, .out = out, .least = 1}, &task, error);
    return status == HAWSER_OK ? hawser_store_wait(store, task, error) : status;
}

static void a_refused_clock_ends_its_group_alone(void **state)
{
    (void)state;
    servers set = {.count = 2};
    group trains = {.set = &set, .act = train};
    open_servers(&set);
    run_group(&trains, 1);
    for (int i = 0; i < 5; i++) {
        group clocks = {.set = &set, .act = clock_wrongly}, goes_on = {.set = &set, .act = look};
        run_group(&clocks, 2);
        all_say(&clocks, ": clock 5 of worker 77 was refused, so requests that wait for it can never complete: table "
                         "'refuses': there is no "
                         "worker 77; there are 2");
        run_group(&goes_on, 1);
        all_well(&goes_on);
    }
    end_servers(&set);
}

enum { LISTS = 40, ROUNDS = 6, ROW = 2 * 8 + 64 /* what a row counts */ };

/* All push lists of keys, of which not all find room; a push is in as a whole, or refused as a whole. */
static hawser_status fill_up(test_node *node, hawser_store *store, group *how, hawser_error *error)
{
    uint32_t s;
    uint64_t task, keys[KEYS];
    double ones[KEYS], out[KEYS];
    hawser_error refusal = {0};
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "s", .sparse = true}, &s, error));
    for (uint64_t round = 0; round < ROUNDS * LISTS; round++) {
        uint64_t list = (round * 7 + node->node) % LISTS;
        for (uint64_t i = 0; i < KEYS; i++) {
            keys[i] = (i * LISTS + list) * 977;
            ones[i] = 1;
        }
        const hawser_request push = {.table = s, .keys = keys, .count = KEYS, .values = ones},
                             pull = {.table = s, .keys = keys, .count = KEYS, .out = out};
        HAWSER_TRY(hawser_push(store, &push, &task, error));
        hawser_status status = hawser_store_wait(store, task, &refusal);
        how->sums[node->node] += status == HAWSER_OK;
        if (status != HAWSER_OK && (status != HAWSER_NO_MEMORY || strstr(refusal.text, "--memory-limit") == NULL))
            return hawser_fail(error, HAWSER_INTERNAL, "%s", refusal.text);
        HAWSER_TRY(hawser_pull(store, &pull, &task, error));
        HAWSER_TRY(hawser_store_wait(store, task, error));
        for (size_t i = 0; i < KEYS && node->nodes == 1; i++) /* no other node pushes meanwhile */
            if (out[i] != out[0])
                return hawser_fail(error, HAWSER_INTERNAL, "half a push: %g and %g", out[0], out[i]);
    }
    return HAWSER_OK;
}

static void tables_are_bounded_for_all(void **state)
{
    (void)state;
    servers set = {.count = 1, .memory = LISTS / 2 * KEYS * ROW};
    group many = {.set = &set, .act = fill_up}, last = {.set = &set, .act = fill_up};
    open_servers(&set);
    run_group(&many, 3);
    all_well(&many);
    double all = 3 * ROUNDS * LISTS, in = many.sums[0] + many.sums[1] + many.sums[2];
    assert_true(in >= 1 && in < all);
    hw_server_figures figures;
    hw_server_figures_of(set.store->server, &figures);
    assert_true(figures.quota_used <= figures.quota && figures.quota_used == figures.keys * ROW);
    assert_true(figures.keys % KEYS == 0 && figures.keys > 0);
    run_group(&last, 1);
    all_well(&last);
    assert_true(last.sums[0] >= 1); /* what is there may be changed */
    end_servers(&set);
}

static hawser_status nothing(test_node *node, hawser_store *store, group *how, hawser_error *error)
{
    (void)node;
    (void)store;
    (void)how;
    (void)error;
    return HAWSER_OK;
}

static void many_clients_attach_and_detach(void **state)
{
    (void)state;
    servers set = {.count = 2};
    open_servers(&set);
    group stays = {.set = &set, .act = train};
    for (int i = 0; i < 12; i++) {
        group comes = {.set = &set, .act = nothing};
        run_group(&comes, 1 + (uint32_t)i % 3);
        all_well(&comes);
    }
    run_group(&stays, 2);
    all_well(&stays);
    end_servers(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_after_each_other),
        cmocka_unit_test(groups_at_once),
        cmocka_unit_test(each_wrong_input_is_one_line),
        cmocka_unit_test(another_release_is_refused),
        cmocka_unit_test(files_at_any_number),
        cmocka_unit_test(the_end_is_announced),
        cmocka_unit_test(many_clients_attach_and_detach),
        cmocka_unit_test(a_refused_clock_ends_its_group_alone),
        cmocka_unit_test(tables_are_bounded_for_all),
        cmocka_unit_test(client_waits_until_the_tables_are_open),
    };
    return cmocka_run_group_tests(tests, prepare_servers, remove_directory);
}
