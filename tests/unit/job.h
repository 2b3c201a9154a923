/* job.h - jobs for tests: options from "key", "value" pairs, the job above them. */
#ifndef HW_TESTS_UNIT_JOB_H
#define HW_TESTS_UNIT_JOB_H

#include "hawser/hawser.h"
#include "result.h"
#include "runtime/job/job.h"

typedef struct test_job {
    hawser_options *options;
    hawser_job *job;
} test_job;

/* `pairs` ends with NULL. */
static inline test_job open_job(const char *const *pairs)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_error error = {0};
    test_job test = {0};
    hawser_status status = hawser_options_new(tables, &test.options, &error);
    for (; status == HAWSER_OK && *pairs != NULL; pairs += 2)
        status = hawser_options_set(test.options, pairs[0], pairs[1], HAWSER_FROM_PROGRAM, "test", &error);
    if (status == HAWSER_OK)
        status = hawser_open_options(test.options, &test.job, &error);
    if (status != HAWSER_OK)
        fail_msg("%s", error.text);
    return test;
}
#define OPEN_JOB(...) open_job((const char *const[]){__VA_ARGS__, NULL})

static inline void close_job(test_job test)
{
    hawser_close(test.job);
    hawser_options_free(test.options);
}

#endif
