#include "data/format/svmlight.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "data/format/words.h"
#include "data/source/runs.h"
#include "data/table/exact.h"

/* Fails for a wrong entry: an index without a value, a text, a wrong character after a number. A word before the entries is
 * one, too. */
static hawser_status bad_entry(const hw_chunk *chunk, const char *at, hawser_error *error)
{
    const char *end = at;
    while (isdigit((unsigned char)*end))
        end++;
    if (end == at && *at == '-')
        return hw_chunk_fail(chunk, at, error, "a column index cannot be negative");
    if (end > at && *end == ':')
        return hw_chunk_fail(chunk, at, error, "the column index is larger than 4294967294");
    return hw_chunk_fail(chunk, at, error, "expected INDEX:VALUE");
}

const char *hw_svmlight_long_index(const char *at, uint64_t *index)
{
    *index = 0;
    const char *end = hw_digits(at, index);
    return *end == ':' && end > at && end - at <= 19 && *index < UINT32_MAX ? end : NULL;
}

static hawser_status bad_order(const hw_chunk *chunk, const char *at, uint64_t index, uint64_t least, hawser_error *error)
{
    if (index == 0)
        return hw_chunk_fail(chunk, at, error, "column index 0, but columns are counted from 1; see --index-base");
    if (index + 1 == least)
        return hw_chunk_fail(chunk, at, error, "column index %llu occurs twice in the row", (unsigned long long)index);
    return hw_chunk_fail(chunk, at, error, "column index %llu follows %llu; indices must ascend in a row",
                         (unsigned long long)index, (unsigned long long)least - 1);
}

static inline bool ends_word(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '#';
}

/* The arrays to which the entries of a row are written, by number of the entry. */
typedef struct sink {
    uint32_t *indices;
    void *values;
    uint64_t entries, least, capacity;
    bool single;
} sink;

static inline void put_entry(sink *to, uint64_t index, double value)
{
    to->indices[to->entries] = (uint32_t)index;
    if (to->single)
        ((float *)to->values)[to->entries] = (float)value;
    else
        ((double *)to->values)[to->entries] = value;
    to->entries++;
    to->least = index + 1;
}

static inline bool fits(double value, bool single)
{
    double stored = single ? (double)(float)value : value;
    return stored - stored == 0;
}

/* Reads an entry whose value has an unusual form: an exponent, or more digits. */
static bool read_unusual(const char *colon, size_t length, const char *end, bool single, uint32_t *index, double *value)
{
    uint64_t both;
    if (!hw_two_until(colon, length, colon, length, &both) || hw_number(colon + 1, value) != end)
        return false;
    *index = (uint32_t)both;
    return fits(*value, single);
}

/* Reads the entries of a row that are "index:value" followed by a blank or line end. Returns the position of the first other
 * thing, which is the line end if there is none. The loop after this one handles everything unusual or wrong. */
static inline const char *read_usual(const char *at, hw_words *w, sink *out)
{
    const char *const begin = w->begin;
    sink to = *out;
    bool usual = at - begin >= HW_WORDS_FRONT && hw_words_reach(w, at);
    while (usual && hw_words_ahead(w, 2)) {
        const uint32_t *place = w->places + w->at, *last = w->places + w->count - 1;
        uint64_t capacity = to.capacity - to.entries;
        last = (uint64_t)(last - place) / 2 >= capacity ? place + 2 * capacity : last;
        for (; usual && place < last; place += 2) {
            const char *colon = begin + place[0], *end = begin + place[1];
            size_t length = (size_t)(colon - at);
            uint32_t index;
            double value;
            if (*colon != ':' || length - 1 >= 8 || (*end != ' ' && *end != '\n' && *end != '\t') ||
                (!hw_number_between(colon, length, colon + 1, end, &index, &value) &&
                 !read_unusual(colon, length, end, to.single, &index, &value)) ||
                index < to.least) {
                usual = false;
                break;
            }
            put_entry(&to, index, value);
            usual = *end != '\n';
            at = end + usual;
        }
        w->at = (size_t)(place - w->places);
        usual = usual && to.entries < to.capacity;
    }
    *out = to;
    return at;
}

