/* lines.c - merges the output of several nodes into one stream: whole lines, each behind its node's name. */
#include <string.h>

#include "cli/run/launch.h"

enum { LONGEST = 3900 }; /* with its label it fits one buffer of stdio */

hawser_status hw_lines_take(hw_lines *lines, const char *label, FILE *out, const char *data, size_t length, bool last,
                            hawser_error *error)
{
    hw_buffer *bytes = &lines->bytes;
    HAWSER_TRY(hw_buffer_add(bytes, data, length, error));
    while (hw_buffer_left(bytes) > 0) {
        const char *text = bytes->data + bytes->from;
        size_t left = hw_buffer_left(bytes);
        const char *end = memchr(text, '\n', left);
        if (end == NULL && left < LONGEST && !last)
            break;
        size_t line = end != NULL ? (size_t)(end - text) : left;
        (void)fputs(label, out);
        (void)fwrite(text, 1, line, out);
        (void)fputc('\n', out);
        (void)fflush(out); /* one write per line, because node 0 may write to the same file */
        hw_buffer_drop(bytes, end != NULL ? line + 1 : line);
    }
    if (last)
        hw_buffer_free(bytes);
    return HAWSER_OK;
}
