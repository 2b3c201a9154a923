#include "history/file.h"

#include <ctype.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "histories lie in files as they lie in memory");
_Static_assert(sizeof(hw_event_record) == 80 && sizeof(hw_history_head) == 40 && sizeof(hw_batch_head) == 48,
               "the layouts of docs/history.md");

static const char head_magic[] = "HWHISTF\n", batch_magic[] = "HWBATCH\n";

hawser_status hw_history_path(const char *file, uint32_t node, char **path, hawser_error *error)
{
    size_t capacity = strlen(file) + sizeof ".4294967295";
    HAWSER_TRY(HW_NEW(path, capacity, "a history", error));
    (void)snprintf(*path, capacity, node == 0 ? "%s" : "%s.%" PRIu32, file, node);
    return HAWSER_OK;
}

void hw_history_head_make(uint32_t node, uint32_t nodes, uint64_t token, hw_history_head *head)
{
    *head = (hw_history_head){.node = node, .nodes = nodes, .record = sizeof(hw_event_record), .token = token};
    memcpy(head->magic, head_magic, sizeof head->magic);
    head->digest = hw_hash(head, offsetof(hw_history_head, digest), 0);
}

static uint64_t digest_of(const hw_batch_head *head, const void *records)
{
    return hw_hash(records, (size_t)head->count * sizeof(hw_event_record),
                   hw_hash(head, offsetof(hw_batch_head, digest), 0));
}

void hw_batch_head_make(const hw_log *log, hw_batch_head *head)
{
    *head = (hw_batch_head){.stream = log->name, .number = log->batches, .count = log->count};
    memcpy(head->magic, batch_magic, sizeof head->magic);
    head->digest = digest_of(head, log->records);
}

void hw_close_make(uint64_t batches, uint64_t records, hawser_status ended, const uint32_t *lost, size_t lost_count,
                   hw_batch_head *head, hw_event_record *into)
{
    into[0] = (hw_event_record){.kind = HW_EVENT_CLOSE,
                                .from = lost_count > 0 ? lost[0] : HW_HISTORY_NONE,
                                .first = batches,
                                .count = records,
                                .clock = (uint64_t) - (int64_t)ended};
    for (size_t i = 1; i < lost_count; i++)
        into[i] = (hw_event_record){.kind = HW_EVENT_LOST, .from = lost[i]};
    hw_log log = {.name = {.kind = HW_STREAM_FILE}, .records = into, .count = lost_count > 1 ? lost_count : 1};
    hw_batch_head_make(&log, head);
}

/* ---------------------------------------------------------------------------------------------------------- reading ---- */

static int by_name(const void *a, const void *b)
{
    const hw_stream_name *x = &((const hw_stream *)a)->name, *y = &((const hw_stream *)b)->name;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Returns the slot of a name in the hash table, or the free slot for it. */
static size_t *place_of(const hw_history *history, const hw_stream_name *name)
{
    size_t at = (size_t)hw_hash(name, sizeof *name, 0);
    for (;; at++) {
        size_t *place = &history->places[at & (history->place_count - 1)];
        if (*place == 0 || memcmp(&history->streams[*place - 1].name, name, sizeof *name) == 0)
            return place;
    }
}

static hawser_status widen(hw_history *history, hawser_error *error)
{
    size_t *wider = NULL, count = history->place_count > 0 ? 2 * history->place_count : 64;
    HAWSER_TRY(HW_NEW(&wider, count, "the streams of a history", error));
    free(history->places);
    history->places = wider;
    history->place_count = count;
    for (size_t i = 0; i < history->count; i++)
        *place_of(history, &history->streams[i].name) = i + 1;
    return HAWSER_OK;
}

static hawser_status find_stream(hw_history *history, hw_stream_name name, hw_stream **stream, hawser_error *error)
{
    if (2 * (history->count + 1) > history->place_count)
        HAWSER_TRY(widen(history, error));
    size_t *place = place_of(history, &name);
    if (*place == 0) {
        HAWSER_TRY(HW_GROW(&history->streams, &history->capacity, history->count + 1, "the streams of a history", error));
        history->streams[history->count++] = (hw_stream){.name = name, .node = HW_HISTORY_NONE};
        *place = history->count;
    }
    *stream = &history->streams[*place - 1];
    return HAWSER_OK;
}

/* One file while it is read. */
typedef struct reading {
    hw_history *history;
    const char *path;
    const unsigned char *bytes;
    size_t size, at;
    uint32_t node;
    uint64_t batches, records;
} reading;

static hawser_status read_head(reading *r, hawser_error *error)
{
    hw_history *history = r->history;
    hw_history_head head, right;
    const size_t name = sizeof head.magic - 2; /* the version digit and a newline follow */
    if (r->size >= sizeof head.magic && memcmp(r->bytes, head_magic, name) == 0 && r->bytes[name] != head_magic[name])
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "%s is a history of another version of hawser (layout %c; this one reads layout %c): check it with "
            "the one that recorded it",
            r->path, isalnum(r->bytes[name]) ? r->bytes[name] : '?', head_magic[name]);
    if (r->size < sizeof head || memcmp(r->bytes, head_magic, sizeof head.magic) != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s is not a history; hawser train --record-history FILE writes one",
                           r->path);
    memcpy(&head, r->bytes, sizeof head);
    hw_history_head_make(head.node, head.nodes, head.token, &right);
    if (memcmp(&head, &right, sizeof head) != 0 || head.nodes == 0 || head.node >= head.nodes || head.nodes > 65536)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the head of the history is damaged", r->path);
    if (history->parts == NULL) {
        HAWSER_TRY(HW_NEW(&history->parts, head.nodes, "the parts of a history", error));
        history->nodes = head.nodes;
        history->token = head.token;
    }
    if (head.token != history->token || head.nodes != history->nodes)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s is of another job than the files before it", r->path);
    if (history->parts[head.node].read)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: node %" PRIu32 " has a file already", r->path, head.node);
    history->parts[head.node].read = true;
    r->node = head.node;
    r->at = sizeof head;
    return HAWSER_OK;
}

