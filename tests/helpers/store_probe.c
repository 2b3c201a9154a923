/* store_probe.c - nodes that ask a store until one of them is gone. Usage: store_probe FILE: each node adds a line to FILE once it works. */
#include <stdio.h>
#include <unistd.h>

#include "hawser/store.h"

enum { N = 20000 };

static hawser_status ask(hawser_store *store, const char *path, hawser_error *error)
{
    static double values[N], out[N];
    uint32_t table = 0;
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "t", .last = N - 1}, &table, error));
    for (long round = 0;; round++) {
        uint64_t task = 0;
        HAWSER_TRY(hawser_push_pull(store, &(hawser_request){.table = table, .last = N - 1, .values = values, .out = out},
                                    &task, error));
        HAWSER_TRY(hawser_store_wait(store, task, error));
        FILE *file = round == 3 ? fopen(path, "a") : NULL;
        if (file != NULL) {
            fprintf(file, "%ld\n", (long)getpid());
            (void)!fclose(file);
        }
    }
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_store *store = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_OK)
        status = hawser_store_open(job, NULL, &store, &error);
    if (status == HAWSER_OK && argc > 1)
        status = ask(store, argv[1], &error);
    fprintf(stderr, "probe: %s\n", error.text);
    hawser_store_close(store);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 3;
}
