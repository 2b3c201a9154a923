/* A ring: bytes come out as they went in, whatever the pieces; both sides sleep and are woken; counts that cannot be are
 * found. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "transport/net/shared.h"

enum { SIZE = HW_RING_LEAST, SPARE = 256 };

/* Both sides of one ring in this process, with bytes behind it that must stay as they are. */
typedef struct both {
    hw_ring_control *control;
    unsigned char *bytes;
    hw_shared_ring in, out;
} both;

static both open_both(void)
{
    both made = {0};
    assert_int_equal(HW_NEW(&made.control, 1, "a ring", NULL), HAWSER_OK);
    assert_int_equal(HW_NEW(&made.bytes, SIZE + SPARE, "a ring", NULL), HAWSER_OK);
    memset(made.bytes, 0xa5, SIZE + SPARE);
    made.in = made.out = (hw_shared_ring){.control = made.control, .bytes = made.bytes, .size = SIZE};
    return made;
}

static void close_both(both *it)
{
    for (int i = 0; i < SPARE; i++)
        assert_int_equal(it->bytes[SIZE + i], 0xa5);
    free(it->control);
    free(it->bytes);
}

static ssize_t put(both *it, const void *bytes, size_t size)
{
    const struct iovec piece = {(void *)(size_t)bytes, size};
    bool wakeup = false;
    return hw_ring_write(&it->out, &piece, 1, &wakeup);
}

static ssize_t take(both *it, void *bytes, size_t size)
{
    const struct iovec piece = {bytes, size};
    bool wakeup = false;
    return hw_ring_read(&it->in, &piece, 1, &wakeup);
}

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

static void fill(unsigned char *to, uint64_t from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (unsigned char)((from + i) * 31 >> 3);
}

/* Pieces of any sizes, in any order of writing and reading, against plain counting. */
static void bytes_are_read_as_written(void **state)
{
    (void)state;
    both it = open_both();
    unsigned char sent[3 * SIZE], got[3 * SIZE], due[3 * SIZE];
    uint64_t seed = 5, in = 0, out = 0;
    /* As if it had been used for long: counts about to pass 2^64. */
    atomic_store(&it.control->written, UINT64_MAX - 100000);
    atomic_store(&it.control->read, UINT64_MAX - 100000);
    atomic_store(&it.in.own, UINT64_MAX - 100000);
    atomic_store(&it.out.own, UINT64_MAX - 100000);
    for (int round = 0; round < 20000; round++) {
        size_t sizes[2] = {draw(&seed) % 7 == 0 ? 0 : draw(&seed) % (round % 3 == 0 ? SIZE : 200), draw(&seed) % 300};
        bool wakeup = false;
        if (draw(&seed) % 2 == 0) {
            fill(sent, in, sizes[0] + sizes[1]);
            const struct iovec pieces[] = {{sent, sizes[0]}, {sent + sizes[0], sizes[1]}};
            size_t space = SIZE - (size_t)(in - out), all = sizes[0] + sizes[1];
            ssize_t moved = hw_ring_write(&it.out, pieces, 2, &wakeup);
            assert_int_equal(moved, all < space ? all : space);
            in += (uint64_t)moved;
        } else {
            const struct iovec pieces[] = {{got, sizes[0]}, {got + sizes[0], sizes[1]}};
            size_t there = (size_t)(in - out), all = sizes[0] + sizes[1];
            ssize_t moved = hw_ring_read(&it.in, pieces, 2, &wakeup);
            assert_int_equal(moved, all < there ? all : there);
            fill(due, out, (size_t)moved);
            assert_memory_equal(got, due, (size_t)moved);
            out += (uint64_t)moved;
        }
        assert_int_equal(hw_ring_readable(&it.in), in != out);
        assert_int_equal(hw_ring_unread(&it.out), in - out);
        assert_int_equal(hw_ring_writable(&it.out), SIZE - (in - out) >= SIZE / 4);
        assert_false(wakeup); /* no wakeup was requested */
    }
    close_both(&it);
}

