#include "data/share/block_digest.h"

#include "base/digest.h"
#include "base/layout.h"

/* The arrays of a block are digested as if they were far apart in one vector. */
enum { VALUES, COLUMNS, LENGTHS, BESIDE };

static uint64_t place_of(unsigned array)
{
    return (uint64_t)array << 48;
}

static uint64_t numbers_digest(const hawser_matrix *A, uint64_t begin, uint64_t count, uint64_t place)
{
    const char *values = (const char *)A->values + begin * hw_type_size(A->type);
    return A->type == HAWSER_F32 ? hw_digest_32(values, count, place) : hw_digest_64(values, count, place);
}

uint64_t hw_beside_digest(size_t rows, const double *const beside[HW_BESIDE_MOST])
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < HW_BESIDE_MOST; k++)
        if (beside[k] != NULL) /* also if all of them are 0, which adds nothing */
            sum += hw_digest_64(beside[k], rows, place_of(BESIDE + k)) + hw_digest_one(place_of(BESIDE + k) + UINT32_MAX, 1);
    return sum;
}

uint64_t hw_rows_digest(const hawser_matrix *A, const double *const beside[HW_BESIDE_MOST])
{
    size_t lines = hw_lines(A), width = hw_line_width(A);
    uint64_t sum = hw_beside_digest(A->rows, beside) + hw_digest_one(place_of(LENGTHS), lines + 1);
    if (hw_is_dense(A)) {
        for (size_t r = 0; r < lines; r++)
            sum += numbers_digest(A, (uint64_t)r * A->stride, width, place_of(VALUES) + (uint64_t)r * width);
        return sum;
    }
    uint64_t begin = lines != 0 ? A->offsets[0] : 0, count = lines != 0 ? A->offsets[lines] - begin : 0;
    for (size_t r = 0; r < lines; r++)
        sum += hw_digest_one(place_of(LENGTHS) + 1 + r, A->offsets[r + 1] - A->offsets[r]);
    if (count == 0)
        return sum;
    return sum + numbers_digest(A, begin, count, place_of(VALUES)) +
           hw_digest_32(A->indices + begin, count, place_of(COLUMNS));
}
