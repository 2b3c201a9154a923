/* part_stored.c - a block's part of a stored state: what it has requested from the store, and its share if that has one
 * writer. */
#include <string.h>

#include "base/memory.h"
#include "hawser/store.h"
#include "runtime/block/part.h"
#include "runtime/block/stored.h"

static void close_part(hw_state_part *part)
{
    hw_stored_close(part->stored);
}

static const void *read_share(hw_state_part *part, bool updates, const char **why)
{
    (void)updates;
    if (part->state->function == NULL)
        return part->work;
    *why = "is stored, and every block changes it; read it by hawser_next_chunk or hawser_prefetch";
    return NULL;
}

static void *write_share(hw_state_part *part, const char **why)
{
    if (part->state->function == NULL)
        return part->work;
    *why = "is changed by every block; use hawser_inc";
    return NULL;
}

static void *stage_memory(hw_state_part *part, size_t *bytes)
{
    *bytes = hw_part_size(part);
    return part->work;
}

/* The block's own memory receives the share, if the block has any: it is as large, and is used no more. */
static hawser_status take_share(hw_worker *worker, hw_state_part *part, bool abandoned, void **values, hawser_error *error)
{
    uint64_t task;
    hawser_store *store = worker->session->store;
    if (part->count == 0)
        return HAWSER_OK;
    *values = part->work;
    part->work = NULL;
    if (*values == NULL)
        HAWSER_TRY(hw_new_array(values, part->count, hw_state_size(part->state), "a result", error));
    if (hw_stored_returned(part) || store == NULL)
        return HAWSER_OK; /* no unit uses a stored state, and none has first values */
    hawser_request request = {.table = worker->session->tables[part->state->number],
                              .first = part->begin,
                              .last = part->begin + part->count - 1,
                              .count = part->count,
                              .out = *values,
                              .iteration =
                                  abandoned ? 0 : hw_stored_turn(part, worker->takes_point > 0)}; /* 0: waits for no block */
    HAWSER_TRY(hawser_pull(store, &request, &task, error));
    return hawser_store_wait(store, task, error);
}

/* The values of servers belong to no block, so a record has only what the block holds itself. */
static void visit(hw_state_part *part, hawser_record *record)
{
    hw_stored_visit(part->stored, record);
    if (part->work != NULL)
        hawser_record_bytes(record, part->work, hw_part_size(part));
}

static void remember(hw_worker *worker, hw_state_part *part, hawser_record *record)
{
    (void)worker;
    hw_stored_remember(part, record);
}

static void drop(hw_state_part *part)
{
    hw_stored_drop(part->stored);
    if (part->work != NULL)
        memset(part->work, 0xa5, hw_part_size(part));
}

const hw_part_kind hw_part_stored = {.open = hw_stored_open,
                                     .close = close_part,
                                     .begin_phase = hw_stored_begin_phase,
                                     .begin_unit = hw_stored_begin_unit,
                                     .end_clock = hw_stored_end_clock,
                                     .end_phase = hw_stored_end_phase,
                                     .read = read_share,
                                     .write = write_share,
                                     .stage_memory = stage_memory,
                                     .take_share = take_share,
                                     .kept_count = hw_part_count,
                                     .keep = hw_stored_copy,
                                     .put_back = hw_stored_return,
                                     .visit = visit,
                                     .drop = drop,
                                     .remember = remember,
                                     .collect = hw_stored_collect,
                                     .restore = hw_stored_restore};
