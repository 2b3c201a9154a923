/*
 * Workers that get, increment and clock through the caches of their processes. Every increment is a digit of its own, so
 * that a row tells which updates are in it, and which twice. What is read is held against SSP's guarantees (Ho et al. 2013,
 * section 2) in every interleaving of small cases, and in many of larger ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "store/cache.h"
#include "store_world.h"

enum { WORKERS_MOST = 4, CLOCKS_MOST = 5, ROWS_MOST = 40, DIGIT = 3 };

typedef struct shape {
    uint32_t servers, nodes, workers; /* workers: of a node */
    uint64_t clocks, keys, staleness;
    size_t bytes;
    bool sparse;
    bool brief; /* one get a clock, and no end of the last */
} shape;

typedef enum stage { FIRST_GET, PULLING_FIRST, INC, SECOND_GET, PULLING_SECOND, CLOCK, OVER } stage;

typedef struct worker {
    uint32_t node, own, number;
    stage at;
    uint64_t clock, task;
    uint64_t keys[ROWS_MOST];
    int64_t out[ROWS_MOST];
    hw_cache_reading reading;
    bool repeated; /* it is pulled for the second time, and there is no third */
} worker;

typedef struct play {
    const shape *shape;
    world *world;
    uint32_t table;
    hw_table_spec spec;
    hw_cache *cache[CLIENTS_MOST];
    worker workers[WORKERS_MOST];
    uint32_t worker_count;
    hw_flushed *flushed; /* freed in the end */
    size_t flushed_count;
    hw_cache_figures figures;
} play;

static int64_t update_of(const play *p, uint32_t number, uint64_t clock)
{
    return INT64_C(1) << (DIGIT * (number * p->shape->clocks + clock));
}

/* Which rows a worker touches in a clock. */
static bool touches(const play *p, const worker *w, uint64_t clock, uint64_t key)
{
    return p->shape->keys <= 2 || (key + w->number + clock) % 3 != 0;
}

static void open_play(play *p, const shape *how, uint64_t seed)
{
    *p = (play){.shape = how, .worker_count = how->nodes * how->workers};
    p->world = open_world(seed, how->servers, how->nodes, p->worker_count, 0);
    p->spec = spec_of("t", HW_VALUE_I64, 1, how->sparse, 0, how->sparse ? UINT64_MAX : how->keys - 1);
    p->spec.staleness = how->staleness;
    p->table = create(p->world, p->spec);
    p->flushed = calloc(p->worker_count * how->clocks, sizeof *p->flushed);
    for (uint32_t n = 0; n < how->nodes; n++)
        assert_int_equal(hw_cache_new(&(hw_cache_options){&p->spec, how->workers, how->bytes}, &p->cache[n], NULL),
                         HAWSER_OK);
    for (uint32_t i = 0; i < p->worker_count; i++)
        p->workers[i] =
            (worker){.node = i / how->workers, .own = i % how->workers, .number = i, .at = how->brief ? INC : FIRST_GET};
}

static void close_play(play *p)
{
    for (uint32_t i = 0; i < p->worker_count; i++)
        hw_cache_reading_end(p->cache[p->workers[i].node], &p->workers[i].reading);
    for (uint32_t n = 0; n < p->shape->nodes; n++) {
        hw_cache_figures own;
        hw_cache_figures_of(p->cache[n], &own);
        p->figures.hits += own.hits;
        p->figures.misses += own.misses;
        p->figures.shared += own.shared;
        p->figures.repeated += own.repeated;
        p->figures.evicted += own.evicted;
        hw_cache_free(p->cache[n]);
    }
    close_world(p->world);
    for (size_t i = 0; i < p->flushed_count; i++) {
        free(p->flushed[i].keys);
        free(p->flushed[i].values);
    }
    free(p->flushed);
}

/* What a worker has read, against the guarantees. */
static void check_rows(const play *p, const worker *w, bool incremented)
{
    for (size_t i = 0; i < w->reading.count; i++)
        for (uint32_t o = 0; o < p->worker_count; o++)
            for (uint64_t clock = 0; clock < p->shape->clocks; clock++) {
                const worker *other = &p->workers[o];
                bool touched = touches(p, other, clock, w->keys[i]), own = o == w->number;
                uint64_t times = ((uint64_t)w->out[i] >> (DIGIT * (o * p->shape->clocks + clock))) & ((1 << DIGIT) - 1);
                bool must = own ? clock < w->clock + incremented : clock + p->shape->staleness < w->clock;
                bool may = own ? must : clock <= w->clock + p->shape->staleness;
                if (times > (touched && may) || times < (touched && must))
                    fail_msg("worker %u in clock %llu reads key %llu with worker %u's clock %llu %llu times", w->number,
                             (unsigned long long)w->clock, (unsigned long long)w->keys[i], o, (unsigned long long)clock,
                             (unsigned long long)times);
            }
}

