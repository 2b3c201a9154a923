/* asking.h - what people ask of servers that run on their own, by a store that has come to them. */
#ifndef HW_RUNTIME_STORE_ASKING_H
#define HW_RUNTIME_STORE_ASKING_H

#include "base/memory.h"
#include "hawser/store.h"
#include "runtime/store/control.h"

/* Sets rows as they are. */
hawser_status hw_store_set(hawser_store *store, uint32_t table, const uint64_t *keys, size_t count, const void *values,
                           hawser_error *error) HAWSER_MUST_USE;
uint32_t hw_store_servers(const hawser_store *store);
/* A server's hw_stat_wire and its tables' hw_told_counts; the caller frees the data. */
hawser_status hw_store_stat_of(hawser_store *store, uint32_t server, hw_bytes *reply, hawser_error *error) HAWSER_MUST_USE;
/* The least `most` keys first..last of a sparse table that a server has, ascending; the caller frees the data. */
hawser_status hw_store_keys_of(hawser_store *store, uint32_t server, uint32_t table, uint64_t first, uint64_t last,
                               uint64_t most, hw_bytes *keys, hawser_error *error) HAWSER_MUST_USE;
/* All servers have heard what this client had sent them; at once for a node of theirs. */
hawser_status hw_store_received(hawser_store *store, hawser_error *error) HAWSER_MUST_USE;

#endif
