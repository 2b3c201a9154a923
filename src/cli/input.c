#include "cli/input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "algorithms/model/facts.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/memory.h"
#include "cli/tensor_file.h"
#include "data/format/text_word.h"
#include "data/formats.h"
#include "report/json.h"
#include "report/threads.h"

hawser_status hw_check_writable(const char *path, hawser_error *error)
{
    hw_file file = {0};
    if (path == NULL || strcmp(path, "-") == 0)
        return HAWSER_OK;
    hawser_status status = hw_file_begin(&file, path, error);
    hw_file_abort(&file);
    return status;
}

const char *hw_path_of(const hw_call *call, const char *key)
{
    return hawser_options_text(call->options, key);
}

void hw_say_load(const hw_call *call, const hawser_load_figures *figures)
{
    if (hawser_options_flag(call->options, "quiet"))
        return;
    if (figures->base_guessed && figures->format != HAWSER_CACHE) /* which was converted with that line */
        hw_say(call->err, "cannot tell whether column indices start at 0 or 1; assuming %d (set --index-base)",
               figures->index_base);
    if (figures->rows_dropped > 0)
        hw_say(call->err, "%" PRIu64 " rows with missing values were dropped", figures->rows_dropped);
    if (figures->unseen_columns > 0)
        hw_say(call->err, "columns that are not in the model were left out: %" PRIu64 ", with %" PRIu64 " entries",
               figures->unseen_columns, figures->unseen_entries);
    if (figures->unknown_words > 0)
        hw_say(call->err, "words that are not in the model were left out: %" PRIu64, figures->unknown_words);
}

/* An exposure is an offset by its logarithm, which only a model with a log link has a use for. */
static hawser_status check_exposure(const hw_call *call, const hawser_algorithm *algorithm, hawser_error *error)
{
    const char *exposure = hawser_options_text(call->options, "exposure");
    if (exposure == NULL || strcmp(exposure, "none") == 0 || algorithm->log_link)
        return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_BAD_OPTION,
        "--exposure %.60s: %s has no log link, so the logarithm of an exposure is no offset of it (that of train "
        "poisson is one); --offset adds a column as it is",
        exposure, algorithm->name);
}

static void say_dataset(const hw_call *call, const hawser_dataset *data)
{
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    if (!hawser_options_flag(call->options, "quiet"))
        hw_say_idle_input(call, figures->format);
    hw_say_load(call, figures);
}

void hw_load_for(const hawser_algorithm *algorithm, hawser_load *how)
{
    how->split = algorithm->split;
    how->counts = algorithm->counts;
    how->full_dense = !algorithm->counts;
    if (algorithm->no_target && how->target == NULL)
        how->target = "none";
}

bool hw_takes_several(const hawser_algorithm *algorithm)
{
    const hawser_head *prediction = hawser_algorithm_head(algorithm, "prediction");
    return prediction != NULL && prediction->width != NULL;
}

size_t hw_head_width(const hawser_head *head, const hawser_model *model)
{
    return head != NULL && head->width != NULL ? head->width(model) : 1;
}

/* Returns whether the target has labels: a classifier's, unless the options compare it with a number by its size, or make a
 * regression of it. */
static bool has_labels(const hw_call *call)
{
    const char *loss = hawser_options_text(call->options, "loss"),
               *positive = hawser_options_text(call->options, "positive");
    bool sized = positive != NULL && strpbrk(positive, "<>") != NULL;
    return hawser_algorithm_head(call->algorithm, "label") != NULL && !sized &&
           (loss == NULL || strstr(loss, "epsilon") == NULL);
}

