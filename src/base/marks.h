/* marks.h - where words of text end, found many bytes at a time, so that whoever reads the words need not wait for the end of one to
 * begin with the next. */
#ifndef HW_BASE_MARKS_H
#define HW_BASE_MARKS_H

#include <stddef.h>
#include <stdint.h>

/* Texts are looked at in blocks of so many bytes. */
enum { HW_MARK_BLOCK = 64 };

/* Writes, in ascending order, `base` plus the offset of each byte that is `separator`, a blank or a control character, and returns how
 * many there are. `places` has room for one a byte and HW_MARK_BLOCK more, which may be written too. */
size_t hw_marks(const char *text, size_t blocks, char separator, uint32_t base, uint32_t *places);

/* The forms of hw_marks that this machine has, the quickest last; NULL past them. For tests. */
typedef size_t (*hw_marks_form)(const char *text, size_t blocks, char separator, uint32_t base, uint32_t *places);
hw_marks_form hw_marks_variant(size_t index);

#endif
