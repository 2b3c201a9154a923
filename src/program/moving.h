/* moving.h - the parts of a moving state (hawser/moving.h): which numbers each has, and which block has it in a clock. */
#ifndef HW_PROGRAM_MOVING_H
#define HW_PROGRAM_MOVING_H

#include "program/program.h"

typedef struct hw_moving_shape {
    size_t lines;
    size_t *offsets; /* lines + 1: the first number of each line */
    uint32_t parts;
    size_t *cut;         /* parts + 1: the first line of each part */
    hawser_owner *owner; /* never NULL */
    void *user;
} hw_moving_shape;

/* Makes a shape of a spec's arrays, which are copied. Returns NULL, and stores the program's mistake, if they make no
 * sense. */
hw_moving_shape *hw_moving_shape_new(hawser_program *program, const hawser_state_spec *spec);
void hw_moving_shape_free(hw_moving_shape *shape);

/* Return the first number of a part in the whole state (of part `parts`: the numbers of all), and the numbers of a part. */
size_t hw_moving_first(const hawser_state *state, uint32_t part);
size_t hw_moving_count(const hawser_state *state, uint32_t part);

/* Returns the numbers of the largest parts, `count` of them: a block has so many at most. */
size_t hw_moving_largest(const hawser_state *state, uint32_t count);

/* Stores the owners of all parts in a clock, and how many each block has. Fails if a block has more or fewer of them than
 * the others, with its number. */
hawser_status hw_moving_owners(const hawser_state *state, uint64_t clock, uint32_t blocks, uint32_t *owners,
                               uint32_t *counts, hawser_error *error) HAWSER_MUST_USE;

#endif
