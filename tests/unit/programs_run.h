/* programs_run.h - makes a drawn program's data, states and units, and runs it in a job. */
#ifndef HW_TESTS_UNIT_PROGRAMS_RUN_H
#define HW_TESTS_UNIT_PROGRAMS_RUN_H

#include <stdlib.h>

#include "hawser/cocoa.h"
#include "hawser/job_data.h"
#include "hawser/moving.h"
#include "nodes.h"
#include "programs_oracle.h"

/* -------------------------------------------------------------------------------------------------------- the input ---- */

/* The arrays of a matrix, and the dataset if there is one. */
typedef struct input {
    double doubles[CELLS];
    float floats[CELLS];
    uint64_t offsets[ROWS + COLS + 1];
    uint32_t indices[CELLS];
    double targets[ROWS];
    hawser_matrix arrays;
    const hawser_matrix *matrix;
    hawser_dataset *dataset;
} input;

static void fill_arrays(const drawn *d, input *in)
{
    bool by_rows = d->layout == HAWSER_CSR || d->layout == HAWSER_DENSE_ROWS;
    size_t lines = by_rows ? d->rows : d->cols, width = by_rows ? d->cols : d->rows, stored = 0;
    for (size_t line = 0; line < lines; line++) {
        in->offsets[line] = stored;
        for (size_t k = 0; k < width; k++) {
            size_t i = by_rows ? line : k, j = by_rows ? k : line;
            if (is_sparse(d) && !is_stored(d, i, j))
                continue;
            in->indices[stored] = (uint32_t)k;
            in->doubles[stored] = cell_of(d, i, j);
            in->floats[stored] = (float)in->doubles[stored];
            stored++;
        }
    }
    in->offsets[lines] = stored;
    in->arrays = (hawser_matrix){.rows = d->rows, .cols = d->cols, .stored = stored, .layout = d->layout, .type = d->type};
    in->arrays.values = d->type == HAWSER_F32 ? (const void *)in->floats : in->doubles;
    in->arrays.offsets = is_sparse(d) ? in->offsets : NULL;
    in->arrays.indices = is_sparse(d) ? in->indices : NULL;
    in->arrays.stride = is_sparse(d) ? 0 : width;
}

static void name_file(const drawn *d, char *path, size_t size)
{
    static const char *const ends[] = {"", "", "svm", "csv", "npy"};
    (void)snprintf(path, size, "%zux%zu-%u%s.%s", d->rows, d->cols, d->density, d->entries.by_value ? "-counts" : "",
                   ends[d->source]);
}