/* Reads the entries of a row, up to its line end or comment. One body for both storage types. */
static inline const char *read_entries(const char *at, uint64_t first, hw_words *w, hw_text_part *part, bool single,
                                       const hw_reading *reading, const hw_chunk *chunk, hawser_error *error)
{
    sink to = {part->indices, part->values, part->entries, first, part->capacity.indices, single};
    at = read_usual(at, w, &to);
    while (at = hw_skip_blanks(at), *at != '\n' && *at != '#') {
        uint64_t index;
        const char *colon = hw_svmlight_index(at, &index);
        if (colon == NULL)
            return (void)bad_entry(chunk, at, error), NULL;
        if (index < to.least)
            return (void)bad_order(chunk, at, index, to.least, error), NULL;
        double value;
        at = hw_number(colon + 1, &value);
        if (at == NULL || !ends_word(*at))
            return (void)hw_no_number(chunk, colon + 1, "value", error), NULL;
        if (!fits(value, single))
            return (void)hw_chunk_fail(chunk, colon + 1, error, "the value is too large for the storage type"), NULL;
        if (to.entries == to.capacity)
            return (void)hw_runs_changed(reading, chunk->file, error), NULL;
        put_entry(&to, index, value);
    }
    if (to.entries > part->entries) {
        part->most = to.least - 1 > part->most ? (uint32_t)(to.least - 1) : part->most;
        part->least = to.indices[part->entries] < part->least ? to.indices[part->entries] : part->least;
    }
    part->entries = to.entries;
    return at;
}

/* Checks that the values of a row are counts; its text begins at `at`. */
static hawser_status check_counts(const hw_chunk *chunk, const char *at, const hw_text_part *part, uint64_t first,
                                  bool single, hawser_error *error)
{
    for (uint64_t e = first; e < part->entries; e++) {
        double value = single ? (double)((const float *)part->values)[e] : ((const double *)part->values)[e];
        at = (const char *)memchr(at, ':', (size_t)(chunk->end - at)) + 1;
        if (!hw_is_count(value))
            return hw_no_count(chunk, at, value, error);
    }
    return HAWSER_OK;
}

/* Reads the target and what may precede the entries. */
static const char *read_target(const char *at, bool none, double *target, const hw_chunk *chunk, hawser_error *error)
{
    const char *begin = at;
    while (none && !ends_word(*at))
        at++;
    if (none && memchr(begin, ':', (size_t)(at - begin)) != NULL && memcmp(begin, "qid:", 4) != 0)
        return begin;
    *target = 0;
    at = none ? at : hw_number(at, target);
    if (at != NULL && *at == ':') {
        return (void)hw_chunk_fail(chunk, begin, error, "the target is missing: the line begins with INDEX:VALUE"), NULL;
    }
    if (at != NULL && *at == ',')
        return (void)hw_chunk_fail(chunk, begin, error, "several targets in a line are not supported"), NULL;
    if (at == NULL || !ends_word(*at))
        return (void)hw_no_number(chunk, begin, "target", error), NULL;
    if (*target - *target != 0)
        return (void)hw_chunk_fail(chunk, begin, error, "the target is too large"), NULL;
    at = hw_skip_blanks(at);
    if (memcmp(at, "qid:", 4) == 0)
        while (!ends_word(*at))
            at++;
    return hw_skip_blanks(at);
}

/* Searches the row of the largest index again, since few chunks exceed all earlier ones. */
static void note_widest(const hw_chunk *chunk, hw_text_part *part)
{
    uint64_t row = 0;
    while (row < part->rows && (part->ends[row] == 0 || part->indices[part->ends[row] - 1] != part->most))
        row++;
    const char *at = hw_chunk_text(chunk);
    for (uint64_t r = 0; at < chunk->end; at = hw_next_line(at, chunk->end)) {
        const char *word = hw_skip_blanks(at);
        if (*word != '\n' && *word != '#' && r++ == row)
            break;
    }
    part->widest = hw_spot_of(chunk, at);
}

