#include "program/moving.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static uint32_t rotate(uint32_t part, uint64_t clock, uint32_t blocks, void *user)
{
    (void)user;
    return (uint32_t)((part % blocks + blocks - clock % blocks) % blocks);
}

/* Returns the place of the first number that is smaller than the one before, or is not `first` at the begin; `count` if all
 * ascend. */
static size_t first_wrong(const size_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] < (i > 0 ? numbers[i - 1] : 0) || (i == 0 && numbers[0] != 0))
            return i;
    return count;
}

/* Returns false, with the program's mistake, for a spec whose arrays make no sense. */
static bool check(hawser_program *program, const hawser_state_spec *spec)
{
    if (spec->offsets == NULL || spec->parts == 0 || spec->cut == NULL) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "moving state '%s' has no %s: it needs .lines, .offsets, .parts and .cut", spec->name,
                           spec->offsets == NULL ? ".offsets"
                           : spec->parts == 0    ? ".parts"
                                                 : ".cut");
        return false;
    }
    if (spec->lines == SIZE_MAX || spec->parts == UINT32_MAX) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "moving state '%s' has an impossible size, %zu lines in %" PRIu32 " parts", spec->name,
                           spec->lines, spec->parts);
        return false;
    }
    size_t bad = first_wrong(spec->offsets, spec->lines + 1);
    if (bad <= spec->lines) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "moving state '%s': offsets[%zu] is %zu; offsets begin with 0 and do not fall", spec->name, bad,
                           spec->offsets[bad]);
        return false;
    }
    if (spec->offsets[spec->lines] > SIZE_MAX / 16) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "moving state '%s' has an impossible size, %zu numbers", spec->name,
                           spec->offsets[spec->lines]);
        return false;
    }
    bad = first_wrong(spec->cut, (size_t)spec->parts + 1);
    if (bad <= spec->parts || spec->cut[spec->parts] != spec->lines) {
        bad = bad <= spec->parts ? bad : spec->parts;
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "moving state '%s': cut[%zu] is %zu; cuts begin with 0, do not fall, and end with the %zu lines",
                           spec->name, bad, spec->cut[bad], spec->lines);
        return false;
    }
    return true;
}

static hawser_status copy(const size_t *from, size_t count, size_t **to, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(to, count, "a moving state's parts", error));
    memcpy(*to, from, count * sizeof *from);
    return HAWSER_OK;
}

hw_moving_shape *hw_moving_shape_new(hawser_program *program, const hawser_state_spec *spec)
{
    hw_moving_shape *shape = NULL;
    hawser_error error = {0};
    if (!check(program, spec))
        return NULL;
    hawser_status status = HW_NEW(&shape, 1, "a moving state's parts", &error);
    if (status == HAWSER_OK) {
        *shape = (hw_moving_shape){.lines = spec->lines,
                                   .parts = spec->parts,
                                   .owner = spec->owner != NULL ? spec->owner : rotate,
                                   .user = spec->owner_user};
        status = copy(spec->offsets, spec->lines + 1, &shape->offsets, &error);
    }
    HAWSER_THEN(status, copy(spec->cut, (size_t)spec->parts + 1, &shape->cut, &error));
    if (status == HAWSER_OK)
        return shape;
    hw_program_mistake(program, error.status, "%s", error.text);
    hw_moving_shape_free(shape);
    return NULL;
}

void hw_moving_shape_free(hw_moving_shape *shape)
{
    if (shape == NULL)
        return;
    free(shape->offsets);
    free(shape->cut);
    free(shape);
}

size_t hw_moving_first(const hawser_state *state, uint32_t part)
{
    return state->moving->offsets[state->moving->cut[part]];
}

size_t hw_moving_count(const hawser_state *state, uint32_t part)
{
    return hw_moving_first(state, part + 1) - hw_moving_first(state, part);
}

size_t hw_moving_largest(const hawser_state *state, uint32_t count)
{
    size_t numbers = 0, most = SIZE_MAX;
    for (uint32_t done = 0; done < count;) {
        size_t next = 0;
        uint32_t equal = 0;
        for (uint32_t p = 0; p < state->moving->parts; p++) {
            size_t own = hw_moving_count(state, p);
            if (own < most && own > next) {
                next = own;
                equal = 1;
            } else if (own < most && own == next)
                equal++;
        }
        if (next == 0)
            break;
        equal = equal < count - done ? equal : count - done;
        numbers += next * equal;
        done += equal;
        most = next;
    }
    return numbers;
}

hawser_status hw_moving_owners(const hawser_state *state, uint64_t clock, uint32_t blocks, uint32_t *owners,
                               uint32_t *counts, hawser_error *error)
{
    const hw_moving_shape *shape = state->moving;
    uint32_t each = shape->parts / blocks, many = blocks, few = blocks;
    memset(counts, 0, blocks * sizeof *counts);
    for (uint32_t p = 0; p < shape->parts; p++) {
        owners[p] = shape->owner(p, clock, blocks, shape->user);
        if (owners[p] >= blocks)
            return hawser_fail(error, HAWSER_BAD_PROGRAM,
                               "moving state '%s': in clock %" PRIu64 " the owner of part %" PRIu32 " is block %" PRIu32
                               ", and there are %" PRIu32 " blocks",
                               state->name, clock, p, owners[p], blocks);
        counts[owners[p]]++;
    }
    for (uint32_t b = blocks; b-- > 0;) {
        many = counts[b] > each ? b : many;
        few = counts[b] < each ? b : few;
    }
    if (many == blocks)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_PROGRAM,
                       "moving state '%s': in clock %" PRIu64 " block %" PRIu32 " has %" PRIu32 " parts and block %" PRIu32
                       " has %" PRIu32 "; each block must have %" PRIu32 " of them",
                       state->name, clock, many, counts[many], few, counts[few], each);
}
