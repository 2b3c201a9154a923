/* data.c - hawser data info, convert and generate. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/layout.h"
#include "cli/input.h"
#include "data/formats.h"
#include "report/json.h"

static const hawser_option info_rows[] = {
    {"json", HAWSER_FLAG, "no", NULL, NULL, "print one JSON object instead of lines", NULL, 0},
    {"quiet", HAWSER_FLAG, "no", NULL, NULL, "print only errors on standard error", NULL, 'q'},
    {0},
};

static const hawser_option convert_rows[] = {
    {"output", HAWSER_PATH, NULL, NULL, "FILE", "the file to write; its extension sets the format", NULL, 'o'},
    {"by-row", HAWSER_FLAG, "no", NULL, NULL,
     "write a cache (.hwc) whose rows are side by side, for programs that load data by row: they map it and copy nothing",
     NULL, 0},
    {"quiet", HAWSER_FLAG, "no", NULL, NULL, "print only errors on standard error", NULL, 'q'},
    {0},
};

static const hawser_option generate_rows[] = {
    {"output", HAWSER_PATH, NULL, NULL, "FILE", "the file to write; its extension sets the format", NULL, 'o'},
    {"rows", HAWSER_INTEGER, "10000", "[1,4294967294]", "N", "number of rows", NULL, 0},
    {"cols", HAWSER_INTEGER, "1000", "[1,1073741822]", "N", "number of columns", NULL, 0},
    {"per-row", HAWSER_NUMBER, NULL, "[1,inf)", "X",
     "url: mean of stored entries per row, up to half the columns; if unset 115, or a quarter of the columns if that is "
     "less",
     NULL, 0},
    {"nonzeros", HAWSER_INTEGER, NULL, "[1,inf)", "N",
     "nonzero weights of the truth, up to all; if unset 100, or half the columns if that is less, or for url a 300th of the "
     "columns if that is more",
     NULL, 0},
    {"noise", HAWSER_NUMBER, NULL, "(0,inf)", "X", "standard deviation of the noise, relative to the signal; 0.1 if unset",
     NULL, 0},
    {"seed", HAWSER_INTEGER, "0", "[0,inf)", "N", "seed of the random numbers", NULL, 0},
    {"truth", HAWSER_PATH, NULL, NULL, "FILE", "also write the true weights, one per line", NULL, 0},
    {0},
};

const hawser_option *hw_data_info_rows(void)
{
    return info_rows;
}

const hawser_option *hw_data_convert_rows(void)
{
    return convert_rows;
}

const hawser_option *hw_data_generate_rows(void)
{
    return generate_rows;
}

static hawser_status print_json(const hw_call *call, const hawser_dataset *data, hawser_error *error)
{
    bool ok = true;
    const hawser_matrix *matrix = hawser_dataset_matrix(data);
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    json_t *object = json_object();
    hw_json_text(object, "format", hw_format_name(figures->format), &ok);
    hw_json_count(object, "rows", matrix->rows, &ok);
    hw_json_count(object, "columns", matrix->cols, &ok);
    hw_json_count(object, "stored", matrix->stored, &ok);
    hw_json_text(object, "layout", hw_is_dense(matrix) ? "dense" : "sparse", &ok);
    hw_json_text(object, "type", matrix->type == HAWSER_F32 ? "f32" : "f64", &ok);
    hw_json_take(object, "target", json_boolean(hawser_dataset_target(data) != NULL), &ok);
    hw_json_text(object, "target_name", hawser_dataset_target_name(data), &ok);
    hw_json_take(object, "named", json_boolean(matrix->cols > 0 && hawser_dataset_column(data, 0) != NULL), &ok);
    hw_json_number(object, "index_base", figures->index_base, &ok);
    hw_json_take(object, "index_base_guessed", json_boolean(figures->base_guessed), &ok);
    hw_json_count(object, "rows_dropped", figures->rows_dropped, &ok);
    hw_json_count(object, "bytes_read", figures->bytes_read, &ok);
    hw_json_count(object, "bytes_text", figures->bytes_text, &ok);
    hw_json_count(object, "memory_estimate", figures->memory_estimate, &ok);
    hw_json_number(object, "seconds", figures->seconds, &ok);
    return hw_json_line(call->out, object, ok, error);
}

static void print_lines(FILE *out, const hawser_dataset *data)
{
    const hawser_matrix *matrix = hawser_dataset_matrix(data);
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    const char *name = hawser_dataset_target_name(data);
    double cells = (double)matrix->rows * (double)matrix->cols;
    fprintf(out, "format      %s\nrows        %zu\ncolumns     %zu%s\n", hw_format_name(figures->format), matrix->rows,
            matrix->cols, matrix->cols > 0 && hawser_dataset_column(data, 0) != NULL ? ", named" : "");
    fprintf(out, "stored      %" PRIu64 " (%s, %.3g %% of all)\n", matrix->stored, hw_is_dense(matrix) ? "dense" : "sparse",
            cells > 0 ? 100 * (double)matrix->stored / cells : 0.0);
    fprintf(out, "target      %s%s", hawser_dataset_target(data) != NULL ? "yes" : "no", name != NULL ? ", " : "");
    hw_print_word(out, name != NULL ? name : "");
    fprintf(out, "\n");
    if (figures->index_base >= 0)
        fprintf(out, "index base  %d%s\n", figures->index_base, figures->base_guessed ? " (guessed)" : "");
    fprintf(out, "read        %.1f MB in %.3g s (%.0f MB/s) by %u threads\nmemory      %.1f MB\n",
            (double)figures->bytes_text / 1e6, figures->seconds,
            (double)figures->bytes_text / 1e6 / (figures->seconds > 0 ? figures->seconds : 1e-9), figures->readers,
            (double)figures->memory_estimate / 1e6);
}

hawser_status hw_data_info(hw_call *call, hawser_error *error)
{
    hawser_dataset *data;
    HAWSER_TRY(hw_load_words(call, &data, error));
    hawser_status status = HAWSER_OK;
    if (hawser_options_flag(call->options, "json"))
        status = print_json(call, data, error);
    else
        print_lines(call->out, data);
    hawser_dataset_free(data);
    return status;
}

static hawser_status check_output(const hw_call *call, const char **path, hawser_error *error)
{
    *path = hw_path_of(call, "output");
    if (*path == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "no output file; give -o FILE, whose extension sets the format");
    HAWSER_TRY(hw_check_spares_data(call, *path, error));
    HAWSER_TRY(hw_check_outputs(call, error));
    return hw_check_writable(*path, error);
}

/* Notes what becomes of the words of a target in a format that has numbers only. */
static void say_words(const hw_call *call, const hawser_dataset *data, hawser_format format, const char *path)
{
    size_t count = 0;
    const char *const *words = hawser_schema_target(hawser_dataset_schema(data), &count);
    if (count == 0 || hw_format_is(format, HW_FORMAT_WORDS) || hawser_options_flag(call->options, "quiet"))
        return;
    fprintf(call->err, "hawser: ");
    hw_print_word(call->err, path);
    fprintf(call->err, ": the words of the target are written as numbers:");
    for (size_t k = 0; k < count && k < 10; k++) {
        fprintf(call->err, "%s%zu is ", k > 0 ? ", " : " ", k);
        hw_print_word(call->err, words[k]);
    }
    fprintf(call->err, "%s; csv and hwc keep the words\n", count > 10 ? ", ..." : "");
}

