#include "adapt/line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"

/* The last member of a line, before the closing brace. */
#define SEAL ",\"checksum\":\"%016" PRIx64 "\"}"
enum { SEAL_LENGTH = 31 };

char *hw_line_seal(json_t *object, bool ok)
{
    char *text = hw_json_print(object, ok), *line = NULL;
    if (text == NULL)
        return NULL;
    const size_t length = strlen(text) - 1; /* without its brace */
    if (asprintf(&line, "%.*s" SEAL "\n", (int)length, text, hw_hash(text, length, 0)) < 0)
        line = NULL;
    free(text);
    return line;
}

json_t *hw_line_open(const char *line, size_t length)
{
    char seal[SEAL_LENGTH + 1];
    if (length <= SEAL_LENGTH)
        return NULL;
    const size_t whole = length - SEAL_LENGTH;
    (void)snprintf(seal, sizeof seal, SEAL, hw_hash(line, whole, 0));
    if (memcmp(line + whole, seal, SEAL_LENGTH) != 0)
        return NULL;
    return json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
}
