/*
 * Updates that relays send on under SSP and TAP, and add up if they wait for the same link. Random blocks on nodes, trees
 * and servers, types, forms, parts and deferred clocks: each update arrives at each block once, in the order of its block,
 * and all states are exactly the sum of all changes, because changes are whole numbers. Other tests send messages that no
 * relay may send, and sums that must not be made.
 */
#include "exchange_relays.h"
#include "sanitized.h"

static void each_update_arrives_once(void **state)
{
    (void)state;
    uint64_t messages = 0, sums = 0, updates = 0, seeds = runs_long() ? 20000 : tried_of(600);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        relays w;
        const relays_setup how = draw_relays(seed);
        open_relays(&w, &how, seed);
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            run_relays(&w, epoch, epoch == 1 ? (hw_policy){HW_POLICY_BSP, 0} : how.policy);
            check_totals(&w);
        }
        messages += w.messages;
        sums += w.sums;
        updates += w.updates;
        close_relays(&w);
    }
    assert_true(sums > messages / 8 && updates > messages + messages / 4);
}

/* ------------------------------------------------------------------------------------------------------- six blocks ---- */

/* Six blocks on three nodes: 0 1 | 2 3 | 4 5. */
static void open_six(relays *w, hw_adding_shape shape, hw_replica_spec spec, hw_policy policy)
{
    relays_setup how = {.shape = shape, .home = {0, 0, 1, 1, 2, 2}, .blocks = 6, .nodes = 3, .spec = spec, .policy = policy};
    open_relays(w, &how, 1);
    for (uint32_t b = 0; b < 6; b++)
        hw_replica_begin(w->replicas[b], 0, policy);
}

static void cut(relays *w, uint32_t b, uint64_t clock)
{
    hawser_error error = {0};
    hw_message *message;
    check(hw_replica_cut(w->replicas[b], clock, true, false, &message, &error), &error);
    send_all(w, b, message);
}

static void merge(relays *w, uint32_t b, uint64_t clock)
{
    hawser_error error = {0};
    check(hw_replica_merge(w->replicas[b], clock, &error), &error);
}

/* Makes a message with these updates, and one entry. */
static hw_message *claim(const relays *w, uint32_t source, uint32_t range, size_t entry, const hw_contribution *list,
                         uint32_t count)
{
    hawser_error error = {0};
    hw_message *values, *message;
    double *numbers = calloc(w->how.spec.count, sizeof *numbers);
    numbers[entry] = 1;
    check(encode(numbers, w->how.spec.count, &values, &error), &error);
    free(numbers);
    size_t length = (size_t)values->envelope.length, listed = count * sizeof *list;
    check(hw_message_new(length + listed + 1, &message, &error), &error);
    memcpy(message->payload, values->payload, length);
    memcpy((char *)message->payload + length, list, listed);
    message->envelope = values->envelope;
    message->envelope.kind = HW_MESSAGE_COMBINED;
    message->envelope.form = HW_FORM_DELTA;
    message->envelope.state = w->how.spec.state;
    message->envelope.source = source;
    message->envelope.range = range;
    message->envelope.covers = count;
    message->envelope.length = length + listed;
    hw_message_free(values);
    return message;
}

