/* gather.c - packs the figures of a node's blocks for the driver's node. Both nodes have the same build, so structs are sent
 * as they are. */
#include <string.h>

#include "base/hash.h"
#include "base/machine.h"
#include "base/memory.h"
#include "runtime/block/part.h"
#include "runtime/drive/agent.h"
#include "runtime/drive/collect.h"
#include "runtime/drive/cursor.h"
#include "runtime/drive/keep.h"

static void put_block(hw_drive_cursor *cursor, const hw_worker *worker)
{
    const hawser_program *program = worker->session->program;
    hw_block_record record = hw_worker_record(worker);
    hw_put(cursor, &record, sizeof record);
    hw_put(cursor, worker->events, program->operator_count * sizeof *worker->events);
    for (uint32_t i = 0; i < program->state_count; i++)
        hw_put(cursor, &worker->parts[i].flow, sizeof(hw_flow));
}

static void put_links(hw_drive_cursor *cursor, const hw_session *session)
{
    for (uint32_t node = 0; node < session->nodes; node++) {
        hawser_link link;
        if (node != session->node && hw_session_link(session, node, &link))
            hw_put(cursor, &link, sizeof link);
    }
}

static void put_all(hw_drive_cursor *cursor, const hw_session *session, uint64_t digest, const hw_not_finite *found)
{
    hw_put(cursor, &digest, sizeof digest);
    hw_put(cursor, found, sizeof *found);
    for (uint32_t i = 0; i < session->local; i++)
        put_block(cursor, &session->workers[i]);
    hawser_accept_figures accepts = hw_session_accepts(session);
    hw_put(cursor, &accepts, sizeof accepts);
    put_links(cursor, session);
}

uint64_t hw_session_digest(const hw_session *session)
{
    uint64_t digest = 0;
    for (uint32_t i = 0; i < session->program->state_count; i++) {
        const hw_state_part *part = &session->workers[0].parts[i];
        if (part->kind->alike)
            digest = hw_hash(part->kind->merged(part), hw_state_bytes(part->state), digest);
    }
    return digest;
}

bool hw_gather_equals(const hw_message *message, uint64_t digest)
{
    uint64_t theirs;
    if (message == NULL || message->envelope.kind != HW_MESSAGE_GATHER || message->envelope.length < sizeof theirs)
        return false;
    memcpy(&theirs, message->payload, sizeof theirs);
    return theirs == digest;
}

hawser_status hw_gather_pack(hw_session *session, hw_message **message, hawser_error *error)
{
    hw_drive_cursor measure = {0};
    hw_not_finite found;
    HAWSER_TRY(hw_keep_take(session, error));
    hw_keep_check(session, &found);
    hw_keep_count(session);
    uint64_t digest = hw_session_digest(session);
    put_all(&measure, session, digest, &found);
    HAWSER_TRY(hw_message_new(measure.at, message, error));
    hw_drive_cursor cursor = {.bytes = (*message)->payload, .size = measure.at};
    put_all(&cursor, session, digest, &found);
    (*message)->envelope.length = cursor.at; /* a link may have ended meanwhile */
    return HAWSER_OK;
}

static bool take_block(hw_drive_cursor *cursor, const hw_session *session, uint32_t node, hawser_run *run)
{
    const hawser_program *program = session->program;
    hw_block_record record;
    if (!hw_get(cursor, &record, sizeof record) || record.block >= session->blocks ||
        hw_view_node(&session->view, record.block) != node)
        return false;
    const void *events = hw_get_there(cursor, program->operator_count * sizeof(hw_event));
    const void *flows = hw_get_there(cursor, program->state_count * sizeof(hw_flow));
    if (events == NULL || flows == NULL)
        return false;
    hw_run_add_block(run, &record);
    hw_run_add_events(run, session, events);
    hw_run_add_flows(run, session, flows);
    return true;
}

hawser_status hw_gather_take(const hw_session *session, const hw_message *message, hawser_run *run, hawser_error *error)
{
    hw_drive_cursor cursor = {.bytes = message->payload, .size = message->envelope.length};
    uint32_t node = message->envelope.source - session->blocks - 1;
    uint64_t digest;
    hw_not_finite found;
    bool fine = hw_get(&cursor, &digest, sizeof digest) && hw_get(&cursor, &found, sizeof found);
    if (fine)
        hw_run_add_not_finite(run, &found);
    for (uint32_t b = 0; b < session->blocks && fine; b++)
        if (hw_view_node(&session->view, b) == node)
            fine = take_block(&cursor, session, node, run);
    hawser_accept_figures accepts;
    fine = fine && hw_get(&cursor, &accepts, sizeof accepts) && accepts.node == node;
    if (fine) {
        accepts.last[sizeof accepts.last - 1] = '\0';
        hw_run_add_accepts(run, &accepts);
    }
    hawser_link link;
    while (fine && cursor.at < cursor.size) {
        fine = hw_get(&cursor, &link, sizeof link) && link.from == node && link.to < session->nodes;
        if (fine)
            HAWSER_TRY(hw_run_add_link(run, &link, error));
    }
    return fine ? HAWSER_OK
                : hawser_fail(error, HAWSER_INTERNAL, "what node %u gathered does not fit the program (%zu of %zu bytes)",
                              node, cursor.at, cursor.size);
}
