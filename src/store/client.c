#include "store/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/keys.h"
#include "store/note.h"

/* Rows of a task, one after the other. */
typedef struct run {
    size_t begin, count;
    struct run *next; /* of its leg's */
} run;

/* What one message asks of a server. */
typedef struct leg {
    uint32_t server;
    uint32_t parts; /* of a push, that this server answers together; 0: each is answered */
    bool done;
    uint64_t first, last;
    size_t begin, count;  /* rows of the task, one after the other; */
    const run *runs;      /* or these, where a dense table's keys of several servers lie between each other; */
    const uint32_t *rows; /* or these, of a sparse one; begin: of the task's grouped keys */
    uint32_t list;        /* number under which the keys were sent, 0: none */
} leg;

/* The leg of a server that is being filled. */
typedef struct filling {
    leg *part;
    run *last;
} filling;

typedef struct task {
    hw_order order;
    uint64_t number;
    size_t waits; /* for so many others */
    struct task **followers;
    size_t follower_count, follower_room;
    leg *legs;
    size_t leg_count, legs_left, legs_sent;
    run *runs; /* where there are several servers: of a dense table's legs */
    size_t run_count;
    hw_message *room; /* of a sparse table's: keys by server, and which of the task's rows each is */
    uint64_t *keys;
    uint32_t *rows;
    uint64_t oldest; /* clock */
    bool batched;    /* servers answer its parts together */
    bool inherited;  /* it failed because another one did */
    bool begun;
    hw_passed passed;   /* what goes of a push that is filtered or rounded */
    bool noted;         /* its beginning: its end is too */
    struct task *ready; /* next of those that may begin, or of those that are being sent */
    hawser_status failed;
    hawser_error error;
} task;

struct hw_client {
    hw_client_options options;
    hw_ring ring;
    hw_table_spec *tables;
    uint32_t *there;       /* the servers' numbers of the tables */
    hw_arcs *arcs;         /* of dense tables */
    hw_holding **holdings; /* of tables that hold something back */
    size_t table_count, table_room, there_room, arcs_room, holdings_room;
    hw_lists *lists;  /* by server */
    uint32_t *counts; /* the same: parts of the task that is being cut; */
    filling *filling; /* and where its next keys go */
    hw_pool *pool;
    task **window; /* of tasks base + 0, 1 ...; NULL: ended */
    size_t window_count, window_room, open;
    uint64_t base, next;
    task *ready, **ready_end;     /* may begin */
    task *sending, **sending_end; /* have begun; their legs leave in this order */
    hw_message *followed;         /* a leg's, that leaves with the next: it has to be there first */
    uint32_t followed_to;
    bool beginning;          /* somebody further up the stack begins them */
    unsigned char *gathered; /* rows of one leg */
    uint64_t *gathered_keys; /* and its keys */
    size_t gathered_room, gathered_keys_room;
    hw_client_figures figures;
};

enum { LIST_BYTES = 16 << 20, PART = 1 << 15 };

hawser_status hw_client_new(const hw_client_options *options, hw_client **out, hawser_error *error)
{
    hw_client *client = NULL;
    HAWSER_TRY(HW_NEW(&client, 1, "a client of the store", error));
    client->options = *options;
    client->base = client->next = 1;
    client->ready_end = &client->ready;
    client->sending_end = &client->sending;
    if (client->options.part == 0)
        client->options.part = PART;
    hawser_status status = hw_ring_new(options->names, options->servers, HW_RING_POINTS, &client->ring, error);
    if (status == HAWSER_OK)
        status = HW_NEW(&client->lists, options->servers, "lists of keys", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&client->counts, options->servers, "the parts of a task", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&client->filling, options->servers, "the parts of a task", error);
    if (status == HAWSER_OK)
        status = hw_pool_new(&client->pool, error);
    if (status != HAWSER_OK) {
        hw_client_free(client);
        return status;
    }
    client->options.names = NULL;
    for (uint32_t s = 0; s < options->servers; s++)
        hw_lists_init(&client->lists[s], options->list_bytes > 0 ? options->list_bytes : LIST_BYTES);
    *out = client;
    return HAWSER_OK;
}

static void free_task(task *t)
{
    if (t == NULL)
        return;
    free(t->legs);
    free(t->runs);
    hw_message_free(t->room);
    free(t->followers);
    free(t->passed.keys);
    free(t->passed.values);
    free(t);
}

