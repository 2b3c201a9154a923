/* spec.c - adds states and units that are given field by field. */
#include <inttypes.h>
#include <string.h>

#include "hawser/kept_points.h"
#include "program/entries.h"
#include "program/kind.h"

/* The kinds that have a field say so in their rows (kind.h). */
typedef struct field {
    const char *name;
    size_t offset, size;
} field;
#define FIELD(name)                                                                                                         \
    {                                                                                                                       \
        "." #name, offsetof(hawser_state_spec, name), sizeof((hawser_state_spec){0}.name)                                   \
    }

static const field fields[] = {
    FIELD(type),    FIELD(rows),           FIELD(cols),     FIELD(by_column),  FIELD(each),     FIELD(along),
    FIELD(initial), FIELD(initial_blocks), FIELD(data),     FIELD(matrix),     FIELD(split),    FIELD(costs),
    FIELD(damping), FIELD(gain),           FIELD(merge),    FIELD(merge_user), FIELD(derive),   FIELD(form),
    FIELD(filter),  FIELD(quota),          FIELD(max_held), FIELD(tie),        FIELD(function), FIELD(parameters),
    FIELD(lines),   FIELD(offsets),        FIELD(parts),    FIELD(cut),        FIELD(owner),    FIELD(owner_user),
    FIELD(expect),  FIELD(keep),           FIELD(by_value),
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* Two fields of which one takes the other's place, or needs it. */
typedef struct field_pair {
    const char *field, *other;
    bool needs;
    const char *why;
} field_pair;

static const field_pair pairs[] = {
    {".each", ".along", false, "a block has as many numbers as .each says, or as the data have lines"},
    {".initial_blocks", ".each", true, "it says for how many blocks .initial has numbers"},
    {".initial_blocks", ".initial", true, "it says for how many blocks .initial has numbers"},
    {".data", ".matrix", false, "a dataset has a matrix"},
    {".merge", ".damping", false, "a merge function takes the place of the formula"},
    {".merge_user", ".merge", true, "it is what a merge function gets"},
    {".quota", ".filter", true, "it is the filter's"},
    {".max_held", ".filter", true, "it is the filter's"},
    {".parameters", ".function", true, "they are the function's"},
};

static bool is_set(const hawser_state_spec *spec, const field *f)
{
    static const char zeros[sizeof(hawser_state_spec)];
    return memcmp((const char *)spec + f->offset, zeros, f->size) != 0;
}

static bool names_set(const hawser_state_spec *spec, const char *name)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0)
            return is_set(spec, &fields[i]);
    return false;
}

static bool has_field(const hw_kind *kind, const field *f)
{
    for (const char *const *name = kind->fields; *name != NULL; name++)
        if (strcmp(*name, f->name + 1) == 0)
            return true;
    return false;
}

/* Writes the names of the kinds that have a field, "partitioned or local". */
static const char *kinds_text(const field *f, char text[120])
{
    size_t used = 0;
    const hw_kind *kind;
    text[0] = '\0';
    for (int number = HAWSER_DATA; (kind = hw_kind_find((hawser_state_kind)number)) != NULL && used < 120; number++)
        if (has_field(kind, f))
            used += (size_t)snprintf(text + used, 120 - used, "%s%s", used > 0 ? " or " : "", kind->name);
    return text;
}

/* Refuses a spec with fields that its kind does not have, or that exclude each other. */
static bool refuse(hawser_program *program, const hawser_state_spec *spec)
{
    const char *name = spec->name != NULL ? spec->name : "";
    const hw_kind *kind = hw_kind_find(spec->kind);
    char text[120];
    if (kind == NULL) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "state '%s' has %s; set .kind to HAWSER_REPLICATED or another kind",
                           name, spec->kind == 0 ? "no kind" : "a kind that does not exist");
        return true;
    }
    for (size_t i = 0; i < FIELDS; i++)
        if (is_set(spec, &fields[i]) && !has_field(kind, &fields[i])) {
            hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                               "state '%s' is %s and has no %s, which is for a state that is %s", name, kind->name,
                               fields[i].name, kinds_text(&fields[i], text));
            return true;
        }
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (names_set(spec, pairs[i].field) && names_set(spec, pairs[i].other) != pairs[i].needs) {
            hw_program_mistake(program, HAWSER_BAD_PROGRAM, "state '%s' has %s %s %s: %s", name, pairs[i].field,
                               pairs[i].needs ? "without" : "and", pairs[i].other, pairs[i].why);
            return true;
        }
    return false;
}

/* Sets the number of entries that a run is expected to use. */
static void expect(hawser_state *state, size_t entries)
{
    bool fetched = state->matrix != NULL && state->split == HAWSER_FETCHED;
    if (!hw_state_is_exchanged(state) && !fetched)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "state '%s' is expected to use %zu entries, but is neither replicated nor partitioned, and its "
                           "columns are not fetched",
                           state->name, entries);
    else
        state->expected = entries;
}

