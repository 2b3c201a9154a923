#include "store/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/bits.h"
#include "codec/keys.h"
#include "store/note.h"
#include "store/table_check.h"

enum { LIST_BYTES = 16 << 20 };

hawser_status hw_client_new(const hw_client_options *options, hw_client **out, hawser_error *error)
{
    hw_client *client = NULL;
    HAWSER_TRY(HW_NEW(&client, 1, "a client of the store", error));
    client->options = *options;
    client->base = client->next = 1;
    client->ready_end = &client->ready;
    client->sending_end = &client->sending;
    if (client->options.part == 0)
        client->options.part = HW_PART;
    if (client->options.arc == 0)
        client->options.arc = HW_PART;
    hawser_status status = hw_ring_new(options->names, options->servers, HW_RING_POINTS, &client->ring, error);
    HAWSER_THEN(status, HW_NEW(&client->lists, options->servers, "lists of keys", error));
    HAWSER_THEN(status, HW_NEW(&client->counts, options->servers, "the parts of a task", error));
    HAWSER_THEN(status, HW_NEW(&client->cursors, options->servers, "the parts of a task", error));
    HAWSER_THEN(status, HW_NEW(&client->filling, options->servers, "the parts of a task", error));
    HAWSER_THEN(status, HW_NEW(&client->lost, options->servers, "a store's servers", error));
    HAWSER_THEN(status, HW_NEW(&client->traffic, options->workers, "the traffic of workers", error));
    HAWSER_THEN(status, hw_pool_new(&client->pool, error));
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

static void free_task(hw_task *t)
{
    if (t == NULL)
        return;
    free(t->slices);
    free(t->runs);
    hw_message_free(t->buffer);
    hw_message_free(t->bits);
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
    hw_failed_free(&client->failed_tasks);
    free(client->window);
    free(client->lists);
    free(client->counts);
    free(client->filling);
    free(client->cursors);
    free(client->lost);
    free(client->tables);
    free(client->memories);
    free(client->there);
    free(client->arcs);
    free(client->holdings);
    free(client->gathered);
    free(client->gathered_keys);
    free(client->traffic);
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
                return HAWSER_OK; /* the servers compare the other fields */
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s' exists with another rounding, filter or staleness",
                               spec->name);
        }
    HAWSER_TRY(HW_GROW(&client->tables, &client->table_capacity, client->table_count + 1, "the tables", error));
    HAWSER_TRY(HW_GROW(&client->memories, &client->memory_capacity, client->table_count + 1, "the tables", error));
    HAWSER_TRY(HW_GROW(&client->there, &client->there_capacity, client->table_count + 1, "the tables", error));
    HAWSER_TRY(HW_GROW(&client->arcs, &client->arcs_capacity, client->table_count + 1, "the tables", error));
    HAWSER_TRY(HW_GROW(&client->holdings, &client->holdings_capacity, client->table_count + 1, "the tables", error));
    hw_holding *holding = NULL;
    if (spec->filter != HW_PASS_ALL || spec->rounding != HW_F64)
        HAWSER_TRY(
            hw_holding_new(spec, client->options.seed + client->table_count, client->options.log != NULL, &holding, error));
    hw_arcs arcs = {0};
    hawser_status status = HAWSER_OK;
    if (!spec->sparse)
        status = hw_arcs_deal(spec->first, spec->last, client->options.servers, hw_table_keys_of(spec, client->options.arc),
                              &arcs, error);
    if (status != HAWSER_OK) {
        hw_holding_free(holding);
        return status;
    }
    client->holdings[client->table_count] = holding;
    client->tables[client->table_count] = *spec;
    client->memories[client->table_count] = hw_table_memory_rows(spec);
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

hw_client_traffic hw_client_traffic_of(const hw_client *client, uint32_t worker)
{
    return worker < client->options.workers ? client->traffic[worker] : (hw_client_traffic){0};
}

static void add_traffic(hw_client_traffic *to, const hw_client_traffic *more)
{
    to->messages += more->messages;
    to->bytes_plain += more->bytes_plain;
    to->bytes_sent += more->bytes_sent;
    to->bytes_received += more->bytes_received;
}

/* Counts traffic of a task; NULL: it has ended. */
static void count_traffic(hw_client *client, const hw_task *t, hw_client_traffic more)
{
    add_traffic(&client->figures.traffic, &more);
    if (t != NULL && t->order.worker < client->options.workers)
        add_traffic(&client->traffic[t->order.worker], &more);
}

/* ------------------------------------------------------------------------------------------------------------ tasks ---- */

