/*
 * reduction.c - feeds the reductions of four blocks (hawser_allreduce) with messages in any order, some of them changed.
 * While no message has been changed, all blocks get the same results and none fails. After a change a block may refuse, and
 * says why; nothing is read or written out of bounds, and no maximum is NaN.
 *
 * Input: a byte for the topology, a byte for the calls of a clock, then actions of two bytes: what, and on which block. A
 * change takes two more.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/reduction.h"
#include "exchange/replica.h"

enum { BLOCKS = 4, MOST = 600, CALLS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A block, and the messages that each other block has sent it, in their order. */
typedef struct fuzzed_block {
    hw_reduction *reduction;
    hw_message *inbox[BLOCKS];
    uint64_t clock;
    uint32_t number;
    bool waits, ended, failed;
} fuzzed_block;

typedef struct fuzzed_job {
    fuzzed_block blocks[BLOCKS];
    uint32_t homes[BLOCKS];
    hw_view view;
    uint64_t epoch;
    uint8_t calls; /* chooses them */
    bool keeps_little;
    bool honest; /* no message has been changed, and no block has lacked a result */
} fuzzed_job;

static const char *name_of(const void *owner, uint32_t unit)
{
    (void)owner;
    return unit < 2 ? "unit" : NULL;
}

static void open_job(fuzzed_job *job, uint8_t topology, uint8_t calls)
{
    static const uint32_t homes[4][BLOCKS] = {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 2, 3}, {1, 0, 1, 0}};
    static const uint32_t nodes[] = {1, 2, 4, 2};
    *job = (fuzzed_job){.calls = calls, .keeps_little = (topology & 128) != 0, .honest = true, .epoch = 1};
    memcpy(job->homes, homes[topology % 4], sizeof job->homes);
    job->view = (hw_view){HW_VIEW_FIRST, BLOCKS, nodes[topology % 4], job->homes};
    for (uint32_t b = 0; b < BLOCKS; b++) {
        bool by_blocks = topology % 4 == 0 && topology / 4 % 2 == 1;
        hw_adding_kind kind = by_blocks ? HW_ADDING_BLOCKS : (hw_adding_kind)(topology / 4 % 3);
        hw_reduction_spec spec = {.block = b,
                                  .blocks = BLOCKS,
                                  .view = topology % 4 > 0 || by_blocks ? &job->view : NULL,
                                  .shape = {kind, 1 + topology / 12 % 2},
                                  .keep = job->keeps_little ? 3000 : HW_REDUCTION_KEPT,
                                  .unit_name = name_of};
        if (hw_reduction_new(&spec, &job->blocks[b].reduction, NULL) != HAWSER_OK)
            abort();
        hw_reduction_begin(job->blocks[b].reduction, job->epoch);
        hw_reduction_begin_clock(job->blocks[b].reduction, 0);
    }
}

static void close_job(fuzzed_job *job)
{
    for (uint32_t b = 0; b < BLOCKS; b++) {
        hw_reduction_free(job->blocks[b].reduction);
        for (uint32_t source = 0; source < BLOCKS; source++)
            hw_messages_free(job->blocks[b].inbox[source]);
    }
}

/* The reductions of a clock, the same on all blocks. */
static uint32_t calls_of(const fuzzed_job *job, uint64_t clock)
{
    return (uint32_t)((job->calls + clock) % (CALLS + 1));
}

static hw_reduction_call call_of(const fuzzed_job *job, uint64_t clock, uint32_t number)
{
    static const size_t counts[] = {1, 5, 64, 65, 300, MOST, 0};
    uint64_t drawn = (job->calls / 4 + 3 * clock + 2 * number) % 63;
    return (hw_reduction_call){(uint32_t)(drawn % 2), counts[drawn % 7], (hawser_combine_by)(drawn / 7 % 3)};
}

/* A block's numbers: a range of whole ones, the rest zeros. */
static void fill(uint32_t block, uint64_t clock, uint32_t number, size_t count, double *values)
{
    size_t begin = block * count / 8, end = count - (3 - block) * count / 8;
    for (size_t i = 0; i < count; i++)
        values[i] = i >= begin && i < end ? (double)((i * 7 + block * 5 + clock + number) % 11) - 5.0 : 0.0;
}

