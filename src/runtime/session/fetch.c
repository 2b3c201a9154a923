#include "runtime/session/fetch.h"

#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/memory.h"
#include "data/residence.h"
#include "hawser/job_data.h"

static struct hawser_residence *residence_of(const hw_session *session, uint32_t state)
{
    for (const hawser_state *at = session->program->states; at != NULL; at = at->next)
        if (at->number == state)
            return hw_state_residence(at);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------- answering ---- */

static hawser_status check_columns(const struct hawser_residence *residence, const uint32_t *columns, size_t count,
                                   hawser_error *error)
{
    for (size_t k = 0; k < count; k++)
        if (columns[k] >= residence->whole.cols || hw_owner(&residence->owners, columns[k]) != residence->self)
            return hawser_fail(error, HAWSER_BAD_INPUT, "it requested column %u, which is not on this node", columns[k]);
    return HAWSER_OK;
}

static hawser_status answer(hw_session *session, const hw_message *message, hawser_error *error)
{
    const hw_envelope *asked = &message->envelope;
    struct hawser_residence *residence = residence_of(session, asked->state);
    const uint32_t *columns = message->payload;
    size_t count = asked->length / sizeof *columns;
    hw_message *reply = NULL;
    if (residence == NULL || residence->rows != NULL || asked->length != count * sizeof *columns ||
        asked->source >= session->blocks)
        return hawser_fail(error, HAWSER_BAD_INPUT, "it requested columns of state %u, which has none", asked->state);
    HAWSER_TRY(check_columns(residence, columns, count, error));
    HAWSER_TRY(hw_message_new(hw_columns_bytes(residence, columns, count), &reply, error));
    hw_columns_pack(residence, columns, count, reply->payload);
    reply->envelope.kind = HW_MESSAGE_COLUMNS;
    reply->envelope.state = asked->state;
    hw_transport *transport = session->transport;
    return transport->ops->send(transport, hw_agent_endpoint(session, session->node), asked->source, reply, error);
}

hawser_status hw_fetch_serve(void *argument, hw_message *message, hawser_error *error)
{
    hawser_status status = answer(argument, message, error);
    hw_message_free(message);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- asking ---- */

/* The node that has the columns sends them without a mailbox, so the receiver counts them. */
static void count_columns(hw_mailbox *mailbox, const hw_message *message)
{
    hw_flow *flow = &mailbox->kinds[HW_MESSAGE_COLUMNS];
    flow->messages++;
    flow->plain += message->envelope.length;
    flow->bytes += message->envelope.length + sizeof message->envelope;
}

hawser_status hw_fetch_take(hw_mailbox *mailbox, hw_message *message)
{
    struct hawser_residence *residence = residence_of(mailbox->session, message->envelope.state);
    hw_executor *executor = mailbox->session->executor;
    hawser_status status =
        residence != NULL && residence->rows == NULL
            ? hw_columns_take(residence, message->payload, message->envelope.length, mailbox->error)
            : hawser_fail(mailbox->error, HAWSER_INTERNAL, "received columns of state %u, which is not a data state",
                          message->envelope.state);
    count_columns(mailbox, message);
    hw_message_free(message);
    for (uint32_t runner = 0; runner < mailbox->session->local; runner++) /* others may wait for the same columns */
        executor->ops->wake(executor, runner);
    return status;
}

typedef struct column_wait {
    const struct hawser_residence *residence;
    const uint32_t *columns;
    size_t count, seen; /* the first `seen` are on this node */
} column_wait;

static bool all_here(void *argument)
{
    column_wait *wait = argument;
    while (wait->seen < wait->count && hw_is_here(wait->residence, wait->columns[wait->seen]))
        wait->seen++;
    return wait->seen == wait->count;
}

/* Marks and lists the columns of one owner that no block of this node has requested yet. */
static size_t take_unrequested(struct hawser_residence *residence, const uint32_t *columns, size_t count, uint32_t owner,
                               uint32_t *list)
{
    size_t found = 0;
    for (size_t k = 0; k < count; k++) {
        unsigned char before = HW_ELSEWHERE;
        if (hw_owner(&residence->owners, columns[k]) == owner &&
            atomic_compare_exchange_strong(&residence->state[columns[k]], &before, HW_REQUESTED))
            list[found++] = columns[k];
    }
    return found;
}

static hawser_status request(hw_mailbox *mailbox, const hawser_state *state, const uint32_t *columns, size_t count,
                             uint32_t *list)
{
    const hw_session *session = mailbox->session;
    for (uint32_t node = 0; node < session->nodes; node++) {
        size_t found = node == session->node ? 0 : take_unrequested(state->matrix->residence, columns, count, node, list);
        hw_message *message = NULL;
        if (found == 0)
            continue;
        HAWSER_TRY(hw_message_new(found * sizeof *list, &message, mailbox->error));
        memcpy(message->payload, list, found * sizeof *list);
        message->envelope.kind = HW_MESSAGE_FETCH;
        message->envelope.state = state->number;
        HAWSER_TRY(hw_send(mailbox, hw_agent_endpoint(session, node), message));
    }
    return HAWSER_OK;
}

/* Waits until the columns are on this node; none of them is beyond the matrix. */
static hawser_status fetch(hw_mailbox *mailbox, const hawser_state *state, const uint32_t *columns, size_t count)
{
    column_wait wait = {.residence = state->matrix->residence, .columns = columns, .count = count};
    uint32_t *list = NULL;
    if (all_here(&wait))
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&list, count, "columns to fetch", mailbox->error));
    hawser_status status = request(mailbox, state, columns, count, list);
    free(list);
    return status == HAWSER_OK ? hw_wait(mailbox, all_here, &wait) : status;
}

