/* What a guest makes a server keep is bounded, and what it is refused for that is never what would end the waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "store/server.h"

enum { GUEST = 1, WORKERS = 2, KEYS = 512, KIB = 1 << 10 };

/* One server, one seat of a guest's, and what it was answered. */
typedef struct scene {
    hw_server *server;
    hw_group *group;
    hw_seat *seat;
    uint32_t asked, replies, refused;
    char words[400]; /* of the last refusal */
    double got[KEYS];
    hw_table_spec spec;
} scene;

static void ready(void *argument, hw_stripe *stripe)
{
    (void)argument;
    hw_stripe_work(stripe);
}

static void reply(void *argument, uint32_t client, hw_message *message)
{
    scene *s = argument;
    hw_reply_head head;
    assert_int_equal(client, GUEST);
    assert_true(hw_reply_head_of(message, &head));
    s->replies++;
    if (head.outcome == HW_REFUSED) {
        s->refused++;
        hw_refusal_read(&head, message, s->words, sizeof s->words);
    } else if (head.count > 0 && head.count <= KEYS) {
        assert_true(hw_reply_read(&s->spec, &head, message, s->got));
    }
    hw_message_free(message);
}

static scene *begin(hw_table_spec spec, size_t waiting_bytes)
{
    static const uint64_t name = 11;
    scene *s = calloc(1, sizeof *s);
    const hw_server_options options = {.servers = 1,
                                       .names = &name,
                                       .clients = 1,
                                       .workers = 1,
                                       .stripes = 2,
                                       .waiting_bytes = waiting_bytes,
                                       .argument = s,
                                       .ready = ready,
                                       .reply = reply};
    uint32_t number;
    spec.type = HW_VALUE_F64;
    spec.width = 1;
    spec.function = hw_function_find("add");
    memcpy(spec.name, "t", 2);
    s->spec = spec;
    assert_int_equal(hw_server_new(&options, &s->server, NULL), HAWSER_OK);
    assert_int_equal(hw_server_create(s->server, &spec, &number, NULL), HAWSER_OK);
    assert_int_equal(hw_group_new(s->server, WORKERS, &s->group, NULL), HAWSER_OK);
    assert_int_equal(hw_seat_new(s->group, GUEST, &s->seat, NULL), HAWSER_OK);
    return s;
}

static void end(scene *s)
{
    hw_group_end(s->group);
    assert_true(hw_group_over(s->group));
    assert_int_equal(s->replies, s->asked); /* what waited has been told */
    hw_group_free(s->group);
    hw_server_free(s->server);
    free(s);
}

static hawser_status say(scene *s, hw_request_head head, const void *data, hawser_error *error)
{
    hw_message *message = NULL;
    size_t bytes = (size_t)(head.key_bytes + head.value_bytes);
    assert_int_equal(hw_message_new(sizeof head + bytes, &message, NULL), HAWSER_OK);
    memcpy(message->payload, &head, sizeof head);
    if (data != NULL)
        memcpy((unsigned char *)message->payload + sizeof head, data, bytes);
    return hw_seat_hear(s->seat, message, error);
}

static void ask(scene *s, hw_request_head head, const void *data)
{
    s->asked += head.operation != HW_CLOCK;
    assert_int_equal(say(s, head, data, NULL), HAWSER_OK);
}

static void pull(scene *s, uint64_t clock, uint64_t least)
{
    ask(s,
        (hw_request_head){
            .operation = HW_PULL, .keys = HW_KEYS_RANGE, .clock = clock, .least = least, .last = KEYS - 1, .count = KEYS},
        NULL);
}

static void push(scene *s, hw_operation operation, uint64_t clock)
{
    double values[KEYS];
    for (int i = 0; i < KEYS; i++)
        values[i] = i + 1;
    ask(s,
        (hw_request_head){.operation = (uint8_t)operation,
                          .keys = HW_KEYS_RANGE,
                          .values = HW_VALUES_DENSE,
                          .clock = clock,
                          .last = KEYS - 1,
                          .count = KEYS,
                          .value_bytes = sizeof values},
        values);
}

static void end_clock(scene *s, uint64_t clock)
{
    for (uint32_t w = 0; w < WORKERS; w++)
        ask(s,
            (hw_request_head){
                .operation = HW_CLOCK, .keys = HW_KEYS_RANGE, .worker = w, .clock = clock, .last = s->spec.last},
            NULL);
}

/* Pulls that wait until one is refused. */
static void fill_up(scene *s, uint64_t clock, uint64_t least)
{
    for (int i = 0; i < 200 && s->refused == 0; i++)
        pull(s, clock, least);
    assert_int_equal(s->refused, 1);
    assert_int_equal(s->replies, 1);
    assert_non_null(strstr(s->words, "wait for clocks hold more than"));
}

