/* combine.c - relays updates under SSP and TAP, and adds up those that wait for the same link (combined.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/pack.h"
#include "exchange/replica.h"
#include "transport/pool.h"

_Static_assert(sizeof(hw_contribution) == 24, "the layout of messages");

/* --------------------------------------------------------------------------------------------------------- parcels ---- */

static void release(hw_parcel *parcel)
{
    if (parcel == NULL || --parcel->references > 0)
        return;
    hw_message_free(parcel->values);
    hw_message_free(parcel->whole);
    free(parcel->list);
    free(parcel);
}

/* Makes a parcel with one reference and a list that the caller fills. Takes `values`, also on failure. */
static hawser_status new_parcel(uint32_t count, hw_message *values, hw_parcel **parcel, hawser_error *error)
{
    hw_parcel *made = NULL;
    hawser_status status = HW_NEW(&made, 1, "updates to send on", error);
    if (status != HAWSER_OK) {
        hw_message_free(values);
        return status;
    }
    *made = (hw_parcel){.references = 1, .count = count, .values = values};
    status = HW_NEW(&made->list, count, "updates to send on", error);
    if (status != HAWSER_OK)
        release(made);
    else
        *parcel = made;
    return status;
}

hawser_status hw_combiner_new(hw_replica *replica, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&replica->combiner, 1, "updates to send on", error));
    return HW_NEW(&replica->combiner->links, replica->spec.adding->link_count, "updates to send on", error);
}

static void drop(hw_combiner *combiner, hw_waiting *waiting)
{
    combiner->waiting -= waiting->count > 0;
    for (; waiting->count > 0; waiting->count--)
        release(waiting->parcels[waiting->count - 1]);
}

void hw_combiner_free(hw_replica *replica)
{
    hw_combiner *combiner = replica->combiner;
    for (uint32_t l = 0; combiner != NULL && combiner->links != NULL && l < replica->spec.adding->link_count; l++)
        drop(combiner, &combiner->links[l]);
    if (combiner != NULL)
        free(combiner->links);
    free(combiner);
    replica->combiner = NULL;
}

/* ------------------------------------------------------------------------------------------------------------ sums ---- */

/* Adds up the range's entries of parcels in adder->sum. Returns false if the sum is not finite or overflows an integer, so
 * that it must not be made. */
static bool add_up(hw_replica *replica, const hw_adding_range *range, hw_parcel *const *parcels, uint32_t count)
{
    char *values = replica->adder->sum, *from = values + hw_at(replica, range->begin);
    size_t n = range->end - range->begin;
    for (uint32_t i = 0; i < count; i++) {
        hw_payload payload = hw_payload_of(parcels[i]->values, replica->spec.count);
        size_t begin = hw_payload_seek(&payload, range->begin), end = hw_payload_seek(&payload, range->end);
        bool whole = end - begin == n;
        if (i == 0 && whole)
            memcpy(from, (const char *)payload.values + hw_at(replica, begin), hw_at(replica, n));
        else if (i == 0)
            memset(from, 0, hw_at(replica, n));
        if (begin < end && !(i == 0 && whole) && hw_add_payload(&payload, begin, end, 1, values, 0) != SIZE_MAX)
            return false;
    }
    return replica->numbers->first_not_finite(from, n) == n;
}

/* Makes one parcel of several, or of a range of one. *made is NULL if their sum must not be made. */
static hawser_status join(hw_replica *replica, uint32_t k, hw_parcel *const *parcels, uint32_t count, hw_parcel **made,
                          hawser_error *error)
{
    const hw_adding_range *range = &replica->spec.adding->ranges[k];
    hw_spares *spares = &replica->adder->spares;
    size_t n = replica->spec.count;
    hw_message *values;
    uint32_t contributions = 0, at = 0;
    *made = NULL;
    for (uint32_t i = 0; i < count; i++)
        contributions += parcels[i]->count;
    size_t room = contributions * sizeof *parcels[0]->list;
    if (count > 1 && !add_up(replica, range, parcels, count))
        return HAWSER_OK;
    HAWSER_TRY(count > 1 ? hw_encode_range_before(replica->spec.type, replica->adder->sum, range->begin, range->end, n, room,
                                                  spares, &values, error)
                         : hw_encode_slice(parcels[0]->values, range->begin, range->end, n, room, spares, &values, error));
    HAWSER_TRY(new_parcel(contributions, values, made, error));
    (*made)->has_room = true;
    for (uint32_t i = 0; i < count; at += parcels[i++]->count)
        memcpy((*made)->list + at, parcels[i]->list, parcels[i]->count * sizeof *parcels[i]->list);
    return HAWSER_OK;
}

