/* context.c - the functions that a running unit may call. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/finite.h"
#include "base/layout.h"
#include "linalg/sound.h"
#include "runtime/block/stored.h"
#include "runtime/block/trap.h"
#include "runtime/session/fetch.h"

static bool visits(const hawser_context *context)
{
    return context->unit == NULL && context->rebuilds == NULL;
}

static const char *running(const hawser_context *context)
{
    return context->unit != NULL ? context->unit->name : visits(context) ? "scratch" : context->rebuilds->name;
}

static const char *kind_of(const hawser_context *context)
{
    return context->unit != NULL ? "unit" : visits(context) ? "visit of the" : "rebuild of";
}

static hawser_status refuse(hawser_context *context, const char *format, ...) HAWSER_PRINTF(2, 3);

/* Refuses a call. The first refusal is kept, because later ones usually follow from it. */
static hawser_status refuse(hawser_context *context, const char *format, ...)
{
    if (context->failed != HAWSER_OK)
        return context->failed;
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    context->failed = hawser_fail(&context->worker->error, HAWSER_BAD_PROGRAM, "%s '%s', block %u: %s", kind_of(context),
                                  running(context), context->worker->block, text);
    return context->failed;
}

static hawser_status without(hawser_context *context, const char *call, const char *argument)
{
    return context != NULL ? refuse(context, "%s: '%s' is NULL; the call needs it", call, argument) : HAWSER_BAD_ARGUMENT;
}

static bool updates(const hawser_context *context, const hawser_state *state)
{
    return context->unit != NULL ? hw_unit_updates(context->unit, state) : context->rebuilds == state;
}

static bool declared(const hawser_context *context, const hawser_state *state)
{
    return context->unit == NULL || hw_unit_reads(context->unit, state) || hw_unit_updates(context->unit, state);
}

/* Returns the status for a call that has no part to return. */
static hawser_status failed(const hawser_context *context)
{
    return context != NULL ? context->failed : HAWSER_BAD_ARGUMENT;
}

/* Finds the block's part of a declared state of one of two kinds. Returns NULL, with an error that names the state, if there is none. */
static hw_state_part *find(hawser_context *context, const char *name, const char *call, hw_state_kind kind,
                           hw_state_kind other, bool for_change)
{
    if (context == NULL)
        return NULL;
    const hawser_state *state = name != NULL ? hw_program_state(context->worker->session->program, name) : NULL;
    if (state == NULL)
        refuse(context, "%s: the program has no state '%s'", call, name != NULL ? name : "");
    else if (!declared(context, state))
        refuse(context, "%s: state '%s' is not declared by this unit", call, name);
    else if (visits(context) && state->kind != HW_DATA)
        refuse(context, "%s: state '%s' is %s, and a visit has data only", call, name, hw_state_kind_name(state->kind));
    else if (state->kind != kind && state->kind != other)
        refuse(context, "%s: state '%s' is %s", call, name, hw_state_kind_name(state->kind));
    else if (for_change && !updates(context, state))
        refuse(context, "%s: state '%s' is declared to be read, not updated", call, name);
    else
        return &context->worker->parts[state->number];
    return NULL;
}

/* Reports the error of a call that returns a pointer: a unit that uses NULL ends the process before it can return the error. Only the unit's first
 * error is reported: `sound` says that it had none before the call. */
static void report_refusal(const hawser_context *context, bool sound)
{
    if (!sound)
        return;
    hawser_job *job = context->worker->session->job;
    hw_notify(job->messages, HAWSER_WARNING, hawser_job_node(job), "%s", context->worker->error.text);
}

/* Like find, for calls that return a pointer. */
static hw_state_part *find_view(hawser_context *context, const char *name, const char *call, hw_state_kind kind,
                                hw_state_kind other, bool for_change)
{
    bool sound = context != NULL && context->failed == HAWSER_OK;
    hw_state_part *part = find(context, name, call, kind, other, for_change);
    if (part == NULL)
        report_refusal(context, sound);
    return part;
}

