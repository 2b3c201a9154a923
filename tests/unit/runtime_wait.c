/* A wait that would time out looks once more, and a runner that has been woken counts as busy before it runs again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "job.h"
#include "runtime/session/status.h"

/* An executor whose last other runner sends its message between the waiter's check of its mailbox and the question which runners are busy. */
typedef struct late_executor {
    hw_executor super;
    hw_transport *transport;
    bool sends, sent;
    double time;
} late_executor;

static double late_now(hw_executor *super)
{
    return ((late_executor *)super)->time += 100;
}

static uint32_t late_busy(hw_executor *super)
{
    late_executor *executor = (late_executor *)super;
    hw_message *message;
    if (executor->sends && !executor->sent) {
        executor->sent = true;
        assert_int_equal(hw_message_new(0, &message, NULL), HAWSER_OK);
        assert_int_equal(executor->transport->ops->send(executor->transport, 1, 0, message, NULL), HAWSER_OK);
    }
    return 1;
}

static void late_park(hw_executor *super, uint32_t number, double deadline)
{
    (void)number;
    ((late_executor *)super)->time = deadline;
}

static hawser_status handle(void *owner, hw_message *message)
{
    *(bool *)owner = true;
    hw_message_free(message);
    return HAWSER_OK;
}

static bool has_message(void *argument)
{
    return *(bool *)argument;
}

static void a_message_at_the_last_moment_is_received(void **state)
{
    (void)state;
    static const hw_executor_ops ops = {.now = late_now, .busy = late_busy, .park = late_park};
    for (int sends = 0; sends < 2; sends++) {
        test_job test = OPEN_JOB("workers", "1", "timeout", "50");
        hawser_error error = {0};
        bool came = false;
        late_executor executor = {.super = {&ops}, .sends = sends};
        assert_int_equal(hw_inproc_new(2, &executor.transport, &error), HAWSER_OK);
        hw_session session = {.job = test.job, .transport = executor.transport, .executor = &executor.super, .blocks = 1};
        hw_mailbox mailbox = {.session = &session, .owner = &came, .handle = handle, .error = &error};
        assert_int_equal(hw_wait(&mailbox, has_message, &came), sends ? HAWSER_OK : HAWSER_TIMEOUT);
        assert_true(sends || strstr(error.text, "timed out after 50 s") != NULL);
        executor.transport->ops->free(executor.transport);
        close_job(test);
    }
}

/* ------------------------------------------------------------------------------ two nodes, one of them the test ---- */

enum { TIMEOUT = 50, MESSAGE_AT = 1000 };

/* Time goes on only while the driver of node 0 waits; the test speaks for node 1 at each step. */
typedef struct far_executor {
    hw_executor super;
    hw_session *session;
    void (*step)(struct far_executor *executor);
    double time;
    uint32_t busy;
    hw_node_status node_status;
    uint64_t sequence;
} far_executor;

static double far_now(hw_executor *super)
{
    return ((far_executor *)super)->time;
}

static uint32_t far_busy(hw_executor *super)
{
    return ((far_executor *)super)->busy + 1;
}

static void far_put(far_executor *executor, const hw_node_status *node_status)
{
    hw_transport *transport = executor->session->transport;
    uint32_t from = hw_agent_endpoint(executor->session, 1), to = hw_agent_endpoint(executor->session, 0);
    hw_message *message;
    assert_int_equal(hw_message_new(sizeof *node_status, &message, NULL), HAWSER_OK);
    memcpy(message->payload, node_status, sizeof *node_status);
    message->envelope.state = message->envelope.epoch = 1;
    message->envelope.clock = ++executor->sequence;
    assert_int_equal(transport->ops->put(transport, from, to, message, NULL), HAWSER_OK);
}

static void far_park(hw_executor *super, uint32_t number, double deadline)
{
    far_executor *executor = (far_executor *)super;
    (void)number;
    executor->time = deadline;
    executor->step(executor);
    if (executor->time >= MESSAGE_AT && executor->time < MESSAGE_AT + 1) {
        hw_message *message;
        assert_int_equal(hw_message_new(0, &message, NULL), HAWSER_OK);
        hw_transport *transport = executor->session->transport;
        assert_int_equal(transport->ops->send(transport, 0, 1, message, NULL), HAWSER_OK);
    }
}

static void says_nothing(far_executor *executor)
{
    (void)executor;
}

static void rests_from_10(far_executor *executor)
{
    if (executor->sequence == 0 && executor->time >= 10)
        far_put(executor, &(hw_node_status){.received = 3});
}

static void works_until_200(far_executor *executor)
{
    if (executor->sequence == 0 || (executor->sequence == 1 && executor->time >= 200))
        far_put(executor, &(hw_node_status){.busy = executor->sequence == 0});
}

static void sends_until_200(far_executor *executor)
{
    if (executor->sequence == 0 || (executor->sequence == 1 && executor->time >= 200))
        far_put(executor, &(hw_node_status){.queued = executor->sequence == 0 ? 1000 : 0});
}

static void receives_until_300(far_executor *executor)
{
    if (executor->time <= 300 && (double)executor->sequence * 30 <= executor->time)
        far_put(executor, &(hw_node_status){.received = executor->sequence});
}

static void works_here_until_400(far_executor *executor)
{
    if (executor->sequence == 0)
        far_put(executor, &(hw_node_status){0});
    executor->busy = executor->time < 400;
}

