/* Observers and tests of loops and branches run on the thread that called hawser_run_program and on its own stack, also
 * where a block shares this thread: a host language may check its stack, and have a lock of this thread. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nodes.h"

/* What the functions have seen. */
typedef struct sightings {
    pthread_t caller;
    uint32_t node;
    unsigned observed, tested, chosen, elsewhere;
} sightings;

static bool is_own_stack(const void *address)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    assert_int_equal(pthread_attr_getstack(&attributes, &low, &size), 0);
    pthread_attr_destroy(&attributes);
    return (uintptr_t)address >= (uintptr_t)low && (uintptr_t)address < (uintptr_t)low + size;
}

static void look(sightings *seen)
{
    seen->elsewhere += !pthread_equal(pthread_self(), seen->caller) || !is_own_stack(__builtin_frame_address(0));
}

static void observe(const hawser_progress *progress, void *user)
{
    sightings *seen = user;
    (void)progress;
    seen->observed++;
    look(seen);
}

static bool never(hawser_progress *progress, void *user)
{
    sightings *seen = user;
    (void)progress;
    seen->tested++;
    look(seen);
    return false;
}

static bool choose(hawser_progress *progress, void *user)
{
    sightings *seen = user;
    (void)progress;
    seen->chosen++;
    look(seen);
    return true;
}

static hawser_status step(hawser_context *context)
{
    HAWSER_WRITE(context, double, v);
    v[0] += 1;
    return hawser_yield(context); /* a block that shares the driver's thread lets it continue here */
}

static hawser_status run(hawser_job *job, sightings *seen, hawser_error *error)
{
    hawser_program *program = hawser_program_new("observed", NULL);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 2);
    hawser_operator *branch = hawser_branch(hawser_root(program), "which", choose, seen);
    const hawser_until until = {.clocks = 20, .test = never, .user = seen};
    hawser_operator *loop = hawser_loop(branch, "loop", until, hawser_job_sync(job));
    HAWSER_UNIT(loop, "step", step, .updates = {v});
    hawser_run *made = NULL;
    seen->caller = pthread_self();
    seen->node = hawser_job_node(job);
    hawser_observe(job, observe, seen);
    hawser_status status = hawser_run_program(job, program, &made, error);
    hawser_run_free(made);
    hawser_program_free(program);
    return status;
}

static void check(const sightings *seen)
{
    assert_int_equal(seen->elsewhere, 0);
    assert_int_equal(seen->chosen, seen->node == 0 ? 1 : 0);
    assert_true(seen->node == 0 ? seen->tested == 20 && seen->observed >= 20 : seen->tested + seen->observed == 0);
}

static void they_run_on_the_callers_stack(void **unused)
{
    static const char *const shapes[][2] = {{"1", "1"}, {"2", "1"}, {"3", "2"}};
    (void)unused;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        test_job test = OPEN_JOB("workers", shapes[i][0], "threads", shapes[i][1]);
        hawser_error error = {0};
        sightings seen = {0};
        assert_int_equal(run(test.job, &seen, &error), HAWSER_OK);
        check(&seen);
        close_job(test);
    }
}

static void run_on_node(test_node *node)
{
    node->status = run(node->job, (sightings *)node->user + node->node, &node->error);
}

static void they_run_on_the_callers_stack_of_node_0(void **unused)
{
    static const char *const syncs[] = {"bsp", "ssp:2", "tap"};
    (void)unused;
    for (size_t i = 0; i < sizeof syncs / sizeof *syncs; i++) {
        test_node nodes[2];
        sightings seen[2] = {0};
        run_nodes(nodes, 2, (const char *const[]){"workers", "2", "sync", syncs[i], NULL}, run_on_node, seen);
        for (size_t n = 0; n < 2; n++) {
            if (nodes[n].status != HAWSER_OK)
                fail_msg("%s", nodes[n].error.text);
            check(&seen[n]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_run_on_the_callers_stack),
        cmocka_unit_test(they_run_on_the_callers_stack_of_node_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
