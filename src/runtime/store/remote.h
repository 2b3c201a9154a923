/*
 * remote.h - a node's links to stand-alone servers: locate, join, send.
 *
 * The nodes of a job are one group of clients. Node 0 locates the servers through the address that it was given and sends
 * their addresses to the others. Every node dials every server and registers as a node of its group.
 */
#ifndef HW_RUNTIME_STORE_REMOTE_H
#define HW_RUNTIME_STORE_REMOTE_H

#include "runtime/store/control.h"
#include "runtime/store/hub.h"

typedef struct hw_remote hw_remote;

/* Joins the servers at store->options.at; all nodes call it. */
hawser_status hw_remote_open(hawser_store *store, hw_remote **remote, hawser_error *error) HAWSER_MUST_USE;
/* Reports lost servers to the store from now on; its client exists. HAWSER_PEER_LOST: a server has been lost already. */
hawser_status hw_remote_begin(hw_remote *remote, hawser_error *error) HAWSER_MUST_USE;
void hw_remote_close(hw_remote *remote); /* NULL is allowed */
uint32_t hw_remote_servers(const hw_remote *remote);
/* Sends a request. Takes the message. */
hawser_status hw_remote_send(hw_remote *remote, uint32_t server, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* Asks a server and waits for its answer, which the caller frees. One at a time. */
hawser_status hw_remote_ask(hw_remote *remote, uint32_t server, hw_control_message word, const void *data, size_t length,
                            hw_message **answer, hawser_error *error) HAWSER_MUST_USE;

/* table_wire.c: a table's description on the wire. HAWSER_BAD_ARGUMENT: this node does not have the function. */
void hw_table_pack(const hw_table_spec *spec, hw_table_wire *wire);
hawser_status hw_table_unpack(hawser_store *store, const hw_table_wire *wire, hw_table_spec *spec,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
