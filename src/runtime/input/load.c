/* load.c - reads an input on all nodes together: each reads a share of the rows, which are then dealt out by column
 * (load_columns.c) or by row (load_rows.c). An input that cannot be read in parts is read by every node (a cache is mapped,
 * and only the needed pages are read). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/argument.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/type.h"
#include "data/layout/full.h"
#include "data/load.h"
#include "data/residence.h"
#include "data/share/array.h"
#include "data/share/shard.h"
#include "data/source/budget.h"
#include "data/source/claims.h"
#include "data/source/input.h"
#include "data/table/exact.h"
#include "data/table/schema.h"
#include "data/table/table.h"
#include "data/trim.h"
#include "data/vocabulary.h"
#include "hawser/job_data.h"
#include "runtime/input/loading.h"
#include "runtime/job/job.h"

hawser_status hw_loading_read(hw_loading *l, bool as_table, hawser_error *error)
{
    hawser_load part = *l->load;
    l->limit = hw_loading_limit(l);
    part.part = hw_loading_has_own_rows(l) ? HW_PART_OWN : l->self;
    part.parts = l->nodes;
    part.labels = l->labels ? HW_LABELS_AS_WORDS : part.labels;
    if (part.split == HAWSER_BY_ROW) {
        part.rows_layout = 1;
        part.like = NULL; /* the cut follows the reading */
    }
    return as_table ? hw_load_as_table(l->paths, l->path_count, &part, l->limit, l->quoted, &l->rows, error)
                    : hw_load_part(l->paths, l->path_count, &part, l->limit, &l->quoted, &l->rows, error);
}

/* Reads the part of this node. A quoted line end that one node meets may begin before the parts of others, which then read
 * theirs again, whatever they have found. Collective. */
static hawser_status read_parts(hw_loading *l, hawser_error *error)
{
    hawser_status status = hw_loading_read(l, false, error);
    const bool own = l->quoted;
    const hawser_status agreed = hw_cluster_agree_marked(l->cluster, status, own, &l->quoted, error);
    l->failed = agreed != HAWSER_OK;
    HAWSER_TRY(agreed); /* HAWSER_OK although this node has failed, if some must read again */
    if (!l->quoted)
        return HAWSER_OK;
    if (!own) {
        hawser_dataset_free(l->rows);
        l->rows = NULL;
        status = hw_loading_read(l, false, error);
    }
    return hw_loading_agree(l, status, error);
}

hawser_status hw_loading_agree_facts(hw_loading *l, hw_shard_facts own, hawser_error *error)
{
    HAWSER_TRY(HW_COLLECT(l, &own, &l->all, error));
    HAWSER_TRY(hw_shard_agree(l->all, l->nodes, &l->whole, error));
    l->rows->array.first = hw_shard_before(l->all, l->self);
    return HAWSER_OK;
}

/* Checks the number of columns, of which one index far away makes billions. */
hawser_status hw_loading_check_columns(hw_loading *l, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    if (l->whole.layout == HAWSER_DENSE || l->whole.layout == HAWSER_DENSE_ROWS)
        return HAWSER_OK;
    if (l->rows->widest != NULL)
        status = hw_check_claim(l->rows->widest, l->whole.cols, "columns", l->whole.bytes_text, l->load->memory_limit != 0,
                                error);
    /* the line of the largest index is known on the node that read it */
    return l->whole.cols > HW_CLAIMS_FREE ? hw_loading_agree(l, status, error) : status;
}

hawser_status hw_loading_count(hw_loading *l, hawser_error *error)
{
    const uint64_t own = l->rows->scattered ? l->rows->found : l->rows->matrix.rows;
    uint64_t *read = NULL;
    const hawser_status status = HW_COLLECT(l, &own, &read, error);
    hw_dataset_own(l->dataset, read);
    HAWSER_TRY(status);
    l->dataset->figures.readers = l->nodes;
    l->dataset->figures.rows_read = read;
    l->dataset->figures.bytes_here = l->rows->figures.bytes_read;
    return HAWSER_OK;
}

