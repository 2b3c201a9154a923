/* memory_probe.c - takes memory in states of one kind: memory_probe KIND COUNT [initial] [f32] OUT [options of the job].
 * KIND is replicated, partitioned, local, entries (by value), derived, stored, added, moving (in two parts for each block),
 * `fetched`: local, and each node fetches the whole result, `packed`: replicated, with updates that packing shortens, `two`:
 * two replicated states, of which one loop uses the first and a later loop the second, or `reduced`: no state, but as many
 * numbers that are reduced over all blocks. COUNT is the numbers of a state. `initial`: the states begin at other numbers
 * than 0. `f32`: they are of this type, and not f64 (`reduced` is of f64 only). The loops run under --sync. Each node writes
 * a line to the file OUT.NODE: the plan's estimate, what it says that late updates may take in addition, and its peak of
 * resident memory, in bytes; node 0 also the sum of the numbers of each state. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "hawser/advanced.h"
#include "hawser/hawser.h"
#include "hawser/moving.h"
#include "hawser/stored.h"

enum { CLOCKS = 2, CLOCKS_APART = 30 }; /* in step; and where blocks may run ahead of each other */
enum { CLOCKS_MOVING = 10, PARTS_EACH = 2, LINE = 1000 };

/* The states that the program has. */
typedef struct states {
    const char *kind;
    size_t count;
    bool single; /* f32 */
} states;

static const states *states_of(const hawser_context *context)
{
    return hawser_user(context);
}

/* Adds numbers with digits that no packing shortens. Their sums depend on the order of additions. */
static hawser_status add_drawn(const hawser_context *context, void *values, size_t count)
{
    uint64_t drawn = 1;
    const bool single = states_of(context)->single;
    for (size_t i = 0; values != NULL && i < count; i++) {
        drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (single)
            ((float *)values)[i] += (float)(drawn >> 40) * 0x1p-24F;
        else
            ((double *)values)[i] += (double)(drawn >> 11) * 0x1p-53;
    }
    return values != NULL ? HAWSER_OK : HAWSER_INTERNAL;
}

static void *numbers_of(hawser_context *context, const char *name)
{
    void *numbers = NULL;
    hawser_status status = hawser_write_as(context, name, states_of(context)->single ? HAWSER_F32 : HAWSER_F64, &numbers);
    return status == HAWSER_OK ? numbers : NULL;
}

static hawser_status of_all(hawser_context *context)
{
    return add_drawn(context, numbers_of(context, "a"), states_of(context)->count);
}

/* Makes updates that packing shortens: small whole numbers. */
static hawser_status of_packed(hawser_context *context)
{
    void *values = numbers_of(context, "a");
    for (size_t i = 0; values != NULL && i < states_of(context)->count; i++)
        if (states_of(context)->single)
            ((float *)values)[i] += (float)(i % 7 + 1);
        else
            ((double *)values)[i] += (double)(i % 7 + 1);
    return values != NULL ? HAWSER_OK : HAWSER_INTERNAL;
}

static hawser_status of_second(hawser_context *context)
{
    return add_drawn(context, numbers_of(context, "b"), states_of(context)->count);
}

static hawser_status of_part(hawser_context *context)
{
    return add_drawn(context, numbers_of(context, "a"), hawser_part(context, "a", NULL));
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
    float singles[AT_ONCE];
    for (size_t done = 0, now; done < count; done += now) {
        now = count - done < AT_ONCE ? count - done : AT_ONCE;
        for (size_t i = 0; i < now; i++) {
            keys[i] = first + done + i;
            values[i] = singles[i] = 1;
        }
        HAWSER_TRY(states_of(context)->single ? hawser_inc(context, "a", keys, singles, now)
                                              : hawser_inc(context, "a", keys, values, now));
    }
    return HAWSER_OK;
}

/* Reduces as many numbers as a state would have. */
static hawser_status of_sums(hawser_context *context)
{
    double *values = hawser_scratch(context);
    HAWSER_TRY(add_drawn(context, values, states_of(context)->count));
    return hawser_allreduce(context, values, states_of(context)->count, HAWSER_SUM);
}

static hawser_status of_parts(hawser_context *context)
{
    hawser_moving_part part;
    hawser_status status;
    while ((status = hawser_next_part(context, "a", &part)) == HAWSER_OK && part.number != UINT32_MAX)
        status = add_drawn(context, part.values, part.count);
    return status;
}

