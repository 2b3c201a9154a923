/*
 * A worker does its iteration over: of a data-centric table it reads again what that iteration may see, though others, and
 * it itself, have written since. What is read is compared with an oracle that keeps every version.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "directory.h"
#include "hawser/store.h"
#include "job.h"
#include "sanitized.h"
#include "store_world.h"

static void run_dry(world *w)
{
    while (step(w))
        continue;
}

static hw_table_spec centric_spec(hw_value_type type, uint32_t width, uint64_t last, uint64_t delay, const char *function)
{
    hw_table_spec spec = spec_of("theta", type, width, false, 0, last);
    spec.function = hw_function_find(function);
    spec.centric = true;
    spec.delay = delay;
    return spec;
}

/* ---------------------------------------------------------------------------------------------- programs of workers ---- */

enum { WORKERS = 3, EACH = 150, MOST_WIDTH = 3, NUMBERS = EACH * MOST_WIDTH, ITERATIONS = 9 };

typedef struct worker {
    uint32_t number;
    uint64_t iteration;
    enum { READS, HAS_READ, WRITES } does;
    uint64_t pulls[WORKERS], push;
    uint64_t keys[WORKERS][EACH]; /* that it reads of each chunk, where it reads lists */
    size_t counts[WORKERS];
    int overs; /* how often it has begun this iteration again */
    double out[WORKERS][NUMBERS], reread[WORKERS][NUMBERS], values[NUMBERS]; /* room for any type */
} worker;

typedef struct program {
    world *w;
    hw_table_spec spec;
    uint32_t table;
    worker workers[WORKERS];
    int64_t versions[WORKERS][ITERATIONS + 1][NUMBERS]; /* of every chunk */
    uint64_t written[WORKERS];                          /* begun to be; */
    uint64_t applied[WORKERS];                          /* known to be */
    size_t replaced;                                    /* chunks of which the newest version would have been wrong */
} program;

static int64_t number_at(const program *p, const void *values, size_t at)
{
    switch (p->spec.type) {
    case HW_VALUE_F32: return (int64_t)((const float *)values)[at];
    case HW_VALUE_F64: return (int64_t)((const double *)values)[at];
    default: return ((const int64_t *)values)[at];
    }
}

static void set_number(const program *p, void *values, size_t at, int64_t to)
{
    if (p->spec.type == HW_VALUE_F32)
        ((float *)values)[at] = (float)to;
    else if (p->spec.type == HW_VALUE_F64)
        ((double *)values)[at] = (double)to;
    else
        ((int64_t *)values)[at] = to;
}

static uint64_t pull_chunk(program *p, worker *a, uint32_t j, bool reread, void *out)
{
    hw_order order = {.operation = HW_PULL,
                      .table = p->table,
                      .first = j * EACH,
                      .last = j * EACH + EACH - 1,
                      .out = out,
                      .worker = a->number,
                      .clock = a->iteration,
                      .reread = reread};
    if (a->counts[j] > 0) {
        order.keys = a->keys[j];
        order.count = a->counts[j];
    }
    return submit(p->w, a->number, order);
}

/* Each number is that of a version from `least` to `most`. */
static void must_be_of(const program *p, const worker *a, uint32_t j, const void *out, uint64_t least, uint64_t most)
{
    size_t rows = a->counts[j] > 0 ? a->counts[j] : EACH, width = p->spec.width;
    for (size_t i = 0; i < rows * width; i++) {
        size_t at = a->counts[j] > 0 ? (size_t)(a->keys[j][i / width] - j * EACH) * width + i % width : i;
        bool found = false;
        for (uint64_t v = least; v <= most && v <= p->written[j]; v++)
            found |= number_at(p, out, i) == p->versions[j][v][at];
        assert_true(found);
    }
}

