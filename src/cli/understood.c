/* understood.c - what a training has understood of its input, in four lines: target, rows, columns by kind, and what was
 * assumed. */
#include <stdlib.h>

#include "cli/summary.h"
#include "data/formats.h"

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

/* What neither the input nor the user has said. */
static void print_assumed(const hw_call *call, const hawser_dataset *data)
{
    size_t length = hawser_dataset_assumed(data, call->options, NULL, 0);
    char *text = malloc(length + 1);
    if (text != NULL)
        (void)hawser_dataset_assumed(data, call->options, text, length + 1);
    fprintf(call->out, "%-16s %s\n", "assumed", length == 0 || text == NULL ? "nothing" : text);
    free(text);
}

void hw_say_understood(const hw_call *call, const hawser_dataset *data)
{
    print_target(call, data);
    fprintf(call->out, "%-16s %zu\n", "rows", hawser_dataset_matrix(data)->rows);
    print_columns(call, data);
    print_assumed(call, data);
}