hawser_status hw_load_shares(const hw_call *call, hawser_job *job, hawser_dataset **data, hawser_error *error)
{
    hawser_load how;
    if (call->algorithm != NULL)
        HAWSER_TRY(check_exposure(call, call->algorithm, error));
    HAWSER_TRY(hawser_load_from_options(call->options, &how, error));
    how.outputs = hw_takes_several(call->algorithm);
    if (call->algorithm != NULL)
        hw_load_for(call->algorithm, &how);
    how.labels = call->algorithm != NULL && has_labels(call);
    hw_load_threads(job, &how);
    HAWSER_TRY(hawser_job_load(job, (const char *const *)call->words, call->count, &how, data, error));
    if (hawser_job_leads(job))
        say_dataset(call, *data);
    return HAWSER_OK;
}

hawser_status hw_load_as(const hw_call *call, char *const *words, size_t count, const hawser_load *how,
                         hawser_dataset **data, hawser_error *error)
{
    HAWSER_TRY(hawser_dataset_load((const char *const *)words, count, how, data, error));
    say_dataset(call, *data);
    return HAWSER_OK;
}

hawser_status hw_load_words(const hw_call *call, hawser_dataset **data, hawser_error *error)
{
    hawser_load how;
    HAWSER_TRY(hawser_load_from_options(call->options, &how, error));
    return hw_load_as(call, call->words, call->count, &how, data, error);
}

/* ------------------------------------------------------------------------------------------------------ models ---- */

static hawser_status fact_count(const hawser_model *model, const char *path, const char *key, long long *value,
                                hawser_error *error)
{
    const char *text = hawser_model_text(model, key);
    char *end = NULL;
    *value = text != NULL ? strtoll(text, &end, 10) : 0;
    if (text == NULL || end == text || *end != '\0' || *value < -1)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: the model's '%s' is '%s', which is not a count; was it written by Hawser?", path, key,
                           text != NULL ? text : "missing");
    return HAWSER_OK;
}

/* Counts the model's outputs and splits their names, one per line. */
static hawser_status take_outputs(const char *path, hw_fitted *fitted, hawser_error *error)
{
    const char *names = hawser_model_text(fitted->model, "outputs");
    fitted->outputs = hw_head_width(hawser_algorithm_head(fitted->algorithm, "prediction"), fitted->model);
    if (fitted->outputs < 2 || names == NULL)
        return HAWSER_OK;
    size_t bytes = strlen(names) + 1, count = 0;
    char *rest = NULL;
    HAWSER_TRY(hw_new_array((void **)&fitted->output_names, fitted->outputs * sizeof *fitted->output_names + bytes, 1,
                            "names of targets", error));
    char *text = memcpy(fitted->output_names + fitted->outputs, names, bytes);
    for (char *at = strtok_r(text, "\n", &rest); at != NULL; at = strtok_r(NULL, "\n", &rest), count++)
        if (count < fitted->outputs)
            fitted->output_names[count] = at;
    return count == fitted->outputs ? HAWSER_OK
                                    : hawser_fail(error, HAWSER_BAD_INPUT, "%s: the model has %zu targets and names for %zu",
                                                  path, fitted->outputs, count);
}

hawser_status hw_fitted_load(const char *path, hw_fitted *fitted, hawser_error *error)
{
    *fitted = (hw_fitted){0};
    json_t *other_header;
    HAWSER_TRY(hw_tensor_file_header(path, &other_header, error));
    bool other = other_header != NULL;
    json_decref(other_header);
    if (other)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "%s: a safetensors file of other software, not a model of Hawser; 'hawser info' lists its tensors", path);
    HAWSER_TRY(hawser_model_load(path, &fitted->model, error));
    const char *name = hawser_model_text(fitted->model, "algorithm");
    fitted->algorithm = name != NULL ? hawser_algorithm_find(name) : NULL;
    long long columns = 0;
    hawser_status status = HAWSER_OK;
    if (fitted->algorithm == NULL)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: a model of algorithm '%s', which this Hawser does not have", path,
                             name != NULL ? name : "unknown");
    else
        status = fact_count(fitted->model, path, "columns", &columns, error);
    fitted->columns = (size_t)(columns > 0 ? columns : 0);
    if (status == HAWSER_OK)
        status = hawser_model_schema(fitted->model, &fitted->schema, error);
    if (status == HAWSER_OK)
        status = take_outputs(path, fitted, error);
    if (status != HAWSER_OK)
        hw_fitted_free(fitted);
    return status;
}

