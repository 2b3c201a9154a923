/*
 * Reductions over every placement of blocks on nodes and every shape of adding up, with messages in random order: results
 * have the bits of the canonical tree. Repeated messages and repeated clocks change nothing, and malformed messages are
 * rejected.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "exchange/exchange.h"
#include "exchange/reduction.h"
#include "exchange/shares.h"
#include "sanitized.h"

enum { BLOCKS_MOST = 6, CLOCKS = 3, STEPS = 5, LONGEST = 1600, EPOCH = 40 };
static const size_t lengths[STEPS] = {3, LONGEST, 0, 64, 520};
static const hawser_combine_by operations[STEPS] = {HAWSER_SUM, HAWSER_SUM, HAWSER_MAX, HAWSER_MIN, HAWSER_MAX};

typedef struct world {
    uint32_t blocks, nodes, home[BLOCKS_MOST];
    hw_adding_shape shape;
    bool repeats, doubles; /* clocks are repeated; messages arrive twice */
    uint64_t keep;
    hw_random random;
    hw_view view;
    hw_reduction *reductions[BLOCKS_MOST];
    hw_message *links[BLOCKS_MOST][BLOCKS_MOST]; /* to, from */
    uint64_t clock[BLOCKS_MOST];
    int step[BLOCKS_MOST];
    bool begun[BLOCKS_MOST], waits[BLOCKS_MOST];
    uint64_t redone, doubled, large; /* large: messages of the longest reduction between nodes */
    uint64_t sent;                   /* all messages */
} world;

static double share_of(uint32_t block, uint64_t clock, int step, size_t i)
{
    size_t length = lengths[step];
    if ((block + (uint32_t)clock) % 3 == 0 && (i < length / 4 || i >= length / 2))
        return i % 2 ? -0.0 : 0.0;
    return cos(1.3 * (double)i + 7 * block + step) * pow(10, (double)((i + block) % 12) - 6) + (double)clock;
}

static double expected(const world *w, uint64_t clock, int step, size_t i)
{
    double parts[BLOCKS_MOST], extreme = operations[step] == HAWSER_MAX ? -(double)INFINITY : (double)INFINITY;
    for (uint32_t b = 0; b < w->blocks; b++) {
        parts[b] = share_of(b, clock, step, i) + 0.0;
        extreme = operations[step] == HAWSER_MAX ? fmax(extreme, parts[b]) : fmin(extreme, parts[b]);
    }
    return operations[step] == HAWSER_SUM ? hw_reduce_scalars(parts, w->blocks) : extreme;
}

static const char *name_of(const void *owner, uint32_t unit)
{
    (void)owner;
    return unit == 5 ? "five" : unit == 6 ? "six" : NULL;
}

static void append(hw_message **list, hw_message *message)
{
    while (*list != NULL)
        list = &(*list)->next;
    message->next = NULL;
    *list = message;
}

static bool is_for(const world *w, uint32_t from, uint32_t to, uint32_t destination)
{
    bool here = w->home[from] == w->home[to];
    return to != from && (destination == to || destination == HW_TO_BLOCKS || (destination == HW_TO_LOCAL && here) ||
                          (destination == HW_TO_NODES && !here));
}

static void send_all(world *w, uint32_t from)
{
    for (hw_message *message; (message = hw_reduction_next(w->reductions[from])) != NULL;) {
        uint32_t destination = message->envelope.destination;
        for (uint32_t to = 0; to < w->blocks; to++) {
            hw_message *copy;
            if (!is_for(w, from, to, destination))
                continue;
            w->sent++;
            w->large += message->envelope.part == 1 && message->envelope.last == 0 && w->home[from] != w->home[to];
            assert_int_equal(hw_message_share(message, &copy, NULL), HAWSER_OK);
            copy->envelope = message->envelope;
            copy->envelope.source = from;
            append(&w->links[to][from], copy);
        }
        hw_message_free(message);
    }
}

