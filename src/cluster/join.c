/* join.c - how nodes form a cluster, and begin and end its jobs: members send join requests to the manager, it sends the
 * member list to all, each connects to its parent in the tree of collective calls, and the manager lets all go on.
 * Other links are made when they are first used. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cluster/gathering.h"
#include "cluster/internal.h"

#define REASON_SECONDS  5.0
#define LOSSES_TOGETHER 0.2

typedef struct join_request {
    hw_member member;
    hw_host_id host_id;
} join_request;

/* Sends to a node that may have left or be lost: then the next wait has the reason. */
static hawser_status send_or_drop(hw_cluster *cluster, uint32_t node, hw_message *message, hawser_error *error)
{
    hawser_status status = hw_net_send(cluster->net, node, message, error);
    return status == HAWSER_PEER_LOST ? HAWSER_OK : status;
}

static hawser_status send_message(hw_cluster *cluster, uint32_t node, hw_join_word what, const void *payload, size_t length,
                                  hawser_error *error)
{
    hw_message *message = NULL;
    HAWSER_TRY(hw_cluster_make_word(cluster, what, payload, length, &message, error));
    return send_or_drop(cluster, node, message, error);
}

/* ------------------------------------------------------------------------------------------- cannot form any more ---- */

/* Returns whether a node has left, so that the cluster cannot form. A node may leave the formed cluster, without a reason,
 * before this one has received that it is formed. */
static bool any_has_left(const hw_cluster *cluster, uint32_t *node)
{
    const uint32_t nodes = cluster->nodes != 0 ? cluster->nodes : 1;
    for (*node = 0; cluster->parted && *node < nodes; ++*node) {
        const hw_joiner *joiner = &cluster->joiners[*node];
        if (joiner->left && (*node == 0 || cluster->self == 0 || joiner->words != NULL))
            return true;
    }
    return false;
}

/* Returns whether the cluster cannot form any more. The mutex is held, as for the next. */
static bool is_over(const hw_cluster *cluster)
{
    uint32_t node;
    return cluster->refusal[0] != '\0' || hw_cluster_is_lost(cluster) || any_has_left(cluster, &node);
}

/* Fails with the reason for that. */
static hawser_status fail_over(hw_cluster *cluster, hawser_error *error)
{
    uint32_t node;
    if (cluster->refusal[0] != '\0')
        return hawser_fail(error, HAWSER_PEER_LOST, "the job's manager gave up: %s", cluster->refusal);
    if (!hw_cluster_is_lost(cluster) && any_has_left(cluster, &node))
        return hw_cluster_has_left(cluster, node, error);
    return hw_cluster_fail_lost(cluster, error);
}

/* Ends this node's dials if the cluster cannot form any more. The mutex is held. */
static void stop_dials(hw_cluster *cluster)
{
    if (!cluster->formed && cluster->net != NULL && is_over(cluster))
        hw_net_stop_dials(cluster->net);
}

/* ------------------------------------------------------------------------------------------------------ hearing ---- */

