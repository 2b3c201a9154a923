/* context.c - the functions that a running unit may call. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/finite.h"
#include "base/layout.h"
#include "hawser/job_data.h"
#include "linalg/sound.h"
#include "program/kind.h"
#include "runtime/block/moving.h"
#include "runtime/block/part.h"
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

/* Refuses a call for a state that does not exist, with the names of those that do. */
static void refuse_unknown(hawser_context *context, const char *call, const char *name)
{
    char text[300] = "none";
    size_t used = 0;
    const hawser_state *state = context->worker->session->program->states;
    for (; state != NULL && used + strlen(state->name) + 3 < sizeof text; state = state->next)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? ", " : "", state->name);
    refuse(context, "%s: the program has no state '%.200s'; its states are %s%s", call, name, text,
           state != NULL ? " ..." : "");
}

/* Finds the block's part of a declared state of one of two kinds. Returns NULL, with an error that names the state, if there
 * is none. */
static hw_state_part *find(hawser_context *context, const char *name, const char *call, hw_state_kind kind,
                           hw_state_kind other, bool for_change)
{
    if (context == NULL)
        return NULL;
    const hawser_state *state = name != NULL ? hw_program_state(context->worker->session->program, name) : NULL;
    if (state == NULL)
        refuse_unknown(context, call, name != NULL ? name : "");
    else if (!declared(context, state))
        refuse(context, "%s: state '%s' is not declared by this unit; add it to .reads or .updates", call, name);
    else if (visits(context) && state->matrix == NULL)
        refuse(context, "%s: state '%s' is %s, and a visit has data only", call, name, hw_state_kind_name(state->kind));
    else if (state->kind != kind && state->kind != other)
        refuse(context, "%s: state '%s' is %s", call, name, hw_state_kind_name(state->kind));
    else if (for_change && !updates(context, state))
        refuse(context, "%s: state '%s' is declared to be read, not updated%s", call, name,
               context->unit != NULL ? "; add it to .updates" : ", and a rebuild changes its own state alone");
    else
        return &context->worker->parts[state->number];
    return NULL;
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

/* Calls `use` for the numbers of other blocks beside this block's part of each partitioned state. */
static void visit_beside(hawser_context *context,
                         void (*use)(hawser_context *context, hw_state_part *part, int side, size_t at, const void *number))
{
    hw_worker *worker = context->worker;
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (!hw_kind_of(part->state)->owned || part->replica == NULL || !updates(context, part->state))
            continue;
        const char *numbers = hw_replica_cache(part->replica);
        size_t size = hw_state_size(part->state), end = part->begin + part->count;
        if (part->begin > 0)
            use(context, part, 0, part->begin - 1, numbers + (part->begin - 1) * size);
        if (end < hw_state_count(part->state))
            use(context, part, 1, end, numbers + end * size);
    }
}

static void note_beside(hawser_context *context, hw_state_part *part, int side, size_t at, const void *number)
{
    (void)context, (void)at;
    memcpy(&part->beside[side], number, hw_state_size(part->state));
}

/* Fails a unit that has written past its part: the changes would be lost without a word. */
static void check_beside(hawser_context *context, hw_state_part *part, int side, size_t at, const void *number)
{
    if (memcmp(&part->beside[side], number, hw_state_size(part->state)) != 0)
        refuse(context,
               "number %zu of partitioned state '%s' was written, but it is of another block; this block has %zu numbers "
               "from number %zu on (hawser_part)",
               at, part->state->name, part->count, part->begin);
}

/* Fails a unit that may have read columns of other nodes that were not fetched: they read as zeros. */
static void check_entries(hawser_context *context)
{
    const hw_worker *worker = context->worker;
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        struct hawser_residence *whole = hw_state_residence(part->state);
        uint64_t absent = atomic_load_explicit(&part->residence.presence.absent, memory_order_relaxed);
        if (absent == 0 && whole != NULL)
            absent = hw_absent_taken(whole); /* used through another pointer than the view */
        if (absent != 0 && whole != NULL && whole->rows != NULL)
            refuse(context,
                   "the whole of data state '%s' was used, whose rows are held by block; use the rows of this block "
                   "(hawser_read)",
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
            refuse(context,
                   "hawser_read gave all of data state '%s', but columns of other nodes are not on this one; name those "
                   "that the unit uses to hawser_data_fetch first, or declare the state HAWSER_WHOLE or HAWSER_BY_COLUMN",
                   part->state->name);
    }
}

