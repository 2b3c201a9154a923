/*
 * Jobs that end before their time: a party of a random program stops at a random event, what it had sent may or may not
 * arrive, of what it had noted down some beginning is left, and the others hear of it whenever they do. What is there of
 * such a history is accepted; with one thing made wrong in it it is refused by the rule that was broken, though the same
 * could be missing at its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "history_spots.h"

/* -------------------------------------------------------------------------------------------------------- the loss ---- */

/* A job's end: node `lost` (HW_HISTORY_NONE: none, it fails otherwise) stops after `death` moves, and the record after
 * `moves`. */
typedef struct doom {
    uint64_t moves, death;
    uint32_t lost;
    bool dead, notified[MOST_BLOCKS]; /* by block; by client */
    size_t written[512];              /* by log: what its node had noted down when it died */
} doom;

static doom draw_doom(hw_random *random, uint32_t nodes, uint64_t most)
{
    doom d = {.moves = 10 + hw_random_below(random, most), .lost = HW_HISTORY_NONE};
    d.death = hw_random_below(random, d.moves);
    if (nodes > 1 && !one_in(random, 8))
        d.lost = (uint32_t)hw_random_below(random, nodes);
    return d;
}

static void note_death(doom *d, const notes *n, uint32_t (*node_of)(const void *of, hw_stream_name name), const void *of)
{
    d->dead = true;
    for (size_t i = 0; i < n->count; i++)
        d->written[i] = node_of(of, n->logs[i]->name) == d->lost ? n->logs[i]->count : 0;
}

/* The logs of the lost node end somewhere before its death: what it had not written to its file is gone. */
static hw_history cut_history(doom *d, notes *n, hw_random *random, uint32_t (*node_of)(const void *of, hw_stream_name name),
                              const void *of)
{
    bool all = one_in(random, 4);
    for (size_t i = 0; i < n->count; i++)
        if (d->dead && node_of(of, n->logs[i]->name) == d->lost)
            n->logs[i]->count = all ? d->written[i] : (size_t)hw_random_below(random, d->written[i] + 1);
    hw_history history = history_of(n);
    history.ended = d->dead ? HAWSER_PEER_LOST : HAWSER_BAD_PROGRAM;
    for (size_t s = 0; s < history.count; s++) {
        hw_stream *stream = &history.streams[s];
        stream->node = node_of(of, stream->name);
        stream->cut = d->dead && stream->node == d->lost;
    }
    return history;
}

static hw_event_record loss_of(const doom *d, uint32_t actor)
{
    return (hw_event_record){.kind = HW_EVENT_LOST, .actor = actor, .from = d->lost};
}

/* --------------------------------------------------------------------------------------------------------- replicas ---- */

typedef struct blocks_on_nodes {
    uint32_t blocks, nodes;
} blocks_on_nodes;

static uint32_t node_of_block(const void *of, hw_stream_name name)
{
    const blocks_on_nodes *on = of;
    return name.number * on->nodes / on->blocks;
}

static bool is_lost(const doom *d, const blocks_on_nodes *on, uint32_t block)
{
    return d->dead && node_of_block(on, (hw_stream_name){.number = block}) == d->lost;
}

/* All but the first `keep` of what is on its way. */
static void cut_link(link_queue *link, uint64_t keep)
{
    hw_message **end = &link->first;
    link->last = NULL;
    for (; *end != NULL && keep > 0; keep--) {
        link->last = *end;
        end = &(*end)->next;
    }
    while (*end != NULL) {
        hw_message *next = (*end)->next;
        hw_message_free(*end);
        *end = next;
    }
}

static void kill_blocks(cluster *c, doom *d, const blocks_on_nodes *on, const notes *n)
{
    note_death(d, n, node_of_block, on);
    for (uint32_t b = 0; b < c->blocks; b++)
        for (uint32_t s = 0; s < c->blocks; s++)
            if (is_lost(d, on, s))
                cut_link(&c->links[b][s], hw_random_below(&c->random, 4));
}

