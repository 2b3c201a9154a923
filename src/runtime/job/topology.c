/* topology.c - the links over which a job's nodes send their updates; agreed once, before the first run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/option_value.h"
#include "exchange/topology.h"
#include "runtime/job/job.h"

/* Makes the text that nodes compare: the option's words, a zero, and on node 0 what the words stand for, ended by a zero.
 * This is the text of the file that they name, or the name that "auto" chooses. */
static hawser_status make_text(const hawser_job *job, bool reads, char **text, size_t *length, hawser_error *error)
{
    const hw_plan_settings *settings = &job->settings;
    const char *words = hawser_options_text(job->options, "topology");
    size_t capacity = 0, used = strlen(words) + 1;
    HAWSER_TRY(hw_topology_check(words, error));
    HAWSER_TRY(HW_GROW(text, &capacity, used + HW_TOPOLOGY_NAME, "a topology's text", error));
    memcpy(*text, words, used);
    if (reads && hw_is_auto(words)) {
        hw_topology_choose(settings->nodes, settings->hosts,
                           hw_sync_read(hawser_options_text(job->options, "sync")).tightness,
                           strcmp(hawser_options_text(job->options, "encoding"), "exact") != 0, *text + used);
        used += strlen(*text + used);
    }
    FILE *file = reads && strncmp(words, "file:", 5) == 0 ? fopen(words + 5, "r") : NULL;
    bool failed = reads && strncmp(words, "file:", 5) == 0 && file == NULL;
    hawser_status status = HAWSER_OK;
    for (size_t got = 1; file != NULL && got > 0 && status == HAWSER_OK; used += got) {
        got = 0;
        status = HW_GROW(text, &capacity, used + 4097, "a topology's text", error);
        if (status == HAWSER_OK)
            got = fread(*text + used, 1, 4096, file);
    }
    failed = failed || (file != NULL && ferror(file));
    if (failed)
        status = hawser_fail(error, HAWSER_IO, "topology = %s: %s", words, strerror(errno));
    if (file != NULL)
        fclose(file);
    (*text)[used] = '\0';
    *length = used + 1;
    return status;
}

/* Checks that all nodes were given the same option. */
static hawser_status compare(const hw_bytes *texts, uint32_t nodes, hawser_error *error)
{
    const char *first = texts[0].data;
    for (uint32_t node = 0; node < nodes; node++) {
        const char *words = texts[node].data;
        if (texts[node].length < 2 || words[texts[node].length - 1] != '\0')
            return hawser_fail(error, HAWSER_INTERNAL, "node %u sent no topology", node);
        if (strcmp(words, first) != 0)
            return hawser_fail(error, HAWSER_BAD_OPTION, "node %u was given --topology %s, node 0 --topology %s", node,
                               words, first);
    }
    return HAWSER_OK;
}

/* Makes the graph from a text of make_text. */
static hawser_status draw(hawser_job *job, const char *text, hawser_error *error)
{
    hw_plan_settings *settings = &job->settings;
    const char *words = text, *rest = words + strlen(words) + 1, *name = hw_is_auto(words) ? rest : words;
    bool file = strncmp(words, "file:", 5) == 0;
    HAWSER_TRY(hw_topology_new(name, file ? rest : NULL, settings->nodes, &job->topology, error));
    settings->graph = job->topology;
    settings->adding = hw_topology_adding(job->topology);
    const hw_topology_figures *figures = hw_topology_figures_of(job->topology);
    snprintf(settings->links, sizeof settings->links, "%.60s (%u host%s)", name, settings->hosts,
             settings->hosts == 1 ? "" : "s");
    int n = snprintf(settings->topology, sizeof settings->topology,
                     "topology %.60s%s: at most %u links out of a node, at most %u from one node to another", name,
                     hw_is_auto(words) ? ", chosen" : "", figures->degree, figures->depth);
    if (figures->relayed > 0)
        snprintf(settings->topology + n, sizeof settings->topology - (size_t)n,
                 "; node %u passes on most, %llu messages when each node has sent one%s", figures->relaying,
                 (unsigned long long)figures->relayed,
                 settings->adding.kind != HW_ADDING_SPREAD
                     ? "; under bsp updates are added up on their way, under ssp and tap those that wait for a link"
                     : "");
    return HAWSER_OK;
}