static void check_reads(const program *p, const worker *a, double out[WORKERS][NUMBERS])
{
    uint64_t delay = p->spec.delay;
    for (uint32_t j = 0; j < WORKERS; j++)
        must_be_of(p, a, j, out[j], a->iteration > delay ? a->iteration - delay : 0, a->iteration + delay);
}

/* The next version of the own chunk. */
static void write_own(program *p, worker *a)
{
    int64_t *now = p->versions[a->number][a->iteration], *next = now + NUMBERS;
    bool adds = p->spec.function->adds;
    for (size_t i = 0; i < EACH * p->spec.width; i++) {
        int64_t update = 1 + (int64_t)hw_random_below(&p->w->random, 1000);
        next[i] = adds ? now[i] + update : (int64_t)a->iteration * 1000 + update;
        set_number(p, a->values, i, update + (adds ? 0 : (int64_t)a->iteration * 1000));
    }
    a->push = submit(p->w, a->number,
                     (hw_order){.operation = HW_PUSH,
                                .table = p->table,
                                .first = a->number * EACH,
                                .last = a->number * EACH + EACH - 1,
                                .values = a->values,
                                .worker = a->number,
                                .clock = a->iteration});
    p->written[a->number] = a->iteration + 1;
}

static bool has_ended(const program *p, const worker *a, uint64_t task)
{
    return hw_client_ended(p->w->client[a->number], task);
}

/* Everything that can happen does, so that it is known which versions there are; then what is read again is exactly
 * known. */
static void do_over(program *p, worker *a)
{
    enum { OFTEN = 5 };
    bool still = hw_random_below(&p->w->random, 2) == 0;
    if (a->overs++ >= OFTEN)
        return;
    uint64_t least[WORKERS], most[WORKERS], tasks[WORKERS];
    if (still)
        run_dry(p->w);
    for (uint32_t j = 0; j < WORKERS; j++) {
        const worker *writer = &p->workers[j];
        /* A waiting write may have written some keys, those that all workers have read. */
        bool applied = writer->push != 0 && has_ended(p, writer, writer->push);
        uint64_t newest = a->iteration + p->spec.delay, there = writer->iteration + applied;
        least[j] = there < newest ? there : newest;
        most[j] = p->written[j] < newest ? p->written[j] : newest;
        p->replaced += still && there > newest;
        tasks[j] = pull_chunk(p, a, j, true, a->reread[j]);
    }
    for (bool ended = false; !ended;) {
        ended = true;
        for (uint32_t j = 0; j < WORKERS; j++)
            ended &= has_ended(p, a, tasks[j]);
        assert_true(ended || step(p->w));
    }
    check_reads(p, a, a->reread);
    for (uint32_t j = 0; j < WORKERS; j++)
        assert_int_equal(p->w->status[a->number][tasks[j]], HAWSER_OK);
    for (uint32_t j = 0; still && j < WORKERS; j++)
        must_be_of(p, a, j, a->reread[j], least[j], most[j]);
    for (uint32_t j = 0; p->spec.delay == 0 && j < WORKERS; j++)
        assert_memory_equal(a->reread[j], a->out[j], sizeof a->out[j]);
}

/* A list reads some keys only, so no write waits for the others. */
static void end_reading(program *p, const worker *a, uint64_t iteration)
{
    submit(
        p->w, a->number,
        (hw_order){
            .operation = HW_CLOCK, .table = p->table, .last = WORKERS * EACH - 1, .worker = a->number, .clock = iteration});
}

static void go_on(program *p, worker *a)
{
    bool here = true;
    switch (a->does) {
    case READS:
        for (uint32_t j = 0; j < WORKERS; j++)
            a->pulls[j] = pull_chunk(p, a, j, hw_random_below(&p->w->random, 4) == 0, a->out[j]); /* waits alike */
        a->does = HAS_READ;
        return;
    case HAS_READ:
        for (uint32_t j = 0; j < WORKERS; j++)
            here &= has_ended(p, a, a->pulls[j]);
        if (!here)
            return;
        check_reads(p, a, a->out);
        end_reading(p, a, a->iteration);
        while (hw_random_below(&p->w->random, 3) == 0)
            do_over(p, a);
        write_own(p, a);
        a->does = WRITES;
        return;
    case WRITES:
        while (hw_random_below(&p->w->random, 3) == 0)
            do_over(p, a);
        if (!has_ended(p, a, a->push))
            return;
        a->push = 0;
        a->overs = 0;
        a->iteration++;
        a->does = READS;
    }
}

