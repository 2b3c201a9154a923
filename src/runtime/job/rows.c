/* rows.c - the options that every job understands; threads and memory-limit stand here for jobs that read no data; who reads
 * has the readers' rows of these names (data/options.c), with the same bounds. */
#include <string.h>

#include "runtime/job/job.h"

const hawser_option *hawser_job_rows(void)
{
    static const hawser_option rows[] = {
        {"workers", HAWSER_INTEGER, NULL, "[1,65536]", "K",
         "logical workers (blocks) that share the work; results depend on their number, not on threads; default: the "
         "processors that this process may use, fewer where the work is too small to share",
         "0.1", 'k'},
        {"sync", HAWSER_WORD, "bsp", HW_ROWS_BOUNDS(HW_POLICIES), "POLICY",
         "how tightly workers are tied: in step (bsp), at most N clocks apart (ssp:N), or not at all (tap); where weights "
         "are kept by a parameter server also by bounded delay (delay:N) or chunk by chunk without a barrier (dc:N)",
         "0.1", 's'},
        {"seed", HAWSER_INTEGER, "1", "[0,inf)", "N", "start of all random numbers", "0.1", 0},
        {"exchange-every", HAWSER_NUMBER, "1", "(0,inf)", "H",
         "work between two exchanges, as a fraction of a worker's own coordinates; if not given, an algorithm may choose "
         "otherwise (the lasso under bsp solves its working sets)",
         "0.1", 0},
        {"filter", HAWSER_WORD, "none", HW_ROWS_BOUNDS(HW_FILTERS), "NAME",
         "which entries of an update go first when a quota holds some back", "0.1", 0},
        {"quota", HAWSER_BYTES, "0", NULL, "BYTES", "bytes that a worker may send per state and exchange; 0: no limit",
         "0.1", 0},
        {"max-held-clocks", HAWSER_INTEGER, "0", "[0,inf)", "N",
         "clocks for which a filter may hold an entry back; 0: the loop's staleness + 1", "0.1", 0},
        {"encoding", HAWSER_WORD, "exact", "exact|bf16|f16|int8", "FORM",
         "form in which workers' updates travel: exact, or rounded, with the rest carried over to the next one", "0.1", 0},
        {"merge", HAWSER_WORD, "add", "add|average", "RULE", "how workers' updates are merged", "0.1", 0},
        {"max-clocks", HAWSER_INTEGER, "0", "[0,inf)", "N", "end after so many clocks in all; 0: no limit", "0.1", 0},
        {"time-limit", HAWSER_SECONDS, "0", "[0,1e9]", "TIME", "end after so much time; 0: no limit", "0.1", 0},
        {"grace", HAWSER_SECONDS, "20", "[0,1e9]", "TIME",
         "end and save within so much time after a signal or --time-limit: without updates that wait to be sent, and if "
         "necessary without a certificate of the last clock; a model whose file cannot be written goes to TMPDIR then",
         "0.1", 0},
        {"unit-warning", HAWSER_SECONDS, "120", "[0,1e9]", "TIME",
         "name a unit that computes for so long without returning, again after twice as long; 0: never", "0.1", 0},
        {"unit-timeout", HAWSER_SECONDS, "0", "[0,1e9]", "TIME",
         "end the job, by exit code 8, when a unit computes for so long without returning; 0: never", "0.1", 0},
        {"timeout", HAWSER_SECONDS, "600", "(0,1e9]", "TIME",
         "give up when every worker, on every node, has waited in silence for so long, or one node has kept another waiting "
         "so long for its part of the input",
         "0.1", 0},
        {"key-file", HAWSER_PATH, NULL, NULL, "FILE",
         "file with the job's key, readable by its owner alone, where the launcher does not hand one out", "0.1", 0},
        {"listen", HAWSER_INTEGER, "0", "[0,4096]", "N",
         "be the first of N nodes; the others are started by hand or by a supervisor (hawser node --join); needs "
         "--key-file; 0: no",
         "0.1", 0},
        {"join", HAWSER_TEXT, NULL, NULL, "HOST:PORT", "be one of the others: where the first one listens", "0.1", 0},
        {"node-name", HAWSER_TEXT, NULL, NULL, "NAME", "what the others call this node; default: its host's name", "0.1", 0},
        {"alone", HAWSER_FLAG, "no", NULL, NULL, "be one process, whatever a launcher's environment says", "0.1", 0},
        {"interface", HAWSER_TEXT, NULL, NULL, "NAME",
         "network interface or address to listen on, or all; default: the default route's address and loopback", "0.1", 0},
        {"port-range", HAWSER_TEXT, NULL, NULL, "LOW-HIGH", "ports to listen on; default: the system's choice", "0.1", 0},
        {"transport", HAWSER_WORD, "auto", "auto|shm|unix|tcp|ucx", "WAY",
         "how nodes of one host reach each other: by shared memory (shm), Unix sockets, TCP or the library UCX; auto: the "
         "first of these but UCX that can be had; shm, unix and ucx refuse any other; between hosts it is TCP, and UCX with "
         "--trust-fabric",
         "0.1", 0},
        {"trust-fabric", HAWSER_FLAG, "no", NULL, NULL,
         "do not encrypt what travels between hosts; the job's key is still proved, but whoever can listen on the network "
         "can read the data, and whoever can write there can change it; --transport ucx may then use RDMA (InfiniBand, "
         "RoCE)",
         "0.1", 0},
        {"failure-timeout", HAWSER_SECONDS, "5", "[0.2,3600]", "TIME", "silence that makes a node count as lost", "0.1", 0},
        {"join-timeout", HAWSER_SECONDS, "60", "[0.1,86400]", "TIME", "how long to wait until all nodes are there", "0.1",
         0},
        {"rate", HAWSER_BYTES, "0", NULL, "BYTES", "bytes of updates that a node may send a second; 0: no limit", "0.1", 0},
        {"topology", HAWSER_TEXT, "all", NULL, "GRAPH",
         "over which links nodes exchange updates: all, halton, tree, servers:K, or file:PATH with a link FROM TO a line; "
         "others are reached through nodes that pass updates on, and under bsp tree and servers add them up on their way",
         "0.1", 0},
        {"backlog", HAWSER_BYTES, "1M", NULL, "BYTES",
         "bytes waiting to be sent to other nodes from which on ssp and tap send several clocks' updates as one; 0: never",
         "0.1", 0},
        {"slow", HAWSER_TEXT, NULL, NULL, "WORKER:FACTOR",
         "testing aid: make one worker FACTOR times slower by sleeping after its work in each clock", "0.1", 0},
        {"record-history", HAWSER_PATH, NULL, NULL, "FILE",
         "write down every read, write, clock and wait, with digests of values; node N of several to FILE.N", "0.1", 0},
        {"check", HAWSER_FLAG, "no", NULL, NULL, "check the guarantees of the sync policy at every clock", "0.1", 0},
        {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0},
    };
    return rows;
}

bool hw_option_of_one_node(const char *key)
{
    static const char *const keys[] = {"listen",     "join",    "key-file",     "node-name", "alone",  "interface",
                                       "port-range", "threads", "memory-limit", "output",    "json",   "quiet",
                                       "trace",      "plot",    "log-view",     "log-json",  "config", "help"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

const hawser_option *hw_machine_rows(void)
{
    static const hawser_option rows[] = {
        {"threads", HAWSER_INTEGER, "0", "[0,4096]", "N", "workers that compute at the same time; 0: all", "0.1", 0},
        {"memory-limit", HAWSER_BYTES, NULL, "[1M,8E)", "BYTES",
         "refuse a run whose states need more; if unset, what the machine and its cgroup have free, divided among the nodes "
         "of "
         "the host",
         "0.1", 0},
        {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0},
    };
    return rows;
}
