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

static void write_two(void)
{
    hw_folder *folder;
    assert_int_equal(hw_folder_open("ck", 2, &folder, &error), HAWSER_OK);
    for (uint64_t clock = 811; clock < 813; clock++) {
        hw_checkpoint_part part;
        hw_checkpoint of = world_facts(clock);
        of.time = hw_wall_seconds() - 14;
        assert_int_equal(hw_folder_begin(folder, &of, &error), HAWSER_OK);
        assert_int_equal(world_part("ck", &of, HW_CHECKPOINT_DRIVER, 0, clock, &part, &error), HAWSER_OK);
        of.parts = &part;
        of.part_count = 1;
        assert_int_equal(hw_folder_commit(folder, &of, &error), HAWSER_OK);
    }
    hw_folder_free(folder);
}

static void the_newest_checkpoint_is_printed(void **state)
{
    (void)state;
    write_two();
    assert_int_equal(info("ck", NULL, "out"), 0);
    assert_non_null(strstr(printed, "program                  count\n"));
    assert_non_null(strstr(printed, "loop                     rounds\nclock                    812\n"));
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
        cmocka_unit_test_setup_teardown(a_folder_without_checkpoints_is_refused, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_part_is_named, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