const char *const *hw_label_words(const hw_fitted *fitted)
{
    bool made = hawser_model_text(fitted->model, "positive") != NULL;
    return made ? NULL : hawser_schema_target(fitted->schema, NULL);
}

void hw_fitted_free(hw_fitted *fitted)
{
    hawser_model_free(fitted->model);
    hawser_schema_free(fitted->schema);
    free(fitted->output_names);
    *fitted = (hw_fitted){0};
}

hawser_status hw_choose_member(const hw_call *call, const char *path, hawser_model *model, hawser_error *error)
{
    const hawser_option *row = hw_member_rows();
    while (row->key != NULL && hawser_options_text(call->options, row->key) == NULL)
        row++;
    const char *key = row->key, *member = key != NULL ? hawser_options_text(call->options, key) : NULL;
    const hawser_algorithm *algorithm = hawser_algorithm_find(hawser_model_text(model, "algorithm"));
    hawser_error own = {0};
    hawser_path members;
    bool may = algorithm != NULL && algorithm->path != NULL;
    if (member == NULL)
        return HAWSER_OK;
    if (!may || algorithm->path(algorithm, model, &members, &own) != HAWSER_OK) {
        if (hawser_options_source(call->options, key, NULL) == HAWSER_FROM_ENVIRONMENT)
            return HAWSER_OK; /* it is meant for trainings */
        return hawser_fail(error, may ? own.status : HAWSER_BAD_OPTION, "%s: --%s %s: %.600s", path, key, member,
                           may ? own.text : "models of this algorithm have no path");
    }
    if (strcmp(members.name, key) != 0)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: --%s %s: the members of the model's path differ in %s; use --%s",
                           path, key, member, members.name, members.name);
    if (algorithm->choose(model, member, &own) == HAWSER_OK)
        return HAWSER_OK;
    return hawser_fail(error, own.status, "%s: %.600s", path, own.text);
}

/* Returns whether the target was a file. A file of targets belongs to the rows of the training, but a column also exists in
 * new data. Models of older releases do not record it: then a regular file of that name counts, unless a column has the
 * name. */