static void draw_lists(program *p, worker *a)
{
    for (uint32_t j = 0; j < WORKERS; j++)
        for (uint64_t k = 0, often = 1 + hw_random_below(&p->w->random, 12); often < 9 && k < EACH; k++)
            if (k % EACH == a->number || hw_random_below(&p->w->random, often) == 0)
                a->keys[j][a->counts[j]++] = j * EACH + k;
}

static size_t run_program(uint64_t seed, uint64_t delay)
{
    static program p;
    memset(&p, 0, sizeof p);
    p.w = open_world(seed, 1 + (uint32_t)(seed % SERVERS_MOST), WORKERS, WORKERS, seed % 3 == 0 ? 3000 : 0);
    p.spec = centric_spec((hw_value_type)(HW_VALUE_F32 + seed % 3), 1 + (uint32_t)(seed % MOST_WIDTH), WORKERS * EACH - 1,
                          delay, seed % 2 == 0 ? "assign" : "add");
    p.table = create(p.w, p.spec);
    for (uint32_t j = 0; j < WORKERS; j++) {
        p.workers[j].number = j;
        draw_lists(&p, &p.workers[j]);
    }
    for (bool over = false; !over;) {
        /* One is slow, so that the others come as far ahead of it as they may. */
        uint32_t j = (uint32_t)hw_random_below(&p.w->random, 8 * WORKERS) % (WORKERS + (seed % 2 == 0 ? 0 : 1)) % WORKERS;
        if (p.workers[j].iteration < ITERATIONS && (j > 0 || hw_random_below(&p.w->random, 6) == 0))
            go_on(&p, &p.workers[j]);
        for (uint64_t n = hw_random_below(&p.w->random, 12); n > 0; n--)
            (void)step(p.w);
        over = true;
        for (uint32_t k = 0; k < WORKERS; k++) {
            over &= p.workers[k].iteration == ITERATIONS;
            if (p.workers[k].iteration == ITERATIONS && p.workers[k].does == READS) { /* delays no other worker */
                end_reading(&p, &p.workers[k], UINT64_MAX - 1);
                p.workers[k].does = HAS_READ;
            }
        }
    }
    run_dry(p.w);
    close_world(p.w);
    return p.replaced;
}

static void an_iteration_is_repeated(void **state)
{
    (void)state;
    for (uint64_t delay = 0; delay <= 3; delay++) {
        size_t replaced = 0;
        for (uint64_t seed = 0; seed < tried_of(60); seed++)
            replaced += run_program(seed, delay);
        print_message("delay %llu: %zu chunks of a newer version\n", (unsigned long long)delay, replaced);
        assert_true(replaced > tried_of(100));
    }
}

/* ----------------------------------------------------------------------------------------- many writers, key by key ---- */

enum { KEYS = 60, STEPS = 400 };

/* What a stripe is to be like: every key by itself, with the value that it had before its newest iteration. */
typedef struct model {
    world *w;
    uint32_t table;
    uint64_t delay, at[WORKERS];
    int64_t now[KEYS], before[KEYS];
    uint64_t written[KEYS], read[WORKERS][KEYS];
    size_t refused, older;
} model;

typedef struct asked {
    uint32_t worker;
    uint64_t clock, first, last, keys[KEYS];
    size_t count;
    bool list;
} asked;

