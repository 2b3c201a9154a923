/* store.h - what the commands about servers of a store share: their options, and the way to the servers. */
#ifndef HW_CLI_STORE_STORE_H
#define HW_CLI_STORE_STORE_H

#include "cli/cli.h"
#include "hawser/store.h"
#include "store/table.h"

/* What a call on a store has open. */
typedef struct hw_store_session {
    hw_call *call;
    hawser_options *options; /* the job's */
    hawser_job *job;
    hawser_store *store;
} hw_store_session;

/* Options of a job of which the call names some; job options that the call does not have keep their defaults. */
hawser_status hw_job_options(const hw_call *call, hawser_options **options, hawser_error *error) HAWSER_MUST_USE;
/* Comes to the servers that --store names, as a group of one. */
hawser_status hw_store_session_begin(hw_call *call, hw_store_session *session, hawser_error *error) HAWSER_MUST_USE;
void hw_store_session_end(hw_store_session *session);

/* A whole number of 64 bits; false: something else. */
bool hw_read_key(const char *text, size_t length, uint64_t *key);
/* FIRST..LAST, FIRST.., ..LAST or a key, within what `first` and `last` are before. */
bool hw_read_keys(const char *text, uint64_t *first, uint64_t *last);

#endif
