/* scipy.c - sparse matrices as scipy.sparse.save_npz writes them: an .npz archive with the arrays of CSR, CSC or
 * coordinates. Each part of the input is a share of the rows, in a matrix with the rows of the whole. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/type.h"
#include "base/wide.h"
#include "data/format/binary.h"
#include "data/format/npy.h"
#include "data/formats.h"
#include "data/layout/assemble.h"
#include "data/source/npz.h"

enum { ROWS = 0, COLUMNS, VALUES, ARRAYS };

/* The arrays of the archive. One of the first two is the places where each row (CSR) or column (CSC) ends, the other those
 * of entries; of coordinates both are of entries. */
typedef struct scipy_matrix {
    const char *name;
    hw_reading *reading;
    const char *members[ARRAYS];
    hw_binary arrays[ARRAYS];
    void *pages[ARRAYS];
    size_t bytes[ARRAYS];
    int offsets; /* which array is that of ends: ROWS or COLUMNS; ARRAYS: none is */
    uint64_t sizes[2];
    uint64_t entries;
    uint64_t first, last; /* this part of the input has the rows from the first up to, without, the last */
} scipy_matrix;

static hawser_status unpack(const scipy_matrix *m, const char *member, void **pages, size_t *bytes, hawser_error *error)
{
    const hw_input_file *file = &m->reading->input.files[0];
    bool sparse;
    return hw_npz_unpack(file->map, file->bytes, m->name, member, &m->reading->budget, pages, bytes, &sparse, error);
}

/* Reads 'csr', 'csc' or 'coo', in one byte or four per character, and names the arrays. */
static hawser_status read_format(scipy_matrix *m, hawser_error *error)
{
    static const char *const members[][1 + ARRAYS] = {
        {"csr", "indptr", "indices", "data"}, {"csc", "indices", "indptr", "data"}, {"coo", "row", "col", "data"}};
    void *pages;
    size_t bytes;
    char word[8];
    HAWSER_TRY(unpack(m, "format", &pages, &bytes, error));
    hawser_status status = hw_npy_word(m->name, pages, bytes, word, sizeof word, error);
    hw_pages_free(&m->reading->budget, pages, bytes);
    HAWSER_TRY(status);
    for (int k = 0; k < 3; k++)
        if (strcmp(word, members[k][0]) == 0) {
            memcpy(m->members, members[k] + 1, sizeof m->members);
            m->offsets = k == 0 ? ROWS : k == 1 ? COLUMNS : ARRAYS;
            return HAWSER_OK;
        }
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "%s: holds a sparse matrix of scipy's format '%s', which is not read; save it as csr: "
                       "scipy.sparse.save_npz(FILE, X.tocsr())",
                       m->name, word);
}

static hawser_status read_array(scipy_matrix *m, int k, hawser_error *error)
{
    hw_binary *f = &m->arrays[k];
    char where[4096 + 32];
    HAWSER_TRY(unpack(m, m->members[k], &m->pages[k], &m->bytes[k], error));
    (void)snprintf(where, sizeof where, "%s:%s", m->name, m->members[k]);
    HAWSER_TRY(hw_npy_array(where, m->pages[k], m->bytes[k], f, error));
    if (f->width != 1)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the array '%s' has two dimensions instead of one", m->name,
                           m->members[k]);
    if (k != VALUES && f->number == HW_FLOATING)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the array '%s' has no whole numbers", m->name, m->members[k]);
    return HAWSER_OK;
}

static hawser_status read_shape(scipy_matrix *m, hawser_error *error)
{
    hw_binary shape;
    void *pages;
    size_t bytes;
    HAWSER_TRY(unpack(m, "shape", &pages, &bytes, error));
    hawser_status status = hw_npy_array(m->name, pages, bytes, &shape, error);
    bool fits = status == HAWSER_OK && shape.rows == 2 && shape.width == 1 && shape.number != HW_FLOATING;
    for (int k = 0; fits && k < 2; k++)
        fits = hw_binary_place(&shape, (uint64_t)k, UINT32_MAX, &m->sizes[k]);
    hw_pages_free(&m->reading->budget, pages, bytes);
    if (status == HAWSER_OK && (!fits || m->sizes[0] == 0 || m->sizes[1] == 0))
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: the array 'shape' must be two numbers, of rows and columns, from 1 to 4294967294", m->name);
    return status;
}

