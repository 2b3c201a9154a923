/* A unit that uses NULL ends the process by the signal, and is named first. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "hawser/hawser.h"
#include "job.h"
#include "sanitized.h"

static const double *volatile nothing; /* the targets of a load by row, for example */

USES_NULL static hawser_status uses_null(hawser_context *context)
{
    return hawser_block(context) == 0 ? HAWSER_OK : *(const volatile double *)nothing > 0 ? HAWSER_OK : HAWSER_STOP;
}

static hawser_status does_nothing(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

static void end_by_own_handler(int number)
{
    (void)number;
    _exit(7);
}

static bool is_default(void)
{
    struct sigaction now;
    return sigaction(SIGSEGV, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

static void run_unit(hawser_unit_function *function, const char *threads)
{
    test_job test = OPEN_JOB("workers", "2", "threads", threads);
    hawser_program *program = hawser_program_new("fault", NULL);
    HAWSER_UNIT(hawser_root(program), "culprit", function);
    hawser_run *run = NULL;
    if (hawser_run_program(test.job, program, &run, NULL) != HAWSER_OK)
        _exit(8);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
}

/* Runs the unit in a process of its own, and returns how that ended. */
static int status_of(hawser_unit_function *function, const char *threads, void (*handler)(int), char *text, size_t size)
{
    int ends[2], status = 0;
    size_t used = 0;
    fflush(stdout);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGSEGV, handler);
        dup2(ends[1], STDERR_FILENO);
        run_unit(function, threads);
        if (handler == SIG_DFL && !is_default())
            _exit(9);
        if (handler == SIG_DFL)
            (void)kill(getpid(), SIGSEGV); /* after a run nothing is named */
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got; used + 1 < size && (got = read(ends[0], text + used, size - 1 - used)) > 0;)
        used += (size_t)got;
    text[used] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void the_unit_is_named(void **state)
{
    (void)state;
    char text[4096];
    for (int threads = 1; threads <= 2; threads++) {
        int status = status_of(uses_null, threads == 1 ? "1" : "2", SIG_DFL, text, sizeof text);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
        if (!SANITIZED && strstr(text, "hawser: unit 'culprit', block 1: memory at address 0x0, a use of NULL") == NULL)
            fail_msg("printed: %s", text);
    }
}

static void a_handler_of_the_process_stays(void **state)
{
    (void)state;
    char text[4096];
    int status = status_of(uses_null, "2", end_by_own_handler, text, sizeof text);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_null(strstr(text, "culprit"));
}

static void the_handler_goes_with_the_run(void **state)
{
    (void)state;
    char text[4096];
    int status = status_of(does_nothing, "2", SIG_DFL, text, sizeof text);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_null(strstr(text, "culprit"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_unit_is_named),
        cmocka_unit_test(a_handler_of_the_process_stays),
        cmocka_unit_test(the_handler_goes_with_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
