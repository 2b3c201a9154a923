/* option_value.h - reads the text of an option's value by kind and checks its bounds. */
#ifndef HW_BASE_OPTION_VALUE_H
#define HW_BASE_OPTION_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "hawser/options.h"

/* A parsed value. The row's kind decides which fields are set. */
typedef struct hw_option_value {
    bool flag;
    int64_t integer;
    double number; /* NUMBER, SECONDS */
    uint64_t bytes;
    double *numbers; /* hw_option_value_clear frees it */
    size_t count;
} hw_option_value;

/* Reads `text` by the kind and bounds of `row`. Failures are HAWSER_BAD_OPTION, begin with `where` and say what was
 * expected. */
hawser_status hw_option_value_read(const hawser_option *row, const char *text, const char *where, hw_option_value *value,
                                   hawser_error *error) HAWSER_MUST_USE;
void hw_option_value_clear(hw_option_value *value);

/* The unit of an option of numbers ends with HW_OR_AUTO if "auto" is a value: then the runtime changes the setting during a
 * run. It ends with HW_OR_AUTO_FROM if "auto:VALUE" is one, too: VALUE is the setting of the start. The parsed value is that
 * of the start: VALUE, or for "auto" the default. Options of words list "auto" in their bounds. */
#define HW_OR_AUTO      "|auto"
#define HW_OR_AUTO_FROM "|auto[:H]"
/* Returns whether the text of a value is "auto" or "auto:VALUE". */
bool hw_is_auto(const char *text);

/* An option whose unit begins with HW_BY_STATE has a value for each state of a program, and one for all other states:
 * "VALUE" or "STATE=VALUE", in any order, separated by commas. Its parsed value is the one for all other states. */
#define HW_BY_STATE "[STATE=]"
enum { HW_ITEM_MOST = 64 };
typedef struct hw_option_item {
    const char *state; /* in the option's text; ends at `length` */
    size_t length;     /* 0: the value for all other states */
    char text[HW_ITEM_MOST];
    hw_option_value value;
} hw_option_item;

bool hw_option_by_state(const hawser_option *row);
/* Stores the next item of such an option, and moves *rest behind it. Begin with *rest == NULL. Returns false after the last
 * item. */
bool hw_option_next_item(const hawser_options *options, const char *key, const char **rest, hw_option_item *item);
/* Finds the item of one state, or with NULL that of all other states, which the default of the row replaces. Returns false
 * if there is none. */
bool hw_option_of_state(const hawser_options *options, const char *key, const char *state, hw_option_item *item);
/* Reads the item at `text` and moves *rest behind it. */
hawser_status hw_option_item_read(const hawser_option *row, const char *text, const char *where, hw_option_item *item,
                                  const char **rest, hawser_error *error) HAWSER_MUST_USE;

/* Such an option of kind HAWSER_PATH has items "FILE" and "STATE=FILE". The name of a state has no slash, and a comma
 * separates items only if STATE= follows it, so a file may have commas in its name. */
typedef struct hw_option_path {
    const char *state, *path; /* in the option's text; they end at these lengths */
    size_t state_length;      /* 0: no state */
    size_t path_length;
} hw_option_path;

/* Returns the text of an option, without recording that it was read; NULL: unset. */
const char *hw_option_text(const hawser_options *options, const char *key);
/* Reads the item at *rest and moves *rest behind it. Returns false at the end of the text. */
bool hw_option_next_path(const char **rest, hw_option_path *item);

/* Returns HAWSER_INTERNAL if the row's bounds are malformed. */
hawser_status hw_option_bounds_check(const hawser_option *row, hawser_error *error) HAWSER_MUST_USE;

/* Returns whether a call of options.h has returned the option's value. */
bool hw_option_was_read(const hawser_options *options, const char *key);
/* Returns whether the option has a value that is not its default. Does not count as a read. */
bool hw_option_differs(const hawser_options *options, const char *key);

/* Returns the option's name in a message to the user who has set it: "--tol", or the place of a call ("tol="). */
enum { HW_OPTION_CALLED = 100 };
const char *hw_option_called(const hawser_options *options, const char *key, char name[HW_OPTION_CALLED]);

/* Returns whether "HAWSER_NODE=3" is a variable with the place of one node, as hawser run and the Python package set it. It
 * is not an option, and another node, or a job within a job, must not inherit it. */
bool hw_place_variable(const char *variable);

/* Returns whether a variable has a name that Kubernetes gives to every container of a namespace with a Service "hawser"
 * or "hawser-X": HAWSER_[X_]SERVICE_HOST, ..SERVICE_PORT[_NAME], ..PORT=tcp://..., ..PORT_N_TCP[_PROTO|_PORT|_ADDR]. No
 * option. */
bool hw_kubernetes_variable(const char *variable);

#endif
