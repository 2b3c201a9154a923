/*
 * adder.c - adds up updates of other blocks and sends the sums on, if `adding` names this block.
 *
 * A clock of a range is sent when the updates of its whole run have arrived, in as few sums as its subtrees allow. Between
 * nodes, parts of an update are passed on one by one and are not added up: that uses the links early. The subtrees that
 * contain them then are not whole, so smaller subtrees are sent. Between the blocks of one node (adding->waits) parts wait
 * for the last one and are added up.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/pack.h"
#include "exchange/replica.h"

hawser_status hw_adder_new(hw_replica *replica, hawser_error *error)
{
    const hw_adding *adding = replica->spec.adding;
    hw_adder *adder = NULL;
    HAWSER_TRY(HW_NEW(&adder, 1, "updates to add up", error));
    replica->adder = adder;
    HAWSER_TRY(HW_NEW(&adder->ranges, adding->range_count, "updates to add up", error));
    HAWSER_TRY(HW_NEW(&adder->sent, adding->range_count, "updates to add up", error));
    HAWSER_TRY(HW_NEW(&adder->missing, adding->range_count, "updates to add up", error));
    void *sum = NULL;
    HAWSER_TRY(hw_new_array(&sum, replica->spec.count, replica->numbers->size, "a sum of updates", error));
    adder->sum = sum;
    for (uint32_t k = 0; k < adding->range_count; k++) {
        const hw_adding_range *range = &adding->ranges[k];
        if (range->run.begin < range->run.end)
            HAWSER_TRY(hw_range_new(replica->spec.type, replica->spec.blocks, replica->spec.count, range->begin, range->end,
                                    &adder->ranges[k], error));
    }
    return HAWSER_OK;
}

void hw_adder_free(hw_replica *replica)
{
    hw_adder *adder = replica->adder;
    if (adder == NULL)
        return;
    for (uint32_t k = 0; adder->ranges != NULL && k < replica->spec.adding->range_count; k++)
        hw_range_free(&adder->ranges[k]);
    hw_spares_free(&adder->spares);
    free(adder->ranges);
    free(adder->sent);
    free(adder->missing);
    free(adder->sum);
    free(adder);
    replica->adder = NULL;
}

void hw_adder_reset(hw_replica *replica)
{
    hw_adder *adder = replica->adder;
    for (uint32_t k = 0; adder != NULL && k < replica->spec.adding->range_count; k++) {
        hw_reduce_run run = replica->spec.adding->ranges[k].run;
        adder->sent[k] = 0;
        adder->missing[k] = run.end - run.begin;
        if (adder->ranges[k].blocks > 0)
            hw_range_reset(&adder->ranges[k]);
    }
}

/* ------------------------------------------------------------------------------------------------------ sending ---- */

/* Takes a message and sends it to the destination of the range's sums. */
static hawser_status send_on(hw_replica *replica, uint32_t k, hw_message *message, hawser_error *error)
{
    const hw_adding *adding = replica->spec.adding;
    hw_envelope *envelope = &message->envelope;
    hw_message *copy;
    envelope->source = replica->spec.block;
    envelope->range = adding->range_count > 1 ? k + 1 : 0;
    envelope->destination = adding->ranges[k].to;
    envelope->kind = envelope->destination < replica->spec.blocks ? HW_MESSAGE_ADDEND : HW_MESSAGE_UPDATE;
    if (envelope->destination == HW_TO_BLOCKS) {
        hawser_status status = hw_message_share(message, &copy, error);
        HAWSER_THEN(status, hw_take_update(replica, copy, error));
        if (status != HAWSER_OK) {
            hw_message_free(message);
            return status;
        }
    }
    hw_append(&replica->outgoing, message);
    return HAWSER_OK;
}

