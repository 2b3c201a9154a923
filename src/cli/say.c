/* say.c - lines and words that a person reads, in which a name of a file cannot move the cursor. */
#include <stdarg.h>
#include <stdlib.h>

#include "cli/cli.h"

void hw_print_word(FILE *out, const char *text)
{
    char shown[200];
    char *whole = NULL;
    size_t length = hawser_escape(text, shown, sizeof shown);
    if (length >= sizeof shown && (whole = malloc(length + 1)) != NULL)
        (void)hawser_escape(text, whole, length + 1);
    (void)fputs(whole != NULL ? whole : shown, out);
    free(whole);
}

void hw_say(FILE *err, const char *format, ...)
{
    char text[2000];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)fputs("hawser: ", err);
    hw_print_word(err, text);
    (void)fputc('\n', err);
}