static hw_task *find(const hw_client *client, uint64_t number)
{
    return number >= client->base && number < client->next ? client->window[number - client->base] : NULL;
}

bool hw_client_ended(const hw_client *client, uint64_t number)
{
    return find(client, number) == NULL;
}

uint64_t hw_client_newest(const hw_client *client)
{
    return client->next - 1;
}

hawser_status hw_client_no_task(const hw_client *client, uint64_t task, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no task %llu yet to wait for: the newest is %llu",
                       (unsigned long long)task, (unsigned long long)hw_client_newest(client));
}

size_t hw_client_open(const hw_client *client)
{
    return client->open;
}

/* Removes the ended tasks at the front of the window, once they are more than half of it. */
static void slide(hw_client *client)
{
    size_t ended = 0;
    while (ended < client->window_count && client->window[ended] == NULL)
        ended++;
    if (ended <= client->window_count / 2 && ended < client->window_count)
        return;
    memmove(client->window, client->window + ended, (client->window_count - ended) * sizeof(hw_task *));
    client->window_count -= ended;
    client->base += ended;
}

static void append(hw_task ***end, hw_task *t)
{
    t->ready = NULL;
    **end = t;
    *end = &t->ready;
}

static hw_task *take_first(hw_task **first, hw_task ***end)
{
    hw_task *t = *first;
    *first = t->ready;
    if (*first == NULL)
        *end = first;
    return t;
}

/* Fails a task because one that it waits for has failed. The text names the first of a chain of tasks, whose failure all
 * others have. */
static void fail_with(const hw_client *client, hw_task *follower, const hw_failed_task *failed)
{
    const char *text = hw_failed_text(&client->failed_tasks, failed);
    follower->root = failed->root;
    follower->failed = hawser_fail(&follower->error, failed->status, "task %llu, which it waits for, failed%s%.600s",
                                   (unsigned long long)failed->root, text[0] != '\0' ? ": " : "", text);
}

static void saw(hw_client *client, const hw_task *t)
{
    const hw_order *order = &t->order;
    size_t count = order->keys != NULL ? order->count : (size_t)(order->last - order->first) + 1;
    hw_holding_saw(client->holdings[order->table], order->keys, order->first, count, order->out);
}

/* Ends a task. Tasks that waited for it alone may begin; if it failed, tasks that waited for it fail, too. */
static void end(hw_client *client, hw_task *t)
{
    client->window[t->number - client->base] = NULL;
    client->open--;
    if (t->noted)
        hw_note_answer(client->options.log, &client->tables[t->order.table], &t->order, t->number, (uint32_t)t->slice_count,
                       t->failed);
    if (t->order.oldest != NULL)
        *t->order.oldest = t->oldest;
    if (t->failed == HAWSER_OK && t->order.out != NULL && client->holdings[t->order.table] != NULL)
        saw(client, t);
    if (t->failed != HAWSER_OK)
        hw_failed_add(&client->failed_tasks, t->number, t->root != 0 ? t->root : t->number, t->failed, t->error.text);
    client->options.finished(client->options.argument, t->order.tag, t->number, t->failed, &t->error);
    for (size_t i = 0; i < t->follower_count; i++) {
        hw_task *follower = t->followers[i];
        if (t->failed != HAWSER_OK && follower->failed == HAWSER_OK)
            fail_with(client, follower, hw_failed_find(&client->failed_tasks, t->number));
        if (--follower->waits == 0)
            append(&client->ready_end, follower);
    }
    free_task(t);
    slide(client);
}

/* ---------------------------------------------------------------------------------------------------------- sending ---- */

/* The scattered rows of a slice, for the message that copies them. */
typedef struct gathering {
    const hw_slice *part;
    size_t bytes; /* bytes of a row */
} gathering;

static void gather(const void *argument, const void *values, void *to)
{
    const gathering *g = argument;
    hw_slice_gather(g->part, values, g->bytes, to);
}

/* Sets *keys to a slice's keys if they are sent as a list, and to NULL if they are sent as a range or as bits. */
static hawser_status keys_of(hw_client *client, const hw_task *t, const hw_slice *part, const uint64_t **keys,
                             hawser_error *error)
{
    const uint64_t *own = t->order.keys;
    *keys = own == NULL || part->bits != NULL ? NULL : part->rows != NULL ? t->keys + part->begin : own + part->begin;
    if (*keys == NULL || part->rows != NULL || !hw_slice_apart(part))
        return HAWSER_OK;
    HAWSER_TRY(HW_GROW(&client->gathered_keys, &client->gathered_keys_capacity, part->count, "the keys of a task", error));
    hw_slice_gather(part, (const unsigned char *)own, sizeof *own, (unsigned char *)client->gathered_keys);
    *keys = client->gathered_keys;
    return HAWSER_OK;
}

