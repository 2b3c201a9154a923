/* refusals_list.h - the list of docs/refusals.md, and which of its rows programs have met. HAWSER_SOURCE, or else the
 * current folder, has docs. */
#ifndef HW_TESTS_UNIT_REFUSALS_LIST_H
#define HW_TESTS_UNIT_REFUSALS_LIST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFUSALS_MOST = 256, REFUSAL_TEXT = 512 };

typedef struct refusals_list {
    size_t count;
    char row[REFUSALS_MOST][REFUSAL_TEXT];
    bool met[REFUSALS_MOST];
} refusals_list;

/* Reads the rows "| `TEXT` | REASON |". Returns false if the file cannot be read. */
static bool read_refusals(refusals_list *list)
{
    const char *source = getenv("HAWSER_SOURCE");
    char path[4096], line[2048];
    snprintf(path, sizeof path, "%s/docs/refusals.md", source != NULL ? source : ".");
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    while (fgets(line, sizeof line, file) != NULL) {
        char *end = strncmp(line, "| `", 3) == 0 ? strstr(line, "` | ") : NULL;
        if (end == NULL)
            continue;
        *end = '\0';
        assert_true(list->count < REFUSALS_MOST && strlen(line + 3) < REFUSAL_TEXT);
        strcpy(list->row[list->count++], line + 3);
    }
    fclose(file);
    return true;
}

/* Returns whether a text is a row with something in place of each "...". */
static bool is_row(const char *row, const char *text)
{
    const char *gap = strstr(row, "...");
    if (gap == NULL)
        return strcmp(row, text) == 0;
    if (strncmp(row, text, (size_t)(gap - row)) != 0)
        return false;
    for (text += gap - row; *text != '\0'; text++)
        if (is_row(gap + 3, text))
            return true;
    return is_row(gap + 3, text);
}

static size_t fixed_letters(const char *row)
{
    size_t letters = strlen(row);
    for (const char *gap = row; (gap = strstr(gap, "...")) != NULL; gap += 3)
        letters -= 3;
    return letters;
}

/* Marks the row of a text as met: of several that fit, the one that says most. Returns false if there is none. */
static bool meet_refusal(refusals_list *list, const char *text)
{
    const char *prefix = "program '", *rest = strncmp(text, prefix, strlen(prefix)) == 0 ? strstr(text, ": ") : NULL;
    size_t best = list->count;
    for (size_t i = 0; i < list->count; i++)
        if (is_row(list->row[i], rest != NULL ? rest + 2 : text) &&
            (best == list->count || fixed_letters(list->row[i]) > fixed_letters(list->row[best])))
            best = i;
    if (best < list->count)
        list->met[best] = true;
    return best < list->count;
}

#endif
