/* cli.h - the command: one row and one file per subcommand; options, help and completion come from the rows. */
#ifndef HW_CLI_CLI_H
#define HW_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "hawser/algorithm.h"
#include "report/exit_code.h"

/* Prints a text without its control characters (hawser_escape). */
void hw_print_word(FILE *out, const char *text);
/* Prints one line so, after "hawser: ". */
void hw_say(FILE *err, const char *format, ...) HAWSER_PRINTF(2, 3);

typedef struct hw_call hw_call;

/* A subcommand. `name` may be two words. */
typedef struct hw_command {
    const char *name;
    const char *words;                  /* positional words in the usage line */
    const char *summary;                /* one line */
    const char *text;                   /* paragraph of the help; its lines are at most 80 columns */
    bool job, data, algorithm;          /* tables that it also has; algorithm: the first word names one */
    bool member;                        /* it uses a model, and has the option that names a member of its path */
    size_t least, most;                 /* number of positional words */
    const hawser_option *(*rows)(void); /* its own; NULL: none */
    hawser_status (*run)(hw_call *call, hawser_error *error);
} hw_command;

/* One call of the command. `words` are the positional ones, without command and algorithm. */
struct hw_call {
    const hw_command *command;
    const hawser_algorithm *algorithm; /* NULL unless the command takes one */
    hawser_options *options;
    char *const *words;
    size_t count;
    char *const *environment;
    FILE *out, *err;
    bool interrupted; /* set by a run that a signal ended */
    /* hawser node: the job's nodes, which it has joined before it had the job's arguments; NULL inside: the job has taken
     * them. */
    struct hw_cluster **joined;
    int code;                       /* set by a command that returns the exit code of another; used if nothing failed */
    struct hw_interrupt *interrupt; /* the thread that takes this process's signals; NULL: none */
};

enum { HW_TABLES = 6 };

const hw_command *hw_command_at(size_t index); /* NULL past the last */
/* Finds the command whose name the words begin with, the longest first; *used is the number of words of the name. */
const hw_command *hw_command_find(char *const *words, size_t count, size_t *used);
/* Returns whether commands of two words begin with this word: "data". */
bool hw_command_is_family(const char *word);
/* Returns whether no earlier command has the same first word. */
bool hw_command_is_first(size_t index);
/* Returns the option that names a member of a model's path, which all algorithms with paths share; no row if there is
 * none. */
const hawser_option *hw_member_rows(void);
/* Collects the option tables of a command, ended by NULL. With algorithm NULL they lack those of the algorithm. */
void hw_command_tables(const hw_command *command, const hawser_algorithm *algorithm, const hawser_option *tables[HW_TABLES]);

const hawser_option *hw_train_rows(void);
const hawser_option *hw_predict_rows(void);
const hawser_option *hw_evaluate_rows(void);
const hawser_option *hw_info_rows(void);
const hawser_option *hw_plan_rows(void);
const hawser_option *hw_plot_model_rows(void);
const hawser_option *hw_check_history_rows(void);
const hawser_option *hw_run_rows(void);
const hawser_option *hw_agent_rows(void);
const hawser_option *hw_serve_rows(void);
const hawser_option *hw_store_put_rows(void); /* put, save, load */
const hawser_option *hw_store_get_rows(void); /* and stat */
const hawser_option *hw_store_make_rows(void);
const hawser_option *hw_data_info_rows(void);
const hawser_option *hw_data_convert_rows(void);
const hawser_option *hw_data_split_rows(void);
const hawser_option *hw_data_generate_rows(void);

hawser_status hw_train(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_predict(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_evaluate(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_info(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_plot_model(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_plan(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_check_history(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_run(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_agent(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_serve(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_store_get(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_store_put(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_store_stat(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_store_make(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_store_save_command(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_store_load_command(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_node(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
/* Opens the call's job; nodes that were started by hand receive the job's arguments. Before any file is opened, every node
 * checks what it will write itself, and node 0 calls `first`. A failure on one node ends all, with its text. */
hawser_status hw_open_job(hw_call *call, hawser_status (*first)(void *argument, hawser_error *error), void *argument,
                          hawser_job **job, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_key(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_data_info(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_data_convert(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_data_split(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_data_generate(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_help(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_man(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_completion(hw_call *call, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_version(hw_call *call, hawser_error *error) HAWSER_MUST_USE;

/* Parses and runs; returns the exit code. The call has its environment, out and err, and may have joined and interrupt. */
int hw_cli_call(hw_call *call, int argc, char **argv);
int hw_cli_main(int argc, char **argv, char *const *environment, FILE *out, FILE *err);

#endif
