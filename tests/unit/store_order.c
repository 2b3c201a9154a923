/*
 * Clients and servers under a seed: messages of every link arrive in order, but links, stripes and clients take turns as the
 * seed says. What is read is compared with a plain model of the tables.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sanitized.h"
#include "store_world.h"

static void settle(world *w)
{
    while (step(w))
        ;
}

/* ---------------------------------------------------------------------------------------------------------------------- */

enum { KEYS = 300, WIDTH = 2, OPERATIONS = 60 };

/* Integers, whose sums are right in any order: after everything each key holds what all clients pushed to it together. What
 * a client reads holds all of its own that was before, and no more than all of everybody's. */
static void sums_are_right(bool sparse, uint64_t seed)
{
    static uint64_t keys[OPERATIONS][KEYS];
    static int64_t values[OPERATIONS][KEYS * WIDTH], out[OPERATIONS][KEYS * WIDTH];
    static int64_t own[OPERATIONS][KEYS][WIDTH], plain[KEYS][WIDTH], mine[CLIENTS_MOST][KEYS][WIDTH];
    static uint64_t universe[KEYS];
    world *w = open_world(seed, 1 + (uint32_t)(seed % SERVERS_MOST), 1 + (uint32_t)(seed % CLIENTS_MOST), 0, 6000);
    uint64_t base = sparse || seed % 3 == 0 ? 0 : UINT64_MAX - KEYS + 1; /* both ends of the key space */
    for (uint64_t i = 0; i < KEYS; i++)
        universe[i] = !sparse ? base + i : i < KEYS - 1 ? i * (UINT64_MAX / KEYS) : UINT64_MAX;
    uint32_t table = create(w, spec_of("t", HW_VALUE_I64, WIDTH, sparse, base, sparse ? UINT64_MAX : base + KEYS - 1));
    memset(plain, 0, sizeof plain);
    memset(mine, 0, sizeof mine);
    size_t counts[OPERATIONS], firsts[OPERATIONS];
    hw_operation operations[OPERATIONS];
    bool ranges[OPERATIONS];
    for (int n = 0; n < OPERATIONS; n++) {
        uint32_t c = (uint32_t)hw_random_below(&w->random, w->clients);
        size_t count = 0, first = (size_t)hw_random_below(&w->random, KEYS);
        bool range = !sparse && hw_random_below(&w->random, 3) == 0, repeat = n > 3 && hw_random_below(&w->random, 2) == 0;
        if (repeat) { /* the same list of keys again */
            int old = (int)hw_random_below(&w->random, (uint64_t)n);
            count = counts[old], first = firsts[old], range = ranges[old];
            memcpy(keys[n], keys[old], sizeof keys[n]);
        } else if (range) {
            count = 1 + (size_t)hw_random_below(&w->random, KEYS - first);
        } else {
            for (size_t i = 0; i < KEYS; i++)
                if (hw_random_below(&w->random, 4) == 0 || (i == first && count == 0))
                    keys[n][count++] = universe[i];
        }
        counts[n] = count, firsts[n] = first, ranges[n] = range;
        operations[n] = (hw_operation)(HW_PUSH + hw_random_below(&w->random, 3));
        bool pushes = operations[n] != HW_PULL;
        for (size_t i = 0; i < count; i++) {
            size_t at = first + i;
            for (size_t k = 0; !range && k < KEYS; k++)
                if (universe[k] == keys[n][i])
                    at = k;
            for (size_t k = 0; k < WIDTH; k++) {
                values[n][i * WIDTH + k] =
                    hw_random_below(&w->random, 3) == 0 ? 0 : 1 + (int64_t)hw_random_below(&w->random, 9);
                if (pushes) {
                    plain[at][k] += values[n][i * WIDTH + k];
                    mine[c][at][k] += values[n][i * WIDTH + k];
                }
            }
            memcpy(own[n][i], mine[c][at], sizeof own[n][i]);
        }
        submit(w, c,
               (hw_order){.operation = operations[n],
                          .table = table,
                          .keys = range ? NULL : keys[n],
                          .count = count,
                          .first = range ? universe[first] : 0,
                          .last = range ? universe[first + count - 1] : 0,
                          .values = pushes ? values[n] : NULL,
                          .out = operations[n] != HW_PUSH ? out[n] : NULL});
        for (uint64_t k = hw_random_below(&w->random, 30); k > 0; k--)
            step(w);
    }
    settle(w);
    for (int n = 0; n < OPERATIONS; n++)
        for (size_t i = 0; operations[n] != HW_PUSH && i < counts[n]; i++)
            for (size_t k = 0; k < WIDTH; k++) {
                size_t at = firsts[n] + i;
                for (size_t u = 0; !ranges[n] && u < KEYS; u++)
                    if (universe[u] == keys[n][i])
                        at = u;
                assert_true(out[n][i * WIDTH + k] >= own[n][i][k] && out[n][i * WIDTH + k] <= plain[at][k]);
            }
    static int64_t all[KEYS * WIDTH];
    submit(w, 0, (hw_order){.operation = HW_PULL, .table = table, .keys = universe, .count = KEYS, .out = all});
    settle(w);
    assert_memory_equal(all, plain, sizeof plain);
    for (uint32_t c = 0; c < w->clients; c++)
        assert_int_equal(hw_client_open(w->client[c]), 0);
    close_world(w);
}

static void sums_of_dense_tables(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < tried_of(60); seed++)
        sums_are_right(false, seed);
}

static void sums_of_sparse_tables(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed < 100 + tried_of(60); seed++)
        sums_are_right(true, seed);
}

