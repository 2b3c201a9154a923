#include "algorithms/model/given.h"

#include <string.h>

bool hw_option_given(const hawser_options *options, const char *key)
{
    const hawser_option *row = NULL;
    for (size_t k = 0; (row = hawser_options_row(options, k)) != NULL && strcmp(row->key, key) != 0; k++)
        ;
    if (row == NULL || hawser_options_source(options, key, NULL) < HAWSER_FROM_COMMAND_LINE)
        return false;
    const char *text = hawser_options_text(options, key);
    return text != NULL && (row->value == NULL || strcmp(row->value, text) != 0);
}

bool hw_option_set(const hawser_options *options, const char *key)
{
    return hawser_options_has(options, key) && hawser_options_source(options, key, NULL) != HAWSER_FROM_DEFAULT;
}

bool hw_option_auto(const hawser_options *options, const char *key)
{
    const char *text = hawser_options_text(options, key);
    return text != NULL && strncmp(text, "auto", 4) == 0 && (text[4] == '\0' || text[4] == ':');
}

double hw_option_number(const hawser_options *options, const char *key, double otherwise)
{
    return hawser_options_has(options, key) ? hawser_options_number(options, key) : otherwise;
}
