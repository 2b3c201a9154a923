#include "exchange/reduction.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/finite.h"
#include "base/memory.h"
#include "exchange/replica.h"
#include "exchange/shares.h"

/* The result of a reduction, kept until the next clock begins. */
typedef struct hw_kept_result {
    hw_reduction_call call;
    hw_stop_request stop;
    double *values;
} hw_kept_result;

struct hw_reduction {
    hw_reduction_spec spec;
    /* The next reduction's key: */
    uint64_t epoch, clock;
    uint32_t number;
    uint32_t made;     /* reductions of this clock that have begun; more than `number` if the clock is repeated */
    uint32_t unit;     /* the unit that reduced last */
    hw_shares sets[2]; /* of the last two reductions, by number: another block is at most one ahead or behind */
    hw_shares *latest; /* the set whose result is taken next; NULL: result `kept_number` is taken */
    uint32_t kept_number;
    hw_kept_result *kept; /* results of the current or last clock, by number */
    size_t kept_count, kept_capacity;
    uint64_t kept_bytes, kept_epoch, kept_clock;
    bool dropped;      /* the results took too much memory */
    uint64_t *ended;   /* by block: clocks of this epoch that it has ended */
    uint32_t *ends;    /* by block: reductions in the last clock that it has ended */
    hw_message *early; /* messages of reductions and epochs that have not begun here */
    hw_message *outgoing;
};

hawser_status hw_reduction_new(const hw_reduction_spec *spec, hw_reduction **out, hawser_error *error)
{
    static const char what[] = "a block's reductions";
    *out = NULL;
    hw_reduction *made = NULL;
    HAWSER_TRY(HW_NEW(&made, 1, what, error));
    made->spec = *spec;
    hawser_status status = HW_NEW(&made->ended, spec->blocks, what, error);
    if (status == HAWSER_OK)
        status = HW_NEW(&made->ends, spec->blocks, what, error);
    if (status != HAWSER_OK) {
        hw_reduction_free(made);
        return status;
    }
    *out = made;
    return HAWSER_OK;
}

static void drop_kept(hw_reduction *reduction)
{
    for (size_t i = 0; i < reduction->kept_count; i++)
        free(reduction->kept[i].values);
    reduction->kept_count = 0;
    reduction->kept_bytes = 0;
}

void hw_reduction_free(hw_reduction *reduction)
{
    if (reduction == NULL)
        return;
    drop_kept(reduction);
    for (int i = 0; i < 2; i++)
        hw_shares_close(&reduction->sets[i]);
    hw_messages_free(reduction->early);
    hw_messages_free(reduction->outgoing);
    free(reduction->kept);
    free(reduction->ended);
    free(reduction->ends);
    free(reduction);
}

void hw_reduction_begin(hw_reduction *reduction, uint64_t epoch)
{
    reduction->epoch = epoch;
    reduction->clock = 0;
    reduction->number = 0;
    memset(reduction->ended, 0, reduction->spec.blocks * sizeof *reduction->ended);
    memset(reduction->ends, 0, reduction->spec.blocks * sizeof *reduction->ends);
}

void hw_reduction_enter(hw_reduction *reduction, uint64_t clock)
{
    for (uint32_t block = 0; block < reduction->spec.blocks; block++)
        reduction->ended[block] = clock;
}

void hw_reduction_begin_clock(hw_reduction *reduction, uint64_t clock)
{
    reduction->clock = clock;
    reduction->number = 0;
    reduction->latest = NULL;
    if (reduction->kept_epoch == reduction->epoch && reduction->kept_clock == clock)
        return; /* the clock is repeated */
    drop_kept(reduction);
    reduction->made = 0;
    reduction->dropped = false;
    reduction->kept_epoch = reduction->epoch;
    reduction->kept_clock = clock;
}

uint32_t hw_reduction_number(const hw_reduction *reduction)
{
    return reduction->number;
}

void hw_reduction_go_back(hw_reduction *reduction, uint32_t number)
{
    reduction->number = number;
    reduction->latest = NULL;
}

