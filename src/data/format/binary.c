#include "data/format/binary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/type.h"
#include "data/exposure.h"
#include "data/format/csv.h"
#include "data/label.h"
#include "data/layout/assemble.h"
#include "data/table/exact.h"

/* TILE: rows at a time. DONE: bytes after which read pages are released; DONE_COLUMNS for columns, whose neighbours are
 * released too. */
enum { TILE = 64, DONE = 1 << 20, DONE_COLUMNS = 8 << 20 };

typedef struct binary_work {
    hw_reading *reading;
    hw_dense dense;
    const hw_binary *file;
    uint64_t begin, end; /* rows of the file */
    uint64_t first;      /* row of the matrix for `begin` */
} binary_work;

/* Returns the bytes that the file should have; INT64_MAX: more than that. */
static uint64_t declared_bytes(const hw_binary *f)
{
    bool fits = f->width == 0 || f->rows < (uint64_t)INT64_MAX / f->size / f->width;
    return fits ? f->start + f->rows * f->width * f->size : INT64_MAX;
}

hawser_status hw_binary_check(hw_binary *f, const char *text, size_t bytes, hawser_error *error)
{
    f->values = (const unsigned char *)text + f->start;
    uint64_t there = bytes - f->start;
    if (f->width != 0 && there / f->size / f->width < f->rows)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: the header declares %llu x %llu numbers, but the file has %llu bytes of them", f->name,
                           (unsigned long long)f->rows, (unsigned long long)f->width, (unsigned long long)there);
    return f->rows * f->width * f->size == there
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_INPUT, "%s: other data follow the numbers", f->name);
}

/* Returns the value of a floating number of 16 bits: sign, 5 bits of exponent, 10 of fraction. */
static double half_of(unsigned bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double fraction = bits & 1023, value = exponent == 0    ? ldexp(fraction, -24)
                                           : exponent == 31 ? (fraction == 0 ? (double)INFINITY : (double)NAN)
                                                            : ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 != 0 ? -value : value;
}

static uint64_t bits_at(const hw_binary *f, uint64_t place)
{
    const unsigned char *from = f->values + place * f->size;
    uint64_t bits = 0;
    if (f->size == 8 && !f->big_endian) /* the common sizes use one load */
        memcpy(&bits, from, 8);
    else if (f->size == 4 && !f->big_endian)
        memcpy(&bits, from, 4);
    else
        for (size_t i = 0; i < f->size; i++)
            bits |= (uint64_t)from[i] << 8 * (f->big_endian ? f->size - 1 - i : i);
    return bits;
}

static double value_at(const hw_binary *f, uint64_t place)
{
    uint64_t bits = bits_at(f, place);
    if (f->number == HW_UNSIGNED)
        return (double)bits;
    if (f->number == HW_SIGNED) {
        uint64_t sign = (uint64_t)1 << (8 * f->size - 1);
        return (double)(int64_t)((bits ^ sign) - sign);
    }
    if (f->size == 2)
        return half_of((unsigned)bits);
    double value;
    float narrow;
    uint32_t low = (uint32_t)bits;
    memcpy(&value, &bits, sizeof value);
    memcpy(&narrow, &low, sizeof narrow);
    return f->size == 4 ? (double)narrow : value;
}

double hw_binary_value(const hw_binary *f, uint64_t place)
{
    return value_at(f, place);
}

bool hw_binary_place(const hw_binary *f, uint64_t place, uint64_t limit, uint64_t *number)
{
    *number = bits_at(f, place);
    bool negative = f->number == HW_SIGNED && *number >> (8 * f->size - 1) != 0;
    return !negative && *number < limit;
}

/* Releases the pages of rows that were read, or for column order those of as many numbers. */
static void text_done(const hw_binary *f, uint64_t begin, uint64_t end)
{
    uint64_t bytes = f->width * f->size;
    const char *text = (const char *)f->values;
    hw_text_done(f->input, text + begin * bytes, text + end * bytes);
}

/* Returns whether a label or group is a whole number that a double rounds, so that it could become another one. */
static bool is_rounded(const hw_binary *f, unsigned char role, uint64_t place, double value)
{
    bool names = role == HW_TARGET || role == HW_GROUPS;
    if (!names || f->number == HW_FLOATING || fabs(value) < 0x1p53)
        return false;
    double least = f->number == HW_SIGNED ? -0x1p63 : 0, most = f->number == HW_SIGNED ? 0x1p63 : 0x1p64;
    if (value < least || value >= most)
        return true;
    return (f->number == HW_SIGNED ? (uint64_t)(int64_t)value : (uint64_t)value) != bits_at(f, place);
}