static bool ends_in_zero(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static bool sane(const join_request *request)
{
    const hw_member *member = &request->member;
    return ends_in_zero(member->name, sizeof member->name) && ends_in_zero(member->address, sizeof member->address) &&
           ends_in_zero(request->host_id.text, sizeof request->host_id.text) && member->processors != 0;
}

static bool take_request(hw_cluster *cluster, uint32_t node, const hw_message *message)
{
    const join_request *request = message->payload;
    if (cluster->host_ids == NULL || node >= cluster->nodes_most || message->envelope.length != sizeof *request ||
        !sane(request))
        return false;
    hw_member member = request->member;
    member.node = node;
    hw_members_set(cluster->members, &member);
    cluster->host_ids[node] = request->host_id;
    cluster->joiners[node].registered = true;
    return true;
}

/* Keeps the message: its payload is the member list from then on. */
static bool take_members(hw_cluster *cluster, uint32_t node, hw_message *message)
{
    const hw_member *members = message->payload;
    size_t count = message->envelope.length / sizeof *members;
    if (node != 0 || cluster->has_members || count <= cluster->self || count > cluster->nodes_most ||
        message->envelope.length != count * sizeof *members)
        return false;
    for (size_t i = 0; i < count; i++)
        if (members[i].node != i || !ends_in_zero(members[i].name, sizeof members[i].name) ||
            !ends_in_zero(members[i].address, sizeof members[i].address))
            return false;
    hw_members_adopt(cluster->members, message);
    cluster->nodes = (uint32_t)count;
    cluster->has_members = true;
    return true;
}

static bool take_refusal(hw_cluster *cluster, uint32_t node, const hw_message *message)
{
    if (node != 0 || message->envelope.length == 0)
        return false;
    snprintf(cluster->refusal, sizeof cluster->refusal, "%.*s", (int)message->envelope.length,
             (const char *)message->payload);
    return true;
}

/* Keeps the reason in a message. Without memory for it the node has given none. */
static void take_words(hw_joiner *joiner, const hw_message *message)
{
    const uint64_t all = message->envelope.length - message->envelope.span;
    const uint64_t length = all < HW_REASON ? all : HW_REASON - 1;
    const char *words = message->payload;
    free(joiner->words);
    joiner->words = length != 0 && words[0] != '\0' ? strndup(words, (size_t)length) : NULL;
}

/* A node that leaves, or ends its job, before a run that this node is in, or begins later, is missing in it. */
static void take_leave(hw_cluster *cluster, uint32_t node, const hw_message *message)
{
    pthread_mutex_lock(&cluster->mutex);
    hw_joiner *joiner = &cluster->joiners[node];
    if (message->envelope.state <= joiner->goodbyes) { /* it was forwarded, and a later one was not */
        pthread_mutex_unlock(&cluster->mutex);
        return;
    }
    joiner->goodbyes = message->envelope.state;
    cluster->parted = true;
    bool leaves = message->envelope.part == HW_JOIN_LEAVE;
    joiner->departed |= leaves && message->envelope.last != 0;
    const bool departed = joiner->departed;
    uint32_t job = (uint32_t)message->envelope.epoch;
    joiner->left |= leaves;
    if (!leaves)
        joiner->ends = job + 1;
    if (!leaves && message->envelope.last != 0)
        joiner->closes = job + 1;
    joiner->runs = message->envelope.session;
    joiner->ended_job = job;
    joiner->completed = (uint32_t)message->envelope.clock;
    joiner->words_job = job;
    take_words(joiner, message);
    const char *words = hw_joiner_words(joiner);
    hw_loss loss = {.node = hw_cluster_about(cluster, node, words)};
    loss.reported = loss.node != node;
    snprintf(loss.name, sizeof loss.name, "%s", hw_cluster_name(cluster, loss.node));
    snprintf(loss.why, sizeof loss.why, "%s%s", loss.reported != 0 ? "" : "it left the job before the run had ended: ",
             words[0] != '\0' ? words : "its own words say why");
    bool missing =
        hw_cluster_in_run(cluster) && message->envelope.session < cluster->session && hw_cluster_gone(cluster, node);
    if (message->envelope.count != 0) { /* it was cancelled: this node waits for it no more, in the store either */
        missing = hw_cluster_gone(cluster, node);
        loss.reported = 1;
        snprintf(loss.why, sizeof loss.why, "node %u (%.60s) has left the job: %.300s", node, hw_cluster_name(cluster, node),
                 words);
    }
    bool silent = message->envelope.last != 0 && hw_cluster_gone(cluster, node);
    stop_dials(cluster);
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->mutex);
    if (departed)
        hw_net_gone(cluster->net, node, "");
    if (missing && leaves)
        hw_cluster_note_loss(cluster, &loss);
    else if (missing)
        hw_cluster_note_end(cluster, &loss);
    if (silent)
        hw_cluster_notify_left(cluster, node);
}

/* The link has ended after a goodbye. This is a loss if the node had not announced that it leaves. */
static void left(void *argument, uint32_t node)
{
    hw_cluster *cluster = argument;
    pthread_mutex_lock(&cluster->mutex);
    bool expected = cluster->leaving || node >= cluster->nodes_most || cluster->joiners[node].left;
    pthread_mutex_unlock(&cluster->mutex);
    if (!expected)
        hw_cluster_lost(cluster, node, "it closed its connection without a reason; it may have run out of memory", 0);
    else if (node < cluster->nodes_most)
        hw_cluster_notify_left(cluster, node);
}

static bool take_goodbye(hw_cluster *cluster, uint32_t from, const hw_message *message)
{
    const uint32_t node = hw_cluster_goodbye_of(cluster, from, &message->envelope);
    if (node == HW_NET_ANY)
        return false;
    hw_cluster_forward_goodbye(cluster, node, message);
    take_leave(cluster, node, message);
    return true;
}

/* Node 0 passes it on before it notes the loss, so that the end of its own job does not overtake the report. */
static bool take_report(hw_cluster *cluster, uint32_t node, const hw_message *message)
{
    hw_loss loss;
    bool news;
    if (!hw_cluster_read_report(cluster, node, message, &loss, &news))
        return false;
    if (news && cluster->self == 0)
        hw_cluster_report_loss(cluster, &loss, node);
    if (news)
        hw_cluster_note_loss(cluster, &loss);
    return true;
}

