/* unit.h - how a unit ends by the status of a call that leaves its text in an error. */
#ifndef HW_ALGORITHMS_MODEL_UNIT_H
#define HW_ALGORITHMS_MODEL_UNIT_H

#include "hawser/hawser.h"

/* Returns the status of a call in a unit. If it failed, the unit fails with the text of `error`. */
HAWSER_MUST_USE static inline hawser_status hw_unit_ends(hawser_context *context, hawser_status status,
                                                         const hawser_error *error)
{
    return status == HAWSER_OK ? status : hawser_unit_fail(context, status, "%s", error->text);
}

/* Returns from a unit that fails, unless `call`, which leaves its text in &error, returns HAWSER_OK. */
#define HW_UNIT_TRY(context, call)                                                                                          \
    do {                                                                                                                    \
        hawser_error error = {0};                                                                                           \
        HAWSER_TRY(hw_unit_ends(context, call, &error));                                                                    \
    } while (0)

#endif
