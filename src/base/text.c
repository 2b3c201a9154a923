#include "base/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

hawser_status hw_text_open(hw_memory_text *text, hawser_error *error)
{
    *text = (hw_memory_text){0};
    text->file = open_memstream(&text->text, &text->length);
    return text->file != NULL ? HAWSER_OK
                              : hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a text in memory: %s", strerror(errno));
}

hawser_status hw_text_close(hw_memory_text *text, hawser_status status, char **out, hawser_error *error)
{
    *out = NULL;
    bool whole = ferror(text->file) == 0;
    whole = fclose(text->file) == 0 && whole;
    if (status == HAWSER_OK && !whole)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a text of over %zu bytes", text->length);
    if (status == HAWSER_OK)
        *out = text->text;
    else
        free(text->text);
    return status;
}
