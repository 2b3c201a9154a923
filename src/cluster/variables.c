/* variables.c - reads a launcher's variables. */
#include <stdlib.h>
#include <string.h>

#include "cluster/place.h"

const char *hw_variable(char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

bool hw_variable_number(char *const *environment, const char *name, uint64_t low, uint64_t high, uint64_t *value)
{
    const char *text = hw_variable(environment, name);
    if (text == NULL || *text == '\0' || strlen(text) > 18 || strspn(text, "0123456789") != strlen(text))
        return false;
    *value = strtoull(text, NULL, 10);
    return *value >= low && *value <= high;
}