static hawser_state *add_state(hawser_program *program, const hawser_state_spec *spec)
{
    if (refuse(program, spec))
        return NULL;
    hawser_state *state = hw_kind_find(spec->kind)->add(program, spec, spec->cols != 0 ? spec->cols : 1);
    if (state != NULL && spec->expect != 0)
        expect(state, spec->expect);
    if (spec->keep)
        hawser_state_keep(state);
    return state;
}

hawser_state *hawser_state_add(hawser_program *program, const hawser_state_spec *spec)
{
    if (program == NULL || program->root == NULL)
        return NULL;
    if (spec == NULL) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "hawser_state_add: 'spec' is NULL; the call needs it");
        return NULL;
    }
    program->where = spec->where;
    hawser_state *state = add_state(program, spec);
    program->where = NULL;
    return state;
}

hawser_status hw_program_settle(const hawser_program *program, uint32_t blocks, hawser_error *error)
{
    for (hawser_state *state = program != NULL ? program->states : NULL; state != NULL; state = state->next) {
        bool by_row = state->split == HAWSER_BY_ROW;
        size_t width = by_row ? state->cols : state->rows;
        if (state->kind == HW_ENTRIES && state->along != NULL &&
            program->mistake.status == HAWSER_OK) /* its data are sound */
            HAWSER_TRY(hw_entries_settle(state, error));
        if (state->lines_each == 0)
            continue;
        if (width != 0 && state->lines_each > SIZE_MAX / 16 / width / blocks)
            return hawser_fail(error, HAWSER_BAD_PROGRAM,
                               "state '%s' has an impossible size, %zu numbers for each of %" PRIu32 " blocks", state->name,
                               state->lines_each * width, blocks);
        *(by_row ? &state->rows : &state->cols) = state->lines_each * blocks;
    }
    return HAWSER_OK;
}

bool hw_program_settle_syncs(const hawser_program *program, uint32_t blocks)
{
    bool any = false;
    for (size_t i = 0; program != NULL && i < program->operator_count; i++) {
        hawser_operator *one = program->operators[i];
        if (one->kind != HW_LOOP)
            continue;
        one->sync = hw_sync_of_blocks(one->asked, blocks);
        any |= one->sync.tightness != one->asked.tightness;
    }
    for (size_t i = 0; program != NULL && i < program->operator_count; i++) /* nobody is late for whom a unit could wait */
        if (program->operators[i]->kind == HW_UNIT)
            program->operators[i]->waits = program->operators[i]->asks_to_wait && !any;
    return any;
}

static void set_sync(hawser_operator *unit, hawser_sync sync)
{
    if (sync.tightness != HAWSER_BSP && sync.tightness != HAWSER_SSP) {
        hw_program_mistake(unit->program, HAWSER_BAD_PROGRAM,
                           "unit '%s' cannot have sync %d of its own; use bsp or ssp (.sync)", unit->name,
                           (int)sync.tightness);
        return;
    }
    unit->sync = sync.tightness == HAWSER_BSP || sync.staleness == 0 ? hawser_bsp() : sync;
    unit->waits = unit->asks_to_wait = true;
}

static void set_reduces(hawser_operator *unit, size_t most)
{
    enum { CLOCK = 1024 }; /* expected reductions in a clock, unless hawser_reduces_expect sets them */
    if (most > HW_REDUCES_MOST)
        hw_program_mistake(unit->program, HAWSER_BAD_PROGRAM,
                           "unit '%s' declares reductions of %zu numbers; 1 to %llu are possible (.reduces)", unit->name,
                           most, (unsigned long long)HW_REDUCES_MOST);
    else
        hawser_reduces_expect(unit, unit->reduces = most, CLOCK * most);
}

static hawser_operator *add_unit(hawser_operator *parent, const hawser_unit_spec *spec)
{
    enum { LAST = HAWSER_UNIT_STATES - 1 };
    if (spec->reads[LAST] != NULL || spec->updates[LAST] != NULL) {
        hw_program_mistake(parent->program, HAWSER_BAD_PROGRAM, "unit '%s' has a list of more than %d states",
                           spec->name != NULL ? spec->name : "?", LAST);
        return NULL;
    }
    hawser_operator *unit = hw_unit_new(parent, spec->name, spec->run, spec->reads, spec->updates);
    if (unit == NULL)
        return NULL;
    unit->one = spec->one;
    if (spec->sync != NULL)
        set_sync(unit, *spec->sync);
    if (spec->reduces > 0)
        set_reduces(unit, spec->reduces);
    return unit;
}

hawser_operator *hawser_unit_add(hawser_operator *parent, const hawser_unit_spec *spec)
{
    if (parent == NULL)
        return NULL;
    if (spec == NULL) {
        hw_program_mistake(parent->program, HAWSER_BAD_PROGRAM, "hawser_unit_add: 'spec' is NULL; the call needs it");
        return NULL;
    }
    parent->program->where = spec->where;
    hawser_operator *unit = add_unit(parent, spec);
    parent->program->where = NULL;
    return unit;
}
