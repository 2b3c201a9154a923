/* exchange_payload.h - makes and reads payloads of whole states, for tests. */
#ifndef TESTS_EXCHANGE_PAYLOAD_H
#define TESTS_EXCHANGE_PAYLOAD_H

#include <string.h>

#include "exchange/encoding.h"
#include "exchange/exchange.h"

static inline double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Return the vectors of a replica of f64. */
static inline double *cache_of(hw_replica *replica)
{
    return hw_replica_cache(replica);
}

static inline const double *base_of(const hw_replica *replica)
{
    return hw_replica_base(replica);
}

static inline hawser_status encode(const double *values, size_t n, hw_message **message, hawser_error *error)
{
    return hw_encode_range(HAWSER_F64, values, 0, n, n, NULL, message, error);
}

/* Checks an untrusted payload, as a replica does, then computes out[i] += scale * value (a delta) or out[i] = value. */
static inline hawser_status decode(const hw_message *message, double scale, size_t n, double *out, hawser_error *error)
{
    hw_payload payload;
    HAWSER_TRY(hw_payload_check(message, n, "a payload", &payload, error));
    bool add = message->envelope.form == HW_FORM_DELTA;
    for (size_t i = 0; i < payload.count; i++) {
        size_t index = hw_payload_index(&payload, i);
        double value = ((const double *)payload.values)[i];
        out[index] = add ? out[index] + scale * value : value;
    }
    return HAWSER_OK;
}

#endif
