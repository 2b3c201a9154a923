/*
 * programs_oracle.h - what a drawn program computes under BSP: one unit after the other on plain arrays, on one thread,
 * without messages. What a unit computes (hashes, changes) is here as well, because a unit and the oracle share it. It
 * includes nothing of src/.
 *
 * Whole numbers are added without rounding. Others are rounded, so they have the bits of the canonical tree alone.
 */
#ifndef HW_TESTS_UNIT_PROGRAMS_ORACLE_H
#define HW_TESTS_UNIT_PROGRAMS_ORACLE_H

#include "programs_refused.h"

/* ------------------------------------------------------------------------------------------ what data and units are ---- */

static bool is_stored(const drawn *d, size_t i, size_t j)
{
    if (d->source >= SVMLIGHT && i == 0 && j + 1 == d->cols) /* a file shows how many columns there are */
        return true;
    return (i * 2654435761U + j * 40503U + i * j * 97U + d->rows) % 8 < d->density;
}

/* Returns the number in a cell. One that is stored is never zero. */
static double cell_of(const drawn *d, size_t i, size_t j)
{
    size_t number = i * 7 + j * 13 + i * j;
    if (!is_stored(d, i, j))
        return 0;
    return d->entries.by_value ? (double)(number % VALUE + 1) : (double)(number % 9 + 1) - 10.0 * ((i + j) % 3 == 0);
}

static double target_of(size_t i)
{
    return (double)(i * 29 % 31) - 15;
}

/* Weights by which a row and a column enter the digest of what a block sees. */
static double row_weight(size_t i)
{
    return (double)(i * i % 23 + 1);
}

static double column_weight(size_t j)
{
    return (double)(j * j * 3 % 29 + 1);
}

/* Returns whether a unit fetches a column of data that are split in no way. */
static bool is_fetched(size_t column, uint32_t block, uint64_t clock)
{
    return (column + block + clock) % 3 == 0;
}

static uint64_t mix(uint64_t hash, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double value = values[i] + 0.0;
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        hash = (hash ^ bits ^ bits >> 29) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 31;
    }
    return hash;
}

static uint64_t hash_of_call(uint32_t unit, uint32_t block, uint64_t clock)
{
    return unit + 7 * (uint64_t)block + 77 * clock + 1;
}

/* Returns a number as a state of a type has it. A sum, a difference, a product and a quotient of two floats that are
 * computed in doubles and then rounded are those of floats. */
static double in_type(hawser_type type, double value)
{
    return type == HAWSER_F64 ? value : type == HAWSER_F32 ? (double)(float)value : (double)(int64_t)value;
}

static double bounded(double value, size_t entry)
{
    double most = 9 + (double)(entry % 7);
    return value > most ? most : value < -most ? -most : value;
}

/* Returns the number with which an entry begins. What counts updates begins at zero. */
static double first_value(const drawn *d, uint32_t s, size_t entry)
{
    const drawn_state *state = &d->state[s];
    if (state->kind == LOCAL && state->width == 0 && state->parts == 0)
        entry %= state->line;
    double value = (double)((entry * 37 + s * 11 + 5) % 23) - 9;
    if (!state->begins || (d->counts && entry == 0))
        return 0;
    value = d->real && !is_whole(state) ? in_type(state->type, value * 0.3) : value;
    return state->bounded ? bounded(value, entry) : value;
}

/* Returns what a unit adds to an entry of a replicated state. */
static double change_of(const drawn *d, uint32_t s, uint64_t hash, size_t entry)
{
    uint64_t h = (hash + entry) * UINT64_C(0xbf58476d1ce4e5b9);
    if (d->counts && entry == 0)
        return 1;
    h ^= h >> 32;
    if (d->state[s].sparse ? h % 61 != 0 : entry > 0 && h % 3 == 0)
        return 0;
    double change = (double)(h / 61 % 17) - 8;
    return d->real && !is_whole(&d->state[s]) ? in_type(d->state[s].type, change * 0.37 + 0.011) : change;
}

/* Returns what a unit sets a number to that its block alone writes. */
static double number_after(const drawn *d, hawser_type type, double before, uint64_t hash, size_t entry)
{
    double value = (double)((hash ^ hash >> 23) % 1000 * (entry + 1) % 1009);
    return in_type(type, d->real ? before * 0.25 + value * 0.1 : (double)(int64_t)(before / 2) + value);
}