static asked draw_asked(model *m)
{
    hw_random *random = &m->w->random;
    asked q = {.worker = (uint32_t)hw_random_below(random, WORKERS), .list = hw_random_below(random, 2) == 0};
    q.clock = m->at[q.worker] + hw_random_below(random, 3);
    q.clock -= q.clock > 0;
    q.first = hw_random_below(random, KEYS);
    q.last = hw_random_below(random, 4) == 0 ? KEYS - 1 : q.first + hw_random_below(random, KEYS - q.first);
    q.first = hw_random_below(random, 4) == 0 ? 0 : q.first;
    uint64_t often = 1 + hw_random_below(random, 10);
    for (uint64_t key = q.first; key <= q.last; key++)
        if (!q.list || key == q.first || key == q.last || hw_random_below(random, often) == 0)
            q.keys[q.count++] = key;
    return q;
}

static uint64_t do_asked(model *m, const asked *q, hw_order order)
{
    order.table = m->table;
    order.worker = q->worker;
    order.clock = q->clock;
    order.first = q->first;
    order.last = q->last;
    if (q->list && order.operation != HW_CLOCK) {
        order.keys = q->keys;
        order.count = q->count;
    }
    uint64_t task = submit(m->w, 0, order);
    run_dry(m->w);
    assert_true(hw_client_ended(m->w->client[0], task));
    return task;
}

static bool may_pull(const model *m, const asked *q)
{
    for (uint64_t k = q->first; k <= q->last; k++)
        if (q->clock > m->delay && m->written[k] < q->clock - m->delay)
            return false;
    return true;
}

static bool may_push(const model *m, const asked *q)
{
    for (uint32_t j = 0; j < WORKERS; j++)
        for (uint64_t k = q->first; k <= q->last; k++)
            if (q->clock >= m->delay && m->read[j][k] <= q->clock - m->delay)
                return false;
    return true;
}

static void have_read(model *m, const asked *q)
{
    for (uint64_t k = q->first; k <= q->last; k++)
        m->read[q->worker][k] = m->read[q->worker][k] < q->clock + 1 ? q->clock + 1 : m->read[q->worker][k];
    m->at[q->worker] = m->at[q->worker] < q->clock ? q->clock : m->at[q->worker];
}

static void push_some(model *m, const asked *q)
{
    int64_t values[KEYS];
    if (!may_push(m, q))
        return;
    for (size_t i = 0; i < q->count; i++)
        values[i] = 1 + (int64_t)hw_random_below(&m->w->random, 1 << 30);
    do_asked(m, q, (hw_order){.operation = HW_PUSH, .values = values});
    for (uint64_t k = q->first; k <= q->last; k++)
        if (m->written[k] < q->clock + 1) {
            m->written[k] = q->clock + 1;
            m->before[k] = m->now[k];
        }
    for (size_t i = 0; i < q->count; i++)
        m->now[q->keys[i]] += values[i];
}

static void pull_some(model *m, const asked *q, bool reread)
{
    int64_t out[KEYS];
    bool past = false;
    for (uint64_t k = q->first; k <= q->last; k++)
        past |= m->read[q->worker][k] > q->clock + 1;
    if (!(reread && past) && !may_pull(m, q))
        return;
    uint64_t task = do_asked(m, q, (hw_order){.operation = HW_PULL, .out = out, .reread = reread});
    if (reread && past) {
        assert_int_equal(m->w->status[0][task], HAWSER_BAD_INPUT);
        assert_non_null(strstr(m->w->error.text, "its last one alone can be read again"));
        m->refused++;
        return;
    }
    assert_int_equal(m->w->status[0][task], HAWSER_OK);
    for (size_t i = 0; i < q->count; i++) {
        uint64_t k = q->keys[i];
        bool older = reread && m->written[k] > q->clock + m->delay;
        assert_int_equal(out[i], older ? m->before[k] : m->now[k]);
        m->older += older && m->before[k] != m->now[k];
    }
    have_read(m, q);
}