/* Lists whose parts have thousands of keys in each of several arcs of several servers, in one message and in several. */
static void long_lists_span_many_arcs(void **state)
{
    (void)state;
    enum { LONG = 20000, ALL = 2 * LONG, ROUNDS = 3 };
    static uint64_t keys[LONG];
    static float values[LONG], out[LONG], all[ALL], plain[ALL];
    for (uint64_t seed = 0; seed < tried_of(12); seed++) {
        size_t part = seed % 2 == 0 ? 1 << 15 : 700;
        world *w =
            open_world_of((world_shape){.seed = seed, .servers = 1 + (uint32_t)(seed % 4), .clients = 1, .part = part});
        uint32_t table = create(w, spec_of("t", HW_VALUE_F32, 1, false, 5, 5 + ALL - 1));
        memset(plain, 0, sizeof plain);
        for (int round = 0; round < ROUNDS; round++) {
            size_t count = 0;
            for (uint64_t k = 0; k < ALL && count < LONG; k++)
                if (hw_random_below(&w->random, 2) == 0)
                    keys[count++] = 5 + k;
            for (size_t i = 0; i < count; i++) {
                values[i] = (float)(1 + hw_random_below(&w->random, 9));
                plain[keys[i] - 5] += values[i];
            }
            submit(w, 0, (hw_order){.operation = HW_PUSH, .table = table, .keys = keys, .count = count, .values = values});
            settle(w);
            submit(w, 0, (hw_order){.operation = HW_PULL, .table = table, .keys = keys, .count = count, .out = out});
            settle(w);
            for (size_t i = 0; i < count; i++)
                assert_true(out[i] == plain[keys[i] - 5]);
        }
        submit(w, 0, (hw_order){.operation = HW_PULL, .table = table, .first = 5, .last = 5 + ALL - 1, .out = all});
        settle(w);
        assert_memory_equal(all, plain, sizeof plain);
        close_world(w);
    }
}

/* A long range, and what begins anywhere in it, goes in parts of which each is one stripe's, so that all of them are sent
 * without a copy. */
static void parts_of_ranges_are_sent_without_a_copy(void **state)
{
    (void)state;
    enum { PARTS = 6, ALL = PARTS * HW_PART, TINY = 4096 /* numbers that are copied */ };
    static const uint64_t lengths[] = {HW_PART * 5 / 2, HW_PART * 3 + 2 * TINY, HW_PART * 9 / 2, ALL};
    static float values[ALL], out[ALL];
    for (size_t i = 0; i < ALL; i++)
        values[i] = (float)(1 + i % 1000);
    for (uint64_t seed = 0; seed < 16; seed++) {
        uint32_t width = seed % 2 == 0 ? 1 : 4;
        uint64_t keys = lengths[seed / 2 % 4] / width, first = seed < 8 ? 0 : 1 + TINY + seed * 1000;
        world *w =
            open_world_of((world_shape){.seed = seed, .servers = 1, .clients = 1, .part = HW_PART, .zero_copy = true});
        uint32_t table = create(w, spec_of("t", HW_VALUE_F32, width, false, 7, 7 + keys - 1));
        submit(w, 0, (hw_order){.operation = HW_PUSH, .table = table, .first = 7, .last = 7 + keys - 1, .values = values});
        settle(w);
        submit(w, 0, (hw_order){.operation = HW_PULL, .table = table, .first = 7 + first, .last = 7 + keys - 1, .out = out});
        settle(w);
        assert_memory_equal(out, values + first * width, (keys - first) * width * sizeof *out);
        uint64_t part = HW_PART / width;
        assert_int_equal(w->zero_copies, (keys + part - 1) / part - first / part);
        close_world(w);
    }
}

static size_t queued(const line *of, size_t *ends)
{
    size_t count = 0;
    for (const hw_message *m = of->first; m != NULL; m = m->next, count++)
        *ends += !m->more;
    return count;
}

/* While a range is pushed, each server gets a part before any gets its next one. What is pulled is asked for in few
 * writes. */
static void parts_of_ranges_go_to_servers_in_turn(void **state)
{
    (void)state;
    enum { PART = 8, ARC = 20, RANGE = 60 * ARC };
    static double values[RANGE], out[RANGE];
    for (size_t i = 0; i < RANGE; i++)
        values[i] = (double)i;
    for (uint32_t servers = 1; servers <= 5; servers++) {
        world *w = open_world_of((world_shape){.seed = 1, .servers = servers, .clients = 1, .part = PART, .arc = ARC});
        uint32_t table = create(w, spec_of("t", HW_VALUE_F64, 1, false, 3, 3 + RANGE - 1));
        hw_order order = {.operation = HW_PUSH, .table = table, .first = 3, .last = 3 + RANGE - 1, .values = values};
        for (int pulls = 0; pulls < 2; pulls++) {
            submit(w, 0, order);
            size_t sent[SERVERS_MOST], ends = 0;
            for (bool more = true; more;) {
                more = hw_client_more(w->client[0]);
                size_t least = SIZE_MAX, greatest = ends = 0;
                for (uint32_t s = 0; s < servers; s++) {
                    sent[s] = queued(&w->there[0][s], &ends);
                    least = sent[s] < least ? sent[s] : least;
                    greatest = sent[s] > greatest ? sent[s] : greatest;
                }
                assert_true(pulls || greatest - least <= 1);
            }
            size_t parts = servers == 1 ? (RANGE + PART - 1) / PART : 60 / servers * ((ARC + PART - 1) / PART);
            for (uint32_t s = 0; s < servers; s++)
                assert_int_equal(sent[s], parts);
            assert_true(ends <= (pulls ? servers * (parts / 32 + 2) : servers * parts));
            settle(w);
            order = (hw_order){.operation = HW_PULL, .table = table, .first = 3, .last = 3 + RANGE - 1, .out = out};
        }
        assert_memory_equal(out, values, sizeof out);
        close_world(w);
    }
}

