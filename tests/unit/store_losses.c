/*
 * store_losses.c - a store of three nodes loses one, which is a server and a client: what the others ask of each other goes
 * on and is exact, what needs the lost server or waits for the lost worker's clocks fails by name, and no task waits for
 * ever. Seeds draw requests, clocks, orders, and when who notices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store_world.h"

enum { NODES = 3, VICTIM = 1, KEYS = 48, ACTIONS = 80, CLOCKS_MOST = 4, SEEDS = 150, NOTED = 300 };

typedef struct asked {
    uint64_t task;
    uint64_t least;
    bool needs; /* the victim's server */
    double out[KEYS];
    uint64_t keys[KEYS];
} asked;

typedef struct scene {
    world *w;
    hw_random random;
    uint32_t tables[2]; /* dense, sparse */
    asked tasks[NODES][NOTED];
    uint32_t counts[NODES];
    uint64_t clocks[NODES];
    double pushed[2][KEYS]; /* by survivors whose push was taken */
    bool noticed[NODES];    /* by the client */
    uint32_t refused, failed, went_on;
} scene;

static const char *const words = "node 1 (host-1) was lost: the test says so";

static uint64_t below(scene *s, uint64_t limit)
{
    return hw_random_below(&s->random, limit);
}

static void run_some(scene *s, uint64_t steps)
{
    while (steps-- > 0 && step(s->w))
        ;
}

static void run_all(scene *s)
{
    while (step(s->w))
        ;
}

static void clock_once(scene *s, uint32_t node)
{
    const hw_order order = {
        .operation = HW_CLOCK, .table = s->tables[0], .last = KEYS - 1, .worker = node, .clock = s->clocks[node]++};
    (void)submit(s->w, node, order);
}

/* Makes one request of a node. */
static void ask(scene *s, uint32_t node)
{
    static double ones[KEYS];
    hw_client *client = s->w->client[node];
    asked *a = &s->tasks[node][s->counts[node]];
    bool sparse = below(s, 2) == 0, pushes = node != VICTIM && below(s, 2) == 0;
    uint64_t first = below(s, KEYS), last = first + below(s, KEYS - first), task;
    size_t count = 0;
    hawser_error error = {0};
    *a = (asked){.least = pushes || sparse ? 0 : below(s, CLOCKS_MOST)};
    for (uint64_t key = first; key <= last; key++)
        if (!sparse || key == first || below(s, 3) == 0)
            a->keys[count++] = key;
    for (size_t i = 0; i < count; i++) {
        ones[i] = 1;
        a->needs = a->needs || hw_client_server(client, s->tables[sparse], a->keys[i]) == VICTIM;
    }
    hw_order order = {.operation = pushes ? HW_PUSH : HW_PULL,
                      .table = s->tables[sparse],
                      .first = first,
                      .last = last,
                      .values = pushes ? ones : NULL,
                      .out = pushes ? NULL : a->out,
                      .least = a->least,
                      .worker = node};
    if (sparse) {
        order.keys = a->keys;
        order.count = count;
    }
    hawser_status status = hw_client_submit(client, &order, &task, &error);
    assert_int_equal(status, s->noticed[node] && a->needs ? HAWSER_PEER_LOST : HAWSER_OK);
    if (status != HAWSER_OK) {
        assert_string_equal(error.text, words);
        s->refused++;
        return;
    }
    a->task = task;
    s->counts[node]++;
    for (size_t i = 0; i < count && pushes; i++)
        s->pushed[sparse][a->keys[i]]++;
}

static void act(scene *s, uint32_t node)
{
    if (below(s, 6) == 0 && s->clocks[node] < CLOCKS_MOST - 1)
        clock_once(s, node);
    else
        ask(s, node);
    run_some(s, below(s, 12));
}

/* A survivor notices the loss: first its client or first its server. */
static void notice(scene *s, uint32_t node)
{
    const bool lost[NODES] = {[VICTIM] = true};
    hawser_error error = {0};
    bool client_first = below(s, 2) == 0;
    (void)hawser_fail(&error, HAWSER_PEER_LOST, "%s", words);
    for (int i = 0; i < 2; i++) {
        if ((i == 0) == client_first)
            hw_client_fail_server(s->w->client[node], VICTIM, HAWSER_PEER_LOST, &error);
        else
            hw_server_lose_workers(s->w->server[node], lost, words);
        s->noticed[node] = s->noticed[node] || (i == 0) == client_first;
        run_some(s, below(s, 20));
    }
}

