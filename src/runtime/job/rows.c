/* rows.c - the options that every job understands. threads and memory-limit are here for jobs that read no data; readers
 * have rows of these names (data/options.c) with the same bounds. */
#include <string.h>

#include "base/option_value.h"
#include "codec/forms.h"
#include "exchange/merges.h"
#include "runtime/job/job.h"

static const hawser_option job_rows[] = {
    {"workers", HAWSER_INTEGER, NULL, "[1,65536]", "K",
     "workers (blocks) that share the work. Results depend on their number, not on threads; default: the processors that "
     "this process may use, or fewer if the work is small",
     NULL, 'k'},
    {"sync", HAWSER_WORD, "bsp", HW_ROWS_BOUNDS_AND(HW_POLICIES, "auto|auto:N"), "POLICY",
     "how far workers may be apart. In lock-step (bsp), at most N clocks apart (ssp:N) or unbounded (tap); if a parameter "
     "server keeps the weights, also bounded delay (delay:N) or chunk by chunk without a barrier (dc:N). auto:N begins with "
     "bsp and goes up to ssp:N during the run, N from 1 to 8; auto is auto:3",
     NULL, 's'},
    {"auto", HAWSER_FLAG, "no", NULL, NULL,
     "measure what workers wait for, and change what makes the training faster while it runs: the form of updates, the work "
     "between two exchanges and its shares, the staleness and sigma'. What other options set stays. Results then depend on "
     "the times of a run",
     "Exchange between workers", 0},
    {"save-decisions", HAWSER_PATH, NULL, NULL, "FILE",
     "save what --auto (or one setting that is auto) measured and changed to this file, after each training run of the job",
     "Exchange between workers", 0},
    {"replay-decisions", HAWSER_PATH, NULL, NULL, "FILE",
     "make the changes of a run of the same program, data, options and workers again, at the same clocks, whatever the "
     "times: where all of them stay in lock-step (bsp) results have the same bits, on any threads and nodes",
     "Exchange between workers", 0},
    {"learn", HAWSER_PATH, NULL, NULL, "FILE",
     "begin with the settings to which --auto (or one setting that is auto) came in the earlier run in this file that is "
     "most "
     "like this one, and add those of this run to it. Results then depend on the file, too",
     "Exchange between workers", 0},
    {"seed", HAWSER_INTEGER, "1", "[0,inf)", "N", "seed of all random numbers", NULL, 0},
    {"init", HAWSER_PATH, NULL, NULL, HW_BY_STATE "FILE",
     "start from a model, or with w=FILE state w of a program from the numbers of an .npy file or of a text with one per "
     "line; may be "
     "repeated. In train w is coefficients (outputs x columns; svm, softmax: also intercepts) or centres. A model is read "
     "by "
     "node 0, its columns match by name, and -o may name the same file; every node reads files of numbers",
     "Start from a model", 0},
    {"exchange-every", HAWSER_NUMBER, "1", "(0,inf)", "H" HW_OR_AUTO_FROM,
     "work between two exchanges, as a fraction of a worker's own coordinates, and at least a pass over its working set; if "
     "unset, the algorithm may choose another schedule (the lasso under bsp solves its working sets). auto:H begins with H "
     "and changes it, and the shares of slow workers in it, during the run; auto is auto:1",
     "Exchange between workers", 0},
    {"filter", HAWSER_WORD, "none", HW_ROWS_BOUNDS(HW_FILTERS), HW_BY_STATE "NAME",
     "which entries of an update go first when a quota holds some back; w=NAME is for state w alone, and NAME,w=NAME for "
     "all states but with another one for w",
     "Exchange between workers", 0},
    {"quota", HAWSER_BYTES, "0", NULL, HW_BY_STATE "BYTES" HW_OR_AUTO,
     "bytes that a worker may send per state and exchange; 0: no limit; w=BYTES is for state w alone. auto begins without a "
     "limit and sets one during the run if a link holds the training up",
     "Exchange between workers", 0},
    {"max-held-clocks", HAWSER_INTEGER, "0", "[0,inf)", HW_BY_STATE "N",
     "clocks for which a filter may hold an entry back; 0: the loop's staleness + 1; w=N is for state w alone",
     "Exchange between workers", 0},
    {"encoding", HAWSER_WORD, "exact", HW_ROWS_BOUNDS_AND(HW_FORMS, "auto"), HW_BY_STATE "FORM",
     "form in which workers' updates are sent: exact, or rounded, with the rest carried over to the next one; w=FORM is for "
     "state w alone. auto begins with exact and goes to bf16 and int8 if a link holds the training up",
     "Exchange between workers", 0},
    {"merge", HAWSER_WORD, "add", HW_ROWS_BOUNDS(HW_MERGES), "RULE", "how workers' updates are merged",
     "Exchange between workers", 0},
    {"max-clocks", HAWSER_INTEGER, "0", "[0,inf)", "N", "end after this many clocks in all; 0: no limit", "Limits", 0},
    {"time-limit", HAWSER_SECONDS, "0", "[0,1e9]", "TIME", "end after this time; 0: no limit", "Limits", 0},
    {"grace", HAWSER_SECONDS, "20", "[0,1e9]", "TIME",
     "end and save within this time after a signal or --time-limit: drop updates that wait to be sent, and if necessary "
     "save without a certificate of the last clock; write the model to TMPDIR if its own file cannot be written",
     "Limits", 0},
    {"checkpoint", HAWSER_PATH, NULL, NULL, "DIR",
     "write checkpoints of the training to this folder; the same command, given again, goes on from the newest one, with "
     "the "
     "same result under bsp. A training that has ended removes them",
     "Checkpoints", 0},
    {"checkpoint-every", HAWSER_SECONDS, "60", "[0,1e9]", "TIME",
     "time between two checkpoints; 0: another one whenever the last one is written", "Checkpoints", 0},
    {"checkpoint-keep", HAWSER_INTEGER, "2", "[2,1000]", "N", "checkpoints that are kept", "Checkpoints", 0},
    {"fresh", HAWSER_FLAG, "no", NULL, NULL,
     "delete the checkpoints in the folder of --checkpoint, and begin from the start", "Checkpoints", 0},
    {"unit-warning", HAWSER_SECONDS, "120", "[0,1e9]", "TIME",
     "name a unit, observer, stop test, merge function or a function or filter of a table that computes this long without "
     "returning, again after twice as long; 0: never",
     "Limits", 0},
    {"unit-timeout", HAWSER_SECONDS, "0", "[0,1e9]", "TIME",
     "end the job with exit code 8 if one of these computes this long without returning; 0: never", "Limits", 0},
    {"timeout", HAWSER_SECONDS, "600", "(0,1e9]", "TIME",
     "fail if all workers on all nodes wait this long, or if a node waits this long for another node's part of the "
     "input",
     "Limits", 0},
    {"key-file", HAWSER_PATH, NULL, NULL, "FILE",
     "file with the job's key, mode 0600; not needed if the launcher distributes a key", "Nodes and network", 0},
    {"listen", HAWSER_INTEGER, "0", "[0,65536]", "N",
     "be the first of N nodes; the others are started by hand or by a supervisor (hawser node --join); requires "
     "--key-file; 0: no",
     "Nodes and network", 0},
    {"join", HAWSER_TEXT, NULL, NULL, "HOST:PORT", "be one of the other nodes: the address of the first one",
     "Nodes and network", 0},
    {"node-name", HAWSER_TEXT, NULL, NULL, "NAME", "name of this node in messages; default: its host's name",
     "Nodes and network", 0},
    {"alone", HAWSER_FLAG, "no", NULL, NULL, "be a job of one process, even in a launcher's environment",
     "Nodes and network", 0},
    {"interface", HAWSER_TEXT, NULL, NULL, "NAME",
     "network interface or address to listen on, or all; default: loopback and the address of the default route",
     "Nodes and network", 0},
    {"port-range", HAWSER_TEXT, NULL, NULL, "LOW-HIGH", "ports to listen on; default: the system's choice",
     "Nodes and network", 0},
    {"transport", HAWSER_WORD, "auto", "auto|shm|unix|tcp|ucx", "WAY",
     "transport between nodes of one host: shared memory (shm), Unix sockets, TCP or the library UCX; auto: the first "
     "of "
     "these that works, except UCX; shm, unix and ucx fail if they do not work; between hosts it is TCP, or UCX with "
     "--trust-fabric",
     "Nodes and network", 0},
    {"trust-fabric", HAWSER_FLAG, "no", NULL, NULL,
     "do not encrypt links between hosts; nodes still prove the job's key, but whoever can read the network can "
     "read "
     "the data, and whoever can write to it can change the data; allows RDMA (InfiniBand, RoCE) with --transport "
     "ucx",
     "Nodes and network", 0},
    {"failure-timeout", HAWSER_SECONDS, "5", "[0.2,3600]", "TIME", "time without a message after which a node is lost",
     "Nodes and network", 0},
    {"join-timeout", HAWSER_SECONDS, "60", "[0.1,86400]", "TIME", "how long to wait until all nodes have joined",
     "Nodes and network", 0},
    {"rate", HAWSER_BYTES, "0", NULL, "BYTES",
     "bytes of updates, and of requests and replies of a store, that a node may send per second to the other nodes, and as "
     "many to stand-alone servers; input, results and control are not limited; 0: no limit",
     "Exchange between workers", 0},
    {"topology", HAWSER_TEXT, "auto", NULL, "GRAPH",
     "links over which nodes exchange updates: all, halton, tree, servers:K, or file:PATH with one link FROM TO per "
     "line; "
     "nodes without a common link get updates through others, and tree and servers add them up on the way. With --sync bsp "
     "auto is servers:N for N nodes on four hosts or more and tree for more than 8 on fewer; with ssp and exact updates "
     "it is servers:N on eight hosts or more; else it is all",
     "Exchange between workers", 0},
    {"backlog", HAWSER_BYTES, "1M", NULL, "BYTES",
     "under ssp and tap, merge the updates of several clocks into one message once this many bytes wait to be sent to "
     "other "
     "nodes; 0: never",
     "Exchange between workers", 0},
    {"slow", HAWSER_TEXT, NULL, NULL, "WORKER:FACTOR",
     "testing aid: make one worker FACTOR times slower by sleeping after its work in each clock", "Tests of Hawser itself",
     0},
    {"record-history", HAWSER_PATH, NULL, NULL, "FILE",
     "record every read, write, clock and wait, with digests of values; node N of several writes FILE.N",
     "Tests of Hawser itself", 0},
    {"rehearse", HAWSER_INTEGER, "0", "[0,inf)", "N",
     "after one in N clocks, drawn by the seed, write what blocks and tests remember, drop it and read it back, and run "
     "units "
     "and tests twice from there; bits are the same, and a program that remembers anything elsewhere fails; 0: never",
     "Tests of Hawser itself", 0},
    {"check", HAWSER_FLAG, "no", NULL, NULL,
     "check the guarantees of the sync policy at every clock, and that units read nothing of the data that is only on other "
     "nodes",
     "Tests of Hawser itself", 0},
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0},
};

const hawser_option *hawser_job_rows(void)
{
    return job_rows;
}

bool hw_option_of_one_node(const char *key)
{
    static const char *const keys[] = {"listen",    "join",       "key-file", "node-name",    "alone",
                                       "interface", "port-range", "threads",  "memory-limit", "output",
                                       "json",      "quiet",      "trace",    "plot",         "log-view",
                                       "log-json",  "config",     "help",     "help-all"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

const hawser_option *hw_machine_rows(void)
{
    static const hawser_option rows[] = {
        {"threads", HAWSER_INTEGER, "0", "[0,4096]", "N", "workers that compute at the same time; 0: all", "Machine", 0},
        {"memory-limit", HAWSER_BYTES, NULL, "[1M,8E)", "BYTES",
         "refuse a run whose states need more; if unset, what the machine and its cgroup have free, divided among the nodes "
         "of the host",
         "Machine", 0},
        {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0},
    };
    return rows;
}