/* Keys that lie close and far, one of them moved to anywhere: what does not ascend is refused before anything has begun,
 * whether the task could begin at once or not. */
static void lists_that_do_not_ascend_are_refused(void **state)
{
    (void)state;
    enum { LONG = 900, ALL = 30 * LONG };
    static uint64_t keys[LONG];
    static double values[LONG], all[ALL], plain[ALL];
    size_t refused = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        size_t part = seed % 3 == 0 ? 0 : 1 + seed % 200;
        world *w =
            open_world_of((world_shape){.seed = seed, .servers = 1 + (uint32_t)(seed % 5), .clients = 1, .part = part});
        uint32_t table = create(w, spec_of("t", HW_VALUE_F64, 1, false, 0, ALL - 1));
        size_t count = 2 + (size_t)hw_random_below(&w->random, LONG - 2);
        uint64_t gap = hw_random_below(&w->random, 2) ? 4 : 30, key = 0, first_task;
        memset(plain, 0, sizeof plain);
        for (size_t i = 0; i < count; i++, key += 1 + hw_random_below(&w->random, gap - 1)) {
            keys[i] = key;
            values[i] = 1;
        }
        size_t at = (size_t)hw_random_below(&w->random, count);
        uint64_t moved = hw_random_below(&w->random, 4) == 0 ? UINT64_MAX - hw_random_below(&w->random, 3)
                                                             : hw_random_below(&w->random, ALL);
        keys[at] = hw_random_below(&w->random, 3) == 0 ? keys[at] : moved;
        bool right = keys[count - 1] < ALL;
        for (size_t i = 1; i < count; i++)
            right &= keys[i - 1] < keys[i];
        for (size_t i = 0; right && i < count; i++)
            plain[keys[i]] = 1;
        const hw_order pull = {.operation = HW_PULL, .table = table, .last = ALL - 1, .out = all};
        assert_int_equal(hw_client_submit(w->client[0], &pull, &first_task, NULL), HAWSER_OK);
        hw_order push = {.operation = HW_PUSH, .table = table, .keys = keys, .count = count, .values = values};
        push.after = &first_task;
        push.after_count = seed % 2;
        hawser_error error = {0};
        uint64_t task;
        assert_int_equal(hw_client_submit(w->client[0], &push, &task, &error), right ? HAWSER_OK : HAWSER_BAD_ARGUMENT);
        const char *says = keys[0] < keys[count - 1] && keys[count - 1] >= ALL ? "not within" : "ascending";
        if (!right && strstr(error.text, says) == NULL)
            fail_msg("no '%s' in: %s", says, error.text);
        refused += !right;
        settle(w);
        submit(w, 0, pull);
        settle(w);
        assert_memory_equal(all, plain, sizeof plain);
        assert_int_equal(hw_client_open(w->client[0]), 0);
        close_world(w);
    }
    assert_true(refused > 200 && refused < 400);
}

/* Bits that are not those of the keys that they say, or that name another server's keys, do nothing; right ones do, under
 * their number too. */
static void wrong_key_bits_are_refused(void **state)
{
    (void)state;
    enum { ALL = 2000, WORDS = ALL / 64 + 1, CHANGES = 9 };
    world *w = open_world_of((world_shape){.seed = 3, .servers = 2, .clients = 1, .list_bytes = 1 << 16});
    uint32_t table = create(w, spec_of("t", HW_VALUE_F64, 1, false, 0, ALL - 1));
    uint32_t sparse = create(w, spec_of("s", HW_VALUE_F64, 1, true, 0, UINT64_MAX));
    const hw_arcs *arcs = hw_client_arcs(w->client[0], table);
    const hw_arc *own = &arcs->arcs[0];
    for (size_t i = 0; i < arcs->count; i++)
        if (arcs->arcs[i].server == 0 && arcs->arcs[i].last - arcs->arcs[i].first > own->last - own->first)
            own = &arcs->arcs[i];
    assert_true(own->server == 0 && own->last - own->first >= 70);
    double ones[WORDS * 64], all[ALL], plain[ALL] = {0};
    for (size_t i = 0; i < WORDS * 64; i++)
        ones[i] = 1;
    for (int change = 0; change <= CHANGES + 1; change++) {
        uint64_t span = 68, words[WORDS] = {UINT64_C(0xf0f0f0f0f0f0f0f1), 0x13};
        hw_request_head head = {.operation = HW_PUSH,
                                .keys = HW_KEYS_BITS,
                                .values = HW_VALUES_DENSE,
                                .table = table,
                                .list = 7,
                                .first = own->first,
                                .last = own->first + span,
                                .count = 33 + 3,
                                .key_bytes = 16};
        switch (change) {
        case 0: head.count--; break;
        case 1: words[0] ^= 1, words[0] |= 2; break;    /* the first is not there */
        case 2: words[1] ^= 0x10, words[0] |= 2; break; /* nor the last */
        case 3: words[1] ^= 0x30; break;                /* one behind the last, in place of it */
        case 4: head.key_bytes = 8; break;              /* too short for the span; */
        case 5: head.key_bytes = 24; break;             /* too long */
        case 6: head.key_bytes = 12; break;             /* no words */
        case 7: head.table = sparse; break;
        case 8: head.last = ALL + 10, head.key_bytes = WORDS * 8; break; /* past the table */
        case 9: /* another server's */ head.first = own->last - 3 * 16, head.last = head.first + span; break;
        case 10: break;
        }
        bool right = change == CHANGES + 1;
        size_t bytes = (size_t)((head.key_bytes + 7) / 8 * 8), values = (size_t)head.count * sizeof *ones;
        hw_message *message = NULL;
        hw_reply_head reply_head;
        head.value_bytes = values;
        assert_int_equal(hw_message_new(sizeof head + bytes + values, &message, NULL), HAWSER_OK);
        memcpy(message->payload, &head, sizeof head);
        memcpy((unsigned char *)message->payload + sizeof head, words, bytes);
        memcpy((unsigned char *)message->payload + sizeof head + bytes, ones, values);
        for (int known = 0; known < 1 + right; known++) {
            hw_message *again = NULL;
            if (known == 0 && right)
                assert_int_equal(hw_message_new(sizeof head + values, &again, NULL), HAWSER_OK);
            assert_int_equal(hw_server_receive(w->server[0], 0, message, NULL), HAWSER_OK);
            while (w->ready_count > 0)
                hw_stripe_work(w->ready[--w->ready_count]);
            hw_message *answer = take(&w->back[0][0]);
            assert_true(hw_reply_head_of(answer, &reply_head));
            assert_int_equal(reply_head.outcome, right ? HW_APPLIED : HW_REFUSED);
            hw_message_free(answer);
            head.keys = HW_KEYS_KNOWN;
            head.key_bytes = 0;
            if (again != NULL) {
                memcpy(again->payload, &head, sizeof head);
                memcpy((unsigned char *)again->payload + sizeof head, ones, values);
            }
            message = again;
        }
        for (uint64_t i = 0; right && i <= span; i++)
            plain[head.first + i] += 2 * (double)(words[i / 64] >> i % 64 & 1);
    }
    submit(w, 0, (hw_order){.operation = HW_PULL, .table = table, .last = ALL - 1, .out = all});
    settle(w);
    assert_memory_equal(all, plain, sizeof plain);
    close_world(w);
}

