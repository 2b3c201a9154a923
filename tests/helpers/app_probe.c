/* app_probe.c - an app that counts clocks, slowly: `app_probe CLOCKS`. */
#include <hawser/app.h>

#include <time.h>

static hawser_status count(hawser_context *context)
{
    HAWSER_WRITE(context, int64_t, n);
    if (hawser_block(context) == 0)
        n[0]++;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return hawser_report(context, "block \"0\", counted", (double)n[0]);
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    size_t clocks;
    HAWSER_TRY(hawser_app_number(call, 0, "CLOCKS", 1, SIZE_MAX, &clocks, error));
    hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .type = HAWSER_I64, .rows = 1);
    hawser_metric_declare(program, "block \"0\", counted", HAWSER_MAX);
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "count", hawser_job_sync(call->job), .clocks = clocks,
                                        .metric = "block \"0\", counted", .below = -1);
    HAWSER_UNIT(loop, "count", count, .updates = {n});
    return HAWSER_OK;
}

static hawser_status print(const hawser_app_call *call, const hawser_run *run, hawser_error *error)
{
    (void)call;
    const int64_t *n;
    HAWSER_TRY(hawser_result(run, "n", &n, NULL, error));
    printf("counted %lld\n", (long long)n[0]);
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    return HAWSER_APP(argc, argv, "app_probe", "CLOCKS", .words = 1, .build = build, .done = print);
}
