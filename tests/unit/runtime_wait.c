/* A wait that would time out looks once more, and a vehicle that has been woken counts as busy before it runs again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "job.h"
#include "runtime/session/status.h"

/* A crew of which the last other vehicle sends its message between the waiter's look at its mail and the question who is busy. */
typedef struct late_crew {
    hw_crew super;
    hw_transport *transport;
    bool sends, sent;
    double time;
} late_crew;

static double late_now(hw_crew *super)
{
    return ((late_crew *)super)->time += 100;
}

static uint32_t late_busy(hw_crew *super)
{
    late_crew *crew = (late_crew *)super;
    hw_message *message;
    if (crew->sends && !crew->sent) {
        crew->sent = true;
        assert_int_equal(hw_message_new(0, &message, NULL), HAWSER_OK);
        assert_int_equal(crew->transport->ops->send(crew->transport, 1, 0, message, NULL), HAWSER_OK);
    }
    return 1;
}

static void late_park(hw_crew *super, uint32_t number, double deadline)
{
    (void)number;
    ((late_crew *)super)->time = deadline;
}

static hawser_status hear(void *owner, hw_message *message)
{
    *(bool *)owner = true;
    hw_message_free(message);
    return HAWSER_OK;
}

static bool heard(void *argument)
{
    return *(bool *)argument;
}

static void mail_at_the_last_moment_is_heard(void **state)
{
    (void)state;
    static const hw_crew_ops ops = {.now = late_now, .busy = late_busy, .park = late_park};
    for (int sends = 0; sends < 2; sends++) {
        test_job test = OPEN_JOB("workers", "1", "timeout", "50");
        hawser_error error = {0};
        bool came = false;
        late_crew crew = {.super = {&ops}, .sends = sends};
        assert_int_equal(hw_inproc_new(2, &crew.transport, &error), HAWSER_OK);
        hw_session session = {.job = test.job, .transport = crew.transport, .crew = &crew.super, .blocks = 1};
        hw_station station = {.session = &session, .owner = &came, .handle = hear, .error = &error};
        assert_int_equal(hw_wait(&station, heard, &came), sends ? HAWSER_OK : HAWSER_TIMEOUT);
        assert_true(sends || strstr(error.text, "timed out after 50 s") != NULL);
        crew.transport->ops->free(crew.transport);
        close_job(test);
    }
}

/* ------------------------------------------------------------------------------ two nodes, one of them the test ---- */

enum { TIMEOUT = 50, MESSAGE_AT = 1000 };

/* Time goes on only while the driver of node 0 waits; the test speaks for node 1 at each step. */
typedef struct far_crew {
    hw_crew super;
    hw_session *session;
    void (*step)(struct far_crew *crew);
    double time;
    uint32_t busy;
    hw_tidings tidings;
    uint64_t sequence;
} far_crew;

static double far_now(hw_crew *super)
{
    return ((far_crew *)super)->time;
}

static uint32_t far_busy(hw_crew *super)
{
    return ((far_crew *)super)->busy + 1;
}

static void far_put(far_crew *crew, const hw_tidings *tidings)
{
    hw_transport *transport = crew->session->transport;
    uint32_t from = hw_agent_endpoint(crew->session, 1), to = hw_agent_endpoint(crew->session, 0);
    hw_message *message;
    assert_int_equal(hw_message_new(sizeof *tidings, &message, NULL), HAWSER_OK);
    memcpy(message->payload, tidings, sizeof *tidings);
    message->envelope.state = message->envelope.epoch = 1;
    message->envelope.clock = ++crew->sequence;
    assert_int_equal(transport->ops->put(transport, from, to, message, NULL), HAWSER_OK);
}

static void far_park(hw_crew *super, uint32_t number, double deadline)
{
    far_crew *crew = (far_crew *)super;
    (void)number;
    crew->time = deadline;
    crew->step(crew);
    if (crew->time >= MESSAGE_AT && crew->time < MESSAGE_AT + 1) {
        hw_message *message;
        assert_int_equal(hw_message_new(0, &message, NULL), HAWSER_OK);
        hw_transport *transport = crew->session->transport;
        assert_int_equal(transport->ops->send(transport, 0, 1, message, NULL), HAWSER_OK);
    }
}

static void says_nothing(far_crew *crew)
{
    (void)crew;
}

static void rests_from_10(far_crew *crew)
{
    if (crew->sequence == 0 && crew->time >= 10)
        far_put(crew, &(hw_tidings){.heard = 3});
}

