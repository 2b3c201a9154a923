/* folder.c - the token of a folder, and the checkpoints in it from the first name to the last deletion. */
#include "checkpoint/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/messages.h"

#define TOKEN "token"
#define PROBE "probe-"

/* The manifests, newest first, and the names of all other files of checkpoints. */
typedef struct listing {
    hw_checkpoint_label *manifests;
    size_t count, capacity;
    char (*parts)[HW_CHECKPOINT_NAME];
    size_t part_count, part_capacity;
    uint64_t most; /* the largest number of any of them */
} listing;

static hawser_status path_in(const char *folder, const char *name, char **path, hawser_error *error)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    HAWSER_TRY(HW_NEW(path, size, "a file name", error));
    (void)snprintf(*path, size, "%s/%s", folder, name);
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------------ token ---- */

/* The token of the job that has opened the folder last. Until that job is accepted, the file has a second line with the
 * token of the job before, which may still run and has the folder again if the new one is refused. */
typedef struct {
    char newest[HW_TOKEN_SIZE], holder[HW_TOKEN_SIZE]; /* "": none; holder: of the last job that was accepted */
    bool foreign;                                      /* the file has something else */
} tokens;

static bool copy_token(char token[HW_TOKEN_SIZE], const char *line)
{
    size_t size = HW_TOKEN_SIZE - 1;
    if (strspn(line, "0123456789abcdef") != size || strchr("\n", line[size]) == NULL)
        return false;
    memcpy(token, line, size);
    token[size] = '\0';
    return true;
}

/* Reads the token of a folder. */
static hawser_status read_token(const char *folder, tokens *there, hawser_error *error)
{
    char *path = NULL, text[2 * HW_TOKEN_SIZE + 1] = "";
    *there = (tokens){0};
    HAWSER_TRY(path_in(folder, TOKEN, &path, error));
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), code = errno;
    ssize_t got = 0;
    if (fd >= 0) {
        while ((got = read(fd, text, sizeof text - 1)) < 0 && errno == EINTR)
            ;
        code = errno;
        (void)close(fd);
    }
    hawser_status status = HAWSER_OK;
    if (got < 0 || (fd < 0 && code != ENOENT))
        status = hawser_fail(error, HAWSER_IO, "%s: cannot read the token: %s", path, strerror(code));
    free(path);
    text[got > 0 ? got : 0] = '\0';
    there->foreign = got > 0 && !copy_token(there->newest, text);
    if (*there->newest != '\0' && !copy_token(there->holder, text + strcspn(text, "\n") + (got >= HW_TOKEN_SIZE)))
        memcpy(there->holder, there->newest, HW_TOKEN_SIZE);
    return status;
}

/* Returns HAWSER_OK while the folder has the job's token, HAWSER_IO if it has none (a file system that is gone looks like
 * that) or if a job that is not yet accepted has opened it, and HAWSER_BAD_OPTION if it has another's. */
static hawser_status check_token(const hw_folder *folder, hawser_error *error)
{
    tokens there;
    HAWSER_TRY(read_token(folder->path, &there, error));
    if (strcmp(there.newest, folder->token) == 0)
        return HAWSER_OK;
    if (*there.newest == '\0')
        return hawser_fail(error, HAWSER_IO, "%s has no token any more: it was deleted, or its file system is gone",
                           folder->given);
    if (strcmp(there.holder, folder->token) == 0)
        return hawser_fail(error, HAWSER_IO, "another job has begun with %s; if it is accepted, this one ends",
                           folder->given);
    return hawser_fail(
        error, HAWSER_BAD_OPTION,
        "another job has taken over the checkpoints in %s (its token is %s, that of this job %s); this job ends. "
        "Give each job a folder of its own",
        folder->given, there.newest, folder->token);
}

static hawser_status write_text(const char *folder, const char *name, const char *text, bool replaces, hawser_error *error)
{
    char *path = NULL;
    hw_file file = {.fd = -1};
    HAWSER_TRY(path_in(folder, name, &path, error));
    hawser_status status = hw_file_begin(&file, path, error);
    if (status == HAWSER_OK)
        status = hw_file_write(&file, text, strlen(text), error);
    if (status == HAWSER_OK)
        status = replaces ? hw_file_commit(&file, error) : hw_file_commit_new(&file, error);
    hw_file_abort(&file);
    free(path);
    return status;
}

