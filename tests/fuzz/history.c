/* Any bytes as a history's file, and any records as histories: nothing is read out of bounds, and whatever is taken can be
 * judged and told.
 *
 * The first byte says what follows: a file as it is, one whose digests are put right, or records of a few streams, each
 * behind the number of its stream; of a job that ended well or has lost a node. Digests would keep a fuzzer out, and a sum
 * of lengths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/history_put.h"
#include "history/check.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

static void judge(const hw_history *history)
{
    hw_verdict verdict;
    FILE *out = fopen("/dev/null", "w");
    if (hw_history_check(history, &verdict, NULL) == HAWSER_OK && out != NULL)
        hw_verdict_print(&verdict, history, out);
    if (out != NULL)
        fclose(out);
}

static void mend(unsigned char *bytes, size_t size)
{
    hw_history_head head;
    if (size < sizeof head)
        return;
    memcpy(&head, bytes, sizeof head);
    hw_history_head_make(head.node % 3, 1 + head.nodes % 3, head.token, &head);
    memcpy(bytes, &head, sizeof head);
    for (size_t at = sizeof head; size - at >= sizeof(hw_batch_head);) {
        hw_batch_head batch;
        memcpy(&batch, bytes + at, sizeof batch);
        size_t most = (size - at - sizeof batch) / sizeof(hw_event_record);
        hw_log log = {.name = {1 + batch.stream.kind % 4, batch.stream.run % 2, batch.stream.number % 4, 0},
                      .records = malloc((most + 1) * sizeof(hw_event_record)),
                      .count = (size_t)(batch.count < most ? batch.count : most),
                      .batches = batch.number};
        if (log.records == NULL)
            abort();
        memcpy(log.records, bytes + at + sizeof batch, log.count * sizeof(hw_event_record));
        hw_batch_head_make(&log, &batch);
        free(log.records);
        memcpy(bytes + at, &batch, sizeof batch);
        at += sizeof batch + log.count * sizeof(hw_event_record);
    }
}

static void read_file(const unsigned char *bytes, size_t size)
{
    hw_history history = {0};
    hawser_error error = {0};
    if (hw_history_add(&history, "fuzzed", bytes, size, &error) == HAWSER_OK &&
        hw_history_whole(&history, &error) == HAWSER_OK)
        judge(&history);
    else if (error.text[0] == '\0')
        abort(); /* a refusal has words */
    hw_history_free(&history);
}

static void read_records(const unsigned char *bytes, size_t size, bool lossy)
{
    enum { STREAMS = 6, EACH = 1 + sizeof(hw_event_record) };
    static const hw_stream_name names[STREAMS] = {{HW_STREAM_BLOCK, 0, 0, 0},  {HW_STREAM_BLOCK, 0, 1, 0},
                                                  {HW_STREAM_STRIPE, 0, 0, 0}, {HW_STREAM_STRIPE, 0, 1, 0},
                                                  {HW_STREAM_CLIENT, 0, 0, 0}, {HW_STREAM_CLIENT, 0, 1, 0}};
    hw_history history = {0};
    for (size_t s = 0; s < STREAMS; s++) {
        hw_event_record *records = malloc((size / EACH + 1) * sizeof *records);
        size_t count = 0;
        if (records == NULL)
            abort();
        for (size_t at = 0; size - at >= EACH; at += EACH) {
            if (bytes[at] % STREAMS != s)
                continue;
            hw_event_record *record = &records[count++];
            memcpy(record, bytes + at + 1, sizeof *record);
            record->kind = (uint8_t)(1 + record->kind % (HW_EVENT_CLOSE - 1));
            if (record->kind == HW_EVENT_NAME)
                record->name[HW_HISTORY_NAME - 1] = '\0';
        }
        if (count == 0)
            free(records);
        else
            put_stream(&history, names[s], records, count);
    }
    if (hw_history_whole(&history, NULL) == HAWSER_OK) {
        history.ended = lossy ? HAWSER_PEER_LOST : HAWSER_OK;
        for (size_t s = 0; s < history.count; s++) {
            history.streams[s].node = history.streams[s].name.number;
            history.streams[s].cut = lossy && history.streams[s].node == 1;
        }
        judge(&history);
    }
    hw_history_free(&history);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    if (size == 0)
        return 0;
    unsigned char *copy = malloc(size);
    if (copy == NULL)
        abort();
    memcpy(copy, bytes + 1, size - 1);
    if (bytes[0] % 3 == 1)
        mend(copy, size - 1);
    if (bytes[0] % 3 == 2)
        read_records(copy, size - 1, bytes[0] >= 128);
    else
        read_file(copy, size - 1);
    free(copy);
    return 0;
}
