/*
 * kmeans.c - k-means in its two natural units. docs/tutorial.md writes this program from nothing and explains each part.
 *
 * `./kmeans K FILE` reads any input of Hawser without a target, and prints the centres and the inertia.
 */
#include <hawser/app.h>
#include <hawser/row_kernels.h>

static hawser_status begin(hawser_context *context)
{
    const size_t k = *(size_t *)hawser_user(context);
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_WRITE(context, double, centres);
    for (size_t i = 0; i < rows->rows && rows->first + i < k; i++)
        hawser_row_axpy(rows, i, 1, centres + (rows->first + i) * rows->cols);
    return HAWSER_OK;
}

static hawser_status assign(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_READ(context, double, centres);
    HAWSER_WRITE(context, double, sums); /* a row for each centre, with the count of its rows behind their sum */
    const size_t k = *(size_t *)hawser_user(context), d = rows->cols;
    double inertia = 0;
    for (size_t e = 0; e < k * (d + 1); e++)
        sums[e] = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        size_t nearest = 0;
        double least = hawser_row_distance(rows, i, centres), distance;
        for (size_t c = 1; c < k; c++)
            if ((distance = hawser_row_distance(rows, i, centres + c * d)) < least)
                least = distance, nearest = c;
        hawser_row_axpy(rows, i, 1, sums + nearest * (d + 1));
        sums[nearest * (d + 1) + d]++;
        inertia += least;
    }
    return hawser_report(context, "inertia", inertia);
}

static hawser_status move(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_READ(context, double, sums); /* those of block 0, then those of block 1 ... */
    HAWSER_WRITE(context, double, centres);
    const size_t k = *(size_t *)hawser_user(context), d = rows->cols;
    for (size_t e = 0; e < k * d; e++) {
        double sum = 0, count = 0;
        for (uint32_t b = 0; b < hawser_blocks(context); b++) {
            const double *row = sums + (b * k + e / d) * (d + 1);
            sum += row[e % d], count += row[d];
        }
        if (count > 0) /* a centre without rows stays */
            centres[e] = sum / count;
    }
    return HAWSER_OK;
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    const hawser_matrix *A = hawser_dataset_matrix(call->data);
    size_t *k = call->user, d = A->cols;
    HAWSER_TRY(hawser_app_number(call, 0, "K", 1, A->rows, k, error));
    hawser_state *rows = HAWSER_STATE(program, "rows", HAWSER_DATA, .matrix = A, .split = HAWSER_BY_ROW);
    hawser_state *centres = HAWSER_STATE(program, "centres", HAWSER_REPLICATED, .rows = *k, .cols = d);
    hawser_state *sums = HAWSER_STATE(program, "sums", HAWSER_PARTITIONED, .each = true, .rows = *k, .cols = d + 1);
    hawser_metric_declare(program, "inertia", HAWSER_SUM);
    hawser_operator *root = hawser_root(program);
    HAWSER_UNIT(root, "begin", begin, .reads = {rows}, .updates = {centres});
    /* The loop ends when the inertia has not fallen for 10 iterations. */
    hawser_operator *loop =
        HAWSER_LOOP(root, "lloyd", hawser_job_sync(call->job), .clocks = 300, .metric = "inertia", .patience = 10);
    HAWSER_UNIT(loop, "assign", assign, .reads = {rows, centres}, .updates = {sums});
    HAWSER_UNIT(loop, "move", move, .one = true, .reads = {rows, sums}, .updates = {centres});
    HAWSER_UNIT(root, "measure", assign, .reads = {rows, centres}, .updates = {sums});
    return HAWSER_OK;
}

static hawser_status print(const hawser_app_call *call, const hawser_run *run, hawser_error *error)
{
    size_t count, d = hawser_dataset_matrix(call->data)->cols;
    const double *centres;
    HAWSER_TRY(hawser_result(run, "centres", &centres, &count, error));
    for (size_t e = 0; e < count; e++)
        printf("%.4f%c", centres[e], (e + 1) % d > 0 ? ',' : '\n');
    printf("inertia %.6f\n", hawser_result_metric(run, "inertia"));
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    size_t k;
    return HAWSER_APP(argc, argv, "kmeans", "K FILE...", .words = 1, .files = true, .split = HAWSER_BY_ROW, .target = "none",
                      .user = &k, .build = build, .done = print);
}
