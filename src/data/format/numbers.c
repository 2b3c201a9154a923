#include "data/format/numbers.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/type.h"
#include "data/format/npy.h"

/* Returns the type in the words of numpy. */
static const char *npy_type(hawser_type type)
{
    switch (type) {
    case HAWSER_F64: return "f8";
    case HAWSER_F32: return "f4";
    case HAWSER_I64: return "i8";
    case HAWSER_I32: return "i4";
    }
    return "";
}

/* -------------------------------------------------------------------------------------------------------- npy ---- */

static hawser_status check_npy(const char *path, const hw_npy_facts *facts, const hw_numbers_wanted *wanted, size_t bytes,
                               hawser_error *error)
{
    size_t count = wanted->rows * wanted->cols;
    if (strcmp(facts->type, npy_type(wanted->type)) != 0 || facts->big_endian)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: has numbers of type '%c%s', and '<%s' is expected; save the array as '<%s'", path,
                           facts->big_endian ? '>' : '<', facts->type, npy_type(wanted->type), npy_type(wanted->type));
    if (facts->dimensions == 1 && facts->sizes[0] != count)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: has %" PRIu64 " numbers, and %zu (%zu x %zu) are expected", path,
                           facts->sizes[0], count, wanted->rows, wanted->cols);
    if (facts->dimensions == 2 && (facts->sizes[0] != wanted->rows || facts->sizes[1] != wanted->cols))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: has the shape %" PRIu64 " x %" PRIu64 ", and %zu x %zu is expected",
                           path, facts->sizes[0], facts->sizes[1], wanted->rows, wanted->cols);
    if (bytes - facts->start != count * hw_type_size(wanted->type))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: has %zu bytes after its header, and its shape takes %zu", path,
                           bytes - facts->start, count * hw_type_size(wanted->type));
    return HAWSER_OK;
}

/* Copies a matrix of `lines` x `width` numbers of `size` bytes that follow line by line to one that follows across. */
static void turn(char *to, const char *from, size_t lines, size_t width, size_t size)
{
    for (size_t i = 0; i < lines; i++)
        for (size_t j = 0; j < width; j++)
            memcpy(to + (j * lines + i) * size, from + (i * width + j) * size, size);
}

/* Uses the numbers where they are in the mapped file, if they have the order that is wanted and are aligned. */
static hawser_status take_npy(const hw_npy_facts *facts, const hw_numbers_wanted *wanted, hw_number_file *file,
                              hawser_error *error)
{
    const char *numbers = (const char *)file->mapping + facts->start;
    size_t size = hw_type_size(wanted->type);
    bool other = facts->dimensions == 2 && facts->fortran == wanted->by_row && wanted->rows > 1 && wanted->cols > 1;
    file->values = numbers;
    if (!other && facts->start % size == 0)
        return HAWSER_OK;
    file->own_bytes = wanted->rows * wanted->cols * size;
    HAWSER_TRY(hw_new_array(&file->own, file->own_bytes, 1, "the numbers of a file", error));
    if (!other)
        memcpy(file->own, numbers, file->own_bytes);
    else
        turn(file->own, numbers, wanted->by_row ? wanted->cols : wanted->rows, wanted->by_row ? wanted->rows : wanted->cols,
             size);
    file->values = file->own;
    return HAWSER_OK;
}

static hawser_status read_npy(FILE *in, const char *path, const hw_numbers_wanted *wanted, hw_number_file *file,
                              hawser_error *error)
{
    struct stat facts;
    hw_npy_facts header;
    if (fstat(fileno(in), &facts) != 0 || !S_ISREG(facts.st_mode))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: an .npy file must be a regular file, which a pipe is not", path);
    file->mapped = (size_t)facts.st_size;
    file->mapping = mmap(NULL, file->mapped, PROT_READ, MAP_PRIVATE, fileno(in), 0);
    if (file->mapping == MAP_FAILED) {
        file->mapping = NULL;
        return hawser_fail(error, HAWSER_IO, "%s: cannot be mapped: %s", path, strerror(errno));
    }
    HAWSER_TRY(hw_npy_facts_of(path, file->mapping, file->mapped, &header, error));
    HAWSER_TRY(check_npy(path, &header, wanted, file->mapped, error));
    return take_npy(&header, wanted, file, error);
}