static bool target_was_file(const hawser_model *model, const char *target)
{
    const char *from = hawser_model_text(model, "target_from"), *name = hawser_model_text(model, "target");
    char *rest;
    struct stat facts;
    if (from != NULL)
        return strcmp(from, "file") == 0;
    (void)strtoll(target, &rest, 10);
    if (*rest == '\0' || (name != NULL && strcmp(name, target) == 0))
        return false;
    return stat(target, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* Returns how missing values of new data are read: as --missing of the training says. Data that were converted or loaded
 * before the training have left their means and levels in the model. */
static const char *missing_of(const hawser_model *model, const hawser_schema *schema, const char *given)
{
    bool means = hawser_model_get(model, HW_MEANS, NULL, NULL) != NULL, level = false;
    hawser_schema_column column;
    for (size_t k = 0; hawser_schema_at(schema, k, &column); k++)
        level = level || (column.kind == HAWSER_CATEGORY && column.levels[0][0] == '\0');
    if (given != NULL && !means && strncmp(given, "mean", 4) == 0) /* of an input without missing values, as svmlight */
        given = strcmp(given, "mean,level") == 0 ? "level" : strcmp(given, "mean,zero") == 0 ? "refuse,zero" : "refuse";
    if (given != NULL && strcmp(given, "refuse") != 0)
        return given;
    return means && level ? "mean,level" : means ? "mean" : level ? "level" : given;
}

/* Takes the target and the options of one format from the training for new data too, unless the user gives others. */
static hawser_status inherit_options(const hw_call *call, const hawser_model *model, const hawser_schema *schema,
                                     hawser_error *error)
{
    static const char of_schema[] = " columns ignore categories dates "; /* the model's columns say it */
    for (const hawser_option *row = hawser_data_rows(); row->key != NULL; row++) {
        bool target = strcmp(row->key, "target") == 0;
        char fact[40], word[40];
        snprintf(word, sizeof word, " %s ", row->key);
        if (strstr(of_schema, word) != NULL)
            continue;
        snprintf(fact, sizeof fact, "options.%s", row->key);
        const char *text = target || hw_format_of_option(row->key) != HAWSER_GUESS ? hawser_model_text(model, fact) : NULL;
        if (strcmp(row->key, "missing") == 0)
            text = missing_of(model, schema, text);
        if (text == NULL || (target && target_was_file(model, text)))
            continue;
        if (strcmp(row->key, "missing") == 0 && strcmp(text, "drop") == 0)
            continue; /* a dropped row of new data has no prediction, so the user must ask for that */
        HAWSER_TRY(hawser_options_set(call->options, row->key, text, HAWSER_FROM_PROGRAM, "model", error));
    }
    return HAWSER_OK;
}

/* The model says which of its columns are words and dates. For other new data, settings of a file or the environment do not
 * count. */
static hawser_status leave_to_model(const hw_call *call, hawser_load *how, hawser_error *error)
{
    static const char *const keys[] = {"categories", "dates"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (hawser_options_source(call->options, keys[i], NULL) == HAWSER_FROM_COMMAND_LINE)
            return hawser_fail(error, HAWSER_BAD_OPTION,
                               "%s = '%s': the model says which of its columns are words or dates; leave --%s out", keys[i],
                               hawser_options_text(call->options, keys[i]), keys[i]);
    static const char *const words[] = {"min-documents", "max-documents", "max-words", "stop-words"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (hawser_options_source(call->options, words[i], NULL) == HAWSER_FROM_COMMAND_LINE)
            return hawser_fail(error, HAWSER_BAD_OPTION,
                               "%s = '%s': the columns of new data are those of the model; leave --%s out", words[i],
                               hawser_options_text(call->options, words[i]), words[i]);
    how->categories = how->dates = NULL;
    how->min_documents = how->max_documents = how->stop_words = NULL;
    how->max_words = 0;
    return HAWSER_OK;
}

/* How the columns of new data are matched with the model's. A target may be missing where it is not used. */
static hawser_status take_columns(const hw_call *call, const hw_fitted *fitted, bool needs_target, hawser_load *how,
                                  hawser_error *error)
{
    const char *name = hawser_model_text(fitted->model, "target"), *unseen = hawser_options_text(call->options, "unseen");
    long long place = -1;
    bool named = hawser_options_source(call->options, "target", NULL) > HAWSER_FROM_PROGRAM;
    HAWSER_TRY(leave_to_model(call, how, error));
    how->outputs = fitted->outputs > 1;
    how->columns = fitted->columns;
    how->schema = fitted->schema;
    how->unseen_zero = unseen != NULL && strcmp(unseen, "zero") == 0;
    how->target_optional = !needs_target;
    if (hawser_model_text(fitted->model, "target_column") != NULL)
        HAWSER_TRY(fact_count(fitted->model, call->words[0], "target_column", &place, error));
    if (named)
        return HAWSER_OK;
    if (fitted->algorithm->no_target && how->target == NULL && name == NULL && place < 0) {
        how->target = "none";
        return HAWSER_OK;
    }
    how->target_place = (size_t)(place + 1);
    if (fitted->schema != NULL && name != NULL && !(how->target != NULL && strcmp(how->target, "none") == 0))
        how->target = name;
    return HAWSER_OK;
}

static hawser_status take_base(const hw_call *call, const hw_fitted *fitted, hawser_load *how, hawser_error *error)
{
    long long base;
    HAWSER_TRY(fact_count(fitted->model, call->words[0], "index_base", &base, error));
    if (base < 0)
        return HAWSER_OK;
    if (how->index_base == 0) /* else the user has said how this file counts its columns */
        how->index_base = (int)base + 1;
    return HAWSER_OK;
}

bool hw_lacks_first_column(const hawser_dataset *data)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    for (size_t i = 0; X->layout == HAWSER_CSR && i < X->rows; i++)
        if (X->offsets[i] < X->offsets[i + 1] && X->indices[X->offsets[i]] == 0)
            return false;
    return true;
}

void hw_doubt_base(const hw_call *call, const hw_fitted *fitted, const hawser_load_figures *figures, bool lacks_first)
{
    if (!hw_format_is(figures->format, HW_FORMAT_NUMBERED) || figures->index_base != 0 || figures->unseen_columns != 1 ||
        !lacks_first)
        return;
    hw_say(call->err,
           "%s: its columns look as if they were counted from 1 (none is 0, and there is a %zu) and are read as "
           "counted from 0: then all predictions are wrong; set --index-base 1",
           call->words[1], fitted->columns);
}

/* Takes the means of the training data. Means of new data would make a prediction depend on the other rows. */
static hawser_status take_means(const hw_call *call, const hw_fitted *fitted, hawser_load *how, hawser_error *error)
{
    hawser_type type = HAWSER_F64;
    size_t dims[2] = {0};
    if (how->missing == NULL || (strcmp(how->missing, "mean") != 0 && strncmp(how->missing, "mean,", 5) != 0))
        return HAWSER_OK;
    how->means = hawser_model_get(fitted->model, HW_MEANS, &type, dims);
    if (how->means == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--missing mean: %s does not keep the means of its training data; train with --missing mean, or "
                           "use zero or drop",
                           call->words[0]);
    if (type != HAWSER_F64 || dims[0] != fitted->columns || dims[1] > 1)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the model has %zu means for %zu columns", call->words[0], dims[0],
                           fitted->columns);
    return HAWSER_OK;
}

/* Returns whether the training had an offset, an exposure or weights (`key`). */
static bool trained_with(const hw_fitted *fitted, const char *key)
{
    char fact[40];
    snprintf(fact, sizeof fact, "options.%s", key);
    const char *text = hawser_model_text(fitted->model, fact);
    return text != NULL && strcmp(text, "none") != 0;
}

/* Without its offset a prediction is wrong. */
hawser_status hw_check_sides(const hw_call *call, const hw_fitted *fitted, const hawser_dataset *data, hawser_error *error)
{
    static const char *const offsets[] = {"offset", "exposure"};
    const hawser_algorithm *algorithm = fitted->algorithm;
    bool said =
        hawser_options_text(call->options, "offset") != NULL || hawser_options_text(call->options, "exposure") != NULL;
    if (algorithm->no_offset && hawser_dataset_offset(data) != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--offset: a model of %s has no offset; leave it out", algorithm->name);
    for (size_t k = 0; k < 2 && !said && !algorithm->no_offset && hawser_dataset_offset(data) == NULL; k++)
        if (trained_with(fitted, offsets[k])) {
            char fact[40];
            snprintf(fact, sizeof fact, "options.%s", offsets[k]);
            return hawser_fail(
                error, HAWSER_BAD_OPTION,
                "%s: the model was trained with --%s %.100s; give --%s for these data, or --%s none to predict without it",
                call->words[0], offsets[k], hawser_model_text(fitted->model, fact), offsets[k], offsets[k]);
        }
    return HAWSER_OK;
}

void hw_say_sides(const hw_call *call, const hw_fitted *fitted, const hawser_dataset *data, bool measured)
{
    if (hawser_options_flag(call->options, "quiet"))
        return;
    if (hawser_dataset_offset(data) != NULL && !trained_with(fitted, "offset") && !trained_with(fitted, "exposure"))
        hw_say(call->err, "the model was trained without an offset; that of these data is added to its predictions");
    if (measured && trained_with(fitted, "weights") && hawser_dataset_weights(data) == NULL &&
        hawser_options_text(call->options, "weights") == NULL)
        hw_say(call->err, "the model was trained with --weights %.100s, and these data have none: all rows count alike",
               hawser_model_text(fitted->model, "options.weights"));
}

/* New text is cut into words as that of the training was. */
static hawser_status take_text(const hw_call *call, const hw_fitted *fitted, hawser_load *how, hawser_error *error)
{
    const hawser_model *model = fitted->model;
    const bool given = hawser_options_source(call->options, "min-length", NULL) == HAWSER_FROM_COMMAND_LINE;
    long long rules = 0, length = 0;
    how->guess_text = hawser_model_text(model, "text_rules") != NULL;
    if (!how->guess_text)
        return HAWSER_OK;
    HAWSER_TRY(fact_count(model, call->words[0], "text_rules", &rules, error));
    if (rules != HW_TEXT_RULES)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: its text was cut into words by rules number %lld, and this version has number %d",
                           call->words[0], rules, HW_TEXT_RULES);
    if (hawser_model_text(model, "text_length") == NULL)
        return HAWSER_OK;
    HAWSER_TRY(fact_count(model, call->words[0], "text_length", &length, error));
    if (given && how->min_length != (uint32_t)length)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--min-length %u: the words of %s have %lld characters or more, and new text is cut likewise; leave "
            "it out",
            how->min_length, call->words[0], length);
    how->min_length = (uint32_t)length;
    return HAWSER_OK;
}

hawser_status hw_load_like_model(const hw_call *call, const hw_fitted *fitted, bool needs_target, hawser_load *how,
                                 hawser_error *error)
{
    HAWSER_TRY(check_exposure(call, fitted->algorithm, error));
    HAWSER_TRY(inherit_options(call, fitted->model, fitted->schema, error));
    HAWSER_TRY(hawser_load_from_options(call->options, how, error));
    HAWSER_TRY(take_base(call, fitted, how, error));
    HAWSER_TRY(take_means(call, fitted, how, error));
    HAWSER_TRY(take_columns(call, fitted, needs_target, how, error));
    how->rows_layout = 1;
    how->counts = fitted->algorithm->counts;
    HAWSER_TRY(take_text(call, fitted, how, error));
    if (hawser_options_source(call->options, "text", NULL) > HAWSER_FROM_PROGRAM)
        how->guess_text = false; /* the user says that the input is a table */
    else if (how->format != HAWSER_GUESS && !hw_format_has_option(how->format, "text"))
        how->text = NULL; /* the training's table had the column */
    return HAWSER_OK;
}

hawser_status hw_predictor_load(const hw_call *call, hw_fitted *fitted, hawser_error *error)
{
    HAWSER_TRY(hw_fitted_load(call->words[0], fitted, error));
    hawser_status status = hw_choose_member(call, call->words[0], fitted->model, error);
    if (status == HAWSER_OK && fitted->algorithm->heads == NULL)
        status = hawser_fail(error, HAWSER_BAD_OPTION, "%s: a model of %s makes no predictions", call->words[0],
                             fitted->algorithm->name);
    if (status != HAWSER_OK)
        hw_fitted_free(fitted);
    return status;
}

/* ----------------------------------------------------------------------------------------------------- formats ---- */

hawser_status hw_format_of_path(const char *path, hawser_format *format, hawser_error *error)
{
    char known[100];
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash != NULL ? slash : path, '.');
    *format = dot != NULL ? hw_format_of_extension(dot) : HAWSER_GUESS;
    if (*format != HAWSER_GUESS)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION, "--output: '%s' has extension '%s'; give one that names a format: %s", path,
                       dot != NULL ? dot : "none", hw_format_extensions(known, sizeof known));
}

hawser_status hw_write_dataset(const hawser_dataset *data, const char *path, hawser_error *error)
{
    hawser_format format;
    HAWSER_TRY(hw_format_of_path(path, &format, error));
    if (format == HAWSER_CACHE)
        return hawser_dataset_save(data, path, error);
    return hawser_dataset_write(data, 0, hawser_dataset_matrix(data)->rows, format, path, error);
}
