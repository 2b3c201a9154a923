/* commands.c - the list of subcommands, and which option rows each of them takes. */
#include <string.h>

#include "cli/help.h"

static const hawser_option common_rows[] = {
    {"config", HAWSER_PATH, NULL, NULL, "FILE", "read options from a file of lines key = value", HW_EVERY_COMMAND, 'c'},
    {"help", HAWSER_FLAG, "no", NULL, NULL, "print the usual options of this command", HW_EVERY_COMMAND, 'h'},
    {"help-all", HAWSER_FLAG, "no", NULL, NULL, "print all options of this command, by group", HW_EVERY_COMMAND, 0},
    {0},
};

static const hw_command commands[] = {
    {.name = "train",
     .words = "ALGORITHM DATA...",
     .summary = "Train a model",
     .text = "Loads DATA (files, globs, or - for standard input), trains with ALGORITHM and saves\n"
             "the model to -o. Ctrl-C ends the training and saves the model that was reached; a\n"
             "second Ctrl-C ends at once.",
     .job = true,
     .data = true,
     .algorithm = true,
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_train_rows,
     .run = hw_train},
    {.name = "predict",
     .words = "MODEL DATA...",
     .summary = "Predict with a model, one number per line",
     .text = "Reads DATA with the model's index base and columns; columns that the model does not\n"
             "have are ignored, and a line says how many. No target is needed, and none is read.\n"
             "svmlight, CSV, .npy in row order and the cache file are read in pieces: memory does\n"
             "not grow with them, and each row is answered before the command waits for more:\n"
             "'... | hawser predict MODEL - | ...' is a filter. A bad row ends it with exit code 3;\n"
             "a pipe has the rows before it by then, and -o leaves no file.",
     .data = true,
     .least = 2,
     .most = SIZE_MAX,
     .member = true,
     .rows = hw_predict_rows,
     .run = hw_predict},
    {.name = "evaluate",
     .words = "MODEL DATA...",
     .summary = "Measure a model on data with a target",
     .text = "Compares the model's predictions with the target of DATA, with its --weights. For numbers:\n"
             "R2, RMSE, MAE, and quantiles of the errors. For classes: AUC, accuracy, log loss,\n"
             "precision, recall, F1, Brier score, the confusion matrix and a table of calibration.\n"
             "'hawser help measures' defines each of them.",
     .data = true,
     .least = 2,
     .most = SIZE_MAX,
     .member = true,
     .rows = hw_evaluate_rows,
     .run = hw_evaluate},
    {.name = "info",
     .words = "MODEL|FOLDER",
     .summary = "Print the facts and weights in a model file",
     .text = "Prints the facts of a model file; with --coefficients, its weights by name, largest\n"
             "first, of each topic its share and words; with --path, the members of its path with their\n"
             "errors; with --json, the facts as one object. Of a folder, prints the facts of the newest\n"
             "checkpoint in it, whether that is of the end of its run, and the ends of runs before.",
     .least = 1,
     .most = 1,
     .member = true,
     .rows = hw_info_rows,
     .run = hw_info},
    {.name = "plot",
     .words = "MODEL|TRACE -o FILE",
     .summary = "Draw the path of a model, or a trace",
     .text = "Draws a model that was trained with --path or --cv, as train --plot does: the error\n"
             "of each member of the path, with bars of one standard error and lines at both choices,\n"
             "and the coefficients, with the names of the largest. Of a file of --trace it draws each\n"
             "metric over time, so a program can be looked at while it runs.",
     .least = 1,
     .most = 1,
     .rows = hw_plot_model_rows,
     .run = hw_plot_model},
    {.name = "plan",
     .words = "ALGORITHM DATA...",
     .summary = "Print the plan that train would run",
     .text = "Prints the logical plan (units with states, life times and sync) and the physical plan\n"
             "(blocks, placement, memory and the numbers that decided). Over nodes ('hawser run -n 4\n"
             "-- plan ...') it adds the blocks of each node and the most bytes that a clock sends.\n"
             "--json prints both plans for programs.",
     .job = true,
     .data = true,
     .algorithm = true,
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_plan_rows,
     .run = hw_plan},
    {.name = "check",
     .words = "FILE...",
     .summary = "Verify the recorded history of a job",
     .text = "Reads the history that --record-history FILE wrote. The files of several nodes, FILE,\n"
             "FILE.1, ..., are in one directory or are all named. Verifies every rule of the chosen\n"
             "consistency and prints how often each was verified. If a rule is violated, prints it\n"
             "with the shortest sequence of records found that violates it, and ends with exit code\n"
             "9. If the job failed or lost a node, verifies the records that exist, says so, and ends\n"
             "with exit code 10. A history that is incomplete without a reason is refused.",
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_check_history_rows,
     .run = hw_check_history},
    {.name = "run",
     .words = "-n N -- WORDS...",
     .summary = "Run a training, or a program of your own, as N processes",
     .text = "WORDS is 'train ...' or a program that opens a job (./mine). Each process is a node of\n"
             "one job, on this host or, by ssh, on --hosts. The name of its node stands before each\n"
             "line. Standard output of node 0 is unchanged, so --json and pipes work. Node 0 gets\n"
             "standard input, unless it is a terminal. All nodes get signals; Ctrl-Z stops all. The\n"
             "first node that fails is named, and its exit code is that of hawser run. --restarts\n"
             "starts the command again when a node or host was lost or killed ('hawser help cluster').",
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_run_rows,
     .run = hw_run},
    {.name = "agent",
     .words = "",
     .summary = "Start nodes on a host, for hawser run",
     .text = "hawser run starts an agent on each host. The agent starts, watches and ends its nodes.",
     .rows = hw_agent_rows,
     .run = hw_agent},
    {.name = "node",
     .words = "--join HOST:PORT --key-file FILE",
     .summary = "Join a job as a node; its manager listens at HOST:PORT",
     .text = "For nodes that are started by hand or by a supervisor: the manager is started by\n"
             "'hawser train ... --listen N --port-range PORT --key-file FILE' and sends the job to its\n"
             "nodes. A node waits up to --join-timeout for the manager, takes part in one job and\n"
             "ends with it.",
     .job = true,
     .run = hw_node},
    {.name = "key",
     .words = "FILE",
     .summary = "Make a job key, for nodes that are started by hand, by Slurm or by a supervisor",
     .text = "Writes 32 random bytes as hexadecimal digits to FILE, which must not exist yet, with\n"
             "mode 0600. A process with the key can join the job and read its data.",
     .least = 1,
     .most = 1,
     .run = hw_key},
    {.name = "serve",
     .words = "--key-file FILE",
     .summary = "Keep tables of a store for several programs",
     .text = "Stand-alone servers: this process, or the processes of 'hawser run -n N -- serve', keep\n"
             "the tables until Ctrl-C, SIGTERM or the loss of their terminal. Without a terminal,\n"
             "SIGHUP is logged and ignored. The first line of standard output is HOST:PORT of the\n"
             "first server. Programs attach with hawser_store_open (`at`), people use 'hawser store\n"
             "get|put|stat|make|save|load'. Several groups of workers may share the tables, at the\n"
             "same time or one after the other; see 'hawser help shared-store'.",
     .rows = hw_serve_rows,
     .run = hw_serve},
    {.name = "store get",
     .words = "TABLE [KEY|FIRST..LAST...]",
     .summary = "Print rows of a table on servers",
     .text = "Prints one line per key: the key and its numbers, as 'store put TABLE -' reads them; with\n"
             "--json one object per line. Without keys it prints all rows. A key of a sparse table\n"
             "that was never written reads as zero.",
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_store_get_rows,
     .run = hw_store_get},
    {.name = "store put",
     .words = "TABLE KEY=NUMBER[,NUMBER...]...",
     .summary = "Set rows of a table on servers",
     .text = "Stores the numbers themselves, without the table's function, and resets the memory of the\n"
             "function for these keys. 'store put TABLE -' reads lines KEY NUMBER ... from standard\n"
             "input.",
     .least = 2,
     .most = SIZE_MAX,
     .rows = hw_store_put_rows,
     .run = hw_store_put},
    {.name = "store stat",
     .words = "",
     .summary = "Print counters of the servers of a store",
     .text = "Prints keys, bytes and requests of each server, the tables, and the number of groups.",
     .rows = hw_store_get_rows,
     .run = hw_store_stat},
    {.name = "store make",
     .words = "TABLE",
     .summary = "Create a table on servers",
     .text = "Programs create their own tables; use this to experiment, and for tables that 'store put'\n"
             "fills. A table that exists with the same definition is unchanged.",
     .least = 1,
     .most = 1,
     .rows = hw_store_make_rows,
     .run = hw_store_make},
    {.name = "store save",
     .words = "NAME",
     .summary = "Save the tables of servers to a file",
     .text = "Writes all tables to NAME, a safetensors file in the directory of the first server\n"
             "(serve --dir), whole or not at all. Requests wait meanwhile.",
     .least = 1,
     .most = 1,
     .rows = hw_store_put_rows,
     .run = hw_store_save_command},
    {.name = "store load",
     .words = "NAME",
     .summary = "Load the tables of servers from a file",
     .text = "Replaces the contents of the tables with those of a file of 'store save'; the number of\n"
             "servers may differ from that at the save. Missing tables are created. A damaged file\n"
             "changes nothing. A file whose rows exceed a server's memory limit only creates tables.",
     .least = 1,
     .most = 1,
     .rows = hw_store_put_rows,
     .run = hw_store_load_command},
    {.name = "data info",
     .words = "DATA...",
     .summary = "Print what an input contains",
     .text = "Loads DATA and prints format, rows, columns, stored entries, target and memory.",
     .data = true,
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_data_info_rows,
     .run = hw_data_info},
    {.name = "data convert",
     .words = "DATA... -o FILE",
     .summary = "Write an input in another format",
     .text = "The extension of FILE sets the format: .hwc is Hawser's cache, which a later load maps\n"
             "instead of parsing; .svm, .csv, .mtx and .npy are for other software. A cache has its columns\n"
             "side by side, as training needs them, or by --by-row its rows: then a load by row maps\n"
             "them, and data may be larger than --memory-limit.",
     .data = true,
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_data_convert_rows,
     .run = hw_data_convert},
    {.name = "data split",
     .words = "DATA... -o PREFIX",
     .summary = "Split an input by rows",
     .text = "--parts N writes N ranges of rows, in order, with similar numbers of stored entries:\n"
             "PREFIX.1.svm, PREFIX.2.svm, ... --fraction F writes this fraction of the rows, drawn at\n"
             "random, to PREFIX.test.svm and the others to PREFIX.train.svm. The lines of a CSV file are\n"
             "copied as they are, with its header, to PREFIX.test.csv and so on, unless an option on its\n"
             "columns or --to is given; then they are written as numbers.",
     .data = true,
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_data_split_rows,
     .run = hw_data_split},
    {.name = "data generate",
     .words = "KIND -o FILE",
     .summary = "Make a problem with a known sparse truth",
     .text = "KIND is dense (20 common factors, rows of length 1) or url (sparse, columns drawn by a\n"
             "power law, rows of length 1). The extension of FILE sets the format, as in convert.",
     .least = 1,
     .most = 1,
     .rows = hw_data_generate_rows,
     .run = hw_data_generate},
    {.name = "help",
     .words = "[TOPIC...]",
     .summary = "Explain a command, an algorithm, an option or a topic",
     .text = "Without a topic: the commands and all topics.",
     .most = 2,
     .run = hw_help},
    {.name = "version",
     .words = "",
     .summary = "Print the version",
     .text = "Version and kernels in use.",
     .run = hw_version},
    {.name = "man",
     .words = "",
     .summary = "Print the manual page, for man -l -",
     .text = "Writes roff made from the same rows as the help: hawser man | man -l -",
     .run = hw_man},
    {.name = "completion",
     .words = "bash|zsh|fish",
     .summary = "Print a completion script for a shell",
     .text = "For bash: source <(hawser completion bash). For zsh: the same. For fish:\n"
             "hawser completion fish | source",
     .least = 1,
     .most = 1,
     .run = hw_completion},
};

