/* stranger.h - a client of a store's servers that has their key and says what it likes. For test files that begin with cmocka's includes. */
#ifndef HW_TESTS_UNIT_STRANGER_H
#define HW_TESTS_UNIT_STRANGER_H

#include "base/clock.h"
#include "runtime/store/control.h"
#include "servers.h"
#include "store/request.h"

typedef struct stranger {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    hw_net *net;
    uint32_t number;
    uint32_t answers, replies, refusals; /* to words; to requests, of which refused */
    hawser_status answered;              /* the last word's */
    char said[1000], ended[1000];        /* in it; why the client was sent away */
    bool over;                           /* the link is gone */
    bool stuffed;                        /* it takes no reply; changed with the mutex held */
    unsigned rest;                       /* microseconds that it rests after each */
} stranger;

static void stranger_receives(void *argument, uint32_t node, hw_message *message)
{
    stranger *one = argument;
    const hw_envelope *envelope = &message->envelope;
    hw_reply_head head;
    (void)node;
    pthread_mutex_lock(&one->mutex);
    while (one->stuffed && envelope->kind == HW_MESSAGE_ANSWER)
        pthread_cond_wait(&one->changed, &one->mutex);
    bool word = envelope->kind == HW_MESSAGE_CLIENT, ends = word && envelope->part == HW_CONTROL_ENDED;
    if (word)
        snprintf(ends ? one->ended : one->said, sizeof one->said, "%.*s",
                 (int)(envelope->length < 900 ? envelope->length : 900),
                 envelope->length > 0 ? (const char *)message->payload : "");
    if (word && !ends) {
        one->answers++;
        one->answered = (hawser_status)envelope->state;
    }
    if (envelope->kind == HW_MESSAGE_ANSWER && hw_reply_head_of(message, &head)) {
        one->replies++;
        one->refusals += head.outcome == HW_REFUSED || head.outcome == HW_OUT_OF_MEMORY || head.outcome == HW_CLOCK_REFUSED;
    }
    pthread_cond_broadcast(&one->changed);
    unsigned rest = one->rest;
    pthread_mutex_unlock(&one->mutex);
    hw_message_free(message);
    if (rest > 0)
        usleep(rest);
}

static void stranger_over(stranger *one)
{
    pthread_mutex_lock(&one->mutex);
    one->over = true;
    pthread_cond_broadcast(&one->changed);
    pthread_mutex_unlock(&one->mutex);
}

static bool stranger_is_over(stranger *one)
{
    pthread_mutex_lock(&one->mutex);
    bool over = one->over;
    pthread_mutex_unlock(&one->mutex);
    return over;
}

static void stranger_lost(void *argument, uint32_t node, const char *why, double silent)
{
    (void)node, (void)why, (void)silent;
    stranger_over(argument);
}

static void stranger_left(void *argument, uint32_t node)
{
    (void)node;
    stranger_over(argument);
}

/* Connects a stranger over the given transport. */
static void stranger_comes_by(stranger *one, hw_transport_kind transport, const char *address)
{
    static char build[HW_STORE_BUILD];
    hawser_error error = {0};
    *one = (stranger){0};
    pthread_mutex_init(&one->mutex, NULL);
    pthread_cond_init(&one->changed, NULL);
    hw_store_build(build);
    const hw_net_options options = {.job = HW_STORE_JOB,
                                    .key = server_key,
                                    .key_length = sizeof server_key,
                                    .node = HW_NET_ANY,
                                    .name = "stranger",
                                    .build = build,
                                    .dial_only = true,
                                    .transport = transport,
                                    .ring = HW_STORE_RING};
    const hw_net_events events = {
        .argument = one, .arrived = stranger_receives, .lost = stranger_lost, .left = stranger_left};
    hawser_status status = hw_net_new(&options, &events, &one->net, &error);
    if (status == HAWSER_OK)
        status = hw_net_dial(one->net, address, HW_NET_ANY, 20, &one->number, &error);
    if (status != HAWSER_OK)
        fail_msg("a stranger does not come in: %s", error.text);
}

static void stranger_comes(stranger *one, const char *address)
{
    stranger_comes_by(one, HW_NET_TCP, address);
}

static void stranger_goes(stranger *one)
{
    hw_net_stop(one->net, 5);
    hw_net_free(one->net);
    pthread_cond_destroy(&one->changed);
    pthread_mutex_destroy(&one->mutex);
}

static hw_message *stranger_message(uint16_t kind, uint32_t part, const void *data, size_t length)
{
    hw_message *message = NULL;
    assert_int_equal(hw_message_new(length, &message, NULL), HAWSER_OK);
    if (length > 0)
        memcpy(message->payload, data, length);
    message->envelope.kind = kind;
    message->envelope.part = part;
    return message;
}

/* False: the server has ended the link. */
static bool stranger_says(stranger *one, uint16_t kind, uint32_t part, const void *data, size_t length)
{
    return hw_net_send(one->net, 0, stranger_message(kind, part, data, length), NULL) == HAWSER_OK;
}

/* Until so many answers and replies are there, or the link is gone. */
static void stranger_waits(stranger *one, uint32_t answers, uint32_t replies)
{
    pthread_mutex_lock(&one->mutex);
    while (!one->over && (one->answers < answers || one->replies < replies))
        pthread_cond_wait(&one->changed, &one->mutex);
    pthread_mutex_unlock(&one->mutex);
}

static void stranger_sits(stranger *one, hw_register_wire session)
{
    uint32_t before = one->answers;
    stranger_says(one, HW_MESSAGE_CLIENT, HW_CONTROL_REGISTER, &session, sizeof session);
    stranger_waits(one, before + 1, 0);
}

#endif
