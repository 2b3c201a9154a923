#include "algorithms/glm/called.h"

#include <stdio.h>
#include <string.h>

const char *hw_linear_column(const hawser_dataset *data, size_t column, char text[HW_LINEAR_LABEL])
{
    char label[HW_LINEAR_LABEL - 16];
    (void)hawser_dataset_label(data, column, label, sizeof label);
    bool number = label[strspn(label, "0123456789")] == '\0';
    (void)snprintf(text, HW_LINEAR_LABEL, number ? "column %s" : "column '%s'", label);
    return text;
}