/* Chooses the form in which the keys of a slice are sent. `reread`: the server has forgotten its list. */
static void choose_keys(hw_client *client, const hw_task *t, hw_slice *part, const uint64_t *keys, bool resend,
                        hw_request *request)
{
    hw_request_head *head = &request->head;
    head->first = part->first;
    head->last = part->last;
    head->count = part->count;
    head->keys = HW_KEYS_RANGE;
    part->known = false;
    if (t->order.keys == NULL)
        return;
    if (keys != NULL) {
        head->first = keys[0];
        head->last = keys[part->count - 1];
    }
    if (head->last - head->first == part->count - 1 && !client->tables[t->order.table].sparse)
        return;
    bool known = false, bits = part->bits != NULL;
    const hw_list_of of = {.table = t->order.table,
                           .bits = bits,
                           .first = head->first,
                           .last = head->last,
                           .count = part->count,
                           .size = bits ? hw_bits_words(head->last - head->first) : part->count};
    hw_lists *lists = &client->lists[part->server];
    if (!resend)
        part->list = hw_lists_number(lists, &of, bits ? part->bits : keys, &known);
    else if (!hw_lists_has(lists, part->list, &of, bits ? part->bits : keys))
        part->list = 0; /* the number was given to another list since, and the server knows that one by it */
    head->list = part->list;
    part->known = known;
    head->keys = known ? HW_KEYS_KNOWN : bits ? HW_KEYS_BITS : HW_KEYS_GAPS;
    client->figures.lists_known += known;
    client->figures.lists_resent += resend;
    request->keys = keys;
    request->bits = part->bits;
}

/* Returns whether the next slice goes to the same server in one write with this one. */
static bool followed(const hw_task *t, const hw_slice *part)
{
    size_t number = (size_t)(part - t->slices);
    return t->order.operation == HW_PULL && t->order.keys == NULL && number + 1 < t->slice_count &&
           part[1].server == part->server && number % HW_FOLLOWED + 1 < HW_FOLLOWED;
}

/* Sends the message that was held back for the next one to the same server. `more`: the next one follows at once. */
static hawser_status send_followed(hw_client *client, bool more, hawser_error *error)
{
    hw_message *message = client->followed;
    client->followed = NULL;
    if (message == NULL)
        return HAWSER_OK;
    message->more = more;
    return client->options.send(client->options.argument, client->followed_to, message, error);
}

/* With several open tasks no thread waits for the reply to one of them alone. */
static bool may_coalesce(const hw_client *client)
{
    enum { OPEN = 4 };
    return client->open >= OPEN;
}

static hawser_status send_slice(hw_client *client, const hw_task *t, hw_slice *part, bool resend, hawser_error *error)
{
    const hw_order *order = &t->order;
    const hw_table_spec *spec = hw_order_rows(client, order);
    hw_request request = {.head = {.operation = (uint8_t)order->operation,
                                   .table = client->there[order->table],
                                   .worker = order->worker,
                                   .reread = order->reread,
                                   .slice = (uint32_t)(part - t->slices),
                                   .parts = part->parts,
                                   .task = t->number,
                                   .clock = order->clock,
                                   .least = order->least}};
    hw_message *message = NULL;
    const uint64_t *keys = NULL;
    const gathering rows = {part, hw_task_row(client, t)};
    bool apart = hw_slice_apart(part);
    if (order->values != NULL)
        request.values = (const unsigned char *)order->values + (apart ? 0 : part->begin * rows.bytes);
    request.gather = apart ? gather : NULL;
    request.argument = &rows;
    request.zero_copy = client->options.zero_copy && part->server != client->options.near && !apart;
    HAWSER_TRY(keys_of(client, t, part, &keys, error));
    choose_keys(client, t, part, keys, resend, &request);
    HAWSER_TRY(hw_request_write(spec, &request, client->pool, &message, error));
    message->may_coalesce = may_coalesce(client);
    count_traffic(client, t,
                  (hw_client_traffic){.messages = 1,
                                      .bytes_sent = part->server != client->options.near ? message->envelope.length : 0,
                                      .bytes_plain = sizeof request.head +
                                                     (order->keys != NULL ? part->count * sizeof *keys : 0) +
                                                     (order->values != NULL ? part->count * rows.bytes : 0)});
    hawser_status status = resend ? HAWSER_OK : send_followed(client, true, error);
    if (followed(t, part) && status == HAWSER_OK) {
        client->followed = message;
        client->followed_to = part->server;
        return HAWSER_OK;
    }
    hawser_status own = client->options.send(client->options.argument, part->server, message, error);
    return status != HAWSER_OK ? status : own;
}

