/* Answers that are read straight to where somebody waits for them: to every byte of the place and to none besides, in
 * whatever pieces they come, and to none at all once the place has been taken away or the link is lost. */
#include "net_raw.h"

enum {
    LENGTH = 20000,  /* of an answer's payload */
    PLACE = 1 << 18, /* bytes of memory for what is received directly, */
    GUARD = 4096,    /* and on either side of it */
    HEAD = HW_FRAME_MESSAGE
};

/* A node whose owner has a place for answers. */
typedef struct receiver {
    node own; /* its functions take it for theirs */
    unsigned char *memory;
    pthread_mutex_t mutex; /* guards what follows */
    bool refuses;          /* there is no place */
    size_t shift;          /* it is so many bytes further on */
    bool held;
    uint64_t asked, wrong;
} receiver;

static void *acquire(void *argument, uint32_t number, const hw_message *message)
{
    receiver *self = argument;
    unsigned char head[HW_ANSWER_HEAD];
    (void)number;
    memcpy(head, message->payload, sizeof head); /* is there */
    pthread_mutex_lock(&self->mutex);
    self->asked++;
    self->wrong += self->held || message->envelope.kind != HW_MESSAGE_ANSWER ||
                   head[0] != (unsigned char)message->envelope.clock || message->envelope.length > PLACE;
    self->held = !self->refuses;
    void *place = self->refuses ? NULL : self->memory + GUARD + self->shift;
    pthread_mutex_unlock(&self->mutex);
    return place;
}

static void release(void *argument)
{
    receiver *self = argument;
    pthread_mutex_lock(&self->mutex);
    self->wrong += !self->held;
    self->held = false;
    pthread_mutex_unlock(&self->mutex);
}

static void arrived(void *argument, uint32_t number, hw_message *message)
{
    receiver *self = argument;
    pthread_mutex_lock(&self->mutex);
    self->wrong += self->held;
    pthread_mutex_unlock(&self->mutex);
    node_arrived(&self->own, number, message);
}

static void wipe(receiver *self)
{
    pthread_mutex_lock(&self->mutex); /* what goes by shared memory orders nothing that ThreadSanitizer sees */
    memset(self->memory, 0xa5, PLACE + 2 * GUARD);
    pthread_mutex_unlock(&self->mutex);
}

static void take_away(receiver *self, bool refuses, size_t shift)
{
    pthread_mutex_lock(&self->mutex);
    self->refuses = refuses;
    self->shift = shift;
    pthread_mutex_unlock(&self->mutex);
}