/* One request gives one wakeup; a reader that has woken gets none; a writer gets none before it is worth it. */
static void a_wakeup_is_sent_once(void **state)
{
    (void)state;
    both it = open_both();
    unsigned char bytes[SIZE] = {0};
    const struct iovec one = {bytes, 1}, all = {bytes, SIZE}, half = {bytes, SIZE / 2};
    bool wakeup = false;
    hw_ring_ask_reader(&it.in);
    assert_int_equal(hw_ring_write(&it.out, &one, 1, &wakeup), 1);
    assert_true(wakeup);
    wakeup = false;
    assert_int_equal(hw_ring_write(&it.out, &one, 1, &wakeup), 1);
    assert_false(wakeup);
    hw_ring_ask_reader(&it.in);
    hw_ring_unask_reader(&it.in);
    assert_int_equal(hw_ring_write(&it.out, &all, 1, &wakeup), SIZE - 2);
    assert_false(wakeup);
    assert_int_equal(hw_ring_write(&it.out, &one, 1, &wakeup), 0);
    hw_ring_ask_writer(&it.out);
    assert_int_equal(hw_ring_read(&it.in, &one, 1, &wakeup), 1);
    assert_false(wakeup);
    assert_int_equal(hw_ring_read(&it.in, &half, 1, &wakeup), SIZE / 2);
    assert_true(wakeup);
    wakeup = false;
    assert_int_equal(hw_ring_read(&it.in, &all, 1, &wakeup), SIZE / 2 - 1);
    assert_false(wakeup);
    close_both(&it);
}

/* Whatever the other side has put where its count should be. */
static void impossible_counts_are_found(void **state)
{
    (void)state;
    both it = open_both();
    unsigned char bytes[2 * SIZE];
    const uint64_t wrong[] = {SIZE + 1, UINT64_MAX, (uint64_t)1 << 63, 1 << 20};
    const uint64_t gone_wrong[] = {1, UINT64_MAX - SIZE, (uint64_t)1 << 63,
                                   SIZE}; /* of what never was written, or long ago */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        atomic_store(&it.control->written, wrong[i]);
        assert_true(hw_ring_readable(&it.in));
        assert_int_equal(take(&it, bytes, sizeof bytes), HW_RING_DAMAGED);
        atomic_store(&it.control->read, gone_wrong[i]);
        assert_true(hw_ring_writable(&it.out));
        assert_int_equal(put(&it, bytes, 1), HW_RING_DAMAGED);
    }
    atomic_store(&it.control->written, SIZE); /* nonsense, but a ring full of it and no more */
    atomic_store(&it.control->read, 0);
    assert_int_equal(take(&it, bytes, sizeof bytes), SIZE);
    assert_int_equal(bytes[0], 0xa5);
    close_both(&it);
}

/* After its end nothing counts that the other side still writes. */
static void an_ended_ring_stays_as_it_was(void **state)
{
    (void)state;
    both it = open_both();
    char bytes[8];
    assert_int_equal(put(&it, "abcd", 4), 4);
    hw_ring_end(&it.in);
    assert_int_equal(put(&it, "efgh", 4), 4);
    assert_int_equal(take(&it, bytes, sizeof bytes), 4);
    assert_memory_equal(bytes, "abcd", 4);
    assert_false(hw_ring_readable(&it.in));
    assert_int_equal(take(&it, bytes, sizeof bytes), 0);
    close_both(&it);
}

/* Two threads that sleep on pipes whenever there is nothing to do: a lost wake would leave both asleep. */
typedef struct sleeper {
    both *it;
    int own, other; /* wakeups */
    uint64_t total;
    int wrong;
} sleeper;

static void ring_other(const sleeper *self, bool wakeup)
{
    if (wakeup && write(self->other, "!", 1) != 1)
        abort();
}

static void sleep_until_rung(const sleeper *self)
{
    char wakeups[16];
    if (read(self->own, wakeups, sizeof wakeups) < 1)
        abort();
}

static void *write_all(void *argument)
{
    sleeper *self = argument;
    unsigned char bytes[1500];
    uint64_t seed = 3;
    for (uint64_t at = 0; at < self->total;) {
        size_t size = 1 + draw(&seed) % sizeof bytes, left = (size_t)(self->total - at);
        struct iovec piece = {bytes, size < left ? size : left};
        fill(bytes, at, piece.iov_len);
        bool wakeup = false;
        ssize_t moved = hw_ring_write(&self->it->out, &piece, 1, &wakeup);
        ring_other(self, wakeup);
        at += (uint64_t)moved;
        if (moved > 0)
            continue;
        hw_ring_ask_writer(&self->it->out);
        if (!hw_ring_writable(&self->it->out))
            sleep_until_rung(self);
    }
    return NULL;
}

