/* kind_exchanged.c - replicated and partitioned states: blocks have copies, and send each other what they change. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/json.h"
#include "codec/forms.h"
#include "exchange/filters.h"
#include "program/kind.h"

static const char *const replicated_fields[] = {"type",  "rows",     "cols",       "by_column", "initial", "damping",
                                                "gain",  "merge",    "merge_user", "derive",    "form",    "filter",
                                                "quota", "max_held", "expect",     "keep",      NULL};
static const char *const partitioned_fields[] = {"type",  "rows",    "cols",   "by_column", "each",
                                                 "along", "initial", "expect", "keep",      NULL};

static void check_rule(const hawser_state *state)
{
    const hawser_rule *rule = &state->rule;
    if (!(rule->damping >= 0) || !isfinite(rule->damping) || !(rule->gain >= 0) || !isfinite(rule->gain))
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "state '%s' has damping %g and gain %g; both must be above zero", state->name, rule->damping,
                           rule->gain);
    else if (hw_type_is_whole(state->type) && (rule->damping != 1 || rule->gain != 1 || rule->merge != NULL))
        hw_program_mistake(
            state->program, HAWSER_BAD_PROGRAM,
            "state '%s' is of %s, whose updates are added up exactly: it can have no %s; leave it out, or make "
            "the state of f64",
            state->name, hw_type_name(state->type),
            rule->merge != NULL  ? "merge function"
            : rule->damping != 1 ? "damping"
                                 : "gain");
}

/* Sets the form of a state's deltas. */
static void set_form(hawser_state *state, hawser_form form)
{
    if (hw_form_row_of((unsigned)form) == NULL)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "state '%s' cannot be sent in form %d: deltas are rounded to bf16, f16 or int8", state->name,
                           (int)form);
    else if (form != HAWSER_EXACT && hw_type_is_whole(state->type))
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "state '%s' is of %s, which is sent exactly: it cannot be rounded (.form, --encoding)",
                           state->name, hw_type_name(state->type));
    else
        state->form = form;
}

static void set_filter(hawser_state *state, const char *word, uint64_t quota, uint64_t max_held)
{
    hw_filter_kind kind = hw_filter_find(word);
    if (kind == HW_FILTER_NONE && strcmp(word, "none") != 0)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM, "state '%s': there is no filter '%s'; use one of %s",
                           state->name, word, HW_ROWS_BOUNDS(HW_FILTERS));
    else if ((kind == HW_FILTER_NONE) != (quota == 0) || (kind == HW_FILTER_NONE && max_held > 0))
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "state '%s': filter '%s' with a quota of %" PRIu64 " and max_held %" PRIu64
                           " does nothing: a filter needs a quota above 0, and 'none' has neither",
                           state->name, word, quota, max_held);
    else {
        state->filter = (hw_filter){.kind = kind, .quota = quota, .max_held = max_held};
        state->filter_set = true;
    }
}

static hawser_state *add_replicated(hawser_program *program, const hawser_state_spec *spec, size_t cols)
{
    hawser_state *state = hw_state_new(program, spec->name, HW_REPLICATED);
    if (state == NULL)
        return NULL;
    hw_state_set_type(state, spec->type);
    state->rows = spec->rows;
    state->cols = cols;
    state->split = spec->by_column ? HAWSER_BY_COLUMN : HAWSER_BY_ROW;
    state->initial = spec->initial;
    state->rule = (hawser_rule){.damping = spec->damping == 0 ? 1 : spec->damping,
                                .gain = spec->gain == 0 ? 1 : spec->gain,
                                .merge = spec->merge,
                                .user = spec->merge_user};
    state->rebuild = spec->derive;
    if (spec->rows == 0 || spec->rows > SIZE_MAX / 16 / cols)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "state '%s' has an impossible size, %zu x %zu; set .rows and .cols",
                           spec->name, spec->rows, cols);
    check_rule(state);
    set_form(state, spec->form);
    if (spec->filter != NULL)
        set_filter(state, spec->filter, spec->quota, spec->max_held);
    return state;
}