/* Makes a state of lines of LINE numbers, cut in parts that are as equal as lines allow. */
static hawser_status use_moving(const hawser_job *job, hawser_program *program, const states *of, hawser_error *error)
{
    size_t lines = (of->count + LINE - 1) / LINE, parts = (size_t)PARTS_EACH * hawser_job_workers(job);
    size_t *offsets = calloc(lines + 1, sizeof *offsets), *cut = calloc(parts + 1, sizeof *cut);
    for (size_t i = 0; offsets != NULL && i <= lines; i++)
        offsets[i] = i < lines ? i * LINE : of->count;
    for (size_t p = 0; cut != NULL && p <= parts; p++)
        cut[p] = lines * p / parts;
    if (offsets != NULL && cut != NULL) {
        hawser_state *a = HAWSER_STATE(program, "a", HAWSER_MOVING, .type = of->single ? HAWSER_F32 : HAWSER_F64,
                                       .lines = lines, .offsets = offsets, .parts = (uint32_t)parts, .cut = cut);
        hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "first", hawser_job_sync(job), .clocks = CLOCKS_MOVING);
        HAWSER_UNIT(loop, "add", of_parts, .updates = {a});
    }
    hawser_status status =
        offsets != NULL && cut != NULL ? HAWSER_OK : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the parts");
    free(offsets);
    free(cut);
    return status;
}

/* Makes an entries state by value: a matrix with few entries, whose values add up to the numbers. */
static hawser_state *entries_of(hawser_program *program, const states *of, hawser_type type, const void *initial)
{
    enum { ROWS = 60 };
    static uint64_t offsets[ROWS + 1];
    static uint32_t indices[ROWS];
    static double values[ROWS];
    static hawser_matrix rows = {.rows = ROWS,
                                 .cols = 1,
                                 .stored = ROWS,
                                 .layout = HAWSER_CSR,
                                 .offsets = offsets,
                                 .indices = indices,
                                 .values = values};
    for (size_t i = 0; i < ROWS; i++) {
        offsets[i + 1] = i + 1;
        values[i] = (double)(of->count / ROWS + (i < of->count % ROWS));
    }
    hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = &rows, .split = HAWSER_BY_ROW);
    return HAWSER_STATE(program, "a", HAWSER_ENTRIES, .type = type, .along = X, .by_value = true, .rows = of->count,
                        .initial = initial);
}

static void use(const hawser_job *job, hawser_program *program, const char *name, hawser_unit_function *unit,
                hawser_state *state, size_t reduces)
{
    hawser_sync sync = hawser_job_sync(job);
    uint64_t clocks = sync.tightness == HAWSER_BSP ? CLOCKS : CLOCKS_APART;
    hawser_operator *loop = hawser_loop(hawser_root(program), name, (hawser_until){.clocks = clocks}, sync);
    HAWSER_UNIT(loop, name[0] == 'f' ? "add" : "add more", unit, .updates = {state}, .reduces = reduces);
}

