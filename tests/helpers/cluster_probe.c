/* cluster_probe.c - jobs on a cluster, one after another: cluster_probe WORD... Each node joins once, and does for job K,
 * from 1, what word K says:
 *   train:ALGORITHM:FILE:KEY=VALUE,...  trains, and writes the model to the file model.K.NODE
 *   fork:ALGORITHM:FILE:KEY=VALUE,...   does so in a forked child, as a job of its own, after it was refused the cluster
 *   wait    opens no job: appends "node pid" to the file pids, and waits until the file `go` exists
 *   run     appends "node pid" to the file pids, and runs clocks until a node is lost
 * A job that fails prints a line, and the next one is tried. In the end a line reports that the cluster is closed. Exit code
 * 8: a job has failed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hawser/advanced.h"
#include "hawser/algorithm.h"

typedef struct probe {
    hawser_cluster *cluster; /* NULL: this process is a child, and alone */
    uint32_t node;
    int number; /* of the word */
} probe;

/* Makes options of the job and, with an algorithm, of its data and training, from "KEY=VALUE,...". */
static hawser_status make_options(const hawser_algorithm *algorithm, char *pairs, hawser_options **options,
                                  hawser_error *error)
{
    const hawser_option *const tables[] = {hawser_job_rows(), algorithm != NULL ? hawser_data_rows() : NULL,
                                           algorithm != NULL ? algorithm->rows : NULL, NULL};
    hawser_status status = hawser_options_new(tables, options, error);
    char *rest = NULL;
    for (char *pair = strtok_r(pairs, ",", &rest); status == HAWSER_OK && pair != NULL; pair = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(pair, '=');
        if (value == NULL)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "'%s' is no KEY=VALUE", pair);
        *value++ = '\0';
        status = hawser_options_set(*options, pair, value, HAWSER_FROM_PROGRAM, "cluster_probe", error);
    }
    return status;
}

static hawser_status load(const hawser_algorithm *algorithm, hawser_job *job, const hawser_options *options,
                          const char *path, hawser_dataset **data, hawser_error *error)
{
    hawser_load how;
    hawser_status status = hawser_load_from_options(options, &how, error);
    how.outputs = hawser_algorithm_head(algorithm, "prediction")->width != NULL;
    how.split = algorithm->split;
    if (algorithm->no_target)
        how.target = "none";
    return status == HAWSER_OK ? hawser_job_load(job, &path, 1, &how, data, error) : status;
}

static hawser_status train_on(const probe *p, const hawser_algorithm *algorithm, hawser_job *job,
                              const hawser_options *options, const char *path, hawser_error *error)
{
    hawser_dataset *data = NULL;
    hawser_training training = {0};
    char model[40];
    hawser_status status = load(algorithm, job, options, path, &data, error);
    const hawser_training_input input = {.options = options, .data = data};
    if (status == HAWSER_OK)
        status = hawser_train(algorithm, job, &input, &training, error);
    (void)snprintf(model, sizeof model, "model.%d.%u", p->number, p->node);
    if (status == HAWSER_OK)
        status = hawser_model_save(training.model, model, error);
    hawser_model_free(training.model);
    hawser_run_free(training.run);
    hawser_dataset_free(data);
    return status;
}

/* "ALGORITHM:FILE:KEY=VALUE,..." */
static hawser_status train(const probe *p, char *text, hawser_error *error)
{
    char *rest = NULL;
    const char *name = strtok_r(text, ":", &rest), *path = strtok_r(NULL, ":", &rest);
    const hawser_algorithm *algorithm = name != NULL ? hawser_algorithm_find(name) : NULL;
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    if (algorithm == NULL || path == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "'%s' names no algorithm and file", text);
    hawser_status status = make_options(algorithm, rest, &options, error);
    if (status == HAWSER_OK)
        status = hawser_open_with(options, &(hawser_opening){.cluster = p->cluster}, &job, error);
    if (status == HAWSER_OK && p->cluster == NULL && hawser_job_nodes(job) != 1)
        status = hawser_fail(error, HAWSER_INTERNAL, "a child is one of %u nodes", hawser_job_nodes(job));
    if (status == HAWSER_OK)
        status = train_on(p, algorithm, job, options, path, error);
    hawser_close(job);
    hawser_options_free(options);
    return status;
}

