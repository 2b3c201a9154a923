/*
 * place.h - how a process finds out from its launcher that it is one node of several.
 *
 * A launcher gives each process a number, the number of all, the job's name and key, and passes one address from node 0, the
 * manager, to the others. After that the nodes talk to each other. One file per launcher implements hw_place_ops.
 *
 * `hawser run` (cli/run) uses a channel: a socket in HAWSER_LAUNCH ("fd:N") with lines of text. launcher -> node: "key HEX".
 * Node 0 -> launcher: "address ADDRESS". launcher -> others: "manager ADDRESS". node -> launcher: "lost N WHY", when another
 * node's failure is about to end it. Node 0 -> launcher: "progress N", when a checkpoint of clock N is on disk; `hawser run
 * --restarts` counts these. launcher -> nodes: "ended N TEXT", when node N has failed, because the others would
 * wait without end for a node that never joins. End of file: the launcher is gone. The other facts are in HAWSER_NODE,
 * HAWSER_NODES, HAWSER_JOB, HAWSER_NODE_NAME, HAWSER_SOCKETS (other nodes are on this host: the directory for Unix sockets,
 * or "@" for abstract ones) and HAWSER_LOCAL (all nodes are on this host). The key is never in the environment.
 */
#ifndef HW_CLUSTER_PLACE_H
#define HW_CLUSTER_PLACE_H

#include "base/messages.h"
#include "transport/net/net.h"

typedef struct hw_place hw_place;

enum {
    HW_PLACE_NODES_MOST = 65536,
    HW_PLACE_DIRECTORY = 80 /* bytes of a directory for sockets: a path of a socket in it must fit 108 bytes */
};

/* A node that has failed, as the launcher saw it: "node 2 (birch, pid 4711) was killed by signal 9 (KILL)". */
typedef struct hw_node_end {
    uint32_t node;
    char text[300];
} hw_node_end;

typedef struct hw_place_ops {
    const char *how; /* for messages: "hawser run", "PMIx" ... */
    /* Publishes node 0's address; blocks shortly. */
    hawser_status (*publish)(hw_place *place, const char *address, hawser_error *error);
    /* Waits at most `seconds` for node 0's address, on the other nodes. */
    hawser_status (*fetch)(hw_place *place, double seconds, char address[HW_NET_ADDRESS], hawser_error *error);
    /* Reports that another node has failed or was lost and will end this one, so that the launcher can distinguish cause and
     * consequence. May be NULL; never blocks; any thread, one at a time. */
    void (*lost)(hw_place *place, uint32_t node, const char *why);
    /* Takes bytes that the launcher has sent since node 0's address. Returns true, the node's number and a text with a verb
     * if they report that a node has failed; call again without bytes until it returns false. NULL: the launcher reports
     * nothing. One thread at a time. */
    bool (*take)(hw_place *place, const void *bytes, size_t length, hw_node_end *end);
    /* Releases the launcher's resources; the place stays readable. Idempotent. */
    void (*close)(hw_place *place);
} hw_place_ops;

struct hw_place {
    const hw_place_ops *ops; /* NULL: a single node */
    uint32_t node, nodes;    /* HW_NET_ANY and 0 if the manager assigns them */
    char job[HW_NET_NAME];
    char name[HW_NET_NAME]; /* of this node */
    unsigned char key[HW_NET_KEY_MOST];
    size_t key_length;
    int lifeline;   /* a descriptor that ends when the launcher is gone; -1: none */
    int channel[2]; /* read, write; -1 */
    void *state;    /* of the launcher's file */
    char directory
        [HW_PLACE_DIRECTORY];  /* for Unix sockets among nodes of one host, mode 0700; "@": abstract; "": none given */
    bool secluded;             /* no other node is on this host */
    bool local;                /* all nodes are on one host */
    bool key_of_file;          /* the key is that of --key-file, not of the launcher */
    bool reports;              /* this is node 0 of `hawser run`, which counts its checkpoints: channel[1] */
    bool forked;               /* by a process that has joined: this one is alone */
    bool by_hand;              /* only the manager may have the job's arguments */
    uint16_t port;             /* of node 0, if the others know it beforehand; 0: any */
    const char *listening;     /* addresses on which node 0 listens, while it publishes its address */
    char manager[160];         /* host of node 0, if the launcher gives it beforehand */
    hawser_messages *messages; /* of the options */
    const hawser_cancellation
        *cancellation; /* ends `fetch` with HAWSER_STOP, except that of PMIx, whose calls cannot be ended; NULL: none */
};

