/* stream.h - bytes of a file, a pipe or an archive in order. What an archive is is told by its first bytes, never its name. */
#ifndef HW_DATA_STREAM_H
#define HW_DATA_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/source/budget.h"
#include "hawser/status.h"

typedef enum hw_archive { HW_PLAIN = 0, HW_GZIP, HW_XZ, HW_ZSTD } hw_archive;

/* Up to 8 first bytes of a file. */
hw_archive hw_packing_of(const unsigned char *first, size_t count);

/* One thread at a time. */
typedef struct hw_unpacker hw_unpacker;

/* Takes `fd` over, whatever the outcome. `name` is for messages and must outlive the stream, as the budget must, which what an xz archive
 * asks for is taken from: up to 4 GiB, by its header. */
hawser_status hw_stream_open(int fd, const char *name, hw_budget *budget, hw_unpacker **stream,
                             hawser_error *error) HAWSER_MUST_USE;
/* Fills `capacity` bytes; fewer mean the end. An archive that ends too early, or is damaged, is HAWSER_BAD_INPUT. */
hawser_status hw_stream_read(hw_unpacker *stream, char *out, size_t capacity, size_t *got,
                             hawser_error *error) HAWSER_MUST_USE;
/* Bytes taken from the file so far, as they lie there. */
uint64_t hw_stream_consumed(const hw_unpacker *stream);
hw_archive hw_stream_packing(const hw_unpacker *stream);
void hw_stream_close(hw_unpacker *stream);

#endif
