#include "cli/store/store.h"

#include <stdio.h>
#include <string.h>

/* Returns whether the job has a row of this key; a row of this name in another table may mean something else. */
static bool is_job_row(const char *key)
{
    for (const hawser_option *row = hawser_job_rows(); row->key != NULL; row++)
        if (strcmp(row->key, key) == 0)
            return true;
    return false;
}

hawser_status hw_job_options(const hw_call *call, hawser_options **options, hawser_error *error)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hawser_data_rows(), NULL};
    const hawser_option *row;
    HAWSER_TRY(hawser_options_new(tables, options, error));
    hawser_status status = HAWSER_OK;
    for (size_t i = 0; status == HAWSER_OK && (row = hawser_options_row(call->options, i)) != NULL; i++)
        if ((is_job_row(row->key) || strcmp(row->key, "memory-limit") == 0) && hawser_options_has(call->options, row->key))
            status = hawser_options_set(*options, row->key, hawser_options_text(call->options, row->key),
                                        HAWSER_FROM_PROGRAM, call->command->name, error);
    if (status != HAWSER_OK) {
        hawser_options_free(*options);
        *options = NULL;
    }
    return status;
}

hawser_status hw_store_session_begin(hw_call *call, hw_store_session *session, hawser_error *error)
{
    *session = (hw_store_session){.call = call};
    if (!hawser_options_has(call->options, "at"))
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "missing address of the servers; give --at HOST:PORT, as 'hawser serve' prints it (or set HAWSER_AT)");
    if (!hawser_options_has(call->options, "key-file"))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "missing key of the servers; give --key-file FILE, the file of 'hawser serve' (or set "
                           "HAWSER_KEY_FILE)");
    HAWSER_TRY(hw_job_options(call, &session->options, error));
    HAWSER_TRY(hawser_options_set(session->options, "alone", "yes", HAWSER_FROM_PROGRAM, call->command->name, error));
    HAWSER_TRY(hawser_open_options(session->options, &session->job, error));
    const hawser_store_options options = {.at = hawser_options_text(call->options, "at"),
                                          .key_file = hawser_options_text(call->options, "key-file")};
    return hawser_store_open(session->job, &options, &session->store, error);
}

void hw_store_session_end(hw_store_session *session)
{
    hawser_store_close(session->store);
    hawser_close(session->job);
    hawser_options_free(session->options);
}

bool hw_read_key(const char *text, size_t length, uint64_t *key)
{
    *key = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(text[i] - '0');
        if (digit > 9 || *key > (UINT64_MAX - digit) / 10)
            return false;
        *key = *key * 10 + digit;
    }
    return length > 0;
}

bool hw_read_keys(const char *text, uint64_t *first, uint64_t *last)
{
    const char *dots = strstr(text, "..");
    uint64_t from = *first, to = *last;
    if (dots == NULL) {
        if (!hw_read_key(text, strlen(text), &from))
            return false;
        to = from;
    } else if ((dots != text && !hw_read_key(text, (size_t)(dots - text), &from)) ||
               (dots[2] != '\0' && !hw_read_key(dots + 2, strlen(dots + 2), &to))) {
        return false;
    }
    bool within = from <= to && from >= *first && to <= *last;
    *first = from;
    *last = to;
    return within;
}

/* ------------------------------------------------------------------------------------------------------------ words ---- */

#define STORE_ROWS                                                                                                          \
    {"at", HAWSER_TEXT, NULL, NULL, "HOST:PORT", "a server of the store, as hawser serve prints it", NULL, 0},              \
        {"key-file", HAWSER_PATH, NULL, NULL, "FILE", "the file with the servers' key, mode 0600", NULL, 0},                \
        {"join-timeout", HAWSER_SECONDS, "5", "[0.1,86400]", "TIME", "how long to wait for a server to accept", NULL, 0},   \
        {"timeout", HAWSER_SECONDS, "60", "(0,1e9]", "TIME", "how long to wait for an answer", NULL, 0},                    \
    {                                                                                                                       \
        "trust-fabric", HAWSER_FLAG, "no", NULL, NULL,                                                                      \
            "do not encrypt links between hosts; the servers need the same option", NULL, 0                                 \
    }

