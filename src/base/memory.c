#include "base/memory.h"

#include <stdint.h>
#include <string.h>

static hawser_status out_of_memory(size_t count, size_t size, const char *what, hawser_error *error)
{
    return hawser_fail(error, HAWSER_NO_MEMORY,
                       "cannot allocate %s: %zu items of %zu bytes; free memory or use a smaller input", what, count, size);
}

hawser_status hw_new_array(void **out, size_t count, size_t size, const char *what, hawser_error *error)
{
    *out = NULL;
    if (size != 0 && count > (SIZE_MAX - HW_ALIGNMENT) / size)
        return out_of_memory(count, size, what, error);
    size_t bytes = count * size;
    bytes = (bytes + HW_ALIGNMENT - 1) / HW_ALIGNMENT * HW_ALIGNMENT;
    if (bytes == 0)
        bytes = HW_ALIGNMENT;
    void *memory = aligned_alloc(HW_ALIGNMENT, bytes);
    if (memory == NULL)
        return out_of_memory(count, size, what, error);
    memset(memory, 0, bytes);
    *out = memory;
    return HAWSER_OK;
}

void hw_bytes_free(hw_bytes *bytes, size_t count)
{
    for (size_t i = 0; bytes != NULL && i < count; i++)
        free(bytes[i].data);
    free(bytes);
}

hawser_status hw_grow(void **array, size_t *capacity, size_t needed, size_t size, const char *what, hawser_error *error)
{
    if (needed <= *capacity)
        return HAWSER_OK;
    size_t wanted = *capacity > SIZE_MAX / 2 ? needed : *capacity * 2;
    if (wanted < needed)
        wanted = needed;
    if (wanted < 16)
        wanted = 16;
    if (wanted > SIZE_MAX / size)
        return out_of_memory(wanted, size, what, error);
    void *memory = realloc(*array, wanted * size);
    if (memory == NULL)
        return out_of_memory(wanted, size, what, error);
    *array = memory;
    *capacity = wanted;
    return HAWSER_OK;
}

hawser_status hw_copy_text(char **out, const char *text, hawser_error *error)
{
    *out = strdup(text);
    if (*out == NULL)
        return out_of_memory(strlen(text) + 1, 1, "a text", error);
    return HAWSER_OK;
}
