/* results.c - what a program reads of a run: whole states, ranges of them, their sizes. */
#include <string.h>

#include "base/argument.h"
#include "base/messages.h"
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

/* Returns the result of a state of a type; NULL if there is none. The caller has no place for an error, so it is reported. */
static const void *find_typed(const hawser_run *run, const char *state, hawser_type type, size_t *count)
{
    const hw_result *result = find(run, state);
    const void *values = NULL;
    hawser_error error = {0};
    if (result != NULL && result->type == type && whole_of(run, result, &values, &error) != HAWSER_OK)
        hw_notify(run->messages, HAWSER_WARNING, run->node, "%s", error.text);
    if (count != NULL)
        *count = values != NULL ? result->count : 0;
    return values;
}

const double *hawser_result(const hawser_run *run, const char *state, size_t *count)
{
    return find_typed(run, state, HAWSER_F64, count);
}

const float *hawser_result_f32(const hawser_run *run, const char *state, size_t *count)
{
    return find_typed(run, state, HAWSER_F32, count);
}

const int64_t *hawser_result_i64(const hawser_run *run, const char *state, size_t *count)
{
    return find_typed(run, state, HAWSER_I64, count);
}

const int32_t *hawser_result_i32(const hawser_run *run, const char *state, size_t *count)
{
    return find_typed(run, state, HAWSER_I32, count);
}

size_t hawser_result_size(const hawser_run *run, const char *state)
{
    const hw_result *result = find(run, state);
    return result != NULL ? result->count : 0;
}

hawser_status hawser_result_fetch(const hawser_run *run, const char *state, hawser_error *error)
{
    const void *values = NULL;
    HW_GIVEN(run);
    HW_GIVEN(state);
    const hw_result *result = find(run, state);
    if (result == NULL)
        return no_result(state, error);
    return whole_of(run, result, &values, error);
}

/* `call`: the name of the public function. */
static hawser_status read_range(const char *call, const hawser_run *run, const char *state, hawser_type type, size_t first,
                                size_t count, void *values, hawser_error *error)
{
    if (run == NULL || state == NULL || (values == NULL && count > 0))
        return hw_not_given(error, call, run == NULL ? "run" : state == NULL ? "state" : "values");
    const hw_result *result = find(run, state);
    size_t size = hw_type_size(type);
    if (result == NULL)
        return no_result(state, error);
    if (result->type != type)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "state '%s' has numbers of %s, and %s were requested", result->name,
                           hw_type_name(result->type), hw_type_name(type));
    if (first > result->count || count > result->count - first)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "state '%s' has %zu numbers, and %zu from number %zu on were requested", result->name,
                           result->count, count, first);
    if (result->kept != HW_NOT_KEPT)
        return hw_kept_run_read(run->kept, result->kept, first, count, values, error);
    if (count > 0)
        memcpy(values, (const char *)result->values + first * size, count * size);
    return HAWSER_OK;
}

hawser_status hawser_result_range(const hawser_run *run, const char *state, size_t first, size_t count, double *values,
                                  hawser_error *error)
{
    return read_range(__func__, run, state, HAWSER_F64, first, count, values, error);
}

hawser_status hawser_result_range_f32(const hawser_run *run, const char *state, size_t first, size_t count, float *values,
                                      hawser_error *error)
{
    return read_range(__func__, run, state, HAWSER_F32, first, count, values, error);
}

hawser_status hawser_result_range_i64(const hawser_run *run, const char *state, size_t first, size_t count, int64_t *values,
                                      hawser_error *error)
{
    return read_range(__func__, run, state, HAWSER_I64, first, count, values, error);
}

hawser_status hawser_result_range_i32(const hawser_run *run, const char *state, size_t first, size_t count, int32_t *values,
                                      hawser_error *error)
{
    return read_range(__func__, run, state, HAWSER_I32, first, count, values, error);
}