/* Checks the sum of a range: `over` is the first entry that overflows, or SIZE_MAX. */
static hawser_status check_sum(const hw_replica *replica, const hw_range *range, size_t over, uint32_t first, uint32_t count,
                               hawser_error *error)
{
    char text[HW_NUMBER_TEXT];
    const char *sum = replica->adder->sum + hw_at(replica, range->begin);
    if (over != SIZE_MAX)
        return hawser_fail(error, HAWSER_NOT_FINITE,
                           "the updates of state '%s' by blocks %u to %u overflow %s at entry %zu; use a larger type or "
                           "smaller numbers",
                           replica->spec.name, first, first + count - 1, replica->numbers->name, over);
    size_t bad = replica->numbers->first_not_finite(sum, range->end - range->begin);
    if (bad == range->end - range->begin)
        return HAWSER_OK;
    replica->numbers->text(sum, bad, text);
    return hawser_fail(error, HAWSER_NOT_FINITE,
                       "the updates of state '%s' by blocks %u to %u add up to %s at entry %zu; take smaller steps%s",
                       replica->spec.name, first, first + count - 1, text, range->begin + bad, hw_averaging(replica));
}

/* Makes a message of a range of adder->sum. */
static hawser_status pack_sum(const hw_replica *replica, const hw_range *range, const hw_message *like, uint32_t first,
                              uint32_t count, hw_message **message, hawser_error *error)
{
    const char *sum = replica->adder->sum;
    HAWSER_TRY(hw_encode_range(replica->spec.type, sum, range->begin, range->end, replica->spec.count,
                               &replica->adder->spares, message, error));
    hw_envelope *envelope = &(*message)->envelope;
    const hw_envelope content = *envelope;
    *envelope = like->envelope;
    envelope->encoding = content.encoding;
    envelope->count = content.count;
    envelope->length = content.length;
    envelope->first = first;
    envelope->covers = count;
    return HAWSER_OK;
}

/* Sends the entries of a parked message that lie in the range; the message itself if all do. */
static hawser_status send_one(hw_replica *replica, uint32_t k, const hw_message *parked, hawser_error *error)
{
    const hw_range *range = &replica->adder->ranges[k];
    hw_payload payload = hw_payload_of(parked, replica->spec.count);
    size_t begin = hw_payload_seek(&payload, range->begin), end = hw_payload_seek(&payload, range->end);
    hw_message *message;
    if (begin == 0 && end == payload.count) {
        HAWSER_TRY(hw_message_share(parked, &message, error));
        return send_on(replica, k, message, error);
    }
    memset(replica->adder->sum + hw_at(replica, range->begin), 0, hw_at(replica, range->end - range->begin));
    size_t over = hw_add_payload(&payload, begin, end, 1, replica->adder->sum, 0);
    HAWSER_TRY(check_sum(replica, range, over, parked->envelope.first, parked->envelope.covers, error));
    HAWSER_TRY(pack_sum(replica, range, parked, parked->envelope.first, parked->envelope.covers, &message, error));
    return send_on(replica, k, message, error);
}

/* Stores the bytes that a message takes between nodes. */
static hawser_status bytes_of(const hw_replica *replica, const hw_message *message, uint64_t *bytes, hawser_error *error)
{
    hw_message *packed;
    HAWSER_TRY(hw_pack(message, replica->spec.count, &packed, error));
    *bytes = sizeof message->envelope + (packed != NULL ? packed : message)->envelope.length;
    hw_message_free(packed);
    return HAWSER_OK;
}

/* Compares the bytes of a sum with those of its addends. Rounded updates take few bits, and their sum may need all 64. */
static hawser_status pays(const hw_replica *replica, const hw_range *range, const hw_message *sum, bool *pays,
                          hawser_error *error)
{
    uint64_t whole, part, parts = 0;
    *pays = true;
    if (replica->spec.rounding == HW_F64 || replica->spec.adding->waits)
        return HAWSER_OK;
    uint32_t end = sum->envelope.first + sum->envelope.covers;
    for (uint32_t block = sum->envelope.first; block < end;) {
        const hw_message *parked = hw_range_oldest(range, block, sum->envelope.clock);
        HAWSER_TRY(bytes_of(replica, parked, &part, error));
        parts += part;
        block += parked->envelope.covers;
    }
    HAWSER_TRY(bytes_of(replica, sum, &whole, error));
    *pays = whole <= parts;
    return HAWSER_OK;
}

