/* segment.c - the memory and bookkeeping of a segment, and the table in which a transport finds it. */
#include "transport/segment/segment.h"

#include <stdlib.h>

#include "base/memory.h"

enum { TRIES = 3 }; /* copies of one slot before a read reports it as torn: a running writer is done by then */

/* What the receiver keeps for one sender. */
typedef struct place {
    uint32_t sender;
    /* sequence of the last put that took effect; written only by the thread that applies this sender's puts */
    atomic_uint_fast64_t last;
} place;

/* The struct stays in the table until the transport is freed, so that a late put finds the segment retired. The slots are
 * freed earlier. */
struct hw_segment {
    hw_segment *older; /* the previous segment of the same endpoint */
    uint32_t number, generation, sender_count, slots;
    size_t size, words;
    place *places;
    uint32_t *place_of; /* [endpoint]; UINT32_MAX: may not put */
    uint32_t endpoints;
    atomic_bool retired;
    atomic_uint users; /* users of the memory: the owner until it retires it, and each put in progress; 0: freed */
    hw_slot_word *memory;
    atomic_uint_fast64_t puts, bytes, late, backward, torn;
};

struct hw_segment_table {
    uint32_t endpoints;
    _Atomic(hw_segment *) newest[];
};

/* ---------------------------------------------------------------------------------------------------- one segment ---- */

static void add(atomic_uint_fast64_t *count, uint64_t more)
{
    atomic_fetch_add_explicit(count, more, memory_order_relaxed);
}

/* Registers a user of the memory. Returns false if it was freed. */
static bool enter(hw_segment *segment)
{
    unsigned users = atomic_load_explicit(&segment->users, memory_order_relaxed);
    do
        if (users == 0)
            return false;
    while (!atomic_compare_exchange_weak_explicit(&segment->users, &users, users + 1, memory_order_acquire,
                                                  memory_order_relaxed));
    return true;
}

static void leave(hw_segment *segment)
{
    if (atomic_fetch_sub_explicit(&segment->users, 1, memory_order_acq_rel) == 1)
        free(segment->memory);
}

hw_slot_word *hw_segment_slot(const hw_segment *segment, uint32_t place_number, uint64_t sequence)
{
    return segment->memory + ((size_t)place_number * segment->slots + sequence % segment->slots) * segment->words;
}

/* Applies a put. The caller has entered, so the memory exists until it leaves. */
static void take(hw_segment *segment, uint32_t place_number, const hw_message *message)
{
    const hw_envelope *envelope = &message->envelope;
    place *from = &segment->places[place_number];
    if (envelope->clock <= atomic_load_explicit(&from->last, memory_order_relaxed)) {
        add(&segment->backward, 1);
        return;
    }
    const hw_stamp stamp = {envelope->length, segment->generation, envelope->clock};
    hw_slot_write(hw_segment_slot(segment, place_number, envelope->clock), segment->words, &stamp, message->payload);
    atomic_store_explicit(&from->last, envelope->clock, memory_order_relaxed);
    add(&segment->puts, 1);
    add(&segment->bytes, envelope->length);
}

static uint32_t place_number_of(const hw_segment *segment, uint32_t sender)
{
    return sender < segment->endpoints ? segment->place_of[sender] : UINT32_MAX;
}

static hawser_status put(hw_segment *segment, const hw_message *message, hawser_error *error)
{
    const hw_envelope *envelope = &message->envelope;
    uint32_t place_number = place_number_of(segment, envelope->source);
    if (place_number == UINT32_MAX)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "endpoint %u put into segment %u of endpoint %u, where it has no slot", envelope->source,
                           segment->number, envelope->destination);
    if (envelope->length > segment->size || envelope->clock == 0)
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "endpoint %u put %llu bytes with sequence %llu into segment %u of endpoint %u: at most %zu bytes, and "
            "sequences begin with 1",
            envelope->source, (unsigned long long)envelope->length, (unsigned long long)envelope->clock, segment->number,
            envelope->destination, segment->size);
    if (envelope->epoch != segment->generation || !enter(segment)) {
        add(&segment->late, 1);
        return HAWSER_OK;
    }
    if (atomic_load_explicit(&segment->retired, memory_order_acquire))
        add(&segment->late, 1);
    else
        take(segment, place_number, message);
    leave(segment);
    return HAWSER_OK;
}