/* Writes the file of an input. The first column is the target. */
static void write_file(const drawn *d)
{
    char path[40];
    name_file(d, path, sizeof path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    if (d->source == NPY) {
        char head[118];
        int used = snprintf(head, sizeof head, "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu, %zu), }", d->rows,
                            d->cols + 1);
        fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
        fprintf(file, "%s%*s\n", head, 117 - used, "");
    }
    if (d->source == CSV)
        for (size_t j = 0; j <= d->cols; j++)
            fprintf(file, j == 0 ? "y" : ",c%zu", j);
    for (size_t i = 0; i < d->rows; i++) {
        double target = target_of(i);
        if (d->source == NPY)
            fwrite(&target, sizeof target, 1, file);
        else
            fprintf(file, "%s%g", d->source == CSV ? "\n" : i == 0 ? "" : "\n", target);
        for (size_t j = 0; j < d->cols; j++) {
            double cell = cell_of(d, i, j);
            if (d->source == NPY)
                fwrite(&cell, sizeof cell, 1, file);
            else if (d->source == CSV)
                fprintf(file, ",%g", cell);
            else if (is_stored(d, i, j))
                fprintf(file, " %zu:%g", j + 1, cell);
        }
    }
    if (d->source != NPY)
        fputc('\n', file);
    assert_int_equal(fclose(file), 0);
}

static hawser_status open_input(const drawn *d, input *in, hawser_job *job, hawser_error *error)
{
    memset(in, 0, sizeof *in);
    if (d->source >= SVMLIGHT) {
        char path[40];
        const char *paths[] = {path};
        const hawser_load load = {.split = d->load, .type = d->type, .index_base = d->source == SVMLIGHT ? 2 : 0};
        name_file(d, path, sizeof path);
        HAWSER_TRY(hawser_job_load(job, paths, 1, &load, &in->dataset, error));
        in->matrix = hawser_dataset_matrix(in->dataset);
        return in->matrix->layout == d->layout && in->matrix->cols == d->cols
                   ? HAWSER_OK
                   : hawser_fail(error, HAWSER_INTERNAL, "loaded as %s", layout_names[in->matrix->layout]);
    }
    fill_arrays(d, in);
    in->matrix = &in->arrays;
    for (size_t i = 0; i < d->rows; i++)
        in->targets[i] = target_of(i);
    if (d->source == ARRAYS)
        return HAWSER_OK;
    HAWSER_TRY(hawser_dataset_from(&in->arrays, in->targets, &in->dataset, error));
    in->matrix = hawser_dataset_matrix(in->dataset);
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------------ units ---- */

/* What units have. What they changed is kept by block, since each block is on one node. */
struct drawn_scene;

/* The test of a branch or loop. */
typedef struct drawn_test {
    struct drawn_scene *scene;
    uint32_t number; /* of the operator */
} drawn_test;

typedef struct drawn_scene {
    drawn *d;
    drawn_test test[OPERATORS];
    uint64_t calls; /* of all tests, if they share it */
    input in;
    double (*made)[STATES][SIZE]; /* by block; NULL: it is not added up */
    double first[STATES][SIZE];   /* numbers of the state's type */
    double first_parts[NUMBERS], first_entries[ENTRIES];
} drawn_scene;

/* A block's scratch. */
typedef struct memory {
    double digest; /* computed again if it was dropped: 0 */
    uint64_t calls;
    const drawn_scene *scene; /* if what units changed is added up */
    uint32_t block;
    uint64_t runs[UNITS];
    double made[STATES][SIZE];
} memory;

/* Returns the scratch, which counts what units do: it goes back with a unit that is run again. */
static memory *memory_of(hawser_context *context)
{
    memory *m = hawser_scratch(context);
    m->scene = hawser_user(context);
    m->block = hawser_block(context);
    return m;
}

static double value_of(const hawser_matrix *A, uint64_t place)
{
    return A->type == HAWSER_F32 ? (double)((const float *)A->values)[place] : ((const double *)A->values)[place];
}

/* Returns the sum over a column, or over a row, of the numbers times the weights of rows, or of columns. */
static double line_of(const hawser_matrix *A, size_t line, bool rows)
{
    bool by_rows = A->layout == HAWSER_CSR || A->layout == HAWSER_DENSE_ROWS;
    double sum = 0;
    if (A->offsets != NULL) {
        for (uint64_t e = A->offsets[line]; e < A->offsets[line + 1]; e++)
            sum += value_of(A, e) * (rows ? column_weight(A->indices[e]) : row_weight(A->indices[e]));
        return sum;
    }
    for (size_t k = 0; k < (rows ? A->cols : A->rows); k++)
        sum += value_of(A, by_rows == rows ? line * A->stride + k : k * A->stride + line) *
               (rows ? column_weight(k) : row_weight(k));
    return sum;
}

/* Digests a view with the kernels of matrix.h. */
static double digest_by_kernels(const hawser_matrix *A, bool rows)
{
    double weights[ROWS + COLS], out[ROWS + COLS], digest = 0;
    for (size_t j = 0; j < A->cols; j++)
        weights[j] = column_weight(rows ? j : A->first + j);
    hawser_multiply(A, weights, 0, out);
    for (size_t i = 0; i < A->rows; i++)
        digest += out[i] * row_weight(rows ? A->first + i : i);
    return digest;
}

static hawser_status digest_fetched(hawser_context *context, const drawn_scene *scene, double *digest)
{
    const drawn *d = scene->d;
    uint32_t columns[COLS];
    size_t count = 0;
    *digest = 0;
    for (uint32_t j = 0; j < d->cols; j++)
        if (is_fetched(j, hawser_block(context), hawser_clock(context)))
            columns[count++] = j;
    HAWSER_TRY(hawser_data_fetch(context, "data", columns, count));
    const hawser_matrix *A;
    HAWSER_TRY(hawser_read(context, "data", &A));
    for (size_t k = 0; k < count && (A->layout == HAWSER_CSC || A->layout == HAWSER_DENSE); k++)
        *digest += line_of(A, columns[k], false) * column_weight(columns[k]);
    for (size_t i = 0; i < A->rows && A->layout == HAWSER_DENSE_ROWS; i++)
        for (size_t k = 0; k < count; k++)
            *digest += value_of(A, i * A->stride + columns[k]) * row_weight(i) * column_weight(columns[k]);
    for (size_t i = 0; i < A->rows && A->layout == HAWSER_CSR; i++)
        for (uint64_t e = A->offsets[i]; e < A->offsets[i + 1]; e++)
            if (is_fetched(A->indices[e], hawser_block(context), hawser_clock(context)))
                *digest += value_of(A, e) * row_weight(i) * column_weight(A->indices[e]);
    return HAWSER_OK;
}

/* Digests the data that the block sees. */
static hawser_status digest_view(hawser_context *context, const drawn_scene *scene, double *digest)
{
    const drawn *d = scene->d;
    if (d->split == HAWSER_FETCHED)
        return digest_fetched(context, scene, digest);
    const hawser_matrix *A;
    HAWSER_TRY(hawser_read(context, "data", &A));
    bool rows = d->split == HAWSER_BY_ROW || A->layout == HAWSER_CSR || A->layout == HAWSER_DENSE_ROWS;
    *digest = 0;
    if (hawser_clock(context) % 2 == 0)
        *digest = digest_by_kernels(A, rows);
    else
        for (size_t k = 0; k < (rows ? A->rows : A->cols); k++)
            *digest += line_of(A, k, rows) * (rows ? row_weight(A->first + k) : column_weight(A->first + k));
    if (d->split != HAWSER_BY_ROW || d->source == ARRAYS)
        return HAWSER_OK;
    hawser_beside beside;
    hawser_error error = {0};
    if (hawser_dataset_beside(scene->in.dataset, A->first, A->rows, &beside, &error) != HAWSER_OK)
        return hawser_unit_fail(context, HAWSER_BAD_INPUT, "%s", error.text);
    for (size_t i = 0; i < A->rows; i++)
        *digest += beside.target[i] * row_weight(A->first + i);
    return HAWSER_OK;
}

/* Returns how many updates of a state a block makes in these runs of units in a clock. */
static uint32_t updates_of(const drawn *d, uint32_t s, uint32_t block, uint64_t clock, const drawn_step *steps, uint32_t end)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < end; i++) {
        const drawn_unit *unit = &d->unit[d->op[steps[i].op].unit];
        if (runs_in(d, steps[i].op, clock))
            count += unit->updates[s] && (!unit->one || block == place_of(d, steps[i].op));
    }
    return count;
}

