/* keywords.c - texts for callers that pass options as keyword arguments. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "hawser/algorithm.h"

/* The longest key is shorter. */
enum { LONGEST = 64 };

static bool has_key(const hawser_option *rows, const char *key)
{
    for (; rows != NULL && rows->key != NULL; rows++)
        if (strcmp(rows->key, key) == 0)
            return true;
    return false;
}

/* Returns true for an option of jobs, data or an algorithm, and for what hawser_training_input has in place of one. */
static bool is_option(const char *key)
{
    const hawser_algorithm *algorithm;
    if (has_key(hawser_job_rows(), key) || has_key(hawser_data_rows(), key) || strcmp(key, "init") == 0 ||
        strcmp(key, "validation") == 0)
        return true;
    for (size_t k = 0; (algorithm = hawser_algorithm_at(k)) != NULL; k++)
        if (has_key(algorithm->rows, key) || has_key(algorithm->member_rows, key))
            return true;
    return false;
}

/* Writes the keyword of the option "--key" at the start of `text` to `out`, which has LONGEST bytes. Returns the length that
 * it replaces; 0 if the text is no option. The keyword is shorter. */
static size_t keyword(const char *text, char *out)
{
    char key[LONGEST - 3]; /* "=no" may follow */
    size_t length = 2;
    while (isalnum((unsigned char)text[length]) || text[length] == '-')
        length++;
    if (length < 3 || length - 2 >= sizeof key)
        return 0;
    memcpy(key, text + 2, length - 2);
    key[length - 2] = '\0';
    bool negated = strncmp(key, "no-", 3) == 0 && !is_option(key);
    if (!is_option(negated ? key + 3 : key))
        return 0;
    snprintf(out, LONGEST, "%s%s", negated ? key + 3 : key, negated ? "=no" : "");
    for (char *at = out; *at != '\0'; at++)
        *at = *at == '-' ? '_' : *at;
    return length;
}

void hawser_name_keywords(char *text)
{
    char name[LONGEST];
    char *to = text;
    bool inside = false; /* a word, which "--" does not begin */
    for (const char *from = text; from != NULL && *from != '\0';) {
        size_t length = !inside && from[0] == '-' && from[1] == '-' ? keyword(from, name) : 0;
        if (length > 0) {
            memcpy(to, name, strlen(name));
            to += strlen(name);
            from += length;
        } else {
            inside = isalnum((unsigned char)*from) || strchr("-_/.", *from) != NULL;
            *to++ = *from++;
        }
    }
    if (to != NULL)
        *to = '\0';
}
