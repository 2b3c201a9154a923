/* Groups of clients at servers: clocks are a group's own, values are common; a group that ends leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "store_world.h"

enum { KEYS = 400, REMOTE = 1 };

static void run_dry(world *w)
{
    while (step(w))
        continue;
}

/* Client 1 of the world sits in a group of its own at every server. */
typedef struct visitors {
    hw_group *group[SERVERS_MOST];
    hw_client_session *session[SERVERS_MOST];
} visitors;

static void come(world *w, uint32_t workers, visitors *v)
{
    for (uint32_t s = 0; s < w->servers; s++) {
        assert_int_equal(hw_group_new(w->server[s], workers, &v->group[s], NULL), HAWSER_OK);
        assert_int_equal(hw_client_session_new(v->group[s], REMOTE, &v->session[s], NULL), HAWSER_OK);
    }
}

/* The servers receive what the client has sent, by its session. */
static void receive_from_client(world *w, visitors *v)
{
    while (hw_client_more(w->client[REMOTE]))
        continue;
    for (uint32_t s = 0; s < w->servers; s++)
        while (w->there[REMOTE][s].first != NULL)
            assert_int_equal(hw_client_session_receive(v->session[s], take(&w->there[REMOTE][s]), NULL), HAWSER_OK);
    run_dry(w);
}

static void go_away(world *w, visitors *v)
{
    for (uint32_t s = 0; s < w->servers; s++)
        hw_group_end(v->group[s]);
    run_dry(w);
    for (uint32_t s = 0; s < w->servers; s++) {
        assert_true(hw_group_over(v->group[s]));
        hw_group_free(v->group[s]);
    }
}

static uint64_t ranges(world *w)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < w->servers; s++) {
        hw_server_figures figures;
        hw_server_figures_of(w->server[s], &figures);
        sum += figures.clock_ranges;
    }
    return sum;
}

static void a_group_waits_for_itself(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 40; seed++) {
        world *w = open_world(seed, 1 + (uint32_t)seed % 3, 2, 2, 0);
        bool sparse = seed % 2 == 0;
        uint32_t t = create(w, spec_of("t", HW_VALUE_F64, 1, sparse, sparse ? 0 : 5, sparse ? UINT64_MAX : 4 + KEYS));
        uint64_t keys[KEYS], before = ranges(w);
        double ones[KEYS], out[KEYS];
        for (uint64_t i = 0; i < KEYS; i++) {
            keys[i] = 5 + i;
            ones[i] = 1;
        }
        visitors v = {0};
        come(w, 1, &v);
        hw_order pull = {.operation = HW_PULL, .table = t, .keys = keys, .count = KEYS, .out = out, .least = 2};
        hw_order push = {.operation = HW_PUSH, .table = t, .keys = keys, .count = KEYS, .values = ones};
        hw_order clock = {
            .operation = HW_CLOCK, .table = t, .first = sparse ? 0 : 5, .last = sparse ? UINT64_MAX : 4 + KEYS};
        (void)submit(w, 0, push);
        uint64_t hosts = submit(w, 0, pull); /* the hosts' own two workers have ended no clock */
        run_dry(w);
        for (clock.clock = 0; clock.clock < 2; clock.clock++)
            (void)submit(w, REMOTE, clock);
        (void)submit(w, REMOTE, push);
        uint64_t clients = submit(w, REMOTE, pull);
        receive_from_client(w, &v);
        assert_true(hw_client_ended(w->client[REMOTE], clients) && !hw_client_ended(w->client[0], hosts));
        for (uint64_t i = 0; i < KEYS; i++)
            assert_true(out[i] == 2);
        pull.least = 9; /* never */
        uint64_t never = submit(w, REMOTE, pull);
        receive_from_client(w, &v);
        assert_false(hw_client_ended(w->client[REMOTE], never));
        go_away(w, &v);
        assert_int_equal(w->status[REMOTE][never], HAWSER_BAD_INPUT);
        assert_string_equal(strstr(w->error.text, "its group"), "its group has ended");
        assert_int_equal(ranges(w), before);
        assert_false(hw_client_ended(w->client[0], hosts));
        for (clock.worker = 0; clock.worker < 2; clock.worker++)
            for (clock.clock = 0; clock.clock < 2; clock.clock++)
                (void)submit(w, 0, clock);
        run_dry(w);
        assert_true(hw_client_ended(w->client[0], hosts));
        close_world(w);
    }
}