void hw_client_free(hw_client *client)
{
    if (client == NULL)
        return;
    for (size_t i = 0; i < client->window_count; i++)
        free_task(client->window[i]);
    for (uint32_t s = 0; client->lists != NULL && s < client->options.servers; s++)
        hw_lists_free(&client->lists[s]);
    for (size_t t = 0; t < client->table_count; t++)
        hw_arcs_free(&client->arcs[t]);
    for (size_t t = 0; t < client->table_count; t++)
        hw_holding_free(client->holdings[t]);
    hw_message_free(client->followed);
    free(client->window);
    free(client->lists);
    free(client->counts);
    free(client->filling);
    free(client->tables);
    free(client->there);
    free(client->arcs);
    free(client->holdings);
    free(client->gathered);
    free(client->gathered_keys);
    hw_pool_free(client->pool);
    hw_ring_free(&client->ring);
    free(client);
}

hawser_status hw_client_table(hw_client *client, const hw_table_spec *spec, uint32_t *number, hawser_error *error)
{
    return hw_client_table_at_servers(client, spec, (uint32_t)client->table_count, number, error);
}

hawser_status hw_client_table_at_servers(hw_client *client, const hw_table_spec *spec, uint32_t there, uint32_t *number,
                                         hawser_error *error)
{
    HAWSER_TRY(hw_table_check(spec, error));
    for (size_t t = 0; t < client->table_count; t++)
        if (strcmp(client->tables[t].name, spec->name) == 0) {
            const hw_table_spec *own = &client->tables[t];
            *number = (uint32_t)t;
            if (own->rounding == spec->rounding && own->filter == spec->filter && own->level == spec->level &&
                own->staleness == spec->staleness)
                return HAWSER_OK; /* whether it is the same in all else the servers say */
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s' exists with another rounding, filter or staleness",
                               spec->name);
        }
    HAWSER_TRY(HW_GROW(&client->tables, &client->table_room, client->table_count + 1, "the tables", error));
    HAWSER_TRY(HW_GROW(&client->there, &client->there_room, client->table_count + 1, "the tables", error));
    HAWSER_TRY(HW_GROW(&client->arcs, &client->arcs_room, client->table_count + 1, "the tables", error));
    HAWSER_TRY(HW_GROW(&client->holdings, &client->holdings_room, client->table_count + 1, "the tables", error));
    hw_holding *holding = NULL;
    if (spec->filter != HW_PASS_ALL || spec->rounding != HW_F64)
        HAWSER_TRY(
            hw_holding_new(spec, client->options.seed + client->table_count, client->options.log != NULL, &holding, error));
    hw_arcs arcs = {0};
    hawser_status status = spec->sparse ? HAWSER_OK : hw_ring_cut(&client->ring, spec->first, spec->last, &arcs, error);
    if (status != HAWSER_OK) {
        hw_holding_free(holding);
        return status;
    }
    client->holdings[client->table_count] = holding;
    client->tables[client->table_count] = *spec;
    client->there[client->table_count] = there;
    client->arcs[client->table_count] = arcs;
    *number = (uint32_t)client->table_count++;
    return HAWSER_OK;
}

uint32_t hw_client_table_there(const hw_client *client, uint32_t table)
{
    return client->there[table];
}

size_t hw_client_tables(const hw_client *client)
{
    return client->table_count;
}

const hw_table_spec *hw_client_table_at(const hw_client *client, uint32_t table)
{
    return &client->tables[table];
}

const hw_arcs *hw_client_arcs(const hw_client *client, uint32_t table)
{
    return &client->arcs[table];
}

uint32_t hw_client_server(const hw_client *client, uint32_t table, uint64_t key)
{
    const hw_arcs *arcs = &client->arcs[table];
    return client->tables[table].sparse ? hw_ring_of_key(&client->ring, key) : arcs->arcs[hw_arcs_find(arcs, key)].server;
}

const hw_client_figures *hw_client_figures_of(const hw_client *client)
{
    return &client->figures;
}

/* ------------------------------------------------------------------------------------------------------------- tasks ---- */

static task *find(const hw_client *client, uint64_t number)
{
    return number >= client->base && number < client->next ? client->window[number - client->base] : NULL;
}

bool hw_client_ended(const hw_client *client, uint64_t number)
{
    return find(client, number) == NULL;
}

size_t hw_client_open(const hw_client *client)
{
    return client->open;
}

/* What has ended at the front of the window goes, half of it at a time. */
static void slide(hw_client *client)
{
    size_t ended = 0;
    while (ended < client->window_count && client->window[ended] == NULL)
        ended++;
    if (ended <= client->window_count / 2 && ended < client->window_count)
        return;
    memmove(client->window, client->window + ended, (client->window_count - ended) * sizeof(task *));
    client->window_count -= ended;
    client->base += ended;
}

static void append(task ***end, task *t)
{
    t->ready = NULL;
    **end = t;
    *end = &t->ready;
}

static task *take_first(task **first, task ***end)
{
    task *t = *first;
    *first = t->ready;
    if (*first == NULL)
        *end = first;
    return t;
}

