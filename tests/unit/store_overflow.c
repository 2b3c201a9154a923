/* Pushes that would make numbers infinite or NaN, of every function, form of table and way keys go: such a number stays as
 * it was, all others change, and the push fails by table and key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

#include "sanitized.h"
#include "store_world.h"

enum { KEYS = 700, WIDEST = 3, MEMORY = 3 };

/* What a number is, and what its function keeps beside it. */
typedef struct number {
    double value, memory[MEMORY];
} number;

static number model[KEYS][WIDEST];

/* A function of the user's: a product, and the sum of the squares. */
static size_t multiply(const hw_applying *a)
{
    for (size_t i = 0; i < a->rows * a->width; i++) {
        double u = a->type == HW_VALUE_F32 ? (double)((const float *)a->updates)[i] : ((const double *)a->updates)[i];
        if (a->type == HW_VALUE_F32)
            ((float *)a->values)[i] = (float)((double)((float *)a->values)[i] * u + 1);
        else
            ((double *)a->values)[i] = ((double *)a->values)[i] * u + 1;
        a->memory[i] += u * u;
    }
    return a->rows;
}

static const hw_function own = {.name = "multiply", .memory = 1, .types = HW_FLOATS, .apply = multiply, .user = &own};

/* The number after an update, by the functions' definitions. */
static number after(const hw_table_spec *spec, number n, double u)
{
    const double *p = spec->parameters;
    const char *name = spec->function->name;
    if (strcmp(name, "add") == 0) {
        n.value += u;
    } else if (strcmp(name, "assign") == 0) {
        n.value = u;
    } else if (strcmp(name, "max") == 0) {
        n.value = u > n.value ? u : n.value;
    } else if (strcmp(name, "average") == 0) {
        double times = ++n.memory[0], mean = n.value + (u - n.value) / times;
        n.value = isfinite(mean) ? mean : n.value - n.value / times + u / times;
    } else if (strcmp(name, "adagrad") == 0) {
        n.memory[0] += u * u;
        n.value -= p[0] * u / (sqrt(n.memory[0]) + p[1]);
    } else if (strcmp(name, "adam") == 0) {
        n.memory[0] += (1 - p[1]) * (u - n.memory[0]);
        n.memory[1] += (1 - p[2]) * (u * u - n.memory[1]);
        double steps = ++n.memory[2];
        n.value -= p[0] * (n.memory[0] / (1 - pow(p[1], steps))) / (sqrt(n.memory[1] / (1 - pow(p[2], steps))) + p[3]);
    } else if (strcmp(name, "proximal") == 0) {
        double x = n.value - p[0] * u, shrunk = fabs(x) - p[0] * p[1];
        x = shrunk > 0 ? copysign(shrunk, x) / (1 + p[0] * p[2]) : 0;
        n.value = x < p[3] ? p[3] : x > p[4] ? p[4] : x;
    } else {
        n.value = n.value * u + 1;
        n.memory[0] += u * u;
    }
    n.value = spec->type == HW_VALUE_F32 ? (double)(float)n.value : n.value;
    return n;
}

static bool is_finite(number n)
{
    return isfinite(n.value) && isfinite(n.memory[0]) && isfinite(n.memory[1]) && isfinite(n.memory[2]);
}

static double drawn(hw_random *random, const hw_table_spec *spec, uint64_t rare)
{
    double most = spec->type == HW_VALUE_F32 ? 3.4e38 : 1.79e308, u = hw_random_normal(random);
    if (rare > 0 && hw_random_below(random, rare) == 0)
        u = (hw_random_uniform(random) - 0.5) * most * 1.99;
    return spec->type == HW_VALUE_F32 ? (double)(float)u : u;
}

static hw_table_spec draw_table(hw_random *random, uint64_t seed)
{
    static const char *const names[] = {"add",     "add",     "add",  "assign",   "max",
                                        "average", "adagrad", "adam", "proximal", NULL};
    const char *name = names[seed % 10];
    bool sparse = hw_random_below(random, 2);
    hw_table_spec spec =
        spec_of("t", hw_random_below(random, 2) ? HW_VALUE_F32 : HW_VALUE_F64, 1 + (uint32_t)hw_random_below(random, WIDEST),
                sparse, sparse ? 0 : 5, sparse ? UINT64_MAX : 5 + KEYS - 1);
    spec.function = name != NULL ? hw_function_find(name) : &own;
    const double parameters[] = {0.5, 0.25, 0.125, -INFINITY, INFINITY};
    memcpy(spec.parameters, parameters, sizeof parameters);
    if (name != NULL && strcmp(name, "adam") == 0)
        spec.parameters[3] = 1e-3;
    if (!sparse && hw_random_below(random, 3) == 0) {
        spec.centric = true;
        spec.delay = hw_random_below(random, 2) ? UINT64_MAX : 0;
    }
    return spec;
}

static uint64_t key_of(const hw_table_spec *spec, uint64_t i)
{
    return spec->sparse ? i * UINT64_C(0x5bd1e995f00d) : spec->first + i;
}