hawser_status hw_data_convert(hw_call *call, hawser_error *error)
{
    const char *path;
    hawser_dataset *data;
    hawser_load how;
    hawser_format format;
    HAWSER_TRY(check_output(call, &path, error));
    HAWSER_TRY(hw_format_of_path(path, &format, error));
    HAWSER_TRY(hw_refuse_idle(call, "by-row", format != HAWSER_CACHE,
                              "only a cache (-o FILE.hwc) has its rows or its columns side by side", error));
    HAWSER_TRY(hawser_load_from_options(call->options, &how, error));
    how.rows_layout = hawser_options_flag(call->options, "by-row");
    how.labels = 1; /* of whom the target may be */
    HAWSER_TRY(hw_load_as(call, call->words, call->count, &how, &data, error));
    hawser_status status = hw_write_dataset(data, path, error);
    if (status == HAWSER_OK)
        say_words(call, data, format, path);
    hawser_dataset_free(data);
    return status;
}

static hawser_status write_truth(const char *path, const double *truth, size_t count, hawser_error *error)
{
    hw_file file = {0};
    HAWSER_TRY(hw_file_begin(&file, path, error));
    hawser_status status = HAWSER_OK;
    for (size_t j = 0; status == HAWSER_OK && j < count; j++)
        status = hw_file_print(&file, error, "%.17g\n", truth[j]);
    HAWSER_THEN(status, hw_file_commit(&file, error));
    hw_file_abort(&file);
    return status;
}

hawser_status hw_data_generate(hw_call *call, hawser_error *error)
{
    const char *path, *truth_path = hw_path_of(call, "truth");
    const hawser_options *options = call->options;
    HAWSER_TRY(check_output(call, &path, error));
    HAWSER_TRY(hw_check_writable(truth_path, error));
    hawser_generate what = {.kind = call->words[0],
                            .rows = (size_t)hawser_options_integer(options, "rows"),
                            .cols = (size_t)hawser_options_integer(options, "cols"),
                            .per_row = hawser_options_number(options, "per-row"),
                            .nonzeros = (size_t)hawser_options_integer(options, "nonzeros"),
                            .noise = hawser_options_number(options, "noise"),
                            .seed = (uint64_t)hawser_options_integer(options, "seed")};
    if (strcmp(what.kind, "dense") != 0 && strcmp(what.kind, "url") != 0)
        return hawser_fail(error, HAWSER_BAD_OPTION, "there is no generator '%s'; there are dense and url", what.kind);
    HAWSER_TRY(hw_refuse_idle(call, "per-row", what.kind[0] == 'd', "dense problems fill every column", error));
    hawser_dataset *data = NULL;
    double *truth = NULL;
    HAWSER_TRY(hawser_dataset_generate(&what, &data, &truth, error));
    hawser_status status = hw_write_dataset(data, path, error);
    if (status == HAWSER_OK && truth_path != NULL)
        status = write_truth(truth_path, truth, what.cols, error);
    free(truth);
    hawser_dataset_free(data);
    return status;
}
