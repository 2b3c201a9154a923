/* node_rows.h - rows that the nodes of a job have already: what each node reports about its own, and whether all are rows of
 * one matrix. */
#ifndef HW_RUNTIME_INPUT_NODE_ROWS_H
#define HW_RUNTIME_INPUT_NODE_ROWS_H

#include "runtime/input/loading.h"

/* What a node reports about its rows. */
typedef struct hw_node_rows {
    uint64_t first, rows, whole; /* first and whole as the caller declares them */
    uint64_t cols;
    uint64_t words;  /* a hash of the names of columns and targets and of the words of the target */
    uint64_t means;  /* a hash of the means that have replaced missing values */
    uint64_t digest; /* of all numbers, where the caller compares them */
    uint32_t layout, type, kinds, further;
    int32_t index_base;
    uint32_t split; /* the caller's */
} hw_node_rows;

/* Describes the rows of a dataset; `first`, `whole`, `digest` and `split` are zero. NULL: no rows. */
hw_node_rows hw_node_rows_of(const hawser_dataset *own);
/* Refuses two nodes, both with rows, whose rows are not rows of one matrix. `call` is the public function that reports
 * it. */
hawser_status hw_node_rows_compare(const char *call, const hw_node_rows *a, uint32_t i, const hw_node_rows *b, uint32_t j,
                                   hawser_error *error) HAWSER_MUST_USE;

/* node_names.c: packs names, schema and means of a dataset, and gives them to one without rows, which owns from->data then.
 * `means`: there are some; `node` is where the bytes are from. */
hawser_status hw_node_rows_pack_names(const hawser_dataset *own, hw_bytes *out, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_node_rows_take_names(hw_bytes *from, uint32_t node, bool means, hawser_dataset *dataset,
                                      hawser_error *error) HAWSER_MUST_USE;

#endif
