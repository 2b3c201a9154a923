#include "cli/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/distance.h"
#include "report/option_text.h"

/* A test runs these lines. */
static const char first_day[] =
    "A first day, with a table that the first line makes (for your own, add --target NAME):\n"
    "  hawser data generate dense --rows 2000 --cols 30 -o day.csv\n"
    "  hawser data split day.csv --fraction 0.2 -o day            # day.train.csv, day.test.csv\n"
    "  hawser train lasso day.train.csv --cv 10 -o day.model      # train, choose the penalty\n"
    "  hawser info day.model --top 10                             # look\n"
    "  hawser evaluate day.model day.test.csv                     # measure on new rows\n"
    "  cat day.test.csv | hawser predict day.model - > day.txt    # score\n";

static void print_overview(FILE *out)
{
    fprintf(out,
            "Hawser %s: machine learning on many workers, with the consistency that you choose.\n\nusage: hawser COMMAND "
            "... (hawser COMMAND --help explains it)\n\n%s\nCommands:\n",
            hawser_version(), first_day);
    for (size_t i = 0; hw_command_at(i) != NULL; i++)
        fprintf(out, "  %-14s %s\n", hw_command_at(i)->name, hw_command_at(i)->summary);
    fprintf(out, "\n");
    size_t column = (size_t)fprintf(out, "Topics for hawser help:");
    char topics[1000];
    size_t n = (size_t)snprintf(topics, sizeof topics, "algorithms");
    for (size_t i = 0; hawser_algorithm_at(i) != NULL && n < sizeof topics; i++)
        n += (size_t)snprintf(topics + n, sizeof topics - n, ", %s", hawser_algorithm_at(i)->name);
    for (size_t i = 0; hw_topic_at(i) != NULL && n < sizeof topics; i++)
        n += (size_t)snprintf(topics + n, sizeof topics - n, ", %s", hw_topic_at(i)->name);
    if (n < sizeof topics)
        snprintf(topics + n, sizeof topics - n, ", any option");
    hw_help_wrapped(out, topics, column, 0);
    fputc('\n', out);
}

static void print_algorithms(FILE *out)
{
    for (size_t i = 0; hawser_algorithm_at(i) != NULL; i++) {
        const hawser_algorithm *algorithm = hawser_algorithm_at(i);
        fprintf(out, "%s: %s\n%s\n", algorithm->name, algorithm->summary, algorithm->citations);
    }
}

static bool seen_before(const hawser_option *table, const hw_command *command)
{
    for (size_t c = 0; hw_command_at(c) != command; c++) {
        const hawser_option *tables[HW_TABLES];
        hw_command_tables(hw_command_at(c), NULL, tables);
        for (size_t t = 0; tables[t] != NULL; t++)
            if (tables[t] == table)
                return true;
    }
    return false;
}

/* Prints every table once, under its title. Every option that can be parsed must be here. */
static void print_all_rows(FILE *out)
{
    for (size_t i = 0; hawser_algorithm_at(i) != NULL; i++) {
        char title[80];
        snprintf(title, sizeof title, "Options of %s", hawser_algorithm_at(i)->name);
        hw_help_rows(out, title, hawser_algorithm_at(i)->rows);
    }
    for (size_t c = 0; hw_command_at(c) != NULL; c++) {
        const hawser_option *tables[HW_TABLES];
        hw_command_tables(hw_command_at(c), NULL, tables);
        for (size_t t = 0; tables[t] != NULL; t++) {
            char title[80];
            bool last = tables[t + 1] == NULL;
            snprintf(title, sizeof title, last ? HW_EVERY_COMMAND : "Options of hawser %s", hw_command_at(c)->name);
            bool shared = tables[t] == hawser_job_rows() || tables[t] == hawser_data_rows() || tables[t] == hw_member_rows();
            if (!seen_before(tables[t], hw_command_at(c)))
                hw_help_rows(out, shared ? hw_help_title(tables[t], NULL) : title, tables[t]);
        }
    }
}

static bool is_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Returns whether two rows print the same. */
static bool is_same_row(const hawser_option *a, const hawser_option *b)
{
    return is_same_text(a->help, b->help) && is_same_text(a->value, b->value) && is_same_text(a->bounds, b->bounds) &&
           is_same_text(a->unit, b->unit);
}

/* Prints the names of commands whose rows are the same in one line, and the row once, when the next one differs (or is
 * NULL). */
static void print_owner(FILE *out, const hawser_option **last, const hawser_option *row, const char *command,
                        const char *algorithm)
{
    bool same = *last != NULL && row != NULL && is_same_row(*last, row);
    if (*last != NULL && !same) {
        fputs(":\n", out);
        hw_help_row(out, *last);
    }
    if (row != NULL)
        fprintf(out, "%s%s%s%s", same ? ", " : "hawser ", command, algorithm != NULL ? " " : "",
                algorithm != NULL ? algorithm : "");
    *last = row;
}