/* Returns by how many clocks a unit may be late: its own sync, or an inner loop's bsp, may allow less than the loop's. */
static uint64_t slack_of_unit(const drawn *d, uint32_t operator_number)
{
    const drawn_unit *unit = &d->unit[d->op[operator_number].unit];
    uint64_t slack = unit->strict ? slack_of(unit->sync) : UINT32_MAX;
    for (int loop = loop_around(d, (int)operator_number); loop >= 0; loop = loop_around(d, loop))
        slack = slack_of(d->op[loop].sync) < slack ? slack_of(d->op[loop].sync) : slack;
    return slack;
}

/* Compares the updates that a unit of the loop sees, which entry 0 counts, with what it has to see: all of its own, and of
 * another block those of the runs of units before it in clock t - s and of all clocks before. Fibers run one at a time, so
 * all may write into the program. */
static void check_seen(hawser_context *context, drawn *d, uint32_t number, uint32_t s, double seen)
{
    drawn_step steps[STEPS];
    uint32_t count = steps_below(d, 0, 0, steps, 0), at = 0, turns = 0;
    for (uint32_t i = 0; i < count; i++)
        turns += d->op[steps[i].op].unit == number;
    while (d->op[steps[at].op].unit != number)
        at++;
    uint64_t run = memory_of(context)->runs[number] - 1,
             clock = 0; /* the clock of the loop, after `run` runs in this clock: */
    for (; !runs_in(d, steps[at].op, clock) || run >= turns; clock++)
        run -= runs_in(d, steps[at].op, clock) ? turns : 0;
    while (d->op[steps[at].op].unit != number || steps[at].turn != run)
        at++;
    uint64_t slack = slack_of_unit(d, steps[at].op), late = clock > slack ? clock - slack : 0, least = 0, every = 0;
    for (uint32_t b = 0; b < d->blocks; b++) {
        uint64_t from = b == hawser_block(context) ? clock : late, each = 0;
        bool begun = clock >= slack || b == hawser_block(context);
        for (uint64_t before = 0; before < from; before++) {
            uint64_t made = updates_of(d, s, b, before, steps, count);
            each = made > each ? made : each;
            least += made;
        }
        least += begun ? updates_of(d, s, b, from, steps, at) : 0;
        every = b != hawser_block(context) && each > every ? each : every;
    }
    if (seen < (double)least)
        d->early = true;
    if (seen == (double)least && every > 1 && clock > slack)
        d->reached = true;
}

/* Returns whether every block makes every clock of the loop: under TAP, blocks that have not begun a clock when a test ends
 * the loop pass it without work. */
static bool counts_clocks(const drawn_operator *loop)
{
    return loop->sync.tightness == HAWSER_SSP || (loop->sync.tightness == HAWSER_TAP && !loop->tested);
}

static size_t size_of(hawser_type type)
{
    return type == HAWSER_F64 || type == HAWSER_I64 ? 8 : 4;
}

static void from_double(hawser_type type, double value, void *values, size_t i)
{
    if (type == HAWSER_F64)
        ((double *)values)[i] = value;
    else if (type == HAWSER_F32)
        ((float *)values)[i] = (float)value;
    else if (type == HAWSER_I64)
        ((int64_t *)values)[i] = (int64_t)value;
    else
        ((int32_t *)values)[i] = (int32_t)value;
}

static double to_double(hawser_type type, const void *values, size_t i)
{
    double value;
    to_doubles(type, (const char *)values + i * size_of(type), 1, &value);
    return value;
}

/* Return the numbers of a state to read and to change. NULL: the unit has failed. */
static const void *read_of(hawser_context *context, hawser_type type, const char *name)
{
    const void *numbers = NULL;
    return hawser_read_as(context, name, type, &numbers) == HAWSER_OK ? numbers : NULL;
}

static void *write_of(hawser_context *context, hawser_type type, const char *name)
{
    void *numbers = NULL;
    return hawser_write_as(context, name, type, &numbers) == HAWSER_OK ? numbers : NULL;
}

static void *line_at(hawser_context *context, hawser_type type, const char *name, size_t line)
{
    void *numbers = NULL;
    return hawser_line_as(context, name, line, type, true, &numbers) == HAWSER_OK ? numbers : NULL;
}

/* Increases one entry of a state. */
static hawser_status increase(hawser_context *context, hawser_type type, const char *name, uint64_t key, double change)
{
    union {
        double f64;
        float f32;
        int64_t i64;
        int32_t i32;
    } number;
    from_double(type, change, &number, 0);
    return hawser_inc_as(context, name, &key, type, &number, 1);
}

/* Mixes numbers of a state of any type. */
static uint64_t mix_typed(uint64_t hash, hawser_type type, const void *values, size_t count)
{
    double copies[SIZE];
    to_doubles(type, values, count, copies);
    return mix(hash, copies, count);
}

/* Mixes the chunks of a stored state in the order of their blocks, in whatever order they come. */
static hawser_status mix_chunks(hawser_context *context, hawser_type type, const char *name, uint64_t *hash)
{
    double copies[BLOCKS][SIZE]; /* a chunk is there until the next one */
    hawser_chunk chunks[BLOCKS] = {{0}}, chunk;
    for (;;) {
        HAWSER_TRY(hawser_next_chunk(context, name, &chunk));
        if (chunk.block == UINT32_MAX)
            break;
        if (chunk.block >= BLOCKS || chunks[chunk.block].count != 0)
            return hawser_unit_fail(context, HAWSER_INTERNAL, "chunk %u came twice", chunk.block);
        chunks[chunk.block] = chunk;
        to_doubles(type, chunk.values, chunk.count, copies[chunk.block]);
    }
    for (uint32_t b = 0; b < BLOCKS; b++)
        *hash = mix(*hash, copies[b], chunks[b].count);
    return HAWSER_OK;
}