/* Returns the number of the first line (a row if stored by row, else a column) with a number that is not finite, or
 * SIZE_MAX. */
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

/* Fails a unit that has written numbers into data which are not finite. */
static void check_written(hawser_context *context)
{
    const hw_worker *worker = context->worker;
    for (hawser_state *const *item = context->unit->updates; *item != NULL; item++) {
        const hawser_matrix *written = hw_part_written(&worker->parts[(*item)->number]);
        size_t line = written != NULL ? line_not_finite(written) : SIZE_MAX;
        if (line != SIZE_MAX)
            hawser_unit_fail(context, HAWSER_NOT_FINITE, "%s %zu of the part of '%s' has a number that is not finite",
                             hw_is_by_row(written) ? "row" : "column", line, (*item)->name);
    }
}

/* Fails a unit that has written a part of a moving state which it only reads: the next block would get it so. */
static void check_read_parts(hawser_context *context)
{
    const hw_worker *worker = context->worker;
    for (hawser_state *const *item = context->unit->reads; *item != NULL; item++) {
        const hw_state_part *part = &worker->parts[(*item)->number];
        uint32_t number = part->moving != NULL ? hw_moving_written(worker, part) : UINT32_MAX;
        if (number != UINT32_MAX)
            refuse(context,
                   "part %u of moving state '%s' was written, but the unit only reads it; add the state to .updates", number,
                   (*item)->name);
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
                      "the rows of this block (hawser_read)",
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
    hw_parts_begin_unit(worker);
    HAWSER_TRY(fetch_parts(&context));
    hw_watched_before before = unit != NULL ? hw_call_begin(&worker->mailbox, "unit", unit->name)
                                            : hw_call_begin(&worker->mailbox, "rebuild of state", rebuilds->name);
    visit_beside(&context, note_beside);
    hawser_status status = call(&context, unit != NULL ? unit->function : rebuilds->rebuild);
    hw_watch_end(&worker->mailbox.work, before);
    for (uint32_t i = 0; i < worker->session->program->state_count; i++)
        worker->parts[i].page_filled = false;
    if (status == HAWSER_OK) {
        check_entries(&context);
        visit_beside(&context, check_beside);
        if (unit != NULL)
            check_written(&context);
        if (unit != NULL)
            check_read_parts(&context);
    }
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
    if (session->checkpointer != NULL) /* a checkpoint comes first */
        return atomic_load_explicit(&session->ending, memory_order_relaxed);
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

/* Stores a pointer in `out`, which points to a pointer of another type, which only memcpy may fill. */
static void store_pointer(const void *numbers, void *out)
{
    memcpy(out, &numbers, sizeof numbers);
}

/* Returns the status of a call that gave `numbers`, and stores them. */
static hawser_status give(const hawser_context *context, const void *numbers, void *out)
{
    store_pointer(numbers, out);
    return numbers != NULL ? HAWSER_OK : failed(context);
}

static const char *const type_texts[] = {[HAWSER_F64] = "a double",
                                         [HAWSER_F32] = "a float",
                                         [HAWSER_I64] = "an int64_t",
                                         [HAWSER_I32] = "an int32_t",
                                         [HAWSER_MATRIX] = "a hawser_matrix"};

/* Returns whether the state has the type of a pointer; else the call is refused. */
static bool check_type(hawser_context *context, const hw_state_part *part, const char *call, hawser_type type,
                       bool for_change)
{
    const hawser_state *state = part->state;
    hawser_type values = state->matrix != NULL ? part->data.type : state->type;
    hawser_type has = state->matrix != NULL && !for_change ? HAWSER_MATRIX : values;
    if (has == type)
        return true;
    refuse(context, "%s: a pointer to %s, but the numbers of state '%s' are %s%s", call,
           (unsigned)type <= HAWSER_MATRIX ? type_texts[type] : "a type that does not exist", state->name,
           has == HAWSER_MATRIX ? "" : "of ", has == HAWSER_MATRIX ? "a matrix" : hw_type_name(has));
    return false;
}

/* Finds a state for hawser_read and hawser_write: NULL, with an error, if the unit does not declare it so or it has another
 * type. */
static hw_state_part *find_typed(hawser_context *context, const char *name, const char *call, hawser_type type,
                                 bool for_change)
{
    if (context == NULL)
        return NULL;
    const hawser_state *state = name != NULL ? hw_program_state(context->worker->session->program, name) : NULL;
    hw_state_kind kind = state != NULL ? state->kind : HW_DATA;
    hw_state_part *part = find(context, name, call, kind, kind, for_change);
    return part != NULL && check_type(context, part, call, type, for_change) ? part : NULL;
}

/* Stores what the part of a state gives to read or, for_change, to write. */
static hawser_status hand_out(hawser_context *context, const char *name, const char *call, hawser_type type, bool for_change,
                              void *numbers)
{
    if (numbers == NULL)
        return without(context, call, "numbers");
    hw_state_part *part = find_typed(context, name, call, type, for_change);
    if (part == NULL)
        return give(context, NULL, numbers);
    const char *why = NULL;
    const void *found =
        for_change ? part->kind->write(part, &why) : part->kind->read(part, updates(context, part->state), &why);
    if (why != NULL)
        refuse(context, "%s: state '%s' %s", call, name, why);
    else if (found == NULL)
        hawser_unit_fail(context, HAWSER_NO_MEMORY, "%s: no memory for the values of state '%s'", call, name);
    return give(context, found, numbers);
}

hawser_status hawser_read_as(hawser_context *context, const char *state, hawser_type type, void *numbers)
{
    return hand_out(context, state, "hawser_read", type, false, numbers);
}

hawser_status hawser_write_as(hawser_context *context, const char *state, hawser_type type, void *numbers)
{
    return hand_out(context, state, "hawser_write", type, true, numbers);
}

hawser_status hawser_data_beside(hawser_context *context, const char *state, hawser_beside *beside)
{
    if (beside == NULL)
        return without(context, "hawser_data_beside", "beside");
    *beside = (hawser_beside){0};
    hw_state_part *part = find(context, state, "hawser_data_beside", HW_DATA, HW_DATA, false);
    if (part == NULL)
        return failed(context);
    const hawser_dataset *dataset = part->state->dataset;
    if (dataset == NULL)
        return refuse(context, "hawser_data_beside: state '%s' was made from a matrix; give its dataset to hawser_state_add",
                      state);
    bool by_row = part->state->split == HAWSER_BY_ROW;
    hawser_error error = {0};
    hawser_status status = hawser_dataset_beside(dataset, by_row ? part->data.first : 0, part->data.rows, beside, &error);
    return status == HAWSER_OK ? status : hawser_unit_fail(context, status, "%s", error.text);
}

hawser_status hawser_data_batch(hawser_context *context, const char *state, uint64_t size, uint64_t number, bool in_order,
                                hawser_mini_batch *batch)
{
    if (batch == NULL)
        return without(context, "hawser_data_batch", "batch");
    *batch = (hawser_mini_batch){0};
    hw_state_part *part = find(context, state, "hawser_data_batch", HW_DATA, HW_DATA, false);
    if (part == NULL)
        return failed(context);
    if (part->state->split != HAWSER_BY_ROW && part->state->split != HAWSER_WHOLE)
        return refuse(context, "hawser_data_batch: state '%s' is split %s; batches are rows, so split it by row", state,
                      hw_split_name(part->state->split));
    const hw_worker *worker = context->worker;
    hawser_batches from = {.rows = part->data.rows,
                           .size = size,
                           .seed = worker->session->job->settings.seed,
                           .stream = worker->block,
                           .in_order = in_order};
    hawser_error error = {0};
    part->viewed = true;
    hawser_status status = hw_part_take_batch(part, &from, number, batch, &error);
    return status == HAWSER_OK ? status : hawser_unit_fail(context, status, "hawser_data_batch: %s", error.text);
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
    if (context->worker->session->checkpointer != NULL)
        HAWSER_TRY(hw_part_note_fetched(part, columns, count, &context->worker->error));
    return hw_redo_changes(context) ? HAWSER_VIEW_CHANGED : HAWSER_OK;
}

/* Finds a part of one of the kinds of which each block has a part. */
static hw_state_part *find_part(hawser_context *context, const char *name, const char *call, bool for_change)
{
    const hawser_state *state =
        context != NULL && name != NULL ? hw_program_state(context->worker->session->program, name) : NULL;
    hw_state_kind kind = state != NULL && hw_kind_of(state)->owned ? state->kind : HW_LOCAL;
    return find(context, name, call, kind, kind, for_change);
}

/* Returns how many numbers a unit has of a state, and stores the first one and the numbers of a line. Of a replicated state
 * it has all. */
static size_t extent(hawser_context *context, const char *name, const char *call, size_t *first, size_t *width)
{
    const hawser_state *state =
        context != NULL && name != NULL ? hw_program_state(context->worker->session->program, name) : NULL;
    bool shared = state != NULL && hw_kind_of(state)->summed;
    hw_state_part *part =
        shared ? find(context, name, call, HW_REPLICATED, HW_REPLICATED, false) : find_part(context, name, call, false);
    *first = *width = 0;
    if (part == NULL)
        return 0;
    *first = shared ? 0 : part->begin;
    *width = shared ? (state->split == HAWSER_BY_ROW ? state->cols : state->rows) : part->state->width;
    return shared ? hw_state_count(state) : part->count;
}

hawser_status hawser_line_as(hawser_context *context, const char *state, size_t line, hawser_type type, bool change,
                             void *numbers)
{
    const char *call = "hawser_line", *why = NULL;
    if (numbers == NULL)
        return without(context, call, "numbers");
    hw_state_part *part = find_part(context, state, call, change);
    if (part == NULL || !check_type(context, part, call, type, change))
        return give(context, NULL, numbers);
    char *values = part->kind->write(part, &why); /* the own part; `read` gives all of it where it is shared */
    size_t width = part->state->width, lines = part->lines != NULL ? part->line_count : part->count / width;
    if (why != NULL)
        refuse(context, "%s: state '%s' %s", call, state, why);
    else if (line >= lines)
        refuse(context, "%s: line %zu of state '%s', of which this block has %zu, counted from 0", call, line, state, lines);
    else
        return give(context, values + (part->lines != NULL ? part->lines[line] : line * width) * hw_state_size(part->state),
                    numbers);
    return give(context, NULL, numbers);
}

size_t hawser_part_lines(hawser_context *context, const char *state, size_t *first)
{
    size_t begin, width, count = extent(context, state, "hawser_part_lines", &begin, &width);
    const hw_state_part *part =
        width > 0 ? &context->worker->parts[hw_program_state(context->worker->session->program, state)->number] : NULL;
    const bool rows = part != NULL && part->lines != NULL;
    if (first != NULL)
        *first = rows ? part->first_line : width > 0 ? begin / width : 0;
    return rows ? part->line_count : width > 0 ? count / width : 0;
}

size_t hawser_part(hawser_context *context, const char *state, size_t *first)
{
    size_t begin, width, count = extent(context, state, "hawser_part", &begin, &width);
    if (first != NULL)
        *first = begin;
    return count;
}

/* Converts the status of a call on the store, with the error in the worker's text. */
static hawser_status of_store(hawser_context *context, hawser_status status)
{
    if (status == HAWSER_BAD_ARGUMENT || status == HAWSER_NOT_FINITE) {
        char text[600];
        memcpy(text, context->worker->error.text, sizeof text - 1);
        text[sizeof text - 1] = '\0';
        /* A push that overflows is noticed by the call that comes after it, or when the clock ends: the status is the
         * same. */
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

hawser_status hawser_next_part(hawser_context *context, const char *state, hawser_moving_part *part)
{
    hw_state_part *own = find(context, state, "hawser_next_part", HW_MOVING, HW_MOVING, false);
    if (part == NULL)
        return without(context, "hawser_next_part", "part");
    *part = (hawser_moving_part){.number = UINT32_MAX};
    if (own == NULL)
        return failed(context);
    if (hw_redo_changes(context))
        return HAWSER_VIEW_CHANGED;
    HAWSER_TRY(hw_moving_next(context->worker, own, updates(context, own->state), part));
    if (!hw_redo_changes(context))
        return HAWSER_OK;
    *part = (hawser_moving_part){.number = UINT32_MAX};
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

hawser_status hawser_prefetch_wait_as(hawser_context *context, const char *state, hawser_type type, void *values)
{
    const char *call = "hawser_prefetch_wait";
    if (values == NULL)
        return without(context, call, "values");
    store_pointer(NULL, values);
    hw_state_part *part = find(context, state, call, HW_STORED, HW_STORED, false);
    if (part == NULL || !check_type(context, part, call, type, false))
        return failed(context);
    if (hw_redo_changes(context))
        return HAWSER_VIEW_CHANGED;
    const void *found;
    HAWSER_TRY(of_store(context, hw_stored_prefetch_wait(context->worker, part, &found)));
    store_pointer(found, values);
    return hw_redo_changes(context) ? HAWSER_VIEW_CHANGED : HAWSER_OK;
}

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
    if (hw_kind_of(part->state)->owned && count > 0 && (first < part->begin || first + count > end))
        return refuse(context, "hawser_touch: entries %zu to %zu of state '%s', of which this block has %zu to %zu", first,
                      first + count, state, part->begin, end);
    hw_replica_touch(part->replica, first, count);
    return HAWSER_OK;
}

hawser_status hawser_inc_as(hawser_context *context, const char *state, const uint64_t *keys, hawser_type type,
                            const void *values, size_t count)
{
    const char *call = "hawser_inc";
    hw_state_part *part = find(context, state, call, HW_REPLICATED, HW_STORED, true);
    if (part == NULL || !check_type(context, part, call, type, true))
        return failed(context);
    if (count > 0 && (keys == NULL || values == NULL))
        return without(context, call, keys == NULL ? "keys" : "values");
    if (part->replica != NULL)
        return hw_replica_inc(part->replica, keys, values, count, &context->worker->error);
    if (part->state->function == NULL)
        return refuse(context, "%s: each share of stored state '%s' has one writer; use hawser_write", call, state);
    if (hw_redo_changes(context))
        return HAWSER_VIEW_CHANGED;
    hw_redo_forbid(context->worker);
    return of_store(context, hw_stored_inc(context->worker, part, keys, values, count));
}

double hawser_gain(hawser_context *context, const char *state)
{
    hw_state_part *part = find(context, state, "hawser_gain", HW_REPLICATED, HW_REPLICATED, false);
    return part == NULL ? (double)NAN : hw_replica_gain(part->replica);
}

double hawser_work(const hawser_context *context)
{
    return context == NULL ? (double)NAN : context->worker->work * context->worker->share;
}

double hawser_damping(hawser_context *context, const char *state)
{
    hw_state_part *part = find(context, state, "hawser_damping", HW_REPLICATED, HW_REPLICATED, false);
    return part == NULL ? (double)NAN : hw_replica_damping(part->replica);
}

static hawser_status publish(hawser_context *context, hw_state_part *part)
{
    hw_worker *worker = context->worker;
    uint64_t bytes = worker->mailbox.bytes_sent;
    hw_redo_forbid(worker);
    HAWSER_TRY(hw_worker_cut(worker, part, false, false));
    worker->events[worker->current->number].bytes += worker->mailbox.bytes_sent - bytes;
    return hw_worker_relay(worker, false);
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
    visit_beside(context, check_beside);
    if (context->failed != HAWSER_OK)
        return context->failed;
    for (hawser_state *const *item = context->unit->updates; *item != NULL; item++)
        if (worker->parts[(*item)->number].replica != NULL)
            HAWSER_TRY(publish(context, &worker->parts[(*item)->number]));
    HAWSER_TRY(hw_drain(&worker->mailbox));
    /* Under BSP an update that arrives in a clock is merged at its end. */
    for (uint32_t i = 0; worker->policy.kind != HW_POLICY_BSP && i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (part->replica == NULL || !part->live || !hw_worker_uses(worker, part))
            continue;
        HAWSER_TRY(hw_replica_merge_stage(part->replica, hw_worker_exchange(worker, part), worker->stage, &worker->error));
        if (part->page_filled)
            hw_part_refresh_page(part);
    }
    visit_beside(context, note_beside);
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
    part->batch_size = 0; /* rows may have more entries now */
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

/* Returns whether the driver judges the loop that runs by a metric: where it is not a number, a change may be undone. */
static bool is_guarded(const hw_worker *worker, uint32_t metric)
{
    const hawser_operator *loop = worker->current;
    return worker->session->plan->guards && loop->kind == HW_LOOP && loop->adapted && loop->metric == metric;
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
        return refuse(context, "hawser_report: the program declares no metric '%s'; call hawser_metric_declare",
                      metric != NULL ? metric : "");
    if (isnan(value) && !is_guarded(worker, number)) {
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
    if (number == UINT32_MAX)
        refuse((hawser_context *)context, /* only callers see it as const */
               "hawser_metric: the program declares no metric '%s'; call hawser_metric_declare",
               metric != NULL ? metric : "");
    return number != UINT32_MAX ? context->worker->metrics[number] : (double)NAN;
}
