#include "report/json.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/option_value.h"

bool hw_terminal_is_lost(FILE *out)
{
    return isatty(fileno(out)) == 0 && errno == EIO;
}

hawser_status hw_json_line(FILE *out, json_t *object, bool ok, hawser_error *error)
{
    char *text = hw_json_print(object, ok);
    if (text == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a line of JSON: not enough memory");
    bool written = fprintf(out, "%s\n", text) > 0 && fflush(out) == 0;
    int failure = errno;
    free(text);
    if (!written && hw_terminal_is_lost(out))
        return HAWSER_OK; /* the stream keeps its error, and the command knows whether that error ended it */
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
