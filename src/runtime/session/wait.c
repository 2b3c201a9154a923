/* wait.c - how a block, driver or agent waits: reads its inbox, tests a condition, parks. */
#include <stdio.h>

#include "exchange/pack.h"
#include "runtime/session/status.h"

void hw_mailbox_end(hw_mailbox *mailbox, hawser_status status)
{
    if (mailbox->ended == HAWSER_OK)
        mailbox->ended = status;
}

/* Asks the policy what follows from a loss. */
static hawser_status take_loss(hw_mailbox *mailbox, hw_message *message)
{
    const hw_loss *loss = message->payload;
    hawser_status status = HAWSER_OK;
    if (message->envelope.length != sizeof *loss) {
        status = hawser_fail(mailbox->error, HAWSER_INTERNAL, "a loss was reported in %llu bytes",
                             (unsigned long long)message->envelope.length);
    } else {
        mailbox->losses++;
        if (mailbox->session->after_loss(mailbox->session, loss) == HW_RUN_ENDS)
            hw_mailbox_end(mailbox, mailbox->lost(mailbox->owner, loss));
    }
    hw_message_free(message);
    return status;
}

hawser_status hw_drain(hw_mailbox *mailbox)
{
    hw_transport *transport = mailbox->session->transport;
    hw_message *message;
    hawser_status status = HAWSER_OK;
    uint64_t count = 0;
    while (status == HAWSER_OK && mailbox->ended == HAWSER_OK &&
           (message = transport->ops->receive(transport, mailbox->endpoint)) != NULL) {
        count++;
        mailbox->bytes_received += sizeof message->envelope + message->envelope.length;
        status = message->envelope.kind == HW_MESSAGE_LOST ? take_loss(mailbox, message)
                                                           : mailbox->handle(mailbox->owner, message);
    }
    if (count > 0)
        atomic_fetch_add_explicit(&mailbox->session->received, count, memory_order_relaxed);
    if (status == HAWSER_OK && mailbox->ended == HAWSER_OK && mailbox->drained != NULL)
        status = mailbox->drained(mailbox->owner);
    return mailbox->ended != HAWSER_OK ? mailbox->ended : status;
}

/* Returns whether the mailbox is that of this node's driver or agent. */
static bool speaks_for_node(const hw_mailbox *mailbox)
{
    return mailbox->runner == mailbox->session->local;
}

/* Returns the seconds in which no node was at work, as far as this mailbox knows: only the driver knows of other nodes. */
static double quiet(const hw_mailbox *mailbox, double timeout, double now)
{
    const hw_session *session = mailbox->session;
    if (session->nodes <= 1)
        return timeout;
    return speaks_for_node(mailbox) ? hw_status_table_quiet(session->status_table, now) : 0;
}

hawser_status hw_wait(hw_mailbox *mailbox, bool (*ready)(void *argument), void *argument)
{
    hw_executor *executor = mailbox->session->executor;
    double timeout = mailbox->session->job->timeout;
    double deadline = executor->ops->now(executor) + timeout;
    mailbox->cause = HW_WAIT_INPUT;
    for (;;) {
        HAWSER_TRY(hw_drain(mailbox));
        if (ready(argument))
            return HAWSER_OK;
        double start = executor->ops->now(executor);
        if (speaks_for_node(mailbox))
            hw_status_table_tick(mailbox->session->status_table, start);
        if (start >= deadline) {
            bool idle = executor->ops->busy(executor) <= 1;
            double silence = quiet(mailbox, timeout, start);
            /* Messages that others sent before they became idle may have arrived since the last read. */
            HAWSER_TRY(hw_drain(mailbox));
            if (ready(argument))
                return HAWSER_OK;
            if (idle && silence >= timeout)
                return hawser_fail(mailbox->error, HAWSER_TIMEOUT,
                                   "%s %u timed out after %.0f s: all workers%s were waiting (see --timeout)",
                                   mailbox->endpoint < mailbox->session->blocks ? "block" : "driver", mailbox->endpoint,
                                   timeout, mailbox->session->nodes > 1 ? " on all nodes" : "");
            deadline = start + (silence < timeout ? timeout - silence : timeout);
        }
        double until = mailbox->poll > 0 && start + mailbox->poll < deadline ? start + mailbox->poll : deadline;
        uint64_t at_work = atomic_exchange_explicit(&mailbox->work.since, 0, memory_order_relaxed);
        executor->ops->park(executor, mailbox->runner, until);
        double end = executor->ops->now(executor);
        if (at_work != 0)
            atomic_store_explicit(&mailbox->work.since, (uint64_t)(end * 1e9), memory_order_relaxed);
        mailbox->waited += end - start;
        mailbox->waits[mailbox->cause] += end - start;
    }
}

/* Counts a message to several places, each of which gets a copy. */
static void count(hw_mailbox *mailbox, const hw_message *message, uint64_t places, uint64_t plain, hw_flow *flow)
{
    uint64_t bytes = places * (sizeof message->envelope + message->envelope.length);
    hw_flow *const flows[] = {message->envelope.kind < HW_KINDS ? &mailbox->kinds[message->envelope.kind] : NULL, flow};
    mailbox->messages_sent += places;
    mailbox->bytes_sent += bytes;
    for (int i = 0; i < 2; i++)
        if (flows[i] != NULL)
            *flows[i] = (hw_flow){flows[i]->messages + places, flows[i]->plain + places * plain, flows[i]->bytes + bytes};
}

