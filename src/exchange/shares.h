/*
 * shares.h - the shares of one reduction at one block: the arrived shares, their combination, and the messages to send on.
 *
 * A share is about one block or about a subtree of the canonical tree; it is about the whole vector or about one range of
 * it. Where adding.h gathers shares at a root, each range returns as one total.
 */
#ifndef HW_EXCHANGE_SHARES_H
#define HW_EXCHANGE_SHARES_H

#include "exchange/adding.h"
#include "hawser/hawser.h"
#include "transport/transport.h"

/* The arguments on which all blocks must agree. */
typedef struct hw_reduction_call {
    uint32_t unit; /* operator number */
    size_t count;
    hawser_combine_by by;
} hw_reduction_call;

/* A request to stop that shares carry; those of all blocks are merged. */
typedef struct hw_stop_request {
    bool stop;
    uint64_t asked; /* the report of the signalled node (hw_asked); 0: it was no signal */
} hw_stop_request;

/* The head of a share's payload; envelope.count numbers of the vector follow it. */
typedef struct hw_share_head {
    uint64_t count, first; /* numbers of the whole vector; number of the first that follows */
    uint64_t asked;        /* as in hw_stop_request */
    uint32_t by, stop;     /* hawser_combine_by; 1: a block has seen a request to stop */
} hw_share_head;

/* What a share is about, and where it is sent. */
typedef struct hw_share_place {
    uint32_t first, covers, range, to;
} hw_share_place;

typedef struct hw_shares {
    bool open;
    uint64_t epoch, clock;
    uint32_t number;
    hw_reduction_call call;
    uint32_t block, blocks;
    hw_adding *adding; /* NULL: shares are sent straight to all blocks */
    uint32_t range_count;
    hw_message **pieces; /* by range, then first block */
    bool *covered;       /* by range, then block: its share, or a sum with it, has arrived */
    hw_message **totals; /* by range, where shares are gathered */
    uint32_t *missing;   /* by range: blocks whose shares this block combines for others and which have not arrived */
    uint32_t absent;     /* shares of blocks that the result still lacks, or totals of ranges where shares are gathered */
    hw_message *own;
    hw_message *outgoing;
    double *sum;     /* call.count numbers, if this block combines for others */
    double *scratch; /* a tile for each level of the tree */
} hw_shares;

/* Opens the set for a call. The set frees `adding`, which may be NULL. */
hawser_status hw_shares_open(hw_shares *shares, const hw_reduction_call *call, uint32_t block, uint32_t blocks,
                             hw_adding *adding, hawser_error *error) HAWSER_MUST_USE;
void hw_shares_close(hw_shares *shares);

/* Contributes the own share. */
hawser_status hw_shares_put(hw_shares *shares, const double *values, hw_stop_request stop,
                            hawser_error *error) HAWSER_MUST_USE;
/* Returns true if `values` are those that this block has contributed. */
bool hw_shares_equal_own(const hw_shares *shares, const double *values);
/* Takes the share of another block. */
hawser_status hw_shares_take(hw_shares *shares, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* Returns true when the result can be computed. */
bool hw_shares_complete(const hw_shares *shares);
/* Computes the result, and merges the requests to stop in the shares. */
void hw_shares_result(const hw_shares *shares, double *values, hw_stop_request *stop);

/* Checks the layout of a share from anywhere. */
bool hw_share_sound(const hw_message *message, uint32_t blocks);
hw_share_head hw_share_head_of(const hw_message *message);
/* Returns the digest of the numbers of a share, at their places in the vector. */
uint64_t hw_share_digest(const hw_message *message);

#endif
