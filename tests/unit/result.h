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

/* Stores numbers of a state as doubles, which hold all of them exactly. */
static inline void to_doubles(hawser_type type, const void *values, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = type == HAWSER_F64   ? ((const double *)values)[i]
                 : type == HAWSER_F32 ? (double)((const float *)values)[i]
                 : type == HAWSER_I64 ? (double)((const int64_t *)values)[i]
                                      : (double)((const int32_t *)values)[i];
}

/* Other nodes send their parts of a result, so it may fail as the run may. */
static inline hawser_status get_result(const hawser_run *run, const char *state, hawser_type type, size_t count, double *out,
                                       hawser_error *error)
{
    const void *numbers = NULL;
    HAWSER_TRY(hawser_result_as(run, state, type, &numbers, NULL, error));
    to_doubles(type, numbers, count, out);
    return HAWSER_OK;
}

#endif
