/* array.h - a Matrix Market array of which every node has read a range of values. */
#ifndef HW_DATA_ARRAY_H
#define HW_DATA_ARRAY_H

#include "base/memory.h"
#include "data/dataset.h"
#include "data/owners.h"

/* A piece: the number of runs, the runs, and their values. */
typedef struct hw_array_run {
    uint32_t column, row; /* of the first value; the others are below it */
    uint64_t count;
} hw_array_run;

typedef struct hw_array_writer {
    uint64_t runs, values; /* counted first, then written */
    hw_array_run *run;
    char *value;
} hw_array_writer;
void hw_array_add(hw_array_writer *to, hw_array_run r, const char *values, size_t size);

/* Adds the values of a run to the pieces of the nodes that need them; `homes` says which these are. */
typedef void (*hw_array_split)(const hw_array_part *array, const void *homes, hw_array_run r, const char *values,
                               size_t size, hw_array_writer *writers);
/* Packs the values for each node, given array.first. pieces has one item per node; the caller frees them, also after a
 * failure. */
hawser_status hw_array_pack_by(const hawser_dataset *values, hw_array_split split, const void *homes, uint32_t nodes,
                               hw_bytes *pieces, hawser_error *error) HAWSER_MUST_USE;

/* Reads the runs of a piece; `runs` and `left` (bytes) say what has not been read. */
typedef struct hw_array_reader {
    uint64_t runs, left;
    const hw_array_run *run;
    const char *values;
} hw_array_reader;
/* Both return false for a piece that cannot be: its runs are of a matrix of rows x cols numbers of `size` bytes. */
bool hw_array_open(const hw_bytes *piece, hw_array_reader *reader);
bool hw_array_next(hw_array_reader *reader, uint64_t rows, uint64_t cols, size_t size, hw_array_run *r, const char **values);

/* Packs for each node the values of its columns, given array.first; of a symmetric array also the mirrored values. pieces
 * has one item per node; the caller frees them, also after a failure. */
hawser_status hw_array_pack(const hawser_dataset *values, const hw_owners *owners, uint32_t nodes, hw_bytes *pieces,
                            hawser_error *error) HAWSER_MUST_USE;
/* Fails because a node sent data that do not match the sizes that it reported before. */
hawser_status hw_share_misfit(uint32_t node, hawser_error *error) HAWSER_MUST_USE;

/* Stores a node's piece in own columns of A. Refuses data that do not fit. */
hawser_status hw_array_fill(const hawser_matrix *A, bool symmetric, const hw_owners *owners, uint32_t self,
                            const hw_bytes *piece, uint32_t node, hawser_error *error) HAWSER_MUST_USE;

#endif