/* Returns the newest sequence in [low, high) of a sender according to the slots, or 0. A concurrent put may change the
 * slots. */
static uint64_t candidate(const hw_segment *segment, uint32_t place_number, uint64_t low, uint64_t high)
{
    uint64_t best = 0;
    for (uint32_t i = 0; i < segment->slots; i++) {
        uint64_t sequence = hw_slot_sequence(hw_segment_slot(segment, place_number, i), segment->words);
        /* the slot that belongs to this sequence */
        if (sequence >= low && sequence < high && sequence > best && sequence % segment->slots == i)
            best = sequence;
    }
    return best;
}

static hw_look newest(hw_segment *segment, uint32_t place_number, uint64_t after, void *to, hw_fresh *found)
{
    uint64_t high = UINT64_MAX, sequence;
    while ((sequence = candidate(segment, place_number, after + 1, high)) != 0) {
        const hw_slot_word *slot = hw_segment_slot(segment, place_number, sequence);
        hw_stamp stamp;
        for (int i = 0; i < TRIES; i++) {
            if (!hw_slot_read(slot, segment->words, segment->size, &stamp, to))
                continue;
            if (stamp.generation != segment->generation || stamp.sequence <= after)
                break; /* no put has used this slot for this segment */
            *found = (hw_fresh){.sender = segment->places[place_number].sender,
                                .sequence = stamp.sequence,
                                .missed = stamp.sequence - after - 1,
                                .length = (size_t)stamp.length};
            if (high != UINT64_MAX)
                add(&segment->torn, 1);
            return HW_LOOK_FRESH;
        }
        high = sequence;
    }
    if (high == UINT64_MAX)
        return HW_LOOK_NOTHING;
    add(&segment->torn, 1);
    return HW_LOOK_TORN;
}

hw_look hw_segment_newest(hw_segment *segment, uint32_t sender, uint64_t after, void *to, hw_fresh *found)
{
    uint32_t place_number = place_number_of(segment, sender);
    return place_number == UINT32_MAX ? HW_LOOK_NOTHING : newest(segment, place_number, after, to, found);
}

uint32_t hw_segment_scan(hw_segment *segment, uint64_t *after, void *buffer,
                         void (*each)(void *argument, const hw_fresh *found, const void *data), void *argument)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < segment->sender_count; i++) {
        hw_fresh found;
        if (newest(segment, i, after[i], buffer, &found) != HW_LOOK_FRESH)
            continue;
        after[i] = found.sequence;
        each(argument, &found, buffer);
        count++;
    }
    return count;
}

uint32_t hw_segment_generation(const hw_segment *segment)
{
    return segment->generation;
}

void hw_segment_figures_of(const hw_segment *segment, hw_segment_figures *figures)
{
    *figures = (hw_segment_figures){.puts = atomic_load_explicit(&segment->puts, memory_order_relaxed),
                                    .bytes = atomic_load_explicit(&segment->bytes, memory_order_relaxed),
                                    .late = atomic_load_explicit(&segment->late, memory_order_relaxed),
                                    .backward = atomic_load_explicit(&segment->backward, memory_order_relaxed),
                                    .torn = atomic_load_explicit(&segment->torn, memory_order_relaxed)};
}

void hw_segment_retire(hw_segment *segment)
{
    if (!atomic_exchange_explicit(&segment->retired, true, memory_order_acq_rel))
        leave(segment);
}

/* ------------------------------------------------------------------------------------------------------ the table ---- */

