/* utf8.h - which texts may be in JSON. */
#ifndef HW_BASE_UTF8_H
#define HW_BASE_UTF8_H

#include <stdbool.h>

/* Returns whether a text is UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. */
bool hw_is_utf8(const char *text);
/* Returns whether a UTF-8 text has a newline, a tab or another control character (U+0001 to U+001F, U+007F to U+009F). */
bool hw_has_control(const char *text);

#endif