static void probe_name(char name[HW_CHECKPOINT_NAME], const char *token)
{
    (void)snprintf(name, HW_CHECKPOINT_NAME, PROBE "%s", token);
}

static hawser_status write_token(const hw_folder *folder, const char *newest, const char *holder, hawser_error *error)
{
    char text[2 * HW_TOKEN_SIZE + 1];
    (void)snprintf(text, sizeof text, "%s\n%s%s", newest, holder, *holder != '\0' ? "\n" : "");
    return write_text(folder->path, TOKEN, text, true, error);
}

/* Writes a token before that of the job that has the folder, and the probe. */
static hawser_status take_over(hw_folder *folder, hawser_error *error)
{
    char name[HW_CHECKPOINT_NAME];
    tokens there;
    uint64_t bits = 0;
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return hawser_fail(error, HAWSER_IO, "cannot draw a token for %s: %s", folder->given, strerror(errno));
    (void)snprintf(folder->token, sizeof folder->token, "%016" PRIx64, bits);
    HAWSER_TRY(read_token(folder->path, &there, error));
    if (there.foreign)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "%s has a file '" TOKEN
                           "' that is none of checkpoints, and would be replaced; choose another folder",
                           folder->given);
    memcpy(folder->previous, there.holder, HW_TOKEN_SIZE);
    probe_name(name, folder->token);
    HAWSER_TRY(write_text(folder->path, name, "", false, error));
    return write_token(folder, folder->token, folder->previous, error);
}

/* A job that has begun with the folder of this one, and is neither accepted nor refused for long, was killed. */
static hawser_status outlast(hw_folder *folder, hawser_error *error)
{
    tokens there;
    HAWSER_TRY(read_token(folder->path, &there, error));
    bool waits = strcmp(there.newest, folder->token) != 0 && strcmp(there.holder, folder->token) == 0;
    if (!waits || folder->waits_since == 0)
        folder->waits_since = waits ? hw_seconds() : 0;
    if (!waits || hw_seconds() - folder->waits_since < HW_FOLDER_PATIENCE)
        return HAWSER_OK;
    return write_token(folder, folder->token, "", error);
}

bool hw_folder_shared(const char *path, const char *token)
{
    char name[HW_CHECKPOINT_NAME], *whole = NULL;
    probe_name(name, token);
    bool there = path_in(path, name, &whole, NULL) == HAWSER_OK && access(whole, F_OK) == 0;
    free(whole);
    return there;
}

/* ---------------------------------------------------------------------------------------------------------- listing ---- */

static void free_listing(listing *list)
{
    free(list->manifests);
    free(list->parts);
    *list = (listing){0};
}

static hawser_status list_one(listing *list, const char *name, hawser_error *error)
{
    hw_checkpoint_label label;
    if (!hw_checkpoint_read_name(name, &label))
        return HAWSER_OK;
    list->most = label.number > list->most ? label.number : list->most;
    if (!label.part) {
        HAWSER_TRY(HW_GROW(&list->manifests, &list->capacity, list->count + 1, "the checkpoints of a folder", error));
        list->manifests[list->count++] = label;
        return HAWSER_OK;
    }
    HAWSER_TRY(HW_GROW(&list->parts, &list->part_capacity, list->part_count + 1, "the checkpoints of a folder", error));
    memcpy(list->parts[list->part_count++], name, strlen(name) + 1); /* it is shorter than HW_CHECKPOINT_NAME */
    return HAWSER_OK;
}

static int newest_first(const void *a, const void *b)
{
    const hw_checkpoint_label *x = a, *y = b;
    if (x->number != y->number)
        return x->number > y->number ? -1 : 1;
    return strcmp(x->token, y->token);
}

/* Moves the manifest of `token` before another of the same number: two jobs have written them, and it is the later job's. */
static void prefer(listing *list, const char *token)
{
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(list->manifests[i].token, token) == 0)
            for (size_t k = i; k > 0 && list->manifests[k - 1].number == list->manifests[k].number; k--) {
                hw_checkpoint_label one = list->manifests[k];
                list->manifests[k] = list->manifests[k - 1];
                list->manifests[k - 1] = one;
            }
}

