/* cache.h - Hawser's own mapped file. It starts with HW_CACHE_MAGIC. */
#ifndef HW_DATA_CACHE_H
#define HW_DATA_CACHE_H

#include "data/dataset.h"

#define HW_CACHE_MAGIC "HWCACHE1"

/* Maps `path` and makes a dataset whose arrays lie in the mapping. Honours load->columns, index_base, type and layout by refusing
 * what the file does not hold. */
hawser_status hw_cache_open(const char *path, const hawser_load *load, hawser_dataset **dataset,
                            hawser_error *error) HAWSER_MUST_USE;

#endif
