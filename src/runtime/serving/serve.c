/* serve.c - the rounds of the servers: in each, node 0 sends one command, which all servers execute. */
#include "runtime/serving/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "runtime/checkpoint/checkpoint.h"

#define BEAT  0.25 /* seconds of a round without a command */
#define RETRY 1.0  /* seconds until tables that could not be written are written again */

/* The message of a node in a round: node 0's command and its data; from all nodes, whether to end. */
typedef struct said {
    uint32_t word, ends;
    unsigned char data[sizeof(hw_table_wire)];
} said;

static hawser_status make_table(hawser_store *store, const said *order, uint32_t *number, hawser_error *error)
{
    hw_table_wire wire;
    hw_table_spec spec;
    memcpy(&wire, order->data, sizeof wire);
    HAWSER_TRY(hw_cluster_agree(store->job->cluster, hw_table_unpack(store, &wire, &spec, error), error));
    return hw_hub_create(store, &spec, number, error);
}

/* Executes node 0's command on all servers. */
static hawser_status broadcast(hawser_store *store, hw_bytes own, hw_bytes *in, hawser_error *error)
{
    return hw_cluster_allgather(store->job->cluster, store->self == 0 ? own : (hw_bytes){own.data, 0}, in, error);
}

/* Loads a file: makes its tables if they do not exist, and fills them. */
static hawser_status load(hawser_store *store, const char *path, hawser_error *error)
{
    hw_table_wire *tables = NULL, none = {0};
    size_t count = 0;
    hw_bytes *in = NULL;
    hawser_status status = HW_NEW(&in, store->nodes, "the tables of a file", error);
    if (status == HAWSER_OK && store->self == 0)
        status = hw_store_tables_of(store, path, &tables, &count, error);
    status = hw_cluster_agree(store->job->cluster, status, error);
    hw_bytes own = {tables != NULL ? tables : &none, count * sizeof *tables};
    HAWSER_THEN(status, broadcast(store, own, in, error));
    for (size_t i = 0; status == HAWSER_OK && i < in[0].length / sizeof *tables; i++) {
        uint32_t number;
        said order = {.word = HW_CONTROL_TABLE};
        memcpy(order.data, (hw_table_wire *)in[0].data + i, sizeof *tables);
        const char *name = (const char *)order.data;
        bool there = false;
        for (uint32_t t = 0; t < hw_client_tables(store->client) && !there; t++)
            there = strcmp(hw_client_table_at(store->client, t)->name, name) == 0;
        if (!there)
            status = make_table(store, &order, &number, error);
    }
    hw_bytes_free(in, store->nodes);
    free(tables);
    return status == HAWSER_OK ? hawser_store_load(store, path, error) : status;
}

/* A client may name a file, but no path. */
static hawser_status path_of(const hw_serving *how, const hw_message *asked, char *path, size_t size, hawser_error *error)
{
    const char *name = asked->payload, *directory = how->directory != NULL ? how->directory : ".";
    size_t length = (size_t)asked->envelope.length;
    if (length > 0 && memchr(name, '\0', length) == name + length - 1 && hw_has_control(name))
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "a file name in the servers' directory has a newline or another control character: use letters, digits "
            "and signs");
    if (length < 2 || memchr(name, '\0', length) != name + length - 1 || strchr(name, '/') != NULL || name[0] == '.' ||
        name[0] == '-')
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "'%.*s' is not a valid file name in the servers' directory: no '/', and no '.' or '-' at the start",
            (int)(length < 200 ? length : 200), length > 0 ? name : "");
    int used = snprintf(path, size, "%s/%s", directory, name);
    if (used < 0 || (size_t)used >= size)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "the path of '%.80s' is too long", name);
    return HAWSER_OK;
}

/* The folder may hold other files, perhaps the servers' key: only a file of tables may be replaced. */
static hawser_status check_target(const char *path, hawser_error *error)
{
    struct stat facts;
    hw_table_wire *tables = NULL;
    size_t count = 0;
    hawser_error ignored = {0};
    if (lstat(path, &facts) != 0)
        return HAWSER_OK; /* no such file; or writing will report the error */
    hawser_status status =
        S_ISREG(facts.st_mode) ? hw_store_tables_of(NULL, path, &tables, &count, &ignored) : HAWSER_BAD_INPUT;
    free(tables);
    return status == HAWSER_OK
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_ARGUMENT,
                             "%s exists and is not a file of a store's tables: save under another name", path);
}

