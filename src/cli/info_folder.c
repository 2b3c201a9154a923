#include "cli/info_folder.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "checkpoint/folder.h"
#include "report/json.h"

bool hw_info_is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* What a folder has. */
typedef struct contents {
    hw_checkpoint *newest;
    hw_checkpoint **ends; /* of runs before that of the newest, which are kept */
    size_t end_count;
} contents;

/* The clocks of two hosts differ, so an age below 0 is 0. */
static double age_of(const hw_checkpoint *checkpoint)
{
    return fmax(hw_wall_seconds() - checkpoint->time, 0);
}

static json_t *json_of(const hw_checkpoint *checkpoint, bool *ok)
{
    json_t *object = json_object(), *metrics = json_object();
    hw_json_text(object, "program", checkpoint->program, ok);
    hw_json_text(object, "loop", checkpoint->loop, ok);
    hw_json_count(object, "run", checkpoint->run + 1, ok);
    hw_json_take(object, "ended", json_boolean(checkpoint->ended), ok);
    hw_json_count(object, "clock", checkpoint->clock, ok);
    hw_json_number(object, "seconds", checkpoint->seconds, ok);
    hw_json_number(object, "age", age_of(checkpoint), ok);
    hw_json_count(object, "bytes", checkpoint->bytes, ok);
    hw_json_count(object, "workers", checkpoint->workers, ok);
    hw_json_text(object, "build", checkpoint->build, ok);
    hw_json_text(object, "manifest", checkpoint->file, ok);
    for (size_t i = 0; i < checkpoint->metric_count; i++)
        hw_json_number(metrics, checkpoint->metrics[i].name, checkpoint->metrics[i].value, ok);
    hw_json_take(object, "metrics", metrics, ok);
    return object;
}

static hawser_status print_json(FILE *out, const contents *all, hawser_error *error)
{
    bool ok = true;
    json_t *object = json_of(all->newest, &ok), *ends = json_array();
    for (size_t i = 0; i < all->end_count; i++)
        ok = json_array_append_new(ends, json_of(all->ends[i], &ok)) == 0 && ok;
    hw_json_take(object, "ends", ends, &ok);
    return hw_json_line(out, object, ok, error);
}

static void print_word(FILE *out, const char *key, const char *value)
{
    fprintf(out, "%-24s ", key);
    hw_print_word(out, value);
    (void)fputc('\n', out);
}

static void print_facts(FILE *out, const hw_checkpoint *checkpoint)
{
    print_word(out, "program", checkpoint->program);
    print_word(out, "loop", checkpoint->loop);
    fprintf(out, "%-24s %" PRIu64 "\n", "run", checkpoint->run + 1);
    fprintf(out, "%-24s %s\n", "ended", checkpoint->ended ? "yes" : "no");
    fprintf(out, "%-24s %" PRIu64 "\n", "clock", checkpoint->clock);
    fprintf(out, "%-24s %.1f\n", "seconds", checkpoint->seconds);
    fprintf(out, "%-24s %.0f s\n", "age", age_of(checkpoint));
    fprintf(out, "%-24s %" PRIu64 "\n", "bytes", checkpoint->bytes);
    fprintf(out, "%-24s %" PRIu32 "\n", "workers", checkpoint->workers);
    print_word(out, "build", checkpoint->build);
    print_word(out, "manifest", checkpoint->file);
    for (size_t i = 0; i < checkpoint->metric_count; i++) {
        if (isnan(checkpoint->metrics[i].value)) /* it was not reported yet */
            continue;
        fprintf(out, "metric ");
        hw_print_word(out, checkpoint->metrics[i].name);
        fprintf(out, ": %.10g\n", checkpoint->metrics[i].value);
    }
}

static void print_end(FILE *out, const hw_checkpoint *end)
{
    fprintf(out, "end of run %" PRIu64 ": program ", end->run + 1);
    hw_print_word(out, end->program);
    fprintf(out, ", %" PRIu64 " clocks, %.1f s, %.0f s old, %" PRIu64 " bytes, ", end->clock, end->seconds, age_of(end),
            end->bytes);
    hw_print_word(out, end->file);
    (void)fputc('\n', out);
}

static hawser_status print(const hw_call *call, bool json, const contents *all, hawser_error *error)
{
    if (json)
        return print_json(call->out, all, error);
    print_facts(call->out, all->newest);
    for (size_t i = 0; i < all->end_count; i++)
        print_end(call->out, all->ends[i]);
    return HAWSER_OK;
}

hawser_status hw_info_folder(const hw_call *call, bool json, hawser_error *error)
{
    contents all = {0};
    hawser_error why = {0};
    hawser_status found = hw_folder_newest(call->words[0], &all.newest, &why);
    if (found != HAWSER_OK)
        return hawser_fail(error, found, "%s", why.text);
    if (why.status != HAWSER_OK)
        hw_say(call->err, "%s; this is the checkpoint before it", why.text);
    if (all.newest == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s is a folder without checkpoints: no model, and no stopped run",
                           call->words[0]);
    hawser_status status = hw_folder_kept_ends(call->words[0], all.newest, &all.ends, &all.end_count, error);
    HAWSER_THEN(status, print(call, json, &all, error));
    for (size_t i = 0; i < all.end_count; i++)
        hw_checkpoint_free(all.ends[i]);
    free(all.ends);
    hw_checkpoint_free(all.newest);
    return status;
}
