/* vector_probe.c - a loop with a vector, for tests on processes: `vector_probe SYNC STEPS [NODE STEP]`. Every node prints
 * the array after the finish. NODE kills itself in STEP, between its scatter and its gather. */
#include <hawser/hawser.h>
#include <hawser/vector.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 5000, LOST = 8 };

static hawser_status loop(hawser_job *job, char **words, float *w, hawser_vector *vector, hawser_error *error)
{
    uint64_t steps = strtoull(words[2], NULL, 10), end = words[3] != NULL ? strtoull(words[4], NULL, 10) : UINT64_MAX;
    uint32_t node = hawser_job_node(job), dies = words[3] != NULL ? (uint32_t)strtoul(words[3], NULL, 10) : UINT32_MAX;
    for (uint64_t t = 0; t < steps; t++) {
        for (size_t i = 0; i < COUNT; i++)
            w[i] += 0.1F * ((float)(node + 1) - w[i]) + (float)(i % 7) / 100;
        const uint32_t none = 0; /* one scatter in five of node 1 has no receiver */
        const hawser_scatter scatter = {.iteration = t, .values = w, .to = node == 1 && t % 5 == 4 ? &none : NULL};
        HAWSER_TRY(hawser_vector_scatter(vector, &scatter, error));
        if (node == dies && t == end)
            raise(SIGKILL);
        HAWSER_TRY(hawser_vector_gather(vector, t, HAWSER_GATHER_AVERAGE, NULL, w, error));
    }
    return hawser_vector_finish(vector, w, error);
}

int main(int argc, char **argv)
{
    static float w[COUNT];
    hawser_error error = {0};
    hawser_job *job = NULL;
    hawser_vector *vector = NULL;
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_OK && argc != 3 && argc != 5)
        status = hawser_fail(&error, HAWSER_BAD_ARGUMENT, "usage: vector_probe SYNC STEPS [NODE STEP]");
    if (status == HAWSER_OK)
        status = hawser_vector_open(
            job,
            &(hawser_vector_options){.name = "w", .type = HAWSER_F32, .count = COUNT, .sync = argv[1], .dataflow = "halton"},
            &vector, &error);
    if (status == HAWSER_OK)
        status = loop(job, argv, w, vector, &error);
    for (size_t i = 0; status == HAWSER_OK && i < COUNT; i += COUNT / 4)
        printf("%s%a%s", i == 0 ? "array " : " ", (double)w[i], i + COUNT / 4 >= COUNT ? "\n" : "");
    hawser_vector_close(vector);
    hawser_close(job);
    if (status != HAWSER_OK)
        fprintf(stderr, "%s\n", error.text);
    return status == HAWSER_OK ? 0 : status == HAWSER_PEER_LOST ? LOST : 1;
}
