/* kind_data.c - data states: a matrix that all units may read, whole or in parts of rows or columns. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/layout.h"
#include "base/memory.h"
#include "data/residence.h"
#include "data/share/balance.h"
#include "data/share/blocks.h"
#include "linalg/sound.h"
#include "program/kind.h"

#define REFUSE(...) return hawser_fail(error, HAWSER_BAD_PROGRAM, __VA_ARGS__)

static const char *const fields[] = {"data", "matrix", "split", "costs", "expect", NULL};

static hawser_state *add(hawser_program *program, const hawser_state_spec *spec, size_t cols)
{
    (void)cols;
    const hawser_matrix *matrix = spec->data != NULL ? hawser_dataset_matrix(spec->data) : spec->matrix;
    hawser_state *state = hw_state_new(program, spec->name, HW_DATA);
    if (state == NULL)
        return NULL;
    state->dataset = spec->data;
    state->matrix = matrix;
    state->split = spec->split;
    if (matrix == NULL) {
        static const hawser_matrix none;
        state->matrix = &none;
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "data state '%s' has no matrix", spec->name);
    } else if (hw_matrix_wrong(matrix) != NULL)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "data state '%s': its matrix %s", spec->name,
                           hw_matrix_wrong(matrix));
    else if ((unsigned)spec->split > HAWSER_FETCHED)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "data state '%s': there is no split %d", spec->name,
                           (int)spec->split);
    else if (spec->split == HAWSER_BY_COLUMN && hw_is_by_row(matrix))
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "data state '%s' is split by column, but its matrix is stored by rows (%s)", spec->name,
                           matrix->layout == HAWSER_CSR ? "CSR" : "HAWSER_DENSE_ROWS");
    else if (spec->split == HAWSER_BY_ROW && matrix->layout == HAWSER_CSC)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "data state '%s' is split by row, but its matrix is stored by columns (CSC)", spec->name);
    if (spec->costs != NULL && !hw_state_is_split(state))
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "state '%s' has costs of columns or rows, but is no split data state", spec->name);
    else
        state->costs = spec->costs;
    return state;
}

static size_t count(const hawser_state *state)
{
    (void)state;
    return 0;
}

/* ------------------------------------------------------------------------------------------------------- checks ---- */

static hawser_status check_one(const hawser_operator *unit, const hawser_state *state, hawser_error *error)
{
    REFUSE("unit '%s' runs on one block, so it cannot transform every part of data state '%s'", unit->name, state->name);
}

static bool inside_loop(const hawser_operator *op)
{
    for (const hawser_operator *above = op->parent; above != NULL; above = above->parent)
        if (above->kind == HW_LOOP)
            return true;
    return false;
}

/* A data state may be the output of one unit outside of loops. Readers before it have the data that were given. */
static hawser_status check(const hw_plan *plan, const hawser_state *state, hawser_error *error)
{
    const hawser_operator *writer = NULL;
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *op = plan->program->operators[plan->order[i]];
        if (op->kind != HW_UNIT || !hw_unit_updates(op, state))
            continue;
        if (writer != NULL)
            REFUSE("units '%s' and '%s' both transform data state '%s'; one may", writer->name, op->name, state->name);
        if (inside_loop(op))
            REFUSE("unit '%s' transforms data state '%s' inside a loop; data changes once, outside of loops", op->name,
                   state->name);
        writer = op;
    }
    return HAWSER_OK;
}

/* ---------------------------------------------------------------------------------------------------- splitting ---- */

/* Returns the data state that decides where `state` is cut: of those over the same columns (or rows), the one with the most
 * stored entries. */
static const hawser_state *leader(const hawser_state *state)
{
    const hawser_state *best = state;
    for (const hawser_state *other = state->program->states; other != NULL; other = other->next)
        if (hw_state_is_split(other) && other->split == state->split && hw_state_extent(other) == hw_state_extent(state) &&
            (other->matrix->stored > best->matrix->stored ||
             (other->matrix->stored == best->matrix->stored && other->number < best->number)))
            best = other;
    return best;
}

/* Counts what nodes fetch of a whole state whose columns hawser_job_load has distributed. */
static void count_fetched(const hw_plan *plan, hw_state_plan *own)
{
    const struct hawser_residence *residence = own->state->matrix->residence;
    for (uint32_t node = 0; residence != NULL && node < plan->settings.nodes; node++) {
        uint64_t bytes = hw_foreign_bytes(residence, node);
        own->fetched = bytes > own->fetched ? bytes : own->fetched;
        own->fetched_all += bytes;
    }
}

