/* guess.c - recognises formats by the first bytes. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/number.h"
#include "data/cache/cache.h"
#include "data/format/npy.h"
#include "data/formats.h"

/* Returns whether a word, which is copied behind which nothing is read, is a number as a whole. */
static bool is_number(const char *at, const char *end)
{
    enum { MOST = 400 };
    char copy[MOST + HW_NUMBER_SLACK] = "";
    double value;
    if (at == end || end - at >= MOST)
        return false;
    memcpy(copy, at, (size_t)(end - at));
    return hw_number(copy, &value) == copy + (end - at);
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && isdigit((unsigned char)*at))
        at++;
    return at;
}

/* Returns whether a word is INDEX:VALUE. A value that is no number, but may be meant for one, counts as well: the reader of
 * svmlight says best what is wrong with it. */
static bool is_entry(const char *at, const char *end)
{
    const char *colon = skip_digits(at, end), *value = colon + 1;
    if (colon == at || colon == end || *colon != ':')
        return false;
    if (is_number(value, end))
        return true;
    while (value < end && strchr(":,;\"", *value) == NULL)
        value++;
    return value == end;
}

static bool is_query(const char *at, const char *end)
{
    return end - at > 4 && memcmp(at, "qid:", 4) == 0 && skip_digits(at + 4, end) == end;
}

/* What the first lines show. A line that is one number has no separator, so it decides nothing. */
typedef enum line_kind { LINE_UNDECIDED, LINE_SVMLIGHT, LINE_ONE_ENTRY, LINE_OTHER } line_kind;

/* Looks at one line up to a comment. `cut`: the text ends within it, so that its last word may be longer. */
static line_kind kind_of_line(const char *at, const char *end, bool cut)
{
    size_t count = 0;
    bool entry = false;
    for (;; count++) {
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
            at++;
        if (at == end || *at == '#')
            break;
        const char *word = at;
        while (at < end && strchr(" \t\r#", *at) == NULL)
            at++;
        if (cut && at == end)
            break;
        bool fits = is_entry(word, at) || (count == 0 ? is_number(word, at) : is_query(word, at));
        if (!fits)
            return LINE_OTHER;
        entry = is_entry(word, at);
    }
    return count > 1 ? LINE_SVMLIGHT : entry ? LINE_ONE_ENTRY : LINE_UNDECIDED;
}

/* The first line that is neither empty, nor a comment, nor one number decides. */
static line_kind kind_of_text(const char *text, size_t bytes)
{
    const char *end = text + bytes;
    line_kind kind = LINE_UNDECIDED;
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    while (text < end && kind == LINE_UNDECIDED) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        kind = kind_of_line(text, stop != NULL ? stop : end, stop == NULL && bytes >= HW_GUESS_BYTES);
        text = stop != NULL ? stop + 1 : end;
    }
    return kind;
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
        {"a zip archive without .npy files, as .xlsx is", unpack, "PK\3\4", 0, 4},
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

/* Reads the whole numbers at the start of the next line, and moves behind the line. Returns how many there are. *alone:
 * nothing else is in the line. */
static size_t whole_numbers(const char **at, const char *end, bool *alone)
{
    size_t count = 0;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at)), *word = *at;
    stop = stop != NULL ? stop : end;
    for (;; count++) {
        while (word < stop && (*word == ' ' || *word == '\t' || *word == '\r'))
            word++;
        const char *behind = skip_digits(word, stop);
        if (behind == word || (behind < stop && strchr(" \t\r", *behind) == NULL))
            break;
        word = behind;
    }
    *alone = word == stop;
    *at = stop + (stop < end);
    return count;
}

/* Reads the sizes of UCI's bags of words: documents, words and entries, one per line. */
static bool reads_sizes(const char **text, const char *end)
{
    bool alone = true;
    for (int line = 0; line < 3; line++)
        if (whole_numbers(text, end, &alone) != 1 || !alone)
            return false;
    return true;
}

/* Recognises UCI's bags of words by their sizes and the first triple. The reader says what is wrong with its count. */
static bool is_docword(const char *text, const char *end)
{
    bool alone;
    if (!reads_sizes(&text, end))
        return false;
    size_t count = whole_numbers(&text, end, &alone);
    return count > 2 || (count == 2 && !alone);
}

bool hw_is_empty_docword(const char *text, size_t bytes)
{
    const char *end = text + bytes;
    if (!reads_sizes(&text, end))
        return false;
    while (text < end && strchr(" \t\r\n", *text) != NULL)
        text++;
    return text == end;
}

bool hw_is_cache(const char *text, size_t bytes)
{
    return starts_with(text, bytes, HW_CACHE_MAGIC, strlen(HW_CACHE_MAGIC));
}

/* An .npz archive that is still one is a sparse matrix of scipy; other zip archives are refused (hw_is_unsupported). */
bool hw_is_npy(const char *text, size_t bytes)
{
    return starts_with(text, bytes, HW_NPY_MAGIC, 6) || starts_with(text, bytes, "PK\3\4", 4);
}

bool hw_is_market(const char *text, size_t bytes)
{
    return starts_with(text, bytes, "%%MatrixMarket", 14) || is_docword(text, text + bytes);
}

bool hw_is_svmlight(const char *text, size_t bytes)
{
    line_kind kind = kind_of_text(text, bytes);
    return kind == LINE_SVMLIGHT || kind == LINE_ONE_ENTRY;
}

bool hw_is_one_entry(const char *text, size_t bytes)
{
    return kind_of_text(text, bytes) == LINE_ONE_ENTRY;
}

/* Any text may be CSV. */
bool hw_is_csv(const char *text, size_t bytes)
{
    (void)text, (void)bytes;
    return true;
}
