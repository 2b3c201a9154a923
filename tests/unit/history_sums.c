/*
 * Histories of replicas whose updates are added up on their way (exchange/adding.h), within nodes, along a tree and at
 * servers: honest ones are taken, and refused is each in which a sum lacks an update that it should have, has one twice, or
 * is another than its addends come to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history_spots.h"

/* ----------------------------------------------------------------------------------------------------------- honest ---- */

/* Blocks on nodes; what is under way is the cluster's. */
typedef struct summing {
    cluster c;
    uint32_t home[MOST_BLOCKS];
    hw_adding *adding[MOST_BLOCKS];
    uint64_t clocks;
    bool alone, yields; /* one block alone changes something in a clock; some cut a clock in two parts */
} summing;

static void send_on(summing *s, uint32_t from, hw_message *message)
{
    cluster *c = &s->c;
    for (; message != NULL; message = hw_replica_next(c->replicas[from])) {
        for (uint32_t to = 0; to < c->blocks; to++)
            if (is_for(message, s->home, from, to))
                link_send(&c->links[to][from], message)->envelope.source = from;
        hw_message_free(message);
    }
}

static bool receive(summing *s, uint32_t b)
{
    bool some = cluster_deliver(&s->c, b);
    send_on(s, b, hw_replica_next(s->c.replicas[b]));
    return some;
}

static void open_summing(summing *s, uint64_t seed, notes *n)
{
    hw_random random = hw_random_at(seed, 83, 0, 0);
    hawser_error error = {0};
    uint32_t blocks = 2 + (uint32_t)hw_random_below(&random, MOST_BLOCKS - 1), nodes = 1;
    for (uint32_t b = 1; b < blocks; b++) {
        nodes += b + 1 == blocks && nodes == 1 ? 1 : (uint32_t)hw_random_below(&random, 2);
        s->home[b] = nodes - 1;
    }
    const hw_adding_shape adding = {(hw_adding_kind)hw_random_below(&random, 3),
                                    1 + (uint32_t)hw_random_below(&random, nodes)};
    hw_replica_spec spec = {.state = (uint32_t)hw_random_below(&random, 3),
                            .name = "w",
                            .count = one_in(&random, 3) ? 40 : 3 * 512 + 7, /* short states have one range */
                            .blocks = blocks,
                            .sources = blocks,
                            .rule = {.damping = 0.5, .gain = 2}};
    s->clocks = 2 + hw_random_below(&random, 4);
    s->alone = one_in(&random, 2);
    s->yields = one_in(&random, 3);
    s->c = (cluster){.blocks = blocks, .n = spec.count, .random = hw_random_at(seed, 84, 0, 0)};
    s->c.policy.kind = HW_POLICY_BSP;
    s->c.computed = calloc(spec.count, sizeof(double));
    s->c.magnitude = calloc(spec.count, sizeof(double));
    const hw_view view = {HW_VIEW_FIRST, blocks, nodes, s->home};
    for (uint32_t b = 0; b < blocks; b++) {
        spec.block = b;
        spec.seed = seed;
        spec.log = new_log(n, (hw_stream_name){.kind = HW_STREAM_BLOCK, .number = b});
        check(hw_adding_new(adding, &view, b, spec.state, spec.count, &s->adding[b], &error), &error);
        spec.adding = s->adding[b];
        check(hw_replica_new(&spec, &s->c.replicas[b], &error), &error);
    }
}

/* What changes bits and no number. */
static void change_a_sign(cluster *c, uint32_t b)
{
    size_t i = (size_t)hw_random_below(&c->random, c->n);
    double *at = cache_of(c->replicas[b]) + i;
    if (*at == 0.0)
        *at = -*at;
    hw_replica_touch(c->replicas[b], i, 1);
}

static void cut_part(summing *s, uint32_t b, bool last)
{
    cluster *c = &s->c;
    hawser_error error = {0};
    hw_message *message;
    bool changes = !s->alone || c->clock[b] % c->blocks == b;
    for (uint64_t k = changes ? 1 + hw_random_below(&c->random, 5) : 0; k > 0; k--)
        cluster_change(c, b, (size_t)hw_random_below(&c->random, c->n), hw_random_uniform(&c->random) - 0.5);
    if (changes && one_in(&c->random, 2))
        change_a_sign(c, b);
    check(hw_replica_cut(c->replicas[b], c->clock[b], last, false, &message, &error), &error);
    send_on(s, b, message != NULL ? message : hw_replica_next(c->replicas[b]));
}

