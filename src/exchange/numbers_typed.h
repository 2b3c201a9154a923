/* numbers_typed.h - the kernels of numbers.h for one type. The includer defines HW_T (the type), HW_U (unsigned, of its
 * size), HW_WHOLE (1 for integers), HW_NAME, HW_PRINT (a conversion of printf), HW_FIRST (the search for numbers that are
 * not finite) and HW_OF(name); all but HW_OF are undefined at the end. */

static inline HW_U HW_OF(bits)(HW_T value)
{
    union {
        HW_T number;
        HW_U bits;
    } u = {value};
    return u.bits;
}

/* These return true if the result overflows; it has then wrapped around. */
static inline bool HW_OF(plus)(HW_T a, HW_T b, HW_T *sum)
{
#if HW_WHOLE
    *sum = (HW_T)((HW_U)a + (HW_U)b);
    return ((a ^ *sum) & (b ^ *sum)) < 0;
#else
    *sum = a + b;
    return false;
#endif
}

static inline bool HW_OF(minus)(HW_T a, HW_T b, HW_T *difference)
{
#if HW_WHOLE
    *difference = (HW_T)((HW_U)a - (HW_U)b);
    return ((a ^ b) & (a ^ *difference)) < 0;
#else
    *difference = a - b;
    return false;
#endif
}

/* Integers have no scales: those of their states are 1. */
static inline HW_T HW_OF(scaled)(HW_T value, HW_T scale)
{
    return HW_WHOLE ? value : scale * value;
}

/* A difference of -0.0 is sent as +0.0: it changes nothing, adding up on the way would lose its sign, and +0.0 adds nothing
 * to digests. */
static inline bool HW_OF(delta)(HW_T a, HW_T b, HW_T gain, HW_T *delta)
{
#if HW_WHOLE
    (void)gain;
    return HW_OF(minus)(a, b, delta);
#else
    *delta = (a - b) / gain + (HW_T)0;
    return false;
#endif
}

static size_t HW_OF(changed)(const void *a, const void *b, size_t n)
{
    const HW_T *x = a, *y = b;
    HW_U count = 0; /* of the entries' size, so that the loop uses whole vectors; n is less than 2^32 */
    for (size_t i = 0; i < n; i++)
        count += HW_OF(bits)(x[i]) != HW_OF(bits)(y[i]);
    return (size_t)count;
}

static size_t HW_OF(pick)(const void *cache, const void *origin, size_t n, double gain, bool values, void *out,
                          uint16_t *places, size_t *good)
{
    const HW_T *to = cache, *from = origin;
    HW_T *changed = out;
    size_t count = 0;
    *good = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        if (HW_OF(bits)(to[i]) == HW_OF(bits)(from[i]))
            continue;
        if (values)
            changed[count] = to[i];
        else if (HW_OF(delta)(to[i], from[i], (HW_T)gain, &changed[count]) && *good > count)
            *good = count;
        places[count++] = (uint16_t)i;
    }
    *good = *good < count ? *good : count;
    return count;
}

static size_t HW_OF(subtract)(void *out, const void *from, const void *less, double gain, size_t n)
{
    HW_T *restrict to = out;
    const HW_T *a = from, *b = less;
    if (!HW_WHOLE && gain == 1) {
        for (size_t i = 0; i < n; i++)
            to[i] = a[i] - b[i] + (HW_T)0;
        return n;
    }
    for (size_t i = 0; i < n; i++)
        if (HW_OF(delta)(a[i], b[i], (HW_T)gain, &to[i]))
            return i;
    return n;
}

static size_t HW_OF(add)(void *to, const void *from, double scale, size_t n)
{
    HW_T *restrict sums = to;
    const HW_T *restrict values = from;
    for (size_t i = 0; i < n; i++)
        if (HW_OF(plus)(sums[i], HW_OF(scaled)(values[i], (HW_T)scale), &sums[i]))
            return i;
    return n;
}

static size_t HW_OF(join)(void *to, const void *left, const void *right, size_t n)
{
    HW_T *sums = to;
    const HW_T *a = left, *b = right;
    for (size_t i = 0; i < n; i++)
        if (HW_OF(plus)(a[i], b[i], &sums[i]))
            return i;
    return n;
}

