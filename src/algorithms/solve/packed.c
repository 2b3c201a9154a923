#include "algorithms/solve/packed.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/solve/entries.h"
#include "hawser/advanced.h"

/* The arrays whose memory is kept. */
enum { ROWS, INDICES, VALUES, STAYING };

static const size_t CHUNK = 32768; /* entries that are ordered at a time, so that they stay in a core's cache */
static const size_t STRETCH = 8;   /* entries of a column that are read at a time, at least on average */

/* Frees everything except the memory that is kept. */
static void forget(hw_linear_packed *packed)
{
    hw_linear_packed kept = {0};
    free(packed->runs);
    free(packed->in);
    free(packed->columns);
    memcpy(kept.memory, packed->memory, sizeof kept.memory);
    memcpy(kept.capacity, packed->capacity, sizeof kept.capacity);
    *packed = kept;
}

void hw_linear_packed_free(hw_linear_packed *packed)
{
    forget(packed);
    for (size_t k = 0; k < STAYING; k++)
        free(packed->memory[k]);
    memset(packed, 0, sizeof *packed);
}

/* Returns memory for an array, whose contents are lost if it grows; NULL if there is none. */
static void *memory_of(hw_linear_packed *packed, size_t which, size_t bytes)
{
    if (bytes > packed->capacity[which]) {
        free(packed->memory[which]);
        packed->capacity[which] = bytes + bytes / 8;
        packed->memory[which] = malloc(packed->capacity[which]);
        packed->capacity[which] = packed->memory[which] != NULL ? packed->capacity[which] : 0;
    }
    return packed->memory[which];
}

static size_t size_of(hawser_type type)
{
    return type == HAWSER_F32 ? sizeof(float) : sizeof(double);
}

static double value_at(const void *values, hawser_type type, uint64_t entry)
{
    return type == HAWSER_F32 ? (double)((const float *)values)[entry] : ((const double *)values)[entry];
}

/* Returns the first entry of column j in a row >= `row`. */
static uint64_t entry_at(const hawser_matrix *X, uint32_t j, size_t row)
{
    if (row == 0 || row >= X->rows)
        return X->offsets[j + (row > 0)];
    return hw_linear_first_entry(X->indices, X->offsets[j], X->offsets[j + 1], row);
}

/* The input and the scratch of a packing. */
typedef struct packing {
    const hawser_matrix *X;
    const uint32_t *columns;
    size_t count, begin, end;
    uint64_t *from, *to; /* range of entries, by place in the list */
    uint64_t *cursor;    /* by row: its number of entries, then the place of the next one */
    uint64_t entries;
    size_t longest, rows; /* rows that have entries */
} packing;

/* Counts the entries of each row, and the rows of each length. */
static hawser_status count_entries(packing *p, uint64_t **lengths)
{
    for (size_t k = 0; k < p->count; k++) {
        p->from[k] = entry_at(p->X, p->columns[k], p->begin);
        p->to[k] = entry_at(p->X, p->columns[k], p->end);
        p->entries += p->to[k] - p->from[k];
        hawser_simulated_work(NULL, 2 * (p->to[k] - p->from[k])); /* here and in move_entries */
        for (uint64_t e = p->from[k]; e < p->to[k]; e++)
            p->cursor[p->X->indices[e] - p->begin]++;
    }
    for (size_t i = 0; i < p->end - p->begin; i++) {
        p->longest = p->cursor[i] > p->longest ? p->cursor[i] : p->longest;
        p->rows += p->cursor[i] > 0;
    }
    *lengths = calloc(2 * (p->longest + 1), sizeof **lengths);
    if (*lengths == NULL)
        return HAWSER_NO_MEMORY;
    for (size_t i = 0; i < p->end - p->begin; i++)
        (*lengths)[p->cursor[i]]++;
    return HAWSER_OK;
}

