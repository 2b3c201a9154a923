/* receive.c - turns a request into a request in flight: reads it, checks it against its table, cuts it into pieces by stripe
 * and prepares the reply. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "codec/bits.h"
#include "codec/keys.h"
#include "consistency/consistency.h"
#include "store/stripe.h"

/* The largest requests, in numbers, that the receiving thread does itself, because waking another thread costs more than the
 * work. SMALL: any request. SMALL_LIST: a list that is pushed to a dense table with a cheap function (a pull is better done
 * by another thread, which sends while this one reads on). SMALL_CLOSE: a range, or close keys that are pushed; they move at
 * the speed of memory and are in this processor's cache. */
enum { SMALL = 1 << 14, SMALL_LIST = 1 << 15, SMALL_CLOSE = 1 << 17 };

/* The most numbers in a reply, unless it has one row. Clients cut requests into far smaller parts. */
enum { REPLY_MOST = 1 << 24 };

/* The most ranges that the clocks of a group may have at a stripe: 2 MiB. */
enum { RANGES_MOST = 1 << 17 };

void hw_inflight_free(hw_inflight *inflight)
{
    if (inflight == NULL)
        return;
    hw_message_free(inflight->message);
    hw_message_free(inflight->reply);
    hw_batch_drop(inflight->batch);
    hw_scratch_free(&inflight->scratch);
    hw_list_drop(inflight->list);
    hw_message_free(inflight->buffer);
    for (uint32_t i = 0; i < inflight->count; i++) /* reserved for pieces that were not done */
        hw_server_unreserve(inflight->server, inflight->pieces[i].reserved);
    free(inflight);
}

