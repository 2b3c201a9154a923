#include "algorithms/model/largest.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    const hw_column_value *x = a, *y = b;
    double p = fabs(x->value), q = fabs(y->value);
    if (p != q)
        return p > q ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

void hw_print_largest(const hawser_model *model, const hawser_schema *schema, const double *values, size_t count,
                      uint64_t most, const char *indent, hw_column_value *space, FILE *out)
{
    for (size_t j = 0; j < count; j++)
        space[j] = (hw_column_value){values[j], j};
    qsort(space, count, sizeof *space, by_size);
    for (size_t j = 0; j < count && j < most && space[j].value != 0.0; j++) {
        char name[200];
        (void)hawser_model_label(model, schema, space[j].column, name, sizeof name);
        fprintf(out, "%s%-30s %.10g\n", indent, name, space[j].value);
    }
}