static void count_parts(const hw_client *client, hw_task *t)
{
    if (t->order.operation != HW_PUSH || t->slice_count < 2)
        return;
    memset(client->counts, 0, client->options.servers * sizeof *client->counts);
    for (size_t i = 0; i < t->slice_count; i++)
        client->counts[t->slices[i].server]++;
    for (size_t i = 0; i < t->slice_count; i++)
        t->slices[i].parts = client->counts[t->slices[i].server] > 1 ? client->counts[t->slices[i].server] : 0;
    t->batched = true;
}

/* Ends sending for this task. A push whose parts get one common reply will get none. Others wait for a clock, so without it
 * no request can go on. */
static void give_up(hw_client *client, hw_task *t, hawser_status status)
{
    if (t->order.operation == HW_CLOCK && t->failed != status && client->broken.status == HAWSER_OK) {
        client->broken = t->error;
        client->broken.status = status;
    }
    if (t->failed == HAWSER_OK)
        t->failed = status;
    t->slices_left = t->batched ? 0 : t->slices_left - (t->slice_count - t->slices_sent);
    t->slices_sent = t->slice_count;
}

/* Replaces a push by the rows that the table's filter lets pass. */
static hawser_status hold_back(hw_client *client, hw_task *t, hawser_error *error)
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
        count_traffic(
            client, t,
            (hw_client_traffic){.bytes_plain = (count - order->count) * (hw_task_row(client, t) + sizeof *order->keys)});
    }
    return HAWSER_OK;
}

/* Returns whether a task has nothing to do: its list of keys is empty, or all its rows are held back. */
static bool is_empty(const hw_order *order)
{
    return order->keys != NULL && order->count == 0;
}

static void begin(hw_client *client, hw_task *t)
{
    hawser_status status = t->failed;
    t->oldest = UINT64_MAX;
    t->begun = true;
    if (status == HAWSER_OK && !is_empty(&t->order))
        status = hold_back(client, t, &t->error);
    bool nothing = is_empty(&t->order);
    if (status == HAWSER_OK && !nothing && !t->is_cut)
        status = hw_task_cut(client, t, &t->error);
    count_parts(client, t);
    t->slices_left = t->slice_count;
    t->noted = status == HAWSER_OK && !nothing && !hw_operation_of_memory(t->order.operation);
    if (t->noted)
        hw_note_asked(client->options.log, &client->tables[t->order.table], &t->order, t->number, (uint32_t)t->slice_count);
    if (status != HAWSER_OK) {
        give_up(client, t, status);
        end(client, t);
    } else {
        append(&client->sending_end, t);
    }
}

/* Begins tasks in a loop and not by recursion: a task that ends may make others ready, and chains may be long. */
static void begin_ready(hw_client *client)
{
    if (client->beginning)
        return;
    client->beginning = true;
    while (client->ready != NULL)
        begin(client, take_first(&client->ready, &client->ready_end));
    client->beginning = false;
}

/* Fails a task by the name of a lost server. */
static void fail_by_server(const hw_client *client, hw_task *t, uint32_t server)
{
    const hw_lost_server *lost = &client->lost[server];
    if (t->failed == HAWSER_OK)
        t->failed = hawser_fail(&t->error, lost->status, "%s", lost->text);
}

/* Sends the next slice of a task; that of a lost server is done at once. */
static hawser_status send_next(hw_client *client, hw_task *t)
{
    hw_slice *part = &t->slices[t->slices_sent++];
    if (client->lost[part->server].status == HAWSER_OK)
        return send_slice(client, t, part, false, &t->error);
    fail_by_server(client, t, part->server);
    if (t->order.operation != HW_CLOCK)
        t->slices_left--;
    part->done = true;
    return HAWSER_OK;
}

bool hw_client_more(hw_client *client)
{
    hw_task *t = client->sending;
    if (t == NULL)
        return false;
    hawser_status status = HAWSER_OK;
    if (t->slices_sent < t->slice_count)
        status = send_next(client, t);
    bool clock = t->order.operation == HW_CLOCK; /* a server sends no reply to a clock */
    if (status != HAWSER_OK || clock)
        t->slices_left--;
    if (status != HAWSER_OK)
        give_up(client, t, status);
    if (status != HAWSER_OK && send_followed(client, false, &t->error) != HAWSER_OK)
        t->slices_left--;
    if (t->slices_sent == t->slice_count) {
        (void)take_first(&client->sending, &client->sending_end);
        if (t->slices_left == 0)
            end(client, t);
        begin_ready(client);
    }
    return true;
}

