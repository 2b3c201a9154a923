/* store.h - what the commands about stand-alone servers share: their options, and the connection to the servers. */
#ifndef HW_CLI_STORE_STORE_H
#define HW_CLI_STORE_STORE_H

#include "cli/cli.h"
#include "hawser/store.h"
#include "store/table.h"

/* The open objects of a call on a store. */
typedef struct hw_store_session {
    hw_call *call;
    hawser_options *options; /* the job's */
    hawser_job *job;
    hawser_store *store;
} hw_store_session;

/* Makes the options of a job of which the call has some; the others keep their defaults. */
hawser_status hw_job_options(const hw_call *call, hawser_options **options, hawser_error *error) HAWSER_MUST_USE;
/* Attaches to the servers that --at names, as a group of one node. */
hawser_status hw_store_session_begin(hw_call *call, hw_store_session *session, hawser_error *error) HAWSER_MUST_USE;
void hw_store_session_end(hw_store_session *session);

/* Reads a whole number of 64 bits; false: the text is none. */
bool hw_read_key(const char *text, size_t length, uint64_t *key);
/* Reads FIRST..LAST, FIRST.., ..LAST or a key, within the previous values of `first` and `last`. */
bool hw_read_keys(const char *text, uint64_t *first, uint64_t *last);

#endif
