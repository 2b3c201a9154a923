/* info.c - hawser info: prints what a model file contains, or a folder of checkpoints. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/info_folder.h"
#include "cli/input.h"
#include "cli/tensor_file.h"
#include "report/json.h"

enum { SHOWN = 12 }; /* entries of an array */

const hawser_option *hw_info_rows(void)
{
    static const hawser_option rows[] = {
        {"coefficients", HAWSER_FLAG, "no", NULL, NULL,
         "print the coefficients of the model by name, largest first, instead of its facts", NULL, 0},
        {"top", HAWSER_INTEGER, NULL, "[1,inf)", "N", "print only the N largest coefficients; implies --coefficients", NULL,
         0},
        {"path", HAWSER_FLAG, "no", NULL, NULL,
         "print the members of the model's path, each with its columns and errors, instead of the facts", NULL, 0},
        {"json", HAWSER_FLAG, "no", NULL, NULL,
         "print one JSON object: the facts; with --coefficients also the topics of a model that has some", NULL, 0},
        {0},
    };
    return rows;
}

/* Returns how many coefficients are printed. */
static uint64_t most_of(const hw_call *call)
{
    return hawser_options_has(call->options, "top") ? (uint64_t)hawser_options_integer(call->options, "top") : UINT64_MAX;
}

/* Lets the algorithm that trained the model print its coefficients. */
static hawser_status print_coefficients(const hw_call *call, const hawser_model *model, hawser_error *error)
{
    const char *name = hawser_model_text(model, "algorithm");
    const hawser_algorithm *algorithm = hawser_algorithm_find(name);
    hawser_error own = {0};
    if (algorithm == NULL || algorithm->coefficients == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the model has no list of coefficients", call->words[0]);
    if (algorithm->coefficients(model, most_of(call), call->out, &own) == HAWSER_OK)
        return HAWSER_OK;
    return hawser_fail(error, own.status, "%s: %.600s", call->words[0], own.text);
}

/* Replaces long arrays by their number of entries. */
static void shorten(json_t *value)
{
    const char *key;
    json_t *member;
    void *next;
    json_object_foreach_safe(value, next, key, member)
    {
        if (json_array_size(member) > SHOWN)
            (void)json_object_set_new(value, key, json_sprintf("%zu values", json_array_size(member)));
        else
            shorten(member);
    }
    size_t index;
    json_array_foreach(value, index, member) shorten(member);
}

/* Prints a fact on one line. A path's numbers and a table's words would fill pages. */
static void print_fact(FILE *out, const char *key, const char *value)
{
    const char *newline = strchr(value, '\n');
    json_t *json = value[0] == '{' ? json_loads(value, 0, NULL) : NULL;
    char *text = NULL;
    if (json != NULL) {
        shorten(json);
        text = json_dumps(json, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10));
        json_decref(json);
    }
    bool cut = text == NULL && newline != NULL;
    if (text == NULL)
        text = strndup(value, newline != NULL ? (size_t)(newline - value) : strlen(value));
    fprintf(out, "%-24s ", key);
    hw_print_word(out, text != NULL ? text : "");
    fprintf(out, "%s\n", cut ? " ..." : "");
    free(text);
}

/* ---- JSON ---- */

/* Returns the lines of a text as a list. */
static json_t *json_of_lines(const char *text, bool *ok)
{
    json_t *list = json_array();
    for (const char *end; *text != '\0'; text = end + (*end != '\0')) {
        end = text + strcspn(text, "\n");
        char *line = strndup(text, (size_t)(end - text));
        hw_json_append(list, line != NULL ? hw_json_string(line) : NULL, ok);
        free(line);
    }
    return list;
}

/* Returns a fact as JSON: numbers as numbers, objects as objects, names as a list. A name is a text even if it looks like a
 * number. */
