/* part.h - a part of a checkpoint: tensors in a safetensors file with a checksum. Any node that has the folder writes and
 * reads parts, each by one thread at a time. */
#ifndef HW_CHECKPOINT_PART_H
#define HW_CHECKPOINT_PART_H

#include "base/file.h"
#include "checkpoint/checksum.h"
#include "checkpoint/manifest.h"
#include "checkpoint/tensors.h"

typedef enum hw_tensor_type { HW_TENSOR_F64, HW_TENSOR_F32, HW_TENSOR_I64, HW_TENSOR_U64, HW_TENSOR_U8 } hw_tensor_type;

/* A tensor. Those of eight-byte numbers come first, so that all are aligned in the file. */
typedef struct hw_checkpoint_tensor {
    const char *name;
    hw_tensor_type type;
    uint64_t rows, cols; /* cols == 0: one dimension */
    const void *data;    /* for hw_part_put */
    uint64_t at;         /* where its bytes begin in the file, of one that was found */
} hw_checkpoint_tensor;
uint64_t hw_checkpoint_tensor_bytes(const hw_checkpoint_tensor *tensor);

/* A part that is being written. After hw_part_begin exactly one of hw_part_commit and hw_part_abort must be called; abort
 * after a failed commit does nothing. */
typedef struct hw_part_writer {
    hw_file file;
    hw_checksum seal;
    uint64_t left; /* bytes of tensors not yet written */
    hw_checkpoint_part part;
} hw_part_writer;

/* Begins a part of the checkpoint `of` (its number and token) in a folder, with tensors whose bytes follow in this order. */
hawser_status hw_part_begin(hw_part_writer *writer, const char *folder, const hw_checkpoint *of, hw_checkpoint_kind kind,
                            uint32_t index, const hw_checkpoint_tensor *tensors, size_t count,
                            hawser_error *error) HAWSER_MUST_USE;
/* Appends bytes of tensors, in pieces of any size. */
hawser_status hw_part_write(hw_part_writer *writer, const void *data, size_t size, hawser_error *error) HAWSER_MUST_USE;
/* Writes the checksum, syncs and names the file. *part is what the manifest says of it. */
hawser_status hw_part_commit(hw_part_writer *writer, hw_checkpoint_part *part, hawser_error *error) HAWSER_MUST_USE;
void hw_part_abort(hw_part_writer *writer);
/* All of it, from memory. */
hawser_status hw_part_put(const char *folder, const hw_checkpoint *of, hw_checkpoint_kind kind, uint32_t index,
                          const hw_checkpoint_tensor *tensors, size_t count, hw_checkpoint_part *part,
                          hawser_error *error) HAWSER_MUST_USE;

/* A part that is being read. */
typedef struct hw_part_reader {
    char *path;
    hw_tensors_file file;
    json_t *header;
} hw_part_reader;

/* Opens a part, and reads all of it to check that it is the very one that the manifest names. The caller calls
 * hw_part_close, whatever the result. */
hawser_status hw_part_open(hw_part_reader *reader, const char *folder, const hw_checkpoint_part *part,
                           hawser_error *error) HAWSER_MUST_USE;
void hw_part_close(hw_part_reader *reader);
/* Finds a tensor: its shape, and where it begins. tensor->name and tensor->type are given. */
hawser_status hw_part_find(const hw_part_reader *reader, hw_checkpoint_tensor *tensor, hawser_error *error) HAWSER_MUST_USE;
/* Reads `bytes` of a tensor that was found, from its byte `from` on. */
hawser_status hw_part_read(const hw_part_reader *reader, const hw_checkpoint_tensor *tensor, uint64_t from, void *out,
                           size_t bytes, hawser_error *error) HAWSER_MUST_USE;

#endif
