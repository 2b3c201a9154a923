/* agreement.c - what must be equal on all blocks: bits under BSP, sums, the ends of loops, policies and choices. */
#include <inttypes.h>
#include <string.h>

#include "history/checker.h"

/* Returns the number of ranges of the state of a record. */
static uint32_t ranges_of(const hw_indexed *entry)
{
    for (size_t i = 0; i < entry->number; i++) { /* STATE records come first */
        const hw_event_record *r = &entry->stream->records[i];
        if (r->kind == HW_EVENT_STATE && r->object == hw_record_of(entry)->object)
            return r->range;
    }
    return 0;
}

/* Returns the only update among the blocks of a sum that changes anything. Returns NULL if there are several, or if that is
 * unknown. Sets *none if no update changes anything. */
static const hw_indexed *only_addend(const hw_checker *checker, const hw_indexed *sum, bool *none)
{
    const hw_event_record *r = hw_record_of(sum);
    const hw_indexed *only = NULL;
    *none = true;
    for (uint32_t j = r->from; j < r->from + r->covers; j++) {
        const uint64_t key[5] = {sum->key[0], r->epoch, r->clock, 0, j};
        size_t count;
        const hw_indexed *written = hw_index_find(&checker->writes, key, &count);
        bool whole = written != NULL && (hw_record_of(written)->flags & HW_EVENT_LAST) && hw_record_of(written)->span == 0;
        bool changes = whole && hw_record_of(written)->digest != 0;
        *none = *none && whole && !changes;
        if (!whole || (changes && only != NULL))
            return NULL;
        only = changes ? written : only;
    }
    return only;
}

/* Digests cannot predict a floating-point sum, except if only one block has changed something: then the sum, all its ranges
 * together, equals that block's update, bit for bit. The entries from i on belong to one sum, by range. */
static void check_addends(hw_checker *checker, const hw_index *agree, size_t i)
{
    const hw_indexed *first = &agree->entries[i];
    const hw_event_record *r = hw_record_of(first);
    uint32_t ranges = r->range == 0 ? 1 : ranges_of(first), seen = 0;
    uint64_t digest = 0;
    if (r->part > 0 || (r->flags & HW_EVENT_LAST) == 0 || r->range > 1)
        return;
    for (size_t at = i; at < agree->count && seen < ranges; at++) {
        const hw_indexed *entry = &agree->entries[at];
        uint16_t wanted = (uint16_t)(r->range + seen);
        if (memcmp(entry->key, first->key, 4 * sizeof *entry->key) != 0 ||
            entry->key[4] > hw_sum_key(r->from, r->covers, wanted))
            return;
        if (entry->key[4] != hw_sum_key(r->from, r->covers, wanted))
            continue;
        digest += hw_record_of(entry)->digest;
        seen++;
    }
    bool none = false;
    const hw_indexed *only = seen == ranges ? only_addend(checker, first, &none) : NULL;
    if (seen < ranges || (only == NULL && !none))
        return;
    hw_applied(checker, HW_RULE_VALUE);
    if (digest == (only != NULL ? hw_record_of(only)->digest : 0))
        return;
    const hw_at both[] = {{only != NULL ? only->stream : NULL, only != NULL ? only->number : 0},
                          {first->stream, first->number}};
    (void)hw_violation(checker, HW_RULE_VALUE, only != NULL ? both : both + 1, only != NULL ? 2 : 1,
                       "the sum of the updates of blocks %" PRIu32 " to %" PRIu32 " differs from what they wrote", r->from,
                       r->from + r->covers - 1);
}

/* Checks what must be equal on all blocks: under BSP the bits of a state when a clock begins, the clock at the end, and
 * sums. */
void hw_check_agreement(hw_checker *checker, hw_index *agree)
{
    hw_index_sort(agree);
    for (size_t i = 0; i < agree->count; i++)
        if ((agree->entries[i].key[3] & 0xff) == HW_AGREE_SUM &&
            (i == 0 || memcmp(agree->entries[i].key, agree->entries[i - 1].key, sizeof agree->entries->key) != 0))
            check_addends(checker, agree, i);
    for (size_t i = 1; i < agree->count; i++) {
        const hw_indexed *a = &agree->entries[i - 1], *b = &agree->entries[i];
        const hw_event_record *x = hw_record_of(a), *y = hw_record_of(b);
        if (memcmp(a->key, b->key, sizeof a->key) != 0)
            continue;
        const hw_at both[] = {{a->stream, a->number}, {b->stream, b->number}};
        hw_rule rule = a->key[3] == HW_AGREE_CLOCK                                    ? HW_RULE_END
                       : a->key[3] == HW_AGREE_POLICY || a->key[3] == HW_AGREE_CHOICE ? HW_RULE_ORDER
                       : a->key[3] == HW_AGREE_DIGEST                                 ? HW_RULE_BSP
                                                      : HW_RULE_VALUE; /* of a sum, or of a block whose own record is lost */
        hw_applied(checker, rule);
        if (rule == HW_RULE_END && x->clock != y->clock)
            (void)hw_violation(checker, rule, both, 2, "two blocks end at different clocks");
        else if (a->key[3] == HW_AGREE_CHOICE && (x->first != y->first || x->last != y->last))
            (void)hw_violation(checker, rule, both, 2, "two blocks choose the branches of a clock differently");
        else if (a->key[3] == HW_AGREE_POLICY && (x->part != y->part || x->count != y->count))
            (void)hw_violation(checker, rule, both, 2, "two blocks run the same loop under different policies");
        else if (rule != HW_RULE_END && rule != HW_RULE_ORDER &&
                 (x->digest != y->digest ||
                  (((a->key[3] & 0xff) == HW_AGREE_SUM || a->key[3] == HW_AGREE_COMBINED) && x->count != y->count)))
            (void)hw_violation(checker, rule, both, 2, "two blocks have different bits where they must have the same");
    }
}
