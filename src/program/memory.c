/* memory.c - estimates the memory of a plan on the node with the most blocks: data, replicas, updates in flight, and what units declare. */
#include <stdlib.h>

#include "base/bits.h"
#include "base/layout.h"
#include "base/memory.h"
#include "data/residence.h"
#include "data/share/blocks.h"
#include "exchange/reduction.h"
#include "program/plan.h"

static uint64_t blocks_of_a_node(const hw_plan_settings *settings)
{
    uint64_t nodes = settings->nodes > 1 ? settings->nodes : 1;
    return (settings->blocks + nodes - 1) / nodes;
}

uint64_t hw_plan_fetched(const hw_plan *plan, const hawser_matrix *A)
{
    const uint64_t others = A->stored - A->stored / plan->settings.nodes;
    uint64_t most = 0;
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next) {
        if (state->kind != HW_DATA || state->matrix->values != A->values)
            continue;
        bool fetches = state->split == HAWSER_FETCHED;
        uint64_t entries = fetches && state->expected != 0 && state->expected < others ? state->expected : others;
        if ((fetches || plan->states[state->number].fetched != 0) && entries > most)
            most = entries;
    }
    return most;
}

/* Returns the columns in messages of a node that fetches them: those that it has requested, and replies to all other nodes. */
static uint64_t in_replies(const hw_plan *plan, uint64_t bytes)
{
    return plan->settings.nodes * (bytes < HW_FETCH_BYTES ? bytes : (uint64_t)HW_FETCH_BYTES);
}

