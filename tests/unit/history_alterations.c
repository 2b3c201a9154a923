/*
 * The checker reads every field: histories of real runs, in which one field of one record is changed by one step or by a
 * random amount, or the same field of a server's GIVEN and its client's ANSWER. Digests of files are repaired, those of
 * values are not. Each alteration is refused, or is in the list below, which says why it is harmless.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/random.h"
#include "directory.h"
#include "history/check.h"
#include "history_real.h"
#include "sanitized.h"

/* ----------------------------------------------------------------------------------------------------------- fields ---- */

typedef struct field {
    const char *name;
    size_t offset, size;
} field;

#define FIELD(name)                                                                                                         \
    {                                                                                                                       \
#name, offsetof(hw_event_record, name), sizeof((hw_event_record *)0)->name                                          \
    }
static const field fields[] = {FIELD(kind),   FIELD(flags), FIELD(range), FIELD(object), FIELD(actor), FIELD(from),
                               FIELD(covers), FIELD(part),  FIELD(span),  FIELD(more),   FIELD(epoch), FIELD(clock),
                               FIELD(first),  FIELD(last),  FIELD(count), FIELD(digest)};
enum { FIELDS = sizeof fields / sizeof *fields };

static const char *const kinds[] = {[HW_EVENT_STATE] = "STATE",
                                    [HW_EVENT_NAME] = "NAME",
                                    [HW_EVENT_BEGIN] = "BEGIN",
                                    [HW_EVENT_READ] = "READ",
                                    [HW_EVENT_WRITE] = "WRITE",
                                    [HW_EVENT_DEFER] = "DEFER",
                                    [HW_EVENT_SEEN] = "SEEN",
                                    [HW_EVENT_FORGET] = "FORGET",
                                    [HW_EVENT_END] = "END",
                                    [HW_EVENT_CREDIT] = "CREDIT",
                                    [HW_EVENT_WAIT] = "WAIT",
                                    [HW_EVENT_TABLE] = "TABLE",
                                    [HW_EVENT_GIVEN] = "GIVEN",
                                    [HW_EVENT_TAKEN] = "TAKEN",
                                    [HW_EVENT_CLOCK] = "CLOCK",
                                    [HW_EVENT_ASKED] = "ASKED",
                                    [HW_EVENT_ANSWER] = "ANSWER",
                                    [HW_EVENT_TURN] = "TURN",
                                    [HW_EVENT_HELD] = "HELD",
                                    [HW_EVENT_LOST] = "LOST",
                                    [HW_EVENT_SHARE] = "SHARE",
                                    [HW_EVENT_REDUCED] = "REDUCED",
                                    [HW_EVENT_REDUCTIONS] = "REDUCTIONS",
                                    [HW_EVENT_STRICTER] = "STRICTER",
                                    [HW_EVENT_CHOSEN] = "CHOSEN",
                                    [HW_EVENT_PASSED] = "PASSED",
                                    [HW_EVENT_VECTOR] = "VECTOR",
                                    [HW_EVENT_EDGE] = "EDGE",
                                    [HW_EVENT_SCATTER] = "SCATTER",
                                    [HW_EVENT_SENT] = "SENT",
                                    [HW_EVENT_GOT] = "GOT",
                                    [HW_EVENT_GATHER] = "GATHER",
                                    [HW_EVENT_ENDING] = "ENDING",
                                    [HW_EVENT_FINISHED] = "FINISHED",
                                    [HW_EVENT_CHANGED] = "CHANGED",
                                    [HW_EVENT_RESUMED] = "RESUMED",
                                    [HW_EVENT_RESTORED] = "RESTORED",
                                    [HW_EVENT_KEPT] = "KEPT",
                                    [HW_EVENT_BACK] = "BACK",
                                    [HW_EVENT_CLOSE] = "CLOSE"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* A record's place in the files of a job. */
typedef struct place {
    uint32_t node;
    size_t batch, at; /* offsets in the file */
} place;

typedef struct places {
    place *all;
    size_t count;
} places;

static places find_records(const recorded *r)
{
    places found = {calloc(1 << 20, sizeof *found.all), 0};
    assert_non_null(found.all);
    for (uint32_t node = 0; node < r->nodes; node++)
        for (size_t at = sizeof(hw_history_head); at < r->sizes[node];) {
            hw_batch_head head;
            memcpy(&head, r->bytes[node] + at, sizeof head);
            for (size_t i = 0; i < head.count; i++)
                found.all[found.count++] = (place){node, at, at + sizeof head + i * sizeof(hw_event_record)};
            at += sizeof head + head.count * sizeof(hw_event_record);
        }
    return found;
}

static hw_event_record record_of(const recorded *r, place p)
{
    hw_event_record record;
    memcpy(&record, r->bytes[p.node] + p.at, sizeof record);
    return record;
}

static void repair(recorded *r, place p)
{
    hw_batch_head head;
    unsigned char *batch = r->bytes[p.node] + p.batch;
    memcpy(&head, batch, sizeof head);
    head.digest = hw_hash(batch + sizeof head, head.count * sizeof(hw_event_record),
                          hw_hash(&head, offsetof(hw_batch_head, digest), 0));
    memcpy(batch, &head, sizeof head);
}

static void put(recorded *r, place p, const hw_event_record *record)
{
    memcpy(r->bytes[p.node] + p.at, record, sizeof *record);
    repair(r, p);
}

/* Returns whether hawser check would call the history verified, or that of a program that fails consistent up to its end. */
static bool passes(const recorded *r, hw_verdict *verdict)
{
    hw_history history = {0};
    hawser_error error = {0};
    hawser_status status = HAWSER_OK;
    for (uint32_t node = 0; node < r->nodes && status == HAWSER_OK; node++)
        status = hw_history_add(&history, r->run->name, r->bytes[node], r->sizes[node], &error);
    if (status == HAWSER_OK)
        status = hw_history_whole(&history, &error);
    if (status == HAWSER_OK)
        status = hw_history_check(&history, verdict, &error);
    bool right = status == HAWSER_OK && !verdict->broken && (history.ended != HAWSER_OK) == (r->run->body == run_failing);
    hw_history_free(&history);
    return right;
}

/* ------------------------------------------------------------------------------------------------------ alterations ---- */

static uint64_t value_of(const hw_event_record *record, const field *f)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)record + f->offset, f->size);
    return value;
}