/* A block receives the loss: no update of the lost node follows. */
static void notify_block(cluster *c, doom *d, const blocks_on_nodes *on, notes *n, uint32_t b)
{
    hw_event_record loss = loss_of(d, b);
    d->notified[b] = true;
    hw_log_put(n->logs[b], &loss);
    for (uint32_t s = 0; s < c->blocks; s++)
        if (is_lost(d, on, s))
            cut_link(&c->links[b][s], 0);
}

static void run_doomed_epoch(cluster *c, const shape *s, doom *d, const blocks_on_nodes *on, notes *n)
{
    c->epoch++;
    for (uint32_t b = 0; b < c->blocks; b++) {
        c->clock[b] = 0;
        hw_replica_begin(c->replicas[b], c->epoch, s->policy);
    }
    for (uint64_t move = 0; move < d->moves; move++) {
        uint32_t b = (uint32_t)hw_random_below(&c->random, c->blocks);
        if (move == d->death && d->lost != HW_HISTORY_NONE)
            kill_blocks(c, d, on, n);
        if (is_lost(d, on, b))
            continue;
        if (d->dead && !d->notified[b] && one_in(&c->random, 8))
            notify_block(c, d, on, n, b);
        else if (c->clock[b] == s->clocks || !cluster_ready(c, b) || one_in(&c->random, 3))
            cluster_deliver(c, b);
        else
            run_clock_of(c, s, b);
    }
}

static hw_history doomed_blocks(uint64_t seed)
{
    hw_random random = hw_random_at(seed, 84, 0, 0);
    shape s = draw_shape(&random);
    blocks_on_nodes on = {s.spec.blocks, 1 + (uint32_t)hw_random_below(&random, s.spec.blocks)};
    notes n = {0};
    cluster c;
    open_recorded(&c, &s, seed, &n);
    if (s.rebuilds)
        rebuild_all(&c);
    if (one_in(&random, 3))
        run_epoch(&c, &s);
    doom d = draw_doom(&random, on.nodes, 6 * s.clocks * s.spec.blocks);
    run_doomed_epoch(&c, &s, &d, &on, &n);
    cluster_close(&c);
    return cut_history(&d, &n, &random, node_of_block, &on);
}

/* ------------------------------------------------------------------------------------------------------------ store ---- */

/* Node i has server i and client i; a worker's block is where its client is. */
static uint32_t node_of_stream_owner(const void *of, hw_stream_name name)
{
    const market *m = of;
    return name.kind == HW_STREAM_STRIPE  ? name.number >> 16
           : name.kind == HW_STREAM_BLOCK ? name.number % m->w->clients
                                          : name.number;
}

static void cut_line(line *queue, uint64_t keep)
{
    hw_message **end = &queue->first;
    for (; *end != NULL && keep > 0; keep--)
        end = &(*end)->next;
    queue->end = end;
    while (*end != NULL) {
        hw_message *next = (*end)->next;
        hw_message_free(*end);
        *end = next;
    }
}

static void kill_node(market *m, doom *d, const notes *n)
{
    world *w = m->w;
    note_death(d, n, node_of_stream_owner, m);
    w->gone[d->lost] = true;
    for (uint32_t s = 0; s < w->servers && d->lost < w->clients; s++)
        cut_line(&w->there[d->lost][s], hw_random_below(&w->random, 4));
    for (uint32_t c = 0; c < w->clients && d->lost < w->servers; c++)
        cut_line(&w->back[c][d->lost], hw_random_below(&w->random, 4));
}

/* A client receives the loss, and fails all its open requests. */
static void notify_client(market *m, doom *d, const notes *n, uint32_t client)
{
    hawser_error error = {HAWSER_PEER_LOST, "a node was lost"};
    hw_event_record loss = loss_of(d, 0);
    d->notified[client] = true;
    for (size_t i = 0; i < n->count; i++)
        if (n->logs[i]->name.kind == HW_STREAM_CLIENT && n->logs[i]->name.number == client)
            hw_log_put(n->logs[i], &loss);
    hw_client_fail(m->w->client[client], HAWSER_PEER_LOST, &error);
}