hawser_status hw_segment_table_new(uint32_t endpoints, hw_segment_table **out, hawser_error *error)
{
    *out = NULL;
    hw_segment_table *made = calloc(1, sizeof *made + endpoints * sizeof *made->newest);
    if (made == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate the table of segments of %u endpoints", endpoints);
    made->endpoints = endpoints;
    *out = made;
    return HAWSER_OK;
}

static void free_segment(hw_segment *segment)
{
    free(segment->places);
    free(segment->place_of);
    free(segment);
}

void hw_segment_table_free(hw_segment_table *segments)
{
    for (uint32_t i = 0; segments != NULL && i < segments->endpoints; i++)
        for (hw_segment *segment = atomic_load(&segments->newest[i]), *older; segment != NULL; segment = older) {
            older = segment->older;
            hw_segment_retire(segment);
            free_segment(segment);
        }
    free(segments);
}

static hw_segment *find(const hw_segment_table *segments, uint32_t endpoint, uint32_t number)
{
    hw_segment *segment = atomic_load_explicit(&segments->newest[endpoint], memory_order_acquire);
    while (segment != NULL && segment->number != number)
        segment = segment->older;
    return segment;
}

static hawser_status make(const hw_segment_table *segments, const hw_segment_shape *shape, hw_segment *made,
                          hawser_error *error)
{
    size_t count = (size_t)shape->sender_count * shape->slots; /* both are 32 bits wide */
    made->words = hw_slot_words(shape->size);
    if (made->words == 0 || count > SIZE_MAX / sizeof(hw_slot_word) / made->words)
        return hawser_fail(error, HAWSER_NO_MEMORY, "a segment of %u senders with %u slots of %zu bytes is too large",
                           shape->sender_count, shape->slots, shape->size);
    HAWSER_TRY(HW_NEW(&made->places, shape->sender_count, "a segment's senders", error));
    HAWSER_TRY(HW_NEW(&made->place_of, segments->endpoints, "a segment's senders", error));
    made->number = shape->number;
    made->generation = shape->generation;
    made->sender_count = shape->sender_count;
    made->slots = shape->slots;
    made->size = shape->size;
    made->endpoints = segments->endpoints;
    for (uint32_t i = 0; i < segments->endpoints; i++)
        made->place_of[i] = UINT32_MAX;
    for (uint32_t i = 0; i < shape->sender_count; i++) {
        uint32_t sender = shape->senders[i];
        if (sender >= segments->endpoints || made->place_of[sender] != UINT32_MAX)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "sender %u of segment %u is named twice or no endpoint (there are %u)", sender, shape->number,
                               segments->endpoints);
        made->place_of[sender] = i;
        made->places[i].sender = sender;
    }
    HAWSER_TRY(HW_NEW(&made->memory, count * made->words, "a segment", error));
    atomic_init(&made->users, 1);
    return HAWSER_OK;
}

static hawser_status check(const hw_segment_table *segments, uint32_t endpoint, const hw_segment_shape *shape,
                           hawser_error *error)
{
    if (endpoint >= segments->endpoints || shape->slots == 0 || shape->size == 0 || shape->generation == 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "cannot expose segment %u of endpoint %u with %u slots of %zu bytes, generation %u",
                           shape->number, endpoint, shape->slots, shape->size, shape->generation);
    const hw_segment *old = find(segments, endpoint, shape->number);
    if (old != NULL && !atomic_load(&old->retired))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "endpoint %u exposes segment %u already", endpoint, shape->number);
    if (old != NULL && old->generation >= shape->generation)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "segment %u of endpoint %u was of generation %u; %u is not above that", shape->number, endpoint,
                           old->generation, shape->generation);
    return HAWSER_OK;
}

hawser_status hw_segment_table_expose(hw_segment_table *segments, uint32_t endpoint, const hw_segment_shape *shape,
                                      hw_segment **out, hawser_error *error)
{
    *out = NULL;
    HAWSER_TRY(check(segments, endpoint, shape, error));
    hw_segment *made = NULL;
    HAWSER_TRY(HW_NEW(&made, 1, "a segment", error));
    hawser_status status = make(segments, shape, made, error);
    if (status != HAWSER_OK) {
        free_segment(made);
        return status;
    }
    made->older = atomic_load_explicit(&segments->newest[endpoint], memory_order_relaxed);
    atomic_store_explicit(&segments->newest[endpoint], made, memory_order_release);
    *out = made;
    return HAWSER_OK;
}

hawser_status hw_segment_table_put(hw_segment_table *segments, const hw_message *message, hawser_error *error)
{
    const hw_envelope *envelope = &message->envelope;
    hw_segment *segment = find(segments, envelope->destination, envelope->state);
    return segment == NULL ? HAWSER_OK : put(segment, message, error);
}
