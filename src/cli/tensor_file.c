/* tensor_file.c - recognises safetensors files that other software wrote, by their header; nothing else of them is read. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/tensor_file.h"
#include "data/model/model.h"

/* Reads the header of a file that begins like safetensors; *header is NULL if the file does not. */
static hawser_status read_header(FILE *file, json_t **header, hawser_error *error)
{
    unsigned char length[HW_MODEL_LENGTH_BYTES];
    uint64_t bytes = 0;
    if (fread(length, 1, sizeof length, file) != sizeof length)
        return HAWSER_OK;
    for (int i = HW_MODEL_LENGTH_BYTES - 1; i >= 0; i--)
        bytes = bytes << 8 | length[i];
    if (bytes < 2 || bytes > HW_MODEL_MOST_HEADER)
        return HAWSER_OK;
    char *text = NULL;
    HAWSER_TRY(HW_NEW(&text, (size_t)bytes, "the header of a model", error));
    if (fread(text, 1, (size_t)bytes, file) == bytes)
        *header = json_loadb(text, (size_t)bytes, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    return HAWSER_OK;
}

/* Returns true if every entry describes a tensor and the facts lack one that every model of Hawser has. */
static bool is_other_model(json_t *header)
{
    const char *key;
    json_t *entry;
    json_object_foreach(header, key, entry)
    {
        bool facts = strcmp(key, "__metadata__") == 0;
        if (facts && (json_object_get(entry, HW_MODEL_FORMAT) != NULL || json_object_get(entry, HW_MODEL_CHECKSUM) != NULL ||
                      json_object_get(entry, "algorithm") != NULL))
            return false;
        if (!facts && (!json_is_string(json_object_get(entry, "dtype")) || !json_is_array(json_object_get(entry, "shape")) ||
                       !json_is_array(json_object_get(entry, "data_offsets"))))
            return false;
    }
    return json_is_object(header);
}

hawser_status hw_tensor_file_header(const char *path, json_t **header, hawser_error *error)
{
    FILE *file = fopen(path, "re");
    *header = NULL;
    if (file == NULL) /* the next attempt to open the file reports why */
        return HAWSER_OK;
    hawser_status status = read_header(file, header, error);
    fclose(file);
    if (*header != NULL && !is_other_model(*header)) {
        json_decref(*header);
        *header = NULL;
    }
    return status;
}

void hw_tensor_file_print(FILE *out, const char *path, const json_t *header)
{
    const char *key;
    json_t *entry;
    const json_t *facts = json_object_get(header, "__metadata__");
    fprintf(out, "%s: %s; %zu tensors\n", path,
            json_object_get(facts, "hawser.store") != NULL ? "tables of a store, for 'hawser serve --load', not a model"
            : json_object_get(facts, "hawser.checkpoint") != NULL
                ? "a part of a checkpoint, not a model"
                : "a safetensors file of other software, not a model of Hawser",
            json_object_size(header) - (facts != NULL));
    json_object_foreach((json_t *)header, key, entry)
    {
        if (strcmp(key, "__metadata__") == 0)
            continue;
        const json_t *shape = json_object_get(entry, "shape");
        fprintf(out, "%-40s %-5s [", key, json_string_value(json_object_get(entry, "dtype")));
        for (size_t d = 0; d < json_array_size(shape); d++)
            fprintf(out, "%s%" PRIu64, d > 0 ? ", " : "", (uint64_t)json_integer_value(json_array_get(shape, d)));
        fprintf(out, "]\n");
    }
}
