#include "codec/forms.h"

#include "hawser/hawser.h"

#define HW_FORM_ROW(id, word, help, width, plan) [HAWSER_##id] = {word, width, plan},
static const hw_form_row rows[] = {HW_FORMS(HW_FORM_ROW)};
enum { COUNT = HW_ROWS_COUNT(HW_FORMS) };

const hw_form_row *hw_form_row_of(unsigned form)
{
    return form < COUNT ? &rows[form] : NULL;
}

unsigned hw_form_find(const char *word)
{
    for (unsigned form = 0; form < COUNT; form++)
        if (hw_word_is(rows[form].word, word))
            return form;
    return HAWSER_EXACT;
}
