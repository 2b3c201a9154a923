/*
 * programs_draw.h - draws a program from a seed: data, states, operators, units and policies. It says in words what it has
 * drawn. It includes nothing of src/.
 */
#ifndef HW_TESTS_UNIT_PROGRAMS_DRAW_H
#define HW_TESTS_UNIT_PROGRAMS_DRAW_H

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "hawser/hawser.h"
#include "hawser/stored.h"

#ifndef PROGRAM_BLOCKS
#define PROGRAM_BLOCKS 4
#endif

enum {
    BLOCKS = PROGRAM_BLOCKS, /* at most */
    STATES = 5,
    UNITS = 10,
    OPERATORS = 32,
    CHILDREN = 3,
    SIZE = 1100,
    ROWS = 13,
    COLS = 11,
    CELLS = ROWS * COLS,
    VALUE = 3, /* of a cell that counts numbers, at most */
    ENTRIES = VALUE * CELLS,
    LINES = 9,          /* of a moving state, */
    PARTS = 2 * BLOCKS, /* its parts, */
    NUMBERS = 4 * LINES /* and its numbers */
};

typedef enum kind { REPLICATED, DERIVED, PARTITIONED, ALONG, LOCAL, STORED, ADDED, KINDS } kind;
static const char *const kind_names[] = {"replicated", "derived", "partitioned",        "along data",
                                         "local",      "stored",  "stored and added to"};
typedef enum source { ARRAYS, MADE, SVMLIGHT, CSV, NPY, SOURCES } source;
static const char *const source_names[] = {"arrays", "hawser_dataset_from", "svmlight file", "CSV file", "npy file"};
static const char *const layout_names[] = {"dense", "CSC", "CSR", "dense rows"};
static const char *const split_names[] = {"by column", "by row", "whole", "fetched"};
static const char *const type_names[] = {
    [HAWSER_F64] = "f64", [HAWSER_F32] = "f32", [HAWSER_I64] = "i64", [HAWSER_I32] = "i32"};
typedef enum way { IN_PLACE, TOUCHED, INCREASED, WAYS } way; /* how a unit changes a replicated state */
typedef enum operator_kind { UNIT, SEQUENCE, PARALLEL, LOOP, BRANCH } operator_kind;

typedef struct drawn_state {
    kind kind;
    size_t count, width; /* width: numbers per column or row of the data; 0: it is not along data */
    size_t line;         /* numbers per line, and per column of a replicated state */
    hawser_split by;     /* a partitioned or stored state: what its lines are */
    bool matrix;         /* a partitioned or stored state is made as a matrix */
    bool begins;         /* it has first values */
    bool most;           /* a stored state that blocks change: by "max", else by "add" */
    uint32_t parts;      /* a local state of blocks: those for which it has first values; 0: all begin with the same */
    hawser_type type;
    double damping, gain;
    bool bounded; /* a merge function of the user */
    bool sparse;  /* units change few of its entries */
    int tied;     /* a local state: the replicated one; -1: none */
    int product;  /* a derived state: the coordinates of CoCoA whose product with the data it is; -1: it is none */
    hawser_form form;
    const char *filter; /* its own; NULL: the job's */
    uint64_t quota, max_held;
} drawn_state;

typedef struct drawn_unit {
    bool one, yields, data, reduces, remembers, reports;
    bool reads[STATES], updates[STATES];
    bool unsure[STATES]; /* it reads a state that blocks add to meanwhile */
    way how[STATES];
    bool solves;              /* CoCoA: it is a local solver */
    bool moves, writes_parts; /* it uses the moving state, and changes it */
    bool counts_entries, writes_entries;
    bool strict; /* it has a sync of its own */
    hawser_sync sync;
} drawn_unit;

typedef struct drawn_operator {
    operator_kind kind;
    int parent; /* -1: the root, which is a sequence */
    uint32_t unit, clocks;
    bool tested; /* a loop ends by a metric, too, to which its test adds the number of its calls */
    hawser_sync sync;
} drawn_operator;

/* The moving state "n", and the entries state "z". */
typedef struct drawn_parts {
    bool there, begins;
    hawser_type type;
    bool own; /* it has an owner function, else parts rotate */
    size_t lines, offsets[LINES + 1], cut[PARTS + 1];
    uint32_t parts;
} drawn_parts;

typedef struct drawn_entries {
    bool there, begins;
    bool by_value; /* the data are counts, of numbers of the state */
    hawser_type type;
} drawn_entries;