/* However long the chain, the words are said once. */
static void fail_with(task *follower, const task *t)
{
    follower->failed = t->failed;
    follower->error = t->error;
    if (!t->inherited)
        (void)hawser_fail(&follower->error, t->failed, "task %llu, which it waits for, failed: %.600s",
                          (unsigned long long)t->number, t->error.text);
    follower->inherited = true;
}

static void saw(hw_client *client, const task *t)
{
    const hw_order *order = &t->order;
    size_t count = order->keys != NULL ? order->count : (size_t)(order->last - order->first) + 1;
    hw_holding_saw(client->holdings[order->table], order->keys, order->first, count, order->out);
}

/* Ends a task; those that waited for it alone may begin; what waited for one that failed fails with it. */
static void end(hw_client *client, task *t)
{
    client->window[t->number - client->base] = NULL;
    client->open--;
    if (t->noted)
        hw_note_answer(client->options.log, &client->tables[t->order.table], &t->order, t->number, t->failed != HAWSER_OK);
    if (t->order.oldest != NULL)
        *t->order.oldest = t->oldest;
    if (t->failed == HAWSER_OK && t->order.out != NULL && client->holdings[t->order.table] != NULL)
        saw(client, t);
    client->options.finished(client->options.argument, t->order.tag, t->number, t->failed, &t->error);
    for (size_t i = 0; i < t->follower_count; i++) {
        task *follower = t->followers[i];
        if (t->failed != HAWSER_OK && follower->failed == HAWSER_OK)
            fail_with(follower, t);
        if (--follower->waits == 0)
            append(&client->ready_end, follower);
    }
    free_task(t);
    slide(client);
}

/* --------------------------------------------------------------------------------------------------- cutting by server ---- */

static hawser_status new_legs(task *t, size_t most, hawser_error *error)
{
    return HW_NEW(&t->legs, most, "the parts of a task", error);
}

static leg *add_leg(task *t, uint32_t server)
{
    leg *added = &t->legs[t->leg_count++];
    *added = (leg){.server = server};
    return added;
}

/* Keys that go in one message. */
static size_t part_keys(const hw_client *client, const task *t)
{
    size_t keys = client->options.part / client->tables[t->order.table].width;
    return keys > 0 ? keys : 1;
}

/* Arc by arc, in parts. */
static hawser_status cut_range(const hw_client *client, task *t, hawser_error *error)
{
    const hw_order *order = &t->order;
    const hw_arcs *arcs = &client->arcs[order->table];
    size_t from = hw_arcs_find(arcs, order->first), to = hw_arcs_find(arcs, order->last), most = part_keys(client, t);
    HAWSER_TRY(new_legs(t, to - from + 1 + (size_t)((order->last - order->first) / most), error));
    for (size_t i = from; i <= to; i++) {
        uint64_t first = i == from ? order->first : arcs->arcs[i].first;
        uint64_t last = i == to ? order->last : arcs->arcs[i].last;
        for (bool ends = false; !ends; first += most) {
            ends = last - first < most;
            leg *part = add_leg(t, arcs->arcs[i].server);
            part->first = first;
            part->last = ends ? last : first + (most - 1);
            part->begin = (size_t)(first - order->first);
            part->count = (size_t)(part->last - first) + 1;
        }
    }
    return HAWSER_OK;
}

/* Every server hears of a clock. */
static hawser_status cut_clock(const hw_client *client, task *t, hawser_error *error)
{
    HAWSER_TRY(new_legs(t, client->options.servers, error));
    for (uint32_t s = 0; s < client->options.servers; s++) {
        leg *part = add_leg(t, s);
        part->first = t->order.first;
        part->last = t->order.last;
    }
    return HAWSER_OK;
}

/* Parts of rows begin .. begin + count - 1, which are one server's; rows: what stands there, where keys are grouped. */
static void add_parts(task *t, uint32_t server, const uint32_t *rows, size_t begin, size_t count, size_t most)
{
    for (size_t at = 0; at < count; at += most) {
        leg *part = add_leg(t, server);
        part->begin = begin + at;
        part->count = count - at < most ? count - at : most;
        part->rows = rows != NULL ? rows + part->begin : NULL;
    }
}

/* Puts rows into the leg of their server that is not full. */
static void add_run(task *t, filling *to, uint32_t server, size_t begin, size_t count, size_t most)
{
    for (size_t n; count > 0; begin += n, count -= n) {
        run *added = &t->runs[t->run_count++];
        if (to->part == NULL || to->part->count == most) {
            to->part = add_leg(t, server);
            to->part->begin = begin;
            to->part->runs = added;
        } else {
            to->last->next = added;
        }
        n = count < most - to->part->count ? count : most - to->part->count;
        *added = (run){.begin = begin, .count = n};
        to->part->count += n;
        to->last = added;
    }
}

