/*
 * history_worlds.h - honest histories of random programs, drawn by seed: replicas that exchange, and clients and servers of
 * the store, with all messages in an order of the seed's. For test files that begin with cmocka's includes.
 */
#ifndef HW_TESTS_HISTORY_WORLDS_H
#define HW_TESTS_HISTORY_WORLDS_H

#include "exchange_cluster.h"
#include "history/check.h"
#include "history_put.h"
#include "sanitized.h"
#include "store/note.h"
#include "store_world.h"

/* -------------------------------------------------------------------------------------------------------- in memory ---- */

typedef struct notes {
    hw_log *logs[512];
    size_t count;
} notes;

static void grow_log(hw_log *log)
{
    log->capacity *= 2;
    log->records = realloc(log->records, log->capacity * sizeof *log->records);
    assert_non_null(log->records);
}

static hw_log *new_log(void *all, hw_stream_name name)
{
    notes *n = all;
    hw_log *log = calloc(1, sizeof *log);
    assert_true(log != NULL && n->count < 512);
    log->name = name;
    log->capacity = 64;
    log->records = malloc(log->capacity * sizeof *log->records);
    log->full = grow_log;
    return n->logs[n->count++] = log;
}

/* The logs become a history's streams. */
static hw_history history_of(notes *n)
{
    hw_history history = {0};
    hawser_error error = {0};
    for (size_t i = 0; i < n->count; i++) {
        put_stream(&history, n->logs[i]->name, n->logs[i]->records, n->logs[i]->count);
        free(n->logs[i]);
    }
    check(hw_history_whole(&history, &error), &error);
    return history;
}

static bool one_in(hw_random *random, uint64_t of)
{
    return hw_random_below(random, of) == 0;
}

/* How many seeds are drawn. */
static inline uint64_t seeds_of(uint64_t usual, uint64_t many)
{
    return runs_long() ? many : tried_of(usual);
}

static inline hw_verdict judge(const hw_history *history)
{
    hw_verdict verdict;
    hawser_error error = {0};
    check(hw_history_check(history, &verdict, &error), &error);
    return verdict;
}

/* --------------------------------------------------------------------------------------------------------- replicas ---- */

typedef struct shape {
    hw_replica_spec spec;
    hw_policy policy, own; /* own: by which the unit waits, `policy` or a stricter one */
    uint64_t clocks, epochs;
    bool defers, yields, rebuilds;
} shape;

static shape draw_shape(hw_random *random)
{
    shape s = {.clocks = 2 + hw_random_below(random, 6), .epochs = 1 + hw_random_below(random, 2)};
    uint32_t blocks = 1 + (uint32_t)hw_random_below(random, 4);
    size_t n = 1 + (size_t)hw_random_below(random, one_in(random, 4) ? 1200 : 40);
    s.policy.kind = (hw_policy_kind)hw_random_below(random, 3);
    s.policy.staleness = s.policy.kind == HW_POLICY_SSP ? 1 + hw_random_below(random, 3) : 0;
    s.spec = (hw_replica_spec){.state = (uint32_t)hw_random_below(random, 3),
                               .name = "w",
                               .count = n,
                               .blocks = blocks,
                               .sources = blocks,
                               .rule = {.damping = one_in(random, 2) ? 1 : 0.5, .gain = one_in(random, 2) ? 1 : 3}};
    s.yields = one_in(random, 2);
    switch (hw_random_below(random, 6)) {
    case 0: s.spec.values = true; break;
    case 1:
        s.spec.sources = 1;
        s.spec.source = (uint32_t)hw_random_below(random, blocks);
        break;
    case 2:
        s.spec.filter = (hw_filter){(hw_filter_kind)(1 + hw_random_below(random, 5)), 20 + hw_random_below(random, 60),
                                    1 + hw_random_below(random, 4)};
        break;
    case 3: s.spec.rounding = one_in(random, 2) ? HW_BF16 : HW_INT8; break;
    default: s.defers = one_in(random, 2); break;
    }
    s.rebuilds = !s.spec.values && s.spec.sources == blocks && one_in(random, 3);
    s.own = s.policy;
    if (s.policy.kind != HW_POLICY_BSP && one_in(random, 4))
        s.own = hw_policy_stricter(s.policy, (hw_policy){.kind = HW_POLICY_SSP, .staleness = hw_random_below(random, 3)});
    if (s.own.kind == HW_POLICY_SSP && s.own.staleness == 0)
        s.own.kind = HW_POLICY_BSP;
    return s;
}