bool hw_loading_fills(hw_loading *l)
{
    const hawser_load *load = l->load;
    return load->missing != NULL && strncmp(load->missing, "mean", 4) == 0 && load->means == NULL &&
           hw_shard_lacks_values(&l->whole);
}

/* Leaves out columns that only rows of weight 0 have, before the nodes agree on the number of columns. */
static hawser_status trim_columns(hw_loading *l, hawser_error *error)
{
    hawser_dataset *side = NULL;
    const double *weights = NULL;
    hawser_status status = hw_loading_weights(l, false, &side, &weights, error);
    if (status == HAWSER_OK)
        hw_trim_columns(l->rows, weights);
    hawser_dataset_free(side);
    return status;
}

/* Agrees on the columns and sizes of the whole. */
static hawser_status agree(hw_loading *l, const char *name, hawser_error *error)
{
    HAWSER_TRY(hw_loading_agree_on_words(l, error));
    if (hw_vocabulary_is_cut(l->rows))
        HAWSER_TRY(hw_loading_agree_on_text(l, name, error));
    else if (hw_vocabulary_asked(l->load))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "%s: --min-documents, --max-documents, --max-words and --stop-words choose among columns over "
                           "several nodes only in text (--format text); convert it first: hawser data convert",
                           name);
    if (hw_trims_columns(l->load, l->rows->figures.format))
        HAWSER_TRY(trim_columns(l, error));
    hw_shard_facts own = hw_shard_facts_of(l->rows);
    if (l->load->split != HAWSER_BY_ROW && own.layout == HAWSER_DENSE_ROWS)
        own.layout = HAWSER_DENSE; /* what the rows become */
    HAWSER_TRY(hw_loading_agree_facts(l, own, error));
    return hw_shard_complete(&l->whole, name, error);
}

/* Stores the rows of each node densely if the whole is full. */
static hawser_status store_full(hw_loading *l, hawser_error *error)
{
    hw_shard_facts *whole = &l->whole;
    const hawser_matrix sizes = {.rows = whole->rows,
                                 .cols = whole->cols,
                                 .stored = whole->stored,
                                 .layout = (hawser_layout)whole->layout,
                                 .type = (hawser_type)whole->type};
    if (!hw_is_full(l->load, (hawser_format)whole->format, &sizes))
        return HAWSER_OK;
    whole->layout = l->load->split == HAWSER_BY_ROW ? HAWSER_DENSE_ROWS : HAWSER_DENSE;
    whole->stored = whole->rows * whole->cols;
    return hw_loading_agree(l, hw_loading_store_rows(l, error), error);
}

hawser_status hw_loading_store_rows(hw_loading *l, hawser_error *error)
{
    const uint32_t shift = l->rows->matrix.rows > 0 ? (uint32_t)(l->rows->figures.index_base - l->whole.index_base) : 0;
    return hw_store_densely(l->rows, l->whole.cols, shift, error);
}

hawser_status hw_loading_afford(hw_loading *l, uint64_t bytes, hawser_error *error)
{
    hw_budget budget;
    hw_budget_init(&budget, l->limit);
    return hw_loading_agree(l, hw_budget_estimate(&budget, bytes, error), error);
}

void hw_loading_note_memory(hw_loading *l)
{
    const hawser_load_figures *read = &l->rows->figures;
    hawser_load_figures *figures = &l->dataset->figures;
    figures->memory_estimate = read->memory_estimate > l->estimate ? read->memory_estimate : l->estimate;
    figures->memory_taken = read->memory_taken > l->estimate ? read->memory_taken : l->estimate;
}

