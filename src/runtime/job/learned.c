#include "runtime/job/learned.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/messages.h"
#include "base/option_value.h"
#include "runtime/job/decisions.h"
#include "runtime/job/job.h"

/* The most lines that a file keeps: at most about 1 MB. */
enum { MOST_LINES = 1000 };

/* --------------------------------------------------------------------------------------------------------- opening ---- */

/* Refuses what makes no sense beside a file of settings. */
static hawser_status check_options(const hawser_options *options, hawser_error *error)
{
    static const char *const others[] = {"save-decisions", "replay-decisions"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (hawser_options_text(options, others[i]) != NULL)
            return hawser_fail(error, HAWSER_BAD_OPTION,
                               "--learn and --%s do not go together: a file of decisions begins with the settings of the "
                               "options; leave one out",
                               others[i]);
    return HAWSER_OK;
}

static hawser_status open_here(hawser_job *job, hawser_error *error)
{
    hw_file file = {0};
    HAWSER_TRY(HW_NEW(&job->learning, 1, "a file of settings", error));
    HAWSER_TRY(hw_decisions_path(hawser_options_text(job->options, "learn"), &job->learning->path, error));
    /* It fails now if it cannot be written. */
    HAWSER_TRY(hw_decisions_named("--learn", hw_file_begin(&file, job->learning->path, error), error));
    const bool direct = hw_file_is_direct(&file);
    hw_file_abort(&file);
    return !direct
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_OPTION, "--learn: '%s' is no regular file; name one", job->learning->path);
}

hawser_status hw_learning_open(hawser_job *job, hawser_error *error)
{
    if (job->learning != NULL || job->settings.adapts == 0 || hawser_options_text(job->options, "learn") == NULL)
        return HAWSER_OK;
    HAWSER_TRY(check_options(job->options, error));
    const bool leads = job->cluster == NULL || hw_cluster_self(job->cluster) == 0;
    return hw_cluster_agree(job->cluster, leads ? open_here(job, error) : HAWSER_OK, error);
}

void hw_learning_close(hawser_job *job)
{
    if (job->learning == NULL)
        return;
    free(job->learning->path);
    free(job->learning);
    job->learning = NULL;
}

/* --------------------------------------------------------------------------------------------------------- reading ---- */

/* Returns a digest of where the nodes are, in their order. */
static uint64_t places_of(const hawser_job *job)
{
    uint64_t digest = 0;
    char name[256] = "";
    if (job->cluster == NULL) {
        (void)!gethostname(name, sizeof name - 1);
        return hw_hash(name, strlen(name), 0);
    }
    for (uint32_t node = 0; node < hw_cluster_nodes(job->cluster); node++) {
        const hw_member *member = hw_cluster_member(job->cluster, node);
        digest = hw_hash(member->name, strlen(member->name), digest);
        digest = hw_hash(&member->host, sizeof member->host, digest);
    }
    return digest;
}

hw_learned_run hw_learning_run(const hawser_job *job, const char *program, const char *loop)
{
    double exchange = 1;
    const char *every = hw_option_text(job->options, "exchange-every");
    if (hw_is_auto(every))
        every = every[4] == ':' ? every + 5 : NULL;
    if (every != NULL)
        (void)hawser_read_number(every, &exchange);
    return (hw_learned_run){.program = program,
                            .loop = loop,
                            .workers = job->settings.blocks,
                            .hosts = job->settings.hosts > 0 ? job->settings.hosts : 1,
                            .exchange = exchange,
                            .places = places_of(job)};
}

/* Reads the lines of the file; there are none if it does not exist. */
static hawser_status read_file(const hw_learning *own, char **text, size_t *length, hw_learned_file *file,
                               hawser_error *error)
{
    struct stat facts;
    *text = NULL;
    *length = 0;
    *file = (hw_learned_file){0};
    if (stat(own->path, &facts) != 0 && errno == ENOENT)
        return HAWSER_OK;
    HAWSER_TRY(hw_decisions_text("learn", own->path, text, length, error));
    return hw_learned_read(*text, *length, file, error);
}

