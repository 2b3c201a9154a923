/* store_probe.c - nodes that ask a store until one of them is gone. Usage: store_probe KIND FILE [HOST:PORT KEYFILE]: each
 * node adds a line to FILE once it works; the first two of three nodes serve, or servers that run on their own do. With KIND
 * count each node adds 1 to every key, again and again, and FILE.NODE has how often that was answered. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hawser/store.h"

enum { N = 20000, EACH = 3 };

typedef struct probe {
    hawser_store *store;
    uint32_t dense, sparse, node;
    uint64_t keys[N / EACH + 1];
    double values[N], out[N];
} probe;

static hawser_status wait_for(const probe *p, hawser_status begun, const uint64_t *task, hawser_error *error)
{
    return begun == HAWSER_OK ? hawser_store_wait(p->store, *task, error) : begun;
}

static hawser_status note_count(const char *path, uint32_t node, uint64_t count, hawser_error *error)
{
    char name[4096], text[32];
    static FILE *file;
    snprintf(name, sizeof name, "%s.%u", path, node);
    snprintf(text, sizeof text, "%20llu\n", (unsigned long long)count);
    if (file == NULL && (file = fopen(name, "w")) == NULL)
        return hawser_fail(error, HAWSER_IO, "cannot write %s", name);
    rewind(file);
    return fputs(text, file) >= 0 && fflush(file) == 0 ? HAWSER_OK : hawser_fail(error, HAWSER_IO, "cannot write %s", name);
}

/* One request of a kind, up to its end. The ones that wait are never answered: the loss ends them. */
static hawser_status ask(probe *p, const char *kind, uint64_t round, hawser_error *error)
{
    uint64_t task = 0;
    hawser_request range = {.table = p->dense, .last = N - 1};
    hawser_request list = {.table = strcmp(kind, "sparse") == 0 ? p->sparse : p->dense, .keys = p->keys, .count = N / EACH};
    if (strcmp(kind, "push") == 0 || strcmp(kind, "count") == 0) {
        range.values = p->values;
        return wait_for(p, hawser_push(p->store, &range, &task, error), &task, error);
    }
    if (strcmp(kind, "push_pull") == 0) {
        range.values = p->values;
        range.out = p->out;
        return wait_for(p, hawser_push_pull(p->store, &range, &task, error), &task, error);
    }
    if (strcmp(kind, "list") == 0 || strcmp(kind, "sparse") == 0) {
        list.values = p->values;
        list.out = p->out;
        return wait_for(p, hawser_push_pull(p->store, &list, &task, error), &task, error);
    }
    if (strcmp(kind, "near") == 0) {
        HAWSER_TRY(hawser_table_inc(p->store, p->sparse, 0, p->keys, N / EACH, p->values, error));
        HAWSER_TRY(hawser_table_clock(p->store, p->sparse, 0, error));
        return hawser_table_get(p->store, p->sparse, 0, p->keys, N / EACH, p->out, error);
    }
    if (strcmp(kind, "clock") == 0)
        HAWSER_TRY(hawser_store_clock(p->store, p->dense, 0, round, 0, N - 1, error));
    if (strcmp(kind, "clock") == 0 || (strcmp(kind, "waiting") == 0 && round > 10))
        range.least = round + 1;
    range.out = p->out;
    return wait_for(p, hawser_pull(p->store, &range, &task, error), &task, error);
}

static hawser_status work(probe *p, const char *kind, const char *path, hawser_error *error)
{
    HAWSER_TRY(hawser_store_table(p->store, &(hawser_table){.name = "dense", .last = N - 1}, &p->dense, error));
    HAWSER_TRY(hawser_store_table(p->store, &(hawser_table){.name = "sparse", .sparse = true}, &p->sparse, error));
    for (uint64_t i = 0; i < N / EACH; i++)
        p->keys[i] = i * EACH;
    for (int i = 0; i < N && strcmp(kind, "count") == 0; i++)
        p->values[i] = 1;
    for (uint64_t round = 0;; round++) {
        FILE *file = round == 5 ? fopen(path, "a") : NULL;
        if (file != NULL) {
            fprintf(file, "%u %ld\n", p->node, (long)getpid());
            (void)!fclose(file);
        }
        HAWSER_TRY(ask(p, kind, round, error));
        if (strcmp(kind, "count") == 0)
            HAWSER_TRY(note_count(path, p->node, round + 1, error));
    }
}

int main(int argc, char **argv)
{
    static probe p;
    hawser_job *job = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_OK && argc != 3 && argc != 5)
        status = hawser_fail(&error, HAWSER_BAD_ARGUMENT, "usage: store_probe KIND FILE [HOST:PORT KEYFILE]");
    const hawser_store_options here = {.servers = 2}, there = {.at = argc == 5 ? argv[3] : NULL, .key_file = argv[4]};
    if (status == HAWSER_OK)
        status = hawser_store_open(job, argc == 5 ? &there : &here, &p.store, &error);
    p.node = job != NULL ? hawser_job_node(job) : 0;
    if (status == HAWSER_OK)
        status = work(&p, argv[1], argv[2], &error);
    fprintf(stderr, "probe: %s\n", error.text);
    hawser_store_close(p.store);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 3;
}
