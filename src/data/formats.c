#include "data/formats.h"

#include <stdio.h>

#define HW_FORMAT_ROW(id, word, help, ...) [HAWSER_##id] = {word, __VA_ARGS__},
static const hw_format_row rows[] = {HW_FORMATS(HW_FORMAT_ROW)};
enum { COUNT = sizeof rows / sizeof *rows };

const hw_format_row *hw_format_row_of(hawser_format format)
{
    return (unsigned)format < COUNT && rows[format].word != NULL ? &rows[format] : NULL;
}

bool hw_format_is(hawser_format format, unsigned traits)
{
    const hw_format_row *row = hw_format_row_of(format);
    return row != NULL && (row->traits & traits) == traits;
}

/* Returns whether a list of words, separated by blanks, has `word`. */
static bool lists(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at != '\0'; at += strspn(at, " ")) {
        size_t found = strcspn(at, " ");
        if (found == length && memcmp(at, word, length) == 0)
            return true;
        at += found;
    }
    return false;
}

bool hw_format_has_option(hawser_format format, const char *key)
{
    const hw_format_row *row = hw_format_row_of(format);
    return row != NULL && lists(row->options, key);
}

hawser_format hw_format_of_option(const char *key)
{
    for (size_t i = HAWSER_GUESS + 1; i < COUNT; i++)
        if (hw_format_has_option((hawser_format)i, key))
            return (hawser_format)i;
    return HAWSER_GUESS;
}

const char *hw_format_name(hawser_format format)
{
    const hw_format_row *row = hw_format_row_of(format);
    return row != NULL ? row->word : "none";
}

hawser_format hw_format_find(const char *word)
{
    for (size_t i = HAWSER_GUESS + 1; i < COUNT; i++)
        if (hw_word_is(rows[i].word, word))
            return (hawser_format)i;
    return HAWSER_GUESS;
}

/* Returns whether `extension` (".svm") is one of the row's. */
static bool has_extension(const hw_format_row *row, const char *extension)
{
    if (row->extension[0] != '\0' && extension[0] == '.' && strcmp(row->extension, extension + 1) == 0)
        return true;
    return lists(row->extensions, extension);
}

hawser_format hw_format_of_extension(const char *extension)
{
    for (size_t i = HAWSER_GUESS + 1; i < COUNT; i++)
        if (has_extension(&rows[i], extension))
            return (hawser_format)i;
    return HAWSER_GUESS;
}

const char *hw_format_extensions(char *text, size_t size)
{
    size_t used = 0, left = 0;
    text[0] = '\0';
    for (size_t i = HAWSER_GUESS + 1; i < COUNT; i++)
        left += rows[i].extension[0] != '\0';
    for (size_t i = HAWSER_GUESS + 1; i < COUNT && used < size; i++) {
        if (rows[i].extension[0] == '\0')
            continue;
        const char *between = used == 0 ? "" : left > 1 ? ", " : " or ";
        used += (size_t)snprintf(text + used, size - used, "%s.%s", between, rows[i].extension);
        left--;
    }
    return text;
}

/* The first bytes of some formats are unique. Among the others, only svmlight can be distinguished from CSV, which is the
 * default. */
hawser_format hw_guess_format(const char *text, size_t bytes)
{
    for (int certain = 1; certain >= 0; certain--)
        for (size_t i = HAWSER_GUESS + 1; i < COUNT; i++)
            if (((rows[i].traits & HW_FORMAT_CERTAIN) != 0) == certain && rows[i].looks(text, bytes))
                return (hawser_format)i;
    return HAWSER_CSV;
}
