/* Every allocation that exposing a segment and putting into it makes, failed in turn: a status, and nothing is left
 * behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "failing.h"

#include "transport/segment/segment.h"
#include "transport/transport.h"

/* HAWSER_OK: nothing failed. */
static hawser_status one_life(hawser_error *error)
{
    const uint32_t senders[] = {0, 1};
    const hw_segment_shape shape = {1, 1, senders, 2, 2, 100};
    hw_transport *transport = NULL;
    hw_segment *segment = NULL;
    hw_message *message = NULL;
    HAWSER_TRY(hw_inproc_new(2, &transport, error));
    hawser_status status = transport->ops->expose(transport, 0, &shape, &segment, error);
    assert_true((segment != NULL) == (status == HAWSER_OK));
    if (status == HAWSER_OK)
        status = hw_message_new(0, &message, error);
    if (status == HAWSER_OK) {
        message->envelope = (hw_envelope){.state = 1, .epoch = 1, .clock = 1};
        status = transport->ops->put(transport, 1, 0, message, error);
    }
    transport->ops->free(transport);
    return status;
}

static void nothing_leaks_when_memory_runs_out(void **state)
{
    (void)state;
    for (long n = 0;; n++) { /* 0: nothing fails */
        hawser_error error = {0};
        atomic_store(&countdown, n);
        long before = atomic_load(&live);
        hawser_status status = one_life(&error);
        bool failed = n > 0 && atomic_load(&countdown) <= 0;
        assert_int_equal(status, failed ? HAWSER_NO_MEMORY : HAWSER_OK);
        assert_int_equal(atomic_load(&live), before);
        if (n > 0 && !failed) {
            assert_true(n > 8);
            return; /* more than there are */
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_leaks_when_memory_runs_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