static void run_summing(summing *s, uint64_t epoch)
{
    cluster *c = &s->c;
    hawser_error error = {0};
    for (uint32_t b = 0; b < c->blocks; b++) {
        c->clock[b] = 0;
        hw_replica_begin(c->replicas[b], epoch, c->policy);
    }
    for (uint64_t left = s->clocks * c->blocks; left > 0;) {
        uint32_t b = (uint32_t)hw_random_below(&c->random, c->blocks);
        if (c->clock[b] == s->clocks || !cluster_ready(c, b) || one_in(&c->random, 3)) {
            receive(s, b);
            continue;
        }
        cluster_merge(c, b);
        if (s->yields && one_in(&c->random, 4))
            cut_part(s, b, false);
        cut_part(s, b, true);
        c->clock[b]++;
        left--;
    }
    for (bool some = true; some;) {
        some = false;
        for (uint32_t b = 0; b < c->blocks; b++)
            some |= receive(s, b);
    }
    for (uint32_t b = 0; b < c->blocks; b++)
        check(hw_replica_end(c->replicas[b], s->clocks, &error), &error);
}

static hw_history history_of_sums(uint64_t seed)
{
    summing s = {0};
    notes n = {0};
    open_summing(&s, seed, &n);
    for (uint64_t epoch = 1; epoch < 3; epoch++)
        run_summing(&s, epoch);
    uint32_t blocks = s.c.blocks;
    cluster_close(&s.c);
    for (uint32_t b = 0; b < blocks; b++)
        hw_adding_free(s.adding[b]);
    return history_of(&n);
}

/* ------------------------------------------------------------------------------------------------------------ wrong ---- */

static bool is_sum(const hw_history *history, spot s)
{
    (void)history;
    return record_at(s)->covers > 1 || record_at(s)->range > 0;
}

static bool of_several(const hw_history *history, spot s)
{
    (void)history;
    return record_at(s)->covers > 1;
}

static bool dropped_sum(hw_history *history, hw_random *random)
{
    return dropped(history, random, HW_EVENT_SEEN, is_sum);
}

static bool repeated_sum(hw_history *history, hw_random *random)
{
    return repeated(history, random, HW_EVENT_SEEN, is_sum);
}

/* The last of its blocks is another's than the reader's own, of which no message need tell it. */
static bool ends_in_another(const hw_history *history, spot s)
{
    const hw_event_record *r = record_at(s);
    return of_several(history, s) && r->from + r->covers - 1 != r->actor;
}

static bool lacks_a_block(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, ends_in_another);
    if (s.stream == NULL)
        return false;
    record_at(s)->covers--;
    return true;
}

static bool is_followed_by_another(const hw_history *history, spot s)
{
    const hw_event_record *r = record_at(s);
    return is_sum(history, s) && r->from + r->covers < state_of(s)->part && r->from + r->covers != r->actor;
}

static bool has_a_block_more(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, is_followed_by_another);
    if (s.stream == NULL)
        return false;
    record_at(s)->covers++;
    return true;
}

static const hw_event_record *write_of(const hw_history *history, uint32_t block, const hw_event_record *seen)
{
    const hw_stream *stream = hw_history_stream(history, HW_STREAM_BLOCK, 0, block);
    for (size_t i = 0; i < stream->count; i++) {
        const hw_event_record *r = &stream->records[i];
        if (r->kind == HW_EVENT_WRITE && r->epoch == seen->epoch && r->clock == seen->clock && (r->flags & HW_EVENT_LAST))
            return r;
    }
    fail_msg("block %u has no clock %llu", block, (unsigned long long)seen->clock);
    return NULL;
}

/* The update of a block that is in a sum comes by itself as well: before it, or behind. */
static bool comes_alone_too(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, of_several);
    if (s.stream == NULL)
        return false;
    hw_event_record leaf = *record_at(s);
    leaf.from += (uint32_t)hw_random_below(random, leaf.covers);
    if (leaf.from == leaf.actor)
        return false;
    const hw_event_record *written = write_of(history, leaf.from, &leaf);
    if (written->part != 0)
        return false;
    leaf.covers = 1;
    leaf.range = 0;
    leaf.count = written->count;
    leaf.digest = written->digest;
    s.at += one_in(random, 2);
    insert(s, leaf);
    return true;
}

static bool is_same_sum(const hw_event_record *a, const hw_event_record *b)
{
    return a->kind == b->kind && a->object == b->object && a->epoch == b->epoch && a->clock == b->clock &&
           a->from == b->from && a->covers == b->covers && a->range == b->range;
}