static void each_key_follows_the_model(void **state)
{
    (void)state;
    size_t refused = 0, older = 0;
    for (uint64_t seed = 0; seed < tried_of(400); seed++) {
        model m = {.delay = seed % 4,
                   .w = open_world_of((world_shape){
                       .seed = seed, .servers = 1, .clients = 1, .workers = WORKERS, .part = 1 << 17, .list_bytes = 2000})};
        m.table = create(m.w, centric_spec(HW_VALUE_I64, 1, KEYS - 1, m.delay, "add"));
        for (int n = 0; n < STEPS; n++) {
            asked q = draw_asked(&m);
            switch (hw_random_below(&m.w->random, 5)) {
            case 0:
                q.first = 0;
                q.last = KEYS - 1;
                do_asked(&m, &q, (hw_order){.operation = HW_CLOCK});
                have_read(&m, &q);
                break;
            case 1: pull_some(&m, &q, false); break;
            case 2: pull_some(&m, &q, true); break;
            default: push_some(&m, &q);
            }
        }
        refused += m.refused;
        older += m.older;
        close_world(m.w);
    }
    print_message("%zu older values, %zu refused\n", older, refused);
    assert_true(refused > 1000 && older > 1000);
}

/* -------------------------------------------------------------------------------------------- memory, what is wrong ---- */

static uint64_t quota_used_of(const world *w)
{
    hw_server_figures figures;
    hw_server_figures_of(w->server[0], &figures);
    return figures.quota_used;
}

static uint64_t bytes_of(const world *w)
{
    hw_server_figures figures;
    hw_server_figures_of(w->server[0], &figures);
    return figures.bytes;
}

enum { REMOTE = 1, ROWS = 3000 };

/* The server receives everything that a client has sent, by its session. */
static void receive_from_client(world *w, hw_client_session *session)
{
    while (hw_client_more(w->client[REMOTE]))
        continue;
    while (w->there[REMOTE][0].first != NULL)
        assert_int_equal(hw_client_session_receive(session, take(&w->there[REMOTE][0]), NULL), HAWSER_OK);
    run_dry(w);
}

/* One worker alone reads and writes two iterations, and then may read the second again. */
static uint64_t two_iterations(world *w, uint32_t table, hw_client_session *session)
{
    static double ones[ROWS], out[ROWS];
    uint64_t task = 0;
    for (size_t i = 0; i < ROWS; i++)
        ones[i] = 1;
    for (uint64_t a = 0; a < 2; a++) {
        hw_order order = {.table = table, .last = ROWS - 1, .clock = a};
        order.operation = HW_PULL, order.out = out;
        (void)submit(w, REMOTE, order);
        order.operation = HW_PUSH, order.out = NULL, order.values = ones;
        (void)submit(w, REMOTE, order);
        order.operation = HW_PULL, order.out = out, order.values = NULL, order.reread = true;
        task = submit(w, REMOTE, order);
    }
    receive_from_client(w, session);
    for (size_t i = 0; i < ROWS && w->status[REMOTE][task] == HAWSER_OK; i++)
        assert_true(out[i] == 1); /* what the first iteration wrote */
    return task;
}

static world *open_remote(uint64_t delay, uint32_t *table, hw_group **group, hw_client_session **session)
{
    world *w = open_world_of((world_shape){.seed = 3, .servers = 1, .clients = 2, .workers = 1});
    *table = create(w, centric_spec(HW_VALUE_F64, 1, ROWS - 1, delay, "add"));
    assert_int_equal(hw_group_new(w->server[0], 1, group, NULL), HAWSER_OK);
    assert_int_equal(hw_client_session_new(*group, REMOTE, session, NULL), HAWSER_OK);
    return w;
}

static void end_remote(world *w, hw_group *group)
{
    hw_group_end(group);
    run_dry(w);
    assert_true(hw_group_over(group));
    hw_group_free(group);
}

