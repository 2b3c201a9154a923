/* open.c - opens and closes a store and creates its tables; all calls are collective. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/machine.h"
#include "base/memory.h"
#include "codec/forms.h"
#include "runtime/store/asking.h"
#include "runtime/store/hub.h"
#include "runtime/store/remote.h"
#include "store/note.h"
#include "store/table_check.h"

/* A table's definition, in fields that can be compared and printed. */
typedef struct table_facts {
    char name[HW_TABLE_NAME], function[HW_TABLE_NAME], filter[HW_TABLE_NAME], type[8], rounding[8];
    uint64_t width, sparse, first, last, data_centric, delay, summed, staleness;
    double parameters[HW_FUNCTION_PARAMETERS], level;
} table_facts;

typedef enum field_kind { FIELD_TEXT, FIELD_COUNT, FIELD_NUMBER } field_kind;
#define FIELD(name, kind)                                                                                                   \
    {                                                                                                                       \
#name, offsetof(table_facts, name), kind                                                                            \
    }
static const struct {
    const char *name;
    size_t offset;
    field_kind kind;
} fields[] = {
    FIELD(name, FIELD_TEXT),
    FIELD(type, FIELD_TEXT),
    FIELD(width, FIELD_COUNT),
    FIELD(sparse, FIELD_COUNT),
    FIELD(first, FIELD_COUNT),
    FIELD(last, FIELD_COUNT),
    FIELD(function, FIELD_TEXT),
    FIELD(parameters[0], FIELD_NUMBER),
    FIELD(parameters[1], FIELD_NUMBER),
    FIELD(parameters[2], FIELD_NUMBER),
    FIELD(parameters[3], FIELD_NUMBER),
    FIELD(parameters[4], FIELD_NUMBER),
    FIELD(parameters[5], FIELD_NUMBER),
    FIELD(parameters[6], FIELD_NUMBER),
    FIELD(parameters[7], FIELD_NUMBER),
    FIELD(data_centric, FIELD_COUNT),
    FIELD(delay, FIELD_COUNT),
    FIELD(summed, FIELD_COUNT),
    FIELD(rounding, FIELD_TEXT),
    FIELD(filter, FIELD_TEXT),
    FIELD(level, FIELD_NUMBER),
    FIELD(staleness, FIELD_COUNT),
};

/* Writes the value of a field as text. */
static void field_text(const table_facts *of, size_t field, char *text, size_t size)
{
    const char *at = (const char *)of + fields[field].offset;
    uint64_t count;
    double number;
    memcpy(&count, at, sizeof count);
    memcpy(&number, at, sizeof number);
    switch (fields[field].kind) {
    case FIELD_TEXT: (void)snprintf(text, size, "'%s'", at); break;
    case FIELD_COUNT: (void)snprintf(text, size, "%llu", (unsigned long long)count); break;
    case FIELD_NUMBER: (void)snprintf(text, size, "%.17g", number); break;
    }
}

/* Compares the definition of a table on node 0 with that on another node, field by field. */
static hawser_status same_table(const table_facts *first, const table_facts *other, uint32_t node, hawser_error *error)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char one[HW_TABLE_NAME + 2], two[HW_TABLE_NAME + 2];
        field_text(first, i, one, sizeof one);
        field_text(other, i, two, sizeof two);
        if (strcmp(one, two) != 0)
            return hawser_fail(
                error, HAWSER_BAD_ARGUMENT,
                "table '%s': `%s` is %s on node 0 and %s on node %u; every node must make the same tables in the "
                "same order",
                first->name, fields[i].name, one, two, node);
    }
    return HAWSER_OK;
}

/* Reads what a node has sent. Returns false if it has another length. */
static bool take_facts(const hw_bytes *in, table_facts *facts)
{
    if (in->length != sizeof *facts)
        return false;
    memcpy(facts, in->data, sizeof *facts);
    facts->name[HW_TABLE_NAME - 1] = facts->function[HW_TABLE_NAME - 1] = facts->filter[HW_TABLE_NAME - 1] = '\0';
    facts->type[sizeof facts->type - 1] = facts->rounding[sizeof facts->rounding - 1] = '\0';
    return true;
}

/* Compares the definitions of a table on all nodes, before any of them makes it; all nodes get the same text. `status`: of
 * this node so far. Collective. */
