/* call.c - makes a call from argv: the command, the algorithm, options from every source, and the exit code. */
#include <string.h>
#include <unistd.h>

#include "base/distance.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "report/json.h"
#include "report/option_text.h"

static hawser_status unknown_command(char *const *words, size_t count, hawser_error *error)
{
    char typed[64];
    bool two = count > 1 && words[1][0] != '-' && hw_command_is_family(words[0]);
    snprintf(typed, sizeof typed, "%.30s%s%.30s", words[0], two ? " " : "", two ? words[1] : "");
    char hint[400];
    if (hw_peers_hint(typed, hint, sizeof hint))
        return hawser_fail(error, HAWSER_BAD_OPTION, "there is no command '%s'; %s ('hawser help coming-from')", typed,
                           hint);
    hw_nearest near = hw_nearest_to(typed);
    for (size_t i = 0; hw_command_at(i) != NULL; i++)
        (void)hw_nearest_try(&near, hw_command_at(i)->name);
    if (near.best == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "there is no command '%s'; 'hawser help' lists all", typed);
    return hawser_fail(error, HAWSER_BAD_OPTION,
                       "there is no command '%s'; did you mean 'hawser %s'? 'hawser help' lists all", typed, near.best);
}

static hawser_status find_algorithm(hw_call *call, int argc, char **argv, hawser_error *error)
{
    if (argc < 2 || argv[1][0] == '-')
        return hawser_fail(error, HAWSER_BAD_OPTION, "which algorithm? hawser %s %s; 'hawser help algorithms' lists them",
                           call->command->name, call->command->words);
    call->algorithm = hawser_algorithm_find(argv[1]);
    if (call->algorithm != NULL)
        return HAWSER_OK;
    char hint[400];
    if (hw_peers_hint(argv[1], hint, sizeof hint))
        return hawser_fail(error, HAWSER_BAD_OPTION, "there is no algorithm '%.60s'; %s ('hawser help coming-from')",
                           argv[1], hint);
    hw_nearest near = hw_nearest_to(argv[1]);
    for (size_t i = 0; hawser_algorithm_at(i) != NULL; i++)
        (void)hw_nearest_try(&near, hawser_algorithm_at(i)->name);
    if (near.best == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "there is no algorithm '%s'; write hawser %s %s; 'hawser help algorithms' lists them", argv[1],
                           call->command->name, call->command->words);
    return hawser_fail(error, HAWSER_BAD_OPTION, "there is no algorithm '%s'; did you mean '%s'? Write hawser %s %s",
                       argv[1], near.best, call->command->name, call->command->words);
}

/* Returns whether some command has a row for the variable. If none has, *nearest is the nearest row, or NULL. */
static bool known_anywhere(const char *variable, const char **nearest)
{
    char typed[64];
    hw_help_key_of(variable, typed, sizeof typed);
    hw_nearest near = hw_nearest_to(typed);
    bool known = false;
    for (size_t c = 0; hw_command_at(c) != NULL; c++)
        for (size_t a = 0; a == 0 || hawser_algorithm_at(a) != NULL; a++) {
            const hawser_option *tables[HW_TABLES];
            hw_command_tables(hw_command_at(c), hawser_algorithm_at(a), tables);
            for (size_t t = 0; tables[t] != NULL; t++)
                for (const hawser_option *row = tables[t]; row->key != NULL; row++) {
                    known |= hw_help_variable_is(row->key, variable);
                    (void)hw_nearest_try(&near, row->key);
                }
        }
    *nearest = near.best;
    return known;
}

static bool known_here(const hawser_options *options, const char *variable)
{
    for (size_t i = 0; hawser_options_row(options, i) != NULL; i++)
        if (hw_help_variable_is(hawser_options_row(options, i)->key, variable))
            return true;
    return false;
}

/* A variable of another command is skipped: HAWSER_TOL in a shell's profile must not break `hawser info`. A variable of no
 * command is refused as a flag would be, with the nearest row of all commands. */
static hawser_status read_environment(hawser_options *options, char *const *environment, hawser_error *error)
{
    for (; *environment != NULL; environment++) {
        char *const one[] = {*environment, NULL};
        const char *nearest;
        if (strncmp(*environment, "HAWSER_", 7) != 0)
            continue;
        bool known = known_anywhere(*environment, &nearest);
        if (known && !known_here(options, *environment))
            continue;
        hawser_status status = hawser_options_environment(options, one, error);
        if (status == HAWSER_BAD_OPTION && !known && nearest != NULL) {
            char variable[64];
            hw_help_variable_of(nearest, variable, sizeof variable);
            return hawser_fail(error, status, "unknown environment variable %.*s; did you mean %s?",
                               (int)strcspn(*environment, "="), *environment, variable);
        }
        HAWSER_TRY(status);
    }
    return HAWSER_OK;
}

static hawser_status check_words(const hw_call *call, hawser_error *error)
{
    const hw_command *command = call->command;
    if (call->count < command->least)
        return hawser_fail(error, HAWSER_BAD_OPTION, "missing argument; usage: hawser %s %s (see 'hawser help %s')",
                           command->name, command->words, command->name);
    if (call->count > command->most)
        return hawser_fail(error, HAWSER_BAD_OPTION, "unexpected argument '%s'; usage: hawser %s %s",
                           call->words[command->most], command->name, command->words);
    return HAWSER_OK;
}

static bool trains_with(const char *typed)
{
    for (const hawser_option *row = hw_train_rows(); row->key != NULL; row++)
        if (strcmp(row->key, typed) == 0)
            return true;
    return false;
}

