/*
 * memory.h - visits the fields that the parts of a solver keep from clock to clock, to write them or to read them into new
 * parts (hawser/record.h). Fields that follow from the data are not visited.
 */
#ifndef HW_ALGORITHMS_SOLVE_MEMORY_H
#define HW_ALGORITHMS_SOLVE_MEMORY_H

#include "algorithms/solve/accelerate.h"
#include "algorithms/solve/descent.h"
#include "algorithms/solve/gram.h"
#include "algorithms/solve/scan.h"
#include "algorithms/solve/shared.h"
#include "hawser/hawser.h"
#include "hawser/record.h"

/* Visits a number or a struct without pointers. */
#define HW_LINEAR_REMEMBER(record, field) hawser_record_bytes(record, &(field), sizeof(field))

/* Visits whether a block was prepared, and for which fold. A record that is read prepares the block. Returns false if no
 * more of it is to be visited. */
bool hw_linear_prepared_visit(hawser_record *record, hawser_context *context, bool prepared, uint32_t *fold,
                              hawser_status (*prepare)(hawser_context *context, uint32_t fold, hawser_error *error));
/* Visits the last scan of a block with columns X, and the full scan that it refers to. */
#define HW_LINEAR_SCAN_KEPT 3.25 /* the most numbers of 8 bytes for each column that it visits, besides 2 for each row */
void hw_linear_scan_visit(hawser_record *record, hw_linear_scan *scan, const hawser_matrix *X);
/* Visits the slots of a matrix over `columns` columns, and their products. The next hw_linear_gram_admit makes the view. */
void hw_linear_gram_visit(hawser_record *record, hw_linear_gram *gram, size_t columns);
/* Visits what the blocks of a process share (shared.h). `shared` is a hw_linear_shared. */
void hw_linear_shared_visit(hawser_record *record, void *shared);
/* Visits the columns of the members, and their terms. */
void hw_linear_members_visit(hawser_record *record, hw_linear_members *members);
/* Visits the points of the last rounds. The candidate is proposed and taken within one unit. */
void hw_linear_accelerator_visit(hawser_record *record, hw_linear_accelerator *accelerator);

#endif