typedef struct drawn {
    uint64_t seed;
    uint32_t blocks, states, units, operators;
    source source;
    hawser_layout layout;
    hawser_type type;
    hawser_split load, split; /* load: of a file */
    size_t rows, cols;
    uint32_t density; /* of 8 cells, this many are stored */
    bool real;        /* numbers that are rounded when they are added */
    bool shares;      /* all tests count their calls together, beside their own */
    bool counts;      /* entry 0 of a replicated state counts its updates */
    bool relative;    /* the job has the relative filter */
    bool filtered;    /* the job has a filter and a quota */
    drawn_state state[STATES];
    drawn_unit unit[UNITS];
    drawn_operator op[OPERATORS];
    drawn_parts moving;
    drawn_entries entries;
    uint64_t clocks, bytes; /* of the blocks in the last run */
    /* What units have seen and done, on several threads. */
    atomic_bool early;   /* a unit has not seen what the policy promises */
    atomic_bool reached; /* one has seen no more than that, of a state with several updates in a clock */
} drawn;

/* What may be drawn. */
typedef struct choices {
    hawser_sync sync; /* of the loops that the blocks run */
    bool flat;        /* one loop in the root, for the count of what a unit has seen */
    bool nested;      /* with `flat`: loops inside of that loop */
    bool plain;       /* no states, rules and calls for which only BSP gives one answer */
    bool files;       /* data may come from files */
    bool rounds;      /* replicated states may be sent rounded */
    bool stored;      /* with `plain`: stored states after all */
    bool whole;       /* whole numbers alone */
} choices;

static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint32_t below(uint64_t *random, uint32_t bound)
{
    return (uint32_t)(next(random) % bound);
}

static bool one_in(uint64_t *random, uint32_t bound)
{
    return below(random, bound) == 0;
}

/* Returns a stream of its own for one thing that is drawn, so that the rest of a seed's program does not depend on it. */
static uint64_t apart(uint64_t seed, uint32_t what)
{
    uint64_t random = seed * 64 + what;
    return next(&random);
}

/* ---------------------------------------------------------------------------------------------------------- drawing ---- */

static bool is_split(const drawn *d)
{
    return d->split == HAWSER_BY_COLUMN || d->split == HAWSER_BY_ROW;
}

/* Returns how many columns or rows the blocks share. */
static size_t extent_of(const drawn *d)
{
    return d->split == HAWSER_BY_ROW ? d->rows : d->cols;
}

static bool is_sparse(const drawn *d)
{
    return d->layout == HAWSER_CSC || d->layout == HAWSER_CSR;
}

static void draw_data(uint64_t *random, const choices *may, drawn *d)
{
    static const hawser_split fitting[] = {HAWSER_BY_COLUMN, HAWSER_BY_COLUMN, HAWSER_BY_ROW, HAWSER_BY_ROW};
    d->rows = 1 + below(random, ROWS);
    d->cols = 1 + below(random, COLS);
    d->density = 1 + below(random, 8);
    d->type = one_in(random, 3) ? HAWSER_F32 : HAWSER_F64;
    d->source = may->files && one_in(random, 2) ? (source)(SVMLIGHT + below(random, 3)) : (source)below(random, 2);
    d->layout = (hawser_layout)below(random, 4);
    d->split = fitting[d->layout];
    if (d->layout == HAWSER_DENSE && one_in(random, 2))
        d->split = HAWSER_BY_ROW;
    if (d->source >= SVMLIGHT) { /* readers choose the layout, dense if it takes less memory */
        d->load = (hawser_split)below(random, 2);
        d->density = d->source == SVMLIGHT ? 2 : 8;
        d->rows += 5;
        d->cols += d->source == SVMLIGHT ? 4 : 0;
        d->rows = d->rows < ROWS ? d->rows : ROWS;
        d->cols = d->cols < COLS ? d->cols : COLS;
        d->layout = d->load == HAWSER_BY_ROW ? HAWSER_DENSE_ROWS : HAWSER_DENSE;
        if (d->source == SVMLIGHT)
            d->layout = d->load == HAWSER_BY_ROW ? HAWSER_CSR : HAWSER_CSC;
        d->split = d->load;
    }
    if (one_in(random, 8))
        d->split = (hawser_split)below(random, 4);
    else if (one_in(random, 6))
        d->split = one_in(random, 2) ? HAWSER_WHOLE : HAWSER_FETCHED;
}

static bool has_relative_filter(const drawn_state *s)
{
    return s->filter != NULL && strcmp(s->filter, "relative") == 0;
}

/* Draws a filter for one state alone. */
static void draw_filter(uint64_t random, const choices *may, drawn_state *s)
{
    static const char *const filters[] = {"none", "random", "round-robin", "absolute", "relative", "fifo"};
    if (!may->rounds || s->kind != REPLICATED || !(may->flat || one_in(&random, 3)))
        return;
    s->filter = filters[below(&random, 6)];
    if (s->filter == filters[0])
        return;
    s->quota = 12 + 8 * (uint64_t)below(&random, 5);
    s->max_held = below(&random, 4);
}