/* Records that a file is not whole. Whether the history is refused is decided when all files have been read. */
static hawser_status not_whole(const reading *r, hawser_error *error)
{
    hawser_error words = {0};
    char **trouble = &r->history->parts[r->node].trouble;
    (void)!hawser_fail(&words, HAWSER_BAD_INPUT,
                       "%s is not whole: it ends after %" PRIu64 " records, at byte %zu, without its end record", r->path,
                       r->records, r->at);
    return hw_copy_text(trouble, words.text, error);
}

static hawser_status damaged(const reading *r, const char *what, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the batch at byte %zu %s; the history is damaged", r->path, r->at,
                       what);
}

/* Takes the name of a lost node from an end record. Returns whether it is another node of the job. */
static bool take_lost(reading *r, uint32_t node)
{
    bool is_other = node < r->history->nodes && node != r->node;
    if (is_other)
        r->history->parts[node].lost = true;
    return is_other;
}

/* The records of the lost nodes that follow the end record. */
static hawser_status take_others(reading *r, const unsigned char *records, uint64_t count, hawser_error *error)
{
    for (uint64_t i = 0; i < count; i++) {
        hw_event_record record;
        memcpy(&record, records + i * sizeof record, sizeof record);
        const hw_event_record right = {.kind = HW_EVENT_LOST, .from = record.from};
        if (memcmp(&right, &record, sizeof right) != 0 || !take_lost(r, record.from))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s has an end record that names a lost node with other fields than one has; the history is "
                               "damaged",
                               r->path);
    }
    return HAWSER_OK;
}

static hawser_status check_closed(reading *r, const hw_event_record *record, hawser_error *error)
{
    if (record->first != r->batches || record->count != r->records)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s is not whole: it has %" PRIu64 " batches with %" PRIu64 " records where there were %" PRIu64
                           " with %" PRIu64,
                           r->path, r->batches, r->records, record->first, record->count);
    if (r->at != r->size)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s continues after its end record, at byte %zu", r->path, r->at);
    hawser_status ended = (hawser_status) - (int64_t)(record->clock < 1000 ? record->clock : 1000);
    const hw_event_record right = {.kind = HW_EVENT_CLOSE,
                                   .from = ended != HAWSER_OK ? record->from : HW_HISTORY_NONE,
                                   .first = record->first,
                                   .count = record->count,
                                   .clock = record->clock};
    if (memcmp(&right, record, sizeof right) != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s has an end record with other fields than one has; the history is damaged", r->path);
    if (ended == HAWSER_OK)
        return HAWSER_OK;
    /* a record that names a lost node is preferred to one that only says that the job failed */
    bool names = take_lost(r, record->from);
    if (r->history->ended == HAWSER_OK || names)
        r->history->ended = ended;
    return HAWSER_OK;
}

static hawser_status keep(reading *r, const hw_batch_head *head, const unsigned char *records, hawser_error *error)
{
    hw_stream *stream = NULL;
    HAWSER_TRY(find_stream(r->history, head->stream, &stream, error));
    if (stream->node == HW_HISTORY_NONE)
        stream->node = r->node;
    if (stream->node != r->node)
        return damaged(r, "is of a stream of another node", error);
    if (stream->batches != head->number)
        return damaged(r, "is not the next one of its stream", error);
    size_t count = (size_t)head->count;
    HAWSER_TRY(HW_GROW(&stream->records, &stream->capacity, stream->count + count, "a history", error));
    if (count > 0)
        memcpy(stream->records + stream->count, records, count * sizeof *stream->records);
    for (size_t i = stream->count; i < stream->count + count; i++) {
        hw_event_record *record = &stream->records[i];
        if (record->kind == 0 || record->kind >= HW_EVENT_CLOSE)
            return damaged(r, "has a record of an unknown kind", error);
        if (record->kind == HW_EVENT_NAME)
            record->name[HW_HISTORY_NAME - 1] = '\0';
    }
    stream->count += count;
    stream->batches++;
    r->batches++;
    r->records += count;
    r->history->records += count;
    r->history->parts[r->node].records += count;
    return HAWSER_OK;
}

