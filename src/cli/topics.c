/* topics.c - the pages of the help that are not made from rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/help.h"
#include "report/option_text.h"

static const hawser_topic topics[] = {
    {"coming-from", "Coming from glmnet, scikit-learn or XGBoost: their words and Hawser's",
     "Objectives are glmnet's and scikit-learn's: 1/(2 rows) of the squares, or the mean log loss,\n"
     "plus the penalty's weight times A ||w||_1 + (1 - A)/2 ||w||^2, without the intercept. But\n"
     "glmnet standardizes unless told not to, and scikit-learn's C and Ridge do not divide by rows.\n"
     "'hawser help WORD' finds these words, and so does a mistaken option.\n\n"},
    {"exit-codes", "Exit codes",
     "  0    done; also if a limit (--max-clocks, --time-limit) ended the training, or a signal\n"
     "       ended servers (hawser serve) and their tables are saved\n"
     "  1    a bug in Hawser; please report it\n"
     "  2    a wrong command, option or value\n"
     "  3    bad input: the content of a data or model file\n"
     "  4    the system failed to open, read or write a file, or allows too few descriptors\n"
     "  5    not enough memory, or more than --memory-limit is needed\n"
     "  6    a program that breaks the model (undeclared access to a state, ...)\n"
     "  7    numbers that are not finite, or a training that diverged or stalled;\n"
     "       the best certified model is saved\n"
     "  8    another part of the job was lost, or a wait timed out\n"
     "  9    a history violates a rule (hawser check)\n"
     "  10   a history of a failed job violates no rule as far as it goes (hawser check)\n"
     "  130  ended by Ctrl-C, SIGTERM or a lost terminal; the model that was reached is saved.\n"
     "       If there was none yet (also if a limit ended the training), or a second request\n"
     "       ended the job at once, a line says so\n"
     "  137  hawser run: SIGKILL ended a node or the agent of this host, as the kernel does when\n"
     "       memory runs out (128 + N for signal N). An agent on another host: 8, because its\n"
     "       signal is unknown here\n"},
    {"sync", "The consistency of workers: --sync",
     "  bsp    every worker sees all updates of the last clock before it starts the next.\n"
     "         The result has the same bits for the same seed and number of workers.\n"
     "  ssp:S  a worker at clock t has seen all updates of clocks up to t - S - 1; the\n"
     "         fastest runs at most S clocks ahead. ssp:0 is bsp.\n"
     "  tap    no worker waits; updates are seen when they arrive.\n"
     "  auto:S bsp at the start, and up to ssp:S (S from 1 to 8, default 3) where workers are\n"
     "         slow in turn and the training gets faster by it. It needs a loop that declares\n"
     "         it: rounds (--exchange-every), or HAWSER_ADAPT of a program.\n\n"
     "If a parameter server keeps the weights (train linear; train logistic with --solver\n"
     "dbpg, gd, sgd or minibatch; stored states of a program), there are two more:\n\n"
     "  delay:T  bounded delay: a worker at clock t has read versions of clock t - T or later,\n"
     "         requested a clock ahead; the fastest runs at most T - 1 clocks ahead.\n"
     "  dc:D   data-centric: each chunk is read and written as soon as its own readers and\n"
     "         writer allow, at most D versions late, without a barrier. dc:0 gives the bits\n"
     "         of one thread, and waits in each clock for the test of a loop that has one; a\n"
     "         large D sets no order.\n\n"
     "S is Petuum's staleness; the tau of Alt's thesis is S + 1. With policies other than bsp and\n"
     "dc:0, and if all workers add to the same stored numbers (--solver dbpg by column, except with\n"
     "dc:0),\n"
     "the last digits of the result differ from run to run; --json reports it. A certificate is\n"
     "computed while all workers wait at one clock, so it is true with every policy.\n"
     "docs/guarantees.md has the details, and the definitions of the papers.\n"},
    {"options", "Where options come from, and all of them",
     "A value is taken from the strongest source that has one:\n"
     "  default < program < file (--config FILE) < environment (HAWSER_KEY) < command line\n\n"
     "  command line   --tol 1e-4, --tol=1e-4, -o FILE, --intercept, --no-intercept\n"
     "  environment    HAWSER_TOL=1e-4, HAWSER_INTERCEPT=no\n"
     "  file           tol = 1e-4          # one key = value per line\n\n"
     "An unknown key is an error, and the message suggests the nearest known key. In the\n"
     "environment the key may belong to another command. The variables that Kubernetes sets\n"
     "for a Service named hawser (HAWSER_PORT_7000_TCP and the like) are ignored.\n"
     "Sizes: 4096, 64k, 1.5M, 2GiB (powers of 1024). Durations: 90, 90s, 5m, 2h. Flags:\n"
     "yes or no.\n"},
    {"tables", "CSV tables: names, words, dates, missing values",
     "With a header, columns are named: --target price, --ignore id,comment, --columns a,b.\n"
     "A first line is a header if it has a word, unless words and numbers are in the same\n"
     "fields of the second line; --header says it.\n\n"
     "  words    A column without any number is a category: one column of 0 and 1 per word,\n"
     "           in the order of the words' bytes, and no word is left out. Numbers and words\n"
     "           in one column, more than 1,000 words, words that look like dates, and numbers\n"
     "           with signs ($5, 5%) or groups (1,000) are refused, with the line. --categories\n"
     "           NAME reads all values of a column as words, --categories none allows no words.\n"
     "  dates    --dates NAME reads ISO 8601 (2026-11-24, 2026-11-24T18:30:00+01:00; UTC if\n"
     "           there is no zone): days since 1970 as a number; month, weekday and, if there\n"
     "           are times, hour as categories.\n"
     "  missing  An empty field, ?, NA, N/A, NaN, null and none. --missing zero, mean (numbers\n"
     "           only), drop, or level: missing words are a level of their own. Two, as in\n"
     "           mean,level, are for numbers and for words.\n"
     "  target   May have words, which are classes: train logistic, if there are two.\n"
     "  targets  train multitask takes several: --target a,b, or a file with a column for each,\n"
     "           also for svmlight. predict prints a line of their names, if they have some, and\n"
     "           a number for each in every line after it.\n\n"
     "A line of --penalty-factors, --lower or --upper belongs to a column of the table, with all\n"
     "its words. The model keeps columns and words as JSON (its fact schema). predict and\n"
     "evaluate match columns by name, in any order; further columns are counted and ignored,\n"
     "a missing one is an error. A word that the training data did not have is refused, or with\n"
     "--unseen zero read as none of the known ones. predict needs no target. A model that was\n"
     "trained with --offset or --exposure needs it, or none as its value. Without names on both\n"
     "sides columns are matched by position: exactly the model's, or the target besides. One\n"
     "column of several may have no name, as the numbers of rows that pandas writes.\n"},
    {"cluster", "One training on several processes or machines",
     "Every process is a node, and all nodes are one job. With bsp its result has the bits of\n"
     "one process with as many --workers. Node 0 saves the model and prints.\n\n"
     "  one machine    hawser run -n 4 -- train lasso DATA -o FILE\n"
     "  hosts by ssh   hawser run --hosts FILE -- train ...     (one host per line: ash slots=2)\n"
     "  Open MPI       mpirun -n 4 hawser train ...             (PMIx; MPICH's mpirun by PMI)\n"
     "  Slurm          srun --mpi=pmix -n 4 hawser train ...\n"
     "                 srun --mpi=none -n 4 hawser train ... --key-file FILE\n"
     "  by hand        hawser train ... --listen 4 --port-range 7000 --key-file FILE, and\n"
     "                 hawser node --join HOST:7000 --key-file FILE three times\n\n"
     "Programs that call hawser_open are started in the same way: hawser run -n 4 -- ./mine.\n\n"
     "Each job has a key; a process without the key cannot join. hawser run, mpirun and PMIx\n"
     "distribute it. Otherwise create one with 'hawser key FILE' (mode 0600), on a file system\n"
     "that all hosts share, or copy it to each host. Links between hosts are encrypted unless\n"
     "--trust-fabric is given.\n\n"
     "A node listens on loopback and on the address of the default route, which --join HOST\n"
     "must name. --interface sets another address, or 'all'; --port-range sets the ports. Nodes\n"
     "that are started by hand and 'hawser serve' print their addresses. Only processes of the\n"
     "same user can connect to a node's Unix socket. Nodes of one host use shared memory if they\n"
     "can, unless --transport sets another transport; 'links' of --json lists them. --transport\n"
     "ucx uses the library UCX, if it is installed: shared memory within a host and, with\n"
     "--trust-fabric, unencrypted links between hosts, by RDMA if the network has it.\n\n"
     "A process that is one of several but cannot find the others ends with an error, since each\n"
     "would write the same model; --alone trains all the same. A lost node ends the job on all\n"
     "nodes within --failure-timeout, with exit code 8 and the node's name. Node 0 then saves the\n"
     "finished members of a path. A host that is silent for that long is lost with its nodes.\n"
     "hawser run names the node that failed first and\n"
     "returns its code, gives the others --grace to end, and leaves no process or file behind.\n"
     "This holds even if hawser run itself is killed, because its agents and the nodes notice.\n"
     "With --restarts N the command starts again, at most N times, if a node or a host was lost\n"
     "(exit code 8), or a signal ended a node that was not asked to end. An error is not\n"
     "repeated, and Ctrl-C or SIGTERM to hawser run ends it. A start waits for the end of the one\n"
     "before, and takes the hosts that answer: spare lines of --hosts replace lost ones, and -n\n"
     "4:10 takes as many nodes as they have slots, and as the checkpoint has workers. After two\n"
     "restarts in a row without a new checkpoint there is no third. A program that never reports\n"
     "one makes progress if it runs for --restart-window. Each start reads standard input from\n"
     "its beginning, and prints: of the lines of --json the last has the result, and files of\n"
     "--output-dir have all starts.\n"
     "Ctrl-Z stops all nodes, fg continues them. Ctrl-C, SIGTERM, --time-limit and the end of a\n"
     "Slurm job (SLURM_JOB_END_TIME) save the model that was reached.\n\n"
     "deploy/ in the source has units for systemd, a script for Slurm, manifests for Kubernetes\n"
     "and a Dockerfile.\n"},
    {"shared-store", "Tables that several programs share: hawser serve",
     "  hawser key secret\n"
     "  hawser serve --key-file secret --port-range 7000          (one server)\n"
     "  hawser run -n 4 --hosts FILE -- serve --key-file secret   (several: tables are spread)\n\n"
     "A program attaches with hawser_store_open and the options `at` (HOST:PORT of any server)\n"
     "and `key_file` (examples/shared.c). Its nodes are a group. All groups share tables and\n"
     "values; a wait for clocks is a wait for workers of the own group. Groups may come and go at\n"
     "any time. The pushes of a lost group stay, except those to summed tables in clocks that had\n"
     "not ended. A lost server ends the other servers and all groups. To serve tables with your\n"
     "own functions, write a program (hawser_store_serve, examples/serving.c); clients name the\n"
     "functions.\n\n"
     "Commands, with HAWSER_AT=HOST:PORT and HAWSER_KEY_FILE=secret in the environment:\n"
     "  hawser store stat\n"
     "  hawser store make w --keys 0..9\n"
     "  hawser store put w 3=0.5 4=1\n"
     "  hawser store get w 0..4\n"
     "  hawser store save tables.safetensors\n\n"
     "Servers and programs must be of one release of Hawser. A client with the key can read and\n"
     "change all tables, and write files in the servers' --dir. --memory-limit bounds the memory\n"
     "of a server's tables: a table or rows that need more are refused with one line, and the\n"
     "servers go on. 'hawser store stat' prints the memory that counts. A sparse table takes, per\n"
     "key, twice the numbers of a row, the memory of its function, and 64 bytes. A data-centric\n"
     "table takes its rows once more for each group that writes to it.\n"},
    {"formats", "Formats of inputs", "The format is detected by content, unless --format names it.\n"},
    {"json", "The last line of train --json",
     "One object. Unknown values are null. If a node was lost, the object has only algorithm,\n"
     "nodes, stop_reason (\"node-lost\"), error (which node, and why) and model, the file of a path's\n"
     "finished members, or null. Else:\n\n"
     "  algorithm\n"
     "  clocks, seconds_load, seconds_train, bytes_exchanged, workers, nodes, sync, seed\n"
     "  resumed     of a training that went on from a checkpoint: clock (of the loop), loop, seconds\n"
     "              (of the run until then); null: it began from the start\n"
     "  checkpoints of --checkpoint, in the last run: taken, wait_seconds (in which workers could not\n"
     "              go on because of them)\n"
     "  interrupted_by, interrupted_signal   the node that a signal asked to end: \"node 2 (ash)\"\n"
     "  stop_reason, repeatable, repeatable_reason (null if it is), model (the file)\n"
     "  most_lead                       the most clocks that one worker was ahead of another\n"
     "  worker      one per worker: node, rows_read, cpu_seconds, wait_seconds (all waits) and its\n"
     "              parts wait_input_seconds (for data of others), wait_credit_seconds (for the\n"
     "              driver), wait_reduction_seconds, last_clock_seconds, clocks, bytes_sent, bytes_received, messages_sent, "
     "peak_rss\n"
     "  waits_for   what workers waited for, in windows of 5 clocks and 0.1 s or more: cause (none:\n"
     "              waits are below a fifth; link; worker: one that takes longer, for half of the waits\n"
     "              or more; turns: another one in each clock; other), clocks, seconds, waited (the share\n"
     "              of the median worker), measure (of a link, the share of time with something to send;\n"
     "              else the slowest worker's time by the median one's), node or worker\n"
     "  changes     of settings during the run, by --auto or the training's own rules: loop, clock, what (sync,\n"
     "              encoding, quota, work, share, gain), old, new, state, worker, by and reason\n"
     "  links       that carried messages: from, to, transport, messages_sent, bytes_sent, busy_seconds\n"
     "              (in which bytes waited for --rate, or over tcp for the network)\n"
     "  accepts       connections to a node: node, admitted, wrong_key, unfit, late, crowded, late_messages,\n"
     "                foreign_messages, last\n"
     "  flows       per state or kind of message: messages, bytes_plain, bytes_sent\n"
     "  coalesced                       clocks that were sent together with a later one\n"
     "  load        format, rows, columns, stored, index_base, bytes_read, bytes_text,\n"
     "              rows_moved (by row: sent to the node of their block)\n"
     "  policy      what --sync gives up compared with bsp; null: nothing\n"
     "  notes       a list of lines\n"
     "  cv          the result of --cv, if it was given: folds, metric, rule, lambda_min and\n"
     "              lambda_1se (both choices), and lists: error, standard_error, and two of metrics;\n"
     "              fold_errors, a list per error with those of the folds, and fold_weights\n"
     "  options     each with value, source, where\n\n"
     "and the metrics of the algorithm:\n\n"},
    {"plan-json", "The line of plan --json",
     "One object with both plans. Numbers whose name ends in _bytes are bytes.\n\n"
     "  program, blocks, computing_at_once, processors, topology (null on one node)\n"
     "  why_this_many_blocks            null if the user has set their number\n"
     "  memory      of the node with the most blocks: needed_bytes, limit_bytes, parts_bytes\n"
     "              (their sum is needed_bytes: data, states, units, reductions, chunks,\n"
     "              first_values, threads, links, process, holes, checkpoints (copies until they\n"
     "              are written), and load: what the load took beyond all these), late_bytes (an upper bound of what "
     "updates that wait for\n"
     "              a slow worker take besides, under ssp and tap),\n"
     "              mapped_bytes of files (in no limit), shared_bytes with other nodes of the host,\n"
     "              checkpoint_bytes (of a checkpoint on disk, at most; 0 without --checkpoint)\n"
     "  warnings    a list of lines\n"
     "  nodes       one per node: node, name, blocks, stored_entries of split data\n"
     "  states      one per state: name, kind, created_before and disposed_after (numbers of\n"
     "              operators; null: never used), rows, columns, type. Data: layout, stored,\n"
     "              split, shares (one per block: begin, end, stored), fetched_bytes and\n"
     "              fetched_bytes_all, reserved_entries (of columns that units fetch). Others:\n"
     "              block_bytes (the largest block), along, tied_to,\n"
     "              derived, merged_by_program, damping, gain, function, form, encoding,\n"
     "              only_block (the one that updates it), filter, quota_bytes, quota_falls,\n"
     "              max_held_clocks, guarantee, parts (of a moving state), by_value (of an entries state);\n"
     "              over nodes sent_per_clock_bsp and sent_per_clock_other, the most that a clock\n"
     "              sends: busiest_node, bytes_out_of_busiest, bytes_out_of_all, and in messages\n"
     "              with the whole state updates_out_of_busiest, and what that would be if all\n"
     "              nodes sent to all: updates_out_of_busiest_over_all\n"
     "  operators   one per operator, in order: number, parent, kind, name. Loops: until (clocks,\n"
     "              seconds, test, metric with below, change, patience), sync, part_of_clocks_of\n"
     "              (a loop), shipped, stages, credit_window_clocks. Units: only_block,\n"
     "              first_stage, last_stage, sync (if it is their own), reads, updates,\n"
     "              reduces_numbers\n"},
    {"trace", "The file of train --trace",
     "CSV, written during the training. There is a line whenever the clock or a number of the\n"
     "progress line has changed. A field is empty if its number is unknown; numbers that certify\n"
     "the model are those of the last certificate. policy has what the algorithm has changed in\n"
     "sync and gains since the line before, and the clock of the loop from which it holds on all\n"
     "workers, as in 'loop rounds from clock 14: sync ssp:2 -> bsp'. The columns:\n\n"},
    {"measures", "What hawser evaluate measures",
     "Rows count with the weights of --weights, if it is given: an integer weight counts like this\n"
     "many copies of the row, so 'how many rows' is a sum of weights, and a row of weight 0 is left\n"
     "out. Without --json, numbers are lines 'name value', and each table has a title. With --json\n"
     "the object also has algorithm, model, rows, unseen_columns, unseen_entries and unseen_words\n"
     "(columns, entries and words of text that the model does not know), and notes: a line for each\n"
     "number that is unknown, which is null, with the reason.\n"},
    {"models", "Model files",
     "Models are safetensors files: Python's safetensors library reads them. As metadata they have\n"
     "the index base, the names of the columns, the numbers at the end of the training, the object\n"
     "cv of --json, and all options; 'hawser info MODEL' prints these, --coefficients the\n"
     "coefficients by name, or the words of topics, and --path the members of a path (--path,\n"
     "--cv), each of which predict, evaluate and info can use. --json prints the facts as one\n"
     "object, names as a list and options in an object of their own; of topics --coefficients adds\n"
     "the list coefficients: topic, share, and words, each with its probability. A file is written under another name and "
     "renamed: a reader sees\n"
     "the old model or the new one.\n\n"
     "The tensors of a linear model, where k columns have a coefficient other than 0:\n"
     "  coefficients.index   k columns of the data without the target, counted from 0, ascending\n"
     "  coefficients.value   outputs x k; most models have one output. If k is 0, its shape is [0]\n"
     "  intercept            one number per output\n"
     "and of a path (--path, --cv), with one entry per point of it unless another size is named:\n"
     "  path.intercept       points x outputs; of one output, points\n"
     "  path.offsets         one more than points: the coefficients of point l are at the places\n"
     "                       from path.offsets[l] up to, not including, path.offsets[l + 1] of\n"
     "  path.index           columns of the data, and\n"
     "  path.value           outputs x places, as coefficients.value\n"
     "  path.*               the penalty's weight of each point, and what was measured there\n"
     "  path.planned, path.ended: of a path that was ended before its last point, the number of its\n"
     "                       points and the reason; the tensors have those that were finished\n"
     "  cv.fold_errors       points x folds: the error on the rows that a fold holds out\n"
     "  cv.fold_weights      one per fold: the weight of these rows\n"
     "  cv.planned, cv.ended: of a training that was ended before the folds of --cv were finished, in\n"
     "                       their place: the number of folds and the reason\n\n"
     "Predictions for rows X, an array with the training data's columns, in Python:\n\n"
     "  import numpy, safetensors.numpy\n"
     "  m = safetensors.numpy.load_file(\"model.safetensors\")\n"
     "  w = numpy.zeros((len(m[\"intercept\"]), X.shape[1]))\n"
     "  w[:, m[\"coefficients.index\"]] = m[\"coefficients.value\"]\n"
     "  p = X @ w.T + m[\"intercept\"]\n\n"
     "p has a column per output: predictions of lasso, linear and multitask, log odds of the\n"
     "higher label of logistic. Files of version 0.1.0 before this layout have all columns as\n"
     "'coefficients', or coefficients.value without the dimension of outputs; they can be used\n"
     "as before.\n\n"
     "The tensors of topics (lda), with V words and K topics:\n"
     "  alpha                K, the prior of the topics of documents; the fact beta is that of words\n"
     "  word_offsets         V + 1: the counts of word w are at the places from word_offsets[w] up\n"
     "                       to, not including, word_offsets[w + 1] of\n"
     "  word_topics          the topic, from 0, and\n"
     "  word_counts          how many tokens of the word have it\n"
     "So word w has probability (count + beta) / (tokens of the topic + V beta) in a topic.\n"},
};

const hawser_topic *hw_topic_at(size_t index)
{
    const size_t own = sizeof topics / sizeof *topics;
    if (index < own)
        return &topics[index];
    index -= own;
    for (size_t a = 0; hawser_algorithm_at(a) != NULL; a++)
        for (const hawser_topic *page = hawser_algorithm_at(a)->topics; page != NULL && page->name != NULL; page++)
            if (index-- == 0)
                return page;
    return NULL;
}

/* ----------------------------------------------------------------------------------------- pages from the rows ---- */

