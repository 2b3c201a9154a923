#include "runtime/job/decisions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/build.h"
#include "base/difference.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/messages.h"
#include "hawser/data.h"
#include "runtime/job/job.h"

/* Returns whether files of decisions were asked for, and something may be decided. */
static bool has_files(const hawser_job *job)
{
    return job->settings.adapts != 0 && (hawser_options_text(job->options, "save-decisions") != NULL ||
                                         hawser_options_text(job->options, "replay-decisions") != NULL);
}

bool hw_job_identifies(const hawser_job *job)
{
    const bool learns = job->settings.adapts != 0 && hawser_options_text(job->options, "learn") != NULL;
    return hawser_options_text(job->options, "checkpoint") != NULL || has_files(job) || learns;
}

/* -------------------------------------------------------------------------------------------------------- opening ---- */

hawser_status hw_decisions_text(const char *option, const char *path, char **text, size_t *length, hawser_error *error)
{
    size_t capacity = 0, got = 1;
    struct stat facts;
    FILE *file = fopen(path, "re");
    if (file == NULL || fstat(fileno(file), &facts) != 0 || !S_ISREG(facts.st_mode)) {
        const char *why = file == NULL ? strerror(errno) : "it is no regular file";
        hawser_status status = hawser_fail(error, HAWSER_IO, "--%s: cannot read %s: %s", option, path, why);
        if (file != NULL)
            (void)fclose(file);
        return status;
    }
    hawser_status status = HAWSER_OK;
    while (status == HAWSER_OK && got > 0) {
        status = HW_GROW(text, &capacity, *length + 65536, "a file of decisions", error);
        got = status == HAWSER_OK ? fread(*text + *length, 1, 65536, file) : 0;
        *length += got;
    }
    if (status == HAWSER_OK && ferror(file) != 0)
        status = hawser_fail(error, HAWSER_IO, "--%s: cannot read %s: %s", option, path, strerror(errno));
    (void)fclose(file);
    return status;
}

/* Checks that the file to replay is of as many workers. It may be of another build, as that of a simulation is. */
static hawser_status check_workers(const hawser_job *job, const hw_decisions *own, hawser_error *error)
{
    const hw_log_line *head = &own->file.lines[0];
    if (head->number != job->settings.blocks)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--replay-decisions: %s has decisions on %" PRIu32 " workers, and there are %" PRIu32
                           " here: give --workers %" PRIu32 "; threads and nodes may differ",
                           own->replay, head->number, job->settings.blocks, head->number);
    return HAWSER_OK;
}

static hawser_status read_replay(const hawser_job *job, hw_decisions *own, hawser_error *error)
{
    char *text = NULL;
    size_t length = 0;
    hawser_status status = hw_decisions_text("replay-decisions", own->replay, &text, &length, error);
    if (status == HAWSER_OK)
        status = hw_log_read(text, length, own->replay, &own->file, error);
    free(text);
    return status == HAWSER_OK ? check_workers(job, own, error) : status;
}

hawser_status hw_decisions_named(const char *option, hawser_status status, hawser_error *error)
{
    if (status == HAWSER_OK)
        return HAWSER_OK;
    const hawser_error before = *error;
    return hawser_fail(error, status, "%s: %s", option, before.text);
}

/* Begins the text to be saved. Fails now if its file cannot be written. */
static hawser_status begin_save(const hawser_job *job, hw_decisions *own, hawser_error *error)
{
    hw_file file = {0};
    char build[HW_BUILD_SIZE];
    hw_build(build);
    HAWSER_TRY(hw_decisions_named("--save-decisions", hw_file_begin(&file, own->save, error), error));
    const bool direct = hw_file_is_direct(&file);
    hw_file_abort(&file);
    if (direct)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--save-decisions: '%s' is no regular file; name one", own->save);
    const hw_log_line head = {.kind = HW_LOG_HEAD, .identity = build, .number = job->settings.blocks};
    hw_decisions_add(own, &head);
    return HAWSER_OK;
}

