/* Overflow as a program meets it: clocks of summed tables, increments, rounded and filtered pushes, files that are saved
 * after it, and files of an earlier Hawser, which have infinite numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint/checksum.h"
#include "directory.h"
#include "hawser/store.h"
#include "servers.h"

enum { KEYS = 10 };

static const float huge[KEYS] = {1, 1, 1, 3e38F, 1, 1, 1, 1, 1, 1};

static hawser_status expect(hawser_status got, hawser_status wanted, const char *words, hawser_error *error)
{
    if (got != wanted)
        return hawser_fail(error, HAWSER_INTERNAL, "status %d, not %d: %.600s", (int)got, (int)wanted, error->text);
    if (words != NULL && strstr(error->text, words) == NULL)
        return hawser_fail(error, HAWSER_INTERNAL, "no '%s' in: %.600s", words, error->text);
    return HAWSER_OK;
}

static hawser_status push_to(hawser_store *store, uint32_t table, const float *values, hawser_error *error)
{
    uint64_t task, keys[KEYS];
    for (uint64_t k = 0; k < KEYS; k++)
        keys[k] = k;
    HAWSER_TRY(
        hawser_push(store, &(hawser_request){.table = table, .keys = keys, .count = KEYS, .values = values}, &task, error));
    return hawser_store_wait(store, task, error);
}

static hawser_status pull_from(hawser_store *store, uint32_t table, uint64_t least, float *out, hawser_error *error)
{
    uint64_t task, keys[KEYS];
    for (uint64_t k = 0; k < KEYS; k++)
        keys[k] = k;
    HAWSER_TRY(hawser_pull(store, &(hawser_request){.table = table, .keys = keys, .count = KEYS, .out = out, .least = least},
                           &task, error));
    return hawser_store_wait(store, task, error);
}

static hawser_status expect_row(hawser_store *store, uint32_t table, uint64_t key, float wanted, hawser_error *error)
{
    float out[KEYS];
    HAWSER_TRY(pull_from(store, table, 0, out, error));
    if (out[key] != wanted)
        return hawser_fail(error, HAWSER_INTERNAL, "key %d is %g, not %g", (int)key, (double)out[key], (double)wanted);
    return HAWSER_OK;
}

typedef hawser_status (*scene)(test_node *node, hawser_store *store, hawser_error *error);

static void body(test_node *node)
{
    const scene *play = node->user;
    hawser_store *store = NULL;
    node->status = hawser_store_open(node->job, &(hawser_store_options){.timeout = 60}, &store, &node->error);
    if (node->status == HAWSER_OK)
        node->status = (*play)(node, store, &node->error);
    hawser_store_close(store);
}

static void run(uint32_t nodes, scene play)
{
    test_node all[NODES_MOST];
    run_nodes(all, nodes, plain_pairs, body, &play);
    check_all(all, nodes, "overflow");
}

/* ----------------------------------------------------------------------------------------------------------- clocks ---- */

static hawser_table summed_table(bool sparse)
{
    return (hawser_table){.name = sparse ? "sparse" : "dense",
                          .type = HAWSER_F32,
                          .sparse = sparse,
                          .last = sparse ? 0 : KEYS - 1,
                          .summed = true};
}

/* A worker's own sum overflows: that push fails. The sum of all: the clock does, on every node, and the tables can be saved
 * yet. */
static hawser_status sum_of_a_clock(hawser_store *store, bool sparse, hawser_error *error)
{
    uint32_t table, other;
    float out[KEYS];
    hawser_table sums = summed_table(sparse);
    HAWSER_TRY(hawser_store_table(store, &sums, &table, error));
    HAWSER_TRY(
        hawser_store_table(store, &(hawser_table){.name = "sound", .type = HAWSER_F32, .last = KEYS - 1}, &other, error));
    hawser_status either = push_to(store, other, huge, error); /* of two nodes one succeeds with the key that overflows */
    HAWSER_TRY(either == HAWSER_NOT_FINITE ? HAWSER_OK : either);
    HAWSER_TRY(push_to(store, table, huge, error));
    HAWSER_TRY(expect(push_to(store, table, huge, error), HAWSER_NOT_FINITE, "key 3 overflows: this push would", error));
    HAWSER_TRY(hawser_store_clock(store, table, 0, 0, 0, sparse ? UINT64_MAX : KEYS - 1, error));
    hawser_status read = pull_from(store, table, 1, out, error);
    return expect(read, HAWSER_NOT_FINITE, "key 3 overflows: the sum of all workers' pushes in a clock would", error);
}

