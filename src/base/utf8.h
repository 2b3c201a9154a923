/* utf8.h - what may stand in a JSON text. */
#ifndef HW_BASE_UTF8_H
#define HW_BASE_UTF8_H

#include <stdbool.h>

/* No overlong forms, no surrogates, nothing above U+10FFFF. */
bool hw_is_utf8(const char *text);

#endif