/* Mixes a stored state to which blocks add, if none does so meanwhile. */
static hawser_status mix_added(hawser_context *context, const drawn *d, const drawn_unit *unit, uint32_t s, uint64_t *hash)
{
    const char name[2] = {(char)('a' + s), 0};
    uint64_t keys[SIZE];
    size_t count = d->state[s].count, half = *hash % 2 == 0 ? count / 2 : 0;
    const void *values;
    if (!unit->reads[s])
        return HAWSER_OK;
    for (size_t i = half; i < count; i++)
        keys[i] = i;
    if (half > 0) /* a range, and keys while it is under way */
        HAWSER_TRY(hawser_prefetch(context, name, NULL, 0, half));
    HAWSER_TRY(hawser_prefetch(context, name, keys + half, 0, count - half));
    if (half > 0) {
        HAWSER_TRY(hawser_prefetch_wait_as(context, name, d->state[s].type, &values));
        *hash = unit->unsure[s] ? *hash : mix_typed(*hash, d->state[s].type, values, half);
    }
    HAWSER_TRY(hawser_prefetch_wait_as(context, name, d->state[s].type, &values));
    *hash = unit->unsure[s] ? *hash : mix_typed(*hash, d->state[s].type, values, count - half);
    return HAWSER_OK;
}

/* Mixes what the unit reads into its hash. */
static hawser_status mix_states(hawser_context *context, drawn *d, uint32_t number, uint64_t *hash)
{
    const drawn_unit *unit = &d->unit[number];
    char name[2] = "a";
    for (uint32_t s = 0; s < d->states; s++, name[0]++) {
        kind k = d->state[s].kind;
        if (!unit->reads[s] && !unit->updates[s])
            continue;
        if (k == ADDED) {
            HAWSER_TRY(mix_added(context, d, unit, s, hash));
            continue;
        }
        if (k == STORED && unit->reads[s]) {
            HAWSER_TRY(mix_chunks(context, d->state[s].type, name, hash));
            continue;
        }
        bool own = k == LOCAL || (k >= PARTITIONED && !unit->reads[s]);
        hawser_type type = d->state[s].type;
        const void *values = own && k != LOCAL ? write_of(context, type, name) : read_of(context, type, name);
        if (d->counts && k == REPLICATED && counts_clocks(&d->op[0]))
            check_seen(context, d, number, s, to_double(type, values, 0));
        *hash = mix_typed(*hash, type, values, own ? hawser_part(context, name, NULL) : d->state[s].count);
    }
    return HAWSER_OK;
}

/* Changes entries [from, to) of a replicated state. */
static hawser_status add_range(hawser_context *context, const drawn_scene *scene, const drawn_unit *unit, uint32_t s,
                               way how, uint64_t hash, size_t from, size_t to)
{
    const drawn *d = scene->d;
    const char name[2] = {(char)('a' + s), 0};
    hawser_type type = d->state[s].type;
    void *cache = how == INCREASED ? NULL : write_of(context, type, name);
    double gain = gain_of(d, unit, s), damping = damping_of(d, unit, s);
    if (d->state[s].kind == ADDED)
        gain = damping = 1;
    else if (hawser_gain(context, name) != gain || hawser_damping(context, name) != damping)
        return hawser_unit_fail(context, HAWSER_INTERNAL, "gain %g and damping %g of state %s", hawser_gain(context, name),
                                hawser_damping(context, name), name);
    for (size_t i = from; i < to; i++) {
        double change = change_of(d, s, hash, i);
        if (how == INCREASED && change != 0)
            HAWSER_TRY(increase(context, type, name, i, change));
        else if (how != INCREASED)
            from_double(type, to_double(type, cache, i) + change, cache, i);
        if (scene->made == NULL)
            continue;
        double *made = &memory_of(context)->made[s][i];
        *made = combined(&d->state[s], *made, damping * (how == INCREASED ? change : change / gain));
    }
    return how == TOUCHED && from < to ? hawser_touch(context, name, from, to - from) : HAWSER_OK;
}

/* Sets the block's part of a state, as a whole or line by line. */
static hawser_status set_part(hawser_context *context, const drawn *d, uint32_t s, uint64_t hash)
{
    const char name[2] = {(char)('a' + s), 0};
    const drawn_state *state = &d->state[s];
    bool by_line = state->kind != STORED && hash % 2 == 0;
    size_t width = by_line ? state->line : hawser_part(context, name, NULL), first, place = 0;
    size_t lines = by_line ? hawser_part_lines(context, name, &first) : width > 0;
    if (by_line && lines * width != hawser_part(context, name, &place))
        return hawser_unit_fail(context, HAWSER_INTERNAL, "%zu lines of %zu numbers", lines, width);
    if (by_line && lines > 0 && first * width != place)
        return hawser_unit_fail(context, HAWSER_INTERNAL, "line %zu begins at %zu", first, place);
    for (size_t line = 0; line < lines; line++) {
        void *own = by_line ? line_at(context, state->type, name, line) : write_of(context, state->type, name);
        for (size_t i = 0; i < width; i++) {
            double before = to_double(state->type, own, i);
            from_double(state->type, value_after(d, s, before, hash, line * width + i), own, i);
        }
    }
    return HAWSER_OK;
}

