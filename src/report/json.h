/* json.h - lines of JSON about a job, and what they have in common. */
#ifndef HW_REPORT_JSON_H
#define HW_REPORT_JSON_H

#include "base/json.h"
#include "hawser/data.h"
#include "hawser/hawser.h"
#include "program/change.h"

/* Prints one line and releases `object`. HAWSER_NO_MEMORY if !ok, HAWSER_IO if the stream fails. */
hawser_status hw_json_line(FILE *out, json_t *object, bool ok, hawser_error *error) HAWSER_MUST_USE;

/* Returns whether the terminal was closed: then every write to it fails. */
bool hw_terminal_is_lost(FILE *out);

/* {"tol": {"value": "1e-6", "source": "default", "where": "default"}, ...} */
json_t *hw_json_options(const hawser_options *options, bool *ok);

/* Sets the old and the new value of a change of a policy under two keys. */
void hw_json_change(json_t *object, const char *old, const char *new, const hw_change_words *words, bool *ok);

/* Sets what every run has: "bytes_exchanged", "workers", "nodes", "sync" ..., "worker", "links", "accepts", "flows", and
 * "load" if `data` is not NULL. */
void hw_json_run(json_t *object, const hawser_job *job, const hawser_run *run, const char *stop_reason,
                 const hawser_dataset *data, bool *ok);

#endif
