#include "runtime/input/source.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/cache/cache.h"
#include "data/exposure.h"
#include "data/load.h"
#include "data/residence.h"
#include "data/share/block_digest.h"
#include "data/table/schema.h"
#include "data/vocabulary.h"

enum { TEXTS = 16 };

/* Lists the texts of a load. */
static void texts_of(hawser_load *load, const char **texts[TEXTS])
{
    const char **const all[TEXTS] = {&load->target,        &load->weights,       &load->offset,     &load->groups,
                                     &load->exposure,      &load->names,         &load->select,     &load->ignore,
                                     &load->categories,    &load->dates,         &load->missing,    &load->id,
                                     &load->min_documents, &load->max_documents, &load->stop_words, &load->text};
    memcpy(texts, all, sizeof all);
}

static void free_source(struct hw_source *source)
{
    const char **texts[TEXTS];
    texts_of(&source->load, texts);
    for (int i = 0; i < TEXTS; i++)
        free((char *)(uintptr_t)*texts[i]);
    for (size_t i = 0; i < source->path_count && source->paths != NULL; i++)
        free(source->paths[i]);
    for (size_t i = 0; i < source->file_count; i++)
        free(source->files[i].name);
    hawser_schema_free(source->schema);
    free(source->means);
    free(source->paths);
    free(source->files);
    free(source->facts);
    free(source->digests);
    free(source);
}

/* ------------------------------------------------------------------------------------------------ what is kept ---- */

static hawser_status add_file(struct hw_source *source, size_t *capacity, const char *name, hawser_error *error)
{
    struct stat facts;
    HAWSER_TRY(HW_GROW(&source->files, capacity, source->file_count + 1, "names of files", error));
    hw_source_file *file = &source->files[source->file_count];
    *file = (hw_source_file){0};
    HAWSER_TRY(hw_copy_text(&file->name, name, error));
    source->file_count++;
    if (strcmp(name, "-") == 0 || stat(name, &facts) != 0)
        return HAWSER_OK;
    file->regular = S_ISREG(facts.st_mode);
    file->bytes = (uint64_t)facts.st_size;
    file->seconds = facts.st_mtim.tv_sec;
    file->nanoseconds = facts.st_mtim.tv_nsec;
    return HAWSER_OK;
}

/* Adds the files of a path, as the readers resolve it. */
static hawser_status add_path(struct hw_source *source, size_t *capacity, const char *path, hawser_error *error)
{
    glob_t found = {0};
    if (strcmp(path, "-") == 0 || access(path, F_OK) == 0 || glob(path, 0, NULL, &found) != 0)
        return add_file(source, capacity, path, error);
    hawser_status status = HAWSER_OK;
    for (size_t i = 0; i < found.gl_pathc && status == HAWSER_OK; i++)
        status = add_file(source, capacity, found.gl_pathv[i], error);
    globfree(&found);
    return status;
}

static hawser_status note_files(struct hw_source *source, hawser_error *error)
{
    const char *const beside[] = {source->load.target, source->load.weights, hw_load_offset(&source->load)};
    size_t capacity = 0;
    for (size_t i = 0; i < source->path_count; i++)
        HAWSER_TRY(add_path(source, &capacity, source->paths[i], error));
    for (int i = 0; i < 3; i++)
        if (beside[i] != NULL && strcmp(beside[i], "none") != 0 && hw_is_file(beside[i]))
            HAWSER_TRY(add_file(source, &capacity, beside[i], error));
    return HAWSER_OK;
}

/* Copies the texts of the load, its schema and its means. */
static hawser_status copy_load(hw_loading *l, const hawser_dataset *dataset, struct hw_source *source, hawser_error *error)
{
    const char **texts[TEXTS];
    hawser_load from = *l->load;
    hawser_status status = HAWSER_OK;
    source->load = from;
    texts_of(&source->load, texts);
    for (int i = 0; i < TEXTS; i++) {
        const char *text = *texts[i];
        char *copy = NULL;
        if (text != NULL && status == HAWSER_OK)
            status = hw_copy_text(&copy, text, error);
        *texts[i] = copy;
    }
    source->load.schema = NULL;
    source->load.means = NULL;
    source->load.like = NULL;
    source->load.rows_layout = 1;
    HAWSER_TRY(status);
    if (from.schema != NULL)
        HAWSER_TRY(hw_schema_copy(from.schema, &source->schema, error));
    else if (hw_vocabulary_is_new(&from) && dataset->schema != NULL) /* and the target's words */
        HAWSER_TRY(hw_schema_copy(dataset->schema, &source->schema, error));
    else if (hw_vocabulary_is_new(&from)) /* the words of the whole, of which a part may have few */
        HAWSER_TRY(hw_schema_of_names(dataset, &source->schema, error));
    source->load.schema = source->schema;
    if (from.means == NULL)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&source->means, source->cols, "the columns' means", error));
    memcpy(source->means, from.means, source->cols * sizeof *source->means);
    source->load.means = source->means;
    return HAWSER_OK;
}

