/* checkpoint_reader.c - the pieces of the checkpoint from which a job goes on. */
#include <stdlib.h>

#include "base/memory.h"
#include "runtime/job/checkpoints.h"

static hawser_status read_part(const hw_checkpoints *own, const hw_checkpoint_part *part, void **bytes, size_t *size,
                               hawser_error *error)
{
    hw_part_reader reader = {0};
    hw_checkpoint_tensor tensor = hw_checkpoint_tensor_of(NULL, 0);
    hawser_status status = hw_part_open(&reader, own->folder->path, part, error);
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

hawser_status hw_checkpoint_piece(const hw_checkpoints *own, const hw_record_piece *piece, void **bytes, size_t *size,
                                  hawser_error *error)
{
    const hw_checkpoint_part *part =
        hw_checkpoint_find(own->from, hw_checkpoint_kind_of(piece), hw_checkpoint_index_of(piece));
    if (part == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: %s has no record of block %u", own->folder->given, own->from->file,
                           hw_checkpoint_index_of(piece));
    return read_part(own, part, bytes, size, error);
}
