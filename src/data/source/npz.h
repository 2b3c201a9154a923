/* npz.h - an array of an .npz file, in place of a mapped archive. */
#ifndef HW_DATA_NPZ_H
#define HW_DATA_NPZ_H

#include <stdbool.h>

#include "data/source/budget.h"

/* Returns where the name of the archive ends in "FILE.npz:NAME", the name of an array, or 0: the path is a file's. A file of
 * the whole name is itself. */
size_t hw_npz_split(const char *path);
/* Unpacks one .npy file of an archive into memory of its own, which the caller frees with hw_pages_free. `name`: the array;
 * NULL: the only one. *pages stays NULL if the archive has no .npy files, and if they are a sparse matrix of scipy (*sparse)
 * and no name is given. */
hawser_status hw_npz_unpack(const void *bytes, size_t size, const char *path, const char *name, hw_budget *budget,
                            void **pages, size_t *unpacked, bool *sparse, hawser_error *error) HAWSER_MUST_USE;

#endif
