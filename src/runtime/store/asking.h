/* asking.h - requests of the command to stand-alone servers, through a store that is attached to them. */
#ifndef HW_RUNTIME_STORE_ASKING_H
#define HW_RUNTIME_STORE_ASKING_H

#include "base/memory.h"
#include "hawser/store.h"
#include "runtime/store/control.h"

/* Sets rows, whatever the table's function is. */
hawser_status hw_store_set(hawser_store *store, uint32_t table, const uint64_t *keys, size_t count, const void *values,
                           hawser_error *error) HAWSER_MUST_USE;
/* Starts a task that does so. */
hawser_status hw_store_put_task(hawser_store *store, const hawser_request *request, uint64_t *task,
                                hawser_error *error) HAWSER_MUST_USE;
/* Starts a task that reads what a dense table's function remembers of a range of keys (request->out), or sets it
 * (request->values): doubles, the function's `memory` of them per number. It waits for no clock. */
hawser_status hw_store_memory_task(hawser_store *store, const hawser_request *request, uint64_t *task,
                                   hawser_error *error) HAWSER_MUST_USE;
uint32_t hw_store_servers(const hawser_store *store);
/* Asks a server for its hw_stat_wire and a hw_count_wire for each table; the caller frees the data. */
hawser_status hw_store_stat_of(hawser_store *store, uint32_t server, hw_bytes *reply, hawser_error *error) HAWSER_MUST_USE;
/* Asks a server for the least `most` keys first..last of a sparse table, ascending; the caller frees the data. */
hawser_status hw_store_keys_of(hawser_store *store, uint32_t server, uint32_t table, uint64_t first, uint64_t last,
                               uint64_t most, hw_bytes *keys, hawser_error *error) HAWSER_MUST_USE;
/* Waits until all servers have received what this client has sent; returns at once on a node of the servers. */
hawser_status hw_store_received(hawser_store *store, hawser_error *error) HAWSER_MUST_USE;

#endif
