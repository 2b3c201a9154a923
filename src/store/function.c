/* function.c - what servers can do with what is pushed. Every number for itself, so any run of rows may be given at once. */
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "store/table.h"

enum {
    AHEAD = 96 /* scattered rows that are fetched before the one that is changed: as many as memory can have on their way */
};

/* Defines NAME_TYPE and NAME_at_TYPE, and apply_NAME over the three types, from an expression in x (the value) and u (the update). */
#define ROWS_OF(T, name, expression)                                                                                        \
    static void name##_##T(const hw_applying *a)                                                                            \
    {                                                                                                                       \
        T *values = a->values;                                                                                              \
        const T *updates = a->updates;                                                                                      \
        for (size_t i = 0, n = a->rows * a->width; i < n; i++) {                                                            \
            T x = values[i], u = updates[i];                                                                                \
            (void)x;                                                                                                        \
            values[i] = (expression);                                                                                       \
        }                                                                                                                   \
    }                                                                                                                       \
    static void name##_at_##T(const hw_applying *a)                                                                         \
    {                                                                                                                       \
        const T *updates = a->updates;                                                                                      \
        size_t rows = a->rows, width = a->width;                                                                            \
        const uint64_t *at = a->at, base = a->base;                                                                         \
        T *values = a->values;                                                                                              \
        for (size_t r = 0; width == 1 && r < rows; r++) {                                                                   \
            if (r + AHEAD < rows)                                                                                           \
                hw_prefetch_store(values + (at[r + AHEAD] - base));                                                         \
            T x = values[at[r] - base], u = updates[r];                                                                     \
            (void)x;                                                                                                        \
            values[at[r] - base] = (expression);                                                                            \
        }                                                                                                                   \
        for (size_t r = 0; width > 1 && r < rows; r++) {                                                                    \
            T *row = values + (at[r] - base) * width;                                                                       \
            size_t w = 0;                                                                                                   \
            if (r + AHEAD < rows)                                                                                           \
                hw_prefetch_store(values + (at[r + AHEAD] - base) * width);                                                 \
            do {                                                                                                            \
                T x = row[w], u = *updates++;                                                                               \
                (void)x;                                                                                                    \
                row[w] = (expression);                                                                                      \
            } while (++w < width);                                                                                          \
        }                                                                                                                   \
    }
