/*
 * record.c - a block's record for a checkpoint: what this block alone has, as it begins a clock with everything before it
 * merged. Block 0 writes the merged values, too, which are the same on all blocks. A block of another process that reads
 * both goes on with the same bits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "runtime/block/part.h"
#include "runtime/job/checkpointer.h"

/* The object of a record. */
typedef struct visited_block {
    hw_worker *worker;
    void *scratch; /* as its visit wrote it; NULL: it is all zeros, or a cache */
    uint64_t scratch_bytes;
} visited_block;

/* Visits which lines of a state the block has. A record of another cut is refused before any number of the state is read:
 * numbers of other lines would be taken for flags. */
static void visit_lines(hawser_record *record, const hw_worker *worker, const hw_state_part *part)
{
    const size_t *bounds = part->state->kind == HW_DATA ? worker->session->plan->states[part->state->number].bounds : NULL;
    const uint64_t begin = bounds != NULL ? bounds[worker->block] : part->begin;
    const uint64_t count = bounds != NULL ? bounds[worker->block + 1] - begin : part->count;
    uint64_t there[2] = {UINT64_MAX, UINT64_MAX};
    char text[300];
    if (!hawser_record_reads(record)) {
        there[0] = begin;
        there[1] = count;
    }
    hawser_record_bytes(record, there, sizeof there);
    if (there[0] == begin && there[1] == count)
        return;
    (void)snprintf(text, sizeof text,
                   "the checkpoint has lines %" PRIu64 " to %" PRIu64 " of state '%s' for block %u, not %" PRIu64
                   " to %" PRIu64 ": the data were cut in another way",
                   there[0], there[0] + there[1], part->state->name, worker->block, begin, begin + count);
    hawser_record_fail(record, HAWSER_BAD_INPUT, text);
}

static void visit_block(hawser_record *record, void *object)
{
    visited_block *given = object;
    hw_worker *worker = given->worker;
    hawser_record_bytes(record, &worker->clocks, sizeof worker->clocks);
    hawser_record_bytes(record, &worker->most_lead, sizeof worker->most_lead);
    hawser_record_bytes(record, &worker->mailbox.bytes_sent, sizeof worker->mailbox.bytes_sent);
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        visit_lines(record, worker, part);
        if (part->kind->remember != NULL)
            part->kind->remember(worker, part, record);
    }
    hw_points_remember(worker, record, false);
    hawser_record_bytes(record, &given->scratch_bytes, sizeof given->scratch_bytes);
    hawser_record_array(record, &given->scratch, 1, given->scratch_bytes, 0);
}

/* Visits merged values, which are set by a call of the part when they are read. */
static void visit_values(hawser_record *record, hw_state_part *part)
{
    const void *from = part->kind->merged(part);
    void *values = NULL;
    memcpy(&values, &from, sizeof values); /* a visit that writes changes nothing */
    hawser_record_array(record, &values, hw_state_size(part->state), hw_state_count(part->state), 0);
    if (!hawser_record_reads(record))
        return;
    if (values != NULL && values != from)
        part->kind->set_merged(part, values);
    if (values != from)
        free(values);
}

/* Visits the states that are the same on all blocks, once for all. */
static void visit_merged(hawser_record *record, void *object)
{
    hw_worker *worker = object;
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        bool there = part->kind->alike && !part->unfilled;
        hawser_record_bytes(record, &there, sizeof there);
        if (!there)
            continue;
        visit_values(record, part);
    }
    hw_points_remember(worker, record, true);
}

/* What all blocks have together: the merged values, and what the blocks of a process share. */
typedef struct visited_node {
    hw_worker *worker;
    void *process;
    uint64_t process_bytes;
} visited_node;

static void visit_node(hawser_record *record, void *object)
{
    visited_node *given = object;
    hawser_record_bytes(record, &given->process_bytes, sizeof given->process_bytes);
    hawser_record_array(record, &given->process, 1, given->process_bytes, 0);
    visit_merged(record, given->worker);
}

static hawser_status hand_over(hw_worker *worker, hw_record_kind kind, void *bytes, size_t size)
{
    const hw_checkpointer *checkpointer = worker->session->job->checkpointer;
    const hw_record_piece piece = {kind, worker->session->number, worker->record->envelope.part, worker->block};
    return checkpointer->take(checkpointer->user, &piece, NULL, bytes, size, &worker->error);
}

static hawser_status reply(hw_worker *worker, uint32_t number)
{
    hw_message *message = NULL;
    HAWSER_TRY(hw_message_new(0, &message, &worker->error));
    message->envelope.kind = HW_MESSAGE_RECORD;
    message->envelope.part = number;
    message->quiet = true; /* the driver rarely waits for it */
    return hw_send(&worker->mailbox, worker->session->blocks, message);
}

/* Calls a function of the row of each part that has it. */
static hawser_status each_part(hw_worker *worker, bool reads)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        hawser_status (*call)(hw_worker *, hw_state_part *) = reads ? part->kind->restore : part->kind->collect;
        if (call != NULL)
            HAWSER_TRY(call(worker, part));
    }
    return HAWSER_OK;
}

