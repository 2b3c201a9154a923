/* load_sides.c - in a load by row: what belongs to rows and is in files of its own. Each node reads a part of such a file and sends numbers to the
 * node of their block. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/exposure.h"
#include "data/load.h"
#include "data/share/beside.h"
#include "runtime/job/loading.h"

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
    return A->rows == 0 || (A->layout == HAWSER_DENSE && A->type == HAWSER_F64);
}

/* Reads this node's part. A part that cannot be read is no error yet: then all nodes read the whole file, which says what is wrong with it. */
static void read_part(const hw_loading *l, side_file *side)
{
    hawser_error unused = {0};
    hawser_load load = {.target = "none",
                        .categories = side->several ? "none" : NULL,
                        .threads = l->load->threads,
                        .part = l->self,
                        .parts = l->nodes};
    if (hw_load_within(&side->path, 1, &load, l->limit, &side->part, &unused) != HAWSER_OK)
        side->part = NULL;
}

/* Finds the place of this part among those of all nodes. *fits: the parts have one number (or several) for each row of the whole. */
static hawser_status agree_on_parts(hw_loading *l, side_file *side, bool *fits, hawser_error *error)
{
    side_facts own = {.usable = is_usable(side)}, all = {.usable = 1};
    hw_bytes *in = NULL;
    if (own.usable) {
        own.rows = side->part->matrix.rows;
        own.cols = side->part->matrix.cols;
        own.bytes = side->part->figures.bytes_read;
    }
    hawser_status status = hw_loading_gather(l, &own, sizeof own, &in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        side_facts node = {0};
        if (in[i].length == sizeof node)
            memcpy(&node, in[i].data, sizeof node);
        if (i == l->self)
            side->first = all.rows;
        all.usable = all.usable && node.usable && (node.rows == 0 || all.rows == 0 || node.cols == all.cols);
        all.cols = node.rows != 0 ? node.cols : all.cols;
        all.rows += node.rows;
        all.bytes += node.bytes;
    }
    hw_bytes_free(in, l->nodes);
    uint64_t most = side->several ? 1 + HW_FURTHER_TARGETS : 1;
    *fits = status == HAWSER_OK && all.usable && all.rows == l->whole.rows && all.cols >= 1 && all.cols <= most;
    if (!*fits)
        return status;
    side->part->matrix.cols = all.cols; /* also of a part without rows */
    l->dataset->figures.bytes_here += own.bytes;
    l->dataset->figures.bytes_read += all.bytes;
    return HAWSER_OK;
}

static hawser_status check_numbers(const hw_loading *l, const side_file *side, hawser_error *error)
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

static hawser_status trade_numbers(hw_loading *l, const side_file *side, struct hw_row_blocks *blocks, hawser_error *error)
{
    hw_bytes *out = NULL, *in = NULL;
    const hawser_matrix *numbers = &side->part->matrix;
    hawser_status status = HW_NEW(&out, l->nodes, "numbers for other nodes", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&in, l->nodes, "numbers from other nodes", error);
    if (status == HAWSER_OK)
        status = hw_beside_pack(blocks, numbers, side->first, out, error);
    status = hw_cluster_agree(l->cluster, status, error);
    if (status == HAWSER_OK)
        status = hw_cluster_hand_over(l->cluster, out, in, error);
    if (status == HAWSER_OK)
        status = hw_beside_fill(blocks, side->kind, numbers, side->first, in, l->nodes, error);
    hw_bytes_free(out, l->nodes);
    hw_bytes_free(in, l->nodes);
    return hw_cluster_agree(l->cluster, status, error);
}

static hawser_status distribute(hw_loading *l, side_file *side, struct hw_row_blocks *blocks, bool *done,
                                hawser_error *error)
{
    HAWSER_TRY(agree_on_parts(l, side, done, error));
    if (!*done)
        return HAWSER_OK;
    HAWSER_TRY(hw_cluster_agree(l->cluster, check_numbers(l, side, error), error));
    if (side->kind == HW_BESIDE_TARGET)
        HAWSER_TRY(name_targets(l, side->part, error));
    return trade_numbers(l, side, blocks, error);
}

/* Reads a file in parts; *spec becomes NULL if that has been done. */
static hawser_status read_side(hw_loading *l, struct hw_row_blocks *blocks, unsigned kind, const char **spec,
                               hawser_error *error)
{
    bool done = false;
    side_file side = {.path = *spec, .kind = kind, .several = kind == HW_BESIDE_TARGET && l->load->outputs};
    if (*spec == NULL || strcmp(*spec, "none") == 0 || !hw_is_file(*spec) || l->dataset->figures.rows_dropped > 0)
        return HAWSER_OK;
    read_part(l, &side);
    hawser_status status = distribute(l, &side, blocks, &done, error);
    hawser_dataset_free(side.part);
    if (done)
        *spec = NULL;
    return status;
}

hawser_status hw_loading_sides(hw_loading *l, struct hw_row_blocks *blocks, hawser_error *error)
{
    hawser_load side = *l->load;
    const char *offset = hw_load_offset(l->load);
    if (l->whole.has_target || l->load->target_optional)
        side.target = NULL;
    if (l->whole.has_weights)
        side.weights = NULL;
    if (l->whole.has_offset)
        offset = NULL;
    HAWSER_TRY(read_side(l, blocks, HW_BESIDE_TARGET, &side.target, error));
    HAWSER_TRY(read_side(l, blocks, HW_BESIDE_WEIGHTS, &side.weights, error));
    HAWSER_TRY(read_side(l, blocks, HW_BESIDE_OFFSET, &offset, error));
    if (offset == NULL)
        side.offset = side.exposure = NULL;
    HAWSER_TRY(hw_load_sides(l->dataset, &side, l->limit, error));
    return hw_row_blocks_take(blocks, l->dataset, error);
}