static bool another_sees_it(const hw_history *history, spot s)
{
    if (!is_sum(history, s))
        return false;
    for (size_t k = 0; k < history->count; k++)
        for (size_t i = 0; i < history->streams[k].count; i++)
            if (&history->streams[k] != s.stream && is_same_sum(&history->streams[k].records[i], record_at(s)))
                return true;
    return false;
}

static bool seen_differently(hw_history *history, hw_random *random)
{
    return other_digest(history, random, HW_EVENT_SEEN, another_sees_it);
}

/* One of its addends alone changes anything: whatever the order of the additions, the sum has its bits. */
static bool has_one_addend(const hw_history *history, spot s)
{
    const hw_event_record *r = record_at(s);
    unsigned some = 0;
    for (uint32_t j = r->from; is_sum(history, s) && j < r->from + r->covers; j++) {
        const hw_event_record *written = write_of(history, j, r);
        some += written->digest != 0 || written->part != 0 ? 1 : 0;
        if (written->part != 0)
            return false;
    }
    return some == 1 && is_sum(history, s);
}

/* The adder leaves the update out, or adds it twice, and sends the same to all nodes. */
static bool wrong_for_all(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, has_one_addend);
    if (s.stream == NULL)
        return false;
    const hw_event_record like = *record_at(s);
    bool leaves_out = one_in(random, 2) && like.digest != 0;
    uint64_t other = leaves_out ? 0 : hw_random_next(random);
    for (size_t k = 0; k < history->count; k++)
        for (size_t i = 0; i < history->streams[k].count; i++) {
            hw_event_record *r = &history->streams[k].records[i];
            if (!is_same_sum(r, &like))
                continue;
            r->digest = other;
            r->count = leaves_out ? 0 : r->count;
        }
    return true;
}

static const mutant mutants[] = {
    {"dropped sum", dropped_sum, {HW_RULE_ONCE, HW_RULE_BSP, HW_RULE_VALUE, HW_RULES}},
    {"repeated sum", repeated_sum, {HW_RULE_ONCE, HW_RULES}},
    {"sum without its last block", lacks_a_block, {HW_RULE_ONCE, HW_RULE_BSP, HW_RULE_VALUE, HW_RULE_RECORD, HW_RULES}},
    {"sum with a block more", has_a_block_more, {HW_RULE_ONCE, HW_RULE_TIMESTAMPS, HW_RULE_BSP, HW_RULES}},
    {"update alone and in a sum", comes_alone_too, {HW_RULE_ONCE, HW_RULES}},
    {"sum seen differently", seen_differently, {HW_RULE_VALUE, HW_RULES}},
    {"sum that is wrong for all", wrong_for_all, {HW_RULE_VALUE, HW_RULES}},
};
enum { MUTANTS = sizeof mutants / sizeof *mutants };

static void honest_sums_are_accepted(void **state)
{
    (void)state;
    size_t sums = 0, ranges = 0;
    uint64_t seeds = seeds_of(1000, 10000);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        hw_history history = history_of_sums(seed);
        hw_verdict verdict = judge(&history);
        if (verdict.broken) {
            hw_verdict_print(&verdict, &history, stderr);
            fail_msg("seed %llu", (unsigned long long)seed);
        }
        for (size_t s = 0; s < history.count; s++)
            for (size_t i = 0; i < history.streams[s].count; i++) {
                sums += history.streams[s].records[i].kind == HW_EVENT_SEEN && history.streams[s].records[i].covers > 1;
                ranges += history.streams[s].records[i].kind == HW_EVENT_SEEN && history.streams[s].records[i].range > 0;
            }
        hw_history_free(&history);
    }
    assert_true(sums > 1000 && ranges > 1000);
}

static void every_mutant_is_refused(void **state)
{
    (void)state;
    size_t made[MUTANTS] = {0};
    uint64_t seeds = seeds_of(1000, 10000);
    for (uint64_t seed = 0; seed < seeds; seed++)
        for (size_t m = 0; m < MUTANTS; m++) {
            hw_random random = hw_random_at(seed, 85, m, 0);
            hw_history history = history_of_sums(seed);
            if (mutants[m].make(&history, &random)) {
                must_refuse(&history, &mutants[m], seed);
                made[m]++;
            }
            hw_history_free(&history);
        }
    for (size_t m = 0; m < MUTANTS; m++)
        if (made[m] < 100)
            fail_msg("only %zu of '%s' were made", made[m], mutants[m].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_sums_are_accepted),
        cmocka_unit_test(every_mutant_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
