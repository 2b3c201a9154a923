#include "sim/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <threads.h>
#include <unistd.h>

#include "base/clock.h"
#include "report/exit_code.h"
#include "sim/image.h"
#include "sim/report.h"
#include "sim/wrap.h"

/* What a node's main gets. */
typedef struct sim_arguments {
    int count;
    char **words;
} sim_arguments;

int __real_main(int argc, char **argv, char **environment);
int __wrap_main(int argc, char **argv, char **environment);

static const char mark[] = SIM_PROGRAM_MARK;

static int run_node(void *user, uint32_t node)
{
    const sim_arguments *given = user;
    char **words = calloc((size_t)given->count + 1, sizeof *words); /* the program changes its own */
    (void)node;
    if (words == NULL)
        return HW_EXIT_MEMORY;
    for (int i = 0; i < given->count; i++)
        words[i] = given->words[i];
    int code = __real_main(given->count, words, environ);
    free(words);
    return code;
}

static void load_data(const sim_process *process)
{
    sim_image_load(process->number);
}

static hawser_status read_passed(const char *text, sim_passed *passed, hawser_error *error)
{
    unsigned char *bytes = (unsigned char *)passed;
    char pair[3] = "";
    bool right = strlen(text) == 2 * sizeof *passed;
    for (size_t i = 0; right && i < sizeof *passed; i++) {
        memcpy(pair, text + 2 * i, 2);
        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    if (!right || memcmp(passed->mark, mark, sizeof mark) != 0)
        return hawser_fail(error, HAWSER_BAD_OPTION, "the program was linked with another version than that of hawser-sim");
    return HAWSER_OK;
}

static hawser_status run_nodes(const char *text, sim_arguments *given, int *code, hawser_error *error)
{
    sim_passed passed;
    sim_faults faults = {0};
    HAWSER_TRY(read_passed(text, &passed, error));
    sim_cluster *cluster = &passed.cluster;
    HAWSER_TRY(sim_faults_read("--fault", getenv(SIM_PROGRAM_FAULTS), cluster->nodes, 1, &faults, error));
    (void)unsetenv(SIM_PROGRAM_CLUSTER); /* the library refuses variables that it does not know */
    (void)unsetenv(SIM_PROGRAM_FAULTS);
    cluster->faults = &faults;
    cluster->main = run_node;
    cluster->user = given;
    int *codes = calloc(cluster->nodes, sizeof *codes);
    if (codes == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %u nodes", cluster->nodes);
    HAWSER_TRY(sim_image_open(cluster->nodes, error));
    sim_on_turn(load_data);
    double begin = hw_seconds();
    sim_outcome outcome = sim_cluster_run(cluster, codes);
    sim_image_load(0);
    sim_print_end(&outcome);
    *code = sim_job_code(outcome.end == SIM_DONE, codes, cluster->nodes);
    printf("{");
    sim_print_simulated(stdout, cluster, passed.link, NULL, &outcome, hw_seconds() - begin);
    printf("}\n");
    free(codes);
    sim_faults_free(&faults);
    return HAWSER_OK;
}

int __wrap_main(int argc, char **argv, char **environment)
{
    const char *text = getenv(SIM_PROGRAM_CLUSTER);
    hawser_error error = {0};
    int code = HW_EXIT_OK;
    if (text == NULL)
        return __real_main(argc, argv, environment);
    hawser_status status = run_nodes(text, &(sim_arguments){argc, argv}, &code, &error);
    if (status == HAWSER_OK)
        return code;
    fprintf(stderr, "hawser-sim: %s: %s\n", argv[0], error.text);
    return hw_exit_code(status);
}

/* It ends one node. What atexit was given is not called. */
_Noreturn void __real_exit(int code);
_Noreturn void __wrap_exit(int code);

_Noreturn void __wrap_exit(int code)
{
    if (sim_self() == NULL)
        __real_exit(code);
    sim_exit(code);
}

static void refuse(const char *name)
{
    fprintf(stderr, "hawser-sim: node %u calls %s, which a simulated node cannot do\n", sim_own()->number, name);
}

SIM_WRAP(pid_t, fork, void)
{
    if (sim_self() == NULL)
        return __real_fork();
    refuse("fork");
    errno = ENOSYS;
    return -1;
}

SIM_WRAP(int, thrd_create, thrd_t *thread, thrd_start_t body, void *argument)
{
    if (sim_self() == NULL)
        return __real_thrd_create(thread, body, argument);
    refuse("thrd_create; pthread_create makes a simulated thread");
    return thrd_error;
}