static hawser_status refuse(const hw_client_session *session, const hw_request_head *head, hw_outcome outcome,
                            const char *words, hawser_error *error)
{
    hw_server *server = session->group->server;
    hw_message *reply = NULL;
    if (head->operation == HW_CLOCK && outcome != HW_FORGOTTEN) { /* no client waits for a reply to a clock */
        hw_group_refuse(session->group, session, head, outcome == HW_OUT_OF_MEMORY ? HW_CLOCK_NO_MEMORY : HW_CLOCK_REFUSED,
                        words);
        return HAWSER_OK;
    }
    atomic_fetch_add_explicit(outcome == HW_FORGOTTEN ? &server->forgotten : &server->refused, 1, memory_order_relaxed);
    HAWSER_TRY(hw_refusal_write(head, outcome, words, &reply, error));
    server->options.reply(server->options.argument, session->client, reply);
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------- what is held ---- */

static void account(const hw_server *server, uint32_t client, int64_t bytes)
{
    if (server->options.account != NULL)
        server->options.account(server->options.argument, client, bytes);
}

static void count_held(hw_inflight *inflight, const hw_served *served)
{
    const hw_request_head *head = &inflight->request.head;
    size_t values = (size_t)head->count * inflight->spec->width * hw_value_size(inflight->spec->type);
    inflight->bytes =
        sizeof *inflight + served->stripe_count * sizeof(hw_piece) + (size_t)inflight->message->envelope.length;
    if (inflight->out != NULL)
        inflight->bytes += values;
    if (inflight->scratch.values != NULL)
        inflight->bytes += values;
    if (inflight->scratch.keys != NULL)
        inflight->bytes += (size_t)head->count * sizeof *inflight->grouped;
    if (inflight->grouped != NULL)
        inflight->bytes += (size_t)head->count * (sizeof *inflight->grouped + sizeof *inflight->rows);
    /* The list's number may be given to another list meanwhile; then this request alone owns the old one. */
    if (inflight->list != NULL)
        inflight->bytes += hw_list_bytes(inflight->list);
    account(inflight->server, inflight->client, (int64_t)inflight->bytes);
}

void hw_inflight_waits(hw_inflight *inflight)
{
    if (atomic_exchange(&inflight->waited, true))
        return;
    atomic_fetch_add(&inflight->session->waiting, inflight->bytes);
    account(inflight->server, inflight->client, -(int64_t)inflight->bytes);
}

void hw_client_session_relieve(hw_client_session *session, size_t bytes, bool waited)
{
    if (waited)
        atomic_fetch_sub(&session->waiting, bytes);
    else
        account(session->group->server, session->client, -(int64_t)bytes);
}

/* Refuses requests that would split a stripe's clocks into too many ranges. A clock that covers the stripe splits none.
 * Requests that are already queued come on top. */
static hawser_status check_ranges(const hw_inflight *inflight, hawser_error *error)
{
    const hw_request_head *head = &inflight->request.head;
    if (!hw_inflight_of_client(inflight) || !(head->operation == HW_CLOCK || inflight->spec->centric))
        return HAWSER_OK;
    for (uint32_t i = 0; i < inflight->count; i++) {
        const hw_piece *piece = &inflight->pieces[i];
        const hw_stripe *stripe = piece->stripe;
        if (head->operation == HW_CLOCK && piece->first == stripe->first && piece->last == stripe->last)
            continue;
        if (atomic_load_explicit(&hw_progress_of(stripe, inflight)->ranges, memory_order_relaxed) > RANGES_MOST)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "table '%s': the clocks of this group stand on more than %d ranges of keys of one stripe; "
                               "end clocks on more keys at once",
                               inflight->spec->name, RANGES_MOST);
    }
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------- whose keys ---- */

/* Returns the stripe that has a key of a dense table, or NULL if the key belongs to another server. */
static hw_stripe *stripe_of(const hw_served *served, uint64_t key)
{
    uint32_t low = 0, high = served->stripe_count;
    while (high > low) {
        uint32_t middle = low + (high - low) / 2;
        if (served->stripes[middle].last < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < served->stripe_count && served->stripes[low].first <= key ? &served->stripes[low] : NULL;
}

static hw_piece *add_piece(hw_inflight *inflight, hw_stripe *stripe)
{
    hw_piece *piece = &inflight->pieces[inflight->count++];
    *piece = (hw_piece){.inflight = inflight, .stripe = stripe, .first = stripe->first, .last = stripe->last};
    return piece;
}

/* Cuts a clock into one piece per stripe that its range meets. */
static void cut_clock(hw_inflight *inflight, const hw_served *served)
{
    const hw_request_head *head = &inflight->request.head;
    for (uint32_t s = 0; s < served->stripe_count; s++) {
        hw_stripe *stripe = &served->stripes[s];
        if (stripe->first > head->last || stripe->last < head->first)
            continue;
        hw_piece *piece = add_piece(inflight, stripe);
        piece->first = stripe->first > head->first ? stripe->first : head->first;
        piece->last = stripe->last < head->last ? stripe->last : head->last;
    }
}

/* Cuts a range. All of it must be on this server, because clients cut ranges by arc. */
static bool cut_range(hw_inflight *inflight, const hw_served *served)
{
    const hw_request_head *head = &inflight->request.head;
    uint64_t key = head->first;
    for (hw_stripe *stripe = stripe_of(served, key); stripe != NULL; stripe++) {
        hw_piece *piece = add_piece(inflight, stripe);
        piece->first = key;
        piece->last = stripe->last < head->last ? stripe->last : head->last;
        piece->begin = (size_t)(key - head->first);
        piece->end = (size_t)(piece->last - head->first) + 1;
        /* Keys of other servers may lie between the arcs of one stripe. */
        size_t at = hw_arcs_find(&(hw_arcs){stripe->arcs, stripe->shard_count}, key);
        for (uint64_t next = key;; next = stripe->arcs[at].first) {
            if (stripe->arcs[at].first > next || stripe->arcs[at].last < next)
                return false;
            if (stripe->arcs[at].last >= piece->last)
                break;
            next = stripe->arcs[at].last + 1;
            if (++at == stripe->shard_count || stripe->arcs[at].first != next)
                return false;
        }
        if (piece->last == head->last)
            return true;
        key = piece->last + 1;
        if (stripe + 1 == served->stripes + served->stripe_count || stripe[1].first != key)
            return false;
    }
    return false;
}

/* Cuts a list. Keys ascend, and so do stripes and their arcs. */
static bool cut_list(hw_inflight *inflight, const hw_served *served)
{
    const uint64_t *keys = inflight->request.keys;
    size_t count = (size_t)inflight->request.head.count;
    for (size_t i = 0, end; i < count; i = end) {
        hw_stripe *stripe = stripe_of(served, keys[i]);
        if (stripe == NULL)
            return false;
        end = hw_keys_up_to(keys, i, count, stripe->last);
        hw_piece *piece = add_piece(inflight, stripe);
        piece->begin = i;
        piece->end = end;
        piece->first = keys[i];
        piece->last = keys[end - 1];
        const hw_arcs arcs = {stripe->arcs, stripe->shard_count};
        for (size_t k = i; k < end;) {
            const hw_arc *arc = &stripe->arcs[hw_arcs_find(&arcs, keys[k])];
            if (arc->first > keys[k] || arc->last < keys[k])
                return false;
            k = hw_keys_up_to(keys, k, end, arc->last);
        }
    }
    return true;
}

/* Cuts keys that came as bits. Bits of other servers' keys must not be set. */
static bool cut_bits(hw_inflight *inflight, const hw_served *served)
{
    const hw_request_head *head = &inflight->request.head;
    size_t before = 0;
    for (uint32_t s = 0; s < served->stripe_count && served->stripes[s].first <= head->last; s++) {
        hw_stripe *stripe = &served->stripes[s];
        hw_piece *piece = NULL;
        for (size_t at = 0; at < stripe->shard_count && stripe->arcs[at].first <= head->last; at++) {
            const hw_arc *arc = &stripe->arcs[at];
            uint64_t from = arc->first > head->first ? arc->first : head->first, first = 0, last = 0;
            uint64_t to = arc->last < head->last ? arc->last : head->last;
            size_t count = from <= to
                               ? hw_bits_between(inflight->request.bits, from - head->first, to - head->first, &first, &last)
                               : 0;
            if (count == 0)
                continue;
            if (piece == NULL) {
                piece = add_piece(inflight, stripe);
                piece->first = head->first + first;
                piece->begin = before;
            }
            piece->last = head->first + last;
            piece->end = before += count;
        }
    }
    return before == head->count;
}

static uint32_t number_of(const hw_served *served, uint64_t key)
{
    /* The ring uses other bits of the hash, and so does the table of a shard. */
    return (uint32_t)((hw_mix(~key) >> 32) * served->stripe_count >> 32);
}

/* Groups keys of a sparse table by stripe; within a stripe they still ascend. */
static hawser_status cut_hashed(hw_inflight *inflight, const hw_served *served, bool *own, hawser_error *error)
{
    const hw_server *server = inflight->server;
    const uint64_t *keys = inflight->request.keys;
    size_t count = (size_t)inflight->request.head.count, places[64] = {0}, before = 0;
    HAWSER_TRY(hw_pool_message(server->pool, count * (sizeof *inflight->grouped + sizeof *inflight->rows), &inflight->buffer,
                               error));
    inflight->grouped = inflight->buffer->payload;
    inflight->rows = (uint32_t *)(inflight->grouped + count);
    *own = true;
    for (size_t i = 0; i < count; i++) {
        places[number_of(served, keys[i])]++;
        *own &= hw_ring_of_key(&server->ring, keys[i]) == server->options.self;
    }
    for (uint32_t s = 0; s < served->stripe_count; s++) {
        size_t n = places[s];
        places[s] = before;
        before += n;
        if (n == 0)
            continue;
        hw_piece *piece = add_piece(inflight, &served->stripes[s]);
        piece->begin = places[s];
        piece->end = before;
    }
    for (size_t i = 0; i < count; i++) {
        size_t to = places[number_of(served, keys[i])]++;
        inflight->grouped[to] = keys[i];
        inflight->rows[to] = (uint32_t)i;
    }
    return HAWSER_OK;
}

hw_stripe *hw_served_stripe(const hw_server *server, hw_served *served, uint64_t key, size_t *shard)
{
    *shard = 0;
    if (served->spec.sparse)
        return hw_ring_of_key(&server->ring, key) == server->options.self ? &served->stripes[number_of(served, key)] : NULL;
    hw_stripe *stripe = stripe_of(served, key);
    if (stripe == NULL)
        return NULL;
    *shard = hw_arcs_find(&(hw_arcs){stripe->arcs, stripe->shard_count}, key);
    const hw_arc *arc = &stripe->arcs[*shard];
    return arc->first <= key && key <= arc->last ? stripe : NULL;
}

/* ---------------------------------------------------------------------------------------------------------- hearing ---- */

/* Finds the keys of a known list, or keeps those of a list that gets a number. Returns false if the list was forgotten. */
static bool look_up(hw_inflight *inflight, hw_lists *lists)
{
    hw_request *request = &inflight->request;
    const hw_request_head *head = &request->head;
    bool bits = head->keys == HW_KEYS_BITS;
    const hw_list_of of = {.table = head->table,
                           .bits = bits,
                           .first = head->first,
                           .last = head->last,
                           .count = (size_t)head->count,
                           .size = bits ? hw_bits_words(head->last - head->first) : (size_t)head->count};
    if ((bits || head->keys == HW_KEYS_GAPS) && head->list != 0)
        hw_lists_put(lists, head->list, &of, bits ? request->bits : request->keys);
    if (head->keys != HW_KEYS_KNOWN)
        return true;
    const hw_list *list = inflight->list = hw_lists_get(lists, head->table, head->list);
    if (list == NULL || list->of.count != of.count || list->of.first != of.first || list->of.last != of.last)
        return false;
    *(list->of.bits ? &request->bits : &request->keys) = list->words;
    return true;
}

/* Summed tables, versions, histories and HW_PUT need keys; all other requests use the bits if keys came as bits. */
static bool needs_keys(const hw_inflight *inflight)
{
    const hw_request_head *head = &inflight->request.head;
    bool pushes = head->operation == HW_PUSH || head->operation == HW_PUSH_PULL;
    bool versions = inflight->spec->centric && inflight->spec->delay != HW_DELAY_NONE && (pushes || head->reread != 0);
    return inflight->request.bits != NULL &&
           (inflight->spec->summed || versions || head->operation == HW_PUT || inflight->server->options.log != NULL);
}

/* Returns whether the values can be sent from where they are stored: many values of one stripe. */
static bool can_send_in_place(const hw_inflight *inflight)
{
    enum { LEAST = 16 << 10 /* bytes */ };
    const hw_request_head *head = &inflight->request.head;
    size_t bytes = inflight->spec->width * hw_value_size(inflight->spec->type);
    return inflight->server->options.zero_copy && head->operation == HW_PULL && head->reread == 0 &&
           head->keys == HW_KEYS_RANGE && inflight->count == 1 && head->count >= LEAST / bytes;
}

static void *place_of(const hw_inflight *inflight)
{
    const hw_stripe *stripe = inflight->pieces[0].stripe;
    uint64_t first = inflight->pieces[0].first;
    const hw_table_shard *shard = stripe->shards[hw_arcs_find(&(hw_arcs){stripe->arcs, stripe->shard_count}, first)];
    return (void *)(uintptr_t)hw_table_shard_from(shard, first);
}

/* Prepares the reply of a request in flight that has been cut. */
static hawser_status make_reply(hw_inflight *inflight, hawser_error *error)
{
    const hw_request_head *head = &inflight->request.head;
    bool pulls = hw_operation_pulls(head->operation);
    hw_reply_head reply = {.outcome = HW_APPLIED, .table = head->table, .slice = head->slice, .task = head->task};
    void *values = NULL;
    if (head->operation == HW_CLOCK || inflight->batch != NULL)
        return HAWSER_OK;
    if (pulls && head->count > 1 && head->count > REPLY_MOST / inflight->spec->width)
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': %llu keys are more than one reply may have",
                           inflight->spec->name, (unsigned long long)head->count);
    reply.count = pulls ? head->count * inflight->spec->width : 0;
    inflight->zero_copy = can_send_in_place(inflight);
    HAWSER_TRY(hw_reply_new(inflight->spec, &reply, inflight->server->pool, &inflight->reply,
                            inflight->zero_copy ? NULL : &values, error));
    if (inflight->zero_copy)
        values = place_of(inflight);
    inflight->out = pulls ? values : NULL;
    return HAWSER_OK;
}

static hawser_status cut(hw_inflight *inflight, const hw_served *served, hawser_error *error)
{
    const hw_request_head *head = &inflight->request.head;
    bool own = true;
    if (head->operation == HW_CLOCK)
        cut_clock(inflight, served);
    else if (served->spec.sparse)
        HAWSER_TRY(cut_hashed(inflight, served, &own, error));
    else if (head->keys == HW_KEYS_RANGE)
        own = cut_range(inflight, served);
    else
        own = inflight->request.bits != NULL ? cut_bits(inflight, served) : cut_list(inflight, served);
    if (!own)
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': not all keys from %llu to %llu are server %u's",
                           served->spec.name, (unsigned long long)head->first, (unsigned long long)head->last,
                           inflight->server->options.self);
    return HAWSER_OK;
}

static void count_in(hw_server *server, const hw_inflight *inflight, uint64_t length)
{
    const hw_request_head *head = &inflight->request.head;
    atomic_fetch_add_explicit(&server->requests, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&server->bytes_in, length, memory_order_relaxed);
    if (inflight->request.values != NULL)
        atomic_fetch_add_explicit(&server->keys_in, head->count, memory_order_relaxed);
    if (inflight->out != NULL)
        atomic_fetch_add_explicit(&server->keys_out, head->count, memory_order_relaxed);
}

static bool is_small(const hw_inflight *inflight)
{
    const hw_request_head *head = &inflight->request.head;
    const hw_table_spec *spec = inflight->spec;
    /* A function that takes scattered rows does little work per number. */
    bool light = !spec->sparse && !spec->summed && (head->operation == HW_PULL || spec->function->scattered);
    bool pushes = head->operation == HW_PUSH, close = inflight->request.bits != NULL;
    uint64_t most = !light                                             ? SMALL
                    : head->keys == HW_KEYS_RANGE || (pushes && close) ? SMALL_CLOSE
                    : pushes                                           ? SMALL_LIST
                                                                       : SMALL;
    return head->count * spec->width <= most;
}

/* Puts each piece into its stripe. The request in flight may be freed as soon as its last piece is put. */
static void send_out(hw_inflight *inflight)
{
    hw_server *server = inflight->server;
    uint32_t count = inflight->count;
    bool small = is_small(inflight);
    atomic_init(&inflight->left, count);
    for (uint32_t i = 0; i < count; i++) {
        hw_stripe *stripe = inflight->pieces[i].stripe;
        if (!hw_stripe_put(stripe, &inflight->pieces[i]))
            continue;
        if (small)
            hw_stripe_work(stripe);
        else
            server->options.ready(server->options.argument, stripe);
    }
}

static hawser_status prepare(hw_inflight *inflight, const hw_served *served, hw_lists *lists, bool *forgotten,
                             hawser_error *error)
{
    uint32_t workers = inflight->group->workers;
    const hw_request_head *head = &inflight->request.head;
    hw_request_head own = *head;
    HAWSER_TRY(hw_request_read(inflight->spec, &own, inflight->message, &inflight->scratch, &inflight->request, error));
    if (own.worker >= workers && (own.operation == HW_CLOCK || served->spec.centric || served->spec.summed))
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': there is no worker %u; there are %u", served->spec.name,
                           own.worker, workers);
    *forgotten = !look_up(inflight, lists);
    if (*forgotten)
        return HAWSER_OK;
    if (needs_keys(inflight))
        HAWSER_TRY(hw_request_list(&inflight->request, &inflight->scratch, error));
    HAWSER_TRY(cut(inflight, served, error));
    if (own.operation != HW_CLOCK)
        HAWSER_TRY(check_ranges(inflight, error));
    HAWSER_TRY(hw_inflight_reserve(inflight, error));
    return make_reply(inflight, error);
}

