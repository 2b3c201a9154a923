/* check.c - checks a history: an index of records by key, violations, and the rules for each kind of record in turn. */
#include "history/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "history/checker.h"

/* ------------------------------------------------------------------------------------------------------------ index ---- */

hawser_status hw_index_add(hw_index *index, const uint64_t key[5], const hw_stream *stream, size_t number,
                           hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&index->entries, &index->capacity, index->count + 1, "an index of a history", error));
    hw_indexed *entry = &index->entries[index->count++];
    memcpy(entry->key, key, sizeof entry->key);
    entry->stream = stream;
    entry->number = number;
    return HAWSER_OK;
}

static int compare_keys(const uint64_t *a, const uint64_t *b)
{
    for (int i = 0; i < 5; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int by_key(const void *a, const void *b)
{
    const hw_indexed *x = a, *y = b;
    int order = compare_keys(x->key, y->key);
    if (order != 0)
        return order;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

void hw_index_sort(hw_index *index)
{
    if (index->count > 1)
        qsort(index->entries, index->count, sizeof *index->entries, by_key);
}

const hw_indexed *hw_index_find(const hw_index *index, const uint64_t key[5], size_t *count)
{
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_keys(index->entries[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < index->count && compare_keys(index->entries[high].key, key) == 0;)
        high++;
    *count = high - low;
    return high > low ? &index->entries[low] : NULL;
}

/* -------------------------------------------------------------------------------------------------------- violation ---- */

bool hw_violation(hw_checker *checker, hw_rule rule, const hw_at *at, size_t count, const char *format, ...)
{
    hw_verdict *verdict = checker->verdict;
    if (verdict->broken && verdict->count <= count)
        return false;
    verdict->broken = true;
    verdict->rule = rule;
    verdict->count = 0;
    for (size_t i = 0; i < count && i < HW_COUNTEREXAMPLES; i++)
        verdict->counterexamples[verdict->count++] =
            (hw_counterexample){at[i].stream->name, at[i].number, at[i].stream->records[at[i].number]};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->text, sizeof verdict->text, format, arguments);
    va_end(arguments);
    return false;
}

static hawser_status make_index(hw_checker *checker, hawser_error *error)
{
    const hw_history *history = checker->history;
    for (size_t s = 0; s < history->count; s++) {
        const hw_stream *stream = &history->streams[s];
        uint64_t run = (uint64_t)stream->name.run << 32;
        for (size_t i = 0; i < stream->count; i++) {
            const hw_event_record *r = &stream->records[i];
            checker->resumed = checker->resumed || r->kind == HW_EVENT_RESUMED;
            if (r->kind == HW_EVENT_WRITE)
                HAWSER_TRY(hw_index_add(&checker->writes,
                                        (uint64_t[]){run | r->object, r->epoch, r->clock, r->part, r->actor}, stream, i,
                                        error));
            else if (r->kind == HW_EVENT_GIVEN || r->kind == HW_EVENT_TAKEN || r->kind == HW_EVENT_CLOCK)
                HAWSER_TRY(
                    hw_index_add(&checker->served, (uint64_t[]){run | r->from, r->epoch, r->kind, 0, 0}, stream, i, error));
            else if (r->kind == HW_EVENT_ASKED || r->kind == HW_EVENT_ANSWER)
                HAWSER_TRY(hw_index_add(&checker->asked,
                                        (uint64_t[]){run | r->from, r->epoch, r->kind == HW_EVENT_ANSWER, 0, 0}, stream, i,
                                        error));
            else if (r->kind == HW_EVENT_LOST)
                HAWSER_TRY(hw_index_add(&checker->losses, (uint64_t[]){r->from, 0, 0, 0, 0}, stream, i, error));
        }
    }
    checker->verdict->resumed = checker->resumed;
    hw_index_sort(&checker->losses);
    hw_index_sort(&checker->writes);
    hw_index_sort(&checker->served);
    hw_index_sort(&checker->asked);
    return HAWSER_OK;
}

hawser_status hw_history_check(const hw_history *history, hw_verdict *verdict, hawser_error *error)
{
    hw_checker checker = {.history = history, .verdict = verdict};
    *verdict = (hw_verdict){.streams = history->count, .records = history->records};
    hawser_status status = make_index(&checker, error);
    hw_check_shapes(&checker);
    HAWSER_THEN(status, hw_check_turns(&checker, error));
    HAWSER_THEN(status, hw_check_alike(&checker, error));
    HAWSER_THEN(status, hw_check_blocks(&checker, error));
    HAWSER_THEN(status, hw_check_moving(&checker, error));
    HAWSER_THEN(status, hw_check_reductions(&checker, error));
    HAWSER_THEN(status, hw_check_stripes(&checker, error));
    HAWSER_THEN(status, hw_check_pieces(&checker, error));
    HAWSER_THEN(status, hw_check_tasks(&checker, error));
    HAWSER_THEN(status, hw_check_vectors(&checker, error));
    free(checker.turns.entries);
    free(checker.writes.entries);
    free(checker.served.entries);
    free(checker.asked.entries);
    free(checker.losses.entries);
    return status;
}