static void tasks_wait_for_named_tasks(void **state)
{
    (void)state;
    enum { TASKS = 200 };
    for (uint64_t seed = 0; seed < 40; seed++) {
        world *w = open_world(seed, 3, 1, 0, 0);
        uint32_t table = create(w, spec_of("t", HW_VALUE_F64, 1, false, 0, 999));
        uint64_t after[TASKS][3], counts[TASKS];
        static double one[1000];
        for (size_t t = 0; t < TASKS; t++) {
            counts[t] = t > 0 ? hw_random_below(&w->random, 4) : 0;
            for (size_t k = 0; k < counts[t]; k++)
                after[t][k] = 1 + hw_random_below(&w->random, t);
            uint64_t task = submit(w, 0,
                                   (hw_order){.operation = HW_PUSH,
                                              .table = table,
                                              .first = 5 * t,
                                              .last = 5 * t + 4,
                                              .values = one,
                                              .after = after[t],
                                              .after_count = (size_t)counts[t]});
            assert_int_equal(task, t + 1);
            if (hw_random_below(&w->random, 2) == 0)
                step(w);
        }
        settle(w);
        for (size_t t = 0; t < TASKS; t++)
            for (size_t k = 0; k < counts[t]; k++)
                assert_true(w->ended[0][after[t][k]] < w->ended[0][t + 1]);
        close_world(w);
    }
}

/* A long chain fails from its first task on, without a stack as long as the chain. */
static void failures_reach_dependent_tasks(void **state)
{
    (void)state;
    world *w = open_world(1, 2, 1, 0, 0);
    uint32_t table = create(w, spec_of("t", HW_VALUE_F64, 1, false, 0, 999));
    static double one[1000];
    uint64_t before = submit(w, 0, (hw_order){.operation = HW_PUSH, .table = table, .first = 0, .last = 999, .values = one});
    uint64_t first = before;
    for (int t = 1; t < TASKS_MOST - 1; t++)
        before = submit(w, 0,
                        (hw_order){.operation = HW_PUSH,
                                   .table = table,
                                   .first = 0,
                                   .last = 9,
                                   .values = one,
                                   .after = &before,
                                   .after_count = 1});
    hawser_error lost = {0};
    (void)hawser_fail(&lost, HAWSER_PEER_LOST, "server 1 is lost");
    hw_client_fail(w->client[0], HAWSER_PEER_LOST, &lost);
    for (uint64_t task = first; task <= before; task++)
        assert_int_equal(w->status[0][task], HAWSER_PEER_LOST);
    assert_non_null(strstr(w->error.text, "server 1 is lost"));
    settle(w); /* replies that come too late do no harm */
    assert_int_equal(hw_client_open(w->client[0]), 0);
    close_world(w);
}

/* Pushes overflow at random, and tasks follow others that have ended or not: a task fails if one of those has failed, and
 * names the first of the chain. */
static void failures_reach_tasks_however_late(void **state)
{
    (void)state;
    enum { TASKS = 300, PLACES = 10 };
    static const double most = 1.5e308;
    for (uint64_t seed = 0; seed < tried_of(30); seed++) {
        world *w = open_world(seed, 2, 1, 0, 0);
        uint32_t table = create(w, spec_of("t", HW_VALUE_F64, 1, false, 0, PLACES - 1));
        uint64_t root[TASKS + 1] = {0}, keys[TASKS], empty = 0;
        double out[TASKS];
        size_t failures = 0;
        for (uint64_t k = 0; k < PLACES; k++)
            submit(w, 0, (hw_order){.operation = HW_PUSH, .table = table, .first = k, .last = k, .values = &most});
        settle(w);
        for (uint64_t t = PLACES + 1; t <= TASKS; t++) {
            uint64_t after[2] = {1 + hw_random_below(&w->random, t - 1), 1 + hw_random_below(&w->random, t - 1)};
            uint64_t kind = hw_random_below(&w->random, 8), count = hw_random_below(&w->random, 3);
            keys[t - 1] = hw_random_below(&w->random, PLACES);
            for (uint64_t k = 0; k < count && root[t] == 0; k++)
                root[t] = root[after[k]];
            if (root[t] == 0 && kind == 0)
                root[t] = t;
            failures += root[t] != 0;
            assert_int_equal(submit(w, 0,
                                    (hw_order){.operation = kind == 0 ? HW_PUSH : HW_PULL,
                                               .table = table,
                                               .keys = kind == 1 ? &empty : &keys[t - 1],
                                               .count = kind != 1,
                                               .values = kind == 0 ? &most : NULL,
                                               .out = kind > 1 ? &out[t - 1] : NULL,
                                               .after = after,
                                               .after_count = (size_t)count}),
                             t);
            for (uint64_t k = hw_random_below(&w->random, 20); k > 0; k--)
                step(w);
            uint64_t named = 0;
            if (root[t] != 0 && root[t] != t && w->ended[0][t] == w->moment) {
                assert_int_equal(sscanf(w->error.text, "task %" SCNu64 ", which it waits for, failed: server", &named), 1);
                assert_true(named < t && root[named] == named);
            }
        }
        settle(w);
        for (uint64_t t = 1; t <= TASKS; t++)
            assert_int_equal(w->status[0][t], root[t] != 0 ? HAWSER_NOT_FINITE : HAWSER_OK);
        assert_true(failures > TASKS / 10);
        close_world(w);
    }
}

