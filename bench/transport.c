/* transport.c - measures the cost of a link: latency, messages per second and bandwidth, beside bare loops over the same
 * kinds of socket. Shared memory is compared with a bare loop over a Unix socket, with memcpy and with a bare ring.
 *
 *   bench_transport [--quick] [--busy] [--only WHAT] [--ring BYTES] [--peer PROGRAM] [TRANSPORT]
 *
 * It prints one line of JSON per measurement. There are two processes, as in a job: the parent measures, the child answers.
 * "ours" and "bare" take turns, and the best of three rounds counts; --quick runs one shorter round. With --busy a thread
 * for each processor computes meanwhile. --only measures one row: WHAT is latency, idle, or the bytes of a stream. With
 * --peer other software takes its turn on the transport tcp, by a program that bench/README.md specifies.
 * bench/transport/run prints tables. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "transport/net/fabric.h"
#include "transport/net/net.h"
#include "transport_bare.h"
#include "transport_ring.h"

/* The transports up to UCX stay within a host and are compared with a Unix socket. */
typedef enum transport { SHARED, UNIX, UCX, TCP, TLS, KINDS } transport;
static const char *const kinds[KINDS] = {"shm", "unix", "ucx", "tcp", "tcp+tls"};

typedef struct order { /* from parent to child, through a pipe */
    /* 'n': dial `address` with a net; 'p': echo, 's': discard, over the bare connection at `address`; 'r': read the bare
     * ring; 'x': free the net; 'c': report the CPU time; 'q': end */
    char what;
    transport kind;
    size_t ring;
    size_t size;
    uint64_t count;
    char address[HW_NET_ADDRESS];
} order;

typedef struct end {
    hw_net *net;
    uint32_t other;
    atomic_bool up;
    /* The parent's ping-pong: */
    double *samples, sent_at;
    uint64_t sampled, wanted;
    atomic_bool done;
    /* The child's stream: */
    uint64_t received;
} end;

typedef struct result {
    double seconds, cpu, p50, p99;
} result;

