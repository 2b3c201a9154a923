/*
 * Every order in which messages of a small case can arrive, through the exchange and the store as they are: nobody waits for
 * ever, and the history of each order is accepted.
 *
 * A case is run again and again; each time it makes other choices where it has some, until it has made all (a search without
 * states). What a party can do without a message it does at once, so that the orders differ in what arrives when, and in
 * nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history_worlds.h"

/* The choices of one run; the next run differs in the last that can still be another. */
typedef struct orders {
    unsigned choice[64], of[64];
    size_t depth, at;
    uint64_t runs;
} orders;

static unsigned choose(orders *o, unsigned of)
{
    if (o->at == o->depth) {
        assert_true(o->depth < sizeof o->choice / sizeof *o->choice);
        o->choice[o->depth] = 0;
        o->of[o->depth++] = of;
    }
    assert_int_equal(o->of[o->at], of); /* the same choices lead to the same place */
    return o->choice[o->at++];
}

static bool another(orders *o)
{
    o->runs++;
    o->at = 0;
    while (o->depth > 0 && o->choice[o->depth - 1] + 1 == o->of[o->depth - 1])
        o->depth--;
    if (o->depth > 0)
        o->choice[o->depth - 1]++;
    return o->depth > 0;
}

/* Which of those that may go on does; `may` has a bit for each. */
static unsigned pick(orders *o, unsigned may)
{
    unsigned count = (unsigned)__builtin_popcount(may), which = choose(o, count);
    while (which-- > 0)
        may &= may - 1;
    return (unsigned)__builtin_ctz(may);
}

static void must_hold(hw_history *history)
{
    hw_verdict verdict = judge(history);
    if (verdict.broken) {
        hw_verdict_print(&verdict, history, stderr);
        fail();
    }
    hw_history_free(history);
}

/* --------------------------------------------------------------------------------------------------------- replicas ---- */

enum { REPLICAS = 2 };

static void deliver_from(cluster *c, uint32_t b, uint32_t source)
{
    hawser_error error = {0};
    check(hw_replica_accept(c->replicas[b], link_take(&c->links[b][source]), &error), &error);
}

/* Two blocks: each runs its next clock as soon as it may and is chosen, or takes in the next message of the other. */
static hw_history run_replicas(orders *o, const shape *s)
{
    notes n = {0};
    cluster c;
    unsigned may;
    open_recorded(&c, s, 1, &n);
    c.epoch = 1;
    for (uint32_t b = 0; b < REPLICAS; b++)
        hw_replica_begin(c.replicas[b], c.epoch, s->policy);
    do {
        may = 0;
        for (uint32_t b = 0; b < REPLICAS; b++) {
            may |= (unsigned)(c.clock[b] < s->clocks && cluster_ready(&c, b)) << b;
            may |= (unsigned)(c.links[b][1 - b].first != NULL) << (REPLICAS + b);
        }
        unsigned what = may != 0 ? pick(o, may) : 0;
        if (may != 0 && what >= REPLICAS) {
            deliver_from(&c, what - REPLICAS, 1 - (what - REPLICAS));
        } else if (may != 0) {
            cluster_merge(&c, what);
            cluster_change(&c, what, what, 1);
            cluster_cut(&c, what, true, c.clock[what] + 1 == s->clocks);
        }
    } while (may != 0);
    cluster_end(&c, s->clocks); /* asserts that all clocks were run: no block is left waiting */
    cluster_close(&c);
    return history_of(&n);
}

static void replicas_in_every_order(void **state)
{
    (void)state;
    static const hw_policy policies[] = {{HW_POLICY_BSP, 0}, {HW_POLICY_SSP, 1}, {HW_POLICY_TAP, 0}};
    for (int p = 0; p < 3; p++) {
        shape s = {
            .clocks = p < 2 || runs_long() ? 3 : 2,
            .policy = policies[p],
            .spec = {.name = "w", .count = 3, .blocks = REPLICAS, .sources = REPLICAS, .rule = {.damping = 1, .gain = 1}}};
        orders o = {0};
        do {
            hw_history history = run_replicas(&o, &s);
            must_hold(&history);
        } while (another(&o));
        print_message("two replicas, %llu clocks: %llu orders\n", (unsigned long long)s.clocks, (unsigned long long)o.runs);
        assert_true(o.runs > 50);
    }
}

/* ------------------------------------------------------------------------------------------------------------ store ---- */

/* All that needs no message on its way to the server: clients send, stripes work, answers arrive. */
static void settle(world *w)
{
    bool moved = true;
    hawser_error error = {0};
    while (moved) {
        moved = w->ready_count > 0;
        if (moved)
            hw_stripe_work(w->ready[--w->ready_count]);
        for (uint32_t c = 0; c < w->clients; c++) {
            while (hw_client_more(w->client[c]))
                moved = true;
            while (w->back[c][0].first != NULL) {
                check(hw_client_receive(w->client[c], 0, take(&w->back[c][0]), &error), &error);
                moved = true;
            }
        }
    }
}

/* A worker that has what it asked for asks for the next. */
static bool go_on(market *m, uint64_t steps, uint64_t *step_of, void (*go)(market *m, asker *a, uint64_t step))
{
    bool moved = false;
    for (uint32_t j = 0; j < m->workers; j++)
        while (step_of[j] < steps && all_ended(m, &m->askers[j])) {
            m->askers[j].open = 0;
            go(m, &m->askers[j], step_of[j]++);
            settle(m->w);
            moved = true;
        }
    return moved;
}

