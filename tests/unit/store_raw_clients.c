/* Clients with the right key that break the protocol: the server disconnects them with one line and serves the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>

#include "codec/keys.h"
#include "raw_client.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/serving/client_listener.h"

enum { KEYS = 500, ASKED_MOST = 50 };

static pthread_mutex_t said_mutex = PTHREAD_MUTEX_INITIALIZER;
static char saying[600]; /* by the servers, last, the mutex held */
static int said_count;
static char said[600]; /* what they had said last when this thread asked */

static void note(void *argument, const char *text)
{
    (void)argument;
    pthread_mutex_lock(&said_mutex);
    snprintf(saying, sizeof saying, "%s", text);
    said_count++;
    pthread_mutex_unlock(&said_mutex);
}

/* Since the last call. */
static int lines_said(void)
{
    pthread_mutex_lock(&said_mutex);
    int count = said_count;
    said_count = 0;
    memcpy(said, saying, sizeof said);
    pthread_mutex_unlock(&said_mutex);
    return count;
}

/* A disconnected client may notice it before the line is printed. */
static int await_line(void)
{
    int lines;
    double end = hw_seconds() + RAW_CLIENT_PATIENCE;
    while ((lines = lines_said()) == 0 && hw_seconds() < end)
        usleep(100);
    if (lines == 0)
        fail_msg("no server has said anything in %g s", RAW_CLIENT_PATIENCE);
    return lines;
}

/* -------------------------------------------------------------------------------------------------- correct clients ---- */

/* A group that stays all the time, and has every clock's sum right. */
typedef struct proper {
    servers *set;
    test_node nodes[NODES_MOST];
    pthread_t thread;
    atomic_bool ends;
    atomic_int clocks;
} proper;

static hawser_status count_up(proper *p, test_node *node, hawser_store *store, hawser_error *error)
{
    uint32_t dense, sparse;
    uint64_t task, keys[KEYS];
    double ones[KEYS], out[KEYS];
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = i * UINT64_C(0x9e3779b97f4a7c15) >> 1;
        ones[i] = 1;
    }
    for (uint64_t i = 1; i < KEYS; i++) /* few; ascending */
        for (uint64_t k = i; k > 0 && keys[k] < keys[k - 1]; k--) {
            uint64_t other = keys[k];
            keys[k] = keys[k - 1];
            keys[k - 1] = other;
        }
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "dense", .last = KEYS - 1}, &dense, error));
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "sparse", .sparse = true}, &sparse, error));
    for (uint64_t t = 0; !atomic_load(&p->ends) || t < 3; t++) {
        HAWSER_TRY(hawser_push(store, &(hawser_request){.table = dense, .last = KEYS - 1, .values = ones}, &task, error));
        HAWSER_TRY(hawser_push(store, &(hawser_request){.table = sparse, .keys = keys, .count = KEYS, .values = ones}, &task,
                               error));
        HAWSER_TRY(hawser_store_wait(store, task, error));
        HAWSER_TRY(hawser_pull(store, &(hawser_request){.table = dense, .last = KEYS - 1, .out = out}, &task, error));
        HAWSER_TRY(hawser_store_wait(store, task, error));
        for (int i = 0; i < KEYS; i++)
            if (out[i] != (double)(t + 1))
                return hawser_fail(error, HAWSER_INTERNAL, "clock %d: key %d is %g", (int)t, i, out[i]);
        atomic_fetch_add(&p->clocks, 1);
    }
    (void)node;
    return HAWSER_OK;
}

static void proper_body(test_node *node)
{
    proper *p = node->user;
    hawser_store *store = NULL;
    node->status = hawser_store_open(node->job, &(hawser_store_options){.at = p->set->address, .key_file = "key"}, &store,
                                     &node->error);
    if (node->status == HAWSER_OK)
        node->status = count_up(p, node, store, &node->error);
    hawser_store_close(store);
}

static void *proper_main(void *argument)
{
    proper *p = argument;
    run_nodes(p->nodes, 1, plain_pairs, proper_body, p);
    return NULL;
}

typedef struct scene {
    servers set;
    proper proper;
} scene;

