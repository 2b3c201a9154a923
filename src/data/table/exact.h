/* exact.h - labels that are whole numbers of 64 bits, in formats whose targets have no words: they become the words of the
 * schema's target, as those of CSV do (hawser_load.labels). */
#ifndef HW_DATA_TABLE_EXACT_H
#define HW_DATA_TABLE_EXACT_H

#include "data/source/parse.h"
#include "data/table/levels.h"
#include "data/table/whole.h"

/* Returns whether labels are read as words: one is known that a double may not hold, or the model has such words. */
bool hw_exact_is_wanted(const hw_reading *reading);
/* Reads the label at [begin, stop), which is a number, and stores the number of its text among those that the reading has
 * met, or among the model's words. Thread-safe. */
hawser_status hw_exact_label(hw_reading *reading, const hw_chunk *chunk, const char *begin, const char *stop, double *label,
                             hawser_error *error) HAWSER_MUST_USE;
/* Like hw_exact_label, for a text that hw_label_read has written. `name`: of the input. */
hawser_status hw_exact_text(hw_reading *reading, const char *name, const char *text, double *label,
                            hawser_error *error) HAWSER_MUST_USE;

/* Gives the labels of a whole dataset to its target: as words in ascending order, or as numbers if a double holds all of
 * them. Of a part, whose labels the other parts do not know yet, they stay with the dataset. */
hawser_status hw_exact_settle(hw_reading *reading, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;
/* Changes the numbers of labels->texts in a target to those of `sorted`, which has all of them. */
void hw_exact_renumber(const hw_levels *labels, const hw_levels *sorted, double *target, size_t rows);
/* Makes a schema of the dataset's columns, with these words of the target. */
hawser_status hw_exact_schema(hawser_dataset *dataset, const hw_levels *sorted, hawser_error *error) HAWSER_MUST_USE;

#endif
