/* binary.h - files of a header and numbers of one type behind it (.npy, idx): the rows of all files become one dense dataset. */
#ifndef HW_DATA_BINARY_H
#define HW_DATA_BINARY_H

#include "data/source/parse.h"

typedef enum hw_number_kind { HW_FLOATING, HW_UNSIGNED, HW_SIGNED } hw_number_kind;

/* One file of the input. A format's header reader sets the second group of fields. */
typedef struct hw_binary {
    const char *name;
    const hw_input_file *input;
    const unsigned char *values; /* not aligned */
    void *buffer;                /* of an unpacked file */
    size_t capacity;

    size_t start;         /* of the values in the file; at most as many bytes are in the file */
    uint64_t rows, width; /* each below UINT32_MAX */
    size_t size;          /* bytes of a number: 1, 2, 4 or 8; floating: 4 or 8 */
    hw_number_kind number;
    bool big_endian;
    bool fortran;      /* column by column */
    bool target_first; /* the first column is the target if none is named */
} hw_binary;

/* Reads the header of file `number` of the input into `f`. */
typedef hawser_status (*hw_binary_header)(hw_job *job, size_t number, hw_binary *f, hawser_error *error);

/* Loads the files of the job, one below the other. A header's claims are checked against the file before memory is taken by them. */
hawser_status hw_binary_load(hw_job *job, hw_binary_header header, hawser_dataset *dataset,
                             hawser_error *error) HAWSER_MUST_USE;

#endif