/* Draws the shape of a state, and whether it has first values. */
static void draw_shape(drawn *d, uint32_t number)
{
    uint64_t random = apart(d->seed, 53 + number);
    drawn_state *s = &d->state[number];
    bool other = one_in(&random, 2);
    if (s->kind == LOCAL && s->tied < 0 && one_in(&random, 3)) { /* of blocks, whatever the data */
        s->count = d->blocks * (1 + (size_t)below(&random, 4));
        s->width = 0;
    }
    s->line = s->kind <= PARTITIONED || (s->width == 0 && s->kind != LOCAL) ? 1
              : s->width > 0                                                ? s->width
                                                                            : s->count / d->blocks;
    if ((s->kind == PARTITIONED || (s->kind >= STORED && s->width == 0)) && other) {
        s->line = 1 + below(&random, 3);
        s->count *= s->line;
    }
    if (s->kind <= DERIVED && other && s->count % 2 == 0)
        s->line = s->count / 2;
    s->matrix = s->kind >= PARTITIONED && s->kind != LOCAL && other;
    s->by = one_in(&random, 2) ? HAWSER_BY_ROW : HAWSER_BY_COLUMN;
    s->begins = s->kind != DERIVED && one_in(&random, 3);
    if (s->kind == STORED && d->real && one_in(&random, 4)) /* a maximum is never rounded */
        s->kind = ADDED;
    s->most = s->kind == ADDED && (d->real || one_in(&random, 3));
    s->begins = s->begins && (!s->most || one_in(&random, 8));
    if (s->kind == LOCAL && s->width == 0 && one_in(&random, 2))
        s->parts = d->blocks + one_in(&random, 20);
}

static bool is_whole(const drawn_state *s)
{
    return s->type == HAWSER_I64 || s->type == HAWSER_I32;
}

static bool is_tied_to(const drawn *d, uint32_t number)
{
    for (uint32_t s = 0; s < d->states; s++)
        if (d->state[s].tied == (int)number)
            return true;
    return false;
}

/* Adds the product of the data and the coordinates of CoCoA, and the coordinates. */
static void draw_coordinates(const choices *may, drawn *d)
{
    static const double dampings[] = {1, 0.5, 0.25}, gains[] = {1, 2, 3};
    uint64_t random = apart(d->seed, 58);
    uint32_t v = d->states;
    if (may->plain || may->flat || !is_split(d) || v + 2 > STATES || !one_in(&random, 4))
        return;
    d->state[v] = (drawn_state){.kind = DERIVED, .tied = -1, .product = (int)v + 1, .line = 1};
    d->state[v].count = d->split == HAWSER_BY_ROW ? d->cols : d->rows;
    d->state[v].damping = dampings[below(&random, 3)];
    d->state[v].gain = gains[below(&random, 3)];
    d->state[v + 1] =
        (drawn_state){.kind = LOCAL, .tied = (int)v, .product = -1, .line = 1, .width = 1, .damping = 1, .gain = 1};
    d->state[v + 1].count = extent_of(d);
    d->state[v + 1].begins = one_in(&random, 2);
    d->states += 2;
}

/* Makes units local solvers, at least one if there are coordinates. */
static void draw_solvers(drawn *d)
{
    uint64_t random = apart(d->seed, 59);
    uint32_t alpha = d->states - 1, sure = below(&random, d->units);
    int v = d->state[alpha].tied;
    for (uint32_t u = 0; u < d->units && v >= 0 && d->state[v].product == (int)alpha; u++) {
        drawn_unit *unit = &d->unit[u];
        if (u != sure && !one_in(&random, 4))
            continue;
        unit->one = unit->yields = unit->reduces = false;
        unit->solves = unit->data = true;
        memset(unit->updates, 0, sizeof unit->updates);
        unit->updates[v] = unit->updates[alpha] = true;
        unit->how[v] = IN_PLACE;
    }
}

/* Draws the type of a stored state. The store has no i32, and adds no integers of programs: few have both. */
static hawser_type stored_type(uint64_t *random, const drawn_state *s)
{
    static const hawser_type types[] = {HAWSER_F64, HAWSER_F32, HAWSER_I64, HAWSER_I32};
    uint32_t fitting = s->kind == ADDED && !s->most ? 2 : 3;
    return types[one_in(random, 20) ? 3 : one_in(random, 20) ? 2 : below(random, fitting)];
}

/* Draws the type of a state. Few integers keep what integers cannot have, and few ties are of other types: they are
 * refused. */
