#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

void hw_json_take(json_t *object, const char *key, json_t *value, bool *ok)
{
    if (value == NULL || json_object_set_new(object, key, value) != 0)
        *ok = false;
}

void hw_json_append(json_t *list, json_t *value, bool *ok)
{
    if (value == NULL || json_array_append_new(list, value) != 0)
        *ok = false;
}

json_t *hw_json_value(double value)
{
    if (isfinite(value) && fabs(value) < 9e15 && value == floor(value))
        return json_integer((json_int_t)value);
    return isfinite(value) ? json_real(value) : json_null();
}

void hw_json_number(json_t *object, const char *key, double value, bool *ok)
{
    hw_json_take(object, key, hw_json_value(value), ok);
}

void hw_json_count(json_t *object, const char *key, uint64_t value, bool *ok)
{
    hw_json_take(object, key, json_integer((json_int_t)value), ok);
}

json_t *hw_json_string(const char *value)
{
    json_t *text = value != NULL ? json_string(value) : json_null();
    char *copy = NULL;
    if (text == NULL && hw_copy_text(&copy, value, NULL) == HAWSER_OK) {
        for (char *at = copy; *at != '\0'; at++)
            if ((unsigned char)*at >= 128)
                *at = '?';
        text = json_string(copy);
    }
    free(copy);
    return text;
}

void hw_json_text(json_t *object, const char *key, const char *value, bool *ok)
{
    hw_json_take(object, key, hw_json_string(value), ok);
}

char *hw_json_print(json_t *object, bool ok)
{
    char *text = ok ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    char *shown = NULL;
    if (text != NULL && HW_NEW(&shown, 6 * strlen(text) + 1, "JSON", NULL) == HAWSER_OK)
        hw_escape_json(shown, text);
    free(text);
    return shown;
}