/* A call that returns or takes numbers of a type: its name without the type. */
typedef struct typed_call {
    const char *name;
    hawser_type type;
} typed_call;

/* Returns whether the state has the type of the call; else the call is refused, with the call for the state's type. */
static bool has_type(hawser_context *context, const hawser_state *state, typed_call call)
{
    static const char *const suffixes[] = {
        [HAWSER_F64] = "", [HAWSER_F32] = "_f32", [HAWSER_I64] = "_i64", [HAWSER_I32] = "_i32"};
    if (state->type == call.type)
        return true;
    bool sound = context->failed == HAWSER_OK;
    refuse(context, "%s%s: state '%s' is of %s; use %s%s", call.name, suffixes[call.type], state->name,
           hw_type_name(state->type), call.name, suffixes[state->type]);
    report_refusal(context, sound);
    return false;
}

/* Fetches a block's own columns, and all columns of whole states, before a unit that declares them begins. */
static hawser_status fetch_parts(hawser_context *context)
{
    hw_worker *worker = context->worker;
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        part->viewed = false;
        if (part->data.residence != NULL && part->state->split != HAWSER_FETCHED && declared(context, part->state))
            HAWSER_TRY(hw_fetch_part(&worker->mailbox, part->state, &part->data));
    }
    return HAWSER_OK;
}

/* Fails a unit that may have read columns of other nodes that were not fetched: they read as zeros. */
static void check_entries(hawser_context *context)
{
    const hw_worker *worker = context->worker;
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        uint64_t absent = atomic_load_explicit(&part->residence.presence.absent, memory_order_relaxed);
        if (absent == 0 && part->state->kind == HW_DATA && part->state->matrix->residence != NULL)
            absent = hw_absent_taken(part->state->matrix->residence); /* used through another pointer than the view */
        const struct hawser_residence *whole = part->state->kind == HW_DATA ? part->state->matrix->residence : NULL;
        if (absent != 0 && whole != NULL && whole->rows != NULL)
            refuse(context,
                   "the whole of data state '%s' was used, whose rows are held by block; use the rows of this block "
                   "(hawser_data_view)",
                   part->state->name);
        else if (absent != 0)
            refuse(context,
                   "column %llu of data state '%s' is on another node; fetch it by hawser_data_fetch before it is used",
                   (unsigned long long)absent - 1, part->state->name);
        if (part->data.residence == NULL || !part->viewed || part->fetched)
            continue;
        if (hawser_matrix_whole(&part->data, NULL) == HAWSER_OK)
            part->data.residence = NULL; /* fetched columns stay */
        else
            refuse(
                context,
                "hawser_data_view gave all of data state '%s', but columns of other nodes are not on this one; name those "
                "that the unit uses to hawser_data_fetch first, or declare the state HAWSER_WHOLE or HAWSER_BY_COLUMN",
                part->state->name);
    }
}

/* Returns whether a number that a unit returned is a failure of hawser_status; a unit may return any number. */
static bool is_failure(hawser_status status)
{
    return status < HAWSER_OK && status >= HAWSER_INTERNAL;
}

static hawser_status call(hawser_context *context, hawser_unit_function *function)
{
    const hawser_state *state;
    size_t column;
    hawser_status status = hw_trap_call(context->worker->trap, function, context, &state, &column);
    if (state == NULL)
        return status;
    if (column == HW_TRAP_WHOLE)
        return refuse(context,
                      "the whole of data state '%s' was read by a pointer, but its rows are held by block (--check); use "
                      "the rows of this block (hawser_data_view)",
                      state->name);
    return refuse(context,
                  "column %zu of data state '%s' was read by a pointer, but is on another node (--check); fetch it by "
                  "hawser_data_fetch before it is used",
                  column, state->name);
}

