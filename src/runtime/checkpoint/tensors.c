/* tensors.c - the header of a store's file: a table is the tensor of its name, with .keys if it is sparse and .memory if its
 * function has memory. A fact describes it, so that no other tensor is taken for a table. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "checkpoint/tensors.h"
#include "runtime/checkpoint/checkpoint.h"

static const char *const suffixes[] = {[HW_PART_VALUES] = "", [HW_PART_MEMORY] = ".memory", [HW_PART_KEYS] = ".keys"};

int hw_store_pass_of(const hw_table_spec *spec, hw_part part)
{
    switch (part) {
    case HW_PART_KEYS: return spec->sparse ? 0 : -1;
    case HW_PART_MEMORY: return spec->function->memory > 0 ? 0 : -1;
    case HW_PART_VALUES: break;
    }
    return spec->type == HW_VALUE_F32 ? 1 : 0;
}

static const char *type_of(const hw_table_spec *spec, hw_part part)
{
    static const char *const names[] = {[HW_VALUE_F32] = "F32", [HW_VALUE_F64] = "F64", [HW_VALUE_I64] = "I64"};
    return part == HW_PART_KEYS ? "U64" : part == HW_PART_MEMORY ? "F64" : names[spec->type];
}

#define FORMAT "2"

/* Describes what must be the same in the store that loads the table. */
static void describe(const hw_table_spec *spec, char *text, size_t size)
{
    if (spec->sparse)
        snprintf(text, size, "%s %s width %u", type_of(spec, HW_PART_VALUES), spec->function->name, spec->width);
    else
        snprintf(text, size, "%s %s width %u keys %" PRIu64 " to %" PRIu64, type_of(spec, HW_PART_VALUES),
                 spec->function->name, spec->width, spec->first, spec->last);
}

/* Adds, behind a semicolon, what may differ there: with it the table can be created. */
static void describe_all(const hw_table_spec *spec, char *text, size_t size)
{
    describe(spec, text, size);
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, size - used, ";");
    for (uint32_t i = 0; i < spec->function->parameters; i++) {
        used += (size_t)snprintf(text + used, size - used, " ");
        used += hawser_print_number(text + used, size - used, spec->parameters[i]);
    }
    if (spec->summed)
        used += (size_t)snprintf(text + used, size - used, " summed");
    if (spec->centric)
        (void)snprintf(text + used, size - used, " centric %" PRIu64, spec->delay);
}

/* Adds a part of a table. Returns false also if another table has this name for its keys. */
static bool add_tensor(hw_tensors_header *header, const hw_table_spec *spec, hw_part part, uint64_t rows)
{
    char key[HW_TABLE_NAME + 16];
    uint64_t cols = spec->width * (part == HW_PART_MEMORY ? spec->function->memory : 1);
    snprintf(key, sizeof key, "%s%s", spec->name, suffixes[part]);
    return hw_tensors_add(header, key, type_of(spec, part), rows, part == HW_PART_KEYS ? 0 : cols,
                          rows * hw_part_bytes(spec, part));
}

hawser_status hw_store_header(const hawser_store *store, uint32_t tables, const uint64_t *rows, char **text,
                              hawser_error *error)
{
    hw_tensors_header header;
    hw_tensors_begin(&header);
    bool good = hw_tensors_fact(&header, "hawser.store", FORMAT);
    const char *last = "";
    for (uint32_t t = 0; good && t < tables; t++) {
        char what[HW_STORE_FACT];
        const hw_table_spec *spec = hw_client_table_at(store->client, t);
        describe_all(spec, what, sizeof what);
        good = hw_tensors_fact(&header, last = spec->name, what);
    }
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t t = 0; t < tables; t++) {
            const hw_table_spec *spec = hw_client_table_at(store->client, t);
            uint64_t count = hw_store_rows(spec, rows + (size_t)t * store->servers, store->servers);
            for (int p = HW_PART_KEYS; good && p >= HW_PART_VALUES; p--)
                if (hw_store_pass_of(spec, (hw_part)p) == pass) {
                    last = spec->name;
                    good = add_tensor(&header, spec, (hw_part)p, count);
                }
        }
    *text = hw_tensors_text(&header);
    if (*text != NULL)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                       "cannot describe table '%s' for a file: no memory, or a name that is not UTF-8 or occurs twice",
                       last);
}