/* --------------------------------------------------------------------------------------------------------- sending ---- */

/* Makes a message of values, packed or not, with the list behind them. */
static hawser_status append_list(const hw_parcel *parcel, const hw_message *values, hw_message **message,
                                 hawser_error *error)
{
    size_t length = (size_t)values->envelope.length, listed = parcel->count * sizeof *parcel->list;
    if (values == parcel->values && parcel->has_room) {
        HAWSER_TRY(hw_message_share(values, message, error));
    } else {
        HAWSER_TRY(hw_message_new(length + listed, message, error));
        if (length > 0)
            memcpy((*message)->payload, values->payload, length);
    }
    memcpy((char *)(*message)->payload + length, parcel->list, listed);
    (*message)->envelope = values->envelope;
    (*message)->envelope.length = length + listed;
    return HAWSER_OK;
}

/* Makes the message of a parcel for another node, packed if that is smaller. The other links of the parcel send it too. */
static hawser_status write(hw_replica *replica, uint32_t k, hw_parcel *parcel, hw_message **message, hawser_error *error)
{
    hw_message *packed, *made = NULL;
    if (parcel->whole != NULL)
        return hw_message_share(parcel->whole, message, error);
    HAWSER_TRY(hw_pack(parcel->values, replica->spec.count, &packed, error));
    hawser_status status = append_list(parcel, packed != NULL ? packed : parcel->values, &made, error);
    hw_message_free(packed);
    HAWSER_TRY(status);
    made->envelope = (hw_envelope){.kind = HW_MESSAGE_COMBINED,
                                   .type = made->envelope.type,
                                   .form = HW_FORM_DELTA,
                                   .encoding = made->envelope.encoding,
                                   .state = replica->spec.state,
                                   .epoch = replica->epoch,
                                   .clock = parcel->list[parcel->count - 1].clock,
                                   .last = 1,
                                   .covers = parcel->count,
                                   .range = replica->range_count > 1 ? k + 1 : 0,
                                   .count = made->envelope.count,
                                   .length = made->envelope.length};
    status = parcel->references > 1 ? hw_message_share(made, &parcel->whole, error) : HAWSER_OK;
    if (status == HAWSER_OK)
        *message = made;
    else
        hw_message_free(made);
    return status;
}

static uint64_t bytes_of(const hw_message *list)
{
    uint64_t bytes = 0;
    for (; list != NULL; list = list->next)
        bytes += sizeof list->envelope + list->envelope.length;
    return bytes;
}

/* Makes the messages of single parcels. Those of several ranges are cut: a sum of one is its part in the range. */
static hawser_status write_singly(hw_replica *replica, uint32_t k, hw_parcel *const *parcels, uint32_t count,
                                  hw_message **list, hawser_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        hw_parcel *part = NULL;
        hw_message *message = NULL;
        bool cut = parcels[i]->whole == NULL && replica->range_count > 1;
        hawser_status status = cut ? join(replica, k, &parcels[i], 1, &part, error) : HAWSER_OK;
        HAWSER_THEN(status, write(replica, k, part != NULL ? part : parcels[i], &message, error));
        release(part);
        HAWSER_TRY(status);
        hw_append(list, message);
    }
    return HAWSER_OK;
}

/* Makes one message of the sum, or the messages of its parts if those are smaller or the sum must not be made. */
static hawser_status write_all(hw_replica *replica, uint32_t k, hw_parcel *const *parcels, uint32_t count, hw_message **list,
                               hawser_error *error)
{
    hw_parcel *sum = NULL;
    hw_message *whole = NULL;
    if (count > 1)
        HAWSER_TRY(join(replica, k, parcels, count, &sum, error));
    if (sum == NULL)
        return write_singly(replica, k, parcels, count, list, error);
    hawser_status status = write(replica, k, sum, &whole, error);
    release(sum);
    if (status == HAWSER_OK && replica->spec.rounding != HW_F64)
        status = write_singly(replica, k, parcels, count, list, error);
    if (status != HAWSER_OK || (*list != NULL && bytes_of(*list) <= bytes_of(whole))) {
        hw_message_free(whole);
        return status;
    }
    hw_messages_free(*list);
    *list = whole;
    return HAWSER_OK;
}

