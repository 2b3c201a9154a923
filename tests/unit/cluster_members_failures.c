/*
 * cluster_members_failures.c - the members of a cluster: every subscriber receives each loss once and in one order, whoever
 * subscribes, unsubscribes or notes losses at the same time or within a call, and later jobs forget what was over with the
 * job before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cluster/members.h"
#include "failing.h"

enum { NODES = 40, SUBSCRIBERS = 6 };

/* A subscriber that keeps what it receives, and may do more. */
typedef struct listener {
    hw_subscriber subscriber;
    hw_members *members;
    uint32_t nodes[NODES + 1];
    uint64_t numbers[NODES + 1];
    uint32_t count;
    char why[480];
    struct listener *drops, *adds; /* at the first event: unsubscribes, subscribes */
    uint32_t also;                 /* at the first event: notes the loss of this node; HW_NET_ANY: of none */
    atomic_uint busy;
    bool overlaps;
} listener;

static hw_loss loss_of(uint32_t node, const char *why)
{
    hw_loss loss = {.node = node};
    snprintf(loss.why, sizeof loss.why, "%s", why);
    return loss;
}

static void lose(hw_members *members, uint32_t node)
{
    hw_loss loss = loss_of(node, "it was killed");
    assert_true(hw_members_lose(members, &loss, true, "testing"));
}

static void note(void *argument, const hw_member_event *event)
{
    listener *self = argument;
    self->overlaps = self->overlaps || atomic_fetch_add(&self->busy, 1) != 0;
    self->nodes[self->count] = event->loss.node;
    self->numbers[self->count++] = event->number;
    memcpy(self->why, event->loss.why, sizeof self->why);
    if (self->count == 1) {
        if (self->drops != NULL)
            hw_members_unsubscribe(self->members, &self->drops->subscriber);
        if (self->adds != NULL)
            hw_members_subscribe(self->members, &self->adds->subscriber);
        if (self->also != HW_NET_ANY)
            lose(self->members, self->also);
    }
    atomic_fetch_sub(&self->busy, 1);
}

static listener listen_to(hw_members *members)
{
    listener self = {.subscriber = {.changed = note}, .members = members, .also = HW_NET_ANY};
    return self;
}

static void begin_listening(listener *self)
{
    self->subscriber.argument = self;
    hw_members_subscribe(self->members, &self->subscriber);
}

static hw_members *make(void)
{
    hw_members *members = NULL;
    hawser_error error = {0};
    assert_int_equal(hw_members_new(NODES, &members, &error), HAWSER_OK);
    for (uint32_t i = 0; i < NODES; i++) {
        hw_member member = {.node = i, .incarnation = 1000 + i};
        snprintf(member.name, sizeof member.name, "host-%u", i);
        hw_members_set(members, &member);
    }
    return members;
}

static void expect_nodes(const listener *self, uint32_t count, const uint32_t *nodes)
{
    assert_int_equal(self->count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(self->nodes[i], nodes[i]);
        assert_true(i == 0 || self->numbers[i] > self->numbers[i - 1]);
    }
    assert_false(self->overlaps);
}

static void who_comes_late_receives_the_same(void **state)
{
    (void)state;
    hw_members *members = make();
    listener early = listen_to(members), late = listen_to(members), gone = listen_to(members);
    begin_listening(&early);
    begin_listening(&gone);
    lose(members, 7);
    hw_members_unsubscribe(members, &gone.subscriber);
    hw_members_unsubscribe(members, &gone.subscriber); /* not there: nothing */
    lose(members, 3);
    hw_loss again = loss_of(7, "another reason");
    assert_false(hw_members_lose(members, &again, true, "testing"));
    begin_listening(&late);
    lose(members, HW_NET_ANY);
    expect_nodes(&early, 3, (const uint32_t[]){7, 3, HW_NET_ANY});
    expect_nodes(&late, 3, (const uint32_t[]){7, 3, HW_NET_ANY});
    expect_nodes(&gone, 1, (const uint32_t[]){7});
    assert_true(hw_members_is_lost(members, 3) && !hw_members_is_lost(members, 4) &&
                hw_members_is_lost(members, HW_NET_ANY));
    hw_member_event event;
    assert_true(hw_members_loss(members, 1, &event));
    assert_int_equal(event.incarnation, 1003);
    assert_int_equal(event.view, hw_members_view(members));
    assert_string_equal(event.loss.name, "host-3");
    assert_string_equal(event.loss.why, "it was killed");
    assert_string_equal(event.during, "testing");
    assert_false(hw_members_loss(members, 3, &event));
    hw_members_free(members);
}

