#include "data/source/parse.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/utf8.h"

typedef struct thread_work {
    hw_work work;
    void *context;
    uint32_t k;
    pthread_mutex_t *gate;
    const bool *cancelled; /* guarded by the start gate */
    hawser_status status;
    hawser_error error;
    pthread_t thread;
} thread_work;

/* Waits at the start gate: readers take turns, so none may begin before all exist. */
static void *run(void *argument)
{
    thread_work *w = argument;
    pthread_mutex_lock(w->gate);
    bool cancelled = *w->cancelled;
    pthread_mutex_unlock(w->gate);
    if (!cancelled)
        w->status = w->work(w->context, w->k, &w->error);
    return NULL;
}

/* Starts all threads but the last, whose work the caller does. */
static hawser_status start_all(thread_work *all, uint32_t count, uint32_t *started, bool *cancelled, hawser_error *error)
{
    int code = 0;
    pthread_mutex_lock(all[0].gate);
    for (*started = 0; *started + 1 < count && code == 0; *started += code == 0)
        code = pthread_create(&all[*started].thread, NULL, run, &all[*started]);
    *cancelled = code != 0;
    pthread_mutex_unlock(all[0].gate);
    if (code == 0)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NO_MEMORY, "cannot start thread %" PRIu32 " of %" PRIu32 ": %s; use fewer --threads",
                       *started + 2, count, strerror(code));
}

hawser_status hw_in_parallel(uint32_t count, hw_work work, void *context, hawser_error *error)
{
    thread_work *all;
    pthread_mutex_t gate;
    bool cancelled = false;
    uint32_t started;
    HAWSER_TRY(HW_NEW(&all, count, "reader threads", error));
    if (pthread_mutex_init(&gate, NULL) != 0) {
        free(all);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a lock");
    }
    for (uint32_t k = 0; k < count; k++)
        all[k] = (thread_work){.work = work, .context = context, .k = k, .gate = &gate, .cancelled = &cancelled};
    hawser_status status = start_all(all, count, &started, &cancelled, error);
    if (status == HAWSER_OK)
        run(&all[count - 1]);
    for (uint32_t k = 0; k < started; k++)
        pthread_join(all[k].thread, NULL);
    for (uint32_t k = 0; k < count && status == HAWSER_OK; k++)
        if (all[k].status != HAWSER_OK)
            status = hawser_fail(error, all[k].status, "%s", all[k].error.text);
    pthread_mutex_destroy(&gate);
    free(all);
    return status;
}

typedef struct chunks_work {
    hw_reading *reading;
    hw_chunk_work work;
    void *context;
    pthread_mutex_t lock; /* guards the next three fields */
    uint64_t failed;      /* chunk of the first failure in input order */
    hawser_status status;
    hawser_error error;
} chunks_work;

static void fail_at(chunks_work *w, uint64_t sequence, hawser_status status, const hawser_error *error)
{
    hw_input_stop(&w->reading->input);
    pthread_mutex_lock(&w->lock);
    if (w->status == HAWSER_OK || sequence < w->failed) {
        w->failed = sequence;
        w->status = status;
        w->error = *error;
    }
    pthread_mutex_unlock(&w->lock);
}

/* Keeps a failure with its chunk's number, so that timing cannot choose the message. */
static hawser_status read_chunks(void *context, uint32_t reader, hawser_error *error)
{
    chunks_work *w = context;
    hw_chunk chunk = {0};
    for (bool more = true; more;) {
        hawser_status status = hw_input_next(&w->reading->input, reader, &chunk, &more, error);
        if (status == HAWSER_OK && more)
            status = w->work(w->context, reader, &chunk, error);
        if (status != HAWSER_OK) {
            fail_at(w, chunk.sequence, status, error);
            break;
        }
        if (more)
            hw_chunk_done(&chunk);
    }
    hw_chunk_release(&w->reading->input, &chunk);
    return HAWSER_OK;
}