static scene *begin_with(servers set)
{
    scene *s = calloc(1, sizeof *s);
    s->set = set;
    s->set.warn = note;
    open_servers(&s->set);
    s->proper.set = &s->set;
    assert_int_equal(pthread_create(&s->proper.thread, NULL, proper_main, &s->proper), 0);
    double end = hw_seconds() + RAW_CLIENT_PATIENCE;
    while (atomic_load(&s->proper.clocks) < 2 && hw_seconds() < end) /* its tables are there */
        usleep(100);
    if (atomic_load(&s->proper.clocks) < 2)
        fail_msg("the proper group has not begun in %g s; the servers said last: %s", RAW_CLIENT_PATIENCE, saying);
    (void)lines_said();
    return s;
}

static scene *begin(uint32_t count)
{
    return begin_with((servers){.count = count});
}

static void end(scene *s)
{
    atomic_store(&s->proper.ends, true);
    pthread_join(s->proper.thread, NULL);
    if (s->proper.nodes[0].status != HAWSER_OK)
        fail_msg("the proper group: %s", s->proper.nodes[0].error.text);
    end_servers(&s->set);
    free(s);
}

/* ------------------------------------------------------------------------------------------------ incorrect clients ---- */

/* Seated alone, in a group of its own number. */
static void come_by_and_sit(raw_client *one, hw_transport_kind transport, const char *address)
{
    raw_client_comes_by(one, transport, address);
    raw_client_sits(one, (hw_register_wire){.group = one->number, .nodes = 1, .workers = 1});
    assert_int_equal(one->answered, HAWSER_OK);
}

static void come_and_sit(raw_client *one, const scene *s)
{
    come_by_and_sit(one, HW_NET_TCP, s->set.address);
}

/* It is sent away, with a line here and one there. */
static void is_dropped(raw_client *one, const char *words)
{
    raw_client_waits(one, UINT32_MAX, UINT32_MAX);
    if (strstr(one->ended, words) == NULL)
        fail_msg("no '%s' in: '%s'", words, one->ended);
    raw_client_goes(one);
    int lines = await_line();
    if (lines != 1 || strstr(said, words) == NULL)
        fail_msg("%d lines, not one with '%s': %s", lines, words, said);
}

static void an_unknown_message_disconnects_a_client(void **state)
{
    (void)state;
    scene *s = begin(1);
    raw_client one;
    hw_request_head head = {.operation = HW_PULL, .table = 0};
    for (unsigned kind = 1; kind < HW_MESSAGE_KINDS; kind++) {
        if (kind == HW_MESSAGE_ASK || kind == HW_MESSAGE_CLIENT)
            continue;
        raw_client_comes(&one, s->set.address);
        raw_client_says(&one, (uint16_t)kind, 1, &head, kind % 2 == 0 ? sizeof head : 0);
        is_dropped(&one, "which clients do not send");
    }
    for (int seated = 0; seated < 2; seated++) {
        const uint32_t words[] = {0, HW_CONTROL_REPLY, HW_CONTROL_ENDED, 77, UINT32_MAX};
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            if (seated == 1)
                come_and_sit(&one, s);
            else
                raw_client_comes(&one, s->set.address);
            raw_client_says(&one, HW_MESSAGE_CLIENT, words[i], &head, sizeof head);
            is_dropped(&one, "does not have");
        }
    }
    raw_client_comes(&one, s->set.address);
    raw_client_says(&one, HW_MESSAGE_ASK, 0, &head, sizeof head);
    is_dropped(&one, "before it had a session");
    end(s);
}

static void an_invalid_request_disconnects_a_client(void **state)
{
    (void)state;
    scene *s = begin(1);
    raw_client one;
    const hw_request_head heads[] = {{.key_bytes = 1},
                                     {.key_bytes = UINT64_MAX},
                                     {.key_bytes = UINT64_MAX - 6, .value_bytes = 7},
                                     {.value_bytes = 1},
                                     {.value_bytes = UINT64_MAX}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        come_and_sit(&one, s);
        raw_client_says(&one, HW_MESSAGE_ASK, 0, &heads[i], sizeof heads[i]);
        is_dropped(&one, "what is no request to a store");
    }
    for (size_t length = 0; length < sizeof *heads; length += 29) {
        come_and_sit(&one, s);
        raw_client_says(&one, HW_MESSAGE_ASK, 0, &heads[0], length);
        is_dropped(&one, "what is no request to a store");
    }
    end(s);
}

