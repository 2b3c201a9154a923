#include "sim/compute.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "exchange/exchange.h"
#include "hawser/row_kernels.h"
#include "runtime/block/worker.h"
#include "sim/world.h"
#include "sim/wrap.h"

typedef struct sim_compute {
    sim_costs costs;
    double *slow; /* of each host */
    bool (*begun)(uint64_t clock);
    uint64_t clocks; /* that have begun */
} sim_compute;

static sim_compute compute;

/* Of real jobs, whose threads run at once. */
static atomic_bool measures;
static atomic_uint_fast64_t calls, entries_measured, bytes_measured, unit_time, byte_time;
static _Thread_local uint64_t own_entries;

void sim_measure_begin(void)
{
    calls = entries_measured = bytes_measured = unit_time = byte_time = 0;
    measures = true;
}

sim_measures sim_measure_end(void)
{
    measures = false;
    return (sim_measures){calls, entries_measured, bytes_measured, unit_time, byte_time};
}

static bool is_measured(void)
{
    return sim_self() == NULL && measures;
}

static uint64_t nanoseconds_since(double begin)
{
    return (uint64_t)(1e9 * (hw_thread_cpu_seconds() - begin));
}

void sim_compute_open(const sim_costs *costs, uint32_t hosts)
{
    compute = (sim_compute){.costs = *costs, .slow = malloc(hosts * sizeof *compute.slow)};
    if (compute.slow == NULL)
        abort();
    for (uint32_t i = 0; i < hosts; i++)
        compute.slow[i] = 1;
}

void sim_compute_close(void)
{
    free(compute.slow);
    compute = (sim_compute){0};
}

void sim_slow_host(uint32_t host, double times)
{
    compute.slow[host] = times;
}

void sim_on_clock(bool (*begun)(uint64_t clock))
{
    compute.begun = begun;
}

/* Several clocks may begin at once for the world: a block that leads has begun them all. */
static void begin_clock(uint64_t clock)
{
    bool waits = false;
    while (compute.begun != NULL && compute.clocks <= clock)
        waits = compute.begun(compute.clocks++) || waits;
    if (waits)
        (void)sim_wait(NULL, sim_now());
}

static void spend(double seconds)
{
    if (sim_self() != NULL)
        sim_spend(seconds * compute.slow[sim_own()->host]);
}

hawser_status __real_hw_context_run(hw_worker *worker, const hw_step *step, const hawser_state *rebuilds);

static hawser_status measure_unit(hw_worker *worker, const hw_step *step, const hawser_state *rebuilds)
{
    uint64_t before = own_entries;
    double begin = hw_thread_cpu_seconds();
    hawser_status status = __real_hw_context_run(worker, step, rebuilds);
    unit_time += nanoseconds_since(begin);
    entries_measured += own_entries - before;
    calls++;
    return status;
}

SIM_WRAP(hawser_status, hw_context_run, hw_worker *worker, const hw_step *step, const hawser_state *rebuilds)
{
    if (is_measured())
        return measure_unit(worker, step, rebuilds);
    if (sim_self() != NULL && step != NULL)
        begin_clock(worker->first_clock + worker->clock);
    if (sim_self() != NULL)
        sim_thread_facts(sim_self())->entries = 0;
    hawser_status status = __real_hw_context_run(worker, step, rebuilds);
    if (sim_self() != NULL)
        spend(compute.costs.call + compute.costs.entry * (double)sim_thread_facts(sim_self())->entries);
    return status;
}

SIM_WRAP(hawser_status, hw_replica_cut, hw_replica *replica, uint64_t clock, bool last, bool flush, hw_message **message,
         hawser_error *error)
{
    double begin = is_measured() ? hw_thread_cpu_seconds() : 0;
    hawser_status status = __real_hw_replica_cut(replica, clock, last, flush, message, error);
    if (is_measured() && status == HAWSER_OK && *message != NULL) {
        byte_time += nanoseconds_since(begin);
        bytes_measured += (*message)->envelope.length;
    }
    if (status == HAWSER_OK && *message != NULL)
        spend(compute.costs.byte * (double)(*message)->envelope.length);
    return status;
}

