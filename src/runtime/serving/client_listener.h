/*
 * client_listener.h - a stand-alone server's connections to its clients.
 *
 * The listener has a net of its own beside the job's, whose peers may come and go. The net's thread works on requests, as it
 * does on those of the job's nodes. The listener's control thread does what concerns this server alone and may take time:
 * registrations, lists of keys, groups that have ended. Commands that concern all servers are queued for the owner
 * (hw_client_listener_wait).
 *
 * When the first client of a group leaves, the group is over for all its clients, because its clocks can never advance
 * again.
 */
#ifndef HW_RUNTIME_SERVING_CLIENT_LISTENER_H
#define HW_RUNTIME_SERVING_CLIENT_LISTENER_H

#include "runtime/store/control.h"
#include "runtime/store/hub.h"

/* How clients connect. */
typedef struct hw_client_listener_options {
    const unsigned char *key;
    size_t key_length;
    const char *interface; /* as hw_net_options has these */
    uint16_t port_low, port_high;
    bool trust_fabric;
    double failure_timeout;
    uint64_t rate; /* bytes per second of replies; 0: no limit */
    /* Bytes of replies that a client may have requested and not received before its requests are read; 0:
     * HW_STORE_UNREAD. */
    uint64_t unread_most;
    void (*warn)(void *argument, const char *text); /* prints one line; any thread; may be NULL */
    void *argument;
} hw_client_listener_options;

typedef struct hw_client_listener hw_client_listener;

hawser_status hw_client_listener_open(hawser_store *store, const hw_client_listener_options *options,
                                      hw_client_listener **listener, hawser_error *error) HAWSER_MUST_USE;
const char *hw_client_listener_address(const hw_client_listener *listener);
const char *hw_client_listener_listening(const hw_client_listener *listener); /* hw_net_listening */
/* Sets the addresses of all servers (one each, copied); from now on clients are accepted. */
hawser_status hw_client_listener_begin(hw_client_listener *listener, const char (*addresses)[HW_NET_ADDRESS],
                                       hawser_error *error) HAWSER_MUST_USE;
/* Sends all clients `words` and ends the links. No request is received any more. */
void hw_client_listener_end(hw_client_listener *listener, const char *words);
void hw_client_listener_free(hw_client_listener *listener); /* ended before; NULL is allowed */

/* Sends a reply to a client; takes the message. */
void hw_client_listener_reply(hw_client_listener *listener, uint32_t number, hw_message *message);
/* Accounts for bytes of replies that a client has requested and not received yet: hw_net_account. */
void hw_client_listener_account(hw_client_listener *listener, uint32_t number, int64_t bytes);
/* Returns a command for all servers, or NULL after `seconds`. */
hw_message *hw_client_listener_wait(hw_client_listener *listener, double seconds);
/* Replies to a command and frees it: with data if status is HAWSER_OK, else with the error's text. */
void hw_client_listener_answer(hw_client_listener *listener, hw_message *asked, hawser_status status, const void *data,
                               size_t length, const hawser_error *error);

#endif
