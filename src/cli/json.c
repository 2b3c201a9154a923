#include "cli/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/option_value.h"

void hw_json_take(json_t *object, const char *key, json_t *value, bool *ok)
{
    if (value == NULL || json_object_set_new(object, key, value) != 0)
        *ok = false;
}

void hw_json_append(json_t *list, json_t *value, bool *ok)
{
    if (value == NULL || json_array_append_new(list, value) != 0)
        *ok = false;
}

json_t *hw_json_value(double value)
{
    if (isfinite(value) && fabs(value) < 9e15 && value == floor(value))
        return json_integer((json_int_t)value);
    return isfinite(value) ? json_real(value) : json_null();
}

void hw_json_number(json_t *object, const char *key, double value, bool *ok)
{
    hw_json_take(object, key, hw_json_value(value), ok);
}

void hw_json_count(json_t *object, const char *key, uint64_t value, bool *ok)
{
    hw_json_take(object, key, json_integer((json_int_t)value), ok);
}

json_t *hw_json_string(const char *value)
{
    json_t *text = value != NULL ? json_string(value) : json_null();
    char *copy = NULL;
    if (text == NULL && hw_copy_text(&copy, value, NULL) == HAWSER_OK) {
        for (char *at = copy; *at != '\0'; at++)
            if ((unsigned char)*at >= 128)
                *at = '?';
        text = json_string(copy);
    }
    free(copy);
    return text;
}

void hw_json_text(json_t *object, const char *key, const char *value, bool *ok)
{
    hw_json_take(object, key, hw_json_string(value), ok);
}

hawser_status hw_json_line(FILE *out, json_t *object, bool ok, hawser_error *error)
{
    char *text = ok ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    if (text == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a line of JSON: not enough memory");
    bool written = fprintf(out, "%s\n", text) > 0 && fflush(out) == 0;
    int failure = errno;
    free(text);
    if (!written && hw_terminal_is_lost(out))
        return HAWSER_OK; /* the stream keeps its error, and hw_cli_call knows whether that error ended the command */
    errno = failure;
    return written ? HAWSER_OK : hawser_fail(error, HAWSER_IO, "cannot write a line of JSON: %s", strerror(errno));
}

json_t *hw_json_options(const hawser_options *options, bool *ok)
{
    static const char *const sources[] = {"default", "program", "file", "environment", "command line"};
    json_t *all = json_object();
    for (size_t i = 0; hawser_options_row(options, i) != NULL; i++) {
        const char *key = hawser_options_row(options, i)->key, *where = NULL;
        hawser_source source = hawser_options_source(options, key, &where);
        json_t *one = json_object();
        hw_json_text(one, "value", hw_option_text(options, key), ok);
        hw_json_text(one, "source", sources[source], ok);
        hw_json_text(one, "where", where, ok);
        hw_json_take(all, key, one, ok);
    }
    return all;
}