const hawser_option *hw_store_put_rows(void)
{
    static const hawser_option rows[] = {STORE_ROWS, {0}};
    return rows;
}

const hawser_option *hw_store_get_rows(void)
{
    static const hawser_option rows[] = {
        STORE_ROWS,
        {"json", HAWSER_FLAG, "no", NULL, NULL, "print JSON instead of text", NULL, 0},
        {0},
    };
    return rows;
}

const hawser_option *hw_store_make_rows(void)
{
    static const hawser_option rows[] = {
        STORE_ROWS,
        {"type", HAWSER_WORD, "f64", "f32|f64|i64", "TYPE", "type of its numbers", NULL, 0},
        {"width", HAWSER_INTEGER, "1", "[1,16777216]", "N", "numbers per key", NULL, 0},
        {"keys", HAWSER_TEXT, NULL, NULL, "FIRST..LAST",
         "keys of a dense table; if unset the table is sparse and has any keys that are written", NULL, 0},
        {"function", HAWSER_WORD, "add", "add|assign|max|average|adagrad|adam|proximal", "NAME",
         "how a push changes the stored values", NULL, 0},
        {"parameters", HAWSER_NUMBERS, "", NULL, "LIST",
         "parameters of the function: adagrad: rate, epsilon; adam: rate, beta1, beta2, epsilon; proximal: rate, l1, l2, "
         "low, high, the last three if wanted",
         NULL, 0},
        {0},
    };
    return rows;
}

static hawser_status do_file(hw_call *call, bool save, hawser_error *error)
{
    hw_store_session session;
    hawser_status status = hw_store_session_begin(call, &session, error);
    HAWSER_THEN(status, save ? hawser_store_save(session.store, call->words[0], error)
                             : hawser_store_load(session.store, call->words[0], error));
    hw_store_session_end(&session);
    return status;
}

hawser_status hw_store_save_command(hw_call *call, hawser_error *error)
{
    return do_file(call, true, error);
}

hawser_status hw_store_load_command(hw_call *call, hawser_error *error)
{
    return do_file(call, false, error);
}

static hawser_status make(const hw_store_session *session, hawser_error *error)
{
    const hawser_options *options = session->call->options;
    const char *type = hawser_options_text(options, "type"), *keys = hawser_options_text(options, "keys");
    size_t count = 0;
    uint32_t number;
    const double *parameters = hawser_options_numbers(options, "parameters", &count);
    const hw_function *function = hw_function_find(hawser_options_text(options, "function"));
    hawser_table table = {.name = session->call->words[0],
                          .type = strcmp(type, "f32") == 0   ? HAWSER_F32
                                  : strcmp(type, "i64") == 0 ? HAWSER_I64
                                                             : HAWSER_F64,
                          .width = (uint32_t)hawser_options_integer(options, "width"),
                          .sparse = keys == NULL,
                          .last = UINT64_MAX,
                          .function = function->name};
    if (keys != NULL && !hw_read_keys(keys, &table.first, &table.last))
        return hawser_fail(error, HAWSER_BAD_OPTION, "keys = '%s': expected FIRST..LAST, as in 0..999", keys);
    if (count > function->parameters || count < function->parameters_least) {
        char least[20] = "";
        if (function->parameters_least < function->parameters)
            (void)snprintf(least, sizeof least, "%u to ", function->parameters_least);
        return hawser_fail(error, HAWSER_BAD_OPTION, "function '%s' takes %s%u parameters%s%s%s, and not %zu (--parameters)",
                           function->name, least, function->parameters, function->parameters > 0 ? " (" : "",
                           function->parameters > 0 ? function->parameter_names : "", function->parameters > 0 ? ")" : "",
                           count);
    }
    for (size_t i = 0; i < count; i++)
        table.parameters[i] = parameters[i];
    return hawser_store_table(session->store, &table, &number, error);
}

hawser_status hw_store_make(hw_call *call, hawser_error *error)
{
    hw_store_session session;
    hawser_status status = hw_store_session_begin(call, &session, error);
    HAWSER_THEN(status, make(&session, error));
    hw_store_session_end(&session);
    return status;
}
