#include "data/dataset.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "data/residence.h"

hawser_status hw_dataset_new(hawser_dataset **dataset, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(dataset, 1, "a dataset", error));
    (*dataset)->figures.index_base = -1;
    return HAWSER_OK;
}

void hw_dataset_own(hawser_dataset *dataset, void *memory)
{
    if (memory == NULL)
        return;
    assert(dataset->owned_count < HW_DATASET_OWNED);
    dataset->owned[dataset->owned_count++] = memory;
}

void hw_dataset_take_names(hawser_dataset *to, hawser_dataset *from)
{
    to->columns = from->columns;
    to->target_name = from->target_name;
    from->columns = NULL;
    from->target_name = NULL;
    for (size_t i = 0; i < from->owned_count; i++)
        if (to->columns != NULL && from->owned[i] == (const void *)to->columns) { /* the names' text is in the same block */
            hw_dataset_own(to, from->owned[i]);
            from->owned[i] = NULL;
        }
}

void hawser_dataset_free(hawser_dataset *dataset)
{
    if (dataset == NULL)
        return;
    for (size_t i = 0; i < dataset->owned_count; i++)
        free(dataset->owned[i]);
    hw_residence_free(dataset->residence);
    if (dataset->mapping != NULL)
        munmap(dataset->mapping, dataset->mapping_bytes);
    free(dataset);
}

void hw_dataset_drop_entries(hawser_dataset *dataset)
{
    hawser_matrix *A = &dataset->matrix;
    for (size_t i = 0; i < dataset->owned_count; i++) {
        void *memory = dataset->owned[i];
        if (memory == NULL || (memory != A->values && memory != A->indices && memory != A->offsets))
            continue;
        free(memory);
        dataset->owned[i] = NULL;
    }
    A->values = NULL;
    A->indices = NULL;
    A->offsets = NULL;
}

const hawser_matrix *hawser_dataset_matrix(const hawser_dataset *dataset)
{
    return dataset != NULL ? &dataset->matrix : NULL;
}

const double *hawser_dataset_target(const hawser_dataset *dataset)
{
    return dataset != NULL ? dataset->target : NULL;
}

const double *hawser_dataset_weights(const hawser_dataset *dataset)
{
    return dataset != NULL ? dataset->weights : NULL;
}

const double *hawser_dataset_offset(const hawser_dataset *dataset)
{
    return dataset != NULL ? dataset->offset : NULL;
}

const double *hawser_dataset_means(const hawser_dataset *dataset)
{
    return dataset != NULL ? dataset->means : NULL;
}

const char *hawser_dataset_column(const hawser_dataset *dataset, size_t column)
{
    return dataset != NULL && dataset->columns != NULL && column < dataset->matrix.cols ? dataset->columns[column] : NULL;
}

const char *hawser_dataset_target_name(const hawser_dataset *dataset)
{
    return dataset != NULL ? dataset->target_name : NULL;
}

const hawser_load_figures *hawser_dataset_figures(const hawser_dataset *dataset)
{
    return dataset != NULL ? &dataset->figures : NULL;
}
