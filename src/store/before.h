/*
 * before.h - of a data-centric table the values before the newest, for as long as a worker may have to do its iteration over.
 *
 * Between its reads of iterations i and i + 1 a worker holds up the write of iteration i + delay + 1, so that a key is one version at most past
 * what a read in i may see (Goel et al. 2015, section 7.1). One older version of each key is therefore enough, and it is kept where a reader is
 * that far behind when the key is written. Each group has its own: order is a group's. What is set past all order is no version: a put changes the
 * newest values and not those, and what a file brings is in place of both.
 *
 * Belongs to whoever works on the stripe; functions are about dense tables alone.
 */
#ifndef HW_STORE_BEFORE_H
#define HW_STORE_BEFORE_H

#include <stdbool.h>
#include <stdint.h>

struct hw_stripe;
struct hw_piece;

typedef struct hw_before {
    unsigned char *rows; /* the stripe's, as they were before their keys' newest iteration; NULL: none had to be kept yet */
    uint64_t *kept;      /* a bit a row: it has changed in that iteration; else the newest is the same */
    uint64_t bytes;      /* of both: room that is taken for them */
    uint64_t unkept;     /* versions up to this one may lack the one before, for want of memory */
} hw_before;

void hw_before_free(struct hw_stripe *stripe, hw_before *before);
/* A file is loaded: until a key's next iteration its newest values are those of the version before, too. */
void hw_before_forget(const struct hw_stripe *stripe, hw_before *before);
/* Before values of a piece are applied: keeps what is there, where somebody may need it. least: iterations that all workers have read of its keys.
 * Where there is no memory for it the piece is done as ever, and who needs the version is refused. */
void hw_before_keep(struct hw_stripe *stripe, const struct hw_piece *piece, uint64_t least);
/* Of a pull that is done again: has its worker read a later iteration on one of these keys? */
bool hw_before_is_past(const struct hw_stripe *stripe, const struct hw_piece *piece);
/* Is a version that it needs not kept? */
bool hw_before_lacks(const struct hw_stripe *stripe, const struct hw_piece *piece);
/* Puts what its iteration may see in the place of the newer rows that the request's reply has. */
void hw_before_give(const struct hw_stripe *stripe, const struct hw_piece *piece);

#endif
