/* What a client makes a server keep is bounded, and what it is refused for that is never what would end the waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "codec/keys.h"
#include "store/checkpoint.h"
#include "store/server.h"

enum { REMOTE = 1, WORKERS = 2, KEYS = 512, KIB = 1 << 10 };

/* One server, one session of a client's, and what it was answered. */
typedef struct scene {
    hw_server *server;
    hw_group *group;
    hw_client_session *session;
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
    assert_int_equal(client, REMOTE);
    assert_true(hw_reply_head_of(message, &head));
    s->replies++;
    if (head.outcome == HW_REFUSED || head.outcome == HW_OUT_OF_MEMORY) {
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
    assert_int_equal(hw_client_session_new(s->group, REMOTE, &s->session, NULL), HAWSER_OK);
    return s;
}

static void end(scene *s)
{
    hw_group_end(s->group);
    assert_true(hw_group_over(s->group));
    assert_int_equal(s->replies, s->asked); /* waiting requests have their replies */
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
    return hw_client_session_receive(s->session, message, error);
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
static void only_requests_that_would_wait_are_refused(void **state)
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

static void sums_of_later_clocks_are_bounded(void **state)
{
    (void)state;
    scene *s = begin((hw_table_spec){.last = KEYS - 1, .summed = true}, 256 * KIB);
    uint64_t ahead = 0, growth = 0;
    for (int round = 1; round < 3; round++) { /* settled rows release memory */
        uint64_t from = ahead;
        uint32_t before = s->refused;
        for (; ahead < from + 500 && s->refused == before; ahead++)
            push(s, HW_PUSH, ahead);
        assert_int_equal(s->refused, before + 1);
        assert_non_null(strstr(s->words, "in clocks that are not over hold more than"));
        assert_in_range(ahead - from, 4, 64);
        assert_true(growth == 0 || ahead - from == growth);
        growth = ahead - from;
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

/* A refused clock would be reported to no client. */
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

/* Keys first, first + 7 ...: ones. */
static void push_rows(scene *s, hw_operation operation, uint64_t first, size_t count, uint64_t clock)
{
    uint64_t keys[KEYS];
    double ones[KEYS];
    unsigned char body[16 * KEYS] = {0};
    for (size_t i = 0; i < count; i++) {
        keys[i] = first + 7 * i;
        ones[i] = 1;
    }
    size_t key_bytes = hw_keys_encode(HW_REQUEST_KEYS, keys, count, body), padded = (key_bytes + 7) / 8 * 8;
    memcpy(body + padded, ones, count * sizeof *ones);
    hw_message *message = NULL;
    const hw_request_head head = {.operation = (uint8_t)operation,
                                  .keys = HW_KEYS_GAPS,
                                  .values = HW_VALUES_DENSE,
                                  .clock = clock,
                                  .first = keys[0],
                                  .last = keys[count - 1],
                                  .count = count,
                                  .key_bytes = key_bytes,
                                  .value_bytes = count * sizeof *ones};
    s->asked++;
    assert_int_equal(hw_message_new(sizeof head + padded + count * sizeof *ones, &message, NULL), HAWSER_OK);
    memcpy(message->payload, &head, sizeof head);
    memcpy((unsigned char *)message->payload + sizeof head, body, padded + count * sizeof *ones);
    assert_int_equal(hw_client_session_receive(s->session, message, NULL), HAWSER_OK);
}

/* The value of a key, which is alone in its list. */
static double value_of(scene *s, uint64_t key)
{
    unsigned char gap[16] = {0};
    const size_t length = hw_keys_encode(HW_REQUEST_KEYS, &key, 1, gap);
    uint32_t before = s->refused;
    assert_int_equal(length, 0);
    ask(s, (hw_request_head){.operation = HW_PULL, .keys = HW_KEYS_GAPS, .first = key, .last = key, .count = 1}, NULL);
    assert_true(s->refused == before && s->replies == s->asked);
    return s->got[0];
}

static hw_server_figures figures_of(const scene *s)
{
    hw_server_figures figures;
    hw_server_figures_of(s->server, &figures);
    return figures;
}

enum { ROW = 2 * 8 + 64 /* what a row of a sparse table counts */ };

/* When the quota has no row left, requests without new rows are done: changes of stored rows, and reads. */
static void rows_are_bounded(void **state)
{
    (void)state;
    enum { MOST = 5 * KEYS + 100, FAR = 1 << 20 };
    scene *s = begin((hw_table_spec){.last = UINT64_MAX, .sparse = true}, 0);
    hw_server_limit(s->server, MOST * ROW);
    for (uint64_t i = 0; i < 5; i++)
        push_rows(s, HW_PUSH, i * FAR, KEYS, 0);
    assert_true(s->refused == 0 && figures_of(s).keys == 5 * KEYS && figures_of(s).quota_used == 5 * KEYS * ROW);
    const hw_operation pushes[] = {HW_PUSH, HW_PUSH_PULL, HW_PUT};
    for (uint32_t i = 0; i < 3; i++) {
        push_rows(s, pushes[i], 4 * FAR + 7 * 101, KEYS, 0); /* 101 of them are new, on two stripes */
        assert_int_equal(s->refused, i + 1);
        assert_string_equal(s->words,
                            "table 't': what this push adds would take up to 0.007706 MiB here, and tables have 0.1953 of "
                            "0.2029 MiB already (--memory-limit of the servers)");
        assert_true(figures_of(s).keys == 5 * KEYS && figures_of(s).quota_used == 5 * KEYS * ROW);
        assert_true(value_of(s, 4 * FAR + 7 * 200) == 1 && value_of(s, 4 * FAR + 7 * (KEYS + 5)) == 0);
    }
    push_rows(s, HW_PUSH, 4 * FAR + 7 * 100, KEYS, 0); /* 100 are */
    push_rows(s, HW_PUSH, 0, KEYS, 0);                 /* none is */
    assert_true(s->refused == 3 && figures_of(s).keys == MOST && figures_of(s).quota_used == MOST * ROW);
    assert_true(value_of(s, 7) == 2 && value_of(s, 4 * FAR + 7 * 200) == 2 && value_of(s, 4 * FAR + 7 * (KEYS + 5)) == 1);
    push_rows(s, HW_PUSH, FAR / 2, 1, 0);
    assert_int_equal(s->refused, 4);
    uint32_t number;
    hawser_error error = {0};
    hw_table_spec dense = s->spec;
    dense.name[0] = 'd';
    dense.sparse = false;
    dense.last = 0;
    assert_int_equal(hw_server_create(s->server, &dense, &number, &error), HAWSER_NO_MEMORY);
    assert_non_null(strstr(error.text, "table 'd': its keys would take up to"));
    hw_server_limit(s->server, MOST * ROW + 8);
    assert_int_equal(hw_server_create(s->server, &dense, &number, &error), HAWSER_OK);
    end(s);
}

/* Of a push that is done on one stripe and waits on the other, rows that are there count in place of what was reserved for
 * them. */
static void nothing_is_counted_twice(void **state)
{
    (void)state;
    scene *s = begin((hw_table_spec){.last = UINT64_MAX, .sparse = true}, 0);
    uint32_t held = 1;
    hw_server_limit(s->server, 2 * KEYS * ROW);
    assert_true(hw_server_hold(s->server, 0, &held));
    push_rows(s, HW_PUSH, 0, KEYS, 0);
    assert_int_equal(s->replies, 0);
    assert_true(figures_of(s).quota_used == KEYS * ROW);
    push_rows(s, HW_PUSH, 1 << 20, KEYS, 0); /* fits just so */
    assert_true(s->refused == 0 && figures_of(s).quota_used == 2 * KEYS * ROW);
    push_rows(s, HW_PUSH, 2 << 20, 1, 0);
    assert_true(s->refused == 1 && figures_of(s).quota_used == 2 * KEYS * ROW);
    hw_server_release(s->server, 0);
    assert_true(s->replies == 3 && figures_of(s).keys == 2 * KEYS && figures_of(s).quota_used == 2 * KEYS * ROW);
    end(s);
}

/* The sums of a clock count until it has ended, once for each worker that pushed; no clock waits for memory. */
static void rows_of_later_clocks_are_bounded(void **state)
{
    (void)state;
    scene *s = begin((hw_table_spec){.last = UINT64_MAX, .sparse = true, .summed = true}, 0);
    hw_server_limit(s->server, 4 * KEYS * ROW);
    for (uint64_t clock = 0; clock < 3; clock++)
        push_rows(s, HW_PUSH, 0, KEYS, clock);
    assert_true(s->refused == 0 && figures_of(s).quota_used == 3 * KEYS * ROW && figures_of(s).keys == 0);
    push_rows(s, HW_PUSH, 0, KEYS, 2); /* the same again takes nothing more once it is there */
    push_rows(s, HW_PUSH, 7, KEYS, 2);
    assert_true(s->refused == 0 && figures_of(s).quota_used == 3 * KEYS * ROW + ROW);
    push_rows(s, HW_PUSH, 3, KEYS, 3);
    assert_int_equal(s->refused, 1);
    for (uint64_t clock = 0; clock < 3; clock++)
        end_clock(s, clock);
    assert_true(figures_of(s).keys == KEYS + 1 && figures_of(s).quota_used == (KEYS + 1) * ROW);
    assert_true(value_of(s, 0) == 4 && value_of(s, 7) == 5 && value_of(s, 3) == 0);
    push_rows(s, HW_PUSH, 3, KEYS, 3);
    assert_true(s->refused == 1 && figures_of(s).quota_used == (2 * KEYS + 1) * ROW);
    hw_group_end(s->group);
    hw_group_free(s->group); /* no worker ends that clock any more */
    assert_true(figures_of(s).quota_used == (KEYS + 1) * ROW);
    assert_int_equal(hw_group_new(s->server, WORKERS, &s->group, NULL), HAWSER_OK);
    end(s);
}

/* Rows that a file replaces count no more, and no more lie in memory: tables that are filled and emptied in turn take no
 * more than one. */
static void forgotten_groups_take_no_memory(void **state)
{
    (void)state;
    scene *s = begin((hw_table_spec){.last = UINT64_MAX, .sparse = true}, 0);
    uint64_t before = figures_of(s).bytes;
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < 5; i++)
            push_rows(s, HW_PUSH, i << 20, KEYS, 0);
        assert_true(figures_of(s).bytes > before && figures_of(s).quota_used == 5 * KEYS * ROW);
        const hw_coming none = {0};
        uint64_t reserved = 1;
        assert_int_equal(hw_server_reserve_load(s->server, &none, 1, &reserved, NULL), HAWSER_OK);
        hw_server_forget(s->server, &none, 1);
        hw_server_loaded(s->server, &none, 1, reserved);
        for (uint64_t i = 0; i < 30; i++) /* on both stripes, which tell what they have when they work */
            assert_true(value_of(s, 7 * i) == 0);
        assert_true(figures_of(s).keys == 0 && figures_of(s).quota_used == 0 && figures_of(s).bytes == before);
    }
    end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_requests_that_would_wait_are_refused),
        cmocka_unit_test(lists_that_wait_are_counted),
        cmocka_unit_test(sums_of_later_clocks_are_bounded),
        cmocka_unit_test(ranges_of_clocks_are_bounded),
        cmocka_unit_test(rows_are_bounded),
        cmocka_unit_test(nothing_is_counted_twice),
        cmocka_unit_test(rows_of_later_clocks_are_bounded),
        cmocka_unit_test(forgotten_groups_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