/* Requests have the numbers 1, 2, 3 ... of their session. */
static void a_request_out_of_order_disconnects_a_client(void **state)
{
    (void)state;
    const struct {
        uint64_t before, number; /* correct requests before; the wrong number */
        const char *expected;
    } wrong[] = {{0, 0, "request 0 of session"}, {0, 2, "request 2 of session"},
                 {3, 3, "request 3 of session"}, {3, 5, "request 5 of session"},
                 {3, 1, "request 1 of session"}, {2, UINT64_MAX, "request 18446744073709551615 of session"}};
    const hw_request_head pull = {.operation = HW_PULL, .keys = HW_KEYS_RANGE, .last = KEYS - 1, .count = KEYS};
    scene *s = begin(1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char expected[100];
        raw_client one, other;
        come_and_sit(&one, s);
        come_and_sit(&other, s);
        for (uint64_t r = 0; r < wrong[i].before; r++)
            raw_client_says(&one, HW_MESSAGE_ASK, 0, &pull, sizeof pull);
        raw_client_waits(&one, 0, (uint32_t)wrong[i].before);
        assert_int_equal(one.refusals, 0);
        one.requests = wrong[i].number - 1;
        raw_client_says(&one, HW_MESSAGE_ASK, 0, &pull, sizeof pull);
        is_dropped(&one, wrong[i].expected);
        snprintf(expected, sizeof expected, "%08x, and %d was expected", htonl(one.number), (int)wrong[i].before + 1);
        if (strstr(said, expected) == NULL)
            fail_msg("no '%s' in: %s", expected, said);
        raw_client_says(&other, HW_MESSAGE_ASK, 0, &pull, sizeof pull); /* its session has numbers of its own */
        raw_client_waits(&other, 0, 1);
        assert_int_equal(other.refusals, 0);
        raw_client_goes(&other);
    }
    end(s);
}

/* Well-formed requests with wrong contents are refused; their client may continue. */
static void wrong_fields_of_a_request_are_refused(void **state)
{
    (void)state;
    scene *s = begin(1);
    raw_client one;
    come_and_sit(&one, s);
    const uint64_t far = UINT64_MAX;
    const hw_request_head wrong[] = {
        {.operation = HW_PULL, .keys = HW_KEYS_RANGE, .table = 77, .count = 1},
        {.operation = HW_PULL, .keys = HW_KEYS_RANGE, .table = UINT32_MAX, .count = 1},
        {.operation = 0, .keys = HW_KEYS_RANGE, .count = 1},
        {.operation = 99, .keys = HW_KEYS_RANGE, .count = 1},
        {.operation = HW_PULL, .keys = HW_KEYS_RANGE, .last = far, .count = 0},
        {.operation = HW_PULL, .keys = HW_KEYS_RANGE, .last = KEYS, .count = KEYS + 1},
        {.operation = HW_PULL, .keys = HW_KEYS_RANGE, .first = 7, .last = 3, .count = far - 3},
        {.operation = HW_PULL, .keys = HW_KEYS_RANGE, .table = 1, .last = far, .count = far},
        {.operation = HW_PULL, .keys = HW_KEYS_GAPS, .table = 1, .last = far, .count = far},
        {.operation = HW_PUSH, .keys = HW_KEYS_RANGE, .values = HW_VALUES_DENSE, .last = KEYS - 1, .count = KEYS},
        {.operation = HW_PUSH, .keys = HW_KEYS_RANGE, .values = 77, .last = KEYS - 1, .count = KEYS},
        {.operation = HW_PULL_MEMORY, .keys = HW_KEYS_RANGE, .last = KEYS - 1, .count = KEYS},
        {.operation = HW_PUT_MEMORY, .keys = HW_KEYS_RANGE, .values = HW_VALUES_DENSE, .last = 0, .count = 1},
    };
    uint32_t count = sizeof wrong / sizeof *wrong;
    for (uint32_t i = 0; i < count; i++)
        raw_client_says(&one, HW_MESSAGE_ASK, 0, &wrong[i], sizeof wrong[i]);
    raw_client_waits(&one, 0, count);
    assert_false(raw_client_is_over(&one));
    assert_int_equal(one.refusals, count);
    const hw_request_head right = {.operation = HW_PULL, .keys = HW_KEYS_RANGE, .last = KEYS - 1, .count = KEYS};
    raw_client_says(&one, HW_MESSAGE_ASK, 0, &right, sizeof right);
    raw_client_waits(&one, 0, count + 1);
    assert_false(raw_client_is_over(&one));
    assert_int_equal(one.refusals, count);
    raw_client_goes(&one);
    assert_int_equal(lines_said(), 0);
    end(s);
}

