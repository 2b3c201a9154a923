#include "data/source/npz.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/source/zip.h"

size_t hw_npz_split(const char *path)
{
    static const char mark[] = ".npz:";
    const char *found = NULL;
    for (const char *at = strstr(path, mark); at != NULL; at = strstr(at + 1, mark))
        found = at;
    return found == NULL || access(path, F_OK) == 0 ? 0 : (size_t)(found - path) + strlen(mark) - 1;
}

static bool is_array(const hw_zip_member *m)
{
    return m->name_length > 4 && memcmp(m->name + m->name_length - 4, ".npy", 4) == 0;
}

/* Lists the names of the arrays, as many as fit. */
static size_t list_arrays(const hw_zip *zip, char *text, size_t size)
{
    size_t count = 0, used = 0;
    text[0] = '\0';
    for (size_t k = 0; k < zip->count; k++) {
        const hw_zip_member *m = &zip->members[k];
        if (!is_array(m))
            continue;
        count++;
        size_t length = m->name_length - 4;
        if (used + length + 3 < size)
            used += (size_t)snprintf(text + used, size - used, "%s%.*s", used > 0 ? ", " : "", (int)length, m->name);
    }
    return count;
}

/* Finds the array that is meant; *member NULL: the archive has none at all, or all are a sparse matrix. */
static hawser_status find(const hw_zip *zip, const char *name, const hw_zip_member **member, bool *sparse,
                          hawser_error *error)
{
    char names[300];
    size_t count = list_arrays(zip, names, sizeof names);
    *member = NULL;
    if (name != NULL && (*member = hw_zip_array(zip, name)) == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: has no array '%.100s'; its arrays are %s", zip->path, name, names);
    if (name != NULL || count == 0)
        return HAWSER_OK;
    *sparse = hw_zip_array(zip, "format") != NULL && hw_zip_array(zip, "shape") != NULL;
    if (*sparse)
        return HAWSER_OK;
    if (count > 1)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: has %zu arrays (%s); name one of them: %s:NAME", zip->path, count,
                           names, zip->path);
    for (size_t k = 0; *member == NULL; k++)
        *member = is_array(&zip->members[k]) ? &zip->members[k] : NULL;
    return HAWSER_OK;
}

hawser_status hw_npz_unpack(const void *bytes, size_t size, const char *path, const char *name, hw_budget *budget,
                            void **pages, size_t *unpacked, bool *sparse, hawser_error *error)
{
    hw_zip zip;
    const hw_zip_member *member = NULL;
    *pages = NULL;
    *unpacked = 0;
    *sparse = false;
    hawser_status status = hw_zip_open(bytes, size, path, &zip, error);
    HAWSER_THEN(status, find(&zip, name, &member, sparse, error));
    if (status == HAWSER_OK && member != NULL && member->size == 0)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: the array is empty", path);
    /* Deflate packs 1032 bytes into one at most, so a size that cannot be true takes no memory. */
    if (status == HAWSER_OK && member != NULL && member->size / 1100 > member->packed)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: damaged zip archive: a file does not unpack to its size", path);
    if (status == HAWSER_OK && member != NULL)
        status = hw_pages_new(budget, pages, member->size, error);
    if (status == HAWSER_OK && member != NULL)
        status = hw_zip_unpack(&zip, member, *pages, error);
    if (status == HAWSER_OK && member != NULL)
        *unpacked = member->size;
    if (status != HAWSER_OK && *pages != NULL) {
        hw_pages_free(budget, *pages, member->size);
        *pages = NULL;
    }
    free(zip.members);
    return status;
}