static hawser_status list_folder(const char *path, const char *token, listing *list, hawser_error *error)
{
    *list = (listing){0};
    DIR *directory = opendir(path);
    if (directory == NULL)
        return hawser_fail(error, HAWSER_IO, "cannot read the folder %s: %s", path, strerror(errno));
    hawser_status status = HAWSER_OK;
    errno = 0;
    for (struct dirent *entry; status == HAWSER_OK && (entry = readdir(directory)) != NULL; errno = 0)
        status = list_one(list, entry->d_name, error);
    if (status == HAWSER_OK && errno != 0)
        status = hawser_fail(error, HAWSER_IO, "cannot read the folder %s: %s", path, strerror(errno));
    (void)closedir(directory);
    if (status != HAWSER_OK)
        free_listing(list);
    else if (list->count > 0)
        qsort(list->manifests, list->count, sizeof *list->manifests, newest_first);
    prefer(list, token);
    return status;
}

static hawser_status read_manifest(const char *folder, const hw_checkpoint_label *label, hw_checkpoint **checkpoint,
                                   hawser_error *error)
{
    char name[HW_CHECKPOINT_NAME], *path = NULL;
    hw_checkpoint_name(name, label->number, label->token);
    HAWSER_TRY(path_in(folder, name, &path, error));
    hawser_status status = hw_checkpoint_read(path, checkpoint, error);
    free(path);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- deleting ---- */

static hawser_status unlink_one(const hw_folder *folder, const char *name, hawser_error *error)
{
    char *path = NULL;
    HAWSER_TRY(path_in(folder->path, name, &path, error));
    hawser_status status = HAWSER_OK;
    if (unlink(path) != 0 && errno != ENOENT)
        status = hawser_fail(error, HAWSER_IO, "cannot delete %s: %s", path, strerror(errno));
    free(path);
    return status;
}

/* Deletes a file, unless another job has the folder now. */
static hawser_status delete_one(const hw_folder *folder, const char *name, hawser_error *error)
{
    HAWSER_TRY(check_token(folder, error));
    return unlink_one(folder, name, error);
}

static hawser_status delete_manifest(const hw_folder *folder, const hw_checkpoint_label *label, hawser_error *error)
{
    char name[HW_CHECKPOINT_NAME];
    hw_checkpoint_name(name, label->number, label->token);
    return delete_one(folder, name, error);
}

/* The checkpoints of a folder that stay: the newest that are whole, then the ends of runs that are older than these. */
typedef struct kept_list {
    hw_checkpoint **all;
    size_t count, capacity, newest; /* how many are of the newest */
    uint64_t oldest;                /* number of the last of these; 0: the folder has fewer than it keeps */
} kept_list;

static void free_kept(kept_list *kept)
{
    for (size_t i = 0; i < kept->count; i++)
        hw_checkpoint_free(kept->all[i]);
    free(kept->all);
}

static bool is_kept(const kept_list *kept, const hw_checkpoint_label *label)
{
    for (size_t i = 0; i < kept->count; i++)
        if (kept->all[i]->number == label->number && strcmp(kept->all[i]->token, label->token) == 0)
            return true;
    return false;
}

/* Returns whether a checkpoint that stays names a file. */
static bool is_named(const kept_list *kept, const char *name)
{
    hw_checkpoint_label label;
    if (!hw_checkpoint_read_name(name, &label) || label.kind == HW_CHECKPOINT_KINDS)
        return false;
    for (size_t i = 0; i < kept->count; i++) {
        const hw_checkpoint_part *part = hw_checkpoint_find(kept->all[i], (hw_checkpoint_kind)label.kind, label.index);
        if (part != NULL && strcmp(part->file, name) == 0)
            return true;
    }
    return false;
}

/* Returns whether a file that no kept checkpoint names may be deleted: it is older than the newest that are kept, or this
 * job's own and older than the checkpoint in progress. The newer ones of another job may be those of its next manifest. */
static bool is_left_over(const hw_folder *folder, const char *name, uint64_t oldest)
{
    hw_checkpoint_label label;
    if (!hw_checkpoint_read_name(name, &label))
        return false;
    return label.number < oldest || (strcmp(label.token, folder->token) == 0 && label.number < folder->number);
}

/* Returns whether a checkpoint was damaged when this job looked for one to go on from. */
static bool was_damaged(const hw_folder *folder, const hw_checkpoint_label *label)
{
    return label->number > folder->found && label->number <= folder->seen;
}

/* Forgets the ends of the shortest runs, which cost the least to repeat, if there are too many. */
static void forget_shortest(kept_list *kept)
{
    while (kept->count > kept->newest + HW_ENDS_MOST) {
        size_t shortest = kept->newest;
        for (size_t i = shortest + 1; i < kept->count; i++)
            if (kept->all[i]->seconds < kept->all[shortest]->seconds)
                shortest = i;
        hw_checkpoint_free(kept->all[shortest]);
        kept->all[shortest] = kept->all[--kept->count];
    }
}

/* Chooses the checkpoints that stay, and reads their manifests. Stores false in *known if one of the newest cannot be read:
 * then it is unknown which files it names. */
static hawser_status choose_kept(const hw_folder *folder, const listing *list, kept_list *kept, bool *known,
                                 hawser_error *error)
{
    *kept = (kept_list){0};
    *known = true;
    for (size_t i = 0; i < list->count && *known; i++) {
        hw_checkpoint *checkpoint = NULL;
        bool newest = kept->newest < folder->keep;
        if (was_damaged(folder, &list->manifests[i]))
            continue;
        HAWSER_TRY(HW_GROW(&kept->all, &kept->capacity, kept->count + 1, "the checkpoints of a folder", error));
        bool whole = read_manifest(folder->path, &list->manifests[i], &checkpoint, NULL) == HAWSER_OK;
        *known = whole || !newest;
        if (!whole)
            continue;
        if (!newest && !checkpoint->ended) {
            hw_checkpoint_free(checkpoint);
            continue;
        }
        kept->all[kept->count++] = checkpoint;
        kept->newest += newest;
        if (newest && kept->newest == folder->keep)
            kept->oldest = checkpoint->number;
    }
    forget_shortest(kept);
    return HAWSER_OK;
}

/* Deletes the manifests of checkpoints that do not stay, the oldest first, then the files that none of the others names. */
static hawser_status sweep_listed(const hw_folder *folder, const listing *list, hawser_error *error)
{
    kept_list kept;
    bool known = false;
    hawser_status status = choose_kept(folder, list, &kept, &known, error);
    for (size_t i = list->count; status == HAWSER_OK && known && i-- > 0;)
        if (list->manifests[i].number < kept.oldest && !is_kept(&kept, &list->manifests[i]))
            status = delete_manifest(folder, &list->manifests[i], error);
    for (size_t i = 0; status == HAWSER_OK && known && i < list->part_count; i++)
        if (!is_named(&kept, list->parts[i]) && is_left_over(folder, list->parts[i], kept.oldest))
            status = delete_one(folder, list->parts[i], error);
    free_kept(&kept);
    return status;
}

static hawser_status sweep(const hw_folder *folder, hawser_error *error)
{
    listing list;
    HAWSER_TRY(list_folder(folder->path, folder->token, &list, error));
    hawser_status status = sweep_listed(folder, &list, error);
    free_listing(&list);
    return status;
}

/* First the manifests, so that none names what is gone. */
hawser_status hw_folder_clear(const hw_folder *folder, hawser_error *error)
{
    listing list;
    HAWSER_TRY(list_folder(folder->path, folder->token, &list, error));
    hawser_status status = HAWSER_OK;
    for (size_t i = list.count; status == HAWSER_OK && i > 0; i--)
        status = delete_manifest(folder, &list.manifests[i - 1], error);
    for (size_t i = 0; status == HAWSER_OK && i < list.part_count; i++)
        status = delete_one(folder, list.parts[i], error);
    free_listing(&list);
    return status;
}

/* Deletes the probes of other jobs; they have ended, or end as soon as they read the token. */
static void delete_probes(const hw_folder *folder, bool own)
{
    DIR *directory = opendir(folder->path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        const char *name = entry->d_name, *token = name + strlen(PROBE);
        if (strncmp(name, PROBE, strlen(PROBE)) == 0 && strspn(token, "0123456789abcdef") == HW_TOKEN_SIZE - 1 &&
            strchr(".", token[HW_TOKEN_SIZE - 1]) != NULL && (own || strcmp(token, folder->token) != 0)) /* or unfinished */
            (void)!delete_one(folder, name, NULL);
    }
    if (directory != NULL)
        (void)closedir(directory);
}

/* ---------------------------------------------------------------------------------------------------- open and find ---- */

static hawser_status make_folder(hw_folder *folder, hawser_error *error)
{
    folder->made = mkdir(folder->given, 0777) == 0;
    if (folder->made || errno == EEXIST)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_IO, "cannot make the folder %s for checkpoints: %s", folder->given, strerror(errno));
}

