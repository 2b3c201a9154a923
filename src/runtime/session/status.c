#include "runtime/session/status.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "transport/segment/segment.h"

enum { SEGMENT = 1, GENERATION = 1 /* the segments of a run end with its transport */, SLOTS = 2 };

/* Seconds between two puts: the age that a reported status may have. With more nodes node 0, which sends to all, puts less
 * often. */
#define EVERY         0.25
#define EVERY_ADAPTED 0.05 /* where decisions wait for the measures of links */
#define EVERY_NODE    0.001

/* The measures of links in a status. */
typedef struct hw_link_mark {
    double busy, seconds;
} hw_link_mark;

struct hw_status_table {
    hw_session *session;
    hw_segment *segment;
    uint64_t *seen;      /* sequence, by place in the segment */
    uint32_t count;      /* nodes whose status is kept: all on the driver's node, and node 0 on the others */
    hw_node_status *all; /* [node] */
    bool *known;         /* [node] */
    uint64_t sequence;   /* of the last put */
    hw_node_status sent; /* the status that was sent with it */
    double sent_at;
    double *link_shares; /* [node]: of the time in which its busiest link had something to send */
    hw_link_mark *marks; /* [node]: where that time begins */
    double link_busy, measured_at;
    double quiet_since; /* on the driver's node; < 0: not quiet */
};

static bool leads(const hw_status_table *status_table)
{
    return status_table->session->node == 0;
}

static hawser_status expose(hw_status_table *status_table, hawser_error *error)
{
    hw_session *session = status_table->session;
    uint32_t count = leads(status_table) ? session->nodes - 1 : 1, *senders;
    HAWSER_TRY(HW_NEW(&senders, count, "the senders of the status table", error));
    for (uint32_t i = 0; i < count; i++)
        senders[i] = hw_agent_endpoint(session, leads(status_table) ? i + 1 : 0);
    const hw_segment_shape shape = {SEGMENT, GENERATION, senders, count, SLOTS, sizeof(hw_node_status)};
    hw_transport *transport = session->transport;
    hawser_status status =
        transport->ops->expose(transport, hw_agent_endpoint(session, session->node), &shape, &status_table->segment, error);
    free(senders);
    return status;
}

hawser_status hw_status_table_open(hw_session *session, hw_status_table **out, hawser_error *error)
{
    hw_status_table *status_table = NULL;
    *out = NULL;
    HAWSER_TRY(HW_NEW(&status_table, 1, "the status table", error));
    status_table->session = session;
    status_table->quiet_since = -1;
    status_table->count = leads(status_table) ? session->nodes : 1;
    hawser_status status = HW_NEW(&status_table->all, status_table->count, "the status table", error);
    HAWSER_THEN(status, HW_NEW(&status_table->known, status_table->count, "the status table", error));
    HAWSER_THEN(status, HW_NEW(&status_table->link_shares, status_table->count, "the status table", error));
    HAWSER_THEN(status, HW_NEW(&status_table->marks, status_table->count, "the status table", error));
    HAWSER_THEN(status, HW_NEW(&status_table->seen, status_table->count, "the status table", error));
    HAWSER_THEN(status, expose(status_table, error));
    if (status != HAWSER_OK) {
        hw_status_table_close(status_table);
        return status;
    }
    *out = status_table;
    return HAWSER_OK;
}