/* Returns the bytes of the rows of the node that has the most. */
static uint64_t bytes_of_rows(const hawser_matrix *A, uint64_t entry)
{
    const struct hw_row_blocks *rows = A->residence->rows;
    uint64_t most = 0;
    for (uint32_t node = 0; node < rows->view.nodes; node++) {
        uint64_t bytes = 0;
        uint32_t end = rows->view.blocks;
        for (uint32_t b = hw_view_next(&rows->view, node, 0); b < end; b = hw_view_next(&rows->view, node, b + 1))
            bytes += rows->block[b].matrix.stored * entry +
                     (hw_is_dense(A) ? 0 : rows->block[b].matrix.rows * sizeof *A->offsets);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Several states may be views of one matrix, which counts once. If nodes have shares of it, each still has offsets and owners of all columns. */
static uint64_t data_bytes(const hw_plan *plan, const hawser_state *state)
{
    const hawser_matrix *A = state->matrix;
    uint64_t entry = hw_type_size(A->type) + (hw_is_dense(A) ? 0 : sizeof *A->indices);
    uint64_t lines = hw_lines(A), bytes = A->stored * entry;
    for (const hawser_state *other = plan->program->states; other != state; other = other->next)
        if (other->kind == HW_DATA && (other->matrix == A || other->matrix->values == A->values))
            return 0;
    if (A->residence != NULL && A->residence->rows != NULL)
        return bytes_of_rows(A, entry);
    if (A->residence != NULL) {
        uint64_t fetched = hw_plan_fetched(plan, A) * entry;
        bytes = bytes / plan->settings.nodes + fetched + in_replies(plan, fetched) + lines * (sizeof(uint32_t) + 1);
    }
    return bytes + (hw_is_dense(A) ? 0 : lines * sizeof *A->offsets);
}

/* The exchanges of each block whose updates may be in memory at one time, if updates arrive while a unit runs. */
typedef struct in_flight {
    bool loose;
    uint64_t usual, most;
} in_flight;

/* Updates are loose if they may arrive while a unit runs, so that a replica keeps a copy of its origin (replica.h). A block may begin a clock when
 * others are up to W - 1 clocks behind it, and before it has taken their next updates they may run to W - 1 clocks ahead of it, where W is
 * the credit window. Blocks give way to each other, so usually fewer are in flight (measured). */
static in_flight flights_of(const hw_plan *plan, const hawser_state *state)
{
    enum { USUAL = 3 };
    in_flight flights = {0};
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *loop = plan->program->operators[i];
        hw_policy policy = hw_policy_of(loop->sync);
        if (loop->kind != HW_LOOP || policy.kind == HW_POLICY_BSP || !hw_operator_shipped(loop) ||
            !hw_operator_updates(loop, state))
            continue;
        uint64_t window = hw_credit_window(policy), clocks = 2 * (window < UINT32_MAX ? window : UINT32_MAX) - 1;
        uint64_t each = hw_bits_set(hw_plan_use(plan, loop, state).updates);
        clocks = loop->until.clocks != 0 && loop->until.clocks < clocks ? loop->until.clocks : clocks;
        uint64_t usual = clocks < USUAL ? clocks : USUAL;
        flights.loose = true;
        flights.most = clocks * each > flights.most ? clocks * each : flights.most;
        flights.usual = usual * each > flights.usual ? usual * each : flights.usual;
    }
    return flights;
}

/* Returns the bytes of a node's replies to blocks of other nodes, which may be slow to receive them: a block has requested as much as its buffers of
 * chunks hold, and this node has its part of that. */
static uint64_t in_chunk_replies(const hw_plan_settings *settings, uint64_t chunk)
{
    uint64_t others = settings->blocks - blocks_of_a_node(settings);
    return others * hw_plan_chunk_buffers(settings->blocks - 1, chunk) * chunk / settings->nodes;
}

/* The memory of a state on a node: from the first phase that uses it to the last, and from then on, when only the values of the result are kept. */
typedef struct of_state {
    uint64_t live, kept, end; /* end: what gathering the result takes, besides other states */
    uint64_t late;            /* what more updates may take while blocks are apart */
} of_state;

uint32_t hw_plan_chunk_buffers(uint32_t chunks, uint64_t largest)
{
    enum { LEAST = 2 };
    uint64_t ahead = largest > 0 && HW_CHUNK_WINDOW / largest > LEAST ? HW_CHUNK_WINDOW / largest : LEAST;
    return chunks <= ahead ? chunks : (uint32_t)ahead + 1;
}

/* Returns the numbers of the largest share of a local or stored state. */
static uint64_t largest_share(const hw_plan *plan, const hawser_state *state)
{
    uint64_t largest = 0;
    for (uint32_t b = 0; b < plan->settings.blocks; b++) {
        size_t begin, end;
        hw_plan_range(plan, state, b, &begin, &end);
        largest = end - begin > largest ? end - begin : largest;
    }
    return largest;
}

/* Returns the memory of a block's buffers for chunks: those of the states of one loop or unit, which are freed when it ends. */
static uint64_t of_chunks(const hw_plan *plan)
{
    uint64_t most = 0;
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *operator= plan->program->operators[i];
        uint64_t sum = 0;
        if (operator->kind != HW_UNIT &&(operator->kind != HW_LOOP || !hw_operator_shipped(operator)))
            continue;
        for (const hawser_state *state = plan->program->states; state != NULL; state = state->next) {
            /* A unit that only updates a state which all blocks change reads none of it. */
            bool updates = state->function == NULL && hw_operator_updates(operator, state);
            if (state->kind != HW_STORED || (!hw_operator_reads(operator, state) && !updates))
                continue;
            uint64_t chunk = largest_share(plan, state) * hw_state_size(state);
            uint32_t read = plan->settings.blocks - (state->function == NULL); /* a block does not read its own share */
            sum += hw_plan_chunk_buffers(read, chunk) * chunk;
        }
        if (operator->kind == HW_LOOP && operator->sync.tightness == HAWSER_DELAY) /* those of the next clock, too */
            sum *= 2;
        most = sum > most ? sum : most;
    }
    return most;
}

/* Returns what a node has of a result that it fetches whole. On one node the parts of the blocks are moved together, each of which is freed then; a single
 * part is the whole. Over nodes the shares stay for other nodes, and messages are in memory that this node receives and those that it sends to each other. */
static uint64_t of_whole(const hw_plan *plan, uint64_t all, uint64_t here, uint64_t part)
{
    uint64_t nodes = plan->settings.nodes, window = all - here < HW_RESULT_WINDOW ? all - here : HW_RESULT_WINDOW;
    return nodes > 1 ? all + here + nodes * window : plan->settings.blocks > 1 ? all + part : all;
}

/* A tied state has a committed copy, and one of the beginning of a clock of several stages. The result of a node is the shares of its blocks, which they
 * have already. */