/* Removes what a job has made that could write no token. */
static void unmake_folder(const hw_folder *folder)
{
    char name[HW_CHECKPOINT_NAME];
    probe_name(name, folder->token);
    (void)!unlink_one(folder, name, NULL);
    if (folder->made)
        (void)rmdir(folder->path);
}

static hawser_status open_folder(hw_folder *folder, hawser_error *error)
{
    HAWSER_TRY(make_folder(folder, error));
    folder->path = realpath(folder->given, NULL); /* the program may change its directory */
    struct stat facts;
    if (folder->path == NULL || stat(folder->path, &facts) != 0)
        return hawser_fail(error, HAWSER_IO, "cannot open the folder %s: %s", folder->given, strerror(errno));
    if (!S_ISDIR(facts.st_mode))
        return hawser_fail(error, HAWSER_IO, "%s is no folder, so it cannot have checkpoints", folder->given);
    hawser_status status = take_over(folder, error);
    if (status != HAWSER_OK)
        unmake_folder(folder);
    return status;
}

hawser_status hw_folder_open(const char *path, uint32_t keep, hw_folder **folder, hawser_error *error)
{
    *folder = NULL;
    hw_folder *it = NULL;
    if (keep < HW_KEEP_LEAST)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a folder keeps at least %d checkpoints", HW_KEEP_LEAST);
    HAWSER_TRY(HW_NEW(&it, 1, "a folder of checkpoints", error));
    it->keep = keep;
    hawser_status status = hw_copy_text(&it->given, path, error);
    if (status == HAWSER_OK)
        status = open_folder(it, error);
    if (status == HAWSER_OK)
        *folder = it;
    else
        hw_folder_free(it);
    return status;
}

