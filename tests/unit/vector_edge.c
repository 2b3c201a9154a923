/* One edge of a vector, stepped in every small order: what a sender scatters, and what arrives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "vector/edge.h"

enum { ACTS = 7, MOST = 9, WIRE = 16 };

/* Both ends, and the link between them: its messages arrive in order, items one way, acknowledgements the other. */
typedef struct pair {
    hw_edge_rules rules;
    hw_edge_out out;
    hw_edge_in in;
    hw_message *wire[WIRE];
    size_t wire_begin, wire_end;
    uint64_t back[WIRE];
    size_t back_begin, back_end;
    uint64_t scattered, gathered; /* iterations of the loops of both ends */
    double given, got;            /* numbers that were scattered and gathered, added up */
    double last_given, last_got;
    uint64_t seen; /* the last iteration that was gathered */
    bool ended;    /* the receiver's loop */
    bool lacks;    /* an acknowledgement, for the last act */
} pair;

typedef enum act { SCATTER, SCATTER_IN_TWO, ARRIVE, GATHER, RETURN, FLUSH, END } act;

static hw_message *item_of(uint64_t iteration, double number)
{
    hw_message *item = NULL;
    assert_int_equal(hw_message_new(sizeof number, &item, NULL), HAWSER_OK);
    memcpy(item->payload, &number, sizeof number);
    item->envelope.clock = iteration;
    item->envelope.span = 1;
    return item;
}

static double number_of(const hw_message *item)
{
    double number;
    memcpy(&number, item->payload, sizeof number);
    return number;
}

static void send(pair *p)
{
    for (hw_message *item; (item = hw_edge_next(&p->out)) != NULL;) {
        assert_true(p->wire_end < WIRE);
        p->wire[p->wire_end++] = item;
    }
}

static bool give_back(pair *p);

/* in_two: an acknowledgement arrives while the thread that scatters has the pending item. */
static bool scatter(pair *p, bool in_two)
{
    if (!hw_edge_open(&p->out))
        return false;
    double number = (double)(1 << p->scattered);
    hw_message *pending = hw_edge_begin(&p->out);
    size_t before = p->wire_end;
    if (in_two && !give_back(p))
        p->lacks = true;
    assert_true(p->wire_end == before && hw_edge_next(&p->out) == NULL); /* the thread that scatters has it */
    if (p->rules.deltas && pending != NULL) {
        double sum = number_of(pending) + number;
        memcpy(pending->payload, &sum, sizeof sum);
        pending->envelope.clock = p->scattered;
        pending->envelope.span++;
        hw_edge_end(&p->out, pending, true);
    } else {
        hw_edge_end(&p->out, hw_edge_drops(&p->out) ? NULL : item_of(p->scattered, number), false);
    }
    p->given += number;
    p->last_given = number;
    p->scattered++;
    send(p);
    return !p->lacks;
}

static bool arrive(pair *p)
{
    if (p->wire_begin == p->wire_end)
        return false;
    assert_true(hw_edge_arrived(&p->in, p->wire[p->wire_begin++]));
    assert_true(p->in.held <= p->rules.most + 2);
    return true;
}

static void take(pair *p, hw_message *first)
{
    for (hw_message *next; first != NULL; first = next) {
        next = first->next;
        p->got += number_of(first);
        p->last_got = number_of(first);
        assert_true(p->seen == UINT64_MAX || first->envelope.clock > p->seen);
        p->seen = first->envelope.clock;
        hw_message_free(first);
    }
}

static bool gather(pair *p)
{
    uint64_t number, iteration = p->gathered;
    if (p->ended || !hw_edge_ready(&p->in, iteration) || (p->rules.sync == HW_VECTOR_TAP && p->in.held == 0))
        return false;
    uint64_t slack = p->rules.sync == HW_VECTOR_SSP ? p->rules.slack : 0;
    if (p->rules.sync != HW_VECTOR_TAP && iteration >= slack)
        assert_true(p->in.newest >= iteration - slack && p->in.arrived > 0);
    hw_message *first = hw_edge_take(&p->in, iteration, &number);
    if (p->rules.sync == HW_VECTOR_BSP) {
        assert_non_null(first);
        assert_null(first->next);
        assert_int_equal(first->envelope.clock, iteration);
    }
    take(p, first);
    p->gathered++;
    if (number > 0)
        p->back[p->back_end++] = number;
    return true;
}

