#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "hawser/record.h"

typedef struct inner {
    uint32_t *list;
    size_t count, capacity;
} inner;

typedef struct outer {
    double number;
    char text[7];
    inner first, second;
    double *none;
} outer;

static void visit_inner(hawser_record *record, inner *object)
{
    hawser_record_bytes(record, &object->count, sizeof object->count);
    hawser_record_bytes(record, &object->capacity, sizeof object->capacity);
    hawser_record_array(record, (void **)&object->list, sizeof *object->list, object->count, object->capacity);
}

static void visit(hawser_record *record, void *object)
{
    outer *made = object;
    hawser_record_bytes(record, &made->number, sizeof made->number);
    hawser_record_bytes(record, made->text, sizeof made->text);
    visit_inner(record, &made->first);
    visit_inner(record, &made->second);
    hawser_record_array(record, (void **)&made->none, sizeof *made->none, 5, 5);
}

static void visit_nothing(hawser_record *record, void *object)
{
    (void)record;
    (void)object;
}

static void visit_impossible(hawser_record *record, void *object)
{
    (void)object;
    hawser_record_fail(record, HAWSER_BAD_INPUT, "the first");
    hawser_record_fail(record, HAWSER_IO, "the second");
}

static outer example(void)
{
    outer made = {
        .number = -0.0, .text = "hawser", .first = {.count = 3, .capacity = 8}, .second = {.count = 0, .capacity = 2}};
    made.first.list = calloc(8, sizeof *made.first.list);
    made.second.list = calloc(2, sizeof *made.second.list);
    for (uint32_t k = 0; k < 8; k++)
        made.first.list[k] = k + 1;
    return made;
}

static void release(outer *made)
{
    free(made->first.list);
    free(made->second.list);
    free(made->none);
}

static void a_written_record_is_read_back(void **state)
{
    (void)state;
    outer before = example(), after = {0};
    void *bytes = NULL, *again = NULL;
    size_t size = 0, same = 0;
    hawser_error error = {0};
    assert_int_equal(hawser_record_save(visit, &before, &bytes, &size, &error), HAWSER_OK);
    assert_int_equal(hawser_record_restore(visit, &after, bytes, size, &error), HAWSER_OK);
    assert_memory_equal(&after.number, &before.number, sizeof before.number);
    assert_string_equal(after.text, before.text);
    assert_int_equal(after.first.count, 3);
    for (uint32_t k = 0; k < 8; k++) /* the capacity is there, its rest is not read */
        assert_int_equal(after.first.list[k], k < 3 ? k + 1 : 0);
    assert_non_null(after.second.list);
    assert_null(after.none);
    assert_int_equal(hawser_record_save(visit, &after, &again, &same, &error), HAWSER_OK);
    assert_int_equal(same, size);
    assert_memory_equal(again, bytes, size);
    free(bytes);
    free(again);
    release(&before);
    release(&after);
}

/* Any shorter or longer record is refused, and nothing leaks or is read beyond its end. */
static void wrong_lengths_are_refused(void **state)
{
    (void)state;
    outer before = example();
    void *bytes = NULL;
    size_t size = 0;
    hawser_error error = {0};
    assert_int_equal(hawser_record_save(visit, &before, &bytes, &size, &error), HAWSER_OK);
    for (size_t length = 0; length < size; length++) {
        outer after = {0};
        unsigned char *part = malloc(length > 0 ? length : 1);
        memcpy(part, bytes, length);
        assert_int_equal(hawser_record_restore(visit, &after, part, length, &error), HAWSER_BAD_INPUT);
        assert_non_null(strstr(error.text, "ends early"));
        free(part);
        release(&after);
    }
    unsigned char *longer = calloc(size + 1, 1);
    memcpy(longer, bytes, size);
    outer after = {0};
    assert_int_equal(hawser_record_restore(visit, &after, longer, size + 1, &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "bytes left"));
    size_t most = SIZE_MAX; /* as a number of items, which no memory holds */
    memcpy(longer + sizeof(double) + 7, &most, sizeof most);
    release(&after);
    after = (outer){0};
    assert_int_equal(hawser_record_restore(visit, &after, longer, size, &error), HAWSER_BAD_INPUT);
    release(&after);
    free(longer);
    free(bytes);
    release(&before);
}

static void an_object_without_fields_has_a_record(void **state)
{
    (void)state;
    int object = 0;
    void *bytes = NULL;
    size_t size = 1;
    hawser_error error = {0};
    assert_int_equal(hawser_record_save(visit_nothing, &object, &bytes, &size, &error), HAWSER_OK);
    assert_non_null(bytes);
    assert_int_equal(size, 0);
    assert_int_equal(hawser_record_restore(visit_nothing, &object, bytes, size, &error), HAWSER_OK);
    free(bytes);
}

static void the_first_error_is_kept(void **state)
{
    (void)state;
    int object = 0;
    void *bytes = &object;
    size_t size = 1;
    hawser_error error = {0};
    assert_int_equal(hawser_record_save(visit_impossible, &object, &bytes, &size, &error), HAWSER_BAD_INPUT);
    assert_string_equal(error.text, "the first");
    assert_null(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_written_record_is_read_back),
        cmocka_unit_test(wrong_lengths_are_refused),
        cmocka_unit_test(an_object_without_fields_has_a_record),
        cmocka_unit_test(the_first_error_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
