/* adapt.c - what a program declares of its loops for changes while they run. */
#include <math.h>

#include "hawser/advanced.h"
#include "program/kind.h"
#include "program/program.h"

#define REFUSE(...)                                                                                                         \
    do {                                                                                                                    \
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, __VA_ARGS__);                                                       \
        return;                                                                                                             \
    } while (0)

enum { STALENESS_MOST = 8, COCOA_STALENESS = 3 };

/* Checks what a declaration says beside the loop's work. */
static void declare_rest(hawser_program *program, hawser_operator *loop, const hawser_adapt_spec *spec)
{
    hawser_state *state = loop->preset && spec->state == NULL ? loop->adapts : spec->state;
    loop->metric = spec->metric != NULL ? hw_program_metric(program, spec->metric) : UINT32_MAX;
    if (spec->metric != NULL && loop->metric == UINT32_MAX)
        REFUSE("hawser_adapt: loop '%s' is judged by metric '%s', which the program has not declared before", loop->name,
               spec->metric);
    if (spec->staleness_most > STALENESS_MOST)
        REFUSE("hawser_adapt: loop '%s' has .staleness_most %u; the most is %d", loop->name, spec->staleness_most,
               STALENESS_MOST);
    if (state != NULL && (state->program != program || state->kind != HW_REPLICATED || hw_type_is_whole(state->type)))
        REFUSE("hawser_adapt: '%s' is no replicated state of f64 or f32 of this program", state->name);
    if (spec->gain_of != NULL && state == NULL)
        REFUSE("hawser_adapt: loop '%s' has .gain_of without the .state whose gain it is", loop->name);
    const bool grows = loop->gain_grows && state == loop->adapts && spec->gain_of == NULL;
    loop->metric_is_gap = spec->metric_is_gap;
    loop->staleness_most = grows && spec->staleness_most == 0 ? COCOA_STALENESS : spec->staleness_most;
    loop->gain_grows = grows;
    loop->preset = false;
    loop->adapts = state;
    loop->gain_of = spec->gain_of;
}

void hw_adapt_cocoa(hawser_operator *loop, hawser_state *v)
{
    if (loop->preset && loop->adapts != v) /* only one gain would grow */
        loop->gain_grows = false;
    if (loop->kind != HW_LOOP || loop->adapted)
        return;
    loop->adapted = loop->preset = loop->gain_grows = true;
    loop->work_least = loop->work_most = 1;
    loop->metric = UINT32_MAX;
    loop->adapts = v;
}

void hawser_adapt(hawser_program *program, const hawser_adapt_spec *spec)
{
    if (program == NULL || program->root == NULL)
        return;
    hawser_operator *loop = spec != NULL ? spec->loop : NULL;
    if (loop == NULL || loop->program != program || loop->kind != HW_LOOP)
        REFUSE("hawser_adapt: '%s' is no loop of this program", loop != NULL && loop->name != NULL ? loop->name : "");
    double least = spec->work_least != 0 ? spec->work_least : 1, most = spec->work_most != 0 ? spec->work_most : 1;
    if (loop->adapted && !loop->preset)
        REFUSE("hawser_adapt: loop '%s' has a declaration already", loop->name);
    if (!(least > 0 && least <= 1 && most >= 1 && isfinite(most)))
        REFUSE("hawser_adapt: loop '%s' has work from %g to %g; 1 is what it does as written, and must be in between",
               loop->name, least, most);
    if (!(least < 1 || most > 1 || spec->shares || spec->staleness_most > 0 || spec->state != NULL || loop->preset))
        REFUSE("hawser_adapt: nothing of loop '%s' may change; set .work_least, .work_most, .shares, .staleness_most or "
               ".state",
               loop->name);
    loop->adapted = true;
    loop->work_least = least;
    loop->work_most = most;
    loop->shares = spec->shares;
    declare_rest(program, loop, spec);
}