/* A label that other whole numbers have the same double as: all are read again as words. `exact`: they are. */
static hawser_status take_label(hw_reading *reading, const hw_chunk *chunk, const char *begin, bool exact, double *label,
                                hawser_error *error)
{
    double value;
    if (exact)
        return hw_exact_label(reading, chunk, begin, hw_number(begin, &value), label, error);
    atomic_store(&reading->met_labels, true);
    return hw_chunk_fail(
        chunk, begin, error,
        "the label is beyond 2^53, and the input cannot be read again to tell such labels apart; give a file");
}

static inline hawser_status read_rows(hw_reading *reading, const hw_chunk *chunk, hw_text_part *part, bool single,
                                      hawser_error *error)
{
    uint32_t before = part->most;
    bool none = hw_svmlight_no_target(reading->load), labels = hw_svmlight_has_labels(reading->load),
         exact = labels && hw_exact_is_wanted(reading);
    labels = labels && reading->load->schema == NULL;
    uint64_t first = reading->load->index_base == 2;
    const char *at = hw_chunk_text(chunk);
    hw_words w;
    hw_words_begin(&w, at, chunk->end, ':');
    HAWSER_TRY(hw_part_begin_equals(reading, part, error));
    while (at < chunk->end) {
        at = hw_skip_blanks(at);
        if (*at != '\n' && *at != '#') {
            if (part->rows == part->capacity.ends)
                return hw_runs_changed(reading, chunk->file, error);
            const char *text = at, *entries = at = read_target(at, none, &part->target[part->rows], chunk, error);
            if (at != NULL && (exact || (labels && hw_label_is_doubtful(part->target[part->rows]))))
                HAWSER_TRY(take_label(reading, chunk, text, exact, &part->target[part->rows], error));
            if (at != NULL)
                at = read_entries(at, first, &w, part, single, reading, chunk, error);
            if (at == NULL)
                return error != NULL ? error->status : HAWSER_BAD_INPUT;
            if (reading->load->counts)
                HAWSER_TRY(
                    check_counts(chunk, entries, part, part->rows > 0 ? part->ends[part->rows - 1] : 0, single, error));
            part->ends[part->rows++] = part->entries;
            if (hw_part_sees(part))
                HAWSER_TRY(hw_svmlight_see(reading, part, part->rows - 1, text, entries, at, error));
        }
        at = hw_next_line(at, chunk->end);
    }
    if (part->most > before && part->most >= HW_CLAIMS_FREE)
        note_widest(chunk, part);
    return hw_part_end_equals(reading, part, error);
}

hawser_status hw_svmlight_parse(void *context, hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                                hawser_error *error)
{
    (void)context;
    bool single = reading->load->type == HAWSER_F32;
    uint64_t lines = hw_count(chunk->begin, chunk->end, '\n'), entries = hw_count(chunk->begin, chunk->end, ':');
    hw_part_sizes sizes = {.ends = lines, .target = lines, .indices = entries, .value_bytes = entries * (single ? 4 : 8)};
    HAWSER_TRY(hw_part_reserve(reading, part, &sizes, error));
    return single ? read_rows(reading, chunk, part, true, error) : read_rows(reading, chunk, part, false, error);
}

hawser_status hw_svmlight_read(hw_reading *reading, const hw_chunk *chunk, hw_text_part *part, hawser_error *error)
{
    enum { ROW = 2, ENTRY = 4 }; /* bytes of the shortest row and entry, with what ends them: "1\n", "1:1 " */
    bool single = reading->load->type == HAWSER_F32;
    uint64_t bytes = (uint64_t)(chunk->end - chunk->begin), rows = bytes / ROW + 1, entries = bytes / ENTRY + 1;
    hw_part_sizes sizes = {.ends = rows, .target = rows, .indices = entries, .value_bytes = entries * (single ? 4 : 8)};
    HAWSER_TRY(hw_part_reserve(reading, part, &sizes, error));
    part->rows = part->entries = 0;
    return single ? read_rows(reading, chunk, part, true, error) : read_rows(reading, chunk, part, false, error);
}