/* Ends the slices that a lost server was sent. Returns whether there were some, and nothing of the task is left. */
static bool lose_slices(const hw_client *client, hw_task *t, uint32_t server)
{
    bool any = false;
    for (size_t i = 0; i < t->slices_sent; i++) {
        hw_slice *part = &t->slices[i];
        if (part->server != server || part->done || t->order.operation == HW_CLOCK)
            continue;
        part->done = true;
        t->slices_left--;
        fail_by_server(client, t, server);
        any = true;
    }
    return any && t->slices_left == 0 && t->slices_sent == t->slice_count;
}

const hawser_error *hw_client_broken(const hw_client *client)
{
    return client->broken.status != HAWSER_OK ? &client->broken : NULL;
}

bool hw_client_has_lost(const hw_client *client, uint32_t server)
{
    return client->lost[server].status != HAWSER_OK;
}

void hw_client_fail_server(hw_client *client, uint32_t server, hawser_status status, const hawser_error *error)
{
    hw_lost_server *lost = &client->lost[server];
    if (lost->status != HAWSER_OK)
        return;
    lost->status = status;
    snprintf(lost->text, sizeof lost->text, "%.*s", (int)sizeof lost->text - 1, error->text);
    client->any_lost = true;
    if (client->followed != NULL && client->followed_to == server) {
        hw_message_free(client->followed);
        client->followed = NULL;
    }
    for (uint64_t number = client->base; number < client->next; number++) {
        hw_task *t = find(client, number);
        if (t != NULL && t->begun && lose_slices(client, t, server))
            end(client, t);
    }
    begin_ready(client);
}

void hw_client_fail(hw_client *client, hawser_status status, const hawser_error *error)
{
    client->sending = NULL;
    client->sending_end = &client->sending;
    hw_message_free(client->followed);
    client->followed = NULL;
    for (uint64_t number = client->base; number < client->next; number++) {
        hw_task *t = find(client, number);
        if (t == NULL || !t->begun)
            continue; /* a follower fails with the task that it waits for */
        t->failed = status;
        t->error = *error;
        end(client, t);
    }
    begin_ready(client);
}

static hawser_status check_after(const hw_client *client, const hw_order *order, hawser_error *error)
{
    for (size_t i = 0; i < order->after_count; i++)
        if (order->after[i] == 0 || order->after[i] > hw_client_newest(client))
            return hw_client_no_task(client, order->after[i], error);
    return HAWSER_OK;
}

static hawser_status check_order(const hw_client *client, const hw_order *order, hawser_error *error)
{
    bool pushes = hw_operation_pushes(order->operation), pulls = hw_operation_pulls(order->operation);
    if (order->table >= client->table_count)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no table number %u", order->table);
    const hw_table_spec *spec = hw_order_rows(client, order);
    if (order->rest && client->holdings[order->table] == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s' holds nothing back: it has no filter and no rounding",
                           spec->name);
    if (order->rest)
        return check_after(client, order, error);
    if (!is_empty(order) && (pushes != (order->values != NULL) || pulls != (order->out != NULL)))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': a push needs values, a pull needs memory for them",
                           spec->name);
    if (order->reread && (order->operation != HW_PULL || !spec->centric))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': only a pull from a data-centric table can be a reread",
                           spec->name);
    if (spec->summed && order->operation == HW_PUSH_PULL)
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "table '%s' is summed: what is pushed is in once all workers have ended the clock, so push and pull apart",
            spec->name);
    if (spec->summed && order->operation == HW_CLOCK && (order->first != spec->first || order->last != spec->last))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s' is summed: a clock is one of all its keys, %llu to %llu",
                           spec->name, (unsigned long long)spec->first, (unsigned long long)spec->last);
    if (hw_operation_of_memory(order->operation) && (spec->width == 0 || order->keys != NULL))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "table '%s': only a function with memory has any, which is read and set by ranges of keys",
                           spec->name);
    if (order->clock == UINT64_MAX)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': clocks and iterations end before 2^64 - 1", spec->name);
    if (is_empty(order))
        return check_after(client, order, error);
    if (order->keys != NULL && order->count > UINT32_MAX)
        return hw_task_unordered(spec, error);
    uint64_t first = order->keys != NULL ? order->keys[0] : order->first;
    uint64_t last = order->keys != NULL ? order->keys[order->count - 1] : order->last;
    if (order->keys != NULL && first > last)
        return hw_task_unordered(spec, error);
    if (first > last || first < spec->first || last > spec->last)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': keys %llu to %llu are not within %llu to %llu",
                           spec->name, (unsigned long long)first, (unsigned long long)last, (unsigned long long)spec->first,
                           (unsigned long long)spec->last);
    if (order->keys == NULL && spec->sparse && order->operation != HW_CLOCK)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s' is sparse: its keys are named one by one, not as a range",
                           spec->name);
    size_t count = order->keys != NULL ? order->count : (size_t)(last - first) + 1;
    size_t bad = pushes ? hw_values_not_finite(spec->type, order->values, count * spec->width) : 0;
    if (pushes && bad < count * spec->width)
        return hawser_fail(
            error, HAWSER_NOT_FINITE, "table '%s': what is pushed to key %llu is not finite", spec->name,
            (unsigned long long)(order->keys != NULL ? order->keys[bad / spec->width] : first + bad / spec->width));
    return check_after(client, order, error);
}

