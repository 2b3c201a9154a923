/* place.c - places in the input, for messages. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data/source/input.h"

uint64_t hw_count(const char *begin, const char *end, char what)
{
    enum { LANES = 64, MOST = 255 };
    uint64_t sum = 0;
    while (end - begin >= LANES) { /* byte counters that the compiler keeps in vectors, added up before they overflow */
        unsigned char lanes[LANES] = {0};
        for (int turn = 0; turn < MOST && end - begin >= LANES; turn++, begin += LANES)
            for (int lane = 0; lane < LANES; lane++)
                lanes[lane] = (unsigned char)(lanes[lane] + (begin[lane] == what));
        for (int lane = 0; lane < LANES; lane++)
            sum += lanes[lane];
    }
    for (; begin < end; begin++)
        sum += *begin == what;
    return sum;
}

/* Copies the word at `at`, up to 40 characters of it, with escapes for what is not printable. */
static void offending(const char *at, const char *end, char *out, size_t size)
{
    size_t count = 0;
    for (const char *begin = at; at < end && count + 7 < size && *at != '\n' && *at != '\r'; at++) {
        if (at > begin && strchr(" \t,;", *at) != NULL)
            break;
        unsigned char c = (unsigned char)*at;
        if (isprint(c) || c >= 0x80)
            out[count++] = (char)c;
        else
            count += (size_t)snprintf(out + count, size - count, c == '\t' ? "\\t" : "\\x%02x", c);
    }
    out[count] = '\0';
    if (at < end && count + 7 >= size)
        memcpy(out + count, "...", 4);
}

uint64_t hw_chunk_line(const hw_chunk *chunk, const char *at)
{
    const char *map = chunk->file->map;
    return (chunk->line != 0 ? chunk->line : 1 + hw_count(map, map + chunk->offset, '\n')) +
           hw_count(chunk->begin, at, '\n');
}

hawser_status hw_chunk_fail(const hw_chunk *chunk, const char *at, hawser_error *error, const char *format, ...)
{
    if (error == NULL)
        return HAWSER_BAD_INPUT;
    char message[600], word[51];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const char *line = at;
    while (line > chunk->begin && line[-1] != '\n')
        line--;
    uint64_t number = hw_chunk_line(chunk, line);
    offending(at, chunk->end, word, sizeof word - 3);
    if (*word == '\0')
        snprintf(word, sizeof word, "end of line");
    else {
        size_t length = strlen(word);
        memmove(word + 1, word, length);
        *word = '"';
        memcpy(word + length + 1, "\"", 2);
    }
    char began[64] = "";
    if (chunk->row != NULL && chunk->row < line)
        snprintf(began, sizeof began, "; the row begins on line %llu", (unsigned long long)hw_chunk_line(chunk, chunk->row));
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%llu:%llu: %s: %s%s", chunk->file->name, (unsigned long long)number,
                       (unsigned long long)(at - line) + 1, message, word, began);
}