static void memory_is_returned(void **state)
{
    (void)state;
    uint32_t table;
    hw_group *group;
    hw_client_session *session;
    world *w = open_remote(0, &table, &group, &session);
    uint64_t used = quota_used_of(w), bytes = bytes_of(w);
    assert_int_equal(w->status[REMOTE][two_iterations(w, table, session)], HAWSER_OK);
    uint64_t kept = quota_used_of(w) - used; /* once each row, and a bit */
    assert_true(kept >= ROWS * sizeof(double) && kept <= ROWS * sizeof(double) + ROWS / 8 + 3 * sizeof(uint64_t));
    assert_int_equal(bytes_of(w) - bytes, kept);
    end_remote(w, group);
    assert_int_equal(quota_used_of(w), used);
    assert_int_equal(bytes_of(w), bytes);
    close_world(w);
}

/* Where there is no order, or all may see the newest, nothing is kept. */
static void nothing_is_kept_without_a_reader(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        uint32_t table;
        hw_group *group;
        hw_client_session *session;
        world *w = open_remote(k == 0 ? UINT64_MAX : 5, &table, &group, &session);
        uint64_t used = quota_used_of(w);
        static double ones[ROWS];
        for (uint64_t a = 0; a < 4; a++) {
            hw_order order = {.operation = HW_CLOCK, .table = table, .last = ROWS - 1, .clock = a};
            (void)submit(w, REMOTE, order);
            order.operation = HW_PUSH, order.values = ones;
            (void)submit(w, REMOTE, order);
        }
        receive_from_client(w, session);
        assert_int_equal(quota_used_of(w), used);
        end_remote(w, group);
        close_world(w);
    }
}

/* A reread of a version that was over the quota is refused; pushes are done as usual. Once the quota allows it, versions are
 * kept again. */
static void a_version_over_the_quota_is_refused(void **state)
{
    (void)state;
    uint32_t table;
    hw_group *group;
    hw_client_session *session;
    static double out[ROWS], ones[ROWS];
    world *w = open_remote(0, &table, &group, &session);
    hw_server_limit(w->server[0], quota_used_of(w) + 100);
    uint64_t task = two_iterations(w, table, session);
    assert_int_equal(w->status[REMOTE][task], HAWSER_NO_MEMORY);
    assert_non_null(strstr(w->error.text, "was not kept, for want of memory (--memory-limit"));
    hw_order order = {.operation = HW_PULL, .table = table, .last = ROWS - 1, .out = out, .clock = 2};
    task = submit(w, REMOTE, order);
    receive_from_client(w, session);
    assert_true(w->status[REMOTE][task] == HAWSER_OK && out[0] == 2 && out[ROWS - 1] == 2);
    hw_server_limit(w->server[0], 0);
    order.reread = true; /* a row without a later write needs no version */
    task = submit(w, REMOTE, order);
    order.reread = false, order.operation = HW_PUSH, order.out = NULL, order.values = ones;
    (void)submit(w, REMOTE, order);
    order.reread = true, order.operation = HW_PULL, order.out = out, order.values = NULL;
    uint64_t later = submit(w, REMOTE, order);
    receive_from_client(w, session);
    assert_true(w->status[REMOTE][task] == HAWSER_OK && w->status[REMOTE][later] == HAWSER_OK && out[0] == 2);
    end_remote(w, group);
    close_world(w);
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    world *w = open_world_of((world_shape){.seed = 1, .servers = 1, .clients = 1, .workers = 1, .part = 100});
    uint32_t plain = create(w, spec_of("d", HW_VALUE_F64, 1, false, 0, 9));
    uint32_t sparse = create(w, spec_of("s", HW_VALUE_F64, 1, true, 0, UINT64_MAX));
    uint32_t centric = create(w, centric_spec(HW_VALUE_F64, 1, 9, 0, "add"));
    double values[10] = {0}, out[10];
    uint64_t keys[] = {1, 2}, task;
    const hw_order wrong[] = {
        {.operation = HW_PULL, .table = plain, .last = 9, .out = out, .reread = true},
        {.operation = HW_PULL, .table = sparse, .keys = keys, .count = 2, .out = out, .reread = true},
        {.operation = HW_PUSH, .table = centric, .last = 9, .values = values, .reread = true},
        {.operation = HW_PUSH_PULL, .table = centric, .last = 9, .values = values, .out = out, .reread = true},
        {.operation = HW_CLOCK, .table = centric, .last = 9, .reread = true},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hawser_error error = {0};
        assert_int_equal(hw_client_submit(w->client[0], &wrong[i], &task, &error), HAWSER_BAD_ARGUMENT);
        assert_non_null(strstr(error.text, "only a pull from a data-centric table can be a reread"));
    }
    /* A server believes no client that. */
    const hw_order right = {.operation = HW_PULL, .table = centric, .last = 9, .out = out, .reread = true};
    static const struct {
        uint8_t operation, reread;
        bool plain;
    } lies[] = {{HW_PULL, 2, false}, {HW_PULL, 255, false}, {HW_PULL, 1, true}, {HW_CLOCK, 1, false}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        hw_reply_head reply;
        (void)submit(w, 0, right);
        assert_true(hw_client_more(w->client[0]));
        hw_message *message = take(&w->there[0][0]);
        hw_request_head *head = message->payload;
        head->operation = lies[i].operation;
        head->reread = lies[i].reread;
        head->table = lies[i].plain ? plain : centric;
        assert_int_equal(hw_server_receive(w->server[0], 0, message, NULL), HAWSER_OK);
        message = take(&w->back[0][0]);
        assert_true(hw_reply_head_of(message, &reply));
        assert_true(reply.outcome == (lies[i].operation == HW_CLOCK ? HW_CLOCK_REFUSED : HW_REFUSED));
        hw_message_free(message);
    }
    close_world(w);
}