static hawser_status update_state(hawser_context *context, const drawn_scene *scene, const drawn_unit *unit, uint32_t s,
                                  uint64_t hash)
{
    const drawn *d = scene->d;
    const char name[2] = {(char)('a' + s), 0};
    size_t count = d->state[s].count, half = unit->yields ? count / 2 : 0;
    if (d->state[s].kind == ADDED)
        return add_range(context, scene, unit, s, INCREASED, hash, 0, count);
    if (d->state[s].kind > DERIVED) {
        HAWSER_TRY(set_part(context, d, s, hash));
    } else {
        HAWSER_TRY(add_range(context, scene, unit, s, unit->how[s], hash, 0, half));
        if (unit->yields && half > 0)
            HAWSER_TRY(s % 2 == 0 ? hawser_publish(context, name) : hawser_yield(context));
        HAWSER_TRY(add_range(context, scene, unit, s, unit->how[s], hash, half, count));
    }
    return unit->yields && d->state[s].kind < LOCAL ? hawser_yield(context) : HAWSER_OK;
}

/* Counts the calls of a block in its scratch, which may have been dropped and read back. */
static uint64_t count_call(hawser_context *context)
{
    memory *m = hawser_scratch(context);
    double own = hawser_block(context) + 1.0;
    if (m->digest != 0 && m->digest != own)
        return 0; /* another block's scratch */
    m->digest = own;
    return ++m->calls;
}

/* Returns whether the branches of the loop around a unit let it run in a clock. (The clock of an inner loop is another.) */
static bool may_run(const drawn *d, uint32_t number, uint64_t clock)
{
    uint32_t i = 0;
    while (d->op[i].kind != UNIT || d->op[i].unit != number)
        i++;
    return loop_around(d, (int)i) != 0 || runs_in(d, i, clock);
}

/* The parts of the moving state that a unit has got. */
typedef struct taken {
    hawser_moving_part part[PARTS];
    uint32_t count;
} taken;

/* Mixes the parts of the moving state that the block has, and the numbers of its entries. */
static hawser_status mix_more(hawser_context *context, const drawn *d, const drawn_unit *unit, taken *got, uint64_t *hash)
{
    const void *entries;
    got->count = 0;
    while (unit->moves) {
        hawser_moving_part *part = &got->part[got->count];
        HAWSER_TRY(hawser_next_part(context, "n", part));
        if (part->number == UINT32_MAX)
            break;
        if (++got->count == PARTS || block_of_part(d, part->number, hawser_clock(context)) != hawser_block(context))
            return hawser_unit_fail(context, HAWSER_INTERNAL, "part %u is not of this block", part->number);
        *hash = mix_typed(*hash + part->number, part->type, part->values, part->count);
    }
    if (!unit->counts_entries)
        return HAWSER_OK;
    HAWSER_TRY(hawser_read_as(context, "z", d->entries.type, (void *)&entries));
    *hash = mix_typed(*hash, d->entries.type, entries, hawser_part(context, "z", NULL));
    return HAWSER_OK;
}

static hawser_status update_more_states(hawser_context *context, const drawn *d, const drawn_unit *unit, const taken *got,
                                        uint64_t hash)
{
    void *entries;
    size_t first;
    for (uint32_t p = 0; unit->writes_parts && p < got->count; p++) {
        const hawser_moving_part *part = &got->part[p];
        for (size_t i = 0; i < part->count; i++)
            from_double(part->type,
                        number_after(d, part->type, to_double(part->type, part->values, i), hash, part->first + i),
                        part->values, i);
    }
    if (!unit->writes_entries)
        return HAWSER_OK;
    const hawser_type type = d->entries.type;
    HAWSER_TRY(hawser_write_as(context, "z", type, &entries));
    for (size_t i = 0, count = hawser_part(context, "z", &first); i < count; i++)
        from_double(type, number_after(d, type, to_double(type, entries, i), hash, first + i), entries, i);
    return HAWSER_OK;
}

/* Reads, reduces and reports, and returns the hash of it all. */
static hawser_status begin_unit(hawser_context *context, uint32_t number, taken *got, uint64_t *hash)
{
    const drawn_scene *scene = hawser_user(context);
    drawn *d = scene->d;
    const drawn_unit *unit = &d->unit[number];
    *hash = hash_of_call(number, hawser_block(context), hawser_clock(context));
    if (d->counts)
        memory_of(context)->runs[number]++;
    if (d->counts && !may_run(d, number, hawser_clock(context)))
        d->early = true;
    double digest, reduced[REDUCED_MOST];
    if (unit->data) {
        HAWSER_TRY(digest_view(context, scene, &digest));
        *hash = mix(*hash, &digest, 1);
    }
    if (unit->remembers)
        *hash += count_call(context);
    HAWSER_TRY(mix_states(context, d, number, hash));
    HAWSER_TRY(mix_more(context, d, unit, got, hash));
    if (unit->reduces) {
        size_t count = reduced_count(number);
        for (size_t i = 0; i < count; i++)
            reduced[i] = share_of(d, *hash, i);
        HAWSER_TRY(hawser_allreduce(context, reduced, count, combine_of(number)));
        *hash = mix(*hash, reduced, count);
    }
    return unit->reports ? hawser_report(context, "m", share_of(d, *hash, 5)) : HAWSER_OK;
}

