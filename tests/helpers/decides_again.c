/* decides_again FILE...: gives new deciders what files of decisions (--save-decisions) have, and compares each change that
 * they decide with the saved one. Prints the number of changes in all files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/log.h"

enum { LOOPS = 8 };

/* The deciders of a run, by loop. */
typedef struct deciders {
    const char *loops[LOOPS];
    hw_decider all[LOOPS];
    size_t count;
    unsigned long changes;
} deciders;

static void forget(deciders *d)
{
    for (size_t i = 0; i < d->count; i++)
        hw_decider_close(&d->all[i]);
    d->count = 0;
}

static hw_decider *find(deciders *d, const char *loop)
{
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->loops[i], loop) == 0)
            return &d->all[i];
    return NULL;
}

static int begin(deciders *d, const hw_log_line *line)
{
    hawser_error error = {0};
    hw_decider *decider = &d->all[d->count];
    if (d->count == LOOPS || hw_decider_open(decider, &line->bounds, line->blocks, &error) != HAWSER_OK)
        return 1;
    d->loops[d->count++] = line->loop;
    decider->value[HW_KNOB_WORK] = decider->sent[HW_KNOB_WORK] = line->work;
    for (uint32_t b = 0; line->shares != NULL && b < line->blocks; b++)
        decider->shares[b] = decider->sent_shares[b] = line->shares[b];
    return 0;
}

/* Returns whether the decider's next change is not the saved one. */
static int differs(deciders *d, const hw_log_line *line)
{
    hw_instruction made;
    const hw_instruction *saved = &line->change;
    d->changes++;
    return !hw_decider_next(find(d, line->loop), &made) || made.knob != saved->knob || made.block != saved->block ||
           made.from < saved->from || made.from > saved->from || made.to < saved->to || made.to > saved->to ||
           strcmp(made.reason, saved->reason) != 0;
}

/* Gives a line to its decider. Returns whether what was decided before it was not as saved. */
static int take(deciders *d, const hw_log_line *line)
{
    hw_instruction more;
    hw_decider *decider = line->loop != NULL ? find(d, line->loop) : NULL;
    if (line->kind == HW_LOG_RUN)
        forget(d);
    if (line->kind == HW_LOG_LOOP)
        return begin(d, line);
    if (line->kind == HW_LOG_CHANGE)
        return decider == NULL || differs(d, line);
    if (line->kind != HW_LOG_WINDOW && line->kind != HW_LOG_POINT && line->kind != HW_LOG_RESTART)
        return 0;
    if (decider == NULL || (line->kind != HW_LOG_POINT && hw_decider_next(decider, &more)))
        return 1;
    if (line->kind == HW_LOG_WINDOW)
        hw_decider_window(decider, &line->feedback);
    else if (line->kind == HW_LOG_RESTART)
        hw_decider_restart(decider);
    else
        hw_decider_point(decider, line->seconds, line->clocks, line->metric);
    return 0;
}

static char *text_of(const char *path, size_t *length)
{
    enum { MOST = 1 << 24 };
    char *text = malloc(MOST);
    FILE *file = fopen(path, "re");
    *length = text != NULL && file != NULL ? fread(text, 1, MOST, file) : 0;
    if (file != NULL)
        (void)fclose(file);
    return text;
}

static int check(const char *path, unsigned long *changes)
{
    hw_log_file file = {0};
    hawser_error error = {0};
    deciders d = {.count = 0};
    size_t length = 0, i = 0;
    char *text = text_of(path, &length);
    int wrong = text == NULL || hw_log_read(text, length, path, &file, &error) != HAWSER_OK;
    if (wrong)
        fprintf(stderr, "%s\n", error.text);
    for (; !wrong && i < file.count; i++)
        wrong = take(&d, &file.lines[i]);
    if (wrong && i > 0)
        fprintf(stderr, "%s:%zu: another decision\n", path, i);
    forget(&d);
    *changes += d.changes;
    hw_log_free(&file);
    free(text);
    return wrong;
}

int main(int argc, char **argv)
{
    unsigned long changes = 0;
    int wrong = argc < 2;
    for (int i = 1; i < argc; i++)
        wrong |= check(argv[i], &changes);
    printf("%lu\n", changes);
    return wrong;
}
