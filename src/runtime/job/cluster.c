/* cluster.c - joins the nodes once, and lends them to one job at a time. */
#include "runtime/job/cluster.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/memory.h"
#include "base/messages.h"
#include "base/option_value.h"
#include "base/origin.h"
#include "runtime/job/enter.h"

enum { TOKEN = 16 }; /* bytes */

/* Options that hold for the whole cluster. */
static const char *const joining[] = {"listen",       "join",       "key-file",  "node-name",    "alone",
                                      "interface",    "port-range", "transport", "trust-fabric", "failure-timeout",
                                      "join-timeout", "rate"};
enum { JOINING = sizeof joining / sizeof *joining };

struct hawser_cluster {
    hw_origin origin;
    hw_place place;
    hw_cluster *nodes; /* NULL: this node alone */
    char *values[JOINING];
    char token[2 * TOKEN + 1];
    hawser_member *members;
    hawser_membership view;
    hw_histories histories; /* of the jobs so far */
    pthread_mutex_t mutex;  /* guards the next fields */
    bool has_job;
    bool closed; /* by the program, while a job was open */
};

/* ------------------------------------------------------------------------------------------------------- opening ---- */

/* Agrees on node 0's token. */
static hawser_status agree_token(hawser_cluster *cluster, hawser_error *error)
{
    unsigned char token[TOKEN];
    hw_bytes *in = NULL;
    uint32_t nodes = cluster->nodes != NULL ? hw_cluster_nodes(cluster->nodes) : 1;
    hawser_status status = hw_random_bytes(token, sizeof token, error);
    if (status == HAWSER_OK)
        status = HW_NEW(&in, nodes, "the token of a cluster", error);
    status = hw_cluster_agree(cluster->nodes, status, error);
    if (status == HAWSER_OK)
        status = hw_cluster_allgather(cluster->nodes, (hw_bytes){token, sizeof token}, in, error);
    if (status == HAWSER_OK && in[0].length != sizeof token)
        status = hawser_fail(error, HAWSER_INTERNAL, "node 0 sent no token");
    if (status == HAWSER_OK)
        hw_key_text(in[0].data, sizeof token, cluster->token);
    if (in != NULL)
        hw_bytes_free(in, nodes);
    return status;
}

static hawser_status make_view(hawser_cluster *cluster, hawser_error *error)
{
    uint32_t nodes = cluster->nodes != NULL ? hw_cluster_nodes(cluster->nodes) : 1;
    HAWSER_TRY(HW_NEW(&cluster->members, nodes, "the nodes of a cluster", error));
    cluster->members[0] = (hawser_member){.name = cluster->place.name, .address = ""};
    if (cluster->nodes == NULL)
        HAWSER_TRY(hw_random_bytes(&cluster->members[0].incarnation, sizeof cluster->members[0].incarnation, error));
    for (uint32_t i = 0; cluster->nodes != NULL && i < nodes; i++) {
        const hw_member *member = hw_cluster_member(cluster->nodes, i);
        cluster->members[i] = (hawser_member){.number = i,
                                              .host = member->host,
                                              .incarnation = member->incarnation,
                                              .name = member->name,
                                              .address = member->address};
    }
    cluster->view = (hawser_membership){.number = 1,
                                        .token = cluster->token,
                                        .node = cluster->nodes != NULL ? hw_cluster_self(cluster->nodes) : 0,
                                        .count = nodes,
                                        .members = cluster->members};
    return HAWSER_OK;
}

static hawser_status keep_values(hawser_cluster *cluster, const hawser_options *options, hawser_error *error)
{
    for (size_t i = 0; i < JOINING; i++) {
        const char *text = hw_option_text(options, joining[i]);
        HAWSER_TRY(hw_copy_text(&cluster->values[i], text != NULL ? text : "", error));
    }
    return HAWSER_OK;
}

static void free_cluster(hawser_cluster *cluster)
{
    hw_cluster_leave(cluster->nodes);
    hw_place_close(&cluster->place);
    for (size_t i = 0; i < JOINING; i++)
        free(cluster->values[i]);
    free(cluster->members);
    hw_histories_free(&cluster->histories);
    hw_origin_close(&cluster->origin);
    pthread_mutex_destroy(&cluster->mutex);
    free(cluster);
}