/* Sends what waits for a link. */
static hawser_status flush(hw_replica *replica, uint32_t k, uint32_t link, hawser_error *error)
{
    hw_waiting *waiting = &replica->combiner->links[link];
    hw_message *list = NULL;
    hawser_status status = write_all(replica, k, waiting->parcels, waiting->count, &list, error);
    drop(replica->combiner, waiting);
    if (status != HAWSER_OK) {
        hw_messages_free(list);
        return status;
    }
    while (list != NULL) {
        hw_message *message = list;
        list = message->next;
        message->envelope.source = replica->spec.block;
        message->envelope.destination = replica->spec.adding->links[link];
        hw_append(&replica->outgoing, message);
    }
    return HAWSER_OK;
}

uint64_t hw_combined_bytes(const hw_message *message, size_t n)
{
    return hw_plain_bytes(message, n) + message->envelope.covers * sizeof(hw_contribution);
}

bool hw_replica_waits(const hw_replica *replica)
{
    return replica->combiner != NULL && replica->combiner->waiting > 0;
}

hawser_status hw_replica_send_waiting(hw_replica *replica, bool (*is_free)(void *argument, uint32_t block), void *argument,
                                      hawser_error *error)
{
    for (uint32_t k = 0; hw_replica_waits(replica) && k < replica->range_count; k++) {
        const hw_adding_range *range = &replica->spec.adding->ranges[k];
        for (uint32_t l = 0; l < range->link_count; l++) {
            uint32_t link = (uint32_t)(range->links - replica->spec.adding->links) + l;
            if (replica->combiner->links[link].count > 0 && (is_free == NULL || is_free(argument, range->links[l])))
                HAWSER_TRY(flush(replica, k, link, error));
        }
    }
    return HAWSER_OK;
}

/* --------------------------------------------------------------------------------------------------------- waiting ---- */

/* Makes room in a full list: adds it up, or sends it if its sum must not be made or rounded numbers may need fewer bytes
 * apart. */
static hawser_status make_space(hw_replica *replica, uint32_t k, uint32_t link, hawser_error *error)
{
    hw_waiting *waiting = &replica->combiner->links[link];
    hw_parcel *sum = NULL;
    if (replica->spec.rounding == HW_F64)
        HAWSER_TRY(join(replica, k, waiting->parcels, waiting->count, &sum, error));
    if (sum == NULL)
        return flush(replica, k, link, error);
    drop(replica->combiner, waiting);
    waiting->parcels[waiting->count++] = sum;
    replica->combiner->waiting++;
    return HAWSER_OK;
}

/* Has a parcel wait for the links of ranges [begin, end), except those to the block from which it has come. */
static hawser_status wait_for_links(hw_replica *replica, hw_parcel *parcel, uint32_t begin, uint32_t end, uint32_t from,
                                    hawser_error *error)
{
    for (uint32_t k = begin; k < end; k++) {
        const hw_adding_range *range = &replica->spec.adding->ranges[k];
        for (uint32_t l = 0; l < range->link_count; l++) {
            uint32_t link = (uint32_t)(range->links - replica->spec.adding->links) + l;
            hw_waiting *waiting = &replica->combiner->links[link];
            if (range->links[l] == from)
                continue;
            if (waiting->count == HW_WAITING_MOST)
                HAWSER_TRY(make_space(replica, k, link, error));
            replica->combiner->waiting += waiting->count == 0;
            waiting->parcels[waiting->count++] = parcel;
            parcel->references++;
        }
    }
    return HAWSER_OK;
}

hawser_status hw_combine_own(hw_replica *replica, const hw_message *message, hawser_error *error)
{
    const hw_envelope *envelope = &message->envelope;
    hw_message *values;
    hw_parcel *parcel;
    if (replica->combiner == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_message_share(message, &values, error));
    HAWSER_TRY(new_parcel(1, values, &parcel, error));
    parcel->list[0] = (hw_contribution){.clock = envelope->clock,
                                        .block = envelope->first,
                                        .part = envelope->part,
                                        .span = envelope->span,
                                        .last = envelope->last};
    parcel->has_room = hw_message_capacity(values) - (size_t)envelope->length >= sizeof parcel->list[0];
    hawser_status status = wait_for_links(replica, parcel, 0, replica->range_count, UINT32_MAX, error);
    release(parcel);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- receiving ---- */

hawser_status hw_combine_check(const hw_replica *replica, const hw_envelope *envelope, hawser_error *error)
{
    const hw_replica_spec *spec = &replica->spec;
    bool whole = replica->range_count == 1;
    bool fits = replica->combines && envelope->state == spec->state && envelope->source < spec->blocks &&
                envelope->source != spec->block && envelope->type == spec->type && envelope->form == HW_FORM_DELTA &&
                (whole ? envelope->range == 0 : envelope->range > 0 && envelope->range <= replica->range_count) &&
                envelope->covers > 0 && envelope->covers <= envelope->length / sizeof(hw_contribution);
    if (fits)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "block %u sent block %u %u combined updates of state number %u, range %u, in %llu bytes, which state "
                       "'%s' does not take",
                       envelope->source, spec->block, envelope->covers, envelope->state, envelope->range,
                       (unsigned long long)envelope->length, spec->name);
}