static void receive_join(hw_cluster *cluster, uint32_t node, hw_message *message)
{
    bool fine = true, kept = false;
    hw_join_word what = (hw_join_word)message->envelope.part;
    if (what == HW_JOIN_LEAVE || what == HW_JOIN_END)
        fine = take_goodbye(cluster, node, message);
    if (what == HW_JOIN_LOST)
        fine = take_report(cluster, node, message);
    pthread_mutex_lock(&cluster->mutex);
    switch (what) {
    case HW_JOIN_REQUEST: fine = take_request(cluster, node, message); break;
    case HW_JOIN_MEMBERS: fine = kept = take_members(cluster, node, message); break;
    case HW_JOIN_READY: cluster->joiners[node].ready = true; break;
    case HW_JOIN_GO: cluster->go = node == 0; break;
    case HW_JOIN_REFUSED: fine = take_refusal(cluster, node, message); break;
    case HW_JOIN_LEAVE:
    case HW_JOIN_END:
    case HW_JOIN_LOST: break;
    default: fine = false; break;
    }
    if (what == HW_JOIN_REFUSED)
        stop_dials(cluster);
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->mutex);
    if (!kept)
        hw_message_free(message);
    if (!fine)
        hw_cluster_lost(cluster, node, "it said something that does not belong here while the cluster formed", 0);
}

static void arrived(void *argument, uint32_t node, hw_message *message)
{
    hw_cluster *cluster = argument;
    switch (hw_message_scope(message->envelope.kind)) {
    case HW_SCOPE_CLUSTER: receive_join(cluster, node, message); return;
    case HW_SCOPE_JOB: hw_cluster_keep_data(cluster, node, message); return;
    case HW_SCOPE_CHANNEL: hw_cluster_beside(cluster, node, message); return;
    case HW_SCOPE_RUN: hw_cluster_pass_to_run(cluster, node, message); return;
    }
}

static hawser_status admit(void *argument, const hw_net_hello *hello, uint32_t *number, hawser_error *error)
{
    hw_cluster *cluster = argument;
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&cluster->mutex);
    *number = hello->node;
    if (hello->node == HW_NET_ANY && cluster->self == 0)
        for (*number = 1; *number < cluster->nodes_most && cluster->joiners[*number].taken;)
            ++*number;
    if (*number >= cluster->nodes_most)
        status = hawser_fail(error, HAWSER_PEER_LOST, "the job '%s' has its %u nodes already; '%.60s' is one too many",
                             cluster->place->job, cluster->nodes_most, hello->name);
    else if (*number == cluster->self || cluster->joiners[*number].taken)
        status = hawser_fail(error, HAWSER_PEER_LOST, "node %u is here already (%.60s); was it started twice?", *number,
                             hw_cluster_name(cluster, *number));
    else
        cluster->joiners[*number].taken = true;
    pthread_mutex_unlock(&cluster->mutex);
    return status;
}

/* Warns on node 0: no other message would name a rejected node while the job waits for it. */
static void refused(void *argument, const char *from, const char *why, uint64_t more)
{
    hw_cluster *cluster = argument;
    char others[80] = "";
    pthread_mutex_lock(&cluster->mutex);
    bool leads = cluster->self == 0;
    pthread_mutex_unlock(&cluster->mutex);
    if (!leads)
        return;
    if (more != 0)
        snprintf(others, sizeof others, " (and %" PRIu64 " more since this was last said)", more);
    hw_notify(cluster->messages, HAWSER_WARNING, 0, "rejected %.250s: %.300s%s", from, why, others);
}

static void up(void *argument, uint32_t node, const hw_net_hello *hello)
{
    hw_cluster *cluster = argument;
    if (node >= cluster->nodes_most)
        return;
    pthread_mutex_lock(&cluster->mutex);
    cluster->joiners[node].linked = true;
    if (!cluster->has_members || node >= cluster->nodes) { /* the list of node 0 has it all for other nodes */
        hw_member member = *hw_members_at(cluster->members, node);
        member.node = node;
        if (member.name[0] == '\0')
            memcpy(member.name, hello->name, sizeof member.name);
        member.incarnation = hello->incarnation;
        hw_members_set(cluster->members, &member);
    }
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->mutex);
}

/* ------------------------------------------------------------------------------------------------------ waiting ---- */

static bool is_registered(const hw_cluster *cluster, uint32_t node)
{
    return node == 0 || cluster->joiners[node].registered;
}

