/* kernels_rows.h - the loops over rows for stored numbers of type HW_T and arithmetic in HW_A. It has no guard, because
 * kernels_template.h includes it once per pair.
 *
 * A dense matrix is given by two steps: number (r, t) of a tile is a[r * across + t * along]. So one tile serves both dense
 * layouts and both products: r are the lines of the output, t the terms of its sums. */

typedef HW_A HW_ROWS(vector) __attribute__((vector_size(8 * HW_WIDTH)));
typedef HW_A HW_ROWS(unaligned) __attribute__((vector_size(8 * HW_WIDTH), aligned(sizeof(HW_A)), may_alias));
typedef HW_T HW_ROWS(stored) __attribute__((vector_size(sizeof(HW_T) * 8 * HW_WIDTH / sizeof(HW_A)), aligned(sizeof(HW_T)),
                                            may_alias)); /* the stored numbers for a register */
typedef HW_A HW_ROWS(half) __attribute__((vector_size(4 * HW_WIDTH), aligned(sizeof(HW_A)), may_alias));

enum {
    HW_ROWS(LANES) = 8 * HW_WIDTH / sizeof(HW_A),                   /* numbers of a register */
    HW_ROWS(MOST) = HW_ROWS_REGISTERS * 8 * HW_WIDTH / sizeof(HW_A) /* columns of a tile */
};

/* Adds `terms` products to `lines` x `registers` sums. `b` has HW_ROWS(MOST) columns. */
static inline HW_INLINE void HW_ROWS(tile)(const size_t lines, const size_t registers, size_t terms, const HW_T *a,
                                           size_t across, size_t along, const HW_A *b, HW_A *out, size_t ldo)
{
    HW_ROWS(vector) sum[HW_ROWS_LINES][HW_ROWS_REGISTERS];
    HW_UNROLL
    for (size_t r = 0; r < lines; r++) {
        HW_UNROLL
        for (size_t v = 0; v < registers; v++)
            sum[r][v] = *(const HW_ROWS(unaligned) *)(out + r * ldo + v * HW_ROWS(LANES));
    }
    for (size_t t = 0; t < terms; t++, a += along, b += HW_ROWS(MOST)) {
        HW_ROWS(vector) right[HW_ROWS_REGISTERS];
        HW_UNROLL
        for (size_t v = 0; v < registers; v++)
            right[v] = *(const HW_ROWS(unaligned) *)(b + v * HW_ROWS(LANES));
        HW_UNROLL
        for (size_t r = 0; r < lines; r++) {
            HW_A left = (HW_A)a[r * across];
            HW_UNROLL
            for (size_t v = 0; v < registers; v++)
                sum[r][v] += left * right[v];
        }
    }
    HW_UNROLL
    for (size_t r = 0; r < lines; r++) {
        HW_UNROLL
        for (size_t v = 0; v < registers; v++)
            *(HW_ROWS(unaligned) *)(out + r * ldo + v * HW_ROWS(LANES)) = sum[r][v];
    }
}

/* Adds to lines [0, lines) of `out`, which have `registers` whole registers of numbers. */
static inline HW_INLINE void HW_ROWS(lines)(const size_t registers, size_t lines, size_t terms, const HW_T *a, size_t across,
                                            size_t along, const HW_A *b, HW_A *out, size_t ldo)
{
    size_t r = 0;
    for (; r + HW_ROWS_LINES <= lines; r += HW_ROWS_LINES)
        HW_ROWS(tile)(HW_ROWS_LINES, registers, terms, a + r * across, across, along, b, out + r * ldo, ldo);
    for (; r < lines; r++)
        HW_ROWS(tile)(1, registers, terms, a + r * across, across, along, b, out + r * ldo, ldo);
}

/* Adds to lines of `width` numbers, fewer than a register has. Their sums are computed in a register of a buffer, so the
 * unused lanes harm nothing. Loops copy so few numbers faster than memcpy. */