/* Changes all that the unit may change, which is taken back before it is run again. */
static hawser_status spoil(hawser_context *context, uint32_t number)
{
    const drawn *d = ((const drawn_scene *)hawser_user(context))->d;
    const drawn_unit *unit = &d->unit[number];
    char name[2] = "a";
    for (uint32_t s = 0; s < d->states; s++, name[0]++) {
        kind k = d->state[s].kind;
        if (!unit->updates[s] || k == ADDED)
            continue;
        hawser_type type = d->state[s].type;
        void *own = write_of(context, type, name);
        for (size_t i = 0, count = k <= DERIVED ? 1 : hawser_part(context, name, NULL); i < count; i++)
            from_double(type, 1000, own, i);
    }
    if (unit->writes_entries) {
        void *entries = write_of(context, d->entries.type, "z");
        for (size_t i = 0, count = hawser_part(context, "z", NULL); i < count; i++)
            from_double(d->entries.type, 1000, entries, i);
    }
    if (unit->remembers)
        (void)count_call(context);
    HAWSER_TRY(hawser_report(context, "m", 1000));
    return HAWSER_VIEW_CHANGED;
}

/* A local solver of CoCoA: its steps follow from all that it sees. */
static hawser_status run_solver(hawser_context *context, hawser_subproblem *subproblem, uint32_t number)
{
    const drawn_scene *scene = hawser_user(context);
    const drawn *d = scene->d;
    uint32_t s = 0;
    uint64_t hash;
    taken got;
    HAWSER_TRY(begin_unit(context, number, &got, &hash));
    while (!d->unit[number].updates[s])
        s++;
    const char alpha[2] = {(char)('a' + d->state[s].product), 0};
    size_t first, count = hawser_part(context, alpha, &first);
    if (subproblem->coordinates != count || subproblem->first != first || subproblem->size != d->state[s].count ||
        subproblem->sigma != gain_of(d, &d->unit[number], s))
        return hawser_unit_fail(context, HAWSER_INTERNAL, "a subproblem of %zu coordinates from %zu on, with sigma' %g",
                                subproblem->coordinates, subproblem->first, subproblem->sigma);
    for (size_t k = 0; k < 2 * count; k++) {
        hawser_subproblem_step(subproblem, (hash + k) % count, step_of(d, hash));
        hash = mix(mix(hash, subproblem->alpha, count), subproblem->v, subproblem->size);
    }
    return HAWSER_OK;
}

static hawser_status run_unit(hawser_context *context, uint32_t number)
{
    const drawn_scene *scene = hawser_user(context);
    const drawn *d = scene->d;
    const drawn_unit *unit = &d->unit[number];
    uint64_t hash;
    taken got;
    HAWSER_TRY(begin_unit(context, number, &got, &hash));
    for (uint32_t s = 0; s < d->states; s++)
        if (unit->updates[s])
            HAWSER_TRY(update_state(context, scene, unit, s, hash));
    return update_more_states(context, d, unit, &got, hash);
}

#define NUMBERED(number)                                                                                                    \
    static hawser_status unit_##number(hawser_context *context)                                                             \
    {                                                                                                                       \
        hawser_status status = run_unit(context, number);                                                                   \
        return status == HAWSER_VIEW_CHANGED ? spoil(context, number) : status;                                             \
    }                                                                                                                       \
    static hawser_status solver_##number(hawser_context *context, hawser_subproblem *subproblem)                            \
    {                                                                                                                       \
        hawser_status status = run_solver(context, subproblem, number);                                                     \
        return status == HAWSER_VIEW_CHANGED ? spoil(context, number) : status;                                             \
    }
NUMBERED(0)
NUMBERED(1)
NUMBERED(2)
NUMBERED(3)
NUMBERED(4)
NUMBERED(5)
NUMBERED(6)
NUMBERED(7)
NUMBERED(8)
NUMBERED(9)
#undef NUMBERED

/* Adds the block's share of a derived state. */
static hawser_status rebuild(hawser_context *context, uint32_t s)
{
    const drawn_scene *scene = hawser_user(context);
    const drawn *d = scene->d;
    uint64_t hash = s + 1000 + 7 * hawser_block(context);
    char name[2] = "a", own[2] = {(char)('a' + s), 0};
    for (uint32_t other = 0; other < d->states; other++, name[0]++) {
        kind k = d->state[other].kind;
        if (k == DERIVED || k >= STORED)
            continue;
        hawser_type type = d->state[other].type;
        size_t first = 0, count = k == REPLICATED ? d->state[other].count : hawser_part(context, name, &first);
        const char *numbers = read_of(context, type, name); /* of a partitioned state, those of all blocks */
        hash = mix_typed(hash, type, numbers + (k == LOCAL ? 0 : first * size_of(type)), count);
    }
    hawser_type type = d->state[s].type;
    void *cache = write_of(context, type, own);
    for (size_t i = 0; i < d->state[s].count; i++)
        from_double(type, to_double(type, cache, i) + change_of(d, s, hash, i), cache, i);
    return HAWSER_OK;
}

#define NUMBERED(number)                                                                                                    \
    static hawser_status rebuild_##number(hawser_context *context)                                                          \
    {                                                                                                                       \
        return rebuild(context, number);                                                                                    \
    }
NUMBERED(0)
NUMBERED(1)
NUMBERED(2)
NUMBERED(3)
NUMBERED(4)
#undef NUMBERED

/* ---------------------------------------------------------------------------------------------------------- program ---- */

/* A test of a loop or branch: it counts its own calls and, if tests share this, those of all. Branches of a flat program
 * choose by the clock. */
static bool ask(hawser_progress *progress, void *user)
{
    const drawn_test *test = user;
    const drawn *d = test->scene->d;
    uint64_t *calls = hawser_progress_memory(progress);
    if (d->counts && d->op[test->number].kind == BRANCH)
        return chooses_first(d, test->number, (*calls)++);
    double all = d->shares ? calls_weight(++test->scene->calls) : 0;
    return metric_ends(hawser_progress_metric(progress, "m") + calls_weight(++*calls) + all);
}

