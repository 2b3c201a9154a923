#include "runtime/block/stored.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/numbers.h"
#include "hawser/store.h"
#include "history/record.h"
#include "runtime/store/asking.h"
#include "runtime/store/hub.h"

enum {
    SLOTS = 2,       /* of chunks: one more is read ahead under bounded delay */
    READS = 64,      /* prefetches in progress */
    PUSHES_MOST = 64 /* of a block in progress, if no other limit applies */
};

#define NO_BUFFER UINT32_MAX

/* A request to the store. */
typedef struct hw_chunk_task {
    hw_worker *worker;
    const hawser_state *state;
    struct hw_chunk_task *next; /* a push: its values are stored behind it */
    uint64_t number;
    hawser_status status;
    atomic_bool ended;
} hw_chunk_task;

/* A chunk that was requested or that is in memory. */
typedef struct chunk_buffer {
    hw_chunk_task task;
    char *values;   /* as large as the largest chunk; NULL: not yet */
    uint32_t block; /* that owns the chunk; UINT32_MAX: the buffer is free */
} chunk_buffer;

/* Chunks of a state, read in one iteration. A buffer gets another chunk when the unit asks for the next one. */
typedef struct chunk_slot {
    chunk_buffer *buffers;
    uint32_t *holders; /* by block: the buffer with its chunk, or NO_BUFFER */
    bool asked;
    uint64_t clock; /* for which they were requested */
} chunk_slot;

typedef struct prefetch {
    hw_chunk_task task;
    uint64_t *keys;
    char *values;
    size_t key_capacity, byte_capacity, bytes;
} prefetch;

struct hw_stored {
    uint32_t table, blocks;
    bool owned, ordered;
    bool summed;          /* the store counts the clocks of the table, and a read in clock t needs t of them */
    bool touched;         /* units of this phase read or update it */
    bool turns;           /* units update it, so each clock is an iteration */
    bool returned;        /* `work` has a kept point's values, which the servers do not have */
    uint64_t turn;        /* iterations before this phase */
    uint64_t ended;       /* iterations that this block has ended */
    uint64_t read;        /* iterations in which this block has begun to read */
    uint64_t prefetched;  /* likewise by a prefetch */
    uint64_t *chunk_read; /* by block: likewise its chunk */
    chunk_slot slots[SLOTS];
    hw_chunk_task copying; /* of a kept point or a record */
    void *share;           /* of a record: the numbers of a state that blocks change, */
    void *share_memory;    /* and what its function remembers of them */
    uint32_t buffers;      /* of a slot */
    hw_chunk_memory *memory;
    size_t largest_chunk;           /* bytes */
    bool *given;                    /* the chunks that the running unit got */
    bool asked;                     /* a unit of this clock reads chunks */
    prefetch prefetches[READS + 1]; /* those in progress, from `oldest` on, and the last one that was given */
    uint32_t oldest, waiting;
    uint32_t oldest_kept, waiting_kept; /* when the stage began */
    uint32_t begun;                     /* by the stage */
    bool reused;                        /* the stage has begun one in the memory of one that was in progress before */
};

bool hw_stored_ordered(const hawser_state *state)
{
    return state->function == NULL && hw_state_delay(state) != HW_DELAY_NONE;
}

uint64_t hw_stored_bytes(const hw_worker *worker)
{
    hawser_store *store = worker->session->store;
    if (store == NULL)
        return 0;
    pthread_mutex_lock(&store->mutex);
    uint64_t bytes = hw_client_traffic_of(store->client, worker->block).bytes_sent;
    pthread_mutex_unlock(&store->mutex);
    return bytes;
}

uint64_t hw_stored_turn(const hw_state_part *part, bool within)
{
    return within ? part->stored->ended : part->stored->turn;
}

/* Returns whether a block's share is read: the own share is in memory, and empty shares do not exist. */
static bool is_read(const hw_worker *worker, const hw_state_part *part, uint32_t block, size_t *begin, size_t *end)
{
    hw_plan_range(worker->session->plan, part->state, block, begin, end);
    return *begin < *end && !(part->stored->owned && block == worker->block);
}