bool hw_reduction_repeats(const hw_reduction *reduction)
{
    return !reduction->dropped;
}

/* Returns true if shares, and ends of clocks, are sent up a tree of blocks, and their total down to all. */
static bool adds_by_blocks(const hw_reduction *reduction)
{
    return reduction->spec.view != NULL && reduction->spec.shape.kind == HW_ADDING_BLOCKS;
}

bool hw_reduction_all_ended(const hw_reduction *reduction, uint64_t clock)
{
    for (uint32_t block = 0; block < reduction->spec.blocks; block++)
        if (reduction->ended[block] < clock)
            return false;
    return true;
}

/* ------------------------------------------------------------------------------------------------------- failures ---- */

static const char *unit_of(const hw_reduction *reduction, uint32_t unit)
{
    const char *name = reduction->spec.unit_name(reduction->spec.owner, unit);
    return name != NULL ? name : "?";
}

/* `block` has ended the clock; `other` has reduced `times` times in it. */
static hawser_status fail_count(const hw_reduction *reduction, uint32_t unit, uint32_t block, uint32_t other, uint32_t times,
                                hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_PROGRAM,
                       "unit '%s': in clock %" PRIu64 " block %" PRIu32 " has reduced %" PRIu32 " times and block %" PRIu32
                       " %s %" PRIu32 " times; every block must call hawser_allreduce equally often",
                       unit_of(reduction, unit), reduction->clock, block, reduction->ends[block], other,
                       times > reduction->ends[block] ? "at least" : "only", times);
}

/* Fails if block `source` has reduced more often in this clock, which has ended here. Where ends are sent to all, that block
 * fails instead. */
static hawser_status check_surplus(const hw_reduction *reduction, const hw_envelope *share, hawser_error *error)
{
    uint32_t own = reduction->spec.block;
    if (!adds_by_blocks(reduction) || share->last == 1 || share->epoch != reduction->epoch ||
        share->clock != reduction->clock || reduction->ended[own] != share->clock + 1 || share->part < reduction->ends[own])
        return HAWSER_OK;
    return fail_count(reduction, share->loop, own, share->source, share->part + 1, error);
}

static hawser_status fail_call(const hw_reduction *reduction, const hw_reduction_call *own, const hw_reduction_call *other,
                               uint32_t number, uint32_t block, hawser_error *error)
{
    static const char *const names[] = {"sum", "max", "min", "last"};
    return hawser_fail(error, HAWSER_BAD_PROGRAM,
                       "reduction %" PRIu32 " of clock %" PRIu64 " is %s of %zu numbers in unit '%s' on block %" PRIu32
                       ", and %s of %zu in unit '%s' on block %" PRIu32 "; every block must call the same",
                       number, reduction->clock, names[own->by], own->count, unit_of(reduction, own->unit),
                       reduction->spec.block, names[other->by], other->count, unit_of(reduction, other->unit), block);
}

static bool same_call(const hw_reduction_call *a, const hw_reduction_call *b)
{
    return a->unit == b->unit && a->count == b->count && a->by == b->by;
}

/* Fails if another block has ended this clock without reduction `number`. */
static hawser_status check_ends(const hw_reduction *reduction, uint32_t unit, uint32_t number, hawser_error *error)
{
    for (uint32_t block = 0; block < reduction->spec.blocks; block++)
        if (block != reduction->spec.block && reduction->ended[block] == reduction->clock + 1 &&
            reduction->ends[block] <= number)
            return fail_count(reduction, unit, block, reduction->spec.block, number + 1, error);
    return HAWSER_OK;
}

/* -------------------------------------------------------------------------------------------------------- history ---- */