/* One move of a worker that may have something to do. */
static void move_worker(market *m, asker *a, uint64_t end, void (*go)(market *m, asker *a))
{
    bool all = all_ended(m, a), loops = m->blocks[0] != NULL;
    if (loops && all && !a->read && a->ended < a->iteration)
        a->ended = a->iteration;
    if (!all || a->iteration >= end || (loops && !a->read && !may_begin(m, a)) || one_in(&m->w->random, 2))
        step(m->w);
    else
        go(m, a);
}

static void run_doomed_market(market *m, doom *d, const notes *n, void (*go)(market *m, asker *a))
{
    uint64_t end = m->loop + m->iterations;
    for (uint64_t move = 0; move < d->moves; move++) {
        asker *a = &m->askers[hw_random_below(&m->w->random, m->workers)];
        uint32_t client = (uint32_t)hw_random_below(&m->w->random, m->w->clients);
        if (move == d->death && d->lost != HW_HISTORY_NONE)
            kill_node(m, d, n);
        if (d->dead && client != d->lost && !d->notified[client] && one_in(&m->w->random, 8))
            notify_client(m, d, n, client);
        if ((d->dead && a->client == d->lost) || d->notified[a->client])
            step(m->w);
        else
            move_worker(m, a, end, go);
    }
}

static hw_history doomed_market(uint64_t seed, bool loops, bool centric)
{
    hw_random random = hw_random_at(seed, 85, 0, 0);
    notes n = {0};
    market m = {0};
    if (loops)
        open_loops(&m, &random, seed, &n);
    else
        open_tables(&m, &random, seed, centric, &n);
    if (loops)
        begin_loop(&m, 0);
    doom d = draw_doom(&random, m.w->servers > m.w->clients ? m.w->servers : m.w->clients, 1200);
    run_doomed_market(&m, &d, &n, loops ? step_loop : centric ? step_centric : step_stale);
    hw_history history = cut_history(&d, &n, &random, node_of_stream_owner, &m);
    free(m.askers);
    close_world(m.w);
    return history;
}

static hw_history draw_doomed(uint64_t seed)
{
    switch (seed % 4) {
    case 0: return doomed_blocks(seed);
    case 1: return doomed_market(seed, false, true);
    case 2: return doomed_market(seed, false, false);
    default: return doomed_market(seed, true, false);
    }
}

/* ---------------------------------------------------------------------------------------------------------- mutants ---- */

static bool in_living(const hw_history *history, spot s)
{
    (void)history;
    return !s.stream->cut;
}

static bool is_same_part(const hw_event_record *a, const hw_event_record *b)
{
    return a->epoch == b->epoch && a->clock == b->clock && a->part == b->part;
}

static const hw_event_record *written_by(const hw_history *history, const hw_event_record *seen)
{
    const hw_stream *source = hw_history_stream(history, HW_STREAM_BLOCK, 0, seen->from);
    for (size_t i = 0; source != NULL && i < source->count; i++) {
        const hw_event_record *r = &source->records[i];
        if (r->kind == HW_EVENT_WRITE && is_same_part(r, seen))
            return r;
    }
    return NULL;
}

static bool is_cut_block(const hw_history *history, uint32_t block)
{
    return hw_history_stream(history, HW_STREAM_BLOCK, 0, block)->cut;
}

/* The newest update of a living block, which another block has seen, was never made. */
static bool is_newest_of_living(const hw_history *history, spot s)
{
    const hw_event_record *r = record_at(s);
    size_t next =
        near(s, 1, BIT(HW_EVENT_READ) | BIT(HW_EVENT_WRITE) | BIT(HW_EVENT_DEFER) | BIT(HW_EVENT_END) | BIT(HW_EVENT_SEEN));
    bool seen = false;
    for (size_t b = 0; b < history->count; b++)
        for (size_t i = 0; i < history->streams[b].count; i++) {
            const hw_event_record *other = &history->streams[b].records[i];
            seen = seen || (other->kind == HW_EVENT_SEEN && other->from == r->actor && is_same_part(other, r));
        }
    return !s.stream->cut && seen && next == SIZE_MAX;
}

static bool never_written(hw_history *history, hw_random *random)
{
    return dropped(history, random, HW_EVENT_WRITE, is_newest_of_living);
}