/* In a data-centric table and in any other: what may be done at once is done, and clocks free what waits. */
static void only_what_would_wait_is_refused(void **state)
{
    (void)state;
    enum { AT = 5 };
    for (int centric = 0; centric < 2; centric++) {
        scene *s = begin((hw_table_spec){.last = KEYS - 1, .centric = centric}, 64 * KIB);
        if (!centric)
            end_clock(s, 0);
        fill_up(s, AT, centric ? 0 : AT);
        push(s, HW_PUT, 0);
        pull(s, 0, centric ? 0 : 1); /* that clock is there */
        assert_int_equal(s->refused, 1);
        assert_int_equal(s->replies, 3);
        assert_true(s->got[7] == 8);
        for (uint64_t clock = 0; clock < AT; clock++) {
            end_clock(s, clock);
            push(s, HW_PUSH, clock);
        }
        assert_int_equal(s->refused, 1);
        assert_int_equal(s->replies, s->asked); /* nothing waits any more, */
        pull(s, AT + 1, centric ? 0 : AT + 1);  /* so that others may */
        assert_int_equal(s->refused, 1);
        assert_int_equal(s->replies, s->asked - 1);
        end(s);
    }
}

/* A list that has no number any more, for a request that waits with it, is the request's. */
static void lists_that_wait_are_counted(void **state)
{
    (void)state;
    enum { FAR = 1 << 20, WORDS = FAR / 64, MOST = 4 };
    static uint64_t bits[WORDS];
    scene *s = begin((hw_table_spec){.last = FAR - 1}, MOST * sizeof bits);
    hw_request_head head = {.operation = HW_PULL, .list = 1, .last = FAR - 1, .count = 2};
    bits[0] = 1;
    bits[WORDS - 1] = UINT64_C(1) << 63;
    uint32_t rounds = 0;
    for (; rounds < 3 * MOST && s->refused == 0; rounds++) {
        head.keys = HW_KEYS_BITS;
        head.key_bytes = sizeof bits;
        head.least = 0;
        ask(s, head, bits); /* the number is this list's now */
        assert_int_equal(s->refused, 0);
        head.keys = HW_KEYS_KNOWN;
        head.key_bytes = 0;
        head.least = 9;
        ask(s, head, NULL);
    }
    assert_int_equal(s->refused, 1);
    assert_in_range(rounds, MOST, MOST + 1);
    end(s);
}

static void sums_of_clocks_to_come_are_bounded(void **state)
{
    (void)state;
    scene *s = begin((hw_table_spec){.last = KEYS - 1, .summed = true}, 256 * KIB);
    uint64_t ahead = 0, room = 0;
    for (int round = 1; round < 3; round++) { /* what is settled makes room */
        uint64_t from = ahead;
        uint32_t before = s->refused;
        for (; ahead < from + 500 && s->refused == before; ahead++)
            push(s, HW_PUSH, ahead);
        assert_int_equal(s->refused, before + 1);
        assert_non_null(strstr(s->words, "in clocks that are not over hold more than"));
        assert_in_range(ahead - from, 4, 64);
        assert_true(room == 0 || ahead - from == room);
        room = ahead - from;
        push(s, HW_PUSH, from); /* the oldest: it would not end without */
        assert_int_equal(s->refused, before + 1);
        while (from < ahead)
            end_clock(s, from++);
        pull(s, 0, ahead);
        assert_int_equal(s->replies, s->asked);
        assert_true(s->got[7] == 8.0 * (double)ahead); /* one refused, and one twice, a round */
    }
    end(s);
}

/* A refused clock would be told to nobody. */
static void ranges_of_clocks_are_bounded(void **state)
{
    (void)state;
    enum { MOST = 1 << 17 };
    scene *s = begin((hw_table_spec){.last = UINT64_MAX, .sparse = true}, 0);
    hawser_error error = {0};
    hawser_status status = HAWSER_OK;
    hw_request_head clock = {.operation = HW_CLOCK, .keys = HW_KEYS_RANGE};
    for (; clock.first < 2 * MOST && status == HAWSER_OK; clock.first += 2) {
        clock.last = clock.first;
        status = say(s, clock, NULL, &error);
    }
    assert_int_equal(status, HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "sent a clock too many: table 't'"));
    assert_in_range(clock.first, MOST - 4, MOST + 4);
    end_clock(s, 0); /* one of all keys leaves one range */
    clock.clock = 1;
    clock.last = clock.first;
    assert_int_equal(say(s, clock, NULL, &error), HAWSER_OK);
    end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_would_wait_is_refused),
        cmocka_unit_test(lists_that_wait_are_counted),
        cmocka_unit_test(sums_of_clocks_to_come_are_bounded),
        cmocka_unit_test(ranges_of_clocks_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
