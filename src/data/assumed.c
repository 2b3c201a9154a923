/* assumed.c - what a load has assumed of its input, because neither the input nor an option said it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "data/dataset.h"
#include "data/formats.h"
#include "data/table/levels.h"
#include "hawser/data.h"

/* A text that may be longer than its room. */
typedef struct writing {
    char *text;
    size_t size, length;
} writing;

static char *rest(const writing *to, size_t *room)
{
    *room = to->length < to->size ? to->size - to->length : 0;
    return *room > 0 ? to->text + to->length : NULL;
}

static void put(writing *to, const char *format, ...) HAWSER_PRINTF(2, 3);

static void put(writing *to, const char *format, ...)
{
    size_t room;
    char *at = rest(to, &room);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(at, room, format, arguments);
    va_end(arguments);
    to->length += length > 0 ? (size_t)length : 0;
}

/* Begins another thing that was assumed. */
static void next(writing *to)
{
    if (to->length > 0)
        put(to, "; ");
}

/* Makes a set of the names in a list. What does not fit into memory is left out, and called assumed. */
static void names_of(const char *list, hw_levels *names)
{
    uint32_t number;
    for (const char *at = list; at != NULL; at = strchr(at, ','), at += at != NULL)
        if (hw_levels_put(names, at, strcspn(at, ","), &number, NULL) != HAWSER_OK)
            return;
}

/* Returns whether --categories names a column, which may have no name. */
static bool asks_for(const char *spec, const hw_levels *names, const char *name)
{
    size_t length = strlen(name);
    uint32_t number;
    if (length == 0 || strchr(name, ',') == NULL)
        return length > 0 && hw_levels_find(names, name, length, &number);
    for (const char *at = spec; at != NULL; at = strchr(at, ','), at += at != NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* Writes the columns that are words because they look like that. */
static void put_words(writing *to, const hawser_dataset *data, const hawser_options *options)
{
    const char *spec = hawser_options_text(options, "categories");
    hawser_schema_column column;
    hw_levels names = {0};
    size_t found = 0, room;
    if (!hw_format_has_option(hawser_dataset_figures(data)->format, "categories"))
        return;
    names_of(spec, &names);
    for (size_t k = 0; hawser_schema_at(hawser_dataset_schema(data), k, &column); k++) {
        if (column.kind != HAWSER_CATEGORY || asks_for(spec, &names, column.name) || ++found > 4)
            continue;
        if (found > 1)
            put(to, ", ");
        else
            next(to);
        if (column.name[0] == '\0') {
            put(to, "feature %zu", k);
        } else {
            char *at = rest(to, &room);
            to->length += hw_escape(at, room, column.name);
        }
    }
    hw_levels_free(&names);
    if (found > 0)
        put(to, "%s %s words (--categories)", found > 4 ? ", ..." : "", found == 1 ? "has" : "have");
}

/* Writes the columns that are not read because the words of another one are the features. */
static void put_unread(writing *to, const char *names)
{
    size_t room;
    next(to);
    char *at = rest(to, &room);
    to->length += hw_escape(at, room, names);
    put(to, " %s not read beside --text", strchr(names, ',') != NULL ? "are" : "is");
}

size_t hawser_dataset_assumed(const hawser_dataset *dataset, const hawser_options *options, char *text, size_t size)
{
    const hawser_load_figures *figures = hawser_dataset_figures(dataset);
    writing to = {.text = text, .size = text != NULL ? size : 0};
    if (to.size > 0)
        text[0] = '\0';
    if (figures == NULL)
        return 0;
    if (figures->base_guessed && figures->format != HAWSER_CACHE)
        put(&to, "column indices start at %d (--index-base)", figures->index_base);
    if (figures->format_assumed) {
        next(&to);
        put(&to, "the input is %s (--format)", hw_format_name(figures->format));
    }
    if (figures->header_guessed != 0) {
        next(&to);
        put(&to, "the first line is %s (--header)", figures->header_guessed > 0 ? "a header" : "a row");
    }
    if (dataset->unread != NULL)
        put_unread(&to, dataset->unread);
    put_words(&to, dataset, options);
    bool asked =
        hawser_options_has(options, "target") && hawser_options_source(options, "target", NULL) != HAWSER_FROM_DEFAULT;
    if (!asked && figures->target_column == 1) {
        next(&to);
        put(&to, "the first column is the target (--target)");
    }
    return to.length;
}