static double value_after(const drawn *d, uint32_t s, double before, uint64_t hash, size_t entry)
{
    return number_after(d, d->state[s].type, before, hash, entry);
}

/* Return the first numbers of the moving state and of the entries state. */
static double first_of_part(const drawn *d, size_t i)
{
    return d->moving.begins ? (double)(i * 7 % 19) - 5 : 0;
}

static double first_of_entry(const drawn *d, size_t i)
{
    return d->entries.begins ? (double)(i * 11 % 17) - 3 : 0;
}

/* What a block gives to a reduction, and to a metric. */
static double share_of(const drawn *d, uint64_t hash, size_t entry)
{
    double share = (double)((hash >> 7) % (101 + entry)) - 40;
    return d->real ? share * 0.1 : share;
}

static hawser_combine_by combine_of(uint32_t unit)
{
    return (hawser_combine_by)(unit % 3);
}

enum { REDUCED_MOST = 90 };

/* Returns how many numbers a unit reduces: some are more than a small message has. */
static size_t reduced_count(uint32_t unit)
{
    return unit % 4 == 3 ? REDUCED_MOST : 1 + unit % 3;
}

/* A local solver takes two steps for each own coordinate, and mixes what each changes. Returns the size of the next step. */
static double step_of(const drawn *d, uint64_t hash)
{
    double step = (double)((hash >> 9) % 9) - 4;
    return d->real ? step * 0.3 : step;
}

/* What a stop test that was called this often adds to the metric. */
static double calls_weight(uint64_t calls)
{
    return (double)calls / 8;
}

static bool metric_ends(double metric)
{
    return metric == metric && (int64_t)(metric * 8) % 3 == 0;
}

/* ---------------------------------------------------------------------------------------------------------- the cut ---- */

/* Cuts `extent` columns or rows at the place nearest to each equal share of the cost, one per stored entry and eight per
 * column or row; every block has one while there are enough. Dense rows are cut into equal shares, the first of which have
 * one more. */
static void cut_of(const drawn *d, size_t *bounds)
{
    size_t extent = extent_of(d), parts = d->blocks;
    uint64_t cost[ROWS + COLS + 1] = {0};
    for (size_t k = 0; k < extent; k++) {
        cost[k + 1] = cost[k] + 8;
        for (size_t o = 0; o < (d->split == HAWSER_BY_ROW ? d->cols : d->rows); o++)
            cost[k + 1] += d->split == HAWSER_BY_ROW ? is_stored(d, k, o) : is_stored(d, o, k);
    }
    bounds[0] = 0;
    bounds[parts] = extent;
    for (size_t p = 1; p < parts; p++) {
        size_t cut = extent * p / parts;
        if (d->split == HAWSER_BY_ROW && !is_sparse(d))
            cut = extent / parts * p + (p < extent % parts ? p : extent % parts);
        else if (is_sparse(d) && cost[extent] > 8 * extent) {
            uint64_t wanted = cost[extent] * p / parts;
            for (cut = 0; cost[cut] < wanted; cut++)
                ;
            if (cut > 0 && wanted - cost[cut - 1] < cost[cut] - wanted)
                cut--;
        }
        size_t left = extent < parts - p ? extent : parts - p;
        cut = cut > extent - left ? extent - left : cut;
        cut = cut < bounds[p - 1] + 1 ? bounds[p - 1] + 1 : cut;
        bounds[p] = cut < extent ? cut : extent;
    }
}

/* Finds the range of a block's part of a state. */
static void part_of(const drawn *d, uint32_t s, uint32_t block, size_t *begin, size_t *end)
{
    const drawn_state *state = &d->state[s];
    size_t bounds[BLOCKS + 1];
    if (state->width == 0) {
        size_t width = state->kind == LOCAL ? 1 : state->line, lines = state->count / width;
        size_t rest = lines % d->blocks; /* the first so many shares have one more */
        *begin = (lines / d->blocks * block + (block < rest ? block : rest)) * width;
        *end = *begin + (lines / d->blocks + (block < rest)) * width;
        return;
    }
    cut_of(d, bounds);
    *begin = bounds[block] * state->width;
    *end = bounds[block + 1] * state->width;
}