static hawser_status load_shares(hw_loading *l, const char *name, hawser_error *error)
{
    if (l->turned && l->load->split == HAWSER_BY_ROW)
        return hw_loading_turn_columns(l, error);
    HAWSER_TRY(agree(l, name, error));
    HAWSER_TRY(store_full(l, error));
    HAWSER_TRY(l->load->split == HAWSER_BY_ROW ? hw_loading_by_row(l, name, error) : hw_loading_by_column(l, name, error));
    l->dataset->figures.unknown_words = l->rows->figures.unknown_words;
    l->dataset->figures.text_rules = l->rows->figures.text_rules;
    l->dataset->figures.text_length = l->rows->figures.text_length;
    return HAWSER_OK;
}

void hw_loading_free(hw_loading *l)
{
    free(l->all);
    hawser_dataset_free(l->rows);
    free(l->offsets);
    if (l->words != NULL)
        hw_levels_free(l->words);
    free(l->words);
    free(l->counts);
    hw_column_set_free(&l->occurring);
    hw_owners_free(&l->owners);
}

static hawser_status check_paths(const hawser_job *job, const char *const *paths, size_t count, hawser_error *error)
{
    for (size_t i = 0; i < count && hawser_job_nodes(job) > 1; i++)
        if (strcmp(paths[i], "-") == 0)
            return hawser_fail(
                error, HAWSER_BAD_OPTION,
                "- is the standard input of one process, and each of %u nodes reads its share of the input: name "
                "a file",
                hawser_job_nodes(job));
    return HAWSER_OK;
}

enum { INPUT_PATH = 200, INPUT_TEXT = INPUT_PATH + 100 };

/* What a node reports about the input that it reads. */
typedef struct input_report {
    uint64_t bytes; /* of all files; 0: unknown, as of a pipe */
    uint64_t files;
    uint64_t own;           /* the input has rows of this node's own */
    char first[INPUT_PATH]; /* the path of the first file, or its end */
} input_report;

static input_report report_of(const char *const *paths, size_t count, bool own_rows)
{
    input_report own = {.files = count, .own = own_rows};
    size_t length = strlen(paths[0]), most = sizeof own.first - 1;
    memcpy(own.first, paths[0] + (length > most ? length - most : 0), length > most ? most : length);
    for (size_t i = 0; i < count; i++) {
        struct stat file;
        if (stat(paths[i], &file) != 0 || !S_ISREG(file.st_mode)) {
            own.bytes = 0;
            break;
        }
        own.bytes += (uint64_t)file.st_size;
    }
    return own;
}

static const char *describe(const input_report *report, char text[INPUT_TEXT])
{
    if (report->files == 1)
        snprintf(text, INPUT_TEXT, "'%s' (%" PRIu64 " bytes)", report->first, report->bytes);
    else
        snprintf(text, INPUT_TEXT, "%" PRIu64 " files, '%s' first (%" PRIu64 " bytes in all)", report->files, report->first,
                 report->bytes);
    return text;
}

/* Fails if the files of two nodes have different sizes: each node would read its part of another whole. A copy may have
 * another path. Collective. */
static hawser_status compare_inputs(hw_loading *l, hawser_error *error)
{
    const input_report own = report_of(l->paths, l->path_count, hw_loading_has_own_rows(l)), *known = NULL;
    input_report *all = NULL;
    char texts[2][INPUT_TEXT];
    hawser_status status = HW_COLLECT(l, &own, &all, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        const input_report *other = &all[i];
        if (other->own != own.own)
            status = hawser_fail(error, HAWSER_BAD_ARGUMENT,
                                 "node %u and node %u do not both read rows of their own; pass the same hawser_load.parts",
                                 l->self, i);
        else if (own.own || other->bytes == 0)
            continue;
        else if (known != NULL && (other->bytes != known->bytes || other->files != known->files))
            status =
                hawser_fail(error, HAWSER_BAD_INPUT, "node %u reads %s, and node %u reads %s; give all nodes the same input",
                            (uint32_t)(known - all), describe(known, texts[0]), i, describe(other, texts[1]));
        known = known != NULL ? known : other;
    }
    free(all);
    return hw_loading_agree(l, status, error);
}

