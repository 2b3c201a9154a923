/* cut.c - cuts a task into slices, one message each, by server, and prepares the keys of its list for sending. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/bits.h"
#include "codec/keys.h"
#include "store/task.h"

static hawser_status new_slices(hw_task *t, size_t most, hawser_error *error)
{
    return HW_NEW(&t->slices, most, "the parts of a task", error);
}

static hw_slice *add_slice(hw_task *t, uint32_t server)
{
    hw_slice *added = &t->slices[t->slice_count++];
    *added = (hw_slice){.server = server};
    return added;
}

/* Returns the number of keys in one message. */
static size_t part_keys(const hw_client *client, const hw_task *t)
{
    return hw_table_keys_of(hw_order_rows(client, &t->order), client->options.part);
}

/* Adds the next part of a server's arcs up to arc `to`. Parts begin where those of the whole arc would. Returns false if
 * there is none. */
static bool add_range_part(const hw_client *client, hw_task *t, hw_range_place *next, size_t to, size_t most)
{
    const hw_order *order = &t->order;
    if (next->arc > to)
        return false;
    const hw_arc *arc = &client->arcs[order->table].arcs[next->arc];
    uint64_t last = arc->last < order->last ? arc->last : order->last;
    uint64_t own = most - 1 - (next->first - arc->first) % most; /* keys that are left in this part, less one */
    hw_slice *part = add_slice(t, arc->server);
    part->first = next->first;
    part->last = last - part->first <= own ? last : part->first + own;
    part->begin = (size_t)(part->first - order->first);
    part->count = (size_t)(part->last - part->first) + 1;
    next->first = part->last + 1;
    if (part->last == last) {
        next->arc += client->options.servers;
        next->first = next->arc <= to ? arc[client->options.servers].first : 0;
    }
    return true;
}

/* Slices go to the servers in turn, so that all of them work at once. Pulls take HW_FOLLOWED in each turn, which leave in
 * one write. */
static hawser_status cut_range(const hw_client *client, hw_task *t, hawser_error *error)
{
    const hw_order *order = &t->order;
    const hw_arcs *arcs = &client->arcs[order->table];
    size_t from = hw_arcs_find(arcs, order->first), to = hw_arcs_find(arcs, order->last), most = part_keys(client, t);
    size_t together = order->operation == HW_PULL ? HW_FOLLOWED : 1;
    HAWSER_TRY(new_slices(t, to - from + 2 + (size_t)((order->last - order->first) / most), error));
    for (uint32_t i = 0; i < client->options.servers; i++)
        client->cursors[i] = (hw_range_place){from + i, i == 0           ? order->first
                                                        : from + i <= to ? arcs->arcs[from + i].first
                                                                         : 0};
    for (size_t before = SIZE_MAX; before != t->slice_count;) {
        before = t->slice_count;
        for (uint32_t i = 0; i < client->options.servers; i++)
            for (size_t n = 0; n < together && add_range_part(client, t, &client->cursors[i], to, most); n++)
                ;
    }
    return HAWSER_OK;
}

/* Sends a clock to every server. */
static hawser_status cut_clock(const hw_client *client, hw_task *t, hawser_error *error)
{
    HAWSER_TRY(new_slices(t, client->options.servers, error));
    for (uint32_t s = 0; s < client->options.servers; s++) {
        hw_slice *part = add_slice(t, s);
        part->first = t->order.first;
        part->last = t->order.last;
    }
    return HAWSER_OK;
}

/* Adds the parts of the rows begin .. begin + count - 1, which belong to one server. `rows` are the places of grouped keys,
 * or NULL. */
static void add_parts(hw_task *t, uint32_t server, const uint32_t *rows, size_t begin, size_t count, size_t most)
{
    for (size_t at = 0; at < count; at += most) {
        hw_slice *part = add_slice(t, server);
        part->begin = begin + at;
        part->count = count - at < most ? count - at : most;
        part->rows = rows != NULL ? rows + part->begin : NULL;
    }
}

/* Adds rows to the open slice of their server, and opens others as they fill. */
static void add_run(hw_task *t, hw_filling *to, uint32_t server, size_t begin, size_t count, size_t most)
{
    for (size_t n; count > 0; begin += n, count -= n) {
        hw_run *added = &t->runs[t->run_count++];
        if (to->part == NULL || to->part->count == most) {
            to->part = add_slice(t, server);
            to->part->begin = begin;
            to->part->runs = added;
        } else {
            to->last->next = added;
        }
        n = count < most - to->part->count ? count : most - to->part->count;
        *added = (hw_run){.begin = begin, .count = n};
        to->part->count += n;
        to->last = added;
    }
}

