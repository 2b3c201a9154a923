/*
 * exchange_relays.h - blocks on the nodes of a tree or of servers, whose updates relays send on (exchange/combined.h), for
 * tests. A seed draws the job, and a network that keeps only the order of messages from one block to another.
 */
#ifndef HW_TESTS_EXCHANGE_RELAYS_H
#define HW_TESTS_EXCHANGE_RELAYS_H

#include "exchange_cluster.h"

#include "exchange/combined.h"
#include "exchange/numbers.h"

enum { ENTRIES = 3 * 512 + 7 };

typedef struct relays_setup {
    hw_adding_shape shape;
    uint32_t home[MOST_BLOCKS], blocks, nodes;
    hw_policy policy;
    uint64_t clocks;
    unsigned parts, defers; /* one clock of so many is cut in parts, or deferred; 0: none */
    unsigned idle;          /* a block that has taken messages sends on one time of so many */
    hw_replica_spec spec;
    hw_log *logs[MOST_BLOCKS]; /* for a history; NULL: none */
} relays_setup;

typedef struct relays {
    relays_setup how;
    hw_replica *replicas[MOST_BLOCKS];
    hw_adding *adding[MOST_BLOCKS];
    link_queue links[MOST_BLOCKS][MOST_BLOCKS]; /* [destination][source] */
    uint64_t clock[MOST_BLOCKS];
    hw_random random;
    bool in_step; /* the epoch is under bsp */
    int64_t total[ENTRIES];
    uint64_t messages, sums, updates; /* combined messages between nodes, those with several updates, and their updates */
} relays;

static inline void lay_out(relays_setup *how, uint32_t blocks, hw_random *random)
{
    how->blocks = blocks;
    how->nodes = 1;
    for (uint32_t b = 1; b < blocks; b++) {
        how->nodes += b + 1 == blocks && how->nodes == 1 ? 1 : (uint32_t)hw_random_below(random, 2);
        how->home[b] = how->nodes - 1;
    }
}

static inline relays_setup draw_relays(uint64_t seed)
{
    static const hawser_type types[] = {HAWSER_F64, HAWSER_F32, HAWSER_I64, HAWSER_I32};
    hw_random random = hw_random_at(seed, 5, 0, 0);
    relays_setup how = {0};
    lay_out(&how, 2 + (uint32_t)hw_random_below(&random, MOST_BLOCKS - 1), &random);
    how.shape.kind = hw_random_below(&random, 2) > 0 ? HW_ADDING_TREE : HW_ADDING_SERVERS;
    how.shape.servers = 1 + (uint32_t)hw_random_below(&random, how.nodes);
    how.policy = hw_random_below(&random, 3) == 0 ? (hw_policy){HW_POLICY_TAP, 0}
                                                  : (hw_policy){HW_POLICY_SSP, 1 + hw_random_below(&random, 3)};
    how.clocks = 3 + hw_random_below(&random, 12);
    how.parts = hw_random_below(&random, 3) == 0 ? 2 : 0;
    how.defers = hw_random_below(&random, 3) == 0 ? 3 : 0;
    how.idle = 1 + (unsigned)hw_random_below(&random, 6);
    how.spec = plain_spec(how.blocks, hw_random_below(&random, 3) == 0 ? 40 : ENTRIES);
    how.spec.type = types[hw_random_below(&random, 4)];
    how.spec.state = (uint32_t)hw_random_below(&random, 4);
    how.spec.rounding = how.spec.type == HAWSER_F64 && hw_random_below(&random, 3) == 0 ? HW_BF16 : HW_F64;
    return how;
}

