/*
 * before.h - the version before the newest one of a data-centric table, kept for as long as a worker may have to repeat its
 * iteration.
 *
 * Between its reads of iterations i and i + 1 a worker holds up the write of iteration i + delay + 1. So a key is at most
 * one version past what a read in i may see (Goel et al. 2015, section 7.1). One older version of each key is therefore
 * enough, and it is kept if a reader is that far behind when the key is written. Each group has its own versions, because
 * each has its own order.
 *
 * Writes outside of any order make no version: a put changes the newest values only, and a loaded file replaces both. Only
 * the thread that works on the stripe may call these functions. They are for dense tables.
 */
#ifndef HW_STORE_BEFORE_H
#define HW_STORE_BEFORE_H

#include <stdbool.h>
#include <stdint.h>

struct hw_stripe;
struct hw_piece;

typedef struct hw_before {
    unsigned char *rows; /* the stripe's rows before the newest iteration of their keys; NULL: none was needed yet */
    uint64_t *kept;      /* one bit per row: it has changed in that iteration; else the newest version is the same */
    uint64_t bytes;      /* memory of both that is charged to the server */
    uint64_t unkept;     /* versions up to this one may lack the one before, for lack of memory */
} hw_before;

void hw_before_free(struct hw_stripe *stripe, hw_before *before);
/* Forgets all versions after a load: until a key's next iteration its newest values are those of the version before, too. */
void hw_before_forget(const struct hw_stripe *stripe, hw_before *before);
/* Keeps the present values before a piece is applied, if a worker may need them. least: iterations that all workers have
 * read of its keys. Without memory the piece is done all the same, and a read that needs the version is refused. */
void hw_before_keep(struct hw_stripe *stripe, const struct hw_piece *piece, uint64_t least);
/* Returns whether the worker of a repeated pull has read a later iteration on one of these keys. */
bool hw_before_is_past(const struct hw_stripe *stripe, const struct hw_piece *piece);
/* Returns whether a version that the pull needs was not kept. */
bool hw_before_lacks(const struct hw_stripe *stripe, const struct hw_piece *piece);
/* Replaces newer rows in the request's reply by the version that its iteration may see. */
void hw_before_give(const struct hw_stripe *stripe, const struct hw_piece *piece);

#endif
