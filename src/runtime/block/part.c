/* part.c - the table of kinds, and the record of all parts of a block. */
#include "runtime/block/part.h"

#define HW_PART_AT(id, row) [HW_##id] = &hw_part_##row,

const hw_part_kind *hw_part_kind_of(hw_state_kind kind)
{
    static const hw_part_kind *const kinds[] = {HW_STATE_KINDS(HW_PART_AT)};
    return kinds[kind];
}

size_t hw_part_count(const hw_state_part *part)
{
    return part->count;
}

size_t hw_part_size(const hw_state_part *part)
{
    return part->count * hw_state_size(part->state);
}

hawser_status hw_parts_begin_phase(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        const hw_part_kind *kind = worker->parts[i].kind;
        if (kind->begin_phase != NULL)
            HAWSER_TRY(kind->begin_phase(worker, &worker->parts[i]));
    }
    return HAWSER_OK;
}

void hw_parts_begin_unit(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        const hw_part_kind *kind = worker->parts[i].kind;
        if (kind->begin_unit != NULL)
            kind->begin_unit(worker, &worker->parts[i]);
    }
}

hawser_status hw_parts_end_clock(hw_worker *worker, bool empty)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        const hw_part_kind *kind = worker->parts[i].kind;
        if (kind->end_clock != NULL)
            HAWSER_TRY(kind->end_clock(worker, &worker->parts[i], empty));
    }
    return HAWSER_OK;
}

hawser_status hw_parts_end_phase(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        const hw_part_kind *kind = worker->parts[i].kind;
        if (kind->end_phase != NULL)
            HAWSER_TRY(kind->end_phase(worker, &worker->parts[i]));
    }
    return HAWSER_OK;
}

static void visit(hawser_record *record, void *object)
{
    hw_worker *worker = object;
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (part->kind->visit != NULL)
            part->kind->visit(part, record);
    }
    hw_points_visit(worker, record);
}

hawser_status hw_parts_save(hw_worker *worker, void **bytes, size_t *size)
{
    return hawser_record_save(visit, worker, bytes, size, &worker->error);
}

hawser_status hw_parts_restore(hw_worker *worker, const void *bytes, size_t size)
{
    return hawser_record_restore(visit, worker, bytes, size, &worker->error);
}

void hw_parts_drop(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (part->kind->drop != NULL)
            part->kind->drop(part);
    }
    hw_points_drop(worker);
}
