/* Tables to a file and back, at other numbers of nodes and servers; what is wrong with a file is one line and changes
 * nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint/checksum.h"
#include "directory.h"
#include "hawser/store.h"
#include "nodes.h"

enum { KEYS = 500, TABLES = 4 };

static const char *const plain[] = {"workers", "1", NULL};

static const hawser_table tables[TABLES] = {
    {.name = "dense", .type = HAWSER_F32, .width = 3, .first = 7, .last = 7 + KEYS - 1},
    {.name = "sparse", .type = HAWSER_F32, .sparse = true, .function = "adagrad", .parameters = {0.5, 1e-3}},
    {.name = "counts", .type = HAWSER_I64, .sparse = true},
    {.name = "adam", .last = KEYS - 1, .function = "adam", .parameters = {0.1, 0.9, 0.99, 1e-8}},
};

static uint64_t key_of(int t, uint64_t i)
{
    return tables[t].sparse ? i * UINT64_C(0x1fedcba9876543) : tables[t].first + i;
}

typedef struct plan {
    uint32_t servers;
    const char *path;
    const char *save_as;
    bool push; /* before; else it is loaded */
    const char *wrong;
    hawser_status status;
    unsigned char (*values)[TABLES][KEYS * 24];
} plan;

/* What a push reads until it has ended. */
typedef struct update {
    uint64_t keys[KEYS];
    double doubles[KEYS];
    float singles[KEYS * 3];
    int64_t whole[KEYS];
} update;

static const void *fill(update *u, int t)
{
    for (uint64_t i = 0; i < KEYS; i++) {
        u->keys[i] = key_of(t, i);
        u->doubles[i] = sin((double)i);
        u->whole[i] = (int64_t)(i * i) - 999;
    }
    for (uint64_t i = 0; i < KEYS * 3; i++)
        u->singles[i] = (float)cos((double)i);
    return tables[t].type == HAWSER_F32 ? (void *)u->singles : tables[t].type == HAWSER_I64 ? (void *)u->whole : u->doubles;
}

/* One more update of everything: shows whether what functions keep came along. */
static hawser_status push_all(hawser_store *store, const uint32_t *numbers, hawser_error *error)
{
    update updates[TABLES];
    hawser_status status = HAWSER_OK, ended;
    for (int t = 0; t < TABLES; t++) {
        uint64_t task;
        hawser_request push = {.table = numbers[t], .keys = updates[t].keys, .count = KEYS, .values = fill(&updates[t], t)};
        for (int twice = 0; twice < 2 && status == HAWSER_OK; twice++)
            status = hawser_push(store, &push, &task, error);
    }
    ended = hawser_store_wait_all(store, status == HAWSER_OK ? error : NULL);
    return status == HAWSER_OK ? ended : status;
}

static hawser_status pull_all(hawser_store *store, const uint32_t *numbers, plan *how, hawser_error *error)
{
    for (int t = 0; t < TABLES; t++) {
        uint64_t keys[KEYS], task;
        for (uint64_t i = 0; i < KEYS; i++)
            keys[i] = key_of(t, i);
        HAWSER_TRY(hawser_pull(store,
                               &(hawser_request){.table = numbers[t], .keys = keys, .count = KEYS, .out = (*how->values)[t]},
                               &task, error));
        HAWSER_TRY(hawser_store_wait(store, task, error));
    }
    return HAWSER_OK;
}

/* Rows of sparse tables that no file has: pushed before one is loaded, and gone after. */
static hawser_status strays(hawser_store *store, const uint32_t *numbers, bool loaded, hawser_error *error)
{
    for (int t = 0; t < TABLES; t++) {
        uint64_t keys[] = {key_of(t, 1), key_of(t, KEYS)}, task;
        unsigned char ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, zeros[8] = {0}, out[16];
        hawser_request request = {.table = numbers[t], .keys = keys, .count = 2};
        if (!tables[t].sparse)
            continue;
        request.out = loaded ? out : NULL;
        request.values = loaded ? NULL : ones;
        HAWSER_TRY((loaded ? hawser_pull : hawser_push)(store, &request, &task, error));
        HAWSER_TRY(hawser_store_wait(store, task, error));
        size_t bytes = tables[t].type == HAWSER_F32 ? sizeof(float) : sizeof(int64_t);
        if (loaded && memcmp(out + bytes, zeros, bytes) != 0)
            return hawser_fail(error, HAWSER_INTERNAL, "table '%s' has a row that the file has not", tables[t].name);
    }
    return HAWSER_OK;
}

