/* rescue.c - saves a model although its disk is full: tries again while there is time, then saves it elsewhere. */
#include "cli/rescue.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "hawser/advanced.h"

#define RETRY_SECONDS 0.25
#define LAST_PART     0.125 /* the part of --grace that is kept for the save elsewhere */

/* Returns the seconds until the save elsewhere. They are part of --grace, which a signal or --time-limit may have begun
 * already. */
static double time_to_try(const hw_call *call, const hawser_job *job)
{
    double grace = hawser_options_number(call->options, "grace"), left = hawser_job_grace_left(job);
    return fmax(0.0, fmin(grace, left) - LAST_PART * grace);
}

/* Tries again to save the model; *error is the last failure. */
static hawser_status try_again(const hw_call *call, const hawser_job *job, const hawser_model *model, const char *path,
                               hawser_error *error)
{
    double seconds = time_to_try(call, job), end = hw_seconds() + seconds;
    hawser_status status = HAWSER_IO;
    fprintf(call->err, "hawser: %s; trying for %.3g s more (--grace)\n", error->text, seconds);
    while (status == HAWSER_IO && hw_seconds() < end) {
        struct timespec pause = hw_timespec(RETRY_SECONDS);
        (void)nanosleep(&pause, NULL);
        status = hawser_model_save(model, path, error);
    }
    return status;
}

/* Saves into a new folder in `base`, which no other user can have prepared. The caller frees *kept; NULL: nothing was
 * written. */
static hawser_status save_under(const char *base, const hawser_model *model, const char *path, char **kept,
                                hawser_error *error)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char folder[PATH_MAX], *file = NULL;
    if (snprintf(folder, sizeof folder, "%s/hawser-XXXXXX", base) >= (int)sizeof folder || mkdtemp(folder) == NULL)
        return hawser_fail(error, HAWSER_IO, "%.200s: cannot create a folder: %s", base, strerror(errno));
    size_t size = strlen(folder) + strlen(name) + 2;
    hawser_status status = HW_NEW(&file, size, "a file name", error);
    if (status == HAWSER_OK) {
        (void)snprintf(file, size, "%s/%s", folder, name);
        status = hawser_model_save(model, file, error);
    }
    if (status == HAWSER_OK) {
        *kept = file;
        return status;
    }
    free(file);
    (void)rmdir(folder);
    return status;
}

static hawser_status save_elsewhere(const hw_call *call, const hawser_model *model, const char *path, char **kept,
                                    const hawser_error *first, hawser_error *error)
{
    static const char variable[] = "TMPDIR=";
    const char *bases[] = {NULL, "/tmp"};
    hawser_error why = {0};
    for (char *const *at = call->environment; *at != NULL; at++)
        if (strncmp(*at, variable, sizeof variable - 1) == 0 && (*at)[sizeof variable - 1] == '/')
            bases[0] = *at + sizeof variable - 1;
    for (size_t i = 0; i < 2; i++)
        if (bases[i] != NULL && save_under(bases[i], model, path, kept, &why) == HAWSER_OK)
            return hawser_fail(error, HAWSER_IO, "%.400s; the model is in '%s' instead", first->text, *kept);
    return hawser_fail(error, HAWSER_IO, "%.400s; nor elsewhere: %.400s; the model is lost", first->text, why.text);
}

/* A pipe or device keeps what was written to it, and a second model behind half of one is worse than none: only files are
 * tried again. */
static bool is_file(const char *path)
{
    struct stat facts;
    return strcmp(path, "-") != 0 && (stat(path, &facts) != 0 || S_ISREG(facts.st_mode));
}

hawser_status hw_rescue_model(const hw_call *call, const hawser_job *job, const hawser_model *model, const char *path,
                              char **kept, hawser_error *error)
{
    hawser_error first = {0};
    *kept = NULL;
    hawser_status status = hawser_model_save(model, path, &first);
    if (status == HAWSER_IO && is_file(path))
        status = try_again(call, job, model, path, &first);
    if (status == HAWSER_IO)
        return save_elsewhere(call, model, path, kept, &first, error);
    return status == HAWSER_OK ? status : hawser_fail(error, status, "%s", first.text);
}