static json_t *json_of_fact(const char *key, const char *value, bool *ok)
{
    static const char names[] = " algorithm hawser_version target labels positive ";
    char word[60];
    double number = 0.0;
    snprintf(word, sizeof word, " %.50s ", key);
    if (strcmp(key, "names") == 0 || strcmp(key, "outputs") == 0)
        return json_of_lines(value, ok);
    const char *end = strstr(names, word) == NULL ? hawser_read_number(value, &number) : NULL;
    json_t *json = value[0] == '{' ? json_loads(value, 0, NULL) : NULL;
    if (json != NULL)
        return json;
    return end != NULL && *end == '\0' && isfinite(number) ? hw_json_value(number) : hw_json_string(value);
}

static json_t *json_of_facts(const hawser_model *model, bool *ok)
{
    const char *key, *value;
    json_t *object = json_object(), *options = json_object();
    for (size_t i = 0; hawser_model_fact_at(model, i, &key, &value); i++)
        if (strncmp(key, "options.", 8) == 0)
            hw_json_text(options, key + 8, value, ok);
        else
            hw_json_take(object, key, json_of_fact(key, value, ok), ok);
    hw_json_take(object, "options", options, ok);
    return object;
}

/* Makes a list of topics, each with its words. */
static json_t *json_of_topics(const hawser_model *model, const hawser_schema *schema, const hawser_topic_words *words,
                              bool *ok)
{
    json_t *topics = json_array();
    for (size_t k = 0; k < words->topics; k++) {
        json_t *topic = json_object(), *list = json_array();
        hw_json_count(topic, "topic", k, ok);
        hw_json_number(topic, "share", words->share[k], ok);
        for (size_t w = words->offsets[k]; w < words->offsets[k + 1]; w++) {
            json_t *one = json_object();
            char name[1000];
            (void)hawser_model_label(model, schema, words->columns[w], name, sizeof name);
            hw_json_text(one, "word", name, ok);
            hw_json_number(one, "probability", words->probability[w], ok);
            hw_json_append(list, one, ok);
        }
        hw_json_take(topic, "words", list, ok);
        hw_json_append(topics, topic, ok);
    }
    return topics;
}

/* Adds the topics to the object. */
static hawser_status add_topics(const hw_call *call, const hawser_model *model, json_t *object, bool *ok,
                                hawser_error *error)
{
    const hawser_algorithm *algorithm = hawser_algorithm_find(hawser_model_text(model, "algorithm"));
    hawser_topic_words words = {0};
    hawser_schema *schema = NULL;
    if (algorithm == NULL || algorithm->topic_words == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "%s: --coefficients prints lines of this model; leave --json out, or --coefficients and --top",
                           call->words[0]);
    hawser_status status = algorithm->topic_words(model, most_of(call), &words, error);
    HAWSER_THEN(status, hawser_model_schema(model, &schema, error));
    if (status == HAWSER_OK)
        hw_json_take(object, "coefficients", json_of_topics(model, schema, &words, ok), ok);
    hawser_schema_free(schema);
    free(words.share);
    free(words.offsets);
    free(words.columns);
    free(words.probability);
    return status;
}

static hawser_status print_json(const hw_call *call, const hawser_model *model, bool weights, hawser_error *error)
{
    bool ok = true;
    json_t *object = json_of_facts(model, &ok);
    hawser_status status = weights ? add_topics(call, model, object, &ok, error) : HAWSER_OK;
    if (status == HAWSER_OK)
        return hw_json_line(call->out, object, ok, error);
    json_decref(object);
    return status;
}

/* ---- tables ---- */

/* Prints a number of the table, or a dash if it is unknown. */
static void print_cell(FILE *out, const double *values, size_t at)
{
    if (values != NULL)
        fprintf(out, " %12.6g", values[at]);
    else
        fprintf(out, " %12s", "-");
}

