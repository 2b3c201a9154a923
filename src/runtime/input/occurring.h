/* occurring.h - which columns have entries on some node. */
#ifndef HW_RUNTIME_INPUT_OCCURRING_H
#define HW_RUNTIME_INPUT_OCCURRING_H

#include "runtime/input/loading.h"

/* Adds the columns of all nodes to a set of each node. Collective. */
hawser_status hw_occurring_unite(hw_loading *l, hw_column_set *set, hawser_error *error) HAWSER_MUST_USE;

#endif