/* Chooses node 0's command of this round. */
static said next_word(hawser_store *store, hw_message **asked)
{
    said order = {.ends = hw_job_interrupted(store->job)};
    *asked = store->self == 0 && !order.ends ? hw_client_listener_wait(store->listener, BEAT) : NULL;
    if (*asked == NULL)
        return order;
    order.word = (*asked)->envelope.part;
    if (order.word == HW_CONTROL_TABLE && (*asked)->envelope.length == sizeof order.data)
        memcpy(order.data, (*asked)->payload, sizeof order.data);
    return order;
}

/* Executes a command on this server. A failure that is reported to the client changes nothing, except that a file may leave
 * empty tables; a failure of the job ends the servers. */
static hawser_status obey(hawser_store *store, const hw_serving *how, const said *order, hw_message *asked,
                          hawser_error *error)
{
    char path[4096] = "";
    uint32_t number = 0;
    hawser_status status = HAWSER_OK;
    if (order->word == HW_CONTROL_TABLE) {
        status = make_table(store, order, &number, error);
    } else if (order->word == HW_CONTROL_SAVE || order->word == HW_CONTROL_LOAD) {
        status = store->self == 0 ? path_of(how, asked, path, sizeof path, error) : HAWSER_OK;
        if (status == HAWSER_OK && store->self == 0 && order->word == HW_CONTROL_SAVE)
            status = check_target(path, error);
        status = hw_cluster_agree(store->job->cluster, status, error);
        HAWSER_THEN(status,
                    order->word == HW_CONTROL_SAVE ? hawser_store_save(store, path, error) : load(store, path, error));
    }
    if (asked != NULL)
        hw_client_listener_answer(store->listener, asked, status, &number, sizeof number, error);
    bool fatal = status == HAWSER_PEER_LOST || status == HAWSER_TIMEOUT || status == HAWSER_INTERNAL;
    return fatal ? status : HAWSER_OK;
}

static void report_interrupted_node(const hawser_store *store, const hw_serving *how, uint32_t node)
{
    char text[200];
    const hw_member *member = hw_cluster_member(store->job->cluster, node);
    snprintf(text, sizeof text, "node %u (%s) was asked to end, and so all servers end", node, member->name);
    if (how->listener.warn != NULL)
        how->listener.warn(how->listener.argument, text);
}

static hawser_status one_round(hawser_store *store, const hw_serving *how, hw_bytes *in, bool *ends, hawser_error *error)
{
    hw_message *asked = NULL;
    said own = next_word(store, &asked), order = {0};
    hawser_status status = hw_cluster_allgather(store->job->cluster, (hw_bytes){&own, sizeof own}, in, error);
    for (uint32_t n = 0; n < store->nodes; n++) {
        said other;
        if (status == HAWSER_OK) {
            memcpy(&other, in[n].data, sizeof other);
            *ends |= other.ends != 0;
            if (other.ends != 0 && own.ends == 0)
                report_interrupted_node(store, how, n);
        }
        if (status == HAWSER_OK && n == 0)
            order = other;
        free(in[n].data);
        in[n] = (hw_bytes){0};
    }
    if (status != HAWSER_OK) {
        hw_message_free(asked);
        return status;
    }
    return obey(store, how, &order, asked, error);
}

/* Shares the addresses of all servers; then their listeners accept clients. */
static hawser_status open_listeners(hawser_store *store, const hw_serving *how, hawser_error *error)
{
    hw_bytes *in = NULL;
    char address[HW_NET_ADDRESS] = "", (*addresses)[HW_NET_ADDRESS] = NULL;
    static const hw_client_listener_ops client_ops = {hw_client_listener_reply, hw_client_listener_account,
                                                      hw_client_listener_free};
    store->client_ops = &client_ops;
    hawser_status status = hw_client_listener_open(store, &how->listener, &store->listener, error);
    HAWSER_THEN(status, HW_NEW(&in, store->nodes, "the servers' addresses", error));
    HAWSER_THEN(status, HW_NEW(&addresses, store->nodes, "the servers' addresses", error));
    if (status == HAWSER_OK)
        snprintf(address, sizeof address, "%s", hw_client_listener_address(store->listener));
    status = hw_cluster_agree(store->job->cluster, status, error);
    HAWSER_THEN(status, hw_cluster_allgather(store->job->cluster, (hw_bytes){address, sizeof address}, in, error));
    for (uint32_t n = 0; status == HAWSER_OK && n < store->nodes; n++)
        memcpy(addresses[n], in[n].data, sizeof *addresses);
    HAWSER_THEN(status, hw_client_listener_begin(store->listener, (const char(*)[HW_NET_ADDRESS])addresses, error));
    hw_bytes_free(in, store->nodes);
    free(addresses);
    return hw_cluster_agree(store->job->cluster, status, error);
}

