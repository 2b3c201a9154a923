/* kernels_rows.h - the kernels over rows for arithmetic in T. It has no guard: kernels.c includes it once per type. */

static void F(row_dots)(const inputs *in, size_t thread, size_t threads)
{
    hawser_matrix part = row_share(in->rows, thread, threads);
    T sum = 0;
    for (size_t i = 0; i < part.rows; i++)
        sum += F(hawser_row_dot)(&part, i, in->rows->block);
    in->sums[8 * thread] += (double)sum;
}

static void F(row_axpys)(const inputs *in, size_t thread, size_t threads)
{
    hawser_matrix part = row_share(in->rows, thread, threads);
    for (size_t i = 0; i < part.rows; i++)
        F(hawser_row_axpy)(&part, i, (T)0.001, in->rows->own[thread]);
}

static void F(row_distances)(const inputs *in, size_t thread, size_t threads)
{
    hawser_matrix part = row_share(in->rows, thread, threads);
    T sum = 0;
    for (size_t i = 0; i < part.rows; i++)
        sum += F(hawser_row_distance)(&part, i, in->rows->block);
    in->sums[8 * thread] += (double)sum;
}

static void F(distances)(const inputs *in, size_t thread, size_t threads)
{
    hawser_matrix part = row_share(in->rows, thread, threads);
    F(hawser_distances)
    (&part, (T *)in->rows->row_squares + part.first, in->rows->block, BLOCK, in->rows->squares, BLOCK,
     (T *)in->rows->image + part.first * BLOCK, BLOCK);
}

static void F(product)(const inputs *in, size_t thread, size_t threads)
{
    hawser_matrix part = row_share(in->rows, thread, threads);
    F(hawser_multiply_block)
    (&part, in->rows->block, BLOCK, BLOCK, (T *)in->rows->image + part.first * BLOCK, BLOCK);
}

static void F(transposed_product)(const inputs *in, size_t thread, size_t threads)
{
    hawser_matrix part = row_share(in->rows, thread, threads);
    F(hawser_accumulate_block)
    (&part, (T *)in->rows->image + part.first * BLOCK, BLOCK, BLOCK, in->rows->own[thread], BLOCK);
}

/* Fills what the kernels read: numbers in [-0.5, 0.5), and sums of squares. */
static void F(fill)(row_inputs *rows)
{
    hw_random random = hw_random_at(2, 0, 0, 0);
    T *block = rows->block, *image = rows->image, *squares = rows->squares;
    for (size_t e = 0; e < rows->matrix.cols * BLOCK; e++) {
        block[e] = (T)(hw_random_uniform(&random) - 0.5);
        squares[e % BLOCK] += block[e] * block[e];
    }
    for (size_t e = 0; e < rows->matrix.rows * BLOCK; e++)
        image[e] = (T)(hw_random_uniform(&random) - 0.5);
    F(hawser_row_squares)(&rows->matrix, rows->row_squares);
}

static void F(report_rows)(inputs *in, const char *layout, bool json)
{
    const hawser_matrix *A = &in->rows->matrix;
    bool sparse = A->layout == HAWSER_CSR;
    double bytes = 1e-9 * (double)A->stored * (double)(sizeof(T) + (sparse ? sizeof *A->indices : 0)),
           operations = 2e-9 * (double)A->stored * BLOCK;
    const kernel kernels[] = {
        {"row dots", "GB/s", F(row_dots), bytes, false},
        {"row axpys", "GB/s", F(row_axpys), bytes, false},
        {"distances", "GFLOP/s", F(distances), operations, false},
        {"product", "GFLOP/s", F(product), operations, false},
        {"transposed product", "GFLOP/s", F(transposed_product), operations, false},
        {"row distances", "GB/s", F(row_distances), bytes, false}, /* which read all of c, however few entries a row has */
    };
    F(fill)(in->rows);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels - sparse; k++) {
        char name[64];
        kernel line = kernels[k];
        (void)snprintf(name, sizeof name, "%s %s %s", layout, line.name, TYPE);
        line.name = name;
        report(in, &line, json);
    }
}