static hawser_status dense_clock(test_node *node, hawser_store *store, hawser_error *error)
{
    (void)node;
    HAWSER_TRY(sum_of_a_clock(store, false, error));
    hawser_status saved = hawser_store_save(store, "dense", error);
    return saved == HAWSER_NOT_FINITE ? expect(saved, saved, "; the tables are saved", error) : saved;
}

static hawser_status sparse_clock(test_node *node, hawser_store *store, hawser_error *error)
{
    (void)node;
    HAWSER_TRY(sum_of_a_clock(store, true, error));
    hawser_status saved = hawser_store_save(store, "sparse", error);
    return saved == HAWSER_NOT_FINITE ? expect(saved, saved, "; the tables are saved", error) : saved;
}

/* A node has pushed in the next clock by the time the sum of this one overflows. No worker can end that clock, and the file
 * leaves it out. */
static hawser_status clock_ahead(test_node *node, hawser_store *store, hawser_error *error)
{
    uint32_t table;
    float out[KEYS];
    hawser_table sums = summed_table(false);
    HAWSER_TRY(hawser_store_table(store, &sums, &table, error));
    hawser_request push = {.table = table, .last = KEYS - 1, .values = huge};
    for (; push.iteration <= (node->node == 0 ? 1 : 0); push.iteration++) {
        uint64_t task;
        HAWSER_TRY(hawser_push(store, &push, &task, error));
        HAWSER_TRY(hawser_store_wait(store, task, error));
    }
    HAWSER_TRY(expect(hawser_store_save(store, "ahead", error), HAWSER_BAD_ARGUMENT, "not all workers have ended", error));
    HAWSER_TRY(hawser_store_clock(store, table, 0, 0, 0, KEYS - 1, error));
    HAWSER_TRY(expect(pull_from(store, table, 1, out, error), HAWSER_NOT_FINITE, "key 3 overflows: the sum of all", error));
    return expect(hawser_store_save(store, "ahead", error), HAWSER_NOT_FINITE, "; the tables are saved", error);
}

static hawser_status read_ahead(test_node *node, hawser_store *store, hawser_error *error)
{
    uint32_t table;
    hawser_table sums = summed_table(false);
    (void)node;
    HAWSER_TRY(hawser_store_table(store, &sums, &table, error));
    HAWSER_TRY(hawser_store_load(store, "ahead", error));
    HAWSER_TRY(expect_row(store, table, 3, 0, error));
    return expect_row(store, table, 4, 2, error);
}

/* Each of two nodes has pushed twice to all keys but the one that overflowed. */
static hawser_status read_saved(hawser_store *store, bool sparse, hawser_error *error)
{
    uint32_t table, other;
    hawser_table sums = summed_table(sparse);
    HAWSER_TRY(hawser_store_table(store, &sums, &table, error));
    HAWSER_TRY(
        hawser_store_table(store, &(hawser_table){.name = "sound", .type = HAWSER_F32, .last = KEYS - 1}, &other, error));
    HAWSER_TRY(hawser_store_load(store, sums.name, error));
    HAWSER_TRY(expect_row(store, table, 3, 0, error));
    HAWSER_TRY(expect_row(store, table, 4, 4, error));
    HAWSER_TRY(expect_row(store, other, 3, 3e38F, error));
    return expect_row(store, other, 4, 2, error);
}

static hawser_status read_both(test_node *node, hawser_store *store, hawser_error *error)
{
    (void)node;
    HAWSER_TRY(read_saved(store, false, error));
    return read_saved(store, true, error);
}

static void a_clock_whose_sum_overflows_fails_on_all_nodes(void **state)
{
    (void)state;
    run(2, dense_clock);
    run(2, sparse_clock);
    run(1, read_both);
    run(2, clock_ahead);
    run(1, read_ahead);
}

/* ------------------------------------------------------------------------------------------------------- increments ---- */