/* Prints a word of a list and returns the column after it; the list is wrapped at the width of the help. */
static int put_word(FILE *out, int column, const char *word)
{
    enum { FIRST = 14, LAST = 79 };
    if (column + 2 + (int)strlen(word) <= LAST)
        return column + fprintf(out, column > FIRST ? ", %s" : "%s", word);
    fprintf(out, ",\n%*s", FIRST, "");
    return FIRST + fprintf(out, "%s", word);
}

/* Prints the keys of the JSON line, or the columns of the trace, for each algorithm: "  lasso  the first, the second,
 * ...". */
static void print_metrics(FILE *out, bool traced)
{
    for (size_t a = 0; hawser_algorithm_at(a) != NULL; a++) {
        int column = fprintf(out, "  %-12s", hawser_algorithm_at(a)->name);
        column = traced ? put_word(out, put_word(out, column, "clock"), "seconds") : column;
        for (const hawser_metric_row *row = hawser_algorithm_at(a)->metrics; row != NULL && row->name != NULL; row++)
            column = row->help != NULL && (row->traced || !traced) ? put_word(out, column, row->name) : column;
        if (traced)
            (void)put_word(out, put_word(out, put_word(out, column, "bytes"), "staleness"), "policy");
        fputc('\n', out);
    }
    fputs("\n'hawser help ALGORITHM' explains its metrics.\n", out);
}

