/* reader.h - what reading a whole cache file (read.c) and a part of one (part.c) share. */
#ifndef HW_DATA_CACHE_READER_H
#define HW_DATA_CACHE_READER_H

#include "base/cancellation.h"
#include "data/cache/format.h"

typedef struct hw_cache_reader {
    const unsigned char *bytes;
    size_t size;
    const char *name;
    hw_cache_header header;
    hawser_dataset *dataset;
    bool sparing; /* pages that were read are released */
    const hawser_cancellation *cancellation;
} hw_cache_reader;

/* Copies the header and checks it, also against the size of the file. */
hawser_status hw_cache_read_head(hw_cache_reader *in, bool verify, hawser_error *error) HAWSER_MUST_USE;

bool hw_cache_is_dense(const hw_cache_header *h);
/* Returns a section. An empty section of the matrix is an empty array; any other empty section means that the input did not
 * have it: NULL. */
const void *hw_cache_section(const hw_cache_reader *in, int which);
/* Sets the dataset's names and schema, views of the file or owned. */
hawser_status hw_cache_read_names(hw_cache_reader *in, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_cache_read_schema(hw_cache_reader *in, hawser_error *error) HAWSER_MUST_USE;
/* Reads which columns rounding made equal. */
hawser_status hw_cache_read_equals(hw_cache_reader *in, hawser_error *error) HAWSER_MUST_USE;

hawser_status hw_cache_damaged(const hw_cache_reader *in, const char *what, hawser_error *error);
/* Checks the offsets of the lines [first, end) of the file, and that the first and the last offset span the entries. */
hawser_status hw_cache_check_offsets(const hw_cache_reader *in, const uint64_t *offsets, size_t first, size_t end,
                                     hawser_error *error) HAWSER_MUST_USE;
/* Checks the indices of a matrix whose offsets begin at 0 and were checked. */
hawser_status hw_cache_check_indices(const hw_cache_reader *in, const hawser_matrix *A, hawser_error *error) HAWSER_MUST_USE;
bool hw_cache_all_finite(const hw_cache_reader *in, const void *values, hawser_type type, uint64_t count);

/* Refuses options of a load that belong to the conversion. */
hawser_status hw_cache_check_wishes(const hawser_dataset *d, const char *path, const hawser_load *load,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Refuses dense data with fewer columns than a model has. */
hawser_status hw_cache_check_columns(const hawser_matrix *A, const char *path, const hawser_load *load,
                                     hawser_error *error) HAWSER_MUST_USE;
/* Fails because the other layout takes more memory than is allowed. `by_row`: the file has rows. */
hawser_status hw_cache_refuse_turn(const char *path, bool by_row, uint64_t need, uint64_t have, hawser_error *error);

#endif