/* Checks that the rows or columns end one after the other, within the entries. */
static hawser_status check_ends(scipy_matrix *m, hawser_error *error)
{
    const hw_binary *ends = &m->arrays[m->offsets];
    const char *what = m->offsets == ROWS ? "row" : "column";
    uint64_t count = m->sizes[m->offsets], last = 0, end = 0;
    if (ends->rows != count + 1)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: 'indptr' has %llu numbers; %llu %ss need one more than their number", m->name,
                           (unsigned long long)ends->rows, (unsigned long long)count, what);
    for (uint64_t k = 0; k <= count; k++, last = end)
        if (!hw_binary_place(ends, k, m->entries + 1, &end) || end < last || (k == 0 && end != 0))
            return hawser_fail(
                error, HAWSER_BAD_INPUT,
                "%s: 'indptr' must begin with 0, never fall, and end by the %llu entries; number %llu (from 0) "
                "does not",
                m->name, (unsigned long long)m->entries, (unsigned long long)k);
    m->entries = last; /* scipy passes over what follows */
    return HAWSER_OK;
}

static hawser_status read_arrays(scipy_matrix *m, hawser_error *error)
{
    HAWSER_TRY(read_format(m, error));
    HAWSER_TRY(read_shape(m, error));
    for (int k = 0; k < ARRAYS; k++)
        HAWSER_TRY(read_array(m, k, error));
    m->entries = m->arrays[VALUES].rows;
    for (int k = 0; k < VALUES; k++)
        if (k != m->offsets && m->arrays[k].rows != m->entries)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the array '%s' has %llu numbers, and 'data' %llu", m->name,
                               m->members[k], (unsigned long long)m->arrays[k].rows, (unsigned long long)m->entries);
    return m->offsets < ARRAYS ? check_ends(m, error) : HAWSER_OK;
}

/* Returns the row or column of which an entry is: the last that begins at or before it and is not empty. */
static uint64_t major_of(const scipy_matrix *m, uint64_t entry)
{
    const hw_binary *ends = &m->arrays[m->offsets];
    uint64_t low = 0, high = m->sizes[m->offsets], end = 0;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        (void)hw_binary_place(ends, middle + 1, UINT64_MAX, &end);
        if (end > entry)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static hawser_status put(const scipy_matrix *m, hw_text_part *part, const uint64_t place[2], uint64_t entry,
                         hawser_error *error)
{
    double value = hw_binary_value(&m->arrays[VALUES], entry);
    bool single = m->reading->load->type == HAWSER_F32;
    if (value - value != 0 || (single && isinf((float)value)))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: row %llu, column %llu (from 0): the value %g %s", m->name,
                           (unsigned long long)place[0], (unsigned long long)place[1], value,
                           value - value != 0 ? "is not a finite number" : "is too large for type f32; use f64");
    part->rows_of[part->entries] = (uint32_t)place[0];
    part->indices[part->entries] = (uint32_t)place[1];
    part->least = place[1] < part->least ? (uint32_t)place[1] : part->least;
    part->most = place[1] > part->most ? (uint32_t)place[1] : part->most;
    if (single)
        ((float *)part->values)[part->entries++] = (float)value;
    else
        ((double *)part->values)[part->entries++] = value;
    return HAWSER_OK;
}

/* Finds the place of an entry. `next`: where the row or column of the entry before ends; 0 at first. */
static hawser_status locate(const scipy_matrix *m, uint64_t entry, uint64_t *next, uint64_t place[2], hawser_error *error)
{
    if (m->offsets < ARRAYS && entry >= *next) {
        place[m->offsets] = major_of(m, entry);
        (void)hw_binary_place(&m->arrays[m->offsets], place[m->offsets] + 1, UINT64_MAX, next);
    }
    for (int of = 0; of < VALUES; of++)
        if (of != m->offsets && !hw_binary_place(&m->arrays[of], entry, m->sizes[of], &place[of]))
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: number %llu (from 0) of '%s' is not in the %llu %s", m->name,
                               (unsigned long long)entry, m->members[of], (unsigned long long)m->sizes[of],
                               of == ROWS ? "rows" : "columns");
    return HAWSER_OK;
}

/* Reads a share of the entries: first counts those in the rows of this part, then puts them. */
static hawser_status fill_part(void *context, uint32_t k, hawser_error *error)
{
    const scipy_matrix *m = context;
    hw_reading *reading = m->reading;
    hw_text_part *part = &reading->parts[k][0];
    uint64_t begin = hw_share_of(m->entries, k, reading->input.readers),
             end = hw_share_of(m->entries, k + 1, reading->input.readers), count = 0, next = 0, place[2] = {0};
    for (uint64_t entry = begin; entry < end; entry++) {
        HAWSER_TRY(locate(m, entry, &next, place, error));
        count += place[ROWS] >= m->first && place[ROWS] < m->last;
    }
    hw_part_sizes sizes = {.rows_of = count, .indices = count, .value_bytes = count * hw_type_size(reading->load->type)};
    HAWSER_TRY(hw_part_reserve(reading, part, &sizes, error));
    next = 0;
    for (uint64_t entry = begin; entry < end; entry++) {
        HAWSER_TRY(locate(m, entry, &next, place, error));
        if (place[ROWS] >= m->first && place[ROWS] < m->last)
            HAWSER_TRY(put(m, part, place, entry, error));
    }
    part->rows = part->entries;
    return HAWSER_OK;
}

