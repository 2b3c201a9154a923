#include "algorithms/glm/policy.h"

#include <stdio.h>
#include <string.h>

enum { TAP_LAG = 8 };

double hw_linear_lag(hawser_sync sync)
{
    return sync.tightness == HAWSER_BSP ? 0.0 : sync.tightness == HAWSER_TAP ? TAP_LAG : sync.staleness;
}

void hw_linear_policy_of_steps(hawser_sync sync, const char *sync_text, double rate, char *text, size_t size)
{
    double lag = hw_linear_lag(sync);
    text[0] = '\0';
    if (!(lag > 0.0))
        return;
    if (rate > 0.0)
        snprintf(
            text, size,
            "--sync %s: workers read values that are several clocks old, so --step %g may diverge where it does not under "
            "--sync bsp; results differ from run to run",
            sync_text, rate);
    else
        snprintf(text, size,
                 "--sync %s: workers read values that are several clocks old, so steps are up to %g times as short as under "
                 "--sync bsp; results differ from run to run",
                 sync_text, 1.0 + lag);
}

void hw_linear_policy(const hw_linear *linear, const hawser_options *options, char *text, size_t size)
{
    const char *sync = hawser_options_text(options, "sync");
    text[0] = '\0';
    if (linear->choices.settings.stored)
        hw_linear_policy_of_steps(linear->choices.sync, sync, linear->choices.settings.rate, text, size);
    else if (linear->choices.blocks > 1 && linear->choices.sync.tightness != HAWSER_BSP)
        snprintf(text, size,
                 "--sync %s: each worker solves its own columns in rounds that the others do not wait for, which takes more "
                 "clocks the more columns of different workers correlate; under --sync bsp the workers solve them as one. "
                 "Results differ from run to run",
                 sync);
}

static bool differs(const hawser_options *options, const char *key)
{
    return hawser_options_has(options, key) && hawser_options_source(options, key, NULL) != HAWSER_FROM_DEFAULT;
}

void hw_linear_better_policy(hawser_sync sync, const hawser_options *options, char *text, size_t size)
{
    static const char *const keys[] = {"sigma",  "merge", "exchange-every",  "certify-every",
                                       "filter", "quota", "max-held-clocks", "encoding"};
    const char *solver = hawser_options_text(options, "solver");
    bool plain = solver != NULL && strcmp(solver, "cd") == 0, bsp = sync.tightness == HAWSER_BSP;
    char others[160] = "";
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (differs(options, keys[k])) {
            size_t length = strlen(others);
            snprintf(others + length, sizeof others - length, "%s--%s", length > 0 ? ", " : "", keys[k]);
        }
    if (plain)
        snprintf(others + strlen(others), sizeof others - strlen(others), "%s--solver cd", others[0] != '\0' ? ", " : "");
    if (bsp && others[0] == '\0')
        snprintf(text, size, "the working set is too large to be solved as one; fewer --workers damp each other less");
    else
        snprintf(text, size, "%s%s%s the workers solve their columns as one", bsp ? "" : "under --sync bsp",
                 others[0] == '\0' ? ""
                 : bsp             ? "without "
                                   : " without ",
                 others);
}
