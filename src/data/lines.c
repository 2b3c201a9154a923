#include "data/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/load.h"

static bool is_blank(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at == end;
}

static hawser_status keep_row(hw_csv_lines *lines, const char *at, const char *end, hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&lines->row, &lines->row_capacity, lines->count + 1, "rows", error));
    HAWSER_TRY(HW_GROW(&lines->length, &lines->length_capacity, lines->count + 1, "rows", error));
    lines->row[lines->count] = at;
    lines->length[lines->count++] = (size_t)(end - at);
    return HAWSER_OK;
}

static hawser_status find_rows(hw_csv_lines *lines, hawser_error *error)
{
    const char *text;
    size_t bytes;
    hw_reading *reading = &lines->reading;
    HAWSER_TRY(hw_csv_begin(reading, &lines->csv, error));
    HAWSER_TRY(hw_input_whole(&reading->input, 0, SIZE_MAX, &text, &bytes, &lines->buffer, &lines->buffer_capacity, error));
    const char *end = text + bytes, *at = text;
    if (lines->csv.header) {
        lines->head = lines->csv.line;
        lines->head_length = lines->csv.line_bytes;
    }
    if (lines->csv.skip > 0) {
        at += lines->csv.skip < bytes ? lines->csv.skip : bytes;
    } else if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        at += 3;
    }
    while (at < end) {
        const char *quote, *next = hw_row_after(at, at + 1, end, lines->csv.delimiter, &quote);
        if (quote != NULL)
            return hw_chunk_fail(
                &(hw_chunk){.file = &reading->input.files[0], .first = true, .line = 1, .begin = text, .end = end}, quote,
                error, HW_CSV_OPEN_QUOTE);
        const char *stop = next[-1] == '\n' ? next - 1 : next;
        if (!is_blank(at, stop))
            HAWSER_TRY(keep_row(lines, at, stop, error));
        at = next;
    }
    return lines->count > 0 ? HAWSER_OK
                            : hawser_fail(error, HAWSER_BAD_INPUT, "%s: no rows in the input", reading->input.files[0].name);
}

hawser_status hw_lines_read(const char *path, const hawser_load *load, hw_csv_lines *lines, bool *is_csv,
                            hawser_error *error)
{
    hawser_format format;
    *lines = (hw_csv_lines){0};
    *is_csv = false;
    hw_load_begin(&lines->reading, load, load->memory_limit, true);
    HAWSER_TRY(hw_input_open(&lines->reading.input, &path, 1, &lines->reading.budget, error));
    if (hw_load_is_cache(&lines->reading, load))
        return HAWSER_OK;
    HAWSER_TRY(hw_load_format(&lines->reading, &format, error));
    *is_csv = format == HAWSER_CSV;
    return *is_csv ? find_rows(lines, error) : HAWSER_OK;
}

void hw_lines_free(hw_csv_lines *lines)
{
    hw_pages_free(&lines->reading.budget, lines->buffer, lines->buffer_capacity);
    hw_csv_free(&lines->csv);
    hw_reading_free(&lines->reading);
    free(lines->row);
    free(lines->length);
}
