#include "report/exit_code.h"

int hw_exit_code(hawser_status status)
{
    switch (status) {
    case HAWSER_OK: return HW_EXIT_OK;
    case HAWSER_STOP: return HW_EXIT_SIGNAL;
    case HAWSER_BAD_ARGUMENT:
    case HAWSER_BAD_OPTION: return HW_EXIT_USAGE;
    case HAWSER_BAD_INPUT: return HW_EXIT_INPUT;
    case HAWSER_IO: return HW_EXIT_IO;
    case HAWSER_NO_MEMORY: return HW_EXIT_MEMORY;
    case HAWSER_BAD_PROGRAM: return HW_EXIT_PROGRAM;
    case HAWSER_NOT_FINITE:
    case HAWSER_DIVERGED: return HW_EXIT_NUMERIC;
    case HAWSER_PEER_LOST:
    case HAWSER_TIMEOUT: return HW_EXIT_PEER;
    case HAWSER_VIEW_CHANGED:
    case HAWSER_INTERNAL: break;
    }
    return HW_EXIT_INTERNAL;
}
