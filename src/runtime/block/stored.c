#include "runtime/block/stored.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/numbers.h"
#include "hawser/store.h"
#include "history/record.h"
#include "runtime/store/hub.h"

enum {
    SLOTS = 2,       /* of chunks (one more is read ahead under bounded delay) and of prefetches */
    PUSHES_MOST = 64 /* of a block in progress, if no other limit applies */
};

/* A request to the store. */
typedef struct hw_chunk_task {
    hw_worker *worker;
    const hawser_state *state;
    struct hw_chunk_task *next; /* a push: its values are stored behind it */
    uint64_t number;
    hawser_status status;
    atomic_bool ended;
} hw_chunk_task;

/* All chunks of a state, read in one iteration. */
typedef struct chunk_slot {
    char *values; /* of the whole state */
    hw_chunk_task *chunks;
    bool asked;
    uint64_t clock; /* for which they were requested */
} chunk_slot;

typedef struct prefetch {
    hw_chunk_task task;
    uint64_t *keys;
    char *values;
    size_t key_capacity, byte_capacity;
} prefetch;

struct hw_stored {
    uint32_t table;
    bool owned, ordered;
    bool touched;  /* units of this phase read or update it */
    bool turns;    /* units update it, so each clock is an iteration */
    uint64_t turn; /* iterations before this phase */
    uint64_t read; /* iterations in which this block has begun to read */
    chunk_slot slots[SLOTS];
    bool *given;    /* the chunks that the running unit has */
    bool all_asked; /* all chunks of this clock were requested, so that at its end only the own share is unread */
    prefetch prefetches[SLOTS + 1]; /* those in progress, from `oldest` on, and the last one that was given */
    uint32_t oldest, waiting;
};

bool hw_stored_ordered(const hawser_state *state)
{
    return state->function == NULL && hw_state_delay(state) != HW_DELAY_NONE;
}

uint64_t hw_stored_turn(const hw_state_part *part)
{
    return part->stored->turn;
}

hawser_status hw_stored_open(hw_worker *worker, hw_state_part *part, hawser_error *error)
{
    const hw_session *session = worker->session;
    const hawser_state *state = part->state;
    size_t end;
    hw_plan_range(session->plan, state, worker->block, &part->begin, &end);
    part->count = end - part->begin;
    HAWSER_TRY(HW_NEW(&part->stored, 1, "a stored state", error));
    hw_stored *stored = part->stored;
    stored->table = session->tables != NULL ? session->tables[state->number] : 0;
    stored->owned = state->function == NULL;
    stored->ordered = hw_stored_ordered(state);
    stored->turn = stored->ordered ? 1 : 0;
    HAWSER_TRY(HW_NEW(&stored->given, session->blocks, "a stored state", error));
    if (!stored->owned)
        return HAWSER_OK;
    size_t size = hw_state_size(state);
    HAWSER_TRY(hw_new_array(&part->work, part->count, size, "a share of a stored state", error));
    const void *initial = hw_plan_initial(session->plan, state, part->begin);
    if (initial != NULL && part->count > 0)
        memcpy(part->work, initial, part->count * size);
    return HAWSER_OK;
}

void hw_stored_close(hw_stored *stored)
{
    if (stored == NULL)
        return;
    for (int s = 0; s < SLOTS; s++) {
        free(stored->slots[s].values);
        free(stored->slots[s].chunks);
    }
    for (int w = 0; w <= SLOTS; w++) {
        free(stored->prefetches[w].keys);
        free(stored->prefetches[w].values);
    }
    free(stored->given);
    free(stored);
}

void hw_stored_forget(hw_worker *worker)
{
    while (worker->pushes != NULL) {
        hw_chunk_task *next = worker->pushes->next;
        free(worker->pushes);
        worker->pushes = next;
    }
}

/* ------------------------------------------------------------------------------------------------------------- tasks ---- */

/* Runs on the thread that learns of the end. The task may be freed as soon as it has ended. */
static void ended(void *user, uint64_t number, hawser_status status)
{
    hw_chunk_task *task = user;
    hw_worker *worker = task->worker;
    task->number = number;
    task->status = status;
    atomic_store_explicit(&task->ended, true, memory_order_release);
    hw_executor *executor = worker->session->executor;
    executor->ops->wake(executor, worker->mailbox.runner);
}

static bool has_ended(const hw_chunk_task *task)
{
    return atomic_load_explicit(&task->ended, memory_order_acquire);
}

