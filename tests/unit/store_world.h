/*
 * store_world.h - clients and servers of a store under a seed: messages of every link arrive in order, but links, stripes
 * and clients take turns as the seed says. For test files that begin with cmocka's includes.
 */
#ifndef STORE_WORLD_H
#define STORE_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "store/client.h"
#include "store/server.h"

enum { SERVERS_MOST = 5, CLIENTS_MOST = 4, TASKS_MOST = 4000, READY_MOST = 4096 };

typedef struct line { /* messages on their way, in order */
    hw_message *first, **end;
} line;

typedef struct world world;
typedef struct peer {
    world *world;
    uint32_t number;
} peer;

struct world {
    hw_random random;
    uint32_t servers, clients;
    hw_server *server[SERVERS_MOST];
    hw_client *client[CLIENTS_MOST];
    peer server_peer[SERVERS_MOST], client_peer[CLIENTS_MOST];
    line there[CLIENTS_MOST][SERVERS_MOST], back[CLIENTS_MOST][SERVERS_MOST];
    bool more[CLIENTS_MOST][SERVERS_MOST]; /* the last message there says that another follows at once */
    hw_stripe *ready[READY_MOST];
    uint32_t ready_of[READY_MOST]; /* its server */
    size_t ready_count;
    bool gone[SERVERS_MOST]; /* client and server of this number neither send nor receive any more */
    hawser_status status[CLIENTS_MOST][TASKS_MOST];
    uint64_t ended[CLIENTS_MOST][TASKS_MOST]; /* when, from 1 */
    hawser_error error;                       /* of the last that failed */
    uint64_t moment;
    hw_log *(*note)(void *notes, hw_stream_name name); /* where a history is recorded: gives a log; else NULL */
    void *notes;
    hw_pool *pool;      /* of replies that were sent without a copy: */
    size_t zero_copies; /* so many */
};

static void put(line *to, hw_message *message)
{
    if (to->first == NULL)
        to->end = &to->first;
    message->next = NULL;
    *to->end = message;
    to->end = &message->next;
}

static hw_message *take(line *from)
{
    hw_message *message = from->first;
    from->first = message->next;
    return message;
}

static hawser_status send(void *argument, uint32_t server, hw_message *message, hawser_error *error)
{
    (void)error;
    peer *p = argument;
    p->world->more[p->number][server] = message->more;
    put(&p->world->there[p->number][server], message);
    return HAWSER_OK;
}

static void finished(void *argument, void *tag, uint64_t task, hawser_status status, const hawser_error *error)
{
    peer *p = argument;
    assert_null(tag);
    assert_true(task < TASKS_MOST && p->world->ended[p->number][task] == 0);
    p->world->status[p->number][task] = status;
    p->world->ended[p->number][task] = ++p->world->moment;
    if (status != HAWSER_OK)
        p->world->error = *error;
}

static void ready(void *argument, hw_stripe *stripe)
{
    world *w = ((peer *)argument)->world;
    assert_true(w->ready_count < READY_MOST);
    w->ready_of[w->ready_count] = ((peer *)argument)->number;
    w->ready[w->ready_count++] = stripe;
}

static void reply(void *argument, uint32_t client, hw_message *message)
{
    peer *p = argument;
    p->world->zero_copies += message->tail != NULL;
    if (message->tail != NULL) /* the server's again when this returns */
        assert_int_equal(hw_message_join(p->world->pool, message, NULL), HAWSER_OK);
    put(&p->world->back[client][p->number], message);
}

static hawser_status give_log(void *argument, hw_stream_name name, hw_log **log, hawser_error *error)
{
    world *w = ((peer *)argument)->world;
    (void)error;
    *log = w->note(w->notes, name);
    return HAWSER_OK;
}

static void keep_log(hw_log *log)
{
    (void)log; /* the caller keeps it */
}

typedef struct world_shape {
    uint64_t seed;
    uint32_t servers, clients, workers;
    size_t list_bytes;
    hw_log *(*note)(void *notes, hw_stream_name name);
    void *notes;
    size_t part; /* 0: as the seed says */
    size_t arc;  /* the same */
    size_t client_list_bytes;
    bool zero_copy; /* servers */
} world_shape;

