/* part_moving.c - a block's part of a moving state: the parts that it has now, and those that have arrived for its next
 * clock. A part is the payload of the message that carries it, so that sending it copies nothing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/digest.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/type.h"
#include "exchange/numbers.h"
#include "program/moving.h"
#include "runtime/block/moving.h"
#include "runtime/block/part.h"

/* A *use* is a stage in which units use the state. Uses are counted from the begin of a phase; between two of them parts go
 * to their next owners. */
struct hw_moving {
    /* by part: its numbers, if this block has it; envelope.epoch and .clock: the phase and the use for which it has it */
    hw_message **here;
    uint32_t *owners,
        *next; /* by part: its block in the use `use`, and in the one behind it. Between two phases: where the parts are */
    uint32_t *counts;  /* by block: its parts */
    uint64_t *digests; /* by part: of what has come, for a history; NULL: there is none */
    void **before;     /* by part: what it was when the stage began, if that may be done over; else NULL */
    bool begun;        /* the parts have their first values */
    bool returned;     /* they are those of a kept point, which no use has had yet */
    size_t kept;       /* the numbers that the block can have at most, between two uses */
    uint64_t epoch, use;
    uint64_t inner[HW_STAGES_MOST]; /* by stage: the iteration of the inner loop that it is in; UINT64_MAX: it is in none */
    uint32_t cursor;                /* the part that a unit gets next, or one before it */
    uint64_t *shown; /* by part: the digest of what a unit that only reads it has got, which is odd; 0: it has not got it */
};

static uint32_t parts_of(const hw_state_part *part)
{
    return part->state->moving->parts;
}

static size_t bytes_of(const hw_state_part *part, uint32_t number)
{
    return hw_moving_count(part->state, number) * hw_state_size(part->state);
}

static hawser_status find_owners(hw_worker *worker, const hw_state_part *part, uint64_t clock, uint32_t *owners)
{
    return hw_moving_owners(part->state, clock, worker->session->blocks, owners, part->moving->counts, &worker->error);
}

/* Gives the block the parts that it has in this clock, with their first values. */
static hawser_status fill(hw_worker *worker, hw_state_part *part, uint64_t clock)
{
    struct hw_moving *moving = part->moving;
    size_t size = hw_state_size(part->state);
    const char *initial = hw_plan_initial(worker->session->plan, part->state, 0);
    HAWSER_TRY(find_owners(worker, part, clock, moving->owners));
    for (uint32_t p = 0; p < parts_of(part); p++) {
        size_t bytes = bytes_of(part, p);
        if (moving->owners[p] != worker->block)
            continue;
        HAWSER_TRY(hw_message_new(bytes, &moving->here[p], &worker->error));
        if (bytes > 0 && initial != NULL)
            memcpy(moving->here[p]->payload, initial + hw_moving_first(part->state, p) * size, bytes);
        else if (bytes > 0)
            memset(moving->here[p]->payload, 0, bytes);
    }
    moving->begun = true;
    return HAWSER_OK;
}

static hawser_status open_part(hw_worker *worker, hw_state_part *part, hawser_error *error)
{
    uint32_t parts = parts_of(part);
    HAWSER_TRY(HW_NEW(&part->moving, 1, "a moving state", error));
    struct hw_moving *moving = part->moving;
    HAWSER_TRY(HW_NEW(&moving->here, parts, "a moving state", error));
    HAWSER_TRY(HW_NEW(&moving->owners, parts, "a moving state", error));
    HAWSER_TRY(HW_NEW(&moving->next, parts, "a moving state", error));
    HAWSER_TRY(HW_NEW(&moving->before, parts, "a moving state", error));
    HAWSER_TRY(HW_NEW(&moving->counts, worker->session->blocks, "a moving state", error));
    HAWSER_TRY(HW_NEW(&moving->shown, parts, "a moving state", error));
    moving->kept = hw_moving_largest(part->state, parts / worker->session->blocks);
    if (worker->log != NULL)
        HAWSER_TRY(HW_NEW(&moving->digests, parts, "a moving state", error));
    if (worker->session->plan->states[part->state->number].loaded == NULL)
        return HAWSER_OK;
    hawser_status status = fill(worker, part, 0); /* what was loaded is freed once all blocks are open */
    if (status != HAWSER_OK)
        *error = worker->error;
    return status;
}

