/* gather.c - what the nodes of a load exchange: reports of all, sums, and pieces of the input in rounds. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/share/array.h"
#include "runtime/input/loading.h"

hawser_status hw_loading_agree(hw_loading *l, hawser_status own, hawser_error *error)
{
    if (l->failed)
        return own;
    own = hw_cluster_agree(l->cluster, own, error);
    l->failed = own != HAWSER_OK;
    return own;
}

/* A collective call that failed here has no end that all nodes see alike: this node has left it, and must not wait for the
 * others again. */
static hawser_status called(hw_loading *l, hawser_status status)
{
    l->failed = l->failed || status != HAWSER_OK;
    return status;
}

hawser_status hw_loading_alltoall(hw_loading *l, const hw_bytes *out, hw_bytes *in, hawser_error *error)
{
    return called(l, hw_cluster_alltoall(l->cluster, out, in, error));
}

/* ---- reports ---- */

hawser_status hw_loading_gather(hw_loading *l, hawser_status own, const void *data, size_t length, hw_bytes **in,
                                hawser_error *error)
{
    *in = NULL;
    HAWSER_THEN(own, HW_NEW(in, l->nodes, "reports of the nodes", error));
    HAWSER_TRY(hw_loading_agree(l, own, error));
    return called(l, hw_cluster_allgather(l->cluster, (hw_bytes){(void *)(uintptr_t)data, length}, *in, error));
}