static void begin_get(play *p, worker *w)
{
    size_t count = 0;
    for (uint64_t key = 0; key < p->shape->keys; key++)
        if (p->shape->keys <= 2 || (key * 7 + w->clock) % 4 != 0)
            w->keys[count++] = key;
    w->reading = (hw_cache_reading){.worker = w->own, .keys = w->keys, .count = count, .out = w->out};
}

/* What its reading wants is on its way. */
static void ask(play *p, worker *w)
{
    const hw_cache_reading *reading = &w->reading;
    w->task = submit(p->world, w->node,
                     (hw_order){.operation = HW_PULL,
                                .table = p->table,
                                .keys = reading->wanted,
                                .count = reading->wanted_count,
                                .out = reading->pulled,
                                .least = reading->least,
                                .oldest = reading->oldest});
}

/* Reads as far as it goes; true: the worker has moved. */
static bool go_on_reading(play *p, worker *w)
{
    hw_cache_reading_state state;
    assert_int_equal(hw_cache_read(p->cache[w->node], &w->reading, &state, NULL), HAWSER_OK);
    if (state == HW_READING_WAIT)
        return false;
    if (state == HW_READING_PULL) {
        ask(p, w);
        return true;
    }
    check_rows(p, w, w->at == PULLING_SECOND);
    hw_cache_reading_end(p->cache[w->node], &w->reading);
    w->at = p->shape->brief && w->clock + 1 == p->shape->clocks ? OVER : w->at + 1;
    return true;
}

static bool pulling(play *p, worker *w)
{
    if (w->task == 0)
        return go_on_reading(p, w);
    if (p->world->ended[w->node][w->task] == 0)
        return false;
    assert_int_equal(p->world->status[w->node][w->task], HAWSER_OK);
    w->task = 0;
    if (hw_cache_pulled(p->cache[w->node], &w->reading)) {
        w->repeated = false;
        return true;
    }
    assert_false(w->repeated);
    w->repeated = true;
    ask(p, w);
    return true;
}

static void increment(play *p, worker *w)
{
    uint64_t keys[ROWS_MOST];
    int64_t values[ROWS_MOST];
    size_t count = 0;
    bool early;
    for (uint64_t key = 0; key < p->shape->keys; key++)
        if (touches(p, w, w->clock, key)) {
            keys[count] = key;
            values[count++] = update_of(p, w->number, w->clock);
        }
    assert_int_equal(hw_cache_inc(p->cache[w->node], w->own, keys, count, values, &early, NULL), HAWSER_OK);
}

static bool end_clock(play *p, worker *w)
{
    hw_flushed *flushed = &p->flushed[p->flushed_count];
    if (!hw_cache_may_flush(p->cache[w->node]))
        return false;
    assert_int_equal(hw_cache_flush(p->cache[w->node], w->own, flushed, NULL), HAWSER_OK);
    p->flushed_count++;
    assert_true(flushed->count > 0);
    (void)submit(p->world, w->node,
                 (hw_order){.operation = HW_PUSH,
                            .table = p->table,
                            .keys = flushed->keys,
                            .count = flushed->count,
                            .values = flushed->values});
    (void)submit(p->world, w->node,
                 (hw_order){.operation = HW_CLOCK,
                            .table = p->table,
                            .worker = w->number,
                            .clock = w->clock,
                            .first = p->spec.first,
                            .last = p->spec.last});
    hw_cache_tick(p->cache[w->node], w->own);
    w->at = ++w->clock == p->shape->clocks ? OVER : p->shape->brief ? INC : FIRST_GET;
    return true;
}

/* One step of a worker; false: it waits, or is done. */
static bool act(play *p, worker *w)
{
    switch (w->at) {
    case INC: /* others notice nothing of it */
        increment(p, w);
        w->at++;
        /* fallthrough */
    case FIRST_GET:
    case SECOND_GET:
        begin_get(p, w);
        w->at++;
        return go_on_reading(p, w) || true;
    case PULLING_FIRST:
    case PULLING_SECOND: return pulling(p, w);
    case CLOCK: return end_clock(p, w);
    case OVER: return false;
    }
    return false;
}