static void judge(scene *s, uint32_t node)
{
    for (uint32_t i = 0; i < s->counts[node]; i++) {
        const asked *a = &s->tasks[node][i];
        assert_true(s->w->ended[node][a->task] != 0);
        hawser_status status = s->w->status[node][a->task];
        assert_true(status == HAWSER_OK || status == HAWSER_PEER_LOST);
        if (!a->needs && a->least == 0)
            assert_int_equal(status, HAWSER_OK);
        if (a->least > s->clocks[VICTIM])
            assert_int_equal(status, HAWSER_PEER_LOST);
        s->failed += status != HAWSER_OK;
        s->went_on += status == HAWSER_OK && s->noticed[node];
    }
}

/* All keys of the survivors have what was pushed, once. */
static void compare(scene *s)
{
    for (int sparse = 0; sparse < 2; sparse++)
        for (uint64_t key = 0; key < KEYS; key++) {
            double out = -1;
            if (hw_client_server(s->w->client[0], s->tables[sparse], key) == VICTIM)
                continue;
            uint64_t task =
                submit(s->w, 0,
                       (hw_order){.operation = HW_PULL, .table = s->tables[sparse], .keys = &key, .count = 1, .out = &out});
            run_all(s);
            assert_int_equal(s->w->status[0][task], HAWSER_OK);
            assert_true(out == s->pushed[sparse][key]);
        }
}

static void play(uint64_t seed, uint32_t totals[3])
{
    scene *s = calloc(1, sizeof *s);
    s->w = open_world(seed, NODES, NODES, NODES, 0);
    s->random = hw_random_at(seed, 99, 1, 0);
    s->tables[0] = create(s->w, spec_of("dense", HW_VALUE_F64, 1, false, 0, KEYS - 1));
    s->tables[1] = create(s->w, spec_of("sparse", HW_VALUE_F64, 1, true, 0, KEYS - 1));
    uint64_t end = below(s, ACTIONS);
    for (uint64_t i = 0; i < end; i++)
        act(s, (uint32_t)below(s, NODES));
    s->w->gone[VICTIM] = true;
    for (uint64_t i = below(s, 10); i > 0; i--)
        act(s, below(s, 2) == 0 ? 0 : 2);
    uint32_t first = below(s, 2) == 0 ? 0 : 2;
    notice(s, first);
    for (uint64_t i = below(s, 10); i > 0; i--)
        act(s, below(s, 2) == 0 ? 0 : 2);
    notice(s, 2 - first);
    for (uint64_t i = 0; i < ACTIONS / 2; i++)
        act(s, below(s, 2) == 0 ? 0 : 2);
    for (uint32_t node = 0; node < NODES; node += 2)
        while (s->clocks[node] < CLOCKS_MOST)
            clock_once(s, node);
    run_all(s);
    for (uint32_t node = 0; node < NODES; node += 2)
        judge(s, node);
    compare(s);
    totals[0] += s->refused;
    totals[1] += s->failed;
    totals[2] += s->went_on;
    close_world(s->w);
    free(s);
}

static void what_needs_only_the_living_goes_on(void **state)
{
    (void)state;
    uint32_t totals[3] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        play(seed, totals);
    assert_true(totals[0] > SEEDS && totals[1] > SEEDS && totals[2] > SEEDS); /* refused, failed and well */
}

/* A data-centric table: a read waits for the writer of the iteration before, which may be the lost one. */
static void an_iteration_that_may_not_be_written_is_refused(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        const bool lost[2] = {[1] = true};
        double out = -1;
        world *w = open_world(7, 1, 2, 2, 0);
        hw_table_spec spec = spec_of("c", HW_VALUE_F64, 1, false, 0, 0);
        spec.centric = true;
        uint32_t table = create(w, spec);
        const hw_order order = {.operation = HW_PULL, .table = table, .out = &out, .worker = 0, .clock = 3};
        uint64_t task = late ? 0 : submit(w, 0, order);
        while (step(w))
            ;
        assert_true(late || w->ended[0][task] == 0);
        hw_server_lose_workers(w->server[0], lost, words);
        task = late ? submit(w, 0, order) : task;
        while (step(w))
            ;
        assert_true(w->ended[0][task] != 0);
        assert_int_equal(w->status[0][task], HAWSER_PEER_LOST);
        assert_non_null(strstr(w->error.text, words));
        close_world(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_needs_only_the_living_goes_on),
        cmocka_unit_test(an_iteration_that_may_not_be_written_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
