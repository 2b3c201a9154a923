/* guess.c - recognises formats by the first bytes. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "data/cache/cache.h"
#include "data/format/npy.h"
#include "data/formats.h"

enum { LINES = 20 };

/* Returns whether "12:" is at the start or after a blank, with no comma before it. */
static bool has_entry(const char *at, const char *end)
{
    for (bool fresh = true; at < end && *at != '#'; at++) {
        if (*at == ',' || *at == ';' || *at == '"')
            return false;
        const char *word = at;
        while (fresh && at < end && isdigit((unsigned char)*at))
            at++;
        if (at < end && at > word && *at == ':')
            return true;
        if (at == end)
            return false;
        fresh = *at == ' ' || *at == '\t';
    }
    return false;
}

/* Returns whether the line is one word: a row without entries, or a row of one column; it decides nothing. */
static bool is_bare(const char *at, const char *end)
{
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    while (at < end && strchr(" \t,;\"", *at) == NULL)
        at++;
    return at == end;
}

static bool starts_with(const char *text, size_t bytes, const char *magic, size_t length)
{
    return bytes >= length && memcmp(text, magic, length) == 0;
}

/* Recognises common files that are not text. If text could begin with the same bytes, more of them are compared. */
bool hw_is_unsupported(const char *text, size_t bytes, const char **what, const char **advice)
{
    static const char unpack[] = "unpack it", export[] = "export it as CSV or .npy",
                      utf8[] = "convert it: iconv -f UTF-16 -t UTF-8";
    static const struct {
        const char *what, *advice, *begin;
        size_t offset, length;
    } kinds[] = {
        {"a bzip2 archive", unpack, "1AY&SY", 4, 6},
        {"a zip archive, as .npz and .xlsx are", "unpack it; save each array of an .npz as .npy", "PK\3\4", 0, 4},
        {"an lz4 archive", unpack, "\x04\x22\x4d\x18", 0, 4},
        {"a 7-Zip archive", unpack, "7z\xbc\xaf\x27\x1c", 0, 6},
        {"a compress (.Z) archive", unpack, "\x1f\x9d", 0, 2},
        {"a tar archive", unpack, "\0ustar", 256, 6},
        {"text in UTF-16", utf8, "\xff\xfe", 0, 2},
        {"text in UTF-16", utf8, "\xfe\xff", 0, 2},
        {"an HDF5 file", export, "\x89HDF\r\n", 0, 6},
        {"a Parquet file", export, "PAR1\x15", 0, 5},
        {"an Arrow file", export, "ARROW1\0", 0, 7},
        {"a SQLite database", export, "SQLite format 3\0", 0, 16},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (bytes >= kinds[i].offset &&
            starts_with(text + kinds[i].offset, bytes - kinds[i].offset, kinds[i].begin, kinds[i].length)) {
            *what = kinds[i].what;
            *advice = kinds[i].advice;
            return true;
        }
    return false;
}

/* Reads the whole numbers of the next line, at most four; returns 0 if there is anything else. */
static size_t whole_numbers(const char **at, const char *end)
{
    size_t count = 0;
    while (*at < end && **at != '\n') {
        const char *word = *at;
        while (*at < end && isdigit((unsigned char)**at))
            ++*at;
        count += *at > word;
        while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
            ++*at;
        if (*at == word || count > 3)
            return 0;
    }
    *at += *at < end;
    return count;
}

/* Recognises UCI's bags of words: documents, words and entries, one per line, then triples. */
static bool is_docword(const char *text, const char *end)
{
    for (int line = 0; line < 3; line++)
        if (whole_numbers(&text, end) != 1)
            return false;
    return whole_numbers(&text, end) == 3;
}

bool hw_is_cache(const char *text, size_t bytes)
{
    return starts_with(text, bytes, HW_CACHE_MAGIC, strlen(HW_CACHE_MAGIC));
}

bool hw_is_npy(const char *text, size_t bytes)
{
    return starts_with(text, bytes, HW_NPY_MAGIC, 6);
}

bool hw_is_market(const char *text, size_t bytes)
{
    return starts_with(text, bytes, "%%MatrixMarket", 14) || is_docword(text, text + bytes);
}

/* Decides by a few lines of more than one word; svmlight has no comma before an entry. */
bool hw_is_svmlight(const char *text, size_t bytes)
{
    const char *end = text + bytes;
    for (int line = 0; line < LINES && text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop != NULL ? stop : end;
        if (*text == '#' || has_entry(text, stop))
            return true;
        line += !is_bare(text, stop);
        text = stop < end ? stop + 1 : end;
    }
    return false;
}

/* Any text may be CSV. */
bool hw_is_csv(const char *text, size_t bytes)
{
    (void)text, (void)bytes;
    return true;
}