static void assert_all_over(const play *p)
{
    for (uint32_t i = 0; i < p->worker_count; i++)
        if (p->workers[i].at != OVER)
            fail_msg("worker %u stands still in clock %llu", i, (unsigned long long)p->workers[i].clock);
}

/* ----------------------------------------------------------------------------------------------- every interleaving ---- */

enum { DEPTH = 200 };

typedef struct schedule {
    uint8_t choice[DEPTH], choices[DEPTH];
    size_t depth;
} schedule;

static bool deliver(world *w, uint32_t client, uint32_t server)
{
    assert_int_equal(hw_server_receive(w->server[server], client, take(&w->there[client][server]), NULL), HAWSER_OK);
    return true;
}

/* What a reply brings is taken when its worker moves, so it may as well be there at once; and what workers ask for is on its
 * way. */
static void deliver_replies(world *w)
{
    for (uint32_t c = 0; c < w->clients; c++)
        for (uint32_t s = 0; s < w->servers; s++)
            while (w->back[c][s].first != NULL)
                assert_int_equal(hw_client_receive(w->client[c], s, take(&w->back[c][s]), NULL), HAWSER_OK);
    for (uint32_t c = 0; c < w->clients; c++)
        while (hw_client_more(w->client[c]))
            ;
}

/* Requests and workers take turns by the schedule, and after its end the first one that can move. A turn of one that cannot
 * move has no effect. */
static void run(play *p, schedule *s)
{
    world *w = p->world;
    size_t depth = 0, links = (size_t)w->clients * w->servers;
    for (bool moved = true; moved;) {
        uint8_t can[32], count = 0;
        deliver_replies(w);
        for (size_t i = 0; i < links; i++)
            if (w->there[i / w->servers][i % w->servers].first != NULL)
                can[count++] = (uint8_t)i;
        for (size_t i = 0; i < p->worker_count; i++) {
            const worker *k = &p->workers[i];
            if (k->at != OVER && (k->task == 0 || w->ended[k->node][k->task] > 0))
                can[count++] = (uint8_t)(links + i);
        }
        moved = false;
        assert_true(depth < DEPTH && links + p->worker_count <= sizeof can);
        if (depth == s->depth)
            s->choice[s->depth++] = 0;
        s->choices[depth] = count;
        bool all = s->choice[depth] == 0;
        for (uint8_t k = s->choice[depth]; k < count && !moved; k++) {
            size_t i = can[k];
            s->choice[depth] = k;
            moved = i >= links ? act(p, &p->workers[i - links])
                               : deliver(w, (uint32_t)(i / w->servers), (uint32_t)(i % w->servers));
        }
        if (!moved && all)
            assert_all_over(p);
        depth += moved;
    }
    s->depth = depth;
}

/* The next in order; false: that was the last. */
static bool next_schedule(schedule *s)
{
    while (s->depth > 0) {
        if (++s->choice[s->depth - 1] < s->choices[s->depth - 1])
            return true;
        s->depth--;
    }
    return false;
}

static size_t every_interleaving(const shape *how)
{
    schedule s = {0};
    size_t count = 0, again = 0;
    do {
        play p;
        open_play(&p, how, 1);
        run(&p, &s);
        close_play(&p);
        again += p.figures.repeated;
        count++;
    } while (next_schedule(&s));
    print_message("[ %zu schedules, %zu pulls made once more ]\n", count, again);
    return again;
}

