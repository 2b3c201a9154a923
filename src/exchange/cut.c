/* cut.c - cuts a block's own changes of a clock into messages. */
#include <string.h>

#include "exchange/replica.h"

hawser_status hw_cannot_send(const hw_replica *replica, size_t entry, const void *values, size_t i, hawser_error *error)
{
    char text[HW_NUMBER_TEXT];
    if (replica->numbers->whole)
        return hawser_fail(
            error, HAWSER_NOT_FINITE,
            "the update of state '%s' by block %u overflows %s at entry %zu; use a larger type or smaller numbers",
            replica->spec.name, replica->spec.block, replica->numbers->name, entry);
    replica->numbers->text(values, i, text);
    return hawser_fail(error, HAWSER_NOT_FINITE,
                       "the update of state '%s' by block %u is %s at entry %zu; take smaller steps or look at the input",
                       replica->spec.name, replica->spec.block, text, entry);
}

bool hw_changed_part(const hw_replica *replica, size_t tile, size_t *begin, size_t *end)
{
    if (replica->marked && !hw_bit(replica->touched, tile))
        return false;
    *begin = tile * HW_TILE;
    *end = hw_tile_end(replica, tile);
    if (replica->spec.values) {
        *begin = *begin < replica->spec.own_begin ? replica->spec.own_begin : *begin;
        *end = *end > replica->spec.own_end ? replica->spec.own_end : *end;
    }
    return *begin < *end;
}

static hw_changes find_changes(const hw_replica *replica)
{
    const char *cache = replica->cache, *origin = hw_origin(replica);
    hw_changes changes = {0};
    size_t begin, end, last_begin = 0, last_end = 0;
    for (size_t tile = 0; tile < replica->tiles; tile++) {
        if (!hw_changed_part(replica, tile, &begin, &end))
            continue;
        size_t at = hw_at(replica, begin), count = replica->numbers->changed(cache + at, origin + at, end - begin);
        if (count == 0)
            continue;
        if (changes.count == 0)
            for (changes.first = begin; !hw_differs(replica, changes.first);)
                changes.first++;
        changes.count += count;
        last_begin = begin;
        last_end = end;
    }
    if (changes.count > 0)
        for (changes.last = last_end - 1; changes.last > last_begin && !hw_differs(replica, changes.last);)
            changes.last--;
    return changes;
}

/* Writes the entries from the first change to the last, and returns how many of them do not overflow. */
static size_t write_dense(const hw_replica *replica, hw_form form, hw_changes changes, void *out)
{
    size_t n = changes.last - changes.first + 1, at = hw_at(replica, changes.first);
    if (form != HW_FORM_VALUES)
        return replica->numbers->subtract(out, replica->cache + at, hw_origin(replica) + at, hw_gain_now(replica), n);
    memcpy(out, replica->cache + at, hw_at(replica, n));
    return n;
}

static size_t write_sparse(const hw_replica *replica, hw_form form, hw_message *message, char *out)
{
    const char *origin = hw_origin(replica);
    uint16_t places[HW_TILE];
    size_t begin, end, position = 0, good = SIZE_MAX, first_bad;
    for (size_t tile = 0; tile < replica->tiles; tile++) {
        if (!hw_changed_part(replica, tile, &begin, &end))
            continue;
        size_t at = hw_at(replica, begin);
        size_t count = replica->numbers->pick(replica->cache + at, origin + at, end - begin, hw_gain_now(replica),
                                              form == HW_FORM_VALUES, out + hw_at(replica, position), places, &first_bad);
        if (first_bad < count && good == SIZE_MAX)
            good = position + first_bad;
        for (size_t k = 0; k < count; k++)
            hw_packing_index(message, replica->spec.count, position++, begin + places[k]);
    }
    return good < position ? good : position;
}