/* No client waits for a reply to a clock, but others wait for the clock: the first wrong one is reported to every client of
 * the group, and to no other. */
static void a_wrong_clock_is_reported_to_its_group(void **state)
{
    (void)state;
    scene *s = begin(1);
    const hw_request_head wrong[] = {
        {.operation = HW_CLOCK, .keys = HW_KEYS_RANGE, .last = KEYS - 1, .worker = 2},
        {.operation = HW_CLOCK, .keys = HW_KEYS_RANGE, .last = KEYS - 1, .worker = UINT32_MAX, .clock = UINT64_MAX},
        {.operation = HW_CLOCK, .keys = HW_KEYS_RANGE, .last = KEYS},
        {.operation = HW_CLOCK, .keys = HW_KEYS_RANGE, .table = 77}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        raw_client two[2], other;
        come_and_sit(&other, s);
        for (uint32_t g = 0; g < 2; g++) {
            raw_client_comes(&two[g], s->set.address);
            raw_client_sits(&two[g], (hw_register_wire){.group = two[0].number, .node = g, .nodes = 2, .workers = 1});
            assert_int_equal(two[g].answered, HAWSER_OK);
        }
        for (int again = 0; again < 2; again++)
            raw_client_says(&two[1], HW_MESSAGE_ASK, 0, &wrong[i], sizeof wrong[i]);
        for (uint32_t g = 0; g < 2; g++) {
            raw_client_waits(&two[g], 0, 1);
            assert_int_equal(two[g].refusals, 1);
        }
        const hw_request_head right = {.operation = HW_PULL, .keys = HW_KEYS_RANGE, .last = KEYS - 1, .count = KEYS};
        raw_client_says(&two[1], HW_MESSAGE_ASK, 0, &right, sizeof right);
        raw_client_waits(&two[1], 0, 2); /* the second one would have come before */
        raw_client_says(&other, HW_MESSAGE_ASK, 0, &right, sizeof right);
        raw_client_waits(&other, 0, 1);
        assert_true(two[1].refusals == 1 && two[0].replies == 1 && other.refusals == 0);
        raw_client_goes(&two[0]);
        raw_client_goes(&two[1]);
        raw_client_goes(&other);
    }
    assert_int_equal(lines_said(), 0);
    end(s);
}

/* A short request for more than memory has, though each number of it may be asked for. */
static void a_client_cannot_ask_for_all_memory(void **state)
{
    (void)state;
    enum { WIDTH = 1 << 24, MANY = 128 };
    scene *s = begin(1);
    raw_client one;
    uint32_t number = 0;
    const hw_table_wire wire = {
        .name = "wide", .function = "add", .type = HW_VALUE_F64, .width = WIDTH, .sparse = 1, .last = UINT64_MAX};
    come_and_sit(&one, s);
    raw_client_says(&one, HW_MESSAGE_CLIENT, HW_CONTROL_TABLE, &wire, sizeof wire);
    raw_client_waits(&one, 2, 0);
    assert_int_equal(one.answered, HAWSER_OK);
    number = 2;
    struct {
        hw_request_head head;
        unsigned char keys[8];
    } pull = {.head = {.operation = HW_PULL, .keys = HW_KEYS_GAPS, .table = number, .last = MANY - 1, .count = MANY}};
    uint64_t keys[MANY];
    unsigned char gaps[2 * MANY];
    for (uint64_t i = 0; i < MANY; i++)
        keys[i] = i;
    pull.head.key_bytes = hw_keys_encode(HW_REQUEST_KEYS, keys, MANY, gaps);
    assert_true(pull.head.key_bytes <= sizeof pull.keys);
    memcpy(pull.keys, gaps, (size_t)pull.head.key_bytes);
    raw_client_says(&one, HW_MESSAGE_ASK, 0, &pull, sizeof pull);
    raw_client_waits(&one, 0, 1);
    assert_int_equal(one.refusals, 1);
    raw_client_goes(&one);
    end(s);
}

