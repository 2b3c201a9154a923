#include "store/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/keys.h"
#include "store/note.h"

/* What one server does of a task. */
typedef struct leg {
    uint32_t server;
    bool done;
    uint64_t first, last;
    size_t begin, count;  /* rows of the task, one after the other; */
    uint32_t *rows;       /* or these, where keys of several servers lie between each other */
    const uint64_t *keys; /* NULL: the range; the caller's or `own` */
    uint64_t *own;
    uint32_t list; /* number under which the keys were sent, 0: none */
} leg;

typedef struct task {
    hw_order order;
    uint64_t number;
    size_t waits; /* for so many others */
    struct task **followers;
    size_t follower_count, follower_room;
    leg *legs;
    size_t leg_count, legs_left;
    uint64_t oldest; /* clock */
    bool inherited;  /* it failed because another one did */
    bool begun;
    bool noted;         /* its beginning: its end is too */
    bool sending;       /* its legs are being sent: it does not end yet */
    struct task *ready; /* next of those that may begin */
    hawser_status failed;
    hawser_error error;
} task;

struct hw_client {
    hw_client_options options;
    hw_ring ring;
    hw_table_spec *tables;
    hw_arcs *arcs; /* of dense tables */
    size_t table_count, table_room, arcs_room;
    hw_lists *lists; /* by server */
    task **window;   /* of tasks base + 0, 1 ...; NULL: ended */
    size_t window_count, window_room, open;
    uint64_t base, next;
    task *ready, **ready_end; /* may begin */
    bool beginning;           /* somebody further up the stack begins them */
    unsigned char *gathered;  /* rows of one leg */
    size_t gathered_room;
    hw_client_figures figures;
};

enum { LIST_BYTES = 16 << 20 };

