#include "data/format/tally.h"

#include <string.h>

#include "base/bytes.h"
#include "base/number.h"
#include "data/format/svmlight.h"

/* The next blank, control, line end or #; ! and " too, which no number has. */
static inline const char *past_word(const char *at)
{
    for (;; at += 8) {
        uint64_t word = hw_eight(at), low = (word - UINT64_C(0x2424242424242424)) & ~word & UINT64_C(0x8080808080808080);
        if (low != 0) /* borrows reach upwards only: the lowest is right */
            return at + __builtin_ctzll(low) / 8;
    }
}

static hawser_status more_columns(hw_job *job, hw_tally *tally, uint64_t index, hawser_error *error)
{
    enum { LEAST = 1 << 12 };
    if (index >= tally->limit) {
        tally->beyond = true;
        return HAWSER_OK;
    }
    uint64_t room = 2 * tally->room > index + 1 ? 2 * tally->room : index + 1;
    room = room < LEAST ? LEAST : room;
    room = room < tally->limit ? room : tally->limit;
    void *columns;
    HAWSER_TRY(hw_pages_new(&job->budget, &columns, room * sizeof *tally->columns, error));
    if (tally->room > 0)
        memcpy(columns, tally->columns, tally->room * sizeof *tally->columns);
    hw_pages_free(&job->budget, tally->columns, tally->room * sizeof *tally->columns);
    tally->columns = columns;
    tally->room = room;
    return HAWSER_OK;
}

static inline bool count_column(hw_job *job, hw_tally *tally, uint64_t index, hawser_error *error)
{
    if (index >= tally->room && more_columns(job, tally, index, error) != HAWSER_OK)
        return false;
    if (index < tally->room)
        tally->columns[index]++;
    return true;
}

/* The entries of a row up to its end, or to what the parser will refuse. */
static inline const char *count_entries(hw_job *job, const char *at, bool columns, hw_tally *tally, hawser_error *error)
{
    uint64_t index = 0, first = UINT64_MAX, entries = 0;
    for (; at = hw_skip_blanks(at), *at != '\n' && *at != '#'; entries++) {
        uint64_t word = hw_eight(at);
        unsigned count = hw_digit_count(word);
        uint64_t found = hw_digit_value(word, count);
        const char *colon = at + count;
        if ((*colon != ':' || count == 0) && (colon = hw_svmlight_long_index(at, &found)) == NULL)
            break;
        index = found;
        first = first < index ? first : index;
        if (columns && !count_column(job, tally, index, error))
            return NULL;
        at = past_word(colon + 1);
    }
    tally->entries += entries;
    if (entries > 0) {
        tally->least = first < tally->least ? (uint32_t)first : tally->least;
        tally->most = index > tally->most ? (uint32_t)index : tally->most;
    }
    return at;
}

/* The line's first word is the target, but for an entry where there are no targets. */
static inline const char *pass_target(const char *at, bool none)
{
    const char *end = past_word(at);
    if (none && memchr(at, ':', (size_t)(end - at)) != NULL)
        return at;
    at = hw_skip_blanks(end);
    return memcmp(at, "qid:", 4) == 0 ? past_word(at) : at;
}

