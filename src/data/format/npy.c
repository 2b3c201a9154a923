#include "data/format/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/format/binary.h"

/* Returns the text after 'key': in the header's dictionary, or NULL. */
static const char *entry(const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *at = strstr(header, quoted);
    if (at == NULL)
        return NULL;
    at += strlen(quoted);
    at += strspn(at, " ");
    return *at == ':' ? at + 1 + strspn(at + 1, " ") : NULL;
}

static hawser_status read_shape(const char *name, const char *at, hw_npy_facts *facts, hawser_error *error)
{
    facts->sizes[1] = 1;
    const char *begin = at;
    for (at += *at == '('; *at != ')'; facts->dimensions++) {
        char *end;
        unsigned long long size = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
        if (facts->dimensions == 2 || *at < '0' || *at > '9' || size >= UINT32_MAX)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s: the shape %.*s is not one or two dimensions of at most 4294967294", name,
                               (int)(strcspn(begin, ")") + 1), begin);
        facts->sizes[facts->dimensions] = size;
        at = end + strspn(end, ", ");
    }
    return facts->dimensions > 0 ? HAWSER_OK
                                 : hawser_fail(error, HAWSER_BAD_INPUT, "%s: holds a single number, not a matrix", name);
}

/* Refuses a type by name. */
static hawser_status refuse_type(const char *name, const char *type, hawser_error *error)
{
    int length = (int)strcspn(type, ",}");
    char kind = type[0] == '\'' && type[1] != '\0' ? type[2] : '[';
    if (kind == 'c')
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: holds complex numbers (%.*s), which are not supported; save their parts as columns", name,
                           length, type);
    if (kind == 'O')
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: holds Python's objects (%.*s), and reading these would run code; save an array of numbers",
                           name, length, type);
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "%s: numbers of type %.*s are not supported; save the array as '<f4' or '<f8'", name, length, type);
}

/* Reads a type like '<f8' or '|b1': byte order, kind and bytes. */
static hawser_status read_type(const char *name, const char *type, hw_npy_facts *facts, hawser_error *error)
{
    static const char known[] = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1";
    bool framed = strlen(type) > 5 && type[0] == '\'' && type[4] == '\'' && strchr("<>|=", type[1]) != NULL;
    if (!framed || type[2] == ' ')
        return refuse_type(name, type, error);
    memcpy(facts->type, type + 2, 2);
    facts->big_endian = type[1] == '>';
    return strstr(known, facts->type) != NULL ? HAWSER_OK : refuse_type(name, type, error);
}

