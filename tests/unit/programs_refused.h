/* programs_refused.h - which of the plan's refusals a drawn program must meet. It includes nothing of src/. */
#ifndef HW_TESTS_UNIT_PROGRAMS_REFUSED_H
#define HW_TESTS_UNIT_PROGRAMS_REFUSED_H

#include "programs_draw.h"

/* What the plan refuses: texts of docs/refusals.md. */
typedef enum refusal {
    TWO_UPDATE,
    ONE_READS,
    ONE_LOCAL,
    ONE_REDUCES,
    SYNC_REDUCES,
    ROWS_BY_COLUMN,
    COLUMNS_BY_ROW,
    NOT_SPLIT,
    SAME_WORK,
    STORED_ORDER,
    ONE_STORED,
    NONE_STORED,
    NOT_ALL_STORED,
    LOADED_BY_COLUMN,
    LOADED_BY_ROW,
    TIED_ALONE,
    ADDED_CENTRIC,
    TWO_POLICIES,
    SYNC_OUTSIDE,
    SYNC_STORED,
    SYNC_IDLE,
    SYNC_LOOSER,
    FILTER_IDLE,
    WHOLE_RULE,
    WHOLE_FORM,
    WHOLE_RELATIVE,
    HELD_MIXED,
    MERGE_ONE,
    TIED_TYPES,
    OTHER_BLOCKS,
    STORED_I32,
    ADDED_I64,
    MOST_BEGINS,
    NEST_ORDERED,
    INNER_TESTED,
    INNER_SYNC,
    INNER_STORED,
    BRANCH_TAP,
    BRANCH_INNER,
    BRANCH_STORED,
    MANY_STAGES,
    REFUSALS
} refusal;
static const char *const refusal_texts[] = {
    "two children of a parallel update state",
    "a child of a parallel reads state",
    "runs on one block, so it cannot update local state",
    "runs on one block, so it cannot reduce over all blocks",
    "reduces over all blocks, but loop",
    "is split by column, but its matrix is stored by rows",
    "is split by row, but its matrix is stored by columns (CSC)",
    "split",
    "every block would do the same work",
    "but the store has these changes only when the clock has ended",
    "so it cannot update all shares of stored state",
    "which is for stored states, and it has none",
    "which is for stored states, but it updates",
    "is split by row, but hawser_job_load has given each of the",
    "the rows of its own blocks (hawser_load.split = HAWSER_BY_ROW)",
    "to which it is tied; declare both",
    "which needs one writer per chunk, but all blocks add to stored state",
    "under policies that order its chunks differently",
    "has a sync of its own, but is in no loop that blocks run by themselves",
    "has a sync of its own, but uses stored states",
    "has a sync of its own, but uses no replicated or partitioned state that loop",
    "which waits less than",
    "has a filter (.filter), but no unit updates it",
    "whose updates are added up exactly: it can have no",
    "which is sent exactly: it cannot be rounded",
    "which the relative filter cannot order",
    "updates of one block are exact and cannot be held with those of all",
    "has a merge function, but only units on one block update it",
    "only states of f64 can be tied",
    "give --workers",
    "which the store does not keep",
    "cannot change without a risk of wrapping around",
    "only one that is added to can begin elsewhere",
    "holds other operators than units, so it can only be bsp, ssp or tap",
    "where blocks agree on no test; end it by a number of clocks alone",
    "give it the sync of the loop around it, or bsp",
    "but the store has the changes of a clock when it has ended",
    "under tap, where no clock waits for the metrics by which it would be chosen",
    "and it is chosen once for a clock",
    "has units that use stored states, which the store counts in every clock",
    "begins one stage too many",
};

typedef uint64_t refusal_set; /* one bit each */

/* Returns the refusals of what a state of this type cannot have. */
static refusal_set refusals_of_type(const drawn *d, const drawn_state *s)
{
    bool whole = is_whole(s) && s->kind <= DERIVED;
    bool relative = s->filter != NULL ? has_relative_filter(s) : d->relative;
    return (refusal_set)(whole && (s->damping != 1 || s->gain != 1 || s->bounded)) << WHOLE_RULE |
           (refusal_set)(whole && s->form != HAWSER_EXACT) << WHOLE_FORM |
           (refusal_set)(whole && relative) << WHOLE_RELATIVE |
           (refusal_set)(s->kind >= STORED && s->type == HAWSER_I32) << STORED_I32 |
           (refusal_set)(s->kind == ADDED && !s->most && s->type == HAWSER_I64) << ADDED_I64 |
           (refusal_set)(s->most && s->begins) << MOST_BEGINS |
           (refusal_set)(s->tied >= 0 && (s->type != HAWSER_F64 || d->state[s->tied].type != HAWSER_F64)) << TIED_TYPES;
}