hawser_status hw_chunks(hw_reading *reading, hw_chunk_work work, void *context, hawser_error *error)
{
    hw_input_share(&reading->input, reading->threads, reading->chunk_bytes);
    HAWSER_TRY(HW_NEW(&reading->rows_read, reading->input.readers, "figures", error));
    chunks_work w = {.reading = reading, .work = work, .context = context, .status = HAWSER_OK};
    if (pthread_mutex_init(&w.lock, NULL) != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a lock");
    hawser_status status = hw_in_parallel(reading->input.readers, read_chunks, &w, error);
    pthread_mutex_destroy(&w.lock);
    if (status == HAWSER_OK && w.status != HAWSER_OK)
        status = hawser_fail(error, w.status, "%s", w.error.text);
    return status;
}

typedef struct parse_work {
    hw_reading *reading;
    hw_parser parser;
    void *context;
} parse_work;

static hawser_status parse_chunk(void *context, uint32_t reader, const hw_chunk *chunk, hawser_error *error)
{
    const parse_work *w = context;
    hw_reading *reading = w->reading;
    HAWSER_TRY(HW_GROW(&reading->parts[reader], &reading->part_capacities[reader], reading->part_counts[reader] + 1,
                       "a list of parts", error));
    hw_text_part *part = &reading->parts[reader][reading->part_counts[reader]++];
    memset(part, 0, sizeof *part);
    part->least = UINT32_MAX;
    HAWSER_TRY(w->parser(w->context, reading, chunk, part, error));
    if (part->rows + part->entries == 0) /* pages were reserved for a row per line, and all lines were empty */
        hw_part_free(reading, part);
    reading->rows_read[reader] += part->rows + part->dropped;
    return HAWSER_OK;
}

hawser_status hw_parse(hw_reading *reading, hw_parser parser, void *context, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&reading->parts, reading->threads, "parts", error));
    HAWSER_TRY(HW_NEW(&reading->part_counts, reading->threads, "parts", error));
    HAWSER_TRY(HW_NEW(&reading->part_capacities, reading->threads, "parts", error));
    parse_work w = {reading, parser, context};
    return hw_chunks(reading, parse_chunk, &w, error);
}

hw_text_part *hw_reading_part(const hw_reading *reading, uint64_t sequence)
{
    uint64_t reader = sequence % reading->input.readers, place = sequence / reading->input.readers;
    return place < reading->part_counts[reader] ? &reading->parts[reader][place] : NULL;
}

uint64_t hw_reading_parts(const hw_reading *reading)
{
    return reading->input.sequence;
}

void hw_part_widen(hw_text_part *part, const hw_text_part *other)
{
    if (other->most <= part->most)
        return;
    part->most = other->most;
    part->widest = other->widest;
}

hawser_status hw_part_begin_equals(hw_reading *reading, hw_text_part *part, hawser_error *error)
{
    part->equals.begun = true;
    if (!reading->keeps_equals)
        return HAWSER_OK;
    pthread_mutex_lock(&reading->lock);
    hawser_status status = hw_equals_copy(&part->equals, &reading->equals, error);
    pthread_mutex_unlock(&reading->lock);
    return status;
}

hawser_status hw_part_end_equals(hw_reading *reading, const hw_text_part *part, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    if (!part->equals.begun || !reading->keeps_equals)
        return HAWSER_OK;
    pthread_mutex_lock(&reading->lock);
    if (reading->equals.begun)
        hw_equals_meet(&reading->equals, &part->equals, reading->load->type);
    else
        status = hw_equals_copy(&reading->equals, &part->equals, error);
    pthread_mutex_unlock(&reading->lock);
    return status;
}

void hw_part_free(hw_reading *reading, hw_text_part *part)
{
    hw_pages_free(&reading->budget, part->pages, part->bytes);
    hw_pages_free(&reading->budget, part->documents.pages, part->documents.bytes);
    part->documents = (hw_documents){0};
    if (part->survey != NULL)
        part->free_survey(part->survey);
    free(part->starts);
    hw_equals_free(&part->equals);
    part->starts = NULL;
    part->start_capacity = 0;
    part->survey = NULL;
    part->pages = NULL;
    part->bytes = 0;
}

