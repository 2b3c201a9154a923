#include "algorithms/glm/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/coefficients.h"

double hw_linear_gap_target(const hawser_options *options, const hawser_progress *progress)
{
    const char *solver = hawser_options_text(options, "solver");
    bool batches = solver != NULL && (strcmp(solver, "sgd") == 0 || strcmp(solver, "minibatch") == 0);
    if (batches || hawser_options_has(options, "path") || hawser_options_has(options, "cv"))
        return NAN;
    return hawser_options_number(options, "tol") * hawser_progress_metric(progress, "zero_objective");
}

const char *hw_linear_init_use(const hawser_options *options)
{
    if (hawser_options_integer(options, "cv") > 0)
        return "is where the first lambda starts; the path and the folds of --cv begin anew";
    return hawser_options_has(options, "path") ? "is where the first lambda starts; the path begins anew" : NULL;
}

/* ----------------------------------------------------------------------------------------------- coefficients ---- */

typedef struct linear_weight {
    uint64_t column;
    double value;
} linear_weight;

static int larger_first(const void *a, const void *b)
{
    const linear_weight *x = a, *y = b;
    double p = fabs(x->value), q = fabs(y->value);
    if (p != q)
        return p > q ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

static hawser_status collect(const hw_linear_weights *from, linear_weight **weights, size_t *count, hawser_error *error)
{
    *weights = calloc(from->count + 1, sizeof **weights);
    if (*weights == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu coefficients", from->count);
    *count = 0;
    for (size_t k = 0; k < from->count; k++)
        if (from->value[k] != 0)
            (*weights)[(*count)++] = (linear_weight){hw_linear_weights_column(from, k), from->value[k]};
    if (*count > 1)
        qsort(*weights, *count, sizeof **weights, larger_first);
    return HAWSER_OK;
}

/* Prints a line with a number and the name of its column, or the column's number. */
static void print_weight(const linear_weight *weight, const hawser_schema *schema, uint64_t base, FILE *out)
{
    char name[1024];
    if (hawser_schema_print(schema, weight->column, name, sizeof name) > 0)
        fprintf(out, "%+.10g\t%s\n", weight->value, name);
    else
        fprintf(out, "%+.10g\t%" PRIu64 "\n", weight->value, weight->column + base);
}

hawser_status hw_linear_print_coefficients(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error)
{
    linear_weight *weights = NULL;
    hawser_schema *schema = NULL;
    size_t count = 0;
    hw_linear_weights from;
    HAWSER_TRY(hw_linear_weights_of(model, &from, error));
    const char *base_text = hawser_model_text(model, "index_base");
    uint64_t base = base_text != NULL && strcmp(base_text, "1") == 0;
    hawser_status status = collect(&from, &weights, &count, error);
    if (status == HAWSER_OK)
        status = hawser_model_schema(model, &schema, error);
    if (status == HAWSER_OK) {
        fprintf(out, "%+.10g\t(intercept)\n", from.intercept[0]);
        for (size_t k = 0; k < count && k < most; k++)
            print_weight(&weights[k], schema, base, out);
    }
    free(weights);
    hawser_schema_free(schema);
    return status;
}
