/* settings.c - records in a history which settings a message of the driver announces to a block, and from which clock on
 * they hold. */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "runtime/block/phase.h"

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Settings of a block: of the loop the work and the own share, and of each state its gain, quota and form. */
static size_t count_of(const hw_worker *worker)
{
    return 2 + 3 * (size_t)worker->session->program->state_count;
}

hawser_status hw_settings_open(hw_worker *worker, hawser_error *error)
{
    if (worker->log == NULL)
        return HAWSER_OK;
    return HW_NEW(&worker->settings, 2 * count_of(worker), "a block's settings", error);
}

/* Copies the settings in a message. */
static void read_settings(const hw_worker *worker, const hw_message *message, uint64_t *to)
{
    const hw_control *control = message->payload;
    const hawser_program *program = worker->session->program;
    const size_t states = program->state_count, arrays = hw_plan_any_narrows(worker->session->plan) ? 3 : 2;
    to[0] = bits_of(control->work);
    to[1] = message->envelope.count;
    memcpy(to + 2, (const double *)(control + 1) + program->metric_count, arrays * states * sizeof *to);
}

/* Returns the digest of what all blocks have alike: a change of one setting changes it. */
static uint64_t digest_of(const uint64_t *settings, size_t count)
{
    uint64_t sum = hw_digest_one(0, settings[0]);
    for (size_t i = 2; i < count; i++)
        sum += hw_digest_one(i, settings[i]);
    return sum;
}

void hw_settings_record(hw_worker *worker, const hw_message *message)
{
    if (worker->log == NULL)
        return;
    const hw_control *control = message->payload;
    const size_t count = count_of(worker);
    const uint64_t epoch = worker->epoch + worker->session->program->state_count;
    uint64_t *before = worker->settings, *now = before + count;
    read_settings(worker, message, now);
    for (size_t i = 0; worker->obeyed_any && i < count; i++)
        if (now[i] != before[i])
            hw_log_put(worker->log, &(hw_event_record){.kind = HW_EVENT_CHANGED,
                                                       .actor = worker->block,
                                                       .part = (uint32_t)i,
                                                       .epoch = epoch,
                                                       .clock = worker->clock,
                                                       .first = before[i],
                                                       .last = now[i]});
    hw_log_put(worker->log, &(hw_event_record){.kind = HW_EVENT_CREDIT,
                                               .actor = worker->block,
                                               .epoch = epoch,
                                               .clock = worker->clock,
                                               .first = now[1],
                                               .count = control->limit,
                                               .digest = digest_of(now, count)});
    memcpy(before, now, count * sizeof *now);
    worker->obeyed_any = true;
}