/* Returns the digest of the data that a block sees. */
static double digest_of(const drawn *d, uint32_t block, uint64_t clock)
{
    size_t bounds[BLOCKS + 1] = {0}, rows[2] = {0, d->rows}, cols[2] = {0, d->cols};
    double digest = 0;
    if (is_split(d)) {
        cut_of(d, bounds);
        memcpy(d->split == HAWSER_BY_ROW ? rows : cols, bounds + block, sizeof rows);
    }
    for (size_t i = rows[0]; i < rows[1]; i++)
        for (size_t j = cols[0]; j < cols[1]; j++)
            if (d->split != HAWSER_FETCHED || is_fetched(j, block, clock))
                digest += cell_of(d, i, j) * row_weight(i) * column_weight(j);
    for (size_t i = rows[0]; i < rows[1] && d->split == HAWSER_BY_ROW && d->source != ARRAYS; i++)
        digest += target_of(i) * row_weight(i);
    return digest;
}

/* Returns the block that a unit on one block runs on: the one with most of the split data that it reads, else 0, and in a
 * parallel the next one. */
static uint32_t place_of(const drawn *d, uint32_t operator_number)
{
    const drawn_operator *o = &d->op[operator_number];
    const drawn_unit *unit = &d->unit[o->unit];
    uint32_t best = 0;
    size_t bounds[BLOCKS + 1], most = 0;
    for (uint32_t i = 0; i < operator_number && o->parent >= 0 && d->op[o->parent].kind == PARALLEL; i++)
        best += d->op[i].parent == o->parent && d->op[i].kind == UNIT && d->unit[d->op[i].unit].one;
    best %= d->blocks;
    if (!unit->data || !is_split(d))
        return best;
    cut_of(d, bounds);
    for (uint32_t b = 0; b < d->blocks; b++) {
        size_t stored = 0;
        for (size_t k = bounds[b]; k < bounds[b + 1]; k++)
            for (size_t l = 0; l < (d->split == HAWSER_BY_ROW ? d->cols : d->rows); l++)
                stored += !is_sparse(d) || (d->split == HAWSER_BY_ROW ? is_stored(d, k, l) : is_stored(d, l, k));
        best = stored > most ? b : best;
        most = stored > most ? stored : most;
    }
    return best;
}

/* ------------------------------------------------------------------------------------------------------ the program ---- */

typedef struct drawn_values {
    double of[STATES][SIZE];
    double parts[NUMBERS], entries[ENTRIES]; /* of the moving state, and of the entries state */
} drawn_values;

/* Returns how many numbers of the entries state the rows before `row` have. */
static size_t entries_before(const drawn *d, size_t row)
{
    size_t count = 0;
    for (size_t i = 0; i < row; i++)
        for (size_t j = 0; j < d->cols; j++)
            count += d->entries.by_value ? (size_t)cell_of(d, i, j) : is_stored(d, i, j);
    return count;
}

/* Finds the numbers of a block in the entries state. */
static void entries_of(const drawn *d, uint32_t block, size_t *begin, size_t *end)
{
    size_t bounds[BLOCKS + 1];
    cut_of(d, bounds);
    *begin = entries_before(d, bounds[block]);
    *end = entries_before(d, bounds[block + 1]);
}

typedef struct world {
    const drawn *d;
    drawn_values now, before; /* before: when the unit began */
    bool written_by_one[OPERATORS]
                       [STATES]; /* by unit: its phase has no other block's updates of the state, so that values are sent */
    double metric;               /* NaN: none yet */
    double reports[BLOCKS];
    bool reported[BLOCKS];
    uint64_t calls[BLOCKS];
    uint64_t asked[OPERATORS], asked_all; /* calls of a branch's test since the loop around it was entered; of all tests */
} world;

static double tree_sum_in(hawser_type type, const double *values, uint32_t count)
{
    uint32_t left = 1;
    if (count == 1)
        return values[0];
    while (left * 2 < count)
        left *= 2;
    return in_type(type, tree_sum_in(type, values, left) + tree_sum_in(type, values + left, count - left));
}

static double tree_sum(const double *values, uint32_t count)
{
    return tree_sum_in(HAWSER_F64, values, count);
}

