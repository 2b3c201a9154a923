#include "data/format/market.h"

#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/type.h"
#include "data/formats.h"
#include "data/layout/assemble.h"
#include "data/source/runs.h"

/* What the first lines declare. The sizes are claims: memory for values is allocated only after as many were read. What rows
 * or columns of a sparse matrix take even if empty (offsets and counts) is part of the estimate, which the budget can
 * refuse. */
typedef struct market {
    bool array, symmetric, skew, pattern; /* skew: also symmetric, but for the sign, and without a diagonal */
    uint64_t rows, cols, entries;
    uint64_t lines[2]; /* line numbers of the numbers of rows and columns */
    uint64_t skip;     /* text bytes before the first entry */
} market;

/* Reads a whole number and its end, which must be a blank or a line end; returns NULL if it is not one or too large for 32
 * bits less one. */
static inline const char *whole(const char *at, uint64_t *number)
{
    *number = 0;
    const char *end = hw_digits(at, number);
    bool fits = end > at && end - at <= 19 && (*number < UINT32_MAX);
    return fits && (*end == ' ' || *end == '\n' || *end == '\t' || *end == '\r') ? end : NULL;
}

static hawser_status read_banner(const hw_chunk *line, market *m, hawser_error *error)
{
    static const char *const choices[4] = {"matrix", "coordinate array", "real integer double pattern",
                                           "general symmetric skew-symmetric"};
    char words[4][24] = {""};
    const char *at = line->begin + strlen("%%MatrixMarket");
    for (int i = 0; i < 4; i++) {
        at = hw_skip_blanks(at);
        size_t length = 0;
        const char *word = at;
        for (; *at != ' ' && *at != '\t' && *at != '\r' && *at != '\n' && *at != '\0'; at++)
            if (length + 1 < sizeof words[i])
                words[i][length++] = (char)(*at | 32);
        if (strcmp(words[i], "complex") == 0 || strcmp(words[i], "hermitian") == 0)
            return hw_chunk_fail(line, word, error,
                                 "complex matrices are not supported; write real and imaginary parts as two matrices");
        const char *found = length > 0 ? strstr(choices[i], words[i]) : NULL;
        if (found == NULL || (found > choices[i] && found[-1] != ' ') || (found[length] != ' ' && found[length] != '\0'))
            return hw_chunk_fail(line, word, error,
                                 "a Matrix Market file of this kind is not supported; expected one of: %s", choices[i]);
    }
    m->array = strcmp(words[1], "array") == 0;
    m->pattern = strcmp(words[2], "pattern") == 0;
    m->skew = strcmp(words[3], "skew-symmetric") == 0;
    m->symmetric = m->skew || strcmp(words[3], "symmetric") == 0;
    if (m->skew && m->pattern)
        return hw_chunk_fail(line, line->begin, error, "a skew-symmetric matrix has values, and no pattern");
    if (m->array && m->pattern)
        return hw_chunk_fail(line, line->begin, error, "an array has no pattern");
    return HAWSER_OK;
}

static hawser_status read_sizes(const hw_chunk *line, market *m, hawser_error *error)
{
    uint64_t *const sizes[3] = {&m->rows, &m->cols, &m->entries};
    const char *at = line->begin, *begin = at;
    for (int i = 0; i < (m->array ? 2 : 3); i++) {
        begin = hw_skip_blanks(at);
        at = i < 2 ? whole(begin, sizes[i]) : hw_digits(begin, sizes[i]);
        uint64_t large;
        if (at == NULL && hw_digits(begin, &large) != begin)
            return hw_chunk_fail(line, begin, error, "more than %u rows or columns are not supported", UINT32_MAX - 1);
        if (at == NULL || at == begin || at - begin > 19)
            return hw_chunk_fail(line, begin, error, "expected %s", m->array ? "ROWS COLUMNS" : "ROWS COLUMNS ENTRIES");
    }
    if (*hw_skip_blanks(at) != '\n')
        return hw_chunk_fail(line, hw_skip_blanks(at), error, "other text follows the sizes");
    if (m->rows == 0 || m->cols == 0)
        return hw_chunk_fail(line, line->begin, error, "the matrix has no rows or no columns");
    if (m->symmetric && m->rows != m->cols)
        return hw_chunk_fail(line, line->begin, error, "a symmetric matrix must be square");
    if (m->array)
        m->entries = m->skew ? m->rows * (m->rows - 1) / 2 : m->symmetric ? m->rows * (m->rows + 1) / 2 : m->rows * m->cols;
    return HAWSER_OK;
}