hawser_status hw_client_new(const hw_client_options *options, hw_client **out, hawser_error *error)
{
    hw_client *client = NULL;
    HAWSER_TRY(HW_NEW(&client, 1, "a client of the store", error));
    client->options = *options;
    client->base = client->next = 1;
    client->ready_end = &client->ready;
    hawser_status status = hw_ring_new(options->names, options->servers, HW_RING_POINTS, &client->ring, error);
    if (status == HAWSER_OK)
        status = HW_NEW(&client->lists, options->servers, "lists of keys", error);
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

static void free_legs(task *t)
{
    for (size_t l = 0; l < t->leg_count; l++) {
        free(t->legs[l].rows);
        free(t->legs[l].own);
    }
    free(t->legs);
    t->legs = NULL;
    t->leg_count = 0;
}

static void free_task(task *t)
{
    if (t == NULL)
        return;
    free_legs(t);
    free(t->followers);
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
    free(client->window);
    free(client->lists);
    free(client->tables);
    free(client->arcs);
    free(client->gathered);
    hw_ring_free(&client->ring);
    free(client);
}

hawser_status hw_client_table(hw_client *client, const hw_table_spec *spec, uint32_t *number, hawser_error *error)
{
    HAWSER_TRY(hw_table_check(spec, error));
    for (size_t t = 0; t < client->table_count; t++)
        if (strcmp(client->tables[t].name, spec->name) == 0) {
            *number = (uint32_t)t;
            return HAWSER_OK; /* whether it is the same in all else the servers say */
        }
    HAWSER_TRY(HW_GROW(&client->tables, &client->table_room, client->table_count + 1, "the tables", error));
    HAWSER_TRY(HW_GROW(&client->arcs, &client->arcs_room, client->table_count + 1, "the tables", error));
    hw_arcs arcs = {0};
    if (!spec->sparse)
        HAWSER_TRY(hw_ring_cut(&client->ring, spec->first, spec->last, &arcs, error));
    client->tables[client->table_count] = *spec;
    client->arcs[client->table_count] = arcs;
    *number = (uint32_t)client->table_count++;
    return HAWSER_OK;
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

static void make_ready(hw_client *client, task *t)
{
    *client->ready_end = t;
    client->ready_end = &t->ready;
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

/* Ends a task; those that waited for it alone may begin; what waited for one that failed fails with it. */
static void end(hw_client *client, task *t)
{
    client->window[t->number - client->base] = NULL;
    client->open--;
    if (t->noted)
        hw_note_answer(client->options.log, &client->tables[t->order.table], &t->order, t->number, t->failed != HAWSER_OK);
    if (t->order.oldest != NULL)
        *t->order.oldest = t->oldest;
    client->options.finished(client->options.argument, t->order.tag, t->number, t->failed, &t->error);
    for (size_t i = 0; i < t->follower_count; i++) {
        task *follower = t->followers[i];
        if (t->failed != HAWSER_OK && follower->failed == HAWSER_OK)
            fail_with(follower, t);
        if (--follower->waits == 0)
            make_ready(client, follower);
    }
    free_task(t);
    slide(client);
}

/* --------------------------------------------------------------------------------------------------- cutting by server ---- */

static leg *add_leg(task *t, uint32_t server)
{
    leg *added = &t->legs[t->leg_count++];
    *added = (leg){.server = server};
    return added;
}

static hawser_status new_legs(task *t, size_t most, hawser_error *error)
{
    return HW_NEW(&t->legs, most, "the parts of a task", error);
}

/* Arc by arc. */
static hawser_status cut_range(const hw_client *client, task *t, hawser_error *error)
{
    const hw_order *order = &t->order;
    const hw_arcs *arcs = &client->arcs[order->table];
    size_t from = hw_arcs_find(arcs, order->first), to = hw_arcs_find(arcs, order->last);
    HAWSER_TRY(new_legs(t, to - from + 1, error));
    for (size_t i = from; i <= to; i++) {
        leg *part = add_leg(t, arcs->arcs[i].server);
        part->first = i == from ? order->first : arcs->arcs[i].first;
        part->last = i == to ? order->last : arcs->arcs[i].last;
        part->begin = (size_t)(part->first - order->first);
        part->count = (size_t)(part->last - part->first) + 1;
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

static uint32_t server_of(const hw_client *client, uint32_t table, uint64_t key, size_t *arc)
{
    if (client->tables[table].sparse)
        return hw_ring_of_key(&client->ring, key);
    const hw_arcs *arcs = &client->arcs[table];
    if (key > arcs->arcs[*arc].last) /* keys ascend: mostly it is the next one, or far off */
        *arc = *arc + 1 < arcs->count && key <= arcs->arcs[*arc + 1].last ? *arc + 1 : hw_arcs_find(arcs, key);
    return arcs->arcs[*arc].server;
}

static hawser_status whole_list(task *t, uint32_t server, hawser_error *error)
{
    HAWSER_TRY(new_legs(t, 1, error));
    leg *part = add_leg(t, server);
    part->keys = t->order.keys;
    part->count = t->order.count;
    return HAWSER_OK;
}

/* Keys are counted by server and put beside each other, with their rows. */
static hawser_status cut_list(const hw_client *client, task *t, hawser_error *error)
{
    const hw_order *order = &t->order;
    uint32_t servers = client->options.servers;
    size_t arc = 0;
    if (servers == 1)
        return whole_list(t, 0, error);
    size_t *counts = calloc(servers, sizeof *counts);
    leg **legs = calloc(servers, sizeof *legs);
    hawser_status status = counts != NULL && legs != NULL
                               ? new_legs(t, servers, error)
                               : hawser_fail(error, HAWSER_NO_MEMORY, "cannot cut a list of keys");
    for (size_t i = 0; status == HAWSER_OK && i < order->count; i++)
        counts[server_of(client, order->table, order->keys[i], &arc)]++;
    for (uint32_t s = 0; status == HAWSER_OK && s < servers; s++) {
        if (counts[s] == 0)
            continue;
        legs[s] = add_leg(t, s);
        status = HW_NEW(&legs[s]->own, counts[s], "the keys of a task", error);
        if (status == HAWSER_OK)
            status = HW_NEW(&legs[s]->rows, counts[s], "the keys of a task", error);
        legs[s]->keys = legs[s]->own;
    }
    arc = 0;
    for (size_t i = 0; status == HAWSER_OK && i < order->count; i++) {
        leg *part = legs[server_of(client, order->table, order->keys[i], &arc)];
        part->own[part->count] = order->keys[i];
        part->rows[part->count++] = (uint32_t)i;
    }
    free(counts);
    free(legs);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- sending ---- */

static size_t row_bytes(const hw_client *client, const task *t)
{
    const hw_table_spec *spec = &client->tables[t->order.table];
    return spec->width * hw_value_size(spec->type);
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
    if (part->rows == NULL)
        return HAWSER_OK;
    HAWSER_TRY(HW_GROW(&client->gathered, &client->gathered_room, part->count * bytes, "the values of a task", error));
    for (size_t i = 0; i < part->count; i++)
        memcpy(client->gathered + i * bytes, from + part->rows[i] * bytes, bytes);
    *values = client->gathered;
    return HAWSER_OK;
}

/* How the keys of a leg go; `again`: the server has forgotten them. */
static void choose_keys(hw_client *client, const task *t, leg *part, bool again, hw_request *request)
{
    hw_request_head *head = &request->head;
    head->first = part->first;
    head->last = part->last;
    head->count = part->count;
    head->keys = HW_KEYS_RANGE;
    if (part->keys == NULL)
        return;
    head->first = part->keys[0];
    head->last = part->keys[part->count - 1];
    if (hw_keys_follow(part->keys, part->count) && !client->tables[t->order.table].sparse)
        return;
    bool known = false;
    if (!again)
        part->list = hw_lists_number(&client->lists[part->server], t->order.table, part->keys, part->count, &known);
    head->list = part->list;
    head->keys = known ? HW_KEYS_KNOWN : HW_KEYS_GAPS;
    client->figures.lists_known += known;
    client->figures.lists_resent += again;
    request->keys = part->keys;
}

static hawser_status send_leg(hw_client *client, const task *t, leg *part, bool again, hawser_error *error)
{
    const hw_order *order = &t->order;
    const hw_table_spec *spec = &client->tables[order->table];
    hw_request request = {.head = {.operation = (uint8_t)order->operation,
                                   .table = order->table,
                                   .worker = order->worker,
                                   .leg = (uint32_t)(part - t->legs),
                                   .task = t->number,
                                   .clock = order->clock,
                                   .least = order->least}};
    hw_message *message = NULL;
    HAWSER_TRY(values_of(client, t, part, &request.values, error));
    choose_keys(client, t, part, again, &request);
    HAWSER_TRY(hw_request_write(spec, &request, &message, error));
    client->figures.messages++;
    client->figures.bytes_sent += message->envelope.length;
    client->figures.bytes_plain += sizeof request.head + (part->keys != NULL ? part->count * sizeof *part->keys : 0) +
                                   (order->values != NULL ? part->count * row_bytes(client, t) : 0);
    return client->options.send(client->options.argument, part->server, message, error);
}

/* Legs whose values a pull of no keys would bring do not exist: an order has keys. */
static hawser_status cut(const hw_client *client, task *t, hawser_error *error)
{
    if (t->order.operation == HW_CLOCK)
        return cut_clock(client, t, error);
    return t->order.keys == NULL ? cut_range(client, t, error) : cut_list(client, t, error);
}

static void begin(hw_client *client, task *t)
{
    hawser_status status = t->failed;
    t->oldest = UINT64_MAX;
    if (status == HAWSER_OK)
        status = cut(client, t, &t->error);
    t->begun = t->sending = true;
    t->noted = status == HAWSER_OK;
    if (t->noted)
        hw_note_asked(client->options.log, &client->tables[t->order.table], &t->order, t->number);
    for (size_t l = 0; status == HAWSER_OK && l < t->leg_count; l++) {
        t->legs_left += t->order.operation != HW_CLOCK; /* nobody answers to a clock */
        status = send_leg(client, t, &t->legs[l], false, &t->error);
        if (status != HAWSER_OK && t->order.operation != HW_CLOCK)
            t->legs_left--;
    }
    t->sending = false;
    if (status != HAWSER_OK && t->failed == HAWSER_OK)
        t->failed = status;
    if (t->legs_left == 0)
        end(client, t);
}

/* One after the other, however long the chain: an end that makes another ready does not begin it itself. */
static void begin_ready(hw_client *client)
{
    if (client->beginning)
        return;
    client->beginning = true;
    while (client->ready != NULL) {
        task *t = client->ready;
        client->ready = t->ready;
        if (client->ready == NULL)
            client->ready_end = &client->ready;
        begin(client, t);
    }
    client->beginning = false;
}

void hw_client_fail(hw_client *client, hawser_status status, const hawser_error *error)
{
    for (uint64_t number = client->base; number < client->next; number++) {
        task *t = find(client, number);
        if (t == NULL || !t->begun || t->sending)
            continue; /* who waits fails with the one that he waits for */
        t->failed = status;
        t->error = *error;
        end(client, t);
    }
    begin_ready(client);
}

static hawser_status check_order(const hw_client *client, const hw_order *order, hawser_error *error)
{
    bool pushes = order->operation == HW_PUSH || order->operation == HW_PUSH_PULL;
    bool pulls = order->operation == HW_PULL || order->operation == HW_PUSH_PULL;
    if (order->table >= client->table_count)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no table number %u", order->table);
    const hw_table_spec *spec = &client->tables[order->table];
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
    for (size_t i = 0; i < order->after_count; i++)
        if (order->after[i] == 0 || order->after[i] >= client->next)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no task %llu yet to wait for: the newest is %llu",
                               (unsigned long long)order->after[i], (unsigned long long)client->next - 1);
    return HAWSER_OK;
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
        make_ready(client, t);
    begin_ready(client);
    return HAWSER_OK;
}

/* ----------------------------------------------------------------------------------------------------------- hearing ---- */

static bool take_values(const hw_client *client, task *t, const leg *part, const hw_reply_head *head,
                        const hw_message *message)
{
    const hw_table_spec *spec = &client->tables[t->order.table];
    size_t bytes = row_bytes(client, t);
    unsigned char *out = t->order.out;
    if (head->count != (out != NULL ? part->count * spec->width : 0))
        return false;
    if (out == NULL)
        return true;
    if (part->rows == NULL)
        return hw_reply_read(spec, head, message, out + part->begin * bytes);
    unsigned char *near = malloc(part->count * bytes);
    bool right = near != NULL && hw_reply_read(spec, head, message, near);
    for (size_t i = 0; right && i < part->count; i++)
        memcpy(out + part->rows[i] * bytes, near + i * bytes, bytes);
    free(near);
    return right;
}

static void refused(task *t, const hw_reply_head *head, const hw_message *message, uint32_t server)
{
    char words[sizeof t->error.text];
    hw_refusal_read(head, message, words, sizeof words);
    if (t->failed == HAWSER_OK)
        t->failed = hawser_fail(&t->error, HAWSER_BAD_INPUT, "server %u: %.200s", server, words);
}

/* What a reply is about: *part NULL where it came too late to matter. */
static hawser_status leg_of(const hw_client *client, uint32_t server, const hw_reply_head *head, task **t, leg **part,
                            hawser_error *error)
{
    *part = NULL;
    *t = find(client, head->task);
    if (*t == NULL && head->task != 0 && head->task < client->next)
        return HAWSER_OK; /* the task has failed meanwhile */
    if (*t != NULL && (*t)->order.table == head->table && (*t)->waits == 0 && head->leg < (*t)->leg_count)
        *part = &(*t)->legs[head->leg];
    if (*part != NULL && (*part)->server == server && !(*part)->done)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT, "server %u answers to what it was not asked", server);
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
    bool again = head.outcome == HW_FORGOTTEN;
    if (again)
        status = send_leg(client, t, part, true, &t->error);
    else if (head.outcome == HW_REFUSED)
        refused(t, &head, message, server);
    else if (!take_values(client, t, part, &head, message))
        status = hawser_fail(&t->error, HAWSER_BAD_INPUT, "server %u answers with what are not the values of table '%s'",
                             server, client->tables[t->order.table].name);
    hw_message_free(message);
    if (again && status == HAWSER_OK)
        return HAWSER_OK;
    if (status != HAWSER_OK && t->failed == HAWSER_OK)
        t->failed = status;
    if (head.outcome == HW_APPLIED && head.clock < t->oldest)
        t->oldest = head.clock;
    part->done = true;
    if (--t->legs_left == 0 && !t->sending)
        end(client, t);
    begin_ready(client);
    return HAWSER_OK;
}
