#include "store/failed.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { TEXTS_MOST = 1 << 20 /* bytes; a program whose pushes fail forever keeps 32 bytes for each */ };

void hw_failed_free(hw_failed *failed)
{
    for (size_t i = 0; i < failed->count; i++)
        free(failed->tasks[i].text);
    free(failed->tasks);
    *failed = (hw_failed){0};
}

hawser_status hw_failed_reserve(hw_failed *failed, size_t more, hawser_error *error)
{
    return HW_GROW(&failed->tasks, &failed->capacity, failed->count + more, "failed tasks", error);
}

/* Returns the place of the first task whose number is not below this one. */
static size_t place_of(const hw_failed *failed, uint64_t number)
{
    size_t low = 0, high = failed->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (failed->tasks[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void hw_failed_add(hw_failed *failed, uint64_t number, uint64_t root, hawser_status status, const char *text)
{
    size_t at = place_of(failed, number), length = strlen(text) + 1;
    hw_failed_task task = {number, root, status, NULL};
    if (root == number && failed->text_bytes + length <= TEXTS_MOST)
        task.text = malloc(length);
    if (task.text != NULL) {
        memcpy(task.text, text, length);
        failed->text_bytes += length;
    }
    memmove(failed->tasks + at + 1, failed->tasks + at, (failed->count - at) * sizeof *failed->tasks);
    failed->tasks[at] = task;
    failed->count++;
}

const hw_failed_task *hw_failed_find(const hw_failed *failed, uint64_t number)
{
    size_t at = place_of(failed, number);
    return at < failed->count && failed->tasks[at].number == number ? &failed->tasks[at] : NULL;
}

const char *hw_failed_text(const hw_failed *failed, const hw_failed_task *task)
{
    const hw_failed_task *root = hw_failed_find(failed, task->root);
    return root != NULL && root->text != NULL ? root->text : "";
}
