/*
 * lists.h - lists of keys by number, on either side of a link (Li et al. 2014, section 3.6: key caching).
 *
 * A list is kept in the form in which it goes: keys, or bits, one for each key from the first to the last. A client that uses one again sends it
 * once under a number, and from then on the number. It knows a list again by its hash and by comparing all of it, and the numbers are its own, so there is nothing to collide on the wire. Both sides keep a bounded number of
 * bytes and let go of what was not used for longest; a server that has let go says so, and the client sends the list again.
 */
#ifndef HW_STORE_LISTS_H
#define HW_STORE_LISTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

enum { HW_LISTS_MOST = 1024 }; /* numbers are 1 .. HW_LISTS_MOST */

/* What makes a list that list. */
typedef struct hw_list_of {
    uint32_t table;
    bool bits;
    uint64_t first, last;
    size_t count; /* of keys */
    size_t size;  /* of words: the same, or those that bits take */
} hw_list_of;

/* Stays as long as somebody holds it, also when its number has been given away. */
typedef struct hw_list {
    hw_list_of of;
    atomic_uint holders;
    uint32_t number;
    uint64_t hash, used; /* used: when, in looks */
    uint64_t words[];    /* keys, or bits */
} hw_list;

typedef struct hw_lists {
    hw_list *list[HW_LISTS_MOST]; /* by number - 1 */
    size_t bytes, most;
    uint32_t end; /* the highest number that was ever given */
    uint64_t looks;
    uint64_t hashes[HW_LISTS_MOST]; /* client: of the lists, beside each other to be looked through */
    uint64_t seen[HW_LISTS_MOST];   /* client: hashes of lists that were used once; by hash */
} hw_lists;

void hw_lists_init(hw_lists *lists, size_t bytes_most);
void hw_lists_free(hw_lists *lists);
void hw_list_hold(hw_list *list);
void hw_list_drop(hw_list *list); /* NULL is allowed */
size_t hw_list_bytes(const hw_list *list);

/* Server: the list under a number, or NULL. Held for the caller. */
hw_list *hw_lists_get(hw_lists *lists, uint32_t table, uint32_t number);
/* Server: keeps a list under a number, in place of what was there; does nothing where there is no room for it. */
void hw_lists_put(hw_lists *lists, uint32_t number, const hw_list_of *of, const uint64_t *words);

/* Client: the number under which the server was told of these keys (*known), or should be told of them now; 0: they are sent without one,
 * as lists are that are used for the first time. */
uint32_t hw_lists_number(hw_lists *lists, const hw_list_of *of, const uint64_t *words, bool *known);
/* Client: is this number still that of these keys? */
bool hw_lists_has(const hw_lists *lists, uint32_t number, const hw_list_of *of, const uint64_t *words);
/* Client: the server has forgotten it. */
void hw_lists_forget(hw_lists *lists, uint32_t number);

#endif
