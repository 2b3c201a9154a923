/* serve.h - servers that run on their own: the nodes of a job that keep a store's tables for whoever comes, until they are told to end. */
#ifndef HW_RUNTIME_SERVING_SERVE_H
#define HW_RUNTIME_SERVING_SERVE_H

#include "hawser/store.h"
#include "runtime/store/control.h"

/* Where clients come in. */
typedef struct hw_client_listener_options {
    const unsigned char *key;
    size_t key_length;
    const char *interface; /* as hw_net_options has these */
    uint16_t port_low, port_high;
    bool trust_fabric;
    double failure_timeout;
    uint64_t unread_most; /* bytes that a client may have asked for and not taken before it is read on; 0: HW_STORE_UNREAD */
    void (*warn)(void *argument, const char *text); /* one line for people; any thread; may be NULL */
    void *argument;
} hw_client_listener_options;

typedef struct hw_serving {
    hw_client_listener_options listener;
    uint64_t memory;       /* bytes that the tables of this server may take; 0: any number */
    const char *directory; /* node 0's, where clients' files lie; NULL: the present one */
    const char *load;      /* tables to begin with, read by node 0; NULL: none */
    const char *save;      /* where the tables go in the end, written by node 0; NULL: nowhere */
    /* On node 0, when clients may come: HOST:PORT. */
    void (*ready)(void *argument, const char *address);
    /* On every node, before: the TCP addresses on which it listens. May be NULL. */
    void (*listening)(void *argument, const char *addresses);
    /* On node 0: whether to try again, when the tables could not be written in the end; NULL: no. */
    bool (*unsaved)(void *argument, const char *text);
    /* On node 0: rows of `load` are not finite, and begin as new; NULL: that ends the servers. */
    void (*damaged)(void *argument, const char *text);
    void *argument;
} hw_serving;

/* hawser_store_serve, where the key is known: all nodes of the job call it, with a store that all of them serve and use for nothing else. Returns
 * when a node's job is interrupted (hawser_interrupt), or with the failure that ended it. */
hawser_status hw_store_serve(hawser_store *store, const hw_serving *how, hawser_error *error) HAWSER_MUST_USE;

#endif
