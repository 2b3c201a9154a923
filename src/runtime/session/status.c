#include "runtime/session/status.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { SEGMENT = 1, GENERATION = 1 /* a run's segments go with its transport */, SLOTS = 2 };

/* Seconds between two puts: what people are told may be so old. More nodes, fewer puts of the one that tells all. */
#define EVERY      0.25
#define EVERY_NODE 0.001

struct hw_status_table {
    hw_session *session;
    hw_segment *segment;
    uint64_t *seen;      /* [place in the segment]: sequence */
    hw_node_status *all; /* [node] */
    bool *known;         /* [node] */
    uint64_t sequence;   /* of the last put */
    hw_node_status told; /* by it */
    double told_at;
    double quiet_since; /* the driver's node; < 0: not */
};

static bool leads(const hw_status_table *board)
{
    return board->session->node == 0;
}

static hawser_status expose(hw_status_table *board, hawser_error *error)
{
    hw_session *session = board->session;
    uint32_t count = leads(board) ? session->nodes - 1 : 1, *senders;
    HAWSER_TRY(HW_NEW(&senders, count, "a board's senders", error));
    for (uint32_t i = 0; i < count; i++)
        senders[i] = hw_agent_endpoint(session, leads(board) ? i + 1 : 0);
    const hw_segment_shape shape = {SEGMENT, GENERATION, senders, count, SLOTS, sizeof(hw_node_status)};
    hw_transport *transport = session->transport;
    hawser_status status =
        transport->ops->expose(transport, hw_agent_endpoint(session, session->node), &shape, &board->segment, error);
    free(senders);
    return status;
}

hawser_status hw_status_table_open(hw_session *session, hw_status_table **out, hawser_error *error)
{
    hw_status_table *board = NULL;
    *out = NULL;
    HAWSER_TRY(HW_NEW(&board, 1, "a board", error));
    board->session = session;
    board->quiet_since = -1;
    hawser_status status = HW_NEW(&board->all, session->nodes, "a board", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&board->known, session->nodes, "a board", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&board->seen, session->nodes, "a board", error);
    if (status == HAWSER_OK)
        status = expose(board, error);
    if (status != HAWSER_OK) {
        hw_status_table_close(board);
        return status;
    }
    *out = board;
    return HAWSER_OK;
}

void hw_status_table_close(hw_status_table *board)
{
    if (board == NULL)
        return;
    if (board->segment != NULL)
        hw_segment_retire(board->segment);
    free(board->seen);
    free(board->known);
    free(board->all);
    free(board);
}

static uint64_t slowest(const hw_session *session)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; session->mailboxes != NULL && i < session->local; i++) {
        uint64_t begun = atomic_load_explicit(&session->mailboxes[i]->work.clock, memory_order_relaxed);
        least = begun < least ? begun : least;
    }
    return least == UINT64_MAX ? 0 : least;
}

static hw_node_status own(const hw_status_table *board)
{
    const hw_session *session = board->session;
    const hawser_progress *progress = session->progress;
    hw_node_status tidings;
    memset(&tidings, 0, sizeof tidings); /* padding too: it is compared */
    tidings.heard = atomic_load_explicit(&session->heard, memory_order_relaxed);
    tidings.queued = session->transport->ops->pending(session->transport);
    tidings.busy = session->executor->ops->busy(session->executor) - 1;
    tidings.clocks = progress != NULL ? progress->clock : slowest(session);
    if (progress != NULL && progress->name != NULL)
        (void)!snprintf(tidings.phase, sizeof tidings.phase, "%.50s", progress->name);
    return tidings;
}

/* Whom it does not reach is lost, and that is told otherwise. */
static void put(hw_status_table *board, uint32_t node, hw_message *message)
{
    const hw_session *session = board->session;
    hw_transport *transport = session->transport;
    hw_message *copy;
    hawser_error error;
    if (hw_message_share(message, &copy, &error) != HAWSER_OK)
        return;
    (void)!transport->ops->put(transport, hw_agent_endpoint(session, session->node), hw_agent_endpoint(session, node), copy,
                               &error);
}

static void say(hw_status_table *board, const hw_node_status *tidings)
{
    hw_message *message;
    hawser_error error;
    if (hw_message_new(sizeof *tidings, &message, &error) != HAWSER_OK)
        return; /* with the next look */
    memcpy(message->payload, tidings, sizeof *tidings);
    message->envelope.state = SEGMENT;
    message->envelope.epoch = GENERATION;
    message->envelope.clock = ++board->sequence;
    for (uint32_t node = leads(board) ? 1 : 0; node < (leads(board) ? board->session->nodes : 1); node++)
        put(board, node, message);
    hw_message_free(message);
}

typedef struct look {
    hw_status_table *board;
    bool moved;
} look;

static bool at_rest(const hw_node_status *before, const hw_node_status *now)
{
    return before->heard == now->heard && now->busy == 0 && now->queued == 0;
}

static void keep(look *eyes, uint32_t node, const hw_node_status *tidings)
{
    hw_status_table *board = eyes->board;
    eyes->moved |= !board->known[node] || !at_rest(&board->all[node], tidings);
    board->all[node] = *tidings;
    board->known[node] = true;
}

static void see(void *argument, const hw_fresh *found, const void *data)
{
    look *eyes = argument;
    hw_node_status tidings;
    uint32_t node = found->sender - hw_agent_endpoint(eyes->board->session, 0);
    if (found->length != sizeof tidings)
        return; /* nodes of one build only */
    memcpy(&tidings, data, sizeof tidings);
    tidings.phase[sizeof tidings.phase - 1] = '\0';
    keep(eyes, node, &tidings);
}

/* What has not been put again has not changed: a node that is at work says so when it begins and when it ends. */
static void judge(hw_status_table *board, bool moved, double now)
{
    for (uint32_t node = 0; node < board->session->nodes; node++)
        moved |= !board->known[node] || board->all[node].busy > 0 || board->all[node].queued > 0;
    if (moved)
        board->quiet_since = -1;
    else if (board->quiet_since < 0)
        board->quiet_since = now;
}

void hw_status_table_tick(hw_status_table *board, double now)
{
    if (board == NULL)
        return;
    look eyes = {.board = board};
    unsigned char buffer[sizeof(hw_node_status)];
    const hw_node_status tidings = own(board);
    (void)hw_segment_scan(board->segment, board->seen, buffer, see, &eyes);
    if (leads(board)) {
        keep(&eyes, 0, &tidings);
        judge(board, eyes.moved, now);
    }
    bool told = board->sequence > 0 && memcmp(&board->told, &tidings, sizeof tidings) == 0;
    if (told || now - board->told_at < EVERY + EVERY_NODE * board->session->nodes)
        return;
    board->told = tidings;
    board->told_at = now;
    say(board, &tidings);
}

bool hw_status_table_of(const hw_status_table *board, uint32_t node, hw_node_status *tidings)
{
    if (board == NULL || node >= board->session->nodes || !board->known[node])
        return false;
    *tidings = board->all[node];
    return true;
}

double hw_status_table_quiet(const hw_status_table *board, double now)
{
    return board == NULL || board->quiet_since < 0 ? 0 : now - board->quiet_since;
}