static void messages_that_no_relay_may_send_are_rejected(void **state)
{
    (void)state;
    static const struct {
        bool fine, bsp;
        uint32_t source, servers, range, count, covers;
        size_t entry;
        hw_contribution list[3]; /* clock, block, part, span, last */
    } cases[] = {
        {true, false, 0, 0, 0, 2, 2, 5, {{0, 4, 0, 0, 1}, {0, 0, 0, 0, 1}}},
        {true, false, 0, 0, 0, 3, 3, 5, {{0, 4, 0, 0, 1}, {1, 4, 0, 0, 0}, {1, 4, 1, 0, 1}}},
        {true, false, 0, 0, 0, 1, 1, 5, {{1, 4, 0, 1, 1}}},
        {true, false, 0, 2, 1, 1, 1, 5, {{0, 4, 0, 0, 1}}},
        {true, false, 4, 2, 2, 1, 1, 1500, {{0, 4, 0, 0, 1}}},
        {false, true, 0, 0, 0, 1, 1, 5, {{0, 4, 0, 0, 1}}},                   /* bsp has other sums */
        {false, false, 2, 0, 0, 1, 1, 5, {{0, 4, 0, 0, 1}}},                  /* from itself */
        {false, false, 9, 0, 0, 1, 1, 5, {{0, 4, 0, 0, 1}}},                  /* from no block */
        {false, false, 0, 0, 0, 2, 2, 5, {{0, 4, 0, 0, 1}, {0, 4, 0, 0, 1}}}, /* twice */
        {false, false, 0, 0, 0, 1, 1, 5, {{1, 4, 0, 0, 1}}},                  /* one is lost */
        {false, false, 0, 0, 0, 1, 1, 5, {{0, 4, 1, 0, 1}}},                  /* a part is lost */
        {false, false, 0, 0, 0, 1, 1, 5, {{3, 4, 0, 3, 1}}},                  /* more clocks together than ssp allows */
        {false, false, 0, 0, 0, 1, 1, 5, {{0, 4, 0, 1, 1}}},                  /* a clock before the first */
        {false, false, 0, 0, 0, 2, 2, 5, {{0, 4, 0, 0, 1}, {0, 2, 0, 0, 1}}}, /* the own one returns */
        {false, false, 0, 0, 0, 1, 1, 5, {{0, 6, 0, 0, 1}}},                  /* of no block */
        {false, false, 0, 0, 0, 1, 1, 5, {{0, 4, 0, 0, 2}}},                  /* no flag */
        {false, false, 0, 0, 0, 1, 0, 5, {{0, 4, 0, 0, 1}}},                  /* no list */
        {false, false, 0, 0, 0, 1, 2, 5, {{0, 4, 0, 0, 1}}},                  /* a list that is too long */
        {false, false, 0, 0, 0, 1, UINT32_MAX, 5, {{0, 4, 0, 0, 1}}},
        {false, false, 0, 0, 1, 1, 1, 5, {{0, 4, 0, 0, 1}}},    /* of a range, where there is one */
        {false, false, 0, 2, 0, 1, 1, 5, {{0, 4, 0, 0, 1}}},    /* of all ranges, where there are two */
        {false, false, 0, 2, 3, 1, 1, 5, {{0, 4, 0, 0, 1}}},    /* of a third */
        {false, false, 0, 2, 1, 1, 1, 1500, {{0, 4, 0, 0, 1}}}, /* out of its range */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const hw_adding_shape shape = {cases[k].servers > 0 ? HW_ADDING_SERVERS : HW_ADDING_TREE, cases[k].servers};
        const hw_policy policy = {cases[k].bsp ? HW_POLICY_BSP : HW_POLICY_SSP, cases[k].bsp ? 0 : 2};
        hawser_error error = {0};
        relays w;
        open_six(&w, shape, plain_spec(6, ENTRIES), policy);
        for (int again = 0; again < 2; again++) { /* once is enough */
            hw_message *message = claim(&w, cases[k].source, cases[k].range, cases[k].entry, cases[k].list, cases[k].count);
            message->envelope.covers = cases[k].covers;
            hawser_status status = hw_replica_accept(w.replicas[2], message, &error);
            if ((status == HAWSER_OK) != (cases[k].fine && again == 0))
                fail_msg("case %zu: %s", k, error.text);
            assert_true(status == HAWSER_OK || (status == HAWSER_BAD_INPUT && strstr(error.text, "block ") != NULL));
            if (!cases[k].fine)
                break;
        }
        close_relays(&w);
    }
}

/* Sends and delivers until nothing is left. */
static void deliver_all(relays *w)
{
    hawser_error error = {0};
    for (uint32_t sent = 1; sent > 0;) {
        sent = 0;
        for (uint32_t b = 0; b < w->how.blocks; b++)
            for (uint32_t s = 0; s < w->how.blocks; s++)
                for (hw_message *message; (message = link_take(&w->links[b][s])) != NULL; sent++)
                    check(hw_replica_accept(w->replicas[b], message, &error), &error);
        for (uint32_t b = 0; b < w->how.blocks; b++)
            send_on(w, b);
    }
}

/* The sum of two updates overflows, but no state does to which they are added one after the other. */
static void a_sum_that_overflows_is_not_made(void **state)
{
    (void)state;
    static const int32_t whole[8] = {0, -2000000000};
    static const double real[8] = {0, -1.5e308};
    for (int floats = 0; floats < 2; floats++) {
        hw_replica_spec spec = plain_spec(6, 8);
        hawser_error error = {0};
        relays w;
        spec.type = floats ? HAWSER_F64 : HAWSER_I32;
        spec.initial = floats ? (const void *)real : whole;
        open_six(&w, (hw_adding_shape){HW_ADDING_TREE, 0}, spec, (hw_policy){HW_POLICY_SSP, 1});
        for (uint32_t b = 0; b < 6; b++) {
            merge(&w, b, 0);
            if (b < 2 && floats)
                cache_of(w.replicas[b])[1] -= real[1];
            else if (b < 2)
                change_entry(&w, b, 1, -whole[1]);
            cut(&w, b, 0);
        }
        deliver_all(&w);
        for (uint32_t b = 0; b < 6; b++) {
            check(hw_replica_end(w.replicas[b], 1, &error), &error);
            assert_true(entry_of(&w, hw_replica_base(w.replicas[b]), 1) == (floats ? -real[1] : -(double)whole[1]));
        }
        assert_true(w.messages > 4);
        close_relays(&w);
    }
}

