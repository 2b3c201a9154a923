/* place.c - asks the file of each launcher in turn, and refuses a single node if the environment says that there are
 * several. */
#include "cluster/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Variables that give a number of processes, for the case that no launcher's file took them. */
typedef struct hint {
    const char *variable, *launcher, *cure;
} hint;

static const hint hints[] = {
    {"HAWSER_NODES", "hawser run", "start the program by 'hawser run' itself, without a wrapper that clears HAWSER_LAUNCH"},
    {"OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun", "this Hawser cannot use PMIx here: build it with libpmix-dev"},
    {"MV2_COMM_WORLD_SIZE", "MVAPICH's launcher", "start it by 'hawser run --hosts FILE'"},
    {"PMI_SIZE", "a PMI launcher", "start it by MPICH's mpirun, or by 'hawser run --hosts FILE'"},
    {"SLURM_STEP_NUM_TASKS", "srun",
     "use srun --mpi=pmix, or make a key on a shared file system by 'hawser key FILE' and say --key-file FILE"},
};

/* If each of several processes worked as the only node, all would write the same model. */
static hawser_status refuse_several(char *const *environment, hawser_error *error)
{
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        uint64_t count;
        if (hw_variable_number(environment, hints[i].variable, 2, UINT32_MAX, &count))
            return hawser_fail(
                error, HAWSER_BAD_OPTION,
                "%s=%llu: %s started this process as one of several, but it cannot find the others; %s; or say "
                "--alone (HAWSER_ALONE=yes) if each is meant to work for itself",
                hints[i].variable, (unsigned long long)count, hints[i].launcher, hints[i].cure);
    }
    return HAWSER_OK;
}

bool hw_place_doubt(char *const *environment, char *text, size_t size)
{
    uint64_t tasks;
    if (!hw_variable_number(environment, "SLURM_NTASKS", 2, UINT32_MAX, &tasks) ||
        hw_variable(environment, "SLURM_JOB_ID") == NULL || hw_variable(environment, "SLURM_STEP_NUM_TASKS") != NULL ||
        hw_variable(environment, "HAWSER_LAUNCH") != NULL)
        return false;
    snprintf(
        text, size,
        "Slurm has given this job %llu tasks, and this process, which the batch script itself has started, works as one "
        "node without the others; 'srun --mpi=pmix hawser ...' in the script starts a node per task; for one node with "
        "as many processors ask sbatch for --ntasks=1 --cpus-per-task=%llu; --alone says that this is meant",
        (unsigned long long)tasks, (unsigned long long)tasks);
    return true;
}

/* Names the node. The number distinguishes nodes of one host. */
static void own_name(const hw_place_options *options, hw_place *place)
{
    char host[256] = "";
    if (options->name != NULL)
        snprintf(place->name, sizeof place->name, "%s", options->name);
    if (place->name[0] != '\0')
        return;
    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0')
        snprintf(host, sizeof host, "node");
    host[strcspn(host, ".")] = '\0';
    if (place->ops != NULL && place->node != HW_NET_ANY)
        snprintf(place->name, sizeof place->name, "%.48s-%u", host, place->node);
    else
        snprintf(place->name, sizeof place->name, "%.60s", host);
}

/* A node in Python leaves "PID/VALUE/VALUE..." in HAWSER_PYTHON_NODE: its process, and its launcher's variables. Returns
 * true in a program that the node has started, which inherits all of them and is none of the nodes. A launcher that a node
 * starts sets other values. */
static bool is_child_of_node(char *const *environment)
{
    static const char *const names[] = {"HAWSER_JOB", "HAWSER_NODE", "PMIX_NAMESPACE", "PMIX_RANK",     "PMI_JOBID",
                                        "PMI_RANK",   "PMI_FD",      "SLURM_JOB_ID",   "SLURM_STEP_ID", "SLURM_PROCID"};
    const char *mark = hw_variable(environment, "HAWSER_PYTHON_NODE");
    char *at = NULL;
    if (mark == NULL || strtoll(mark, &at, 10) == getpid())
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = hw_variable(environment, names[i]);
        size_t length = value != NULL ? strlen(value) : 0;
        if (*at != '/' || strncmp(at + 1, value != NULL ? value : "", length) != 0)
            return false;
        at += 1 + length;
    }
    return *at == '\0';
}

static hawser_status ask(const hw_place_options *options, hw_place *place, hawser_error *error)
{
    static hawser_status (*const launchers[])(const hw_place_options *options, hw_place *place, hawser_error *error) = {
        hw_place_hand, hw_place_run, hw_place_pmix, hw_place_pmi, hw_place_slurm,
    };
    bool by_hand = options->listen > 0 || options->join != NULL;
    if (options->alone || (!by_hand && is_child_of_node(options->environment)))
        return HAWSER_OK;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        HAWSER_TRY(launchers[i](options, place, error));
        if (place->ops != NULL || place->forked)
            return HAWSER_OK;
    }
    return refuse_several(options->environment, error);
}

hawser_status hw_place_find(const hw_place_options *options, hw_place *place, hawser_error *error)
{
    *place = (hw_place){.nodes = 1, .lifeline = -1, .channel = {-1, -1}};
    hawser_status status = ask(options, place, error);
    if (status != HAWSER_OK) {
        hw_place_close(place);
        return status;
    }
    own_name(options, place);
    return HAWSER_OK;
}

void hw_place_close(hw_place *place)
{
    if (place->ops != NULL)
        place->ops->close(place);
    place->ops = NULL;
    place->reports = false;
    explicit_bzero(place->key, sizeof place->key);
    place->key_length = 0;
}