/* Adds a task to the followers of the tasks that it waits for. It fails if one of them has failed. */
static hawser_status follow(hw_client *client, hw_task *t, hawser_error *error)
{
    for (size_t i = 0; i < t->order.after_count; i++) {
        hw_task *other = find(client, t->order.after[i]);
        if (other != NULL)
            HAWSER_TRY(HW_GROW(&other->followers, &other->follower_capacity, other->follower_count + t->order.after_count,
                               "a task's followers", error));
    }
    for (size_t i = 0; i < t->order.after_count; i++) {
        hw_task *other = find(client, t->order.after[i]);
        const hw_failed_task *failed = other == NULL ? hw_failed_find(&client->failed_tasks, t->order.after[i]) : NULL;
        if (failed != NULL && t->failed == HAWSER_OK)
            fail_with(client, t, failed);
        if (other == NULL)
            continue;
        other->followers[other->follower_count++] = t;
        t->waits++;
    }
    t->order.after = NULL;
    return HAWSER_OK;
}

/* Checks that keys ascend before the call returns. If the task is sent at once, cutting it checks them; else they are
 * checked here. */
static hawser_status check_keys(const hw_client *client, hw_task *t, hawser_error *error)
{
    const hw_order *order = &t->order;
    bool waits = client->holdings[order->table] != NULL;
    if (order->keys == NULL || order->rest || is_empty(order))
        return HAWSER_OK;
    for (size_t i = 0; i < order->after_count; i++)
        waits |= find(client, order->after[i]) != NULL;
    if (!waits)
        return hw_task_cut(client, t, error);
    return hw_keys_ascend(order->keys, order->count) ? HAWSER_OK : hw_task_unordered(&client->tables[order->table], error);
}

/* Refuses a task that needs a lost server, before any other server has a part of it. A clock goes to the others, whose
 * clients may wait for it. */
static hawser_status check_servers(const hw_client *client, hw_task *t, hawser_error *error)
{
    if (!client->any_lost || t->order.after_count > 0 || t->order.operation == HW_CLOCK || is_empty(&t->order) ||
        t->order.rest || client->holdings[t->order.table] != NULL)
        return HAWSER_OK;
    if (!t->is_cut)
        HAWSER_TRY(hw_task_cut(client, t, error));
    for (size_t i = 0; i < t->slice_count; i++) {
        const hw_lost_server *lost = &client->lost[t->slices[i].server];
        if (lost->status != HAWSER_OK)
            return hawser_fail(error, lost->status, "%s", lost->text);
    }
    return HAWSER_OK;
}

