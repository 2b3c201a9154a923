/* guess.c - the format by the first bytes. */
#include <ctype.h>
#include <string.h>

#include "data/cache/cache.h"
#include "data/format/npy.h"
#include "data/load.h"

enum { LINES = 20 };

/* "12:" somewhere behind a blank or at the start, and no comma in front of it. */
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

static bool starts_with(const char *text, size_t bytes, const char *magic, size_t length)
{
    return bytes >= length && memcmp(text, magic, length) == 0;
}

/* A few lines decide: rows without entries are rare, a comma in front of an entry is no svmlight. */
hawser_format hw_guess_format(const char *text, size_t bytes)
{
    if (starts_with(text, bytes, HW_CACHE_MAGIC, strlen(HW_CACHE_MAGIC)))
        return HAWSER_CACHE;
    if (starts_with(text, bytes, HW_NPY_MAGIC, 6))
        return HAWSER_NPY;
    if (starts_with(text, bytes, "%%MatrixMarket", 14))
        return HAWSER_MATRIX_MARKET;
    const char *end = text + bytes;
    for (int line = 0; line < LINES && text < end; line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop != NULL ? stop : end;
        if (*text == '#' || has_entry(text, stop))
            return HAWSER_SVMLIGHT;
        text = stop < end ? stop + 1 : end;
    }
    return HAWSER_CSV;
}
