/* results.c - what a program reads of a run: whole states, ranges of them, their sizes. */
#include <string.h>

#include "base/argument.h"
#include "base/type.h"
#include "runtime/drive/collect.h"
#include "runtime/job/kept_results.h"

static const hw_result *find(const hawser_run *run, const char *state)
{
    for (uint32_t i = 0; run != NULL && state != NULL && i < run->result_count; i++)
        if (strcmp(run->results[i].name, state) == 0)
            return &run->results[i];
    return NULL;
}

static hawser_status no_result(const char *state, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "the run has no result of a state '%.200s'", state);
}

/* Stores where all numbers of a state are, which may have to be fetched. */
static hawser_status whole_of(const hawser_run *run, const hw_result *result, const void **values, hawser_error *error)
{
    *values = result->values;
    return result->kept == HW_NOT_KEPT ? HAWSER_OK : hw_kept_run_whole(run->kept, result->kept, values, error);
}

static hawser_status check_type(const hw_result *result, hawser_type type, hawser_error *error)
{
    if (result->type == type)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "state '%s' has numbers of %s, and %s were requested", result->name,
                       hw_type_name(result->type), (unsigned)type <= HAWSER_I32 ? hw_type_name(type) : "no numbers");
}

hawser_status hawser_result_as(const hawser_run *run, const char *state, hawser_type type, void *numbers, size_t *count,
                               hawser_error *error)
{
    const void *values = NULL;
    if (count != NULL)
        *count = 0;
    HW_GIVEN(run);
    HW_GIVEN(state);
    HW_GIVEN(numbers);
    memcpy(numbers, &values, sizeof values); /* a pointer of another type */
    const hw_result *result = find(run, state);
    if (result == NULL)
        return no_result(state, error);
    HAWSER_TRY(check_type(result, type, error));
    HAWSER_TRY(whole_of(run, result, &values, error));
    memcpy(numbers, &values, sizeof values);
    if (count != NULL)
        *count = result->count;
    return HAWSER_OK;
}

size_t hawser_result_size(const hawser_run *run, const char *state)
{
    const hw_result *result = find(run, state);
    return result != NULL ? result->count : 0;
}

hawser_status hawser_result_range_as(const hawser_run *run, const char *state, size_t first, size_t count, hawser_type type,
                                     void *values, hawser_error *error)
{
    HW_GIVEN(run);
    HW_GIVEN(state);
    if (values == NULL && count > 0)
        return hw_not_given(error, __func__, "values");
    const hw_result *result = find(run, state);
    if (result == NULL)
        return no_result(state, error);
    HAWSER_TRY(check_type(result, type, error));
    if (first > result->count || count > result->count - first)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "state '%s' has %zu numbers, and %zu from number %zu on were requested", result->name,
                           result->count, count, first);
    if (result->kept != HW_NOT_KEPT)
        return hw_kept_run_read(run->kept, result->kept, first, count, values, error);
    size_t size = hw_type_size(type);
    if (count > 0)
        memcpy(values, (const char *)result->values + first * size, count * size);
    return HAWSER_OK;
}
