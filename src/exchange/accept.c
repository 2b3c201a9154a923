#include <stdio.h>
#include <string.h>

#include "exchange/pack.h"
#include "exchange/replica.h"

void hw_park(hw_replica *replica, uint32_t source, hw_message *message)
{
    hw_parked *parked = &replica->parked[source];
    message->next = NULL;
    if (parked->first == NULL)
        parked->first = message;
    else
        parked->last->next = message;
    parked->last = message;
}

void hw_record_done(hw_replica *replica, uint32_t source, uint64_t done)
{
    uint32_t begin = replica->spec.sources == 1 ? 0 : source;
    uint32_t end = replica->spec.sources == 1 ? replica->spec.blocks : source + 1;
    for (uint32_t i = begin; i < end; i++)
        if (replica->clocks.done[i] < done)
            replica->clocks.done[i] = done;
    replica->parts[source] = 0;
}

static hawser_status check_envelope(const hw_replica *replica, const hw_envelope *envelope, hawser_error *error)
{
    const hw_replica_spec *spec = &replica->spec;
    if (envelope->kind != HW_MESSAGE_UPDATE || envelope->state != spec->state)
        return hawser_fail(error, HAWSER_BAD_INPUT, "message of kind %u for state %u came to state '%s' (%u)",
                           envelope->kind, envelope->state, spec->name, spec->state);
    if (envelope->source >= spec->blocks || envelope->source == spec->block || !hw_is_source(replica, envelope->source))
        return hawser_fail(error, HAWSER_BAD_INPUT, "block %u may not send updates of state '%s' to block %u",
                           envelope->source, spec->name, spec->block);
    bool form = envelope->form == HW_FORM_VALUES ? spec->values || spec->sources == 1
                                                 : envelope->form == HW_FORM_DELTA && !spec->values;
    if (!form)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "an update of state '%s' by block %u has form %u, which the state does not take", spec->name,
                           envelope->source, envelope->form);
    return HAWSER_OK;
}

static hawser_status check_payload(const hw_replica *replica, const hw_message *message, hawser_error *error)
{
    const hw_replica_spec *spec = &replica->spec;
    hw_payload payload;
    char what[200];
    snprintf(what, sizeof what, "an update of state '%.100s' by block %u", spec->name, message->envelope.source);
    HAWSER_TRY(hw_payload_check(message, spec->count, what, &payload, error));
    size_t bad = hw_find_not_finite(payload.values, payload.count);
    if (bad < payload.count)
        return hawser_fail(error, HAWSER_NOT_FINITE, "%s is %g at entry %zu", what, payload.values[bad],
                           hw_payload_index(&payload, bad));
    if (spec->values && hw_payload_seek(&payload, spec->own_begin) < hw_payload_seek(&payload, spec->own_end))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s changes entries that block %u owns", what, spec->block);
    return HAWSER_OK;
}

/* A source's parts come in order: clock by clock, part by part, all parts of a clock in one form. One that covers earlier clocks too
 * has them all in its span: none is left out, none comes twice. */
static hawser_status check_order(const hw_replica *replica, const hw_envelope *envelope, hawser_error *error)
{
    uint32_t source = envelope->source;
    uint64_t clock = replica->clocks.done[source];
    uint32_t part = replica->parts[source], span = envelope->span;
    uint64_t most = replica->policy.kind == HW_POLICY_SSP ? replica->policy.staleness : hw_parks(replica) ? 0 : UINT32_MAX;
    bool due = span <= most && envelope->clock >= span && envelope->clock - span == clock;
    if (!due || envelope->part != part || envelope->last > 1)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "block %u sent part %u of clock %llu and %u before it of state '%s' where part %u of clock %llu is due", source,
            envelope->part, (unsigned long long)envelope->clock, span, replica->spec.name, part, (unsigned long long)clock);
    const hw_message *before = replica->parked[source].last;
    if (replica->parked[source].first != NULL && before->envelope.clock == clock && before->envelope.form != envelope->form)
        return hawser_fail(error, HAWSER_BAD_INPUT, "block %u sent parts of clock %llu of state '%s' in two forms", source,
                           (unsigned long long)clock, replica->spec.name);
    return HAWSER_OK;
}

/* Takes a message of the open epoch whose content has been checked. */
static hawser_status take(hw_replica *replica, hw_message *message, hawser_error *error)
{
    hw_envelope envelope = message->envelope;
    hawser_status status = check_order(replica, &envelope, error);
    if (status != HAWSER_OK) {
        hw_message_free(message);
        return status;
    }
    if (hw_parks(replica)) {
        hw_park(replica, envelope.source, message);
    } else {
        if (!replica->ended && !replica->apart && hw_is_source(replica, replica->spec.block))
            hw_set_apart(replica);
        hw_apply(replica, message);
        hw_message_free(message);
    }
    replica->parts[envelope.source]++;
    if (envelope.last)
        hw_record_done(replica, envelope.source, envelope.clock + 1);
    return HAWSER_OK;
}

static void keep_early(hw_replica *replica, hw_message *message)
{
    hw_message **place = &replica->early;
    while (*place != NULL)
        place = &(*place)->next;
    message->next = NULL;
    *place = message;
}

void hw_replay_early(hw_replica *replica)
{
    hw_message *list = replica->early;
    replica->early = NULL;
    while (list != NULL) {
        hw_message *next = list->next;
        if (list->envelope.epoch > replica->epoch) {
            keep_early(replica, list);
        } else {
            hawser_error *error = &replica->trouble;
            hawser_status status = hw_replica_accept(replica, list, error->status == HAWSER_OK ? error : NULL);
            if (status != HAWSER_OK && error->status == HAWSER_OK)
                error->status = status;
        }
        list = next;
    }
}

/* What came packed is plain from here on. */
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

hawser_status hw_replica_accept(hw_replica *replica, hw_message *message, hawser_error *error)
{
    uint64_t epoch = message->envelope.epoch;
    hawser_status status = check_envelope(replica, &message->envelope, error);
    if (status == HAWSER_OK)
        status = unpack(replica, &message, error);
    if (status == HAWSER_OK)
        status = check_payload(replica, message, error);
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
    keep_early(replica, message);
    return HAWSER_OK;
}