static void a_client_cannot_use_the_session_of_another(void **state)
{
    (void)state;
    scene *s = begin(1);
    raw_client one;
    come_and_sit(&one, s);
    const hw_request_head head = {.operation = HW_PULL, .keys = HW_KEYS_RANGE, .last = KEYS - 1, .count = KEYS};
    /* A message that claims to be passed on for another node. */
    (void)!hw_net_spread(one.net, raw_client_message(HW_MESSAGE_ASK, 0, &head, sizeof head), NULL);
    raw_client_waits(&one, UINT32_MAX, UINT32_MAX);
    raw_client_goes(&one);
    assert_int_equal(await_line(), 1);
    assert_non_null(strstr(said, "was lost: it forwarded a message"));
    end(s);
}

/* With the number of an existing client, or with numbers that make no group. */
static void a_session_belongs_to_one_client(void **state)
{
    (void)state;
    scene *s = begin(1);
    raw_client one, other;
    come_and_sit(&one, s);
    raw_client_sits(&one, (hw_register_wire){.group = one.number, .nodes = 1, .workers = 1});
    assert_non_null(strstr(one.said, "has a session already"));
    raw_client_comes(&other, s->set.address);
    raw_client_sits(&other, (hw_register_wire){.group = one.number, .nodes = 1, .workers = 1});
    assert_non_null(strstr(other.said, "has joined already"));
    raw_client_sits(&other, (hw_register_wire){.group = one.number, .node = 1, .nodes = 2, .workers = 1});
    assert_non_null(strstr(other.said, "nodes of a group differ"));
    hw_register_wire taken = {.group = other.number, .nodes = 1, .workers = 1};
    taken.session[0] = 1; /* the one of the first client */
    memcpy(taken.session + HW_STORE_SESSION - sizeof one.number, &one.number, sizeof one.number);
    raw_client_sits(&other, taken);
    assert_non_null(strstr(other.said, "has the session of client"));
    const hw_register_wire none[] = {{.nodes = 0, .workers = 1},
                                     {.node = 1, .nodes = 1, .workers = 1},
                                     {.nodes = 1, .workers = 0},
                                     {.nodes = 1, .workers = UINT32_MAX},
                                     {.nodes = UINT32_MAX, .workers = UINT32_MAX}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        raw_client_sits(&other, none[i]);
        assert_non_null(strstr(other.said, "a group has 1 to"));
    }
    raw_client_goes(&other);
    assert_false(raw_client_is_over(&one));
    raw_client_goes(&one);
    end(s);
}

/* ------------------------------------------------------------------------------------------------- what takes time ---- */

/* While a file is written keys are listed and clients come; while one is read, clients come. */
static void no_client_waits_for_a_disk(void **state)
{
    (void)state;
    scene *s = begin(1);
    raw_client lists, comes;
    const hw_keys_wire asked = {.table = 1, .last = UINT64_MAX, .most = UINT64_MAX};
    come_and_sit(&lists, s);
    hw_store_hold_all(s->set.store, false); /* as a save does */
    raw_client_says(&lists, HW_MESSAGE_CLIENT, HW_CONTROL_KEYS, &asked, sizeof asked);
    raw_client_waits(&lists, 2, 0);
    assert_int_equal(lists.answered, HAWSER_OK);
    come_and_sit(&comes, s);
    raw_client_goes(&comes);
    hw_store_release_all(s->set.store);

    hw_store_hold_all(s->set.store, true); /* as a load does */
    raw_client_says(&lists, HW_MESSAGE_CLIENT, HW_CONTROL_KEYS, &asked, sizeof asked);
    for (int i = 0; i < 3; i++) {
        come_and_sit(&comes, s);
        raw_client_goes(&comes);
    }
    assert_int_equal(lists.answers, 2); /* keys that come and go */
    hw_store_release_all(s->set.store);
    raw_client_waits(&lists, 3, 0);
    assert_int_equal(lists.answered, HAWSER_OK);
    raw_client_goes(&lists);
    end(s);
}