/* ------------------------------------------------------------------------------------------------- by the store API ---- */

enum { LARGE = 20000 };

/* Otherwise large replies are sent from the memory of the table. */
static void the_store_api_rereads(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("seed", "1");
    hawser_store *store = NULL;
    hawser_error error = {0};
    uint32_t table = 0;
    uint64_t task = 0;
    double *values = malloc(LARGE * sizeof *values), *out = malloc(LARGE * sizeof *out);
    assert_true(values != NULL && out != NULL);
    for (int i = 0; i < LARGE; i++)
        values[i] = i + 1;
    assert_int_equal(hawser_store_open(test.job, &(hawser_store_options){.workers = 2}, &store, &error), HAWSER_OK);
    const hawser_table theta = {.name = "theta", .last = LARGE - 1, .function = "assign", .data_centric = true};
    assert_int_equal(hawser_store_table(store, &theta, &table, &error), HAWSER_OK);
    hawser_request request = {.table = table, .last = LARGE - 1, .values = values, .out = out};
    for (request.iteration = 0; request.iteration < 2; request.iteration++) {
        for (request.worker = 0; request.worker < 2; request.worker++) {
            assert_int_equal(hawser_pull(store, &request, &task, &error), HAWSER_OK);
            assert_int_equal(hawser_store_wait(store, task, &error), HAWSER_OK);
        }
        request.worker = 0;
        assert_int_equal(hawser_push(store, &request, &task, &error), HAWSER_OK);
        assert_int_equal(hawser_store_wait(store, task, &error), HAWSER_OK);
        for (int i = 0; i < LARGE; i++)
            values[i] += LARGE;
    }
    request = (hawser_request){.table = table, .last = LARGE - 1, .out = out, .worker = 1, .iteration = 1, .reread = true};
    assert_int_equal(hawser_pull(store, &request, &task, &error), HAWSER_OK);
    assert_int_equal(hawser_store_wait(store, task, &error), HAWSER_OK);
    for (int i = 0; i < LARGE; i++)
        assert_true(out[i] == i + 1);
    request.iteration = 0;
    assert_int_equal(hawser_pull(store, &request, &task, &error), HAWSER_OK);
    assert_int_equal(hawser_store_wait(store, task, &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "worker 1 has read a later iteration than 0"));
    request.out = NULL;
    request.values = values;
    assert_int_equal(hawser_push(store, &request, &task, &error), HAWSER_BAD_ARGUMENT);
    hawser_store_close(store);
    close_job(test);
    free(values);
    free(out);
}

