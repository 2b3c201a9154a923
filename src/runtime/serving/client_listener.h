/*
 * listener.h - a server's links to its clients: who comes, who goes, and what they ask besides requests.
 *
 * A listener has a net of its own beside the job's, whose peers may come and go. Requests are heard on the net's thread, as those of the job's nodes
 * are. A thread of the listener's, the control, does what concerns this server alone and may take time: sessions, lists of keys, groups that have ended.
 * What all servers do together is kept for the owner (hw_client_listener_wait).
 *
 * A group is over for all with the first of its clients that goes: its clocks will not move any more.
 */
#ifndef HW_RUNTIME_SERVING_CLIENT_LISTENER_H
#define HW_RUNTIME_SERVING_CLIENT_LISTENER_H

#include "runtime/serving/serve.h"
#include "runtime/store/control.h"
#include "runtime/store/hub.h"

typedef struct hw_client_listener hw_client_listener;

hawser_status hw_client_listener_open(hawser_store *store, const hw_client_listener_options *options,
                                      hw_client_listener **listener, hawser_error *error) HAWSER_MUST_USE;
const char *hw_client_listener_address(const hw_client_listener *listener);
const char *hw_client_listener_listening(const hw_client_listener *listener); /* hw_net_listening */
/* Where all servers are (an address each, copied): from now on clients are let in. */
hawser_status hw_client_listener_begin(hw_client_listener *listener, const char (*addresses)[HW_NET_ADDRESS],
                                       hawser_error *error) HAWSER_MUST_USE;
/* Tells all clients `words` and ends the links. Nothing is heard any more. */
void hw_client_listener_end(hw_client_listener *listener, const char *words);
void hw_client_listener_free(hw_client_listener *listener); /* ended before; NULL is allowed */

/* A reply to a client; takes the message. */
void hw_client_listener_reply(hw_client_listener *listener, uint32_t number, hw_message *message);
/* What clients have asked for and not got yet holds so many more bytes: hw_net_owe. */
void hw_client_listener_owe(hw_client_listener *listener, uint32_t number, int64_t bytes);
/* A word for all servers, or NULL after so many seconds. */
hw_message *hw_client_listener_wait(hw_client_listener *listener, double seconds);
/* Answers a word, and frees it: with data where status is HAWSER_OK, else with the error's text. */
void hw_client_listener_answer(hw_client_listener *listener, hw_message *asked, hawser_status status, const void *data,
                               size_t length, const hawser_error *error);

#endif
