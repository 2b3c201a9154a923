/* secret.h - proofs of the job key that do not reveal it. The only place that uses OpenSSL's digests. */
#ifndef HW_TRANSPORT_NET_SECRET_H
#define HW_TRANSPORT_NET_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "transport/wire.h"

enum { HW_SECRET = 32 };

bool hw_secret_random(void *to, size_t size);
/* Computes the SHA-256 of two pieces, one after the other. */
bool hw_secret_digest(const void *first, size_t first_size, const void *second, size_t second_size,
                      unsigned char digest[HW_SECRET]);
/* Derives a key by HKDF-SHA256 of the job key. `purpose` and the transcript of both hellos (nonces, nodes, names, job,
 * build) are the info, so there is one key per role, pair and connection. */
bool hw_secret_derive(const unsigned char *key, size_t key_length, const char *purpose,
                      const unsigned char transcript[HW_SECRET], unsigned char derived[HW_SECRET]);
/* Computes the HMAC-SHA256. */
bool hw_secret_mac(const unsigned char key[HW_SECRET], const void *data, size_t size, unsigned char mac[HW_WIRE_MAC]);
/* Compares in a time that does not depend on where the two differ. */
bool hw_secret_equal(const void *a, const void *b, size_t size);
void hw_secret_forget(void *secret, size_t size);

#endif
