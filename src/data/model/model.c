/* model.c - a model in memory: named tensors and text facts. There are few of each, so a search walks the list. */
#include "data/model/model.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/type.h"
#include "base/utf8.h"

hawser_status hawser_model_new(hawser_model **model, hawser_error *error)
{
    HW_GIVEN(model);
    return HW_NEW(model, 1, "a model", error);
}

void hawser_model_free(hawser_model *model)
{
    if (model == NULL)
        return;
    for (size_t i = 0; i < model->tensor_count; i++) {
        free(model->tensors[i].name);
        free(model->tensors[i].values);
    }
    for (size_t i = 0; i < model->fact_count; i++) {
        free(model->facts[i].key);
        free(model->facts[i].value);
    }
    free(model->tensors);
    free(model->facts);
    free(model);
}

static const hw_tensor *find_tensor(const hawser_model *model, const char *name)
{
    for (size_t i = 0; model != NULL && name != NULL && i < model->tensor_count; i++)
        if (strcmp(model->tensors[i].name, name) == 0)
            return &model->tensors[i];
    return NULL;
}

static hw_fact *find_fact(const hawser_model *model, const char *key)
{
    for (size_t i = 0; model != NULL && key != NULL && i < model->fact_count; i++)
        if (strcmp(model->facts[i].key, key) == 0)
            return &model->facts[i];
    return NULL;
}

static hawser_status check_tensor(const hawser_model *model, const char *name, hawser_type type, const size_t dims[2],
                                  hawser_error *error)
{
    if (name[0] == '\0' || strcmp(name, "__metadata__") == 0 || !hw_is_utf8(name))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "\"%s\" cannot be the name of a tensor", name);
    if (find_tensor(model, name) != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "the model already has a tensor \"%s\"", name);
    if (model->tensor_count + 1 == HW_MODEL_MOST_NAMES)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "tensor \"%s\": a model has at most %zu", name, model->tensor_count);
    if (type != HAWSER_F64 && type != HAWSER_F32 && type != HAWSER_I64 && type != HAWSER_I32)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "tensor \"%s\": unknown type %d", name, (int)type);
    size_t columns = dims[1] == 0 ? 1 : dims[1];
    if (dims[0] > SIZE_MAX / 16 / columns)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "tensor \"%s\": %zu x %zu is more than memory can hold", name,
                           dims[0], columns);
    return HAWSER_OK;
}

hawser_status hawser_model_tensor(hawser_model *model, const char *name, hawser_type type, const size_t dims[2],
                                  const void *values, hawser_error *error)
{
    HW_GIVEN(model);
    HW_GIVEN(name);
    HW_GIVEN(dims);
    HAWSER_TRY(check_tensor(model, name, type, dims, error));
    if (dims[0] > 0)
        HW_GIVEN(values);
    HAWSER_TRY(HW_GROW(&model->tensors, &model->tensor_capacity, model->tensor_count + 1, "a model", error));
    hw_tensor tensor = {.type = type, .dims = {dims[0], dims[1]}};
    size_t count = dims[0] * (dims[1] == 0 ? 1 : dims[1]), size = hw_type_size(type);
    tensor.bytes = count * size;
    HAWSER_TRY(hw_new_array(&tensor.values, count, size, "a tensor of a model", error));
    hawser_status status = hw_copy_text(&tensor.name, name, error);
    if (status != HAWSER_OK) {
        free(tensor.values);
        return status;
    }
    if (tensor.bytes > 0)
        memcpy(tensor.values, values, tensor.bytes);
    model->tensors[model->tensor_count++] = tensor;
    return HAWSER_OK;
}

hawser_status hawser_model_spread(hawser_model *model, const char *name, const uint32_t *columns, size_t count, size_t width,
                                  hawser_error *error)
{
    HW_GIVEN(model);
    HW_GIVEN(name);
    if (count > 0)
        HW_GIVEN(columns);
    hw_tensor *tensor = (hw_tensor *)(uintptr_t)find_tensor(model, name);
    if (tensor == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "the model has no tensor \"%s\"", name);
    bool vector = tensor->dims[1] == 0;
    size_t lines = vector ? 1 : tensor->dims[0], had = vector ? tensor->dims[0] : tensor->dims[1];
    size_t size = hw_type_size(tensor->type);
    if (had != count || count > width || (lines > 0 && width > SIZE_MAX / 16 / lines))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "tensor \"%s\" has %zu columns, and %zu are to become %zu", name, had,
                           count, width);
    for (size_t k = 0; k < count; k++)
        if (columns[k] >= width)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "tensor \"%s\": column %u is not below %zu", name, columns[k],
                               width);
    char *values = calloc(lines * width + 1, size); /* pages of zeros that nobody writes take no memory */
    if (values == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu x %zu numbers of a model", lines, width);
    for (size_t line = 0; line < lines; line++)
        for (size_t k = 0; k < count; k++)
            memcpy(values + (line * width + columns[k]) * size, (char *)tensor->values + (line * count + k) * size, size);
    free(tensor->values);
    tensor->values = values;
    tensor->dims[vector ? 0 : 1] = width;
    tensor->bytes = lines * width * size;
    return HAWSER_OK;
}

