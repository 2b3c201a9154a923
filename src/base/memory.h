/* memory.h - allocation with a status, aligned for vectors, and growing arrays. */
#ifndef HW_BASE_MEMORY_H
#define HW_BASE_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

#include "hawser/status.h"

enum { HW_ALIGNMENT = 64 };

/* A run of bytes; from malloc if the receiver must free them. */
typedef struct hw_bytes {
    void *data;
    size_t length;
} hw_bytes;

/* Frees the bytes of each of `count` items, and the array itself; NULL is allowed. */
void hw_bytes_free(hw_bytes *bytes, size_t count);

/* Allocates count * size zeroed bytes, aligned to HW_ALIGNMENT; the caller frees them with free(). `what` names them in the
 * error. Returns HAWSER_NO_MEMORY also if the product overflows. Zero bytes give a valid pointer. */
hawser_status hw_new_array(void **out, size_t count, size_t size, const char *what, hawser_error *error) HAWSER_MUST_USE;

/* Like hw_new_array, for memory that is accessed at random: on large pages, if the system has any. */
hawser_status hw_new_large(void **out, size_t count, size_t size, const char *what, hawser_error *error) HAWSER_MUST_USE;

/* Grows *array (of *capacity items of `size` bytes) to at least `needed` items, at least doubling; leaves it unchanged on
 * failure. Aligned like realloc. */
hawser_status hw_grow(void **array, size_t *capacity, size_t needed, size_t size, const char *what,
                      hawser_error *error) HAWSER_MUST_USE;

/* Returns the whole pages in [from, to) to the kernel. Of allocated memory their contents are lost; of a mapped file a later
 * access reads them again. */
void hw_release_pages(const void *from, const void *to);

/* Allocates `size` zeroed bytes on pages of their own that core dumps leave out, for keys. Returns HAWSER_NO_MEMORY also if
 * the system cannot leave them out. hw_undumped_free overwrites them; NULL is allowed. */
hawser_status hw_undumped_new(void **out, size_t size, hawser_error *error) HAWSER_MUST_USE;
void hw_undumped_free(void *memory, size_t size);

/* strdup that returns a status. */
hawser_status hw_copy_text(char **out, const char *text, hawser_error *error) HAWSER_MUST_USE;

/* Typed forms: HW_NEW(&p, n, "name", error) allocates n items of *p. */
#define HW_NEW(pointer, count, what, error) hw_new_array((void **)(pointer), (count), sizeof **(pointer), (what), (error))
#define HW_GROW(pointer, capacity, needed, what, error)                                                                     \
    hw_grow((void **)(pointer), (capacity), (needed), sizeof **(pointer), (what), (error))

#endif
