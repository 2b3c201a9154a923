#include "sim/machine.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

#include "base/machine.h"
#include "cluster/internal.h"
#include "runtime/block/fault.h"
#include "runtime/block/trap.h"
#include "runtime/exec/executor.h"
#include "sim/world.h"
#include "sim/wrap.h"

enum { PROCESS = 100000 }; /* the number of the first process, for the product */

/* Stands in for the launcher of a job: passes the address of its node 0 on. */
typedef struct sim_launcher {
    uint32_t first, nodes;
    char address[HW_NET_ADDRESS];
    sim_list waits;
} sim_launcher;

static sim_launcher *launchers;
static size_t launcher_count;

void sim_form_jobs(const uint32_t *nodes, size_t count)
{
    free(launchers);
    launchers = calloc(count, sizeof *launchers);
    launcher_count = count;
    if (launchers == NULL)
        abort();
    for (size_t i = 0; i < count; i++)
        launchers[i] = (sim_launcher){.first = i == 0 ? 0 : launchers[i - 1].first + nodes[i - 1], .nodes = nodes[i]};
}

/* Returns the launcher of the running process. */
static sim_launcher *own_launcher(void)
{
    size_t i = 0;
    while (i + 1 < launcher_count && launchers[i + 1].first <= sim_own()->number)
        i++;
    return &launchers[i];
}

static hawser_status publish(hw_place *place, const char *address, hawser_error *error)
{
    (void)place, (void)error;
    sim_launcher *launcher = own_launcher();
    snprintf(launcher->address, sizeof launcher->address, "%s", address);
    sim_wake_all(&launcher->waits);
    return HAWSER_OK;
}

static hawser_status fetch(hw_place *place, double seconds, char address[HW_NET_ADDRESS], hawser_error *error)
{
    (void)place;
    sim_launcher *launcher = own_launcher();
    uint64_t end = sim_now() + (uint64_t)(seconds > 0 ? seconds * 1e9 : 0);
    while (launcher->address[0] == '\0')
        if (!sim_wait(&launcher->waits, end))
            return hawser_fail(error, HAWSER_TIMEOUT, "node 0 has published no address in %.1f s", seconds);
    memcpy(address, launcher->address, HW_NET_ADDRESS);
    return HAWSER_OK;
}

static void close_place(hw_place *place)
{
    (void)place;
}

static void name_place(const hw_place_options *options, hw_place *place)
{
    if (options->name != NULL)
        snprintf(place->name, sizeof place->name, "%s", options->name);
    else
        snprintf(place->name, sizeof place->name, "host%u", sim_own()->host);
}

SIM_WRAP(hawser_status, hw_place_find, const hw_place_options *options, hw_place *place, hawser_error *error)
{
    static const hw_place_ops ops = {"hawser-sim", publish, fetch, NULL, NULL, close_place};
    if (sim_self() == NULL || options->alone)
        return __real_hw_place_find(options, place, error);
    if (options->join != NULL || options->listen > 0) { /* started by hand, so its launcher is not used */
        HAWSER_TRY(__real_hw_place_find(options, place, error));
        name_place(options, place);
        return HAWSER_OK;
    }
    const sim_launcher *launcher = own_launcher();
    *place = (hw_place){.ops = &ops,
                        .node = sim_own()->number - launcher->first,
                        .nodes = launcher->nodes,
                        .job = "simulated",
                        .key = "0123456789abcdef",
                        .key_length = HW_NET_KEY_LEAST,
                        .lifeline = -1,
                        .channel = {-1, -1}};
    name_place(options, place);
    return HAWSER_OK;
}

SIM_WRAP(void, hw_cluster_host_id, char *text, size_t size)
{
    if (sim_self() == NULL)
        __real_hw_cluster_host_id(text, size);
    else
        snprintf(text, size, "host%u", sim_own()->host);
}

/* A thread that spins for another processor's result would never end, and each block has a processor of its own anyway:
 * threads take turns, but computing takes time only where it is charged. */
SIM_WRAP(uint32_t, hw_machine_processors, void)
{
    return sim_self() == NULL ? __real_hw_machine_processors() : 1;
}

SIM_WRAP(uint64_t, hw_machine_memory, uint32_t sharers)
{
    const uint64_t memory = UINT64_C(16) << 30;
    return sim_self() == NULL ? __real_hw_machine_memory(sharers) : memory / (sharers > 0 ? sharers : 1);
}

/* Processes of a world share their memory, so none has a size of its own. */
SIM_WRAP(uint64_t, hw_machine_peak_rss, void)
{
    return sim_self() == NULL ? __real_hw_machine_peak_rss() : 0;
}

SIM_WRAP(hawser_status, hw_machine_descriptors, uint64_t wanted, const char *what, const char *where, hawser_error *error)
{
    return sim_self() == NULL ? __real_hw_machine_descriptors(wanted, what, where, error) : HAWSER_OK;
}

SIM_WRAP(pid_t, getpid, void)
{
    return sim_self() == NULL ? __real_getpid() : (pid_t)(PROCESS + sim_own()->number);
}

SIM_WRAP(int, kill, pid_t process, int signal)
{
    if (sim_self() == NULL)
        return __real_kill(process, signal);
    int64_t number = (int64_t)process - PROCESS;
    bool runs = number >= 0 && number < sim_process_count() && sim_process_at((uint32_t)number)->state <= SIM_STOPPED;
    errno = runs ? errno : ESRCH;
    return runs ? 0 : -1;
}

SIM_WRAP(void, _exit, int code)
{
    if (sim_self() == NULL)
        __real__exit(code);
    else
        sim_exit(code);
}

SIM_WRAP(ssize_t, getrandom, void *out, size_t size, unsigned flags)
{
    if (sim_self() == NULL)
        return __real_getrandom(out, size, flags);
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)out)[i] = (unsigned char)sim_below(256);
    return (ssize_t)size;
}

/* --------------------------------------------------------------------------- what belongs to the one real process ---- */

SIM_WRAP(void, hw_faults_take, hw_faults *faults)
{
    if (sim_self() == NULL)
        __real_hw_faults_take(faults);
    else
        *faults = (hw_faults){0};
}

SIM_WRAP(hawser_status, hw_fault_stack_new, const hw_call_place *place, const hawser_error *refused, hw_fault_stack **stack,
         hawser_error *error)
{
    if (sim_self() == NULL)
        return __real_hw_fault_stack_new(place, refused, stack, error);
    *stack = NULL;
    return HAWSER_OK;
}

SIM_WRAP(hawser_status, hw_trap_new, const hw_session *session, hw_trap **trap, hawser_error *error)
{
    HAWSER_TRY(__real_hw_trap_new(session, trap, error));
    if (sim_self() == NULL || *trap == NULL)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION, "--check reads memory by a signal, which a simulated node cannot take");
}

/* Spinning for a message takes real time, and finds nothing: another thread runs only when this one waits. */
SIM_WRAP(hawser_status, hw_thread_executor, uint32_t count, uint32_t permits, int spin, hw_executor **executor,
         hawser_error *error)
{
    return __real_hw_thread_executor(count, permits, sim_self() == NULL ? spin : 0, executor, error);
}

SIM_WRAP(hawser_status, hw_fiber_executor, uint32_t count, uint64_t seed, hw_chooser chooser, hw_executor **executor,
         hawser_error *error)
{
    if (sim_self() == NULL)
        return __real_hw_fiber_executor(count, seed, chooser, executor, error);
    return hawser_fail(error, HAWSER_BAD_OPTION, "a simulated node runs its blocks as threads, and not as fibers");
}