void hw_reading_free(hw_reading *reading)
{
    for (uint32_t reader = 0; reading->parts != NULL && reading->part_counts != NULL && reader < reading->input.readers;
         reader++) {
        for (size_t i = 0; i < reading->part_counts[reader]; i++)
            hw_part_free(reading, &reading->parts[reader][i]);
        free(reading->parts[reader]);
    }
    free(reading->parts);
    free(reading->part_counts);
    free(reading->part_capacities);
    free(reading->rows_read);
    free((double *)(uintptr_t)reading->row_weights);
    hw_equals_free(&reading->equals);
    if (reading->labels != NULL)
        reading->free_labels(reading->labels);
    pthread_mutex_destroy(&reading->lock);
    hw_input_close(&reading->input);
}

hawser_status hw_part_reserve(hw_reading *reading, hw_text_part *part, const hw_part_sizes *sizes, hawser_error *error)
{
    size_t bytes = (size_t)(sizes->ends * sizeof *part->ends + sizes->target * sizeof *part->target + sizes->value_bytes +
                            (sizes->rows_of + sizes->indices) * sizeof *part->indices + 8);
    if (bytes > part->bytes) {
        bool again = part->pages != NULL;
        hw_part_free(reading, part);
        bytes += again ? bytes / 4 : 0; /* later chunks will not be much larger */
        HAWSER_TRY(hw_pages_new(&reading->budget, &part->pages, bytes, error));
        part->bytes = bytes;
    }
    part->capacity = *sizes;
    char *at = part->pages;
    part->ends = (void *)at;
    at += sizes->ends * sizeof *part->ends;
    part->target = (void *)at;
    at += sizes->target * sizeof *part->target;
    part->values = at;
    at += (sizes->value_bytes + 7) / 8 * 8;
    part->rows_of = (void *)at;
    at += sizes->rows_of * sizeof *part->rows_of;
    part->indices = (void *)at;
    return HAWSER_OK;
}

hawser_status hw_check_columns(const hw_reading *reading, const hw_text_part *widest, uint32_t base, hawser_dataset *dataset,
                               hawser_error *error)
{
    const hawser_load *load = reading->load;
    char where[4096 + 32];
    if (load->columns != 0 || widest->most < HW_CLAIMS_FREE)
        return HAWSER_OK;
    hw_spot_print(&widest->widest, where, sizeof where);
    if (load->parts <= 1)
        return hw_check_claim(where, (uint64_t)widest->most + 1 - base, "columns", reading->input.text,
                              load->memory_limit != 0, error);
    char *kept;
    HAWSER_TRY(hw_copy_text(&kept, where, error));
    hw_dataset_own(dataset, kept);
    dataset->widest = kept;
    return HAWSER_OK;
}

hawser_status hw_no_number(const hw_chunk *chunk, const char *at, const char *what, hawser_error *error)
{
    const char *word = at + (*at == '-' || *at == '+');
    if (strncasecmp(word, "nan", 3) == 0)
        return hw_chunk_fail(chunk, at, error, "the %s is NaN; remove the row or write a number", what);
    if (strncasecmp(word, "inf", 3) == 0)
        return hw_chunk_fail(chunk, at, error, "the %s is infinite; remove the row or write a number", what);
    return hw_chunk_fail(chunk, at, error, "the %s is not a number%s", what,
                         strcmp(what, "target") == 0 ? "; classes are numbers too, like 0 and 1" : "");
}

bool hw_is_count(double value)
{
    return value >= 0.0 && value <= INT32_MAX && value == floor(value);
}

hawser_status hw_no_count(const hw_chunk *chunk, const char *at, double value, hawser_error *error)
{
    return hw_chunk_fail(
        chunk, at, error,
        "%.17g is no count; topics need whole numbers from 0 to 2147483647, such as how often a document has "
        "a word, and not tf-idf",
        value);
}

hawser_status hw_check_name(const char *path, const char *name, size_t column, hawser_error *error)
{
    return hw_is_utf8(name) ? HAWSER_OK
                            : hawser_fail(error, HAWSER_BAD_INPUT,
                                          "%s: the name of column %zu (from 0) is not UTF-8; convert the file, for example: "
                                          "iconv -f ISO-8859-1 -t UTF-8",
                                          path, column);
}