static void works_until_200(far_crew *crew)
{
    if (crew->sequence == 0 || (crew->sequence == 1 && crew->time >= 200))
        far_put(crew, &(hw_tidings){.busy = crew->sequence == 0});
}

static void sends_until_200(far_crew *crew)
{
    if (crew->sequence == 0 || (crew->sequence == 1 && crew->time >= 200))
        far_put(crew, &(hw_tidings){.queued = crew->sequence == 0 ? 1000 : 0});
}

static void hears_now_and_then_until_300(far_crew *crew)
{
    if (crew->time <= 300 && (double)crew->sequence * 30 <= crew->time)
        far_put(crew, &(hw_tidings){.heard = crew->sequence});
}

static void works_here_until_400(far_crew *crew)
{
    if (crew->sequence == 0)
        far_put(crew, &(hw_tidings){0});
    crew->busy = crew->time < 400;
}

/* How long the driver, or the agent of `node`, waits: until what is aimed at, or the message at MESSAGE_AT. */
static double waits(uint32_t node, void (*step)(far_crew *), hawser_status wanted)
{
    static const hw_crew_ops ops = {.now = far_now, .busy = far_busy, .park = far_park};
    test_job test = OPEN_JOB("workers", "1", "timeout", "50");
    hawser_error error = {0};
    bool came = false;
    hw_session session = {.job = test.job, .blocks = 1, .node = node, .nodes = 2};
    far_crew crew = {.super = {&ops}, .session = &session, .step = step};
    session.crew = &crew.super;
    assert_int_equal(hw_inproc_new(4, &session.transport, &error), HAWSER_OK);
    assert_int_equal(hw_board_open(&session, &session.board, &error), HAWSER_OK);
    hw_station station = {.session = &session, .endpoint = 1, .owner = &came, .handle = hear, .poll = 0.5, .error = &error};
    assert_int_equal(hw_wait(&station, heard, &came), wanted);
    assert_true(wanted == HAWSER_OK || strstr(error.text, "all workers on all nodes were waiting") != NULL);
    hw_board_close(session.board);
    session.transport->ops->free(session.transport);
    close_job(test);
    return crew.time;
}

/* The driver gives up when all nodes have been silent at work for the timeout, and not before: heartbeats are not what it goes by. */
static void a_job_in_which_no_node_works_ends(void **state)
{
    (void)state;
    static const struct {
        void (*step)(far_crew *);
        double from; /* since when all is quiet */
    } cases[] = {{rests_from_10, 10},
                 {works_until_200, 200},
                 {sends_until_200, 200},
                 {hears_now_and_then_until_300, 300},
                 {works_here_until_400, 400}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double waited = waits(0, cases[i].step, HAWSER_TIMEOUT);
        assert_true(waited >= cases[i].from + TIMEOUT && waited <= cases[i].from + 2 * TIMEOUT + 2);
    }
    assert_true(waits(0, says_nothing, HAWSER_OK) >= MESSAGE_AT); /* who knows what it is at */
    assert_true(waits(1, says_nothing, HAWSER_OK) >= MESSAGE_AT); /* an agent leaves it to the driver */
}

typedef struct meeting {
    hw_crew *crew;
    atomic_int round, looked;
    int least; /* that were busy right after a wake */
} meeting;

enum { ROUNDS = 300 };

static void body(void *argument, uint32_t number)
{
    meeting *m = argument;
    const hw_crew_ops *ops = m->crew->ops;
    for (int round = 0; round < ROUNDS; round++)
        if (number == 0) {
            while (atomic_load(&m->round) <= round)
                ops->park(m->crew, 0, ops->now(m->crew) + 60);
            while (atomic_load(&m->looked) <= round)
                (void)sched_yield();
        } else {
            while (ops->busy(m->crew) > 1)
                (void)sched_yield();
            atomic_fetch_add(&m->round, 1);
            ops->wake(m->crew, 0);
            int busy = (int)ops->busy(m->crew);
            m->least = busy < m->least ? busy : m->least;
            atomic_fetch_add(&m->looked, 1);
        }
}

static void who_is_woken_is_busy_at_once(void **state)
{
    (void)state;
    hawser_error error = {0};
    meeting m = {.least = 2};
    assert_int_equal(hw_thread_crew(2, 1, 0, &m.crew, &error), HAWSER_OK);
    assert_int_equal(m.crew->ops->run(m.crew, body, &m, &error), HAWSER_OK);
    m.crew->ops->free(m.crew);
    assert_int_equal(m.least, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mail_at_the_last_moment_is_heard),
                                       cmocka_unit_test(a_job_in_which_no_node_works_ends),
                                       cmocka_unit_test(who_is_woken_is_busy_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