/* Finds where updates of a state are sent as values, because one block makes all of a phase. */
static void find_writers(world *w)
{
    const drawn *d = w->d;
    for (uint32_t s = 0; s < d->states; s++)
        for (int u = 0; u < (int)d->operators; u++) {
            uint32_t writers = 0;
            if (d->op[u].kind != UNIT)
                continue;
            for (int i = 0; i < (int)d->operators; i++)
                if (d->op[i].kind == UNIT && phase_of(d, i) == phase_of(d, u) && d->unit[d->op[i].unit].updates[s])
                    writers |= d->unit[d->op[i].unit].one ? UINT32_C(1) << place_of(d, (uint32_t)i) : ~UINT32_C(0);
            bool one = d->state[s].kind <= DERIVED && writers != 0 && (writers & (writers - 1)) == 0;
            const drawn_unit *unit = &d->unit[d->op[u].unit];
            bool ruled = d->state[s].bounded || gain_of(d, unit, s) != 1;
            w->written_by_one[u][s] = one || (d->blocks == 1 && (unit->one || !ruled));
        }
}

static double combine(const double *shares, uint32_t count, hawser_combine_by by)
{
    double most = shares[0];
    for (uint32_t b = 1; b < count; b++)
        most = by == HAWSER_MAX ? (shares[b] > most ? shares[b] : most) : shares[b] < most ? shares[b] : most;
    return by == HAWSER_SUM ? tree_sum(shares, count) : most;
}

/* Mixes what a unit of a block has read into its hash. */
static uint64_t read_states(world *w, const drawn_unit *unit, uint32_t block, uint64_t hash)
{
    const drawn *d = w->d;
    for (uint32_t s = 0; s < d->states; s++) {
        size_t begin = 0, end = d->state[s].count;
        kind k = d->state[s].kind;
        if ((!unit->reads[s] && !unit->updates[s]) || (k == ADDED && (!unit->reads[s] || unit->unsure[s])))
            continue;
        if (k == LOCAL || (k >= PARTITIONED && !unit->reads[s]))
            part_of(d, s, block, &begin, &end);
        hash = mix(hash, w->before.of[s] + begin, end - begin);
    }
    return hash;
}

/* Mixes the parts that a block has, and its entries, into a hash. */
static uint64_t read_more(const world *w, const drawn_unit *unit, uint32_t block, uint64_t clock, uint64_t hash)
{
    const drawn_parts *n = &w->d->moving;
    size_t begin, end;
    for (uint32_t p = 0; unit->moves && p < n->parts; p++) {
        begin = n->offsets[n->cut[p]];
        end = n->offsets[n->cut[p + 1]];
        if (block_of_part(w->d, p, clock) == block)
            hash = mix(hash + p, w->before.parts + begin, end - begin);
    }
    if (!unit->counts_entries)
        return hash;
    entries_of(w->d, block, &begin, &end);
    return mix(hash, w->before.entries + begin, end - begin);
}

static void update_more(world *w, const drawn_unit *unit, uint32_t first, uint32_t last, uint64_t clock,
                        const uint64_t *hash)
{
    const drawn *d = w->d;
    const drawn_parts *n = &d->moving;
    size_t begin, end;
    for (uint32_t p = 0; unit->writes_parts && p < n->parts; p++)
        for (size_t i = n->offsets[n->cut[p]]; i < n->offsets[n->cut[p + 1]]; i++)
            w->now.parts[i] = number_after(d, n->type, w->before.parts[i], hash[block_of_part(d, p, clock)], i);
    for (uint32_t b = first; unit->writes_entries && b < last; b++) {
        entries_of(d, b, &begin, &end);
        for (size_t i = begin; i < end; i++)
            w->now.entries[i] = number_after(d, d->entries.type, w->before.entries[i], hash[b], i);
    }
}

