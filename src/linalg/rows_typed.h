/* rows_typed.h - the functions of hawser/row_kernels.h for arithmetic in HW_A. It has no guard, because rows.c includes it
 * once per type. */

/* Returns the sum of 16 lanes, always by this tree. Only the first `count` have terms: zeros change no sum that began with
 * +0. */
static inline __attribute__((always_inline)) HW_A HW_OF(sum_lanes)(HW_A lane[16], size_t count)
{
    for (size_t half = 8; half > 0; half /= 2)
        for (size_t k = 0; half < count && k < half; k++)
            lane[k] += lane[k + half];
    return lane[0];
}

static HW_A HW_OF(value)(const hawser_matrix *A, const line_of_row *r, size_t k)
{
    return (HW_A)hw_value_at(r->values, A->type, k * r->step);
}

/* Returns a term of a sum over a row: a number's product with x, the square of its distance from x, or its square. */
static inline __attribute__((always_inline)) HW_A HW_OF(term)(terms what, HW_A a, const HW_A *x)
{
    return what == PRODUCTS ? a * *x : what == SQUARES ? a * a : (a - *x) * (a - *x);
}

/* Entry k is in lane k mod 16, as in the dense dots of kernels_typed.h. Constants for `type`, `step` and `what` make this a
 * loop over registers. */
static inline __attribute__((always_inline)) HW_A HW_OF(sum_dense)(const void *values, hawser_type type, size_t step,
                                                                   size_t n, terms what, const HW_A *x)
{
    HW_A lane[16] = {0};
    size_t k = 0;
    for (; k + 16 <= n; k += 16)
        for (size_t l = 0; l < 16; l++)
            lane[l] += HW_OF(term)(what, (HW_A)hw_value_at(values, type, (k + l) * step), x + k + l);
    for (size_t l = 0; k + l < n; l++)
        lane[l] += HW_OF(term)(what, (HW_A)hw_value_at(values, type, (k + l) * step), x + k + l);
    return HW_OF(sum_lanes)(lane, 16);
}

/* The same for the entries of a row that stand side by side, and x at their columns. */
static inline __attribute__((always_inline)) HW_A HW_OF(dot_sparse)(const line_of_row *r, hawser_type type, const HW_A *x)
{
    HW_A lane[16] = {0};
    size_t k = 0;
    for (; k + 16 <= r->count; k += 16)
        for (size_t l = 0; l < 16; l++)
            lane[l] += (HW_A)hw_value_at(r->values, type, k + l) * x[r->indices[k + l]];
    for (size_t l = 0; k + l < r->count; l++)
        lane[l] += (HW_A)hw_value_at(r->values, type, k + l) * x[r->indices[k + l]];
    return HW_OF(sum_lanes)(lane, r->count);
}

static inline __attribute__((always_inline)) HW_A HW_OF(sum_row)(const hawser_matrix *A, const line_of_row *r, terms what,
                                                                 const HW_A *x)
{
    if (r->step != 1)
        return HW_OF(sum_dense)(r->values, A->type, r->step, r->count, what, x);
    return A->type == HAWSER_F32 ? HW_OF(sum_dense)(r->values, HAWSER_F32, 1, r->count, what, x)
                                 : HW_OF(sum_dense)(r->values, HAWSER_F64, 1, r->count, what, x);
}

HW_A HW_OF(hawser_row_dot)(const hawser_matrix *A, size_t i, const HW_A *x)
{
    line_of_row r = row_at(A, i);
    if (A->layout != HAWSER_CSR && r.step == 1) {
        HW_A dot;
        hw_kernels_best()->rows[A->type][HW_ARITHMETIC].dot(r.count, r.values, x, &dot);
        return dot;
    }
    if (A->layout != HAWSER_CSR)
        return HW_OF(sum_row)(A, &r, PRODUCTS, x);
    return A->type == HAWSER_F32 ? HW_OF(dot_sparse)(&r, HAWSER_F32, x) : HW_OF(dot_sparse)(&r, HAWSER_F64, x);
}

void HW_OF(hawser_row_axpy)(const hawser_matrix *A, size_t i, HW_A step, HW_A *x)
{
    line_of_row r = row_at(A, i);
    if (A->layout != HAWSER_CSR && r.step == 1)
        hw_kernels_best()->rows[A->type][HW_ARITHMETIC].axpy(r.count, r.values, (double)step, x);
    else if (A->layout != HAWSER_CSR)
        for (size_t k = 0; k < r.count; k++)
            x[k] += HW_OF(value)(A, &r, k) * step;
    else if (A->type == HAWSER_F32)
        for (size_t k = 0; k < r.count; k++)
            x[r.indices[k]] += (HW_A)((const float *)r.values)[k] * step;
    else
        for (size_t k = 0; k < r.count; k++)
            x[r.indices[k]] += (HW_A)((const double *)r.values)[k] * step;
}

