/* history_spots.h - places in a history, for tests that make one thing wrong in it. For test files that begin with cmocka's
 * includes. */
#ifndef HW_TESTS_HISTORY_SPOTS_H
#define HW_TESTS_HISTORY_SPOTS_H

#include "history_worlds.h"

typedef struct spot {
    hw_stream *stream;
    size_t at;
} spot;

static inline hw_event_record *record_at(spot s)
{
    return &s.stream->records[s.at];
}

/* A record of a kind for which `fits` says yes, drawn evenly; stream NULL: there is none. */
static inline spot draw(hw_history *history, hw_random *random, hw_event_kind kind,
                        bool (*fits)(const hw_history *history, spot s))
{
    spot found = {NULL, 0};
    uint64_t seen = 0;
    for (size_t s = 0; s < history->count; s++)
        for (size_t i = 0; i < history->streams[s].count; i++) {
            spot here = {&history->streams[s], i};
            if (record_at(here)->kind == kind && (fits == NULL || fits(history, here)) && one_in(random, ++seen))
                found = here;
        }
    return found;
}

static inline void drop(spot s)
{
    memmove(record_at(s), record_at(s) + 1, (s.stream->count - s.at - 1) * sizeof(hw_event_record));
    s.stream->count--;
}

static inline void insert(spot s, hw_event_record record)
{
    s.stream->records = realloc(s.stream->records, (s.stream->count + 1) * sizeof record);
    assert_non_null(s.stream->records);
    memmove(record_at(s) + 1, record_at(s), (s.stream->count - s.at) * sizeof record);
    *record_at(s) = record;
    s.stream->count++;
}

/* One block runs a loop under a looser policy than the others. */
static inline bool is_bound(const hw_history *history, spot s)
{
    (void)history;
    return record_at(s)->part == HW_EVENT_SSP && (record_at(s)->flags & HW_EVENT_PLAIN) == 0;
}

static inline bool other_policy(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_BEGIN, is_bound);
    if (s.stream == NULL || s.stream->name.number == 0)
        return false;
    record_at(s)->count++;
    return true;
}

/* One wrong thing: a record is missing, */
static inline bool dropped(hw_history *history, hw_random *random, hw_event_kind kind,
                           bool (*fits)(const hw_history *history, spot s))
{
    spot s = draw(history, random, kind, fits);
    if (s.stream != NULL)
        drop(s);
    return s.stream != NULL;
}

/* or stands there twice. */
static inline bool repeated(hw_history *history, hw_random *random, hw_event_kind kind,
                            bool (*fits)(const hw_history *history, spot s))
{
    spot s = draw(history, random, kind, fits);
    if (s.stream != NULL)
        insert(s, *record_at(s));
    return s.stream != NULL;
}

/* or its digest is of something else. */
static inline bool other_digest(hw_history *history, hw_random *random, hw_event_kind kind,
                                bool (*fits)(const hw_history *history, spot s))
{
    spot s = draw(history, random, kind, fits);
    if (s.stream != NULL)
        record_at(s)->digest ^= UINT64_C(1) << hw_random_below(random, 64);
    return s.stream != NULL;
}

/* Moves a record up to stand where `to` stands. */
static inline void move_up(spot s, size_t to)
{
    hw_event_record record = *record_at(s);
    memmove(&s.stream->records[to + 1], &s.stream->records[to], (s.at - to) * sizeof record);
    s.stream->records[to] = record;
}

/* The record before (step -1) or behind (1) of one of `kinds` (bits) about the same state or table; SIZE_MAX: none. */
static inline size_t near(spot s, int step, unsigned kinds)
{
    for (size_t i = s.at + (size_t)step; i < s.stream->count; i += (size_t)step)
        if ((kinds >> s.stream->records[i].kind & 1) && s.stream->records[i].object == record_at(s)->object)
            return i;
    return SIZE_MAX;
}

#define BIT(kind) (1u << (kind))

static inline const hw_event_record *begin_of(spot s)
{
    size_t i = near(s, -1, BIT(HW_EVENT_BEGIN));
    return i == SIZE_MAX ? NULL : &s.stream->records[i];
}

/* Returns the record whose policy a unit waits by: BEGIN, or STRICTER behind it. */
static inline const hw_event_record *waits_by(spot s)
{
    size_t i = near(s, -1, BIT(HW_EVENT_BEGIN) | BIT(HW_EVENT_STRICTER));
    return i == SIZE_MAX ? NULL : &s.stream->records[i];
}

static inline const hw_event_record *state_of(spot s)
{
    size_t i = near(s, -1, BIT(HW_EVENT_STATE));
    return i == SIZE_MAX ? NULL : &s.stream->records[i];
}

static inline const hw_event_record *table_of(spot s)
{
    size_t i = near(s, -1, BIT(HW_EVENT_TABLE));
    return i == SIZE_MAX ? NULL : &s.stream->records[i];
}

/* ---------------------------------------------------------------------------------------------------------- mutants ---- */

typedef struct mutant {
    const char *name;
    bool (*make)(hw_history *history, hw_random *random); /* false: it has no place here */
    hw_rule rules[6];                                     /* that may name it; ended by HW_RULES */
} mutant;

static inline void must_refuse(const hw_history *history, const mutant *wrong, uint64_t seed)
{
    hw_verdict verdict = judge(history);
    for (const hw_rule *rule = wrong->rules; *rule != HW_RULES; rule++)
        if (verdict.broken && verdict.rule == *rule)
            return;
    hw_verdict_print(&verdict, history, stderr);
    fail_msg("%s of seed %llu", wrong->name, (unsigned long long)seed);
}

/* `tries` mutants of every seed's history; the first `of_blocks` are about seeds 0, 4 ..., which are of blocks. */
static inline void must_refuse_all(const mutant *mutants, size_t count, size_t of_blocks,
                                   hw_history (*honest)(uint64_t seed), uint64_t seeds, uint64_t tries, uint64_t draws)
{
    size_t *made = calloc(count, sizeof *made), all = 0;
    assert_non_null(made);
    for (uint64_t seed = 0; seed < seeds; seed++)
        for (uint64_t k = 0; k < tries; k++) {
            size_t turn = (size_t)(seed / 4 * tries + k); /* every one on each sort of history that it can be about */
            size_t which = seed % 4 == 0 ? turn % of_blocks : of_blocks + turn % (count - of_blocks);
            hw_random random = hw_random_at(seed, draws, k, 0);
            hw_history history = honest(seed);
            if (mutants[which].make(&history, &random)) {
                must_refuse(&history, &mutants[which], seed);
                made[which]++;
                all++;
            }
            hw_history_free(&history);
        }
    for (size_t m = 0; m < count; m++)
        if (made[m] < tried_of(5))
            fail_msg("only %zu of '%s' were made", made[m], mutants[m].name);
    free(made);
    assert_true(all >= tried_of(1000));
    print_message("%zu mutants, all refused\n", all);
}

#endif