/* Orders rows by length, and sets cursors to their first entries. */
static hawser_status order_rows(packing *p, hw_linear_packed *packed, uint64_t *lengths)
{
    uint64_t *entry = lengths + p->longest + 1, row = 0, at = 0;
    for (size_t length = 1; length <= p->longest; length++)
        packed->run_count += lengths[length] > 0;
    packed->runs = malloc((packed->run_count + 1) * sizeof *packed->runs);
    packed->row = memory_of(packed, ROWS, (p->rows + 1) * sizeof *packed->row);
    if (packed->runs == NULL || packed->row == NULL)
        return HAWSER_NO_MEMORY;
    packed->run_count = 0;
    for (size_t length = 1; length <= p->longest; length++) {
        uint64_t rows = lengths[length];
        if (rows > 0)
            packed->runs[packed->run_count++] = (hw_linear_run){(uint32_t)length, (uint32_t)rows};
        lengths[length] = row;
        entry[length] = at;
        row += rows;
        at += rows * length;
    }
    for (size_t i = 0; i < p->end - p->begin; i++) {
        size_t length = p->cursor[i];
        if (length == 0)
            continue;
        packed->row[lengths[length]++] = (uint32_t)(p->begin + i);
        p->cursor[i] = entry[length];
        entry[length] += length;
    }
    return HAWSER_OK;
}

/* Copies the entries in rows below `end` that have not been copied. Returns true if all were 1. It is inlined for each type
 * of values. */
static inline __attribute__((always_inline)) bool move_rows(packing *p, hw_linear_packed *packed, size_t end,
                                                            const hawser_type type)
{
    const uint32_t *indices = p->X->indices;
    size_t size = size_of(type);
    bool ones = true;
    for (size_t k = 0; k < p->count; k++) {
        uint64_t e = p->from[k];
        for (; e < p->to[k] && indices[e] < end; e++) {
            uint64_t at = p->cursor[indices[e] - p->begin]++;
            packed->index[at] = (uint32_t)k;
            memcpy((char *)packed->values + at * size, (const char *)p->X->values + e * size, size);
            ones = ones && value_at(p->X->values, type, e) == 1.0;
        }
        p->from[k] = e;
    }
    return ones;
}

/* Copies entries a few rows at a time, because each row is another place in memory to write to. */
static hawser_status move_entries(packing *p, hw_linear_packed *packed)
{
    bool ones = true;
    packed->index = memory_of(packed, INDICES, (p->entries + 1) * sizeof *packed->index);
    packed->values = memory_of(packed, VALUES, (p->entries + 1) * size_of(p->X->type));
    if (packed->index == NULL || packed->values == NULL)
        return HAWSER_NO_MEMORY;
    size_t chunks = p->entries / CHUNK + 1, most = p->entries / (STRETCH * (p->count + 1)) + 1, rows = p->end - p->begin;
    chunks = chunks < most ? chunks : most;
    for (size_t c = 1; c <= chunks; c++) {
        size_t end = p->begin + rows / chunks * c + rows % chunks * c / chunks;
        bool all = p->X->type == HAWSER_F32 ? move_rows(p, packed, end, HAWSER_F32) : move_rows(p, packed, end, HAWSER_F64);
        ones = ones && all;
    }
    packed->values = ones ? NULL : packed->values;
    return HAWSER_OK;
}

static hawser_status make(packing *p, hw_linear_packed *packed)
{
    uint64_t *lengths = NULL;
    hawser_status status = HAWSER_NO_MEMORY;
    p->from = malloc((2 * p->count + 1) * sizeof *p->from);
    p->cursor = calloc(p->end - p->begin + 1, sizeof *p->cursor);
    packed->in = calloc(2 * p->count + 1, sizeof *packed->in);
    packed->columns = malloc((p->count + 1) * sizeof *packed->columns);
    if (p->from != NULL && p->cursor != NULL && packed->in != NULL && packed->columns != NULL) {
        p->to = p->from + p->count;
        packed->out = packed->in + p->count;
        status = count_entries(p, &lengths);
    }
    HAWSER_THEN(status, order_rows(p, packed, lengths));
    HAWSER_THEN(status, move_entries(p, packed));
    free(lengths);
    free(p->from);
    free(p->cursor);
    return status;
}

