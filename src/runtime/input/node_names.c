/* node_names.c - sends names, schema and means to nodes that have no rows. The bytes are the means, 8 each, and then texts.
 * A text is one byte, 1 if it exists, and if so its characters and a zero. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/share/array.h"
#include "runtime/input/node_rows.h"

/* schema, numbers, target_name and further_names; the names of columns follow */
enum { FIXED = 3 + HW_FURTHER_TARGETS };

static size_t list_texts(const hawser_dataset *own, const char *schema, const char **texts)
{
    size_t cols = own->columns != NULL ? own->matrix.cols : 0;
    texts[0] = schema;
    texts[1] = own->numbers;
    texts[2] = own->target_name;
    memcpy(texts + 3, own->further_names, sizeof own->further_names);
    for (size_t j = 0; j < cols; j++)
        texts[FIXED + j] = own->columns[j];
    return FIXED + cols;
}

static hawser_status write_texts(const hawser_dataset *own, const char *const *texts, size_t count, hw_bytes *out,
                                 hawser_error *error)
{
    size_t means = own->means != NULL ? own->matrix.cols * sizeof *own->means : 0, bytes = means;
    for (size_t k = 0; k < count; k++)
        bytes += 1 + (texts[k] != NULL ? strlen(texts[k]) + 1 : 0);
    HAWSER_TRY(hw_new_array(&out->data, bytes, 1, "the names of columns", error));
    out->length = bytes;
    char *to = out->data;
    if (means != 0)
        memcpy(to, own->means, means);
    to += means;
    for (size_t k = 0; k < count; k++) {
        *to++ = texts[k] != NULL;
        if (texts[k] == NULL)
            continue;
        bytes = strlen(texts[k]) + 1;
        memcpy(to, texts[k], bytes);
        to += bytes;
    }
    return HAWSER_OK;
}

hawser_status hw_node_rows_pack_names(const hawser_dataset *own, hw_bytes *out, hawser_error *error)
{
    char *schema = NULL;
    const char **texts = NULL;
    if (own->schema != NULL)
        HAWSER_TRY(hawser_schema_write(own->schema, &schema, error));
    hawser_status status = HW_NEW(&texts, FIXED + own->matrix.cols, "the names of columns", error);
    HAWSER_THEN(status, write_texts(own, texts, list_texts(own, schema, texts), out, error));
    free(texts);
    free(schema);
    return status;
}

/* Reads the next text; *at is then behind it. Returns false if there is none. */
static bool next_text(const char *bytes, size_t length, size_t *at, const char **text)
{
    *text = NULL;
    if (*at >= length)
        return false;
    if (bytes[(*at)++] == 0)
        return true;
    const char *end = memchr(bytes + *at, 0, length - *at);
    if (end == NULL)
        return false;
    *text = bytes + *at;
    *at = (size_t)(end - bytes) + 1;
    return true;
}

hawser_status hw_node_rows_take_names(hw_bytes *from, uint32_t node, bool means, hawser_dataset *dataset,
                                      hawser_error *error)
{
    const char *bytes = from->data, *fixed[FIXED], **columns = NULL;
    size_t cols = dataset->matrix.cols, length = from->length, at = means ? cols * sizeof(double) : 0;
    bool sound = at <= length;
    hw_dataset_own(dataset, from->data); /* its texts are the names */
    from->data = NULL;
    if (sound && means)
        dataset->means = (const double *)(const void *)bytes;
    for (size_t k = 0; sound && k < FIXED; k++)
        sound = next_text(bytes, length, &at, &fixed[k]);
    if (sound && at < length) {
        HAWSER_TRY(HW_NEW(&columns, cols, "column names", error));
        hw_dataset_own(dataset, columns);
        for (size_t j = 0; sound && j < cols; j++)
            sound = next_text(bytes, length, &at, &columns[j]) && columns[j] != NULL;
    }
    if (!sound || at != length)
        return hw_share_misfit(node, error);
    dataset->columns = columns;
    dataset->target_name = fixed[2];
    memcpy(dataset->further_names, fixed + 3, sizeof dataset->further_names);
    if (fixed[1] != NULL)
        HAWSER_TRY(hw_copy_text(&dataset->numbers, fixed[1], error));
    return fixed[0] != NULL ? hawser_schema_read(fixed[0], &dataset->schema, error) : HAWSER_OK;
}
