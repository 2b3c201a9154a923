/* completion.c - makes completion scripts for shells from the rows: every option of every command, and the words of options
 * that have a list of them. */
#include <string.h>

#include "base/option_value.h"
#include "cli/help.h"

typedef void row_printer(FILE *out, const char *command, const hawser_option *row);

/* Returns whether an algorithm before the given one has the option too: each option is offered once. */
static bool had_before(size_t algorithm, const char *key)
{
    for (size_t a = 0; a < algorithm; a++)
        for (const hawser_option *row = hawser_algorithm_at(a)->rows; row->key != NULL; row++)
            if (strcmp(row->key, key) == 0)
                return true;
    return false;
}

static void each_row(FILE *out, const hw_command *command, row_printer *print)
{
    for (size_t a = 0; a == 0 || (command->algorithm && hawser_algorithm_at(a) != NULL); a++) {
        const hawser_option *tables[HW_TABLES];
        hw_command_tables(command, hawser_algorithm_at(a), tables);
        for (size_t t = 0; tables[t] != NULL && !(a > 0 && t > 0); t++)
            for (const hawser_option *row = tables[t]; row->key != NULL; row++)
                if (t > 0 || !had_before(a, row->key))
                    print(out, command->name, row);
    }
}

/* Prints the words of "bsp|ssp:N|tap", separated by blanks, with 1 for N. */
static void print_choices(FILE *out, const char *bounds)
{
    for (const char *at = bounds; *at != '\0'; at++) {
        bool number = *at == 'N' && at > bounds && at[-1] == ':';
        fputc(*at == '|' ? ' ' : number ? '1' : *at, out);
    }
}

static void bash_flag(FILE *out, const char *command, const hawser_option *row)
{
    (void)command;
    fprintf(out, " --%s", row->key);
    if (row->kind == HAWSER_FLAG)
        fprintf(out, " --no-%s", row->key);
}

/* Prints the names of an algorithm's --init NAME=FILE, each with an equals sign: "coefficients= intercepts=". */
static void print_starts(FILE *out, const hawser_algorithm *algorithm)
{
    const char *before = "";
    for (const char *at = algorithm->starts; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        int length = (int)strcspn(at, " ");
        fprintf(out, "%s%.*s=", before, length, at);
        before = " ";
        at += length;
    }
}

/* Returns whether the option takes names of what an algorithm starts from: NAME=FILE. */
static bool is_start(const char *command, const hawser_option *row)
{
    size_t used;
    char *const words[] = {(char *)(uintptr_t)command};
    const hw_command *found = hw_command_find(words, 1, &used);
    return row->kind == HAWSER_PATH && hw_option_by_state(row) && found != NULL && found->algorithm;
}

/* Offers the names of the algorithm beside files. */
static void bash_starts(FILE *out, const char *command, const hawser_option *row)
{
    fprintf(out, "        '%s/--%s') local starts=; case \"${COMP_WORDS[2]}\" in", command, row->key);
    for (size_t a = 0; hawser_algorithm_at(a) != NULL; a++) {
        fprintf(out, " %s) starts='", hawser_algorithm_at(a)->name);
        print_starts(out, hawser_algorithm_at(a));
        fputs("' ;;", out);
    }
    fputs(" esac\n            COMPREPLY=($(compgen -W \"$starts\" -- \"$word\"))\n"
          "            [[ ${#COMPREPLY[@]} == 0 ]] || compopt -o nospace +o filenames 2>/dev/null\n"
          "            COMPREPLY+=($(compgen -f -- \"$word\")); return ;;\n",
          out);
}

static void bash_value(FILE *out, const char *command, const hawser_option *row)
{
    if (is_start(command, row)) {
        bash_starts(out, command, row);
    } else if (row->kind != HAWSER_WORD && row->kind != HAWSER_PATH && row->kind != HAWSER_FLAG) {
        fprintf(out, "        '%s/--%s') return ;;\n", command, row->key);
    } else if (row->kind == HAWSER_WORD) {
        fprintf(out, "        '%s/--%s') COMPREPLY=($(compgen -W '", command, row->key);
        print_choices(out, row->bounds);
        fputs("' -- \"$word\")); return ;;\n", out);
    }
}

