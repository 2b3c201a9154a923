/* predict.c - hawser predict. */
#include <string.h>
#include <unistd.h>

#include "cli/score.h"
#include "data/format/npy.h"

const hawser_option *hw_predict_rows(void)
{
    static const hawser_option rows[] = {
        {"output", HAWSER_PATH, "-", NULL, "FILE",
         "file of the predictions, one line per row, or .npy; - is standard output", NULL, 'o'},
        HW_UNSEEN_ROW,
        {"id", HAWSER_TEXT, NULL, NULL, "COLUMN",
         "print ID,PREDICTION for each row, with the text of this CSV column; below a line of names if DATA have one", NULL,
         0},
        {"proba", HAWSER_FLAG, "no", NULL, NULL,
         "classifiers: print the probability of the higher label, which is the default; softmax: of each class; lda: of "
         "each "
         "topic",
         NULL, 0},
        {"labels", HAWSER_FLAG, "no", NULL, NULL,
         "classifiers: print the more probable label instead of the probability of the higher one; svm and softmax: the "
         "default",
         NULL, 0},
        {"link", HAWSER_FLAG, "no", NULL, NULL,
         "print the linear predictor, with the offset, of which the prediction is a function; several classes: one of each",
         NULL, 0},
        {"distances", HAWSER_FLAG, "no", NULL, NULL,
         "clusters: print the distances to all centres instead of the number of the nearest", NULL, 0},
        {"quiet", HAWSER_FLAG, "no", NULL, NULL, "print only errors on standard error", NULL, 'q'},
        {0},
    };
    return rows;
}

/* Returns whether predictions are numbers of clusters or topics, which no linear predictor has chosen. */
static bool has_groups(const hawser_algorithm *algorithm)
{
    return hawser_algorithm_head(algorithm, "distances") != NULL ||
           (hawser_algorithm_head(algorithm, "probabilities") != NULL && hawser_algorithm_head(algorithm, "label") == NULL);
}

/* What is printed, by the options, of which at most one may be given. */
static hawser_status choose(const hw_call *call, const hw_fitted *fitted, hw_scoring *scoring, hawser_error *error)
{
    enum { PROBA, LINK, LABELS, DISTANCES, FLAGS };
    static const char *const flags[] = {"proba", "link", "labels", "distances"};
    static const char *const heads[] = {"probabilities", "link", "label", "distances"};
    static const char *const what[] = {"probabilities", "", "labels", "distances to centres"};
    const hawser_algorithm *algorithm = fitted->algorithm;
    const hawser_head *prediction = hawser_algorithm_head(algorithm, "prediction"),
                      *label = hawser_algorithm_head(algorithm, "label");
    const char *chosen = NULL;
    scoring->head = prediction;
    for (int k = 0; k < FLAGS; k++) {
        if (!hawser_options_flag(call->options, flags[k]))
            continue;
        if (chosen != NULL)
            return hawser_fail(error, HAWSER_BAD_OPTION, "--%s and --%s: give one of them", chosen, flags[k]);
        chosen = flags[k];
        const hawser_head *head = hawser_algorithm_head(algorithm, heads[k]);
        if (k == LINK && has_groups(algorithm))
            return hawser_fail(error, HAWSER_BAD_OPTION, "--link: a model of %s has no linear predictor", algorithm->name);
        if (k != LINK && head == NULL && (k == DISTANCES || label == NULL))
            return hawser_fail(error, HAWSER_BAD_OPTION, "--%s: a model of %s predicts numbers, not %s", flags[k],
                               algorithm->name, what[k]);
        if (k == PROBA && head == NULL && prediction->labels)
            return hawser_fail(error, HAWSER_BAD_OPTION, "--proba: a model of %s has no probabilities", algorithm->name);
        scoring->head = head != NULL ? head : prediction;
    }
    scoring->words = scoring->head->labels ? hw_label_words(fitted) : NULL;
    return HAWSER_OK;
}

static bool is_npy(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".npy") == 0;
}

static hawser_status check_npy(const hw_scoring *scoring, const char *path, const char *id, hawser_error *error)
{
    if (scoring->words != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--output %s: .npy files have numbers, and the labels of this model are words", path);
    if (id != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--output %s: .npy files have numbers, and --id prints text", path);
    if (hw_file_is_direct(scoring->file))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--output %s: the header of .npy has the number of rows, which is known at the end: give a file, "
                           "not a pipe or device",
                           path);
    return HAWSER_OK;
}

static hawser_status write_all(hw_scoring *scoring, hawser_error *error)
{
    char header[HW_NPY_HEADER];
    size_t outputs = hw_score_width(scoring);
    hw_npy_shape shape = {.dimensions = outputs > 1 ? 2 : 1, .sizes = {0, outputs}};
    if (scoring->binary)
        HAWSER_TRY(hw_npy_head(scoring->file, &shape, error));
    else
        HAWSER_TRY(hw_score_names(scoring, error));
    HAWSER_TRY(hw_score(scoring, error));
    shape.sizes[0] = scoring->count;
    return scoring->binary ? hw_file_rewrite(scoring->file, header, hw_npy_header_of(&shape, header), error) : HAWSER_OK;
}

static hawser_status predict(hw_scoring *scoring, hawser_error *error)
{
    const hw_call *call = scoring->call;
    const char *path = hw_path_of(call, "output");
    hawser_load how;
    HAWSER_TRY(choose(call, scoring->fitted, scoring, error));
    HAWSER_TRY(hw_load_like_model(call, scoring->fitted, false, &how, error));
    how.id = hawser_options_text(call->options, "id");
    HAWSER_TRY(hw_file_begin(scoring->file, path, error));
    scoring->shown = isatty(scoring->file->fd) == 1;
    scoring->binary = is_npy(path);
    if (scoring->binary)
        HAWSER_TRY(check_npy(scoring, path, how.id, error));
    HAWSER_TRY(hw_score_open(scoring, &how, error));
    HAWSER_TRY(write_all(scoring, error));
    HAWSER_TRY(hw_file_commit(scoring->file, error));
    hw_score_end(scoring);
    return HAWSER_OK;
}

hawser_status hw_predict(hw_call *call, hawser_error *error)
{
    hw_fitted fitted;
    hw_file file = {0};
    HAWSER_TRY(hw_check_outputs(call, error));
    HAWSER_TRY(hw_predictor_load(call, &fitted, error));
    hw_scoring scoring = {.call = call, .fitted = &fitted, .file = &file};
    hawser_status status = predict(&scoring, error);
    hw_file_abort(&file);
    hawser_rows_close(scoring.rows);
    hw_fitted_free(&fitted);
    return status;
}