static hawser_status increments(test_node *node, hawser_store *store, hawser_error *error)
{
    const uint64_t key = 6;
    const float much = -3e38F;
    float out = 0;
    uint32_t table;
    (void)node;
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "w", .type = HAWSER_F32, .last = KEYS - 1}, &table, error));
    HAWSER_TRY(hawser_table_inc(store, table, 0, &key, 1, &much, error));
    HAWSER_TRY(expect(hawser_table_inc(store, table, 0, &key, 1, &much, error), HAWSER_NOT_FINITE,
                      "table 'w': key 6 overflows", error));
    HAWSER_TRY(hawser_table_get(store, table, 0, &key, 1, &out, error));
    HAWSER_TRY(out == much ? HAWSER_OK : hawser_fail(error, HAWSER_INTERNAL, "%g was read", (double)out));
    HAWSER_TRY(hawser_table_clock(store, table, 0, error));
    HAWSER_TRY(hawser_store_wait_all(store, error));
    HAWSER_TRY(hawser_table_inc(store, table, 0, &key, 1, &much, error));
    HAWSER_TRY(expect(hawser_table_get(store, table, 0, &key, 1, &out, error), HAWSER_NOT_FINITE,
                      "key 6 overflows: it would be infinite with this worker's own increments", error));
    HAWSER_TRY(hawser_table_clock(store, table, 0, error));
    HAWSER_TRY(expect(hawser_store_wait_all(store, error), HAWSER_NOT_FINITE, "table 'w': key 6 overflows", error));
    HAWSER_TRY(hawser_table_get(store, table, 0, &key, 1, &out, error));
    return out == much ? HAWSER_OK : hawser_fail(error, HAWSER_INTERNAL, "%g is left", (double)out);
}

static void increments_that_overflow_are_refused_by_key(void **state)
{
    (void)state;
    run(1, increments);
}

/* --------------------------------------------------------------------------------------------- rounded and filtered ---- */

/* The largest number of a type goes, rounded, and the rest behind it, without becoming infinite. */
static hawser_status round_largest(hawser_store *store, hawser_type type, hawser_form form, hawser_error *error)
{
    char name[16];
    uint32_t table;
    uint64_t task;
    const double wide = DBL_MAX;
    const float narrow = FLT_MAX;
    double got = 0;
    const void *values = type == HAWSER_F32 ? (const void *)&narrow : (const void *)&wide;
    (void)snprintf(name, sizeof name, "r%d-%d", (int)type, (int)form);
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = name, .type = type, .rounding = form}, &table, error));
    HAWSER_TRY(hawser_push(store, &(hawser_request){.table = table, .values = values}, &task, error));
    HAWSER_TRY(hawser_store_wait(store, task, error));
    HAWSER_TRY(hawser_store_flush(store, table, &task, error));
    HAWSER_TRY(hawser_store_wait(store, task, error));
    HAWSER_TRY(hawser_pull(store, &(hawser_request){.table = table, .out = &got}, &task, error));
    HAWSER_TRY(hawser_store_wait(store, task, error));
    if (memcmp(&got, values, type == HAWSER_F32 ? sizeof narrow : sizeof wide) != 0)
        return hawser_fail(error, HAWSER_INTERNAL, "table %s: the largest number has not come", name);
    HAWSER_TRY(hawser_push(store, &(hawser_request){.table = table, .values = values}, &task, error));
    hawser_status status = hawser_store_wait(store, task, error);
    HAWSER_TRY(hawser_store_flush(store, table, &task, error));
    hawser_status rest = hawser_store_wait(store, task, error);
    return status == HAWSER_NOT_FINITE || rest == HAWSER_NOT_FINITE
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_INTERNAL, "table %s: twice the largest number is none", name);
}

static hawser_status rounded(test_node *node, hawser_store *store, hawser_error *error)
{
    (void)node;
    for (hawser_form form = HAWSER_AS_BF16; form <= HAWSER_AS_INT8; form++) {
        HAWSER_TRY(round_largest(store, HAWSER_F32, form, error));
        HAWSER_TRY(round_largest(store, HAWSER_F64, form, error));
    }
    return HAWSER_OK;
}

