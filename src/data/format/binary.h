/* binary.h - files of a header followed by numbers of one type (.npy, idx): the rows of all files become one dense
 * dataset. */
#ifndef HW_DATA_BINARY_H
#define HW_DATA_BINARY_H

#include "data/source/parse.h"

typedef enum hw_number_kind { HW_FLOATING, HW_UNSIGNED, HW_SIGNED } hw_number_kind;

/* One file of the input. A format's header reader sets the second group of fields. */
typedef struct hw_binary {
    const char *name;
    const hw_input_file *input;
    const unsigned char *values; /* not aligned */
    void *buffer;                /* NULL, or the memory of an unpacked file */
    size_t capacity;

    size_t start;         /* offset of the values in the file; at most the file's size */
    uint64_t rows, width; /* each below UINT32_MAX */
    size_t size;          /* bytes of a number: 1, 2, 4 or 8; floating: 2, 4 or 8 */
    hw_number_kind number;
    bool big_endian;
    bool fortran;      /* column by column */
    bool target_first; /* the first column is the target by default */
} hw_binary;

/* Reads the header of file `number` of the input into `f`. */
typedef hawser_status (*hw_binary_header)(hw_reading *reading, size_t number, hw_binary *f, hawser_error *error);

/* Loads the files of the reading, one below the other. The sizes in a header are checked against the file before memory is
 * allocated for them. */
hawser_status hw_binary_load(hw_reading *reading, hw_binary_header header, hawser_dataset *dataset,
                             hawser_error *error) HAWSER_MUST_USE;

/* Gives each column of a file its role. */
hawser_status hw_binary_roles(const hw_reading *reading, const hw_binary *f, unsigned char *roles,
                              hawser_error *error) HAWSER_MUST_USE;
/* Makes `count` rows of a file in row order, whose numbers begin at f->values, the dataset; `first` is the number of the
 * first of them, for messages. After HAWSER_BAD_INPUT the dataset has the rows before the bad one. */
hawser_status hw_binary_take(hw_reading *reading, const hw_binary *f, const unsigned char *roles, uint64_t first,
                             uint64_t count, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;
/* Checks the sizes in the header against the bytes of the file, and sets f->values. */
hawser_status hw_binary_check(hw_binary *f, const char *text, size_t bytes, hawser_error *error) HAWSER_MUST_USE;
/* Returns a number of a file by its place. */
double hw_binary_value(const hw_binary *f, uint64_t place);
/* Stores a whole number of a file, by its place. Returns false if it is below 0, or `limit` or more. */
bool hw_binary_place(const hw_binary *f, uint64_t place, uint64_t limit, uint64_t *number);
/* npy.c: reads the header of an .npy file; a hw_binary_header. */
hawser_status hw_npy_header(hw_reading *reading, size_t number, hw_binary *f, hawser_error *error) HAWSER_MUST_USE;

#endif