/* Two have seen an update of which its own block, lost, says nothing any more: one of them something else. */
static bool is_seen_twice_unrecorded(const hw_history *history, spot s)
{
    const hw_event_record *r = record_at(s);
    if (!is_cut_block(history, r->from) || written_by(history, r) != NULL)
        return false;
    for (size_t b = 0; b < history->count; b++)
        for (size_t i = 0; i < history->streams[b].count && &history->streams[b] != s.stream; i++) {
            const hw_event_record *other = &history->streams[b].records[i];
            if (other->kind == HW_EVENT_SEEN && other->from == r->from && is_same_part(other, r))
                return true;
        }
    return false;
}

static bool other_values_of_the_lost(hw_history *history, hw_random *random)
{
    return other_digest(history, random, HW_EVENT_SEEN, is_seen_twice_unrecorded);
}

/* What a lost block has noted down stands, whatever else it has not. */
static bool is_recorded_of_lost(const hw_history *history, spot s)
{
    return is_cut_block(history, record_at(s)->from) && written_by(history, record_at(s)) != NULL;
}

static bool other_values_than_noted(hw_history *history, hw_random *random)
{
    return other_digest(history, random, HW_EVENT_SEEN, is_recorded_of_lost);
}

/* An update of the lost node counts after its loss was received, whatever else was. */
static bool comes_from_lost(const hw_history *history, spot s)
{
    for (size_t i = s.at + 1; i < s.stream->count; i++) {
        const hw_event_record *r = &s.stream->records[i];
        if (r->kind == HW_EVENT_LOST)
            return hw_history_stream(history, HW_STREAM_BLOCK, 0, record_at(s)->from)->node == r->from;
    }
    return false;
}

/* Moves the next loss of the stream in front of the record. */
static void record_loss_before(spot s)
{
    spot loss = s;
    while (record_at(loss)->kind != HW_EVENT_LOST)
        loss.at++;
    move_up(loss, s.at);
}

static bool comes_after_its_death(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, comes_from_lost);
    if (s.stream == NULL)
        return false;
    record_loss_before(s);
    if (one_in(random, 2))
        insert((spot){s.stream, s.at + 1},
               (hw_event_record){.kind = HW_EVENT_LOST, .actor = s.stream->name.number, .from = HW_HISTORY_NONE});
    return true;
}

/* The dead has seen what was written when all knew of its death. */
static bool seen_by_the_dead(const hw_history *history, spot s)
{
    const hw_event_record *r = record_at(s);
    bool notified = false;
    for (size_t i = s.at; i < s.stream->count; i++)
        notified = notified || s.stream->records[i].kind == HW_EVENT_LOST;
    for (size_t b = 0; b < history->count && notified; b++)
        for (size_t i = 0; i < history->streams[b].count && history->streams[b].cut; i++) {
            const hw_event_record *other = &history->streams[b].records[i];
            if (other->kind == HW_EVENT_SEEN && other->from == r->actor && is_same_part(other, r))
                return true;
        }
    return false;
}

static bool sees_after_its_death(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_WRITE, seen_by_the_dead);
    if (s.stream == NULL)
        return false;
    record_loss_before(s);
    return true;
}

/* An update is missed, and the next of the same block is taken: no end of a stream hides that. */
static bool is_followed(const hw_history *history, spot s)
{
    (void)history;
    for (size_t i = s.at + 1; i < s.stream->count; i++) {
        const hw_event_record *r = &s.stream->records[i];
        if (r->kind == HW_EVENT_SEEN && r->from == record_at(s)->from && r->object == record_at(s)->object)
            return r->epoch == record_at(s)->epoch;
    }
    return false;
}

static bool lost_and_next_seen(hw_history *history, hw_random *random)
{
    return dropped(history, random, HW_EVENT_SEEN, is_followed);
}

static bool is_done_for_living(const hw_history *history, spot s)
{
    const hw_event_record *r = record_at(s);
    for (size_t k = 0; k < history->count && !s.stream->cut; k++)
        for (size_t i = 0; history->streams[k].name.kind == HW_STREAM_STRIPE && i < history->streams[k].count; i++) {
            const hw_event_record *done = &history->streams[k].records[i];
            if (done->from == r->from && done->epoch == r->epoch &&
                (done->kind == HW_EVENT_TAKEN || done->kind == HW_EVENT_GIVEN || done->kind == HW_EVENT_CLOCK))
                return true;
        }
    return false;
}

