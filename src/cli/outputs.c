/* outputs.c - checks before any work is done that no output is also an input, and that no file is written twice. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/option_value.h"
#include "cli/input.h"
#include "data/formats.h"
#include "history/file.h"

static const char *const OUTPUTS[] = {"output",         "plot",           "trace", "log-json",     "truth",
                                      "record-history", "save-decisions", "learn", "address-file", "checkpoint"};

static bool is_output(const char *key)
{
    for (size_t i = 0; i < sizeof OUTPUTS / sizeof *OUTPUTS; i++)
        if (strcmp(OUTPUTS[i], key) == 0)
            return true;
    return false;
}

static hawser_status spares_word(const char *key, const char *path, const char *word, hawser_error *error)
{
    bool same = false;
    glob_t found;
    struct stat facts;
    if (stat(word, &facts) == 0 || glob(word, 0, NULL, &found) != 0) {
        HAWSER_TRY(hw_file_same(path, word, &same, error));
        return !same ? HAWSER_OK
                     : hawser_fail(error, HAWSER_BAD_OPTION, "--%s: '%s' would overwrite the input '%s'; name another file",
                                   key, path, word);
    }
    hawser_status status = HAWSER_OK;
    for (size_t i = 0; status == HAWSER_OK && i < found.gl_pathc; i++) {
        status = hw_file_same(path, found.gl_pathv[i], &same, error);
        if (status == HAWSER_OK && same)
            status = hawser_fail(error, HAWSER_BAD_OPTION,
                                 "--%s: '%s' would overwrite the input '%s', which %s matches; name another file", key, path,
                                 found.gl_pathv[i], word);
    }
    globfree(&found);
    return status;
}

/* Servers may save their tables to the file that they were loaded from, and a training its model to that of --init: the
 * whole file has been read by then. */
static bool continues(const char *output, const char *input)
{
    return strcmp(output, "output") == 0 && (strcmp(input, "load") == 0 || strcmp(input, "init") == 0);
}

/* Checks that `path` is no file of a state (--init STATE=FILE). */
static hawser_status spares_states(const char *key, const char *path, const hawser_option *row, const char *text,
                                   hawser_error *error)
{
    hw_option_path item;
    for (const char *rest = text; hw_option_next_path(&rest, &item);) {
        char *file = NULL;
        bool same = false;
        if (item.state_length == 0)
            continue;
        HAWSER_TRY(HW_NEW(&file, item.path_length + 1, "a file name", error));
        memcpy(file, item.path, item.path_length);
        hawser_status status = hw_file_same(path, file, &same, error);
        free(file);
        HAWSER_TRY(status);
        if (same)
            return hawser_fail(error, HAWSER_BAD_OPTION, "--%s: '%s' would overwrite a file of --%s; name another file", key,
                               path, row->key);
    }
    return HAWSER_OK;
}

/* Checks that one path, which belongs to option `key`, is no file that the command reads. */
static hawser_status check_spares(const hw_call *call, const char *key, const char *path, hawser_error *error)
{
    for (size_t i = 0; i < call->count; i++)
        HAWSER_TRY(spares_word(key, path, call->words[i], error));
    for (size_t i = 0; hawser_options_row(call->options, i) != NULL; i++) {
        const hawser_option *row = hawser_options_row(call->options, i);
        const char *input = hw_option_text(call->options, row->key);
        struct stat facts;
        bool same = false;
        if (row->kind == HAWSER_PATH && hw_option_by_state(row) && input != NULL)
            HAWSER_TRY(spares_states(key, path, row, input, error));
        if ((row->kind != HAWSER_PATH && row->kind != HAWSER_TEXT) || is_output(row->key) || input == NULL ||
            stat(input, &facts) != 0 || continues(key, row->key))
            continue;
        HAWSER_TRY(hw_file_same(path, input, &same, error));
        if (same)
            return hawser_fail(error, HAWSER_BAD_OPTION, "--%s: '%s' would overwrite the file of --%s; name another file",
                               key, path, row->key);
    }
    return HAWSER_OK;
}

/* Checks that `path`, which belongs to `key`, is none of the first `count` outputs. */
static hawser_status differs(const hw_call *call, const char *key, const char *path, size_t count, hawser_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const char *other = hw_path_of(call, OUTPUTS[i]);
        bool same = false;
        if (other != NULL && strcmp(OUTPUTS[i], key) != 0)
            HAWSER_TRY(hw_file_same(path, other, &same, error));
        if (same)
            return hawser_fail(error, HAWSER_BAD_OPTION,
                               "--%s and --%s would write one file, '%s'; name another for one of them", OUTPUTS[i], key,
                               path);
    }
    return HAWSER_OK;
}

hawser_status hw_check_outputs(const hw_call *call, hawser_error *error)
{
    for (size_t i = 0; i < sizeof OUTPUTS / sizeof *OUTPUTS; i++) {
        const char *path = hw_path_of(call, OUTPUTS[i]);
        if (path == NULL)
            continue;
        HAWSER_TRY(check_spares(call, OUTPUTS[i], path, error));
        HAWSER_TRY(differs(call, OUTPUTS[i], path, i, error));
    }
    return HAWSER_OK;
}

hawser_status hw_check_history_of(const hw_call *call, uint32_t node, hawser_error *error)
{
    char *own = NULL;
    const char *wanted = hw_path_of(call, "record-history");
    if (wanted == NULL || *wanted == '\0')
        return HAWSER_OK;
    HAWSER_TRY(hw_history_path(wanted, node, &own, error));
    hawser_status status = check_spares(call, "record-history", own, error);
    HAWSER_THEN(status, differs(call, "record-history", own, sizeof OUTPUTS / sizeof *OUTPUTS, error));
    free(own);
    return status;
}

hawser_status hw_check_spares_data(const hw_call *call, const char *path, hawser_error *error)
{
    hawser_format format;
    char *target = NULL;
    size_t size = strlen(path) + sizeof ".target";
    HAWSER_TRY(hw_format_of_path(path, &format, error));
    HAWSER_TRY(check_spares(call, "output", path, error));
    if (!hw_format_is(format, HW_FORMAT_PAIR))
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&target, size, "a file name", error));
    (void)snprintf(target, size, "%s.target", path);
    hawser_status status = check_spares(call, "output", target, error);
    HAWSER_THEN(status, differs(call, "output", target, sizeof OUTPUTS / sizeof *OUTPUTS, error));
    free(target);
    return status;
}
