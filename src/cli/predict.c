/* predict.c - hawser predict. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/input.h"
#include "data/format/npy.h"
#include "data/format/number_text.h"

const hawser_option *hw_predict_rows(void)
{
    static const hawser_option rows[] = {
        {"output", HAWSER_PATH, "-", NULL, "FILE", "file of the predictions, one per line, or .npy; - is standard output",
         NULL, 'o'},
        HW_UNSEEN_ROW,
        {"labels", HAWSER_FLAG, "no", NULL, NULL,
         "classifiers: print the more probable label instead of the probability of the higher one", NULL, 0},
        {"quiet", HAWSER_FLAG, "no", NULL, NULL, "print only errors on standard error", NULL, 'q'},
        {0},
    };
    return rows;
}

static hawser_status write_npy(hw_file *file, const double *values, size_t count, hawser_error *error)
{
    HAWSER_TRY(hw_npy_head(file, &(hw_npy_shape){.dimensions = 1, .sizes = {count}}, error));
    return hw_file_write(file, values, count * sizeof *values, error);
}

/* `words`: labels, of which the values are numbers from 0; NULL: the values are printed. */
static hawser_status write_text(hw_file *file, const double *values, size_t count, const char *const *words,
                                hawser_error *error)
{
    char text[HW_NUMBER_TEXT + 1];
    for (size_t i = 0; i < count; i++) {
        if (words != NULL) {
            const char *word = words[(size_t)values[i]];
            HAWSER_TRY(hw_file_write(file, word, strlen(word), error));
            HAWSER_TRY(hw_file_write(file, "\n", 1, error));
            continue;
        }
        size_t length = hw_number_text(text, values[i], HAWSER_F64);
        text[length++] = '\n';
        HAWSER_TRY(hw_file_write(file, text, length, error));
    }
    return HAWSER_OK;
}

static hawser_status write_predictions(const char *path, const double *values, size_t count, const char *const *words,
                                       hawser_error *error)
{
    hw_file file = {0};
    size_t length = strlen(path);
    bool npy = length > 4 && strcmp(path + length - 4, ".npy") == 0;
    if (npy && words != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--output %s: .npy files have numbers, and the labels of this model are words", path);
    HAWSER_TRY(hw_file_begin(&file, path, error));
    hawser_status status = npy ? write_npy(&file, values, count, error) : write_text(&file, values, count, words, error);
    if (status == HAWSER_OK)
        status = hw_file_commit(&file, error);
    hw_file_abort(&file);
    return status;
}

static hawser_status to_labels(const hw_call *call, const hw_fitted *fitted, size_t count, double *predictions,
                               hawser_error *error)
{
    if (!hawser_options_flag(call->options, "labels"))
        return HAWSER_OK;
    if (fitted->algorithm->label == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--labels: a model of %s predicts numbers, not labels",
                           fitted->algorithm->name);
    return fitted->algorithm->label(fitted->model, count, predictions, error);
}

hawser_status hw_predict(hw_call *call, hawser_error *error)
{
    hw_fitted fitted;
    hawser_dataset *data;
    double *predictions;
    const char *path = hw_path_of(call, "output");
    HAWSER_TRY(hw_check_outputs(call, error));
    HAWSER_TRY(hw_check_writable(path, error));
    HAWSER_TRY(hw_predict_words(call, &fitted, false, &data, &predictions, error));
    size_t count = hawser_dataset_matrix(data)->rows;
    bool labels = hawser_options_flag(call->options, "labels");
    hawser_status status = to_labels(call, &fitted, count, predictions, error);
    const char *const *words = labels ? hawser_schema_target(fitted.schema, NULL) : NULL;
    if (status == HAWSER_OK)
        status = write_predictions(path, predictions, count, words, error);
    free(predictions);
    hawser_dataset_free(data);
    hw_fitted_free(&fitted);
    return status;
}
