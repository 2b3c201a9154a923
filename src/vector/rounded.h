/*
 * rounded.h - numbers of an item in fewer bits (codec/narrow.h).
 *
 * They follow each other in tiles of HW_TILE. A number of bf16 and f16 has two bytes. A tile of int8 has the exponent of its
 * power of two (i16), and then a factor of one byte for each number.
 */
#ifndef HW_VECTOR_ROUNDED_H
#define HW_VECTOR_ROUNDED_H

#include <stdbool.h>
#include <stddef.h>

#include "codec/narrow.h"
#include "hawser/matrix.h"

/* Returns the bytes of rounded numbers. */
size_t hw_rounded_bytes(hw_width width, size_t count);
/* Returns whether that many bytes may be so many rounded numbers of a type: all exponents are in range. */
bool hw_rounded_whole(hw_width width, hawser_type type, const void *in, size_t bytes, size_t count);
/* Writes rounded numbers, and leaves in their place what rounding leaves out of them. That is exact, but for numbers beyond
 * the largest of the width, of which it is rounded as a difference in their type. */
void hw_rounded_write(hw_width width, hawser_type type, void *values, size_t count, void *out);
/* Reads one tile of `count` rounded numbers, and returns how many it has. */
size_t hw_rounded_tile(hw_width width, hawser_type type, const void *in, size_t count, size_t tile, void *values);
/* Reads all. */
void hw_rounded_read(hw_width width, hawser_type type, const void *in, size_t count, void *values);

#endif
