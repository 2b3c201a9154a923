/* Anything in the memory that a peer shares. Whatever stands there, and however it changes between two looks, nothing may be
 * read or written out of bounds, what is delivered is as long as it says, and a link that ends says why.
 *
 * Input: steps of a byte that says what, a length, and bytes: more of the stream (as it is, or as a frame with a check sum
 * that is right), a count that is false, bytes anywhere in the memory, a message of ours, the end of the peer. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "transport/net/parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 200 };

typedef struct world {
    hw_net *net;
    hw_link *link;
    hw_shared *peer;
    int far; /* the peer's end of the socket */
    uint64_t sum;
    const char *why;
} world;

static void arrived(void *argument, uint32_t node, hw_message *message)
{
    (void)node;
    for (uint64_t i = 0; i < message->envelope.length; i++)
        *(uint64_t *)argument += ((unsigned char *)message->payload)[i];
    hw_message_free(message);
}

static void open_world(world *it)
{
    int ends[2], fd;
    it->net = calloc(1, sizeof *it->net);
    it->link = calloc(1, sizeof *it->link);
    if (it->net == NULL || it->link == NULL || HW_NEW(&it->net->scratch, HW_SCRATCH, "scratch", NULL) != HAWSER_OK ||
        HW_NEW(&it->link->stage, HW_STAGE, "a stage", NULL) != HAWSER_OK || hw_pool_new(&it->net->pool, NULL) != HAWSER_OK ||
        pthread_rwlock_init(&it->net->routing, NULL) != 0 || pthread_mutex_init(&it->link->mutex, NULL) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
        abort();
    it->net->events = (hw_net_events){.argument = &it->sum, .arrived = arrived};
    it->link->net = it->net;
    it->link->announced = true;
    it->link->channel.fd = ends[0];
    it->far = ends[1];
    if (hw_shared_new(HW_RING_LEAST, &it->peer, &fd, NULL) != HAWSER_OK ||
        hw_shared_open(fd, &it->link->channel.shared, NULL) != HAWSER_OK)
        abort();
    close(fd);
}

static void close_world(world *it)
{
    hw_link_free(it->link);
    hw_shared_free(it->peer);
    hw_pool_free(it->net->pool);
    pthread_rwlock_destroy(&it->net->routing);
    free(it->net->scratch);
    free(it->net);
    close(it->far);
}

static void put(world *it, const void *bytes, size_t size)
{
    const struct iovec piece = {(void *)(size_t)bytes, size};
    bool wakeup;
    (void)!hw_ring_write(&it->peer->out, &piece, 1, &wakeup);
}

static void put_frame(world *it, const uint8_t *bytes, size_t length)
{
    uint8_t f[12] = {0};
    unsigned char packed[HW_FRAME_MESSAGE];
    memcpy(f, bytes, length < sizeof f ? length : sizeof f);
    hw_frame frame = {.type = (hw_frame_type)f[0], .flags = f[1], .origin = f[2], .chunk = f[3] + 256u * (f[4] % 64)};
    frame.envelope = (hw_envelope){.kind = f[5], .length = f[6] + 256u * (f[7] % 64), .source = f[8], .destination = f[9]};
    put(it, packed, hw_frame_pack(packed, &frame));
}

static void send_ours(world *it, size_t length)
{
    hw_message *message;
    if (hw_message_new(length, &message, NULL) != HAWSER_OK)
        abort();
    if (length > 0)
        memset(message->payload, 7, length);
    message->envelope.kind = HW_MESSAGE_DATA;
    (void)hw_link_send(it->link, message);
}

/* As the reactor serves it. */
static void serve(world *it, char *text, size_t size)
{
    hw_shared *shared = it->link->channel.shared;
    (void)hw_channel_listen(&it->link->channel);
    for (int i = 0; i < 2 && it->why == NULL && (i == 0 || hw_shared_presses(shared)); i++) {
        hw_shared_disarm(shared);
        it->why = hw_link_read(it->link, text, size);
        if (it->why == NULL && atomic_load(&shared->waits) && hw_ring_writable(&shared->out))
            hw_link_writable(it->link);
        hw_shared_arm(shared);
    }
}

static void step(world *it, uint8_t what, const uint8_t *bytes, size_t length)
{
    uint64_t number = 0;
    memcpy(&number, bytes, length < sizeof number ? length : sizeof number);
    switch (what % 8) {
    case 0:
    case 1: put_frame(it, bytes, length); break;
    case 2:
    case 3: put(it, bytes, length); break;
    case 4: atomic_store(&it->peer->out.control->written, number); break;
    case 5: atomic_store(&it->peer->in.control->read, number); break;
    case 6:
        if (length > 2)
            memcpy(it->peer->mapping.data + (bytes[0] + 256u * bytes[1]) % (it->peer->mapping.size - 256), bytes + 2,
                   length - 2);
        break;
    default: send_ours(it, 40 * length); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[200];
    world it = {0};
    open_world(&it);
    for (int i = 0; i < STEPS && size >= 2 && it.why == NULL; i++) {
        size_t length = data[1] < size - 2 ? data[1] : size - 2;
        step(&it, data[0], data + 2, length);
        if (data[0] & 64)
            serve(&it, text, sizeof text);
        data += 2 + length;
        size -= 2 + length;
    }
    shutdown(it.far, SHUT_RDWR);
    for (int i = 0; i < 100 && it.why == NULL; i++)
        serve(&it, text, sizeof text);
    if (it.why == NULL)
        abort(); /* the peer has gone, and its ring is finite */
    close_world(&it);
    return 0;
}
