/* causes.c - gives the times in the blocks' reports to the search for what blocks wait for (adapt/cause.h). */
#include <stdlib.h>

#include "adapt/cause.h"
#include "base/memory.h"
#include "runtime/drive/driver.h"
#include "runtime/session/status.h"

struct hw_causes {
    hw_window window;
    double *times; /* of the clock that is added: four arrays by block */
    hawser_cause_figures found[HAWSER_CAUSES];
};

/* One block waits for the driver alone. */
hawser_status hw_causes_open(hw_driver *driver, hawser_error *error)
{
    uint32_t blocks = driver->session->blocks;
    if (blocks == 1)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&driver->causes, 1, "what blocks wait for", error));
    HAWSER_TRY(HW_NEW(&driver->causes->times, 4 * (size_t)blocks, "what blocks wait for", error));
    return hw_window_open(&driver->causes->window, blocks, error);
}

void hw_causes_close(hw_driver *driver)
{
    if (driver->causes == NULL)
        return;
    hw_window_close(&driver->causes->window);
    free(driver->causes->times);
    free(driver->causes);
}

static void add(hawser_cause_figures *to, const hw_finding *found)
{
    double seconds = to->seconds + found->seconds;
    to->waited = (to->waited * to->seconds + found->waited * found->seconds) / seconds;
    to->measure = (to->measure * to->seconds + found->measure * found->seconds) / seconds;
    to->seconds = seconds;
    to->clocks += found->clocks;
    to->number = found->number;
}

void hw_causes_add(hw_driver *driver)
{
    struct hw_causes *causes = driver->causes;
    const uint32_t blocks = driver->session->blocks;
    if (causes == NULL || driver->policies.loop->kind != HW_LOOP)
        return;
    hw_adapt_clock(driver);
    double *seconds = causes->times, *units = seconds + blocks, *waits = units + blocks, *input = waits + blocks;
    for (uint32_t b = 0; b < blocks; b++) {
        const hw_report *report = driver->reports[b].first->payload;
        if (!(report->seconds > 0)) /* the first one of the block */
            return;
        seconds[b] = report->seconds;
        units[b] = report->units;
        input[b] = report->waits[HW_WAIT_INPUT];
        waits[b] = input[b] + report->waits[HW_WAIT_CREDIT] + report->waits[HW_WAIT_REDUCTION];
    }
    uint32_t node = 0;
    if (driver->remeasures) { /* links are measured anew, too */
        driver->remeasures = false;
        (void)hw_status_table_link(driver->session->status_table, &node);
        hw_window_empty(&causes->window);
        return;
    }
    bool full = hw_window_add(&causes->window, &(hw_clock_times){seconds, units, waits, input});
    if (!full || (driver->paced && driver->clocks + 1 < driver->announced))
        return;
    double busy = hw_status_table_link(driver->session->status_table, &node);
    const hw_window_shares shares = hw_window_measure(&causes->window, driver->knobs[driver->policies.loop->number].shares);
    hw_finding found = hw_window_find(&causes->window, busy, node);
    add(&causes->found[found.cause], &found);
    hw_adapt_window(driver, &shares, &found);
}

uint64_t hw_causes_clocks(const hw_driver *driver)
{
    return driver->causes->window.clocks;
}

void hw_causes_figures(const hw_driver *driver, hawser_cause_figures figures[HAWSER_CAUSES])
{
    for (int i = 0; driver->causes != NULL && i < HAWSER_CAUSES; i++)
        figures[i] = driver->causes->found[i];
}
