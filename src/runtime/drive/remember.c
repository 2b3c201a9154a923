/* remember.c - what tests remember: the memory of branches, and calls of tests that are done over. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/drive/driver.h"

static size_t aligned(size_t bytes)
{
    return (bytes + HW_ALIGNMENT - 1) / HW_ALIGNMENT * HW_ALIGNMENT;
}

hawser_status hw_memories_open(hw_driver *driver, hawser_error *error)
{
    static const char what[] = "what tests of branches remember";
    const hawser_program *program = driver->session->program;
    hw_memories *memories = &driver->memories;
    HAWSER_TRY(HW_NEW(&memories->at, program->operator_count, what, error));
    for (size_t i = 0; i < program->operator_count; i++) {
        memories->at[i] = memories->size;
        memories->size += aligned(program->operators[i]->remembers);
    }
    return memories->size > 0 ? HW_NEW(&memories->bytes, memories->size, what, error) : HAWSER_OK;
}

void hw_memories_close(hw_memories *memories)
{
    free(memories->at);
    free(memories->bytes);
}

static void *memory_of(hw_driver *driver, const hawser_operator *branch)
{
    return branch->remembers > 0 ? driver->memories.bytes + driver->memories.at[branch->number] : NULL;
}

void hw_memories_clear(hw_driver *driver, const hawser_operator *around)
{
    for (const hawser_operator *child = driver->memories.size > 0 ? around->first : NULL; child != NULL;
         child = child->next) {
        if (child->remembers > 0)
            memset(memory_of(driver, child), 0, child->remembers);
        hw_memories_clear(driver, child);
    }
}

bool hw_test_again(hw_driver *driver, size_t remembers, uint32_t place, uint64_t clock)
{
    if (hw_driver_rehearses(driver, place, clock))
        return true;
    hw_view_changes *changes = &driver->session->job->changes;
    if (changes->every == 0 || changes->call > 0 || (remembers == 0 && driver->session->program->tests_visit == NULL))
        return false;
    hw_random random = hw_random_at(changes->seed, driver->entries, driver->session->blocks + place, clock);
    bool drawn = hw_random_below(&random, changes->every) == 0;
    atomic_fetch_add_explicit(&changes->tests, drawn, memory_order_relaxed);
    return drawn;
}

hawser_status hw_remembered_keep(hw_remembered *kept, hw_driver *driver, void *memory, size_t size)
{
    const hawser_program *program = driver->session->program;
    *kept = (hw_remembered){.memory = memory, .size = size};
    memcpy(kept->metrics, driver->metrics, sizeof kept->metrics);
    HAWSER_TRY(hw_new_array(&kept->copy, size, 1, "what a test remembers", &driver->error));
    if (size > 0)
        memcpy(kept->copy, memory, size);
    if (program->tests_visit == NULL)
        return HAWSER_OK;
    return hawser_record_save(program->tests_visit, program->tests_object, &kept->record, &kept->record_size,
                              &driver->error);
}

void hw_remembered_return(hw_remembered *kept, hw_driver *driver)
{
    const hawser_program *program = driver->session->program;
    memcpy(driver->metrics, kept->metrics, sizeof kept->metrics);
    driver->points.count = 0;
    if (kept->size > 0 && kept->copy != NULL)
        memcpy(kept->memory, kept->copy, kept->size);
    if (kept->record != NULL) {
        hawser_status ignored = hawser_record_restore(program->tests_visit, program->tests_object, kept->record,
                                                      kept->record_size, &driver->error);
        (void)ignored;
    }
    free(kept->copy);
    free(kept->record);
}

static bool call(hw_driver *driver, const hawser_operator *branch)
{
    driver->progress.name = branch->name;
    driver->progress.memory = memory_of(driver, branch);
    driver->points.branch = true;
    bool yes = hw_driver_test(driver, "test of branch", branch->test, branch->user);
    driver->points.branch = false;
    driver->progress.memory = NULL;
    return yes;
}

hawser_status hw_remembered_compare(hw_driver *driver, const double *metrics, bool same, const char *kind)
{
    const hawser_program *program = driver->session->program;
    if (driver->session->job->rehearse == 0 || driver->error.status != HAWSER_OK || driver->stopping != NULL)
        return driver->error.status;
    const char *what = "the decision";
    for (uint32_t i = 0; i < program->metric_count && same; i++)
        if (memcmp(&metrics[i], &driver->metrics[i], sizeof *metrics) != 0) {
            what = program->metrics[i].name;
            same = false;
        }
    return same ? HAWSER_OK
                : hawser_fail(
                      &driver->error, HAWSER_BAD_PROGRAM,
                      "--rehearse: the %s '%s' was called twice from one record, and %s differs; what a test remembers "
                      "belongs in hawser_progress_memory or in hawser_tests_record",
                      kind, driver->progress.name, what);
}

hawser_status hw_branch_test(hw_driver *driver, const hawser_operator *branch, bool *yes)
{
    bool again = hw_test_again(driver, branch->remembers, branch->number + 1, driver->progress.clock), first = false;
    double metrics[HW_METRICS_MOST];
    if (again) {
        hw_remembered kept;
        if (hw_remembered_keep(&kept, driver, memory_of(driver, branch), branch->remembers) == HAWSER_OK)
            first = call(driver, branch);
        memcpy(metrics, driver->metrics, sizeof metrics);
        hw_remembered_return(&kept, driver);
    }
    HAWSER_TRY(driver->error.status);
    *yes = call(driver, branch);
    HAWSER_TRY(driver->error.status);
    if (again)
        HAWSER_TRY(hw_remembered_compare(driver, metrics, first == *yes, "test of branch"));
    return hw_points_send(driver);
}
