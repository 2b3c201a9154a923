/* store.c - measures the cost of a push and a pull: long ranges, many keys, few keys; by one and two servers and workers.
 *
 *   bench_store CASE SERVERS WORKERS COUNT [options of a job]     a node of SERVERS + WORKERS; or alone, server and worker
 *   in one bench_store --bare TRANSPORT CASE COUNT     as many bytes there and back over a bare socket: unix, tcp, or reno
 *   (tcp without pacing)
 *
 * It prints one line of numbers, as bench/README.md describes for peers. bench/store/run starts it, beside other software,
 * and prints tables. */
#include <signal.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"
#include "hawser/store.h"
#include "transport_bare.h"

typedef struct shape {
    const char *name;
    size_t count;    /* keys of a request, one float each */
    uint64_t domain; /* the keys are drawn from this many */
    unsigned flight; /* requests in flight */
    unsigned spread; /* wide keys: those of neighbouring numbers are about 2^spread apart */
    bool range, hashed;
    bool again;   /* the same keys in each request, else others */
    bool latency; /* measures the latency of single requests */
} shape;

static const shape shapes[] = {
    {.name = "range", .count = 1000000, .domain = 1000000, .flight = 1, .range = true},
    {.name = "keys", .count = 1000000, .domain = 1 << 21, .flight = 1},
    {.name = "keys-again", .count = 1000000, .domain = 1 << 21, .flight = 1, .again = true},
    {.name = "sparse", .count = 10000, .domain = 10000000, .flight = 1},
    {.name = "sparse-again", .count = 10000, .domain = 10000000, .flight = 1, .again = true},
    {.name = "sparse-8", .count = 10000, .domain = 10000000, .flight = 8},
    {.name = "hashed", .count = 10000, .domain = 10000000, .flight = 1, .hashed = true},
    {.name = "wide", .count = 1000000, .domain = 1 << 21, .flight = 1, .spread = 11, .hashed = true},
    {.name = "wide-again", .count = 1000000, .domain = 1 << 21, .flight = 1, .spread = 11, .hashed = true, .again = true},
    {.name = "small", .count = 100, .domain = 10000000, .flight = 1, .latency = true},
    {.name = "small-16", .count = 100, .domain = 10000000, .flight = 16},
    {.name = "idle"},
};

static const shape *find_shape(const char *name)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].name, name) == 0)
            return &shapes[i];
    fprintf(stderr, "bench_store: there is no case '%s'\n", name);
    exit(2);
}

