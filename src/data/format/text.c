#include "data/format/text.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "data/formats.h"
#include "data/table/schema.h"

/* Returns the characters that a word of this load has at least. */
static uint32_t least_of(const hawser_load *load)
{
    return load->min_length != 0 ? load->min_length : HW_TEXT_LEAST;
}

/* ------------------------------------------------------------------------------------------------------ readers ---- */

/* Makes a reader whose memory is counted in `budget`. */
static void begin_reader(hw_text_reader *reader, const hw_text_load *text, hw_budget *budget)
{
    *reader = (hw_text_reader){.cutter.least = text->least, .words.budget = budget};
}

void hw_text_reader_end(hw_text_reader *reader)
{
    if (reader->words.budget == NULL)
        return;
    hw_pages_free(reader->words.budget, reader->ends, reader->ends_bytes);
    hw_pages_free(reader->words.budget, reader->numbers, reader->numbers_bytes);
    hw_lexicon_free(&reader->words);
    free(reader->cutter.word);
    *reader = (hw_text_reader){0};
}

hw_text_load hw_text_load_of(const hw_text_load *text, hw_text_reader *reader, hw_budget *budget)
{
    hw_text_load own = *text;
    begin_reader(reader, text, budget);
    own.readers = reader;
    own.count = 1;
    return own;
}

/* Numbers the words of a model by its columns. */
static hawser_status take_words(const hw_reading *reading, hw_text_load *text, hawser_error *error)
{
    const hawser_schema *schema = reading->load->schema;
    const char *name = reading->input.files[0].name;
    if (schema == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: is text, whose words are matched with the names of the model's columns, and they have none",
                           name);
    for (size_t k = 0; k < schema->count; k++) {
        const hawser_schema_column *column = &schema->columns[k].shape;
        uint32_t number;
        if (column->kind != HAWSER_NUMERIC)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s: is text, and column '%.100s' of the model has %s; such a model reads tables", name,
                               column->name, column->kind == HAWSER_DATE ? "dates" : "categories");
        const size_t length = strlen(column->name);
        HAWSER_TRY(hw_lexicon_put(&text->lexicon, column->name, length, hw_word_hash(column->name, length), &number, error));
        if (number != k)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: two columns of the model have the name '%.100s'", name,
                               column->name);
    }
    text->has_words = true;
    return HAWSER_OK;
}

hawser_status hw_text_begin(hw_reading *reading, hw_text_load *text, hawser_error *error)
{
    const hawser_load *load = reading->load;
    *text = (hw_text_load){.least = least_of(load), .lexicon.budget = &reading->budget};
    if (load->schema != NULL || load->columns != 0)
        HAWSER_TRY(take_words(reading, text, error));
    HAWSER_TRY(HW_NEW(&text->readers, reading->threads, "readers of text", error));
    text->count = reading->threads;
    for (uint32_t k = 0; k < text->count; k++)
        begin_reader(&text->readers[k], text, &reading->budget);
    return HAWSER_OK;
}

void hw_text_end(hw_text_load *text)
{
    for (uint32_t k = 0; k < text->count; k++)
        hw_text_reader_end(&text->readers[k]);
    free(text->readers);
    if (text->lexicon.budget != NULL)
        hw_lexicon_free(&text->lexicon);
    *text = (hw_text_load){0};
}

/* ---------------------------------------------------------------------------------------------------- documents ---- */

/* Makes room for `count` items, at least doubling. */
static hawser_status grow(const hw_text_reader *reader, void **pages, size_t *bytes, size_t count, size_t size,
                          hawser_error *error)
{
    enum { FIRST = 1 << 14 };
    if (count * size <= *bytes)
        return HAWSER_OK;
    size_t wanted = *bytes != 0 ? 2 * *bytes : FIRST;
    return hw_pages_grow(reader->words.budget, pages, bytes, wanted > count * size ? wanted : count * size, error);
}

hawser_status hw_text_cut(const hw_text_load *text, hw_text_reader *reader, const hw_chunk *chunk, const char *begin,
                          const char *end, hawser_error *error)
{
    hw_cutter *cutter = &reader->cutter;
    cutter->at = begin;
    cutter->end = end;
    cutter->bad = NULL;
    for (bool found = true; found;) {
        uint32_t number;
        HAWSER_TRY(hw_cut_word(cutter, &found, error));
        if (!found)
            break;
        if (!text->has_words) {
            HAWSER_TRY(hw_lexicon_put(&reader->words, cutter->word, cutter->length, cutter->hash, &number, error));
        } else if (!hw_lexicon_find(&text->lexicon, cutter->word, cutter->length, cutter->hash, &number)) {
            reader->unknown++;
            continue;
        }
        HAWSER_TRY(grow(reader, (void **)&reader->numbers, &reader->numbers_bytes, reader->count + 1,
                        sizeof *reader->numbers, error));
        reader->numbers[reader->count++] = number;
    }
    if (cutter->bad == NULL)
        return HAWSER_OK;
    return hw_chunk_fail(chunk, cutter->bad, error,
                         "the text is not UTF-8; convert the file, for example: iconv -f ISO-8859-1 -t UTF-8");
}

hawser_status hw_text_end_row(hw_text_reader *reader, hawser_error *error)
{
    HAWSER_TRY(grow(reader, (void **)&reader->ends, &reader->ends_bytes, reader->rows + 1, sizeof *reader->ends, error));
    reader->ends[reader->rows++] = reader->count;
    return HAWSER_OK;
}

void hw_text_drop_row(hw_text_reader *reader)
{
    reader->count = reader->rows > 0 ? reader->ends[reader->rows - 1] : 0;
}

