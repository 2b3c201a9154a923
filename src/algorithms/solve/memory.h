/*
 * memory.h - what the parts of a solver remember from clock to clock, visited by hawser_record: to be written, or to be read into parts that are new.
 * What follows from the data is not visited.
 */
#ifndef HW_ALGORITHMS_SOLVE_MEMORY_H
#define HW_ALGORITHMS_SOLVE_MEMORY_H

#include "algorithms/solve/accelerate.h"
#include "algorithms/solve/descent.h"
#include "algorithms/solve/gram.h"
#include "algorithms/solve/scan.h"
#include "hawser/record.h"

/* Visits a number or a struct without pointers. */
#define HW_LINEAR_REMEMBER(record, field) hawser_record_bytes(record, &(field), sizeof(field))

/* The last scan of a block with columns X, and the full scan that it refers to. */
void hw_linear_scan_visit(hawser_record *record, hw_linear_scan *scan, const hawser_matrix *X);
/* The slots of a matrix over so many columns, and their products. The next hw_linear_gram_admit makes the view. */
void hw_linear_gram_visit(hawser_record *record, hw_linear_gram *gram, size_t columns);
/* The columns of the members, and their terms. */
void hw_linear_members_visit(hawser_record *record, hw_linear_members *members);
/* The points of the last rounds. */
void hw_linear_accelerator_visit(hawser_record *record, hw_linear_accelerator *accelerator);

#endif
