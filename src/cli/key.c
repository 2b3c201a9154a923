/* key.c - hawser key: writes a new job key to a file of its own. */
#include <string.h>

#include "cli/cli.h"
#include "cluster/place.h"

hawser_status hw_key(hw_call *call, hawser_error *error)
{
    unsigned char key[32];
    HAWSER_TRY(hw_key_make(key, error));
    hawser_status status = hw_key_write(call->words[0], key, sizeof key, error);
    explicit_bzero(key, sizeof key);
    return status;
}