static hawser_status same_tables(hawser_job *job, hawser_status status, const table_facts *own, hawser_error *error)
{
    uint32_t nodes = hawser_job_nodes(job);
    hw_bytes *in = NULL;
    table_facts first, other;
    HAWSER_THEN(status, HW_NEW(&in, nodes, "definitions of all nodes", error));
    status = hw_cluster_agree(job->cluster, status, error);
    HAWSER_THEN(status, hw_cluster_allgather(job->cluster, (hw_bytes){(void *)(uintptr_t)own, sizeof *own}, in, error));
    for (uint32_t i = 0; status == HAWSER_OK && i < nodes; i++)
        status = take_facts(&in[0], &first) && take_facts(&in[i], &other)
                     ? same_table(&first, &other, i, error)
                     : hawser_fail(error, HAWSER_BAD_ARGUMENT, "node %u makes no table while others do", i);
    hw_bytes_free(in, nodes);
    return status;
}

/* Compares how all nodes have opened the store. `status`: of this node so far. When all nodes have agreed, all have opened
 * their channels. Collective. */
static hawser_status same_on_all(const hawser_store *store, hawser_status status, hawser_error *error)
{
    static const char *const names[] = {"servers", "workers"};
    uint32_t own[] = {store->servers, store->workers}, other[2];
    hw_bytes *in = NULL;
    HAWSER_THEN(status, HW_NEW(&in, store->nodes, "reports of all nodes", error));
    status = hw_cluster_agree(store->job->cluster, status, error);
    HAWSER_THEN(status, hw_cluster_allgather(store->job->cluster, (hw_bytes){own, sizeof own}, in, error));
    for (uint32_t i = 0; status == HAWSER_OK && i < store->nodes; i++) {
        bool whole = in[i].length == sizeof other;
        if (whole)
            memcpy(other, in[i].data, sizeof other);
        for (int f = 0; status == HAWSER_OK && f < 2; f++)
            if (!whole || own[f] != other[f])
                status = hawser_fail(error, HAWSER_BAD_ARGUMENT,
                                     "node %u and node %u differ in the %s of the store: every node must call alike",
                                     store->self, i, names[f]);
    }
    hw_bytes_free(in, store->nodes);
    return status;
}

static hawser_status resolve(hawser_store *store, const hawser_store_options *given, const hw_hub_sessions *sessions,
                             hawser_error *error)
{
    enum { THREADS_MOST = 4, CACHE_BYTES = 64 << 20 };
    hawser_store_options *options = &store->options;
    *options = given != NULL ? *given : (hawser_store_options){0};
    store->nodes = hawser_job_nodes(store->job);
    store->self = hawser_job_node(store->job);
    store->servers = options->servers > 0 ? options->servers : store->nodes;
    if (options->at != NULL && (options->servers > 0 || sessions != NULL))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "the servers at %s are as many as there are: leave `servers` out",
                           options->at);
    if (options->at != NULL && store->job->recorder != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "a history (--record-history) needs the servers' records too: those at %s keep none",
                           options->at);
    if (store->servers > store->nodes)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a store of %u servers needs as many nodes; the job has %u",
                           store->servers, store->nodes);
    if (options->workers == 0)
        options->workers = 1;
    if (options->threads == 0) {
        uint32_t processors = hw_machine_processors();
        options->threads = processors < THREADS_MOST ? processors : THREADS_MOST;
    }
    if (sessions != NULL) {
        options->workers = sessions->own;
        options->threads = sessions->still ? 0 : options->threads;
    }
    HAWSER_TRY(HW_NEW(&store->own, options->workers, "the numbers of workers", error));
    for (uint32_t w = 0; w < options->workers; w++)
        store->own[w] = sessions != NULL ? sessions->numbers[w] : store->self * options->workers + w;
    store->workers = sessions != NULL ? sessions->all : store->nodes * options->workers;
    store->worker_nodes = sessions != NULL ? sessions->nodes : NULL;
    HAWSER_TRY(HW_NEW(&store->lost_workers, store->workers, "the numbers of workers", error));
    if (options->cache_bytes == 0)
        options->cache_bytes = CACHE_BYTES;
    if (!(options->timeout > 0))
        options->timeout = store->job->timeout;
    return HAWSER_OK;
}