/* A list without keys needs neither values nor memory, waits for what `after` names, and reads and changes nothing. */
static void empty_lists_do_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        world *w = open_world(seed, 2, 1, 1, 0);
        hw_table_spec spec = spec_of("t", HW_VALUE_F64, 2, seed % 2 == 1, 0, seed % 2 == 1 ? UINT64_MAX : 9);
        spec.filter = seed % 4 >= 2 ? HW_PASS_SIGNIFICANT : HW_PASS_ALL;
        uint32_t table = create(w, spec);
        uint64_t key = 3, oldest = 7;
        double values[2] = {1, 2}, out[2] = {-1, -1};
        uint64_t first =
            submit(w, 0, (hw_order){.operation = HW_PUSH, .table = table, .keys = &key, .count = 1, .values = values});
        uint64_t last = first;
        for (int operation = HW_PUSH; operation <= HW_PUSH_PULL; operation++)
            last = submit(w, 0,
                          (hw_order){.operation = (hw_operation)operation,
                                     .table = table,
                                     .keys = &key,
                                     .values = operation != HW_PULL && seed > 5 ? values : NULL,
                                     .out = operation != HW_PUSH && seed > 5 ? out : NULL,
                                     .least = 5,
                                     .oldest = &oldest,
                                     .after = &last,
                                     .after_count = 1});
        assert_true(w->ended[0][last] == 0);
        settle(w);
        assert_true(w->ended[0][last] > w->ended[0][first] && w->status[0][last] == HAWSER_OK);
        assert_true(oldest == UINT64_MAX && out[0] == -1);
        submit(w, 0, (hw_order){.operation = HW_PULL, .table = table, .keys = &key, .count = 1, .out = out});
        settle(w);
        assert_true(out[0] == 1 && out[1] == 2);
        close_world(w);
    }
}

static size_t length_of(const line *queue)
{
    size_t length = 0;
    for (const hw_message *at = queue->first; at != NULL; at = at->next)
        length++;
    return length;
}

/* A server answers the parts of a push once, when the last is done; what is wrong with one of them is said by itself. */
static void parts_of_a_push_have_one_reply(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        world *w = open_world(2, 1, 1, 0, 0); /* this seed has parts of 512 keys at most */
        uint32_t table = create(w, spec_of("t", HW_VALUE_F64, 1, false, 0, 9999));
        static double one[10000];
        uint64_t task =
            submit(w, 0, (hw_order){.operation = HW_PUSH, .table = table, .first = 0, .last = 9999, .values = one});
        while (hw_client_more(w->client[0]))
            ;
        line *there = &w->there[0][0], *back = &w->back[0][0];
        size_t parts = length_of(there);
        assert_true(parts > 4);
        if (wrong)
            ((hw_request_head *)there->first->next->payload)->last = 10000;
        while (there->first != NULL) {
            assert_int_equal(length_of(back), wrong && length_of(there) < parts - 1);
            assert_int_equal(hw_server_receive(w->server[0], 0, take(there), NULL), HAWSER_OK);
        }
        assert_int_equal(length_of(back), wrong ? 2 : 1);
        settle(w);
        assert_int_equal(w->status[0][task], wrong ? HAWSER_BAD_INPUT : HAWSER_OK);
        close_world(w);
    }
}

/* SSP on the server: a pull for clock t under staleness s comes back with every worker's updates of clocks <= t - s - 1.
 * Each worker adds 1 to every key in every clock. */
