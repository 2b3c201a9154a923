/* row_folds.h - the folds of rows that are split over the blocks. */
#ifndef HW_ALGORITHMS_LEARNER_ROW_FOLDS_H
#define HW_ALGORITHMS_LEARNER_ROW_FOLDS_H

#include "algorithms/choice/choice.h"

/* Fills the fold of each row of the whole data, from 1 on, as hw_deal_folds does: it depends on the data, the options
 * and the job's seed alone. If classes or groups decide, every node collects these by a short program over the rows.
 * `classes`: the target has classes. Collective. The caller frees *fold. */
hawser_status hw_row_folds(hawser_job *job, const hawser_training_input *input, const hw_choice *choice, bool classes,
                           uint32_t **fold, hawser_error *error) HAWSER_MUST_USE;

#endif
