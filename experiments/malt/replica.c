#include "replica.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../curve.h"

static double clock_of(clockid_t kind)
{
    struct timespec now;
    clock_gettime(kind, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Counts what has passed since the last call for a part of the loop. */
static void lap(replica *self, replica_part part)
{
    double wall = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_THREAD_CPUTIME_ID);
    self->wall[part] += wall - self->wall_at;
    self->cpu[part] += cpu - self->cpu_at;
    self->wall_at = wall;
    self->cpu_at = cpu;
}

hawser_status replica_open(replica *self, int *argc, char **argv, hawser_error *error)
{
    static const char *const contents[] = {"values", "deltas", "rows"};
    *self = (replica){.vectors = 1, .width = 1};
    HAWSER_TRY(hawser_open(argc, argv, &self->job, error));
    self->node = hawser_job_node(self->job);
    self->nodes = hawser_job_nodes(self->job);
    if (*argc < 4)
        return hawser_fail(error, HAWSER_BAD_OPTION, "usage: FLOW SYNC values|deltas|rows ARGUMENTS...");
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
        if (strcmp(argv[3], contents[i]) == 0) {
            self->content = (replica_content)i;
            return HAWSER_OK;
        }
    return hawser_fail(error, HAWSER_BAD_OPTION, "'%s' is no content: values, deltas or rows", argv[3]);
}

/* Writes the edges of "halved" into text. */
static void halve(uint32_t nodes, char *text, size_t size)
{
    size_t used = 0;
    for (uint32_t distance = nodes / 2; distance > 0; distance /= 2)
        for (uint32_t i = 0; i < nodes && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, "%u %u\n", i, (i + distance) % nodes);
}

static hawser_status open_vectors(replica *self, char **argv, hawser_error *error)
{
    static char edges[1 << 16];
    static const char *const names[] = {"first", "second", "third"};
    bool halved = strcmp(argv[1], "halved") == 0 && self->nodes > 1;
    if (halved)
        halve(self->nodes, edges, sizeof edges);
    for (size_t v = 0; v < self->vectors; v++) {
        const hawser_vector_options how = {.name = names[v],
                                           .count = self->counts[v],
                                           .content =
                                               self->content == REPLICA_DELTAS ? HAWSER_VECTOR_DELTAS : HAWSER_VECTOR_VALUES,
                                           .sparse = self->content != REPLICA_VALUES,
                                           .width = self->content == REPLICA_ROWS ? self->width : 0,
                                           .edges = halved ? edges : NULL,
                                           .dataflow = halved ? NULL : argv[1],
                                           .sync = argv[2]};
        HAWSER_TRY(hawser_vector_open(self->job, &how, &self->vector[v], error));
        self->count += self->counts[v];
    }
    return HAWSER_OK;
}

hawser_status replica_begin(replica *self, char **argv, hawser_error *error)
{
    if (self->content != REPLICA_VALUES && self->vectors > 1)
        return hawser_fail(error, HAWSER_BAD_OPTION, "several vectors exchange values alone");
    HAWSER_TRY(open_vectors(self, argv, error));
    size_t bytes = self->count * sizeof(double);
    self->base = malloc(bytes);
    self->change = calloc(self->count, sizeof(double));
    self->rows = malloc(bytes);
    self->keys = malloc(self->count * sizeof *self->keys);
    bool fine = self->base != NULL && self->change != NULL && self->rows != NULL && self->keys != NULL;
    for (size_t i = 0; i <= REPLICA_POINTS && self->node == 0; i++)
        fine &= (self->points[i].model = malloc(bytes)) != NULL;
    if (!fine)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %d models", REPLICA_POINTS);
    memcpy(self->base, self->model, bytes);
    for (size_t v = 0; v < self->vectors; v++)
        HAWSER_TRY(hawser_vector_barrier(self->vector[v], error));
    self->wall_at = clock_of(CLOCK_MONOTONIC);
    self->cpu_at = clock_of(CLOCK_THREAD_CPUTIME_ID);
    return HAWSER_OK;
}

static hawser_status exchange_values(replica *self, uint64_t step, hawser_error *error)
{
    double *part = self->model;
    for (size_t v = 0; v < self->vectors; part += self->counts[v++])
        HAWSER_TRY(hawser_vector_scatter(self->vector[v], &(hawser_scatter){.iteration = step, .values = part}, error));
    lap(self, REPLICA_SCATTER);
    part = self->model;
    for (size_t v = 0; v < self->vectors; part += self->counts[v++])
        HAWSER_TRY(hawser_vector_gather(self->vector[v], step, HAWSER_GATHER_AVERAGE, NULL, part, error));
    return HAWSER_OK;
}

/* Collects the rows that have changed since the last exchange: their values, or what has changed, divided. */
static size_t changed_rows(replica *self)
{
    size_t keys = 0, width = self->width;
    for (size_t row = 0; row < self->count / width; row++) {
        const double *now = self->model + row * width, *before = self->base + row * width;
        if (memcmp(now, before, width * sizeof *now) == 0)
            continue;
        for (size_t k = 0; k < width; k++) {
            double change = (now[k] - before[k]) / self->nodes;
            self->rows[keys * width + k] = self->content == REPLICA_ROWS ? now[k] : change;
            self->change[row * width + k] = change;
        }
        self->keys[keys++] = row;
    }
    return keys;
}

static hawser_status exchange_rows(replica *self, uint64_t step, hawser_error *error)
{
    size_t bytes = self->count * sizeof(double);
    bool adds = self->content == REPLICA_DELTAS;
    memset(self->change, 0, bytes);
    const hawser_scatter own = {
        .iteration = step, .key_count = changed_rows(self), .keys = self->keys, .values = self->rows};
    HAWSER_TRY(hawser_vector_scatter(self->vector[0], &own, error));
    lap(self, REPLICA_SCATTER);
    HAWSER_TRY(hawser_vector_gather(self->vector[0], step, adds ? HAWSER_GATHER_SUM : HAWSER_GATHER_REPLACE, NULL,
                                    adds ? self->change : self->model, error));
    for (size_t i = 0; i < self->count && adds; i++)
        self->model[i] = self->base[i] + self->change[i];
    memcpy(self->base, self->model, bytes);
    return HAWSER_OK;
}

static double sum_of(const double *parts)
{
    return parts[REPLICA_LEARN] + parts[REPLICA_SCATTER] + parts[REPLICA_GATHER];
}

/* Adds up what the vectors have sent. */
static hawser_status sent_of(const replica *self, hawser_vector_facts *all, hawser_error *error)
{
    *all = (hawser_vector_facts){0};
    for (size_t v = 0; v < self->vectors; v++) {
        hawser_vector_facts facts;
        HAWSER_TRY(hawser_vector_describe(self->vector[v], &facts, error));
        all->sent += facts.sent;
        all->sent_bytes += facts.sent_bytes;
        all->overwritten += facts.overwritten;
        all->added += facts.added;
    }
    return HAWSER_OK;
}

/* Keeps the model of some of the steps. */
static hawser_status keep(replica *self, uint64_t step, hawser_error *error)
{
    uint64_t every = (self->steps + REPLICA_POINTS - 1) / REPLICA_POINTS;
    hawser_vector_facts facts;
    if (self->node != 0 || (step + 1 != self->steps && step % every != 0) || self->point_count > REPLICA_POINTS)
        return HAWSER_OK;
    HAWSER_TRY(sent_of(self, &facts, error));
    struct replica_point *point = &self->points[self->point_count++];
    point->step = step + 1;
    point->seconds = sum_of(self->wall);
    point->bytes = (double)facts.sent_bytes;
    memcpy(point->model, self->model, self->count * sizeof(double));
    return HAWSER_OK;
}

void replica_pace(replica *self, uint64_t step, double seconds)
{
    uint64_t seed = step * 1000 + self->node + 1;
    for (int i = 0; i < 4; i++)
        (void)replica_uniform(&seed);
    double left = seconds * (0.8 + 0.4 * replica_uniform(&seed)) - (clock_of(CLOCK_MONOTONIC) - self->wall_at);
    if (left > 0)
        nanosleep(&(struct timespec){(time_t)left, (long)(1e9 * (left - (double)(time_t)left))}, NULL);
}

hawser_status replica_exchange(replica *self, uint64_t step, hawser_error *error)
{
    lap(self, REPLICA_LEARN);
    HAWSER_TRY(self->content == REPLICA_VALUES ? exchange_values(self, step, error) : exchange_rows(self, step, error));
    lap(self, REPLICA_GATHER);
    HAWSER_TRY(keep(self, step, error));
    self->wall_at = clock_of(CLOCK_MONOTONIC); /* the time to keep a model is left out */
    self->cpu_at = clock_of(CLOCK_THREAD_CPUTIME_ID);
    return HAWSER_OK;
}

hawser_status replica_end(replica *self, double (*measure)(const void *user, const double *model), const void *user,
                          hawser_error *error)
{
    hawser_vector_facts facts;
    double own = measure(user, self->model), *part = self->content == REPLICA_DELTAS ? self->change : self->model;
    HAWSER_TRY(sent_of(self, &facts, error));
    memset(self->change, 0, self->count * sizeof(double));
    for (size_t v = 0; v < self->vectors; part += self->counts[v++])
        HAWSER_TRY(hawser_vector_finish(self->vector[v], part, error));
    for (size_t i = 0; i < self->count && self->content == REPLICA_DELTAS; i++)
        self->model[i] += self->change[i];
    printf("{\"replica\":%u,\"replicas\":%u,\"steps\":%llu,\"measure\":%.10g,\"seconds\":%.6g,\"sent\":%llu,"
           "\"sent_bytes\":%llu,\"overwritten\":%llu,\"added\":%llu",
           self->node, self->nodes, (unsigned long long)self->steps, own, sum_of(self->wall), (unsigned long long)facts.sent,
           (unsigned long long)facts.sent_bytes, (unsigned long long)facts.overwritten, (unsigned long long)facts.added);
    printf(",\"wall\":[%.6g,%.6g,%.6g],\"cpu\":[%.6g,%.6g,%.6g]", self->wall[0], self->wall[1], self->wall[2], self->cpu[0],
           self->cpu[1], self->cpu[2]);
    if (self->node == 0)
        printf(",\"finished\":%.10g,\"curve\":[", measure(user, self->model));
    for (size_t i = 0; i < self->point_count; i++) {
        const struct replica_point *point = &self->points[i];
        printf("%s[%llu,%.6g,%.8g,%.0f]", i > 0 ? "," : "", (unsigned long long)point->step, point->seconds,
               measure(user, point->model), point->bytes);
    }
    printf("%s}\n", self->node == 0 ? "]" : "");
    return HAWSER_OK;
}

int replica_close(replica *self, hawser_status status, const hawser_error *error)
{
    if (status != HAWSER_OK && status != HAWSER_STOP)
        fprintf(stderr, "experiment: %s\n", error->text);
    for (size_t v = 0; v < self->vectors; v++)
        hawser_vector_close(self->vector[v]);
    hawser_close(self->job);
    for (size_t i = 0; i <= REPLICA_POINTS; i++)
        free(self->points[i].model);
    free(self->base);
    free(self->change);
    free(self->rows);
    free(self->keys);
    return status == HAWSER_OK || status == HAWSER_STOP ? 0 : 1;
}

double replica_uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(*seed >> 11) * 0x1p-53;
}

hawser_status replica_numbers(int argc, char **argv, int skip, double *numbers, int count, const char *usage,
                              hawser_error *error)
{
    if (argc != skip + 1 + count)
        return hawser_fail(error, HAWSER_BAD_OPTION, "usage: %s", usage);
    for (int i = 0; i < count; i++)
        HAWSER_TRY(curve_number(argv[skip + 1 + i], 1e9, &numbers[i], error));
    return HAWSER_OK;
}
