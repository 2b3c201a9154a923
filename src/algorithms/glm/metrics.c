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

/* ----------------------------------------------------------------------------------------------- coefficients ---- */

typedef struct linear_weight {
    size_t place; /* among the model's coefficients */
    double size;  /* the magnitude, or the norm over the outputs */
} linear_weight;

static int larger_first(const void *a, const void *b)
{
    const linear_weight *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static double value_at(const hw_linear_weights *from, size_t output, size_t place)
{
    return from->value[output * from->count + place];
}

/* Returns the length of a column's coefficients over all outputs. They are divided by the largest first, so that no square
 * overflows. (hypot of new versions of glibc is another symbol, which older systems lack.) */
static double size_of(const hw_linear_weights *from, size_t place)
{
    double largest = 0.0, sum = 0.0;
    for (size_t o = 0; o < from->outputs; o++)
        largest = fmax(largest, fabs(value_at(from, o, place)));
    if (largest == 0 || from->outputs == 1)
        return largest;
    for (size_t o = 0; o < from->outputs; o++) {
        double part = value_at(from, o, place) / largest;
        sum += part * part;
    }
    return largest * sqrt(sum);
}

static hawser_status collect(const hw_linear_weights *from, linear_weight **weights, size_t *count, hawser_error *error)
{
    *weights = calloc(from->count + 1, sizeof **weights);
    if (*weights == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu coefficients", from->count);
    *count = 0;
    for (size_t k = 0; k < from->count; k++) {
        double size = size_of(from, k);
        if (size != 0)
            (*weights)[(*count)++] = (linear_weight){k, size};
    }
    if (*count > 1)
        qsort(*weights, *count, sizeof **weights, larger_first);
    return HAWSER_OK;
}

/* Prints a line with a number per output and the name of their column, or the column's number. */
static void print_weight(const hw_linear_weights *from, size_t place, const hawser_model *model, const hawser_schema *schema,
                         FILE *out)
{
    char name[1024];
    (void)hawser_model_label(model, schema, hw_linear_weights_column(from, place), name, sizeof name);
    for (size_t o = 0; o < from->outputs; o++)
        fprintf(out, "%+.10g\t", value_at(from, o, place));
    fprintf(out, "%s\n", name);
}

/* Prints the names of several outputs above their numbers, and the intercepts. */
static void print_heads(const hawser_model *model, const hw_linear_weights *from, FILE *out)
{
    const char *names = hawser_model_text(model, "outputs");
    for (; from->outputs > 1 && names != NULL && *names != '\0'; names += strcspn(names, "\n"), names += *names == '\n') {
        char name[200], shown[200];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(names, "\n"), names);
        (void)hawser_escape(name, shown, sizeof shown);
        fprintf(out, "%s\t", shown);
    }
    if (from->outputs > 1 && names != NULL)
        fprintf(out, "(column)\n");
    for (size_t o = 0; o < from->outputs; o++)
        fprintf(out, "%+.10g\t", from->intercept[o]);
    fprintf(out, "(intercept)\n");
}

hawser_status hw_linear_print_coefficients(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error)
{
    linear_weight *weights = NULL;
    hawser_schema *schema = NULL;
    size_t count = 0;
    hw_linear_weights from;
    HAWSER_TRY(hw_linear_weights_of(model, &from, error));
    hawser_status status = collect(&from, &weights, &count, error);
    HAWSER_THEN(status, hawser_model_schema(model, &schema, error));
    if (status == HAWSER_OK) {
        print_heads(model, &from, out);
        for (size_t k = 0; k < count && k < most; k++)
            print_weight(&from, weights[k].place, model, schema, out);
    }
    free(weights);
    hawser_schema_free(schema);
    return status;
}
