/* loop.c - the launcher's event loop: output and ends of nodes, signals, and the end of a grace period. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/run/agent.h"
#include "cli/run/launch.h"
#include "runtime/job/signals.h"

enum { KILL_SECONDS = 5, INPUT_MOST = 1 << 18, PIECE = 1 << 16, INTERRUPTS_MOST = 3 };

static bool have_ended(const hw_launch *launch, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        if (!launch->nodes[i].ended)
            return false;
    return true;
}

/* ------------------------------------------------------------------------------------------------- signals ---- */

/* Stops all nodes, then this process. When it is continued, it continues the nodes. */
static hawser_status suspend(hw_launch *launch, hawser_error *error)
{
    HAWSER_TRY(hw_host_connection_signal(launch, SIGTSTP, error));
    double until = hw_seconds() + 1;
    for (size_t i = 0; i < launch->connection_count; i++)
        while (!launch->connections[i].closed && hw_buffer_left(&launch->connections[i].wire.waiting) > 0 &&
               hw_seconds() < until) {
            struct pollfd one = {.fd = launch->connections[i].wire.out, .events = POLLOUT};
            (void)poll(&one, 1, 100);
            hw_wire_flush(&launch->connections[i].wire);
        }
    (void)raise(SIGSTOP);
    return HAWSER_OK;
}

/* Asks all agents to end their nodes. An agent that has not answered after some seconds is abandoned. */
static hawser_status end_at_once(hw_launch *launch, hawser_error *error)
{
    if (launch->abandon_at == 0)
        launch->abandon_at = hw_seconds() + KILL_SECONDS;
    return hw_host_connection_signal(launch, SIGKILL, error);
}

/* Sends all signals on, because a user's program may treat each differently. Signals that belong to one request are counted
 * once. */
static hawser_status interrupt(hw_launch *launch, int number, hawser_error *error)
{
    double now = hw_seconds();
    if (number == SIGHUP && launch->does == HW_RUN_SERVES && !launch->terminal) /* servers log it and continue */
        return hw_host_connection_signal(launch, number, error);
    bool again = launch->interrupts > 0;
    if (number == SIGHUP &&
        launch->does == HW_RUN_SERVES) { /* our terminal is lost; servers on other hosts have none and would continue */
        if (again)
            return HAWSER_OK;
        number = SIGTERM;
    }
    if (!again) {
        launch->first_signal = number;
        launch->first_at = now;
    }
    if (!(again && hw_signal_echoes(launch->first_signal, number, now - launch->first_at)) &&
        ++launch->interrupts == INTERRUPTS_MOST) {
        fprintf(launch->stream_err, "hawser run: ending all nodes at once\n");
        return end_at_once(launch, error);
    }
    return hw_host_connection_signal(launch, number, error);
}

static hawser_status reap(hw_launch *launch, hawser_error *error)
{
    for (size_t i = 0; i < launch->connection_count; i++) {
        hw_host_connection *connection = &launch->connections[i];
        if (connection->pid <= 0 || waitpid(connection->pid, &connection->result, WNOHANG) != connection->pid)
            continue;
        connection->pid = 0;
        while (!connection->closed &&
               !connection->wire.ended) { /* the writer has ended: reads the rest, unless a grandchild keeps the pipe open */
            struct pollfd one = {.fd = connection->wire.in, .events = POLLIN};
            if (poll(&one, 1, 0) <= 0)
                break;
            HAWSER_TRY(hw_host_connection_serve(launch, connection, error));
        }
        if (!connection->closed)
            HAWSER_TRY(hw_host_connection_settle(launch, connection, error));
    }
    return HAWSER_OK;
}