/* Returns the hashes by which blocks make their changes. */
static void read_all(world *w, uint32_t number, const drawn_unit *unit, uint32_t first, uint32_t last, uint64_t clock,
                     uint64_t *hash)
{
    double digest, shares[BLOCKS];
    for (uint32_t b = first; b < last; b++) {
        hash[b] = hash_of_call(number, b, clock);
        if (unit->data) {
            digest = digest_of(w->d, b, clock);
            hash[b] = mix(hash[b], &digest, 1);
        }
        if (unit->remembers)
            hash[b] += ++w->calls[b];
        hash[b] = read_more(w, unit, b, clock, read_states(w, unit, b, hash[b]));
    }
    double results[REDUCED_MOST];
    for (size_t i = 0; unit->reduces && i < reduced_count(number); i++) {
        for (uint32_t b = first; b < last; b++)
            shares[b] = share_of(w->d, hash[b], i);
        results[i] = combine(shares, last, combine_of(number));
    }
    for (uint32_t b = first; unit->reduces && b < last; b++)
        hash[b] = mix(hash[b], results, reduced_count(number));
    for (uint32_t b = first; unit->reports && b < last; b++) {
        w->reports[b] = share_of(w->d, hash[b], 5);
        w->reported[b] = true;
    }
}

/* Merges what the blocks have made of an entry of a replicated state. */
static void merge_entry(world *w, uint32_t operator_number, uint32_t s, uint32_t first, uint32_t last, const double *after,
                        size_t i)
{
    const drawn_state *state = &w->d->state[s];
    const drawn_unit *unit = &w->d->unit[w->d->op[operator_number].unit];
    hawser_type type = state->type;
    double before = w->before.of[s][i], shares[BLOCKS] = {0};
    for (uint32_t b = first; b < last; b++) {
        if (w->written_by_one[operator_number][s]) {
            w->now.of[s][i] = after[b];
            return;
        }
        shares[b] = in_type(type, in_type(type, after[b] - before) / gain_of(w->d, unit, s)) + 0.0;
    }
    double sum = tree_sum_in(type, shares, w->d->blocks), step = in_type(type, damping_of(w->d, unit, s) * sum);
    if (sum != 0)
        w->now.of[s][i] = in_type(type, state->bounded && !unit->one ? bounded(before + sum, i) : before + step);
}

/* Changes an entry of a stored state by what a block pushes. */
static double combined(const drawn_state *state, double before, double change)
{
    return !state->most ? before + change : change > before ? change : before;
}

/* Changes an entry of a replicated state by what the blocks add to it. */
static void add_entry(world *w, uint32_t operator_number, uint32_t s, uint32_t first, uint32_t last, const uint64_t *hash,
                      size_t i)
{
    const drawn_unit *unit = &w->d->unit[w->d->op[operator_number].unit];
    const drawn_state *state = &w->d->state[s];
    double after[BLOCKS] = {0};
    for (uint32_t b = first; b < last; b++) {
        double change = change_of(w->d, s, hash[b], i);
        if (unit->how[s] == INCREASED)
            change = in_type(state->type, gain_of(w->d, unit, s) * change);
        after[b] = in_type(state->type, w->before.of[s][i] + change);
    }
    merge_entry(w, operator_number, s, first, last, after, i);
}

/* Returns a cell of the product of the data: of coordinate j, in entry i. */
static double product_cell(const drawn *d, size_t i, size_t j)
{
    return d->split == HAWSER_BY_ROW ? cell_of(d, j, i) : cell_of(d, i, j);
}

/* Runs a block's local solver on its coordinates; `v` ends as the block sees it. */
static void solve_block(world *w, const drawn_unit *unit, uint32_t v_state, uint32_t block, uint64_t hash, double *v)
{
    const drawn *d = w->d;
    double gain = gain_of(d, unit, v_state), damping = damping_of(d, unit, v_state);
    uint32_t alpha = (uint32_t)d->state[v_state].product;
    const drawn_state *product = &d->state[v_state];
    double own[ROWS + COLS];
    size_t begin, end;
    part_of(d, alpha, block, &begin, &end);
    memcpy(own, w->before.of[alpha] + begin, (end - begin) * sizeof *own);
    memcpy(v, w->before.of[v_state], product->count * sizeof *v);
    for (size_t k = 0; k < 2 * (end - begin); k++) {
        size_t j = (hash + k) % (end - begin);
        double step = step_of(d, hash), scaled = gain * step;
        own[j] += step;
        for (size_t i = 0; i < product->count; i++)
            v[i] += scaled * product_cell(d, i, begin + j);
        hash = mix(mix(hash, own, end - begin), v, product->count);
    }
    for (size_t j = 0; j < end - begin; j++) {
        double before = w->before.of[alpha][begin + j];
        w->now.of[alpha][begin + j] = damping == 1 ? own[j] : before + damping * (own[j] - before);
    }
}

