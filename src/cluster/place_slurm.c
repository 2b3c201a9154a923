/* place_slurm.c - srun --mpi=none: number and count come from Slurm's environment, the key from a file that all hosts share.
 * Node 0 is on the first host, at a port that every node computes alike. */
#include <stdio.h>

#include "cluster/place.h"

enum { PORT_LOW = 20000, PORT_HIGH = 29999 }; /* below the ports that systems assign */

static hawser_status publish(hw_place *place, const char *address, hawser_error *error)
{
    (void)place;
    (void)address;
    (void)error;
    return HAWSER_OK; /* the others compute the address */
}

static hawser_status fetch(hw_place *place, double seconds, char address[HW_NET_ADDRESS], hawser_error *error)
{
    (void)seconds;
    (void)error;
    snprintf(address, HW_NET_ADDRESS, "%s:%u", place->manager, place->port);
    return HAWSER_OK;
}

static void close_place(hw_place *place)
{
    (void)place;
}

/* Jobs that share a host have different numbers and therefore, as far as the range allows, different ports. */
static uint16_t port_of(const hw_place_options *options, uint64_t job, uint64_t step)
{
    uint16_t low = options->port_low != 0 ? options->port_low : PORT_LOW;
    uint16_t high = options->port_low != 0 ? options->port_high : PORT_HIGH;
    return (uint16_t)(low + (job * 31 + step) % (uint64_t)(high - low + 1));
}

hawser_status hw_place_slurm(const hw_place_options *options, hw_place *place, hawser_error *error)
{
    static const hw_place_ops ops = {"srun", publish, fetch, NULL, NULL, close_place};
    char *const *environment = options->environment;
    uint64_t node, nodes, job = 0, step = 0, hosts = 0;
    const char *list = hw_variable(environment, "SLURM_STEP_NODELIST"), *name = hw_variable(environment, "SLURMD_NODENAME");
    if (!hw_variable_number(environment, "SLURM_STEP_NUM_TASKS", 2, HW_PLACE_NODES_MOST, &nodes) ||
        !hw_variable_number(environment, "SLURM_PROCID", 0, nodes - 1, &node) ||
        (options->key_file == NULL && options->key == NULL))
        return HAWSER_OK;
    if (list == NULL)
        list = hw_variable(environment, "SLURM_JOB_NODELIST");
    if (list == NULL || !hw_nodelist_first(list, place->manager, sizeof place->manager) ||
        !hw_variable_number(environment, "SLURM_JOB_ID", 0, UINT32_MAX, &job))
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "srun gave SLURM_PROCID, but no list of hosts or job number that could be read (SLURM_STEP_NODELIST = "
            "'%.80s')",
            list != NULL ? list : "");
    (void)hw_variable_number(environment, "SLURM_STEP_ID", 0, UINT32_MAX, &step);
    if (hw_variable_number(environment, "SLURM_STEP_NUM_NODES", 1, UINT32_MAX, &hosts) && hosts == 1)
        snprintf(place->manager, sizeof place->manager, "localhost"); /* works without a name server */
    place->local = hosts == 1;
    place->key_of_file = true;
    place->node = (uint32_t)node;
    place->nodes = (uint32_t)nodes;
    place->port = port_of(options, job, step);
    snprintf(place->job, sizeof place->job, "slurm-%llu.%llu", (unsigned long long)job, (unsigned long long)step);
    snprintf(place->name, sizeof place->name, "%.40s-%llu", name != NULL ? name : "task", (unsigned long long)node);
    place->ops = &ops;
    return hw_key_take(options, place, error);
}
