/* hawser info of a folder of checkpoints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "checkpoint_world.h"
#include "cli/cli.h"
#include "directory.h"

static hawser_error error;
static char printed[4000];

/* Runs the command on a folder, with a flag or NULL, and stores what it prints. */
static int info(const char *path, const char *flag, const char *stream)
{
    char *words[] = {"hawser", "info", (char *)path, (char *)flag, NULL}, *environment[] = {NULL};
    FILE *out = fopen("out", "we"), *err = fopen("err", "we");
    assert_true(out != NULL && err != NULL);
    int code = hw_cli_main(flag != NULL ? 4 : 3, words, environment, out, err);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(fclose(err), 0);
    FILE *read = fopen(stream, "re");
    assert_non_null(read);
    printed[fread(printed, 1, sizeof printed - 1, read)] = '\0';
    fclose(read);
    return code;
}

/* Writes a checkpoint of a run, counted from 0. */
static void write_one(hw_folder *folder, uint64_t clock, uint64_t run, bool ended)
{
    hw_checkpoint_part part;
    hw_checkpoint of = world_facts(clock);
    of.time = hw_wall_seconds() - 14;
    of.run = run;
    of.ended = ended;
    assert_int_equal(hw_folder_begin(folder, &of, &error), HAWSER_OK);
    assert_int_equal(world_part("ck", &of, HW_CHECKPOINT_DRIVER, 0, clock, &part, &error), HAWSER_OK);
    of.parts = &part;
    of.part_count = 1;
    assert_int_equal(hw_folder_commit(folder, &of, &error), HAWSER_OK);
}

static void write_two(void)
{
    hw_folder *folder;
    assert_int_equal(hw_folder_open("ck", 2, &folder, &error), HAWSER_OK);
    write_one(folder, 811, 0, false);
    write_one(folder, 812, 0, false);
    hw_folder_free(folder);
}

static void the_newest_checkpoint_is_printed(void **state)
{
    (void)state;
    write_two();
    assert_int_equal(info("ck", NULL, "out"), 0);
    assert_non_null(strstr(printed, "program                  count\n"));
    assert_non_null(strstr(printed, "loop                     rounds\nrun                      1\n"
                                    "ended                    no\nclock                    812\n"));
    assert_non_null(strstr(printed, "metric objective: 0.25\n"));
    assert_int_equal(info("ck", "--json", "out"), 0);
    json_t *object = json_loads(printed, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(object, "clock")), 812);
    assert_string_equal(json_string_value(json_object_get(object, "program")), "count");
    assert_true(json_number_value(json_object_get(json_object_get(object, "metrics"), "gap")) == 1e-300);
    double age = json_number_value(json_object_get(object, "age"));
    assert_true(age >= 14 && age < 3600);
    struct stat facts;
    char path[HW_CHECKPOINT_NAME + 10];
    snprintf(path, sizeof path, "ck/%s", json_string_value(json_object_get(object, "manifest")));
    assert_int_equal(stat(path, &facts), 0);
    json_decref(object);
}

/* Returns a field of the folder's object, or of its first end. */
static json_t *field(json_t *object, bool of_end, const char *key)
{
    return json_object_get(of_end ? json_array_get(json_object_get(object, "ends"), 0) : object, key);
}

static void ends_of_runs_are_printed(void **state)
{
    (void)state;
    hw_folder *folder;
    assert_int_equal(hw_folder_open("ck", 2, &folder, &error), HAWSER_OK);
    write_one(folder, 700, 0, false);
    write_one(folder, 720, 0, true);
    assert_int_equal(info("ck", NULL, "out"), 0); /* the newest checkpoint is an end itself */
    assert_non_null(strstr(printed, "run                      1\nended                    yes\n"));
    assert_null(strstr(printed, "end of run"));
    for (uint64_t clock = 10; clock < 15; clock++)
        write_one(folder, clock, 1, clock == 14);
    write_one(folder, 3, 2, false);
    hw_folder_free(folder);
    assert_int_equal(info("ck", NULL, "out"), 0);
    assert_non_null(strstr(printed, "run                      3\nended                    no\n"));
    const char *first = strstr(printed, "end of run 1: program count, 720 clocks, "),
               *second = strstr(printed, "end of run 2: ");
    assert_true(first != NULL && second > first && strstr(second, ", 14 clocks, ") != NULL);
    assert_int_equal(info("ck", "--json", "out"), 0);
    json_t *object = json_loads(printed, 0, NULL);
    assert_int_equal(json_integer_value(field(object, false, "run")), 3);
    assert_true(json_is_false(field(object, false, "ended")) && json_is_true(field(object, true, "ended")));
    assert_int_equal(json_array_size(json_object_get(object, "ends")), 2);
    assert_int_equal(json_integer_value(field(object, true, "run")), 1);
    assert_int_equal(json_integer_value(field(object, true, "clock")), 720);
    json_decref(object);
}

static void a_folder_without_checkpoints_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir("empty", 0777), 0);
    assert_int_equal(info("empty", NULL, "err"), HW_EXIT_INPUT);
    assert_string_equal(printed, "hawser: empty is a folder without checkpoints: no model, and no stopped run\n");
    write_two();
    assert_int_equal(info("ck", "--coefficients", "err"), HW_EXIT_USAGE);
    assert_string_equal(printed, "hawser: ck is a folder: it can have checkpoints, which have no coefficients to print\n");
}

static void a_part_is_named(void **state)
{
    (void)state;
    write_two();
    hw_checkpoint *newest;
    char path[HW_CHECKPOINT_NAME + 10];
    assert_int_equal(hw_folder_newest("ck", &newest, &error), HAWSER_OK);
    snprintf(path, sizeof path, "ck/%s", newest->parts[0].file);
    assert_int_equal(info(path, NULL, "out"), 0);
    assert_non_null(strstr(printed, ": a part of a checkpoint, not a model; "));
    put_file(path, "damaged"); /* parts are not read */
    assert_int_equal(info("ck", NULL, "out"), 0);
    snprintf(path, sizeof path, "ck/%s", newest->file);
    put_file(path, "damaged");
    assert_int_equal(info("ck", NULL, "out"), 0);
    assert_non_null(strstr(printed, "clock                    811\n"));
    hw_checkpoint_free(newest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_newest_checkpoint_is_printed, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(ends_of_runs_are_printed, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_folder_without_checkpoints_is_refused, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_part_is_named, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