static hawser_status serve(hawser_store *store, const hw_serving *how, hawser_error *error)
{
    hw_bytes *in = NULL;
    bool ends = false;
    HAWSER_TRY(HW_NEW(&in, store->nodes, "what servers say", error));
    const char *address = hw_client_listener_address(store->listener), *tcp = strstr(address, "tcp:");
    if (how->listening != NULL)
        how->listening(how->argument, hw_client_listener_listening(store->listener));
    if (store->self == 0 && how->ready != NULL)
        how->ready(how->argument, tcp != NULL ? tcp + strlen("tcp:") : address);
    hawser_status status = HAWSER_OK;
    while (status == HAWSER_OK && !ends)
        status = one_round(store, how, in, &ends, error);
    free(in);
    return status;
}

/* Runs one round: all servers receive node 0's command. */
static hawser_status ask_again(hawser_store *store, const hw_serving *how, const hawser_error *why, hw_bytes *in,
                               bool *again, hawser_error *error)
{
    struct timespec pause = hw_timespec(RETRY);
    unsigned char own = store->self == 0 && how->unsaved != NULL && how->unsaved(how->argument, why->text);
    hawser_status status = broadcast(store, (hw_bytes){&own, sizeof own}, in, error);
    *again = status == HAWSER_OK && *(const unsigned char *)in[0].data != 0;
    for (uint32_t n = 0; n < store->nodes; n++) {
        free(in[n].data);
        in[n] = (hw_bytes){0};
    }
    if (*again)
        (void)nanosleep(&pause, NULL);
    return status;
}

/* The tables exist nowhere else: after a full disk, the save is tried again as long as it may. */
static hawser_status save_in_the_end(hawser_store *store, const hw_serving *how, hawser_error *error)
{
    hw_bytes *in = NULL;
    bool again = true;
    HAWSER_TRY(HW_NEW(&in, store->nodes, "what servers say", error));
    hawser_status status = HAWSER_OK;
    while (again) {
        hawser_error why = {0};
        status = hawser_store_save(store, how->save, &why);
        again = false;
        if (status == HAWSER_IO) {
            hawser_status asked = ask_again(store, how, &why, in, &again, &why);
            status = asked == HAWSER_OK ? status : asked;
        }
        if (status != HAWSER_OK && error != NULL)
            *error = why;
    }
    free(in);
    return status;
}

/* Loads a file without its rows that are not finite: its other rows may exist nowhere else. */
static hawser_status begin_with(hawser_store *store, const hw_serving *how, hawser_error *error)
{
    hawser_error why = {0};
    hawser_status status = load(store, how->load, &why);
    if (status == HAWSER_OK)
        return HAWSER_OK;
    if (status != HAWSER_NOT_FINITE || how->damaged == NULL)
        return hawser_fail(error, status, "%s", why.text);
    if (store->self == 0)
        how->damaged(how->argument, why.text);
    return HAWSER_OK;
}

hawser_status hw_store_serve(hawser_store *store, const hw_serving *how, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    hw_server_limit(store->server, how->memory);
    if (how->load != NULL)
        HAWSER_TRY(begin_with(store, how, error));
    status = open_listeners(store, how, error);
    HAWSER_THEN(status, serve(store, how, error));
    if (store->listener != NULL)
        hw_client_listener_end(store->listener, status == HAWSER_OK ? "the servers were asked to end" : error->text);
    if (status == HAWSER_OK && how->save != NULL)
        status = save_in_the_end(store, how, error);
    return status;
}