/* Returns whether a unit on one block and one on all update a state in the same phase. */
static bool is_mixed(const drawn *d, uint32_t s)
{
    for (int i = 0; i < (int)d->operators; i++)
        for (int j = 0; j < (int)d->operators && d->op[i].kind == UNIT; j++) {
            const drawn_unit *one = &d->unit[d->op[i].unit], *all = &d->unit[d->op[j].unit];
            if (d->op[j].kind == UNIT && one->one && !all->one && one->updates[s] && all->updates[s] &&
                phase_of(d, i) == phase_of(d, j))
                return true;
        }
    return false;
}

/* A merge function gets nothing of units on one block. */
static bool merges_in_vain(const drawn *d, uint32_t s)
{
    bool any = false;
    for (uint32_t i = 0; i < d->operators; i++) {
        if (d->op[i].kind != UNIT || !d->unit[d->op[i].unit].updates[s])
            continue;
        if (!d->unit[d->op[i].unit].one)
            return false;
        any = true;
    }
    return d->state[s].bounded && any;
}

/* What may be held or rounded has one rule. */
static refusal_set refusals_of_held(const drawn *d, uint32_t s)
{
    const drawn_state *state = &d->state[s];
    bool filtered = state->filter != NULL ? strcmp(state->filter, "none") != 0 && state->quota > 0 : d->filtered;
    bool ruled = state->damping != 1 || state->gain != 1 || state->bounded;
    bool held = state->kind <= DERIVED && state->kind != PARTITIONED && (filtered || state->form != HAWSER_EXACT);
    return (refusal_set)(held && ruled && d->blocks > 1 && is_mixed(d, s)) << HELD_MIXED;
}

static refusal_set refusals_of_states(const drawn *d, uint32_t nodes)
{
    refusal_set found = 0;
    bool by_rows = d->layout == HAWSER_CSR || d->layout == HAWSER_DENSE_ROWS;
    found |= (refusal_set)(d->split == HAWSER_BY_COLUMN && by_rows) << ROWS_BY_COLUMN;
    found |= (refusal_set)(d->split == HAWSER_BY_ROW && d->layout == HAWSER_CSC) << COLUMNS_BY_ROW;
    for (uint32_t s = 0; s < d->states; s++)
        found |= (refusal_set)(d->state[s].kind >= ALONG && d->state[s].width > 0 && !is_split(d)) << NOT_SPLIT;
    for (uint32_t s = 0; s < d->states; s++)
        found |= (refusal_set)(d->state[s].begins && d->state[s].parts > d->blocks) << OTHER_BLOCKS;
    for (uint32_t s = 0; s < d->states; s++)
        found |= (refusal_set)(d->state[s].filter != NULL && !uses(d, -1, s, false, true)) << FILTER_IDLE |
                 refusals_of_type(d, &d->state[s]) | refusals_of_held(d, s) | (refusal_set)merges_in_vain(d, s) << MERGE_ONE;
    if (nodes > 1 && d->source >= SVMLIGHT && d->load == HAWSER_BY_COLUMN)
        found |= (refusal_set)(d->split == HAWSER_BY_ROW) << LOADED_BY_COLUMN;
    if (nodes > 1 && d->source >= SVMLIGHT && d->load == HAWSER_BY_ROW)
        found |= (refusal_set)(d->split != HAWSER_BY_ROW) << LOADED_BY_ROW;
    return found;
}

static refusal_set refusals_of_unit(const drawn *d, const drawn_unit *unit)
{
    refusal_set found = (refusal_set)(unit->one && unit->reduces) << ONE_REDUCES;
    bool has_part = false;
    for (uint32_t s = 0; s < d->states; s++)
        has_part |= unit->updates[s] && d->state[s].kind >= PARTITIONED && d->state[s].kind != ADDED;
    for (uint32_t s = 0; s < d->states; s++) {
        const drawn_state *state = &d->state[s];
        if (!unit->updates[s])
            continue;
        found |= (refusal_set)(unit->one && state->kind == LOCAL) << ONE_LOCAL;
        found |= (refusal_set)(unit->one && state->kind == STORED) << ONE_STORED;
        found |= (refusal_set)(state->tied >= 0 && !unit->updates[state->tied]) << TIED_ALONE;
        found |= (refusal_set)(unit->data && !is_split(d) && !unit->one && d->blocks > 1 && !has_part &&
                               (state->kind == REPLICATED || state->kind == DERIVED))
                 << SAME_WORK;
    }
    return found;
}