static void draw_type(drawn *d, uint32_t number)
{
    static const hawser_type types[] = {HAWSER_F64, HAWSER_F32, HAWSER_I64, HAWSER_I32};
    uint64_t random = apart(d->seed, 48 + number);
    drawn_state *s = &d->state[number];
    bool tied = s->tied >= 0 || is_tied_to(d, number);
    if (!one_in(&random, 2) || (tied && !one_in(&random, 20)))
        return;
    s->type = s->kind >= STORED ? stored_type(&random, s) : types[below(&random, 4)];
    if (s->kind > DERIVED || !is_whole(s) || one_in(&random, 16))
        return;
    s->damping = s->gain = 1;
    s->bounded = false;
    s->form = HAWSER_EXACT;
    if (has_relative_filter(s))
        s->filter = "absolute";
}

static void draw_state(uint64_t *random, const choices *may, const drawn *d, uint32_t number, drawn_state *s)
{
    static const double dampings[] = {1, 1, 0.5, 0.25}, gains[] = {1, 1, 1, 2};
    *s = (drawn_state){.kind = (kind)below(random, may->plain && !may->stored ? STORED : KINDS),
                       .width = 1 + below(random, 2),
                       .tied = -1,
                       .product = -1};
    s->damping = s->gain = 1;
    if ((s->kind == DERIVED && may->plain) || (s->kind >= ALONG && !is_split(d) && !one_in(random, 16)))
        s->kind = REPLICATED;
    if (s->kind == ADDED && d->real) /* the order of arrival would decide the rounding */
        s->kind = STORED;
    if (s->kind == REPLICATED || s->kind == DERIVED)
        s->count = one_in(random, 12) ? SIZE - below(random, 600) : 1 + below(random, 5);
    else if (s->kind == PARTITIONED || (s->kind >= STORED && one_in(random, 2)))
        s->count = 1 + below(random, 9), s->width = 0;
    else
        s->count = s->width * extent_of(d);
    s->sparse = s->count > 100 && one_in(random, 2);
    if (s->kind != REPLICATED && s->kind != DERIVED)
        return;
    if (one_in(random, 2) && !may->flat) {
        s->damping = dampings[below(random, 4)];
        s->gain = gains[below(random, 4)];
    }
    s->bounded = !may->plain && s->kind == REPLICATED && one_in(random, 8);
    if (may->rounds && s->kind == REPLICATED && one_in(random, 2))
        s->form = (hawser_form)below(random, 4);
    draw_filter(apart(d->seed, number), may, s);
}

/* Ties a local state to a replicated one before it, if there is one. */
static void draw_tie(uint64_t *random, drawn *d, uint32_t number)
{
    for (uint32_t s = 0; s < number && d->state[number].kind == LOCAL; s++)
        if (d->state[s].kind == REPLICATED && !d->state[s].bounded && one_in(random, 2))
            d->state[number].tied = (int)s;
}

static void draw_unit(uint64_t *random, const choices *may, const drawn *d, drawn_unit *unit)
{
    *unit = (drawn_unit){.one = one_in(random, 4), .yields = one_in(random, 4), .data = one_in(random, 2)};
    unit->reduces = !may->plain && !may->flat && one_in(random, 5) && (!unit->one || one_in(random, 8));
    unit->remembers = one_in(random, 4);
    unit->reports = one_in(random, 2);
    bool odd = one_in(random, 16); /* may break rules that other draws keep */
    for (uint32_t s = 0; s < d->states; s++) {
        uint32_t use = below(random, 4);
        kind k = d->state[s].kind;
        unit->reads[s] = (use & 1) != 0;
        unit->updates[s] = (use & 2) != 0 && (odd || !unit->one || (k != LOCAL && k != STORED));
        unit->how[s] = (way)below(random, WAYS);
        int tied = d->state[s].tied;
        if (tied >= 0 && (unit->reads[s] || (unit->updates[s] && !odd))) /* a tied local state changes when its stage ends */
            unit->updates[tied] = true;
    }
    for (uint32_t s = 0; s < d->states && !unit->data && !odd; s++)
        unit->data =
            d->split == HAWSER_WHOLE || d->split == HAWSER_FETCHED ? false : unit->reads[s] && d->state[s].kind == LOCAL;
}

static bool has_only_units(const drawn *d, int container)
{
    for (uint32_t i = 0; i < d->operators; i++)
        if (d->op[i].parent == container && d->op[i].kind != UNIT &&
            (d->op[i].kind != SEQUENCE || !has_only_units(d, (int)i)))
            return false;
    return true;
}

static bool is_late(const drawn *d, int loop)
{
    const drawn_operator *o = &d->op[loop];
    return o->kind == LOOP && (o->sync.tightness == HAWSER_SSP || o->sync.tightness == HAWSER_TAP);
}

