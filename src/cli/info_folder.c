#include "cli/info_folder.h"

#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "checkpoint/folder.h"
#include "report/json.h"

bool hw_info_is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static hawser_status print_json(FILE *out, const hw_checkpoint *checkpoint, double age, hawser_error *error)
{
    bool ok = true;
    json_t *object = json_object(), *metrics = json_object();
    hw_json_text(object, "program", checkpoint->program, &ok);
    hw_json_text(object, "loop", checkpoint->loop, &ok);
    hw_json_count(object, "clock", checkpoint->clock, &ok);
    hw_json_number(object, "seconds", checkpoint->seconds, &ok);
    hw_json_number(object, "age", age, &ok);
    hw_json_count(object, "bytes", checkpoint->bytes, &ok);
    hw_json_count(object, "workers", checkpoint->workers, &ok);
    hw_json_text(object, "build", checkpoint->build, &ok);
    hw_json_text(object, "manifest", checkpoint->file, &ok);
    for (size_t i = 0; i < checkpoint->metric_count; i++)
        hw_json_number(metrics, checkpoint->metrics[i].name, checkpoint->metrics[i].value, &ok);
    hw_json_take(object, "metrics", metrics, &ok);
    return hw_json_line(out, object, ok, error);
}

static void print_word(FILE *out, const char *key, const char *value)
{
    fprintf(out, "%-24s ", key);
    hw_print_word(out, value);
    (void)fputc('\n', out);
}

static void print_facts(FILE *out, const hw_checkpoint *checkpoint, double age)
{
    print_word(out, "program", checkpoint->program);
    print_word(out, "loop", checkpoint->loop);
    fprintf(out, "%-24s %" PRIu64 "\n", "clock", checkpoint->clock);
    fprintf(out, "%-24s %.1f\n", "seconds", checkpoint->seconds);
    fprintf(out, "%-24s %.0f s\n", "age", age);
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

hawser_status hw_info_folder(const hw_call *call, bool json, hawser_error *error)
{
    hw_checkpoint *checkpoint;
    hawser_status status = hw_folder_newest(call->words[0], &checkpoint, error);
    if (status != HAWSER_OK)
        return status;
    if (checkpoint == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s is a folder without checkpoints: no model, and no stopped run",
                           call->words[0]);
    double age = hw_wall_seconds() - checkpoint->time;
    age = age > 0 ? age : 0; /* the clocks of two hosts differ */
    if (json)
        status = print_json(call->out, checkpoint, age, error);
    else
        print_facts(call->out, checkpoint, age);
    hw_checkpoint_free(checkpoint);
    return status;
}