static inline void open_relays(relays *w, const relays_setup *how, uint64_t seed)
{
    hawser_error error = {0};
    *w = (relays){.how = *how, .random = hw_random_at(seed, 3, 0, 0)};
    const hw_view view = {HW_VIEW_FIRST, how->blocks, how->nodes, w->how.home};
    for (uint32_t b = 0; b < how->blocks; b++) {
        hw_replica_spec spec = how->spec;
        spec.block = b;
        spec.log = how->logs[b];
        check(hw_adding_new(how->shape, &view, b, spec.state, spec.count, &w->adding[b], &error), &error);
        spec.adding = w->adding[b];
        check(hw_replica_new(&spec, &w->replicas[b], &error), &error);
    }
}

static inline void close_relays(relays *w)
{
    for (uint32_t b = 0; b < w->how.blocks; b++) {
        for (uint32_t s = 0; s < w->how.blocks; s++)
            while (w->links[b][s].first != NULL)
                hw_message_free(link_take(&w->links[b][s]));
        hw_replica_free(w->replicas[b]);
        hw_adding_free(w->adding[b]);
    }
}

/* A combined message goes to all blocks of one other node, which must be linked with the sender's. */
static inline void deliver_one(relays *w, uint32_t from, hw_message *message)
{
    const hw_envelope *envelope = &message->envelope;
    const uint32_t *home = w->how.home;
    bool combined = envelope->kind == HW_MESSAGE_COMBINED;
    if (combined) {
        assert_true(envelope->destination < w->how.blocks && home[envelope->destination] != home[from]);
        w->messages++;
        w->sums += envelope->covers > 1;
        w->updates += envelope->covers;
    } else {
        assert_true(w->in_step || envelope->destination == HW_TO_LOCAL);
    }
    for (uint32_t to = 0; to < w->how.blocks; to++) {
        bool gets = combined ? home[to] == home[envelope->destination] : is_for(message, home, from, to);
        if (gets)
            link_send(&w->links[to][from], message)->envelope.source = from;
    }
    hw_message_free(message);
}

static inline void send_all(relays *w, uint32_t from, hw_message *message)
{
    for (; message != NULL; message = hw_replica_next(w->replicas[from]))
        deliver_one(w, from, message);
}

static inline void send_on(relays *w, uint32_t b)
{
    hawser_error error = {0};
    check(hw_replica_send_waiting(w->replicas[b], NULL, NULL, &error), &error);
    assert_false(hw_replica_waits(w->replicas[b]));
    send_all(w, b, hw_replica_next(w->replicas[b]));
}

static inline bool receive_one(relays *w, uint32_t b)
{
    hawser_error error = {0};
    uint32_t start = (uint32_t)hw_random_below(&w->random, w->how.blocks);
    for (uint32_t i = 0; i < w->how.blocks; i++) {
        hw_message *message = link_take(&w->links[b][(start + i) % w->how.blocks]);
        if (message == NULL)
            continue;
        check(hw_replica_accept(w->replicas[b], message, &error), &error);
        send_all(w, b, hw_replica_next(w->replicas[b])); /* of a full list */
        if (hw_random_below(&w->random, w->how.idle) == 0)
            send_on(w, b);
        return true;
    }
    return false;
}

static inline double entry_of(const relays *w, const void *values, size_t i)
{
    return hw_numbers_of(w->how.spec.type)->load(values, i);
}

static inline void change_entry(relays *w, uint32_t b, size_t i, int64_t by)
{
    void *cache = hw_replica_cache(w->replicas[b]);
    switch (w->how.spec.type) {
    case HAWSER_F64: ((double *)cache)[i] += (double)by; break;
    case HAWSER_F32: ((float *)cache)[i] += (float)by; break;
    case HAWSER_I64: ((int64_t *)cache)[i] += by; break;
    case HAWSER_I32: ((int32_t *)cache)[i] += (int32_t)by; break;
    }
    w->total[i] += by;
}

static inline void change_some_entries(relays *w, uint32_t b)
{
    size_t n = w->how.spec.count;
    bool dense = hw_random_below(&w->random, 4) == 0;
    for (size_t k = dense ? n : (size_t)hw_random_below(&w->random, 6); k > 0; k--)
        change_entry(w, b, dense ? k - 1 : (size_t)hw_random_below(&w->random, n),
                     (int64_t)hw_random_below(&w->random, 7) - 3);
}

