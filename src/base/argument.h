/* argument.h - checks of required pointer arguments of public calls. */
#ifndef HW_BASE_ARGUMENT_H
#define HW_BASE_ARGUMENT_H

#include <stddef.h>

#include "hawser/status.h"

/* Fails with HAWSER_BAD_ARGUMENT, because `argument` of `call` is NULL. */
hawser_status hw_not_given(hawser_error *error, const char *call, const char *argument);

/* For public functions that return a status and have `error`. */
#define HW_GIVEN(argument)                                                                                                  \
    do {                                                                                                                    \
        if ((argument) == NULL)                                                                                             \
            return hw_not_given(error, __func__, #argument);                                                                \
    } while (0)

#endif
