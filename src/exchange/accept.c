/* accept.c - checks update messages of other blocks, and applies or keeps them. */
#include <stdio.h>

#include "exchange/pack.h"
#include "exchange/reduce.h"
#include "exchange/replica.h"

/* Finds the ranges [begin, end) that a message is about. */
static void ranges_of(const hw_replica *replica, const hw_envelope *envelope, uint32_t *begin, uint32_t *end)
{
    *begin = envelope->range == 0 ? 0 : envelope->range - 1;
    *end = envelope->range == 0 ? replica->range_count : envelope->range;
}

hawser_status hw_park(hw_replica *replica, const hw_message *message, hawser_error *error)
{
    uint32_t begin, end;
    ranges_of(replica, &message->envelope, &begin, &end);
    for (uint32_t k = begin; k < end; k++) {
        hw_message *share;
        HAWSER_TRY(hw_message_share(message, &share, error));
        hw_range_park(&replica->ranges[k], share);
    }
    return HAWSER_OK;
}

/* Notes the clocks that a block has completed over all ranges. Looks for a range that keeps it back from the one on that did
 * so last. So it looks at each range once in a clock, not once for each message. */
static void note_clocks(hw_replica *replica, uint32_t block)
{
    uint32_t *slow = &replica->slow[block];
    uint64_t done = replica->clocks.done[block], least = UINT64_MAX;
    for (uint32_t seen = 0; seen < replica->range_count; seen++) {
        uint64_t of_range = replica->ranges[*slow].done[block];
        if (of_range <= done)
            return;
        least = of_range < least ? of_range : least;
        *slow = *slow + 1 < replica->range_count ? *slow + 1 : 0;
    }
    replica->clocks.done[block] = least;
}

void hw_mark_block(hw_replica *replica, uint32_t block, uint32_t begin, uint32_t end, uint64_t done)
{
    for (uint32_t k = begin; k < end; k++) {
        hw_range *range = &replica->ranges[k];
        range->done[block] = range->done[block] < done ? done : range->done[block];
        range->parts[block] = 0;
    }
    note_clocks(replica, block);
}

void hw_mark_done(hw_replica *replica, uint32_t source, uint64_t done)
{
    if (hw_has_one_source(replica))
        for (uint32_t block = 0; block < replica->spec.blocks; block++)
            hw_mark_block(replica, block, 0, replica->range_count, done);
    else
        hw_mark_block(replica, source, 0, replica->range_count, done);
}

/* Returns true for one block's own update of the whole state. */
static bool is_leaf(const hw_envelope *envelope)
{
    return envelope->kind == HW_MESSAGE_UPDATE && envelope->covers == 1 && envelope->first == envelope->source &&
           envelope->range == 0;
}

/* Returns true if a message may be about these blocks and this range, given which blocks add up updates. */
static bool fits_adding(const hw_replica *replica, const hw_envelope *envelope)
{
    const hw_replica_spec *spec = &replica->spec;
    if (spec->adding == NULL)
        return is_leaf(envelope);
    bool addend = envelope->kind == HW_MESSAGE_ADDEND;
    bool whole = envelope->range == 0 && (spec->adding->range_count == 1 || addend || is_leaf(envelope));
    bool own = spec->block >= envelope->first && spec->block - envelope->first < envelope->covers;
    return (!own || spec->adding->gathers) && (!addend || (replica->adder != NULL && spec->adding->gathers)) &&
           hw_is_subtree(spec->blocks, envelope->first, envelope->covers) &&
           (whole || (spec->adding->range_count > 1 && envelope->range > 0 && envelope->range <= spec->adding->range_count));
}

/* Returns true for this block's own update, which returns from the root if it was not added up. It is parked already. */
static bool is_own_redo(const hw_replica *replica, const hw_envelope *envelope)
{
    return envelope->kind == HW_MESSAGE_UPDATE && envelope->covers == 1 && envelope->first == replica->spec.block;
}