static hawser_status train_in_child(const probe *p, char *text, hawser_error *error)
{
    const probe own = {NULL, p->node, p->number};
    char none[] = "";
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    HAWSER_TRY(make_options(NULL, none, &options, error));
    hawser_status status = hawser_open_with(options, &(hawser_opening){.cluster = p->cluster}, &job, error);
    hawser_options_free(options);
    if (status != HAWSER_BAD_ARGUMENT || strstr(error->text, "the cluster was made in process") == NULL)
        return hawser_fail(error, HAWSER_INTERNAL, "a child has the cluster of its parent");
    hawser_cluster_close(p->cluster);
    return train(&own, text, error);
}

static hawser_status fork_and_train(const probe *p, char *text, hawser_error *error)
{
    int result = 0;
    pid_t child = fork();
    if (child == 0) {
        hawser_status status = train_in_child(p, text, error);
        if (status != HAWSER_OK)
            (void)fprintf(stderr, "probe: child: %s\n", error->text);
        _exit(status != HAWSER_OK);
    }
    bool fine = child > 0 && waitpid(child, &result, 0) == child && result == 0;
    return fine ? HAWSER_OK : hawser_fail(error, HAWSER_INTERNAL, "the child has failed");
}

static hawser_status write_pid(const probe *p, hawser_error *error)
{
    FILE *file = fopen("pids", "a");
    if (file == NULL)
        return hawser_fail(error, HAWSER_IO, "pids: cannot be written");
    (void)fprintf(file, "%u %ld\n", p->node, (long)getpid());
    return fclose(file) == 0 ? HAWSER_OK : hawser_fail(error, HAWSER_IO, "pids: cannot be written");
}

static hawser_status await_go(const probe *p, hawser_error *error)
{
    hawser_status status = write_pid(p, error);
    while (status == HAWSER_OK && access("go", F_OK) != 0)
        (void)usleep(10000);
    return status;
}

static hawser_status count_slowly(hawser_context *context)
{
    HAWSER_WRITE(context, double, v);
    v[0] += 1;
    (void)usleep(1000);
    return HAWSER_OK;
}

static hawser_status run_on(const probe *p, hawser_error *error)
{
    char pairs[] = "workers=3,timeout=60";
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    hawser_program *program = hawser_program_new("clocks", NULL);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 1);
    hawser_operator *loop =
        hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = UINT64_C(1) << 40}, hawser_bsp());
    (void)HAWSER_UNIT(loop, "count", count_slowly, .updates = {v});
    hawser_status status = make_options(NULL, pairs, &options, error);
    if (status == HAWSER_OK)
        status = hawser_open_with(options, &(hawser_opening){.cluster = p->cluster}, &job, error);
    if (status == HAWSER_OK)
        status = write_pid(p, error);
    if (status == HAWSER_OK)
        status = hawser_run_program(job, program, &run, error);
    hawser_run_free(run);
    hawser_close(job);
    hawser_program_free(program);
    hawser_options_free(options);
    return status;
}

static hawser_status do_word(const probe *p, char *word, hawser_error *error)
{
    static const char training[] = "train:", forking[] = "fork:";
    if (strncmp(word, training, sizeof training - 1) == 0)
        return train(p, word + sizeof training - 1, error);
    if (strncmp(word, forking, sizeof forking - 1) == 0)
        return fork_and_train(p, word + sizeof forking - 1, error);
    if (strcmp(word, "wait") == 0)
        return await_go(p, error);
    return strcmp(word, "run") == 0 ? run_on(p, error) : hawser_fail(error, HAWSER_BAD_ARGUMENT, "no word '%s'", word);
}

int main(int argc, char **argv)
{
    probe p = {NULL, 0, 1};
    hawser_options *options = NULL;
    hawser_error error = {0};
    char none[] = "";
    hawser_status status = make_options(NULL, none, &options, &error);
    if (status == HAWSER_OK)
        status = hawser_cluster_open(options, NULL, &p.cluster, &error);
    hawser_options_free(options);
    if (status != HAWSER_OK) {
        (void)fprintf(stderr, "probe: %s\n", error.text);
        return 3;
    }
    p.node = hawser_cluster_view(p.cluster)->node;
    bool failed = false;
    for (; p.number < argc; p.number++)
        if (do_word(&p, argv[p.number], &error) != HAWSER_OK) {
            (void)fprintf(stderr, "probe: job %d: %s\n", p.number, error.text);
            failed = true;
        }
    hawser_cluster_close(p.cluster);
    (void)fprintf(stderr, "probe: closed\n");
    return failed ? 8 : 0;
}