static bool give_back(pair *p)
{
    if (p->back_begin == p->back_end)
        return false;
    uint64_t number = p->back[p->back_begin++];
    if (number == 0)
        hw_edge_receiver_ended(&p->out);
    else
        assert_true(hw_edge_acknowledged(&p->out, number));
    send(p);
    /* What waits is sent when all before it are gathered. */
    assert_true(p->out.begun || p->out.pending == NULL || number != p->out.sent);
    return true;
}

static bool end(pair *p)
{
    if (p->ended)
        return false;
    p->ended = true;
    p->back[p->back_end++] = 0;
    return true;
}

static bool flush(pair *p)
{
    if (p->out.pending == NULL || p->in.held + (p->wire_end - p->wire_begin) > p->rules.most)
        return false;
    hw_edge_flush(&p->out);
    send(p);
    assert_null(p->out.pending);
    return true;
}

static bool step(pair *p, act what)
{
    switch (what) {
    case SCATTER: return scatter(p, false);
    case SCATTER_IN_TWO: return scatter(p, true);
    case ARRIVE: return arrive(p);
    case GATHER: return gather(p);
    case RETURN: return give_back(p);
    case FLUSH: return flush(p);
    case END: return end(p);
    }
    return false;
}

/* Ends both loops, and checks what has come of everything. */
static void finish(pair *p)
{
    hw_edge_flush(&p->out);
    send(p);
    while (arrive(p))
        continue;
    hw_message *rest = hw_edge_take_all(&p->in);
    bool any = p->scattered > 0;
    take(p, rest);
    if (p->rules.deltas)
        assert_true(p->got == p->given);
    else if (any && !p->ended)
        assert_true(p->last_got == p->last_given); /* the newest is never lost */
    hw_edge_in_free(&p->in);
    hw_edge_out_free(&p->out);
}

/* Runs acts from the beginning; returns false if the last one is not possible. */
static bool run(const hw_edge_rules *rules, const act *acts, size_t length)
{
    pair p = {.rules = *rules, .seen = UINT64_MAX};
    bool possible = true;
    p.out.rules = p.in.rules = &p.rules;
    for (size_t i = 0; possible && i < length; i++)
        possible = step(&p, acts[i]);
    finish(&p);
    return possible;
}

/* Runs all orders of up to MOST acts that begin with these. Returns their number. */
static uint64_t run_all_after(const hw_edge_rules *rules, act *acts, size_t length)
{
    uint64_t count = 1;
    for (unsigned what = 0; length < MOST && what < ACTS; what++) {
        acts[length] = (act)what;
        if (run(rules, acts, length + 1))
            count += run_all_after(rules, acts, length + 1);
    }
    return count;
}

static uint64_t run_all(const hw_edge_rules *rules)
{
    act acts[MOST];
    return run_all_after(rules, acts, 0);
}

static void test_every_order_under_tap(void **state)
{
    (void)state;
    assert_true(run_all(&(hw_edge_rules){.most = 1}) > 1000);
    assert_true(run_all(&(hw_edge_rules){.most = 1, .deltas = true}) > 1000);
    assert_true(run_all(&(hw_edge_rules){.most = 1, .waits = true}) > 10);
}

static void test_every_order_under_bsp_and_ssp(void **state)
{
    (void)state;
    assert_true(run_all(&(hw_edge_rules){.sync = HW_VECTOR_BSP, .most = 3}) > 10);
    assert_true(run_all(&(hw_edge_rules){.sync = HW_VECTOR_SSP, .most = 3, .slack = 1}) > 10);
    assert_true(run_all(&(hw_edge_rules){.sync = HW_VECTOR_SSP, .most = 3, .slack = 1, .deltas = true}) > 10);
}

