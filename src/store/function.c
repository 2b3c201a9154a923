/* function.c - the functions of servers. Each changes every number by its own update only, so a call may cover any run of
 * rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/finite.h"
#include "store/table.h"

enum {
    AHEAD = 96 /* scattered rows that are prefetched: about as many reads as memory serves at once */
};

/* Defines NAME_TYPE and NAME_at_TYPE from an expression in x (the value) and u (the update); y, the result, is kept where
 * `is_good`. */
#define ROWS_OF(T, name, expression, is_good)                                                                               \
    static size_t name##_##T(const hw_applying *a)                                                                          \
    {                                                                                                                       \
        T *values = a->values;                                                                                              \
        const T *updates = a->updates;                                                                                      \
        for (size_t i = 0, n = a->rows * a->width; i < n; i++) {                                                            \
            T x = values[i], u = updates[i];                                                                                \
            (void)x;                                                                                                        \
            values[i] = (expression);                                                                                       \
        }                                                                                                                   \
        return a->rows;                                                                                                     \
    }                                                                                                                       \
    SCATTERED_ROWS_OF(T, name, expression, is_good)
#define SCATTERED_ROWS_OF(T, name, expression, is_good)                                                                     \
    static size_t name##_at_##T(const hw_applying *a)                                                                       \
    {                                                                                                                       \
        const T *updates = a->updates;                                                                                      \
        size_t rows = a->rows, width = a->width, kept = rows;                                                               \
        const uint64_t *at = a->at, base = a->base;                                                                         \
        T *values = a->values;                                                                                              \
        for (size_t r = 0; width == 1 && r < rows; r++) {                                                                   \
            if (r + AHEAD < rows)                                                                                           \
                hw_prefetch_store(values + (at[r + AHEAD] - base));                                                         \
            T x = values[at[r] - base], u = updates[r], y = (expression);                                                   \
            (void)x;                                                                                                        \
            if (is_good)                                                                                                    \
                values[at[r] - base] = y;                                                                                   \
            else                                                                                                            \
                kept = r < kept ? r : kept;                                                                                 \
        }                                                                                                                   \
        for (size_t r = 0; width > 1 && r < rows; r++) {                                                                    \
            T *row = values + (at[r] - base) * width;                                                                       \
            size_t w = 0;                                                                                                   \
            if (r + AHEAD < rows)                                                                                           \
                hw_prefetch_store(values + (at[r + AHEAD] - base) * width);                                                 \
            do {                                                                                                            \
                T x = row[w], u = *updates++, y = (expression);                                                             \
                (void)x;                                                                                                    \
                if (is_good)                                                                                                \
                    row[w] = y;                                                                                             \
                else                                                                                                        \
                    kept = r < kept ? r : kept;                                                                             \
            } while (++w < width);                                                                                          \
        }                                                                                                                   \
        return kept;                                                                                                        \
    }
