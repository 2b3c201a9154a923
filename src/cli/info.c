/* info.c - hawser info: prints what a model file contains. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input.h"
#include "cli/tensor_file.h"
#include "report/json.h"

enum { SHOWN = 12 }; /* entries of an array */

const hawser_option *hw_info_rows(void)
{
    static const hawser_option rows[] = {
        {"coefficients", HAWSER_FLAG, "no", NULL, NULL,
         "print the coefficients of the model by name, largest first, instead of its facts", NULL, 0},
        {"top", HAWSER_INTEGER, NULL, "[1,inf)", "N", "print only the N largest coefficients; implies --coefficients", NULL,
         0},
        {"path", HAWSER_FLAG, "no", NULL, NULL,
         "print the members of the model's path, each with its columns and errors, instead of the facts", NULL, 0},
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
    bool cut = text == NULL && newline != NULL;
    if (text == NULL)
        text = strndup(value, newline != NULL ? (size_t)(newline - value) : strlen(value));
    fprintf(out, "%-24s ", key);
    hw_print_word(out, text != NULL ? text : "");
    fprintf(out, "%s\n", cut ? " ..." : "");
    free(text);
}

/* Prints a number of the table, or a dash if it is unknown. */
static void print_cell(FILE *out, const double *values, size_t at)
{
    if (values != NULL)
        fprintf(out, " %12.6g", values[at]);
    else
        fprintf(out, " %12s", "-");
}

/* Prints the members of the model's path, one per line. */
static hawser_status print_path(const hw_call *call, const hawser_model *model, hawser_error *error)
{
    const hawser_algorithm *algorithm = hawser_algorithm_find(hawser_model_text(model, "algorithm"));
    hawser_error own = {0};
    hawser_path path;
    if (algorithm == NULL || algorithm->path == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: --path: models of this algorithm have no path", call->words[0]);
    if (algorithm->path(algorithm, model, &path, &own) != HAWSER_OK)
        return hawser_fail(error, own.status, "%s: --path: %.600s", call->words[0], own.text);
    if (path.error != NULL)
        fprintf(call->out, "error: %s on rows that the training did not see\n", path.error_name);
    fprintf(call->out, "%12s %12s %12s %12s %12s\n", path.name, "columns", "objective", "error", "std.error");
    for (size_t k = 0; k < path.count; k++) {
        print_cell(call->out, path.parameter, k);
        fprintf(call->out, " %12lld", (long long)(path.offsets[k + 1] - path.offsets[k]));
        print_cell(call->out, path.objective, k);
        print_cell(call->out, path.error, k);
        print_cell(call->out, path.standard_error, k);
        fprintf(call->out, "%s%s%s\n", k == path.least ? "  min" : "", k == path.one_se ? "  1se" : "",
                k == path.chosen ? "  model" : "");
    }
    if (path.ended != NULL)
        fprintf(call->out, "the training ended before the path did (%s): the model has %zu of its %zu members\n", path.ended,
                path.count, path.planned);
    return HAWSER_OK;
}

static bool asks_for_member(const hw_call *call)
{
    const hawser_option *row = hw_member_rows();
    while (row->key != NULL && hawser_options_source(call->options, row->key, NULL) != HAWSER_FROM_COMMAND_LINE)
        row++;
    return row->key != NULL;
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
    bool members = hawser_options_flag(call->options, "path");
    json_t *other_header;
    HAWSER_TRY(hw_refuse_idle(call, "top", members, "--path prints no coefficients", error));
    HAWSER_TRY(hw_refuse_idle(call, "coefficients", members, "--path prints no coefficients", error));
    HAWSER_TRY(hw_tensor_file_header(call->words[0], &other_header, error));
    if (other_header != NULL) {
        hw_tensor_file_print(call->out, call->words[0], other_header);
        json_decref(other_header);
        bool plain = !weights && !members && !asks_for_member(call);
        return plain ? HAWSER_OK
                     : hawser_fail(error, HAWSER_BAD_INPUT, "%s: not a model of Hawser, so it has no %s to print",
                                   call->words[0], weights ? "coefficients" : "path");
    }
    HAWSER_TRY(hawser_model_load(call->words[0], &model, error));
    hawser_status status = hw_choose_member(call, call->words[0], model, error);
    if (status == HAWSER_OK && members)
        status = print_path(call, model, error);
    else if (status == HAWSER_OK && weights)
        status = print_coefficients(call, model, error);
    else if (status == HAWSER_OK)
        print_facts(call->out, model);
    hawser_model_free(model);
    return status;
}