/* One push: which rows, and with what. */
typedef struct push {
    hw_order order;
    uint64_t keys[KEYS];
    size_t rows[KEYS], count;
    double values[KEYS * WIDEST], out[KEYS * WIDEST]; /* as the type has them */
    bool kept[KEYS];                                  /* a number of this row stays */
    bool fails;
} push;

/* A range, keys that lie close or apart; and what comes of it in the model. */
static void draw_push(hw_random *random, const hw_table_spec *spec, uint64_t rare, push *p)
{
    size_t from = (size_t)hw_random_below(random, KEYS), to = from + (size_t)hw_random_below(random, KEYS - from);
    bool whole = spec->centric && spec->delay == 0, range = whole || (!spec->sparse && hw_random_below(random, 3) == 0);
    uint64_t gap = hw_random_below(random, 2) ? 2 : 40;
    if (whole) { /* iterations follow each other on all keys */
        from = 0;
        to = KEYS - 1;
    }
    memset(p->kept, 0, sizeof p->kept);
    p->count = 0;
    p->fails = false;
    for (size_t i = from; i <= to; i++)
        if (range || i == from || hw_random_below(random, gap) == 0) {
            p->rows[p->count] = i;
            p->keys[p->count++] = key_of(spec, i);
        }
    for (size_t i = 0; i < p->count; i++)
        for (uint32_t w = 0; w < spec->width; w++) {
            double u = drawn(random, spec, rare);
            size_t at = i * spec->width + w;
            if (spec->type == HW_VALUE_F32)
                ((float *)p->values)[at] = (float)u;
            else
                p->values[at] = u;
            number *now = &model[p->rows[i]][w], next = after(spec, *now, u);
            if (is_finite(next))
                *now = next;
            else
                p->kept[i] = p->fails = true;
        }
    p->order = (hw_order){.operation = hw_random_below(random, 3) == 0 ? HW_PUSH_PULL : HW_PUSH,
                          .keys = range ? NULL : p->keys,
                          .count = p->count,
                          .first = p->keys[0],
                          .last = p->keys[p->count - 1],
                          .values = p->values};
    p->order.out = p->order.operation == HW_PUSH_PULL ? p->out : NULL;
}

/* The message names a key that stayed. */
static void check_message(const push *p, const char *text)
{
    unsigned long long key = 0;
    const char *named = strstr(text, "table 't': key ");
    if (named == NULL || strstr(text, "infinite or NaN, so it keeps its last value") == NULL)
        fail_msg("%s", text);
    assert_int_equal(sscanf(named, "table 't': key %llu overflows", &key), 1);
    for (size_t i = 0; i < p->count; i++)
        if (p->keys[i] == key && p->kept[i])
            return;
    fail_msg("key %llu did not overflow: %s", key, text);
}

static void check_values(const hw_table_spec *spec, const double *got)
{
    for (size_t i = 0; i < KEYS; i++)
        for (uint32_t w = 0; w < spec->width; w++) {
            size_t at = i * spec->width + w;
            double value = spec->type == HW_VALUE_F32 ? (double)((const float *)got)[at] : got[at];
            if (value != model[i][w].value)
                fail_msg("%s: row %zu, number %u is %.17g, and should be %.17g", spec->function->name, i, w, value,
                         model[i][w].value);
        }
}

/* With one client messages take no turns that matter. */
static hawser_status run_task(world *w, hw_order order)
{
    uint64_t task = submit(w, 0, order);
    while (w->ended[0][task] == 0)
        assert_true(step(w));
    return w->status[0][task];
}

static void a_number_that_overflows_stays(void **state)
{
    (void)state;
    static push p;
    static uint64_t all[KEYS];
    static double got[KEYS * WIDEST];
    size_t failed = 0, fine = 0;
    for (uint64_t seed = 0; seed < tried_of(600); seed++) {
        hw_random random = hw_random_at(seed, 3, 0, 0);
        world *w = open_world(seed, 1 + (uint32_t)(seed / 10 % 3), 1, 1, 0);
        hw_table_spec spec = draw_table(&random, seed);
        uint32_t table = create(w, spec);
        memset(model, 0, sizeof model);
        for (uint64_t i = 0; i < KEYS; i++)
            all[i] = key_of(&spec, i);
        for (uint64_t round = 0; round < 8; round++) {
            hw_order pull = {.operation = HW_PULL, .table = table, .keys = all, .count = KEYS, .out = got, .clock = round};
            /* before the push, too: in order an iteration is read, then written */
            assert_int_equal(run_task(w, pull), HAWSER_OK);
            check_values(&spec, got);
            draw_push(&random, &spec, round % 4 == 3 ? 0 : round % 4 == 2 ? 5 : 300, &p);
            p.order.table = table;
            p.order.clock = round;
            hawser_status status = run_task(w, p.order);
            assert_int_equal(status, p.fails ? HAWSER_NOT_FINITE : HAWSER_OK);
            if (p.fails)
                check_message(&p, w->error.text);
            if (!spec.centric || spec.delay > 0) {
                assert_int_equal(run_task(w, pull), HAWSER_OK);
                check_values(&spec, got);
            }
            failed += p.fails;
            fine += !p.fails;
        }
        close_world(w);
    }
    assert_true(failed > 100 && fine > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_that_overflows_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