static hawser_status filtered(test_node *node, hawser_store *store, hawser_error *error)
{
    uint32_t table;
    uint64_t task;
    (void)node;
    HAWSER_TRY(hawser_store_table(
        store, &(hawser_table){.name = "f", .type = HAWSER_F32, .last = KEYS - 1, .filter = "significant", .level = 3.2e38},
        &table, error));
    HAWSER_TRY(push_to(store, table, huge, error));
    HAWSER_TRY(expect(push_to(store, table, huge, error), HAWSER_NOT_FINITE,
                      "table 'f': key 3 overflows: this push and what", error));
    HAWSER_TRY(hawser_store_flush(store, table, &task, error));
    HAWSER_TRY(hawser_store_wait(store, task, error));
    HAWSER_TRY(expect_row(store, table, 3, 3e38F, error));
    return expect_row(store, table, 4, 1, error);
}

static void rounding_and_filters_make_nothing_infinite(void **state)
{
    (void)state;
    run(1, rounded);
    run(1, filtered);
}

/* ------------------------------------------------------------------------------------------------------------ files ---- */

static const hawser_table filed[] = {
    {.name = "a", .type = HAWSER_F32, .last = KEYS - 1},
    {.name = "b", .type = HAWSER_F32, .sparse = true, .function = "adagrad", .parameters = {0.5, 1e-3}},
    {.name = "c", .last = KEYS - 1},
};
enum { FILED = sizeof filed / sizeof *filed };

static hawser_status make_tables(hawser_store *store, uint32_t *numbers, hawser_error *error)
{
    for (int t = 0; t < FILED; t++)
        HAWSER_TRY(hawser_store_table(store, &filed[t], &numbers[t], error));
    return HAWSER_OK;
}

