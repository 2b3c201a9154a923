/* source_read.c - reads the rows of one block again. */
#include <stdlib.h>

#include "base/argument.h"
#include "base/memory.h"
#include "data/cache/cache.h"
#include "data/load.h"
#include "data/share/block_digest.h"
#include "data/table/exact.h"
#include "data/table/schema.h"
#include "data/trim.h"
#include "runtime/input/row_router.h"
#include "runtime/input/source.h"

/* This node takes the place of each node that has read a part, and sends itself the rows of the block: as if the whole had
 * three blocks, those before, this one, and those after it, with this one on node 0 and the others on node 1. `from` sees
 * them as node 1, `to` as node 0. */
typedef struct block_reading {
    const struct hw_source *source;
    const hawser_dataset *dataset;
    hw_loading l;
    hw_row_router router;
    uint32_t block;
    struct hw_row_blocks *from, *to;
    hw_bytes *pieces; /* [0] is empty; [1 + i] has the rows of part i */
} block_reading;

static hawser_status three_blocks(const block_reading *r, const size_t *cut, uint32_t self, struct hw_row_blocks **rows,
                                  hawser_error *error)
{
    size_t *bounds = NULL;
    hw_view view = {0};
    HAWSER_TRY(HW_NEW(&bounds, 4, "a block's rows", error));
    bounds[1] = cut[r->block];
    bounds[2] = cut[r->block + 1];
    bounds[3] = r->source->rows;
    hawser_status status = hw_view_first(3, 2, &view, error);
    if (status != HAWSER_OK) {
        free(bounds);
        hw_view_free(&view);
        return status;
    }
    view.node[1] = 0;
    view.node[0] = view.node[2] = 1;
    return hw_row_blocks_new(&view, self, bounds, rows, error);
}

static bool differ(const hw_shard_facts *now, const hw_shard_facts *then)
{
    return now->rows != then->rows || now->cols != then->cols || now->stored != then->stored || now->found != then->found ||
           now->layout != then->layout || now->type != then->type || now->index_base != then->index_base ||
           now->scattered != then->scattered || now->has_target != then->has_target || now->further != then->further;
}

static hawser_status read_part(block_reading *r, uint32_t i, hawser_error *error)
{
    hw_loading *l = &r->l;
    l->self = i;
    HAWSER_TRY(hw_loading_read(l, r->source->as_table, error));
    if ((l->rows->table != NULL) != r->source->as_table)
        return hw_source_changed(r->source, r->block, error);
    if (r->source->as_table)
        HAWSER_TRY(hw_loading_settle(l, r->dataset->schema, error));
    else if (l->rows->labels != NULL && l->rows->target != NULL)
        hw_exact_renumber(l->rows->labels, &r->dataset->schema->target, (double *)(uintptr_t)l->rows->target,
                          l->rows->matrix.rows);
    if (hw_trims_columns(l->load, l->rows->figures.format))
        hw_trim_to(l->rows, r->source->facts[i].cols);
    const hw_shard_facts now = hw_shard_facts_of(l->rows);
    if (differ(&now, &r->source->facts[i]))
        return hw_source_changed(r->source, r->block, error);
    l->rows->array.first = hw_shard_before(r->source->facts, i);
    if (l->whole.layout == HAWSER_DENSE_ROWS && l->rows->matrix.layout == HAWSER_CSR)
        HAWSER_TRY(hw_loading_store_rows(l, error));
    if (r->source->fills)
        hw_loading_put_means(l->rows, r->dataset->means);
    return HAWSER_OK;
}

static void drop_part(block_reading *r)
{
    if (r->l.rows != NULL && r->source->as_table)
        r->l.rows->schema = NULL; /* it is the dataset's */
    hawser_dataset_free(r->l.rows);
    r->l.rows = NULL;
}

static hawser_status take_part(block_reading *r, uint32_t i, size_t first, hawser_error *error)
{
    hw_bytes out[2] = {{0}, {0}};
    hawser_status status = read_part(r, i, error);
    HAWSER_THEN(status, r->router.pack(r->from, r->l.rows, &r->source->whole, first, out, error));
    drop_part(r);
    r->pieces[1 + i] = out[0];
    free(out[1].data);
    return status;
}

static hawser_status read_parts(block_reading *r, hawser_error *error)
{
    const struct hw_source *source = r->source;
    const hawser_dataset none = {0};
    size_t first = 0;
    for (uint32_t i = 0; i < source->parts; i++) {
        size_t rows = source->facts[i].rows, from;
        if (source->whole.scattered || hw_row_blocks_overlap(r->to, 1, first, rows, &from) != 0)
            HAWSER_TRY(take_part(r, i, source->whole.scattered ? 0 : first, error));
        first += rows;
    }
    const uint32_t own = source->whole.scattered ? 1 : 0; /* then a node sends pieces to itself, too */
    const hw_row_pieces from = {.whole = &source->whole,
                                .pieces = r->pieces + own,
                                .nodes = source->parts + 1 - own,
                                .rows = &none,
                                .name = source->paths[0]};
    return r->router.place(r->to, &from, error);
}