hawser_status hw_context_run(hw_worker *worker, const hw_step *step, const hawser_state *rebuilds)
{
    uint64_t seed = worker->session->job->settings.seed;
    const hawser_operator *unit = step != NULL ? step->unit : NULL;
    uint64_t stream = unit != NULL ? unit->number : UINT64_C(0x100000000) + rebuilds->number;
    uint64_t clock = worker->first_clock + worker->clock, run = step != NULL ? clock * step->turns + step->turn : clock;
    hawser_context context = {.worker = worker,
                              .unit = unit,
                              .rebuilds = rebuilds,
                              .clock = step != NULL && step->inner ? step->iteration : clock,
                              .random = hw_random_at(seed, stream, worker->block, (worker->entry << 40) + run)};
    worker->error = (hawser_error){0};
    hw_stored_begin_unit(worker);
    HAWSER_TRY(fetch_parts(&context));
    hw_watched_before before = unit != NULL ? hw_call_begin(&worker->mailbox, "unit", unit->name)
                                            : hw_call_begin(&worker->mailbox, "rebuild of state", rebuilds->name);
    hawser_status status = call(&context, unit != NULL ? unit->function : rebuilds->rebuild);
    hw_watch_end(&worker->mailbox.work, before);
    for (uint32_t i = 0; i < worker->session->program->state_count; i++)
        worker->parts[i].page_filled = false;
    if (status == HAWSER_OK)
        check_entries(&context);
    if (context.failed == HAWSER_VIEW_CHANGED && status != HAWSER_VIEW_CHANGED)
        return hawser_fail(
            &worker->error, HAWSER_BAD_PROGRAM,
            "%s '%s', block %u: a call returned '%s', but the function returned '%s'; it must return at once what a "
            "call returns that is not HAWSER_OK",
            kind_of(&context), running(&context), worker->block, hawser_status_name(HAWSER_VIEW_CHANGED),
            hawser_status_name(status));
    if (context.failed != HAWSER_OK)
        return context.failed;
    if (status == HAWSER_OK)
        return HAWSER_OK;
    if (status == HAWSER_STOP || status == HAWSER_VIEW_CHANGED)
        return hawser_fail(&worker->error, HAWSER_BAD_PROGRAM,
                           "unit '%s', block %u: returned '%s' although no call returned it; end a loop by a metric or test",
                           running(&context), worker->block, hawser_status_name(status));
    if (!is_failure(status))
        return hawser_fail(&worker->error, HAWSER_BAD_PROGRAM,
                           "unit '%s', block %u: returned %d, which is not a status of Hawser; failures are negative",
                           running(&context), worker->block, (int)status);
    if (worker->error.status == HAWSER_OK)
        return hawser_fail(&worker->error, status, "unit '%s', block %u: returned '%s' in clock %llu", running(&context),
                           worker->block, hawser_status_name(status), (unsigned long long)clock);
    return status;
}

hawser_status hw_context_visit(hw_worker *worker, hawser_scratch_visit *visit, hawser_record *record)
{
    hawser_context context = {.worker = worker, .clock = worker->first_clock + worker->clock};
    worker->error = (hawser_error){0};
    HAWSER_TRY(fetch_parts(&context));
    hw_watched_before before = hw_call_begin(&worker->mailbox, "visit of the", "scratch");
    visit(record, &context);
    hw_watch_end(&worker->mailbox.work, before);
    check_entries(&context);
    return context.failed;
}

uint32_t hawser_block(const hawser_context *context)
{
    return context != NULL ? context->worker->block : 0;
}

uint32_t hawser_blocks(const hawser_context *context)
{
    return context != NULL ? context->worker->session->blocks : 0;
}

bool hawser_stopping(const hawser_context *context)
{
    if (context == NULL)
        return false;
    if (context->unit != NULL && context->unit->reduces > 0)
        return context->stopping;
    return hw_worker_asked(context->worker);
}

