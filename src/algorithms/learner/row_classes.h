/* row_classes.h - the weights of classes (--class-weight) where rows are split over the blocks. */
#ifndef HW_ALGORITHMS_LEARNER_ROW_CLASSES_H
#define HW_ALGORITHMS_LEARNER_ROW_CLASSES_H

#include "algorithms/learner/row_path.h"

/* Fills path->class_weights if the option is given, of path->labels: `balanced` counts the rows that are not held out, by a
 * short program over the rows. Collective. */
hawser_status hw_row_path_class_weights(hw_row_path *path, hawser_job *job, const hawser_training_input *input,
                                        hawser_error *error) HAWSER_MUST_USE;

#endif