/* A dense table's keys: a run an arc, and a leg as many runs as fill it, so that legs of all servers leave in turn. */
static hawser_status cut_by_arc(const hw_client *client, task *t, hawser_error *error)
{
    const hw_order *order = &t->order;
    const hw_arcs *arcs = &client->arcs[order->table];
    size_t most = part_keys(client, t), arcs_most = arcs->count < order->count ? arcs->count : order->count;
    size_t legs_most = client->options.servers + order->count / most;
    HAWSER_TRY(new_legs(t, legs_most, error));
    HAWSER_TRY(HW_NEW(&t->runs, arcs_most + legs_most, "the keys of a task", error));
    memset(client->filling, 0, client->options.servers * sizeof *client->filling);
    for (size_t i = 0, end; i < order->count; i = end) {
        const hw_arc *arc = &arcs->arcs[hw_arcs_find(arcs, order->keys[i])];
        end = hw_keys_up_to(order->keys, i, order->count, arc->last);
        add_run(t, &client->filling[arc->server], arc->server, i, end - i, most);
    }
    return HAWSER_OK;
}

/* Keys are counted by server and put beside each other, with their rows. places: of a server's keys, where the next goes. */
static void group(task *t, const uint32_t *servers, size_t *places, uint32_t server_count)
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

/* A sparse table's keys, each of which may be another server's than the one before. */
static hawser_status cut_by_key(const hw_client *client, task *t, hawser_error *error)
{
    const hw_order *order = &t->order;
    uint32_t count = client->options.servers;
    size_t most = part_keys(client, t), *places = NULL, each = sizeof *t->keys + sizeof *t->rows;
    hw_message *found = NULL;
    HAWSER_TRY(new_legs(t, count + order->count / most, error));
    HAWSER_TRY(hw_pool_message(client->pool, order->count * each, &t->room, error));
    t->keys = t->room->payload;
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

static hawser_status cut_list(const hw_client *client, task *t, hawser_error *error)
{
    const hw_order *order = &t->order;
    size_t most = part_keys(client, t);
    if (client->options.servers > 1)
        return client->tables[order->table].sparse ? cut_by_key(client, t, error) : cut_by_arc(client, t, error);
    HAWSER_TRY(new_legs(t, 1 + order->count / most, error));
    add_parts(t, 0, NULL, 0, order->count, most);
    return HAWSER_OK;
}

/* ----------------------------------------------------------------------------------------------------------- sending ---- */

static size_t row_bytes(const hw_client *client, const task *t)
{
    const hw_table_spec *spec = &client->tables[t->order.table];
    return spec->width * hw_value_size(spec->type);
}

/* Do a leg's rows lie apart from each other in the task? */
static bool apart(const leg *part)
{
    return part->rows != NULL || (part->runs != NULL && part->runs->next != NULL);
}

/* Rows of the usual sizes move without a call for each. */
static inline void move_row(unsigned char *to, const unsigned char *from, size_t bytes)
{
    if (bytes == sizeof(uint32_t))
        memcpy(to, from, sizeof(uint32_t));
    else if (bytes == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else
        memcpy(to, from, bytes);
}

/* A leg's rows of what the task has, beside each other. */
static void gather(const leg *part, const unsigned char *from, size_t bytes, unsigned char *to)
{
    for (const run *r = part->runs; r != NULL; to += r->count * bytes, r = r->next)
        memcpy(to, from + r->begin * bytes, r->count * bytes);
    for (size_t i = 0; part->rows != NULL && i < part->count; i++)
        move_row(to + i * bytes, from + part->rows[i] * bytes, bytes);
}

/* And back. */
static void scatter(const leg *part, const unsigned char *from, size_t bytes, unsigned char *to)
{
    for (const run *r = part->runs; r != NULL; from += r->count * bytes, r = r->next)
        memcpy(to + r->begin * bytes, from, r->count * bytes);
    for (size_t i = 0; part->rows != NULL && i < part->count; i++)
        move_row(to + part->rows[i] * bytes, from + i * bytes, bytes);
}

/* The values of a leg, beside each other. */
static hawser_status values_of(hw_client *client, const task *t, const leg *part, const void **values, hawser_error *error)
{
    const unsigned char *from = t->order.values;
    size_t bytes = row_bytes(client, t);
    *values = NULL;
    if (from == NULL)
        return HAWSER_OK;
    *values = from + part->begin * bytes;
    if (!apart(part))
        return HAWSER_OK;
    HAWSER_TRY(HW_GROW(&client->gathered, &client->gathered_room, part->count * bytes, "the values of a task", error));
    gather(part, from, bytes, client->gathered);
    *values = client->gathered;
    return HAWSER_OK;
}

/* Its keys; NULL: the range. */
static hawser_status keys_of(hw_client *client, const task *t, const leg *part, const uint64_t **keys, hawser_error *error)
{
    const uint64_t *own = t->order.keys;
    *keys = own == NULL ? NULL : part->rows != NULL ? t->keys + part->begin : own + part->begin;
    if (own == NULL || part->rows != NULL || !apart(part))
        return HAWSER_OK;
    HAWSER_TRY(HW_GROW(&client->gathered_keys, &client->gathered_keys_room, part->count, "the keys of a task", error));
    gather(part, (const unsigned char *)own, sizeof *own, (unsigned char *)client->gathered_keys);
    *keys = client->gathered_keys;
    return HAWSER_OK;
}

/* How the keys of a leg go; `again`: the server has forgotten them. */
static void choose_keys(hw_client *client, const task *t, leg *part, const uint64_t *keys, bool again, hw_request *request)
{
    hw_request_head *head = &request->head;
    head->first = part->first;
    head->last = part->last;
    head->count = part->count;
    head->keys = HW_KEYS_RANGE;
    if (keys == NULL)
        return;
    head->first = keys[0];
    head->last = keys[part->count - 1];
    if (hw_keys_follow(keys, part->count) && !client->tables[t->order.table].sparse)
        return;
    bool known = false;
    hw_lists *lists = &client->lists[part->server];
    if (!again)
        part->list = hw_lists_number(lists, t->order.table, keys, part->count, &known);
    else if (!hw_lists_has(lists, part->list, t->order.table, keys, part->count))
        part->list = 0; /* the number has been given to another list, which the server knows by it */
    head->list = part->list;
    head->keys = known ? HW_KEYS_KNOWN : HW_KEYS_GAPS;
    client->figures.lists_known += known;
    client->figures.lists_resent += again;
    request->keys = keys;
}

/* Pulls of ranges, which are short, go to a server several at a time. */
static bool followed(const task *t, const leg *part)
{
    enum { TOGETHER = 32 };
    size_t number = (size_t)(part - t->legs);
    return t->order.operation == HW_PULL && t->order.keys == NULL && number + 1 < t->leg_count &&
           part[1].server == part->server && number % TOGETHER + 1 < TOGETHER;
}

/* Sends what has waited for the next message to the same server: `more` says that this one is there. */
static hawser_status send_followed(hw_client *client, bool more, hawser_error *error)
{
    hw_message *message = client->followed;
    client->followed = NULL;
    if (message == NULL)
        return HAWSER_OK;
    message->more = more;
    return client->options.send(client->options.argument, client->followed_to, message, error);
}

static hawser_status send_leg(hw_client *client, const task *t, leg *part, bool again, hawser_error *error)
{
    const hw_order *order = &t->order;
    const hw_table_spec *spec = &client->tables[order->table];
    hw_request request = {.head = {.operation = (uint8_t)order->operation,
                                   .table = client->there[order->table],
                                   .worker = order->worker,
                                   .leg = (uint32_t)(part - t->legs),
                                   .parts = part->parts,
                                   .task = t->number,
                                   .clock = order->clock,
                                   .least = order->least}};
    hw_message *message = NULL;
    const uint64_t *keys = NULL;
    HAWSER_TRY(values_of(client, t, part, &request.values, error));
    HAWSER_TRY(keys_of(client, t, part, &keys, error));
    request.lent = client->options.lends && part->server != client->options.near && !apart(part);
    choose_keys(client, t, part, keys, again, &request);
    HAWSER_TRY(hw_request_write(spec, &request, client->pool, &message, error));
    client->figures.messages++;
    client->figures.bytes_sent += message->envelope.length;
    client->figures.bytes_plain += sizeof request.head + (keys != NULL ? part->count * sizeof *keys : 0) +
                                   (order->values != NULL ? part->count * row_bytes(client, t) : 0);
    hawser_status status = again ? HAWSER_OK : send_followed(client, true, error);
    if (followed(t, part) && status == HAWSER_OK) {
        client->followed = message;
        client->followed_to = part->server;
        return HAWSER_OK;
    }
    hawser_status own = client->options.send(client->options.argument, part->server, message, error);
    return status != HAWSER_OK ? status : own;
}

static void count_parts(const hw_client *client, task *t)
{
    if (t->order.operation != HW_PUSH || t->leg_count < 2)
        return;
    memset(client->counts, 0, client->options.servers * sizeof *client->counts);
    for (size_t i = 0; i < t->leg_count; i++)
        client->counts[t->legs[i].server]++;
    for (size_t i = 0; i < t->leg_count; i++)
        t->legs[i].parts = client->counts[t->legs[i].server] > 1 ? client->counts[t->legs[i].server] : 0;
    t->batched = true;
}

/* Legs whose values a pull of no keys would bring do not exist: an order has keys. */
static hawser_status cut(const hw_client *client, task *t, hawser_error *error)
{
    if (t->order.operation == HW_CLOCK)
        return cut_clock(client, t, error);
    return t->order.keys == NULL ? cut_range(client, t, error) : cut_list(client, t, error);
}

/* Nothing more of it is sent; parts that are answered together never will be. */
static void give_up(task *t, hawser_status status)
{
    if (t->failed == HAWSER_OK)
        t->failed = status;
    t->legs_left = t->batched ? 0 : t->legs_left - (t->leg_count - t->legs_sent);
    t->legs_sent = t->leg_count;
}

/* What goes of a push to a table that holds something back, in place of it. */
static hawser_status hold_back(hw_client *client, task *t, hawser_error *error)
{
    hw_order *order = &t->order;
    hw_holding *holding = client->holdings[order->table];
    if (order->operation != HW_PUSH || holding == NULL)
        return HAWSER_OK;
    size_t count = order->keys != NULL || order->rest ? order->count : (size_t)(order->last - order->first) + 1;
    if (order->rest)
        HAWSER_TRY(hw_holding_rest(holding, &t->passed, error));
    else
        HAWSER_TRY(hw_holding_pass(holding, order->keys, order->first, count, order->values, &t->passed, error));
    order->keys = t->passed.keys;
    order->values = t->passed.values;
    order->count = t->passed.count;
    hw_note_held(client->options.log, order, t->number, order->rest ? t->passed.count : count, &t->passed);
    if (!order->rest) {
        client->figures.rows_held += count - order->count;
        client->figures.bytes_plain += (count - order->count) * (row_bytes(client, t) + sizeof *order->keys);
    }
    return HAWSER_OK;
}

static void begin(hw_client *client, task *t)
{
    hawser_status status = t->failed;
    t->oldest = UINT64_MAX;
    t->begun = true;
    if (status == HAWSER_OK)
        status = hold_back(client, t, &t->error);
    bool nothing = t->order.keys != NULL && t->order.count == 0; /* it is all held back */
    if (status == HAWSER_OK && !nothing)
        status = cut(client, t, &t->error);
    count_parts(client, t);
    t->legs_left = t->leg_count;
    t->noted = status == HAWSER_OK && !nothing;
    if (t->noted)
        hw_note_asked(client->options.log, &client->tables[t->order.table], &t->order, t->number);
    if (status != HAWSER_OK) {
        give_up(t, status);
        end(client, t);
    } else {
        append(&client->sending_end, t);
    }
}

/* One after the other, however long the chain: an end that makes another ready does not begin it itself. */
static void begin_ready(hw_client *client)
{
    if (client->beginning)
        return;
    client->beginning = true;
    while (client->ready != NULL)
        begin(client, take_first(&client->ready, &client->ready_end));
    client->beginning = false;
}

bool hw_client_more(hw_client *client)
{
    task *t = client->sending;
    if (t == NULL)
        return false;
    hawser_status status = HAWSER_OK;
    if (t->legs_sent < t->leg_count)
        status = send_leg(client, t, &t->legs[t->legs_sent++], false, &t->error);
    bool clock = t->order.operation == HW_CLOCK; /* nobody answers to a clock */
    if (status != HAWSER_OK || clock)
        t->legs_left--;
    if (status != HAWSER_OK)
        give_up(t, status);
    if (status != HAWSER_OK && send_followed(client, false, &t->error) != HAWSER_OK)
        t->legs_left--;
    if (t->legs_sent == t->leg_count) {
        (void)take_first(&client->sending, &client->sending_end);
        if (t->legs_left == 0)
            end(client, t);
        begin_ready(client);
    }
    return true;
}

void hw_client_fail(hw_client *client, hawser_status status, const hawser_error *error)
{
    client->sending = NULL;
    client->sending_end = &client->sending;
    hw_message_free(client->followed);
    client->followed = NULL;
    for (uint64_t number = client->base; number < client->next; number++) {
        task *t = find(client, number);
        if (t == NULL || !t->begun)
            continue; /* who waits fails with the one that he waits for */
        t->failed = status;
        t->error = *error;
        end(client, t);
    }
    begin_ready(client);
}

static hawser_status check_after(const hw_client *client, const hw_order *order, hawser_error *error)
{
    for (size_t i = 0; i < order->after_count; i++)
        if (order->after[i] == 0 || order->after[i] >= client->next)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no task %llu yet to wait for: the newest is %llu",
                               (unsigned long long)order->after[i], (unsigned long long)client->next - 1);
    return HAWSER_OK;
}

static hawser_status check_order(const hw_client *client, const hw_order *order, hawser_error *error)
{
    bool pushes = order->operation == HW_PUSH || order->operation == HW_PUSH_PULL || order->operation == HW_PUT;
    bool pulls = order->operation == HW_PULL || order->operation == HW_PUSH_PULL;
    if (order->table >= client->table_count)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no table number %u", order->table);
    const hw_table_spec *spec = &client->tables[order->table];
    if (order->rest && client->holdings[order->table] == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s' holds nothing back: it has no filter and no rounding",
                           spec->name);
    if (order->rest)
        return check_after(client, order, error);
    if (pushes != (order->values != NULL) || pulls != (order->out != NULL))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': a push has values, a pull has room for them",
                           spec->name);
    if (spec->summed && order->operation == HW_PUSH_PULL)
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "table '%s' is summed: what is pushed is in once all workers have ended the clock, so push and pull apart",
            spec->name);
    if (spec->summed && order->operation == HW_CLOCK && (order->first != spec->first || order->last != spec->last))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s' is summed: a clock is one of all its keys, %llu to %llu",
                           spec->name, (unsigned long long)spec->first, (unsigned long long)spec->last);
    if (order->keys != NULL &&
        (order->count == 0 || order->count > UINT32_MAX || !hw_keys_ascend(order->keys, order->count)))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "table '%s': keys must be ascending, each once, 1 to 2^32 - 1 of them", spec->name);
    uint64_t first = order->keys != NULL ? order->keys[0] : order->first;
    uint64_t last = order->keys != NULL ? order->keys[order->count - 1] : order->last;
    if (first > last || first < spec->first || last > spec->last)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': keys %llu to %llu are not within %llu to %llu",
                           spec->name, (unsigned long long)first, (unsigned long long)last, (unsigned long long)spec->first,
                           (unsigned long long)spec->last);
    if (order->keys == NULL && spec->sparse && order->operation != HW_CLOCK)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s' is sparse: its keys are named one by one, not as a range",
                           spec->name);
    if (order->clock == UINT64_MAX)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': clocks and iterations end before 2^64 - 1", spec->name);
    size_t count = order->keys != NULL ? order->count : (size_t)(last - first) + 1;
    size_t bad = pushes ? hw_values_not_finite(spec->type, order->values, count * spec->width) : 0;
    if (pushes && bad < count * spec->width)
        return hawser_fail(
            error, HAWSER_NOT_FINITE, "table '%s': what is pushed to key %llu is not finite", spec->name,
            (unsigned long long)(order->keys != NULL ? order->keys[bad / spec->width] : first + bad / spec->width));
    return check_after(client, order, error);
}