static void visit_calls(hawser_record *record, void *object)
{
    hawser_record_bytes(record, object, sizeof(uint64_t));
}

static hawser_until until_of(drawn_scene *scene, uint32_t number)
{
    const drawn_operator *loop = &scene->d->op[number];
    if (!loop->tested)
        return (hawser_until){.clocks = loop->clocks};
    return (hawser_until){.clocks = loop->clocks, .test = ask, .user = &scene->test[number], .remembers = sizeof(uint64_t)};
}

static hawser_operator *add_branch(drawn_scene *scene, uint32_t number, hawser_operator *parent, const char *name)
{
    hawser_operator *branch = hawser_branch(parent, name, ask, &scene->test[number]);
    hawser_branch_remembers(branch, sizeof(uint64_t));
    return branch;
}

/* What nobody has changed stays: a unit on one block may have written it past its bounds, and whether a call covers it is
 * not said. */
static void merge_within_bounds(const hawser_merging *merging)
{
    for (size_t i = 0; i < merging->count; i++)
        if (merging->sum[i] != 0)
            merging->state[i] = bounded(merging->state[i] + merging->sum[i], merging->first + i);
}

static void visit_memory(hawser_record *record, hawser_context *context)
{
    memory *m = hawser_scratch(context);
    const drawn_scene *scene = hawser_user(context);
    hawser_record_bytes(record, &m->calls, sizeof m->calls);
    hawser_record_bytes(record, m->runs, sizeof m->runs);
    for (uint32_t s = 0; scene->made != NULL && s < scene->d->states; s++)
        hawser_record_bytes(record, memory_of(context)->made[s], scene->d->state[s].count * sizeof(double));
}

static void release_memory(void *scratch)
{
    const memory *m = scratch;
    if (m->scene != NULL && m->scene->made != NULL)
        memcpy(m->scene->made[m->block], m->made, sizeof m->made);
}

/* Returns the first values of a state; NULL: it has none. */
static const void *first_values(drawn_scene *scene, uint32_t s)
{
    const drawn_state *state = &scene->d->state[s];
    size_t count = state->count + (state->parts > scene->d->blocks ? state->line : 0);
    for (size_t i = 0; i < count; i++)
        from_double(state->type, first_value(scene->d, s, i), scene->first[s], i);
    return state->begins ? scene->first[s] : NULL;
}

/* Sets the size of a state of which blocks have lines. Numbers of which `width` belong to a line of the data are as many
 * lines. */
static void set_lines(hawser_state_spec *spec, const drawn_state *state, hawser_state *data)
{
    size_t line = state->matrix ? state->line : state->width > 0 ? state->width : 1, lines = state->count / line;
    spec->by_column = state->matrix && state->by == HAWSER_BY_COLUMN;
    spec->rows = spec->by_column ? line : lines;
    spec->cols = spec->by_column ? lines : line;
    spec->along = state->width > 0 ? data : NULL;
}

static hawser_state *add_state(drawn_scene *scene, uint32_t s, hawser_program *program, hawser_state *const *states)
{
    const drawn *d = scene->d;
    static hawser_unit_function *const rebuilds[STATES] = {rebuild_0, rebuild_1, rebuild_2, rebuild_3, rebuild_4};
    const drawn_state *state = &d->state[s];
    const char name[2] = {(char)('a' + s), 0};
    hawser_state_spec spec = {.name = name, .type = state->type, .initial = first_values(scene, s)};
    switch (state->kind) {
    case LOCAL:
        spec.kind = HAWSER_LOCAL;
        spec.each = state->width == 0;
        spec.along = spec.each ? NULL : states[STATES];
        spec.rows = spec.each ? state->line : 0;
        spec.cols = state->width;
        spec.initial_blocks = spec.initial != NULL ? state->parts : 0;
        spec.tie = state->tied >= 0 && d->state[state->tied].product < 0 ? states[state->tied] : NULL;
        break;
    case STORED:
    case ADDED:
        spec.kind = HAWSER_STORED;
        spec.function = state->kind == STORED ? NULL : state->most ? "max" : "add";
        set_lines(&spec, state, states[STATES]);
        break;
    case PARTITIONED:
    case ALONG:
        spec.kind = HAWSER_PARTITIONED;
        set_lines(&spec, state, states[STATES]);
        break;
    default:
        spec.kind = HAWSER_REPLICATED;
        spec.rows = state->line;
        spec.cols = state->count / state->line;
        spec.by_column = true;
        spec.damping = state->bounded ? 0 : state->damping;
        spec.gain = state->gain;
        spec.merge = state->bounded ? merge_within_bounds : NULL;
        spec.form = state->form;
        spec.filter = state->filter;
        spec.quota = state->quota;
        spec.max_held = state->max_held;
        spec.derive = state->kind == DERIVED && state->product < 0 ? rebuilds[s] : NULL;
    }
    return hawser_state_add(program, &spec);
}