/* Refuses a data state that is split in another way than hawser_job_load has distributed its matrix. */
static hawser_status check_load(const hw_plan *plan, const hawser_state *state, const hawser_state *first,
                                hawser_error *error)
{
    const struct hw_row_blocks *rows = hw_state_rows_held(state);
    if (state->matrix->residence == NULL)
        return HAWSER_OK;
    if (rows == NULL)
        return state->split != HAWSER_BY_ROW
                   ? HAWSER_OK
                   : hawser_fail(
                         error, HAWSER_BAD_PROGRAM,
                         "data state '%s' is split by row, but hawser_job_load has given each of the %u nodes the "
                         "columns of its own blocks; load the input with .split = HAWSER_BY_ROW (hawser_load, hawser_app), "
                         "or split the state by column",
                         state->name, plan->settings.nodes);
    if (state->split != HAWSER_BY_ROW)
        return hawser_fail(error, HAWSER_BAD_PROGRAM,
                           "data state '%s' is %s, but hawser_job_load has given each of the %u nodes the rows of its own "
                           "blocks (hawser_load.split = HAWSER_BY_ROW); split the state by row, or load the input with "
                           "HAWSER_BY_COLUMN",
                           state->name,
                           state->split == HAWSER_BY_COLUMN ? "split by column"
                           : state->split == HAWSER_FETCHED ? "of columns that units fetch (HAWSER_FETCHED)"
                                                            : "whole (HAWSER_WHOLE)",
                           plan->settings.nodes);
    if (rows->view.blocks != plan->settings.blocks || rows->view.nodes != plan->settings.nodes)
        return hawser_fail(
            error, HAWSER_BAD_PROGRAM,
            "data state '%s' was loaded for %u workers on %u nodes, but the job has %u on %u; load the input in "
            "the job that uses it",
            state->name, rows->view.blocks, rows->view.nodes, plan->settings.blocks, plan->settings.nodes);
    if (first->costs != NULL)
        return hawser_fail(
            error, HAWSER_BAD_PROGRAM,
            "data state '%s' has costs (hawser_data_costs), but the rows of '%s' were cut when they were read, "
            "without them; leave the costs out",
            first->name, state->name);
    return HAWSER_OK;
}

/* Refuses rows that were cut in another way than the blocks are. */
static hawser_status check_cut(const hawser_state *state, const hawser_state *first, const size_t *bounds, uint32_t blocks,
                               hawser_error *error)
{
    for (uint32_t b = 0; b <= blocks; b++)
        if (hw_state_rows_held(state)->bounds[b] != bounds[b])
            return hawser_fail(error, HAWSER_BAD_PROGRAM,
                               "data state '%s' is cut at row %zu, but data state '%s', which has more entries in the same "
                               "rows, at row %zu; join both in one input, or make a program for each",
                               state->name, hw_state_rows_held(state)->bounds[b], first->name, bounds[b]);
    return HAWSER_OK;
}

static hawser_status split(hw_plan *plan, hw_state_plan *own, hawser_error *error)
{
    const hawser_state *state = own->state, *first = leader(state);
    uint32_t blocks = plan->settings.blocks;
    HAWSER_TRY(check_load(plan, state, first, error));
    HAWSER_TRY(check_load(plan, first, first, error)); /* before its cut is used */
    if (state->split == HAWSER_WHOLE)
        count_fetched(plan, own);
    HAWSER_TRY(HW_NEW(&own->stored, blocks, "a plan's shares", error));
    if (hw_state_is_split(state)) {
        HAWSER_TRY(HW_NEW(&own->bounds, blocks + 1, "a plan's bounds", error));
        own->costs = plan->settings.nodes <= 1 ? first->costs : NULL;
        if (hw_state_rows_held(first) != NULL)
            memcpy(own->bounds, hw_state_rows_held(first)->bounds, (blocks + 1) * sizeof *own->bounds);
        else if (own->costs != NULL)
            hw_balance_costs(first->matrix, own->costs, blocks, own->bounds);
        else if (state->split == HAWSER_BY_ROW && hw_is_dense(first->matrix))
            hw_balance_even(first->matrix->rows, blocks, own->bounds);
        else
            hawser_balance(first->matrix, blocks, own->bounds);
    }
    if (hw_state_rows_held(state) != NULL)
        HAWSER_TRY(check_cut(state, first, own->bounds, blocks, error));
    for (uint32_t b = 0; b < blocks; b++) {
        hawser_matrix part = hw_plan_part(plan, state, b);
        own->stored[b] = part.stored;
        uint64_t entry = hw_type_size(part.type) + (hw_is_dense(&part) ? 0 : 4);
        if (part.stored * entry > own->block_bytes)
            own->block_bytes = part.stored * entry;
    }
    return HAWSER_OK;
}

