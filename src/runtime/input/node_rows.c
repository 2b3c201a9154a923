#include "runtime/input/node_rows.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

static uint64_t hash_text(const char *text, uint64_t hash)
{
    return text != NULL ? hw_hash(text, strlen(text) + 1, hash) : hw_hash("\1", 1, hash);
}

static uint64_t hash_words(const hawser_dataset *own)
{
    size_t words;
    const char *const *target = hawser_schema_target(own->schema, &words);
    uint64_t hash = hash_text(own->target_name, 0);
    for (size_t k = 0; k < own->further_count; k++)
        hash = hash_text(own->further_names[k], hash);
    for (size_t j = 0; own->columns != NULL && j < own->matrix.cols; j++)
        hash = hash_text(own->columns[j], hash);
    for (size_t k = 0; k < words; k++)
        hash = hash_text(target[k], hash);
    return hash;
}

hw_node_rows hw_node_rows_of(const hawser_dataset *own)
{
    if (own == NULL)
        return (hw_node_rows){0};
    hw_node_rows facts = {.rows = own->matrix.rows,
                          .cols = own->matrix.cols,
                          .words = hash_words(own),
                          .layout = own->matrix.layout,
                          .type = own->matrix.type,
                          .further = (uint32_t)own->further_count,
                          .index_base = own->figures.index_base};
    if (own->means != NULL)
        facts.means = hw_hash(own->means, own->matrix.cols * sizeof *own->means, 1);
    for (unsigned k = 0; k < HW_BESIDE_FURTHER; k++)
        facts.kinds |= (uint32_t)(hw_dataset_beside_of(own, k) != NULL) << k;
    return facts;
}

static hawser_status compare_kinds(const char *call, const hw_node_rows *a, uint32_t i, const hw_node_rows *b, uint32_t j,
                                   hawser_error *error)
{
    static const char *const kinds[] = {"a target", "weights", "an offset", "groups"};
    for (unsigned k = 0; k < HW_BESIDE_FURTHER; k++)
        if ((a->kinds >> k & 1) != (b->kinds >> k & 1))
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "%s: node %u has %s, and node %u has not; give it to all or to none", call,
                               (a->kinds >> k & 1) != 0 ? i : j, kinds[k], (a->kinds >> k & 1) != 0 ? j : i);
    if (a->further != b->further)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: node %u has %u targets, and node %u has %u", call, i,
                           1 + a->further, j, 1 + b->further);
    return HAWSER_OK;
}

hawser_status hw_node_rows_compare(const char *call, const hw_node_rows *a, uint32_t i, const hw_node_rows *b, uint32_t j,
                                   hawser_error *error)
{
    if (a->cols != b->cols)
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "%s: node %u has rows of %llu columns, and node %u of %llu; give all the same columns (of svmlight, "
            "set hawser_load.columns)",
            call, i, (unsigned long long)a->cols, j, (unsigned long long)b->cols);
    if (a->layout != b->layout || a->type != b->type)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: nodes %u and %u have matrices of different layouts or types",
                           call, i, j);
    HAWSER_TRY(compare_kinds(call, a, i, b, j, error));
    if (a->words != b->words)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "%s: nodes %u and %u have other names of columns or other words, so that their numbers mean "
                           "different things; read each file with the schema of one (hawser_load.schema), or all files by "
                           "hawser_job_load",
                           call, i, j);
    if (a->means != b->means)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "%s: nodes %u and %u have replaced missing values by different means; pass those of one to the "
                           "others (hawser_load.means)",
                           call, i, j);
    if (a->index_base != b->index_base)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "%s: node %u counts columns from %d, and node %u from %d; set hawser_load.index_base", call, i,
                           a->index_base, j, b->index_base);
    return HAWSER_OK;
}