/* Determines the number and the size of the buffers of a slot. */
static void size_up(const hw_worker *worker, hw_state_part *part)
{
    hw_stored *stored = part->stored;
    uint32_t chunks = 0;
    size_t begin, end, size = hw_state_size(part->state);
    for (uint32_t b = 0; b < worker->session->blocks; b++) {
        if (!is_read(worker, part, b, &begin, &end))
            continue;
        chunks++;
        stored->largest_chunk = (end - begin) * size > stored->largest_chunk ? (end - begin) * size : stored->largest_chunk;
    }
    stored->buffers = hw_plan_chunk_buffers(chunks, stored->largest_chunk);
    if (stored->memory->buffers != 0 && stored->memory->buffers < stored->buffers)
        stored->buffers = stored->memory->buffers;
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
    stored->blocks = session->blocks;
    stored->owned = state->function == NULL;
    stored->ordered = hw_stored_ordered(state);
    stored->summed = state->summed;
    stored->turn = stored->ended = stored->ordered ? 1 : 0;
    stored->memory = &session->job->chunks;
    HAWSER_TRY(HW_NEW(&stored->given, session->blocks, "a stored state", error));
    HAWSER_TRY(HW_NEW(&stored->chunk_read, session->blocks, "a stored state", error));
    size_up(worker, part);
    size_t size = hw_state_size(state);
    if (!stored->owned) /* a return at the end of a failed run must not fail itself */
        return state->keeps ? hw_new_array(&part->work, part->count, size, "a share of a stored state", error) : HAWSER_OK;
    HAWSER_TRY(hw_new_array(&part->work, part->count, size, "a share of a stored state", error));
    const void *initial = hw_plan_initial(session->plan, state, part->begin);
    if (initial != NULL && part->count > 0)
        memcpy(part->work, initial, part->count * size);
    return HAWSER_OK;
}

static void free_slot(hw_stored *stored, chunk_slot *slot)
{
    for (uint32_t i = 0; slot->buffers != NULL && i < stored->buffers; i++) {
        if (slot->buffers[i].values != NULL)
            atomic_fetch_sub_explicit(&stored->memory->bytes, stored->largest_chunk, memory_order_relaxed);
        free(slot->buffers[i].values);
    }
    free(slot->buffers);
    free(slot->holders);
    *slot = (chunk_slot){0};
}

void hw_stored_close(hw_stored *stored)
{
    if (stored == NULL)
        return;
    for (int s = 0; s < SLOTS; s++)
        free_slot(stored, &stored->slots[s]);
    for (int w = 0; w <= READS; w++) {
        free(stored->prefetches[w].keys);
        free(stored->prefetches[w].values);
    }
    free(stored->given);
    free(stored->chunk_read);
    free(stored->share);
    free(stored->share_memory);
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

void hw_stored_visit(hw_stored *stored, hawser_record *record)
{
    hawser_record_bytes(record, &stored->turn, sizeof stored->turn);
    hawser_record_bytes(record, &stored->ended, sizeof stored->ended);
    hawser_record_bytes(record, &stored->read, sizeof stored->read);
    hawser_record_bytes(record, &stored->prefetched, sizeof stored->prefetched);
    hawser_record_bytes(record, &stored->returned, sizeof stored->returned);
    hawser_record_bytes(record, stored->chunk_read, stored->blocks * sizeof *stored->chunk_read);
}

void hw_stored_drop(hw_stored *stored)
{
    stored->turn = stored->ended = stored->read = stored->prefetched = UINT64_MAX;
    stored->returned = !stored->returned;
    memset(stored->chunk_read, 0xa5, stored->blocks * sizeof *stored->chunk_read);
}

/* ------------------------------------------------------------------------------------------------------------ tasks ---- */

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

/* Makes a request a read of an iteration; `read`: iterations in which its numbers were read before. A second unit of a clock
 * reads them again if they are no longer in memory. A phase that only reads ends no iteration, so a later phase may read the
 * same one. A writer that has seen the first read may be further by then. So a second read asks for the version of the
 * first. */
static void read_in(const hw_stored *stored, hawser_request *request, uint64_t iteration, uint64_t read)
{
    request->iteration = iteration;
    request->least = stored->summed ? iteration : 0;
    request->reread = stored->ordered && iteration < read;
}

static void note_read(uint64_t *read, uint64_t iteration)
{
    *read = iteration < *read ? *read : iteration + 1;
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

/* ----------------------------------------------------------------------------------------------------------- chunks ---- */

static hawser_status open_slot(hw_worker *worker, const hw_stored *stored, chunk_slot *slot, uint64_t clock)
{
    uint32_t blocks = worker->session->blocks;
    if (slot->buffers == NULL) {
        HAWSER_TRY(HW_NEW(&slot->holders, blocks, "chunks of a stored state", &worker->error));
        HAWSER_TRY(HW_NEW(&slot->buffers, stored->buffers, "chunks of a stored state", &worker->error));
    }
    for (uint32_t b = 0; b < blocks; b++)
        slot->holders[b] = NO_BUFFER;
    for (uint32_t i = 0; i < stored->buffers; i++) {
        slot->buffers[i].task = (hw_chunk_task){.ended = true};
        slot->buffers[i].block = UINT32_MAX;
    }
    slot->asked = true;
    slot->clock = clock;
    return HAWSER_OK;
}

/* Returns a buffer for another chunk; NO_BUFFER: none. given: the chunks that the unit got; NULL: it reads this slot
 * later. */
static uint32_t spare(const hw_stored *stored, const chunk_slot *slot, const bool *given)
{
    for (uint32_t i = 0; i < stored->buffers; i++) {
        uint32_t block = slot->buffers[i].block;
        if (block == UINT32_MAX || (given != NULL && given[block]))
            return i;
    }
    return NO_BUFFER;
}

static hawser_status open_buffer(hw_stored *stored, chunk_buffer *buffer, hawser_error *error)
{
    if (buffer->values != NULL)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&buffer->values, stored->largest_chunk, "chunks of a stored state", error));
    uint64_t now = atomic_fetch_add_explicit(&stored->memory->bytes, stored->largest_chunk, memory_order_relaxed) +
                   stored->largest_chunk;
    uint64_t most = atomic_load_explicit(&stored->memory->most, memory_order_relaxed);
    while (now > most && !atomic_compare_exchange_weak_explicit(&stored->memory->most, &most, now, memory_order_relaxed,
                                                                memory_order_relaxed))
        ;
    return HAWSER_OK;
}