/* Writes a number as the text of a label. */
static hw_label label_text(const hw_binary *f, uint64_t place, double value, char label[HW_LABEL_TEXT])
{
    char text[64] = ""; /* with the slack of a number that is read */
    uint64_t bits = bits_at(f, place), sign = (uint64_t)1 << (8 * f->size - 1);
    if (f->number == HW_UNSIGNED)
        (void)snprintf(text, HW_LABEL_TEXT, "%" PRIu64, bits);
    else if (f->number == HW_SIGNED)
        (void)snprintf(text, HW_LABEL_TEXT, "%" PRId64, (int64_t)((bits ^ sign) - sign));
    else if (value == floor(value) && fabs(value) < 0x1p65)
        (void)snprintf(text, HW_LABEL_TEXT, "%.0f", value);
    else
        (void)hw_print_number(text, HW_LABEL_TEXT, 17, value);
    return hw_label_read(text, text + strlen(text), label);
}

/* Reads a label of the target. If other whole numbers have the same double, all labels are read again as words; `exact`:
 * they are words. Floating numbers may have been rounded before, and are left to the classifier. */
static hawser_status take_label(hw_reading *reading, const hw_binary *f, bool exact, uint64_t row, uint64_t place,
                                double *value, hawser_error *error)
{
    char label[HW_LABEL_TEXT];
    if (*value - *value != 0 || (!exact && (f->number == HW_FLOATING || !hw_label_is_doubtful(*value))))
        return HAWSER_OK;
    if (!exact) {
        atomic_store(&reading->met_labels, true);
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "%s: row %llu (from 0): the label is beyond 2^53, and the input cannot be read again to tell such "
            "labels apart; give a file",
            f->name, (unsigned long long)row);
    }
    if (label_text(f, place, *value, label) == HW_LABEL_OUTSIDE)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: row %llu (from 0): " HW_LABEL_IS_OUTSIDE ": %.17g", f->name,
                           (unsigned long long)row, "label", *value);
    return hw_exact_text(reading, f->name, label, value, error);
}

/* Returns whether the target's numbers are labels. *exact: they are read as words. */
static bool has_labels(const hw_reading *reading, bool *exact)
{
    *exact = hw_exact_is_wanted(reading);
    return *exact || (reading->load->labels != 0 && reading->load->schema == NULL);
}

/* Refuses a number that cannot be stored: row and column count from 0. A column that is not read may have any. */
static hawser_status check_value(const hw_binary *f, const unsigned char *roles, bool single, uint64_t row, uint64_t j,
                                 uint64_t place, double value, hawser_error *error)
{
    bool wide = single && roles[j] == HW_FEATURE && isinf((float)value);
    if (is_rounded(f, roles[j], place, value))
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: row %llu, column %llu (from 0): the %s is a whole number near %.17g that a double cannot "
                           "hold, so it could become another one; number them anew",
                           f->name, (unsigned long long)row, (unsigned long long)j,
                           roles[j] == HW_GROUPS ? "group" : "target", value);
    if ((value - value == 0 && !wide) || roles[j] >= HW_UNSEEN)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s: row %llu, column %llu (from 0): the value is %g; %s", f->name,
                       (unsigned long long)row, (unsigned long long)j, value,
                       value - value == 0 ? "it is too large for type f32, use f64" : "remove the row");
}

/* Returns hw_equal_digits of a number: 0, but for whole numbers that a double may round. */
static uint64_t digits_at(const hw_binary *f, uint64_t place, double value)
{
    return f->number == HW_FLOATING || fabs(value) < 0x1p53 ? 0 : bits_at(f, place) | 1ull << 63;
}

/* Compares a row with what the part has of those before. Columns are counted as in the file. */
static hawser_status see_row(const binary_work *w, hw_text_part *part, const double *row, uint64_t number,
                             hawser_error *error)
{
    const hw_binary *f = w->file;
    hw_equals *list = &part->equals;
    size_t kept = 0;
    for (uint64_t j = 0; !list->begun && j < f->width; j++) {
        unsigned role = w->dense.roles[j];
        uint64_t place = f->fortran ? j * f->rows + number : number * f->width + j;
        if (role == HW_FEATURE || role == HW_TARGET || (role >= HW_FURTHER && role < HW_UNSEEN))
            HAWSER_TRY(hw_equals_add(list, (uint32_t)j, row[j], digits_at(f, place, row[j]), error));
    }
    list->begun = true;
    for (size_t k = 0; k < list->count; k++) {
        hw_equal item = list->items[k];
        uint64_t j = item.column, place = f->fortran ? j * f->rows + number : number * f->width + j;
        if (hw_equal_see(&item, row[j], digits_at(f, place, row[j]),
                         w->dense.roles[j] == HW_FEATURE ? w->reading->load->type : HAWSER_F64))
            list->items[kept++] = item;
    }
    list->count = kept;
    return HAWSER_OK;
}

