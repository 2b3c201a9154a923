#include "base/difference.h"

#include <stdio.h>
#include <string.h>

/* Returns the length of what two lines about one thing share, "option lambda = "; 0: unknown. */
static size_t label_of(const char *line, size_t length)
{
    const char *equals = memmem(line, length, " = ", 3);
    return equals != NULL ? (size_t)(equals - line) + 3 : 0;
}

static size_t line_length(const char *line)
{
    return strcspn(line, "\n");
}

static const char *next_line(const char *line)
{
    const size_t length = line_length(line);
    return line + length + (line[length] != '\0');
}

/* Returns whether a text has a line. */
static bool has_line(const char *text, const char *line, size_t length)
{
    for (; *text != '\0'; text = next_line(text))
        if (line_length(text) == length && memcmp(text, line, length) == 0)
            return true;
    return false;
}

/* Finds the line of a text that begins as `line` does up to its value. */
static const char *line_alike(const char *text, const char *line, size_t label)
{
    for (; label > 0 && *text != '\0'; text = next_line(text))
        if (strncmp(text, line, label) == 0)
            return text;
    return NULL;
}

static int shown(size_t length)
{
    enum { SHOWN = 200 };
    return length < SHOWN ? (int)length : SHOWN;
}

/* Writes a line of the first text that the second one lacks, where `here` is about the same thing or NULL. */
static void write(char text[HW_DIFFERENCE], const char *there, const char *here)
{
    const size_t a = line_length(there), label = label_of(there, a);
    if (here == NULL)
        (void)snprintf(text, HW_DIFFERENCE, "'%.*s' is there, but not here", shown(a), there);
    else
        (void)snprintf(text, HW_DIFFERENCE, "%.*s there, %.*s here", shown(a), there, shown(line_length(here) - label),
                       here + label);
}

bool hw_lines_differ(const char *there, const char *here, char text[HW_DIFFERENCE])
{
    for (const char *line = there; *line != '\0'; line = next_line(line)) {
        const size_t length = line_length(line);
        if (has_line(here, line, length))
            continue;
        write(text, line, line_alike(here, line, label_of(line, length)));
        return true;
    }
    for (const char *line = here; *line != '\0'; line = next_line(line)) {
        const size_t length = line_length(line);
        if (has_line(there, line, length))
            continue;
        (void)snprintf(text, HW_DIFFERENCE, "'%.*s' is not there, but here", shown(length), line);
        return true;
    }
    return false;
}