/* Returns the nearest loop around an operator, or -1. */
static int loop_around(const drawn *d, int number)
{
    int above = d->op[number].parent;
    while (above >= 0 && d->op[above].kind != LOOP)
        above = d->op[above].parent;
    return above;
}

/* Returns whether the blocks run a loop by themselves: it has units only, and sequences of them, or is late. A loop in a
 * late one is a part of it. */
static bool is_shipped(const drawn *d, int loop)
{
    for (int above = loop_around(d, loop); above >= 0; above = loop_around(d, above))
        if (is_late(d, above))
            return false;
    return is_late(d, loop) || has_only_units(d, loop);
}

/* Returns the shipped loop whose clocks run an operator, or -1. */
static int shipped_around(const drawn *d, int number)
{
    int above = loop_around(d, number);
    while (above >= 0 && !is_shipped(d, above))
        above = loop_around(d, above);
    return above;
}

static void draw_below(uint64_t *random, const choices *may, drawn *d, int parent, uint32_t depth)
{
    static const operator_kind kinds[] = {UNIT, UNIT, UNIT, UNIT, SEQUENCE, LOOP, LOOP, PARALLEL, BRANCH};
    operator_kind above = parent < 0 ? SEQUENCE : d->op[parent].kind;
    uint32_t count = 1 + below(random, above == BRANCH ? 2 : CHILDREN);
    for (uint32_t i = 0; i < count && (i == 0 || d->units < 5); i++) {
        drawn_operator *o = &d->op[d->operators];
        operator_kind k = depth > 3 || d->units >= 5 ? UNIT : kinds[below(random, 9)];
        if (above == PARALLEL && i == 0)
            k = UNIT;
        if (may->flat)
            k = depth == 0                                      ? LOOP
                : depth == 1 && one_in(random, 4)               ? SEQUENCE
                : may->nested && depth < 3 && one_in(random, 2) ? LOOP
                                                                : UNIT;
        *o = (drawn_operator){
            .kind = k, .parent = parent, .clocks = 1 + below(random, may->flat ? 7 : 4), .tested = one_in(random, 3)};
        int own = (int)d->operators++;
        if (k == UNIT) {
            o->unit = d->units++;
            draw_unit(random, may, d, &d->unit[o->unit]);
        } else
            draw_below(random, may, d, own, depth + 1);
        if (may->flat && depth == 0)
            return;
    }
}

static bool uses(const drawn *d, int container, uint32_t state, bool reads, bool updates)
{
    for (uint32_t i = 0; i < d->operators; i++) {
        const drawn_operator *o = &d->op[i];
        const drawn_unit *unit = &d->unit[o->unit];
        if ((int)i == container && o->kind == UNIT)
            return (reads && unit->reads[state]) || (updates && unit->updates[state]);
        if (o->parent == container && uses(d, (int)i, state, reads, updates))
            return true;
    }
    return false;
}

/* Makes branches of some sequences in the loop of a flat program under ssp. */
static void draw_branches(const choices *may, drawn *d)
{
    for (uint32_t i = 0; may->flat && may->sync.tightness == HAWSER_SSP && i < d->operators; i++) {
        uint64_t random = apart(d->seed, 64 + i);
        uint32_t children = 0;
        for (uint32_t child = 0; child < d->operators; child++)
            children += d->op[child].parent == (int)i;
        if (d->op[i].kind == SEQUENCE && d->op[i].parent == 0 && children <= 2 && !one_in(&random, 4))
            d->op[i].kind = BRANCH;
    }
}

/* Returns whether a branch of a flat program runs its first child in a clock. */
static bool chooses_first(const drawn *d, uint32_t branch, uint64_t clock)
{
    uint64_t random = apart(d->seed + clock, 96 + branch);
    return one_in(&random, 2);
}

/* Returns whether the branches of a flat program let an operator run in a clock. */
static bool runs_in(const drawn *d, uint32_t number, uint64_t clock)
{
    int own = (int)number;
    for (int above = d->op[number].parent; above >= 0; own = above, above = d->op[above].parent) {
        int first = 0;
        while (d->op[first].parent != above)
            first++;
        if (d->op[above].kind == BRANCH && (own == first) != chooses_first(d, (uint32_t)above, clock))
            return false;
    }
    return true;
}