/* The receiver is gone. The loss is about to arrive in this inbox, and its text is what users must read, so the mailbox
 * waits for it. Agents do this elsewhere. */
hawser_status hw_loss_reason(hw_mailbox *mailbox, hawser_status status)
{
    enum { SECONDS_MOST = 2 };
    hw_executor *executor = mailbox->session->executor;
    if (status != HAWSER_PEER_LOST || mailbox->session->nodes == 1 || mailbox->endpoint > mailbox->session->blocks)
        return status;
    double until = executor->ops->now(executor) + SECONDS_MOST;
    hawser_status own;
    while ((own = hw_drain(mailbox)) == HAWSER_OK && mailbox->losses == 0 && executor->ops->now(executor) < until)
        executor->ops->park(executor, mailbox->runner, until);
    return own != HAWSER_OK ? own : status;
}

/* Returns the outcome of a send. A message to a lost node is dropped if the policy lets the run go on without it. */
static hawser_status after_send(hw_mailbox *mailbox, hawser_status status)
{
    hawser_status reason = hw_loss_reason(mailbox, status);
    bool dropped = reason == HAWSER_PEER_LOST && mailbox->ended == HAWSER_OK && mailbox->losses > 0;
    return dropped ? HAWSER_OK : reason;
}

static hawser_status send_counted(hw_mailbox *mailbox, uint32_t destination, hw_message *message, uint64_t plain,
                                  hw_flow *flow)
{
    hw_session *session = mailbox->session;
    count(mailbox, message, 1, plain, flow);
    message->envelope.source = mailbox->endpoint;
    hawser_status status =
        session->transport->ops->send(session->transport, mailbox->endpoint, destination, message, mailbox->error);
    session->executor->ops->yield(session->executor, mailbox->runner);
    return after_send(mailbox, status);
}

hawser_status hw_send(hw_mailbox *mailbox, uint32_t destination, hw_message *message)
{
    return send_counted(mailbox, destination, message, message->envelope.length, NULL);
}

/* Packs a message for other nodes if that makes it smaller. On failure *message was freed. */
static hawser_status pack(hw_mailbox *mailbox, hw_message **message, size_t entries)
{
    hw_message *packed = NULL;
    hawser_status status = hw_pack(*message, entries, &packed, mailbox->error);
    if (status != HAWSER_OK || packed != NULL) {
        hw_message_free(*message);
        *message = packed;
    }
    return status;
}

hawser_status hw_spread(hw_mailbox *mailbox, hw_message *message, size_t entries, hw_flow *flow)
{
    hw_session *session = mailbox->session;
    uint64_t plain = message->envelope.length;
    if (entries > 0)
        HAWSER_TRY(pack(mailbox, &message, entries));
    count(mailbox, message, session->nodes - 1, plain, flow);
    message->envelope.source = mailbox->endpoint;
    hawser_status status = session->transport->ops->spread(session->transport, mailbox->endpoint, message, mailbox->error);
    return after_send(mailbox, status);
}

hawser_status hw_send_update(hw_mailbox *mailbox, uint32_t block, hw_message *message, size_t entries, hw_flow *flow)
{
    hw_session *session = mailbox->session;
    uint64_t plain = message->envelope.length;
    if (entries > 0 && hw_view_node(&session->view, block) != session->node)
        HAWSER_TRY(pack(mailbox, &message, entries));
    return send_counted(mailbox, block, message, plain, flow);
}

hawser_status hw_send_to_node(hw_mailbox *mailbox, uint32_t node, hw_message *message, uint64_t plain, hw_flow *flow)
{
    hw_session *session = mailbox->session;
    count(mailbox, message, 1, plain, flow);
    message->envelope.source = mailbox->endpoint;
    hawser_status status =
        session->transport->ops->send_to_node(session->transport, mailbox->endpoint, node, message, mailbox->error);
    session->executor->ops->yield(session->executor, mailbox->runner);
    return after_send(mailbox, status);
}

hawser_status hw_fail_loss(hw_mailbox *mailbox, const hw_loss *loss, const char *at, uint64_t clock)
{
    char text[700], there[100] = "";
    const hw_status_table *status_table = speaks_for_node(mailbox) ? mailbox->session->status_table : NULL;
    hw_node_status node_status;
    hw_loss_text(loss, text, sizeof text);
    if (loss->reported != 0)
        return hawser_fail(mailbox->error, hw_loss_status(loss), "%s", text);
    if (loss->node != 0 && hw_status_table_of(status_table, loss->node, &node_status) && node_status.clocks > 0)
        (void)!snprintf(there, sizeof there, ", and node %u, by its last report, in clock %llu", loss->node,
                        (unsigned long long)node_status.clocks - 1);
    if (at == NULL && hw_status_table_of(status_table, 0, &node_status)) {
        at = node_status.phase;
        clock = node_status.clocks;
    }
    return hawser_fail(mailbox->error, HAWSER_PEER_LOST, "%s; the job was in '%s', clock %llu%s", text,
                       at != NULL ? at : "its beginning", (unsigned long long)clock, there);
}