/* Fills `order` with the units below an operator, in their order. */
static uint32_t units_below(const drawn *d, int container, uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < d->operators; i++) {
        if (d->op[i].parent != container)
            continue;
        if (d->op[i].kind == UNIT)
            order[count++] = d->op[i].unit;
        else
            count = units_below(d, (int)i, order, count);
    }
    return count;
}

static refusal_set refusals_of_loop(const drawn *d, int loop)
{
    refusal_set found = 0;
    uint32_t order[UNITS], count = units_below(d, loop, order, 0);
    hawser_tightness tightness = d->op[loop].sync.tightness;
    bool stores = false, exchanges = false, centric = tightness == HAWSER_CENTRIC || tightness == HAWSER_DELAY;
    for (uint32_t s = 0; s < d->states; s++)
        for (uint32_t u = 0; u < count; u++) {
            const drawn_unit *unit = &d->unit[order[u]];
            bool stored = d->state[s].kind >= STORED;
            stores |= stored && (unit->reads[s] || unit->updates[s]);
            exchanges |= d->state[s].kind < LOCAL && unit->updates[s];
            found |= (refusal_set)(tightness != HAWSER_BSP && unit->reduces) << SYNC_REDUCES;
            found |= (refusal_set)(tightness == HAWSER_CENTRIC && d->state[s].kind == ADDED && unit->updates[s])
                     << ADDED_CENTRIC;
            for (uint32_t before = 0; before < u && stored && is_shipped(d, loop); before++)
                found |= (refusal_set)(d->unit[order[before]].updates[s] && (unit->reads[s] || unit->updates[s]))
                         << STORED_ORDER;
        }
    found |= (refusal_set)(centric && !stores) << NONE_STORED | (refusal_set)(centric && stores && exchanges)
                                                                    << NOT_ALL_STORED;
    return found;
}

enum { STEPS = 400 }; /* of a clock; a loop of more is refused before */

/* One run of a unit in a clock of a shipped loop. */
typedef struct drawn_step {
    uint32_t op, turn; /* turn: which of the unit's runs in the clock */
} drawn_step;

/* Lists the runs of units in a clock in their order, one for each iteration of the loops around them. Returns their
 * number. */
static uint32_t steps_below(const drawn *d, int container, uint32_t turn, drawn_step *steps, uint32_t count)
{
    for (uint32_t i = 0; i < d->operators; i++) {
        const drawn_operator *o = &d->op[i];
        if (o->parent != container)
            continue;
        if (o->kind == UNIT && count < STEPS)
            steps[count++] = (drawn_step){i, turn};
        for (uint32_t round = 0; o->kind != UNIT && round < (o->kind == LOOP ? o->clocks : 1); round++)
            count = steps_below(d, (int)i, o->kind == LOOP ? turn * o->clocks + round : turn, steps, count);
    }
    return count;
}

/* Counts the stages of a clock: one begins where a unit reads what another has changed in this stage on other blocks. */
static uint32_t stages_of(const drawn *d, int loop)
{
    drawn_step steps[STEPS];
    uint32_t count = steps_below(d, loop, 0, steps, 0), stages = 1;
    bool changed[STATES] = {false};
    for (uint32_t i = 0; i < count; i++) {
        const drawn_unit *unit = &d->unit[d->op[steps[i].op].unit];
        bool cut = false;
        for (uint32_t s = 0; s < d->states; s++)
            cut |= changed[s] && (unit->reads[s] || (unit->updates[s] && d->state[s].kind <= DERIVED));
        stages += cut;
        for (uint32_t s = 0; s < d->states; s++)
            changed[s] = (changed[s] && !cut) || (unit->updates[s] && d->state[s].kind < LOCAL);
    }
    return stages;
}

/* Finds what a loop around other operators, or inside of a late one, may not be. */
static refusal_set refusals_of_nest(const drawn *d, int loop)
{
    const drawn_operator *o = &d->op[loop];
    int outer = shipped_around(d, loop), above = loop_around(d, loop);
    refusal_set found = 0;
    uint32_t order[UNITS], count = units_below(d, loop, order, 0);
    bool ordered = o->sync.tightness == HAWSER_CENTRIC || o->sync.tightness == HAWSER_DELAY;
    if (outer < 0) {
        found |= (refusal_set)(ordered && !has_only_units(d, loop)) << NEST_ORDERED;
        return found | (refusal_set)(is_shipped(d, loop) && stages_of(d, loop) > 64) << MANY_STAGES;
    }
    bool same = o->sync.tightness == d->op[above].sync.tightness && o->sync.staleness == d->op[above].sync.staleness;
    for (uint32_t u = 0; u < count; u++)
        found |= (refusal_set)uses_stored(d, &d->unit[order[u]]) << INNER_STORED;
    return found | (refusal_set)o->tested << INNER_TESTED |
           (refusal_set)(o->sync.tightness != HAWSER_BSP && !same) << INNER_SYNC;
}

