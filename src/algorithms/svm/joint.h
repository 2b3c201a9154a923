/*
 * joint.h - the dual solved jointly, for data that are small enough: the rows are gathered, and each problem is solved by
 * one block as if there were no others. So several blocks take as many iterations as one, share the problems, and get the
 * same bits.
 */
#ifndef HW_ALGORITHMS_SVM_JOINT_H
#define HW_ALGORITHMS_SVM_JOINT_H

#include "algorithms/svm/block.h"

/* Gathers the rows of all blocks where a block has problems. Collective over the blocks. */
hawser_status hw_svm_gather(hawser_context *context, hw_svm_block *block) HAWSER_MUST_USE;
/* Writes or reads back the copy, after hw_svm_block_visit: a block that alone does a clock over cannot gather its rows
 * again. */
void hw_svm_copy_visit(hawser_record *record, hawser_context *context, hw_svm_block *block);
/* Gives every block the best models and bounds of the problems that are not done. Collective over the blocks. */
hawser_status hw_svm_exchange(hawser_context *context, hw_svm_block *block) HAWSER_MUST_USE;

/* Returns the bytes of a copy of all rows, and the most blocks with a copy on one of `nodes`. */
uint64_t hw_svm_joint_bytes(const hw_svm *svm);
uint64_t hw_svm_joint_copies(const hw_svm *svm, uint32_t nodes);

#endif
