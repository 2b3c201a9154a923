/* draw.h - random numbers of a document, which depend on the seed and its row alone, and those of a word in a training. */
#ifndef HW_ALGORITHMS_LDA_DRAW_H
#define HW_ALGORITHMS_LDA_DRAW_H

#include <stddef.h>
#include <stdint.h>

/* What draws are for: those of one purpose do not depend on how many others there were. */
typedef enum hw_draw_purpose { HW_DRAW_TOPICS = 1, HW_DRAW_HALVES, HW_DRAW_FIRST, HW_DRAW_PASS } hw_draw_purpose;

typedef struct hw_draws {
    uint64_t key, next;
} hw_draws;

/* The finaliser of SplitMix64. */
static inline uint64_t hw_draw_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline hw_draws hw_draws_of(uint64_t seed, hw_draw_purpose purpose, uint64_t row)
{
    return (hw_draws){.key = hw_draw_mix(hw_draw_mix(hw_draw_mix(seed) ^ (uint64_t)purpose) ^ row)};
}

/* For the tokens that a block has of a word. */
static inline hw_draws hw_draws_of_word(uint64_t seed, hw_draw_purpose purpose, uint64_t pass, uint32_t block, size_t word)
{
    uint64_t key = hw_draw_mix(hw_draw_mix(seed) ^ (uint64_t)purpose);
    return (hw_draws){.key = hw_draw_mix(hw_draw_mix(hw_draw_mix(key ^ pass) ^ block) ^ word)};
}

static inline uint64_t hw_draw(hw_draws *draws)
{
    return hw_draw_mix(draws->key ^ hw_draw_mix(draws->next++));
}

/* Returns a number uniform on [0, 1) with 53 bits. */
static inline double hw_draw_uniform(hw_draws *draws)
{
    return (double)(hw_draw(draws) >> 11) * 0x1p-53;
}

/* Returns a number uniform on [0, bound), bound > 0: draws that would make some numbers likelier are left out. */
static inline size_t hw_draw_below(hw_draws *draws, size_t bound)
{
    uint64_t left_out = -(uint64_t)bound % bound, draw = hw_draw(draws);
    while (draw < left_out)
        draw = hw_draw(draws);
    return (size_t)(draw % bound);
}

#endif
