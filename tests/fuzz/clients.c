/*
 * Clients with the right key send any message, in any order, over real links to a stand-alone server. Whatever arrives, the
 * server goes on and serves a correct client.
 *
 * Input: steps of two bytes (what, length) and a body: a client attaches, leaves, or sends a control message or a request,
 * most of whose fields are near valid values.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hawser/store.h"
#include "runtime/serving/serve.h"
#include "store_fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLIENTS = 3, STEPS = 60 };

static const unsigned char key[32] = "0123456789abcdef0123456789abcde";
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char address[HW_NET_ADDRESS], folder[] = "/tmp/fuzz-clients-XXXXXX", key_file[64];
static hawser_store *observer;
static uint32_t own_table;

static void demand(bool right, const hawser_error *error)
{
    if (right)
        return;
    fprintf(stderr, "%s\n", error->text);
    abort();
}

static hawser_job *open_job(void)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hawser_data_rows(), NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_error error = {0};
    hawser_status status = hawser_options_new(tables, &options, &error);
    if (status == HAWSER_OK)
        status = hawser_options_set(options, "alone", "yes", HAWSER_FROM_PROGRAM, "fuzz", &error);
    if (status == HAWSER_OK)
        status = hawser_open_options(options, &job, &error);
    demand(status == HAWSER_OK, &error);
    return job;
}

static void ready(void *argument, const char *at)
{
    (void)argument;
    pthread_mutex_lock(&mutex);
    snprintf(address, sizeof address, "127.0.0.1%s", strrchr(at, ':'));
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void *serve(void *argument)
{
    (void)argument;
    hawser_store *store = NULL;
    hawser_error error = {0};
    const hw_serving how = {
        .listener = {.key = key, .key_length = sizeof key, .failure_timeout = 1}, .directory = folder, .ready = ready};
    hawser_status status = hawser_store_open(open_job(), &(hawser_store_options){.threads = 2}, &store, &error);
    if (status == HAWSER_OK)
        status = hw_store_serve(store, &how, &error);
    demand(false, &error); /* no thread asks it to end */
    return NULL;
}

static void write_key(void)
{
    snprintf(key_file, sizeof key_file, "%s/key", folder);
    FILE *file = fopen(key_file, "w");
    for (size_t i = 0; file != NULL && i < sizeof key; i++)
        fprintf(file, "%02x", key[i]);
    if (file == NULL || fclose(file) != 0 || chmod(key_file, 0600) != 0)
        abort();
}

static void remove_folder(void)
{
    char path[512];
    DIR *entries = opendir(folder);
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    if (entries != NULL)
        closedir(entries);
    (void)rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    pthread_t thread;
    hawser_error error = {0};
    if (mkdtemp(folder) == NULL || atexit(remove_folder) != 0)
        abort();
    write_key();
    if (pthread_create(&thread, NULL, serve, NULL) != 0)
        abort();
    pthread_mutex_lock(&mutex);
    while (address[0] == '\0')
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    static const hawser_table tables[] = {{.name = "witness", .last = KEYS - 1},
                                          {.name = "dense", .last = KEYS - 1},
                                          {.name = "sparse", .sparse = true, .type = HAWSER_F32, .width = 2},
                                          {.name = "chunks", .last = KEYS - 1, .data_centric = true},
                                          {.name = "sums", .last = KEYS - 1, .summed = true}};
    hawser_status status =
        hawser_store_open(open_job(), &(hawser_store_options){.at = address, .key_file = key_file}, &observer, &error);
    for (size_t i = 0; status == HAWSER_OK && i < sizeof tables / sizeof *tables; i++) {
        uint32_t number;
        status = hawser_store_table(observer, &tables[i], &number, &error);
        own_table = i == 0 ? number : own_table;
    }
    demand(status == HAWSER_OK, &error);
    return 0;
}

/* ---------------------------------------------------------------------------------------------------------- clients ---- */

static void arrived(void *argument, uint32_t node, hw_message *message)
{
    (void)argument, (void)node;
    hw_message_free(message);
}

static hw_net *come(uint32_t *number)
{
    static char build[HW_STORE_BUILD];
    hw_store_build(build);
    const hw_net_options options = {.job = HW_STORE_JOB,
                                    .key = key,
                                    .key_length = sizeof key,
                                    .node = HW_NET_ANY,
                                    .name = "fuzz",
                                    .build = build,
                                    .dial_only = true,
                                    .transport = HW_NET_TCP,
                                    .ring = HW_STORE_RING};
    const hw_net_events events = {.arrived = arrived};
    hw_net *net = NULL;
    hawser_error error = {0};
    hawser_status status = hw_net_new(&options, &events, &net, &error);
    if (status == HAWSER_OK)
        status = hw_net_dial(net, address, HW_NET_ANY, 20, number, &error);
    demand(status == HAWSER_OK, &error);
    return net;
}