/* Cuts keys of a dense table into one run per arc. A slice takes runs until it is full, so that slices of all servers are
 * sent in turn. Keys that do not ascend make no more runs than others: the next key is of a later arc, or the task is
 * refused. */
static hawser_status cut_by_arc(const hw_client *client, hw_task *t, hawser_error *error)
{
    const hw_order *order = &t->order;
    const hw_arcs *arcs = &client->arcs[order->table];
    size_t most = part_keys(client, t), arcs_most = arcs->count < order->count ? arcs->count : order->count;
    size_t slices_most = client->options.servers + order->count / most, before = 0;
    HAWSER_TRY(new_slices(t, slices_most, error));
    HAWSER_TRY(HW_NEW(&t->runs, arcs_most + slices_most, "the keys of a task", error));
    memset(client->filling, 0, client->options.servers * sizeof *client->filling);
    for (size_t i = 0, end; i < order->count; i = end) {
        size_t at = hw_arcs_find(arcs, order->keys[i]);
        const hw_arc *arc = &arcs->arcs[at];
        if (i > 0 && at <= before)
            return hw_task_unordered(&client->tables[order->table], error);
        before = at;
        end = hw_keys_up_to(order->keys, i, order->count, arc->last);
        add_run(t, &client->filling[arc->server], arc->server, i, end - i, most);
    }
    return HAWSER_OK;
}

/* Groups keys by server, with their rows. On return, places[s] is the end of the keys of server s. */
static void group(hw_task *t, const uint32_t *servers, size_t *places, uint32_t server_count)
{
    const hw_order *order = &t->order;
    size_t before = 0;
    for (size_t i = 0; i < order->count; i++)
        places[servers[i]]++;
    for (uint32_t s = 0; s < server_count; s++) {
        size_t own = places[s];
        places[s] = before;
        before += own;
    }
    for (size_t i = 0; i < order->count; i++) {
        size_t to = places[servers[i]]++;
        t->keys[to] = order->keys[i];
        t->rows[to] = (uint32_t)i;
    }
}

/* Cuts keys of a sparse table, in which neighbouring keys may belong to different servers. */
static hawser_status cut_by_key(const hw_client *client, hw_task *t, hawser_error *error)
{
    const hw_order *order = &t->order;
    uint32_t count = client->options.servers;
    size_t most = part_keys(client, t), *places = NULL, each = sizeof *t->keys + sizeof *t->rows;
    hw_message *found = NULL;
    HAWSER_TRY(new_slices(t, count + order->count / most, error));
    HAWSER_TRY(hw_pool_message(client->pool, order->count * each, &t->buffer, error));
    t->keys = t->buffer->payload;
    t->rows = (uint32_t *)(t->keys + order->count);
    HAWSER_TRY(hw_pool_message(client->pool, order->count * sizeof(uint32_t), &found, error));
    hawser_status status = HW_NEW(&places, count, "the keys of a task", error);
    if (status == HAWSER_OK) {
        uint32_t *servers = found->payload;
        for (size_t i = 0; i < order->count; i++)
            servers[i] = hw_ring_of_key(&client->ring, order->keys[i]);
        group(t, servers, places, count);
        for (uint32_t s = 0; s < count; s++) {
            size_t begin = s > 0 ? places[s - 1] : 0;
            add_parts(t, s, t->rows, begin, places[s] - begin, most);
        }
    }
    free(places);
    hw_message_free(found);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- packing ---- */

hawser_status hw_task_unordered(const hw_table_spec *spec, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': keys must be ascending, each once, at most 2^32 - 1 of them",
                       spec->name);
}

/* Returns a slice's runs, or one run that covers the slice. */
static const hw_run *runs_of(const hw_slice *part, hw_run *one)
{
    *one = (hw_run){.begin = part->begin, .count = part->count};
    return part->runs != NULL ? part->runs : one;
}

