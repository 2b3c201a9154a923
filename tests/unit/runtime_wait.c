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

/* An executor whose last other runner sends its message between the waiter's check of its mailbox and the question which
 * runners are busy. */
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
    const hw_plan plan = {0};
    hw_session session = {.job = test.job, .plan = &plan, .blocks = 1, .node = node, .nodes = 2};
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

/* The driver gives up when all nodes have been silent at work for the timeout, and not before: heartbeats are not what it
 * goes by. */
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

/* -------------------------------------------------------------------------------------------- losses and the policy ---- */

/* A transport whose inbox the test fills, and whose receivers are gone. */
typedef struct lonely {
    hw_transport super;
    hw_message *inbox, *at_park; /* the latter arrives while the owner waits */
    uint32_t sent;
} lonely;

static hw_message *lonely_receive(hw_transport *transport, uint32_t endpoint)
{
    hw_message *message = ((lonely *)transport)->inbox;
    (void)endpoint;
    if (message != NULL)
        ((lonely *)transport)->inbox = message->next;
    return message;
}

static hawser_status lonely_send(hw_transport *transport, uint32_t source, uint32_t destination, hw_message *message,
                                 hawser_error *error)
{
    (void)source, (void)destination;
    ((lonely *)transport)->sent++;
    hw_message_free(message);
    return hawser_fail(error, HAWSER_PEER_LOST, "a broken link");
}

/* Who waits, the policy, and what both have seen. */
typedef struct mourner {
    hw_session session;
    hw_mailbox mailbox;
    hw_executor executor;
    lonely transport;
    hawser_error error;
    double time;
    uint32_t fatal; /* the run ends by the loss of this node */
    uint32_t asked, reasons, handled;
    hawser_status refuses; /* of `handle`, once */
} mourner;

static hw_decision ends_by_one(const hw_session *session, const hw_loss *loss)
{
    mourner *self = (mourner *)(void *)((char *)(uintptr_t)session - offsetof(mourner, session));
    self->asked++;
    return loss->node == self->fatal ? HW_RUN_ENDS : HW_RUN_GOES_ON;
}

static hawser_status say_why(void *owner, const hw_loss *loss)
{
    mourner *self = owner;
    self->reasons++;
    return hawser_fail(&self->error, HAWSER_PEER_LOST, "node %u is missing", loss->node);
}

static hawser_status take_other(void *owner, hw_message *message)
{
    mourner *self = owner;
    hawser_status status = self->refuses;
    hw_message_free(message);
    self->handled++;
    self->refuses = HAWSER_OK;
    return status;
}

static bool has_handled(void *argument)
{
    return ((mourner *)argument)->handled > 0;
}

static void post(hw_message **inbox, uint32_t lost)
{
    hw_message *message;
    assert_int_equal(hw_message_new(lost != HW_NET_ANY ? sizeof(hw_loss) : 0, &message, NULL), HAWSER_OK);
    message->envelope.kind = lost != HW_NET_ANY ? HW_MESSAGE_LOST : HW_MESSAGE_UPDATE;
    if (lost != HW_NET_ANY)
        memcpy(message->payload, &(hw_loss){.node = lost}, sizeof(hw_loss));
    while (*inbox != NULL)
        inbox = &(*inbox)->next;
    *inbox = message;
}

static double mourner_now(hw_executor *executor)
{
    mourner *self = (mourner *)(void *)((char *)executor - offsetof(mourner, executor));
    return self->time += 0.1;
}

static void mourner_park(hw_executor *executor, uint32_t number, double deadline)
{
    mourner *self = (mourner *)(void *)((char *)executor - offsetof(mourner, executor));
    (void)number, (void)deadline;
    self->transport.inbox = self->transport.at_park;
    self->transport.at_park = NULL;
}

static void mourner_yield(hw_executor *executor, uint32_t number)
{
    (void)executor, (void)number;
}