static void open_recorded(cluster *c, const shape *s, uint64_t seed, notes *n)
{
    hawser_error error = {0};
    hw_replica_spec spec = s->spec;
    *c = (cluster){.blocks = spec.blocks, .n = spec.count, .policy = s->own, .random = hw_random_at(seed, 78, 0, 0)};
    c->computed = calloc(spec.count + 1, sizeof(double));
    c->magnitude = calloc(spec.count + 1, sizeof(double));
    for (uint32_t b = 0; b < spec.blocks; b++) {
        spec.block = b;
        spec.seed = seed;
        spec.own_begin = spec.values ? spec.count * b / spec.blocks : 0;
        spec.own_end = spec.values ? spec.count * (b + 1) / spec.blocks : 0;
        spec.log = new_log(n, (hw_stream_name){.kind = HW_STREAM_BLOCK, .number = b});
        check(hw_replica_new(&spec, &c->replicas[b], &error), &error);
    }
}

/* What a unit does to entries that are its own to change. */
static void change_some(cluster *c, const shape *s, uint32_t b)
{
    size_t begin = s->spec.values ? c->n * b / c->blocks : 0, end = s->spec.values ? c->n * (b + 1) / c->blocks : c->n;
    if (begin == end || (s->spec.sources == 1 && b != s->spec.source))
        return;
    for (uint64_t k = hw_random_below(&c->random, 6); k > 0; k--)
        cluster_change(c, b, begin + (size_t)hw_random_below(&c->random, end - begin), hw_random_uniform(&c->random) - 0.5);
}

static void end_clock(cluster *c, const shape *s, uint32_t b, bool flush)
{
    bool may = s->defers && !flush && one_in(&c->random, 2);
    if (may && hw_replica_defer(c->replicas[b], c->clock[b], true, 3))
        c->clock[b]++;
    else
        cluster_cut(c, b, true, flush);
    if (!s->defers || !one_in(&c->random, 3))
        return;
    hw_message *message = NULL;
    hawser_error error = {0};
    check(hw_replica_cut_deferred(c->replicas[b], &message, &error), &error);
    cluster_send(c, b, message);
}

static void run_clock_of(cluster *c, const shape *s, uint32_t b)
{
    bool last = c->clock[b] + 1 == s->clocks;
    cluster_merge(c, b);
    change_some(c, s, b);
    if (s->yields && one_in(&c->random, 2)) {
        cluster_cut(c, b, false, false);
        cluster_deliver(c, b);
        cluster_merge(c, b);
        change_some(c, s, b);
    }
    end_clock(c, s, b, last);
}

static void run_epoch(cluster *c, const shape *s)
{
    uint64_t left = s->clocks * c->blocks;
    c->epoch++;
    for (uint32_t b = 0; b < c->blocks; b++) {
        c->clock[b] = 0;
        hw_replica_begin(c->replicas[b], c->epoch, s->policy);
        if (s->own.kind != s->policy.kind || s->own.staleness != s->policy.staleness)
            hw_replica_expect_wait(c->replicas[b], 0, s->own);
    }
    while (left > 0) {
        uint32_t b = (uint32_t)hw_random_below(&c->random, c->blocks);
        if (c->clock[b] == s->clocks || !cluster_ready(c, b) || one_in(&c->random, 3)) {
            cluster_deliver(c, b);
            continue;
        }
        run_clock_of(c, s, b);
        left--;
    }
    cluster_end(c, s->clocks);
}

