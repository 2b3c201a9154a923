/* dates.h - dates and times of ISO 8601 as seconds since 1970 in UTC, by the Gregorian calendar before it was in use,
 * too. */
#ifndef HW_DATA_TABLE_DATES_H
#define HW_DATA_TABLE_DATES_H

#include <stdbool.h>
#include <stddef.h>

/* Reads YYYY-MM-DD, then perhaps T or a blank, HH:MM, :SS, .FRACTION and a zone (Z, +HH:MM, +HHMM or +HH); without a zone
 * the time is UTC. Returns false for anything else, impossible dates included. *timed: there was a time. */
bool hw_date_read(const char *begin, const char *end, double *seconds, bool *timed);

/* From zero: months from January, weekdays from Monday. */
typedef struct hw_date_parts {
    size_t month, weekday, hour;
} hw_date_parts;
void hw_date_split(double seconds, hw_date_parts *parts);

#endif
