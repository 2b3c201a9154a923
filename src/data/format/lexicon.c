#include "data/format/lexicon.h"

#include <stdlib.h>
#include <string.h>

/* Words that the first slots have room for, and bytes of the first pages. */
enum { SLOTS_FIRST = 1 << 10, BYTES_FIRST = 1 << 13 };

/* Returns the slot that has the word, or the free one where it belongs. */
static size_t slot_of(const hw_lexicon *l, const char *text, size_t length, uint32_t hash)
{
    const size_t mask = l->slot_count - 1;
    size_t at = hash & mask;
    for (; l->slots[at] != 0; at = (at + 1) & mask) {
        const hw_lexicon_word *word = &l->words[l->slots[at] - 1];
        if (word->hash == hash && word->length == length && memcmp(l->bytes + word->at, text, length) == 0)
            break;
    }
    return at;
}

static hawser_status grow_slots(hw_lexicon *l, hawser_error *error)
{
    const size_t count = l->slot_count != 0 ? 2 * l->slot_count : SLOTS_FIRST, mask = count - 1;
    uint32_t *slots = NULL;
    HAWSER_TRY(hw_pages_new(l->budget, (void **)&slots, count * sizeof *slots, error));
    for (size_t k = 0; k < l->count; k++) {
        size_t at = l->words[k].hash & mask;
        while (slots[at] != 0)
            at = (at + 1) & mask;
        slots[at] = (uint32_t)k + 1;
    }
    hw_pages_free(l->budget, l->slots, l->slots_size);
    l->slots = slots;
    l->slot_count = count;
    l->slots_size = count * sizeof *slots;
    return HAWSER_OK;
}

/* Makes room for `wanted` bytes, at least doubling. */
static hawser_status grow(const hw_lexicon *l, void **pages, size_t *size, size_t wanted, hawser_error *error)
{
    if (wanted <= *size)
        return HAWSER_OK;
    const size_t doubled = *size != 0 ? 2 * *size : BYTES_FIRST;
    return hw_pages_grow(l->budget, pages, size, doubled > wanted ? doubled : wanted, error);
}

bool hw_lexicon_find(const hw_lexicon *lexicon, const char *text, size_t length, uint64_t hash, uint32_t *number)
{
    if (lexicon->count == 0)
        return false;
    const uint32_t found = lexicon->slots[slot_of(lexicon, text, length, (uint32_t)hash)];
    *number = found - 1;
    return found != 0;
}

hawser_status hw_lexicon_put(hw_lexicon *l, const char *text, size_t length, uint64_t hash, uint32_t *number,
                             hawser_error *error)
{
    if (hw_lexicon_find(l, text, length, hash, number))
        return HAWSER_OK;
    if (l->count >= UINT32_MAX - 1 || length > UINT32_MAX)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the text has more than %zu different words", l->count);
    if (2 * (l->count + 1) > l->slot_count)
        HAWSER_TRY(grow_slots(l, error));
    HAWSER_TRY(grow(l, (void **)&l->bytes, &l->bytes_size, l->used + length + 1, error));
    HAWSER_TRY(grow(l, (void **)&l->words, &l->words_size, (l->count + 1) * sizeof *l->words, error));
    memcpy(l->bytes + l->used, text, length);
    l->bytes[l->used + length] = '\0';
    l->words[l->count] = (hw_lexicon_word){.at = l->used, .length = (uint32_t)length, .hash = (uint32_t)hash};
    l->slots[slot_of(l, text, length, (uint32_t)hash)] = (uint32_t)l->count + 1;
    l->used += length + 1;
    *number = (uint32_t)l->count++;
    return HAWSER_OK;
}

void hw_lexicon_free(hw_lexicon *lexicon)
{
    hw_pages_free(lexicon->budget, lexicon->bytes, lexicon->bytes_size);
    hw_pages_free(lexicon->budget, lexicon->words, lexicon->words_size);
    hw_pages_free(lexicon->budget, lexicon->slots, lexicon->slots_size);
    *lexicon = (hw_lexicon){.budget = lexicon->budget};
}

/* A word by its first bytes, most significant first, which decide most comparisons. */
typedef struct sorted_word {
    uint64_t front;
    const char *text;
    uint32_t number;
} sorted_word;

static int compare_words(const void *a, const void *b)
{
    const sorted_word *x = a, *y = b;
    return x->front != y->front ? (x->front > y->front) - (x->front < y->front) : strcmp(x->text, y->text);
}

static uint64_t front_of(const char *text)
{
    uint64_t front = 0;
    for (int k = 0; k < 8; k++)
        front = front << 8 | (unsigned char)(*text != '\0' ? *text++ : 0);
    return front;
}

hawser_status hw_lexicon_sort(const hw_lexicon *lexicon, uint32_t *order, hawser_error *error)
{
    sorted_word *words = NULL;
    const size_t bytes = (lexicon->count + 1) * sizeof *words;
    HAWSER_TRY(hw_pages_new(lexicon->budget, (void **)&words, bytes, error));
    for (size_t k = 0; k < lexicon->count; k++) {
        const char *text = hw_lexicon_text(lexicon, (uint32_t)k);
        words[k] = (sorted_word){front_of(text), text, (uint32_t)k};
    }
    qsort(words, lexicon->count, sizeof *words, compare_words);
    for (size_t k = 0; k < lexicon->count; k++)
        order[k] = words[k].number;
    hw_pages_free(lexicon->budget, words, bytes);
    return HAWSER_OK;
}
