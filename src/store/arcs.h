/*
 * arcs.h - which server has which keys of a dense table: ranges ("arcs"), dealt to the servers in turn.
 *
 * An arc has as many keys as go in one message, so a long range takes few messages, and all servers work on it at once. Arcs
 * are equally long, so servers have equally many keys.
 */
#ifndef HW_STORE_ARCS_H
#define HW_STORE_ARCS_H

#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

/* Keys first..last, both included, so that all 2^64 keys can be one arc. */
typedef struct hw_arc {
    uint64_t first, last;
    uint32_t server;
} hw_arc;

/* Arcs in ascending order, without gaps. */
typedef struct hw_arcs {
    hw_arc *arcs;
    size_t count;
} hw_arcs;

enum { HW_ARCS_MOST = 64 }; /* per server */

/* Cuts keys first..last into arcs of at most `most` keys, unless a server would have more than HW_ARCS_MOST of them: then
 * arcs are longer. A single server has one arc. Fails for lack of memory. The caller frees the arcs. */
hawser_status hw_arcs_deal(uint64_t first, uint64_t last, uint32_t servers, uint64_t most, hw_arcs *arcs,
                           hawser_error *error) HAWSER_MUST_USE;
void hw_arcs_free(hw_arcs *arcs);
/* Returns the number of the arc that has the key, which must be within the table. */
size_t hw_arcs_find(const hw_arcs *arcs, uint64_t key);

#endif
