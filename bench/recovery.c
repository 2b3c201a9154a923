/*
 * recovery.c - a program for bench/recovery/run: a loop under bsp over large local states. Each node prints when it began.
 * Node 0 prints when the data were loaded, when its first unit ran and when a clock had ended. With --quiet they do not.
 *
 *     bench_recovery MIB CLOCKS PASSES FILE... [--checkpoint FOLDER ...]
 */
#include <hawser/app.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { SHARED = 4096 };

typedef struct settings {
    size_t mib, clocks, passes;
    double began;
    bool leads; /* node 0, which prints */
} settings;

static atomic_bool unit_ran, clock_ended;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void say_once(atomic_bool *said, const settings *it, const char *what)
{
    if (it->leads && !atomic_exchange(said, true))
        fprintf(stderr, "recovery: %s %.6f\n", what, now());
}

static hawser_status step(hawser_context *context)
{
    const settings *it = hawser_user(context);
    say_once(&unit_ran, it, "unit");
    HAWSER_WRITE(context, double, own);
    HAWSER_WRITE(context, double, shared);
    const size_t count = hawser_part(context, "own", NULL);
    double sum = 0;
    for (size_t pass = 0; pass < it->passes && !hawser_stopping(context); pass++)
        for (size_t i = 0; i < count; i++)
            sum += own[i] = 0.75 * own[i] + shared[i % SHARED] + 1;
    shared[hawser_clock(context) % SHARED] += sum / (double)count / hawser_blocks(context);
    return hawser_report(context, "sum", sum);
}

/* A test, so that blocks get credit for one clock at a time. */
static bool ended(hawser_progress *progress, void *user)
{
    const settings *it = user;
    say_once(&clock_ended, it, "clock");
    return hawser_progress_clock(progress) + 1 >= it->clocks;
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    settings *it = call->user;
    HAWSER_TRY(hawser_app_number(call, 0, "MIB", 1, 1 << 20, &it->mib, error));
    HAWSER_TRY(hawser_app_number(call, 1, "CLOCKS", 1, SIZE_MAX / 2, &it->clocks, error));
    HAWSER_TRY(hawser_app_number(call, 2, "PASSES", 1, 1 << 20, &it->passes, error));
    it->leads = hawser_job_leads(call->job) && !hawser_options_flag(call->options, "quiet");
    if (!hawser_options_flag(call->options, "quiet"))
        fprintf(stderr, "recovery: began %u %d %.6f\n", hawser_job_node(call->job), (int)getpid(), it->began);
    if (it->leads)
        fprintf(stderr, "recovery: loaded %.6f\n", now());
    const size_t numbers = (it->mib << 20) / sizeof(double) / hawser_job_workers(call->job);
    hawser_state *data = HAWSER_STATE(program, "data", HAWSER_DATA, .data = call->data);
    hawser_state *own = HAWSER_STATE(program, "own", HAWSER_LOCAL, .each = true, .rows = numbers);
    hawser_state *shared = HAWSER_STATE(program, "shared", HAWSER_REPLICATED, .rows = SHARED);
    hawser_metric_declare(program, "sum", HAWSER_SUM);
    hawser_operator *loop =
        HAWSER_LOOP(hawser_root(program), "steps", hawser_job_sync(call->job), .test = ended, .user = it);
    HAWSER_UNIT(loop, "step", step, .reads = {data}, .updates = {own, shared});
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    settings it = {.began = now()};
    return HAWSER_APP(argc, argv, "bench_recovery", "MIB CLOCKS PASSES FILE...",
                      .about = "Runs a loop over blocks with large states, for bench/recovery/run.", .words = 3,
                      .files = true, .user = &it, .build = build);
}
