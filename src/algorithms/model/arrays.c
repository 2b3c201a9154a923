#include "algorithms/model/arrays.h"

#include <stdint.h>
#include <stdlib.h>

typedef struct hw_array {
    struct hw_array *before;
    max_align_t items[];
} hw_array;

void *hw_array_new(hw_arrays *arrays, size_t count, size_t size)
{
    hw_array *array = count <= (SIZE_MAX - sizeof *array) / size ? calloc(1, sizeof *array + count * size) : NULL;
    if (array == NULL) {
        arrays->failed = true;
        return NULL;
    }
    array->before = arrays->last;
    arrays->last = array;
    return array->items;
}

void hw_arrays_free(hw_arrays *arrays)
{
    for (hw_array *array = arrays->last, *before; array != NULL; array = before) {
        before = array->before;
        free(array);
    }
    *arrays = (hw_arrays){0};
}