static hawser_status copy_facts(hw_loading *l, struct hw_source *source, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&source->facts, l->nodes, "what the nodes have read", error));
    memcpy(source->facts, l->all, l->nodes * sizeof *l->all);
    source->parts = l->nodes;
    source->whole = l->whole;
    source->quoted = l->quoted;
    source->as_table = l->as_table && !hw_vocabulary_is_new(l->load); /* whose schema is known then */
    source->load.labels = l->labels ? HW_LABELS_AS_WORDS : source->load.labels;
    source->fills = !l->whole.scattered && hw_loading_fills(l);
    source->sides = l->sides;
    return HAWSER_OK;
}

static hawser_status fill_source(hw_loading *l, const hawser_dataset *dataset, struct hw_source *source, bool parted,
                                 hawser_error *error)
{
    HAWSER_TRY(copy_load(l, dataset, source, error));
    source->turned = l->turned;
    if (l->cluster != NULL && !parted) {
        source->load.part = l->self;
        source->load.parts = l->nodes;
    }
    HAWSER_TRY(HW_NEW(&source->paths, l->path_count, "names of files", error));
    source->path_count = l->path_count;
    for (size_t i = 0; i < l->path_count; i++)
        HAWSER_TRY(hw_copy_text(&source->paths[i], l->paths[i], error));
    HAWSER_TRY(note_files(source, error));
    HAWSER_TRY(HW_NEW(&source->digests, source->blocks, "digests of blocks", error));
    return parted ? copy_facts(l, source, error) : HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------ digests ---- */

/* Returns the digest of a block on this node. Rows of a mapped cache have the checksum of the file, which is checked
 * whenever it is mapped. */
static uint64_t digest_of(const hawser_dataset *dataset, const hawser_matrix *A, const double *const beside[HW_BESIDE_MOST])
{
    uintptr_t values = (uintptr_t)A->values, map = (uintptr_t)dataset->mapping;
    bool mapped = dataset->mapping != NULL && values >= map && values - map < dataset->mapping_bytes;
    return mapped ? hw_beside_digest(A->rows, beside) + hw_cache_digest(dataset) : hw_rows_digest(A, beside);
}

static uint64_t digest_block(const hawser_dataset *dataset, uint32_t b)
{
    const struct hw_row_blocks *rows = dataset->residence != NULL ? dataset->residence->rows : NULL;
    const double *beside[HW_BESIDE_MOST] = {dataset->target, dataset->weights, dataset->offset, dataset->groups};
    if (rows != NULL && !hw_row_block_here(rows, b))
        return 0;
    if (rows != NULL)
        return digest_of(dataset, &rows->block[b].matrix, (const double *const *)rows->block[b].beside);
    size_t begin = dataset->cut[b];
    const hawser_matrix part = hawser_matrix_rows(&dataset->matrix, begin, dataset->cut[b + 1]);
    memcpy(beside + HW_BESIDE_FURTHER, dataset->further, sizeof dataset->further);
    for (unsigned k = 0; k < HW_BESIDE_MOST; k++)
        beside[k] = beside[k] != NULL ? beside[k] + begin : NULL;
    return digest_of(dataset, &part, beside);
}

/* Every node computes the digests of its own blocks, and all nodes exchange them. */
static hawser_status find_digests(hw_loading *l, const hawser_dataset *dataset, struct hw_source *source,
                                  hawser_error *error)
{
    for (uint32_t b = 0; b < source->blocks; b++)
        source->digests[b] = digest_block(dataset, b);
    return l->cluster == NULL ? HAWSER_OK : hw_loading_by_block(l, &dataset->residence->rows->view, source->digests, error);
}

hawser_status hw_source_keep(hw_loading *l, hawser_dataset *dataset, bool parted, hawser_error *error)
{
    struct hw_source *source = NULL;
    if (l->paths == NULL || (l->cluster != NULL && hw_loading_has_own_rows(l)))
        return HAWSER_OK; /* no other node can read them again */
    hawser_status status = HW_NEW(&source, 1, "the source of the rows", error);
    if (status == HAWSER_OK) {
        dataset->source = source;
        dataset->free_source = free_source;
        source->rows = dataset->matrix.rows;
        source->cols = dataset->matrix.cols;
        source->blocks = l->job->settings.blocks;
        status = fill_source(l, dataset, source, parted, error);
    }
    status = hw_loading_agree(l, status, error);
    return status == HAWSER_OK ? find_digests(l, dataset, source, error) : status;
}

hawser_status hw_source_changed(const struct hw_source *source, uint32_t block, hawser_error *error)
{
    struct stat facts;
    const char *name = source->files[0].name;
    bool found = source->file_count == 1;
    for (size_t i = 0; i < source->file_count && !found; i++) {
        const hw_source_file *file = &source->files[i];
        found = stat(file->name, &facts) != 0 || (uint64_t)facts.st_size != file->bytes ||
                facts.st_mtim.tv_sec != file->seconds || facts.st_mtim.tv_nsec != file->nanoseconds;
        name = found ? file->name : name;
    }
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "%s%s has changed since it was loaded: the rows of block %u are no longer what they were; restore "
                       "the file, or start again with the new one",
                       name, found ? "" : ", or a file beside it,", block);
}
