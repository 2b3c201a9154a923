/*
 * Stand-alone servers with clients in worlds: jobs of one or two nodes join, push, pull, end clocks and leave, while
 * processes are killed, stopped, cut off or slow. Each push adds a digit of its own to its keys, so a reader can tell how
 * often it was applied. A push that was reported as done is in the tables exactly once, also at the end, when a client reads
 * all of them. A push without a report is there at most once. Whoever loses a node or a server is told which one, and each
 * wait ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include "base/random.h"
#include "directory.h"
#include "hawser/advanced.h"
#include "hawser/messages.h"
#include "hawser/store.h"
#include "job.h"
#include "sim/mesh.h"
#include "sim_worlds.h"

enum { SERVERS_MOST = 3, CLIENTS_MOST = 5, NODES_MOST = SERVERS_MOST + CLIENTS_MOST, KEYS = 24, TABLES = 2 };
enum { PUSHES = 24, DIGIT_BITS = 2, SESSIONS = 3 };

#define UNENDED ((hawser_status)1000)       /* of a node that was killed */
#define SPREAD  UINT64_C(0x9E3779B97F4A7C1) /* between the keys of the sparse table */

typedef enum progress { NOT_BEGUN, BEGUN, REPORTED } progress;

typedef struct client {
    uint32_t group;
    uint32_t rounds;
    progress pushes[PUSHES];
    uint32_t pushed, first;                   /* number of pushes that have begun; the first one of the present session */
    uint32_t before[PUSHES];                  /* pushes that had begun when this clock of the present session ended */
    int64_t seen[TABLES][KEYS][CLIENTS_MOST]; /* digits that this client has read */
} client;

/* Servers and clients, and what they have left. */
typedef struct setting {
    bool faulty; /* faults are drawn */
    /* of a world: */
    uint64_t seed;
    uint32_t servers, clients, groups, per_host;
    sim_job jobs[2 + CLIENTS_MOST]; /* servers, groups, and the one that reads all at the end */
    bool by_hand[CLIENTS_MOST];     /* the nodes of this group find each other by --listen and --join */
    client client[CLIENTS_MOST];
    sim_faults faults;
    char address[HW_NET_ADDRESS]; /* of the servers, once they are ready */
    bool over;                    /* all was read */
    double begin, end;            /* seconds: of the first push, of the last report */
    hawser_status status[NODES_MOST + 1];
    char text[NODES_MOST + 1][1000], wrong[400];
} setting;

#define WRONG(how, ...) ((how)->wrong[0] == '\0' ? snprintf((how)->wrong, sizeof(how)->wrong, __VA_ARGS__) : 0)