/* Refuses a request. A client sends a request again if the server has forgotten its list of keys. */
static hawser_status turn_down(hw_client_session *session, hw_inflight *inflight, bool forgotten, const hawser_error *why,
                               hawser_error *error)
{
    hw_server *server = inflight->server;
    hw_batch *batch = inflight->batch;
    hw_outcome outcome = forgotten                          ? HW_FORGOTTEN
                         : why->status == HAWSER_NO_MEMORY  ? HW_OUT_OF_MEMORY
                         : why->status == HAWSER_NOT_FINITE ? HW_NOT_FINITE
                                                            : HW_REFUSED;
    hawser_status status = refuse(session, &inflight->request.head, outcome, forgotten ? "" : why->text, error);
    if (!forgotten) {
        hw_batch_arrived(session, batch);
        hw_batch_done(server, inflight->client, batch, status == HAWSER_OK);
        status = batch != NULL ? HAWSER_OK : status; /* the batch's reply reports it */
    }
    inflight->batch = NULL;
    hw_inflight_free(inflight);
    return status;
}

hawser_status hw_server_receive(hw_server *server, uint32_t client, hw_message *message, hawser_error *error)
{
    hawser_error why = {0};
    hawser_status status = hw_client_session_receive(server->sessions[client], message, &why);
    if (status == HAWSER_BAD_INPUT)
        return hawser_fail(error, status, "client %u %.300s", client, why.text);
    return status == HAWSER_OK ? status : hawser_fail(error, status, "%.900s", why.text);
}