static void rebuild_all(cluster *c)
{
    c->epoch++;
    for (uint32_t b = 0; b < c->blocks; b++) {
        hw_replica_plain(c->replicas[b], true);
        hw_replica_zero(c->replicas[b]);
        c->clock[b] = 0;
        hw_replica_begin(c->replicas[b], c->epoch, (hw_policy){HW_POLICY_BSP, 0});
        cluster_change(c, b, (size_t)hw_random_below(&c->random, c->n), 1);
        cluster_cut(c, b, true, true);
    }
    cluster_end(c, 1);
    for (uint32_t b = 0; b < c->blocks; b++)
        hw_replica_plain(c->replicas[b], false);
}

static inline hw_history history_of_blocks(uint64_t seed)
{
    hw_random random = hw_random_at(seed, 79, 0, 0);
    shape s = draw_shape(&random);
    notes n = {0};
    cluster c;
    open_recorded(&c, &s, seed, &n);
    for (uint64_t e = 0; e < s.epochs; e++) {
        if (s.rebuilds)
            rebuild_all(&c);
        run_epoch(&c, &s);
    }
    cluster_close(&c);
    return history_of(&n);
}

/* ------------------------------------------------------------------------------------------------------------ store ---- */

enum { WORKERS_MOST = 5, ITERATIONS_MOST = 8, OPEN_MOST = 12, STORE_KEYS = 97 };

/* A worker of a random program: what it has asked for in its iteration. */
typedef struct asker {
    uint32_t number, client;
    uint64_t iteration, tasks[OPEN_MOST];
    size_t open;
    bool read;      /* it has asked for what it reads in this iteration */
    bool over;      /* it has begun it, or the one before, again */
    uint64_t ended; /* clocks, as far as the others know */
    uint64_t keys[OPEN_MOST][STORE_KEYS];
    double values[OPEN_MOST][STORE_KEYS], out[OPEN_MOST][STORE_KEYS];
} asker;

typedef struct market {
    world *w;
    uint32_t workers, table;
    uint64_t iterations, cuts[WORKERS_MOST + 1], delay, staleness;
    bool over;       /* a worker does its iteration over, where all orders are gone through */
    uint32_t policy; /* of a program's loops over the table */
    uint64_t loop;   /* its first iteration */
    hw_log *blocks[WORKERS_MOST];
    asker *askers;
    hw_table_spec spec;
} market;

static bool all_ended(const market *m, const asker *a)
{
    for (size_t i = 0; i < a->open; i++)
        if (!hw_client_ended(m->w->client[a->client], a->tasks[i]))
            return false;
    return true;
}

static void ask(market *m, asker *a, hw_order order)
{
    order.table = m->table;
    order.worker = a->number;
    a->tasks[a->open++] = submit(m->w, a->client, order);
}

/* An order over keys first..last, as a range or as a list of some of them. */
static hw_order order_on(market *m, asker *a, uint64_t first, uint64_t last, bool whole)
{
    hw_order order = {.first = first, .last = last};
    uint64_t *keys = a->keys[a->open];
    for (size_t i = 0; i < STORE_KEYS; i++)
        a->values[a->open][i] = hw_random_uniform(&m->w->random);
    if (!m->spec.sparse && (whole || one_in(&m->w->random, 2)))
        return order;
    for (uint64_t key = first; key <= last; key++)
        if (whole || one_in(&m->w->random, 2) || (key == last && order.count == 0))
            keys[order.count++] = key;
    order.keys = keys;
    return order;
}

/* Reads some chunks of an iteration again, which is done over. */
static void read_again(market *m, asker *a, uint64_t iteration)
{
    a->open = 0;
    for (uint64_t n = 1 + hw_random_below(&m->w->random, 4); n > 0; n--) {
        uint32_t j = (uint32_t)hw_random_below(&m->w->random, m->workers);
        hw_order order = order_on(m, a, m->cuts[j], m->cuts[j + 1] - 1, !one_in(&m->w->random, 4));
        order.operation = HW_PULL;
        order.clock = iteration;
        order.reread = true;
        order.out = a->out[a->open];
        ask(m, a, order);
    }
}

