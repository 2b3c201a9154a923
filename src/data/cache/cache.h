/* cache.h - Hawser's own mapped file format. A file starts with HW_CACHE_MAGIC. */
#ifndef HW_DATA_CACHE_H
#define HW_DATA_CACHE_H

#include "data/dataset.h"

#define HW_CACHE_MAGIC "HWCACHE1"

/* Maps `path` and makes a dataset whose arrays are in the mapping. Of the load's options: columns from `columns` on are left
 * out and counted, and dense data with fewer are refused (in sparse data the missing ones are zeros). A target of "none"
 * leaves the target out. rows_layout converts the matrix, to a copy in memory. Other targets, weights, offsets, names, and
 * an index_base or a type that differs from the file's are refused. */
hawser_status hw_cache_open(const char *path, const hawser_load *load, hawser_dataset **dataset,
                            hawser_error *error) HAWSER_MUST_USE;
/* Like hw_cache_open, to read rows in pieces: the matrix keeps its layout, and pages that were checked are released from
 * memory. */
hawser_status hw_cache_open_pieces(const char *path, const hawser_load *load, hawser_dataset **dataset,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Returns the checksum of the whole file behind a dataset whose arrays are in the mapping: its header has the checksums of
 * all sections. */
uint64_t hw_cache_digest(const hawser_dataset *dataset);

#endif
