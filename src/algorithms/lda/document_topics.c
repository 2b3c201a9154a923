#include "algorithms/lda/document_topics.h"

#include <stdlib.h>

hawser_status hw_document_topics_new(hw_document_topics *lists, const uint32_t *tokens, size_t rows, size_t topics,
                                     hawser_error *error)
{
    *lists = (hw_document_topics){.rows = rows, .topics = topics};
    uint64_t room = 0;
    lists->lists = calloc(rows + 1, sizeof *lists->lists);
    if (lists->lists == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the topics of %zu documents", rows);
    for (size_t i = 0; i < rows; i++) {
        lists->lists[i].first = room;
        room += tokens[i] < topics ? tokens[i] : topics;
        lists->wide = lists->wide || tokens[i] > HW_NARROW_COUNT;
    }
    lists->entries = lists->wide ? NULL : calloc(room + 1, sizeof *lists->entries);
    lists->entries8 = lists->wide ? calloc(room + 1, sizeof *lists->entries8) : NULL;
    if (lists->entries == NULL && lists->entries8 == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %llu counts of topics in documents",
                           (unsigned long long)room);
    return HAWSER_OK;
}

void hw_document_topics_free(hw_document_topics *lists)
{
    free(lists->lists);
    free(lists->entries);
    free(lists->entries8);
    *lists = (hw_document_topics){0};
}

static uint64_t topic_at(const hw_document_topics *lists, size_t at)
{
    return lists->wide ? lists->entries8[at] >> 32 : lists->entries[at] >> 16;
}

void hw_document_topics_add(hw_document_topics *lists, size_t row, size_t topic)
{
    size_t first = lists->lists[row].first, length = lists->lists[row].length, e = length;
    while (e > 0 && topic_at(lists, first + e - 1) >= topic)
        e--;
    size_t at = first + e;
    if (e == length || topic_at(lists, at) != topic) {
        lists->lists[row].length++;
        if (lists->wide) {
            memmove(lists->entries8 + at + 1, lists->entries8 + at, (length - e) * sizeof *lists->entries8);
            lists->entries8[at] = (uint64_t)topic << 32;
        } else {
            memmove(lists->entries + at + 1, lists->entries + at, (length - e) * sizeof *lists->entries);
            lists->entries[at] = (uint32_t)(topic << 16);
        }
    }
    if (lists->wide)
        lists->entries8[at]++;
    else
        lists->entries[at]++;
}

uint64_t hw_document_topics_bytes(uint64_t tokens, uint64_t rows, uint64_t topics)
{
    uint64_t most = rows * topics;
    return rows * sizeof(hw_topic_list) + sizeof(uint32_t) * (tokens < most ? tokens : most);
}