static hawser_status ask_one(hw_worker *worker, hw_state_part *part, chunk_slot *slot, uint32_t at, uint32_t block,
                             uint64_t iteration)
{
    hw_stored *stored = part->stored;
    chunk_buffer *buffer = &slot->buffers[at];
    uint64_t number, read = stored->chunk_read[block];
    size_t begin, end;
    HAWSER_TRY(open_buffer(stored, buffer, &worker->error));
    hw_plan_range(worker->session->plan, part->state, block, &begin, &end);
    hawser_request request = begin_task(worker, part, &buffer->task);
    read_in(stored, &request, iteration, stored->prefetched > read ? stored->prefetched : read);
    request.first = begin;
    request.last = end - 1;
    request.count = end - begin;
    request.out = buffer->values;
    hawser_status status = hawser_pull(worker->session->store, &request, &number, &worker->error);
    if (status != HAWSER_OK) { /* no task was started */
        atomic_store_explicit(&buffer->task.ended, true, memory_order_relaxed);
        return status;
    }
    if (buffer->block != UINT32_MAX)
        slot->holders[buffer->block] = NO_BUFFER;
    buffer->block = block;
    slot->holders[block] = at;
    note_read(&stored->chunk_read[block], iteration);
    note_read(&stored->read, iteration);
    return HAWSER_OK;
}

/* Requests chunks as far as buffers reach, those of the next blocks first, so that not all requests go to one server at
 * once. */
static hawser_status ask(hw_worker *worker, hw_state_part *part, chunk_slot *slot, const bool *given, uint64_t iteration)
{
    uint32_t blocks = worker->session->blocks;
    size_t begin, end;
    for (uint32_t i = 1; i <= blocks; i++) {
        uint32_t block = (worker->block + i) % blocks;
        if (slot->holders[block] != NO_BUFFER || (given != NULL && given[block]) ||
            !is_read(worker, part, block, &begin, &end))
            continue;
        uint32_t at = spare(part->stored, slot, given);
        if (at == NO_BUFFER)
            return HAWSER_OK;
        HAWSER_TRY(ask_one(worker, part, slot, at, block, iteration));
    }
    return HAWSER_OK;
}

static hawser_status drop(hw_worker *worker, const hw_stored *stored, chunk_slot *slot)
{
    for (uint32_t i = 0; slot->asked && i < stored->buffers; i++)
        HAWSER_TRY(wait_for(worker, &slot->buffers[i].task));
    slot->asked = false;
    return HAWSER_OK;
}

