/* hawser check as JSON, of names that are no UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "directory.h"
#include "history/file.h"

/* A history of one block that has a second copy of a state of that name. */
static void write_history(const char *name)
{
    const hw_event_record state = {.kind = HW_EVENT_STATE, .range = 1, .from = HW_HISTORY_NONE, .part = 1};
    hw_event_record records[3] = {state, hw_event_name(0, name), state}, last;
    const hw_log log = {.name = {.kind = HW_STREAM_BLOCK}, .records = records, .count = 3};
    hw_history_head head;
    hw_batch_head batch, close;
    FILE *file = fopen("h", "we");
    assert_non_null(file);
    hw_history_head_make(0, 1, 7, &head);
    hw_batch_head_make(&log, &batch);
    hw_close_make(1, 3, HAWSER_OK, NULL, 0, &close, &last);
    assert_true(fwrite(&head, sizeof head, 1, file) == 1 && fwrite(&batch, sizeof batch, 1, file) == 1 &&
                fwrite(records, sizeof *records, 3, file) == 3 && fwrite(&close, sizeof close, 1, file) == 1 &&
                fwrite(&last, sizeof last, 1, file) == 1);
    assert_int_equal(fclose(file), 0);
}

/* What hawser says of the first record that breaks a rule. */
static void check_first(const char *name, const char *said)
{
    char *words[] = {"hawser", "check", "h", "--json", NULL}, *environment[] = {NULL};
    FILE *out = fopen("out", "we+"), *err = fopen("err", "we");
    assert_true(out != NULL && err != NULL);
    write_history(name);
    assert_int_equal(hw_cli_main(4, words, environment, out, err), HW_EXIT_BROKEN);
    rewind(out);
    json_t *object = json_loadf(out, 0, NULL);
    assert_non_null(object);
    const json_t *first = json_array_get(json_object_get(object, "fragment"), 0);
    assert_true(json_is_false(json_object_get(object, "holds")) && json_is_string(first));
    if (strstr(json_string_value(first), said) == NULL)
        fail_msg("%s: %s", said, json_string_value(first));
    json_decref(object);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(fclose(err), 0);
}

static void names_need_not_be_utf8(void **state)
{
    (void)state;
    check_first("w\xc3\xa4rme", "w\xc3\xa4rme");
    check_first("w\xe4rme", "w?rme");
    check_first("abcdefghijklmnopqrstuvwxyzabcdefghijkl\xc3\xa4",
                "abcdefghijklmnopqrstuvwxyzabcdefghijkl?"); /* cut in its last */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_need_not_be_utf8, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
