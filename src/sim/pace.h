/* pace.h - the rate limit of a net (--rate), as transport/net/pace.c has it, on whole messages. */
#ifndef HW_SIM_PACE_H
#define HW_SIM_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/transport.h"

typedef struct sim_pace sim_pace;

/* The limit of a net, and the links that wait for it, in turn. */
typedef struct sim_bucket {
    double rate, tokens, paid_at; /* rate 0: no limit */
    bool hurries;                 /* messages of a store do not wait */
    sim_pace *first, *last;
} sim_bucket;

/* The messages of a link that wait. */
struct sim_pace {
    void *link;
    hw_message *first, *last;
    sim_pace *next;
    bool waits; /* is in the list of the bucket */
};

/* Returns whether a message is an update of a run before this one: it is not sent any more. */
bool sim_pace_drops(uint64_t session, const hw_message *message);
/* Takes the message if the limit delays it. */
bool sim_pace_delay(sim_pace *pace, sim_bucket *bucket, hw_message *message);
/* Gives what the limit allows to `release`. Returns the time at which it must be called again, or SIM_NEVER. */
uint64_t sim_pace_release(sim_bucket *bucket, uint64_t dropped, void (*release)(void *link, hw_message *message));
/* Takes the updates of runs before `dropped` out, linked by next. */
hw_message *sim_pace_take(sim_pace *pace, uint64_t dropped);

#endif
