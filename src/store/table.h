/*
 * table.h - what a table is, for everybody who touches one.
 *
 * A table maps 64-bit keys to values of one type and one fixed width. Dense: keys first..last all exist. Sparse: a key exists once it
 * has been pushed; until then it reads as zeros.
 */
#ifndef HW_STORE_TABLE_H
#define HW_STORE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/values.h"
#include "hawser/status.h"
#include "store/filters.h"

/* What a function of the server's is given: `rows` keys one after the other in memory, with what was pushed for them. */
typedef struct hw_applying {
    hw_value_type type;
    uint32_t width; /* numbers a key */
    size_t rows;
    void *values;   /* rows * width of the type, to be changed in place */
    double *memory; /* rows * width * the function's `memory`: what it keeps beside each number; NULL where it keeps none */
    const void *updates;      /* rows * width of the type */
    const double *parameters; /* the table's; the function's `parameters` of them */
    const char *table;        /* its name */
    const uint64_t *at;       /* NULL; or update i is for row at[i] - base of `values` and `memory`, */
    uint64_t base;            /* each row at most once: for functions that take scattered rows */
    const struct hw_function *function;
} hw_applying;

enum { HW_FLOATS = 1 << HW_VALUE_F32 | 1 << HW_VALUE_F64 };

/* How a server changes values by what is pushed. */
typedef struct hw_function {
    const char *name;
    uint32_t memory;             /* doubles kept beside each number */
    uint32_t parameters;         /* that it takes */
    const char *parameter_names; /* "rate, epsilon", for messages */
    uint32_t types;              /* of values that it is for: of 1 << HW_VALUE_...; 0: all */
    bool whole;                  /* an update that comes in parts, or later with the next, is another one */
    bool scattered;              /* takes rows that do not lie one after the other */
    bool adds;                   /* is a sum: value plus update */
    /* NULL: the parameters are good; else what is wrong with them. */
    const char *(*check)(const struct hw_function *function, const double *parameters);
    /* Changes the values. A number that would become NaN or infinite, or what is kept beside it, stays as it was with all that is kept beside it;
     * returns the number of the first such update among a->rows, or a->rows. A function of the user's leaves that to hw_guard (guard.h). */
    size_t (*apply)(const hw_applying *applying);
    const void *user; /* what is behind a function of the user's */
} hw_function;

/* The functions there are: by name, or by number from 0 until NULL. */
const hw_function *hw_function_find(const char *name);
const hw_function *hw_function_at(size_t number);

enum { HW_FUNCTION_PARAMETERS = 8, HW_TABLE_NAME = 64, HW_TABLES_MOST = 1024 };

struct hw_table_spec;
/* A filter of the user's. */
typedef struct hw_own_filter {
    /* Sets go[i] if row i is sent now; `rows` are count * width of the table's type. */
    void (*choose)(const struct hw_own_filter *own, const struct hw_table_spec *spec, const uint64_t *keys, const void *rows,
                   size_t count, bool *go);
} hw_own_filter;

typedef struct hw_table_spec {
    char name[HW_TABLE_NAME];
    hw_value_type type;
    uint32_t width;
    bool sparse;
    uint64_t first, last; /* dense: its keys, both included; sparse: 0 and UINT64_MAX */
    const hw_function *function;
    double parameters[HW_FUNCTION_PARAMETERS];
    bool centric;      /* reads and writes carry iterations and wait for each other, key by key */
    uint64_t delay;    /* with that: see consistency.h */
    bool summed;       /* the function sees the updates of a clock once, summed over all workers: see sums.h */
    hw_width rounding; /* of pushes; HW_F64: none */
    hw_filter_of filter;
    double level;                    /* of the filter */
    const hw_own_filter *own_filter; /* HW_PASS_OWN */
    uint64_t staleness;              /* of reads that are served near the worker: see cache.h */
} hw_table_spec;

/* The least key with a number that stayed as it was, because an update would have made it NaN or infinite. */
typedef struct hw_overflow {
    bool any;
    uint64_t key;
} hw_overflow;
static inline void hw_overflow_at(hw_overflow *overflow, uint64_t key)
{
    if (!overflow->any || key < overflow->key)
        *overflow = (hw_overflow){true, key};
}

/* Numbers that go in one message. Servers cut long ranges by it, too, so that a message is for one stripe. */
enum { HW_PART = 1 << 17 };
/* The keys that have `numbers` numbers: one at least. */
static inline size_t hw_table_keys_of(const hw_table_spec *spec, size_t numbers)
{
    return numbers > spec->width ? numbers / spec->width : 1;
}

/* HAWSER_BAD_ARGUMENT: it is no name for a table; the text does not have it where it would not be one line. */
hawser_status hw_table_check_name(const char *name, hawser_error *error) HAWSER_MUST_USE;
/* HAWSER_BAD_ARGUMENT says what is wrong with it. */
hawser_status hw_table_check(const hw_table_spec *spec, hawser_error *error) HAWSER_MUST_USE;

#endif
