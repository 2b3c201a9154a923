/*
 * visit.h - a node's links to servers that run on their own: asked the way, joined, spoken to.
 *
 * The nodes of a job are one group of guests. Node 0 asks the way at the address that it was given, and tells the others; every node dials every
 * server and says which node of which group it is.
 */
#ifndef HW_RUNTIME_STORE_VISIT_H
#define HW_RUNTIME_STORE_VISIT_H

#include "runtime/store/hub.h"
#include "runtime/store/words.h"

typedef struct hw_visit hw_visit;

/* Joins the servers at store->options.at; all nodes call it. */
hawser_status hw_visit_open(hawser_store *store, hw_visit **visit, hawser_error *error) HAWSER_MUST_USE;
/* From now on losses are told to the store, whose client there is. HAWSER_PEER_LOST: there has been one. */
hawser_status hw_visit_begin(hw_visit *visit, hawser_error *error) HAWSER_MUST_USE;
void hw_visit_close(hw_visit *visit); /* NULL is allowed */
uint32_t hw_visit_servers(const hw_visit *visit);
/* Sends a request. Takes the message. */
hawser_status hw_visit_tell(hw_visit *visit, uint32_t server, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* Asks a server and waits for its answer, which the caller frees. One at a time. */
hawser_status hw_visit_ask(hw_visit *visit, uint32_t server, hw_word word, const void *data, size_t length,
                           hw_message **answer, hawser_error *error) HAWSER_MUST_USE;

/* told.c: tables as they are told. HAWSER_BAD_ARGUMENT: a function that is not known here. */
void hw_table_tell(const hw_table_spec *spec, hw_told_table *told);
hawser_status hw_table_hear(hawser_store *store, const hw_told_table *told, hw_table_spec *spec,
                            hawser_error *error) HAWSER_MUST_USE;

#endif