static hawser_status make_server(hawser_store *store, const uint64_t *names, hawser_error *error)
{
    if (store->remote != NULL || store->self >= store->servers)
        return HAWSER_OK;
    hw_server_options options = {
        .self = store->self,
        .servers = store->servers,
        .names = names,
        .clients = store->nodes,
        .workers = store->workers,
        .list_bytes = store->options.list_bytes,
        .argument = store,
        .ready = hw_hub_ready,
        .log = store->job->recorder != NULL ? hw_hub_log : NULL,
        .drop = hw_recorder_drop,
        .zero_copy = true,
        .reply = hw_hub_reply,
        .account = hw_hub_account,
    };
    HAWSER_TRY(hw_server_new(&options, &store->server, error));
    return hw_stripe_pool_start(&store->pool, store->options.threads, error);
}

static hawser_status make_ends(hawser_store *store, hawser_error *error)
{
    uint64_t *names = NULL;
    HAWSER_TRY(HW_NEW(&names, store->servers, "the servers' names", error));
    for (uint32_t s = 0; s < store->servers; s++)
        names[s] = s + 1;
    hw_client_options options = {
        .servers = store->servers,
        .names = names,
        .seed = (uint64_t)store->self << 32,
        .list_bytes = store->options.list_bytes,
        .argument = store,
        .send = hw_hub_send,
        .finished = hw_hub_finished,
        .zero_copy = true,
        .near = store->remote != NULL ? UINT32_MAX : store->self,
        .workers = store->workers,
        .log = store->log,
    };
    hawser_status status = hw_client_new(&options, &store->client, error);
    HAWSER_THEN(status, make_server(store, names, error));
    free(names);
    return status;
}

static void free_store(hawser_store *store)
{
    hw_remote_close(store->remote);
    hw_stripe_pool_stop(&store->pool);
    hw_worker_cache_close(store);
    hw_hub_calls_close(store);
    hw_client_free(store->client);
    hw_ended_close(store);
    hw_server_free(store->server);
    if (store->listener != NULL)
        store->client_ops->free(store->listener);
    hw_recorder_drop(store->log);
    free(store->failures);
    free(store->own);
    free(store->lost_workers);
    hw_hub_functions_free(store);
    pthread_mutex_destroy(&store->mutex);
    pthread_mutex_destroy(&store->making);
    pthread_mutex_destroy(&store->holding);
    pthread_mutex_destroy(&store->zero_copy);
    pthread_mutex_destroy(&store->direct_receive);
    pthread_mutex_destroy(&store->pool.mutex);
    pthread_cond_destroy(&store->pool.filled);
    free(store);
}

static const hw_channel store_channel = {.name = "a store",
                                         .kinds = {HW_MESSAGE_ASK, HW_MESSAGE_ANSWER},
                                         .arrived = hw_hub_arrived,
                                         .lost = hw_hub_node_lost,
                                         .left = hw_hub_node_left,
                                         .acquire = hw_hub_acquire,
                                         .release = hw_hub_release};

static hawser_status connect_store(hawser_store *store, hawser_error *error)
{
    if (store->job->cluster == NULL)
        return HAWSER_OK;
    hw_net_pace_again(hw_cluster_net(store->job->cluster)); /* a run before may have ended the limit */
    return hw_cluster_open_channel(store->job->cluster, &store_channel, store, error);
}

/* Connects to the stand-alone servers, on all nodes or on none. */
static hawser_status visit_servers(hawser_store *store, hawser_status status, hawser_error *error)
{
    HAWSER_TRY(hw_cluster_agree(store->job->cluster, status, error));
    HAWSER_TRY(hw_remote_open(store, &store->remote, error));
    store->servers = hw_remote_servers(store->remote);
    return HAWSER_OK;
}

