/* kernels_typed.h - the loops over stored numbers of type HW_T. It has no guard, because kernels_template.h includes it once
 * per type. */

/* Loads HW_WIDTH stored numbers as doubles. */
static inline HW_INLINE void HW_NAME(load)(const HW_T *a, hw_register *out)
{
    *out = __builtin_convertvector(*(const HW_VECTOR *)a, hw_register);
}

/* Computes the dots of several columns in one pass over x. */
static inline HW_INLINE void HW_NAME(dots)(size_t n, const size_t columns, const HW_T *a, size_t stride, const double *x,
                                           double *out)
{
    hw_register sum[HW_COLUMNS][2 * HW_PARTS];
    memset(sum, 0, sizeof sum);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        HW_UNROLL
        for (size_t p = 0; p < 2 * HW_PARTS; p++) {
            hw_register y = *(const hw_unaligned *)(x + i + p * HW_WIDTH);
            HW_UNROLL
            for (size_t c = 0; c < columns; c++) {
                hw_register v;
                HW_NAME(load)(a + c * stride + i + p * HW_WIDTH, &v);
                sum[c][p] += v * y;
            }
        }
    }
    for (size_t c = 0; c < columns; c++) {
        double lane[16];
        for (size_t p = 0; p < 2 * HW_PARTS; p++)
            *(hw_unaligned *)(lane + p * HW_WIDTH) = sum[c][p];
        for (size_t k = i; k < n; k++)
            lane[k - i] += (double)a[c * stride + k] * x[k];
        for (size_t k = 0; k < 8; k++)
            lane[k] += lane[k + 8];
        out[c] = HW_SUM(lane);
    }
}

static HW_TARGET double HW_NAME(dense_dot)(size_t n, const void *a, const double *x)
{
    double dot;
    HW_NAME(dots)(n, 1, a, 0, x, &dot);
    return dot;
}

static HW_TARGET void HW_NAME(dense_scan)(size_t n, size_t columns, const void *values, size_t stride, const double *x,
                                          double *out)
{
    const HW_T *a = values;
    size_t j = 0;
    for (; j + HW_COLUMNS <= columns; j += HW_COLUMNS)
        HW_NAME(dots)(n, HW_COLUMNS, a + j * stride, stride, x, out + j);
    for (; j < columns; j++)
        HW_NAME(dots)(n, 1, a + j * stride, stride, x, out + j);
}

static HW_TARGET void HW_NAME(dense_axpy)(size_t n, const void *values, double step, double *x)
{
    const HW_T *a = values;
    size_t i = 0;
    for (; i + HW_WIDTH <= n; i += HW_WIDTH) {
        hw_register v;
        HW_NAME(load)(a + i, &v);
        *(hw_unaligned *)(x + i) += v * step;
    }
    for (; i < n; i++)
        x[i] += (double)a[i] * step;
}

static HW_TARGET void HW_NAME(dense_axpy4)(size_t n, const void *const a[4], const double step[4], double *x)
{
    const HW_T *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3];
    size_t i = 0;
    for (; i + HW_WIDTH <= n; i += HW_WIDTH) {
        hw_register v, sum = *(hw_unaligned *)(x + i);
        HW_NAME(load)(a0 + i, &v);
        sum += v * step[0];
        HW_NAME(load)(a1 + i, &v);
        sum += v * step[1];
        HW_NAME(load)(a2 + i, &v);
        sum += v * step[2];
        HW_NAME(load)(a3 + i, &v);
        sum += v * step[3];
        *(hw_unaligned *)(x + i) = sum;
    }
    for (; i < n; i++) /* the order of additions is that of four single steps */
        x[i] = (((x[i] + (double)a0[i] * step[0]) + (double)a1[i] * step[1]) + (double)a2[i] * step[2]) +
               (double)a3[i] * step[3];
}

static HW_TARGET void HW_NAME(dense_moments)(size_t n, const void *values, const double *weights, double centre,
                                             hw_moments *out)
{
    const HW_T *a = values;
    hw_register sum[HW_PARTS], squares[HW_PARTS], weight[HW_PARTS];
    memset(sum, 0, sizeof sum);
    memset(squares, 0, sizeof squares);
    memset(weight, 0, sizeof weight);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        HW_UNROLL
        for (size_t p = 0; p < HW_PARTS; p++) {
            hw_register v, w = (hw_register){0} + 1.0;
            HW_NAME(load)(a + i + p * HW_WIDTH, &v);
            if (weights != NULL)
                w = *(const hw_unaligned *)(weights + i + p * HW_WIDTH);
            hw_register distance = v - centre;
            sum[p] += w * v;
            squares[p] += w * distance * distance;
            weight[p] += w;
        }
    }
    double lane[3][8];
    for (size_t p = 0; p < HW_PARTS; p++) {
        *(hw_unaligned *)(lane[0] + p * HW_WIDTH) = sum[p];
        *(hw_unaligned *)(lane[1] + p * HW_WIDTH) = squares[p];
        *(hw_unaligned *)(lane[2] + p * HW_WIDTH) = weight[p];
    }
    for (size_t k = i; k < n; k++) {
        double v = (double)a[k], w = weights != NULL ? weights[k] : 1, distance = v - centre;
        lane[0][k - i] += w * v;
        lane[1][k - i] += w * distance * distance;
        lane[2][k - i] += w;
    }
    *out = (hw_moments){HW_SUM(lane[0]), HW_SUM(lane[1]), HW_SUM(lane[2])};
}