static bool in_parts(const hw_message *message)
{
    return message->envelope.part > 0 || message->envelope.last == 0;
}

static hawser_status send_sum(hw_replica *replica, uint32_t k, uint32_t first, uint32_t count, hawser_error *error)
{
    const hw_range *range = &replica->adder->ranges[k];
    uint64_t clock = replica->adder->sent[k];
    const hw_message *parked = hw_range_oldest(range, first, clock);
    hw_message *message;
    size_t over = SIZE_MAX;
    bool whole;
    if (parked->envelope.covers == count && !in_parts(parked))
        return send_one(replica, k, parked, error);
    memset(replica->adder->sum + hw_at(replica, range->begin), 0, hw_at(replica, range->end - range->begin));
    for (size_t begin = range->begin; begin < range->end; begin += HW_TILE) {
        hw_range_piece where = {begin, hw_tile_end(replica, begin / HW_TILE) - begin, clock};
        const void *sum = hw_range_sum(range, where, first, count, replica->scratch, &over);
        if (sum != NULL)
            memcpy(replica->adder->sum + hw_at(replica, begin), sum, hw_at(replica, where.count));
    }
    HAWSER_TRY(check_sum(replica, range, over, first, count, error));
    HAWSER_TRY(pack_sum(replica, range, parked, first, count, &message, error));
    message->envelope.part = 0;
    message->envelope.last = 1;
    hawser_status status = pays(replica, range, message, &whole, error);
    if (status == HAWSER_OK && whole)
        return send_on(replica, k, message, error);
    hw_message_free(message);
    for (uint32_t block = first; status == HAWSER_OK && block < first + count; block += parked->envelope.covers) {
        parked = hw_range_oldest(range, block, clock);
        status = send_one(replica, k, parked, error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------------- gathering ---- */

/* Returns true if updates of a whole subtree are parked. */
static bool is_whole(const hw_range *range, uint64_t clock, uint32_t first, uint32_t count)
{
    const hw_message *parked = hw_range_oldest(range, first, clock);
    if (count == 1 || (parked != NULL && parked->envelope.covers == count))
        return parked != NULL;
    uint32_t left = hw_left_of(count);
    return is_whole(range, clock, first, left) && is_whole(range, clock, first + left, count - left);
}

/* Sends the largest whole subtrees of the run among those over blocks [first, first + count). */
static hawser_status send_subtrees(hw_replica *replica, uint32_t k, uint32_t first, uint32_t count, hawser_error *error)
{
    hw_reduce_run run = replica->spec.adding->ranges[k].run;
    if (first + count <= run.begin || first >= run.end)
        return HAWSER_OK;
    bool inside = first >= run.begin && first + count <= run.end;
    if (inside && is_whole(&replica->adder->ranges[k], replica->adder->sent[k], first, count))
        return send_sum(replica, k, first, count, error);
    if (count == 1)
        return HAWSER_OK;
    uint32_t left = hw_left_of(count);
    HAWSER_TRY(send_subtrees(replica, k, first, left, error));
    return send_subtrees(replica, k, first + left, count - left, error);
}

static hawser_status pass_parts(hw_replica *replica, uint32_t k, uint32_t block, hawser_error *error)
{
    hw_range *range = &replica->adder->ranges[k];
    for (;;) {
        const hw_message *parked = hw_range_oldest(range, block, replica->adder->sent[k]);
        if (parked == NULL || !in_parts(parked))
            return HAWSER_OK;
        HAWSER_TRY(send_one(replica, k, parked, error));
        hw_range_drop_oldest(range, block);
    }
}

/* Returns how many blocks of the run have not completed the clock whose sums are sent next. */
static uint32_t count_missing(const hw_replica *replica, uint32_t k)
{
    const hw_range *range = &replica->adder->ranges[k];
    hw_reduce_run run = replica->spec.adding->ranges[k].run;
    uint32_t missing = 0;
    for (uint32_t block = run.begin; block < run.end; block++)
        missing += range->done[block] <= replica->adder->sent[k];
    return missing;
}

/* Sends what is complete after an update of blocks [first, end) has arrived. */
static hawser_status advance(hw_replica *replica, uint32_t k, uint32_t first, uint32_t end, hawser_error *error)
{
    hw_range *range = &replica->adder->ranges[k];
    hw_reduce_run run = replica->spec.adding->ranges[k].run;
    for (;;) {
        for (uint32_t block = first; block < end && !replica->spec.adding->waits; block++)
            HAWSER_TRY(pass_parts(replica, k, block, error));
        if (replica->adder->missing[k] > 0)
            return HAWSER_OK;
        HAWSER_TRY(send_subtrees(replica, k, 0, replica->spec.blocks, error));
        hw_range_drop(range, run.begin, run.end, replica->adder->sent[k]);
        replica->adder->sent[k]++;
        replica->adder->missing[k] = count_missing(replica, k);
        first = run.begin; /* parts that arrived early belong to this clock now */
        end = run.end;
    }
}

/* Parks an update of a range. Each must arrive once, clock by clock and part by part. */
static hawser_status take_range(hw_replica *replica, uint32_t k, const hw_message *message, hawser_error *error)
{
    const hw_envelope *envelope = &message->envelope;
    hw_range *range = &replica->adder->ranges[k];
    hw_reduce_run run = replica->spec.adding->ranges[k].run;
    uint32_t end = envelope->first + envelope->covers;
    bool due = envelope->first >= run.begin && end <= run.end && envelope->span == 0 && envelope->last <= 1;
    for (uint32_t block = envelope->first; due && block < end; block++)
        due = range->done[block] == envelope->clock && range->parts[block] == envelope->part;
    if (!due || (envelope->covers > 1 && in_parts(message)))
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "block %u sent part %u of clock %llu of state '%s' by blocks %u to %u, to be added up, where it is "
            "not due",
            envelope->source, envelope->part, (unsigned long long)envelope->clock, replica->spec.name, envelope->first,
            end - 1);
    hw_message *copy;
    HAWSER_TRY(hw_message_share(message, &copy, error));
    hw_range_park(range, copy);
    for (uint32_t block = envelope->first; block < end; block++) {
        range->parts[block] = envelope->last ? 0 : range->parts[block] + 1;
        replica->adder->missing[k] -= envelope->last && range->done[block] == replica->adder->sent[k];
        range->done[block] += envelope->last;
    }
    return advance(replica, k, envelope->first, end, error);
}

bool hw_is_addend(const hw_replica *replica, const hw_message *message)
{
    const hw_envelope *envelope = &message->envelope;
    if (replica->adder == NULL || !hw_adds(replica))
        return false;
    if (envelope->kind == HW_MESSAGE_ADDEND || replica->spec.adding->gathers)
        return envelope->kind == HW_MESSAGE_ADDEND;
    hw_reduce_run run = replica->spec.adding->ranges[0].run;
    return envelope->covers == 1 && envelope->first >= run.begin && envelope->first < run.end;
}

hawser_status hw_adder_take(hw_replica *replica, hw_message *message, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    uint32_t range = message->envelope.range;
    for (uint32_t k = 0; status == HAWSER_OK && k < replica->range_count; k++)
        if ((range == 0 || range == k + 1) && replica->adder->ranges[k].blocks > 0)
            status = take_range(replica, k, message, error);
    hw_message_free(message);
    return status;
}