static hw_event_record altered(hw_event_record record, const field *f, uint64_t to)
{
    memcpy((char *)&record + f->offset, &to, f->size);
    return record;
}

/* Draws how much is added to a field: one step up or down, or a random amount. */
static uint64_t draw_amount(const field *f, hw_random *random)
{
    uint64_t width = 8 * f->size, bits = 1 + hw_random_below(random, width);
    switch (hw_random_below(random, 3)) {
    case 0: return 1;
    case 1: return UINT64_MAX;
    default: return 1 + hw_random_below(random, bits >= 63 ? UINT64_MAX >> 1 : (UINT64_C(1) << bits) - 1);
    }
}

/* One alteration: the record before and after, and where it is. */
typedef struct alteration {
    const recorded *r;
    const places *all;
    size_t at; /* in `all` */
    hw_event_record before, after;
    const field *of;
    bool pair; /* the client's ANSWER is altered in the same way */
} alteration;

/* ---------------------------------------------------------------------------------------- what is harmless, and why ---- */

static bool everywhere(const alteration *a)
{
    (void)a;
    return true;
}

static bool of_one_block(const alteration *a)
{
    for (size_t i = 0; i < a->all->count; i++) {
        hw_event_record r = record_of(a->r, a->all->all[i]);
        if (r.kind == HW_EVENT_CREDIT && r.actor > 0)
            return false;
    }
    return true;
}