hawser_status hw_folder_accept(const hw_folder *folder, hawser_error *error)
{
    HAWSER_TRY(check_token(folder, error));
    HAWSER_TRY(write_token(folder, folder->token, "", error));
    delete_probes(folder, false);
    return HAWSER_OK;
}

void hw_folder_free(hw_folder *folder)
{
    if (folder == NULL)
        return;
    free(folder->path);
    free(folder->given);
    free(folder);
}

/* Reads one checkpoint of a listing, all parts included. */
static hawser_status read_whole(const char *folder, const hw_checkpoint_label *label, hw_checkpoint **checkpoint,
                                hawser_error *error)
{
    hawser_status status = read_manifest(folder, label, checkpoint, error);
    for (size_t i = 0; status == HAWSER_OK && i < (*checkpoint)->part_count; i++) {
        hw_part_reader reader;
        status = hw_part_open(&reader, folder, &(*checkpoint)->parts[i], error);
        hw_part_close(&reader);
    }
    if (status != HAWSER_OK) {
        hw_checkpoint_free(*checkpoint);
        *checkpoint = NULL;
    }
    return status;
}

hawser_status hw_folder_find(hw_folder *folder, hawser_messages *messages, hw_checkpoint **checkpoint, hawser_error *error)
{
    listing list;
    hawser_error why = {0};
    *checkpoint = NULL;
    HAWSER_TRY(list_folder(folder->path, folder->previous, &list, error));
    size_t i = 0;
    for (; i < list.count; i++) {
        hawser_status status = read_whole(folder->path, &list.manifests[i], checkpoint, &why);
        if (status == HAWSER_OK || status == HAWSER_NO_MEMORY)
            break;
        hw_notify(messages, HAWSER_WARNING, 0, "%s%s", why.text,
                  i + 1 < list.count ? "; the checkpoint before it is taken" : "");
    }
    hawser_status status = HAWSER_OK;
    if (i < list.count && *checkpoint == NULL)
        status = hawser_fail(error, why.status, "%s", why.text);
    else if (i == list.count && list.count > 0)
        status =
            hawser_fail(error, HAWSER_BAD_INPUT, "none of the %zu checkpoints in %s is whole; give --fresh to begin anew",
                        list.count, folder->given);
    folder->seen = list.count > 0 ? list.manifests[0].number : 0;
    folder->found = *checkpoint != NULL ? (*checkpoint)->number : folder->seen;
    free_listing(&list);
    return status;
}