static hawser_status write_block(hw_worker *worker)
{
    void *bytes = NULL;
    size_t size = 0, scratch_bytes = 0;
    visited_block given = {.worker = worker};
    HAWSER_TRY(each_part(worker, false));
    if (worker->scratch != NULL && !hw_all_zero(worker->scratch, worker->session->program->scratch_bytes))
        HAWSER_TRY(hw_worker_save_scratch(worker, &given.scratch, &scratch_bytes));
    given.scratch_bytes = scratch_bytes;
    hawser_status status = hawser_record_save(visit_block, &given, &bytes, &size, &worker->error);
    free(given.scratch);
    HAWSER_TRY(status);
    return hand_over(worker, HW_PIECE_BLOCK, bytes, size);
}

static hawser_status write_node(hw_worker *worker)
{
    const hawser_program *program = worker->session->program;
    visited_node given = {.worker = worker};
    void *bytes = NULL;
    size_t size = 0, process_bytes = 0;
    if (program->process_visit != NULL)
        HAWSER_TRY(hawser_record_save(program->process_visit, program->process_object, &given.process, &process_bytes,
                                      &worker->error));
    given.process_bytes = process_bytes;
    hawser_status status = hawser_record_save(visit_node, &given, &bytes, &size, &worker->error);
    free(given.process);
    HAWSER_TRY(status);
    return hand_over(worker, HW_PIECE_MERGED, bytes, size);
}

hawser_status hw_remember(hw_worker *worker)
{
    HAWSER_TRY(write_block(worker));
    if (worker->block == 0)
        HAWSER_TRY(write_node(worker));
    HAWSER_TRY(reply(worker, worker->record->envelope.part));
    hw_message_free(worker->record);
    worker->record = NULL;
    return HAWSER_OK;
}

static hawser_status read_piece(hw_worker *worker, hw_record_kind kind, uint64_t number, hawser_record_function *visit,
                                void *object)
{
    const hw_checkpointer *checkpointer = worker->session->job->checkpointer;
    const hw_record_piece piece = {kind, worker->session->number, number, worker->block};
    void *bytes = NULL;
    size_t size = 0;
    HAWSER_TRY(checkpointer->give(checkpointer->user, &piece, &bytes, &size, &worker->error));
    if (bytes == NULL)
        return hawser_fail(&worker->error, HAWSER_BAD_INPUT, "checkpoint %llu has no record of block %u",
                           (unsigned long long)number, worker->block);
    hawser_status status = hawser_record_restore(visit, object, bytes, size, &worker->error);
    free(bytes);
    return status;
}

/* The first block of a process reads what all of its blocks share, before any of them reads its scratch. */
static hawser_status recall_node(hw_worker *worker, uint64_t number)
{
    const hawser_program *program = worker->session->program;
    visited_node given = {.worker = worker};
    hawser_status status = read_piece(worker, HW_PIECE_MERGED, number, visit_node, &given);
    if (status == HAWSER_OK && worker->mailbox.runner == 0 && program->process_visit != NULL && given.process != NULL)
        status = hawser_record_restore(program->process_visit, program->process_object, given.process, given.process_bytes,
                                       &worker->error);
    free(given.process);
    return status;
}

/* A history begins anew where the run goes on. `order` has the epoch and the clock. */
static void record_resumed(hw_worker *worker, const hw_envelope *order)
{
    if (worker->log != NULL)
        hw_log_put(worker->log, &(hw_event_record){.kind = HW_EVENT_RESUMED,
                                                   .actor = worker->block,
                                                   .epoch = order->epoch + worker->session->program->state_count,
                                                   .clock = order->clock});
}

static hawser_status recall_block(hw_worker *worker, const hw_envelope *order)
{
    visited_block given = {.worker = worker};
    hawser_status status = read_piece(worker, HW_PIECE_BLOCK, order->part, visit_block, &given);
    for (uint32_t i = 0; i < worker->session->program->state_count && status == HAWSER_OK; i++) {
        worker->parts[i].page_filled = false;
        if (worker->parts[i].state->kind == HW_DATA)
            status = hw_part_fetch_again(worker, &worker->parts[i]);
    }
    if (status == HAWSER_OK && given.scratch != NULL)
        status = hw_worker_renew_scratch(worker, given.scratch, given.scratch_bytes);
    free(given.scratch);
    HAWSER_TRY(status);
    record_resumed(worker, order);
    return each_part(worker, true);
}

static hawser_status obey(hw_worker *worker, const hw_envelope *order)
{
    if (order->span == HW_RECORD_GO_ON) {
        worker->paused = false;
        return HAWSER_OK;
    }
    HAWSER_TRY(order->span == HW_RECORD_READ_NODE ? recall_node(worker, order->part) : recall_block(worker, order));
    return reply(worker, order->part);
}

hawser_status hw_remember_take(hw_worker *worker, hw_message *message)
{
    const hw_envelope order = message->envelope;
    if (order.span != HW_RECORD_WRITE && order.span != HW_RECORD_HOLD) {
        hw_message_free(message);
        return obey(worker, &order);
    }
    hw_message_free(worker->record); /* of a clock that was never begun */
    worker->record = message;
    if (order.span == HW_RECORD_HOLD)
        worker->paused = false; /* hw_remember_hold does that again */
    if (order.last == 0 || worker->in_phase || worker->trigger != NULL)
        return HAWSER_OK;
    hw_worker_commit(worker);
    return hw_remember(worker);
}

hawser_status hw_remember_hold(hw_worker *worker)
{
    uint32_t number = worker->record->envelope.part;
    hw_message_free(worker->record);
    worker->record = NULL;
    worker->paused = true;
    return reply(worker, number);
}
