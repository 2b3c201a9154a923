/* load_sides.c - in a load by row: what belongs to rows and is in files of its own. Each node reads a part of such a file
 * and sends numbers to the node of their block. */
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/memory.h"
#include "data/exposure.h"
#include "data/load.h"
#include "data/share/beside.h"
#include "runtime/input/loading.h"

/* A file of numbers, one or several per row. */
typedef struct side_file {
    const char *path;
    unsigned kind;        /* HW_BESIDE_TARGET ... */
    bool several;         /* a column per target */
    hawser_dataset *part; /* what this node has read; NULL: it could not read its part */
    size_t first;         /* row of the whole */
} side_file;

/* What a node has read of such a file. */
typedef struct side_facts {
    uint64_t usable, rows, cols, bytes;
} side_facts;

static bool is_usable(const side_file *side)
{
    const hawser_dataset *part = side->part;
    if (part == NULL || !part->figures.parted || part->table != NULL || part->scattered)
        return false;
    const hawser_matrix *A = &part->matrix;
    return A->rows == 0 || (hw_is_dense(A) && A->type == HAWSER_F64);
}

/* Reads this node's part. */
static hawser_status read_part(hw_loading *l, side_file *side, hawser_error *error)
{
    hawser_load load = {.target = "none",
                        .categories = side->several ? "none" : NULL,
                        .threads = l->load->threads,
                        .part = l->self,
                        .parts = l->nodes};
    return hw_load_within(&side->path, 1, &load, l->limit, &side->part, error);
}

/* Finds the place of this part among those of all nodes. *fits: the parts have one number (or several) for each row of the
 * whole. */
static hawser_status agree_on_parts(hw_loading *l, side_file *side, bool *fits, hawser_error *error)
{
    side_facts own = {.usable = is_usable(side)}, all = {.usable = 1}, *nodes = NULL;
    if (own.usable) {
        own.rows = side->part->matrix.rows;
        own.cols = side->part->matrix.cols;
        own.bytes = side->part->figures.bytes_read;
    }
    hawser_status status = HW_COLLECT(l, &own, &nodes, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        const side_facts node = nodes[i];
        if (i == l->self)
            side->first = all.rows;
        all.usable = all.usable && node.usable && (node.rows == 0 || all.rows == 0 || node.cols == all.cols);
        all.cols = node.rows != 0 ? node.cols : all.cols;
        all.rows += node.rows;
        all.bytes += node.bytes;
    }
    free(nodes);
    uint64_t most = side->several ? 1 + HW_FURTHER_TARGETS : 1;
    *fits = status == HAWSER_OK && all.usable && all.rows == l->whole.rows && all.cols >= 1 && all.cols <= most;
    if (!*fits)
        return status;
    side->part->matrix.cols = all.cols; /* also of a part without rows */
    l->dataset->figures.bytes_here += own.bytes;
    l->dataset->figures.bytes_read += all.bytes;
    return HAWSER_OK;
}

static hawser_status check_numbers(hw_loading *l, const side_file *side, hawser_error *error)
{
    double *values = (double *)(uintptr_t)side->part->matrix.values;
    size_t rows = side->part->matrix.rows;
    if (rows == 0)
        return HAWSER_OK;
    if (side->kind == HW_BESIDE_WEIGHTS)
        return hw_check_weights(side->path, values, rows, side->first, error);
    if (side->kind == HW_BESIDE_OFFSET && hw_load_exposes(l->load))
        return hw_take_exposures(side->path, values, rows, side->first, error);
    return HAWSER_OK;
}

static hawser_status name_targets(hw_loading *l, const hawser_dataset *part, hawser_error *error)
{
    hawser_dataset *dataset = l->dataset;
    dataset->figures.target_file = true;
    dataset->outputs_by_block = part->matrix.cols;
    for (size_t k = 0; part->columns != NULL && l->load->outputs && k < part->matrix.cols; k++) {
        char *name = NULL;
        HAWSER_TRY(hw_copy_text(&name, part->columns[k], error));
        hw_dataset_own(dataset, name);
        *(k == 0 ? &dataset->target_name : &dataset->further_names[k - 1]) = name;
    }
    return HAWSER_OK;
}

/* Numbers that are dealt out. */
typedef struct side_deal {
    hw_loading *l;
    const side_file *side;
    struct hw_row_blocks *blocks;
} side_deal;

static hawser_status pack(void *user, uint32_t round, hw_bytes *out, hawser_error *error)
{
    const side_deal *d = user;
    (void)round;
    return hw_beside_pack(d->blocks, &d->side->part->matrix, d->side->first, out, error);
}

static hawser_status place(void *user, uint32_t round, hw_bytes *in, hawser_error *error)
{
    const side_deal *d = user;
    const side_file *side = d->side;
    (void)round;
    return hw_beside_fill(d->blocks, side->kind, &side->part->matrix, side->first, in, d->l->nodes, error);
}

static hawser_status distribute(hw_loading *l, side_file *side, struct hw_row_blocks *blocks, bool *done,
                                hawser_error *error)
{
    HAWSER_TRY(agree_on_parts(l, side, done, error));
    if (!*done)
        return HAWSER_OK;
    HAWSER_TRY(hw_loading_agree(l, check_numbers(l, side, error), error));
    if (side->kind == HW_BESIDE_TARGET)
        HAWSER_TRY(name_targets(l, side->part, error));
    return hw_loading_deal(l, &(hw_deal){1, &(side_deal){l, side, blocks}, pack, place}, error);
}