/* Makes a parcel of a message: its list, and its values as an update that is not packed. */
static hawser_status open_message(const hw_replica *replica, const hw_message *message, hw_parcel **parcel,
                                  hawser_error *error)
{
    hw_message *values, *plain;
    uint32_t count = message->envelope.covers;
    size_t listed = count * sizeof(hw_contribution);
    char what[200];
    snprintf(what, sizeof what, "combined updates of state '%.100s' by block %u", replica->spec.name,
             message->envelope.source);
    HAWSER_TRY(hw_message_share(message, &values, error));
    values->envelope.kind = HW_MESSAGE_UPDATE;
    values->envelope.length -= listed;
    if (values->envelope.encoding == HW_PACKED) {
        hawser_status status = hw_unpack(values, replica->spec.count, what, &plain, error);
        hw_message_free(values);
        HAWSER_TRY(status);
        values = plain;
    }
    HAWSER_TRY(new_parcel(count, values, parcel, error));
    memcpy((*parcel)->list, (const char *)message->payload + (message->envelope.length - listed), listed);
    hawser_status status = hw_check_payload(replica, values, error);
    if (status != HAWSER_OK)
        release(*parcel);
    return status;
}

/* Checks that an update is the next one of its block in the range, and notes that it is in. */
static hawser_status take_contribution(hw_replica *replica, uint32_t range, const hw_contribution *c, uint32_t from,
                                       hawser_error *error)
{
    uint64_t most = replica->policy.kind == HW_POLICY_SSP ? replica->policy.staleness : UINT32_MAX;
    hw_range *at = &replica->ranges[range];
    bool due = c->block < replica->spec.blocks && c->block != replica->spec.block && c->last <= 1 && c->span <= most &&
               c->clock >= c->span && at->done[c->block] == c->clock - c->span && at->parts[c->block] == c->part;
    if (!due)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "block %u sent block %u part %u of clock %llu and %u before it of state '%s' by block %u in a sum, "
            "which is not due",
            from, replica->spec.block, c->part, (unsigned long long)c->clock, c->span, replica->spec.name, c->block);
    if (c->last)
        hw_mark_block(replica, c->block, range, range + 1, c->clock + 1);
    else
        at->parts[c->block]++;
    return HAWSER_OK;
}

static hawser_status merge(hw_replica *replica, const hw_message *message, const hw_parcel *parcel, hawser_error *error)
{
    uint32_t range = message->envelope.range == 0 ? 0 : message->envelope.range - 1;
    for (uint32_t i = 0; i < parcel->count; i++)
        HAWSER_TRY(take_contribution(replica, range, &parcel->list[i], message->envelope.source, error));
    hw_record_combined(replica, parcel->values, parcel->list, parcel->count);
    if (!replica->ended && !replica->apart)
        hw_set_apart(replica);
    return hw_apply(replica, parcel->values, error);
}

hawser_status hw_combine_take(hw_replica *replica, hw_message *message, hawser_error *error)
{
    uint32_t source = message->envelope.source, range = message->envelope.range == 0 ? 0 : message->envelope.range - 1;
    hw_parcel *parcel = NULL;
    hawser_status status = HAWSER_OK;
    if (!hw_combines(replica))
        status = hawser_fail(error, HAWSER_BAD_INPUT, "block %u sent combined updates of state '%s' under bsp", source,
                             replica->spec.name);
    HAWSER_THEN(status, open_message(replica, message, &parcel, error));
    if (status != HAWSER_OK) {
        hw_message_free(message);
        return status;
    }
    status = merge(replica, message, parcel, error);
    if (replica->combiner != NULL)
        parcel->whole = message;
    else
        hw_message_free(message);
    if (status == HAWSER_OK && replica->combiner != NULL)
        status = wait_for_links(replica, parcel, range, range + 1, source, error);
    release(parcel);
    return status;
}
