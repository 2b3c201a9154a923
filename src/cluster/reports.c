/* reports.c - how a loss reaches the nodes without a link to the lost node: a node that notices it reports it to node 0, and
 * node 0 to all. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cluster/internal.h"

/* Payload of HW_JOIN_LOST, as far as `why` is used. */
typedef struct loss_report {
    uint64_t incarnation; /* of the lost process */
    double silent;
    uint32_t node, by; /* the lost node, and the one that has noticed the loss */
    char why[HW_REASON];
} loss_report;

/* Returns whether a loss is still to be reported. Node 0 reports each lost node once, the others at most once; losses before
 * the cluster has formed have HW_JOIN_REFUSED. A goodbye says more than the end of a link. */
static bool must_report(hw_cluster *cluster, uint32_t node)
{
    pthread_mutex_lock(&cluster->mutex);
    bool first = cluster->formed && !cluster->leaving && node != cluster->self && node != 0 && node < cluster->nodes &&
                 !cluster->joiners[node].left && !cluster->joiners[node].reported;
    if (first)
        cluster->joiners[node].reported = true;
    pthread_mutex_unlock(&cluster->mutex);
    return first;
}

static void send_to_all(hw_cluster *cluster, const loss_report *report, const hw_message *message)
{
    for (uint32_t i = 1; i < cluster->nodes; i++) {
        hw_message *copy = NULL;
        hawser_error ignored;
        if (i == report->node || i == report->by || !hw_net_linked(cluster->net, i) ||
            hw_message_share(message, &copy, &ignored) != HAWSER_OK)
            continue;
        (void)!hw_net_send(cluster->net, i, copy, &ignored); /* a node that is lost, too, needs no report */
    }
}

void hw_cluster_report_loss(hw_cluster *cluster, const hw_loss *loss, uint32_t by)
{
    hw_message *message = NULL;
    hawser_error ignored;
    if (!must_report(cluster, loss->node))
        return;
    loss_report report = {.incarnation = hw_members_at(cluster->members, loss->node)->incarnation,
                          .silent = loss->silent,
                          .node = loss->node,
                          .by = by};
    snprintf(report.why, sizeof report.why, "%.*s", HW_REASON - 1, loss->why);
    size_t length = offsetof(loss_report, why) + strlen(report.why) + 1;
    if (hw_cluster_make_word(cluster, HW_JOIN_LOST, &report, length, &message, &ignored) != HAWSER_OK)
        return; /* this node's own job ends by the loss, which the others notice */
    if (cluster->self != 0) {
        (void)!hw_net_send(cluster->net, 0, message, &ignored);
        return;
    }
    send_to_all(cluster, &report, message);
    hw_message_free(message);
}

void hw_cluster_report_losses(hw_cluster *cluster)
{
    hw_member_event event;
    for (uint32_t place = 0; hw_members_loss(cluster->members, place, &event); place++)
        hw_cluster_report_loss(cluster, &event.loss, cluster->self);
}

static bool is_sane(const hw_cluster *cluster, uint32_t from, const loss_report *report, uint64_t length)
{
    return (cluster->self == 0 ? report->by == from : from == 0) && report->by < cluster->nodes && report->node != 0 &&
           report->node < cluster->nodes && report->silent >= 0 &&
           memchr(report->why, '\0', (size_t)length - offsetof(loss_report, why)) != NULL;
}

/* Returns whether a report is about a process that is still of the job, as far as this node knows. */
static bool is_present(hw_cluster *cluster, const loss_report *report)
{
    const uint32_t node = report->node;
    pthread_mutex_lock(&cluster->mutex);
    bool present = node != cluster->self && !cluster->joiners[node].left &&
                   report->incarnation == hw_members_at(cluster->members, node)->incarnation;
    pthread_mutex_unlock(&cluster->mutex);
    return present;
}

bool hw_cluster_read_report(hw_cluster *cluster, uint32_t from, const hw_message *message, hw_loss *loss, bool *news)
{
    loss_report report = {0};
    const uint64_t length = message->envelope.length;
    *news = false;
    if (length <= offsetof(loss_report, why) || length > sizeof report)
        return false;
    memcpy(&report, message->payload, (size_t)length);
    if (!is_sane(cluster, from, &report, length))
        return false;
    *loss = (hw_loss){.node = report.node, .silent = report.silent};
    snprintf(loss->name, sizeof loss->name, "%s", hw_cluster_name(cluster, report.node));
    if (report.by == from)
        snprintf(loss->why, sizeof loss->why, "%s (reported by node %u)", report.why, from);
    else /* node 0 has written so */
        snprintf(loss->why, sizeof loss->why, "%s", report.why);
    if (!is_present(cluster, &report))
        return true;
    /* A node with a link to the lost one notices the loss by that link, after what was sent before. */
    *news = cluster->self == 0 || !hw_net_linked(cluster->net, report.node);
    hw_net_gone(cluster->net, report.node, loss->why); /* a link that is being dialled is lost by that */
    return true;
}
