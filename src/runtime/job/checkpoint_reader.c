/* checkpoint_reader.c - the pieces of the checkpoint from which a job goes on: parts in the folder, if this node sees it,
 * else what node 0 sends. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/job/checkpoints.h"

const hw_checkpoint *hw_checkpoint_of_run(const hw_checkpoints *own, uint64_t run)
{
    if (own->from != NULL && own->from->run + 1 == run)
        return own->from;
    for (size_t i = 0; i < own->end_count; i++)
        if (own->ends[i]->run + 1 == run)
            return own->ends[i];
    return NULL;
}

static hawser_status read_part(const hw_checkpoints *own, const hw_checkpoint_part *part, void **bytes, size_t *size,
                               hawser_error *error)
{
    hw_part_reader reader = {0};
    hw_checkpoint_tensor tensor = hw_checkpoint_tensor_of(NULL, 0);
    hawser_status status = hw_part_open(&reader, own->path, part, error);
    if (status == HAWSER_OK)
        status = hw_part_find(&reader, &tensor, error);
    if (status == HAWSER_OK)
        status = hw_new_array(bytes, tensor.rows, 1, "a record of a checkpoint", error);
    if (status == HAWSER_OK)
        status = hw_part_read(&reader, &tensor, 0, *bytes, tensor.rows, error);
    hw_part_close(&reader);
    *size = tensor.rows;
    if (status == HAWSER_OK)
        return HAWSER_OK;
    free(*bytes);
    *bytes = NULL;
    return status;
}

/* A part that this node cannot read, as from a network file system that is late, may still be there for node 0. */
static hawser_status read_piece(hw_checkpoints *own, const hw_record_piece *piece, void **bytes, size_t *size,
                                hawser_error *error)
{
    const hw_checkpoint *from = hw_checkpoint_of_run(own, piece->run);
    const hw_checkpoint_part *part = hw_checkpoint_find(from, hw_checkpoint_kind_of(piece), hw_checkpoint_index_of(piece));
    hawser_error ignored = {0};
    if (part == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: %s has no record of block %u", own->given, from->file,
                           hw_checkpoint_index_of(piece));
    if (own->node == 0)
        return read_part(own, part, bytes, size, error);
    if (hw_folder_shared(own->path, own->token) && read_part(own, part, bytes, size, &ignored) == HAWSER_OK)
        return HAWSER_OK;
    return hw_checkpoint_ask(own, piece, bytes, size, error);
}

/* Reads the merged values once for all blocks of this node. */
static hawser_status read_merged(hw_checkpoints *own, const hw_record_piece *piece, void **bytes, size_t *size,
                                 hawser_error *error)
{
    if (own->merged == NULL)
        HAWSER_TRY(read_piece(own, piece, &own->merged, &own->merged_size, error));
    HAWSER_TRY(hw_new_array(bytes, own->merged_size, 1, "a record of a checkpoint", error));
    memcpy(*bytes, own->merged, own->merged_size);
    *size = own->merged_size;
    return HAWSER_OK;
}

hawser_status hw_checkpoint_piece(hw_checkpoints *own, const hw_record_piece *piece, void **bytes, size_t *size,
                                  hawser_error *error)
{
    pthread_mutex_lock(&own->reading);
    if (piece->kind != HW_PIECE_MERGED) { /* all blocks have the merged values by the time that one reads its record */
        free(own->merged);
        own->merged = NULL;
    }
    hawser_status status = piece->kind == HW_PIECE_MERGED ? read_merged(own, piece, bytes, size, error) : HAWSER_OK;
    pthread_mutex_unlock(&own->reading);
    return piece->kind == HW_PIECE_MERGED ? status : read_piece(own, piece, bytes, size, error);
}
