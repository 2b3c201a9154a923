/* positive.h - two classes from a target of numbers or of several words: 1 where a condition holds, else 0. */
#ifndef HW_ALGORITHMS_GLM_POSITIVE_H
#define HW_ALGORITHMS_GLM_POSITIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "hawser/status.h"

enum { HW_POSITIVE_TEXT = 48 };

typedef struct hw_positive {
    int compare;  /* 0: no condition; else which comparison */
    double value; /* a number, or the number of a word */
} hw_positive;

/* Reads a condition: "> 5", ">= 3", "< 5", "<= 3", "== 2", "!= 0", a number or a word. `words`: those of the target
 * (hawser_schema_target); NULL: it has numbers. Returns HAWSER_BAD_OPTION for other texts, and a word that is none of
 * them. */
hawser_status hw_positive_read(const char *text, const char *const *words, size_t count, hw_positive *positive,
                               hawser_error *error) HAWSER_MUST_USE;
/* Writes a condition as a text for numbers, which hw_positive_read reads: a word is then its number. */
void hw_positive_print(const hw_positive *positive, char text[HW_POSITIVE_TEXT]);
/* Returns whether the condition holds for a value of the target. */
bool hw_positive_holds(const hw_positive *positive, double value);

#endif
