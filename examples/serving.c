/*
 * serving.c - stand-alone servers with a function of their own: it adds what is pushed, and keeps each number within bounds.
 * The program serves in place of `hawser serve`. A client does not need the function, only its name:
 *
 *   hawser key secret
 *   ./serving serve secret address           (also: hawser run -n 3 -- ./serving serve secret address)
 *   ./serving push $(cat address) secret && hawser store get bounded --at $(cat address) --key-file secret
 */
#include <hawser/store.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { KEYS = 100, PUSHES = 30 };

static hawser_job *job; /* global for the signal handler */

static void end(int number)
{
    (void)number;
    hawser_interrupt(job); /* all servers end together; they save first if hawser_serving.save is set */
}

/* ---------------------------------------------------------------------------------------------------------- servers ---- */

static const char *check_bounds(const double *parameters)
{
    return parameters[0] <= parameters[1] ? NULL : "the lower bound is above the upper one";
}

/* Servers call this function from several threads, for different keys. */
static void add_within_bounds(const hawser_applying *given)
{
    double *values = given->values;
    const double *updates = given->updates;
    for (size_t i = 0; i < given->rows * given->width; i++) {
        double sum = values[i] + updates[i];
        values[i] = sum < given->parameters[0]   ? given->parameters[0]
                    : sum > given->parameters[1] ? given->parameters[1]
                                                 : sum;
    }
}

static void say(void *argument, const char *text)
{
    (void)argument;
    fprintf(stderr, "serving: %s\n", text);
}

static hawser_status serve(const char *key_file, const char *address_file, hawser_error *error)
{
    static const hawser_function bounded = {
        .name = "bounded", .parameters = 2, .check = check_bounds, .apply = add_within_bounds};
    hawser_store *store = NULL;
    HAWSER_TRY(hawser_store_open(job, &(hawser_store_options){.functions = &bounded, .function_count = 1}, &store, error));
    hawser_status status =
        hawser_store_serve(store, &(hawser_serving){.key_file = key_file, .address_file = address_file, .warn = say}, error);
    hawser_store_close(store);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- clients ---- */

static hawser_status push(hawser_store *store, hawser_error *error)
{
    const hawser_table table = {.name = "bounded", .last = KEYS - 1, .function = "bounded", .parameters = {-5, 10}};
    double ones[KEYS];
    uint32_t number;
    uint64_t task;
    for (int i = 0; i < KEYS; i++)
        ones[i] = i % 2 == 0 ? 1 : -1;
    HAWSER_TRY(hawser_store_table(store, &table, &number, error));
    for (int i = 0; i < PUSHES; i++)
        HAWSER_TRY(hawser_push(store, &(hawser_request){.table = number, .last = KEYS - 1, .values = ones}, &task, error));
    return hawser_store_wait_all(store, error);
}

static hawser_status come_and_push(const char *at, const char *key_file, hawser_error *error)
{
    hawser_store *store = NULL;
    HAWSER_TRY(hawser_store_open(job, &(hawser_store_options){.at = at, .key_file = key_file}, &store, error));
    hawser_status status = push(store, error);
    hawser_store_close(store);
    return status;
}

int main(int argc, char **argv)
{
    hawser_error error;
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    bool serves = argc == 4 && strcmp(argv[1], "serve") == 0;
    if (status == HAWSER_OK && !serves && (argc != 4 || strcmp(argv[1], "push") != 0))
        status =
            hawser_fail(&error, HAWSER_BAD_ARGUMENT, "usage: serving serve KEYFILE ADDRESSFILE | push HOST:PORT KEYFILE");
    signal(SIGINT, serves && status == HAWSER_OK ? end : SIG_DFL);
    signal(SIGTERM, serves && status == HAWSER_OK ? end : SIG_DFL);
    if (status == HAWSER_OK)
        status = serves ? serve(argv[2], argv[3], &error) : come_and_push(argv[2], argv[3], &error);
    hawser_close(job);
    if (status < HAWSER_OK)
        fprintf(stderr, "serving: %s\n", error.text);
    return status < HAWSER_OK;
}
