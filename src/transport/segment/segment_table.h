/* segment_table.h - the segments that the endpoints of one transport expose, and the puts that reach them; for transports. */
#ifndef HW_TRANSPORT_SEGMENT_SEGMENT_TABLE_H
#define HW_TRANSPORT_SEGMENT_SEGMENT_TABLE_H

#include "transport/segment/segment.h"
#include "transport/segment/slot.h"
#include "transport/transport.h"

typedef struct hw_segment_table hw_segment_table;

hawser_status hw_segment_table_new(uint32_t endpoints, hw_segment_table **segments, hawser_error *error) HAWSER_MUST_USE;
/* Frees the table with all segments, retired or not. No call may be in progress. */
void hw_segment_table_free(hw_segment_table *segments);

/* As hw_transport_ops.expose. */
hawser_status hw_segment_table_expose(hw_segment_table *segments, uint32_t endpoint, const hw_segment_shape *shape,
                                      hw_segment **segment, hawser_error *error) HAWSER_MUST_USE;
/* Applies the put that `message` describes (transport.h) to the segment of its envelope's destination; the message stays the caller's. A
 * put that comes too late is HAWSER_OK. HAWSER_BAD_ARGUMENT: longer than a slot, or from one who has none: whoever sent it is wrong.
 * Never blocks, takes no lock; any thread, one at a time for a source. */
hawser_status hw_segment_table_put(hw_segment_table *segments, const hw_message *message,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Where a put lies: the slot of the sender that the shape named in this place. Not after retire. */
hw_control *hw_segment_slot(const hw_segment *segment, uint32_t place, uint64_t sequence);
/* Turns a fence that has come by into its answer: source and destination change places, .epoch and .count are filled. */
void hw_segment_table_answer(hw_segment_table *segments, hw_message *fence);

#endif
