/*
 * Any bytes as requests to a server of a store, and as replies to a client. Whatever comes, nothing is read or written out
 * of bounds, what is wrong is refused with words, and a server goes on serving.
 *
 * Input: pieces of two bytes (what, length) and a body. A request's head is taken from the body field by field, in ranges
 * where a fuzzer finds something, and what follows are keys and values.
 */
#include <stdlib.h>
#include <string.h>

#include "store/client.h"
#include "store/server.h"
#include "store_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORKERS = 2, WORK_MOST = 256 };

typedef struct desk {
    hw_stripe *ready[WORK_MOST];
    size_t count;
    double out[KEYS];
} desk;

static void ready(void *argument, hw_stripe *stripe)
{
    desk *d = argument;
    if (d->count == WORK_MOST)
        abort();
    d->ready[d->count++] = stripe;
}

static void reply(void *argument, uint32_t client, hw_message *message)
{
    (void)argument, (void)client;
    hw_reply_head head;
    char words[256];
    if (!hw_reply_head_of(message, &head))
        abort();
    if (head.outcome == HW_REFUSED) {
        hw_refusal_read(&head, message, words, sizeof words);
        if (strlen(words) < 10)
            abort();
    }
    hw_message_free(message);
}

static hawser_status send(void *argument, uint32_t server, hw_message *message, hawser_error *error)
{
    (void)argument, (void)server, (void)error;
    hw_message_free(message);
    return HAWSER_OK;
}

static void finished(void *argument, void *tag, uint64_t task, hawser_status status, const hawser_error *error)
{
    (void)argument, (void)tag, (void)task;
    if (status != HAWSER_OK && strlen(error->text) < 10)
        abort();
}

static hw_message *request_of(const uint8_t *body, size_t size)
{
    uint8_t f[FIELDS];
    take_fields(f, &body, &size);
    hw_request_head head = head_of(f, size);
    right_bits(&head, body, size, f[12]);
    if (f[12] == 255)
        head.count = UINT64_MAX - f[13], head.last = f[14] == 0 ? UINT64_MAX : head.last;
    return message_of(&head, sizeof head, body, size);
}

static hw_message *reply_of(const uint8_t *body, size_t size)
{
    uint8_t f[8] = {0};
    size_t taken = size < sizeof f ? size : sizeof f;
    memcpy(f, body, taken);
    hw_reply_head head = {.outcome = f[0] % 5,
                          .values = f[1] % 7,
                          .table = f[2] % 3,
                          .slice = f[3] % 3,
                          .parts = f[6] % 3,
                          .task = f[4] % 6,
                          .count = f[5],
                          .value_bytes = size - taken};
    return message_of(&head, sizeof head, body + taken, size - taken);
}

static hw_server *make_server(desk *d, const hw_table_spec *specs, size_t count)
{
    static const uint64_t name = 1;
    const hw_server_options options = {.servers = 1,
                                       .names = &name,
                                       .clients = 1,
                                       .workers = WORKERS,
                                       .stripes = 3,
                                       .list_bytes = 4096,
                                       .argument = d,
                                       .ready = ready,
                                       .reply = reply};
    hw_server *server = NULL;
    uint32_t number;
    if (hw_server_new(&options, &server, NULL) != HAWSER_OK)
        abort();
    for (size_t i = 0; i < count; i++)
        if (hw_server_create(server, &specs[i], &number, NULL) != HAWSER_OK || number != i)
            abort();
    return server;
}

static hw_client *make_client(desk *d, const hw_table_spec *specs)
{
    static const uint64_t name = 1;
    static const uint64_t keys[] = {1, 5, 9};
    const hw_client_options options = {
        .servers = 1, .names = &name, .argument = d, .send = send, .finished = finished, .part = 7};
    hw_client *client = NULL;
    uint32_t number;
    uint64_t task;
    hawser_error error = {0};
    if (hw_client_new(&options, &client, NULL) != HAWSER_OK ||
        hw_client_table(client, &specs[0], &number, NULL) != HAWSER_OK)
        abort();
    const hw_order orders[] = {
        {.operation = HW_PULL, .first = 0, .last = KEYS - 1, .out = d->out},
        {.operation = HW_PULL, .keys = keys, .count = 3, .out = d->out},
        {.operation = HW_PUSH, .keys = keys, .count = 3, .values = d->out},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (hw_client_submit(client, &orders[i], &task, &error) != HAWSER_OK)
            abort();
    while (hw_client_more(client))
        ;
    return client;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    desk d = {0};
    const hw_table_spec specs[] = {
        {.name = "dense", .type = HW_VALUE_F64, .width = 1, .last = KEYS - 1, .function = hw_function_find("add")},
        {.name = "sparse",
         .type = HW_VALUE_F32,
         .width = 2,
         .sparse = true,
         .last = UINT64_MAX,
         .function = hw_function_find("assign")},
        {.name = "chunks",
         .type = HW_VALUE_I64,
         .width = 1,
         .last = KEYS - 1,
         .function = hw_function_find("max"),
         .centric = true},
        {.name = "sums",
         .type = HW_VALUE_F32,
         .width = 1,
         .last = KEYS - 1,
         .function = hw_function_find("add"),
         .summed = true},
    };
    hw_server *server = make_server(&d, specs, 4);
    hw_client *client = make_client(&d, specs);
    while (size >= 2) {
        uint8_t what = data[0];
        size_t length = data[1] < size - 2 ? data[1] : size - 2;
        hawser_error error = {0};
        hw_message *message = what % 4 == 0   ? message_of(NULL, 0, data + 2, length)
                              : what % 4 == 1 ? reply_of(data + 2, length)
                                              : request_of(data + 2, length);
        hawser_status status = what % 4 == 1 || what % 8 == 4 ? hw_client_receive(client, 0, message, &error)
                                                              : hw_server_receive(server, 0, message, &error);
        if (status != HAWSER_OK && strlen(error.text) < 10)
            abort();
        while (hw_client_more(client))
            ;
        while (d.count > 0 && what % 16 < 12)
            hw_stripe_work(d.ready[--d.count]);
        data += 2 + length;
        size -= 2 + length;
    }
    hw_client_free(client);
    hw_server_free(server);
    return 0;
}
