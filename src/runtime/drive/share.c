/* share.c - packs the end and the figures of a run for the other nodes, with the exchanged states for a node whose own
 * differ. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/type.h"
#include "runtime/drive/agent.h"
#include "runtime/drive/collect.h"
#include "runtime/drive/cursor.h"

typedef struct head {
    int32_t status;
    uint32_t has_run, whole;
    char text[1000];
} head;

/* The figures without their pointers, with the two reasons as text. */
typedef struct figures {
    uint64_t clocks, bytes_exchanged;
    double seconds;
    uint64_t staleness_count;
    uint64_t asked;
    uint32_t most_lead, repeatable, is_point;
    char repeatable_reason[100], stop_reason[100];
} figures;

/* Writes values without the zeros at either end, because a state is often far larger than what an algorithm used of it.
 * Zeros are compared by their bits: -0 is not dropped. */
static void put_values(hw_drive_cursor *cursor, const void *values, size_t count, size_t size)
{
    static const uint64_t zero;
    const char *bytes = values;
    size_t begin = 0, end = count;
    while (begin < end && memcmp(bytes + begin * size, &zero, size) == 0)
        begin++;
    while (end > begin && memcmp(bytes + (end - 1) * size, &zero, size) == 0)
        end--;
    const uint64_t range[2] = {begin, end - begin};
    hw_put(cursor, range, sizeof range);
    hw_put(cursor, bytes + begin * size, (end - begin) * size);
}

/* Reads values into an array of zeros. */
static bool take_values(hw_drive_cursor *cursor, void *values, size_t count, size_t size)
{
    uint64_t range[2];
    return hw_get(cursor, range, sizeof range) && range[0] <= count && range[1] <= count - range[0] &&
           hw_get(cursor, (char *)values + range[0] * size, range[1] * size);
}

static void put_results(hw_drive_cursor *cursor, const hawser_run *run)
{
    for (uint32_t i = 0; i < run->result_count; i++) {
        const hw_result *result = &run->results[i];
        if (result->kept == HW_NOT_KEPT)
            put_values(cursor, result->values, result->count, hw_type_size(result->type));
    }
}

static void put_run(hw_drive_cursor *cursor, const hw_session *session, const hawser_run *run, bool whole)
{
    const hawser_figures *from = &run->figures;
    figures put = {.clocks = from->clocks,
                   .bytes_exchanged = from->bytes_exchanged,
                   .seconds = from->seconds,
                   .staleness_count = from->staleness_count,
                   .asked = atomic_load(&session->job->asked),
                   .most_lead = from->most_lead,
                   .repeatable = from->repeatable == NULL,
                   .is_point = run->is_point};
    snprintf(put.repeatable_reason, sizeof put.repeatable_reason, "%s", from->repeatable != NULL ? from->repeatable : "");
    snprintf(put.stop_reason, sizeof put.stop_reason, "%s", from->stop_reason);
    hw_put(cursor, &put, sizeof put);
    hw_put(cursor, run->workers, session->blocks * sizeof *run->workers);
    hw_put(cursor, run->staleness, HW_STALENESS_BUCKETS * sizeof *run->staleness);
    hw_put(cursor, run->metrics, sizeof run->metrics);
    if (whole)
        put_results(cursor, run);
}

hawser_status hw_share_pack(const hw_session *session, const hawser_error *ended, const hawser_run *run, bool whole,
                            hw_message **message, hawser_error *error)
{
    head first = {.status = ended->status, .has_run = run != NULL, .whole = whole};
    hw_drive_cursor measure = {.at = sizeof first};
    if (ended->status != HAWSER_OK)
        snprintf(first.text, sizeof first.text, "%s", ended->text);
    if (run != NULL)
        put_run(&measure, session, run, whole);
    HAWSER_TRY(hw_message_new(measure.at, message, error));
    hw_drive_cursor cursor = {.bytes = (*message)->payload, .size = measure.at};
    hw_put(&cursor, &first, sizeof first);
    if (run != NULL)
        put_run(&cursor, session, run, whole);
    (*message)->envelope.kind = HW_MESSAGE_RESULT;
    return HAWSER_OK;
}

static bool take_figures(hw_drive_cursor *cursor, const hw_session *session, hawser_run *run)
{
    figures got;
    if (!hw_get(cursor, &got, sizeof got) || got.staleness_count > HW_STALENESS_BUCKETS)
        return false;
    got.repeatable_reason[sizeof got.repeatable_reason - 1] = got.stop_reason[sizeof got.stop_reason - 1] = '\0';
    memcpy(run->repeatable, got.repeatable_reason, sizeof got.repeatable_reason);
    memcpy(run->stop_reason, got.stop_reason, sizeof got.stop_reason);
    run->is_point = got.is_point != 0;
    hawser_figures *to = &run->figures;
    to->clocks = got.clocks;
    to->bytes_exchanged = got.bytes_exchanged;
    to->seconds = got.seconds;
    to->staleness_count = got.staleness_count;
    to->most_lead = got.most_lead;
    to->repeatable = got.repeatable != 0 ? NULL : run->repeatable;
    to->stop_reason = run->stop_reason;
    hw_run_name_asked(run, session, got.asked);
    return hw_get(cursor, run->workers, session->blocks * sizeof *run->workers) &&
           hw_get(cursor, run->staleness, HW_STALENESS_BUCKETS * sizeof *run->staleness) &&
           hw_get(cursor, run->metrics, sizeof run->metrics);
}

static bool take_results(hw_drive_cursor *cursor, const hw_session *session, hawser_run *run, bool whole)
{
    bool fine = true;
    if (!whole)
        hw_run_take_merged(run, session);
    for (uint32_t i = 0; i < run->result_count && fine && whole; i++) {
        const hw_result *result = &run->results[i];
        if (result->kept == HW_NOT_KEPT)
            fine = take_values(cursor, result->values, result->count, hw_type_size(result->type));
    }
    return fine;
}

hawser_status hw_share_take(const hw_session *session, const hw_message *message, hawser_run **out, hawser_error *error)
{
    *out = NULL;
    head first;
    hawser_run *run = NULL;
    hw_drive_cursor cursor = {.bytes = message->payload, .size = message->envelope.length};
    if (!hw_get(&cursor, &first, sizeof first) || first.status < HAWSER_INTERNAL || first.status > HAWSER_VIEW_CHANGED)
        return hawser_fail(error, HAWSER_INTERNAL, "the driver's node ended the run with a malformed message");
    first.text[sizeof first.text - 1] = '\0';
    hawser_status status = (hawser_status)first.status;
    if (first.has_run != 0) {
        HAWSER_TRY(hw_run_new(session, &run, error));
        if (!take_figures(&cursor, session, run) || !take_results(&cursor, session, run, first.whole != 0)) {
            hawser_run_free(run);
            return hawser_fail(error, HAWSER_INTERNAL, "the result of the run does not fit the program");
        }
    }
    *out = run;
    return status == HAWSER_OK ? status : hawser_fail(error, status, "%s", first.text);
}
