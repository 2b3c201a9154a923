/* scratch.c - a block's scratch, and how tests drop it, and what the block remembers of its states, between clocks. */
#include <stdlib.h>

#include "base/memory.h"
#include "runtime/block/part.h"

hawser_status hw_worker_new_scratch(hw_worker *worker, hawser_error *error)
{
    size_t bytes = worker->session->program->scratch_bytes;
    return bytes != 0 ? hw_new_array(&worker->scratch, bytes, 1, "a block's scratch", error) : HAWSER_OK;
}

void hw_worker_free_scratch(hw_worker *worker)
{
    const hawser_program *program = worker->session != NULL ? worker->session->program : NULL;
    if (worker->scratch != NULL && program->scratch_release != NULL)
        program->scratch_release(worker->scratch);
    free(worker->scratch);
    worker->scratch = NULL;
}

static bool drawn(const hw_worker *worker)
{
    const hw_scratch_drops *drops = &worker->session->job->drops;
    if (hw_rehearses_clock(worker, HW_REHEARSES_DROP))
        return true;
    if (drops->every == 0 || (worker->scratch == NULL && !drops->states))
        return false;
    hw_random random = hw_random_at(drops->seed, worker->epoch, worker->block, worker->clock);
    return hw_random_below(&random, drops->every) == 0;
}

/* The object of a record: what a visit is called with. */
typedef struct visited {
    hw_worker *worker;
    hawser_scratch_visit *visit;
    hawser_status status;
} visited;

static void visit_scratch(hawser_record *record, void *object)
{
    visited *given = object;
    given->status = hw_context_visit(given->worker, given->visit, record);
}

static hawser_scratch_visit *visit_of(const hw_worker *worker)
{
    hawser_scratch_visit *instead = worker->session->job->drops.visit;
    return instead != NULL ? instead : worker->session->program->scratch_visit;
}

hawser_status hw_worker_save_scratch(hw_worker *worker, void **bytes, size_t *size)
{
    visited given = {worker, visit_of(worker), HAWSER_OK};
    if (given.visit == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hawser_record_save(visit_scratch, &given, bytes, size, &worker->error));
    return given.status;
}

hawser_status hw_worker_renew_scratch(hw_worker *worker, const void *bytes, size_t size)
{
    visited given = {worker, visit_of(worker), HAWSER_OK};
    hw_worker_free_scratch(worker);
    HAWSER_TRY(hw_worker_new_scratch(worker, &worker->error));
    if (bytes == NULL)
        return HAWSER_OK;
    hawser_status status = hawser_record_restore(visit_scratch, &given, bytes, size, &worker->error);
    return given.status != HAWSER_OK ? given.status : status;
}

static hawser_status drop_parts(hw_worker *worker)
{
    void *bytes = NULL;
    size_t size = 0;
    hawser_status status = hw_parts_save(worker, &bytes, &size);
    if (status == HAWSER_OK) {
        hw_parts_drop(worker);
        status = hw_parts_restore(worker, bytes, size);
    }
    free(bytes);
    return status;
}

hawser_status hw_worker_drop(hw_worker *worker)
{
    void *bytes = NULL;
    size_t size = 0;
    if (!drawn(worker))
        return HAWSER_OK;
    if (worker->session->job->drops.states || worker->session->job->rehearse > 0)
        HAWSER_TRY(drop_parts(worker));
    /* A scratch that the last stage has read back stays for the next clock, whose first run has it as it is: so a field that
     * the record lacks is noticed. */
    if (worker->scratch == NULL || worker->read_back)
        return HAWSER_OK;
    atomic_fetch_add_explicit(&worker->session->job->drops.count, 1, memory_order_relaxed);
    hawser_status status = hw_worker_save_scratch(worker, &bytes, &size);
    HAWSER_THEN(status, hw_worker_renew_scratch(worker, bytes, size));
    free(bytes);
    return status;
}