static hawser_status read_facts(const char *name, const char *header, hw_npy_facts *facts, hawser_error *error)
{
    const char *type = entry(header, "descr"), *order = entry(header, "fortran_order"), *shape = entry(header, "shape");
    if (type == NULL || order == NULL || shape == NULL || *shape != '(' || strchr(shape, ')') == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: damaged .npy header: %.60s", name, header);
    HAWSER_TRY(read_type(name, type, facts, error));
    facts->fortran = strncmp(order, "True", 4) == 0;
    return read_shape(name, shape, facts, error);
}

/* Finds the start and the length of the header's text. */
static hawser_status measure_header(const char *name, const char *text, size_t bytes, size_t *start, size_t *length,
                                    hawser_error *error)
{
    const unsigned char *u = (const unsigned char *)text;
    *start = bytes > 8 && u[6] == 1 ? 10 : 12;
    if (bytes < *start || memcmp(text, HW_NPY_MAGIC, 6) != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is not an .npy file, or is cut off in its header", name);
    if (u[6] < 1 || u[6] > 3)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: .npy version %d is not supported", name, u[6]);
    *length = (size_t)u[8] | (size_t)u[9] << 8;
    if (u[6] > 1)
        *length |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    return HAWSER_OK;
}

enum { HEADER_MOST = 1 << 20 };

hawser_status hw_npy_facts_of(const char *name, const char *text, size_t bytes, hw_npy_facts *facts, hawser_error *error)
{
    size_t start = 0, length = 0;
    *facts = (hw_npy_facts){0};
    HAWSER_TRY(measure_header(name, text, bytes, &start, &length, error));
    if (length > HEADER_MOST || length > bytes - start)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is cut off in its header", name);
    char *header;
    HAWSER_TRY(HW_NEW(&header, length + 1, "an .npy header", error));
    memcpy(header, text + start, length);
    hawser_status status = read_facts(name, header, facts, error);
    free(header);
    facts->start = start + length;
    return status;
}

static void take_facts(const hw_npy_facts *facts, hw_binary *f)
{
    f->start = facts->start;
    f->rows = facts->sizes[0];
    f->width = facts->sizes[1];
    f->size = (size_t)(facts->type[1] - '0');
    f->number = facts->type[0] == 'f' ? HW_FLOATING : facts->type[0] == 'i' ? HW_SIGNED : HW_UNSIGNED;
    f->big_endian = facts->big_endian;
    f->fortran = facts->fortran;
    f->target_first = facts->dimensions == 2;
}

hawser_status hw_npy_header(hw_reading *reading, size_t number, hw_binary *f, hawser_error *error)
{
    const char *text;
    size_t bytes, start = 0, length = 0;
    hw_npy_facts facts;
    HAWSER_TRY(hw_input_first(&reading->input, number, 12, &text, &bytes, error));
    HAWSER_TRY(measure_header(f->name, text, bytes, &start, &length, error));
    if (length <= HEADER_MOST)
        HAWSER_TRY(hw_input_first(&reading->input, number, start + length, &text, &bytes, error));
    HAWSER_TRY(hw_npy_facts_of(f->name, text, bytes, &facts, error));
    take_facts(&facts, f);
    return HAWSER_OK;
}

hawser_status hw_npy_array(const char *name, const char *text, size_t bytes, hw_binary *f, hawser_error *error)
{
    hw_npy_facts facts;
    HAWSER_TRY(hw_npy_facts_of(name, text, bytes, &facts, error));
    *f = (hw_binary){.name = name};
    take_facts(&facts, f);
    hawser_status status = hw_binary_check(f, text, bytes, error);
    f->name = NULL;
    return status;
}

hawser_status hw_npy_word(const char *name, const char *text, size_t bytes, char *word, size_t size, hawser_error *error)
{
    size_t start = 0, length = 0, used = 0;
    HAWSER_TRY(measure_header(name, text, bytes, &start, &length, error));
    if (length > bytes - start)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is cut off in its header", name);
    for (size_t k = start + length; k < bytes && used + 1 < size; k++) /* of wide characters, three bytes are zeros */
        if (text[k] >= ' ' && text[k] <= '~')
            word[used++] = text[k];
    word[used] = '\0';
    return HAWSER_OK;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "after the head numbers are written without conversion");

size_t hw_npy_header_of(const hw_npy_shape *shape, char bytes[HW_NPY_HEADER])
{
    enum { PREFIX = 10, ALIGNMENT = 64 };
    char text[256], second[32] = "";
    if (shape->dimensions == 2)
        snprintf(second, sizeof second, " %zu", shape->sizes[1]);
    int length = snprintf(text, sizeof text, "{'descr': '<f%d', 'fortran_order': %s, 'shape': (%zu,%s), }",
                          shape->single ? 4 : 8, shape->fortran ? "True" : "False", shape->sizes[0], second);
    size_t total = (PREFIX + (size_t)length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, size = total - PREFIX;
    memcpy(bytes, HW_NPY_MAGIC "\1\0", PREFIX - 2);
    bytes[PREFIX - 2] = (char)(size & 255);
    bytes[PREFIX - 1] = (char)(size >> 8);
    snprintf(bytes + PREFIX, HW_NPY_HEADER - PREFIX, "%-*s\n", (int)size - 1, text);
    return total;
}

hawser_status hw_npy_head(hw_file *file, const hw_npy_shape *shape, hawser_error *error)
{
    char bytes[HW_NPY_HEADER];
    size_t length = hw_npy_header_of(shape, bytes);
    return hw_file_write(file, bytes, length, error);
}
