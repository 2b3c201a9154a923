/* cursor.h - writes and reads consecutive bytes. Without bytes behind it, it only measures. It never reads past the end. */
#ifndef HW_RUNTIME_DRIVE_CURSOR_H
#define HW_RUNTIME_DRIVE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct hw_drive_cursor {
    char *bytes;
    size_t size, at;
} hw_drive_cursor;

static inline void hw_put(hw_drive_cursor *cursor, const void *from, size_t count)
{
    if (cursor->bytes != NULL && count != 0 && count <= cursor->size - cursor->at)
        memcpy(cursor->bytes + cursor->at, from, count);
    cursor->at += count;
}

/* Returns the next `count` bytes, unaligned, or NULL if there are fewer. */
static inline const void *hw_get_there(hw_drive_cursor *cursor, size_t count)
{
    if (count > cursor->size - cursor->at)
        return NULL;
    const char *there = cursor->bytes + cursor->at;
    cursor->at += count;
    return there;
}

static inline bool hw_get(hw_drive_cursor *cursor, void *to, size_t count)
{
    const void *there = hw_get_there(cursor, count);
    if (there == NULL)
        return false;
    memcpy(to, there, count);
    return true;
}

#endif