static of_state of_local(const hw_plan *plan, hw_state_plan *own)
{
    const hawser_state *state = own->state;
    uint64_t size = hw_state_size(state), all = hw_plan_count(plan, state) * size, part = largest_share(plan, state) * size;
    uint64_t here = part * blocks_of_a_node(&plan->settings);
    here = here < all ? here : all;
    uint64_t copies = state->tied_to == NULL ? 1 : hw_plan_exchanges(plan, state->tied_to) > 1 ? 3 : 2;
    own->block_bytes = part * copies;
    return (of_state){.live = here * copies, .kept = here, .end = state->whole ? of_whole(plan, all, here, part) : here};
}

/* Of a stored state whose shares have one writer, a node has its share, the push of it, and on the servers the version that is read, the one that is written
 * and, with several blocks, one that a slow block still reads. Another function changes one table in place. The result of a node is its share, which
 * with one writer its blocks have already; other nodes send what they have of it. */
static of_state of_stored(const hw_plan *plan, hw_state_plan *own)
{
    enum { SHARE_AND_PUSH = 2, VERSIONS = 2 };
    uint64_t size = hw_state_size(own->state), all = hw_plan_count(plan, own->state) * size;
    uint64_t largest = largest_share(plan, own->state) * size, here = largest * blocks_of_a_node(&plan->settings);
    bool owned = own->state->function == NULL, several = plan->settings.nodes > 1;
    uint64_t copies = owned ? SHARE_AND_PUSH + VERSIONS + (plan->settings.blocks > 1) : 1;
    here = here < all ? here : all;
    own->block_bytes = largest * copies;
    uint64_t live = here * copies + (owned && several ? in_chunk_replies(&plan->settings, largest) : 0);
    if (owned && several && here > largest)
        live += largest; /* blocks of a node do not read all at the same time (measured) */
    uint64_t sent = here - here / plan->settings.nodes;
    uint64_t end = here * (owned ? 1 + VERSIONS : 2) + sent;
    uint64_t whole = own->state->whole ? of_whole(plan, all, here, largest) : 0;
    return (of_state){.live = live, .kept = live, .end = whole > end ? whole : end};
}

/* Returns the numbers in updates that a node has at once, if updates of so many exchanges of each block are in flight. All blocks of a process share one
 * buffer of an update. Over nodes a node also keeps the updates that it sends. */
static uint64_t in_loose_updates(const hw_plan *plan, uint64_t doubles, uint64_t exchanges, bool values)
{
    uint64_t blocks = plan->settings.blocks, here = blocks_of_a_node(&plan->settings);
    if (blocks <= 1)
        return 0;
    return values ? doubles * exchanges : doubles * (blocks * exchanges + (blocks > here ? here : 0));
}

/* Returns the numbers in updates of other nodes that a node has at once in a clock under bsp, and in sums that it makes of updates. If updates
 * come packed, each block of the node unpacks them, which takes the numbers of about one more (measured). */
static uint64_t in_sums(const hw_plan *plan, uint64_t doubles)
{
    const hw_plan_settings *settings = &plan->settings;
    uint64_t nodes = settings->nodes, here = blocks_of_a_node(settings), depth = 0;
    if (!hw_adds_up(settings->adding, settings->nodes))
        return 0;
    while ((UINT64_C(1) << depth) < nodes)
        depth++;
    switch (settings->adding.kind) {
    case HW_ADDING_SPREAD:
        return doubles * (nodes - 1) + doubles * (here > 1 ? 7 : 2) / 2; /* a fast node's next one (measured) */
    case HW_ADDING_TREE: return doubles * (depth + 2 + (here > 1));
    case HW_ADDING_BLOCKS: return 2 * doubles * (here / 2); /* each second block has a sum and a message with it */
    case HW_ADDING_SERVERS: return doubles * ((nodes - 1) / settings->adding.servers + 3 + (here > 1));
    }
    return 0;
}

/* Returns the numbers in updates that a node has at once if blocks are in step. A block writes its update into the buffer of its last one, if all
 * blocks have taken that. If not all blocks compute at once, some have not, and the block has two buffers; else it may need the second now and then.
 * Along a tree of blocks one buffer suffices: the total arrives only after each block on the way has sent its sum. */
