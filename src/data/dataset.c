#include "data/dataset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/memory.h"
#include "data/residence.h"
#include "data/table/levels.h"

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
    for (size_t i = 0; i < dataset->owned_count; i++)
        if (dataset->owned[i] == NULL) {
            dataset->owned[i] = memory;
            return;
        }
    assert(dataset->owned_count < HW_DATASET_OWNED);
    dataset->owned[dataset->owned_count++] = memory;
}

/* Copies a name to *text and lets it point there; *text is then behind it. */
static void move_name(const char **name, char **text)
{
    if (*name == NULL)
        return;
    size_t bytes = strlen(*name) + 1;
    memcpy(*text, *name, bytes);
    *name = *text;
    *text += bytes;
}

hawser_status hw_dataset_name_columns(hawser_dataset *dataset, const hawser_schema *schema, hawser_error *error)
{
    size_t cols = dataset->matrix.cols, bytes = dataset->target_name != NULL ? strlen(dataset->target_name) + 1 : 0;
    char **block;
    for (size_t k = 0; k < HW_FURTHER_TARGETS; k++)
        bytes += dataset->further_names[k] != NULL ? strlen(dataset->further_names[k]) + 1 : 0;
    for (size_t j = 0; j < cols; j++)
        bytes += hawser_schema_print(schema, j, NULL, 0) + 1;
    HAWSER_TRY(hw_new_array((void **)&block, cols * sizeof *block + bytes, 1, "column names", error));
    hw_dataset_own(dataset, block);
    char *text = (char *)(block + cols), *end = text + bytes;
    for (size_t j = 0; j < cols; j++) {
        block[j] = text;
        text += hawser_schema_print(schema, j, text, (size_t)(end - text)) + 1;
    }
    /* All names are in one block, which another dataset may take (hw_dataset_take_names). */
    move_name(&dataset->target_name, &text);
    for (size_t k = 0; k < HW_FURTHER_TARGETS; k++)
        move_name(&dataset->further_names[k], &text);
    dataset->columns = (const char *const *)block;
    return HAWSER_OK;
}

/* Returns where the name of a target is stored. */
static const char **name_of_target(hawser_dataset *dataset, size_t k)
{
    return k == 0 ? &dataset->target_name : &dataset->further_names[k - 1];
}

/* Counts the bytes of names. Refuses a missing one. */
static hawser_status count_names(const char *const *names, size_t count, const char *what, size_t *bytes,
                                 hawser_error *error)
{
    for (size_t j = 0; j < count; j++) {
        if (names[j] == NULL)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s %zu has no name, though others have; give a name to each",
                               what, j);
        *bytes += strlen(names[j]) + 1;
    }
    return HAWSER_OK;
}

hawser_status hw_dataset_check_names(const char *const *names, size_t count, const char *what, hawser_status bad,
                                     hawser_error *error)
{
    hw_levels met = {0};
    hawser_status status = HAWSER_OK;
    uint32_t number;
    size_t unnamed = 0;
    for (size_t j = 0; names != NULL && j < count && status == HAWSER_OK; j++) {
        unnamed += names[j][0] == '\0';
        if (names[j][0] == '\0')
            continue;
        status = hw_levels_put(&met, names[j], strlen(names[j]), &number, error);
        if (status == HAWSER_OK && number != j - unnamed)
            status =
                hawser_fail(error, bad, "%s: two columns are named '%.100s' (the later is number %zu, from 0); rename one",
                            what, names[j], j);
    }
    hw_levels_free(&met);
    return status;
}

hawser_status hw_dataset_copy_names(hawser_dataset *dataset, const char *const *names, const char *const *targets,
                                    size_t count, hawser_error *error)
{
    size_t cols = names != NULL ? dataset->matrix.cols : 0, bytes = 0;
    char **block;
    count = targets != NULL ? count : 0;
    HAWSER_TRY(count_names(names, cols, "column", &bytes, error));
    HAWSER_TRY(count_names(targets, count, "target", &bytes, error));
    HAWSER_TRY(hw_new_array((void **)&block, cols * sizeof *block + bytes, 1, "column names", error));
    hw_dataset_own(dataset, block);
    char *text = (char *)(block + cols);
    for (size_t j = 0; j < cols; j++) {
        const char *name = names[j];
        block[j] = text;
        move_name(&name, &text);
    }
    for (size_t k = 0; k < count; k++) {
        *name_of_target(dataset, k) = targets[k];
        move_name(name_of_target(dataset, k), &text);
    }
    dataset->columns = cols > 0 ? (const char *const *)block : NULL;
    dataset->target_block = cols > 0 ? NULL : block;
    return HAWSER_OK;
}

hawser_status hw_dataset_check_one_target(const hawser_dataset *dataset, const char *path, hawser_error *error)
{
    return dataset->further_count == 0
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: a file of data has one target, and these have %zu", path,
                             1 + dataset->further_count);
}