/* Adds the state's name to the error of a number that is not finite: a program does not know the store's table. */
static hawser_status name_state(hw_worker *worker, const hawser_state *state, hawser_status status)
{
    hawser_error store = worker->error;
    if (status == HAWSER_NOT_FINITE)
        (void)hawser_fail(&worker->error, status, "stored state '%s', block %u: %s", state->name, worker->block, store.text);
    return status;
}

/* Returns the status of an ended task, with the store's text. */
static hawser_status outcome(hw_worker *worker, const hw_chunk_task *task)
{
    if (task->status == HAWSER_OK)
        return HAWSER_OK;
    hawser_status status = hawser_store_wait(worker->session->store, task->number, &worker->error);
    (void)name_state(worker, task->state, status);
    return hw_loss_reason(&worker->mailbox, status != HAWSER_OK ? status : task->status);
}

static bool task_has_ended(void *argument)
{
    return has_ended(argument);
}

static hawser_status wait_for(hw_worker *worker, hw_chunk_task *task)
{
    HAWSER_TRY(hw_wait(&worker->mailbox, task_has_ended, task));
    return outcome(worker, task);
}

static hawser_request begin_task(hw_worker *worker, const hw_state_part *part, hw_chunk_task *task)
{
    const hw_stored *stored = part->stored;
    task->worker = worker;
    task->state = part->state;
    atomic_store_explicit(&task->ended, false, memory_order_relaxed);
    return (hawser_request){.table = stored->table,
                            .worker = worker->mailbox.runner,
                            .iteration = stored->turn + (stored->turns ? worker->clock : 0),
                            .done = ended,
                            .user = task};
}

/* Makes a request a read of an iteration. A phase that only reads ends no iteration, so a later phase may read the same one, and a writer that has
 * seen the first read may be further by then. So a second read asks for the version of the first. */
static void read_in(hw_stored *stored, hawser_request *request, uint64_t iteration)
{
    request->iteration = iteration;
    request->reread = stored->ordered && iteration < stored->read;
}

static void note_read(hw_stored *stored, uint64_t iteration)
{
    stored->read = iteration < stored->read ? stored->read : iteration + 1;
}

/* Frees the pushes that have ended. */
static hawser_status reap(hw_worker *worker)
{
    for (hw_chunk_task **at = &worker->pushes; *at != NULL;) {
        hw_chunk_task *task = *at;
        if (!has_ended(task)) {
            at = &task->next;
            continue;
        }
        *at = task->next;
        worker->push_count--;
        hawser_status status = outcome(worker, task);
        free(task);
        HAWSER_TRY(status);
    }
    return HAWSER_OK;
}

static bool all_pushed(void *argument)
{
    const hw_worker *worker = argument;
    for (const hw_chunk_task *task = worker->pushes; task != NULL; task = task->next)
        if (!has_ended(task))
            return false;
    return true;
}

/* Waits until at most `left` pushes are in progress. */
static hawser_status settle(hw_worker *worker, uint32_t left)
{
    HAWSER_TRY(reap(worker));
    if (worker->push_count <= left)
        return HAWSER_OK;
    HAWSER_TRY(hw_wait(&worker->mailbox, all_pushed, worker));
    return reap(worker);
}

/* Pushes a copy. */
static hawser_status push(hw_worker *worker, hw_state_part *part, const uint64_t *keys, size_t first, const void *values,
                          size_t count)
{
    uint64_t number;
    hw_chunk_task *task = NULL;
    size_t bytes = count * hw_state_size(part->state), named = keys != NULL ? count : 0;
    HAWSER_TRY(settle(worker, PUSHES_MOST));
    HAWSER_TRY(hw_new_array((void **)&task, 1, sizeof *task + named * sizeof *keys + bytes, "a push", &worker->error));
    uint64_t *names = (uint64_t *)(task + 1);
    void *copy = memcpy(names + named, values, bytes);
    hawser_request request = begin_task(worker, part, task);
    request.values = copy;
    request.count = count;
    request.first = first;
    request.last = first + count - 1;
    if (keys != NULL)
        request.keys = memcpy(names, keys, named * sizeof *keys);
    task->next = worker->pushes;
    worker->pushes = task;
    worker->push_count++;
    hawser_status status = hawser_push(worker->session->store, &request, &number, &worker->error);
    if (status != HAWSER_OK) { /* no task was started */
        worker->pushes = task->next;
        worker->push_count--;
        free(task);
    }
    return name_state(worker, part->state, status);
}

/* ------------------------------------------------------------------------------------------------------------ chunks ---- */