/* ---------------------------------------------------------------------------------------------------------- reading ---- */

/* Reads a table from its fact, as describe_all wrote it. */
static bool read_fact(const char *name, const char *fact, hw_table_wire *wire)
{
    char type[4], function[HW_TABLE_NAME];
    unsigned width = 0;
    int used = 0;
    *wire = (hw_table_wire){.last = UINT64_MAX};
    if (strlen(name) >= sizeof wire->name || sscanf(fact, "%3s %63s width %u%n", type, function, &width, &used) != 3)
        return false;
    memcpy(wire->name, name, strlen(name) + 1);
    memcpy(wire->function, function, strlen(function) + 1);
    wire->type = strcmp(type, "F32") == 0 ? HW_VALUE_F32 : strcmp(type, "F64") == 0 ? HW_VALUE_F64 : HW_VALUE_I64;
    wire->width = width;
    fact += used;
    wire->sparse = sscanf(fact, " keys %" SCNu64 " to %" SCNu64 "%n", &wire->first, &wire->last, &used) != 2;
    fact += wire->sparse ? 0 : used;
    if (*fact++ != ';')
        return false;
    for (int i = 0; i < HW_FUNCTION_PARAMETERS; i++) {
        const char *end = hawser_read_number(fact, &wire->parameters[i]);
        if (end == NULL)
            break;
        fact = end;
    }
    wire->summed = strncmp(fact, " summed", 7) == 0;
    fact += wire->summed ? 7 : 0;
    wire->centric = sscanf(fact, " centric %" SCNu64 "%n", &wire->delay, &used) == 1;
    return fact[wire->centric ? used : 0] == '\0';
}

/* Finds the store's table of that name. Returns NULL if there is none. */
static const hw_table_spec *find(const hawser_store *store, const char *name, uint32_t *number)
{
    for (*number = 0; *number < hw_client_tables(store->client); ++*number) {
        const hw_table_spec *spec = hw_client_table_at(store->client, *number);
        if (strcmp(spec->name, name) == 0)
            return spec;
    }
    return NULL;
}

/* Checks that a table of the file is like the store's. */
static hawser_status check_alike(const hw_table_spec *spec, const char *fact, const char *what, hawser_error *error)
{
    char own[200];
    size_t fixed = strcspn(fact, ";");
    describe(spec, own, sizeof own);
    if (strlen(own) == fixed && memcmp(own, fact, fixed) == 0)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s' is '%.*s' in %s and '%s' here", spec->name,
                       (int)(fixed < 150 ? fixed : 150), fact, what, own);
}

hawser_status hw_store_tables_in(const hawser_store *store, const char *header, size_t length, const char *what,
                                 hw_table_wire **tables, size_t *count, hawser_error *error)
{
    uint32_t number;
    json_t *root = json_loadb(header, length, JSON_REJECT_DUPLICATES, NULL), *fact,
           *facts = json_object_get(root, "__metadata__");
    const char *name;
    *count = 0;
    hawser_status status = HAWSER_OK;
    if (!json_is_string(json_object_get(facts, "hawser.store")))
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s is not a file of a store's tables", what);
    if (status == HAWSER_OK)
        status = HW_NEW(tables, json_object_size(facts), "the tables of a file", error);
    json_object_foreach(facts, name, fact)
    {
        const char *text = json_string_value(fact);
        if (status != HAWSER_OK || strcmp(name, "hawser.store") == 0)
            continue;
        if (!read_fact(name, text != NULL ? text : "", &(*tables)[*count]))
            status = hawser_fail(error, HAWSER_BAD_INPUT, "%s has no definition of its table '%.63s'", what, name);
        const hw_table_spec *own = store != NULL ? find(store, name, &number) : NULL;
        if (status == HAWSER_OK && own != NULL)
            status = check_alike(own, text, what, error);
        ++*count;
    }
    json_decref(root);
    return status;
}

