/* outputs.c - what a call writes is none of the files that it reads, and no file twice: told before any work is done. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "cli/input.h"

static const char *const OUTPUTS[] = {"output", "plot", "trace", "log-json", "truth", "record-history"};

static bool is_output(const char *key)
{
    for (size_t i = 0; i < sizeof OUTPUTS / sizeof *OUTPUTS; i++)
        if (strcmp(OUTPUTS[i], key) == 0)
            return true;
    return false;
}

/* The file's directory without links and dots, a slash, its name; for files that are not there yet. */
static hawser_status resolve(const char *path, char **resolved, hawser_error *error)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    size_t length = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
    char *directory = NULL, *whole = NULL;
    *resolved = NULL;
    HAWSER_TRY(HW_NEW(&directory, length + 1, "a file name", error));
    memcpy(directory, slash != NULL ? path : ".", length);
    char *real = realpath(directory, NULL); /* NULL: no such directory, which whoever opens the file will say */
    const char *base = real != NULL ? real : directory;
    hawser_status status = HW_NEW(&whole, strlen(base) + strlen(name) + 2, "a file name", error);
    if (status == HAWSER_OK)
        (void)snprintf(whole, strlen(base) + strlen(name) + 2, "%s/%s", base, name);
    free(directory);
    free(real);
    *resolved = whole;
    return status;
}

/* Devices and pipes may be written to twice, and read from too. */
static hawser_status same_file(const char *a, const char *b, bool *same, hawser_error *error)
{
    struct stat first, second;
    bool first_there = stat(a, &first) == 0, second_there = stat(b, &second) == 0;
    *same = false;
    if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0 || first_there != second_there)
        return HAWSER_OK;
    if (first_there) {
        *same = S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
        return HAWSER_OK;
    }
    char *x = NULL, *y = NULL;
    hawser_status status = resolve(a, &x, error);
    if (status == HAWSER_OK)
        status = resolve(b, &y, error);
    if (status == HAWSER_OK)
        *same = strcmp(x, y) == 0;
    free(x);
    free(y);
    return status;
}

static hawser_status spares_word(const char *key, const char *path, const char *word, hawser_error *error)
{
    bool same = false;
    glob_t found;
    struct stat facts;
    if (stat(word, &facts) == 0 || glob(word, 0, NULL, &found) != 0) {
        HAWSER_TRY(same_file(path, word, &same, error));
        return !same ? HAWSER_OK
                     : hawser_fail(error, HAWSER_BAD_OPTION, "--%s: '%s' would overwrite the input '%s'; name another file",
                                   key, path, word);
    }
    hawser_status status = HAWSER_OK;
    for (size_t i = 0; status == HAWSER_OK && i < found.gl_pathc; i++) {
        status = same_file(path, found.gl_pathv[i], &same, error);
        if (status == HAWSER_OK && same)
            status = hawser_fail(error, HAWSER_BAD_OPTION,
                                 "--%s: '%s' would overwrite the input '%s', which %s stands for; name another file", key,
                                 path, found.gl_pathv[i], word);
    }
    globfree(&found);
    return status;
}

hawser_status hw_check_spares(const hw_call *call, const char *key, const char *path, hawser_error *error)
{
    for (size_t i = 0; i < call->count; i++)
        HAWSER_TRY(spares_word(key, path, call->words[i], error));
    for (size_t i = 0; hawser_options_row(call->options, i) != NULL; i++) {
        const hawser_option *row = hawser_options_row(call->options, i);
        const char *input = hawser_options_text(call->options, row->key);
        struct stat facts;
        bool same = false;
        if ((row->kind != HAWSER_PATH && row->kind != HAWSER_TEXT) || is_output(row->key) || input == NULL ||
            stat(input, &facts) != 0)
            continue;
        HAWSER_TRY(same_file(path, input, &same, error));
        if (same)
            return hawser_fail(error, HAWSER_BAD_OPTION, "--%s: '%s' would overwrite the file of --%s; name another file",
                               key, path, row->key);
    }
    return HAWSER_OK;
}

hawser_status hw_check_outputs(const hw_call *call, hawser_error *error)
{
    for (size_t i = 0; i < sizeof OUTPUTS / sizeof *OUTPUTS; i++) {
        const char *path = hw_path_of(call, OUTPUTS[i]);
        if (path == NULL)
            continue;
        HAWSER_TRY(hw_check_spares(call, OUTPUTS[i], path, error));
        for (size_t j = 0; j < i; j++) {
            const char *other = hw_path_of(call, OUTPUTS[j]);
            bool same = false;
            if (other != NULL)
                HAWSER_TRY(same_file(path, other, &same, error));
            if (same)
                return hawser_fail(error, HAWSER_BAD_OPTION,
                                   "--%s and --%s would write one file, '%s'; name another for one of them", OUTPUTS[j],
                                   OUTPUTS[i], path);
        }
    }
    return HAWSER_OK;
}

hawser_status hw_check_spares_data(const hw_call *call, const char *path, hawser_error *error)
{
    hawser_format format;
    char *target = NULL;
    size_t size = strlen(path) + sizeof ".target";
    HAWSER_TRY(hw_format_of_path(path, &format, error));
    HAWSER_TRY(hw_check_spares(call, "output", path, error));
    if (format != HAWSER_MATRIX_MARKET)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&target, size, "a file name", error));
    (void)snprintf(target, size, "%s.target", path);
    hawser_status status = hw_check_spares(call, "output", target, error);
    free(target);
    return status;
}