static void solve(world *w, uint32_t operator_number, const uint64_t *hash)
{
    const drawn *d = w->d;
    const drawn_unit *unit = &d->unit[d->op[operator_number].unit];
    double after[BLOCKS][ROWS + COLS], of_entry[BLOCKS];
    uint32_t s = 0;
    while (!unit->updates[s])
        s++; /* coordinates follow their product */
    for (uint32_t b = 0; b < d->blocks; b++)
        solve_block(w, unit, s, b, hash[b], after[b]);
    for (size_t i = 0; i < d->state[s].count; i++) {
        for (uint32_t b = 0; b < d->blocks; b++)
            of_entry[b] = after[b][i];
        merge_entry(w, operator_number, s, 0, d->blocks, of_entry, i);
    }
}

static void update_states(world *w, uint32_t operator_number, uint32_t first, uint32_t last, const uint64_t *hash)
{
    const drawn *d = w->d;
    const drawn_unit *unit = &d->unit[d->op[operator_number].unit];
    for (uint32_t s = 0; s < d->states; s++) {
        const drawn_state *state = &d->state[s];
        if (!unit->updates[s])
            continue;
        for (size_t i = 0; i < state->count && state->kind <= DERIVED; i++)
            add_entry(w, operator_number, s, first, last, hash, i);
        for (uint32_t b = first; b < last && state->kind == ADDED; b++)
            for (size_t i = 0; i < state->count; i++)
                w->now.of[s][i] = combined(state, w->now.of[s][i], change_of(d, s, hash[b], i));
        for (uint32_t b = first; b < last && state->kind > DERIVED && state->kind != ADDED; b++) {
            size_t begin, end;
            double damping = state->tied < 0 ? 1 : damping_of(d, unit, (uint32_t)state->tied);
            part_of(d, s, b, &begin, &end);
            for (size_t i = begin; i < end; i++) {
                double before = w->before.of[s][i], after = value_after(d, s, before, hash[b], i - begin);
                w->now.of[s][i] = damping == 1 ? after : before + damping * (after - before);
            }
        }
    }
}

static void run_unit_alone(world *w, uint32_t operator_number, uint64_t clock)
{
    uint32_t number = w->d->op[operator_number].unit;
    const drawn_unit *unit = &w->d->unit[number];
    uint32_t first = unit->one ? place_of(w->d, operator_number) : 0, last = unit->one ? first + 1 : w->d->blocks;
    uint64_t hash[BLOCKS] = {0};
    w->before = w->now;
    read_all(w, number, unit, first, last, clock, hash);
    if (unit->solves)
        solve(w, operator_number, hash);
    else
        update_states(w, operator_number, first, last, hash);
    update_more(w, unit, first, last, clock, hash);
}

/* Combines what was reported in a clock. */
static void end_clock(world *w)
{
    double shares[BLOCKS] = {0};
    bool any = false;
    for (uint32_t b = 0; b < w->d->blocks; b++) {
        any |= w->reported[b];
        shares[b] = w->reported[b] ? w->reports[b] : 0;
        w->reported[b] = false;
    }
    if (any)
        w->metric = tree_sum(shares, w->d->blocks);
}

/* Returns what a block adds to a derived state: a hash of all that it has of the others. */
static uint64_t hash_of_sources(const drawn *d, const drawn_values *now, uint32_t derived, uint32_t block)
{
    uint64_t hash = derived + 1000 + 7 * block;
    for (uint32_t s = 0; s < d->states; s++) {
        size_t begin = 0, end = d->state[s].count;
        if (d->state[s].kind == DERIVED || d->state[s].kind >= STORED)
            continue;
        if (d->state[s].kind != REPLICATED)
            part_of(d, s, block, &begin, &end);
        hash = mix(hash, now->of[s] + begin, end - begin);
    }
    return hash;
}

static bool is_updated_below(const drawn *d, int container, uint32_t s)
{
    uint32_t order[UNITS], count = units_below(d, container, order, 0);
    for (uint32_t u = 0; u < count; u++)
        if (d->unit[order[u]].updates[s])
            return true;
    return false;
}

/* Returns a block's share of an entry of the product of the data and the coordinates. */
static double product_of(const world *w, uint32_t s, uint32_t block, size_t i)
{
    uint32_t alpha = (uint32_t)w->d->state[s].product;
    size_t begin, end;
    double sum = 0;
    part_of(w->d, alpha, block, &begin, &end);
    for (size_t j = begin; j < end; j++)
        sum += w->now.of[alpha][j] * product_cell(w->d, i, j);
    return sum;
}