/* Reads one tensor, and checks that it has the length that its rows need and is within the file. Keys and dense tables
 * determine the number of rows. */
static bool read_tensor(const json_t *header, const hw_table_spec *spec, hw_part part, uint64_t data, uint64_t file_size,
                        hw_saved_state *stored)
{
    char key[HW_TABLE_NAME + 16];
    const char *type = NULL;
    json_int_t begin = -1, end = -1;
    snprintf(key, sizeof key, "%s%s", spec->name, suffixes[part]);
    json_t *tensor = json_object_get(header, key);
    if (tensor == NULL || json_unpack(tensor, "{s:s, s:[I,I]}", "dtype", &type, "data_offsets", &begin, &end) != 0)
        return false;
    size_t row = hw_part_bytes(spec, part);
    if (begin < 0 || end < begin || (uint64_t)end > file_size - data || strcmp(type, type_of(spec, part)) != 0)
        return false;
    uint64_t rows = (uint64_t)(end - begin) / row;
    if (part == HW_PART_KEYS)
        stored->rows = rows;
    stored->begin[part] = data + (uint64_t)begin;
    return rows * row == (uint64_t)(end - begin) && rows == stored->rows;
}

static hawser_status read_table(const hawser_store *store, const json_t *header, const char *name, const char *fact,
                                uint64_t data, uint64_t file_size, const char *what, hw_saved_state *stored,
                                hawser_error *error)
{
    uint32_t t;
    size_t fixed = strcspn(fact, ";");
    const hw_table_spec *spec = find(store, name, &t);
    if (spec == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s has a table '%.63s' (%.*s), which the store lacks: make it first",
                           what, name, (int)(fixed < 150 ? fixed : 150), fact);
    HAWSER_TRY(check_alike(spec, fact, what, error));
    *stored = (hw_saved_state){.table = t, .rows = spec->sparse ? 0 : spec->last - spec->first + 1};
    for (int p = HW_PART_KEYS; p >= HW_PART_VALUES; p--)
        if (hw_store_pass_of(spec, (hw_part)p) >= 0 && !read_tensor(header, spec, (hw_part)p, data, file_size, stored))
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: tensor '%s%s' is missing or does not match its table", what,
                               name, suffixes[p]);
    return HAWSER_OK;
}

hawser_status hw_store_tensors(const hawser_store *store, const char *header, size_t length, uint64_t file_size,
                               const char *what, hw_saved_state **stored, size_t *count, hawser_error *error)
{
    json_t *root = json_loadb(header, length, JSON_REJECT_DUPLICATES, NULL), *fact,
           *facts = json_object_get(root, "__metadata__");
    uint64_t data = sizeof(uint64_t) + length;
    const char *name;
    hawser_status status = HAWSER_OK;
    *count = 0;
    const char *format = json_string_value(json_object_get(facts, "hawser.store"));
    if (format == NULL)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s is not a file of a store's tables", what);
    else if (strcmp(format, FORMAT) != 0)
        status = hawser_fail(error, HAWSER_BAD_INPUT,
                             "%s has a store's tables in format '%.20s'; this Hawser reads format %s", what, format, FORMAT);
    else if (!hw_tensors_whole(root, file_size - data))
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s is not whole: it does not end with its checksum", what);
    if (status == HAWSER_OK)
        status = HW_NEW(stored, json_object_size(facts), "the tables of a file", error);
    json_object_foreach(facts, name, fact)
    {
        if (status != HAWSER_OK || strcmp(name, "hawser.store") == 0)
            continue;
        const char *text = json_string_value(fact);
        status = read_table(store, root, name, text != NULL ? text : "", data, file_size, what, *stored + *count, error);
        *count += status == HAWSER_OK;
    }
    json_decref(root);
    return status;
}