/* A file is in place of everything, whatever its keys' writers had done when it came. */
static void a_reread_returns_loaded_values(void **state)
{
    (void)state;
    enum { HALF = 500 };
    test_job test = OPEN_JOB("seed", "1");
    hawser_store *store = NULL;
    hawser_error error = {0};
    uint32_t table = 0;
    uint64_t task = 0;
    static double values[2 * HALF], out[2 * HALF];
    assert_int_equal(hawser_store_open(test.job, &(hawser_store_options){.workers = 2}, &store, &error), HAWSER_OK);
    const hawser_table theta = {.name = "theta", .last = 2 * HALF - 1, .function = "assign", .data_centric = true};
    assert_int_equal(hawser_store_table(store, &theta, &table, &error), HAWSER_OK);
    assert_int_equal(hawser_store_save(store, "zeros", &error), HAWSER_OK);
    hawser_request request = {.table = table, .last = 2 * HALF - 1, .values = values, .out = out};
    for (request.iteration = 0; request.iteration < 2; request.iteration++) {
        for (request.worker = 0; request.worker < 2; request.worker++) {
            assert_int_equal(hawser_pull(store, &request, &task, &error), HAWSER_OK);
            assert_int_equal(hawser_store_wait(store, task, &error), HAWSER_OK);
        }
        for (int i = 0; i < 2 * HALF; i++)
            values[i] = 1 + (double)request.iteration;
        request.worker = 0;
        request.last = request.iteration == 0 ? 2 * HALF - 1 : HALF - 1;
        assert_int_equal(hawser_push(store, &request, &task, &error), HAWSER_OK);
        assert_int_equal(hawser_store_wait(store, task, &error), HAWSER_OK);
    }
    request = (hawser_request){
        .table = table, .last = 2 * HALF - 1, .values = values, .out = out, .worker = 1, .iteration = 1, .reread = true};
    assert_int_equal(hawser_pull(store, &request, &task, &error), HAWSER_OK);
    assert_int_equal(hawser_store_wait(store, task, &error), HAWSER_OK);
    for (int i = 0; i < 2 * HALF; i++)
        assert_true(out[i] == 1);
    assert_int_equal(hawser_store_load(store, "zeros", &error), HAWSER_OK);
    for (int writes = 0; writes < 2; writes++) { /* in that iteration, in which others may still write */
        assert_int_equal(hawser_pull(store, &request, &task, &error), HAWSER_OK);
        assert_int_equal(hawser_store_wait(store, task, &error), HAWSER_OK);
        for (int i = 0; i < 2 * HALF; i++)
            assert_true(out[i] == 0);
        request.reread = false;
        assert_int_equal(hawser_push(store, &request, &task, &error), HAWSER_OK);
        assert_int_equal(hawser_store_wait(store, task, &error), HAWSER_OK);
        request.reread = true;
    }
    hawser_store_close(store);
    close_job(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_iteration_is_repeated),
        cmocka_unit_test(each_key_follows_the_model),
        cmocka_unit_test(memory_is_returned),
        cmocka_unit_test(nothing_is_kept_without_a_reader),
        cmocka_unit_test(a_version_over_the_quota_is_refused),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(the_store_api_rereads),
        cmocka_unit_test(a_reread_returns_loaded_values),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
