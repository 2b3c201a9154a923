#include "runtime/drive/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "program/kind.h"
#include "program/moving.h"
#include "runtime/block/moving.h"
#include "runtime/block/part.h"
#include "runtime/block/stored.h"
#include "runtime/drive/driver.h"
#include "runtime/job/kept_results.h"
#include "runtime/store/hub.h"

static hawser_status make_table(hw_session *session, const hawser_state *state, hawser_error *error)
{
    char name[24];
    snprintf(name, sizeof name, "state %u", state->number);
    hawser_table table = {.name = name, .type = state->type, .last = hw_state_count(state) - 1, .function = "assign"};
    if (state->function != NULL) {
        table.function = state->function->name;
        memcpy(table.parameters, state->parameters, sizeof table.parameters);
    }
    table.summed = state->summed;
    table.delay = hw_state_delay(state);
    table.data_centric = state->function == NULL && table.delay != HW_DELAY_NONE;
    if (!table.data_centric)
        table.delay = 0;
    return hawser_store_table(session->store, &table, &session->tables[state->number], error);
}

/* Stores a share's first values. In an ordered table they are iteration 0, which no block reads. */
static hawser_status put_share(hw_session *session, const hawser_state *state, uint32_t block, const void *zeros,
                               hawser_error *error)
{
    size_t begin, end;
    uint64_t task;
    bool ordered = hw_stored_ordered(state);
    hw_plan_range(session->plan, state, block, &begin, &end);
    uint32_t table = session->tables[state->number], worker = hw_session_runner(session, block);
    if (ordered)
        HAWSER_TRY(hawser_store_clock(session->store, table, worker, 0, 0, hw_state_count(state) - 1, error));
    const void *initial = hw_plan_initial(session->plan, state, begin);
    if (begin == end || (!ordered && initial == NULL))
        return HAWSER_OK;
    hawser_request request = {
        .table = table, .worker = worker, .first = begin, .last = end - 1, .count = end - begin, .values = zeros};
    if (initial != NULL)
        request.values = initial;
    return hawser_push(session->store, &request, &task, error);
}

static hawser_status put_first_values(hw_session *session, hawser_error *error)
{
    size_t most = 0, begin, end;
    double *zeros = NULL;
    hawser_status status = HAWSER_OK;
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next)
        for (uint32_t b = 0; hw_kind_of(state)->served && b < session->local; b++) {
            hw_plan_range(session->plan, state, session->own[b], &begin, &end);
            most = end - begin > most ? end - begin : most;
        }
    HAWSER_TRY(HW_NEW(&zeros, most, "first values", error));
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next)
        for (uint32_t b = 0; hw_kind_of(state)->served && b < session->local && status == HAWSER_OK; b++)
            status = put_share(session, state, session->own[b], zeros, error);
    /* Pushes to ordered tables wait for the blocks of all nodes. */
    HAWSER_THEN(status, hawser_store_wait_all(session->store, error));
    free(zeros);
    return status;
}

static hawser_status fill(hw_session *session, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&session->tables, session->program->state_count, "tables of stored states", error));
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next)
        if (hw_kind_of(state)->served)
            HAWSER_TRY(make_table(session, state, error));
    hawser_status status = put_first_values(session, error);
    return hw_cluster_agree(session->cluster, status, error);
}

/* A stored state that no unit uses ends with its first values. */
static bool needs_store(const hw_session *session)
{
    bool needs = hw_operator_stores(session->program->root);
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next)
        needs = needs || (hw_kind_of(state)->served && hw_plan_initial(session->plan, state, 0) != NULL);
    return needs;
}

hawser_status hw_keep_open(hw_session *session, hawser_error *error)
{
    if (!needs_store(session))
        return HAWSER_OK;
    const hw_hub_sessions seats = {.numbers = session->own,
                                   .own = session->local,
                                   .all = session->blocks,
                                   .nodes = session->view.node,
                                   .still = session->job->fibers};
    HAWSER_TRY(hw_hub_open(session->job, NULL, &seats, &session->store, error));
    return fill(session, error);
}

/* Returns whether the run was abandoned: then requests may wait for versions that no block will write. */
static bool was_abandoned(const hw_session *session)
{
    return session->driver != NULL ? session->driver->abandoned : session->workers != NULL && session->workers[0].abandoned;
}

/* The shares of a moving state are its parts. */
static hawser_status take_moving(const hw_session *session, const hawser_state *state, hw_kept_values *values,
                                 hawser_error *error)
{
    uint32_t parts = state->moving->parts;
    const uint32_t *owners = NULL;
    hw_message **taken = NULL;
    free(values->shares);
    values->shares = NULL;
    values->share_count = 0;
    bool point = state->keeps && session->workers[0].takes_point > 0; /* then each block has its parts of that */
    values->lost = !point && (was_abandoned(session) || session->workers[0].apart);
    HAWSER_TRY(HW_NEW(&values->shares, parts, "results", error));
    values->share_count = parts;
    HAWSER_TRY(HW_NEW(&taken, parts, "results", error));
    hawser_status status = HAWSER_OK;
    for (uint32_t i = 0; i < session->local && status == HAWSER_OK; i++)
        status = hw_moving_take(&session->workers[i], &session->workers[i].parts[state->number], taken, &owners, error);
    for (uint32_t p = 0; p < parts; p++) {
        size_t first = hw_moving_first(state, p);
        if (taken[p] != NULL && taken[p]->payload == NULL) { /* an empty part */
            hw_message_free(taken[p]);
            taken[p] = NULL;
        }
        values->shares[p] = (hw_kept_share){.begin = first,
                                            .end = first + hw_moving_count(state, p),
                                            .node = owners != NULL ? hw_view_node(&session->view, owners[p]) : 0,
                                            .values = taken[p] != NULL ? taken[p]->payload : NULL,
                                            .message = taken[p]};
    }
    free(taken);
    return status;
}

