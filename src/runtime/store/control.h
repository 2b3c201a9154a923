/*
 * control.h - control messages between the servers of a store and their clients: HW_MESSAGE_CLIENT with the kind in
 * envelope.part and the sender's number in envelope.clock, which the reply repeats. Both ends are of one release
 * (HW_STORE_CONTROL_FORMAT) but may be different builds, because a client is a program of its own. Structs have fields of
 * fixed width and no holes, and are sent as they are in memory.
 */
#ifndef HW_RUNTIME_STORE_CONTROL_H
#define HW_RUNTIME_STORE_CONTROL_H

#include "store/table.h"
#include "transport/net/net.h"

#define HW_STORE_JOB "store" /* the job's name in the handshake of clients and servers */
#define HW_STORE_CONTROL_FORMAT                                                                                             \
    7 /* the format of control messages and requests; both ends must have it and Hawser's version in common */
enum {
    HW_STORE_UNREAD = 64 << 20,
    HW_STORE_RING = 256 << 10,
    HW_STORE_WORKERS_MOST = 65536,
    HW_STORE_BUILD = 48,
    HW_STORE_SESSION = 16
};

typedef enum hw_control_message {
    HW_CONTROL_LOCATE = 1, /* -> hw_locate_wire and the address of each server; to any server */
    HW_CONTROL_REGISTER,   /* hw_register_wire: the client's session, group and node; to each server */
    HW_CONTROL_TABLE,      /* hw_table_wire: finds or makes the table -> its number; to server 0, for all servers */
    HW_CONTROL_STAT,       /* -> hw_stat_wire and a hw_count_wire for each table; to any server */
    HW_CONTROL_KEYS,       /* hw_keys_wire: of a sparse table -> keys, ascending; to each server */
    HW_CONTROL_SAVE,       /* a file's name; to server 0 */
    HW_CONTROL_LOAD,       /* likewise */
    HW_CONTROL_REPLY,      /* envelope.state: a hawser_status; payload: as above, or the error's text */
    HW_CONTROL_ENDED       /* server -> client, not a reply: why its group is over */
} hw_control_message;

typedef struct hw_locate_wire {
    uint32_t servers, self;
} hw_locate_wire;

/* The session's name is drawn at random by the client. The requests of a session have numbers, in envelope.sequence: 1, 2,
 * 3, ... to each server. The group's number is the one that server 0 has given its first node. */
typedef struct hw_register_wire {
    unsigned char session[HW_STORE_SESSION];
    uint32_t group, node, nodes, workers;
} hw_register_wire;

/* A table's description. */
typedef struct hw_table_wire {
    char name[HW_TABLE_NAME], function[HW_TABLE_NAME];
    uint32_t type, width, sparse, summed, centric, zero;
    uint64_t first, last, delay;
    double parameters[HW_FUNCTION_PARAMETERS];
} hw_table_wire;

typedef struct hw_stat_wire {
    uint32_t servers, self, groups, clients;
    uint64_t requests, refused, deferred, bytes_in, bytes_out, keys, bytes, counted, limit;
    char name[HW_NET_NAME];
} hw_stat_wire;

typedef struct hw_count_wire {
    hw_table_wire table;
    uint64_t keys, bytes;
} hw_count_wire;

typedef struct hw_keys_wire {
    uint32_t table, zero;
    uint64_t first, last, most;
} hw_keys_wire;

_Static_assert(sizeof(hw_register_wire) == 32, "no holes");
_Static_assert(sizeof(hw_table_wire) == 240 && sizeof(hw_count_wire) == 256 && sizeof(hw_stat_wire) == 152, "no holes");

/* Writes "0.1.0 store 1", which both ends compare in the handshake. */
void hw_store_build(char text[HW_STORE_BUILD]);

#endif