/* Returns whether a rebuild replaces what the only block has read, or nothing uses it. */
static bool of_one_block_rebuilt(const alteration *a)
{
    for (size_t i = a->at + 1; i < a->all->count; i++) {
        hw_event_record r = record_of(a->r, a->all->all[i]);
        if (r.kind == HW_EVENT_BEGIN && r.object == a->before.object)
            return (r.flags & HW_EVENT_PLAIN) != 0 && of_one_block(a);
    }
    return of_one_block(a);
}

/* Returns whether the job went on from a checkpoint. */
static bool after_a_checkpoint(const alteration *a)
{
    for (size_t i = 0; i < a->all->count; i++)
        if (record_of(a->r, a->all->all[i]).kind == HW_EVENT_RESUMED)
            return true;
    return false;
}

/* Returns whether it is the only credit of the block in its run. */
static bool of_the_only_credit(const alteration *a)
{
    size_t credits = 0;
    for (size_t i = 0; i < a->all->count; i++) {
        hw_event_record r = record_of(a->r, a->all->all[i]);
        credits += r.kind == HW_EVENT_CREDIT && r.actor == a->before.actor;
    }
    return credits == 1;
}

static bool of_failed_job(const alteration *a)
{
    return a->r->run->body == run_failing;
}

/* Returns the second record of the alteration's stream, which has one batch here: the description of a vector. */
static hw_event_record vector_of(const alteration *a)
{
    const place p = a->all->all[a->at];
    return record_of(a->r, (place){p.node, p.batch, p.batch + sizeof(hw_batch_head) + sizeof(hw_event_record)});
}

/* Returns whether the record is of a vector under tap, which adds scatters up. */
static bool of_vector_under_tap(const alteration *a)
{
    const hw_event_record vector = vector_of(a);
    return vector.kind == HW_EVENT_VECTOR && vector.part == HW_EVENT_TAP;
}

/* Returns whether the record is of a vector whose deltas are rounded. */
static bool of_rounded_vector(const alteration *a)
{
    const hw_event_record vector = vector_of(a);
    return vector.kind == HW_EVENT_VECTOR && (vector.flags & HW_EVENT_KEEPS) != 0;
}

/* Returns whether the record is of values that node 0 scatters when the others have ended, so that they are dropped. */
static bool of_dropped_values(const alteration *a)
{
    const hw_event_record vector = vector_of(a);
    return vector.kind == HW_EVENT_VECTOR && (vector.flags & HW_EVENT_VALUES) != 0 && a->before.actor == 0 &&
           a->before.clock >= VECTOR_STEPS - 2;
}

/* Returns whether there is no other block, or none need have come so far. */
static bool by_no_other(const alteration *a)
{
    return of_one_block(a) || of_failed_job(a);
}

/* Returns whether a loop has changed the state in the order in which updates arrived. */
static bool in_any_order(const alteration *a)
{
    for (size_t i = 0; i < a->all->count; i++) {
        hw_event_record r = record_of(a->r, a->all->all[i]);
        if (r.kind == HW_EVENT_BEGIN && r.object == a->before.object && r.part != HW_EVENT_BSP)
            return true;
    }
    return by_no_other(a);
}

static bool beside_another_read(const alteration *a)
{
    if (a->before.flags & HW_EVENT_INNER)
        return true;
    for (size_t i = a->at + 1; i < a->all->count; i++) {
        hw_event_record r = record_of(a->r, a->all->all[i]);
        if (r.kind == HW_EVENT_WRITE && r.object == a->before.object && r.actor == a->before.actor)
            return (r.flags & HW_EVENT_FLUSH) != 0;
    }
    return false;
}

/* Returns whether no block has seen the update by itself. */
static bool within_sums(const alteration *a)
{
    const hw_event_record *w = &a->before;
    for (size_t i = 0; i < a->all->count; i++) {
        hw_event_record r = record_of(a->r, a->all->all[i]);
        if (r.kind == HW_EVENT_SEEN && r.covers == 1 && r.from == w->actor && r.object == w->object && r.epoch == w->epoch &&
            r.clock == w->clock && r.part == w->part)
            return false;
    }
    return true;
}

