/* gaps_typed.h - the loops of gaps.c for one type of numbers: included with NUMBER, the type, and OF(name), which adds the
 * type to a name. */

#define WRITE(type)                                                                                                         \
    for (size_t k = 0; k < n; k++) {                                                                                        \
        type gap = (type)(numbers[k + 1] - numbers[k] - 1);                                                                 \
        memcpy(out + k * sizeof gap, &gap, sizeof gap);                                                                     \
    }
#define READ(type)                                                                                                          \
    for (size_t k = 0; k < n; k++) {                                                                                        \
        type gap;                                                                                                           \
        memcpy(&gap, in + k * sizeof gap, sizeof gap);                                                                      \
        numbers[k] = number += (NUMBER)gap + 1;                                                                             \
    }

INLINE bool OF(ascend)(const NUMBER *numbers, size_t count)
{
    NUMBER wrong = 0;
    for (size_t i = 1; i < count; i++) /* without an early exit, so that compilers vectorise it */
        wrong |= (NUMBER)(numbers[i - 1] >= numbers[i]);
    return wrong == 0;
}

INLINE uint64_t OF(bits)(const NUMBER *numbers, size_t n)
{
    NUMBER all = 0;
    for (size_t k = 0; k < n; k++)
        all |= numbers[k + 1] - numbers[k] - 1;
    return all;
}

INLINE void OF(write)(const NUMBER *numbers, size_t n, unsigned width, unsigned char *restrict out)
{
    switch (width) {
    case 1: WRITE(uint8_t) return;
    case 2: WRITE(uint16_t) return;
    case 4: WRITE(uint32_t) return;
    default: WRITE(uint64_t) return;
    }
}

INLINE void OF(read_each)(const unsigned char *in, size_t n, unsigned width, NUMBER *restrict numbers)
{
    NUMBER number = *numbers++;
    switch (width) {
    case 0:
        for (size_t k = 0; k < n; k++)
            numbers[k] = number + (NUMBER)k + 1;
        return;
    case 1: READ(uint8_t) return;
    case 2: READ(uint16_t) return;
    case 4: READ(uint32_t) return;
    default: READ(uint64_t) return;
    }
}

/* Gaps narrower than the numbers overflow at most once in a group, and then the last number is not above the first. Gaps of
 * the same width may overflow anywhere, so each number is checked; such gaps are rare, and the check takes no longer than
 * sending them. */
INLINE bool OF(read_checked)(const unsigned char *in, size_t n, unsigned width, NUMBER *numbers)
{
    OF(read_each)(in, n, width, numbers);
    return width < sizeof *numbers ? numbers[n] > numbers[0] : OF(ascend)(numbers, n + 1);
}

#undef WRITE
#undef READ
#undef OF
#undef NUMBER
