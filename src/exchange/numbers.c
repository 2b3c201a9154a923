#include "exchange/numbers.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/finite.h"

static size_t all_finite(const void *values, size_t n)
{
    (void)values;
    return n;
}

#define HW_T        double
#define HW_U        uint64_t
#define HW_WHOLE    0
#define HW_NAME     "f64"
#define HW_PRINT    "%g"
#define HW_FIRST    hw_first_not_finite_f64
#define HW_OF(name) name##_f64
#include "exchange/numbers_typed.h"

#define HW_T        float
#define HW_U        uint32_t
#define HW_WHOLE    0
#define HW_NAME     "f32"
#define HW_PRINT    "%g"
#define HW_FIRST    hw_first_not_finite_f32
#define HW_OF(name) name##_f32
#include "exchange/numbers_typed.h"

#define HW_T        int64_t
#define HW_U        uint64_t
#define HW_WHOLE    1
#define HW_NAME     "i64"
#define HW_PRINT    "%" PRId64
#define HW_FIRST    all_finite
#define HW_OF(name) name##_i64
#include "exchange/numbers_typed.h"

#define HW_T        int32_t
#define HW_U        uint32_t
#define HW_WHOLE    1
#define HW_NAME     "i32"
#define HW_PRINT    "%" PRId32
#define HW_FIRST    all_finite
#define HW_OF(name) name##_i32
#include "exchange/numbers_typed.h"

const hw_numbers *hw_numbers_of(hawser_type type)
{
    static const hw_numbers *const rows[] = {
        [HAWSER_F64] = &row_f64, [HAWSER_F32] = &row_f32, [HAWSER_I64] = &row_i64, [HAWSER_I32] = &row_i32};
    return rows[type];
}
