/* info.c - what a model file says about itself. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/input.h"
#include "cli/json.h"

const hawser_option *hw_info_rows(void)
{
    static const hawser_option rows[] = {
        {"coefficients", HAWSER_FLAG, "no", NULL, NULL, "print the nonzero weights by name, largest first", "0.1", 0},
        {"top", HAWSER_INTEGER, NULL, "[1,inf)", "N", "print only the N largest weights; implies --coefficients", "0.1", 0},
        {0},
    };
    return rows;
}

typedef struct weight {
    uint64_t column;
    double value;
} weight;

static int larger_first(const void *a, const void *b)
{
    const weight *x = a, *y = b;
    double p = fabs(x->value), q = fabs(y->value);
    if (p != q)
        return p > q ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

static hawser_status collect(const hawser_model *model, const char *path, weight **weights, size_t *count,
                             hawser_error *error)
{
    hawser_type type = HAWSER_F64, index_type = HAWSER_I64;
    size_t dims[2] = {0}, index_dims[2] = {0};
    const double *values = hawser_model_get(model, "coefficients", &type, dims);
    const int64_t *index = NULL;
    if (values == NULL) {
        values = hawser_model_get(model, "coefficients.value", &type, dims);
        index = hawser_model_get(model, "coefficients.index", &index_type, index_dims);
    }
    bool sparse_right = index == NULL || (index_type == HAWSER_I64 && index_dims[0] == dims[0]);
    if (values == NULL || type != HAWSER_F64 || dims[1] > 1 || !sparse_right)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the model has no list of coefficients", path);
    HAWSER_TRY(HW_NEW(weights, dims[0], "the weights", error));
    *count = 0;
    for (size_t k = 0; k < dims[0]; k++)
        if (values[k] != 0)
            (*weights)[(*count)++] = (weight){index != NULL ? (uint64_t)index[k] : k, values[k]};
    if (*count > 1)
        qsort(*weights, *count, sizeof **weights, larger_first);
    return HAWSER_OK;
}

/* Starts of the names' lines, so that a name is found without a walk; *names is NULL when the model has none. */
static hawser_status index_names(const hawser_model *model, const char ***names, size_t *count, hawser_error *error)
{
    const char *text = hawser_model_text(model, "names");
    *names = NULL;
    *count = 0;
    if (text == NULL)
        return HAWSER_OK;
    size_t lines = 1;
    for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n'))
        lines++;
    HAWSER_TRY(HW_NEW(names, lines, "column names", error));
    for (const char *at = text; at != NULL && *count < lines; at = strchr(at, '\n'), at = at != NULL ? at + 1 : NULL)
        (*names)[(*count)++] = at;
    return HAWSER_OK;
}

static hawser_status print_coefficients(const hw_call *call, const hawser_model *model, hawser_error *error)
{
    weight *weights = NULL;
    const char **names = NULL;
    size_t count = 0, name_count = 0;
    const char *base_text = hawser_model_text(model, "index_base");
    uint64_t base = base_text != NULL && strcmp(base_text, "1") == 0;
    hawser_status status = collect(model, call->words[0], &weights, &count, error);
    if (status == HAWSER_OK)
        status = index_names(model, &names, &name_count, error);
    size_t shown = count;
    if (hawser_options_has(call->options, "top") && (uint64_t)hawser_options_integer(call->options, "top") < count)
        shown = (size_t)hawser_options_integer(call->options, "top");
    if (status == HAWSER_OK) {
        const double *intercept = hawser_model_get(model, "intercept", NULL, NULL);
        if (intercept != NULL)
            fprintf(call->out, "%+.10g\t(intercept)\n", *intercept);
        for (size_t k = 0; k < shown; k++) {
            if (weights[k].column < name_count)
                fprintf(call->out, "%+.10g\t%.*s\n", weights[k].value, (int)strcspn(names[weights[k].column], "\n"),
                        names[weights[k].column]);
            else
                fprintf(call->out, "%+.10g\t%" PRIu64 "\n", weights[k].value, weights[k].column + base);
        }
    }
    free(weights);
    free((void *)names);
    return status;
}

static void print_facts(FILE *out, const hawser_model *model)
{
    const char *key, *value;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; hawser_model_fact_at(model, i, &key, &value); i++) {
            bool option = strncmp(key, "options.", 8) == 0;
            if (option != (pass == 1))
                continue;
            const char *newline = strchr(value, '\n');
            fprintf(out, "%-24s %.*s%s\n", key, newline != NULL ? (int)(newline - value) : (int)strlen(value), value,
                    newline != NULL ? " ..." : "");
        }
}

hawser_status hw_info(hw_call *call, hawser_error *error)
{
    hawser_model *model;
    bool weights = hawser_options_flag(call->options, "coefficients") || hawser_options_has(call->options, "top");
    json_t *foreign;
    HAWSER_TRY(hw_foreign_header(call->words[0], &foreign, error));
    if (foreign != NULL) {
        hw_foreign_print(call->out, call->words[0], foreign);
        json_decref(foreign);
        return !weights ? HAWSER_OK
                        : hawser_fail(error, HAWSER_BAD_INPUT,
                                      "%s: no model of Hawser's, so that it has no coefficients to print", call->words[0]);
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