/* Combines the numbers of all blocks without messages: sums of whole numbers are exact in any order. */
static void expect(const hw_reduction_call *call, uint64_t clock, uint32_t number, double *values)
{
    double one[MOST];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        fill(b, clock, number, call->count, one);
        for (size_t i = 0; i < call->count; i++)
            values[i] = b == 0                   ? one[i]
                        : call->by == HAWSER_SUM ? values[i] + one[i]
                        : call->by == HAWSER_MAX ? fmax(values[i], one[i])
                                                 : fmin(values[i], one[i]);
    }
}

static void check(fuzzed_job *job, fuzzed_block *block, hawser_status status, const hawser_error *error)
{
    if (status == HAWSER_OK)
        return;
    if (job->honest || error->text[0] == '\0')
        abort();
    block->failed = true;
}

static bool receives(const fuzzed_job *job, uint32_t from, uint32_t to, uint32_t destination)
{
    bool near = job->homes[from] == job->homes[to];
    return to != from && (destination == HW_TO_BLOCKS || destination == to || (destination == HW_TO_NODES && !near) ||
                          (destination == HW_TO_LOCAL && near));
}

static void send_all(fuzzed_job *job, uint32_t from)
{
    hw_message *message, *copy;
    while ((message = hw_reduction_next(job->blocks[from].reduction)) != NULL) {
        for (uint32_t to = 0; to < BLOCKS; to++)
            if (receives(job, from, to, message->envelope.destination)) {
                if (hw_message_share(message, &copy, NULL) != HAWSER_OK)
                    abort();
                hw_append(&job->blocks[to].inbox[from], copy);
            }
        hw_message_free(message);
    }
}

static void take(fuzzed_job *job, fuzzed_block *block)
{
    double values[MOST], expected[MOST];
    hw_reduction_call call = call_of(job, block->clock, block->number);
    hw_stop_request stop;
    hawser_error error = {0};
    if (!hw_reduction_ready(block->reduction))
        return;
    check(job, block, hw_reduction_take(block->reduction, values, &stop, &error), &error);
    block->waits = false;
    for (size_t i = 0; !block->failed && i < call.count; i++)
        if (isnan(values[i]))
            abort();
    expect(&call, block->clock, block->number, expected);
    if (job->honest && call.count > 0 && memcmp(values, expected, call.count * sizeof *values) != 0)
        abort();
    block->number++;
}

static void put(fuzzed_job *job, fuzzed_block *block, uint32_t own)
{
    double values[MOST];
    hw_reduction_call call = call_of(job, block->clock, block->number);
    hawser_error error = {0};
    fill(own, block->clock, block->number, call.count, values);
    check(job, block, hw_reduction_put(block->reduction, &call, values, (hw_stop_request){0}, &error), &error);
    block->waits = true;
}

/* The next step of a block's unit. */
static void step(fuzzed_job *job, uint32_t own)
{
    fuzzed_block *block = &job->blocks[own];
    hawser_error error = {0};
    if (block->waits) {
        take(job, block);
    } else if (!block->ended && block->number < calls_of(job, block->clock)) {
        put(job, block, own);
    } else if (!block->ended) {
        check(job, block, hw_reduction_end_clock(block->reduction, &error), &error);
        block->ended = true;
    } else if (hw_reduction_all_ended(block->reduction, block->clock + 1)) {
        hw_reduction_begin_clock(block->reduction, ++block->clock);
        block->number = 0;
        block->ended = false;
    }
    send_all(job, own);
}

/* Does the clock over. If results took too much memory, the block may not. */
static void redo(fuzzed_job *job, fuzzed_block *block)
{
    job->honest = job->honest && !job->keeps_little;
    hw_reduction_begin_clock(block->reduction, block->clock);
    block->number = 0;
    block->waits = block->ended = false;
}

/* Starts the next epoch if every block has ended the same clock and no message is in flight. */
static void next_epoch(fuzzed_job *job)
{
    for (uint32_t b = 0; b < BLOCKS; b++) {
        const fuzzed_block *block = &job->blocks[b];
        if (!block->ended || block->failed || block->clock != job->blocks[0].clock)
            return;
        for (uint32_t source = 0; source < BLOCKS; source++)
            if (block->inbox[source] != NULL)
                return;
    }
    job->epoch++;
    for (uint32_t b = 0; b < BLOCKS; b++) {
        fuzzed_block *block = &job->blocks[b];
        hw_reduction_begin(block->reduction, job->epoch);
        hw_reduction_begin_clock(block->reduction, 0);
        block->clock = block->number = 0;
        block->ended = false;
    }
}