/* Returns whether a block's share is read: the own share is in memory, and empty shares do not exist. */
static bool is_read(const hw_worker *worker, const hw_state_part *part, uint32_t block, size_t *begin, size_t *end)
{
    hw_plan_range(worker->session->plan, part->state, block, begin, end);
    return *begin < *end && !(part->stored->owned && block == worker->block);
}

/* Requests all chunks, those of the next blocks first, so that not all requests go to one server at once. */
static hawser_status ask(hw_worker *worker, hw_state_part *part, chunk_slot *slot, uint64_t clock, uint64_t iteration)
{
    uint32_t blocks = worker->session->blocks;
    uint64_t number;
    size_t begin, end;
    if (slot->chunks == NULL) {
        HAWSER_TRY(HW_NEW(&slot->chunks, blocks, "chunks of a stored state", &worker->error));
        HAWSER_TRY(HW_NEW(&slot->values, hw_state_bytes(part->state), "chunks of a stored state", &worker->error));
    }
    for (uint32_t i = 0; i < blocks; i++) /* a chunk that is not requested counts as ended */
        slot->chunks[i] = (hw_chunk_task){.ended = true};
    slot->asked = true;
    slot->clock = clock;
    for (uint32_t i = 1; i <= blocks; i++) {
        uint32_t block = (worker->block + i) % blocks;
        if (!is_read(worker, part, block, &begin, &end))
            continue;
        hw_chunk_task *task = &slot->chunks[block];
        hawser_request request = begin_task(worker, part, task);
        read_in(part->stored, &request, iteration);
        request.first = begin;
        request.last = end - 1;
        request.count = end - begin;
        request.out = slot->values + begin * hw_state_size(part->state);
        hawser_status status = hawser_pull(worker->session->store, &request, &number, &worker->error);
        if (status != HAWSER_OK) {
            atomic_store_explicit(&task->ended, true, memory_order_relaxed);
            return status;
        }
    }
    note_read(part->stored, iteration);
    return HAWSER_OK;
}

static hawser_status drop(hw_worker *worker, chunk_slot *slot)
{
    for (uint32_t b = 0; slot->asked && b < worker->session->blocks; b++)
        HAWSER_TRY(wait_for(worker, &slot->chunks[b]));
    slot->asked = false;
    return HAWSER_OK;
}

/* Finds the slot with this clock's chunks and requests them if necessary; under bounded delay those of the next clock, too. */
static hawser_status this_clocks(hw_worker *worker, hw_state_part *part, chunk_slot **out)
{
    hw_stored *stored = part->stored;
    bool ahead = worker->policy.kind == HW_POLICY_DELAY;
    uint64_t iteration = stored->turn + (stored->turns ? worker->clock : 0);
    chunk_slot *now = &stored->slots[ahead ? worker->clock % SLOTS : 0],
               *later = &stored->slots[(worker->clock + 1) % SLOTS];
    if (now->asked && now->clock != worker->clock)
        HAWSER_TRY(drop(worker, now));
    if (!now->asked)
        HAWSER_TRY(ask(worker, part, now, worker->clock, iteration));
    if (ahead && later->asked && later->clock != worker->clock + 1)
        HAWSER_TRY(drop(worker, later));
    if (ahead && !later->asked)
        HAWSER_TRY(ask(worker, part, later, worker->clock + 1, iteration));
    stored->all_asked = true;
    *out = now;
    return HAWSER_OK;
}

void hw_stored_begin_unit(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++)
        if (worker->parts[i].stored != NULL)
            memset(worker->parts[i].stored->given, 0, worker->session->blocks * sizeof(bool));
}

typedef struct chunk_search {
    const hw_worker *worker;
    const hw_state_part *part;
    const chunk_slot *slot;
    uint32_t found; /* UINT32_MAX: none has arrived; the number of blocks: none is left */
} chunk_search;

static bool one_is_here(void *argument)
{
    chunk_search *s = argument;
    const hw_stored *stored = s->part->stored;
    uint32_t blocks = s->worker->session->blocks;
    size_t begin, end;
    s->found = blocks;
    for (uint32_t i = 0; i < blocks; i++) { /* the own share first */
        uint32_t block = (s->worker->block + i) % blocks;
        hw_plan_range(s->worker->session->plan, s->part->state, block, &begin, &end);
        if (stored->given[block] || begin == end)
            continue;
        s->found = UINT32_MAX;
        if (!has_ended(&s->slot->chunks[block]))
            continue;
        s->found = block;
        break;
    }
    return s->found != UINT32_MAX;
}