/* A share of the lines of a cache has what the file says of all rows. Collective. */
static hawser_status unite_equals(hw_loading *l, hawser_error *error)
{
    const hawser_dataset *rows = l->rows;
    if (l->turned)
        return hw_loading_agree(l, hw_equals_copy(&l->dataset->equals, &rows->equals, error), error);
    int shift =
        rows->figures.index_base >= 0 && l->whole.index_base >= 0 ? rows->figures.index_base - l->whole.index_base : 0;
    return hw_loading_unite_equals(l, &rows->equals, rows->matrix.rows > 0, shift, &l->dataset->equals, error);
}

static hawser_status load_on_all(hawser_job *job, const char *const *paths, size_t count, const hawser_load *load,
                                 hawser_dataset **dataset, hawser_error *error)
{
    HAWSER_TRY(check_paths(job, paths, count, error));
    if (load->split == HAWSER_BY_ROW && job->cluster == NULL)
        return hw_load_rows_alone(job, paths, count, load, dataset, error);
    if (job->cluster == NULL || (load->rows_layout != 0 && load->split != HAWSER_BY_ROW))
        return hw_load_within(paths, count, load, load->memory_limit != 0 ? load->memory_limit : job->settings.memory,
                              dataset, error);
    hw_loading l = hw_loading_of(job, load);
    l.paths = paths;
    l.path_count = count;
    hw_cluster_set_phase(l.cluster, "reading the input");
    hawser_status status = compare_inputs(&l, error);
    if (status == HAWSER_OK && hw_loading_has_own_rows(&l) && load->format != HAWSER_CSV)
        status = hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_job_load: parts is 1, which is for the format HAWSER_CSV");
    HAWSER_THEN(status, hw_loading_read_cache(&l, error));
    if (status == HAWSER_OK && !l.turned)
        status = read_parts(&l, error);
    bool whole = status == HAWSER_OK && !l.rows->figures.parted; /* all nodes agree, because it is one input */
    if (status == HAWSER_OK && !whole)
        status = hw_loading_agree(&l, load_shares(&l, paths[0], error), error);
    if (status == HAWSER_OK && l.words != NULL)
        status = hw_loading_agree(&l, hw_exact_schema(l.dataset, l.words, error), error);
    if (status == HAWSER_OK && !whole)
        status = unite_equals(&l, error);
    if (whole && load->split == HAWSER_BY_ROW)
        status = hw_loading_agree(&l, hw_loading_cut_whole(&l, error), error);
    if (status == HAWSER_OK) {
        *dataset = whole ? l.rows : l.dataset;
        l.rows = whole ? NULL : l.rows;
    } else {
        hawser_dataset_free(l.dataset);
    }
    hw_cluster_set_phase(l.cluster, "between two runs");
    hw_loading_free(&l);
    return status;
}

void hawser_job_loaded(hawser_job *job, const hawser_dataset *dataset)
{
    if (job != NULL && dataset != NULL && dataset->figures.memory_taken > job->settings.loaded)
        job->settings.loaded = dataset->figures.memory_taken;
    if (job != NULL)
        hw_checkpoints_loaded(job, dataset);
}

hawser_status hawser_job_load(hawser_job *job, const char *const *paths, size_t count, const hawser_load *load,
                              hawser_dataset **dataset, hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(paths);
    HW_GIVEN(load);
    HW_GIVEN(dataset);
    *dataset = NULL;
    hawser_load own = *load;
    if (own.cancellation == NULL)
        own.cancellation = job->cancellation;
    hw_job_cancellable(job, own.cancellation);
    hawser_status status = hw_job_uncancellable(job, load_on_all(job, paths, count, &own, dataset, error));
    hawser_job_loaded(job, *dataset);
    return status;
}