static hawser_status put_rows(void *context, uint32_t thread, hawser_error *error)
{
    const binary_work *w = context;
    const hw_binary *f = w->file;
    uint64_t rows = w->end - w->begin, begin = w->begin + rows * thread / w->reading->threads,
             end = w->begin + rows * (thread + 1) / w->reading->threads;
    uint64_t read = begin, bytes = f->width * f->size;
    double *tile;
    HAWSER_TRY(HW_NEW(&tile, TILE * f->width, "rows", error));
    bool exact, labels = has_labels(w->reading, &exact);
    hw_text_part part = {0}; /* for its list of equal columns */
    hawser_status status = hw_part_begin_equals(w->reading, &part, error);
    for (uint64_t row = begin; status == HAWSER_OK && row < end; row += TILE) {
        uint64_t count = end - row < TILE ? end - row : TILE;
        status = hw_cancellation_check(w->reading->budget.cancellation, error);
        for (uint64_t i = 0; status == HAWSER_OK && i < count; i++)
            for (uint64_t j = 0; j < f->width; j++) {
                uint64_t place = f->fortran ? j * f->rows + row + i : (row + i) * f->width + j;
                double *value = &tile[i * f->width + j];
                *value = value_at(f, place);
                if (labels && w->dense.roles[j] == HW_TARGET)
                    status = take_label(w->reading, f, exact, row + i, place, value, error);
                HAWSER_THEN(status, check_value(f, w->dense.roles, w->dense.single, row + i, j, place, *value, error));
                if (status != HAWSER_OK)
                    break;
            }
        for (uint64_t i = 0; status == HAWSER_OK && i < count && hw_part_sees(&part); i++)
            status = see_row(w, &part, tile + i * f->width, row + i, error);
        HAWSER_THEN(status, hw_dense_put(&w->dense, tile, w->first + row - w->begin, count, error));
        if ((row + count - read) * bytes >= (f->fortran ? DONE_COLUMNS : DONE)) {
            text_done(f, f->fortran ? 0 : read, f->fortran ? f->rows : row + count);
            read = row + count;
        }
    }
    HAWSER_THEN(status, hw_part_end_equals(w->reading, &part, error));
    hw_equals_free(&part.equals);
    w->reading->rows_read[thread] += end - begin;
    free(tile);
    return status;
}

/* Gives the columns of a list the roles of targets, or of nothing that is read. A name that is no column is left to the
 * caller. */
static hawser_status give_targets(const hw_binary *f, const char *list, bool ignore, unsigned char *roles, bool *found,
                                  hawser_error *error)
{
    char *copy, *rest = NULL;
    size_t count = 0;
    hawser_status status = HAWSER_OK;
    HAWSER_TRY(hw_copy_text(&copy, list, error));
    *found = true;
    for (char *at = strtok_r(copy, ",", &rest); at != NULL && status == HAWSER_OK; at = strtok_r(NULL, ",", &rest)) {
        size_t column = hw_csv_column(at, NULL, f->width);
        *found = *found && column < f->width;
        if (column >= f->width)
            break;
        if (count > HW_FURTHER_TARGETS || roles[column] != HW_FEATURE)
            status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: the target '%s' %s", f->name, at,
                                 count > HW_FURTHER_TARGETS ? "is one more than 64" : "names a column twice");
        else
            roles[column] = (unsigned char)(ignore ? HW_IGNORED : count == 0 ? HW_TARGET : HW_FURTHER + count - 1);
        count++;
    }
    free(copy);
    return status;
}

/* The target of new data of a model, which may lack it: then there are exactly the model's columns. */
static void find_optional_target(const hw_reading *reading, const hw_binary *f, unsigned char *roles)
{
    const hawser_load *load = reading->load;
    uint64_t features = 0;
    size_t column = load->target_place > 0 ? load->target_place - 1 : 0;
    for (uint64_t j = 0; j < f->width; j++)
        features += roles[j] == HW_FEATURE;
    if (load->target != NULL && load->target_place == 0)
        column = hw_csv_column(load->target, NULL, f->width);
    if (features == load->columns + 1 && column < f->width && roles[column] == HW_FEATURE)
        roles[column] = HW_IGNORED;
}

