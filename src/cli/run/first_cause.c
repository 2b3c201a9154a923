/* first_cause.c - finds the node that failed first. A node that loses another one ends, too, and the launcher may learn of
 * it first. Cause and consequence are distinguished by the nodes' reports (HW_FRAME_LOST) and by the exit code for a lost
 * peer. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/run/launch.h"

#define NAME_SECONDS 1.0 /* within this time the end of the blamed node is known, if it has ended at all */

/* Writes "node 2 (birch, pid 4711"; the caller closes the bracket. */
static void describe(const hw_launch *launch, uint32_t number, char *text, size_t size)
{
    const hw_run_node *node = &launch->nodes[number];
    size_t used = (size_t)snprintf(text, size, "node %u (%s", number, node->name);
    if (node->pid > 0 && used < size)
        snprintf(text + used, size - used, ", pid %ld", node->pid);
}

static void describe_end(const hw_launch *launch, uint32_t number, const char *why, char *text, size_t size)
{
    const hw_run_node *node = &launch->nodes[number];
    const char *signal_name = node->signal != 0 ? sigabbrev_np(node->signal) : NULL;
    char name[160];
    describe(launch, number, name, sizeof name);
    if (why != NULL)
        snprintf(text, size, "%s): %s", name, why);
    else if (node->signal != 0)
        snprintf(text, size, "%s) was killed by signal %d (%s)", name, node->signal,
                 signal_name != NULL ? signal_name : "unknown");
    else
        snprintf(text, size, "%s) ended with code %d%s", name, node->code,
                 launch->own && node->code == HW_EXIT_SIGNAL ? " (a signal)" : "");
}

static void name_failure(const hw_launch *launch, uint32_t number, const char *why)
{
    char text[1200], next[120];
    if (launch->interrupts != 0) /* after Ctrl-C no failure needs a reason */
        return;
    describe_end(launch, number, why, text, sizeof text);
    hw_restarts_say(launch, next, sizeof next);
    fprintf(launch->stream_err, "hawser run: %s%s%s\n", text,
            why == NULL && launch->nodes[number].signal == SIGKILL ? HW_OUT_OF_MEMORY : "", next);
    (void)fflush(launch->stream_err);
}

/* Sends the end of a node to all others, which may still wait for it to join. */
static hawser_status spread_ending(hw_launch *launch, uint32_t number, const char *why, hawser_error *error)
{
    char text[300];
    describe_end(launch, number, why, text, sizeof text);
    for (size_t i = 0; i < launch->connection_count; i++)
        if (!launch->connections[i].closed && launch->connections[i].greeted)
            HAWSER_TRY(hw_wire_put_text(&launch->connections[i].wire, HW_FRAME_ENDING, number, text, error));
    return HAWSER_OK;
}

/* Between the first and the last of our signals, a node ends because of us if it ended by itself or by SIGTERM. */
static bool ends_for_us(const hw_launch *launch, int number)
{
    return launch->stage == 3 || (launch->stage == 2 && (number == 0 || number == SIGTERM));
}

hawser_status hw_launch_ended(hw_launch *launch, uint32_t number, int code, int signal_number, const char *why,
                              hawser_error *error)
{
    hw_run_node *node = &launch->nodes[number];
    if (node->ended)
        return HAWSER_OK;
    const char *label = launch->prefix ? node->label : "";
    node->ended = true;
    node->code = code;
    node->signal = signal_number;
    node->interrupted = launch->interrupts > 0;
    node->ours = ends_for_us(launch, signal_number);
    HAWSER_TRY(hw_lines_take(&node->out, label, launch->stream_out, "", 0, true, error));
    HAWSER_TRY(hw_lines_take(&node->err, label, launch->stream_err, "", 0, true, error));
    if (code == 0 && signal_number == 0)
        return HAWSER_OK;
    if (launch->stage == 0) {
        launch->stage = 1;
        launch->failed_at = hw_seconds();
        launch->next_stage = hw_seconds() + launch->grace;
    }
    bool settled = launch->first_failed != launch->node_count;
    if ((settled && !launch->inferred) || node->ours)
        return HAWSER_OK;
    if (why == NULL && signal_number == 0 && (code == HW_EXIT_PEER || node->blamed != launch->node_count)) {
        if (!settled && launch->follower == launch->node_count) {
            launch->follower = number;
            launch->name_at = hw_seconds() + NAME_SECONDS;
        }
        return HAWSER_OK;
    }
    launch->first_failed = number;
    launch->inferred = false;
    launch->name_at = 0;
    name_failure(launch, number, why);
    return spread_ending(launch, number, why, error);
}