static hawser_state *add_partitioned(hawser_program *program, const hawser_state_spec *spec, size_t cols)
{
    hawser_state *state =
        hw_state_new_matrix(program, spec->name, HW_PARTITIONED, spec->type, spec->rows, cols,
                            spec->by_column ? HAWSER_BY_COLUMN : HAWSER_BY_ROW, spec->along, spec->initial);
    if (state != NULL && spec->each)
        state->lines_each = spec->by_column ? cols : spec->rows;
    if (spec->each && spec->initial != NULL)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "state '%s' has .each and .initial: a partitioned state of so many lines per block begins with "
                           "zeros; write its first numbers in a unit",
                           spec->name);
    return state;
}

static hawser_status describe(const hw_plan *plan, hw_state_plan *own, hawser_error *error)
{
    hawser_form chosen;
    HAWSER_TRY(hw_plan_sending(plan, own, &chosen, error));
    bool values = !hw_kind_of(own->state)->summed || own->sources == 1;
    bool held = own->filter.kind != HW_FILTER_NONE && plan->settings.blocks > 1;
    own->form = plan->settings.blocks == 1 ? "stays (one block)" : values ? "values (one writer)" : "deltas";
    bool rounded = chosen != HAWSER_EXACT && plan->settings.blocks > 1;
    const hw_form_row *form = hw_form_row_of(rounded ? (unsigned)chosen : HAWSER_EXACT);
    own->rounding = form->width;
    own->encoding = form->plan;
    own->narrows = !held && !values && hw_plan_narrows(plan, own->state, chosen);
    if (own->narrows && !rounded)
        own->encoding = "exact, and to bf16 or int8 where the link holds the training up; dense or sparse";
    rounded = rounded || own->narrows;
    own->filter_class = hw_filter_class(held ? own->filter.kind : HW_FILTER_NONE);
    own->guarantee = held && rounded ? "all but what is held, and but the rounding of what was sent last"
                     : held          ? "all but what is held"
                     : rounded       ? "all but the rounding of what was sent last"
                                     : "all updates that the sync policy promises";
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------- memory ---- */

/* The exchanges of each block whose updates may be in memory at one time, if updates arrive while a unit runs. */
typedef struct in_flight {
    bool loose;
    uint64_t usual, most;
} in_flight;

/* Updates are loose if they may arrive while a unit runs, so that a replica keeps a copy of its origin (replica.h). A block
 * may begin a clock when others are up to W - 1 clocks behind it, and before it has taken their next updates they may run to
 * W - 1 clocks ahead of it, where W is the credit window. Blocks give way to each other, so usually fewer are in flight
 * (measured). */
static in_flight flights_of(const hw_plan *plan, const hawser_state *state)
{
    enum { USUAL = 3 };
    in_flight flights = {0};
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *loop = plan->program->operators[i];
        hw_policy policy = hw_policy_of(loop->sync);
        if (loop->kind != HW_LOOP || policy.kind == HW_POLICY_BSP || !hw_operator_shipped(loop) ||
            !hw_operator_updates(loop, state))
            continue;
        uint64_t window = hw_credit_window(policy), clocks = 2 * (window < UINT32_MAX ? window : UINT32_MAX) - 1;
        uint64_t each = hw_bits_set(hw_plan_use(plan, loop, state).updates);
        clocks = loop->until.clocks != 0 && loop->until.clocks < clocks ? loop->until.clocks : clocks;
        uint64_t usual = clocks < USUAL ? clocks : USUAL;
        flights.loose = true;
        flights.most = clocks * each > flights.most ? clocks * each : flights.most;
        flights.usual = usual * each > flights.usual ? usual * each : flights.usual;
    }
    return flights;
}

/* Returns how many numbers a node's updates hold when each block has `exchanges` exchanges in flight. All blocks of a
 * process share one buffer of an update. Over nodes a node also keeps the updates that it sends. */
static uint64_t in_loose_updates(const hw_plan *plan, uint64_t doubles, uint64_t exchanges, bool values)
{
    uint64_t blocks = plan->settings.blocks, here = hw_plan_blocks_of_a_node(&plan->settings);
    if (blocks <= 1)
        return 0;
    return values ? doubles * exchanges : doubles * (blocks * exchanges + (blocks > here ? here : 0));
}