/* Reads an older checkpoint, if it is the end of a run before. A damaged one is reported: the run is repeated. */
static hawser_status read_end(const hw_folder *folder, const hw_checkpoint_label *label, const hw_checkpoint *from,
                              hawser_messages *messages, hw_checkpoint **end, hawser_error *error)
{
    hawser_error why = {0};
    hawser_status status = read_manifest(folder->path, label, end, &why);
    if (status == HAWSER_OK && (!(*end)->ended || (*end)->run >= from->run)) {
        hw_checkpoint_free(*end);
        *end = NULL;
        return HAWSER_OK;
    }
    if (status == HAWSER_OK) {
        hw_checkpoint_free(*end);
        status = read_whole(folder->path, label, end, &why);
    }
    if (status == HAWSER_OK || status == HAWSER_NO_MEMORY)
        return status == HAWSER_OK ? status : hawser_fail(error, status, "%s", why.text);
    hw_notify(messages, HAWSER_WARNING, 0, "%s; a run that has ended may be repeated", why.text);
    *end = NULL;
    return HAWSER_OK;
}

hawser_status hw_folder_ends(const hw_folder *folder, const hw_checkpoint *from, hawser_messages *messages,
                             hw_checkpoint ***ends, size_t *count, hawser_error *error)
{
    listing list;
    *ends = NULL;
    *count = 0;
    HAWSER_TRY(list_folder(folder->path, folder->previous, &list, error));
    hawser_status status = HW_NEW(ends, list.count, "the checkpoints of a folder", error);
    for (size_t i = 0; i < list.count && status == HAWSER_OK; i++) {
        hw_checkpoint *end = NULL;
        if (list.manifests[i].number < from->number)
            status = read_end(folder, &list.manifests[i], from, messages, &end, error);
        if (status == HAWSER_OK && end != NULL)
            (*ends)[(*count)++] = end;
    }
    free_listing(&list);
    return status;
}

/* Checks that the parts of a checkpoint are there and have their lengths. */
static hawser_status check_lengths(const char *folder, const hw_checkpoint *checkpoint, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    for (size_t i = 0; i < checkpoint->part_count && status == HAWSER_OK; i++) {
        const hw_checkpoint_part *part = &checkpoint->parts[i];
        char *path = NULL;
        struct stat facts;
        HAWSER_TRY(path_in(folder, part->file, &path, error));
        if (stat(path, &facts) != 0)
            status = hawser_fail(error, HAWSER_BAD_INPUT, "cannot open %s: %s", path, strerror(errno));
        else if ((uint64_t)facts.st_size != part->bytes)
            status = hawser_fail(error, HAWSER_BAD_INPUT, "%s has %" PRIu64 " bytes instead of %" PRIu64, path,
                                 (uint64_t)facts.st_size, part->bytes);
        free(path);
    }
    return status;
}

hawser_status hw_folder_newest(const char *path, hw_checkpoint **checkpoint, hawser_error *error)
{
    listing list;
    tokens there;
    *checkpoint = NULL;
    HAWSER_TRY(read_token(path, &there, error));
    HAWSER_TRY(list_folder(path, there.holder, &list, error));
    hawser_status status = HAWSER_OK;
    for (size_t i = 0; i < list.count; i++) {
        status = read_manifest(path, &list.manifests[i], checkpoint, error);
        HAWSER_THEN(status, check_lengths(path, *checkpoint, error));
        if (status == HAWSER_OK)
            break;
        hw_checkpoint_free(*checkpoint);
        *checkpoint = NULL;
    }
    free_listing(&list);
    return status;
}

