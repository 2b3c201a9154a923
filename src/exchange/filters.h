/* filters.h - the filters of --filter. Columns: enumerator, name, which entries go first, the class that a plan prints, and
 * the function of filter.c that returns an entry's score (NULL: entries are not held back). A new filter is a row here and
 * its function there. */
#ifndef HW_EXCHANGE_FILTERS_H
#define HW_EXCHANGE_FILTERS_H

#include "base/rows.h"

#define HW_FILTERS(ROW)                                                                                                     \
    ROW(NONE, "none", "all entries are sent", "none", NULL)                                                                 \
    ROW(RANDOM, "random", "entries at random until the quota is spent", "accumulating (random)", score_random)              \
    ROW(ROUND_ROBIN, "round-robin", "a fixed schedule that goes on where it stopped", "accumulating (round-robin)",         \
        score_round_robin)                                                                                                  \
    ROW(ABSOLUTE, "absolute", "the largest changes first", "accumulating (absolute)", score_absolute)                       \
    ROW(RELATIVE, "relative", "the largest changes first, as a share of the value", "accumulating (relative)",              \
        score_relative)                                                                                                     \
    ROW(FIFO, "fifo", "entries first that have been held for longest", "accumulating (fifo)", score_fifo)

#define HW_FILTER_KIND(id, ...) HW_FILTER_##id,
typedef enum hw_filter_kind { HW_FILTERS(HW_FILTER_KIND) } hw_filter_kind;

/* Returns the filter that --filter names. */
hw_filter_kind hw_filter_find(const char *word);
/* Returns the class that a plan prints. */
const char *hw_filter_class(hw_filter_kind kind);

#endif