/* Returns the numbers in updates of other nodes that a node has at once in a clock under bsp, and in sums that it makes of
 * updates. If updates come packed, each block of the node unpacks them, which takes the numbers of about one more
 * (measured). */
static uint64_t in_sums(const hw_plan *plan, uint64_t doubles)
{
    const hw_plan_settings *settings = &plan->settings;
    uint64_t nodes = settings->nodes, here = hw_plan_blocks_of_a_node(settings), depth = 0;
    if (!hw_adds_up(settings->adding, settings->nodes))
        return 0;
    while ((UINT64_C(1) << depth) < nodes)
        depth++;
    switch (settings->adding.kind) {
    case HW_ADDING_SPREAD:
        return doubles * (nodes - 1) + doubles * (here > 1 ? 7 : 2) / 2; /* a fast node's next one (measured) */
    case HW_ADDING_TREE: return doubles * (depth + 2 + (here > 1));
    case HW_ADDING_BLOCKS: return 2 * doubles * (here / 2); /* each second block has a sum and a message with it */
    case HW_ADDING_SERVERS: return doubles * ((nodes - 1) / settings->adding.servers + 3 + (here > 1));
    }
    return 0;
}

/* Returns the links to other nodes by which a relay sends a number under ssp and tap; 0: there are no relays. */
static uint64_t relay_links(const hw_plan *plan, const hw_state_plan *own)
{
    const hw_plan_settings *settings = &plan->settings;
    uint64_t nodes = settings->nodes, servers = settings->adding.servers, links = 0;
    if (!hw_plan_combines(plan, own))
        return 0;
    if (settings->adding.kind == HW_ADDING_SERVERS) /* of its own range a server has all links, of each other range one */
        links = (nodes - 1 + servers - 1) / servers + (servers > 1);
    else
        while ((UINT64_C(1) << links) < nodes)
            links++;
    return links;
}

/* Returns how many numbers a node's updates hold when its blocks are in step. A block writes its update into the buffer of
 * its last one, if all blocks have taken that. If not all blocks compute at once, some have not, and the block has two
 * buffers; else it may need the second now and then. Along a tree of blocks one buffer suffices: the total arrives only
 * after each block on the way has sent its sum. */
static uint64_t in_step_updates(const hw_plan *plan, uint64_t doubles, bool values)
{
    enum { EIGHTHS = 8, ONE_AND_AT_TIMES_TWO = 11, TWO = 16 };
    const hw_plan_settings *settings = &plan->settings;
    uint64_t here = hw_plan_blocks_of_a_node(settings);
    if (settings->blocks <= 1)
        return 0;
    bool tree = settings->adding.kind == HW_ADDING_BLOCKS && !values;
    uint64_t buffers = here == 1 || tree ? EIGHTHS : here > settings->threads ? TWO : ONE_AND_AT_TIMES_TWO;
    if (values) /* and the next values of the fastest node */
        return doubles * buffers / EIGHTHS + (settings->nodes > 1 ? doubles / settings->nodes : 0);
    return here * doubles * buffers / EIGHTHS + in_sums(plan, doubles);
}

/* Returns the bytes by which updates of `more` exchanges of each block exceed the usual ones. */
static uint64_t in_late_updates(const hw_plan *plan, uint64_t bytes, uint64_t more, bool values)
{
    uint64_t blocks = plan->settings.blocks;
    const double most = 0x1p56, all = (double)bytes * (double)more * (values ? 1.0 : (double)blocks);
    return blocks <= 1 ? 0 : all < most ? (uint64_t)all : (uint64_t)most;
}

/* A replicated or partitioned state has base and cache of each block, held updates or a separate origin, and updates in
 * flight. The first block's base is the result. */
