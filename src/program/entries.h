/* entries.h - how many numbers an entries state has (hawser_state_kind): one for each stored entry of its data, or as many
 * as the entry's value says. */
#ifndef HW_PROGRAM_ENTRIES_H
#define HW_PROGRAM_ENTRIES_H

#include "program/program.h"

/* Stores where the numbers of each row of a part of the data begin, and at the end their number: offsets has part->rows + 1
 * items. Refuses a value that is no number of numbers, with its row and column. */
hawser_status hw_entries_offsets(const hawser_state *state, const hawser_matrix *part, size_t *offsets,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Stores how many numbers a part of the data has, which is refused alike. */
hawser_status hw_entries_count(const hawser_state *state, const hawser_matrix *part, uint64_t *count,
                               hawser_error *error) HAWSER_MUST_USE;
/* Stores how many numbers each block has of data whose rows are held by block, and of other nodes' blocks what they have
 * sent (hw_row_blocks.counted); before that, what they have if their values are like those of this node. */
hawser_status hw_entries_held(const hawser_state *state, uint64_t *counts, hawser_error *error) HAWSER_MUST_USE;
/* Stores how many numbers the whole has. Refuses a state of which the program expects other numbers. */
hawser_status hw_entries_settle(hawser_state *state, hawser_error *error) HAWSER_MUST_USE;

#endif
