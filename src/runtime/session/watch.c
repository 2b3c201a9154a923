#include "runtime/session/watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

/* Warnings come after T, 2 T, 4 T ..., but at least each hour. */
#define LONGEST_SILENCE 3600.0

enum { EXIT_TIMEOUT = 8, FAREWELL_SECONDS = 2 };

/* What a block runs: a unit, or the rebuild of a derived state. */
static const char *name_of(const hawser_program *program, uint32_t running, const char **kind)
{
    *kind = "unit";
    if (running > 0 && running <= program->operator_count)
        return program->operators[running - 1]->name;
    *kind = "rebuild of state";
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        if (program->operator_count + state->number + 1 == running)
            return state->name;
    return "?";
}

static void name_unit(const hw_session *session, const hw_mailbox *block, double seconds, char *text, size_t size)
{
    uint32_t number = atomic_load_explicit(&block->running, memory_order_relaxed);
    uint64_t begun = atomic_load_explicit(&block->begun, memory_order_relaxed);
    const char *kind, *name = name_of(session->program, number, &kind);
    const char *node = session->cluster != NULL ? hw_cluster_member(session->cluster, session->node)->name : NULL;
    (void)!snprintf(text, size,
                    "%s '%s', block %" PRIu32 ", clock %" PRIu64 ", on node %" PRIu32 "%s%s%s, has computed for %.3g s "
                    "without returning",
                    kind, name, block->endpoint, begun > 0 ? begun - 1 : 0, session->node, node != NULL ? " (" : "",
                    node != NULL ? node : "", node != NULL ? ")" : "", seconds);
}

/* No thread can be taken out of a unit, so the process ends; the other nodes are told why. */
static void end_process(hw_session *session, const hw_mailbox *block, double seconds)
{
    char text[600], why[400];
    name_unit(session, block, seconds, why, sizeof why);
    (void)!snprintf(text, sizeof text, "%s; --unit-timeout allows %.3g s, so the job ends", why, session->job->unit_timeout);
    fprintf(stderr, "hawser: %s\n", text);
    if (session->cluster != NULL)
        hw_cluster_farewell(session->cluster, text, FAREWELL_SECONDS);
    _exit(EXIT_TIMEOUT);
}

static void warn(const hw_session *session, const hw_mailbox *block, double seconds)
{
    char why[400];
    name_unit(session, block, seconds, why, sizeof why);
    fprintf(stderr, "hawser: %s; it may need that long, or never return (--unit-timeout ends the job then)\n", why);
}

static void watch(hw_session *session, hw_mailbox *block, double now)
{
    const hawser_job *job = session->job;
    uint64_t since = atomic_load_explicit(&block->at_work, memory_order_relaxed);
    double seconds = since != 0 ? now - (double)since * 1e-9 : 0;
    if (since != block->watched) {
        block->watched = since;
        block->warn_at = job->unit_warning;
    }
    if (since == 0)
        return;
    if (job->unit_timeout > 0 && seconds >= job->unit_timeout)
        end_process(session, block, seconds);
    if (job->unit_warning > 0 && seconds >= block->warn_at) {
        warn(session, block, seconds);
        block->warn_at = seconds + fmin(seconds, LONGEST_SILENCE);
    }
}

void hw_watch_units(hw_session *session, double now)
{
    double warning = session->job->unit_warning, timeout = session->job->unit_timeout;
    if (now < session->watch_next || session->job->fibers)
        return;
    double shortest = warning > 0 && timeout > 0 ? fmin(warning, timeout) : fmax(warning, timeout);
    session->watch_next = shortest > 0 ? now + fmin(shortest / 8, 1) : (double)INFINITY;
    for (uint32_t i = 0; session->mailboxes != NULL && i < session->local && shortest > 0; i++)
        watch(session, session->mailboxes[i], now);
}
