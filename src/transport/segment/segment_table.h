/* segment_table.h - the segments that the endpoints of one transport expose, and the puts into them; for transports. */
#ifndef HW_TRANSPORT_SEGMENT_SEGMENT_TABLE_H
#define HW_TRANSPORT_SEGMENT_SEGMENT_TABLE_H

#include "transport/segment/segment.h"
#include "transport/segment/slot.h"
#include "transport/transport.h"

typedef struct hw_segment_table hw_segment_table;

hawser_status hw_segment_table_new(uint32_t endpoints, hw_segment_table **segments, hawser_error *error) HAWSER_MUST_USE;
/* Frees the table with all segments, retired or not. No call may be in progress. */
void hw_segment_table_free(hw_segment_table *segments);

/* Does the work of hw_transport_ops.expose. */
hawser_status hw_segment_table_expose(hw_segment_table *segments, uint32_t endpoint, const hw_segment_shape *shape,
                                      hw_segment **segment, hawser_error *error) HAWSER_MUST_USE;
/* Applies the put that `message` describes (transport.h) to the segment of its envelope's destination. The caller keeps the message.
 * Returns HAWSER_OK for a late put, and HAWSER_BAD_ARGUMENT for one that is longer than a slot or from a sender without slots: its sender
 * is at fault. Never blocks, takes no lock. Any thread, one at a time per source. */
hawser_status hw_segment_table_put(hw_segment_table *segments, const hw_message *message,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Returns the slot for a sequence of the sender at this place of the shape. Not after retire. */
hw_slot_word *hw_segment_slot(const hw_segment *segment, uint32_t place, uint64_t sequence);
/* Turns a received fence into its reply: swaps source and destination, and fills .epoch and .count. */
void hw_segment_table_answer(hw_segment_table *segments, hw_message *fence);

#endif
