/*
 * joint.h - the dual solved jointly, for data that are small enough: the rows are gathered, and each problem is solved by one block as if there were
 * no others. So several blocks take as many iterations as one, share the problems, and get the same bits.
 */
#ifndef HW_ALGORITHMS_SVM_JOINT_H
#define HW_ALGORITHMS_SVM_JOINT_H

#include "algorithms/svm/block.h"

/* Gathers the rows of all blocks where a block that has problems lacks them. Collective over the blocks. */
hawser_status hw_svm_gather(hawser_context *context, hw_svm_block *block) HAWSER_MUST_USE;
/* Gives every block the best models and bounds of the problems that are not done. Collective over the blocks. */
hawser_status hw_svm_exchange(hawser_context *context, hw_svm_block *block) HAWSER_MUST_USE;

/* Returns the bytes of a copy of all rows, and the most blocks with a copy on one of `nodes`. */
uint64_t hw_svm_joint_bytes(const hw_svm *svm);
uint64_t hw_svm_joint_copies(const hw_svm *svm, uint32_t nodes);

#endif
