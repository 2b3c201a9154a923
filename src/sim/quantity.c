#include "sim/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hawser/options.h"

typedef struct sim_unit {
    const char *name;
    double size;
} sim_unit;

/* Reads a number and one of the units, ended by a unit without a name. */
static bool read_quantity(const char *text, const sim_unit *units, double *value)
{
    const char *end = hawser_read_number(text, value);
    if (end == NULL || !isfinite(*value))
        return false;
    for (; units->name != NULL; units++)
        if (strcasecmp(end, units->name) == 0) {
            *value *= units->size;
            return true;
        }
    return false;
}

hawser_status sim_read_time(const char *where, const char *text, double *seconds, hawser_error *error)
{
    static const sim_unit units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};
    const char *end = hawser_read_number(text, seconds);
    if (end != NULL && *end == '\0' && *seconds == 0)
        return HAWSER_OK;
    if (!read_quantity(text, units, seconds) || *seconds < 0)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "%s = '%s': expected a time of at least 0, with a unit: 2ns, 50us, 1.5ms, 3s", where, text);
    return HAWSER_OK;
}

hawser_status sim_read_rate(const char *where, const char *text, double *rate, hawser_error *error)
{
    static const sim_unit units[] = {{"kbit", 125}, {"mbit", 125e3}, {"gbit", 125e6}, {"B", 1},
                                     {"kB", 1e3},   {"MB", 1e6},     {"GB", 1e9},     {NULL, 0}};
    if (!read_quantity(text, units, rate) || *rate <= 0)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "%s = '%s': expected a rate above 0, in bits or bytes per second: 10gbit, 100mbit, 2GB, 500MB",
                           where, text);
    return HAWSER_OK;
}

hawser_status sim_read_factor(const char *where, const char *text, double *factor, hawser_error *error)
{
    const char *end = hawser_read_number(text, factor);
    if (end == NULL || *end != '\0' || !isfinite(*factor) || *factor <= 0)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s = '%s': expected a number above 0", where, text);
    return HAWSER_OK;
}

hawser_status sim_read_counts(const char *where, const char *text, uint32_t most, uint32_t *counts, size_t *count,
                              hawser_error *error)
{
    size_t capacity = *count;
    const char *at = text;
    for (*count = 0; *count < capacity; at++) {
        char *end;
        long long value = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : 0;
        if (value < 1 || value > most || (*end != ',' && *end != '\0'))
            break;
        counts[(*count)++] = (uint32_t)value;
        at = end;
        if (*at == '\0')
            return HAWSER_OK;
    }
    return hawser_fail(error, HAWSER_BAD_OPTION,
                       "%s = '%s': expected at most %zu whole numbers from 1 to %u, separated by commas", where, text,
                       capacity, most);
}
