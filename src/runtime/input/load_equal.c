/* load_equal.c - the columns that have one value in the rows of all nodes (data/equal.h). */
#include <stdlib.h>
#include <string.h>

#include "runtime/input/loading.h"

/* What a node reports in front of its list. */
typedef enum report { NO_ROWS, LIST, UNKNOWN } report;

static hawser_status pack(const hw_equals *own, bool rows, int shift, hw_bytes *out, hawser_error *error)
{
    uint64_t what = own != NULL && own->begun ? LIST : rows ? UNKNOWN : NO_ROWS;
    size_t count = what == LIST ? own->count : 0;
    unsigned char *bytes;
    out->length = sizeof what + count * sizeof(hw_equal);
    HAWSER_TRY(hw_new_array(&out->data, out->length, 1, "columns of one value", error));
    bytes = out->data;
    memcpy(bytes, &what, sizeof what);
    for (size_t k = 0; k < count; k++) {
        hw_equal item;
        memset(&item, 0, sizeof item); /* with the bytes between its fields */
        item.column = own->items[k].column + (hw_equal_is_target(own->items[k].column) ? 0 : (uint32_t)shift);
        item.differ = own->items[k].differ;
        item.value = own->items[k].value;
        item.digits = own->items[k].digits;
        memcpy(bytes + sizeof what + k * sizeof item, &item, sizeof item);
    }
    return HAWSER_OK;
}

static hawser_status meet(const hw_bytes *in, hawser_type type, hw_equals *out, bool *known, hawser_error *error)
{
    uint64_t what = UNKNOWN;
    hw_equals other = {0};
    hawser_status status = HAWSER_OK;
    if (in->length >= sizeof what)
        memcpy(&what, in->data, sizeof what);
    *known = *known && what != UNKNOWN;
    if (what != LIST)
        return HAWSER_OK;
    size_t count = (in->length - sizeof what) / sizeof(hw_equal);
    status = HW_GROW(&other.items, &other.capacity, count, "columns of one value", error);
    if (status == HAWSER_OK && count > 0)
        memcpy(other.items, (const char *)in->data + sizeof what, count * sizeof *other.items);
    other.count = count;
    other.begun = true;
    if (status == HAWSER_OK && out->begun)
        hw_equals_meet(out, &other, type);
    else if (status == HAWSER_OK)
        status = hw_equals_copy(out, &other, error);
    hw_equals_free(&other);
    return status;
}

hawser_status hw_loading_unite_equals(hw_loading *l, const hw_equals *own, bool rows, int shift, hw_equals *out,
                                      hawser_error *error)
{
    hw_bytes message = {0}, *in;
    bool known = true;
    hawser_status status = pack(own, rows, shift, &message, error);
    status = hw_loading_gather(l, status, message.data, message.length, &in, error);
    hw_equals_free(out);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        status = meet(&in[i], l->load->type, out, &known, error);
    if (!known)
        hw_equals_free(out);
    hw_bytes_free(in, l->nodes);
    free(message.data);
    return hw_loading_agree(l, status, error);
}
