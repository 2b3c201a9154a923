/* memory.c - estimates the memory of a plan on the node with the most blocks: data, replicas, updates in flight, what units
 * declare, and copies of checkpoints; and the bytes of a checkpoint. */

#include "base/memory.h"
#include "base/layout.h"
#include "data/residence.h"
#include "data/share/blocks.h"
#include "exchange/reduction.h"
#include "program/kind.h"
#include "program/position.h"

uint64_t hw_plan_blocks_of_a_node(const hw_plan_settings *settings)
{
    uint64_t nodes = settings->nodes > 1 ? settings->nodes : 1;
    return (settings->blocks + nodes - 1) / nodes;
}

uint64_t hw_plan_fetched(const hw_plan *plan, const hawser_matrix *A)
{
    const uint64_t others = A->stored - A->stored / plan->settings.nodes;
    uint64_t most = 0;
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next) {
        if (state->matrix == NULL || state->matrix->values != A->values)
            continue;
        bool fetches = state->split == HAWSER_FETCHED;
        uint64_t entries = fetches && state->expected != 0 && state->expected < others ? state->expected : others;
        if ((fetches || plan->states[state->number].fetched != 0) && entries > most)
            most = entries;
    }
    return most;
}

/* Returns the columns in messages of a node that fetches them: those that it has requested, and replies to all other
 * nodes. */
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

/* Several states may be views of one matrix, which counts once. If nodes have shares of it, each still has offsets and
 * owners of all columns. */
static uint64_t data_bytes(const hw_plan *plan, const hawser_state *state)
{
    const hawser_matrix *A = state->matrix;
    uint64_t entry = hw_type_size(A->type) + (hw_is_dense(A) ? 0 : sizeof *A->indices);
    uint64_t lines = hw_lines(A), bytes = A->stored * entry;
    for (const hawser_state *other = plan->program->states; other != state; other = other->next)
        if (other->matrix != NULL && (other->matrix == A || other->matrix->values == A->values))
            return 0;
    if (A->residence != NULL && A->residence->rows != NULL)
        return bytes_of_rows(A, entry);
    if (A->residence != NULL) {
        uint64_t fetched = hw_plan_fetched(plan, A) * entry;
        bytes = bytes / plan->settings.nodes + fetched + in_replies(plan, fetched) + lines * (sizeof(uint32_t) + 1);
    }
    return bytes + (hw_is_dense(A) ? 0 : lines * sizeof *A->offsets);
}

/* Returns the bytes of the copies that a node's blocks have of a split data state which a unit transforms: values, and
 * offsets if it is sparse. */
static uint64_t transformed_bytes(const hw_plan *plan, const hawser_state *state)
{
    const hawser_matrix *A = state->matrix;
    if (!hw_state_is_split(state) || !hw_operator_updates(plan->program->root, state))
        return 0;
    uint64_t here = hw_plan_blocks_of_a_node(&plan->settings), largest = 0;
    for (uint32_t b = 0; b < plan->settings.blocks; b++)
        if (plan->states[state->number].stored[b] > largest)
            largest = plan->states[state->number].stored[b];
    uint64_t stored = here * largest < A->stored ? here * largest : A->stored;
    return stored * hw_type_size(A->type) + (hw_is_dense(A) ? 0 : hw_lines(A) * sizeof *A->offsets);
}

uint32_t hw_plan_chunk_buffers(uint32_t chunks, uint64_t largest)
{
    enum { LEAST = 2 };
    uint64_t ahead = largest > 0 && HW_CHUNK_WINDOW / largest > LEAST ? HW_CHUNK_WINDOW / largest : LEAST;
    return chunks <= ahead ? chunks : (uint32_t)ahead + 1;
}

uint64_t hw_plan_largest_share(const hw_plan *plan, const hawser_state *state)
{
    uint64_t largest = 0;
    for (uint32_t b = 0; b < plan->settings.blocks; b++) {
        size_t begin, end;
        hw_plan_range(plan, state, b, &begin, &end);
        largest = end - begin > largest ? end - begin : largest;
    }
    return largest;
}

/* Returns the memory of a block's buffers for chunks: those of the states of one loop or unit, which are freed when it
 * ends. */
static uint64_t of_chunks(const hw_plan *plan)
{
    uint64_t most = 0;
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *op = plan->program->operators[i];
        uint64_t sum = 0;
        if (op->kind != HW_UNIT && (op->kind != HW_LOOP || !hw_operator_shipped(op)))
            continue;
        for (const hawser_state *state = plan->program->states; state != NULL; state = state->next) {
            /* A unit that only updates a state which all blocks change reads none of it. */
            bool updates = state->function == NULL && hw_operator_updates(op, state);
            if (!hw_kind_of(state)->served || (!hw_operator_reads(op, state) && !updates))
                continue;
            uint64_t chunk = hw_plan_largest_share(plan, state) * hw_state_size(state);
            uint32_t read = plan->settings.blocks - (state->function == NULL); /* a block does not read its own share */
            sum += hw_plan_chunk_buffers(read, chunk) * chunk;
        }
        if (op->kind == HW_LOOP && op->sync.tightness == HAWSER_DELAY) /* those of the next clock, too */
            sum *= 2;
        most = sum > most ? sum : most;
    }
    return most;
}

