/*
 * remote.h - a node's links to servers that run on their own: asked the way, joined, spoken to.
 *
 * The nodes of a job are one group of clients. Node 0 asks the way at the address that it was given, and tells the others; every node dials every
 * server and says which node of which group it is.
 */
#ifndef HW_RUNTIME_STORE_REMOTE_H
#define HW_RUNTIME_STORE_REMOTE_H

#include "runtime/store/control.h"
#include "runtime/store/hub.h"

typedef struct hw_remote hw_remote;

/* Joins the servers at store->options.at; all nodes call it. */
hawser_status hw_remote_open(hawser_store *store, hw_remote **remote, hawser_error *error) HAWSER_MUST_USE;
/* From now on losses are wire to the store, whose client there is. HAWSER_PEER_LOST: there has been one. */
hawser_status hw_remote_begin(hw_remote *remote, hawser_error *error) HAWSER_MUST_USE;
void hw_remote_close(hw_remote *remote); /* NULL is allowed */
uint32_t hw_remote_servers(const hw_remote *remote);
/* Sends a request. Takes the message. */
hawser_status hw_remote_send(hw_remote *remote, uint32_t server, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* Asks a server and waits for its answer, which the caller frees. One at a time. */
hawser_status hw_remote_ask(hw_remote *remote, uint32_t server, hw_control_message word, const void *data, size_t length,
                            hw_message **answer, hawser_error *error) HAWSER_MUST_USE;

/* wire.c: tables as they are wire. HAWSER_BAD_ARGUMENT: a function that is not known here. */
void hw_table_pack(const hw_table_spec *spec, hw_table_wire *wire);
hawser_status hw_table_unpack(hawser_store *store, const hw_table_wire *wire, hw_table_spec *spec,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
