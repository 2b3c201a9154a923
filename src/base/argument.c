#include "base/argument.h"

hawser_status hw_not_given(hawser_error *error, const char *call, const char *argument)
{
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: '%s' is NULL; the call needs it", call, argument);
}