/* Defines apply_NAME, which selects one of the three types. */
#define EACH_TYPE(name)                                                                                                     \
    static size_t apply_##name(const hw_applying *a)                                                                        \
    {                                                                                                                       \
        switch (a->type) {                                                                                                  \
        case HW_VALUE_F32: return (a->at != NULL ? name##_at_float : name##_float)(a);                                      \
        case HW_VALUE_F64: return (a->at != NULL ? name##_at_double : name##_double)(a);                                    \
        case HW_VALUE_I64: return (a->at != NULL ? name##_at_int64_t : name##_int64_t)(a);                                  \
        }                                                                                                                   \
        return 0;                                                                                                           \
    }
#define OF_EACH_TYPE(name, expression)                                                                                      \
    ROWS_OF(float, name, expression, true)                                                                                  \
    ROWS_OF(double, name, expression, true)                                                                                 \
    ROWS_OF(int64_t, name, expression, true)                                                                                \
    EACH_TYPE(name)

static size_t add_float(const hw_applying *a)
{
    return hw_add_finite_f32(a->values, a->updates, a->rows * a->width) / a->width;
}

static size_t add_double(const hw_applying *a)
{
    return hw_add_finite_f64(a->values, a->updates, a->rows * a->width) / a->width;
}

/* Integers wrap around, as counters do. */
SCATTERED_ROWS_OF(float, add, x + u, isfinite(y))
SCATTERED_ROWS_OF(double, add, x + u, isfinite(y))
ROWS_OF(int64_t, add, (int64_t)((uint64_t)x + (uint64_t)u), true)
EACH_TYPE(add)
OF_EACH_TYPE(max, u > x ? u : x)
OF_EACH_TYPE(assign, u)

/* The other functions are for floats. They compute in double and round once. */
static double value_at(const hw_applying *a, const void *numbers, size_t i)
{
    return a->type == HW_VALUE_F32 ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}

/* Returns false and changes nothing if the value would not be finite. */
static bool set_value(const hw_applying *a, size_t i, double value)
{
    bool narrow = a->type == HW_VALUE_F32;
    if (!(narrow ? isfinite((float)value) : isfinite(value)))
        return false;
    if (narrow)
        ((float *)a->values)[i] = (float)value;
    else
        ((double *)a->values)[i] = value;
    return true;
}

/* Keeps the mean of all pushed values, which is never larger than the largest of them. The memory has their number. */
static size_t apply_average(const hw_applying *a)
{
    for (size_t i = 0, n = a->rows * a->width; i < n; i++) {
        double x = value_at(a, a->values, i), u = value_at(a, a->updates, i), times = ++a->memory[i];
        double mean = x + (u - x) / times;
        (void)set_value(a, i, isfinite(mean) ? mean : x - x / times + u / times);
    }
    return a->rows;
}

/* Duchi, Hazan, Singer 2011: each number has its own rate, which follows from the gradients so far. */
static size_t apply_adagrad(const hw_applying *a)
{
    double rate = a->parameters[0], epsilon = a->parameters[1];
    size_t n = a->rows * a->width, kept = n;
    for (size_t i = 0; i < n; i++) {
        double gradient = value_at(a, a->updates, i), squares = a->memory[i] + gradient * gradient;
        double value = value_at(a, a->values, i) - rate * gradient / (sqrt(squares) + epsilon);
        if (isfinite(squares) && set_value(a, i, value))
            a->memory[i] = squares;
        else if (kept == n)
            kept = i;
    }
    return kept / a->width;
}

/* Kingma, Ba 2015, algorithm 1. The memory has first moment, second moment and number of steps. */
static size_t apply_adam(const hw_applying *a)
{
    double rate = a->parameters[0], first = a->parameters[1], second = a->parameters[2], epsilon = a->parameters[3];
    size_t n = a->rows * a->width, kept = n;
    for (size_t i = 0; i < n; i++) {
        double gradient = value_at(a, a->updates, i), *memory = a->memory + 3 * i, steps = memory[2] + 1;
        double one = memory[0] + (1 - first) * (gradient - memory[0]);
        double two = memory[1] + (1 - second) * (gradient * gradient - memory[1]);
        double mean = one / (1 - pow(first, steps)), square = two / (1 - pow(second, steps));
        bool good = isfinite(one) && isfinite(two);
        if (good && set_value(a, i, value_at(a, a->values, i) - rate * mean / (sqrt(square) + epsilon))) {
            memory[0] = one;
            memory[1] = two;
            memory[2] = steps;
        } else if (kept == n) {
            kept = i;
        }
    }
    return kept / a->width;
}

/* Does one proximal gradient step (Parikh, Boyd 2014, section 4.2) for l1 |x| + l2/2 x^2 + the indicator of [low, high].
 * Bounds that are both 0 were not given: no table needs numbers that are all 0. */
static size_t apply_proximal(const hw_applying *a)
{
    double rate = a->parameters[0], l1 = a->parameters[1], l2 = a->parameters[2], low = a->parameters[3],
           high = a->parameters[4];
    size_t n = a->rows * a->width, kept = n;
    if (low == 0 && high == 0) {
        low = -HUGE_VAL;
        high = HUGE_VAL;
    }
    for (size_t i = 0; i < n; i++) {
        double x = value_at(a, a->values, i) - rate * value_at(a, a->updates, i);
        double shrunk = fabs(x) - rate * l1;
        x = shrunk > 0 ? copysign(shrunk, x) / (1 + rate * l2) : 0;
        if (!set_value(a, i, x < low ? low : x > high ? high : x) && kept == n)
            kept = i;
    }
    return kept / a->width;
}

static bool is_positive(double value)
{
    return value > 0 && isfinite(value);
}

static const char *check_rate(const double *p)
{
    return is_positive(p[0]) ? NULL : "rate must be finite and above 0";
}

static const char *check_adagrad(const hw_function *function, const double *p)
{
    (void)function;
    const char *wrong = check_rate(p);
    return wrong != NULL ? wrong : is_positive(p[1]) ? NULL : "epsilon must be finite and above 0";
}

static const char *check_adam(const hw_function *function, const double *p)
{
    (void)function;
    const char *wrong = check_rate(p);
    if (wrong != NULL)
        return wrong;
    if (!(p[1] >= 0 && p[1] < 1))
        return "beta1 must be within [0,1)";
    if (!(p[2] >= 0 && p[2] < 1))
        return "beta2 must be within [0,1)";
    return is_positive(p[3]) ? NULL : "epsilon must be finite and above 0";
}

static const char *check_proximal(const hw_function *function, const double *p)
{
    (void)function;
    const char *wrong = check_rate(p);
    if (wrong != NULL)
        return wrong;
    if (!(p[1] >= 0 && isfinite(p[1])))
        return "l1 must be finite and not below 0";
    if (!(p[2] >= 0 && isfinite(p[2])))
        return "l2 must be finite and not below 0";
    if (!(p[3] <= p[4]))
        return "low must not be above high (both 0: no bounds)";
    return p[3] < HUGE_VAL && p[4] > -HUGE_VAL ? NULL : "no number is within low and high";
}

static const hw_function functions[] = {
    {.name = "add", .scattered = true, .adds = true, .apply = apply_add},
    {.name = "assign", .whole = true, .scattered = true, .apply = apply_assign},
    {.name = "max", .whole = true, .scattered = true, .apply = apply_max},
    {.name = "average", .whole = true, .memory = 1, .types = HW_FLOATS, .apply = apply_average},
    {.name = "adagrad",
     .memory = 1,
     .parameters = 2,
     .parameters_least = 2,
     .parameter_names = "rate, epsilon",
     .types = HW_FLOATS,
     .check = check_adagrad,
     .apply = apply_adagrad},
    {.name = "adam",
     .memory = 3,
     .parameters = 4,
     .parameters_least = 4,
     .parameter_names = "rate, beta1, beta2, epsilon",
     .types = HW_FLOATS,
     .check = check_adam,
     .apply = apply_adam},
    {.name = "proximal",
     .parameters = 5,
     .parameters_least = 2,
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

const char *hw_function_wrong(const hw_function *function, const double *parameters, char *text, size_t size)
{
    const char *wrong = function->check != NULL ? function->check(function, parameters) : NULL;
    if (wrong == NULL)
        return NULL;
    if (function->user != NULL) {
        (void)snprintf(text, size, "'%s': %s", function->name, wrong);
        return text;
    }
    size_t used = (size_t)snprintf(text, size, "'%s' (", function->name);
    const char *name = function->parameter_names;
    for (uint32_t i = 0; i < function->parameters && used < size; i++, name += strspn(name, ", ")) {
        int length = (int)strcspn(name, ",");
        used += (size_t)snprintf(text + used, size - used, "%s%.*s %g", i > 0 ? ", " : "", length, name, parameters[i]);
        name += length;
    }
    if (used < size)
        (void)snprintf(text + used, size - used, "): %s", wrong);
    return text;
}