static bool is_ready(const hw_cluster *cluster, uint32_t node)
{
    return node == 0 || cluster->joiners[node].ready;
}

/* Returns whether all nodes have something that none loses again. A wait looks once at each node that has it. */
static bool all_have(hw_cluster *cluster, bool (*has)(const hw_cluster *cluster, uint32_t node))
{
    while (cluster->met < cluster->nodes && has(cluster, cluster->met))
        cluster->met++;
    return cluster->met == cluster->nodes;
}

static bool all_registered(hw_cluster *cluster)
{
    return all_have(cluster, is_registered);
}

static bool all_ready(hw_cluster *cluster)
{
    return all_have(cluster, is_ready);
}

static bool has_members(hw_cluster *cluster)
{
    return cluster->has_members;
}

static bool has_go(hw_cluster *cluster)
{
    return cluster->go;
}

/* Lists the missing nodes: "node 2 (name), node 5". */
static void missing(const hw_cluster *cluster, char *text, size_t size)
{
    size_t used = 0;
    uint32_t registered = 0;
    text[0] = '\0';
    while (registered < cluster->nodes && is_registered(cluster, registered))
        registered++;
    for (uint32_t i = 0; i < cluster->nodes && used + 80 < size; i++) {
        const hw_joiner *joiner = &cluster->joiners[i];
        const char *name = hw_cluster_name(cluster, i);
        bool here = cluster->self == 0 ? joiner->registered && (joiner->ready || registered < cluster->nodes)
                                       : i != 0 || joiner->linked; /* a member waits for the manager alone */
        if (i == cluster->self || here)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%snode %u%s%.40s%s", used != 0 ? ", " : "", i,
                                 name[0] != '\0' ? " (" : "", name, name[0] != '\0' ? ")" : "");
    }
}