static hawser_status check_envelope(const hw_replica *replica, const hw_envelope *envelope, hawser_error *error)
{
    const hw_replica_spec *spec = &replica->spec;
    bool kind = envelope->kind == HW_MESSAGE_UPDATE || envelope->kind == HW_MESSAGE_ADDEND;
    if (!kind || envelope->state != spec->state)
        return hawser_fail(error, HAWSER_BAD_INPUT, "message of kind %u for state %u arrived at state '%s' (%u)",
                           envelope->kind, envelope->state, spec->name, spec->state);
    bool now = replica->begun && envelope->epoch == replica->epoch; /* else it is checked again when its epoch begins */
    if (envelope->source >= spec->blocks || envelope->source == spec->block ||
        (now && !hw_is_source(replica, envelope->source)))
        return hawser_fail(error, HAWSER_BAD_INPUT, "block %u may not send updates of state '%s' to block %u",
                           envelope->source, spec->name, spec->block);
    if (!fits_adding(replica, envelope))
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "block %u sent an update of state '%s' by %u blocks from %u on, range %u, which no block adds up",
                           envelope->source, spec->name, envelope->covers, envelope->first, envelope->range);
    if (envelope->type != spec->type)
        return hawser_fail(error, HAWSER_BAD_INPUT, "block %u sent numbers of type %u for state '%s', which is of %s",
                           envelope->source, envelope->type, spec->name, replica->numbers->name);
    bool form = envelope->form == HW_FORM_VALUES ? spec->values || !now || hw_has_one_source(replica)
                                                 : envelope->form == HW_FORM_DELTA && !spec->values;
    if (!form)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "an update of state '%s' by block %u has form %u, which the state does not take", spec->name,
                           envelope->source, envelope->form);
    return HAWSER_OK;
}

hawser_status hw_check_payload(const hw_replica *replica, const hw_message *message, hawser_error *error)
{
    const hw_replica_spec *spec = &replica->spec;
    hw_payload payload;
    char what[200], text[HW_NUMBER_TEXT];
    snprintf(what, sizeof what, "an update of state '%.100s' by block %u", spec->name, message->envelope.source);
    HAWSER_TRY(hw_payload_check(message, spec->count, what, &payload, error));
    size_t bad = replica->numbers->first_not_finite(payload.values, payload.count);
    if (bad < payload.count) {
        replica->numbers->text(payload.values, bad, text);
        return hawser_fail(error, HAWSER_NOT_FINITE, "%s is %s at entry %zu", what, text, hw_payload_index(&payload, bad));
    }
    uint32_t range = message->envelope.range;
    if (range > 0 && (hw_payload_seek(&payload, replica->ranges[range - 1].begin) > 0 ||
                      hw_payload_seek(&payload, replica->ranges[range - 1].end) < payload.count))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s has entries outside of its range", what);
    if (spec->values && hw_payload_seek(&payload, spec->own_begin) < hw_payload_seek(&payload, spec->own_end))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s changes entries that block %u owns", what, spec->block);
    return HAWSER_OK;
}

/* Checks that a source's parts arrive in order, clock by clock and part by part, all parts of a clock in one form. The span
 * of an update that covers earlier clocks too must count all clocks since the last update. */
static hawser_status check_order(const hw_replica *replica, const hw_envelope *envelope, hawser_error *error)
{
    uint32_t source = envelope->source;
    uint64_t clock = replica->clocks.done[source];
    uint32_t part = replica->ranges[0].parts[source], span = envelope->span;
    uint64_t most = replica->policy.kind == HW_POLICY_SSP ? replica->policy.staleness : hw_parks(replica) ? 0 : UINT32_MAX;
    bool due = span <= most && envelope->clock >= span && envelope->clock - span == clock;
    if (!due || envelope->part != part || envelope->last > 1)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "block %u sent part %u of clock %llu and %u before it of state '%s' where part %u of clock %llu is due", source,
            envelope->part, (unsigned long long)envelope->clock, span, replica->spec.name, part, (unsigned long long)clock);
    const hw_message *before = replica->ranges[0].parked[source].last;
    if (replica->ranges[0].parked[source].first != NULL && before->envelope.clock == clock &&
        before->envelope.form != envelope->form)
        return hawser_fail(error, HAWSER_BAD_INPUT, "block %u sent parts of clock %llu of state '%s' in two forms", source,
                           (unsigned long long)clock, replica->spec.name);
    return HAWSER_OK;
}