hawser_status hw_stored_next(hw_worker *worker, hw_state_part *part, hawser_chunk *chunk)
{
    chunk_slot *slot = NULL;
    HAWSER_TRY(this_clocks(worker, part, &slot));
    chunk_search search = {.worker = worker, .part = part, .slot = slot};
    HAWSER_TRY(hw_wait(&worker->mailbox, one_is_here, &search));
    if (search.found == worker->session->blocks)
        return HAWSER_OK;
    size_t end;
    HAWSER_TRY(outcome(worker, &slot->chunks[search.found]));
    part->stored->given[search.found] = true;
    chunk->block = search.found;
    hw_plan_range(worker->session->plan, part->state, search.found, &chunk->first, &end);
    chunk->count = end - chunk->first;
    const void *values = slot->values + chunk->first * hw_state_size(part->state);
    if (part->stored->owned && search.found == worker->block)
        values = part->work;
    chunk->values = part->state->type == HAWSER_F64 ? values : NULL;
    chunk->values_f32 = part->state->type == HAWSER_F32 ? values : NULL;
    chunk->values_i64 = part->state->type == HAWSER_I64 ? values : NULL;
    return HAWSER_OK;
}

/* -------------------------------------------------------------------------------------------------------- prefetches ---- */

hawser_status hw_stored_prefetch(hw_worker *worker, hw_state_part *part, const uint64_t *keys, size_t first, size_t count)
{
    hw_stored *stored = part->stored;
    uint64_t number;
    if (stored->waiting == SLOTS)
        return hawser_fail(&worker->error, HAWSER_BAD_ARGUMENT,
                           "hawser_prefetch: %d reads are in progress; take one by hawser_prefetch_wait", SLOTS);
    prefetch *slot = &stored->prefetches[(stored->oldest + stored->waiting) % (SLOTS + 1)];
    HAWSER_TRY(HW_GROW(&slot->values, &slot->byte_capacity, (count + 1) * hw_state_size(part->state), "prefetched numbers",
                       &worker->error));
    hawser_request request = begin_task(worker, part, &slot->task);
    read_in(stored, &request, request.iteration);
    note_read(stored, request.iteration);
    request.count = count;
    request.out = slot->values;
    request.first = first;
    request.last = first + count - 1;
    slot->task.status = HAWSER_OK;
    atomic_store_explicit(&slot->task.ended, count == 0, memory_order_relaxed);
    if (keys != NULL && count > 0) {
        HAWSER_TRY(HW_GROW(&slot->keys, &slot->key_capacity, count, "keys of a prefetch", &worker->error));
        request.keys = memcpy(slot->keys, keys, count * sizeof *keys);
    }
    if (count > 0)
        HAWSER_TRY(hawser_pull(worker->session->store, &request, &number, &worker->error));
    stored->waiting++;
    return HAWSER_OK;
}

hawser_status hw_stored_prefetch_wait(hw_worker *worker, hw_state_part *part, const void **values)
{
    hw_stored *stored = part->stored;
    prefetch *slot = &stored->prefetches[stored->oldest];
    if (stored->waiting == 0)
        return hawser_fail(&worker->error, HAWSER_BAD_ARGUMENT,
                           "hawser_prefetch_wait: no read was started by hawser_prefetch");
    HAWSER_TRY(wait_for(worker, &slot->task));
    stored->oldest = (stored->oldest + 1) % (SLOTS + 1);
    stored->waiting--;
    *values = slot->values;
    return HAWSER_OK;
}

static hawser_status drop_prefetches(hw_worker *worker, hw_state_part *part)
{
    const void *values;
    while (part->stored->waiting > 0)
        HAWSER_TRY(hw_stored_prefetch_wait(worker, part, &values));
    return HAWSER_OK;
}

hawser_status hw_stored_inc(hw_worker *worker, hw_state_part *part, const uint64_t *keys, const void *values, size_t count)
{
    return count > 0 ? push(worker, part, keys, 0, values, count) : HAWSER_OK;
}

/* -------------------------------------------------------------------------------------------------------------- ends ---- */

static bool phase_reads(const hawser_operator *operator, const hawser_state * state)
{
    for (const hawser_operator *unit = hw_phase_first(operator); unit != NULL; unit = hw_phase_next(operator, unit))
        if (hw_unit_reads(unit, state))
            return true;
    return false;
}