/* Puts a task behind those that it waits for. */
static hawser_status follow(hw_client *client, task *t, hawser_error *error)
{
    for (size_t i = 0; i < t->order.after_count; i++) {
        task *other = find(client, t->order.after[i]);
        if (other != NULL)
            HAWSER_TRY(HW_GROW(&other->followers, &other->follower_room, other->follower_count + t->order.after_count,
                               "a task's followers", error));
    }
    for (size_t i = 0; i < t->order.after_count; i++) {
        task *other = find(client, t->order.after[i]);
        if (other == NULL)
            continue;
        other->followers[other->follower_count++] = t;
        t->waits++;
    }
    t->order.after = NULL;
    return HAWSER_OK;
}

hawser_status hw_client_submit(hw_client *client, const hw_order *order, uint64_t *number, hawser_error *error)
{
    HAWSER_TRY(check_order(client, order, error));
    HAWSER_TRY(HW_GROW(&client->window, &client->window_room, client->window_count + 1, "tasks", error));
    task *t = NULL;
    HAWSER_TRY(HW_NEW(&t, 1, "a task", error));
    t->order = *order;
    t->number = client->next;
    hawser_status status = follow(client, t, error);
    if (status != HAWSER_OK) {
        free_task(t);
        return status;
    }
    client->window[client->window_count++] = t;
    *number = client->next++;
    client->open++;
    client->figures.tasks++;
    if (t->waits == 0)
        append(&client->ready_end, t);
    begin_ready(client);
    return HAWSER_OK;
}

