#include "algorithms/choice/finished.h"

#include <stdlib.h>

hawser_status hw_finished_new(hw_finished **finished, size_t members, size_t width, size_t table, hawser_error *error)
{
    hw_finished *f = *finished = calloc(1, sizeof *f + (table + width * members) * sizeof(double));
    if (f == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu models of %zu numbers", members, width);
    f->members = members;
    f->table = (double *)(f + 1);
    f->numbers = f->table + table;
    return HAWSER_OK;
}

hawser_status hw_finished_describe(hawser_training *training, size_t done, size_t planned, const hawser_error *made,
                                   hawser_error *failure)
{
    hawser_error why = *failure;
    if (made->status == HAWSER_OK)
        return hawser_fail(failure, why.status, "%s; %zu of the path's %zu members were finished, and the model has them",
                           why.text, done, planned);
    hawser_model_free(training->model);
    training->model = NULL;
    return hawser_fail(failure, why.status, "%s; %zu of the path's %zu members were finished, but have no model: %s",
                       why.text, done, planned, made->text);
}
