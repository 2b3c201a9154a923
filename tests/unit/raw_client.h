/* raw_client.h - a client of a store's servers that has their key and sends any bytes. For test files that begin with
 * cmocka's includes. */
#ifndef HW_TESTS_UNIT_RAW_CLIENT_H
#define HW_TESTS_UNIT_RAW_CLIENT_H

#include "base/clock.h"
#include "runtime/store/control.h"
#include "servers.h"
#include "store/request.h"

typedef struct raw_client {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    hw_net *net;
    uint32_t number;
    uint64_t requests;                   /* number of the last one that it has sent */
    uint32_t answers, replies, refusals; /* to control messages; to requests; refusals among them */
    hawser_status answered;              /* of the last control message */
    char said[1000], ended[1000];        /* its text; why the client was disconnected */
    bool over;                           /* the link is gone */
    bool stuffed;                        /* it takes no reply; changed with the mutex held */
    unsigned rest;                       /* microseconds that it rests after each */
} raw_client;

static void raw_client_receives(void *argument, uint32_t node, hw_message *message)
{
    raw_client *one = argument;
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

static void raw_client_over(raw_client *one)
{
    pthread_mutex_lock(&one->mutex);
    one->over = true;
    pthread_cond_broadcast(&one->changed);
    pthread_mutex_unlock(&one->mutex);
}

static bool raw_client_is_over(raw_client *one)
{
    pthread_mutex_lock(&one->mutex);
    bool over = one->over;
    pthread_mutex_unlock(&one->mutex);
    return over;
}

static void raw_client_lost(void *argument, uint32_t node, const char *why, double silent)
{
    (void)node, (void)why, (void)silent;
    raw_client_over(argument);
}

static void raw_client_left(void *argument, uint32_t node)
{
    (void)node;
    raw_client_over(argument);
}

/* Connects a raw client over the given transport. */
static void raw_client_comes_by(raw_client *one, hw_transport_kind transport, const char *address)
{
    static char build[HW_STORE_BUILD];
    hawser_error error = {0};
    *one = (raw_client){0};
    pthread_mutex_init(&one->mutex, NULL);
    pthread_cond_init(&one->changed, NULL);
    hw_store_build(build);
    const hw_net_options options = {.job = HW_STORE_JOB,
                                    .key = server_key,
                                    .key_length = sizeof server_key,
                                    .node = HW_NET_ANY,
                                    .name = "raw_client",
                                    .build = build,
                                    .dial_only = true,
                                    .transport = transport,
                                    .ring = HW_STORE_RING};
    const hw_net_events events = {
        .argument = one, .arrived = raw_client_receives, .lost = raw_client_lost, .left = raw_client_left};
    hawser_status status = hw_net_new(&options, &events, &one->net, &error);
    if (status == HAWSER_OK)
        status = hw_net_dial(one->net, address, HW_NET_ANY, 20, &one->number, &error);
    if (status != HAWSER_OK)
        fail_msg("a raw client is not accepted: %s", error.text);
}

static void raw_client_comes(raw_client *one, const char *address)
{
    raw_client_comes_by(one, HW_NET_TCP, address);
}

static void raw_client_goes(raw_client *one)
{
    hw_net_stop(one->net, 5);
    hw_net_free(one->net);
    pthread_cond_destroy(&one->changed);
    pthread_mutex_destroy(&one->mutex);
}

static hw_message *raw_client_message(uint16_t kind, uint32_t part, const void *data, size_t length)
{
    hw_message *message = NULL;
    assert_int_equal(hw_message_new(length, &message, NULL), HAWSER_OK);
    if (length > 0)
        memcpy(message->payload, data, length);
    message->envelope.kind = kind;
    message->envelope.part = part;
    return message;
}

/* Returns false if the server has ended the link. */
static bool raw_client_says(raw_client *one, uint16_t kind, uint32_t part, const void *data, size_t length)
{
    hw_message *message = raw_client_message(kind, part, data, length);
    if (kind == HW_MESSAGE_ASK)
        message->envelope.sequence = ++one->requests;
    return hw_net_send(one->net, 0, message, NULL) == HAWSER_OK;
}

/* Seconds after which a test no longer waits for what should come in a moment. */
static const double RAW_CLIENT_PATIENCE = 120.0;

/* Returns how many answers have arrived. */
static uint32_t raw_client_answers(raw_client *one)
{
    pthread_mutex_lock(&one->mutex);
    uint32_t answers = one->answers;
    pthread_mutex_unlock(&one->mutex);
    return answers;
}

/* Waits until this many answers and replies have arrived, or the link has ended. */
static void raw_client_waits(raw_client *one, uint32_t answers, uint32_t replies)
{
    double end = hw_seconds() + RAW_CLIENT_PATIENCE;
    bool came = false;
    uint32_t has_answers = 0, has_replies = 0;
    while (!came && hw_seconds() < end) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_mutex_lock(&one->mutex);
        came = one->over || (one->answers >= answers && one->replies >= replies);
        if (!came)
            pthread_cond_timedwait(&one->changed, &one->mutex, &until);
        has_answers = one->answers;
        has_replies = one->replies;
        pthread_mutex_unlock(&one->mutex);
    }
    if (!came)
        fail_msg("in %g s a raw client got %u answers and %u replies; it waits for %u and %u, or for the end of its link",
                 RAW_CLIENT_PATIENCE, has_answers, has_replies, answers, replies);
}

/* Registers, with a session of the client's own unless the registration names one. */
static void raw_client_sits(raw_client *one, hw_register_wire session)
{
    static const unsigned char none[HW_STORE_SESSION];
    uint32_t before = raw_client_answers(one);
    if (memcmp(session.session, none, sizeof none) == 0) {
        session.session[0] = 1;
        memcpy(session.session + HW_STORE_SESSION - sizeof one->number, &one->number, sizeof one->number);
    }
    raw_client_says(one, HW_MESSAGE_CLIENT, HW_CONTROL_REGISTER, &session, sizeof session);
    raw_client_waits(one, before + 1, 0);
}

#endif
