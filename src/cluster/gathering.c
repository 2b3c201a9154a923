#include "cluster/gathering.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Before each block of a message; as in the sender's memory, because nodes of a job have the same build. */
typedef struct block_head {
    uint32_t node;
    uint32_t apart; /* 1: the block is not here, and comes directly */
    uint64_t length;
} block_head;

void hw_gathering_children(uint32_t node, uint32_t nodes, uint32_t *first, uint32_t *end)
{
    const uint64_t begin = (uint64_t)node * HW_GATHERING_WIDTH + 1, past = begin + HW_GATHERING_WIDTH;
    *first = begin < nodes ? (uint32_t)begin : nodes;
    *end = past < nodes ? (uint32_t)past : nodes;
}

static bool is_below(uint32_t node, uint32_t top)
{
    while (node > top)
        node = hw_gathering_parent(node);
    return node == top;
}

static hawser_status keep(hw_gathering *gathering, const block_head *head, const void *data, hawser_error *error)
{
    hw_bytes *in = &gathering->in[head->node];
    gathering->known[head->node] = head->apart != 0 ? HW_GATHERING_APART : HW_GATHERING_KNOWN;
    gathering->waits[head->node] = 1;
    gathering->unsent++;
    if (head->apart != 0)
        return HAWSER_OK;
    in->data = malloc(head->length + 1); /* each node has one of each: aligned memory would take three times as much */
    if (in->data == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate the %" PRIu64 " bytes of node %u's block; free memory",
                           head->length, head->node);
    if (head->length != 0)
        memcpy(in->data, data, head->length);
    in->length = head->length;
    return HAWSER_OK;
}

hawser_status hw_gathering_begin(hw_gathering *gathering, uint32_t self, uint32_t nodes, hw_bytes own, hw_bytes *in,
                                 hawser_error *error)
{
    *gathering = (hw_gathering){.self = self, .nodes = nodes, .in = in};
    HAWSER_TRY(HW_NEW(&gathering->known, 2 * (size_t)nodes, "the blocks of all nodes", error));
    gathering->waits = gathering->known + nodes;
    for (uint32_t node = self + 1; node < nodes; node++)
        gathering->lacking += is_below(node, self);
    gathering->complete = nodes == 1;
    const block_head head = {.node = self, .length = own.length};
    HAWSER_TRY(keep(gathering, &head, own.data, error));
    if (own.length > HW_GATHERING_MOST)
        gathering->known[self] = HW_GATHERING_APART;
    return HAWSER_OK;
}

void hw_gathering_free(hw_gathering *gathering)
{
    free(gathering->known);
    gathering->known = NULL;
}

/* Reads the next head of a message, and moves *at behind its block. Returns false if the message is none of ours. */
static bool next_block(const hw_gathering *gathering, hw_bytes message, size_t *at, block_head *head, const void **data)
{
    if (message.length - *at < sizeof *head)
        return false;
    memcpy(head, (const char *)message.data + *at, sizeof *head);
    *at += sizeof *head;
    const uint64_t here = head->apart != 0 ? 0 : head->length;
    if (head->node >= gathering->nodes || head->apart > 1 || here > HW_GATHERING_MOST || here > message.length - *at)
        return false;
    *data = (const char *)message.data + *at;
    *at += here;
    return true;
}

static hawser_status fail_wrong(uint32_t from, hawser_error *error)
{
    return hawser_fail(error, HAWSER_INTERNAL, "node %u sent a message to all that no node can read", from);
}

hawser_status hw_gathering_take_up(hw_gathering *gathering, uint32_t child, hw_bytes message, hawser_error *error)
{
    block_head head;
    const void *data;
    for (size_t at = 0; at < message.length;) {
        if (!next_block(gathering, message, &at, &head, &data) || !is_below(head.node, child) ||
            gathering->known[head.node] != HW_GATHERING_UNKNOWN)
            return fail_wrong(child, error);
        HAWSER_TRY(keep(gathering, &head, data, error));
        gathering->lacking--;
    }
    if (gathering->self == 0 && gathering->lacking == 0)
        gathering->complete = true;
    return HAWSER_OK;
}

hawser_status hw_gathering_take_down(hw_gathering *gathering, hw_bytes message, hawser_error *error)
{
    block_head head;
    const void *data;
    uint32_t next = 0;
    if (gathering->lacking > 0)
        return fail_wrong(hw_gathering_parent(gathering->self), error);
    for (size_t at = 0; at < message.length; next++) {
        if (!next_block(gathering, message, &at, &head, &data) || head.node != next)
            return fail_wrong(hw_gathering_parent(gathering->self), error);
        if (gathering->known[next] == HW_GATHERING_UNKNOWN)
            HAWSER_TRY(keep(gathering, &head, data, error));
    }
    if (next != gathering->nodes)
        return fail_wrong(hw_gathering_parent(gathering->self), error);
    gathering->complete = true;
    return HAWSER_OK;
}

/* Makes the message with the blocks of those nodes whose mark is set; marks NULL: of all nodes. */
static hawser_status make(const hw_gathering *gathering, const uint8_t *marks, hw_bytes *message, hawser_error *error)
{
    size_t length = 0;
    for (uint32_t node = 0; node < gathering->nodes; node++)
        if (marks == NULL || marks[node] != 0)
            length += sizeof(block_head) + (gathering->known[node] == HW_GATHERING_KNOWN ? gathering->in[node].length : 0);
    *message = (hw_bytes){.length = length};
    HAWSER_TRY(hw_new_array(&message->data, length, 1, "a message to all nodes", error));
    char *to = message->data;
    for (uint32_t node = 0; node < gathering->nodes; node++) {
        if (marks != NULL && marks[node] == 0)
            continue;
        const bool apart = gathering->known[node] == HW_GATHERING_APART;
        const hw_bytes block = apart ? (hw_bytes){0} : gathering->in[node];
        const block_head head = {.node = node, .apart = apart, .length = block.length};
        memcpy(to, &head, sizeof head);
        to += sizeof head;
        if (block.length != 0)
            memcpy(to, block.data, block.length);
        to += block.length;
    }
    return HAWSER_OK;
}

hawser_status hw_gathering_make_up(hw_gathering *gathering, hw_bytes *message, hawser_error *error)
{
    HAWSER_TRY(make(gathering, gathering->waits, message, error));
    memset(gathering->waits, 0, gathering->nodes);
    gathering->unsent = 0;
    return HAWSER_OK;
}

hawser_status hw_gathering_make_down(const hw_gathering *gathering, hw_bytes *message, hawser_error *error)
{
    return make(gathering, NULL, message, error);
}

uint32_t hw_gathering_missing(const hw_gathering *gathering)
{
    for (uint32_t node = gathering->self; gathering->lacking > 0 && node < gathering->nodes; node++)
        if (gathering->known[node] == HW_GATHERING_UNKNOWN && is_below(node, gathering->self))
            return node;
    return UINT32_MAX;
}