/* Reads a batch. Sets *closed once the last batch has been read, or if there is none. */
static hawser_status read_batch(reading *r, bool *closed, hawser_error *error)
{
    hw_batch_head head;
    *closed = r->size - r->at < sizeof head;
    if (*closed)
        return not_whole(r, error);
    memcpy(&head, r->bytes + r->at, sizeof head);
    if (memcmp(head.magic, batch_magic, sizeof head.magic) != 0 || head.stream.kind < HW_STREAM_BLOCK ||
        head.stream.kind > HW_STREAM_FILE || head.stream.zero != 0)
        return damaged(r, "has a wrong head", error);
    const unsigned char *records = r->bytes + r->at + sizeof head;
    *closed = head.count > (r->size - r->at - sizeof head) / sizeof(hw_event_record);
    if (*closed)
        return not_whole(r, error);
    if (digest_of(&head, records) != head.digest)
        return damaged(r, "does not fit its digest", error);
    size_t size = sizeof head + (size_t)head.count * sizeof(hw_event_record);
    if (head.stream.kind != HW_STREAM_FILE) {
        HAWSER_TRY(keep(r, &head, records, error));
        r->at += size;
        return HAWSER_OK;
    }
    hw_event_record record;
    if (head.count < 1)
        return damaged(r, "is an end record of an unknown kind", error);
    memcpy(&record, records, sizeof record);
    /* Other lost nodes follow a first one. */
    if (record.kind != HW_EVENT_CLOSE || (head.count > 1 && (record.clock == 0 || record.from >= r->history->nodes)))
        return damaged(r, "is an end record of an unknown kind", error);
    *closed = true;
    r->at += size;
    HAWSER_TRY(check_closed(r, &record, error));
    return take_others(r, records + sizeof record, head.count - 1, error);
}

hawser_status hw_history_add(hw_history *history, const char *path, const void *bytes, size_t size, hawser_error *error)
{
    reading r = {.history = history, .path = path, .bytes = bytes, .size = size};
    bool closed = false;
    HAWSER_TRY(read_head(&r, error));
    while (!closed)
        HAWSER_TRY(read_batch(&r, &closed, error));
    return HAWSER_OK;
}

/* Checks that the file of a node which was not lost is whole. */
static hawser_status check_part(const hw_history *history, uint32_t node, hawser_error *error)
{
    const hw_history_part *part = &history->parts[node];
    const char *others = history->ended != HAWSER_OK ? "; no other node's file says that it was lost" : "";
    if (part->lost || (part->read && part->trouble == NULL))
        return HAWSER_OK;
    if (part->trouble != NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s%s: the job was killed or still runs, and nothing is verified",
                           part->trouble, others);
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "the history of a job of %" PRIu32 " nodes lacks the file of node %" PRIu32 "%s", history->nodes,
                       node, others);
}

hawser_status hw_history_whole(hw_history *history, hawser_error *error)
{
    for (uint32_t node = 0; node < history->nodes; node++) {
        HAWSER_TRY(check_part(history, node, error));
        history->cut += !history->parts[node].read || history->parts[node].trouble != NULL;
    }
    for (size_t i = 0; i < history->count; i++) {
        hw_stream *stream = &history->streams[i];
        stream->cut = stream->cut || (stream->node < history->nodes && history->parts[stream->node].trouble != NULL);
    }
    if (history->count > 1)
        qsort(history->streams, history->count, sizeof *history->streams, by_name);
    return HAWSER_OK;
}

const hw_stream *hw_history_stream(const hw_history *history, hw_stream_kind kind, uint32_t run, uint32_t number)
{
    const hw_stream wanted = {.name = {.kind = (uint32_t)kind, .run = run, .number = number}};
    if (history->count == 0)
        return NULL;
    return bsearch(&wanted, history->streams, history->count, sizeof wanted, by_name);
}

/* Returns the number of streams before those of a kind and run. */
static size_t streams_before(const hw_history *history, uint32_t kind, uint64_t run)
{
    size_t low = 0, high = history->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const hw_stream_name *name = &history->streams[middle].name;
        if (name->kind < kind || (name->kind == kind && name->run < run))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t hw_streams_of(const hw_history *history, hw_stream_kind kind, uint32_t run)
{
    return streams_before(history, (uint32_t)kind, (uint64_t)run + 1) - streams_before(history, (uint32_t)kind, run);
}

void hw_history_free(hw_history *history)
{
    for (size_t i = 0; i < history->count; i++)
        free(history->streams[i].records);
    for (uint32_t node = 0; history->parts != NULL && node < history->nodes; node++)
        free(history->parts[node].trouble);
    free(history->streams);
    free(history->places);
    free(history->parts);
    *history = (hw_history){0};
}