/* Makes a part of the reading for each thread. */
static hawser_status make_parts(hw_reading *reading, uint32_t threads, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&reading->parts, threads, "parts", error));
    HAWSER_TRY(HW_NEW(&reading->part_counts, threads, "parts", error));
    HAWSER_TRY(HW_NEW(&reading->part_capacities, threads, "parts", error));
    HAWSER_TRY(HW_NEW(&reading->rows_read, threads, "figures", error));
    reading->input.readers = threads;
    for (uint32_t k = 0; k < threads; k++) {
        HAWSER_TRY(HW_GROW(&reading->parts[k], &reading->part_capacities[k], 1, "a list of parts", error));
        reading->parts[k][0] = (hw_text_part){.least = UINT32_MAX};
        reading->part_counts[k] = 1;
    }
    reading->input.sequence = threads;
    return HAWSER_OK;
}

/* Checks the sizes, of which each row and column takes memory, and what the entries take. */
static hawser_status check_sizes(scipy_matrix *m, hawser_error *error)
{
    hw_reading *reading = m->reading;
    uint64_t text = 0, size = hw_type_size(reading->load->type);
    for (int k = 0; k < ARRAYS; k++)
        text += m->bytes[k];
    for (int k = 0; k < 2; k++)
        HAWSER_TRY(hw_check_claim(m->name, m->sizes[k], k == 0 ? "rows" : "columns", text, reading->load->memory_limit != 0,
                                  error));
    uint64_t majors = (reading->load->rows_layout || reading->load->parts > 1 ? m->sizes[0] : m->sizes[1]) * 16;
    reading->input.text = text;
    return hw_budget_estimate(
        &reading->budget,
        text + (m->entries / (reading->load->parts > 1 ? reading->load->parts : 1) + 1) * (8 + size + 4 + size) + majors +
            (4 << 20) * (uint64_t)reading->threads,
        error);
}

static void free_arrays(scipy_matrix *m)
{
    for (int k = 0; k < ARRAYS; k++) {
        hw_pages_free(&m->reading->budget, m->pages[k], m->bytes[k]);
        m->pages[k] = NULL;
    }
}

static hawser_status load(scipy_matrix *m, hawser_dataset *dataset, hawser_error *error)
{
    hw_reading *reading = m->reading;
    hw_input_file *file = &reading->input.files[0];
    HAWSER_TRY(read_arrays(m, error));
    bool part = reading->load->parts > 1;
    uint32_t number = part ? reading->load->part : 0, parts = part ? reading->load->parts : 1;
    reading->whole_rows = true;
    m->first = hw_share_of(m->sizes[ROWS], number, parts); /* so that repeated entries are in one part */
    m->last = hw_share_of(m->sizes[ROWS], number + 1, parts);
    file->from = hw_share_of(file->bytes, number, parts);
    file->to = hw_share_of(file->bytes, number + 1, parts);
    HAWSER_TRY(check_sizes(m, error));
    HAWSER_TRY(make_parts(reading, reading->threads, error));
    HAWSER_TRY(hw_in_parallel(reading->input.readers, fill_part, m, error));
    free_arrays(m);
    dataset->figures.parted = dataset->scattered = part;
    dataset->declared = m->entries;
    for (uint32_t k = 0; k < reading->input.readers; k++)
        dataset->found += reading->parts[k][0].entries;
    return hw_assemble_coordinates(reading, m->sizes[0], m->sizes[1], HW_MIRROR_NONE, dataset, error);
}

static hawser_status load_sparse(hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    scipy_matrix m = {.name = reading->input.files[0].name, .reading = reading};
    if (reading->input.count > 1)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: a sparse matrix of scipy is one file, and %zu were given", m.name,
                           reading->input.count);
    if (reading->load->groups != NULL)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--folds by:%.100s: %s is a sparse matrix of scipy, which has no column of groups; name a file of "
            "fold numbers",
            reading->load->groups, m.name);
    hawser_status status = load(&m, dataset, error);
    free_arrays(&m);
    return status;
}

hawser_status hw_npy_load(hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    return reading->input.files[0].sparse ? load_sparse(reading, dataset, error)
                                          : hw_binary_load(reading, hw_npy_header, dataset, error);
}