static void write_chunk(market *m, asker *a, uint64_t iteration)
{
    hw_order order = order_on(m, a, m->cuts[a->number], m->cuts[a->number + 1] - 1, true);
    order.operation = HW_PUSH;
    order.clock = iteration;
    order.values = a->values[a->open];
    ask(m, a, order);
}

/* Its last iteration, or by mistake one before, which is refused; what it has written it may write again. */
static bool begins_over(market *m, asker *a)
{
    hw_random *random = &m->w->random;
    if (a->read ? !one_in(random, 4) : a->iteration == 0 || !one_in(random, 3))
        return false;
    uint64_t iteration = a->iteration - !a->read;
    if (a->over && !a->read && one_in(random, 2))
        write_chunk(m, a, iteration);
    else
        read_again(m, a, iteration - (iteration > 0 && one_in(random, 6)));
    a->over = true;
    return true;
}

/* Reads all chunks, or says that it has; when what it reads has come, writes its own. */
static void step_centric(market *m, asker *a)
{
    if (begins_over(m, a))
        return;
    a->over = false;
    if (!a->read) {
        a->open = 0;
        for (uint32_t j = 0; j < m->workers; j++) {
            uint64_t first = m->cuts[j], last = m->cuts[j + 1] - 1;
            hw_order order = order_on(m, a, first, last, !one_in(&m->w->random, 4));
            order.clock = a->iteration;
            order.operation = one_in(&m->w->random, 6) ? HW_CLOCK : HW_PULL;
            order.out = order.operation == HW_PULL ? a->out[a->open] : NULL;
            if (order.operation == HW_CLOCK || order.keys != NULL)
                order.first = first, order.last = last;
            if (order.operation == HW_CLOCK)
                order.keys = NULL, order.count = 0;
            ask(m, a, order);
        }
        /* A list reads some keys only: for the rest of the chunk the iteration has to end. */
        for (uint32_t j = 0; j < m->workers; j++)
            ask(m, a,
                (hw_order){.operation = HW_CLOCK, .clock = a->iteration, .first = m->cuts[j], .last = m->cuts[j + 1] - 1});
        a->read = true;
        return;
    }
    write_chunk(m, a, a->iteration);
    a->read = false;
    a->iteration++;
}

/* Pushes and pulls on keys of a few lists, then ends its clock. */
static void step_stale(market *m, asker *a)
{
    a->open = 0;
    for (uint64_t k = 1 + hw_random_below(&m->w->random, 5); k > 0; k--) {
        uint64_t first = hw_random_below(&m->w->random, STORE_KEYS),
                 last = first + hw_random_below(&m->w->random, STORE_KEYS - first);
        hw_order order = order_on(m, a, first, last, one_in(&m->w->random, 3));
        order.operation = (hw_operation)(HW_PUSH + hw_random_below(&m->w->random, 3));
        order.values = order.operation != HW_PULL ? a->values[a->open] : NULL;
        order.out = order.operation != HW_PUSH ? a->out[a->open] : NULL;
        if (order.operation == HW_PULL && a->iteration > m->staleness)
            order.least = a->iteration - m->staleness;
        ask(m, a, order);
    }
    ask(m, a, (hw_order){.operation = HW_CLOCK, .clock = a->iteration, .first = m->spec.first, .last = m->spec.last});
    a->iteration++;
}

/* A clock of a program's loop: reads everything (under bounded delay for the next clock too), then changes some of it. */
static void step_loop(market *m, asker *a)
{
    hw_random *random = &m->w->random;
    if (!a->read) {
        bool there = m->policy == HW_EVENT_DELAY && a->iteration > m->loop;
        a->open = 0;
        for (uint64_t ahead = there ? 1 : 0; ahead < 1 + (m->policy == HW_EVENT_DELAY); ahead++) {
            hw_order order = order_on(m, a, m->spec.first, m->spec.last, true);
            order.operation = HW_PULL;
            order.clock = a->iteration + ahead;
            order.out = a->out[a->open];
            ask(m, a, order);
        }
        a->read = true;
        return;
    }
    for (uint64_t k = 1 + hw_random_below(random, 2); k > 0; k--) {
        uint64_t first = hw_random_below(random, STORE_KEYS), last = first + hw_random_below(random, STORE_KEYS - first);
        hw_order order = order_on(m, a, first, last, one_in(random, 3));
        order.operation = HW_PUSH;
        order.clock = a->iteration;
        order.values = a->values[a->open];
        ask(m, a, order);
    }
    a->read = false;
    a->iteration++;
}