hawser_status hw_linear_pack(hw_linear_packed *packed, const hawser_matrix *X, const uint32_t *columns, size_t count,
                             size_t begin, size_t end, hawser_error *error)
{
    size_t bytes = count * sizeof *columns;
    if (packed->source == X->values && packed->count == count && packed->begin == begin && packed->end == end &&
        packed->columns != NULL && memcmp(packed->columns, columns, bytes) == 0)
        return HAWSER_OK;
    forget(packed);
    packing p = {.X = X, .columns = columns, .count = count, .begin = begin, .end = end};
    if (make(&p, packed) != HAWSER_OK) {
        hw_linear_packed_free(packed);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the rows of %zu columns", count);
    }
    packed->type = X->type;
    packed->source = X->values;
    packed->count = count;
    packed->begin = begin;
    packed->end = end;
    memcpy(packed->columns, columns, bytes);
    return HAWSER_OK;
}

/* Returns the product of one row with `in`. `values` is NULL for ones. It is inlined for each type. */
static inline __attribute__((always_inline)) double dot(size_t length, const uint32_t *index, const void *values,
                                                        const hawser_type type, uint64_t first, const double *in)
{
    double sum[2] = {0.0, 0.0};
    size_t k = 0;
    for (; k + 2 <= length; k += 2)
        for (size_t lane = 0; lane < 2; lane++) {
            double x = in[index[k + lane]];
            sum[lane] += values != NULL ? value_at(values, type, first + k + lane) * x : x;
        }
    if (k < length)
        sum[0] += (values != NULL ? value_at(values, type, first + k) : 1.0) * in[index[k]];
    return sum[0] + sum[1];
}

/* The operation on the rows of a run: out += X' W X in, or image = X in. */
typedef struct use {
    const double *weights, *in;
    double *out, *image; /* one of them is NULL */
} use;

static inline __attribute__((always_inline)) void run(hw_linear_run run, const uint32_t *index, const void *values,
                                                      const hawser_type type, const uint32_t *row, use u)
{
    size_t length = run.length;
    for (size_t i = 0; i < run.rows; i++, index += length) {
        uint64_t first = (uint64_t)i * length;
        double sum = dot(length, index, values, type, first, u.in);
        if (u.image != NULL) {
            u.image[row[i]] = sum;
            continue;
        }
        double there = (u.weights != NULL ? u.weights[row[i]] : 1.0) * sum;
        for (size_t k = 0; k < length; k++)
            u.out[index[k]] += values != NULL ? value_at(values, type, first + k) * there : there;
    }
}

static inline __attribute__((always_inline)) void all_runs(const hw_linear_packed *packed, use u)
{
    const uint32_t *row = packed->row, *index = packed->index;
    const double *doubles = packed->type == HAWSER_F64 ? packed->values : NULL;
    const float *floats = packed->type == HAWSER_F32 ? packed->values : NULL;
    uint64_t all = 0;
    for (size_t r = 0; r < packed->run_count; r++) {
        hw_linear_run length = packed->runs[r];
        if (doubles != NULL)
            run(length, index, doubles, HAWSER_F64, row, u);
        else if (floats != NULL)
            run(length, index, floats, HAWSER_F32, row, u);
        else
            run(length, index, NULL, HAWSER_F64, row, u);
        uint64_t entries = (uint64_t)length.rows * length.length;
        row += length.rows;
        index += entries;
        all += entries;
        doubles = doubles != NULL ? doubles + entries : NULL;
        floats = floats != NULL ? floats + entries : NULL;
    }
    hawser_simulated_work(NULL, u.image != NULL ? all : 2 * all);
}

void hw_linear_packed_product(hw_linear_packed *packed, const double *weights)
{
    memset(packed->out, 0, packed->count * sizeof *packed->out);
    all_runs(packed, (use){.weights = weights, .in = packed->in, .out = packed->out});
}

void hw_linear_packed_rows(const hw_linear_packed *packed, double *image)
{
    all_runs(packed, (use){.in = packed->in, .image = image});
}