hawser_status hw_hub_open(hawser_job *job, const hawser_store_options *options, const hw_hub_sessions *sessions,
                          hawser_store **out, hawser_error *error)
{
    *out = NULL;
    hawser_store *store = NULL;
    if (job->store != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           job->store->of_vectors
                               ? "the job has a store already, which its vectors over servers opened; open the store before "
                                 "them, or finish them first"
                               : "the job has a store already; close it first");
    HAWSER_TRY(HW_NEW(&store, 1, "a store", error));
    store->job = job;
    store->serial = ++job->stores_opened;
    store->outbox_end = &store->outbox;
    store->looks = hw_machine_processors() > 1;
    store->penalty = 1;
    store->completions_end = &store->completions;
    store->ended_end = &store->ended;
    store->ended_descriptor = -1;
    pthread_mutex_init(&store->mutex, NULL);
    pthread_mutex_init(&store->making, NULL);
    pthread_mutex_init(&store->holding, NULL);
    pthread_mutex_init(&store->zero_copy, NULL);
    pthread_mutex_init(&store->direct_receive, NULL);
    pthread_mutex_init(&store->pool.mutex, NULL);
    pthread_cond_init(&store->pool.filled, NULL);
    store->run = hw_recorder_run(job->recorder);
    hawser_status status = resolve(store, options, sessions, error);
    HAWSER_THEN(status, hw_hub_calls_open(store, error));
    HAWSER_THEN(status, hw_hub_functions(store, error));
    HAWSER_THEN(status, hw_ended_open(store, error));
    HAWSER_THEN(status,
                hw_hub_log(store, (hw_stream_name){.kind = HW_STREAM_CLIENT, .number = store->self}, &store->log, error));
    if (options != NULL && options->at != NULL)
        status = visit_servers(store, status, error);
    HAWSER_THEN(status, make_ends(store, error));
    if (status == HAWSER_OK && store->remote != NULL)
        status = hw_remote_begin(store->remote, error);
    store->options.key = NULL; /* the program may free it now */
    HAWSER_THEN(status, connect_store(store, error));
    status = same_on_all(store, status, error);
    if (status != HAWSER_OK) {
        if (job->cluster != NULL)
            hw_cluster_close_channel(job->cluster, &store_channel);
        free_store(store);
        return status;
    }
    if (job->cluster != NULL)
        hw_cluster_set_phase(job->cluster, "using the store");
    *out = job->store = store;
    return HAWSER_OK;
}

hawser_status hawser_store_open(hawser_job *job, const hawser_store_options *options, hawser_store **store,
                                hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(store);
    if (options != NULL && ((options->function_count > 0 && options->functions == NULL) ||
                            (options->filter_count > 0 && options->filters == NULL)))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_store_open: %zu functions and %zu filters, but not where",
                           options->function_count, options->filter_count);
    hw_recorder_keep(job->recorder);
    hw_job_cancellable(job, NULL);
    return hw_job_uncancellable(job, hw_hub_open(job, options, NULL, store, error));
}

void hawser_store_close(hawser_store *store)
{
    if (store == NULL || !hw_is_origin(&store->job->origin))
        return;
    hawser_error ignored = {0};
    store->job->store = NULL;
    (void)!hawser_store_wait_all(store, &ignored);
    (void)!hw_store_received(store, &ignored);
    pthread_mutex_lock(&store->mutex);
    store->closing = true; /* before any node can end the meeting and leave */
    pthread_mutex_unlock(&store->mutex);
    if (store->job->cluster != NULL) {
        /* Other nodes may still ask this one. */
        hw_job_cancellable(store->job, NULL);
        (void)!hw_job_uncancellable(store->job, hw_cluster_agree(store->job->cluster, HAWSER_OK, &ignored));
        hw_cluster_set_phase(store->job->cluster, "between two runs");
        hw_cluster_close_channel(store->job->cluster, &store_channel);
    }
    free_store(store);
}

void hw_hub_abandon(hawser_store *store)
{
    hawser_error why = {0};
    (void)hawser_fail(&why, HAWSER_PEER_LOST, "the store was closed before its tasks had ended");
    store->job->store = NULL;
    hw_hub_end(store, &why);
    if (store->job->cluster != NULL)
        hw_cluster_close_channel(store->job->cluster, &store_channel);
    free_store(store);
}

/* ----------------------------------------------------------------------------------------------------------- tables ---- */

static hw_value_type type_of(hawser_type type)
{
    switch (type) {
    case HAWSER_F32: return HW_VALUE_F32;
    case HAWSER_I64: return HW_VALUE_I64;
    case HAWSER_F64:
    case HAWSER_I32: break; /* no table has i32 */
    }
    return HW_VALUE_F64;
}

