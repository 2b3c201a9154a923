/* text.c - svmlight, CSV and documents in pieces: the parsers of a load, on one chunk at a time. */
#include <string.h>

#include "base/memory.h"
#include "data/exposure.h"
#include "data/format/svmlight.h"
#include "data/layout/assemble.h"
#include "data/rows/rows.h"

/* Columns beyond the model's that are told apart; all further ones count as one. */
enum { UNSEEN_MOST = 1 << 26 };

/* ---- svmlight ---- */

static hawser_status note_unseen(hawser_rows *rows, uint64_t column, hawser_error *error)
{
    size_t place = column < UNSEEN_MOST ? (size_t)column : UNSEEN_MOST;
    hawser_load_figures *figures = &rows->figures;
    size_t before = rows->unseen_bytes;
    if (place / 8 >= before) {
        HAWSER_TRY(HW_GROW(&rows->unseen, &rows->unseen_bytes, place / 8 + 1, "the columns that a model lacks", error));
        memset(rows->unseen + before, 0, rows->unseen_bytes - before);
    }
    figures->unseen_entries++;
    figures->unseen_columns += (rows->unseen[place / 8] >> place % 8 & 1) == 0;
    rows->unseen[place / 8] |= (unsigned char)(1 << place % 8);
    return HAWSER_OK;
}

/* Leaves out the entries of columns that the model does not have. */
static hawser_status drop_unseen(hawser_rows *rows, hw_text_part *part, hawser_error *error)
{
    uint32_t base = (uint32_t)rows->load.index_base - 1;
    uint64_t limit = rows->load.columns, kept = 0, e = 0;
    size_t size = rows->load.type == HAWSER_F32 ? sizeof(float) : sizeof(double);
    if (part->entries == 0 || part->most < base + limit)
        return HAWSER_OK;
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&rows->lock);
    for (uint64_t r = 0; r < part->rows; r++) {
        for (; e < part->ends[r]; e++) {
            if (part->indices[e] - base >= limit) {
                status = status == HAWSER_OK ? note_unseen(rows, part->indices[e] - base - limit, error) : status;
                continue;
            }
            part->indices[kept] = part->indices[e];
            memmove((char *)part->values + kept++ * size, (char *)part->values + e * size, size);
        }
        part->ends[r] = kept;
    }
    pthread_mutex_unlock(&rows->lock);
    part->entries = kept;
    part->most = (uint32_t)(base + limit - 1);
    return status;
}

static hawser_status take_svmlight(hawser_rows *rows, hw_reading *reading, hw_text_part *part, hawser_dataset *dataset,
                                   hawser_error *error)
{
    const char *target = rows->load.target;
    HAWSER_TRY(drop_unseen(rows, part, error));
    HAWSER_TRY(hw_assemble_rows(reading, dataset, error));
    if (target != NULL && strcmp(target, "none") == 0)
        dataset->target = NULL;
    return HAWSER_OK;
}

/* ---- CSV ---- */

/* Finds the text of the column that identifies a row. Returns whether it stood in quotes. */
static bool find_id(const hw_csv *csv, const hw_chunk *chunk, const char *row, const char **begin, const char **stop)
{
    const char *at = row;
    *begin = *stop = at;
    for (size_t j = 0; j < csv->id && at != NULL; j++)
        at = hw_csv_field(at + (j > 0), chunk->end, csv->delimiter, begin, stop);
    return *begin > chunk->begin && (*begin)[-1] == '"';
}

/* Keeps the text of the column that identifies each row: pointers, then texts. */
static hawser_status keep_ids(const hw_csv *csv, const hw_chunk *chunk, const hw_text_part *part, hawser_piece *piece,
                              hawser_error *error)
{
    size_t bytes = 0;
    const char *begin, *stop;
    char **ids;
    for (uint64_t r = 0; r < part->rows; r++) {
        (void)find_id(csv, chunk, part->starts[r], &begin, &stop);
        bytes += (size_t)(stop - begin) + 1;
    }
    HAWSER_TRY(hw_new_array((void **)&ids, part->rows * sizeof *ids + bytes, 1, "the ids of rows", error));
    hw_dataset_own(piece->data, ids);
    piece->ids = (const char *const *)ids;
    char *to = (char *)(ids + part->rows);
    for (uint64_t r = 0; r < part->rows; r++) {
        bool quoted = find_id(csv, chunk, part->starts[r], &begin, &stop);
        ids[r] = to;
        for (const char *from = begin; from < stop; from++) {
            *to++ = *from;
            from += quoted && *from == '"' && from + 1 < stop && from[1] == '"';
        }
        *to++ = '\0';
    }
    return HAWSER_OK;
}