static void open_world(world *w)
{
    w->view = (hw_view){HW_VIEW_FIRST, w->blocks, w->nodes, w->home};
    for (uint32_t b = 0; b < w->blocks; b++) {
        hw_reduction_spec spec = {.block = b,
                                  .blocks = w->blocks,
                                  .view = hw_adds_up(w->shape, w->nodes) ? &w->view : NULL,
                                  .shape = w->shape,
                                  .keep = w->keep,
                                  .unit_name = name_of};
        assert_int_equal(hw_reduction_new(&spec, &w->reductions[b], NULL), HAWSER_OK);
        hw_reduction_begin(w->reductions[b], EPOCH);
    }
}

static void close_world(world *w)
{
    for (uint32_t b = 0; b < w->blocks; b++) {
        hw_reduction_free(w->reductions[b]);
        for (uint32_t from = 0; from < w->blocks; from++)
            hw_messages_free(w->links[b][from]);
    }
}

static hawser_status put(world *w, uint32_t b, hawser_error *error)
{
    static double values[LONGEST];
    int step = w->step[b];
    hw_reduction_call call = {5, lengths[step], operations[step]};
    for (size_t i = 0; i < lengths[step]; i++)
        values[i] = share_of(b, w->clock[b], step, i);
    hw_stop_request stop = {b == 1 && w->clock[b] == 2 && step == 3, b == 1 && w->clock[b] == 2 && step == 3 ? 77 : 0};
    return hw_reduction_put(w->reductions[b], &call, values, stop, error);
}