/* ----------------------------------------------------------------------------------------------------------- hearing ---- */

static bool take_values(hw_client *client, task *t, const leg *part, const hw_reply_head *head, const hw_message *message)
{
    const hw_table_spec *spec = &client->tables[t->order.table];
    size_t bytes = row_bytes(client, t);
    unsigned char *out = t->order.out;
    if (head->count != (out != NULL ? part->count * spec->width : 0))
        return false;
    if (out == NULL)
        return true;
    if (!apart(part))
        return hw_reply_read(spec, head, message, out + part->begin * bytes);
    if (HW_GROW(&client->gathered, &client->gathered_room, part->count * bytes, "the values of a task", NULL) != HAWSER_OK ||
        !hw_reply_read(spec, head, message, client->gathered))
        return false;
    scatter(part, client->gathered, bytes, out);
    return true;
}

static void refused(task *t, const hw_reply_head *head, const hw_message *message, uint32_t server)
{
    char words[sizeof t->error.text];
    hw_refusal_read(head, message, words, sizeof words);
    if (t->failed == HAWSER_OK)
        t->failed = words[0] != '\0'
                        ? hawser_fail(&t->error, HAWSER_BAD_INPUT, "server %u: %.200s", server, words)
                        : hawser_fail(&t->error, HAWSER_NO_MEMORY, "server %u had no memory left for all of it", server);
}

