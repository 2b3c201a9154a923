/* usage.c - the help of one command: its usual options on one screen, or all of them by group. */
#include <string.h>

#include "cli/help.h"
#include "report/option_text.h"

enum { COLUMN = 28, BRIEF = 200 };

const char *hw_help_title(const hawser_option *table, const hawser_algorithm *algorithm)
{
    if (algorithm != NULL && table == algorithm->rows)
        return "Options of the algorithm";
    if (table == hawser_job_rows())
        return "Options of the job";
    if (table == hw_member_rows())
        return "Options of a model with a path";
    return table == hawser_data_rows() ? "Options of the input" : "Options";
}

static void print_metrics(FILE *out, const hawser_metric_row *rows)
{
    if (rows == NULL || rows->name == NULL)
        return;
    fputs("\nMetrics, in the closing lines and --json:\n", out);
    for (; rows->name != NULL; rows++) {
        if (rows->help == NULL)
            continue;
        size_t column = (size_t)fprintf(out, "  %-20s ", rows->name);
        hw_help_wrapped(out, rows->help, column, column);
        fputc('\n', out);
    }
}

/* ---------------------------------------------------------------------------------------------------- all options ---- */

static bool is_of_group(const hawser_option *row, const char *group)
{
    return group == NULL ? row->group == NULL : row->group != NULL && strcmp(row->group, group) == 0;
}

/* Returns whether the help of an algorithm, which may be NULL, leaves the option out, because the algorithm refuses it. */
static bool is_refused(const hawser_option *row, const hawser_algorithm *algorithm)
{
    bool offset = strcmp(row->key, "offset") == 0 || strcmp(row->key, "exposure") == 0;
    return algorithm != NULL &&
           ((offset && algorithm->no_offset) || (strcmp(row->key, "weights") == 0 && algorithm->no_weights));
}

/* Prints the options of a group in tables; NULL: those without a group, in a table of their own title each. */
static void print_group(FILE *out, const hawser_option *const *tables, const hawser_algorithm *algorithm, const char *group)
{
    bool titled = false;
    for (; *tables != NULL; tables++, titled = titled && group != NULL)
        for (const hawser_option *row = *tables; row->key != NULL; row++)
            if (is_of_group(row, group) && !is_refused(row, algorithm)) {
                if (!titled)
                    fprintf(out, "\n%s:\n", group != NULL ? group : hw_help_title(*tables, algorithm));
                titled = true;
                hw_help_row(out, row);
            }
}

/* Returns whether an earlier row of the tables than `row` has its group. */
static bool had_group(const hawser_option *const *tables, const hawser_option *row)
{
    for (; *tables != NULL; tables++)
        for (const hawser_option *other = *tables; other->key != NULL; other++) {
            if (other == row)
                return false;
            if (is_of_group(other, row->group))
                return true;
        }
    return false;
}

/* Prints the options without a group, then each group once, in the order of the rows. */
static void print_groups(FILE *out, const hawser_option *const *tables, const hawser_algorithm *algorithm)
{
    print_group(out, tables, algorithm, NULL);
    for (size_t t = 0; tables[t] != NULL; t++)
        for (const hawser_option *row = tables[t]; row->key != NULL; row++)
            if (row->group != NULL && !had_group(tables, row))
                print_group(out, tables, algorithm, row->group);
}

/* -------------------------------------------------------------------------------------------------- usual options ---- */

/* Returns whether the usage line of the command names the option. */
static bool is_in_usage(const hw_command *command, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = strstr(command->words, "--"); at != NULL; at = strstr(at + 2, "--"))
        if (strncmp(at + 2, key, length) == 0 && (at[2 + length] == ' ' || at[2 + length] == '\0'))
            return true;
    return false;
}

/* Writes the flag as the long help has it, but "--json" without its negation if that is the default, and "--cv-rule 1se|min"
 * if the words are short. */