hawser_status hw_decisions_path(const char *given, char **path, hawser_error *error)
{
    char *here = given != NULL && given[0] != '/' && strcmp(given, "-") != 0 ? realpath(".", NULL) : NULL;
    if (given != NULL && asprintf(path, "%s%s%s", here != NULL ? here : "", here != NULL ? "/" : "", given) < 0)
        *path = NULL;
    free(here);
    return given == NULL || *path != NULL ? HAWSER_OK : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a path");
}

static hawser_status open_here(hawser_job *job, hawser_error *error)
{
    hw_decisions *own = NULL;
    HAWSER_TRY(HW_NEW(&own, 1, "files of decisions", error));
    job->decisions = own;
    HAWSER_TRY(hw_decisions_path(hawser_options_text(job->options, "save-decisions"), &own->save, error));
    HAWSER_TRY(hw_decisions_path(hawser_options_text(job->options, "replay-decisions"), &own->replay, error));
    if (own->replay != NULL)
        HAWSER_TRY(read_replay(job, own, error));
    return own->save != NULL ? begin_save(job, own, error) : HAWSER_OK;
}

/* Refuses options that do not go together. All nodes have the same ones. */
static hawser_status check_options(const hawser_options *options, hawser_error *error)
{
    const bool saves = hawser_options_text(options, "save-decisions") != NULL;
    if (saves && hawser_options_text(options, "replay-decisions") != NULL)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--save-decisions and --replay-decisions do not go together: a replay measures nothing and decides "
            "nothing; leave one out");
    if (hawser_options_text(options, "checkpoint") != NULL)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--%s and --checkpoint do not go together: a file of decisions begins with its run; leave one out",
            saves ? "save-decisions" : "replay-decisions");
    return HAWSER_OK;
}

hawser_status hw_decisions_open(hawser_job *job, hawser_error *error)
{
    if (job->decisions != NULL || !has_files(job))
        return HAWSER_OK;
    HAWSER_TRY(check_options(job->options, error));
    const bool leads = job->cluster == NULL || hw_cluster_self(job->cluster) == 0;
    return hw_cluster_agree(job->cluster, leads ? open_here(job, error) : HAWSER_OK, error);
}

void hw_decisions_close(hawser_job *job)
{
    hw_decisions *own = job->decisions;
    if (own == NULL)
        return;
    free(own->save);
    free(own->replay);
    free(own->text);
    hw_log_free(&own->file);
    free(own);
    job->decisions = NULL;
}

/* ----------------------------------------------------------------------------------------------------------- runs ---- */

void hw_decisions_add(hw_decisions *own, const hw_log_line *line)
{
    if (own == NULL || own->save == NULL || own->failure.status != HAWSER_OK)
        return;
    own->failure.status = hw_log_add(line, &own->text, &own->length, &own->failure);
    own->count++;
}

/* Finds the lines of a run in the file to replay. */
static const hw_log_line *find_run(hw_decisions *own, uint64_t run)
{
    const hw_log_line *found = NULL;
    size_t i = 0;
    for (; i < own->file.count && found == NULL; i++)
        if (own->file.lines[i].kind == HW_LOG_RUN && own->file.lines[i].number == run)
            found = &own->file.lines[i];
    for (own->next = i; i < own->file.count && own->file.lines[i].kind != HW_LOG_RUN;)
        i++;
    own->run_end = i;
    return found;
}

/* Returns whether a line is that of an option which says how data are read, or whether a model must exist. Digests have what
 * was read. */
static bool is_about_reading(const char *line)
{
    static const char label[] = "option ", exists[] = "init-if-exists = ";
    const hawser_option *rows = hawser_data_rows();
    if (strncmp(line, label, sizeof label - 1) != 0)
        return false;
    line += sizeof label - 1;
    for (size_t i = 0; rows[i].key != NULL; i++) {
        const size_t length = strlen(rows[i].key);
        if (strncmp(line, rows[i].key, length) == 0 && strncmp(line + length, " = ", 3) == 0)
            return true;
    }
    return strncmp(line, exists, sizeof exists - 1) == 0;
}

/* Copies a text without such lines. The caller frees it; NULL: no memory. */
static char *without_reading(const char *text)
{
    char *copy = malloc(strlen(text) + 1), *to = copy;
    for (const char *line = text; copy != NULL && *line != '\0';) {
        const size_t length = strcspn(line, "\n") + (line[strcspn(line, "\n")] != '\0');
        if (!is_about_reading(line)) {
            memcpy(to, line, length);
            to += length;
        }
        line += length;
    }
    if (copy != NULL)
        *to = '\0';
    return copy;
}