/* Returns what a node has of a result that it fetches whole. On one node the parts of the blocks are moved together, each of
 * which is freed then; a single part is the whole. Over nodes the shares stay for other nodes, and messages are in memory
 * that this node receives and those that it sends to each other. */
uint64_t hw_plan_whole_result(const hw_plan *plan, uint64_t all, uint64_t here, uint64_t part)
{
    uint64_t nodes = plan->settings.nodes, window = all - here < HW_RESULT_WINDOW ? all - here : HW_RESULT_WINDOW;
    return nodes > 1 ? all + here + nodes * window : plan->settings.blocks > 1 ? all + part : all;
}

/* Returns the memory of all states when it is largest: in one of the phases, or when the result is gathered. A rebuild may
 * use every state. */
static uint64_t of_states(const hw_plan *plan, const hw_state_memory *memory)
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
            bool lasting = hw_kind_of(state)->lasting, used = life->first != UINT32_MAX;
            bool early = lasting || plan->states[state->number].loaded != NULL;
            bool begun = used && (early || hw_plan_position(plan, program->operators[life->first]) <= at);
            bool over = used && !lasting && !rebuilt && life->end <= at;
            now += over ? memory[state->number].kept : begun ? memory[state->number].live : 0;
        }
        most = now > most ? now : most;
    }
    return most;
}

/* Returns what late updates may take in addition: in one loop, of all states that it updates. */
static uint64_t of_late(const hw_plan *plan, const hw_state_memory *memory)
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

/* Returns the memory of reductions: shares of two at a time, and with several nodes also a sum, the shares of other nodes,
 * and the results that are kept in a clock. */
static uint64_t of_reductions(const hw_plan *plan)
{
    size_t numbers, clock;
    hw_operator_expects(plan->program->root, &numbers, &clock);
    uint64_t bytes = numbers * sizeof(double), here = hw_plan_blocks_of_a_node(&plan->settings),
             nodes = plan->settings.nodes;
    if (nodes <= 1)
        return 2 * here * bytes;
    uint64_t results = clock > HW_REDUCTION_KEPT / sizeof(double) / here ? HW_REDUCTION_KEPT : clock * sizeof(double) * here;
    return results + 2 * here * bytes + (2 * (nodes - 1) + here) * bytes;
}

/* ------------------------------------------------------------------------------------------------------ checkpoints ---- */

enum {
    PART = 640,                       /* the header of a file, and the checksum */
    BLOCK = 64,                       /* of a block's record: its counts, and the head of its scratch */
    STATE = 64,                       /* of a state in it: which lines it has, and flags */
    POINT = 16 + 16 * HW_METRICS_MOST /* of a kept point in the position: when it was kept, and the metrics then */
};

hw_state_record hw_kind_record_shares(const hw_plan *plan, const hawser_state *state, uint64_t times)
{
    const uint64_t size = hw_state_size(state) * times;
    return (hw_state_record){.blocks = hw_plan_count(plan, state) * size,
                             .largest = hw_plan_largest_share(plan, state) * size};
}

static bool has_loop(const hawser_program *program)
{
    for (size_t i = 0; i < program->operator_count; i++)
        if (program->operators[i]->kind == HW_LOOP)
            return true;
    return false;
}

static uint64_t in_position(const hw_plan *plan)
{
    const hawser_program *program = plan->program;
    uint64_t frame = sizeof(hw_path_frame) + sizeof(hawser_sync) + (1 + (uint64_t)plan->settings.blocks) * sizeof(double);
    uint64_t bytes = sizeof(hw_position) + program->state_count * 3 * sizeof(double) + program->operator_count * frame;
    return bytes + (uint64_t)hw_plan_points(plan) * POINT;
}

/* Returns the bytes of a split data state that units have changed, in all blocks, and in the largest. */
static hw_state_record record_of_changed(const hw_plan *plan, const hawser_state *state)
{
    const hawser_matrix *A = state->matrix;
    const hw_state_plan *own = &plan->states[state->number];
    const uint64_t entry = hw_type_size(A->type) + (hw_is_dense(A) ? 0 : sizeof *A->indices);
    hw_state_record record = {0};
    for (uint32_t b = 0; b < plan->settings.blocks; b++) {
        uint64_t lines = hw_is_dense(A) ? 0 : (own->bounds[b + 1] - own->bounds[b] + 1) * sizeof *A->offsets;
        uint64_t bytes = own->stored[b] * entry + lines;
        record.blocks += bytes;
        record.largest = bytes > record.largest ? bytes : record.largest;
    }
    record.copies = record.largest;
    return record;
}

static hw_state_record record_of(const hw_plan *plan, const hawser_state *state)
{
    const hw_kind *kind = hw_kind_of(state);
    if (kind->recorded != NULL)
        return kind->recorded(plan, &plan->states[state->number]);
    if (state->matrix != NULL && hw_state_is_split(state) && hw_operator_updates(plan->program->root, state))
        return record_of_changed(plan, state);
    return (hw_state_record){0};
}