/* Makes a message of all own changes. */
static hawser_status pack_changes(hw_replica *replica, hw_form form, hw_message **message, hawser_error *error)
{
    hw_changes changes = find_changes(replica);
    size_t window = changes.count > 0 ? changes.last - changes.first + 1 : 0;
    hw_packing packing = hw_choose_packing(replica->spec.type, replica->spec.count, changes.count, window);
    void *out;
    HAWSER_TRY(hw_packing_message(packing, changes.first, hw_list_room(replica), &replica->spares, message, &out, error));
    if (packing.count == 0)
        return HAWSER_OK;
    size_t bad =
        packing.encoding == HW_DENSE ? write_dense(replica, form, changes, out) : write_sparse(replica, form, *message, out);
    if (bad == packing.count)
        bad = replica->numbers->first_not_finite(out, packing.count);
    if (bad == packing.count)
        return HAWSER_OK;
    hw_payload payload = hw_payload_of(*message, replica->spec.count);
    hawser_status status = hw_cannot_send(replica, hw_payload_index(&payload, bad), out, bad, error);
    hw_message_free(*message);
    *message = NULL;
    return status;
}

/* Takes the cache for the new state: a single block sends nothing. */
static hawser_status keep_values(hw_replica *replica, hawser_error *error)
{
    size_t begin, end;
    for (size_t tile = 0; tile < replica->tiles; tile++) {
        if (!hw_changed_part(replica, tile, &begin, &end))
            continue;
        size_t at = hw_at(replica, begin), bad = replica->numbers->first_not_finite(replica->cache + at, end - begin);
        if (bad < end - begin)
            return hw_cannot_send(replica, begin + bad, replica->cache + at, bad, error);
        memcpy(replica->base + at, replica->cache + at, hw_at(replica, end - begin));
        if (hw_records(replica))
            hw_record_tile(replica, tile);
    }
    return HAWSER_OK;
}

/* Returns true if updates are sent as values: those of a partitioned state, and those of one writer, unless a merge
 * function, a filter or rounding make the state differ from the values that it wrote. */
static bool sends_values(const hw_replica *replica)
{
    if (replica->spec.values)
        return true;
    return (hw_has_one_source(replica) || replica->spec.blocks == 1) && !hw_holds(replica) &&
           !hw_user_merges(replica, hw_exchange_now(replica)) && hw_gain_now(replica) == 1;
}

/* Copies the changes that have just been cut from the cache to origin. */
static void advance_origin(hw_replica *replica)
{
    size_t begin, end;
    if (!replica->apart)
        hw_set_apart(replica);
    for (size_t tile = 0; tile < replica->tiles; tile++)
        if (hw_changed_part(replica, tile, &begin, &end))
            memcpy(replica->origin + hw_at(replica, begin), replica->cache + hw_at(replica, begin),
                   hw_at(replica, end - begin));
}

static hawser_status make_message(hw_replica *replica, uint64_t clock, bool flush, hw_message **message, hawser_error *error)
{
    hw_form form = sends_values(replica) ? HW_FORM_VALUES : HW_FORM_DELTA;
    uint32_t part = replica->ranges[0].parts[replica->spec.block];
    if (hw_holds(replica)) {
        HAWSER_TRY(hw_hold_cut(replica, clock, part, flush || replica->plain, message, error));
    } else {
        HAWSER_TRY(pack_changes(replica, form, message, error));
    }
    hw_envelope *envelope = &(*message)->envelope;
    envelope->form = (uint8_t)form;
    envelope->source = envelope->first = replica->spec.block;
    envelope->covers = 1;
    envelope->destination = hw_adds(replica)       ? replica->spec.adding->own_to
                            : hw_combines(replica) ? HW_TO_LOCAL
                                                   : HW_TO_BLOCKS;
    if (envelope->destination < replica->spec.blocks)
        envelope->kind = HW_MESSAGE_ADDEND;
    envelope->state = replica->spec.state;
    envelope->epoch = replica->epoch;
    envelope->clock = clock;
    envelope->part = part;
    envelope->span = replica->span;
    return HAWSER_OK;
}