static inline void run_relays_clock(relays *w, uint32_t b, bool flush)
{
    hawser_error error = {0};
    hw_message *message;
    hw_replica *replica = w->replicas[b];
    check(hw_replica_merge(replica, w->clock[b], &error), &error);
    if (w->how.parts > 0 && hw_random_below(&w->random, w->how.parts) == 0 && !flush) {
        change_some_entries(w, b);
        check(hw_replica_cut(replica, w->clock[b], false, false, &message, &error), &error);
        send_all(w, b, message != NULL ? message : hw_replica_next(replica));
    }
    if (!flush)
        change_some_entries(w, b);
    bool defers = w->how.defers > 0 && hw_random_below(&w->random, w->how.defers) == 0 && !flush;
    if (!defers || !hw_replica_defer(replica, w->clock[b], true, 2)) {
        check(hw_replica_cut(replica, w->clock[b], true, flush, &message, &error), &error);
        send_all(w, b, message != NULL ? message : hw_replica_next(replica));
    }
    w->clock[b]++;
}

/* Sends what other blocks may wait for, as the runtime does before a block waits. */
static inline void before_a_wait(relays *w, uint32_t b)
{
    hawser_error error = {0};
    hw_message *message;
    check(hw_replica_cut_deferred(w->replicas[b], &message, &error), &error);
    send_all(w, b, message != NULL ? message : hw_replica_next(w->replicas[b]));
    send_on(w, b);
}

static inline void run_relays(relays *w, uint64_t epoch, hw_policy policy)
{
    hawser_error error = {0};
    uint32_t blocks = w->how.blocks, ended = 0;
    uint64_t clocks = w->how.clocks + 1; /* the last one flushes */
    bool over[MOST_BLOCKS] = {false}, begun[MOST_BLOCKS] = {false};
    memset(w->clock, 0, sizeof w->clock);
    w->in_step = policy.kind == HW_POLICY_BSP;
    for (uint64_t steps = 0; ended < blocks; steps++) {
        uint32_t b = (uint32_t)hw_random_below(&w->random, blocks);
        assert_true(steps < 1000000);
        if (hw_random_below(&w->random, 3) > 0 && receive_one(w, b))
            continue;
        if (!begun[b]) {
            hw_replica_begin(w->replicas[b], epoch, policy);
            send_all(w, b, hw_replica_next(w->replicas[b]));
            begun[b] = true;
        }
        if (over[b])
            continue;
        const hw_clock_table *in = hw_replica_clocks(w->replicas[b]);
        if (w->clock[b] == clocks && hw_clock_table_least(in) == clocks) {
            send_on(w, b);
            check(hw_replica_end(w->replicas[b], clocks, &error), &error);
            over[b] = true;
            ended++;
        } else if (w->clock[b] < clocks && hw_admit_read(policy, in, w->clock[b])) {
            if (w->clock[b] + 1 == clocks)
                before_a_wait(w, b);
            assert_true(hw_ssp_holds(policy, in, w->clock[b]));
            run_relays_clock(w, b, w->clock[b] + 1 == clocks);
        } else {
            before_a_wait(w, b);
        }
    }
}

static inline void check_totals(const relays *w)
{
    for (uint32_t b = 0; b < w->how.blocks; b++)
        for (size_t i = 0; i < w->how.spec.count; i++)
            if (entry_of(w, hw_replica_base(w->replicas[b]), i) != (double)w->total[i])
                fail_msg("block %u, entry %zu: %g and not %lld", b, i, entry_of(w, hw_replica_base(w->replicas[b]), i),
                         (long long)w->total[i]);
    for (uint32_t to = 0; to < w->how.blocks; to++)
        for (uint32_t from = 0; from < w->how.blocks; from++)
            assert_null(w->links[to][from].first);
}

#endif