/* Checks the order of a sum or of an update that another block has passed on: this part must be due from each block that it
 * is about, and this block must have cut its own update. */
static hawser_status check_sum(const hw_replica *replica, const hw_envelope *envelope, hawser_error *error)
{
    const hw_range *range = &replica->ranges[envelope->range == 0 ? 0 : envelope->range - 1];
    bool whole = envelope->part == 0 && envelope->last == 1;
    bool due = hw_adds(replica) && envelope->span == 0 && envelope->last <= 1 && (whole || envelope->covers == 1);
    for (uint32_t block = envelope->first; due && block < envelope->first + envelope->covers; block++) {
        bool own = block == replica->spec.block;
        due = range->done[block] == envelope->clock + own && range->parts[block] == (own ? 0 : envelope->part) &&
              (!own || replica->merged <= envelope->clock);
    }
    if (due)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "block %u sent part %u of clock %llu of state '%s' by blocks %u to %u, added up, which is not due",
                       envelope->source, envelope->part, (unsigned long long)envelope->clock, replica->spec.name,
                       envelope->first, envelope->first + envelope->covers - 1);
}

/* Drops this block's own update if the sum includes it. */
static void leave_to_sum(hw_replica *replica, const hw_envelope *envelope)
{
    uint32_t own = replica->spec.block, begin, end;
    if (envelope->covers == 1 || own < envelope->first || own >= envelope->first + envelope->covers)
        return;
    ranges_of(replica, envelope, &begin, &end);
    for (uint32_t k = begin; k < end; k++) {
        const hw_message *message = hw_range_oldest(&replica->ranges[k], own, envelope->clock);
        for (; message != NULL && message->envelope.clock == envelope->clock; message = message->next) {
            hw_payload payload = hw_payload_of(message, replica->spec.count);
            hw_mark_stale(replica, &payload);
        }
        hw_range_drop(&replica->ranges[k], own, own + 1, envelope->clock);
    }
}

static void mark_taken(hw_replica *replica, const hw_envelope *envelope)
{
    uint32_t begin, end;
    ranges_of(replica, envelope, &begin, &end);
    if (!envelope->last) {
        for (uint32_t k = begin; k < end; k++)
            replica->ranges[k].parts[envelope->first]++;
        return;
    }
    if (hw_has_one_source(replica)) {
        hw_mark_done(replica, envelope->source, envelope->clock + 1);
        return;
    }
    for (uint32_t block = envelope->first; block < envelope->first + envelope->covers; block++)
        if (block != replica->spec.block)
            hw_mark_block(replica, block, begin, end, envelope->clock + 1);
}

/* Takes the message. For one range it allocates nothing. */
static hawser_status park(hw_replica *replica, hw_message *message, hawser_error *error)
{
    const hw_envelope envelope = message->envelope;
    hw_message *addend = NULL;
    hawser_status status = HAWSER_OK;
    uint32_t begin, end;
    ranges_of(replica, &envelope, &begin, &end);
    if (hw_is_addend(replica, message))
        status = hw_message_share(message, &addend, error);
    if (status == HAWSER_OK && end - begin > 1)
        status = hw_park(replica, message, error);
    if (status == HAWSER_OK && end - begin == 1)
        hw_range_park(&replica->ranges[begin], message);
    else
        hw_message_free(message);
    if (status == HAWSER_OK) {
        mark_taken(replica, &envelope);
        return addend != NULL ? hw_adder_take(replica, addend, error) : HAWSER_OK;
    }
    hw_message_free(addend);
    return status;
}

hawser_status hw_take_update(hw_replica *replica, hw_message *message, hawser_error *error)
{
    hw_envelope envelope = message->envelope;
    hawser_status status = HAWSER_OK;
    if (is_own_redo(replica, &envelope)) {
        hw_message_free(message);
        return HAWSER_OK;
    }
    status = is_leaf(&envelope) ? check_order(replica, &envelope, error) : check_sum(replica, &envelope, error);
    if (status == HAWSER_OK)
        hw_record_seen(replica, message);
    if (status == HAWSER_OK && hw_parks(replica)) {
        leave_to_sum(replica, &envelope);
        return park(replica, message, error);
    } else if (status == HAWSER_OK) {
        if (!replica->ended && !replica->apart && hw_is_source(replica, replica->spec.block))
            hw_set_apart(replica);
        status = hw_apply(replica, message, error);
        if (status == HAWSER_OK && hw_combines(replica)) /* of a block of this node, for the others */
            status = hw_combine_own(replica, message, error);
    }
    if (status == HAWSER_OK)
        mark_taken(replica, &envelope);
    hw_message_free(message);
    return status;
}