/* Draws the policy of a loop that the blocks run by themselves. */
static void draw_sync(uint64_t *random, const choices *may, const drawn *d, int loop, drawn_operator *o)
{
    bool stores = false, exchanges = false;
    for (uint32_t s = 0; s < d->states; s++) {
        kind k = d->state[s].kind;
        stores |= k >= STORED && uses(d, loop, s, true, true);
        exchanges |= k < LOCAL && uses(d, loop, s, false, true);
    }
    o->sync = may->sync;
    if (!may->plain && ((stores && !exchanges && one_in(random, 2)) || one_in(random, 40))) {
        o->sync = hawser_centric(0);
        o->tested = false;
    } else if (may->stored && stores && !exchanges && one_in(random, 2)) {
        o->sync = one_in(random, 2) ? hawser_centric(below(random, 3)) : hawser_delay(1 + below(random, 2));
    }
}

/* Draws the policy of a loop around other operators than units, or inside of a late one. */
static void draw_nest(const choices *may, drawn *d, int loop)
{
    uint64_t random = apart(d->seed, 24 + (uint32_t)loop);
    drawn_operator *o = &d->op[loop];
    int above = loop_around(d, loop);
    bool late = may->sync.tightness == HAWSER_SSP || may->sync.tightness == HAWSER_TAP;
    if (shipped_around(d, loop) >= 0) {
        o->tested = o->tested && one_in(&random, 6);
        o->sync = one_in(&random, 24) ? hawser_ssp(3) : one_in(&random, 2) ? hawser_bsp() : d->op[above].sync;
    } else if (late && (may->flat || one_in(&random, 2))) {
        o->sync = one_in(&random, 24) ? hawser_centric(0) : may->sync;
    }
}

/* Returns the operator that the blocks run as one: a loop, the units of a parallel, or a unit alone. */
static int phase_of(const drawn *d, int unit)
{
    int above = d->op[unit].parent, loop = shipped_around(d, unit);
    return loop >= 0 ? loop : above >= 0 && d->op[above].kind == PARALLEL ? above : unit;
}

/* What a unit on one block makes of a replicated state is exact, and a damping weighs sums of several blocks' changes. */
static double gain_of(const drawn *d, const drawn_unit *unit, uint32_t s)
{
    return unit->one ? 1 : d->state[s].gain;
}

static double damping_of(const drawn *d, const drawn_unit *unit, uint32_t s)
{
    return unit->one || d->blocks == 1 || d->state[s].bounded ? 1 : d->state[s].damping;
}

static void find_unsure(drawn *d)
{
    for (uint32_t i = 0; i < d->operators; i++)
        for (uint32_t s = 0; s < d->states && d->op[i].kind == UNIT; s++)
            d->unit[d->op[i].unit].unsure[s] = d->state[s].kind == ADDED && uses(d, phase_of(d, (int)i), s, false, true);
}

/* Returns whether a unit waits by a sync of its own: it has an exchanged state that its loop updates. */
static bool has_what_to_wait_for(const drawn *d, const drawn_unit *unit, int loop)
{
    for (uint32_t s = 0; s < d->states; s++)
        if (d->state[s].kind < LOCAL && (unit->reads[s] || unit->updates[s]) && uses(d, loop, s, false, true))
            return true;
    return false;
}

static bool uses_stored(const drawn *d, const drawn_unit *unit)
{
    for (uint32_t s = 0; s < d->states; s++)
        if (d->state[s].kind >= STORED && (unit->reads[s] || unit->updates[s]))
            return true;
    return false;
}

/* Gives some units of late loops a sync of their own, and few others, which are refused. */
static void draw_own_sync(const choices *may, drawn *d, uint32_t number)
{
    uint64_t random = apart(d->seed, 8 + number);
    drawn_unit *unit = &d->unit[d->op[number].unit];
    int loop = phase_of(d, (int)number);
    bool fits = d->op[loop].kind == LOOP && !uses_stored(d, unit) && has_what_to_wait_for(d, unit, loop);
    unit->sync = one_in(&random, 8) ? hawser_ssp(2) : one_in(&random, 2) ? hawser_ssp(1) : hawser_bsp();
    unit->strict = may->sync.tightness != HAWSER_BSP && one_in(&random, fits ? 3 : 60);
}

/* Returns whether a unit can use the moving state: it is on all blocks, beside no other child of a parallel, and in no loop
 * within a loop that the blocks run, since that would add stages. */
static bool can_move(const drawn *d, int number)
{
    const drawn_unit *unit = &d->unit[d->op[number].unit];
    int loop = shipped_around(d, number);
    if (unit->one || unit->solves || (loop >= 0 && loop != loop_around(d, number)))
        return false;
    for (int above = d->op[number].parent; above >= 0; above = d->op[above].parent)
        if (d->op[above].kind == PARALLEL || d->op[above].sync.tightness == HAWSER_DELAY ||
            d->op[above].sync.tightness == HAWSER_CENTRIC)
            return false;
    return true;
}

