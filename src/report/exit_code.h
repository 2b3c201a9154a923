/* exit_code.h - what a process says by its exit code. */
#ifndef HW_REPORT_EXIT_CODE_H
#define HW_REPORT_EXIT_CODE_H

#include "hawser/status.h"

/* Exit codes; `hawser help exit-codes` prints them. */
enum {
    HW_EXIT_OK = 0,
    HW_EXIT_INTERNAL = 1,
    HW_EXIT_USAGE = 2,
    HW_EXIT_INPUT = 3,
    HW_EXIT_IO = 4,
    HW_EXIT_MEMORY = 5,
    HW_EXIT_PROGRAM = 6,
    HW_EXIT_NUMERIC = 7,
    HW_EXIT_PEER = 8,
    HW_EXIT_BROKEN = 9,
    HW_EXIT_CUT = 10,
    HW_EXIT_SIGNAL = 130
};
int hw_exit_code(hawser_status status);

#endif
