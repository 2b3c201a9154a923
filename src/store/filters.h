/* filters.h - the filters of a table's pushes (hawser_table.filter). Columns: enumerator, name, which rows are sent, whether
 * the others are dropped (else they are held), and the functions of holding.c that check the table and choose the rows. A
 * new filter is a row here and its functions there. ALL and OWN have neither name nor functions: no filter, and one of the
 * user's. */
#ifndef HW_STORE_FILTERS_H
#define HW_STORE_FILTERS_H

#include "base/rows.h"

#define HW_TABLE_FILTERS(ROW)                                                                                               \
    ROW(ALL, "", "all rows", false, NULL, NULL)                                                                             \
    ROW(SIGNIFICANT, "significant", "rows with a number above the level", false, check_significant, is_significant)         \
    ROW(RANDOM, "random", "rows at random, the level being the probability", false, check_random, is_drawn)                 \
    ROW(KKT, "kkt", "rows that a proximal step may move from zero", true, check_kkt, may_move)                              \
    ROW(OWN, "", "rows that the user's function passes", false, NULL, NULL)

#define HW_PASS_KIND(id, ...) HW_PASS_##id,
typedef enum hw_filter_of { HW_TABLE_FILTERS(HW_PASS_KIND) } hw_filter_of;

#endif
