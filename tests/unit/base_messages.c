/* The queue of messages: order, the descriptor, and how many were dropped where it was full. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>

#include "base/clock.h"
#include "base/messages.h"

enum { CAPACITY = 64, SENDERS = 3, EACH = 5000 };

static hawser_messages *new_queue(void)
{
    hawser_messages *messages = NULL;
    hawser_error error = {0};
    assert_int_equal(hawser_messages_new(&messages, &error), HAWSER_OK);
    return messages;
}

static bool is_readable(const hawser_messages *messages)
{
    struct pollfd look = {.fd = hawser_messages_descriptor(messages), .events = POLLIN};
    return poll(&look, 1, 0) == 1;
}

static void messages_are_read_in_their_order(void **unused)
{
    (void)unused;
    hawser_messages *messages = new_queue();
    hawser_message message = {.kind = 77};
    double began = hw_wall_seconds();
    assert_false(is_readable(messages));
    assert_false(hawser_messages_next(messages, &message));
    assert_int_equal(message.kind, 77);
    hw_notify(messages, HAWSER_NOTE, 3, "%s of %d", "first", 2);
    hw_notify(messages, HAWSER_WARNING, HW_MESSAGE_NO_NODE, "a\nb");
    for (int i = 0; i < 2; i++) {
        assert_true(is_readable(messages));
        assert_true(hawser_messages_next(messages, &message));
        assert_int_equal(message.kind, i == 0 ? HAWSER_NOTE : HAWSER_WARNING);
        assert_int_equal(message.node, i == 0 ? 3 : UINT32_MAX);
        assert_string_equal(message.text, i == 0 ? "first of 2" : "a\\nb");
        assert_int_equal(message.dropped, 0);
        assert_true(message.time >= began && message.time <= hw_wall_seconds());
    }
    assert_false(is_readable(messages));
    assert_false(hawser_messages_next(messages, &message));
    hawser_messages_free(messages);
}

static void send(hawser_messages *messages, int first, int end)
{
    for (int i = first; i < end; i++)
        hw_notify(messages, HAWSER_NOTE, 1, "%d", i);
}

/* Reads `count` messages whose texts are numbers from `first` on. */
static void read_numbers(hawser_messages *messages, int first, int count)
{
    hawser_message message;
    for (int i = first; i < first + count; i++) {
        assert_true(hawser_messages_next(messages, &message));
        assert_int_equal(message.kind, HAWSER_NOTE);
        assert_int_equal(atoi(message.text), i);
    }
}

static void read_gap(hawser_messages *messages, uint64_t count, const char *begins)
{
    hawser_message message;
    assert_true(is_readable(messages));
    assert_true(hawser_messages_next(messages, &message));
    assert_int_equal(message.kind, HAWSER_DROPPED);
    assert_int_equal(message.node, 1);
    assert_int_equal(message.dropped, count);
    assert_int_equal(strncmp(message.text, begins, strlen(begins)), 0);
}

static void dropped_messages_are_counted_in_their_place(void **unused)
{
    (void)unused;
    hawser_messages *messages = new_queue();
    hawser_message message;
    send(messages, 0, CAPACITY + 3); /* 3 are dropped behind number 63 */
    read_numbers(messages, 0, 10);   /* makes room for 10 */
    send(messages, 100, 112);        /* 2 are dropped behind number 109 */
    read_numbers(messages, 10, CAPACITY - 10);
    send(messages, 200, 201);
    read_gap(messages, 3, "3 further messages were dropped");
    read_numbers(messages, 100, 10);
    read_gap(messages, 2, "2 further messages were dropped");
    read_numbers(messages, 200, 1);
    assert_false(is_readable(messages));
    assert_false(hawser_messages_next(messages, &message));
    /* The last message of a full queue has been read, and only the number of those behind it is left. */
    send(messages, 0, CAPACITY + 1);
    read_numbers(messages, 0, CAPACITY);
    read_gap(messages, 1, "1 further message was dropped");
    assert_false(is_readable(messages));
    hawser_messages_free(messages);
}

static void *send_many(void *argument)
{
    send(argument, 0, EACH);
    return NULL;
}

static void no_message_is_lost_without_a_count(void **unused)
{
    (void)unused;
    hawser_messages *messages = new_queue();
    pthread_t senders[SENDERS];
    uint64_t seen = 0;
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&senders[i], NULL, send_many, messages), 0);
    while (seen < (uint64_t)SENDERS * EACH) {
        struct pollfd look = {.fd = hawser_messages_descriptor(messages), .events = POLLIN};
        hawser_message message;
        assert_int_equal(poll(&look, 1, 60000), 1);
        assert_true(hawser_messages_next(messages, &message));
        seen += message.kind == HAWSER_DROPPED ? message.dropped : 1;
    }
    assert_int_equal(seen, SENDERS * EACH);
    for (int i = 0; i < SENDERS; i++)
        pthread_join(senders[i], NULL);
    assert_false(is_readable(messages));
    hawser_messages_free(messages);
}

static void a_long_text_is_cut(void **unused)
{
    (void)unused;
    hawser_messages *messages = new_queue();
    hawser_message message;
    char text[3000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    hw_notify(messages, HAWSER_NOTE, 0, "%s", text);
    assert_true(hawser_messages_next(messages, &message));
    assert_int_equal(strlen(message.text), sizeof message.text - 1);
    hawser_messages_free(messages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_read_in_their_order),
        cmocka_unit_test(dropped_messages_are_counted_in_their_place),
        cmocka_unit_test(no_message_is_lost_without_a_count),
        cmocka_unit_test(a_long_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