/* A stripe does what a living client has never asked for. */
static bool never_asked(hw_history *history, hw_random *random)
{
    return dropped(history, random, HW_EVENT_ASKED, is_done_for_living);
}

/* An answered push of a range is missing where its server lives. */
static bool is_answered_range(const hw_history *history, spot s)
{
    const hw_event_record *r = record_at(s);
    const hw_stream *client = hw_history_stream(history, HW_STREAM_CLIENT, 0, r->from);
    bool asked = false, answered = false;
    for (size_t i = 0; i < client->count; i++) {
        const hw_event_record *c = &client->records[i];
        if (c->epoch == r->epoch && c->kind == HW_EVENT_ASKED)
            asked = (c->flags & HW_EVENT_LISTED) == 0;
        if (c->epoch == r->epoch && c->kind == HW_EVENT_ANSWER)
            answered = (c->flags & HW_EVENT_FAILED) == 0;
    }
    return !s.stream->cut && asked && answered && (table_of(s)->flags & HW_EVENT_SPARSE) == 0;
}

static bool lost_piece(hw_history *history, hw_random *random)
{
    return dropped(history, random, HW_EVENT_TAKEN, is_answered_range);
}

/* A worker's clock is lost, and its next arrives. */
static bool is_clock_before_next(const hw_history *history, spot s)
{
    const hw_event_record *r = record_at(s);
    for (size_t i = s.at + 1; i < s.stream->count; i++) {
        const hw_event_record *next = &s.stream->records[i];
        if (next->kind == HW_EVENT_CLOCK && next->actor == r->actor && next->from == r->from && next->epoch > r->epoch)
            return !hw_history_stream(history, HW_STREAM_CLIENT, 0, r->from)->cut && (table_of(s)->flags & 1) == 0;
    }
    return false;
}

static bool lost_clock(hw_history *history, hw_random *random)
{
    return dropped(history, random, HW_EVENT_CLOCK, is_clock_before_next);
}

static bool goes_on(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_LOST, NULL);
    spot task = draw(history, random, HW_EVENT_ASKED, in_living);
    if (s.stream == NULL || task.stream != s.stream || task.at > s.at)
        return false;
    move_up(s, task.at);
    return true;
}

static bool is_whole_task(const hw_history *history, spot s)
{
    return is_answered_range(history, s) && record_at(s)->digest != 0;
}

static bool changed_rows(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_TAKEN, is_whole_task);
    if (s.stream == NULL || history->streams[history->count - 1].cut)
        return false;
    for (size_t i = 0; i < history->count; i++)
        if (history->streams[i].cut && history->streams[i].name.kind == HW_STREAM_STRIPE)
            return false; /* then pieces may be missing, and nothing is known of the sum */
    record_at(s)->digest ^= UINT64_C(1) << hw_random_below(random, 64);
    return true;
}

/* What a job that ended well cannot have: a loss. */
static bool well_after_all(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_LOST, NULL);
    if (s.stream == NULL || s.stream->name.kind != HW_STREAM_BLOCK)
        return false;
    s.stream->count = s.at + 1;
    history->ended = HAWSER_OK;
    return true;
}

static const mutant mutants[] = {
    {"never written", never_written, {HW_RULE_ONCE, HW_RULES}},
    {"other values of the lost", other_values_of_the_lost, {HW_RULE_VALUE, HW_RULES}},
    {"other values than noted", other_values_than_noted, {HW_RULE_VALUE, HW_RULES}},
    {"comes after its death", comes_after_its_death, {HW_RULE_LOSS, HW_RULES}},
    {"sees after its death", sees_after_its_death, {HW_RULE_LOSS, HW_RULES}},
    {"lost and next seen", lost_and_next_seen, {HW_RULE_ONCE, HW_RULE_BSP, HW_RULE_VISIBLE, HW_RULE_VALUE, HW_RULES}},
    {"well after all", well_after_all, {HW_RULE_LOSS, HW_RULE_END, HW_RULE_ONCE, HW_RULE_ORDER, HW_RULES}},
    {"never asked", never_asked, {HW_RULE_ONCE, HW_RULE_HELD, HW_RULES}},
    {"lost piece", lost_piece, {HW_RULE_ONCE, HW_RULE_READ, HW_RULE_VALUE, HW_RULES}},
    {"lost clock", lost_clock, {HW_RULE_ONCE, HW_RULE_VISIBLE, HW_RULES}},
    {"goes on", goes_on, {HW_RULE_LOSS, HW_RULES}},
    {"changed rows", changed_rows, {HW_RULE_VALUE, HW_RULES}},
};
enum { OF_BLOCKS = 7, MUTANTS = sizeof mutants / sizeof *mutants };

