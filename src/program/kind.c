/* kind.c - the table of kinds, and what several of them do alike. */
#include "program/kind.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/memory.h"
#include "data/share/balance.h"

#define HW_KIND_OF(id, row)                                                                                                 \
    _Static_assert((int)HAWSER_##id == (int)HW_##id + 1, "public kinds are in the order of the table");
HW_STATE_KINDS(HW_KIND_OF)

#define HW_KIND_AT(id, row) [HW_##id] = &hw_kind_##row,
static const hw_kind *const kinds[] = {HW_STATE_KINDS(HW_KIND_AT)};

const hw_kind *hw_kind_of(const hawser_state *state)
{
    return kinds[state->kind];
}

const hw_kind *hw_kind_find(hawser_state_kind kind)
{
    size_t at = (size_t)kind - HAWSER_DATA;
    return at < sizeof kinds / sizeof *kinds ? kinds[at] : NULL;
}

const char *hw_state_kind_name(hw_state_kind kind)
{
    return kinds[kind]->name;
}

size_t hw_state_count(const hawser_state *state)
{
    return hw_kind_of(state)->count(state);
}

bool hw_state_is_exchanged(const hawser_state *state)
{
    return hw_kind_of(state)->exchanged;
}

bool hw_state_is_kept(const hawser_state *state)
{
    return hw_kind_of(state)->stays;
}

size_t hw_kind_rows_by_cols(const hawser_state *state)
{
    return state->rows * state->cols;
}

hawser_status hw_kind_deal_out(hw_plan *plan, hw_state_plan *own, hawser_error *error)
{
    const hawser_state *state = own->state;
    uint32_t blocks = plan->settings.blocks;
    if (state->along != NULL)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&own->bounds, blocks + 1, "a plan's bounds", error));
    hw_balance_even(hw_state_count(state) / state->width, blocks, own->bounds);
    return HAWSER_OK;
}

/* ----------------------------------------------------------------------------------------------------- printing ---- */

const char *hw_kind_type_text(const hawser_state *state)
{
    static const char *const types[] = {
        [HAWSER_F64] = "", [HAWSER_F32] = " f32", [HAWSER_I64] = " i64", [HAWSER_I32] = " i32"};
    return types[state->type];
}

void hw_kind_print_lines(const hawser_state *state, FILE *out)
{
    fprintf(out, "%s %zu", hw_state_kind_name(state->kind), state->rows);
    if (state->cols != 1 || state->split == HAWSER_BY_COLUMN)
        fprintf(out, " x %zu %s", state->cols, hw_split_name(state->split));
    fprintf(out, "%s", hw_kind_type_text(state));
}

static void print_filter(const hw_state_plan *own, const char *newline, FILE *out)
{
    fprintf(out, "%sfilter %s", newline, own->filter_class);
    if (own->filter.kind != HW_FILTER_NONE)
        fprintf(out, ", quota %" PRIu64 " bytes per block and exchange%s, held for at most %" PRIu64 " clocks",
                own->filter.quota, own->quota_falls ? ", and less where the link holds the training up" : "",
                own->filter.max_held);
    fprintf(out, "; guarantee left: %s", own->guarantee);
}

void hw_kind_print_sending(const hw_plan *plan, const hw_state_plan *own, const char *newline, FILE *out)
{
    (void)plan;
    fprintf(out, "%sform: %s; encoding: %s", newline, own->form, own->encoding);
    if (own->sources == 1)
        fprintf(out, "; only block %" PRIu32 " updates it", own->updater);
    print_filter(own, newline, out);
}

void hw_kind_add_sending(const hw_plan *plan, const hw_state_plan *own, json_t *object, bool *ok)
{
    (void)plan;
    bool filtered = own->filter.kind != HW_FILTER_NONE;
    hw_json_text(object, "form", own->form, ok);
    hw_json_text(object, "encoding", own->encoding, ok);
    hw_json_take(object, "only_block", own->sources == 1 ? json_integer(own->updater) : json_null(), ok);
    hw_json_text(object, "filter", own->filter_class, ok);
    hw_json_take(object, "quota_bytes", filtered ? json_integer((json_int_t)own->filter.quota) : json_null(), ok);
    hw_json_take(object, "quota_falls", json_boolean(own->quota_falls), ok);
    hw_json_take(object, "max_held_clocks", filtered ? json_integer((json_int_t)own->filter.max_held) : json_null(), ok);
    hw_json_text(object, "guarantee", own->guarantee, ok);
}