/* Adds the moving state and the entries state. */
static void add_more(drawn_scene *scene, hawser_program *program, hawser_state **states)
{
    drawn *d = scene->d;
    const drawn_parts *n = &d->moving;
    for (size_t i = 0; i < NUMBERS; i++)
        from_double(n->type, first_of_part(d, i), scene->first_parts, i);
    for (size_t i = 0; i < ENTRIES; i++)
        from_double(d->entries.type, first_of_entry(d, i), scene->first_entries, i);
    if (n->there)
        states[STATES + 1] =
            HAWSER_STATE(program, "n", HAWSER_MOVING, .type = n->type, .lines = n->lines, .offsets = n->offsets,
                         .parts = n->parts, .cut = n->cut, .owner = n->own ? owner_of_part : NULL, .owner_user = d,
                         .initial = n->begins ? scene->first_parts : NULL);
    if (d->entries.there)
        states[STATES + 2] =
            HAWSER_STATE(program, "z", HAWSER_ENTRIES, .type = d->entries.type, .along = states[STATES],
                         .by_value = d->entries.by_value, .initial = d->entries.begins ? scene->first_entries : NULL);
}

static void add_unit(const drawn *d, uint32_t number, hawser_operator *parent, hawser_state *const *states)
{
    static hawser_unit_function *const functions[UNITS] = {unit_0, unit_1, unit_2, unit_3, unit_4,
                                                           unit_5, unit_6, unit_7, unit_8, unit_9};
    static hawser_local_solver *const solvers[UNITS] = {solver_0, solver_1, solver_2, solver_3, solver_4,
                                                        solver_5, solver_6, solver_7, solver_8, solver_9};
    const drawn_unit *unit = &d->unit[number];
    hawser_unit_spec spec = {.run = functions[number], .one = unit->one};
    size_t read = 0, updated = 0;
    const char name[3] = {'u', (char)('0' + number), 0};
    spec.name = name;
    spec.reduces = unit->reduces ? reduced_count(number) : 0;
    spec.sync = unit->strict ? &unit->sync : NULL;
    if (unit->data)
        spec.reads[read++] = states[STATES];
    for (uint32_t s = 0; s < d->states; s++) {
        if (unit->reads[s])
            spec.reads[read++] = states[s];
        if (unit->updates[s])
            spec.updates[updated++] = states[s];
    }
    if (unit->moves && unit->writes_parts)
        spec.updates[updated++] = states[STATES + 1];
    else if (unit->moves)
        spec.reads[read++] = states[STATES + 1];
    if (unit->counts_entries && unit->writes_entries)
        spec.updates[updated++] = states[STATES + 2];
    else if (unit->counts_entries)
        spec.reads[read++] = states[STATES + 2];
    if (unit->solves)
        (void)hawser_cocoa(parent, name, solvers[number], spec.updates[1], spec.updates[0], spec.reads);
    else
        (void)hawser_unit_add(parent, &spec);
}

static void add_below(drawn_scene *scene, int container, hawser_operator *parent, hawser_state *const *states)
{
    const drawn *d = scene->d;
    for (uint32_t i = 0; i < d->operators; i++) {
        const drawn_operator *o = &d->op[i];
        char name[12];
        if (o->parent != container)
            continue;
        (void)snprintf(name, sizeof name, "o%u", i);
        if (o->kind == UNIT)
            add_unit(d, o->unit, parent, states);
        else
            add_below(scene, (int)i,
                      o->kind == SEQUENCE   ? hawser_sequence(parent)
                      : o->kind == PARALLEL ? hawser_parallel(parent)
                      : o->kind == BRANCH   ? add_branch(scene, i, parent, name)
                                            : hawser_loop(parent, name, until_of(scene, i), o->sync),
                      states);
    }
}

static hawser_program *program_of(drawn_scene *scene)
{
    const drawn *d = scene->d;
    hawser_program *program = hawser_program_new("drawn", scene);
    hawser_state *states[STATES + 3] = {0};
    states[STATES] = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = scene->in.matrix, .split = d->split);
    for (uint32_t s = 0; s < d->states; s++)
        states[s] = add_state(scene, s, program, states);
    add_more(scene, program, states);
    hawser_metric_declare(program, "m", HAWSER_SUM);
    hawser_scratch_size(program, sizeof(memory), release_memory);
    hawser_scratch_record(program, visit_memory);
    for (uint32_t i = 0; i < d->operators; i++)
        scene->test[i] = (drawn_test){scene, i};
    if (d->shares)
        hawser_tests_record(program, visit_calls, &scene->calls);
    add_below(scene, -1, hawser_root(program), states);
    return program;
}

/* Runs a drawn program in a job. */
static hawser_status run_drawn(hawser_job *job, drawn *d, double (*made)[STATES][SIZE], drawn_values *out,
                               hawser_error *error)
{
    drawn_scene *scene = calloc(1, sizeof *scene);
    hawser_program *program = NULL;
    hawser_run *run = NULL;
    char name[2] = "a";
    assert_non_null(scene);
    scene->d = d;
    scene->made = made;
    hawser_status status = open_input(d, &scene->in, job, error);
    if (status == HAWSER_OK) {
        program = program_of(scene);
        status = hawser_run_program(job, program, &run, error);
    }
    for (uint32_t s = 0; status == HAWSER_OK && s < d->states; s++, name[0]++)
        status = get_result(run, name, d->state[s].type, d->state[s].count, out->of[s], error);
    if (status == HAWSER_OK && d->moving.there)
        status = get_result(run, "n", d->moving.type, d->moving.offsets[d->moving.lines], out->parts, error);
    if (status == HAWSER_OK && d->entries.there)
        status = get_result(run, "z", d->entries.type, entries_before(d, d->rows), out->entries, error);
    d->clocks = d->bytes = 0;
    for (uint32_t b = 0; status == HAWSER_OK && b < d->blocks; b++) {
        d->clocks += hawser_run_figures(run)->worker[b].clocks;
        d->bytes += hawser_run_figures(run)->worker[b].bytes_sent;
    }
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_dataset_free(scene->in.dataset);
    free(scene);
    return status;
}

#endif