/* UCI's bags of words (docword) have no banner, and one size per line; the rest is the same. */
static hawser_status read_words_size(const hw_chunk *line, uint64_t number, market *m, hawser_error *error)
{
    uint64_t *const sizes[3] = {&m->rows, &m->cols, &m->entries};
    static const char *const names[3] = {"documents", "words", "entries"};
    const char *begin = hw_skip_blanks(line->begin), *end = whole(begin, sizes[number - 1]);
    if (end == NULL || *hw_skip_blanks(end) != '\n' || (*sizes[number - 1] == 0 && number < 3))
        return hw_chunk_fail(line, begin, error, "expected the number of %s, %u at most, alone in its line",
                             names[number - 1], UINT32_MAX - 1);
    return HAWSER_OK;
}

/* Reads banner, comments and sizes from a copy of each line, because nothing after a line may be read. */
static hawser_status read_head(hw_reading *reading, market *m, hawser_error *error)
{
    const char *text;
    size_t bytes, least = 1 << 16, at = 0;
    HAWSER_TRY(hw_input_head(&reading->input, 0, least, &text, &bytes, error));
    for (uint64_t number = 1;; number++) {
        const char *end = at < bytes ? memchr(text + at, '\n', bytes - at) : NULL;
        while (end == NULL && bytes >= least) {
            least *= 2;
            HAWSER_TRY(hw_input_head(&reading->input, 0, least, &text, &bytes, error));
            end = at < bytes ? memchr(text + at, '\n', bytes - at) : NULL;
            least = reading->input.files[0].map != NULL ? SIZE_MAX : least; /* that is the whole file */
        }
        if (at >= bytes)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: ends before the line of sizes", reading->input.files[0].name);
        size_t length = (size_t)((end != NULL ? end : text + bytes) - (text + at));
        char copy[400 + HW_CHUNK_SLACK] = {0};
        memcpy(copy, text + at, length < 400 ? length : 400);
        copy[length < 400 ? length : 400] = '\n';
        hw_chunk line = {
            .file = &reading->input.files[0], .begin = copy, .end = copy + (length < 400 ? length : 400), .line = number};
        at += length + 1;
        if (text[0] != '%') {
            m->skip = at;
            HAWSER_TRY(read_words_size(&line, number, m, error));
            if (number < 3)
                m->lines[number - 1] = number;
            if (number == 3)
                return HAWSER_OK;
        } else if (number == 1) {
            HAWSER_TRY(read_banner(&line, m, error));
        } else if (*copy != '%' && *hw_skip_blanks(copy) != '\n') {
            m->skip = at;
            m->lines[0] = m->lines[1] = number;
            return read_sizes(&line, m, error);
        }
    }
}

static inline hawser_status read_value(const market *m, const hw_chunk *chunk, const char **at, double *value,
                                       hawser_error *error)
{
    if (m->pattern) {
        *value = 1;
        return HAWSER_OK;
    }
    const char *begin = hw_skip_blanks(*at), *end = hw_number(begin, value);
    if (end == NULL || (*end != '\n' && *end != ' ' && *end != '\r' && *end != '\t'))
        return hw_no_number(chunk, begin, "value", error);
    if (*value - *value != 0)
        return hw_chunk_fail(chunk, begin, error, "the value is too large");
    *at = end;
    return HAWSER_OK;
}