/* Returns whether the file has something, of which nothing is a line of settings. */
static bool is_other(size_t length, const hw_learned_file *file)
{
    return length > 0 && file->count == 0;
}

static void note_damage(hawser_job *job, size_t length, const hw_learned_file *file)
{
    hw_learning *own = job->learning;
    if (own->noted || file->damaged == 0)
        return;
    own->noted = true;
    if (is_other(length, file))
        hw_notify(job->messages, HAWSER_NOTE, 0,
                  "--learn: %s is ignored, and stays as it is: none of its lines is one of --learn", own->path);
    else
        hw_notify(job->messages, HAWSER_NOTE, 0, "--learn: %s:%zu: ignored, as it is damaged (%zu of %zu lines)", own->path,
                  file->first_damaged, file->damaged, file->damaged + file->count);
}

hawser_status hw_learning_find(hawser_job *job, const hw_learned_run *run, char **text, hw_learned_file *file,
                               const hw_learned_line **found, hawser_error *error)
{
    size_t length;
    *found = NULL;
    HAWSER_TRY(read_file(job->learning, text, &length, file, error));
    note_damage(job, length, file);
    *found = hw_learned_nearest(file, run);
    return HAWSER_OK;
}

/* --------------------------------------------------------------------------------------------------------- writing ---- */

/* Opens the file, which may be new, and waits until no other process writes it. A process that replaced it has locked the
 * file that was there before, so that the name must still be that of the locked one. */
static hawser_status lock(const char *path, int *fd, hawser_error *error)
{
    struct stat locked, named;
    for (;;) {
        *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
        if (*fd < 0)
            return hawser_fail(error, HAWSER_IO, "--learn: cannot write %s: %s", path, strerror(errno));
        int failed = flock(*fd, LOCK_EX);
        while (failed != 0 && errno == EINTR)
            failed = flock(*fd, LOCK_EX);
        if (failed != 0 || fstat(*fd, &locked) != 0) {
            hawser_status status = hawser_fail(error, HAWSER_IO, "--learn: cannot lock %s: %s", path, strerror(errno));
            (void)close(*fd);
            return status;
        }
        if (stat(path, &named) == 0 && named.st_ino == locked.st_ino && named.st_dev == locked.st_dev)
            return HAWSER_OK;
        (void)close(*fd);
    }
}

/* Writes the newest lines of a file, and the new one behind them. */
static hawser_status replace(const char *path, const hw_learned_file *old, const char *line, hawser_error *error)
{
    hw_file file = {0};
    HAWSER_TRY(hw_file_begin(&file, path, error));
    hawser_status status = HAWSER_OK;
    for (size_t i = old->count < MOST_LINES ? 0 : old->count - MOST_LINES + 1; status == HAWSER_OK && i < old->count; i++) {
        status = hw_file_write(&file, old->lines[i].text, old->lines[i].length, error);
        if (status == HAWSER_OK)
            status = hw_file_write(&file, "\n", 1, error);
    }
    if (status == HAWSER_OK)
        status = hw_file_write(&file, line, strlen(line), error);
    if (status == HAWSER_OK)
        status = hw_file_commit(&file, error);
    hw_file_abort(&file);
    return status;
}

static hawser_status add_locked(hawser_job *job, const char *line, hawser_error *error)
{
    char *text;
    size_t length;
    hw_learned_file file;
    hawser_status status = read_file(job->learning, &text, &length, &file, error);
    if (status == HAWSER_OK)
        note_damage(job, length, &file);
    if (status == HAWSER_OK && !is_other(length, &file))
        status = replace(job->learning->path, &file, line, error);
    hw_learned_free(&file);
    free(text);
    return status;
}

hawser_status hw_learning_add(hawser_job *job, const hw_learned_run *run, const hw_decided *decided, hawser_error *error)
{
    int fd;
    char *line = hw_learned_text(run, decided);
    if (line == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a line of settings");
    hawser_status status = lock(job->learning->path, &fd, error);
    if (status == HAWSER_OK) {
        status = add_locked(job, line, error);
        (void)close(fd);
    }
    free(line);
    return status;
}