/* Returns whether the last block of the sum, before or after the alteration, is the reader, and the others are the same. */
static bool over_the_reader(const alteration *a)
{
    uint32_t less = a->before.covers < a->after.covers ? a->before.covers : a->after.covers;
    return a->r->nodes > 1 && a->before.covers + a->after.covers == 2 * less + 1 && a->before.from + less == a->before.actor;
}

static bool of_a_list(const alteration *a)
{
    return (a->before.flags & HW_EVENT_LISTED) != 0;
}

/* Returns whether digests do not have what was read: pushes do not replace the values of the table, or none is of just these
 * keys. */
static bool of_unknown_values(const alteration *a)
{
    bool assigns = false, whole = false;
    for (size_t i = 0; i < a->all->count; i++) {
        hw_event_record r = record_of(a->r, a->all->all[i]);
        bool own = r.object == a->before.object && (r.flags & HW_EVENT_LISTED) == 0;
        assigns = assigns || (r.kind == HW_EVENT_TABLE && r.object == a->before.object && (r.flags & HW_EVENT_ASSIGNS));
        whole = whole || (r.kind == HW_EVENT_TAKEN && own && r.first == a->before.first && r.last == a->before.last);
    }
    return !assigns || !whole;
}

/* Returns whether the task of a record failed, at its client or at a server. */
static bool of_failed_task(const alteration *a)
{
    for (size_t i = 0; i < a->all->count; i++) {
        hw_event_record r = record_of(a->r, a->all->all[i]);
        bool own = r.kind == HW_EVENT_ANSWER && r.from == a->before.from && r.epoch == a->before.epoch;
        if (own && (r.flags & HW_EVENT_FAILED))
            return true;
    }
    return false;
}

/* Returns whether the part has no record before (after) this one: in the loop, or for its digest in the run. */
static bool is_end(const alteration *a, bool first)
{
    const hw_event_record *own = &a->before;
    bool any_epoch = first || strcmp(a->of->name, "digest") == 0;
    for (size_t i = 0; i < a->all->count; i++) {
        hw_event_record r = record_of(a->r, a->all->all[i]);
        if (r.kind != HW_EVENT_PASSED || r.part != own->part || r.object != own->object)
            continue;
        if (r.epoch == own->epoch ? (first ? r.clock < own->clock : r.clock > own->clock)
                                  : any_epoch && (first ? r.epoch < own->epoch : r.epoch > own->epoch))
            return false;
    }
    return true;
}

static bool of_the_last_use(const alteration *a)
{
    return is_end(a, false);
}

static bool of_the_first_use(const alteration *a)
{
    return is_end(a, true);
}

#define OF(name)   (UINT32_C(1) << FIELD_##name)
#define KIND(name) (UINT64_C(1) << HW_EVENT_##name)
enum {
    FIELD_kind,
    FIELD_flags,
    FIELD_range,
    FIELD_object,
    FIELD_actor,
    FIELD_from,
    FIELD_covers,
    FIELD_part,
    FIELD_span,
    FIELD_more,
    FIELD_epoch,
    FIELD_clock,
    FIELD_first,
    FIELD_last,
    FIELD_count,
    FIELD_digest
};
#define ALL_FIELDS UINT32_MAX