static void requests_wait_for_clocks(void **state)
{
    (void)state;
    enum { WORKERS = 3, CLOCKS = 12, N = 64 };
    for (uint64_t seed = 0; seed < 60; seed++) {
        uint64_t s = seed % 4;
        bool sparse = seed % 2;
        world *w = open_world(seed, 1 + (uint32_t)(seed % 4), WORKERS, WORKERS, 0);
        uint32_t table = create(w, spec_of("t", HW_VALUE_I64, 1, sparse, 0, sparse ? UINT64_MAX : N - 1));
        static int64_t one[N], out[WORKERS][N];
        static uint64_t keys[N], oldest[WORKERS];
        for (uint64_t i = 0; i < N; i++)
            one[i] = 1, keys[i] = sparse ? i * i * 1000003 : i;
        uint64_t clock[WORKERS] = {0}, pulling[WORKERS] = {0};
        uint64_t waited = 0;
        for (bool done = false; !done;) {
            done = true;
            for (uint32_t k = 0; k < WORKERS; k++) {
                if (clock[k] == CLOCKS || (pulling[k] != 0 && !hw_client_ended(w->client[k], pulling[k]))) {
                    done &= clock[k] == CLOCKS;
                    waited += clock[k] < CLOCKS;
                    continue;
                }
                done = false;
                if (pulling[k] == 0) {
                    pulling[k] = submit(w, k,
                                        (hw_order){.operation = HW_PULL,
                                                   .table = table,
                                                   .keys = keys,
                                                   .count = N,
                                                   .out = out[k],
                                                   .oldest = &oldest[k],
                                                   .least = clock[k] > s ? clock[k] - s : 0});
                    continue;
                }
                for (size_t i = 0; i < N; i++) {
                    int64_t others = clock[k] > s ? (int64_t)(WORKERS - 1) * (int64_t)(clock[k] - s) : 0;
                    assert_true(out[k][i] >= (int64_t)clock[k] + others);    /* read-my-writes, and all that is old enough */
                    assert_true((uint64_t)out[k][i] >= WORKERS * oldest[k]); /* what the reply says of itself is so */
                }
                submit(w, k, (hw_order){.operation = HW_PUSH, .table = table, .keys = keys, .count = N, .values = one});
                submit(w, k,
                       (hw_order){.operation = HW_CLOCK,
                                  .table = table,
                                  .first = 0,
                                  .last = sparse ? UINT64_MAX : N - 1,
                                  .worker = k,
                                  .clock = clock[k]});
                clock[k]++;
                pulling[k] = 0;
                for (uint32_t j = 0; j < WORKERS; j++)
                    assert_true(clock[k] <= clock[j] + s + 1); /* no worker leads by more */
            }
            for (uint64_t n = hw_random_below(&w->random, 8); n > 0; n--)
                step(w);
        }
        assert_true(waited > 0);
        settle(w);
        hw_server_figures figures;
        hw_server_figures_of(w->server[0], &figures);
        assert_true(figures.clock_ranges <= (uint64_t)WORKERS * 3);
        close_world(w);
    }
}

/* ---------------------------------------------------------------------------------------------------- data-centric ---- */

enum { PARTS = 4, EACH = 16, ITERATIONS = 15 };

/* One worker of algorithm 1b: pulls every chunk, and from all of them makes its own chunk's next values. */
typedef struct centric {
    uint64_t iteration, pulls[PARTS];
    int64_t seen[PARTS][EACH], own[ITERATIONS][EACH];
} centric;

/* Any function will do in which each value counts. The first number of a chunk says how often it was written; a worker may
 * not see what it wrote last itself, where there is a delay. */
static void next_values(int64_t seen[PARTS][EACH], uint32_t part, uint64_t iteration, int64_t *own)
{
    own[0] = (int64_t)iteration + 1;
    for (size_t k = 1; k < EACH; k++) {
        uint64_t mixed = part * 31 + k;
        for (size_t j = 0; j < PARTS; j++)
            mixed = (mixed ^ (uint64_t)seen[j][(k + j) % EACH]) * UINT64_C(0x9fb21c651e98df25) + (mixed >> 29);
        own[k] = (int64_t)(mixed >> 1);
    }
}

/* The oracle: algorithm 1, one thread, iteration after iteration. */
static void run_alone(int64_t values[PARTS][EACH])
{
    memset(values, 0, PARTS * sizeof *values);
    for (uint64_t a = 0; a < ITERATIONS; a++) {
        int64_t next[PARTS][EACH];
        for (uint32_t i = 0; i < PARTS; i++)
            next_values(values, i, a, next[i]);
        memcpy(values, next, sizeof next);
    }
}

static void pull_all(world *w, uint32_t table, uint32_t i, centric *c)
{
    for (uint64_t j = 0; j < PARTS; j++)
        c->pulls[j] = submit(w, i,
                             (hw_order){.operation = HW_PULL,
                                        .table = table,
                                        .first = j * EACH,
                                        .last = j * EACH + EACH - 1,
                                        .out = c->seen[j],
                                        .worker = i,
                                        .clock = c->iteration});
}

/* What has come is what the delay allows: RC gives the lower bound, WC the upper one. Returns how many chunks are here that
 * a barrier would have kept back: some other worker has not written the iteration before. */
static int check_seen(const world *w, const centric *c, const centric *all, uint64_t delay)
{
    int early = 0;
    for (size_t j = 0; j < PARTS; j++) {
        if (c->pulls[j] == 0 || !hw_client_ended(w->client[c - all], c->pulls[j]))
            continue;
        uint64_t times = (uint64_t)c->seen[j][0], a = c->iteration;
        if (delay != UINT64_MAX)
            assert_true(times + delay >= a && times <= a + delay);
        for (size_t k = 0; k < PARTS; k++)
            early += all[k].iteration < a;
    }
    return early;
}

static uint64_t clock_ranges(const world *w, uint32_t server)
{
    hw_server_figures figures;
    hw_server_figures_of(w->server[server], &figures);
    return figures.clock_ranges;
}

