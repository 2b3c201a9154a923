/* A wait that would time out looks once more, and a vehicle that has been woken counts as busy before it runs again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "job.h"
#include "runtime/drive/session.h"

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
        assert_true(sends || strstr(error.text, "waited 50 s in vain") != NULL);
        crew.transport->ops->free(crew.transport);
        close_job(test);
    }
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
                                       cmocka_unit_test(who_is_woken_is_busy_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
