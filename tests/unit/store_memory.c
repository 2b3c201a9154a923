/* Requests for what the function of a dense table remembers: any range of keys, however servers and stripes cut it, has the
 * doubles that the servers have, and setting them changes no value and no other key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/checkpoint.h"
#include "store_world.h"

enum { KEYS_MOST = 400, WIDTH_MOST = 3, MEMORY_MOST = 3, SEEDS = 150 };

/* A table, with room for what it has of all keys. */
typedef struct fixture {
    world *w;
    hw_random random;
    hw_table_spec spec;
    uint32_t table;
    size_t keys, doubles;                                  /* doubles: a key's memory */
    double memory[KEYS_MOST * WIDTH_MOST * MEMORY_MOST];   /* of all keys, as the servers have it */
    double expected[KEYS_MOST * WIDTH_MOST * MEMORY_MOST]; /* likewise, as it should be */
    double carried[KEYS_MOST * WIDTH_MOST * MEMORY_MOST];  /* by a request */
} fixture;

static void finish(world *w)
{
    while (step(w))
        ;
}

static fixture *make(uint64_t seed)
{
    static const char *const functions[] = {"average", "adagrad", "adam"};
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->random = hw_random_at(seed, 5, 0, 0);
    f->w = open_world_of((world_shape){.seed = seed,
                                       .servers = 1 + (uint32_t)hw_random_below(&f->random, SERVERS_MOST),
                                       .clients = 1,
                                       .workers = 1,
                                       .zero_copy = seed % 2 == 0});
    f->keys = 1 + (size_t)hw_random_below(&f->random, KEYS_MOST);
    uint64_t first = hw_random_below(&f->random, 1000);
    f->spec = spec_of("t", hw_random_below(&f->random, 2) == 0 ? HW_VALUE_F32 : HW_VALUE_F64,
                      1 + (uint32_t)hw_random_below(&f->random, WIDTH_MOST), false, first, first + f->keys - 1);
    f->spec.function = hw_function_find(functions[seed % 3]);
    const double parameters[] = {0.1, 0.9, 0.99, 1e-6};
    memcpy(f->spec.parameters, parameters, f->spec.function->parameters * sizeof *parameters);
    f->spec.summed = hw_random_below(&f->random, 4) == 0;
    f->doubles = (size_t)f->spec.width * f->spec.function->memory;
    f->table = create(f->w, f->spec);
    return f;
}

static void drop(fixture *f)
{
    close_world(f->w);
    free(f);
}

/* Stores the memory of all keys, read from the servers without a request. */
static void look(fixture *f)
{
    for (uint64_t key = f->spec.first; key <= f->spec.last; key++) {
        const hw_server *server = f->w->server[hw_client_server(f->w->client[0], f->table, key)];
        unsigned char *to = (unsigned char *)(f->memory + (key - f->spec.first) * f->doubles);
        assert_int_equal(hw_server_take_range(server, f->table, key, key, HW_PART_MEMORY, to), 1);
    }
}

static void draw_range(fixture *f, hw_order *order)
{
    uint64_t a = hw_random_below(&f->random, f->keys), b = hw_random_below(&f->random, f->keys);
    order->table = f->table;
    order->first = f->spec.first + (a < b ? a : b);
    order->last = f->spec.first + (a < b ? b : a);
}

static void push(fixture *f, uint64_t clock)
{
    static double wide[KEYS_MOST * WIDTH_MOST];
    static float narrow[KEYS_MOST * WIDTH_MOST];
    bool is_narrow = f->spec.type == HW_VALUE_F32;
    for (size_t i = 0; i < KEYS_MOST * WIDTH_MOST; i++)
        narrow[i] = (float)(wide[i] = (double)hw_random_below(&f->random, 200) / 16 - 6);
    hw_order order = {.operation = HW_PUSH, .values = is_narrow ? (const void *)narrow : wide, .clock = clock};
    draw_range(f, &order);
    uint64_t task = submit(f->w, 0, order);
    if (f->spec.summed)
        (void)submit(
            f->w, 0,
            (hw_order){
                .operation = HW_CLOCK, .table = f->table, .first = f->spec.first, .last = f->spec.last, .clock = clock});
    finish(f->w);
    assert_int_equal(f->w->status[0][task], HAWSER_OK);
}