static void set_number(hw_message *message, size_t at, double value)
{
    if (sizeof(hw_share_head) + (at + 1) * sizeof value <= message->envelope.length)
        memcpy((char *)message->payload + sizeof(hw_share_head) + at * sizeof value, &value, sizeof value);
}

static void set_head(hw_message *message, uint8_t field, uint8_t value)
{
    hw_share_head head;
    if (message->envelope.length < sizeof head)
        return;
    memcpy(&head, message->payload, sizeof head);
    switch (field % 4) {
    case 0: head.count = value == 255 ? UINT64_MAX : value; break;
    case 1: head.first = value == 255 ? UINT64_MAX : value; break;
    case 2: head.by = value; break;
    default: head.stop = value;
    }
    memcpy(message->payload, &head, sizeof head);
}

static void change_envelope(hw_envelope *envelope, uint8_t field, uint8_t value)
{
    switch (field % 9) {
    case 0: envelope->source = value % 8; break;
    case 1: envelope->loop = value; break;
    case 2: envelope->epoch = value % 4; break;
    case 3: envelope->clock = value == 255 ? UINT64_MAX : value % 8; break;
    case 4: envelope->part = value == 255 ? UINT32_MAX : value % 8; break;
    case 5: envelope->last = value % 3; break;
    case 6:
        envelope->first = value == 255 ? UINT32_MAX : value % 8;
        envelope->covers = value / 16 % 6;
        break;
    case 7: envelope->range = value == 255 ? UINT32_MAX : value % 5; break;
    default: envelope->count = value == 255 ? UINT64_MAX / 8 : value;
    }
}

/* Replaces a message by one with a changed field, another number, or other bytes at its end. */
static hw_message *changed(hw_message *message, uint8_t what, uint8_t value)
{
    size_t length = (size_t)message->envelope.length, kept = length;
    hw_message *made;
    if (what % 4 == 3)
        length = value & 1 ? length + 8 * (value / 2) : length > value / 2 ? length - value / 2 : 0;
    if (hw_message_new(length, &made, NULL) != HAWSER_OK)
        abort();
    kept = kept < length ? kept : length;
    if (length > 0)
        memset(made->payload, 0, length);
    if (kept > 0)
        memcpy(made->payload, message->payload, kept);
    made->envelope = message->envelope;
    made->envelope.length = length;
    hw_message_free(message);
    if (what % 4 == 0)
        change_envelope(&made->envelope, what / 4, value);
    else if (what % 4 == 1)
        set_head(made, what / 4, value);
    else if (what % 4 == 2)
        set_number(made, value, what & 4 ? NAN : what & 8 ? INFINITY : value);
    else if ((value & 2) != 0 && length >= sizeof(hw_share_head))
        made->envelope.count = (length - sizeof(hw_share_head)) / sizeof(double);
    return made;
}

static hw_message *unlink_first(hw_message **list)
{
    hw_message *message = *list;
    if (message != NULL) {
        *list = message->next;
        message->next = NULL;
    }
    return message;
}

static void accept(fuzzed_job *job, uint32_t own, hw_message *message)
{
    hawser_error error = {0};
    check(job, &job->blocks[own], hw_reduction_accept(job->blocks[own].reduction, message, &error), &error);
    send_all(job, own);
}

/* Returns how many bytes of the input it has used. */
static size_t act(fuzzed_job *job, const uint8_t *data, size_t size)
{
    uint32_t own = data[1] % BLOCKS, source = data[1] / BLOCKS % BLOCKS;
    fuzzed_block *block = &job->blocks[own];
    hw_message *message, *copy;
    if (block->failed)
        return 2;
    switch (data[0] % 8) {
    case 0:
    case 1:
    case 2: step(job, own); return 2;
    case 3: redo(job, block); return 2;
    case 4: next_epoch(job); return 2;
    default: break;
    }
    message = unlink_first(&block->inbox[source]);
    if (message == NULL)
        return 2;
    if (data[0] % 8 == 6) { /* it arrives twice */
        if (hw_message_share(message, &copy, NULL) != HAWSER_OK)
            abort();
        accept(job, own, copy);
    } else if (data[0] % 8 == 7 && size >= 4) {
        job->honest = false;
        accept(job, own, changed(message, data[2], data[3]));
        return 4;
    }
    accept(job, own, message);
    return 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzzed_job job;
    if (size < 2)
        return 0;
    open_job(&job, data[0], data[1]);
    data += 2;
    size -= 2;
    while (size >= 2) {
        size_t used = act(&job, data, size);
        data += used;
        size -= used;
    }
    close_job(&job);
    return 0;
}