static void close_part(hw_state_part *part)
{
    struct hw_moving *moving = part->moving;
    if (moving == NULL)
        return;
    for (uint32_t p = 0; p < parts_of(part); p++) {
        if (moving->here != NULL)
            hw_message_free(moving->here[p]);
        if (moving->before != NULL)
            free(moving->before[p]);
    }
    free(moving->here);
    free(moving->owners);
    free(moving->next);
    free(moving->before);
    free(moving->digests);
    free(moving->counts);
    free(moving->shown);
    free(moving);
    part->moving = NULL;
}

/* ----------------------------------------------------------------------------------------------------------- moving ---- */

static uint64_t digest_values(const hw_state_part *part, uint32_t number, const void *values)
{
    size_t count = hw_moving_count(part->state, number), first = hw_moving_first(part->state, number);
    return hw_state_size(part->state) == 8 ? hw_digest_64(values, count, first) : hw_digest_32(values, count, first);
}

static uint64_t digest_of(const hw_state_part *part, uint32_t number)
{
    return digest_values(part, number, part->moving->here[number]->payload);
}

/* Gives a part to its block in the use `use` of this phase. */
static hawser_status give(hw_worker *worker, hw_state_part *part, uint32_t number, uint32_t block, uint64_t use)
{
    struct hw_moving *moving = part->moving;
    hw_message *message = moving->here[number];
    message->envelope = (hw_envelope){.kind = HW_MESSAGE_PART,
                                      .type = (uint8_t)part->state->type,
                                      .state = part->state->number,
                                      .loop = worker->current->number,
                                      .epoch = moving->epoch,
                                      .clock = use,
                                      .part = number,
                                      .count = hw_moving_count(part->state, number),
                                      .length = bytes_of(part, number)};
    if (block == worker->block) {
        if (moving->digests != NULL)
            moving->digests[number] = digest_of(part, number);
        return HAWSER_OK;
    }
    moving->here[number] = NULL;
    return hw_send_update(&worker->mailbox, block, message, 0, &part->flow);
}

static void record_pass(hw_worker *worker, const hw_state_part *part, uint32_t number)
{
    const struct hw_moving *moving = part->moving;
    if (worker->log != NULL)
        hw_log_put(worker->log, &(hw_event_record){.kind = HW_EVENT_PASSED,
                                                   .flags = moving->returned ? HW_EVENT_RETURNED : 0,
                                                   .object = part->state->number,
                                                   .actor = worker->block,
                                                   .from = moving->next[number],
                                                   .covers = parts_of(part),
                                                   .part = number,
                                                   .epoch = moving->epoch,
                                                   .clock = moving->use,
                                                   .first = moving->digests[number],
                                                   .count = hw_moving_count(part->state, number),
                                                   .digest = digest_of(part, number)});
}

/* Sends the parts that have another owner in the use `use`, and goes on to that. */
static hawser_status go_on(hw_worker *worker, hw_state_part *part, uint64_t use)
{
    struct hw_moving *moving = part->moving;
    for (uint32_t p = 0; p < parts_of(part); p++)
        if (moving->owners[p] == worker->block)
            HAWSER_TRY(give(worker, part, p, moving->next[p], use));
    uint32_t *owners = moving->owners;
    moving->owners = moving->next;
    moving->next = owners;
    moving->use = use;
    return HAWSER_OK;
}

/* Returns the clock of the innermost loop around the units of a use. */
static uint64_t clock_of(const hw_worker *worker, const hw_state_part *part, uint64_t updates, uint64_t use)
{
    uint64_t each = hw_bits_set(updates), at = use % each;
    uint32_t stage = 0;
    while ((updates >> stage & 1) == 0 || at-- > 0)
        stage++;
    uint64_t inner = part->moving->inner[stage];
    return inner != UINT64_MAX ? inner : worker->first_clock + use / each;
}

static void find_inner(const hw_worker *worker, hw_state_part *part)
{
    size_t count;
    const hw_step *steps = hw_plan_steps(worker->session->plan, worker->current, &count);
    memset(part->moving->inner, 0xff, sizeof part->moving->inner);
    for (size_t i = 0; i < count; i++)
        if (steps[i].inner && hw_unit_uses(steps[i].unit, part->state))
            part->moving->inner[steps[i].stage] = steps[i].iteration;
}

