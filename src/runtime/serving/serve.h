/* serve.h - stand-alone servers: the nodes of a job that keep a store's tables for clients until they are asked to end. */
#ifndef HW_RUNTIME_SERVING_SERVE_H
#define HW_RUNTIME_SERVING_SERVE_H

#include "hawser/store.h"
#include "runtime/serving/client_listener.h"

typedef struct hw_serving {
    hw_client_listener_options listener;
    uint64_t memory;       /* bytes that the tables of this server may take; 0: any number */
    const char *directory; /* on node 0: the folder of clients' files; NULL: the present one */
    const char *load;      /* tables to load at the start, read by node 0; NULL: none */
    const char *save;      /* file of the tables at the end, written by node 0; NULL: none */
    /* On node 0, when clients may connect: HOST:PORT. */
    void (*ready)(void *argument, const char *address);
    /* On every node, before that: the TCP addresses on which it listens. May be NULL. */
    void (*listening)(void *argument, const char *addresses);
    /* On node 0: returns whether to try again if the tables could not be written at the end; NULL: no. */
    bool (*unsaved)(void *argument, const char *text);
    /* On node 0: rows of `load` are not finite and were reset; NULL: that ends the servers. */
    void (*damaged)(void *argument, const char *text);
    void *argument;
} hw_serving;

/* hawser_store_serve with a known key. Collective, with a store of which all nodes are servers and which has no other use.
 * Returns when a node's job is interrupted (hawser_interrupt), or with the failure that ended it. */
hawser_status hw_store_serve(hawser_store *store, const hw_serving *how, hawser_error *error) HAWSER_MUST_USE;

#endif
