/* record.c - one visit of an object's fields, which writes them to a growing buffer or reads them from given bytes. */
#include "hawser/record.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/memory.h"

struct hawser_record {
    unsigned char *bytes; /* for writing: freed by this file; for reading: the caller's bytes */
    size_t size, capacity, at;
    bool reads;
    hawser_status status;
    hawser_error *error;
};

bool hawser_record_reads(const hawser_record *record)
{
    return record != NULL && record->reads;
}

void hawser_record_fail(hawser_record *record, hawser_status status, const char *message)
{
    if (record != NULL && record->status == HAWSER_OK)
        record->status = hawser_fail(record->error, status, "%s", message != NULL ? message : "a record failed");
}

static void write_bytes(hawser_record *record, const void *value, size_t size)
{
    if (size > SIZE_MAX - record->size) {
        hawser_record_fail(record, HAWSER_NO_MEMORY, "a record is larger than memory can be");
        return;
    }
    record->status = HW_GROW(&record->bytes, &record->capacity, record->size + size, "a record", record->error);
    if (record->status != HAWSER_OK)
        return;
    memcpy(record->bytes + record->size, value, size);
    record->size += size;
}

/* Returns the next bytes to read; NULL after an error. */
static const unsigned char *take(hawser_record *record, size_t size)
{
    if (size > record->size - record->at) {
        hawser_record_fail(record, HAWSER_BAD_INPUT, "a record ends early: it is of another object or another build");
        return NULL;
    }
    const unsigned char *from = record->bytes + record->at;
    record->at += size;
    return from;
}

void hawser_record_bytes(hawser_record *record, void *value, size_t size)
{
    if (record == NULL || record->status != HAWSER_OK || size == 0)
        return;
    if (value == NULL) {
        hawser_record_fail(record, HAWSER_BAD_ARGUMENT, "hawser_record_bytes: value is NULL");
        return;
    }
    if (!record->reads) {
        write_bytes(record, value, size);
        return;
    }
    const unsigned char *from = take(record, size);
    if (from != NULL)
        memcpy(value, from, size);
}

static void read_array(hawser_record *record, void **array, size_t size, size_t count, size_t capacity)
{
    size_t items = count > capacity ? count : capacity;
    const unsigned char *from = take(record, count * size);
    if (from == NULL)
        return;
    void *made = calloc(items > 0 ? items : 1, size > 0 ? size : 1);
    if (made == NULL) {
        hawser_record_fail(record, HAWSER_NO_MEMORY, "no memory for an array of a record");
        return;
    }
    if (count * size > 0)
        memcpy(made, from, count * size);
    *array = made;
}

void hawser_record_array(hawser_record *record, void **array, size_t size, size_t count, size_t capacity)
{
    if (record == NULL || record->status != HAWSER_OK)
        return;
    if (array == NULL) {
        hawser_record_fail(record, HAWSER_BAD_ARGUMENT, "hawser_record_array: array is NULL");
        return;
    }
    bool present = *array != NULL;
    hawser_record_bytes(record, &present, sizeof present);
    if (record->status != HAWSER_OK)
        return;
    if (size > 0 && count > SIZE_MAX / size)
        hawser_record_fail(record, HAWSER_BAD_INPUT, "an array of a record is larger than memory can be");
    else if (!present)
        *array = NULL;
    else if (record->reads)
        read_array(record, array, size, count, capacity);
    else
        hawser_record_bytes(record, *array, count * size);
}

hawser_status hawser_record_save(hawser_record_function *visit, const void *object, void **bytes, size_t *size,
                                 hawser_error *error)
{
    HW_GIVEN(visit);
    HW_GIVEN(object);
    HW_GIVEN(bytes);
    HW_GIVEN(size);
    hawser_record record = {.error = error};
    *bytes = NULL;
    *size = 0;
    union {
        const void *given;
        void *visited;
    } same = {object}; /* a visit that writes changes nothing */
    HAWSER_TRY(
        HW_GROW(&record.bytes, &record.capacity, 1, "a record", error)); /* an object without fields has a record too */
    visit(&record, same.visited);
    if (record.status != HAWSER_OK) {
        free(record.bytes);
        return record.status;
    }
    *bytes = record.bytes;
    *size = record.size;
    return HAWSER_OK;
}

hawser_status hawser_record_restore(hawser_record_function *visit, void *object, const void *bytes, size_t size,
                                    hawser_error *error)
{
    HW_GIVEN(visit);
    HW_GIVEN(object);
    HW_GIVEN(bytes);
    union {
        const void *given;
        unsigned char *read;
    } same = {bytes};
    hawser_record record = {.bytes = same.read, .size = size, .reads = true, .error = error};
    visit(&record, object);
    if (record.status == HAWSER_OK && record.at != size)
        hawser_record_fail(&record, HAWSER_BAD_INPUT, "a record has bytes left: it is of another object or another build");
    return record.status;
}