static inline HW_INLINE void HW_ROWS(narrow)(size_t lines, size_t width, size_t terms, const HW_T *a, size_t across,
                                             size_t along, const HW_A *b, HW_A *out, size_t ldo)
{
    enum { LANES = HW_ROWS(LANES) };
    HW_A sums[HW_ROWS_LINES * LANES] = {0};
    for (size_t first = 0; first < lines; first += HW_ROWS_LINES) {
        size_t some = lines - first < HW_ROWS_LINES ? lines - first : HW_ROWS_LINES;
        for (size_t r = 0; r < some; r++)
            for (size_t c = 0; c < width; c++)
                sums[r * LANES + c] = out[(first + r) * ldo + c];
        HW_ROWS(lines)(1, some, terms, a + first * across, across, along, b, sums, LANES);
        for (size_t r = 0; r < some; r++)
            for (size_t c = 0; c < width; c++)
                out[(first + r) * ldo + c] = sums[r * LANES + c];
    }
}

/* Adds to one or two columns of lines whose numbers stand side by side, at most `registers` registers of them. Lanes are
 * lines. */
static inline HW_INLINE void HW_ROWS(strip)(const size_t columns, const size_t registers, size_t lines, size_t terms,
                                            const HW_T *a, size_t along, const HW_A *B, size_t ldb, HW_A *out, size_t ldo)
{
    enum { LANES = HW_ROWS(LANES) };
    HW_A lane[2 * HW_ROWS(MOST)] = {0};
    HW_ROWS(vector) sum[2][HW_ROWS_REGISTERS];
    for (size_t r = 0; r < lines; r++)
        for (size_t c = 0; c < columns; c++)
            lane[c * HW_ROWS(MOST) + r] = out[r * ldo + c];
    HW_UNROLL
    for (size_t c = 0; c < columns; c++) {
        HW_UNROLL
        for (size_t v = 0; v < registers; v++)
            sum[c][v] = *(const HW_ROWS(unaligned) *)(lane + c * HW_ROWS(MOST) + v * LANES);
    }
    for (size_t t = 0; t < terms; t++, a += along, B += ldb) {
        HW_UNROLL
        for (size_t v = 0; v < registers; v++) {
            HW_ROWS(vector) left = __builtin_convertvector(*(const HW_ROWS(stored) *)(a + v * LANES), HW_ROWS(vector));
            HW_UNROLL
            for (size_t c = 0; c < columns; c++)
                sum[c][v] += left * B[c];
        }
    }
    HW_UNROLL
    for (size_t c = 0; c < columns; c++) {
        HW_UNROLL
        for (size_t v = 0; v < registers; v++)
            *(HW_ROWS(unaligned) *)(lane + c * HW_ROWS(MOST) + v * LANES) = sum[c][v];
    }
    for (size_t r = 0; r < lines; r++)
        for (size_t c = 0; c < columns; c++)
            out[r * ldo + c] = lane[c * HW_ROWS(MOST) + r];
}

/* Adds to `columns` columns, one or two, of lines whose numbers stand side by side. The last lines are copied, with zeros
 * behind them, where they do not fill a register. */
static inline HW_INLINE void HW_ROWS(strips)(const size_t columns, size_t lines, size_t terms, const HW_T *a, size_t along,
                                             const HW_A *B, size_t ldb, HW_A *out, size_t ldo)
{
    enum { LANES = HW_ROWS(LANES) };
    HW_T rest[HW_ROWS_TERMS * LANES];
    size_t r = 0;
    for (; r + HW_ROWS(MOST) <= lines; r += HW_ROWS(MOST))
        HW_ROWS(strip)(columns, HW_ROWS_REGISTERS, HW_ROWS(MOST), terms, a + r, along, B, ldb, out + r * ldo, ldo);
    for (; r + LANES <= lines; r += LANES)
        HW_ROWS(strip)(columns, 1, LANES, terms, a + r, along, B, ldb, out + r * ldo, ldo);
    if (r == lines)
        return;
    for (size_t t = 0; t < terms; t++)
        for (size_t l = 0; l < LANES; l++)
            rest[t * LANES + l] = r + l < lines ? a[t * along + r + l] : 0;
    HW_ROWS(strip)(columns, 1, lines - r, terms, rest, LANES, B, ldb, out + r * ldo, ldo);
}