/* How long the driver, or the agent of `node`, waits: until what is aimed at, or the message at MESSAGE_AT. */
static double waits(uint32_t node, void (*step)(far_executor *), hawser_status wanted)
{
    static const hw_executor_ops ops = {.now = far_now, .busy = far_busy, .park = far_park};
    test_job test = OPEN_JOB("workers", "1", "timeout", "50");
    hawser_error error = {0};
    bool came = false;
    hw_session session = {.job = test.job, .blocks = 1, .node = node, .nodes = 2};
    far_executor executor = {.super = {&ops}, .session = &session, .step = step};
    session.executor = &executor.super;
    assert_int_equal(hw_inproc_new(4, &session.transport, &error), HAWSER_OK);
    assert_int_equal(hw_status_table_open(&session, &session.status_table, &error), HAWSER_OK);
    hw_mailbox mailbox = {
        .session = &session, .endpoint = 1, .owner = &came, .handle = handle, .poll = 0.5, .error = &error};
    assert_int_equal(hw_wait(&mailbox, has_message, &came), wanted);
    assert_true(wanted == HAWSER_OK || strstr(error.text, "all workers on all nodes were waiting") != NULL);
    hw_status_table_close(session.status_table);
    session.transport->ops->free(session.transport);
    close_job(test);
    return executor.time;
}

/* The driver gives up when all nodes have been silent at work for the timeout, and not before: heartbeats are not what it goes by. */
static void a_job_in_which_no_node_works_ends(void **state)
{
    (void)state;
    static const struct {
        void (*step)(far_executor *);
        double from; /* since when all is quiet */
    } cases[] = {{rests_from_10, 10},
                 {works_until_200, 200},
                 {sends_until_200, 200},
                 {receives_until_300, 300},
                 {works_here_until_400, 400}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double waited = waits(0, cases[i].step, HAWSER_TIMEOUT);
        assert_true(waited >= cases[i].from + TIMEOUT && waited <= cases[i].from + 2 * TIMEOUT + 2);
    }
    assert_true(waits(0, says_nothing, HAWSER_OK) >= MESSAGE_AT); /* the node's work is unknown */
    assert_true(waits(1, says_nothing, HAWSER_OK) >= MESSAGE_AT); /* an agent leaves it to the driver */
}

typedef struct meeting {
    hw_executor *executor;
    atomic_int round, looked;
    int least; /* that were busy right after a wake */
} meeting;

enum { ROUNDS = 300 };

static void body(void *argument, uint32_t number)
{
    meeting *m = argument;
    const hw_executor_ops *ops = m->executor->ops;
    for (int round = 0; round < ROUNDS; round++)
        if (number == 0) {
            while (atomic_load(&m->round) <= round)
                ops->park(m->executor, 0, ops->now(m->executor) + 60);
            while (atomic_load(&m->looked) <= round)
                (void)sched_yield();
        } else {
            while (ops->busy(m->executor) > 1)
                (void)sched_yield();
            atomic_fetch_add(&m->round, 1);
            ops->wake(m->executor, 0);
            int busy = (int)ops->busy(m->executor);
            m->least = busy < m->least ? busy : m->least;
            atomic_fetch_add(&m->looked, 1);
        }
}

static void a_woken_worker_is_busy_at_once(void **state)
{
    (void)state;
    hawser_error error = {0};
    meeting m = {.least = 2};
    assert_int_equal(hw_thread_executor(2, 1, 0, &m.executor, &error), HAWSER_OK);
    assert_int_equal(m.executor->ops->run(m.executor, body, &m, &error), HAWSER_OK);
    m.executor->ops->free(m.executor);
    assert_int_equal(m.least, 2);
}

typedef struct turns {
    hw_executor *executor;
    atomic_int started, done[2], lead; /* lead: the most rounds by which a runner was ahead */
} turns;

static void take_turns(void *argument, uint32_t number)
{
    turns *t = argument;
    const hw_executor_ops *ops = t->executor->ops;
    if (number > 1)
        return; /* the driver */
    atomic_fetch_add(&t->started, 1);
    double most = ops->now(t->executor) + 10;
    while (atomic_load(&t->started) < 2 && ops->now(t->executor) < most)
        ops->give_way(t->executor, number);
    for (int round = 1; round <= ROUNDS; round++) {
        atomic_store(&t->done[number], round);
        int lead = round - atomic_load(&t->done[1 - number]);
        if (lead > atomic_load(&t->lead))
            atomic_store(&t->lead, lead);
        ops->give_way(t->executor, number);
    }
}

/* Without turns the first of two runners does all of its rounds before the other has the only permit. */
static void runners_without_permits_get_their_turn(void **state)
{
    (void)state;
    hawser_error error = {0};
    turns t = {.started = 0};
    assert_int_equal(hw_thread_executor(3, 1, 0, &t.executor, &error), HAWSER_OK);
    assert_int_equal(t.executor->ops->run(t.executor, take_turns, &t, &error), HAWSER_OK);
    t.executor->ops->free(t.executor);
    assert_true(atomic_load(&t.lead) <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_at_the_last_moment_is_received), cmocka_unit_test(a_job_in_which_no_node_works_ends),
        cmocka_unit_test(a_woken_worker_is_busy_at_once), cmocka_unit_test(runners_without_permits_get_their_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