static hawser_status fill_tables(hawser_store *store, const uint32_t *numbers, hawser_error *error)
{
    uint64_t task;
    float ones[KEYS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    double doubles[KEYS] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
    HAWSER_TRY(push_to(store, numbers[0], huge, error));
    HAWSER_TRY(push_to(store, numbers[1], ones, error));
    HAWSER_TRY(
        hawser_push(store, &(hawser_request){.table = numbers[2], .last = KEYS - 1, .values = doubles}, &task, error));
    return hawser_push(store, &(hawser_request){.table = numbers[0], .last = KEYS - 1, .values = huge}, &task, error);
}

/* A push that no thread has waited for has overflowed: the file is written, and the save reports it. */
static hawser_status save_after_overflow(test_node *node, hawser_store *store, hawser_error *error)
{
    uint32_t numbers[FILED];
    HAWSER_TRY(make_tables(store, numbers, error));
    if (node->node == 0)
        HAWSER_TRY(fill_tables(store, numbers, error));
    return expect(hawser_store_save(store, "good", error), HAWSER_NOT_FINITE, "table 'a': key 3 overflows", error);
}

/* The file as if the numbers at which `find` stands first had been infinite or NaN. */
static void spoil(const char *from, const char *to, const void *find, const void *put, size_t size)
{
    static unsigned char bytes[1 << 16];
    FILE *file = fopen(from, "rb");
    size_t length = fread(bytes, 1, sizeof bytes, file), at = length - 8;
    fclose(file);
    while (at-- > 0 && memcmp(bytes + at, find, size) != 0)
        ;
    assert_true(at < length);
    memcpy(bytes + at, put, size);
    hw_checksum seal = {0};
    hw_checksum_add(&seal, bytes, length - 8);
    uint64_t checksum = hw_checksum_of(&seal);
    memcpy(bytes + length - 8, &checksum, sizeof checksum);
    file = fopen(to, "wb");
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static hawser_status expect_sound(hawser_store *store, const uint32_t *numbers, float spoilt, hawser_error *error)
{
    double doubles[KEYS];
    uint64_t task;
    HAWSER_TRY(expect_row(store, numbers[0], 3, spoilt, error));
    HAWSER_TRY(expect_row(store, numbers[0], 4, 2, error));
    float rows[KEYS];
    HAWSER_TRY(pull_from(store, numbers[1], 0, rows, error));
    int as_new = 0;
    for (int k = 0; k < KEYS; k++)
        as_new += rows[k] == 0;
    HAWSER_TRY(hawser_pull(store, &(hawser_request){.table = numbers[2], .last = KEYS - 1, .out = doubles}, &task, error));
    HAWSER_TRY(hawser_store_wait(store, task, error));
    if (doubles[0] != 5 || doubles[9] != 5 || as_new != (spoilt == 0))
        return hawser_fail(error, HAWSER_INTERNAL, "%g, %g; %d rows of 'b' are as new", doubles[0], doubles[9], as_new);
    return HAWSER_OK;
}

static hawser_status load_good(test_node *node, hawser_store *store, hawser_error *error)
{
    uint32_t numbers[FILED];
    HAWSER_TRY(make_tables(store, numbers, error));
    HAWSER_TRY(hawser_store_load(store, "good", error));
    return node->node > 0 ? HAWSER_OK : expect_sound(store, numbers, 3e38F, error);
}

static hawser_status load_bad(test_node *node, hawser_store *store, hawser_error *error)
{
    uint32_t numbers[FILED];
    HAWSER_TRY(make_tables(store, numbers, error));
    HAWSER_TRY(expect(hawser_store_load(store, "bad", error), HAWSER_NOT_FINITE,
                      "bad has numbers that are not finite: 1 row of table 'a' (key 3), 1 row of table 'b'", error));
    HAWSER_TRY(expect(HAWSER_NOT_FINITE, HAWSER_NOT_FINITE, "; these rows are as new, everything else is loaded", error));
    return node->node > 0 ? HAWSER_OK : expect_sound(store, numbers, 0, error);
}

static hawser_status client(test_node *node, hawser_store *store, hawser_error *error)
{
    uint32_t numbers[FILED];
    (void)node;
    for (int t = 0; t < FILED; t++)
        HAWSER_TRY(hawser_store_find(store, filed[t].name, NULL, &numbers[t], error));
    HAWSER_TRY(expect_sound(store, numbers, 0, error));
    HAWSER_TRY(push_to(store, numbers[0], huge, error));
    HAWSER_TRY(expect(push_to(store, numbers[0], huge, error), HAWSER_NOT_FINITE, "table 'a': key 3 overflows", error));
    return expect(hawser_store_load(store, "bad", error), HAWSER_NOT_FINITE, "everything else is loaded", error);
}

static void visit(test_node *node)
{
    const char *at = node->user;
    hawser_store *store = NULL;
    node->status = hawser_store_open(node->job, &(hawser_store_options){.at = at, .key_file = "key", .timeout = 60}, &store,
                                     &node->error);
    if (node->status == HAWSER_OK)
        node->status = client(node, store, &node->error);
    hawser_store_close(store);
}

static char complaint[1024];

static void complain(void *argument, const char *text)
{
    (void)argument;
    (void)snprintf(complaint, sizeof complaint, "%s", text);
}

static void files_lose_no_sound_row(void **state)
{
    (void)state;
    const float inf = INFINITY, was = 3e38F;
    const double one = 1, nan = NAN;
    run(2, save_after_overflow);
    run(3, load_good);
    spoil("good", "half", &was, &inf, sizeof inf);
    spoil("half", "bad", &one, &nan, sizeof nan); /* what adagrad keeps of one row */
    run(1, load_bad);
    run(3, load_bad);
    servers set = {.count = 2, .load = "bad", .save = "end", .damaged = complain};
    test_node clients[1];
    open_servers(&set);
    assert_non_null(strstr(complaint, "1 row of table 'a' (key 3)"));
    run_nodes(clients, 1, plain_pairs, visit, set.address);
    check_all(clients, 1, "a client");
    end_servers(&set);
    servers next = {.count = 1, .load = "end"};
    open_servers(&next);
    end_servers(&next);
}

/* No call would return it. */
static void servers_without_a_listener_refuse_a_damaged_file(void **state)
{
    (void)state;
    servers set = {.count = 1, .load = "bad"};
    pthread_mutex_init(&set.mutex, NULL);
    pthread_cond_init(&set.changed, NULL);
    (void)serve_main(&set);
    assert_int_equal(set.nodes[0].status, HAWSER_NOT_FINITE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_whose_sum_overflows_fails_on_all_nodes),
        cmocka_unit_test(increments_that_overflow_are_refused_by_key),
        cmocka_unit_test(rounding_and_filters_make_nothing_infinite),
        cmocka_unit_test(files_lose_no_sound_row),
        cmocka_unit_test(servers_without_a_listener_refuse_a_damaged_file),
    };
    return cmocka_run_group_tests(tests, prepare_servers, remove_directory);
}
