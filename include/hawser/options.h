/*
 * options.h - one row per option; flags, help, manual pages, completion, configuration files, environment and bindings are
 * generated from the rows.
 *
 * Each value has a source, and stronger sources replace weaker ones: default < program < file < environment < command line <
 * call. A program gives its own defaults as HAWSER_FROM_PROGRAM, which a user can replace, and what the user passes to it in
 * a call as HAWSER_FROM_CALL.
 */
#ifndef HAWSER_OPTIONS_H
#define HAWSER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hawser_kind {
    HAWSER_FLAG,    /**< --key, --no-key; values yes/no/true/false/1/0 */
    HAWSER_INTEGER, /**< decimal, 64 bits */
    HAWSER_NUMBER,  /**< as strtod reads it; finite */
    HAWSER_BYTES,   /**< a size: 64k, 1.5M, 2GiB; binary multiples */
    HAWSER_SECONDS, /**< a duration: 90, 90s, 5m, 2h */
    HAWSER_WORD,    /**< one of `bounds` = "a|b|c"; an entry "ssp:N" takes a number behind the colon */
    HAWSER_TEXT,    /**< any text */
    HAWSER_PATH,    /**< a file name */
    HAWSER_NUMBERS  /**< numbers separated by commas */
} hawser_kind;

typedef enum hawser_source {
    HAWSER_FROM_DEFAULT,
    HAWSER_FROM_PROGRAM,
    HAWSER_FROM_FILE,
    HAWSER_FROM_ENVIRONMENT,
    HAWSER_FROM_COMMAND_LINE,
    HAWSER_FROM_CALL /**< a keyword argument of a binding: train(tol=1e-4) */
} hawser_source;

/** One option. All strings are static. A table of rows ends with a row whose key is NULL. */
typedef struct hawser_option {
    const char *key; /**< "exchange-every": --exchange-every, HAWSER_EXCHANGE_EVERY, exchange-every = in a file */
    hawser_kind kind;
    const char *value;  /**< default as text; NULL: unset unless given */
    const char *bounds; /**< numbers: "[0,1]", "(0,inf)"; HAWSER_WORD: the words; else NULL */
    const char *unit;   /**< name of the argument in help: "H", "FILE"; NULL for flags */
    const char *help;  /**< one or two sentences, no final full stop needed; the short help is its part before ";" or ". " */
    const char *group; /**< title under which the long help lists it, "Solver"; NULL: the short help lists it, too */
    char letter;       /**< short form, or 0 */
} hawser_option;

/** A set of values over one or more tables. Owned by the caller; one thread at a time. */
typedef struct hawser_options hawser_options;

/** Makes a set with every row's default. `tables` ends with NULL; tables and rows must outlive the set. Returns
 *  HAWSER_INTERNAL if two rows have the same key. */
HAWSER_API hawser_status hawser_options_new(const hawser_option *const *tables, hawser_options **options,
                                            hawser_error *error) HAWSER_MUST_USE;
HAWSER_API void hawser_options_free(hawser_options *options);

/** Sets one value from text. Returns HAWSER_BAD_OPTION for an unknown key, with the nearest known key in the text, and for a
 *  value out of bounds, with value, bounds and `where` ("run.conf:3", "HAWSER_TOL", "--tol", "tol="). A weaker source never
 *  replaces a stronger one. */
HAWSER_API hawser_status hawser_options_set(hawser_options *options, const char *key, const char *value,
                                            hawser_source source, const char *where, hawser_error *error) HAWSER_MUST_USE;

/** Reads `key = value` lines; # starts a comment. */
HAWSER_API hawser_status hawser_options_file(hawser_options *options, const char *path, hawser_error *error) HAWSER_MUST_USE;

/** Reads HAWSER_KEY variables; an unknown HAWSER_ variable is an error, like an unknown flag. `environment` is `environ`. It
 *  ignores HAWSER_LIBRARY, by which the Python package finds the library; HAWSER_BINARY, HAWSER_SOURCE and HAWSER_TEST_...
 *  of the test suite; HAWSER_LAUNCH, _NODE, _NODES, _NODE_NAME, _JOB, _SOCKETS and _LOCAL of `hawser run`;
 *  HAWSER_PYTHON_NODE, by which children of a node in Python know that they are alone; and HAWSER_AT of `hawser store` if
 *  there is no such key. */
HAWSER_API hawser_status hawser_options_environment(hawser_options *options, char *const *environment,
                                                    hawser_error *error) HAWSER_MUST_USE;

/** Removes flags from argv (from index 1 on), keeps the positional arguments after argv[0], and updates *argc. "--" ends
 *  flags; "-" is a positional argument. A value that reads as one of the options is refused, except in one word:
 *  --note=--tol. */
HAWSER_API hawser_status hawser_options_arguments(hawser_options *options, int *argc, char **argv,
                                                  hawser_error *error) HAWSER_MUST_USE;

/** Returns true if the key has a value (a default or a given one); false for an unknown key. */
HAWSER_API bool hawser_options_has(const hawser_options *options, const char *key);

/** These return the value of a key. It was checked when it was set, so they cannot fail for a key of that kind. For an
 *  unknown or unset key, or one of another kind, they return 0, false or NULL; such a call is a bug. */
HAWSER_API bool hawser_options_flag(const hawser_options *options, const char *key);
HAWSER_API int64_t hawser_options_integer(const hawser_options *options, const char *key);
HAWSER_API double hawser_options_number(const hawser_options *options, const char *key); /**< NUMBER, SECONDS */
HAWSER_API uint64_t hawser_options_bytes(const hawser_options *options, const char *key);
/** Returns the value of any kind as text; the set owns it until the key is set again. */
HAWSER_API const char *hawser_options_text(const hawser_options *options, const char *key);
/** Returns the numbers of a HAWSER_NUMBERS value, which the set owns; *count may be 0. */
HAWSER_API const double *hawser_options_numbers(const hawser_options *options, const char *key, size_t *count);
/** Returns the source of the value, and stores the name of the place in *where, which may be NULL. */
HAWSER_API hawser_source hawser_options_source(const hawser_options *options, const char *key, const char **where);

/** Numbers in options and in facts of a model have a decimal point in every locale of a program; strtod and printf depend on
 *  the locale. Both functions may be called from any thread.
 *
 *  Reads the number at the start of `text`, as strtod does in the C locale, and returns its end. Returns NULL, with *value
 *  unchanged, if there is no number. */
HAWSER_API const char *hawser_read_number(const char *text, double *value);
/** Writes at most `size` bytes, with the terminating zero, of the number in the form "%.17g" of the C locale, which reads
 *  back as the same number. Returns the length of the whole text, at most 24. */
HAWSER_API size_t hawser_print_number(char *text, size_t size, double value);

/** Returns row `index` over all tables, or NULL past the end: for help, manual pages, bindings. */
HAWSER_API const hawser_option *hawser_options_row(const hawser_options *options, size_t index);

#ifdef __cplusplus
}
#endif
#endif
