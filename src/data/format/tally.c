#include "data/format/tally.h"

#include <string.h>

#include "base/bytes.h"
#include "base/number.h"
#include "data/format/svmlight.h"

/* Finds the next blank, control character, line end or #; also ! and ", which no number has. */
static inline const char *past_word(const char *at)
{
    for (;; at += 8) {
        uint64_t word = hw_eight(at), low = (word - UINT64_C(0x2424242424242424)) & ~word & UINT64_C(0x8080808080808080);
        if (low != 0) /* borrows only propagate upwards, so the lowest bit is right */
            return at + hw_lowest_bit(low) / 8;
    }
}

/* Counts the entries of a row, up to its end or to text that the parser will refuse. */
static inline const char *count_entries(const char *at, hw_tally *tally)
{
    uint64_t entries = 0, index;
    for (; at = hw_skip_blanks(at), *at != '\n' && *at != '#'; entries++) {
        const char *colon = hw_svmlight_index(at, &index);
        if (colon == NULL)
            break;
        at = past_word(colon + 1);
    }
    tally->entries += entries;
    return at;
}

/* Skips the line's first word, the target, unless lines have no targets and it is an entry. */
static inline const char *pass_target(const char *at, bool none)
{
    const char *end = past_word(at);
    if (none && memchr(at, ':', (size_t)(end - at)) != NULL)
        return at;
    at = hw_skip_blanks(end);
    return memcmp(at, "qid:", 4) == 0 ? past_word(at) : at;
}

static void count_rows(const hw_reading *reading, const hw_chunk *chunk, hw_tally *tally)
{
    bool none = hw_svmlight_no_target(reading->load);
    const char *at = hw_chunk_text(chunk);
    while (at < chunk->end) {
        at = hw_skip_blanks(at);
        if (*at != '\n' && *at != '#') {
            at = count_entries(pass_target(at, none), tally);
            tally->rows++;
        }
        at = hw_next_line(at, chunk->end);
    }
}

/* Counts lines and colons, which are rows and entries if nothing unusual occurs: a comment, a query, a line that begins with
 * a blank, or a byte order mark that may hide one. */
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

void hw_svmlight_count(const hw_reading *reading, const hw_chunk *chunk, hw_tally *tally)
{
    if (!count_plain(chunk, tally))
        count_rows(reading, chunk, tally);
}
