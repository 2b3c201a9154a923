/* Any bytes on a link, and any messages in a handshake. Whatever comes, nothing may be read or written out of bounds, what
 * is delivered is as long as it says, nobody is let in, and a refusal names its reason.
 *
 * Input: a byte that chooses link, dialler or acceptor; then pieces: a byte that says what, a length, bytes. A piece is sent
 * as it is, or as the body of a message or the fields of a frame with a check sum that is right, which a fuzzer would not
 * find. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/net/parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STREAM = 1 << 16 };

static void arrived(void *argument, uint32_t node, hw_message *message)
{
    (void)node;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < message->envelope.length; i++)
        sum += ((unsigned char *)message->payload)[i];
    *(uint64_t *)argument += sum;
    hw_message_free(message);
}

static size_t put_frame(unsigned char *to, const uint8_t *bytes, size_t length)
{
    uint8_t f[16] = {0};
    memcpy(f, bytes, length < sizeof f ? length : sizeof f);
    hw_frame frame = {.type = (hw_frame_type)f[0], .flags = f[1], .origin = f[2], .chunk = f[3] + 256u * (f[4] % 64)};
    frame.envelope = (hw_envelope){.kind = f[5], .length = f[6] + 256u * (f[7] % 64), .source = f[8], .destination = f[9]};
    if (f[10] == 255) /* beyond the limit; within it a fuzzer would only run out of memory */
        frame.envelope.length = frame.chunk = HW_WIRE_PAYLOAD_MOST + f[11] + 1;
    return hw_frame_pack(to, &frame);
}

/* The pieces as one stream of bytes. */
static size_t put_stream(unsigned char *to, const uint8_t *data, size_t size)
{
    size_t used = 0;
    while (size >= 2 && used + 2 * HW_HANDSHAKE_MOST < STREAM) {
        uint8_t what = data[0];
        size_t length = data[1];
        data += 2;
        size -= 2;
        length = length < size ? length : size;
        if (what % 4 == 0) {
            used += put_frame(to + used, data, length);
        } else if (what % 4 == 1) {
            memcpy(to + used + HW_HANDSHAKE_HEAD, data, length);
            used += hw_handshake_seal(to + used, (hw_handshake_type)(what / 4 % 5), length);
        } else {
            memcpy(to + used, data, length);
            used += length;
        }
        data += length;
        size -= length;
    }
    return used;
}

static void try_link(int fd)
{
    hw_net *net = calloc(1, sizeof *net);
    hw_link *link = calloc(1, sizeof *link);
    uint64_t sum = 0;
    if (net == NULL || link == NULL || (net->scratch = malloc(HW_SCRATCH)) == NULL ||
        pthread_rwlock_init(&net->routing, NULL) != 0 || pthread_mutex_init(&link->mutex, NULL) != 0)
        abort();
    net->events = (hw_net_events){.argument = &sum, .arrived = arrived};
    if (hw_pool_new(&net->pool, NULL) != HAWSER_OK)
        abort();
    link->net = net;
    link->channel.fd = fd;
    char text[200];
    const char *why = NULL;
    while (why == NULL) /* the stream has an end */
        why = hw_link_read(link, text, sizeof text);
    hw_link_free(link);
    hw_pool_free(net->pool);
    pthread_rwlock_destroy(&net->routing);
    free(net->scratch);
    free(net);
}

static void try_handshake(int fd, bool dials)
{
    hw_tls_contexts *contexts;
    if (hw_tls_contexts_new(&contexts, NULL) != HAWSER_OK)
        abort();
    hw_identity self = {.build = "build",
                        .job = "job",
                        .name = "me",
                        .incarnation = 7,
                        .key_length = 32,
                        .contexts = contexts,
                        .ring = HW_RING_LEAST};
    hw_shake *shake = malloc(sizeof *shake);
    if (shake == NULL)
        abort();
    hw_shake_begin(shake, &self, fd, dials, HW_NET_ANY);
    hw_shake_progress progress;
    do
        progress = hw_shake_step(shake);
    while (progress == HW_SHAKE_READ || progress == HW_SHAKE_WRITE);
    if (progress == HW_SHAKE_DONE || strlen(shake->why) == 0 || shake->fault == HW_FAULT_NONE)
        abort(); /* let in without the key, or refused without a word */
    hw_shake_close(shake);
    free(shake);
    hw_tls_contexts_free(contexts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2], buffer = 4 * STREAM;
    unsigned char *stream = malloc(STREAM);
    if (size == 0 || stream == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) {
        free(stream);
        return 0;
    }
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    size_t used = put_stream(stream, data + 1, size - 1);
    if (send(ends[0], stream, used, MSG_NOSIGNAL) != (ssize_t)used || shutdown(ends[0], SHUT_WR) != 0)
        abort();
    if (data[0] % 3 == 0)
        try_link(ends[1]);
    else
        try_handshake(ends[1], data[0] % 3 == 1);
    close(ends[0]);
    free(stream);
    return 0;
}
