/*
 * record.h - memory of a program written to bytes and read back. One function visits the fields of an object for both
 * directions, so that writing and reading cannot differ. The bytes are for the same build on the same kind of machine: they
 * have no names and no version.
 */
#ifndef HAWSER_RECORD_H
#define HAWSER_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "hawser/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The bytes being written or read, and the first error. */
typedef struct hawser_record hawser_record;

/** Visits the fields of `object` in a fixed order with the functions below. It must not fail: the record keeps the first
 *  error, and every later visit does nothing. When a record is read, the object is as its owner makes it before its first
 *  use (usually zeros). Which fields are visited may depend on fields that were visited before. */
typedef void hawser_record_function(hawser_record *record, void *object);

/** Returns whether the record is read, and the object filled; false while it is written. */
HAWSER_API bool hawser_record_reads(const hawser_record *record);
/** Writes or reads `size` bytes at `value`: numbers, and structs without pointers. */
HAWSER_API void hawser_record_bytes(hawser_record *record, void *value, size_t size);
/** Writes or reads an array of `count` items of `size` bytes at *array, or that it is NULL. Reading allocates max(count,
 *  capacity) items with calloc (one byte at least), copies the first `count` into them, and sets *array; the object's owner
 *  frees it. What *array was before is not freed. Visit the fields that `count` and `capacity` come from first. */
HAWSER_API void hawser_record_array(hawser_record *record, void **array, size_t size, size_t count, size_t capacity);
/** Keeps `status` and its message as the record's error, if it has none: for a visit that finds a field impossible. */
HAWSER_API void hawser_record_fail(hawser_record *record, hawser_status status, const char *message);

/** Writes `object` with `visit` to *bytes, which has *size bytes. The caller frees it; it is NULL after a failure. Returns
 *  HAWSER_NO_MEMORY, or the error of the record. Thread-safe for different objects. */
HAWSER_API hawser_status hawser_record_save(hawser_record_function *visit, const void *object, void **bytes, size_t *size,
                                            hawser_error *error) HAWSER_MUST_USE;
/** Fills `object` from bytes that hawser_record_save wrote of an object of the same type. Returns HAWSER_NO_MEMORY,
 *  HAWSER_BAD_INPUT if the bytes end early or are not used up, or the error of the record. After a failure the object has
 *  the fields that were read until then, and its owner releases it as usual. */
HAWSER_API hawser_status hawser_record_restore(hawser_record_function *visit, void *object, const void *bytes, size_t size,
                                               hawser_error *error) HAWSER_MUST_USE;

#ifdef __cplusplus
}
#endif

#endif
