/* memory.c - estimates the memory of a plan on the node with the most blocks: data, replicas, updates in flight, and what units declare. */
#include "base/bits.h"
#include "base/layout.h"
#include "data/residence.h"
#include "data/share/blocks.h"
#include "exchange/reduction.h"
#include "program/plan.h"

static uint64_t blocks_of_a_node(const hw_plan_settings *settings)
{
    uint64_t nodes = settings->nodes > 1 ? settings->nodes : 1;
    return (settings->blocks + nodes - 1) / nodes;
}

/* Returns whether every node fetches all columns of a matrix, because a state over it is whole. */
static bool is_fetched(const hw_plan *plan, const hawser_matrix *A)
{
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next)
        if (state->kind == HW_DATA && state->matrix->values == A->values && plan->states[state->number].fetched != 0)
            return true;
    return false;
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
    if (A->residence != NULL)
        bytes = (is_fetched(plan, A) ? bytes + in_replies(plan, bytes) : bytes / plan->settings.nodes) +
                lines * (sizeof(uint32_t) + 1);
    return bytes + (hw_is_dense(A) ? 0 : lines * sizeof *A->offsets);
}

/* Returns true if updates may arrive while a unit runs, so that a replica keeps a copy of its origin (replica.h). *flights is the number of clocks
 * whose updates may be in flight: those by which blocks differ, the current one, and within a process one that the slowest block has yet to take. */
static bool is_loose(const hw_plan *plan, const hawser_state *state, uint64_t *flights)
{
    bool loose = false;
    uint64_t more = plan->settings.nodes > 1 ? 1 : 2;
    *flights = 1;
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *loop = plan->program->operators[i];
        if (loop->kind != HW_LOOP || !hw_operator_shipped(loop) || !hw_operator_updates(loop, state))
            continue;
        hw_policy policy = hw_policy_of(loop->sync);
        uint64_t each = hw_bits_set(hw_plan_use(plan, loop, state).updates), late = policy.staleness * each + more;
        loose |= policy.kind != HW_POLICY_BSP;
        *flights = policy.kind == HW_POLICY_SSP && late > *flights ? late : *flights;
    }
    return loose;
}

/* Returns the numbers of a stored state in messages of a node: replies to all blocks of other nodes, which read this node's part of the state and
 * may be slow to receive it, and the whole state once from and once to other nodes. */
static uint64_t in_flight(const hw_plan *plan, uint64_t doubles)
{
    uint64_t others = plan->settings.blocks - blocks_of_a_node(&plan->settings);
    return others * (doubles / plan->settings.nodes + 1) + 2 * doubles;
}

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
            if (state->kind != HW_STORED || (!hw_operator_reads(operator, state) && !hw_operator_updates(operator, state)))
                continue;
            uint64_t chunk = largest_share(plan, state) * hw_state_size(state);
            sum += hw_plan_chunk_buffers(plan->settings.blocks, chunk) * chunk;
        }
        if (operator->kind == HW_LOOP && operator->sync.tightness == HAWSER_DELAY) /* those of the next clock, too */
            sum *= 2;
        most = sum > most ? sum : most;
    }
    return most;
}

/* Adds the memory of a local or stored state. A stored state has two more copies: the servers' and the one in flight to them. */
static void of_shares(hw_plan *plan, hw_state_plan *own)
{
    uint64_t doubles = hw_plan_count(plan, own->state), here = blocks_of_a_node(&plan->settings);
    uint64_t largest = largest_share(plan, own->state);
    uint64_t copies = own->state->kind == HW_STORED ? 3 : own->state->tied_to != NULL ? 2 : 1;
    uint64_t size = hw_state_size(own->state);
    own->block_bytes = largest * size * copies;
    plan->memory_needed += (largest * here < doubles ? largest * here : doubles) * size * copies;
    if (own->state->kind != HW_STORED)
        return;
    if (plan->settings.nodes > 1)
        plan->memory_needed += in_flight(plan, doubles) * size;
}

/* Returns the numbers in updates that a node has at once. All blocks of a process share one buffer of an update. Half as much again is in the holes
 * that freed updates leave. If clocks differ, the node also keeps the updates that it sends, for each clock and link. */
static uint64_t of_updates(const hw_plan *plan, uint64_t doubles, uint64_t flights, bool loose, bool values)
{
    uint64_t blocks = plan->settings.blocks, here = blocks_of_a_node(&plan->settings), links = plan->settings.nodes - 1;
    uint64_t one = blocks > 1 ? doubles * flights : 0, updates = loose ? one * blocks : one * here;
    if (values)
        return one;
    return updates + updates / 2 + (blocks > here ? one * (links + (loose ? here : 0)) : 0);
}

/* Adds the memory of a replicated or partitioned state: base and cache of each block, held updates or a separate origin, and updates in flight. */
static void of_replicas(hw_plan *plan, hw_state_plan *own)
{
    enum { FILTERED = 4, ROUNDED = 2 };
    const hawser_state *state = own->state;
    uint64_t doubles = hw_state_count(state), blocks = plan->settings.blocks, flights;
    doubles = state->expected != 0 && state->expected < doubles ? state->expected : doubles;
    bool loose = is_loose(plan, state, &flights), values = state->kind == HW_PARTITIONED || own->sources == 1;
    uint64_t copies = 2 + (loose && blocks > 1) + (own->filter.kind != HW_FILTER_NONE ? FILTERED : 0) +
                      (own->rounding != HW_F64 ? ROUNDED : 0);
    own->block_bytes = copies * doubles * hw_state_size(state);
    uint64_t sent = of_updates(plan, doubles, flights, loose, values);
    plan->memory_needed += own->block_bytes * blocks_of_a_node(&plan->settings);
    plan->memory_needed += (sent + doubles) * hw_state_size(state); /* and the result */
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

void hw_plan_memory(hw_plan *plan)
{
    enum {
        THREAD = 1 << 19, /* a thread's stack, and freed memory that the C library keeps for it */
        LINK = 1 << 19,   /* messages of a link */
        PROCESS = 1 << 21 /* memory that no data set makes larger */
    };
    const hawser_program *program = plan->program;
    uint64_t here = blocks_of_a_node(&plan->settings);
    plan->memory_data = plan->memory_mapped = 0;
    plan->memory_needed = (program->scratch_bytes + program->expected_block) * here + program->expected_node;
    plan->memory_needed += plan->settings.blocks > 1 ? here * THREAD : 0;
    plan->memory_needed += of_reductions(plan) + of_chunks(plan) * here + PROCESS;
    plan->memory_needed += plan->settings.nodes > 1 ? (plan->settings.nodes - 1) * (uint64_t)LINK : 0;
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        hw_state_plan *own = &plan->states[state->number];
        if (state->kind == HW_DATA)
            *(state->matrix->mapped ? &plan->memory_mapped : &plan->memory_data) += data_bytes(plan, state);
        else if (state->kind == HW_LOCAL || state->kind == HW_STORED)
            of_shares(plan, own);
        else
            of_replicas(plan, own);
    }
    /* Holes between other allocations. With several nodes not all of the updates that are counted are in flight at once. */
    plan->memory_needed += plan->settings.nodes <= 1 ? plan->memory_needed / 16 : 0;
    plan->memory_needed += plan->memory_data + plan->memory_loaded;
}