static inline hawser_status read_index(const hw_chunk *chunk, const char **at, uint64_t most, const char *what,
                                       uint64_t *index, hawser_error *error)
{
    const char *begin = hw_skip_blanks(*at), *end = whole(begin, index);
    if (end == NULL)
        return hw_chunk_fail(chunk, begin, error, "expected a %s number", what);
    if (*index == 0 || *index > most)
        return hw_chunk_fail(chunk, begin, error, "the %s number is not in 1 to %llu, which the line of sizes gives", what,
                             (unsigned long long)most);
    *at = end;
    return HAWSER_OK;
}

static hawser_status store(const hw_reading *reading, const hw_chunk *chunk, const char *at, hw_text_part *part,
                           double value, hawser_error *error)
{
    if (reading->load->type != HAWSER_F32) {
        ((double *)part->values)[part->entries++] = value;
        return HAWSER_OK;
    }
    float narrow = (float)value;
    if (narrow - narrow != 0)
        return hw_chunk_fail(chunk, at, error, "the value is too large for the storage type");
    ((float *)part->values)[part->entries++] = narrow;
    return HAWSER_OK;
}

static hawser_status read_entry(const market *m, const hw_reading *reading, const hw_chunk *chunk, const char **at,
                                hw_text_part *part, hawser_error *error)
{
    uint64_t row = 0, column = 0;
    double value = 0;
    if (!m->array) {
        HAWSER_TRY(read_index(chunk, at, m->rows, "row", &row, error));
        HAWSER_TRY(read_index(chunk, at, m->cols, "column", &column, error));
    }
    const char *begin = hw_skip_blanks(*at);
    HAWSER_TRY(read_value(m, chunk, at, &value, error));
    if (reading->load->counts && !hw_is_count(value))
        return hw_no_count(chunk, begin, value, error);
    if (m->array)
        return store(reading, chunk, begin, part, value, error);
    if (m->skew && row == column && value != 0)
        return hw_chunk_fail(chunk, begin, error, "the diagonal of a skew-symmetric matrix is zero, and this is on it");
    part->rows_of[part->entries] = (uint32_t)row - 1;
    part->indices[part->entries] = (uint32_t)column - 1;
    uint64_t most = m->symmetric && row > column ? row : column;
    part->most = most - 1 > part->most ? (uint32_t)most - 1 : part->most;
    return store(reading, chunk, begin, part, value, error);
}

static hawser_status parse_lines(void *context, hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                                 hawser_error *error)
{
    const market *m = context;
    const char *at = chunk->begin;
    if (chunk->offset < m->skip)
        at += m->skip - chunk->offset < (uint64_t)(chunk->end - at) ? m->skip - chunk->offset : (uint64_t)(chunk->end - at);
    uint64_t lines = hw_count(at, chunk->end, '\n'), indices = m->array ? 0 : lines;
    hw_part_sizes sizes = {.rows_of = indices, .indices = indices, .value_bytes = lines * hw_type_size(reading->load->type)};
    HAWSER_TRY(hw_part_reserve(reading, part, &sizes, error));
    while (at < chunk->end) {
        at = hw_skip_blanks(at);
        if (*at == '%')
            at = memchr(at, '\n', (size_t)(chunk->end - at));
        if (at == NULL || (*at != '\n' && part->entries == lines))
            return hw_runs_changed(reading, chunk->file, error);
        if (*at != '\n') {
            HAWSER_TRY(read_entry(m, reading, chunk, &at, part, error));
            at = hw_skip_blanks(at);
            if (*at != '\n')
                return hw_chunk_fail(chunk, at, error, "other text follows the entry");
        }
        at++;
    }
    part->rows = part->entries;
    return HAWSER_OK;
}

/* Appends the parts' values, up to the capacity. */
static void append_parts(hw_reading *reading, void *values, uint64_t capacity, size_t size)
{
    uint64_t at = 0;
    for (uint64_t p = 0; p < hw_reading_parts(reading); p++) {
        hw_text_part *part = hw_reading_part(reading, p);
        uint64_t some = part->entries < capacity - at ? part->entries : capacity - at;
        if (some > 0)
            memcpy((char *)values + at * size, part->values, some * size);
        at += some;
        hw_part_free(reading, part);
    }
}

