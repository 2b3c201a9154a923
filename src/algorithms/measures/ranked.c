#include "algorithms/measures/ranked.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { SMALL = 16 };

/* Returns an integer that is ordered like the value. */
static uint64_t key(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 != 0 ? ~bits : bits | UINT64_C(1) << 63;
}

static void insert(hw_ranked *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        hw_ranked one = items[i];
        size_t at = i;
        for (; at > 0 && items[at - 1].value > one.value; at--)
            items[at] = items[at - 1];
        items[at] = one;
    }
}

/* Moves items whose key lacks the bit before the others, and returns how many these are. */
static size_t partition(hw_ranked *items, size_t count, uint64_t bit)
{
    size_t low = 0, high = count;
    for (;;) {
        while (low < high && (key(items[low].value) & bit) == 0)
            low++;
        while (low < high && (key(items[high - 1].value) & bit) != 0)
            high--;
        if (low == high)
            return low;
        hw_ranked one = items[low];
        items[low] = items[high - 1];
        items[high - 1] = one;
    }
}

/* Sorts by the highest bit in which keys differ, then each part by lower bits. So the depth is at most 64. */
void hw_ranked_sort(hw_ranked *items, size_t count)
{
    while (count > SMALL) {
        uint64_t first = key(items[0].value), differ = 0, bit = UINT64_C(1) << 63;
        for (size_t i = 1; i < count; i++)
            differ |= key(items[i].value) ^ first;
        if (differ == 0)
            return;
        while ((differ & bit) == 0)
            bit >>= 1;
        size_t low = partition(items, count, bit);
        hw_ranked_sort(items, low);
        items += low;
        count -= low;
    }
    insert(items, count);
}

double hw_ranked_area(const hw_ranked *items, size_t count)
{
    double below = 0.0, within = 0.0, won = 0.0;
    for (size_t i = 0, next; i < count; i = next) {
        double others = 0.0, own = 0.0;
        for (next = i; next < count && items[next].value == items[i].value; next++)
            if (items[next].weight < 0.0)
                others -= items[next].weight;
            else
                own += items[next].weight;
        won += own * (below + 0.5 * others);
        below += others;
        within += own;
    }
    return below > 0.0 && within > 0.0 ? won / (below * within) : NAN;
}

double hw_ranked_quantile(const hw_ranked *items, size_t count, double q)
{
    /* Sums of weights are rounded: a share that is off by this much counts as exact. */
    static const double rounding = 1e-12;
    double total = 0.0, sum = 0.0;
    if (q <= 0.0 || q >= 1.0)
        return items[q <= 0.0 ? 0 : count - 1].value;
    for (size_t i = 0; i < count; i++)
        total += items[i].weight;
    for (size_t i = 0; i + 1 < count; i++) {
        sum += items[i].weight;
        if (fabs(sum - q * total) <= rounding * total)
            return 0.5 * items[i].value + 0.5 * items[i + 1].value;
        if (sum > q * total)
            return items[i].value;
    }
    return items[count - 1].value;
}