/* Refuses options that a table would ignore: most likely another option is missing. */
static hawser_status check_heeded(const hawser_table *table, const hw_function *function, hawser_error *error)
{
    enum { MOST = sizeof table->parameters / sizeof *table->parameters };
    if (table->type != HAWSER_F64 && table->type != HAWSER_F32 && table->type != HAWSER_I64)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': there is no value type %d", table->name,
                           (int)table->type);
    uint64_t last = table->first + (table->count - 1);
    if (!table->sparse && table->count > 0 && (last < table->first || (table->last != 0 && table->last != last)))
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "table '%s' has %llu keys from %llu on, and its last is %llu: leave `last` out, or set both alike", table->name,
            (unsigned long long)table->count, (unsigned long long)table->first, (unsigned long long)table->last);
    if (table->delay != 0 && !table->data_centric)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': a delay (%llu) is for data-centric tables", table->name,
                           (unsigned long long)table->delay);
    if (table->filter == NULL && !(table->level == 0))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': a level (%g) is for a filter, and none is named",
                           table->name, table->level);
    for (uint32_t k = function->parameters; k < MOST; k++)
        if (!(table->parameters[k] == 0))
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "table '%s': function '%s' takes %u parameters, and parameters[%u] is %g", table->name,
                               function->name, function->parameters, k, table->parameters[k]);
    return HAWSER_OK;
}

static hawser_status spec_of(hawser_store *store, const hawser_table *table, hw_table_spec *spec, hawser_error *error)
{
    const char *function = table->function != NULL ? table->function : "add";
    *spec = (hw_table_spec){
        .type = type_of(table->type),
        .width = table->width > 0 ? table->width : 1,
        .sparse = table->sparse,
        .first = table->sparse ? 0 : table->first,
        .last = table->sparse ? UINT64_MAX : table->last,
        .centric = table->data_centric,
        .delay = table->data_centric ? table->delay : 0,
        .summed = table->summed,
        .staleness = table->staleness,
    };
    if (!table->sparse && table->count > 0)
        spec->last = table->first + (table->count - 1);
    if (table->name == NULL || strlen(table->name) >= sizeof spec->name)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a table needs a name of 1 to %zu bytes", sizeof spec->name - 1);
    memcpy(spec->name, table->name, strlen(table->name) + 1);
    HAWSER_TRY(hw_table_check_name(spec->name, error)); /* before another node reports it */
    HAWSER_TRY(hw_hub_function_there(store, function, &spec->function, error));
    if (spec->function == NULL)
        return hw_hub_no_function(store, table->name, function, error);
    HAWSER_TRY(check_heeded(table, spec->function, error));
    const hw_form_row *form = hw_form_row_of((unsigned)table->rounding);
    if (form == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': there is no rounding %d", table->name,
                           (int)table->rounding);
    spec->rounding = form->width;
    HAWSER_TRY(hw_hub_filter(store, table, spec, error));
    memcpy(spec->parameters, table->parameters, spec->function->parameters * sizeof *spec->parameters);
    return hw_table_check(spec, error);
}

/* Adds the client's side of a table that the servers number as `there`. */
static hawser_status know(hawser_store *store, const hw_table_spec *spec, uint32_t there, uint32_t *number,
                          hawser_error *error)
{
    pthread_mutex_lock(&store->mutex);
    hawser_status status = hw_client_table_at_servers(store->client, spec, there, number, error);
    if (status == HAWSER_OK)
        hw_note_table(store->log, spec, *number, spec->first, spec->last, store->workers);
    pthread_mutex_unlock(&store->mutex);
    return status == HAWSER_OK ? hw_worker_cache_open(store, spec, *number, error) : status;
}

/* Makes a table on this node. It becomes visible when all servers have it, so that its number is the same on all. */
static hawser_status make_here(hawser_store *store, const hw_table_spec *spec, uint32_t *there, hawser_error *error)
{
    bool fresh = false;
    hawser_status status = HAWSER_OK;
    if (store->server != NULL) {
        pthread_mutex_lock(&store->making);
        status = hw_server_make(store->server, spec, there, &fresh, error);
        pthread_mutex_unlock(&store->making);
        if (status == HAWSER_OK && fresh)
            status = hw_stripe_pool_reserve(&store->pool, hw_server_stripes(store->server), error);
    } else {
        *there = (uint32_t)hw_client_tables(store->client);
    }
    status = hw_cluster_agree(store->job->cluster, status, error);
    pthread_mutex_lock(&store->making);
    if (fresh && status == HAWSER_OK)
        hw_server_show(store->server, *there);
    else if (fresh)
        hw_server_unmake(store->server, *there);
    pthread_mutex_unlock(&store->making);
    return status;
}