#define EACH_TYPE(name, expression, integers)                                                                               \
    ROWS_OF(float, name, expression)                                                                                        \
    ROWS_OF(double, name, expression)                                                                                       \
    ROWS_OF(int64_t, name, integers)                                                                                        \
    static void apply_##name(const hw_applying *a)                                                                          \
    {                                                                                                                       \
        switch (a->type) {                                                                                                  \
        case HW_VALUE_F32: (a->at != NULL ? name##_at_float : name##_float)(a); return;                                     \
        case HW_VALUE_F64: (a->at != NULL ? name##_at_double : name##_double)(a); return;                                   \
        case HW_VALUE_I64: (a->at != NULL ? name##_at_int64_t : name##_int64_t)(a); return;                                 \
        }                                                                                                                   \
    }

/* Integers wrap, as counters do. */
EACH_TYPE(add, x + u, (int64_t)((uint64_t)x + (uint64_t)u))
EACH_TYPE(max, u > x ? u : x, u > x ? u : x)
EACH_TYPE(assign, u, u)

/* The rest is for floats: computed in double, rounded once. */
static double value_at(const hw_applying *a, const void *numbers, size_t i)
{
    return a->type == HW_VALUE_F32 ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}

static void set_value(const hw_applying *a, size_t i, double value)
{
    if (a->type == HW_VALUE_F32)
        ((float *)a->values)[i] = (float)value;
    else
        ((double *)a->values)[i] = value;
}

/* The mean of all that was pushed; memory: how many that was. */
static void apply_average(const hw_applying *a)
{
    for (size_t i = 0, n = a->rows * a->width; i < n; i++) {
        double x = value_at(a, a->values, i), times = ++a->memory[i];
        set_value(a, i, x + (value_at(a, a->updates, i) - x) / times);
    }
}

/* Duchi, Hazan, Singer 2011: a rate for each number, by the gradients that it has seen. */
static void apply_adagrad(const hw_applying *a)
{
    double rate = a->parameters[0], epsilon = a->parameters[1];
    for (size_t i = 0, n = a->rows * a->width; i < n; i++) {
        double gradient = value_at(a, a->updates, i);
        a->memory[i] += gradient * gradient;
        set_value(a, i, value_at(a, a->values, i) - rate * gradient / (sqrt(a->memory[i]) + epsilon));
    }
}

/* Kingma, Ba 2015, algorithm 1; memory: first moment, second moment, steps. */
static void apply_adam(const hw_applying *a)
{
    double rate = a->parameters[0], first = a->parameters[1], second = a->parameters[2], epsilon = a->parameters[3];
    for (size_t i = 0, n = a->rows * a->width; i < n; i++) {
        double gradient = value_at(a, a->updates, i), *memory = a->memory + 3 * i;
        memory[0] += (1 - first) * (gradient - memory[0]);
        memory[1] += (1 - second) * (gradient * gradient - memory[1]);
        double steps = ++memory[2];
        double mean = memory[0] / (1 - pow(first, steps)), square = memory[1] / (1 - pow(second, steps));
        set_value(a, i, value_at(a, a->values, i) - rate * mean / (sqrt(square) + epsilon));
    }
}

/* One proximal gradient step (Parikh, Boyd 2014, section 4.2) for l1 |x| + l2/2 x^2 + the indicator of [low, high]. */
static void apply_proximal(const hw_applying *a)
{
    double rate = a->parameters[0], l1 = a->parameters[1], l2 = a->parameters[2], low = a->parameters[3],
           high = a->parameters[4];
    for (size_t i = 0, n = a->rows * a->width; i < n; i++) {
        double x = value_at(a, a->values, i) - rate * value_at(a, a->updates, i);
        double shrunk = fabs(x) - rate * l1;
        x = shrunk > 0 ? copysign(shrunk, x) / (1 + rate * l2) : 0;
        set_value(a, i, x < low ? low : x > high ? high : x);
    }
}

static const char *check_rate(const double *p)
{
    return p[0] > 0 && isfinite(p[0]) ? NULL : "the rate must be above 0";
}

static const char *check_adagrad(const double *p)
{
    const char *wrong = check_rate(p);
    return wrong != NULL ? wrong : p[1] > 0 ? NULL : "epsilon must be above 0";
}

static const char *check_adam(const double *p)
{
    const char *wrong = check_rate(p);
    if (wrong != NULL)
        return wrong;
    if (!(p[1] >= 0 && p[1] < 1 && p[2] >= 0 && p[2] < 1))
        return "the decay rates must be within [0,1)";
    return p[3] > 0 ? NULL : "epsilon must be above 0";
}

static const char *check_proximal(const double *p)
{
    const char *wrong = check_rate(p);
    if (wrong != NULL)
        return wrong;
    if (!(p[1] >= 0 && p[2] >= 0))
        return "the penalties must not be below 0";
    return p[3] <= p[4] ? NULL : "the lower bound must not be above the upper one";
}

static const hw_function functions[] = {
    {.name = "add", .scattered = true, .adds = true, .apply = apply_add},
    {.name = "assign", .whole = true, .scattered = true, .apply = apply_assign},
    {.name = "max", .whole = true, .scattered = true, .apply = apply_max},
    {.name = "average", .whole = true, .memory = 1, .types = HW_FLOATS, .apply = apply_average},
    {.name = "adagrad",
     .memory = 1,
     .parameters = 2,
     .parameter_names = "rate, epsilon",
     .types = HW_FLOATS,
     .check = check_adagrad,
     .apply = apply_adagrad},
    {.name = "adam",
     .memory = 3,
     .parameters = 4,
     .parameter_names = "rate, beta1, beta2, epsilon",
     .types = HW_FLOATS,
     .check = check_adam,
     .apply = apply_adam},
    {.name = "proximal",
     .parameters = 5,
     .parameter_names = "rate, l1, l2, low, high",
     .types = HW_FLOATS,
     .check = check_proximal,
     .apply = apply_proximal},
};

const hw_function *hw_function_at(size_t number)
{
    return number < sizeof functions / sizeof *functions ? &functions[number] : NULL;
}

const hw_function *hw_function_find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}