static hw_state_memory memory(const hw_plan *plan, hw_state_plan *own)
{
    enum { FILTERED = 4, ROUNDED = 2 };
    const hawser_state *state = own->state;
    uint64_t doubles = hw_state_count(state), blocks = plan->settings.blocks, size = hw_state_size(state);
    doubles = state->expected != 0 && state->expected < doubles ? state->expected : doubles;
    const in_flight flights = flights_of(plan, state);
    const uint64_t links = flights.loose ? relay_links(plan, own) : 0;
    bool values = !hw_kind_of(state)->summed || own->sources == 1;
    uint64_t copies = 2 + (flights.loose && blocks > 1) + (own->filter.kind != HW_FILTER_NONE ? FILTERED : 0) +
                      (own->rounding != HW_F64 || own->narrows ? ROUNDED : 0);
    own->block_bytes = copies * doubles * size;
    /* A relay has a sum for each link, and one that is being made; a slow link has two in its queue. */
    uint64_t sums = links > 0 ? doubles * (links + 1) : 0;
    uint64_t sent = flights.loose ? in_loose_updates(plan, doubles, flights.usual, values) + sums
                                  : in_step_updates(plan, doubles, values);
    uint64_t points = hw_plan_keeps(plan, state) ? hw_plan_points(plan) : 0; /* only a node's first block has them */
    uint64_t live = own->block_bytes * hw_plan_blocks_of_a_node(&plan->settings) + (sent + points * doubles) * size;
    uint64_t late = in_late_updates(plan, doubles * size, flights.most - flights.usual, values) + links * doubles * size;
    return (hw_state_memory){.live = live, .kept = doubles * size, .end = doubles * size, .late = late};
}

/* The merged values are there once. A block has what it has not sent, and, if updates come while its units run, its own
 * values. */
static hw_state_record recorded(const hw_plan *plan, const hw_state_plan *own)
{
    const hawser_state *state = own->state;
    const uint64_t blocks = plan->settings.blocks, count = hw_state_count(state), bits = sizeof(uint64_t);
    const uint64_t all = count * hw_state_size(state), points = hw_plan_keeps(plan, state) ? hw_plan_points(plan) : 0;
    bool deltas = hw_kind_of(state)->summed && own->sources > 1 && blocks > 1;
    bool filtered = deltas && own->filter.kind != HW_FILTER_NONE, rounded = deltas && own->rounding != HW_F64;
    bool apart = (flights_of(plan, state).loose && blocks > 1) || filtered || rounded;
    uint64_t each = (count / HW_TILE / 64 + 1) * bits + (apart ? 2 * all : 0) + (filtered || rounded ? all : 0);
    each += (filtered ? count * sizeof(uint32_t) : 0) + (rounded ? (count / 64 + 1) * bits : 0);
    return (hw_state_record){.blocks = blocks * each, .largest = each, .once = (1 + points) * all + bits};
}

/* ----------------------------------------------------------------------------------------------------- printing ---- */

static void print_replicated(const hawser_state *state, FILE *out)
{
    fprintf(out, "replicated %zu x %zu%s, damping %g, gain %g", state->rows, state->cols, hw_kind_type_text(state),
            state->rule.damping, state->rule.gain);
}

static void add_replicated_json(const hw_plan *plan, const hw_state_plan *own, json_t *object, bool *ok)
{
    hw_json_number(object, "damping", own->state->rule.damping, ok);
    hw_json_number(object, "gain", own->state->rule.gain, ok);
    hw_kind_add_sending(plan, own, object, ok);
}

const hw_kind hw_kind_replicated = {.name = "replicated",
                                    .fields = replicated_fields,
                                    .add = add_replicated,
                                    .numbers = true,
                                    .exchanged = true,
                                    .summed = true,
                                    .count = hw_kind_rows_by_cols,
                                    .describe = describe,
                                    .memory = memory,
                                    .recorded = recorded,
                                    .print = print_replicated,
                                    .print_shares = hw_kind_print_sending,
                                    .add_json = add_replicated_json};
const hw_kind hw_kind_partitioned = {.name = "partitioned",
                                     .fields = partitioned_fields,
                                     .add = add_partitioned,
                                     .numbers = true,
                                     .exchanged = true,
                                     .owned = true,
                                     .count = hw_kind_rows_by_cols,
                                     .split = hw_kind_deal_out,
                                     .describe = describe,
                                     .memory = memory,
                                     .recorded = recorded,
                                     .print = hw_kind_print_lines,
                                     .print_shares = hw_kind_print_sending,
                                     .add_json = hw_kind_add_sending};
