/* mean.c - the mean of all replicas at the end of a vector of values, added up by node 0 in the order of replicas. */
#include <string.h>

#include "base/memory.h"
#include "runtime/vector/vector.h"
#include "vector/mix.h"

/* Rows of a sparse vector that are in one piece, and the bytes of their flags, after which the rows begin. */
static size_t rows_of_piece(const hawser_vector *vector)
{
    size_t rows = HW_VECTOR_PIECE / (vector->shape.row + 1);
    rows = rows > 0 ? rows : 1;
    return rows < vector->shape.rows ? rows : (size_t)vector->shape.rows;
}

static size_t flag_bytes(size_t rows)
{
    return (rows + 7) / 8 * 8;
}

hawser_status hw_vector_mean_new(const hawser_vector *vector, hw_vector_mean *mean, hawser_error *error)
{
    size_t rows = rows_of_piece(vector);
    *mean = (hw_vector_mean){0};
    if (vector->deltas || vector->job->cluster == NULL)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&mean->out, vector->nodes, "the mean of all replicas", error));
    HAWSER_TRY(HW_NEW(&mean->in, vector->nodes, "the mean of all replicas", error));
    if (vector->sparse)
        HAWSER_TRY(HW_NEW(&mean->piece, flag_bytes(rows) + rows * vector->shape.row, "the mean of all replicas", error));
    return HAWSER_OK;
}

void hw_vector_mean_free(const hawser_vector *vector, hw_vector_mean *mean)
{
    hw_bytes_free(mean->in, mean->in != NULL ? vector->nodes : 0);
    free(mean->out);
    free(mean->piece);
}

/* Stores the mean of each row over the nodes that hold it in the piece of node 0, and flags these rows. */
static void mean_of_rows(const hawser_vector *vector, const void *const *pieces, char *piece, size_t rows)
{
    const void *terms[HW_VECTOR_REPLICAS];
    for (size_t r = 0; r < rows; r++) {
        size_t count = 0, at = flag_bytes(rows) + r * vector->shape.row;
        for (uint32_t node = 0; node < vector->nodes; node++)
            if (((const char *)pieces[node])[r] != 0)
                terms[count++] = (const char *)pieces[node] + at;
        hw_terms_mean(vector->type, piece + at, terms, count, count, vector->shape.width);
        piece[r] = count > 0;
    }
}

static void drop(const hawser_vector *vector, hw_bytes *in)
{
    for (uint32_t node = 0; node < vector->nodes; node++) {
        free(in[node].data);
        in[node] = (hw_bytes){0};
    }
}

/* Replaces a piece by its mean on node 0, and gives it to all. rows: of a sparse vector. */
static hawser_status mean_of_piece(hawser_vector *vector, hw_vector_mean *mean, char *piece, size_t length, size_t rows,
                                   hawser_error *error)
{
    hw_cluster *cluster = vector->job->cluster;
    const void *pieces[HW_VECTOR_REPLICAS];
    bool leads = vector->self == 0, whole = true;
    for (uint32_t node = 0; node < vector->nodes; node++)
        mean->out[node] = leads || node > 0 ? (hw_bytes){0} : (hw_bytes){piece, length};
    HAWSER_TRY(hw_cluster_alltoall(cluster, mean->out, mean->in, error));
    for (uint32_t node = 0; node < vector->nodes; node++) {
        pieces[node] = node == 0 ? piece : mean->in[node].data;
        whole = whole && (node == 0 || !leads || mean->in[node].length == length);
    }
    if (leads && whole && vector->sparse)
        mean_of_rows(vector, pieces, piece, rows);
    else if (leads && whole)
        hw_terms_mean(vector->type, piece, pieces, vector->nodes, vector->nodes, length / (vector->bytes / vector->count));
    drop(vector, mean->in);
    for (uint32_t node = 0; node < vector->nodes; node++)
        mean->out[node] = leads && node > 0 && whole ? (hw_bytes){piece, length} : (hw_bytes){0};
    HAWSER_TRY(hw_cluster_alltoall(cluster, mean->out, mean->in, error));
    whole = whole && (leads || mean->in[0].length == length);
    if (!leads && whole)
        memcpy(piece, mean->in[0].data, length);
    drop(vector, mean->in);
    if (!whole)
        return hawser_fail(error, HAWSER_INTERNAL, "vector '%s': the pieces of its mean have different lengths",
                           vector->name);
    return HAWSER_OK;
}

static hawser_status mean_of_sparse(hawser_vector *vector, hw_vector_mean *mean, char *array, hawser_error *error)
{
    size_t most = rows_of_piece(vector), all = (size_t)vector->shape.rows, row = vector->shape.row;
    for (size_t begin = 0; begin < all; begin += most) {
        size_t rows = all - begin < most ? all - begin : most, flags = flag_bytes(rows);
        memset(mean->piece, 0, flags);
        memcpy(mean->piece, vector->holds + begin, rows);
        memcpy(mean->piece + flags, array + begin * row, rows * row);
        HAWSER_TRY(mean_of_piece(vector, mean, mean->piece, flags + rows * row, rows, error));
        for (size_t r = 0; r < rows; r++)
            if (mean->piece[r] != 0)
                memcpy(array + (begin + r) * row, mean->piece + flags + r * row, row);
    }
    return HAWSER_OK;
}

hawser_status hw_vector_mean_all(hawser_vector *vector, hw_vector_mean *mean, void *array, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    if (vector->job->cluster == NULL)
        return HAWSER_OK;
    hw_job_cancellable(vector->job, NULL);
    if (vector->sparse)
        status = mean_of_sparse(vector, mean, array, error);
    for (size_t begin = 0; !vector->sparse && status == HAWSER_OK && begin < vector->bytes; begin += HW_VECTOR_PIECE) {
        size_t length = vector->bytes - begin < HW_VECTOR_PIECE ? vector->bytes - begin : HW_VECTOR_PIECE;
        status = mean_of_piece(vector, mean, (char *)array + begin, length, 0, error);
    }
    return hw_job_uncancellable(vector->job, status);
}