static uint64_t in_step_updates(const hw_plan *plan, uint64_t doubles, bool values)
{
    enum { EIGHTHS = 8, ONE_AND_AT_TIMES_TWO = 11, TWO = 16 };
    const hw_plan_settings *settings = &plan->settings;
    uint64_t here = blocks_of_a_node(settings);
    if (settings->blocks <= 1)
        return 0;
    bool tree = settings->adding.kind == HW_ADDING_BLOCKS && !values;
    uint64_t buffers = here == 1 || tree ? EIGHTHS : here > settings->threads ? TWO : ONE_AND_AT_TIMES_TWO;
    if (values) /* and the next values of the fastest node */
        return doubles * buffers / EIGHTHS + (settings->nodes > 1 ? doubles / settings->nodes : 0);
    return here * doubles * buffers / EIGHTHS + in_sums(plan, doubles);
}

/* Returns the bytes by which updates of `more` exchanges of each block exceed the usual ones. */
static uint64_t in_late_updates(const hw_plan *plan, uint64_t bytes, uint64_t more, bool values)
{
    uint64_t blocks = plan->settings.blocks;
    const double most = 0x1p56, all = (double)bytes * (double)more * (values ? 1.0 : (double)blocks);
    return blocks <= 1 ? 0 : all < most ? (uint64_t)all : (uint64_t)most;
}

/* A replicated or partitioned state has base and cache of each block, held updates or a separate origin, and updates in flight. The first block's base is
 * the result. */
static of_state of_replicas(const hw_plan *plan, hw_state_plan *own)
{
    enum { FILTERED = 4, ROUNDED = 2 };
    const hawser_state *state = own->state;
    uint64_t doubles = hw_state_count(state), blocks = plan->settings.blocks, size = hw_state_size(state);
    doubles = state->expected != 0 && state->expected < doubles ? state->expected : doubles;
    const in_flight flights = flights_of(plan, state);
    bool values = state->kind == HW_PARTITIONED || own->sources == 1;
    uint64_t copies = 2 + (flights.loose && blocks > 1) + (own->filter.kind != HW_FILTER_NONE ? FILTERED : 0) +
                      (own->rounding != HW_F64 ? ROUNDED : 0);
    own->block_bytes = copies * doubles * size;
    uint64_t sent =
        flights.loose ? in_loose_updates(plan, doubles, flights.usual, values) : in_step_updates(plan, doubles, values);
    uint64_t live = own->block_bytes * blocks_of_a_node(&plan->settings) + sent * size;
    uint64_t late = in_late_updates(plan, doubles * size, flights.most - flights.usual, values);
    return (of_state){.live = live, .kept = doubles * size, .end = doubles * size, .late = late};
}

static of_state of_one(const hw_plan *plan, hw_state_plan *own)
{
    switch (own->state->kind) {
    case HW_DATA: break;
    case HW_LOCAL: return of_local(plan, own);
    case HW_STORED: return of_stored(plan, own);
    case HW_REPLICATED:
    case HW_PARTITIONED: return of_replicas(plan, own);
    }
    return (of_state){0};
}

/* Returns the memory of all states when it is largest: in one of the phases, or when the result is gathered. A rebuild may use every state. */
static uint64_t of_states(const hw_plan *plan, const of_state *memory)
{
    const hawser_program *program = plan->program;
    uint64_t most = 0;
    bool rebuilt = false;
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        most += memory[state->number].end;
        rebuilt = rebuilt || state->rebuild != NULL;
    }
    for (uint32_t at = 0; at < program->operator_count; at++) {
        uint64_t now = 0;
        for (const hawser_state *state = program->states; state != NULL; state = state->next) {
            const hw_life *life = &plan->states[state->number].life;
            bool stored = state->kind == HW_STORED, used = life->first != UINT32_MAX;
            bool early = stored || plan->states[state->number].loaded != NULL;
            bool begun = used && (early || hw_plan_position(plan, program->operators[life->first]) <= at);
            bool over = used && !stored && !rebuilt && life->end <= at;
            now += over ? memory[state->number].kept : begun ? memory[state->number].live : 0;
        }
        most = now > most ? now : most;
    }
    return most;
}