static inline HW_INLINE void HW_ROWS(pack)(size_t terms, size_t width, const HW_A *B, size_t ldb, HW_A *packed)
{
    for (size_t t = 0; t < terms; t++)
        if (width == HW_ROWS(MOST))
            memcpy(packed + t * HW_ROWS(MOST), B + t * ldb, HW_ROWS(MOST) * sizeof *B);
        else
            for (size_t c = 0; c < width; c++)
                packed[t * HW_ROWS(MOST) + c] = B[t * ldb + c];
}

static HW_TARGET void HW_ROWS(dense_block)(size_t lines, size_t terms, const void *values, size_t across, size_t along,
                                           const void *right, size_t ldb, size_t k, void *result, size_t ldo)
{
    const HW_A *B = right;
    HW_A *out = result, packed[HW_ROWS_TERMS * HW_ROWS(MOST)];
    for (size_t t = 0; t < terms && k <= 2 && across == 1; t += HW_ROWS_TERMS) {
        const HW_T *a = (const HW_T *)values + t * along;
        size_t some = terms - t < HW_ROWS_TERMS ? terms - t : HW_ROWS_TERMS;
        if (k == 2)
            HW_ROWS(strips)(2, lines, some, a, along, B + t * ldb, ldb, out, ldo);
        else if (k == 1)
            HW_ROWS(strips)(1, lines, some, a, along, B + t * ldb, ldb, out, ldo);
    }
    if (k <= 2 && across == 1)
        return;
    memset(packed, 0, sizeof packed);
    for (size_t t = 0; t < terms; t += HW_ROWS_TERMS) {
        const HW_T *a = (const HW_T *)values + t * along;
        size_t some = terms - t < HW_ROWS_TERMS ? terms - t : HW_ROWS_TERMS;
        for (size_t c = 0; c < k; c += HW_ROWS(MOST)) {
            size_t width = k - c < HW_ROWS(MOST) ? k - c : HW_ROWS(MOST), done = 0;
            HW_ROWS(pack)(some, width, B + t * ldb + c, ldb, packed);
            if (width == HW_ROWS(MOST)) {
                HW_ROWS(lines)(HW_ROWS_REGISTERS, lines, some, a, across, along, packed, out + c, ldo);
                continue;
            }
            for (; done + HW_ROWS(LANES) <= width; done += HW_ROWS(LANES))
                HW_ROWS(lines)(1, lines, some, a, across, along, packed + done, out + c + done, ldo);
            if (done < width)
                HW_ROWS(narrow)(lines, width - done, some, a, across, along, packed + done, out + c + done, ldo);
        }
    }
}

/* Adds step * a to x, n numbers. */
static HW_TARGET void HW_ROWS(axpy)(size_t n, const void *values, double step, void *result)
{
    const HW_T *a = values;
    HW_A *x = result;
    size_t k = 0;
    for (; k + HW_ROWS(LANES) <= n; k += HW_ROWS(LANES))
        *(HW_ROWS(unaligned) *)(x + k) +=
            __builtin_convertvector(*(const HW_ROWS(stored) *)(a + k), HW_ROWS(vector)) * (HW_A)step;
    for (; k < n; k++)
        x[k] += (HW_A)a[k] * (HW_A)step;
}

/* Adds a * right to out, k numbers. */
static inline HW_INLINE void HW_ROWS(add)(size_t k, HW_A a, const HW_A *right, HW_A *out)
{
    size_t c = 0;
    for (; c + HW_ROWS(LANES) <= k; c += HW_ROWS(LANES))
        *(HW_ROWS(unaligned) *)(out + c) += a * *(const HW_ROWS(unaligned) *)(right + c);
    for (; c < k; c++)
        out[c] += a * right[c];
}

/* Stores the products of a sparse row with as many columns as `registers` <= 4 hold, the last of which begins at column
 * `last`. Columns that it shares with the one before get the same bits twice. Sums in memory would wait for each other's
 * stores. */
static inline HW_INLINE void HW_ROWS(sparse_tile)(const size_t registers, size_t last, uint64_t count, const HW_T *a,
                                                  const uint32_t *indices, const HW_A *B, size_t ldb, HW_A *out)
{
    HW_ROWS(vector) sum[4];
    memset(sum, 0, sizeof sum);
    for (uint64_t e = 0; e < count; e++) {
        const HW_A *b = B + indices[e] * ldb;
        HW_UNROLL
        for (size_t v = 0; v < registers; v++)
            sum[v] += (HW_A)a[e] * *(const HW_ROWS(unaligned) *)(b + (v + 1 < registers ? v * HW_ROWS(LANES) : last));
    }
    HW_UNROLL
    for (size_t v = 0; v < registers; v++)
        *(HW_ROWS(unaligned) *)(out + (v + 1 < registers ? v * HW_ROWS(LANES) : last)) = sum[v];
}

