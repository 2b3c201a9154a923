/* info.c - hawser info: prints what a model file contains. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input.h"
#include "cli/json.h"

enum { SHOWN = 12 }; /* entries of an array */

const hawser_option *hw_info_rows(void)
{
    static const hawser_option rows[] = {
        {"coefficients", HAWSER_FLAG, "no", NULL, NULL,
         "print the coefficients of the model by name, largest first, instead of its facts", NULL, 0},
        {"top", HAWSER_INTEGER, NULL, "[1,inf)", "N", "print only the N largest coefficients; implies --coefficients", NULL,
         0},
        {0},
    };
    return rows;
}

/* Lets the algorithm that trained the model print its coefficients. */
static hawser_status print_coefficients(const hw_call *call, const hawser_model *model, hawser_error *error)
{
    const char *name = hawser_model_text(model, "algorithm");
    const hawser_algorithm *algorithm = hawser_algorithm_find(name);
    hawser_error own = {0};
    if (algorithm == NULL || algorithm->coefficients == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the model has no list of coefficients", call->words[0]);
    bool some = hawser_options_has(call->options, "top");
    uint64_t most = some ? (uint64_t)hawser_options_integer(call->options, "top") : UINT64_MAX;
    if (algorithm->coefficients(model, most, call->out, &own) == HAWSER_OK)
        return HAWSER_OK;
    return hawser_fail(error, own.status, "%s: %.600s", call->words[0], own.text);
}

/* Replaces long arrays by their number of entries. */
static void shorten(json_t *value)
{
    const char *key;
    json_t *member;
    void *next;
    json_object_foreach_safe(value, next, key, member)
    {
        if (json_array_size(member) > SHOWN)
            (void)json_object_set_new(value, key, json_sprintf("%zu values", json_array_size(member)));
        else
            shorten(member);
    }
    size_t index;
    json_array_foreach(value, index, member) shorten(member);
}

/* Prints a fact on one line. A path's numbers and a table's words would fill pages. */
static void print_fact(FILE *out, const char *key, const char *value)
{
    const char *newline = strchr(value, '\n');
    json_t *json = value[0] == '{' ? json_loads(value, 0, NULL) : NULL;
    char *text = NULL;
    if (json != NULL) {
        shorten(json);
        text = json_dumps(json, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10));
        json_decref(json);
    }
    if (text != NULL)
        fprintf(out, "%-24s %s\n", key, text);
    else
        fprintf(out, "%-24s %.*s%s\n", key, newline != NULL ? (int)(newline - value) : (int)strlen(value), value,
                newline != NULL ? " ..." : "");
    free(text);
}

static void print_facts(FILE *out, const hawser_model *model)
{
    const char *key, *value;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; hawser_model_fact_at(model, i, &key, &value); i++) {
            bool option = strncmp(key, "options.", 8) == 0;
            if (option != (pass == 1))
                continue;
            print_fact(out, key, value);
        }
}

hawser_status hw_info(hw_call *call, hawser_error *error)
{
    hawser_model *model;
    bool weights = hawser_options_flag(call->options, "coefficients") || hawser_options_has(call->options, "top");
    json_t *other_header;
    HAWSER_TRY(hw_tensor_file_header(call->words[0], &other_header, error));
    if (other_header != NULL) {
        hw_tensor_file_print(call->out, call->words[0], other_header);
        json_decref(other_header);
        return !weights ? HAWSER_OK
                        : hawser_fail(error, HAWSER_BAD_INPUT,
                                      "%s: not a model of Hawser, so it has no coefficients to print", call->words[0]);
    }
    HAWSER_TRY(hawser_model_load(call->words[0], &model, error));
    hawser_status status = HAWSER_OK;
    if (weights)
        status = print_coefficients(call, model, error);
    else
        print_facts(call->out, model);
    hawser_model_free(model);
    return status;
}