static hawser_status take_state(const hw_session *session, const hawser_state *state, hw_kept_values *values,
                                hawser_error *error)
{
    *values = (hw_kept_values){.state = state->number,
                               .size = hw_state_size(state),
                               .count = hw_plan_count(session->plan, state),
                               .shares = values->shares,
                               .share_count = values->share_count};
    if (state->moving != NULL)
        return take_moving(session, state, values, error);
    for (uint32_t b = 0; b < session->blocks; b++) {
        hw_kept_share *share = &values->shares[b];
        share->node = hw_view_node(&session->view, b);
        hw_plan_range(session->plan, state, b, &share->begin, &share->end);
    }
    for (uint32_t i = 0; i < session->local; i++) {
        hw_state_part *part = &session->workers[i].parts[state->number];
        hw_kept_share *share = &values->shares[session->own[i]];
        hw_worker *worker = &session->workers[i];
        bool apart = was_abandoned(session) || worker->apart || worker->in_phase; /* in_phase: it has failed there */
        HAWSER_TRY(part->kind->take_share(worker, part, apart, &share->values, error));
    }
    return HAWSER_OK;
}

hawser_status hw_keep_take(hw_session *session, hawser_error *error)
{
    uint32_t count = 0;
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next)
        count += hw_state_is_kept(state);
    if (count == 0)
        return HAWSER_OK;
    hawser_job *job = session->job;
    if (job->kept_results == NULL)
        HAWSER_TRY(hw_kept_results_open(job->cluster, job->timeout, job->messages, &job->kept_results, error));
    HAWSER_TRY(hw_kept_run_new(job->kept_results, session->number, session->blocks, count, &session->kept, error));
    hw_kept_run *result = session->kept;
    result->data = session->plan->memory_data;
    result->limit = session->plan->settings.memory;
    count = 0;
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next)
        if (hw_state_is_kept(state))
            HAWSER_TRY(take_state(session, state, &result->states[count++], error));
    hw_kept_run_publish(result);
    return HAWSER_OK;
}

void hw_keep_check(const hw_session *session, hw_not_finite *found)
{
    *found = (hw_not_finite){.state = UINT32_MAX};
    uint32_t at = 0;
    for (const hawser_state *state = session->program->states; session->kept != NULL && state != NULL; state = state->next) {
        const hw_numbers *numbers = hw_numbers_of(state->type);
        if (!hw_state_is_kept(state))
            continue;
        const hw_kept_values *values = &session->kept->states[at++];
        for (uint32_t i = 0; i < session->local && session->workers[i].parts[state->number].kind->unchecked; i++) {
            const hw_kept_share *share = &values->shares[session->own[i]];
            size_t bad = numbers->first_not_finite(share->values, share->end - share->begin);
            if (bad == share->end - share->begin || found->state <= state->number)
                continue;
            *found = (hw_not_finite){.state = state->number, .number = share->begin + bad};
            numbers->text(share->values, bad, found->text);
        }
    }
}

void hw_keep_count(const hw_session *session)
{
    hawser_store *store = session->store;
    if (store == NULL)
        return;
    pthread_mutex_lock(&store->mutex); /* for the client; as a server this node may still be asked by others */
    for (uint32_t i = 0; i < session->local; i++) {
        const hw_client_traffic traffic = hw_client_traffic_of(store->client, session->own[i]);
        hw_mailbox *mailbox = &session->workers[i].mailbox;
        hw_flow *flow = &mailbox->kinds[HW_MESSAGE_ASK];
        flow->messages += traffic.messages;
        flow->plain += traffic.bytes_plain;
        flow->bytes += traffic.bytes_sent;
        mailbox->messages_sent += traffic.messages;
        mailbox->bytes_sent += traffic.bytes_sent;
        mailbox->bytes_received += traffic.bytes_received;
    }
    pthread_mutex_unlock(&store->mutex);
}

void hw_keep_close(hw_session *session, const hawser_error *ended)
{
    const hawser_error early = {.status = HAWSER_TIMEOUT, .text = "the run was ended early"};
    if (session->store != NULL && ended->status < HAWSER_OK)
        hw_hub_end(session->store, ended);
    else if (session->store != NULL && was_abandoned(session))
        hw_hub_end(session->store, &early);
    hawser_store_close(session->store);
    session->store = NULL;
    free(session->tables);
}