/* A world ends at its own limit of time, so a process may look for a change as often as it likes. */
static void look_again(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* ------------------------------------------------------------------------------------------------------- the pushes ---- */

/* What push `p` of a client does: keys first .. first + count - 1 of a table, in steps of `step`. */
typedef struct push {
    uint32_t table, first, step;
    size_t count;
} push;

static push push_of(const setting *how, uint32_t c, uint32_t p)
{
    hw_random random = hw_random_at(how->seed, 21, c, p);
    push drawn = {.table = (uint32_t)hw_random_below(&random, TABLES), .first = (uint32_t)hw_random_below(&random, KEYS)};
    drawn.step = 1 + (uint32_t)hw_random_below(&random, drawn.table == 0 ? 1 : 3);
    drawn.count = 1 + (size_t)hw_random_below(&random, (KEYS - drawn.first + drawn.step - 1) / drawn.step);
    return drawn;
}

static bool touches(push p, uint32_t table, uint32_t key)
{
    return p.table == table && key >= p.first && (key - p.first) % p.step == 0 && (key - p.first) / p.step < p.count;
}

static uint64_t key_of(uint32_t table, uint32_t key)
{
    return table == 0 ? key : key * SPREAD;
}

/* Checks what was read of a table: `own` is the client that has read it, CLIENTS_MOST the one that reads at the end. `must`:
 * the pushes of each client that are there for certain. */
static void check_rows(setting *how, uint32_t own, uint32_t table, const int64_t rows[KEYS][CLIENTS_MOST],
                       const uint32_t must[CLIENTS_MOST], const progress reported[CLIENTS_MOST][PUSHES])
{
    for (uint32_t k = 0; k < KEYS; k++)
        for (uint32_t c = 0; c < CLIENTS_MOST; c++)
            for (uint32_t p = 0; p < PUSHES; p++) {
                int digit = (int)(rows[k][c] >> (DIGIT_BITS * p)) & ((1 << DIGIT_BITS) - 1);
                bool began = how->client[c].pushes[p] != NOT_BEGUN && touches(push_of(how, c, p), table, k);
                bool certain = began && (reported[c][p] == REPORTED || (p >= how->client[c].first && p < must[c]));
                if (digit > began || (certain && digit == 0))
                    WRONG(how, "client %u reads: push %u of client %u is %d times in key %u of table %u", own, p, c, digit,
                          k, table);
            }
}

/* Reads a table after `least` clocks of the own group. */
static hawser_status read_table(setting *how, uint32_t own, hawser_store *store, const uint32_t tables[TABLES],
                                uint32_t table, uint64_t least, hawser_error *error)
{
    static int64_t all[NODES_MOST][KEYS][CLIENTS_MOST]; /* a killed client's pull may still write */
    int64_t(*rows)[CLIENTS_MOST] = all[own];
    uint32_t must[CLIENTS_MOST] = {0};
    progress reported[CLIENTS_MOST][PUSHES];
    uint64_t keys[KEYS], task;
    for (uint32_t k = 0; k < KEYS; k++)
        keys[k] = key_of(table, k);
    for (uint32_t c = 0; c < CLIENTS_MOST; c++) {
        memcpy(reported[c], how->client[c].pushes, sizeof reported[c]);
        if (own < CLIENTS_MOST && least > 0 && how->client[c].group == how->client[own].group)
            must[c] = how->client[c].before[least - 1];
    }
    hawser_request pull = {.table = tables[table], .count = KEYS, .out = rows, .least = least};
    pull.keys = table == 0 ? NULL : keys;
    HAWSER_TRY(hawser_pull(store, &pull, &task, error));
    HAWSER_TRY(hawser_store_wait(store, task, error));
    check_rows(how, own, table, (const int64_t(*)[CLIENTS_MOST])rows, must, (const progress(*)[PUSHES])reported);
    for (uint32_t k = 0; own < CLIENTS_MOST && k < KEYS; k++)
        for (uint32_t c = 0; c < CLIENTS_MOST; c++) {
            int64_t *seen = &how->client[own].seen[table][k][c];
            if ((*seen & ~rows[k][c]) != 0)
                WRONG(how, "client %u does not find again what it has read in key %u of table %u", own, k, table);
            *seen |= rows[k][c];
        }
    return HAWSER_OK;
}

static hawser_status begin_push(setting *how, uint32_t c, hawser_store *store, const uint32_t tables[TABLES], uint64_t *task,
                                hawser_error *error)
{
    static int64_t all[CLIENTS_MOST][PUSHES][KEYS][CLIENTS_MOST]; /* a push reads its values until it has ended */
    uint32_t p = how->client[c].pushed;
    push what = push_of(how, c, p);
    int64_t(*values)[CLIENTS_MOST] = all[c][p];
    uint64_t keys[KEYS] = {0};
    memset(values, 0, sizeof all[c][p]);
    for (uint32_t i = 0; i < what.count; i++) {
        keys[i] = key_of(what.table, what.first + i * what.step);
        values[i][c] = INT64_C(1) << (DIGIT_BITS * p);
    }
    hawser_request request = {.table = tables[what.table], .count = what.count, .first = what.first, .values = values};
    if (what.table != 0)
        request.keys = keys, request.first = 0;
    how->client[c].pushes[p] = BEGUN;
    how->client[c].pushed++;
    return hawser_push(store, &request, task, error);
}

/* Makes some pushes at the same time. */
static hawser_status push_some(setting *how, uint32_t c, hawser_store *store, const uint32_t tables[TABLES], uint64_t most,
                               hawser_error *error)
{
    uint64_t tasks[PUSHES];
    client *own = &how->client[c];
    uint32_t first = own->pushed, count = 0;
    double begin = sim_seconds() - 1e-9 * SIM_FIRST;
    for (; count < most && own->pushed < PUSHES; count++)
        HAWSER_TRY(begin_push(how, c, store, tables, &tasks[count], error));
    how->begin = how->begin > 0 ? how->begin : begin;
    for (uint32_t i = 0; i < count; i++) {
        HAWSER_TRY(hawser_store_wait(store, tasks[i], error));
        own->pushes[first + i] = REPORTED;
        how->end = sim_seconds() - 1e-9 * SIM_FIRST;
    }
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------ the clients ---- */

static hawser_status make_tables(hawser_store *store, uint32_t tables[TABLES], hawser_error *error)
{
    const hawser_table dense = {.name = "dense", .type = HAWSER_I64, .width = CLIENTS_MOST, .count = KEYS};
    const hawser_table sparse = {.name = "sparse", .type = HAWSER_I64, .width = CLIENTS_MOST, .sparse = true};
    HAWSER_TRY(hawser_store_table(store, &dense, &tables[0], error));
    return hawser_store_table(store, &sparse, &tables[1], error);
}

static hawser_status use_store(setting *how, uint32_t c, hawser_store *store, hawser_error *error)
{
    client *own = &how->client[c];
    uint32_t tables[TABLES];
    hw_random random = hw_random_at(how->seed, 22, c, own->pushed);
    HAWSER_TRY(make_tables(store, tables, error));
    for (uint32_t round = 0; round < own->rounds; round++) {
        HAWSER_TRY(push_some(how, c, store, tables, hw_random_below(&random, 5), error));
        own->before[round] = own->pushed;
        for (uint32_t t = 0; t < TABLES; t++)
            HAWSER_TRY(hawser_store_clock(store, tables[t], 0, round, 0, t == 0 ? KEYS - 1 : UINT64_MAX, error));
        uint64_t least = hw_random_below(&random, 2) * (uint64_t)(round + 1);
        HAWSER_TRY(read_table(how, c, store, tables, (uint32_t)hw_random_below(&random, TABLES), least, error));
        if (hw_random_below(&random, 4) == 0)
            (void)nanosleep(&(struct timespec){.tv_nsec = (long)hw_random_below(&random, 20000000)}, NULL);
    }
    return HAWSER_OK;
}

static hawser_status use_servers(setting *how, uint32_t c, hawser_job *job, hawser_error *error)
{
    hawser_store *store = NULL;
    uint32_t tables[TABLES];
    HAWSER_TRY(hawser_store_open(job, &(hawser_store_options){.at = how->address, .key_file = "key"}, &store, error));
    hawser_status status = HAWSER_OK;
    if (c < CLIENTS_MOST) {
        status = use_store(how, c, store, error);
    } else {
        status = make_tables(store, tables, error);
        for (uint32_t t = 0; t < TABLES && status == HAWSER_OK; t++)
            status = read_table(how, c, store, tables, t, 0, error);
    }
    hawser_store_close(store);
    return status;
}

/* Returns the process of the first node of a client's group. */
static uint32_t first_of_group(const setting *how, uint32_t c)
{
    uint32_t first = c;
    while (first > 0 && how->client[first - 1].group == how->client[c].group)
        first--;
    return how->servers + first;
}

/* Waits for the address of the node that listens, as a user reads it from its output. */
static const char *address_of(uint32_t process)
{
    for (; sim_process_at(process)->state <= SIM_STOPPED; look_again())
        for (const sim_net *net = sim_all_nets()->nets; net != NULL; net = net->next)
            if (net->process->number == process && net->listens)
                return net->self.address;
    return "host0:1";
}

static hawser_status set_options(setting *how, uint32_t process, hawser_options *options, hawser_error *error)
{
    uint32_t c = process - how->servers;
    const char *key = NULL, *value = "2";
    HAWSER_TRY(hawser_options_set(options, "workers", "1", HAWSER_FROM_PROGRAM, "test", error));
    HAWSER_TRY(hawser_options_set(options, "join-timeout", "20", HAWSER_FROM_PROGRAM, "test", error));
    if (process >= how->servers && c < how->clients && how->by_hand[how->client[c].group]) {
        uint32_t first = first_of_group(how, c);
        key = process == first ? "listen" : "join";
        value = process == first ? value : address_of(first);
        HAWSER_TRY(hawser_options_set(options, "key-file", "key", HAWSER_FROM_PROGRAM, "test", error));
    }
    return key == NULL ? HAWSER_OK : hawser_options_set(options, key, value, HAWSER_FROM_PROGRAM, "test", error);
}

typedef hawser_status job_body(setting *how, uint32_t number, hawser_job *job, hawser_error *error);

static hawser_status with_job(setting *how, uint32_t process, uint32_t number, job_body *body, hawser_error *error)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_options *options = NULL;
    hawser_messages *messages = NULL; /* nobody reads them */
    hawser_job *job = NULL;
    hawser_status status = hawser_options_new(tables, &options, error);
    HAWSER_THEN(status, set_options(how, process, options, error));
    HAWSER_THEN(status, hawser_messages_new(&messages, error));
    HAWSER_THEN(status, hawser_open_with(options, &(hawser_opening){.messages = messages}, &job, error));
    HAWSER_THEN(status, body(how, number, job, error));
    hawser_close(job);
    hawser_messages_free(messages);
    hawser_options_free(options);
    return status;
}

/* Returns whether the servers are ready. They may have ended before. */
static bool await_servers(const setting *how, hawser_error *error)
{
    for (; how->address[0] == '\0'; look_again()) {
        uint32_t ended = 0;
        while (ended < how->servers && sim_process_at(ended)->state > SIM_STOPPED)
            ended++;
        if (ended == how->servers)
            return hawser_fail(error, HAWSER_PEER_LOST, "cannot join: no server has begun") == HAWSER_OK;
    }
    return true;
}

/* A client of its own that was lost joins again. */
static hawser_status run_client(setting *how, uint32_t c, hawser_error *error)
{
    hw_random random = hw_random_at(how->seed, 23, how->client[c].group, 0);
    (void)nanosleep(&(struct timespec){.tv_nsec = (long)hw_random_below(&random, 100000000)}, NULL);
    hawser_status status = HAWSER_PEER_LOST;
    bool single = how->jobs[1 + how->client[c].group].nodes == 1;
    for (int session = 0; session < (single ? SESSIONS : 1) && status == HAWSER_PEER_LOST; session++) {
        if (!await_servers(how, error))
            return HAWSER_PEER_LOST;
        how->client[c].first = how->client[c].pushed;
        status = with_job(how, how->servers + c, c, use_servers, error);
    }
    return status;
}

/* Reads all tables when no client runs any more. */
static hawser_status run_reader(setting *how, hawser_error *error)
{
    hawser_status status = HAWSER_PEER_LOST;
    for (uint32_t c = 0; c < how->clients; c++)
        while (sim_process_at(how->servers + c)->state <= SIM_STOPPED)
            look_again();
    if (await_servers(how, error))
        status = with_job(how, how->servers + how->clients, CLIENTS_MOST, use_servers, error);
    how->over = true;
    return status;
}

/* ------------------------------------------------------------------------------------------------------ the servers ---- */

typedef struct watcher {
    setting *how;
    hawser_job *job;
    bool ended;
} watcher;

/* Ends the servers as a signal does. */
static void *watch(void *argument)
{
    const watcher *w = argument;
    while (!w->how->over && !w->ended)
        look_again();
    hawser_interrupt(w->job);
    return NULL;
}

static void set_ready(void *argument, const char *address)
{
    setting *how = argument;
    (void)snprintf(how->address, sizeof how->address, "%s", address);
}

static void warn(void *argument, const char *text)
{
    (void)argument, (void)text;
}

static hawser_status serve(setting *how, uint32_t server, hawser_job *job, hawser_error *error)
{
    hawser_store *store = NULL;
    watcher w = {how, job, false};
    pthread_t thread;
    HAWSER_TRY(hawser_store_open(job, &(hawser_store_options){.threads = 1 + server % 2}, &store, error));
    bool watches = server == how->seed % how->servers && pthread_create(&thread, NULL, watch, &w) == 0;
    const hawser_serving serving = {.key_file = "key", .ready = set_ready, .warn = warn, .argument = how};
    hawser_status status = hawser_store_serve(store, &serving, error);
    w.ended = true;
    if (watches)
        pthread_join(thread, NULL);
    hawser_store_close(store);
    return status;
}

static int run_node(void *user, uint32_t process)
{
    setting *how = user;
    hawser_error error = {0};
    hawser_status status = HAWSER_OK;
    if (process < how->servers)
        status = with_job(how, process, process, serve, &error);
    else if (process < how->servers + how->clients)
        status = run_client(how, process - how->servers, &error);
    else
        status = run_reader(how, &error);
    how->status[process] = status;
    (void)snprintf(how->text[process], sizeof how->text[process], "%s", status == HAWSER_OK ? "" : error.text);
    return status == HAWSER_OK ? 0 : 1;
}

/* ----------------------------------------------------------------------------------------------------------- worlds ---- */

#define WHY(said, ...) (void)snprintf((said)->why, sizeof(said)->why, __VA_ARGS__)

/* Returns whether a process has to do with a group: it is a server, or one of its nodes. group UINT32_MAX: servers only. */
static bool concerns(const setting *how, uint32_t process, uint32_t group)
{
    return process < how->servers || (group != UINT32_MAX && how->client[process - how->servers].group == group);
}

/* Returns whether a process on the host of this one has to do with the group. */
static bool host_concerns(const setting *how, uint32_t process, uint32_t group)
{
    uint32_t first = process / how->per_host * how->per_host;
    bool some = false;
    for (uint32_t i = first; i < first + how->per_host && i < how->servers + how->clients; i++)
        some |= concerns(how, i, group);
    return some;
}

/* Returns whether nothing can be lost that a group needs: none of its nodes and of the servers is killed, or silent for the
 * failure timeout, all in all. */
static bool survives(const setting *how, uint32_t group)
{
    const double timeout = 5;
    double silent = 0;
    for (size_t i = 0; i < how->faults.count; i++) {
        const sim_fault *fault = &how->faults.list[i];
        bool own = concerns(how, fault->node, group);
        if (fault->kind == SIM_FAULT_KILL && own)
            return false;
        bool cut = fault->kind == SIM_FAULT_CUT && host_concerns(how, fault->node, group) &&
                   host_concerns(how, fault->other, group);
        if (cut || (fault->kind == SIM_FAULT_STOP && own))
            silent += how->faults.list[i + 1].at - fault->at;
    }
    return silent < timeout;
}

/* If a process was killed and no other can be lost, it is the one that must be named. */
static void judge_name(const setting *how, uint32_t process, verdict *said)
{
    const sim_fault *killed = NULL;
    double silent = 0;
    for (size_t i = 0; i < how->faults.count; i++) {
        const sim_fault *fault = &how->faults.list[i];
        if (fault->kind == SIM_FAULT_KILL && killed != NULL && fault->node != killed->node)
            return;
        killed = fault->kind == SIM_FAULT_KILL ? fault : killed;
        if (fault->kind == SIM_FAULT_STOP || fault->kind == SIM_FAULT_CUT)
            silent += how->faults.list[i + 1].at - fault->at;
    }
    if (killed == NULL || silent >= 5)
        return;
    char server[20], node[20];
    uint32_t lost = killed->node;
    bool serves = lost < how->servers;
    (void)snprintf(server, sizeof server, "server %u", lost);
    (void)snprintf(node, sizeof node, "node %u", serves ? lost : lost - first_of_group(how, lost - how->servers));
    const char *text = how->text[process];
    bool named = strstr(text, node) != NULL || (serves && strstr(text, server) != NULL);
    if (!named && strstr(text, "cannot join") == NULL)
        WHY(said, "process %u does not name process %u: %s", process, lost, text);
}

static void judge_node(const setting *how, uint32_t process, verdict *said)
{
    hawser_status status = how->status[process];
    bool is_client = process >= how->servers && process < how->servers + how->clients;
    bool whole = survives(how, is_client ? how->client[process - how->servers].group : UINT32_MAX);
    if (status == HAWSER_OK)
        return;
    if (whole || (status != UNENDED && status != HAWSER_PEER_LOST && status != HAWSER_TIMEOUT))
        WHY(said, "process %u: status %d: %s", process, status, status == UNENDED ? "" : how->text[process]);
    else if (status != UNENDED)
        judge_name(how, process, said);
}

static void judge(const setting *how, sim_end end, verdict *said)
{
    if (end != SIM_DONE)
        WHY(said, end == SIM_STUCK ? "every process waits" : "it has not ended in time");
    for (uint32_t i = 0; i <= how->servers + how->clients && said->why[0] == '\0'; i++)
        judge_node(how, i, said);
    if (how->wrong[0] != '\0')
        WHY(said, "%s", how->wrong);
    for (uint32_t i = 0; said->why[0] != '\0' && i <= how->servers + how->clients; i++)
        fprintf(stderr, "process %u (%s): status %d: %s\n", i, i < how->servers ? "server" : "client", how->status[i],
                how->text[i]);
}

static void draw_jobs(hw_random *random, setting *how)
{
    how->servers = 1 + (uint32_t)hw_random_below(random, SERVERS_MOST);
    how->clients = 1 + (uint32_t)hw_random_below(random, CLIENTS_MOST);
    how->jobs[0].nodes = how->servers;
    for (uint32_t c = 0; c < how->clients; how->groups++) {
        uint32_t nodes = c + 1 < how->clients ? 1 + (uint32_t)hw_random_below(random, 2) : 1;
        uint32_t rounds = 1 + (uint32_t)hw_random_below(random, 12);
        how->by_hand[how->groups] = nodes > 1 && hw_random_below(random, 2) == 0;
        how->jobs[1 + how->groups].nodes = nodes;
        for (; nodes > 0; nodes--)
            how->client[c++] = (client){.group = how->groups, .rounds = rounds};
    }
    how->jobs[1 + how->groups].nodes = 1;
}

static double run_cluster(const sim_cluster *cluster, setting *how, verdict *said)
{
    for (uint32_t i = 0; i <= NODES_MOST; i++)
        how->status[i] = UNENDED;
    for (uint32_t c = 0; c < how->clients; c++)
        how->client[c] = (client){.group = how->client[c].group, .rounds = how->client[c].rounds};
    how->over = false;
    how->address[0] = '\0';
    said->outcome = sim_cluster_run(cluster, NULL);
    return said->outcome.seconds;
}

static void world(uint64_t seed, void *user, verdict *said)
{
    static const double latencies[] = {1e-4, 1e-2};
    setting *how = user;
    hw_random random = hw_random_at(seed, 20, 0, 0);
    hawser_error error;
    how->seed = seed;
    draw_jobs(&random, how);
    how->per_host = 1 + (uint32_t)hw_random_below(&random, 2);
    sim_cluster cluster = {.seed = seed,
                           .nodes = how->servers + how->clients + 1,
                           .per_host = how->per_host,
                           .jobs = how->jobs,
                           .job_count = 2 + how->groups,
                           .rates = {.link = hw_random_below(&random, 2) == 0 ? 0 : 1e6,
                                     .latency = latencies[hw_random_below(&random, 2)],
                                     .nearby = 1e-5},
                           .limit = 300, /* no wait lasts until the --timeout of 600 s */
                           .main = run_node,
                           .user = how};
    how->begin = how->end = 0;
    double seconds = run_cluster(&cluster, how, said);
    if (how->faulty) {
        bool early = seed % 3 == 0; /* else faults come while clients push and pull */
        double begin = early ? 0 : how->begin, span = early ? seconds : how->end - how->begin;
        if (sim_faults_draw(&random, how->servers + how->clients, span, &how->faults, &error) != HAWSER_OK)
            abort();
        for (size_t i = 0; i < how->faults.count; i++)
            how->faults.list[i].at += begin;
        cluster.faults = &how->faults;
        (void)run_cluster(&cluster, how, said);
    }
    judge(how, said->outcome.end, said);
    add_faults(&how->faults, said);
}

static void run_setting(const char *test, setting how, uint64_t count)
{
    run_worlds(test, world, count, &how);
}

static void what_was_reported_is_there_once(void **state)
{
    (void)state;
    run_setting(__func__, (setting){0}, 60);
}

static void faults_lose_nothing_that_was_reported(void **state)
{
    (void)state;
    run_setting(__func__, (setting){.faulty = true}, 240);
}

static int set_up(void **state)
{
    if (make_directory(state) != 0)
        return -1;
    put_file("key", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
    return chmod("key", 0600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_reported_is_there_once, set_up, remove_directory),
        cmocka_unit_test_setup_teardown(faults_lose_nothing_that_was_reported, set_up, remove_directory),
    };
    take_filter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