const hw_command *hw_command_at(size_t index)
{
    return index < sizeof commands / sizeof *commands ? &commands[index] : NULL;
}

const hw_command *hw_command_find(char *const *words, size_t count, size_t *used)
{
    for (size_t i = 0; hw_command_at(i) != NULL; i++) {
        const char *name = commands[i].name, *blank = strchr(name, ' ');
        size_t length = blank != NULL ? (size_t)(blank - name) : strlen(name);
        if (count < 1 || strlen(words[0]) != length || strncmp(words[0], name, length) != 0)
            continue;
        *used = blank != NULL ? 2 : 1;
        if (blank == NULL || (count > 1 && strcmp(words[1], blank + 1) == 0))
            return &commands[i];
    }
    return NULL;
}

bool hw_command_is_family(const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; hw_command_at(i) != NULL; i++)
        if (strncmp(commands[i].name, word, length) == 0 && commands[i].name[length] == ' ')
            return true;
    return false;
}

bool hw_command_is_first(size_t index)
{
    size_t length = strcspn(commands[index].name, " ");
    for (size_t i = 0; i < index; i++)
        if (strcspn(commands[i].name, " ") == length && strncmp(commands[i].name, commands[index].name, length) == 0)
            return false;
    return true;
}

const hawser_option *hw_member_rows(void)
{
    static const hawser_option none[] = {{0}};
    for (size_t a = 0; hawser_algorithm_at(a) != NULL; a++)
        if (hawser_algorithm_at(a)->member_rows != NULL)
            return hawser_algorithm_at(a)->member_rows;
    return none;
}

void hw_command_tables(const hw_command *command, const hawser_algorithm *algorithm, const hawser_option *tables[HW_TABLES])
{
    size_t n = 0;
    if (algorithm != NULL && command->algorithm)
        tables[n++] = algorithm->rows;
    if (command->rows != NULL)
        tables[n++] = command->rows();
    if (command->member)
        tables[n++] = hw_member_rows();
    if (command->job)
        tables[n++] = hawser_job_rows();
    if (command->data)
        tables[n++] = hawser_data_rows();
    tables[n++] = common_rows;
    tables[n] = NULL;
}
