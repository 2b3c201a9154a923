/* linalg_rows_typed.h - the tests of linalg_rows.c for arithmetic in T. It has no guard: linalg_rows.c includes it once per
 * type. */

static T F(stored)(const problem *p, size_t i, size_t j)
{
    return (T)p->plain[i * p->cols + j];
}

static void F(check_rows)(const problem *p, const hawser_matrix *A)
{
    size_t cols = p->cols;
    T *x = numbers(cols, ARITHMETIC, 3), *y = numbers(cols, ARITHMETIC, 4), *squares = numbers(p->rows, ARITHMETIC, 5);
    F(hawser_row_squares)(A, squares);
    for (size_t i = 0; i < p->rows; i++) {
        long double dot = 0, sizes = 0, square = 0, distance = 0;
        for (size_t j = 0; j < cols; j++) {
            long double a = F(stored)(p, i, j), d = a - x[j];
            dot += a * x[j];
            sizes += fabsl(a * x[j]);
            square += a * a;
            distance += d * d;
        }
        close_to((double)F(hawser_row_dot)(A, i, x), dot, sizes, cols, EPSILON);
        close_to((double)squares[i], square, square, cols, EPSILON);
        close_to((double)F(hawser_row_distance)(A, i, x), distance, distance, cols, EPSILON);
        T *before = numbers(cols, ARITHMETIC, 4);
        memcpy(y, before, cols * sizeof *y);
        F(hawser_row_axpy)(A, i, (T)-1.5, y);
        for (size_t j = 0; j < cols; j++) {
            T expected = before[j] + F(stored)(p, i, j) * (T)-1.5;
            assert_true(y[j] == expected);
        }
        free(before);
    }
    free(x);
    free(y);
    free(squares);
}

/* The distances of rows to the centres of their labels have the bits of single ones in every layout. */
static void F(check_own)(const problem *p)
{
    enum { CENTRES = 5 };
    T *C = numbers(CENTRES * p->cols, ARITHMETIC, 7), *out = numbers(p->rows, ARITHMETIC, 8);
    uint32_t *labels = calloc(p->rows + 1, sizeof *labels);
    assert_non_null(labels);
    for (size_t i = 0; i < p->rows; i++)
        labels[i] = (uint32_t)(i * 3 % CENTRES);
    const hawser_matrix *all[] = {&p->by_row, &p->by_column, &p->sparse};
    for (int k = 0; k < 3; k++) {
        F(hawser_row_distances)(all[k], C, labels, out);
        for (size_t i = 0; i < p->rows; i++) {
            T one = F(hawser_row_distance)(all[k], i, C + labels[i] * p->cols);
            assert_memory_equal(&one, &out[i], sizeof one);
        }
    }
    free(C);
    free(out);
    free(labels);
}

static void TEST(rows_match_long_double)(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (int type = HAWSER_F64; type <= HAWSER_F32; type++) {
            problem p = make(SHAPES[s][0], SHAPES[s][1], (hawser_type)type, s);
            F(check_rows)(&p, &p.by_row);
            F(check_rows)(&p, &p.by_column);
            F(check_rows)(&p, &p.sparse);
            T *c = numbers(p.cols, ARITHMETIC, 3); /* the same bits for every layout */
            for (size_t i = 0; i < p.rows; i++) {
                T one = F(hawser_row_distance)(&p.by_row, i, c), two = F(hawser_row_distance)(&p.by_column, i, c),
                  three = F(hawser_row_distance)(&p.sparse, i, c), dot = F(hawser_row_dot)(&p.by_row, i, c),
                  other = F(hawser_row_dot)(&p.by_column, i, c);
                assert_memory_equal(&one, &two, sizeof one);
                assert_memory_equal(&one, &three, sizeof one);
                assert_memory_equal(&dot, &other, sizeof dot);
            }
            F(check_own)(&p);
            free(c);
            release(&p);
        }
}