static const struct {
    uint64_t kinds;
    uint32_t fields;
    bool pair; /* only with its ANSWER */
    bool (*where)(const alteration *a);
    const char *why;
} harmless[] = {
    {KIND(NAME), OF(kind) | OF(epoch) | OF(clock) | OF(first) | OF(last) | OF(count), false, everywhere,
     "a name is for people"},
    {KIND(WAIT), ALL_FIELDS, false, everywhere, "a wait changes nothing"},
    {KIND(STATE), OF(count) | OF(digest), false, of_one_block,
     "nothing else has the size of a state, and a rebuild replaces its values"},
    {KIND(BEGIN), OF(part) | OF(first) | OF(last), false, of_one_block, "a block that is alone waits for no other"},
    {KIND(CREDIT) | KIND(TURN), ALL_FIELDS, false, by_no_other, "only the other blocks record the same loop and credit"},
    {KIND(RESUMED), ALL_FIELDS, false, by_no_other, "only the other blocks record where the run goes on"},
    {KIND(RESTORED), OF(first) | OF(last), false, everywhere, "what a filter holds is judged where it is sent"},
    {KIND(BACK), OF(part), false, after_a_checkpoint, "the points that a checkpoint has are not known"},
    {KIND(KEPT), OF(part) | OF(kind), false, after_a_checkpoint, "a later return may be to a point of the checkpoint"},
    {KIND(RESTORED), OF(digest), false, of_one_block_rebuilt, "a rebuild replaces what was read"},
    {KIND(PASSED), OF(epoch) | OF(clock), false, of_the_first_use, "a part that was read may be of any use before"},
    {KIND(CREDIT), OF(first), false, of_the_only_credit, "nothing else records the own share of a block"},
    {KIND(WRITE), OF(flags), false, by_no_other, "only the other blocks record that all that is held is sent"},
    {KIND(READ) | KIND(END), OF(digest), false, in_any_order, "digests do not determine a sum of floating-point numbers"},
    {KIND(READ), OF(part), false, beside_another_read, "the other stage has read the state in the same exchange"},
    {KIND(WRITE), OF(count) | OF(digest), false, within_sums, "digests do not determine a sum of floating-point numbers"},
    {KIND(SHARE), OF(digest), false, everywhere, "digests do not determine a sum or a maximum"},
    {KIND(SEEN), OF(covers), false, over_the_reader,
     "whether a sum contains the reader's own update makes no difference to it"},
    {KIND(GIVEN) | KIND(TAKEN), OF(first) | OF(last), false, of_a_list, "no record has the keys of a list, only its ends"},
    {KIND(CLOSE), OF(clock) | OF(from), false, of_failed_job, "how a job has failed is for people"},
    {KIND(GIVEN) | KIND(TAKEN), OF(flags) | OF(covers), false, of_failed_task, "not all stripes need do a task that fails"},
    {KIND(ANSWER), OF(covers), false, of_failed_task, "why a task has failed is for people"},
    {KIND(PASSED), OF(from) | OF(digest), false, of_the_last_use, "the next loop says who has a part that it begins with"},
    {KIND(PASSED), OF(first), false, of_the_first_use, "a history does not have the first values of a part"},
    {KIND(SCATTER), OF(clock) | OF(count) | OF(digest), false, of_vector_under_tap,
     "digests do not determine a sum, and its scatters but the last may have any iteration before that"},
    {KIND(SCATTER), OF(digest), false, of_rounded_vector, "digests do not determine what rounding leaves out of a delta"},
    {KIND(SCATTER) | KIND(SENT), OF(from) | OF(count) | OF(digest), false, of_dropped_values,
     "values for replicas that have ended are dropped"},
    {KIND(GATHER), OF(clock), false, of_vector_under_tap, "a gather that takes nothing may have any iteration under tap"},
    {KIND(GIVEN), OF(digest), true, of_unknown_values, "the values of a table are not computed again"},
};
enum { HARMLESS = sizeof harmless / sizeof *harmless };

/* Returns the place in the list of why an alteration is harmless, or HARMLESS. */
static size_t why_harmless(const alteration *a)
{
    size_t i = 0;
    for (; i < HARMLESS; i++)
        if ((harmless[i].kinds >> a->before.kind & 1) && (harmless[i].fields >> (a->of - fields) & 1) &&
            (!harmless[i].pair || a->pair) && harmless[i].where(a))
            break;
    return i;
}

/* ----------------------------------------------------------------------------------------------------------- trials ---- */

typedef struct tally {
    size_t tried[KINDS], passed[HARMLESS + 1], refused; /* passed: by reason; the last one is none */
} tally;