SIM_WRAP(hawser_status, hw_replica_accept, hw_replica *replica, hw_message *message, hawser_error *error)
{
    uint64_t bytes = message->envelope.length;
    double begin = is_measured() ? hw_thread_cpu_seconds() : 0;
    hawser_status status = __real_hw_replica_accept(replica, message, error);
    if (is_measured()) {
        byte_time += nanoseconds_since(begin);
        bytes_measured += bytes;
    }
    spend(compute.costs.byte * (double)bytes);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- kernels ---- */

static void count(uint64_t entries)
{
    if (sim_self() != NULL)
        sim_thread_facts(sim_self())->entries += entries;
    else
        own_entries += entries;
}

SIM_WRAP(void, hawser_simulated_work, hawser_context *context, uint64_t entries)
{
    (void)context; /* the thread is known */
    count(entries);
}

static uint64_t in_column(const hawser_matrix *A, size_t j)
{
    return A->layout == HAWSER_CSC ? A->offsets[j + 1] - A->offsets[j] : A->rows;
}

static uint64_t in_row(const hawser_matrix *A, size_t i)
{
    return A->layout == HAWSER_CSR ? A->offsets[i + 1] - A->offsets[i] : A->cols;
}

static uint64_t in_columns(const hawser_matrix *A, const uint32_t *columns, size_t end)
{
    uint64_t entries = 0;
    for (size_t k = 0; k < end; k++)
        entries += in_column(A, columns[k]);
    return entries;
}

/* A kernel and what it goes over. */
#define COUNTED(result, name, entries, parameters, ...)                                                                     \
    result __real_##name parameters;                                                                                        \
    result __wrap_##name parameters;                                                                                        \
    result __wrap_##name parameters                                                                                         \
    {                                                                                                                       \
        count(entries);                                                                                                     \
        return __real_##name(__VA_ARGS__);                                                                                  \
    }
#define COUNTED_VOID(name, entries, parameters, ...)                                                                        \
    void __real_##name parameters;                                                                                          \
    void __wrap_##name parameters;                                                                                          \
    void __wrap_##name parameters                                                                                           \
    {                                                                                                                       \
        count(entries);                                                                                                     \
        __real_##name(__VA_ARGS__);                                                                                         \
    }

COUNTED(double, hawser_column_dot, in_column(A, j), (const hawser_matrix *A, size_t j, const double *x), A, j, x)
COUNTED_VOID(hawser_column_axpy, in_column(A, j), (const hawser_matrix *A, size_t j, double step, double *x), A, j, step, x)
COUNTED_VOID(hawser_column_moments, in_column(A, j),
             (const hawser_matrix *A, size_t j, const double *weights, double total, double centre, double *sum,
              double *squares),
             A, j, weights, total, centre, sum, squares)
COUNTED_VOID(hawser_scan, A->stored, (const hawser_matrix *A, const double *x, double *out), A, x, out)
COUNTED_VOID(hawser_scan_some, in_columns(A, columns, n),
             (const hawser_matrix *A, const uint32_t *columns, size_t n, const double *x, double *out), A, columns, n, x,
             out)
COUNTED_VOID(hawser_combine, in_columns(A, columns, n),
             (const hawser_matrix *A, const uint32_t *columns, const double *coefficients, size_t n, double *out), A,
             columns, coefficients, n, out)
COUNTED_VOID(hawser_multiply, A->stored, (const hawser_matrix *A, const double *w, double constant, double *out), A, w,
             constant, out)
COUNTED(hawser_status, hawser_gram, in_columns(A, columns, n) * (n - fresh),
        (const hawser_matrix *A, const uint32_t *columns, size_t fresh, size_t n, const double *weights, double *G,
         size_t ld, hawser_error *error),
        A, columns, fresh, n, weights, G, ld, error)
COUNTED(hawser_status, hawser_gram_rows,
        in_columns(A, columns, n) * (n - fresh) * (end - begin) / (A->rows + (A->rows == 0)),
        (const hawser_matrix *A, size_t begin, size_t end, const uint32_t *columns, size_t fresh, size_t n,
         const double *weights, double *part, size_t ld, hawser_error *error),
        A, begin, end, columns, fresh, n, weights, part, ld, error)
COUNTED(double, hawser_dot, n, (size_t n, const double *x, const double *y, const double *weights), n, x, y, weights)
COUNTED(double, hawser_row_dot, in_row(A, i), (const hawser_matrix *A, size_t i, const double *x), A, i, x)
COUNTED(float, hawser_row_dot_f32, in_row(A, i), (const hawser_matrix *A, size_t i, const float *x), A, i, x)
COUNTED_VOID(hawser_row_axpy, in_row(A, i), (const hawser_matrix *A, size_t i, double step, double *x), A, i, step, x)
COUNTED_VOID(hawser_row_axpy_f32, in_row(A, i), (const hawser_matrix *A, size_t i, float step, float *x), A, i, step, x)
COUNTED(double, hawser_row_distance, A->cols, (const hawser_matrix *A, size_t i, const double *c), A, i, c)
COUNTED(float, hawser_row_distance_f32, A->cols, (const hawser_matrix *A, size_t i, const float *c), A, i, c)
COUNTED_VOID(hawser_row_distances, A->rows * A->cols,
             (const hawser_matrix *A, const double *C, const uint32_t *labels, double *out), A, C, labels, out)
COUNTED_VOID(hawser_row_distances_f32, A->rows * A->cols,
             (const hawser_matrix *A, const float *C, const uint32_t *labels, float *out), A, C, labels, out)
COUNTED_VOID(hawser_row_squares, A->stored, (const hawser_matrix *A, double *out), A, out)
COUNTED_VOID(hawser_row_squares_f32, A->stored, (const hawser_matrix *A, float *out), A, out)
COUNTED_VOID(hawser_multiply_block, A->stored *k,
             (const hawser_matrix *A, const double *B, size_t ldb, size_t k, double *out, size_t ldo), A, B, ldb, k, out,
             ldo)
COUNTED_VOID(hawser_multiply_block_f32, A->stored *k,
             (const hawser_matrix *A, const float *B, size_t ldb, size_t k, float *out, size_t ldo), A, B, ldb, k, out, ldo)
COUNTED_VOID(hawser_accumulate_block, A->stored *k,
             (const hawser_matrix *A, const double *R, size_t ldr, size_t k, double *G, size_t ldg), A, R, ldr, k, G, ldg)
COUNTED_VOID(hawser_accumulate_block_f32, A->stored *k,
             (const hawser_matrix *A, const float *R, size_t ldr, size_t k, float *G, size_t ldg), A, R, ldr, k, G, ldg)
COUNTED_VOID(hawser_distances, A->stored *k,
             (const hawser_matrix *A, const double *row_squares, const double *C, size_t ldc, const double *squares,
              size_t k, double *out, size_t ldo),
             A, row_squares, C, ldc, squares, k, out, ldo)
COUNTED_VOID(hawser_distances_f32, A->stored *k,
             (const hawser_matrix *A, const float *row_squares, const float *C, size_t ldc, const float *squares, size_t k,
              float *out, size_t ldo),
             A, row_squares, C, ldc, squares, k, out, ldo)
