#include "algorithms/glm/positive.h"

#include <math.h>
#include <string.h>

#include "hawser/options.h"

/* Longer texts first. The last two compare words, too. */
static const char *const comparisons[] = {"", ">=", "<=", ">", "<", "==", "!="};
enum { AT_LEAST = 1, AT_MOST, ABOVE, BELOW, EQUAL, UNEQUAL };

static hawser_status refuse(const char *text, const char *const *words, size_t count, hawser_error *error)
{
    if (words == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--positive '%.60s': expected > 5, >= 3, < 5, <= 3, == 2 or != 0, with any number", text);
    return hawser_fail(error, HAWSER_BAD_OPTION,
                       "--positive '%.60s': the target has words; expected one of them: '%.40s', '%.40s'%s", text, words[0],
                       words[count > 1], count > 2 ? ", ..." : "");
}

/* Returns the number of a word, which blanks may follow; `count` if it is none. */
static size_t word_of(const char *text, const char *const *words, size_t count)
{
    size_t k = 0, length = strlen(text);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    while (k < count && (strlen(words[k]) != length || memcmp(words[k], text, length) != 0))
        k++;
    return k;
}

hawser_status hw_positive_read(const char *text, const char *const *words, size_t count, hw_positive *positive,
                               hawser_error *error)
{
    const char *at = text + strspn(text, " ");
    size_t word = words != NULL ? word_of(at, words, count) : count;
    *positive = (hw_positive){.compare = EQUAL, .value = (double)word};
    if (words != NULL && word < count)
        return HAWSER_OK;
    for (int k = AT_LEAST; k <= UNEQUAL; k++)
        if (strncmp(at, comparisons[k], strlen(comparisons[k])) == 0) {
            positive->compare = k;
            at += strlen(comparisons[k]);
            break;
        }
    at += strspn(at, " ");
    if (words != NULL) {
        word = word_of(at, words, count);
        positive->value = (double)word;
        return word < count && positive->compare >= EQUAL ? HAWSER_OK : refuse(text, words, count, error);
    }
    const char *end = hawser_read_number(at, &positive->value);
    bool whole = end != NULL && end[strspn(end, " ")] == '\0' && isfinite(positive->value);
    return whole ? HAWSER_OK : refuse(text, NULL, 0, error);
}

void hw_positive_print(const hw_positive *positive, char text[HW_POSITIVE_TEXT])
{
    size_t length = strlen(comparisons[positive->compare]);
    memcpy(text, comparisons[positive->compare], length);
    text[length++] = ' ';
    (void)hawser_print_number(text + length, HW_POSITIVE_TEXT - length, positive->value);
}

bool hw_positive_holds(const hw_positive *positive, double value)
{
    switch (positive->compare) {
    case AT_LEAST: return value >= positive->value;
    case AT_MOST: return value <= positive->value;
    case ABOVE: return value > positive->value;
    case BELOW: return value < positive->value;
    case UNEQUAL: return value != positive->value;
    default: return value == positive->value;
    }
}
