/*
 * door.h - a server's links to its guests: who comes, who goes, and what they ask besides requests.
 *
 * A door has a net of its own beside the job's, whose peers may come and go. Requests are heard on the net's thread, as those of the job's nodes
 * are. A thread of the door's, the clerk, does what concerns this server alone and may take time: seats, lists of keys, groups that have ended.
 * What all servers do together is kept for the owner (hw_door_wait).
 *
 * A group is over for all with the first of its guests that goes: its clocks will not move any more.
 */
#ifndef HW_RUNTIME_SERVING_DOOR_H
#define HW_RUNTIME_SERVING_DOOR_H

#include "runtime/serving/serve.h"
#include "runtime/store/hub.h"
#include "runtime/store/words.h"

typedef struct hw_door hw_door;

hawser_status hw_door_open(hawser_store *store, const hw_door_options *options, hw_door **door,
                           hawser_error *error) HAWSER_MUST_USE;
const char *hw_door_card(const hw_door *door);
const char *hw_door_listening(const hw_door *door); /* hw_net_listening */
/* Where all servers are (a card each, copied): from now on guests are let in. */
hawser_status hw_door_begin(hw_door *door, const char (*cards)[HW_NET_ADDRESS], hawser_error *error) HAWSER_MUST_USE;
/* Tells all guests `words` and ends the links. Nothing is heard any more. */
void hw_door_end(hw_door *door, const char *words);
void hw_door_free(hw_door *door); /* ended before; NULL is allowed */

/* A reply to a guest; takes the message. */
void hw_door_reply(hw_door *door, uint32_t number, hw_message *message);
/* What guests have asked for and not got yet holds so many more bytes: hw_net_owe. */
void hw_door_owe(hw_door *door, uint32_t number, int64_t bytes);
/* A word for all servers, or NULL after so many seconds. */
hw_message *hw_door_wait(hw_door *door, double seconds);
/* Answers a word, and frees it: with data where status is HAWSER_OK, else with the error's text. */
void hw_door_answer(hw_door *door, hw_message *asked, hawser_status status, const void *data, size_t length,
                    const hawser_error *error);

#endif