/* Adds the terms of a sparse row over all columns, in the lanes of a dense one. */
static HW_A HW_OF(sparse_distance)(const hawser_matrix *A, const line_of_row *r, const HW_A *c)
{
    HW_A lane[16] = {0};
    size_t k = 0;
    for (size_t j = 0; j < A->cols; j++) {
        bool stored = k < r->count && r->indices[k] == j;
        HW_A difference = (stored ? HW_OF(value)(A, r, k) : 0) - c[j];
        lane[j % 16] += difference * difference;
        k += stored;
    }
    return HW_OF(sum_lanes)(lane, 16);
}

HW_A HW_OF(hawser_row_distance)(const hawser_matrix *A, size_t i, const HW_A *c)
{
    line_of_row r = row_at(A, i);
    return A->layout != HAWSER_CSR ? HW_OF(sum_row)(A, &r, DISTANCES, c) : HW_OF(sparse_distance)(A, &r, c);
}

void HW_OF(hawser_row_distances)(const hawser_matrix *A, const HW_A *C, const uint32_t *labels, HW_A *out)
{
    if (A->layout == HAWSER_DENSE_ROWS && !hw_touch_columns(A))
        hw_kernels_best()->rows[A->type][HW_ARITHMETIC].distances(A->rows, A->cols, A->values, A->stride, C, labels, out);
    else
        for (size_t i = 0; i < A->rows; i++)
            out[i] = HW_OF(hawser_row_distance)(A, i, C + labels[i] * A->cols);
}

/* The entries of a sparse row are side by side, too. */
void HW_OF(hawser_row_squares)(const hawser_matrix *A, HW_A *out)
{
    const hw_row_kernels *kernels = &hw_kernels_best()->rows[A->type][HW_ARITHMETIC];
    for (size_t i = 0; i < A->rows; i++) {
        line_of_row r = row_at(A, i);
        if (r.step == 1 && A->type == HW_ARITHMETIC)
            kernels->dot(r.count, r.values, r.values, out + i);
        else
            out[i] = HW_OF(sum_row)(A, &r, SQUARES, NULL);
    }
}

/* Fills the result of a kernel that was refused. */
static void HW_OF(fill_nan)(HW_A *out, size_t rows, size_t count, size_t ld)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < count; j++)
            out[i * ld + j] = (HW_A)NAN;
}

void HW_OF(hawser_multiply_block)(const hawser_matrix *A, const HW_A *B, size_t ldb, size_t k, HW_A *out, size_t ldo)
{
    assert(A->layout != HAWSER_CSC);
    const hw_row_kernels *kernels = &hw_kernels_best()->rows[A->type][HW_ARITHMETIC];
    if (hw_touch_columns(A)) {
        HW_OF(fill_nan)(out, A->rows, k, ldo);
        return;
    }
    if (A->layout == HAWSER_CSR) {
        kernels->sparse_multiply(A->rows, A->offsets, A->indices, A->values, B, ldb, k, out, ldo);
        return;
    }
    for (size_t i = 0; i < A->rows; i++)
        memset(out + i * ldo, 0, k * sizeof *out);
    for (size_t i = 0; A->cols > 0 && i < A->rows; i += PANEL)
        kernels->dense_block(A->rows - i < PANEL ? A->rows - i : PANEL, A->cols, at(A, hw_dense_place(A, i, 0)), down(A),
                             along(A), B, ldb, k, out + i * ldo, ldo);
}

void HW_OF(hawser_accumulate_block)(const hawser_matrix *A, const HW_A *R, size_t ldr, size_t k, HW_A *G, size_t ldg)
{
    assert(A->layout != HAWSER_CSC);
    const hw_row_kernels *kernels = &hw_kernels_best()->rows[A->type][HW_ARITHMETIC];
    if (hw_touch_columns(A)) {
        HW_OF(fill_nan)(G, A->cols, k, ldg);
        return;
    }
    if (A->layout == HAWSER_CSR) {
        kernels->sparse_accumulate(A->rows, A->offsets, A->indices, A->values, R, ldr, k, G, ldg);
        return;
    }
    for (size_t j = 0; A->rows > 0 && j < A->cols; j += PANEL)
        kernels->dense_block(A->cols - j < PANEL ? A->cols - j : PANEL, A->rows, at(A, hw_dense_place(A, 0, j)), along(A),
                             down(A), R, ldr, k, G + j * ldg, ldg);
}

void HW_OF(hawser_distances)(const hawser_matrix *A, const HW_A *row_squares, const HW_A *C, size_t ldc, const HW_A *squares,
                             size_t k, HW_A *out, size_t ldo)
{
    const hw_row_kernels *kernels = &hw_kernels_best()->rows[A->type][HW_ARITHMETIC];
    HW_OF(hawser_multiply_block)(A, C, ldc, k, out, ldo);
    for (size_t i = 0; i < A->rows; i++)
        kernels->finish(k, row_squares != NULL ? &row_squares[i] : NULL, squares, out + i * ldo);
}

void HW_OF(hawser_nearest)(size_t k, size_t n, const HW_A *squares, const HW_A *products, size_t ld, HW_A *least, HW_A *next,
                           HW_A *nearest)
{
    hw_kernels_best()->rows[HW_ARITHMETIC][HW_ARITHMETIC].nearest(k, n, squares, products, ld, least, next, nearest);
}