bool hw_worker_asked(const hw_worker *worker)
{
    const hw_session *session = worker->session;
    double limit = session->job->time_limit;
    return hw_job_interrupted(session->job) || atomic_load_explicit(&session->ending, memory_order_relaxed) ||
           (limit > 0 && session->executor->ops->now(session->executor) - session->began >= limit);
}

uint64_t hawser_clock(const hawser_context *context)
{
    return context != NULL ? context->clock : 0;
}

void *hawser_user(const hawser_context *context)
{
    return context != NULL ? context->worker->session->program->user : NULL;
}

void *hawser_scratch(const hawser_context *context)
{
    return context != NULL ? context->worker->scratch : NULL;
}

const hawser_matrix *hawser_data_view(hawser_context *context, const char *state)
{
    hw_state_part *part = find_view(context, state, "hawser_data_view", HW_DATA, HW_DATA, false);
    if (part == NULL)
        return NULL;
    part->viewed = true;
    return &part->data;
}

hawser_status hawser_data_fetch(hawser_context *context, const char *state, const uint32_t *columns, size_t count)
{
    hw_state_part *part = find(context, state, "hawser_data_fetch", HW_DATA, HW_DATA, false);
    if (part == NULL)
        return failed(context);
    if (columns == NULL && count > 0)
        return without(context, "hawser_data_fetch", "columns");
    if (hw_redo_changes(context))
        return HAWSER_VIEW_CHANGED;
    part->fetched = true;
    HAWSER_TRY(hw_fetch_columns(&context->worker->mailbox, part->state, columns, count));
    return hw_redo_changes(context) ? HAWSER_VIEW_CHANGED : HAWSER_OK;
}

/* Returns the cache or the values of a state of a type; NULL if the call is refused. */
static void *cache(hawser_context *context, const char *state, typed_call call)
{
    hw_state_part *part = find_view(context, state, call.name, HW_REPLICATED, HW_REPLICATED, true);
    return part != NULL && has_type(context, part->state, call) ? hw_replica_cache(part->replica) : NULL;
}

static const void *view(hawser_context *context, const char *state, typed_call call)
{
    hw_state_part *part = find_view(context, state, call.name, HW_REPLICATED, HW_PARTITIONED, false);
    if (part == NULL || !has_type(context, part->state, call))
        return NULL;
    if (updates(context, part->state))
        return hw_replica_cache(part->replica);
    return hw_part_page(part);
}

/* Finds a part of one of the kinds of which each block has a part. */
static hw_state_part *find_own(hawser_context *context, const char *name, const char *call)
{
    const hawser_state *state =
        context != NULL && name != NULL ? hw_program_state(context->worker->session->program, name) : NULL;
    bool stored = state != NULL && state->kind == HW_STORED;
    return find_view(context, name, call, stored ? HW_STORED : HW_LOCAL, stored ? HW_STORED : HW_PARTITIONED, false);
}

static void *local(hawser_context *context, const char *state, typed_call call)
{
    hw_state_part *part = find_own(context, state, call.name);
    if (part == NULL || !has_type(context, part->state, call))
        return NULL;
    if (part->state->kind == HW_STORED && part->state->function != NULL) {
        bool sound = context->failed == HAWSER_OK;
        refuse(context, "%s: every block changes stored state '%s'; use hawser_inc", call.name, state);
        report_refusal(context, sound);
        return NULL;
    }
    return part->replica != NULL ? (char *)hw_replica_cache(part->replica) + part->begin * hw_state_size(part->state)
                                 : part->work;
}