hawser_status hw_loading_collect(hw_loading *l, const void *own, size_t size, void **all, hawser_error *error)
{
    hw_bytes *in;
    hawser_status status = hw_new_array(all, l->nodes, size, "reports of the nodes", error);
    status = hw_loading_gather(l, status, own, size, &in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        if (in[i].length == size)
            memcpy((char *)*all + i * size, in[i].data, size);
        else
            status = hw_share_misfit(i, error);
    hw_bytes_free(in, l->nodes);
    return status;
}

hawser_status hw_loading_add(hw_loading *l, uint64_t *numbers, size_t count, hawser_error *error)
{
    uint64_t *all = NULL;
    hawser_status status = hw_loading_collect(l, numbers, count * sizeof *numbers, (void **)&all, error);
    for (size_t k = 0; status == HAWSER_OK && k < count; k++) {
        numbers[k] = 0;
        for (uint32_t i = 0; i < l->nodes; i++)
            numbers[k] += all[i * count + k];
    }
    free(all);
    return status;
}

hawser_status hw_loading_by_block(hw_loading *l, const hw_view *view, uint64_t *items, hawser_error *error)
{
    uint64_t *all = NULL;
    hawser_status status = hw_loading_collect(l, items, view->blocks * sizeof *items, (void **)&all, error);
    for (uint32_t b = 0; status == HAWSER_OK && b < view->blocks; b++)
        items[b] = all[(size_t)hw_view_node(view, b) * view->blocks + b];
    free(all);
    return status;
}

hawser_status hw_loading_by_owner(hw_loading *l, hawser_status own, const hw_owners *owners, double *numbers, size_t cols,
                                  hawser_error *error)
{
    hw_bytes *in;
    hawser_status status = hw_loading_gather(l, own, numbers, cols * sizeof *numbers, &in, error);
    for (size_t j = 0; status == HAWSER_OK && j < cols; j++) {
        const hw_bytes *from = &in[hw_owner(owners, j)];
        if (from->length == cols * sizeof *numbers)
            numbers[j] = ((const double *)from->data)[j];
    }
    hw_bytes_free(in, l->nodes);
    return status;
}

/* ---- sums ---- */

/* Returns where the slice of a node begins among `lines`. */
static size_t slice(hw_loading *l, size_t lines, uint32_t node)
{
    return lines * node / l->nodes;
}

/* Adds up the slice of this node, of which the others have sent their counts. */
static hawser_status add_slices(hw_loading *l, const hw_bytes *in, size_t length, uint64_t *sums, hawser_error *error)
{
    for (uint32_t i = 0; i < l->nodes; i++) {
        if (in[i].length != length * sizeof *sums)
            return hw_share_misfit(i, error);
        for (size_t j = 0; j < length; j++)
            sums[j] += ((const uint64_t *)in[i].data)[j];
    }
    return HAWSER_OK;
}

/* Adds up counts[line] over the nodes: each node a slice of the lines, whose sums it sends to all. */
static hawser_status add_lines(hw_loading *l, size_t lines, const uint64_t *counts, uint64_t *sums, hawser_error *error)
{
    hw_bytes *out = NULL, *in = NULL;
    const size_t begin = slice(l, lines, l->self), length = slice(l, lines, l->self + 1) - begin;
    hawser_status status = HW_NEW(&out, l->nodes, "counts", error);
    HAWSER_THEN(status, HW_NEW(&in, l->nodes, "counts", error));
    status = hw_loading_agree(l, status, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        out[i] = (hw_bytes){(void *)(uintptr_t)(counts + slice(l, lines, i)),
                            (slice(l, lines, i + 1) - slice(l, lines, i)) * sizeof *counts};
    HAWSER_THEN(status, hw_loading_alltoall(l, out, in, error));
    HAWSER_THEN(status, add_slices(l, in, length, sums + begin, error));
    hw_bytes_free(in, l->nodes);
    free(out);
    status = hw_loading_gather(l, status, sums + begin, length * sizeof *sums, &in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        const size_t first = slice(l, lines, i), bytes = (slice(l, lines, i + 1) - first) * sizeof *sums;
        if (in[i].length != bytes)
            status = hw_share_misfit(i, error);
        else if (bytes != 0)
            memcpy(sums + first, in[i].data, bytes);
    }
    hw_bytes_free(in, l->nodes);
    return status;
}

uint64_t hw_loading_begin_lines(uint64_t *counts, size_t lines)
{
    uint64_t sum = 0;
    for (size_t j = 0; j <= lines; j++) {
        const uint64_t count = j < lines ? counts[j] : 0;
        counts[j] = sum;
        sum += count;
    }
    return sum;
}

hawser_status hw_loading_offsets(hw_loading *l, size_t lines, const uint64_t *counts, uint64_t **offsets,
                                 hawser_error *error)
{
    HAWSER_TRY(hw_loading_agree(l, HW_NEW(offsets, lines + 1, "offsets", error), error));
    HAWSER_TRY(add_lines(l, lines, counts, *offsets, error));
    (void)hw_loading_begin_lines(*offsets, lines);
    return HAWSER_OK;
}

/* ---- pieces ---- */

/* Frees what a round has left. */
static void clear(hw_bytes *pieces, uint32_t nodes)
{
    for (uint32_t i = 0; i < nodes; i++) {
        free(pieces[i].data);
        pieces[i] = (hw_bytes){0};
    }
}

hawser_status hw_loading_deal(hw_loading *l, const hw_deal *deal, hawser_error *error)
{
    hw_bytes *out = NULL, *in = NULL;
    hawser_status status = HW_NEW(&out, l->nodes, "pieces of the input", error);
    HAWSER_THEN(status, HW_NEW(&in, l->nodes, "pieces of the input", error));
    status = hw_loading_agree(l, status, error);
    for (uint32_t round = 0; round < deal->rounds && status == HAWSER_OK; round++) {
        status = hw_loading_agree(l, deal->pack(deal->user, round, out, error), error);
        HAWSER_THEN(status, called(l, hw_cluster_hand_over(l->cluster, out, in, error)));
        HAWSER_THEN(status, deal->place(deal->user, round, in, error));
        clear(in, l->nodes);
        status = hw_loading_agree(l, status, error);
    }
    hw_bytes_free(out, l->nodes);
    hw_bytes_free(in, l->nodes);
    return status;
}
