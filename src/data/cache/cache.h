/* cache.h - Hawser's own mapped file. It starts with HW_CACHE_MAGIC. */
#ifndef HW_DATA_CACHE_H
#define HW_DATA_CACHE_H

#include "data/dataset.h"

#define HW_CACHE_MAGIC "HWCACHE1"

/* Maps `path` and makes a dataset whose arrays lie in the mapping. Of load's wishes: columns beyond `columns` are left out and counted,
 * and dense data with fewer are refused (of sparse data the missing ones are zeros); a target of "none" is left out; rows_layout turns
 * the matrix, a copy in memory; other targets, weights, offsets, names, an index_base and a type that the file does not hold are refused. */
hawser_status hw_cache_open(const char *path, const hawser_load *load, hawser_dataset **dataset,
                            hawser_error *error) HAWSER_MUST_USE;

#endif
