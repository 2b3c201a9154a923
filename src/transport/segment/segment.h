/*
 * segment.h - memory of an endpoint into which others put, each into slots of its own, without the endpoint's doing anything.
 *
 * The second service of a transport, for values of which only the latest counts (MALT's dstorm, Li et al. 2015, section 3.1: per-sender
 * receive queues that are written one-sided and overwritten when full). Messages (transport.h) are for what must arrive, each once.
 *
 * The receiver exposes a segment: a number, a generation, who may put, how many slots each of them has, and their size. A sender numbers
 * its puts; put n goes to slot n % slots. Each slot ends in sequence and checksum (slot.h): the reader copies it, and what
 * does not belong together is looked at again or passed over, never returned. With one slot a put under way hides the one before;
 * with two or more the last finished one is there unless its sender goes round them while the reader copies.
 *
 * Fencing is the receiver's alone: it retires the segment. From then on writes to it have no effect and are counted, whoever they
 * come from and however long they have been under way; a put cannot look at a view number, but its generation is compared where
 * it arrives and stands in the slot's checksum. The number may be exposed again under a higher generation.
 *
 * Nothing here waits: a reader finds what there is, a fence is answered by a message. So deadlines are those of whoever waits for messages.
 *
 * Used by the board of a run's nodes (runtime/session/status.h).
 */
#ifndef HW_TRANSPORT_SEGMENT_SEGMENT_H
#define HW_TRANSPORT_SEGMENT_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

typedef struct hw_segment hw_segment;

typedef struct hw_segment_shape {
    uint32_t number;         /* of the endpoint's segments */
    uint32_t generation;     /* above those of segments that had the number before; from 1 */
    const uint32_t *senders; /* endpoints that may put; copied */
    uint32_t sender_count;
    uint32_t slots; /* of each sender; at least 1 */
    size_t size;    /* bytes of a slot, at least 1 */
} hw_segment_shape;

/* A put that was found. */
typedef struct hw_fresh {
    uint32_t sender;
    uint64_t sequence;
    uint64_t missed; /* sequences after the one that the reader has seen and before this: overwritten, or never put */
    size_t length;
} hw_fresh;

typedef enum hw_look {
    HW_LOOK_NOTHING, /* nothing after what the reader has seen */
    HW_LOOK_FRESH,
    HW_LOOK_TORN /* there is something, but not a whole one: it is being written, or its writer died meanwhile. Look again later. */
} hw_look;

/* Counted since the segment was exposed. */
typedef struct hw_segment_figures {
    uint64_t puts, bytes; /* taken; of data */
    uint64_t late;        /* without effect: the segment was retired, or the put was for another generation */
    uint64_t backward;    /* without effect: sequence not above that of the sender's put before */
    uint64_t torn;        /* looks that ended in HW_LOOK_TORN, or had to take an older put */
} hw_segment_figures;

/* The newest whole put of `sender` with a sequence above `after`, copied into `to` (`size` bytes of room). HW_LOOK_FRESH: *found is
 * filled. A sender without slots here has put nothing. Never blocks; any thread, any number at a time, but not after retire. */
hw_look hw_segment_newest(hw_segment *segment, uint32_t sender, uint64_t after, void *to, hw_fresh *found);
/* The same for all senders, in the order in which the shape named them: after[] (sender_count) is what the reader has seen of each, and is
 * advanced; each(argument, found, buffer) is called for what is fresh; buffer has `size` bytes. How many there were. Torn ones are left
 * for the next scan. */
uint32_t hw_segment_scan(hw_segment *segment, uint64_t *after, void *buffer,
                         void (*each)(void *argument, const hw_fresh *found, const void *data), void *argument);

uint32_t hw_segment_generation(const hw_segment *segment);
/* Any thread, at any time until the transport is freed, retired or not. */
void hw_segment_figures_of(const hw_segment *segment, hw_segment_figures *figures);

/* No put has an effect from now on; the memory goes when the last put under way has ended. The owner's, once; not while somebody reads.
 * The handle stays good for figures until the transport is freed. Never blocks. */
void hw_segment_retire(hw_segment *segment);

#endif