/* May a worker's next clock begin? */
static bool may_begin(const market *m, const asker *a)
{
    uint64_t lead = m->policy == HW_EVENT_DELAY ? m->staleness - 1 : m->staleness;
    for (uint32_t j = 0; j < m->workers && m->policy != HW_EVENT_TAP; j++)
        if (m->askers[j].ended + lead < a->iteration)
            return false;
    return true;
}

static void draw_market(market *m, hw_random *random, bool centric)
{
    m->workers = 1 + (uint32_t)hw_random_below(random, WORKERS_MOST - 1);
    m->iterations = 2 + hw_random_below(random, ITERATIONS_MOST - 2);
    m->delay = one_in(random, 6) ? UINT64_MAX : hw_random_below(random, 4);
    m->staleness = hw_random_below(random, 3);
    m->spec = spec_of("t", HW_VALUE_F64, 1, !centric && one_in(random, 3), 0, STORE_KEYS - 1);
    if (m->spec.sparse)
        m->spec.last = UINT64_MAX;
    m->spec.function = hw_function_find(centric || one_in(random, 3) ? "assign" : "add");
    m->spec.centric = centric;
    m->spec.delay = centric ? m->delay : 0;
    m->cuts[0] = 0;
    for (uint32_t j = 1; j <= m->workers; j++)
        m->cuts[j] = j == m->workers ? STORE_KEYS : STORE_KEYS * j / m->workers + hw_random_below(random, 10);
}

static void open_market(market *m, hw_random *random, uint64_t seed, uint32_t clients, size_t list_bytes, notes *n)
{
    m->w = open_world_of((world_shape){.seed = seed,
                                       .servers = 1 + (uint32_t)hw_random_below(random, 3),
                                       .clients = clients,
                                       .workers = m->workers,
                                       .list_bytes = list_bytes,
                                       .note = new_log,
                                       .notes = n});
    m->table = create(m->w, m->spec);
    for (size_t i = 0; i < n->count; i++)
        if (n->logs[i]->name.kind == HW_STREAM_CLIENT)
            hw_note_table(n->logs[i], &m->spec, m->table, m->spec.first, m->spec.last, m->workers);
    m->askers = calloc(m->workers, sizeof *m->askers);
    for (uint32_t j = 0; j < m->workers; j++)
        m->askers[j].number = j, m->askers[j].client = j % clients;
}

static void open_tables(market *m, hw_random *random, uint64_t seed, bool centric, notes *n)
{
    draw_market(m, random, centric);
    uint32_t clients = 1 + (uint32_t)hw_random_below(random, CLIENTS_MOST);
    open_market(m, random, seed, clients < m->workers ? clients : m->workers, one_in(random, 2) ? 1500 : 0, n);
}

static inline hw_history history_of_tables(uint64_t seed, bool centric)
{
    hw_random random = hw_random_at(seed, 80, 0, 0);
    notes n = {0};
    market m = {0};
    open_tables(&m, &random, seed, centric, &n);
    for (uint64_t left = m.workers; left > 0;) {
        asker *a = &m.askers[hw_random_below(&random, m.workers)];
        bool over = a->iteration >= m.iterations;
        if (over || !all_ended(&m, a) || one_in(&random, 2)) {
            step(m.w);
            continue;
        }
        (centric ? step_centric : step_stale)(&m, a);
        left -= a->iteration >= m.iterations;
    }
    while (step(m.w))
        continue;
    free(m.askers);
    close_world(m.w);
    return history_of(&n);
}

