/*
 * part.h - the share of a cache file that one of several nodes reads, if the file has the other layout than the load: some
 * of its lines, which are then dealt to the nodes that need their entries.
 *
 * A section has one checksum for all of its bytes, so the nodes compute it one after the other: each continues where the one
 * before it has stopped (hw_cache_part_check). A piece of which two nodes have a part is read by both, so that no node uses
 * bytes that it has not checked.
 */
#ifndef HW_DATA_CACHE_PART_H
#define HW_DATA_CACHE_PART_H

#include "data/cache/format.h"

struct hw_cache_part {
    hawser_matrix whole; /* the shape that is loaded, in the layout of the file; no arrays */
    size_t first, end;   /* lines of the file */
    uint32_t part, parts;
    uint64_t digest; /* of the header, which has the checksums of all sections */
};
typedef struct hw_cache_part hw_cache_part;

/* How far the nodes before this one have come with the checksums. Zeros for the first one. */
typedef struct hw_cache_progress {
    uint64_t line;
    struct {
        uint64_t before, after; /* the piece in which this node begins */
        uint64_t has_after;
    } of[HW_CACHE_SECTIONS];
} hw_cache_progress;

/* Maps a cache and makes a dataset of part load->part of load->parts of its lines, with what belongs to them, if its layout
 * is not the one that the load wants; else *dataset is NULL. What belongs to rows is that of these lines if the lines are
 * rows, else that of all rows. Names and means are those of the whole, in memory of the dataset. Columns from load->columns
 * on are left out and counted. Options are refused as by hw_cache_open. Checksums of what is used are not checked yet. */
hawser_status hw_cache_open_part(const char *path, const hawser_load *load, hw_cache_part *part, hawser_dataset **dataset,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Continues the checksums with the bytes of this part, and compares those of sections that every node reads. */
hawser_status hw_cache_part_check(const hw_cache_part *part, const hawser_dataset *dataset, const char *path,
                                  const hawser_cancellation *cancellation, hw_cache_progress *progress,
                                  hawser_error *error) HAWSER_MUST_USE;

#endif