hawser_status hw_launch_signals(hw_launch *launch, hawser_error *error)
{
    for (int number; (number = hw_signals_next(launch->signals)) != 0;)
        switch (number) {
        case SIGCHLD: HAWSER_TRY(reap(launch, error)); break;
        case SIGTSTP: HAWSER_TRY(suspend(launch, error)); break;
        case SIGINT:
        case SIGTERM:
        case SIGHUP: HAWSER_TRY(interrupt(launch, number, error)); break;
        default: HAWSER_TRY(hw_host_connection_signal(launch, number, error)); break;
        }
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------- the loop ---- */

static hawser_status abandon_all(hw_launch *launch, hawser_error *error)
{
    for (size_t i = 0; i < launch->connection_count; i++)
        if (!have_ended(launch, launch->connections[i].first, launch->connections[i].count))
            HAWSER_TRY(hw_host_connection_abandon(launch, &launch->connections[i], error));
    return HAWSER_OK;
}

/* Returns the time within which each agent sends a heartbeat. */
double hw_launch_beat(const hw_launch *launch)
{
    return fmin(fmax(fmin(launch->failure_timeout, launch->join_timeout) / 4, 0.02), 1);
}

/* Counts the silence of all hosts. Time in which this process was stopped, or blocked by the reader of its output, says
 * nothing about them and is left out. */
static hawser_status serve_silence(hw_launch *launch, hawser_error *error)
{
    double now = hw_seconds(), passed = fmin(now - launch->looked_at, 2 * hw_launch_beat(launch));
    launch->looked_at = now;
    for (size_t i = 0; i < launch->connection_count; i++) {
        hw_host_connection *connection = &launch->connections[i];
        bool awaited = launch->gathering ? !connection->greeted : !have_ended(launch, connection->first, connection->count);
        if (!connection->closed && awaited)
            HAWSER_TRY(hw_host_connection_wait(launch, connection, passed, error));
    }
    return HAWSER_OK;
}

static hawser_status serve_time(hw_launch *launch, hawser_error *error)
{
    HAWSER_TRY(serve_silence(launch, error));
    if (launch->abandon_at != 0 && hw_seconds() >= launch->abandon_at)
        HAWSER_TRY(abandon_all(launch, error));
    if (launch->name_at != 0 && hw_seconds() >= launch->name_at)
        hw_launch_find_first_cause(launch);
    if (launch->stage == 0 || launch->stage == 3 || hw_seconds() < launch->next_stage)
        return HAWSER_OK;
    launch->stage++;
    launch->next_stage = hw_seconds() + KILL_SECONDS;
    if (launch->stage == 3)
        return end_at_once(launch, error);
    HAWSER_TRY(hw_host_connection_signal(launch, SIGTERM, error));
    return hw_host_connection_signal(launch, SIGCONT, error);
}

/* Sends our standard input to a node 0 on another host. */
static hawser_status pass_input(hw_launch *launch, hawser_error *error)
{
    char piece[PIECE];
    ssize_t got = read(launch->stdin_fd, piece, sizeof piece);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return HAWSER_OK;
    if (got <= 0) {
        launch->stdin_fd = -1;
        got = 0;
    }
    launch->input_out += (size_t)got;
    return hw_wire_put(&launch->leader->wire, HW_FRAME_INPUT, 0, piece, (size_t)got, error);
}

static void watch_all(hw_launch *launch)
{
    struct pollfd *set = launch->set;
    const hw_host_connection *leader = launch->leader;
    bool input = leader != NULL && leader->greeted && !leader->closed && launch->input_out < INPUT_MOST;
    set[0] = hw_watch(launch->signals, POLLIN);
    set[1] = hw_watch(launch->stdin_fd, input ? POLLIN : 0);
    for (size_t i = 0; i < launch->connection_count; i++) {
        const hw_host_connection *connection = &launch->connections[i];
        bool waiting = hw_buffer_left(&connection->wire.waiting) > 0;
        set[2 + 2 * i] =
            hw_watch(connection->wire.in, connection->wire.ended ? 0 : (short)(POLLIN | (waiting ? POLLOUT : 0)));
        set[3 + 2 * i] = hw_watch(connection->err, POLLIN);
    }
}

static int poll_timeout(const hw_launch *launch)
{
    double until = hw_seconds() + hw_launch_beat(launch);
    until = launch->stage != 0 && launch->stage != 3 && launch->next_stage < until ? launch->next_stage : until;
    until = launch->name_at != 0 && launch->name_at < until ? launch->name_at : until;
    until = launch->abandon_at != 0 && launch->abandon_at < until ? launch->abandon_at : until;
    return hw_poll_milliseconds(until - hw_seconds());
}

hawser_status hw_launch_turn(hw_launch *launch, hawser_error *error)
{
    struct pollfd *set = launch->set;
    watch_all(launch);
    if (poll(set, 2 + 2 * launch->connection_count, poll_timeout(launch)) < 0 && errno != EINTR)
        return hawser_fail(error, HAWSER_IO, "cannot wait: %s", strerror(errno));
    for (size_t i = 0; i < launch->connection_count; i++) {
        hw_host_connection *connection = &launch->connections[i];
        short events = set[2 + 2 * i].revents;
        if ((events & POLLOUT) != 0)
            hw_wire_flush(&connection->wire);
        if ((events & (POLLIN | POLLHUP | POLLERR)) != 0)
            HAWSER_TRY(hw_host_connection_serve(launch, connection, error));
        if (set[3 + 2 * i].revents != 0)
            HAWSER_TRY(hw_host_connection_receive(launch, connection, error));
    }
    if (set[1].revents != 0)
        HAWSER_TRY(pass_input(launch, error));
    if (set[0].revents != 0)
        HAWSER_TRY(hw_launch_signals(launch, error));
    return serve_time(launch, error);
}

hawser_status hw_launch_loop(hw_launch *launch, hawser_error *error)
{
    while (!have_ended(launch, 0, launch->node_count))
        HAWSER_TRY(hw_launch_turn(launch, error));
    hw_launch_find_first_cause(launch);
    return HAWSER_OK;
}
