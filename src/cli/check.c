/* check.c - hawser check: checks a recorded history. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "history/check.h"
#include "report/json.h"

const hawser_option *hw_check_history_rows(void)
{
    static const hawser_option rows[] = {
        {"json", HAWSER_FLAG, "no", NULL, NULL, "print one JSON object instead of lines", NULL, 0},
        {0},
    };
    return rows;
}

/* Adds a file. spares_empty: an empty one counts as none, because a node that is killed before its job begins leaves one. */
static hawser_status add_file(hw_history *history, const char *path, bool spares_empty, hawser_error *error)
{
    struct stat facts;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is refused below; opening it must not block */
    if (fd < 0 || fstat(fd, &facts) != 0) {
        hawser_status status = hawser_fail(error, HAWSER_IO, "cannot read %s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return status;
    }
    if (!S_ISREG(facts.st_mode)) {
        close(fd);
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s is %s, and a history is a file", path,
                           S_ISDIR(facts.st_mode) ? "a directory" : "no plain file");
    }
    size_t size = (size_t)facts.st_size;
    if (size == 0 && spares_empty) {
        close(fd);
        return HAWSER_OK;
    }
    void *bytes = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    close(fd);
    if (bytes == MAP_FAILED)
        return hawser_fail(error, HAWSER_IO, "cannot read %s: %s", path, strerror(errno));
    hawser_status status = hw_history_add(history, path, bytes != NULL ? bytes : "", size, error);
    if (bytes != NULL)
        munmap(bytes, size);
    return status;
}

/* Adds the files of the job's other nodes, which are beside this one under the names that they were written with. */
static hawser_status add_others(hw_history *history, const char *path, hawser_error *error)
{
    for (uint32_t node = 1; node < history->nodes; node++) {
        char *other = NULL;
        HAWSER_TRY(hw_history_path(path, node, &other, error));
        hawser_status status = HAWSER_OK;
        if (!history->parts[node].read && access(other, F_OK) == 0)
            status = add_file(history, other, true, error);
        free(other);
        HAWSER_TRY(status);
    }
    return HAWSER_OK;
}

static hawser_status read_all(hw_call *call, hw_history *history, hawser_error *error)
{
    for (size_t i = 0; i < call->count; i++)
        HAWSER_TRY(add_file(history, call->words[i], call->count > 1, error));
    if (call->count == 1 && history->parts[0].read)
        HAWSER_TRY(add_others(history, call->words[0], error));
    HAWSER_TRY(hw_history_whole(history, error));
    if (history->records == 0 && history->ended == HAWSER_OK)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s has no records: the job ended before it ran anything",
                           call->words[0]);
    return HAWSER_OK;
}

/* Lists the records that break the rule, with their texts. */
static json_t *fragment_of(const hw_verdict *verdict, const hw_history *history, bool *ok)
{
    json_t *fragment = json_array();
    for (size_t i = 0; i < verdict->count; i++) {
        char text[400] = "";
        FILE *line = fmemopen(text, sizeof text, "w");
        if (line != NULL) {
            hw_counterexample_print(&verdict->counterexamples[i], history, line);
            (void)fclose(line);
        }
        hw_json_append(fragment, line != NULL ? hw_json_string(text) : NULL, ok);
    }
    return fragment;
}

static hawser_status print_json(const hw_call *call, const hw_verdict *verdict, const hw_history *history,
                                hawser_error *error)
{
    bool ok = true;
    json_t *object = json_object(), *rules = json_object(), *lost = json_array();
    hw_json_take(object, "holds", json_boolean(!verdict->broken), &ok);
    hw_json_count(object, "records", verdict->records, &ok);
    hw_json_count(object, "streams", verdict->streams, &ok);
    hw_json_text(object, "rule", verdict->broken ? hw_rule_name(verdict->rule) : NULL, &ok);
    hw_json_text(object, "what", verdict->broken ? verdict->text : NULL, &ok);
    hw_json_take(object, "fragment", fragment_of(verdict, history, &ok), &ok);
    hw_json_text(object, "ended", history->ended != HAWSER_OK ? hawser_status_name(history->ended) : NULL, &ok);
    for (uint32_t node = 0; node < history->nodes; node++)
        if (history->parts[node].lost)
            hw_json_append(lost, json_integer(node), &ok);
    hw_json_take(object, "lost", lost, &ok);
    hw_json_take(object, "resumed", json_boolean(verdict->resumed), &ok);
    hw_json_count(object, "unrecorded", verdict->unrecorded, &ok);
    for (int rule = 0; rule < HW_RULES; rule++)
        hw_json_count(rules, hw_rule_name((hw_rule)rule), verdict->checked[rule], &ok);
    hw_json_take(object, "checked", rules, &ok);
    return hw_json_line(call->out, object, ok, error);
}

hawser_status hw_check_history(hw_call *call, hawser_error *error)
{
    hw_history history = {0};
    hw_verdict verdict;
    hawser_status status = read_all(call, &history, error);
    HAWSER_THEN(status, hw_history_check(&history, &verdict, error));
    if (status == HAWSER_OK && hawser_options_flag(call->options, "json"))
        status = print_json(call, &verdict, &history, error);
    else if (status == HAWSER_OK)
        hw_verdict_print(&verdict, &history, call->out);
    if (status == HAWSER_OK && (verdict.broken || history.ended != HAWSER_OK))
        call->code = verdict.broken ? HW_EXIT_BROKEN : HW_EXIT_CUT;
    hw_history_free(&history);
    return status;
}
