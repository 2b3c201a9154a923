/* load.h - the way from an input to a dataset, for hawser_dataset_load and for tests and fuzzers. */
#ifndef HW_DATA_LOAD_H
#define HW_DATA_LOAD_H

#include "data/source/parse.h"

/* Loads from a piece of memory that is read like a file called `name`. chunk_bytes 0: chosen. */
hawser_status hw_load_memory(const char *name, const char *text, size_t bytes, size_t chunk_bytes, const hawser_load *load,
                             hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;

/* hawser_dataset_load of what is one of a job's loads: `memory`, not 0, is the limit where the caller gives none. */
hawser_status hw_load_within(const char *const *paths, size_t count, const hawser_load *load, uint64_t memory,
                             hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;

/* The same of a CSV input whose cells are kept as a table (dataset->table), whatever they look like. */
hawser_status hw_load_as_table(const char *const *paths, size_t count, const hawser_load *load, uint64_t memory,
                               hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;

/* Target, weights, offset and names that lie in files of their own. */
hawser_status hw_load_side_files(hw_job *job, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;
/* The same for a dataset that was put together otherwise. */
hawser_status hw_load_sides(hawser_dataset *dataset, const hawser_load *load, uint64_t memory,
                            hawser_error *error) HAWSER_MUST_USE;

#endif