static int run_centric(uint64_t seed, uint64_t delay, int64_t values[PARTS][EACH])
{
    static centric all[PARTS];
    world *w = open_world(seed, 1 + (uint32_t)(seed % SERVERS_MOST), PARTS, PARTS, 0);
    hw_table_spec spec = spec_of("theta", HW_VALUE_I64, 1, false, 0, PARTS * EACH - 1);
    spec.function = hw_function_find("assign");
    spec.centric = true;
    spec.delay = delay;
    uint32_t table = create(w, spec);
    int early = 0;
    uint64_t ranges[SERVERS_MOST];
    for (uint32_t s = 0; s < w->servers; s++)
        ranges[s] = clock_ranges(w, s);
    memset(all, 0, sizeof all);
    for (uint32_t i = 0; i < PARTS; i++)
        pull_all(w, table, i, &all[i]);
    for (size_t done = 0; done < PARTS;) {
        done = 0;
        for (uint32_t i = 0; i < PARTS; i++) {
            centric *c = &all[i];
            bool here = true;
            if (c->iteration < ITERATIONS)
                early += check_seen(w, c, all, delay);
            for (size_t j = 0; j < PARTS; j++)
                here &= hw_client_ended(w->client[i], c->pulls[j]);
            if (c->iteration < ITERATIONS && here) {
                next_values(c->seen, i, c->iteration, c->own[c->iteration]);
                submit(w, i,
                       (hw_order){.operation = HW_PUSH,
                                  .table = table,
                                  .first = i * EACH,
                                  .last = i * EACH + EACH - 1,
                                  .values = c->own[c->iteration],
                                  .worker = i,
                                  .clock = c->iteration});
                if (++c->iteration < ITERATIONS)
                    pull_all(w, table, i, c);
                else /* reads nothing more, and delays no other worker */
                    submit(w, i,
                           (hw_order){.operation = HW_CLOCK,
                                      .table = table,
                                      .first = 0,
                                      .last = PARTS * EACH - 1,
                                      .worker = i,
                                      .clock = UINT64_MAX - 1});
            }
            done += c->iteration == ITERATIONS;
        }
        for (uint64_t n = hw_random_below(&w->random, 6); n > 0; n--)
            step(w);
    }
    settle(w);
    for (uint32_t i = 0; i < PARTS; i++)
        assert_int_equal(hw_client_open(w->client[i]), 0);
    for (uint32_t s = 0; s < w->servers; s++) /* ranges that stand at one clock again are one range again */
        assert_int_equal(clock_ranges(w, s), ranges[s]);
    for (uint32_t j = 0; j < PARTS; j++)
        memcpy(values[j], all[j].own[ITERATIONS - 1], sizeof values[j]);
    close_world(w);
    return early;
}

/* Goel et al. 2015, theorem 5: with delay 0 what comes out is what one thread computes, bit for bit; and no barrier was
 * there. With a delay reads stay within it; without order all still ends. */
static void chunks_wait_for_each_other(void **state)
{
    (void)state;
    int64_t alone[PARTS][EACH], values[PARTS][EACH];
    int early = 0, equal = 0;
    run_alone(alone);
    for (uint64_t seed = 0; seed < 60; seed++) {
        early += run_centric(seed, 0, values);
        assert_memory_equal(values, alone, sizeof alone);
        (void)run_centric(seed, 1 + seed % 3, values);
        equal += memcmp(values, alone, sizeof alone) == 0;
        (void)run_centric(seed, UINT64_MAX, values);
    }
    assert_true(early > 100);
    assert_true(equal < 30); /* a delay is another computation */
}

/* What was set aside and may be done by the same word is done in the order in which it came: a worker's writes of two
 * iterations, then a read. */
static void waiting_requests_run_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        world *w = open_world(seed, 1, 2, 2, 0);
        hw_table_spec spec = spec_of("theta", HW_VALUE_I64, 1, false, 0, 0);
        spec.function = hw_function_find("assign");
        spec.centric = true;
        uint32_t table = create(w, spec);
        int64_t values[] = {10, 11, 12}, out = 0;
        uint64_t tasks[4];
        for (uint64_t a = 0; a < 3; a++) {
            tasks[a] = submit(w, 0, (hw_order){.operation = HW_PUSH, .table = table, .values = &values[a], .clock = a});
            submit(w, 0, (hw_order){.operation = HW_CLOCK, .table = table, .clock = a});
        }
        tasks[3] = submit(w, 0, (hw_order){.operation = HW_PULL, .table = table, .out = &out, .clock = 3});
        settle(w);
        assert_false(hw_client_ended(w->client[0], tasks[0])); /* worker 1 has not read */
        submit(w, 1, (hw_order){.operation = HW_CLOCK, .table = table, .worker = 1, .clock = 2});
        settle(w);
        assert_int_equal(out, 12);
        for (int k = 0; k < 4; k++)
            assert_true(w->ended[0][tasks[k]] > 0);
        close_world(w);
    }
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    world *w = open_world(1, 2, 1, 1, 0);
    uint32_t dense = create(w, spec_of("d", HW_VALUE_F64, 1, false, 10, 19));
    uint32_t sparse = create(w, spec_of("s", HW_VALUE_F32, 1, true, 0, UINT64_MAX));
    double values[20] = {0}, out[20];
    uint64_t keys[] = {12, 11}, task, future = 50, itself = 1, none = 0;
    values[3] = NAN;
    const hw_order wrong[] = {
        {.operation = HW_PULL, .table = 7, .first = 10, .last = 12, .out = out},
        {.operation = HW_PULL, .table = dense, .first = 9, .last = 12, .out = out},
        {.operation = HW_PULL, .table = dense, .first = 12, .last = 20, .out = out},
        {.operation = HW_PULL, .table = dense, .first = 12, .last = 11, .out = out},
        {.operation = HW_PULL, .table = dense, .first = 12, .last = 12},
        {.operation = HW_PUSH, .table = dense, .first = 12, .last = 12},
        {.operation = HW_PUSH, .table = dense, .first = 12, .last = 15, .values = values},
        {.operation = HW_PULL, .table = dense, .keys = keys, .count = 2, .out = out},
        {.operation = HW_PULL, .table = sparse, .first = 0, .last = 1, .out = out},
        {.operation = HW_PULL, .table = dense, .first = 10, .last = 12, .out = out, .after = &future, .after_count = 1},
        {.operation = HW_PULL, .table = dense, .first = 10, .last = 12, .out = out, .after = &itself, .after_count = 1},
        {.operation = HW_PULL, .table = dense, .first = 10, .last = 12, .out = out, .after = &none, .after_count = 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hawser_error error = {0};
        hawser_status status = hw_client_submit(w->client[0], &wrong[i], &task, &error);
        assert_true(status == HAWSER_BAD_ARGUMENT || status == HAWSER_NOT_FINITE);
        assert_true(strlen(error.text) > 10);
    }
    /* What a client lets through and a server does not: a clock of a worker that there is not. */
    assert_int_equal(hw_client_open(w->client[0]), 0);
    settle(w);
    close_world(w);
}