static void take(world *w, uint32_t b)
{
    static double values[LONGEST];
    int step = w->step[b];
    hawser_error error = {0};
    hw_stop_request stop;
    if (hw_reduction_take(w->reductions[b], values, &stop, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < lengths[step]; i++) {
        double right = expected(w, w->clock[b], step, i);
        assert_memory_equal(&values[i], &right, sizeof right);
    }
    bool asked = w->blocks > 1 && w->clock[b] == 2 && step == 3;
    assert_true(stop.stop == asked && stop.asked == (asked ? 77 : 0));
}

/* Runs a block until it must wait or has ended. Returns false if it could not advance. */
static bool advance(world *w, uint32_t b)
{
    hw_reduction *reduction = w->reductions[b];
    hawser_error error = {0};
    hawser_status status = HAWSER_OK;
    if (w->clock[b] == CLOCKS)
        return false;
    if (!w->begun[b]) {
        if (!hw_reduction_all_ended(reduction, w->clock[b]))
            return false;
        hw_reduction_begin_clock(reduction, w->clock[b]);
        w->begun[b] = true;
    }
    if (w->repeats && hw_random_below(&w->random, 12) == 0) { /* the clock is repeated */
        hw_reduction_begin_clock(reduction, w->clock[b]);
        w->step[b] = 0;
        w->waits[b] = false;
        w->redone++;
    }
    if (w->waits[b] && !hw_reduction_ready(reduction))
        return false;
    if (w->waits[b]) {
        take(w, b);
        w->waits[b] = false;
        w->step[b]++;
    } else if (w->step[b] < STEPS) {
        status = put(w, b, &error);
        w->waits[b] = true;
    } else {
        status = hw_reduction_end_clock(reduction, &error);
        w->clock[b]++;
        w->step[b] = 0;
        w->begun[b] = false;
    }
    if (status != HAWSER_OK)
        fail_msg("block %u: %s", b, error.text);
    send_all(w, b);
    return true;
}

static void deliver(world *w, uint32_t to, uint32_t from)
{
    hw_message *message = w->links[to][from], *copy = NULL;
    hawser_error error = {0};
    if (message == NULL)
        return;
    w->links[to][from] = message->next;
    if (w->doubles && hw_random_below(&w->random, 3) == 0) {
        assert_int_equal(hw_message_share(message, &copy, NULL), HAWSER_OK);
        copy->envelope = message->envelope;
        w->doubled++;
    }
    for (; message != NULL; message = copy, copy = NULL)
        if (hw_reduction_accept(w->reductions[to], message, &error) != HAWSER_OK)
            fail_msg("block %u: %s", to, error.text);
    send_all(w, to);
}

static bool is_over(const world *w)
{
    for (uint32_t b = 0; b < w->blocks; b++)
        if (w->clock[b] < CLOCKS || !hw_reduction_all_ended(w->reductions[b], CLOCKS))
            return false;
    return true;
}

static void run_world(world *w)
{
    open_world(w);
    for (uint64_t i = 0; !is_over(w); i++) {
        uint32_t b = (uint32_t)hw_random_below(&w->random, w->blocks);
        assert_true(i < 1000000);
        if (hw_random_below(&w->random, 2) == 0)
            (void)advance(w, b);
        else
            deliver(w, b, (uint32_t)hw_random_below(&w->random, w->blocks));
    }
    close_world(w);
}

/* Places the blocks on nodes: if bit b of `cuts` is set, block b + 1 begins a node. */
static void lay(world *w, uint32_t blocks, uint32_t cuts)
{
    w->blocks = blocks;
    w->nodes = 1;
    for (uint32_t b = 1; b < blocks; b++) {
        w->nodes += cuts >> (b - 1) & 1;
        w->home[b] = w->nodes - 1;
    }
}

static const hw_adding_shape shapes[] = {{HW_ADDING_SPREAD, 0},  {HW_ADDING_TREE, 0},    {HW_ADDING_SERVERS, 1},
                                         {HW_ADDING_SERVERS, 2}, {HW_ADDING_SERVERS, 3}, {HW_ADDING_BLOCKS, 0}};

static void every_layout_gives_the_canonical_bits(void **state)
{
    (void)state;
    uint64_t redone = 0, doubled = 0, seed = 0;
    for (uint32_t blocks = 1; blocks <= BLOCKS_MOST; blocks++)
        for (uint32_t cuts = 0; cuts < 1U << (blocks - 1); cuts += SANITIZED ? 3 : 1)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                world w = {.shape = shapes[s], .keep = 1 << 20, .random = hw_random_at(seed, 1, 0, 0)};
                lay(&w, blocks, cuts);
                if ((shapes[s].kind == HW_ADDING_SERVERS && shapes[s].servers > w.nodes) ||
                    (shapes[s].kind == HW_ADDING_BLOCKS && w.nodes > 1))
                    continue;
                w.repeats = seed % 3 == 1;
                w.doubles = seed % 3 == 2;
                seed++;
                run_world(&w);
                redone += w.redone;
                doubled += w.doubled;
            }
    assert_true(redone > 100 && doubled > 100);
}

/* Between nodes, long vectors are combined on the way, which takes fewer messages than from each block to each other. */
static void long_vectors_are_combined_between_nodes(void **state)
{
    (void)state;
    uint64_t spread = 0;
    for (size_t s = 0; s < 3; s++) {
        world w = {.shape = shapes[s], .random = hw_random_at(s, 1, 0, 0)};
        lay(&w, 6, 5 << 1 | 0); /* two, two and two */
        assert_int_equal(w.nodes, 3);
        run_world(&w);
        if (s == 0)
            spread = w.large;
        /* Spread, the two blocks of a node send one sum to the four blocks of other nodes. Gathered, two sums are sent up
         * and the total down to five blocks. */
        assert_int_equal(w.large, CLOCKS * (s == 0 ? 3 * 4 : 2 + 4));
    }
    assert_true(spread > 0);
}

/* Up a tree and down again, shares and ends of clocks take 2 (n - 1) messages instead of n (n - 1). */
static void blocks_of_one_node_send_along_a_tree(void **state)
{
    (void)state;
    for (uint32_t blocks = 2; blocks <= BLOCKS_MOST; blocks++) {
        world direct = {.random = hw_random_at(blocks, 2, 0, 0)};
        world tree = {.random = hw_random_at(blocks, 2, 0, 0), .shape = {HW_ADDING_BLOCKS, 0}};
        lay(&direct, blocks, 0);
        lay(&tree, blocks, 0);
        run_world(&direct);
        run_world(&tree);
        assert_int_equal(direct.sent, CLOCKS * (STEPS + 1) * blocks * (blocks - 1));
        assert_int_equal(tree.sent, CLOCKS * (STEPS + 1) * 2 * (blocks - 1));
    }
}