/* Draws the lines and parts of the moving state. */
static void draw_parts(uint64_t *random, drawn *d)
{
    static const hawser_type types[] = {HAWSER_F64, HAWSER_F32, HAWSER_I64, HAWSER_I32};
    drawn_parts *n = &d->moving;
    *n = (drawn_parts){.there = one_in(random, 3), .begins = one_in(random, 2), .own = one_in(random, 2)};
    n->type = types[below(random, 4)];
    n->lines = below(random, LINES + 1);
    n->parts = d->blocks * (1 + below(random, 2));
    for (size_t line = 0; line < n->lines; line++)
        n->offsets[line + 1] = n->offsets[line] + below(random, 4);
    for (uint32_t p = 1; p < n->parts; p++)
        n->cut[p] = n->cut[p - 1] + below(random, (uint32_t)(n->lines - n->cut[p - 1]) / 2 + 1);
    n->cut[n->parts] = n->lines;
}

/* Draws the moving state and the entries state, and which units use them. */
static void draw_more(drawn *d)
{
    static const hawser_type types[] = {HAWSER_F64, HAWSER_F32, HAWSER_I64, HAWSER_I32};
    uint64_t random = apart(d->seed, 200);
    draw_parts(&random, d);
    d->entries = (drawn_entries){.there = d->layout == HAWSER_CSR && d->split == HAWSER_BY_ROW && one_in(&random, 2),
                                 .begins = one_in(&random, 2),
                                 .type = types[below(&random, 4)]};
    for (uint32_t i = 0; i < d->operators; i++) {
        if (d->op[i].kind != UNIT)
            continue;
        drawn_unit *unit = &d->unit[d->op[i].unit];
        bool moves = one_in(&random, 2), writes = one_in(&random, 2), counts = one_in(&random, 2);
        bool parallel = d->op[i].parent >= 0 && d->op[d->op[i].parent].kind == PARALLEL;
        unit->moves = d->moving.there && can_move(d, (int)i) && moves;
        unit->writes_parts = unit->moves && writes;
        unit->counts_entries = d->entries.there && !unit->one && !unit->solves && !parallel && can_move(d, (int)i) && counts;
        unit->writes_entries = unit->counts_entries && one_in(&random, 2);
    }
    d->entries.by_value = d->entries.there && one_in(&random, 2);
}

/* Returns the block that has a part in a clock. */
static uint32_t owner_of_part(uint32_t part, uint64_t clock, uint32_t blocks, void *user)
{
    const drawn *d = user;
    uint64_t shift = (clock * clock + d->seed) % blocks;
    return (uint32_t)((part / (d->moving.parts / blocks) + shift) % blocks);
}

static uint32_t block_of_part(const drawn *d, uint32_t part, uint64_t clock)
{
    if (d->moving.own)
        return owner_of_part(part, clock, d->blocks, (void *)(uintptr_t)d);
    return (uint32_t)((part + d->blocks - clock % d->blocks) % d->blocks);
}

static drawn draw(uint64_t seed, choices may)
{
    uint64_t random = seed;
    drawn d = {.seed = seed, .blocks = 1 + below(&random, BLOCKS), .states = 1 + below(&random, STATES)};
    d.real = one_in(&random, 2) && !may.whole;
    d.counts = may.flat;
    d.shares = seed / 3 % 2 == 0;
    draw_data(&random, &may, &d);
    for (uint32_t s = 0; s < d.states; s++) {
        draw_state(&random, &may, &d, s, &d.state[s]);
        draw_tie(&random, &d, s);
    }
    for (uint32_t s = 0; s < d.states; s++) {
        draw_shape(&d, s);
        draw_type(&d, s);
    }
    draw_coordinates(&may, &d);
    draw_below(&random, &may, &d, -1, 0);
    draw_branches(&may, &d);
    draw_solvers(&d);
    for (uint32_t i = 0; i < d.operators; i++)
        if (d.op[i].kind == LOOP && has_only_units(&d, (int)i))
            draw_sync(&random, &may, &d, (int)i, &d.op[i]);
    for (uint32_t i = 0; i < d.operators; i++)
        if (d.op[i].kind == LOOP && (shipped_around(&d, (int)i) >= 0 || !has_only_units(&d, (int)i)))
            draw_nest(&may, &d, (int)i);
    for (uint32_t i = 0; i < d.operators; i++)
        if (d.op[i].kind == UNIT)
            draw_own_sync(&may, &d, i);
    find_unsure(&d);
    draw_more(&d);
    return d;
}

/* --------------------------------------------------------------------------------------------------------- in words ---- */