static receiver *open_quay(const hw_net_options *options)
{
    receiver *self = calloc(1, sizeof *self);
    self->memory = malloc(PLACE + 2 * GUARD);
    pthread_mutex_init(&self->mutex, NULL);
    wipe(self);
    self->own.last = &self->own.first;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&self->own.mutex, NULL);
    pthread_cond_init(&self->own.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    const hw_net_events events = {.argument = self,
                                  .admit = node_admit,
                                  .up = node_up,
                                  .arrived = arrived,
                                  .acquire = acquire,
                                  .release = release,
                                  .lost = node_lost};
    hawser_error error;
    if (hw_net_new(options, &events, &self->own.net, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return self;
}

static void close_quay(receiver *self)
{
    node_close(&self->own);
    assert_int_equal(self->wrong, 0);
    assert_false(self->held);
    pthread_mutex_destroy(&self->mutex);
    free(self->memory);
    free(self);
}

static unsigned char byte_of(uint64_t number, size_t i)
{
    return i == 0 ? (unsigned char)number : (unsigned char)(number * 31 + i * 7 + i / 251);
}

/* Are bytes `from` .. `to` - 1 of a payload these? */
static bool are_bytes(const unsigned char *bytes, uint64_t number, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (bytes[i - from] != byte_of(number, i))
            return false;
    return true;
}

/* Is memory as it was left, but for `size` bytes from the place on? */
static bool is_untouched(const receiver *self, size_t size)
{
    const unsigned char *from = self->memory + GUARD + size;
    size_t left = PLACE - size + GUARD;
    for (size_t i = 0; i < GUARD; i++)
        if (self->memory[i] != 0xa5)
            return false;
    return from[0] == 0xa5 && memcmp(from, from + 1, left - 1) == 0;
}

static void expect_direct(receiver *self, uint64_t number, size_t length)
{
    hw_message *message = node_take(&self->own);
    size_t tail = length - HW_ANSWER_HEAD;
    assert_int_equal(message->envelope.clock, number);
    assert_int_equal(message->envelope.length, length);
    assert_true(message->tail_received);
    assert_ptr_equal(message->tail, self->memory + GUARD);
    assert_int_equal(message->tail_length, tail);
    assert_true(are_bytes(message->payload, number, 0, HW_ANSWER_HEAD));
    assert_true(are_bytes(self->memory + GUARD, number, HW_ANSWER_HEAD, length));
    assert_true(is_untouched(self, tail));
    hw_message_free(message);
}

/* It came like any other. */
static void expect_whole(receiver *self, uint64_t number, size_t length)
{
    hw_message *message = node_take(&self->own);
    assert_int_equal(message->envelope.clock, number);
    assert_int_equal(message->envelope.length, length);
    assert_false(message->tail_received);
    assert_null(message->tail);
    assert_true(are_bytes(message->payload, number, 0, length));
    assert_true(is_untouched(self, 0));
    hw_message_free(message);
}

/* A frame with all of an answer, or of another message. */
static size_t frame_of(unsigned char *to, hw_message_kind kind, uint64_t number, size_t length)
{
    hw_frame frame = {.type = HW_FRAME_BEGIN, .chunk = length};
    frame.envelope = (hw_envelope){.kind = (uint8_t)kind, .clock = number, .length = length};
    stamp_raw(&frame);
    size_t head = hw_frame_pack(to, &frame);
    for (size_t i = 0; i < length; i++)
        to[head + i] = byte_of(number, i);
    return head + length;
}

/* So many bytes and no more are with the other side, which has looked at them. */
static void send_part(receiver *self, int fd, const unsigned char *bytes, size_t size)
{
    hw_net_path before, now;
    double deadline = hw_seconds() + TEST_TIMEOUT;
    assert_true(hw_net_path_of(self->own.net, 5, &before));
    assert_true(send_all(fd, bytes, size));
    do {
        assert_true(hw_net_path_of(self->own.net, 5, &now));
    } while (now.bytes_received < before.bytes_received + size && hw_seconds() < deadline);
    assert_int_equal(now.bytes_received, before.bytes_received + size);
}

static receiver *open_for_raw(int *fd)
{
    hw_net_options options = node_options(0, NULL);
    options.transport = HW_NET_TCP;
    options.failure_timeout = 1000;
    receiver *self = open_quay(&options);
    *fd = shake_hands_raw(&self->own, 5);
    return self;
}

/* Waits until the net's thread has processed all that it has counted: it serves one link after the other, and another
 * message is received. */
static void await_quiet(receiver *self, int other)
{
    unsigned char bytes[HEAD + 100];
    assert_true(send_all(other, bytes, frame_of(bytes, HW_MESSAGE_DATA, 9, 100)));
    hw_message *message = node_take(&self->own);
    assert_int_equal(message->envelope.kind, HW_MESSAGE_DATA);
    hw_message_free(message);
}

/* Every split near the head and the end, and some between. */
static size_t next_split(size_t split, size_t size)
{
    return split < HEAD + HW_ANSWER_HEAD + 20 || split >= size - 20 ? split + 1
           : split + 499 < size - 20                                ? split + 499
                                                                    : size - 20;
}

static void a_tail_in_any_pieces_is_received(void **state)
{
    (void)state;
    static unsigned char bytes[HEAD + LENGTH];
    int fd;
    receiver *self = open_for_raw(&fd);
    for (int refused = 0; refused < 2; refused++) {
        take_away(self, refused == 1, 0);
        for (size_t split = 1; split < sizeof bytes; split = next_split(split, sizeof bytes)) {
            assert_int_equal(frame_of(bytes, HW_MESSAGE_ANSWER, split, LENGTH), sizeof bytes);
            wipe(self);
            send_part(self, fd, bytes, split);
            send_part(self, fd, bytes + split, sizeof bytes - split);
            (refused == 1 ? expect_whole : expect_direct)(self, split, LENGTH);
        }
    }
    assert_int_equal(frame_of(bytes, HW_MESSAGE_ANSWER, 3, LENGTH), sizeof bytes);
    take_away(self, false, 0);
    for (size_t i = 0; i < sizeof bytes; i++) /* one by one, as they come */
        assert_true(send_all(fd, bytes + i, 1));
    expect_direct(self, 3, LENGTH);
    close(fd);
    close_quay(self);
}

/* Other messages are not received directly: other kinds, small ones, and messages in parts. */
static void other_messages_are_received_as_usual(void **state)
{
    (void)state;
    static unsigned char bytes[2 * (HEAD + LENGTH)];
    int fd;
    receiver *self = open_for_raw(&fd);
    size_t size = frame_of(bytes, HW_MESSAGE_ASK, 1, LENGTH);
    size += frame_of(bytes + size, HW_MESSAGE_ANSWER, 2, 100);
    assert_true(send_all(fd, bytes, size));
    expect_whole(self, 1, LENGTH);
    expect_whole(self, 2, 100);
    hw_frame frame = {.type = HW_FRAME_BEGIN, .chunk = LENGTH - 1};
    frame.envelope = (hw_envelope){.kind = HW_MESSAGE_ANSWER, .clock = 3, .length = LENGTH};
    stamp_raw(&frame);
    size = hw_frame_pack(bytes, &frame);
    for (size_t i = 0; i < LENGTH; i++)
        bytes[size + i] = byte_of(3, i);
    size += LENGTH - 1;
    unsigned char last = bytes[size];
    frame = (hw_frame){.type = HW_FRAME_MORE, .chunk = 1};
    size += hw_frame_pack(bytes + size, &frame);
    bytes[size++] = last;
    assert_true(send_all(fd, bytes, size));
    expect_whole(self, 3, LENGTH);
    assert_int_equal(self->asked, 0);
    close(fd);
    close_quay(self);
}

/* The waiting thread gives up in the middle, or wants the data elsewhere: nothing more is written, nothing arrives, and
 * later messages do. */
static void a_released_receive_buffer_is_not_written(void **state)
{
    (void)state;
    static unsigned char bytes[HEAD + LENGTH], next[HEAD + LENGTH];
    int fd;
    receiver *self = open_for_raw(&fd);
    int other = shake_hands_raw(&self->own, 6);
    assert_int_equal(frame_of(bytes, HW_MESSAGE_ANSWER, 1, LENGTH), sizeof bytes);
    assert_int_equal(frame_of(next, HW_MESSAGE_ANSWER, 2, LENGTH), sizeof next);
    const size_t cuts[] = {HEAD + HW_ANSWER_HEAD, HEAD + HW_ANSWER_HEAD + 1, 9000, sizeof bytes - 1};
    for (size_t i = 0; i < 2 * sizeof cuts / sizeof *cuts; i++) {
        size_t cut = cuts[i / 2];
        take_away(self, false, 0);
        send_part(self, fd, bytes, cut);
        await_quiet(self, other);
        take_away(self, i % 2 == 0, 64);
        wipe(self);
        send_part(self, fd, bytes + cut, sizeof bytes - cut);
        await_quiet(self, other);
        assert_true(is_untouched(self, 0));
        take_away(self, false, 0);
        send_part(self, fd, next, sizeof next);
        expect_direct(self, 2, LENGTH);
    }
    assert_int_equal(node_count(&self->own, &self->own.losses), 0);
    close(other);
    close(fd);
    close_quay(self);
}

/* After the loss was reported the owner may free the memory. */
static void nothing_is_written_after_a_loss(void **state)
{
    (void)state;
    static unsigned char bytes[HEAD + LENGTH];
    assert_int_equal(frame_of(bytes, HW_MESSAGE_ANSWER, 1, LENGTH), sizeof bytes);
    for (size_t cut = HEAD + HW_ANSWER_HEAD; cut < sizeof bytes; cut += 4999) {
        int fd;
        receiver *self = open_for_raw(&fd);
        send_part(self, fd, bytes, cut);
        close(fd);
        assert_true(node_await32(&self->own, &self->own.losses, 1));
        pthread_mutex_lock(&self->mutex);
        assert_false(self->held);
        pthread_mutex_unlock(&self->mutex);
        free(self->memory);
        self->memory = NULL;
        close_quay(self);
    }
}

/* Tests one transport between nodes, also with a tail on the sender's side. */
static void lands_by(void **state, const char *name, hw_transport_kind transport, bool encrypted)
{
    (void)state;
    const size_t lengths[] = {LENGTH, PLACE, 16 << 10, 131120, 70001};
    hw_net_options options = node_options(0, "@");
    options.transport = transport;
    options.encrypt_always = encrypted;
    receiver *self = open_quay(&options);
    node sender;
    options.node = 1;
    node_open(&sender, &options);
    node_dial(&sender, &self->own, 0);
    assert_string_equal(node_path(&sender, 0).transport, name);
    for (uint64_t number = 0; number < 100; number++) {
        size_t length = lengths[number % (sizeof lengths / sizeof *lengths)],
               own = number % 2 == 0 ? HW_ANSWER_HEAD : length;
        hw_message *message;
        unsigned char *all = malloc(length);
        assert_int_equal(hw_message_new(own, &message, NULL), HAWSER_OK);
        for (size_t i = 0; i < length; i++)
            all[i] = byte_of(number, i);
        memcpy(message->payload, all, own);
        message->envelope = (hw_envelope){.kind = HW_MESSAGE_ANSWER, .clock = number, .length = length};
        message->tail = own < length ? all + own : NULL;
        message->tail_length = length - own;
        wipe(self);
        assert_int_equal(hw_net_send(sender.net, 0, message, NULL), HAWSER_OK);
        free(all);
        expect_direct(self, number, length);
    }
    node_close(&sender);
    close_quay(self);
}

static void by_tcp(void **state)
{
    lands_by(state, "tcp", HW_NET_TCP, false);
}

static void by_tls(void **state)
{
    lands_by(state, "tcp+tls", HW_NET_TCP, true);
}

static void by_unix_sockets(void **state)
{
    lands_by(state, "unix", HW_NET_UNIX, false);
}

static void by_shared_memory(void **state)
{
    lands_by(state, "shm", HW_NET_SHARED, false);
}

/* In clear: what is checked is not read to where it belongs before it is. */
static void by_ucx(void **state)
{
    if (*(bool *)*state)
        lands_by(state, "ucx", HW_NET_UCX, false);
}

int main(void)
{
    static bool ucx;
    ucx = node_has_ucx();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tail_in_any_pieces_is_received),
        cmocka_unit_test(other_messages_are_received_as_usual),
        cmocka_unit_test(a_released_receive_buffer_is_not_written),
        cmocka_unit_test(nothing_is_written_after_a_loss),
        cmocka_unit_test(by_tcp),
        cmocka_unit_test(by_tls),
        cmocka_unit_test(by_unix_sockets),
        cmocka_unit_test(by_shared_memory),
        cmocka_unit_test_prestate(by_ucx, &ucx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