/* The user's options. Zero fields: not given. */
typedef struct hw_place_options {
    char *const *environment; /* ended by NULL */
    const char *key_file;
    const void *key; /* the bytes of a key, instead of a key file */
    size_t key_length;
    const char *name; /* of this node; NULL: the launcher's name, else the host's */
    const char *join; /* HOST:PORT of the manager of a job whose nodes are started by hand */
    uint32_t node;    /* number of a node that joins; 0: the manager assigns one */
    uint32_t listen;  /* be that manager, of this many nodes including this one; 0: no */
    bool alone;       /* ignore the environment */
    uint16_t port_low, port_high;
    hawser_messages
        *messages; /* where the manager of nodes that are started by hand reports its address; NULL: it is printed */
} hw_place_options;

/* Asks all launchers of this build in turn. HAWSER_OK with place->ops == NULL: a single node. If the environment belongs to
 * one of several processes but to no launcher of this build, the error names the likely cause: processes that each work as
 * the only node would all write the same model. */
hawser_status hw_place_find(const hw_place_options *options, hw_place *place, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether a single process was likely meant to be one of several, with a text. */
bool hw_place_doubt(char *const *environment, char *text, size_t size);
/* Releases everything and erases the key. Idempotent; harmless on a place that hw_place_find has not filled. */
void hw_place_close(hw_place *place);

/* Reports to `hawser run --restarts` that a new checkpoint, of this clock, is on disk. Does nothing on nodes other than 0
 * and under other launchers. Never blocks; any thread, while the place is open. */
void hw_place_progress(const hw_place *place, uint64_t clock);

/* Fills at most 256 bytes from the kernel's random numbers. */
hawser_status hw_random_bytes(void *out, size_t size, hawser_error *error) HAWSER_MUST_USE;
/* Makes a job key of 32 random bytes; converts it to text. */
hawser_status hw_key_make(unsigned char key[32], hawser_error *error) HAWSER_MUST_USE;
void hw_key_text(const unsigned char *key, size_t length, char *text); /* 2 * length + 1 bytes */
hawser_status hw_key_parse(const char *text, size_t digits, unsigned char key[HW_NET_KEY_MOST], size_t *length,
                           hawser_error *error) HAWSER_MUST_USE;
/* Reads a key from a file that only its owner may read (mode 0600 or stricter; else refused). */
hawser_status hw_key_read(const char *path, unsigned char key[HW_NET_KEY_MOST], size_t *length,
                          hawser_error *error) HAWSER_MUST_USE;
/* Copies a key that a program gives. HAWSER_BAD_ARGUMENT: its length. */
hawser_status hw_key_copy(const void *given, size_t bytes, unsigned char key[HW_NET_KEY_MOST], size_t *length,
                          hawser_error *error) HAWSER_MUST_USE;
/* Stores the key of the options: its bytes, or that of the key file. HAWSER_BAD_OPTION: both are given. */
hawser_status hw_key_take(const hw_place_options *options, hw_place *place, hawser_error *error) HAWSER_MUST_USE;
/* Writes a key to a new file of mode 0600; does not replace a file. */
hawser_status hw_key_write(const char *path, const unsigned char *key, size_t length, hawser_error *error) HAWSER_MUST_USE;

/* One launcher each: HAWSER_OK with place->ops still NULL means another launcher, or a single node. */
hawser_status hw_place_run(const hw_place_options *options, hw_place *place, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_place_pmix(const hw_place_options *options, hw_place *place, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_place_pmi(const hw_place_options *options, hw_place *place, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_place_slurm(const hw_place_options *options, hw_place *place, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_place_hand(const hw_place_options *options, hw_place *place, hawser_error *error) HAWSER_MUST_USE;

/* Finds the first host of a list in Slurm's form; false: the list is none. */
bool hw_nodelist_first(const char *list, char *host, size_t size);

/* Returns the value of a variable, or NULL. */
const char *hw_variable(char *const *environment, const char *name);
/* Reads a whole number from `low` to `high`; false: there is none, or something else. */
bool hw_variable_number(char *const *environment, const char *name, uint64_t low, uint64_t high, uint64_t *value);

#endif