static void say(const alteration *a)
{
    const hw_event_record *r = &a->before;
    print_error(
        "%s: %s%s.%s from %llu to %llu passes: flags %u object %u actor %u from %u covers %u part %u least %llu epoch %llu "
        "clock %llu first %llu last %llu count %llu\n",
        a->r->run->name, kinds[r->kind], a->pair ? " and ANSWER" : "", a->of->name, (unsigned long long)value_of(r, a->of),
        (unsigned long long)value_of(&a->after, a->of), r->flags, r->object, r->actor, r->from, r->covers, r->part,
        (unsigned long long)r->least, (unsigned long long)r->epoch, (unsigned long long)r->clock,
        (unsigned long long)r->first, (unsigned long long)r->last, (unsigned long long)r->count);
}

static void judge_alteration(const alteration *a, tally *t)
{
    hw_verdict verdict;
    bool pass = passes(a->r, &verdict);
    t->tried[a->before.kind]++;
    t->refused += !pass;
    size_t why = pass ? why_harmless(a) : HARMLESS;
    if (!pass)
        return;
    if (t->passed[why]++ < 20 && why == HARMLESS)
        say(a);
}

static void alter_one(recorded *r, const places *all, size_t at, const field *f, uint64_t amount, tally *t)
{
    alteration a = {.r = r, .all = all, .at = at, .before = record_of(r, all->all[at]), .of = f};
    a.after = altered(a.before, f, value_of(&a.before, f) + amount);
    assert_true(a.before.kind < KINDS && kinds[a.before.kind] != NULL);
    put(r, all->all[at], &a.after);
    judge_alteration(&a, t);
    put(r, all->all[at], &a.before);
}

static void alter_pair(recorded *r, const places *all, size_t given, size_t answer, const field *f, uint64_t amount,
                       tally *t)
{
    alteration a = {.r = r, .all = all, .at = given, .before = record_of(r, all->all[given]), .of = f, .pair = true};
    const hw_event_record other = record_of(r, all->all[answer]), also = altered(other, f, value_of(&other, f) + amount);
    a.after = altered(a.before, f, value_of(&a.before, f) + amount);
    put(r, all->all[given], &a.after);
    put(r, all->all[answer], &also);
    judge_alteration(&a, t);
    put(r, all->all[given], &a.before);
    put(r, all->all[answer], &other);
}

/* Returns the ANSWER to the task of a GIVEN, or SIZE_MAX. */
static size_t answer_to(const recorded *r, const places *all, const hw_event_record *given)
{
    for (size_t i = 0; i < all->count; i++) {
        hw_event_record answer = record_of(r, all->all[i]);
        if (answer.kind == HW_EVENT_ANSWER && answer.from == given->from && answer.epoch == given->epoch &&
            answer.object == given->object)
            return i;
    }
    return SIZE_MAX;
}

/* Alters a record and, if it is a GIVEN, the same field of its ANSWER. */
static void alter(recorded *r, const places *all, size_t at, const field *f, uint64_t amount, tally *t)
{
    alter_one(r, all, at, f, amount, t);
    hw_event_record given = record_of(r, all->all[at]);
    size_t answer = given.kind == HW_EVENT_GIVEN ? answer_to(r, all, &given) : SIZE_MAX;
    if (answer != SIZE_MAX)
        alter_pair(r, all, at, answer, f, amount, t);
}

/* Draws a record, of a rare kind as often as of others if the run has it. */
static size_t draw_record(const recorded *r, const places *all, hw_random *random)
{
    enum { DRAWS = 100 };
    uint64_t kind = 1 + hw_random_below(random, KINDS - 1);
    size_t at = 0;
    for (int i = 0; i < DRAWS; i++) {
        at = (size_t)hw_random_below(random, all->count);
        if (record_of(r, all->all[at]).kind == kind)
            break;
    }
    return at;
}

