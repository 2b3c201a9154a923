/* sim_histories.h - histories that the nodes of a world have left: `h` of node 0, `h.1` of node 1, and so on. */
#ifndef HW_TESTS_UNIT_SIM_HISTORIES_H
#define HW_TESTS_UNIT_SIM_HISTORIES_H

#include <sys/stat.h>

#include "history_memory.h"
#include "sim_worlds.h"

#define HISTORY_UNENDED ((hawser_status)1000) /* of a node that was killed */

static inline void history_path(uint32_t node, char path[20])
{
    (void)snprintf(path, 20, node == 0 ? "h" : "h.%u", node);
}

static inline void remove_histories(uint32_t nodes)
{
    char path[20];
    for (uint32_t node = 0; node < nodes; node++) {
        history_path(node, path);
        (void)unlink(path);
    }
}

/* Returns whether there is a history to check: of each node that was not killed. */
static inline bool has_history(uint32_t nodes, const hawser_status *status)
{
    uint32_t left = 0;
    char path[20];
    for (uint32_t node = 0; node < nodes; node++) {
        history_path(node, path);
        if (status[node] != HISTORY_UNENDED && access(path, F_OK) != 0)
            return false;
        left += status[node] != HISTORY_UNENDED;
    }
    return left > 0;
}

/* Returns whether a history is refused with reason: a node was killed, and no survivor had noticed it, because the job was
 * over, or ended with the loss of another node. */
static inline bool is_unnoticed(uint32_t nodes, const hawser_status *ended, const char *text)
{
    uint32_t killed = 0, failed = 0;
    for (uint32_t node = 0; node < nodes; node++) {
        killed += ended[node] == HISTORY_UNENDED;
        failed += ended[node] != HISTORY_UNENDED && ended[node] != HAWSER_OK;
    }
    return (killed > 1 || (killed == 1 && failed == 0)) &&
           (strstr(text, "nothing is verified") != NULL || strstr(text, "lacks the file of node") != NULL);
}

/* Checks the history as `hawser check` does it. */
static inline void judge_history(uint32_t nodes, const hawser_status *ended, verdict *said)
{
    hw_history history = {0};
    hw_verdict checked = {0};
    hawser_error error = {0};
    char path[20];
    hawser_status status = HAWSER_OK;
    for (uint32_t node = 0; node < nodes && status == HAWSER_OK; node++) {
        struct stat facts; /* of a file that is empty if the node was killed before its job began */
        history_path(node, path);
        if (stat(path, &facts) == 0 && (facts.st_size > 0 || ended[node] != HISTORY_UNENDED))
            status = add_history(&history, path, &error);
    }
    HAWSER_THEN(status, hw_history_whole(&history, &error));
    HAWSER_THEN(status, hw_history_check(&history, &checked, &error));
    if (status != HAWSER_OK && !is_unnoticed(nodes, ended, error.text))
        (void)snprintf(said->why, sizeof said->why, "%s", error.text);
    if (status == HAWSER_OK && checked.broken) {
        hw_verdict_print(&checked, &history, stderr);
        (void)snprintf(said->why, sizeof said->why, "the history breaks a rule: %s", checked.text);
    }
    hw_history_free(&history);
}

#endif