/* Returns line `line` of a block's part; NULL if the call is refused. */
static void *line_of(hawser_context *context, const char *state, size_t line, typed_call call)
{
    char *values = local(context, state, call);
    if (values == NULL)
        return NULL;
    const hw_state_part *part = find_own(context, state, call.name);
    size_t width = part->state->width, lines = part->count / width;
    if (line < lines)
        return values + line * width * hw_state_size(part->state);
    bool sound = context->failed == HAWSER_OK;
    refuse(context, "%s: line %zu of state '%s', of which this block has %zu, counted from 0", call.name, line, state,
           lines);
    report_refusal(context, sound);
    return NULL;
}

size_t hawser_part_lines(hawser_context *context, const char *state, size_t *first)
{
    hw_state_part *part = find_own(context, state, "hawser_part_lines");
    if (first != NULL)
        *first = part != NULL ? part->begin / part->state->width : 0;
    return part != NULL ? part->count / part->state->width : 0;
}

size_t hawser_part(hawser_context *context, const char *state, size_t *first)
{
    hw_state_part *part = find_own(context, state, "hawser_part");
    if (first != NULL)
        *first = part != NULL ? part->begin : 0;
    return part != NULL ? part->count : 0;
}

/* Converts the status of a call on the store, with the error in the worker's text. */
static hawser_status of_store(hawser_context *context, hawser_status status)
{
    if (status == HAWSER_BAD_ARGUMENT || status == HAWSER_NOT_FINITE) {
        char text[600];
        memcpy(text, context->worker->error.text, sizeof text - 1);
        text[sizeof text - 1] = '\0';
        /* A push that overflows is noticed by the call that comes after it, or when the clock ends: the status is the same. */
        return status == HAWSER_NOT_FINITE ? hawser_unit_fail(context, status, "%s", text) : refuse(context, "%s", text);
    }
    return status;
}

hawser_status hawser_next_chunk(hawser_context *context, const char *state, hawser_chunk *chunk)
{
    hw_state_part *part = find(context, state, "hawser_next_chunk", HW_STORED, HW_STORED, false);
    if (chunk == NULL)
        return without(context, "hawser_next_chunk", "chunk");
    *chunk = (hawser_chunk){.block = UINT32_MAX};
    if (part == NULL)
        return failed(context);
    if (hw_redo_changes(context))
        return HAWSER_VIEW_CHANGED;
    HAWSER_TRY(of_store(context, hw_stored_next(context->worker, part, chunk)));
    if (!hw_redo_changes(context))
        return HAWSER_OK;
    *chunk = (hawser_chunk){.block = UINT32_MAX};
    return HAWSER_VIEW_CHANGED;
}

hawser_status hawser_prefetch(hawser_context *context, const char *state, const uint64_t *keys, size_t first, size_t count)
{
    hw_state_part *part = find(context, state, "hawser_prefetch", HW_STORED, HW_STORED, false);
    if (part == NULL)
        return failed(context);
    size_t size = hw_state_count(part->state);
    if (keys == NULL && (first > size || count > size - first))
        return refuse(context, "hawser_prefetch: numbers %zu to %zu of state '%s', which has %zu", first, first + count,
                      state, size);
    return of_store(context, hw_stored_prefetch(context->worker, part, keys, first, count));
}

static hawser_status prefetch_wait(hawser_context *context, const char *state, const void **values, typed_call call)
{
    hw_state_part *part = find(context, state, call.name, HW_STORED, HW_STORED, false);
    *values = NULL;
    if (part == NULL || !has_type(context, part->state, call))
        return failed(context);
    if (hw_redo_changes(context))
        return HAWSER_VIEW_CHANGED;
    HAWSER_TRY(of_store(context, hw_stored_prefetch_wait(context->worker, part, values)));
    return hw_redo_changes(context) ? HAWSER_VIEW_CHANGED : HAWSER_OK;
}

#define PREFETCH_WAIT(type, suffix, id)                                                                                     \
    hawser_status hawser_prefetch_wait##suffix(hawser_context *context, const char *state, const type **values)             \
    {                                                                                                                       \
        const void *found;                                                                                                  \
        if (values == NULL)                                                                                                 \
            return without(context, "hawser_prefetch_wait", "values");                                                      \
        hawser_status status = prefetch_wait(context, state, &found, (typed_call){"hawser_prefetch_wait", id});             \
        *values = found;                                                                                                    \
        return status;                                                                                                      \
    }