void hw_status_table_close(hw_status_table *status_table)
{
    if (status_table == NULL)
        return;
    if (status_table->segment != NULL)
        hw_segment_retire(status_table->segment);
    free(status_table->seen);
    free(status_table->known);
    free(status_table->link_shares);
    free(status_table->marks);
    free(status_table->all);
    free(status_table);
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

static hw_node_status own(const hw_status_table *status_table)
{
    const hw_session *session = status_table->session;
    const hawser_progress *progress = session->progress;
    hw_node_status node_status;
    memset(&node_status, 0, sizeof node_status); /* clears the padding, too, because it is compared */
    node_status.received = atomic_load_explicit(&session->received, memory_order_relaxed);
    node_status.queued = session->transport->ops->pending(session->transport);
    node_status.busy = session->executor->ops->busy(session->executor) - 1;
    node_status.clocks = progress != NULL ? progress->clock : slowest(session);
    node_status.link_busy = status_table->link_busy;
    node_status.seconds = status_table->measured_at;
    if (progress != NULL && progress->name != NULL)
        (void)!snprintf(node_status.phase, sizeof node_status.phase, "%.50s", progress->name);
    return node_status;
}

/* Puts the status into a node's segment. A node that it cannot reach is lost, which is reported elsewhere. */
static void put(hw_status_table *status_table, uint32_t node, hw_message *message)
{
    const hw_session *session = status_table->session;
    hw_transport *transport = session->transport;
    hw_message *copy;
    hawser_error error;
    if (hw_message_share(message, &copy, &error) != HAWSER_OK)
        return;
    (void)!transport->ops->put(transport, hw_agent_endpoint(session, session->node), hw_agent_endpoint(session, node), copy,
                               &error);
}

static void say(hw_status_table *status_table, const hw_node_status *node_status)
{
    hw_message *message;
    hawser_error error;
    if (hw_message_new(sizeof *node_status, &message, &error) != HAWSER_OK)
        return; /* it tries again at the next tick */
    memcpy(message->payload, node_status, sizeof *node_status);
    message->envelope.state = SEGMENT;
    message->envelope.epoch = GENERATION;
    message->envelope.clock = ++status_table->sequence;
    for (uint32_t node = leads(status_table) ? 1 : 0; node < (leads(status_table) ? status_table->session->nodes : 1);
         node++)
        put(status_table, node, message);
    hw_message_free(message);
}

typedef struct look {
    hw_status_table *status_table;
    bool moved;
} look;

static bool at_rest(const hw_node_status *before, const hw_node_status *now)
{
    return before->received == now->received && now->busy == 0 && now->queued == 0;
}

static void keep(look *eyes, uint32_t node, const hw_node_status *node_status)
{
    hw_status_table *status_table = eyes->status_table;
    if (!(status_table->marks[node].seconds > 0))
        status_table->marks[node] = (hw_link_mark){node_status->link_busy, node_status->seconds};
    eyes->moved |= !status_table->known[node] || !at_rest(&status_table->all[node], node_status);
    status_table->all[node] = *node_status;
    status_table->known[node] = true;
}

static void see(void *argument, const hw_fresh *found, const void *data)
{
    look *eyes = argument;
    hw_node_status node_status;
    uint32_t node = found->sender - hw_agent_endpoint(eyes->status_table->session, 0);
    if (found->length != sizeof node_status || node >= eyes->status_table->count)
        return; /* all nodes have the same build */
    memcpy(&node_status, data, sizeof node_status);
    node_status.phase[sizeof node_status.phase - 1] = '\0';
    keep(eyes, node, &node_status);
}

/* Decides whether all nodes are quiet. A status that was not put again has not changed: a node puts one when it begins and
 * when it ends work. */
static void judge(hw_status_table *status_table, bool moved, double now)
{
    for (uint32_t node = 0; node < status_table->session->nodes; node++)
        moved |= !status_table->known[node] || status_table->all[node].busy > 0 || status_table->all[node].queued > 0;
    if (moved)
        status_table->quiet_since = -1;
    else if (status_table->quiet_since < 0)
        status_table->quiet_since = now;
}

static double interval(const hw_status_table *status_table)
{
    const hw_session *session = status_table->session;
    return (session->plan->settings.adapts != 0 ? EVERY_ADAPTED : EVERY) + EVERY_NODE * session->nodes;
}

/* Measures how long this node's busiest link has had something to send so far. */
static void measure_links(hw_status_table *status_table, double now)
{
    const hw_session *session = status_table->session;
    if (now - status_table->measured_at < interval(status_table) || session->cluster == NULL)
        return;
    status_table->measured_at = now;
    for (uint32_t node = 0; node < session->nodes; node++) {
        hw_net_path path;
        if (node != session->node && hw_net_path_of(hw_cluster_net(session->cluster), node, &path) &&
            path.busy > status_table->link_busy)
            status_table->link_busy = path.busy;
    }
}

/* Returns whether a status says no more than the one that was sent last: measures of links alone are no reason for a
 * message. */
static bool is_sent(const hw_status_table *status_table, const hw_node_status *node_status)
{
    hw_node_status now = *node_status;
    now.link_busy = status_table->sent.link_busy;
    now.seconds = status_table->sent.seconds;
    return status_table->sequence > 0 && memcmp(&status_table->sent, &now, sizeof now) == 0;
}

double hw_status_table_link(hw_status_table *status_table, uint32_t *node)
{
    double most = 0;
    for (uint32_t i = 0; status_table != NULL && i < status_table->count; i++) {
        const hw_link_mark now = {status_table->all[i].link_busy, status_table->all[i].seconds};
        hw_link_mark *mark = &status_table->marks[i];
        if (mark->seconds > 0 && now.seconds > mark->seconds) {
            status_table->link_shares[i] = (now.busy - mark->busy) / (now.seconds - mark->seconds);
            *mark = now;
        }
        if (status_table->link_shares[i] > most) {
            most = status_table->link_shares[i];
            *node = i;
        }
    }
    return most;
}

void hw_status_table_tick(hw_status_table *status_table, double now)
{
    if (status_table == NULL)
        return;
    measure_links(status_table, now);
    look eyes = {.status_table = status_table};
    unsigned char buffer[sizeof(hw_node_status)];
    const hw_node_status node_status = own(status_table);
    (void)hw_segment_scan(status_table->segment, status_table->seen, buffer, see, &eyes);
    if (leads(status_table)) {
        keep(&eyes, 0, &node_status);
        judge(status_table, eyes.moved, now);
    }
    if (is_sent(status_table, &node_status) || now - status_table->sent_at < interval(status_table))
        return;
    status_table->sent = node_status;
    status_table->sent_at = now;
    say(status_table, &node_status);
}

bool hw_status_table_of(const hw_status_table *status_table, uint32_t node, hw_node_status *node_status)
{
    if (status_table == NULL || node >= status_table->count || !status_table->known[node])
        return false;
    *node_status = status_table->all[node];
    return true;
}

double hw_status_table_quiet(const hw_status_table *status_table, double now)
{
    return status_table == NULL || status_table->quiet_since < 0 ? 0 : now - status_table->quiet_since;
}