static void count_message(hw_replica *replica, const hw_envelope *envelope)
{
    hw_replica_figures *figures = &replica->figures;
    figures->entries_sent += envelope->count;
    figures->payload_bytes += envelope->length;
    figures->dense_messages += envelope->encoding == HW_DENSE;
    figures->sparse_messages += envelope->encoding == HW_SPARSE;
}

/* Applies or parks the own update, as the other blocks will. */
static hawser_status take_own(hw_replica *replica, const hw_message *message, hawser_error *error)
{
    return hw_parks(replica) ? hw_park(replica, message, error) : hw_apply(replica, message, error);
}

static void end_cut(hw_replica *replica, uint64_t clock, bool last)
{
    uint32_t own = replica->spec.block;
    memset(replica->touched, 0, hw_words(replica->tiles) * sizeof *replica->touched);
    for (uint32_t k = 0; k < replica->range_count; k++)
        replica->ranges[k].parts[own]++;
    if (!last)
        return;
    replica->marked = false;
    replica->spent = 0;
    replica->span = 0;
    replica->ended = true;
    hw_mark_done(replica, own, clock + 1);
}

/* Gives the own update to this block's adder or combiner, or returns it to be sent, or both. */
static hawser_status add_own(hw_replica *replica, hw_message *made, hw_message **message, hawser_error *error)
{
    hw_message *copy = made;
    if (made != NULL && hw_combines(replica)) {
        hawser_status status = hw_combine_own(replica, made, error);
        if (status != HAWSER_OK) {
            hw_message_free(made);
            return status;
        }
    }
    if (made == NULL || !hw_is_addend(replica, made)) {
        *message = made;
        return HAWSER_OK;
    }
    if (made->envelope.destination != replica->spec.block) {
        hawser_status status = hw_message_share(made, &copy, error);
        if (status != HAWSER_OK) {
            hw_message_free(made);
            return status;
        }
        *message = made;
    }
    hawser_status status = hw_adder_take(replica, copy, error);
    if (status != HAWSER_OK && *message != NULL) { /* the sum of two finite updates may overflow */
        hw_message_free(*message);
        *message = NULL;
    }
    return status;
}

hawser_status hw_replica_cut(hw_replica *replica, uint64_t clock, bool last, bool flush, hw_message **message,
                             hawser_error *error)
{
    uint32_t own = replica->spec.block;
    hw_message *made = NULL;
    *message = NULL;
    HAWSER_TRY(hw_early_error(replica, error));
    if (!hw_is_source(replica, own))
        return HAWSER_OK;
    if (!replica->begun || clock != replica->clocks.done[own])
        return hawser_fail(error, HAWSER_INTERNAL, "state '%s' at block %u: cut of clock %llu where clock %llu is due",
                           replica->spec.name, own, (unsigned long long)clock,
                           (unsigned long long)replica->clocks.done[own]);
    if (replica->ended)
        return hawser_fail(error, HAWSER_INTERNAL, "state '%s' at block %u: clock %llu is cut before it was merged for",
                           replica->spec.name, own, (unsigned long long)clock);
    replica->fresh = false;
    if (replica->spec.blocks == 1 && sends_values(replica)) {
        HAWSER_TRY(keep_values(replica, error));
        hw_record_alone(replica, clock, last, flush);
        end_cut(replica, clock, last);
        return HAWSER_OK;
    }
    HAWSER_TRY(make_message(replica, clock, flush, &made, error));
    made->envelope.last = last;
    if (!last)
        advance_origin(replica);
    if (made->envelope.count == 0 && !last) {
        hw_message_free(made);
        memset(replica->touched, 0, hw_words(replica->tiles) * sizeof *replica->touched);
        return HAWSER_OK;
    }
    hw_record_write(replica, made, flush || replica->plain);
    hawser_status status = take_own(replica, made, error);
    if (status != HAWSER_OK || replica->spec.blocks == 1) {
        hw_message_free(made);
        made = NULL;
    } else {
        count_message(replica, &made->envelope);
    }
    if (status != HAWSER_OK)
        return status;
    end_cut(replica, clock, last);
    return add_own(replica, made, message, error);
}
