/*
 * place.h - how a process learns that it is one node of several: what its launcher says.
 *
 * A launcher hands each process a number, how many there are, the job's name and key, and carries one address from node 0, the
 * manager, to the others. After that the nodes talk among themselves. One file a launcher implements hw_place_ops.
 *
 * `hawser run` (cli/run) uses a channel: a socket in HAWSER_LAUNCH ("fd:N") with lines of text: launcher -> node "key HEX", node 0 ->
 * launcher "address ADDRESS", launcher -> others "manager ADDRESS", node -> launcher "lost N WHY" when another node's failure is about to end it,
 * launcher -> nodes "ended N TEXT" when node N has failed: without it the others would wait for a node that never joins.
 * Its end of file says that the launcher is gone. HAWSER_NODE, HAWSER_NODES, HAWSER_JOB, HAWSER_NODE_NAME, HAWSER_SOCKETS (other nodes
 * are on this host: the directory for Unix sockets, or "@" for abstract ones) and HAWSER_LOCAL (all nodes are) say the rest; the key is never
 * in the environment.
 */
#ifndef HW_CLUSTER_PLACE_H
#define HW_CLUSTER_PLACE_H

#include "transport/net.h"

typedef struct hw_place hw_place;

enum {
    HW_PLACE_NODES_MOST = 65536,
    HW_PLACE_DIRECTORY = 80 /* bytes of a directory for sockets: a socket's path in it has to fit 108 */
};

/* A node that has failed, as the launcher saw it: "node 2 (birch, pid 4711) was killed by signal 9 (KILL)". */
typedef struct hw_node_end {
    uint32_t node;
    char text[300];
} hw_node_end;

typedef struct hw_place_ops {
    const char *how; /* for people: "hawser run", "PMIx" ... */
    /* Node 0 hands in its address; blocks shortly. */
    hawser_status (*publish)(hw_place *place, const char *address, hawser_error *error);
    /* The others wait for node 0's address for at most `seconds`. */
    hawser_status (*fetch)(hw_place *place, double seconds, char address[HW_NET_ADDRESS], hawser_error *error);
    /* Another node has failed or was lost, and this one will end for it: so that the launcher can tell cause from consequence. May be
     * NULL; never blocks; any thread, one at a time. */
    void (*lost)(hw_place *place, uint32_t node, const char *why);
    /* Takes bytes that the launcher has sent since node 0's address. Returns true, the node's number and a text with a verb if they report that a
     * node has failed; call again without bytes until it returns false. NULL: the launcher reports nothing. One thread at a time. */
    bool (*take)(hw_place *place, const void *bytes, size_t length, hw_node_end *end);
    /* Lets go of the launcher's resources; the place stays readable. Idempotent. */
    void (*close)(hw_place *place);
} hw_place_ops;

struct hw_place {
    const hw_place_ops *ops; /* NULL: alone */
    uint32_t node, nodes;    /* node: HW_NET_ANY, and nodes: 0, where the manager says it */
    char job[HW_NET_NAME];
    char name[HW_NET_NAME]; /* of this node */
    unsigned char key[HW_NET_KEY_MOST];
    size_t key_length;
    int lifeline;   /* a descriptor that is at its end when the launcher is gone; -1: none */
    int channel[2]; /* read, write; -1 */
    void *state;    /* the launcher's */
    char directory
        [HW_PLACE_DIRECTORY]; /* for Unix sockets among nodes of one host, mode 0700; "@": abstract; "": none given */
    bool secluded;            /* no other node is on this host */
    bool local;               /* all nodes are on one host */
    bool by_hand;             /* only the manager may know what the job is */
    uint16_t port;            /* where node 0 has to listen, since the others know it beforehand; 0: anywhere */
    const char *listening;    /* addresses on which node 0 listens, while it publishes its address */
    char manager[160];        /* host of node 0, where the launcher says it beforehand */
};

/* What the user says. Zero fields: nothing. */
typedef struct hw_place_options {
    char *const *environment; /* ended by NULL */
    const char *key_file;
    const char *name; /* of this node; NULL: what the launcher says, else the host's name */
    const char *join; /* HOST:PORT of the manager of a job whose nodes are started by hand */
    uint32_t listen;  /* be that manager, of so many nodes with this one; 0: no */
    bool alone;       /* whatever the environment says */
    uint16_t port_low, port_high;
} hw_place_options;

/* Asks every launcher that this build knows in turn. HAWSER_OK with place->ops == NULL: alone. An environment that says "one of
 * several" in words that no launcher here understands is an error that names the likely cause: several processes that each think
 * they are alone would all write the same model. */
hawser_status hw_place_find(const hw_place_options *options, hw_place *place, hawser_error *error) HAWSER_MUST_USE;
/* Whether a process that is alone was likely meant to be one of several, and a line that says so. */
bool hw_place_doubt(char *const *environment, char *text, size_t size);
/* Lets go of everything and forgets the key. Idempotent; harmless on a place that hw_place_find has not filled. */
void hw_place_close(hw_place *place);

/* A job key of 32 random bytes, and its text form. */
hawser_status hw_key_make(unsigned char key[32], hawser_error *error) HAWSER_MUST_USE;
void hw_key_text(const unsigned char *key, size_t length, char *text); /* 2 * length + 1 bytes */
hawser_status hw_key_parse(const char *text, size_t digits, unsigned char key[HW_NET_KEY_MOST], size_t *length,
                           hawser_error *error) HAWSER_MUST_USE;
/* From a file that only its owner may read (mode 0600 or stricter, else refused). */
hawser_status hw_key_read(const char *path, unsigned char key[HW_NET_KEY_MOST], size_t *length,
                          hawser_error *error) HAWSER_MUST_USE;
/* To a new file of mode 0600; one that exists is not replaced. */
hawser_status hw_key_write(const char *path, const unsigned char *key, size_t length, hawser_error *error) HAWSER_MUST_USE;

/* One launcher each: HAWSER_OK with place->ops still NULL: not this one, or one node alone. */
hawser_status hw_place_run(const hw_place_options *options, hw_place *place, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_place_pmix(const hw_place_options *options, hw_place *place, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_place_pmi(const hw_place_options *options, hw_place *place, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_place_slurm(const hw_place_options *options, hw_place *place, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_place_hand(const hw_place_options *options, hw_place *place, hawser_error *error) HAWSER_MUST_USE;

/* The first host of a list of Slurm's; false: it is none. */
bool hw_nodelist_first(const char *list, char *host, size_t size);

/* The value of a variable, or NULL. */
const char *hw_variable(char *const *environment, const char *name);
/* A whole number from `low` to `high` in a variable; false: there is none, or something else. */
bool hw_variable_number(char *const *environment, const char *name, uint64_t low, uint64_t high, uint64_t *value);

#endif