PREFETCH_WAIT(double, , HAWSER_F64)
PREFETCH_WAIT(float, _f32, HAWSER_F32)
PREFETCH_WAIT(int64_t, _i64, HAWSER_I64)

hawser_status hawser_touch(hawser_context *context, const char *state, size_t first, size_t count)
{
    hw_state_part *part = find(context, state, "hawser_touch", HW_REPLICATED, HW_PARTITIONED, true);
    if (part == NULL)
        return failed(context);
    size_t size = hw_state_count(part->state);
    if (first > size || count > size - first)
        return refuse(context, "hawser_touch: entries %zu to %zu of state '%s', which has %zu", first, first + count, state,
                      size);
    size_t end = part->begin + part->count;
    if (part->state->kind == HW_PARTITIONED && count > 0 && (first < part->begin || first + count > end))
        return refuse(context, "hawser_touch: entries %zu to %zu of state '%s', of which this block has %zu to %zu", first,
                      first + count, state, part->begin, end);
    hw_replica_touch(part->replica, first, count);
    return HAWSER_OK;
}

static hawser_status inc(hawser_context *context, const char *state, const uint64_t *keys, const void *values, size_t count,
                         typed_call call)
{
    hw_state_part *part = find(context, state, call.name, HW_REPLICATED, HW_STORED, true);
    if (part == NULL || !has_type(context, part->state, call))
        return failed(context);
    if (count > 0 && (keys == NULL || values == NULL))
        return without(context, call.name, keys == NULL ? "keys" : "values");
    if (part->state->kind == HW_REPLICATED)
        return hw_replica_inc(part->replica, keys, values, count, &context->worker->error);
    if (part->state->function == NULL)
        return refuse(context, "%s: each share of stored state '%s' has one writer, which changes hawser_local", call.name,
                      state);
    if (hw_redo_changes(context))
        return HAWSER_VIEW_CHANGED;
    hw_redo_forbid(context->worker);
    return of_store(context, hw_stored_inc(context->worker, part, keys, values, count));
}

/* The calls that return or take numbers, one for each type. */
#define TYPED(type, suffix, id)                                                                                             \
    type *hawser_cache##suffix(hawser_context *context, const char *state)                                                  \
    {                                                                                                                       \
        return cache(context, state, (typed_call){"hawser_cache", id});                                                     \
    }                                                                                                                       \
    const type *hawser_view##suffix(hawser_context *context, const char *state)                                             \
    {                                                                                                                       \
        return view(context, state, (typed_call){"hawser_view", id});                                                       \
    }                                                                                                                       \
    type *hawser_local##suffix(hawser_context *context, const char *state)                                                  \
    {                                                                                                                       \
        return local(context, state, (typed_call){"hawser_local", id});                                                     \
    }                                                                                                                       \
    type *hawser_line##suffix(hawser_context *context, const char *state, size_t line)                                      \
    {                                                                                                                       \
        return line_of(context, state, line, (typed_call){"hawser_line", id});                                              \
    }                                                                                                                       \
    hawser_status hawser_inc##suffix(hawser_context *context, const char *state, const uint64_t *keys, const type *values,  \
                                     size_t count)                                                                          \
    {                                                                                                                       \
        return inc(context, state, keys, values, count, (typed_call){"hawser_inc", id});                                    \
    }
TYPED(double, , HAWSER_F64)
TYPED(float, _f32, HAWSER_F32)
TYPED(int64_t, _i64, HAWSER_I64)
TYPED(int32_t, _i32, HAWSER_I32)

