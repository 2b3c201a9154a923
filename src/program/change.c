#include "program/change.h"

#include <stdio.h>

#include "codec/forms.h"

static hw_change_words numbers(const char *what, hw_change_value value, double from, double to)
{
    hw_change_words words = {.what = what, .value = value, .numbers = {from, to}};
    const char *format = value == HW_CHANGE_COUNT ? "%.0f" : "%g";
    for (int i = 0; i < 2; i++)
        (void)snprintf(words.texts[i], sizeof words.texts[i], format, words.numbers[i]);
    return words;
}

hw_change_words hw_change_in_words(const hawser_policy_change *change)
{
    if (change->work[1] > 0)
        return numbers("work", HW_CHANGE_NUMBER, change->work[0], change->work[1]);
    if (change->share[1] > 0)
        return numbers("share", HW_CHANGE_NUMBER, change->share[0], change->share[1]);
    if (change->quota[1] > 0)
        return numbers("quota", HW_CHANGE_COUNT, (double)change->quota[0], (double)change->quota[1]);
    bool form = change->form[0] != change->form[1];
    if (!form && change->state[0] != '\0')
        return numbers("gain", HW_CHANGE_NUMBER, change->gain[0], change->gain[1]);
    hw_change_words words = {.what = form ? "encoding" : "sync", .value = HW_CHANGE_WORD};
    for (int i = 0; i < 2; i++)
        if (form)
            (void)snprintf(words.texts[i], sizeof words.texts[i], "%s", hw_form_row_of((unsigned)change->form[i])->word);
        else
            (void)hw_sync_text(change->sync[i], words.texts[i]);
    return words;
}
