/* words.c - the help for the words of options, from the rows that define them. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/policies.h"
#include "cli/help.h"
#include "codec/forms.h"
#include "data/formats.h"
#include "exchange/filters.h"
#include "exchange/merges.h"
#include "report/option_text.h"

#define OF_OPTION(option, id, word, help, ...) {option, word, help},
#define OF_SYNC(...)                           OF_OPTION("sync", __VA_ARGS__)
#define OF_FILTER(...)                         OF_OPTION("filter", __VA_ARGS__)
#define OF_ENCODING(...)                       OF_OPTION("encoding", __VA_ARGS__)
#define OF_MERGE(...)                          OF_OPTION("merge", __VA_ARGS__)
#define OF_FORMAT(...)                         OF_OPTION("format", __VA_ARGS__)

void hw_help_words(FILE *out, const char *key)
{
    static const struct {
        const char *option, *word, *help;
    } rows[] = {HW_POLICIES(OF_SYNC) HW_FILTERS(OF_FILTER) HW_FORMS(OF_ENCODING) HW_MERGES(OF_MERGE) HW_FORMATS(OF_FORMAT)};
    bool first = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].option, key) == 0) {
            if (first)
                fprintf(out, "\nThe words of --%s:\n", key);
            size_t column = (size_t)fprintf(out, "  %-14s ", rows[i].word);
            hw_help_wrapped(out, rows[i].help, column, column);
            fputc('\n', out);
            first = false;
        }
}