static void test_waits_are_as_long_as_the_sync_says(void **state)
{
    (void)state;
    const hw_edge_rules tap = {.most = 1}, waits = {.most = 1, .waits = true}, bsp = {.sync = HW_VECTOR_BSP, .most = 3},
                        ssp = {.sync = HW_VECTOR_SSP, .slack = 2, .most = 4, .first = 5};
    const struct {
        const hw_edge_rules *rules;
        uint64_t opens; /* scatters without an acknowledgement */
    } cases[] = {{&tap, 5}, {&waits, 1}, {&bsp, 3}, {&ssp, 4}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        hw_edge_out out = {.rules = cases[c].rules};
        uint64_t scatters = 0;
        for (; scatters < 5 && hw_edge_open(&out); scatters++) {
            (void)hw_edge_begin(&out);
            hw_edge_end(&out, item_of(scatters, 1), false);
            hw_message_free(hw_edge_next(&out));
        }
        assert_int_equal(scatters, cases[c].opens);
        hw_edge_receiver_ended(&out);
        assert_true(hw_edge_open(&out));
        hw_edge_out_free(&out);
    }
    hw_edge_in in = {.rules = &ssp};
    assert_true(hw_edge_ready(&in, 6) && !hw_edge_ready(&in, 7)); /* begins with 5, so 7 waits for 5 */
    in.ended = true;
    assert_true(hw_edge_ready(&in, 7));
}

static void test_messages_out_of_order_are_refused(void **state)
{
    (void)state;
    const hw_edge_rules bsp = {.sync = HW_VECTOR_BSP, .most = 3}, tap = {.most = 1};
    hw_edge_in in = {.rules = &bsp};
    hw_edge_out out = {.rules = &bsp, .sent = 3, .gathered = 1};
    static const struct {
        uint64_t number, iteration;
        bool right;
    } items[] = {{2, 0, false}, {1, 4, true}, {1, 5, false}, {2, 6, false}, {2, 4, false}, {2, 5, true}, {3, 6, true}};
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        hw_message *item = item_of(items[i].iteration, 1);
        item->envelope.epoch = items[i].number;
        assert_int_equal(hw_edge_arrived(&in, item), items[i].right);
        if (!items[i].right)
            hw_message_free(item);
    }
    hw_edge_in_free(&in);
    assert_false(hw_edge_acknowledged(&out, 1));
    assert_false(hw_edge_acknowledged(&out, 4));
    assert_true(hw_edge_acknowledged(&out, 3));
    hw_edge_in full = {.rules = &tap};
    for (uint64_t n = 1; n <= 4; n++) { /* one in flight, and two flushes */
        hw_message *item = item_of(n, 1);
        item->envelope.epoch = n;
        assert_int_equal(hw_edge_arrived(&full, item), n <= 3);
        if (n > 3)
            hw_message_free(item);
    }
    hw_edge_in_free(&full);
}

static void test_an_ended_receiver_gets_deltas_and_no_values(void **state)
{
    (void)state;
    for (int deltas = 0; deltas < 2; deltas++) {
        const hw_edge_rules rules = {.sync = HW_VECTOR_BSP, .most = 3, .deltas = deltas};
        hw_edge_out out = {.rules = &rules, .sent = 3};
        hw_edge_receiver_ended(&out);
        assert_int_equal(hw_edge_drops(&out), !deltas);
        for (uint64_t t = 3; t < 6; t++) {
            hw_message *pending = hw_edge_begin(&out);
            hw_edge_end(&out, pending != NULL ? pending : item_of(t, 1), pending != NULL);
            assert_null(hw_edge_next(&out));
        }
        hw_edge_flush(&out);
        hw_message *item = hw_edge_next(&out);
        assert_int_equal(item != NULL, deltas);
        assert_int_equal(out.added, deltas ? 2 : 0);
        hw_message_free(item);
        hw_edge_out_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_order_under_tap),
        cmocka_unit_test(test_every_order_under_bsp_and_ssp),
        cmocka_unit_test(test_waits_are_as_long_as_the_sync_says),
        cmocka_unit_test(test_messages_out_of_order_are_refused),
        cmocka_unit_test(test_an_ended_receiver_gets_deltas_and_no_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