/* What a group pushed in a clock that it did not end is not applied; what it ended is, though others' clocks stand still. */
static void sums_are_of_a_group(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        world *w = open_world(seed, 2, 2, 3, 0);
        hw_table_spec spec = spec_of("t", HW_VALUE_F32, 2, false, 0, KEYS - 1);
        spec.summed = true;
        uint32_t t = create(w, spec);
        float ones[KEYS * 2], out[KEYS * 2];
        for (int i = 0; i < KEYS * 2; i++)
            ones[i] = 1;
        visitors v = {0};
        come(w, 1, &v);
        hw_order push = {.operation = HW_PUSH, .table = t, .last = KEYS - 1, .values = ones};
        (void)submit(w, 0, push); /* in clock 0 of three workers, which never ends */
        run_dry(w);
        (void)submit(w, REMOTE, push);
        (void)submit(w, REMOTE, (hw_order){.operation = HW_CLOCK, .table = t, .last = KEYS - 1});
        push.clock = 1;
        (void)submit(w, REMOTE, push);
        receive_from_client(w, &v);
        uint64_t task = submit(w, 0, (hw_order){.operation = HW_PULL, .table = t, .last = KEYS - 1, .out = out});
        run_dry(w);
        assert_true(hw_client_ended(w->client[0], task));
        for (int i = 0; i < KEYS * 2; i++)
            assert_true(out[i] == 1);
        go_away(w, &v);
        close_world(w);
    }
}

/* A group may be there before a table and after it, and a server may end before a group. */
static void groups_may_attach_in_any_order(void **state)
{
    (void)state;
    world *w = open_world(5, 3, 2, 1, 0);
    visitors early = {0}, late = {0};
    come(w, 2, &early);
    uint32_t t = create(w, spec_of("t", HW_VALUE_I64, 3, false, 0, KEYS - 1));
    int64_t out[3] = {9, 9, 9}, put[3] = {4, 5, -6};
    (void)submit(w, REMOTE, (hw_order){.operation = HW_PUT, .table = t, .first = 7, .last = 7, .values = put});
    uint64_t task = submit(w, REMOTE, (hw_order){.operation = HW_PULL, .table = t, .first = 7, .last = 7, .out = out});
    receive_from_client(w, &early);
    assert_true(hw_client_ended(w->client[REMOTE], task));
    assert_memory_equal(out, put, sizeof put);
    go_away(w, &early);
    come(w, 1, &late);
    (void)submit(w, REMOTE, (hw_order){.operation = HW_PUSH, .table = t, .first = 7, .last = 7, .values = put});
    (void)submit(w, REMOTE, (hw_order){.operation = HW_PULL, .table = t, .first = 7, .last = 7, .out = out});
    receive_from_client(w, &late);
    assert_true(out[0] == 8 && out[1] == 10 && out[2] == -12);
    (void)submit(w, REMOTE, (hw_order){.operation = HW_PULL, .table = t, .last = 9, .out = (int64_t[30]){0}, .least = 5});
    receive_from_client(w, &late);
    for (uint32_t s = 0; s < w->servers; s++)
        hw_group_end(late.group[s]); /* no thread works on the stripes any more */
    close_world(w);
}

/* Values are set as they are, and what a function kept beside them begins anew. */
static void put_sets(void **state)
{
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        world *w = open_world(3, 2, 1, 1, 0);
        hw_table_spec spec = spec_of("t", HW_VALUE_F64, 1, sparse, 0, sparse ? UINT64_MAX : KEYS - 1);
        spec.function = hw_function_find("average");
        uint32_t t = create(w, spec);
        uint64_t keys[KEYS];
        double values[KEYS], out[KEYS];
        for (uint64_t i = 0; i < KEYS; i++) {
            keys[i] = i;
            values[i] = (double)i;
        }
        hw_order order = {.operation = HW_PUSH, .table = t, .keys = keys, .count = KEYS, .values = values};
        (void)submit(w, 0, order);
        (void)submit(w, 0, order);
        run_dry(w);
        for (uint64_t i = 0; i < KEYS; i++)
            values[i] = 100;
        order.operation = HW_PUT;
        (void)submit(w, 0, order);
        run_dry(w);
        for (uint64_t i = 0; i < KEYS; i++)
            values[i] = 3;
        order.operation = HW_PUSH; /* the mean of all pushes since: of one */
        (void)submit(w, 0, order);
        (void)submit(w, 0, (hw_order){.operation = HW_PULL, .table = t, .keys = keys, .count = KEYS, .out = out});
        run_dry(w);
        for (uint64_t i = 0; i < KEYS; i++)
            assert_true(out[i] == 3);
        close_world(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_waits_for_itself),
        cmocka_unit_test(sums_are_of_a_group),
        cmocka_unit_test(groups_may_attach_in_any_order),
        cmocka_unit_test(put_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
