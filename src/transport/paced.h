/* paced.h - what a rate limit tells apart: the messages that it delays, and those that must not overtake them. */
#ifndef HW_TRANSPORT_PACED_H
#define HW_TRANSPORT_PACED_H

#include "transport/transport.h"

static inline bool hw_paces_update(const hw_envelope *envelope)
{
    return envelope->kind == HW_MESSAGE_UPDATE || envelope->kind == HW_MESSAGE_ADDEND ||
           envelope->kind == HW_MESSAGE_COMBINED || envelope->kind == HW_MESSAGE_SHARE;
}

static inline bool hw_paces_stored(const hw_envelope *envelope)
{
    return envelope->kind == HW_MESSAGE_ASK || envelope->kind == HW_MESSAGE_ANSWER;
}

/* Returns true for the messages by which nodes and clients learn that all requests before have arrived: a clock gets no
 * reply. */
static inline bool hw_is_meeting(const hw_envelope *envelope)
{
    return envelope->kind == HW_MESSAGE_DATA || envelope->kind == HW_MESSAGE_CLIENT;
}

#endif