/* However many updates wait for a link, they become one message, and the memory of waiting ones is bounded. */
static void updates_that_wait_become_one_message(void **state)
{
    (void)state;
    relays w;
    open_six(&w, (hw_adding_shape){HW_ADDING_TREE, 0}, plain_spec(6, ENTRIES), (hw_policy){HW_POLICY_TAP, 0});
    for (uint64_t clock = 0; clock < 100; clock++) {
        merge(&w, 2, clock);
        change_entry(&w, 2, clock, 1);
        cut(&w, 2, clock);
        assert_true(hw_replica_waits(w.replicas[2]));
    }
    assert_int_equal(w.messages, 0);
    send_on(&w, 2);
    assert_int_equal(w.messages, 1);
    assert_int_equal(w.updates, 100);
    close_relays(&w);
}

static bool is_on_the_last_node(void *argument, uint32_t block)
{
    (void)argument;
    return block == 4;
}

/* What waits for a busy link goes on waiting, and becomes part of the next sum. */
static void a_busy_link_gets_its_updates_later(void **state)
{
    (void)state;
    hawser_error error = {0};
    relays w;
    open_six(&w, (hw_adding_shape){HW_ADDING_TREE, 0}, plain_spec(6, ENTRIES), (hw_policy){HW_POLICY_TAP, 0});
    for (uint64_t clock = 0; clock < 2; clock++) { /* node 0 has links to nodes 1 and 2 */
        merge(&w, 0, clock);
        change_entry(&w, 0, clock, 1);
        cut(&w, 0, clock);
        check(hw_replica_send_waiting(w.replicas[0], is_on_the_last_node, NULL, &error), &error);
        send_all(&w, 0, hw_replica_next(w.replicas[0]));
        assert_true(hw_replica_waits(w.replicas[0]));
        assert_int_equal(w.messages, clock + 1);
    }
    send_on(&w, 0);
    assert_int_equal(w.messages, 3);
    assert_int_equal(w.updates, 4);
    deliver_all(&w);
    for (uint32_t b = 1; b < 6; b++)
        assert_int_equal(hw_replica_clocks(w.replicas[b])->done[0], 2);
    close_relays(&w);
}

/* States that no relay can add go to all blocks, as over other graphs. */
static void other_states_are_sent_singly(void **state)
{
    (void)state;
    enum { FILTER, MERGE, SPREAD, BLOCKS, CASES };
    for (int k = 0; k < CASES; k++) {
        hw_replica_spec spec = plain_spec(6, ENTRIES);
        hawser_error error = {0};
        hw_message *message;
        relays w;
        if (k == FILTER)
            spec.filter = (hw_filter){.kind = HW_FILTER_RANDOM, .quota = 100, .max_held = 2};
        if (k == MERGE)
            spec.rule.merge = (void (*)(const hawser_merging *))free; /* never called */
        const hw_adding_kind kind = k == SPREAD ? HW_ADDING_SPREAD : k == BLOCKS ? HW_ADDING_BLOCKS : HW_ADDING_TREE;
        open_six(&w, (hw_adding_shape){kind, 0}, spec, (hw_policy){HW_POLICY_SSP, 1});
        merge(&w, 2, 0);
        check(hw_replica_cut(w.replicas[2], 0, true, false, &message, &error), &error);
        assert_int_equal(message->envelope.destination, HW_TO_BLOCKS);
        assert_false(hw_replica_waits(w.replicas[2]));
        hw_message_free(message);
        close_relays(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_update_arrives_once),           cmocka_unit_test(messages_that_no_relay_may_send_are_rejected),
        cmocka_unit_test(a_sum_that_overflows_is_not_made),   cmocka_unit_test(updates_that_wait_become_one_message),
        cmocka_unit_test(a_busy_link_gets_its_updates_later), cmocka_unit_test(other_states_are_sent_singly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
