/* utf8.h - what may stand in a JSON text. */
#ifndef HW_BASE_UTF8_H
#define HW_BASE_UTF8_H

#include <stdbool.h>

/* No overlong forms, no surrogates, nothing above U+10FFFF. */
bool hw_is_utf8(const char *text);
/* Is there a newline, a tab or another control character (U+0001 to U+001F, U+007F to U+009F) in a text that is UTF-8? */
bool hw_has_control(const char *text);

#endif