hawser_status hw_text_keep(hw_reading *reading, hw_text_reader *reader, hw_text_part *part, hawser_error *error)
{
    hw_documents *to = &part->documents;
    hw_text_drop_row(reader); /* a document that was not ended, because it is bad */
    const size_t ends = reader->rows * sizeof *to->ends, numbers = reader->count * sizeof *to->numbers;
    HAWSER_TRY(hw_pages_new(&reading->budget, &to->pages, ends + numbers, error));
    to->bytes = ends + numbers;
    to->rows = reader->rows;
    to->ends = to->pages;
    to->numbers = to->pages == NULL ? NULL : (uint32_t *)(void *)((char *)to->pages + ends);
    if (ends > 0)
        memcpy(to->ends, reader->ends, ends);
    if (numbers > 0)
        memcpy(to->numbers, reader->numbers, numbers);
    reader->rows = reader->count = 0;
    return HAWSER_OK;
}

hawser_status hw_documents_parse(void *context, hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                                 hawser_error *error)
{
    const hw_text_load *text = context;
    hw_text_reader *reader = hw_text_reader_of(text, reading, chunk);
    hawser_status status = HAWSER_OK;
    for (const char *at = hw_chunk_text(chunk); status == HAWSER_OK && at < chunk->end;) {
        const char *stop = memchr(at, '\n', (size_t)(chunk->end - at));
        stop = stop != NULL ? stop : chunk->end; /* a file that is overwritten may lose its last line end */
        status = hw_text_cut(text, reader, chunk, at, stop, error);
        HAWSER_THEN(status, hw_text_end_row(reader, error));
        at = stop + 1;
    }
    const hawser_status kept = hw_text_keep(reading, reader, part, status == HAWSER_OK ? error : NULL);
    part->rows = part->documents.rows;
    part->entries = part->rows > 0 ? part->documents.ends[part->rows - 1] : 0;
    return status != HAWSER_OK ? status : kept;
}

/* -------------------------------------------------------------------------------------------------------- memory ---- */

/* Estimates the memory of a load of `text` bytes from documents that `reader` has cut from `sample` bytes. */
static uint64_t estimate_bytes(const hw_reading *reading, const hw_text_reader *reader, double text, double sample)
{
    const double size = reading->load->type == HAWSER_F32 ? 8 : 12, share = sample > 0 ? text / sample : 1;
    const double words = (double)reader->words.count * sqrt(share > 1 ? share : 1);
    double entries = share * (double)reader->count;
    entries = entries * (reading->load->rows_layout != 0 || reading->load->parts > 1 ? size : 2 * size);
    return (uint64_t)(entries * 1.05 + share * (double)reader->rows * 32 + words * 128 * reading->threads) +
           ((uint64_t)4 << 20) * reading->threads;
}

/* What is wrong with the lines is found when they are read. */
hawser_status hw_text_estimate(hw_reading *reading, const hw_text_load *text, uint64_t more, hawser_error *error)
{
    enum { SAMPLE = 1 << 20 };
    const char *head;
    size_t bytes;
    hw_text_reader reader;
    HAWSER_TRY(hw_input_first(&reading->input, 0, HW_GUESS_BYTES, &head, &bytes, error));
    bytes = bytes < SAMPLE ? bytes : SAMPLE;
    begin_reader(&reader, text, &reading->budget);
    hawser_status status = HAWSER_OK;
    for (const char *at = head, *stop; status == HAWSER_OK && at < head + bytes; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(head + bytes - at));
        stop = stop != NULL ? stop : head + bytes;
        reader.cutter.at = at;
        reader.cutter.end = stop;
        reader.cutter.bad = NULL;
        for (bool found = true; status == HAWSER_OK && found;) {
            uint32_t number;
            status = hw_cut_word(&reader.cutter, &found, error);
            if (status == HAWSER_OK && found)
                status = hw_lexicon_put(&reader.words, reader.cutter.word, reader.cutter.length, reader.cutter.hash, &number,
                                        error);
            reader.count += found;
        }
        reader.rows++;
    }
    const double all = (double)hw_input_text_bytes(&reading->input);
    const uint64_t need = estimate_bytes(reading, &reader, all > 0 ? all : (double)bytes, (double)bytes);
    hw_text_reader_end(&reader);
    return status == HAWSER_OK ? hw_budget_estimate(&reading->budget, need + more, error) : status;
}

/* --------------------------------------------------------------------------------------------------------- format ---- */

bool hw_is_documents(const char *text, size_t bytes)
{
    (void)text, (void)bytes; /* any text is one, so it is never guessed */
    return false;
}

static hawser_status load_documents(hw_reading *reading, hw_text_load *text, hawser_dataset *dataset, hawser_error *error)
{
    HAWSER_TRY(hw_text_begin(reading, text, error));
    HAWSER_TRY(hw_text_estimate(reading, text, 0, error));
    HAWSER_TRY(hw_parse(reading, hw_documents_parse, text, error));
    return hw_text_assemble(reading, text, dataset, error);
}

hawser_status hw_documents_load(hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    hw_text_load text = {0};
    reading->input.documents = true;
    const hawser_status status = load_documents(reading, &text, dataset, error);
    hw_text_end(&text);
    return status;
}

hawser_status hw_documents_write(const hawser_dataset *whole, hawser_dataset *rows, const char *path, hawser_error *error)
{
    (void)whole, (void)rows;
    return hawser_fail(error, HAWSER_BAD_OPTION, "%s: text is read and not written", path);
}
