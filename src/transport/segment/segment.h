/*
 * segment.h - memory that other endpoints write to directly, each to its own slots. The endpoint takes no part in a put.
 *
 * The second service of a transport, for values of which only the latest counts (MALT's dstorm, Li et al. 2015, section 3.1:
 * per-sender receive queues that are written one-sided and overwritten when full). Messages (transport.h) are for data that
 * must arrive exactly once.
 *
 * The receiver exposes a segment: a number, a generation, the senders, the slots per sender, and the size of a slot. A
 * sender numbers its puts; put n is written to slot n % slots. Each slot ends in a sequence and a checksum (slot.h). The
 * reader copies the slot; if the parts do not match, it reads again or skips the slot, and never returns it. With one slot,
 * a put in progress hides the put before. With two or more, the last finished put can be read, unless its sender overwrites
 * it while the reader copies.
 *
 * Only the receiver ends a segment: it retires it. From then on writes to it have no effect and are counted, whichever
 * sender they are from and however late they arrive. A put cannot check a view number, but its generation is compared on
 * arrival and is part of the slot's checksum. The number may be exposed again under a higher generation.
 *
 * Nothing here waits. A reader returns what it finds. So the deadlines are those of the caller's waits for messages.
 *
 * The nodes of a run put their status into such segments (runtime/session/status.h).
 */
#ifndef HW_TRANSPORT_SEGMENT_SEGMENT_H
#define HW_TRANSPORT_SEGMENT_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"
#include "transport/segment/slot.h"
#include "transport/transport.h"

struct hw_segment_shape {
    uint32_t number;         /* number among the endpoint's segments */
    uint32_t generation;     /* above those of earlier segments with this number; from 1 */
    const uint32_t *senders; /* endpoints that may put; copied */
    uint32_t sender_count;
    uint32_t slots; /* slots of each sender; at least 1 */
    size_t size;    /* bytes of a slot, at least 1 */
};

/* A put that a read found. */
typedef struct hw_fresh {
    uint32_t sender;
    uint64_t sequence;
    uint64_t missed; /* puts between the last one that the reader read and this one: overwritten, or never sent */
    size_t length;
} hw_fresh;

typedef enum hw_look {
    HW_LOOK_NOTHING, /* no put after the last one that the reader read */
    HW_LOOK_FRESH,
    HW_LOOK_TORN /* no whole put: one is being written, or its writer died; read again later */
} hw_look;

/* Counts since the segment was exposed. */
typedef struct hw_segment_figures {
    uint64_t puts, bytes; /* puts that took effect; bytes of their data */
    uint64_t late;        /* puts without effect: the segment was retired, or of another generation */
    uint64_t backward;    /* puts without effect: the sequence was not above that of the sender's put before */
    uint64_t torn;        /* reads that returned HW_LOOK_TORN or an older put */
} hw_segment_figures;

/* Copies the newest whole put of `sender` with a sequence above `after` into `to`, which has `size` bytes. With
 * HW_LOOK_FRESH, *found is filled. A sender without slots has no puts. Never blocks. Any number of threads, but not after
 * retire. */
hw_look hw_segment_newest(hw_segment *segment, uint32_t sender, uint64_t after, void *to, hw_fresh *found);
/* Reads the puts of all senders, in the order of the shape, and returns the number of those that it found. after[]
 * (sender_count) holds the last sequence read per sender and is advanced; each(argument, found, buffer) is called for each
 * new put; buffer has `size` bytes. Torn puts are left for the next scan. */
uint32_t hw_segment_scan(hw_segment *segment, uint64_t *after, void *buffer,
                         void (*each)(void *argument, const hw_fresh *found, const void *data), void *argument);

uint32_t hw_segment_generation(const hw_segment *segment);
/* Any thread, until the transport is freed, also after retire. */
void hw_segment_figures_of(const hw_segment *segment, hw_segment_figures *figures);

/* Retires the segment: no put has an effect from now on. The memory is freed when the last put in progress has ended. Never
 * blocks. Owner only, once, and not during a read. The handle stays valid for figures until the transport is freed. */
void hw_segment_retire(hw_segment *segment);

/* ---------------------------------------------------------------------------------------------- for transports ---- */

/* The segments that the endpoints of one transport expose. */
typedef struct hw_segment_table hw_segment_table;

hawser_status hw_segment_table_new(uint32_t endpoints, hw_segment_table **segments, hawser_error *error) HAWSER_MUST_USE;
/* Frees the table with all segments, retired or not. No call may be in progress. */
void hw_segment_table_free(hw_segment_table *segments);

/* Does the work of hw_transport_ops.expose. */
hawser_status hw_segment_table_expose(hw_segment_table *segments, uint32_t endpoint, const hw_segment_shape *shape,
                                      hw_segment **segment, hawser_error *error) HAWSER_MUST_USE;
/* Applies the put that `message` describes (transport.h) to the segment of its envelope's destination. The caller keeps the
 * message. Returns HAWSER_OK for a late put, and HAWSER_BAD_ARGUMENT for one that is longer than a slot or from a sender
 * without slots: its sender is at fault. Never blocks, takes no lock. Any thread, one at a time per source. */
hawser_status hw_segment_table_put(hw_segment_table *segments, const hw_message *message,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Returns the slot for a sequence of the sender at this place of the shape. Not after retire. */
hw_slot_word *hw_segment_slot(const hw_segment *segment, uint32_t place, uint64_t sequence);

#endif
