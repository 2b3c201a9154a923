#include "base/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Returns the length of the character at the start of a text, or 0 if its bytes are no UTF-8. The text is not empty. */
static size_t character(const unsigned char *at)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    unsigned more = *at < 0x80 ? 0 : (*at & 0xe0) == 0xc0 ? 1 : (*at & 0xf0) == 0xe0 ? 2 : (*at & 0xf8) == 0xf0 ? 3 : 4;
    if (more == 4)
        return 0;
    uint32_t point = more == 0 ? *at : *at & (0x3fU >> more);
    for (unsigned i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (at[i] & 0x3fU);
    }
    return point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000) ? 0 : more + 1;
}

bool hw_is_utf8(const char *text)
{
    size_t length;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at += length)
        if ((length = character(at)) == 0)
            return false;
    return true;
}

/* Returns whether a character of UTF-8 ends a line or reverses the text that follows it: U+2028 to U+202E, U+2066 to
 * U+2069. */
static bool is_direction(const unsigned char *at)
{
    return at[0] == 0xe2 &&
           ((at[1] == 0x80 && at[2] >= 0xa8 && at[2] <= 0xae) || (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9));
}

/* Returns whether a character of UTF-8 is a control character. */
static bool is_control(const unsigned char *at)
{
    return *at < 0x20 || *at == 0x7f || (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) || is_direction(at);
}

bool hw_has_control(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    for (; *at != '\0'; at++)
        if (is_control(at))
            return true;
    return false;
}

/* Writes the escape of one byte, and returns its length. */
static size_t escape_byte(char to[8], unsigned char byte)
{
    const char *named = byte == '\n' ? "\\n" : byte == '\r' ? "\\r" : byte == '\t' ? "\\t" : NULL;
    return (size_t)(named != NULL ? snprintf(to, 8, "%s", named) : snprintf(to, 8, "\\x%02x", byte));
}

size_t hw_escape(char *to, size_t size, const char *text)
{
    size_t length = 0, kept = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        char escape[8];
        size_t bytes = character(at);
        bool plain = bytes > 0 && !is_control(at);
        size_t used = plain ? bytes : escape_byte(escape, *at);
        if (kept == length && length + used < size) {
            memcpy(to + length, plain ? (const char *)at : escape, used);
            kept += used;
        }
        length += used;
        at += plain ? bytes : 1;
    }
    if (size > 0)
        to[kept] = '\0';
    return length;
}

void hw_escape_json(char *to, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t bytes = character(at);
        bytes = bytes > 0 ? bytes : 1;
        if (is_control(at) && *at != '\n' && *at != '\t') {
            unsigned point = bytes == 1 ? *at : at[bytes - 1] & 0x3fU;
            point |= bytes == 2 ? (at[0] & 0x1fU) << 6 : bytes == 3 ? (at[0] & 0xfU) << 12 | (at[1] & 0x3fU) << 6 : 0;
            to += snprintf(to, sizeof "\\uXXXX", "\\u%04x", point);
        } else {
            memcpy(to, at, bytes);
            to += bytes;
        }
        at += bytes;
    }
    *to = '\0';
}