/* ------------------------------------------------------------------------------------------------------- text ---- */

static bool read_whole(const char *text, hawser_type type, void *out)
{
    char *end;
    errno = 0;
    int64_t number = strtoll(text, &end, 10);
    bool good = errno == 0 && end != text && *end == '\0';
    if (type == HAWSER_I32 && (number < INT32_MIN || number > INT32_MAX))
        return false;
    if (type == HAWSER_I32)
        *(int32_t *)out = (int32_t)number;
    else
        *(int64_t *)out = number;
    return good;
}

static bool read_float(const char *text, hawser_type type, void *out)
{
    double number;
    const char *end = hw_number_word(text, &number);
    if (end == NULL || *end != '\0')
        return false;
    if (type == HAWSER_F64) {
        *(double *)out = number;
        return isfinite(number);
    }
    *(float *)out = hw_number_strtof(text);
    return isfinite(*(float *)out);
}

/* Removes blanks and the end of the line. Returns the text. */
static char *trim(char *line)
{
    line += strspn(line, " \t");
    size_t length = strlen(line);
    while (length > 0 && strchr(" \t\r\n", line[length - 1]) != NULL)
        line[--length] = '\0';
    return line;
}

static hawser_status take_line(const char *path, const char *text, size_t number, const hw_numbers_wanted *wanted, char *out,
                               hawser_error *error)
{
    size_t count = wanted->rows * wanted->cols, size = hw_type_size(wanted->type);
    bool whole = wanted->type == HAWSER_I64 || wanted->type == HAWSER_I32;
    if (number >= count)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: has more lines than the %zu (%zu x %zu) that are expected", path,
                           count, wanted->rows, wanted->cols);
    if (!(whole ? read_whole : read_float)(text, wanted->type, out + number * size))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: '%.60s' is no %s; one is expected in each line", path,
                           number + 1, text,
                           wanted->type == HAWSER_I64   ? "integer of 64 bits"
                           : wanted->type == HAWSER_I32 ? "integer of 32 bits"
                                                        : "finite number");
    return HAWSER_OK;
}

static hawser_status read_text(FILE *in, const char *path, const hw_numbers_wanted *wanted, hw_number_file *file,
                               hawser_error *error)
{
    size_t count = wanted->rows * wanted->cols, lines = 0, capacity = 0;
    ssize_t length;
    char *line = NULL;
    hawser_status status = HAWSER_OK;
    file->own_bytes = count * hw_type_size(wanted->type);
    HAWSER_TRY(hw_new_array(&file->own, file->own_bytes, 1, "the numbers of a file", error));
    file->values = file->own;
    for (errno = 0; status == HAWSER_OK && (length = getline(&line, &capacity, in)) >= 0; lines++)
        status = strlen(line) == (size_t)length
                     ? take_line(path, trim(line), lines, wanted, file->own, error)
                     : hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: has a zero byte; this is no text", path, lines + 1);
    if (status == HAWSER_OK && ferror(in))
        status = hawser_fail(error, HAWSER_IO, "%s: cannot be read: %s", path, strerror(errno));
    if (status == HAWSER_OK && lines < count)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: has %zu lines, and %zu (%zu x %zu) are expected", path, lines,
                             count, wanted->rows, wanted->cols);
    free(line);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- both ---- */

hawser_status hw_number_file_read(const char *path, const hw_numbers_wanted *wanted, hw_number_file *file,
                                  hawser_error *error)
{
    *file = (hw_number_file){0};
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return hawser_fail(error, HAWSER_IO, "cannot open '%s': %s", path, strerror(errno));
    int first = getc(in);
    hawser_status status;
    if (first == EOF && ferror(in)) {
        status = hawser_fail(error, HAWSER_IO, "%s: cannot be read: %s", path, strerror(errno));
    } else if (first == (unsigned char)HW_NPY_MAGIC[0]) {
        status = read_npy(in, path, wanted, file, error);
    } else {
        (void)ungetc(first, in);
        status = read_text(in, path, wanted, file, error);
    }
    fclose(in);
    return status;
}

void hw_number_file_close(hw_number_file *file)
{
    if (file->mapping != NULL)
        munmap(file->mapping, file->mapped);
    free(file->own);
    *file = (hw_number_file){0};
}