hawser_status hw_client_session_receive(hw_client_session *session, hw_message *message, hawser_error *error)
{
    hw_server *server = session->group->server;
    hw_request_head head;
    if (!hw_request_head_of(message, &head)) {
        hw_message_free(message);
        return hawser_fail(error, HAWSER_BAD_INPUT, "sent what is no request to a store");
    }
    size_t tables = atomic_load_explicit(&server->table_count, memory_order_acquire);
    if (head.table >= tables) {
        char words[96];
        snprintf(words, sizeof words, "there is no table number %u; there are %zu", head.table, tables);
        hw_message_free(message);
        return refuse(session, &head, HW_REFUSED, words, error);
    }
    const hw_served *served = server->tables[head.table];
    hw_inflight *inflight = NULL;
    hawser_status status =
        hw_new_array((void **)&inflight, 1, sizeof *inflight + served->stripe_count * sizeof(hw_piece), "a request", error);
    if (status != HAWSER_OK) {
        hw_message_free(message);
        return status;
    }
    *inflight = (hw_inflight){.server = server,
                              .group = session->group,
                              .session = session,
                              .client = session->client,
                              .message = message,
                              .spec = hw_operation_of_memory(head.operation) ? &served->memory_rows : &served->spec};
    status = hw_batch_join(session, &head, &inflight->batch, error);
    if (status != HAWSER_OK) {
        hw_inflight_free(inflight);
        return status;
    }
    inflight->request.head = head;
    inflight->scratch.pool = server->pool;
    atomic_init(&inflight->least, UINT64_MAX);
    atomic_init(&inflight->overflowed, UINT64_MAX);
    hawser_error wrong = {0};
    bool forgotten = false;
    status = prepare(inflight, served, &session->lists, &forgotten, &wrong);
    if (status != HAWSER_OK || forgotten)
        return turn_down(session, inflight, forgotten, &wrong, error);
    if (head.operation == HW_CLOCK && check_ranges(inflight, &wrong) != HAWSER_OK) {
        /* A clock gets no reply, so the client cannot learn of a refusal and would wait for what this clock ends: the
         * connection fails. */
        hw_inflight_free(inflight);
        return hawser_fail(error, HAWSER_BAD_INPUT, "sent a clock too many: %.300s", wrong.text);
    }
    hw_batch_arrived(session, inflight->batch);
    count_in(server, inflight, message->envelope.length);
    if (inflight->count == 0) { /* a clock that concerns no key of this server */
        hw_inflight_free(inflight);
        return HAWSER_OK;
    }
    count_held(inflight, served);
    send_out(inflight);
    return HAWSER_OK;
}
