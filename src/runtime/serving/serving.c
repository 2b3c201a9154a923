/* serving.c - hawser_store_serve: stand-alone servers from the job's options and the caller's. */
#include <unistd.h>

#include "base/argument.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/messages.h"
#include "cluster/place.h"
#include "runtime/job/enter.h"
#include "runtime/serving/serve.h"
#include "runtime/store/hub.h"

typedef struct announcement {
    hawser_store *store;
    const hawser_serving *given;
    hawser_status status;
    hawser_error *error;
} announcement;

/* Scripts that start clients read this file: it appears only when it is complete. */
static void announce(void *argument, const char *address)
{
    announcement *t = argument;
    hw_file file = {.fd = -1};
    if (t->given->address_file != NULL) {
        t->status = hw_file_begin(&file, t->given->address_file, t->error);
        if (t->status == HAWSER_OK)
            t->status = hw_file_print(&file, t->error, "%s\n", address);
        if (t->status == HAWSER_OK)
            t->status = hw_file_commit(&file, t->error);
        hw_file_abort(&file);
    }
    if (t->status != HAWSER_OK)
        hawser_interrupt(t->store->job);
    else if (t->given->ready != NULL)
        t->given->ready(t->given->argument, address);
}

static void listening(void *argument, const char *addresses)
{
    const announcement *t = argument;
    t->given->listening(t->given->argument, addresses);
}

static bool unsaved(void *argument, const char *text)
{
    const announcement *t = argument;
    return t->given->unsaved(t->given->argument, text);
}

static void damaged(void *argument, const char *text)
{
    const announcement *t = argument;
    t->given->damaged(t->given->argument, text);
}

static hawser_status check(const hawser_store *store, hawser_error *error)
{
    if (store->remote != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a store with servers elsewhere (`at`) does not serve itself");
    if (store->servers < store->nodes)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "%u of %u nodes serve: every node of stand-alone servers is a server (leave `servers` out)",
                           store->servers, store->nodes);
    if (store->job->recorder != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "a history (--record-history) is of a store within a job: stand-alone servers keep none");
    return HAWSER_OK;
}

/* Refuses an output that is also an input, before anything is removed. Tables may be saved to the file that they were loaded
 * from. */
static hawser_status check_files(const hawser_store *store, const hawser_serving *given, hawser_error *error)
{
    const char *key = given->key_file != NULL ? given->key_file : hawser_options_text(store->job->options, "key-file");
    const struct {
        const char *written, *read, *what, *whose;
    } pairs[] = {{given->address_file, key, "address_file", "the key"},
                 {given->address_file, given->load, "address_file", "the tables to begin with"},
                 {given->address_file, given->save, "address_file", "the tables that are saved"},
                 {given->save, key, "save", "the key"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        bool same = false;
        if (pairs[i].written != NULL && pairs[i].read != NULL)
            HAWSER_TRY(hw_file_same(pairs[i].written, pairs[i].read, &same, error));
        if (same)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s = '%s' is the file of %s; name another", pairs[i].what,
                               pairs[i].written, pairs[i].whose);
    }
    return HAWSER_OK;
}

static hawser_status open_key(const hawser_store *store, const hawser_serving *given, unsigned char key[HW_NET_KEY_MOST],
                              size_t *length, hawser_error *error)
{
    const char *path = given->key_file;
    if (path == NULL)
        path = hawser_options_text(store->job->options, "key-file");
    if (path == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "clients prove themselves by a key: give --key-file FILE ('hawser key FILE' makes one)");
    return hw_key_read(path, key, length, error);
}

static void report(void *job, const char *text)
{
    const hawser_job *own = job;
    hw_notify(own->messages, HAWSER_WARNING, hawser_job_node(own), "%s", text);
}

hawser_status hawser_store_serve(hawser_store *store, const hawser_serving *serving, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    static const hawser_serving plain = {0};
    unsigned char *key = NULL; /* for as long as the servers run, so not on the stack */
    hawser_error announcement_error = {0};
    const hawser_options *options = store->job->options;
    announcement t = {.store = store, .given = serving != NULL ? serving : &plain, .error = &announcement_error};
    hw_serving how = {.memory = store->job->settings.memory,
                      .directory = t.given->directory,
                      .load = t.given->load,
                      .save = t.given->save,
                      .ready = announce,
                      .listening = t.given->listening != NULL ? listening : NULL,
                      .unsaved = t.given->unsaved != NULL ? unsaved : NULL,
                      .damaged = t.given->damaged != NULL ? damaged : NULL,
                      .argument = &t};
    hawser_status status = check(store, error);
    HAWSER_THEN(status, check_files(store, t.given, error));
    HAWSER_THEN(status, hw_undumped_new((void **)&key, HW_NET_KEY_MOST, error));
    HAWSER_THEN(status, open_key(store, t.given, key, &how.listener.key_length, error));
    HAWSER_THEN(status, hw_read_ports(options, &how.listener.port_low, &how.listener.port_high, error));
    if (status == HAWSER_OK && t.given->address_file != NULL)
        (void)unlink(t.given->address_file); /* of an earlier run: a script that waits for it would read the old port */
    status = hw_cluster_agree(store->job->cluster, status, error);
    how.listener.key = key;
    how.listener.interface = hawser_options_text(options, "interface");
    how.listener.trust_fabric = hawser_options_flag(options, "trust-fabric");
    how.listener.failure_timeout = hawser_options_number(options, "failure-timeout");
    how.listener.rate = hawser_options_bytes(options, "rate");
    how.listener.warn = t.given->warn != NULL ? t.given->warn : report;
    how.listener.argument = t.given->warn != NULL ? t.given->argument : store->job;
    const hawser_cancellation *waits =
        atomic_exchange(&store->job->waits, NULL); /* it ends the servers, as hawser_interrupt does */
    HAWSER_THEN(status, hw_store_serve(store, &how, error));
    atomic_store(&store->job->waits, waits);
    hw_undumped_free(key, HW_NET_KEY_MOST);
    if (status == HAWSER_OK && t.status != HAWSER_OK)
        return hawser_fail(error, t.status, "%s", announcement_error.text);
    return status;
}