/* Fetches columns a few at a time, so that the messages with them take little memory. */
static hawser_status fetch_in_pieces(hw_mailbox *mailbox, const hawser_state *state, const uint32_t *columns, size_t count)
{
    const struct hawser_residence *residence = state->matrix->residence;
    size_t bytes = 0, first = 0;
    for (size_t k = 0; k < count; k++) {
        bytes += hw_is_here(residence, columns[k]) ? 0 : hw_column_bytes(residence, columns[k]);
        if (bytes < HW_FETCH_BYTES && k + 1 < count)
            continue;
        HAWSER_TRY(fetch(mailbox, state, columns + first, k + 1 - first));
        first = k + 1;
        bytes = 0;
    }
    return HAWSER_OK;
}

hawser_status hw_fetch_columns(hw_mailbox *mailbox, const hawser_state *state, const uint32_t *columns, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (columns[k] >= state->matrix->cols)
            return hawser_fail(mailbox->error, HAWSER_BAD_ARGUMENT, "column %u is requested of state '%s', which has %zu",
                               columns[k], state->name, state->matrix->cols);
    const struct hawser_residence *residence = state->matrix->residence;
    bool all = residence == NULL || residence->rows != NULL; /* a block's own rows have all columns */
    return all ? HAWSER_OK : fetch_in_pieces(mailbox, state, columns, count);
}

/* Returns the first column of a part that this node has received at the load, where each node begins: so they do not all ask
 * the same node. */
static size_t first_own(const hawser_matrix *part)
{
    size_t k = 0;
    while (k < part->cols && hw_owner(&part->residence->owners, hw_presence_column(part, k)) != part->residence->self)
        k++;
    return k < part->cols ? k : 0;
}

hawser_status hw_fetch_part(hw_mailbox *mailbox, const hawser_state *state, hawser_matrix *part)
{
    uint32_t *list = NULL;
    size_t begin = first_own(part);
    hawser_status status = HW_NEW(&list, part->cols, "columns of a block", mailbox->error);
    for (size_t k = 0; status == HAWSER_OK && k < part->cols; k++)
        list[k] = (uint32_t)hw_presence_column(part, (begin + k) % part->cols);
    HAWSER_THEN(status, fetch_in_pieces(mailbox, state, list, part->cols));
    free(list);
    if (status == HAWSER_OK)
        part->residence = NULL; /* fetched columns stay */
    return status;
}

hawser_status hw_fetch_check(const hw_session *session, hawser_error *error)
{
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next) {
        uint64_t absent = hw_state_residence(state) != NULL ? hw_absent_taken(state->matrix->residence) : 0;
        if (absent != 0 && state->matrix->residence->rows != NULL)
            return hawser_fail(
                error, HAWSER_BAD_PROGRAM,
                "the whole of data state '%s' was used outside of a unit, but its rows are held by block; use "
                "the rows of a block in a unit (hawser_read)",
                state->name);
        if (absent != 0)
            return hawser_fail(
                error, HAWSER_BAD_PROGRAM,
                "column %llu of data state '%s' was used outside of a unit, but is on another node; fetch it by "
                "hawser_job_fetch before it is used",
                (unsigned long long)absent - 1, state->name);
    }
    return HAWSER_OK;
}

void hw_fetch_forget(const hw_session *session)
{
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next)
        if (hw_state_residence(state) != NULL && hw_state_rows_held(state) == NULL)
            hw_forget_requests(state->matrix->residence);
}

/* ------------------------------------------------------------------------------------------------ outside a run ---- */

hawser_status hawser_job_fetch(hawser_job *job, const hawser_matrix *matrix, const uint32_t *columns, size_t count,
                               hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(matrix);
    if (count > 0)
        HW_GIVEN(columns);
    struct hawser_residence *residence = matrix->residence;
    hw_bytes own = {0}, *in = NULL;
    uint32_t *mine = NULL;
    size_t held = 0;
    if (residence != NULL && residence->rows != NULL)
        return hawser_matrix_whole(matrix, error);
    if (residence == NULL || job->cluster == NULL)
        return HAWSER_OK;
    uint32_t nodes = hw_cluster_nodes(job->cluster);
    hawser_status status = HW_NEW(&mine, count, "columns to fetch", error);
    for (size_t k = 0; status == HAWSER_OK && k < count; k++) {
        if (columns[k] >= residence->whole.cols)
            status = hawser_fail(error, HAWSER_BAD_ARGUMENT, "column %u is requested of a matrix of %zu", columns[k],
                                 residence->whole.cols);
        else if (hw_owner(&residence->owners, columns[k]) == residence->self)
            mine[held++] = columns[k];
    }
    HAWSER_THEN(status, HW_NEW(&in, nodes, "columns to fetch", error));
    own.length = status == HAWSER_OK ? hw_columns_bytes(residence, mine, held) : 0;
    HAWSER_THEN(status, hw_new_array(&own.data, own.length, 1, "columns to fetch", error));
    status = hw_cluster_agree(job->cluster, status, error);
    if (status == HAWSER_OK) {
        hw_columns_pack(residence, mine, held, own.data);
        status = hw_cluster_allgather(job->cluster, own, in, error);
    }
    for (uint32_t i = 0; status == HAWSER_OK && i < nodes; i++)
        status = hw_columns_take(residence, in[i].data, in[i].length, error);
    hw_bytes_free(in, nodes);
    free(own.data);
    free(mine);
    return status;
}