static void say_operator(const drawn *d, int number, int depth, FILE *out)
{
    const drawn_operator *o = &d->op[number];
    static const char *const names[] = {"unit", "sequence", "parallel", "loop", "branch"};
    static const char *const syncs[] = {"bsp", "ssp", "tap", "delay", "dc"};
    const drawn_unit *unit = &d->unit[o->unit];
    fprintf(out, "  %*s%s", depth * 2, "", names[o->kind]);
    if (o->kind == LOOP)
        fprintf(out, " of %u clocks%s under %s:%u", o->clocks, o->tested ? " or by the metric" : "",
                syncs[o->sync.tightness], o->sync.staleness);
    if (o->kind == UNIT) {
        fprintf(out, " u%u%s%s%s%s%s%s", o->unit, unit->one ? ", on one block" : "", unit->data ? ", uses data" : "",
                unit->solves   ? ", solves"
                : unit->yields ? ", yields"
                               : "",
                unit->reduces ? ", reduces" : "", unit->remembers ? ", counts calls" : "", unit->reports ? ", reports" : "");
        if (unit->strict)
            fprintf(out, ", under its own %s:%u", syncs[unit->sync.tightness], unit->sync.staleness);
        fprintf(out, ", reads");
        for (uint32_t s = 0; s < d->states; s++)
            fprintf(out, "%s", unit->reads[s] ? (char[]){' ', (char)('a' + s), 0} : "");
        fprintf(out, ", updates");
        fprintf(out, "%s%s", unit->moves ? unit->writes_parts ? " n" : " (reads n)" : "",
                unit->counts_entries ? unit->writes_entries ? " z" : " (reads z)" : "");
        for (uint32_t s = 0; s < d->states; s++)
            if (unit->updates[s])
                fprintf(out, " %c%s", 'a' + s, (const char *const[]){"", " (touch)", " (inc)"}[unit->how[s]]);
    }
    fprintf(out, "\n");
    for (uint32_t i = 0; i < d->operators; i++)
        if (d->op[i].parent == number)
            say_operator(d, (int)i, depth + 1, out);
}

static void say(const drawn *d, FILE *out)
{
    fprintf(out, "seed %llu: %u blocks, numbers that are %s\n  data: %zu x %zu %s, %u of 8 cells, %s, from %s%s, split %s\n",
            (unsigned long long)d->seed, d->blocks, d->real ? "rounded" : "whole", d->rows, d->cols, layout_names[d->layout],
            d->density, d->type == HAWSER_F32 ? "f32" : "f64", source_names[d->source],
            d->source < SVMLIGHT       ? ""
            : d->load == HAWSER_BY_ROW ? " by row"
                                       : " by column",
            split_names[d->split]);
    for (uint32_t s = 0; s < d->states; s++) {
        const drawn_state *state = &d->state[s];
        fprintf(out, "  state %c: %s, %zu numbers of %s", 'a' + s, kind_names[state->kind], state->count,
                type_names[state->type]);
        fprintf(out, "%s", state->most ? " by their maximum" : "");
        if (state->matrix)
            fprintf(out, ", a matrix %s", split_names[state->by]);
        fprintf(out, ", %zu in a line%s", state->line, state->begins ? ", with first values" : "");
        if (state->begins && state->parts > 0)
            fprintf(out, " for %u blocks", state->parts);
        if (state->damping != 1 || state->gain != 1)
            fprintf(out, ", damping %g, gain %g", state->damping, state->gain);
        fprintf(out, "%s%s", state->bounded ? ", merged within bounds" : "", state->sparse ? ", changed sparsely" : "");
        if (state->product >= 0)
            fprintf(out, ", the product with %c", 'a' + state->product);
        if (state->tied >= 0)
            fprintf(out, ", tied to %c", 'a' + state->tied);
        if (state->filter != NULL)
            fprintf(out, ", filter %s with quota %llu, held for %llu", state->filter, (unsigned long long)state->quota,
                    (unsigned long long)state->max_held);
        fprintf(out, state->form != HAWSER_EXACT ? ", in form %d\n" : "\n", (int)state->form);
    }
    if (d->moving.there)
        fprintf(out, "  state n: moving, %zu lines of %s in %u parts, %s%s\n", d->moving.lines, type_names[d->moving.type],
                d->moving.parts, d->moving.own ? "with an owner" : "rotating",
                d->moving.begins ? ", with first values" : "");
    if (d->entries.there)
        fprintf(out, "  state z: entries of %s%s%s\n", type_names[d->entries.type],
                d->entries.by_value ? ", as many as values say" : "", d->entries.begins ? ", with first values" : "");
    for (uint32_t i = 0; i < d->operators; i++)
        if (d->op[i].parent < 0)
            say_operator(d, (int)i, 0, out);
}

#endif