/* Returns whether runs differ in more than how their data were read: by the command or by Python, from a file or memory. */
static bool runs_differ(const char *there, const char *here, char difference[HW_DIFFERENCE])
{
    char rest[HW_DIFFERENCE];
    if (!hw_lines_differ(there, here, difference))
        return false;
    char *a = without_reading(there), *b = without_reading(here);
    bool differ = a == NULL || b == NULL || hw_lines_differ(a, b, rest);
    if (differ && a != NULL && b != NULL && strstr(difference, "but") != NULL) /* one has no such option */
        memcpy(difference, rest, sizeof rest);
    free(a);
    free(b);
    return differ;
}

static hawser_status compare(hw_decisions *own, uint64_t run, const char *text, hawser_error *error)
{
    char difference[HW_DIFFERENCE];
    const hw_log_line *there = find_run(own, run);
    if (there == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--replay-decisions: %s has no run %" PRIu64 " of a job", own->replay,
                           run);
    json_t *stored = hw_json_string(text); /* what is no UTF-8 was replaced when it was saved */
    if (stored == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to compare a run");
    const bool differs = runs_differ(there->identity, json_string_value(stored), difference);
    json_decref(stored);
    if (!differs)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION, "--replay-decisions: %s:%td has decisions of another run: %s", own->replay,
                       there - own->file.lines + 1, difference);
}

hawser_status hw_decisions_begin(hawser_job *job, uint64_t run, const char *text, hawser_error *error)
{
    hw_decisions *own = job->decisions;
    const hw_log_line line = {.kind = HW_LOG_RUN, .number = (uint32_t)run, .identity = text};
    hw_decisions_add(own, &line);
    return own->replay != NULL ? compare(own, run, text, error) : HAWSER_OK;
}

/* Writes all lines so far, and the one that ends them. */
static hawser_status write_file(const hw_decisions *own, hawser_error *error)
{
    hw_file file = {0};
    char *last = NULL;
    size_t length = 0;
    HAWSER_TRY(hw_log_end(own->count, &last, &length, error));
    hawser_status status = hw_file_begin(&file, own->save, error);
    if (status == HAWSER_OK)
        status = hw_file_write(&file, own->text, own->length, error);
    if (status == HAWSER_OK)
        status = hw_file_write(&file, last, length, error);
    if (status == HAWSER_OK)
        status = hw_file_commit(&file, error);
    hw_file_abort(&file);
    free(last);
    return status;
}

hawser_status hw_decisions_end(hawser_job *job, hawser_error *error)
{
    hw_decisions *own = job->decisions;
    uint64_t left = 0;
    if (own == NULL)
        return HAWSER_OK;
    for (; own->next < own->run_end; own->next++)
        left += own->file.lines[own->next].kind == HW_LOG_CHANGE;
    if (left > 0)
        hw_notify(job->messages, HAWSER_WARNING, 0,
                  "--replay-decisions: the run ended before %" PRIu64 " changes of %s, which were not made", left,
                  own->replay);
    if (own->failure.status != HAWSER_OK) {
        if (error != NULL)
            *error = own->failure;
        return own->failure.status;
    }
    return own->save != NULL ? write_file(own, error) : HAWSER_OK;
}

/* Returns whether a place is at or before another one. At a number of clocks points come before the window. */
static bool is_reached(hw_log_place place, hw_log_place now)
{
    if (place.clocks != now.clocks)
        return place.clocks < now.clocks;
    return now.point == 0 || (place.point != 0 && place.point <= now.point);
}

const hw_instruction *hw_decisions_next(hw_decisions *own, const char *loop, hw_log_place place, size_t *line)
{
    while (own->next < own->run_end && own->file.lines[own->next].kind != HW_LOG_CHANGE)
        own->next++;
    const hw_log_line *next = &own->file.lines[own->next];
    if (own->next >= own->run_end || strcmp(next->loop, loop) != 0 || !is_reached(next->place, place))
        return NULL;
    *line = ++own->next;
    return &next->change;
}
