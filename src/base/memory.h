/* memory.h - allocation that fails with a status, aligned for vectors, and arrays that grow. */
#ifndef HW_BASE_MEMORY_H
#define HW_BASE_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

#include "hawser/status.h"

enum { HW_ALIGNMENT = 64 };

/* A run of bytes, from malloc where somebody is given one to keep. */
typedef struct hw_bytes {
    void *data;
    size_t length;
} hw_bytes;

/* Frees what `count` of them hold, and the array itself; NULL is allowed. */
void hw_bytes_free(hw_bytes *bytes, size_t count);

/* count * size zeroed bytes, aligned to HW_ALIGNMENT, released with free(). `what` names the thing in the error. A product that
 * overflows is HAWSER_NO_MEMORY. Zero bytes give a valid pointer. */
hawser_status hw_new_array(void **out, size_t count, size_t size, const char *what, hawser_error *error) HAWSER_MUST_USE;

/* The same for memory that is read here and there: on large pages, where the system gives any. */
hawser_status hw_new_large(void **out, size_t count, size_t size, const char *what, hawser_error *error) HAWSER_MUST_USE;

/* Grows *array (of *capacity items of `size` bytes) to hold at least `needed`, at least doubling; unchanged on failure. Plain
 * realloc alignment. */
hawser_status hw_grow(void **array, size_t *capacity, size_t needed, size_t size, const char *what,
                      hawser_error *error) HAWSER_MUST_USE;

/* strdup with a status. */
hawser_status hw_copy_text(char **out, const char *text, hawser_error *error) HAWSER_MUST_USE;

/* Typed forms: HW_NEW(&p, n, "name", error) allocates n items of *p. */
#define HW_NEW(pointer, count, what, error) hw_new_array((void **)(pointer), (count), sizeof **(pointer), (what), (error))
#define HW_GROW(pointer, capacity, needed, what, error)                                                                     \
    hw_grow((void **)(pointer), (capacity), (needed), sizeof **(pointer), (what), (error))

#endif
