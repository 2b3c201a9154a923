#include "history/record.h"

#include <string.h>

hw_event_record hw_event_name(uint32_t object, const char *name)
{
    hw_event_record record = {.kind = HW_EVENT_NAME, .object = object};
    size_t length = strlen(name);
    memcpy(record.name, name, length < sizeof record.name ? length : sizeof record.name - 1);
    return record;
}