static hawser_status go(test_node *node, hawser_store *store)
{
    plan *how = node->user;
    hawser_error *error = &node->error;
    uint32_t numbers[TABLES];
    for (int t = 0; t < TABLES; t++) {
        hawser_table table = tables[t];
        if (how->wrong != NULL && strcmp(how->wrong, "width") == 0 && t == 0)
            table.width = 4;
        if (how->wrong == NULL || strcmp(how->wrong, "less") != 0 || t != 2)
            HAWSER_TRY(hawser_store_table(store, &table, &numbers[t], error));
    }
    if (!how->push && how->wrong == NULL && node->node == 0)
        HAWSER_TRY(strays(store, numbers, false, error));
    if (!how->push)
        HAWSER_TRY(hawser_store_load(store, how->path, error));
    if (!how->push && how->wrong == NULL && node->node == 0)
        HAWSER_TRY(strays(store, numbers, true, error));
    if (how->push && node->node == 0)
        HAWSER_TRY(push_all(store, numbers, error));
    if (how->save_as != NULL)
        HAWSER_TRY(hawser_store_save(store, how->save_as, error));
    if (node->node > 0)
        return HAWSER_OK;
    HAWSER_TRY(push_all(store, numbers, error));
    return pull_all(store, numbers, how, error);
}

static void body(test_node *node)
{
    const plan *how = node->user;
    hawser_store *store = NULL;
    node->status = hawser_store_open(node->job, &(hawser_store_options){.servers = how->servers}, &store, &node->error);
    if (node->status == HAWSER_OK)
        node->status = go(node, store);
    hawser_store_close(store);
}

static void run(uint32_t nodes, plan *how, const char *words)
{
    test_node all[NODES_MOST];
    run_nodes(all, nodes, plain, body, how);
    for (uint32_t i = 0; i < nodes; i++)
        if (words == NULL && all[i].status != HAWSER_OK)
            fail_msg("node %u: %s", i, all[i].error.text);
        else if (words != NULL && (all[i].status == HAWSER_OK || strstr(all[i].error.text, words) == NULL))
            fail_msg("node %u: no '%s' in: %s", i, words, all[i].error.text);
}

/* After a load and one more update each, the bits are the same, whichever servers saved: also of the state of adagrad and
 * adam. */
static void any_number_of_servers(void **state)
{
    (void)state;
    static const char *const first = "first", *const second = "second", *const third = "third";
    static unsigned char values[4][TABLES][KEYS * 24];
    run(3, &(plan){.push = true, .save_as = first, .values = &values[0]}, NULL);
    run(1, &(plan){.path = first, .save_as = second, .values = &values[1]}, NULL);
    run(4, &(plan){.path = second, .servers = 2, .save_as = third, .values = &values[2]}, NULL);
    run(2, &(plan){.path = third, .values = &values[3]}, NULL);
    for (int i = 1; i < 4; i++)
        assert_memory_equal(values[0], values[i], sizeof values[0]);
    float one;
    memcpy(&one, values[0][0], sizeof one);
    assert_true(one > 3.9F && one < 4.1F); /* cos(0), four times */
}