static hawser_status read_whole(block_reading *r, hw_block_again *again, hawser_error *error)
{
    const struct hw_source *source = r->source;
    hawser_dataset *whole = NULL;
    uint64_t limit = source->load.memory_limit != 0 ? source->load.memory_limit : r->l.job->settings.memory;
    HAWSER_TRY(hw_load_within((const char *const *)source->paths, source->path_count, &source->load, limit, &whole, error));
    again->mapped = whole;
    if (whole->matrix.rows != source->rows || whole->matrix.cols != source->cols ||
        whole->matrix.layout != r->dataset->matrix.layout)
        return hw_source_changed(source, r->block, error);
    HAWSER_TRY(hw_row_blocks_cut(r->to, whole, error));
    return hw_row_blocks_take(r->to, whole, error);
}

/* Reads the columns of a cache, and makes only the rows of the block from them. */
static hawser_status read_columns(block_reading *r, hawser_error *error)
{
    const struct hw_source *source = r->source;
    hawser_load all = source->load;
    hawser_dataset *columns = NULL;
    hw_cache_part part;
    hw_cache_progress progress = {0};
    all.part = 0;
    all.parts = 1;
    HAWSER_TRY(hw_load_part_of_cache((const char *const *)source->paths, source->path_count, &all, &part, &columns, error));
    if (columns == NULL || part.whole.rows != source->rows || part.whole.cols != source->cols) {
        hawser_dataset_free(columns);
        return hw_source_changed(source, r->block, error);
    }
    hawser_status status = hw_cache_part_check(&part, columns, source->paths[0], NULL, &progress, error);
    HAWSER_THEN(status, hw_loading_turn_block(r->from, r->to, &part, columns, error));
    hawser_dataset_free(columns);
    return status;
}

static hawser_status read_block(block_reading *r, hw_block_again *again, hawser_error *error)
{
    const struct hw_source *source = r->source;
    uint32_t blocks;
    const size_t *cut = hawser_dataset_cut(r->dataset, &blocks);
    HAWSER_TRY(three_blocks(r, cut, 1, &r->from, error));
    HAWSER_TRY(three_blocks(r, cut, 0, &r->to, error));
    HAWSER_TRY(HW_NEW(&r->pieces, source->parts + 1, "a block's rows", error));
    if (source->turned)
        return read_columns(r, error);
    if (source->parts == 0)
        return read_whole(r, again, error);
    HAWSER_TRY(read_parts(r, error));
    return hw_loading_sides_again(&r->l, r->from, r->to, error);
}

static uint64_t digest_again(const hw_block_again *again)
{
    const hw_row_block *block = again->block;
    const double *const *beside = (const double *const *)block->beside;
    bool mapped = block->values == NULL && again->mapped != NULL && again->mapped->mapping != NULL;
    return mapped ? hw_beside_digest(block->matrix.rows, beside) + hw_cache_digest(again->mapped)
                  : hw_rows_digest(&block->matrix, beside);
}

hawser_status hw_read_block_again(const hawser_job *job, const hawser_dataset *dataset, uint32_t block,
                                  hw_block_again *again, hawser_error *error)
{
    HW_GIVEN(dataset);
    const struct hw_source *source = dataset->source;
    *again = (hw_block_again){0};
    if (source == NULL || block >= source->blocks)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           source == NULL ? "the dataset was not loaded by row from files, so its rows cannot be read again"
                                          : "block %u of %u cannot be read again",
                           block, source == NULL ? 0 : source->blocks);
    for (size_t i = 0; i < source->file_count; i++)
        if (!source->files[i].regular)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "%s: is no plain file, so its rows cannot be read again; put them into a file",
                               source->files[i].name);
    block_reading r = {.source = source, .dataset = dataset, .block = block, .router = hw_row_router_of(&source->whole)};
    r.l = (hw_loading){.job = job,
                       .load = &source->load,
                       .paths = (const char *const *)source->paths,
                       .path_count = source->path_count,
                       .nodes = source->parts,
                       .limit = job->settings.memory,
                       .whole = source->whole,
                       .dataset = (hawser_dataset *)(uintptr_t)dataset,
                       .quoted = source->quoted,
                       .sides = source->sides};
    hawser_status status = read_block(&r, again, error);
    again->rows = r.to;
    if (status == HAWSER_OK) {
        again->block = &r.to->block[1];
        if (digest_again(again) != source->digests[block])
            status = hw_source_changed(source, block, error);
    } else if (status == HAWSER_INTERNAL) {
        status = hw_source_changed(source, block, error); /* what was read does not fit */
    }
    if (r.pieces != NULL)
        hw_bytes_free(r.pieces, source->parts + 1);
    hw_row_blocks_free(r.from);
    return status;
}

void hw_block_again_free(hw_block_again *again)
{
    hw_row_blocks_free(again->rows);
    hawser_dataset_free(again->mapped);
    *again = (hw_block_again){0};
}