static void order_keys(market *m, asker *a, hw_operation operation, uint64_t first, uint64_t last, uint64_t clock,
                       uint64_t least)
{
    double *values = a->values[a->open], *out = a->out[a->open];
    for (size_t i = 0; i < 4; i++)
        values[i] = (double)(1 + a->number) + (double)(clock * 4 + i) / 16;
    ask(m, a,
        (hw_order){.operation = operation,
                   .first = first,
                   .last = last,
                   .clock = clock,
                   .least = least,
                   .values = operation == HW_PUSH ? values : NULL,
                   .out = operation == HW_PULL ? out : NULL});
}

/* Data-centric: reads of all chunks at once, then the own write, which is not waited for. */
static void centric_step(market *m, asker *a, uint64_t step)
{
    for (uint32_t j = 0; j < m->workers && step % 2 == 0; j++)
        order_keys(m, a, HW_PULL, 2 * j, 2 * j + 1, step / 2, 0);
    if (step % 2 == 0)
        return;
    order_keys(m, a, HW_PUSH, 2 * a->number, 2 * a->number + 1, step / 2, 0);
    a->open = 0;
    if (!m->over || a->number > 0 || step > 1)
        return;
    hw_order reread = {.operation = HW_PULL, .first = 0, .last = m->spec.last, .clock = 0, .reread = true};
    reread.out = a->out[OPEN_MOST - 1];
    ask(m, a,
        /* its first iteration, over: both chunks, of which others and it itself may have written the next version */
        reread);
}

/* Stale: a read that asks for clocks; then, in every other clock, a push, and the clock's end, which are not waited for. */
static void stale_step(market *m, asker *a, uint64_t step)
{
    uint64_t clock = step / 2;
    if (step % 2 == 0) {
        order_keys(m, a, HW_PULL, 0, m->spec.last, clock, clock > m->staleness ? clock - m->staleness : 0);
        return;
    }
    if (clock % 2 == 0)
        order_keys(m, a, HW_PUSH, 0, m->spec.last, clock, 0);
    order_keys(m, a, HW_CLOCK, 0, m->spec.last, clock, 0);
    a->open = 0;
}

static hw_history run_market(orders *o, market m, uint64_t iterations, uint64_t *waited)
{
    notes n = {0};
    uint64_t step_of[WORKERS_MOST] = {0};
    m.w = open_world_of(
        (world_shape){.seed = 8, .servers = 1, .clients = m.workers, .workers = m.workers, .note = new_log, .notes = &n});
    m.table = create(m.w, m.spec);
    for (size_t i = 0; i < n.count; i++)
        if (n.logs[i]->name.kind == HW_STREAM_CLIENT)
            hw_note_table(n.logs[i], &m.spec, m.table, m.spec.first, m.spec.last, m.workers);
    m.askers = calloc(m.workers, sizeof *m.askers);
    for (uint32_t j = 0; j < m.workers; j++)
        m.askers[j].number = j, m.askers[j].client = j;
    for (unsigned may = 1; may != 0;) {
        while (go_on(&m, 2 * iterations, step_of, m.spec.centric ? centric_step : stale_step))
            continue;
        may = 0;
        for (uint32_t c = 0; c < m.workers; c++)
            may |= (unsigned)(m.w->there[c][0].first != NULL) << c;
        if (may == 0)
            break;
        hawser_error error = {0};
        unsigned c = pick(o, may);
        check(hw_server_receive(m.w->server[0], c, take(&m.w->there[c][0]), &error), &error);
        settle(m.w);
    }
    for (uint32_t j = 0; j < m.workers; j++)
        assert_true(step_of[j] == 2 * iterations && all_ended(&m, &m.askers[j])); /* no request waits forever */
    hw_server_figures figures;
    hw_server_figures_of(m.w->server[0], &figures);
    *waited += figures.deferred;
    free(m.askers);
    close_world(m.w);
    return history_of(&n);
}

static void every_order(market m, uint64_t iterations, uint64_t least, bool waits)
{
    orders o = {0};
    uint64_t waited = 0;
    do {
        hw_history history = run_market(&o, m, iterations, &waited);
        must_hold(&history);
    } while (another(&o));
    print_message("%u workers, %llu iterations: %llu orders, %llu set aside\n", m.workers, (unsigned long long)iterations,
                  (unsigned long long)o.runs, (unsigned long long)waited);
    assert_true(o.runs >= least && (waited > 0) == waits);
}

static market market_of(uint32_t workers, bool centric, uint64_t delay, uint64_t staleness)
{
    market m = {.workers = workers, .staleness = staleness};
    m.spec = spec_of("t", HW_VALUE_F64, 1, false, 0, 2 * workers - 1);
    m.spec.function = hw_function_find(centric ? "assign" : "add");
    m.spec.centric = centric;
    m.spec.delay = delay;
    return m;
}

static void chunks_in_every_order(void **state)
{
    (void)state;
    for (uint64_t delay = 0; delay <= 1; delay++)
        every_order(market_of(2, true, delay, 0), runs_long() ? 3 : 2, 500, true);
    every_order(market_of(2, true, UINT64_MAX, 0), 2, 900, false);
    for (uint64_t delay = 0; delay <= 1; delay++) {
        market m = market_of(2, true, delay, 0);
        m.over = true;
        every_order(m, 2, 500, true);
    }
    if (runs_long())
        every_order(market_of(3, true, 0, 0), 1, 1000, true);
}

static void clocks_in_every_order(void **state)
{
    (void)state;
    for (uint64_t staleness = 0; staleness <= 1; staleness++)
        every_order(market_of(2, false, 0, staleness), 3, 1000, true);
    every_order(market_of(3, false, 0, 0), 1, 1000, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_in_every_order),
        cmocka_unit_test(chunks_in_every_order),
        cmocka_unit_test(clocks_in_every_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
