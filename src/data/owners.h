/* owners.h - which node has the entries of a column: the node that runs the column's block, in the view under which the
 * input was distributed. */
#ifndef HW_DATA_OWNERS_H
#define HW_DATA_OWNERS_H

#include <stddef.h>
#include <stdlib.h>

#include "base/view.h"

typedef struct hw_owners {
    hw_view view;
    uint32_t *block; /* of each column */
} hw_owners;

static inline uint32_t hw_owner(const hw_owners *owners, size_t column)
{
    return hw_view_node(&owners->view, owners->block[column]);
}

static inline void hw_owners_free(hw_owners *owners)
{
    hw_view_free(&owners->view);
    free(owners->block);
    owners->block = NULL;
}

#endif
