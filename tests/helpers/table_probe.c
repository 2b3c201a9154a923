/* table_probe.c - makes a table of a function that the servers have, or have not. Usage: table_probe HOST:PORT KEYFILE
 * FUNCTION f64|f32 [PARAMETER ...] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawser/store.h"

static hawser_status make(hawser_job *job, int argc, char **argv, hawser_error *error)
{
    hawser_store *store = NULL;
    uint32_t number;
    hawser_table table = {
        .name = "probe", .last = 9, .function = argv[3], .type = strcmp(argv[4], "f32") == 0 ? HAWSER_F32 : HAWSER_F64};
    for (int i = 5; i < argc && i < 13; i++)
        table.parameters[i - 5] = strtod(argv[i], NULL);
    HAWSER_TRY(hawser_store_open(job, &(hawser_store_options){.at = argv[1], .key_file = argv[2]}, &store, error));
    hawser_status status = hawser_store_table(store, &table, &number, error);
    hawser_store_close(store);
    return status;
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_OK && argc < 5)
        status = hawser_fail(&error, HAWSER_BAD_ARGUMENT,
                             "usage: table_probe HOST:PORT KEYFILE FUNCTION f64|f32 [PARAMETER ...]");
    if (status == HAWSER_OK)
        status = make(job, argc, argv, &error);
    if (status != HAWSER_OK)
        fprintf(stderr, "probe: %s\n", error.text);
    hawser_close(job);
    return status != HAWSER_OK;
}
