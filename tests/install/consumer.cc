// consumer.cc - a program in C++20: states, units and an app with designated initialisers.
#include <hawser/app.h>
#include <hawser/cocoa.h>
#include <hawser/kept_points.h>
#include <hawser/row_kernels.h>
#include <hawser/store.h>
#include <hawser/vector.h>

#include <cstdint>
#include <cstdio>

namespace
{

hawser_status step(hawser_context *context)
{
    std::int64_t *n;
    HAWSER_TRY(hawser_write_as(context, "n", HAWSER_I64, &n));
    n[0] += hawser_block(context) + 1;
    return HAWSER_OK;
}

hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *)
{
    const hawser_state_spec n = {.name = "n", .kind = HAWSER_REPLICATED, .type = HAWSER_I64, .rows = 1};
    hawser_state *state = hawser_state_add(program, &n);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", {.clocks = 5}, hawser_job_sync(call->job));
    const hawser_unit_spec unit = {.name = "step", .run = step, .updates = {state}};
    hawser_unit_add(loop, &unit);
    return HAWSER_OK;
}

// A vector of one process, between runs.
hawser_status mix(hawser_job *job, hawser_error *error)
{
    double w[] = {1, 2};
    hawser_vector *vector = nullptr;
    const hawser_vector_options options = {.name = "w", .count = 2, .dataflow = "halton", .sync = "ssp:1"};
    const hawser_scatter scatter = {.iteration = 0, .values = w};
    HAWSER_TRY(hawser_vector_open(job, &options, &vector, error));
    hawser_status status = hawser_vector_scatter(vector, &scatter, error);
    if (status == HAWSER_OK)
        status = hawser_vector_gather(vector, 0, HAWSER_GATHER_AVERAGE, nullptr, w, error);
    if (status == HAWSER_OK)
        status = hawser_vector_finish(vector, w, error);
    hawser_vector_close(vector);
    return status != HAWSER_OK || (w[0] == 1 && w[1] == 2) ? status
                                                           : hawser_fail(error, HAWSER_INTERNAL, "%g %g", w[0], w[1]);
}

hawser_status done(const hawser_app_call *call, const hawser_run *run, hawser_error *error)
{
    const std::int64_t *n;
    HAWSER_TRY(mix(call->job, error));
    HAWSER_TRY(hawser_result_as(run, "n", HAWSER_I64, &n, nullptr, error));
    std::printf("%lld\n", static_cast<long long>(n[0]));
    return HAWSER_OK;
}

} // namespace

int main(int argc, char **argv)
{
    const hawser_app app = {.name = "consumer", .build = build, .done = done};
    return hawser_app_main(&app, argc, argv);
}