static hawser_status give_groups(const hw_reading *reading, const hw_binary *f, unsigned char *roles, hawser_error *error)
{
    size_t column = reading->load->groups != NULL ? hw_csv_column(reading->load->groups, NULL, f->width) : 0;
    if (reading->load->groups == NULL)
        return HAWSER_OK;
    if (column >= f->width || roles[column] != HW_FEATURE)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the groups '%s' are no free column (of %llu, from 0)", f->name,
                           reading->load->groups, (unsigned long long)f->width);
    roles[column] = HW_GROUPS;
    return HAWSER_OK;
}

hawser_status hw_binary_roles(const hw_reading *reading, const hw_binary *f, unsigned char *roles, hawser_error *error)
{
    const char *specs[] = {reading->load->target, reading->load->weights, hw_load_offset(reading->load)};
    const char *const what[] = {"target", "weights", hw_load_exposes(reading->load) ? "exposure" : "offset"};
    bool found = false;
    if (specs[0] == NULL && f->target_first)
        specs[0] = "0";
    if (reading->load->outputs && specs[0] != NULL && strcmp(specs[0], "none") != 0 &&
        (!reading->load->target_optional || f->width > reading->load->columns))
        HAWSER_TRY(give_targets(f, specs[0], reading->load->target_optional, roles, &found, error));
    if (found)
        specs[0] = NULL;
    for (int i = reading->load->target_optional ? 1 : 0; i < 3; i++) {
        if (specs[i] == NULL || strcmp(specs[i], "none") == 0)
            continue;
        size_t column = hw_csv_column(specs[i], NULL, f->width);
        if (column < f->width && roles[column] == HW_FEATURE)
            roles[column] = (unsigned char)(HW_TARGET + i);
        else if (column < f->width || !hw_is_file(specs[i]))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s: the %s '%s' is neither a free column (of %llu, from 0) nor a file", f->name, what[i],
                               specs[i], (unsigned long long)f->width);
    }
    HAWSER_TRY(give_groups(reading, f, roles, error));
    if (reading->load->target_optional)
        find_optional_target(reading, f, roles);
    uint64_t features = 0;
    for (uint64_t j = 0; j < f->width; j++)
        features += roles[j] == HW_FEATURE;
    if (reading->load->columns != 0 && features != reading->load->columns)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "%s: has %llu columns besides target, weights and offset, and the model has %zu; without names they "
            "are matched by position",
            f->name, (unsigned long long)features, reading->load->columns);
    return HAWSER_OK;
}

hawser_status hw_binary_take(hw_reading *reading, const hw_binary *f, const unsigned char *roles, uint64_t first,
                             uint64_t count, hawser_dataset *dataset, hawser_error *error)
{
    hw_dense dense;
    double *rows;
    uint64_t good = 0;
    bool exact, labels = has_labels(reading, &exact);
    hawser_status bad = HAWSER_OK, status = HW_NEW(&rows, count * f->width, "rows", error);
    for (; status == HAWSER_OK && good < count; good++) {
        for (uint64_t j = 0; bad == HAWSER_OK && j < f->width; j++) {
            double *value = &rows[good * f->width + j];
            *value = value_at(f, good * f->width + j);
            if (labels && roles[j] == HW_TARGET)
                bad = take_label(reading, f, exact, first + good, good * f->width + j, value, error);
            HAWSER_THEN(bad, check_value(f, roles, reading->load->type == HAWSER_F32, first + good, j, good * f->width + j,
                                         *value, error));
            if (bad == HAWSER_OK && roles[j] == HW_OFFSET && hw_load_exposes(reading->load))
                bad = hw_take_exposures(f->name, &rows[good * f->width + j], 1, first + good, error);
        }
        if (bad != HAWSER_OK)
            break;
    }
    if (status == HAWSER_OK && good > 0)
        status = hw_dense_begin(&dense, reading, good, f->width, roles, dataset, error);
    if (status == HAWSER_OK && good > 0)
        status = hw_dense_put(&dense, rows, 0, good, error);
    if (status == HAWSER_OK && good > 0)
        hw_dense_end(&dense, dataset);
    free(rows);
    return status != HAWSER_OK ? status : bad;
}

/* Adds the figures of a file of which rows [begin, end) are read. */
static void count_bytes(hw_reading *reading, size_t number, const hw_binary *f, uint64_t begin, uint64_t end)
{
    hw_input_file *file = &reading->input.files[number];
    uint64_t bytes = (f->rows - (end - begin)) * f->width * f->size;
    reading->input.text -= bytes;
    if (file->map != NULL)
        file->to -= bytes;
}