static void record(const hw_reduction *reduction, hw_event_kind kind, const hw_shares *shares, bool stop, uint64_t digest)
{
    if (reduction->spec.log != NULL)
        hw_log_put(reduction->spec.log, &(hw_event_record){.kind = (uint8_t)kind,
                                                           .flags = stop ? HW_EVENT_STOPS : 0,
                                                           .object = shares->call.unit,
                                                           .actor = reduction->spec.block,
                                                           .from = (uint32_t)shares->call.by,
                                                           .covers = reduction->spec.blocks,
                                                           .part = shares->number,
                                                           .epoch = shares->epoch,
                                                           .clock = shares->clock,
                                                           .count = shares->call.count,
                                                           .digest = digest});
}

static void record_end(const hw_reduction *reduction)
{
    if (reduction->spec.log != NULL)
        hw_log_put(reduction->spec.log, &(hw_event_record){.kind = HW_EVENT_REDUCTIONS,
                                                           .actor = reduction->spec.block,
                                                           .covers = reduction->spec.blocks,
                                                           .part = reduction->number,
                                                           .epoch = reduction->epoch,
                                                           .clock = reduction->clock});
}

/* ------------------------------------------------------------------------------------------------------- messages ---- */

static hw_shares *set_of(hw_reduction *reduction, const hw_envelope *envelope)
{
    for (int i = 0; i < 2; i++) {
        hw_shares *set = &reduction->sets[i];
        if (set->open && set->epoch == envelope->epoch && set->clock == envelope->clock && set->number == envelope->part)
            return set;
    }
    return NULL;
}

/* Takes a share of a reduction that has begun here. */
static hawser_status take_share(hw_reduction *reduction, hw_shares *set, hw_message *message, hawser_error *error)
{
    hw_share_head head = hw_share_head_of(message);
    hw_reduction_call call = {message->envelope.loop, (size_t)head.count, (hawser_combine_by)head.by};
    if (!same_call(&set->call, &call)) {
        uint32_t source = message->envelope.source;
        hw_message_free(message);
        return fail_call(reduction, &set->call, &call, set->number, source, error);
    }
    return hw_shares_take(set, message, error);
}

/* Returns the blocks of which `block` reports the end of a clock here. Empty: it has nothing to report. */
static hw_reduce_run ending(const hw_reduction *reduction, uint32_t block)
{
    uint32_t own = reduction->spec.block, blocks = reduction->spec.blocks;
    if (block >= blocks || block == own)
        return (hw_reduce_run){0, 0};
    if (!adds_by_blocks(reduction))
        return (hw_reduce_run){block, block + 1};
    if (block == 0) /* the root, which has the ends of all */
        return (hw_reduce_run){0, blocks};
    return hw_adding_parent(block) == own ? hw_adding_branch(block, blocks) : (hw_reduce_run){0, 0};
}

static hawser_status send_end(hw_reduction *reduction, uint64_t clock, uint32_t number, hawser_error *error)
{
    uint32_t block = reduction->spec.block;
    hw_message *message;
    HAWSER_TRY(hw_message_new(0, &message, error));
    message->envelope.kind = HW_MESSAGE_SHARE;
    message->envelope.source = block;
    message->envelope.destination = adds_by_blocks(reduction) && block != 0 ? hw_adding_parent(block) : HW_TO_BLOCKS;
    message->envelope.epoch = reduction->epoch;
    message->envelope.clock = clock;
    message->envelope.part = number;
    message->envelope.last = 1;
    hw_append(&reduction->outgoing, message);
    return HAWSER_OK;
}

/* Sends the end of a clock on once all blocks of the own branch have ended it. Their numbers of reductions are equal,
 * because a reduction needs all blocks. */
static hawser_status send_branch_end(hw_reduction *reduction, uint64_t clock, hawser_error *error)
{
    hw_reduce_run branch = hw_adding_branch(reduction->spec.block, reduction->spec.blocks);
    for (uint32_t block = branch.begin; block < branch.end; block++)
        if (reduction->ended[block] <= clock)
            return HAWSER_OK;
    return send_end(reduction, clock, reduction->ends[reduction->spec.block], error);
}

/* Takes the report that a block, or with it its branch or all, has ended a clock. It arrives again if the block repeats the
 * clock. */
