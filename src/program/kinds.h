/* kinds.h - the kinds of state: enumerator, and the end of the names of its rows: hw_kind_... (kind.h) and hw_part_...
 * (runtime/block/part.h). The public enumerators (hawser_state_kind) are in the same order, from 1. */
#ifndef HW_PROGRAM_KINDS_H
#define HW_PROGRAM_KINDS_H

#define HW_STATE_KINDS(ROW)                                                                                                 \
    ROW(DATA, data)                                                                                                         \
    ROW(REPLICATED, replicated)                                                                                             \
    ROW(PARTITIONED, partitioned)                                                                                           \
    ROW(LOCAL, local)                                                                                                       \
    ROW(STORED, stored)                                                                                                     \
    ROW(MOVING, moving)                                                                                                     \
    ROW(ENTRIES, entries)

#define HW_STATE_KIND(id, row) HW_##id,
typedef enum hw_state_kind { HW_STATE_KINDS(HW_STATE_KIND) } hw_state_kind;

#endif
