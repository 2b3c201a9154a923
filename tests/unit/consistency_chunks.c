/* Data-centric admission is compared with the paper's histories, and with definition 3 over every interleaving of a small
 * case. */
#include "consistency/consistency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WORKERS = 2, ITERATIONS = 2, CHUNKS = WORKERS };

/* A server's counters of two chunks: writes of each, and reads by each worker. */
typedef struct chunks {
    uint64_t written[CHUNKS], read[CHUNKS][WORKERS];
} chunks;

typedef struct operation {
    char what; /* 'r' or 'w' */
    int worker, chunk;
    uint64_t iteration; /* from 0 */
} operation;

static bool admits(const chunks *c, operation o, uint64_t delay)
{
    if (o.what == 'r')
        return hw_admit_chunk_read(delay, c->written[o.chunk], o.iteration);
    uint64_t least = UINT64_MAX;
    for (int k = 0; k < WORKERS; k++)
        if (c->read[o.chunk][k] < least)
            least = c->read[o.chunk][k];
    return hw_admit_chunk_write(delay, least, o.iteration);
}

static void perform(chunks *c, operation o)
{
    if (o.what == 'r')
        c->read[o.chunk][o.worker] = o.iteration + 1;
    else
        c->written[o.chunk] = o.iteration + 1;
}

/* Returns how many operations of a history are admitted in order. As in the paper, "r1[1][1]" is a read of chunk 1 by worker
 * 1 in iteration 1. */
static size_t admitted(const char *history, uint64_t delay)
{
    chunks c = {0};
    size_t n = 0;
    for (const char *at = history; *at != '\0'; at += 8, n++) {
        operation o = {at[0], at[1] - '1', at[3] - '1', (uint64_t)(at[6] - '1')};
        if (!admits(&c, o, delay))
            return n;
        perform(&c, o);
    }
    return n;
}

/* Goel et al. 2015, figure 3. */
static void histories_of_the_paper_are_admitted_as_printed(void **state)
{
    (void)state;
    static const char h1[] =
        "r1[1][1]r1[2][1]r2[1][1]r2[2][1]w1[1][1]w2[2][1]r1[1][2]r1[2][2]r2[1][2]r2[2][2]w1[1][2]w2[2][2]";
    static const char h2[] =
        "r1[1][1]r1[2][1]r2[1][1]r2[2][1]w2[2][1]r1[2][2]w1[1][1]r1[1][2]r2[1][2]r2[2][2]w1[1][2]w2[2][2]";
    static const char h3[] =
        "r1[1][1]r1[2][1]w1[1][1]r2[1][1]r2[2][1]w2[2][1]r1[1][2]r1[2][2]w1[1][2]r2[1][2]r2[2][2]w2[2][2]";
    assert_int_equal(admitted(h1, 0), 12);
    assert_int_equal(admitted(h2, 0), 12);
    assert_int_equal(admitted(h3, 0), 2); /* worker 1 writes chunk 1 before worker 2 has read it */
    assert_int_equal(admitted(h3, 1), 12);
}

/* ------------------------------------------------------------------------------------------------------------------- */

/* Every order in which two workers can run two iterations of "read both chunks, write the own one". */
typedef struct search {
    operation done[WORKERS * ITERATIONS * (CHUNKS + 1)];
    size_t count, at[WORKERS];
    uint64_t delay;
    size_t histories, refused, beyond_bsp;
} search;

static operation next_of(int worker, size_t at)
{
    size_t k = at % (CHUNKS + 1);
    return k < CHUNKS ? (operation){'r', worker, (int)k, at / (CHUNKS + 1)}
                      : (operation){'w', worker, worker, at / (CHUNKS + 1)};
}

static operation op(char what, int worker, int chunk, uint64_t iteration)
{
    return (operation){what, worker, chunk, iteration};
}

static bool same(operation x, operation y)
{
    return x.what == y.what && x.worker == y.worker && x.chunk == y.chunk && x.iteration == y.iteration;
}

/* Returns true if x is before y in the history. */
static bool before(const search *s, operation x, operation y)
{
    for (size_t i = 0; i < s->count; i++) {
        if (same(s->done[i], x))
            return true;
        if (same(s->done[i], y))
            return false;
    }
    return false;
}

/* Checks RC and WC with a delay, as defined in section 7, over all pairs of the finished history. */
static bool obeys(const search *s)
{
    for (int i = 0; i < WORKERS; i++)
        for (int j = 0; j < WORKERS; j++)
            for (uint64_t a = 0; a < ITERATIONS; a++) {
                if (a >= 1 + s->delay && !before(s, op('w', j, j, a - 1 - s->delay), op('r', i, j, a)))
                    return false;
                if (a >= s->delay && !before(s, op('r', j, i, a - s->delay), op('w', i, i, a)))
                    return false;
            }
    return true;
}

/* Returns true if a read of an iteration is before a write of the last iteration, on any chunks, which no barrier admits. */
static bool is_beyond_bsp(const search *s)
{
    for (int i = 0; i < WORKERS; i++)
        for (int j = 0; j < WORKERS; j++)
            for (int k = 0; k < WORKERS; k++)
                if (before(s, op('r', i, j, 1), op('w', k, k, 0)))
                    return true;
    return false;
}

static void look(search *s)
{
    if (s->count == sizeof s->done / sizeof *s->done) {
        chunks c = {0};
        bool all = true;
        for (size_t i = 0; i < s->count && all; i++) {
            all = admits(&c, s->done[i], s->delay);
            perform(&c, s->done[i]);
        }
        assert_int_equal(all, obeys(s));
        s->histories++;
        s->refused += !all;
        s->beyond_bsp += all && is_beyond_bsp(s);
        return;
    }
    for (int worker = 0; worker < WORKERS; worker++)
        if (s->at[worker] < (size_t)ITERATIONS * (CHUNKS + 1)) {
            operation o = next_of(worker, s->at[worker]++);
            s->done[s->count++] = o;
            look(s);
            s->count--;
            s->at[worker]--;
        }
}

static void every_admitted_interleaving_obeys_the_definition(void **state)
{
    (void)state;
    for (uint64_t delay = 0; delay < 3; delay++) {
        search s = {.delay = delay};
        look(&s);
        assert_int_equal(s.histories, 924); /* 12 choose 6 */
        assert_true(delay == 2 ? s.refused == 0 : s.refused > 0 && s.refused < s.histories);
        assert_true(s.beyond_bsp > 0);
    }
    assert_true(hw_admit_chunk_read(HW_DELAY_NONE, 0, UINT64_MAX - 1) &&
                hw_admit_chunk_write(HW_DELAY_NONE, 0, UINT64_MAX - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histories_of_the_paper_are_admitted_as_printed),
        cmocka_unit_test(every_admitted_interleaving_obeys_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