void hw_launch_count_losses(hw_launch *launch, uint32_t reporter, uint32_t node, const char *why)
{
    if (reporter == node || launch->nodes[reporter].blamed != launch->node_count)
        return;
    launch->nodes[reporter].blamed = node;
    launch->nodes[reporter].blamed_at = hw_seconds();
    snprintf(launch->nodes[reporter].why, sizeof launch->nodes[reporter].why, "%s", why);
}

/* Returns the node that most nodes blame, and in *teller the first of these; among equals it is the one that was blamed
 * first. */
static uint32_t most_blamed(const hw_launch *launch, uint32_t *reporter)
{
    uint32_t best = launch->node_count, most = 0;
    for (uint32_t i = 0; i < launch->node_count; i++) {
        uint32_t votes = 0;
        const hw_run_node *one = &launch->nodes[i];
        for (uint32_t k = 0; k < launch->node_count; k++)
            votes += launch->nodes[k].blamed == one->blamed;
        if (one->blamed == launch->node_count || votes < most ||
            (votes == most && one->blamed_at >= launch->nodes[*reporter].blamed_at))
            continue;
        most = votes;
        best = one->blamed;
        *reporter = i;
    }
    return best;
}

void hw_launch_find_first_cause(hw_launch *launch)
{
    if (launch->name_at == 0)
        return;
    launch->name_at = 0;
    uint32_t reporter = 0, node = most_blamed(launch, &reporter);
    launch->inferred = true;
    launch->first_failed = node < launch->node_count ? node : launch->follower;
    if (node == launch->node_count) {
        name_failure(launch, launch->follower, NULL);
    } else if (launch->interrupts == 0) {
        char name[160], next[120];
        describe(launch, node, name, sizeof name);
        hw_restarts_say(launch, next, sizeof next);
        fprintf(launch->stream_err, "hawser run: %s) failed first, as node %u saw it: %s%s\n", name, reporter,
                launch->nodes[reporter].why, next);
        (void)fflush(launch->stream_err);
    }
}

/* Returns whether the node ended by the signal that ended the launcher, before it could handle it, or never ran. */
static bool ended_by_request(const hw_run_node *node)
{
    return node->interrupted && (node->pid == 0 || node->code == HW_EXIT_SIGNAL || node->signal == SIGINT ||
                                 node->signal == SIGTERM || node->signal == SIGHUP);
}

static void say_nothing_began(const hw_launch *launch)
{
    fprintf(launch->stream_err, "hawser run: ended by SIG%s before its nodes had begun; nothing was reached\n",
            sigabbrev_np(launch->first_signal));
}

int hw_launch_code(const hw_launch *launch)
{
    if (launch->node_count == 0) {
        say_nothing_began(launch);
        return HW_EXIT_SIGNAL;
    }
    if (launch->first_failed == launch->node_count)
        return 0;
    const hw_run_node *node = &launch->nodes[launch->first_failed];
    if (ended_by_request(node)) {
        const hw_run_node *leader = &launch->nodes[0]; /* it reports what was reached, unless it could not begin */
        if ((launch->own || node->pid == 0) && leader->code != HW_EXIT_SIGNAL && (leader->code != 0 || leader->signal != 0))
            say_nothing_began(launch);
        return HW_EXIT_SIGNAL;
    }
    /* It was lost, whatever happened to it later. */
    if (node->ours || !node->ended || (node->code == 0 && node->signal == 0))
        return HW_EXIT_PEER;
    return node->signal != 0 ? 128 + node->signal : node->code;
}