/* Computes the product for fewer columns than a register has, by two halves of one that may overlap, or by single
 * numbers. */
static inline HW_INLINE void HW_ROWS(sparse_narrow)(size_t width, uint64_t count, const HW_T *a, const uint32_t *indices,
                                                    const HW_A *B, size_t ldb, HW_A *out)
{
    enum { HALF = HW_ROWS(LANES) / 2 };
    HW_ROWS(half) low = {0}, high = {0};
    for (uint64_t e = 0; width >= HALF && e < count; e++) {
        const HW_A *b = B + indices[e] * ldb;
        low += (HW_A)a[e] * *(const HW_ROWS(half) *)b;
        high += (HW_A)a[e] * *(const HW_ROWS(half) *)(b + width - HALF);
    }
    if (width >= HALF) {
        *(HW_ROWS(half) *)out = low;
        *(HW_ROWS(half) *)(out + width - HALF) = high;
        return;
    }
    for (size_t c = 0; c < width; c++) {
        HW_A sum = 0;
        for (uint64_t e = 0; e < count; e++)
            sum += (HW_A)a[e] * B[indices[e] * ldb + c];
        out[c] = sum;
    }
}

static HW_TARGET void HW_ROWS(sparse_multiply)(size_t rows, const uint64_t *offsets, const uint32_t *indices,
                                               const void *values, const void *right, size_t ldb, size_t k, void *result,
                                               size_t ldo)
{
    enum { LANES = HW_ROWS(LANES) };
    for (size_t i = 0; i < rows; i++) {
        const HW_T *a = (const HW_T *)values + offsets[i];
        const uint32_t *at = indices + offsets[i];
        uint64_t count = offsets[i + 1] - offsets[i];
        for (size_t c = 0, width; c < k; c += width) {
            const HW_A *B = (const HW_A *)right + c;
            HW_A *out = (HW_A *)result + i * ldo + c;
            width = k - c < 4 * LANES ? k - c : 4 * LANES;
            if (width > 3 * LANES)
                HW_ROWS(sparse_tile)(4, width - LANES, count, a, at, B, ldb, out);
            else if (width > 2 * LANES)
                HW_ROWS(sparse_tile)(3, width - LANES, count, a, at, B, ldb, out);
            else if (width > LANES)
                HW_ROWS(sparse_tile)(2, width - LANES, count, a, at, B, ldb, out);
            else if (width == LANES)
                HW_ROWS(sparse_tile)(1, 0, count, a, at, B, ldb, out);
            else
                HW_ROWS(sparse_narrow)(width, count, a, at, B, ldb, out);
        }
    }
}

static HW_TARGET void HW_ROWS(sparse_accumulate)(size_t rows, const uint64_t *offsets, const uint32_t *indices,
                                                 const void *values, const void *right, size_t ldr, size_t k, void *result,
                                                 size_t ldg)
{
    const HW_T *a = values;
    for (size_t i = 0; i < rows && k == 1; i++) {
        HW_A step = ((const HW_A *)right)[i * ldr], *out = result;
        for (uint64_t e = offsets[i]; e < offsets[i + 1]; e++)
            out[indices[e] * ldg] += (HW_A)a[e] * step;
    }
    for (size_t i = 0; i < rows && k != 1; i++)
        for (uint64_t e = offsets[i]; e < offsets[i + 1]; e++)
            HW_ROWS(add)(k, (HW_A)a[e], (const HW_A *)right + i * ldr, (HW_A *)result + indices[e] * ldg);
}

/* Computes row_square - 2 out + squares for the k products of a row. */
static HW_TARGET void HW_ROWS(finish)(size_t k, const void *row_square, const void *of_centres, void *products)
{
    const HW_A *squares = of_centres;
    HW_A *out = products, own = row_square != NULL ? *(const HW_A *)row_square : 0;
    for (size_t c = 0; c < k; c++)
        out[c] = (own - (HW_A)2 * out[c]) + squares[c];
    for (size_t c = 0; row_square != NULL && c < k; c++)
        out[c] = out[c] > 0 ? out[c] : 0;
}