static refusal_set refusals_of_branch(const drawn *d, int branch)
{
    int loop = shipped_around(d, branch);
    uint32_t order[UNITS], count = units_below(d, branch, order, 0);
    refusal_set found = 0;
    for (uint32_t u = 0; u < count && loop >= 0; u++)
        found |= (refusal_set)uses_stored(d, &d->unit[order[u]]) << BRANCH_STORED;
    return found | (refusal_set)(loop >= 0 && d->op[loop].sync.tightness == HAWSER_TAP) << BRANCH_TAP |
           (refusal_set)(loop >= 0 && loop_around(d, branch) != loop) << BRANCH_INNER;
}

static refusal_set refusals_of_parallel(const drawn *d, int parallel)
{
    refusal_set found = 0;
    for (uint32_t s = 0; s < d->states; s++)
        for (uint32_t i = 0; i < d->operators; i++)
            for (uint32_t j = 0; j < d->operators; j++)
                if (i != j && d->op[i].parent == parallel && d->op[j].parent == parallel && uses(d, (int)i, s, false, true))
                    found |= (refusal_set)uses(d, (int)j, s, false, true) << TWO_UPDATE |
                             (refusal_set)uses(d, (int)j, s, true, false) << ONE_READS;
    return found;
}

/* Returns by how many clocks a sync lets a block be behind. */
static uint32_t slack_of(hawser_sync sync)
{
    return sync.tightness == HAWSER_BSP ? 0 : sync.tightness == HAWSER_SSP ? sync.staleness : UINT32_MAX;
}

static refusal_set refusals_of_own_sync(const drawn *d, uint32_t number)
{
    const drawn_unit *unit = &d->unit[d->op[number].unit];
    int loop = phase_of(d, (int)number), near = loop_around(d, (int)number);
    if (!unit->strict)
        return 0;
    if (d->op[loop].kind != LOOP) /* in a loop that the driver steps, all units have bsp anyway */
        return (refusal_set)(near < 0 || slack_of(unit->sync) > 0) << SYNC_OUTSIDE;
    return (refusal_set)uses_stored(d, unit) << SYNC_STORED |
           (refusal_set)!has_what_to_wait_for(d, unit, loop) << SYNC_IDLE |
           (refusal_set)(slack_of(unit->sync) > slack_of(d->op[near].sync)) << SYNC_LOOSER;
}

/* Returns the age that a loop's policy allows a chunk; policies without an order of chunks have none. */
static uint32_t age_of(hawser_sync sync)
{
    return sync.tightness == HAWSER_BSP ? 0 : sync.tightness == HAWSER_CENTRIC ? sync.staleness : UINT32_MAX;
}

static refusal_set refusals_of_ages(const drawn *d)
{
    for (uint32_t s = 0; s < d->states; s++)
        for (uint32_t i = 0; i < d->operators; i++)
            for (uint32_t j = 0; j < i; j++)
                if (d->state[s].kind >= STORED && d->op[i].kind == LOOP && d->op[j].kind == LOOP && is_shipped(d, (int)i) &&
                    is_shipped(d, (int)j) && uses(d, (int)i, s, false, true) && uses(d, (int)j, s, false, true) &&
                    age_of(d->op[i].sync) != age_of(d->op[j].sync))
                    return UINT64_C(1) << TWO_POLICIES;
    return 0;
}

/* Returns the set of refusals that a program gives reason for; 0: it must run. */
static refusal_set refusals_of(const drawn *d, uint32_t nodes)
{
    refusal_set found = refusals_of_states(d, nodes) | refusals_of_ages(d);
    for (uint32_t u = 0; u < d->units; u++)
        found |= refusals_of_unit(d, &d->unit[u]);
    for (uint32_t i = 0; i < d->operators; i++)
        found |= d->op[i].kind == LOOP       ? refusals_of_loop(d, (int)i) | refusals_of_nest(d, (int)i)
                 : d->op[i].kind == BRANCH   ? refusals_of_branch(d, (int)i)
                 : d->op[i].kind == PARALLEL ? refusals_of_parallel(d, (int)i)
                 : d->op[i].kind == UNIT     ? refusals_of_own_sync(d, i)
                                             : 0;
    return found;
}

#endif
