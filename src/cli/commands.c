/* commands.c - the list of subcommands, and which option rows each of them takes. */
#include <string.h>

#include "cli/cli.h"

static const hawser_option common_rows[] = {
    {"config", HAWSER_PATH, NULL, NULL, "FILE", "read options from a file of lines key = value", "0.1", 'c'},
    {"help", HAWSER_FLAG, "no", NULL, NULL, "print the help of this command", "0.1", 'h'},
    {0},
};

static const hw_command commands[] = {
    {.name = "train",
     .words = "ALGORITHM DATA...",
     .summary = "Train a model",
     .text = "Loads DATA (files, globs, or - for standard input), trains with ALGORITHM and saves\n"
             "the model under -o. Ctrl-C ends the training at an agreed clock and saves what was\n"
             "reached; a second Ctrl-C ends at once.",
     .job = true,
     .data = true,
     .algorithm = true,
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_train_rows,
     .run = hw_train},
    {.name = "predict",
     .words = "MODEL DATA...",
     .summary = "Predict with a model, one number a line",
     .text = "Reads DATA with the model's index base and columns; columns that the model has not\n"
             "seen are counted, said and left out.",
     .data = true,
     .least = 2,
     .most = SIZE_MAX,
     .rows = hw_predict_rows,
     .run = hw_predict},
    {.name = "evaluate",
     .words = "MODEL DATA...",
     .summary = "Measure a model on data with a target",
     .text = "Prints the metrics of the model's predictions against the target of DATA.",
     .data = true,
     .least = 2,
     .most = SIZE_MAX,
     .rows = hw_evaluate_rows,
     .run = hw_evaluate},
    {.name = "info",
     .words = "MODEL",
     .summary = "Print what a model file says about itself",
     .text = "Prints the facts of a model file and, with --coefficients, its weights by name,\n"
             "largest first.",
     .least = 1,
     .most = 1,
     .rows = hw_info_rows,
     .run = hw_info},
    {.name = "plan",
     .words = "ALGORITHM DATA...",
     .summary = "Print the plan that train would run",
     .text = "The logical plan is the tree of units with states, life times and sync; the physical\n"
             "plan adds blocks, placement, memory and the numbers that decided. Over nodes (hawser run\n"
             "-n 4 -- plan ..., or --suppose-nodes 4) also who has which blocks, and the bytes that a\n"
             "clock sends at most.",
     .job = true,
     .data = true,
     .algorithm = true,
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_plan_rows,
     .run = hw_plan},
    {.name = "check",
     .words = "FILE...",
     .summary = "Verify what a job has recorded of itself",
     .text = "Reads the history that --record-history FILE has left (of several nodes: FILE, FILE.1,\n"
             "... lie beside it or are named) and verifies every rule of the consistency that was\n"
             "asked for. Prints what was verified, how often; or the rule that is broken and the\n"
             "shortest run of records found that breaks it, with exit code 9. Of a job that failed\n"
             "or lost a node it verifies what is there, says so, and ends with exit code 10. A\n"
             "history that is not whole, and nobody says why, is refused.",
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_check_history_rows,
     .run = hw_check_history},
    {.name = "run",
     .words = "-n N -- WORDS...",
     .summary = "Run a training, or a program of your own, as N processes",
     .text = "WORDS is 'train ...' or a program that opens a job (./mine). Each process is a node of\n"
             "one job, here or on --hosts by ssh. Lines carry the name of their node; standard\n"
             "output of node 0 is passed on as it is, so that --json and pipes work, and standard\n"
             "input, unless it is a terminal, goes to node 0. Signals go to all nodes; Ctrl-Z stops\n"
             "all. The first node that fails is named, and its exit code is that of hawser run.",
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_run_rows,
     .run = hw_run},
    {.name = "agent",
     .words = "",
     .summary = "What hawser run starts on each host",
     .text = "Starts, watches and ends the nodes of one host, for the hawser run at the other end.",
     .rows = hw_agent_rows,
     .run = hw_agent},
    {.name = "node",
     .words = "--join HOST:PORT --key-file FILE",
     .summary = "Be a node of the job whose manager listens there",
     .text = "For nodes that are started by hand or by a supervisor: the manager is started by\n"
             "'hawser train ... --listen N --port-range PORT --key-file FILE' and tells its nodes what\n"
             "the job is. A node waits --join-timeout for the manager to be there, takes part in one\n"
             "job and ends with it.",
     .job = true,
     .run = hw_node},
    {.name = "key",
     .words = "FILE",
     .summary = "Make a job key, for nodes that are started by hand, by Slurm or by a supervisor",
     .text = "Writes 32 random bytes as hexadecimal digits to FILE, which must not exist yet, with\n"
             "mode 0600. Who has the key can join the job and read what it sends.",
     .least = 1,
     .most = 1,
     .run = hw_key},
    {.name = "serve",
     .words = "--key-file FILE",
     .summary = "Keep tables of a store for programs that come and go",
     .text = "Servers that run on their own: this process, or as many as 'hawser run -n N -- serve'\n"
             "starts, keep the tables until Ctrl-C, SIGTERM or the loss of their terminal; without a\n"
             "terminal SIGHUP is logged and passed over. HOST:PORT of the first one is the\n"
             "first line of standard output. Programs attach with hawser_store_open (`at`), people\n"
             "with 'hawser store get|put|stat|make|save|load'. Several groups of workers may share\n"
             "the tables, at once or one after the other; 'hawser help shared-store' says how.",
     .rows = hw_serve_rows,
     .run = hw_serve},
    {.name = "store get",
     .words = "TABLE [KEY|FIRST..LAST...]",
     .summary = "Print rows of a table that servers keep",
     .text = "A line for each key: the key and its numbers, as 'store put TABLE -' reads them; with\n"
             "--json an object a line. Without keys: all that there are. A key of a sparse table\n"
             "that was never written reads as zero.",
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_store_get_rows,
     .run = hw_store_get},
    {.name = "store put",
     .words = "TABLE KEY=NUMBER[,NUMBER...]...",
     .summary = "Set rows of a table that servers keep",
     .text = "Sets numbers as they are, whatever the table's function does with pushes, and what the\n"
             "function keeps beside them begins anew. 'store put TABLE -' reads lines KEY NUMBER ...\n"
             "from standard input.",
     .least = 2,
     .most = SIZE_MAX,
     .rows = hw_store_put_rows,
     .run = hw_store_put},
    {.name = "store stat",
     .words = "",
     .summary = "Print what servers of a store have and have done",
     .text = "Keys, bytes and requests by server; the tables there are; how many groups use them.",
     .rows = hw_store_get_rows,
     .run = hw_store_stat},
    {.name = "store make",
     .words = "TABLE",
     .summary = "Make a table at servers of a store",
     .text = "Programs make their own; this is for trying, and for tables that are filled by\n"
             "'store put'. A table that is there alike is left as it is.",
     .least = 1,
     .most = 1,
     .rows = hw_store_make_rows,
     .run = hw_store_make},
    {.name = "store save",
     .words = "NAME",
     .summary = "Have servers write their tables to a file",
     .text = "Writes all tables to NAME, a safetensors file in the directory of the first server\n"
             "(serve --dir), whole or not at all. Requests wait meanwhile.",
     .least = 1,
     .most = 1,
     .rows = hw_store_put_rows,
     .run = hw_store_save_command},
    {.name = "store load",
     .words = "NAME",
     .summary = "Have servers read tables from a file",
     .text = "Puts in what 'store save' wrote, at as many servers or others, in place of what is\n"
             "there; tables that are not there are made. A damaged file changes nothing, nor does\n"
             "one for whose rows a server lacks room, but for making its tables.",
     .least = 1,
     .most = 1,
     .rows = hw_store_put_rows,
     .run = hw_store_load_command},
    {.name = "data info",
     .words = "DATA...",
     .summary = "Print what an input holds",
     .text = "Loads DATA and prints format, rows, columns, stored entries, target and memory.",
     .data = true,
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_data_info_rows,
     .run = hw_data_info},
    {.name = "data convert",
     .words = "DATA... -o FILE",
     .summary = "Write an input in another format",
     .text = "The extension of FILE says which: .hwc is Hawser's cache, which is mapped and not\n"
             "parsed next time; .svm, .csv, .mtx and .npy are for others.",
     .data = true,
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_data_convert_rows,
     .run = hw_data_convert},
    {.name = "data split",
     .words = "DATA... -o PREFIX",
     .summary = "Split an input by rows",
     .text = "--parts N writes N runs of rows with about as many stored entries each, in order:\n"
             "PREFIX.1.svm, PREFIX.2.svm, ... --fraction F draws that share of the rows at random\n"
             "into PREFIX.test.svm and the others into PREFIX.train.svm.",
     .data = true,
     .least = 1,
     .most = SIZE_MAX,
     .rows = hw_data_split_rows,
     .run = hw_data_split},
    {.name = "data generate",
     .words = "KIND -o FILE",
     .summary = "Make a problem with a known sparse truth",
     .text = "KIND is dense (20 common factors, rows of length 1) or url (sparse, columns drawn by a\n"
             "power law, rows of length 1). The extension of FILE says the format, as in convert.",
     .least = 1,
     .most = 1,
     .rows = hw_data_generate_rows,
     .run = hw_data_generate},
    {.name = "help",
     .words = "[TOPIC...]",
     .summary = "Explain a command, an algorithm, an option or a topic",
     .text = "Without a topic: the commands and the topics there are.",
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

void hw_command_tables(const hw_command *command, const hawser_algorithm *algorithm, const hawser_option *tables[HW_TABLES])
{
    size_t n = 0;
    if (algorithm != NULL && command->algorithm)
        tables[n++] = algorithm->rows;
    if (command->rows != NULL)
        tables[n++] = command->rows();
    if (command->job)
        tables[n++] = hawser_job_rows();
    if (command->data)
        tables[n++] = hawser_data_rows();
    tables[n++] = common_rows;
    tables[n] = NULL;
}
