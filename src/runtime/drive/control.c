/* control.c - messages of the driver to the blocks (triggers, credit, pauses), and how it combines their reports. */
#include <math.h>
#include <string.h>

#include "runtime/drive/driver.h"

static hawser_status control(hw_driver *driver, hw_message_kind kind, const hw_control *head, hw_message **out)
{
    const hawser_program *program = driver->session->program;
    size_t metrics = program->metric_count * sizeof(double), gains = program->state_count * sizeof(double);
    size_t choices = driver->choice_count * sizeof *driver->choices;
    size_t forms = hw_plan_any_narrows(driver->session->plan) ? program->state_count : 0;
    HAWSER_TRY(hw_message_new(sizeof *head + metrics + 2 * gains + forms * sizeof(uint64_t) + choices, out, &driver->error));
    char *payload = (*out)->payload;
    memcpy(payload, head, sizeof *head);
    ((hw_control *)(void *)payload)->choices = driver->choice_count;
    ((hw_control *)(void *)payload)->work = driver->knobs[driver->policies.loop->number].work;
    driver->choice_count = 0;
    memcpy(payload + sizeof *head, driver->metrics, metrics);
    if (gains != 0)
        memcpy(payload + sizeof *head + metrics, driver->gains, gains);
    uint64_t *quotas = (uint64_t *)(void *)(payload + sizeof *head + metrics + gains);
    for (uint32_t i = 0; i < program->state_count; i++)
        quotas[i] = driver->quotas[i].now;
    uint64_t *rest = quotas + program->state_count;
    for (size_t i = 0; i < forms; i++)
        *rest++ = (uint64_t)driver->forms[i].now;
    if (choices != 0)
        memcpy(rest, driver->choices, choices);
    (*out)->envelope.kind = (uint8_t)kind;
    return HAWSER_OK;
}

hawser_status hw_driver_trigger(hw_driver *driver, const hawser_operator *op, hawser_sync sync, uint64_t first_clock,
                                uint64_t limit, bool final)
{
    HAWSER_TRY(hw_policies_trigger(driver, op, sync, first_clock, limit));
    hw_recording *recording = &driver->recording;
    driver->entries += recording->step == 0;
    driver->done = 0;
    hw_control head = {.limit = limit,
                       .first_clock = first_clock,
                       .entry = driver->entries,
                       .final = final,
                       .tightness = sync.tightness,
                       .staleness = sync.staleness,
                       .begins = recording->step};
    recording->step = 0;
    hw_message *message = NULL;
    HAWSER_TRY(control(driver, HW_MESSAGE_TRIGGER, &head, &message));
    message->envelope.loop = op->number;
    message->envelope.epoch = hw_driver_epoch(driver);
    return hw_driver_send_all(driver, message);
}

static hawser_status give_credit(hw_driver *driver, hawser_sync sync, uint64_t limit, bool final, bool passes)
{
    hw_control head = {.limit = limit,
                       .final = final,
                       .tightness = sync.tightness,
                       .staleness = sync.staleness,
                       .empty = passes && sync.tightness == HAWSER_TAP};
    hw_message *message = NULL;
    HAWSER_TRY(control(driver, HW_MESSAGE_CREDIT, &head, &message));
    return hw_driver_send_all(driver, message);
}

hawser_status hw_driver_credit(hw_driver *driver, hawser_sync sync, uint64_t limit, bool final)
{
    HAWSER_TRY(hw_policies_credit(driver, limit));
    return give_credit(driver, sync, limit, final, false);
}

hawser_status hw_driver_pause(hw_driver *driver, hawser_sync sync, bool passes, uint64_t *limit)
{
    HAWSER_TRY(hw_driver_ask_pause(driver, false));
    HAWSER_TRY(hw_driver_wait(driver, hw_driver_paused, driver));
    *limit = driver->furthest;
    return give_credit(driver, sync, *limit, true, passes);
}

/* Combines a metric in the canonical tree over blocks, whatever the order of the reports. */
static double combine(const hw_driver *driver, uint32_t metric, hawser_combine_by by, double *parts)
{
    double extreme = (double)NAN;
    for (uint32_t b = 0; b < driver->session->blocks; b++) {
        const hw_report *report = driver->reports[b].first->payload;
        bool has = (report->mask >> metric & 1) != 0;
        double value = has ? report->values[metric] : 0;
        parts[b] = value;
        if (!has)
            continue;
        if (by == HAWSER_LAST)
            return value;
        if (isnan(value)) /* only a metric that the guard looks at (hawser_report) */
            return value;
        if (isnan(extreme) || (by == HAWSER_MAX ? value > extreme : value < extreme))
            extreme = value;
    }
    return by == HAWSER_SUM ? hw_reduce_scalars(parts, driver->session->blocks) : extreme;
}

/* Checks the oldest report of each block. Returns false if a block has none yet. */
static bool complete_row(const hw_driver *driver, uint64_t *mask, bool *empty)
{
    *mask = 0;
    *empty = false;
    for (uint32_t b = 0; b < driver->session->blocks; b++) {
        if (driver->reports[b].first == NULL)
            return false;
        const hw_report *report = driver->reports[b].first->payload;
        *mask |= report->mask;
        *empty = *empty || report->empty != 0;
    }
    return true;
}

/* Combines the bytes that the blocks have sent, the largest lead of a block, and waits; observers see them as metrics. */
static void combine_figures(hw_driver *driver)
{
    driver->bytes = 0;
    for (uint32_t b = 0; b < driver->session->blocks; b++) {
        const hw_report *report = driver->reports[b].first->payload;
        driver->bytes += (double)report->bytes;
        if (driver->staleness < (double)report->lead)
            driver->staleness = (double)report->lead;
        for (int cause = 0; cause < HW_WAIT_CAUSES; cause++)
            driver->waits[cause] += report->waits[cause] / driver->session->blocks;
    }
}

static void drop_row(hw_driver *driver)
{
    for (uint32_t b = 0; b < driver->session->blocks; b++) {
        hw_message *message = driver->reports[b].first;
        driver->reports[b].first = message->next;
        if (message->next == NULL)
            driver->reports[b].last = NULL;
        hw_message_free(message);
    }
}

bool hw_driver_combine(hw_driver *driver)
{
    const hawser_program *program = driver->session->program;
    uint64_t mask;
    bool empty;
    while (complete_row(driver, &mask, &empty)) {
        /* A clock that some blocks have not run has no combined metrics. */
        for (uint32_t i = 0; !empty && i < program->metric_count; i++)
            if ((mask >> i & 1) != 0)
                driver->metrics[i] = combine(driver, i, program->metrics[i].by, driver->parts);
        driver->reported = empty ? 0 : mask;
        combine_figures(driver);
        if (!empty)
            hw_causes_add(driver);
        drop_row(driver);
        if (!empty)
            return true;
    }
    return false;
}