void hw_dataset_take_names(hawser_dataset *to, hawser_dataset *from)
{
    /* All names are in one block. */
    const void *block = from->columns != NULL ? (const void *)from->columns : from->target_block;
    to->columns = from->columns;
    to->target_name = from->target_name;
    to->target_block = from->target_block;
    from->columns = NULL;
    from->target_name = NULL;
    from->target_block = NULL;
    memcpy(to->further_names, from->further_names, sizeof to->further_names);
    memset(from->further_names, 0, sizeof from->further_names);
    to->schema = from->schema;
    from->schema = NULL;
    to->numbers = from->numbers;
    from->numbers = NULL;
    to->unread = from->unread;
    from->unread = NULL;
    for (size_t i = 0; i < from->owned_count; i++)
        if (block != NULL && from->owned[i] == block) {
            hw_dataset_own(to, from->owned[i]);
            from->owned[i] = NULL;
        }
}

int hawser_dataset_rounded(const hawser_dataset *dataset, size_t column)
{
    if (dataset == NULL || !dataset->equals.begun)
        return -1;
    size_t cols = dataset->matrix.cols;
    const hw_equal *item =
        hw_equals_find(&dataset->equals, column < cols ? (uint32_t)column : HW_EQUAL_TARGET(column - cols));
    return item != NULL && item->differ;
}

void hawser_dataset_free(hawser_dataset *dataset)
{
    if (dataset == NULL)
        return;
    for (size_t i = 0; i < dataset->owned_count; i++)
        free(dataset->owned[i]);
    hw_equals_free(&dataset->equals);
    if (dataset->labels != NULL)
        dataset->free_labels(dataset->labels);
    hw_residence_free(dataset->residence);
    hawser_schema_free(dataset->schema);
    free(dataset->numbers);
    free(dataset->unread);
    if (dataset->table != NULL)
        dataset->free_table(dataset->table);
    if (dataset->source != NULL)
        dataset->free_source(dataset->source);
    if (dataset->mapping != NULL && dataset->file == NULL)
        munmap(dataset->mapping, dataset->mapping_bytes);
    else if (dataset->mapping != NULL)
        hw_mapped_close(dataset->file);
    if (dataset->release != NULL)
        dataset->release(dataset->release_user);
    free(dataset);
}

hawser_status hawser_dataset_intact(const hawser_dataset *dataset, hawser_error *error)
{
    HW_GIVEN(dataset);
    return dataset->file != NULL ? hw_mapped_check(dataset->file, error) : HAWSER_OK;
}

void hw_dataset_disown(hawser_dataset *dataset, const void *memory)
{
    for (size_t i = 0; i < dataset->owned_count; i++)
        if (memory != NULL && dataset->owned[i] == memory) {
            free(dataset->owned[i]);
            dataset->owned[i] = NULL;
        }
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

void hw_dataset_release(const hawser_dataset *dataset, const void *array, size_t begin, size_t end)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ((uintptr_t)array + begin + page - 1) / page * page,
                    to = ((uintptr_t)array + end) / page * page;
    for (size_t i = 0; i < dataset->owned_count; i++)
        if (array != NULL && dataset->owned[i] == array && from < to)
            madvise((void *)from, to - from, MADV_DONTNEED);
}

const hawser_matrix *hawser_dataset_matrix(const hawser_dataset *dataset)
{
    return dataset != NULL ? &dataset->matrix : NULL;
}

/* Returns an array for all rows. A load by row of a job gives none on one node either, so that a program meets the same on
 * any number of nodes. */
static const double *whole(const hawser_dataset *dataset, const double *array)
{
    return dataset->cut == NULL ? array : NULL;
}

const double *hawser_dataset_target(const hawser_dataset *dataset)
{
    return dataset != NULL ? whole(dataset, dataset->target) : NULL;
}

size_t hawser_dataset_outputs(const hawser_dataset *dataset)
{
    if (dataset == NULL)
        return 0;
    return dataset->target != NULL ? 1 + dataset->further_count : dataset->outputs_by_block;
}

const double *hawser_dataset_output(const hawser_dataset *dataset, size_t output)
{
    if (output >= hawser_dataset_outputs(dataset))
        return NULL;
    return whole(dataset, output == 0 ? dataset->target : dataset->further[output - 1]);
}

const char *hawser_dataset_output_name(const hawser_dataset *dataset, size_t output)
{
    if (output >= hawser_dataset_outputs(dataset))
        return NULL;
    return output == 0 ? dataset->target_name : dataset->further_names[output - 1];
}

const double *hawser_dataset_weights(const hawser_dataset *dataset)
{
    return dataset != NULL ? whole(dataset, dataset->weights) : NULL;
}

const double *hawser_dataset_groups(const hawser_dataset *dataset)
{
    return dataset != NULL ? whole(dataset, dataset->groups) : NULL;
}

const double *hawser_dataset_offset(const hawser_dataset *dataset)
{
    return dataset != NULL ? whole(dataset, dataset->offset) : NULL;
}

const hawser_schema *hawser_dataset_schema(const hawser_dataset *dataset)
{
    return dataset != NULL ? dataset->schema : NULL;
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