static void a_client_that_does_not_wait_for_replies_is_disconnected(void **state)
{
    (void)state;
    scene *s = begin(1);
    raw_client one;
    const hw_keys_wire asked = {.table = 1, .last = UINT64_MAX, .most = 1};
    come_and_sit(&one, s);
    hw_store_hold_all(s->set.store, true);
    for (int i = 0; i < 20; i++)
        raw_client_says(&one, HW_MESSAGE_CLIENT, HW_CONTROL_KEYS, &asked, sizeof asked);
    is_dropped(&one, "without waiting for replies");
    hw_store_release_all(s->set.store);
    end(s);
}

/* ------------------------------------------------------------------------------------------------ what is not taken ---- */

enum { BIG = 1 << 15, BIG_BYTES = 8 * BIG, UNREAD = 4 * BIG_BYTES, PULLS = 400 };

/* Makes a table of which a pull of all brings BIG_BYTES, unless it is there. */
static void make_big(raw_client *one)
{
    const hw_table_wire wire = {.name = "big", .function = "add", .type = HW_VALUE_F64, .width = 1, .last = BIG - 1};
    uint32_t before = raw_client_answers(one);
    raw_client_says(one, HW_MESSAGE_CLIENT, HW_CONTROL_TABLE, &wire, sizeof wire);
    raw_client_waits(one, before + 1, 0);
    assert_int_equal(one->answered, HAWSER_OK);
}

static const hw_request_head pull_big = {
    .operation = HW_PULL, .keys = HW_KEYS_RANGE, .table = 2, .last = BIG - 1, .count = BIG};

/* Values, so that a reply does not shrink to its zeros. */
static void fill_big(raw_client *one)
{
    static struct {
        hw_request_head head;
        double values[BIG];
    } push = {.head = {.operation = HW_PUSH,
                       .keys = HW_KEYS_RANGE,
                       .values = HW_VALUES_DENSE,
                       .table = 2,
                       .last = BIG - 1,
                       .count = BIG,
                       .value_bytes = BIG_BYTES}};
    for (int i = 0; i < BIG; i++)
        push.values[i] = i + 1;
    raw_client_says(one, HW_MESSAGE_ASK, 0, &push, sizeof push);
    raw_client_waits(one, 0, 1);
    assert_int_equal(one->refusals, 0);
}

/* From now on it takes no replies (stuffed), or rests after each. */
static void slow_down(raw_client *one, bool stuffed, unsigned rest)
{
    pthread_mutex_lock(&one->mutex);
    one->stuffed = stuffed;
    one->rest = rest;
    pthread_cond_broadcast(&one->changed);
    pthread_mutex_unlock(&one->mutex);
}

static const hw_transport_kind transports[] = {HW_NET_TCP, HW_NET_UNIX, HW_NET_SHARED};

/* Connects over one transport and asks for many rows: from now on it takes no replies, or rests after each. */
static void come_and_pull(raw_client *one, const scene *s, hw_transport_kind transport, bool stuffed, unsigned rest,
                          int pulls)
{
    come_by_and_sit(one, transport,
                    transport == HW_NET_TCP ? s->set.address : hw_client_listener_address(s->set.store->listener));
    make_big(one);
    fill_big(one);
    slow_down(one, stuffed, rest);
    for (int i = 0; i < pulls; i++)
        raw_client_says(one, HW_MESSAGE_ASK, 0, &pull_big, sizeof pull_big);
}

/* It is lost with the bytes that wait for it, little more than the bound, whatever it requested. */
static void a_client_that_takes_no_replies_is_lost(void **state)
{
    (void)state;
    scene *s = begin_with((servers){.count = 1, .unread_most = UNREAD, .failure_timeout = 1});
    for (size_t w = 0; w < sizeof transports / sizeof *transports; w++) {
        raw_client one;
        unsigned long long waited = 0;
        come_and_pull(&one, s, transports[w], true, 0, PULLS);
        assert_int_equal(await_line(), 1);
        const char *bytes = strstr(said, "it has stopped reading: ");
        assert_non_null(bytes);
        assert_int_equal(sscanf(bytes, "it has stopped reading: %llu bytes", &waited), 1);
        assert_in_range(waited, 1, UNREAD + 2 * BIG_BYTES);
        slow_down(&one, false, 0);
        raw_client_goes(&one);
        (void)lines_said();
    }
    end(s);
}