/* Makes a slot that of a clock. What was requested for another clock is dropped. */
static hawser_status turn_to(hw_worker *worker, const hw_stored *stored, chunk_slot *slot, uint64_t clock)
{
    if (slot->asked && slot->clock != clock)
        HAWSER_TRY(drop(worker, stored, slot));
    return slot->asked ? HAWSER_OK : open_slot(worker, stored, slot, clock);
}

/* Finds the slot with this clock's chunks and requests more of them; under bounded delay those of the next clock, too. */
static hawser_status this_clocks(hw_worker *worker, hw_state_part *part, chunk_slot **out)
{
    hw_stored *stored = part->stored;
    bool ahead = worker->policy.kind == HW_POLICY_DELAY;
    uint64_t iteration = stored->turn + (stored->turns ? worker->clock : 0);
    chunk_slot *now = &stored->slots[ahead ? worker->clock % SLOTS : 0],
               *later = &stored->slots[(worker->clock + 1) % SLOTS];
    stored->asked = true;
    *out = now;
    HAWSER_TRY(turn_to(worker, stored, now, worker->clock));
    HAWSER_TRY(ask(worker, part, now, stored->given, iteration));
    if (!ahead)
        return HAWSER_OK;
    HAWSER_TRY(turn_to(worker, stored, later, worker->clock + 1));
    return ask(worker, part, later, NULL, iteration);
}

void hw_stored_begin_unit(hw_worker *worker, hw_state_part *part)
{
    memset(part->stored->given, 0, worker->session->blocks * sizeof(bool));
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
        uint32_t at = s->slot->holders[block];
        bool own = stored->owned && block == s->worker->block;
        if (!own && (at == NO_BUFFER || !has_ended(&s->slot->buffers[at].task)))
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
    uint32_t at = slot->holders[search.found];
    const void *values = part->work; /* the own share */
    if (at != NO_BUFFER) {
        HAWSER_TRY(outcome(worker, &slot->buffers[at].task));
        values = slot->buffers[at].values;
    }
    part->stored->given[search.found] = true;
    chunk->block = search.found;
    hw_plan_range(worker->session->plan, part->state, search.found, &chunk->first, &end);
    chunk->count = end - chunk->first;
    chunk->type = part->state->type;
    chunk->values = values;
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------- prefetches ---- */

hawser_status hw_stored_prefetch(hw_worker *worker, hw_state_part *part, const uint64_t *keys, size_t first, size_t count)
{
    hw_stored *stored = part->stored;
    uint64_t number;
    if (stored->waiting == READS)
        return hawser_fail(&worker->error, HAWSER_BAD_ARGUMENT,
                           "hawser_prefetch: %d reads are in progress; take one by hawser_prefetch_wait", READS);
    uint32_t at = (stored->oldest + stored->waiting) % (READS + 1);
    prefetch *slot = &stored->prefetches[at];
    stored->reused |= (at + READS + 1 - stored->oldest_kept) % (READS + 1) < stored->waiting_kept;
    HAWSER_TRY(HW_GROW(&slot->values, &slot->byte_capacity, (count + 1) * hw_state_size(part->state), "prefetched numbers",
                       &worker->error));
    hawser_request request = begin_task(worker, part, &slot->task);
    read_in(stored, &request, request.iteration, stored->read);
    note_read(&stored->read, request.iteration);
    note_read(&stored->prefetched, request.iteration);
    request.count = count;
    slot->bytes = count * hw_state_size(part->state);
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
    stored->begun++;
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
    stored->oldest = (stored->oldest + 1) % (READS + 1);
    stored->waiting--;
    *values = slot->values;
    return HAWSER_OK;
}

void hw_stored_keep(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_stored *stored = worker->parts[i].stored;
        if (stored == NULL)
            continue;
        stored->oldest_kept = stored->oldest;
        stored->waiting_kept = stored->waiting;
        stored->begun = 0;
        stored->reused = false;
    }
}