/* Finds the least and the second least of squares[c] - 2 products[c * ld + r] over the k centres c, for each of n rows. */
static HW_TARGET void HW_ROWS(nearest)(size_t k, size_t n, const void *of_centres, const void *of_products, size_t ld,
                                       void *leasts, void *nexts, void *places)
{
    const HW_A *squares = of_centres;
    HW_A *restrict least = leasts, *restrict next = nexts, *restrict place = places;
    for (size_t r = 0; r < n; r++) {
        least[r] = next[r] = (HW_A)INFINITY;
        place[r] = 0;
    }
    for (size_t c = 0; c < k; c += 2) { /* two at a time: half as many loads and stores of the results */
        const HW_A *restrict first = (const HW_A *)of_products + c * ld, *restrict second = first + (c + 1 < k) * ld;
        HW_A square = squares[c], other = c + 1 < k ? squares[c + 1] : (HW_A)INFINITY;
        HW_A number = (HW_A)c, behind = (HW_A)(c + 1);
        for (size_t r = 0; r < n; r++) {
            HW_A a = square - (HW_A)2 * first[r], b = other - (HW_A)2 * second[r], before = least[r];
            HW_A low = b < a ? b : a, high = b < a ? a : b, at = b < a ? behind : number;
            HW_A greater = low < before ? before : low, rest = high < next[r] ? high : next[r];
            next[r] = greater < rest ? greater : rest;
            place[r] = low < before ? at : place[r];
            least[r] = low < before ? low : before;
        }
    }
}

/* Returns the product of a row of d numbers with x, or its squared distance from x. Entry j is in lane j mod 16. Lanes
 * without terms stay +0, which changes no sum that began with it. The last numbers are put into their lanes one by one: sums
 * in memory would have to be stored before registers could be loaded from there. */
static inline HW_INLINE HW_A HW_ROWS(over_row)(const bool distance, size_t d, const HW_T *a, const HW_A *x)
{
    enum { LANES = HW_ROWS(LANES), PARTS = 16 / LANES };
    HW_ROWS(vector) sum[PARTS];
    memset(sum, 0, sizeof sum);
    for (size_t j = 0; j < d; j += 16) {
        HW_UNROLL
        for (size_t p = 0; p < PARTS; p++) {
            size_t at = j + p * LANES;
            HW_ROWS(vector) own = {0}, other = {0};
            if (at + LANES <= d) {
                own = __builtin_convertvector(*(const HW_ROWS(stored) *)(a + at), HW_ROWS(vector));
                other = *(const HW_ROWS(unaligned) *)(x + at);
            } else {
                HW_UNROLL
                for (size_t l = 0; l + 1 < LANES; l++)
                    if (at + l < d) {
                        own[l] = (HW_A)a[at + l];
                        other[l] = x[at + l];
                    }
            }
            sum[p] += distance ? (own - other) * (own - other) : own * other;
        }
    }
    HW_A lane[16];
    HW_UNROLL
    for (size_t p = 0; p < PARTS; p++)
        *(HW_ROWS(unaligned) *)(lane + p * LANES) = sum[p];
    for (size_t l = 0; l < 8; l++)
        lane[l] += lane[l + 8];
    return HW_SUM(lane);
}

static HW_TARGET void HW_ROWS(dot)(size_t n, const void *values, const void *x, void *out)
{
    *(HW_A *)out = HW_ROWS(over_row)(false, n, values, x);
}

/* Computes the squared distance of each of n rows, `stride` numbers apart, to the one of the centres (d numbers each) that
 * `labels` has for it. */
static HW_TARGET void HW_ROWS(distances)(size_t n, size_t d, const void *values, size_t stride, const void *centres,
                                         const uint32_t *labels, void *result)
{
    HW_A *out = result;
    for (size_t r = 0; r < n; r++)
        out[r] = HW_ROWS(over_row)(true, d, (const HW_T *)values + r * stride, (const HW_A *)centres + labels[r] * d);
}