static world *open_world_of(world_shape shape)
{
    static const uint64_t names[SERVERS_MOST] = {11, 12, 13, 14, 15};
    world *w = calloc(1, sizeof *w);
    uint32_t servers = shape.servers, clients = shape.clients;
    size_t arc = shape.arc > 0 ? shape.arc : (size_t)1 << (shape.seed * 5 % 17 + 1);
    w->random = hw_random_at(shape.seed, 77, 0, 0);
    w->servers = servers;
    w->clients = clients;
    w->note = shape.note;
    w->notes = shape.notes;
    assert_int_equal(hw_pool_new(&w->pool, NULL), HAWSER_OK);
    for (uint32_t s = 0; s < servers; s++) {
        w->server_peer[s] = (peer){w, s};
        hw_server_options options = {.self = s,
                                     .servers = servers,
                                     .names = names,
                                     .clients = clients,
                                     .workers = shape.workers,
                                     .stripes = 3,
                                     .arc = arc,
                                     .list_bytes = shape.list_bytes,
                                     .argument = &w->server_peer[s],
                                     .ready = ready,
                                     .log = shape.note != NULL ? give_log : NULL,
                                     .drop = keep_log,
                                     .zero_copy = shape.zero_copy,
                                     .reply = reply};
        assert_int_equal(hw_server_new(&options, &w->server[s], NULL), HAWSER_OK);
    }
    for (uint32_t c = 0; c < clients; c++) {
        w->client_peer[c] = (peer){w, c};
        hw_client_options options = {.servers = servers,
                                     .near = UINT32_MAX,
                                     .names = names,
                                     .list_bytes = shape.client_list_bytes,
                                     .arc = arc,
                                     .argument = &w->client_peer[c],
                                     .send = send,
                                     .finished = finished,
                                     .part = shape.part > 0 ? shape.part : (size_t)1 << (shape.seed % 9 + 1)};
        if (shape.note != NULL)
            options.log = shape.note(shape.notes, (hw_stream_name){.kind = HW_STREAM_CLIENT, .number = c});
        assert_int_equal(hw_client_new(&options, &w->client[c], NULL), HAWSER_OK);
    }
    return w;
}

static inline world *open_world(uint64_t seed, uint32_t servers, uint32_t clients, uint32_t workers, size_t list_bytes)
{
    return open_world_of(
        (world_shape){.seed = seed, .servers = servers, .clients = clients, .workers = workers, .list_bytes = list_bytes});
}

static void close_world(world *w)
{
    for (uint32_t c = 0; c < w->clients; c++)
        for (uint32_t s = 0; s < w->servers; s++) {
            while (w->there[c][s].first != NULL)
                hw_message_free(take(&w->there[c][s]));
            while (w->back[c][s].first != NULL)
                hw_message_free(take(&w->back[c][s]));
        }
    for (uint32_t c = 0; c < w->clients; c++)
        hw_client_free(w->client[c]);
    for (uint32_t s = 0; s < w->servers; s++)
        hw_server_free(w->server[s]);
    hw_pool_free(w->pool);
    free(w);
}

static uint32_t create(world *w, hw_table_spec spec)
{
    uint32_t number = 99, other;
    for (uint32_t s = 0; s < w->servers; s++)
        assert_int_equal(hw_server_create(w->server[s], &spec, &number, NULL), HAWSER_OK);
    for (uint32_t c = 0; c < w->clients; c++) {
        assert_int_equal(hw_client_table(w->client[c], &spec, &other, NULL), HAWSER_OK);
        assert_int_equal(other, number);
    }
    return number;
}

/* Something that can happen happens; false: nothing can. */
static bool step(world *w)
{
    uint32_t lines = w->clients * w->servers, own = 2 * lines + (uint32_t)w->ready_count, choices = own + w->clients;
    uint32_t from = (uint32_t)hw_random_below(&w->random, choices);
    for (uint32_t k = 0; k < choices; k++) {
        uint32_t i = (from + k) % choices;
        if (i >= own) {
            if (!w->gone[i - own] && hw_client_more(w->client[i - own]))
                return true;
            continue;
        }
        if (i >= 2 * lines) {
            hw_stripe *stripe = w->ready[i - 2 * lines];
            bool gone = w->gone[w->ready_of[i - 2 * lines]];
            w->ready[i - 2 * lines] = w->ready[--w->ready_count];
            w->ready_of[i - 2 * lines] = w->ready_of[w->ready_count];
            if (!gone)
                hw_stripe_work(stripe);
            return true;
        }
        uint32_t c = i % lines / w->servers, s = i % w->servers;
        line *queue = i < lines ? &w->there[c][s] : &w->back[c][s];
        if (queue->first == NULL)
            continue;
        if (w->gone[i < lines ? s : c]) {
            hw_message_free(take(queue));
            return true;
        }
        hawser_error error = {0};
        hawser_status status = i < lines ? hw_server_receive(w->server[s], c, take(queue), &error)
                                         : hw_client_receive(w->client[c], s, take(queue), &error);
        if (status != HAWSER_OK)
            fail_msg("%s", error.text);
        return true;
    }
    return false;
}

static hw_table_spec spec_of(const char *name, hw_value_type type, uint32_t width, bool sparse, uint64_t first,
                             uint64_t last)
{
    hw_table_spec spec = {.type = type, .width = width, .sparse = sparse, .first = first, .last = last};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    spec.function = hw_function_find("add");
    return spec;
}

static uint64_t submit(world *w, uint32_t client, hw_order order)
{
    uint64_t task = 0;
    hawser_error error = {0};
    if (hw_client_submit(w->client[client], &order, &task, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return task;
}

#endif
