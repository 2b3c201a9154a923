#include "hawser/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *hawser_status_name(hawser_status status)
{
    switch (status) {
    case HAWSER_OK: return "ok";
    case HAWSER_STOP: return "stop";
    case HAWSER_VIEW_CHANGED: return "view changed";
    case HAWSER_BAD_ARGUMENT: return "bad argument";
    case HAWSER_BAD_OPTION: return "bad option";
    case HAWSER_BAD_INPUT: return "bad input";
    case HAWSER_IO: return "input/output error";
    case HAWSER_NO_MEMORY: return "out of memory";
    case HAWSER_BAD_PROGRAM: return "bad program";
    case HAWSER_NOT_FINITE: return "not finite";
    case HAWSER_DIVERGED: return "diverged";
    case HAWSER_PEER_LOST: return "peer lost";
    case HAWSER_TIMEOUT: return "timeout";
    case HAWSER_INTERNAL: return "internal error";
    }
    return "unknown status";
}

hawser_status hawser_fail(hawser_error *error, hawser_status status, const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        error->status = status;
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}