/* ----------------------------------------------------------------------------------------------------------- judged ---- */

static void random_losses(void **state)
{
    (void)state;
    uint64_t applied[HW_RULES] = {0}, unrecorded = 0, lost = 0, seeds = seeds_of(6000, 100000);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        hw_history history = draw_doomed(seed);
        hw_verdict verdict = judge(&history);
        if (verdict.broken) {
            hw_verdict_print(&verdict, &history, stderr);
            fail_msg("seed %llu", (unsigned long long)seed);
        }
        for (int rule = 0; rule < HW_RULES; rule++)
            applied[rule] += verdict.checked[rule];
        unrecorded += verdict.unrecorded;
        lost += history.ended == HAWSER_PEER_LOST;
        hw_history_free(&history);
    }
    for (int rule = HW_RULE_DEFINITION; rule < HW_RULES; rule++) /* nothing is let go of because a job failed */
        if (applied[rule] < 500 && rule != HW_RULE_CREDIT && rule != HW_RULE_REDUCTION &&
            rule != HW_RULE_MOVING) /* history_reductions.c, runtime_moving.c */
            fail_msg("%s was applied %llu times", hw_rule_name((hw_rule)rule), (unsigned long long)applied[rule]);
    assert_true(unrecorded > 1000 && lost > 1000);
    print_message("%llu losses, %llu things of the lost\n", (unsigned long long)lost, (unsigned long long)unrecorded);
}

static void every_mutant_is_refused(void **state)
{
    (void)state;
    must_refuse_all(mutants, MUTANTS, OF_BLOCKS, draw_doomed, seeds_of(3000, 40000), 2, 86);
}

/* ----------------------------------------------------------------------------------------------------- made by hand ---- */

static void add_stream(hw_history *history, hw_stream_kind kind, uint32_t number, bool cut, const hw_event_record *records,
                       size_t count)
{
    hw_event_record *copy = malloc(count * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, records, count * sizeof *copy);
    put_stream(history, (hw_stream_name){.kind = kind, .number = number}, copy, count);
    history->streams[history->count - 1].node = cut;
    history->streams[history->count - 1].cut = cut;
}

/* Two blocks in a loop under bsp; of the second, which is lost, it is written that a next one began in iteration 100. Worker
 * 0 changes the one key in the first iteration, then worker 1 in the second. */
static hw_history two_changes(uint64_t first, uint64_t second)
{
    const hw_event_record turns[] = {{.kind = HW_EVENT_TURN, .flags = HW_EVENT_MOVES},
                                     {.kind = HW_EVENT_TURN, .flags = HW_EVENT_MOVES, .epoch = 1, .clock = 100}};
    const hw_event_record table = {.kind = HW_EVENT_TABLE, .part = 2};
    hw_event_record others[2] = {turns[0], turns[1]}, stripe[3] = {table};
    hw_history history = {.ended = HAWSER_PEER_LOST};
    others[0].actor = others[1].actor = 1;
    for (uint32_t j = 0; j < 2; j++)
        stripe[1 + j] = (hw_event_record){.kind = HW_EVENT_TAKEN,
                                          .actor = j,
                                          .from = j,
                                          .covers = 1,
                                          .epoch = 1,
                                          .clock = j == 0 ? first : second,
                                          .count = 1};
    add_stream(&history, HW_STREAM_BLOCK, 0, false, turns, 1);
    add_stream(&history, HW_STREAM_BLOCK, 1, true, others, 2);
    add_stream(&history, HW_STREAM_STRIPE, 0, false, stripe, 3);
    for (uint32_t j = 0; j < 2; j++) {
        const hw_event_record asked[] = {table,
                                         {.kind = HW_EVENT_ASKED,
                                          .flags = HW_EVENT_PUSHES,
                                          .actor = j,
                                          .from = j,
                                          .part = 1,
                                          .epoch = 1,
                                          .clock = j == 0 ? first : second,
                                          .count = 1}};
        add_stream(&history, HW_STREAM_CLIENT, j, j == 1, asked, 2);
    }
    return history;
}