/* ------------------------------------------------------------------------------------------------------ refusals ---- */

static world pair(void)
{
    world w = {.keep = 1 << 20};
    lay(&w, 2, 0);
    open_world(&w);
    for (uint32_t b = 0; b < 2; b++)
        hw_reduction_begin_clock(w.reductions[b], 0);
    return w;
}

static hw_message *pop(world *w, uint32_t to, uint32_t from)
{
    hw_message *message = w->links[to][from];
    assert_non_null(message);
    w->links[to][from] = message->next;
    return message;
}

static void expect(hawser_status status, hawser_status wanted, const hawser_error *error, const char *words)
{
    if (status != wanted || strstr(error->text, words) == NULL)
        fail_msg("got %s: %s", hawser_status_name(status), error->text);
}

static void a_share_with_other_numbers_is_rejected(void **state)
{
    (void)state;
    world w = pair();
    hawser_error error = {0};
    hw_message *twice, *other;
    assert_int_equal(put(&w, 0, &error), HAWSER_OK);
    assert_int_equal(put(&w, 1, &error), HAWSER_OK);
    send_all(&w, 1);
    hw_message *share = pop(&w, 0, 1);
    assert_int_equal(hw_message_share(share, &twice, NULL), HAWSER_OK);
    assert_int_equal(hw_message_new(share->envelope.length, &other, NULL), HAWSER_OK);
    twice->envelope = share->envelope;
    memcpy(other->payload, share->payload, (size_t)share->envelope.length);
    ((unsigned char *)other->payload)[sizeof(hw_share_head)] ^= 1;
    other->envelope = share->envelope;
    assert_int_equal(hw_reduction_accept(w.reductions[0], share, &error), HAWSER_OK);
    assert_int_equal(hw_reduction_accept(w.reductions[0], twice, &error), HAWSER_OK);
    take(&w, 0);
    expect(hw_reduction_accept(w.reductions[0], other, &error), HAWSER_BAD_INPUT, &error, "with other numbers");
    close_world(&w);
}

static void a_repeated_clock_must_be_the_same(void **state)
{
    (void)state;
    for (int what = 0; what < 4; what++) {
        world w = pair();
        hawser_error error = {0};
        if (what == 3)
            w.keep = 0;
        if (what == 3) {
            close_world(&w);
            open_world(&w);
            for (uint32_t b = 0; b < 2; b++)
                hw_reduction_begin_clock(w.reductions[b], 0);
        }
        for (int round = 0; round < 3; round++)
            for (uint32_t b = 0; b < 2; b++) {
                w.step[0] = w.step[1] = 0;
                assert_int_equal(put(&w, b, &error), HAWSER_OK);
                send_all(&w, b);
                while (w.links[1 - b][b] != NULL)
                    deliver(&w, 1 - b, b);
                if (b == 1) {
                    take(&w, 0);
                    take(&w, 1);
                }
            }
        hw_reduction_begin_clock(w.reductions[0], 0);
        double values[3] = {1, 2, 3};
        for (int i = 0; i < 3; i++)
            values[i] = share_of(0, 0, 0, (size_t)i);
        hw_reduction_call call = {5, 3, HAWSER_SUM};
        hw_stop_request none = {0};
        if (what == 0) { /* other numbers in a reduction whose shares are still kept, and another call */
            assert_int_equal(hw_reduction_put(w.reductions[0], &call, values, none, &error), HAWSER_OK);
            values[1] += 1;
            expect(hw_reduction_put(w.reductions[0], &call, values, none, &error), HAWSER_BAD_PROGRAM, &error,
                   "has other numbers than before");
        } else if (what == 1) {
            call.by = HAWSER_MIN;
            expect(hw_reduction_put(w.reductions[0], &call, values, none, &error), HAWSER_BAD_PROGRAM, &error,
                   "every block must call the same");
        } else if (what == 2) { /* it may not end with fewer reductions than before */
            assert_int_equal(hw_reduction_end_clock(w.reductions[1], &error), HAWSER_OK);
            send_all(&w, 1);
            assert_int_equal(hw_reduction_put(w.reductions[0], &call, values, none, &error), HAWSER_OK);
            deliver(&w, 0, 1);
            expect(hw_reduction_end_clock(w.reductions[0], &error), HAWSER_BAD_PROGRAM, &error, "only 1 times");
        } else
            expect(hw_reduction_put(w.reductions[0], &call, values, none, &error), HAWSER_BAD_PROGRAM, &error,
                   "more memory than is kept");
        close_world(&w);
    }
}

