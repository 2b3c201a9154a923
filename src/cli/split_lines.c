/* split_lines.c - hawser data split of a CSV file that no option changes: its lines are copied, with words, dates, missing
 * values and quotes. */
#include "cli/split.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "data/lines.h"

bool hw_split_copies(const hw_call *call)
{
    static const char *const changes[] = {"target", "weights", "offset", "exposure", "ignore", "columns",    "categories",
                                          "dates",  "missing", "names",  "type",     "to",     "index-base", NULL};
    struct stat about;
    for (const char *const *key = changes; *key != NULL; key++)
        if (hawser_options_source(call->options, *key, NULL) != HAWSER_FROM_DEFAULT)
            return false;
    return call->count == 1 && stat(call->words[0], &about) == 0 && S_ISREG(about.st_mode);
}

static hawser_status put_line(hw_file *file, const char *text, size_t length, hawser_error *error)
{
    HAWSER_TRY(hw_file_write(file, text, length, error));
    return hw_file_write(file, "\n", 1, error);
}

/* Writes the rows of numbers order[begin..end), or without an order these numbers themselves. */
static hawser_status write_lines(const hw_call *call, const hw_csv_lines *lines, const uint32_t *order, size_t begin,
                                 size_t end, const char *middle, hawser_error *error)
{
    char path[HW_SPLIT_PATH];
    hw_file file;
    HAWSER_TRY(hw_split_path(call, "csv", middle, path, error));
    HAWSER_TRY(hw_file_begin(&file, path, error));
    hawser_status status = lines->head != NULL ? put_line(&file, lines->head, lines->head_length, error) : HAWSER_OK;
    for (size_t i = begin; status == HAWSER_OK && i < end; i++) {
        size_t row = order != NULL ? order[i] : i;
        status = put_line(&file, lines->row[row], lines->length[row], error);
    }
    HAWSER_THEN(status, hw_file_commit(&file, error));
    hw_file_abort(&file);
    if (status == HAWSER_OK)
        fprintf(call->out, "%s\t%zu rows\n", path, end - begin);
    return status;
}

static hawser_status draw_lines(const hw_call *call, const hw_csv_lines *lines, hawser_error *error)
{
    uint32_t *order = NULL;
    size_t train;
    hawser_status status = hw_split_draw(call, lines->count, &order, &train, error);
    HAWSER_THEN(status, write_lines(call, lines, order, 0, train, "train", error));
    HAWSER_THEN(status, write_lines(call, lines, order, train, lines->count, "test", error));
    free(order);
    return status;
}

static hawser_status part_lines(const hw_call *call, const hw_csv_lines *lines, size_t parts, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    HAWSER_TRY(hw_split_check_rows(parts, lines->count, error));
    for (size_t p = 0; status == HAWSER_OK && p < parts; p++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", p + 1);
        status = write_lines(call, lines, NULL, hw_split_bound(lines->count, p, parts),
                             hw_split_bound(lines->count, p + 1, parts), number, error);
    }
    return status;
}

hawser_status hw_split_lines(const hw_call *call, const hawser_load *how, bool *done, hawser_error *error)
{
    hw_csv_lines lines;
    size_t parts = hawser_options_has(call->options, "parts") ? (size_t)hawser_options_integer(call->options, "parts") : 0;
    hawser_status status = hw_lines_read(call->words[0], how, &lines, done, error);
    if (status == HAWSER_OK && *done)
        status = hw_split_check_parts(call, "csv", parts, error);
    if (status == HAWSER_OK && *done && lines.count >= UINT32_MAX)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: more than 4294967294 rows", call->words[0]);
    if (status == HAWSER_OK && *done)
        status = parts > 0 ? part_lines(call, &lines, parts, error) : draw_lines(call, &lines, error);
    hw_lines_free(&lines);
    return status;
}