/* Takes a message of the open epoch whose content has been checked. */
static hawser_status take(hw_replica *replica, hw_message *message, hawser_error *error)
{
    if (message->envelope.kind == HW_MESSAGE_COMBINED)
        return hw_combine_take(replica, message, error);
    if (message->envelope.kind == HW_MESSAGE_UPDATE)
        return hw_take_update(replica, message, error);
    if (hw_is_addend(replica, message))
        return hw_adder_take(replica, message, error);
    uint32_t source = message->envelope.source;
    hw_message_free(message);
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "block %u sent an update of state '%s' to be added up, but this block adds up none", source,
                       replica->spec.name);
}

void hw_append(hw_message **list, hw_message *message)
{
    while (*list != NULL)
        list = &(*list)->next;
    message->next = NULL;
    *list = message;
}

hw_message *hw_replica_next(hw_replica *replica)
{
    hw_message *message = replica->outgoing;
    if (message != NULL)
        replica->outgoing = message->next;
    return message;
}

void hw_replay_early(hw_replica *replica)
{
    hw_message *list = replica->early;
    replica->early = NULL;
    while (list != NULL) {
        hw_message *next = list->next;
        if (list->envelope.epoch > replica->epoch) {
            hw_append(&replica->early, list);
        } else {
            hawser_error *error = &replica->early_error;
            hawser_status status = hw_replica_accept(replica, list, error->status == HAWSER_OK ? error : NULL);
            if (status != HAWSER_OK && error->status == HAWSER_OK)
                error->status = status;
        }
        list = next;
    }
}

/* Replaces a packed message by its plain form. */
static hawser_status unpack(const hw_replica *replica, hw_message **message, hawser_error *error)
{
    hw_message *plain;
    char what[200];
    if ((*message)->envelope.encoding != HW_PACKED)
        return HAWSER_OK;
    snprintf(what, sizeof what, "an update of state '%.100s' by block %u", replica->spec.name, (*message)->envelope.source);
    HAWSER_TRY(hw_unpack(*message, replica->spec.count, what, &plain, error));
    hw_message_free(*message);
    *message = plain;
    return HAWSER_OK;
}

/* Checks an update and replaces it by its plain form. */
static hawser_status open_update(const hw_replica *replica, hw_message **message, hawser_error *error)
{
    HAWSER_TRY(check_envelope(replica, &(*message)->envelope, error));
    HAWSER_TRY(unpack(replica, message, error));
    return hw_check_payload(replica, *message, error);
}

hawser_status hw_replica_accept(hw_replica *replica, hw_message *message, hawser_error *error)
{
    uint64_t epoch = message->envelope.epoch;
    if (message->envelope.covers == 0 && message->envelope.kind != HW_MESSAGE_COMBINED) {
        message->envelope.covers = 1;
        message->envelope.first = message->envelope.source;
    }
    hawser_status status;
    if (message->envelope.kind == HW_MESSAGE_COMBINED)
        status = hw_combine_check(replica, &message->envelope, error);
    else
        status = open_update(replica, &message, error);
    if (status == HAWSER_OK && is_own_redo(replica, &message->envelope)) {
        hw_message_free(message);
        return HAWSER_OK;
    }
    if (status == HAWSER_OK && (epoch < replica->epoch || (epoch == replica->epoch && replica->over)))
        status = hawser_fail(
            error, HAWSER_BAD_INPUT, "an update of state '%s' by block %u is of epoch %llu, which is over (now %llu)",
            replica->spec.name, message->envelope.source, (unsigned long long)epoch, (unsigned long long)replica->epoch);
    if (status != HAWSER_OK) {
        hw_message_free(message);
        return status;
    }
    if (replica->begun && epoch == replica->epoch)
        return take(replica, message, error);
    hw_append(&replica->early, message);
    return HAWSER_OK;
}