/* Checks both products and the distances, and that numbers beside the block are left alone. */
static void F(check_blocks)(const problem *p, const hawser_matrix *A, size_t k, size_t gap)
{
    size_t rows = p->rows, cols = p->cols, ld = k + gap, most = (rows > cols ? rows : cols) * ld;
    T *B = numbers(most, ARITHMETIC, 3), *out = numbers(most, ARITHMETIC, 4), *before = numbers(most, ARITHMETIC, 4),
      *near = numbers(most, ARITHMETIC, 4), *own = numbers(rows, ARITHMETIC, 5), *squares = numbers(k, ARITHMETIC, 6);
    for (size_t c = 0; c < k; c++) {
        squares[c] = 0;
        for (size_t j = 0; j < cols; j++)
            squares[c] += B[j * ld + c] * B[j * ld + c];
    }
    F(hawser_row_squares)(A, own);
    F(hawser_multiply_block)(A, B, ld, k, out, ld);
    F(hawser_distances)(A, own, B, ld, squares, k, near, ld);
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < ld; c++) {
            if (c >= k) {
                assert_true(out[i * ld + c] == before[i * ld + c] && near[i * ld + c] == before[i * ld + c]);
                continue;
            }
            long double sum = 0, sizes = 0, distance = 0;
            for (size_t j = 0; j < cols; j++) {
                long double a = F(stored)(p, i, j), b = B[j * ld + c];
                sum += a * b;
                sizes += fabsl(a * b);
                distance += (a - b) * (a - b);
            }
            close_to((double)out[i * ld + c], sum, sizes, cols, EPSILON);
            assert_true(near[i * ld + c] >= 0);
            close_to((double)near[i * ld + c], distance, (long double)own[i] + squares[c], cols, EPSILON);
        }
    memcpy(out, before, most * sizeof *out);
    F(hawser_accumulate_block)(A, B, ld, k, out, ld);
    for (size_t j = 0; j < cols; j++)
        for (size_t c = 0; c < ld; c++) {
            long double sum = before[j * ld + c], sizes = fabsl(sum);
            for (size_t i = 0; c < k && i < rows; i++) {
                sum += (long double)F(stored)(p, i, j) * B[i * ld + c];
                sizes += fabsl((long double)F(stored)(p, i, j) * B[i * ld + c]);
            }
            close_to((double)out[j * ld + c], sum, c < k ? sizes : 0, rows, EPSILON);
        }
    void *const arrays[] = {B, out, before, near, own, squares};
    for (size_t n = 0; n < sizeof arrays / sizeof *arrays; n++)
        free(arrays[n]);
}

static void TEST(blocks_match_long_double)(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (int type = HAWSER_F64; type <= HAWSER_F32; type++) {
            problem p = make(SHAPES[s][0], SHAPES[s][1], (hawser_type)type, s + 20);
            for (size_t w = s % 2; w < WIDTH_COUNT; w += 2) {
                F(check_blocks)(&p, &p.by_row, WIDTHS[w], w % 3);
                F(check_blocks)(&p, &p.by_column, WIDTHS[w], w % 3);
                F(check_blocks)(&p, &p.sparse, WIDTHS[w], w % 3);
            }
            release(&p);
        }
}

/* Sums are documented to be made in the order of their terms. So plain loops have the same bits, and two calls those of
 * one. */
static void TEST(sums_are_in_order)(void **state)
{
    (void)state;
    enum { ROWS = 203, COLS = 131, K = 21 };
    for (int type = HAWSER_F64; type <= HAWSER_F32; type++) {
        problem p = make(ROWS, COLS, (hawser_type)type, 5);
        T *B = numbers(ROWS * K, ARITHMETIC, 3), *out = numbers(ROWS * K, ARITHMETIC, 4),
          *G = numbers(COLS * K, ARITHMETIC, 5), *parts = numbers(COLS * K, ARITHMETIC, 5),
          *plain = numbers(COLS * K, ARITHMETIC, 5);
        const hawser_matrix *all[] = {&p.by_row, &p.by_column, &p.sparse};
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < COLS; j++)
                for (size_t c = 0; c < K; c++)
                    plain[j * K + c] += F(stored)(&p, i, j) * B[i * K + c];
        for (int k = 0; k < 3; k++) {
            F(hawser_multiply_block)(all[k], B, K, K, out, K);
            for (size_t i = 0; i < ROWS; i++)
                for (size_t c = 0; c < K; c++) {
                    T sum = 0;
                    for (size_t j = 0; j < COLS; j++)
                        sum += F(stored)(&p, i, j) * B[j * K + c];
                    assert_memory_equal(&sum, &out[i * K + c], sizeof sum);
                }
            T *start = numbers(COLS * K, ARITHMETIC, 5);
            memcpy(G, start, COLS * K * sizeof *G);
            memcpy(parts, start, COLS * K * sizeof *G);
            free(start);
            hawser_matrix first = hawser_matrix_rows(all[k], 0, 77), rest = hawser_matrix_rows(all[k], 77, ROWS);
            F(hawser_accumulate_block)(all[k], B, K, K, G, K);
            F(hawser_accumulate_block)(&first, B, K, K, parts, K);
            F(hawser_accumulate_block)(&rest, B + 77 * K, K, K, parts, K);
            assert_memory_equal(G, plain, COLS * K * sizeof *G);
            assert_memory_equal(parts, plain, COLS * K * sizeof *G);
        }
        void *const arrays[] = {B, out, G, parts, plain};
        for (size_t n = 0; n < sizeof arrays / sizeof *arrays; n++)
            free(arrays[n]);
        release(&p);
    }
}