static HW_TARGET void HW_NAME(dense_pack)(size_t begin, size_t n, const void *values, const double *weights, double *to)
{
    const HW_T *a = (const HW_T *)values + begin;
    if (weights != NULL)
        for (size_t i = 0; i < n; i++)
            to[i] = weights[begin + i] * (double)a[i];
    else
        for (size_t i = 0; i < n; i++)
            to[i] = (double)a[i];
    for (size_t i = n; i < HW_GRAM_ROWS; i++)
        to[i] = 0;
}

static inline HW_INLINE double HW_NAME(gather_dot)(size_t n, const uint32_t *restrict at, const HW_T *restrict a,
                                                   const double *restrict x)
{
    hw_register sum[HW_PARTS];
    memset(sum, 0, sizeof sum);
    size_t k = 0;
    for (; k + 8 <= n; k += 8) {
        HW_UNROLL
        for (size_t p = 0; p < HW_PARTS; p++) {
            hw_register v;
            HW_NAME(load)(a + k + p * HW_WIDTH, &v);
            sum[p] += v * HW_GATHER(x, (at + k + p * HW_WIDTH));
        }
    }
    double lane[8];
    for (size_t p = 0; p < HW_PARTS; p++)
        *(hw_unaligned *)(lane + p * HW_WIDTH) = sum[p];
    for (size_t r = 0; k + r < n; r++)
        lane[r] += (double)a[k + r] * x[at[k + r]];
    return HW_SUM(lane);
}

static HW_TARGET double HW_NAME(sparse_dot)(size_t n, const uint32_t *indices, const void *values, const double *x)
{
    return HW_NAME(gather_dot)(n, indices, values, x);
}

static HW_TARGET void HW_NAME(sparse_scan)(size_t columns, const uint64_t *offsets, const uint32_t *indices,
                                           const void *values, const double *x, double *out)
{
    const HW_T *a = values;
    for (size_t j = 0; j < columns; j++) {
        uint64_t begin = offsets[j];
        out[j] = HW_NAME(gather_dot)((size_t)(offsets[j + 1] - begin), indices + begin, a + begin, x);
    }
}

static HW_TARGET void HW_NAME(sparse_scan_some)(const uint32_t *columns, size_t count, const uint64_t *offsets,
                                                const uint32_t *indices, const void *values, const double *x, double *out)
{
    enum { AHEAD = 8 }; /* columns are short and far apart, so the hardware does not prefetch the next one */
    const HW_T *a = values;
    for (size_t k = 0; k < count; k++) {
        uint64_t begin = offsets[columns[k]], next = offsets[columns[k + AHEAD < count ? k + AHEAD : count - 1]];
        __builtin_prefetch(indices + next);
        __builtin_prefetch(a + next);
        out[columns[k]] = HW_NAME(gather_dot)((size_t)(offsets[columns[k] + 1] - begin), indices + begin, a + begin, x);
    }
}

static HW_TARGET void HW_NAME(sparse_axpy)(size_t n, const uint32_t *restrict indices, const void *restrict values,
                                           double step, double *restrict x)
{
    const HW_T *a = values;
    for (size_t k = 0; k < n; k++)
        x[indices[k]] += (double)a[k] * step;
}

static HW_TARGET void HW_NAME(sparse_moments)(size_t n, const uint32_t *indices, const void *values, const double *weights,
                                              double centre, hw_moments *out)
{
    const HW_T *a = values;
    double sum[8] = {0}, squares[8] = {0}, weight[8] = {0};
    for (size_t k = 0; k < n; k++) {
        double v = (double)a[k], w = weights != NULL ? weights[indices[k]] : 1, distance = v - centre;
        sum[k & 7] += w * v;
        squares[k & 7] += w * distance * distance;
        weight[k & 7] += w;
    }
    *out = (hw_moments){HW_SUM(sum), HW_SUM(squares), HW_SUM(weight)};
}
