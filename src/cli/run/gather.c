/* gather.c - finds the hosts that answer before nodes are placed: for --restarts, and for a number of nodes that depends on
 * them (-n 4:10). Hosts are asked in the order of the list. When one fails, the next one takes its place. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/run/launch.h"

static bool answers(const hw_host_connection *connection)
{
    return connection->greeted && !connection->closed;
}

static bool is_pending(const hw_host_connection *connection)
{
    return connection->asked && !connection->greeted && !connection->closed;
}

/* Returns the slots of the hosts that answer and, with `pending`, of those that still may. */
static uint64_t slots_of(const hw_launch *launch, bool pending)
{
    uint64_t slots = 0;
    for (size_t i = 0; i < launch->connection_count; i++)
        if (answers(&launch->connections[i]) || (pending && is_pending(&launch->connections[i])))
            slots += launch->connections[i].host->slots;
    return slots;
}

static hawser_status ask(hw_launch *launch, hw_host_connection *connection, hawser_error *error)
{
    hw_host_connection_free(connection);
    *connection = (hw_host_connection){
        .host = connection->host, .asked = true, .again = connection->again, .err = -1, .wire = {.in = -1, .out = -1}};
    return hw_host_connection_start(launch, connection, error);
}

/* Asks hosts until they have enough slots: first those that have not failed before. */
static hawser_status ask_next(hw_launch *launch, hawser_error *error)
{
    for (int failed = 0; failed < 2; failed++)
        for (size_t i = 0; i < launch->connection_count; i++) {
            hw_host_connection *connection = &launch->connections[i];
            if (!connection->asked && connection->host->lost == (failed == 1) && slots_of(launch, true) < launch->most)
                HAWSER_TRY(ask(launch, connection, error));
        }
    return HAWSER_OK;
}

/* At a restart a host that failed may be about to come back, so it is asked again while too few others answer. */
static bool asks_again(const hw_launch *launch)
{
    return launch->restarts->done > 0 && slots_of(launch, false) < launch->least &&
           hw_seconds() - launch->restarts->began < launch->join_timeout;
}

static hawser_status ask_again(hw_launch *launch, hawser_error *error)
{
    for (size_t i = 0; i < launch->connection_count && asks_again(launch); i++) {
        hw_host_connection *connection = &launch->connections[i];
        if (connection->asked && connection->closed && connection->pid == 0 && hw_seconds() >= connection->again)
            HAWSER_TRY(ask(launch, connection, error));
    }
    return HAWSER_OK;
}

/* Returns whether no further answer is waited for. A host that failed before holds up a start that has enough nodes for no
 * longer than --failure-timeout. */
static bool is_complete(const hw_launch *launch)
{
    bool late = hw_seconds() - launch->restarts->began >= launch->failure_timeout;
    bool enough = late && slots_of(launch, false) >= launch->least, full = slots_of(launch, true) >= launch->most;
    for (size_t i = 0; i < launch->connection_count; i++) {
        const hw_host_connection *connection = &launch->connections[i];
        if ((!connection->asked && !full) || (is_pending(connection) && !(enough && connection->host->lost)))
            return false;
    }
    return !asks_again(launch);
}

static hawser_status too_few(const hw_launch *launch, hawser_error *error)
{
    unsigned long long slots = slots_of(launch, false);
    return hawser_fail(error, HAWSER_PEER_LOST, "the hosts that answer have %llu slot%s, and the job needs %u%s", slots,
                       slots == 1 ? "" : "s", launch->least,
                       launch->restarts->done > 0 ? "; a restart asks them again for --join-timeout" : "");
}

hawser_status hw_gather(hw_launch *launch, hawser_error *error)
{
    launch->gathering = true;
    do {
        HAWSER_TRY(ask_next(launch, error));
        HAWSER_TRY(ask_again(launch, error));
        HAWSER_TRY(hw_launch_turn(launch, error));
    } while (launch->interrupts == 0 && !is_complete(launch));
    launch->gathering = false;
    for (size_t i = 0; i < launch->connection_count; i++) {
        hw_host *host = launch->connections[i].host;
        host->out = !answers(&launch->connections[i]);
        host->lost = host->lost && host->out;
    }
    return launch->interrupts > 0 || slots_of(launch, false) >= launch->least ? HAWSER_OK : too_few(launch, error);
}