static void begin_mourning(mourner *self, hawser_job *job, uint32_t fatal)
{
    static const hw_transport_ops transport = {.receive = lonely_receive, .send = lonely_send};
    static const hw_executor_ops executor = {.now = mourner_now, .park = mourner_park, .yield = mourner_yield};
    *self = (mourner){.session = {.job = job, .blocks = 2, .nodes = 3, .after_loss = ends_by_one},
                      .mailbox = {.handle = take_other, .lost = say_why},
                      .executor = {&executor},
                      .transport = {.super = {&transport}},
                      .fatal = fatal};
    self->session.transport = &self->transport.super;
    self->session.executor = &self->executor;
    self->mailbox.session = &self->session;
    self->mailbox.owner = self;
    self->mailbox.error = &self->error;
}

static hawser_status send_one(mourner *self)
{
    hw_message *message;
    assert_int_equal(hw_message_new(0, &message, NULL), HAWSER_OK);
    return hw_send(&self->mailbox, 1, message);
}

static void the_policy_alone_ends_a_run_by_a_loss(void **state)
{
    (void)state;
    enum { NO_NODE = 77 };
    test_job test = OPEN_JOB("workers", "1", "timeout", "50");
    mourner self;
    begin_mourning(&self, test.job, NO_NODE); /* two losses, and the run goes on */
    post(&self.transport.inbox, 1);
    post(&self.transport.inbox, 2);
    post(&self.transport.inbox, HW_NET_ANY);
    assert_int_equal(hw_wait(&self.mailbox, has_handled, &self), HAWSER_OK);
    assert_true(self.asked == 2 && self.reasons == 0 && self.handled == 1 && self.mailbox.losses == 2);
    assert_int_equal(send_one(&self), HAWSER_OK); /* dropped */
    assert_int_equal(self.transport.sent, 1);

    begin_mourning(&self, test.job, 2); /* the second one ends it, and what follows is not handled */
    post(&self.transport.inbox, 1);
    post(&self.transport.inbox, 2);
    post(&self.transport.inbox, HW_NET_ANY);
    for (int i = 0; i < 2; i++)
        assert_int_equal(hw_wait(&self.mailbox, has_handled, &self), HAWSER_PEER_LOST);
    assert_string_equal(self.error.text, "node 2 is missing");
    assert_true(self.asked == 2 && self.reasons == 1 && self.handled == 0);
    hw_messages_free(self.transport.inbox);
    close_job(test);
}

static void a_send_to_a_lost_node_waits_for_the_loss(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "1", "timeout", "50");
    mourner self;
    for (uint32_t fatal = 1; fatal < 3; fatal++) {
        begin_mourning(&self, test.job, fatal);
        post(&self.transport.at_park, 1);
        assert_int_equal(send_one(&self), fatal == 1 ? HAWSER_PEER_LOST : HAWSER_OK);
        assert_true(fatal != 1 || strcmp(self.error.text, "node 1 is missing") == 0);
    }
    begin_mourning(&self, test.job, 1); /* no loss is reported */
    assert_int_equal(send_one(&self), HAWSER_PEER_LOST);
    assert_string_equal(self.error.text, "a broken link");
    close_job(test);
}

static void a_failure_to_handle_a_message_is_returned_once(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "1", "timeout", "50");
    mourner self;
    begin_mourning(&self, test.job, 1);
    self.refuses = HAWSER_NO_MEMORY;
    post(&self.transport.inbox, HW_NET_ANY);
    post(&self.transport.inbox, HW_NET_ANY);
    assert_int_equal(hw_drain(&self.mailbox), HAWSER_NO_MEMORY);
    assert_int_equal(self.handled, 1);
    assert_int_equal(hw_drain(&self.mailbox), HAWSER_OK);
    assert_int_equal(self.handled, 2);
    close_job(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_message_at_the_last_moment_is_received),
                                       cmocka_unit_test(a_job_in_which_no_node_works_ends),
                                       cmocka_unit_test(a_woken_worker_is_busy_at_once),
                                       cmocka_unit_test(runners_without_permits_get_their_turn),
                                       cmocka_unit_test(the_policy_alone_ends_a_run_by_a_loss),
                                       cmocka_unit_test(a_send_to_a_lost_node_waits_for_the_loss),
                                       cmocka_unit_test(a_failure_to_handle_a_message_is_returned_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