static void *read_all(void *argument)
{
    sleeper *self = argument;
    unsigned char bytes[1100], due[1100];
    uint64_t seed = 4;
    for (uint64_t at = 0; at < self->total;) {
        struct iovec piece = {bytes, 1 + draw(&seed) % sizeof bytes};
        bool wakeup = false;
        ssize_t moved = hw_ring_read(&self->it->in, &piece, 1, &wakeup);
        ring_other(self, wakeup);
        fill(due, at, (size_t)moved);
        self->wrong += memcmp(bytes, due, (size_t)moved) != 0;
        at += (uint64_t)moved;
        if (moved > 0)
            continue;
        hw_ring_ask_reader(&self->it->in);
        if (!hw_ring_readable(&self->it->in))
            sleep_until_rung(self);
    }
    return NULL;
}

static void no_wakeup_is_lost(void **state)
{
    (void)state;
    enum { TOTAL = 30 << 20 };
    both it = open_both();
    int wakeups[2][2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pipe(wakeups[i]), 0);
    sleeper ends[2] = {{&it, wakeups[0][0], wakeups[1][1], TOTAL, 0}, {&it, wakeups[1][0], wakeups[0][1], TOTAL, 0}};
    pthread_t threads[2];
    assert_int_equal(pthread_create(&threads[0], NULL, write_all, &ends[0]), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, read_all, &ends[1]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(ends[1].wrong, 0);
    for (int i = 0; i < 4; i++)
        close(wakeups[i / 2][i % 2]);
    close_both(&it);
}

/* A pair over one descriptor: what one side writes the other reads, both ways. */
static void a_pair_is_two_rings(void **state)
{
    (void)state;
    hw_shared *dials, *accepts;
    int fd;
    bool wakeup = false;
    hawser_error error;
    assert_int_equal(hw_shared_new(3 * HW_RING_LEAST, &dials, &fd, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hw_shared_new(HW_RING_LEAST / 2, &dials, &fd, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hw_shared_new(2 * HW_RING_LEAST, &dials, &fd, &error), HAWSER_OK);
    assert_int_equal(hw_shared_open(fd, &accepts, &error), HAWSER_OK);
    close(fd);
    hw_shared *const sides[] = {dials, accepts};
    for (int i = 0; i < 2; i++) {
        unsigned char sent[2 * HW_RING_LEAST], got[2 * HW_RING_LEAST] = {0};
        fill(sent, (uint64_t)i, sizeof sent);
        const struct iovec out = {sent, sizeof sent}, in = {got, sizeof got};
        assert_int_equal(hw_ring_write(&sides[i]->out, &out, 1, &wakeup), sizeof sent);
        assert_true(hw_shared_presses(sides[1 - i]));
        assert_false(hw_shared_await_space(sides[i]));
        assert_false(hw_shared_presses(sides[i]));
        assert_int_equal(hw_ring_read(&sides[1 - i]->in, &in, 1, &wakeup), sizeof got);
        assert_memory_equal(got, sent, sizeof got);
        assert_true(wakeup && hw_shared_presses(sides[i]));
        atomic_store(&sides[i]->waits, false);
    }
    hw_shared_free(dials);
    hw_shared_free(accepts);
}

static void a_pair_of_another_size_is_refused(void **state)
{
    (void)state;
    const size_t sizes[] = {4096, 4096 + HW_RING_LEAST, 4096 + 3 * HW_RING_LEAST, 4097 + 2 * HW_RING_LEAST,
                            4096 + 4 * (size_t)HW_RING_MOST};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hw_mapping made;
        hw_shared *shared;
        hawser_error error;
        int fd;
        assert_int_equal(hw_mapping_new(sizes[i], &made, &fd, &error), HAWSER_OK);
        assert_int_equal(hw_shared_open(fd, &shared, &error), HAWSER_BAD_INPUT);
        assert_null(shared);
        assert_non_null(strstr(error.text, "received shared memory of"));
        hw_mapping_free(&made);
        close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_read_as_written),
        cmocka_unit_test(a_wakeup_is_sent_once),
        cmocka_unit_test(impossible_counts_are_found),
        cmocka_unit_test(an_ended_ring_stays_as_it_was),
        cmocka_unit_test(no_wakeup_is_lost),
        cmocka_unit_test(a_pair_is_two_rings),
        cmocka_unit_test(a_pair_of_another_size_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