/* Prints the members of the model's path, one per line. */
static hawser_status print_path(const hw_call *call, const hawser_model *model, hawser_error *error)
{
    const hawser_algorithm *algorithm = hawser_algorithm_find(hawser_model_text(model, "algorithm"));
    hawser_error own = {0};
    hawser_path path;
    if (algorithm == NULL || algorithm->path == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: --path: models of this algorithm have no path", call->words[0]);
    if (algorithm->path(algorithm, model, &path, &own) != HAWSER_OK)
        return hawser_fail(error, own.status, "%s: --path: %.600s", call->words[0], own.text);
    if (path.error != NULL)
        fprintf(call->out, "error: %s on rows that the training did not see\n", path.error_name);
    fprintf(call->out, "%12s %12s %12s %12s %12s\n", path.name, "columns", "objective", "error", "std.error");
    for (size_t k = 0; k < path.count; k++) {
        print_cell(call->out, path.parameter, k);
        fprintf(call->out, " %12lld", (long long)(path.offsets[k + 1] - path.offsets[k]));
        print_cell(call->out, path.objective, k);
        print_cell(call->out, path.error, k);
        print_cell(call->out, path.standard_error, k);
        fprintf(call->out, "%s%s%s\n", k == path.least ? "  min" : "", k == path.one_se ? "  1se" : "",
                k == path.chosen ? "  model" : "");
    }
    if (path.ended != NULL)
        fprintf(call->out, "the training ended before the path did (%s): the model has %zu of its %zu members\n", path.ended,
                path.count, path.planned);
    if (path.folds_ended != NULL)
        fprintf(call->out, "the training ended before --cv did (%s): its folds have not chosen the member\n",
                path.folds_ended);
    return HAWSER_OK;
}

static bool asks_for_member(const hw_call *call)
{
    const hawser_option *row = hw_member_rows();
    while (row->key != NULL && hawser_options_source(call->options, row->key, NULL) != HAWSER_FROM_COMMAND_LINE)
        row++;
    return row->key != NULL;
}

static void print_facts(FILE *out, const hawser_model *model)
{
    const char *key, *value;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; hawser_model_fact_at(model, i, &key, &value); i++) {
            bool option = strncmp(key, "options.", 8) == 0;
            if (option != (pass == 1))
                continue;
            print_fact(out, key, value);
        }
}

hawser_status hw_info(hw_call *call, hawser_error *error)
{
    hawser_model *model;
    bool weights = hawser_options_flag(call->options, "coefficients") || hawser_options_has(call->options, "top");
    bool members = hawser_options_flag(call->options, "path");
    bool json = hawser_options_flag(call->options, "json");
    json_t *other_header;
    HAWSER_TRY(hw_refuse_idle(call, "json", members, "--path prints a table", error));
    HAWSER_TRY(hw_refuse_idle(call, "top", members, "--path prints no coefficients", error));
    HAWSER_TRY(hw_refuse_idle(call, "coefficients", members, "--path prints no coefficients", error));
    if (hw_info_is_folder(call->words[0])) {
        if (weights || members || asks_for_member(call))
            return hawser_fail(error, HAWSER_BAD_OPTION,
                               "%s is a folder: it can have checkpoints, which have no %s to print", call->words[0],
                               weights ? "coefficients" : "path");
        return hw_info_folder(call, json, error);
    }
    HAWSER_TRY(hw_tensor_file_header(call->words[0], &other_header, error));
    if (other_header != NULL) {
        hw_tensor_file_print(call->out, call->words[0], other_header);
        json_decref(other_header);
        bool plain = !weights && !members && !json && !asks_for_member(call);
        return plain ? HAWSER_OK
                     : hawser_fail(error, HAWSER_BAD_INPUT, "%s: not a model of Hawser, so it has no %s to print",
                                   call->words[0],
                                   weights ? "coefficients"
                                   : json  ? "facts"
                                           : "path");
    }
    HAWSER_TRY(hawser_model_load(call->words[0], &model, error));
    hawser_status status = hw_choose_member(call, call->words[0], model, error);
    if (status == HAWSER_OK && members)
        status = print_path(call, model, error);
    else if (status == HAWSER_OK && json)
        status = print_json(call, model, weights, error);
    else if (status == HAWSER_OK && weights)
        status = print_coefficients(call, model, error);
    else if (status == HAWSER_OK)
        print_facts(call->out, model);
    hawser_model_free(model);
    return status;
}