/* Lists the algorithms whose rows have the option, for a command that takes algorithms; returns whether any has. */
static bool who_has(const hw_call *call, const char *key, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (size_t a = 0; call->algorithm != NULL && hawser_algorithm_at(a) != NULL; a++)
        for (const hawser_option *row = hawser_algorithm_at(a)->rows; row->key != NULL && n < size; row++)
            if (strcmp(row->key, key) == 0)
                n += (size_t)snprintf(text + n, size - n, "%s%s", n > 0 ? ", " : "", hawser_algorithm_at(a)->name);
    return n > 0;
}

/* Reads the arguments. An unknown option that other algorithms have gets their names, and one that other software has gets
 * what Hawser has for it, instead of a similar word. */
static hawser_status read_arguments(hw_call *call, int *argc, char **argv, hawser_error *error)
{
    hawser_status status = hawser_options_arguments(call->options, argc, argv, error);
    char typed[64], hint[400];
    if (status != HAWSER_BAD_OPTION || sscanf(error->text, "unknown option --%63[^;]", typed) != 1)
        return status;
    const char *key = strncmp(typed, "no-", 3) == 0 ? typed + 3 : typed;
    if (who_has(call, key, hint, sizeof hint)) {
        char peers[400] = "";
        bool told = hw_peers_hint(typed, peers, sizeof peers);
        return hawser_fail(error, status, "unknown option --%s: %s has none; of the algorithms, these have it: %s%s%s",
                           typed, call->algorithm->name, hint, told ? "; " : "", told ? peers : "");
    }
    if (call->command->rows == hw_plan_rows && trains_with(key))
        return hawser_fail(error, status,
                           "unknown option --%s; 'hawser train' has it, but a plan trains nothing: leave it out", typed);
    if (!hw_peers_hint(typed, hint, sizeof hint))
        return status;
    return hawser_fail(error, status, "unknown option --%s; %s ('hawser help coming-from')", typed, hint);
}

/* argv[0] is the last word of the command, or the algorithm. */
static hawser_status parse_and_run(hw_call *call, int argc, char **argv, hawser_error *error)
{
    const hawser_option *tables[HW_TABLES];
    hw_command_tables(call->command, call->algorithm, tables);
    HAWSER_TRY(hawser_options_new(tables, &call->options, error));
    HAWSER_TRY(read_arguments(call, &argc, argv, error));
    HAWSER_TRY(read_environment(call->options, call->environment, error));
    if (hawser_options_has(call->options, "config"))
        HAWSER_TRY(hawser_options_file(call->options, hawser_options_text(call->options, "config"), error));
    call->words = argv + 1;
    call->count = (size_t)argc - 1;
    HAWSER_TRY(check_words(call, error));
    return call->command->run(call, error);
}

/* The help that a call asks for. */
typedef enum wanted { NOTHING, USUAL, ALL } wanted;

static wanted wanted_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return USUAL;
        if (strcmp(argv[i], "--help-all") == 0)
            return ALL;
    }
    return NOTHING;
}

static hawser_status run(hw_call *call, int argc, char **argv, hawser_error *error)
{
    size_t used = 0;
    wanted help = wanted_help(argc, argv);
    if (argv[1][0] == '-' && help != NOTHING && wanted_help(2, argv) == help)
        return hw_help_topic(call->out, help == ALL ? "options" : "", error);
    if (strcmp(argv[1], "--version") == 0)
        return hw_version(call, error);
    call->command = hw_command_find(argv + 1, (size_t)argc - 1, &used);
    if (call->command == NULL && hw_command_is_family(argv[1]) && help != NOTHING)
        return hw_help_topic(call->out, argv[1], error);
    if (call->command == NULL)
        return unknown_command(argv + 1, (size_t)argc - 1, error);
    argc -= (int)used;
    argv += used;
    if (call->command->algorithm && help != NOTHING && (argc < 2 || argv[1][0] == '-'))
        return hw_help_command(call->out, call->command, NULL, help == ALL, error);
    if (call->command->algorithm) {
        HAWSER_TRY(find_algorithm(call, argc, argv, error));
        argc--;
        argv++;
    }
    if (help != NOTHING)
        return hw_help_command(call->out, call->command, call->algorithm, help == ALL, error);
    return parse_and_run(call, argc, argv, error);
}

int hw_cli_main(int argc, char **argv, char *const *environment, FILE *out, FILE *err)
{
    hw_call call = {.environment = environment, .out = out, .err = err};
    return hw_cli_call(&call, argc, argv);
}

/* If the terminal is lost, the summary cannot be printed. This is no failure of the command, and the exit code says what
 * happened. */
static bool ended_with_terminal(const hw_call *call)
{
    return (call->interrupted || call->code == HW_EXIT_SIGNAL) && hw_terminal_is_lost(call->out);
}

int hw_cli_call(hw_call *call, int argc, char **argv)
{
    hawser_error error = {0};
    hawser_status status;
    if (argc < 2) {
        status = hw_help_topic(call->err, "", &error);
        return status == HAWSER_OK ? HW_EXIT_USAGE : hw_exit_code(status);
    }
    status = run(call, argc, argv, &error);
    hawser_options_free(call->options);
    if ((fflush(call->out) != 0 || ferror(call->out)) && status == HAWSER_OK && !ended_with_terminal(call))
        status = hawser_fail(&error, HAWSER_IO, "cannot write to standard output: disk full or pipe closed");
    bool early = status == HAWSER_STOP && error.text[0] != '\0'; /* the run ended before there was a result, on all nodes */
    if (status < HAWSER_OK || (early && !hw_interrupt_is_silent(call->interrupt)))
        fprintf(call->err, "hawser: %s\n", error.text);
    if (call->code != 0 && status == HAWSER_OK)
        return call->code;
    return call->interrupted && status == HAWSER_OK ? HW_EXIT_SIGNAL : hw_exit_code(status);
}