static hawser_status begin_phase(hw_worker *worker, hw_state_part *part)
{
    struct hw_moving *moving = part->moving;
    uint64_t updates = hw_plan_use(worker->session->plan, worker->current, part->state).updates;
    if (updates == 0)
        return HAWSER_OK;
    find_inner(worker, part);
    if (worker->begins > 0) /* the parts are where this phase had them */
        return HAWSER_OK;
    uint64_t clock = clock_of(worker, part, updates, 0);
    if (!moving->begun)
        HAWSER_TRY(fill(worker, part, clock));
    moving->epoch = worker->epoch;
    HAWSER_TRY(find_owners(worker, part, clock, moving->next));
    return go_on(worker, part, 0);
}

static void begin_epoch(hw_worker *worker, hw_state_part *part, uint64_t epoch)
{
    (void)worker, (void)epoch;
    part->moving->cursor = 0;
}

static bool is_here(const struct hw_moving *moving, uint32_t number)
{
    const hw_message *message = moving->here[number];
    return message != NULL && message->envelope.epoch == moving->epoch && message->envelope.clock == moving->use;
}

static bool all_here(const hw_worker *worker, const hw_state_part *part)
{
    for (uint32_t p = 0; p < parts_of(part); p++)
        if (part->moving->owners[p] == worker->block && !is_here(part->moving, p))
            return false;
    return true;
}

/* A part that is late is waited for when a unit asks for it. */
static bool ready(const hw_worker *worker, const hw_state_part *part)
{
    (void)worker, (void)part;
    return true;
}

static hawser_status merge(hw_worker *worker, hw_state_part *part)
{
    (void)worker, (void)part;
    return HAWSER_OK;
}

static void begin_unit(hw_worker *worker, hw_state_part *part)
{
    (void)worker;
    part->moving->cursor = 0;
    memset(part->moving->shown, 0, parts_of(part) * sizeof *part->moving->shown);
}

/* What a wait is for: one part, or with `number` UINT32_MAX all that this block has. */
typedef struct waiting {
    const hw_worker *worker;
    const hw_state_part *part;
    uint32_t number;
} waiting;

static bool has_arrived(void *argument)
{
    const waiting *it = argument;
    if (it->worker->leaving)
        return false;
    return it->number != UINT32_MAX ? is_here(it->part->moving, it->number) : all_here(it->worker, it->part);
}

static hawser_status check_finite(hw_worker *worker, const hw_state_part *part, uint32_t number)
{
    char text[HW_NUMBER_TEXT];
    const hw_numbers *numbers = hw_numbers_of(part->state->type);
    size_t count = hw_moving_count(part->state, number);
    const void *values = part->moving->here[number]->payload;
    size_t bad = numbers->first_not_finite(values, count);
    if (bad == count)
        return HAWSER_OK;
    numbers->text(values, bad, text);
    return hawser_fail(&worker->error, HAWSER_NOT_FINITE,
                       "moving state '%s', part %" PRIu32 ": number %zu became %s in clock %" PRIu64 " on block %" PRIu32
                       "; take smaller steps",
                       part->state->name, number, hw_moving_first(part->state, number) + bad, text,
                       worker->first_clock + worker->clock, worker->block);
}

static void forget_before(hw_state_part *part)
{
    for (uint32_t p = 0; p < parts_of(part); p++) {
        free(part->moving->before[p]);
        part->moving->before[p] = NULL;
    }
}

/* A block that has not asked for its parts passes them on all the same. */
static hawser_status cut(hw_worker *worker, hw_state_part *part)
{
    struct hw_moving *moving = part->moving;
    waiting all = {worker, part, UINT32_MAX};
    HAWSER_TRY(hw_wait(&worker->mailbox, has_arrived, &all));
    forget_before(part);
    for (uint32_t p = 0; p < parts_of(part); p++)
        if (moving->owners[p] == worker->block)
            HAWSER_TRY(check_finite(worker, part, p));
    if (worker->current->kind == HW_LOOP)
        HAWSER_TRY(find_owners(worker, part, clock_of(worker, part, part->use.updates, moving->use + 1), moving->next));
    else /* what comes next is not known here */
        memcpy(moving->next, moving->owners, parts_of(part) * sizeof *moving->next);
    for (uint32_t p = 0; p < parts_of(part); p++)
        if (moving->owners[p] == worker->block)
            record_pass(worker, part, p);
    moving->returned = false;
    return go_on(worker, part, moving->use + 1);
}