static void brief_flag(const hawser_option *row, char *text, size_t size)
{
    hawser_option shown = *row;
    bool off = row->kind == HAWSER_FLAG && row->value != NULL && strcmp(row->value, "no") == 0;
    if (off) {
        char letter[8] = "";
        if (row->letter != '\0')
            snprintf(letter, sizeof letter, "-%c, ", row->letter);
        snprintf(text, size, "%s--%s", letter, row->key);
        return;
    }
    if (row->kind == HAWSER_WORD && row->bounds != NULL && strlen(row->bounds) <= 16)
        shown.unit = row->bounds;
    hw_help_flag(&shown, text, size);
}

/* Returns the length of the help up to its first semicolon or full stop. */
static size_t brief_length(const char *help)
{
    size_t length = strcspn(help, ";");
    const char *stop = strstr(help, ". ");
    return stop != NULL && (size_t)(stop - help) < length ? (size_t)(stop - help) : length;
}

/* Prints the start of the help, with the default of a value. */
static void print_brief_row(FILE *out, const hawser_option *row)
{
    char flag[120], brief[BRIEF];
    brief_flag(row, flag, sizeof flag);
    bool has_default = row->value != NULL && row->value[0] != '\0' && row->kind != HAWSER_FLAG;
    snprintf(brief, sizeof brief, "%.*s%s%s%s", (int)brief_length(row->help), row->help, has_default ? " [" : "",
             has_default ? row->value : "", has_default ? "]" : "");
    bool wide = strlen(flag) + 3 > COLUMN;
    fprintf(out, "  %-*s", wide ? 0 : COLUMN - 2, flag);
    if (wide)
        fprintf(out, "\n%*s", COLUMN, "");
    hw_help_wrapped(out, brief, COLUMN, COLUMN);
    fputc('\n', out);
}

/* Prints the usual options of each table after an empty line. The last table has those of every command, which the last line
 * names. */
static void print_usual(FILE *out, const hw_command *command, const hawser_algorithm *algorithm,
                        const hawser_option *const *tables)
{
    for (; tables[1] != NULL; tables++) {
        bool first = true;
        for (const hawser_option *row = *tables; row->key != NULL; row++)
            if ((row->group == NULL || is_in_usage(command, row->key)) && !is_refused(row, algorithm)) {
                fputs(first ? "\n" : "", out);
                first = false;
                print_brief_row(out, row);
            }
    }
}

/* ---------------------------------------------------------------------------------------------------------- pages ---- */

static void print_algorithms(FILE *out, const hw_command *command)
{
    fputs("\nAlgorithms:\n", out);
    for (size_t i = 0; hawser_algorithm_at(i) != NULL; i++) {
        size_t column = (size_t)fprintf(out, "  %-12s ", hawser_algorithm_at(i)->name);
        hw_help_wrapped(out, hawser_algorithm_at(i)->summary, column, column);
        fputc('\n', out);
    }
    fprintf(out, "Their options: hawser %s ALGORITHM --help\n", command->name);
}

static void print_head(FILE *out, const hw_command *command, const hawser_algorithm *algorithm)
{
    if (algorithm != NULL) {
        fprintf(out, "usage: hawser %s %s DATA... [options]\n\n", command->name, algorithm->name);
        hw_help_wrapped(out, algorithm->summary, 0, 0);
        fputs("\n\n", out);
    } else
        fprintf(out, "usage: hawser %s %s%s[options]\n\n", command->name, command->words,
                command->words[0] != '\0' ? " " : "");
    hw_help_wrapped(out, command->text, 0, 0);
    fputc('\n', out);
    if (command->algorithm && algorithm == NULL)
        print_algorithms(out, command);
}

hawser_status hw_help_command(FILE *out, const hw_command *command, const hawser_algorithm *algorithm, bool all,
                              hawser_error *error)
{
    (void)error;
    const hawser_option *tables[HW_TABLES];
    hw_command_tables(command, algorithm, tables);
    print_head(out, command, algorithm);
    if (!all) {
        print_usual(out, command, algorithm, tables);
        fprintf(out, "\nAll options and their limits: hawser %s%s%s --help-all\n", command->name,
                algorithm != NULL ? " " : "", algorithm != NULL ? algorithm->name : "");
        return HAWSER_OK;
    }
    print_groups(out, tables, algorithm);
    if (algorithm != NULL && command->run == hw_train)
        print_metrics(out, algorithm->metrics);
    return HAWSER_OK;
}
