#include "base/difference.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

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

/* Returns whether two values are the same numbers, separated by commas, in other words: 1e-5 and 1e-05. */
static bool same_numbers(const char *a, size_t a_length, const char *b, size_t b_length)
{
    char words[2][256];
    const char *at[2] = {words[0], words[1]};
    if (a_length >= sizeof *words || b_length >= sizeof *words)
        return false;
    (void)snprintf(words[0], sizeof *words, "%.*s", (int)a_length, a);
    (void)snprintf(words[1], sizeof *words, "%.*s", (int)b_length, b);
    for (;;) {
        double numbers[2];
        for (int i = 0; i < 2; i++)
            if ((at[i] = hw_number_word(at[i], &numbers[i])) == NULL)
                return false;
        if (!(numbers[0] == numbers[1]) || *at[0] != *at[1] || (*at[0] != ',' && *at[0] != '\0'))
            return false;
        if (*at[0] == '\0')
            return true;
        at[0]++;
        at[1]++;
    }
}

/* Returns whether two lines are the same, or give an option the same numbers. */
static bool same_line(const char *a, size_t a_length, const char *b, size_t b_length)
{
    const size_t label = label_of(a, a_length);
    if (a_length == b_length && memcmp(a, b, a_length) == 0)
        return true;
    return strncmp(a, "option ", 7) == 0 && label > 0 && label == label_of(b, b_length) && memcmp(a, b, label) == 0 &&
           same_numbers(a + label, a_length - label, b + label, b_length - label);
}

/* Returns whether a text has a line. */
static bool has_line(const char *text, const char *line, size_t length)
{
    for (; *text != '\0'; text = next_line(text))
        if (same_line(text, line_length(text), line, length))
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
