/* identity.c - the text of what a node is about to run, for comparison: nodes that differ would wait for each other without
 * end. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/option_value.h"
#include "program/moving.h"
#include "program/position.h"
#include "runtime/drive/agent.h"

/* Returns whether nodes may differ in an option: options of one node, options that only name files, and the time limit,
 * which node 0 keeps. */
static bool may_differ(const hawser_option *row)
{
    return hw_option_of_one_node(row->key) || strcmp(row->key, "time-limit") == 0 || row->kind == HAWSER_PATH;
}

/* Returns whether an option changes no number of a result, so that a run may go on under another value: those of where it
 * runs, how it is connected, when it ends and what is checked. The workers are compared by their number. */
static bool changes_nothing(const hawser_option *row)
{
    static const char *const keys[] = {
        "workers",   "max-clocks", "time-limit",   "grace", "unit-warning",    "unit-timeout",     "timeout",
        "transport", "topology",   "trust-fabric", "rate",  "failure-timeout", "join-timeout",     "backlog",
        "slow",      "check",      "rehearse",     "fresh", "checkpoint",      "checkpoint-every", "checkpoint-keep"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(row->key, keys[i]) == 0)
            return true;
    return may_differ(row);
}

static void write_options(const hawser_options *options, bool (*left_out)(const hawser_option *row), FILE *out)
{
    const hawser_option *row;
    for (size_t i = 0; (row = hawser_options_row(options, i)) != NULL; i++) {
        const char *value = hw_option_text(options, row->key);
        if (!left_out(row) && value != NULL)
            fprintf(out, "option %s = %s\n", row->key, value);
    }
}

/* Writes which numbers the program has read in place of its states' first values. */
static void write_taken(const hw_first_values *first, FILE *out)
{
    for (size_t i = 0; i < first->count; i++)
        if (first->items[i].taken)
            fprintf(out, "'%s' begins with numbers of the digest %016" PRIx64 " (--init)\n", first->items[i].state,
                    first->items[i].digest);
}

/* Returns a digest of the lines and parts of a moving state. Owners cannot be compared, except by what they return. */
static uint64_t digest_of(const hw_moving_shape *shape)
{
    uint64_t lines = hw_hash(shape->offsets, (shape->lines + 1) * sizeof *shape->offsets, 0);
    return hw_hash(shape->cut, ((size_t)shape->parts + 1) * sizeof *shape->cut, lines);
}

static void write_state(const hw_session *session, const hawser_state *state, FILE *out)
{
    fprintf(out, "state '%s': %s", state->name, hw_state_kind_name(state->kind));
    if (state->matrix != NULL)
        fprintf(out, ", %zu x %zu, %" PRIu64 " stored, %s", state->matrix->rows, state->matrix->cols, state->matrix->stored,
                hw_split_name(state->split));
    else
        fprintf(out, ", %zu numbers in lines of %zu, %s", hw_state_count(state), state->width, hw_type_name(state->type));
    if (state->moving != NULL)
        fprintf(out, ", %" PRIu32 " parts of the digest %016" PRIx64, state->moving->parts, digest_of(state->moving));
    const hw_state_plan *own = &session->plan->states[state->number];
    if (state->kind == HW_ENTRIES)
        fprintf(out, ", %s, shares of the digest %016" PRIx64, state->by_value ? "by value" : "one for each entry",
                hw_hash(own->bounds, ((size_t)session->blocks + 1) * sizeof *own->bounds, 0));
    if (own->loaded_from != NULL)
        fprintf(out, ", begins with numbers of the digest %016" PRIx64 " (--init)", own->loaded_digest);
    fprintf(out, "%s\n", state->keeps ? ", kept" : own->guarded ? ", kept before changes of its loop" : "");
}