static hawser_status make(const hawser_job *job, const states *of, const void *initial, hawser_program *program,
                          hawser_error *error)
{
    const char *kind = of->kind;
    const size_t count = of->count;
    const hawser_type type = of->single ? HAWSER_F32 : HAWSER_F64;
    uint32_t blocks = hawser_job_workers(job);
    bool two = strcmp(kind, "two") == 0, derived = strcmp(kind, "derived") == 0;
    if (two || derived || strcmp(kind, "packed") == 0 || strcmp(kind, "replicated") == 0) {
        hawser_state *a = HAWSER_STATE(program, "a", HAWSER_REPLICATED, .type = type, .rows = count, .initial = initial,
                                       .derive = derived ? of_all : NULL);
        use(job, program, "first", strcmp(kind, "packed") == 0 ? of_packed : of_all, a, 0);
        if (two)
            use(job, program, "second", of_second,
                HAWSER_STATE(program, "b", HAWSER_REPLICATED, .type = type, .rows = count, .initial = initial), 0);
    } else if (strcmp(kind, "partitioned") == 0) {
        use(job, program, "first", of_part,
            HAWSER_STATE(program, "a", HAWSER_PARTITIONED, .type = type, .rows = count, .initial = initial), 0);
    } else if (strcmp(kind, "local") == 0 || strcmp(kind, "fetched") == 0) {
        size_t each = count / blocks > 0 ? count / blocks : 1;
        hawser_state *a =
            HAWSER_STATE(program, "a", HAWSER_LOCAL, .type = type, .each = true, .rows = each, .initial = initial);
        if (kind[0] == 'f')
            hawser_result_expect(a);
        use(job, program, "first", of_part, a, 0);
    } else if (strcmp(kind, "entries") == 0) {
        use(job, program, "first", of_part, entries_of(program, of, type, initial), 0);
    } else if (strcmp(kind, "stored") == 0) {
        use(job, program, "first", of_chunks,
            HAWSER_STATE(program, "a", HAWSER_STORED, .type = type, .rows = count, .initial = initial), 0);
    } else if (strcmp(kind, "added") == 0) {
        use(job, program, "first", of_keys,
            HAWSER_STATE(program, "a", HAWSER_STORED, .type = type, .rows = count, .initial = initial, .function = "add"),
            0);
    } else if (strcmp(kind, "moving") == 0) {
        return use_moving(job, program, of, error);
    } else if (strcmp(kind, "reduced") == 0) {
        hawser_scratch_size(program, count * sizeof(double), NULL);
        use(job, program, "first", of_sums, HAWSER_STATE(program, "a", HAWSER_REPLICATED, .rows = 1), count);
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

static double sum_of(const hawser_run *run, const char *name, bool single)
{
    size_t count = 0;
    double sum = 0;
    const double *values = NULL;
    const float *singles = NULL;
    if ((single ? hawser_result(run, name, &singles, &count, NULL) : hawser_result(run, name, &values, &count, NULL)) !=
        HAWSER_OK)
        return NAN;
    for (size_t i = 0; i < count; i++)
        sum += single ? singles[i] : values[i];
    return sum;
}

static hawser_status report(hawser_job *job, const hawser_run *run, const states *of, const char *prefix, planned plan,
                            hawser_error *error)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s.%u", prefix, hawser_job_node(job));
    FILE *out = fopen(path, "we");
    if (out == NULL)
        return hawser_fail(error, HAWSER_IO, "%s: cannot be written", path);
    (void)fprintf(out, "{\"planned\": %llu, \"late\": %llu, \"peak\": %" PRIu64, plan.bytes, plan.late,
                  hw_machine_peak_rss());
    for (const char *name = "a"; name != NULL; name = *name == 'a' ? "b" : NULL) {
        double sum = sum_of(run, name, of->single);
        if (!isnan(sum))
            (void)fprintf(out, ", \"%s\": %.17g", name, sum);
    }
    (void)fputs("}\n", out);
    return fclose(out) == 0 ? HAWSER_OK : hawser_fail(error, HAWSER_IO, "%s: cannot be written", path);
}

static hawser_status take_memory(hawser_job *job, states *of, const void *initial, const char *prefix, hawser_error *error)
{
    hawser_run *run = NULL;
    planned plan = {0};
    hawser_program *program = hawser_program_new("memory_probe", of);
    hawser_status status = make(job, of, initial, program, error);
    if (status == HAWSER_OK)
        status = estimate(job, program, &plan, error);
    if (status == HAWSER_OK)
        status = hawser_run_program(job, program, &run, error);
    const void *whole;
    if (status == HAWSER_OK && strcmp(of->kind, "fetched") == 0)
        status = hawser_result_as(run, "a", of->single ? HAWSER_F32 : HAWSER_F64, &whole, NULL, error);
    if (status == HAWSER_OK)
        status = report(job, run, of, prefix, plan, error);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

/* Makes numbers that are all 1. */
static void *make_initial(const states *of)
{
    void *initial = malloc(of->count * (of->single ? sizeof(float) : sizeof(double)));
    for (size_t i = 0; initial != NULL && i < of->count; i++)
        if (of->single)
            ((float *)initial)[i] = 1;
        else
            ((double *)initial)[i] = 1;
    return initial;
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    void *initial = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    int at = 3;
    bool begins = argc > at && strcmp(argv[at], "initial") == 0;
    at += begins;
    states of = {.kind = argc > 1 ? argv[1] : "", .count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0};
    of.single = argc > at && strcmp(argv[at], "f32") == 0;
    at += of.single;
    if (status == HAWSER_OK && (argc != at + 1 || of.count == 0))
        status = hawser_fail(&error, HAWSER_BAD_ARGUMENT,
                             "usage: memory_probe KIND COUNT [initial] [f32] OUT [options of the job]");
    if (status == HAWSER_OK && begins)
        initial = make_initial(&of);
    if (status == HAWSER_OK)
        status = take_memory(job, &of, initial, argv[argc - 1], &error);
    if (status != HAWSER_OK)
        (void)fprintf(stderr, "memory_probe: %s\n", error.text);
    free(initial);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 3;
}