static hawser_status wait_for(hw_cluster *cluster, bool (*ready)(hw_cluster *cluster), double deadline, const char *what,
                              hawser_error *error)
{
    char text[700];
    pthread_mutex_lock(&cluster->mutex);
    cluster->met = 0;
    while (!ready(cluster) && !is_over(cluster) && !hw_cancelled(cluster->cancellation) && hw_seconds() < deadline)
        (void)hw_cluster_wait_until(cluster, hw_cancellation_slice(cluster->cancellation, deadline));
    hawser_status status = HAWSER_OK;
    if (ready(cluster)) {
        status = HAWSER_OK;
    } else if (is_over(cluster)) {
        status = fail_over(cluster, error);
    } else {
        missing(cluster, text, sizeof text);
        if (hw_cancelled(cluster->cancellation))
            status = hawser_fail(error, HAWSER_STOP, "the join was cancelled; %s: missing %s", what,
                                 text[0] != '\0' ? text : "the manager's word");
        else
            status = hawser_fail(error, HAWSER_TIMEOUT, "%s after --join-timeout: missing %s", what,
                                 text[0] != '\0' ? text : "the manager's word");
    }
    pthread_mutex_unlock(&cluster->mutex);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ joining ---- */

/* Checks the limit of descriptors: one per link, and those of the net, files and pipes. Without them nodes would wait for
 * each other without a reason. */
static hawser_status see_to_descriptors(uint32_t nodes, hawser_error *error)
{
    enum { OTHERS = 24 };
    char what[64];
    (void)snprintf(what, sizeof what, "a job of %u nodes needs", nodes);
    return hw_machine_descriptors((uint64_t)nodes + OTHERS, what, "each", error);
}

static join_request own_request(const hw_cluster *cluster, const hw_cluster_options *options)
{
    join_request own = {.member = {.node = cluster->self, .processors = options->processors}};
    snprintf(own.member.name, sizeof own.member.name, "%s", cluster->place->name);
    snprintf(own.member.address, sizeof own.member.address, "%s", hw_net_address(cluster->net));
    own.member.incarnation = hw_net_incarnation(cluster->net);
    hw_cluster_host_id(own.host_id.text, sizeof own.host_id.text);
    return own;
}

/* Numbers the hosts in the order in which they occur. */
static void number_hosts(hw_cluster *cluster)
{
    uint32_t hosts = 0;
    for (uint32_t i = 0; i < cluster->nodes; i++) {
        uint32_t k = 0;
        while (k < i && strcmp(cluster->host_ids[k].text, cluster->host_ids[i].text) != 0)
            k++;
        hw_member member = *hw_members_at(cluster->members, i);
        member.host = k < i ? hw_members_at(cluster->members, k)->host : hosts++;
        hw_members_set(cluster->members, &member);
    }
}

static hawser_status send_members(hw_cluster *cluster, hawser_error *error)
{
    hw_member *list = NULL;
    HAWSER_TRY(HW_NEW(&list, cluster->nodes, "the member list", error));
    pthread_mutex_lock(&cluster->mutex);
    number_hosts(cluster);
    for (uint32_t i = 0; i < cluster->nodes; i++)
        list[i] = *hw_members_at(cluster->members, i);
    pthread_mutex_unlock(&cluster->mutex);
    hw_message *message = NULL, *copy = NULL; /* one list for all: every node would need one of its own in the queues */
    hawser_status status =
        hw_cluster_make_word(cluster, HW_JOIN_MEMBERS, list, cluster->nodes * sizeof *list, &message, error);
    free(list);
    for (uint32_t i = 1; i < cluster->nodes && status == HAWSER_OK; i++) {
        status = hw_message_share(message, &copy, error);
        HAWSER_THEN(status, send_or_drop(cluster, i, copy, error));
    }
    hw_message_free(message);
    return status;
}

static void launcher_gone(void *argument)
{
    hw_cluster *cluster = argument;
    hw_loss loss = {.node = HW_NET_ANY, .why = "the launcher of this job is gone"};
    hw_cluster_note_loss(cluster, &loss);
}

/* Takes reports of the launcher. A node that fails before it has joined has no link that could break. After the join the
 * links report losses, with the phase. */
static void launcher_sent(void *argument, const void *bytes, size_t length)
{
    hw_cluster *cluster = argument;
    hw_node_end end;
    while (cluster->place->ops->take(cluster->place, bytes, length, &end)) {
        bytes = NULL;
        length = 0;
        pthread_mutex_lock(&cluster->mutex);
        bool joining = !cluster->formed;
        pthread_mutex_unlock(&cluster->mutex);
        hw_loss loss = {.node = end.node, .reported = 1};
        snprintf(loss.why, sizeof loss.why, "%s before the job's nodes had joined", end.text);
        if (joining && end.node != cluster->self)
            hw_cluster_note_loss(cluster, &loss);
    }
}

/* The lifeline may be the channel on which the manager's address arrives. The address is read first, and reports may have
 * been read with it. */
static hawser_status watch_launcher(hw_cluster *cluster, hawser_error *error)
{
    bool reports = cluster->place->ops->take != NULL;
    const hw_lifeline_events events = {reports ? launcher_sent : NULL, launcher_gone};
    if (reports)
        launcher_sent(cluster, NULL, 0);
    return hw_lifeline_begin(&cluster->lifeline, cluster->place->lifeline, &events, cluster, error);
}

static hawser_status lead(hw_cluster *cluster, const hw_cluster_options *options, double deadline, hawser_error *error)
{
    join_request own = own_request(cluster, options);
    pthread_mutex_lock(&cluster->mutex);
    hw_members_set(cluster->members, &own.member);
    cluster->host_ids[0] = own.host_id;
    cluster->joiners[0].taken = true;
    pthread_mutex_unlock(&cluster->mutex);
    cluster->place->listening = hw_net_listening(cluster->net);
    HAWSER_TRY(cluster->place->ops->publish(cluster->place, hw_net_address(cluster->net), error));
    HAWSER_TRY(watch_launcher(cluster, error));
    HAWSER_TRY(wait_for(cluster, all_registered, deadline, "not all nodes have joined", error));
    HAWSER_TRY(send_members(cluster, error));
    HAWSER_TRY(wait_for(cluster, all_ready, deadline, "not all nodes have reached each other", error));
    for (uint32_t i = 1; i < cluster->nodes; i++)
        HAWSER_TRY(send_message(cluster, i, HW_JOIN_GO, NULL, 0, error));
    return HAWSER_OK;
}

/* Sends the reason to all members. */
static void refuse_all(hw_cluster *cluster, const char *why)
{
    hawser_error ignored;
    for (uint32_t i = 1; i < cluster->nodes; i++)
        if (hw_net_linked(cluster->net, i) &&
            send_message(cluster, i, HW_JOIN_REFUSED, why, strlen(why) + 1, &ignored) != HAWSER_OK)
            continue;
}

/* Returns the bytes of shared memory, for each direction, of a link within a host. Every two nodes of a host have such a
 * pair, so more nodes get smaller ones. 0 nodes: the number is not known yet, as for a node that joins by hand. */
static size_t ring_size(uint32_t nodes)
{
    const size_t most = 512 << 10, unknown = 64 << 10, least = 16 << 10, all = 8 << 20; /* all: of one node to all others */
    size_t size = nodes == 0 ? unknown : most;
    while (size > least && size * nodes > all)
        size /= 2;
    return size;
}

/* Dials a member. If it ends, so does the cluster, and then the reason says more than a closed address. */
static hawser_status reach(hw_cluster *cluster, uint32_t node, double deadline, hawser_error *error)
{
    uint32_t number;
    hawser_error own = {0};
    const hw_member *member = hw_members_at(cluster->members, node);
    hawser_status status = hw_net_dial(cluster->net, member->address, node, deadline - hw_seconds(), &number, &own);
    if (status != HAWSER_PEER_LOST && status != HAWSER_TIMEOUT)
        return status == HAWSER_OK ? status : hawser_fail(error, status, "%s", own.text);
    pthread_mutex_lock(&cluster->mutex);
    const double until = fmin(deadline, hw_seconds() + cluster->reason_timeout);
    while (!is_over(cluster) && !hw_cancelled(cluster->cancellation) && hw_seconds() < until)
        (void)hw_cluster_wait_until(cluster, hw_cancellation_slice(cluster->cancellation, until));
    if (is_over(cluster))
        status = fail_over(cluster, error);
    else
        status = hawser_fail(error, status, "node %u (%s): %s", node, member->name, own.text);
    pthread_mutex_unlock(&cluster->mutex);
    return status;
}

/* Describes a member to the net, which dials it at the first message. The list does not change any more. */
static void describe(void *argument, uint32_t node, hw_net_hello *hello)
{
    const hw_cluster *cluster = argument;
    const hw_member *member = hw_members_at(cluster->members, node);
    *hello = (hw_net_hello){.node = node, .incarnation = member->incarnation};
    memcpy(hello->name, member->name, sizeof hello->name);
    memcpy(hello->address, member->address, sizeof hello->address);
}

static hawser_status follow(hw_cluster *cluster, const hw_cluster_options *options, double deadline, hawser_error *error)
{
    char address[HW_NET_ADDRESS];
    uint32_t number = 0;
    HAWSER_TRY(cluster->place->ops->fetch(cluster->place, deadline - hw_seconds(), address, error));
    HAWSER_TRY(watch_launcher(cluster, error));
    HAWSER_TRY(hw_net_dial(cluster->net, address, 0, deadline - hw_seconds(), &number, error));
    if (number == 0 || number >= cluster->nodes_most)
        return hawser_fail(error, HAWSER_PEER_LOST, "the manager at %s calls this node number %u", address, number);
    pthread_mutex_lock(&cluster->mutex); /* the net thread reads it */
    cluster->self = number;
    pthread_mutex_unlock(&cluster->mutex);
    join_request own = own_request(cluster, options);
    /* The manager's timeout ends the join, because only the manager knows which node is missing. This node waits longer. */
    const double later = deadline + fmin(REASON_SECONDS, options->join_timeout);
    HAWSER_TRY(send_message(cluster, 0, HW_JOIN_REQUEST, &own, sizeof own, error));
    HAWSER_TRY(wait_for(cluster, has_members, later, "the manager has not heard of all nodes", error));
    HAWSER_TRY(see_to_descriptors(cluster->nodes, error));
    hw_net_set_ring(cluster->net, ring_size(cluster->nodes));
    HAWSER_TRY(hw_net_know(cluster->net, cluster->nodes, describe, error));
    const uint32_t parent = hw_gathering_parent(cluster->self); /* collective calls go over this link */
    if (parent != 0)
        HAWSER_TRY(reach(cluster, parent, deadline, error));
    HAWSER_TRY(send_message(cluster, 0, HW_JOIN_READY, NULL, 0, error));
    return wait_for(cluster, has_go, later, "not all nodes have reached each other", error);
}

static hawser_status open_net(hw_cluster *cluster, const hw_cluster_options *options, hawser_error *error)
{
    const hw_place *place = cluster->place;
    bool fixed = place->port != 0 && place->node == 0;
    hw_net_options net = {.job = place->job,
                          .key = place->key,
                          .key_length = place->key_length,
                          .node = place->node,
                          .name = place->name,
                          .build = options->build,
                          .interface = options->interface,
                          .known_as = fixed ? place->manager : NULL,
                          .port_low = fixed ? place->port : options->port_low,
                          .port_high = fixed ? place->port : options->port_high,
                          .directory = place->directory[0] != '\0' ? place->directory
                                       : place->secluded           ? NULL
                                                                   : "@",
                          .transport = options->transport,
                          .ring = ring_size(place->nodes),
                          .local_only = place->local,
                          .trust_fabric = options->trust_fabric,
                          .failure_timeout = options->failure_timeout,
                          .rate = options->rate,
                          .cancellation = options->cancellation};
    hw_net_events events = {.argument = cluster,
                            .admit = admit,
                            .up = up,
                            .arrived = arrived,
                            .acquire = hw_cluster_acquire,
                            .release = hw_cluster_release,
                            .foreign = hw_cluster_foreign,
                            .lost = hw_cluster_lost,
                            .left = left,
                            .starved = hw_cluster_starved,
                            .refused = refused};
    hawser_status status = hw_net_new(&net, &events, &cluster->net, error);
    explicit_bzero(cluster->place->key, sizeof cluster->place->key); /* the net keeps it where core dumps do not reach */
    return status;
}

static hawser_status new_cluster(hw_place *place, hw_cluster **out, hawser_error *error)
{
    hw_cluster *cluster = NULL;
    HAWSER_TRY(HW_NEW(&cluster, 1, "a cluster", error));
    cluster->place = place;
    cluster->self = place->node != HW_NET_ANY ? place->node : 0;
    cluster->nodes = place->nodes;
    cluster->nodes_most = place->nodes != 0 ? place->nodes : HW_PLACE_NODES_MOST;
    cluster->lifeline.descriptor = -1;
    cluster->doing = "joining";
    cluster->losses_together = LOSSES_TOGETHER;
    hawser_status status = HW_NEW(&cluster->joiners, cluster->nodes_most, "the members of a cluster", error);
    if (place->node == 0)
        HAWSER_THEN(status, HW_NEW(&cluster->host_ids, cluster->nodes_most, "the members of a cluster", error));
    HAWSER_THEN(status, hw_members_new(cluster->nodes_most, &cluster->members, error));
    if (status != HAWSER_OK) {
        free(cluster->host_ids);
        free(cluster->joiners);
        free(cluster);
        return status;
    }
    /* These cannot fail on Linux. */
    pthread_mutex_init(&cluster->mutex, NULL);
    pthread_rwlock_init(&cluster->beside, NULL);
    (void)hw_thread_condition(&cluster->changed);
    hw_cluster_watch_losses(cluster);
    *out = cluster;
    return HAWSER_OK;
}

void hw_cluster_leave(hw_cluster *cluster)
{
    enum { GOODBYE_SECONDS = 5 };
    if (cluster == NULL)
        return;
    hw_lifeline_end(&cluster->lifeline);
    if (cluster->net != NULL) {
        hw_cluster_say_leave(cluster);
        hw_net_stop(cluster->net, GOODBYE_SECONDS);
        hw_net_free(cluster->net);
    }
    hw_cluster_drop_early(cluster);
    while (cluster->runs != NULL) {
        hw_cluster_run *next = cluster->runs->next;
        hw_cluster_free_run(cluster->runs);
        cluster->runs = next;
    }
    hw_cluster_drop_data(cluster);
    for (uint32_t node = 0; node < hw_cluster_numbers(cluster); node++)
        free(cluster->joiners[node].words);
    hw_members_unsubscribe(cluster->members, &cluster->own_subscriber);
    hw_members_free(cluster->members);
    free(cluster->host_ids);
    free(cluster->joiners);
    pthread_cond_destroy(&cluster->changed);
    pthread_mutex_destroy(&cluster->mutex);
    pthread_rwlock_destroy(&cluster->beside);
    free(cluster);
}

/* Tells the others why this node cannot join. If the manager has told it to leave, that is the manager's reason alone. */
static void set_own_reason(hw_cluster *cluster, const char *why)
{
    char refusal[sizeof cluster->refusal];
    pthread_mutex_lock(&cluster->mutex);
    memcpy(refusal, cluster->refusal, sizeof refusal);
    pthread_mutex_unlock(&cluster->mutex);
    hw_cluster_set_reason(cluster, refusal[0] != '\0' ? refusal : why);
}

hawser_status hw_cluster_join(hw_place *place, const hw_cluster_options *options, hw_cluster **out, hawser_error *error)
{
    *out = NULL;
    hw_cluster *cluster = NULL;
    double deadline = hw_seconds() + options->join_timeout;
    HAWSER_TRY(see_to_descriptors(place->nodes, error));
    HAWSER_TRY(new_cluster(place, &cluster, error));
    cluster->messages = options->messages;
    cluster->alltoall_timeout = options->alltoall_timeout > 0 ? options->alltoall_timeout : INFINITY;
    cluster->reason_timeout = options->failure_timeout + REASON_SECONDS;
    cluster->cancellation = options->cancellation;
    hawser_status status = open_net(cluster, options, error);
    HAWSER_THEN(status,
                place->node == 0 ? lead(cluster, options, deadline, error) : follow(cluster, options, deadline, error));
    HAWSER_THEN(status, hw_cluster_count_processors(cluster, error));
    if (status != HAWSER_OK) {
        if (cluster->net != NULL && place->node == 0)
            refuse_all(cluster, error != NULL ? error->text : "it could not be formed");
        if (status == HAWSER_STOP) {
            hw_cluster_set_reason(cluster, "it was cancelled while it was joining");
            cluster->cancelled = true;
        } else if (error != NULL) {
            set_own_reason(cluster, error->text);
        }
        hw_cluster_leave(cluster);
        return status;
    }
    pthread_mutex_lock(&cluster->mutex);
    cluster->formed = true;
    cluster->cancellation = NULL; /* from here on each call sets it */
    pthread_mutex_unlock(&cluster->mutex);
    hw_cluster_report_losses(cluster);
    hw_cluster_set_phase(cluster, "between two runs");
    *out = cluster;
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------ jobs, one after another ---- */

/* Fails at once if no job can begin: nodes that are gone do not come back. The mutex is held. */
static hawser_status check_members(hw_cluster *cluster, hawser_error *error)
{
    hawser_error own = {0};
    hw_member_event first;
    hw_members_begin_job(cluster->members);
    if (hw_members_loss(cluster->members, 0, &first)) {
        hawser_status status = hw_cluster_fail_lost(cluster, &own);
        /* The lost node comes first, so that nodes that receive this text know whom it is about. */
        return hawser_fail(error, status, "%s; this cluster runs no job any more since that loss, %.1f s ago", own.text,
                           hw_seconds() - first.at);
    }
    uint32_t gone = hw_cluster_first_to_leave(cluster);
    return gone < cluster->nodes ? hw_cluster_has_left(cluster, gone, error) : HAWSER_OK;
}

/* Continues the numbers of runs behind the highest of any node: nodes whose job failed may have begun different numbers of
 * them. */
static hawser_status agree_session(hw_cluster *cluster, hawser_error *error)
{
    hw_bytes *in = NULL;
    uint32_t most = cluster->session, other;
    HAWSER_TRY(HW_NEW(&in, cluster->nodes, "the nodes of a job", error));
    hawser_status status = hw_cluster_allgather(cluster, (hw_bytes){&most, sizeof most}, in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < cluster->nodes; i++) {
        if (in[i].length != sizeof other) {
            status = hawser_fail(error, HAWSER_INTERNAL, "node %u (%s) opens a job in another way", i,
                                 hw_cluster_name(cluster, i));
            break;
        }
        memcpy(&other, in[i].data, sizeof other);
        most = other > most ? other : most;
    }
    hw_bytes_free(in, cluster->nodes);
    HAWSER_TRY(status);
    /* No node begins a run before all are here, so what has arrived early belongs to a job before. */
    pthread_mutex_lock(&cluster->mutex);
    hw_cluster_drop_early(cluster);
    cluster->session = most;
    pthread_mutex_unlock(&cluster->mutex);
    return HAWSER_OK;
}

hawser_status hw_cluster_open_job(hw_cluster *cluster, double timeout, hawser_status own, hawser_error *error)
{
    pthread_rwlock_wrlock(&cluster->beside); /* the net thread reads the number of the job */
    pthread_mutex_lock(&cluster->mutex);
    cluster->job++;
    cluster->rounds = cluster->completed = 0;
    cluster->words[0] = '\0';
    cluster->gave_up = cluster->cancelled = false;
    cluster->failed = HAWSER_OK;
    cluster->doing = "opening";
    cluster->alltoall_timeout = timeout > 0 ? timeout : INFINITY;
    hw_cluster_drop_old_data(cluster);
    hawser_status status = own == HAWSER_OK ? check_members(cluster, error) : own;
    pthread_mutex_unlock(&cluster->mutex);
    pthread_rwlock_unlock(&cluster->beside);
    HAWSER_TRY(status);
    HAWSER_TRY(agree_session(cluster, error));
    hw_cluster_set_phase(cluster, "between two runs");
    return HAWSER_OK;
}

void hw_cluster_close_job(hw_cluster *cluster)
{
    hw_cluster_say_closed(cluster);
    pthread_mutex_lock(&cluster->mutex);
    cluster->cancelled = false; /* only this job was */
    pthread_mutex_unlock(&cluster->mutex);
    hw_cluster_set_phase(cluster, "closed");
}
