/* A server runs out of memory while it receives a push: it never acknowledges work that it could not do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "base/clock.h"
#include "failing.h"
#include "store/shard.h"
#include "store_world.h"

enum { KEYS = 40, PARTS_SEED = 1 }; /* ten parts of four keys */

/* Delivers and serves the messages that wait for the server. Returns false if the server could not even refuse one, and
 * drops the client. */
static bool serve_all(world *w, hawser_error *error)
{
    bool replied = true;
    while (replied && w->there[0][0].first != NULL) {
        replied = hw_server_receive(w->server[0], 0, take(&w->there[0][0]), error) == HAWSER_OK;
        while (w->ready_count > 0)
            hw_stripe_work(w->ready[--w->ready_count]);
    }
    return replied;
}

static void settle(world *w)
{
    while (step(w))
        ;
}

/* One push or pull of all keys. */
static uint64_t ask(world *w, uint32_t table, hw_operation operation, const uint64_t *keys, double *values)
{
    hw_order order = {.operation = operation, .table = table, .keys = keys, .count = KEYS};
    if (operation == HW_PUSH)
        order.values = values;
    else
        order.out = values;
    return submit(w, 0, order);
}

/* With the n-th allocation of the server and all after it failing. False: it needs fewer. */
static bool push_without_memory(long n, bool all_after, bool sparse, bool known)
{
    world *w = open_world(PARTS_SEED, 1, 1, 1, 0);
    uint32_t table = create(w, spec_of("t", HW_VALUE_F64, 1, sparse, 0, sparse ? UINT64_MAX : 10 * KEYS));
    uint64_t keys[KEYS];
    double ones[KEYS], out[KEYS], expected = known ? 2 : 1;
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = i * 10;
        ones[i] = 1;
    }
    if (known) { /* the keys' list has a number by then */
        ask(w, table, HW_PUSH, keys, ones);
        settle(w);
    }
    uint64_t task = ask(w, table, HW_PUSH, keys, ones);
    hawser_error error = {0};
    while (hw_client_more(w->client[0]))
        ;
    atomic_store(&for_good, all_after);
    atomic_store(&countdown, n);
    bool replied = serve_all(w, &error);
    bool failed = atomic_load(&countdown) <= 0;
    atomic_store(&for_good, false);
    atomic_store(&countdown, 0);
    if (replied) {
        settle(w);
        assert_true(w->ended[0][task] > 0);
        uint64_t pull = ask(w, table, HW_PULL, keys, out);
        settle(w);
        assert_int_equal(w->status[0][pull], HAWSER_OK);
        for (int i = 0; w->status[0][task] == HAWSER_OK && i < KEYS; i++)
            assert_true(out[i] == expected);
        if (w->status[0][task] != HAWSER_OK)
            assert_true(strstr(w->error.text, "memory") != NULL);
    } else {
        assert_int_equal(error.status, HAWSER_NO_MEMORY);
    }
    close_world(w);
    return failed;
}

static void a_failed_request_is_not_acknowledged(void **state)
{
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        long n = 1;
        while (push_without_memory(n, kind % 2 == 1, kind / 2 % 2 == 1, kind / 4 == 1))
            n++;
        assert_true(n > 3);
    }
    assert_int_equal(atomic_load(&live), 0);
}

/* Parts of a pull of a range go several at a time; with the n-th allocation of the client failing. False: it needs fewer. */
static bool pull_without_memory(long n, bool all_after)
{
    world *w = open_world(PARTS_SEED, 1, 1, 1, 0);
    uint32_t table = create(w, spec_of("t", HW_VALUE_F64, 1, false, 0, KEYS - 1));
    double out[KEYS];
    uint64_t task = submit(w, 0, (hw_order){.operation = HW_PULL, .table = table, .last = KEYS - 1, .out = out});
    atomic_store(&for_good, all_after);
    atomic_store(&countdown, n);
    while (hw_client_more(w->client[0]))
        ;
    bool failed = atomic_load(&countdown) <= 0;
    atomic_store(&for_good, false);
    atomic_store(&countdown, 0);
    assert_false(w->more[0][0]); /* or it would lie there until something else is said */
    settle(w);
    assert_true(w->ended[0][task] > 0);
    assert_int_equal(w->status[0][task], failed ? HAWSER_NO_MEMORY : HAWSER_OK);
    close_world(w);
    return failed;
}

static void rows_made_before_a_failure_are_removed(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        long n = 1;
        while (pull_without_memory(n, kind == 1))
            n++;
        assert_true(n > 3);
    }
    assert_int_equal(atomic_load(&live), 0);
}

/* Clocks of worker 0, with the n-th allocation of the server and all later ones failing: both clients receive one
 * refusal. */
static bool clock_without_memory(long n)
{
    world *w = open_world(PARTS_SEED, 1, 2, 1, 0);
    uint32_t table = create(w, spec_of("t", HW_VALUE_F64, 1, false, 0, 10 * KEYS)), refusals[2] = {0};
    for (uint64_t i = 0; i < KEYS; i++) /* as many ranges */
        submit(w, 0, (hw_order){.operation = HW_CLOCK, .table = table, .first = 10 * i, .last = 10 * i});
    hawser_error error = {0};
    while (hw_client_more(w->client[0]))
        ;
    atomic_store(&for_good, true);
    atomic_store(&countdown, n);
    bool replied = serve_all(w, &error), failed = atomic_load(&countdown) <= 0;
    atomic_store(&for_good, false);
    atomic_store(&countdown, 0);
    memset(w->ended, 0, sizeof w->ended); /* a clock that has left has ended, and fails now */
    for (uint32_t c = 0; c < 2; c++)
        while (w->back[c][0].first != NULL) {
            assert_int_equal(hw_client_receive(w->client[c], 0, take(&w->back[c][0]), &error), HAWSER_NO_MEMORY);
            if (strstr(error.text,
                       "of worker 0 was refused, so requests that wait for it can never complete: table 't': ") == NULL)
                fail_msg("%s", error.text);
            assert_non_null(strstr(error.text, "no memory left"));
            refusals[c]++;
        }
    if (replied || refusals[0] > 0)
        assert_true(refusals[0] == failed && refusals[1] == failed && (w->moment > KEYS) == failed);
    else
        assert_int_equal(error.status, HAWSER_NO_MEMORY);
    close_world(w);
    return failed;
}

