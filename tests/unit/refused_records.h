/* refused_records.h - programs of which no checkpoint can be taken. */
#ifndef HW_TESTS_UNIT_REFUSED_RECORDS_H
#define HW_TESTS_UNIT_REFUSED_RECORDS_H

#include "refused.h"

static fixture in_loop(fixture f, hawser_sync sync, hawser_state *updated)
{
    HAWSER_UNIT(hawser_loop(f.root, "loop", (hawser_until){.clocks = 9}, sync), "u", nothing, .updates = {updated});
    return f;
}

/* No checkpoint is taken of such programs. */
static void what_has_no_record_is_rejected(void **state)
{
    (void)state;
    static const hw_checkpointer none = {0};
    checkpointer = &none;
    fixture f = in_loop(make(), hawser_bsp(), NULL);
    hawser_program_pause(f.program, 1);
    refused(f, "'broken'", "so it takes no checkpoints");
    checkpointer = NULL;
}

#endif