/* Alters records and fields drawn by the seed; in the longer form every field of every record. */
static void alter_run(recorded *r, uint64_t trials, uint64_t seed, tally *t)
{
    places all = find_records(r);
    hw_random random = hw_random_at(seed, 11, 0, 0);
    hw_verdict verdict = {0};
    if (!passes(r, &verdict)) {
        hw_verdict_print(&verdict, &(hw_history){0}, stderr);
        fail_msg("the honest history of %s is refused", r->run->name);
    }
    for (uint64_t k = 0; k < trials; k++) {
        const field *f = &fields[hw_random_below(&random, FIELDS)];
        alter(r, &all, draw_record(r, &all, &random), f, draw_amount(f, &random), t);
    }
    for (size_t i = 0; trials == 0 && i < all.count; i++)
        for (const field *f = fields; f < fields + FIELDS; f++) {
            alter(r, &all, i, f, 1, t);
            alter(r, &all, i, f, UINT64_MAX, t);
            alter(r, &all, i, f, draw_amount(f, &random), t);
        }
    free(all.all);
}

/* ------------------------------------------------------------------------------------------------------------- runs ---- */

#define BSP                                                                                                                 \
    {                                                                                                                       \
        HAWSER_BSP, 0                                                                                                       \
    }
#define SSP(s)                                                                                                              \
    {                                                                                                                       \
        HAWSER_SSP, s                                                                                                       \
    }
