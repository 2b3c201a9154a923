/* idx.c - idx files (MNIST's images and labels): any dimensions, six types of numbers, big-endian. The first dimension gives
 * the rows, the product of the others the columns. No text begins like an idx file, because text has no zero bytes. */
#include "data/format/binary.h"
#include "data/formats.h"

enum { MAGIC = 4, SIZE = 4 }; /* bytes of the magic number and of a dimension's size */

bool hw_is_idx(const char *text, size_t bytes)
{
    return bytes >= MAGIC && text[0] == 0 && text[1] == 0 && text[2] >= 0x08 && text[2] <= 0x0e;
}

static hawser_status read_type(hw_binary *f, unsigned char type, hawser_error *error)
{
    static const struct {
        unsigned char type;
        size_t size;
        hw_number_kind number;
    } types[] = {{0x08, 1, HW_UNSIGNED}, {0x09, 1, HW_SIGNED},   {0x0b, 2, HW_SIGNED},
                 {0x0c, 4, HW_SIGNED},   {0x0d, 4, HW_FLOATING}, {0x0e, 8, HW_FLOATING}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type) {
            f->size = types[i].size;
            f->number = types[i].number;
            return HAWSER_OK;
        }
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "%s: idx numbers of type 0x%02x are unknown; expected 0x08, 0x09, 0x0b, 0x0c, 0x0d or 0x0e", f->name,
                       type);
}

static hawser_status read_sizes(hw_binary *f, const unsigned char *at, unsigned dimensions, hawser_error *error)
{
    f->width = 1;
    for (unsigned d = 0; d < dimensions; d++, at += SIZE) {
        uint64_t size = (uint64_t)at[0] << 24 | (uint64_t)at[1] << 16 | (uint64_t)at[2] << 8 | at[3];
        if (size == 0)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: dimension %u of %u has size 0, so there are no numbers",
                               f->name, d + 1, dimensions);
        if (d == 0)
            f->rows = size;
        else
            f->width *= size;
        if (f->rows >= UINT32_MAX || f->width >= UINT32_MAX)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s: dimension %u of %u, of size %llu, makes more than 4294967294 %s", f->name, d + 1,
                               dimensions, (unsigned long long)size, d == 0 ? "rows" : "columns");
    }
    return HAWSER_OK;
}

static hawser_status read_header(hw_reading *reading, size_t number, hw_binary *f, hawser_error *error)
{
    const char *text;
    size_t bytes;
    HAWSER_TRY(hw_input_first(&reading->input, number, MAGIC, &text, &bytes, error));
    if (bytes >= 2 && (text[0] != 0 || text[1] != 0))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is not an idx file, by its first bytes", f->name);
    if (bytes < MAGIC)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is cut off in its header", f->name);
    unsigned dimensions = (unsigned char)text[3];
    HAWSER_TRY(read_type(f, (unsigned char)text[2], error));
    if (dimensions == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: has no dimensions; expected one or more", f->name);
    f->start = MAGIC + (size_t)dimensions * SIZE;
    HAWSER_TRY(hw_input_first(&reading->input, number, f->start, &text, &bytes, error));
    if (bytes < f->start)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is cut off in its header", f->name);
    f->big_endian = true;
    return read_sizes(f, (const unsigned char *)text + MAGIC, dimensions, error);
}

hawser_status hw_idx_load(hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    return hw_binary_load(reading, read_header, dataset, error);
}