/* Replaces bytes that are not UTF-8 with question marks: a path may have any bytes, a fact may not. */
static void make_utf8(char *text)
{
    if (hw_is_utf8(text))
        return;
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
}

hawser_status hawser_model_fact(hawser_model *model, const char *key, const char *value, hawser_error *error)
{
    HW_GIVEN(model);
    HW_GIVEN(key);
    HW_GIVEN(value);
    if (strcmp(key, HW_MODEL_CHECKSUM) == 0 || strcmp(key, HW_MODEL_FORMAT) == 0 || !hw_is_utf8(key))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "\"%s\" cannot be the key of a fact", key);
    char *copy = NULL;
    hw_fact *known = find_fact(model, key);
    if (known == NULL && model->fact_count + 2 == HW_MODEL_MOST_NAMES)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "fact \"%s\": a model has at most %zu", key, model->fact_count);
    HAWSER_TRY(hw_copy_text(&copy, value, error));
    make_utf8(copy);
    if (known != NULL) {
        free(known->value);
        known->value = copy;
        return HAWSER_OK;
    }
    hw_fact fact = {.value = copy};
    hawser_status status = HW_GROW(&model->facts, &model->fact_capacity, model->fact_count + 1, "a model", error);
    HAWSER_THEN(status, hw_copy_text(&fact.key, key, error));
    if (status != HAWSER_OK) {
        free(copy);
        return status;
    }
    model->facts[model->fact_count++] = fact;
    return HAWSER_OK;
}

void hawser_model_remove(hawser_model *model, const char *name)
{
    const hw_tensor *tensor = find_tensor(model, name);
    const hw_fact *fact = find_fact(model, name);
    if (tensor != NULL) {
        size_t at = (size_t)(tensor - model->tensors);
        free(tensor->name);
        free(tensor->values);
        memmove(&model->tensors[at], &model->tensors[at + 1], (--model->tensor_count - at) * sizeof *tensor);
    }
    if (fact != NULL) {
        size_t at = (size_t)(fact - model->facts);
        free(fact->key);
        free(fact->value);
        memmove(&model->facts[at], &model->facts[at + 1], (--model->fact_count - at) * sizeof *fact);
    }
}

const void *hawser_model_get(const hawser_model *model, const char *name, hawser_type *type, size_t dims[2])
{
    const hw_tensor *tensor = find_tensor(model, name);
    if (tensor == NULL)
        return NULL;
    if (type != NULL)
        *type = tensor->type;
    if (dims != NULL)
        memcpy(dims, tensor->dims, sizeof tensor->dims);
    return tensor->values;
}

const char *hawser_model_text(const hawser_model *model, const char *key)
{
    const hw_fact *fact = find_fact(model, key);
    return fact != NULL ? fact->value : NULL;
}

bool hawser_model_fact_at(const hawser_model *model, size_t index, const char **key, const char **value)
{
    if (model == NULL || index >= model->fact_count)
        return false;
    if (key != NULL)
        *key = model->facts[index].key;
    if (value != NULL)
        *value = model->facts[index].value;
    return true;
}

uint64_t hw_model_digest(const hawser_model *model)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < model->tensor_count; i++) {
        const hw_tensor *tensor = &model->tensors[i];
        uint64_t shape = hw_hash(tensor->name, strlen(tensor->name), 1 + (uint64_t)tensor->type);
        shape = hw_hash(NULL, 0, shape ^ tensor->dims[0]);
        digest += hw_hash(tensor->values, tensor->bytes, shape ^ tensor->dims[1]);
    }
    for (size_t i = 0; i < model->fact_count; i++) {
        const hw_fact *fact = &model->facts[i];
        digest += hw_hash(fact->value, strlen(fact->value), hw_hash(fact->key, strlen(fact->key), 99));
    }
    return digest;
}
