/* points.c - a block's part of kept points: copies of the states that are the program's model, and the way back to them. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/block/part.h"

static bool keeps(const hw_worker *worker, const hw_state_part *part)
{
    return hw_plan_keeps(worker->session->plan, part->state);
}

/* Returns whether this block has a copy of a state: of what is the same on all blocks, only the node's first one has. */
static bool copies(const hw_worker *worker, const hw_state_part *part)
{
    return keeps(worker, part) && (worker->mailbox.runner == 0 || !part->kind->alike);
}

hawser_status hw_points_open(hw_worker *worker, hawser_error *error)
{
    const hawser_program *program = worker->session->program;
    uint32_t count = hw_plan_points(worker->session->plan);
    if (count == 0)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&worker->points, count, "kept points", error));
    for (uint32_t k = 0; k < count; k++) {
        hw_point *point = &worker->points[k];
        HAWSER_TRY(HW_NEW(&point->values, program->state_count, "a kept point", error));
        HAWSER_TRY(HW_NEW(&point->fresh, program->state_count, "a kept point", error));
        for (uint32_t i = 0; i < program->state_count; i++) {
            const hw_state_part *part = &worker->parts[i];
            if (copies(worker, part))
                HAWSER_TRY(hw_new_array(&point->values[i], part->kind->kept_count(part), hw_state_size(part->state),
                                        "a kept point", error));
        }
    }
    return HAWSER_OK;
}

void hw_points_close(hw_worker *worker)
{
    const hawser_program *program = worker->session != NULL ? worker->session->program : NULL;
    for (uint32_t k = 0; worker->points != NULL && k < hw_plan_points(worker->session->plan); k++) {
        hw_point *point = &worker->points[k];
        for (uint32_t i = 0; point->values != NULL && i < program->state_count; i++)
            free(point->values[i]);
        free(point->values);
        free(point->fresh);
    }
    free(worker->points);
    hw_messages_free(worker->orders);
}

static void record_point(const hw_worker *worker, const hw_state_part *part, uint32_t number, bool back)
{
    if (keeps(worker, part) && part->kind->record_point != NULL)
        part->kind->record_point(part, number, back);
}

/* Copies what the block has committed. */
static hawser_status keep(hw_worker *worker, uint32_t number)
{
    hw_point *point = &worker->points[number];
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        point->fresh[i] = part->fresh;
        if (copies(worker, part))
            HAWSER_TRY(part->kind->keep(worker, part, point->values[i]));
        record_point(worker, part, number, false);
    }
    point->kept = true;
    return HAWSER_OK;
}

/* Goes back to a point. Derived states that it does not have follow from those that it has. Of what is the same on all
 * blocks, only the node's first block has results, so the others leave it out at the end: they do not wait for that block's
 * copy. */
static hawser_status go_back(hw_worker *worker, uint32_t number, bool at_end)
{
    const hw_point *own = &worker->points[number], *first = &worker->session->workers[0].points[number];
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        part->fresh = keeps(worker, part) && own->fresh[i];
        if (!keeps(worker, part) || (at_end && !copies(worker, part)))
            continue;
        const void *values = copies(worker, part) ? own->values[i] : first->values[i];
        HAWSER_TRY(part->kind->put_back(worker, part, values));
        record_point(worker, part, number, true);
        part->page_filled = false;
    }
    return HAWSER_OK;
}

static hawser_status reply(hw_worker *worker, uint64_t number)
{
    hw_message *message = NULL;
    HAWSER_TRY(hw_message_new(0, &message, &worker->error));
    message->envelope.kind = HW_MESSAGE_POINT;
    message->envelope.clock = number;
    message->quiet = true; /* the driver rarely waits for it */
    return hw_send(&worker->mailbox, worker->session->blocks, message);
}

static hawser_status carry_out_all(hw_worker *worker)
{
    hw_worker_commit(worker);
    while (worker->orders != NULL) {
        hw_message *message = worker->orders;
        const hw_point_order *orders = message->payload;
        hawser_status status = HAWSER_OK;
        for (uint64_t k = 0; k < message->envelope.count && status == HAWSER_OK; k++)
            status = orders[k].returns != 0 ? go_back(worker, orders[k].point, false) : keep(worker, orders[k].point);
        worker->orders = message->next;
        worker->orders_last = worker->orders != NULL ? worker->orders_last : NULL; /* others may come while it replies */
        if (status == HAWSER_OK)
            status = reply(worker, message->envelope.clock);
        hw_message_free(message);
        HAWSER_TRY(status);
    }
    worker->at_end = false;
    return HAWSER_OK;
}

