#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transport/transport.h"

enum { SENDERS = 4, EACH = 5000, PAYLOAD = 40 };

typedef struct sender {
    hw_transport *transport;
    uint32_t number;
    int failures;
} sender;

/* One payload serves two receivers; each sender frees nothing that it has sent. */
static void *send_many(void *argument)
{
    sender *self = argument;
    for (uint64_t i = 0; i < EACH; i++) {
        hw_message *message = NULL, *copy = NULL;
        if (hw_message_new(PAYLOAD, &message, NULL) != HAWSER_OK || hw_message_share(message, &copy, NULL) != HAWSER_OK) {
            self->failures++;
            hw_message_free(message);
            continue;
        }
        memset(message->payload, (int)(i % 251), PAYLOAD);
        message->envelope.source = copy->envelope.source = self->number;
        message->envelope.clock = copy->envelope.clock = i;
        self->failures += self->transport->ops->send(self->transport, self->number, SENDERS, message, NULL) != HAWSER_OK;
        self->failures += self->transport->ops->send(self->transport, self->number, SENDERS + 1, copy, NULL) != HAWSER_OK;
    }
    return NULL;
}

typedef struct receiver {
    hw_transport *transport;
    uint32_t number;
    int wrong;
    atomic_int woken;
} receiver;

static void *receive_many(void *argument)
{
    receiver *self = argument;
    uint64_t next[SENDERS] = {0};
    for (int left = SENDERS * EACH; left > 0;) {
        hw_message *message = self->transport->ops->receive(self->transport, self->number);
        if (message == NULL)
            continue;
        const hw_envelope *envelope = &message->envelope;
        uint64_t due = next[envelope->source]++;
        const unsigned char *bytes = message->payload;
        self->wrong += envelope->clock != due || envelope->length != PAYLOAD;
        self->wrong += bytes[0] != due % 251 || bytes[PAYLOAD - 1] != due % 251;
        hw_message_free(message);
        left--;
    }
    return NULL;
}

static void count_wake(void *argument)
{
    atomic_fetch_add((atomic_int *)argument, 1);
}

static void messages_arrive_once_in_order_and_complete(void **state)
{
    (void)state;
    hw_transport *transport;
    assert_int_equal(hw_inproc_new(SENDERS + 2, &transport, NULL), HAWSER_OK);
    sender senders[SENDERS];
    receiver receivers[2];
    pthread_t threads[SENDERS + 2];
    for (uint32_t i = 0; i < 2; i++) {
        receivers[i] = (receiver){.transport = transport, .number = SENDERS + i};
        transport->ops->on_delivery(transport, SENDERS + i, count_wake, &receivers[i].woken);
        assert_int_equal(pthread_create(&threads[SENDERS + i], NULL, receive_many, &receivers[i]), 0);
    }
    for (uint32_t i = 0; i < SENDERS; i++) {
        senders[i] = (sender){.transport = transport, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, send_many, &senders[i]), 0);
    }
    for (int i = 0; i < SENDERS + 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(senders[i].failures, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(receivers[i].wrong, 0);
        assert_int_equal(atomic_load(&receivers[i].woken), SENDERS * EACH);
        assert_null(transport->ops->receive(transport, SENDERS + (uint32_t)i));
    }
    transport->ops->free(transport);
}

static hw_message *empty(void)
{
    hw_message *message;
    assert_int_equal(hw_message_new(0, &message, NULL), HAWSER_OK);
    assert_null(message->payload);
    return message;
}

static void a_closed_endpoint_takes_no_messages(void **state)
{
    (void)state;
    hawser_error error;
    hw_transport *transport;
    assert_int_equal(hw_inproc_new(3, &transport, &error), HAWSER_OK);
    assert_int_equal(transport->ops->send(transport, 0, 1, empty(), &error), HAWSER_OK);
    transport->ops->close(transport, 1);
    transport->ops->close(transport, 1);
    assert_int_equal(transport->ops->send(transport, 0, 1, empty(), &error), HAWSER_PEER_LOST);
    assert_non_null(strstr(error.text, "endpoint 1"));
    hw_message *queued = transport->ops->receive(transport, 1);
    assert_non_null(queued);
    assert_null(transport->ops->receive(transport, 1));
    hw_message_free(queued);
    assert_int_equal(transport->ops->send(transport, 0, 3, empty(), &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(transport->ops->send(transport, 0, 2, empty(), &error), HAWSER_OK); /* left to free */
    transport->ops->free(transport);
}

static void payloads_are_aligned_and_sized(void **state)
{
    (void)state;
    hawser_error error;
    for (size_t length = 1; length < 300; length += 37) {
        hw_message *message, *copy;
        assert_int_equal(hw_message_new(length, &message, &error), HAWSER_OK);
        assert_int_equal((uintptr_t)message->payload % 64, 0);
        assert_true(message->envelope.length == length);
        memset(message->payload, 1, length);
        assert_int_equal(hw_message_share(message, &copy, &error), HAWSER_OK);
        hw_message_free(message);
        assert_int_equal(((unsigned char *)copy->payload)[length - 1], 1);
        hw_message_free(copy);
    }
    hw_message *message = NULL;
    assert_int_equal(hw_message_new(SIZE_MAX - 3, &message, &error), HAWSER_NO_MEMORY);
    assert_null(message);
    hw_message_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_once_in_order_and_complete),
        cmocka_unit_test(a_closed_endpoint_takes_no_messages),
        cmocka_unit_test(payloads_are_aligned_and_sized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