/* Sets checkpoint_bytes, and returns the memory of the copies on the node that has the most. What tests remember
 * (hawser_tests_record) is not counted, nor are chunks that a unit has requested and not taken. If a program does not say
 * how much of what its units expect besides their scratch is recorded, all of it is counted, but once, although a record
 * is made of a copy: ready algorithms that do not say so record half of it (measured). */
static uint64_t of_checkpoints(hw_plan *plan)
{
    const hawser_program *program = plan->program;
    const uint64_t blocks = plan->settings.blocks, states = program->state_count;
    plan->checkpoint_bytes = 0;
    if (!plan->settings.checkpoints || !has_loop(program))
        return 0;
    const bool known = program->record_known, visited = program->scratch_visit != NULL;
    const uint64_t scratch = visited ? program->scratch_bytes : 0,
                   recorded = known && visited ? program->expected_record : 0,
                   beside = known || !visited ? recorded : program->expected_block;
    uint64_t largest = BLOCK + scratch + beside + states * STATE, copies = scratch + recorded,
             all = blocks * (largest - beside) + (known && visited ? program->expected_records : blocks * beside),
             once = known                            ? program->expected_once
                    : program->process_visit != NULL ? program->expected_node
                                                     : 0;
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        const hw_state_record record = record_of(plan, state);
        all += record.blocks;
        largest += record.largest;
        copies += record.copies;
        once += record.once;
    }
    plan->checkpoint_bytes = all + once + in_position(plan) + (blocks + 2) * PART;
    return (largest + copies) * hw_plan_blocks_of_a_node(&plan->settings) + once;
}

/* -------------------------------------------------------------------------------------------------------- the whole ---- */

static uint64_t of_data(hw_plan *plan)
{
    plan->memory_data = plan->memory_mapped = 0;
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next)
        if (state->matrix != NULL)
            *(state->matrix->mapped ? &plan->memory_mapped : &plan->memory_data) += data_bytes(plan, state);
    uint64_t copies = 0;
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next)
        copies += state->matrix != NULL ? transformed_bytes(plan, state) : 0;
    return plan->memory_data + copies;
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
        THREAD = 1 << 19,     /* a thread's stack, and freed memory that the C library keeps for it */
        LINK = 100 << 10,     /* buffers of a link */
        MESSAGES = 412 << 10, /* of a link; more links than FULL are not full at once */
        FULL = 8,
        PROCESS = 1 << 21, /* memory that no data set makes larger */
        LARGE = 1 << 25    /* the C library maps each larger array apart, so that freed ones leave no holes */
    };
    const hawser_program *program = plan->program;
    uint64_t here = hw_plan_blocks_of_a_node(&plan->settings);
    hw_state_memory *memory = NULL;
    bool large = false;
    HAWSER_TRY(HW_NEW(&memory, program->state_count, "an estimate of memory", error));
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        if (hw_kind_of(state)->memory != NULL)
            memory[state->number] = hw_kind_of(state)->memory(plan, &plan->states[state->number]);
        large = large || (state->expected == 0 && hw_state_bytes(state) > LARGE);
    }
    uint64_t *parts = plan->memory_parts;
    parts[HW_MEMORY_UNITS] = (program->scratch_bytes + program->expected_block) * here + program->expected_node;
    parts[HW_MEMORY_THREADS] = plan->settings.blocks > 1 ? here * THREAD : 0;
    parts[HW_MEMORY_REDUCTIONS] = of_reductions(plan);
    parts[HW_MEMORY_CHUNKS] = of_chunks(plan) * here;
    parts[HW_MEMORY_PROCESS] = PROCESS;
    const uint64_t links = plan->settings.nodes > 1 ? plan->settings.nodes - 1 : 0;
    parts[HW_MEMORY_LINKS] = links * LINK + (links < FULL ? links : FULL) * MESSAGES;
    parts[HW_MEMORY_STATES] = of_states(plan, memory);
    parts[HW_MEMORY_DATA] = parts[HW_MEMORY_FIRST_VALUES] = parts[HW_MEMORY_HOLES] = parts[HW_MEMORY_LOAD] = 0;
    parts[HW_MEMORY_CHECKPOINTS] = 0;
    /* Holes between other allocations. With several nodes not all of the updates that are counted are in flight at once. */
    parts[HW_MEMORY_HOLES] = plan->settings.nodes <= 1 && !large ? sum(parts) / 16 : 0;
    parts[HW_MEMORY_DATA] = of_data(plan);
    parts[HW_MEMORY_FIRST_VALUES] = plan->memory_loaded;
    parts[HW_MEMORY_CHECKPOINTS] = of_checkpoints(plan);
    const uint64_t loaded = plan->settings.loaded + (plan->settings.loaded > 0 ? PROCESS : 0), run = sum(parts);
    parts[HW_MEMORY_LOAD] = loaded > run ? loaded - run : 0;
    plan->memory_needed = run + parts[HW_MEMORY_LOAD];
    plan->memory_late = of_late(plan, memory);
    free(memory);
    return HAWSER_OK;
}
