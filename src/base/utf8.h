/* utf8.h - which texts may be in JSON, and texts as they are printed. */
#ifndef HW_BASE_UTF8_H
#define HW_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether a text is UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. */
bool hw_is_utf8(const char *text);
/* Returns whether a UTF-8 text has a newline, a tab or another control character (U+0001 to U+001F, U+007F to U+009F). */
bool hw_has_control(const char *text);
/* Writes a text as it is printed: control characters become \n, \r, \t or \xHH, as bytes that are no UTF-8 do. Writes at
 * most `size` bytes with the terminating zero, and whole characters alone. Returns the length of the whole text. */
size_t hw_escape(char *to, size_t size, const char *text);
/* Copies JSON in UTF-8 to `to`, with \uXXXX for each character that hw_escape would escape, other than a newline and a tab.
 * `to` has room for 6 times the length of the text, and its terminating zero. */
void hw_escape_json(char *to, const char *text);

#endif
