#include "store/lists.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum {
    COUNT_LEAST = 16, /* a shorter list takes no more bytes than its number and head */
    LOOKED_AT = 256   /* words of a list that its hash covers; lists with equal hashes are compared */
};

void hw_lists_init(hw_lists *lists, size_t bytes_most)
{
    memset(lists, 0, sizeof *lists);
    lists->most = bytes_most;
}

void hw_lists_free(hw_lists *lists)
{
    for (uint32_t i = 0; i < HW_LISTS_MOST; i++)
        hw_list_drop(lists->list[i]);
    hw_lists_init(lists, lists->most);
}

static void list_hold(hw_list *list)
{
    atomic_fetch_add_explicit(&list->holders, 1, memory_order_relaxed);
}

void hw_list_drop(hw_list *list)
{
    if (list != NULL && atomic_fetch_sub_explicit(&list->holders, 1, memory_order_acq_rel) == 1)
        free(list);
}

static size_t bytes_of(size_t size)
{
    return sizeof(hw_list) + size * sizeof(uint64_t);
}

size_t hw_list_bytes(const hw_list *list)
{
    return bytes_of(list->of.size);
}

/* Client: drops a list that the server has dropped. */
static void lists_forget(hw_lists *lists, uint32_t number)
{
    hw_list *list = lists->list[number - 1];
    if (list == NULL)
        return;
    lists->bytes -= bytes_of(list->of.size);
    lists->list[number - 1] = NULL;
    hw_list_drop(list);
}

/* Returns the number of the least recently used list, or 0 if there is none. */
static uint32_t oldest(const hw_lists *lists)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < HW_LISTS_MOST; i++)
        if (lists->list[i] != NULL && (found == 0 || lists->list[i]->used < lists->list[found - 1]->used))
            found = i + 1;
    return found;
}

static hw_list *put(hw_lists *lists, uint32_t number, const hw_list_of *of, const uint64_t *words, uint64_t hash)
{
    lists_forget(lists, number);
    if (of->size > lists->most / sizeof *words || bytes_of(of->size) > lists->most)
        return NULL;
    while (lists->bytes + bytes_of(of->size) > lists->most)
        lists_forget(lists, oldest(lists));
    hw_list *list = malloc(bytes_of(of->size));
    if (list == NULL)
        return NULL; /* a list that is not kept is sent in full */
    *list = (hw_list){.of = *of, .number = number, .hash = hash, .used = ++lists->looks};
    atomic_init(&list->holders, 1);
    memcpy(list->words, words, of->size * sizeof *words);
    lists->bytes += bytes_of(of->size);
    lists->list[number - 1] = list;
    lists->hashes[number - 1] = hash;
    lists->end = number > lists->end ? number : lists->end;
    return list;
}

/* ---------------------------------------------------------------------------------------------------------- server ---- */

hw_list *hw_lists_get(hw_lists *lists, uint32_t table, uint32_t number)
{
    hw_list *list = number >= 1 && number <= HW_LISTS_MOST ? lists->list[number - 1] : NULL;
    if (list == NULL || list->of.table != table)
        return NULL;
    list->used = ++lists->looks;
    list_hold(list);
    return list;
}

void hw_lists_put(hw_lists *lists, uint32_t number, const hw_list_of *of, const uint64_t *words)
{
    if (number >= 1 && number <= HW_LISTS_MOST)
        (void)put(lists, number, of, words, 0);
}

/* ---------------------------------------------------------------------------------------------------------- client ---- */

static bool is_it(const hw_list *list, const hw_list_of *of, uint64_t hash, const uint64_t *words)
{
    return list != NULL && list->hash == hash && list->of.table == of->table && list->of.bits == of->bits &&
           list->of.first == of->first && list->of.last == of->last && list->of.count == of->count &&
           list->of.size == of->size && memcmp(list->words, words, of->size * sizeof *words) == 0;
}

/* Returns a free number, or that of the least recently used list. */
static uint32_t free_number(const hw_lists *lists)
{
    for (uint32_t i = 0; i < HW_LISTS_MOST; i++)
        if (lists->list[i] == NULL)
            return i + 1;
    return oldest(lists);
}

static uint64_t hash_of(const hw_list_of *of, const uint64_t *words)
{
    uint64_t near[LOOKED_AT], seed = of->first ^ of->count ^ (uint64_t)of->table << 40;
    if (of->size <= LOOKED_AT)
        return hw_hash(words, of->size * sizeof *words, seed);
    for (size_t i = 0; i < LOOKED_AT; i++)
        near[i] = words[(of->size - 1) * i / (LOOKED_AT - 1)];
    return hw_hash(near, sizeof near, seed);
}

uint32_t hw_lists_number(hw_lists *lists, const hw_list_of *of, const uint64_t *words, bool *known)
{
    *known = false;
    if (of->count < COUNT_LEAST || lists->most == 0)
        return 0;
    uint64_t hash = hash_of(of, words);
    for (uint32_t i = 0; i < lists->end; i++)
        if (lists->hashes[i] == hash && is_it(lists->list[i], of, hash, words)) {
            lists->list[i]->used = ++lists->looks;
            *known = true;
            return i + 1;
        }
    uint64_t *seen = &lists->seen[hash % HW_LISTS_MOST];
    if (*seen != hash) { /* a list that was sent once may never be sent again */
        *seen = hash;
        return 0;
    }
    hw_list *list = put(lists, free_number(lists), of, words, hash);
    return list != NULL ? list->number : 0;
}

bool hw_lists_has(const hw_lists *lists, uint32_t number, const hw_list_of *of, const uint64_t *words)
{
    return number != 0 && is_it(lists->list[number - 1], of, hash_of(of, words), words);
}