static size_t HW_OF(merge)(void *to, const void *sum, double scale, size_t n)
{
    HW_T *restrict values = to;
    const HW_T *restrict sums = sum;
#if HW_WHOLE
    return HW_OF(add)(values, sums, scale, n);
#else
    for (size_t i = 0; i < n; i++)
        values[i] = sums[i] != 0 ? values[i] + (HW_T)scale * sums[i] : values[i];
    return n;
#endif
}

static size_t HW_OF(scatter)(void *to, size_t offset, const hw_payload *payload, size_t begin, size_t end, double scale)
{
    HW_T *sums = to;
    const HW_T *values = payload->values;
    for (size_t i = begin; i < end; i++) {
        HW_T *sum = &sums[hw_payload_index(payload, i) - offset];
        if (HW_OF(plus)(*sum, HW_OF(scaled)(values[i], (HW_T)scale), sum))
            return i;
    }
    return end;
}

static size_t HW_OF(inc)(void *to, const uint64_t *keys, const void *values, double gain, size_t n)
{
    HW_T *sums = to;
    const HW_T *updates = values;
    for (size_t i = 0; i < n; i++)
        if (HW_OF(plus)(sums[keys[i]], HW_OF(scaled)(updates[i], (HW_T)gain), &sums[keys[i]]))
            return i;
    return n;
}

static size_t HW_OF(hold)(void *held, const void *cache, const void *origin, double gain, bool check, size_t n)
{
    HW_T *sums = held, change, sum;
    const HW_T *to = cache, *from = origin;
    for (size_t i = 0; i < n; i++) {
        if (HW_OF(bits)(to[i]) == HW_OF(bits)(from[i]))
            continue;
#if HW_WHOLE
        bool over = HW_OF(minus)(to[i], from[i], &change);
        (void)gain;
#else
        bool over = false;
        change = (to[i] - from[i]) / (HW_T)gain;
#endif
        over |= HW_OF(plus)(sums[i], change, &sum);
        if (over || (check && HW_FIRST(&sum, 1) == 0))
            return i;
        if (!check)
            sums[i] = sum;
    }
    return n;
}

static size_t HW_OF(fold)(void *cache, void *origin, const void *base, const void *held, const void *was, double gain,
                          bool ended, size_t n)
{
    HW_T *now = cache, *begins = origin, target, change;
    const HW_T *merged = base, *own = held, *before = was;
    for (size_t i = 0; i < n; i++) {
        bool over = false;
        target = merged[i];
        if (own != NULL && own[i] != 0)
            over = HW_OF(plus)(target, HW_OF(scaled)(own[i], (HW_T)gain), &target);
        if (!ended) {
            over |= HW_OF(minus)(now[i], before[i], &change);
            over |= HW_OF(plus)(target, change, &now[i]);
        } else {
            now[i] = target;
        }
        if (own != NULL)
            begins[i] = target;
        if (over)
            return i;
    }
    return n;
}

static double HW_OF(load)(const void *values, size_t i)
{
    return (double)((const HW_T *)values)[i];
}

static void HW_OF(text)(const void *values, size_t i, char text[HW_NUMBER_TEXT])
{
#if HW_WHOLE
    snprintf(text, HW_NUMBER_TEXT, HW_PRINT, ((const HW_T *)values)[i]);
#else
    snprintf(text, HW_NUMBER_TEXT, HW_PRINT, (double)((const HW_T *)values)[i]);
#endif
}

static const hw_numbers HW_OF(row) = {HW_NAME,         sizeof(HW_T), HW_WHOLE,    HW_FIRST,     HW_OF(changed), HW_OF(pick),
                                      HW_OF(subtract), HW_OF(add),   HW_OF(join), HW_OF(merge), HW_OF(scatter), HW_OF(inc),
                                      HW_OF(hold),     HW_OF(fold),  HW_OF(load), HW_OF(text)};

#undef HW_T
#undef HW_U
#undef HW_WHOLE
#undef HW_NAME
#undef HW_PRINT
#undef HW_FIRST
#undef HW_OF