/* Begins a loop of all workers under a policy drawn. */
static void begin_loop(market *m, uint64_t epoch)
{
    hw_random *random = &m->w->random;
    m->policy = (uint32_t)hw_random_below(random, 4);
    m->staleness = m->policy == HW_EVENT_BSP || m->policy == HW_EVENT_TAP ? 0 : 1 + hw_random_below(random, 3);
    m->loop = m->askers[0].iteration;
    for (uint32_t j = 0; j < m->workers; j++)
        hw_log_put(m->blocks[j], &(hw_event_record){.kind = HW_EVENT_TURN,
                                                    .flags = HW_EVENT_MOVES,
                                                    .object = m->table,
                                                    .actor = j,
                                                    .part = m->policy,
                                                    .epoch = epoch,
                                                    .clock = m->loop,
                                                    .count = m->staleness});
}

static void run_loop(market *m, hw_random *random)
{
    uint64_t end = m->loop + m->iterations;
    for (uint32_t left = m->workers; left > 0;) {
        asker *a = &m->askers[hw_random_below(random, m->workers)];
        bool all = all_ended(m, a);
        if (all && !a->read && a->ended < a->iteration) {
            a->ended = a->iteration;
            left -= a->ended == end;
        }
        if (!all || a->iteration == end || (!a->read && !may_begin(m, a)) || one_in(random, 2))
            step(m->w);
        else
            step_loop(m, a);
    }
}

/* A program's loops over a stored state that all add to, with a filter or rounding on the way. */
static void open_loops(market *m, hw_random *random, uint64_t seed, notes *n)
{
    *m = (market){.workers = 1 + (uint32_t)hw_random_below(random, WORKERS_MOST - 1), .iterations = 2 + seed % 5};
    uint32_t clients = 1 + (uint32_t)hw_random_below(random, m->workers < CLIENTS_MOST ? m->workers : CLIENTS_MOST);
    hw_table_spec *spec = &m->spec;
    *spec = spec_of("t", HW_VALUE_F64, 1, false, 0, STORE_KEYS - 1);
    spec->filter = (hw_filter_of)(HW_PASS_ALL + (int)hw_random_below(random, 4));
    spec->level = spec->filter == HW_PASS_RANDOM ? 0.4 : 0.7;
    spec->rounding = one_in(random, 3) ? HW_BF16 : HW_F64;
    spec->function = hw_function_find(spec->filter == HW_PASS_KKT ? "proximal" : "add");
    if (spec->filter == HW_PASS_KKT)
        spec->parameters[0] = 0.1, spec->parameters[1] = 1.5, spec->parameters[3] = -9, spec->parameters[4] = 9;
    open_market(m, random, seed, clients, 0, n);
    for (uint32_t j = 0; j < m->workers; j++)
        m->blocks[j] = new_log(n, (hw_stream_name){.kind = HW_STREAM_BLOCK, .number = j});
}

static inline hw_history history_of_loops(uint64_t seed)
{
    hw_random random = hw_random_at(seed, 82, 0, 0);
    notes n = {0};
    market m;
    open_loops(&m, &random, seed, &n);
    uint32_t clients = m.w->clients;
    for (uint64_t loops = 1 + hw_random_below(&random, 3), epoch = 0; epoch < loops; epoch++) {
        begin_loop(&m, epoch);
        run_loop(&m, &random);
    }
    for (uint32_t c = 0; c < clients && (m.spec.filter != HW_PASS_ALL || m.spec.rounding != HW_F64); c++) {
        m.askers[0].client = c, m.askers[0].open = 0;
        ask(&m, &m.askers[0], (hw_order){.operation = HW_PUSH, .rest = true, .clock = m.askers[0].iteration});
    }
    while (step(m.w))
        continue;
    free(m.askers);
    close_world(m.w);
    return history_of(&n);
}

static inline hw_history draw_history(uint64_t seed)
{
    switch (seed % 4) {
    case 0: return history_of_blocks(seed);
    case 1: return history_of_tables(seed, true);
    case 2: return history_of_tables(seed, false);
    default: return history_of_loops(seed);
    }
}

#endif
