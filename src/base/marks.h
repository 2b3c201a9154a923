/* marks.h - finds where words of text end, many bytes at a time, so that a reader need not wait for the end of one word to
 * start the next.
 */
#ifndef HW_BASE_MARKS_H
#define HW_BASE_MARKS_H

#include <stddef.h>
#include <stdint.h>

/* Text is searched in blocks of this many bytes. */
enum { HW_MARK_BLOCK = 64 };

/* Writes, ascending, `base` plus the offset of each byte that is `separator`, a blank or a control character, and returns
 * their number. `places` must hold one per byte and HW_MARK_BLOCK more, which may be overwritten too. */
size_t hw_marks(const char *text, size_t blocks, char separator, uint32_t base, uint32_t *places);

/* The variants of hw_marks that this machine runs, the fastest last; NULL past the last. For tests. */
typedef size_t (*hw_marks_form)(const char *text, size_t blocks, char separator, uint32_t base, uint32_t *places);
hw_marks_form hw_marks_variant(size_t index);

#endif