static hawser_status take_end(hw_reduction *reduction, const hw_envelope *envelope, hawser_error *error)
{
    uint32_t source = envelope->source;
    hw_reduce_run run = ending(reduction, source);
    bool redo = reduction->ended[source] == envelope->clock + 1;
    for (uint32_t block = run.begin; block < run.end; block++) {
        uint64_t *ended = &reduction->ended[block];
        bool again = *ended == envelope->clock + 1;
        bool due = !again && *ended == envelope->clock && block != reduction->spec.block;
        if (again ? reduction->ends[block] != envelope->part : !due)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "block %" PRIu32 " ends clock %" PRIu64 " with %" PRIu32 " reductions where clock %" PRIu64
                               " is due",
                               source, envelope->clock, envelope->part, *ended);
        *ended = envelope->clock + 1;
        reduction->ends[block] = envelope->part;
    }
    if (envelope->clock == reduction->clock && reduction->number > envelope->part && reduction->latest != NULL)
        return fail_count(reduction, reduction->unit, source, reduction->spec.block, reduction->number, error);
    return adds_by_blocks(reduction) && source != 0 && !redo ? send_branch_end(reduction, envelope->clock, error)
                                                             : HAWSER_OK;
}

/* Returns true if the key of a message lies before that of the next reduction. */
static bool is_past(const hw_reduction *reduction, const hw_envelope *envelope)
{
    if (envelope->epoch != reduction->epoch)
        return envelope->epoch < reduction->epoch;
    if (envelope->clock != reduction->clock)
        return envelope->clock < reduction->clock;
    return envelope->part < reduction->number;
}

hawser_status hw_reduction_accept(hw_reduction *reduction, hw_message *message, hawser_error *error)
{
    const hw_envelope *envelope = &message->envelope;
    bool end = envelope->last == 1;
    hw_reduce_run ends = ending(reduction, envelope->source);
    if (envelope->source == reduction->spec.block ||
        (end ? ends.begin == ends.end : !hw_share_sound(message, reduction->spec.blocks))) {
        hawser_status status =
            hawser_fail(error, HAWSER_BAD_INPUT, "block %" PRIu32 " sent a share which is malformed", envelope->source);
        hw_message_free(message);
        return status;
    }
    if (end && envelope->epoch == reduction->epoch) {
        hawser_status status = take_end(reduction, envelope, error);
        hw_message_free(message);
        return status;
    }
    hw_shares *set = end ? NULL : set_of(reduction, envelope);
    if (set != NULL)
        return take_share(reduction, set, message, error);
    if (is_past(reduction, envelope)) {
        hawser_status status =
            hawser_fail(error, HAWSER_BAD_INPUT,
                        "block %" PRIu32 " sent a share of reduction %" PRIu32 " of clock %" PRIu64
                        ", which is over, where %" PRIu32 " of clock %" PRIu64 " is next",
                        envelope->source, envelope->part, envelope->clock, reduction->number, reduction->clock);
        hw_message_free(message);
        return status;
    }
    hawser_status status = check_surplus(reduction, envelope, error);
    hw_append(&reduction->early, message);
    return status;
}

/* Takes the messages that arrived before their reduction or epoch began here. */
static hawser_status take_early(hw_reduction *reduction, hawser_error *error)
{
    hw_message **link = &reduction->early;
    while (*link != NULL) {
        hw_message *message = *link;
        const hw_envelope *envelope = &message->envelope;
        bool end = envelope->last == 1;
        hw_shares *set = end ? NULL : set_of(reduction, envelope);
        if (end ? envelope->epoch != reduction->epoch : set == NULL) {
            HAWSER_TRY(check_surplus(reduction, envelope, error));
            link = &message->next;
            continue;
        }
        *link = message->next;
        hawser_status status = end ? take_end(reduction, envelope, error) : take_share(reduction, set, message, error);
        if (end)
            hw_message_free(message);
        HAWSER_TRY(status);
    }
    return HAWSER_OK;
}