hawser_status hw_cluster_open_at(const hawser_options *options, const hw_place *place, const hawser_opening *opening,
                                 hawser_cluster **out, hawser_error *error)
{
    *out = NULL;
    hawser_cluster *cluster = NULL;
    hw_entry entry = {0};
    if (opening != NULL && opening->cluster != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_cluster_open: the opening names a cluster; it is for jobs");
    if (opening != NULL)
        entry = (hw_entry){.messages = opening->messages,
                           .cancellation = opening->cancellation,
                           .key = opening->key,
                           .key_length = opening->key_length,
                           .node = opening->node};
    HAWSER_TRY(HW_NEW(&cluster, 1, "a cluster", error));
    pthread_mutex_init(&cluster->mutex, NULL);
    if (place != NULL)
        cluster->place = *place;
    hawser_status status = hw_origin_open(&cluster->origin, error);
    if (status == HAWSER_OK)
        status = keep_values(cluster, options, error);
    if (status == HAWSER_OK)
        status = hw_enter(options, &cluster->place, &cluster->nodes, &entry, error);
    if (status == HAWSER_OK)
        status = agree_token(cluster, error);
    if (status == HAWSER_OK)
        status = hw_cluster_agree(cluster->nodes, make_view(cluster, error), error);
    if (status == HAWSER_OK) {
        if (cluster->nodes != NULL)
            hw_cluster_set_phase(cluster->nodes, "not open yet");
        *out = cluster;
        return HAWSER_OK;
    }
    if (cluster->nodes != NULL && error != NULL)
        hw_cluster_set_reason(cluster->nodes, error->text);
    free_cluster(cluster);
    return status;
}

hawser_status hawser_cluster_open(const hawser_options *options, const hawser_opening *opening, hawser_cluster **cluster,
                                  hawser_error *error)
{
    HW_GIVEN(options);
    HW_GIVEN(cluster);
    return hw_cluster_open_at(options, NULL, opening, cluster, error);
}

void hawser_cluster_close(hawser_cluster *cluster)
{
    if (cluster == NULL || !hw_is_origin(&cluster->origin))
        return;
    pthread_mutex_lock(&cluster->mutex);
    cluster->closed = true;
    bool has_job = cluster->has_job;
    pthread_mutex_unlock(&cluster->mutex);
    if (!has_job)
        free_cluster(cluster);
}

const hawser_membership *hawser_cluster_view(const hawser_cluster *cluster)
{
    return cluster != NULL ? &cluster->view : NULL;
}

/* ---------------------------------------------------------------------------------------------------------- jobs ---- */

/* Refuses or notes an option of joining that the job gives another value than the cluster has. */
static hawser_status check_option(const hawser_cluster *cluster, size_t option, const hawser_options *options,
                                  hawser_messages *messages, hawser_error *error)
{
    const char *key = joining[option], *text = hw_option_text(options, key);
    hawser_source source = hawser_options_source(options, key, NULL);
    bool typed = source != HAWSER_FROM_FILE && source != HAWSER_FROM_ENVIRONMENT;
    bool secret = strcmp(key, "key-file") == 0 || strcmp(key, "join") == 0;
    const char *value = cluster->values[option];
    if (source == HAWSER_FROM_DEFAULT || text == NULL || strcmp(text, value) == 0)
        return HAWSER_OK;
    if (typed)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--%s %.80s does nothing here: the nodes have joined with %s%.80s; give it to hawser_cluster_open", key, text,
            secret || *value == '\0' ? "another value" : "", secret ? "" : value);
    if (cluster->view.node == 0 && !hawser_options_flag(options, "quiet"))
        hw_notify(messages, HAWSER_NOTE, 0,
                  "%s %.80s does nothing here: it counts when the nodes join, and they have joined already", key, text);
    return HAWSER_OK;
}

hawser_status hw_cluster_lend(hawser_cluster *cluster, const hawser_options *options, const hw_entry *entry,
                              hw_cluster **nodes, bool *lent, hawser_error *error)
{
    *lent = false;
    if (!hw_is_origin(&cluster->origin))
        return hw_not_origin(cluster->origin.process, "hawser_open_with", "cluster", error);
    pthread_mutex_lock(&cluster->mutex);
    *lent = !cluster->has_job && !cluster->closed;
    if (*lent)
        cluster->has_job = true;
    pthread_mutex_unlock(&cluster->mutex);
    if (!*lent)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "the cluster has an open job; close it first, because a cluster has one "
                           "job at a time");
    hawser_status status = HAWSER_OK;
    for (size_t i = 0; status == HAWSER_OK && i < JOINING; i++)
        status = check_option(cluster, i, options, entry->messages, error);
    *nodes = cluster->nodes;
    if (cluster->nodes == NULL)
        return status;
    /* After a failure of this node the others learn the reason when it closes the job. */
    hawser_error own = {0};
    hw_cluster_cancel_by(cluster->nodes, entry->cancellation);
    hawser_status opened = hw_cluster_open_job(cluster->nodes, hawser_options_number(options, "timeout"), status, &own);
    hw_cluster_cancel_by(cluster->nodes, NULL);
    return status != HAWSER_OK ? status : opened != HAWSER_OK ? hawser_fail(error, opened, "%s", own.text) : HAWSER_OK;
}

const hw_place *hw_cluster_place(const hawser_cluster *cluster)
{
    return &cluster->place;
}

hw_histories *hw_cluster_histories(hawser_cluster *cluster)
{
    return &cluster->histories;
}

void hw_cluster_give_back(hawser_cluster *cluster)
{
    if (cluster->nodes != NULL)
        hw_cluster_close_job(cluster->nodes);
    pthread_mutex_lock(&cluster->mutex);
    cluster->has_job = false;
    bool closed = cluster->closed;
    pthread_mutex_unlock(&cluster->mutex);
    if (closed)
        free_cluster(cluster);
}