/* Returns what late updates may take in addition: in one loop, of all states that it updates. */
static uint64_t of_late(const hw_plan *plan, const of_state *memory)
{
    uint64_t most = 0;
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *loop = plan->program->operators[i];
        uint64_t sum = 0;
        if (loop->kind != HW_LOOP || !hw_operator_shipped(loop) || loop->sync.tightness == HAWSER_BSP)
            continue;
        for (const hawser_state *state = plan->program->states; state != NULL; state = state->next)
            sum += hw_operator_updates(loop, state) ? memory[state->number].late : 0;
        most = sum > most ? sum : most;
    }
    return most;
}

/* Returns the memory of reductions: shares of two at a time, and with several nodes also a sum, the shares of other nodes, and the results that are
 * kept in a clock. */
static uint64_t of_reductions(const hw_plan *plan)
{
    size_t numbers, clock;
    hw_operator_expects(plan->program->root, &numbers, &clock);
    uint64_t bytes = numbers * sizeof(double), here = blocks_of_a_node(&plan->settings), nodes = plan->settings.nodes;
    if (nodes <= 1)
        return 2 * here * bytes;
    uint64_t results = clock > HW_REDUCTION_KEPT / sizeof(double) / here ? HW_REDUCTION_KEPT : clock * sizeof(double) * here;
    return results + 2 * here * bytes + (2 * (nodes - 1) + here) * bytes;
}

static uint64_t of_data(hw_plan *plan)
{
    plan->memory_data = plan->memory_mapped = 0;
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next)
        if (state->kind == HW_DATA)
            *(state->matrix->mapped ? &plan->memory_mapped : &plan->memory_data) += data_bytes(plan, state);
    return plan->memory_data;
}

static uint64_t sum(const uint64_t parts[HW_MEMORY_PARTS])
{
    uint64_t all = 0;
    for (int part = 0; part < HW_MEMORY_PARTS; part++)
        all += parts[part];
    return all;
}

hawser_status hw_plan_memory(hw_plan *plan, hawser_error *error)
{
    enum {
        THREAD = 1 << 19,  /* a thread's stack, and freed memory that the C library keeps for it */
        LINK = 1 << 19,    /* messages of a link */
        PROCESS = 1 << 21, /* memory that no data set makes larger */
        LARGE = 1 << 25    /* the C library maps each larger array apart, so that freed ones leave no holes */
    };
    const hawser_program *program = plan->program;
    uint64_t here = blocks_of_a_node(&plan->settings);
    of_state *memory = NULL;
    bool large = false;
    HAWSER_TRY(HW_NEW(&memory, program->state_count, "an estimate of memory", error));
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        memory[state->number] = of_one(plan, &plan->states[state->number]);
        large = large || (state->kind != HW_DATA && state->expected == 0 && hw_state_bytes(state) > LARGE);
    }
    uint64_t *parts = plan->memory_parts;
    parts[HW_MEMORY_UNITS] = (program->scratch_bytes + program->expected_block) * here + program->expected_node;
    parts[HW_MEMORY_THREADS] = plan->settings.blocks > 1 ? here * THREAD : 0;
    parts[HW_MEMORY_REDUCTIONS] = of_reductions(plan);
    parts[HW_MEMORY_CHUNKS] = of_chunks(plan) * here;
    parts[HW_MEMORY_PROCESS] = PROCESS;
    parts[HW_MEMORY_LINKS] = plan->settings.nodes > 1 ? (plan->settings.nodes - 1) * (uint64_t)LINK : 0;
    parts[HW_MEMORY_STATES] = of_states(plan, memory);
    parts[HW_MEMORY_DATA] = parts[HW_MEMORY_FIRST_VALUES] = parts[HW_MEMORY_HOLES] = parts[HW_MEMORY_LOAD] = 0;
    /* Holes between other allocations. With several nodes not all of the updates that are counted are in flight at once. */
    parts[HW_MEMORY_HOLES] = plan->settings.nodes <= 1 && !large ? sum(parts) / 16 : 0;
    parts[HW_MEMORY_DATA] = of_data(plan);
    parts[HW_MEMORY_FIRST_VALUES] = plan->memory_loaded;
    const uint64_t loaded = plan->settings.loaded + (plan->settings.loaded > 0 ? PROCESS : 0), run = sum(parts);
    parts[HW_MEMORY_LOAD] = loaded > run ? loaded - run : 0;
    plan->memory_needed = run + parts[HW_MEMORY_LOAD];
    plan->memory_late = of_late(plan, memory);
    free(memory);
    return HAWSER_OK;
}
