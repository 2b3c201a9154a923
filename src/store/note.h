/* note.h - what a store notes down for a history (docs/history.md): what stripes did, and what clients asked for and got. */
#ifndef HW_STORE_NOTE_H
#define HW_STORE_NOTE_H

#include "history/record.h"
#include "store/client.h"
#include "store/holding.h"
#include "store/stripe.h"

/* All of these do nothing where the log is NULL. */
void hw_note_table(hw_log *log, const hw_table_spec *spec, uint32_t number, uint64_t first, uint64_t last, uint32_t workers);
/* A piece has been done, or has to wait. */
void hw_note_piece(const hw_stripe *stripe, const hw_piece *piece);
void hw_note_waits(const hw_stripe *stripe, const hw_piece *piece);
/* A pull that is done again has been refused. */
void hw_note_refused(const hw_stripe *stripe, const hw_piece *piece);

/* Of a push that begins, of `rows` rows, what goes and what does not. */
void hw_note_held(hw_log *log, const hw_order *order, uint64_t task, size_t rows, const hw_passed *passed);
/* A client's task begins; ends, well or not. */
void hw_note_asked(hw_log *log, const hw_table_spec *spec, const hw_order *order, uint64_t task);
void hw_note_answer(hw_log *log, const hw_table_spec *spec, const hw_order *order, uint64_t task, bool failed);

#endif
