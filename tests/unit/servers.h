/* servers.h - servers that run on their own, as threads of a test. For test files that begin with cmocka's includes. */
#ifndef HW_TESTS_UNIT_SERVERS_H
#define HW_TESTS_UNIT_SERVERS_H

#include <sys/stat.h>

#include "directory.h"
#include "hawser/store.h"
#include "nodes.h"
#include "runtime/serving/serve.h"

/* A set of servers on threads of its own, until it is asked to end. */
typedef struct servers {
    uint32_t count;
    const char *load, *save;
    void (*warn)(void *argument, const char *text);
    void (*damaged)(void *argument, const char *text);
    uint64_t unread_most, memory, rate;
    double failure_timeout; /* seconds; 0: 5 s */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    char address[HW_NET_ADDRESS];
    hawser_job *first; /* node 0's, as its store */
    hawser_store *store;
    bool over;
    test_node nodes[NODES_MOST];
} servers;

static const char *const plain_pairs[] = {"workers", "1", "join-timeout", "20", NULL};
static const unsigned char server_key[32] = "0123456789abcdef0123456789abcde";

static void set_ready(void *argument, const char *address)
{
    servers *set = argument;
    pthread_mutex_lock(&set->mutex);
    snprintf(set->address, sizeof set->address, "127.0.0.1%s", strrchr(address, ':'));
    pthread_cond_broadcast(&set->changed);
    pthread_mutex_unlock(&set->mutex);
}

static void serve_body(test_node *node)
{
    servers *set = node->user;
    hawser_store *store = NULL;
    if (node->node == 0) {
        pthread_mutex_lock(&set->mutex);
        set->first = node->job;
        pthread_mutex_unlock(&set->mutex);
    }
    const hw_serving how = {.listener = {.key = server_key,
                                         .key_length = sizeof server_key,
                                         .failure_timeout = set->failure_timeout > 0 ? set->failure_timeout : 5,
                                         .unread_most = set->unread_most,
                                         .rate = set->rate,
                                         .warn = set->warn},
                            .memory = set->memory,
                            .load = set->load,
                            .save = set->save,
                            .ready = set_ready,
                            .damaged = set->damaged,
                            .argument = set};
    node->status = hawser_store_open(node->job, &(hawser_store_options){.threads = 2}, &store, &node->error);
    if (node->node == 0)
        set->store = store;
    if (node->status == HAWSER_OK)
        node->status = hw_store_serve(store, &how, &node->error);
    hawser_store_close(store);
}

static void *serve_main(void *argument)
{
    servers *set = argument;
    run_nodes(set->nodes, set->count, plain_pairs, serve_body, set);
    pthread_mutex_lock(&set->mutex);
    set->over = true;
    pthread_cond_broadcast(&set->changed);
    pthread_mutex_unlock(&set->mutex);
    return NULL;
}

static void open_servers(servers *set)
{
    pthread_mutex_init(&set->mutex, NULL);
    pthread_cond_init(&set->changed, NULL);
    assert_int_equal(pthread_create(&set->thread, NULL, serve_main, set), 0);
    pthread_mutex_lock(&set->mutex);
    while (set->address[0] == '\0' && !set->over)
        pthread_cond_wait(&set->changed, &set->mutex);
    pthread_mutex_unlock(&set->mutex);
    if (set->over)
        fail_msg("%s", set->nodes[0].error.text);
}

/* They have been asked to end. */
static void await_servers(servers *set)
{
    pthread_join(set->thread, NULL);
    for (uint32_t i = 0; i < set->count; i++)
        if (set->nodes[i].status != HAWSER_OK)
            fail_msg("server %u: %s", i, set->nodes[i].error.text);
}

static void end_servers(servers *set)
{
    hawser_interrupt(set->first);
    await_servers(set);
}

static void write_key(const char *path, char digit, int mode)
{
    FILE *file = fopen(path, "w");
    for (size_t i = 0; i < sizeof server_key; i++)
        fprintf(file, "%02x", digit == 0 ? server_key[i] : (unsigned)digit);
    fclose(file);
    assert_int_equal(chmod(path, (mode_t)mode), 0);
}

static int prepare_servers(void **state)
{
    int made = make_directory(state);
    if (made == 0)
        write_key("key", 0, 0600);
    return made;
}

#endif