static hawser_status lay(hawser_job *job, const char *text, hawser_error *error)
{
    HAWSER_TRY(draw(job, text, error));
    return hw_topology_routes(job->topology, hw_cluster_net(job->cluster), error);
}

static hawser_status name_nodes(hawser_job *job, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&job->names, job->settings.nodes, "the nodes' names", error));
    for (uint32_t node = 0; node < job->settings.nodes; node++)
        job->names[node] = hw_cluster_member(job->cluster, node)->name;
    job->settings.names = job->names;
    return HAWSER_OK;
}

hawser_status hw_job_suppose(hawser_job *job, uint32_t nodes, hawser_error *error)
{
    hw_plan_settings *settings = &job->settings;
    char *text = NULL;
    size_t length = 0;
    uint64_t processors = (uint64_t)nodes * settings->processors;
    if (job->cluster != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--suppose-nodes %u: this job has %u nodes already; leave it out",
                           nodes, settings->nodes);
    if (nodes == 1)
        return HAWSER_OK;
    settings->nodes = settings->hosts = nodes;
    if (!hawser_options_has(job->options, "workers"))
        settings->blocks = processors < UINT32_MAX ? (uint32_t)processors : UINT32_MAX;
    int64_t asked = hawser_options_has(job->options, "threads") ? hawser_options_integer(job->options, "threads") : 0;
    settings->threads = asked == 0 || asked > settings->blocks ? settings->blocks : (uint32_t)asked;
    job->workers_given = true; /* with several nodes the number of workers does not depend on the input */
    if (settings->blocks < nodes)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%u workers are too few for %u nodes; raise --workers",
                           settings->blocks, nodes);
    hawser_status status = make_text(job, true, &text, &length, error);
    if (status == HAWSER_OK)
        status = draw(job, text, error);
    free(text);
    return status;
}

static uint32_t count_hosts(const hw_cluster *cluster)
{
    uint32_t hosts = 0;
    for (uint32_t node = 0; node < hw_cluster_nodes(cluster); node++) {
        const uint32_t host = hw_cluster_member(cluster, node)->host;
        hosts = host < hosts ? hosts : host + 1; /* they are numbered from 0 */
    }
    return hosts;
}

hawser_status hw_job_topology(hawser_job *job, hawser_error *error)
{
    uint32_t nodes = job->cluster != NULL ? hw_cluster_nodes(job->cluster) : 1;
    job->settings.nodes = nodes;
    if (job->cluster == NULL)
        return hw_topology_check(hawser_options_text(job->options, "topology"), error);
    job->settings.hosts = count_hosts(job->cluster);
    char *text = NULL;
    size_t length = 0;
    hw_bytes *texts = NULL;
    hawser_status status = make_text(job, hw_cluster_self(job->cluster) == 0, &text, &length, error);
    if (status == HAWSER_OK)
        status = HW_NEW(&texts, nodes, "the nodes' topologies", error);
    status = hw_cluster_agree(job->cluster, status, error);
    if (status == HAWSER_OK)
        status = hw_cluster_allgather(job->cluster, (hw_bytes){text, length}, texts, error);
    if (status == HAWSER_OK) {
        status = compare(texts, nodes, error);
        if (status == HAWSER_OK)
            status = lay(job, texts[0].data, error);
        /* No node sends before every node knows what it forwards. */
        status = hw_cluster_agree(job->cluster, status, error);
        for (uint32_t node = 0; node < nodes; node++)
            free(texts[node].data);
    }
    free(texts);
    free(text);
    return status == HAWSER_OK ? name_nodes(job, error) : status;
}