double hawser_gain(hawser_context *context, const char *state)
{
    hw_state_part *part = find(context, state, "hawser_gain", HW_REPLICATED, HW_REPLICATED, false);
    return part == NULL ? (double)NAN : context->rebuilds == part->state ? 1 : hw_replica_gain(part->replica);
}

double hawser_damping(hawser_context *context, const char *state)
{
    hw_state_part *part = find(context, state, "hawser_damping", HW_REPLICATED, HW_REPLICATED, false);
    return part == NULL ? (double)NAN : context->rebuilds == part->state ? 1 : part->state->rule.damping;
}

static hawser_status publish(hawser_context *context, hw_state_part *part)
{
    hw_worker *worker = context->worker;
    uint64_t bytes = worker->mailbox.bytes_sent;
    hw_redo_forbid(worker);
    HAWSER_TRY(hw_worker_cut(worker, part, false, false));
    worker->events[worker->operator->number].bytes += worker->mailbox.bytes_sent - bytes;
    return HAWSER_OK;
}

hawser_status hawser_publish(hawser_context *context, const char *state)
{
    if (context == NULL)
        return HAWSER_BAD_ARGUMENT;
    if (context->failed != HAWSER_OK)
        return context->failed;
    hw_state_part *part = find(context, state, "hawser_publish", HW_REPLICATED, HW_PARTITIONED, true);
    if (part == NULL)
        return failed(context);
    if (context->rebuilds != NULL)
        return refuse(context, "hawser_publish: a rebuild is summed as a whole");
    return publish(context, part);
}

hawser_status hawser_yield(hawser_context *context)
{
    if (context == NULL)
        return HAWSER_BAD_ARGUMENT;
    hw_worker *worker = context->worker;
    if (context->failed != HAWSER_OK)
        return context->failed;
    if (visits(context))
        return refuse(context, "hawser_yield: a visit has data only");
    if (context->rebuilds != NULL)
        return refuse(context, "hawser_yield: a rebuild is summed as a whole");
    if (hw_redo_changes(context))
        return HAWSER_VIEW_CHANGED;
    hw_redo_forbid(worker);
    for (hawser_state *const *item = context->unit->updates; *item != NULL; item++)
        if (hw_state_is_exchanged(*item))
            HAWSER_TRY(publish(context, &worker->parts[(*item)->number]));
    HAWSER_TRY(hw_drain(&worker->mailbox));
    /* Under BSP an update that arrives in a clock is merged at its end. */
    for (uint32_t i = 0; worker->policy.kind != HW_POLICY_BSP && i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (!part->live || !hw_worker_uses(worker, part))
            continue;
        HAWSER_TRY(hw_replica_merge_stage(part->replica, hw_worker_exchange(worker, part), worker->stage, &worker->error));
        if (part->page_filled)
            hw_part_refresh_page(part);
    }
    return HAWSER_OK;
}

uint64_t hawser_random(hawser_context *context)
{
    if (context == NULL)
        return 0;
    return hw_random_next(&context->random);
}

uint64_t hawser_random_below(hawser_context *context, uint64_t bound)
{
    if (context == NULL)
        return 0;
    if (bound == 0) {
        refuse(context, "hawser_random_below: the bound is 0");
        return 0;
    }
    return hw_random_below(&context->random, bound);
}

double hawser_random_uniform(hawser_context *context)
{
    if (context == NULL)
        return 0;
    return hw_random_uniform(&context->random);
}

/* Returns the number of the first line (a row if stored by row, else a column) with a number that is not finite, or SIZE_MAX. */
static size_t line_not_finite(const hawser_matrix *A)
{
    size_t (*first)(const void *values, size_t count) =
        A->type == HAWSER_F32 ? hw_first_not_finite_f32 : hw_first_not_finite_f64;
    bool dense = hw_is_dense(A);
    size_t size = hw_type_size(A->type), lines = hw_lines(A);
    for (size_t j = 0; j < lines; j++) {
        uint64_t begin = dense ? (uint64_t)j * A->stride : A->offsets[j];
        size_t count = dense ? hw_line_width(A) : (size_t)(A->offsets[j + 1] - begin);
        if (first((const char *)A->values + begin * size, count) < count)
            return j;
    }
    return SIZE_MAX;
}