static double cpu_of(int processes)
{
    struct rusage use;
    getrusage(processes, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void rest(double seconds)
{
    struct timespec time = hw_timespec(seconds);
    nanosleep(&time, NULL);
}

static hw_message *made(hw_message_kind kind, size_t size)
{
    hw_message *message;
    if (hw_message_new(size, &message, NULL) != HAWSER_OK)
        die("no memory");
    message->envelope.kind = (uint16_t)kind;
    return message;
}

static void put(end *self, hw_message *message)
{
    hawser_error error;
    if (hw_net_send(self->net, self->other, message, &error) != HAWSER_OK) {
        fprintf(stderr, "bench_transport: %s\n", error.text);
        exit(1);
    }
}

static void on_up(void *argument, uint32_t node, const hw_net_hello *hello)
{
    (void)node;
    (void)hello;
    atomic_store(&((end *)argument)->up, true);
}

/* Runs in the child: echoes a TRIGGER, discards DATA and answers the last of them. */
static void answer(void *argument, uint32_t node, hw_message *message)
{
    end *self = argument;
    (void)node;
    if (message->envelope.kind == HW_MESSAGE_TRIGGER) {
        put(self, message);
        return;
    }
    if (message->envelope.last)
        put(self, made(HW_MESSAGE_DONE, 0));
    hw_message_free(message);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Runs in the parent: sends the next ping on the thread that receives the pong, as the bare loop does. */
static void receive(void *argument, uint32_t node, hw_message *message)
{
    end *self = argument;
    (void)node;
    if (message->envelope.kind == HW_MESSAGE_TRIGGER && self->sampled < self->wanted) {
        double now = hw_seconds();
        self->samples[self->sampled++] = now - self->sent_at;
        if (self->sampled < self->wanted) {
            self->sent_at = now;
            put(self, message);
            return;
        }
    }
    hw_message_free(message);
    atomic_store(&self->done, true);
}

static void open_end(end *self, transport kind, size_t ring, uint32_t number, const char *directory,
                     void (*arrived)(void *, uint32_t, hw_message *))
{
    hawser_error error;
    hw_net_options options = {.job = "bench",
                              .key = (const unsigned char *)"0123456789abcdef",
                              .key_length = 16,
                              .node = number,
                              .name = "bench",
                              .build = "bench",
                              .local_only = true,
                              .failure_timeout = 60};
    options.directory = kind <= UCX ? directory : NULL;
    options.transport = kind == SHARED ? HW_NET_SHARED : kind == UNIX ? HW_NET_UNIX : kind == UCX ? HW_NET_UCX : HW_NET_TCP;
    options.encrypt_always = kind == TLS;
    options.ring = ring;
    memset(self, 0, sizeof *self);
    self->other = !number;
    const hw_net_events events = {.argument = self, .up = on_up, .arrived = arrived};
    if (hw_net_new(&options, &events, &self->net, &error) != HAWSER_OK) {
        fprintf(stderr, "bench_transport: %s\n", error.text);
        exit(1);
    }
}

static int connect_bare(const order *what)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in tcp = {.sin_family = AF_INET,
                              .sin_port = htons((uint16_t)strtoul(what->address, NULL, 10)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    memcpy(local.sun_path, what->address, sizeof local.sun_path - 1);
    bool on_host = what->kind <= UCX;
    int fd = socket(on_host ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, on_host ? (struct sockaddr *)&local : (struct sockaddr *)&tcp, on_host ? sizeof local : sizeof tcp) != 0)
        die("connect");
    return fd;
}

static void answer_bare(const order *what)
{
    bare self = bare_open(connect_bare(what), what->kind == TLS, true, what->size);
    if (what->what == 's') {
        if (!bare_receive(&self, what->size, what->count) || !bare_send(&self, 1, 1))
            die("the bare stream broke");
    }
    for (uint64_t i = 0; what->what == 'p' && i < what->count; i++)
        if (!bare_receive(&self, what->size, 1) || !bare_send(&self, what->size, 1))
            die("the bare echo broke");
    bare_close(&self);
}

static void read_ring(bare_ring *ring, const order *what)
{
    unsigned char *to = malloc(what->size);
    if (to == NULL)
        die("no memory");
    memset(to, 2, what->size);
    bare_ring_move(ring, to, what->size, what->count, false);
    free(to);
}

static void child_main(int orders, int reports, const char *directory, bare_ring *ring)
{
    order what;
    end self = {0};
    while (read(orders, &what, sizeof what) == (ssize_t)sizeof what && what.what != 'q') {
        uint32_t number;
        if (what.what == 'n') {
            open_end(&self, what.kind, what.ring, 1, directory, answer);
            if (hw_net_dial(self.net, what.address, 0, 10, &number, NULL) != HAWSER_OK)
                die("dial");
        } else if (what.what == 'x') {
            hw_net_stop(self.net, 5);
            hw_net_free(self.net);
        } else if (what.what == 'r') {
            read_ring(ring, &what);
        } else if (what.what != 'c') {
            answer_bare(&what);
        }
        double cpu = cpu_of(RUSAGE_SELF);
        if (write(reports, &cpu, sizeof cpu) != (ssize_t)sizeof cpu)
            die("report");
    }
    exit(0);
}

typedef struct bench {
    int orders, reports;
    int kind; /* `transport` */
    char directory[64];
    end self;
    double scale;
    int rounds;
    size_t ring; /* bytes of shared memory in each direction; 0: the default */
    bare_ring *bare;
    bool busy;
    const char *what; /* measures this alone; NULL: all */
    const char *peer; /* program, or NULL */
} bench;

static void order_child(bench *b, order what)
{
    what.kind = (transport)b->kind;
    what.ring = b->ring;
    if (write(b->orders, &what, sizeof what) != (ssize_t)sizeof what)
        die("order");
}

static double child_cpu(bench *b)
{
    double cpu;
    if (read(b->reports, &cpu, sizeof cpu) != (ssize_t)sizeof cpu)
        die("the child ended");
    return cpu;
}

static double both_cpu(bench *b)
{
    order_child(b, (order){.what = 'c'});
    return child_cpu(b) + cpu_of(RUSAGE_SELF);
}

/* Opens the parent's end of the bare connection, to which the child connects. */
static bare await_bare(bench *b, order what)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof tcp;
    bool on_host = b->kind <= UCX;
    int listener = socket(on_host ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)!snprintf(local.sun_path, sizeof local.sun_path, "%s/bare", b->directory);
    unlink(local.sun_path);
    if (bind(listener, on_host ? (struct sockaddr *)&local : (struct sockaddr *)&tcp, on_host ? sizeof local : sizeof tcp) !=
            0 ||
        listen(listener, 1) != 0)
        die("listen");
    if (on_host) {
        memcpy(what.address, local.sun_path, sizeof local.sun_path);
    } else {
        getsockname(listener, (struct sockaddr *)&tcp, &length);
        (void)!snprintf(what.address, sizeof what.address, "%u", ntohs(tcp.sin_port));
    }
    order_child(b, what);
    int fd = accept(listener, NULL, NULL);
    close(listener);
    return bare_open(fd, b->kind == TLS, false, what.size);
}

static result percentiles(double *samples, uint64_t count)
{
    qsort(samples, count, sizeof *samples, by_size);
    return (result){.p50 = samples[count / 2] / 2, .p99 = samples[count * 99 / 100] / 2}; /* one way */
}

static result ping_bare(bench *b, size_t size, uint64_t count)
{
    bare self = await_bare(b, (order){.what = 'p', .size = size, .count = count});
    double *samples = calloc(count, sizeof *samples);
    for (uint64_t i = 0; i < count; i++) {
        double start = hw_seconds();
        if (!bare_send(&self, size, 1) || !bare_receive(&self, size, 1))
            die("the bare echo broke");
        samples[i] = hw_seconds() - start;
    }
    (void)child_cpu(b);
    bare_close(&self);
    result r = percentiles(samples, count);
    free(samples);
    return r;
}

static result ping_ours(bench *b, size_t size, uint64_t count)
{
    end *self = &b->self;
    self->samples = calloc(count, sizeof *self->samples);
    self->sampled = 0;
    self->wanted = count;
    atomic_store(&self->done, false);
    self->sent_at = hw_seconds();
    put(self, made(HW_MESSAGE_TRIGGER, size));
    while (!atomic_load(&self->done))
        rest(0.02); /* rarely, because polling disturbs the measurement */
    result r = percentiles(self->samples, count);
    free(self->samples);
    self->wanted = 0;
    return r;
}

static result stream_bare(bench *b, size_t size, uint64_t count)
{
    double cpu = both_cpu(b);
    bare self = await_bare(b, (order){.what = 's', .size = size, .count = count});
    double start = hw_seconds();
    if (!bare_send(&self, size, count) || !bare_receive(&self, 1, 1))
        die("the bare stream broke");
    double seconds = hw_seconds() - start;
    result r = {.seconds = seconds, .cpu = child_cpu(b) + cpu_of(RUSAGE_SELF) - cpu};
    bare_close(&self);
    return r;
}

static result stream_ours(bench *b, size_t size, uint64_t count)
{
    end *self = &b->self;
    hw_net_path path;
    atomic_store(&self->done, false);
    double cpu = both_cpu(b), start = hw_seconds();
    hw_message *buffer = made(HW_MESSAGE_DATA, size); /* one payload, sent again and again, as the bare loop does */
    if (size > 0)
        memset(buffer->payload, 1, size);
    for (uint64_t i = 0; i < count; i++) {
        hw_message *message;
        if (hw_message_share(buffer, &message, NULL) != HAWSER_OK)
            die("no memory");
        message->envelope.last = i + 1 == count;
        put(self, message);
        if (i % 64 == 0 || size > 1 << 16)
            while (hw_net_path_of(self->net, 1, &path) && path.queued > (64 << 20) + 2 * size)
                rest(0.001);
    }
    hw_message_free(buffer);
    while (!atomic_load(&self->done))
        rest(0.001);
    double seconds = hw_seconds() - start;
    return (result){.seconds = seconds, .cpu = both_cpu(b) - cpu};
}

/* Measures a copy from this process to the other one: from buffer to ring, from ring to buffer. */
static double ring_seconds(bench *b, size_t size, uint64_t count)
{
    unsigned char *from = malloc(size);
    if (from == NULL)
        die("no memory");
    memset(from, 1, size);
    double start = hw_seconds();
    order_child(b, (order){.what = 'r', .size = size, .count = count});
    bare_ring_move(b->bare, from, size, count, true);
    (void)child_cpu(b);
    double seconds = hw_seconds() - start;
    free(from);
    return seconds;
}

/* Runs the peer program and reads its two numbers. */
static void ask_peer(const bench *b, const char *what, size_t size, uint64_t count, double numbers[2])
{
    char command[1000];
    int n = snprintf(command, sizeof command, "exec '%s' %s %zu %llu", b->peer, what, size, (unsigned long long)count);
    fflush(stdout);
    FILE *said = n > 0 && (size_t)n < sizeof command ? popen(command, "r") : NULL;
    int read = said != NULL ? fscanf(said, "%lf %lf", &numbers[0], &numbers[1]) : 0;
    if (said == NULL || pclose(said) != 0 || read != 2 || !(numbers[0] > 0) || !(numbers[1] >= 0)) {
        fprintf(stderr, "bench_transport: --peer: '%s %s %zu %llu' did not end well with two numbers; see bench/README.md\n",
                b->peer, what, size, (unsigned long long)count);
        (void)rmdir(b->directory);
        exit(1);
    }
}

static bool has_peer(const bench *b)
{
    return b->peer != NULL && strcmp(kinds[b->kind], "tcp") == 0;
}

static result ping_peer(const bench *b, size_t size, uint64_t count)
{
    double us[2];
    ask_peer(b, "latency", size, count, us);
    return (result){.p50 = us[0] * 1e-6, .p99 = us[1] * 1e-6};
}

static result stream_peer(const bench *b, size_t size, uint64_t count)
{
    double seconds[2];
    ask_peer(b, "stream", size, count, seconds);
    return (result){.seconds = seconds[0], .cpu = seconds[1]};
}

/* Measures copies from one buffer to another, again and again, as the streams do. */
static double copy_seconds(size_t size, uint64_t count)
{
    unsigned char *from = malloc(size), *to = malloc(size);
    if (from == NULL || to == NULL)
        die("no memory");
    memset(from, 1, size);
    memset(to, 2, size);
    double start = hw_seconds();
    for (uint64_t i = 0; i < count; i++) {
        memcpy(to, from, size);
        __asm__ volatile("" : : "r"(to) : "memory");
    }
    double seconds = hw_seconds() - start;
    free(from);
    free(to);
    return seconds;
}

static void latency(bench *b)
{
    uint64_t count = (uint64_t)(5000 * b->scale);
    result ours = {.p50 = 1e9, .p99 = 1e9}, plain = ours, peer = ours;
    for (int i = 0; i < b->rounds; i++) {
        result one = ping_bare(b, 64, count), two = ping_ours(b, 64, count);
        result three = has_peer(b) ? ping_peer(b, 64, count) : peer;
        plain = one.p50 < plain.p50 ? one : plain;
        ours = two.p50 < ours.p50 ? two : ours;
        peer = three.p50 < peer.p50 ? three : peer;
    }
    printf("{\"transport\": \"%s\", \"what\": \"latency\", \"bytes\": 64, \"busy\": %s, \"us_p50\": %.1f, \"us_p99\": %.1f, "
           "\"bare_us_p50\": %.1f, \"bare_us_p99\": %.1f, \"ratio\": %.3f",
           kinds[b->kind], b->busy ? "true" : "false", ours.p50 * 1e6, ours.p99 * 1e6, plain.p50 * 1e6, plain.p99 * 1e6,
           ours.p50 / plain.p50);
    if (has_peer(b))
        printf(", \"peer_us_p50\": %.1f, \"peer_us_p99\": %.1f, \"peer_ratio\": %.3f", peer.p50 * 1e6, peer.p99 * 1e6,
               ours.p50 / peer.p50);
    printf("}\n");
    fflush(stdout);
}

static void throughput(bench *b, size_t size, uint64_t bytes)
{
    uint64_t count = (uint64_t)((double)bytes * b->scale) / size;
    count = count == 0 ? 1 : count;
    result ours = {.seconds = 1e9}, plain = ours, peer = ours;
    double copy = 1e9, ring = 1e9;
    for (int i = 0; i < b->rounds; i++) {
        result one = stream_bare(b, size, count), two = stream_ours(b, size, count);
        result three = has_peer(b) ? stream_peer(b, size, count) : peer;
        double four = copy_seconds(size, count);
        double five = b->kind == SHARED ? ring_seconds(b, size, count) : ring;
        copy = four < copy ? four : copy;
        ring = five < ring ? five : ring;
        plain = one.seconds < plain.seconds ? one : plain;
        ours = two.seconds < ours.seconds ? two : ours;
        peer = three.seconds < peer.seconds ? three : peer;
    }
    double total = (double)size * (double)count;
    printf("{\"transport\": \"%s\", \"what\": \"stream\", \"bytes\": %zu, \"busy\": %s, \"mb_per_s\": %.1f, "
           "\"bare_mb_per_s\": %.1f, \"messages_per_s\": %.0f, \"cpu_s_per_gb\": %.3f, \"bare_cpu_s_per_gb\": %.3f, "
           "\"ratio\": %.3f, \"memcpy_mb_per_s\": %.1f, \"memcpy_ratio\": %.3f",
           kinds[b->kind], size, b->busy ? "true" : "false", total / ours.seconds / 1e6, total / plain.seconds / 1e6,
           (double)count / ours.seconds, ours.cpu / total * 1e9, plain.cpu / total * 1e9, plain.seconds / ours.seconds,
           total / copy / 1e6, copy / ours.seconds);
    if (b->kind == SHARED)
        printf(", \"ring_mb_per_s\": %.1f, \"ring_ratio\": %.3f", total / ring / 1e6, ring / ours.seconds);
    if (has_peer(b))
        printf(", \"peer_mb_per_s\": %.1f, \"peer_messages_per_s\": %.0f, \"peer_cpu_s_per_gb\": %.3f, \"peer_ratio\": %.3f",
               total / peer.seconds / 1e6, (double)count / peer.seconds, peer.cpu / total * 1e9,
               peer.seconds / ours.seconds);
    printf("}\n");
    fflush(stdout);
}

static void idle(bench *b)
{
    double seconds = 2 * b->scale, cpu = both_cpu(b);
    rest(seconds);
    printf("{\"transport\": \"%s\", \"what\": \"idle\", \"busy\": %s, \"cpu_ms_per_s\": %.3f}\n", kinds[b->kind],
           b->busy ? "true" : "false", (both_cpu(b) - cpu) / seconds / 2 * 1e3);
    fflush(stdout);
}

static void measure(bench *b)
{
    open_end(&b->self, (transport)b->kind, b->ring, 0, b->directory, receive);
    order what = {.what = 'n'};
    (void)!snprintf(what.address, sizeof what.address, "%s", hw_net_address(b->self.net));
    order_child(b, what);
    while (!atomic_load(&b->self.up))
        rest(0.001);
    (void)child_cpu(b);
    const struct {
        size_t size;
        uint64_t bytes;
    } streams[] = {{64, 64 << 20}, {4 << 10, 512 << 20}, {1 << 20, 1 << 30}, {64 << 20, (uint64_t)1 << 31}};
    if (b->what == NULL || strcmp(b->what, "latency") == 0)
        latency(b);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (b->what == NULL || strtoull(b->what, NULL, 10) == streams[i].size)
            throughput(b, streams[i].size, streams[i].bytes);
    if (!b->busy && (b->what == NULL || strcmp(b->what, "idle") == 0))
        idle(b);
    order_child(b, (order){.what = 'x'});
    hw_net_stop(b->self.net, 5);
    hw_net_free(b->self.net);
    (void)child_cpu(b);
}

static bool can_be_had(int kind)
{
    hw_fabric *fabric = NULL;
    hawser_error error;
    bool can = kind != UCX || hw_fabric_new(false, &fabric, &error) == HAWSER_OK;
    if (!can)
        fprintf(stderr, "bench_transport: without ucx: %s\n", error.text);
    hw_fabric_free(fabric);
    return can;
}

static void *compute(void *argument)
{
    volatile double sum = 0;
    while (!atomic_load((atomic_bool *)argument))
        for (int i = 0; i < 100000; i++)
            sum = sum + 1.0 / (i + 1);
    return NULL;
}

static bool is_transport(const char *name)
{
    bool is = false;
    for (int kind = 0; kind < KINDS; kind++)
        is |= strcmp(name, kinds[kind]) == 0;
    return is;
}

int main(int argc, char **argv)
{
    bench b = {.scale = 1, .rounds = 3};
    int orders[2], reports[2];
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            b.scale = 0.02, b.rounds = 1;
        else if (strcmp(argv[i], "--busy") == 0)
            b.busy = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            b.what = argv[++i];
        else if (strcmp(argv[i], "--peer") == 0 && i + 1 < argc)
            b.peer = argv[++i];
        else if (strcmp(argv[i], "--ring") == 0 && i + 1 < argc)
            b.ring = strtoull(argv[++i], NULL, 10);
        else
            only = argv[i];
    }
    if (only != NULL && !is_transport(only)) {
        fprintf(stderr, "bench_transport: '%s' is neither a transport nor an option; see bench/README.md\n", only);
        return 2;
    }
    (void)!snprintf(b.directory, sizeof b.directory, "/tmp/hawser-bench-XXXXXX");
    b.bare = bare_ring_new();
    if (b.bare == NULL || mkdtemp(b.directory) == NULL || pipe(orders) != 0 || pipe(reports) != 0)
        die("start");
    pid_t child = fork();
    if (child == 0) {
        close(orders[1]);
        close(reports[0]);
        child_main(orders[0], reports[1], b.directory, b.bare);
    }
    b.orders = orders[1];
    b.reports = reports[0];
    close(orders[0]);
    close(reports[1]);
    atomic_bool enough = false;
    long threads = b.busy ? sysconf(_SC_NPROCESSORS_ONLN) : 0;
    pthread_t *busy = calloc((size_t)threads + 1, sizeof *busy);
    for (long i = 0; i < threads; i++)
        pthread_create(&busy[i], NULL, compute, &enough);
    for (b.kind = 0; b.kind < KINDS; b.kind++)
        if ((only == NULL || strcmp(only, kinds[b.kind]) == 0) && can_be_had(b.kind))
            measure(&b);
    order_child(&b, (order){.what = 'q'});
    waitpid(child, NULL, 0);
    atomic_store(&enough, true);
    for (long i = 0; i < threads; i++)
        pthread_join(busy[i], NULL);
    free(busy);
    char path[100];
    (void)!snprintf(path, sizeof path, "%s/bare", b.directory);
    unlink(path);
    rmdir(b.directory);
    return 0;
}
