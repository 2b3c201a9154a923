/* store.c - what a push and a pull cost: long ranges, many keys, few keys; by one and two servers and workers.
 *
 *   bench_store CASE SERVERS WORKERS COUNT [options of a job]     a node of SERVERS + WORKERS; or alone, a server that asks itself
 *   bench_store --bare WAY CASE COUNT     as many bytes there and back over a bare socket: unix, tcp, or reno: tcp that is not paced
 *
 * One line of numbers, as bench/README.md says of peers. bench/store/run starts it, beside other software, and prints tables. */
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
    uint64_t domain; /* of so many */
    unsigned flight; /* requests under way */
    bool range, hashed;
    bool again;   /* the same keys each time, else other ones */
    bool latency; /* of single requests is what counts */
} shape;

static const shape shapes[] = {
    {.name = "range", .count = 1000000, .domain = 1000000, .flight = 1, .range = true},
    {.name = "keys", .count = 1000000, .domain = 1 << 21, .flight = 1},
    {.name = "keys-again", .count = 1000000, .domain = 1 << 21, .flight = 1, .again = true},
    {.name = "sparse", .count = 10000, .domain = 10000000, .flight = 1},
    {.name = "sparse-again", .count = 10000, .domain = 10000000, .flight = 1, .again = true},
    {.name = "sparse-8", .count = 10000, .domain = 10000000, .flight = 8},
    {.name = "hashed", .count = 10000, .domain = 10000000, .flight = 1, .hashed = true},
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

/* ---------------------------------------------------------------------------------------------------------- a worker ---- */

typedef struct bench {
    const shape *shape;
    uint32_t servers, workers, self, nodes;
    size_t rounds;
    hawser_job *job;
    hawser_store *store;
    uint32_t table, meeting, notes; /* meeting: where clocks are waited for; notes: what nodes tell each other */
    uint64_t met;
    hw_random random;
    uint64_t **lists;
    float *values, *out;
    double own_cpu; /* of drawing keys */
} bench;

static void must(hawser_status status, const hawser_error *error)
{
    if (status == HAWSER_OK)
        return;
    fprintf(stderr, "bench_store: %s\n", error->text);
    exit(1);
}

static void finish(bench *b, uint64_t task)
{
    hawser_error error;
    must(hawser_store_wait(b->store, task, &error), &error);
}

/* Until all workers have come this far. Servers are said to be there for ever. */
static void meet(bench *b)
{
    hawser_error error;
    int64_t out;
    uint64_t task;
    must(hawser_store_clock(b->store, b->meeting, 0, b->met++, 0, 0, &error), &error);
    must(hawser_pull(b->store, &(hawser_request){.table = b->meeting, .out = &out, .least = b->met}, &task, &error), &error);
    finish(b, task);
}

/* Numbers that nodes tell each other stand in rows of a table. */
enum { PROCESS, NUMBERS, DRAWING = NUMBERS + 4, ROWS };

static void tell(bench *b, int row, double own)
{
    hawser_error error;
    uint64_t task, key = (uint64_t)row * b->nodes + b->self;
    must(hawser_push(b->store, &(hawser_request){.table = b->notes, .first = key, .last = key, .values = &own}, &task,
                     &error),
         &error);
    finish(b, task);
}

static void hear(bench *b, int row, double *all)
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

/* Ascending, each once, spread over the domain. */
static void draw(bench *b, uint64_t *keys)
{
    double before = cpu_of_thread();
    uint64_t gap = b->shape->domain * 99 / 100 / b->shape->count, key = 0;
    for (size_t i = 0; i < b->shape->count; i++) {
        key += 1 + hw_random_below(&b->random, 2 * gap - 1);
        keys[i] = key;
    }
    b->own_cpu += cpu_of_thread() - before;
    if (keys[b->shape->count - 1] >= b->shape->domain)
        draw(b, keys);
}

static uint64_t ask(bench *b, bool push, size_t place)
{
    const shape *s = b->shape;
    hawser_request request = {.table = b->table, .last = s->domain - 1};
    hawser_error error;
    uint64_t task;
    if (!s->range) {
        request.keys = b->lists[s->again ? 0 : place];
        request.count = s->count;
    }
    request.values = push ? b->values : NULL;
    request.out = push ? NULL : b->out + place * s->count;
    must(push ? hawser_push(b->store, &request, &task, &error) : hawser_pull(b->store, &request, &task, &error), &error);
    return task;
}

/* Where it is known which keys were pushed. */
static void expect_pushed(const bench *b)
{
    for (size_t i = 0; (b->shape->range || b->shape->again) && i < b->shape->count; i++)
        if (b->out[i] < 1) {
            fprintf(stderr, "bench_store: key number %zu is %g\n", i, (double)b->out[i]);
            exit(1);
        }
}

/* Seconds of each request, where one is under way; else of all, as one sample. */
static size_t measure(bench *b, bool push, double *samples)
{
    const shape *s = b->shape;
    uint64_t under_way[64] = {0};
    if (s->flight == 1) {
        for (size_t r = 0; r < b->rounds; r++) {
            if (!s->range && !s->again)
                draw(b, b->lists[0]);
            double start = hw_seconds();
            finish(b, ask(b, push, 0));
            samples[r] = hw_seconds() - start;
        }
        if (!push)
            expect_pushed(b);
        return b->rounds;
    }
    for (size_t r = 0; r < b->rounds; r++)
        draw(b, b->lists[r]);
    meet(b);
    double start = hw_seconds();
    for (size_t r = 0; r < b->rounds; r++) {
        if (under_way[r % s->flight] != 0)
            finish(b, under_way[r % s->flight]);
        under_way[r % s->flight] = ask(b, push, r);
    }
    for (size_t k = 0; k < s->flight; k++)
        if (under_way[k] != 0)
            finish(b, under_way[k]);
    samples[0] = (hw_seconds() - start) / (double)b->rounds;
    return 1;
}

/* Of a table whose every push was of ones: all of them have come. */
static void expect_all(bench *b, double pushes)
{
    const shape *s = b->shape;
    hawser_error error;
    uint64_t task;
    double sum = 0;
    if (s->hashed)
        return;
    float *all = calloc(s->domain, sizeof *all);
    if (all == NULL)
        die("no memory");
    must(hawser_pull(b->store, &(hawser_request){.table = b->table, .last = s->domain - 1, .out = all}, &task, &error),
         &error);
    finish(b, task);
    for (uint64_t i = 0; i < s->domain; i++)
        sum += (double)all[i];
    free(all);
    if (sum != pushes * (double)s->count) {
        fprintf(stderr, "bench_store: %g numbers were pushed, %g came\n", pushes * (double)s->count, sum);
        exit(1);
    }
}

static double cpu_of_all(const double *processes, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += cpu_of_process((pid_t)processes[i]);
    return sum;
}

static void make_buffers(bench *b)
{
    const shape *s = b->shape;
    size_t places = s->flight > 1 ? b->rounds : 1;
    b->values = malloc((s->count + 1) * sizeof *b->values);
    b->out = calloc(places * s->count + 1, sizeof *b->out);
    b->lists = calloc(places, sizeof *b->lists);
    if (b->values == NULL || b->out == NULL || b->lists == NULL)
        die("no memory");
    for (size_t i = 0; i < s->count; i++)
        b->values[i] = 1;
    for (size_t i = 0; i < places && !s->range; i++) {
        b->lists[i] = malloc((s->count + 1) * sizeof **b->lists);
        if (b->lists[i] == NULL)
            die("no memory");
        if (s->count > 0)
            draw(b, b->lists[i]);
    }
}

static void free_buffers(bench *b)
{
    size_t places = b->shape->flight > 1 ? b->rounds : 1;
    for (size_t i = 0; i < places; i++)
        free(b->lists[i]);
    free(b->lists);
    free(b->values);
    free(b->out);
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

/* A few requests first, of which nothing is kept: connections, memory, lists of keys. */
static void run_case(bench *b)
{
    enum { WARM = 3 };
    double *samples = calloc(b->rounds + WARM, sizeof *samples), *all = calloc(b->nodes, sizeof *all), numbers[4] = {0},
           cpu = 0;
    double *processes = calloc(b->nodes, sizeof *processes), drawing = 0;
    size_t rounds = b->rounds, warm = WARM < rounds ? WARM : rounds;
    if (samples == NULL || all == NULL || processes == NULL)
        die("no memory");
    hear(b, PROCESS, processes);
    for (int push = 1; push >= 0; push--) {
        b->rounds = warm;
        measure(b, push, samples);
        b->rounds = rounds;
        meet(b);
        double before = cpu_of_all(processes, b->nodes);
        b->own_cpu = 0;
        size_t kept = measure(b, push, samples);
        drawing += b->own_cpu;
        meet(b);
        cpu += cpu_of_all(processes, b->nodes) - before;
        qsort(samples, kept, sizeof *samples, by_size);
        numbers[push ? 0 : 2] = samples[kept / 2];
        numbers[push ? 1 : 3] = samples[kept * 99 / 100];
    }
    expect_all(b, (double)((rounds + warm) * b->workers));
    for (int i = 0; i < 4; i++)
        tell(b, NUMBERS + i, numbers[i]);
    tell(b, DRAWING, drawing);
    meet(b);
    hear(b, DRAWING, all);
    for (uint32_t n = 0; n < b->nodes; n++)
        cpu -= all[n];
    for (int i = 0; i < 4; i++) { /* the mean of the workers */
        hear(b, NUMBERS + i, all);
        numbers[i] = 0;
        for (uint32_t w = 0; w < b->nodes; w++)
            numbers[i] += all[w] / b->workers;
    }
    print(b, numbers, cpu / (double)(2 * rounds * b->workers));
    free(samples);
    free(processes);
    free(all);
}

/* CPU seconds of a process in a second in which nothing is asked for. */
static void run_idle(bench *b)
{
    double *processes = calloc(b->nodes, sizeof *processes), seconds = 0.1 * (double)b->rounds;
    if (processes == NULL)
        die("no memory");
    hear(b, PROCESS, processes);
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
    tell(b, PROCESS, (double)getpid());
    if (b->nodes > 1 && b->self < b->servers) { /* it serves; those who meet do not wait for it */
        must(hawser_store_clock(b->store, b->meeting, 0, UINT64_MAX - 2, 0, 0, &error), &error);
        return;
    }
    meet(b);
    b->random = hw_random_at(1, b->self, 0, 0);
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
        fprintf(stderr, "usage: bench_store CASE SERVERS WORKERS COUNT, or --bare WAY CASE COUNT\n");
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

/* --------------------------------------------------------------------------------------------------------- bare loops ---- */

/* Bytes that a push or pull moves at least: values, and keys of 8 bytes where a case has keys; the rest is 64 bytes. */
static void sizes_of(const shape *s, bool push, size_t *up, size_t *down)
{
    size_t keys = s->range ? 0 : 8 * s->count, values = 4 * s->count;
    *up = 64 + keys + (push ? values : 0);
    *down = 64 + (push ? 0 : values);
}

typedef enum bare_way { BARE_UNIX, BARE_TCP, BARE_RENO } bare_way;

/* What a connection begins with it keeps: the control is chosen before. */
static int bare_socket(bare_way way)
{
    int fd = socket(way == BARE_UNIX ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || (way == BARE_RENO && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4) != 0))
        die("socket");
    return fd;
}

static int listen_bare(bare_way way, struct sockaddr_un *at, struct sockaddr_in *tcp)
{
    bool local = way == BARE_UNIX;
    socklen_t length = sizeof *tcp;
    int listener = bare_socket(way);
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
    bare_way way = strcmp(word, "unix") == 0 ? BARE_UNIX : strcmp(word, "reno") == 0 ? BARE_RENO : BARE_TCP;
    bool local = way == BARE_UNIX;
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
        int listener = listen_bare(way, &at, &tcp);
        pid_t child = fork();
        if (child == 0) {
            serve_bare(accept(listener, NULL, NULL), rounds, up, down);
            _exit(0);
        }
        double before = cpu_of_process(0);
        int fd = bare_socket(way);
        if (connect(fd, local ? (struct sockaddr *)&at : (struct sockaddr *)&tcp, local ? sizeof at : sizeof tcp) != 0)
            die("connect");
        ask_bare(fd, rounds, up, down, samples);
        cpu += cpu_of_process(child) + cpu_of_process(0) - before; /* it is not waited for yet */
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