/* `sent` counts the requests of the connection. */
static hw_message *request_of(const uint8_t *body, size_t size, uint64_t *sent)
{
    uint8_t f[FIELDS];
    take_fields(f, &body, &size);
    hw_request_head head = head_of(f, size);
    right_bits(&head, body, size, f[14]);
    head.table++;
    head.value_bytes += f[12] > 250 ? f[13] : 0;
    hw_message *message = message_of(&head, sizeof head, body, size);
    message->envelope.kind = HW_MESSAGE_ASK;
    message->envelope.sequence = f[15] < 250 ? ++*sent : f[15]; /* else most likely one that is out of order */
    return message;
}

/* A word with what belongs to it, or with anything. */
static hw_message *word_of(const uint8_t *body, size_t size, const uint32_t *numbers)
{
    uint8_t f[8] = {0};
    size_t taken = size < sizeof f ? size : sizeof f;
    memcpy(f, body, taken);
    body += taken, size -= taken;
    uint32_t word = f[0] % 12;
    char name[4] = {(char)(f[1] % 128), f[2] % 2 == 0 ? '\0' : 'x', '\0'};
    const hw_register_wire session = {.session = {f[5], f[6]},
                                      .group = numbers[f[1] % CLIENTS],
                                      .node = f[2] % 3,
                                      .nodes = f[3] % 3,
                                      .workers = f[4] < 250 ? f[4] % 4 : UINT32_MAX};
    const hw_keys_wire keys = {.table = f[1] % 6, .first = f[2], .last = f[3] < 100 ? UINT64_MAX : f[3], .most = f[4]};
    hw_table_wire table = {.type = f[1] % 5,
                           .width = f[2] % 8,
                           .sparse = f[3] % 2,
                           .summed = f[4] % 3 == 0,
                           .centric = f[4] % 3 == 1,
                           .first = f[5] % 8,
                           .last = f[6] < 200 ? f[6] : UINT64_MAX};
    table.first = table.sparse != 0 && f[7] % 4 != 0 ? 0 : table.first;
    table.last = table.sparse != 0 && f[7] % 4 != 0 ? UINT64_MAX : table.last % 1000;
    memset(table.name, 'a' + f[7] % 3, 1 + f[7] % 3);
    strcpy(table.function, f[5] % 2 == 0 ? "add" : "adagrad");
    hw_message *message = word == HW_CONTROL_REGISTER ? message_of(&session, sizeof session, NULL, 0)
                          : word == HW_CONTROL_KEYS   ? message_of(&keys, sizeof keys, NULL, 0)
                          : word == HW_CONTROL_TABLE  ? message_of(&table, sizeof table, NULL, 0)
                          : word == HW_CONTROL_SAVE || word == HW_CONTROL_LOAD ? message_of(name, strlen(name) + 1, NULL, 0)
                                                                               : message_of(NULL, 0, body, size);
    if (f[7] > 240) { /* not what belongs to it */
        hw_message_free(message);
        message = message_of(NULL, 0, body, size);
    }
    message->envelope.kind = HW_MESSAGE_CLIENT;
    message->envelope.part = word;
    return message;
}

static void step(hw_net **nets, uint32_t *numbers, uint64_t *sent, uint8_t what, const uint8_t *body, size_t size)
{
    uint32_t client = what / 8 % CLIENTS;
    hw_message *message = NULL;
    if (what % 8 == 0) {
        if (nets[client] != NULL)
            hw_net_stop(nets[client], size > 0 ? 1 : 0);
        hw_net_free(nets[client]);
        nets[client] = NULL;
        return;
    }
    if (nets[client] == NULL) {
        nets[client] = come(&numbers[client]);
        sent[client] = 0;
    }
    if (what % 8 < 4) {
        message = word_of(body, size, numbers);
    } else if (what % 8 < 7) {
        message = request_of(body, size, &sent[client]);
    } else {
        message = message_of(NULL, 0, body, size);
        message->envelope.kind = (uint16_t)(1 + what / 32 % (HW_MESSAGE_KINDS - 1));
    }
    (void)!hw_net_send(nets[client], 0, message, NULL);
}

static void ask_observer(void)
{
    double ones[KEYS], out[KEYS];
    uint64_t task;
    hawser_error error = {0};
    for (int i = 0; i < KEYS; i++)
        ones[i] = 1;
    hawser_status status = hawser_push_pull(
        observer, &(hawser_request){.table = own_table, .last = KEYS - 1, .values = ones, .out = out}, &task, &error);
    if (status == HAWSER_OK)
        status = hawser_store_wait(observer, task, &error);
    demand(status == HAWSER_OK, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hw_net *nets[CLIENTS] = {NULL};
    uint32_t numbers[CLIENTS] = {0};
    uint64_t sent[CLIENTS] = {0};
    for (int steps = 0; size >= 2 && steps < STEPS; steps++) {
        size_t length = data[1] < size - 2 ? data[1] : size - 2;
        step(nets, numbers, sent, data[0], data + 2, length);
        data += 2 + length;
        size -= 2 + length;
    }
    ask_observer();
    for (int i = 0; i < CLIENTS; i++)
        hw_net_free(nets[i]);
    return 0;
}