/* The file with some bytes changed, or cut. */
static void damaged(size_t cut, const char *find, const char *put, const char *words)
{
    static char bytes[1 << 20];
    FILE *file = fopen("good", "rb");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(size > 1000 && size < sizeof bytes);
    for (size_t i = 0; find != NULL && i + strlen(find) < size; i++)
        if (memcmp(bytes + i, find, strlen(find)) == 0) {
            memcpy(bytes + i, put, strlen(put));
            break;
        }
    if (words == NULL) { /* the last number is one of F32: not a number; and the checksum of that */
        hw_checksum seal = {0};
        memset(bytes + size - 12, 0xff, 4);
        hw_checksum_add(&seal, bytes, size - 8);
        uint64_t checksum = hw_checksum_of(&seal);
        memcpy(bytes + size - 8, &checksum, sizeof checksum);
    }
    file = fopen("bad", "wb");
    assert_int_equal(fwrite(bytes, 1, size - cut, file), size - cut);
    fclose(file);
    static unsigned char values[TABLES][KEYS * 24];
    run(2, &(plan){.path = "bad", .values = &values},
        words != NULL ? words : "these rows are as new, everything else is loaded");
}

/* Wherever it lies among the numbers. */
static void one_byte_is_noticed(void)
{
    static unsigned char values[TABLES][KEYS * 24];
    static char bytes[1 << 20];
    FILE *file = fopen("good", "rb");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t at = size - 1; at > 4000; at -= at > 20000 ? 9973 : 997) {
        bytes[at] ^= 1;
        file = fopen("bad", "wb");
        assert_int_equal(fwrite(bytes, 1, size, file), size);
        fclose(file);
        run(1, &(plan){.path = "bad", .values = &values}, "bad: the checksum does not match");
        bytes[at] ^= 1;
    }
}

static void each_wrong_input_is_one_line(void **state)
{
    (void)state;
    static unsigned char values[TABLES][KEYS * 24];
    run(2, &(plan){.push = true, .save_as = "good", .values = &values}, NULL);
    damaged(1, NULL, NULL, "bad is not whole");
    damaged(2000, NULL, NULL, "bad is not whole");
    damaged(0, "hawser.store", "hawser.stare", "is not a file of a store's tables");
    damaged(0, "F32 adagrad", "F64 adagrad",
            "table 'sparse' is 'F64 adagrad width 1' in bad and 'F32 adagrad width 1' here");
    damaged(0, "sparse.memory", "sparse.mamory", "tensor 'sparse.memory' is missing");
    damaged(0, "\"hawser.store\":\"2", "\"hawser.store\":\"1",
            "bad has a store's tables in format '1'; this Hawser reads format 2");
    damaged(0, "hawser.checksum", "hawser.chucksum", "bad is not whole");
    damaged(0, "adam width 1", "adam width 2", "table 'adam' is");
    damaged(0, "; 0.5 ", "; 0.7 ", "bad: the checksum does not match"); /* a parameter, which may differ */
    damaged(0, NULL, NULL, NULL);
    one_byte_is_noticed();
    run(2, &(plan){.path = "none", .values = &values}, "cannot open none");
    run(1, &(plan){.path = "/dev/null", .values = &values}, "is not a safetensors file");
    run(2, &(plan){.path = "good", .wrong = "width", .values = &values}, "'F32 add width 4 keys 7 to 506' here");
    run(3, &(plan){.path = "good", .wrong = "less", .values = &values},
        "a table 'counts' (I64 add width 1), which the store lacks");
    run(2, &(plan){.push = true, .save_as = "no/such/place", .values = &values}, "no/such/place");
    assert_int_not_equal(access("no", F_OK), 0);
}

/* The checker would take the loaded rows for values that no worker wrote. */
static void no_file_within_a_history(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("seed", "1", "record-history", "history");
    hawser_store *store = NULL;
    hawser_error error = {0};
    uint32_t table;
    assert_int_equal(hawser_store_open(test.job, NULL, &store, &error), HAWSER_OK);
    assert_int_equal(hawser_store_table(store, &(hawser_table){.name = "w", .last = 9}, &table, &error), HAWSER_OK);
    assert_int_equal(hawser_store_save(store, "kept", &error), HAWSER_OK);
    assert_int_equal(hawser_store_load(store, "kept", &error), HAWSER_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "kept: a history (--record-history) cannot record what a file loads"));
    hawser_store_close(store);
    close_job(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_servers),
        cmocka_unit_test(each_wrong_input_is_one_line),
        cmocka_unit_test(no_file_within_a_history),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