hawser_status hw_folder_kept_ends(const char *path, const hw_checkpoint *newest, hw_checkpoint ***ends, size_t *count,
                                  hawser_error *error)
{
    listing list;
    *ends = NULL;
    *count = 0;
    HAWSER_TRY(list_folder(path, newest->token, &list, error));
    hawser_status status = HW_NEW(ends, list.count, "the checkpoints of a folder", error);
    for (size_t i = list.count; i > 0 && status == HAWSER_OK; i--) { /* the oldest first */
        hw_checkpoint *end = NULL;
        if (list.manifests[i - 1].number >= newest->number ||
            read_manifest(path, &list.manifests[i - 1], &end, NULL) != HAWSER_OK)
            continue;
        if (end->ended && end->run < newest->run)
            (*ends)[(*count)++] = end;
        else
            hw_checkpoint_free(end);
    }
    free_listing(&list);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- writing ---- */

hawser_status hw_folder_begin(hw_folder *folder, hw_checkpoint *checkpoint, hawser_error *error)
{
    listing list;
    HAWSER_TRY(outlast(folder, error));
    HAWSER_TRY(check_token(folder, error));
    HAWSER_TRY(list_folder(folder->path, folder->token, &list, error));
    folder->number = (list.most > folder->number ? list.most : folder->number) + 1;
    hawser_status status = sweep_listed(folder, &list, error);
    free_listing(&list);
    checkpoint->number = folder->number;
    memcpy(checkpoint->token, folder->token, sizeof checkpoint->token);
    return status;
}

/* Returns whether the manifest of a checkpoint is in the folder. */
static bool is_there(const hw_folder *folder, const hw_checkpoint *checkpoint)
{
    hw_checkpoint_label label = {.number = checkpoint->number};
    hw_checkpoint *read = NULL;
    memcpy(label.token, checkpoint->token, sizeof label.token);
    bool there = read_manifest(folder->path, &label, &read, NULL) == HAWSER_OK;
    hw_checkpoint_free(read);
    return there;
}

hawser_status hw_folder_commit(hw_folder *folder, hw_checkpoint *checkpoint, hawser_error *error)
{
    char *text = NULL;
    hw_checkpoint_name(checkpoint->file, checkpoint->number, checkpoint->token);
    checkpoint->bytes = 0;
    for (size_t i = 0; i < checkpoint->part_count; i++)
        checkpoint->bytes += checkpoint->parts[i].bytes;
    HAWSER_TRY(hw_checkpoint_print(checkpoint, &text, error));
    hawser_status status = check_token(folder, error);
    if (status == HAWSER_OK)
        status = write_text(folder->path, checkpoint->file, text, false, error);
    free(text);
    if (status == HAWSER_IO &&
        is_there(folder, checkpoint)) /* a network file system reports that a link failed that it made */
        status = HAWSER_OK;
    if (status != HAWSER_OK)
        return status;
    hawser_error why = {0}; /* the checkpoint is there; what cannot be deleted is tried again after the next one */
    status = sweep(folder, &why);
    return status == HAWSER_BAD_OPTION ? hawser_fail(error, status, "%s", why.text) : HAWSER_OK;
}

/* Deletes the parts of an attempt that failed, to make room, as far as the disk allows. No manifest names them, and their
 * names have this job's token, so it does not matter which job has the folder. */
static void delete_attempt(const hw_folder *folder, const hw_checkpoint *attempt)
{
    listing list;
    hw_checkpoint_label label;
    if (list_folder(folder->path, folder->token, &list, NULL) != HAWSER_OK)
        return;
    bool named = false; /* it failed after its manifest had its name */
    for (size_t i = 0; i < list.count; i++)
        named =
            named || (list.manifests[i].number == attempt->number && strcmp(list.manifests[i].token, folder->token) == 0);
    for (size_t i = 0; !named && i < list.part_count; i++)
        if (hw_checkpoint_read_name(list.parts[i], &label) && label.number == attempt->number &&
            strcmp(label.token, folder->token) == 0)
            (void)!unlink_one(folder, list.parts[i], NULL);
    free_listing(&list);
}

hawser_status hw_folder_end(hw_folder *folder, const hw_checkpoint *checkpoint, hawser_status status,
                            const hawser_error *why, hawser_messages *messages, hawser_error *error)
{
    if (status == HAWSER_OK)
        folder->failing = false;
    if (status != HAWSER_IO)
        return status == HAWSER_OK ? HAWSER_OK : hawser_fail(error, status, "%s", why->text);
    delete_attempt(folder, checkpoint);
    if (!folder->failing)
        hw_notify(messages, HAWSER_WARNING, 0,
                  "no checkpoint was written, the last one stays, and it is tried again: %.800s", why->text);
    folder->failing = true;
    return HAWSER_OK;
}

hawser_status hw_folder_remove(hw_folder *folder, hawser_error *error)
{
    HAWSER_TRY(hw_folder_clear(folder, error));
    delete_probes(folder, true);
    return delete_one(folder, TOKEN, error);
}

void hw_folder_give_back(const hw_folder *folder)
{
    char name[HW_CHECKPOINT_NAME];
    probe_name(name, folder->token);
    if (delete_one(folder, name, NULL) != HAWSER_OK)
        return;
    if (*folder->previous == '\0')
        (void)!delete_one(folder, TOKEN, NULL);
    else
        (void)!write_token(folder, folder->previous, "", NULL);
    if (folder->made)
        (void)rmdir(folder->path);
}