/* Allocates the bits of all slices whose keys lie close. Without memory the keys are sent as lists. */
static uint64_t *make_space(const hw_client *client, hw_task *t)
{
    const uint64_t *keys = t->order.keys;
    size_t words = 0;
    hw_run one;
    for (size_t l = 0; l < t->slice_count; l++) {
        hw_slice *part = &t->slices[l];
        const hw_run *last = runs_of(part, &one);
        while (last->next != NULL)
            last = last->next;
        part->first = keys[part->begin];
        part->last = keys[last->begin + last->count - 1];
        if (hw_keys_crowded(part->first, part->last, part->count))
            words += hw_bits_words(part->last - part->first);
    }
    if (words == 0 || hw_pool_message(client->pool, words * sizeof *keys, &t->bits, NULL) != HAWSER_OK)
        return NULL;
    return memset(t->bits->payload, 0, words * sizeof *keys);
}

/* Sets the bits of the keys. Each key is read once, and the same pass checks that keys ascend. */
static hawser_status pack(const hw_client *client, hw_task *t, hawser_error *error)
{
    const uint64_t *keys = t->order.keys;
    const hw_bits *bits = hw_bits_best();
    uint64_t *words = make_space(client, t);
    bool right = true;
    for (size_t l = 0; right && l < t->slice_count; l++) {
        hw_slice *part = &t->slices[l];
        uint64_t span = part->last - part->first;
        bool close = words != NULL && hw_keys_crowded(part->first, part->last, part->count);
        hw_run one;
        for (const hw_run *r = runs_of(part, &one); right && r != NULL; r = r->next)
            right = (r->begin == 0 || keys[r->begin - 1] < keys[r->begin]) &&
                    (close ? bits->set(keys + r->begin, r->count, part->first, span, words)
                           : hw_keys_ascend(keys + r->begin, r->count));
        if (close) {
            part->bits = words;
            words += hw_bits_words(span);
        }
    }
    return right ? HAWSER_OK : hw_task_unordered(&client->tables[t->order.table], error);
}

static hawser_status cut_list(const hw_client *client, hw_task *t, hawser_error *error)
{
    const hw_order *order = &t->order;
    const hw_table_spec *spec = &client->tables[order->table];
    size_t most = part_keys(client, t);
    bool several = client->options.servers > 1;
    if (spec->sparse && !hw_keys_ascend(order->keys, order->count))
        return hw_task_unordered(spec, error);
    if (several && spec->sparse)
        return cut_by_key(client, t, error);
    if (several) {
        HAWSER_TRY(cut_by_arc(client, t, error));
    } else {
        HAWSER_TRY(new_slices(t, 1 + order->count / most, error));
        add_parts(t, 0, NULL, 0, order->count, most);
    }
    return spec->sparse ? HAWSER_OK : pack(client, t, error);
}

/* An order has at least one key, so no slice is empty. */
hawser_status hw_task_cut(const hw_client *client, hw_task *t, hawser_error *error)
{
    t->is_cut = true;
    if (t->order.operation == HW_CLOCK)
        return cut_clock(client, t, error);
    return t->order.keys == NULL ? cut_range(client, t, error) : cut_list(client, t, error);
}

/* ------------------------------------------------------------------------------------------------------------- rows ---- */

/* Copies a row. The usual sizes need no call. */
static inline void move_row(unsigned char *to, const unsigned char *from, size_t bytes)
{
    if (bytes == sizeof(uint32_t))
        memcpy(to, from, sizeof(uint32_t));
    else if (bytes == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else
        memcpy(to, from, bytes);
}

/* Gathers a slice's rows from the task's array. */
void hw_slice_gather(const hw_slice *part, const unsigned char *from, size_t bytes, unsigned char *to)
{
    for (const hw_run *r = part->runs; r != NULL; to += r->count * bytes, r = r->next)
        memcpy(to, from + r->begin * bytes, r->count * bytes);
    for (size_t i = 0; part->rows != NULL && i < part->count; i++)
        move_row(to + i * bytes, from + part->rows[i] * bytes, bytes);
}

/* Scatters them back. */
void hw_slice_scatter(const hw_slice *part, const unsigned char *from, size_t bytes, unsigned char *to)
{
    for (const hw_run *r = part->runs; r != NULL; from += r->count * bytes, r = r->next)
        memcpy(to + r->begin * bytes, from, r->count * bytes);
    for (size_t i = 0; part->rows != NULL && i < part->count; i++)
        move_row(to + part->rows[i] * bytes, from + i * bytes, bytes);
}