/* Compares with a search number by number. Some distances are equal, and some rows of the product are not used. */
static void TEST(nearest_and_second_nearest_are_found)(void **state)
{
    (void)state;
    enum { MOST = 19, ROWS = 37, LD = 40 };
    for (size_t k = 1; k <= MOST; k++) {
        T squares[MOST], products[MOST * LD], least[ROWS], next[ROWS], nearest[ROWS];
        for (size_t c = 0; c < k; c++) {
            squares[c] = (T)(c * 5 % 3);
            for (size_t r = 0; r < LD; r++)
                products[c * LD + r] = r < ROWS ? (T)((c * 7 + r * 3 + c * r) % 11) / 4 : (T)1e9;
        }
        F(hawser_nearest)(k, ROWS, squares, products, LD, least, next, nearest);
        for (size_t r = 0; r < ROWS; r++) {
            size_t at = 0;
            T second = (T)INFINITY;
            for (size_t c = 1; c < k; c++)
                if (squares[c] - 2 * products[c * LD + r] < squares[at] - 2 * products[at * LD + r])
                    at = c;
            for (size_t c = 0; c < k; c++)
                if (c != at && squares[c] - 2 * products[c * LD + r] < second)
                    second = squares[c] - 2 * products[c * LD + r];
            assert_true(least[r] == squares[at] - 2 * products[at * LD + r] && next[r] == second);
            assert_true(nearest[r] == (T)at);
        }
    }
}

static void F(same_bits)(const problem *p, const hw_row_kernels *one, const hw_row_kernels *two, size_t k)
{
    size_t rows = p->rows, cols = p->cols, count = rows * k + 2 * cols * k;
    uint32_t labels[300];
    assert_true(rows <= 300);
    for (size_t i = 0; i < rows; i++)
        labels[i] = i % 2;
    T *B = numbers(count, ARITHMETIC, 3), *x = numbers(count, ARITHMETIC, 4), *y = numbers(count, ARITHMETIC, 4);
    const hawser_matrix *A = &p->by_row, *S = &p->sparse;
    const hw_row_kernels *both[] = {one, two};
    for (int step = 0; step < 9 && (step != 5 || rows >= 3); step++) {
        for (int v = 0; v < 2; v++) {
            T *out = v ? y : x;
            if (step == 0)
                both[v]->dense_block(rows, cols, A->values, A->stride, 1, B, k, k, out, k);
            else if (step == 1)
                both[v]->dense_block(cols, rows, A->values, 1, A->stride, B, k, k, out, k);
            else if (step == 2)
                both[v]->sparse_multiply(rows, S->offsets, S->indices, S->values, B, k, k, out, k);
            else if (step == 3)
                both[v]->sparse_accumulate(rows, S->offsets, S->indices, S->values, B, k, k, out, k);
            else if (step == 4)
                both[v]->finish(k, B, B, out);
            else if (step == 5) /* a row's results for each column of the block */
                both[v]->nearest(rows, k, B, B, k, out, out + k, out + 2 * k);
            else if (step == 7)
                both[v]->dot(cols, A->values, B, out);
            else if (step == 6)
                both[v]->axpy(cols, A->values, 0.75, out);
            else /* each row is compared with one of two centres */
                both[v]->distances(rows, cols, A->values, A->stride, B, labels, out);
        }
        assert_memory_equal(x, y, count * sizeof *x);
    }
    free(B);
    free(x);
    free(y);
}

static void TEST(variants_agree)(void **state)
{
    (void)state;
    for (size_t v = 1; hw_kernels_variant(v) != NULL; v++)
        for (size_t s = 2; s < SHAPE_COUNT; s++)
            for (int type = HAWSER_F64; type <= HAWSER_F32; type++) {
                problem p = make(SHAPES[s][0], SHAPES[s][1], (hawser_type)type, s + 40);
                for (size_t w = 1; w < WIDTH_COUNT; w++)
                    F(same_bits)
                (&p, &hw_kernels_variant(0)->rows[type][ARITHMETIC], &hw_kernels_variant(v)->rows[type][ARITHMETIC],
                 WIDTHS[w]);
                release(&p);
            }
}