/* A part of the input is a range of all files' rows. */
static hawser_status fill_files(hw_reading *reading, const hw_binary *files, uint64_t all, unsigned char *roles,
                                hawser_dataset *dataset, hawser_error *error)
{
    binary_work w = {.reading = reading};
    uint32_t part = reading->load->part, parts = reading->load->parts;
    uint64_t first = parts > 1 ? all * part / parts : 0, last = parts > 1 ? all * (part + 1) / parts : all, before = 0;
    uint64_t rows = last - first;
    HAWSER_TRY(hw_binary_roles(reading, &files[0], roles, error));
    HAWSER_TRY(hw_keep_numbers(dataset, roles, files[0].width, error));
    for (size_t j = 0; j < files[0].width; j++)
        if (roles[j] == HW_TARGET) {
            dataset->figures.target_column = j + 1;
            dataset->labels_as_words = reading->load->schema == NULL && reading->load->labels == HW_LABELS_AS_WORDS;
        }
    uint64_t size = hw_type_size(reading->load->type);
    uint64_t used = atomic_load(&reading->budget.used), scratch = TILE * files[0].width * sizeof(double) * reading->threads;
    HAWSER_TRY(hw_budget_estimate(&reading->budget, used + scratch + rows * files[0].width * size, error));
    HAWSER_TRY(HW_NEW(&reading->rows_read, reading->threads, "figures", error));
    reading->input.readers = reading->threads;
    HAWSER_TRY(hw_dense_begin(&w.dense, reading, rows, files[0].width, roles, dataset, error));
    for (size_t i = 0; i < reading->input.count; i++) {
        w.file = &files[i];
        w.begin = first > before ? first - before : 0;
        w.begin = w.begin < files[i].rows ? w.begin : files[i].rows;
        w.end = last > before ? last - before : 0;
        w.end = w.end < files[i].rows ? w.end : files[i].rows;
        HAWSER_TRY(hw_in_parallel(reading->threads, put_rows, &w, error));
        text_done(&files[i], 0, files[i].rows);
        count_bytes(reading, i, &files[i], w.begin, w.end);
        w.first += w.end - w.begin;
        before += files[i].rows;
    }
    hw_dense_end(&w.dense, dataset);
    if (hw_load_exposes(reading->load) && w.dense.special[HW_OFFSET] != NULL)
        HAWSER_TRY(hw_take_exposures(files[0].name, w.dense.special[HW_OFFSET], rows, first, error));
    dataset->figures.unseen_entries = dataset->figures.unseen_columns * rows;
    return HAWSER_OK;
}

static hawser_status read_files(hw_reading *reading, hw_binary_header header, hw_binary *files, uint64_t *rows,
                                hawser_error *error)
{
    for (size_t i = 0; i < reading->input.count; i++) {
        const char *text;
        size_t bytes;
        hw_binary *f = &files[i];
        f->input = &reading->input.files[i];
        f->name = f->input->name;
        HAWSER_TRY(header(reading, i, f, error));
        uint64_t declared = declared_bytes(f);
        if (f->input->map == NULL)
            HAWSER_TRY(hw_budget_estimate(&reading->budget, declared, error));
        HAWSER_TRY(hw_input_whole(&reading->input, i, declared, &text, &bytes, &f->buffer, &f->capacity, error));
        HAWSER_TRY(hw_binary_check(f, text, bytes, error));
        *rows += f->rows;
        if (f->width != files[0].width)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: has %llu columns, and %s %llu", f->name,
                               (unsigned long long)f->width, files[0].name, (unsigned long long)files[0].width);
    }
    if (*rows == 0 || files[0].width == 0 || *rows >= UINT32_MAX)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the array has no rows, no columns, or more than 4294967294 rows",
                           files[0].name);
    return HAWSER_OK;
}

hawser_status hw_binary_load(hw_reading *reading, hw_binary_header header, hawser_dataset *dataset, hawser_error *error)
{
    hw_binary *files;
    unsigned char *roles = NULL;
    uint64_t rows = 0;
    HAWSER_TRY(HW_NEW(&files, reading->input.count, "files", error));
    hawser_status status = read_files(reading, header, files, &rows, error);
    HAWSER_THEN(status, HW_NEW(&roles, files[0].width, "columns", error));
    HAWSER_THEN(status, fill_files(reading, files, rows, roles, dataset, error));
    for (size_t i = 0; i < reading->input.count; i++)
        hw_pages_free(&reading->budget, files[i].buffer, files[i].capacity);
    free(roles);
    free(files);
    return status;
}