/* Where the lost came furthest its loops count, too; but what it did in the last that is written may be of one that is
 * not. */
static void loops_that_the_lost_node_recorded_count(void **state)
{
    (void)state;
    static const struct {
        uint64_t first, second;
        bool broken;
    } cases[] = {{0, 5, false},   {5, 0, true},    {5, 5, false},     {99, 98, true},   {99, 100, false},
                 {100, 99, true}, {105, 99, true}, {105, 101, false}, {105, 100, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hw_history history = two_changes(cases[i].first, cases[i].second);
        hw_verdict verdict = judge(&history);
        if (verdict.broken != cases[i].broken || (verdict.broken && verdict.rule != HW_RULE_BSP)) {
            hw_verdict_print(&verdict, &history, stderr);
            fail_msg("%zu", i);
        }
        hw_history_free(&history);
    }
}

/* As one record can say, of which every other would be asked. */
static void more_blocks_than_a_job_has_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        const hw_event_record record = {.kind = i == 2 ? HW_EVENT_WAIT : HW_EVENT_STATE,
                                        .actor = i == 2 ? UINT32_MAX : 0,
                                        .range = i != 2,
                                        .part = 65536 + (uint32_t)i,
                                        .from = i == 2 ? 0 : HW_HISTORY_NONE};
        hw_history history = {.ended = HAWSER_BAD_PROGRAM};
        add_stream(&history, HW_STREAM_BLOCK, record.actor, false, &record, 1);
        hw_verdict verdict = judge(&history);
        assert_int_equal(verdict.broken, i > 0);
        if (i > 0) {
            assert_int_equal(verdict.rule, HW_RULE_RECORD);
            assert_string_equal(verdict.text, i == 1 ? "65537 blocks: a job has 65536 at most"
                                                     : "4294967296 blocks: a job has 65536 at most");
        }
        hw_history_free(&history);
    }
}

static long most_memory(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss; /* KiB */
}

/* What a few records claim, of which most are missing, costs what the few are worth. */
static void memory_is_allocated_by_the_records_in_the_file(void **state)
{
    (void)state;
    const uint16_t ranges = 16384;
    const hw_event_record records[] = {
        {.kind = HW_EVENT_STATE, .range = ranges, .part = 65536, .from = HW_HISTORY_NONE},
        {.kind = HW_EVENT_BEGIN, .part = HW_EVENT_BSP, .from = HW_HISTORY_NONE},
        {.kind = HW_EVENT_READ},
        {.kind = HW_EVENT_WRITE, .flags = HW_EVENT_LAST, .last = UINT64_MAX},
        {.kind = HW_EVENT_SEEN, .flags = HW_EVENT_LAST, .range = ranges, .from = 1, .covers = 65535},
        {.kind = HW_EVENT_SEEN, .flags = HW_EVENT_LAST, .range = 1, .from = 1, .covers = 65535},
    };
    hw_history history = {.ended = HAWSER_BAD_PROGRAM};
    add_stream(&history, HW_STREAM_BLOCK, 0, false, records, sizeof records / sizeof *records);
    long before = most_memory();
    hw_verdict verdict = judge(&history);
    if (verdict.broken)
        fail_msg("%s", verdict.text);
    assert_in_range(most_memory() - before, 0, 64 << 10);
    hw_history_free(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_losses),
        cmocka_unit_test(every_mutant_is_refused),
        cmocka_unit_test(loops_that_the_lost_node_recorded_count),
        cmocka_unit_test(more_blocks_than_a_job_has_are_refused),
        cmocka_unit_test(memory_is_allocated_by_the_records_in_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