/* The parts' values are column by column, and are stored row by row. */
static void turn_parts(hw_reading *reading, uint64_t rows, uint64_t keep, void *values, size_t size)
{
    uint64_t i = 0, j = 0;
    for (uint64_t p = 0; p < hw_reading_parts(reading); p++) {
        hw_text_part *part = hw_reading_part(reading, p);
        for (uint64_t e = 0; e < part->entries && j < keep; e++) {
            memcpy((char *)values + (i * keep + j) * size, (const char *)part->values + e * size, size);
            if (++i == rows) {
                i = 0;
                j++;
            }
        }
        hw_part_free(reading, part);
    }
}

/* Changes the sign of a stored number. */
static void negate(char *value, size_t size)
{
    if (size == sizeof(float))
        *(float *)(void *)value = -*(float *)(void *)value;
    else
        *(double *)(void *)value = -*(double *)(void *)value;
}

/* The parts' values are the lower triangle, of a skew-symmetric array without the diagonal. */
static void mirror_parts(hw_reading *reading, uint64_t rows, uint64_t keep, bool by_row, bool skew, void *values,
                         size_t size)
{
    uint64_t down = by_row ? keep : 1, across = by_row ? 1 : rows; /* from one row, and column, to the next */
    uint64_t i = skew, j = 0;
    for (uint64_t k = 0; skew && k < keep; k++)
        memset((char *)values + (k * across + k * down) * size, 0, size);
    for (uint64_t p = 0; p < hw_reading_parts(reading); p++) {
        hw_text_part *part = hw_reading_part(reading, p);
        for (uint64_t e = 0; e < part->entries; e++) {
            const char *value = (const char *)part->values + e * size;
            if (j < keep)
                memcpy((char *)values + (j * across + i * down) * size, value, size);
            if (i < keep)
                memcpy((char *)values + (i * across + j * down) * size, value, size);
            if (i < keep && skew)
                negate((char *)values + (i * across + j * down) * size, size);
            if (++i == rows)
                i = ++j + skew;
        }
        hw_part_free(reading, part);
    }
}

/* Fills an array, whose values are column by column, or the lower triangle if symmetric. For a part of the input, their
 * places are not known yet. */
static hawser_status fill_array(hw_reading *reading, const market *m, bool part, uint64_t found, hawser_dataset *dataset,
                                hawser_error *error)
{
    size_t size = hw_type_size(reading->load->type);
    uint64_t keep = reading->load->columns != 0 && reading->load->columns < m->cols ? reading->load->columns : m->cols;
    if (reading->load->columns > m->cols)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: has %llu columns, but %zu are needed", reading->input.files[0].name,
                           (unsigned long long)m->cols, reading->load->columns);
    uint64_t rows = part ? found : m->rows, cols = part ? 1 : keep;
    void *values;
    HAWSER_TRY(hw_budget_array(&reading->budget, &values, rows * cols, size, "the matrix", error));
    hw_dataset_own(dataset, values);
    bool by_row = !part && reading->load->rows_layout != 0;
    if (m->symmetric && !part)
        mirror_parts(reading, rows, cols, by_row, m->skew, values, size);
    else if (by_row)
        turn_parts(reading, rows, cols, values, size);
    else
        append_parts(reading, values, rows * cols, size);
    dataset->matrix = (hawser_matrix){.rows = rows,
                                      .cols = cols,
                                      .stored = rows * cols,
                                      .layout = by_row ? HAWSER_DENSE_ROWS : HAWSER_DENSE,
                                      .type = reading->load->type,
                                      .values = values,
                                      .stride = by_row ? cols : rows};
    if (part)
        dataset->array = (hw_array_part){.rows = m->rows, .cols = keep, .symmetric = m->symmetric};
    dataset->figures.unseen_columns = m->cols - keep;
    if (!part || reading->load->part == 0)
        dataset->figures.unseen_entries = (m->cols - keep) * m->rows;
    return HAWSER_OK;
}