static void check_pull(fixture *f)
{
    hw_order order = {.operation = HW_PULL_MEMORY, .out = f->carried};
    draw_range(f, &order);
    uint64_t task = submit(f->w, 0, order);
    finish(f->w);
    assert_int_equal(f->w->status[0][task], HAWSER_OK);
    size_t count = (size_t)(order.last - order.first + 1) * f->doubles;
    assert_memory_equal(f->carried, f->memory + (order.first - f->spec.first) * f->doubles, count * sizeof(double));
}

static void check_put(fixture *f)
{
    static double before[KEYS_MOST * WIDTH_MOST], after[KEYS_MOST * WIDTH_MOST];
    hw_order order = {.operation = HW_PUT_MEMORY, .values = f->carried};
    hw_order values = {.operation = HW_PULL, .table = f->table, .first = f->spec.first, .last = f->spec.last, .out = before};
    draw_range(f, &order);
    (void)submit(f->w, 0, values);
    finish(f->w);
    memcpy(f->expected, f->memory, sizeof f->expected);
    for (size_t i = 0, n = (size_t)(order.last - order.first + 1) * f->doubles; i < n; i++)
        f->expected[(order.first - f->spec.first) * f->doubles + i] = f->carried[i] =
            (double)hw_random_below(&f->random, 1 << 20) / 3;
    uint64_t task = submit(f->w, 0, order);
    finish(f->w);
    assert_int_equal(f->w->status[0][task], HAWSER_OK);
    look(f);
    assert_memory_equal(f->memory, f->expected, f->keys * f->doubles * sizeof(double));
    values.out = after;
    (void)submit(f->w, 0, values);
    finish(f->w);
    assert_memory_equal(before, after, sizeof before);
}

static void any_range_is_read_and_set(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        fixture *f = make(seed);
        bool any = false;
        for (uint64_t clock = 0; clock < 6; clock++) {
            push(f, clock);
            look(f);
            for (size_t i = 0; i < f->keys * f->doubles; i++)
                any = any || f->memory[i] != 0;
            check_pull(f);
            check_put(f);
        }
        assert_true(any);
        drop(f);
    }
}

static void other_tables_and_lists_are_refused(void **state)
{
    (void)state;
    world *w = open_world(3, 2, 1, 1, 0);
    const hw_table_spec plain = spec_of("plain", HW_VALUE_F64, 1, false, 0, 9);
    hw_table_spec sparse = spec_of("sparse", HW_VALUE_F64, 1, true, 0, UINT64_MAX), dense = plain;
    sparse.function = dense.function = hw_function_find("average");
    (void)snprintf(dense.name, sizeof dense.name, "dense");
    const uint32_t tables[] = {create(w, plain), create(w, sparse), create(w, dense)};
    const uint64_t keys[] = {2, 4};
    double out[10];
    uint64_t task;
    hawser_error error = {0};
    for (size_t t = 0; t < 3; t++)
        for (int listed = 0; listed < 2; listed++) {
            const hw_order order = {.operation = HW_PULL_MEMORY,
                                    .table = tables[t],
                                    .keys = listed ? keys : NULL,
                                    .count = listed ? 2 : 0,
                                    .last = 9,
                                    .out = out};
            bool right = t == 2 && !listed;
            hawser_status status = hw_client_submit(w->client[0], &order, &task, &error);
            assert_int_equal(status, right ? HAWSER_OK : HAWSER_BAD_ARGUMENT);
            assert_true(right || strstr(error.text, t == 0   ? "table 'plain': only a function with memory"
                                                    : listed ? "by ranges of keys"
                                                             : "is sparse") != NULL);
        }
    finish(w);
    close_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_range_is_read_and_set),
        cmocka_unit_test(other_tables_and_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
