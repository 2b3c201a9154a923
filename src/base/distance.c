#include "base/distance.h"

#include <string.h>
#include <strings.h>

enum { LONGEST = 63 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t hw_distance(const char *a, const char *b)
{
    size_t n = strnlen(a, LONGEST), m = strnlen(b, LONGEST);
    size_t rows[3][LONGEST + 1] = {{0}}; /* a swap looks two rows back */
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            best = least(best, least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = least(best, before[j - 2] + 1);
            now[j] = best;
        }
    }
    return rows[n % 3][m];
}

size_t hw_distance_typed(const char *typed, const char *known)
{
    if (typed[0] != '\0' && (strncmp(known, typed, strlen(typed)) == 0 || strcasecmp(known, typed) == 0))
        return 0;
    return hw_distance(typed, known);
}

hw_nearest hw_nearest_to(const char *typed)
{
    size_t allowed = (strnlen(typed, LONGEST) + 2) / 3;
    return (hw_nearest){.typed = typed, .distance = (allowed < 4 ? allowed : 4) + 1};
}

bool hw_nearest_try(hw_nearest *nearest, const char *known)
{
    size_t distance = hw_distance_typed(nearest->typed, known);
    if (distance >= nearest->distance)
        return false;
    nearest->distance = distance;
    nearest->best = known;
    return true;
}