static void small_cases_in_every_order(void **state)
{
    (void)state;
    size_t again = 0;
    static const shape shapes[] = {
        {.servers = 1, .nodes = 1, .workers = 2, .clocks = 2, .keys = 1, .brief = true, .staleness = 0, .bytes = 4096},
        {.servers = 1, .nodes = 1, .workers = 2, .clocks = 2, .keys = 1, .brief = true, .staleness = 1, .bytes = 4096},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        again += every_interleaving(&shapes[i]);
    assert_true(again > 0);
}

/* ------------------------------------------------------------------------------------------------------ larger ones ---- */

static void play_at_random(const shape *how, uint64_t seed, hw_cache_figures *all)
{
    play p;
    open_play(&p, how, seed);
    hw_random random = hw_random_at(seed, 78, 0, 0);
    for (size_t still = 0; still < 2;) {
        bool moved = hw_random_below(&random, 2) == 0 && step(p.world);
        uint32_t from = (uint32_t)hw_random_below(&random, p.worker_count);
        for (uint32_t k = 0; k < p.worker_count && !moved; k++)
            moved = act(&p, &p.workers[(from + k) % p.worker_count]);
        if (!moved)
            moved = step(p.world);
        still = moved ? 0 : still + 1;
    }
    assert_all_over(&p);
    close_play(&p);
    all->hits += p.figures.hits;
    all->misses += p.figures.misses;
    all->shared += p.figures.shared;
    all->repeated += p.figures.repeated;
    all->evicted += p.figures.evicted;
}

static void larger_cases_at_random(void **state)
{
    (void)state;
    hw_cache_figures all = {0};
    for (uint64_t seed = 0; seed < 300; seed++) {
        const shape how = {.servers = 1 + seed % 3,
                           .nodes = 1 + (uint32_t)(seed / 3 % 2),
                           .workers = 1 + (uint32_t)(seed / 6 % 2),
                           .clocks = CLOCKS_MOST,
                           .keys = seed % 4 == 0 ? 2 : ROWS_MOST,
                           .staleness = seed / 12 % 3,
                           .bytes = seed % 5 == 0 ? 500 : 1 << 20,
                           .sparse = seed % 2 == 0};
        play_at_random(&how, seed, &all);
    }
    print_message("[ %llu hits, %llu misses, %llu shared, %llu again, %llu evicted ]\n", (unsigned long long)all.hits,
                  (unsigned long long)all.misses, (unsigned long long)all.shared, (unsigned long long)all.repeated,
                  (unsigned long long)all.evicted);
    assert_true(all.hits > 0 && all.shared > 0 && all.repeated > 0 && all.evicted > 0);
}

/* One row, pulled where it is not near; true: it was. */
static bool get(hw_cache *cache, uint64_t key)
{
    int64_t out = -1;
    hw_cache_reading reading = {.keys = &key, .count = 1, .out = &out};
    hw_cache_reading_state state;
    assert_int_equal(hw_cache_read(cache, &reading, &state, NULL), HAWSER_OK);
    bool near = state == HW_READING_DONE;
    if (!near) {
        assert_int_equal(state, HW_READING_PULL);
        memcpy(reading.pulled, &(int64_t){(int64_t)key}, sizeof key);
        *reading.oldest = 0;
        assert_true(hw_cache_pulled(cache, &reading));
        assert_int_equal(hw_cache_read(cache, &reading, &state, NULL), HAWSER_OK);
        assert_int_equal(state, HW_READING_DONE);
    }
    assert_int_equal(out, key);
    hw_cache_reading_end(cache, &reading);
    return near;
}

/* The evicted row is the one that was used longest ago, not the one that came first. */
static void used_rows_stay_cached(void **state)
{
    (void)state;
    enum { BYTES = 1000, MOST = 100 };
    hw_table_spec spec = spec_of("t", HW_VALUE_I64, 1, true, 0, UINT64_MAX);
    hw_cache *cache = NULL;
    hw_cache_figures figures = {0};
    uint64_t rows = 0;
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(hw_cache_new(&(hw_cache_options){&spec, 1, BYTES}, &cache, NULL), HAWSER_OK);
        uint64_t capacity = rows;
        for (rows = 0; twice ? rows < capacity : figures.evicted == 0 && rows < MOST; rows++) {
            assert_false(get(cache, rows));
            hw_cache_figures_of(cache, &figures);
            assert_true(figures.bytes <= BYTES);
        }
        rows -= !twice;
        if (!twice)
            hw_cache_free(cache);
    }
    assert_true(rows > 4 && rows < MOST);
    assert_true(get(cache, 0));
    assert_false(get(cache, rows)); /* in the place of 1 */
    assert_true(get(cache, 0) && get(cache, 2));
    assert_false(get(cache, 1)); /* of 3 */
    assert_true(get(cache, 0) && get(cache, rows) && get(cache, 2));
    assert_false(get(cache, 3));
    hw_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_cases_in_every_order),
        cmocka_unit_test(larger_cases_at_random),
        cmocka_unit_test(used_rows_stay_cached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