static bool settled(const hw_worker *worker, const hw_state_part *part)
{
    return all_here(worker, part);
}

static hawser_status end_epoch(hw_worker *worker, hw_state_part *part)
{
    (void)worker, (void)part;
    return HAWSER_OK;
}

static hawser_status accept(hw_worker *worker, hw_state_part *part, hw_message *message)
{
    const hw_envelope *envelope = &message->envelope;
    uint32_t number = envelope->part;
    bool fits = envelope->kind == HW_MESSAGE_PART && number < parts_of(part) && envelope->type == part->state->type &&
                envelope->count == hw_moving_count(part->state, number) && envelope->length == bytes_of(part, number) &&
                part->moving->here[number] == NULL;
    if (!fits) {
        hw_message_free(message);
        return hawser_fail(&worker->error, HAWSER_INTERNAL,
                           "block %" PRIu32 " got part %" PRIu32
                           " of moving state '%s', which does not fit or is there already",
                           worker->block, number, part->state->name);
    }
    part->moving->here[number] = message;
    if (part->moving->digests != NULL)
        part->moving->digests[number] = digest_of(part, number);
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------------ units ---- */

/* Keeps what a part is before a unit changes it, if its stage may be done over. */
static hawser_status keep_before(hw_worker *worker, hw_state_part *part, uint32_t number)
{
    void **before = &part->moving->before[number];
    size_t bytes = bytes_of(part, number);
    if (*before != NULL || bytes == 0 || !hw_redo_repeats(worker))
        return HAWSER_OK;
    HAWSER_TRY(hw_new_array(before, bytes, 1, "a moving state's copy", &worker->error));
    memcpy(*before, part->moving->here[number]->payload, bytes);
    return HAWSER_OK;
}

/* Returns an odd digest of a part that a unit only reads: of all numbers where a run is checked anyway, else of some places,
 * so that it takes a few microseconds. */
static uint64_t digest_of_shown(const hw_worker *worker, const hw_state_part *part, uint32_t number)
{
    enum { PLACES = 64, EACH = 64 };
    const char *values = part->moving->here[number]->payload;
    const size_t bytes = bytes_of(part, number);
    bool all = worker->log != NULL || worker->session->job->rehearse > 0 || bytes <= (size_t)PLACES * EACH;
#ifndef NDEBUG
    all = true;
#endif
    uint64_t digest = all ? hw_hash(values, bytes, number) : number;
    for (size_t k = 0; !all && k < PLACES; k++)
        digest = hw_hash(values + (bytes - EACH) / (PLACES - 1) * k, EACH, digest);
    return digest | 1;
}

uint32_t hw_moving_written(const hw_worker *worker, const hw_state_part *part)
{
    for (uint32_t p = 0; p < parts_of(part); p++)
        if (part->moving->shown[p] != 0 && part->moving->shown[p] != digest_of_shown(worker, part, p))
            return p;
    return UINT32_MAX;
}

hawser_status hw_moving_next(hw_worker *worker, hw_state_part *part, bool updates, hawser_moving_part *out)
{
    struct hw_moving *moving = part->moving;
    const size_t *lines = part->state->moving->cut;
    uint32_t p = moving->cursor;
    while (p < parts_of(part) && moving->owners[p] != worker->block)
        p++;
    moving->cursor = p;
    if (p == parts_of(part))
        return HAWSER_OK;
    waiting one = {worker, part, p};
    HAWSER_TRY(hw_wait(&worker->mailbox, has_arrived, &one));
    HAWSER_TRY(keep_before(worker, part, p));
    if (!updates)
        moving->shown[p] = digest_of_shown(worker, part, p);
    *out = (hawser_moving_part){.number = p,
                                .first_line = lines[p],
                                .lines = lines[p + 1] - lines[p],
                                .first = hw_moving_first(part->state, p),
                                .count = hw_moving_count(part->state, p),
                                .values = moving->here[p]->payload,
                                .type = part->state->type};
    moving->cursor = p + 1;
    return HAWSER_OK;
}

static const char by_parts[] = "is moving; take its parts by hawser_next_part";

static const void *read_none(hw_state_part *part, bool updates, const char **why)
{
    (void)part, (void)updates;
    *why = by_parts;
    return NULL;
}

static void *write_none(hw_state_part *part, const char **why)
{
    (void)part;
    *why = by_parts;
    return NULL;
}

static void roll_back(hw_state_part *part)
{
    for (uint32_t p = 0; p < parts_of(part); p++)
        if (part->moving->before[p] != NULL)
            memcpy(part->moving->here[p]->payload, part->moving->before[p], bytes_of(part, p));
}

/* ------------------------------------------------------------------------------------------------- results, records ---- */

hawser_status hw_moving_take(hw_worker *worker, hw_state_part *part, hw_message **values, const uint32_t **owners,
                             hawser_error *error)
{
    struct hw_moving *moving = part->moving;
    if (!moving->begun) { /* no phase has used it */
        hawser_status status = fill(worker, part, 0);
        if (status != HAWSER_OK) {
            *error = worker->error;
            return status;
        }
    }
    for (uint32_t p = 0; p < parts_of(part); p++)
        if (moving->here[p] != NULL) {
            values[p] = moving->here[p];
            moving->here[p] = NULL;
        }
    *owners = moving->owners;
    return HAWSER_OK;
}

/* ----------------------------------------------------------------------------------------------------- kept points ---- */

/* A copy has the numbers of the block's parts, in the order of these, and behind them the blocks of all parts. */
static size_t kept_count(const hw_state_part *part)
{
    size_t size = hw_state_size(part->state);
    return part->moving->kept + (parts_of(part) * sizeof(uint32_t) + size - 1) / size;
}

static hawser_status keep(hw_worker *worker, hw_state_part *part, void *values)
{
    struct hw_moving *moving = part->moving;
    waiting all = {worker, part, UINT32_MAX};
    char *to = values;
    if (!moving->begun)
        HAWSER_TRY(fill(worker, part, 0));
    else
        HAWSER_TRY(hw_wait(&worker->mailbox, has_arrived, &all));
    memcpy(to + moving->kept * hw_state_size(part->state), moving->owners, parts_of(part) * sizeof *moving->owners);
    for (uint32_t p = 0; p < parts_of(part); p++) {
        if (moving->owners[p] != worker->block || bytes_of(part, p) == 0)
            continue;
        memcpy(to, moving->here[p]->payload, bytes_of(part, p));
        to += bytes_of(part, p);
    }
    return HAWSER_OK;
}

/* Where the parts are now does not matter: each block has a copy of those that it had. */
static hawser_status put_back(hw_worker *worker, hw_state_part *part, const void *values)
{
    struct hw_moving *moving = part->moving;
    const char *from = values;
    forget_before(part);
    for (uint32_t p = 0; p < parts_of(part); p++) {
        hw_message_free(moving->here[p]);
        moving->here[p] = NULL;
    }
    memcpy(moving->owners, from + moving->kept * hw_state_size(part->state), parts_of(part) * sizeof *moving->owners);
    for (uint32_t p = 0; p < parts_of(part); p++) {
        if (moving->owners[p] != worker->block)
            continue;
        HAWSER_TRY(hw_message_new(bytes_of(part, p), &moving->here[p], &worker->error));
        moving->here[p]->envelope.epoch = moving->epoch;
        moving->here[p]->envelope.clock = moving->use;
        if (bytes_of(part, p) > 0)
            memcpy(moving->here[p]->payload, from, bytes_of(part, p));
        from += bytes_of(part, p);
    }
    moving->begun = moving->returned = true;
    return HAWSER_OK;
}

static void visit(hw_state_part *part, hawser_record *record)
{
    for (uint32_t p = 0; p < parts_of(part); p++)
        if (part->moving->here[p] != NULL && bytes_of(part, p) > 0)
            hawser_record_bytes(record, part->moving->here[p]->payload, bytes_of(part, p));
}

static void recall_part(hw_worker *worker, hw_state_part *part, hawser_record *record, uint32_t number)
{
    struct hw_moving *moving = part->moving;
    hw_message_free(moving->here[number]);
    moving->here[number] = NULL;
    if (moving->owners[number] != worker->block)
        return;
    hawser_status status = hw_message_new(bytes_of(part, number), &moving->here[number], &worker->error);
    if (status != HAWSER_OK) {
        hawser_record_fail(record, status, worker->error.text);
        return;
    }
    moving->here[number]->envelope.epoch = moving->epoch;
    moving->here[number]->envelope.clock = moving->use;
    if (bytes_of(part, number) > 0)
        hawser_record_bytes(record, moving->here[number]->payload, bytes_of(part, number));
    if (moving->digests != NULL)
        moving->digests[number] = digest_of(part, number);
}

/* Records in the history a part that was read from a checkpoint, or, with `flags`, a version of it that is a kept point. */
static void record_restored(hw_worker *worker, const hw_state_part *part, uint32_t number, unsigned flags, uint64_t digest)
{
    const struct hw_moving *moving = part->moving;
    hw_log_put(worker->log, &(hw_event_record){.kind = HW_EVENT_PASSED,
                                               .flags = (uint8_t)(HW_EVENT_RESTORES | flags),
                                               .object = part->state->number,
                                               .actor = worker->block,
                                               .from = worker->block,
                                               .covers = parts_of(part),
                                               .part = number,
                                               .epoch = moving->epoch,
                                               .clock = moving->use,
                                               .count = hw_moving_count(part->state, number),
                                               .digest = digest});
}

static void record_kept(hw_worker *worker, const hw_state_part *part, const char *values)
{
    const char *owners = values + part->moving->kept * hw_state_size(part->state);
    for (uint32_t p = 0, owner; p < parts_of(part); p++) {
        memcpy(&owner, owners + p * sizeof owner, sizeof owner);
        if (owner != worker->block)
            continue;
        record_restored(worker, part, p, HW_EVENT_RETURNED, digest_values(part, p, values));
        values += bytes_of(part, p);
    }
}

static hawser_status restore(hw_worker *worker, hw_state_part *part)
{
    const struct hw_moving *moving = part->moving;
    uint32_t points = worker->points != NULL ? hw_plan_points(worker->session->plan) : 0;
    if (worker->log == NULL || !moving->begun)
        return HAWSER_OK;
    for (uint32_t p = 0; p < parts_of(part); p++)
        if (moving->owners[p] == worker->block)
            record_restored(worker, part, p, 0, digest_of(part, p));
    for (uint32_t k = 0; k < points; k++)
        if (worker->points[k].kept && worker->points[k].values[part->state->number] != NULL)
            record_kept(worker, part, worker->points[k].values[part->state->number]);
    return HAWSER_OK;
}

/* Parts that have come for a later use are in the record of the block that had them before. */
static void remember(hw_worker *worker, hw_state_part *part, hawser_record *record)
{
    struct hw_moving *moving = part->moving;
    hawser_record_bytes(record, &moving->begun, sizeof moving->begun);
    hawser_record_bytes(record, &moving->returned, sizeof moving->returned);
    hawser_record_bytes(record, &moving->epoch, sizeof moving->epoch);
    hawser_record_bytes(record, &moving->use, sizeof moving->use);
    hawser_record_bytes(record, moving->owners, parts_of(part) * sizeof *moving->owners);
    for (uint32_t p = 0; moving->begun && p < parts_of(part); p++)
        if (hawser_record_reads(record))
            recall_part(worker, part, record, p);
        else if (moving->owners[p] == worker->block && bytes_of(part, p) > 0)
            hawser_record_bytes(record, moving->here[p]->payload, bytes_of(part, p));
}

static void drop(hw_state_part *part)
{
    for (uint32_t p = 0; p < parts_of(part); p++)
        if (part->moving->here[p] != NULL && bytes_of(part, p) > 0)
            memset(part->moving->here[p]->payload, 0xa5, bytes_of(part, p));
}

const hw_part_kind hw_part_moving = {.open = open_part,
                                     .close = close_part,
                                     .begin_phase = begin_phase,
                                     .begin_epoch = begin_epoch,
                                     .ready = ready,
                                     .merge = merge,
                                     .begin_unit = begin_unit,
                                     .cut = cut,
                                     .settled = settled,
                                     .end_epoch = end_epoch,
                                     .read = read_none,
                                     .write = write_none,
                                     .roll_back = roll_back,
                                     .accept = accept,
                                     .kept_count = kept_count,
                                     .keep = keep,
                                     .put_back = put_back,
                                     .visit = visit,
                                     .drop = drop,
                                     .remember = remember,
                                     .restore = restore};