static hawser_status take_table(const hawser_rows *rows, hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    hw_table_rules rules = rows->csv.rules;
    struct hw_table *table;
    rules.borrowed = true;
    HAWSER_TRY(hw_table_new(reading, &rules, &table, error));
    hw_table_wishes wishes = {
        .type = rows->load.type, .by_row = true, .dense_rows = true, .means = rows->load.means, .threads = 1};
    hawser_status status = hw_table_settle(table, rows->csv.rules.known, &wishes, dataset, error);
    hw_table_free(table);
    return status;
}

/* Names the targets as the rows do, which outlive the piece. */
static void name_targets(const hw_table_rules *rules, hawser_dataset *dataset)
{
    for (size_t j = 0; j < rules->width && rules->names != NULL; j++)
        if (rules->roles[j] == HW_TARGET)
            dataset->target_name = rules->names[j];
        else if (rules->roles[j] >= HW_FURTHER && rules->roles[j] < HW_UNSEEN)
            dataset->further_names[rules->roles[j] - HW_FURTHER] = rules->names[j];
}

static hawser_status take_csv(hawser_rows *rows, hw_reading *reading, hw_text_part *part, hw_text_load *text,
                              hawser_dataset *dataset, hawser_error *error)
{
    const hw_csv *csv = &rows->csv;
    if (csv->text != 0)
        HAWSER_TRY(hw_text_assemble(reading, text, dataset, error));
    part->entries = part->rows * csv->rules.width;
    if (rows->reading.as_table || part->survey != NULL)
        return take_table(rows, reading, dataset, error);
    return hw_assemble_dense(reading, csv->rules.width, csv->rules.roles, csv->rules.missing_number == HW_MEAN, dataset,
                             error);
}

/* ---- pieces of all of them ---- */

static bool is_csv(const hawser_rows *rows)
{
    return rows->csv.rules.width > 0;
}

static bool is_documents(const hawser_rows *rows)
{
    return rows->reading.input.documents;
}

static hawser_status take_rows(hawser_rows *rows, hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                               hw_text_load *text, hawser_piece *piece, hawser_error *error)
{
    hawser_dataset *dataset;
    HAWSER_TRY(hw_rows_dataset(rows, &dataset, error));
    piece->data = dataset;
    if (is_csv(rows) && rows->csv.id != 0)
        HAWSER_TRY(keep_ids(&rows->csv, chunk, part, piece, error));
    uint64_t count = part->rows;
    HAWSER_TRY(is_csv(rows)         ? take_csv(rows, reading, part, text, dataset, error)
               : is_documents(rows) ? hw_text_assemble(reading, text, dataset, error)
                                    : take_svmlight(rows, reading, part, dataset, error));
    if (is_csv(rows))
        name_targets(&rows->csv.rules, dataset);
    pthread_mutex_lock(&rows->lock);
    if (is_csv(rows))
        rows->figures.unseen_entries += rows->figures.unseen_columns * count;
    rows->figures.unknown_words += dataset->figures.unknown_words;
    pthread_mutex_unlock(&rows->lock);
    return HAWSER_OK;
}

static hawser_status parse_piece(const hawser_rows *rows, hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                                 hw_text_load *text, hawser_error *error)
{
    hw_csv csv = rows->csv;
    csv.cut = csv.text != 0 ? text : NULL;
    if (is_documents(rows))
        return hw_documents_parse(text, reading, chunk, part, error);
    return is_csv(rows) ? hw_csv_parse(&csv, reading, chunk, part, error)
                        : hw_svmlight_parse(NULL, reading, chunk, part, error);
}