hawser_status hw_hub_create(hawser_store *store, const hw_table_spec *spec, uint32_t *number, hawser_error *error)
{
    uint32_t there = 0;
    hawser_status status = make_here(store, spec, &there, error);
    HAWSER_TRY(status);
    /* Earlier tables that this node had no memory to add. */
    for (uint32_t t = (uint32_t)hw_client_tables(store->client), n;
         status == HAWSER_OK && store->server != NULL && t < there; t++)
        status = know(store, hw_server_table_at(store->server, t), t, &n, error);
    HAWSER_THEN(status, know(store, spec, there, number, error));
    if (status == HAWSER_OK && store->server != NULL && there != *number)
        status = hawser_fail(error, HAWSER_INTERNAL, "table '%s' has two numbers", spec->name);
    return hw_cluster_agree(store->job->cluster, status, error);
}

/* Node 0 asks the servers and sends the answer to all nodes. */
static hawser_status create_there(hawser_store *store, const hw_table_spec *spec, uint32_t *number, hawser_error *error)
{
    hw_table_wire wire;
    hw_message *answer = NULL;
    hw_bytes *in = NULL;
    uint32_t there = 0;
    hawser_status status = HW_NEW(&in, store->nodes, "reports of all nodes", error);
    hw_table_pack(spec, &wire);
    if (status == HAWSER_OK && store->self == 0)
        status = hw_remote_ask(store->remote, 0, HW_CONTROL_TABLE, &wire, sizeof wire, &answer, error);
    if (status == HAWSER_OK && store->self == 0 && answer->envelope.length != sizeof there)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "the servers have not sent the number of table '%s'", spec->name);
    if (status == HAWSER_OK && store->self == 0)
        memcpy(&there, answer->payload, sizeof there);
    hw_message_free(answer);
    status = hw_cluster_agree(store->job->cluster, status, error);
    HAWSER_THEN(status, hw_cluster_allgather(store->job->cluster, (hw_bytes){&there, sizeof there}, in, error));
    if (status == HAWSER_OK) {
        memcpy(&there, in[0].data, sizeof there);
        status = know(store, spec, there, number, error);
    }
    hw_bytes_free(in, store->nodes);
    return hw_cluster_agree(store->job->cluster, status, error);
}

static table_facts facts_of(const hawser_table *table, const hw_table_spec *spec)
{
    static const char *const types[] = {[HW_VALUE_F32] = "f32", [HW_VALUE_F64] = "f64", [HW_VALUE_I64] = "i64"};
    table_facts facts = {.width = spec->width,
                         .sparse = spec->sparse,
                         .first = spec->first,
                         .last = spec->last,
                         .data_centric = spec->centric,
                         .delay = spec->delay,
                         .summed = spec->summed,
                         .staleness = spec->staleness,
                         .level = spec->level};
    memcpy(facts.name, spec->name, sizeof facts.name);
    (void)snprintf(facts.type, sizeof facts.type, "%s", types[spec->type]);
    (void)snprintf(facts.rounding, sizeof facts.rounding, "%s", hw_form_row_of((unsigned)table->rounding)->word);
    (void)snprintf(facts.function, sizeof facts.function, "%s", spec->function->name);
    (void)snprintf(facts.filter, sizeof facts.filter, "%s", table->filter != NULL ? table->filter : "");
    memcpy(facts.parameters, spec->parameters, sizeof facts.parameters);
    return facts;
}

static hawser_status make_on_all(hawser_store *store, const hawser_table *table, uint32_t *number, hawser_error *error)
{
    hw_table_spec spec;
    table_facts own = {0};
    hawser_status status = spec_of(store, table, &spec, error);
    if (status == HAWSER_OK)
        own = facts_of(table, &spec);
    HAWSER_TRY(same_tables(store->job, status, &own, error));
    return store->remote != NULL ? create_there(store, &spec, number, error) : hw_hub_create(store, &spec, number, error);
}

hawser_status hawser_store_table(hawser_store *store, const hawser_table *table, uint32_t *number, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    HW_GIVEN(table);
    HW_GIVEN(number);
    hw_job_cancellable(store->job, NULL);
    return hw_job_uncancellable(store->job, make_on_all(store, table, number, error));
}