static hw_message *forged(const hw_message *like, size_t cut)
{
    hw_message *made;
    assert_int_equal(hw_message_new((size_t)like->envelope.length - cut, &made, NULL), HAWSER_OK);
    uint64_t length = made->envelope.length;
    memcpy(made->payload, like->payload, (size_t)length);
    made->envelope = like->envelope;
    made->envelope.length = length;
    return made;
}

static void malformed_shares_are_rejected(void **state)
{
    (void)state;
    for (int what = 0; what < 12; what++) {
        world w = pair();
        hawser_error error = {0};
        assert_int_equal(put(&w, 0, &error), HAWSER_OK);
        if (put(&w, 1, &error) != HAWSER_OK)
            fail_msg("case %d: %s", what, error.text);
        send_all(&w, 1);
        hw_message *share = pop(&w, 0, 1), *made = forged(share, what == 0 ? 8 : what == 1 ? 30 : 0);
        hw_envelope *envelope = &made->envelope;
        hw_share_head *head = made->payload;
        switch (what) {
        case 2: envelope->source = 9; break;
        case 3: envelope->source = 0; break;
        case 4: envelope->first = 2; break;
        case 5: envelope->covers = 2; break;
        case 6: envelope->range = 3; break;
        case 7: head->first = 2; break;
        case 8: head->by = HAWSER_LAST; break;
        case 9: head->count = 4; break;
        case 10: envelope->loop = 6; break;
        case 11: envelope->epoch--; break;
        default: break;
        }
        hawser_status status = hw_reduction_accept(w.reductions[0], made, &error);
        if (status != HAWSER_BAD_INPUT && status != HAWSER_BAD_PROGRAM)
            fail_msg("case %d gave %s: %s", what, hawser_status_name(status), error.text);
        hw_message_free(share);
        close_world(&w);
    }
}

/* A maximum of NaN would depend on the order of blocks. */
static void share_with_nan_is_rejected(void **state)
{
    (void)state;
    world w = pair();
    hawser_error error = {0};
    w.step[0] = w.step[1] = 3; /* a minimum */
    assert_int_equal(put(&w, 0, &error), HAWSER_OK);
    assert_int_equal(put(&w, 1, &error), HAWSER_OK);
    send_all(&w, 1);
    hw_message *share = pop(&w, 0, 1), *made = forged(share, 0);
    double nan = NAN;
    memcpy((char *)made->payload + sizeof(hw_share_head), &nan, sizeof nan);
    expect(hw_reduction_accept(w.reductions[0], made, &error), HAWSER_BAD_INPUT, &error, "malformed");
    assert_int_equal(hw_reduction_accept(w.reductions[0], share, &error), HAWSER_OK);
    take(&w, 0);
    close_world(&w);
}