/* A block that waits while it keeps values of servers may receive further orders: they are carried out behind. */
static hawser_status carry_out(hw_worker *worker)
{
    if (worker->carrying)
        return HAWSER_OK;
    worker->carrying = true;
    hawser_status status = carry_out_all(worker);
    worker->carrying = false;
    return status;
}

/* Returns whether a message has orders that this program's blocks can carry out. */
static bool is_sound(const hw_worker *worker, const hw_message *message)
{
    const hw_point_order *orders = message->payload;
    uint64_t count = message->envelope.count, bytes = message->envelope.length;
    if (worker->points == NULL || bytes % sizeof *orders != 0 || bytes / sizeof *orders != count)
        return false;
    for (uint64_t k = 0; k < count; k++)
        if (orders[k].point >= hw_plan_points(worker->session->plan))
            return false;
    return true;
}

hawser_status hw_points_take(hw_worker *worker, hw_message *message)
{
    if (!is_sound(worker, message)) {
        hw_message_free(message);
        return hawser_fail(&worker->error, HAWSER_INTERNAL,
                           "block %u got orders for kept points that do not fit the program", worker->block);
    }
    message->next = NULL;
    if (worker->orders_last != NULL)
        worker->orders_last->next = message;
    else
        worker->orders = message;
    worker->orders_last = message;
    worker->at_end = worker->at_end || message->envelope.last != 0;
    return worker->in_phase || worker->trigger != NULL ? HAWSER_OK : carry_out(worker);
}

hawser_status hw_points_begin_clock(hw_worker *worker)
{
    return worker->orders != NULL && !worker->at_end ? carry_out(worker) : HAWSER_OK;
}

hawser_status hw_points_end_phase(hw_worker *worker)
{
    return worker->orders != NULL ? carry_out(worker) : HAWSER_OK;
}

/* Calls `see` with the memory of each copy that the block has. */
static void see_all(hw_worker *worker, hawser_record *record, void (*see)(hawser_record *record, void *memory, size_t bytes))
{
    const hawser_program *program = worker->session->program;
    for (uint32_t k = 0; worker->points != NULL && k < hw_plan_points(worker->session->plan); k++) {
        hw_point *point = &worker->points[k];
        see(record, &point->kept, sizeof point->kept);
        see(record, point->fresh, program->state_count * sizeof *point->fresh);
        for (uint32_t i = 0; i < program->state_count; i++) {
            const hw_state_part *part = &worker->parts[i];
            if (copies(worker, part))
                see(record, point->values[i],
                    hw_part_kind_of(part->state->kind)->kept_count(part) * hw_state_size(part->state));
        }
    }
}

/* Reads a copy that the node's first block has. */
static void pass_over(hawser_record *record, size_t bytes)
{
    void *copy = malloc(bytes > 0 ? bytes : 1);
    if (copy == NULL)
        hawser_record_fail(record, HAWSER_NO_MEMORY, "no memory for a kept point of a record");
    else
        hawser_record_bytes(record, copy, bytes);
    free(copy);
}

void hw_points_remember(hw_worker *worker, hawser_record *record, bool alike)
{
    const hawser_program *program = worker->session->program;
    for (uint32_t k = 0; worker->points != NULL && k < hw_plan_points(worker->session->plan); k++) {
        hw_point *point = &worker->points[k];
        if (!alike) {
            hawser_record_bytes(record, &point->kept, sizeof point->kept);
            hawser_record_bytes(record, point->fresh, program->state_count * sizeof *point->fresh);
        }
        for (uint32_t i = 0; i < program->state_count; i++) {
            const hw_state_part *part = &worker->parts[i];
            if (!keeps(worker, part) || part->kind->alike != alike)
                continue;
            if (copies(worker, part))
                hawser_record_bytes(record, point->values[i], part->kind->kept_count(part) * hw_state_size(part->state));
            else
                pass_over(record, part->kind->kept_count(part) * hw_state_size(part->state));
        }
    }
}

void hw_points_visit(hw_worker *worker, hawser_record *record)
{
    see_all(worker, record, hawser_record_bytes);
}

static void overwrite(hawser_record *record, void *memory, size_t bytes)
{
    (void)record;
    if (bytes > 0)
        memset(memory, 0xa5, bytes);
}

void hw_points_drop(hw_worker *worker)
{
    see_all(worker, NULL, overwrite);
}

hawser_status hw_points_result(hw_worker *worker, uint32_t number)
{
    return worker->points != NULL && worker->points[number].kept ? go_back(worker, number, true) : HAWSER_OK;
}