hawser_status hw_client_submit(hw_client *client, const hw_order *order, uint64_t *number, hawser_error *error)
{
    HAWSER_TRY(check_order(client, order, error));
    HAWSER_TRY(HW_GROW(&client->window, &client->window_capacity, client->window_count + 1, "tasks", error));
    HAWSER_TRY(hw_failed_reserve(&client->failed_tasks, client->open + 1, error));
    hw_task *t = NULL;
    HAWSER_TRY(HW_NEW(&t, 1, "a task", error));
    t->order = *order;
    t->number = client->next;
    hawser_status status = check_keys(client, t, error);
    HAWSER_THEN(status, check_servers(client, t, error));
    HAWSER_THEN(status, follow(client, t, error));
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

/* ---------------------------------------------------------------------------------------------------------- hearing ---- */

/* Returns where the reply's values belong in the user's memory if they can be read there as they are, else NULL. */
static void *place_of(const hw_client *client, const hw_task *t, const hw_slice *part, const hw_reply_head *head)
{
    const hw_table_spec *spec = hw_order_rows(client, &t->order);
    unsigned char *out = t->order.out;
    if (out == NULL || hw_slice_apart(part) || head->outcome != HW_APPLIED || head->parts != 0 ||
        head->values != HW_VALUES_DENSE || head->count != part->count * spec->width ||
        head->value_bytes != part->count * hw_task_row(client, t))
        return NULL;
    return out + part->begin * hw_task_row(client, t);
}

static bool take_values(hw_client *client, hw_task *t, const hw_slice *part, const hw_reply_head *head,
                        const hw_message *message)
{
    const hw_table_spec *spec = hw_order_rows(client, &t->order);
    size_t bytes = hw_task_row(client, t);
    unsigned char *out = t->order.out;
    if (head->count != (out != NULL ? part->count * spec->width : 0))
        return false;
    if (out == NULL)
        return true;
    if (message->tail_received)
        return message->tail == place_of(client, t, part, head);
    if (!hw_slice_apart(part))
        return hw_reply_read(spec, head, message, out + part->begin * bytes);
    const unsigned char *values = hw_reply_dense(spec, head, message);
    if (values == NULL) {
        if (HW_GROW(&client->gathered, &client->gathered_capacity, part->count * bytes, "the values of a task", NULL) !=
                HAWSER_OK ||
            !hw_reply_read(spec, head, message, client->gathered))
            return false;
        values = client->gathered;
    }
    hw_slice_scatter(part, values, bytes, out);
    return true;
}

static void refused(hw_task *t, const hw_reply_head *head, const hw_message *message, uint32_t server)
{
    char words[sizeof t->error.text];
    hw_refusal_read(head, message, words, sizeof words);
    if (t->failed != HAWSER_OK)
        return;
    t->failed = head->outcome == HW_OUT_OF_MEMORY || words[0] == '\0' ? HAWSER_NO_MEMORY
                : head->outcome == HW_NOT_FINITE                      ? HAWSER_NOT_FINITE
                : head->outcome == HW_WORKER_LOST                     ? HAWSER_PEER_LOST
                                                                      : HAWSER_BAD_INPUT;
    if (words[0] != '\0')
        (void)hawser_fail(&t->error, t->failed, "server %u: %.400s", server, words);
    else
        (void)hawser_fail(&t->error, t->failed, "server %u had no memory left for all of it", server);
}

/* Finds the task and slice of a reply; *part is NULL if the reply came too late. A clock has no open slice: it is done when
 * it is sent. */
static hawser_status slice_of(const hw_client *client, uint32_t server, const hw_reply_head *head, hw_task **t,
                              hw_slice **part, hawser_error *error)
{
    *part = NULL;
    *t = find(client, head->task);
    if (*t == NULL && head->task != 0 && head->task < client->next)
        return HAWSER_OK; /* the task has failed meanwhile */
    if (*t != NULL && client->there[(*t)->order.table] == head->table && (*t)->waits == 0 && head->slice < (*t)->slices_sent)
        *part = &(*t)->slices[head->slice];
    bool asks = *part != NULL && (*t)->order.operation != HW_CLOCK && (head->outcome != HW_FORGOTTEN || (*part)->known);
    if (asks && (*part)->server == server && (head->parts > 0 || !(*part)->done))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT, "server %u answers to what it was not asked", server);
}

void *hw_client_place(const hw_client *client, uint32_t server, const hw_message *reply)
{
    hw_reply_head head = {0};
    hw_task *t = NULL;
    hw_slice *part = NULL;
    if (client->lost[server].status != HAWSER_OK || !hw_reply_head_of(reply, &head) ||
        slice_of(client, server, &head, &t, &part, NULL) != HAWSER_OK || part == NULL)
        return NULL;
    return place_of(client, t, part, &head);
}

/* Takes the one reply for all parts of a push at a server. Refused parts were reported before, unless the server had no
 * memory for that. */
static hawser_status take_batch(hw_task *t, const hw_slice *part, const hw_reply_head *head, const hw_message *message,
                                hawser_error *error)
{
    uint32_t parts = 0;
    for (size_t i = 0; i < t->slices_sent; i++)
        parts += t->slices[i].server == part->server;
    if ((head->outcome != HW_APPLIED && head->outcome != HW_REFUSED) || head->count != 0 || part->parts != head->parts ||
        parts != head->parts)
        return hawser_fail(error, HAWSER_BAD_INPUT, "server %u answers for %u parts of a push that has %u there",
                           part->server, head->parts, part->parts);
    if (head->outcome == HW_REFUSED)
        refused(t, head, message, part->server);
    for (size_t i = 0; i < t->slices_sent; i++)
        if (t->slices[i].server == part->server && !t->slices[i].done) {
            t->slices[i].done = true;
            t->slices_left--;
        }
    return HAWSER_OK;
}