static void a_refused_clock_is_reported_to_all(void **state)
{
    (void)state;
    long n = 1;
    while (clock_without_memory(n))
        n++;
    assert_true(n > KEYS);
    assert_int_equal(atomic_load(&live), 0);
}

/* Another thread asks a shard which keys it lacks while the shard grows, as the receiving thread does if memory is
 * scarce. */
static hw_table_shard *growing;
static atomic_uint asked, answered;
static bool kept_waiting;

static void *ask_what_is_missing(void *argument)
{
    const uint64_t keys[] = {7, UINT64_C(1) << 60};
    (void)argument;
    assert_int_equal(hw_table_shard_missing(growing, keys, 2), 1);
    atomic_fetch_add(&answered, 1);
    return NULL;
}

static void ask_in_between(void)
{
    pthread_t thread;
    const uint32_t number = atomic_fetch_add(&asked, 1) + 1;
    assert_int_equal(pthread_create(&thread, NULL, ask_what_is_missing, NULL), 0);
    for (double until = hw_seconds() + 20; atomic_load(&answered) < number && hw_seconds() < until;)
        sched_yield();
    kept_waiting |= atomic_load(&answered) < number;
    before_array = kept_waiting ? NULL : before_array; /* once is enough */
    pthread_detach(thread);
}

static void lookup_of_missing_keys_does_not_wait_for_growth(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    const hw_table_spec spec = spec_of("t", HW_VALUE_F64, 1, true, 0, UINT64_MAX);
    static uint64_t keys[MANY];
    static double ones[MANY];
    for (uint64_t i = 0; i < MANY; i++)
        keys[i] = 7 * i;
    assert_int_equal(hw_table_shard_new(&spec, 0, UINT64_MAX, &growing, NULL), HAWSER_OK);
    assert_int_equal(hw_table_shard_apply(growing, keys, 2, ones, NULL, NULL), HAWSER_OK);
    before_array = ask_in_between;
    assert_int_equal(hw_table_shard_apply(growing, keys, MANY, ones, NULL, NULL), HAWSER_OK);
    before_array = NULL;
    while (atomic_load(&answered) < atomic_load(&asked))
        sched_yield();
    assert_true(!kept_waiting && atomic_load(&asked) >= 2); /* rows and index */
    hw_table_shard_free(growing);
    assert_int_equal(atomic_load(&live), 0);
}

/* A version that could not be kept for lack of memory fails its rereads, and nothing else. Returns false if fewer
 * allocations are needed. */
static bool write_without_memory(long n, int *missed)
{
    world *w = open_world(PARTS_SEED, 1, 1, 1, 0);
    hw_table_spec spec = spec_of("t", HW_VALUE_F64, 1, false, 0, KEYS - 1);
    double ones[KEYS], out[KEYS], again[KEYS];
    spec.centric = true;
    uint32_t table = create(w, spec);
    for (size_t i = 0; i < KEYS; i++)
        ones[i] = 1;
    for (uint64_t a = 0; a < 2; a++) {
        hw_order order = {.table = table, .last = KEYS - 1, .clock = a};
        order.operation = HW_PULL, order.out = out;
        submit(w, 0, order);
        settle(w);
        order.operation = HW_PUSH, order.out = NULL, order.values = ones;
        uint64_t task = submit(w, 0, order);
        while (hw_client_more(w->client[0]))
            continue;
        atomic_store(&countdown, a == 0 ? n : 0);
        bool replied = serve_all(w, NULL), reached = atomic_exchange(&countdown, 0) <= 0;
        settle(w);
        if (!replied || w->status[0][task] != HAWSER_OK) {
            close_world(w);
            return true;
        }
        order.operation = HW_PULL, order.out = again, order.values = NULL, order.reread = true;
        task = submit(w, 0, order);
        settle(w);
        *missed += w->status[0][task] == HAWSER_NO_MEMORY;
        assert_true(w->status[0][task] == HAWSER_OK || (a == 0 && w->status[0][task] == HAWSER_NO_MEMORY));
        for (size_t i = 0; w->status[0][task] == HAWSER_OK && i < KEYS; i++)
            assert_true(out[i] == (double)a && again[i] == (double)a);
        if (a == 0 && !reached) {
            close_world(w);
            return false;
        }
    }
    close_world(w);
    return true;
}

static void versions_without_memory(void **state)
{
    (void)state;
    int missed = 0;
    long n = 1;
    while (write_without_memory(n, &missed))
        n++;
    assert_true(n > 3 && missed > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_without_memory), cmocka_unit_test(a_failed_request_is_not_acknowledged),
        cmocka_unit_test(rows_made_before_a_failure_are_removed), cmocka_unit_test(a_refused_clock_is_reported_to_all),
        cmocka_unit_test(lookup_of_missing_keys_does_not_wait_for_growth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
