/* history_put.h - histories made in memory: a stream's records, which the history takes (malloc). Names are given once. */
#ifndef HW_TESTS_HISTORY_PUT_H
#define HW_TESTS_HISTORY_PUT_H

#include <stdlib.h>

#include "history/file.h"

static inline void put_stream(hw_history *history, hw_stream_name name, hw_event_record *records, size_t count)
{
    hw_stream *streams = realloc(history->streams, (history->count + 1) * sizeof *streams);
    if (streams == NULL)
        abort();
    history->streams = streams;
    history->capacity = history->count + 1;
    streams[history->count++] =
        (hw_stream){.name = name, .records = records, .count = count, .capacity = count, .node = HW_HISTORY_NONE};
    history->records += count;
}

#endif
