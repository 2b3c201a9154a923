/* option_value.h - the text of an option's value, read by kind and checked against its bounds. */
#ifndef HW_BASE_OPTION_VALUE_H
#define HW_BASE_OPTION_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "hawser/options.h"

/* A value as read. Which fields mean something depends on the row's kind. */
typedef struct hw_option_value {
    bool flag;
    int64_t integer;
    double number; /* NUMBER, SECONDS */
    uint64_t bytes;
    double *numbers; /* owned; released by hw_option_value_clear */
    size_t count;
} hw_option_value;

/* Reads `text` as `row` wants it. Failures are HAWSER_BAD_OPTION, begin with `where` and say what was expected. */
hawser_status hw_option_value_read(const hawser_option *row, const char *text, const char *where, hw_option_value *value,
                                   hawser_error *error) HAWSER_MUST_USE;
void hw_option_value_clear(hw_option_value *value);

/* HAWSER_INTERNAL when the row's bounds cannot be understood. */
hawser_status hw_option_bounds_check(const hawser_option *row, hawser_error *error) HAWSER_MUST_USE;

/* Whether "HAWSER_NODE=3" says the place of one node, as hawser run sets it: no option, and what another node, or a job within a job, must
 * not inherit. */
bool hw_place_variable(const char *variable);

/* Returns whether a variable has a name that Kubernetes gives to every container of a namespace with a Service "hawser" or
 * "hawser-X": HAWSER_[X_]SERVICE_HOST, ..SERVICE_PORT[_NAME], ..PORT=tcp://..., ..PORT_N_TCP[_PROTO|_PORT|_ADDR]. No option. */
bool hw_kubernetes_variable(const char *variable);

#endif
