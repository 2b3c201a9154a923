/*
 * shared.c - two programs on one table: one counts, the other reads the counts. Stand-alone servers store the table:
 *
 *   hawser key secret && hawser serve --key-file secret
 *   ./shared count HOST:PORT secret          (also: hawser run -n 3 -- ./shared count HOST:PORT secret)
 *   ./shared look HOST:PORT secret
 *
 * Each node of a counting job adds 1 to every key in each of its clocks, and leads the slowest of its job by two clocks at
 * most. The reading program waits for no worker, because each job has its own clocks.
 */
#include <hawser/store.h>
#include <stdio.h>
#include <string.h>

enum { KEYS = 1000, CLOCKS = 100, STALENESS = 1 };

static hawser_status count(hawser_store *store, uint32_t table, hawser_error *error)
{
    double ones[KEYS], seen[KEYS];
    uint64_t task;
    for (int i = 0; i < KEYS; i++)
        ones[i] = 1;
    for (uint64_t t = 0; t < CLOCKS; t++) {
        hawser_request pull = {.table = table, .last = KEYS - 1, .out = seen};
        hawser_request push = {.table = table, .last = KEYS - 1, .values = ones};
        pull.least = t > STALENESS ? t - STALENESS : 0; /* the clocks of every worker that the pull must contain */
        HAWSER_TRY(hawser_pull(store, &pull, &task, error));
        HAWSER_TRY(hawser_store_wait(store, task, error));
        HAWSER_TRY(hawser_push(store, &push, &task, error));
        HAWSER_TRY(hawser_store_clock(store, table, 0, t, 0, KEYS - 1, error));
    }
    return hawser_store_wait_all(store, error);
}

static hawser_status look(hawser_store *store, uint32_t table, hawser_error *error)
{
    double seen[KEYS];
    uint64_t task;
    HAWSER_TRY(hawser_pull(store, &(hawser_request){.table = table, .last = KEYS - 1, .out = seen}, &task, error));
    HAWSER_TRY(hawser_store_wait(store, task, error));
    printf("key 0 has been counted %g times, key %d %g times\n", seen[0], KEYS - 1, seen[KEYS - 1]);
    return HAWSER_OK;
}

static hawser_status run(hawser_job *job, const char *what, const char *at, const char *key_file, hawser_error *error)
{
    hawser_store *store = NULL;
    uint32_t table;
    HAWSER_TRY(hawser_store_open(job, &(hawser_store_options){.at = at, .key_file = key_file}, &store, error));
    hawser_status status = hawser_store_table(store, &(hawser_table){.name = "counts", .last = KEYS - 1}, &table,
                                              error); /* made unless it exists */
    if (status == HAWSER_OK)
        status = strcmp(what, "count") == 0 ? count(store, table, error) : look(store, table, error);
    hawser_store_close(store);
    return status;
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_error error;
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_OK && argc != 4)
        status = hawser_fail(&error, HAWSER_BAD_ARGUMENT, "usage: shared count|look HOST:PORT KEYFILE");
    if (status == HAWSER_OK)
        status = run(job, argv[1], argv[2], argv[3], &error);
    hawser_close(job);
    if (status < HAWSER_OK)
        fprintf(stderr, "shared: %s\n", error.text);
    return status < HAWSER_OK;
}
