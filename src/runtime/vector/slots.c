/*
 * slots.c - items of dense vectors between processes of one host, in memory that the sender makes and its receivers map.
 *
 * A sender writes an array once, into a slot of memory that its receivers map to read (a memfd). The message of the item
 * then has the number of the slot and no payload, and a gather reads from the slot. So the order of a link and the
 * acknowledgement of an item are all that both sides need: a slot is announced after it was written, and written again
 * after each receiver has gathered its item, or never will. A sender that is stopped or killed within a write has announced
 * nothing. When no slot is free, and for receivers that do not map the memory, an item is a message with a payload.
 *
 * The sender offers its memory as /proc/PROCESS/fd/DESCRIPTOR with a random token in its first bytes, when all replicas have
 * opened the vector. The receiver answers whether it has found it.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/vector/vector.h"

/* LEAST: bytes of an array from which a slot costs less than a copy through the link. HEAD: bytes before the first slot. */
enum { LEAST = 16 << 10, HEAD = 4096, SLOTS = 3 };

/* The payload of HW_VECTOR_SLOTS: where the memory is, and what its first bytes are. */
typedef struct slots_offer {
    uint64_t process, descriptor;
    unsigned char token[HW_VECTOR_TOKEN];
} slots_offer;

static size_t stride_of(const hawser_vector *vector)
{
    return (vector->bytes + HEAD - 1) / HEAD * HEAD;
}

static size_t size_of(const hawser_vector *vector, uint32_t count)
{
    return HEAD + count * stride_of(vector);
}

uint64_t hw_vector_slots_memory(const hawser_vector *vector)
{
    if (vector->sparse || vector->rounding != HW_F64 || vector->servers != NULL || vector->bytes < LEAST ||
        vector->job->cluster == NULL)
        return 0;
    for (uint32_t r = 0; r < vector->receiver_count; r++)
        if (hw_cluster_shares_memory(vector->job->cluster, vector->receivers[r]))
            return size_of(vector, vector->rules.most > SLOTS ? (uint32_t)vector->rules.most : SLOTS);
    return 0;
}

hawser_status hw_vector_slots_new(hawser_vector *vector, uint64_t bytes, hawser_error *error)
{
    hw_vector_slots *slots = &vector->slots;
    slots->descriptor = -1;
    HAWSER_TRY(HW_NEW(&slots->in, vector->source_count, "the slots of a vector", error));
    HAWSER_TRY(HW_NEW(&slots->reads, vector->receiver_count, "the slots of a vector", error));
    if (bytes == 0)
        return HAWSER_OK;
    uint32_t count = (uint32_t)((bytes - HEAD) / stride_of(vector));
    HAWSER_TRY(HW_NEW(&slots->lent, (size_t)count * vector->receiver_count, "the slots of a vector", error));
    hawser_error why = {0};
    if (hw_mapping_new((size_t)bytes, &slots->own, &slots->descriptor, &why) != HAWSER_OK)
        return HAWSER_OK; /* a system that does not allow such memory has messages */
    HAWSER_TRY(hw_random_bytes(slots->own.data, HW_VECTOR_TOKEN, error));
    slots->count = count;
    return HAWSER_OK;
}

hawser_status hw_vector_slots_offer(hawser_vector *vector, hawser_error *error)
{
    hw_vector_slots *slots = &vector->slots;
    slots_offer offer = {.process = (uint64_t)getpid(), .descriptor = (uint64_t)slots->descriptor};
    for (uint32_t r = 0; slots->count > 0 && r < vector->receiver_count; r++) {
        hw_message *message = NULL;
        if (!hw_cluster_shares_memory(vector->job->cluster, vector->receivers[r]))
            continue;
        memcpy(offer.token, slots->own.data, sizeof offer.token);
        HAWSER_TRY(hw_vector_word_new(vector, HW_VECTOR_SLOTS, sizeof offer, &message, error));
        memcpy(message->payload, &offer, sizeof offer);
        pthread_mutex_lock(&vector->mutex);
        slots->asked++;
        pthread_mutex_unlock(&vector->mutex);
        HAWSER_TRY(hw_cluster_send(vector->job->cluster, vector->receivers[r], message, error));
    }
    return HAWSER_OK;
}

void hw_vector_slots_answered(hawser_vector *vector, uint32_t receiver, bool reads)
{
    hw_vector_slots *slots = &vector->slots;
    slots->reads[receiver] = reads && slots->count > 0;
    if (slots->asked > 0 && --slots->asked == 0 && slots->descriptor >= 0) {
        close(slots->descriptor);
        slots->descriptor = -1;
    }
}