hawser_status hw_stored_go_back(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_stored *stored = worker->parts[i].stored;
        if (stored == NULL)
            continue;
        uint32_t own = stored->begun < stored->waiting ? stored->begun : stored->waiting;
        for (uint32_t k = stored->waiting - own; k < stored->waiting; k++)
            HAWSER_TRY(wait_for(worker, &stored->prefetches[(stored->oldest + k) % (READS + 1)].task));
        stored->oldest = stored->oldest_kept;
        stored->waiting = stored->waiting_kept;
        stored->begun = 0;
    }
    return HAWSER_OK;
}

bool hw_stored_repeats(const hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++)
        if (worker->parts[i].stored != NULL && worker->parts[i].stored->reused)
            return false;
    return true;
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

/* ------------------------------------------------------------------------------------------------------------- ends ---- */

static bool phase_reads(const hawser_operator *op, const hawser_state *state)
{
    for (const hawser_operator *unit = hw_phase_first(op); unit != NULL; unit = hw_phase_next(op, unit))
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

hawser_status hw_stored_copy(hw_worker *worker, hw_state_part *part, void *values)
{
    const hw_stored *stored = part->stored;
    size_t bytes = part->count * hw_state_size(part->state);
    if (stored->owned || stored->returned) {
        memcpy(values, part->work, bytes);
        return HAWSER_OK;
    }
    hw_chunk_task *task = &part->stored->copying; /* it may end after a run that was lost */
    uint64_t number;
    memset(values, 0, bytes);
    if (part->count == 0 || worker->session->store == NULL)
        return HAWSER_OK;
    hawser_request request = begin_task(worker, part, task);
    request.iteration = stored->ended;                  /* all blocks have ended the one before, so it waits for none */
    request.least = stored->summed ? stored->ended : 0; /* their messages may be on their way */
    request.first = part->begin;
    request.last = part->begin + part->count - 1;
    request.count = part->count;
    request.out = values;
    HAWSER_TRY(hawser_pull(worker->session->store, &request, &number, &worker->error));
    return wait_for(worker, task);
}

hawser_status hw_stored_return(hw_worker *worker, hw_state_part *part, const void *values)
{
    size_t size = hw_state_size(part->state);
    if (part->work == NULL) /* a state of kept points has the memory from the start */
        HAWSER_TRY(hw_new_array(&part->work, part->count, size, "a share of a stored state", &worker->error));
    if (part->count > 0)
        memcpy(part->work, values, part->count * size);
    part->stored->returned = true;
    return HAWSER_OK;
}

bool hw_stored_returned(const hw_state_part *part)
{
    return part->stored->returned;
}

hawser_status hw_stored_begin_phase(hw_worker *worker, hw_state_part *part)
{
    hw_stored *stored = part->stored;
    if (worker->session->store == NULL)
        return HAWSER_OK;
    stored->turns = hw_phase_updates(worker->current, part->state);
    stored->touched = stored->turns || phase_reads(worker->current, part->state);
    if (stored->touched && stored->returned)
        return hawser_fail(&worker->error, HAWSER_BAD_PROGRAM,
                           "'%s' uses stored state '%s' after a return to a kept point, whose values are not on the "
                           "servers; end the program after the return",
                           worker->current->name != NULL ? worker->current->name : "", part->state->name);
    if (stored->touched)
        note_turn(worker, stored);
    return HAWSER_OK;
}

/* Returns whether each chunk was read in an iteration, so that at its end only the own share is unread. */
static bool all_read(const hw_worker *worker, const hw_state_part *part, uint64_t iteration)
{
    size_t begin, end;
    for (uint32_t b = 0; b < worker->session->blocks; b++)
        if (part->stored->chunk_read[b] <= iteration && is_read(worker, part, b, &begin, &end))
            return false;
    return true;
}

/* Ends the reads of an iteration on an ordered state: what was not read counts as read, else its writers would wait without
 * end. */
static hawser_status end_reads(hw_worker *worker, hw_state_part *part, uint64_t iteration)
{
    const hw_stored *stored = part->stored;
    size_t first = 0, last = hw_state_count(part->state) - 1;
    if (all_read(worker, part, iteration)) {
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

hawser_status hw_stored_end_clock(hw_worker *worker, hw_state_part *part, bool empty)
{
    hw_stored *stored = part->stored;
    if (worker->session->store == NULL || !stored->touched)
        return HAWSER_OK;
    uint64_t iteration = stored->turn + worker->clock;
    bool read = stored->asked;
    if (stored->turns)
        stored->ended = iteration + 1;
    if (worker->policy.kind == HW_POLICY_BSP || worker->policy.kind == HW_POLICY_CENTRIC)
        HAWSER_TRY(drop_prefetches(worker, part));
    for (int s = 0; s < SLOTS; s++)
        if (stored->slots[s].clock == worker->clock)
            HAWSER_TRY(drop(worker, stored, &stored->slots[s]));
    if (stored->turns && stored->ordered)
        HAWSER_TRY(end_reads(worker, part, iteration));
    if (stored->turns && stored->summed)
        HAWSER_TRY(hawser_store_clock(worker->session->store, stored->table, worker->mailbox.runner, iteration, 0,
                                      hw_state_count(part->state) - 1, &worker->error));
    stored->asked = false;
    if (stored->turns && stored->owned && part->count > 0 && !empty)
        HAWSER_TRY(push_share(worker, part));
    /* Without a barrier a chunk may be requested once the own one was sent: the store replies when it may be read. */
    if (!stored->turns || !read || worker->policy.kind != HW_POLICY_CENTRIC)
        return HAWSER_OK;
    HAWSER_TRY(turn_to(worker, stored, &stored->slots[0], worker->clock + 1));
    return ask(worker, part, &stored->slots[0], NULL, iteration + 1);
}

/* A read of a summed state waits for the clocks that it needs, which follow their pushes. A history has the pushes before
 * the clock, as for other states. */
static bool all_unsummed_pushed(void *argument)
{
    const hw_worker *worker = argument;
    for (const hw_chunk_task *task = worker->pushes; task != NULL; task = task->next)
        if ((!task->state->summed || worker->log != NULL) && !has_ended(task))
            return false;
    return true;
}

hawser_status hw_stored_settle(hw_worker *worker)
{
    bool ordered = worker->policy.kind == HW_POLICY_CENTRIC || worker->policy.kind == HW_POLICY_TAP;
    if (worker->session->store == NULL)
        return HAWSER_OK;
    if (ordered)
        return settle(worker, PUSHES_MOST);
    HAWSER_TRY(reap(worker));
    if (!all_unsummed_pushed(worker))
        HAWSER_TRY(hw_wait(&worker->mailbox, all_unsummed_pushed, worker));
    return reap(worker);
}

hawser_status hw_stored_settle_all(hw_worker *worker)
{
    return worker->session->store != NULL ? settle(worker, 0) : HAWSER_OK;
}

hawser_status hw_stored_end_phase(hw_worker *worker, hw_state_part *part)
{
    hw_stored *stored = part->stored;
    if (worker->session->store == NULL)
        return HAWSER_OK;
    HAWSER_TRY(settle(worker, 0));
    if (!stored->touched)
        return HAWSER_OK;
    HAWSER_TRY(drop_prefetches(worker, part));
    for (int s = 0; s < SLOTS; s++) {
        HAWSER_TRY(drop(worker, stored, &stored->slots[s]));
        free_slot(stored, &stored->slots[s]);
    }
    if (stored->turns)
        stored->turn += worker->clock;
    return HAWSER_OK;
}

/* ---------------------------------------------------------------------------------------------------------- records ---- */

/* Returns the bytes that the state's function remembers of the block's share. */
static size_t memory_bytes(const hw_state_part *part)
{
    return part->state->function != NULL ? part->count * part->state->function->memory * sizeof(double) : 0;
}

/* Reads what the function remembers of the block's share from the servers to `out`, or sets it there. */
static hawser_status carry_memory(hw_worker *worker, hw_state_part *part, void *out, const void *values)
{
    hw_chunk_task *task = &part->stored->copying;
    uint64_t number;
    hawser_request request = begin_task(worker, part, task);
    request.first = part->begin;
    request.last = part->begin + part->count - 1;
    request.count = part->count;
    request.out = out;
    request.values = values;
    HAWSER_TRY(hw_store_memory_task(worker->session->store, &request, &number, &worker->error));
    return wait_for(worker, task);
}

static void drop_share(hw_stored *stored)
{
    free(stored->share);
    free(stored->share_memory);
    stored->share = stored->share_memory = NULL;
}

hawser_status hw_stored_collect(hw_worker *worker, hw_state_part *part)
{
    hw_stored *stored = part->stored;
    hawser_store *store = worker->session->store;
    for (uint32_t k = 0; k < stored->waiting; k++)
        HAWSER_TRY(wait_for(worker, &stored->prefetches[(stored->oldest + k) % (READS + 1)].task));
    drop_share(stored);
    if (stored->owned || store == NULL || part->count == 0)
        return HAWSER_OK;
    size_t size = hw_state_size(part->state), bytes = memory_bytes(part);
    HAWSER_TRY(hw_new_array(&stored->share, part->count, size, "a record of a stored state", &worker->error));
    HAWSER_TRY(hw_stored_copy(worker, part, stored->share));
    if (bytes == 0)
        return HAWSER_OK;
    HAWSER_TRY(hw_new_array(&stored->share_memory, bytes, 1, "a record of a stored state", &worker->error));
    return carry_memory(worker, part, stored->share_memory, NULL); /* the values had all clocks, so this has them, too */
}

/* Visits the prefetches that the unit has begun and not taken. */
static void remember_prefetches(hw_stored *stored, hawser_record *record)
{
    uint32_t waiting = stored->waiting;
    hawser_record_bytes(record, &waiting, sizeof waiting);
    for (uint32_t k = 0; k < waiting && k < READS; k++) {
        prefetch *slot = &stored->prefetches[(stored->oldest + k) % (READS + 1)];
        uint64_t bytes = slot->bytes;
        void *values = slot->values;
        hawser_record_bytes(record, &bytes, sizeof bytes);
        hawser_record_array(record, &values, 1, bytes, 0);
        if (!hawser_record_reads(record))
            continue;
        *slot = (prefetch){.values = values, .bytes = bytes, .byte_capacity = bytes};
        atomic_store_explicit(&slot->task.ended, true, memory_order_relaxed);
        stored->waiting = k + 1;
    }
}

void hw_stored_remember(hw_state_part *part, hawser_record *record)
{
    hw_stored *stored = part->stored;
    hawser_record_bytes(record, &stored->turn, sizeof stored->turn);
    hawser_record_bytes(record, &stored->ended, sizeof stored->ended);
    hawser_record_bytes(record, &stored->returned, sizeof stored->returned);
    if (part->work != NULL)
        hawser_record_bytes(record, part->work, part->count * hw_state_size(part->state));
    hawser_record_array(record, &stored->share, 1, stored->owned ? 0 : part->count * hw_state_size(part->state), 0);
    hawser_record_array(record, &stored->share_memory, 1, memory_bytes(part), 0);
    remember_prefetches(stored, record);
    if (!hawser_record_reads(record))
        return;
    /* The servers that are filled next have seen no read of an iteration that has not ended. */
    stored->read = stored->prefetched = stored->ended;
    for (uint32_t b = 0; b < stored->blocks; b++)
        stored->chunk_read[b] = stored->ended;
}

/* Sets the share on the servers as the write of an iteration. */
static hawser_status put_share(hw_worker *worker, hw_state_part *part, uint64_t iteration, const void *values)
{
    hw_chunk_task *task = &part->stored->copying;
    uint64_t number;
    hawser_request request = begin_task(worker, part, task);
    request.iteration = iteration;
    request.first = part->begin;
    request.last = part->begin + part->count - 1;
    request.count = part->count;
    request.values = values;
    if (part->stored->ordered) /* which waits until all blocks have read the iterations before */
        HAWSER_TRY(hawser_push(worker->session->store, &request, &number, &worker->error));
    else
        HAWSER_TRY(hw_store_put_task(worker->session->store, &request, &number, &worker->error));
    return wait_for(worker, task);
}

hawser_status hw_stored_restore(hw_worker *worker, hw_state_part *part)
{
    hw_stored *stored = part->stored;
    hawser_store *store = worker->session->store;
    if (store == NULL || stored->ended == 0)
        return HAWSER_OK;
    uint64_t last = stored->ended - 1;
    if (stored->ordered || stored->summed)
        HAWSER_TRY(hawser_store_clock(store, stored->table, worker->mailbox.runner, last, 0, hw_state_count(part->state) - 1,
                                      &worker->error));
    const void *values = stored->owned ? part->work : stored->share;
    hawser_status status = values != NULL && part->count > 0 ? put_share(worker, part, last, values) : HAWSER_OK;
    if (stored->share_memory != NULL)
        HAWSER_THEN(status, carry_memory(worker, part, NULL, stored->share_memory));
    drop_share(stored);
    return status;
}
