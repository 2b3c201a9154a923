/* adapt.c - what a program declares of its loops for changes of their work. */
#include <math.h>

#include "hawser/advanced.h"
#include "program/program.h"

#define REFUSE(...)                                                                                                         \
    do {                                                                                                                    \
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, __VA_ARGS__);                                                       \
        return;                                                                                                             \
    } while (0)

void hawser_adapt(hawser_program *program, const hawser_adapt_spec *spec)
{
    if (program == NULL || program->root == NULL)
        return;
    hawser_operator *loop = spec != NULL ? spec->loop : NULL;
    if (loop == NULL || loop->program != program || loop->kind != HW_LOOP)
        REFUSE("hawser_adapt: '%s' is no loop of this program", loop != NULL && loop->name != NULL ? loop->name : "");
    double least = spec->work_least != 0 ? spec->work_least : 1, most = spec->work_most != 0 ? spec->work_most : 1;
    if (loop->adapted)
        REFUSE("hawser_adapt: loop '%s' has a declaration already", loop->name);
    if (!(least > 0 && least <= 1 && most >= 1 && isfinite(most)))
        REFUSE("hawser_adapt: loop '%s' has work from %g to %g; 1 is what it does as written, and must be in between",
               loop->name, least, most);
    if (!(least < 1 || most > 1 || spec->shares))
        REFUSE("hawser_adapt: nothing of loop '%s' may change; set .work_least, .work_most or .shares", loop->name);
    loop->adapted = true;
    loop->work_least = least;
    loop->work_most = most;
    loop->shares = spec->shares;
}
