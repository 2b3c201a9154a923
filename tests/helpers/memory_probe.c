/* memory_probe.c - takes memory in states of one kind: memory_probe KIND COUNT [initial] [OUT] [options of the job]. KIND is replicated, partitioned, local,
 * derived, stored, added, `fetched`: local, and each node fetches the whole result, `packed`: replicated, with updates that packing shortens, `two`: two replicated states, of which one loop uses the first and a
 * later loop the second, or `reduced`: no state, but as many numbers that are reduced over all blocks. COUNT is the numbers of a
 * state. `initial`: the states begin at other numbers than 0. The loops run under --sync. Each node writes a line to the file OUT.NODE: the plan's estimate,
 * what it says that late updates may take in addition, and its peak of resident memory, in bytes; node 0 also the sum of the numbers of each state. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "hawser/hawser.h"

enum { CLOCKS = 2, CLOCKS_APART = 30 }; /* in step; and where blocks may run ahead of each other */

/* Adds numbers with digits that no packing shortens. Their sums depend on the order of additions. */
static hawser_status add_drawn(double *values, size_t count)
{
    uint64_t drawn = 1;
    for (size_t i = 0; values != NULL && i < count; i++) {
        drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[i] += (double)(drawn >> 11) * 0x1p-53;
    }
    return values != NULL ? HAWSER_OK : HAWSER_INTERNAL;
}

static size_t numbers(const hawser_context *context)
{
    return *(const size_t *)hawser_user(context);
}

static hawser_status of_all(hawser_context *context)
{
    return add_drawn(hawser_cache(context, "a"), numbers(context));
}

/* Makes updates that packing shortens: small whole numbers. */
static hawser_status of_packed(hawser_context *context)
{
    double *values = hawser_cache(context, "a");
    for (size_t i = 0; values != NULL && i < numbers(context); i++)
        values[i] += (double)(i % 7 + 1);
    return values != NULL ? HAWSER_OK : HAWSER_INTERNAL;
}

static hawser_status of_second(hawser_context *context)
{
    return add_drawn(hawser_cache(context, "b"), numbers(context));
}

static hawser_status of_part(hawser_context *context)
{
    return add_drawn(hawser_local(context, "a"), hawser_part(context, "a", NULL));
}

static hawser_status of_chunks(hawser_context *context)
{
    hawser_chunk chunk;
    hawser_status status;
    do
        status = hawser_next_chunk(context, "a", &chunk);
    while (status == HAWSER_OK && chunk.block != UINT32_MAX);
    return status == HAWSER_OK ? of_part(context) : status;
}

/* Adds to this block's share of a stored state that all blocks may change. */
static hawser_status of_keys(hawser_context *context)
{
    enum { AT_ONCE = 4096 };
    uint64_t keys[AT_ONCE];
    size_t first, count = hawser_part(context, "a", &first);
    double values[AT_ONCE];
    for (size_t done = 0, now; done < count; done += now) {
        now = count - done < AT_ONCE ? count - done : AT_ONCE;
        for (size_t i = 0; i < now; i++) {
            keys[i] = first + done + i;
            values[i] = 1;
        }
        HAWSER_TRY(hawser_inc(context, "a", keys, values, now));
    }
    return HAWSER_OK;
}

/* Reduces as many numbers as a state would have. */
static hawser_status of_sums(hawser_context *context)
{
    double *values = hawser_scratch(context);
    HAWSER_TRY(add_drawn(values, numbers(context)));
    return hawser_allreduce(context, values, numbers(context), HAWSER_SUM);
}

static hawser_operator *use(const hawser_job *job, hawser_program *program, const char *name, hawser_unit_function *unit,
                            hawser_state *state)
{
    hawser_sync sync = hawser_job_sync(job);
    uint64_t clocks = sync.tightness == HAWSER_BSP ? CLOCKS : CLOCKS_APART;
    hawser_operator *loop = hawser_loop(hawser_root(program), name, (hawser_until){.clocks = clocks}, sync);
    return hawser_unit(loop, name[0] == 'f' ? "add" : "add more", unit, NULL, HAWSER_UPDATES(state));
}