/* A list that the server has forgotten is sent again when its number has long been another list's: that one keeps it. */
static void a_list_sent_again_takes_no_number_of_another(void **state)
{
    (void)state;
    enum { COUNT = 32, LISTS = 5, ALL = 1000, BYTES = sizeof(hw_list) + COUNT * sizeof(uint64_t) };
    static uint64_t keys[LISTS][COUNT];
    static double ones[COUNT], all[ALL], plain[ALL];
    world *w = open_world_of((world_shape){
        .seed = 5, .servers = 1, .clients = 1, .part = ALL, .list_bytes = BYTES, .client_list_bytes = 2 * BYTES});
    uint32_t table = create(w, spec_of("t", HW_VALUE_F64, 1, false, 0, ALL - 1));
    hw_message *late = NULL;
    hw_reply_head head;
    for (int i = 0; i < LISTS * COUNT; i++)
        keys[i / COUNT][i % COUNT] = (uint64_t)(i % COUNT * 2 * LISTS + i / COUNT);
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    const int order[] = {0, 0, 1, 1, 0,  2, 2,
                         3, 3, 4, 4, -1, 4, 4}; /* a list has a number when it comes for the second time */
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (order[i] < 0) { /* what the server has answered to the third push of list 0 */
            assert_int_equal(hw_client_receive(w->client[0], 0, late, NULL), HAWSER_OK);
            settle(w);
            continue;
        }
        submit(w, 0,
               (hw_order){.operation = HW_PUSH, .table = table, .keys = keys[order[i]], .count = COUNT, .values = ones});
        for (int k = 0; k < COUNT; k++)
            plain[keys[order[i]][k]]++;
        while (w->back[0][0].first == NULL)
            assert_true(step(w));
        if (hw_reply_head_of(w->back[0][0].first, &head) && head.outcome == HW_FORGOTTEN && late == NULL)
            late = take(&w->back[0][0]);
        settle(w);
    }
    submit(w, 0, (hw_order){.operation = HW_PULL, .table = table, .last = ALL - 1, .out = all});
    settle(w);
    assert_int_equal(hw_client_open(w->client[0]), 0);
    assert_int_equal(hw_client_figures_of(w->client[0])->lists_resent, 1);
    assert_memory_equal(all, plain, sizeof all);
    close_world(w);
}

/* Keys that go as a number may have been forgotten, once; keys that go as such, and ranges in parts, cannot be. */
static void only_numbered_lists_are_forgotten(void **state)
{
    (void)state;
    enum { COUNT = 32, ALL = 1000 };
    static uint64_t keys[COUNT];
    static double out[ALL];
    for (uint64_t i = 0; i < COUNT; i++)
        keys[i] = i * i;
    world *w =
        open_world_of((world_shape){.seed = 5, .servers = 1, .clients = 1, .part = ALL / 4, .client_list_bytes = 4096});
    uint32_t table = create(w, spec_of("t", HW_VALUE_F64, 1, false, 0, ALL - 1));
    const hw_order by_range = {.operation = HW_PULL, .table = table, .last = ALL - 1, .out = out},
                   by_keys = {.operation = HW_PULL, .table = table, .keys = keys, .count = COUNT, .out = out};
    const hw_order *order[] = {&by_range, &by_keys, &by_keys, &by_keys};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        hawser_error error = {0};
        uint64_t sent = hw_client_figures_of(w->client[0])->lists_known;
        submit(w, 0, *order[i]);
        while (hw_client_more(w->client[0]))
            ;
        bool known = hw_client_figures_of(w->client[0])->lists_known > sent;
        assert_int_equal(known, i >= 3); /* a list has a number when it comes for the second time */
        for (int times = 0; times < 2; times++) {
            hw_message *lie = NULL;
            const hw_reply_head head = {
                .outcome = HW_FORGOTTEN, .table = table, .task = hw_client_newest(w->client[0]), .clock = UINT64_MAX};
            assert_int_equal(hw_message_new(sizeof head, &lie, NULL), HAWSER_OK);
            memcpy(lie->payload, &head, sizeof head);
            bool taken = hw_client_receive(w->client[0], 0, lie, &error) == HAWSER_OK;
            assert_int_equal(taken, known && times == 0);
            assert_true(taken || strstr(error.text, "answers to what it was not asked") != NULL);
        }
        if (known)
            break; /* the request was there twice */
        settle(w);
    }
    close_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_dense_tables),
        cmocka_unit_test(sums_of_sparse_tables),
        cmocka_unit_test(tasks_wait_for_named_tasks),
        cmocka_unit_test(failures_reach_dependent_tasks),
        cmocka_unit_test(failures_reach_tasks_however_late),
        cmocka_unit_test(empty_lists_do_nothing),
        cmocka_unit_test(requests_wait_for_clocks),
        cmocka_unit_test(chunks_wait_for_each_other),
        cmocka_unit_test(long_lists_span_many_arcs),
        cmocka_unit_test(a_list_sent_again_takes_no_number_of_another),
        cmocka_unit_test(only_numbered_lists_are_forgotten),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(parts_of_a_push_have_one_reply),
        cmocka_unit_test(wrong_key_bits_are_refused),
        cmocka_unit_test(lists_that_do_not_ascend_are_refused),
        cmocka_unit_test(waiting_requests_run_in_order),
        cmocka_unit_test(parts_of_ranges_are_sent_without_a_copy),
        cmocka_unit_test(parts_of_ranges_go_to_servers_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
