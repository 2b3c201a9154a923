/* table_check.h - checks the description of a table, its name and its filter. */
#ifndef HW_STORE_TABLE_CHECK_H
#define HW_STORE_TABLE_CHECK_H

#include "store/table.h"

/* Returns HAWSER_BAD_ARGUMENT if the name is none for a table. The text quotes the name only if it is one line. */
hawser_status hw_table_check_name(const char *name, hawser_error *error) HAWSER_MUST_USE;
/* Returns HAWSER_BAD_ARGUMENT with a text if the description is invalid. */
hawser_status hw_table_check(const hw_table_spec *spec, hawser_error *error) HAWSER_MUST_USE;

#endif
