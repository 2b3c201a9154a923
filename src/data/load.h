/* load.h - loads an input into a dataset, for hawser_dataset_load and for tests and fuzzers. */
#ifndef HW_DATA_LOAD_H
#define HW_DATA_LOAD_H

#include "data/source/parse.h"

struct hw_cache_part;

/* Loads from memory as if it were a file called `name`. chunk_bytes 0: chosen. */
hawser_status hw_load_memory(const char *name, const char *text, size_t bytes, size_t chunk_bytes, const hawser_load *load,
                             hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;

/* Opens part load->part of a cache whose layout is not the one that the load wants (hw_cache_open_part); of any other input
 * *dataset is NULL. */
hawser_status hw_load_part_of_cache(const char *const *paths, size_t count, const hawser_load *load,
                                    struct hw_cache_part *part, hawser_dataset **dataset,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Like hawser_dataset_load, for one of several loads of a job: `memory`, if not 0, is the limit if the caller sets none. */
hawser_status hw_load_within(const char *const *paths, size_t count, const hawser_load *load, uint64_t memory,
                             hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;

/* Like hw_load_within, for a part whose reader compares notes with those of the others. *quoted: fields of a CSV input may
 * have line ends, so that it is read from its start to find where this part begins; set if this part has met one. */
hawser_status hw_load_part(const char *const *paths, size_t count, const hawser_load *load, uint64_t memory, bool *quoted,
                           hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;

/* Loads a CSV input, and keeps its cells as a table (dataset->table), whatever they look like. */
hawser_status hw_load_as_table(const char *const *paths, size_t count, const hawser_load *load, uint64_t memory, bool quoted,
                               hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;

/* What hawser_rows_open shares with loads. */
hawser_status hw_load_check(const char *const *paths, size_t count, const hawser_load *load,
                            hawser_error *error) HAWSER_MUST_USE;
/* If the status is HAWSER_STOP, writes into `error` which input was cancelled, and how much of it was read. Returns the
 * status. */
hawser_status hw_load_cancelled(const hw_input *input, hawser_status status, hawser_error *error) HAWSER_MUST_USE;
void hw_load_begin(hw_reading *reading, const hawser_load *load, uint64_t memory, bool as_table);
/* Finds the format of an opened input, and refuses what is not read, and options that it does not have. */
hawser_status hw_load_format(hw_reading *reading, hawser_format *format, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether an opened input is a cache file, which is mapped by its name. */
bool hw_load_is_cache(const hw_reading *reading, const hawser_load *load);
/* Compares names of columns and words of the target with the model's, where the reader has not matched them. */
hawser_status hw_load_matches(const char *path, const hawser_dataset *dataset, const hawser_load *load,
                              hawser_error *error) HAWSER_MUST_USE;
/* Loads an input that was opened, of which perhaps heads were read, and ends the reading whatever happens. */
hawser_status hw_load_opened(hw_reading *reading, const char *const *paths, size_t count, const hawser_load *load,
                             hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;

/* Target, weights, offset and names that lie in files of their own. */
hawser_status hw_load_side_files(hw_reading *reading, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;
/* Reads the weights of `rows` rows from a file of their own, if they have one and are not read yet: means and levels need
 * them before the other files are read. */
hawser_status hw_load_weights(hw_reading *reading, uint64_t rows, hawser_dataset *dataset,
                              hawser_error *error) HAWSER_MUST_USE;
/* Like hw_load_weights, for a dataset that was assembled elsewhere. */
hawser_status hw_load_weights_of(hawser_dataset *dataset, const hawser_load *load, uint64_t memory, uint64_t rows,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Reads the numbers of a file of weights before the number of rows is known. None if there is no such file, or if it has
 * others. The caller frees *weights. */
hawser_status hw_load_weights_ahead(hw_reading *reading, double **weights, uint64_t *count,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Refuses a negative weight. `first`: the row of the first one, from 0. `weights` may be NULL. */
hawser_status hw_check_weights(const char *name, const double *weights, size_t count, size_t first,
                               hawser_error *error) HAWSER_MUST_USE;
/* Like hw_load_side_files, for a dataset that was assembled elsewhere. */
hawser_status hw_load_sides(hawser_dataset *dataset, const hawser_load *load, uint64_t memory,
                            hawser_error *error) HAWSER_MUST_USE;

#endif