hawser_status hawser_data_replace(hawser_context *context, const char *state, const hawser_matrix *matrix)
{
    hw_state_part *part = find(context, state, "hawser_data_replace", HW_DATA, HW_DATA, true);
    if (part == NULL)
        return failed(context);
    if (matrix == NULL)
        return refuse(context, "hawser_data_replace: no matrix for state '%s'", state);
    if (hw_matrix_wrong(matrix) != NULL)
        return refuse(context, "hawser_data_replace: the part of '%s' %s", state, hw_matrix_wrong(matrix));
    bool rows = part->state->split == HAWSER_BY_ROW;
    size_t had = rows ? part->data.rows : part->data.cols, has = rows ? matrix->rows : matrix->cols;
    if (has != had)
        return refuse(context, "hawser_data_replace: a part of '%s' with %zu %s in place of one with %zu", state, has,
                      rows ? "rows" : "columns", had);
    if (hawser_matrix_whole(matrix, NULL) != HAWSER_OK)
        return refuse(context,
                      "hawser_data_replace: columns of the part of '%s' are on other nodes; fetch them by hawser_data_fetch "
                      "first",
                      state);
    size_t line = line_not_finite(matrix);
    if (line != SIZE_MAX)
        return hawser_unit_fail(context, HAWSER_NOT_FINITE,
                                "hawser_data_replace: %s %zu of the part of '%s' has a number that is not finite",
                                hw_is_by_row(matrix) ? "row" : "column", line, state);
    size_t first = part->data.first;
    part->data = *matrix;
    part->data.first = first;
    return HAWSER_OK;
}

hawser_status hawser_unit_fail(hawser_context *context, hawser_status status, const char *format, ...)
{
    char text[700] = "";
    if (context == NULL)
        return is_failure(status) ? status : HAWSER_BAD_ARGUMENT;
    va_list arguments;
    va_start(arguments, format);
    if (format != NULL)
        vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (context->failed != HAWSER_OK)
        return context->failed;
    hawser_status failure = is_failure(status) ? status : HAWSER_BAD_PROGRAM;
    /* An error of the input needs no block: it is the same wherever it is noticed. */
    context->failed = failure == HAWSER_BAD_INPUT
                          ? hawser_fail(&context->worker->error, failure, "%s", text)
                          : hawser_fail(&context->worker->error, failure, "%s '%s', block %u: %s", kind_of(context),
                                        running(context), context->worker->block, text);
    return failure;
}

hawser_status hawser_report(hawser_context *context, const char *metric, double value)
{
    if (context == NULL)
        return HAWSER_BAD_ARGUMENT;
    hw_worker *worker = context->worker;
    uint32_t number = hw_program_metric(worker->session->program, metric);
    if (visits(context))
        return refuse(context, "hawser_report: a visit has data only");
    if (number == UINT32_MAX)
        return refuse(context, "hawser_report: the program declares no metric '%s'", metric != NULL ? metric : "");
    if (isnan(value)) {
        hawser_status status = hawser_unit_fail(context, HAWSER_NOT_FINITE, "metric '%s' is not a number in clock %llu",
                                                metric, (unsigned long long)context->clock);
        return status;
    }
    worker->report.values[number] = value;
    worker->report.mask |= UINT64_C(1) << number;
    return HAWSER_OK;
}

double hawser_metric(const hawser_context *context, const char *metric)
{
    if (context == NULL)
        return (double)NAN;
    uint32_t number = hw_program_metric(context->worker->session->program, metric);
    return number != UINT32_MAX ? context->worker->metrics[number] : (double)NAN;
}