static const real_run runs[] = {
    {"one block", 1, run_mixed, BSP, {"workers", "1"}, 0},
    {"bsp", 1, run_mixed, BSP, {"workers", "3"}, 0},
    {"bsp on nodes", 2, run_mixed, BSP, {"workers", "4"}, 0},
    {"bsp on a tree", 3, run_mixed, BSP, {"workers", "6", "topology", "tree"}, 0},
    {"bsp on servers", 3, run_mixed, BSP, {"workers", "6", "topology", "servers:1"}, 0},
    {"ssp", 1, run_mixed, SSP(1), {"workers", "3", "sync", "ssp:1"}, 0},
    {"ssp on a tree", 3, run_mixed, SSP(1), {"workers", "3", "sync", "ssp:2", "topology", "tree"}, 0},
    {"ssp on servers", 3, run_mixed, SSP(1), {"workers", "6", "sync", "ssp:2", "topology", "servers:1"}, 0},
    {"tap on a tree", 3, run_mixed, BSP, {"workers", "6", "sync", "tap", "topology", "tree"}, 0},
    {"ssp on nodes, rounded", 2, run_mixed, SSP(1), {"workers", "4", "sync", "ssp:1", "encoding", "int8"}, 0},
    {"tap on nodes", 2, run_mixed, BSP, {"workers", "4", "sync", "tap"}, 0},
    {"ssp, late", 2, run_mixed, SSP(2), {"workers", "2", "sync", "ssp:3", "rate", "30K", "backlog", "1"}, 0},
    {"bsp, filtered", 1, run_mixed, BSP, {"workers", "3", "filter", "fifo", "quota", "200"}, 0},
    {"ssp on nodes, filtered",
     2,
     run_mixed,
     BSP,
     {"workers", "2", "sync", "ssp:1", "filter", "absolute", "quota", "200"},
     0},
    {"failing", 1, run_failing, BSP, {"workers", "3"}, 0},
    {"failing on nodes", 2, run_failing, SSP(1), {"workers", "4"}, 0},
    {"branches", 1, run_branches, BSP, {"workers", "3"}, 0},
    {"branches on nodes", 2, run_branches, SSP(1), {"workers", "4"}, 0},
    {"branches of one block", 1, run_branches, BSP, {"workers", "1"}, 0},
    {"points", 1, run_points, BSP, {"workers", "3"}, 0},
    {"points on nodes", 2, run_points, {HAWSER_TAP, 0}, {"workers", "3"}, 0},
    {"points on servers", 3, run_points, SSP(1), {"workers", "3", "topology", "servers:1"}, 0},
    {"moving", 1, run_moving, BSP, {"workers", "3"}, 0},
    {"moving on nodes", 2, run_moving, SSP(1), {"workers", "3"}, 0},
    {"stored, one block", 1, run_stored, BSP, {"workers", "1"}, 0},
    {"stored, bsp", 2, run_stored, BSP, {"workers", "3"}, 0},
    {"stored, ssp", 2, run_stored, SSP(1), {"workers", "3"}, 0},
    {"stored, tap", 1, run_stored, {HAWSER_TAP, 0}, {"workers", "3"}, 0},
    {"stored, delay", 2, run_stored, {HAWSER_DELAY, 2}, {"workers", "3"}, 0},
    {"stored, dc:0", 1, run_stored, {HAWSER_CENTRIC, 0}, {"workers", "3"}, 0},
    {"stored, dc:1", 2, run_stored, {HAWSER_CENTRIC, 1}, {"workers", "3"}, 0},
    {"tables", 1, run_tables, BSP, {NULL}, 0},
    {"tables on nodes", 2, run_tables, BSP, {NULL}, 0},
    {"tables on three nodes", 3, run_tables, BSP, {NULL}, 0},
    {"vectors on three nodes", 3, run_vectors, BSP, {NULL}, 0},
    {"one block, from a checkpoint", 1, run_mixed, BSP, {"workers", "1"}, 2},
    {"bsp, from a checkpoint", 1, run_mixed, BSP, {"workers", "3"}, 2},
    {"bsp on nodes, from a checkpoint", 2, run_mixed, BSP, {"workers", "4"}, 4},
    {"ssp on a tree, from a checkpoint", 3, run_mixed, SSP(1), {"workers", "3", "sync", "ssp:2", "topology", "tree"}, 2},
    {"tap on nodes, from a checkpoint", 2, run_mixed, BSP, {"workers", "4", "sync", "tap"}, 3},
    {"bsp, filtered, from a checkpoint", 1, run_mixed, BSP, {"workers", "3", "filter", "fifo", "quota", "200"}, 2},
    {"branches, from a checkpoint", 1, run_branches, BSP, {"workers", "3"}, 2},
    {"branches on nodes, from a checkpoint", 2, run_branches, SSP(1), {"workers", "4"}, 1},
    {"points on nodes, from a checkpoint", 2, run_points, {HAWSER_TAP, 0}, {"workers", "3"}, 2},
    {"moving, from a checkpoint", 1, run_moving, BSP, {"workers", "3"}, 2},
    {"moving on nodes, from a checkpoint", 2, run_moving, SSP(1), {"workers", "3"}, 4},
    {"stored, bsp, from a checkpoint", 2, run_stored, BSP, {"workers", "3"}, 5},
    {"stored, ssp, from a checkpoint", 2, run_stored, SSP(1), {"workers", "3"}, 5},
    {"stored, tap, from a checkpoint", 1, run_stored, {HAWSER_TAP, 0}, {"workers", "3"}, 4},
    {"stored, delay, from a checkpoint", 2, run_stored, {HAWSER_DELAY, 2}, {"workers", "3"}, 2},
    {"stored, dc:0, from a checkpoint", 1, run_stored, {HAWSER_CENTRIC, 0}, {"workers", "3"}, 2},
    {"stored, dc:1, from a checkpoint", 2, run_stored, {HAWSER_CENTRIC, 1}, {"workers", "3"}, 3},
};

static void every_alteration_is_refused(void **state)
{
    (void)state;
    bool all = runs_long();
    tally t = {0};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        recorded r = record_run(&runs[i]);
        alter_run(&r, all ? 0 : SANITIZED ? 30 : 250, i, &t);
        free_recorded(&r);
    }
    print_message("%zu alterations are refused\n", t.refused);
    for (size_t i = 0; i < HARMLESS; i++)
        print_message("%zu are harmless: %s\n", t.passed[i], harmless[i].why);
    if (t.passed[HARMLESS] > 0)
        fail_msg("%zu alterations pass that are not harmless", t.passed[HARMLESS]);
    for (size_t kind = 1; kind < KINDS; kind++)
        if (t.tried[kind] == 0 && kind != HW_EVENT_LOST && kind != HW_EVENT_DEFER && !SANITIZED)
            fail_msg("no %s was altered", kinds[kind]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_alteration_is_refused, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
