/* difference.h - the first difference of two texts of lines, as a message names it. */
#ifndef HW_BASE_DIFFERENCE_H
#define HW_BASE_DIFFERENCE_H

#include <stdbool.h>

enum { HW_DIFFERENCE = 520 };

/* Returns whether a line of one text is missing in the other, and writes both values, or the line, to `text`. Lines may be
 * in another order, and an option's numbers in other words. `there` is what was stored, `here` what is compared with it. */
bool hw_lines_differ(const char *there, const char *here, char text[HW_DIFFERENCE]);

#endif