/* Reads a file in parts, if that is possible, and notes it in l->sides. */
static hawser_status read_side(hw_loading *l, struct hw_row_blocks *blocks, unsigned kind, const char *path,
                               hawser_error *error)
{
    bool done = false;
    side_file side = {.path = path, .kind = kind, .several = kind == HW_BESIDE_TARGET && l->load->outputs};
    if (path == NULL || strcmp(path, "none") == 0 || !hw_is_file(path) || l->dataset->figures.rows_dropped > 0)
        return HAWSER_OK;
    hawser_error unused = {0};
    if (read_part(l, &side, &unused) != HAWSER_OK)
        side.part = NULL; /* no error yet: then all nodes read the whole file, which says what is wrong with it */
    hawser_status status = distribute(l, &side, blocks, &done, error);
    hawser_dataset_free(side.part);
    if (done)
        l->sides |= 1U << kind;
    return status;
}

/* Returns the load without what came with the rows and what was read in parts. */
static hawser_load rest_of(hw_loading *l)
{
    hawser_load rest = *l->load;
    if (l->whole.has_target || rest.target_optional || (l->sides & 1U << HW_BESIDE_TARGET) != 0)
        rest.target = NULL;
    if (l->whole.has_weights || (l->sides & 1U << HW_BESIDE_WEIGHTS) != 0)
        rest.weights = NULL;
    if (l->whole.has_offset || (l->sides & 1U << HW_BESIDE_OFFSET) != 0)
        rest.offset = rest.exposure = NULL;
    return rest;
}

hawser_status hw_loading_sides(hw_loading *l, struct hw_row_blocks *blocks, hawser_error *error)
{
    hawser_load all = rest_of(l);
    HAWSER_TRY(read_side(l, blocks, HW_BESIDE_TARGET, all.target, error));
    HAWSER_TRY(read_side(l, blocks, HW_BESIDE_WEIGHTS, all.weights, error));
    HAWSER_TRY(read_side(l, blocks, HW_BESIDE_OFFSET, hw_load_offset(&all), error));
    hawser_load rest = rest_of(l);
    HAWSER_TRY(hw_load_sides(l->dataset, &rest, l->limit, error));
    return hw_row_blocks_take(blocks, l->dataset, error);
}

/* ------------------------------------------------------------------------------------------------------ again ---- */

/* Adds the numbers of one part to `pieces`, in which [0] stays empty. side->first is the row of the part's first number. */
static hawser_status take_again(hw_loading *l, side_file *side, size_t columns, const struct hw_row_blocks *from,
                                hw_bytes *pieces, hawser_error *error)
{
    hw_bytes out[2] = {{0}, {0}};
    HAWSER_TRY(read_part(l, side, error));
    if (!is_usable(side) || (side->part->matrix.rows != 0 && side->part->matrix.cols != columns))
        return hawser_fail(error, HAWSER_INTERNAL, "%s: does not have the numbers that it had", side->path);
    side->part->matrix.cols = columns;
    HAWSER_TRY(check_numbers(l, side, error));
    hawser_status status = hw_beside_pack(from, &side->part->matrix, side->first, out, error);
    pieces[1 + l->self] = out[0];
    free(out[1].data);
    side->first += side->part->matrix.rows;
    return status;
}

static hawser_status read_side_again(hw_loading *l, side_file *side, const struct hw_row_blocks *from,
                                     struct hw_row_blocks *to, hawser_error *error)
{
    hw_bytes *pieces = NULL;
    size_t columns = side->kind == HW_BESIDE_TARGET ? l->dataset->outputs_by_block : 1;
    HAWSER_TRY(HW_NEW(&pieces, l->nodes + 1, "numbers of a block's rows", error));
    hawser_status status = HAWSER_OK;
    for (l->self = 0; l->self < l->nodes && status == HAWSER_OK; l->self++) {
        status = take_again(l, side, columns, from, pieces, error);
        hawser_dataset_free(side->part);
        side->part = NULL;
    }
    const hawser_matrix none = {.cols = columns};
    HAWSER_THEN(status, hw_beside_fill(to, side->kind, &none, 0, pieces, l->nodes + 1, error));
    hw_bytes_free(pieces, l->nodes + 1);
    return status;
}

/* Reads whole files of numbers, of which the block keeps its own. */
static hawser_status read_rest_again(hw_loading *l, struct hw_row_blocks *to, hawser_error *error)
{
    hawser_dataset *numbers = NULL;
    hawser_load rest = rest_of(l);
    rest.names = NULL;
    HAWSER_TRY(hw_dataset_new(&numbers, error));
    numbers->matrix.rows = l->dataset->matrix.rows;
    numbers->figures.rows_dropped = l->dataset->figures.rows_dropped;
    hawser_status status = hw_load_sides(numbers, &rest, l->limit, error);
    HAWSER_THEN(status, hw_row_blocks_take(to, numbers, error));
    hawser_dataset_free(numbers);
    return status;
}

hawser_status hw_loading_sides_again(hw_loading *l, const struct hw_row_blocks *from, struct hw_row_blocks *to,
                                     hawser_error *error)
{
    const char *const paths[] = {[HW_BESIDE_TARGET] = l->load->target,
                                 [HW_BESIDE_WEIGHTS] = l->load->weights,
                                 [HW_BESIDE_OFFSET] = hw_load_offset(l->load)};
    for (unsigned kind = HW_BESIDE_TARGET; kind <= HW_BESIDE_OFFSET; kind++) {
        side_file side = {.path = paths[kind], .kind = kind, .several = kind == HW_BESIDE_TARGET && l->load->outputs};
        if ((l->sides & 1U << kind) != 0)
            HAWSER_TRY(read_side_again(l, &side, from, to, error));
    }
    return read_rest_again(l, to, error);
}