/* Opens the descriptor of another process, if it is such memory. It is not if the process has another number here. */
static int open_offered(const slots_offer *offer)
{
    static const char name[] = "/memfd:" HW_MAPPING_NAME;
    char path[64], target[sizeof name];
    (void)snprintf(path, sizeof path, "/proc/%" PRIu64 "/fd/%" PRIu64, offer->process, offer->descriptor);
    ssize_t length = readlink(path, target, sizeof name - 1);
    if (length != (ssize_t)sizeof name - 1 || memcmp(target, name, sizeof name - 1) != 0)
        return -1;
    return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

/* Maps the offered memory, to read it only. Returns false if this process cannot see it. */
static bool map_offered(const hawser_vector *vector, const slots_offer *offer, hw_mapping *mapping)
{
    hawser_error why = {0};
    int descriptor = open_offered(offer);
    if (descriptor < 0)
        return false;
    const size_t least = size_of(vector, SLOTS), most = size_of(vector, HW_VECTOR_SLOTS_MOST);
    bool right = hw_mapping_open(descriptor, least, most, mapping, &why) == HAWSER_OK;
    close(descriptor);
    right = right && memcmp(mapping->data, offer->token, sizeof offer->token) == 0 &&
            mprotect(mapping->data, mapping->size, PROT_READ) == 0;
    if (!right)
        hw_mapping_free(mapping);
    return right;
}

bool hw_vector_slots_offered(hawser_vector *vector, uint32_t source, const hw_message *message, bool *reads)
{
    hw_mapping *in = &vector->slots.in[source];
    slots_offer offer;
    if (message->envelope.length != sizeof offer || in->data != NULL || vector->sparse)
        return false;
    memcpy(&offer, message->payload, sizeof offer);
    *reads = map_offered(vector, &offer, in);
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ items ---- */

/* Returns the number of the slot that a payload is in, or `count`. */
static uint32_t slot_of(const hawser_vector *vector, const hw_message *item)
{
    const hw_vector_slots *slots = &vector->slots;
    uintptr_t begin = (uintptr_t)slots->own.data + HEAD, at = (uintptr_t)item->payload;
    size_t stride = stride_of(vector);
    return slots->count == 0 || at < begin || at >= begin + slots->count * stride ? slots->count
                                                                                  : (uint32_t)((at - begin) / stride);
}

/* With the mutex held: returns whether a receiver may still read a slot, or will. */
static bool is_used(const hawser_vector *vector, uint32_t slot)
{
    for (uint32_t r = 0; r < vector->receiver_count; r++) {
        const hw_edge_out *edge = &vector->out[r];
        if (edge->pending != NULL && slot_of(vector, edge->pending) == slot)
            return true;
        if (vector->slots.lent[slot * vector->receiver_count + r] > edge->gathered && !hw_edge_drops(edge))
            return true;
    }
    return false;
}

bool hw_vector_slots_put(hawser_vector *vector, const void *values, hw_message *item)
{
    hw_vector_slots *slots = &vector->slots;
    uint32_t slot = 0;
    pthread_mutex_lock(&vector->mutex);
    while (slot < slots->count && is_used(vector, slot))
        slot++;
    pthread_mutex_unlock(&vector->mutex);
    if (slot == slots->count)
        return false;
    item->payload = slots->own.data + HEAD + slot * stride_of(vector);
    item->envelope.length = vector->bytes;
    memcpy(item->payload, values, vector->bytes);
    return true;
}

void hw_vector_slots_lend(hawser_vector *vector, uint32_t receiver, const hw_message *item)
{
    uint32_t slot = slot_of(vector, item);
    if (slot < vector->slots.count)
        vector->slots.lent[slot * vector->receiver_count + receiver] = item->envelope.epoch;
}

void hw_vector_slots_strip(const hawser_vector *vector, hw_message *item)
{
    uint32_t slot = slot_of(vector, item);
    if (slot == vector->slots.count)
        return;
    item->envelope.range = slot + 1;
    item->envelope.length = 0;
    item->payload = NULL;
}

bool hw_vector_slots_take(const hawser_vector *vector, uint32_t source, hw_message *item)
{
    const hw_mapping *in = &vector->slots.in[source];
    size_t stride = stride_of(vector), slot = item->envelope.range - (size_t)1;
    if (in->data == NULL || item->envelope.length != 0 || item->envelope.span == 0 || slot >= (in->size - HEAD) / stride)
        return false;
    item->payload = in->data + HEAD + slot * stride;
    item->envelope.length = vector->bytes;
    return true;
}

hawser_status hw_vector_slots_own(const hawser_vector *vector, hw_message **item, hawser_error *error)
{
    hw_message *copy = NULL;
    if (vector->sparse || (*item)->payload == NULL || (*item)->shared != NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_message_new(vector->bytes, &copy, error));
    memcpy(copy->payload, (*item)->payload, vector->bytes);
    copy->envelope = (*item)->envelope;
    copy->next = (*item)->next;
    hw_message_free(*item);
    *item = copy;
    return HAWSER_OK;
}

void hw_vector_slots_free(hawser_vector *vector)
{
    hw_vector_slots *slots = &vector->slots;
    for (uint32_t s = 0; slots->in != NULL && s < vector->source_count; s++)
        hw_mapping_free(&slots->in[s]);
    hw_mapping_free(&slots->own);
    if (slots->reads != NULL && slots->descriptor >= 0)
        close(slots->descriptor);
    free(slots->in);
    free(slots->reads);
    free(slots->lent);
}
