/*
 * checkpoint.h - what a server's tables hold, taken out and put in as it lies, while nobody asks: for files.
 *
 * A dense table is taken by ranges of keys, a sparse one row by row in the order of its memory, which is the same for keys, values and what
 * the function keeps beside them.
 */
#ifndef HW_STORE_CHECKPOINT_H
#define HW_STORE_CHECKPOINT_H

#include "store/server.h"
#include "store/shard.h"

/* Bytes of a part of one row. */
size_t hw_part_bytes(const hw_table_spec *spec, hw_part part);

/* Takes a table's stripes from whoever works on them, one after the other; *held of them are taken, 0 at first. False: somebody works on the
 * next, try again. Then hw_server_release. */
bool hw_server_hold(hw_server *server, uint32_t table, uint32_t *held) HAWSER_MUST_USE;
void hw_server_release(hw_server *server, uint32_t table);

/* A summed table: is there a clock of some group that not all of its workers have ended, with updates? The oldest. Not while groups come or go. */
bool hw_server_between(const hw_server *server, uint32_t table, uint64_t *clock);
uint64_t hw_server_rows(const hw_server *server, uint32_t table);

/* Dense: this server's rows among keys first..last, one after the other; the number of them. */
size_t hw_server_take_range(const hw_server *server, uint32_t table, uint64_t first, uint64_t last, hw_part part,
                            unsigned char *out);
/* Sparse: `count` rows from where the cursor stands, which begins zeroed; the number of them. */
typedef struct hw_cursor {
    uint32_t stripe;
    size_t slot;
} hw_cursor;
size_t hw_server_take_rows(const hw_server *server, uint32_t table, hw_cursor *cursor, size_t count, hw_part part,
                           unsigned char *out);

/* How many rows of a table a file brings to this server. */
typedef struct hw_coming {
    uint64_t table, rows;
} hw_coming;
/* Takes room for what a file brings to sparse tables beyond what it replaces; HAWSER_NO_MEMORY: there is not so much, and none is taken. Either way
 * *promised is for hw_server_loaded. */
hawser_status hw_server_promise(hw_server *server, const hw_coming *coming, size_t count, uint64_t *promised,
                                hawser_error *error) HAWSER_MUST_USE;
/* Forgets the sparse ones' rows, whose memory goes back; they count until hw_server_loaded. Of data-centric ones what was kept to be read again.
 * While no group comes or goes. */
void hw_server_forget(hw_server *server, const hw_coming *coming, size_t count);
/* Puts rows in; memory NULL where the function keeps none. HAWSER_BAD_INPUT: a key is not this server's. */
hawser_status hw_server_put_rows(hw_server *server, uint32_t table, const uint64_t *keys, size_t count,
                                 const unsigned char *values, const unsigned char *memory,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Counts what is there now, instead of what was promised. */
void hw_server_loaded(hw_server *server, const hw_coming *coming, size_t count, uint64_t promised);

#endif