/* One that takes its time gets everything, in whatever pieces it asks. */
static void a_client_that_reads_slowly_is_waited_for(void **state)
{
    (void)state;
    scene *s = begin_with((servers){.count = 1, .unread_most = UNREAD, .failure_timeout = 1});
    for (size_t w = 0; w < sizeof transports / sizeof *transports; w++) {
        raw_client one;
        come_and_pull(&one, s, transports[w], false, 3000, PULLS);
        raw_client_waits(&one, 0, 1 + PULLS);
        assert_false(raw_client_is_over(&one));
        assert_int_equal(one.refusals, 0);
        raw_client_goes(&one);
        assert_int_equal(lines_said(), 0);
    }
    end(s);
}

/* A client that says goodbye while it is not read, because it has requested much, has left and is not lost. */
static void client_that_says_goodbye_while_paused_is_not_lost(void **state)
{
    (void)state;
    scene *s = begin_with((servers){.count = 1, .unread_most = UNREAD, .failure_timeout = 1});
    for (size_t w = 0; w < sizeof transports / sizeof *transports; w++) {
        raw_client one;
        come_and_pull(&one, s, transports[w], false, 20000, PULLS / 4);
        raw_client_waits(&one, 0, 2);
        raw_client_goes(&one);
        assert_int_equal(lines_said(), 0);
    }
    end(s);
}

/* Requests that wait for a clock hold up nothing, that clock least of all; those that would hold too much are refused. */
static void requests_that_wait_for_clocks_are_bounded(void **state)
{
    (void)state;
    enum { FEW = 40, GIB = 1 << 30, MOST = GIB / BIG_BYTES, MORE = 10, OTHERS = MOST / 32 /* what else a request holds */ };
    scene *s = begin_with((servers){.count = 1, .unread_most = UNREAD, .failure_timeout = 1});
    raw_client one;
    hw_request_head waits = pull_big;
    const hw_request_head clock = {.operation = HW_CLOCK, .keys = HW_KEYS_RANGE, .table = 2, .last = BIG - 1};
    come_and_sit(&one, s);
    make_big(&one);
    fill_big(&one);
    waits.least = 1;
    for (int i = 0; i < FEW; i++)
        raw_client_says(&one, HW_MESSAGE_ASK, 0, &waits, sizeof waits);
    raw_client_says(&one, HW_MESSAGE_ASK, 0, &clock, sizeof clock);
    raw_client_waits(&one, 0, 1 + FEW);
    assert_int_equal(one.refusals, 0);
    waits.least = 2; /* never */
    for (int i = 0; i < MOST + MORE; i++)
        raw_client_says(&one, HW_MESSAGE_ASK, 0, &waits, sizeof waits);
    uint32_t answers = raw_client_answers(&one);
    raw_client_says(&one, HW_MESSAGE_CLIENT, HW_CONTROL_STAT, NULL, 0); /* answered behind all refusals */
    raw_client_waits(&one, answers + 1, 0);
    assert_in_range(one.refusals, 1, MORE + OTHERS);
    uint32_t replies = one.replies; /* before the request, whose reply may arrive at once */
    raw_client_says(&one, HW_MESSAGE_ASK, 0, &pull_big, sizeof pull_big);
    raw_client_waits(&one, 0, replies + 1);
    assert_false(raw_client_is_over(&one));
    raw_client_goes(&one);
    assert_int_equal(lines_said(), 0);
    end(s);
}

