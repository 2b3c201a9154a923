/* stream.h - the bytes of a file, a pipe or an archive in order. The first bytes determine the kind of archive, never the
 * name. */
#ifndef HW_DATA_STREAM_H
#define HW_DATA_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/source/budget.h"
#include "hawser/status.h"

typedef enum hw_archive { HW_PLAIN = 0, HW_GZIP, HW_XZ, HW_ZSTD } hw_archive;

/* Takes up to 8 first bytes of a file. */
hw_archive hw_packing_of(const unsigned char *first, size_t count);

/* For one thread at a time. */
typedef struct hw_unpacker hw_unpacker;

/* Takes over `fd`, also on failure. `name` is for messages. It and the budget must outlive the stream: the memory of an xz
 * archive, up to 4 GiB by its header, is counted there. */
hawser_status hw_stream_open(int fd, const char *name, hw_budget *budget, hw_unpacker **stream,
                             hawser_error *error) HAWSER_MUST_USE;
/* Reads `capacity` bytes; fewer mean the end. Returns HAWSER_BAD_INPUT for an archive that ends too early or is damaged. */
hawser_status hw_stream_read(hw_unpacker *stream, char *out, size_t capacity, size_t *got,
                             hawser_error *error) HAWSER_MUST_USE;
/* Reads what can be read without waiting, at most `capacity` bytes. `wait`: waits for the first byte, until `stop` (-1:
 * none) becomes readable. *ended: nothing follows. No byte and no end mean that there is none yet, or a stop. *got is set
 * also on failure. */
hawser_status hw_stream_read_some(hw_unpacker *stream, char *out, size_t capacity, bool wait, int stop, size_t *got,
                                  bool *ended, hawser_error *error) HAWSER_MUST_USE;
/* Returns the bytes read from the file so far, as stored there. */
uint64_t hw_stream_consumed(const hw_unpacker *stream);
hw_archive hw_stream_packing(const hw_unpacker *stream);
void hw_stream_close(hw_unpacker *stream);

#endif