/* Reads the next piece. If a chunk has a bad row, the rows before it are taken, too. */
static hawser_status next_text(hawser_rows *rows, hw_rows_slot *slot, hawser_piece *piece, bool *more, hawser_error *error)
{
    hw_text_part part = {.least = UINT32_MAX}, *parts = &part;
    size_t one = 1;
    hw_reading reading;
    hawser_status cut = hw_input_next(&rows->reading.input, 0, &slot->chunk, more, error);
    piece->number = slot->chunk.sequence;
    if (cut != HAWSER_OK || !*more)
        return cut;
    hw_rows_reading(rows, &reading);
    reading.parts = &parts;
    reading.part_counts = &one;
    hw_text_reader words = {0};
    hw_text_load text = hw_text_load_of(&rows->text, &words, &reading.budget);
    hawser_status parsed = parse_piece(rows, &reading, &slot->chunk, &part, &text, error);
    pthread_mutex_lock(&rows->lock);
    rows->figures.rows_dropped += part.dropped;
    pthread_mutex_unlock(&rows->lock);
    hawser_status status = HAWSER_OK;
    hawser_error own = {0};
    if (part.rows > 0 && (parsed == HAWSER_OK || parsed == HAWSER_BAD_INPUT))
        status = take_rows(rows, &reading, &slot->chunk, &part, &text, piece, parsed == HAWSER_OK ? error : &own);
    hw_text_reader_end(&words);
    hw_part_free(&reading, &part);
    hw_chunk_done(&slot->chunk);
    if (status != HAWSER_OK) {
        hawser_dataset_free(piece->data);
        piece->data = NULL;
    }
    return parsed != HAWSER_OK ? parsed : status;
}

static const hw_rows_kind text_kind = {.next = next_text};

/* Returns why rows whose text has no columns by name must be loaded as a whole: a file has numbers of the rows; or NULL.
 * first: the rows begin with a target. */
static const char *beside_rows(const hawser_load *load, bool first)
{
    if (hw_rows_wants(hw_load_offset(load)))
        return "its offset is in a file of its own";
    if (load->target_optional)
        return NULL;
    if (hw_rows_wants(load->target) && !(first && strcmp(load->target, "0") == 0))
        return "its target is in a file of its own";
    return hw_rows_wants(load->weights) ? "its weights are in a file of its own" : NULL;
}

hawser_status hw_rows_documents(hawser_rows *rows, const char **why, hawser_error *error)
{
    *why = beside_rows(&rows->load, false);
    rows->kind = &text_kind;
    rows->reading.input.documents = true;
    return *why == NULL ? hw_text_begin(&rows->reading, &rows->text, error) : HAWSER_OK;
}

hawser_status hw_rows_svmlight(hawser_rows *rows, const char **why, hawser_error *error)
{
    const hawser_load *load = &rows->load;
    (void)error;
    *why = beside_rows(load, true);
    if (load->index_base == 0)
        *why = "the model does not say from where its column indices count, which all rows together show (--index-base)";
    rows->figures.index_base = load->index_base - 1;
    rows->kind = &text_kind;
    return HAWSER_OK;
}

hawser_status hw_rows_csv(hawser_rows *rows, const char **why, hawser_error *error)
{
    hw_csv *csv = &rows->csv;
    hw_table_rules *rules = &csv->rules;
    HAWSER_TRY(hw_csv_begin(&rows->reading, csv, error));
    csv->quoted = true; /* chunks are cut in their order, so that this needs no search before the first */
    HAWSER_TRY(hw_input_rows(&rows->reading.input, csv->comments, true, csv->delimiter, false, error));
    for (size_t j = 0; j < rules->width; j++)
        rows->figures.unseen_columns += rules->roles[j] == HW_UNSEEN;
    *why = hw_rows_sides(&rows->load, rules->roles, rules->width);
    if (*why == NULL && rules->missing_number == HW_MEAN && rows->load.means == NULL)
        *why = "all rows together have the means";
    if (*why == NULL && rules->known == NULL && rules->texts != NULL)
        *why = "all rows together decide what its words and dates become";
    if (*why == NULL && rows->load.text != NULL && rules->known == NULL)
        *why = "the model's columns have no names";
    if (*why != NULL) {
        rows->figures.unseen_columns = 0;
        hw_csv_free(csv);
        *csv = (hw_csv){0};
    }
    rows->kind = &text_kind;
    return csv->text != 0 ? hw_text_begin(&rows->reading, &rows->text, error) : HAWSER_OK;
}
