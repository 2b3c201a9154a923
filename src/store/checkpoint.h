/*
 * checkpoint.h - reads and replaces the contents of a server's tables for files, while no request changes them. A dense
 * table is read by ranges of keys, a sparse one row by row in the order of its memory, which is the same for keys, values
 * and the function's memory.
 */
#ifndef HW_STORE_CHECKPOINT_H
#define HW_STORE_CHECKPOINT_H

#include "store/server.h"
#include "store/shard.h"

/* Returns the bytes of a part of one row. */
size_t hw_part_bytes(const hw_table_spec *spec, hw_part part);

/* Takes a table's stripes from the threads that work on them, one after the other; *held, initially 0, is their number.
 * Returns false if a thread works on the next one: try again. Then call hw_server_release. */
bool hw_server_hold(hw_server *server, uint32_t table, uint32_t *held) HAWSER_MUST_USE;
void hw_server_release(hw_server *server, uint32_t table);

/* Finds the oldest clock of a summed table that has updates and that not all workers of a group have ended. Returns false if
 * there is none. No group may come or go meanwhile. */
bool hw_server_between(const hw_server *server, uint32_t table, uint64_t *clock);
/* Returns whether the sum of a clock has overflowed here, after which no worker of its group can end a clock. */
bool hw_server_overflowed(const hw_server *server);
uint64_t hw_server_rows(const hw_server *server, uint32_t table);

/* Copies this server's rows among keys first..last of a dense table. Returns their number. */
size_t hw_server_take_range(const hw_server *server, uint32_t table, uint64_t first, uint64_t last, hw_part part,
                            unsigned char *out);
/* A position in a sparse table, zero at the start. hw_server_take_rows copies up to `count` rows from there and returns
 * their number. */
typedef struct hw_cursor {
    uint32_t stripe;
    size_t slot;
} hw_cursor;
size_t hw_server_take_rows(const hw_server *server, uint32_t table, hw_cursor *cursor, size_t count, hw_part part,
                           unsigned char *out);

/* The number of rows of a table that a file brings to this server. */
typedef struct hw_coming {
    uint64_t table, rows;
} hw_coming;
/* Reserves memory for what a file brings to sparse tables beyond what it replaces. HAWSER_NO_MEMORY: there is not enough,
 * and nothing is reserved. Pass *reserved to hw_server_loaded in both cases. */
hawser_status hw_server_reserve_load(hw_server *server, const hw_coming *coming, size_t count, uint64_t *reserved,
                                     hawser_error *error) HAWSER_MUST_USE;
/* Drops the rows of sparse tables and frees their memory, which stays charged until hw_server_loaded, and the kept versions
 * of data-centric tables. No group may come or go meanwhile. */
void hw_server_forget(hw_server *server, const hw_coming *coming, size_t count);
/* Sets rows; memory NULL: the function has none. HAWSER_BAD_INPUT: a key is not this server's. */
hawser_status hw_server_put_rows(hw_server *server, uint32_t table, const uint64_t *keys, size_t count,
                                 const unsigned char *values, const unsigned char *memory,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Charges the present rows in place of the reservation. */
void hw_server_loaded(hw_server *server, const hw_coming *coming, size_t count, uint64_t reserved);

#endif
