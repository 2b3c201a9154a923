/* init.c - the model or the numbers of --init, as train and plan take them. */
#include <string.h>

#include "base/option_value.h"
#include "cli/input.h"
#include "hawser/advanced.h"
#include "runtime/job/enter.h"

/* Returns whether a list of words that blanks separate has this one. */
static bool has_word(const char *words, const char *word, size_t length)
{
    for (const char *at = words; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        size_t own = strcspn(at, " ");
        if (own == length && strncmp(at, word, length) == 0)
            return true;
        at += own;
    }
    return false;
}

/* Checks that the algorithm starts from numbers of this name. */
static hawser_status check_start(const hw_call *call, const hw_option_path *item, hawser_error *error)
{
    const char *starts = call->algorithm->starts;
    if (has_word(starts, item->state, item->state_length))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION,
                       "--init: %s does not start from '%.*s'; give --init MODEL, or NAME=FILE with one of the names: %s "
                       "(write ./NAME for a path with an equals sign)",
                       call->algorithm->name, (int)(item->state_length < 80 ? item->state_length : 80), item->state,
                       starts != NULL ? starts : "none");
}

/* Stores the path of the model of --init; NULL if there is none. */
static hawser_status find_init(const hw_call *call, const char **path, hawser_error *error)
{
    const char *text = hw_path_of(call, "init");
    hw_option_path item;
    bool model = false, state = false;
    for (const char *rest = text; rest != NULL && hw_option_next_path(&rest, &item);) {
        model |= item.state_length == 0;
        state |= item.state_length > 0;
        if (item.state_length > 0)
            HAWSER_TRY(check_start(call, &item, error));
    }
    *path = model ? text : NULL;
    return !state || !model
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_OPTION,
                             "--init: '%s' has a model, which sets the states, and files of states; give one of them", text);
}

hawser_status hw_load_init(const hw_call *call, hawser_job *job, hawser_model **init, hawser_error *error)
{
    const char *path;
    HAWSER_TRY(find_init(call, &path, error));
    if (path == NULL)
        HAWSER_TRY(hawser_job_idle(job, "init-if-exists", "there is no --init MODEL", error));
    HAWSER_TRY(hw_job_model(job, path, hawser_options_flag(call->options, "init-if-exists"), init, error));
    const char *text = hw_path_of(call, "init");
    if (text == NULL || !hawser_job_leads(job) || hawser_options_flag(call->options, "quiet"))
        return HAWSER_OK;
    const char *use = call->algorithm->init_use != NULL ? call->algorithm->init_use(call->options) : NULL;
    if (path != NULL && *init == NULL)
        hw_say(call->err, "--init: '%s' does not exist yet; the training starts from zero", path);
    else if (use != NULL)
        hw_say(call->err, "--init: '%s' %s", text, use);
    return HAWSER_OK;
}