/* Prints the algorithms that have these rows: "logistic" or "lasso, linear". Returns false if an earlier algorithm than
 * `first` has them. */
static bool print_owners(FILE *out, size_t first)
{
    const hawser_measure_row *rows = hawser_algorithm_at(first)->measures;
    for (size_t a = 0; a < first; a++)
        if (hawser_algorithm_at(a)->measures == rows)
            return false;
    fprintf(out, "\n%s", hawser_algorithm_at(first)->name);
    for (size_t a = first + 1; hawser_algorithm_at(a) != NULL; a++)
        if (hawser_algorithm_at(a)->measures == rows)
            fprintf(out, ", %s", hawser_algorithm_at(a)->name);
    fputs(":\n", out);
    return true;
}

/* Prints the measures of all algorithms, each list once; columns of a table are indented. */
static void print_measures(FILE *out)
{
    for (size_t a = 0; hawser_algorithm_at(a) != NULL; a++) {
        const hawser_measure_row *row = hawser_algorithm_at(a)->measures;
        if (row == NULL || !print_owners(out, a))
            continue;
        for (; row->name != NULL; row++) {
            bool column = row->name[0] == '.';
            int at = fprintf(out, column ? "    %-20s " : "  %-22s ", row->name + column);
            hw_help_wrapped(out, row->help, (size_t)at, (size_t)at);
            fputc('\n', out);
        }
    }
}