hawser_status hw_market_sizes(const char *name, uint64_t declared, uint64_t found, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the line of sizes declares %llu entries, but the file has %llu", name,
                       (unsigned long long)declared, (unsigned long long)found);
}

/* Checks the rows and columns, which take memory even if empty. An array's are bounded by the numbers that were read. */
static hawser_status check_claims(const hw_reading *reading, const market *m, uint64_t text, uint64_t slack,
                                  hawser_error *error)
{
    const uint64_t sizes[2] = {m->rows, m->cols};
    for (int i = 0; i < 2 && !m->array; i++) {
        if (sizes[i] <= hw_claims_most(slack * text))
            continue;
        char where[4096 + 32];
        hw_spot_print(&(hw_spot){&reading->input.files[0], m->lines[i], 0}, where, sizeof where);
        HAWSER_TRY(
            hw_check_claim(where, sizes[i], i == 0 ? "rows" : "columns", text, reading->load->memory_limit != 0, error));
    }
    return HAWSER_OK;
}

hawser_status hw_market_load(hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    market m = {0};
    const char *name = reading->input.files[0].name;
    if (reading->input.count > 1)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: a Matrix Market input is one file, and %zu were given", name,
                           reading->input.count);
    HAWSER_TRY(read_head(reading, &m, error));
    if (m.entries > UINT64_MAX / 64)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the line of sizes declares %llu entries", name,
                           (unsigned long long)m.entries);
    uint64_t text = hw_input_text_bytes(&reading->input), sides = m.symmetric ? 2 : 1,
             size = hw_type_size(reading->load->type);
    bool part = reading->load->parts > 1 && !(m.array && m.skew);
    if (text != 0) /* for an archive it is an estimate, and the final check is after reading */
        HAWSER_TRY(check_claims(reading, &m, text, reading->input.all_mapped ? 1 : 8, error));
    if (part)
        hw_input_part(&reading->input, reading->load->part, reading->load->parts);
    uint64_t least = m.array ? 2 : m.pattern ? 4 : 6; /* bytes of the shortest entry: the text cannot have more entries */
    uint64_t entries = text != 0 && text / least < m.entries ? text / least : m.entries;
    if (part)
        entries = entries / reading->load->parts + 1;
    uint64_t parts = entries * (m.array ? size : 8 + size),
             whole_bytes = entries * (part && m.array ? 1 : sides) * (m.array ? size : 4 + size);
    uint64_t majors = m.array ? 0 : (reading->load->rows_layout || part ? m.rows : m.cols) * 16;
    HAWSER_TRY(
        hw_budget_estimate(&reading->budget, parts + whole_bytes + majors + (4 << 20) * (uint64_t)reading->threads, error));
    HAWSER_TRY(hw_parse(reading, parse_lines, &m, error));
    uint64_t found = 0;
    for (uint64_t p = 0; p < hw_reading_parts(reading); p++)
        found += hw_reading_part(reading, p)->entries;
    if (found != m.entries && !part)
        return hw_market_sizes(name, m.entries, found, error);
    if (!reading->input.all_mapped)
        HAWSER_TRY(check_claims(reading, &m, text > reading->input.text ? text : reading->input.text, 1, error));
    dataset->figures.index_base = 1;
    dataset->figures.parted = dataset->scattered = part;
    dataset->declared = m.entries;
    dataset->found = found;
    hw_mirror mirror = m.skew ? HW_MIRROR_NEGATED : m.symmetric ? HW_MIRROR_SAME : HW_MIRROR_NONE;
    HAWSER_TRY(m.array ? fill_array(reading, &m, part, found, dataset, error)
                       : hw_assemble_coordinates(reading, m.rows, m.cols, mirror, dataset, error));
    const hw_market_shape shape = {m.array, m.symmetric, m.skew, m.pattern, m.rows, m.skip};
    return part ? HAWSER_OK : hw_market_equals(reading, &shape, dataset, error);
}
