/*
 * tls.h - TLS 1.3 with an external pre-shared key, over a non-blocking socket.
 *
 * No certificates, no tickets, no early data; every handshake has an ephemeral Diffie-Hellman exchange. The key is derived
 * from the job key and the transcript of both hellos, so it is valid for one connection of one pair of nodes in these two
 * roles.
 */
#ifndef HW_TRANSPORT_NET_TLS_H
#define HW_TRANSPORT_NET_TLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "hawser/status.h"
#include "transport/net/moved.h"
#include "transport/net/secret.h"

typedef struct hw_tls_contexts hw_tls_contexts; /* belongs to a net; its connections share it */
typedef struct hw_tls hw_tls;

hawser_status hw_tls_contexts_new(hw_tls_contexts **contexts, hawser_error *error) HAWSER_MUST_USE;
void hw_tls_contexts_free(hw_tls_contexts *contexts);

/* Returns a connection over the socket fd, or NULL if memory is short. `identity` has role and node, for the server to
 * compare. */
hw_tls *hw_tls_begin(hw_tls_contexts *contexts, int fd, bool server, const char *identity,
                     const unsigned char key[HW_SECRET]);
typedef enum hw_tls_progress { HW_TLS_DONE, HW_TLS_READ, HW_TLS_WRITE, HW_TLS_FAILED } hw_tls_progress;
/* Continues the handshake and returns what it waits for; HW_TLS_DONE only if the key was used. If it fails, here and below,
 * *failure is set to the errno of the socket, or to 0 if TLS found the error. */
hw_tls_progress hw_tls_shake(hw_tls *tls, atomic_int *failure);
void hw_tls_free(hw_tls *tls);

/* Return the number of bytes moved, or a result of moved.h. One thread may read while another writes. */
ssize_t hw_tls_read(hw_tls *tls, void *to, size_t size, atomic_int *failure);
ssize_t hw_tls_write(hw_tls *tls, const void *from, size_t size, atomic_int *failure);
bool hw_tls_pending(hw_tls *tls);

#endif