static void print_algorithm_names(FILE *out)
{
    for (size_t i = 0; hawser_algorithm_at(i) != NULL; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", hawser_algorithm_at(i)->name);
}

/* Prints the first words of all commands, each once: "train predict ... data store". */
static void print_first_words(FILE *out)
{
    for (size_t i = 0; hw_command_at(i) != NULL; i++)
        if (hw_command_is_first(i))
            fprintf(out, "%s%.*s", i > 0 ? " " : "", (int)strcspn(hw_command_at(i)->name, " "), hw_command_at(i)->name);
}

/* Returns whether the command is the first of its family, which it then represents. */
static bool begins_family(size_t index)
{
    return strchr(hw_command_at(index)->name, ' ') != NULL && hw_command_is_first(index);
}

/* Prints the second words of the family that a command begins: "info convert ...". */
static void print_second_words(FILE *out, const hw_command *first, const char *between)
{
    size_t length = strcspn(first->name, " ") + 1;
    const char *before = "";
    for (size_t i = 0; hw_command_at(i) != NULL; i++)
        if (strncmp(hw_command_at(i)->name, first->name, length) == 0) {
            fprintf(out, "%s%s", before, hw_command_at(i)->name + length);
            before = between;
        }
}

/* Offers second words; behind them the command has two words. */
static void bash_families(FILE *out)
{
    fputs("    case \"$command\" in\n", out);
    for (size_t i = 0; hw_command_at(i) != NULL; i++)
        if (begins_family(i)) {
            fprintf(out, "    %.*s) if ((COMP_CWORD == 2)); then COMPREPLY=($(compgen -W '",
                    (int)strcspn(hw_command_at(i)->name, " "), hw_command_at(i)->name);
            print_second_words(out, hw_command_at(i), " ");
            fputs("' -- \"$word\")); return; fi\n        command=\"$command ${COMP_WORDS[2]}\" ;;\n", out);
        }
    fputs("    esac\n", out);
}

static void print_bash(FILE *out)
{
    fputs("_hawser()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)); then COMPREPLY=($(compgen -W '",
          out);
    print_first_words(out);
    fputs("' -- \"$word\")); return; fi\n", out);
    bash_families(out);
    fputs("    if [[ $COMP_CWORD == 2 && ( $command == train || $command == plan ) ]]; then COMPREPLY=($(compgen -W '", out);
    print_algorithm_names(out);
    fputs("' -- \"$word\")); return; fi\n    case \"$command/$last\" in\n", out);
    for (size_t i = 0; hw_command_at(i) != NULL; i++)
        each_row(out, hw_command_at(i), bash_value);
    fputs("    esac\n    if [[ $word == -* ]]; then\n        case \"$command\" in\n", out);
    for (size_t i = 0; hw_command_at(i) != NULL; i++) {
        fprintf(out, "        '%s') COMPREPLY=($(compgen -W '", hw_command_at(i)->name);
        each_row(out, hw_command_at(i), bash_flag);
        fputs("' -- \"$word\")) ;;\n", out);
    }
    fputs("        esac\n        return\n    fi\n    case \"$command\" in\n    help) COMPREPLY=($(compgen -W 'algorithms ",
          out);
    print_algorithm_names(out);
    for (size_t i = 0; hw_topic_at(i) != NULL; i++)
        fprintf(out, " %s", hw_topic_at(i)->name);
    fputc(' ', out);
    print_first_words(out);
    fputs("' -- \"$word\")); return ;;\n    completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$word\")); return ;;\n"
          "    'data generate') COMPREPLY=($(compgen -W 'dense url' -- \"$word\")); return ;;\n    esac\n"
          "    COMPREPLY=($(compgen -f -- \"$word\"))\n}\ncomplete -o filenames -F _hawser hawser\n",
          out);
}

/* In single quotes of fish a backslash and a quote are escaped. */
static void fish_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

/* Prints the condition that the words of the command are present, both if it has two. */
static void fish_condition(FILE *out, const char *command)
{
    size_t length = strcspn(command, " ");
    fprintf(out, "complete -c hawser -n '__fish_seen_subcommand_from %.*s", (int)length, command);
    if (command[length] == ' ')
        fprintf(out, "; and __fish_seen_subcommand_from %s", command + length + 1);
    fputc('\'', out);
}

static void fish_row(FILE *out, const char *command, const hawser_option *row)
{
    bool starts = is_start(command, row);
    fish_condition(out, command);
    fprintf(out, " -l %s", row->key);
    if (row->letter != '\0')
        fprintf(out, " -s %c", row->letter);
    fputs(row->kind == HAWSER_FLAG ? "" : row->kind == HAWSER_PATH ? " -r -F" : " -x", out);
    if (row->kind == HAWSER_WORD) {
        fputs(" -a '", out);
        print_choices(out, row->bounds);
        fputc('\'', out);
    }
    fputs(" -d ", out);
    fish_quoted(out, row->help);
    fputc('\n', out);
    for (size_t a = 0; starts && hawser_algorithm_at(a) != NULL; a++) {
        fprintf(out, "complete -c hawser -n '__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from %s' -l %s -a '",
                command, hawser_algorithm_at(a)->name, row->key);
        print_starts(out, hawser_algorithm_at(a));
        fputs("'\n", out);
    }
}

/* Offers the command's last word where it may be, and before the first command of a family the family's word. */
static void fish_words(FILE *out, size_t index)
{
    const hw_command *command = hw_command_at(index);
    int length = (int)strcspn(command->name, " ");
    if (begins_family(index)) {
        fprintf(out, "complete -c hawser -n '__fish_use_subcommand' -a '%.*s' -d '", length, command->name);
        print_second_words(out, command, ", ");
        fputs("'\n", out);
    }
    if (command->name[length] == '\0') {
        fprintf(out, "complete -c hawser -n '__fish_use_subcommand' -a '%s' -d ", command->name);
    } else {
        fprintf(out, "complete -c hawser -n '__fish_seen_subcommand_from %.*s; and not __fish_seen_subcommand_from ", length,
                command->name);
        print_second_words(out, command, " ");
        fprintf(out, "' -a '%s' -d ", command->name + length + 1);
    }
    fish_quoted(out, command->summary);
    fputc('\n', out);
}

static void print_fish(FILE *out)
{
    for (size_t i = 0; hw_command_at(i) != NULL; i++) {
        fish_words(out, i);
        each_row(out, hw_command_at(i), fish_row);
    }
    fputs("complete -c hawser -n '__fish_seen_subcommand_from train plan' -a '", out);
    print_algorithm_names(out);
    fputs("'\n", out);
}

hawser_status hw_completion(hw_call *call, hawser_error *error)
{
    const char *shell = call->words[0];
    if (strcmp(shell, "fish") == 0) {
        print_fish(call->out);
        return HAWSER_OK;
    }
    if (strcmp(shell, "bash") != 0 && strcmp(shell, "zsh") != 0)
        return hawser_fail(error, HAWSER_BAD_OPTION, "no completion for '%s'; there is one for bash, zsh and fish", shell);
    if (shell[0] == 'z')
        fputs("autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n", call->out);
    print_bash(call->out);
    return HAWSER_OK;
}