static double cpu_of_process(pid_t process)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return 0;
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void rest(double seconds)
{
    struct timespec time = hw_timespec(seconds);
    nanosleep(&time, NULL);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* --------------------------------------------------------------------------------------------------------- a worker ---- */

enum { WARM = 3 /* requests before the timed ones: they open connections and fill caches */ };

typedef struct bench {
    const shape *shape;
    uint32_t servers, workers, self, nodes;
    size_t rounds, warm;
    hawser_job *job;
    hawser_store *store;
    uint32_t table, meeting, notes; /* meeting: its clocks are the barrier; notes: numbers that nodes exchange */
    uint64_t met;
    size_t lists_count, places; /* lists of keys, one per request; buffers, one per pull */
    uint64_t **lists;
    float *values, *out;
    float *expected; /* by number of a key: how often all workers have pushed it */
    double own_cpu;  /* CPU seconds of clearing and checking the buffers of pulls */
} bench;

static void must(hawser_status status, const hawser_error *error)
{
    if (status == HAWSER_OK)
        return;
    fprintf(stderr, "bench_store: %s\n", error->text);
    exit(1);
}

static void finish(const bench *b, uint64_t task)
{
    hawser_error error;
    must(hawser_store_wait(b->store, task, &error), &error);
}

/* Waits until all workers have called it as often. Servers have ended all clocks of this table in advance. */
static void meet(bench *b)
{
    hawser_error error;
    int64_t out;
    uint64_t task;
    must(hawser_store_clock(b->store, b->meeting, 0, b->met++, 0, 0, &error), &error);
    must(hawser_pull(b->store, &(hawser_request){.table = b->meeting, .out = &out, .least = b->met}, &task, &error), &error);
    finish(b, task);
}

/* Nodes exchange numbers through these rows of a table. */
enum { PROCESS, NUMBERS, CHECKING = NUMBERS + 4, ROWS };

static void share_put(bench *b, int row, double own)
{
    hawser_error error;
    uint64_t task, key = (uint64_t)row * b->nodes + b->self;
    must(hawser_push(b->store, &(hawser_request){.table = b->notes, .first = key, .last = key, .values = &own}, &task,
                     &error),
         &error);
    finish(b, task);
}

static void share_get(bench *b, int row, double *all)
{
    hawser_error error;
    uint64_t task, key = (uint64_t)row * b->nodes;
    must(hawser_pull(b->store, &(hawser_request){.table = b->notes, .first = key, .last = key + b->nodes - 1, .out = all},
                     &task, &error),
         &error);
    finish(b, task);
}

static double cpu_of_thread(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ----------------------------------------------------------------------------------------------------------- keys ---- */

static uint64_t key_of(const shape *s, uint64_t number)
{
    return number << s->spread | (hw_mix(number) & ((UINT64_C(1) << s->spread) - 1));
}

static uint64_t number_of(const shape *s, uint64_t key)
{
    return key >> s->spread;
}

/* Draws the keys of a worker (node `node`) for a round: ascending, each once, spread over the domain. Every node draws the
 * same keys for it. */
static void draw(const bench *b, uint32_t node, bool push, size_t round, uint64_t *keys)
{
    const shape *s = b->shape;
    hw_random random = hw_random_at(1, node, push && !s->again, s->again ? 0 : round);
    uint64_t gap = s->domain * 99 / 100 / s->count, number;
    do {
        number = 0;
        for (size_t i = 0; i < s->count; i++) {
            number += 1 + hw_random_below(&random, 2 * gap - 1);
            keys[i] = key_of(s, number);
        }
    } while (number >= s->domain);
}

/* Draws all keys of a phase, before any worker is timed. */
static void draw_lists(bench *b, bool push)
{
    for (size_t i = 0; i < b->lists_count; i++)
        draw(b, b->self, push, i, b->lists[i]);
}

/* Computes how often each key will have been pushed before the pulls: it draws the pushes of every worker once more. */
static void expect_pushes(bench *b)
{
    const shape *s = b->shape;
    size_t all = b->warm + b->rounds, drawn = s->again ? 1 : all;
    uint64_t *keys = malloc((s->count + 1) * sizeof *keys);
    if (keys == NULL)
        die("no memory");
    for (uint64_t n = 0; s->range && n < s->domain; n++)
        b->expected[n] = (float)(all * b->workers);
    for (uint32_t w = 0; !s->range && w < b->workers; w++)
        for (size_t r = 0; r < drawn; r++) {
            draw(b, b->nodes - b->workers + w, true, r, keys);
            for (size_t i = 0; i < s->count; i++)
                b->expected[number_of(s, keys[i])] += s->again ? (float)all : 1;
        }
    free(keys);
}

/* ------------------------------------------------------------------------------------------------------- requests ---- */

static uint64_t ask(bench *b, bool push, size_t round)
{
    const shape *s = b->shape;
    hawser_request request = {.table = b->table, .last = s->domain - 1};
    hawser_error error;
    uint64_t task;
    if (!s->range) {
        request.keys = b->lists[round % b->lists_count];
        request.count = s->count;
    }
    request.values = push ? b->values : NULL;
    request.out = push ? NULL : b->out + round % b->places * s->count;
    must(push ? hawser_push(b->store, &request, &task, &error) : hawser_pull(b->store, &request, &task, &error), &error);
    return task;
}

/* Fills the buffer of a pull with NaN, so that a value that the pull does not write is noticed. */
static void clear(bench *b, size_t round)
{
    double before = cpu_of_thread();
    memset(b->out + round % b->places * b->shape->count, 0xff, b->shape->count * sizeof *b->out); /* NaN */
    b->own_cpu += cpu_of_thread() - before;
}

static void expect_value(const bench *b, uint64_t number, float came)
{
    if (came == b->expected[number])
        return;
    fprintf(stderr, "bench_store: key number %llu is %g, and was pushed %g times\n", (unsigned long long)number,
            (double)came, (double)b->expected[number]);
    exit(1);
}

static void check(bench *b, size_t round)
{
    const shape *s = b->shape;
    double before = cpu_of_thread();
    const float *out = b->out + round % b->places * s->count;
    for (size_t i = 0; i < s->count; i++)
        expect_value(b, s->range ? i : number_of(s, b->lists[round % b->lists_count][i]), out[i]);
    b->own_cpu += cpu_of_thread() - before;
}

/* Measures one request after the other. If all pulls share one buffer, the workers start each request together, so that none
 * is timed while another one checks. */
static void measure_each(bench *b, bool push, size_t first, size_t count, double *samples)
{
    bool together = !push && b->places == 1;
    for (size_t r = first; r < first + count; r++) {
        if (together)
            clear(b, r);
        if (together && b->workers > 1)
            meet(b);
        double start = hw_seconds();
        finish(b, ask(b, push, r));
        samples[r - first] = hw_seconds() - start;
        if (together && b->workers > 1)
            meet(b);
        if (together)
            check(b, r);
    }
}

/* Measures with several requests in flight; gives one sample. */
static void measure_all(bench *b, bool push, size_t first, size_t count, double *samples)
{
    const shape *s = b->shape;
    uint64_t in_flight[64] = {0};
    double start = hw_seconds();
    for (size_t r = 0; r < count; r++) {
        if (in_flight[r % s->flight] != 0)
            finish(b, in_flight[r % s->flight]);
        in_flight[r % s->flight] = ask(b, push, first + r);
    }
    for (size_t k = 0; k < s->flight; k++)
        if (in_flight[k] != 0)
            finish(b, in_flight[k]);
    samples[0] = (hw_seconds() - start) / (double)count;
}

/* Measures the seconds of each request if one is in flight, else their mean as one sample; returns the number of samples.
 * Workers start together and continue when all have finished. */
static size_t measure(bench *b, bool push, size_t first, size_t count, double *samples)
{
    bool apart = !push && b->places > 1;
    for (size_t r = first; apart && r < first + count; r++)
        clear(b, r);
    meet(b);
    if (b->shape->flight == 1)
        measure_each(b, push, first, count, samples);
    else
        measure_all(b, push, first, count, samples);
    meet(b);
    for (size_t r = first; apart && r < first + count; r++)
        check(b, r);
    return b->shape->flight == 1 ? count : 1;
}

/* Checks at the end that every key has been pushed as often as it was drawn. From a sparse table it pulls only the keys that
 * were pushed. */
static void expect_all(const bench *b)
{
    enum { TOGETHER = 1 << 18 };
    const shape *s = b->shape;
    hawser_error error;
    uint64_t task, *keys = malloc(TOGETHER * sizeof *keys);
    float *all = malloc((s->hashed ? TOGETHER : s->domain) * sizeof *all);
    if (keys == NULL || all == NULL)
        die("no memory");
    for (uint64_t n = 0; n < s->domain;) {
        hawser_request request = {.table = b->table, .last = s->domain - 1, .out = all};
        for (; s->hashed && n < s->domain && request.count < TOGETHER; n++)
            if (b->expected[n] > 0)
                keys[request.count++] = key_of(s, n);
        if (s->hashed && request.count == 0)
            break;
        request.keys = s->hashed ? keys : NULL;
        must(hawser_pull(b->store, &request, &task, &error), &error);
        finish(b, task);
        for (size_t i = 0; s->hashed && i < request.count; i++)
            expect_value(b, number_of(s, keys[i]), all[i]);
        for (; !s->hashed && n < s->domain; n++)
            expect_value(b, n, all[n]);
    }
    free(keys);
    free(all);
}

static double cpu_of_all(const double *processes, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += cpu_of_process((pid_t)processes[i]);
    return sum;
}

/* Gives each pull a buffer of its own, unless that takes too much memory. */
static void make_buffers(bench *b)
{
    enum { OUT_MOST = 64 << 20 };
    const shape *s = b->shape;
    b->warm = WARM < b->rounds ? WARM : b->rounds;
    size_t all = b->warm + b->rounds;
    b->places = s->flight > 1 || all * s->count * sizeof *b->out <= OUT_MOST ? all : 1;
    b->lists_count = s->range ? 0 : s->again ? 1 : all;
    b->values = malloc((s->count + 1) * sizeof *b->values);
    b->out = calloc(b->places * s->count + 1, sizeof *b->out);
    b->lists = calloc(b->lists_count + 1, sizeof *b->lists);
    b->expected = calloc(s->domain + 1, sizeof *b->expected);
    if (b->values == NULL || b->out == NULL || b->lists == NULL || b->expected == NULL)
        die("no memory");
    for (size_t i = 0; i < s->count; i++)
        b->values[i] = 1;
    for (size_t i = 0; i < b->lists_count; i++) {
        b->lists[i] = malloc((s->count + 1) * sizeof **b->lists);
        if (b->lists[i] == NULL)
            die("no memory");
    }
}

static void free_buffers(bench *b)
{
    for (size_t i = 0; i < b->lists_count; i++)
        free(b->lists[i]);
    free(b->lists);
    free(b->values);
    free(b->out);
    free(b->expected);
}

static void print(const bench *b, const double *numbers, double cpu)
{
    if (b->self + 1 < b->nodes)
        return;
    if (b->shape->latency)
        printf("%.9g %.9g %.9g %.9g %.9g\n", numbers[0], numbers[1], numbers[2], numbers[3], cpu);
    else
        printf("%.9g %.9g %.9g\n", numbers[0], numbers[2], cpu);
    fflush(stdout);
}

static void run_case(bench *b)
{
    double *samples = calloc(b->rounds + WARM, sizeof *samples), *all = calloc(b->nodes, sizeof *all), numbers[4] = {0},
           cpu = 0;
    double *processes = calloc(b->nodes, sizeof *processes), checking = 0;
    if (samples == NULL || all == NULL || processes == NULL)
        die("no memory");
    share_get(b, PROCESS, processes);
    for (int push = 1; push >= 0; push--) {
        draw_lists(b, push);
        if (!push)
            expect_pushes(b);
        measure(b, push, 0, b->warm, samples);
        meet(b);
        double before = cpu_of_all(processes, b->nodes);
        meet(b); /* no worker clears its buffers before all have read the processes' CPU */
        b->own_cpu = 0;
        size_t kept = measure(b, push, b->warm, b->rounds, samples);
        checking += b->own_cpu;
        meet(b);
        cpu += cpu_of_all(processes, b->nodes) - before;
        meet(b); /* no worker draws keys before all have read it */
        qsort(samples, kept, sizeof *samples, by_size);
        numbers[push ? 0 : 2] = samples[kept / 2];
        numbers[push ? 1 : 3] = samples[kept * 99 / 100];
    }
    if (b->self + 1 == b->nodes)
        expect_all(b);
    for (int i = 0; i < 4; i++)
        share_put(b, NUMBERS + i, numbers[i]);
    share_put(b, CHECKING, checking);
    meet(b);
    share_get(b, CHECKING, all);
    for (uint32_t n = 0; n < b->nodes; n++)
        cpu -= all[n];
    for (int i = 0; i < 4; i++) { /* the mean of the workers */
        share_get(b, NUMBERS + i, all);
        numbers[i] = 0;
        for (uint32_t w = 0; w < b->nodes; w++)
            numbers[i] += all[w] / b->workers;
    }
    print(b, numbers, cpu / (double)(2 * b->rounds * b->workers));
    free(samples);
    free(processes);
    free(all);
}

/* Measures the CPU seconds of a process per second without requests. */
static void run_idle(bench *b)
{
    double *processes = calloc(b->nodes, sizeof *processes), seconds = 0.1 * (double)b->rounds;
    if (processes == NULL)
        die("no memory");
    share_get(b, PROCESS, processes);
    meet(b);
    double before = cpu_of_all(processes, b->nodes);
    rest(seconds);
    double cpu = cpu_of_all(processes, b->nodes) - before;
    meet(b);
    if (b->self + 1 == b->nodes)
        printf("%.9g\n", cpu / seconds / b->nodes);
    fflush(stdout);
    free(processes);
}

static void add_table(bench *b, const hawser_table *table, uint32_t *number)
{
    hawser_error error;
    must(hawser_store_table(b->store, table, number, &error), &error);
}

static void take_part(bench *b)
{
    const shape *s = b->shape;
    hawser_error error;
    add_table(b, &(hawser_table){.name = "meeting", .type = HAWSER_I64}, &b->meeting);
    add_table(
        b, &(hawser_table){.name = "notes", .type = HAWSER_F64, .last = (uint64_t)ROWS * b->nodes - 1, .function = "assign"},
        &b->notes);
    add_table(
        b, &(hawser_table){.name = "w", .type = HAWSER_F32, .sparse = s->hashed, .last = s->domain > 0 ? s->domain - 1 : 0},
        &b->table);
    share_put(b, PROCESS, (double)getpid());
    if (b->nodes > 1 && b->self < b->servers) { /* a server; meet() does not wait for it */
        must(hawser_store_clock(b->store, b->meeting, 0, UINT64_MAX - 2, 0, 0, &error), &error);
        return;
    }
    meet(b);
    make_buffers(b);
    if (s->count == 0)
        run_idle(b);
    else
        run_case(b);
    free_buffers(b);
}

static int run_job(int argc, char **argv)
{
    hawser_error error = {HAWSER_OK, ""};
    bench b = {0};
    must(hawser_open(&argc, argv, &b.job, &error), &error);
    if (argc != 5) {
        fprintf(stderr, "usage: bench_store CASE SERVERS WORKERS COUNT, or --bare TRANSPORT CASE COUNT\n");
        return 2;
    }
    b.shape = find_shape(argv[1]);
    b.servers = (uint32_t)strtoul(argv[2], NULL, 10);
    b.workers = (uint32_t)strtoul(argv[3], NULL, 10);
    b.rounds = strtoul(argv[4], NULL, 10);
    b.nodes = hawser_job_nodes(b.job);
    b.self = hawser_job_node(b.job);
    if (b.rounds == 0 || b.servers == 0 || b.workers == 0 ||
        (b.nodes == 1 ? b.workers > 1 || b.servers > 1 : b.nodes != b.servers + b.workers)) {
        fprintf(stderr, "bench_store: %u servers and %u workers on %u nodes, %zu times\n", b.servers, b.workers, b.nodes,
                b.rounds);
        return 2;
    }
    must(hawser_store_open(b.job, &(hawser_store_options){.servers = b.servers}, &b.store, &error), &error);
    take_part(&b);
    hawser_store_close(b.store);
    hawser_close(b.job);
    return 0;
}

/* ------------------------------------------------------------------------------------------------------- bare loops ---- */

/* Computes the least bytes that a push or pull moves: values, keys of 8 bytes if the case has keys, and 64 bytes for the
 * rest. */
static void sizes_of(const shape *s, bool push, size_t *up, size_t *down)
{
    size_t keys = s->range ? 0 : 8 * s->count, values = 4 * s->count;
    *up = 64 + keys + (push ? values : 0);
    *down = 64 + (push ? 0 : values);
}

typedef enum bare_kind { BARE_UNIX, BARE_TCP, BARE_RENO } bare_kind;

/* Opens a socket. It sets reno before the connection begins, because a connection keeps the congestion control that it
 * starts with. */
static int bare_socket(bare_kind kind)
{
    int fd = socket(kind == BARE_UNIX ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || (kind == BARE_RENO && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4) != 0))
        die("socket");
    return fd;
}

static int listen_bare(bare_kind kind, struct sockaddr_un *at, struct sockaddr_in *tcp)
{
    bool local = kind == BARE_UNIX;
    socklen_t length = sizeof *tcp;
    int listener = bare_socket(kind);
    if (bind(listener, local ? (struct sockaddr *)at : (struct sockaddr *)tcp, local ? sizeof *at : sizeof *tcp) != 0 ||
        listen(listener, 1) != 0)
        die("listen");
    if (!local)
        getsockname(listener, (struct sockaddr *)tcp, &length);
    return listener;
}

/* Answers `rounds` requests. */
static void serve_bare(int fd, size_t rounds, size_t up, size_t down)
{
    bare self = bare_open(fd, false, true, up > down ? up : down);
    for (size_t r = 0; r < rounds; r++)
        if (!bare_receive(&self, up, 1) || !bare_send(&self, down, 1))
            die("the bare loop broke");
    bare_close(&self);
}

static void ask_bare(int fd, size_t rounds, size_t up, size_t down, double *samples)
{
    bare self = bare_open(fd, false, false, up > down ? up : down);
    for (size_t r = 0; r < rounds; r++) {
        double start = hw_seconds();
        if (!bare_send(&self, up, 1) || !bare_receive(&self, down, 1))
            die("the bare loop broke");
        samples[r] = hw_seconds() - start;
    }
    bare_close(&self);
    qsort(samples, rounds, sizeof *samples, by_size);
}

static int run_bare(const char *word, const char *name, size_t rounds)
{
    const shape *s = find_shape(name);
    bare_kind kind = strcmp(word, "unix") == 0 ? BARE_UNIX : strcmp(word, "reno") == 0 ? BARE_RENO : BARE_TCP;
    bool local = kind == BARE_UNIX;
    double *samples = calloc(rounds + 1, sizeof *samples), numbers[4] = {0}, cpu = 0;
    char directory[] = "/tmp/hawser-bench-XXXXXX";
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (rounds == 0 || s->flight != 1 || samples == NULL || mkdtemp(directory) == NULL)
        die("start");
    (void)!snprintf(at.sun_path, sizeof at.sun_path, "%s/bare", directory);
    for (int push = 1; push >= 0; push--) {
        struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        size_t up, down;
        sizes_of(s, push, &up, &down);
        int listener = listen_bare(kind, &at, &tcp);
        pid_t child = fork();
        if (child == 0) {
            serve_bare(accept(listener, NULL, NULL), rounds, up, down);
            _exit(0);
        }
        double before = cpu_of_process(0);
        int fd = bare_socket(kind);
        if (connect(fd, local ? (struct sockaddr *)&at : (struct sockaddr *)&tcp, local ? sizeof at : sizeof tcp) != 0)
            die("connect");
        ask_bare(fd, rounds, up, down, samples);
        cpu += cpu_of_process(child) + cpu_of_process(0) - before; /* before waitpid, which ends the child's CPU clock */
        waitpid(child, NULL, 0);
        close(listener);
        unlink(at.sun_path);
        numbers[push ? 0 : 2] = samples[rounds / 2];
        numbers[push ? 1 : 3] = samples[rounds * 99 / 100];
    }
    rmdir(directory);
    free(samples);
    cpu /= (double)(2 * rounds);
    if (s->latency)
        printf("%.9g %.9g %.9g %.9g %.9g\n", numbers[0], numbers[1], numbers[2], numbers[3], cpu);
    else
        printf("%.9g %.9g %.9g\n", numbers[0], numbers[2], cpu);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--bare") == 0)
        return run_bare(argv[2], argv[3], strtoul(argv[4], NULL, 10));
    return run_job(argc, argv);
}
