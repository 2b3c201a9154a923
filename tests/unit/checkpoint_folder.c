/* A folder of checkpoints: what is written is read, the oldest are deleted, and damage is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint_world.h"
#include "directory.h"

static hawser_error error;

/* A job that is not yet accepted. */
static hw_folder *begun(void)
{
    hw_folder *folder;
    if (hw_folder_open("ck", 2, &folder, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return folder;
}

static hw_folder *opened(const char *path, uint32_t keep, bool fresh)
{
    hw_folder *folder;
    hawser_status status = hw_folder_open(path, keep, &folder, &error);
    if (status == HAWSER_OK)
        status = hw_folder_accept(folder, &error);
    if (status == HAWSER_OK && fresh)
        status = hw_folder_clear(folder, &error);
    if (status != HAWSER_OK)
        fail_msg("%s", error.text);
    return folder;
}

static void write_clock(hw_folder *folder, uint64_t clock)
{
    if (world_write(folder, clock, NULL, &error) != HAWSER_OK || folder->failing)
        fail_msg("clock %d: %s", (int)clock, error.text);
}

/* Finds a checkpoint, and checks that it is whole and of this clock; 0: none is there. Takes the next message. */
static void find_clock(hw_folder *folder, uint64_t clock, hawser_messages *messages)
{
    hw_checkpoint *found;
    if (hw_folder_find(folder, messages, &found, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_int_equal(found != NULL ? found->clock : 0, clock);
    if (found != NULL)
        assert_true(world_whole(folder->path, found));
    hw_checkpoint_free(found);
}

static int files(const char *path)
{
    int count = 0;
    DIR *directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static void a_checkpoint_is_read_as_it_was_written(void **state)
{
    (void)state;
    const char *path = "new";
    hw_folder *folder = opened(path, 2, false);
    find_clock(folder, 0, NULL);
    write_clock(folder, 7);
    hw_folder_free(folder);
    folder = opened(path, 2, false);
    hw_checkpoint *found;
    assert_int_equal(hw_folder_find(folder, NULL, &found, &error), HAWSER_OK);
    assert_true(world_whole(path, found));
    assert_string_equal(found->program, "count");
    assert_string_equal(found->loop, "rounds");
    assert_int_equal(found->run, 1);
    assert_true(found->seconds == 2.5 && found->time == 1e9 && found->workers == BLOCKS);
    assert_int_equal(found->metric_count, 2);
    assert_true(strcmp(found->metrics[1].name, "gap") == 0 && found->metrics[1].value == 1e-300);
    assert_true(found->logs[HW_LOG_TRACE].bytes == 0 && found->logs[HW_LOG_EVENTS].bytes == 812);
    assert_true(found->logs[HW_LOG_EVENTS].checksum == 0xfedcba9876543210);
    uint64_t bytes = 0;
    for (size_t i = 0; i < found->part_count; i++)
        bytes += found->parts[i].bytes;
    assert_int_equal(found->bytes, bytes);
    hw_checkpoint here = world_facts(7);
    assert_int_equal(hw_checkpoint_same(found, &here, path, &error), HAWSER_OK);
    hw_checkpoint_free(found);
    hw_folder_free(folder);
}

static void write_log(const char *path, const char *how, size_t lines)
{
    FILE *file = fopen(path, how);
    assert_non_null(file);
    for (size_t i = 0; i < lines; i++)
        fprintf(file, "%zu,1\n", 1000 + i);
    assert_int_equal(fclose(file), 0);
}

static void a_log_is_cut_to_what_it_was(void **state)
{
    (void)state;
    for (size_t lines = 2; lines < 5000; lines = 3 * lines + 1) { /* shorter and longer than what is compared */
        write_log("log", "w", lines);
        hw_log_mark mark = hw_log_mark_of("log");
        assert_int_equal(mark.bytes, 7 * lines);
        assert_true(hw_log_cut("log", &mark));
        write_log("log", "a", 9);
        write_log("other", "w", lines + 9);
        assert_false(hw_log_cut("other", &mark)); /* of another path */
        assert_true(hw_log_cut("log", &mark));
        hw_log_mark again = hw_log_mark_of("log");
        assert_true(again.bytes == mark.bytes && again.checksum == mark.checksum);
        assert_int_equal(truncate("log", (off_t)mark.bytes - 1), 0);
        assert_false(hw_log_cut("log", &mark)); /* shorter */
        write_log("log", "w", lines - 1);
        write_log("log", "a", 10);
        assert_false(hw_log_cut("log", &mark)); /* with other bytes */
        assert_int_equal(hw_log_mark_of("log").bytes, 7 * (lines + 9));
    }
    assert_int_equal(hw_log_mark_of("none").bytes, 0);
    assert_int_equal(hw_log_mark_of("/dev/null").bytes, 0);
    assert_int_equal(hw_log_mark_of(NULL).bytes, 0);
    assert_false(hw_log_cut("none", &(hw_log_mark){7, 0}));
}

static void the_oldest_are_deleted(void **state)
{
    (void)state;
    for (uint32_t keep = 2; keep < 5; keep++) {
        char path[20];
        snprintf(path, sizeof path, "keep%u", keep);
        hw_folder *folder = opened(path, keep, false);
        for (uint64_t clock = 1; clock < 8; clock++) {
            write_clock(folder, clock);
            int kept = (int)(clock < keep ? clock : keep);
            assert_int_equal(files(path), kept * (BLOCKS + 2) + 2); /* with token and probe */
            find_clock(folder, clock, NULL);
        }
        hw_folder_free(folder);
    }
}

static void a_run_that_has_ended_leaves_nothing(void **state)
{
    (void)state;
    const char *path = "ended";
    hw_folder *folder = opened(path, 2, false);
    put_file("ended/checkpoint-notes", "mine\n");
    for (uint64_t clock = 1; clock < 5; clock++)
        write_clock(folder, clock);
    assert_int_equal(hw_folder_remove(folder, &error), HAWSER_OK);
    assert_int_equal(files(path), 1); /* the user's */
    hw_folder_free(folder);
}

/* ------------------------------------------------------------------------------------------------------- damage ---- */

/* Copies the bytes of a file, which the caller frees. */
static unsigned char *bytes_of(const char *path, size_t *size)
{
    struct stat facts;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &facts) == 0);
    unsigned char *bytes = malloc((size_t)facts.st_size + 1);
    assert_non_null(bytes);
    *size = (size_t)read(fd, bytes, (size_t)facts.st_size);
    assert_int_equal(*size, facts.st_size);
    close(fd);
    return bytes;
}

static void put_bytes(const char *path, const unsigned char *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

/* Checks that the newest checkpoint is refused by the name of a file, and the one before it is taken. */
static void expect_before(hw_folder *folder, uint64_t clock, const char *file, const char *how)
{
    hawser_messages *messages;
    hawser_message message;
    assert_int_equal(hawser_messages_new(&messages, &error), HAWSER_OK);
    find_clock(folder, clock, messages);
    if (!hawser_messages_next(messages, &message) || strstr(message.text, file) == NULL ||
        strstr(message.text, "the checkpoint before it is taken") == NULL)
        fail_msg("%s, %s: %s", file, how, message.text);
    assert_false(hawser_messages_next(messages, &message));
    hawser_messages_free(messages);
}

/* Damages a file in all ways, and puts it right. */
static void damage(hw_folder *folder, const char *file)
{
    char path[300], how[60];
    size_t size, stride = strstr(file, ".json") != NULL ? 1 : 211;
    snprintf(path, sizeof path, "%s/%s", folder->path, file);
    unsigned char *bytes = bytes_of(path, &size);
    for (size_t cut = 0; cut < size; cut = cut + 4096 < size || cut == size - 1 ? cut + 4096 : size - 1) {
        put_bytes(path, bytes, cut);
        snprintf(how, sizeof how, "cut at %zu", cut);
        expect_before(folder, 1, file, how);
    }
    for (size_t at = 0; at < size; at += at < 400 && stride > 1 ? 7 : stride) {
        bytes[at] ^= 1U << (at % 8);
        put_bytes(path, bytes, size);
        bytes[at] ^= 1U << (at % 8);
        snprintf(how, sizeof how, "byte %zu changed", at);
        expect_before(folder, 1, file, how);
    }
    put_bytes(path, bytes, size);
    free(bytes);
    find_clock(folder, 2, NULL);
}

static void damage_is_named_and_the_one_before_is_taken(void **state)
{
    (void)state;
    hw_folder *folder = opened("ck", 2, false);
    hw_checkpoint *found;
    write_clock(folder, 1);
    write_clock(folder, 2);
    assert_int_equal(hw_folder_find(folder, NULL, &found, &error), HAWSER_OK);
    damage(folder, found->file);
    for (size_t i = 0; i < found->part_count; i++)
        damage(folder, found->parts[i].file);
    for (size_t i = 0; i < found->part_count; i++) { /* a part is missing */
        char path[300], away[300];
        snprintf(path, sizeof path, "%s/%s", folder->path, found->parts[i].file);
        snprintf(away, sizeof away, "%s/away", folder->path);
        assert_int_equal(rename(path, away), 0);
        expect_before(folder, 1, found->parts[i].file, "missing");
        assert_int_equal(rename(away, path), 0);
    }
    find_clock(folder, 2, NULL);
    hw_checkpoint_free(found);
    hw_folder_free(folder);
}

static void parts_of_two_checkpoints_are_never_mixed(void **state)
{
    (void)state;
    hw_folder *folder = opened("ck", 2, false);
    hw_checkpoint *first, *second;
    write_clock(folder, 1);
    assert_int_equal(hw_folder_find(folder, NULL, &first, &error), HAWSER_OK);
    write_clock(folder, 2);
    assert_int_equal(hw_folder_find(folder, NULL, &second, &error), HAWSER_OK);
    for (size_t i = 0; i < second->part_count; i++)
        for (size_t k = 0; k < 2; k++) { /* the same part of another checkpoint; another part of the same */
            char to[300], from[300];
            const hw_checkpoint_part *other = k == 0 ? &first->parts[i] : &second->parts[(i + 1) % second->part_count];
            size_t size, length;
            snprintf(to, sizeof to, "%s/%s", folder->path, second->parts[i].file);
            snprintf(from, sizeof from, "%s/%s", folder->path, other->file);
            unsigned char *own = bytes_of(to, &size), *bytes = bytes_of(from, &length);
            put_bytes(to, bytes, length);
            expect_before(folder, 1, second->parts[i].file, "of another");
            put_bytes(to, own, size);
            free(own);
            free(bytes);
        }
    find_clock(folder, 2, NULL);
    hw_checkpoint_free(first);
    hw_checkpoint_free(second);
    hw_folder_free(folder);
}

/* Spoils a part of the newest checkpoint. */
static void spoil(const char *path)
{
    hw_checkpoint *newest;
    char part[300];
    assert_int_equal(hw_folder_newest(path, &newest, &error), HAWSER_OK);
    snprintf(part, sizeof part, "%s/%s", path, newest->parts[1].file);
    put_bytes(part, (const unsigned char *)"x", 1);
    hw_checkpoint_free(newest);
}

static void a_checkpoint_that_was_gone_on_from_stays_until_newer_ones_are_there(void **state)
{
    (void)state;
    hw_folder *folder = opened("ck", 2, false);
    write_clock(folder, 1);
    write_clock(folder, 2);
    hw_folder_free(folder);
    spoil("ck");
    folder = opened("ck", 2, false);
    find_clock(folder, 1, NULL);
    write_clock(folder, 3);
    hw_folder_free(folder);
    spoil("ck");
    folder = opened("ck", 2, false); /* 3 and 2 are damaged */
    find_clock(folder, 1, NULL);
    write_clock(folder, 4);
    write_clock(folder, 5);
    assert_int_equal(files("ck"), 2 * (BLOCKS + 2) + 2);
    hw_folder_free(folder);
    spoil("ck");
    folder = opened("ck", 2, false);
    find_clock(folder, 4, NULL);
    hw_folder_free(folder);
}

static void a_folder_without_a_whole_checkpoint_is_refused(void **state)
{
    (void)state;
    hw_folder *folder = opened("ck", 2, false);
    hw_checkpoint *found;
    write_clock(folder, 1);
    spoil("ck");
    assert_int_equal(hw_folder_find(folder, NULL, &found, &error), HAWSER_BAD_INPUT);
    assert_string_equal(error.text, "none of the 1 checkpoints in ck is whole; give --fresh to begin anew");
    assert_null(found);
    hw_folder_free(folder);
    folder = opened("ck", 2, true);
    find_clock(folder, 0, NULL);
    assert_int_equal(files("ck"), 2);
    hw_folder_free(folder);
}

/* ---------------------------------------------------------------------------------------------------- two jobs ---- */

static void a_job_whose_token_was_replaced_changes_nothing(void **state)
{
    (void)state;
    hw_folder *first = opened("ck", 2, false);
    hw_checkpoint_part parts[BLOCKS + 1];
    for (uint64_t clock = 1; clock < 4; clock++)
        write_clock(first, clock);
    hw_checkpoint late = world_facts(4);
    assert_int_equal(hw_folder_begin(first, &late, &error), HAWSER_OK);
    for (uint32_t b = 0; b < BLOCKS; b++)
        assert_int_equal(world_part(first->path, &late, HW_CHECKPOINT_BLOCK, b, 4, &parts[b], &error), HAWSER_OK);
    hw_folder *second = begun();
    find_clock(second, 3, NULL);
    late.parts = parts;
    late.part_count = BLOCKS;
    assert_int_equal(hw_folder_commit(first, &late, &error), HAWSER_IO);
    assert_non_null(strstr(error.text, "another job has begun with ck"));
    assert_int_equal(hw_folder_remove(first, &error), HAWSER_IO);
    find_clock(second, 3, NULL);
    assert_int_equal(hw_folder_accept(second, &error), HAWSER_OK);
    assert_int_equal(hw_folder_commit(first, &late, &error), HAWSER_BAD_OPTION);
    assert_non_null(strstr(error.text, "another job has taken over the checkpoints in ck"));
    assert_int_equal(world_write(first, 5, NULL, &error), HAWSER_BAD_OPTION);
    assert_int_equal(hw_folder_remove(first, &error), HAWSER_BAD_OPTION);
    find_clock(second, 3, NULL);
    for (uint64_t clock = 10; clock < 14; clock++) {
        write_clock(second, clock);
        find_clock(second, clock, NULL);
    }
    assert_int_equal(files("ck"), 2 * (BLOCKS + 2) + 2); /* also what the first job has left */
    hw_folder_free(first);
    hw_folder_free(second);
}

/* Another command was given for the folder of a job that runs, and was refused. */
static void a_refused_job_gives_the_folder_back(void **state)
{
    (void)state;
    hw_folder *first = opened("ck", 2, false);
    write_clock(first, 1);
    hw_folder *second = begun(), *third = NULL;
    hw_checkpoint facts = world_facts(2);
    find_clock(second, 1, NULL);
    assert_true(hw_folder_shared("ck", second->token));
    assert_true(hw_folder_shared("ck", first->token));
    assert_int_equal(hw_folder_begin(first, &facts, &error), HAWSER_IO); /* it waits for the decision */
    hw_folder_give_back(second);
    assert_false(hw_folder_shared("ck", second->token));
    write_clock(first, 2);
    third = begun();
    hw_folder_give_back(second); /* it has the folder no more, so nothing changes */
    find_clock(third, 2, NULL);
    hw_folder *fourth = begun(); /* before the third is accepted */
    assert_int_equal(hw_folder_accept(third, &error), HAWSER_BAD_OPTION);
    hw_folder_give_back(fourth);
    write_clock(first, 3);
    hw_folder_free(third);
    third = begun();
    assert_int_equal(hw_folder_accept(third, &error), HAWSER_OK);
    write_clock(third, 4);
    assert_int_equal(world_write(first, 5, NULL, &error), HAWSER_BAD_OPTION);
    hw_folder_free(fourth);
    hw_folder_free(first);
    hw_folder_free(second);
    hw_folder_free(third);
}

/* A manifest that gets its name between the moment at which the second job replaced the token, and its first manifest. */
static void a_late_manifest_of_the_job_before_does_no_harm(void **state)
{
    (void)state;
    hw_folder *first = opened("ck", 2, false);
    write_clock(first, 1);
    write_clock(first, 2);
    hw_folder *second = opened("ck", 2, false);
    char replaced[HW_TOKEN_SIZE + 1], own[HW_TOKEN_SIZE + 1];
    snprintf(replaced, sizeof replaced, "%s\n", first->token);
    snprintf(own, sizeof own, "%s\n", second->token);
    find_clock(second, 2, NULL);
    put_file("ck/token", replaced); /* as the first job has read it before */
    write_clock(first, 3);
    put_file("ck/token", own);
    for (uint64_t clock = 10; clock < 14; clock++) {
        write_clock(second, clock);
        find_clock(second, clock, NULL);
    }
    assert_int_equal(files("ck"), 2 * (BLOCKS + 2) + 2);
    hw_folder_free(first);
    hw_folder_free(second);
}

/* A job that begins and is killed before it is accepted leaves two tokens. The job that has the folder takes it back. */
static void a_job_that_is_killed_as_it_begins_does_no_harm(void **state)
{
    (void)state;
    hw_folder *first = opened("ck", 2, false);
    write_clock(first, 1);
    hw_folder *second = begun();
    hw_folder_free(second);
    hw_checkpoint facts = world_facts(2);
    assert_int_equal(hw_folder_begin(first, &facts, &error), HAWSER_IO);
    assert_true(first->waits_since > 0);
    first->waits_since -= HW_FOLDER_PATIENCE;
    write_clock(first, 2);
    write_clock(first, 3);
    assert_true(first->waits_since == 0);
    second = begun();
    hw_folder_free(second);
    second = begun(); /* it finds the token of the first job behind that of the killed one */
    find_clock(second, 3, NULL);
    hw_folder_give_back(second);
    write_clock(first, 4);
    hw_folder_free(second);
    hw_folder_free(first);
}

static void other_nodes_see_the_probe_of_node_0(void **state)
{
    (void)state;
    hw_folder *first = opened("ck", 2, false), *second = begun();
    assert_true(hw_folder_shared("ck", first->token)); /* the second job may still be refused */
    assert_int_equal(hw_folder_accept(second, &error), HAWSER_OK);
    assert_true(hw_folder_shared("ck", second->token));
    assert_false(hw_folder_shared("ck", first->token));
    assert_false(hw_folder_shared("other", second->token));
    hw_folder_free(first);
    hw_folder_free(second);
}

/* ------------------------------------------------------------------------------------------------ full and gone ---- */

/* Writes a clock that must fail, and returns whether it was reported. */
static bool fails(hw_folder *folder, uint64_t clock)
{
    hawser_messages *messages;
    hawser_message message;
    assert_int_equal(hawser_messages_new(&messages, &error), HAWSER_OK);
    assert_int_equal(world_write(folder, clock, messages, &error), HAWSER_OK);
    assert_true(folder->failing);
    bool reported = hawser_messages_next(messages, &message);
    if (reported)
        assert_non_null(strstr(message.text, "the last one stays"));
    hawser_messages_free(messages);
    return reported;
}

static void a_full_disk_leaves_the_last_checkpoint(void **state)
{
    (void)state;
    struct rlimit before, small;
    hw_folder *folder = opened("ck", 2, false);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    write_clock(folder, 1);
    int count = files("ck");
    for (uint64_t clock = 2; clock < 12; clock += 5) {
        for (rlim_t limit = 0; limit < 4; limit++) { /* at its begin, and within a part */
            small = (struct rlimit){.rlim_cur = limit * 4500, .rlim_max = before.rlim_max};
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
            assert_int_equal(fails(folder, clock + limit), limit == 0); /* one warning for all */
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
            assert_int_equal(files("ck"), count);
        }
        write_clock(folder, clock + 4);
        find_clock(folder, clock + 4, NULL);
        count = 2 * (BLOCKS + 2) + 2;
    }
    (void)signal(SIGXFSZ, handler);
    hw_folder_free(folder);
}

static void a_manifest_without_room_leaves_the_last_checkpoint(void **state)
{
    (void)state;
    struct rlimit before, small;
    hw_checkpoint_part part;
    hawser_error why;
    hw_folder *folder = opened("ck", 2, false);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    write_clock(folder, 1);
    int count = files("ck");
    hw_checkpoint of = world_facts(2);
    assert_int_equal(hw_folder_begin(folder, &of, &error), HAWSER_OK);
    assert_int_equal(world_part("ck", &of, HW_CHECKPOINT_DRIVER, 0, 2, &part, &error), HAWSER_OK);
    of.parts = &part;
    of.part_count = 1;
    small = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(hw_folder_commit(folder, &of, &why), HAWSER_IO);
    assert_int_equal(hw_folder_end(folder, &of, HAWSER_IO, &why, NULL, &error), HAWSER_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(files("ck"), count);
    find_clock(folder, 1, NULL);
    (void)signal(SIGXFSZ, handler);
    hw_folder_free(folder);
}

static void a_folder_that_is_gone_for_a_while_is_used_again(void **state)
{
    (void)state;
    hw_folder *folder = opened("ck", 2, false);
    write_clock(folder, 1);
    assert_int_equal(rename("ck", "away"), 0);
    assert_true(fails(folder, 2));
    assert_int_equal(mkdir("ck", 0777), 0); /* a mount point */
    assert_false(fails(folder, 3));
    assert_int_equal(files("ck"), 0);
    hw_checkpoint late = world_facts(3); /* a part that is written after the file system has gone */
    hw_checkpoint_part part;
    late.number = 9;
    memcpy(late.token, folder->token, HW_TOKEN_SIZE);
    assert_int_equal(world_part(folder->path, &late, HW_CHECKPOINT_BLOCK, 0, 3, &part, &error), HAWSER_OK);
    assert_int_equal(files("ck"), 1);
    assert_int_equal(hw_folder_end(folder, &late, HAWSER_IO, &error, NULL, &error), HAWSER_OK);
    assert_int_equal(files("ck"), 0);
    assert_int_equal(rmdir("ck"), 0);
    assert_int_equal(rename("away", "ck"), 0);
    write_clock(folder, 4);
    find_clock(folder, 4, NULL);
    hw_folder_free(folder);
}

static void what_is_no_folder_is_refused(void **state)
{
    (void)state;
    hw_folder *folder;
    put_file("file", "text");
    assert_int_equal(hw_folder_open("file", 2, &folder, &error), HAWSER_IO);
    assert_string_equal(error.text, "file is no folder, so it cannot have checkpoints");
    assert_int_equal(hw_folder_open("no/such/folder", 2, &folder, &error), HAWSER_IO);
    assert_int_equal(hw_folder_open("ck", 1, &folder, &error), HAWSER_BAD_ARGUMENT);
}

/* -------------------------------------------------------------------------------------------------------- parts ---- */

static void a_part_is_written_in_pieces(void **state)
{
    (void)state;
    hw_folder *folder = opened("ck", 2, false);
    hw_checkpoint of = world_facts(1);
    hw_part_writer writer;
    hw_checkpoint_part part, whole;
    double values[100], read[30];
    for (int i = 0; i < 100; i++)
        values[i] = i;
    const hw_checkpoint_tensor tensors[] = {{"w", HW_TENSOR_F64, 100, 0, values, 0}};
    assert_int_equal(hw_checkpoint_tensor_bytes(&tensors[0]), sizeof values);
    assert_int_equal(hw_folder_begin(folder, &of, &error), HAWSER_OK);
    assert_int_equal(hw_part_begin(&writer, "ck", &of, HW_CHECKPOINT_NODE, 7, tensors, 1, &error), HAWSER_OK);
    for (size_t at = 0; at < sizeof values; at += 50)
        assert_int_equal(hw_part_write(&writer, (char *)values + at, 50, &error), HAWSER_OK);
    assert_int_equal(hw_part_write(&writer, values, 1, &error), HAWSER_INTERNAL);
    assert_int_equal(hw_part_commit(&writer, &part, &error), HAWSER_OK);
    assert_int_equal(hw_part_put("ck", &of, HW_CHECKPOINT_NODE, 7, tensors, 1, &whole, &error), HAWSER_OK);
    assert_memory_equal(&part, &whole, sizeof part);
    assert_int_equal(hw_part_begin(&writer, "ck", &of, HW_CHECKPOINT_NODE, 8, tensors, 1, &error), HAWSER_OK);
    assert_int_equal(hw_part_commit(&writer, &whole, &error), HAWSER_INTERNAL); /* its bytes are missing */
    assert_int_equal(hw_part_begin(&writer, "ck", &of, HW_CHECKPOINT_NODE, 8, tensors, 1, &error), HAWSER_OK);
    hw_part_abort(&writer);
    assert_int_equal(files("ck"), 3); /* token, probe and one part */
    hw_part_reader reader;
    assert_int_equal(hw_part_open(&reader, "ck", &part, &error), HAWSER_OK);
    hw_checkpoint_tensor w = {.name = "w", .type = HW_TENSOR_F64}, other = {.name = "w", .type = HW_TENSOR_F32};
    assert_int_equal(hw_part_find(&reader, &other, &error), HAWSER_BAD_INPUT);
    assert_int_equal(hw_part_find(&reader, &w, &error), HAWSER_OK);
    assert_int_equal(w.rows, 100);
    assert_int_equal(hw_part_read(&reader, &w, 70 * sizeof *read, read, sizeof read, &error), HAWSER_OK);
    assert_memory_equal(read, values + 70, sizeof read);
    assert_int_equal(hw_part_read(&reader, &w, 71 * sizeof *read, read, sizeof read, &error), HAWSER_INTERNAL);
    hw_part_close(&reader);
    hw_folder_free(folder);
}

static void write_end(hw_folder *folder, uint64_t run, uint64_t clock, double seconds)
{
    hw_checkpoint of = world_facts(clock);
    of.run = run;
    of.ended = true;
    of.seconds = seconds;
    assert_int_equal(world_try(folder, clock, &of, &error), HAWSER_OK);
}

static void write_of_run(hw_folder *folder, uint64_t run, uint64_t clock)
{
    hw_checkpoint of = world_facts(clock);
    of.run = run;
    assert_int_equal(world_try(folder, clock, &of, &error), HAWSER_OK);
}

/* Finds the checkpoint of the folder, and the ends of runs before it; returns how many. */
static size_t find_ends(hw_folder *folder, uint64_t clock, hawser_messages *messages, uint64_t runs[100])
{
    hw_checkpoint *found, **ends;
    size_t count = 0;
    assert_int_equal(hw_folder_find(folder, NULL, &found, &error), HAWSER_OK);
    assert_int_equal(found->clock, clock);
    assert_int_equal(hw_folder_ends(folder, found, messages, &ends, &count, &error), HAWSER_OK);
    for (size_t i = 0; i < count; i++) {
        assert_true(ends[i]->ended && world_whole("ck", ends[i]));
        runs[i] = ends[i]->run;
        hw_checkpoint_free(ends[i]);
    }
    free(ends);
    hw_checkpoint_free(found);
    return count;
}

/* The end of a run stays while later runs write many checkpoints. If it is damaged, the others stay. */
static void ends_of_runs_stay(void **state)
{
    (void)state;
    uint64_t runs[100];
    hw_folder *folder = opened("ck", 2, false);
    for (uint64_t run = 0; run < 3; run++) {
        for (uint64_t clock = 1; clock < 5; clock++)
            write_of_run(folder, run, 10 * run + clock);
        write_end(folder, run, 10 * run + 5, 2);
    }
    for (uint64_t clock = 31; clock < 38; clock++)
        write_of_run(folder, 3, clock);
    assert_int_equal(files("ck"), 2 + (3 + 2) * (BLOCKS + 2));
    assert_int_equal(find_ends(folder, 37, NULL, runs), 3);
    assert_true(runs[0] == 2 && runs[1] == 1 && runs[2] == 0);
    char name[HW_CHECKPOINT_NAME], path[HW_CHECKPOINT_NAME + 4];
    hw_checkpoint_part_name(name, 10, folder->token, HW_CHECKPOINT_BLOCK, 2); /* of the end of run 1 */
    (void)snprintf(path, sizeof path, "ck/%s", name);
    assert_int_equal(truncate(path, 4000), 0);
    hawser_messages *messages;
    hawser_message message;
    assert_int_equal(hawser_messages_new(&messages, &error), HAWSER_OK);
    assert_int_equal(find_ends(folder, 37, messages, runs), 2);
    assert_true(runs[0] == 2 && runs[1] == 0);
    assert_true(hawser_messages_next(messages, &message) && strstr(message.text, name) != NULL);
    assert_non_null(strstr(message.text, "a run that has ended may be repeated"));
    assert_false(hawser_messages_next(messages, &message));
    hawser_messages_free(messages);
    assert_int_equal(hw_folder_remove(folder, &error), HAWSER_OK);
    assert_int_equal(files("ck"), 0);
    hw_folder_free(folder);
}

/* A job of many runs fills the folder up to a bound: the shortest runs are repeated. */
static void ends_of_the_shortest_runs_are_deleted(void **state)
{
    (void)state;
    uint64_t runs[100];
    hw_folder *folder = opened("ck", 2, false);
    for (uint64_t run = 0; run < HW_ENDS_MOST + 9; run++)
        write_end(folder, run, run + 1, run == 3 || run == 11 ? 1 : 5);
    write_of_run(folder, HW_ENDS_MOST + 9, 90);
    write_of_run(folder, HW_ENDS_MOST + 9, 91);
    assert_int_equal(files("ck"), 2 + (HW_ENDS_MOST + 2) * (BLOCKS + 2));
    assert_int_equal(find_ends(folder, 91, NULL, runs), HW_ENDS_MOST);
    for (size_t i = 0; i < HW_ENDS_MOST; i++)
        assert_true(runs[i] != 3 && runs[i] != 11);
    hw_folder_free(folder);
}

/* ----------------------------------------------------------------------------------------------------- the same ---- */

static void expect_difference(hw_checkpoint there, hw_checkpoint here, const char *text)
{
    assert_int_equal(hw_checkpoint_same(&there, &here, "ck", &error), HAWSER_BAD_OPTION);
    assert_string_equal(error.text, text);
}

static void a_checkpoint_of_another_run_is_refused_by_the_first_difference(void **state)
{
    (void)state;
    hw_checkpoint there = world_facts(1), here = there;
    here.identity = "data 'A' of the digest 12\noption lambda = 0.2\n";
    assert_int_equal(hw_checkpoint_same(&there, &here, "ck", &error), HAWSER_OK);
    here.identity = "option lambda = 0.1\ndata 'A' of the digest 12\n";
    expect_difference(
        there, here,
        "ck has a checkpoint of another run: option lambda = 0.2 there, 0.1 here; choose another folder or give "
        "--fresh");
    here.identity = "option lambda = 0.2\n";
    expect_difference(
        there, here,
        "ck has a checkpoint of another run: 'data 'A' of the digest 12' is there, but not here; choose another "
        "folder or give --fresh");
    expect_difference(
        here, there,
        "ck has a checkpoint of another run: 'data 'A' of the digest 12' is not there, but here; choose another "
        "folder or give --fresh");
    here = there;
    here.build = "0.1.0+2";
    expect_difference(
        there, here,
        "ck has a checkpoint of Hawser 0.1.0+1, and this is 0.1.0+2: go on with that build, or give --fresh to "
        "begin anew");
    here = there;
    here.workers = 4;
    expect_difference(there, here,
                      "ck has a checkpoint of 3 workers, and there are 4 here: leave out --workers, or give --workers 3; "
                      "--threads may differ");
    here = there = world_facts(1);
    here.identity = there.identity = "option note = caf\xe9\n"; /* no UTF-8 */
    char *text;
    hw_checkpoint *read;
    hw_checkpoint_name(there.file, 0, "0123456789abcdef");
    memcpy(there.token, "0123456789abcdef", HW_TOKEN_SIZE);
    assert_int_equal(hw_checkpoint_print(&there, &text, &error), HAWSER_OK);
    assert_int_equal(hw_checkpoint_parse(text, strlen(text), there.file, &read, &error), HAWSER_OK);
    assert_int_equal(hw_checkpoint_same(read, &here, "ck", &error), HAWSER_OK);
    hw_checkpoint_free(read);
    free(text);
}

static void names_are_read_as_they_are_written(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "token",
                                      "checkpoint-00000001-0123456789abcde.json",
                                      "checkpoint-00000001-0123456789abcdeF.json",
                                      "checkpoint-1-0123456789abcdef.json",
                                      "checkpoint-+0000001-0123456789abcdef.json",
                                      "checkpoint- 0000001-0123456789abcdef.json",
                                      "checkpoint-00000001-0123456789abcdef",
                                      "/checkpoint-00000001-0123456789abcdef.json"};
    static const char *const left[] = {"node",
                                       "node-",
                                       "node-1",
                                       "block--1.safetensors",
                                       "block-01.safetensors",
                                       "block-4294967296.safetensors",
                                       "driver-0.safetensors",
                                       "json.00-1-0.tmp",
                                       ""};
    hw_checkpoint_label label;
    char name[HW_CHECKPOINT_NAME];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(hw_checkpoint_read_name(bad[i], &label));
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        snprintf(name, sizeof name, "checkpoint-00000001-0123456789abcdef.%s", left[i]);
        assert_true(hw_checkpoint_read_name(name, &label) && label.part && label.kind == HW_CHECKPOINT_KINDS);
    }
    for (uint32_t kind = 0; kind < HW_CHECKPOINT_KINDS; kind++) {
        uint32_t index = kind == HW_CHECKPOINT_DRIVER ? 0 : UINT32_MAX;
        hw_checkpoint_part_name(name, 999999999999, "0123456789abcdef", (hw_checkpoint_kind)kind, index);
        assert_true(hw_checkpoint_read_name(name, &label) && label.part && label.kind == kind && label.index == index);
        assert_int_equal(label.number, 999999999999);
    }
    hw_checkpoint_name(name, 12, "0123456789abcdef");
    assert_true(hw_checkpoint_read_name(name, &label) && !label.part && label.number == 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_checkpoint_is_read_as_it_was_written, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_log_is_cut_to_what_it_was, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(the_oldest_are_deleted, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_run_that_has_ended_leaves_nothing, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(damage_is_named_and_the_one_before_is_taken, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(parts_of_two_checkpoints_are_never_mixed, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_checkpoint_that_was_gone_on_from_stays_until_newer_ones_are_there, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(a_folder_without_a_whole_checkpoint_is_refused, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_job_whose_token_was_replaced_changes_nothing, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_job_that_is_killed_as_it_begins_does_no_harm, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_refused_job_gives_the_folder_back, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_late_manifest_of_the_job_before_does_no_harm, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(other_nodes_see_the_probe_of_node_0, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_the_last_checkpoint, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_manifest_without_room_leaves_the_last_checkpoint, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(a_folder_that_is_gone_for_a_while_is_used_again, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(what_is_no_folder_is_refused, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_part_is_written_in_pieces, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(ends_of_runs_stay, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(ends_of_the_shortest_runs_are_deleted, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_checkpoint_of_another_run_is_refused_by_the_first_difference, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(names_are_read_as_they_are_written, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
