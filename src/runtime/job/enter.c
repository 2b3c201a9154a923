/* enter.c - how a job gets its nodes and its time limit. */
#include "runtime/job/enter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/messages.h"

hawser_status hw_read_ports(const hawser_options *options, uint16_t *port_low, uint16_t *port_high, hawser_error *error)
{
    const char *text = hawser_options_text(options, "port-range");
    unsigned low = 0, high = 0;
    char end = '\0';
    if (text == NULL || *text == '\0')
        return HAWSER_OK;
    int got = sscanf(text, "%5u-%5u%c", &low, &high, &end);
    if (got == 1 && strchr(text, '-') == NULL)
        high = low;
    if ((got != 2 && high != low) || low == 0 || high < low || high > UINT16_MAX)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "port-range = '%s': expected LOW-HIGH or one port, from 1 to 65535, as in 7000-7100", text);
    *port_low = (uint16_t)low;
    *port_high = (uint16_t)high;
    return HAWSER_OK;
}

hw_transport_kind hw_transport_option(const hawser_options *options)
{
    const char *word = hawser_options_text(options, "transport");
    static const char *const words[] = {
        [HW_NET_BEST] = "auto", [HW_NET_SHARED] = "shm", [HW_NET_UNIX] = "unix", [HW_NET_TCP] = "tcp", [HW_NET_UCX] = "ucx"};
    int transport = HW_NET_UCX;
    while (transport > HW_NET_BEST && strcmp(word, words[transport]) != 0)
        transport--;
    return (hw_transport_kind)transport;
}

/* Sends the arguments of the job to nodes that were started by hand; all other nodes have them and skip this. */
static hawser_status share_arguments(hw_cluster *cluster, const hw_entry *entry, hawser_error *error)
{
    uint32_t nodes = hw_cluster_nodes(cluster);
    hw_bytes *in = NULL, own = {0};
    HAWSER_TRY(HW_NEW(&in, nodes, "the arguments of the job", error));
    if (hw_cluster_self(cluster) == 0)
        own = (hw_bytes){(void *)entry->arguments, entry->arguments_length};
    hawser_status status = hw_cluster_allgather(cluster, own, in, error);
    if (status == HAWSER_OK && entry->received_arguments != NULL) {
        *entry->received_arguments = in[0];
        in[0] = (hw_bytes){0};
    }
    hw_bytes_free(in, nodes);
    return status;
}

hawser_status hw_enter(const hawser_options *options, hw_place *place, hw_cluster **cluster, const hw_entry *entry,
                       hawser_error *error)
{
    char build[HW_BUILD_SIZE];
    hw_cluster_options how = {.build = build,
                              .interface = hawser_options_text(options, "interface"),
                              .transport = hw_transport_option(options),
                              .trust_fabric = hawser_options_flag(options, "trust-fabric"),
                              .failure_timeout = hawser_options_number(options, "failure-timeout"),
                              .join_timeout = hawser_options_number(options, "join-timeout"),
                              .rate = hawser_options_bytes(options, "rate"),
                              .alltoall_timeout = hawser_options_number(options, "timeout"),
                              .messages = entry->messages,
                              .cancellation = entry->cancellation};
    HAWSER_TRY(hw_read_ports(options, &how.port_low, &how.port_high, error));
    const hw_place_options asked = {.environment = environ,
                                    .key_file = hawser_options_text(options, "key-file"),
                                    .key = entry->key,
                                    .key_length = entry->key_length,
                                    .name = hawser_options_text(options, "node-name"),
                                    .join = hawser_options_text(options, "join"),
                                    .listen = (uint32_t)hawser_options_integer(options, "listen"),
                                    .node = entry->node,
                                    .alone = hawser_options_flag(options, "alone"),
                                    .port_low = how.port_low,
                                    .port_high = how.port_high,
                                    .messages = entry->messages};
    if (place->ops == NULL)
        HAWSER_TRY(hw_place_find(&asked, place, error));
    char doubt[500];
    if (place->ops == NULL && !asked.alone && hw_place_doubt(environ, doubt, sizeof doubt))
        hw_notify(entry->messages, HAWSER_WARNING, 0, "%s", doubt);
    if (place->ops == NULL || place->nodes == 1)
        return HAWSER_OK;
    place->cancellation = entry->cancellation;
    /* A job of one node needs none: the call takes the loader's lock, which stays locked in a child if another thread held
     * it at the fork. */
    hw_build(build);
    how.processors = hw_machine_processors();
    HAWSER_TRY(hw_cluster_join(place, &how, cluster, error));
    return place->by_hand ? share_arguments(*cluster, entry, error) : HAWSER_OK;
}

/* Returns the time limit of the job: Slurm ends the processes at SLURM_JOB_END_TIME, and some time before is needed to
 * save. */
double hw_time_left(double limit, char *const *environment, double now)
{
    enum { LEAST_SECONDS = 1, SAVING_SECONDS = 30, SAVING_PART = 20 };
    uint64_t end;
    if (!hw_variable_number(environment, "SLURM_JOB_END_TIME", 1, INT64_MAX, &end))
        return limit;
    double left = (double)end - now;
    double saving = left / SAVING_PART < SAVING_SECONDS ? left / SAVING_PART : SAVING_SECONDS;
    left = left - saving > LEAST_SECONDS ? left - saving : LEAST_SECONDS;
    return limit > 0 && limit < left ? limit : left;
}
