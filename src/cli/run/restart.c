/* restart.c - decides whether the command starts again after a failure, and counts restarts. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/run/launch.h"

enum { IDLE_MOST = 2 /* restarts in a row without progress */ };

/* Only what befell a node is repeated: the node was lost or killed. An error of the program would occur again, and so would
 * SIGPIPE, since the reader of its output has gone. */
static bool befell(const hw_launch *launch, const hw_run_node *node)
{
    bool lost = node->ours || !node->ended || (node->code == 0 && node->signal == 0);
    bool killed = node->signal != 0 && node->signal != SIGPIPE;
    return lost || killed || node->code == HW_EXIT_PEER || (launch->own && node->code == HW_EXIT_SIGNAL);
}

/* Returns the number of restarts in a row without progress, if the present start ends now. */
static unsigned idle_now(const hw_launch *launch)
{
    const hw_restarts *it = launch->restarts;
    bool lasted = !it->strict && !it->reported && launch->failed_at - it->began >= it->window;
    return it->done == 0 || launch->progressed || lasted ? 0 : it->idle + 1;
}

static bool is_due(const hw_launch *launch)
{
    return launch->restarts->done < launch->restarts->most && idle_now(launch) < IDLE_MOST;
}

void hw_restarts_say(const hw_launch *launch, char *text, size_t size)
{
    const hw_restarts *it = launch->restarts;
    text[0] = '\0';
    if (it->most == 0 || launch->interrupts > 0)
        return;
    if (!befell(launch, &launch->nodes[launch->first_failed]))
        snprintf(text, size, "; no restart, since an error is not repeated");
    else if (is_due(launch))
        snprintf(text, size, "; restart %llu of %llu", (unsigned long long)it->done + 1, (unsigned long long)it->most);
    else if (it->done == it->most)
        snprintf(text, size, "; no restart, since %s", it->most == 1 ? "the only one was used" : "all were used");
    else if (it->strict || it->reported)
        snprintf(text, size, "; no restart, since %d in a row have made no new checkpoint", IDLE_MOST);
    else
        snprintf(text, size, "; no restart, since %d in a row have ended within %.4g s (--restart-window)", IDLE_MOST,
                 it->window);
    if (!is_due(launch) && befell(launch, &launch->nodes[launch->first_failed]) && (it->reported || launch->progressed))
        strncat(text, "; the same command goes on from the newest checkpoint", size - strlen(text) - 1);
}

bool hw_restarts_next(const hw_launch *launch)
{
    hw_restarts *it = launch->restarts;
    bool failed = launch->node_count > 0 && launch->first_failed < launch->node_count;
    if (!failed || launch->interrupts > 0 || !befell(launch, &launch->nodes[launch->first_failed]) || !is_due(launch))
        return false;
    it->idle = idle_now(launch);
    it->done++;
    if (it->input >= 0)
        (void)lseek(STDIN_FILENO, it->input, SEEK_SET);
    return true;
}

/* --------------------------------------------------------------------------------------------- what can be repeated ---- */

/* Returns whether the command has this option: among its arguments, or in the environment. */
static bool has_option(const hw_launch *launch, const char *key, const char *variable)
{
    size_t length = strlen(key);
    const char *value = getenv(variable);
    for (size_t i = 0; i < launch->word_count; i++)
        if (strncmp(launch->words[i], "--", 2) == 0 && strncmp(launch->words[i] + 2, key, length) == 0 &&
            (launch->words[i][2 + length] == '=' || launch->words[i][2 + length] == '\0'))
            return true;
    return value != NULL && value[0] != '\0';
}

static bool reads_input(const hw_launch *launch)
{
    for (size_t i = 0; i < launch->word_count; i++)
        if (strcmp(launch->words[i], "-") == 0 || strcmp(launch->words[i], "/dev/stdin") == 0)
            return true;
    return !launch->own;
}

/* Stores the position of standard input, from which each start reads. A pipe has none, and cannot be read twice. */
static hawser_status find_input(const hw_launch *launch, hawser_error *error)
{
    struct stat facts;
    launch->restarts->input = lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (launch->restarts->input >= 0 || fstat(STDIN_FILENO, &facts) != 0 || isatty(STDIN_FILENO) == 1 ||
        S_ISCHR(facts.st_mode) || !reads_input(launch))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION,
                       "--restarts, and standard input is a %s, which a second start could not read again; give a file by "
                       "'<FILE', or '</dev/null'",
                       S_ISSOCK(facts.st_mode) ? "socket" : "pipe");
}

hawser_status hw_restarts_check(const hw_launch *launch, hawser_error *error)
{
    bool keeps = launch->keeps_checkpoints || has_option(launch, "checkpoint", "HAWSER_CHECKPOINT");
    if (launch->restarts->most == 0)
        return HAWSER_OK;
    if (launch->does == HW_RUN_PLANS)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--restarts: 'plan' only prints; leave it out");
    if (launch->does == HW_RUN_TRAINS && !keeps)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--restarts, and 'train' keeps no checkpoints: each restart would train from the beginning; %s",
                           launch->may_keep_checkpoints ? "give train --checkpoint DIR, or leave --restarts out"
                                                        : "leave --restarts out");
    if (launch->fresh)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--restarts, and 'train' has --fresh: each restart would delete the checkpoints of the start before; "
            "delete the folder yourself, and leave --fresh out");
    launch->restarts->strict = launch->does == HW_RUN_TRAINS;
    HAWSER_TRY(find_input(launch, error));
    if (!keeps)
        fprintf(launch->stream_err,
                "hawser run: note: a restart begins %s from the start, except with what it has saved itself\n",
                launch->words[0]);
    return HAWSER_OK;
}
