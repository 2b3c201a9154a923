#include "data/format/svmlight.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* A word in front of the entries is too: an index without a value, a text, a wrong character behind a number. */
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
        return hw_chunk_fail(chunk, at, error, "column index 0, where columns are counted from 1; see --index-base");
    if (index + 1 == least)
        return hw_chunk_fail(chunk, at, error, "column index %llu is given twice in the row", (unsigned long long)index);
    return hw_chunk_fail(chunk, at, error, "column index %llu follows %llu; indices must ascend in a row",
                         (unsigned long long)index, (unsigned long long)least - 1);
}

static inline bool ends_word(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '#';
}

/* A digit alone, as counts and marks are: told by branches, so that the next entry need not wait for where this one ends. */
static inline bool is_count(const char *at)
{
    return (unsigned char)at[1] <= ' ' && (unsigned)(at[0] - '0') <= 9 && ends_word(at[1]);
}

/* The entries of a row, up to its line end or comment. One body for both storage types; `single` is a constant in each. */
static inline const char *read_entries(const char *at, uint64_t first, hw_part *part, bool single, const hw_chunk *chunk,
                                       hawser_error *error)
{
    uint64_t least = first, entries = part->entries;
    uint32_t *indices = part->indices;
    float *floats = part->values;
    double *doubles = part->values;
    for (; at = hw_skip_blanks(at), *at != '\n' && *at != '#'; entries++) {
        uint64_t index;
        const char *colon = hw_svmlight_index(at, &index);
        if (colon == NULL)
            return (void)bad_entry(chunk, at, error), NULL;
        if (index < least)
            return (void)bad_order(chunk, at, index, least, error), NULL;
        least = index + 1;
        double value;
        if (is_count(colon + 1)) {
            value = colon[1] - '0';
            at = colon + 2;
        } else {
            at = hw_number(colon + 1, &value);
            if (at == NULL || !ends_word(*at))
                return (void)hw_no_number(chunk, colon + 1, "value", error), NULL;
            double stored = single ? (double)(float)value : value;
            if (stored - stored != 0)
                return (void)hw_chunk_fail(chunk, colon + 1, error, "the value is too large for the storage type"), NULL;
        }
        indices[entries] = (uint32_t)index;
        if (single)
            floats[entries] = (float)value;
        else
            doubles[entries] = value;
    }
    if (entries > part->entries) {
        part->most = least - 1 > part->most ? (uint32_t)(least - 1) : part->most;
        part->least = indices[part->entries] < part->least ? indices[part->entries] : part->least;
    }
    part->entries = entries;
    return at;
}

/* The target and what may stand between it and the entries. */
static const char *read_target(const char *at, bool none, double *target, const hw_chunk *chunk, hawser_error *error)
{
    const char *begin = at;
    at = hw_number(at, target);
    if (at != NULL && *at == ':') {
        if (none)
            return begin;
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
    return at;
}

static inline hawser_status read_rows(const hw_job *job, const hw_chunk *chunk, hw_part *part, bool single,
                                      hawser_error *error)
{
    bool none = hw_svmlight_no_target(job->load);
    uint64_t first = job->load->index_base == 2;
    const char *at = hw_chunk_text(chunk);
    while (at < chunk->end) {
        at = hw_skip_blanks(at);
        if (*at != '\n' && *at != '#') {
            at = read_target(at, none, &part->target[part->rows], chunk, error);
            if (at != NULL)
                at = read_entries(at, first, part, single, chunk, error);
            if (at == NULL)
                return HAWSER_BAD_INPUT;
            part->ends[part->rows++] = part->entries;
        }
        at = hw_next_line(at, chunk->end);
    }
    return HAWSER_OK;
}

hawser_status hw_svmlight_parse(void *context, hw_job *job, const hw_chunk *chunk, hw_part *part, hawser_error *error)
{
    (void)context;
    bool single = job->load->type == HAWSER_F32;
    uint64_t lines = hw_count(chunk->begin, chunk->end, '\n'), entries = hw_count(chunk->begin, chunk->end, ':');
    hw_part_sizes sizes = {.ends = lines, .target = lines, .indices = entries, .value_bytes = entries * (single ? 4 : 8)};
    HAWSER_TRY(hw_part_room(job, part, &sizes, error));
    return single ? read_rows(job, chunk, part, true, error) : read_rows(job, chunk, part, false, error);
}

hawser_status hw_svmlight_read(hw_job *job, const hw_chunk *chunk, hw_part *part, hawser_error *error)
{
    enum { ROW = 2, ENTRY = 4 }; /* the shortest of each, and what ends it: "1\n", "1:1 " */
    bool single = job->load->type == HAWSER_F32;
    uint64_t bytes = (uint64_t)(chunk->end - chunk->begin), rows = bytes / ROW + 1, entries = bytes / ENTRY + 1;
    hw_part_sizes sizes = {.ends = rows, .target = rows, .indices = entries, .value_bytes = entries * (single ? 4 : 8)};
    HAWSER_TRY(hw_part_room(job, part, &sizes, error));
    part->rows = part->entries = 0;
    return single ? read_rows(job, chunk, part, true, error) : read_rows(job, chunk, part, false, error);
}