static void a_call_may_change_everything(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        hw_members *members = make();
        listener first = listen_to(members), second = listen_to(members), third = listen_to(members),
                 added = listen_to(members);
        added.subscriber.argument = &added;
        first.drops = own != 0 ? &first : &second;
        first.adds = &added;
        first.also = 9;
        begin_listening(&first);
        begin_listening(&second);
        begin_listening(&third);
        lose(members, 5);
        expect_nodes(&first, own != 0 ? 1 : 2, (const uint32_t[]){5, 9});
        expect_nodes(&second, own != 0 ? 2 : 0, (const uint32_t[]){5, 9});
        expect_nodes(&third, 2, (const uint32_t[]){5, 9});
        expect_nodes(&added, 2, (const uint32_t[]){5, 9});
        hw_members_free(members);
    }
}

static void a_job_forgets_what_ended_with_the_job_before(void **state)
{
    (void)state;
    hw_members *members = make();
    listener always = listen_to(members), late = listen_to(members);
    hw_loss ended = loss_of(2, "it has ended its job"), gone = loss_of(4, "it was killed"), both = loss_of(6, "first");
    begin_listening(&always);
    assert_true(hw_members_lose(members, &ended, false, "one"));
    assert_true(hw_members_lose(members, &gone, true, "one"));
    assert_true(hw_members_lose(members, &both, false, "one"));
    assert_false(hw_members_lose(members, &both, true, "one")); /* it had ended its job, and is gone now */
    hw_members_begin_job(members);
    assert_false(hw_members_is_lost(members, 2));
    begin_listening(&late);
    expect_nodes(&late, 2, (const uint32_t[]){4, 6});
    assert_true(hw_members_lose(members, &ended, false, "two")); /* in the next job it is an event again */
    expect_nodes(&late, 3, (const uint32_t[]){4, 6, 2});
    expect_nodes(&always, 4, (const uint32_t[]){2, 4, 6, 2});
    hw_members_free(members);
}

static void a_loss_needs_no_memory(void **state)
{
    (void)state;
    hw_members *members = make();
    listener one = listen_to(members);
    begin_listening(&one);
    hw_loss first = loss_of(1, "the first reason"), second = loss_of(2, "the second reason");
    atomic_store(&countdown, 1);
    bool noted = hw_members_lose(members, &first, true, "testing");
    atomic_store(&countdown, 0);
    assert_true(noted);
    assert_string_equal(one.why, "the first reason");
    atomic_store(&countdown, 1);
    noted = hw_members_lose(members, &second, true, "testing");
    atomic_store(&countdown, 0);
    assert_true(noted);
    expect_nodes(&one, 2, (const uint32_t[]){1, 2});
    assert_string_equal(one.why, "there was no memory for the reason");
    hw_members_free(members);
}

/* ---------------------------------------------------------------------------------------------------------- threads ---- */

typedef struct storm {
    hw_members *members;
    uint32_t first; /* this one notes the loss of every third node from here on, */
    bool comes;     /* or subscribes and unsubscribes */
    uint64_t seed;
    bool wrong;
} storm;

static void *rage(void *argument)
{
    storm *self = argument;
    hw_loss loss = loss_of(0, "a storm");
    for (loss.node = self->first; !self->comes && loss.node < NODES; loss.node += 3)
        (void)hw_members_lose(self->members, &loss, true, "storming");
    for (int i = 0; self->comes && i < 200; i++) {
        listener own = listen_to(self->members);
        begin_listening(&own);
        for (uint64_t k = self->seed++ % 7; k > 0; k--)
            (void)hw_members_is_lost(self->members, (uint32_t)k);
        hw_members_unsubscribe(self->members, &own.subscriber);
        for (uint32_t k = 1; k < own.count; k++)
            self->wrong = self->wrong || own.numbers[k] != own.numbers[k - 1] + 1;
        self->wrong = self->wrong || own.overlaps;
    }
    return NULL;
}

/* Three threads note losses, each of which another notes too, while two come and go and one listens all the time. */
static void all_threads_see_one_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        hw_members *members = make();
        listener always[2] = {listen_to(members), listen_to(members)};
        begin_listening(&always[0]);
        begin_listening(&always[1]);
        storm storms[SUBSCRIBERS];
        pthread_t threads[SUBSCRIBERS];
        for (uint32_t i = 0; i < SUBSCRIBERS; i++) {
            storms[i] = (storm){.members = members, .first = i % 3, .comes = i > 3, .seed = seed + i};
            assert_int_equal(pthread_create(&threads[i], NULL, rage, &storms[i]), 0);
        }
        for (uint32_t i = 0; i < SUBSCRIBERS; i++)
            pthread_join(threads[i], NULL);
        for (uint32_t i = 0; i < SUBSCRIBERS; i++)
            assert_false(storms[i].wrong);
        hw_members_unsubscribe(members, &always[0].subscriber); /* waits for a call in progress */
        hw_members_unsubscribe(members, &always[1].subscriber);
        expect_nodes(&always[0], NODES, always[1].nodes);
        hw_members_free(members);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_comes_late_receives_the_same),
        cmocka_unit_test(a_call_may_change_everything),
        cmocka_unit_test(a_job_forgets_what_ended_with_the_job_before),
        cmocka_unit_test(a_loss_needs_no_memory),
        cmocka_unit_test(all_threads_see_one_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