hw_message *hw_reduction_next(hw_reduction *reduction)
{
    for (int i = 0; i < 3; i++) {
        hw_message **list = i < 2 ? &reduction->sets[i].outgoing : &reduction->outgoing;
        hw_message *message = *list;
        if (message == NULL)
            continue;
        *list = message->next;
        message->next = NULL;
        return message;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ reductions ---- */

static hawser_status check_values(const hw_reduction *reduction, const hw_reduction_call *call, const double *values,
                                  hawser_error *error)
{
    size_t bad = hw_first_not_finite_f64(values, call->count);
    while (bad < call->count && call->by != HAWSER_SUM && !isnan(values[bad]))
        bad++;
    if (bad == call->count)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NOT_FINITE,
                       "unit '%s', block %" PRIu32 ": hawser_allreduce was given %g as number %zu in clock %" PRIu64
                       "; it takes %s",
                       unit_of(reduction, call->unit), reduction->spec.block, values[bad], bad, reduction->clock,
                       call->by == HAWSER_SUM ? "finite numbers" : "no NaN");
}

static hawser_status open_set(hw_reduction *reduction, hw_shares *set, const hw_reduction_call *call, hawser_error *error)
{
    const hw_reduction_spec *spec = &reduction->spec;
    hw_adding *adding = NULL;
    if (spec->view != NULL && (adds_by_blocks(reduction) || call->count > HW_REDUCTION_DIRECT))
        HAWSER_TRY(hw_adding_new(spec->shape, spec->view, spec->block, call->unit, call->count, &adding, error));
    HAWSER_TRY(hw_shares_open(set, call, spec->block, spec->blocks, adding, error));
    set->epoch = reduction->epoch;
    set->clock = reduction->clock;
    set->number = reduction->number;
    return HAWSER_OK;
}

static hawser_status fail_repeat(const hw_reduction *reduction, const char *why, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_PROGRAM,
                       "block %" PRIu32 " does clock %" PRIu64 " over, and in reduction %" PRIu32 " %s",
                       reduction->spec.block, reduction->clock, reduction->number, why);
}

/* Repeats a reduction of a repeated clock. *over is true if the reduction was made before and its result or share is
 * kept. */
static hawser_status repeat(hw_reduction *reduction, const hw_reduction_call *call, const double *values, bool *over,
                            hawser_error *error)
{
    hw_envelope key = {.epoch = reduction->epoch, .clock = reduction->clock, .part = reduction->number};
    hw_shares *set = set_of(reduction, &key);
    bool kept = reduction->number < reduction->kept_count;
    *over = reduction->number < reduction->made;
    if (!*over)
        return HAWSER_OK;
    if (!kept && (set == NULL || (hw_shares_complete(set) && reduction->dropped)))
        return fail_repeat(reduction, "its results took more memory than is kept", error);
    const hw_reduction_call *before = kept ? &reduction->kept[reduction->number].call : &set->call;
    if (!same_call(before, call))
        return fail_call(reduction, call, before, reduction->number, reduction->spec.block, error);
    if (set != NULL && !hw_shares_equal_own(set, values))
        return fail_repeat(reduction, "has other numbers than before", error);
    reduction->latest = kept ? NULL : set;
    reduction->kept_number = reduction->number++;
    return HAWSER_OK;
}

hawser_status hw_reduction_put(hw_reduction *reduction, const hw_reduction_call *call, const double *values,
                               hw_stop_request stop, hawser_error *error)
{
    bool over;
    HAWSER_TRY(check_values(reduction, call, values, error));
    HAWSER_TRY(repeat(reduction, call, values, &over, error));
    if (over)
        return HAWSER_OK;
    hw_shares *set = &reduction->sets[reduction->number % 2];
    HAWSER_TRY(open_set(reduction, set, call, error));
    HAWSER_TRY(hw_shares_put(set, values, stop, error));
    record(reduction, HW_EVENT_SHARE, set, stop.stop, hw_share_digest(set->own));
    reduction->latest = set;
    reduction->unit = call->unit;
    reduction->made = ++reduction->number;
    HAWSER_TRY(take_early(reduction, error));
    return hw_shares_complete(set) ? HAWSER_OK : check_ends(reduction, call->unit, set->number, error);
}

