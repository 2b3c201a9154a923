#include "runtime/store/asking.h"

#include <string.h>

#include "runtime/store/remote.h"

hawser_status hw_store_set(hawser_store *store, uint32_t table, const uint64_t *keys, size_t count, const void *values,
                           hawser_error *error)
{
    uint64_t task;
    const hw_order order = {.operation = HW_PUT, .table = table, .keys = keys, .count = count, .values = values};
    hawser_status status = hw_ask_begin(store, &order, &task, error);
    hw_ask_go(store);
    return status == HAWSER_OK ? hawser_store_wait(store, task, error) : status;
}

uint32_t hw_store_servers(const hawser_store *store)
{
    return store->servers;
}

static hawser_status ask(hawser_store *store, uint32_t server, hw_control_message word, const void *data, size_t length,
                         hw_bytes *reply, hawser_error *error)
{
    hw_message *answer = NULL;
    unsigned char *copy = NULL;
    *reply = (hw_bytes){0};
    HAWSER_TRY(hw_remote_ask(store->remote, server, word, data, length, &answer, error));
    size_t size = (size_t)answer->envelope.length;
    hawser_status status = HW_NEW(&copy, size, "a server's answer", error);
    if (status == HAWSER_OK && size > 0)
        memcpy(copy, answer->payload, size);
    hw_message_free(answer);
    if (status == HAWSER_OK)
        *reply = (hw_bytes){copy, size};
    return status;
}

hawser_status hw_store_stat_of(hawser_store *store, uint32_t server, hw_bytes *reply, hawser_error *error)
{
    return ask(store, server, HW_CONTROL_STAT, NULL, 0, reply, error);
}

hawser_status hw_store_keys_of(hawser_store *store, uint32_t server, uint32_t table, uint64_t first, uint64_t last,
                               uint64_t most, hw_bytes *keys, hawser_error *error)
{
    const hw_keys_wire asked = {
        .table = hw_client_table_there(store->client, table), .first = first, .last = last, .most = most};
    return ask(store, server, HW_CONTROL_KEYS, &asked, sizeof asked, keys, error);
}

/* A clock gets no reply. A reply to a later request shows that the clock was received. */
hawser_status hw_store_received(hawser_store *store, hawser_error *error)
{
    for (uint32_t s = 0; store->remote != NULL && s < store->servers; s++) {
        hw_message *answer = NULL;
        hawser_status status = hw_remote_ask(store->remote, s, HW_CONTROL_LOCATE, NULL, 0, &answer, error);
        hw_message_free(answer);
        HAWSER_TRY(status);
    }
    return HAWSER_OK;
}
