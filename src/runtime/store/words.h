/*
 * words.h - what the servers of a store and their guests say to each other besides requests: HW_MESSAGE_GUEST with the word in envelope.part and
 * the asker's number for it in envelope.clock, which the answer repeats. Both ends are of one release (HW_STORE_WORDS), though not of one
 * build, since a guest is a program of its own; structs have fields of fixed width and no holes, and travel as they lie.
 */
#ifndef HW_RUNTIME_STORE_WORDS_H
#define HW_RUNTIME_STORE_WORDS_H

#include "store/table.h"
#include "transport/net.h"

#define HW_STORE_JOB   "store" /* what guests and servers call the job that they have in common */
#define HW_STORE_WORDS 6       /* the format of words and requests; with Hawser's version what both ends must have alike */
enum { HW_STORE_UNREAD = 64 << 20, HW_STORE_RING = 256 << 10, HW_STORE_WORKERS_MOST = 65536, HW_STORE_BUILD = 48 };

typedef enum hw_word {
    HW_WORD_WAY = 1, /* where are all servers? -> hw_told_way and a card each; to any server */
    HW_WORD_SEAT,    /* hw_told_seat: who I am; to each server */
    HW_WORD_TABLE,  /* hw_told_table: have it, made if need be -> its number; to server 0, as what is asked of all at once */
    HW_WORD_STAT,   /* -> hw_told_stat and a hw_told_count for each table; to any */
    HW_WORD_KEYS,   /* hw_told_keys: of a sparse table -> keys, ascending; to each */
    HW_WORD_SAVE,   /* a file's name; to server 0 */
    HW_WORD_LOAD,   /* the same */
    HW_WORD_ANSWER, /* envelope.state: a hawser_status; the payload as above, or what is wrong in words */
    HW_WORD_ENDED   /* server -> guest, unasked: why its group is over */
} hw_word;

typedef struct hw_told_way {
    uint32_t servers, self;
} hw_told_way;

/* The group is called by the number that server 0 has given its first node. */
typedef struct hw_told_seat {
    uint32_t group, node, nodes, workers;
} hw_told_seat;

/* What servers know of a table. */
typedef struct hw_told_table {
    char name[HW_TABLE_NAME], function[HW_TABLE_NAME];
    uint32_t type, width, sparse, summed, centric, zero;
    uint64_t first, last, delay;
    double parameters[HW_FUNCTION_PARAMETERS];
} hw_told_table;

typedef struct hw_told_stat {
    uint32_t servers, self, groups, guests;
    uint64_t requests, refused, deferred, bytes_in, bytes_out, keys, bytes, counted, limit;
    char name[HW_NET_NAME];
} hw_told_stat;

typedef struct hw_told_count {
    hw_told_table table;
    uint64_t keys, bytes;
} hw_told_count;

typedef struct hw_told_keys {
    uint32_t table, zero;
    uint64_t first, last, most;
} hw_told_keys;

_Static_assert(sizeof(hw_told_table) == 240 && sizeof(hw_told_count) == 256 && sizeof(hw_told_stat) == 152, "no holes");

/* "0.1.0 store 1": compared before anything else is believed. */
void hw_store_build(char text[HW_STORE_BUILD]);

#endif
