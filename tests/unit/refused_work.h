/* refused_work.h - refusals of wrong declarations of a loop's work; part of program_refusals.c. */
#ifndef HW_TEST_REFUSED_WORK_H
#define HW_TEST_REFUSED_WORK_H

#include "hawser/advanced.h"
#include "refused.h"

static double gain_of_work(double work, uint32_t staleness, void *user)
{
    (void)staleness, (void)user;
    return work;
}

static void wrong_declarations_of_work_are_rejected(void **state)
{
    (void)state;
    static const struct {
        hawser_adapt_spec spec;
        const char *what, *text;
    } wrong[] = {{{.work_least = 2}, "loop 'loop'", "has work from 2 to 1"},
                 {{.work_most = 0.5}, "loop 'loop'", "has work from 1 to 0.5"},
                 {{.work_least = -1}, "loop 'loop'", "has work from -1 to 1"},
                 {{.work_most = INFINITY}, "loop 'loop'", "has work from 1 to inf"},
                 {{.work_most = 1}, "nothing of loop 'loop'", "set .work_least"},
                 {{.work_most = 2, .metric = "none"}, "loop 'loop'", "metric 'none', which the program has not declared"},
                 {{.staleness_most = 9}, "loop 'loop'", "has .staleness_most 9; the most is 8"},
                 {{.work_most = 2, .gain_of = gain_of_work}, "loop 'loop'", ".gain_of without the .state"}};
    for (size_t i = 0; i <= sizeof wrong / sizeof *wrong; i++) {
        fixture f = make();
        hawser_operator *loop = hawser_loop(hawser_root(f.program), "loop", (hawser_until){.clocks = 3}, hawser_bsp());
        HAWSER_UNIT(loop, "unit", nothing, .updates = {f.v});
        hawser_adapt_spec spec = i < sizeof wrong / sizeof *wrong ? wrong[i].spec : (hawser_adapt_spec){.work_most = 2};
        spec.loop = loop;
        hawser_adapt(f.program, &spec);
        if (i < sizeof wrong / sizeof *wrong) {
            refused(f, wrong[i].what, wrong[i].text);
            continue;
        }
        hawser_adapt(f.program, &spec);
        refused(f, "loop 'loop'", "has a declaration already");
    }
    fixture f = make();
    hawser_state *own = HAWSER_STATE(f.program, "own", HAWSER_LOCAL, .each = true, .rows = 1);
    hawser_operator *judged = hawser_loop(hawser_root(f.program), "judged", (hawser_until){.clocks = 3}, hawser_bsp());
    HAWSER_ADAPT(f.program, .loop = judged, .state = own);
    refused(f, "'own'", "is no replicated state of f64 or f32");
    f = make();
    HAWSER_ADAPT(f.program, .loop = hawser_root(f.program), .work_most = 2);
    refused(f, "hawser_adapt", "is no loop of this program");
}

#endif
