/* npy.h - numpy's .npy files: one or two dimensions of integers, booleans or floats of 2 to 8 bytes, in C or Fortran
 * order. */
#ifndef HW_DATA_NPY_H
#define HW_DATA_NPY_H

#include "base/file.h"
#include "data/source/parse.h"

#define HW_NPY_MAGIC "\x93NUMPY"

struct hw_binary;

/* The shape of a file: numbers of four or eight bytes, by rows or by columns. */
typedef struct hw_npy_shape {
    bool single, fortran;
    int dimensions; /* 1 or 2 */
    size_t sizes[2];
} hw_npy_shape;

/* What the header of a file says of its numbers. */
typedef struct hw_npy_facts {
    char type[4]; /* kind and bytes of a number: "f2" to "f8", "i1" to "i8", "u1" to "u8", "b1" */
    bool big_endian;
    bool fortran;
    int dimensions; /* 1 or 2 */
    uint64_t sizes[2];
    size_t start; /* offset of the numbers in the file */
} hw_npy_facts;

/* Reads the header at the start of a file, of which `bytes` bytes are in memory. The size of a dimension is below 2^32 -
 * 1. */
hawser_status hw_npy_facts_of(const char *name, const char *text, size_t bytes, hw_npy_facts *facts,
                              hawser_error *error) HAWSER_MUST_USE;

/* Reads the header of a file that is in memory as a whole, and checks its sizes; f->values points into it. `name` is for
 * messages of this call, and f->name is left NULL. */
hawser_status hw_npy_array(const char *name, const char *text, size_t bytes, struct hw_binary *f,
                           hawser_error *error) HAWSER_MUST_USE;
/* Reads a file of one text, of one byte or four per character. Longer texts are cut. */
hawser_status hw_npy_word(const char *name, const char *text, size_t bytes, char *word, size_t size,
                          hawser_error *error) HAWSER_MUST_USE;

/* The most bytes of a header that hw_npy_header_of makes. */
enum { HW_NPY_HEADER = 384 };

/* Makes the header before the numbers, padded to 64 bytes as the format requires, and returns its length: that of one
 * dimension is the same for any size. */
size_t hw_npy_header_of(const hw_npy_shape *shape, char bytes[HW_NPY_HEADER]);
/* Writes the header before the numbers. */
hawser_status hw_npy_head(hw_file *file, const hw_npy_shape *shape, hawser_error *error) HAWSER_MUST_USE;

#endif
