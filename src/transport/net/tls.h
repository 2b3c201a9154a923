/*
 * tls.h - TLS 1.3 by an external pre-shared key over a socket that is not ours to block on.
 *
 * No certificates, no tickets, no early data, an ephemeral Diffie-Hellman exchange in every handshake. The key is made of the job key
 * and the transcript of both hellos, so that it is good for one connection of one pair of nodes in these two roles.
 */
#ifndef HW_TRANSPORT_NET_TLS_H
#define HW_TRANSPORT_NET_TLS_H

#include <stddef.h>

#include "hawser/status.h"
#include "transport/net/channel.h"
#include "transport/net/secret.h"

typedef struct hw_tls_contexts hw_tls_contexts; /* a net's; shared by its connections */

hawser_status hw_tls_contexts_new(hw_tls_contexts **contexts, hawser_error *error) HAWSER_MUST_USE;
void hw_tls_contexts_free(hw_tls_contexts *contexts);

/* Puts a connection on channel->fd; false: no memory. `identity` says role and node, for the server to compare. */
bool hw_tls_begin(hw_tls_contexts *contexts, hw_net_channel *channel, bool server, const char *identity,
                  const unsigned char key[HW_SECRET]);
typedef enum hw_tls_progress { HW_TLS_DONE, HW_TLS_READ, HW_TLS_WRITE, HW_TLS_FAILED } hw_tls_progress;
/* Goes on with the handshake; says what it waits for. HW_TLS_DONE only if the key was used. */
hw_tls_progress hw_tls_shake(hw_net_channel *channel);
void hw_tls_free(hw_tls *tls);

ssize_t hw_tls_read(hw_net_channel *channel, void *to, size_t size);
ssize_t hw_tls_write(hw_net_channel *channel, const void *from, size_t size);
bool hw_tls_pending(hw_tls *tls);

#endif