/* Prints the part of a page that is made from rows. */
static void print_rows(FILE *out, const char *name)
{
    bool trace = strcmp(name, "trace") == 0;
    if (trace || strcmp(name, "json") == 0)
        print_metrics(out, trace);
    if (strcmp(name, "measures") == 0)
        print_measures(out);
    if (strcmp(name, "coming-from") == 0)
        hw_peers_print(out);
    if (strcmp(name, "formats") == 0)
        fputs("\nEvery format may be compressed with gzip, xz or zstd.\n"
              "Several files and globs make one input; - is standard input. Missing, infinite and NaN\n"
              "numbers are refused with file, line and place in the line.\n\n"
              "Columns without names have numbers, which are the same in options (--target, --columns,\n"
              "--ignore, --id), messages, plots and 'info --coefficients'. CSV, npy and idx count all columns\n"
              "of the file from 0, the target included. svmlight and Matrix Market files number their columns\n"
              "themselves (--index-base). Caches count their columns from 0, or as the svmlight file did.\n"
              "\nText is cut into words: runs of letters and digits, of --min-length characters at least.\n"
              "ASCII's other characters, U+0080-00BF, U+2000-2BFF and U+3000-303F are between words, and all\n"
              "others are letters. Capital letters of ASCII, Latin-1, Latin Extended-A (U+0100-017F), Greek\n"
              "and Cyrillic (U+0400-042F) become small ones. An empty line is a document without words.\n"
              "Each column is a word, in the order of their bytes. --min-documents, --max-documents,\n"
              "--max-words and --stop-words leave words out, in this order of words that are left: by the\n"
              "documents that have them, by the list, then all but the most frequent. They work on columns of\n"
              "any sparse input, those without names by their documents and counts only: these keep their\n"
              "numbers and lose their entries. A number with a decimal point is a share of the documents.\n"
              "With --text COLUMN the words of that column of a CSV table are the features: one document per\n"
              "row. Target, weights, offset and the like are columns as ever; other columns are not read, and\n"
              "are listed. No value of the column is missing: an empty field is a document without words.\n\n"
              "FILE:LINE:PLACE counts lines and bytes from 1. Arrays in a model file, and lines of\n"
              "--penalty-factors, --lower and --upper, are of the columns without the target, in order.\n",
              out);
}

hawser_status hw_topic_text(const hawser_topic *topic, char **text, hawser_error *error)
{
    size_t size = 0;
    *text = NULL;
    FILE *out = open_memstream(text, &size);
    if (out == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the help on '%s'", topic->name);
    fputs(topic->text, out);
    hw_help_words(out, strcmp(topic->name, "formats") == 0 ? "format" : topic->name);
    print_rows(out, topic->name);
    bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed)
        return HAWSER_OK;
    free(*text);
    *text = NULL;
    return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the help on '%s'", topic->name);
}