/* Prints every option with this key, given with or without dashes. Returns false if there is none. */
static bool print_option(FILE *out, const char *key)
{
    const hawser_option *last = NULL;
    key += strspn(key, "-");
    for (size_t c = 0; hw_command_at(c) != NULL; c++)
        for (size_t a = 0; a == 0 || (hw_command_at(c)->algorithm && hawser_algorithm_at(a) != NULL); a++) {
            const hawser_option *tables[HW_TABLES];
            hw_command_tables(hw_command_at(c), hawser_algorithm_at(a), tables);
            for (size_t t = 0; tables[t] != NULL; t++)
                for (const hawser_option *row = tables[t]; row->key != NULL; row++)
                    if (strcmp(row->key, key) == 0 && !(t > 0 && a > 0)) {
                        bool own = hw_command_at(c)->algorithm && tables[t] == hawser_algorithm_at(a)->rows;
                        print_owner(out, &last, row, hw_command_at(c)->name, own ? hawser_algorithm_at(a)->name : NULL);
                    }
        }
    if (last == NULL)
        return false;
    print_owner(out, &last, NULL, NULL, NULL);
    hw_help_words(out, key);
    return true;
}

/* Refuses a name that is no command, topic, algorithm or option, with the nearest one. */
static hawser_status unknown_topic(const char *topic, hawser_error *error)
{
    size_t dashes = strspn(topic, "-");
    hw_nearest near = hw_nearest_to(topic + dashes);
    bool option = false;
    for (size_t i = 0; dashes == 0 && hw_command_at(i) != NULL; i++)
        (void)hw_nearest_try(&near, hw_command_at(i)->name);
    for (size_t i = 0; dashes == 0 && hw_topic_at(i) != NULL; i++)
        (void)hw_nearest_try(&near, hw_topic_at(i)->name);
    for (size_t i = 0; dashes == 0 && hawser_algorithm_at(i) != NULL; i++)
        (void)hw_nearest_try(&near, hawser_algorithm_at(i)->name);
    for (size_t c = 0; hw_command_at(c) != NULL; c++)
        for (size_t a = 0; a == 0 || hawser_algorithm_at(a) != NULL; a++) {
            const hawser_option *tables[HW_TABLES];
            hw_command_tables(hw_command_at(c), hawser_algorithm_at(a), tables);
            for (size_t t = 0; tables[t] != NULL; t++)
                for (const hawser_option *row = tables[t]; row->key != NULL; row++)
                    option |= hw_nearest_try(&near, row->key);
        }
    if (near.best == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "there is no help on '%.80s'; 'hawser help' lists topics", topic);
    return hawser_fail(error, HAWSER_BAD_OPTION,
                       "there is no help on '%.80s'; did you mean '%s%s'? 'hawser help' lists topics", topic,
                       option ? "--" : "", near.best);
}

hawser_status hw_help_topic(FILE *out, const char *topic, hawser_error *error)
{
    if (topic[0] == '\0') {
        print_overview(out);
        return HAWSER_OK;
    }
    const hawser_algorithm *algorithm = hawser_algorithm_find(topic);
    bool found = false;
    size_t length = strlen(topic);
    for (size_t i = 0; hw_command_at(i) != NULL; i++) {
        const hw_command *command = hw_command_at(i);
        if (strcmp(command->name, topic) == 0 || (algorithm != NULL && command->run == hw_train))
            return hw_help_command(out, command, algorithm, false, error);
        if (strncmp(command->name, topic, length) == 0 && command->name[length] == ' ') {
            fprintf(out, "hawser %s%s%s\n      %s\n", command->name, command->words[0] != '\0' ? " " : "", command->words,
                    command->summary);
            found = true;
        }
    }
    for (size_t i = 0; hw_topic_at(i) != NULL; i++)
        if (strcmp(hw_topic_at(i)->name, topic) == 0) {
            char *text = NULL;
            HAWSER_TRY(hw_topic_text(hw_topic_at(i), &text, error));
            fprintf(out, "%s\n\n%s", hw_topic_at(i)->title, text);
            free(text);
            found = true;
        }
    if (strcmp(topic, "algorithms") == 0) {
        print_algorithms(out);
        found = true;
    }
    if (strcmp(topic, "options") == 0)
        print_all_rows(out);
    found |= print_option(out, topic);
    char hint[400];
    if (hw_peers_hint(topic, hint, sizeof hint)) {
        fprintf(out, "%s", found ? "\n" : "");
        hw_help_wrapped(out, hint, 0, 0);
        fputs("\n('hawser help coming-from' has all of these words)\n", out);
        found = true;
    }
    return found ? HAWSER_OK : unknown_topic(topic, error);
}

hawser_status hw_help(hw_call *call, hawser_error *error)
{
    char topic[100];
    if (call->count == 0)
        return hw_help_topic(call->out, "", error);
    const hawser_algorithm *algorithm = call->count == 2 ? hawser_algorithm_find(call->words[1]) : NULL;
    size_t used;
    const hw_command *command = hw_command_find(call->words, call->count, &used);
    if (algorithm != NULL && command != NULL && command->algorithm)
        return hw_help_command(call->out, command, algorithm, false, error);
    if (call->count == 1)
        return hw_help_topic(call->out, call->words[0], error);
    snprintf(topic, sizeof topic, "%.45s %.45s", call->words[0], call->words[1]);
    return hw_help_topic(call->out, topic, error);
}

hawser_status hw_version(hw_call *call, hawser_error *error)
{
    (void)error;
    fprintf(call->out, "hawser %s (kernels: %s)\n", hawser_version(), hawser_kernels_name());
    return HAWSER_OK;
}
