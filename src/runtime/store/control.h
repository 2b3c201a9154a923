/*
 * control.h - what the servers of a store and their clients say to each other besides requests: HW_MESSAGE_CLIENT with the word in envelope.part and
 * the asker's number for it in envelope.clock, which the answer repeats. Both ends are of one release (HW_STORE_CONTROL_FORMAT), though not of one
 * build, since a client is a program of its own; structs have fields of fixed width and no holes, and travel as they lie.
 */
#ifndef HW_RUNTIME_STORE_CONTROL_H
#define HW_RUNTIME_STORE_CONTROL_H

#include "store/table.h"
#include "transport/net.h"

#define HW_STORE_JOB "store" /* what clients and servers call the job that they have in common */
#define HW_STORE_CONTROL_FORMAT                                                                                             \
    6 /* the format of words and requests; with Hawser's version what both ends must have alike */
enum { HW_STORE_UNREAD = 64 << 20, HW_STORE_RING = 256 << 10, HW_STORE_WORKERS_MOST = 65536, HW_STORE_BUILD = 48 };

typedef enum hw_control_message {
    HW_CONTROL_LOCATE = 1, /* where are all servers? -> hw_locate_wire and an address each; to any server */
    HW_CONTROL_REGISTER,   /* hw_register_wire: who I am; to each server */
    HW_CONTROL_TABLE, /* hw_table_wire: have it, made if need be -> its number; to server 0, as what is asked of all at once */
    HW_CONTROL_STAT,  /* -> hw_stat_wire and a hw_count_wire for each table; to any */
    HW_CONTROL_KEYS,  /* hw_keys_wire: of a sparse table -> keys, ascending; to each */
    HW_CONTROL_SAVE,  /* a file's name; to server 0 */
    HW_CONTROL_LOAD,  /* the same */
    HW_CONTROL_REPLY, /* envelope.state: a hawser_status; the payload as above, or what is wrong in words */
    HW_CONTROL_ENDED  /* server -> client, unasked: why its group is over */
} hw_control_message;

typedef struct hw_locate_wire {
    uint32_t servers, self;
} hw_locate_wire;

/* The group is called by the number that server 0 has given its first node. */
typedef struct hw_register_wire {
    uint32_t group, node, nodes, workers;
} hw_register_wire;

/* What servers know of a table. */
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

_Static_assert(sizeof(hw_table_wire) == 240 && sizeof(hw_count_wire) == 256 && sizeof(hw_stat_wire) == 152, "no holes");

/* "0.1.0 store 1": compared before anything else is believed. */
void hw_store_build(char text[HW_STORE_BUILD]);

#endif