/* Sends a part in full, because the server has forgotten its list of keys. */
static void resend_slice(hw_client *client, hw_task *t, hw_slice *part)
{
    hawser_status status = send_slice(client, t, part, true, &t->error);
    if (status == HAWSER_OK)
        return;
    part->done = true;
    t->slices_left--;
    if (t->failed == HAWSER_OK)
        t->failed = status;
    if (t->batched) /* the other parts get no reply without this one; sending ends there, too */
        give_up(client, t, status);
}

static void take_reply(hw_client *client, hw_task *t, hw_slice *part, const hw_reply_head *head, const hw_message *message)
{
    hawser_status status = HAWSER_OK;
    if (head->outcome == HW_REFUSED || head->outcome == HW_OUT_OF_MEMORY || head->outcome == HW_NOT_FINITE ||
        head->outcome == HW_WORKER_LOST)
        refused(t, head, message, part->server);
    else if (!take_values(client, t, part, head, message))
        status = hawser_fail(&t->error, HAWSER_BAD_INPUT, "server %u answers with what are not the values of table '%s'",
                             part->server, client->tables[t->order.table].name);
    if (status != HAWSER_OK && t->failed == HAWSER_OK)
        t->failed = status;
    if (head->outcome == HW_APPLIED && head->clock < t->oldest)
        t->oldest = head->clock;
    part->done = true;
    t->slices_left--;
}

/* Sends the rest of a clock although one server has refused it: the other servers apply their part, so that the tables can
 * be saved. */
static void send_rest_of_clock(hw_client *client)
{
    hw_task *t = client->sending;
    if (t == NULL || t->order.operation != HW_CLOCK || t->slices_sent == 0)
        return;
    while (t->slices_sent < t->slice_count)
        if (send_slice(client, t, &t->slices[t->slices_sent++], false, NULL) != HAWSER_OK)
            return; /* the store has ended with another failure */
}

/* Takes the refusal of a clock. A clock gets no reply, but others wait for it, so no request can go on. A later wait for a
 * task reports it, too. */
static hawser_status receive_refusal(hw_client *client, uint32_t server, const hw_reply_head *head,
                                     const hw_message *message, hawser_error *error)
{
    char words[HW_REFUSAL_WORDS + 1];
    if (client->refusals) /* other servers refuse it, too */
        return HAWSER_OK;
    client->refusals = true;
    hw_refusal_read(head, message, words, sizeof words);
    hawser_status why = head->outcome == HW_CLOCK_OVERFLOWED  ? HAWSER_NOT_FINITE
                        : head->outcome == HW_CLOCK_NO_MEMORY ? HAWSER_NO_MEMORY
                                                              : HAWSER_BAD_INPUT;
    hawser_status status = hawser_fail(error, why, "server %u: %s", server, words);
    send_rest_of_clock(client);
    if (error != NULL && head->task != 0 && head->task < client->next && find(client, head->task) == NULL)
        client->options.finished(client->options.argument, NULL, head->task, status, error);
    return status;
}

hawser_status hw_client_receive(hw_client *client, uint32_t server, hw_message *message, hawser_error *error)
{
    hw_reply_head head = {0};
    hw_task *t = NULL;
    hw_slice *part = NULL;
    uint64_t bytes = server != client->options.near ? message->envelope.length : 0;
    if (server < client->options.servers && client->lost[server].status != HAWSER_OK) {
        hw_message_free(message);
        return HAWSER_OK;
    }
    bool is_reply = hw_reply_head_of(message, &head);
    bool refusal = is_reply && (head.outcome == HW_CLOCK_REFUSED || head.outcome == HW_CLOCK_OVERFLOWED ||
                                head.outcome == HW_CLOCK_NO_MEMORY);
    hawser_status status = refusal    ? receive_refusal(client, server, &head, message, error)
                           : is_reply ? slice_of(client, server, &head, &t, &part, error)
                                      : hawser_fail(error, HAWSER_BAD_INPUT, "server %u sent what is no reply", server);
    count_traffic(client, t, (hw_client_traffic){.bytes_received = bytes});
    if (status != HAWSER_OK || part == NULL) {
        hw_message_free(message);
        return status;
    }
    bool sending = t->slices_sent < t->slice_count;
    if (head.parts > 0)
        status = take_batch(t, part, &head, message, error);
    else if (head.outcome == HW_FORGOTTEN)
        resend_slice(client, t, part);
    else
        take_reply(client, t, part, &head, message);
    hw_message_free(message);
    if (status == HAWSER_OK && t->slices_left == 0 && !sending)
        end(client, t);
    begin_ready(client);
    return status;
}