/* Records the policy of the table from this iteration on. */
static void note_turn(hw_worker *worker, const hw_stored *stored)
{
    if (worker->log == NULL)
        return;
    hw_log_put(worker->log, &(hw_event_record){.kind = HW_EVENT_TURN,
                                               .flags = stored->turns ? HW_EVENT_MOVES : 0,
                                               .object = stored->table,
                                               .actor = worker->block,
                                               .from = worker->session->store->run,
                                               .part = hw_policy_row_of(worker->policy.kind)->record,
                                               .epoch = worker->epoch,
                                               .clock = stored->turn,
                                               .count = worker->policy.staleness});
}

void hw_stored_begin_phase(hw_worker *worker)
{
    for (uint32_t i = 0; worker->session->store != NULL && i < worker->session->program->state_count; i++) {
        hw_stored *stored = worker->parts[i].stored;
        if (stored == NULL)
            continue;
        stored->turns = hw_phase_updates(worker->operator, worker->parts[i].state);
        stored->touched = stored->turns || phase_reads(worker->operator, worker->parts[i].state);
        if (stored->touched)
            note_turn(worker, stored);
    }
}

/* Ends the reads of an iteration on an ordered state: what was not read counts as read, else its writers would wait without end. */
static hawser_status end_reads(hw_worker *worker, hw_state_part *part, uint64_t iteration)
{
    const hw_stored *stored = part->stored;
    size_t first = 0, last = hw_state_count(part->state) - 1;
    if (stored->all_asked) {
        if (part->count == 0)
            return HAWSER_OK;
        first = part->begin;
        last = first + part->count - 1;
    }
    return hawser_store_clock(worker->session->store, stored->table, worker->mailbox.runner, iteration, first, last,
                              &worker->error);
}

static hawser_status push_share(hw_worker *worker, hw_state_part *part)
{
    hawser_error *error = &worker->error;
    const hw_numbers *numbers = hw_numbers_of(part->state->type);
    hawser_status status = push(worker, part, NULL, part->begin, part->work, part->count);
    size_t bad = status == HAWSER_NOT_FINITE ? numbers->first_not_finite(part->work, part->count) : part->count;
    if (bad == part->count)
        return status;
    char text[HW_NUMBER_TEXT];
    numbers->text(part->work, bad, text);
    return hawser_fail(error, status, "stored state '%s', block %u: number %zu became %s in clock %llu", part->state->name,
                       worker->block, part->begin + bad, text, (unsigned long long)worker->clock);
}

static hawser_status end_clock_of(hw_worker *worker, hw_state_part *part, bool empty)
{
    hw_stored *stored = part->stored;
    uint64_t iteration = stored->turn + worker->clock;
    bool read = stored->all_asked;
    if (worker->policy.kind == HW_POLICY_BSP || worker->policy.kind == HW_POLICY_CENTRIC)
        HAWSER_TRY(drop_prefetches(worker, part));
    for (int s = 0; s < SLOTS; s++)
        if (stored->slots[s].clock == worker->clock)
            HAWSER_TRY(drop(worker, &stored->slots[s]));
    if (stored->turns && stored->ordered)
        HAWSER_TRY(end_reads(worker, part, iteration));
    stored->all_asked = false;
    if (stored->turns && stored->owned && part->count > 0 && !empty)
        HAWSER_TRY(push_share(worker, part));
    /* Without a barrier a chunk may be requested once the own one was sent: the store replies when it may be read. */
    if (stored->turns && read && worker->policy.kind == HW_POLICY_CENTRIC)
        return ask(worker, part, &stored->slots[0], worker->clock + 1, iteration + 1);
    return HAWSER_OK;
}

hawser_status hw_stored_end_clock(hw_worker *worker, bool empty)
{
    if (worker->session->store == NULL)
        return HAWSER_OK;
    for (uint32_t i = 0; i < worker->session->program->state_count; i++)
        if (worker->parts[i].stored != NULL && worker->parts[i].stored->touched)
            HAWSER_TRY(end_clock_of(worker, &worker->parts[i], empty));
    bool ordered = worker->policy.kind == HW_POLICY_CENTRIC || worker->policy.kind == HW_POLICY_TAP;
    return settle(worker, ordered ? PUSHES_MOST : 0);
}

hawser_status hw_stored_end_phase(hw_worker *worker)
{
    if (worker->session->store == NULL)
        return HAWSER_OK;
    HAWSER_TRY(settle(worker, 0));
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (part->stored == NULL || !part->stored->touched)
            continue;
        HAWSER_TRY(drop_prefetches(worker, part));
        for (int s = 0; s < SLOTS; s++)
            HAWSER_TRY(drop(worker, &part->stored->slots[s]));
        if (part->stored->turns)
            part->stored->turn += worker->clock;
    }
    return HAWSER_OK;
}
