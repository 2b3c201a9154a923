/*
 * failed.h - the tasks of a client that have failed. A task that names one of them in `after` fails too, however long ago
 * that one ended.
 */
#ifndef HW_STORE_FAILED_H
#define HW_STORE_FAILED_H

#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

typedef struct hw_failed_task {
    uint64_t number;
    uint64_t root; /* the task whose failure made this one fail; its own number if it failed by itself */
    hawser_status status;
    char *text; /* of a root; NULL: there is none, or too many texts are kept */
} hw_failed_task;

typedef struct hw_failed {
    hw_failed_task *tasks; /* numbers ascend */
    size_t count, capacity;
    size_t text_bytes;
} hw_failed;

void hw_failed_free(hw_failed *failed);
/* Allocates memory for `more` further failures, so that hw_failed_add cannot fail. */
hawser_status hw_failed_reserve(hw_failed *failed, size_t more, hawser_error *error) HAWSER_MUST_USE;
void hw_failed_add(hw_failed *failed, uint64_t number, uint64_t root, hawser_status status, const char *text);
/* Returns the record of a task, or NULL if it has not failed. */
const hw_failed_task *hw_failed_find(const hw_failed *failed, uint64_t number);
/* Returns the text of a failure that is passed on, "" if it was not kept. */
const char *hw_failed_text(const hw_failed *failed, const hw_failed_task *task);

#endif
