/*
 * table.h - the description of a table.
 *
 * A table maps 64-bit keys to values of one type and one fixed width. In a dense table all keys first..last exist. In a
 * sparse one a key exists once it was pushed; before, it reads as zeros.
 */
#ifndef HW_STORE_TABLE_H
#define HW_STORE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/values.h"
#include "hawser/status.h"
#include "store/filters.h"

/* The argument of a server function: `rows` adjacent keys with their updates. */
typedef struct hw_applying {
    hw_value_type type;
    uint32_t width; /* numbers per key */
    size_t rows;
    void *values;             /* rows * width of the type; changed in place */
    double *memory;           /* rows * width * the function's `memory` doubles; NULL: it has none */
    const void *updates;      /* rows * width of the type */
    const double *parameters; /* of the table; as many as the function has */
    const char *table;        /* its name */
    const uint64_t *at;       /* NULL, or update i is for row at[i] - base of `values` and `memory`, */
    uint64_t base;            /* each row at most once: for functions that take scattered rows */
    const struct hw_function *function;
} hw_applying;

enum { HW_FLOATS = 1 << HW_VALUE_F32 | 1 << HW_VALUE_F64 };

/* A function by which a server changes values. */
typedef struct hw_function {
    const char *name;
    uint32_t memory;             /* doubles of memory per number */
    uint32_t parameters;         /* their number, */
    uint32_t parameters_least;   /* and how many must be given; the others may be 0 */
    const char *parameter_names; /* "rate, epsilon", for messages */
    uint32_t types;              /* a sum of 1 << HW_VALUE_...: the types of values that it takes; 0: all */
    bool whole;                  /* an update in parts, or added to the next one, has another effect */
    bool scattered;              /* takes rows that are not adjacent */
    bool adds;                   /* the result is value plus update */
    /* Returns NULL if the parameters are valid, else a text that says what is wrong. May be NULL. */
    const char *(*check)(const struct hw_function *function, const double *parameters);
    /* Changes the values. A number that would become NaN or infinite, or whose memory would, keeps its value and memory.
     * Returns the number of the first such update among a->rows, or a->rows. hw_guard (guard.h) does this for a user's
     * function. */
    size_t (*apply)(const hw_applying *applying);
    const void *user; /* the user's function behind it; NULL: a built-in one */
} hw_function;

/* Finds a built-in function by name, or by number from 0; NULL: there is none. */
const hw_function *hw_function_find(const char *name);
const hw_function *hw_function_at(size_t number);
/* Returns NULL if a function accepts these parameters, else what is wrong, after the parameters by name in `text`. */
const char *hw_function_wrong(const hw_function *function, const double *parameters, char *text, size_t size);

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
    uint64_t first, last; /* dense: both included; sparse: 0 and UINT64_MAX */
    const hw_function *function;
    double parameters[HW_FUNCTION_PARAMETERS];
    bool centric;      /* requests have iterations and wait for each other, key by key */
    uint64_t delay;    /* of centric tables: see consistency.h */
    bool summed;       /* the function sees the updates of a clock once, summed over all workers: see sums.h */
    hw_width rounding; /* of pushes; HW_F64: none */
    hw_filter_of filter;
    double level;                    /* of the filter */
    const hw_own_filter *own_filter; /* HW_PASS_OWN */
    uint64_t staleness;              /* of reads from the worker cache: see cache.h */
} hw_table_spec;

/* The least key with a number that kept its value, because an update would have made it NaN or infinite. */
typedef struct hw_overflow {
    bool any;
    uint64_t key;
} hw_overflow;
static inline void hw_overflow_at(hw_overflow *overflow, uint64_t key)
{
    if (!overflow->any || key < overflow->key)
        *overflow = (hw_overflow){true, key};
}

/* Describes the rows of what the table's function remembers, as if they were values. The width is 0 if it remembers
 * nothing. */
static inline hw_table_spec hw_table_memory_rows(const hw_table_spec *spec)
{
    hw_table_spec rows = *spec;
    rows.type = HW_VALUE_F64;
    rows.width *= spec->function->memory;
    rows.rounding = HW_F64;
    return rows;
}

/* Numbers in one message. Servers also cut long ranges by it, so that a message is for one stripe. */
enum { HW_PART = 1 << 17 };
/* Returns the number of keys, at least one, that have `numbers` numbers. */
static inline size_t hw_table_keys_of(const hw_table_spec *spec, size_t numbers)
{
    return numbers > spec->width ? numbers / spec->width : 1;
}

#endif