/* Rebuilds the derived states that a loop updates, when it is entered and when it is left. */
static void rebuild_all(world *w, int loop)
{
    const drawn *d = w->d;
    for (uint32_t s = 0; s < d->states; s++) {
        uint64_t hash[BLOCKS] = {0};
        if (d->state[s].kind != DERIVED || !is_updated_below(d, loop, s))
            continue;
        for (uint32_t b = 0; b < d->blocks; b++)
            hash[b] = hash_of_sources(d, &w->now, s, b);
        for (size_t i = 0; i < d->state[s].count; i++) {
            double shares[BLOCKS];
            for (uint32_t b = 0; b < d->blocks; b++)
                shares[b] = (d->state[s].product >= 0 ? product_of(w, s, b, i) : change_of(d, s, hash[b], i)) + 0.0;
            w->now.of[s][i] = tree_sum_in(d->state[s].type, shares, d->blocks) + 0.0;
        }
    }
}

/* What a test reads: the metric, how often it was called, and, if tests share this, how often all were. */
static double tested_metric(world *w, uint64_t calls)
{
    return w->metric + calls_weight(calls) + (w->d->shares ? calls_weight(++w->asked_all) : 0);
}

static void run_below(world *w, int container, uint64_t clock, bool in_phase);

static void run_operator(world *w, int number, uint64_t clock, bool in_phase)
{
    const drawn_operator *o = &w->d->op[number];
    bool shipped = o->kind == LOOP && is_shipped(w->d, number), ends = false;
    if (o->kind == UNIT) {
        run_unit_alone(w, (uint32_t)number, clock);
        if (!in_phase)
            end_clock(w);
    }
    if (o->kind == SEQUENCE || o->kind == PARALLEL || o->kind == BRANCH)
        run_below(w, number, clock, in_phase);
    if (o->kind != LOOP)
        return;
    if (shipped)
        rebuild_all(w, number);
    for (uint32_t i = 0; i < w->d->operators; i++)
        for (int above = w->d->op[i].parent; above >= 0; above = w->d->op[above].parent)
            w->asked[i] = above == number ? 0 : w->asked[i];
    for (uint64_t own = 0; own < o->clocks && !ends; own++) {
        run_below(w, number, own, shipped);
        if (shipped)
            end_clock(w);
        ends = o->tested && metric_ends(tested_metric(w, own + 1));
    }
    if (shipped)
        rebuild_all(w, number);
}

static void run_below(world *w, int container, uint64_t clock, bool in_phase)
{
    const drawn *d = w->d;
    operator_kind above = container < 0 ? SEQUENCE : d->op[container].kind;
    bool first = above != BRANCH || metric_ends(tested_metric(w, ++w->asked[container])), ran = false;
    uint32_t child = 0;
    for (uint32_t i = 0; i < d->operators; i++) { /* the units of a parallel run as one */
        if (above != PARALLEL || d->op[i].parent != container || d->op[i].kind != UNIT)
            continue;
        run_operator(w, (int)i, clock, true);
        ran = true;
    }
    if (ran)
        end_clock(w);
    for (uint32_t i = 0; i < d->operators; i++) {
        if (d->op[i].parent != container || (above == PARALLEL && d->op[i].kind == UNIT))
            continue;
        if (above != BRANCH || child++ == (first ? 0 : 1))
            run_operator(w, (int)i, clock, in_phase);
    }
}

static drawn_values oracle(const drawn *d)
{
    static world w; /* it is large, and the tests run one after the other */
    w = (world){.d = d, .metric = 0.0 / 0.0};
    for (uint32_t s = 0; s < d->states; s++)
        for (size_t i = 0; i < d->state[s].count; i++)
            w.now.of[s][i] = first_value(d, s, i);
    for (size_t i = 0; i < NUMBERS; i++)
        w.now.parts[i] = first_of_part(d, i);
    for (size_t i = 0; i < ENTRIES; i++)
        w.now.entries[i] = first_of_entry(d, i);
    find_writers(&w);
    run_below(&w, -1, 0, false);
    return w.now;
}

#endif
