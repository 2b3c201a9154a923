/* result.h - the results of a run as pointers: RESULT(float, run, "w", &count)[0]. NULL, with the reason on standard error,
 * if there is none. */
#ifndef HW_TESTS_UNIT_RESULT_H
#define HW_TESTS_UNIT_RESULT_H

#include "hawser/hawser.h"

#define RESULT(numbers, run, state, count)                                                                                  \
    ((const numbers *)result_of((run), (state), HAWSER_TYPE_READ((const numbers **)NULL), (count)))

static inline const void *result_of(const hawser_run *run, const char *state, hawser_type type, size_t *count)
{
    const void *numbers = NULL;
    hawser_error error = {HAWSER_OK, ""};
    if (hawser_result_as(run, state, type, &numbers, count, &error) != HAWSER_OK)
        (void)fprintf(stderr, "%s\n", error.text);
    return numbers;
}

#endif