static void write_program(const hw_session *session, FILE *out)
{
    const hawser_program *program = session->program;
    fprintf(out, "program '%s', %" PRIu32 " workers\n", program->name, session->blocks);
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        write_state(session, state, out);
    for (size_t i = 0; i < program->operator_count; i++) {
        const hawser_operator *op = program->operators[i];
        char sync[HW_SYNC_TEXT];
        fprintf(out, "operator %zu: kind %d, '%s'%s%s", i, (int)op->kind, op->name != NULL ? op->name : "",
                op->waits ? ", waits as under " : "", op->waits ? hw_sync_text(op->sync, sync) : "");
        const hawser_operator *loop = hw_operator_loop(op);
        if (loop != NULL) /* blocks run it without the driver */
            fprintf(out, ", below %" PRIu32, op->parent->number);
        if (op->kind == HW_LOOP)
            fprintf(out, ", %" PRIu64 " clocks under %s", op->until.clocks, hw_sync_text(op->sync, sync));
        if (op->kind == HW_LOOP && loop != NULL)
            fprintf(out, " in loop '%s'", loop->name);
        fprintf(out, "\n");
    }
    for (uint32_t i = 0; i < program->metric_count; i++)
        fprintf(out, "metric '%s'\n", program->metrics[i].name);
}

/* Writes which lines of data each block has: its record is of these. On one node an algorithm may cut them by cost. */
static void write_shares(const hw_session *session, FILE *out)
{
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next) {
        const hw_state_plan *own = &session->plan->states[state->number];
        if (state->kind == HW_DATA && own->bounds != NULL)
            fprintf(out, "shares of state '%s' (one node may cut them by cost) = digest %016" PRIx64 "\n", state->name,
                    hw_hash(own->bounds, ((size_t)session->blocks + 1) * sizeof *own->bounds, 0));
    }
}

/* Adds the bytes of a file to a digest. Returns false if it cannot be read. */
static bool digest_of_file(const char *path, uint64_t *digest)
{
    char bytes[4096];
    size_t got = 0;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    while ((got = fread(bytes, 1, sizeof bytes, file)) > 0)
        *digest = hw_hash(bytes, got, *digest);
    bool whole = ferror(file) == 0;
    (void)fclose(file);
    return whole;
}

/* Writes digests of the files, other than data, from which a run begins. A model that the run replaces itself was changed by
 * a run that was stopped. */
static void write_files(const hawser_options *options, FILE *out)
{
    static const char *const keys[] = {"init", "centres", "lower", "upper", "penalty-factors", "folds"};
    const char *output = hw_option_text(options, "output");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        uint64_t digest = 0;
        const char *path = hw_option_text(options, keys[i]);
        if (path != NULL && (output == NULL || strcmp(path, output) != 0) && digest_of_file(path, &digest))
            fprintf(out, "file of --%s = digest %016" PRIx64 "\n", keys[i], digest);
    }
}

static hawser_status write_text(const hw_session *session, bool (*left_out)(const hawser_option *row), char **text,
                                hawser_error *error)
{
    size_t length = 0;
    *text = NULL;
    FILE *out = open_memstream(text, &length);
    if (out == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the description of this node's program");
    if (left_out == changes_nothing) { /* the first difference is the one that a person has made */
        write_options(session->job->options, left_out, out);
        write_files(session->job->options, out);
        fputs(session->data != NULL ? session->data : "", out);
        write_shares(session, out);
    }
    write_program(session, out);
    write_taken(&session->job->first, out);
    if (left_out != changes_nothing)
        write_options(session->job->options, left_out, out);
    bool bad = ferror(out) != 0;
    if (fclose(out) == 0 && !bad)
        return HAWSER_OK;
    free(*text);
    *text = NULL;
    return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the description of this node's program");
}

hawser_status hw_session_program(const hw_session *session, char **text, hawser_error *error)
{
    return write_text(session, may_differ, text, error);
}

hawser_status hw_session_identity(const hw_session *session, char **text, hawser_error *error)
{
    return write_text(session, changes_nothing, text, error);
}