/* Where shares are gathered, the root makes the total itself. */
static void root_rejects_a_total(void **state)
{
    (void)state;
    world w = {.keep = 1 << 20, .shape = {HW_ADDING_TREE, 0}};
    hawser_error error = {0};
    lay(&w, 4, 2); /* two and two */
    open_world(&w);
    for (uint32_t b = 0; b < 4; b++) {
        hw_reduction_begin_clock(w.reductions[b], 0);
        w.step[b] = 1; /* a long sum */
        assert_int_equal(put(&w, b, &error), HAWSER_OK);
        send_all(&w, b);
    }
    hw_message *share = pop(&w, 0, 1), *made = forged(share, 0);
    made->envelope.first = 0;
    made->envelope.covers = 4;
    expect(hw_reduction_accept(w.reductions[0], made, &error), HAWSER_BAD_INPUT, &error, "does not belong here");
    hw_message_free(share);
    close_world(&w);
}

/* Along a tree, an end does not reach the block that reduces once more. Its parent notices, whichever of the two comes
 * first. */
static void a_surplus_reduction_is_noticed_along_a_tree(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        world w = {.keep = 1 << 20, .shape = {HW_ADDING_BLOCKS, 0}};
        hawser_error error = {0};
        lay(&w, 3, 0);
        open_world(&w);
        for (uint32_t b = 0; b < 3; b++)
            hw_reduction_begin_clock(w.reductions[b], 0);
        assert_int_equal(put(&w, 1, &error), HAWSER_OK);
        send_all(&w, 1);
        if (late)
            assert_int_equal(hw_reduction_end_clock(w.reductions[0], &error), HAWSER_OK);
        hawser_status status = hw_reduction_accept(w.reductions[0], pop(&w, 0, 1), &error);
        if (!late) {
            assert_int_equal(status, HAWSER_OK);
            status = hw_reduction_end_clock(w.reductions[0], &error);
        }
        expect(status, HAWSER_BAD_PROGRAM, &error, "block 0 has reduced 0 times and block 1 at least 1 times");
        close_world(&w);
    }
}

/* A block takes ends from those below it and from the root alone. */
static void an_end_from_elsewhere_is_rejected_along_a_tree(void **state)
{
    (void)state;
    world w = {.keep = 1 << 20, .shape = {HW_ADDING_BLOCKS, 0}};
    hawser_error error = {0};
    lay(&w, 6, 0);
    open_world(&w);
    for (uint32_t b = 0; b < 6; b++)
        hw_reduction_begin_clock(w.reductions[b], 0);
    assert_int_equal(hw_reduction_end_clock(w.reductions[3], &error), HAWSER_OK);
    send_all(&w, 3);
    hw_message *end = pop(&w, 2, 3), *elsewhere = NULL, *total = NULL;
    assert_int_equal(hw_message_share(end, &elsewhere, NULL), HAWSER_OK);
    assert_int_equal(hw_message_share(end, &total, NULL), HAWSER_OK);
    elsewhere->envelope = total->envelope = end->envelope;
    total->envelope.source = 0; /* before the own end */
    assert_int_equal(hw_reduction_accept(w.reductions[2], end, &error), HAWSER_OK);
    expect(hw_reduction_accept(w.reductions[4], elsewhere, &error), HAWSER_BAD_INPUT, &error, "malformed");
    expect(hw_reduction_accept(w.reductions[5], total, &error), HAWSER_BAD_INPUT, &error, "is due");
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_gives_the_canonical_bits),
        cmocka_unit_test(long_vectors_are_combined_between_nodes),
        cmocka_unit_test(blocks_of_one_node_send_along_a_tree),
        cmocka_unit_test(a_share_with_other_numbers_is_rejected),
        cmocka_unit_test(a_repeated_clock_must_be_the_same),
        cmocka_unit_test(malformed_shares_are_rejected),
        cmocka_unit_test(share_with_nan_is_rejected),
        cmocka_unit_test(root_rejects_a_total),
        cmocka_unit_test(a_surplus_reduction_is_noticed_along_a_tree),
        cmocka_unit_test(an_end_from_elsewhere_is_rejected_along_a_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
