/* nodelist.c - finds the first host of a list in Slurm's form: "ash,birch[01-03,07]-ib,...". */
#include <string.h>

#include "cluster/place.h"

bool hw_nodelist_first(const char *list, char *host, size_t size)
{
    size_t n = 0;
    for (; *list != '\0' && *list != ','; list++) {
        if (*list == '[') { /* the first number, up to a dash or a comma */
            size_t digits = strspn(list + 1, "0123456789");
            const char *end = strchr(list, ']');
            if (digits == 0 || end == NULL || n + digits >= size || strchr("-,]", list[1 + digits]) == NULL)
                return false;
            memcpy(host + n, list + 1, digits);
            n += digits;
            list = end;
        } else if (strchr("]( )\t\n", *list) != NULL || n + 1 >= size) {
            return false;
        } else {
            host[n++] = *list;
        }
    }
    host[n] = '\0';
    return n > 0 && host[0] != '-';
}