/* What a reply is about: *part NULL where it came too late to matter. */
static hawser_status leg_of(const hw_client *client, uint32_t server, const hw_reply_head *head, task **t, leg **part,
                            hawser_error *error)
{
    *part = NULL;
    *t = find(client, head->task);
    if (*t == NULL && head->task != 0 && head->task < client->next)
        return HAWSER_OK; /* the task has failed meanwhile */
    if (*t != NULL && client->there[(*t)->order.table] == head->table && (*t)->waits == 0 && head->leg < (*t)->legs_sent)
        *part = &(*t)->legs[head->leg];
    if (*part != NULL && (*part)->server == server && (head->parts > 0 || !(*part)->done))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT, "server %u answers to what it was not asked", server);
}

/* All parts of a push at a server are done; those that it has refused were before, unless it had no memory to say so. */
static hawser_status take_batch(task *t, const leg *part, const hw_reply_head *head, const hw_message *message,
                                hawser_error *error)
{
    uint32_t parts = 0;
    for (size_t i = 0; i < t->legs_sent; i++)
        parts += t->legs[i].server == part->server;
    if ((head->outcome != HW_APPLIED && head->outcome != HW_REFUSED) || head->count != 0 || part->parts != head->parts ||
        parts != head->parts)
        return hawser_fail(error, HAWSER_BAD_INPUT, "server %u answers for %u parts of a push that has %u there",
                           part->server, head->parts, part->parts);
    if (head->outcome == HW_REFUSED)
        refused(t, head, message, part->server);
    for (size_t i = 0; i < t->legs_sent; i++)
        if (t->legs[i].server == part->server && !t->legs[i].done) {
            t->legs[i].done = true;
            t->legs_left--;
        }
    return HAWSER_OK;
}