/* ----------------------------------------------------------------------------------------------------- printing ---- */

static const char *const layouts[] = {"dense", "CSC", "CSR", "dense rows"};

static void print(const hawser_state *state, FILE *out)
{
    const hawser_matrix *A = state->matrix;
    fprintf(out, "data %zu x %zu %s %s, %" PRIu64 " stored, %s", A->rows, A->cols, layouts[A->layout],
            A->type == HAWSER_F32 ? "f32" : "f64", A->stored, hw_split_name(state->split));
}

/* Prints how blocks come to see all of a data state. */
static void print_unsplit(const hw_plan *plan, const hw_state_plan *own, const char *newline, FILE *out)
{
    if (own->state->split == HAWSER_FETCHED && own->state->matrix->residence != NULL)
        fprintf(out,
                "%seach node has the columns of its own blocks, and others once units have fetched them; memory is reserved "
                "for %" PRIu64 " of their entries",
                newline, hw_plan_fetched(plan, own->state->matrix));
    else
        fprintf(out, "%sread whole by every block, one copy in memory%s", newline,
                plan->settings.nodes > 1 ? " per node" : "");
    if (own->fetched_all != 0)
        fprintf(out,
                "%sbefore the first unit that reads it, a node fetches at most %" PRIu64
                " bytes from other nodes, all nodes %" PRIu64,
                newline, own->fetched, own->fetched_all);
}

static void print_shares(const hw_plan *plan, const hw_state_plan *own, const char *newline, FILE *out)
{
    uint64_t most = 0, total = 0;
    for (uint32_t b = 0; b < plan->settings.blocks; b++) {
        total += own->stored[b];
        most = own->stored[b] > most ? own->stored[b] : most;
    }
    if (own->bounds == NULL) {
        print_unsplit(plan, own, newline, out);
        return;
    }
    fprintf(out,
            "%sviews without copies; largest share / mean = %.3f because entries, and %d more for each %s, are balanced%s",
            newline, total != 0 ? (double)most * plan->settings.blocks / (double)total : 1.0, HW_LINE_COST,
            own->state->split == HAWSER_BY_ROW ? "row" : "column",
            own->costs != NULL ? ", with the costs that the program adds to lines" : "");
    const struct hawser_residence *residence = own->state->matrix->residence;
    if (residence != NULL && residence->rows != NULL && residence->rows->owned)
        fprintf(out, "%scut within the rows that each node has: %s; no second source to read rows again", newline,
                plan->settings.nodes > 1 ? "bits depend on the nodes" : "one node has all");
    else if (residence != NULL && residence->rows != NULL && residence->rows->lent)
        fprintf(out, "%sfrom the memory of the nodes: no second source to read rows again", newline);
    for (uint32_t b = 0; b < plan->settings.blocks; b++)
        fprintf(out, "%s  block %" PRIu32 ": %zu to %zu, %" PRIu64 " stored", newline, b, own->bounds[b], own->bounds[b + 1],
                own->stored[b]);
}

static void add_json(const hw_plan *plan, const hw_state_plan *own, json_t *object, bool *ok)
{
    const hawser_matrix *A = own->state->matrix;
    hw_json_count(object, "rows", A->rows, ok);
    hw_json_count(object, "columns", A->cols, ok);
    hw_json_text(object, "type", A->type == HAWSER_F32 ? "f32" : "f64", ok);
    hw_json_text(object, "layout", layouts[A->layout], ok);
    hw_json_count(object, "stored", A->stored, ok);
    hw_json_text(object, "split", hw_split_name(own->state->split), ok);
    hw_json_count(object, "fetched_bytes", own->fetched, ok);
    hw_json_count(object, "fetched_bytes_all", own->fetched_all, ok);
    if (own->state->split == HAWSER_FETCHED)
        hw_json_count(object, "reserved_entries", A->residence != NULL ? hw_plan_fetched(plan, A) : 0, ok);
    if (own->bounds == NULL)
        return;
    json_t *shares = json_array();
    for (uint32_t b = 0; b < plan->settings.blocks; b++) {
        json_t *share = json_object();
        hw_json_count(share, "begin", own->bounds[b], ok);
        hw_json_count(share, "end", own->bounds[b + 1], ok);
        hw_json_count(share, "stored", own->stored[b], ok);
        hw_json_append(shares, share, ok);
    }
    hw_json_take(object, "shares", shares, ok);
}

const hw_kind hw_kind_data = {.name = "data",
                              .fields = fields,
                              .add = add,
                              .count = count,
                              .check_one = check_one,
                              .check = check,
                              .split = split,
                              .print = print,
                              .print_shares = print_shares,
                              .add_json = add_json};
