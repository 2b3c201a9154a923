/*
 * source.h - where the rows of a load by row came from: every node keeps what is needed to read the rows of any block again,
 * alone and without a collective.
 *
 * That is the load itself, how many rows each node has read, what the nodes have agreed on (schema and means are the
 * dataset's), and a digest of each block. A block's rows are in the parts that overlap it. These parts are read with the
 * same readers, and what is read is compared with the digest.
 */
#ifndef HW_RUNTIME_INPUT_SOURCE_H
#define HW_RUNTIME_INPUT_SOURCE_H

#include "runtime/input/loading.h"

typedef struct hw_source_file {
    char *name;
    uint64_t bytes;
    int64_t seconds, nanoseconds; /* of its last change */
    bool regular;                 /* not a pipe, which can be read once only */
} hw_source_file;

struct hw_source {
    hawser_load load;      /* a copy, whose texts, schema and means are owned */
    hawser_schema *schema; /* load.schema; owned */
    double *means;         /* load.means; owned */
    char **paths;          /* owned */
    size_t path_count;
    hw_source_file *files; /* that the paths name, and those of a target, weights and offset */
    size_t file_count;
    uint32_t parts;        /* 0: the input is read as a whole */
    bool turned;           /* it is a cache by columns, of which each node has read a share */
    hw_shard_facts *facts; /* of each part */
    hw_shard_facts whole;
    bool quoted;          /* as in hw_loading */
    bool as_table, fills; /* fills: missing numbers become the means of the dataset */
    unsigned sides;       /* as in hw_loading */
    size_t rows, cols;    /* of the whole */
    uint32_t blocks;
    uint64_t *digests; /* of all blocks */
};

/* Lets a dataset that was loaded by row keep its source. `parted`: its nodes have read parts. Collective. */
hawser_status hw_source_keep(hw_loading *l, hawser_dataset *dataset, bool parted, hawser_error *error) HAWSER_MUST_USE;

/* Fails because the input differs from what was loaded. Names the file that has changed, if its length or time says so. */
hawser_status hw_source_changed(const struct hw_source *source, uint32_t block, hawser_error *error) HAWSER_MUST_USE;

/* A block that was read again. */
typedef struct hw_block_again {
    const hw_row_block *block;
    struct hw_row_blocks *rows; /* has it */
    hawser_dataset *mapped;     /* has the mapping of which the rows are a view; or NULL */
} hw_block_again;

/* source_read.c: reads the rows of any block of the whole, on any node, and compares their digest. Returns HAWSER_BAD_INPUT
 * and names the file if it has changed, HAWSER_BAD_ARGUMENT if the dataset has no source that can be read again. Blocks for
 * the reading, and waits for no node. The caller calls hw_block_again_free, also after a failure. */
hawser_status hw_read_block_again(const hawser_job *job, const hawser_dataset *dataset, uint32_t block,
                                  hw_block_again *again, hawser_error *error) HAWSER_MUST_USE;
void hw_block_again_free(hw_block_again *again);

#endif
