#include "store/guard.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/values.h"

/* Some rows of an update, with copies of their values and memory before it. */
typedef struct part {
    hw_applying now;
    size_t value_bytes, memory_bytes; /* bytes per number */
    unsigned char *values, *memory;   /* copies */
} part;

static bool number_is_finite(const part *p, size_t i)
{
    const unsigned char *values = p->now.values;
    size_t doubles = p->memory_bytes / sizeof(double);
    return hw_values_not_finite(p->now.type, values + i * p->value_bytes, 1) == 1 &&
           (doubles == 0 || hw_values_not_finite(HW_VALUE_F64, p->now.memory + i * doubles, doubles) == doubles);
}

/* Restores the numbers that are not finite. Returns the first row with such a number, or the number of rows. */
static size_t put_back(const part *p)
{
    size_t numbers = p->now.rows * p->now.width, doubles = numbers * p->memory_bytes / sizeof(double), first = numbers;
    if (hw_values_not_finite(p->now.type, p->now.values, numbers) == numbers &&
        hw_values_not_finite(HW_VALUE_F64, p->now.memory, doubles) == doubles)
        return p->now.rows;
    for (size_t i = numbers; i-- > 0;) {
        if (number_is_finite(p, i))
            continue;
        memcpy((unsigned char *)p->now.values + i * p->value_bytes, p->values + i * p->value_bytes, p->value_bytes);
        if (p->memory_bytes > 0)
            memcpy((unsigned char *)p->now.memory + i * p->memory_bytes, p->memory + i * p->memory_bytes, p->memory_bytes);
        first = i;
    }
    return first / p->now.width;
}

static size_t apply_part(const part *p)
{
    size_t numbers = p->now.rows * p->now.width;
    memcpy(p->values, p->now.values, numbers * p->value_bytes);
    if (p->memory_bytes > 0)
        memcpy(p->memory, p->now.memory, numbers * p->memory_bytes);
    (void)p->now.function->apply(&p->now);
    return put_back(p);
}

hawser_status hw_guard_apply(hw_guard *guard, const hw_applying *applying, size_t *kept, hawser_error *error)
{
    enum { BYTES = 32 << 10 /* bytes that are copied together: they stay in the processor's cache */ };
    part p = {.now = *applying,
              .value_bytes = hw_value_size(applying->type),
              .memory_bytes = applying->function->memory * sizeof(double)};
    size_t value_row = applying->width * p.value_bytes, memory_row = applying->width * p.memory_bytes,
           most = BYTES / (value_row + memory_row);
    most = most > 0 ? most : 1;
    HAWSER_TRY(HW_GROW(&guard->bytes, &guard->capacity, most * (value_row + memory_row), "an update", error));
    p.memory = guard->bytes;
    p.values = guard->bytes + most * memory_row;
    *kept = applying->rows;
    for (size_t row = 0, n; row < applying->rows; row += n) {
        n = applying->rows - row < most ? applying->rows - row : most;
        p.now.rows = n;
        p.now.values = (unsigned char *)applying->values + row * value_row;
        p.now.updates = (const unsigned char *)applying->updates + row * value_row;
        p.now.memory = memory_row > 0 ? applying->memory + row * applying->width * applying->function->memory : NULL;
        size_t first = apply_part(&p);
        if (first < n && *kept == applying->rows)
            *kept = row + first;
    }
    return HAWSER_OK;
}

void hw_guard_free(hw_guard *guard)
{
    free(guard->bytes);
    *guard = (hw_guard){0};
}