static inline hawser_status count_rows(hw_job *job, const hw_chunk *chunk, bool columns, hw_tally *tally,
                                       hawser_error *error)
{
    bool none = job->load->target != NULL && strcmp(job->load->target, "none") == 0;
    const char *at = chunk->begin;
    if (chunk->first && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    while (at < chunk->end) {
        at = hw_skip_blanks(at);
        if (*at != '\n' && *at != '#') {
            at = count_entries(job, pass_target(at, none), columns, tally, error);
            if (at == NULL)
                return HAWSER_NO_MEMORY;
            tally->rows++;
        }
        at = *at == '\n' ? at + 1 : (const char *)memchr(at, '\n', (size_t)(chunk->end - at)) + 1;
    }
    return HAWSER_OK;
}

/* Lines and colons, which are rows and entries unless something odd is about: a comment, a query, a line that begins with a
 * blank, a byte order mark that may hide one. */
static bool count_plain(const hw_chunk *chunk, hw_tally *tally)
{
    enum { LANES = 64, MOST = 255 };
    uint64_t rows = 0, entries = 0;
    unsigned odd = (unsigned char)*chunk->begin <= ' ' || (chunk->first && *chunk->begin == '\xef');
    const char *at = chunk->begin;
    while (chunk->end - at > LANES) { /* byte counters as in hw_count */
        unsigned char colons[LANES] = {0}, lines[LANES] = {0}, odds[LANES] = {0};
        for (int turn = 0; turn < MOST && chunk->end - at > LANES; turn++, at += LANES)
            for (int lane = 0; lane < LANES; lane++) {
                colons[lane] = (unsigned char)(colons[lane] + (at[lane] == ':'));
                lines[lane] = (unsigned char)(lines[lane] + (at[lane] == '\n'));
                odds[lane] |= (unsigned char)((at[lane] == '#') | (at[lane] == 'q') |
                                              ((at[lane] == '\n') & ((unsigned char)at[lane + 1] <= ' ')));
            }
        for (int lane = 0; lane < LANES; lane++) {
            entries += colons[lane];
            rows += lines[lane];
            odd |= odds[lane];
        }
    }
    for (; at < chunk->end; at++) {
        entries += *at == ':';
        rows += *at == '\n';
        odd |= *at == '#' || *at == 'q' || (*at == '\n' && at + 1 < chunk->end && (unsigned char)at[1] <= ' ');
    }
    if (odd != 0)
        return false;
    tally->rows += rows;
    tally->entries += entries;
    return true;
}

void hw_svmlight_count(hw_job *job, const hw_chunk *chunk, hw_tally *tally)
{
    if (!count_plain(chunk, tally))
        (void)count_rows(job, chunk, false, tally, NULL); /* takes no memory, so it cannot fail */
}

/* The number that ends at a colon; what is none is the parser's to refuse. */
static inline uint64_t index_before(const hw_chunk *chunk, const char *colon)
{
    char near[8] = {0};
    if (colon - chunk->begin < 8)
        memcpy(near + 8 - (colon - chunk->begin), chunk->begin, (size_t)(colon - chunk->begin));
    uint64_t word = hw_eight(colon - chunk->begin < 8 ? near : colon - 8);
    unsigned count = hw_digit_tail(word);
    if (count < 8)
        return hw_eight_digits(count == 0 ? 0 : word >> (64 - 8 * count) << (64 - 8 * count));
    const char *begin = colon - 8;
    while (begin > chunk->begin && begin[-1] >= '0' && begin[-1] <= '9')
        begin--;
    uint64_t index;
    return hw_svmlight_long_index(begin, &index) == colon ? index : 0;
}

hawser_status hw_svmlight_count_columns(hw_job *job, const hw_chunk *chunk, hw_tally *tally, hawser_error *error)
{
    if (!count_plain(chunk, tally))
        return count_rows(job, chunk, true, tally, error);
    uint64_t least = tally->least, most = tally->most;
    for (const char *at = chunk->begin; at < chunk->end; at += 64) {
        uint64_t colons = hw_equal_64(at, ':');
        if (chunk->end - at < 64)
            colons &= (UINT64_C(1) << (chunk->end - at)) - 1;
        for (; colons != 0; colons &= colons - 1) {
            uint64_t index = index_before(chunk, at + __builtin_ctzll(colons));
            if (!count_column(job, tally, index, error))
                return HAWSER_NO_MEMORY;
            least = index < least ? index : least;
            most = index > most ? index : most;
        }
    }
    tally->least = (uint32_t)least;
    tally->most = (uint32_t)most;
    return HAWSER_OK;
}
