/* note.h - records of a store for a history (docs/history.md): the work of stripes, and the requests and replies of
 * clients. */
#ifndef HW_STORE_NOTE_H
#define HW_STORE_NOTE_H

#include "history/record.h"
#include "store/client.h"
#include "store/holding.h"
#include "store/stripe.h"

/* All these functions do nothing if the log is NULL. */
void hw_note_table(hw_log *log, const hw_table_spec *spec, uint32_t number, uint64_t first, uint64_t last, uint32_t workers);
/* Records that a piece was done, or must wait. */
void hw_note_piece(const hw_stripe *stripe, const hw_piece *piece);
void hw_note_waits(const hw_stripe *stripe, const hw_piece *piece);
/* Records that a repeated pull was refused. */
void hw_note_refused(const hw_stripe *stripe, const hw_piece *piece);

/* Records what is sent and what is held of a push of `rows` rows. */
void hw_note_held(hw_log *log, const hw_order *order, uint64_t task, size_t rows, const hw_passed *passed);
/* Records the start of a client's task, which is cut into `slices`, and how it ended. */
void hw_note_asked(hw_log *log, const hw_table_spec *spec, const hw_order *order, uint64_t task, uint32_t slices);
void hw_note_answer(hw_log *log, const hw_table_spec *spec, const hw_order *order, uint64_t task, uint32_t slices,
                    hawser_status ended);

#endif