static hawser_status make(const hawser_job *job, const char *kind, size_t count, const double *initial,
                          hawser_program *program, hawser_error *error)
{
    const hawser_rule rule = {0};
    uint32_t blocks = hawser_job_workers(job);
    bool two = strcmp(kind, "two") == 0, derived = strcmp(kind, "derived") == 0;
    if (two || derived || strcmp(kind, "packed") == 0 || strcmp(kind, "replicated") == 0) {
        hawser_state *a = hawser_replicated_state(program, "a", count, 1, initial, rule);
        if (derived)
            hawser_derive(a, of_all);
        use(job, program, "first", strcmp(kind, "packed") == 0 ? of_packed : of_all, a);
        if (two)
            use(job, program, "second", of_second, hawser_replicated_state(program, "b", count, 1, initial, rule));
    } else if (strcmp(kind, "partitioned") == 0) {
        use(job, program, "first", of_part, hawser_partitioned_state(program, "a", count, NULL, initial));
    } else if (strcmp(kind, "local") == 0 || strcmp(kind, "fetched") == 0) {
        size_t each = count / blocks > 0 ? count / blocks : 1;
        hawser_state *a = hawser_block_state(program, "a", HAWSER_F64, each, initial, 0);
        if (kind[0] == 'f')
            hawser_result_expect(a);
        use(job, program, "first", of_part, a);
    } else if (strcmp(kind, "stored") == 0) {
        use(job, program, "first", of_chunks, hawser_stored_state(program, "a", count, NULL, initial, NULL, NULL));
    } else if (strcmp(kind, "added") == 0) {
        use(job, program, "first", of_keys, hawser_stored_state(program, "a", count, NULL, initial, "add", NULL));
    } else if (strcmp(kind, "reduced") == 0) {
        hawser_scratch_size(program, count * sizeof(double), NULL);
        hawser_reduces(use(job, program, "first", of_sums, hawser_replicated_state(program, "a", 1, 1, NULL, rule)), count);
    } else {
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no kind of state '%s'", kind);
    }
    return HAWSER_OK;
}

typedef struct planned {
    unsigned long long bytes, late;
} planned;

/* Stores the plan's estimate. */
static hawser_status estimate(hawser_job *job, hawser_program *program, planned *found, hawser_error *error)
{
    static const char before[] = "needs about ", more[] = "\n  at most ";
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the plan");
    hawser_status status = hawser_plan_print(job, program, HAWSER_PLAN_PHYSICAL, out, error);
    (void)fclose(out);
    const char *needs = status == HAWSER_OK ? strstr(text, before) : NULL;
    const char *late = status == HAWSER_OK ? strstr(text, more) : NULL;
    if (status == HAWSER_OK && (needs == NULL || sscanf(needs + strlen(before), "%llu", &found->bytes) != 1 ||
                                (late != NULL && sscanf(late + strlen(more), "%llu", &found->late) != 1)))
        status = hawser_fail(error, HAWSER_INTERNAL, "the plan has no estimate");
    free(text);
    return status;
}

static hawser_status report(hawser_job *job, const hawser_run *run, const char *prefix, planned plan, hawser_error *error)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s.%u", prefix, hawser_job_node(job));
    FILE *out = fopen(path, "we");
    if (out == NULL)
        return hawser_fail(error, HAWSER_IO, "%s: cannot be written", path);
    (void)fprintf(out, "{\"planned\": %llu, \"late\": %llu, \"peak\": %" PRIu64, plan.bytes, plan.late,
                  hw_machine_peak_rss());
    for (const char *name = "a"; name != NULL; name = *name == 'a' ? "b" : NULL) {
        size_t count;
        double sum = 0;
        const double *values = hawser_result(run, name, &count);
        for (size_t i = 0; i < count; i++)
            sum += values[i];
        if (values != NULL)
            (void)fprintf(out, ", \"%s\": %.17g", name, sum);
    }
    (void)fputs("}\n", out);
    return fclose(out) == 0 ? HAWSER_OK : hawser_fail(error, HAWSER_IO, "%s: cannot be written", path);
}

static hawser_status take_memory(hawser_job *job, const char *kind, size_t count, const double *initial, const char *prefix,
                                 hawser_error *error)
{
    hawser_run *run = NULL;
    planned plan = {0};
    hawser_program *program = hawser_program_new("memory_probe", &count);
    hawser_status status = make(job, kind, count, initial, program, error);
    if (status == HAWSER_OK)
        status = estimate(job, program, &plan, error);
    if (status == HAWSER_OK)
        status = hawser_run_program(job, program, &run, error);
    if (status == HAWSER_OK && strcmp(kind, "fetched") == 0)
        status = hawser_result_fetch(run, "a", error);
    if (status == HAWSER_OK)
        status = report(job, run, prefix, plan, error);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    double *initial = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    bool begins = argc == 5 && strcmp(argv[3], "initial") == 0;
    size_t count = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (status == HAWSER_OK && (argc < 4 || argc > 5 || (argc == 5 && !begins) || count == 0))
        status =
            hawser_fail(&error, HAWSER_BAD_ARGUMENT, "usage: memory_probe KIND COUNT [initial] OUT [options of the job]");
    if (status == HAWSER_OK && begins) {
        initial = malloc(count * sizeof *initial);
        for (size_t i = 0; initial != NULL && i < count; i++)
            initial[i] = 1;
    }
    if (status == HAWSER_OK)
        status = take_memory(job, argv[1], count, initial, argv[argc - 1], &error);
    if (status != HAWSER_OK)
        (void)fprintf(stderr, "memory_probe: %s\n", error.text);
    free(initial);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 3;
}