static void a_client_that_begins_pushes_without_end_is_disconnected(void **state)
{
    (void)state;
    scene *s = begin(1);
    raw_client one;
    const double value = 1;
    struct {
        hw_request_head head;
        double value;
    } part = {.head = {.operation = HW_PUSH,
                       .keys = HW_KEYS_RANGE,
                       .values = HW_VALUES_DENSE,
                       .count = 1,
                       .parts = 2,
                       .value_bytes = sizeof value},
              .value = 0};
    come_and_sit(&one, s);
    for (uint64_t i = 1; i <= 5000; i++) {
        part.head.task = i;
        raw_client_says(&one, HW_MESSAGE_ASK, 0, &part, sizeof part);
    }
    is_dropped(&one, "began 4096 pushes in parts, and one more");
    come_and_sit(&one, s); /* the client that ends them may have any number */
    for (uint64_t i = 2; i <= 2 * 5000 + 1; i++) {
        part.head.task = i / 2;
        raw_client_says(&one, HW_MESSAGE_ASK, 0, &part, sizeof part);
    }
    raw_client_waits(&one, 0, 5000);
    assert_false(raw_client_is_over(&one));
    raw_client_goes(&one);
    end(s);
}

static void *ask_on_and_on(void *argument)
{
    static const hw_request_head pull = {.operation = HW_PULL, .keys = HW_KEYS_RANGE, .last = KEYS - 1, .count = KEYS};
    raw_client *one = argument;
    bool goes_on = true;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)RAW_CLIENT_PATIENCE;
    for (uint32_t asked = 1; goes_on; asked++) {
        raw_client_says(one, HW_MESSAGE_ASK, 0, &pull, sizeof pull);
        pthread_mutex_lock(&one->mutex);
        int late = 0;
        while (late == 0 && one->ended[0] == '\0' && !one->over && asked - one->replies > ASKED_MOST)
            late = pthread_cond_timedwait(&one->changed, &one->mutex, &until);
        goes_on = late == 0 && one->ended[0] == '\0' && !one->over;
        pthread_mutex_unlock(&one->mutex);
    }
    return NULL;
}

/* Of a group of two one asks on and on, and the other wants its session and goes at once. */
static void a_client_that_leaves_at_once_ends_only_its_group(void **state)
{
    (void)state;
    scene *s = begin(1);
    for (int round = 0; round < 60; round++) {
        raw_client asks, goes;
        pthread_t thread;
        raw_client_comes(&asks, s->set.address);
        raw_client_sits(&asks, (hw_register_wire){.group = asks.number, .nodes = 2, .workers = 1});
        assert_int_equal(asks.answered, HAWSER_OK);
        assert_int_equal(pthread_create(&thread, NULL, ask_on_and_on, &asks), 0);
        raw_client_comes(&goes, s->set.address);
        const hw_register_wire session = {.group = asks.number, .node = 1, .nodes = 2, .workers = 1};
        raw_client_says(&goes, HW_MESSAGE_CLIENT, HW_CONTROL_REGISTER, &session, sizeof session);
        raw_client_goes(&goes);
        hw_net_stop(asks.net, 5); /* its group may go on, if its other node had gone before it could sit down */
        raw_client_over(&asks);
        pthread_join(thread, NULL);
        assert_true(asks.ended[0] == '\0' || strstr(asks.ended, "this group has ended") != NULL);
        raw_client_goes(&asks);
    }
    end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_message_disconnects_a_client),
        cmocka_unit_test(an_invalid_request_disconnects_a_client),
        cmocka_unit_test(a_request_out_of_order_disconnects_a_client),
        cmocka_unit_test(wrong_fields_of_a_request_are_refused),
        cmocka_unit_test(a_wrong_clock_is_reported_to_its_group),
        cmocka_unit_test(a_client_cannot_ask_for_all_memory),
        cmocka_unit_test(a_client_cannot_use_the_session_of_another),
        cmocka_unit_test(a_session_belongs_to_one_client),
        cmocka_unit_test(no_client_waits_for_a_disk),
        cmocka_unit_test(a_client_that_does_not_wait_for_replies_is_disconnected),
        cmocka_unit_test(a_client_that_leaves_at_once_ends_only_its_group),
        cmocka_unit_test(a_client_that_takes_no_replies_is_lost),
        cmocka_unit_test(a_client_that_reads_slowly_is_waited_for),
        cmocka_unit_test(client_that_says_goodbye_while_paused_is_not_lost),
        cmocka_unit_test(requests_that_wait_for_clocks_are_bounded),
        cmocka_unit_test(a_client_that_begins_pushes_without_end_is_disconnected),
    };
    return cmocka_run_group_tests(tests, prepare_servers, remove_directory);
}