bool hw_reduction_ready(const hw_reduction *reduction)
{
    return reduction->latest == NULL || hw_shares_complete(reduction->latest);
}

/* Keeps a result. If it takes too much memory, all results are dropped, because a clock can only be repeated with all of
 * them. */
static hawser_status keep_result(hw_reduction *reduction, const hw_shares *set, const double *values, hw_stop_request stop,
                                 hawser_error *error)
{
    uint64_t bytes = set->call.count * sizeof *values;
    if (reduction->dropped)
        return HAWSER_OK;
    if (reduction->kept_bytes + bytes > reduction->spec.keep) {
        drop_kept(reduction);
        reduction->dropped = true;
        return HAWSER_OK;
    }
    HAWSER_TRY(
        HW_GROW(&reduction->kept, &reduction->kept_capacity, reduction->kept_count + 1, "the results of reductions", error));
    hw_kept_result *kept = &reduction->kept[reduction->kept_count];
    *kept = (hw_kept_result){.call = set->call, .stop = stop};
    HAWSER_TRY(HW_NEW(&kept->values, set->call.count, "the result of a reduction", error));
    if (bytes > 0)
        memcpy(kept->values, values, bytes);
    reduction->kept_count++;
    reduction->kept_bytes += bytes;
    return HAWSER_OK;
}

hawser_status hw_reduction_take(hw_reduction *reduction, double *values, hw_stop_request *stop, hawser_error *error)
{
    hw_shares *set = reduction->latest;
    if (set == NULL) {
        const hw_kept_result *kept = &reduction->kept[reduction->kept_number];
        if (kept->call.count > 0)
            memcpy(values, kept->values, kept->call.count * sizeof *values);
        *stop = kept->stop;
        return HAWSER_OK;
    }
    hw_shares_result(set, values, stop);
    reduction->latest = NULL;
    size_t bad = set->call.by == HAWSER_SUM ? hw_first_not_finite_f64(values, set->call.count) : set->call.count;
    if (bad < set->call.count)
        return hawser_fail(error, HAWSER_NOT_FINITE,
                           "unit '%s': the shares of all blocks add up to %g at number %zu of reduction %" PRIu32
                           " of clock %" PRIu64,
                           unit_of(reduction, set->call.unit), values[bad], bad, set->number, set->clock);
    if (reduction->spec.log != NULL)
        record(reduction, HW_EVENT_REDUCED, set, stop->stop, hw_digest_64(values, set->call.count, 0));
    return keep_result(reduction, set, values, *stop, error);
}

hawser_status hw_reduction_end_clock(hw_reduction *reduction, hawser_error *error)
{
    uint32_t block = reduction->spec.block;
    HAWSER_TRY(take_early(reduction, error));
    for (uint32_t j = 0; j < reduction->spec.blocks; j++)
        if (j != block && reduction->ended[j] == reduction->clock + 1 && reduction->ends[j] != reduction->number)
            return fail_count(reduction, reduction->unit, j, block, reduction->number, error);
    bool redo = reduction->ended[block] == reduction->clock + 1;
    if (redo && reduction->ends[block] != reduction->number)
        return fail_repeat(reduction, "ends with another number of reductions", error);
    reduction->ended[block] = reduction->clock + 1;
    reduction->ends[block] = reduction->number;
    if (!redo)
        record_end(reduction);
    if (adds_by_blocks(reduction)) {
        for (const hw_message *share = reduction->early; share != NULL; share = share->next)
            HAWSER_TRY(check_surplus(reduction, &share->envelope, error));
        return redo ? HAWSER_OK : send_branch_end(reduction, reduction->clock, error);
    }
    return reduction->spec.blocks > 1 ? send_end(reduction, reduction->clock, reduction->number, error) : HAWSER_OK;
}