/* The server has forgotten the keys of a part. */
static void send_again(hw_client *client, task *t, leg *part)
{
    hawser_status status = send_leg(client, t, part, true, &t->error);
    if (status == HAWSER_OK)
        return;
    part->done = true;
    t->legs_left--;
    if (t->failed == HAWSER_OK)
        t->failed = status;
    if (t->batched) /* the others will not be answered without it; one that is being sent ends there */
        give_up(t, status);
}

static void take_reply(hw_client *client, task *t, leg *part, const hw_reply_head *head, const hw_message *message)
{
    hawser_status status = HAWSER_OK;
    if (head->outcome == HW_REFUSED)
        refused(t, head, message, part->server);
    else if (!take_values(client, t, part, head, message))
        status = hawser_fail(&t->error, HAWSER_BAD_INPUT, "server %u answers with what are not the values of table '%s'",
                             part->server, client->tables[t->order.table].name);
    if (status != HAWSER_OK && t->failed == HAWSER_OK)
        t->failed = status;
    if (head->outcome == HW_APPLIED && head->clock < t->oldest)
        t->oldest = head->clock;
    part->done = true;
    t->legs_left--;
}

hawser_status hw_client_hear(hw_client *client, uint32_t server, hw_message *message, hawser_error *error)
{
    hw_reply_head head = {0};
    task *t = NULL;
    leg *part = NULL;
    client->figures.bytes_received += message->envelope.length;
    hawser_status status = hw_reply_head_of(message, &head)
                               ? leg_of(client, server, &head, &t, &part, error)
                               : hawser_fail(error, HAWSER_BAD_INPUT, "server %u sent what is no reply", server);
    if (status != HAWSER_OK || part == NULL) {
        hw_message_free(message);
        return status;
    }
    bool sending = t->legs_sent < t->leg_count;
    if (head.parts > 0)
        status = take_batch(t, part, &head, message, error);
    else if (head.outcome == HW_FORGOTTEN)
        send_again(client, t, part);
    else
        take_reply(client, t, part, &head, message);
    hw_message_free(message);
    if (status == HAWSER_OK && t->legs_left == 0 && !sending)
        end(client, t);
    begin_ready(client);
    return status;
}
