/* understood.c - what a training has understood of its input, in four lines: target, rows, columns by kind, and what was assumed. */
#include <inttypes.h>
#include <string.h>

#include "cli/summary.h"
#include "data/formats.h"
#include "data/table/levels.h"

static void print_after(FILE *out, const char *name, const char *after)
{
    hw_print_word(out, name);
    (void)fputs(after, out);
}

static void print_target(const hw_call *call, const hawser_dataset *data)
{
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    const char *name = hawser_dataset_target_name(data), *spec = hawser_options_text(call->options, "target");
    size_t count = 0;
    const char *const *words = hawser_schema_target(hawser_dataset_schema(data), &count);
    fprintf(call->out, "%-16s ", "target");
    if (hawser_dataset_outputs(data) == 0) {
        fprintf(call->out, "none\n");
        return;
    }
    for (size_t o = 1; name != NULL && o < hawser_dataset_outputs(data); o++)
        print_after(call->out, hawser_dataset_output_name(data, o - 1), ", ");
    if (hawser_dataset_outputs(data) > 1)
        name = hawser_dataset_output_name(data, hawser_dataset_outputs(data) - 1);
    if (name != NULL && name[0] != '\0')
        hw_print_word(call->out, name);
    else if (figures->target_file && spec != NULL)
        fprintf(call->out, "the file %s", spec);
    else if (hawser_dataset_outputs(data) > 1 && spec != NULL)
        fprintf(call->out, "columns %s", spec);
    else if (figures->target_column > 0)
        fprintf(call->out, "column %zu", figures->target_column - 1);
    else
        fprintf(call->out, "that of the input");
    for (size_t k = 0; k < count && k < 10; k++) {
        fprintf(call->out, "%s", k == 0 ? ": words " : ", ");
        hw_print_word(call->out, words[k]);
    }
    const char *positive = hawser_options_text(call->options, "positive");
    fprintf(call->out, "%s", count > 10 ? ", ..." : "");
    if (positive != NULL)
        fprintf(call->out, "; label 1 where %s, else label 0", positive);
    fprintf(call->out, "\n");
}

static void print_columns(const hw_call *call, const hawser_dataset *data)
{
    const hawser_schema *schema = hawser_dataset_schema(data);
    size_t kinds[3] = {0}, levels = 0;
    hawser_schema_column column;
    for (size_t k = 0; hawser_schema_at(schema, k, &column); k++) {
        kinds[column.kind]++;
        levels += column.kind == HAWSER_CATEGORY ? column.count : 0;
    }
    fprintf(call->out, "%-16s %zu", "columns", hawser_dataset_matrix(data)->cols);
    const char *before = ": ";
    if (kinds[HAWSER_NUMERIC] > 0)
        fprintf(call->out, "%s%zu of numbers", before, kinds[HAWSER_NUMERIC]);
    before = kinds[HAWSER_NUMERIC] > 0 ? ", " : before;
    if (kinds[HAWSER_CATEGORY] > 0)
        fprintf(call->out, "%s%zu of words with %zu levels", before, kinds[HAWSER_CATEGORY], levels);
    before = kinds[HAWSER_CATEGORY] > 0 ? ", " : before;
    if (kinds[HAWSER_DATE] > 0)
        fprintf(call->out, "%s%zu of dates", before, kinds[HAWSER_DATE]);
    fprintf(call->out, "\n");
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

/* Prints the columns that are words because they look like that. Returns what separates it from the next. */
static const char *print_words(const hw_call *call, const hawser_dataset *data, const char *before)
{
    const char *spec = hawser_options_text(call->options, "categories"), *const asked = before;
    hawser_schema_column column;
    hw_levels names = {0};
    size_t found = 0;
    if (!hw_format_has_option(hawser_dataset_figures(data)->format, "categories"))
        return before;
    names_of(spec, &names);
    for (size_t k = 0; hawser_schema_at(hawser_dataset_schema(data), k, &column); k++) {
        if (column.kind != HAWSER_CATEGORY || asks_for(spec, &names, column.name) || ++found > 4)
            continue;
        fprintf(call->out, "%s", found == 1 ? asked : ", ");
        if (column.name[0] != '\0')
            hw_print_word(call->out, column.name);
        else
            fprintf(call->out, "feature %zu", k);
    }
    hw_levels_free(&names);
    if (found == 0)
        return before;
    fprintf(call->out, "%s %s words (--categories)", found > 4 ? ", ..." : "", found == 1 ? "has" : "have");
    return "; ";
}

/* What neither the input nor the user has said. */
static void print_assumed(const hw_call *call, const hawser_dataset *data)
{
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    bool asked = hawser_options_source(call->options, "target", NULL) != HAWSER_FROM_DEFAULT &&
                 hawser_options_has(call->options, "target");
    const char *before = "";
    fprintf(call->out, "%-16s ", "assumed");
    if (figures->base_guessed && figures->format != HAWSER_CACHE) {
        fprintf(call->out, "column indices start at %d (--index-base)", figures->index_base);
        before = "; ";
    }
    if (figures->format_assumed) {
        fprintf(call->out, "%sthe input is %s (--format)", before, hw_format_name(figures->format));
        before = "; ";
    }
    if (figures->header_guessed != 0) {
        fprintf(call->out, "%sthe first line is %s (--header)", before, figures->header_guessed > 0 ? "a header" : "a row");
        before = "; ";
    }
    before = print_words(call, data, before);
    if (!asked && figures->target_column == 1) {
        fprintf(call->out, "%sthe first column is the target (--target)", before);
        before = "; ";
    }
    fprintf(call->out, "%s\n", before[0] == '\0' ? "nothing" : "");
}

void hw_say_understood(const hw_call *call, const hawser_dataset *data)
{
    print_target(call, data);
    fprintf(call->out, "%-16s %zu\n", "rows", hawser_dataset_matrix(data)->rows);
    print_columns(call, data);
    print_assumed(call, data);
}
