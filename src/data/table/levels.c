#include "data/table/levels.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

/* Returns the slot that has the word, or the free one where it belongs. */
static size_t slot_of(const hw_levels *levels, const char *text, size_t length)
{
    size_t mask = levels->slot_count - 1, at = hw_hash(text, length, 0) & mask;
    for (; levels->slots[at] != 0; at = (at + 1) & mask) {
        const char *known = levels->texts[levels->slots[at] - 1];
        if (strlen(known) == length && memcmp(known, text, length) == 0)
            break;
    }
    return at;
}

static hawser_status grow_slots(hw_levels *levels, hawser_error *error)
{
    hw_levels larger = {.texts = levels->texts, .slot_count = levels->slot_count != 0 ? 2 * levels->slot_count : 16};
    HAWSER_TRY(HW_NEW(&larger.slots, larger.slot_count, "the levels of a column", error));
    for (size_t k = 0; k < levels->count; k++)
        larger.slots[slot_of(&larger, levels->texts[k], strlen(levels->texts[k]))] = (uint32_t)k + 1;
    free(levels->slots);
    levels->slots = larger.slots;
    levels->slot_count = larger.slot_count;
    return HAWSER_OK;
}

bool hw_levels_find(const hw_levels *levels, const char *text, size_t length, uint32_t *number)
{
    if (levels->count == 0)
        return false;
    uint32_t found = levels->slots[slot_of(levels, text, length)];
    *number = found - 1;
    return found != 0;
}

hawser_status hw_levels_put(hw_levels *levels, const char *text, size_t length, uint32_t *number, hawser_error *error)
{
    char *copy = NULL;
    if (hw_levels_find(levels, text, length, number))
        return HAWSER_OK;
    if (levels->count == UINT32_MAX / 4)
        return hawser_fail(error, HAWSER_BAD_INPUT, "a column has more than %zu different words", levels->count);
    if (2 * (levels->count + 1) > levels->slot_count)
        HAWSER_TRY(grow_slots(levels, error));
    HAWSER_TRY(HW_GROW(&levels->texts, &levels->capacity, levels->count + 1, "the levels of a column", error));
    HAWSER_TRY(HW_NEW(&copy, length + 1, "a level", error));
    memcpy(copy, text, length);
    levels->texts[levels->count] = copy;
    levels->slots[slot_of(levels, text, length)] = (uint32_t)levels->count + 1;
    *number = (uint32_t)levels->count++;
    return HAWSER_OK;
}

void hw_levels_free(hw_levels *levels)
{
    for (size_t k = 0; k < levels->count; k++)
        free(levels->texts[k]);
    free(levels->texts);
    free(levels->slots);
    *levels = (hw_levels){0};
}
