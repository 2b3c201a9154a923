#include "sim/pace.h"

#include "sim/world.h"
#include "transport/paced.h"
#include "transport/wire.h"

#define BURST_SECONDS 0.02 /* seconds of the rate that may be sent at once after a pause */

bool sim_pace_drops(uint64_t session, const hw_message *message)
{
    return hw_paces_update(&message->envelope) && message->envelope.session < session;
}

/* Returns whether a message must stay behind one that waits. */
static bool follows(const sim_pace *pace, const hw_envelope *envelope)
{
    for (const hw_message *at = pace->first; at != NULL; at = at->next) {
        const hw_envelope *earlier = &at->envelope;
        if (earlier->source == envelope->source && earlier->destination == envelope->destination &&
            !hw_paces_stored(earlier))
            return true;
        if (hw_paces_stored(earlier) && hw_is_meeting(envelope))
            return true;
    }
    return false;
}

bool sim_pace_delay(sim_pace *pace, sim_bucket *bucket, hw_message *message)
{
    const hw_envelope *envelope = &message->envelope;
    if (bucket->rate <= 0 || (!hw_paces_update(envelope) && !hw_paces_stored(envelope) && !follows(pace, envelope)))
        return false;
    message->next = NULL;
    *(pace->first == NULL ? &pace->first : &pace->last->next) = message;
    pace->last = message;
    if (pace->waits)
        return true;
    pace->waits = true;
    pace->next = NULL;
    *(bucket->first == NULL ? &bucket->first : &bucket->last->next) = pace;
    bucket->last = pace;
    return true;
}

static double cost_of(const sim_bucket *bucket, uint64_t dropped, const hw_message *message)
{
    const hw_envelope *envelope = &message->envelope;
    bool paced = hw_paces_stored(envelope) ? !bucket->hurries : hw_paces_update(envelope) && envelope->session >= dropped;
    return paced ? HW_FRAME_MESSAGE + (double)envelope->length : 1;
}

uint64_t sim_pace_release(sim_bucket *bucket, uint64_t dropped, void (*release)(void *link, hw_message *message))
{
    double now = sim_seconds(), burst = bucket->rate * BURST_SECONDS;
    bucket->tokens += bucket->rate * (now - bucket->paid_at);
    bucket->paid_at = now;
    if (bucket->tokens > burst)
        bucket->tokens = burst;
    while (bucket->first != NULL && bucket->tokens >= 0) {
        sim_pace *pace = bucket->first;
        hw_message *message = pace->first;
        bucket->first = pace->next;
        pace->waits = false;
        if (message == NULL) /* its messages were taken */
            continue;
        pace->first = message->next;
        bucket->tokens -= cost_of(bucket, dropped, message);
        release(pace->link, message);
        if (pace->first == NULL)
            continue;
        pace->waits = true;
        pace->next = NULL;
        *(bucket->first == NULL ? &bucket->first : &bucket->last->next) = pace;
        bucket->last = pace;
    }
    if (bucket->first == NULL)
        return SIM_NEVER;
    return sim_now() + 1 + (uint64_t)(-bucket->tokens / bucket->rate * 1e9);
}

hw_message *sim_pace_take(sim_pace *pace, uint64_t dropped)
{
    hw_message *taken = NULL, **end = &taken, *last = NULL;
    for (hw_message **at = &pace->first; *at != NULL;) {
        hw_message *message = *at;
        if (!sim_pace_drops(dropped, message)) {
            last = message;
            at = &message->next;
            continue;
        }
        *at = message->next;
        message->next = NULL;
        *end = message;
        end = &message->next;
    }
    pace->last = last;
    return taken;
}
