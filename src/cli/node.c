/* node.c - hawser node: takes part in the job of its manager. The manager's side, which sends the job to its nodes, is here,
 * too. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/option_value.h"
#include "cli/input.h"
#include "runtime/job/enter.h"

static void write_word(FILE *out, const char *word)
{
    (void)fwrite(word, 1, strlen(word) + 1, out);
}

static void write_arguments(const hw_call *call, FILE *out)
{
    const hawser_option *row;
    write_word(out, call->command->name);
    write_word(out, call->algorithm->name);
    for (size_t i = 0; (row = hawser_options_row(call->options, i)) != NULL; i++)
        if (!hw_option_of_one_node(row->key) &&
            hawser_options_source(call->options, row->key, NULL) != HAWSER_FROM_DEFAULT) {
            fprintf(out, "--%s=%s", row->key, hw_option_text(call->options, row->key));
            (void)fputc('\0', out);
        }
    write_word(out, "--quiet");
    write_word(out, "--");
    for (size_t i = 0; i < call->count; i++)
        write_word(out, call->words[i]);
}

/* Writes the arguments that nodes which were started by hand receive. */
static hawser_status make_arguments(const hw_call *call, char **arguments, size_t *length, hawser_error *error)
{
    FILE *out = open_memstream(arguments, length);
    if (out == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the description of the job");
    write_arguments(call, out);
    bool bad = ferror(out) != 0;
    return fclose(out) == 0 && !bad ? HAWSER_OK
                                    : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the description of the job");
}

typedef struct opening {
    const hw_call *call;
    hawser_status (*first)(void *argument, hawser_error *error);
    void *argument;
} opening;

static hawser_status check_files(void *argument, uint32_t node, hawser_error *error)
{
    const opening *o = argument;
    return node == 0 ? o->first(o->argument, error) : hw_check_history_of(o->call, node, error);
}

hawser_status hw_open_job(hw_call *call, hawser_status (*first)(void *argument, hawser_error *error), void *argument,
                          hawser_job **job, hawser_error *error)
{
    char *arguments = NULL;
    hawser_status status = HAWSER_OK;
    opening o = {call, first, argument};
    hw_entry entry = {
        .joined = call->joined != NULL && *call->joined != NULL ? call->joined : NULL, .check = check_files, .argument = &o};
    if (hawser_options_integer(call->options, "listen") != 0)
        status = make_arguments(call, &arguments, &entry.arguments_length, error);
    entry.arguments = arguments;
    HAWSER_THEN(status, hw_job_enter(call->options, &entry, job, error));
    free(arguments);
    return status;
}

/* Splits the manager's text at its zeros. argv[0] is the command's name. */
static hawser_status split(const hw_bytes *received_arguments, char ***argv, int *argc, hawser_error *error)
{
    char *text = received_arguments->data;
    size_t words = 1;
    if (received_arguments->length == 0 || text[received_arguments->length - 1] != '\0')
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "the manager's job is a program of its own: start that program here too, with --join");
    for (size_t i = 0; i < received_arguments->length; i++)
        words += text[i] == '\0';
    HAWSER_TRY(HW_NEW(argv, words + 1, "the manager's arguments", error));
    (*argv)[(*argc)++] = (char *)"hawser";
    for (char *at = text; at < text + received_arguments->length; at += strlen(at) + 1)
        (*argv)[(*argc)++] = at;
    return strcmp((*argv)[1], "train") == 0
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_INPUT, "the manager asks for '%.40s', which is not a training", (*argv)[1]);
}

/* The environment of this process counts for the join only; the job's options are the manager's. */
static hawser_status work(hw_call *call, hw_place *place, hawser_error *error)
{
    char *const nothing[] = {NULL};
    hw_cluster *cluster = NULL;
    hw_bytes received_arguments = {0};
    char **argv = NULL;
    int argc = 0;
    hawser_status status =
        hw_enter(call->options, place, &cluster, &(hw_entry){.received_arguments = &received_arguments}, error);
    HAWSER_THEN(status, split(&received_arguments, &argv, &argc, error));
    if (status == HAWSER_OK) {
        hw_call job = {
            .environment = nothing, .out = call->out, .err = call->err, .joined = &cluster, .interrupt = call->interrupt};
        call->code = hw_cli_call(&job, argc, argv);
    }
    hw_cluster_leave(cluster);
    free(argv);
    free(received_arguments.data);
    return status;
}

hawser_status hw_node(hw_call *call, hawser_error *error)
{
    hw_place place = {0};
    if (!hawser_options_has(call->options, "join"))
        return hawser_fail(error, HAWSER_BAD_OPTION, "missing manager; usage: hawser node --join HOST:PORT --key-file FILE");
    hawser_status status = work(call, &place, error);
    hw_place_close(&place);
    return status;
}
