/*
 * lists.h - lists of keys by number, on both sides of a link (Li et al. 2014, section 3.6: key caching). A list is kept in
 * the form in which it is sent: keys, or bits, one for each key from the first to the last.
 *
 * When a client uses a list again, it sends the list once more under a number, and from then on the number only. It
 * recognises a list by its hash and by comparing all of it. Numbers belong to the client, so there are no collisions. Both
 * sides keep a bounded number of bytes and drop the least recently used list. If a server has dropped a list, it replies so,
 * and the client sends the list again.
 */
#ifndef HW_STORE_LISTS_H
#define HW_STORE_LISTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

enum { HW_LISTS_MOST = 1024 }; /* numbers are 1 .. HW_LISTS_MOST */

/* What identifies a list. */
typedef struct hw_list_of {
    uint32_t table;
    bool bits;
    uint64_t first, last;
    size_t count; /* of keys */
    size_t size;  /* in words: the count, or the words that the bits take */
} hw_list_of;

/* A list with a reference count: it stays until it is dropped by all holders, also when its number was given to another
 * list. */
typedef struct hw_list {
    hw_list_of of;
    atomic_uint holders;
    uint32_t number;
    uint64_t hash, used; /* used: the number of the look-up that used it last */
    uint64_t words[];    /* keys, or bits */
} hw_list;

typedef struct hw_lists {
    hw_list *list[HW_LISTS_MOST]; /* by number - 1 */
    size_t bytes, most;
    uint32_t end; /* the highest number that was ever used */
    uint64_t looks;
    uint64_t hashes[HW_LISTS_MOST]; /* client: of the lists, in one array for a fast search */
    uint64_t seen[HW_LISTS_MOST];   /* client: hashes of lists that were used once; place by hash */
} hw_lists;

void hw_lists_init(hw_lists *lists, size_t bytes_most);
void hw_lists_free(hw_lists *lists);
void hw_list_drop(hw_list *list); /* NULL is allowed */
size_t hw_list_bytes(const hw_list *list);

/* Server: returns the list of a number, or NULL. The caller drops it. */
hw_list *hw_lists_get(hw_lists *lists, uint32_t table, uint32_t number);
/* Server: keeps a list under a number in place of an earlier one. Does nothing without memory. */
void hw_lists_put(hw_lists *lists, uint32_t number, const hw_list_of *of, const uint64_t *words);

/* Client: returns the number under which the server has these keys (*known), or should get them now; 0: send them without a
 * number, as at the first use. */
uint32_t hw_lists_number(hw_lists *lists, const hw_list_of *of, const uint64_t *words, bool *known);
/* Client: returns whether this number is still that of these keys. */
bool hw_lists_has(const hw_lists *lists, uint32_t number, const hw_list_of *of, const uint64_t *words);

#endif
