/* topics.c - pages of the help that no row can tell. */
#include "cli/help.h"

static const hw_topic topics[] = {
    {"exit-codes", "Exit codes",
     "  0    done; also when a limit (--max-clocks, --time-limit) ended the training\n"
     "  1    a bug in Hawser; please report it\n"
     "  2    a wrong command, option or value\n"
     "  3    bad input: the content of a data or model file\n"
     "  4    the system refused to open, read or write a file\n"
     "  5    not enough memory, or more than --memory-limit would be needed\n"
     "  6    a program that breaks the model (undeclared access to a state, ...)\n"
     "  7    numbers that are not finite, or a training that diverged\n"
     "  8    another part of the job was lost, or a wait passed its deadline\n"
     "  9    a history that breaks a rule (hawser check)\n"
     "  10   a history that breaks none as far as it goes, of a job that failed (hawser check)\n"
     "  130  ended by Ctrl-C, SIGTERM or a lost terminal; what was reached has been saved\n"},
    {"sync", "How tightly workers are tied: --sync",
     "  bsp    every worker sees all updates of the last clock before it starts the next.\n"
     "         The result is bit for bit the same for a seed and a number of workers.\n"
     "  ssp:S  a worker at clock t has seen all updates of clocks up to t - S - 1; the\n"
     "         fastest runs at most S clocks ahead. ssp:0 is bsp.\n"
     "  tap    nobody waits; updates are seen when they arrive.\n\n"
     "S is counted as Petuum counts it; the tau of Alt's thesis is S + 1. Under ssp and tap\n"
     "the result differs in its last digits from run to run; --json says so. The duality gap\n"
     "is computed when all workers rest at one clock, so that it is true under each of them.\n"},
    {"options", "Where options come from, and all of them",
     "A value is taken from the strongest source that has one:\n"
     "  default < program < file (--config FILE) < environment (HAWSER_KEY) < command line\n\n"
     "  command line   --tol 1e-4, --tol=1e-4, -o FILE, --intercept, --no-intercept\n"
     "  environment    HAWSER_TOL=1e-4, HAWSER_INTERCEPT=no\n"
     "  file           tol = 1e-4          # one key = value a line\n\n"
     "A key that the command does not know is an error, and the nearest known one is suggested;\n"
     "in the environment it may be another command's.\n"
     "Sizes: 4096, 64k, 1.5M, 2GiB (powers of 1024). Durations: 90, 90s, 5m, 2h. Flags:\n"
     "yes or no.\n"},
    {"cluster", "One training on several processes or machines",
     "Every process is a node; together they are one job, whose result under bsp is bit for\n"
     "bit that of one process with as many --workers. Node 0 saves the model and speaks.\n\n"
     "  here           hawser run -n 4 -- train lasso DATA -o FILE\n"
     "  hosts by ssh   hawser run --hosts FILE -- train ...     (a host a line: ash slots=2)\n"
     "  Open MPI       mpirun -n 4 hawser train ...             (PMIx; MPICH's mpirun by PMI)\n"
     "  Slurm          srun --mpi=pmix -n 4 hawser train ...\n"
     "                 srun --mpi=none -n 4 hawser train ... --key-file FILE\n"
     "  by hand        hawser train ... --listen 4 --port-range 7000 --key-file FILE, and\n"
     "                 hawser node --join HOST:7000 --key-file FILE on three more\n\n"
     "Programs that call hawser_open take the same ways: hawser run -n 4 -- ./mine.\n\n"
     "Each job has a key, and who cannot prove it does not get in. hawser run, mpirun and PMIx\n"
     "hand it out; else 'hawser key FILE' makes one, for a file system that all hosts see or\n"
     "to be copied, mode 0600. Between hosts everything is encrypted unless --trust-fabric says\n"
     "otherwise. --interface and --port-range say where a node listens. Nodes of one host share\n"
     "memory where they can; --transport says otherwise. 'links' of --json has the way of each.\n"
     "--transport ucx goes by the library UCX, if it is installed: within a host by memory, and\n"
     "with --trust-fabric between hosts too, by RDMA where the network has it, unencrypted.\n\n"
     "A process that is one of several and cannot find the others is refused, since each would\n"
     "write the same model; --alone insists. A node that is lost ends the job everywhere\n"
     "within --failure-timeout, exit code 8, by name. hawser run names the node that failed\n"
     "first and returns its code, whoever noticed it before; it gives the others --grace to\n"
     "end, and leaves nothing behind, even when it is killed itself: its agents and the nodes\n"
     "notice. Ctrl-Z stops all nodes, fg continues them. Ctrl-C, SIGTERM, --time-limit and\n"
     "the end of a Slurm job (SLURM_JOB_END_TIME) save what was reached.\n\n"
     "deploy/ in the source has a unit for systemd, manifests for Kubernetes and a Dockerfile.\n"},
    {"shared-store", "Tables that several programs share: hawser serve",
     "  hawser key secret\n"
     "  hawser serve --key-file secret --port-range 7000          (one server)\n"
     "  hawser run -n 4 --hosts FILE -- serve --key-file secret   (several: tables are spread)\n\n"
     "A program attaches with hawser_store_open and the options `at` (HOST:PORT of any server)\n"
     "and `key_file` (examples/shared.c). Its nodes are a group: what waits for clocks waits for\n"
     "workers of the own group alone; tables and values are common. A group may come and go as\n"
     "it likes; one that is lost leaves its pushes behind, but of summed tables what it pushed in\n"
     "clocks that were not over. A server that is lost ends the other servers and all groups.\n"
     "With functions of your own a program of yours serves (hawser_store_serve,\n"
     "examples/serving.c); guests name them.\n\n"
     "For people, with HAWSER_STORE=HOST:PORT and HAWSER_KEY_FILE=secret in the environment:\n"
     "  hawser store stat\n"
     "  hawser store make w --keys 0..9\n"
     "  hawser store put w 3=0.5 4=1\n"
     "  hawser store get w 0..4\n"
     "  hawser store save tables.safetensors\n\n"
     "Servers and programs are of one release of Hawser. Who has the key can read and change all\n"
     "tables, and write files in the servers' --dir.\n"},
    {"formats", "Formats of inputs",
     "  svmlight       TARGET INDEX:VALUE ... [# comment]; qid:N is passed over\n"
     "  csv            with or without a line of names; fields may be quoted; commas, semicolons,\n"
     "                 tabs or any number of blanks between them\n"
     "  matrix-market  coordinate or array, general or symmetric; the target is a file of its\n"
     "                 own (--target FILE). UCI's bags of words (docword) are read as such, too:\n"
     "                 documents, words, entries, a line each, then DOCUMENT WORD COUNT\n"
     "  npy            one or two dimensions, f4 or f8\n"
     "  cache          written by 'hawser data convert DATA -o FILE.hwc'; mapped, not parsed\n\n"
     "All may be packed with gzip, xz or zstd. The format is found by content. Several files and\n"
     "globs make one input; - is standard input. Numbers that are missing, infinite or NaN are\n"
     "refused with file, line and column. The index base of svmlight (0 or 1) is decided once\n"
     "for the whole input and kept in the model.\n"},
    {"labels", "Two classes: labels, probabilities, metrics",
     "A target of any two values (-1 and 1, 0 and 1, 1 and 2, ...) is two classes. The model\n"
     "names them; predict gives the probability of the higher label, predict --labels the label\n"
     "that is more probable. Coefficients above zero speak for the higher label.\n\n"
     "  objective   sum c loss / sum c + lambda (A ||w||_1 + (1 - A)/2 ||w||^2), where loss is\n"
     "              log(1 + exp(-y (x w + b + offset))), y = +-1, and c is the example's weight\n"
     "              times its class's (--class-weight). The intercept b has no penalty.\n"
     "  --C C       lambda = 1/(C sum c): LIBLINEAR's and scikit-learn's C. LIBLINEAR puts a\n"
     "              penalty on its intercept (-B 1); --no-intercept is its -B -1.\n"
     "  evaluate    auc (ties count half; absent where one class is), accuracy, log_loss: by the\n"
     "              weights of the data; objective: of the training's formula, class weights too.\n"
     "  --cv        chooses by the log loss of what is held out, class weights included.\n\n"
     "Classes that a column without a penalty separates have no best model: training ends where\n"
     "the objective is as near its bound as --tol asks.\n"},
    {"json", "The last line of train --json",
     "One object. What is not known is null.\n\n"
     "  algorithm, objective, gap, lambda, nonzeros, intercept\n"
     "  lambda_max, and r2 (logistic: deviance_ratio): the share of the loss at zero that is gone\n"
     "  slope, curvature                of linear regression: the objective's where it ended\n"
     "  lambdas                         how many, if several were tried; of what was held out:\n"
     "  validation_mse, cv_mse          (logistic: validation_log_loss, cv_log_loss)\n"
     "  cv_standard_error\n"
     "  clocks, seconds_load, seconds_train, bytes_exchanged, workers, nodes, sync, seed\n"
     "  stop_reason, repeatable, repeatable_reason (null if it is), model (the file)\n"
     "  most_lead                       clocks that one worker was ahead of another, at most\n"
     "  worker      one each: node, rows_read, cpu_seconds, wait_seconds, last_clock_seconds,\n"
     "              clocks, bytes_sent, bytes_received, messages_sent, peak_rss\n"
     "  links       between nodes: from, to, transport, messages_sent, bytes_sent\n"
     "  gates       who came to a node: node, admitted, wrong_key, unfit, late, crowded, last\n"
     "  flows       by state or kind of message: messages, bytes_plain, bytes_sent\n"
     "  coalesced                       clocks that were sent together with a later one\n"
     "  load        format, rows, columns, stored, index_base, bytes_read, bytes_text\n"
     "  notes       a list of lines\n"
     "  options     each with value, source, where\n"},
    {"trace", "The file of train --trace",
     "CSV, written as the training goes: clock, seconds, objective, gap, nonzeros, bytes,\n"
     "staleness; a line whenever clock, objective or gap is another than in the line before. A\n"
     "field is empty where the number is not known; objective and gap are those of the last\n"
     "certificate.\n"},
    {"models", "Model files",
     "Models are safetensors files: Python's safetensors library reads them. They hold the\n"
     "coefficients (all of them, or index and value of those that are not zero), the\n"
     "intercept, and as metadata the index base, names of columns, objective, gap, and every\n"
     "option of the training. 'hawser info MODEL' prints them. A file is written under\n"
     "another name and renamed: a reader sees the old model or the new one.\n"},
};

const hw_topic *hw_topic_at(size_t index)
{
    return index < sizeof topics / sizeof *topics ? &topics[index] : NULL;
}
